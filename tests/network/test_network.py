"""The network as a value: what it holds, what it costs, what it computes, what it refuses."""

import copy
import pickle
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import coo_array, csr_array, random_array

import cpwl
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction_array, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network, Sizes
from cpwl.network import network as evaluation
from support.strategies import networks, points

ABSOLUTE = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])]


def value(layers, x):
    """The output at one point by Definition 4, written out with dense arrays."""
    h = x
    for i, (weight, bias) in enumerate(layers):
        h = h if i == 0 else np.array([max(v, 0) for v in h], dtype=object)
        h = np.array([sum(weight[j] * h) + bias[j] for j in range(len(bias))], dtype=object)
    return h


@given(st.data())
def test_rational_points_give_rational_values(data):
    """Fractions in, Fractions out, equal to the definition."""
    network = data.draw(networks())
    x = data.draw(points(network.inputs))
    layers = [(weight.toarray(), bias) for weight, bias in network.exact]
    result = network(x)
    assert all(isinstance(v, Fraction) for v in result.flat)
    assert (result == np.array([value(layers, p) for p in x], dtype=object)).all()


@given(st.data())
def test_float_points_give_float_values(data):
    """The float values are the rational values of the float weights, up to rounding."""
    network = data.draw(networks(exact=False))
    x = data.draw(points(network.inputs, count=20)).astype(float)
    result = network(x)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, to_float(network(fraction_array(x))), rtol=0, atol=1e-10)


@given(st.data())
def test_float_weights_are_rationals(data):
    """A float network is evaluated exactly at rational points: a float is the rational that it is."""
    network = data.draw(networks(exact=False))
    assert network.exact is None
    exact = Network([(RationalMatrix.from_float(weight), bias) for weight, bias in network.layers])
    x = data.draw(points(network.inputs))
    assert (network(x) == exact(x)).all()


@given(networks())
def test_layers_are_the_rounded_rationals(network):
    """`layers` is `exact` with every number rounded once."""
    for (weight, bias), (exact_weight, exact_bias) in zip(network.layers, network.exact, strict=True):
        assert (weight.toarray() == to_float(exact_weight.toarray())).all()
        assert (bias == to_float(exact_bias)).all()


@given(st.data())
def test_a_point_is_a_row(data):
    """A single point gives what it gives as a row."""
    network = data.draw(networks())
    x = data.draw(points(network.inputs, count=1))
    assert (network(x[0]) == network(x)[0]).all()
    assert network(x[0]).shape == (network.outputs,)


@given(networks())
def test_sizes(network):
    """Neurons, depth and width count hidden layers as in Definition 5; nonzeros count weights."""
    hidden = [len(bias) for _, bias in network.layers[:-1]]
    nonzeros = sum(np.count_nonzero(weight.toarray()) for weight, _ in network.layers)
    assert network.sizes == Sizes(sum(hidden), len(hidden) + 1, max([0, *hidden]), nonzeros)


def test_one_layer_has_no_hidden_neurons():
    """An affine function has depth 1, no neurons and width 0."""
    assert Network([([[1, 0]], [5])]).sizes == Sizes(neurons=0, depth=1, width=0, nonzeros=1)


@pytest.mark.parametrize("kind", [np.array, lambda a: np.array(a).tolist(), csr_array, coo_array])
def test_weights_of_every_kind(kind):
    """Dense, nested and sparse weights are the same network."""
    weights = [kind(np.array([[1, 0, -2]])), kind(np.array([[3]]))]
    network = Network([(weights[0], [1]), (weights[1], [2])])
    assert network.exact is None
    assert [weight.toarray().tolist() for weight, _ in network.layers] == [[[1.0, 0.0, -2.0]], [[3.0]]]
    assert network.sizes.nonzeros == 3


@pytest.mark.parametrize(
    "layer",
    [
        ([["1/3"]], [0.5]),
        ([[0.25]], ["1/3"]),
        ([[Fraction(1, 2)]], [0]),
        (np.array([[1]], dtype=object), [0]),
        (RationalMatrix.from_dense([[1]]), [0]),
        ([[2**60 + 1]], [0]),
        (csr_array(np.array([[2**60 + 1]])), [0]),
    ],
)
def test_one_rational_makes_all_exact(layer):
    """If any number was given as a rational, all layers are held as rationals, floats exactly."""
    network = Network([layer, ([[0.1]], [0.1])])
    assert network.exact[1][0].toarray()[0, 0] == network.exact[1][1][0] == Fraction(0.1)


def test_rational_entries_survive():
    """What the caller wrote is what `exact` holds, integers beyond 2^53 included."""
    network = Network([([["1/3", 2**60 + 1]], ["-2/7"])])
    assert network.exact[0][0].toarray().tolist() == [[Fraction(1, 3), 2**60 + 1]]
    assert network.exact[0][1].tolist() == [Fraction(-2, 7)]


def test_float_layers_are_canonical():
    """Weights are sorted CSR float64 without duplicates or stored zeros; biases have no negative zero."""
    given_ = coo_array(([1.0, 2.0, 3.0, 0.0], ([0, 0, 0, 0], [2, 0, 2, 1])), shape=(1, 3))
    weight, bias = Network([(given_, [-0.0])]).layers[0]
    assert isinstance(weight, csr_array)
    assert weight.dtype == bias.dtype == np.float64
    assert (weight.indices.tolist(), weight.data.tolist()) == ([0, 2], [2.0, 4.0])
    assert not np.signbit(bias).any()


def test_the_arrays_given_stay_the_callers():
    """A network copies what it is given and leaves it writable."""
    weight, bias = csr_array(np.array([[1.0, 2.0]])), np.array([3.0])
    network = Network([(weight, bias)])
    weight.data[0] = bias[0] = 99.0
    assert network([1.0, 1.0]).tolist() == [6.0]


def test_a_network_cannot_be_changed():
    """Attributes are frozen and arrays are read-only."""
    network = Network([([["1/3"]], [1])])
    with pytest.raises(AttributeError):
        network.layers = ()
    arrays = [network.layers[0][0].data, network.layers[0][1], network.exact[0][0].data, network.exact[0][1]]
    assert not any(array.flags.writeable for array in arrays)


def test_equality_is_identity():
    """`==` compares objects, never arrays: the same function has many networks."""
    assert Network(ABSOLUTE) != Network(ABSOLUTE)
    assert len({Network(ABSOLUTE), Network(ABSOLUTE)}) == 2


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_compute_the_same(copier):
    """Copies and pickles, which worker processes receive, keep layers and rationals."""
    network = copier(Network([([["1/3"]], [1])]))
    assert network(["1"]).tolist() == [Fraction(4, 3)]
    assert network([0.0]).tolist() == [1.0]


def test_no_points():
    """No points give no values, with the right number of columns."""
    assert Network(ABSOLUTE)(np.zeros((0, 1))).shape == (0, 1)
    assert Network(ABSOLUTE)(np.zeros((0, 1), dtype=object)).shape == (0, 1)


@pytest.mark.parametrize("density", [0.01, 0.5])
def test_blocks_and_paths_agree(monkeypatch, density):
    """Evaluation in small blocks, sparse or dense, gives the values of whole arrays."""
    rng = np.random.default_rng(1)
    weights = [random_array((m, n), density=density, rng=rng) for n, m in [(8, 60), (60, 70), (70, 5)]]
    network = Network([(weight, rng.normal(size=weight.shape[0])) for weight in weights])
    x = rng.normal(size=(50, 8))
    h = x
    for i, (weight, bias) in enumerate(network.layers):
        h = (h if i == 0 else np.maximum(h, 0)) @ weight.toarray().T + bias
    monkeypatch.setattr(evaluation, "_BLOCK", 70 * 17)
    np.testing.assert_allclose(network(x), h, rtol=0, atol=1e-12)
    monkeypatch.setattr(evaluation, "_DENSE_ENTRIES", 0)
    np.testing.assert_allclose(network(x), h, rtol=0, atol=1e-12)


def test_exact_blocks(monkeypatch):
    """Rational evaluation in blocks of one point gives the same values."""
    network, x = Network([([["1/3", 1]], [1])]), fraction_array([[1, 2], [3, 4], [5, 6]])
    whole = network(x)
    monkeypatch.setattr(evaluation, "_EXACT_BLOCK", 1)
    assert (network(x) == whole).all()


def test_repr_shows_widths():
    """The text form is the widths, not the weights."""
    assert repr(Network(ABSOLUTE)) == "Network(1 -> 2 -> 1)"


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "at least one layer"),
        ([([[1]],)], r"layer 1 is not a pair \(weight, bias\)"),
        ([([[1, 2]], [0]), ([[1, 2]], [0])], "layer 2 takes 2 inputs, but layer 1 gives 1 output"),
        ([([[1, 2]], [0, 1])], r"weight of 1 x 2 and a bias of shape \(2,\); its bias must have 1 entries"),
        ([([[1, 2]], 0)], "`layer 1 bias` must be a list or an array, not `0`"),
        ([([[1, 2]], [[0]])], "its bias must have 1 entries"),
        ([([[1]], [0]), ([[float("nan")]], [0])], r"layer 2 weight.* is nan"),
        ([([[1]], [float("inf")])], r"layer 1 bias.* is inf"),
        ([(csr_array([[0.0, np.inf]]), [0])], r"layer 1 weight\[0, 1\]` is inf"),
        ([([1, 2], [0])], "must have rows and columns"),
        ([(coo_array(np.array([1.0, 2.0])), [0])], "must have rows and columns"),
        ([(np.zeros((0, 2)), [])], "weight of 0 x 2, which is empty"),
        ([([["one"]], [0])], '"one" is not a number'),
        ([([[1], [1, 2]], [0, 0])], "ragged"),
        ([([[True]], [0])], "must hold numbers, not bool"),
        ([([[1j]], [0])], "must hold numbers, not complex"),
    ],
)
def test_wrong_layers(layers, message):
    """Layers that make no network are refused, with the number of the layer and what does not fit."""
    with pytest.raises(InputError, match=message):
        Network(layers)


@pytest.mark.parametrize("kind", [np.array, RationalMatrix.from_dense])
def test_numbers_beyond_float64(kind):
    """A rational too large for float64 is our limit."""
    with pytest.raises(LimitError, match="too large for float64"):
        Network([(kind([["1e400"]]), [0])])
    with pytest.raises(LimitError, match="too large for float64"):
        Network([(kind([["1"]]), ["1e400"])])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0], r"shape \(1,\), but this network takes points of 2 coordinates"),
        ([[1.0, 2.0, 3.0]], "takes points of 2 coordinates"),
        ([[[1.0, 2.0]]], "takes points of 2 coordinates"),
        (3.0, "takes points of 2 coordinates"),
        ([[1.0, np.nan]], r"`x\[0, 1\]` is nan"),
        ([[1.0, 2.0], [3.0]], "ragged"),
        ([["1/2", "half"]], '"half" is not a number'),
        ([[True, False]], "must hold numbers"),
    ],
)
def test_wrong_points(x, message):
    """Points that do not fit are refused."""
    with pytest.raises(InputError, match=message):
        Network([([[1, 2]], [0])])(x)


def test_public_names_are_sorted():
    """`__all__` is sorted and true."""
    assert cpwl.network.__all__ == sorted(cpwl.network.__all__)
    assert all(hasattr(cpwl.network, name) for name in cpwl.network.__all__)


def test_float32_is_asked_for_and_one_point_is_a_batch_of_one():
    """Sparse and dense layers, few points and many: the same values up to rounding, in the type that was asked for."""
    rng = np.random.default_rng(0)
    sparse = rng.standard_normal((200, 150)) * (rng.random((200, 150)) < 0.02)
    layers = [(rng.standard_normal((150, 3)), np.ones(150)), (sparse, np.ones(200)), (rng.random((2, 200)), [0, 1])]
    network = Network(layers)
    x = rng.standard_normal((40, 3))
    exact = to_float(network(fraction_array(x)))
    for precision in ("float64", "float32"):
        eps = np.finfo(precision).eps
        for found in (network(x, precision=precision), np.array([network(v, precision=precision) for v in x])):
            assert found.dtype == np.dtype(precision)
            assert np.abs(found - exact).max() <= 1e4 * eps * np.abs(exact).max()
    again = pickle.loads(pickle.dumps(network))
    assert (again(x) == network(x)).all()
    with pytest.raises(InputError, match="precision"):
        network(x, precision="float16")


def test_compiled_functions_compute_the_network():
    """numba, one point and many, in float32; what is not known is refused. JAX: tests/io/test_arrays.py."""
    pytest.importorskip("numba")
    compiled = cpwl.compile(cpwl.CPWL.from_grid([range(3), range(4)], np.arange(12).reshape(3, 4) % 5))
    run = compiled.jit(precision="float32", backend="numba")
    x = np.random.default_rng(0).uniform(0, 2, (50, 2))
    assert np.abs(np.asarray(run(x)) - compiled(x)).max() < 1e-4
    assert np.abs(np.asarray(run(x[0])) - compiled(x[0])).max() < 1e-4
    with pytest.raises(InputError, match="backend"):
        compiled.jit(backend="torch")
