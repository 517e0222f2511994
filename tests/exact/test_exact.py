"""Exact arithmetic: integer rows, adjugates, linear programs in rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpwl.errors import LimitError
from cpwl.exact.integers import adjugate, determinant, integer_rows
from cpwl.exact.rational import fraction_array, text
from cpwl.exact.simplex import maximize

small = st.integers(-4, 4)


def integer_matrix(rows, columns):
    return st.lists(small, min_size=rows * columns, max_size=rows * columns).map(
        lambda v: np.array(v, dtype=object).reshape(rows, columns)
    )


@given(st.integers(1, 4).flatmap(lambda n: integer_matrix(n, n)))
def test_adjugate_is_determinant_times_inverse(matrix):
    """adj(M) M = det(M) I, and a singular matrix has determinant 0."""
    det, adj = adjugate(matrix[None])
    if det[0] != 0:
        assert (adj[0].dot(matrix) == det[0] * np.eye(len(matrix), dtype=int)).all()
    assert det[0] == round(np.linalg.det(matrix.astype(float)))
    assert determinant(matrix[None])[0] == det[0]


@given(st.lists(st.floats(-1e9, 1e9, allow_subnormal=True), min_size=3, max_size=3))
def test_integer_rows_are_proportional(row):
    """Integer rows are a positive multiple of the floats, exactly."""
    view = np.array([row])
    whole = integer_rows(view)[0]
    exact = [Fraction(v) for v in row]
    assert all(exact[i] * whole[j] == exact[j] * whole[i] for i in range(3) for j in range(3))
    assert all((e > 0) - (e < 0) == (w > 0) - (w < 0) for e, w in zip(exact, whole, strict=True))


def test_integer_rows_of_fractions():
    """Fractions become integers with the same ratios."""
    exact = fraction_array([["1/3", "-1/2"], [2, 4]])
    assert integer_rows(np.zeros((2, 2)), exact).tolist() == [[2, -3], [1, 2]]


def test_integer_rows_of_many_fractions():
    """A row may have any number of columns: 1/1, 1/2, .., 1/100 times their common denominator."""
    row = fraction_array([[Fraction(1, d) for d in range(1, 101)]])
    common = math.lcm(*range(1, 101))
    assert integer_rows(np.zeros((1, 100)), row)[0].tolist() == [common // d for d in range(1, 101)]


@given(
    st.integers(1, 3).flatmap(
        lambda n: st.tuples(
            st.integers(1, 6).flatmap(lambda r: integer_matrix(r, n + 1)),
            st.lists(small, min_size=n, max_size=n),
            st.lists(st.integers(0, 5), max_size=n),
        )
    )
)
def test_an_exact_optimum_proves_itself(case):
    """Whatever the hint, the answer's multipliers, point or ray satisfy the identities that prove it."""
    rows, objective, hint = case
    best = maximize(rows, objective, [i for i in dict.fromkeys(hint) if i < len(rows)])
    a, b, c = rows[:, :-1], rows[:, -1], np.array(objective, dtype=object)
    y = np.array([(best.multipliers or {}).get(i, 0) for i in range(len(rows))], dtype=object)
    assert (y >= 0).all()
    if best.status == "optimal":
        assert (a.dot(best.point) <= b).all()
        assert (y.dot(a) == c).all()
        assert y.dot(b) == best.value == c.dot(best.point)
    elif best.status == "unbounded":
        assert (a.dot(best.point) <= b).all()
        assert (a.dot(best.ray) <= 0).all()
        assert c.dot(best.ray) > 0
    else:
        assert (y.dot(a) == 0).all()
        assert y.dot(b) < 0


def test_numbers_too_long_to_write_are_refused():
    """Python writes no integers of more than 4300 digits; that is a limit, and no crash."""
    with pytest.raises(LimitError, match="cannot save this"):
        text(Fraction(1, 10**5000))
