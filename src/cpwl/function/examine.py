"""What is wrong with a function? Jumps, overlaps, gaps, domains that are not convex, pieces without interior.

And what is noteworthy: slivers, redundant rows, repeated laws, pieces that could be merged, scales.

Every decision is made in rationals for exact data, and within `tol` for float data. The reasoning behind "nothing is
wrong": if on every hyperplane the facets of the pieces on its two sides cover the same set once, up to the boundary
of a convex domain, then the number of pieces over a point is the same everywhere inside it; so it is 1 if it is 1
somewhere. And if neighbours agree on the hyperplane of their common facet, the function is continuous.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.doors import method_of
from cpwl.errors import counted
from cpwl.executors import check_executor
from cpwl.function.answers import Finding, Kind, Report, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import examine_mesh, is_sound, moved_to
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.jump import largest_jump
from cpwl.function.lineality import divided
from cpwl.function.merge import merge_with_groups
from cpwl.function.parts import label_maps
from cpwl.function.snap.snap import snap, stretched, uneven
from cpwl.geometry.facets import Facet, redundant_rows
from cpwl.geometry.polyhedra import intervals

_MANY = 201  # float pieces from which on nothing but corners is asked for an exact function near them
_INPUTS = 5  # and up to how many inputs
_FAR = 1e3  # tolerances apart: not even all of them together make up for that
_DENT = 1e-4  # of the largest coordinate: what rounded decimals may do to a straight side
_ROUNDING = 1e-13  # relative: what rounding may have moved the points of a table by


@method_of(CPWL, "doctor")
def doctor(p: CPWL, *, executor: Executor | None = None) -> Report:
    check_executor(executor)
    return replace(examine(p, executor=executor), function=p)


def examine(p: CPWL, *, notes: bool = True, executor: Executor | None = None) -> Report:
    """All findings about `p`; without `notes` only what is wrong, pieces without interior, and overlaps.

    A triangulated table whose simplices meet face to face is examined by its corners alone, in arrays. Anything
    else is examined facet by facet, in as many dimensions as the function depends on; where whole hyperplanes cut the
    space, the rows themselves may prove that nothing is wrong, and in up to five dimensions flags do
    (`cpwl.function.flags`), or say which hyperplanes to look at. Many float pieces with an exactly consistent function
    within their tolerance are well, too. Float data that seems broken is examined once more on coordinates of one
    size, if they are of very different sizes: a narrow axis is not noise. An `executor` shares facets and hyperplanes
    out.
    """
    report = _examined(p, notes, executor)
    powers = uneven(p.polyhedra) if report.errors and p.tol and p.dim > 1 else None
    if powers is None:
        return report
    even = _examined(stretched(p, powers), notes, executor)
    scale = notes_on_scale(p) if notes else []
    factors = np.exp2(-powers)
    back = [moved_to(f, lambda x: np.asarray(x, dtype=np.float64) * factors) for f in even if f.kind != "scale"]
    again = Report.of(back + scale)
    nothing = not any(f.pieces for f in report.errors)  # all is narrower than the noise would be
    return again if nothing or len(again.errors) < len(report.errors) else report


def _examined(p: CPWL, notes: bool, executor: Executor | None) -> Report:
    """The findings on the coordinates as they are."""
    complete = (p.known is not None and p.known.complete) or _is_nearly_exact(p)
    if complete and not notes:
        return Report.of([])
    if p.mesh is not None:
        findings = examine_mesh(p)
        if findings is not None:
            return Report.of(findings + (mesh_notes(p) if notes else []))
        if is_rough_table(p):
            return Report.of([_note_on_rounding(p), *(mesh_notes(p) if notes else [])])
    small = divided(p)
    complete = complete or is_sound(small.function)
    if complete and not notes:
        return Report.of([])
    doctor = PieceDoctor(small.function, executor, form=True)
    findings = doctor.findings(complete)
    if notes and doctor.facets:
        findings = findings + piece_notes(doctor)
    if not small.is_whole:
        findings = [moved_to(f, small.lift) for f in findings]
    if p.mesh is not None:
        findings = [_advised(f, float(np.abs(p.mesh.points).max())) for f in findings]
    if notes and doctor.facets:
        rows = np.array([f.row for facets in doctor.facets.values() for f in facets], dtype=np.int64)
        findings += note_on_laws(p, np.array(doctor.solid, dtype=np.int64))
        findings += note_on_planes(p, rows, doctor.planes.number[rows])
        findings += notes_on_scale(p) + note_on_half_line(p)
    return Report.of(findings)


def _is_nearly_exact(p: CPWL) -> bool:
    """Whether many float pieces are within their tolerance of an exactly consistent function, and all have an interior.

    That is found without linear programs (`CPWL.snap`), where the examination asks some for each facet.
    """
    if not p.tol or p.num_pieces < _MANY or not 2 <= p.dim <= _INPUTS or _contradicts_itself(p):
        return False
    snapped = snap(p, p.tol)
    return snapped.function is not None and snapped.flat == ()


def _contradicts_itself(p: CPWL) -> bool:
    """Whether two pieces differ at a point of both, beyond all tolerance: then nobody need look for a function near."""
    jump = largest_jump(p)
    if jump is None:
        return False
    steep, reach = np.abs(p.laws.gradient).sum(axis=2).max(axis=0), p.polyhedra.unit(p.tol)
    values = steep * reach + np.abs(p.laws.offset).max(axis=0)
    return bool(float(jump.unavoidable) > _FAR * p.tol * values[jump.output])


def is_rough_table(p: CPWL) -> bool:
    """Whether a table of floats is a function once its points are moved by rounding, and not as it is.

    Rounded points of a straight side of the domain are not on one line, so that the domain is not quite convex.
    """
    if p.mesh is None or not p.floats or p.domain is not None or not p.mesh.is_of_floats:
        return False
    if p.tol or examine_mesh(p) is not None:
        return False
    found = snap(p, _ROUNDING, even=True)
    # Slivers that are flat once sides are straight are left out only if somebody asks for it.
    return found.way == "even" and found.function is not None and found.function.num_pieces == p.num_pieces


def _note_on_rounding(p: CPWL) -> Finding:
    far = snap(p, _ROUNDING, even=True).moved.facet
    message = (
        f"points that are meant to be on one line, or hyperplane, are off it by rounding; they are moved by {far:.2g} "
        "of the largest coordinate when this table is compiled, and proofs are of the table as it is, within a bound."
    )
    return Finding("rounded points", "note", message, (), None, far)


def _advised(finding: Finding, reach: float) -> Finding:
    """What to do about a dent in the domain of a table, where rounded decimals may have made it."""
    if finding.kind != "domain not convex" or not finding.size < _DENT * reach:
        return finding
    tol = max(100 * finding.size / reach, _ROUNDING)
    advice = f" If a dent of {finding.size:.2g} is rounding, `p.snap({tol:.0e}, even=True).function` has none."
    return replace(finding, message=finding.message + advice)


# What is noteworthy about a function, though nothing is wrong with it: each note with a size and what to do.


_NEAR = 1e-6  # hyperplanes closer than this, relative, but not equal, are worth a look
_THIN = 1e-6  # pieces this many times longer than wide, too
_HUGE = 1e300
_SPREAD = 1e8  # and numbers of one kind that are this many times apart


def note(kind: Kind, message: str, pieces: tuple[int, ...], point: NDArray[Any] | None, size: float) -> Finding:
    """A finding that is no error."""
    return Finding(kind, "note", message, pieces, point, float(size))


def some(numbers: NDArray[np.int64] | list[int], limit: int = 8) -> str:
    """Numbers in a sentence, the first few of them.

    >>> some([3]), some([3, 4, 7]), some(list(range(20)), 3)
    ('3', '3, 4 and 7', '0, 1, 2, ...')
    """
    texts = [str(int(v)) for v in numbers[: limit + 1]]
    if len(texts) > limit:
        return ", ".join(texts[:limit]) + ", ..."
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + f" and {texts[-1]}"


def note_on_laws(p: CPWL, solid: NDArray[np.int64]) -> list[Finding]:
    """The number of distinct laws, where it is smaller than the number of pieces (those with interior)."""
    label = label_maps(p.component[solid])
    distinct, first, count = np.unique(label, return_index=True, return_counts=True)
    if len(distinct) == len(solid):
        return []
    most = solid[label == distinct[np.argmax(count)]]
    leader = solid[first[label]]
    apart = float(np.abs(p.laws.coefficients()[solid] - p.laws.coefficients()[leader]).max())
    message = f"{len(solid)} pieces but {counted(len(distinct), 'law')}: pieces {some(most)} follow one law"
    message += f", up to {apart:.2g} in a coefficient; try `p.snap()`." if apart else "."
    if p.mesh is not None:
        message += " `p.merge()` merges those that have a convex union."
    return [note("repeated laws", message, tuple(most.tolist()), None, len(solid) - len(distinct))]


def note_on_half_line(p: CPWL) -> list[Finding]:
    """Where the pieces of a function of one input end, if they do so on one side only and no domain was asserted."""
    if p.dim != 1 or p.domain is not None:
        return []
    low, high = intervals(p.polyhedra)
    first, last = low.argmin(), high.argmax()
    if np.isinf(low[first]) == np.isinf(high[last]):
        return []
    piece, end, sense = (last, high[last], "<=") if np.isinf(low[first]) else (first, low[first], ">=")
    message = (
        f"the domain is x {sense} {end:.6g}, where piece {piece} ends: beyond it the function is not defined. If a "
        f"piece is missing there, add it; if not, `domain=` says so."
    )
    return [note("half-line", message, (int(piece),), np.array([end]), abs(float(end)))]


def note_on_slivers(
    pieces: NDArray[np.int64], extent: NDArray[np.float64], width: NDArray[np.float64], middle: NDArray[np.float64]
) -> list[Finding]:
    """Pieces that are very much longer than wide; `width` is that of the largest ball, or box, inside."""
    aspect = extent / np.maximum(width, extent / _HUGE)
    thin = np.flatnonzero(aspect > 1 / _THIN)
    if len(thin) == 0:
        return []
    thin = thin[np.argsort(-aspect[thin], kind="stable")]
    worst = thin[0]
    who = f"piece {pieces[worst]} is a sliver"
    if len(thin) > 1:
        who = f"{len(thin)} pieces are slivers: {some(pieces[thin])}. The worst, {pieces[worst]}, is"
    message = (
        f"{who} {_times(aspect[worst])} as long as wide, around x = {point_text(middle[worst])}. If it comes from "
        f"rounding, leave it out, or move its corners together."
    )
    return [note("sliver", message, tuple(pieces[thin].tolist()), middle[worst], aspect[worst])]


def _times(ratio: float) -> str:
    """How many times: 2.6, 260, 1,500,000.

    >>> _times(2.64), _times(264.3), _times(1.5e6)
    ('2.6 times', '260 times', '1,500,000 times')
    """
    return f"{float(f'{ratio:.2g}'):,.10g} times"


def note_on_planes(p: CPWL, rows: NDArray[np.int64], number: NDArray[np.int64] | None) -> list[Finding]:
    """Facets on hyperplanes that are nearly equal, but not within `tol`.

    `rows` are those of facets, `number` the hyperplanes that they lie on. Without it equal hyperplanes must have equal
    floats, up to the sign, as they do in a mesh.
    """
    view = _normalised(p.polyhedra.A[rows], p.polyhedra.b[rows], p.polyhedra.unit(p.tol))
    alike = np.unique(view, axis=0, return_inverse=True)[1].ravel() if number is None else number
    first = np.unique(alike, return_index=True)[1]
    if len(first) < 2:
        return []
    nearest = scipy.spatial.cKDTree(view[first]).query(view[first], k=[2], distance_upper_bound=_NEAR)
    distance, other = (np.asarray(found).ravel() for found in nearest)
    near = np.flatnonzero(np.isfinite(distance))
    if len(near) == 0:
        return []
    k = near[np.argmin(distance[near])]
    owner = p.polyhedra.owner[rows[first]]
    i, j = sorted((int(owner[k]), int(owner[other[k]])))
    gap = float(distance[k])
    advice = "pass a larger `tol`, or try `p.snap()`" if p.tol else "write them alike"
    message = (
        f"{len(near)} hyperplanes of facets nearly coincide with another one; the closest, of pieces {i} and {j}, "
        f"differ by {gap:.2g}, relative. If they are meant to be equal, {advice}."
    )
    return [note("nearly parallel facets", message, (i, j), None, gap)]


def _normalised(A: NDArray[np.float64], b: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    """Hyperplanes as points of which the distance means something; the two signs of a row are one point."""
    with np.errstate(over="ignore"):
        view = np.column_stack([A, b]) / np.abs(A).max(axis=1, keepdims=True)
        view = np.clip(view / np.linalg.norm(view[:, :-1], axis=1, keepdims=True), -1e300, 1e300)
    view[:, -1] /= unit
    generic = np.cos(1.0 + np.arange(A.shape[1]) * 2.3)
    return np.asarray(view * np.where(view[:, :-1] @ generic < 0, -1, 1)[:, None])


def notes_on_scale(p: CPWL) -> list[Finding]:
    """Numbers of one kind that are very far apart; for float data anything below `tol` is nothing."""
    owner = p.polyhedra.owner
    pieces = np.arange(p.num_pieces)
    slopes = np.abs(p.laws.gradient).max(axis=(1, 2))
    found = _spread("slopes", slopes, pieces, p.tol, "rescale the inputs or the outputs")
    if p.mesh is not None:
        used = np.unique(p.mesh.simplices)
        corner = np.abs(p.mesh.points[used])
        holder = np.zeros(len(p.mesh.points), dtype=np.int64)
        holder[p.mesh.simplices[::-1]] = pieces[::-1, None]
        places = np.repeat(holder[used], p.dim)
        return found + _spread("coordinates", corner.ravel(), places, p.tol, "move the origin, or rescale the inputs")
    if len(owner) == 0:
        return found
    norms = np.abs(p.polyhedra.A).max(axis=1)
    with np.errstate(over="ignore"):
        distances = np.minimum(np.abs(p.polyhedra.b) / norms, _HUGE)
    found += _spread("coordinates", distances, owner, p.tol, "move the origin, or rescale the inputs")
    found += _spread("sizes of rows", norms, owner, 0.0, "divide each row by its largest coefficient")
    shares = np.abs(p.polyhedra.A) / norms[:, None]
    best = shares.argmax(axis=0)
    columns = shares[best, np.arange(p.dim)]
    return found + _spread("weights of the inputs", columns, owner[best], 0.0, "measure the inputs in like units")


def _spread(what: str, sizes: NDArray[np.float64], pieces: NDArray[np.int64], tol: float, advice: str) -> list[Finding]:
    seen = np.flatnonzero(sizes > tol * sizes.max(initial=0.0))
    if len(seen) == 0:
        return []
    low, high = seen[np.argmin(sizes[seen])], seen[np.argmax(sizes[seen])]
    if sizes[high] / _SPREAD <= sizes[low]:
        return []
    message = (
        f"the {what} spread from {sizes[low]:.2g} (piece {pieces[low]}) to {sizes[high]:.2g} (piece {pieces[high]}): "
        f"floats lose digits there. {advice[0].upper()}{advice[1:]}."
    )
    ratio = math.exp(min(math.log(sizes[high]) - math.log(sizes[low]), math.log(_HUGE)))
    return [note("scale", message, (int(pieces[low]), int(pieces[high])), None, ratio)]


def mesh_notes(p: CPWL) -> list[Finding]:
    """What is noteworthy about a table, in arrays."""
    mesh = p.mesh
    assert mesh is not None
    everything, size = np.arange(p.num_pieces), p.dim + 1
    corner = mesh.points[mesh.simplices]
    extent = (corner.max(axis=1) - corner.min(axis=1)).max(axis=1)
    A, b = p.polyhedra.A.reshape(-1, size, p.dim), p.polyhedra.b.reshape(-1, size)
    # The largest ball in a simplex has the radius 1 / (1/h_0 + ... + 1/h_n), where h are its heights.
    height = (b - np.einsum("pkn,pkn->pk", A, corner)) / np.linalg.norm(A, axis=2)
    width = 2 / (1 / np.maximum(height, np.finfo(np.float64).tiny)).sum(axis=1)
    return [
        *note_on_slivers(everything, extent, width, corner.mean(axis=1)),
        *note_on_laws(p, everything),
        *note_on_planes(p, np.arange(len(p.polyhedra.b)), None),
        *notes_on_scale(p),
    ]


# Notes that need the facets of the pieces: slivers, redundant rows, pieces that could be merged.


def piece_notes(doctor: PieceDoctor) -> list[Finding]:
    """The notes of an examination that has found the facets."""
    return [*_slivers(doctor), *_redundant_rows(doctor), *_mergeable_pieces(doctor)]


def _slivers(doctor: PieceDoctor) -> list[Finding]:
    """Measured in floats: the largest box inside against the box around, or the size of everything."""
    pieces = np.array(doctor.solid, dtype=np.int64)
    low, high = doctor.boxes()
    extent = (high - low).max(axis=1)
    extent = np.where(np.isfinite(extent), extent, 2 * doctor.reach)
    # A box around any inner point that is wide enough spares the largest one.
    inner = np.array([np.asarray(doctor.inside[i], dtype=np.float64) for i in doctor.solid])
    rows, room = doctor.polyhedra, np.full(doctor.p.num_pieces, np.inf)
    at = np.zeros((doctor.p.num_pieces, doctor.p.dim))
    at[pieces] = inner
    slack = rows.b - np.einsum("ij,ij->i", rows.A, at[rows.owner])
    np.minimum.at(room, rows.owner, slack / np.abs(rows.A).sum(axis=1))
    thin = np.flatnonzero(room[pieces] < _THIN * extent)
    if not len(thin):
        return []
    balls = [doctor.probe.ball(doctor.polyhedra[doctor.solid[k]], extent[k]) for k in thin.tolist()]
    width = 2 * np.array([radius for _, radius in balls])
    return note_on_slivers(pieces[thin], extent[thin], width, np.array([point for point, _ in balls]))


def _redundant_rows(doctor: PieceDoctor) -> list[Finding]:
    found = []
    for i, facets in doctor.facets.items():
        extra = _extra_rows(doctor, i, facets)
        if not extra:
            continue
        rows = [row - int(doctor.polyhedra.start[i]) for row, _ in extra]
        point = extra[0][1]
        what = f"row {rows[0]}" if len(rows) == 1 else f"rows {some(rows)}"
        message = (
            f"{what} of piece {i} can be left out: the other rows imply {'it' if len(rows) == 1 else 'them'}. "
            f"Row {rows[0]} comes closest at x = {point_text(point)}."
        )
        found.append(note("redundant rows", message, (i,), point, len(rows)))
    return found


def _extra_rows(doctor: PieceDoctor, i: int, facets: list[Facet]) -> list[tuple[int, NDArray[Any]]]:
    """The rows of a piece that those of its facets imply, each with the point that comes closest to it."""

    def closest(r: int) -> NDArray[Any]:
        return doctor.maximum(i, doctor.polyhedra.integer()[r, :-1])[1]

    known = None if doctor.stack is None else closest
    return redundant_rows(doctor.polyhedra, doctor.planes, facets, doctor.probe, known)


def _mergeable_pieces(doctor: PieceDoctor) -> list[Finding]:
    merged, groups = merge_with_groups(doctor.p, given=doctor.facets)
    saved = doctor.p.num_pieces - merged.num_pieces
    if not saved:
        return []
    message = (
        f"{len(doctor.solid)} pieces could be {len(doctor.solid) - saved}: pieces {some(list(groups[0]))} follow one "
        f"law and have a convex union, for one. `p.merge()` merges such pieces."
    )
    return [note("mergeable pieces", message, groups[0], None, saved)]
