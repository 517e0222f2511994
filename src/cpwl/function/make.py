"""How functions are made: pieces, simplices, breakpoints, max-min expressions and observed black boxes."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import CpwlWarning, InputError, check_memory
from cpwl.exact.integers import adjugate, homogeneous, integer_rows, primitive, quotient, sign
from cpwl.exact.rational import as_reals, fraction_array, has_floats
from cpwl.function.answers import point_text
from cpwl.function.parts import Known, Laws, Mesh, Parts
from cpwl.geometry.bodies import irredundant, stacked
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, as_domain
from cpwl.geometry.probe import Probe

_TOL = 1e-9  # of floats, relative


def parts_of_pieces(
    A: Sequence[Any],
    b: Sequence[Any],
    gradient: Any,
    offset: Any,
    domain: tuple[Any, Any] | None,
    tol: float | None,
) -> Parts:
    """Pieces ``A[i] x <= b[i]`` with their laws, shapes checked; nothing that costs an LP.

    Without `tol` rationals are meant exactly and floats within 1e-9. A positive `tol` says that the data is rounded,
    however it is written.
    """
    if tol is not None and not 0 <= tol < 1:
        raise InputError(f"`tol` must be at least 0 and less than 1, not {tol}")
    if len(A) == 0:
        raise InputError("there are no pieces: `A` is empty")
    dim = np.shape(gradient[0])[-1] if len(gradient) and np.ndim(gradient[0]) else None
    if dim is None:
        raise InputError("`gradient` must have one slope vector for each piece")
    polyhedra = Polyhedra.from_lists(A, b, dim=dim)
    laws = Laws.from_lists(gradient, offset, len(polyhedra), dim)
    asserted = as_domain(domain, dim)
    if tol is None:
        tol = _TOL if any(has_floats(v) for v in (A, b, gradient, offset, domain)) else 0.0
    return Parts(polyhedra, laws, asserted, float(tol))


# Algorithm 6: find the law of each piece by observing an unknown function inside one ball a piece.


def parts_of_oracle(f: Callable[[Any], Any], A: Sequence[Any], b: Sequence[Any], centers: Any, radii: Any) -> Parts:
    """Laws from ``n + 1`` observations a ball; one more tests that `f` is affine there.

    The observed points are the centre `c`, ``c + s e_k`` and ``c - s (1, ..., 1) / n`` with half the radius
    as `s`: all of them inside the ball, whatever the rounding.
    """
    center, _ = as_reals(centers, "centers")
    radius, _ = as_reals(radii, "radii")
    if len(A) == 0:
        raise InputError("there are no pieces: `A` is empty")
    if center.ndim != 2 or radius.shape != (len(A),) or len(center) != len(A):
        raise InputError(
            f"`centers` must be ({len(A)}, n) and `radii` ({len(A)},) for {len(A)} pieces, "
            f"not {center.shape} and {radius.shape}"
        )
    polyhedra = Polyhedra.from_lists(A, b, dim=center.shape[1])
    _check_balls(polyhedra, center, radius)
    n = center.shape[1]
    steps = np.concatenate([np.zeros((1, n)), np.eye(n), np.full((1, n), -1.0 / n)]) * 0.5
    points = center[:, None, :] + radius[:, None, None] * steps
    values = _observe(f, points.reshape(-1, n)).reshape(len(A), n + 2, -1)
    # The steps actually taken, after rounding, so that the slopes are those of the observed points.
    taken = np.einsum("ikk->ik", points[:, 1 : n + 1] - points[:, :1])
    gradient = np.swapaxes((values[:, 1 : n + 1] - values[:, :1]) / taken[..., None], 1, 2)
    offset = values[:, 0] - np.einsum("imn,in->im", gradient, center)
    predicted = np.einsum("imn,in->im", gradient, points[:, -1]) + offset
    scale = np.abs(values).max(axis=(1, 2)) + np.abs(offset).max(axis=1)
    wrong = np.flatnonzero((np.abs(predicted - values[:, -1]).max(axis=1)) > _TOL * np.maximum(scale, 1e-300))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(
            f"`f` is not affine on the ball of piece {i}: at x = {point_text(points[i, -1])} it is "
            f"{point_text(values[i, -1])}, but its values at {n + 1} other points predict {point_text(predicted[i])}",
            piece=i,
            point=points[i, -1],
        )
    return Parts(polyhedra, Laws(gradient, offset), None, _TOL)


def _check_balls(polyhedra: Polyhedra, center: NDArray[np.float64], radius: NDArray[np.float64]) -> None:
    small = np.flatnonzero(~(radius > 0))
    if len(small):
        i = int(small[0])
        raise InputError(
            f"the ball of piece {i} must have a positive radius, not {radius[i]}", piece=i, point=center[i]
        )
    owner = polyhedra.owner
    length = np.linalg.norm(polyhedra.A, axis=1)
    reach = (polyhedra.A * center[owner]).sum(axis=1) + length * radius[owner]
    slack = 1e-12 * ((np.abs(polyhedra.A) * np.abs(center[owner])).sum(axis=1) + np.abs(polyhedra.b))
    out = np.flatnonzero(reach > polyhedra.b + slack)
    if len(out):
        row = int(out[0])
        i = int(owner[row])
        far = center[i] + radius[i] * polyhedra.A[row] / length[row]
        raise InputError(
            f"the ball of piece {i} is not inside the piece: x = {point_text(far)} is in the ball but violates row "
            f"{row - int(polyhedra.start[i])} of `A[{i}] x <= b[{i}]`",
            piece=i,
            point=far,
        )


def _observe(f: Callable[[Any], Any], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of `f`, called once with all points if it takes them, else point by point."""
    try:
        values = np.asarray(f(points.copy()), dtype=np.float64)
        batched = values.ndim in (1, 2) and len(values) == len(points)
    except Exception:  # `f` is the caller's: any failure on an array only says that it wants single points.
        batched = False
    if not batched:
        values = np.array([np.asarray(f(point.copy()), dtype=np.float64).ravel() for point in points])
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values.reshape(len(points), -1)).all(axis=1))[0])
        raise InputError(f"`f` is not finite at x = {point_text(points[i])}", point=points[i])
    return values


# Max-min expressions: the convex pieces on which one component is the value.


_Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Where a component is the value: integer rows ``(a, b)``, the number of the component, and a point inside."""

    rows: _Rows
    law: int
    inner: NDArray[np.object_]


def parts_of_maxmin(components: Any, rows: Sequence[Sequence[int]], fewer: Callable[[Parts], Parts]) -> Parts:
    """Pieces of ``max_B min_{m in B} f_m`` over all of R^n, in rationals.

    The rows with one member are one maximum: the piece of a member is where no other member is above it. Any other row
    `B` rises above the law `c` of a piece exactly on the convex set where all its members do. That set is cut out of
    the piece and divided among the members; the rest keeps its law. Such cuts go through pieces that the function does
    not need to be in two: `fewer` merges them, whenever they have become twice as many.
    """
    laws, members = _checked(components, rows)
    numbers = {tuple(law): c for c, law in reversed(list(enumerate(laws.tolist())))}
    # Components with one law are one: each of them would have the same piece.
    members = [list(dict.fromkeys(numbers[tuple(laws[c])] for c in row)) for row in members]
    probe = Probe(0.0)
    singles = list(dict.fromkeys(row[0] for row in members if len(row) == 1))
    others = [row for row in members if len(row) > 1]
    first = _shares(laws, singles[::-1], -1) if singles else _shares(laws, others.pop(0))
    pieces, enough = _with_interior(probe, first, laws.shape[1] - 2), 0
    for row in others:
        shares = _shares(laws, row)
        pieces = [new for piece in pieces for new in _raise(probe, laws, piece, row, shares)]
        if len(pieces) > 2 * enough:
            made = fewer(_parts(laws, pieces))
            own = [numbers[tuple(law)] for law in made.laws.integer()[:, 0].tolist()]
            stack, start = made.polyhedra.integer().tolist(), made.polyhedra.start
            # An inner point of a part is one of the whole, but which parts were merged is not said.
            cut = [tuple(map(tuple, stack[start[i] : start[i + 1]])) for i in range(len(own))]
            pieces = _with_interior(probe, list(zip(cut, own, strict=True)), laws.shape[1] - 2)
            enough = len(pieces)
    return _parts(laws, pieces)


def _parts(laws: NDArray[np.object_], pieces: Sequence[_Piece]) -> Parts:
    """The function of these pieces, each by as few rows as there can be."""
    dim = laws.shape[1] - 2
    inner = np.array([piece.inner for piece in pieces], dtype=object)
    stack = irredundant(polyhedra_from_integers([piece.rows for piece in pieces], dim), inner)
    law = Laws.from_integer(laws[[piece.law for piece in pieces]][:, None])
    everywhere = Polyhedron(np.zeros((0, dim)), np.zeros(0))
    return Parts(stack, law, everywhere, 0.0, known=Known(inner, complete=True))


def polyhedra_from_integers(pieces: Sequence[Any], dim: int) -> Polyhedra:
    """Polyhedra from lists, or arrays, of integer rows ``(a, b)``, with float views scaled to largest slope 1."""
    start = np.cumsum([0] + [len(rows) for rows in pieces]).astype(np.int64)
    flat = np.array([row for rows in pieces for row in rows], dtype=object)
    return stacked(primitive(flat.reshape(int(start[-1]), dim + 1)), start)


def _checked(components: Any, rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.object_], list[list[int]]]:
    view, exact = as_reals(components, "components")
    if view.ndim != 2 or view.shape[0] == 0 or view.shape[1] < 2:
        raise InputError(f"`components` must be (k, n + 1), offset last, not {view.shape}")
    members = [list(dict.fromkeys(int(m) for m in row)) for row in rows]
    if not members:
        raise InputError("`rows` is empty: a max-min expression needs at least one row")
    for i, row in enumerate(members):
        if not row or min(row) < 0 or max(row) >= len(view):
            raise InputError(f"row {i} must name components 0..{len(view) - 1}, not {list(rows[i])}", row=i)
    return _homogeneous(view, exact), members


def _below(laws: NDArray[np.object_], a: int, others: Sequence[int], sense: int = 1) -> _Rows:
    """The half-spaces ``f_a <= f_b`` for the others `b` as integer rows; with `sense` -1, ``f_b <= f_a``."""
    f, g = laws[a], laws[[b for b in others if b != a]]
    slope = f[:-2] * g[:, -1:] - g[:, :-2] * f[-1]
    rows = np.column_stack([slope, g[:, -2] * f[-1] - f[-2] * g[:, -1]])
    return tuple(map(tuple, primitive(sense * rows).tolist()))


def _shares(laws: NDArray[np.object_], row: Sequence[int], sense: int = 1) -> list[tuple[_Rows, int]]:
    """Where each member of a row is its least one, with `sense` -1 its largest one."""
    return [(_below(laws, m, row, sense), m) for m in row]


def _raise(
    probe: Probe, laws: NDArray[np.object_], piece: _Piece, row: Sequence[int], shares: Sequence[tuple[_Rows, int]]
) -> list[_Piece]:
    """One piece after the maximum with one more row."""
    region, c = piece.rows, piece.law
    dim = laws.shape[1] - 2
    above = _below(laws, c, row)
    if c in row or not _with_interior(probe, [(region + above, c)], dim):  # A row with c in it never rises above c.
        return [piece]
    parts = [(region + above + share, m) for share, m in shares]
    for k, half_space in enumerate(above):
        outside = tuple(-v for v in half_space)
        parts.append((region + above[:k] + (outside,), c))
    return _with_interior(probe, parts, dim)


def _with_interior(probe: Probe, pieces: Sequence[tuple[_Rows, int]], dim: int) -> list[_Piece]:
    """The pieces that have an interior, without rows ``0 <= b`` that say nothing."""
    kept = []
    for rows, c in pieces:
        proper = tuple(row for row in rows if any(row[:-1]))
        if all(row[-1] >= 0 for row in rows if not any(row[:-1])):
            inner = probe.interior(polyhedra_from_integers([proper], dim)[0])
            if inner is not None:
                kept.append(_Piece(proper, c, inner))
    return kept


# Triangulated tables: laws and half-spaces of simplices, exactly and all at once.


def parts_of_simplices(points: Any, simplices: Any, values: Any) -> Parts:
    """Pieces and laws of the interpolant that is `values[v]` at `points[v]` and affine on each simplex.

    With corners as rows ``(x, 1)`` of a matrix `M`, the barycentric coordinates of `x` are ``(x, 1) M^-1``:
    their signs are the half-spaces, and the law is their mean with the values as weights.
    """
    view, exact = as_reals(points, "points")
    if view.ndim != 2 or 0 in view.shape:
        raise InputError(f"`points` must be (V, n), not {view.shape}")
    heights, heights_exact = _values(values, len(view))
    corners_of = _indices(simplices, *view.shape)
    corners = _homogeneous(view, exact)
    det, adj = adjugate(corners[corners_of])
    flat = np.flatnonzero(det == 0)
    if len(flat):
        warnings.warn(
            f"{len(flat)} of {len(det)} simplices have no interior and were dropped, the first is {flat[0]}",
            CpwlWarning,
            stacklevel=4,
        )
        keep = np.flatnonzero(det != 0)
        corners_of, det, adj = corners_of[keep], det[keep], adj[keep]
        if len(keep) == 0:
            raise InputError("no simplex has an interior", piece=int(flat[0]))
    laws = _laws(corners, corners_of, det, adj, heights, heights_exact)
    mesh = Mesh(view, corners, corners_of, heights, heights_exact)
    return Parts(_half_spaces(det, adj), laws, None, 0.0, mesh, floats=has_floats(points) or has_floats(values))


def parts_of_grid(axes: Sequence[Any], values: Any) -> Parts:
    """A table on a rectangular grid, each box cut into ``n!`` simplices along its diagonal (Kuhn)."""
    n = len(axes)
    if n == 0:
        raise InputError("`axes` is empty: give one list of coordinates for each input")
    lines = [as_reals(axis, f"axes[{i}]") for i, axis in enumerate(axes)]
    for i, (line, _) in enumerate(lines):
        if line.ndim != 1 or len(line) < 2 or not ((np.diff(line) > 0).all() or (np.diff(line) < 0).all()):
            raise InputError(f"`axes[{i}]` must hold at least two numbers that increase, or decrease", axis=i)
    shape = tuple(len(line) for line, _ in lines)
    exact_axes = [fraction_array(line if exact is None else exact) for line, exact in lines]
    rounded = any(exact is not None for _, exact in lines)
    grid = np.meshgrid(*(exact_axes if rounded else [line for line, _ in lines]), indexing="ij")
    view, whole = as_reals(values, "values")
    table = view if whole is None else whole
    if table.shape[:n] != shape:
        raise InputError(f"`values` must start with the shape {shape} of the grid, not {table.shape}")
    # A table whose axis goes down is the table whose axis goes up, read from the other end.
    upward = tuple(slice(None, None, 1 if line[0] < line[1] else -1) for line, _ in lines)
    points = np.stack([g[upward].ravel() for g in grid], axis=1)
    heights = table[upward].reshape(len(points), *table.shape[n:])
    parts = parts_of_simplices(points, kuhn_simplices(shape), heights)
    return replace(parts, floats=has_floats(list(axes)) or has_floats(values))


def kuhn_simplices(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Corner numbers (row-major) of the Kuhn triangulation of a grid with that many points an axis.

    >>> kuhn_simplices((2, 2))
    array([[0, 2, 3],
           [0, 1, 3]])
    """
    count, n = math.prod(length - 1 for length in shape) * math.factorial(len(shape)), len(shape)
    check_memory(8.0 * (n + 1) ** 2 * count, f"a grid of {count:,} simplices", "Take fewer points or fewer inputs.")
    stride = np.array([int(np.prod(shape[i + 1 :])) for i in range(len(shape))], dtype=np.int64)
    lowest = np.zeros(1, dtype=np.int64)
    for i, length in enumerate(shape):
        lowest = (lowest[:, None] + stride[i] * np.arange(length - 1)).ravel()
    paths = np.array(
        [np.cumsum([0, *(stride[i] for i in order)]) for order in itertools.permutations(range(len(shape)))]
    )
    simplices: NDArray[np.int64] = (lowest[:, None, None] + paths).reshape(-1, len(shape) + 1)
    return simplices


def _values(values: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.object_] | None]:
    view, exact = as_reals(values, "values")
    if view.ndim == 1:
        view, exact = view[:, None], None if exact is None else exact[:, None]
    if view.ndim != 2 or len(view) != count:
        raise InputError(f"`values` must be ({count},) or ({count}, m) for {count} points, not {np.shape(values)}")
    return view, exact


def _indices(simplices: Any, count: int, dim: int) -> NDArray[np.int64]:
    try:
        corners_of = np.asarray(simplices)
    except ValueError:
        raise InputError(f"`simplices` is ragged: each must have {dim + 1} point numbers") from None
    if corners_of.ndim != 2 or corners_of.shape[1] != dim + 1 or corners_of.dtype.kind not in "iu":
        raise InputError(
            f"`simplices` must be integers (q, {dim + 1}) in dimension {dim}; "
            f"they are {corners_of.dtype} {corners_of.shape}"
        )
    if len(corners_of) == 0:
        raise InputError("there are no pieces: `simplices` is empty")
    wrong = np.flatnonzero(((corners_of < 0) | (corners_of >= count)).any(axis=1))
    if len(wrong):
        i = int(wrong[0])
        raise InputError(f"simplex {i} names a point outside 0..{count - 1}: {corners_of[i].tolist()}", piece=i)
    return corners_of.astype(np.int64)


def _half_spaces(det: NDArray[np.object_], adj: NDArray[np.object_]) -> Polyhedra:
    q, size = adj.shape[:2]
    inward = np.swapaxes(adj, 1, 2) * np.asarray(sign(det), dtype=object)[:, None, None]
    rows = primitive(np.concatenate([-inward[..., :-1], inward[..., -1:]], axis=-1)).reshape(-1, size)
    return stacked(rows, np.arange(0, q * size + 1, size, dtype=np.int64))


def _laws(
    corners: NDArray[np.object_],
    corners_of: NDArray[np.int64],
    det: NDArray[np.object_],
    adj: NDArray[np.object_],
    heights: NDArray[np.float64],
    heights_exact: NDArray[np.object_] | None,
) -> Laws:
    outputs = []
    for j in range(heights.shape[1]):
        exact = None if heights_exact is None else heights_exact[:, j : j + 1]
        top, bottom = _homogeneous(heights[:, j : j + 1], exact)[corners_of].transpose(2, 0, 1)
        common = np.lcm.reduce(bottom, axis=1)
        weight = top * (common[:, None] // bottom) * corners[corners_of][..., -1]
        outputs.append(quotient((adj * weight[:, None, :]).sum(axis=2), common * det))
    return Laws.from_integer(np.stack(outputs, axis=1))


# Functions of one variable given by breakpoints.


def segments(at: NDArray[np.object_], height: NDArray[np.object_]) -> NDArray[np.object_]:
    """The laws of segments of rationals: ``(numerator, denominator)`` of `x` and of `y` at both ends, (2, ..., 2)."""
    (x0, d0), (x1, d1) = (np.moveaxis(end, -1, 0) for end in at)
    (y0, e0), (y1, e1) = (np.moveaxis(end, -1, 0) for end in height)
    run = x1 * d0 - x0 * d1
    rise = (y1 * e0 - y0 * e1) * d0 * d1  # slope = rise / (run e0 e1)
    offset = y0 * run * e1 * d0 - rise * x0  # over run e0 e1 d0
    return quotient(np.stack([rise * d0, offset], axis=-1), run * e0 * e1 * d0)


def parts_of_breakpoints(x: Any, y: Any, left_slope: Any, right_slope: Any) -> Parts:
    """Pieces of the function through ``(x[i], y[i])``, straight between, with the given outer slopes."""
    place, place_exact = as_reals(x, "x")
    value, value_exact = as_reals(y, "y")
    if place.ndim != 1 or len(place) == 0 or value.ndim not in (1, 2) or len(value) != len(place):
        raise InputError(f"`x` must be (N,) with N >= 1 and `y` (N,) or (N, m), not {place.shape} and {value.shape}")
    if value.ndim == 1:
        value, value_exact = value[:, None], None if value_exact is None else value_exact[:, None]
    left, right = _slope(left_slope, "left_slope", value), _slope(right_slope, "right_slope", value)
    if len(place) == 1 and (left is None or right is None):
        raise InputError("a single breakpoint needs both `left_slope` and `right_slope`")
    if len(place) > 1 and place[0] > place[-1]:  # from right to left: the same points, read from the other end
        place, value = place[::-1], value[::-1]
        place_exact = None if place_exact is None else place_exact[::-1]
        value_exact = None if value_exact is None else value_exact[::-1]
    at = _homogeneous(place[:, None], None if place_exact is None else place_exact[:, None])
    _check_increasing(place, at if place_exact is not None else None)
    height = _homogeneous(value[..., None], None if value_exact is None else value_exact[..., None])
    inner = segments(np.stack([at[:-1, None], at[1:, None]]), np.stack([height[:-1], height[1:]]))
    # Each outer piece starts at its breakpoint with the slope given; without one, the outer segment goes on.
    exact_value = value if value_exact is None else value_exact
    laws = [inner]
    if left is not None:
        laws.insert(0, _through(at[0], fraction_array(exact_value[0]), left))
    if right is not None:
        laws.append(_through(at[-1], fraction_array(exact_value[-1]), right))
    knots = slice(0 if left is not None else 1, len(at) if right is not None else len(at) - 1)
    every = Laws.from_integer(np.concatenate(laws))
    floats = any(map(has_floats, (x, y, left_slope, right_slope)))
    everywhere = Polyhedron(np.zeros((0, 1)), np.zeros(0))
    return Parts(_intervals(at[knots], place[knots]), every, everywhere, 0.0, floats=floats)


def _check_increasing(place: NDArray[np.float64], at: NDArray[np.object_] | None) -> None:
    """Floats are compared as they are, and rationals `at` by cross products."""
    wrong = place[1:] <= place[:-1] if at is None else at[1:, 0] * at[:-1, 1] <= at[:-1, 0] * at[1:, 1]
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        pair = f"{place[i]} is followed by {place[i + 1]}"
        raise InputError(f"`x` must increase, or decrease, from one to the next: {pair}; sort the points", where=i + 1)


def _slope(slope: Any, name: str, value: NDArray[np.float64]) -> NDArray[np.object_] | None:
    if slope is None:
        return None
    array = fraction_array(slope)
    if array.shape not in ((), value.shape[1:]):
        raise InputError(f"`{name}` must be a number, or one for each of {value.shape[1]} outputs")
    return np.broadcast_to(array, value.shape[1:])


def _homogeneous(view: NDArray[np.float64], exact: NDArray[np.object_] | None) -> NDArray[np.object_]:
    """Integers ``(x, 1) * denominator`` for rows of numbers, which are `exact` where the floats are rounded."""
    if exact is not None:
        return homogeneous(exact)
    wide = np.concatenate([view, np.ones((*view.shape[:-1], 1))], axis=-1)
    return integer_rows(wide.reshape(-1, wide.shape[-1])).reshape(wide.shape)


def _through(at: NDArray[np.object_], height: NDArray[np.object_], slope: Any) -> NDArray[np.object_]:
    x = Fraction(at[0], at[1])
    return homogeneous(np.array([[s, h - s * x] for s, h in zip(slope, height, strict=True)], dtype=object))[None]


def _intervals(knots: NDArray[np.object_], view: NDArray[np.float64]) -> Polyhedra:
    """The closed intervals that the knots cut the line into: ``d x <= x_i`` and ``-d x <= -x_i``."""
    upper = knots[:, ::-1]
    both = np.stack([upper, -upper], axis=1).reshape(-1, 2)
    start = np.concatenate([[0], np.arange(1, 2 * len(knots), 2), [2 * len(knots)]]).astype(np.int64)
    if len(knots) == 0:
        start = np.zeros(2, dtype=np.int64)
    left = np.tile([1.0, -1.0], len(knots))[:, None]
    return Polyhedra(left, np.repeat(view, 2) * left[:, 0] + 0.0, start, both)  # no -0.0
