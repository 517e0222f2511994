"""Exact data in floats with its rounding undone: fewer bends, for a distance that is measured and proved.

Tables and breakpoints mean their numbers exactly, and so they are functions as they are; but where all numbers are
floats, rounding has scattered what was one line (`even`, `straight`), and bent what was straight: a table of samples of
a function with few pieces has a law of its own on every simplex. Laws that agree up to rounding are made one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.function.parts import Mesh, Parts
from cpwl.function.snap.runs import in_runs, is_coarse
from cpwl.function.snap.snap import evened, near
from cpwl.geometry.polyhedra import fact

__all__ = ["undone"]

_LITTLE = 1e-13  # what may move unasked, relative
_MOST = 1e-10  # the same, where simplices are so small that rounding turns laws by more
_ULPS = 16
_SHARE = 0.9  # of the laws: more are not worth a distance


@fact
def undone(p: CPWL) -> CPWL | None:
    """An exact function within rounding of a table, or of breakpoints, of floats; None if there is none to gain.

    Numbers that are not floats are meant as they are, and so is a table with a domain of its own. Floats with short
    mantissas, such as integers, have not been rounded.

    >>> import numpy as np
    >>> from cpwl import CPWL
    >>> x = np.linspace(-1, 1, 11)
    >>> p = CPWL.from_grid([x, x], np.abs(x[:, None]) + np.abs(x))
    >>> p.num_components, undone(p).num_components
    (34, 4)
    """
    if p.tol or (p.mesh is not None and p.domain is not None):
        return None
    if p.dim == 1:
        try:
            parts = in_runs(p, _LITTLE)
        except InputError:  # pieces that nobody has examined may not follow one another
            return None
        return None if parts is None else CPWL.from_parts(replace(parts, mesh=None))
    if p.mesh is None or not p.mesh.is_of_floats or not _may_be_rounded(p.mesh):
        return None
    found = evened(p, _LITTLE)
    straight = None if found is None else found.function
    if straight is not None and straight.num_pieces != p.num_pieces:
        straight = None  # slivers are flat once their sides are straight, and the data is another function in them
    plain = None if p.mesh.exact_values is not None else _plain(p if straight is None else straight)
    return straight if plain is None else plain


def _may_be_rounded(mesh: Mesh) -> bool:
    """Whether a coordinate, or a value, has a bit as low as rounding leaves it among numbers of its kind."""
    return any(not is_coarse(column) for column in (*mesh.points.T, *mesh.values.T))


def _plain(p: CPWL) -> CPWL | None:
    """The function with laws that agree up to rounding made one, if there are many such and all is consistent."""
    tol = _tolerance(p)
    if _distinct(p, tol) > _SHARE * p.num_components:
        return None
    rough = CPWL.from_parts(Parts(p.polyhedra, p.laws, None, tol))
    function = near(rough, "").function
    fewer = function is not None and function.num_components <= rough.num_components
    return function if fewer and function is not None and first_error(function) is None else None


def _tolerance(p: CPWL) -> float:
    """What rounded values at the corners of small simplices do to laws, relative to the largest slope."""
    assert p.mesh is not None
    corners = p.mesh.points[p.mesh.simplices]
    edge = np.linalg.norm(corners[:, 1:] - corners[:, :1], axis=2).min()
    slope = np.abs(p.laws.gradient).max(initial=1e-300)
    rounding = _ULPS * float(np.spacing(np.abs(p.mesh.values).max())) / (edge * slope)
    return float(np.clip(rounding, _LITTLE, _MOST))


def _distinct(p: CPWL, tol: float) -> int:
    """About how many laws there are that differ by more than `tol`, relative; no more than there are."""
    laws = p.laws.coefficients().reshape(p.num_pieces, -1)
    weights = np.cos(np.arange(1, laws.shape[1] + 1))
    return 1 + int((np.diff(np.sort(laws @ weights)) > tol * np.abs(laws).max()).sum())
