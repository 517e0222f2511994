"""Algorithms 2-5 of the paper: extremum, side by side, end to end, identity; and many extrema at once."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import block_diag
from scipy.sparse import eye_array

from cpwl import bounds
from cpwl.errors import InputError, LimitError
from cpwl.exact.sparse import RationalMatrix
from cpwl.network import Network
from cpwl.network.algorithms import end_to_end, extrema, extremum, identity, side_by_side
from support.strategies import affine_families, networks, points

KINDS = st.sampled_from(["max", "min"])


def values(gradient, offset, x):
    """The affine functions at the points: ``(N, n) -> (N, m)``."""
    return x @ gradient.T + offset


def best(kind, array):
    """The largest or smallest entry of each row."""
    return np.array([{"max": max, "min": min}[kind](row) for row in array], dtype=object)


def algorithm2(gradient, offset, kind):
    """Algorithm 2 line by line, with the dense block matrices of the paper."""
    a, b, c = np.array([[-1, 1], [1, 0], [-1, 0]]), np.array([[1, 1, -1]]), np.array([[1], [-1]])
    m = len(offset)
    depth = (m - 1).bit_length() + 1
    counts = [m]
    for _ in range(depth - 1):
        counts.append((counts[-1] + 1) // 2)

    def split(i):
        odd = [c] if counts[i - 1] % 2 else []
        return block_diag(*[a] * (counts[i - 1] // 2), *odd)

    def join(i):
        odd = [c.T] if counts[i - 1] % 2 else []
        return block_diag(*[b] * (counts[i - 1] // 2), *odd)

    layers = [(gradient, offset)]
    if depth > 1:
        layers = [(split(1).dot(gradient), split(1).dot(offset))]
        layers += [(split(i).dot(join(i - 1)), np.zeros(len(split(i)))) for i in range(2, depth)]
        layers += [(b, np.zeros(1))]
    if kind == "min":
        layers[0] = (-layers[0][0], -layers[0][1])
        layers[-1] = (-layers[-1][0], -layers[-1][1])
    return layers


def assert_same(network, other):
    """Both networks have the same weights, in floats and in rationals."""
    assert len(network.layers) == len(other.layers)
    for (weight, bias), (weight_2, bias_2) in zip(network.layers, other.layers, strict=True):
        assert weight.shape == weight_2.shape
        assert (weight != weight_2).nnz == 0
        assert (bias == bias_2).all()
    assert (network.exact is None) == (other.exact is None)
    for (weight, bias), (weight_2, bias_2) in zip(network.exact or (), other.exact or (), strict=True):
        assert (weight.indptr == weight_2.indptr).all()
        assert (weight.indices == weight_2.indices).all()
        assert (weight.data == weight_2.data).all()
        assert (bias == bias_2).all()


# Algorithm 2


@given(st.data())
def test_extremum_is_exact(data):
    """On rationals the network is the largest or smallest function, exactly."""
    gradient, offset = data.draw(affine_families())
    kind = data.draw(KINDS)
    x = data.draw(points(gradient.shape[1]))
    network = extremum(gradient, offset, kind)
    assert (network(x)[:, 0] == best(kind, values(gradient, offset, x))).all()


@given(affine_families(), KINDS)
def test_extremum_has_the_weights_of_the_paper(family, kind):
    """The network is Algorithm 2's, weight for weight."""
    gradient, offset = family
    network = extremum(gradient, offset, kind)
    printed = algorithm2(gradient, offset, kind)
    assert len(network.exact) == len(printed)
    for (weight, bias), (weight_2, bias_2) in zip(network.exact, printed, strict=True):
        assert (weight.toarray() == weight_2).all()
        assert (bias == bias_2).all()


@pytest.mark.parametrize("m", [*range(1, 40), 63, 64, 65, 1000, 1023, 1025])
def test_extremum_sizes(m):
    """Neurons, depth and width are r(m), l(m) and w(m), and hidden weights stay sparse."""
    sizes = extremum(np.ones((m, 1)), np.arange(m)).sizes
    assert (sizes.neurons, sizes.depth, sizes.width) == (bounds.r(m), bounds.l(m), bounds.w(m))
    assert sizes.nonzeros <= 4 * max(1, sizes.neurons)


@given(affine_families(), KINDS, st.data())
def test_extremum_of_floats(family, kind, data):
    """On floats the network agrees up to rounding and holds no rationals."""
    gradient, offset = (array.astype(float) for array in family)
    x = data.draw(points(gradient.shape[1])).astype(float)
    network = extremum(gradient, offset, kind)
    assert network.exact is None
    expected = {"max": np.max, "min": np.min}[kind](values(gradient, offset, x), axis=1)
    np.testing.assert_allclose(network(x)[:, 0], expected, rtol=0, atol=1e-12)


def test_extremum_of_many_coordinates():
    """Half a million sparse functions are no problem."""
    m = 500_000
    network = extremum(eye_array(m), np.zeros(m))
    assert network.sizes.neurons == bounds.r(m)
    x = np.random.default_rng(0).permutation(m)
    assert network(x).tolist() == [m - 1]


@pytest.mark.parametrize("gradient", [RationalMatrix.from_dense([["1/3"], [-1]]), [["1/3"], [-1]]])
def test_extremum_takes_rational_matrices(gradient):
    """A `RationalMatrix` and nested strings give the same exact network."""
    assert extremum(gradient, [0, 0])(["3"]).tolist() == [Fraction(1)]


def test_extremum_of_unknown_kind():
    """Only max and min are kinds of extremum."""
    with pytest.raises(InputError, match='"max" or "min", not \'median\''):
        extremum([[1]], [0], "median")


def test_extremum_with_differences_beyond_float64():
    """Functions whose difference overflows are refused, not turned into infinities."""
    with pytest.raises(LimitError, match="too large for float64"):
        extremum([[1e308], [-1e308]], [0, 0])


# Algorithm 3


@st.composite
def sharing_input(draw, exact=True):
    """One to four networks on the same R^n."""
    n = draw(st.integers(1, 3))
    return draw(st.lists(networks(inputs=n, exact=exact), min_size=1, max_size=4))


@given(sharing_input(), st.data())
def test_side_by_side_computes_each(family, data):
    """The outputs are those of the networks, one after the other, exactly."""
    x = data.draw(points(family[0].inputs))
    assert (side_by_side(family)(x) == np.concatenate([g(x) for g in family], axis=1)).all()


@given(sharing_input(exact=False), st.data())
def test_side_by_side_of_floats(family, data):
    """Float networks stay float networks, with no rounding of their weights."""
    joint = side_by_side(family)
    assert joint.exact is None
    x = data.draw(points(family[0].inputs))
    assert (joint(x) == np.concatenate([g(x) for g in family], axis=1)).all()


@given(sharing_input())
def test_side_by_side_sizes(family):
    """Depth and neurons are those of the lemma, and the width is within its bound."""
    sizes, depth = side_by_side(family).sizes, max(g.sizes.depth for g in family)
    assert sizes.depth == depth
    assert sizes.neurons == sum(g.sizes.neurons + 2 * g.outputs * (depth - g.sizes.depth) for g in family)
    assert sizes.width <= sum(max(g.sizes.width, 2 * g.outputs) for g in family)


def test_side_by_side_mixes_floats_and_rationals():
    """A float network beside a rational one is taken at its exact value."""
    joint = side_by_side([Network([([[0.1]], [0])]), Network([([["1/3"]], [0])])])
    assert joint(["1"]).tolist() == [Fraction(0.1), Fraction(1, 3)]


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ([], "at least one network"),
        ([identity(1, 1), identity(2, 1)], "network 1 takes 2 inputs, but network 0 takes 1"),
    ],
)
def test_side_by_side_refuses(family, message):
    """There must be networks, and they must share their input."""
    with pytest.raises(InputError, match=message):
        side_by_side(family)


# Algorithm 4


@given(st.data())
def test_end_to_end_composes(data):
    """The result is the second network of the first, exactly, whichever of them is rational."""
    middle = data.draw(st.integers(1, 3))
    first = data.draw(networks(outputs=middle))
    second = data.draw(networks(inputs=middle, exact=data.draw(st.booleans())))
    x = data.draw(points(first.inputs))
    assert (end_to_end(first, second)(x) == second(first(x))).all()


@given(st.data())
def test_end_to_end_sizes(data):
    """Depths add up less one, neurons add up, and the width is the larger one."""
    middle = data.draw(st.integers(1, 3))
    first, second = data.draw(networks(outputs=middle)), data.draw(networks(inputs=middle))
    a, b, both = first.sizes, second.sizes, end_to_end(first, second).sizes
    assert (both.depth, both.neurons, both.width) == (
        a.depth + b.depth - 1,
        a.neurons + b.neurons,
        max(a.width, b.width),
    )


@given(st.data())
def test_end_to_end_of_floats(data):
    """Float networks compose in floats, up to rounding."""
    middle = data.draw(st.integers(1, 3))
    first = data.draw(networks(outputs=middle, exact=False))
    second = data.draw(networks(inputs=middle, exact=False))
    both = end_to_end(first, second)
    assert both.exact is None
    x = data.draw(points(first.inputs)).astype(float)
    np.testing.assert_allclose(both(x), second(first(x)), rtol=0, atol=1e-9)


def test_end_to_end_refuses_unequal_widths():
    """Outputs and inputs must fit."""
    with pytest.raises(InputError, match="gives 2 outputs, but the second takes 3 inputs"):
        end_to_end(identity(2, 1), identity(3, 1))


@pytest.mark.parametrize("large", [1e300, "1e300"])
def test_end_to_end_beyond_float64(large):
    """A product too large for float64 is our limit, in floats and in rationals."""
    network = Network([([[large]], [large])])
    with pytest.raises(LimitError, match="too large for float64"):
        end_to_end(network, network)


# Algorithm 5


@given(st.integers(1, 4), st.integers(1, 5), st.data())
def test_identity_is_the_identity(n, depth, data):
    """Every point is mapped to itself, exactly."""
    x = data.draw(points(n))
    assert (identity(n, depth)(x) == x).all()


@given(st.integers(1, 4), st.integers(1, 5))
def test_identity_sizes(n, depth):
    """There are 2n(l - 1) neurons, l layers and width 2n."""
    sizes = identity(n, depth).sizes
    assert (sizes.neurons, sizes.depth) == (2 * n * (depth - 1), depth)
    assert sizes.width == (2 * n if depth > 1 else 0)


@pytest.mark.parametrize(("n", "depth"), [(0, 1), (1, 0), (-1, 2)])
def test_identity_refuses(n, depth):
    """There is no identity without coordinates or layers."""
    with pytest.raises(InputError, match="n >= 1 and depth >= 1"):
        identity(n, depth)


# Many extrema at once


@st.composite
def families_and_rows(draw):
    """Affine functions and one to five rows of indices into them; members may repeat."""
    gradient, offset = draw(affine_families())
    index = st.integers(0, len(offset) - 1)
    return gradient, offset, draw(st.lists(st.lists(index, min_size=1, max_size=9), min_size=1, max_size=5))


@given(families_and_rows(), KINDS)
def test_extrema_are_extremum_side_by_side(family, kind):
    """The network is that of Algorithms 2-5, row by row, weight for weight, in rationals."""
    gradient, offset, rows = family
    naive = side_by_side([extremum(gradient[row], offset[row], kind) for row in rows])
    assert_same(extrema(gradient, offset, rows, kind), naive)


@given(families_and_rows(), KINDS)
def test_extrema_of_floats_are_extremum_side_by_side(family, kind):
    """The network is that of Algorithms 2-5, row by row, weight for weight, in floats."""
    gradient, offset, rows = family
    gradient, offset = gradient.astype(float), offset.astype(float)
    naive = side_by_side([extremum(gradient[row], offset[row], kind) for row in rows])
    assert_same(extrema(gradient, offset, rows, kind), naive)


@given(families_and_rows(), KINDS, st.data())
def test_extrema_are_exact(family, kind, data):
    """Each output is the largest or smallest function of its row, exactly."""
    gradient, offset, rows = family
    x = data.draw(points(gradient.shape[1]))
    f = values(gradient, offset, x)
    expected = np.stack([best(kind, f[:, row]) for row in rows], axis=1)
    assert (extrema(gradient, offset, rows, kind)(x) == expected).all()


def test_extrema_of_large_rows():
    """Rows of very different lengths agree with NumPy on random floats."""
    rng = np.random.default_rng(2)
    gradient, offset = rng.normal(size=(400, 3)), rng.normal(size=400)
    rows = [rng.choice(400, size, replace=False) for size in (400, 1, 2, 3, 255, 256, 257, 100)]
    x = rng.normal(size=(20, 3))
    expected = np.stack([values(gradient, offset, x)[:, row].min(axis=1) for row in rows], axis=1)
    np.testing.assert_allclose(extrema(gradient, offset, rows, "min")(x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "at least one row"),
        ([[0], []], "row 1 must be a list of at least one index"),
        ([[0.5]], "row 0 must be a list of at least one index"),
        ([[0], [0, 2]], r"row 1 has an index outside 0 \.\. 1"),
        ([[-1]], r"row 0 has an index outside 0 \.\. 1"),
    ],
)
def test_extrema_refuse_wrong_rows(rows, message):
    """Rows must be nonempty lists of indices of functions."""
    with pytest.raises(InputError, match=message):
        extrema([[1], [2]], [0, 0], rows)
