"""ONNX files, with onnxruntime as the oracle."""

import os
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from onnx import TensorProto, helper, numpy_helper

import cpwl
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import to_float
from cpwl.io.onnx.read import from_onnx
from cpwl.io.onnx.write import to_onnx
from cpwl.network import Network
from cpwl.network.algorithms import extremum, identity
from support.onnx_models import make, node, run, saved
from support.strategies import networks, points

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


# Out


@SAME_FOLDER
@given(data=st.data())
def test_float64_file_computes_the_network(tmp_path, data):
    """onnxruntime gives the values of the network, up to float64 rounding."""
    network = data.draw(networks())
    x = to_float(data.draw(points(network.inputs)))
    to_onnx(network, tmp_path / "a.onnx")
    np.testing.assert_allclose(run(tmp_path / "a.onnx", x), network(x), rtol=1e-12, atol=1e-10)


@SAME_FOLDER
@given(data=st.data())
def test_float32_file_computes_the_network(tmp_path, data):
    """onnxruntime gives the values of the network, up to float32 rounding of weights and sums."""
    network = data.draw(networks())
    x = to_float(data.draw(points(network.inputs)))
    to_onnx(network, tmp_path / "a.onnx", dtype="float32", batch="N")
    np.testing.assert_allclose(run(tmp_path / "a.onnx", x), network(x), rtol=1e-4, atol=2e-2)


@DTYPES
@pytest.mark.parametrize("batch", [None, "N"])
def test_the_checker_passes(tmp_path, dtype, batch):
    """ONNX's own checker, shape inference included, accepts the file."""
    to_onnx(extremum(np.ones((5, 2)), np.arange(5)), tmp_path / "a.onnx", dtype=dtype, batch=batch)
    onnx.checker.check_model(onnx.load(tmp_path / "a.onnx"), full_check=True)


@DTYPES
def test_dialect(tmp_path, dtype):
    """Opset 13, IR 8, named Gemm and Relu with attributes spelled out, raw initializers, nothing else."""
    network = extremum([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0.1, 0.2, 0.3])
    to_onnx(network, tmp_path / "a.onnx", dtype=dtype)
    model = onnx.load(tmp_path / "a.onnx")
    graph = model.graph
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 13)]
    assert model.ir_version == 8
    assert [n.op_type for n in graph.node] == ["Gemm", "Relu", "Gemm", "Relu", "Gemm"]
    names = [n.name for n in graph.node]
    assert all(names)
    assert len(set(names)) == len(names)
    for gemm in graph.node[::2]:
        values = {a.name: helper.get_attribute_value(a) for a in gemm.attribute}
        assert values == {"alpha": 1.0, "beta": 1.0, "transB": 1}
    kind = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}[dtype]
    for tensor in graph.initializer:
        assert tensor.data_type == kind
        assert tensor.HasField("raw_data")
    first = np.frombuffer(graph.initializer[0].raw_data, dtype=np.dtype(dtype).newbyteorder("<"))
    assert (first == network.layers[0][0].toarray().astype(dtype).ravel()).all()


@pytest.mark.parametrize(("batch", "first"), [(None, 1), ("N", "N")])
def test_shapes(tmp_path, batch, first):
    """The input is X of shape [N, n], the default, or [1, n]; the output is Y."""
    to_onnx(Network([(np.ones((3, 2)), np.ones(3))]), tmp_path / "a.onnx", batch=batch)
    graph = onnx.load(tmp_path / "a.onnx").graph
    shapes = {
        value.name: [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in [*graph.input, *graph.output]
    }
    assert shapes == {"X": [first, 2], "Y": [first, 3]}


def test_the_file_says_that_tf32_must_be_off(tmp_path):
    """The metadata carries the warning to whoever runs the file."""
    to_onnx(identity(1, 1), tmp_path / "a.onnx")
    assert any("TF32" in entry.value for entry in onnx.load(tmp_path / "a.onnx").metadata_props)


def test_same_network_same_bytes(tmp_path):
    """Two writes of equal networks give equal files."""
    for name in ("a", "b"):
        to_onnx(extremum([[1.0], [2.0], [4.0]], [0, 1, 2], "min"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_float32_overflow(tmp_path):
    """A weight beyond float32 is refused and leaves no file behind."""
    network = Network([([[1.0]], [0.0]), ([[1e39]], [0.0])])
    with pytest.raises(LimitError, match=r"layer 2 has a number of size 1e\+39, but float32 ends at"):
        to_onnx(network, tmp_path / "a.onnx", dtype="float32")
    assert os.listdir(tmp_path) == []


def test_too_large_for_a_file(tmp_path):
    """A network beyond the 2 GiB of a protobuf file is refused before anything is made dense, if it is to be dense."""
    network = extremum(np.ones((20_000, 1)), np.arange(20_000))
    with pytest.raises(LimitError, match=r"4\.\d GiB as dense float64, more than the 2 GiB"):
        to_onnx(network, tmp_path / "a.onnx", layout="dense")


@pytest.mark.parametrize("options", [{"dtype": "float16"}, {"batch": ""}, {"batch": 3}])
def test_wrong_options(tmp_path, options):
    """Types and batches that the dialect does not have are refused."""
    with pytest.raises(InputError, match="must be"):
        to_onnx(identity(1, 1), tmp_path / "a.onnx", **options)


# In


@SAME_FOLDER
@given(network=networks(exact=False))
def test_round_trip(tmp_path, network):
    """What was written is read back, weight for weight."""
    to_onnx(network, tmp_path / "a.onnx")
    again = from_onnx(tmp_path / "a.onnx")
    assert again.exact is None
    for (weight, bias), (weight_2, bias_2) in zip(network.layers, again.layers, strict=True):
        assert (weight.toarray() == weight_2.toarray()).all()
        assert (bias == bias_2).all()


W, B = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([0.25, -1.0])
CASES = {
    "gemm": ([node("Gemm", ["X", "W"], "Y")], {}),
    "gemm, transposed": ([node("Gemm", ["X", "W", "b"], "Y", transB=1)], {}),
    "gemm, scaled": ([node("Gemm", ["X", "W", "b"], "Y", alpha=0.3, beta=-1.7)], {}),
    "gemm, alpha zero": ([node("Gemm", ["X", "W", "b"], "Y", alpha=0.0)], {}),
    "gemm, scalar bias": ([node("Gemm", ["X", "W", "c"], "Y")], {"c": 0.5}),
    "gemm, row bias": ([node("Gemm", ["X", "W", "c"], "Y")], {"c": [[0.5, 2.0]]}),
    "matmul": ([node("MatMul", ["X", "W"], "Y")], {}),
    "matmul and add": ([node("MatMul", ["X", "W"], "h"), node("Add", ["h", "b"], "Y")], {}),
    "add on the left": ([node("MatMul", ["X", "W"], "h"), node("Add", ["b", "h"], "Y")], {}),
    "add and add": ([node("Add", ["X", "b"], "h"), node("Add", ["h", "b"], "Y")], {}),
    "sub, then gemm": ([node("Sub", ["X", "b"], "h"), node("Gemm", ["h", "W", "b"], "Y")], {}),
    "sub from a constant": ([node("Sub", ["b", "X"], "h"), node("MatMul", ["h", "W"], "Y")], {}),
    "two products": ([node("MatMul", ["X", "W"], "h"), node("Gemm", ["h", "W", "b"], "Y")], {}),
    "relu at the end": ([node("Gemm", ["X", "W", "b"], "h"), node("Relu", ["h"], "Y")], {}),
    "relu at the beginning": ([node("Relu", ["X"], "h"), node("Gemm", ["h", "W", "b"], "Y")], {}),
    "relu twice": (
        [node("Gemm", ["X", "W", "b"], "h"), node("Relu", ["h"], "g"), node("Relu", ["g"], "Y")],
        {},
    ),
    "relu, then sub": ([node("Relu", ["X"], "h"), node("Sub", ["h", "b"], "Y")], {}),
    "identity": ([node("Identity", ["X"], "h"), node("Gemm", ["h", "W", "b"], "Y")], {}),
    "constants": (
        [
            helper.make_node("Constant", [], ["V"], "v", value=numpy_helper.from_array(W)),
            node("Identity", ["V"], "U"),
            node("MatMul", ["X", "U"], "Y"),
        ],
        {},
    ),
    "flatten": ([node("Flatten", ["X"], "h"), node("Gemm", ["h", "W", "b"], "Y")], {}),
}


@pytest.mark.parametrize("case", CASES)
def test_reads_what_others_write(tmp_path, case):
    """onnxruntime and the network read from the same file agree up to rounding."""
    nodes, constants = CASES[case]
    path = saved(make(nodes, {"W": W, "b": B, **constants}), tmp_path)
    x = np.random.default_rng(0).normal(size=(20, 2))
    np.testing.assert_allclose(from_onnx(path)(x), run(path, x), rtol=0, atol=1e-12)


def test_reads_images(tmp_path):
    """An input of shape [1, c, h, w] with a mean to subtract is flattened in order."""
    mean = np.array([1.0, 2.0]).reshape(1, 2, 1, 1)
    nodes = [
        node("Sub", ["X", "mean"], "h"),
        node("Flatten", ["h"], "g", axis=1),
        node("MatMul", ["g", "V"], "Y"),
    ]
    rng = np.random.default_rng(0)
    model = make(nodes, {"mean": mean, "V": rng.normal(size=(12, 2))}, shape=(1, 2, 2, 3))
    path, x = saved(model, tmp_path), rng.normal(size=(20, 12))
    np.testing.assert_allclose(from_onnx(path)(x), run(path, x), rtol=0, atol=1e-12)


def test_reads_inputs_of_unknown_shape(tmp_path):
    """Dimensions that the file leaves open are found from the weights."""
    nodes = [node("Sub", ["X", "b"], "h"), node("MatMul", ["h", "W"], "Y")]
    path = saved(make(nodes, {"W": W, "b": B}, shape=("N", "n")), tmp_path)
    assert from_onnx(path).inputs == 2


def test_initializers_may_be_listed_as_inputs(tmp_path):
    """Older files name their weights among the inputs."""
    model = make(CASES["matmul"][0], {"W": W})
    model.graph.input.append(helper.make_tensor_value_info("W", TensorProto.DOUBLE, [2, 2]))
    assert from_onnx(saved(model, tmp_path)).inputs == 2


def test_merged_layers_are_exact(tmp_path):
    """Two products in a row become their exact product, which no float64 holds."""
    nodes = [node("MatMul", ["X", "V"], "h"), node("MatMul", ["h", "V"], "Y")]
    network = from_onnx(saved(make(nodes, {"V": [[0.1]]}, shape=(1, 1), outputs=1), tmp_path))
    assert network(["1"]).tolist() == [Fraction(0.1) ** 2]


def test_float32_weights_are_exact(tmp_path):
    """A float32 weight is read at its exact value."""
    to_onnx(Network([([[0.1]], [0.0])]), tmp_path / "a.onnx", dtype="float32")
    assert from_onnx(tmp_path / "a.onnx").layers[0][0].data.tolist() == [float(np.float32(0.1))]


def test_reads_unknown_sizes_from_the_weights(tmp_path):
    """A last dimension that is open is that of the constant it meets first, transposed or not."""
    v = np.arange(6.0).reshape(2, 3)
    for nodes in (
        [node("Relu", ["X"], "h"), node("Gemm", ["h", "V"], "Y", transB=1)],
        [node("Mul", ["X", "c"], "h"), node("Add", ["h", "b"], "Y")],
    ):
        path = saved(make(nodes, {"V": v, "c": 2.0, "b": np.ones(3)}, shape=("N", "n")), tmp_path)
        assert from_onnx(path).inputs == 3


def test_refuses_two_inputs(tmp_path):
    """A network has one input."""
    model = make(CASES["matmul"][0], {"W": W})
    model.graph.input.append(helper.make_tensor_value_info("Z", TensorProto.DOUBLE, [1, 2]))
    with pytest.raises(InputError, match="2 inputs and 1 outputs"):
        from_onnx(saved(model, tmp_path))


def test_refuses_infinite_weights(tmp_path):
    """A file with infinities is refused."""
    with pytest.raises(InputError, match="must be finite"):
        from_onnx(saved(make([node("MatMul", ["X", "W"], "Y")], {"W": W * np.inf}), tmp_path))


def test_refuses_short_tensors(tmp_path):
    """Raw data that does not fill its shape is refused."""
    model = make([node("MatMul", ["X", "W"], "Y")], {"W": W})
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-8]
    with pytest.raises(InputError, match="tensor `W` that cannot be read"):
        from_onnx(saved(model, tmp_path))


@pytest.mark.parametrize("content", [b"", b"hello", b'{"format": "cpwl"}', bytes(100)])
def test_refuses_other_files(tmp_path, content):
    """What is not ONNX is refused in one sentence."""
    path = tmp_path / "a.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not an ONNX model"):
        from_onnx(path)


def test_refuses_every_truncation(tmp_path):
    """A file cut short anywhere is refused, or still has the whole network, metadata being all it lost."""
    path = tmp_path / "a.onnx"
    to_onnx(Network([([[1.0]], [2.0]), ([[3.0]], [4.0])]), path)
    content = path.read_bytes()
    for end in range(0, len(content), 7):
        path.write_bytes(content[:end])
        try:
            assert from_onnx(path)([1.0]).tolist() == [13.0]
        except InputError:
            continue


def test_refuses_missing_files(tmp_path):
    """A path that is not there, or is a folder, is refused in one sentence."""
    with pytest.raises(InputError, match=r"cannot read .*nowhere.onnx`: No such file or directory"):
        from_onnx(tmp_path / "nowhere.onnx")
    with pytest.raises(InputError, match="cannot read"):
        from_onnx(tmp_path)


LINE = cpwl.CPWL.from_grid([[0, 1, 2, 3]], ["1/3", 2, "-1/7", 1])
PLANE = cpwl.CPWL.from_grid([[0, 1, 2], [0, 1, 3]], [["1/3", 1, 0], [2, 0, 5], [1, "1/7", 3]])


@pytest.mark.parametrize(("p", "within"), [(LINE, "3%"), (PLANE, "9%")])
def test_float16_is_within_what_is_proved(tmp_path, p, within):
    """What onnxruntime computes, and NumPy in float16 in any order of summation, at points of float16."""
    compiled = cpwl.compile(p, weights="float16", within=within)
    proof = compiled.certificate
    bound = float(proof.error_bound) + proof.evaluation_bound["float16"]
    assert bound <= compiled.within.tolerance[0]
    cpwl.io.to_onnx(compiled, tmp_path / "net.onnx")
    again = cpwl.io.from_onnx(tmp_path / "net.onnx")
    assert again.evaluated_in == ("float16",)
    assert (cpwl.distance(again, compiled.network, box=(-1, 1))).largest == 0
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 3, (2000, p.dim)).astype(np.float16)
    exact = p(x.astype(np.float64))
    inside = np.isfinite(exact).all(axis=1)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": x})[0]
    assert found.dtype == np.float16
    h = x.T
    for i, (weight, bias) in enumerate(compiled.network.layers):
        terms = np.concatenate([weight.toarray().astype(np.float16), bias[:, None].astype(np.float16)], axis=1)
        below = np.concatenate([np.maximum(h, 0) if i else h, np.ones_like(h[:1])])
        h = np.zeros((len(bias), len(x)), dtype=np.float16)
        for k in rng.permutation(terms.shape[1]):
            h = h + terms[:, k : k + 1] * below[k]
    assert h.dtype == np.float16
    for values in (found, h.T):
        assert np.abs(values.astype(np.float64) - exact)[inside].max() <= bound


def test_float16_without_a_proof_is_refused(tmp_path):
    """A network alone has no function that it could be near."""
    compiled = cpwl.compile(LINE)
    for source in (compiled, compiled.network):
        with pytest.raises(InputError, match='weights="float16"'):
            cpwl.io.to_onnx(source, tmp_path / "net.onnx", dtype="float16")
    with pytest.raises(LimitError, match="type float16 within that error"):
        cpwl.compile(LINE, weights="float16", within=1e-6)
