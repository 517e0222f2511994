"""PyTorch modules: networks out as `nn.Sequential`, and in again; functions out by lookup."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cpwl.compiler import Compiled, held_network
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.io.c.grid import GridTables
from cpwl.io.c.write import lookup_tables
from cpwl.io.weights import Dtype, check_dense_size, dense_layers
from cpwl.io.windows import Windows, average, convolution
from cpwl.network.network import Network
from cpwl.network.program import Tape, Tensor, network_of

if TYPE_CHECKING:
    import torch

# The PyTorch layers that keep a tensor piecewise linear.


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


_LIMIT = 4 * 2**30


def to_torch(network: Network | Compiled | CPWL, *, dtype: Dtype = "float64") -> torch.nn.Module:
    """The network as ``Linear, ReLU, Linear, ...``, or a function by lookup; in evaluation mode, on the CPU.

    A function (`CPWL`) becomes a `cpwl.io.lookup.Lookup`: its pieces are looked up, without a network, by the tables of
    ``to_c(p, form="grid")``. That is faster for large batches, and has gradients almost everywhere.

    On a GPU keep TF32 off (``torch.backends.cuda.matmul.allow_tf32 = False``, the default), which rounds
    factors to 10 bits.

    Parameters
    ----------
    network : Network, Compiled or CPWL
        The network, or a function.
    dtype : {"float64", "float32"}
        The type of the weights, each rounded to nearest.

    Returns
    -------
    torch.nn.Module
        The module; of a network a `torch.nn.Sequential`.
    """
    torch = _torch()
    if isinstance(network, CPWL):
        from cpwl.io.lookup import Lookup

        return Lookup(lookup_arrays(network, dtype)).eval()
    network = held_network(network, "to_torch")
    check_dense_size(network, dtype, _LIMIT, "that we build")
    modules: list[Any] = []
    for weight, bias in dense_layers(network, dtype):
        # `skip_init`: initial values would be lost, and drawing them would move the random state.
        linear = torch.nn.utils.skip_init(
            torch.nn.Linear, weight.shape[1], weight.shape[0], dtype=getattr(torch, dtype)
        )
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weight))
            linear.bias.copy_(torch.tensor(bias))
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1]).eval()


def lookup_arrays(p: CPWL, dtype: Dtype) -> dict[str, NDArray[Any]]:
    """What `Lookup` needs: the tables of C code of form "grid"."""
    body = lookup_tables(p, dtype)
    if isinstance(body, GridTables):
        found: dict[str, NDArray[Any]] = {"values": body.values}
        found["steps"] = np.array([axis.steps for axis in body.axes], dtype=np.int64)
        for i, axis in enumerate(body.axes):
            found |= {f"points_{i}": axis.points, f"scale_{i}": axis.scale}
            found |= {} if axis.even else {f"down_{i}": np.array(axis.down)}
        return found
    tree = body.tree
    assert tree.buckets is not None
    rows = body.planes[tree.plane] if len(tree.plane) else np.zeros((1, p.dim + 1), dtype=dtype)
    return {
        "lines": body.lines,
        "counts": np.array(tree.buckets.counts, dtype=np.int64),
        "roots": tree.roots,
        "planes": rows,
        "children": tree.children if len(tree.plane) else np.zeros((1, 2), dtype=np.int64),
        "laws": body.laws,
        "depth": np.array(tree.depth),
    }


def from_torch(module: torch.nn.Module, *, shape: Sequence[int] | None = None) -> Network:
    """The network of a module made of `Sequential`, `Linear`, `ReLU` and other layers that are piecewise linear.

    Those are `LeakyReLU`, `PReLU`, `ReLU6`, `Hardtanh`, `Conv1d`, `Conv2d`, `Conv3d`, `BatchNorm1d`, `BatchNorm2d`,
    `AvgPool2d`, `MaxPool2d`, `Identity`, `Flatten` and `Dropout`. `shape` is that of one sample, without the batch;
    it is needed where the first layer is a convolution. Weights are taken at their exact value. `Dropout` and
    `BatchNorm` must be in evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module
        The module. One with a `forward` of its own, or with hooks, may compute anything and is refused.
    shape : sequence of int, optional
        The shape of one sample, without the batch.

    Returns
    -------
    Network
        A plain chain of affine maps with ReLU between.
    """
    _check_module(module)
    _check_global_hooks()
    layers = list(_layers(module, ""))
    sample = _sample_shape(layers) if shape is None else tuple(int(size) for size in shape)
    tape = Tape(math.prod(sample))
    x = tape.input((1, *sample))
    for place, layer in layers:
        try:
            x = apply_layer(tape, x, layer)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{place} does not fit an input of shape {x.shape[1:]}: {error}", module=place) from None
    return network_of(tape, x)


def _layers(module: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The layers in order, each with its place, all of them of a kind that we know."""
    nn = _torch().nn
    where = f"module `{name}` ({type(module).__name__})" if name else f"the module ({type(module).__name__})"
    if module._forward_hooks or module._forward_pre_hooks:
        raise InputError(f"{where} has hooks, which may compute anything; remove them first", module=name)
    # A subclass, a class or a module with a `forward` of its own may compute anything.
    if {"forward", "__call__", "_call_impl"} & module.__dict__.keys() or _is_foreign(type(module), "__call__"):
        raise InputError(f"{where} has been given a `forward` or `__call__` of its own, which may compute anything")
    known = [nn.Sequential, *layer_kinds()]
    kind = next((k for k in known if isinstance(module, k) and type(module).forward is k.forward), None)
    if kind is not None and _is_foreign(kind, "forward"):
        raise InputError(f"{where}: the `forward` of {kind.__name__} is not PyTorch's own", module=name)
    if kind is None:
        names = ", ".join(k.__name__ for k in known)
        raise InputError(f"{where} is not one of {names}", module=name)
    if kind is nn.Sequential:
        # Not `named_children`, which leaves out a module that occurs again, such as one ReLU used throughout.
        for i, child in enumerate(module):
            yield from _layers(child, f"{name}.{i}" if name else str(i))
    else:
        check_layer(module, where, name)
        yield where, module


def _is_foreign(kind: Any, method: str) -> bool:
    """Whether a method of a class was not written by PyTorch."""
    return not str(getattr(getattr(kind, method), "__module__", "")).startswith("torch.nn.")


def _check_module(module: Any) -> None:
    if not isinstance(module, _torch().nn.Module):
        raise InputError(f"`from_torch` takes a torch.nn.Module, not a {type(module).__name__}")


def _check_global_hooks() -> None:
    """Refuse hooks that every module would run."""
    modules = _torch().nn.modules.module
    if modules._global_forward_hooks or modules._global_forward_pre_hooks:
        raise InputError("PyTorch has global hooks, which may compute anything; remove them first")


def _sample_shape(layers: list[tuple[str, Any]]) -> tuple[int, ...]:
    """The number of inputs of the first layer that has a number of them."""
    nn = _torch().nn
    for place, layer in layers:
        if isinstance(layer, nn.Linear):
            return (int(layer.in_features),)
        if isinstance(layer, nn.BatchNorm1d):
            return (int(layer.num_features),)
        if not isinstance(layer, (nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.Hardtanh, nn.Identity, nn.Flatten, nn.Dropout)):
            message = f"{place} needs the shape of a sample: write from_torch(module, shape=(1, 28, 28))"
            raise InputError(message, module=place)
    raise InputError("there is no layer with weights; write from_torch(module, shape=(n,))")


def _torch() -> Any:
    try:
        import torch

        return torch
    except ImportError as error:
        raise LimitError("PyTorch is not installed; run `pip install torch`") from error
