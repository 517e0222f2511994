"""A network drawn with matplotlib: neurons and weights where they can be told apart, else how wide each layer is."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpwl.doors import method_of, needed
from cpwl.errors import counted
from cpwl.network.network import Network

# The layers of a network as SVG text.


@method_of(Network, "_repr_svg_")
def layer_bars(network: Network) -> str:
    """The widths of a network from input to output, one bar a layer, as SVG."""
    width, height = 320, 110
    sizes = [network.inputs, *(weight.shape[0] for weight, _ in network.layers)]
    text = 'font-size="9.5" text-anchor="middle"'
    slot = width / len(sizes)
    room, below = height - 30, height - 14
    bars = []
    colours = {"end": "#b8c2cc", "hidden": "#0b61b8"}  # where no style of a page says otherwise
    for i, size in enumerate(sizes):
        tall = max(2.0, room * size / max(sizes))
        kind = "end" if i in (0, len(sizes) - 1) else "hidden"
        middle, name = (i + 0.5) * slot, {0: "in", len(sizes) - 1: "out"}.get(i, "")
        bars.append(
            f'<rect class="{kind}" fill="{colours[kind]}" x="{middle - min(slot * 0.36, 14):.1f}" '
            f'y="{below - tall:.1f}" '
            f'width="{min(slot * 0.72, 28):.1f}" height="{tall:.1f}" rx="1.5"/>'
            f'<text {text} x="{middle:.1f}" y="{below - tall - 4:.1f}">{size}</text>'
            f'<text class="name" {text} x="{middle:.1f}" y="{height - 2}">{name}</text>'
        )
    label = "neurons in each layer: " + ", ".join(map(str, sizes))
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" class="layers" role="img" '
        f'aria-label="{label}">{"".join(bars)}</svg>'
    )


_WIDE, _WEIGHTS = 80, 4000  # what people tell apart
_NEGATIVE, _POSITIVE = "#2b6fd6", "#e8710a"


@method_of(Network, "plot")
def plot_network(network: Network, *, ax: Any = None) -> Any:
    drawn = ax or needed("matplotlib.pyplot", "`plot`").figure(figsize=(7, 4.5)).add_subplot()
    widths = [network.inputs, *(int(weight.shape[0]) for weight, _ in network.layers)]
    small = max(widths) <= _WIDE and network.sizes.nonzeros <= _WEIGHTS
    (_graph if small else _bars)(drawn, network, widths)
    names = ["input", *(f"layer {k}" for k in range(1, len(widths) - 1)), "output"]
    short = names if len(names) <= 8 else ["in", *map(str, range(1, len(widths) - 1)), "out"]
    drawn.set_xticks(range(len(widths)), short)
    sizes = network.sizes
    drawn.set_title(
        f"{counted(sizes.neurons, 'neuron')}, {counted(sizes.depth, 'layer')}, {counted(sizes.nonzeros, 'weight')}",
        fontsize="medium",
    )
    for side in ("top", "right"):
        drawn.spines[side].set_visible(False)
    return drawn


def _graph(ax: Any, network: Network, widths: list[int]) -> None:
    """Every neuron a dot, every weight a line: orange above 0, blue below, fainter where it is small."""
    from matplotlib.collections import LineCollection

    heights = [(np.arange(width) - (width - 1) / 2) * -1.0 for width in widths]
    for k, (weight, _) in enumerate(network.layers):
        table = weight.tocoo()
        ends = [[(k, heights[k][j]), (k + 1, heights[k + 1][i])] for i, j in zip(table.row, table.col, strict=True)]
        size = np.abs(table.data)
        alpha = 0.15 + 0.75 * np.sqrt(size / size.max()) if len(size) else size
        colours = np.where(table.data < 0, _NEGATIVE, _POSITIVE).tolist()
        ax.add_collection(LineCollection(ends, colors=colours, alpha=alpha, linewidths=0.8, zorder=1))
    for k, height in enumerate(heights):
        end = k in (0, len(heights) - 1)
        ax.scatter([k] * len(height), height, s=28, c="#b8c2cc" if end else "#0b61b8", edgecolors="white", zorder=2)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(0.06)


def _bars(ax: Any, network: Network, widths: list[int]) -> None:
    ends = (0, len(network.layers))
    ax.bar(range(len(widths)), widths, color=["#b8c2cc" if k in ends else "#0b61b8" for k in range(len(widths))])
    for k, width in enumerate(widths):
        ax.annotate(f"{width:,}", (k, width), ha="center", va="bottom", fontsize="small")
    ax.set_ylabel("neurons")
