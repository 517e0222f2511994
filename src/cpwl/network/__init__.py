"""ReLU networks as values, and the manipulations of them that Algorithm 1 of the paper is made of."""

from cpwl.network.end_to_end import end_to_end
from cpwl.network.extrema import extrema
from cpwl.network.extremum import extremum
from cpwl.network.identity import identity
from cpwl.network.maxmin import maxmin
from cpwl.network.network import Network, Sizes
from cpwl.network.side_by_side import side_by_side

__all__ = ["Network", "Sizes", "end_to_end", "extrema", "extremum", "identity", "maxmin", "side_by_side"]
