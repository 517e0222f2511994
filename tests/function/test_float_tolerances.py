"""Tolerances of float data follow the pieces and their values, not extreme numbers that are written somewhere."""

from itertools import pairwise

import highspy
import numpy as np
import pytest

from cpwl import CPWL, certify, compile

FAR = [1e6, 1e8, 1e9, 1e30]


def three_laws(far):
    """x, 2x, x + 0.001 on [-1, 1], and a row ``x <= far`` that bounds nothing."""
    ends = [(-1.0, 0.0), (0.0, 0.001), (0.001, 1.0)]
    A = [[[-1.0], [1.0], [1.0]]] * 3
    b = [[-low, high, far] for low, high in ends]
    return CPWL.from_pieces(A, b, [[1.0], [2.0], [1.0]], [0.0, 0.0, 0.001])


def absolute_value(far):
    """|x_1| on [-1, 1]^2 with a row ``x_1 <= far``."""
    box = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]
    b = [[0.0, 1.0, 1.0, 1.0, far], [1.0, 0.0, 1.0, 1.0, far]]
    return CPWL.from_pieces([box, box], b, [[-1.0, 0.0], [1.0, 0.0]], [0.0, 0.0])


@pytest.mark.parametrize("far", FAR)
def test_a_far_row_does_not_hide_a_narrow_piece(far):
    """Three laws stay three laws, and every piece has an interior."""
    p = three_laws(far)
    report = p.doctor()
    assert report.healthy
    assert not [f for f in report if f.kind in ("flat piece", "empty piece")]
    assert p.num_components == 3


@pytest.mark.parametrize("far", FAR)
def test_a_far_row_does_not_make_pieces_disagree(far):
    """|x_1| is continuous whatever is written beside it."""
    assert absolute_value(far).doctor().healthy


@pytest.mark.parametrize("far", FAR)
def test_a_far_row_does_not_hide_a_discontinuity(far):
    """A step of 1e-4 is one, with a far row or without."""
    p = three_laws(far)
    offset = p.laws.offset[:, 0] + np.array([0.0, 0.0, 1e-4])
    A = [body.A.tolist() for body in p.polyhedra]
    b = [body.b.tolist() for body in p.polyhedra]
    broken = CPWL.from_pieces(A, b, p.laws.gradient[:, 0].tolist(), offset.tolist())
    (error,) = broken.doctor().errors
    assert error.kind == "jump"
    assert error.size == pytest.approx(1e-4, rel=1e-6)


def test_a_far_row_of_exact_data_does_not_hinder_a_proof():
    """1e30 is an integer, too."""
    box = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 0]]
    b = [[0, 1, 1, 1, 10**30], [1, 0, 1, 1, 10**30]]
    p = CPWL.from_pieces([box, box], b, [[-1, 0], [1, 0]], [0, 0])
    assert p.doctor().healthy
    assert certify(p, compile(p, construction="lattice").network).proved


@pytest.mark.parametrize("far", FAR)
def test_a_far_row_does_not_change_the_network(far):
    """The same values, to the last digits."""
    for p in (three_laws(far), absolute_value(far)):
        x = np.random.default_rng(0).uniform(-1, 1, (500, p.dim))
        assert np.abs(compile(p).network(x) - p(x)).max() <= 1e-12


def intervals(ends, values):
    """A float function of one input by its values at the ends of intervals."""
    x, y = np.array(ends, dtype=float), np.array(values, dtype=float)
    slope = np.diff(y) / np.diff(x)
    A = [[[1.0], [-1.0]]] * len(slope)
    b = [[high, -low] for low, high in pairwise(x)]
    return CPWL.from_pieces(A, b, slope[:, None].tolist(), (y[:-1] - slope * x[:-1]).tolist())


def test_a_small_hat_beside_a_steep_narrow_piece_is_seen():
    """A step of 1e-6 at a hat of height 1e-4 is no rounding, though another piece has slope 1e6."""
    ends = [0, 1, 1.5, 2, 3, 3 + 1e-6, 4]
    good = intervals(ends, [0, 0, 1e-4, 0, 0, 1, 1])
    assert good.doctor().healthy
    assert good.num_components == 5
    offset = good.laws.offset[:, 0].copy()
    offset[1] += 1e-6
    A, b = [body.A for body in good.polyhedra], [body.b for body in good.polyhedra]
    bad = CPWL.from_pieces(A, b, good.laws.gradient[:, 0], offset)
    assert [f.kind for f in bad.doctor().errors] == ["jump", "jump"]


def two_outputs(scale, seed=0):
    """|x_1| on [-1, 1]^2 in four quadrants, and a second output of noise."""
    rng = np.random.default_rng(seed)
    A, b, gradient = [], [], []
    for s in (-1.0, 1.0):
        for t in (-1.0, 1.0):
            A.append([[-s, 0.0], [s, 0.0], [0.0, -t], [0.0, t]])
            b.append([0.0, 1.0, 0.0, 1.0])
            gradient.append([[s, 0.0], (scale * rng.standard_normal(2)).tolist()])
    offset = np.column_stack([np.zeros(4), scale * rng.standard_normal(4)])
    return CPWL.from_pieces(A, b, gradient, offset)


@pytest.mark.parametrize("scale", [0.0, 1e-18, 1e-16, 1e-14])
def test_an_output_that_is_zero_up_to_rounding(scale):
    """Noise of 1e-16 beside values of 1 is nothing, and one component."""
    p = two_outputs(scale)
    assert p.doctor().healthy
    assert len(np.unique(p.component[:, 1])) == 1


def test_an_output_of_small_numbers_alone_is_meant():
    """Without another output there is nothing that makes 1e-16 small."""
    p = intervals([0, 1, 2], [0, 1e-16, 0])
    assert p.doctor().healthy
    assert p.num_components == 2
    offset = p.laws.offset[:, 0] + np.array([0.0, 1e-17])
    A, b = [body.A for body in p.polyhedra], [body.b for body in p.polyhedra]
    assert not CPWL.from_pieces(A, b, p.laws.gradient[:, 0], offset).doctor().healthy


def columns(ends, *, lower=0.0, shift=0.0):
    """Columns ``ends[i] <= x_1 <= ends[i + 1]``, each cut in two at ``x_2 = 1/2``, of the law x_1."""
    A, b = [], []
    for k, (low, high) in enumerate(pairwise(ends)):
        for y in ((lower, 0.5), (0.5, 1.0)):
            A.append([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
            top = y[1] + (shift * (k % 2) if y[1] == 1.0 else 0.0)
            b.append([high, -low, top, -y[0]])
    return CPWL.from_pieces(A, b, [[1.0, 0.0]] * len(A), [0.0] * len(A))


@pytest.mark.parametrize("width", [1e-10, 1e-12, 1e-15])
def test_a_flat_piece_leaves_no_gap(width):
    """Eight pieces, two of them flat: their neighbours border on each other."""
    report = columns([0.0, 0.4, 0.4 + width, 0.7, 1.0]).doctor()
    assert report.healthy, str(report)
    assert all(f.size <= 1e-9 for f in report if f.kind == "gap")


@pytest.mark.parametrize("shift", [4e-11, -4e-11, 5e-10])
def test_outer_facets_that_are_off_by_rounding(shift):
    """The domain is convex up to 4e-11."""
    report = columns([0.0, 0.3, 0.6, 1.0], shift=shift).doctor()
    assert report.healthy, str(report)


@pytest.mark.parametrize("shift", [1e-4, -1e-4])
def test_outer_facets_that_are_off_by_more(shift):
    """A domain that is not convex by 1e-4 is not, and the finding says by how much."""
    errors = columns([0.0, 0.3, 0.6, 1.0], shift=shift).doctor().errors
    assert errors
    assert {f.kind for f in errors} <= {"domain not convex", "gap"}
    assert errors[0].size == pytest.approx(1e-4, rel=1e-3)


@pytest.mark.parametrize("width", [1e-10, 1e-12])
def test_a_gap_of_rounding_is_a_note_with_its_size(width):
    """Two pieces that are 1e-10 apart, nothing between them."""
    p = columns([0.0, 0.4, 0.4 + width, 1.0])
    apart = p.take(np.array([0, 1, 4, 5]))
    assert apart.doctor().healthy, str(apart.doctor())


def test_a_gap_that_is_one_has_a_size():
    """Nothing between 0.4 and 0.5: an error of that size."""
    p = columns([0.0, 0.4, 0.5, 1.0]).take(np.array([0, 1, 4, 5]))
    errors = p.doctor().errors
    assert errors
    assert max(f.size for f in errors) == pytest.approx(0.1, rel=1e-6)


def test_a_strip_between_rows_that_are_parallel_up_to_noise():
    """The strip is wider far out, which does not make it flat."""
    rng = np.random.default_rng(0)
    rows = np.array([[1.0, -2.0, 1 / 7], [-1.0, 2.0, -1 / 7]])
    rows *= 1 + 1e-9 * rng.standard_normal(rows.shape)
    A = [rows[:1], rows, -rows[:1]]
    b = [[0.0], [1.0, 0.0], [-1.0]]
    A[0], A[1] = -rows[1:], np.array([rows[0], rows[1]])
    p = CPWL.from_pieces(A, b, np.array([[0, 0, 0], rows[0], [0, 0, 0]]), [0.0, 0.0, 1.0], tol=3.2e-8)
    assert not [f for f in p.doctor() if f.kind == "flat piece"]
    assert p.doctor().healthy


def thirds(**options):
    """Two pieces that meet at 1/3, where one of them was rounded; all numbers are rationals."""
    return CPWL.from_pieces([[[1]], [[-1]]], [["1/3"], ["-1/3"]], [[0], [3]], [0, "-0.999999"], **options)


def test_rational_data_may_have_a_tolerance():
    """It is exact unless `tol` is given; then it is rounded, however it is written."""
    assert thirds().tol == 0
    (error,) = thirds().doctor().errors
    assert "pass `tol=1e-05`" in error.message
    assert "snap" in error.message
    p = thirds(tol=1e-5)
    assert p.tol == 1e-5
    assert p.doctor().healthy
    assert p.snap(1e-5).function.doctor().healthy
    assert thirds(tol=0).tol == 0


def test_a_repeated_piece_is_named():
    """The domain is the same without it."""
    p = CPWL.from_pieces([[[1]], [[-1]], [[-2]]], [[0], [0], [0]], [[0], [1], [1]], [0, 0, 0])
    (found,) = (f for f in p.doctor() if f.kind == "overlap")
    assert found.severity == "note"
    assert "piece 2 repeats piece 1" in found.message


def test_a_line_that_ends_on_one_side():
    """A half-line is a domain, and is named: perhaps a piece is missing."""
    whole = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
    assert not [f for f in whole.doctor() if f.kind == "half-line"]
    part = CPWL.from_pieces([[[-1], [1]], [[-1]]], [[0, 1], [-1]], [[1], [0]], [0, 1])
    (found,) = (f for f in part.doctor() if f.kind == "half-line")
    assert found.severity == "note"
    assert "x >= " in found.message
    asserted = CPWL.from_pieces([[[-1]]], [[0]], [[1]], [0], domain=([[-1]], [0]))
    assert not [f for f in asserted.doctor() if f.kind == "half-line"]


def test_a_hole_on_a_line():
    """An inner piece left out is a gap of its length."""
    whole = CPWL.from_breakpoints([0, 1, 3], [0, 1, 0], left_slope=0, right_slope=0)
    holed = whole.take(np.array([0, 1, 3]))
    errors = holed.doctor().errors
    assert errors
    assert max(f.size for f in errors) == 2


def test_overlapping_pieces_do_not_take_for_ever(monkeypatch):
    """200 boxes that all overlap: the doctor does not look at all pairs, of which there are 19,900."""
    solved, real = [], highspy.Highs.run
    monkeypatch.setattr(highspy.Highs, "run", lambda model: solved.append(1) or real(model))
    rng = np.random.default_rng(0)
    corner = rng.random((200, 2))
    A = [[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]] * 200
    b = [[x + 1, -x, y + 1, -y] for x, y in corner]
    p = CPWL.from_pieces(A, b, rng.random((200, 2)).tolist(), rng.random(200).tolist())
    report = p.doctor()
    assert not report.healthy
    assert report.errors[0].kind == "overlap"
    assert len(solved) < 10 * 200


def noisy(n, noise, box):
    """max(0, x_0 - 1) in R^n on pieces that are also cut at x_0 = -1 and 0, with noise on every coefficient."""
    rng, eye, cuts = np.random.default_rng(n), np.eye(n), [-1.0, 0.0, 1.0]
    A, b, laws = [], [], []
    for i in range(4):
        rows = [-eye[0]] * (i > 0) + [eye[0]] * (i < 3) + [*eye, *-eye] * box
        A.append(rows)
        b.append([-cuts[k] for k in [i - 1] if i > 0] + [cuts[k] for k in [i] if i < 3] + [3.0] * (2 * n * box))
        laws.append(noise * rng.standard_normal(n + 1) + (i == 3) * np.append(eye[0], -1.0))
    return CPWL.from_pieces(A, b, [law[:-1] for law in laws], [law[-1] for law in laws])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("noise", [1e-17, 1e-16])
@pytest.mark.parametrize("n", range(1, 9))
def test_noise_around_zero_is_no_discontinuity(n, noise):
    """Laws that are 0 but for rounding of numbers of size 1 agree, in any number of inputs, and are one law."""
    p = noisy(n, noise, box=1)
    assert p.doctor().healthy
    assert p.num_components == 2
    snapped = p.snap()
    assert snapped.function is not None
    assert 0 < snapped.moved.value < 1e-14
    assert "nothing was moved" not in str(snapped)
    assert certify(p, compile(p).network).proved


@pytest.mark.parametrize("n", [1, 2, 6])
def test_noise_around_zero_of_unbounded_pieces(n):
    """The same where pieces have no end."""
    p = noisy(n, 1e-17, box=0)
    assert p.doctor().healthy
    assert p.snap().function.num_components == 2


@pytest.mark.parametrize("n", [1, 2, 6])
def test_small_jumps_are_still_seen(n):
    """What is a thousand times as much as rounding is a discontinuity beside values of size 1, too."""
    assert any(finding.kind == "jump" for finding in noisy(n, 1e-11, box=1).doctor().errors)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-3, 1.0, 1e9, 1e12])
@pytest.mark.parametrize("n", [1, 3])
def test_units_of_the_coordinates_do_not_matter(unit, n):
    """|x_0 - 1.5| on a box [1, 2]^n, in any unit: nothing to note, the twin is found, and the network is proved."""
    rng = np.random.default_rng(1)
    A = [np.concatenate([np.eye(n), -np.eye(n)]) * rng.uniform(0.5, 2, (2 * n, 1)) for _ in range(2)]
    low, high = np.ones((2, n)), np.full((2, n), 2.0)
    low[1, 0] = high[0, 0] = 1.5
    ends = np.concatenate([high, -low], axis=1) * unit
    b = [np.abs(a).sum(axis=1) * end for a, end in zip(A, ends, strict=True)]
    slope = np.eye(n)[0] / unit
    p = CPWL.from_pieces(A, b, [-slope, slope], [1.5, -1.5])
    assert p.doctor().healthy
    assert not [f for f in p.doctor().findings if f.kind == "nearly parallel facets"]
    assert p.snap().function is not None
    made = compile(p, certify=True)
    assert made.certificate.proved
    assert made.sizes.neurons == 2


@pytest.mark.filterwarnings("error")
def test_a_law_that_is_0_in_the_middle_of_its_piece():
    """One point shows no range; rounding is compared with the terms of the law, and no neuron is needed."""
    square = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    p = CPWL.from_pieces([square], [[2.0, -1.0, 0.8333333, 2.0]], [[0.0, -0.999999999999999]], [-1.5])
    assert compile(p).sizes.neurons == 0
