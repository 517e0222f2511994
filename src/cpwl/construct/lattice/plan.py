"""The lattice of all outputs: shared, or plain where sharing would be deep or would cancel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import max_of_mins, outputs_together
from cpwl.construct.blocks.schedule import Affine, Interval, Lowering, lower_values
from cpwl.construct.lattice.separate import LatticeFormula, arrange, contenders, first_formula, max_min_rows, total_cost
from cpwl.construct.lattice.sides import Sides, find_sides
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import Candidate, measured_error, select
from cpwl.errors import CpwlError
from cpwl.function import CPWL
from cpwl.function.order import Order
from cpwl.function.snap.snap import meant_components
from cpwl.network import Network

# The irredundant lattice of all outputs, lowered together: monotone expressions of components, few neurons.
#
# Steps: which components stay above and below on each piece (`order`); pieces cut until one component tells any two
# apart (`sides`); a small monotone expression that is right on all of them (`separate`); its operations put into layers
# (`expression`), written as ReLUs (`atoms`) and lowered to a plain network (`schedule`). See docs/lattice.md.


_MORE = (0, 1, 2, 4)  # layers beyond the fewest that are tried
_LARGE = 300  # leaves beyond which only the fewest are; the leaves of all formulas that are lowered
_FORMULAS = 12  # at most


@dataclass(frozen=True, slots=True, eq=False)
class SharedLattice:
    """The network for all outputs, the expression of each in its components, and what it took."""

    network: Network
    formulas: tuple[LatticeFormula, ...]
    sides: tuple[Sides, ...]

    @property
    def splits(self) -> int:
        """How often a piece was cut."""
        return sum(own.splits for own in self.sides)

    @property
    def solves(self) -> int:
        """How many linear programs that took."""
        return sum(own.solves for own in self.sides)

    def plain(self, p: CPWL) -> Network:
        """The maxima of minima of the components of `p` that the same tables give, each output by itself."""
        rows = [max_min_rows(own.above, own.below) for own in self.sides]
        return outputs_together([max_of_mins(p.components(j), own) for j, own in enumerate(rows)])


def shared_lattice(analysis: Analysis, orders: Sequence[Order] | None = None) -> SharedLattice:
    """A plain network of maxima and minima of the components that is `p` on its domain, all outputs together.

    With the `orders` that `relaxed` gives for a tolerance, it is within that of `p`.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    >>> made = shared_lattice(Analysis(p))
    >>> str(made.formulas[0]), made.network
    ('max(0, min(1, 2))', Network(1 -> 1 -> 1 -> 1))
    """
    p = analysis.function
    sides = _sides(analysis, analysis.orders if orders is None else orders)
    found = [contenders(own.above, own.below, p.dim) for own in sides]
    components = [meant_components(p, j) for j in range(p.outputs)]
    laws = [[Affine(tuple(row)) for row in rows] for rows in components]
    leaves = sum(formulas[0].leaves for formulas in found)
    # Of float data the proof reads the first formula best.
    count = 1 if p.tol else max(1, min(_FORMULAS, _LARGE // leaves))
    good = [_as_good(formulas, p.dim, max(own[0].depth for own in found)) for formulas in found]
    lowering, formulas = _smallest([formulas[:count] for formulas in good], laws, p.dim, analysis.box)
    return SharedLattice(lowering.network(), formulas, sides)


def _sides(analysis: Analysis, orders: Sequence[Order]) -> tuple[Sides, ...]:
    small = analysis.essential.function
    return tuple(find_sides(small, j, order, analysis.options.progress) for j, order in enumerate(orders))


def start(analysis: Analysis) -> int:
    """The neurons of the first formulas, where no two share any: from there the search for smaller ones starts.

    >>> p = CPWL.from_grid([range(4)] * 2, [[0, 3, 1, 2], [5, 0, 4, 1], [2, 6, 0, 3], [1, 0, 5, 0]])
    >>> start(Analysis(p)), plan(Analysis(p)).sizes.neurons
    (33, 31)
    """
    source = analysis.simplest
    found = [first_formula(own.above, own.below) for own in _sides(source, source.orders)]
    return sum(formula.cost for formula in found) + analysis.function.dim * max(formula.depth for formula in found)


def _as_good(formulas: Sequence[LatticeFormula], inputs: int, layers: int) -> list[LatticeFormula]:
    """The first formula, and those that cost no more in a network with that many layers."""
    most = total_cost(formulas[0], inputs, layers)
    return [f for f in formulas if f is formulas[0] or total_cost(f, inputs, layers) <= most]


def _smallest(
    found: Sequence[Sequence[LatticeFormula]],
    laws: Sequence[Sequence[Affine]],
    inputs: int,
    box: Sequence[Interval] | None,
) -> tuple[Lowering, tuple[LatticeFormula, ...]]:
    """A small lowering of one formula an output: the first ones, then for each output in its turn the others."""
    chosen = [formulas[0] for formulas in found]
    best: Lowering | None = None
    for j, formulas in enumerate(found):
        for formula in formulas[min(j, 1) :]:
            tried = [*chosen[:j], formula, *chosen[j + 1 :]]
            lowering = _arranged(tried, laws, inputs, box, best)
            if lowering is not best:
                best, chosen = lowering, tried
    assert best is not None
    return best, tuple(chosen)


def _arranged(
    formulas: Sequence[LatticeFormula],
    laws: Sequence[Sequence[Affine]],
    inputs: int,
    box: Sequence[Interval] | None,
    best: Lowering | None,
) -> Lowering | None:
    """The smallest lowering of these formulas in few layers or more; the best one so far if none is smaller."""
    fewest = max(formula.depth for formula in formulas)
    most = max(formula.leaves - 1 for formula in formulas)
    for t in sorted({min(fewest + more, most) for more in (_MORE if most < _LARGE else (0,))}):
        values = [arrange(f, law, t) for f, law in zip(formulas, laws, strict=True)]
        lowering = lower_values(values, inputs, box, None if best is None else best.size)
        if lowering is not None and (best is None or lowering.size < best.size):
            best = lowering
    return best


_PRIME = 2**20 - 3
_LAWS = 1500  # laws whose differences are all looked at: a million takes a second


def plan(analysis: Analysis) -> Plan:
    """The plan of a lattice; the search for a small expression is done here, its weights are all known then.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]]))).sizes.neurons
    2
    """
    options, points = analysis.options, analysis.sample.points
    made, source = _of_exact(analysis), analysis.simplest
    if made is None:
        made, source = shared_lattice(analysis), analysis
    shared = Plan.of("lattice", made.network, points, solves=made.solves, splits=made.splits)
    small = Candidate.of(shared, analysis)
    if options.minimize != "depth" and small.error <= options.max_error:
        return shared
    # Sharing makes networks small and deep, and laws that nearly depend on each other may cancel: a plain tournament is
    # larger, may have fewer layers, and has weights 1 and -1 beyond its first layer.
    plain = Plan.of("lattice", made.plain(source.function), points, solves=made.solves, splits=made.splits)
    return select([small, Candidate.of(plain, analysis)], options.minimize, options.max_error).best.plan


def _of_exact(analysis: Analysis) -> SharedLattice | None:
    """Of float data, the lattice of the exact function near it; None if there is none, or none that is near enough."""
    if analysis.simplest is analysis:
        return None
    try:
        made = shared_lattice(analysis.simplest)
    except CpwlError:  # what is wrong is said in terms of the data
        return None
    error = measured_error(made.network, analysis)
    return made if error is None or error <= analysis.options.max_error else None


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
