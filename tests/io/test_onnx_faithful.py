"""What is proved of a file is true of the file: onnxruntime is asked, in the types of the file."""

import numpy as np
import pytest
from onnx import StringStringEntryProto, TensorProto, helper, numpy_helper

from cpwl import CPWL, certify, compile
from cpwl.errors import InputError, LimitError
from cpwl.io.onnx.read import from_onnx
from cpwl.io.onnx.write import to_onnx
from support.onnx_models import make, node, run, saved

LINE = CPWL.from_pieces([[[1], [-1]]], [[1, 1]], [[1]], [0])
SINGLE = TensorProto.FLOAT


def single(nodes, numbers, shape=(1, 1), kind=SINGLE, opset=13):
    """A model in one type, float32 unless told."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    tensors = [numpy_helper.from_array(np.asarray(v, dtype=dtype), k) for k, v in numbers.items()]
    x, y = (helper.make_tensor_value_info(n, kind, shape) for n in "XY")
    graph = helper.make_graph(nodes, "test", [x], [y], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


CANCELLING = {
    "add, sub": [node("Add", ["X", "big"], "h"), node("Sub", ["h", "big"], "Y")],
    "two gemms": [node("Gemm", ["X", "one", "big"], "h"), node("Gemm", ["h", "one", "less"], "Y")],
    "gemm, add": [node("Gemm", ["X", "one", "big"], "h"), node("Add", ["h", "less"], "Y")],
    "matmul, add, add": [
        *(node("MatMul", ["X", "one"], "g"), node("Add", ["g", "big"], "h")),
        node("Add", ["h", "less"], "Y"),
    ],
    "gemm with factors": [node("Gemm", ["X", "one", "big"], "h", beta=2.0), node("Gemm", ["h", "one", "lesser"], "Y")],
}


@pytest.mark.parametrize("case", CANCELLING)
def test_no_bound_on_rounding_for_other_operations(tmp_path, case):
    """The file is the identity in exact arithmetic, and far off in float32: the proof says just that."""
    numbers = {"big": [1e8], "less": [-1e8], "lesser": [-2e8], "one": [[1.0]]}
    used = {name for n in CANCELLING[case] for name in n.input}
    path = saved(single(CANCELLING[case], {k: v for k, v in numbers.items() if k in used}), tmp_path)
    assert abs(run(path, np.array([[0.3]]))[0, 0] - 0.3) > 0.2
    proof = certify(LINE, from_onnx(path))
    assert proof.proved
    assert proof.error_bound == 0
    assert "in exact arithmetic only" in proof.statement
    assert "rounding has no bound" in proof.statement
    assert proof.evaluation_bound is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bound_on_rounding_for_layers(tmp_path, dtype):
    """A file of layers has the bound for its own type, and onnxruntime keeps to it."""
    p = CPWL.from_simplices([[-1], [0.1], [0.35], [1]], [[0, 1], [1, 2], [2, 3]], [0, 1, -1, 0.3])
    path = tmp_path / "net.onnx"
    compiled = compile(p, construction="hinge")
    to_onnx(compiled.network, path, dtype=dtype)
    network = from_onnx(path)
    assert network.evaluated_in == (dtype,)
    proof = certify(p, network, rounded_from=compiled.network)
    assert proof.evaluation_bound is not None
    assert proof.evaluation_bound.keys() == {dtype}
    x = np.linspace(-1, 1, 101).astype(dtype).astype(float)[:, None]
    exact = network(x.astype(object)).astype(float)
    assert np.abs(run(path, x) - exact).max() <= proof.evaluation_bound[dtype] + 1e-15


def test_layers_however_they_are_written(tmp_path):
    """`MatMul` and `Add`, and entries moved about, are layers as well."""
    nodes = [
        *(node("MatMul", ["X", "W"], "h"), node("Add", ["h", "b"], "g"), node("Relu", ["g"], "f")),
        *(node("Identity", ["f"], "e"), node("MatMul", ["e", "W"], "Y")),
    ]
    path = saved(make(nodes, {"W": [[1.0, 2.0], [0.1, -1.0]], "b": [0.5, 0.0]}), tmp_path)
    assert from_onnx(path).evaluated_in == ("float64",)


def test_clip_in_doubles_keeps_large_bounds(tmp_path):
    """`Clip(min=1e39)` is 1e39 wherever the input is less; onnxruntime says so, too."""
    for bounds in ({"low": 1e39}, {"high": -1e39}, {"low": -1e39}, {"high": 1e39}, {"low": 3.5e38}):
        names = ["X", "low" if "low" in bounds else "", *(["high"] if "high" in bounds else [])]
        path = saved(make([node("Clip", names, "Y")], bounds), tmp_path)
        x = np.array([[-1e40, 1.0], [0.0, 1e40], [1e39, -1e39]])
        np.testing.assert_array_equal(from_onnx(path)(x.astype(object)).astype(float), run(path, x))


@pytest.mark.parametrize("target", ["FLOAT16", "BFLOAT16"])
def test_casts_that_round_are_refused(tmp_path, target):
    """float32 to float16 and back is a staircase."""
    nodes = [node("Cast", ["X"], "h", to=getattr(TensorProto, target)), node("Cast", ["h"], "Y", to=SINGLE)]
    with pytest.raises(InputError, match=f"rounds float32 to {target.lower()}, which is not continuous"):
        from_onnx(saved(single(nodes, {}), tmp_path))


def test_casts_that_widen_are_read(tmp_path):
    """A file that computes in two types has no bound for one of them."""
    nodes = [node("Cast", ["X"], "h", to=TensorProto.DOUBLE), node("Relu", ["h"], "Y")]
    assert from_onnx(saved(single(nodes, {}), tmp_path)).evaluated_in == ()


@pytest.mark.parametrize("op", ["LeakyRelu", "HardSigmoid"])
def test_defaults_are_float32(tmp_path, op):
    """In doubles, too: the default of a float attribute is a float."""
    path = saved(make([node(op, ["X"], "Y")], {}), tmp_path)
    x = np.array([[-1.0, 0.75], [-0.3, 1.1]])
    exact = from_onnx(path)(x.astype(object)).astype(float)
    alpha = float(np.float32({"LeakyRelu": 0.01, "HardSigmoid": 0.2}[op]))
    meant = np.where(x < 0, alpha * x, x) if op == "LeakyRelu" else np.clip(alpha * x + 0.5, 0, 1)
    np.testing.assert_allclose(exact, meant, rtol=1e-15, atol=0)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_windows_of_padding_alone_are_refused(tmp_path, op):
    """Their maximum is minus infinity, their mean 0/0."""
    pool = node(op, ["X"], "Y", kernel_shape=[1], pads=[1, 0], strides=[1])
    with pytest.raises(InputError, match="a window is all padding"):
        from_onnx(saved(make([pool], {}, shape=(1, 1, 2)), tmp_path))


TINY = {
    "chained concat": [node("Concat", [f"h{i}", f"h{i}"], f"h{i + 1}", axis=1) for i in range(60)],
    "tile": [node("Tile", ["h0", "large"], "h60")],
    "expand": [node("Expand", ["h0", "large"], "h60")],
    "constant": [node("ConstantOfShape", ["large"], "c"), node("Add", ["h0", "c"], "h60")],
    "chained constants": [
        *(node("Concat", [f"c{i}", f"c{i}"], f"c{i + 1}", axis=0) for i in range(60)),
        node("Add", ["h0", "c60"], "h60"),
    ],
    "long numbers": [node("MatMul", [f"h{i}", "W"], f"h{i + 1}") for i in range(400)],
}


@pytest.mark.parametrize("case", TINY)
def test_tiny_files_that_ask_for_much(tmp_path, case):
    """Sizes are estimated before anything is built."""
    nodes = [node("Identity", ["X"], "h0"), *TINY[case]]
    last = nodes[-1].output[0]
    model = make([*nodes, node("Relu", [last], "Y")], {"c0": [[1.0, 2.0]], "W": [[0.1, 0.3], [0.7, 0.9]]})
    model.graph.initializer.append(numpy_helper.from_array(np.array([2**40, 2**40]), "large"))
    with pytest.raises(LimitError, match=r"more than the 1,048,576 that we read|binary digits"):
        from_onnx(saved(model, tmp_path))


@pytest.mark.parametrize("op", ["MatMul", "Gemm"])
def test_wide_layers_are_read(tmp_path, op):
    """A layer of many weights has few entries."""
    weights = np.zeros((1500, 1500))
    weights[0] = 1.0
    path = saved(make([node(op, ["X", "W"], "Y")], {"W": weights}, shape=(1, 1500), outputs=1500), tmp_path)
    assert from_onnx(path).sizes.nonzeros == 1500


def test_large_inputs_are_refused(tmp_path):
    """An input of 10^7 entries is a line of text in the file."""
    with pytest.raises(LimitError, match="the input `X` has 10,000,000 entries"):
        from_onnx(saved(make([node("Relu", ["X"], "Y")], {}, shape=(1, 10**7)), tmp_path))


def test_endless_files_are_refused():
    """A device that never ends is read no further than a few hundred megabytes."""
    with pytest.raises(LimitError, match="more than 256 MiB"):
        from_onnx("/dev/zero")


def sparse(name):
    """A 2 x 2 matrix with one entry."""
    values = helper.make_tensor(name, TensorProto.DOUBLE, [1], [9.5])
    return helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [1], [0]), [2, 2])


DAMAGED = {
    "two values of one name": (lambda m: m.graph.node.append(node("Relu", ["X"], "h")), "gives the name `h` to two"),
    "a constant by the name of a node": (
        lambda m: m.graph.initializer.append(numpy_helper.from_array(np.ones(2), "h")),
        "gives the name `h` to two",
    ),
    "two constants": (
        lambda m: m.graph.initializer.extend([numpy_helper.from_array(np.ones(2), "c")] * 2),
        "gives the name `c` to two",
    ),
    "a sparse constant by the name of a dense one": (
        lambda m: m.graph.sparse_initializer.append(sparse("W")),
        "has a sparse tensor `W`",
    ),
    "a sparse constant by another name": (
        lambda m: m.graph.sparse_initializer.append(sparse("V")),
        "has a sparse tensor `V`",
    ),
    "a constant with two lists of numbers": (
        lambda m: m.graph.initializer[0].double_data.extend([1.0, 2.0, 3.0, 4.0]),
        "`W` with two lists of numbers",
    ),
    "a node with two values": (
        lambda m: (
            m.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value_float=1.0, value_floats=[2.0, 3.0]))
            or m.graph.node[1].input.append("c")
        ),
        "has several values: value_float, value_floats",
    ),
    "weights in two files": (
        lambda m: (
            m.graph.initializer[0].external_data.extend(
                [StringStringEntryProto(key="location", value=name) for name in ("a.bin", "b.bin")]
            )
            or setattr(m.graph.initializer[0], "data_location", TensorProto.EXTERNAL)
        ),
        "defines the weights `W` twice",
    ),
    "unknown opset": (lambda m: setattr(m.opset_import[0], "version", 99), "uses version 99 .* we know 1 to"),
    "opset 0": (lambda m: setattr(m.opset_import[0], "version", 0), "uses version 0"),
    "two opsets": (lambda m: m.opset_import.append(helper.make_opsetid("", 12)), "operators 2 times"),
    "functions": (
        lambda m: m.functions.append(
            helper.make_function("", "Relu", ["a"], ["b"], [node("Neg", ["a"], "b")], [helper.make_opsetid("", 13)])
        ),
        "redefines standard operators",
    ),
    "integers": (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 7), "is of type int64"),
    "another type": (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 1), "combines float32 and"),
    "unknown attribute": (
        lambda m: m.graph.node[0].attribute.append(helper.make_attribute("axis", 1)),
        "has an attribute `axis`, which its operator does not have",
    ),
    "attribute of another type": (
        lambda m: m.graph.node[0].attribute.append(helper.make_attribute("alpha", 1)),
        "not of the type float",
    ),
    "too many operands": (lambda m: m.graph.node[1].input.append("h"), "has 2 operands, and should have 1"),
    "not finite": (
        lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.full((2, 2), np.inf), "W")),
        "every number must be finite",
    ),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_models_are_refused(tmp_path, case):
    """Each mistake has a sentence of its own."""
    change, message = DAMAGED[case]
    model = make([node("Gemm", ["X", "W"], "h"), node("Relu", ["h"], "Y")], {"W": np.eye(2)})
    change(model)
    with pytest.raises(InputError, match=message):
        from_onnx(saved(model, tmp_path))


WRAPPED = {
    "Pow": ([10], [20], "int64 cannot represent, such as 1e\\+20"),
    "Mul": ([2**32], [2**32], "int64 cannot represent"),
    "Add": ([2**62], [2**62], "int64 cannot represent"),
    "Sub": ([-(2**62)], [2**62 + 1], "int64 cannot represent"),
    "Neg": ([-(2**63)], None, "int64 cannot represent"),
}


@pytest.mark.parametrize("op", WRAPPED)
def test_integers_do_not_wrap_around(tmp_path, op):
    """A constant that no integer of the type holds is refused; half of it is read, exactly."""
    a, b, message = WRAPPED[op]

    def model(first, second):
        given = {"a": first} if second is None else {"a": first, "b": second}
        made = make(
            [node(op, list(given), "k"), node("Cast", ["k"], "c", to=TensorProto.DOUBLE), node("Add", ["X", "c"], "Y")],
            {},
        )
        made.graph.initializer.extend(numpy_helper.from_array(np.array(v, dtype=np.int64), k) for k, v in given.items())
        return made

    with pytest.raises(InputError, match=message):
        from_onnx(saved(model(a, b), tmp_path))
    assert from_onnx(saved(model([2], None if b is None else [3]), tmp_path)).outputs == 2


def test_casts_to_integers_do_not_wrap_around(tmp_path):
    """What the smaller type does not hold is refused."""
    there = node("Cast", ["a"], "k", to=TensorProto.INT8), node("Cast", ["k"], "c", to=TensorProto.DOUBLE)
    model = make([*there, node("Add", ["X", "c"], "Y")], {"a": [300.0]})
    with pytest.raises(InputError, match="int8 cannot represent, such as 300"):
        from_onnx(saved(model, tmp_path))


def test_old_broadcasting_along_an_axis_is_refused(tmp_path):
    """Before opset 7 `axis` says where a smaller operand lies; read as today it would be somewhere else."""
    model = single([node("Add", ["X", "c"], "Y", broadcast=1, axis=0)], {"c": [1.0, 2.0]}, shape=(2, 2), opset=6)
    with pytest.raises(InputError, match="an attribute `axis`, which we do not read"):
        from_onnx(saved(model, tmp_path))
