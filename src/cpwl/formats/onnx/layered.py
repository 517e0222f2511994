"""Does a file compute what it says layer by layer, as our networks are run, or in some other way?

A bound on the rounding of a network is one for products with the weights, summed in any order with the bias, and a ReLU
between two of those. A file whose nodes are just these is bounded by it. One that adds 1e8 and takes it away again is
the same function in exact arithmetic, and another one in floats: for it there is no such bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

__all__ = ["Layered", "layered_after"]

# These keep every entry once, whatever its place.
_PERMUTING = frozenset(("Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))


class Layered(Enum):
    """How far the layer at hand has come: nothing yet, its products summed, or the bias added, too."""

    ACTIVATION = 0
    PRODUCT = 1
    SUM = 2


def layered_after(op: str, operands: Sequence[Layered | None], attributes: dict[str, Any]) -> Layered | None:
    """Where the layer stands after a node that reads such tensors; None for what is no layer of that kind.

    >>> layered_after("MatMul", [Layered.ACTIVATION], {})
    <Layered.PRODUCT: 1>
    >>> layered_after("Add", [Layered.SUM], {}) is None
    True
    """
    if len(operands) != 1 or operands[0] is None:
        return None
    (before,) = operands
    if op in _PERMUTING:
        return before
    if op == "Relu":
        return Layered.ACTIVATION
    if op == "MatMul" and before is Layered.ACTIVATION:
        return Layered.PRODUCT
    if (
        op == "Gemm"
        and before is Layered.ACTIVATION
        and attributes.get("alpha", 1.0) == attributes.get("beta", 1.0) == 1
    ):
        return Layered.SUM
    if op == "Add" and before is Layered.PRODUCT:
        return Layered.SUM
    return None
