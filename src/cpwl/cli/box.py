"""The option ``--box LO HI`` as a domain: the same bounds for every coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from cpwl.geometry.polyhedra import Polyhedron

__all__ = ["box_domain"]


def box_domain(box: tuple[str, str] | None, dim: int) -> Polyhedron | None:
    """The box of all `x` with ``low <= x_i <= high``; bounds are numbers or "p/q", taken exactly."""
    if box is None:
        return None
    from cpwl.errors import InputError
    from cpwl.exact.rational import fraction
    from cpwl.geometry.polyhedra import box_polyhedron

    try:
        low, high = (fraction(bound) for bound in box)
    except InputError as error:
        raise typer.BadParameter(f"{error}.", param_hint="'--box'") from None
    if low >= high:
        raise typer.BadParameter(f"{box[0]} is not below {box[1]}.", param_hint="'--box'")
    return box_polyhedron((low, high), dim)
