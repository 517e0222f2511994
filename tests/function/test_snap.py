"""Snapping float data: what comes back is exact, healthy and near, or there is a reason why nothing does."""

from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, InputError
from cpwl.function.doctor.first_error import first_error
from cpwl.function.flags import consistency
from cpwl.io.json import load
from shallow import random_shallow
from support.catalogue import function
from support.functions import abs_sum, boxes, delaunay, five_pieces, three_piece_cut
from support.laws import LAWS
from support.rational_pieces import along, cut_up, cuts
from support.twins import boxed, twin

ROUNDED = {
    "strips": along(["1/3", 2], ["1/7", 1, "5/3"], [0, "1/3", -1, 2]),
    "fan": function("star_of_cones"),
    "five": five_pieces(),
    "three": three_piece_cut(),
    "cut up": cut_up(five_pieces(), cuts(2, 5, 0)),
    "triangles": delaunay(2, 12, 0),
    "tetrahedra": delaunay(3, 8, 0),
    "triangles cut up": cut_up(delaunay(2, 6, 1), cuts(2, 4, 0)),
    "crossing lines": random_shallow(2, 4, 0),
    "crossing planes": random_shallow(3, 3, 0),
    "many inputs": random_shallow(12, 3, 0),
    "concave": function("concave"),
    "six components": function("six_components"),
    "two outputs": function("two_outputs"),
    "table with two outputs": function("opposite_outputs"),
}


# Lines that are parallel no more meet far away, where the laws do not fit: noise cannot be undone there.
PARALLEL = {"strips", "concave", "six components"}


def rounded(p, *, noise=0.0, tol=1e-9, **options):
    """The same pieces in floats, as programs export them: rows of length 1, all numbers off by `noise`, relative."""
    rng = np.random.default_rng(0)

    def off(a):
        return a * (1 + noise * rng.uniform(-1, 1, np.shape(a)))

    lengths = [np.linalg.norm(body.A, axis=1) for body in p.polyhedra]
    return CPWL.from_pieces(
        [off(body.A / length[:, None]) for body, length in zip(p.polyhedra, lengths, strict=True)],
        [off(body.b / length) for body, length in zip(p.polyhedra, lengths, strict=True)],
        off(p.laws.gradient),
        off(p.laws.offset),
        tol=tol,
        **options,
    )


def points_of(p, count=300):
    """Random points around the function, most of them where it is defined."""
    inside = np.random.default_rng(0).uniform(-3, 3, (count, p.dim))
    return np.concatenate([inside, (inside + 3) / 6])


WITH_NOISE = [(name, noise) for name in ROUNDED for noise in (0.0, 1e-13) if noise == 0 or name not in PARALLEL]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "noise"), WITH_NOISE)
def test_rounded_functions_come_back_exact_and_near(name, noise):
    """The exact doctor finds nothing wrong, and values differ by no more than rounding."""
    p = rounded(ROUNDED[name], noise=noise)
    found = p.snap(1e-9)
    assert found.reason == ""
    assert found.function.tol == 0
    assert found.function.doctor().healthy
    x = points_of(p)
    both = ~np.isnan(p(x)) & ~np.isnan(found.function(x))
    assert both.sum() > 50
    np.testing.assert_allclose(found.function(x)[both], p(x)[both], rtol=0, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "noise"), WITH_NOISE)
def test_nothing_moves_by_more_than_the_tolerance(name, noise):
    """And something moves where there is noise, but never by much more than the noise."""
    moved = rounded(ROUNDED[name], noise=noise).snap(1e-9).moved
    assert max(moved.coefficient, moved.value, moved.facet) == moved.largest <= 1e-9
    assert noise / 100 < moved.largest or noise == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "noise"), WITH_NOISE)
def test_laws_within_the_tolerance_become_one(name, noise):
    """There are as many laws afterwards as there were before rounding, or fewer."""
    found = rounded(ROUNDED[name], noise=noise).snap(1e-9).function
    assert found.num_components <= ROUNDED[name].num_components


@pytest.mark.parametrize("name", sorted(PARALLEL))
def test_what_cannot_be_undone_is_refused(name):
    """There is a reason, and no function; or a function that is healthy."""
    found = rounded(ROUNDED[name], noise=1e-13).snap(1e-9)
    assert found.reason if found.function is None else found.function.doctor().healthy


def test_the_hyperplane_between_two_laws_is_their_difference():
    """0 and 3x - 1 meet at 1/3, whatever the rounded rows say."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.3333], [-0.3333]], [[0.0], [3.0]], [0.0, -1.0], tol=1e-3)
    rows = p.snap(1e-3).function.polyhedra.integer()
    assert {Fraction(b, a) for a, b in rows.tolist()} == {Fraction(1, 3)}


def test_the_move_of_a_facet_is_measured():
    """A facet at 0.3333 in the interval [-1, 1] moves to 1/3."""
    A, b = [[[1.0], [-1.0]], [[-1.0], [1.0]]], [[0.3333, 1.0], [-0.3333, 1.0]]
    moved = CPWL.from_pieces(A, b, [[0.0], [3.0]], [0.0, -1.0], tol=1e-3).snap(1e-3).moved
    assert moved.facet == pytest.approx(1 / 3 - 0.3333, rel=1e-3)
    assert moved.coefficient == moved.value == 0


def test_the_move_of_a_law_is_measured():
    """Three laws within the tolerance: the first one stays, and the largest change is that of the last."""
    A, b = [[[1.0]], [[-1.0], [1.0]], [[-1.0]]], [[0.0], [0.0, 1.0], [-1.0]]
    p = CPWL.from_pieces(A, b, [[2.0], [2.0 + 1e-7], [2.0 + 2e-7]], [0.0, 0.0, 0.0], tol=1e-6)
    found = p.snap(1e-6)
    assert found.function.num_components == 1
    assert found.moved.coefficient == pytest.approx(1e-7, rel=1e-3)


@pytest.mark.parametrize(
    "p", [abs_sum(2), delaunay(2, 9, 0), boxes([([0.0], [1.0]), ([1.0], [2.0])], [([1.0], 0.0)] * 2)]
)
def test_consistent_data_is_not_moved(p):
    """Exact data, and floats that happen to fit, stay as they are."""
    found = p.snap(1e-9)
    assert found.moved.largest == 0
    assert found.function.num_pieces == p.num_pieces
    assert p.tol > 0 or found.function is p


def test_an_exact_jump_is_snapped_away():
    """Exact data may be off, too: a jump of 1e-30 is within the tolerance."""
    p = boxes([([0], [1]), ([1], [2])], [([1], 0), ([1], Fraction(1, 10**30))])
    assert not p.doctor().healthy
    assert p.snap(1e-9).function.doctor().healthy


@pytest.mark.parametrize("noise", [1e-6, 1e-4])
def test_more_noise_than_tolerance_is_refused(noise):
    """What is no function within the tolerance is not made one."""
    found = rounded(five_pieces(), noise=noise, tol=1e-2).snap(1e-9)
    assert found.function is None
    assert found.reason


def test_laws_that_differ_by_a_constant_meet_nowhere():
    """A jump that the doctor lets pass, but of two laws: no facet can be put between them."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[1.0], [-1.0]], [[1.0], [1.0]], [0.0, 3e-9], tol=1e-9)
    assert p.doctor().healthy
    assert p.num_components == 2
    assert p.snap(1e-9).reason
    assert p.snap(1e-8).function.num_components == 1


@pytest.mark.parametrize(
    "p",
    [
        boxes([([0.0], [1.0]), ([1.0], [2.0])], [([0.0], 0.0), ([0.0], 0.5)]),
        boxes([([0.0], [1.0]), ([2.0], [3.0])], [([0.0], 0.0), ([0.0], 0.0)]),
    ],
    ids=["jump", "gap"],
)
def test_a_sick_function_is_refused_with_the_doctors_words(p):
    """The reason says what is wrong, and where."""
    found = p.snap(1e-9)
    assert found.function is None
    assert p.doctor().errors[0].message.split(":")[0] in found.reason


def test_outputs_that_bend_almost_in_one_place_bend_in_one():
    """Two outputs, of which one bends at 1/3 and the other at the float next to it."""
    third = 1 / 3
    A, b = [[[1.0]], [[-1.0]]], [[third], [-third]]
    p = CPWL.from_pieces(A, b, [[[0.0], [0.0]], [[3.0], [1.0]]], [[0.0, 0.0], [-1.0, -third]])
    found = p.snap(1e-9).function
    assert found.doctor().healthy
    assert len({Fraction(-law[1], law[0]) for law in found.laws.integer()[1].tolist()}) == 1


def test_an_asserted_domain_keeps_its_rows():
    """The domain that was given is that of the result, exactly."""
    third = 1 / 3
    A, b = [[[3.0], [-1.0]], [[-3.0], [1.0]]], [[1.0, 0.1], [-1.0, 0.7]]
    p = CPWL.from_pieces(A, b, [[0.0], [1.0]], [0.0, -third], domain=([[1.0], [-1.0]], [0.7, 0.1]))
    found = p.snap(1e-9).function
    assert found.doctor().healthy
    assert found.domain is p.domain


@pytest.mark.parametrize("tol", [0, -1.0, 1.0])
def test_the_tolerance_must_make_sense(tol):
    """More than nothing, less than everything."""
    with pytest.raises(InputError, match="`tol` must be"):
        abs_sum(1).snap(tol)


@pytest.mark.parametrize(
    ("name", "laws"),
    [("mpc_double_integrator_27", 5), pytest.param("mpc_double_integrator_83", 9, marks=pytest.mark.slow)],
)
def test_control_laws_become_exact(name, laws):
    """Explicit MPC as its solver exports it: exactly consistent, with its laws, moved by rounding only."""
    p = load(LAWS[name])
    found = p.snap(1e-9)
    assert found.function.doctor().healthy
    assert found.function.num_components == laws
    assert found.moved.largest < 1e-12
    x = np.random.default_rng(0).uniform(-10, 10, (5000, 2))
    np.testing.assert_allclose(found.function(x), p(x), rtol=0, atol=1e-12)


def test_a_law_with_two_outputs_in_space_becomes_exact():
    """Rounded laws whose outputs bend on planes that differ by noise: exactly consistent, and near the data."""
    p = load(LAWS["mpqp_3d_55"])
    found = p.snap(1e-9)
    assert found.function is not None, found.reason
    assert consistency(found.function).consistent
    assert found.function.num_components <= p.num_components
    x = np.random.default_rng(0).uniform(-1, 1, (5000, 3))
    both = ~np.isnan(p(x)).any(axis=1) & ~np.isnan(found.function(x)).any(axis=1)
    assert both.any()
    np.testing.assert_allclose(found.function(x)[both], p(x)[both], rtol=0, atol=1e-9)


def test_simplices_that_noise_makes_flat_are_no_way_out():
    """Pieces with a corner that noise has put beside an edge: another way is taken, without a warning."""
    p = boxed(abs_sum(2))
    for seed in range(6):
        found = twin(p, 1e-12, seed).function().snap(1e-9)
        assert found.function is not None
        assert first_error(found.function) is None
