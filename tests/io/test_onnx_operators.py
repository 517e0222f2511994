"""ONNX operators, one by one, with onnxruntime as the oracle."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from cpwl.errors import InputError
from cpwl.exact.rational import to_float
from cpwl.io.onnx.read import from_onnx
from support.onnx_models import make, node, run, saved

W, B = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([0.25, -1.0])

# Operators: small integers, so that onnxruntime computes without any rounding in float32.

K = np.random.default_rng(1).integers(-3, 4, size=(3, 2, 2, 2)).astype(float)
M = np.random.default_rng(2).integers(-3, 4, size=(6, 4)).astype(float)
A = [[1.0, -2.0, 0.5], [3.0, 1.0, -1.0], [0.0, 2.0, 1.0]]


def constant(name, value):
    """A node that gives integers, such as a shape or axes."""
    value = numpy_helper.from_array(np.asarray(value, dtype=np.int64))
    return helper.make_node("Constant", [], [name], f"constant_{name}", value=value)


def chain(*nodes):
    """Nodes `(operator, further inputs, attributes)` one after the other, from X to Y."""
    made, before = [], "X"
    for i, (op, more, attributes) in enumerate(nodes):
        after = "Y" if i == len(nodes) - 1 else f"h{i}"
        made.append(node(op, [before, *more], after, **attributes))
        before = after
    return made


def one(op, *more, **attributes):
    """A single node from X to Y."""
    return chain((op, more, attributes))


OPERATORS = {
    "mul": (one("Mul", "c"), (1, 3)),
    "div by halves": (one("Div", "half"), (1, 3)),
    "neg": (one("Neg"), (1, 3)),
    "sum of three": ([node("Sum", ["X", "c", "X"], "Y")], (1, 3)),
    "twice the same": ([node("Add", ["X", "X"], "Y")], (1, 3)),
    "leaky": (one("LeakyRelu", alpha=0.25), (1, 3)),
    "prelu": (one("PRelu", "c"), (1, 3)),
    "abs": (one("Abs"), (1, 3)),
    "clip": (one("Clip", "low", "high"), (1, 3)),
    "clip below": (one("Clip", "low"), (1, 3)),
    "clip above": (one("Clip", "", "high"), (1, 3)),
    "max of three": ([node("Gemm", ["X", "A"], "h"), node("Max", ["X", "h", "c"], "Y")], (1, 3)),
    "min of two": ([node("Gemm", ["X", "A"], "h"), node("Min", ["h", "X"], "Y")], (1, 3)),
    "max with a constant": (one("Max", "c"), (1, 3)),
    "min of one": (one("Min"), (1, 3)),
    "gemm, both transposed": (one("Gemm", "A", transA=1, transB=1), (3, 1)),
    "gemm from the left": ([node("Gemm", ["A", "X", "column"], "Y", transB=1)], (1, 3)),
    "matmul from the left": ([node("MatMul", ["A", "X"], "Y")], (3, 2)),
    "matmul with a vector": (one("MatMul", "c"), (1, 3)),
    "matmul of a stack": (one("MatMul", "A"), (2, 2, 3)),
    "matmul by a stack": (one("MatMul", "AA"), (2, 2, 3)),
    "matmul of a vector": (one("MatMul", "A"), (3,)),
    "residual": (
        [
            node("Gemm", ["X", "A"], "h"),
            node("Relu", ["h"], "g"),
            node("Gemm", ["g", "A"], "f"),
            node("Add", ["f", "X"], "Y"),
        ],
        (1, 3),
    ),
    "two residuals": (
        [
            *(node("Gemm", ["X", "A"], "h"), node("Relu", ["h"], "g"), node("Add", ["g", "X"], "f")),
            *(node("Gemm", ["f", "A"], "e"), node("Relu", ["e"], "d"), node("Sub", ["f", "d"], "Y")),
        ],
        (1, 3),
    ),
    "branches of unequal depth": (
        [
            *(
                node("Gemm", ["X", "A"], "h"),
                node("Relu", ["h"], "g"),
                node("Gemm", ["g", "A"], "f"),
                node("Relu", ["f"], "e"),
            ),
            *(node("Relu", ["X"], "d"), node("Concat", ["e", "d", "row"], "Y", axis=1)),
        ],
        (1, 3),
    ),
    "a branch that nobody reads": ([node("Relu", ["X"], "Y"), node("Sigmoid", ["X"], "h")], (1, 3)),
    "an output before the last node": ([node("Relu", ["X"], "Y"), node("Neg", ["Y"], "h")], (1, 3)),
    "split": (
        [
            helper.make_node("Split", ["X"], ["u", "v"], "split", axis=1),
            node("Relu", ["u"], "h"),
            node("Sub", ["v", "h"], "Y"),
        ],
        (1, 4),
    ),
    "slice": ([constant("s", [1]), constant("e", [3]), constant("a", [1]), *one("Slice", "s", "e", "a")], (1, 4)),
    "gather": ([constant("i", [2, 0, 2]), *one("Gather", "i", axis=1)], (1, 3)),
    "pad": ([constant("p", [0, 1, 0, 2]), *one("Pad", "p", "high")], (1, 3)),
    "transpose": (one("Transpose", perm=[2, 0, 1]), (2, 3, 2)),
    "reshape": ([constant("s", [0, -1]), *chain(("Reshape", ["s"], {}), ("Gemm", ["M"], {}))], (1, 2, 3)),
    "reshape by computed shape": (
        [
            *(node("Shape", ["X"], "s"), constant("zero", [0]), node("Gather", ["s", "zero"], "n")),
            *(constant("rest", [-1]), node("Concat", ["n", "rest"], "t", axis=0), node("Reshape", ["X", "t"], "Y")),
        ],
        (1, 2, 3),
    ),
    "squeeze, unsqueeze": ([constant("a", [0]), *chain(("Squeeze", ["a"], {}), ("Unsqueeze", ["a"], {}))], (1, 3)),
    "flatten at 2": (one("Flatten", axis=2), (1, 2, 3)),
    "flatten everything": (one("Flatten", axis=0), (1, 3)),
    "acas": (
        chain(("Sub", ["shift"], {}), ("Flatten", [], {"axis": 1}), ("MatMul", ["five"], {}), ("Relu", [], {})),
        (1, 1, 1, 5),
    ),
    "dropout, cast": (chain(("Dropout", [], {}), ("Cast", [], {"to": TensorProto.FLOAT})), (1, 3)),
    "conv": (one("Conv", "K"), (1, 2, 4, 5)),
    "conv with all attributes": (
        one("Conv", "K", "c", strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2], kernel_shape=[2, 2]),
        (1, 2, 5, 4),
    ),
    "conv, padded to the same size": (one("Conv", "K", auto_pad="SAME_UPPER", strides=[2, 2]), (1, 2, 5, 4)),
    "conv, padded below": (one("Conv", "K", auto_pad="SAME_LOWER"), (1, 2, 3, 4)),
    "conv in groups": (one("Conv", "G", group=2), (1, 2, 3, 3)),
    "conv, relu, conv": (chain(("Conv", ["K"], {}), ("Relu", [], {}), ("Conv", ["back"], {})), (1, 2, 4, 3)),
    "averages": (one("AveragePool", kernel_shape=[2, 2], strides=[2, 1]), (1, 2, 4, 4)),
    "averages with padding": (
        one("AveragePool", kernel_shape=[2, 2], pads=[1, 1, 0, 0], count_include_pad=1),
        (1, 1, 3, 3),
    ),
    "averages without padding": (one("AveragePool", kernel_shape=[2, 2], pads=[1, 1, 0, 0]), (1, 1, 3, 3)),
    "averages of everything": (one("GlobalAveragePool"), (1, 3, 2, 2)),
    "mean over axes": (one("ReduceMean", axes=[1], keepdims=0), (1, 4, 3)),
    "sum over axes": ([constant("a", [-1]), *one("ReduceSum", "a")], (1, 4, 3)),
    "maxima": (one("MaxPool", kernel_shape=[2, 2], strides=[2, 1]), (1, 2, 4, 3)),
    "maxima with padding": (one("MaxPool", kernel_shape=[3, 2], pads=[1, 1, 1, 0], strides=[2, 2]), (1, 1, 4, 4)),
    "maxima that stick out": (one("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), (1, 1, 3, 5)),
    "batch normalization": (one("BatchNormalization", "c", "row3", "c", "four", epsilon=0.0), (1, 3, 2)),
    "constants computed": (
        [constant("s", [3, 3]), node("Transpose", ["A"], "B"), node("Mul", ["B", "half"], "C"), *one("MatMul", "C")],
        (1, 3),
    ),
}
NUMBERS = {
    "A": A,
    "AA": [A, np.transpose(A)],
    "K": K,
    "M": M,
    "G": K[:2, :1],
    "back": K.transpose(1, 0, 2, 3)[:, :, :1, :1],
    "c": [1.0, -2.0, 3.0],
    "column": [[1.0], [-2.0], [3.0]],
    "half": [0.5, -2.0, 4.0],
    "low": -1.5,
    "high": 2.0,
    "row": [[7.0, -7.0]],
    "shift": np.arange(5.0).reshape(1, 1, 1, 5),
    "five": np.arange(10.0).reshape(5, 2) - 4,
    "row3": [0.5, 0.25, -1.0],
    "four": [4.0, 1.0, 16.0],
    "roots": [0.3, 0.7, 2.0],
}


@pytest.mark.parametrize("case", OPERATORS)
def test_operators(tmp_path, case):
    """onnxruntime in float32 gives exactly the rational values of the network, on integers."""
    nodes, shape = OPERATORS[case]
    path = saved(operators(nodes, shape), tmp_path)
    network = from_onnx(path)
    x = np.random.default_rng(0).integers(-4, 5, size=(12, network.inputs))
    exact, theirs = network(x.astype(object)), run(path, x)
    # Means of three are no floats: there one rounding is all that may differ.
    atol = 1e-6 if "without padding" in case else 0
    np.testing.assert_allclose(to_float(exact), theirs, rtol=0, atol=atol)


def operators(nodes, shape, kind=TensorProto.FLOAT):
    """A model of one input with the numbers above as initializers of that type."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    names = {name for n in nodes for name in n.input}
    tensors = [numpy_helper.from_array(np.asarray(v, dtype=dtype), k) for k, v in NUMBERS.items() if k in names]
    x, y = helper.make_tensor_value_info("X", kind, shape), helper.make_tensor_value_info("Y", kind, None)
    graph = helper.make_graph(nodes, "test", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("case", ["acas", "two residuals", "conv, relu, conv", "batch normalization"])
def test_float16_is_read_at_its_exact_value(tmp_path, case):
    """A float16 file with numbers that float16 holds is the same network as the float32 one."""
    nodes, shape = OPERATORS[case]
    half = from_onnx(saved(operators(nodes, shape, TensorProto.FLOAT16), tmp_path))
    single = from_onnx(saved(operators(nodes, shape), tmp_path))
    x = np.random.default_rng(0).integers(-4, 5, size=(6, single.inputs)).astype(object)
    assert (half(x) == single(x)).all()


def test_skip_links_are_carried_with_few_neurons(tmp_path):
    """A skip over one ReLU takes a pair for each input; neurons are never negative and take one."""
    nodes, shape = OPERATORS["residual"]
    assert [w.shape[0] for w, _ in from_onnx(saved(operators(nodes, shape), tmp_path)).layers] == [9, 3]
    nodes, shape = OPERATORS["branches of unequal depth"]
    assert [w.shape[0] for w, _ in from_onnx(saved(operators(nodes, shape), tmp_path)).layers] == [6, 6, 8]


def test_a_deep_skip_carries_sums_rather_than_all_their_terms(tmp_path):
    """One sum of six inputs over three ReLUs takes one pair a layer."""
    nodes = [node("MatMul", ["X", "w"], "s")]
    for i in range(3):
        nodes += [node("Gemm", [f"g{i}" if i else "X", f"W{min(i, 1)}"], f"h{i}"), node("Relu", [f"h{i}"], f"g{i + 1}")]
    nodes += [node("Add", ["g3", "s"], "Y")]
    model = make(nodes, {"w": np.ones((6, 1)), "W0": np.ones((6, 2)), "W1": np.ones((2, 2))}, shape=(1, 6))
    path = saved(model, tmp_path)
    assert [w.shape[0] for w, _ in from_onnx(path).layers] == [4, 4, 4, 2]
    x = np.random.default_rng(0).integers(-4, 5, size=(6, 6))
    assert (from_onnx(path)(x.astype(object)) == run(path, x)).all()


def test_normalisation_with_roots(tmp_path):
    """Batch normalization with any variance agrees up to float32 rounding."""
    nodes = one("BatchNormalization", "c", "row3", "c", "roots")
    path = saved(operators(nodes, (1, 3, 2)), tmp_path)
    x = np.random.default_rng(0).normal(size=(6, 6))
    np.testing.assert_allclose(from_onnx(path)(x), run(path, x), rtol=1e-5, atol=1e-5)


def test_old_clip_has_attributes(tmp_path):
    """Before opset 11 the bounds of Clip are attributes, the largest float32 being none."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 2]) for n in "XY")
    graph = helper.make_graph([node("Clip", ["X"], "Y", min=0.0, max=3.4028234663852886e38)], "t", [x], [y])
    path = saved(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8), tmp_path)
    assert from_onnx(path)([[-1.0, 9.0]]).tolist() == [[0.0, 9.0]]
    assert from_onnx(path).sizes.neurons == 2


REFUSED = {
    "unknown operator": ([node("Sigmoid", ["X"], "Y")], r"`Sigmoid_to_Y` \(Sigmoid\) is not an operation we read"),
    "unknown operator on constants": (
        [node("Sin", ["W"], "h"), node("MatMul", ["X", "h"], "Y")],
        r"`Sin_to_h` \(Sin\) is not an operation that we read on constants",
    ),
    "another domain": (
        [helper.make_node("Relu", ["X"], ["Y"], "r", domain="com.microsoft")],
        "of the domain `com.microsoft`",
    ),
    "product of tensors": ([node("Mul", ["X", "X"], "Y")], r"\(Mul\) multiplies two tensors"),
    "matrix product of tensors": (
        [node("Transpose", ["X"], "h"), node("MatMul", ["X", "h"], "Y")],
        "multiplies two tensors",
    ),
    "division by a tensor": ([node("Div", ["b", "X"], "Y")], "divides by a tensor that depends on the input"),
    "division by zero": ([node("Div", ["X", "z"], "Y")], "divides by 0"),
    "product from the left": ([node("MatMul", ["W", "X"], "Y")], r"shapes \(2, 2\) and \(1, 2\), which do not fit"),
    "transposed input": ([node("Gemm", ["X", "W"], "Y", transA=1)], r"shapes \(2, 1\) and \(2, 2\)"),
    "flat gemm": ([node("Gemm", ["X", "b"], "Y")], r"must multiply matrices, not a tensor of shape \(2,\)"),
    "wrong constant": ([node("Add", ["X", "V3"], "Y")], r"\(Add\) does not fit operands of shapes \(1, 2\), \(3, 3\)"),
    "wrong reshape": ([constant("s", [7]), node("Reshape", ["X", "s"], "Y")], r"\(Reshape\) does not fit operands"),
    "bounds the wrong way": ([node("Clip", ["X", "p", "z1"], "Y")], "min = 1.0 above max = 0.0"),
    "cast to integers": ([node("Cast", ["X"], "Y", to=TensorProto.INT64)], "casts to a type that is not floating"),
    "nothing reads the input": ([node("Neg", ["W"], "Y")], "`Y` does not depend on the input"),
    "nothing gives the output": ([node("Relu", ["X"], "h")], "no node computes the output `Y`"),
    "a tensor from nowhere": ([node("Add", ["X", "Q"], "Y")], "reads `Q`, which no earlier node computes"),
    "kernel too large": (
        [node("Unsqueeze", ["X", "one"], "h"), node("Conv", ["h", "big"], "Y")],
        "does not fit into 2 entries",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_what_is_not_piecewise_linear(tmp_path, case):
    """Anything else is refused with the name and operator of the node."""
    nodes, message = REFUSED[case]
    numbers = {"W": W, "b": B, "V3": np.ones((3, 3)), "z": [1.0, 0.0], "p": 1.0, "z1": 0.0, "big": np.ones((1, 1, 3))}
    model = make(nodes, numbers)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1]), "one"))
    with pytest.raises(InputError, match=message):
        from_onnx(saved(model, tmp_path))


def test_refuses_open_shapes(tmp_path):
    """Dimensions other than the first must be known."""
    path = saved(make([node("Relu", ["X"], "Y")], {}, shape=(1, "c", "h")), tmp_path)
    with pytest.raises(InputError, match="the input `X` has open dimensions other than the first"):
        from_onnx(path)
