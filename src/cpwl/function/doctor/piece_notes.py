"""Notes that need the facets of the pieces: slivers, redundant rows, pieces that could be merged."""

from __future__ import annotations

import numpy as np

from cpwl.function.answers import Finding, point_text
from cpwl.function.components import label_maps
from cpwl.function.doctor.notes import note, note_on_slivers, some
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.merge import plan_merge
from cpwl.geometry.facets import redundant_rows

__all__ = ["piece_notes"]


def piece_notes(doctor: PieceDoctor) -> list[Finding]:
    """The notes of an examination that has found the facets."""
    return [*_slivers(doctor), *_redundant_rows(doctor), *_mergeable_pieces(doctor)]


def _slivers(doctor: PieceDoctor) -> list[Finding]:
    """Measured in floats: the largest box inside against the box around, or the size of everything."""
    pieces = np.array(doctor.solid, dtype=np.int64)
    low, high = np.array([doctor.probe.box(doctor.polyhedra[i]) for i in doctor.solid]).transpose(1, 0, 2)
    extent = (high - low).max(axis=1)
    extent = np.where(np.isfinite(extent), extent, 2 * doctor.reach)
    balls = [doctor.probe.ball(doctor.polyhedra[i], size) for i, size in zip(doctor.solid, extent, strict=True)]
    width = 2 * np.array([radius for _, radius in balls])
    return note_on_slivers(pieces, extent, width, np.array([point for point, _ in balls]))


def _redundant_rows(doctor: PieceDoctor) -> list[Finding]:
    found = []
    for i, facets in doctor.facets.items():
        extra = redundant_rows(doctor.polyhedra, doctor.planes, facets, doctor.probe)
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


def _mergeable_pieces(doctor: PieceDoctor) -> list[Finding]:
    label = label_maps(doctor.p.component)
    groups = plan_merge(doctor.polyhedra, doctor.planes, label, doctor.facets, doctor.probe)
    saved = sum(len(group.members) - 1 for group in groups)
    if not saved:
        return []
    members = groups[0].members
    message = (
        f"{len(doctor.solid)} pieces could be {len(doctor.solid) - saved}: pieces {some(list(members))} follow one law "
        f"and have a convex union, for one. `p.merge()` merges such pieces."
    )
    return [note("mergeable pieces", message, members, None, saved)]
