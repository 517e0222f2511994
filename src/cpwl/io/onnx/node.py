"""One node of an ONNX graph with its operands, and what ONNX itself computes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, TensorProto, defs, helper, numpy_helper
from onnx.external_data_helper import uses_external_data
from onnx.reference import ReferenceEvaluator

from cpwl.network.program import Tape, Tensor

# The floating types of ONNX: which numbers each holds, and which of them holds another.


@dataclass(frozen=True, slots=True)
class FloatType:
    """Numbers ``m 2^e`` with `bits` binary digits, the largest just below ``2^(exponent + 1)``."""

    name: str
    bits: int
    exponent: int

    @property
    def largest(self) -> float:
        """The largest finite number.

        >>> FLOATS[TensorProto.FLOAT16].largest
        65504.0
        """
        return (2.0 - 2.0 ** (1 - self.bits)) * 2.0**self.exponent

    def holds(self, other: FloatType) -> bool:
        """Whether every number of the other type is one of this.

        >>> half, brain = FLOATS[TensorProto.FLOAT16], FLOATS[TensorProto.BFLOAT16]
        >>> half.holds(brain), brain.holds(half), FLOATS[TensorProto.FLOAT].holds(brain)
        (False, False, True)
        """
        return self.bits >= other.bits and self.exponent >= other.exponent


FLOATS = {
    TensorProto.FLOAT16: FloatType("float16", 11, 15),
    TensorProto.BFLOAT16: FloatType("bfloat16", 8, 127),
    TensorProto.FLOAT: FloatType("float32", 24, 127),
    TensorProto.DOUBLE: FloatType("float64", 53, 1023),
}


def type_name(kind: int) -> str:
    """The name of any element type, for people.

    >>> type_name(TensorProto.INT64), type_name(999)
    ('int64', 'an unknown type')
    """
    if kind in FLOATS:
        return FLOATS[kind].name
    return TensorProto.DataType.Name(kind).lower() if kind in TensorProto.DataType.values() else "an unknown type"


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


# Is a node what ONNX itself says its operator looks like? Asked before anything is read from it.


# Operators as they were defined up to this version of the standard are what our handlers were compared with.
_NEWEST = 28


def check_opset(model: onnx.ModelProto) -> int:
    """The version of the standard operators that the model uses, if we know it."""
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    if len(versions) != 1:
        raise NodeError(f"says {len(versions)} times which version of the standard operators it uses, not once")
    known = min(_NEWEST, defs.onnx_opset_version())
    if not 1 <= versions[0] <= known:
        raise NodeError(f"uses version {versions[0]} of the standard operators (opset); we know 1 to {known}")
    if any(function.domain in ("", "ai.onnx") for function in model.functions):
        raise NodeError("redefines standard operators")
    return int(versions[0])


def check_node(proto: onnx.NodeProto, kinds: Sequence[int | None], opset: int) -> None:
    """Refuse a node with other operands or attributes than its operator has; `kinds` are the operands' types."""
    try:
        schema = defs.get_schema(proto.op_type, opset, "")
    except defs.SchemaError:
        raise NodeError(f"is not a standard operator of opset {opset}") from None
    if schema.deprecated:
        raise NodeError(f"is an operator that opset {opset} no longer has")
    for what, count, least, most in (
        ("operands", len(proto.input), schema.min_input, schema.max_input),
        ("results", len(proto.output), schema.min_output, schema.max_output),
    ):
        if not least <= count <= most:
            raise NodeError(f"has {count} {what}, and should have {_between(least, most)}")
    _check_attributes(proto, schema)
    _check_types(kinds, schema)


def _between(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}" if most < 2**31 - 1 else f"at least {least}"


def _check_attributes(proto: onnx.NodeProto, schema: defs.OpSchema) -> None:
    names = [a.name for a in proto.attribute]
    for attribute in proto.attribute:
        name = attribute.name
        if name not in schema.attributes:
            raise NodeError(f"has an attribute `{name}`, which its operator does not have")
        if names.count(name) > 1:
            raise NodeError(f"has the attribute `{name}` twice")
        if attribute.ref_attr_name:
            raise NodeError(f"takes its attribute `{name}` from an enclosing function")
        meant = int(schema.attributes[name].type.value)
        if attribute.type != meant:
            kind = AttributeProto.AttributeType.Name(meant).lower()
            raise NodeError(f"has an attribute `{name}` that is not of the type {kind}")
    missing = next((n for n, a in sorted(schema.attributes.items()) if a.required and n not in names), None)
    if missing is not None:
        raise NodeError(f"has no attribute `{missing}`")


def _check_types(kinds: Sequence[int | None], schema: defs.OpSchema) -> None:
    """Operands that the operator wants of one type are of one type, and of one that it takes."""
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    found: dict[str, int] = {}
    for i, kind in enumerate(kinds):
        if kind is None:
            continue
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        first = found.setdefault(formal.type_str, kind)
        if first != kind and formal.is_homogeneous:
            raise NodeError(f"combines {type_name(first)} and {type_name(kind)}, which must be of one type")
        names = allowed.get(formal.type_str, {formal.type_str})
        known = TensorProto.DataType.values()
        if kind not in known or f"tensor({TensorProto.DataType.Name(kind).lower()})" not in names:
            raise NodeError(f"has operand {i} of type {type_name(kind)}, which its operator does not take")
