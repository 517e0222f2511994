"""Bounded cells in any dimension by windows on a convex lifting: accurate in float32, fewer neurons than gates.

Write ``p = U - W`` with `U` and `W` convex and affine on the cells of `p`. A convex function is the maximum of its
laws, and a maximum ignores far terms however they are rounded; less a separable convex function they are clamped to 0,
so that laws whose windows do not overlap can be added instead. See docs/windows.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack, vstack

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import shared_columns
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import Candidate, select
from cpwl.construct.windows.lifting import (
    Cells,
    Lifting,
    Needed,
    Simplicial,
    corner,
    first_cell,
    lift,
    lowest,
    of_complex,
    of_table,
    rationals,
    settle,
    simplicial,
    to_floats,
    values_at,
    values_of,
)
from cpwl.construct.windows.lowering import MOST, best_windows, blocks_of, lower, tree_neurons
from cpwl.construct.windows.multiplexed import best_tiling, blocks_in, bodies_of, lower_tiles, slot_neurons
from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction_array, from_flint_array, reduced_rows, solution, to_flint
from cpwl.exact.sparse import Union
from cpwl.function import CPWL
from cpwl.geometry.complex import Complex, complex_of, few_cells
from cpwl.network.network import Network

__all__ = ["Lifted", "least", "lifted", "obstruction", "plan", "split"]

# A function with a convex lifting of its cells: those that it is given on, or finer ones where these have none.
#
# In this order: the cells themselves; polyhedral cells cut into simplices by pulling their corners, which has a lifting
# wherever the cells have one; simplices split at facets where no lifting bends enough (`split`).


# Polyhedral cells: which `W` are affine on them, exactly, and the lowest of these that is convex enough.
#
# Across a facet `W` changes by a multiple ``t_f d_f`` of the change ``d_f`` of `p` (of a mean of its outputs), and
# around every face of codimension 2 these changes add up to 0. Where three laws meet there all `t` are equal, and where
# two hyperplanes cross those on each are; what is left is solved in rationals. A linear program in the few numbers that
# remain free finds the heights; they are rounded to dyadics, and all else follows from them exactly.


_MANY = 2_000_000  # numbers in the tables below


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """All `W` up to affine functions: law `c` is ``sum_k y_k laws[k, c]``, and ``t_f = sum_k y_k factors[f, k]``."""

    laws: NDArray[np.object_]
    factors: NDArray[np.object_]
    change: NDArray[np.object_]
    """``d_f``"""


def lift_polyhedral(cells: Cells, complex_: Complex) -> Lifting | None:
    """The lowest lifting that is affine on the cells; None if none was found."""
    space = _space(cells, complex_)
    found = _lowest(cells, space)
    if found is None:
        return None
    needed, (y, affine, factor) = found
    heights = to_floats(values_at(space.laws[:, first_cell(cells)], cells.places))
    size = np.maximum(np.abs(heights).max(axis=1), 1e-300)
    squares = needed.squares(factor)
    if not np.isfinite(squares).all():
        return None  # the domain is so small that its square is beyond float64
    for bits in (24, 32, 40, 48):
        rounded = [_dyadic(v, needed.range / s, bits) for v, s in zip(y, size, strict=True)]
        base = [_dyadic(v, needed.range / r, bits) for v, r in zip(affine, [*needed.length, 1.0], strict=True)]
        laws = np.broadcast_to(np.array(base, dtype=object), cells.laws.shape[1:])
        if rounded:
            laws = laws + (np.array(rounded, dtype=object)[:, None, None] * space.laws).sum(axis=0)
        lifted = settle(cells, laws, squares, needed.centre)
        if lifted is not None:
            return lifted
    return None


def _dyadic(value: float, unit: float, bits: int) -> fmpq:
    e = bits - int(np.ceil(np.log2(unit)))
    return fmpq(int(np.round(np.ldexp(value, e)))) * fmpq(2) ** -e


def _space(cells: Cells, complex_: Complex) -> _Space:
    """Relations around ridges, solved; then laws, from cell to cell."""
    one, two = cells.pairs.T
    weights = np.array([fmpq(1, 1 + 7 * j) for j in range(len(cells.laws))], dtype=object)
    change = (weights[:, None, None] * (cells.laws[:, two] - cells.laws[:, one])).sum(axis=0)
    bends = np.flatnonzero((cells.laws[:, two] != cells.laws[:, one]).any(axis=(0, 2)))
    if not all((change[f] != 0).any() for f in bends):
        raise ConstructionError("the mean of the outputs does not bend where the outputs do")
    group, relations = _relations(complex_, change, set(bends.tolist()))
    factors = _solved(group, relations)
    q, count = len(cells.corners), factors.shape[1]
    if q * max(count, 1) * (cells.dim + 1) > _MANY:
        raise LimitError(f"{count} numbers are free on {q} polyhedral cells: too many for exact tables")
    laws = np.full((count, q, cells.dim + 1), fmpq(0), dtype=object)
    near: list[list[tuple[int, int, int]]] = [[] for _ in range(q)]
    for f, (a, b) in enumerate(cells.pairs.tolist()):
        near[a].append((b, f, 1))
        near[b].append((a, f, -1))
    reached, waiting = {0}, [0]
    while waiting:
        a = waiting.pop()
        for b, f, sign in near[a]:
            if b not in reached:
                laws[:, b] = laws[:, a] + sign * factors[f][:, None] * change[f][None]
                reached.add(b)
                waiting.append(b)
    return _Space(laws, factors, change)


def _relations(
    complex_: Complex, change: NDArray[np.object_], bends: set[int]
) -> tuple[list[int], list[dict[int, fmpq]]]:
    """Facets whose factors are equal (the number of one of them), and the other relations."""
    n = complex_.dim
    inner = complex_.interior(n - 1)
    number = {f: k for k, f in enumerate(inner)}
    sides = complex_.above(n - 1, n)
    equal, rest = Union[int](), list[dict[int, fmpq]]()
    for ridge in complex_.interior(n - 2) if n > 1 else ():
        around = _around([(number[f], sides[f][0], sides[f][1]) for f in complex_.above(n - 2, n - 1)[ridge]])
        own = [(k, sign) for k, sign in around if k in bends]
        if not own:
            continue
        table = fmpq_mat(n + 1, len(own), [sign * change[k][i] for i in range(n + 1) for k, sign in own])
        reduced, rank = table.rref()
        for i in range(rank):
            row = {own[j][0]: reduced[i, j] for j in range(len(own)) if reduced[i, j] != 0}
            if len(row) == 2 and sum(row.values(), fmpq(0)) == 0:
                equal.join(*row)
            else:
                rest.append(row)
    return [equal.find(k)[0] for k in range(len(inner))], rest


def _around(facets: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Facets ``(f, one, two)`` around a ridge, in cyclic order, each with its sense."""
    found = []
    at, rest = facets[0][1], list(facets)
    while rest:
        f, one, two = next(x for x in rest if at in x[1:])
        rest.remove((f, one, two))
        found.append((f, 1 if at == one else -1))
        at = two if at == one else one
    return found


def _solved(group: list[int], relations: list[dict[int, fmpq]]) -> NDArray[np.object_]:
    """The factors of all facets in terms of those that are free."""
    names, place = np.unique(group, return_inverse=True)
    rows: dict[Hashable, dict[int, fmpq]] = {}
    for relation in relations:
        total = defaultdict[int, fmpq](fmpq)
        for k, value in relation.items():
            total[int(place[k])] += value
        own = {k: v for k, v in sorted(total.items()) if v != 0}
        if own:
            lead = next(iter(own.values()))
            rows.setdefault(tuple((k, str(v / lead)) for k, v in own.items()), own)
    if len(rows) * len(names) > _MANY:
        raise LimitError(f"{len(rows)} relations between {len(names)} factors: too many for exact tables")
    table = np.full((len(rows), len(names) + 1), fmpq(0), dtype=object)
    for i, row in enumerate(rows.values()):
        table[i, list(row)] = list(row.values())
    found = solution(reduced_rows(table))
    assert found is not None  # all factors 0 are a solution
    return np.asarray(_flint(found[1].T), dtype=object)[place]


def _lowest(cells: Cells, space: _Space) -> tuple[Needed, list[NDArray[np.float64]]] | None:
    """The free numbers, the affine part and the factors of the squares, in floats."""
    n, V, count = cells.dim, len(cells.points), len(space.laws)
    one, two = cells.pairs.T
    at = values_at(space.change[:, None], cells.places[cells.corners[two]])
    far = np.abs(to_floats(at))
    size = to_floats(np.take_along_axis(at, far.argmax(axis=1)[:, None], axis=1)[:, 0])  # of d_f in the second cell
    bent = np.flatnonzero(size)
    change = cells.laws[:, two[bent]] - cells.laws[:, one[bent]]
    beyond = cells.corners[two[bent], far[bent].argmax(axis=1)]
    lack = np.maximum(0.0, -to_floats(values_at(change, cells.places[beyond]))).max(axis=0, initial=0.0)
    needed = Needed.around(cells, lack, to_floats(values_of(cells)))
    height = to_floats(values_at(space.laws[:, first_cell(cells)], cells.places)).T.reshape(V, count) / needed.range
    unit = np.maximum(np.abs(height).max(axis=0, initial=0.0), 1e-300)
    jumps = to_floats(space.factors[bent]) * size[bent, None] / needed.range / unit
    affine = np.column_stack([(cells.points - needed.centre) / needed.length, np.ones(V)])
    jumps, heights = np.hstack([jumps, np.zeros((len(bent), n + 1))]), np.hstack([height / unit, affine])
    found = lowest(cells, needed, jumps, heights)
    if found is None:
        return None
    point, factor = found
    flat = point[count:] * needed.range
    slope = flat[:-1] / needed.length
    return needed, [point[:count] / unit, np.append(slope, flat[-1] - slope @ needed.centre), factor]


# Simplices without a convex lifting: the proof that there is none, and finer simplices that have one.
#
# The jumps of heights at the inner facets are linear in the heights. If a sum of them with positive weights is 0 for
# all heights, no heights make them all positive; and where `p` bends at one of these facets there are no convex `U` and
# `W` with ``U - W = p`` that are affine on the simplices: their jumps, which are not negative, would all have to be 0,
# and so would those of `p`. The weights are found by a linear program, and taken from an exact kernel.
#
# A facet that bends too little is split at a point inside it, and the two simplices there with it; the height of the
# new corner is free.


_ROUNDS = 8
_MORE = 3.0  # times the simplices at first: beyond that other constructions are smaller
_SMALL = 1e-7


def split(cells: Cells) -> Iterator[Cells]:
    """The simplices, and finer and finer ones, as long as some facet lacks a bend."""
    most = _MORE * len(cells.corners) + 50
    yield cells
    for _ in range(_ROUNDS):
        facets = _lacking(cells)
        if len(facets) == 0:
            return
        cells = _at_facets(cells, facets)
        if len(cells.corners) > most:
            return
        yield cells


def _lacking(cells: Cells) -> NDArray[np.int64]:
    """Facets that bend too little under the heights for which the sum of what is lacking is least."""
    shape = Simplicial.of(cells)
    needed = Needed.of(cells, shape)
    F, V = shape.jumps.shape
    rows = csr_array(hstack([shape.jumps, diags_array(np.ones(F))]))
    cost = np.concatenate([np.zeros(V), np.ones(F)])
    least = np.concatenate([np.full(V, -np.inf), np.zeros(F)])
    # Heights count as multiples of the largest jump: else anything can be had by scaling.
    found = corner(cost, rows, np.full(F, float(needed.jump.max())), least)
    if len(found) != V + F:
        return np.zeros(0, dtype=np.int64)
    lack = found[V:]
    return np.flatnonzero(lack > _SMALL * needed.jump.max())


def _at_facets(cells: Cells, facets: NDArray[np.int64]) -> Cells:
    """The simplices with some facets split at their middles; of facets of one simplex the first only."""
    whole, simplices, owner = cells.whole.tolist(), list[NDArray[np.int64]](), list[int]()
    touched: set[int] = set()
    for f in facets.tolist():
        pair = cells.pairs[f].tolist()
        if touched & set(pair):
            continue
        touched |= set(pair)
        shared = np.intersect1d(cells.corners[pair[0]], cells.corners[pair[1]])
        whole.append(_middle(cells.whole[shared]))
        for c in pair:
            for v in shared:
                simplices.append(np.where(cells.corners[c] == v, len(whole) - 1, cells.corners[c]))
                owner.append(c)
    rest = [c for c in range(len(cells.corners)) if c not in touched]
    every = np.array([*cells.corners[rest], *simplices], dtype=np.int64)
    return simplicial(np.array(whole, dtype=object), every, cells.laws[:, [*rest, *owner]])


def _middle(rows: NDArray[np.object_]) -> list[int]:
    """The mean of points ``(x, 1) * d``."""
    common = int(np.lcm.reduce(rows[:, -1]))
    total = (rows[:, :-1] * (common // rows[:, -1])[:, None]).sum(axis=0)
    return primitive(np.array([[*total, common * len(rows)]], dtype=object))[0].tolist()  # type: ignore[no-any-return]


def obstruction(cells: Cells) -> ConstructionError:
    """What to say where no lifting was found: with weights that prove that there is none, if there are."""
    shape = Simplicial.of(cells)
    found = weights(cells, shape)
    if found is None:
        return ConstructionError("no convex lifting of these cells was found, and no proof that there is none")
    facets, factors = found
    pairs = cells.pairs[facets].tolist()
    return ConstructionError(
        f"these simplices have no convex lifting: the bends at {len(facets)} facets, between cells {pairs[0]} among "
        "others, cannot all be upwards; take another construction",
        facets=pairs,
        weights=factors,
    )


_PROVED = 10**6  # bits of the jumps up to which weights are computed: laws of control problems take minutes


def weights(cells: Cells, shape: Simplicial) -> tuple[NDArray[np.int64], list[int]] | None:
    """Facets and positive integers: the jumps there, `shape.exact`, times these add up to 0 whatever the heights.

    `p` bends at one of them. None if none were found.
    """
    needed = Needed.of(cells, shape)
    F, V = shape.jumps.shape
    # Most of what jumps must be, over weights of sum 1 whose jumps cancel.
    turned = csr_array(shape.jumps.T)
    rows = csr_array(vstack([turned, -turned, csr_array(-np.ones((1, F)))]))
    low = np.concatenate([np.full(2 * V, -1e-12), [-1.0]])
    found = corner(-(needed.jump - needed.margin), rows, low, np.zeros(F))
    if len(found) != F:
        return None
    facets = np.flatnonzero(found > 1e-9)
    names, coefficients = shape.exact
    used = np.unique(names[facets])
    if len(facets) == 0:
        return None
    table = np.zeros((len(used), len(facets)), dtype=object)
    np.add.at(table, (np.searchsorted(used, names[facets]), np.arange(len(facets))[:, None]), coefficients[facets])
    if sum(int(v).bit_length() for v in coefficients[facets].ravel()) > _PROVED:
        return None
    kernel, nullity = fmpz_mat([[int(v) for v in row] for row in table]).nullspace()
    if nullity != 1:
        return None
    factors = [int(kernel[i, 0]) for i in range(len(facets))]
    sign = 1 if factors[0] > 0 else -1
    factors = [sign * v for v in factors]
    bends = (needed.jump - needed.margin)[facets] > 0
    return (facets, factors) if min(factors) > 0 and bends.any() else None


_flint = np.frompyfunc(to_flint, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """Cells with the laws of independent outputs, their lifting, and all outputs in these.

    Output `j` is ``base[j] + sum_k share[j, k] (U_k - W)``.
    """

    cells: Cells
    lifting: Lifting
    share: NDArray[np.object_]
    base: NDArray[np.object_]


def lifted(p: CPWL) -> Lifted:
    """The cells of an exact function and their lifting; `ConstructionError`, with a certificate, if there is none.

    >>> found = lifted(CPWL.from_grid([[0, 1, 2]] * 2, [[0, 1, 0], [1, 0, 2], [0, 0, 0]]))
    >>> len(found.cells.corners), found.lifting.laws.shape
    (8, (2, 8, 3))
    """
    complex_ = None
    if p.mesh is not None:
        cells = of_table(p.mesh, p.laws.integer())
    else:
        complex_, piece = few_cells(p.polyhedra) or complex_of(p.polyhedra)
        cells = of_complex(complex_, rationals(p.laws.integer()).transpose(1, 0, 2)[:, piece])
    basis, share, base = _independent(cells)
    cells = replace(cells, laws=cells.laws[basis])
    cells, lifting = _lift(cells, complex_)
    return Lifted(*condensed(cells, lifting), share, base)


def _lift(cells: Cells, complex_: Complex | None) -> tuple[Cells, Lifting]:
    if complex_ is not None:
        try:
            lifting = lift_polyhedral(cells, complex_)
        except LimitError:
            lifting = None
        if lifting is not None:
            return cells, lifting
        simplices, owner = pulled(complex_)
        cells = simplicial(cells.whole, simplices, cells.laws[:, owner])
    for finer in split(cells):
        lifting = lift(finer)
        if lifting is not None:
            return finer, lifting
    raise obstruction(cells)


def _independent(cells: Cells) -> tuple[list[int], NDArray[np.object_], NDArray[np.object_]]:
    """Outputs that are independent of the others and of 1, and all outputs as sums of these and a constant."""
    values = from_flint_array(values_of(cells))
    ones = np.full((1, values.shape[1]), Fraction(1), dtype=object)
    basis, share = shared_columns(np.concatenate([ones, values]).T)
    table = np.asarray(_flint(share[1:]), dtype=object)
    return [j - 1 for j in basis[1:]], table[:, 1:], table[:, 0]


def pulled(complex_: Complex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells cut into simplices by pulling their first corner, face by face, and the cell of each.

    >>> from cpwl.geometry.polyhedra import Polyhedra
    >>> square = Polyhedra.from_lists([[[1, 0], [-1, 0], [0, 1], [0, -1]]], [[1, 0, 1, 0]])
    >>> len(pulled(complex_of(square)[0])[0])
    2
    """
    n = complex_.dim
    below: list[list[list[int]]] = [[] for _ in range(n + 1)]
    for d in range(1, n + 1):
        below[d] = [[] for _ in range(len(complex_.faces[d]))]
        for low, high in complex_.pairs[d - 1, d].tolist():
            below[d][high].append(low)
    known: list[dict[int, list[tuple[int, ...]]]] = [{} for _ in range(n + 1)]

    def pull(d: int, i: int) -> list[tuple[int, ...]]:
        if i not in known[d]:
            own = complex_.faces[d].members[i]
            first = min(own)
            sides = [f for f in below[d][i] if first not in complex_.faces[d - 1].members[f]] if d else []
            known[d][i] = [(first, *rest) for f in sides for rest in pull(d - 1, f)] if d else [tuple(own)]
        return known[d][i]

    parts = [pull(n, i) for i in range(len(complex_.faces[n]))]
    owner = np.repeat(np.arange(len(parts)), [len(own) for own in parts])
    return np.array([simplex for own in parts for simplex in own], dtype=np.int64), owner


def condensed(cells: Cells, lifting: Lifting) -> tuple[Cells, Lifting]:
    """Cells with the same laws on every side as one: the maximum needs them once. It need not be convex."""
    view = lifting.views[0]
    rows = np.ascontiguousarray(view.transpose(1, 0, 2).reshape(len(cells.corners), -1))
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    same = (lifting.laws == lifting.laws[:, first[group]]).all(axis=(0, 2))
    group = np.where(same, first[group], np.arange(len(group)))  # floats may look alike
    kept, number = np.unique(group, return_inverse=True)
    if len(kept) == len(group):
        return cells, lifting
    members = [np.unique(cells.corners[number == k]) for k in range(len(kept))]
    most = max(map(len, members))
    corners = np.array([[*own, *[own[0]] * (most - len(own))] for own in members], dtype=np.int64)
    pairs = np.unique(np.sort(number[cells.pairs], axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    views = (view[:, kept], lifting.views[1])
    fewer = replace(cells, corners=corners, laws=cells.laws[:, kept], pairs=pairs)
    return fewer, replace(lifting, laws=lifting.laws[:, kept], views=views)


def plan(analysis: Analysis) -> Plan:
    """The plan of a network of windows, multiplexed where that is smaller and accurate enough; all weights are known.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]])
    >>> plan(Analysis(p)).build()([[0.5, 1.0]]) == p([[0.5, 1.0]])
    array([[ True]])
    """
    exact, options = analysis.exact, analysis.options
    p = exact.function
    if p.mesh is None and exact.box is None:
        raise ConstructionError("windows are for bounded domains: restrict this function to a box")
    laws = p.laws.integer()
    if (laws == laws[:1]).all():  # affine: no hidden layer
        law = fraction_array(laws[0, :, :-1]) / laws[0, :, -1:]
        return Plan.of("windows", Network([(law[:, :-1], law[:, -1])]), analysis.sample.points)
    found = lifted(p)
    candidates = list[Candidate]()
    for made in _networks(found, options.minimize):
        candidates.append(Candidate.of(Plan.of("windows", made, analysis.sample.points), analysis))
        if options.minimize == "neurons" and candidates[-1].error <= options.max_error:
            break
    return select(candidates, options.minimize, options.max_error).best.plan


def _networks(found: Lifted, minimize: str) -> Iterator[Network]:
    """Both networks, the one with fewer neurons first; one that is far larger is not made."""
    cells, lifting = found.cells, found.lifting
    sides, few, size = len(lifting.laws), _block_neurons(len(cells.corners)), 0
    bodies = bodies_of(cells, lifting)
    tiling = best_tiling(bodies, sides, _LARGER * few)
    if tiling is not None:
        slots = blocks_in(cells, lifting, tiling, bodies)
        size = tiling.fixed + slot_neurons(slots)
    if tiling is not None and size <= few:
        yield lower_tiles(cells, lifting, tiling, slots, found.share, found.base)
        tiling = None
    blocks = blocks_of(cells, lifting)
    windows = best_windows(cells, lifting, blocks)
    made = lower(cells, lifting, blocks, windows, found.share, found.base)
    if tiling is not None and size < made.sizes.neurons:
        yield lower_tiles(cells, lifting, tiling, slots, found.share, found.base)
        tiling = None
    yield made
    if tiling is not None and minimize != "neurons":
        yield lower_tiles(cells, lifting, tiling, slots, found.share, found.base)


_LARGER = 2.0  # times the least number of neurons of blocks: a first tiling that has more will not become smaller


def _block_neurons(laws: int) -> int:
    """At least so many neurons have blocks: one hinge for each cell but its root, and a clamp for each of two sides."""
    return laws + -(-laws // MOST)


def _tile_neurons(laws: int, n: int) -> int:
    """At least so many neurons have tiles and slots, whatever the number of tiles.

    >>> _tile_neurons(7, 2)
    16
    """
    best, tiles = laws * (n + 5), 1
    while (n + 1) * tiles < best:
        cells = -(-laws // tiles)  # of a side, in slots
        best = min(best, n + (n + 1) * tiles + 2 * cells + tree_neurons([-(-cells // MOST)] * 2))
        tiles += 1
    return best


def least(analysis: Analysis) -> Least | None:
    """At least 16 neurons for seven triangles with different laws and edges on seven lines.

    Cells with different laws are different cells; let there be `q`, and `L` laws. Layer 1 has a neuron for each input
    that matters.

    *One block.* Its hinges do not cross, as there is one for each cell but the root. So the function has one region
    more than hyperplanes on which it bends, `H`; each is on one of ``q - 1 <= MOST - 1`` hinges; and there are two
    clamps.

    *Two blocks or more.* There are ``q - b`` hinges of `b` blocks, each with at least two clamps. All sides have two
    classes or more: where clamps of one class are positive are disjoint open sets, and a connected set is not the union
    of several. To compare them takes four neurons. And layer 2 carries a neuron: if all root laws were parallel to `R`,
    they were the same on every side.

    *Tiles.* With `K` tiles and `S` neurons for cells in the slots of a side, every law is in one of ``K S`` places.
    There are ``(n + 1) K`` neurons for the tiles, `n` or more in layer 1, and those that compare ``S / MOST`` or more
    slots.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[1, 0, 2], [0, 3, 0], [1, 0, 1]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (16, 21)
    """
    exact = analysis.exact
    distinct, n, planes = exact.distinct_laws, exact.function.dim, exact.bend_planes
    laws = len(distinct)
    if laws == 1:
        return None
    inputs = int((distinct[:, :, :n] != 0).any(axis=(0, 1)).sum())
    if laws <= planes + 1 <= min(MOST, exact.function.num_pieces):
        blocks = inputs + planes + 2
    else:
        blocks = inputs + laws + max(2, -(-laws // MOST)) + 5
    size = min(blocks, _tile_neurons(laws, n))
    return Least(size, f"{laws} laws, {MOST} or fewer to a block, or in slots of tiles", 4)
