"""Functions of one variable: proved sound in arrays, located by bisection, against slow exact ways."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpwl import CPWL
from cpwl.function.doctor.first_error import _is_sound_in_order
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.evaluate import find_pieces
from cpwl.function.flags import is_sound_by_flags

small = st.integers(-4, 4)


@st.composite
def pieces_on_a_line(draw):
    """Intervals with laws, usually a function cut at rationals, sometimes with something wrong with it."""
    knots = sorted(draw(st.sets(st.fractions(-3, 3, max_denominator=4), min_size=1, max_size=4)))
    slopes = draw(st.lists(small, min_size=len(knots) + 1, max_size=len(knots) + 1))
    laws, value = [(slopes[0], -slopes[0] * knots[0])], Fraction(0)
    for k, slope in enumerate(slopes[1:]):
        if k:
            value += slopes[k] * (knots[k] - knots[k - 1])
        laws.append((slope, value - slope * knots[k]))
    A = [[[1]], *[[[-1], [1]] for _ in knots[1:]], [[-1]]]
    b = [[knots[0]], *[[-low, high] for low, high in pairwise(knots)], [-knots[-1]]]
    wrong = draw(st.sampled_from(["nothing", "nothing", "jump", "gap", "missing", "twice", "domain"]))
    k = draw(st.integers(0, len(A) - 1))
    if wrong == "jump":
        laws[k] = (laws[k][0], laws[k][1] + Fraction(1, 10**30))
    if wrong == "gap":
        b[k] = [v - Fraction(1, 10**30) for v in b[k]]
    if wrong == "missing" and len(A) > 1:
        del A[k], b[k], laws[k]
    if wrong == "twice":
        A.append(A[k]), b.append(b[k]), laws.append(laws[k])
    order = draw(st.permutations(range(len(A))))
    domain = ([[1]], [draw(st.integers(3, 5))]) if wrong == "domain" else None
    parts = [[list(part)[i] for i in order] for part in (A, b, [[g] for g, _ in laws], [o for _, o in laws])]
    return CPWL.from_pieces(*parts, domain=domain)


@given(pieces_on_a_line())
def test_sound_is_what_the_doctor_finds_nothing_wrong_with(p):
    """Flags, and intervals in order, pass exactly the functions without a finding, facet by facet."""
    assert _is_sound_in_order(p) == is_sound_by_flags(p) == (not PieceDoctor(p).findings())


def beyond(x, row):
    """How far a point lies beyond the end that a row sets."""
    return float((row[0] * x - row[1]) / abs(row[0]))


@given(pieces_on_a_line(), st.lists(st.fractions(-5, 5, max_denominator=8), min_size=1, max_size=12))
def test_points_are_in_the_pieces_they_are_found_in(p, points):
    """The piece that bisection finds holds the point, within rounding, and -1 means that none does."""
    x = np.array([[float(v)] for v in points])
    for point, piece in zip(points, find_pieces(p, x), strict=True):
        gaps = [max((beyond(point, row) for row in body.integer()), default=-1.0) for body in p.polyhedra]
        assert gaps[piece] <= 1e-12 if piece >= 0 else min(gaps) > 0


def test_a_bounded_domain_may_be_asserted():
    """Two intervals on [0, 2] with that domain, and with another."""
    parts = [[[-1], [1]], [[-1], [1]]], [[0, 1], [-1, 2]], [[1], [2]], [0, -1]
    assert is_sound_by_flags(CPWL.from_pieces(*parts, domain=([[-1], [1]], [0, 2])))
    assert is_sound_by_flags(CPWL.from_pieces(*parts))
    assert not is_sound_by_flags(CPWL.from_pieces(*parts, domain=([[-1], [1]], [0, 3])))
    assert not is_sound_by_flags(CPWL.from_pieces(*parts, domain=([[1]], [2])))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_points_outside_are_nowhere(scale):
    """Ends belong to the interval, also within rounding; what is beyond is outside, at any scale."""
    p = CPWL.from_simplices([[0.1 * scale], [0.3 * scale], [0.7 * scale]], [[0, 1], [1, 2]], [0.0, 1.0, 2.0])
    inside = np.array([0.1, 0.2, 0.3, 0.5, 0.7]) * scale
    assert not np.isnan(p(inside[:, None])).any()
    assert np.isnan(p(np.array([[0.09], [0.71]]) * scale)).all()
