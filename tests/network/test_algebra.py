"""Calculating with networks: pointwise in rationals, and at the price that was promised."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cpwl
from cpwl import InputError, Network
from cpwl.exact.rational import fraction_array
from support.strategies import networks, points


@settings(max_examples=20)
@given(data=st.data())
def test_operations_are_pointwise(data):
    """Sums, multiples, compositions, outputs, maxima: as the values say."""
    a, b = (data.draw(networks(inputs=2, outputs=2)) for _ in range(2))
    c = data.draw(networks(inputs=3, outputs=2))
    x, z = data.draw(points(2)), data.draw(points(3))
    u, v = a(x), b(x)
    assert ((a + b)(x) == u + v).all()
    assert ((a - b)(x) == u - v).all()
    assert (("2/3" * a - 1)(x) == Fraction(2, 3) * u - 1).all()
    assert ((1 - a)(x) == 1 - u).all()
    assert ((a @ c)(z) == a(c(z))).all()
    assert (
        (a @ ([[1, 0, 2], [0, -1, 1]], [0, "1/2"]))(z)
        == a(z @ fraction_array([[1, 0], [0, -1], [2, 1]]) + fraction_array([0, "1/2"]))
    ).all()
    assert ((np.array([[1, 2]]) @ a)(x) == u @ fraction_array([[1], [2]])).all()
    assert (a[1](x) == u[:, 1:]).all()
    assert (cpwl.maximum(a, b, 0)(x) == np.maximum(np.maximum(u, v), 0)).all()
    assert (cpwl.minimum(a, b)(x) == np.minimum(u, v)).all()
    assert (cpwl.stack([a, b])(x) == np.concatenate([u, v], axis=1)).all()


def test_what_it_costs():
    """A sum has the neurons of both, a composition as well; a multiple none."""
    relu = Network([([[1]], [0]), ([[1]], [0])])
    assert (relu + relu).sizes.neurons == 2
    assert (relu @ relu).sizes.neurons == 2
    assert (5 * relu - "1/3").sizes == relu.sizes


def test_floats_are_calculated_with_exactly():
    """0.1 + 0.2 is what the floats add up to, not a rounded sum."""
    one, two = Network([([[0.1]], [0.0])]), Network([([[0.2]], [0.0])])
    assert (one + two)([["1"]])[0, 0] == Fraction(0.1) + Fraction(0.2)


def test_what_does_not_fit_is_refused():
    """Shapes, and functions among networks."""
    one, two = Network([([[1]], [0])]), Network([([[1, 1]], [0])])
    for wrong in (lambda: one + two, lambda: cpwl.maximum(one, two), lambda: two @ two, lambda: one * [1, 2]):
        with pytest.raises(InputError):
            wrong()
    with pytest.raises(InputError, match="Network"):
        cpwl.maximum(one, cpwl.CPWL.from_breakpoints([0, 1], [0, 1]))
    with pytest.raises(InputError, match="only numbers"):
        cpwl.maximum(1, 2)
