"""Sums of functions of fewer inputs, each with the network that is smallest for it, side by side.

``p(x) = q_1(L_1 x) + ... + q_r(L_r x)`` (`cpwl.function.sums`). Networks of parts that are not as deep as others are
added up first, and their sum is carried on: by one neuron for each output and layer on a bounded domain, where it is at
least some number, else by two. See docs/sums.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.construct.select import Candidate
from cpwl.errors import ConstructionError
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.domain import box_around
from cpwl.function.sums import Part, come_apart
from cpwl.geometry.generators import generators
from cpwl.network import Network
from cpwl.network.algorithms import identity

Candidates = Callable[[CPWL, Analysis], Sequence[Candidate]]
"""The networks that there are for a part, planned with the options of the whole."""


def plan(candidates: Candidates, analysis: Analysis) -> Plan:
    """The plan of the smallest sum: with jumps as they are, or with those peeled off that most facets have.

    Raises `ConstructionError` if the function is not the sum of two functions of fewer inputs.
    """
    exact, plans, seen = analysis.exact, list[Plan](), set[tuple[tuple[int, int], ...]]()
    reason = ConstructionError("")
    for peel in (False, True):
        try:
            parts = come_apart(exact.function, peel=peel)
        except ConstructionError as error:
            reason = error
            continue
        shape = tuple((len(part.rows), part.function.num_pieces) for part in parts)
        if shape not in seen:
            seen.add(shape)
            plans.append(Plan.of("sums", _network(exact, parts, candidates), analysis.sample.points))
    if not plans:
        raise reason
    return min(plans, key=lambda made: int(getattr(made.sizes, analysis.options.minimize)))


def _network(analysis: Analysis, parts: list[Part], candidates: Candidates) -> Network:
    """The sum of the networks of the parts, of those depths that take the fewest neurons with what carries sums on."""
    p = analysis.function
    found = [candidates(part.function, analysis) for part in parts]
    if not all(found):
        raise ConstructionError("there is no network for a part of this function")
    each = p.outputs * (2 if box_around(p) is None else 1)
    depths = sorted({other.sizes.depth for some in found for other in some})
    best: tuple[int, list[Candidate]] | None = None
    for first in depths:
        for last in depths:
            fitting = [[other for other in some if first <= other.sizes.depth <= last] for some in found]
            if all(fitting):
                chosen = [min(some, key=lambda other: other.sizes.neurons) for some in fitting]
                depth = [other.sizes.depth for other in chosen]
                cost = sum(other.sizes.neurons for other in chosen) + each * (max(depth) - min(depth))
                best = (cost, chosen) if best is None or cost < best[0] else best
    assert best is not None
    return _added(p, parts, [other.plan.build() for other in best[1]])


def _added(p: CPWL, parts: list[Part], networks: list[Network]) -> Network:
    """All of them on the inputs of the whole, from shallow to deep."""
    depths = sorted({len(network.layers) for network in networks})
    total: Network | None = None
    done: list[Part] = []
    for depth in depths:
        if total is not None:
            total = _carried(p, done, total, depth)
        for part, network in zip(parts, networks, strict=True):
            if len(network.layers) == depth:
                own = network @ (part.rows, [Fraction(0)] * len(part.rows))
                total = own if total is None else total + own
                done.append(part)
    assert total is not None
    return total


def _carried(p: CPWL, parts: list[Part], network: Network, depth: int) -> Network:
    """The network of these parts with more layers: ``y = relu(y + C) - C``, or ``y = relu(y) - relu(-y)``."""
    more = depth - len(network.layers)
    if box_around(p) is None:
        return identity(network.outputs, more + 1) @ network
    low = [Fraction(max(0, math.ceil(-v))) for v in _least(p, parts)]
    unit = fraction_array(np.eye(network.outputs, dtype=np.int64))
    layer = (unit, [Fraction(0)] * len(low))
    return Network([(unit, low), *[layer] * (more - 1), (unit, [-v for v in low])]) @ network


def _least(p: CPWL, parts: list[Part]) -> NDArray[np.object_]:
    """The smallest value of each output of the sum of some parts: on every piece it is affine."""
    laws = np.sum([part.laws() for part in parts], axis=0)
    if p.mesh is not None:
        places, member, start = p.mesh.corners, p.mesh.simplices.ravel(), np.arange(p.num_pieces + 1) * (p.dim + 1)
    else:
        spanned = generators(p.polyhedra)
        if not spanned.known.all():
            raise ConstructionError("the corners of this function are too many to bound a part of it")
        places, member, start = spanned.places, spanned.member, spanned.start
    x = fraction_array(places[member]) / places[member][:, -1:]
    owner = np.repeat(np.arange(p.num_pieces), np.diff(start))
    return np.asarray((laws[owner] * x[:, None]).sum(axis=2).min(axis=0))
