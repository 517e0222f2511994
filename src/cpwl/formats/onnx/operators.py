"""The ONNX operators that keep a tensor piecewise linear, one handler each."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.formats.onnx.images import average_pool, batch_normalization, conv, max_pool
from cpwl.formats.onnx.node import Node, NodeError, Value, reals, reference
from cpwl.network.program.tape import Tensor

__all__ = ["HANDLERS"]


def _broadcast(node: Node) -> tuple[int, ...]:
    shapes = [value.shape for value in node.operands if value is not None]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise NodeError(f"combines shapes {', '.join(map(str, shapes))}, which do not fit") from None


def _sum(a: Value, b: Value) -> Value:
    if isinstance(a, Tensor):
        return a.plus(b if isinstance(b, Tensor) else reals(b))
    return b.plus(reals(a)) if isinstance(b, Tensor) else _exact_sum(a, b)


def _exact_sum(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(fraction_array(reals(a)) + fraction_array(reals(b)))


def _negative(a: Value) -> Value:
    return -a if isinstance(a, Tensor) else -reals(a)


def _operands(node: Node) -> list[Value]:
    _broadcast(node)
    return [value for value in node.operands if value is not None]


def _add(node: Node) -> Value:
    return reduce(_sum, _operands(node))


def _sub(node: Node) -> Value:
    a, b = _operands(node)
    return _sum(a, _negative(b))


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


def _neg(node: Node) -> Value:
    return -node.tensor()


def _matmul(node: Node) -> Value:
    return _product(node.operand(0), node.operand(1))


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
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
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
        offset = offset.times(factor) if isinstance(offset, Tensor) else fraction_array(reals(offset)) * Fraction(beta)
    return product.plus(offset if isinstance(offset, Tensor) else reals(offset))


def _transposed(value: Value | None) -> Value:
    assert value is not None
    return value.transposed if isinstance(value, Tensor) else value.T


def _relu(node: Node) -> Value:
    return node.tape.relu(node.tensor())


def _abs(node: Node) -> Value:
    return node.tape.absolute(node.tensor())


def _leaky_relu(node: Node) -> Value:
    return node.tape.leaky(node.tensor(), np.array(node.attributes.get("alpha", 0.01)))


def _prelu(node: Node) -> Value:
    slope = node.constant(1, "slope")
    _broadcast(node)
    return node.tape.leaky(node.tensor(), slope)


def _clip(node: Node) -> Value:
    bounds = []
    for i, name in ((1, "min"), (2, "max")):
        value = node.all_constant(i) if node.operand(i) is not None else node.attributes.get(name)
        if isinstance(node.operand(i), Tensor):
            raise NodeError(f"needs a constant {name}")
        number = None if value is None or np.size(value) == 0 else float(np.asarray(value, dtype=np.float64).ravel()[0])
        # Old exporters write the largest float32 for "no bound".
        bounds.append(None if number is None or abs(number) >= float(np.finfo(np.float32).max) else number)
    low, high = bounds
    if low is not None and high is not None and low > high:
        raise NodeError(f"has min = {low} above max = {high}")
    return node.tape.clip(node.tensor(), low, high)


def _hard_sigmoid(node: Node) -> Value:
    alpha, beta = node.attributes.get("alpha", 0.2), node.attributes.get("beta", 0.5)
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


def _max(node: Node) -> Value:
    return _extremum(node, smallest=False)


def _min(node: Node) -> Value:
    return _extremum(node, smallest=True)


def _global_average(node: Node) -> Value:
    x = node.tensor()
    return _reduced(x, tuple(range(2, len(x.shape))), keep=True, mean=True)


def _reduce(node: Node, mean: bool) -> Value:
    x = node.tensor()
    axes = node.attributes.get("axes")
    if node.operand(1) is not None:
        axes = [int(v) for v in node.constant(1, "list of axes")]
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return x
    axes = axes or range(len(x.shape))
    return _reduced(x, tuple(a % len(x.shape) for a in axes), bool(node.attributes.get("keepdims", 1)), mean)


def _reduced(x: Tensor, axes: tuple[int, ...], keep: bool, mean: bool) -> Tensor:
    """Sums or means over axes."""
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    out = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), x.shape).ravel()
    count = len(x.forms) // math.prod(shape)
    size = (math.prod(shape), len(x.forms))
    columns = np.arange(len(x.forms))
    matrix: Any = csr_array((np.ones(len(columns)), (out, columns)), shape=size)
    if mean and count > 1:
        matrix = RationalMatrix.from_triples(out, columns, np.full(len(columns), Fraction(1, count)), size)
    return x.linear(matrix, shape if keep else tuple(s for i, s in enumerate(x.shape) if i not in axes))


def _reduce_mean(node: Node) -> Value:
    return _reduce(node, mean=True)


def _reduce_sum(node: Node) -> Value:
    return _reduce(node, mean=False)


def _dropout(node: Node) -> Value:
    training = node.operand(2)
    if len([name for name in node.proto.output if name]) > 1:
        raise NodeError("gives its mask, too")
    if training is not None and (isinstance(training, Tensor) or bool(np.asarray(training).ravel()[0])):
        raise NodeError("is random in training mode")
    return node.tensor()


def _identity(node: Node) -> Value:
    return node.tensor()


def _cast(node: Node) -> Value:
    # FLOAT, FLOAT16, DOUBLE, BFLOAT16: the rounding of a type is no part of the function that is written down.
    if node.attributes.get("to") not in (1, 10, 11, 16):
        raise NodeError("casts to a type that is not floating point, which is not continuous")
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
    value = node.attributes.get("value", 0.0)
    if node.operand(2) is not None:
        value = float(node.constant(2, "value").ravel()[0])
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    for attribute in proto.attribute:
        if attribute.name == "value":
            attribute.f = 0.0
    rest = [node.all_constant(i) for i in range(1, len(node.operands))]
    if len(rest) > 1 and rest[1] is not None:
        rest[1] = np.zeros_like(rest[1], dtype=np.int64)
    # Entries are numbered from 1 on, so that 0 is what was padded.
    (index,) = reference(proto, [x.numbers + 1, *rest], node.opset)
    joint, (numbers, constant) = node.tape.joined([x, np.array([value])])
    return joint.take(np.where(index == 0, constant[0], numbers.ravel()[np.maximum(index, 1) - 1]))


Handler = Callable[[Node], Value | list[Value]]
_MOVING = ("Concat", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose")

HANDLERS: dict[str, Handler] = {
    "Abs": _abs,
    "Add": _add,
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": _cast,
    "Clip": _clip,
    "Conv": conv,
    "Div": _div,
    "Dropout": _dropout,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "HardSigmoid": _hard_sigmoid,
    "Identity": _identity,
    "LeakyRelu": _leaky_relu,
    "MatMul": _matmul,
    "Max": _max,
    "MaxPool": max_pool,
    "Mean": _mean,
    "Min": _min,
    "Mul": _mul,
    "Neg": _neg,
    "PRelu": _prelu,
    "Pad": _pad,
    "ReduceMean": _reduce_mean,
    "ReduceSum": _reduce_sum,
    "Relu": _relu,
    "Sub": _sub,
    "Sum": _add,
    **dict.fromkeys((*_MOVING, "Unsqueeze"), _move),
}
