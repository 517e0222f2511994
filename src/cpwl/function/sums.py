"""Sums: ``p(x) = q_1(L_1 x) + ... + q_r(L_r x)``, functions of fewer inputs each.

Let `w_H` be the jump of `p` across a bend hyperplane `H`. A set `C` of hyperplanes *comes apart* if there is a
continuous function that bends on `H` in `C` by `w_H` and nowhere else. On a convex domain there is one iff around every
cycle of neighbouring pieces the jumps across hyperplanes of `C` add up to 0. These conditions are linear in the
indicator of `C`, and split exactly where the row space of their matrix does: the finest sets are the connected
components of the matroid of its columns. Modulo a prime they are read off the reduced matrix, which only proposes;
`contained` and a subtraction decide.

A hyperplane in no condition is a hinge; all with one normal together are a function of one input. The other sets are
functions of as many inputs as their normals span. What has as many as `p` stays on the pieces of `p`.

*Peeling*: a hyperplane that cuts no piece, and whose jump has one value on more than half of its facets, has this value
taken off all along: that is a hinge, and what is left bends on fewer facets. See docs/sums.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from flint import nmod_mat
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import homogeneous, integer_rows, number_rows, sides
from cpwl.exact.rational import (
    exact_matrix,
    fraction_array,
    from_flint,
    pivots,
    ratios,
    reduced_rows,
    residues,
    to_float,
)
from cpwl.function.bends.table import neighbours
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.doctor.first_error import in_order
from cpwl.function.domain import domain_box, is_everything
from cpwl.function.evaluate import find_pieces, inner_points
from cpwl.function.merge import merge
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import stacked
from cpwl.geometry.polyhedra import Polyhedra, fact, ranges
from cpwl.geometry.probe import Probe

_PRIME = 1_048_573  # sums of products stay exact in float64
_CYCLES = 3  # sums of cycles that must all be 0 across a hyperplane in no condition
_WORK = 30_000_000  # pieces times hyperplanes, of which sets are looked for
_PLANES = 1_000  # hyperplanes of which all sets are looked for
_NOT = "no sum of functions of fewer inputs was found that equals this function and is smaller"
_MANY = 7  # breakpoints up to which one hidden layer is the smallest


@dataclass(frozen=True, slots=True, eq=False)
class Summand:
    """The function ``x -> function(rows x)`` of fewer inputs; ``rows[:, columns]`` is the identity.

    Piece `i` of the whole lies, seen through `rows`, in piece ``at[i]`` of the part.
    """

    rows: NDArray[np.object_]
    columns: NDArray[np.int64]
    function: CPWL
    at: NDArray[np.int64]

    def laws(self) -> NDArray[np.object_]:
        """The law of the part on every piece of the whole, ``(q, m, n + 1)`` rationals."""
        own = self.function.laws.rational()
        return np.concatenate([own[..., :-1].dot(self.rows), own[..., -1:]], axis=-1)[self.at]


def come_apart(p: CPWL, *, peel: bool) -> list[Summand]:
    """The parts of an exact function: they add up to it on every piece. `ConstructionError` if there is only one.

    >>> p = CPWL.from_grid([range(10), range(4)], [[i % 2 + j * j for j in range(4)] for i in range(10)])
    >>> sorted((len(part.rows), part.function.num_pieces) for part in come_apart(p, peel=False))
    [(1, 3), (1, 9)]
    """
    if p.dim < 2:
        raise ConstructionError(_NOT)
    graph = graph_of(p)
    _check_hope(p, graph)
    value, rest = _peeled(graph) if peel else _constant(graph)
    directions: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for h in np.flatnonzero((value != 0).any(axis=1)).tolist():
        directions[_primitive(graph.planes[h, :-1])].append(h)
    spans = _spans(graph, rest)
    if max(map(len, directions.values()), default=0) <= _MANY and not any(len(rows) < p.dim for rows in spans):
        raise ConstructionError(_NOT)
    parts = []
    for normal, own in directions.items():
        # A few hinges in the inputs of another part are a neuron each there as well.
        if len(own) > _MANY or not any(_holds(rows, np.array([normal], dtype=object)) for rows in spans):
            part = _line(p, graph, own, value)
            parts += [] if part is None else [part]
    for rows in sorted(spans, key=len):
        part = None if len(rows) == p.dim else _section(p, rows, parts)
        parts += [] if part is None else [part]
    parts = _with_slopes(p, parts)
    if len(parts) < 2:
        raise ConstructionError(_NOT)
    return parts


# The graph of neighbouring pieces, and the jump across each pair.


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Pairs of neighbours with the hyperplane between them; `planes` has one row ``(a, b)`` each, first slope positive.

    Across pair `e`, from ``one[e]`` to ``two[e]``, the law changes by ``sense jump (a . x - b)``.
    """

    pieces: int
    one: NDArray[np.int64]
    two: NDArray[np.int64]
    plane: NDArray[np.int64]
    sense: NDArray[np.int64]
    jump: NDArray[np.object_]
    """``(pairs, m)`` rationals."""
    planes: NDArray[np.object_]


@fact
def graph_of(p: CPWL) -> Graph:
    """The graph of an exact function."""
    found = neighbours(p)
    lead = found.row[np.arange(len(found.row)), np.argmax(found.row[:, :-1] != 0, axis=1)]
    sense = np.where(lead > 0, 1, -1)
    rows = found.row * sense[:, None].astype(object)
    first, plane = number_rows(rows)
    laws, c = p.laws.integer(), np.argmax(found.row[:, :-1] != 0, axis=1)
    every = np.arange(len(c))
    f, g = laws[found.two], laws[found.one]
    top = f[every, :, c] * g[..., -1] - g[every, :, c] * f[..., -1]
    jump = ratios(top, f[..., -1] * g[..., -1] * lead[:, None])
    return Graph(p.num_pieces, found.one, found.two, plane, sense, jump, rows[first])


def _check_hope(p: CPWL, graph: Graph) -> None:
    """Refuse at once what has no chance: in the plane, and where hyperplanes are many, some must be parallel."""
    bent = graph.planes[np.unique(graph.plane[(graph.jump != 0).any(axis=1)])]
    parallel = max(Counter(_primitive(row) for row in bent[:, :-1]).values(), default=0)
    if parallel <= _MANY and (p.dim <= 2 or len(bent) > _PLANES):
        raise ConstructionError(_NOT)
    if p.dim > 2 and p.num_pieces * len(bent) > _WORK:
        raise LimitError(
            f"the search for a sum takes too long for {p.num_pieces:,} pieces and {len(bent):,} hyperplanes"
        )


def _constant(graph: Graph) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The jumps of hyperplanes that are in no condition; and the jumps across pairs on all others."""
    around, _ = _around(graph, graph.jump, _CYCLES)
    free = np.asarray(~around.any(axis=1))
    value = np.zeros((len(graph.planes), graph.jump.shape[1]), dtype=object)
    value[graph.plane] = graph.jump
    value[~free] = 0
    return value, np.where(free[graph.plane][:, None], 0, graph.jump)


def _peeled(graph: Graph) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The commonest jump of each hyperplane that has one on most of its facets; and what is left across pairs.

    `ConstructionError` if that is no more than `_constant` has.
    """
    value, _ = _constant(graph)
    seen: dict[int, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    for h, jump in zip(graph.plane.tolist(), graph.jump, strict=True):
        seen[h][tuple(jump)] += 1
    wanted = []
    for h, count in seen.items():
        jump, often = count.most_common(1)[0]
        if not value[h].any() and any(jump) and 2 * often > count.total():
            wanted.append((h, jump))
    many = Counter(_primitive(graph.planes[h, :-1]) for h, _ in wanted)
    free = Counter(_primitive(graph.planes[h, :-1]) for h in np.flatnonzero((value != 0).any(axis=1)))
    parallel = many + free
    rows = [(h, jump) for h, jump in wanted if parallel[_primitive(graph.planes[h, :-1])] > _MANY]
    if not rows:
        raise ConstructionError(_NOT)
    # A hyperplane cuts no piece iff its two sides are known on all pieces: then it is in no condition with the jump 1.
    cuts = np.asarray(_around(graph, np.ones((len(graph.one), 1), dtype=object), _CYCLES)[0].any(axis=1))
    for h, jump in rows:
        if not cuts[h]:
            value[h] = jump
    return value, graph.jump - value[graph.plane]


def _around(graph: Graph, jump: NDArray[np.object_], count: int) -> tuple[NDArray[np.int64], np.random.Generator]:
    """How much jumps across each hyperplane add up to around random sums of cycles, ``(planes, count)`` residues.

    A sum of cycles is a flow without sources: any numbers on pairs that are not in a tree, and on a pair of the tree
    what the flow brings to all pieces behind it. A hyperplane is in no condition iff all its numbers are 0.
    """
    rng = np.random.default_rng(0)
    mixed = residues(jump, _PRIME).dot(rng.integers(1, _PRIME, jump.shape[1]).astype(object)) % _PRIME
    order, before, edge = _tree(graph)
    flow = rng.integers(0, _PRIME, (len(graph.one), count))
    flow[edge[order[1:]]] = 0
    every = np.arange(len(graph.one))
    ends = csr_array((np.ones(len(every), dtype=np.int64), (graph.two, every)), shape=(graph.pieces, len(every)))
    starts = csr_array((np.ones(len(every), dtype=np.int64), (graph.one, every)), shape=ends.shape)
    brought = np.asarray((ends - starts) @ flow)
    for i in order[:0:-1].tolist():  # from the leaves of the tree to its root: each adds to the one before
        brought[before[i]] += brought[i]
    last = order[1:]
    flow[edge[last]] = np.where(graph.two[edge[last]] == last, -1, 1)[:, None] * brought[last]
    steps = flow % _PRIME * (graph.sense * mixed.astype(np.int64))[:, None] % _PRIME
    on = csr_array((np.ones(len(every), dtype=np.int64), (graph.plane, every)), shape=(len(graph.planes), len(every)))
    return np.asarray(on @ steps) % _PRIME, rng


def _components(graph: Graph, jump: NDArray[np.object_]) -> list[NDArray[np.int64]]:
    """The sets of hyperplanes whose jumps come apart, but for those that are in no condition."""
    bent = np.unique(graph.plane[(jump != 0).any(axis=1)])
    if not len(bent):
        return []
    around, rng = _around(graph, jump, len(bent) + 8)
    forms = (graph.planes[bent] % _PRIME).astype(np.int64)
    weights = rng.integers(0, _PRIME, (forms.shape[1], around.shape[1]))
    mixed = np.zeros((len(bent), around.shape[1]), dtype=np.int64)
    for form, weight in zip(forms.T, weights, strict=True):
        mixed += form[:, None] * weight % _PRIME
    conditions = (around[bent] * (mixed % _PRIME) % _PRIME).T
    reduced, rank = nmod_mat(*conditions.shape, conditions.ravel().tolist(), _PRIME).rref()
    table = np.array(reduced.entries()).astype(np.int64).reshape(conditions.shape)[:rank]
    links = csr_array(table.T != 0) @ csr_array(table != 0)
    label = scipy.sparse.csgraph.connected_components(links, directed=False)[1]
    used = np.flatnonzero((table != 0).any(axis=0))
    return [bent[used[label[used] == k]] for k in np.unique(label[used])]


def _tree(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """A breadth-first order of the pieces, the piece before each, and the pair between them (-1 for the first)."""
    shape = (graph.pieces, graph.pieces)
    links = csr_array((np.ones(len(graph.one)), (graph.one, graph.two)), shape=shape)
    order, before = scipy.sparse.csgraph.breadth_first_order(links, 0, directed=False)
    if len(order) < graph.pieces:
        raise ConstructionError("the pieces of this function are not connected through facets")
    edge = np.full(graph.pieces, -1, dtype=np.int64)
    name = np.minimum(graph.one, graph.two) * graph.pieces + np.maximum(graph.one, graph.two)
    sort, rest = np.argsort(name), order[1:].astype(np.int64)
    wanted = np.minimum(rest, before[rest]) * graph.pieces + np.maximum(rest, before[rest])
    edge[rest] = sort[np.searchsorted(name[sort], wanted)]
    return order.astype(np.int64), before.astype(np.int64), edge


def _spans(graph: Graph, rest: NDArray[np.object_]) -> list[NDArray[np.object_]]:
    """The spaces that the normals of components span, each once; one in another is taken with it.

    A hyperplane in a condition is in one with others that meet it where its jump changes: in the plane that is all.
    """
    n = graph.planes.shape[1] - 1
    if n == 2:
        return [span_of(np.eye(2, dtype=np.int64).astype(object))[0]] if rest.any() else []
    found = [span_of(graph.planes[own, :-1])[0] for own in _components(graph, rest)]
    distinct = list({tuple(map(tuple, rows)): rows for rows in found}.values())
    return [rows for rows in distinct if not any(len(rows) < len(o) and _holds(o, rows) for o in distinct)]


def _holds(rows: NDArray[np.object_], others: NDArray[np.object_]) -> bool:
    return len(span_of(np.concatenate([rows, others]))[0]) == len(rows)


def span_of(vectors: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """A basis of the space that vectors span, as rationals, and columns in which it is the identity.

    >>> rows, columns = span_of(np.array([[2, 4, 0], [1, 2, 0]], dtype=object))
    >>> rows.tolist(), columns
    ([[Fraction(1, 1), Fraction(2, 1), Fraction(0, 1)]], array([0]))
    """
    rows = reduced_rows(vectors)
    return rows, np.argmax(rows != 0, axis=1)


# From sets of hyperplanes to functions.


def _line(p: CPWL, graph: Graph, own: list[int], value: NDArray[np.object_]) -> Summand | None:
    """The function of one input with these hinges, 0 before the first."""
    rows, columns = span_of(graph.planes[own[:1], :-1])
    scale = [Fraction(graph.planes[h, columns[0]]) for h in own]
    places = [graph.planes[h, -1] / s for h, s in zip(own, scale, strict=True)]
    order = sorted(range(len(own)), key=places.__getitem__)
    slope, height, at = np.zeros(p.outputs, dtype=object), np.zeros(p.outputs, dtype=object), places[order[0]]
    heights = []
    for k in order:
        height = height + slope * (places[k] - at)
        heights.append([Fraction(v) for v in height])
        slope, at = slope + value[own[k]] * scale[k], places[k]
    ends = {"left_slope": [Fraction(0)] * p.outputs, "right_slope": [Fraction(v) for v in slope]}
    function = CPWL.from_breakpoints([places[k] for k in order], heights, **ends)
    found = contained(p, rows, function)
    return None if found is None else Summand(rows, columns, function, found)


def slice_of(p: CPWL, rows: NDArray[np.object_], columns: NDArray[np.int64]) -> CPWL | None:
    """The function where all inputs but `columns` are fixed, if that is all of ``rows x``; else None.

    That is so on a box if the rows are unit vectors, and on R^n. A table is seen on a face of its box.
    """
    box = None if is_everything(p) else domain_box(p)
    if box is None and not is_everything(p):
        return None
    if box is not None and ((rows != 0).sum(axis=1) != 1).any():
        return None
    others = np.setdiff1d(np.arange(p.dim), columns)
    if p.mesh is not None:
        return _face(p, columns, others)
    share = np.array([Fraction(k + 307, 2 * k + 691) for k in range(len(others))], dtype=object)
    ends = None if box is None else np.array(box, dtype=object)[:, others]
    at = share if ends is None else ends[0] + (ends[1] - ends[0]) * share
    stack, laws = p.polyhedra.integer(), p.laws.rational()
    body = np.column_stack([stack[:, columns], stack[:, -1] - stack[:, others].dot(at)])
    exact = integer_rows(np.zeros(body.shape), fraction_array(body))
    keep = (exact[:, :-1] != 0).any(axis=1) | (exact[:, -1] < 0)
    exact[~keep, -1] = 1
    polyhedra = stacked(exact, p.polyhedra.start)
    offset = laws[..., -1] + laws[..., others].dot(at)
    own = homogeneous(np.concatenate([laws[..., columns], offset[..., None]], axis=-1))
    made = CPWL.from_parts(Parts(polyhedra, Laws.from_integer(own), None, 0.0))
    thick = sorted(inner_points(made, range(made.num_pieces)))
    return merge(made.take(np.array(thick, dtype=np.int64))) if thick else None


def _face(p: CPWL, columns: NDArray[np.int64], others: NDArray[np.int64]) -> CPWL | None:
    """A table of a box on the face where the other inputs are least."""
    assert p.mesh is not None
    x = fraction_array(p.mesh.corners[:, :-1]) / p.mesh.corners[:, -1:]
    used = np.unique(p.mesh.simplices)
    on = (x[:, others] == x[used][:, others].min(axis=0)).all(axis=1)
    inside = on[p.mesh.simplices]
    own = p.mesh.simplices[inside.sum(axis=1) == len(columns) + 1]
    faces = np.unique(np.sort(own[on[own]].reshape(len(own), -1), axis=1), axis=0)
    if not len(faces):
        return None
    points, number = np.unique(faces, return_inverse=True)
    values = fraction_array(p.mesh.values if p.mesh.exact_values is None else p.mesh.exact_values)
    return CPWL.from_simplices(x[points][:, columns].tolist(), number.reshape(faces.shape), values[points].tolist())


def _section(p: CPWL, rows: NDArray[np.object_], parts: list[Summand]) -> Summand | None:
    """The part of these inputs, read off a slice of what the parts before leave; None if that is not all of it."""
    columns = span_of(rows)[1]
    function = slice_of(rest_of(p, parts), rows, columns)
    if function is None:
        return None
    found = contained(p, rows, function)
    return None if found is None else Summand(rows, columns, function, found)


def contained(p: CPWL, rows: NDArray[np.object_], function: CPWL) -> NDArray[np.int64] | None:
    """For each piece of `p` a piece of the function in which it lies, seen through `rows`; None if one lies in none."""
    spanned = generators_of(p)
    if not spanned.known.all():
        return _ranges_contained(p, rows, function) if len(rows) == 1 else None
    places, member, start = spanned.places, spanned.member, spanned.start
    seen = np.column_stack([places[:, :-1].dot(rows.T), places[:, -1]])
    corner = np.asarray(seen[:, -1] != 0, dtype=bool)
    view = to_float(np.where(corner[:, None], seen[:, :-1] / np.where(corner, seen[:, -1], 1)[:, None], 0))[member]
    away = to_float(np.where(corner[:, None], 0, seen[:, :-1]))[member]
    count = np.add.reduceat(corner[member].astype(np.int64), start[:-1])
    middle = np.add.reduceat(view, start[:-1]) / count[:, None] + np.add.reduceat(away, start[:-1])
    at = find_pieces(function, middle)  # where the middle of a piece lies, all of it must: every row is asked
    if (at < 0).any():
        return None
    stack, first = function.polyhedra.integer(), function.polyhedra.start
    body = np.repeat(at, np.diff(start))
    row, entry = ranges(first[body], np.diff(first)[body])
    return None if (sides(stack, seen, row, member[entry]) > 0).any() else at


def _ranges_contained(p: CPWL, rows: NDArray[np.object_], function: CPWL) -> NDArray[np.int64] | None:
    """The same for one row, by linear programs: pieces that contain lines, or have too many corners."""
    line, probe, found = in_order(function), Probe(0.0), []
    if line is None:
        return None
    ends = [Fraction(*end) for end in line.ends]
    for body in p.polyhedra:
        (most, _), (least, _) = probe.maxima(body, [rows[0], -rows[0]])
        first = 0 if least == np.inf else bisect_right(ends, Fraction(-least))
        last = len(ends) if most == np.inf else bisect_left(ends, Fraction(most))
        if last > first:
            return None
        found.append(line.order[first])
    return np.array(found, dtype=np.int64)


def rest_of(p: CPWL, parts: list[Summand]) -> CPWL:
    """What is left of a function on its pieces when parts are taken off: continuous, as all of them are."""
    return with_laws(p, p.laws.rational() - sum(part.laws() for part in parts), instead=True) if parts else p


def _with_slopes(p: CPWL, parts: list[Summand]) -> list[Summand]:
    """The parts, with what is left of the function: its affine part goes to inputs that parts have, where it can."""
    if not parts:
        raise ConstructionError("the pieces of this function do not determine its parts")
    left = p.laws.rational() - sum(part.laws() for part in parts)
    identity = fraction_array(np.eye(p.dim, dtype=np.int64))
    if (left != left[:1]).any():
        return [*parts, Summand(identity, np.arange(p.dim), with_laws(p, left, instead=True), np.arange(p.num_pieces))]
    slopes = np.concatenate([part.rows for part in parts])
    basis, law = span_of(slopes)[0], left[0]
    if len(span_of(np.concatenate([basis, law[:, :-1]]))[0]) > len(basis):
        nothing = Polyhedra(np.zeros((0, p.dim)), np.zeros(0), np.zeros(2, dtype=np.int64))
        affine = CPWL.from_parts(Parts(nothing, Laws.from_integer(homogeneous(left[:1])), None, 0.0))
        return [*parts, Summand(identity, np.arange(p.dim), affine, np.zeros(p.num_pieces, dtype=np.int64))]
    shares, done, first = _shares(slopes, law[:, :-1]), [], 0
    for part in parts:
        last = first + len(part.rows)
        own = np.column_stack([shares[:, first:last], law[:, -1] * (first == 0)])
        done.append(replace(part, function=with_laws(part.function, own) if own.any() else part.function))
        first = last
    return done


def _shares(rows: NDArray[np.object_], slopes: NDArray[np.object_]) -> NDArray[np.object_]:
    """Slopes as combinations of the rows, of as few as they need, the first ones."""
    k = len(rows)
    reduced, rank = exact_matrix(np.column_stack([rows.T, slopes.T])).rref()
    shares = np.zeros((len(slopes), k), dtype=object) + Fraction(0)
    for i, pivot in enumerate(pivots(reduced, rank)):
        shares[:, pivot] = [from_flint(reduced[i, k + o]) for o in range(len(slopes))]
    return np.asarray(shares)


def with_laws(p: CPWL, laws: NDArray[np.object_], *, instead: bool = False) -> CPWL:
    """The function plus an affine one ``(m, n + 1)``; or `instead` its pieces with other laws, ``(q, m, n + 1)``."""
    return p.with_laws(homogeneous(laws if instead else p.laws.rational() + laws))


def _primitive(normal: NDArray[np.object_]) -> tuple[int, ...]:
    divisor = math.gcd(*normal)
    return tuple(v // divisor for v in normal)
