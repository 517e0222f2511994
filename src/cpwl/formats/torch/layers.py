"""The PyTorch layers that keep a tensor piecewise linear."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.formats.windows import Windows, average, convolution
from cpwl.network.program import Tape, Tensor

__all__ = ["apply_layer", "check_layer", "layer_kinds"]


def layer_kinds() -> list[Any]:
    """All layers that we read."""
    from torch import nn

    affine = [nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.AvgPool2d]
    bent = [nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.Hardtanh, nn.MaxPool2d]
    return [*affine, *bent, nn.Identity, nn.Flatten, nn.Dropout]


def check_layer(layer: Any, where: str, name: str) -> None:
    """Refuse a layer that is random, or that looks at more than one sample."""
    from torch import nn

    if isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) != (1, -1):
        raise InputError(f"{where} must flatten all but the first dimension", module=name)
    if isinstance(layer, nn.Dropout) and layer.training and layer.p > 0:
        raise InputError(f"{where} is random in training mode; call `.eval()` first", module=name)
    if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)) and (layer.training or layer.running_mean is None):
        raise InputError(f"{where} normalises by the batch at hand; call `.eval()` first", module=name)
    if getattr(layer, "padding_mode", "zeros") != "zeros":
        raise InputError(f"{where} pads with something else than zeros", module=name)
    if isinstance(layer, nn.MaxPool2d) and layer.return_indices:
        raise InputError(f"{where} gives the places of its maxima, too", module=name)
    for parameter in layer.parameters():
        if not parameter.dtype.is_floating_point:
            raise InputError(f"{where}: weights must be real floats, not {parameter.dtype}", module=name)


def apply_layer(tape: Tape, x: Tensor, layer: Any) -> Tensor:
    """What the layer gives for `x`, of shape ``(1, ...)``; a ValueError if the shape does not fit."""
    from torch import nn

    match layer:
        case nn.Linear():
            return _plus(x.matmul(_array(layer.weight).T), layer.bias, 1)
        case nn.ReLU():
            return tape.relu(x)
        case nn.LeakyReLU():
            return tape.leaky(x, np.array(layer.negative_slope, dtype=np.float64))
        case nn.PReLU():
            slope = _array(layer.weight)
            return tape.leaky(x, slope if len(slope) == 1 else slope.reshape(_along(x)))
        case nn.Hardtanh():  # ReLU6 is one
            return tape.clip(x, layer.min_val, layer.max_val)
        case nn.Conv1d() | nn.Conv2d() | nn.Conv3d():
            return _convolved(x, layer)
        case nn.BatchNorm1d() | nn.BatchNorm2d():
            return _normalised(x, layer)
        case nn.AvgPool2d() | nn.MaxPool2d():
            return _pooled(tape, x, layer)
        case nn.Flatten():
            return x.take(x.numbers.reshape(1, -1))
        case _:
            return x


def _convolved(x: Tensor, layer: Any) -> Tensor:
    weight = _array(layer.weight)
    n = weight.ndim - 2
    if len(x.shape) != n + 2 or x.shape[1] != layer.in_channels:
        raise ValueError(f"it convolves {layer.in_channels} channels of {n} dimensions")
    padding = layer.padding
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
        before, after = [t // 2 for t in total], [t - t // 2 for t in total]
    else:
        before = after = [0] * n if padding == "valid" else list(padding)
    windows = Windows.slide(
        x.shape[2:], layer.kernel_size, strides=layer.stride, dilations=layer.dilation, before=before, after=after
    )
    result = x.linear(convolution(windows, weight, layer.groups), (1, len(weight), *windows.shape))
    return _plus(result, layer.bias, n + 1)


def _normalised(x: Tensor, layer: Any) -> Tensor:
    if x.shape[1] != layer.num_features:
        raise ValueError(f"it normalises {layer.num_features} features")
    # The root is irrational: it is taken, and rounded, in float64; all else is exact.
    factor = 1 / fraction_array(np.sqrt(_array(layer.running_var) + layer.eps))
    offset = -factor * fraction_array(_array(layer.running_mean))
    if layer.weight is not None:
        weight, bias = fraction_array(_array(layer.weight)), fraction_array(_array(layer.bias))
        factor, offset = factor * weight, offset * weight + bias
    return x.times(np.asarray(factor).reshape(_along(x))).plus(np.asarray(offset).reshape(_along(x)))


def _pooled(tape: Tape, x: Tensor, layer: Any) -> Tensor:
    from torch import nn

    if len(x.shape) != 4:
        raise ValueError("it pools images with channels")
    dilation = _pair(layer.dilation) if isinstance(layer, nn.MaxPool2d) else [1, 1]
    padding = _pair(layer.padding)
    windows = Windows.slide(
        x.shape[2:],
        _pair(layer.kernel_size),
        strides=_pair(layer.stride),
        dilations=dilation,
        before=padding,
        after=padding,
        ceil=layer.ceil_mode,
    )
    shape = (*x.shape[:2], *windows.shape)
    if isinstance(layer, nn.AvgPool2d):
        if layer.ceil_mode or layer.divisor_override:
            raise ValueError("`ceil_mode` and `divisor_override` are not read")
        return x.linear(average(windows, x.shape[1], count_padding=layer.count_include_pad), shape)
    index = windows.filled()
    numbers = np.arange(x.shape[1])[:, None] * windows.places
    best = tape.largest([x.take(numbers + index[:, k]) for k in range(index.shape[1])])
    return best.take(best.numbers.reshape(shape))


def _plus(x: Tensor, bias: Any, dimensions: int) -> Tensor:
    return x if bias is None else x.plus(_array(bias).reshape(-1, *(1 for _ in range(dimensions - 1))))


def _along(x: Tensor) -> tuple[int, ...]:
    """The shape of one number a channel."""
    return (1, -1) + (1,) * (len(x.shape) - 2)


def _pair(value: Any) -> list[int]:
    return [int(v) for v in (value if isinstance(value, (tuple, list)) else (value, value))]


def _array(parameter: Any) -> NDArray[np.float64]:
    import torch

    return np.asarray(parameter.detach().cpu().to(torch.float64).numpy())
