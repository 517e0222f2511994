"""Several outputs on one exact complex: each bends only where a generic combination of all does.

Let `g` be the combination, with exact laws. Across a facet between laws `a` and `b` every output changes by
``c (g_a - g_b)`` with a number `c` of its own, and around every face of codimension 2 these changes add up to 0. Three
laws around a face have one `c`; four that cross have two; in general there are two linear equations a face. They are
solved exactly, near the float laws, and the last output is what the combination leaves. Where all bends are of the kind
that networks have, all outputs come from one system instead (`system`).
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.exact.rational import from_flint, to_flint
from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.faces import Face
from cpwl.function.snap.laws import CLOSE, fix_laws
from cpwl.function.snap.meetings import Meetings
from cpwl.function.snap.relations import Relation, noise_of, relations_of
from cpwl.function.snap.simple import simple_laws
from cpwl.function.snap.system import Places, solve_outputs

__all__ = ["Broken", "combination", "exact_laws", "split_laws"]

_Floats = NDArray[np.float64]
_Law = list[Fraction]
_Pair = tuple[int, int]
_FEW = 3  # laws that may be in the way of all others


class Broken(Unfit):
    """Laws that cannot meet all that they are meant to meet."""

    def __init__(self, laws: frozenset[int]) -> None:
        super().__init__(f"{len(laws)} laws do not meet exactly with all that they are meant to meet")
        self.laws = laws


def exact_laws(laws: _Floats, meetings: Meetings, reach: float, tol: float) -> tuple[list[_Law], list[list[_Law]]]:
    """Exact laws near ``laws[k, j]``, and a combination of outputs that bends wherever one of them does; or `Unfit`."""
    weight = np.append(np.full(laws.shape[2] - 1, reach), 1.0)
    share = combination(laws, weight, meetings.pairs) if laws.shape[1] > 1 else [Fraction(1)]
    whole = np.einsum("j,kjn->kn", np.array(share, dtype=np.float64), laws)
    little = tol * float(np.abs(whole * weight).max())
    noise = noise_of(whole, meetings.faces, weight, little)
    simple = _simple(laws, whole, share, meetings, weight, noise)
    if simple is not None:
        return simple
    tried: list[Relation] | None = None
    objection: Unfit | None = None
    for same in dict.fromkeys((noise, 20 * little)):  # what noise is was guessed
        relations = relations_of(whole, meetings.faces, meetings.parallel(whole), weight, same)
        if relations == tried:
            break
        tried = relations
        try:
            return _with_relations(laws, whole, share, relations, meetings, weight, little)
        except Unfit as reason:
            objection = reason
    assert objection is not None
    raise objection


def _simple(
    laws: _Floats, whole: _Floats, share: list[Fraction], meetings: Meetings, weight: _Floats, noise: float
) -> tuple[list[_Law], list[list[_Law]]] | None:
    """Laws of simple numbers, if all have such and meet with them."""
    found = simple_laws(laws, noise / (np.abs(np.array(share, dtype=np.float64))[:, None] * weight))
    if found is None:
        return None
    together = _combined(found, share)
    relations = relations_of(whole, meetings.faces, meetings.parallel(whole), weight, noise)
    return (together, found) if all(relation.holds(together) for relation in relations) else None


def _combined(laws: list[list[_Law]], share: list[Fraction]) -> list[_Law]:
    """The combination of the outputs of each law."""
    return [
        [sum((s * x for s, x in zip(share, column, strict=True)), Fraction(0)) for column in zip(*law, strict=True)]
        for law in laws
    ]


def _with_relations(
    laws: _Floats,
    whole: _Floats,
    share: list[Fraction],
    relations: Sequence[Relation],
    meetings: Meetings,
    weight: _Floats,
    little: float,
) -> tuple[list[_Law], list[list[_Law]]]:
    """Exact laws that satisfy relations, the combination of all outputs first."""
    if laws.shape[1] > 1:
        found = _at_once(laws, share, relations, meetings, weight, little)
        if found is not None:
            return found
    fixed = fix_laws(whole, relations, weight, little, meetings.pairs if meetings.unbounded else ())
    if fixed.broken:
        raise Broken(fixed.broken)
    if laws.shape[1] == 1:
        return fixed.laws, [[law] for law in fixed.laws]
    return fixed.laws, split_laws(fixed.laws, share, laws, meetings.faces, meetings.pairs, weight, little)


def _at_once(
    laws: _Floats,
    share: list[Fraction],
    relations: Sequence[Relation],
    meetings: Meetings,
    weight: _Floats,
    little: float,
) -> tuple[list[_Law], list[list[_Law]]] | None:
    """All outputs from one system, if they are near and their combination satisfies all relations."""
    triples = [face.laws for face in meetings.faces if face.closed and len(set(face.laws)) == len(face.laws) == 3]
    places = Places(meetings.pairs, [(a, b, c) for a, b, c in triples], meetings.unbounded)
    view = np.array(share, dtype=np.float64)
    best: tuple[float, tuple[list[_Law], list[list[_Law]]] | None] = (100 * little, None)
    for independent in (False, True):
        try:
            found = solve_outputs(laws, view, relations, places, weight, little, independent)
        except Unfit:
            continue
        whole = _combined(found, share)
        off = np.abs((np.array(found, dtype=np.float64) - laws) * weight).max(axis=(0, 2)) * np.abs(view)
        if off.max() <= best[0] and all(relation.holds(whole) for relation in relations):
            best = (float(off.max()), (whole, found))
        if best[0] <= CLOSE * little:
            break
    return best[1]


def combination(laws: _Floats, weight: _Floats, pairs: Sequence[_Pair] = ()) -> list[Fraction]:
    """Weights for outputs ``laws[k, j]``, which make them of about one size; of some the ones that cancel no jump.

    The jumps of `pairs` of laws are looked at, and the weights taken with which the smallest, relative, is largest.
    """
    sizes = np.abs(laws * weight).max(axis=(0, 2))
    powers = np.round(np.log2(np.where(sizes > 0, sizes, 1.0))).astype(int).tolist()
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    jumps = (laws[ends[:, 0]] - laws[ends[:, 1]]) * weight / np.exp2(powers)[:, None]
    largest = np.maximum(np.abs(jumps).max(axis=(1, 2)), 1e-300)

    def least(candidate: Iterable[Fraction]) -> float:
        whole = np.einsum("j,ejn->en", np.array(list(candidate), dtype=np.float64), jumps)
        return float((np.abs(whole).max(axis=1) / largest).min(initial=np.inf))

    steps = (13, 5, -3, 17, -7, 11) if len(powers) > 1 else (13,)
    candidates: list[list[Fraction]] = [
        [Fraction(29 * (-1 if a < 0 else 1) ** j, 29 + abs(a) * j + 7 * j * j) for j in range(len(powers))]
        for a in steps
    ]
    best: list[Fraction] = max(candidates, key=least)
    return [x / Fraction(2) ** power for x, power in zip(best, powers, strict=True)]


def split_laws(
    whole: list[_Law],
    share: list[Fraction],
    laws: _Floats,
    faces: Sequence[Face],
    pairs: Sequence[_Pair],
    weight: _Floats,
    little: float,
) -> list[list[_Law]]:
    """For each law its outputs, whose combination by `share` is `whole`; `laws` ``(k, m, n + 1)`` are near them."""
    edges = {pair: k for k, pair in enumerate(dict.fromkeys((min(p), max(p)) for p in pairs))}
    steps = [[x - y for x, y in zip(whole[a], whole[b], strict=True)] for a, b in edges]
    equations = _equations(edges, steps, faces)
    outputs = [_one_output(laws[:, j], edges, steps, equations, weight, little) for j in range(laws.shape[1] - 1)]
    last = []
    for k, law in enumerate(whole):
        rest = [x - sum(s * f[k][t] for s, f in zip(share, outputs, strict=False)) for t, x in enumerate(law)]
        last.append([x / share[-1] for x in rest])
    return [list(laws_of_one) for laws_of_one in zip(*outputs, last, strict=True)]


def _one_output(
    laws: _Floats,
    edges: dict[_Pair, int],
    steps: list[_Law],
    equations: list[dict[int, Fraction]],
    weight: _Floats,
    little: float,
) -> list[_Law]:
    """The laws of one output: nearly equal numbers taken as one, or each edge for itself, whichever fits."""
    broken: frozenset[int] | None = None
    for together in (1e-7, 0.0):
        change = _changes(laws, edges, steps, equations, weight, little if together else 0.0, together)
        found = _walked(laws, edges, steps, change)
        off = np.abs((np.array(found, dtype=np.float64) - laws) * weight).max(axis=1) > 1e3 * little
        apart = [
            (a, b)
            for (a, b), e in edges.items()
            if any(x - y != change[e] * z for x, y, z in zip(found[a], found[b], steps[e], strict=True))
        ]
        if not off.any() and not apart:
            return found
        wrong = frozenset(np.flatnonzero(off).tolist()) | _cover(apart)
        broken = wrong if broken is None or len(wrong) < len(broken) else broken
    if broken is None or len(broken) > _FEW + len(laws) // 5:
        raise Unfit("several outputs bend in the same places only within rounding")
    raise Broken(broken)


def _cover(pairs: Sequence[_Pair]) -> frozenset[int]:
    """One of each pair, those in most of them first."""
    left, found = list(pairs), set()
    while left:
        best = Counter(k for pair in left for k in pair).most_common(1)[0][0]
        found.add(best)
        left = [pair for pair in left if best not in pair]
    return frozenset(found)


def _equations(edges: dict[_Pair, int], steps: list[_Law], faces: Sequence[Face]) -> list[dict[int, Fraction]]:
    """Linear equations for the numbers of the edges: two for each face, in coordinates where it is not degenerate."""
    found: list[dict[int, Fraction]] = []
    for ring in {face.laws for face in faces if face.closed and len(face.laws) > 2}:
        around = []
        for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
            pair = (min(a, b), max(a, b))
            if pair in edges:
                around.append((edges[pair], 1 if a < b else -1))
        if len(around) < len(ring):  # between two of these laws there is one that is loose
            continue
        view = np.array([steps[e] for e, _ in around], dtype=np.float64)
        for t in _independent(view):
            row: dict[int, Fraction] = {}
            for e, s in around:
                row[e] = row.get(e, Fraction(0)) + s * steps[e][t]
            found.append(row)
    return _distinct(found)


def _independent(view: _Floats) -> _Pair:
    """Two coordinates in which vectors of a plane are farthest from lying on a line."""

    def area(two: tuple[int, ...]) -> float:
        values = np.linalg.svd(view[:, list(two)], compute_uv=False)
        return float(values[1])

    one, two = max(itertools.combinations(range(view.shape[1]), 2), key=area)
    return one, two


def _changes(
    laws: _Floats,
    edges: dict[_Pair, int],
    steps: list[_Law],
    equations: list[dict[int, Fraction]],
    weight: _Floats,
    little: float,
    together: float,
) -> list[Fraction]:
    """For each edge by how much one output changes, exactly such that all equations hold; nearly equal ones are one."""
    if not edges:
        return []
    view = np.array(steps, dtype=np.float64) * weight
    ends = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    wanted = (laws[ends[:, 0]] - laws[ends[:, 1]]) * weight
    near = np.einsum("ij,ij->i", view, wanted) / np.einsum("ij,ij->i", view, view)
    group = _clusters(near, max(10 * little / np.abs(view).max(axis=1).min(), together * float(np.abs(near).max())))
    values = [Fraction(0)] * (int(group.max()) + 1)
    for k in range(len(values)):
        mean = float(near[group == k].mean())
        values[k] = Fraction(0) if abs(mean) <= 1e-6 * np.abs(near).max() else Fraction(mean)
    rows = _grouped(equations, group)
    # The largest values last, so that they are free, and small ones follow from them.
    order = sorted(range(len(values)), key=lambda k: abs(values[k]))
    flat = [to_flint(row.get(k, Fraction(0))) for row in rows for k in order]
    reduced, rank = fmpq_mat(len(rows), len(order), flat).rref()
    for i in range(rank):
        entries = [(j, reduced[i, j]) for j in range(len(order)) if reduced[i, j] != 0]
        terms = ((from_flint(x), order[j]) for j, x in entries[1:])
        values[order[entries[0][0]]] = -sum((x * values[k] for x, k in terms), Fraction(0))
    return [values[k] for k in group.tolist()]


def _clusters(values: _Floats, little: float) -> NDArray[np.int64]:
    """Numbers for values, equal where steps of a little lead from one to the other."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > little
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.concatenate([[0], np.cumsum(steps)])
    return number


def _grouped(equations: list[dict[int, Fraction]], group: NDArray[np.int64]) -> list[dict[int, Fraction]]:
    """The equations for groups of edges that have one number each."""
    found: list[dict[int, Fraction]] = []
    for equation in equations:
        row: dict[int, Fraction] = {}
        for e, x in equation.items():
            row[int(group[e])] = row.get(int(group[e]), Fraction(0)) + x
        found.append(row)
    return _distinct(found)


def _distinct(rows: Sequence[dict[int, Fraction]]) -> list[dict[int, Fraction]]:
    """Each equation once, without its zeros, and without those that have nothing else."""
    found = dict.fromkeys(tuple(sorted((k, x) for k, x in row.items() if x)) for row in rows)
    return [dict(row) for row in found if row]


def _walked(laws: _Floats, edges: dict[_Pair, int], steps: list[_Law], change: list[Fraction]) -> list[_Law]:
    """The laws of one output, from the first one on along edges."""
    near: list[list[tuple[int, int, int]]] = [[] for _ in laws]
    for (a, b), e in edges.items():
        near[a].append((b, e, -1))
        near[b].append((a, e, 1))
    found: dict[int, _Law] = {}
    for root in range(len(laws)):
        if root in found:
            continue
        if found:
            raise Unfit("the regions of the laws do not hang together")
        found[root] = [Fraction(x) for x in laws[root].tolist()]
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            for other, e, s in near[here]:
                if other not in found:
                    c = s * change[e]
                    found[other] = [x + c * y for x, y in zip(found[here], steps[e], strict=True)]
                    waiting.append(other)
    return [found[k] for k in range(len(laws))]
