"""ReLU networks as values, and the manipulations of them that Algorithm 1 of the paper is made of."""

from cpwl.network import algebra, picture  # noqa: F401 - for the methods of `Network`
from cpwl.network.network import Network, Sizes

__all__ = ["Network", "Sizes"]
