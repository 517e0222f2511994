"""The doctor finds what is wrong, with a witness, and finds nothing where nothing is wrong."""

from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, CpwlWarning, InputError, compile
from cpwl.function import examine as examine_module
from cpwl.function.doctor.first_error import first_error
from shallow import random_shallow
from support.catalogue import function
from support.functions import abs_sum, boxes, delaunay, five_pieces, three_piece_cut
from support.twins import twin

ZERO = ([0, 0], 0)


def kinds(p):
    return [f.kind for f in p.doctor().errors]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "p",
    [
        five_pieces(),
        three_piece_cut(),
        abs_sum(1),
        abs_sum(3),
        delaunay(2, 40, 0),
        delaunay(3, 12, 0),
        random_shallow(3, 5, 0),
        random_shallow(20, 4, 0),
        boxes([([0, 0], [1, 1])], [([1, 2], 3)]),
        # A T-junction: one box above two.
        boxes([([0, 1], [2, 2]), ([0, 0], [1, 1]), ([1, 0], [2, 1])], [([0, 1], 0)] * 3),
        # A pinwheel of boxes around a square: no two share a whole facet.
        boxes(
            [([0, 0], [2, 1]), ([2, 0], [3, 2]), ([1, 2], [3, 3]), ([0, 1], [1, 3]), ([1, 1], [2, 2])],
            [([1, 1], 0)] * 5,
        ),
        CPWL.from_breakpoints([0, 1], [0, 1]),
    ],
)
def test_healthy_functions_have_no_errors(p):
    """Nothing is found wrong with a continuous function on a convex domain, face to face or not."""
    assert p.doctor().errors == ()


def test_a_jump_has_its_largest_point_as_witness():
    """Pieces that disagree on a facet: the witness is where they differ most."""
    p = boxes([([0, 0], [1, 1]), ([1, 0], [2, 1])], [ZERO, ([0, 1], 0)])
    (jump,) = p.doctor().errors
    assert (jump.kind, jump.pieces, jump.size) == ("jump", (0, 1), 1.0)
    assert jump.point.tolist() == [1, 1]
    assert "at x = (1, 1) piece 0 gives 0 and piece 1 gives 1" in jump.message


def test_jumps_come_largest_first():
    """Three boxes in a row, each one higher than the last by more than before."""
    p = boxes([([0], [1]), ([1], [2]), ([2], [3])], [([0], 0), ([0], 1), ([0], 4)])
    assert [(f.pieces, f.size) for f in p.doctor().errors] == [((1, 2), 3.0), ((0, 1), 1.0)]


@pytest.mark.parametrize("slope", [0, 1, 10**6])
@pytest.mark.parametrize("size", [Fraction(1, 10**30), Fraction(1, 10**400)])
def test_a_tiny_jump_is_found_in_exact_data(slope, size):
    """Exact data must be exactly consistent, also where the floats of the two values are equal."""
    p = boxes([([0], [1]), ([1], [2])], [([slope], 0), ([slope], size)])
    assert kinds(p) == ["jump"]


def test_a_tiny_overlap_is_found_in_exact_data():
    """Pieces that overlap with laws that differ by 1e-30 are no function."""
    p = boxes([([0], [2]), ([1], [3])], [([1], 0), ([1], Fraction(1, 10**30))])
    assert kinds(p) == ["overlap"]


def test_a_jump_below_the_tolerance_is_no_jump():
    """Float data may be off by `tol`, and no more."""
    for size, expected in ((1e-12, []), (1e-4, ["jump"])):
        p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[1.0], [2.0]], [0.0, size])
        assert kinds(p) == expected


def test_a_jump_between_pieces_that_only_share_part_of_a_facet():
    """T-junction: only the lower right box disagrees with the long one above."""
    p = boxes(
        [([0, 1], [2, 2]), ([0, 0], [1, 1]), ([1, 0], [2, 1])],
        [([0, 0], 0), ([0, 0], 0), ([1, 0], -1)],
    )
    (jump,) = p.doctor().errors
    assert jump.pieces == (0, 2)
    assert jump.point.tolist() == [2, 1]


def test_a_gap_in_an_asserted_domain():
    """A missing piece is a gap beyond the facet of a neighbour."""
    p = CPWL.from_pieces([[[1]], [[-1]]], [[0], [-1]], [[0], [0]], [0, 0], domain=(np.zeros((0, 1)), []))
    found = p.doctor().errors
    assert {f.kind for f in found} == {"gap"}
    assert sorted(float(f.point[0]) for f in found) == [0, 1]


def test_a_hole_makes_the_domain_not_convex():
    """Without an asserted domain a gap is a domain that is not convex; the witness is at the gap."""
    p = boxes([([0, 0], [1, 2]), ([2, 0], [3, 2])], [ZERO, ZERO])
    found = p.doctor().errors
    assert {f.kind for f in found} == {"domain not convex"}
    assert all(f.point[0] in (1, 2) for f in found)


def test_an_l_shaped_domain_is_not_convex():
    """Three boxes in the shape of an L."""
    p = boxes([([0, 0], [1, 1]), ([1, 0], [2, 1]), ([0, 1], [1, 2])], [ZERO] * 3)
    assert set(kinds(p)) == {"domain not convex"}


def test_a_table_that_is_not_convex_is_found():
    """The mesh of an L-shaped domain."""
    points = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1], [0, 2], [1, 2]]
    cells = [[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4], [3, 4, 6], [4, 7, 6]]
    assert set(kinds(CPWL.from_simplices(points, cells, range(8)))) == {"domain not convex"}


def test_overlapping_pieces_with_different_laws():
    """Boxes that overlap: the witness is inside both."""
    p = boxes([([0, 0], [2, 1]), ([1, 0], [3, 1])], [ZERO, ([0, 0], 5)])
    overlap = p.doctor().errors[0]
    assert (overlap.kind, overlap.pieces, overlap.size) == ("overlap", (0, 1), 5.0)
    assert 1 <= overlap.point[0] <= 2


def test_overlapping_pieces_with_one_law_are_a_note():
    """The function is well defined; it is only said, and that the law is the same."""
    report = boxes([([0, 0], [2, 1]), ([1, 0], [3, 1])], [ZERO, ZERO]).doctor()
    assert report.healthy
    assert [f.kind for f in report] == ["overlap", "repeated laws"]


@pytest.mark.parametrize("low", [0, 1])
def test_a_piece_inside_another_is_an_overlap(low):
    """Also when the smaller one touches the border of the larger one."""
    p = boxes([([0, 0], [4, 4]), ([low, low], [2, 2])], [ZERO, ([0, 0], 1)])
    assert "overlap" in kinds(p)


def test_a_table_covered_twice_is_an_overlap():
    """Two different triangulations of one square, with different values at the centre."""
    points = [[0, 0], [1, 0], [1, 1], [0, 1], ["1/2", "1/2"]]
    cells = [[0, 1, 2], [0, 2, 3], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
    assert "overlap" in kinds(CPWL.from_simplices(points, cells, [0, 0, 0, 0, 1]))


def test_two_values_at_one_point_are_a_jump():
    """A table with a point written twice, with different values."""
    points = [[0, 0], [1, 0], [0, 1], [1, 0], [0, 1], [1, 1]]
    (jump,) = CPWL.from_simplices(points, [[0, 1, 2], [3, 4, 5]], [0, 1, 1, 1, 2, 3]).doctor().errors
    assert (jump.kind, jump.size) == ("jump", 1.0)
    assert jump.point.tolist() == [0, 1]


def test_a_table_with_points_written_twice_is_healthy():
    """Equal coordinates with equal values are one point."""
    points = [[0, 0], [1, 0], [0, 1], [1, 0], [0, 1], [1, 1]]
    assert CPWL.from_simplices(points, [[0, 1, 2], [3, 4, 5]], [0, 1, 2, 1, 2, 3]).doctor().healthy


def test_a_table_with_a_t_junction():
    """A hanging node on an edge is fine if its value is on the edge, and a jump if not."""
    points = [[0, 0], [2, 0], [1, 1], [1, 0], [1, -1]]
    cells = [[0, 1, 2], [0, 3, 4], [3, 1, 4]]
    assert CPWL.from_simplices(points, cells, [0, 0, 1, 0, 1]).doctor().healthy
    assert "jump" in kinds(CPWL.from_simplices(points, cells, [0, 0, 1, "1/9", 1]))


def test_empty_and_flat_pieces_are_dropped_with_a_warning():
    """They are notes; `compile` leaves them out and says so."""
    A = [[[1]], [[-1]], [[1], [-1]], [[1], [-1]]]
    p = CPWL.from_pieces(A, [[0], [0], [0, 0], [-1, -1]], [[-1], [1], [7], [7]], [0, 0, 0, 0])
    assert [f.kind for f in p.doctor()] == ["flat piece", "empty piece"]
    with pytest.warns(CpwlWarning, match="pieces without interior were dropped: 2, 3"):
        assert compile(p).network([[-2.0]])[0, 0] == 2.0


def test_no_piece_with_interior():
    """Only flat pieces: there is no function."""
    p = CPWL.from_pieces([[[1], [-1]]], [[0, 0]], [[0]], [0])
    with pytest.raises(InputError, match="no piece has an interior"):
        compile(p)


def test_a_piece_that_sticks_out_of_the_domain():
    """An asserted domain is what the pieces cover, no less and no more."""
    p = CPWL.from_pieces([[[1], [-1]]], [[2, 0]], [[0]], [0], domain=([[1], [-1]], [1, 0]))
    found = p.doctor().errors
    assert "outside domain" in {f.kind for f in found}
    assert p.doctor().errors[0].pieces == (0,)


def test_compile_refuses_a_sick_function_with_the_witness():
    """The error is one sentence, and carries the data."""
    p = boxes([([0, 0], [1, 1]), ([1, 0], [2, 1])], [ZERO, ([0, 1], 0)])
    with pytest.raises(InputError, match="pieces 0 and 1 disagree on their common facet: at x = \\(1, 1\\)") as e:
        compile(p)
    assert e.value.details["pieces"] == (0, 1)
    compile(p, construction="paper", check=False)


def test_many_inputs_few_directions():
    """In 60 dimensions a jump across one of three hyperplanes is found, with a point of full length."""
    p = random_shallow(60, 3, 1)
    offset = p.laws.offset.copy()
    offset[0] += 1.0
    broken = CPWL.from_pieces([P.A for P in p.polyhedra], [P.b for P in p.polyhedra], p.laws.gradient, offset)
    found = broken.doctor().errors
    assert {f.kind for f in found} == {"jump"}
    assert all(0 in f.pieces and f.size == pytest.approx(1.0) and len(f.point) == 60 for f in found)


@pytest.mark.parametrize("slope", [Fraction(1, 2), Fraction(1, 10**30)])
def test_a_jump_without_bound_is_found_where_the_laws_happen_to_agree(slope):
    """The laws agree at the origin, and further out on the common facet they part without end."""
    p = CPWL.from_pieces([[[1, -1]], [[-1, 1]]], [[0], [0]], [[0, 0], [1 + slope, -1]], [0, 0])
    (finding,) = p.doctor().errors
    assert finding.kind == "jump"
    assert finding.size > 0


def many_float_pieces(jump):
    """More than 200 noisy triangles, one of which has its law moved by `jump`."""
    p = twin(delaunay(2, 108, 3), 1e-13).function()
    offset = p.laws.offset.copy()
    offset[7] += jump
    pieces = [(body.A, body.b) for body in p.polyhedra]
    return CPWL.from_pieces([A for A, _ in pieces], [b for _, b in pieces], p.laws.gradient, offset)


def test_many_float_pieces_near_an_exact_function_are_well():
    """Nothing is wrong, and notes are still taken; a jump is not hidden by the short way."""
    p = many_float_pieces(0.0)
    assert p.num_pieces > 200
    assert p.doctor().healthy
    error = first_error(many_float_pieces(1e-3))
    assert error.kind == "jump"
    assert 7 in error.pieces


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sizes", [(1e-6, 1e6), (1e6, 1e-6), (1.0, 1e7)])
@pytest.mark.parametrize("name", ["kuhn_plane", "convex", "nested_squares"])
def test_axes_of_very_different_sizes_make_no_gaps(name, sizes):
    data, size = twin(function(name), 0.0, 1), np.array(sizes)
    scaled = [A / size for A in data.A]
    p = CPWL.from_pieces(scaled, list(data.b), data.gradient / size, data.offset, tol=1e-9)
    assert not p.doctor().errors


def test_a_jump_on_axes_of_very_different_sizes_is_found_where_it_is():
    data, size = twin(function("kuhn_plane"), 0.0, 1), np.array([1e-6, 1e6])
    offset = data.offset.copy()
    offset[0] += 0.1
    p = CPWL.from_pieces([A / size for A in data.A], list(data.b), data.gradient / size, offset, tol=1e-9)
    jump = next(f for f in p.doctor().errors if f.kind == "jump")
    assert abs(jump.size - 0.1) < 1e-6
    inside = [i for i in range(p.num_pieces) if (p.polyhedra[i].A @ jump.point <= p.polyhedra[i].b + 1e-6).all()]
    assert 0 in inside


def test_no_function_is_looked_for_near_pieces_that_contradict_each_other(monkeypatch):
    """Three hundred float boxes, one upon the other: overlaps are reported, and nothing is snapped."""
    monkeypatch.setattr(examine_module, "snap", None)
    rng = np.random.default_rng(0)
    low, width = rng.random((300, 2)), rng.uniform(0.3, 0.7, (300, 2))
    A = [[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]] * 300
    b = np.stack([low + width, -low], axis=2).reshape(300, 4)
    p = CPWL.from_pieces(A, b.tolist(), rng.standard_normal((300, 2)), rng.standard_normal(300))
    assert {finding.kind for finding in p.doctor().errors} == {"overlap"}
