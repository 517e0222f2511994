"""Is a function continuous on a convex domain? The first error that is found, by the cheapest decider that applies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from cpwl.function.answers import Finding, point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.on_line import is_sound_on_line
from cpwl.function.doctor.on_mesh import examine_mesh
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.doctor.twins import is_sound_by_twins
from cpwl.function.flags import is_sound_by_flags
from cpwl.function.lineality import Divided, divided
from cpwl.geometry.polyhedra import fact

__all__ = ["first_error", "is_sound", "lifted", "moved_to"]


@fact
def first_error(p: CPWL) -> Finding | None:
    """Something that is wrong with `p`, not the worst but the first to be found; None if nothing is wrong.

    A function whose maker has proved it complete is not examined again.
    """
    if p.known is not None and p.known.complete:
        return None
    if p.mesh is not None:
        findings = examine_mesh(p)
        if findings is not None:
            return findings[0] if findings else None
    small = divided(p)
    error = None if is_sound(small.function) else PieceDoctor(small.function).first_error()
    return error if error is None or small.is_whole else lifted(error, small)


def is_sound(p: CPWL) -> bool:
    """Whether one of the proofs without linear programs applies."""
    return is_sound_on_line(p) or is_sound_by_twins(p) or is_sound_by_flags(p)


def lifted(finding: Finding, small: Divided) -> Finding:
    return finding if finding.point is None else moved_to(finding, small.lift(finding.point))


def moved_to(finding: Finding, point: NDArray[Any]) -> Finding:
    """The finding at the point of the data that is meant."""
    message = finding.message.replace(point_text(finding.point), point_text(point))
    return replace(finding, message=message, point=point)
