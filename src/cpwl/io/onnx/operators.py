"""ONNX nodes with their operands, what ONNX itself computes for them, and a handler for each operator that we read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import AttributeProto, TensorProto, defs, helper, numpy_helper
from onnx.external_data_helper import uses_external_data
from onnx.reference import ReferenceEvaluator

from cpwl.exact.rational import fraction_array
from cpwl.io.windows import KernelWindows, average, convolution, largest, normalised, reduced
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
        raise NodeError(f"states the version of the standard operators {len(versions)} times; it must state it once")
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


# Handlers of operators that keep a tensor piecewise linear: on images and channels, then all others.


def batch_normalization(node: Node) -> Value:
    """Batch normalization with the stored mean and variance: an affine map a channel."""
    if node.attributes.get("training_mode", 0) or len([name for name in node.proto.output if name]) > 1:
        raise NodeError("normalises by the batch at hand (training mode), which is not piecewise linear")
    if not node.attributes.get("spatial", 1) or (node.opset < 7 and not node.attributes.get("is_test", 0)):
        raise NodeError("does not normalise by one stored mean and variance for each channel")
    scale, offset, mean, variance = (node.constant(i, "parameter") for i in (1, 2, 3, 4))
    x = node.tensor()
    if len(x.shape) < 2 or any(v.shape != (x.shape[1],) for v in (scale, offset, mean, variance)):
        raise NodeError(f"needs a number for each channel of an input of shape {x.shape}")
    spread = variance + float(node.attributes.get("epsilon", np.float32(1e-5)))
    if not (spread > 0).all() or not np.isfinite(spread).all():
        raise NodeError("has a variance that is not positive")
    return normalised(x, spread, mean, scale, offset)


def _windows(node: Node, kernel: list[int]) -> tuple[Tensor, KernelWindows]:
    """The input, one image with channels, and the windows of the kernel on it."""
    x = node.tensor()
    n, get = len(kernel), node.attributes.get
    if len(x.shape) != n + 2 or x.shape[0] != 1:
        raise NodeError(f"needs an input of shape (1, channels, {n} sizes), not {x.shape}")
    strides, dilations = get("strides", [1] * n), get("dilations", [1] * n)
    pads = list(get("pads", [0] * 2 * n))
    before, after = pads[:n], pads[n:]
    auto = get("auto_pad", b"NOTSET").decode(errors="replace") or "NOTSET"
    if auto not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise NodeError(f"has auto_pad = {auto[:50]!r}, which is not valid")
    if len(pads) != 2 * n:
        raise NodeError(f"has {len(pads)} pads for {n} sizes")
    if auto.startswith("SAME") and len(strides) == len(dilations) == n and min(strides) > 0:
        need = [
            max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size)
            for size, s, d, k in zip(x.shape[2:], strides, dilations, kernel, strict=True)
        ]
        before = [(v + (auto == "SAME_LOWER")) // 2 for v in need]
        after = [v - b for v, b in zip(need, before, strict=True)]
    elif auto == "VALID":
        before, after = [0] * n, [0] * n
    try:
        ceil = bool(get("ceil_mode", 0))
        windows = KernelWindows.slide(
            x.shape[2:], kernel, strides=strides, dilations=dilations, before=before, after=after, ceil=ceil
        )
    except ValueError as error:
        raise NodeError(str(error)) from None
    return x, windows


def conv(node: Node) -> Value:
    """A convolution with a constant kernel."""
    weight = node.constant(1, "kernel")
    if list(node.attributes.get("kernel_shape", weight.shape[2:])) != list(weight.shape[2:]) or weight.ndim < 3:
        raise NodeError(f"has a kernel of shape {weight.shape}, which differs from its attribute `kernel_shape`")
    x, windows = _windows(node, list(weight.shape[2:]))
    groups = node.attributes.get("group", 1)
    if groups < 1 or x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise NodeError(f"has a kernel of shape {weight.shape} in {groups} groups for an input of shape {x.shape}")
    result = x.linear(convolution(windows, weight, groups), (1, weight.shape[0], *windows.shape))
    if node.operand(2) is None:
        return result
    bias = node.constant(2, "bias")
    if bias.shape != weight.shape[:1]:
        raise NodeError(f"has a bias of shape {bias.shape} for {weight.shape[0]} channels")
    return result.plus(bias.reshape(1, -1, *(1 for _ in windows.shape)))


def _pooled(node: Node) -> tuple[Tensor, KernelWindows]:
    """The input and the windows of a pooling."""
    get = node.attributes.get
    if get("auto_pad", b"").startswith(b"SAME") and any(d != 1 for d in get("dilations", [])):
        raise NodeError("pads to the same size and dilates, which runtimes do differently; write `pads`")
    return _windows(node, node.attributes["kernel_shape"])


def average_pool(node: Node) -> Value:
    """Means over windows."""
    x, windows = _pooled(node)
    padding = bool(node.attributes.get("count_include_pad", 0))
    if padding and node.attributes.get("ceil_mode", 0):
        raise NodeError("counts padding in windows that stick out (ceil_mode), which runtimes do differently")
    matrix = average(windows, x.shape[1], count_padding=padding)
    return x.linear(matrix, (*x.shape[:2], *windows.shape))


def max_pool(node: Node) -> Value:
    """Maxima over windows, in pairs."""
    if len([name for name in node.proto.output if name]) > 1:
        raise NodeError("also returns the indices of its maxima, which is not piecewise linear")
    x, windows = _pooled(node)
    return largest(node.tape, x, windows)


def _broadcast(node: Node) -> tuple[int, ...]:
    shapes = [value.shape for value in node.operands if value is not None]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise NodeError(f"combines shapes {', '.join(map(str, shapes))}, which do not fit") from None


def _sum(a: Value, b: Value) -> Value:
    if isinstance(a, Tensor):
        return a.plus(b if isinstance(b, Tensor) else reals(b))
    if isinstance(b, Tensor):
        return b.plus(reals(a))
    return np.asarray(fraction_array(reals(a)) + fraction_array(reals(b)))


def _operands(node: Node) -> list[Value]:
    _broadcast(node)
    return [value for value in node.operands if value is not None]


def _add(node: Node) -> Value:
    return reduce(_sum, _operands(node))


def _sub(node: Node) -> Value:
    a, b = _operands(node)
    return _sum(a, -b if isinstance(b, Tensor) else -reals(b))


def _mean(node: Node) -> Value:
    total = _add(node)
    assert isinstance(total, Tensor)
    return total.times(np.array(Fraction(1, len(node.operands)), dtype=object))


def _mul(node: Node) -> Value:
    a, b = _operands(node)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        raise NodeError("multiplies two tensors that depend on the input, which is not piecewise linear")
    tensor, constant = (a, b) if isinstance(a, Tensor) else (b, a)
    assert isinstance(tensor, Tensor)
    assert not isinstance(constant, Tensor)
    return tensor.times(reals(constant))


def _div(node: Node) -> Value:
    a, b = _operands(node)
    if isinstance(b, Tensor):
        raise NodeError("divides by a tensor that depends on the input, which is not piecewise linear")
    assert isinstance(a, Tensor)
    divisor = fraction_array(reals(b))
    if (divisor == 0).any():
        raise NodeError("divides by 0")
    return a.times(np.asarray(1 / divisor, dtype=object).reshape(divisor.shape))


def _product(a: Value | None, b: Value | None) -> Tensor:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        raise NodeError("multiplies two tensors that depend on the input, which is not piecewise linear")
    if a is None or b is None or not (len(a.shape) and len(b.shape)):
        raise NodeError("must multiply two tensors of at least one dimension")
    try:
        if isinstance(a, Tensor):
            assert not isinstance(b, Tensor)
            return a.matmul(reals(b))
        assert isinstance(b, Tensor)
        if len(b.shape) == 1:
            return b.matmul(reals(a).swapaxes(-1, -2) if a.ndim > 1 else reals(a))
        if a.ndim == 1:
            return b.transposed.matmul(reals(a))
        return b.transposed.matmul(reals(a).swapaxes(-1, -2)).transposed
    except ValueError:
        raise NodeError(f"multiplies shapes {a.shape} and {b.shape}, which do not fit") from None


def _gemm(node: Node) -> Value:
    a, b = (node.operand(i) for i in (0, 1))
    for value in (a, b):
        if value is None or len(value.shape) != 2:
            shape = None if value is None else value.shape
            raise NodeError(f"must multiply matrices, not a tensor of shape {shape}; flatten it first")
    a = _transposed(a) if node.attributes.get("transA", 0) else a
    b = _transposed(b) if node.attributes.get("transB", 0) else b
    product = _product(a, b)
    alpha, beta = _float(node, "alpha", 1.0), _float(node, "beta", 1.0)
    if alpha != 1:
        product = product.times(np.array(Fraction(alpha), dtype=object))
    offset = node.operand(2)
    if offset is None:
        return product
    try:
        fits = np.broadcast_shapes(product.shape, offset.shape) == product.shape
    except ValueError:
        fits = False
    if not fits:
        raise NodeError(f"adds a constant of shape {offset.shape} to a product of shape {product.shape}")
    if beta != 1:
        factor = np.array(Fraction(beta), dtype=object)
        offset = (
            offset.times(factor) if isinstance(offset, Tensor) else np.asarray(fraction_array(reals(offset)) * factor)
        )
    return product.plus(offset if isinstance(offset, Tensor) else reals(offset))


def _transposed(value: Value | None) -> Value:
    assert value is not None
    return value.transposed if isinstance(value, Tensor) else value.T


def _float(node: Node, name: str, otherwise: float) -> float:
    """An attribute, which is a float32 whatever the type of the tensors, its default included."""
    value = float(node.attributes.get(name, np.float32(otherwise)))
    if not math.isfinite(value):
        raise NodeError(f"has {name} = {value}; it must be finite")
    return value


def _prelu(node: Node) -> Value:
    slope, x = node.constant(1, "slope"), node.tensor()
    if _broadcast(node) != x.shape or (node.opset < 7 and slope.size > 1 and len(x.shape) > 2):
        raise NodeError(f"has slopes of shape {slope.shape}, which do not fit an input of shape {x.shape}")
    return node.tape.leaky(x, slope)


def _clip(node: Node) -> Value:
    low, high = _bound(node, 1, "min"), _bound(node, 2, "max")
    # The numbers of a type end somewhere: a bound that none of them is beyond is none.
    end = node.kind.largest
    low = None if low is not None and low <= -end else low
    high = None if high is not None and high >= end else high
    if low is not None and high is not None and low > high:
        raise NodeError(f"has min = {low} above max = {high}")
    for bound in (low, high):
        if bound is not None and not math.isfinite(bound):
            raise NodeError(f"clips at {bound}")
    return node.tape.clip(node.tensor(), low, high)


def _bound(node: Node, i: int, name: str) -> float | None:
    """A bound of Clip: an operand since opset 11, an attribute before, whose default is the end of float32."""
    if node.operand(i) is not None:
        return node.number(i, name)
    if node.opset >= 11:
        return None
    end = FLOATS[TensorProto.FLOAT].largest
    return float(node.attributes.get(name, -end if name == "min" else end))


def _hard_sigmoid(node: Node) -> Value:
    alpha, beta = _float(node, "alpha", 0.2), _float(node, "beta", 0.5)
    return node.tape.clip(node.tensor().times(np.array(alpha)).plus(np.array(beta)), 0.0, 1.0)


def _extremum(node: Node, smallest: bool) -> Value:
    shape = _broadcast(node)
    tensors = [v.spread(shape) for v in node.operands if isinstance(v, Tensor)]
    constants = [reals(v) for v in node.operands if v is not None and not isinstance(v, Tensor)]
    if smallest:
        tensors, constants = [-t for t in tensors], [-c for c in constants]
    best = node.tape.largest(tensors)
    if constants:
        best = node.tape.maximum(best, np.broadcast_to(reduce(np.maximum, constants), shape))
    return -best if smallest else best


def _global_average(node: Node) -> Value:
    x = node.tensor()
    return reduced(x, range(2, len(x.shape)), keep=True, mean=True)


def _reduce(node: Node, mean: bool) -> Value:
    x = node.tensor()
    axes = node.attributes.get("axes")
    if node.operand(1) is not None:
        axes = [int(v) for v in node.constant(1, "list of axes").ravel()]
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return x
    axes = axes or range(len(x.shape))
    if not all(-len(x.shape) <= a < len(x.shape) for a in axes):
        raise NodeError(f"has axes {list(axes)} for an input of shape {x.shape}")
    return reduced(x, [a % len(x.shape) for a in axes], keep=bool(node.attributes.get("keepdims", 1)), mean=mean)


def _dropout(node: Node) -> Value:
    training = node.operand(2)
    if len([name for name in node.proto.output if name]) > 1:
        raise NodeError("also returns its mask")
    if training is not None and (isinstance(training, Tensor) or np.asarray(training).any()):
        raise NodeError("is random in training mode")
    if node.opset < 7 and not node.attributes.get("is_test", 0):
        raise NodeError("is random in training mode (is_test = 0)")
    return node.tensor()


def _cast(node: Node) -> Value:
    target = FLOATS.get(node.attributes["to"])
    if target is None:
        raise NodeError("casts to a type that is not floating point, which is not continuous")
    if not target.holds(node.kind):
        message = f"rounds {node.kind.name} to {target.name}, which is not continuous"
        raise NodeError(f"{message}; leave the cast out, or convert the whole model to one type")
    return node.tensor()


def _move(node: Node) -> list[Value]:
    """Entries are moved about: what ONNX does with their numbers it does with them."""
    # Concat moves all its operands, any other such operator its first one; the rest says how.
    moved = len(node.operands) if node.proto.op_type == "Concat" else 1
    if any(isinstance(value, Tensor) for value in node.operands[moved:]):
        raise NodeError("takes a shape or an index that depends on the input")
    parts = [value for value in node.operands[:moved] if value is not None]
    if len(parts) == 1 and isinstance(parts[0], Tensor):
        joint, numbers = parts[0], [parts[0].numbers]
    else:
        joint, numbers = node.tape.joined([p if isinstance(p, Tensor) else reals(p) for p in parts])
    rest = [value if not isinstance(value, Tensor) else None for value in node.operands[moved:]]
    return [joint.take(index) for index in reference(node.proto, [*numbers, *rest], node.opset)]


def _pad(node: Node) -> Value:
    x = node.tensor()
    value = _float(node, "value", 0.0) if node.operand(2) is None else node.number(2, "value")
    if not math.isfinite(value):
        raise NodeError(f"pads with {value}")
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    for attribute in proto.attribute:
        if attribute.name == "value":
            attribute.f = 0.0
    rest = [None if isinstance(value, Tensor) else value for value in node.operands[1:]]
    if len(rest) > 1 and rest[1] is not None:
        rest[1] = np.zeros_like(rest[1], dtype=np.int64)
    # Entries are numbered from 1 on, so that 0 is what was padded.
    (index,) = reference(proto, [x.numbers + 1, *rest], node.opset)
    joint, (numbers, constant) = node.tape.joined([x, np.array([value])])
    return joint.take(np.where(index == 0, constant[0], numbers.ravel()[np.maximum(index, 1) - 1]))


class Handler(NamedTuple):
    """How an operator is read, and the attributes that are: a node with any other is refused."""

    read: Callable[[Node], Value | list[Value]]
    attributes: str = ""


_WINDOWS = "auto_pad dilations kernel_shape pads strides"
_MOVING = ("Concat", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose")
_HOW = "allowzero axes axis ends num_outputs perm shape split starts"

# `broadcast` only permits what is always permitted here, `consumed_inputs` is about memory, `momentum`, `ratio` and
# `seed` about training, `saturate` about types that we do not read, `storage_order` about places of maxima.
HANDLERS: dict[str, Handler] = {
    "Abs": Handler(lambda node: node.tape.absolute(node.tensor()), "consumed_inputs"),
    "Add": Handler(_add, "broadcast consumed_inputs"),
    "AveragePool": Handler(average_pool, f"{_WINDOWS} ceil_mode count_include_pad"),
    "BatchNormalization": Handler(
        batch_normalization, "consumed_inputs epsilon is_test momentum spatial training_mode"
    ),
    "Cast": Handler(_cast, "saturate to"),
    "Clip": Handler(_clip, "consumed_inputs max min"),
    "Conv": Handler(conv, f"{_WINDOWS} group"),
    "Div": Handler(_div, "broadcast consumed_inputs"),
    "Dropout": Handler(_dropout, "consumed_inputs is_test ratio seed"),
    "Gemm": Handler(_gemm, "alpha beta broadcast transA transB"),
    "GlobalAveragePool": Handler(_global_average),
    "HardSigmoid": Handler(_hard_sigmoid, "alpha beta consumed_inputs"),
    "Identity": Handler(Node.tensor),
    "LeakyRelu": Handler(
        lambda node: node.tape.leaky(node.tensor(), np.array(_float(node, "alpha", 0.01))), "alpha consumed_inputs"
    ),
    "MatMul": Handler(lambda node: _product(node.operand(0), node.operand(1))),
    "Max": Handler(lambda node: _extremum(node, smallest=False), "consumed_inputs"),
    "MaxPool": Handler(max_pool, f"{_WINDOWS} ceil_mode storage_order"),
    "Mean": Handler(_mean, "consumed_inputs"),
    "Min": Handler(lambda node: _extremum(node, smallest=True), "consumed_inputs"),
    "Mul": Handler(_mul, "broadcast consumed_inputs"),
    "Neg": Handler(lambda node: -node.tensor(), "consumed_inputs"),
    "PRelu": Handler(_prelu, "consumed_inputs"),
    "Pad": Handler(_pad, "mode paddings pads value"),
    "ReduceMean": Handler(lambda node: _reduce(node, mean=True), "axes keepdims noop_with_empty_axes"),
    "ReduceSum": Handler(lambda node: _reduce(node, mean=False), "axes keepdims noop_with_empty_axes"),
    "Relu": Handler(lambda node: node.tape.relu(node.tensor()), "consumed_inputs"),
    "Sub": Handler(_sub, "broadcast consumed_inputs"),
    "Sum": Handler(_add, "consumed_inputs"),
    **dict.fromkeys((*_MOVING, "Unsqueeze"), Handler(_move, _HOW)),
}
