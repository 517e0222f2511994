"""Pictures as SVG text: a function of one or two variables, and the layers of a network.

Nothing is sampled. A function is drawn from its pieces: a curve through its breakpoints, or polygons whose
colours change along the gradient of their law as the function does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.function import CPWL
from cpwl.network import Network

__all__ = ["COLOURS", "Polygon", "clip", "colour", "curve", "layer_bars", "map_of_pieces", "polygons"]

Array: TypeAlias = NDArray[np.float64]

COLOURS = ("#440154", "#472c7a", "#3b518b", "#2c718e", "#21908d", "#27ad81", "#5cc863", "#aadc32", "#fde725")
"""From low to high: viridis, even in lightness and safe for colour-blind readers."""


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


def polygons(p: CPWL, low: float, high: float, *, through: Array | None = None) -> list[Polygon]:
    """The pieces of the first output in ``[low, high]^2``.

    With more than two inputs, on the plane of the first two that goes through a point (default: 0).

    >>> absolute = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[-1, 0], [1, 0]], [0, 0])
    >>> [len(polygon.corners) for polygon in polygons(absolute, -1, 1)]
    [4, 4]
    """
    square = np.array([[low, low], [high, low], [high, high], [low, high]])
    others = np.zeros(p.dim - 2) if through is None else through[2:]
    found = []
    # A loop over pieces: pictures are for people, who tell apart a few hundred at most.
    for piece, slope, offset in zip(p.polyhedra, p.laws.gradient[:, 0], p.laws.offset[:, 0], strict=True):
        corners = square
        for normal, bound in zip(piece.A[:, :2], piece.b - piece.A[:, 2:] @ others, strict=True):
            corners = clip(corners, normal, float(bound))
        if len(corners) > 2:
            found.append(Polygon(corners, np.array([*slope[:2], offset + slope[2:] @ others])))
    return found


def map_of_pieces(p: CPWL, low: float, high: float, *, name: str, size: int = 320, mark: Array | None = None) -> str:
    """A function of two variables seen from above, as SVG, with a ring around the point `mark`.

    With more inputs one sees the plane of the first two through `mark`. `name` makes ids that are unique on a page.
    """
    shapes = polygons(p, low, high, through=mark)
    values = np.concatenate([shape.values for shape in shapes])
    bottom, top = float(values.min()), float(values.max())
    scale = size / (high - low)
    stops = "".join(f'<stop offset="{i / (len(COLOURS) - 1):g}" stop-color="{c}"/>' for i, c in enumerate(COLOURS))
    defs = [f'<linearGradient id="{name}">{stops}</linearGradient>']
    drawn = []
    for i, shape in enumerate(shapes):
        at = np.column_stack([shape.corners[:, 0] - low, high - shape.corners[:, 1]]) * scale
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
    axis = f'<path class="axis" d="M0 {zero:.1f}H{width}"/>' if 0 < zero < height else ""
    dots = "".join(f'<circle cx="{u:.1f}" cy="{v:.1f}" r="2.6"/>' for u, v in at if 0 < u < width)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" class="curve" role="img" '
        f'aria-label="graph">{axis}<polyline points="{_points(at)}"/>{dots}</svg>'
    )


def layer_bars(network: Network, *, width: int = 320, height: int = 110) -> str:
    """The widths of a network from input to output, one bar a layer, as SVG."""
    sizes = [network.inputs, *(weight.shape[0] for weight, _ in network.layers)]
    slot = width / len(sizes)
    room, below = height - 30, height - 14
    bars = []
    for i, size in enumerate(sizes):
        tall = max(2.0, room * size / max(sizes))
        kind = "end" if i in (0, len(sizes) - 1) else "hidden"
        middle, name = (i + 0.5) * slot, {0: "in", len(sizes) - 1: "out"}.get(i, "")
        bars.append(
            f'<rect class="{kind}" x="{middle - min(slot * 0.36, 14):.1f}" y="{below - tall:.1f}" '
            f'width="{min(slot * 0.72, 28):.1f}" height="{tall:.1f}" rx="1.5"/>'
            f'<text x="{middle:.1f}" y="{below - tall - 4:.1f}">{size}</text>'
            f'<text class="name" x="{middle:.1f}" y="{height - 2}">{name}</text>'
        )
    label = "neurons in each layer: " + ", ".join(map(str, sizes))
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" class="layers" role="img" '
        f'aria-label="{label}">{"".join(bars)}</svg>'
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


def _ring(mark: Array | None, low: float, high: float, scale: float) -> str:
    if mark is None:
        return ""
    x, y = (mark[0] - low) * scale, (high - mark[1]) * scale
    ring = f'<circle cx="{x:.2f}" cy="{y:.2f}" r="8" fill="none"'
    # White below red: seen on every colour of the map.
    return f'{ring} stroke="#fff" stroke-width="6"/>{ring} stroke="#e5352b" stroke-width="3"/>'


def _rgb(text: str) -> Iterator[int]:
    return (int(text[i : i + 2], 16) for i in (1, 3, 5))


def _points(at: Array | Sequence[Array]) -> str:
    return " ".join(f"{u:.2f},{v:.2f}" for u, v in at)
