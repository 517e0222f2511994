"""What every way of making a function produces: pieces and laws, how large they are, and which laws are one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, InputError
from cpwl.exact.integers import integer_rows, number_rows, ratio_view
from cpwl.exact.rational import as_reals, fraction_array, is_exact_float, ratios, to_float
from cpwl.geometry.polyhedra import Extents, Facts, Polyhedra, Polyhedron, fact, ranges

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

    def rational(self) -> NDArray[np.object_]:
        """Rationals ``(gradient, offset)``, shape ``(q, m, n + 1)``."""
        return np.asarray(ratios(self.integer()[..., :-1], self.integer()[..., -1:]))

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

    def revalued(self, laws: NDArray[np.object_]) -> Mesh:
        """The table with the values of integer laws ``(gradient, offset, 1) * denominator`` at its corners."""
        holder = np.full(len(self.corners), -1, dtype=np.int64)
        holder[self.simplices] = np.arange(len(self.simplices))[:, None]
        used = holder >= 0
        own, places = laws[holder[used]], self.corners[used]
        values = np.full((len(holder), laws.shape[1]), Fraction(0), dtype=object)
        values[used] = ratios((own[..., :-1] * places[:, None]).sum(axis=2), own[..., -1] * places[:, -1:])
        return replace(self, values=to_float(values), exact_values=None if is_exact_float(values) else values)


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


# How large the coordinates and the values of a function are, piece by piece: what float data may be off by.
#
# The scale of a piece comes from its corners: the largest value that any output takes there, all outputs together, and
# where the piece is unbounded also how much the law changes over a length like that of the corners. Rows that do not
# touch a piece, steep slopes elsewhere, and far corners elsewhere have no say.


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


@fact
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


# Distinct linear components: which pieces follow the same affine law.


def label_components(laws: Laws, polyhedra: Polyhedra, tol: float) -> NDArray[np.int64]:
    """For each piece and output the number of its component, counted in order of first appearance.

    With ``tol = 0`` laws are one component iff they are equal as rationals. Otherwise iff every coefficient differs by
    at most `tol` times the largest one of its kind over all pieces and outputs, *and* on both pieces their values
    differ by no more than these may be off by (`Scale.slack`), so that a steep piece elsewhere makes no two laws one. A
    class is held together by its first member: near-equality cannot drift along a chain.
    """
    if tol == 0:
        rows = laws.integer()
        return np.stack([number_rows(rows[:, j])[1] for j in range(laws.outputs)], axis=1)
    scale = scale_of(polyhedra, laws, tol)
    return np.stack([_label_near(laws, j, tol, scale) for j in range(laws.outputs)], axis=1)


def label_maps(component: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each piece, equal where all outputs follow the same components.

    >>> label_maps(np.array([[0, 0], [0, 1], [0, 0]]))
    array([0, 1, 0])
    """
    return np.unique(component, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _label_near(laws: Laws, output: int, tol: float, scale: Scale) -> NDArray[np.int64]:
    slope_scale = np.abs(laws.gradient).max(initial=0.0) or 1.0
    with np.errstate(over="ignore"):
        natural = min(slope_scale * scale.unit, np.finfo(np.float64).max)
    offset_scale = max(np.abs(laws.offset).max(initial=0.0), natural)
    own = np.column_stack([laws.gradient[:, output], laws.offset[:, output]])
    tree = scipy.spatial.cKDTree(own / np.append(np.full(own.shape[1] - 1, slope_scale), offset_scale))
    agree = _Agree(own, 2 * scale.slack(tol), scale)
    leader = np.full(len(own), -1, dtype=np.int64)
    for i in range(len(own)):  # Each piece goes to the first law near it that leads a class.
        if leader[i] < 0:
            near = np.array(tree.query_ball_point(tree.data[i], tol, p=np.inf), dtype=np.int64)
            free = near[(leader[near] < 0) & (near != i)]
            leader[free[agree(i, free)]] = i
            leader[i] = i
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


class _Agree:
    """Whether laws ``(g, o)`` have the same values on the pieces of both, as far as each may be off."""

    def __init__(self, laws: NDArray[np.float64], slack: NDArray[np.float64], scale: Scale) -> None:
        self.laws, self.slack = laws, slack
        found = scale.extents
        # Corners ``(x, 1)``, and rays ``(r, 0)`` as long as the corners are far out.
        owner = np.concatenate([found.owner, found.ray_owner])
        ends = np.column_stack([found.rays * scale.reach[found.ray_owner][:, None], np.zeros(len(found.rays))])
        places = np.concatenate([np.column_stack([found.points, np.ones(len(found.points))]), ends])
        order = np.argsort(owner, kind="stable")
        self.places = places[order]
        self.start = np.searchsorted(owner[order], np.arange(len(laws) + 1))

    def __call__(self, i: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not len(others):
            return np.zeros(0, dtype=bool)
        change = self.laws[others] - self.laws[i]
        with np.errstate(all="ignore"):
            here = np.abs(change @ self.places[self.start[i] : self.start[i + 1]].T).max(axis=1, initial=0.0)
            good = np.asarray(here <= self.slack[i])
            rows, which = ranges(self.start[others], self.start[others + 1] - self.start[others])
            there = np.abs((change[which] * self.places[rows]).sum(axis=1))
        good[which[~(there <= self.slack[others][which])]] = False
        return good


# Tables: which simplices have a facet in common, and Kuhn grids.


@dataclass(frozen=True, slots=True, eq=False)
class SharedFacets:
    """Facets with equal corners: the group `g` has the facets ``order[first[g]:first[g] + count[g]]``.

    Facets are numbered simplex by simplex: facet ``i (n + 1) + k`` is the one of simplex `i` without its corner `k`.
    """

    order: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]

    def alone(self) -> NDArray[np.int64]:
        """The facets of one simplex only."""
        return np.asarray(self.order[self.first[self.count == 1]])

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The facets that exactly two simplices have."""
        pair = self.first[self.count == 2]
        return self.order[pair], self.order[pair + 1]


def shared_facets(simplices: NDArray[np.int64]) -> SharedFacets:
    """The facets of all simplices (rows of corner numbers), grouped by their corners.

    >>> shared_facets(np.array([[0, 1, 2], [1, 2, 3]])).pairs()
    (array([0]), array([5]))
    """
    q, size = simplices.shape
    facets = np.stack([np.delete(simplices, k, axis=1) for k in range(size)], axis=1).reshape(q * size, size - 1)
    facets = np.sort(facets, axis=1)
    order = np.lexsort(facets.T[::-1]).astype(np.int64)
    new = np.ones(len(order), dtype=bool)
    new[1:] = (facets[order][1:] != facets[order][:-1]).any(axis=1)
    first = np.flatnonzero(new).astype(np.int64)
    return SharedFacets(order, first, np.diff(np.append(first, len(order))))


# Is a table a Kuhn grid? Its axes, the sense of its diagonals, and its values as an array.
#
# A Kuhn grid has a point for each choice of one coordinate on every axis, and its simplices go from one end of a box's
# diagonal to the other, one axis after the other. Diagonals may run down along some axes: those are mirrored.


@dataclass(frozen=True, slots=True, eq=False)
class KuhnGrid:
    """``values[k_1, .., k_n, output]`` at the point with number `k_i` on each axis, counted along the diagonals."""

    axes: tuple[NDArray[np.object_], ...]
    """The coordinates of each axis in order of their numbers: falling on a mirrored axis."""
    values: NDArray[np.object_]

    @property
    def steps(self) -> tuple[int, ...]:
        """The number of intervals on each axis."""
        return tuple(len(axis) - 1 for axis in self.axes)


def kuhn_grid(mesh: Mesh) -> KuhnGrid:
    """The table as a grid; raises `ConstructionError` with a simplex that does not fit.

    >>> from cpwl.function import CPWL
    >>> grid = kuhn_grid(CPWL.from_grid([[0, 1, 3], [0, 2]], [[0, 1], [2, 3], [4, 5]]).mesh)
    >>> grid.steps, grid.values[2, 1, 0]
    ((2, 1), Fraction(5, 1))
    """
    used = np.unique(mesh.simplices)
    axes, place = _axes(mesh.corners[used])
    count = [len(axis) for axis in axes]
    if len(used) != np.prod(count):
        raise ConstructionError(
            f"this table is not a grid: it has {len(used)} points, and its coordinates {' x '.join(map(str, count))}"
        )
    number = np.full(len(mesh.corners), -1, dtype=np.int64)
    number[used] = np.arange(len(used))
    cells = place[number[mesh.simplices]]
    falling = _falling(cells)
    last = np.array(count) - 1
    place, cells = (np.where(falling, last - k, k) for k in (place, cells))
    _check_chains(cells)
    exact = mesh.values if mesh.exact_values is None else mesh.exact_values
    values = np.empty((*count, exact.shape[1]), dtype=object)
    values[tuple(place.T)] = np.frompyfunc(Fraction, 1, 1)(exact[used])
    return KuhnGrid(tuple(axis[::-1] if down else axis for axis, down in zip(axes, falling, strict=True)), values)


def _axes(corners: NDArray[np.object_]) -> tuple[list[NDArray[np.object_]], NDArray[np.int64]]:
    """The coordinates that occur on each axis, in order, and the number of each corner's on every axis."""
    axes, places = [], []
    for k in range(corners.shape[1] - 1):
        coordinate = [Fraction(x[k], x[-1]) for x in corners.tolist()]
        axis = sorted(set(coordinate))
        number = {v: i for i, v in enumerate(axis)}
        axes.append(np.array(axis, dtype=object))
        places.append([number[v] for v in coordinate])
    return axes, np.array(places, dtype=np.int64).T


def _falling(cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The axes along which the diagonal of the first simplex runs down, the first axis being up."""
    first = cells[0]
    for i, x in enumerate(first):
        for y in first[i + 1 :]:
            if (np.abs(y - x) == 1).all():
                return np.asarray((y - x) * (y - x)[0] < 0)
    raise ConstructionError("this table is not a Kuhn grid: simplex 0 has no two corners across a box")


def _check_chains(cells: NDArray[np.int64]) -> None:
    """Every simplex goes up by one step of one axis after the other."""
    order = np.argsort(cells.sum(axis=2), axis=1, kind="stable")
    steps = np.diff(np.take_along_axis(cells, order[..., None], axis=1), axis=1)
    wrong = np.flatnonzero((steps.min(axis=(1, 2)) < 0) | (steps.sum(axis=2) != 1).any(axis=1))
    if len(wrong):
        raise ConstructionError(
            f"this table is not a Kuhn grid: simplex {wrong[0]} does not follow a diagonal", simplex=int(wrong[0])
        )


def is_even(axis: NDArray[Any]) -> bool:
    """Whether the coordinates follow each other at one distance."""
    return bool((np.diff(axis) == axis[1] - axis[0]).all())
