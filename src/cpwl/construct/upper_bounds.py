"""The published bounds for a function: how large the paper's networks, and those before it, are at most."""

from __future__ import annotations

from collections.abc import Sequence

from cpwl import bounds
from cpwl.bounds import Bound
from cpwl.function import CPWL

__all__ = ["upper_bounds"]


def upper_bounds(p: CPWL, row_sizes: Sequence[Sequence[int]] | None = None) -> dict[str, Bound]:
    """The bounds of Theorems 1 to 3, and with the lengths of its rows the exact count of Algorithm 1.

    >>> upper_bounds(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1), [[1, 1]])["algorithm1"].neurons
    3
    """
    q, n = p.num_pieces, p.dim
    counts = [len(p.representatives(j)) for j in range(p.outputs)]
    known = {
        "theorem1": _side_by_side([bounds.theorem1(q) for _ in counts]),
        "theorem2": _side_by_side([bounds.theorem2(k, q) for k in counts]),
        "theorem3": _side_by_side([bounds.theorem3(n, k) for k in counts]),
    }
    if row_sizes is not None:
        known["algorithm1"] = _side_by_side([bounds.algorithm1(list(sizes)) for sizes in row_sizes])
    return known


def _side_by_side(parts: list[Bound]) -> Bound:
    """Bounds for several outputs, by the lemma on concatenation (padding with two neurons per layer)."""
    if len(parts) == 1:
        return parts[0]
    layers = max(part.layers for part in parts)
    return Bound(
        layers,
        sum(max(part.width, 2) for part in parts),
        sum(part.neurons + 2 * (layers - part.layers) for part in parts),
    )
