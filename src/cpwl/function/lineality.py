"""Dividing by the common lineality space: a function of 100 inputs that bends in 5 directions is a function of 5.

All rows and all differences of laws lie in the span `S` of the rows. Choose as many coordinates as `S` has dimensions
such that `S` keeps its rank on them; then setting the other coordinates to 0 loses no inequality and no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import NDArray

from cpwl.exact.rational import pivots
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, fact

_PRIME = 2**31 - 1  # products of residues stay below 2**62
_LOW = 4  # below this dimension there is nothing to gain, but for gates


@dataclass(frozen=True, slots=True, eq=False)
class Divided:
    """A function on the coordinates that matter, and the way back; `function` is the whole one if they all do."""

    function: CPWL
    coordinates: NDArray[np.int64]
    dim: int
    """The number of all coordinates."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return len(self.coordinates) == self.dim

    def lift(self, point: NDArray[Any]) -> NDArray[Any]:
        """The point, or direction, with zeros in the coordinates that were left out."""
        full = np.zeros(self.dim, dtype=point.dtype)
        full[self.coordinates] = point
        return full


@fact
def divided(p: CPWL) -> Divided:
    """The function divided by its lineality space.

    >>> p = CPWL.from_maxmin([[1, 2, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 0, 0, 0]], [[0], [1], [2]])
    >>> small = divided(p)
    >>> small.function.dim, small.dim, small.lift(np.array([5, 6])).tolist()
    (2, 4, [5, 0, 6, 0])
    """
    coordinates = essential_coordinates(p)
    return Divided(p if len(coordinates) == p.dim else on_coordinates(p, coordinates), coordinates, p.dim)


def essential_coordinates(p: CPWL, low: int = _LOW) -> NDArray[np.int64]:
    """Coordinates that suffice to decide everything about the pieces and the order of the laws; all if below `low`."""
    everything = np.arange(p.dim, dtype=np.int64)
    if p.dim < low or _is_full(p):
        return everything
    rows = np.concatenate([_distinct_normals(p), _slope_differences(p)])
    if not len(rows):
        return everything[:1]
    matrix, _, rank = fmpz_mat(*rows.shape, rows.ravel().tolist()).rref()
    return np.array(pivots(matrix, rank), dtype=np.int64)


def _is_full(p: CPWL) -> bool:
    """Whether a prime shows that the first rows span everything, as rows of float data do by their noise."""
    dim, stack = p.dim, p.polyhedra
    if len(stack.b) < dim:
        return False
    first = _residues(stack.A[:dim]) if stack.exact is None else stack.exact[:dim, :-1] % _PRIME
    return bool(nmod_mat(fmpz_mat(first.tolist()), _PRIME).rank() == dim)


def _residues(A: NDArray[np.float64]) -> NDArray[np.int64]:
    """Floats modulo the prime, each being ``m 2^e`` with integers `m` and `e`.

    >>> _residues(np.array([3.0, -1.0, 0.5])).tolist() == [3, _PRIME - 1, (_PRIME + 1) // 2]
    True
    """
    share, exponent = np.frexp(A)
    used, place = np.unique(exponent, return_inverse=True)
    power = np.array([pow(2, int(e) - 53, _PRIME) for e in used], dtype=np.int64)
    return np.asarray((share * 2.0**53).astype(np.int64) % _PRIME * power[place].reshape(A.shape) % _PRIME)


def _distinct_normals(p: CPWL) -> NDArray[np.object_]:
    """The normals of all rows, of the domain too, without repetition, also with opposite sense."""
    seen: dict[tuple[int, ...], None] = {}
    stacks = (p.polyhedra,) if p.domain is None else (p.polyhedra, p.domain)
    for stack in stacks:
        for row in dict.fromkeys(map(tuple, stack.integer()[:, :-1].tolist())):
            if tuple(-v for v in row) not in seen:
                seen[row] = None
    return np.array(list(seen), dtype=object).reshape(len(seen), p.dim)


def _slope_differences(p: CPWL) -> NDArray[np.object_]:
    """``grad f_m - grad f_0`` for all components of all outputs, up to a factor each, zeros left out."""
    found = []
    for j in range(p.outputs):
        laws = p.laws.integer()[p.representatives(j), j]
        found.append(laws[1:, :-2] * laws[:1, -1:] - laws[:1, :-2] * laws[1:, -1:])
    slopes = np.concatenate(found)
    return np.asarray(slopes[(slopes != 0).any(axis=1)])


def on_coordinates(p: CPWL, coordinates: NDArray[np.int64]) -> CPWL:
    """The function on the subspace where all other coordinates are 0."""
    columns = np.append(coordinates, p.dim)
    laws_exact = None if p.laws.exact is None else p.laws.exact[..., np.append(columns, p.dim + 1)]
    laws = Laws(p.laws.gradient[..., coordinates].copy(), p.laws.offset, laws_exact)
    exact = None if p.polyhedra.exact is None else p.polyhedra.exact[:, columns]
    polyhedra = Polyhedra(p.polyhedra.A[:, coordinates].copy(), p.polyhedra.b, p.polyhedra.start, exact)
    domain = p.domain
    if domain is not None:
        exact = None if domain.exact is None else domain.exact[:, columns]
        domain = Polyhedron(domain.A[:, coordinates].copy(), domain.b, exact)
    known = None if p.known is None else p.known.on_coordinates(coordinates)
    return CPWL.from_parts(Parts(polyhedra, laws, domain, p.tol, known=known))
