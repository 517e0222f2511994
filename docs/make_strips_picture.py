"""Draws docs/strips.svg: the strips of a small function, the slabs of its two systems, and the switch between them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from scipy.spatial import Delaunay

from cpwl import CPWL
from cpwl.construct.analysis import Analysis
from cpwl.construct.strips.plan import lay_strips
from cpwl.construct.strips.slots import FIRST, SECOND, Geometry

_ONE, _TWO = "#d95f02", "#1b9e77"


def example() -> tuple[CPWL, np.ndarray, Delaunay]:
    """Random points of the unit square, and its corners."""
    rng = np.random.default_rng(3)
    points = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], rng.random((26, 2))])
    triangles = Delaunay(points)
    return CPWL.from_simplices(points, triangles.simplices, rng.standard_normal(len(points))), points, triangles


def draw_strips(axes: Axes, geometry: Geometry, turned: np.ndarray, triangles: Delaunay) -> None:
    """The triangulation, with the slabs of both systems and their diagonals."""
    axes.triplot(turned[:, 0], turned[:, 1], triangles.simplices, color="0.65", lw=0.7)
    axes.plot(turned[:, 0], turned[:, 1], ".", color="0.3", ms=3)
    for slabs, color in ((geometry.first, _ONE), (geometry.second, _TWO)):
        for slab in slabs:
            a, b, low, high = (float(v) for v in (slab.begin, slab.end, slab.low, slab.high))
            axes.fill([a, b, b, a], [low, low, high, high], color=color, alpha=0.25, lw=0)
            axes.plot([a, b], [low, high], color=color, lw=1)
    axes.set(ylabel=r"$\eta$", title="slabs of the first system (orange) and of the second (green)")


def draw_switch(axes: Axes, geometry: Geometry) -> None:
    """Which system is right, and the sign of chi there."""
    for part in geometry.intervals:
        a, b = float(part.begin), float(part.end)
        color = {FIRST: _ONE, SECOND: _TWO}.get(part.right)
        level = {FIRST: (0.6 if part is geometry.intervals[0] else 0.0, 0.6), SECOND: (-0.6, 0.0)}.get(
            part.right, (0.6, -0.6)
        )
        axes.plot([a, b], level, color=color or "0.5", lw=2 if color else 1)
    axes.axhline(0, color="0.3", lw=0.5)
    axes.set(xlabel=r"$\xi$", ylabel=r"$\chi$ (not to scale)", yticks=[], ylim=(-1, 1))
    axes.set_title(r"the network is $g_1$ where $\chi > 0$ (orange) and $g_2$ where $\chi < 0$ (green)", fontsize=9)


def main() -> None:
    pyplot.rcParams["svg.hashsalt"] = "strips"  # the same picture, byte by byte
    p, points, triangles = example()
    made = lay_strips(Analysis(p), count=4)
    assert made is not None
    frame = made.cuts.sweep.frame
    turned = points @ np.array([frame.t, frame.u]).T
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 1))
    draw_strips(above, made.geometry, turned, triangles)
    draw_switch(below, made.geometry)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("strips.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
