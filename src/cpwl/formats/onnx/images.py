"""The ONNX operators on images and channels: convolution, pooling, normalization."""

from __future__ import annotations

import numpy as np

from cpwl.exact.rational import fraction_array
from cpwl.formats.onnx.node import Node, NodeError, Value
from cpwl.formats.windows import Windows, average, convolution
from cpwl.network.program.tape import Tensor

__all__ = ["average_pool", "batch_normalization", "conv", "max_pool"]


def batch_normalization(node: Node) -> Value:
    """Batch normalization with the stored mean and variance: an affine map a channel."""
    if node.attributes.get("training_mode", 0) or len([name for name in node.proto.output if name]) > 1:
        raise NodeError("normalises by the batch at hand (training mode), which is not piecewise linear")
    scale, offset, mean, variance = (node.constant(i, "parameter") for i in (1, 2, 3, 4))
    x = node.tensor()
    # The root is irrational: it is taken, and rounded, in float64; all else is exact.
    root = np.sqrt(variance + np.float64(node.attributes.get("epsilon", 1e-5)))
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
    auto = get("auto_pad", b"NOTSET").decode()
    if auto.startswith("SAME"):
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
    x, windows = _windows(node, list(weight.shape[2:]))
    groups = node.attributes.get("group", 1)
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise NodeError(f"has a kernel of shape {weight.shape} in {groups} groups for an input of shape {x.shape}")
    result = x.linear(convolution(windows, weight, groups), (1, weight.shape[0], *windows.shape))
    if node.operand(2) is None:
        return result
    return result.plus(node.constant(2, "bias").reshape(1, -1, *(1 for _ in windows.shape)))


def average_pool(node: Node) -> Value:
    """Means over windows."""
    x, windows = _windows(node, node.attributes["kernel_shape"])
    padding = bool(node.attributes.get("count_include_pad", 0))
    if padding and node.attributes.get("ceil_mode", 0):
        raise NodeError("counts padding in windows that stick out (ceil_mode), which programs do differently")
    matrix = average(windows, x.shape[1], count_padding=padding)
    return x.linear(matrix, (*x.shape[:2], *windows.shape))


def max_pool(node: Node) -> Value:
    """Maxima over windows, in pairs."""
    if len([name for name in node.proto.output if name]) > 1:
        raise NodeError("gives the places of its maxima, too, which is not piecewise linear")
    x, windows = _windows(node, node.attributes["kernel_shape"])
    index = windows.filled()
    numbers = np.arange(x.shape[1])[:, None] * windows.places
    parts = [x.take(numbers + index[:, k]) for k in range(index.shape[1])]
    best = node.tape.largest(parts)
    return best.take(best.numbers.reshape(*x.shape[:2], *windows.shape))
