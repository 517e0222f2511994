"""The layers of a network as SVG text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cpwl.network.network import Network

__all__ = ["layer_bars"]


def layer_bars(network: Network, *, width: int = 320, height: int = 110) -> str:
    """The widths of a network from input to output, one bar a layer, as SVG."""
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
