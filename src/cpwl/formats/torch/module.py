"""PyTorch modules: networks out as `nn.Sequential`, and in again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cpwl.doors import check_argument
from cpwl.errors import InputError, LimitError
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.formats.torch.layers import apply_layer, check_layer, layer_kinds
from cpwl.network.network import Network
from cpwl.network.program import Tape, network_of

if TYPE_CHECKING:
    import torch

__all__ = ["from_torch", "to_torch"]

_LIMIT = 4 * 2**30


def to_torch(network: Network, *, dtype: Dtype = "float64") -> torch.nn.Sequential:
    """The network as ``Linear, ReLU, Linear, ...`` in evaluation mode, on the CPU.

    On a GPU keep TF32 off (``torch.backends.cuda.matmul.allow_tf32 = False``, the default), which rounds
    factors to 10 bits.

    Parameters
    ----------
    network : Network
        The network.
    dtype : {"float64", "float32"}
        The type of the weights, each rounded to nearest.

    Returns
    -------
    torch.nn.Sequential
        The module.
    """
    torch = _torch()
    check_argument(network, Network, "to_torch")
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
        raise LimitError("PyTorch is not installed; run `pip install 'cpwl[torch]'`") from error
