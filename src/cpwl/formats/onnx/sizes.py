"""How large would it be? Asked of shapes, before anything of that shape is made: a small file may ask for anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cpwl.errors import LimitError
from cpwl.formats.onnx.node import NodeError, Value

__all__ = ["ENTRIES", "check_entries", "check_result"]

ENTRIES = 2**20
"""The most entries of a tensor that we read; the largest layer of a ResNet has 800,000."""


def check_entries(count: int | float, what: str) -> None:
    """Refuse a tensor of too many entries.

    >>> check_entries(10**30, "the input")
    Traceback (most recent call last):
    cpwl.errors.LimitError: the input has 1e+30 entries, more than the 1,048,576 that we read
    """
    if count > ENTRIES:
        shown = f"{count:,}" if count < 10**15 else f"{float(min(count, 10**300)):.0e}"
        raise LimitError(f"{what} has {shown} entries, more than the {ENTRIES:,} that we read", entries=count)


def check_result(op: str, operands: Sequence[Value | None], attributes: dict[str, Any]) -> None:
    """Refuse a node whose result would have too many entries; most have no more than they read, or their weights."""
    given = [value for value in operands if value is not None]
    estimate = _ESTIMATES.get(op)
    if not given or estimate is None:
        return
    try:
        count = estimate(given, attributes)
    except (IndexError, TypeError, ValueError, OverflowError):
        raise NodeError(f"does not fit operands of shapes {', '.join(str(v.shape) for v in given)}") from None
    check_entries(count, f"the result of {op}")


def _size(value: Value) -> int:
    return math.prod(value.shape)


def _broadcast(given: list[Value], _: dict[str, Any]) -> int:
    return math.prod(np.broadcast_shapes(*(value.shape for value in given)))


def _product(given: list[Value], _: dict[str, Any]) -> int:
    """At most all rows of the one times all columns of the other, stacks of matrices included."""
    shape: tuple[int, ...] = (1, *given[1].shape)
    rows: int = _size(given[0]) // max(1, given[0].shape[-1])
    return rows * math.prod(shape[:-2]) * shape[-1]


def _integers(value: Value) -> list[int]:
    return [int(v) for v in np.asarray(value).ravel()[:64]]


def _concat(given: list[Value], _: dict[str, Any]) -> int:
    return sum(map(_size, given))


def _tile(given: list[Value], _: dict[str, Any]) -> int:
    return _size(given[0]) * math.prod(max(v, 0) for v in _integers(given[1]))


def _expand(given: list[Value], _: dict[str, Any]) -> int:
    return _size(given[0]) * math.prod(max(v, 1) for v in _integers(given[1]))


def _constant_of_shape(given: list[Value], _: dict[str, Any]) -> int:
    return math.prod(max(v, 0) for v in _integers(given[0]))


def _range(given: list[Value], _: dict[str, Any]) -> int:
    start, limit, step = (float(np.asarray(v).ravel()[0]) for v in given)
    return math.ceil(max(0.0, (limit - start) / step)) if step else 2**62


def _gather(given: list[Value], attributes: dict[str, Any]) -> int:
    along: int = max(1, given[0].shape[attributes.get("axis", 0)])
    return _size(given[0]) // along * _size(given[1])


def _pad(given: list[Value], attributes: dict[str, Any]) -> int:
    x = given[0]
    pads = attributes.get("pads") or attributes.get("paddings") or (_integers(given[1]) if len(given) > 1 else [])
    axes = _integers(given[-1]) if len(given) > 2 and 2 * _size(given[-1]) == len(pads) else range(len(x.shape))
    sizes = list(x.shape)
    for axis, before, after in zip(axes, pads, pads[len(pads) // 2 :], strict=False):
        sizes[axis] += max(0, before) + max(0, after)
    return math.prod(sizes)


_ESTIMATES = {
    **dict.fromkeys(
        ("Add", "Div", "Equal", "Max", "Mean", "Min", "Mul", "PRelu", "Pow", "Sub", "Sum", "Where"), _broadcast
    ),
    "MatMul": _product,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expand,
    "Gather": _gather,
    "Pad": _pad,
    "Range": _range,
    "Tile": _tile,
}
