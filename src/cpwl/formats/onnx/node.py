"""One node of an ONNX graph with its operands, and what ONNX itself computes for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.external_data_helper import uses_external_data
from onnx.reference import ReferenceEvaluator

from cpwl.formats.onnx.types import FloatType
from cpwl.network.program import Tape, Tensor

__all__ = ["Node", "NodeError", "Value", "array_of", "reals", "reference"]

Value: TypeAlias = Tensor | NDArray[Any]


class NodeError(Exception):
    """What is wrong with the node at hand; the caller knows its name."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation: `operands` are tensors, which depend on the input, constants, or None where left out.

    `kind` is the floating type of the tensors.
    """

    proto: onnx.NodeProto
    operands: list[Value | None]
    attributes: dict[str, Any]
    tape: Tape
    opset: int
    kind: FloatType

    def operand(self, i: int) -> Value | None:
        """Operand number `i`, None where it is left out."""
        return self.operands[i] if i < len(self.operands) else None

    def tensor(self, i: int = 0) -> Tensor:
        """Operand number `i`, which must depend on the input."""
        value = self.operand(i)
        if not isinstance(value, Tensor):
            raise NodeError(f"needs a tensor that depends on the input as operand {i}")
        return value

    def constant(self, i: int, what: str, *, finite: bool = True) -> NDArray[Any]:
        """Operand number `i`, which must be a constant, as float64."""
        value = self.operand(i)
        if value is None or isinstance(value, Tensor):
            raise NodeError(f"needs a constant {what}, not one that depends on the input")
        return reals(value) if finite else np.asarray(value, dtype=np.float64)

    def number(self, i: int, what: str) -> float:
        """Operand number `i`, which must be a constant of one entry."""
        value = self.constant(i, what, finite=False)
        if value.size != 1:
            raise NodeError(f"needs one number as its {what}, not {value.size}")
        return float(value.ravel()[0])

    def all_constant(self, i: int) -> NDArray[Any] | None:
        """Operand number `i` if it is a constant."""
        value = self.operand(i)
        return None if isinstance(value, Tensor) else value


def reals(value: NDArray[Any]) -> NDArray[Any]:
    """A constant as float64, which holds float16, bfloat16, float32 and small integers exactly."""
    if value.dtype == object:
        return value
    numbers = np.asarray(value, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise NodeError(f"has a constant with {numbers[~np.isfinite(numbers)][0]} in it; every number must be finite")
    return numbers


def array_of(tensor: onnx.TensorProto) -> NDArray[Any]:
    """The numbers of a tensor in a file; what the model has in other files has been read by now."""
    if uses_external_data(tensor):
        raise NodeError(f"has a tensor `{tensor.name}` in another file, which is not read here")
    held = [field.name for field, _ in tensor.ListFields() if field.name == "raw_data" or field.name.endswith("_data")]
    if len(held) > 1:
        raise NodeError(f"has a tensor `{tensor.name}` with two lists of numbers: {', '.join(held)}")
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except Exception as error:  # bytes that do not fill the shape, unknown types: all sorts are raised
        raise NodeError(f"has a tensor `{tensor.name}` that cannot be read: {error}") from None


def reference(proto: onnx.NodeProto, operands: list[NDArray[Any] | None], opset: int) -> list[NDArray[Any]]:
    """What ONNX's own reference implementation gives for the node, as arrays."""
    given = {name: value for name, value in zip(proto.input, operands, strict=True) if name and value is not None}
    inputs = [helper.make_tensor_value_info(name, 0, None) for name in given]
    outputs = [helper.make_tensor_value_info(name, 0, None) for name in proto.output if name]
    graph = helper.make_graph([proto], "node", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    try:
        # What overflows is found where it is used.
        with np.errstate(all="ignore"):
            return [np.asarray(value) for value in ReferenceEvaluator(model).run(None, given)]
    except Exception as error:  # whatever NumPy or ONNX raise for shapes and axes that do not fit
        shapes = ", ".join(str(value.shape) for value in given.values())
        raise NodeError(f"does not fit operands of shapes {shapes}: {error}") from None
