"""Networks from ONNX files: whatever keeps a function piecewise linear, taken at its exact value."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError, LimitError, check_memory
from cpwl.files import read_bytes
from cpwl.io.onnx.operators import (
    FLOATS,
    HANDLERS,
    Node,
    NodeError,
    Value,
    array_of,
    check_node,
    check_opset,
    reference,
    type_name,
)
from cpwl.network.network import Network, run_in
from cpwl.network.program import Tape, Tensor, network_of

# Reading an ONNX graph: constants are computed, everything else becomes neurons and forms in them.


# How large would it be? Asked of shapes, before anything of that shape is made: a small file may ask for anything.


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


def _range(given: list[Value], _: dict[str, Any]) -> int:
    start, limit, step = (float(np.asarray(v).ravel()[0]) for v in given)
    return math.ceil(max(0.0, (limit - start) / step)) if step else 2**62


def _pad(given: list[Value], attributes: dict[str, Any]) -> int:
    x = given[0]
    pads = attributes.get("pads") or attributes.get("paddings") or (_integers(given[1]) if len(given) > 1 else [])
    axes = _integers(given[-1]) if len(given) > 2 and 2 * _size(given[-1]) == len(pads) else range(len(x.shape))
    sizes = list(x.shape)
    for axis, before, after in zip(axes, pads, pads[len(pads) // 2 :], strict=False):
        sizes[axis] += max(0, before) + max(0, after)
    return math.prod(sizes)


_ESTIMATES: dict[str, Callable[[list[Value], dict[str, Any]], int]] = {
    **dict.fromkeys(
        ("Add", "Div", "Equal", "Max", "Mean", "Min", "Mul", "PRelu", "Pow", "Sub", "Sum", "Where"), _broadcast
    ),
    "MatMul": _product,
    "Concat": lambda given, _: sum(map(_size, given)),
    "ConstantOfShape": lambda given, _: math.prod(max(v, 0) for v in _integers(given[0])),
    "Expand": lambda given, _: _size(given[0]) * math.prod(max(v, 1) for v in _integers(given[1])),
    "Gather": lambda given, named: _size(given[0]) // max(1, given[0].shape[named.get("axis", 0)]) * _size(given[1]),
    "Pad": _pad,
    "Range": _range,
    "Tile": lambda given, _: _size(given[0]) * math.prod(max(v, 0) for v in _integers(given[1])),
}


# Does a file compute what it says layer by layer, as our networks are run, or in some other way?
#
# A bound on the rounding of a network is one for products with the weights, summed in any order with the bias, and
# ReLUs between. A file whose nodes are just these is bounded by it. One that adds 1e8 and takes it away again is
# the same function in exact arithmetic, and another one in floats: for it there is no such bound.


# These keep every entry once, whatever its place.
_PERMUTING = frozenset(("Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"))


# How far the layer at hand has come after a node: "activation", its "product", or its "sum" with the bias.
_LAYERED = {("MatMul", "activation"): "product", ("Gemm", "activation"): "sum", ("Add", "product"): "sum"}


def layered_after(op: str, operands: Sequence[str | None], attributes: dict[str, Any]) -> str | None:
    """Where the layer stands after a node that reads such tensors; None for what is no layer of that kind.

    >>> layered_after("MatMul", ["activation"], {})
    'product'
    >>> layered_after("Add", ["sum"], {}) is None
    True
    """
    if len(operands) != 1 or operands[0] is None:
        return None
    if op in _PERMUTING:
        return operands[0]
    if op == "Gemm" and not attributes.get("alpha", 1.0) == attributes.get("beta", 1.0) == 1:
        return None
    return "activation" if op == "Relu" else _LAYERED.get((op, operands[0]))


# What may be computed from constants alone; nothing random, nothing with a graph inside.
_FOLDED = frozenset(
    """
    Abs Add Cast Concat ConstantOfShape DequantizeLinear Div Equal Expand Flatten Floor Gather Identity Max Min Mul Neg
    Pow Range Reciprocal ReduceProd Reshape Shape Slice Split Sqrt Squeeze Sub Sum Tile Transpose Unsqueeze Where
    """.split()  # noqa: SIM905 - one word a line would hide the list
)
# Of these the ones that take integers beyond the largest one of their type, where runtimes differ.
_WRAPPING = frozenset({"Abs", "Add", "Cast", "Div", "Mul", "Neg", "Pow", "ReduceProd", "Sub", "Sum"})
# The last dimension of what these read is that of their constant.
_SIZING = {"Gemm", "MatMul", "Add", "Sub", "Mul", "Div"}


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of each name so far: its value; for what depends on the input, its type and its way to it."""

    opset: int
    tape: Tape
    values: dict[str, Value]
    kinds: dict[str, int] = field(default_factory=dict)
    layered: dict[str, str | None] = field(default_factory=dict)

    def kind(self, name: str) -> int | None:
        """The element type of a value; None where it is left out."""
        value = self.values.get(name)
        if name in self.kinds or value is None:
            return self.kinds.get(name)
        assert not isinstance(value, Tensor)
        return int(helper.np_dtype_to_tensor_dtype(value.dtype))


def compute(model: onnx.ModelProto, path: str) -> tuple[Tape, Tensor, tuple[str, ...]]:
    """The output of the graph of a model, which was read from `path`, as forms in the neurons of a tape; and the types
    in which the file computes just these layers, one after the other: none for any other way to the same function."""
    graph = model.graph
    try:
        opset = check_opset(model)
        _check_names(graph)
        constants: dict[str, Value] = {tensor.name: array_of(tensor) for tensor in graph.initializer}
    except NodeError as error:
        raise InputError(f"`{path}` is damaged: it {error}", path=path) from None
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        counts = f"{len(inputs)} inputs and {len(graph.output)} outputs"
        raise InputError(f"`{path}` has {counts}; a network has one of each", path=path)
    name, kind = inputs[0].name, inputs[0].type.tensor_type.elem_type
    if kind not in FLOATS:
        raise InputError(f"`{path}`: the input `{name}` is of type {type_name(kind)}, not floating point", path=path)
    shape = _input_shape(inputs[0], graph, constants, path)
    check_entries(math.prod(shape), f"`{path}`: the input `{name}`")
    tape = Tape(math.prod(shape))
    known = _Known(opset, tape, {**constants, name: tape.input(shape)}, {name: kind}, {name: "activation"})
    used = _used(graph)
    for number, proto in enumerate(graph.node):
        if number in used:
            _run(proto, number, known, path)
    return _output(known, graph, path)


def _run(proto: onnx.NodeProto, number: int, known: _Known, path: str) -> None:
    """Evaluates a node; what is wrong with it is said with its name."""
    name = proto.name or f"number {number}"
    place = f"`{path}`: node `{name}` ({proto.op_type})"
    details = {"path": path, "node": name, "op": proto.op_type}
    try:
        _evaluate(proto, known)
    except NodeError as error:
        raise InputError(f"{place} {error}", **details) from None
    except LimitError as error:
        raise LimitError(f"{place}: {error}", **details) from None


def _check_names(graph: onnx.GraphProto) -> None:
    """Every name stands for one value: of an initializer (which an input may stand for, too), an input, or a node."""
    if graph.sparse_initializer:
        name = graph.sparse_initializer[0].values.name
        raise NodeError(f"has a sparse tensor `{name}`, which we do not read; save it with dense initializers")
    initializers = [tensor.name for tensor in graph.initializer]
    inputs = [value.name for value in graph.input]
    given = [name for proto in graph.node for name in proto.output if name]
    seen: set[str] = set()
    for name in (*initializers, *(n for n in inputs if n not in set(initializers)), *given):
        if name in seen or not name:
            raise NodeError(f"gives the name `{name}` to two values" if name else "has a value without a name")
        seen.add(name)
    if len(set(inputs)) < len(inputs):
        raise NodeError("has two inputs of one name")


def _output(known: _Known, graph: onnx.GraphProto, path: str) -> tuple[Tape, Tensor, tuple[str, ...]]:
    name = graph.output[0].name
    result = known.values.get(name)
    if result is None:
        raise InputError(f"`{path}`: no node computes the output `{name}`", path=path)
    if not isinstance(result, Tensor):
        raise InputError(f"`{path}`: the output `{name}` does not depend on the input", path=path)
    if not len(result.forms):
        raise InputError(f"`{path}`: the output `{name}` is empty: its shape is {result.shape}", path=path)
    kinds = {FLOATS[kind].name for kind in known.kinds.values()}
    return known.tape, result, tuple(kinds) if known.layered.get(name) is not None and len(kinds) == 1 else ()


def _used(graph: onnx.GraphProto) -> set[int]:
    """The nodes that the output depends on."""
    wanted, used = {graph.output[0].name}, set()
    for number in range(len(graph.node) - 1, -1, -1):
        if wanted.intersection(graph.node[number].output):
            used.add(number)
            wanted.update(graph.node[number].input)
    return used


def _input_shape(
    value: onnx.ValueInfoProto, graph: onnx.GraphProto, constants: Mapping[str, Any], path: str
) -> tuple[int, ...]:
    """The shape of one sample, with 1 for a first dimension that is open."""
    kind = value.type.tensor_type
    sizes: list[int | None] = [None, None]
    if kind.HasField("shape"):
        sizes = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None for d in kind.shape.dim]
    if len(sizes) > 1 and sizes[0] is None:
        sizes[0] = 1
    if None in sizes and sizes[:-1].count(None) == 0:
        sizes[-1] = _size_from_weights(value.name, graph, constants)
    if not all(sizes):
        message = f"`{path}`: the input `{value.name}` has open dimensions other than the first; fix its shape"
        raise InputError(message, path=path)
    return tuple(size for size in sizes if size is not None)


def _size_from_weights(name: str, graph: onnx.GraphProto, constants: Mapping[str, Any]) -> int | None:
    """The size of the last dimension of the input, as the first node that meets it with constants says."""
    reached = {name}
    for proto in graph.node:
        if not reached.intersection(proto.input):
            continue
        weights = [constants[i] for i in proto.input if i in constants]
        weights = [w for w in weights if w.ndim and w.size > 1] or [w for w in weights if w.ndim]
        if proto.op_type in _SIZING and weights:
            transposed = any(a.name == "transB" and a.i for a in proto.attribute)
            first = proto.op_type in ("Gemm", "MatMul") and not transposed
            return int(weights[0].shape[0 if first else -1])
        reached.update(proto.output)
    return None


def _evaluate(proto: onnx.NodeProto, known: _Known) -> None:
    """Computes the outputs of a node and puts them among the values."""
    if proto.domain not in ("", "ai.onnx"):
        raise NodeError(f"is of the domain `{proto.domain}`, and we read standard operations only")
    missing = [name for name in proto.input if name and name not in known.values]
    if missing:
        raise NodeError(f"reads `{missing[0]}`, which no earlier node computes")
    operands = [known.values[name] if name else None for name in proto.input]
    read = [name for name, value in zip(proto.input, operands, strict=True) if isinstance(value, Tensor)]
    _check_operator(proto.op_type, bool(read))
    check_node(proto, [known.kind(name) for name in proto.input], known.opset)
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    if proto.op_type == "Constant":
        results: list[Any] = [_constant(attributes)]
    elif proto.op_type == "Shape" and read:
        ends = slice(attributes.get("start", 0), attributes.get("end", len(known.values[read[0]].shape)))
        results = [np.array(known.values[read[0]].shape[ends], dtype=np.int64)]
    elif not read:
        results = _fold(proto, operands, attributes, known.opset)
    else:
        results = _handle(proto, operands, attributes, known, known.kinds[read[0]])
    for name, result in zip(proto.output, results, strict=False):
        if name:
            known.values[name] = result
        if name and isinstance(result, Tensor):
            known.kinds[name] = int(attributes["to"]) if proto.op_type == "Cast" else known.kinds[read[0]]
            ways = [known.layered.get(n) for n in read]
            known.layered[name] = layered_after(proto.op_type, ways, attributes)


def _check_operator(op: str, depends: bool) -> None:
    """Refuse an operator that we do not read, on what depends on the input or on constants."""
    if op not in (*HANDLERS, "Constant", "Shape") and depends:
        raise NodeError(f"is not an operation we read; we read {', '.join(sorted(HANDLERS))}, Constant, Shape")
    if op not in (*_FOLDED, "Constant") and not depends:
        raise NodeError("is not an operation that we read on constants")


def _handle(
    proto: onnx.NodeProto, operands: list[Any], attributes: dict[str, Any], known: _Known, kind: int
) -> list[Value]:
    """What a node with an operand that depends on the input gives."""
    handler = HANDLERS[proto.op_type]
    unread = sorted(attributes.keys() - handler.attributes.split())
    if unread:
        raise NodeError(f"has an attribute `{unread[0]}`, which we do not read")
    check_result(proto.op_type, operands, attributes)
    try:
        result = handler.read(Node(proto, operands, attributes, known.tape, known.opset, FLOATS[kind]))
    except ValueError as error:  # NumPy's, for shapes that do not fit
        if isinstance(error, InputError):
            raise
        shapes = ", ".join(str(value.shape) for value in operands if value is not None)
        raise NodeError(f"does not fit operands of shapes {shapes}: {error}") from None
    return result if isinstance(result, list) else [result]


def _fold(proto: onnx.NodeProto, operands: list[Any], attributes: dict[str, Any], opset: int) -> list[NDArray[Any]]:
    check_result(proto.op_type, operands, attributes)
    results = reference(proto, operands, opset)
    if proto.op_type in _WRAPPING and results[0].dtype.kind in "iu":
        _check_wrapped(proto, operands, opset, results[0])
    return results


def _check_wrapped(proto: onnx.NodeProto, operands: list[Any], opset: int, result: NDArray[Any]) -> None:
    """Refuse integers that have wrapped around: then they are off what floats give by 2^8 or more."""
    several = operands[:1] if proto.op_type == "ReduceProd" else operands  # the others are axes
    floats = [np.asarray(value, dtype=np.float64) for value in several]
    meant = floats[0] if proto.op_type == "Cast" else reference(proto, [*floats, *operands[len(floats) :]], opset)[0]
    with np.errstate(all="ignore"):
        fits = np.abs(meant - result.astype(np.float64)) <= 1 + 1e-6 * np.abs(meant)
    if not fits.all():
        value = np.asarray(meant)[~fits].flat[0]
        raise NodeError(f"computes integers that {result.dtype} cannot represent, such as {value:.6g}")


def _constant(attributes: dict[str, Any]) -> NDArray[Any]:
    if len(attributes) > 1:
        raise NodeError(f"has several values: {', '.join(sorted(attributes))}")
    if "value" in attributes:
        return array_of(attributes["value"])
    for name, kind in (("value_float", "f4"), ("value_floats", "f4"), ("value_int", "i8"), ("value_ints", "i8")):
        if name in attributes:
            return np.asarray(attributes[name], dtype=kind)
    raise NodeError("must have a tensor, float or integer value")


def from_onnx(path: str | os.PathLike[str]) -> Network:
    """Read the network of an ONNX file; its one input and its one output are flattened.

    Reads piecewise-linear operations with static shapes: products with constants (`Gemm`, `MatMul`,
    `Conv`, `AveragePool`, `BatchNormalization`), sums, skip connections, `Relu`, `LeakyRelu`, `PRelu`, `Abs`,
    `Clip`, `Max`, `Min`, `MaxPool`, and operations that rearrange entries (`Reshape`, `Transpose`, `Concat`,
    `Split`, ...). A first dimension of unspecified size is the batch and is set to 1. Weights count with their
    exact values: the network is the function in the file, in exact arithmetic. A proof about it holds for
    the file up to the rounding of the operations in the file; `Network.evaluated_in` says whether this is
    the rounding of the layers of the network.

    Parameters
    ----------
    path : path-like
        The file. External weights are read from its folder.

    Returns
    -------
    Network
        A plain chain of affine maps with ReLU between.

    Raises
    ------
    InputError
        If the file is damaged or has an unsupported operation; the message has the name and operator of the node.
    LimitError
        If a tensor has more than 2^20 entries.
    """
    check_path(path, "from_onnx")
    name = os.fspath(path)
    with within_float64():
        tape, output, types = compute(_load(name), name)
        return run_in(network_of(tape, output), types)


def _load(path: str) -> onnx.ModelProto:
    raw = read_bytes(path)
    try:
        model = onnx.load_model_from_string(raw)
    except Exception as error:  # protobuf raises classes of its own, which change between versions
        raise InputError(f"`{path}` is not an ONNX model, or is damaged: {error}", path=path) from error
    if not model.opset_import or not model.graph.node:
        raise InputError(f"`{path}` is not an ONNX model, or is cut short", path=path)
    attributes = [attribute for node in model.graph.node for attribute in node.attribute]
    held = [tensor for attribute in attributes for tensor in (attribute.t, *attribute.tensors)]
    outside = [tensor for tensor in (*model.graph.initializer, *held) if uses_external_data(tensor)]
    if outside:
        _load_outside(model, outside, path)
    return model


def _load_outside(model: onnx.ModelProto, tensors: list[Any], path: str) -> None:
    """Reads the weights that are in files of their own beside the model."""
    for tensor in tensors:
        keys = [entry.key for entry in tensor.external_data]
        if len(set(keys)) < len(keys) or tensor.HasField("raw_data"):
            raise InputError(f"`{path}` defines the weights `{tensor.name}` twice", path=path)
    size = sum(_bytes(tensor) for tensor in tensors)
    check_memory(size, f"the weights of `{path}` that are in files of their own", "Use a machine with more memory.")
    try:
        load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
    except Exception as error:  # whatever onnx raises for names that lead elsewhere, and for files that are not there
        raise InputError(f"the weights of `{path}` cannot be read: {error}", path=path) from error


def _bytes(tensor: onnx.TensorProto) -> int:
    said = next((entry.value for entry in tensor.external_data if entry.key == "length"), "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 30 else 0
