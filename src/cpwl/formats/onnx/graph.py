"""Reading an ONNX graph: constants are computed, everything else becomes neurons and forms in them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from cpwl.errors import InputError, LimitError
from cpwl.formats.onnx.layered import Layered, layered_after
from cpwl.formats.onnx.node import Node, NodeError, Value, array_of, reference
from cpwl.formats.onnx.operators import HANDLERS
from cpwl.formats.onnx.schema import check_node, check_opset
from cpwl.formats.onnx.sizes import check_entries, check_result
from cpwl.formats.onnx.types import FLOATS, type_name
from cpwl.network.program import Tape, Tensor

__all__ = ["Computed", "compute"]

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
class Computed:
    """The output of a graph as forms in the neurons of the tape; `runs_in` has the type in which the file computes
    just these layers, one after the other, and is empty for any other way to the same function."""

    tape: Tape
    output: Tensor
    runs_in: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of each name so far: its value; for what depends on the input, its type and its way to it."""

    opset: int
    tape: Tape
    values: dict[str, Value]
    kinds: dict[str, int] = field(default_factory=dict)
    layered: dict[str, Layered | None] = field(default_factory=dict)

    def kind(self, name: str) -> int | None:
        """The element type of a value; None where it is left out."""
        value = self.values.get(name)
        if name in self.kinds or value is None:
            return self.kinds.get(name)
        assert not isinstance(value, Tensor)
        return int(helper.np_dtype_to_tensor_dtype(value.dtype))


def compute(model: onnx.ModelProto, path: str) -> Computed:
    """The output of the graph of a model, which was read from `path`."""
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
    known = _Known(opset, tape, {**constants, name: tape.input(shape)}, {name: kind}, {name: Layered.ACTIVATION})
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


def _output(known: _Known, graph: onnx.GraphProto, path: str) -> Computed:
    name = graph.output[0].name
    result = known.values.get(name)
    if result is None:
        raise InputError(f"`{path}`: no node gives the output `{name}`", path=path)
    if not isinstance(result, Tensor):
        raise InputError(f"`{path}`: the output `{name}` does not depend on the input", path=path)
    if not len(result.forms):
        raise InputError(f"`{path}`: the output `{name}` is empty: its shape is {result.shape}", path=path)
    return Computed(known.tape, result, _types(known, name))


def _types(known: _Known, output: str) -> tuple[str, ...]:
    kinds = {FLOATS[kind].name for kind in known.kinds.values()}
    return tuple(kinds) if known.layered.get(output) is not None and len(kinds) == 1 else ()


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
        raise NodeError(f"reads `{missing[0]}`, which nothing before it gives")
    operands = [known.values[name] if name else None for name in proto.input]
    read = [name for name, value in zip(proto.input, operands, strict=True) if isinstance(value, Tensor)]
    _check_operator(proto.op_type, bool(read))
    check_node(proto, [known.kind(name) for name in proto.input], known.opset)
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    if proto.op_type == "Constant":
        results: list[Any] = [_constant(attributes)]
    elif proto.op_type == "Shape" and read:
        results = [_shape(attributes, operands[0])]
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
    unread = sorted(name for name in attributes if name not in handler.attributes)
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
        raise NodeError(f"gives integers that {result.dtype} does not hold, such as {value:.6g}")


def _shape(attributes: dict[str, Any], value: Any) -> NDArray[Any]:
    ends = slice(attributes.get("start", 0), attributes.get("end", len(value.shape)))
    return np.array(value.shape[ends], dtype=np.int64)


def _constant(attributes: dict[str, Any]) -> NDArray[Any]:
    if len(attributes) > 1:
        raise NodeError(f"has several values: {', '.join(sorted(attributes))}")
    if "value" in attributes:
        return array_of(attributes["value"])
    for name, kind in (("value_float", "f4"), ("value_floats", "f4"), ("value_int", "i8"), ("value_ints", "i8")):
        if name in attributes:
            return np.asarray(attributes[name], dtype=kind)
    raise NodeError("must have a tensor, float or integer value")
