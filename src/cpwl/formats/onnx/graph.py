"""Reading an ONNX graph: constants are computed, everything else becomes neurons and forms in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from cpwl.errors import InputError
from cpwl.formats.onnx.node import Node, NodeError, Value, array_of, reference
from cpwl.formats.onnx.operators import HANDLERS
from cpwl.network.program.tape import Tape, Tensor

__all__ = ["tensor_of_graph"]

# What may be computed from constants alone; nothing random, nothing with a graph inside.
_FOLDED = frozenset(
    """
    Abs Add Cast Concat ConstantOfShape DequantizeLinear Div Equal Expand Flatten Floor Gather Identity Max Min Mul Neg
    Pow Range Reciprocal ReduceProd Reshape Shape Slice Split Sqrt Squeeze Sub Sum Tile Transpose Unsqueeze Where
    """.split()  # noqa: SIM905 - one word a line would hide the list
)
# The last dimension of what these read is that of their constant.
_SIZING = {"Gemm", "MatMul", "Add", "Sub", "Mul", "Div"}


def tensor_of_graph(model: onnx.ModelProto, path: str) -> tuple[Tape, Tensor]:
    """The output of the graph as forms in neurons, and the tape that has the neurons."""
    graph = model.graph
    values: dict[str, Value]
    try:
        values = {tensor.name: array_of(tensor) for tensor in graph.initializer}
    except NodeError as error:
        raise InputError(f"`{path}` is damaged: it {error}", path=path) from None
    inputs = [value for value in graph.input if value.name not in values]
    if len(inputs) != 1 or len(graph.output) != 1:
        counts = f"{len(inputs)} inputs and {len(graph.output)} outputs"
        raise InputError(f"`{path}` has {counts}; a network has one of each", path=path)
    shape = _input_shape(inputs[0], graph, values, path)
    tape = Tape(math.prod(shape))
    values[inputs[0].name] = tape.input(shape)
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
    used = _used(graph)
    for number, proto in enumerate(graph.node):
        if number not in used:
            continue
        try:
            _evaluate(proto, values, tape, opset)
        except NodeError as error:
            name = proto.name or f"number {number}"
            message = f"`{path}`: node `{name}` ({proto.op_type}) {error}"
            raise InputError(message, path=path, node=name, op=proto.op_type) from None
    return tape, _output(values, graph, path)


def _output(values: dict[str, Value], graph: onnx.GraphProto, path: str) -> Tensor:
    name = graph.output[0].name
    result = values.get(name)
    if result is None:
        raise InputError(f"`{path}`: no node gives the output `{name}`", path=path)
    if not isinstance(result, Tensor):
        raise InputError(f"`{path}`: the output `{name}` does not depend on the input", path=path)
    return result


def _used(graph: onnx.GraphProto) -> set[int]:
    """The nodes that the output depends on."""
    wanted, used = {graph.output[0].name}, set()
    for number in range(len(graph.node) - 1, -1, -1):
        if wanted.intersection(graph.node[number].output):
            used.add(number)
            wanted.update(graph.node[number].input)
    return used


def _input_shape(
    value: onnx.ValueInfoProto, graph: onnx.GraphProto, constants: dict[str, Any], path: str
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
    if None in sizes:
        message = f"`{path}`: the input `{value.name}` has open dimensions other than the first; fix its shape"
        raise InputError(message, path=path)
    return tuple(size for size in sizes if size is not None)


def _size_from_weights(name: str, graph: onnx.GraphProto, constants: dict[str, Any]) -> int | None:
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


def _evaluate(proto: onnx.NodeProto, values: dict[str, Value], tape: Tape, opset: int) -> None:
    """Computes the outputs of a node and puts them among the values."""
    if proto.domain not in ("", "ai.onnx"):
        raise NodeError(f"is of the domain `{proto.domain}`, and we read standard operations only")
    missing = [name for name in proto.input if name and name not in values]
    if missing:
        raise NodeError(f"reads `{missing[0]}`, which nothing before it gives")
    operands = [values[name] if name else None for name in proto.input]
    if proto.op_type == "Constant":
        results: list[Any] = [_constant(proto)]
    elif proto.op_type == "Shape" and isinstance(operands[0], Tensor):
        results = [_shape(proto, operands[0])]
    elif not any(isinstance(value, Tensor) for value in operands):
        results = _fold(proto, operands, opset)
    else:
        handler = HANDLERS.get(proto.op_type)
        if handler is None:
            raise NodeError(f"is not an operation we read; we read {', '.join(sorted(HANDLERS))}, Constant, Shape")
        attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        result = handler(Node(proto, operands, attributes, tape, opset))
        results = result if isinstance(result, list) else [result]
    values.update(zip([name for name in proto.output if name], results, strict=False))


def _fold(proto: onnx.NodeProto, operands: list[Any], opset: int) -> list[NDArray[Any]]:
    if proto.op_type not in _FOLDED:
        raise NodeError("is not an operation that we read on constants")
    return reference(proto, operands, opset)


def _shape(proto: onnx.NodeProto, value: Tensor) -> NDArray[Any]:
    ends = {a.name: a.i for a in proto.attribute}
    return np.array(value.shape[ends.get("start", 0) : ends.get("end", len(value.shape))], dtype=np.int64)


def _constant(proto: onnx.NodeProto) -> NDArray[Any]:
    value = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    if "value" in value:
        return array_of(value["value"])
    for name, kind in (("value_float", "f4"), ("value_floats", "f4"), ("value_int", "i8"), ("value_ints", "i8")):
        if name in value:
            return np.asarray(value[name], dtype=kind)
    raise NodeError("must have a tensor, float or integer value")
