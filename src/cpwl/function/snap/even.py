"""Tables whose points are meant to lie on an even lattice: coordinates such as those of ``linspace``, made even.

The floats of ``linspace(0, 1, 25)`` are not ``i/24``, so that bends of a table on them that should be on one line are
on many. A coordinate whose values are within a few units in the last place of ``x_0 + k h`` is moved to that lattice.
Where no coordinate is even, a turned lattice and what is nearly straight are looked for (`straight`).
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import CpwlWarning
from cpwl.function.cpwl import CPWL
from cpwl.function.make import parts_of_simplices
from cpwl.function.parts import Mesh, Parts
from cpwl.function.snap.straight import aligned

__all__ = ["even_coordinates", "even_table"]

_ULPS = 8  # units in the last place of the largest coordinate
_STEPS = 60  # of the algorithm for the greatest common divisor, in floats


def even_table(p: CPWL, tol: float = 0.0) -> tuple[Parts, float] | None:
    """The table on points moved to be even or straight, and how far; None if there is nothing to move.

    No point moves by more than rounding may have done, or straightened ones by more than `tol`, relative.

    >>> import numpy as np
    >>> from cpwl import CPWL
    >>> p = CPWL.from_grid([np.linspace(0, 1, 4), [0, 1]], np.arange(8).reshape(4, 2))
    >>> parts, far = even_table(p)
    >>> parts.mesh.corners[2].tolist(), far < 1e-15
    ([1, 0, 3], True)
    """
    if p.mesh is None:
        return None
    points = _even_points(p.mesh) if any(_may_be_even(column) for column in p.mesh.points.T) else None
    if points is None:
        little = max(_little(p.mesh.points), tol * float(np.abs(p.mesh.points).max()))
        points = aligned(p.mesh.points, p.mesh.simplices, np.full(len(p.mesh.points), little))
    if points is None:
        return None
    far = max(abs(x - y) for x, y in zip(points.ravel(), _exact_points(p.mesh).ravel(), strict=True))
    if far == 0:
        return None
    values = p.mesh.values if p.mesh.exact_values is None else p.mesh.exact_values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)  # slivers along a side that is straight now have no interior
        return parts_of_simplices(points, p.mesh.simplices, values), float(far)


def _exact_points(mesh: Mesh) -> NDArray[np.object_]:
    return np.array([[Fraction(v, row[-1]) for v in row[:-1]] for row in mesh.corners.tolist()], dtype=object)


def _even_points(mesh: Mesh) -> NDArray[np.object_]:
    """The points with every coordinate that is even but for rounding made even."""
    columns = _exact_points(mesh).T
    return np.stack([column if (even := even_coordinates(column)) is None else even for column in columns], axis=1)


def _may_be_even(column: NDArray[np.float64]) -> bool:
    """Whether coordinates are on an even lattice but for rounding, and not without: the few distinct ones say it."""
    places = np.array([Fraction(x) for x in np.unique(column).tolist()], dtype=object)
    even = even_coordinates(places)
    return even is not None and bool((even != places).any())


def even_coordinates(column: NDArray[np.object_]) -> NDArray[np.object_] | None:
    """Rationals moved to one lattice ``x_0 + k h``, each by a few units in the last place of the largest; None if none.

    >>> even_coordinates(np.array([Fraction(x) for x in np.linspace(0, 1, 4).tolist()])).tolist()
    [Fraction(0, 1), Fraction(1, 3), Fraction(2, 3), Fraction(1, 1)]
    """
    view = column.astype(np.float64)
    little = _little(view)
    places = np.unique(view)
    places = places[np.concatenate([[True], np.diff(places) > 4 * little])]
    if len(places) < 3:
        return None
    step = _common_divisor(np.diff(places), little)
    if step is None:
        return None
    first, last = (column[int(np.argmin(np.abs(view - end)))] for end in (places[0], places[-1]))
    width = (last - first) / round(float((last - first) / Fraction(step)))
    number = np.round((view - float(first)) / float(width)).astype(np.int64)
    even = np.array([first + int(k) * width for k in number], dtype=object)
    near = all(abs(x - y) <= Fraction(little) for x, y in zip(even, column, strict=True))
    return even if near else None


def _little(view: NDArray[np.float64]) -> float:
    """How far rounding may have moved a coordinate."""
    return _ULPS * float(np.spacing(np.abs(view).max(initial=0.0)))


def _common_divisor(steps: NDArray[np.float64], little: float) -> float | None:
    """A number of which all steps are multiples, but for a little: Euclid's algorithm in floats."""
    divisor = float(steps.min())
    for _ in range(_STEPS):
        rest = np.abs(steps - np.round(steps / divisor) * divisor)
        if rest.max() <= 16 * little or rest.max() <= 1e-6 * divisor:
            return divisor
        divisor = float(rest[rest > 16 * little].min())
        if divisor < 1e3 * little:
            return None
    return None
