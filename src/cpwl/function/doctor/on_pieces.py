"""The health of a function given by half-spaces: facet by facet.

For exact data the normal form says which hyperplanes have anything wrong on them (`cpwl.function.flags.seams`), and
corners have what linear programs find for other data: inner points, facets, boxes. Two pieces are compared where they
meet (`Agreement`), exactly or within the tolerance of float data; gaps are measured along rays (`Beyond`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import are_multiples
from cpwl.exact.rational import fraction_array
from cpwl.executors import spread
from cpwl.function.answers import Finding, Kind, number_text, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.flags import seams, spanned
from cpwl.function.form import facets, middles
from cpwl.function.parts import scale_of
from cpwl.geometry.facets import Facet, FacetCover, facets_of, hyperplanes
from cpwl.geometry.generators import Generators, box_pairs, boxes_around, plane_rows
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

# Do two pieces agree where they meet? Differences of laws, exactly or within the tolerance of float data.


class Agreement:
    """Compares the laws of pieces; what two pieces may differ by follows from their own values."""

    def __init__(self, p: CPWL, polyhedra: Polyhedra) -> None:
        self.p, self.polyhedra = p, polyhedra
        self.exact = p.tol == 0
        self._laws = p.laws.integer() if self.exact else p.laws.coefficients()
        if not self.exact:
            scale = scale_of(polyhedra, p.laws, p.tol)
            self._slack, self._reach = 10 * scale.slack(p.tol), scale.reach

    def slack(self, i: int, j: int) -> float:
        """What values of two pieces may differ by: 0 for exact data."""
        return 0 if self.exact else float(max(self._slack[i], self._slack[j]))

    def difference(self, i: int, j: int) -> NDArray[Any]:
        """``f_i - f_j`` for each output, as rows ``(g, o)``, for exact data up to a positive factor."""
        f, g = self._laws[i], self._laws[j]
        if not self.exact:
            return np.asarray(f - g)
        return np.asarray(f[:, :-1] * g[:, -1:] - g[:, :-1] * f[:, -1:])

    def on_plane(self, i: int, j: int, row: int) -> bool:
        """Whether ``f_i = f_j`` on the whole hyperplane of that row: the difference is a multiple of it."""
        d = self.difference(i, j)
        if self.exact:
            assert self.polyhedra.exact is not None
            a = self.polyhedra.exact[row]
            return bool(are_multiples(d, np.append(a[:-1], -a[-1])[None]).all())
        h = np.append(self.polyhedra.A[row], -self.polyhedra.b[row])
        k = int(np.argmax(np.abs(h[:-1])))
        rest = d - d[:, k : k + 1] / h[k] * h
        reach = max(self._reach[i], self._reach[j])
        return bool((np.abs(rest) @ np.append(np.full(self.p.dim, reach), 1.0) <= self.slack(i, j)).all())

    def largest(self, i: int, j: int, where: Polyhedron, seen: NDArray[Any], probe: Probe) -> tuple[Any, NDArray[Any]]:
        """How far the two laws are apart on a set, and where; if that has no bound, at the point `seen`.

        For exact data somewhat further out, so that laws that agree there but not everywhere are told apart.
        """
        best, place = self.gap(i, j, seen), np.asarray(seen)
        for law in self.difference(i, j):
            for side in (law, -law):
                value, point = probe.maximum(where, side[:-1])
                if value == np.inf and self.exact:
                    value, point = 0, fraction_array(seen) + fraction_array(point)  # the point is a ray
                if np.isfinite(float(value)) and self.gap(i, j, point) > best:
                    best, place = self.gap(i, j, point), point
        return best, place

    def gap(self, i: int, j: int, x: NDArray[Any]) -> Any:
        """The largest difference of the two laws at a point, over the outputs; for exact data a rational."""
        if not self.exact:
            return float(np.abs(self._at(i, x) - self._at(j, x)).max())
        # Values that agree in all digits of a float may still differ.
        d, scale = self.difference(i, j), self._laws[i][:, -1] * self._laws[j][:, -1]
        values = (d[:, :-1] * fraction_array(x)).sum(axis=1) + d[:, -1]
        return max(abs(Fraction(value) / int(s)) for value, s in zip(values, scale, strict=True))

    def text(self, i: int, j: int, x: NDArray[Any]) -> str:
        """What the two pieces say at a point."""
        one, two = (point_text(v) if len(v) > 1 else f"{v[0]:.10g}" for v in (self._at(i, x), self._at(j, x)))
        return f"piece {i} gives {one} and piece {j} gives {two}"

    def _at(self, i: int, x: NDArray[Any]) -> NDArray[np.float64]:
        if self.exact and x.dtype == object:
            law = self._laws[i]
            values = ((law[:, :-2] * x).sum(axis=1) + law[:, -2]) / law[:, -1]
            return np.asarray(values, dtype=np.float64)
        point = np.asarray(x, dtype=np.float64)
        return np.asarray(self.p.laws.gradient[i] @ point + self.p.laws.offset[i])


# What lies beyond a facet, and how far away: the width of a gap along the normal.


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Next:
    """The next piece on a ray: how far away it begins, and its rows that hold at the start already."""

    piece: int
    distance: float
    rows: list[int]


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """Rays through the pieces that are `solid`, in floats; `unit` is the size of the coordinates."""

    polyhedra: Polyhedra
    solid: NDArray[np.bool_]
    unit: float

    def next(self, piece: int, row: int, x: NDArray[Any]) -> Next | None:
        """The first other piece that a ray from `x`, on the facet of a row of a piece, meets; None if there is none."""
        rows, n = self.polyhedra, self.polyhedra.A[row] / np.linalg.norm(self.polyhedra.A[row])
        at = np.asarray(x, dtype=np.float64)
        length = np.linalg.norm(rows.A, axis=1)
        with np.errstate(all="ignore"):
            speed, room = rows.A @ n / length, (rows.b - rows.A @ at) / length
            small = _ROUNDING * (self.unit + np.abs(at).max(initial=0.0))
            along = np.abs(speed) <= _ROUNDING
            when = np.where(along, 0.0, room / speed)
        enter, leave = np.zeros(len(rows)), np.full(len(rows), np.inf)
        never = along & (room < -small)
        np.maximum.at(enter, rows.owner, np.where(never, np.inf, np.where(~along & (speed < 0), when, 0.0)))
        np.minimum.at(leave, rows.owner, np.where(~along & (speed > 0), when, np.inf))
        enter[~self.solid | ~(leave > enter + small)] = np.inf
        enter[piece] = np.inf
        j = int(np.argmin(enter))
        if not np.isfinite(enter[j]):
            return None
        own = np.arange(rows.start[j], rows.start[j + 1])
        return Next(j, float(enter[j]), own[room[own] >= -small].tolist())


class _Enough(Exception):
    """One error is known, and no more were asked for."""


def _round_up(size: float) -> float:
    """The power of ten above ten times a size, at most 0.1."""
    return min(0.1, 10.0 ** (math.ceil(math.log10(max(size, 1e-300))) + 1))


_OVERLAPS = 64  # pairs of overlapping pieces that are measured
_PAIRS = 100_000  # overlapping pairs that are collected: 20,000 equal pieces have 200 million
_BRIDGES = 64  # gaps within rounding that one facet may have


@dataclass(frozen=True, slots=True, eq=False)
class Outer:
    """A facet with a point that nothing covers, the part of it around that point, and what comes next beyond it."""

    facet: Facet
    part: Polyhedron
    beyond: Next | None


def points_of(places: NDArray[np.object_]) -> list[NDArray[np.object_]]:
    """Places ``(x w, w)`` as points x, rational."""
    return [np.array([Fraction(v, place[-1]) for v in place[:-1]], dtype=object) for place in places.tolist()]


class PieceDoctor:
    """One examination: holds the probe, the hyperplanes and what was found so far."""

    def __init__(self, p: CPWL, executor: Executor | None = None, form: bool = False) -> None:
        """With `form` corners and the residual of the normal form are read where they are known; else programs ask."""
        self.p, self.executor = p, executor
        stack = spanned(p) if form and not p.tol else ""
        self.stack = None if isinstance(stack, str) else stack
        self.exact = p.tol == 0
        self.polyhedra = p.polyhedra.exactly() if self.exact else p.polyhedra
        self.probe = Probe(p.tol, p.polyhedra.unit(p.tol))
        self.planes = hyperplanes(self.polyhedra, p.tol)
        self.cover = FacetCover(self.polyhedra, self.planes, self.probe)
        self.found: list[Finding] = []
        self.facets: dict[int, list[Facet]] = {}
        self.overlapping: set[tuple[int, int]] = set()
        self.many = ""
        self._one_is_enough = False
        # Per piece: the hyperplanes it has rows on, with the side. Pieces on two sides of one do not overlap.
        self.sides: list[set[tuple[int, int]]] = [set() for _ in range(p.num_pieces)]
        for i, key in zip(self.polyhedra.owner, self._keys(), strict=True):
            self.sides[i].add(key)

    def findings(self, complete: bool = False) -> list[Finding]:
        """Everything that is wrong, in the order of the examination; nothing, if the function is known to be complete.

        Facets are found all the same, for notes.
        """
        self.inside = self._inner_points()
        self.solid = [i for i, x in enumerate(self.inside) if x is not None]
        if complete:
            self._centers()
            self.facets = _find_facets(self, self.executor)
            return self.found
        for i in sorted(set(range(self.p.num_pieces)) - set(self.solid)):
            self._flat(i)
        if not self.solid:
            self._add("gap", "there is nothing: no piece has an interior.", (), None, 0.0)
            return self.found
        centers = self._centers()
        self._boxes()
        self._rays()
        if self._overlaps_at_centers(centers):
            return self.found
        on_plane: dict[int, list[Facet]] = defaultdict(list)
        self.facets = _find_facets(self, self.executor)
        doubtful = self._doubtful()
        for facet in itertools.chain.from_iterable(self.facets.values()):
            plane = int(self.planes.number[facet.row])
            if doubtful is None or plane in doubtful:
                on_plane[plane].append(facet)
        looked = _look_at_planes(self, list(on_plane.values()), self.executor)
        self._examine_boundary([place for places in looked for place in places])
        return self.found

    @classmethod
    def resumed(cls, known: tuple[Any, ...]) -> PieceDoctor:
        """One who has been told what another has found out about the pieces: what that one has `told`."""
        doctor = cls(known[0])
        _, doctor.inside, doctor.low, doctor.high = known
        doctor.solid = [i for i, x in enumerate(doctor.inside) if x is not None]
        doctor._centers()
        doctor._rays()
        return doctor

    @property
    def told(self) -> tuple[Any, ...]:
        """What others need to know of the pieces."""
        return self.p, self.inside, self.low, self.high

    def _doubtful(self) -> set[int] | None:
        """The hyperplanes on which something may be wrong, if the normal form says so; None for all of them.

        On any other one the facets of the two sides are the same sets with the same laws. Pieces that overlap, but
        have no facet on one of these, are doubled everywhere, and inner points have shown that.
        """
        found = "" if self.stack is None else seams(self.p)
        if isinstance(found, str):
            return None
        assert self.stack is not None
        wanted = {tuple(row) for row in self.stack.table[np.append(found.inner, found.outer)]}
        return {k for k, row in enumerate(plane_rows(self.polyhedra, self.planes)) if tuple(row) in wanted}

    def _inner_points(self) -> list[NDArray[Any] | None]:
        """A point inside each piece, None for one without interior; what the maker knows is taken."""
        known = self.p.known
        if known is not None and known.inner is not None and (known.inner.dtype == object or not self.exact):
            return list(known.inner)
        if self.stack is not None:
            points: list[NDArray[Any] | None] = [None] * self.p.num_pieces
            for i, x in zip(self.stack.piece.tolist(), points_of(middles(self.stack)), strict=True):
                points[i] = x
            return points
        return [self.probe.interior(body) for body in self.polyhedra]

    def _centers(self) -> NDArray[np.float64]:
        centers = np.array([np.asarray(x, dtype=np.float64) for x in self.inside if x is not None])
        self.agreement = Agreement(self.p, self.polyhedra)
        self.reach = float(np.abs(centers).max(initial=0.0)) + self.probe.unit
        return centers

    def facets_of(self, i: int) -> list[Facet]:
        """The facets of a piece with interior."""
        return facets_of(self.polyhedra, self.planes, i, self.probe)

    def maximum(self, i: int, objective: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """The largest value of ``objective . x`` on a piece, and a point, or a ray if there is no bound."""
        own = self.places(i)
        if own is None:
            return self.probe.maximum(self.polyhedra[i], objective)
        value = own[:, :-1].dot(objective)
        corner = own[:, -1] != 0
        if (value[~corner] > 0).any():
            return np.inf, own[~corner][np.argmax(value[~corner] > 0), :-1]
        best = [Fraction(int(v), int(w)) for v, w in zip(value[corner], own[corner, -1], strict=True)]
        k = int(np.argmax(np.array(best, dtype=object)))
        return best[k], points_of(own[corner][k : k + 1])[0]

    def places(self, i: int) -> NDArray[np.object_] | None:
        """Corners ``(x w, w)`` and directions ``(r, 0)`` that span a piece with interior, where they are known."""
        if self.stack is None:
            return None
        k = int(np.searchsorted(self.stack.piece, i))
        own = self.stack.places[self.stack.member[self.stack.start[k] : self.stack.start[k + 1]]]
        return np.concatenate([own, -own[len(own) - self.stack.lines[k] :]])

    def _rays(self) -> None:
        thick = np.isin(np.arange(self.p.num_pieces), self.solid)
        self.beyond = Beyond(self.polyhedra, thick, self.probe.unit)

    def first_error(self) -> Finding | None:
        """The first error that the examination comes to."""
        self._one_is_enough = True
        try:
            self.findings()
        except _Enough:
            return self.found[-1]
        return None

    def _keys(self) -> list[tuple[int, int]]:
        return list(zip(self.planes.number.tolist(), self.planes.side.tolist(), strict=True))

    def _add(self, kind: Kind, message: str, pieces: tuple[int, ...], point: NDArray[Any] | None, size: float) -> None:
        self.found.append(Finding(kind, "error", message, pieces, point, size))
        if self._one_is_enough:
            raise _Enough

    # --- pieces -----------------------------------------------------------------------------------------------

    def _flat(self, i: int) -> None:
        value, _ = self.probe.maximum(self.polyhedra[i], [0] * self.p.dim)
        kind: Kind = "empty piece" if value == -np.inf else "flat piece"
        text = "is empty" if kind == "empty piece" else "has no interior"
        self.found.append(Finding(kind, "note", f"piece {i} {text}; it is left out.", (i,), None, 0.0))

    def _boxes(self) -> None:
        """Bounding boxes in floats, a little wide: pieces whose boxes are apart do not meet."""
        shape = self.p.num_pieces, self.p.dim
        self.low, self.high = np.full(shape, -np.inf), np.full(shape, np.inf)
        if self.stack is not None or (self.p.dim <= 3 and len(self.solid) >= 16):
            self.low[self.solid], self.high[self.solid] = self.boxes()

    def boxes(self) -> NDArray[np.float64]:
        """Boxes around the pieces with interior, in floats and a little wide: all lower corners, all upper ones."""
        if self.stack is None:
            return np.array([self.probe.box(self.polyhedra[i]) for i in self.solid]).transpose(1, 0, 2)
        stack = self.stack
        spans = Generators(stack.places, stack.member, stack.start)
        found = np.array(boxes_around(spans, len(self.solid), self.p.dim))
        found[0, stack.lines > 0], found[1, stack.lines > 0] = -np.inf, np.inf
        return found

    def _apart(self, i: int, j: int, plane: int | None = None) -> bool:
        """A quick proof that two pieces do not overlap (with `plane`: not even in a facet on it)."""
        if (self.low[i] > self.high[j]).any() or (self.low[j] > self.high[i]).any():
            return True
        return any((h, -s) in self.sides[j] for h, s in self.sides[i] if h != plane)

    def _overlaps_at_centers(self, centers: NDArray[np.float64]) -> bool:
        """Overlaps that inner points show; True if they are so many that nothing else is worth a look.

        Then those with the largest differences are reported.
        """
        pairs: dict[tuple[int, int], NDArray[np.float64]] = {}
        for i, j in self._at_centers(centers):
            if len(pairs) > _PAIRS:
                break
            pairs.setdefault((min(i, j), max(i, j)), np.asarray(self.inside[i]))
        worst = sorted(pairs, key=lambda pair: -float(self.agreement.gap(pair[0], pair[1], pairs[pair])))
        if len(pairs) > _OVERLAPS:
            least = "at least " if len(pairs) > _PAIRS else ""
            self.many = f" There are {least}{len(pairs)} pairs of pieces that overlap; nothing else was looked for."
        for pair in worst[:_OVERLAPS]:
            self._overlap(*pair, pairs[pair])
        return len(pairs) > _OVERLAPS

    def _holding(self, x: NDArray[np.float64], slack: float) -> list[int]:
        """The pieces with interior that hold a point, each row given a relative slack."""
        rows = self.polyhedra
        bad = rows.A @ x - rows.b > slack * (np.abs(rows.A) @ np.abs(x) + np.abs(rows.b))
        out = np.zeros(self.p.num_pieces, dtype=bool)
        np.logical_or.at(out, rows.owner, bad)
        return [int(j) for j in np.flatnonzero(~out) if self.inside[j] is not None]

    def _at_centers(self, centers: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
        """Pairs of a piece and another one that holds its inner point; where corners are known, all and exactly."""
        if self.stack is None:
            for i, x in zip(self.solid, centers, strict=True):
                yield from ((i, j) for j in self._holding(x, -1e-9) if j != i)
            return
        solid, rows, start = np.array(self.solid), self.polyhedra.integer(), self.polyhedra.start
        boxes, done, size = (self.low[solid], self.high[solid]), 0, 64
        while done < len(solid):  # few first: where thousands of pieces lie on each other, these show it
            some = centers[done : done + size]
            wide = 1e-9 * (1 + np.abs(some))
            for k, other in box_pairs(some - wide, some + wide, boxes).tolist():
                i, j = int(solid[done + k]), int(solid[other])
                own = rows[start[j] : start[j + 1]]
                if i != j and (own[:, :-1].dot(np.asarray(self.inside[i])) <= own[:, -1]).all():
                    yield i, j
            done, size = done + size, 2 * size

    def _overlap(self, i: int, j: int, x: NDArray[Any]) -> None:
        if (i, j) in self.overlapping:
            return
        self.overlapping.add((i, j))
        size, place = self.agreement.largest(i, j, self._common(i, j), x, self.probe)
        text = f"pieces {i} and {j} overlap"
        if size <= self.agreement.slack(i, j):
            message = f"{text} around x = {point_text(x)}, where their laws agree: values are clear, but counted twice."
            if self.sides[i] == self.sides[j]:
                message = f"piece {j} repeats piece {i}, law and all: the domain is the same without it. Leave it out."
            self.found.append(Finding("overlap", "note", message, (i, j), x, float(size)))
            return
        message = f"{text}: at x = {point_text(place)} {self.agreement.text(i, j, place)}.{self.many}"
        self._add("overlap", message, (i, j), place, float(size))

    def _common(self, i: int, j: int) -> Polyhedron:
        return self.polyhedra[i].meet(self.polyhedra[j])

    # --- one hyperplane ---------------------------------------------------------------------------------------

    def examine_plane(self, group: list[Facet]) -> list[Outer]:
        """Compares the two sides of one hyperplane; returns facets with a point that nothing covers."""
        plane = int(self.planes.number[group[0].row])
        sides = {s: [f for f in group if self.planes.side[f.row] == s] for s in (1, -1)}
        for side in sides.values():
            for k, a in enumerate(side):
                for b in side[k + 1 :]:
                    if not self._apart(a.piece, b.piece, plane):
                        self._same_side(a.piece, b.piece)
        for a in sides[1]:
            for b in sides[-1]:
                agree = self.agreement.on_plane(a.piece, b.piece, a.row)
                if not agree and not self._apart(a.piece, b.piece, plane):
                    self._opposite(a, b)
        outer: list[Outer] = []
        for s, side in sides.items():
            for facet in side:
                near = [f.piece for f in sides[-s] if not self._apart(facet.piece, f.piece, plane)]
                outer += self._uncovered(facet, near)
        return outer

    def _uncovered(self, facet: Facet, near: list[int]) -> list[Outer]:
        """A part of the facet that nothing covers, if there is one; gaps as narrow as rounding are bridged, and noted.

        A piece that begins a little beyond the facet covers it where its other rows hold.
        """
        bridges: list[list[int]] = []
        widest: Finding | None = None
        while True:
            found = self.cover.uncovered(facet, near, bridges)
            if found is None:
                self.found += [] if widest is None else [widest]
                return []
            point, part = found
            beyond = self.beyond.next(facet.piece, facet.row, point)
            if beyond is None or len(bridges) > _BRIDGES or not self._is_bridged(facet.piece, beyond, point):
                return [Outer(Facet(facet.piece, facet.row, point), part, beyond)]
            bridges.append(beyond.rows)
            if widest is None or beyond.distance > widest.size:
                message = (
                    f"pieces {facet.piece} and {beyond.piece} are {abs(beyond.distance):.2g} apart at "
                    f"x = {point_text(point)}, which is within the tolerance."
                )
                pieces = (facet.piece, beyond.piece)
                widest = Finding("gap", "note", message, pieces, point, beyond.distance)
            self._agree_across(facet.piece, beyond, point)

    def _is_bridged(self, i: int, beyond: Next, x: NDArray[Any]) -> bool:
        """Whether what comes next is within rounding, and does not overlap with the piece."""
        if self.exact or beyond.distance > self._small(x):
            return False
        return self._apart(i, beyond.piece) or self.probe.interior(self._common(i, beyond.piece)) is None

    def _small(self, x: NDArray[Any]) -> float:
        """What is no distance: 0 for exact data. Pieces that hold no ball of `tol` are flat, and may be this wide."""
        size = self.probe.unit + float(np.abs(np.asarray(x, dtype=np.float64)).max(initial=0.0))
        return 0.0 if self.exact else 4 * (self.p.dim + 1) * self.p.tol * size

    def _agree_across(self, i: int, beyond: Next, x: NDArray[Any]) -> None:
        """Whether two pieces agree across a gap that is no wider than rounding, as if it were not there."""
        size, j = self.agreement.gap(i, beyond.piece, x), beyond.piece
        steep = float(np.abs(self.p.laws.gradient[[i, j]]).sum(axis=2).max())
        if size > self.agreement.slack(i, j) + steep * beyond.distance:
            message = (
                f"pieces {i} and {j} disagree across a gap of {beyond.distance:.2g}: at x = {point_text(x)} "
                f"{self.agreement.text(i, j, x)}.\n  The function is not continuous there."
            )
            self._add("jump", message, (min(i, j), max(i, j)), x, float(size))

    def _same_side(self, i: int, j: int) -> None:
        point = self.probe.interior(self._common(i, j))
        if point is not None:
            self._overlap(min(i, j), max(i, j), point)

    def _opposite(self, a: Facet, b: Facet) -> None:
        i, j = sorted((a.piece, b.piece))
        contact = self.cover.body(a, [b.piece])
        point = self.probe.interior(contact, on=[0])
        if point is None:
            return
        size, place = self.agreement.largest(i, j, self.cover.closed(contact), point, self.probe)
        if size <= self.agreement.slack(i, j):
            return
        advice = f" If your data is rounded, pass a larger `tol` than {self.p.tol:g}."
        if self.exact:
            advice = (
                " These numbers are taken exactly. If they are rounded, as 0.333333 for 1/3, pass "
                f"`tol={_round_up(float(size)):g}`; then `p.snap()` looks for an exact function near them."
            )
        message = (
            f"pieces {i} and {j} disagree on their common facet: at x = {point_text(place)} "
            f"{self.agreement.text(i, j, place)}.\n  The function is not continuous there.{advice}"
        )
        self._add("jump", message, (i, j), place, float(size))

    # --- the boundary -----------------------------------------------------------------------------------------

    def _examine_boundary(self, outer: list[Outer]) -> None:
        """Facets with nothing beyond must lie in the boundary of a convex domain."""
        domain = self.p.domain
        keys, convex = self._keys(), set[tuple[int, int]]()
        for place in outer:
            facet = place.facet
            if self._inside_another(facet):
                continue
            if domain is not None:
                if self._inside(domain, facet.point):
                    message = (
                        f"nothing covers the other side of piece {facet.piece} at x = {point_text(facet.point)}, "
                        f"which is inside the domain: a piece is missing there{self._thickness(domain, place)}."
                    )
                    self._by_size("gap", message, (facet.piece,), facet.point, self._width(place))
            elif place.beyond is not None and not self.exact:  # floats say what comes next: no decision for exact data
                message = (
                    f"the domain is not convex, or has a gap: nothing covers the other side of piece {facet.piece} at "
                    f"x = {point_text(facet.point)}, and the next piece there, {place.beyond.piece}, begins "
                    f"{place.beyond.distance:.3g} farther on."
                )
                pieces = (facet.piece, place.beyond.piece)
                self._by_size("domain not convex", message, pieces, facet.point, self._width(place))
            elif keys[facet.row] not in convex and self._check_convex(place, keys[facet.row]):
                convex.add(keys[facet.row])
        if domain is not None and len(domain.b):
            self._check_inside(domain)

    def _thickness(self, domain: Polyhedron, place: Outer) -> str:
        """How far it is to the next piece, or to the edge of the domain, in words: exact data, along the normal."""
        if not self.exact:
            return ""
        x, stack = fraction_array(place.facet.point), self.p.polyhedra
        normal = fraction_array(stack.integer()[place.facet.row, :-1])
        normal = normal / max(abs(normal))
        edge = domain.integer()
        ends = [(row[-1] - row[:-1].dot(x)) / row[:-1].dot(normal) for row in edge if row[:-1].dot(normal) > 0]
        if place.beyond is not None:
            own = stack.integer()[stack.start[place.beyond.piece] : stack.start[place.beyond.piece + 1]]
            enter = [(row[-1] - row[:-1].dot(x)) / row[:-1].dot(normal) for row in own if row[:-1].dot(normal) < 0]
            ends += [max(enter)] if enter and max(enter) > 0 else []
        return f"; the gap is {number_text(min(ends))} wide there, in the largest coordinate" if ends else ""

    def _width(self, place: Outer) -> float:
        """How wide a gap is: along the normal, or along the facet where it is narrower."""
        along = self.probe.width(place.part, on=[0])
        return along if place.beyond is None else min(along, place.beyond.distance)

    def _by_size(self, kind: Kind, message: str, pieces: tuple[int, ...], x: NDArray[Any], size: float) -> None:
        """An error, or a note where the size is within the tolerance of float data."""
        if not self.exact and size <= self._small(x):
            text = f"{message} It is {size:.2g} wide, which is within the tolerance."
            self.found.append(Finding(kind, "note", text, pieces, x, size))
        else:
            self._add(kind, message, pieces, x, size)

    def _inside_another(self, facet: Facet) -> bool:
        """Whether the uncovered point lies inside some other piece: then the pieces overlap."""
        for j in self._holding(np.asarray(facet.point, dtype=np.float64), 1e-9):
            i = facet.piece
            if j == i or self._apart(i, j):
                continue
            common = self.probe.interior(self._common(i, j))
            if common is not None:
                self._overlap(min(i, j), max(i, j), common)
                return True
        return False

    def _inside(self, domain: Polyhedron, x: NDArray[Any]) -> bool:
        """Whether a point is inside the domain, not on its boundary and not beyond."""
        if self.exact:
            rows = domain.integer()
            return bool(((rows[:, :-1] * x).sum(axis=1) < rows[:, -1]).all())
        slack = 10 * self._small(x) * np.abs(domain.A).sum(axis=1)
        return bool((domain.A @ x - domain.b < -slack).all())

    def _check_convex(self, place: Outer, key: tuple[int, int]) -> bool:
        """No piece may reach beyond the hyperplane of a boundary facet; True if none does."""
        rows, facet = self.polyhedra, place.facet
        row = np.append(rows.A[facet.row], rows.b[facet.row]) if not self.exact else rows.integer()[facet.row]
        for j in self.solid:
            if key in self.sides[j]:
                continue
            value, point = self.maximum(j, row[:-1])
            if value <= row[-1] or _distance(value - row[-1], row) <= self._small(point):
                continue
            far = np.asarray(self.inside[j]) if np.isinf(float(value)) else point
            message = (
                f"the domain is not convex, or has a gap: nothing covers the other side of piece "
                f"{facet.piece} at x = {point_text(facet.point)}, but piece {j} reaches beyond that facet, "
                f"as far as {point_text(far)}."
            )
            size = min(self._width(place), _distance(value - row[-1], row))
            self._by_size("domain not convex", message, (facet.piece, j), facet.point, size)
            return False
        return True

    def _check_inside(self, domain: Polyhedron) -> None:
        """No piece may stick out of the domain that was asserted."""
        rows = domain.integer() if self.exact else np.column_stack([domain.A, domain.b])
        found = "" if self.stack is None else seams(self.p)
        if not isinstance(found, str) and not found.sticks_out:
            return
        for i in self.solid:
            for row in rows:
                value, point = self.maximum(i, row[:-1])
                if value <= row[-1]:
                    continue
                where = np.asarray(self.inside[i]) if np.isinf(float(value)) else point
                size = _distance(value - row[-1], row)
                if not self.exact and size <= 10 * self._small(point):
                    continue
                message = (
                    f"piece {i} sticks out of the domain, at x = {point_text(where)}: "
                    f"leave `domain` out, or cut the piece."
                )
                self._add("outside domain", message, (i,), where, size)
                for j in self.solid:  # a facet beyond the domain shows no overlap inside it
                    if j != i and not self._apart(i, j):
                        self._same_side(i, j)
                break


def _distance(excess: Any, row: NDArray[Any]) -> float:
    """How far beyond a row ``a.x <= b`` a point is with ``a.x - b = excess``; the integers of a row may be long."""
    largest = max(abs(v) for v in row[:-1])
    length = float(np.linalg.norm([float(v / largest) for v in row[:-1]]))
    return float(excess / largest) / length


def _find_facets(doctor: PieceDoctor, executor: Executor | None) -> dict[int, list[Facet]]:
    """The facets of every piece that has an interior."""
    if doctor.stack is not None:
        owner, row, inside = facets(doctor.stack)
        own = doctor.polyhedra.start[owner] + row
        result: dict[int, list[Facet]] = {i: [] for i in doctor.solid}
        for i, r, x in zip(owner.tolist(), own.tolist(), points_of(inside), strict=True):
            result[i].append(Facet(i, r, x))
        return result
    found: Iterator[list[Facet]] = map(doctor.facets_of, doctor.solid)
    if executor is not None:
        found = spread(PieceDoctor.facets_of, doctor.told, doctor.solid, executor, prepare=PieceDoctor.resumed)
    return dict(zip(doctor.solid, found, strict=True))


def _look_at_planes(doctor: PieceDoctor, groups: list[list[Facet]], executor: Executor | None) -> Iterator[list[Outer]]:
    """The facets of each hyperplane that nothing covers; what is wrong there goes to the findings of the doctor.

    Workers can only say that nothing is wrong. What they find wrong on a hyperplane is found again here, in its turn:
    some findings depend on those before.
    """
    if executor is None:
        yield from map(doctor.examine_plane, groups)
        return
    found = spread(_plane, doctor.told, groups, executor, prepare=PieceDoctor.resumed)
    for group, outer in zip(groups, found, strict=True):
        yield doctor.examine_plane(group) if outer is None else outer


def _plane(doctor: PieceDoctor, group: list[Facet]) -> list[Outer] | None:
    """What nothing covers on a hyperplane; None if something is wrong or noteworthy there."""
    outer = doctor.examine_plane(group)
    if not doctor.found:
        return outer
    doctor.found.clear()
    doctor.overlapping.clear()
    return None
