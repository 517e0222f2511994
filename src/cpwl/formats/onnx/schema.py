"""Is a node what ONNX itself says its operator looks like? Asked before anything is read from it."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import AttributeProto, defs

from cpwl.formats.onnx.node import NodeError
from cpwl.formats.onnx.types import type_name

__all__ = ["check_node", "check_opset"]

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
        raise NodeError("gives standard operators a meaning of its own")
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
            raise NodeError(f"takes its attribute `{name}` from a function around it")
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
        if _type_string(kind) not in names:
            raise NodeError(f"has operand {i} of type {type_name(kind)}, which its operator does not take")


def _type_string(kind: int) -> str:
    name = onnx.TensorProto.DataType.Name(kind).lower() if kind in onnx.TensorProto.DataType.values() else "?"
    return f"tensor({name})"
