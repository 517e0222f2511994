"""Functions as SVG text: a curve through its breakpoints, or polygons coloured along the gradient of their law.

Nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cpwl.function.cpwl import CPWL
from cpwl.function.picture.polygons import Array, polygons
from cpwl.function.picture.window import window_of

__all__ = ["COLOURS", "colour", "curve", "map_of_pieces", "picture"]

COLOURS = ("#440154", "#472c7a", "#3b518b", "#2c718e", "#21908d", "#27ad81", "#5cc863", "#aadc32", "#fde725")
"""From low to high: viridis, even in lightness and safe for colour-blind readers."""
_MOST = 2000  # pieces that are drawn; more of them would be a grey area and a large file


def picture(p: CPWL) -> str | None:
    """The function in its own window, for notebooks: a curve, or a map of pieces; None of too many pieces to be seen.

    With more than two inputs, the plane of the first two through the middle of the window.
    """
    if p.num_pieces > _MOST:
        return None
    window = window_of(p)
    if p.dim == 1:
        return curve(p, *window[0])
    low, high = window[:2].T
    return map_of_pieces(p, low, high, name=f"map-{p.num_pieces}-{p.num_components}", through=window.mean(axis=1))


def map_of_pieces(
    p: CPWL,
    low: ArrayLike,
    high: ArrayLike,
    *,
    name: str,
    size: int = 320,
    mark: Array | None = None,
    through: Array | None = None,
) -> str:
    """A function of two variables seen from above, as SVG, with a ring around the point `mark`.

    With more inputs one sees the plane of the first two through `mark`, or `through`; `name` makes ids unique.
    """
    shapes = polygons(p, low, high, through=mark if through is None else through)
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
        f"<g {edge}>{''.join(drawn)}</g>{_ring(mark, low, high, scale)}</svg>"
    )


def curve(p: CPWL, low: float, high: float, *, width: int = 320, height: int = 320) -> str:
    """The graph of a function of one variable, with a dot at each breakpoint, as SVG."""
    ends = p.polyhedra.b / p.polyhedra.A[:, 0]
    bends = np.unique(ends[(ends > low) & (ends < high)])
    x = np.concatenate([[low], bends, [high]])
    y = p(x[:, None])[:, 0]
    x, y = x[~np.isnan(y)], y[~np.isnan(y)]
    bottom, top = float(y.min()), float(y.max())
    room = (top - bottom) * 0.08 or 1.0
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


def colour(share: float) -> str:
    """The colour at `share` of the way from low to high.

    >>> colour(0.0), colour(1.0)
    ('#440154', '#fde725')
    """
    place = min(max(share, 0.0), 1.0) * (len(COLOURS) - 1)
    i = min(int(place), len(COLOURS) - 2)
    first, second = (_rgb(COLOURS[i + k]) for k in (0, 1))
    mixed = (round(a + (b - a) * (place - i)) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def _ring(mark: Array | None, low: Array, high: Array, scale: Array) -> str:
    if mark is None:
        return ""
    x, y = (mark[0] - low[0]) * scale[0], (high[1] - mark[1]) * scale[1]
    ring = f'<circle cx="{x:.2f}" cy="{y:.2f}" r="8" fill="none"'
    # White below red: seen on every colour of the map.
    return f'{ring} stroke="#fff" stroke-width="6"/>{ring} stroke="#e5352b" stroke-width="3"/>'


def _rgb(text: str) -> Iterator[int]:
    return (int(text[i : i + 2], 16) for i in (1, 3, 5))


def _points(at: Array | Sequence[Array]) -> str:
    return " ".join(f"{u:.2f},{v:.2f}" for u, v in at)
