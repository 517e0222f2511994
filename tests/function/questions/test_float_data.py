"""Float data with noise: answers near those of the exact function, with how far the data was moved, or a refusal."""

import numpy as np
import pytest

import cpwl
from cpwl import CPWL, InputError
from support.functions import abs_sum, five_pieces
from support.twins import NOISES, boxed, twin, with_outputs

CASES = {"abs": lambda: boxed(abs_sum(2)), "five": lambda: boxed(five_pieces()), "abs3": lambda: boxed(abs_sum(3))}
WAYS = [{}, {"far": 1e6, "repeat": True}, {"column_major": True, "shuffle": True}]


@pytest.mark.parametrize(
    ("name", "how", "noise"),
    [("abs", {}, noise) for noise in NOISES]
    + [("five", how, 1e-12) for how in WAYS]
    + [pytest.param(name, how, noise, marks=pytest.mark.slow) for name in CASES for how in WAYS for noise in NOISES],
)
def test_answers_near_the_exact_ones(name, how, noise):
    """Values move as little as the data; convexity, dependence and monotonicity are those of the exact function."""
    p = CASES[name]()
    q = twin(p, noise, **how).function()
    size = 1e3 * max(noise, 1e-15)
    for exact, found in ((p.range(), q.range()),):
        assert abs(float(exact.high) - float(found.high)) <= size * (1 + abs(float(exact.high)))
        assert abs(float(exact.low) - float(found.low)) <= size * (1 + abs(float(exact.low)))
        assert found.argmax.moved <= q.tol
    for norm in (1, 2, "inf"):
        assert float(q.lipschitz(norm)) == pytest.approx(float(p.lipschitz(norm)), rel=size)
    assert bool(q.is_convex()) == bool(p.is_convex())
    assert bool(q.is_concave()) == bool(p.is_concave())
    for i in range(p.dim):
        assert bool(q.depends_on(i)) == bool(p.depends_on(i))
        assert bool(q.is_monotone(i)) == bool(p.is_monotone(i))
        assert q.depends_on(i).slack <= q.tol * 10
    assert float(q.mean()) == pytest.approx(float(p.mean()), abs=size)


@pytest.mark.parametrize("noise", NOISES)
def test_calculating_with_float_data(noise):
    """Sums and maxima of noisy data are exact functions near those of the exact ones; several outputs too."""
    p = with_outputs(boxed(abs_sum(2)), 2)
    q = twin(p, noise).function()
    x = np.random.default_rng(0).uniform(-0.9, 0.9, (50, 2))
    for exact, found in (
        (p + p[[1, 0]], q + q[[1, 0]]),
        (cpwl.maximum(p[0], p[1]), cpwl.maximum(q[0], q[1])),
        (abs(p), abs(q)),
    ):
        assert found.tol in (0, q.tol)  # pieces that are the same stay as they are
        assert np.allclose(exact(x), found(x), rtol=0, atol=1e3 * max(noise, 1e-15))


def test_an_input_that_only_noise_depends_on():
    """Slopes of 1e-17 along an input are none, and `slack` says how large they are; for exact data they count."""
    A, b = [[[1.0, 0.0]], [[-1.0, 0.0]]], [[0.0], [0.0]]
    noisy = CPWL.from_pieces(A, b, [[1.0, 1e-17], [4.0, 1e-17]], [0.0, 0.0])
    answer = noisy.depends_on(1)
    assert not answer
    assert 0 < answer.slack < 1e-16
    assert noisy.is_monotone(1, increasing=False)
    assert CPWL.from_pieces(A, b, [[1.0, 1e-17], [4.0, 1e-17]], [0.0, 0.0], tol=0).depends_on(1)


def test_data_that_does_not_fit_is_refused():
    """A jump of 1: no sum, no question, one sentence that says where to look."""
    broken = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[1.0], [2.0]], [0.0, 1.0])
    for question in (
        lambda: broken + broken.relu(),
        broken.range,
        broken.is_convex,
        lambda: broken.restrict(box=(0, 1)),
    ):
        with pytest.raises(InputError, match="doctor"):
            question()
    assert (2 * broken).tol == broken.tol
