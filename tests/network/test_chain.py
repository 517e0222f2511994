"""Skip links become plain chains: random programs of piecewise-linear steps, with rational arithmetic as the oracle."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.program import Forms, Tape, network_of
from support.strategies import points, rational_arrays

ZERO = Fraction(0)


def relu(x):
    """``max(0, x)``, entry by entry, in rationals."""
    return np.where(x > ZERO, x, ZERO)


@st.composite
def programs(draw):
    """A tape, a tensor of three entries, and a function that computes the same with plain rational arrays."""
    n = draw(st.integers(1, 3))
    tape = Tape(n)
    first = draw(rational_arrays((3, n)))
    tensors = [tape.input((n,)).linear(RationalMatrix.from_dense(first), (3,))]
    steps = [lambda x, _: first @ x]
    for _ in range(draw(st.integers(1, 7))):
        a, b = (draw(st.integers(0, len(tensors) - 1)) for _ in range(2))
        c = draw(rational_arrays((3,)))
        matrix = draw(rational_arrays((3, 3)))
        kind = draw(st.sampled_from(["relu", "leaky", "abs", "clip", "max", "min", "sum", "linear", "shift", "bound"]))
        tensors.append(write(tape, kind, tensors[a], tensors[b], c, matrix))
        steps.append(lambda _, h, k=kind, a=a, b=b, c=c, m=matrix: compute(k, h[a], h[b], c, m))
    wanted = draw(st.integers(0, len(tensors) - 1))

    def run(x):
        h = []
        for step in steps:
            h.append(step(x, h))
        return h[wanted]

    return tape, tensors[wanted], run


def write(tape, kind, a, b, c, matrix):
    """One step on the tape."""
    float_c = np.asarray(c, dtype=float)
    return {
        "relu": lambda: tape.relu(a),
        "leaky": lambda: tape.leaky(a, c),
        "abs": lambda: tape.absolute(a),
        "clip": lambda: tape.clip(a, -1.0, 2.0),
        "max": lambda: tape.maximum(a, b),
        "min": lambda: tape.minimum(a, b),
        "sum": lambda: a.plus(b),
        "linear": lambda: a.linear(RationalMatrix.from_dense(matrix), (3,)),
        "shift": lambda: a.plus(c).times(c),
        "bound": lambda: tape.maximum(a, float_c),
    }[kind]()


def compute(kind, a, b, c, matrix):
    """The same step with arrays."""
    exact_c = fraction_array(np.asarray(c, dtype=float))
    return {
        "relu": lambda: relu(a),
        "leaky": lambda: relu(a) - c * relu(-a),
        "abs": lambda: abs(a),
        "clip": lambda: np.minimum(np.maximum(a, Fraction(-1)), Fraction(2)),
        "max": lambda: np.maximum(a, b),
        "min": lambda: np.minimum(a, b),
        "sum": lambda: a + b,
        "linear": lambda: matrix @ a,
        "shift": lambda: (a + c) * c,
        "bound": lambda: np.maximum(a, exact_c),
    }[kind]()


@given(st.data())
def test_networks_compute_the_program(data):
    """The chain gives exactly the values of the program, however its branches cross layers."""
    tape, tensor, run = data.draw(programs())
    network = network_of(tape, tensor)
    for x in data.draw(points(tape.inputs, 3)):
        assert network(x).tolist() == run(x).tolist()


@pytest.mark.parametrize("kind", ["abs", "min", "max", "leaky"])
def test_rational_biases_stay_rational(kind):
    """A bias of 1/9 whose sign is changed is -1/9, and no double near it."""
    third, c = fraction_array([[Fraction(1, 3)]] * 3), fraction_array([Fraction(1, 9), Fraction(-1, 7), Fraction(0)])
    tape, none = Tape(1), fraction_array(np.zeros((3, 3)))
    a = tape.input((1,)).linear(RationalMatrix.from_dense(third), (3,)).plus(c)
    b = tape.input((1,)).linear(RationalMatrix.from_dense(2 * third), (3,)).plus(-c)
    network = network_of(tape, write(tape, kind, a, b, c, none))
    for x in fraction_array([[0], [-1], [2]]):
        wanted = compute(kind, third @ x + c, 2 * third @ x - c, c, none)
        assert network(x).tolist() == wanted.tolist()


def test_nonnegative_sums_take_one_neuron():
    """A sum of neurons is never negative: one neuron carries it, where its terms would take four."""
    tape = Tape(2)
    x = tape.input((2,))
    four = tape.relu(x.linear(csr_array([[1.0, 0], [0, 1], [1, 1], [1, -1]]), (4,)))
    total = four.linear(csr_array(np.ones((1, 4))), (1,))
    deep = tape.relu(tape.relu(four.linear(csr_array([[1.0, -1, 1, -1]]), (1,))).plus(np.array([-1.0])))
    network = network_of(tape, deep.plus(total))
    assert [weight.shape[0] for weight, _ in network.layers] == [4, 2, 2, 1]
    assert network(["1", "2"]).tolist() == [Fraction(1 + 2 + 3 + 0 + max(0, max(0, 1 - 2 + 3) - 1))]


def test_floats_stay_floats_where_nothing_is_computed():
    """Selections, signs and disjoint sums of doubles are doubles; a product of two of them is a rational."""
    x = Forms.unit(0, 2)
    once = x.times(csr_array([[0.1, 0.2]]))
    assert once.is_float
    assert once.scaled(np.array([-1.0])).is_float
    assert Forms.unit(0, 1).plus(Forms.unit(1, 1)).is_float
    assert not once.scaled(np.array([0.1])).is_float
    assert not once.plus(once).is_float


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 4)), ((3,), (3, 2)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (4, 3, 2))]
)
def test_matmul_is_that_of_numpy(shapes):
    """Products with constants have the shape and the values that NumPy gives."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, shapes[0]).astype(float), rng.integers(-3, 4, shapes[1]).astype(float)
    tape = Tape(a.size)
    product = tape.input(a.shape).matmul(b)
    assert product.shape == (a @ b).shape
    assert network_of(tape, product)(a.ravel()).tolist() == (a @ b).ravel().tolist()
