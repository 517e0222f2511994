"""A function drawn with matplotlib: a curve, a map of pieces, or a surface; and what the doctor found, on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.doors import check_choice, check_count, method_of, needed
from cpwl.errors import InputError, counted
from cpwl.function.answers import Report
from cpwl.function.cpwl import CPWL
from cpwl.geometry.polyhedra import box_polyhedron

# The box in which a function is drawn: all of a bounded domain, otherwise where it bends and some room around.


_ROOM = 0.3  # of the width, on each side, where the domain goes on
_FEW = 50  # corners up to which none is far off for a picture


def window_of(p: CPWL, box: tuple[Any, Any] | None = None) -> NDArray[np.float64]:
    """Rows ``(low, high)``, one an input; `box`, where given, is taken as it is.

    >>> from cpwl.function import CPWL
    >>> window_of(CPWL.from_simplices([[0, 0], [4, 0], [0, 2]], [[0, 1, 2]], [1, 2, 3])).tolist()
    [[0.0, 4.0], [0.0, 2.0]]
    >>> window_of(CPWL.from_breakpoints([0, 4], [0, 1], left_slope=0)).tolist()
    [[-1.0, 1.0]]
    """
    if box is not None:
        return box_rows(box, p.dim)
    if p.mesh is not None:
        corners = p.mesh.points[np.unique(p.mesh.simplices)]
        return _wide(corners.min(axis=0), corners.max(axis=0))
    found = p.polyhedra.extents()
    points = found.points[np.isfinite(found.points).all(axis=1)]
    if len(points) == 0:
        return np.tile([-1.0, 1.0], (p.dim, 1))
    if len(found.rays) == 0:
        return _wide(points.min(axis=0), points.max(axis=0))
    if len(points) > _FEW:  # nearly parallel facets meet far away; nobody wants to see that
        low, high = np.quantile(points, [0.02, 0.98], axis=0)
    else:
        low, high = points.min(axis=0), points.max(axis=0)
    # Corners of float data are where rounding has put them; those of exact data may have units far apart.
    noise = 1e3 * p.tol * float(np.abs(points).max())
    low, high = np.where(_flat(low, high, noise), (low + high) / 2, [low, high])
    span = float((high - low).max())
    if not span:
        return _wide(low, high)
    # Where all corners have one coordinate in common, as much is seen of it as of the widest.
    room = np.where(high > low, _ROOM * (high - low), (0.5 + _ROOM) * span)
    return _wide(low - room, high + room)


def box_rows(box: tuple[Any, Any], dim: int) -> NDArray[np.float64]:
    """A box as rows ``(low, high)``."""
    bound = box_polyhedron(box, dim).b
    return np.stack([-bound[dim:], bound[:dim]], axis=1)


def _flat(low: NDArray[np.float64], high: NDArray[np.float64], noise: float = 0.0) -> NDArray[np.bool_]:
    """Coordinates in which all corners are the same, but for rounding."""
    flat: NDArray[np.bool_] = high - low <= 1e-9 * np.maximum(np.abs(low), np.abs(high)) + noise
    return flat


def _wide(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The box, with some width in every direction."""
    room = np.where(_flat(low, high), np.maximum(1.0, np.abs(low) * 0.5), 0.0)
    box = np.stack([low - room, high + room], axis=1)
    # Corners are floats: ends that are off a short decimal by rounding are that decimal.
    return np.array([[float(f"{end:.12g}") for end in row] for row in box])


# What is seen of the pieces in a rectangle: convex polygons, clipped and not sampled.


Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """What is seen of a piece in a square: its corners ``(v, 2)`` in order, and its law ``a x + b y + c``."""

    corners: Array
    law: Array

    @property
    def values(self) -> Array:
        """The function at the corners."""
        return np.asarray(self.corners @ self.law[:2] + self.law[2])


def clip(corners: Array, normal: Array, bound: float) -> Array:
    """The part of a convex polygon where ``normal . x <= bound`` (Sutherland and Hodgman, one half-plane).

    >>> clip(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), np.array([1.0, 0.0]), 0.5)
    array([[0. , 0. ],
           [0.5, 0. ],
           [0.5, 1. ],
           [0. , 1. ]])
    """
    excess = corners @ normal - bound
    kept: list[Array] = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if excess[i] <= 0:
            kept.append(corners[i])
        if excess[i] * excess[j] < 0:
            kept.append(corners[i] + (corners[j] - corners[i]) * excess[i] / (excess[i] - excess[j]))
    return np.array(kept).reshape(-1, 2)


def polygons(
    p: CPWL, low: ArrayLike, high: ArrayLike, *, through: Array | None = None, output: int = 0
) -> list[Polygon]:
    """The pieces of one output between `low` and `high`, numbers for both coordinates or one for each.

    With more than two inputs, on the plane of the first two that goes through a point (default: 0).

    >>> from cpwl.function import CPWL
    >>> absolute = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[-1, 0], [1, 0]], [0, 0])
    >>> [len(polygon.corners) for polygon in polygons(absolute, -1, 1)]
    [4, 4]
    """
    (left, bottom), (right, top) = (np.broadcast_to(np.asarray(v, dtype=np.float64), 2) for v in (low, high))
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    others = np.zeros(p.dim - 2) if through is None else through[2:]
    found = []
    # A loop over pieces: pictures are for people, who tell apart a few hundred at most.
    for piece, slope, offset in zip(p.polyhedra, p.laws.gradient[:, output], p.laws.offset[:, output], strict=True):
        corners = frame
        for normal, bound in zip(piece.A[:, :2], piece.b - piece.A[:, 2:] @ others, strict=True):
            corners = clip(corners, normal, float(bound))
        if len(corners) > 2:
            found.append(Polygon(corners, np.array([*slope[:2], offset + slope[2:] @ others])))
    return found


# Functions as SVG text: a curve through its breakpoints, or polygons coloured along the gradient of their law.
#
# Nothing is sampled.


COLOURS = ("#440154", "#472c7a", "#3b518b", "#2c718e", "#21908d", "#27ad81", "#5cc863", "#aadc32", "#fde725")
"""From low to high: viridis, even in lightness and safe for colour-blind readers."""
_ABOVE = 0.08  # of the range of a curve, free above and below it
_MOST = 2000  # pieces that are drawn; more of them would be a grey area and a large file


@method_of(CPWL, "_repr_svg_")
def picture(p: CPWL) -> str | None:
    """The function in its own window, for notebooks: a curve, or a map of pieces; None of too many pieces to be seen.

    With more than two inputs, the plane of the first two through the middle of the window.
    """
    if p.num_pieces > _MOST:
        return None
    window = window_of(p)
    title = _title(p, 0, window.mean(axis=1))
    if p.dim == 1:
        y = p(_ends(p, *window[0])[:, None])[:, 0]
        room = float(np.nanmax(y) - np.nanmin(y)) * _ABOVE or 1.0
        ends, names = (np.nanmin(y) - room, np.nanmax(y) + room), (_names(p)[0], _value(p, 0))
        return _framed(curve(p, *window[0]), window[0], ends, names, title)
    low, high = window[:2].T
    through = window.mean(axis=1)
    name = f"map-{p.num_pieces}-{p.num_components}"
    shapes = polygons(p, low, high, through=through)
    values = np.concatenate([shape.values for shape in shapes]) if shapes else np.zeros(1)
    values[np.abs(values) <= 1e-12 * np.ptp(values)] = 0.0  # what rounding left of 0
    drawn = map_of_pieces(p, low, high, name=name, through=through)
    return _framed(drawn, window[0], window[1], _names(p), title, bar=(name, values.min(), values.max()))


def _names(p: CPWL) -> tuple[str, str]:
    """What the two axes of a map are called."""
    if p.labels:
        return p.labels[0], p.labels[1]
    return ("x", "y") if p.dim < 4 else ("x1", "x2")


def _value(p: CPWL, output: int) -> str:
    """What the values of an output are called."""
    return p.labels[p.dim + output] if p.labels else "value"


def _title(p: CPWL, output: int, through: Array) -> str:
    """Which output is drawn, where there are several, and where the other inputs are; "" if there is nothing to say."""
    said = [f"output {output} of 0 to {p.outputs - 1}"] if p.outputs > 1 else []
    if p.dim > 2:
        names = p.names[2 : p.dim] or ("",) * (p.dim - 2)
        values = [f"{name} = {float(v):.4g}".removeprefix(" = ") for name, v in zip(names, through[2:], strict=True)]
        others = ", ".join(values[:4]) + (", ..." if p.dim > 6 else "")
        said.append(f"other inputs at {others}")
    return "; ".join(said)


def _framed(
    drawn: str,
    x: Sequence[float] | Array,
    y: Sequence[float] | Array,
    names: tuple[str, str],
    title: str,
    *,
    size: int = 320,
    bar: tuple[str, float, float] | None = None,
) -> str:
    """A picture with the ends of both axes, their names, a title, and the colours of the least and largest value."""
    left, top, below = 52, 22 if title else 8, 34
    right = 70 if bar else 12
    text = 'font-family="sans-serif" font-size="11" fill="currentColor"'
    number = "{:.4g}".format
    words = [
        (left, top + size + 14, "start", number(x[0])),
        (left + size, top + size + 14, "end", number(x[1])),
        (left + size / 2, top + size + 28, "middle", names[0]),
        (left - 5, top + size, "end", number(y[0])),
        (left - 5, top + 9, "end", number(y[1])),
        (left - 5, top + size / 2, "end", names[1]),
        (left, 14, "start", title),
    ]
    shades = ""
    if bar:
        name, low, high = bar
        words += [
            (left + size + 30, top + size, "start", number(low)),
            (left + size + 30, top + 9, "start", number(high)),
        ]
        turned = f'<linearGradient id="{name}-bar" href="#{name}" gradientTransform="rotate(-90 .5 .5)"/>'
        where = f'x="{left + size + 12}" y="{top}" width="14" height="{size}"'
        shades = f'<defs>{turned}</defs><rect {where} fill="url(#{name}-bar)"/>'
    said = "".join(f'<text x="{u:g}" y="{v:g}" text-anchor="{a}">{escape(w)}</text>' for u, v, a, w in words if w)
    wide, tall = left + size + right, top + size + below
    inner = drawn.replace("<svg ", f'<svg x="{left}" y="{top}" ', 1)
    frame = f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888" stroke-width=".8"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" '
        f'role="img" aria-label="a function of {names[0]}">{inner}{frame}{shades}<g {text}>{said}</g></svg>'
    )


def map_of_pieces(
    p: CPWL,
    low: ArrayLike,
    high: ArrayLike,
    *,
    name: str,
    size: int = 320,
    through: Array | None = None,
) -> str:
    """A function of two variables seen from above, as SVG; `name` makes ids unique.

    With more inputs one sees the plane of the first two through a point (default: 0).
    """
    shapes = polygons(p, low, high, through=through)
    if not shapes:
        return f'<svg viewBox="0 0 {size} {size}" width="{size}" height="{size}" role="img" aria-label="nothing"/>'
    low, high = (np.broadcast_to(np.asarray(v, dtype=np.float64), 2) for v in (low, high))
    values = np.concatenate([shape.values for shape in shapes])
    bottom, top = float(values.min()), float(values.max())
    scale = size / (high - low)
    stops = "".join(f'<stop offset="{i / (len(COLOURS) - 1):g}" stop-color="{c}"/>' for i, c in enumerate(COLOURS))
    defs = [f'<linearGradient id="{name}">{stops}</linearGradient>']
    drawn = []
    for i, shape in enumerate(shapes):
        at = np.column_stack([shape.corners[:, 0] - low[0], high[1] - shape.corners[:, 1]]) * scale
        middle, level = at.mean(axis=0), float(shape.values.mean())
        slope = shape.law[:2] * [1, -1] / scale
        steep = float(slope @ slope)
        if steep * size * size <= (1e-6 * (top - bottom)) ** 2:
            fill = colour((level - bottom) / (top - bottom) if top > bottom else 0.5)
        else:
            fill = f"url(#{name}-{i})"
            start, end = (middle + slope * ((v - level) / steep) for v in (bottom, top))
            ends = f'x1="{start[0]:.2f}" y1="{start[1]:.2f}" x2="{end[0]:.2f}" y2="{end[1]:.2f}"'
            unit = 'gradientUnits="userSpaceOnUse"'
            defs.append(f'<linearGradient id="{name}-{i}" href="#{name}" {unit} {ends}/>')
        drawn.append(f'<polygon points="{_points(at)}" fill="{fill}"/>')
    box = f'viewBox="0 0 {size} {size}" width="{size}" height="{size}"'
    edge = 'stroke="#fff" stroke-opacity=".75" stroke-width="1" stroke-linejoin="round"'
    return (
        f'<svg {box} role="img" aria-label="pieces from above"><defs>{"".join(defs)}</defs>'
        f"<g {edge}>{''.join(drawn)}</g></svg>"
    )


def curve(p: CPWL, low: float, high: float, *, width: int = 320, height: int = 320) -> str:
    """The graph of a function of one variable, with a dot at each breakpoint, as SVG."""
    x = _ends(p, low, high)
    y = p(x[:, None])[:, 0]
    x, y = x[~np.isnan(y)], y[~np.isnan(y)]
    bottom, top = float(y.min()), float(y.max())
    room = (top - bottom) * _ABOVE or 1.0
    bottom, top = bottom - room, top + room
    at = np.column_stack([(x - low) / (high - low) * width, (top - y) / (top - bottom) * height])
    zero = top / (top - bottom) * height
    # Styles of a page win over these attributes, which serve where there is none.
    axis = f'<path class="axis" stroke="#999" d="M0 {zero:.1f}H{width}"/>' if 0 < zero < height else ""
    dots = "".join(f'<circle cx="{u:.1f}" cy="{v:.1f}" r="2.6" fill="#0b61b8"/>' for u, v in at if 0 < u < width)
    line = 'fill="none" stroke="#5f93c4" stroke-width="2"'
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" class="curve" role="img" '
        f'aria-label="graph">{axis}<polyline {line} points="{_points(at)}"/>{dots}</svg>'
    )


def _ends(p: CPWL, low: float, high: float) -> Array:
    """`low`, the ends of pieces in between, and `high`: a function of one input is affine from one to the next."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = p.polyhedra.b / p.polyhedra.A[:, 0]
    return np.concatenate([[low], np.unique(ends[(ends > low) & (ends < high)]), [high]])


def colour(share: float) -> str:
    """The colour at `share` of the way from low to high.

    >>> colour(0.0), colour(1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    i = min(int(place), len(COLOURS) - 2)
    first, second = (bytes.fromhex(COLOURS[i + k][1:]) for k in (0, 1))
    mixed = (round(a + (b - a) * (place - i)) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def _points(at: Array | Sequence[Array]) -> str:
    return " ".join(f"{u:.2f},{v:.2f}" for u, v in at)


_INK, _BEND = "#0b61b8", "#e8710a"
_PIXELS, _TRIANGLES = 700, 2000  # of a map and of a surface, at least


def axes_for(ax: Any, *, solid: bool = False) -> Any:
    """The axes to draw on: those that were given, or new ones, in three dimensions if asked for."""
    pyplot = needed("matplotlib.pyplot", "`plot`")
    if ax is None:
        return pyplot.figure(figsize=(6, 5)).add_subplot(projection="3d" if solid else None)
    if solid and getattr(ax, "name", "") != "3d":
        raise InputError('a surface needs axes in three dimensions: `fig.add_subplot(projection="3d")`')
    return ax


@method_of(CPWL, "plot")
def plot(p: CPWL, *, kind: str = "auto", ax: Any = None, output: int = 0, box: Any = None, at: Any = None) -> Any:
    check_choice(kind, ("auto", "curve", "map", "surface"), "kind")
    check_count(output, "output", least=0, most=p.outputs - 1)
    if (kind == "curve" and p.dim > 1) or (kind in ("map", "surface") and p.dim == 1):
        raise InputError(f'a function of {counted(p.dim, "input")} cannot be drawn as a {kind}; leave `kind` at "auto"')
    window = window_of(p, box)
    through = window.mean(axis=1) if at is None else _point(at, p.dim)
    drawn = axes_for(ax, solid=kind == "surface")
    if p.dim == 1:
        _curve(p, drawn, output, window)
    else:
        shapes = polygons(p, *window[:2].T, through=through, output=output)
        if kind == "surface":
            _surface(drawn, shapes, _plain(_value(p, output)))
        else:
            _map(drawn, shapes, window[:2], _plain(_value(p, output)))
        x, y = map(_plain, _names(p))
        drawn.set(xlim=window[0], ylim=window[1], xlabel=x, ylabel=y)
    if title := _title(p, output, through):
        drawn.set_title(_plain(title), fontsize="medium")
    return drawn


def _point(at: Any, dim: int) -> Array:
    point = np.asarray(at, dtype=np.float64)
    if point.shape != (dim,):
        raise InputError(f"`at` must be a point of {dim} coordinates, not an array of shape {point.shape}")
    return point


def _curve(p: CPWL, ax: Any, output: int, window: Array) -> None:
    low, high = window[0]
    x = _ends(p, low, high)
    y = p(x[:, None])[:, output]
    ax.plot(x, y, color=_INK, lw=1.8)
    inner = (x > low) & (x < high)
    ax.plot(x[inner], y[inner], "o", color=_BEND, ms=4)
    ax.set(xlim=(low, high), xlabel=_plain(_names(p)[0]), ylabel=_plain(_value(p, output)))


def _plain(text: str) -> str:
    """The text for matplotlib, which reads formulas between dollar signs."""
    return text.replace("$", r"\$")


def values_on_grid(shapes: list[Polygon], window: Array, size: int) -> Array:
    """The function at the middles of `size` x `size` pixels of the window, rows from below; nan outside the polygons.

    >>> square = Polygon(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), np.array([4.0, 0, 1]))
    >>> values_on_grid([square], np.array([[0.0, 2], [0, 1]]), 4)[0].tolist()
    [2.0, 4.0, nan, nan]
    """
    (left, right), (bottom, top) = window
    x = left + (right - left) * (np.arange(size) + 0.5) / size
    y = bottom + (top - bottom) * (np.arange(size) + 0.5) / size
    found = np.full((size, size), np.nan)
    # A loop over polygons: each touches its own few pixels only.
    for shape in shapes:
        (a, c), (b, d) = shape.corners.min(axis=0), shape.corners.max(axis=0)
        columns, rows = slice(*np.searchsorted(x, [a, b])), slice(*np.searchsorted(y, [c, d]))
        u, v = x[None, columns], y[rows, None]
        inside = np.ones((v.size, u.size), dtype=bool)
        turned = np.roll(shape.corners, -1, axis=0)
        edges = turned - shape.corners
        area = float(np.sum(shape.corners[:, 0] * turned[:, 1] - turned[:, 0] * shape.corners[:, 1]))
        for (p, q), (e, f) in zip(shape.corners, edges, strict=True):
            inside &= (e * (v - q) - f * (u - p)) * np.sign(area) >= -1e-9 * abs(area)
        values = shape.law[0] * u + shape.law[1] * v + shape.law[2]
        found[rows, columns] = np.where(inside, values, found[rows, columns])
    return found


def _map(ax: Any, shapes: list[Polygon], window: Array, label: str) -> None:
    """Each pixel has the colour of the value there. (matplotlib's own shading mixes the colours of corners instead.)"""
    from matplotlib.collections import PolyCollection

    if shapes:
        (left, right), (bottom, top) = window
        values = values_on_grid(shapes, window, _PIXELS)
        ends = np.concatenate([shape.values for shape in shapes])
        drawn = ax.imshow(
            values,
            origin="lower",
            extent=(left, right, bottom, top),
            aspect="auto",
            interpolation="nearest",
            cmap="viridis",
            vmin=ends.min(),
            vmax=ends.max(),
        )
        ax.figure.colorbar(drawn, ax=ax, label=label)
    edges = PolyCollection([shape.corners for shape in shapes], facecolors="none", edgecolors="white", linewidths=0.6)
    ax.add_collection(edges)


def _triangles(shapes: list[Polygon]) -> Array:
    """Polygons as fans of triangles ``(t, 3, 3)`` in space, each cut until colours of triangles follow the values."""
    fans = [
        np.column_stack([shape.corners[[0, k, k + 1]], shape.values[[0, k, k + 1]]])
        for shape in shapes
        for k in range(1, len(shape.corners) - 1)
    ]
    found = np.array(fans).reshape(-1, 3, 3)
    while 0 < len(found) < _TRIANGLES:
        a, b, c = found[:, 0], found[:, 1], found[:, 2]
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        found = np.concatenate(
            [np.stack(part, axis=1) for part in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return found


def _surface(ax: Any, shapes: list[Polygon], label: str) -> None:
    """Triangles and pieces of edges in one collection, which matplotlib sorts by depth: hidden edges are covered."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    found = _triangles(shapes)
    if len(found):
        rims = _rims(shapes, 2 ** round(math.log(len(found) / sum(len(s.corners) - 2 for s in shapes), 4)))
        heights = np.concatenate([found[:, :, 2].mean(axis=1), rims[:, :, 2].mean(axis=1)])
        edges = ["none"] * len(found) + ["white"] * len(rims)
        faces = Poly3DCollection(
            np.concatenate([found, rims]), cmap="viridis", edgecolors=edges, linewidths=0.7, antialiased=False
        )
        faces.set_array(heights)
        ax.add_collection3d(faces)
        ax.set_zlim(found[:, :, 2].min(), found[:, :, 2].max() or 1.0)
        ax.figure.colorbar(faces, ax=ax, label=label, shrink=0.7, pad=0.12)


def _rims(shapes: list[Polygon], parts: int) -> Array:
    """The edges of polygons in space, each cut into `parts`, as flat triangles ``(k, 3, 3)``."""
    steps = np.arange(parts + 1)[:, None] / parts
    found = []
    for shape in shapes:
        corners = np.column_stack([shape.corners, shape.values])
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            places = a + steps * (b - a)
            found.append(np.stack([places[:-1], places[1:], places[1:]], axis=1))
    return np.concatenate(found)


@method_of(Report, "plot")
def plot_findings(report: Report, *, ax: Any = None) -> Any:
    p: CPWL | None = report.function
    drawn = axes_for(ax) if p is None else plot(p, ax=ax)
    dim = 2 if p is None else p.dim
    for finding in report.findings:
        if finding.point is None:
            continue
        x = [float(v) for v in finding.point]
        height = float(np.nan_to_num(p(np.array([x]))[0, 0])) if p is not None and dim == 1 else 0.0
        at = (x[0], height) if len(x) == 1 else (x[0], x[1])
        colour = "#d50000" if finding.severity == "error" else "#555555"
        drawn.plot(*at, "o", ms=13, mfc="none", mec="white", mew=4)
        drawn.plot(*at, "o", ms=13, mfc="none", mec=colour, mew=2)
        drawn.annotate(finding.kind, at, xytext=(9, 7), textcoords="offset points", color=colour, fontsize="small")
    return drawn
