"""PyTorch modules: networks out as `nn.Sequential`, and in again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cpwl.errors import InputError, LimitError
from cpwl.formats.chain import Linear, Relu, Shift, Step, network_from_steps
from cpwl.formats.dense import Precision, check_dense_size, dense_layers
from cpwl.network.network import Network

if TYPE_CHECKING:
    import torch

__all__ = ["from_torch", "to_torch"]

_LIMIT = 4 * 2**30


def to_torch(network: Network, *, dtype: Precision = "float64") -> torch.nn.Sequential:
    """The network as ``Linear, ReLU, Linear, ...`` in evaluation mode, on the CPU.

    On a GPU keep TF32 off (``torch.backends.cuda.matmul.allow_tf32 = False``, the default), which rounds
    factors to 10 bits.
    """
    torch = _torch()
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


def from_torch(module: torch.nn.Module) -> Network:
    """The network of a module made of `Sequential`, `Linear`, `ReLU`, `Identity`, `Flatten` and `Dropout`.

    Weights are taken at their exact value. `Dropout` must be in evaluation mode.
    """
    _torch()
    return network_from_steps(list(_steps(module, "")))


def _steps(module: Any, name: str) -> Iterator[Step]:
    nn = _torch().nn
    # A subclass with a `forward` of its own may compute anything.
    known = (nn.Sequential, nn.Linear, nn.ReLU, nn.Identity, nn.Flatten, nn.Dropout)
    kind = next((k for k in known if isinstance(module, k) and type(module).forward is k.forward), None)
    where = f"module `{name}` ({type(module).__name__})" if name else f"the module ({type(module).__name__})"
    if module._forward_hooks or module._forward_pre_hooks:
        raise InputError(f"{where} has hooks, which may compute anything; remove them first", module=name)
    if kind is nn.Sequential:
        # Not `named_children`, which leaves out a module that occurs again, such as one ReLU used throughout.
        for i, child in enumerate(module):
            yield from _steps(child, f"{name}.{i}" if name else str(i))
    elif kind is nn.Linear:
        yield Linear(_array(module.weight))
        if module.bias is not None:
            yield Shift(_array(module.bias))
    elif kind is nn.ReLU:
        yield Relu()
    elif kind is nn.Flatten and (module.start_dim, module.end_dim) != (1, -1):
        raise InputError(f"{where} must flatten all but the first dimension", module=name)
    elif kind is nn.Dropout and module.training and module.p > 0:
        raise InputError(f"{where} is random in training mode; call `.eval()` first", module=name)
    elif kind is None:
        names = ", ".join(k.__name__ for k in known)
        raise InputError(f"{where} is not one of {names}", module=name)


def _array(parameter: Any) -> Any:
    torch = _torch()
    if not parameter.dtype.is_floating_point:
        raise InputError(f"weights must be real floats, not {parameter.dtype}")
    return parameter.detach().cpu().to(torch.float64).numpy()


def _torch() -> Any:
    try:
        import torch

        return torch
    except ImportError as error:
        raise LimitError("PyTorch is not installed; run `pip install 'cpwl[torch]'`") from error
