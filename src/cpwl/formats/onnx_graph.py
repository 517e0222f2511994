"""Reading an ONNX graph as a chain of steps, one handler for each operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from scipy.sparse import csr_array, eye_array

from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.formats.chain import Linear, Relu, Shift, Step

__all__ = ["steps_from_graph"]

# The shape of one sample; None for a dimension, or a number of dimensions, that the file leaves open.
Shape = tuple[int | None, ...] | None


class _NodeError(Exception):
    """What is wrong with the node at hand; the caller knows its name."""


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """One operation: `operands` has None for the running tensor, of sample shape `shape`, else a constant."""

    operands: list[NDArray[Any] | None]
    attributes: dict[str, Any]
    shape: Shape


def steps_from_graph(graph: onnx.GraphProto, path: str) -> list[Step]:
    """The steps from the one input of the graph to its one output."""
    try:
        constants = {tensor.name: _array(tensor) for tensor in graph.initializer}
    except _NodeError as error:
        raise InputError(f"`{path}` is damaged: it {error}", path=path) from None
    inputs = [value for value in graph.input if value.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        counts = f"{len(inputs)} inputs and {len(graph.output)} outputs"
        raise InputError(f"`{path}` has {counts}; a network has one of each", path=path)
    current, shape = inputs[0].name, _sample_shape(inputs[0])
    steps: list[Step] = []
    for number, proto in enumerate(graph.node):
        try:
            if not _fold_constant(proto, constants):
                more, shape = _apply(proto, constants, current, shape)
                steps += more
                current = proto.output[0]
        except _NodeError as error:
            name = proto.name or f"number {number}"
            message = f"`{path}`: node `{name}` ({proto.op_type}) {error}"
            raise InputError(message, path=path, node=name, op=proto.op_type) from None
    if current != graph.output[0].name:
        message = f"`{path}`: the output `{graph.output[0].name}` is not that of the last node"
        raise InputError(message, path=path)
    return steps


def _sample_shape(value: onnx.ValueInfoProto) -> Shape:
    if not value.type.tensor_type.HasField("shape"):
        return None
    sizes = [d.dim_value if d.HasField("dim_value") else None for d in value.type.tensor_type.shape.dim]
    return tuple(sizes[1:] if len(sizes) > 1 else sizes)


def _fold_constant(proto: onnx.NodeProto, constants: dict[str, NDArray[Any]]) -> bool:
    """Whether the node is a constant, or the identity of one, which then is in `constants`."""
    if proto.op_type == "Constant":
        value = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        if "value" not in value and "value_float" not in value and "value_floats" not in value:
            raise _NodeError("must have a tensor or float value")
        tensor = value.pop("value", None)
        array = np.float32(next(iter(value.values()))) if tensor is None else _array(tensor)
        constants[proto.output[0]] = np.asarray(array)
        return True
    if proto.op_type == "Identity" and proto.input[0] in constants:
        constants[proto.output[0]] = constants[proto.input[0]]
        return True
    return False


def _apply(
    proto: onnx.NodeProto, constants: dict[str, NDArray[Any]], current: str, shape: Shape
) -> tuple[list[Step], Shape]:
    handler = _HANDLERS.get(proto.op_type)
    if handler is None or proto.domain not in ("", "ai.onnx"):
        raise _NodeError(f"is not an operation we read; we read {', '.join(sorted(_HANDLERS))}, Constant")
    names = [name for name in proto.input if name]
    strangers = [name for name in names if name != current and name not in constants]
    if strangers or names.count(current) != 1:
        other = strangers[0] if strangers else current
        raise _NodeError(f"reads `{other}`, so the graph is not a plain chain of nodes")
    operands = [None if name == current else constants[name].astype(np.float64) for name in names]
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    return handler(_Node(operands, attributes, shape))


def _gemm(node: _Node) -> tuple[list[Step], Shape]:
    if node.operands[0] is not None or node.attributes.get("transA", 0):
        raise _NodeError("must multiply the running tensor from the right, with transA = 0")
    weight = _matrix(node.operands[1])
    weight = weight if node.attributes.get("transB", 0) else weight.T
    steps: list[Step] = [Linear(_scaled(weight, node.attributes.get("alpha", 1.0)))]
    if len(node.operands) > 2:
        offset = _offset(node.operands[2], (weight.shape[0],))
        beta = node.attributes.get("beta", 1.0)
        steps.append(Shift(offset if beta == 1 else fraction_array(offset) * Fraction(beta)))
    return steps, (weight.shape[0],)


def _matmul(node: _Node) -> tuple[list[Step], Shape]:
    if node.operands[0] is not None:
        raise _NodeError("must multiply the running tensor from the right")
    weight = _matrix(node.operands[1]).T
    if node.shape is not None and any(size != 1 for size in node.shape[:-1]):
        raise _NodeError(f"multiplies a tensor of shape {node.shape}; flatten it first")
    return [Linear(weight)], (*(node.shape or (None,))[:-1], weight.shape[0])


def _add(node: _Node) -> tuple[list[Step], Shape]:
    offset = _offset(next(c for c in node.operands if c is not None), node.shape)
    return [Shift(offset)], node.shape


def _sub(node: _Node) -> tuple[list[Step], Shape]:
    offset = _offset(next(c for c in node.operands if c is not None), node.shape)
    if node.operands[0] is None:
        return [Shift(-offset)], node.shape
    return [Linear(csr_array(-eye_array(len(offset)))), Shift(offset)], node.shape


def _relu(node: _Node) -> tuple[list[Step], Shape]:
    return [Relu()], node.shape


def _flatten(node: _Node) -> tuple[list[Step], Shape]:
    axis = node.attributes.get("axis", 1)
    if axis != 1 and (node.shape is None or axis != -len(node.shape)):
        raise _NodeError("must flatten all but the first dimension: axis = 1")
    if node.shape is None or None in node.shape:
        return [], (None,)
    return [], (math.prod(size for size in node.shape if size is not None),)


def _identity(node: _Node) -> tuple[list[Step], Shape]:
    return [], node.shape


_HANDLERS: dict[str, Callable[[_Node], tuple[list[Step], Shape]]] = {
    "Add": _add,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "Identity": _identity,
    "MatMul": _matmul,
    "Relu": _relu,
    "Sub": _sub,
}


def _array(tensor: onnx.TensorProto) -> NDArray[Any]:
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except Exception as error:  # bytes that do not fill the shape, unknown types: all sorts are raised
        raise _NodeError(f"has a tensor `{tensor.name}` that cannot be read: {error}") from None


def _matrix(constant: NDArray[Any] | None) -> NDArray[Any]:
    assert constant is not None  # the running tensor occurs once, and was found elsewhere
    if constant.ndim != 2:
        raise _NodeError(f"must multiply by a matrix, not by a constant of shape {constant.shape}")
    return constant


def _scaled(weight: NDArray[Any], alpha: float) -> Any:
    if alpha == 1:
        return weight
    exact = RationalMatrix.from_float(weight)
    rows, columns, values = exact.rows, exact.indices, exact.data * Fraction(alpha)
    return RationalMatrix.from_triples(rows, columns, values, exact.shape)


def _offset(constant: NDArray[Any] | None, shape: Shape) -> NDArray[Any]:
    """The constant as one number for each entry of a sample of the given shape."""
    assert constant is not None
    if shape is None or None in shape:
        if constant.size == 1 or constant.size != constant.shape[-1]:
            raise _NodeError(f"adds a constant of shape {constant.shape} to a tensor of unknown shape")
        return constant.ravel()
    try:
        return np.broadcast_to(constant, (1, *(size or 0 for size in shape))).ravel()
    except ValueError:
        message = f"adds a constant of shape {constant.shape} to samples of shape {shape}"
        raise _NodeError(message) from None
