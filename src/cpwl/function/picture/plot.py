"""A function drawn with matplotlib: a curve, a map of pieces, or a surface; and what the doctor found, on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpwl.doors import check_choice, check_count
from cpwl.errors import InputError, LimitError
from cpwl.function.answers import Report
from cpwl.function.cpwl import CPWL
from cpwl.function.picture.polygons import Array, Polygon, polygons
from cpwl.function.picture.window import window_of

__all__ = ["axes_for", "plot", "plot_findings"]

_INK, _BEND = "#0b61b8", "#e8710a"


def axes_for(ax: Any, *, solid: bool = False) -> Any:
    """The axes to draw on: those that were given, or new ones, in three dimensions if asked for."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise LimitError("matplotlib is not installed; run `pip install 'cpwl[plot]'`") from error
    if ax is None:
        return plt.figure(figsize=(6, 5)).add_subplot(projection="3d" if solid else None)
    if solid and getattr(ax, "name", "") != "3d":
        raise InputError('a surface needs axes in three dimensions: `fig.add_subplot(projection="3d")`')
    return ax


def plot(p: CPWL, *, kind: str = "auto", ax: Any = None, output: int = 0, box: Any = None, at: Any = None) -> Any:
    """Draw one output of `p`; see `CPWL.plot`."""
    check_choice(kind, ("auto", "curve", "map", "surface"), "kind")
    check_count(output, "output", least=0, most=p.outputs - 1)
    if (kind == "curve" and p.dim > 1) or (kind in ("map", "surface") and p.dim == 1):
        raise InputError(f'a function of {p.dim} inputs cannot be drawn as a {kind}; leave `kind` at "auto"')
    window = window_of(p, box)
    if p.dim == 1:
        return _curve(p, axes_for(ax), output, window)
    through = window.mean(axis=1) if at is None else _point(at, p.dim)
    shapes = polygons(p, *window[:2].T, through=through, output=output)
    drawn = axes_for(ax, solid=kind == "surface")
    (_surface if kind == "surface" else _map)(drawn, shapes)
    drawn.set(xlim=window[0], ylim=window[1], xlabel="x" if p.dim < 4 else "x1", ylabel="y" if p.dim < 4 else "x2")
    if p.dim > 2:
        others = ", ".join(f"{float(v):.4g}" for v in through[2:6]) + (", ..." if p.dim > 6 else "")
        drawn.set_title(f"other inputs at {others}", fontsize="medium")
    return drawn


def _point(at: Any, dim: int) -> Array:
    point = np.asarray(at, dtype=np.float64)
    if point.shape != (dim,):
        raise InputError(f"`at` must be a point of {dim} coordinates, not an array of shape {point.shape}")
    return point


def _curve(p: CPWL, ax: Any, output: int, window: Array) -> Any:
    low, high = window[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = p.polyhedra.b / p.polyhedra.A[:, 0]
    bends = np.unique(ends[(ends > low) & (ends < high)])
    x = np.concatenate([[low], bends, [high]])
    y = p(x[:, None])[:, output]
    ax.plot(x, y, color=_INK, lw=1.8)
    inner = (x > low) & (x < high)
    ax.plot(x[inner], y[inner], "o", color=_BEND, ms=4)
    ax.set(xlim=(low, high), xlabel="x", ylabel="value")
    return ax


def _triangles(shapes: list[Polygon]) -> tuple[Array, Array, Array]:
    """Corners, values there, and fans of triangles over the polygons."""
    corners = np.concatenate([shape.corners for shape in shapes]) if shapes else np.zeros((0, 2))
    values = np.concatenate([shape.values for shape in shapes]) if shapes else np.zeros(0)
    fans, first = [np.zeros((0, 3), dtype=np.int64)], 0
    for shape in shapes:
        size = len(shape.corners)
        k = np.arange(1, size - 1)
        fans.append(first + np.column_stack([np.zeros_like(k), k, k + 1]))
        first += size
    return corners, values, np.concatenate(fans)


def _map(ax: Any, shapes: list[Polygon]) -> None:
    from matplotlib.collections import PolyCollection

    corners, values, fans = _triangles(shapes)
    if len(fans):
        # A picture inside vector files: some viewers show seams between triangles.
        drawn = ax.tripcolor(*corners.T, fans, values, shading="gouraud", cmap="viridis", rasterized=True)
        ax.figure.colorbar(drawn, ax=ax, label="value")
    edges = PolyCollection([shape.corners for shape in shapes], facecolors="none", edgecolors="white", linewidths=0.6)
    ax.add_collection(edges)


def _surface(ax: Any, shapes: list[Polygon]) -> None:
    corners, values, fans = _triangles(shapes)
    if len(fans):
        ax.plot_trisurf(*corners.T, values, triangles=fans, cmap="viridis", edgecolor="white", linewidth=0.2)
    ax.set_zlabel("value")


def plot_findings(report: Report, *, ax: Any = None) -> Any:
    """Rings at the witnesses, on the function where it is known: errors red, notes grey."""
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
