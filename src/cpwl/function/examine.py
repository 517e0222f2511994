"""What is wrong with a function? Jumps, overlaps, gaps, domains that are not convex, pieces without interior.

And what is noteworthy: slivers, redundant rows, repeated laws, pieces that could be merged, scales.

Every decision is made in rationals for exact data, and within `tol` for float data. The reasoning behind "nothing is
wrong": if on every hyperplane the facets of the pieces on its two sides cover the same set once, up to the boundary
of a convex domain, then the number of pieces over a point is the same everywhere inside it; so it is 1 if it is 1
somewhere. And if neighbours agree on the hyperplane of their common facet, the function is continuous.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.executors import check_executor
from cpwl.function.answers import Finding, Report
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import examine_mesh, is_sound, lifted, moved_to
from cpwl.function.doctor.notes import (
    mesh_notes,
    note_on_half_line,
    note_on_laws,
    note_on_planes,
    notes_on_scale,
    piece_notes,
)
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.jump import largest_jump
from cpwl.function.lineality import divided
from cpwl.function.snap.snap import snap, stretched, uneven

_MANY = 201  # float pieces from which on nothing but corners is asked for an exact function near them
_INPUTS = 5  # and up to how many inputs
_FAR = 1e3  # tolerances apart: not even all of them together make up for that
_DENT = 1e-4  # of the largest coordinate: what rounded decimals may do to a straight side
_ROUNDING = 1e-13  # relative: what rounding may have moved the points of a table by


@within_float64()
def doctor(p: CPWL, *, executor: Executor | None = None) -> Report:
    """All findings, and the function that they are about; see `CPWL.doctor`."""
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
    again = Report.of([_moved(f, np.exp2(-powers)) for f in even if f.kind != "scale"] + scale)
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
        findings = [lifted(f, small) for f in findings]
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


def _moved(finding: Finding, factors: NDArray[np.float64]) -> Finding:
    return (
        finding if finding.point is None else moved_to(finding, np.asarray(finding.point, dtype=np.float64) * factors)
    )
