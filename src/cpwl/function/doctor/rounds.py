"""An examination shared out: workers find facets, and look at hyperplanes. They can only say that nothing is wrong.

What they find wrong on a hyperplane is found again here, in its turn: some findings depend on those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeAlias

from cpwl.executors import spread
from cpwl.geometry.facets import Facet

if TYPE_CHECKING:
    from cpwl.function.doctor.on_pieces import Outer, PieceDoctor

__all__ = ["find_facets", "look_at_planes"]

_Shared: TypeAlias = "tuple[type[PieceDoctor], tuple[Any, ...]]"


def find_facets(doctor: PieceDoctor, executor: Executor | None) -> dict[int, list[Facet]]:
    """The facets of every piece that has an interior."""
    found: Iterator[list[Facet]] = map(doctor.facets_of, doctor.solid)
    if executor is not None:
        found = spread(_facets, _shared(doctor), doctor.solid, executor, prepare=_resumed)
    return dict(zip(doctor.solid, found, strict=True))


def look_at_planes(doctor: PieceDoctor, groups: list[list[Facet]], executor: Executor | None) -> Iterator[list[Outer]]:
    """The facets of each hyperplane that nothing covers; what is wrong there goes to the findings of the doctor."""
    if executor is None:
        yield from map(doctor.examine_plane, groups)
        return
    found = spread(_plane, _shared(doctor), groups, executor, prepare=_resumed)
    for group, outer in zip(groups, found, strict=True):
        yield doctor.examine_plane(group) if outer is None else outer


def _shared(doctor: PieceDoctor) -> _Shared:
    return type(doctor), (doctor.p, doctor.inside, doctor.low, doctor.high)


def _resumed(shared: _Shared) -> PieceDoctor:
    """A doctor with what the first one knows of the pieces."""
    kind, known = shared
    return kind.resumed(*known)


def _facets(doctor: PieceDoctor, i: int) -> list[Facet]:
    return doctor.facets_of(i)


def _plane(doctor: PieceDoctor, group: list[Facet]) -> list[Outer] | None:
    """What nothing covers on a hyperplane; None if something is wrong or noteworthy there."""
    outer = doctor.examine_plane(group)
    if not doctor.found:
        return outer
    doctor.found.clear()
    doctor.overlapping.clear()
    return None
