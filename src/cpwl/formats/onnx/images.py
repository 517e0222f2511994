"""The ONNX operators on images and channels: convolution, pooling, normalization."""

from __future__ import annotations

import numpy as np

from cpwl.exact.rational import fraction_array
from cpwl.formats.onnx.node import Node, NodeError, Value
from cpwl.formats.windows import Windows, average, convolution
from cpwl.network.program import Tensor

__all__ = ["average_pool", "batch_normalization", "conv", "max_pool"]


def batch_normalization(node: Node) -> Value:
    """Batch normalization with the stored mean and variance: an affine map a channel."""
    if node.attributes.get("training_mode", 0) or len([name for name in node.proto.output if name]) > 1:
        raise NodeError("normalises by the batch at hand (training mode), which is not piecewise linear")
    if not node.attributes.get("spatial", 1) or (node.opset < 7 and not node.attributes.get("is_test", 0)):
        raise NodeError("normalises otherwise than by stored numbers a channel")
    scale, offset, mean, variance = (node.constant(i, "parameter") for i in (1, 2, 3, 4))
    x = node.tensor()
    if len(x.shape) < 2 or any(v.shape != (x.shape[1],) for v in (scale, offset, mean, variance)):
        raise NodeError(f"needs a number for each channel of an input of shape {x.shape}")
    # The root is irrational: it is taken, and rounded, in float64; all else is exact.
    spread = variance + float(node.attributes.get("epsilon", np.float32(1e-5)))
    if not (spread > 0).all() or not np.isfinite(spread).all():
        raise NodeError("has a variance that is not positive")
    root = np.sqrt(spread)
    factor = fraction_array(scale) / fraction_array(root)
    along = (1, -1) + (1,) * (len(x.shape) - 2)
    shift = fraction_array(offset) - factor * fraction_array(mean)
    return x.times(factor.reshape(along)).plus(np.asarray(shift).reshape(along))


def _windows(node: Node, kernel: list[int]) -> tuple[Tensor, Windows]:
    """The input, one image with channels, and the windows of the kernel on it."""
    x = node.tensor()
    n, get = len(kernel), node.attributes.get
    if len(x.shape) != n + 2 or x.shape[0] != 1:
        raise NodeError(f"needs an input of shape (1, channels, {n} sizes), not {x.shape}")
    strides, dilations = get("strides", [1] * n), get("dilations", [1] * n)
    pads = list(get("pads", [0] * 2 * n))
    before, after = pads[:n], pads[n:]
    auto = get("auto_pad", b"NOTSET").decode(errors="replace") or "NOTSET"
    if auto not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise NodeError(f"has auto_pad = {auto[:50]!r}, which means nothing")
    if len(pads) != 2 * n:
        raise NodeError(f"has {len(pads)} pads for {n} sizes")
    if auto.startswith("SAME") and len(strides) == len(dilations) == n and min(strides) > 0:
        need = [
            max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size)
            for size, s, d, k in zip(x.shape[2:], strides, dilations, kernel, strict=True)
        ]
        before = [(v + (auto == "SAME_LOWER")) // 2 for v in need]
        after = [v - b for v, b in zip(need, before, strict=True)]
    elif auto == "VALID":
        before, after = [0] * n, [0] * n
    try:
        ceil = bool(get("ceil_mode", 0))
        windows = Windows.slide(
            x.shape[2:], kernel, strides=strides, dilations=dilations, before=before, after=after, ceil=ceil
        )
    except ValueError as error:
        raise NodeError(str(error)) from None
    return x, windows


def conv(node: Node) -> Value:
    """A convolution with a constant kernel."""
    weight = node.constant(1, "kernel")
    if list(node.attributes.get("kernel_shape", weight.shape[2:])) != list(weight.shape[2:]) or weight.ndim < 3:
        raise NodeError(f"has a kernel of shape {weight.shape}, which is not what `kernel_shape` says")
    x, windows = _windows(node, list(weight.shape[2:]))
    groups = node.attributes.get("group", 1)
    if groups < 1 or x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise NodeError(f"has a kernel of shape {weight.shape} in {groups} groups for an input of shape {x.shape}")
    result = x.linear(convolution(windows, weight, groups), (1, weight.shape[0], *windows.shape))
    if node.operand(2) is None:
        return result
    bias = node.constant(2, "bias")
    if bias.shape != weight.shape[:1]:
        raise NodeError(f"has a bias of shape {bias.shape} for {weight.shape[0]} channels")
    return result.plus(bias.reshape(1, -1, *(1 for _ in windows.shape)))


def _pooled(node: Node) -> tuple[Tensor, Windows]:
    """The input and the windows of a pooling."""
    get = node.attributes.get
    if get("auto_pad", b"").startswith(b"SAME") and any(d != 1 for d in get("dilations", [])):
        raise NodeError("pads to the same size and dilates, which programs do differently; write `pads`")
    return _windows(node, node.attributes["kernel_shape"])


def average_pool(node: Node) -> Value:
    """Means over windows."""
    x, windows = _pooled(node)
    padding = bool(node.attributes.get("count_include_pad", 0))
    if padding and node.attributes.get("ceil_mode", 0):
        raise NodeError("counts padding in windows that stick out (ceil_mode), which programs do differently")
    matrix = average(windows, x.shape[1], count_padding=padding)
    return x.linear(matrix, (*x.shape[:2], *windows.shape))


def max_pool(node: Node) -> Value:
    """Maxima over windows, in pairs."""
    if len([name for name in node.proto.output if name]) > 1:
        raise NodeError("gives the places of its maxima, too, which is not piecewise linear")
    x, windows = _pooled(node)
    index = windows.filled()
    numbers = np.arange(x.shape[1])[:, None] * windows.places
    parts = [x.take(numbers + index[:, k]) for k in range(index.shape[1])]
    best = node.tape.largest(parts)
    return best.take(best.numbers.reshape(*x.shape[:2], *windows.shape))
