"""Draws ``picture.svg``, the picture at the top of the README: a function with its pieces, and what it costs.

All numbers are computed by cpwl when this runs: ``python docs/make_picture.py``.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import cpwl
from cpwl.files import write_text
from cpwl.function.picture import colour, polygons

CELLS = 10
WIDTH, HEIGHT = 1200, 540
AZIMUTH, ELEVATION = math.radians(60), math.radians(33)
STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #1d2733; }
.page { fill: #ffffff; } .soft { fill: #66717e; } .floor { stroke: #b9c3cd; }
.prior { fill: #e08a3c; } .theorem { fill: #7fb2da; } .ours { fill: #0b61b8; } text.ours { font-weight: 700; }
@media (prefers-color-scheme: dark) {
  text { fill: #e5eaf0; } .page { fill: #0f1419; } .soft { fill: #95a1af; } .floor { stroke: #3a4653; }
  .ours { fill: #6cb2f5; } .theorem { fill: #35618c; } .prior { fill: #d07f35; } }
"""


def landscape() -> cpwl.CPWL:
    """Two summits and a hollow, linear on the triangles of a grid."""
    axis = np.arange(CELLS + 1)
    x, y = np.meshgrid(axis / CELLS * 6 - 3, axis / CELLS * 6 - 3, indexing="ij")
    hills = 3 * (1 - x) ** 2 * np.exp(-(x**2) - (y + 1) ** 2) - np.exp(-((x + 1) ** 2) - y**2) / 3
    hills -= 10 * (x / 5 - x**3 - y**5) * np.exp(-(x**2) - y**2)
    return cpwl.CPWL.from_grid([axis, axis], np.round(hills * 64) / 64)


def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points ``(x, y, height)`` in a unit cube as ``(right, down, depth)`` on the picture."""
    x, y, z = points.T
    right = math.cos(AZIMUTH) * x - math.sin(AZIMUTH) * y
    depth = math.sin(AZIMUTH) * x + math.cos(AZIMUTH) * y
    up = z * math.cos(ELEVATION) + depth * math.sin(ELEVATION)
    return np.column_stack([300 + 390 * right, 262 - 385 * up, depth])


def surface(p: cpwl.CPWL) -> str:
    """The graph of the function, each piece a facet, above the outline of the pieces."""
    shapes = polygons(p, 0, CELLS)
    values = np.concatenate([shape.values for shape in shapes])
    low, high = values.min(), values.max()
    light = np.array([-0.5, -0.35, 0.8])
    facets, floor = [], []
    for shape in shapes:
        flat = shape.corners / CELLS - 0.5
        height = (shape.values - low) / (high - low)
        at = project(np.column_stack([flat, 0.58 * height - 0.13]))
        below = project(np.column_stack([flat, np.full(len(flat), -0.27)]))
        slope = shape.law[:2] * CELLS / (high - low) * 0.58
        normal = np.array([-slope[0], -slope[1], 1.0])
        bright = float(normal @ light / np.linalg.norm(normal) / np.linalg.norm(light))
        fill = shade(colour(float(height.mean())), 0.62 + 0.45 * max(bright, 0.0))
        facets.append((at[:, 2].mean(), f'<polygon points="{text_of(at)}" fill="{fill}"/>'))
        floor.append(f'<polygon points="{text_of(below)}"/>')
    facets.sort(key=lambda facet: -facet[0])
    return (
        f'<g class="floor" fill="none" stroke-width=".8">{"".join(floor)}</g>'
        f'<g stroke="#fff" stroke-opacity=".55" stroke-width=".8" stroke-linejoin="round">'
        f"{''.join(facet for _, facet in facets)}</g>"
    )


def shade(rgb: str, factor: float) -> str:
    """The colour made darker or brighter."""
    parts = (min(255, round(int(rgb[i : i + 2], 16) * factor)) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


def text_of(at: NDArray[np.float64]) -> str:
    """The points of a polygon as SVG."""
    return " ".join(f"{u:.1f},{v:.1f}" for u, v in at[:, :2])


def bars(p: cpwl.CPWL, compiled: cpwl.Compiled) -> str:
    """How many hidden neurons suffice by each bound, and how many there are, on a linear scale."""
    n, k, q = p.dim, p.num_components, p.num_pieces
    rows = [
        ("He et al. 2020", "prior", cpwl.bounds.he2020(n, k, q)),
        ("Hertrich et al. 2021", "prior", cpwl.bounds.hertrich2021(n, k)),
        ("Chen et al. 2022, Theorem 2", "theorem", compiled.bounds["theorem2"].neurons),
        ("Chen et al. 2022, Algorithm 1", "theorem", cpwl.compile(p, construction="paper").sizes.neurons),
        ("cpwl, proved equal", "ours", compiled.sizes.neurons),
    ]
    left, room, top, step = 640, 480, 170, 64
    full = rows[2][2]
    drawn = [
        f'<text x="{left}" y="78" font-size="28" font-weight="700">{q} pieces. How many neurons?</text>',
        f'<text x="{left}" y="110" font-size="17" class="soft">'
        "ReLU neurons that suffice for this function of two variables</text>",
    ]
    for i, (name, kind, count) in enumerate(rows):
        y, cut = top + i * step, count > full
        size = room if cut else room * count / full
        label = f"{count:,}" if count < 10**6 else f'10<tspan dy="-7" font-size="13">{math.log10(count):,.0f}</tspan>'
        mark = ' class="ours"' if kind == "ours" else ""
        drawn.append(
            f'<text x="{left}" y="{y}" font-size="17" class="{"ours" if kind == "ours" else "soft"}">{name}</text>'
            f'<text x="{left + room}" y="{y}" font-size="20" text-anchor="end" font-weight="700"{mark}>{label}</text>'
            f'<rect x="{left}" y="{y + 9}" width="{size:.1f}" height="16" rx="3" class="{kind}"/>'
        )
        if cut:
            x = left + room - 46
            drawn.append(f'<path class="page" d="M{x} {y + 29}l10 -24h7l-10 24z"/>')
            drawn.append(f'<path class="page" d="M{x + 15} {y + 29}l10 -24h7l-10 24z"/>')
    note = "Linear scale. The bars that are cut would be longer than the observable universe."
    drawn.append(f'<text x="{left}" y="{top + len(rows) * step + 6}" font-size="13" class="soft">{note}</text>')
    return "".join(drawn)


def main() -> None:
    p = landscape()
    compiled = cpwl.compile(p, certify=True)
    # The picture says "proved equal": no proof, no picture.
    assert compiled.certificate is not None
    assert compiled.certificate.error_bound == 0
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"<title>A function of {p.num_pieces} pieces, and the neurons it takes</title><style>{STYLE}</style>"
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="14"/>{surface(p)}{bars(p, compiled)}</svg>\n'
    )
    write_text(Path(__file__).with_name("picture.svg"), picture)


if __name__ == "__main__":
    main()
