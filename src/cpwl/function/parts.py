"""What every way of making a function produces: pieces, laws, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import integer_rows, ratio_view
from cpwl.exact.rational import as_reals, fraction_array
from cpwl.geometry.polyhedra import Facts, Polyhedra, Polyhedron, fact

# What the maker of a function knows about its pieces: whoever asks later need not find it out again.


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Facts about the pieces of one function; whoever sets them vouches for them. Arrays are read-only.

    ``extract`` fills it in, and ``CPWL(..., known=Known(...))`` carries it; doctor, merge, neighbours and
    sample read it. Steps that change the pieces keep what is still true (`take`), and drop the rest.

    >>> known = Known(np.array([[-1.0], [1.0]]), np.array([[0, 1, 0]]), complete=True)
    >>> known.take(np.array([1])).inner, known.take(np.array([1])).complete
    (array([[1.]]), False)
    """

    inner: NDArray[Any] | None = None
    """``(q, n)``: a point strictly inside each piece, rational (objects) or float."""
    neighbours: NDArray[np.int64] | None = None
    """Rows ``(i, j, r)``: pieces `i` and `j` have one and the same facet, on the hyperplane of row `r` of the stack,
    which is a row of piece `i`. All facets inside the domain are there, each once or in both senses, and a row that is
    not there has no other piece beyond it."""
    complete: bool = False
    """Proved: each piece has an interior, they cover the (convex) domain once, and neighbours agree where they meet."""
    network: Callable[[], Any] | None = None
    """Makes a network that is the function on its domain, as a formula does: one more that "auto" compares."""
    optimal: Any = None
    """Says of which program the function is the optimiser, with ``document()`` for a proof; `solve_mpqp` sets it."""

    def __post_init__(self) -> None:
        for array in (self.inner, self.neighbours):
            if array is not None:
                array.setflags(write=False)

    def take(self, which: NDArray[np.int64]) -> Known:
        """What is known of some of the pieces, in that order: their inner points, and neighbours no longer.

        Rows have other numbers then, and a facet may have lost its neighbour.
        """
        return Known(None if self.inner is None else self.inner[which])

    def on_coordinates(self, coordinates: NDArray[np.int64]) -> Known:
        """What is known on the subspace of essential coordinates, which is a part of the domain times a subspace.

        The pieces, seen along the lineality space, are the same; an inner point is found from another one only if the
        coordinates that are left out are 0 there.
        """
        inner = self.inner
        if inner is not None:
            rest = np.delete(np.arange(inner.shape[1]), coordinates)
            inner = None if (inner[:, rest] != 0).any() else inner[:, coordinates]
        return Known(inner, self.neighbours, self.complete)


@dataclass(frozen=True, slots=True, eq=False)
class Laws:
    """Affine maps R^n -> R^m, one a piece: ``gradient (q, m, n)``, ``offset (q, m)``.

    `exact`, where the floats are rounded, has integer rows ``(gradient, offset, 1) * denominator``.
    """

    gradient: NDArray[np.float64]
    offset: NDArray[np.float64]
    exact: NDArray[np.object_] | None = None
    facts: Facts = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Laws, (self.gradient, self.offset, self.exact)

    def __post_init__(self) -> None:
        for array in (self.gradient, self.offset, self.exact):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_integer(cls, rows: NDArray[np.object_]) -> Laws:
        """Laws given by integer rows ``(gradient, offset, 1) * denominator``, denominator positive."""
        view = ratio_view(rows[..., :-1], rows[..., -1:])
        return cls(view[..., :-1].copy(), view[..., -1].copy(), rows)

    @classmethod
    def from_lists(cls, gradient: Any, offset: Any, count: int, dim: int) -> Laws:
        """Laws as callers write them: ``gradient[i]`` is (n,) or (m, n), ``offset[i]`` a scalar or (m,)."""
        slopes, slopes_exact = as_reals(gradient, "gradient")
        values, values_exact = as_reals(offset, "offset")
        if slopes.ndim == 2 and values.ndim == 1:
            slopes, values = slopes[:, None], values[:, None]
            slopes_exact = None if slopes_exact is None else slopes_exact[:, None]
            values_exact = None if values_exact is None else values_exact[:, None]
        fits = slopes.ndim == 3 and values.ndim == 2 and slopes.shape[:2] == values.shape
        if not fits or len(slopes) != count or slopes.shape[2] != dim:
            raise InputError(
                f"`gradient` must be ({count}, {dim}) or ({count}, m, {dim}) and `offset` ({count},) or "
                f"({count}, m) for {count} pieces in dimension {dim}; their shapes are "
                f"{np.shape(gradient)} and {np.shape(offset)}"
            )
        exact = None
        if slopes_exact is not None or values_exact is not None:
            left = fraction_array(slopes if slopes_exact is None else slopes_exact)
            right = fraction_array(values if values_exact is None else values_exact)
            exact = _homogeneous(slopes, values, np.concatenate([left, right[..., None]], axis=-1))
        return cls(slopes, values, exact)

    @property
    def outputs(self) -> int:
        return int(self.offset.shape[1])

    def coefficients(self) -> NDArray[np.float64]:
        """All numbers of each law, ``(q, m, n + 1)``, offset last."""
        return np.concatenate([self.gradient, self.offset[..., None]], axis=-1)

    @fact
    def integer(self) -> NDArray[np.object_]:
        """Integer rows ``(gradient, offset, 1) * denominator``, shape ``(q, m, n + 2)``."""
        return self.exact if self.exact is not None else _homogeneous(self.gradient, self.offset, None)

    def take(self, which: NDArray[np.int64]) -> Laws:
        """The laws with the given numbers."""
        exact = None if self.exact is None else self.exact[which]
        return Laws(self.gradient[which], self.offset[which], exact)


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Simplices with values at their corners: what a triangulated table holds.

    `corners` are integer rows ``(x, 1) * denominator``; `points` is their float64 view.
    """

    points: NDArray[np.float64]
    corners: NDArray[np.object_]
    simplices: NDArray[np.int64]
    values: NDArray[np.float64]
    exact_values: NDArray[np.object_] | None = None

    @property
    def is_of_floats(self) -> bool:
        """Whether all points are floats, so that rounding may have moved them."""
        ones = np.ones(len(self.points))
        return bool((integer_rows(np.column_stack([self.points, ones])) == self.corners).all())


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Pieces with laws; `tol` is 0 for data meant exactly, else the relative tolerance of float data.

    `floats` says that a table, or breakpoints, were written as floats, so that their numbers may have been rounded.
    """

    polyhedra: Polyhedra
    laws: Laws
    domain: Polyhedron | None
    tol: float
    mesh: Mesh | None = None
    known: Known | None = None
    floats: bool = False


def _homogeneous(
    gradient: NDArray[np.float64], offset: NDArray[np.float64], exact: NDArray[np.object_] | None
) -> NDArray[np.object_]:
    q, m, n = gradient.shape
    ones = np.ones((q * m, 1))
    view = np.column_stack([gradient.reshape(-1, n), offset.reshape(-1, 1), ones])
    if exact is not None:
        exact = np.column_stack([exact.reshape(q * m, n + 1), fraction_array(ones)])
    return integer_rows(view, exact).reshape(q, m, n + 2)
