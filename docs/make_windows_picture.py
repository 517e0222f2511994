"""Draws how windows work: blocks, and the clamps of some classes: ``python docs/make_windows_picture.py``.

Everything drawn is computed by cpwl when this runs.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.spatial import Delaunay

import cpwl
from cpwl.construct.windows.lowering import best_windows, blocks_of, lower
from cpwl.construct.windows.plan import lifted

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection

FINE = 400


def main() -> None:
    """Three panels: the blocks, and two classes of the convex function W."""
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.random((250, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]]).round(3)
    p = cpwl.CPWL.from_simplices(points, Delaunay(points).simplices, rng.standard_normal(len(points)).round(3))
    found = lifted(p)
    blocks = blocks_of(found.cells, found.lifting)
    windows = best_windows(found.cells, found.lifting, blocks)
    network = lower(found.cells, found.lifting, blocks, windows, found.share, found.base)
    figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
    corners = found.cells.points[found.cells.corners]
    order = rng.permutation(len(blocks))
    colour = np.empty(len(corners))
    for k, block in enumerate(blocks):
        colour[list(block.cells)] = order[k]
    axes[0].add_collection(PolyCollection(corners, array=colour, cmap="tab20", edgecolors="w", linewidths=0.4))
    axes[0].set_title(f"{len(corners)} cells in {len(blocks)} blocks", fontsize=10)
    axis = np.linspace(0, 1, FINE)
    value = np.array(np.meshgrid(axis, axis)).reshape(2, -1)
    for weight, bias in network.layers[:3]:
        value = np.maximum(weight @ value + bias[:, None], 0.0)
    for one, number in zip(axes[1:], (0, 3), strict=True):
        own = len(blocks) + np.flatnonzero(windows.classes[0] == number)  # W comes after U
        one.imshow(value[own].sum(axis=0).reshape(FINE, FINE), origin="lower", extent=(0, 1, 0, 1), cmap="magma")
        one.set_title(f"class {number} of W: {len(own)} clamps, 0 where it is black", fontsize=10)
    for one in axes:
        one.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
    figure.savefig(Path(__file__).with_name("theory") / "windows.png", dpi=100)


if __name__ == "__main__":
    main()
