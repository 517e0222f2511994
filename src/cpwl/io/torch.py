"""PyTorch modules: networks out as `nn.Sequential`, and in again; functions out by lookup."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cpwl.compiled import Compiled, held_network
from cpwl.doors import needed
from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.io.c.grid import GridTables
from cpwl.io.c.write import lookup_tables
from cpwl.io.weights import DENSE, Dtype, check_dense_size, dense_layers
from cpwl.io.windows import KernelWindows, average, convolution, largest, normalised, reduced
from cpwl.network.network import Network
from cpwl.network.program import Tape, Tensor, network_of

if TYPE_CHECKING:
    import torch

# The PyTorch layers that keep a tensor piecewise linear.


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
        raise InputError(f"{where} must pad with zeros", module=name)
    if getattr(layer, "return_indices", False):
        raise InputError(f"{where} also returns the indices of its maxima", module=name)
    for parameter in layer.parameters():
        if not parameter.dtype.is_floating_point:
            raise InputError(f"{where}: weights must be real floats, not {parameter.dtype}", module=name)


# What each layer gives for `x`, of shape ``(1, ...)``, by its class in ``torch.nn``; a ValueError if that does not fit.
_LAYERS: dict[str, Callable[[Any, Tape, Tensor], Tensor]] = {
    "Linear": lambda layer, _, x: _affine(x, layer.weight, layer.bias),
    **dict.fromkeys(
        ("Conv1d", "Conv2d", "Conv3d"),
        lambda layer, _, x: _convolved(
            x, layer.weight, layer.bias, layer.stride, layer.padding, layer.dilation, layer.groups
        ),
    ),
    **dict.fromkeys(
        ("BatchNorm1d", "BatchNorm2d"),
        lambda layer, _, x: _normalised(x, layer.weight, layer.bias, layer.running_mean, layer.running_var, layer.eps),
    ),
    "ReLU": lambda _, tape, x: tape.relu(x),
    "LeakyReLU": lambda layer, tape, x: tape.leaky(x, np.array(layer.negative_slope, dtype=np.float64)),
    "PReLU": lambda layer, tape, x: _leaky(tape, x, layer.weight),
    **dict.fromkeys(("ReLU6", "Hardtanh"), lambda layer, tape, x: tape.clip(x, layer.min_val, layer.max_val)),
    **dict.fromkeys(
        [f"{kind}Pool{n}d" for kind in ("Avg", "Max") for n in (1, 2, 3)],
        lambda layer, tape, x: _pooled(tape, x, layer),
    ),
    "Identity": lambda _, __, x: x,
    "Flatten": lambda _, __, x: x.take(x.numbers.reshape(1, -1)),
    "Dropout": lambda _, __, x: x,
}


def _affine(x: Tensor, weight: Any, bias: Any = None) -> Tensor:
    return _plus(x.matmul(_array(weight).T), bias, 1)


def _leaky(tape: Tape, x: Tensor, slopes: Any) -> Tensor:
    """One slope for all negative entries, or one for each channel."""
    slope = _array(slopes)
    return tape.leaky(x, slope if slope.size == 1 else slope.reshape((1, -1) + (1,) * (len(x.shape) - 2)))


def _convolved(
    x: Tensor, kernel: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    weight = _array(kernel)
    n, channels = weight.ndim - 2, weight.shape[1] * groups
    if len(x.shape) != n + 2 or x.shape[1] != channels:
        raise ValueError(f"it convolves {channels} channels of {n} dimensions")
    size, steps = weight.shape[2:], _each(dilation, n)
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(steps, size, strict=True)]
        before, after = [t // 2 for t in total], [t - t // 2 for t in total]
    else:
        before = after = [0] * n if padding == "valid" else _each(padding, n)
    windows = KernelWindows.slide(
        x.shape[2:], size, strides=_each(stride, n), dilations=steps, before=before, after=after
    )
    result = x.linear(convolution(windows, weight, groups), (1, len(weight), *windows.shape))
    return _plus(result, bias, n + 1)


def _normalised(x: Tensor, weight: Any, bias: Any, mean: Any, variance: Any, eps: float) -> Tensor:
    if x.shape[1] != len(mean):
        raise ValueError(f"it normalises {len(mean)} features")
    scale, offset = (None if part is None else _array(part) for part in (weight, bias))
    return normalised(x, _array(variance) + eps, _array(mean), scale, offset)


def _pooled(tape: Tape, x: Tensor, layer: Any) -> Tensor:
    n = int(type(layer).__name__[-2])
    if len(x.shape) != n + 2:
        raise ValueError(f"it pools channels of {n} dimensions")
    padding = _each(layer.padding, n)
    windows = KernelWindows.slide(
        x.shape[2:],
        _each(layer.kernel_size, n),
        strides=_each(layer.stride, n),
        dilations=_each(getattr(layer, "dilation", 1), n),
        before=padding,
        after=padding,
        ceil=layer.ceil_mode,
    )
    shape = (*x.shape[:2], *windows.shape)
    if not hasattr(layer, "dilation"):  # averages
        if layer.ceil_mode or getattr(layer, "divisor_override", None):
            raise ValueError("`ceil_mode` and `divisor_override` are not read")
        return x.linear(average(windows, x.shape[1], count_padding=layer.count_include_pad), shape)
    return largest(tape, x, windows)


def _plus(x: Tensor, bias: Any, dimensions: int) -> Tensor:
    return x if bias is None else x.plus(_array(bias).reshape(-1, *(1 for _ in range(dimensions - 1))))


def _each(value: Any, n: int) -> list[int]:
    """One integer for each of `n` dimensions."""
    given = [int(v) for v in value] if isinstance(value, (tuple, list)) else [int(value)]
    return given * n if len(given) == 1 else given


def _array(parameter: Any) -> NDArray[np.float64]:
    import torch

    return np.asarray(parameter.detach().cpu().to(torch.float64).numpy())


def to_torch(network: Network | Compiled | CPWL, *, dtype: Dtype = "float64") -> torch.nn.Module:
    """The network as ``Linear, ReLU, Linear, ...``, or a function by lookup; in evaluation mode, on the CPU.

    A function (`CPWL`) becomes a `cpwl.io.lookup.Lookup`, which finds the piece by the tables of
    ``to_c(p, form="grid")``, without a network. It is faster for large batches, and has gradients almost everywhere.

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
    check_dense_size(network, dtype, DENSE, "that we build")
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
    """The network of a module that is piecewise linear, with every weight at its exact value.

    `Sequential` may contain `Linear`, `ReLU`, `LeakyReLU`, `PReLU`, `ReLU6`, `Hardtanh`, `Conv1d` to `Conv3d`,
    `BatchNorm1d`, `BatchNorm2d`, pooling by averages and maxima, `Identity`, `Flatten` and `Dropout`. A module with a
    `forward` of its own is traced by `torch.export`; sums, products with constants, maxima, minima, slices and
    concatenations are read, too. `Dropout` and `BatchNorm` must be in evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module
        The module. One with hooks, or whose `forward` was replaced on the object, is refused.
    shape : sequence of int, optional
        The shape of one sample, without the batch. It is needed where the first layer is not `Linear`.

    Returns
    -------
    Network
        A plain chain of affine maps with ReLU between.
    """
    _check_module(module)
    if any(not type(part).__module__.startswith("torch.nn.") for part in module.modules()):
        return _traced(module, shape)
    layers = list(_layers(module, ""))
    sample = _sample_shape(layers) if shape is None else tuple(int(size) for size in shape)
    tape = Tape(math.prod(sample))
    x = tape.input((1, *sample))
    for place, kind, layer in layers:
        try:
            x = _LAYERS[kind](layer, tape, x)
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{place} does not fit an input of shape {x.shape[1:]}: {error}", module=place) from None
    return network_of(tape, x)


def _layers(module: Any, name: str) -> Iterator[tuple[str, str, Any]]:
    """The layers in order, each with its place and its kind, all of them of a kind that we know."""
    nn = _torch().nn
    where = _check_calls(module, name)
    known = [nn.Sequential, *(getattr(nn, kind) for kind in _LAYERS)]
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
        yield where, kind.__name__, module


def _check_calls(module: Any, name: str) -> str:
    """Where the module is; hooks, and what was put in the place of a method, may compute anything and are refused."""
    where = f"module `{name}` ({type(module).__name__})" if name else f"the module ({type(module).__name__})"
    if module._forward_hooks or module._forward_pre_hooks:
        raise InputError(f"{where} has hooks, which may compute anything; remove them first", module=name)
    if {"forward", "__call__", "_call_impl"} & module.__dict__.keys() or _is_foreign(type(module), "__call__"):
        raise InputError(f"{where} has been given a `forward` or `__call__` of its own, which may compute anything")
    return where


def _is_foreign(kind: Any, method: str) -> bool:
    """Whether a method of a class was not written by PyTorch."""
    return not str(getattr(getattr(kind, method), "__module__", "")).startswith("torch.nn.")


def _check_module(module: Any) -> None:
    """Refuse what is not a module, and hooks that every module would run."""
    nn = _torch().nn
    if not isinstance(module, nn.Module):
        raise InputError(f"`from_torch` takes a torch.nn.Module, not a {type(module).__name__}")
    if nn.modules.module._global_forward_hooks or nn.modules.module._global_forward_pre_hooks:
        raise InputError("PyTorch has global hooks, which may compute anything; remove them first")


def _sample_shape(layers: list[tuple[str, str, Any]]) -> tuple[int, ...]:
    """The number of inputs of the first layer that has a number of them."""
    for place, kind, layer in layers:
        if kind in ("Linear", "BatchNorm1d"):
            return (int(layer.in_features if kind == "Linear" else layer.num_features),)
        if "Conv" in kind or "Norm" in kind or "Pool" in kind:
            message = f"{place} needs the shape of a sample: write from_torch(module, shape=(1, 28, 28))"
            raise InputError(message, module=place)
    raise InputError("there is no layer with weights; write from_torch(module, shape=(n,))")


# Modules with a `forward` of their own: `torch.export` lists their operations, which are read one by one.


_BATCH = 3  # samples of the trace: what looks at several of them at once changes the first dimension


def _traced(module: Any, shape: Sequence[int] | None) -> Network:
    """The network of any module, by its operations on a batch; every step must treat each sample by itself."""
    torch = _torch()
    for name, part in module.named_modules():
        _check_calls(part, name)
    if shape is None:
        first = next((part for part in module.modules() if isinstance(part, torch.nn.Linear)), None)
        if first is None:
            raise InputError("the shape of a sample is not known: write from_torch(module, shape=(1, 28, 28))")
        shape = (first.in_features,)
    sample = tuple(int(size) for size in shape)
    dtype = next((part.dtype for part in module.parameters()), torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = (torch.zeros((_BATCH, *sample), dtype=dtype),)
            program = torch.export.export(module, given).run_decompositions({})
    except Exception as error:  # whatever a module and the tracer may raise
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(f"`torch.export` cannot trace the module on samples of shape {sample}: {said:.200}") from None
    tape = Tape(math.prod(sample))
    return network_of(tape, _run(program, tape, tape.input((1, *sample))))


def _run(program: Any, tape: Tape, x: Tensor) -> Tensor:
    """What a traced program gives for one sample."""
    torch = _torch()
    signature = program.graph_signature
    if signature.buffers_to_mutate or len(signature.user_inputs) != 1 or len(signature.user_outputs) != 1:
        raise InputError("a module must have one input and one output, and change none of its buffers: call `.eval()`")
    held = {**program.constants, **program.state_dict}
    places = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    values: dict[Any, Any] = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            values[node] = x if node.name in signature.user_inputs else held[places[node.name]]
        elif node.op == "call_function":
            args, named = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            try:
                values[node] = _operation(tape, node, list(args), dict(named))
            except (ValueError, TypeError, AttributeError) as error:
                raise InputError(f"the operation `{node.target}` of the module is not supported: {error}") from None
    result = values[next(node for node in program.graph.nodes if node.op == "output").args[0][0]]
    if not isinstance(result, Tensor):
        raise InputError("the output of the module does not depend on its input")
    return result


def _operation(tape: Tape, node: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """One operation: of constants by PyTorch itself, otherwise by `_READ`."""
    torch = _torch()
    if node.target is operator.getitem:
        return _same_samples(args[0][args[1]], node)
    if not any(isinstance(value, Tensor) for value in _flat([args, list(named.values())])):
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            raise ValueError("it is random")
        with torch.no_grad():
            return node.target(*args, **named)
    name = node.target.overloadpacket.__name__
    if name not in _READ:
        raise ValueError(f"supported operations are {', '.join(sorted(_READ))}")
    found = _READ[name](_Step(tape, node), *args, **named)
    return found if isinstance(found, tuple) else _same_samples(found, node)


def _flat(value: Any) -> Iterator[Any]:
    """All members of nested lists."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _same_samples(found: Any, node: Any) -> Any:
    """The result, if it has the shape of the trace, one sample in place of all."""
    if isinstance(found, Tensor):
        traced = tuple(node.meta["val"].shape)
        if traced[:1] != (_BATCH,) or found.shape != (1, *traced[1:]):
            raise ValueError("it does not treat each sample of a batch by itself")
    return found


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation of a traced program, with what it needs to be read."""

    tape: Tape
    node: Any

    def constant(self, value: Any, x: Tensor) -> NDArray[Any]:
        """A number or a tensor of constants, the same for each sample."""
        array = np.array(value, dtype=np.float64) if isinstance(value, (int, float)) else _array(value)
        if array.ndim > len(x.shape) or (array.ndim == len(x.shape) and array.shape[0] != 1):
            raise ValueError("its constants differ from sample to sample")
        return array

    def pair(self, a: Any, b: Any) -> tuple[Tensor, Tensor | NDArray[Any]]:
        """Two operands of an operation that does not mind their order; the first depends on the input."""
        a, b = (a, b) if isinstance(a, Tensor) else (b, a)
        if not isinstance(b, Tensor):
            return a, self.constant(b, a)
        if len(a.shape) != len(b.shape):
            raise ValueError(f"its operands have {len(a.shape)} and {len(b.shape)} dimensions")
        return a, b

    def add(self, a: Any, b: Any, alpha: float = 1) -> Tensor:
        if alpha != 1:
            b = b.times(np.array(float(alpha))) if isinstance(b, Tensor) else b * alpha
        first, second = self.pair(a, b)
        return first.plus(second)

    def mul(self, a: Any, b: Any) -> Tensor:
        first, second = self.pair(a, b)
        if isinstance(second, Tensor):
            raise ValueError("a product of two values that depend on the input is not piecewise linear")
        return first.times(second)

    def div(self, a: Any, b: Any, **_: Any) -> Tensor:
        if isinstance(b, Tensor) or _:
            raise ValueError("only quotients by constants, without rounding, are piecewise linear")
        result: Tensor = a.times(np.asarray(1 / fraction_array(self.constant(b, a))))
        return result

    def matmul(self, x: Any, weight: Any) -> Tensor:
        if isinstance(weight, Tensor) or weight.dim() > 2:
            raise ValueError("only products of the input's side with a constant matrix are read")
        return Tensor.matmul(x, _array(weight))

    def addmm(self, bias: Any, x: Any, weight: Any) -> Tensor:
        return self.add(self.matmul(x, weight), bias)

    def clamp(self, x: Tensor, low: Any = None, high: Any = None, **ends: Any) -> Tensor:
        return self.tape.clip(x, ends.get("min", low), ends.get("max", high))

    def dropout(self, x: Tensor, share: float, training: bool) -> Tensor:
        if training and share:
            raise ValueError("it is random in training mode; call `.eval()` first")
        return x

    def moved(self, given: Any, *how: Any, **named: Any) -> Any:
        """Entries are moved about: what PyTorch does with their numbers it does with them, in each sample alike."""
        torch, parts = _torch(), given if isinstance(given, list) else [given]
        if not all(isinstance(part, Tensor) for part in parts):
            raise ValueError("it joins the input with constants")
        if any(isinstance(value, Tensor) for value in _flat([how, list(named.values())])):
            raise ValueError("it takes an index that depends on the input")
        joint, places = self.tape.joined(parts)
        step = len(joint.forms)
        numbers = [torch.from_numpy(np.concatenate([own + step * k for k in range(_BATCH)])) for own in places]
        found = self.node.target(numbers if parts is given else numbers[0], *how, **named)
        results = [each.numpy() for each in (found if isinstance(found, (list, tuple)) else [found])]
        for each in results:
            if len(each) != _BATCH or any((each[k] != each[0] + step * k).any() for k in range(_BATCH)):
                raise ValueError("it does not treat each sample of a batch by itself")
        taken = tuple(joint.take(each[:1]) for each in results)
        return taken if isinstance(found, (list, tuple)) else taken[0]

    def axis(self, x: Tensor, dim: int) -> int:
        if dim % len(x.shape) == 0:
            raise ValueError("it works along the samples")
        return dim % len(x.shape)

    def axes(self, x: Tensor, dims: Any) -> list[int]:
        """The axes that are meant, all but that of the samples if none is named."""
        given = [dims] if isinstance(dims, int) else list(dims or [])
        return sorted({self.axis(x, dim) for dim in given} or set(range(1, len(x.shape))))

    def sum(self, x: Tensor, dims: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
        return reduced(x, self.axes(x, dims), keep=keepdim, mean=False)

    def mean(self, x: Tensor, dims: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
        return reduced(x, self.axes(x, dims), keep=keepdim, mean=True)

    def amax(self, x: Tensor, dims: Any = (), keepdim: bool = False) -> Tensor:
        axes = self.axes(x, dims)
        rest = [k for k in range(len(x.shape)) if k not in axes]
        shape = tuple(1 if k in axes else size for k, size in enumerate(x.shape) if keepdim or k not in axes)
        rows = x.numbers.transpose([*rest, *axes]).reshape(math.prod(shape), -1)
        best = self.tape.largest([x.take(rows[:, k]) for k in range(rows.shape[1])])
        return best.take(best.numbers.reshape(shape))

    def amin(self, x: Tensor, dims: Any = (), keepdim: bool = False) -> Tensor:
        return -self.amax(-x, dims, keepdim)

    def pool(self, x: Tensor, kernel: Any, stride: Any = None, *options: Any, **named: Any) -> Tensor:
        """Pooling by a layer: averages and maxima have the same order of options there."""
        kind = self.node.target.overloadpacket.__name__
        layer = getattr(_torch().nn, {"avg": "AvgPool", "max": "MaxPool"}[kind[:3]] + kind[-2:])
        names = ["padding", "ceil_mode", "count_include_pad", "divisor_override"]
        if kind.startswith("max"):
            names = ["padding", "dilation", "ceil_mode"]
        given = dict(zip(names, options, strict=False)) | named
        return _pooled(self.tape, x, layer(kernel, stride or kernel, **given))

    def adaptive(self, x: Tensor, size: list[int]) -> Tensor:
        if any(v != 1 for v in size):
            raise ValueError("only averages over a whole image are read")
        return self.mean(x, list(range(2, len(x.shape))), True)


_MOVING = """_unsafe_view cat expand flatten flip index index_select permute repeat reshape roll select slice split
split_with_sizes squeeze stack t transpose unbind unsqueeze view"""
_READ: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(["add", "add_"], _Step.add),
    "sub": lambda step, x, y, alpha=1: step.add(x, y, -alpha),
    "rsub": lambda step, x, y: step.add(y, x, -1),
    "mul": _Step.mul,
    "div": _Step.div,
    "neg": lambda _, x: -x,
    "abs": lambda step, x: step.tape.absolute(x),
    "relu": lambda step, x: step.tape.relu(x),
    "relu6": lambda step, x: step.tape.clip(x, 0, 6),
    "leaky_relu": lambda step, x, slope=0.01: step.tape.leaky(x, np.array(slope, dtype=np.float64)),
    "prelu": lambda step, x, slopes: _leaky(step.tape, x, slopes),
    "hardtanh": lambda step, x, low=-1, high=1: step.tape.clip(x, low, high),
    "clamp": _Step.clamp,
    "clamp_min": _Step.clamp,
    "clamp_max": lambda step, x, high: step.tape.clip(x, None, high),
    "maximum": lambda step, x, y: step.tape.maximum(*step.pair(x, y)),
    "minimum": lambda step, x, y: step.tape.minimum(*step.pair(x, y)),
    "linear": lambda _, *given: _affine(*given),
    **dict.fromkeys(["matmul", "mm"], _Step.matmul),
    "addmm": _Step.addmm,
    "dropout": _Step.dropout,
    **dict.fromkeys(["clone", "contiguous", "alias", "detach", "lift_fresh_copy"], lambda _, x, **__: x),
    **dict.fromkeys(_MOVING.split(), _Step.moved),
    "sum": _Step.sum,
    "mean": _Step.mean,
    "amax": _Step.amax,
    "amin": _Step.amin,
    **dict.fromkeys(["conv1d", "conv2d", "conv3d"], lambda _, *given, **named: _convolved(*given, **named)),
    "_native_batch_norm_legit_no_training": lambda _, x, scale, offset, mean, variance, *more: (
        _normalised(x, scale, offset, mean, variance, more[-1]),
    ),
    **dict.fromkeys([f"{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)], _Step.pool),
    **dict.fromkeys([f"adaptive_avg_pool{n}d" for n in (1, 2, 3)], _Step.adaptive),
}


def _torch() -> Any:
    return needed("torch", "this")
