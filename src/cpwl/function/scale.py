"""How large the coordinates and the values of a function are, piece by piece: what float data may be off by.

The scale of a piece comes from its corners: the largest value that any output takes there, all outputs together, and
where the piece is unbounded also how much the law changes over a length like that of the corners. Rows that do not
touch a piece, steep slopes elsewhere, and far corners elsewhere have no say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.function.parts import Laws
from cpwl.geometry.extent import Extents
from cpwl.geometry.polyhedra import Polyhedra

_ROUNDING = 2.0**-44  # what rounding leaves of terms that cancel, with room
_LAST = 2.0**-48  # sixteen units in the last place: a sum of as many terms of that size
_MOST = float(np.finfo(np.float64).max) / 4  # stands for values beyond the range of floats


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The size of the coordinates, and for each piece that of the values and of their terms ``|g|.|x| + |o|``."""

    unit: float
    reach: NDArray[np.float64]
    """The largest coordinate of a corner of each piece, or the unit where that is 0."""
    values: NDArray[np.float64]
    terms: NDArray[np.float64]
    extents: Extents

    def slack(self, tol: float) -> NDArray[np.float64]:
        """What values of each piece may be off by: `tol` of their size, and never less than rounding.

        Rounding is that of the terms of a piece, and of the largest value of all: whoever computed the laws added
        numbers of that size, and where a law is 0 what is left of them is all there is.
        """
        least = np.maximum(_ROUNDING * self.terms, _LAST * self.values[self.values < _MOST].max(initial=0.0))
        return np.asarray(np.maximum(tol * self.values, least))


def scale_of(polyhedra: Polyhedra, laws: Laws, tol: float) -> Scale:
    """The scale of float pieces with their laws.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_pieces([[[1.0], [-1.0], [1.0]], [[-1.0], [1.0]]], [[1, 0, 1e9], [-1, 2]], [[3.0], [-3.0]], [0, 6])
    >>> scale_of(p.polyhedra, p.laws, p.tol).unit, scale_of(p.polyhedra, p.laws, p.tol).values
    (2.0, array([3., 3.]))
    """
    found = polyhedra.extents()
    count = len(polyhedra)
    unit = found.unit(count, tol)
    with np.errstate(all="ignore"):
        at = np.einsum("kmn,kn->km", laws.gradient[found.owner], found.points) + laws.offset[found.owner]
        size = np.einsum("kmn,kn->km", np.abs(laws.gradient[found.owner]), np.abs(found.points))
        size += np.abs(laws.offset[found.owner])
        values, terms = _largest(np.abs(at), found.owner, count), _largest(size, found.owner, count)
        # A piece without a corner that was found is as large as its constant term.
        alone = np.bincount(found.owner, minlength=count) == 0
        values[alone] = terms[alone] = np.abs(laws.offset[alone]).max(axis=1, initial=0.0)
        length = _largest(np.abs(found.points), found.owner, count)
        length = np.where(length > max(1e-13, 1e3 * tol) * unit, length, unit)
        change = np.abs(np.einsum("kmn,kn->km", laws.gradient[found.ray_owner], found.rays))
        values = np.maximum(values, _largest(change, found.ray_owner, count) * length)
        steep = np.einsum("kmn,kn->km", np.abs(laws.gradient[found.ray_owner]), np.abs(found.rays))
        terms = np.maximum(terms, _largest(steep, found.ray_owner, count) * length)
    return Scale(unit, length, np.nan_to_num(values, posinf=_MOST), np.nan_to_num(terms, posinf=_MOST), found)


def _largest(sizes: NDArray[np.float64], owner: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """The largest number of each piece; 0 where it has none."""
    result = np.zeros(count)
    np.maximum.at(result, owner, sizes.max(axis=1, initial=0.0))
    return result
