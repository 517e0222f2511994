"""Strips: fewer neurons than pieces for functions of two inputs on bounded domains, in four hidden layers.

The domain is cut into about ``sqrt(V)`` strips. A second-layer neuron is one arbitrary hinge in every strip, a *slot*:
between strips its weights on three first-layer neurons change it to another. So hinges and gates for one strip serve
all of them, and ``O(sqrt V)`` neurons are enough for `V` vertices. See docs/strips.md and
docs/theory/strips.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cpwl.construct.exact_data import exact_function
from cpwl.construct.hinge import hinge
from cpwl.construct.plan import Plan
from cpwl.construct.strips.cuts import Cuts, choose_cuts
from cpwl.construct.strips.geometry import Geometry, place_slabs
from cpwl.construct.strips.layers import Dense, dense_layers, to_floats, to_network
from cpwl.construct.strips.slots import fill_slots, find_bases
from cpwl.construct.strips.sweep import Floats, find_bars, frames, sweep
from cpwl.errors import ConstructionError
from cpwl.exact.integers import ratio_view, sign
from cpwl.function import CPWL
from cpwl.function.bends.planar import PlanarBends, find_bends, with_edges_only
from cpwl.network import Network, Sizes

__all__ = ["Strips", "plan_strips", "strips"]

_SAMPLES = 500  # points of `V*` at which sizes of sums are looked at


@dataclass(frozen=True, slots=True, eq=False)
class Strips:
    """The network, and what it was made of."""

    network: Network
    vertices: int
    """``|V*|``, the points inside the domain where a jump changes along its line."""
    cuts: Cuts | None
    """None without such points: then one hidden layer of hinges does."""
    geometry: Geometry | None


def strips(p: CPWL, *, count: int | None = None) -> Strips:
    """A network with at most four hidden layers and ``O(sqrt V)`` neurons that equals `p` on its bounded domain.

    Pieces need not be triangles nor meet face to face. Data with a tolerance is made exact first (`CPWL.snap`).
    `count` is the number of strips to cut into, as far as there are gaps; None: what takes the fewest neurons.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> made = strips(p)
    >>> made.vertices, float(made.network([1.0, 0.5])[0])
    (1, 0.5)
    """
    p, bends = _prepared(p)
    if len(bends.vertices) == 0:
        return Strips(hinge(p), 0, None, None)
    cuts, geometry, layers, _ = _layers(p, bends, count)
    network = to_network(layers)
    assert network.sizes.neurons == cuts.neurons
    return Strips(network, len(bends.vertices), cuts, geometry)


def plan_strips(p: CPWL) -> Plan:
    """The sizes and the rounding errors of `strips`, without the network.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
    >>> plan = plan_strips(p)
    >>> plan.sizes == plan.build().sizes
    True
    """
    p, bends = _prepared(p)
    x = ratio_view(bends.corners[:, :2], bends.corners[:, 2:])
    if len(bends.vertices) == 0:
        network = hinge(p)
        floats = [(weight.toarray(), bias) for weight, bias in network.layers]
        return Plan("strips", network.sizes, _magnitude(floats, x, []), lambda: network)
    _, _, layers, switches = _layers(p, bends, None)
    hidden = [len(bias) for _, bias in layers[:-1]]
    nonzeros = sum(int((weight != 0).sum()) for weight, _ in layers)
    inner = ratio_view(bends.vertices[:, :2], bends.vertices[:, 2:])[:: 1 + len(bends.vertices) // _SAMPLES]
    floats = [(to_floats(weight), to_floats(bias)) for weight, bias in layers]
    magnitude = _magnitude(floats, np.concatenate([x, inner, x.mean(axis=0) / 2 + inner / 2]), switches)
    return Plan("strips", Sizes(sum(hidden), len(layers), max(hidden), nonzeros), magnitude, lambda: to_network(layers))


def _magnitude(layers: list[tuple[Floats, Floats]], x: Floats, switches: list[int]) -> float:
    """The root of the sum of squares of all that is added up at a point, for neurons that are on; at the worst point.

    What second-layer neurons add up counts as well: slots cancel there, and errors reach the output as they are. But
    not what `switches` add up, which is added and taken away as one number.
    """
    value, total = x, np.zeros(len(x))
    for k, (weight, bias) in enumerate(layers):
        reads = value @ weight.T + bias
        if k:
            square = value**2 @ (weight**2).T + bias**2
            square[:, switches if k == 1 else []] = 0.0
            total += (square if k == len(layers) - 1 else np.where(reads > 0, square, 0.0)).sum(axis=1)
        value = np.maximum(reads, 0.0)
    return float(np.sqrt(total.max()))


def _layers(p: CPWL, bends: PlanarBends, count: int | None) -> tuple[Cuts, Geometry, list[Dense], list[int]]:
    """The layers and what they are made of; and which neurons of the second are the switches `chi` and ``-chi``."""
    cuts = _cuts(bends, count)
    bases = find_bases(p, cuts)
    slots = [fill_slots(p, cuts, bases, o) for o in range(p.outputs)]
    geometry = place_slabs(cuts)
    ends = np.cumsum([len(own.first) + len(own.second) + 4 for own in slots]) if cuts.gaps else np.zeros(0)
    switches = [int(end) - k for end in ends for k in (4, 3)]
    return cuts, geometry, dense_layers(cuts.sweep.frame, geometry, slots), switches


def _cuts(bends: PlanarBends, count: int | None) -> Cuts:
    bars = [find_bars(bends, o) for o in range(bends.start.shape[1])]
    signs = [sign(steps) for steps in bends.step.T]
    return choose_cuts([sweep(bends, frame, bars, signs) for frame in frames(bends)], count)


def _prepared(p: CPWL) -> tuple[CPWL, PlanarBends]:
    """The function as exact pieces with interior, and its bends."""
    if p.dim != 2:
        raise ConstructionError(f"strips are for functions of 2 inputs, and this one has {p.dim}", dim=p.dim)
    p = with_edges_only(exact_function(p))
    bends = find_bends(p)
    if not bends.bounded:
        raise ConstructionError("strips need a bounded domain, and this one goes on to infinity")
    return (p if len(bends.solid) == p.num_pieces else p.take(bends.solid)), bends
