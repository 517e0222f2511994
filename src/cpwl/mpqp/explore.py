"""All critical regions of a strictly convex program, and why there are no others.

``min 1/2 u'Qu + (H x + c)'u`` over ``A u <= b + F x``, ``A_t x <= b_t``, with `Q` positive definite: the optimiser is
unique, so a set of tight rows and its full-dimensional region determine each other, and regions never overlap.

- *Frames instead of steps.* "Just beyond facet `f` at `x_f`" is ``x_f + e1 d + e2 (unit 1) + e3 (unit 2) + ..`` with
  infinitesimals ``e1 >> e2 >> ..`` and `d` the outward normal. Signs of affine rows are lexicographic there, and never
  0 for a row that is not identically 0: no step length, no tolerance, and every frame is inside one region or outside
  of the feasible parameters.
- *The region at a frame* is guessed by the rule of Tondel, Johansen and Bemporad (2003): a facet from the slack of row
  `i` leads to ``T + {i}``, one from the multiplier of row `j` to ``T - {j}``. If all rows of that region are positive
  at the frame, that proves it. Otherwise a dual active-set method (Goldfarb and Idnani 1983) over lexicographic vectors
  ends in an active set, or in ``y >= 0`` with ``y'A = 0`` and ``y'(b + F x) < 0`` at the frame.
- *Edges.* In that case ``y'(b + F x) >= 0`` holds for all feasible parameters and is the facet's row.
- *Whole facets.* Regions need not meet face to face: a facet is split where a row of the neighbour cuts it, until all
  of it is covered from its other side.

**Theorem.** If the feasible parameters `X` have an interior and every facet of every region that was found is an edge
or covered, the regions are all of them and cover `X`. *Proof.* Suppose an open part of `X` is in none of them. A
generic segment from inside a region into that part stays inside `X` and avoids faces of codimension 2. At its last
point in the union it leaves through the inside of a facet, which is no edge, since edge rows are positive inside `X`.
So a neighbour contains a neighbourhood of that point on the other side: a contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.integers import primitive, ratio_view
from cpwl.exact.rational import from_flint, independent, negative_direction, take
from cpwl.executors import Placed, placed, spread
from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.bodies import irredundant, stacked
from cpwl.geometry.cells import cell_of
from cpwl.geometry.generators import corners_of, generators
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.probe import Probe
from cpwl.mpqp.program import CriticalRegion, Program, critical_region, integer_laws, solve_kkt
from cpwl.progress import Progress
from cpwl.regions.tiles import Journal

_CHUNK = 8  # regions that are opened at a time
_DIGITS = (16, 40)  # binary digits of inner points that are tried before exact ones, which are long

_Rows: TypeAlias = NDArray[np.object_]
_Frame: TypeAlias = tuple[_Rows, _Rows]  # a place (x, 1) w with w > 0, and a direction, both of integers
_Lex: TypeAlias = list[Any]


@dataclass(frozen=True, slots=True)
class Edge:
    """A row that holds for all feasible parameters: ``y'(b + F x) + z'(b_t - A_t x) >= 0`` with ``y'A = 0``.

    `y` and `z` are not negative, but for equations. Only what is not 0 is there.
    """

    y: dict[int, Fraction]
    z: dict[int, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A critical region with what is beyond each facet."""

    tight: tuple[int, ...]
    independent: tuple[int, ...]
    law: _Rows
    """For each decision variable ``(gradient, offset, 1) * denominator``."""
    rows: _Rows
    """Its facets, primitive integer rows ``(a, b)`` of ``a.x <= b``."""
    inner: NDArray[np.object_]
    """A rational point inside."""
    beyond: tuple[Edge | tuple[tuple[int, ...], ...], ...]
    """For each facet the edge that it is, or the tight rows of the regions that cover it from the other side."""


@dataclass(frozen=True, slots=True, eq=False)
class Lead:
    """An active set with a region that is to be opened, and the frame at which it was found."""

    active: tuple[int, ...]
    frame: _Frame | None = None


_Opened: TypeAlias = tuple[Region, dict[tuple[int, ...], Lead]]  # a region, and what leads to those beyond its facets


def explore(
    program: Program,
    seeds: Sequence[Sequence[int]] = (),
    *,
    executor: Executor | None = None,
    max_regions: int | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
    attempt: int = 0,
) -> list[Region]:
    """All critical regions with an interior, in order of their tight rows; `seeds` are active sets to begin with.

    Regions that are noted in the journal, for this attempt, are not opened again. Raises `InputError` where `Q` is not
    positive definite, and where no parameter is feasible, or the feasible ones satisfy an equation; `LimitError` beyond
    `max_regions`, with the regions found so far.
    """
    direction = negative_direction(program.Q)
    if direction is not None:
        shown = ", ".join(map(str, direction))
        message = f"`Q` is not positive definite: v'Qv <= 0 for v = ({shown}), so that the optimiser may not be unique"
        raise InputError(f"{message}. Add a small multiple of the identity to `Q`", direction=direction)
    alone = _Solver(program)
    leads = [Lead(active) for active in dict.fromkeys(tuple(sorted(map(int, seed))) for seed in seeds)]
    known: dict[tuple[int, ...], Region] = {}
    with placed(program, executor) as place:
        while True:
            wave, number = leads, 0
            while wave:
                opened = _opened_in_turn(wave, (attempt, number), known, alone, place, executor, journal)
                wave, number = _next_wave(opened, known), number + 1
                if progress is not None:
                    progress(len(known), len(known) + len(wave), "regions")
                if max_regions is not None and len(known) + len(wave) > max_regions:
                    raise _too_many(max_regions, known, wave)
            if known:
                return [known[tight] for tight in sorted(known)]
            frame = (_start(program), np.zeros(program.inputs, dtype=object))
            active = alone.active_at(frame)
            assert not isinstance(active, Edge)
            leads = [Lead(tuple(active), frame)]


def _too_many(most: int, known: dict[tuple[int, ...], Region], wave: list[Lead]) -> LimitError:
    """That there are more regions than are allowed, with those found so far."""
    ways = 'with `checkpoint` the same call goes on, and `cpwl.io.from_active_sets` does with `details["active_sets"]`'
    return LimitError(
        f"the program has more than {counted(most, 'region')}; `max_regions` allows more. "
        f"{counted(len(known), 'region')} found so far: {ways}",
        active_sets=sorted([list(tight) for tight in known] + [list(lead.active) for lead in wave]),
        regions=[known[tight] for tight in sorted(known)],
    )


def _next_wave(opened: Iterable[list[_Opened]], known: dict[tuple[int, ...], Region]) -> list[Lead]:
    """Takes all regions of a wave, and gives those beyond their facets that are new."""
    leads: dict[tuple[int, ...], Lead] = {}
    for regions in opened:
        for region, beyond in regions:
            known[region.tight] = region
            leads |= {tight: lead for tight, lead in beyond.items() if tight not in leads}
    return [lead for tight, lead in leads.items() if tight not in known]


def _opened_in_turn(
    wave: list[Lead],
    name: tuple[int, ...],
    known: dict[tuple[int, ...], Region],
    alone: _Solver,
    place: Placed,
    executor: Executor | None,
    journal: Journal | None,
) -> Iterator[list[_Opened]]:
    """The regions of a wave, some at a time: those that are noted, and others that are opened now, and noted."""
    chunks = [wave[k : k + _CHUNK] for k in range(0, len(wave), _CHUNK)]
    old = [None if journal is None else journal.get((*name, k)) for k in range(len(chunks))]
    todo = [chunk for chunk, noted in zip(chunks, old, strict=True) if noted is None]
    fresh = iter(
        map(alone.opened, todo) if executor is None else spread(_opened, place, todo, executor, prepare=_Solver)
    )
    for k, noted in enumerate(old):
        found = next(fresh) if noted is None else noted["regions"]
        if journal is not None and noted is None:
            new = [(one, {tight: lead for tight, lead in leads.items() if tight not in known}) for one, leads in found]
            journal.add((*name, k), regions=new)
        yield found


def _opened(solver: _Solver, leads: list[Lead]) -> list[_Opened]:
    return solver.opened(leads)


class _Solver:
    """A program with the regions of it that were met so far in this process."""

    def __init__(self, program: Program) -> None:
        self.program, self.n = program, program.inputs
        self.probe = Probe(0.0)
        self._regions: dict[frozenset[int], CriticalRegion | None] = {}
        self._facets: dict[tuple[Any, ...], tuple[CriticalRegion, _Rows]] = {}
        self._equations = independent(program.A, list(range(program.equalities)))

    def region(self, active: Iterable[int]) -> CriticalRegion | None:
        """The critical region of an active set, computed once, from all rows that are tight there."""
        key = frozenset(active)
        if key not in self._regions:
            found = critical_region(self.program, sorted(key))
            if found is not None and found.tight != key:
                found = self.region(found.tight)
            self._regions[key] = found
        return self._regions[key]

    # One region: its facets, and what is beyond them.

    def opened(self, leads: list[Lead]) -> list[_Opened]:
        """The regions of some leads, those without interior left out, each with the leads beyond its facets."""
        met: dict[frozenset[int], tuple[CriticalRegion, NDArray[np.object_]]] = {}
        for lead in leads:
            region = self.region(lead.active)
            if region is None or region.tight in met:
                continue
            inner = None if lead.frame is None else _step_inside(region.rows, lead.frame)
            if inner is None:
                inner = self.probe.interior(polyhedra_from_integers([region.rows.tolist()], self.n)[0])
            if inner is not None:
                met[region.tight] = region, inner
        if not met:
            return []
        regions, points = zip(*met.values(), strict=True)
        start = np.cumsum([0] + [len(region.rows) for region in regions])
        stack = stacked(np.concatenate([region.rows for region in regions]), start)
        slim = irredundant(stack, np.array(points, dtype=object))
        spans = generators(slim)
        found = []
        for k, region in enumerate(regions):  # each has facets and neighbours of its own
            rows, places = slim[k].integer(), spans.places[spans.of_piece(k)]
            places = places if len(places) else corners(rows)
            rows = rows[_are_facets(rows, places)]
            found.append(self._surrounded(region, points[k], rows, places))
        return found

    def _surrounded(self, region: CriticalRegion, inner: NDArray[np.object_], rows: _Rows, places: _Rows) -> _Opened:
        """A region with what is beyond each facet."""
        beyond: list[Edge | tuple[tuple[int, ...], ...]] = []
        leads: dict[tuple[int, ...], Lead] = {}
        on_facet = _values(rows, places) == 0
        for f in range(len(rows)):
            on = places[on_facet[f]]
            row, span = rows[f], frozenset(map(tuple, on))
            seen = self._facets.get((tuple(row), span))  # the same facet of the region on its other side
            there = self._cover(region, rows, f, on) if seen is None else [seen]
            if isinstance(there, Edge):
                beyond.append(there)
                continue
            if len(there) == 1:
                self._facets[tuple(-row), span] = region, there[0][1]
            names = tuple(tuple(sorted(other.tight)) for other, _ in there)
            beyond.append(names)
            for tight, (other, place) in zip(names, there, strict=True):
                leads.setdefault(tight, Lead(other.independent, (place, row[:-1])))
        key = tuple(sorted(region.tight))
        return Region(key, region.independent, integer_laws(region.law), rows, inner, tuple(beyond)), leads

    def _cover(
        self, region: CriticalRegion, rows: _Rows, f: int, on: _Rows
    ) -> Edge | list[tuple[CriticalRegion, _Rows]]:
        """The regions that cover facet `f` from its other side, each with a place on the facet; or the edge it is."""
        row, others = rows[f], np.delete(rows, f, axis=0)
        found: list[tuple[CriticalRegion, _Rows]] = []
        todo = [(others, on)]
        while todo:
            part, on = todo.pop()
            place = _inside_facet(row, part, on)
            there = self._across(region, row, place)
            if isinstance(there, Edge):
                return there
            found.append((there, place))
            for cut in there.rows[(_values(there.rows, on) > 0).any(axis=1)]:  # does it cut this part of the facet?
                if (_values(cut[None], on) > 0).any():
                    outside, inside = (np.vstack([part, side]) for side in (-cut, cut))
                    todo.append((outside, corners(np.vstack([outside, row, -row]))))
                    part, on = inside, corners(np.vstack([inside, row, -row]))
        return found

    def _across(self, region: CriticalRegion, row: _Rows, place: _Rows) -> CriticalRegion | Edge:
        """The region just beyond a facet at a place inside of it, or the edge that the facet is."""
        frame = (place, row[:-1])
        own = np.flatnonzero((region.rows == row).all(axis=1))
        origin = [region.origin[k] for k in own]
        bound = next((i for kind, i in origin if kind == "bound"), None)
        if bound is not None:
            return Edge({}, {bound: Fraction(1)})
        if len(origin) == 1 and origin[0][0] != "cone":
            kind, i = origin[0]
            if kind == "multiplier" or len(region.independent) < self.program.moves:
                there = self.region(region.tight ^ {i})
                if there is not None and _is_inside(there.rows, frame):
                    return there
        active = self.active_at(frame, region.independent)
        if isinstance(active, Edge):
            return active
        there = self.region(active)
        assert there is not None
        assert _is_inside(there.rows, frame)  # this is what the method proves
        return there

    # The optimum at a frame: Goldfarb and Idnani's dual method, numbers being lexicographic vectors.

    def active_at(self, frame: _Frame, warm: Sequence[int] = ()) -> list[int] | Edge:
        """The active set of the optimum at a frame; or multipliers that show that nothing is feasible there."""
        program = self.program
        base = _base(frame, self.n)
        top, beta = program.descent * base, program.right * base
        working, u, weight = self._dual_feasible(top, beta, warm)
        zero: _Lex = [fmpq(0)] * base.ncols()
        while True:
            slack = (beta - program.A * u).tolist()
            wrong = [(s, i) for i, s in enumerate(slack) if i >= program.equalities and i not in weight and s < zero]
            if not wrong:
                return list(weight)
            s, i = min(wrong)
            own = zero
            while True:
                working = list(weight)
                z, rates = self._direction(working, i)
                speed = (take(program.A, [i]) * z)[0, 0]
                first = self._first_to_go(working, rates, weight)
                if speed == 0 and first is None:
                    farkas = {i: Fraction(1)}
                    farkas |= {r: Fraction(int(v.p), int(v.q)) for r, v in zip(working, rates, strict=True) if v}
                    return Edge(farkas, {})
                step = None if speed == 0 else [v / speed for v in s]
                full = step is not None and (first is None or step <= first[0])
                length = step if full else first[0]  # type: ignore[index]
                assert length is not None
                for r, rate in zip(working, rates, strict=True):
                    weight[r] = [a + b * rate for a, b in zip(weight[r], length, strict=True)]
                own = [a + b for a, b in zip(own, length, strict=True)]
                if step is not None:
                    u = u + z * fmpq_mat(1, len(length), length)
                    s = [a - speed * b for a, b in zip(s, length, strict=True)]
                if full:
                    weight[i] = own
                    break
                assert first is not None
                del weight[first[1]]

    def _dual_feasible(self, top: Any, beta: Any, warm: Sequence[int]) -> tuple[list[int], Any, dict[int, _Lex]]:
        """A set of rows with multipliers that are not negative, out of a guess; their optimum and multipliers."""
        program, width = self.program, top.ncols()
        zero = [fmpq(0)] * width
        working = independent(program.A, [*self._equations, *(r for r in warm if r not in self._equations)])
        while True:
            u, found = solve_kkt(program, working, top, take(beta, working))
            weight = dict(zip(working, found.tolist(), strict=True))
            kept = [r for r in working if r in self._equations or weight[r] >= zero]
            if len(kept) == len(working):
                return working, u, weight
            working = kept

    def _direction(self, working: list[int], entering: int) -> tuple[Any, list[Any]]:
        """How the optimum and its multipliers move as the multiplier of another row grows."""
        top = take(self.program.A, [entering]).transpose() * fmpq(-1)
        z, rates = solve_kkt(self.program, working, top, fmpq_mat(len(working), 1))
        return z, rates.entries()

    def _first_to_go(self, working: list[int], rates: list[Any], weight: dict[int, _Lex]) -> tuple[_Lex, int] | None:
        """The step after which the first multiplier is 0, and whose that is."""
        ends = [
            ([v / -rate for v in weight[r]], r)
            for r, rate in zip(working, rates, strict=True)
            if rate < 0 and r not in self._equations
        ]
        return min(ends, default=None)


# Frames.


def _base(frame: _Frame, n: int) -> Any:
    """The matrix with the value at the place, the direction and the unit vectors as columns of ``(x, 1)``."""
    place, direction = frame
    base = fmpq_mat(n + 1, n + 2)
    for j in range(n):
        base[j, 0], base[j, 1], base[j, 2 + j] = fmpq(place[j], place[-1]), fmpq(direction[j]), fmpq(1)
    base[n, 0] = fmpq(1)
    return base


def _is_inside(rows: _Rows, frame: _Frame) -> bool:
    """Whether all rows ``b - a.x`` are positive at a frame."""
    place, direction = frame
    value = rows[:, -1] * place[-1] - rows[:, :-1] @ place[:-1]
    if (value < 0).any():
        return False
    left = rows[value == 0]
    value = -(left[:, :-1] @ direction)
    if (value < 0).any():
        return False
    left = left[value == 0, :-1]
    return all(next(v for v in row if v) < 0 for row in left)


# Points and corners.


def _values(rows: _Rows, places: _Rows) -> _Rows:
    """``a.x - b w`` of every row at every place."""
    return np.asarray(rows[:, :-1] @ places[:, :-1].T - rows[:, -1:] * places[:, -1], dtype=object)


def corners(rows: _Rows) -> _Rows:
    """Corners and rays of ``a.x <= b``, both senses of lines among them."""
    found = corners_of(rows)
    if len(found):
        return found
    cell = cell_of(np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1).tolist(), rows.shape[1] - 1)
    return np.array(cell.places, dtype=object)


def _are_facets(rows: _Rows, places: _Rows) -> NDArray[np.bool_]:
    """Which rows of a body with these corners and rays are facets: a corner is tight, and no other row at more."""
    on = np.asarray(_values(rows, places) == 0, dtype=bool)
    within = ~(on[:, None] & ~on[None]).any(axis=2)
    less = within & (on.sum(axis=1)[:, None] < on.sum(axis=1)[None])
    return np.asarray(on[:, places[:, -1] != 0].any(axis=1) & ~less.any(axis=1))


def _place(x: Sequence[Fraction]) -> _Rows:
    """A rational point as ``(x, 1) w``."""
    w = math.lcm(*(v.denominator for v in x))
    return np.array([*(v.numerator * (w // v.denominator) for v in x), w], dtype=object)


def _is_strict(rows: _Rows, place: _Rows) -> bool:
    return bool((_values(rows, place[None]) < 0).all())


def _step_inside(rows: _Rows, frame: _Frame) -> NDArray[np.object_] | None:
    """A point half way from a place on the boundary, in the direction of the frame, to the other end; None if flat."""
    place, direction = frame
    slope = rows[:, :-1] @ direction
    ends = [(g, s) for g, s in zip(-_values(rows, place[None])[:, 0], slope, strict=True) if s > 0]
    nearest: Callable[[Any], Any] = cmp_to_key(lambda one, two: one[0] * two[1] - two[0] * one[1])
    gap, rate = min(ends, key=nearest, default=(2 * place[-1], max(map(abs, direction))))
    if not any(direction) or gap <= 0:
        return None
    step = Fraction(gap, 2 * rate * place[-1])
    x = [Fraction(v, place[-1]) + step * d for v, d in zip(place[:-1], direction, strict=True)]
    tries = [[Fraction(round(v * (1 << digits)), 1 << digits) for v in x] for digits in _DIGITS]
    return next((np.array(y, dtype=object) for y in (*tries, x) if _is_strict(rows, _place(y))), None)


def _inside_facet(row: _Rows, others: _Rows, on: _Rows) -> _Rows:
    """A place inside the part of a facet that these corners and rays span: their mean, or a shorter number near by."""
    point, ray = on[on[:, -1] != 0], on[on[:, -1] == 0]
    if max(map(abs, point.ravel())) < 1 << 900:
        mean = ratio_view(point[:, :-1], point[:, -1:]).mean(axis=0)
        mean += sum((np.asarray(r[:-1] / max(map(abs, r)), dtype=np.float64) for r in ray), np.zeros(len(mean)))
        for place in _rounded_onto(row, mean):
            if _is_strict(others, place):
                return place
    shares = [Fraction(1, len(point) * int(w)) for w in point[:, -1]]
    exact = [sum((s * int(v) for s, v in zip(shares, column, strict=True)), Fraction(0)) for column in point[:, :-1].T]
    return _place([v + int(sum(column)) for v, column in zip(exact, ray[:, :-1].T, strict=True)] if len(ray) else exact)


def _rounded_onto(row: _Rows, x: NDArray[np.float64]) -> Iterator[_Rows]:
    """Places with few digits near `x` and on the hyperplane of the row."""
    k = max(range(len(x)), key=lambda j: abs(row[j]))
    turn = 1 if row[k] > 0 else -1
    for digits in _DIGITS:
        place = np.array([*(round(v * (1 << digits)) for v in x.tolist()), 1 << digits], dtype=object)
        place[k] = 0
        rest = row[-1] * place[-1] - row[:-1] @ place[:-1]
        place *= abs(row[k])
        place[k] = turn * rest
        yield primitive(place[None])[0]


def _start(program: Program) -> _Rows:
    """A place inside the feasible parameters; refused if there is none, with the reason.

    One linear program: the largest sum of all ``t`` with ``a.z + t <= b s``, ``0 <= t <= 1``, ``s >= 1``. At its
    optimum `t` is 0 for those rows only that hold as equations for all feasible pairs.
    """
    body = program.feasible()
    rows, moves, n = body.integer(), program.moves, program.inputs
    k, size = len(rows), moves + n
    wide = np.zeros((3 * k + 1, size + k + 2), dtype=object)
    each = np.arange(k)
    wide[:k, :size], wide[:k, size + k] = rows[:, :-1], -rows[:, -1]
    wide[each, size + each], wide[k + each, size + each], wide[2 * k + each, size + each] = 1, 1, -1
    wide[k : 2 * k, -1] = 1
    wide[3 * k, size + k], wide[3 * k, -1] = -1, -1
    big = polyhedra_from_integers([wide.tolist()], size + k + 1)[0]
    best = LinearProgram(big.A, big.b).maximize_exactly(big.integer(), [0] * size + [1] * k + [0])
    if best.status != "optimal" or best.point is None:
        raise _infeasible(program)
    implicit = [i for i in range(k) if best.point[size + i] == 0]
    equations = _equations_among(rows[implicit], moves)
    if len(equations):
        shown = "; ".join(_equation_text(row) for row in equations)
        message = f"the feasible parameters have no interior: all of them satisfy {shown}"
        raise InputError(
            f"{message}. Write the program with fewer parameters, by substituting that, or relax its constraints",
            equations=equations,
        )
    return _place([Fraction(v) / best.point[-1] for v in best.point[moves:size]])


def _equations_among(rows: _Rows, moves: int) -> _Rows:
    """The equations ``g.x = h`` that some equations ``e.(u, x) = h`` imply, as independent primitive rows."""
    width = rows.shape[1]
    table = fmpq_mat(len(rows), width, [fmpq(int(v)) for v in rows.ravel()])
    reduced, rank = table.rref()
    left = [row for row in reduced.tolist()[:rank] if not any(row[:moves])]
    whole = [[int(v * math.lcm(*(int(w.q) for w in row))) for v in row[moves:]] for row in left]
    return primitive(np.array(whole, dtype=object).reshape(len(whole), width - moves))


def _equation_text(row: _Rows) -> str:
    """``2 x0 - x1 = 3``."""
    terms = [f"{'-' if v < 0 else '+'} {'' if abs(v) == 1 else f'{abs(v)} '}x{j}" for j, v in enumerate(row[:-1]) if v]
    return f"{' '.join(terms).removeprefix('+ ')} = {row[-1]}"


def _infeasible(program: Program) -> InputError:
    """That no parameter is feasible, with the multipliers that show it (Farkas)."""
    body, exact = program.feasible(), program.pairs().tolist()
    best = LinearProgram(body.A, body.b).maximize_exactly(body.integer(), [0] * body.dim)
    assert best.multipliers is not None
    count, equations = program.A.nrows(), program.equalities
    weights: dict[tuple[str, int], Fraction] = {}
    for i, y in best.multipliers.items():  # of rows that are scaled to integers
        row, scale = [*(-v for v in exact[i][:-1]), exact[i][-1]], body.integer()[i]
        name = ("A", i) if i < count else ("A", i - count) if i < count + equations else ("A_t", i - count - equations)
        j = next((j for j, v in enumerate(scale) if v), 0)
        factor = int(scale[j]) / from_flint(row[j]) if row[j] else Fraction(1)
        weights[name] = weights.get(name, Fraction(0)) + y * factor * (-1 if count <= i < count + equations else 1)
    least = min(abs(y) for y in weights.values())
    weights = {name: y / least for name, y in sorted(weights.items())}
    shown = " + ".join(f"{float(y):.6g} * {name}[{i}]" for (name, i), y in weights.items())
    message = "no parameter is feasible: these multiples of rows of `A u - F x <= b` and `A_t x <= b_t` add up to"
    return InputError(f"{message} 0 <= a negative number: {shown}. Relax one of these rows", multipliers=weights)
