"""Every operator with random and extreme attributes: where we read a node, onnxruntime computes what we read."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from cpwl.errors import CpwlError
from cpwl.exact.rational import to_float
from cpwl.io.onnx.operators import HANDLERS
from cpwl.io.onnx.read import from_onnx
from support.onnx_models import node, run, saved

LARGE = [1e30, 3.4028234663852886e38, 1e39, 1e300, float("inf")]


def some(rng, *options):
    """One of the options."""
    return options[rng.integers(len(options))]


def integers(rng, shape, low=-4, high=5):
    """Small integers, which all types hold and whose sums are exact."""
    return rng.integers(low, high, size=shape).astype(np.float64)


def shape_of(rng, low=1, high=4):
    """The shape of a tensor of up to four dimensions."""
    return tuple(int(v) for v in rng.integers(1, 4, size=rng.integers(low, high + 1)))


def like(rng, shape):
    """A shape that broadcasts with the given one."""
    kept = shape[rng.integers(len(shape) + 1) :]
    return tuple(1 if rng.random() < 0.3 else size for size in kept)


def optional(rng, **attributes):
    """Some of the attributes."""
    return {name: value for name, value in attributes.items() if rng.random() < 0.7}


def elementwise(op, *, least=2):
    def case(rng):
        shape = shape_of(rng)
        names = ["X"] + [some(rng, "X", f"c{i}") for i in range(rng.integers(least - 1, 3) if least == 1 else 1)]
        rng.shuffle(names)
        numbers = {n: integers(rng, like(rng, shape)) + 0.0 for n in names if n != "X"}
        if op == "Div":
            numbers = {n: 2.0 ** integers(rng, v.shape) for n, v in numbers.items()}
        return [node(op, names if "X" in names else ["X", *names], "Y")], numbers, shape, {}

    return case


def unary(op, **attributes):
    def case(rng):
        return (
            [node(op, ["X"], "Y", **optional(rng, **{k: v(rng) for k, v in attributes.items()}))],
            {},
            shape_of(rng),
            {},
        )

    return case


def scale(rng):
    """A slope: a number that float32 has, small or extreme."""
    return float(np.float32(some(rng, 0.25, -2.0, 0.0, 1.0, 0.01, 0.1)))


def clip(rng):
    bounds = {
        n: np.array(v)
        for n in ("low", "high")
        if (v := some(rng, None, -2.0, 0.5, *LARGE, *(-v for v in LARGE))) is not None
    }
    return (
        [node("Clip", ["X", "low" if "low" in bounds else "", *(["high"] if "high" in bounds else [])], "Y")],
        bounds,
        (1, 4),
        {},
    )


def gemm(rng):
    m, k, n = (int(v) for v in rng.integers(1, 4, size=3))
    a, b = bool(rng.integers(2)), bool(rng.integers(2))
    numbers = {"B": integers(rng, (n, k) if b else (k, n))}
    names = ["X", "B"]
    if rng.random() < 0.7:
        numbers["C"] = integers(rng, like(rng, (m, n)))
        names.append("C")
    rest = optional(rng, alpha=scale(rng), beta=scale(rng))
    return (
        [node("Gemm", names, "Y", transA=int(a), transB=int(b), **rest)],
        numbers,
        (k, m) if a else (m, k),
        {"atol": 1e-5},
    )


def matmul(rng):
    k = int(rng.integers(1, 4))
    batch = shape_of(rng, 0, 2)
    x = some(rng, (k,), (*batch, int(rng.integers(1, 4)), k))
    w = some(rng, (k,), (*like(rng, batch), k, int(rng.integers(1, 4))))
    return [node("MatMul", ["X", "W"], "Y")], {"W": integers(rng, w)}, x, {}


def windows(rng, n, *, ceil):
    rest = optional(
        rng,
        strides=[int(v) for v in rng.integers(1, 4, size=n)],
        pads=[int(v) for v in rng.integers(0, some(rng, 1, 2, 4), size=2 * n)],
        dilations=[int(v) for v in rng.integers(1, 3, size=n)],
        **({"ceil_mode": int(rng.integers(2))} if ceil else {}),
    )
    if rng.random() < 0.3:
        rest.pop("pads", None)
        rest["auto_pad"] = some(rng, "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    return rest


def conv(rng):
    n, groups = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    each, out = int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))
    kernel = [int(v) for v in rng.integers(1, 4, size=n)]
    numbers = {"W": integers(rng, (out, each, *kernel)), "b": integers(rng, out)}
    names = ["X", "W"] + (["b"] if rng.random() < 0.5 else [])
    sizes = [int(v) for v in rng.integers(1, 6, size=n)]
    return (
        [node("Conv", names, "Y", group=groups, **windows(rng, n, ceil=False))],
        numbers,
        (1, each * groups, *sizes),
        {},
    )


def pool(op):
    def case(rng):
        n = int(rng.integers(1, 3))
        rest = {"kernel_shape": [int(v) for v in rng.integers(1, 4, size=n)], **windows(rng, n, ceil=True)}
        if op == "AveragePool":
            rest.pop("dilations", None)
            rest |= optional(rng, count_include_pad=int(rng.integers(2)))
        sizes = [int(v) for v in rng.integers(1, 7, size=n)]
        return [node(op, ["X"], "Y", **rest)], {}, (1, 2, *sizes), {"atol": 1e-5 if op == "AveragePool" else 0.0}

    return case


def normalization(rng):
    shape = (1, *shape_of(rng, 1, 3))
    numbers = {n: integers(rng, shape[1]) for n in "sbm"} | {"v": rng.random(shape[1])}
    rest = optional(rng, epsilon=some(rng, 1e-3, 0.5), momentum=0.5)
    return (
        [node("BatchNormalization", ["X", "s", "b", "m", "v"], "Y", **rest)],
        numbers,
        shape,
        {"atol": 1e-4, "rtol": 1e-4},
    )


def reduce(op):
    def case(rng):
        shape = shape_of(rng)
        axes = [
            int(a) - len(shape) * int(rng.integers(2))
            for a in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]
        ]
        rest = optional(rng, keepdims=int(rng.integers(2)))
        if op == "ReduceMean":
            return [node(op, ["X"], "Y", **rest, **optional(rng, axes=axes))], {}, shape, {"atol": 1e-5}
        if rng.random() < 0.3:
            return [node(op, ["X"], "Y", noop_with_empty_axes=int(rng.integers(2)), **rest)], {}, shape, {}
        return [node(op, ["X", "a"], "Y", **rest)], {"a": np.array(axes)}, shape, {}

    return case


def moved(op):
    def case(rng):
        shape = shape_of(rng)
        n = len(shape)
        axis = int(rng.integers(-n, n))
        match op:
            case "Concat":
                other = tuple(int(rng.integers(1, 3)) if i == axis % n else s for i, s in enumerate(shape))
                return [node(op, ["X", "c", "X"], "Y", axis=axis)], {"c": integers(rng, other)}, shape, {}
            case "Expand":
                target = [some(rng, 1, s, 2 if s == 1 else s) for s in (*([2] * int(rng.integers(2))), *shape)]
                return [node(op, ["X", "s"], "Y")], {"s": np.array(target)}, shape, {}
            case "Flatten":
                return [node(op, ["X"], "Y", axis=int(rng.integers(-n, n + 1)))], {}, shape, {}
            case "Gather":
                index = rng.integers(-shape[axis], shape[axis], size=shape_of(rng, 0, 2))
                return [node(op, ["X", "i"], "Y", axis=axis)], {"i": index}, shape, {}
            case "Reshape":
                target = some(rng, [-1], [0, -1], [1, -1], [*reversed(shape)])
                return [node(op, ["X", "s"], "Y")], {"s": np.array(target)}, shape, {}
            case "Slice":
                far = some(rng, 2**31, 2**62, 3)
                numbers = {
                    "b": [some(rng, 0, 1, -2, -far)],
                    "e": [some(rng, far, -1, 2)],
                    "a": [axis],
                    "t": [some(rng, 1, 2, -1)],
                }
                return [node(op, ["X", *numbers], "Y")], {k: np.array(v) for k, v in numbers.items()}, shape, {}
            case "Split":
                parts = [1] * shape[axis]
                return (
                    [helper.make_node(op, ["X", "p"], ["Y", *("abc"[: len(parts) - 1])], "s", axis=axis)],
                    {"p": np.array(parts)},
                    shape,
                    {},
                )
            case "Tile":
                return [node(op, ["X", "r"], "Y")], {"r": rng.integers(1, 3, size=n)}, shape, {}
            case "Transpose":
                return [node(op, ["X"], "Y", **optional(rng, perm=[int(v) for v in rng.permutation(n)]))], {}, shape, {}
            case "Squeeze":
                return [node(op, ["X", "a"], "Y")], {"a": np.array([0])}, (1, *shape[:3]), {}
            case _:
                return [node(op, ["X", "a"], "Y")], {"a": np.array([some(rng, 0, -1, n)])}, shape, {}

    return case


def pad(rng):
    shape = shape_of(rng)
    pads = rng.integers(some(rng, 0, 0, -1), some(rng, 2, 3), size=2 * len(shape))
    mode = some(rng, "constant", "constant", "edge", "reflect")
    names = ["X", "p"] + (["v"] if mode == "constant" and rng.random() < 0.5 else [])
    return [node("Pad", names, "Y", mode=mode)], {"p": pads, "v": np.array(scale(rng))}, shape, {}


def prelu(rng):
    shape = shape_of(rng)
    return [node("PRelu", ["X", "s"], "Y")], {"s": integers(rng, like(rng, shape))}, shape, {}


def cast(rng):
    return [node("Cast", ["X"], "h", to=TensorProto.DOUBLE), node("Relu", ["h"], "Y")], {}, shape_of(rng), {}


CASES = {
    **{op: elementwise(op) for op in ("Add", "Sub", "Mul", "Div")},
    **{op: elementwise(op, least=1) for op in ("Sum", "Max", "Min", "Mean")},
    **{op: unary(op) for op in ("Abs", "Relu", "Neg", "Identity", "Dropout")},
    "LeakyRelu": unary("LeakyRelu", alpha=scale),
    "HardSigmoid": unary("HardSigmoid", alpha=scale, beta=scale),
    "GlobalAveragePool": lambda rng: (
        [node("GlobalAveragePool", ["X"], "Y")],
        {},
        (1, *shape_of(rng, 2, 3)),
        {"atol": 1e-5},
    ),
    "PRelu": prelu,
    "Clip": clip,
    "Gemm": gemm,
    "MatMul": matmul,
    "Conv": conv,
    "MaxPool": pool("MaxPool"),
    "AveragePool": pool("AveragePool"),
    "BatchNormalization": normalization,
    "ReduceMean": reduce("ReduceMean"),
    "ReduceSum": reduce("ReduceSum"),
    "Pad": pad,
    "Cast": cast,
    **{op: moved(op) for op in ("Concat", "Expand", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze")},
    **{op: moved(op) for op in ("Tile", "Transpose", "Unsqueeze")},
}


def model_of(nodes, numbers, shape, kind):
    """The model of a case in the given type."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    names = {name for n in nodes for name in n.input}
    with np.errstate(over="ignore"):
        tensors = [
            numpy_helper.from_array(np.asarray(v, dtype=dtype if np.asarray(v).dtype.kind == "f" else np.int64), k)
            for k, v in numbers.items()
            if k in names
        ]
    result = TensorProto.DOUBLE if any(n.op_type == "Cast" for n in nodes) else kind
    x, y = helper.make_tensor_value_info("X", kind, shape), helper.make_tensor_value_info("Y", result, None)
    graph = helper.make_graph(nodes, "test", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compare(op, seed, kind, folder):
    """Whether both programs read the case; if so, they agree."""
    rng = np.random.default_rng(seed)
    nodes, numbers, shape, tolerance = CASES[op](rng)
    path = saved(model_of(nodes, numbers, shape, kind), folder)
    x = integers(rng, (3, int(np.prod(shape))))
    try:
        theirs = run(path, x)
    except Exception:
        return False
    try:
        network = from_onnx(path)
    except CpwlError:
        return False
    ours = to_float(network(x.astype(object)))
    np.testing.assert_allclose(ours, theirs, **{"rtol": 1e-6, "atol": 1e-7, **tolerance})
    return True


def test_every_operator_has_a_case():
    """No operator is read that is not compared."""
    assert CASES.keys() == HANDLERS.keys()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("op", CASES)
def test_random_attributes(tmp_path, op):
    """Where both programs read the node they agree, in either type; and often enough they do."""
    kinds = (TensorProto.FLOAT, TensorProto.DOUBLE)
    read = [compare(op, seed, kinds[seed % 2], tmp_path) for seed in range(30)]
    assert sum(read) >= 5  # onnxruntime pools and convolves in float32 only


@pytest.mark.slow
@pytest.mark.parametrize("op", CASES)
def test_many_random_attributes(tmp_path, op):
    """The same, 600 times."""
    kinds = (TensorProto.FLOAT, TensorProto.DOUBLE)
    for seed in range(100, 700):
        compare(op, seed, kinds[seed % 2], tmp_path)
