"""Draws one picture for each construction: a function's pieces, and where the neurons of its network switch, by layer.

``python docs/make_pictures.py [names]``; everything drawn is computed by cpwl when this runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

import cpwl

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = ("#0b61b8", "#d9622b", "#2f9e58", "#8a4fbf", "#b8860b", "#c2255c")
FINE = 700


def table(count: int, seed: int) -> cpwl.CPWL:
    """A hill with some roughness on random triangles of the unit square."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.random((count, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]]).round(3)
    values = np.exp(-6 * ((x - 0.45) ** 2).sum(axis=1)) + 0.15 * rng.standard_normal(len(x))
    return cpwl.CPWL.from_simplices(x, Delaunay(x).simplices, values.round(3))


def hills() -> cpwl.CPWL:
    """A grid with random heights."""
    return cpwl.CPWL.from_grid([range(6)] * 2, np.random.default_rng(4).integers(0, 10, (6, 6)))


def arrangement() -> cpwl.CPWL:
    """A sum of hinges on lines, on the unit square."""
    rng = np.random.default_rng(3)
    normal = rng.integers(-5, 6, (6, 2))
    bias, jump = -(normal @ [1, 1]) // 2 + rng.integers(-1, 2, 6), rng.integers(-3, 4, 6) * 2 + 1
    return cpwl.extract(cpwl.Network([(normal, bias), (jump[None], [0])]), exact=True)


def wave() -> cpwl.CPWL:
    """Thirty breakpoints with jumps of both signs."""
    rng = np.random.default_rng(1)
    return cpwl.CPWL.from_breakpoints(np.arange(32), rng.integers(-9, 10, 32).cumsum())


def five_pieces() -> cpwl.CPWL:
    """The function on which Algorithm 1 fails: 0 for y <= 0, else min(y, 1 - 3 y + |x|)."""
    pieces = [
        ([[0, 1]], [0], [0, 0], 0),
        ([[-1, 0], [0, -1], [-1, 4]], [0, 0, 1], [0, 1], 0),
        ([[1, 0], [0, -1], [1, 4]], [0, 0, 1], [0, 1], 0),
        ([[-1, 0], [1, -4]], [0, -1], [1, -3], 1),
        ([[1, 0], [-1, -4]], [0, -1], [-1, -3], 1),
    ]
    A, b, gradient, offset = zip(*pieces, strict=True)
    return cpwl.CPWL.from_pieces(A, b, gradient, offset, tol=0)


EXAMPLES: dict[str, tuple[Callable[[], cpwl.CPWL], tuple[float, float]]] = {
    "hinge": (arrangement, (0.0, 1.0)),
    "univariate": (wave, (0.0, 31.0)),
    "gates": (lambda: table(14, 0), (0.0, 1.0)),
    "columns": (hills, (0.0, 5.0)),
    "windows": (lambda: table(14, 0), (0.0, 1.0)),
    "clamped": (lambda: table(14, 0), (0.0, 1.0)),
    "strips": (lambda: table(40, 0), (0.0, 1.0)),
    "lattice": (lambda: table(6, 0), (0.0, 1.0)),
    "paper": (five_pieces, (-1.5, 1.5)),
}


def inputs_of_neurons(network: cpwl.Network, x: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """What the neurons of each hidden layer read at some points."""
    h, found = x.T, []
    for weight, bias in network.layers[:-1]:
        found.append(weight @ h + bias[:, None])
        h = np.maximum(found[-1], 0.0)
    return found


def in_the_plane(p: cpwl.CPWL, made: cpwl.Compiled, low: float, high: float, axes: Any) -> None:
    axis = np.linspace(low, high, FINE)
    x, y = np.meshgrid(axis, axis)
    points = np.column_stack([x.ravel(), y.ravel()])
    value = p(points)[:, 0].reshape(x.shape)
    axes[0].imshow(value, origin="lower", extent=(low, high, low, high), cmap="viridis")
    axes[0].contour(x, y, value, 14, colors="w", linewidths=0.5, alpha=0.6)
    axes[1].imshow(value, origin="lower", extent=(low, high, low, high), cmap="Greys", alpha=0.25)
    for k, read in enumerate(inputs_of_neurons(made.network, points)):
        for row in read:
            # Just above 0: a neuron may read exactly 0 on a whole region.
            z, least = row.reshape(x.shape), 1e-6 * np.abs(row).max()
            if z.min() < least < z.max():
                axes[1].contour(x, y, z, [least], colors=COLOURS[k % 6], linewidths=0.9 + 0.3 * (k > 0), alpha=0.8)


def on_a_line(p: cpwl.CPWL, made: cpwl.Compiled, low: float, high: float, axes: Any) -> None:
    x = np.linspace(low, high, 40 * FINE)
    axes[0].plot(x, p(x[:, None])[:, 0], color="#1d2733", linewidth=1)
    for k, read in enumerate(inputs_of_neurons(made.network, x[:, None])):
        for i, row in enumerate(read):
            switch = np.flatnonzero((row[1:] > 0) != (row[:-1] > 0))
            axes[1].plot(x[switch], np.full(len(switch), i), "|", color=COLOURS[k % 6], markersize=8)
    axes[1].set_ylabel("neuron of its layer")


def wrong(p: cpwl.CPWL, network: cpwl.Network, low: float, high: float, axes: Any) -> None:
    """How far Algorithm 1's network is from the function."""
    axis = np.linspace(low, high, FINE)
    points = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    for one, value, title in (
        (axes[0], p(points), f"{p.num_pieces} pieces"),
        (axes[1], network(points) - p(points), "Algorithm 1's network minus the function"),
    ):
        image = one.imshow(value.reshape(FINE, FINE), origin="lower", extent=(low, high, low, high), cmap="viridis")
        one.figure.colorbar(image, ax=one, shrink=0.8)
        one.set_title(title, fontsize=11)


def draw(name: str, folder: Path) -> None:
    """The picture of one construction."""
    make, (low, high) = EXAMPLES[name]
    p = make()
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    if name == "paper":
        wrong(p, cpwl.compile(p, construction=name, check=False).network, low, high, axes)
    else:
        right(name, p, low, high, axes)
    for one in axes:
        one.set_xticks([])
        if p.dim > 1:
            one.set_yticks([])
            one.set_xlim(low, high)
            one.set_ylim(low, high)
    figure.savefig(folder / f"{name}.png", dpi=100, metadata={"Software": None})
    plt.close(figure)


def right(name: str, p: cpwl.CPWL, low: float, high: float, axes: Any) -> None:
    """The function and the neurons of its network."""
    made = cpwl.compile(p, construction=name, precision="exact")
    (on_a_line if p.dim == 1 else in_the_plane)(p, made, low, high, axes)
    axes[0].set_title(f"{p.num_pieces} pieces", fontsize=11)
    widths = [weight.shape[0] for weight, _ in made.network.layers[:-1]]
    axes[1].set_title(f"{made.sizes.neurons} neurons: where they switch", fontsize=11)
    for k, width in enumerate(widths):
        axes[1].plot([], [], color=COLOURS[k % 6], label=f"layer {k + 1}: {width}")
    axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, fontsize=8, frameon=False)


def main(names: list[str]) -> None:
    for name in names or EXAMPLES:
        draw(name, Path(__file__).parent)


if __name__ == "__main__":
    main(sys.argv[1:])
