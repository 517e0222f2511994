"""The lattice of all outputs: shared, or plain where sharing would be deep or would cancel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.max_of_mins import outputs_together
from cpwl.construct.lattice.plain import plain_lattice
from cpwl.construct.lattice.schedule import shared_lattice
from cpwl.construct.measure import measured_error
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import Candidate, select
from cpwl.errors import ConstructionError

__all__ = ["least", "plan"]

_PRIME = 2**20 - 3
_LAWS = 1500  # laws whose differences are all looked at: a million takes a second


def plan(analysis: Analysis) -> Plan:
    """The plan of a lattice; the search for a small expression is done here, its weights are all known then.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]]))).sizes.neurons
    2
    """
    options, points = analysis.options, analysis.sample.points
    made = shared_lattice(analysis)
    if analysis.simplest is not analysis:  # which components are above others is told more finely where data is exact
        finer = shared_lattice(analysis.simplest)
        if finer.network.sizes.neurons < made.network.sizes.neurons:
            error = measured_error(finer.network, analysis)
            made = finer if error is None or error <= options.max_error else made
    shared = Plan.of("lattice", made.network, points, solves=made.solves, splits=made.splits)
    small = Candidate.of(shared, analysis)
    if options.minimize != "depth" and small.error <= options.max_error:
        return shared
    # Sharing makes networks small and deep, and laws that nearly depend on each other may cancel: a plain tournament is
    # larger, may have fewer layers, and has weights 1 and -1 beyond its first layer.
    try:
        parts = [plain_lattice(analysis, j) for j in range(analysis.function.outputs)]
    except ConstructionError:  # noise hides which rows are valid
        return shared
    solves = made.solves + sum(part.solves for part in parts)
    network = outputs_together([part.network for part in parts])
    plain = Plan.of("lattice", network, points, solves=solves, splits=made.splits)
    return select([small, Candidate.of(plain, analysis)], options.minimize, options.max_error).best.plan


# --- a lower bound ------------------------------------------------------------------------------------------------


def least(analysis: Analysis) -> Least | None:
    """A bound on the neurons of any network of maxima and minima of the laws; None for float data, and beyond `_LAWS`.

    A maximum or minimum of two values takes a neuron, and values whose differences are proportional share it. At a
    point inside a piece each of the two values is one of the laws: let the neuron join the two. The neurons of an
    expression join all laws that it has, and it has all laws of the function. A neuron joins laws of one direction
    only, that of their difference: so the neurons are at least as many as the directions that it takes to join all
    laws; and a direction that joins the laws to `c` groups leaves ``c - 1`` to be joined by others.

    >>> from cpwl.function import CPWL
    >>> known = Analysis(CPWL.from_grid([[0, 1, 3], [0, 1, 3]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]]))
    >>> least(known).neurons, plan(known).sizes.neurons
    (3, 13)
    """
    p = analysis.function
    if p.tol:
        return None
    found = []
    for j in range(p.outputs):
        laws = p.laws.integer()[p.representatives(j), j]
        if len(laws) <= _LAWS:
            found.append((_directions(laws), len(laws)))
    if not found:
        return None
    neurons, count = max(found)
    return Least(neurons, f"maxima and minima of {count} laws")


def _directions(laws: NDArray[np.object_]) -> int:
    """The fewest directions that can join all laws, counted modulo a prime: that makes directions equal, never apart.

    Along a direction laws fall into groups; it joins as many as there are laws less groups. A law that has `d` others
    in its group has a share of ``d / (d + 1)`` in that number.
    """
    count = len(laws)
    below = [int(v) % _PRIME for v in laws[:, -1]]
    if count == 1 or 0 in below:
        return 0
    inverse = np.array([pow(v, -1, _PRIME) for v in below], dtype=np.int64)
    rows = (laws[:, :-1] % _PRIME).astype(np.int64) * inverse[:, None] % _PRIME
    mix = np.random.default_rng(0).integers(1, _PRIME, (4, rows.shape[1]))
    u, *others = (rows[:, None, :] * mix % _PRIME).sum(axis=2).T % _PRIME
    one, two = np.triu_indices(count, 1)
    step = (u[one] - u[two]) % _PRIME
    slopes = [(v[one] - v[two]) % _PRIME for v in others]
    if not np.any([step, *slopes], axis=0).all():
        return 0  # laws that are equal modulo the prime
    over = _inverses(step)
    key = np.zeros(len(step), dtype=np.int64)
    for slope in slopes:
        key = key * _PRIME + slope * over % _PRIME
    key[step == 0] = -1
    _, direction = np.unique(key, return_inverse=True)
    member = np.concatenate([direction * count + one, direction * count + two])
    place, degree = np.unique(member, return_counts=True)
    joined = np.bincount(place // count, weights=degree / (degree + 1))
    total = np.cumsum(np.sort(joined)[::-1])
    return int(np.searchsorted(total, count - 1 - 1e-6)) + 1


def _inverses(x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Inverses modulo the prime, 0 of 0: by Fermat, of each or of a whole table, whichever is less."""
    if len(x) > _PRIME:
        return _inverses(np.arange(_PRIME))[x]
    power, square = np.ones_like(x), x
    for bit in range(_PRIME.bit_length()):
        if (_PRIME - 2) >> bit & 1:
            power = power * square % _PRIME
        square = square * square % _PRIME
    return power
