"""Strips: fewer neurons than pieces for functions of two inputs on bounded domains, in four hidden layers.

The domain is cut into about ``sqrt(V)`` strips. A second-layer neuron is one arbitrary hinge in every strip, a *slot*:
between strips its weights on three first-layer neurons change it to another. So hinges and gates for one strip serve
all of them, and ``O(sqrt V)`` neurons are enough for `V` vertices. See docs/strips.md and
docs/theory/strips.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.hinges import hinge_network
from cpwl.construct.strips.cuts import Cuts, choose_cuts, find_bars, frames, sweep
from cpwl.construct.strips.layers import Dense, dense_layers, to_network
from cpwl.construct.strips.slots import Geometry, fill_slots, find_bases, place_slabs
from cpwl.errors import ConstructionError
from cpwl.exact.integers import sign
from cpwl.function.bends.planar import PlanarBends
from cpwl.network import Network, Sizes

__all__ = ["Layout", "Strips", "lay_strips", "strips"]


@dataclass(frozen=True, slots=True, eq=False)
class Strips:
    """The network, and what it was made of."""

    network: Network
    vertices: int
    """``|V*|``, the points inside the domain where a jump changes along its line."""
    cuts: Cuts | None
    """None without such points: then one hidden layer of hinges does."""
    geometry: Geometry | None


def strips(analysis: Analysis, *, count: int | None = None) -> Strips:
    """A network with at most four hidden layers and ``O(sqrt V)`` neurons that equals `p` on its bounded domain.

    Pieces need not be triangles nor meet face to face. Exact data. `count` is the number of strips to cut into, as far
    as there are gaps; None: what takes the fewest neurons.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> made = strips(Analysis(p))
    >>> made.vertices, float(made.network([1.0, 0.5])[0])
    (1, 0.5)
    """
    laid = lay_strips(analysis, count=count)
    if laid is None:
        return Strips(hinge_network(analysis.solid), 0, None, None)
    network = to_network(laid.layers)
    assert network.sizes.neurons == laid.cuts.neurons
    return Strips(network, len(analysis.bends.vertices), laid.cuts, laid.geometry)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where strips and slabs are, and the layers of the network as dense arrays of rationals."""

    cuts: Cuts
    geometry: Geometry
    layers: list[Dense]

    @property
    def sizes(self) -> Sizes:
        """What the network costs."""
        hidden = [len(bias) for _, bias in self.layers[:-1]]
        nonzeros = sum(int((weight != 0).sum()) for weight, _ in self.layers)
        return Sizes(sum(hidden), len(self.layers), max(hidden), nonzeros)


def lay_strips(analysis: Analysis, *, count: int | None = None) -> Layout | None:
    """The layers of that network and what they are made of; None if no jump changes along its line."""
    dim = analysis.function.dim
    if dim != 2:
        raise ConstructionError(f"strips are for functions of 2 inputs, and this one has {dim}", dim=dim)
    bends = analysis.bends
    if not bends.bounded:
        raise ConstructionError("strips need a bounded domain, and this one goes on to infinity")
    if len(bends.vertices) == 0:
        return None
    p = analysis.solid.function
    cuts = _cuts(bends, count)
    bases = find_bases(p, cuts)
    slots = [fill_slots(p, cuts, bases, o) for o in range(p.outputs)]
    geometry = place_slabs(cuts)
    return Layout(cuts, geometry, dense_layers(cuts.sweep.frame, geometry, slots))


def _cuts(bends: PlanarBends, count: int | None) -> Cuts:
    bars = [find_bars(bends, o) for o in range(bends.start.shape[1])]
    signs = [sign(steps) for steps in bends.step.T]
    return choose_cuts([sweep(bends, frame, bars, signs) for frame in frames(bends)], count)
