"""`equal`: the order in which equality is refuted, proved, or left undecided."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_limit, check_path, heard, within_float64
from cpwl.equality.pieces import (
    Told,
    border,
    by_form,
    compare_pieces,
    farthest_on_pairs,
    hole,
    is_whole,
    outside,
    value_of,
)
from cpwl.equality.regions import (
    Compared,
    cells_at_once,
    cells_on,
    compare_on_regions,
    difference,
    farthest_on_cells,
    find_difference,
    values_at,
)
from cpwl.equality.verdict import Apart, Verdict, farther
from cpwl.errors import InputError, LimitError, ProofError, counted
from cpwl.exact.integers import number_rows, primitive, sides
from cpwl.exact.rational import fraction_array
from cpwl.executors import check_executor, spread
from cpwl.function import CPWL
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.answers import Distance, point_text
from cpwl.function.evaluate import find_pieces
from cpwl.geometry.bodies import body_of, solid
from cpwl.geometry.generators import box_pairs, boxes_around
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, as_domain, ranges
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.progress import Progress, Shown, shows_progress
from cpwl.proofs.certify import certify
from cpwl.regions.pieces import Pieces
from cpwl.regions.tiles import Journal, searched

# The cells of a network laid over the pieces of a function: which cell is inside which piece.
#
# A cell is inside a piece iff its corners and rays are. A piece that has all of a cell's neighbours across facets that
# are not in its own boundary is filled by its cells: a convex set cannot be left except through its boundary. So facets
# and corners alone, without a linear program, show that there is nothing else to compare.


@dataclass(frozen=True, slots=True, eq=False)
class Contained:
    """Pairs of a cell and a piece that holds all of it, and what follows."""

    cell: NDArray[np.int64]
    piece: NDArray[np.int64]
    filled: NDArray[np.bool_]
    """For each piece whether the cells in it are all there is of it: nothing else of the network is in it."""
    covered: NDArray[np.bool_]
    """For each cell whether it is in a piece."""


def overlay(found: Pieces, p: CPWL) -> Contained:
    """Lays all cells, with their generators in integers, over the pieces; the cells cover all of the domain."""
    rows, own = primitive(p.polyhedra.integer()), primitive(found.polyhedra.integer())
    number = number_rows(np.concatenate([rows, own]))[1]
    of_piece, of_cell = number[: len(rows)], number[len(rows) :]
    piece = find_pieces(p, found.inside)  # as far as floats can see
    cell = np.flatnonzero(piece >= 0)
    piece = piece[cell]
    inside = _contained(found, rows, p, cell, piece, of_piece, of_cell)
    cell, piece = cell[inside], piece[inside]
    covered = np.zeros(len(found), dtype=bool)
    covered[cell] = True
    return Contained(cell, piece, _filled(found, p, cell, piece, of_piece, of_cell), covered)


def _contained(
    found: Pieces,
    rows: NDArray[np.object_],
    p: CPWL,
    cell: NDArray[np.int64],
    piece: NDArray[np.int64],
    of_piece: NDArray[np.int64],
    of_cell: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Which of the pairs are a cell inside a piece: at all corners and along all rays all rows hold."""
    spans, start = found.spans, p.polyhedra.start
    assert spans is not None
    row, pair = ranges(start[piece], np.diff(start)[piece])
    # A row that is one of the cell's own holds on it.
    size = int(max(of_piece.max(initial=0), of_cell.max(initial=0))) + 1
    known = np.isin(cell[pair] * size + of_piece[row], found.polyhedra.owner * size + of_cell)
    row, pair = row[~known], pair[~known]
    member, question = ranges(spans.start[cell[pair]], np.diff(spans.start)[cell[pair]])
    place, asked = spans.member[member], row[question]
    good = np.ones(len(cell), dtype=bool)
    good[pair[question[sides(rows, spans.places, asked, place) > 0]]] = False
    return good


def _filled(
    found: Pieces,
    p: CPWL,
    cell: NDArray[np.int64],
    piece: NDArray[np.int64],
    of_piece: NDArray[np.int64],
    of_cell: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """The pieces whose cells have neighbours only in the same piece, or across rows of the piece or the domain."""
    facets = np.searchsorted(found.polyhedra.owner, np.arange(len(found) + 1))
    facet, pair = ranges(facets[cell].astype(np.int64), np.diff(facets)[cell].astype(np.int64))
    beyond = found.neighbour[facet]
    within = np.isin(beyond * p.num_pieces + piece[pair], cell * p.num_pieces + piece) & (beyond >= 0)
    size = int(max(of_piece.max(initial=0), of_cell.max(initial=0))) + 1
    border = np.isin(piece[pair] * size + of_cell[facet], p.polyhedra.owner * size + of_piece)
    leak = ~(within | border | (beyond < 0))
    filled = np.zeros(p.num_pieces, dtype=bool)
    filled[piece] = True
    filled[piece[pair[leak]]] = False
    return filled


Operand = Network | CPWL

_GAP_REGIONS = 20_000  # regions to look at for the size of a difference that is known to be there
_GAP_PIECES = 40  # and pieces, where they are looked at one by one
_CELLS = 8  # cells a piece up to which all of them are laid over the pieces


@shows_progress
@within_float64()
def equal(
    a: Operand,
    b: Operand,
    *,
    domain: Any = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Verdict:
    """Prove that two networks or functions are equal on a domain, or find a rational point where they differ.

    On every common linear region the difference is affine, so it is zero there or largest at a corner or along a ray.
    All decisions are in rationals. Weights and data count with their exact values: networks that differ by rounding
    are different, and `gap` is the largest difference. A difference at a random point is reported at once; `gap` is
    None if there are too many regions to find the largest one.

    Parameters
    ----------
    a, b
        Networks or functions, with equal numbers of inputs and outputs.
    domain, box
        Where to compare: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box. By default where both are defined:
        R^n for networks, the union of its pieces for a function; two functions are equal only if each covers the other,
        and a hole between pieces is a difference.
    max_regions
        Stop after this many regions; `equal` is then None, unless a difference was found.
    checkpoint
        A folder that stores progress, for two networks: a search that was interrupted, even by ``kill -9``,
        continues from there.
    executor
        Any `concurrent.futures.Executor`, for tiles, cells of networks of many inputs, and pieces. The verdict
        does not depend on it.
    progress
        Called as ``progress(done, total, step)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    Verdict
        The verdict; true as a condition only if equality was proved.

    Examples
    --------
    >>> absolute = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> verdict = equal(absolute, CPWL.from_breakpoints([-1, 0, 1], [1, 0, 1]))
    >>> verdict.equal, verdict.gap
    (True, Fraction(0, 1))
    >>> verdict = equal(absolute, Network([([["1"]], [0])]), domain=([[1], [-1]], [2, 3]))
    >>> verdict.equal, verdict.witness, verdict.gap
    (False, array([Fraction(-3, 1)], dtype=object), Fraction(6, 1))
    """
    check_limit(max_regions)
    progress = heard(progress)
    check_executor(executor)
    if checkpoint is not None:
        check_path(checkpoint, "equal")
    body, inside = _domain(a, b, domain, box)
    if checkpoint is not None and not (isinstance(a, Network) and isinstance(b, Network)):
        raise InputError("`checkpoint` is for two networks: functions are compared piece by piece, without one")
    work = _Comparison(a, b, body, inside, max_regions, checkpoint, executor, progress)
    return work.verdict()


@shows_progress
@within_float64()
def distance(
    a: Operand,
    b: Operand,
    *,
    domain: Any = None,
    box: tuple[Any, Any] | None = None,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Distance:
    """The exact supremum of ``|a - b|`` over all outputs, with a point where it is attained.

    The difference is affine on the cells of the common refinement, so it is largest at a corner of a cell, or grows
    along a ray. All corners are rationals, and so is the answer. No sample and no tolerance is used.

    Parameters
    ----------
    a, b
        Networks or functions, with equal numbers of inputs and outputs.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box. By default where both are defined, which for
        two functions must be the same set.
    executor, progress
        As for `equal`.

    Returns
    -------
    Distance
        `largest` is infinite if there is no bound; `mean` is None (`CPWL.distance` computes it for two functions).

    Examples
    --------
    >>> absolute = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> print(distance(absolute, CPWL.from_breakpoints([-2, 1], [2, 1]), box=(-2, 1)))
    at most 4/3, at x = (0)
    """
    progress = heard(progress)
    check_executor(executor)
    body, inside = _domain(a, b, domain, box)
    work = _Comparison(a, b, body, inside, None, None, executor, progress)
    found = work.farthest()
    if found is None:
        point = inside if inside is not None else np.array([Fraction(0)] * _inputs(a), dtype=object)
        return Distance(Fraction(0), point, None)
    return Distance(found.size, found.point, None)


def _domain(a: Operand, b: Operand, domain: Any, box: Any) -> tuple[Polyhedron | None, NDArray[Any] | None]:
    for f in (a, b):
        check_argument(f, (Network, CPWL), "equal")
        if isinstance(f, CPWL) and f.complete is False:
            raise InputError(
                "a function that was extracted in part cannot be compared; `extract(resume=...)` completes it"
            )
    shapes = [(_inputs(f), f.outputs) for f in (a, b)]
    if shapes[0] != shapes[1]:
        (n, m), (k, l) = shapes
        raise InputError(f"the first maps R^{n} to R^{m}, the second R^{k} to R^{l}", shapes=shapes)
    body = as_domain(domain, shapes[0][0], box=box)
    if body is None:
        return None, None
    inside = Probe(0.0).interior(body)
    if inside is None:
        raise InputError("the domain has no interior: no point satisfies all of its rows strictly")
    return body, fraction_array(inside)


def _inputs(f: Operand) -> int:
    return f.inputs if isinstance(f, Network) else f.dim


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """Two operands on a domain, and the limits of the search."""

    a: Operand
    b: Operand
    domain: Polyhedron | None
    inside: NDArray[Any] | None
    most: int | None
    checkpoint: str | os.PathLike[str] | None
    executor: Executor | None
    progress: Progress | None

    def verdict(self) -> Verdict:
        """First what random points show, then the comparison region by region."""
        if self.a is self.b:
            return Verdict(True, None, (None, None), Fraction(0), 0, "they are one and the same")
        told = self._told()
        if told is not None and told.equal:
            pieces = sum(f.num_pieces for f in (self.a, self.b) if isinstance(f, CPWL))
            return Verdict(True, None, (None, None), Fraction(0), pieces, "their pieces have one normal form")
        away = self._undefined(told)
        if away is not None:
            return Verdict(False, away, (values_at(self.a, away), values_at(self.b, away)), None, 0, "domains differ")
        minus = None
        if isinstance(self.a, Network) and isinstance(self.b, Network):
            minus = difference(self.a, self.b)
        seen = None
        if told is None and (minus is None or len(minus.layers) > 1):
            seen = find_difference(self.a, self.b, self.domain, self.inside)
        most = self.most if self.most is not None or seen is None else _GAP_REGIONS
        compared, how = self._compare(minus, most, seen, told)
        apart = compared.apart or seen
        if apart is None and compared.hole is not None:
            return self._hole(compared.hole, compared.regions)
        if apart is None and compared.complete:
            return Verdict(True, None, (None, None), Fraction(0), compared.regions, how)
        if not compared.complete:
            how = _unfinished(how, compared.regions, most)
        if apart is None:
            return Verdict(None, None, (None, None), None, compared.regions, how)
        gap = apart.size if compared.complete and compared.apart is not None else None
        return self._different(apart, gap, compared.regions, how)

    def farthest(self) -> Apart | None:
        """Where the two are farthest apart; None if they are equal."""
        if self.a is self.b:
            return None
        told = self._told()
        if told is not None and told.equal:
            return None
        away = self._undefined(told)
        if away is not None:
            raise InputError(f"only one of the two functions is defined at x = {point_text(away)}", point=away)
        a, b = self.a, self.b
        minus = difference(a, b) if isinstance(a, Network) and isinstance(b, Network) else None
        compared, _ = self._compare(minus, None, None, told)
        assert compared.complete
        if compared.apart is None and compared.hole is not None:
            self._hole(compared.hole, compared.regions)
        return compared.apart

    def _hole(self, point: NDArray[Any], regions: int) -> Verdict:
        if self.domain is not None:
            message = f"the function is not defined at x = {point_text(point)}, a point of the domain"
            raise InputError(message, point=point)
        values = values_at(self.a, point), values_at(self.b, point)
        return Verdict(False, point, values, None, regions, "domains differ: there is a hole between the pieces")

    def _different(self, apart: Apart, gap: Fraction | float | None, regions: int, how: str) -> Verdict:
        values = apart.values or (values_at(self.a, apart.point), values_at(self.b, apart.point))
        assert values[0] is None or values[1] is None or (values[0] != values[1]).any()
        return Verdict(False, apart.point, values, gap, regions, how)

    def _told(self) -> Told | None:
        """What normal forms say about two functions, unless a limit forbids to look at all pieces."""
        a, b = self.a, self.b
        if not isinstance(a, CPWL) or not isinstance(b, CPWL):
            return None
        few = self.most is None or a.num_pieces + b.num_pieces <= self.most
        return by_form(a, b, self.domain) if few else None

    def _undefined(self, told: Told | None) -> NDArray[Any] | None:
        """A point where only one of two functions is defined; where a domain is given, both must be, all over it."""
        if told is not None and told.same_domain:
            return None
        for f in (self.a, self.b):
            if isinstance(f, CPWL) and self.domain is not None:
                found = outside(self.domain, f)
                if found is not None:
                    message = f"the function is not defined at x = {point_text(found)}, a point of the domain"
                    raise InputError(message, point=found)
        if isinstance(self.a, CPWL) and isinstance(self.b, CPWL) and self.domain is None:
            first = outside(self.a, self.b)
            return outside(self.b, self.a) if first is None else first
        return None

    def _compare(
        self, minus: Network | None, most: int | None, seen: Apart | None, told: Told | None
    ) -> tuple[Compared, str]:
        a, b = self.a, self.b
        if isinstance(a, CPWL) and isinstance(b, CPWL):
            told = told if told is not None and told.same_domain else None
            compared = compare_pieces(a, b, self.domain, told=told, most=most, progress=self.progress)
            if compared.complete and compared.apart is None and seen is None:
                compared = replace(compared, hole=_hole_between(a, b, self.domain))
            return compared, f"compared on {counted(compared.regions, 'pair')} of pieces"
        if minus is not None:
            zero = np.full((minus.outputs, minus.inputs + 1), Fraction(0), dtype=object)
            strict = seen is not None and self.most is None
            compared = self._on_regions(minus, zero, most, strict and self.checkpoint is None)
            if len(minus.layers) == 1:
                return compared, "they share all neurons that are read"
            return compared, f"compared on {counted(compared.regions, 'linear region')}"
        p, network = (a, b) if isinstance(a, CPWL) else (b, a)
        assert isinstance(p, CPWL)
        assert isinstance(network, Network)
        return self._mixed(p, network, most, seen)

    def _on_regions(self, minus: Network, zero: NDArray[np.object_], most: int | None, strict: bool) -> Compared:
        how = partial(compare_on_regions, most=most, strict=strict, executor=self.executor, progress=self.progress)
        if self.checkpoint is None:
            return how(minus, self.domain, zero)
        size = cells_at_once(minus)
        with Journal(
            self.checkpoint, searched(minus, self.domain), keeps=(Compared, Apart), question="equal", size=size
        ) as journal:
            return how(minus, self.domain, zero, journal=journal)

    def _mixed(self, p: CPWL, network: Network, most: int | None, seen: Apart | None) -> tuple[Compared, str]:
        """A function and a network: cells that are inside pieces first, by corners; the other pieces one by one."""
        body = self.domain if self.domain is not None else _hull(p)
        limit = _CELLS * (p.num_pieces + 250)
        found = cells_on(network, body, limit if most is None else min(limit, most))
        if found is None:
            differs = seen is not None or find_difference(self.a, self.b, self.domain, self.inside) is not None
            if not differs and self.domain is None and _is_certified(p, network, self.executor):
                how = f"proved on {counted(p.num_pieces, 'piece')} by a certificate"
                return Compared(p.num_pieces, None, True, None if is_whole(p) else _hole_in(p, body)), how
            compared, how = self._on_pieces(p, network, range(p.num_pieces), most, seen)
            holes = compared.complete and compared.apart is None and seen is None and not is_whole(p)
            return (replace(compared, hole=_hole_in(p, body)) if holes else compared), how
        laid = overlay(found, p)
        compared = self._in_pieces(p, network, body, found, laid)
        rest = np.flatnonzero(~laid.filled).tolist()
        if rest and (compared.apart is None or compared.apart.size != math.inf):
            left = None if most is None else most - compared.regions
            assert found.spans is not None
            if found.spans.rank < p.dim:
                others, _ = self._on_pieces(p, network, rest, left, compared.apart or seen)
            else:
                others = self._on_overlay(p, found, np.array(rest))
            apart = farther(compared.apart, others.apart)
            compared = Compared(compared.regions + others.regions, apart, others.complete)
        if compared.apart is None and compared.complete and seen is None and not (laid.covered.all() or is_whole(p)):
            bare = (hole(found.polyhedra[int(c)].meet(body), p) for c in np.flatnonzero(~laid.covered))
            compared = replace(compared, hole=next((x for x in bare if x is not None), None))
        return compared, f"compared on {counted(compared.regions, 'linear region')} in {counted(p.num_pieces, 'piece')}"

    def _in_pieces(
        self, p: CPWL, network: Network, body: Polyhedron | None, found: Pieces, laid: Contained
    ) -> Compared:
        """The cells of pieces that are filled by them, each against the law of its piece."""
        mine = laid.filled[laid.piece]
        cell, piece, laws = laid.cell[mine], laid.piece[mine], p.laws.integer()
        apart = farthest_on_cells(network, body, found, cell, laws[piece])
        if apart is not None:
            apart = self._valued(p, network, int(piece[apart.pair]), apart)
        return Compared(len(cell), apart, True)

    def _on_overlay(self, p: CPWL, found: Pieces, rest: NDArray[np.int64]) -> Compared:
        """Some pieces against all cells: the corners of the common refinement decide."""
        (number, mine), (kept, cells) = pieces_of(p), solid(found.polyhedra)
        boxes = boxes_around(mine.spans, len(mine), p.dim), boxes_around(cells.spans, len(cells), p.dim)
        pairs = box_pairs(*boxes[0], boxes[1])
        pairs = pairs[np.isin(number[pairs[:, 0]], rest)]
        laws = p.laws.integer()[number], found.laws.integer()[kept]
        apart = farthest_on_pairs(mine, laws[0], cells, laws[1], pairs, self.domain, self.progress)
        if apart is not None and apart.values is not None and p is self.b:
            apart = replace(apart, values=apart.values[::-1])
        return Compared(len(pairs), apart, True)

    def _valued(self, p: CPWL, network: Network, i: int, apart: Apart) -> Apart:
        """With the values of both: the law of piece `i` there, and the network."""
        values = value_of(p.laws.integer()[i], apart.point), np.asarray(network(apart.point))
        return replace(apart, values=values if p is self.a else values[::-1])

    def _on_pieces(
        self, p: CPWL, network: Network, pieces: Sequence[int], most: int | None, seen: Apart | None
    ) -> tuple[Compared, str]:
        """The network against the law of each piece, on the piece; not on all if a difference is known already."""
        apart: Apart | None = None
        regions, complete = 0, True
        if seen is not None and self.most is None and len(pieces) > _GAP_PIECES:
            pieces, complete = pieces[:_GAP_PIECES], False
        shared = p.polyhedra, p.laws.integer(), network, self.domain
        ahead, ready = None, _with_probe(shared)
        if most is None and self.executor is not None:
            ahead = spread(_on_piece, shared, pieces, self.executor, prepare=_with_probe)
        for done, i in enumerate(pieces, start=1):
            left = None if most is None else most - regions
            if left is not None and left <= 0:
                return Compared(regions, apart, False), f"compared on {counted(regions, 'linear region')}"
            compared = next(ahead) if ahead is not None else _on_piece(ready, i, left)
            if compared is None:
                continue
            regions, complete = regions + compared.regions, complete and compared.complete
            if compared.apart is not None:
                apart = farther(apart, self._valued(p, network, i, compared.apart))
                if apart is not None and apart.size == math.inf:  # nothing is larger
                    return Compared(regions, apart, True), f"compared on {counted(regions, 'linear region')}"
            if self.progress is not None:
                self.progress(done, len(pieces), "pieces")
        how = f"compared on {counted(regions, 'linear region')} in {counted(len(pieces), 'piece')}"
        return Compared(regions, apart, complete), how


_Shared = tuple[Polyhedra, NDArray[Any], Network, Polyhedron | None]


def _with_probe(shared: _Shared) -> tuple[_Shared, Probe]:
    return shared, Probe(0.0)


def _on_piece(ready: tuple[_Shared, Probe], i: int, most: int | None = None) -> Compared | None:
    """The network against the law of one piece, where that is in the domain; None if it has no interior there."""
    (polyhedra, laws, network, domain), probe = ready
    body = polyhedra[i].meet(domain)
    if probe.interior(body) is None:
        return None
    target = fraction_array(laws[i][:, :-1]) / laws[i][:, -1:]
    return compare_on_regions(network, body, np.asarray(target), most=most)


def _unfinished(how: str, regions: int, most: int | None) -> str:
    """How it was decided where the search ended early."""
    if not regions:
        return "a point shows it; there are too many linear regions to look for the largest difference"
    return f"{how}, and there are more than {most:,}" if most is not None and regions >= most else f"{how}, not on all"


def _hull(p: CPWL) -> Polyhedron | None:
    """The rows that hold on all pieces: the domain, if it is convex."""
    rows = border(p)
    return body_of(rows) if len(rows) else None


def _hole_in(p: CPWL, body: Polyhedron | None) -> NDArray[np.object_] | None:
    everywhere = Polyhedron(np.zeros((0, p.dim)), np.zeros(0))
    return hole(everywhere if body is None else body, p)


def _hole_between(a: CPWL, b: CPWL, domain: Polyhedron | None) -> NDArray[np.object_] | None:
    """A point of the domain where one of two functions is defined and the other is not."""
    for p, q in ((a, b), (b, a)):
        if not is_whole(q):
            bodies = [domain] if domain is not None else p.polyhedra
            found = next((x for body in bodies if (x := hole(body, q)) is not None), None)
            if found is not None:
                return found
    return None


def _is_certified(p: CPWL, network: Network, executor: Executor | None) -> bool:
    """Whether a certificate shows equality at once; a difference that it finds is measured elsewhere."""
    if p.tol:
        return False
    try:
        certificate = certify(p, network, executor=executor)
    except (ProofError, LimitError):
        return False
    return certificate.proved and certificate.error_bound == 0
