"""The doctor's notes: what is noteworthy about a function with which nothing is wrong."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.function.examine import examine
from cpwl.geometry.linear_program import LinearProgram
from cpwl.io.json import load
from shallow import random_shallow
from support.functions import abs_sum, boxes, delaunay
from support.laws import LAWS
from support.rational_pieces import along, cut_up, cuts

ZERO = ([0, 0], 0)
NOTES = {"sliver", "redundant rows", "repeated laws", "mergeable pieces", "nearly parallel facets", "scale"}
SICK = {
    "jumps": boxes([([0], [1]), ([1], [2]), ([2], [3])], [([0], 0), ([0], 1), ([0], 4)]),
    "overlap": boxes([([0, 0], [2, 1]), ([1, 0], [3, 1])], [ZERO, ([0, 0], 5)]),
    "hole": boxes([([0, 0], [1, 2]), ([2, 0], [3, 2])], [ZERO, ZERO]),
    "sticks out": CPWL.from_pieces([[[1], [-1]]], [[2, 0]], [[0]], [0], domain=([[1], [-1]], [1, 0])),
    "nothing": CPWL.from_pieces([[[1], [-1]]], [[0, 0]], [[0]], [0]),
    "table": CPWL.from_simplices([[0, 0], [1, 0], [0, 1], [1, 0], [0, 1], [1, 1]], [[0, 1, 2], [3, 4, 5]], range(6)),
}


def notes(p, kind):
    """The notes of one kind."""
    return [f for f in p.doctor() if f.kind == kind]


def halves(right=(), law=(2, 0)):
    """Two laws on two halves of the plane, the right one with more rows ``(a, b)``."""
    rows = [[((1, 0), 0)], [((-1, 0), 0), *right]]
    A, b = ([[row[k] for row in piece] for piece in rows] for k in (0, 1))
    return CPWL.from_pieces(A, b, [[-1, 0], law], [0, 0])


@pytest.mark.parametrize(
    "p", [abs_sum(1), abs_sum(3), delaunay(2, 20, 0), random_shallow(3, 4, 0), boxes([([0, 0], [1, 1])], [([1, 2], 3)])]
)
def test_plain_functions_have_no_notes(p):
    """Nothing is noteworthy about functions with a law a piece, of ordinary sizes."""
    assert len(p.doctor()) == 0


@pytest.mark.parametrize("name", SICK)
def test_the_short_examination_finds_the_same_errors(name):
    """Without notes the errors are the same, word for word, and none of the notes is made."""
    full, short = SICK[name].doctor(), examine(SICK[name], notes=False)
    assert [f.message for f in short.errors] == [f.message for f in full.errors]
    assert NOTES.isdisjoint({f.kind for f in short})


@pytest.mark.parametrize("name", SICK)
def test_the_first_error_is_one_of_them(name):
    """Whoever stops at the first error gets one that the whole examination has, too."""
    error = first_error(SICK[name])
    assert (error.kind, error.pieces) in {(f.kind, f.pieces) for f in SICK[name].doctor().errors}


@pytest.mark.parametrize("p", [abs_sum(2), delaunay(2, 9, 0), random_shallow(12, 3, 0)])
def test_a_healthy_function_has_no_first_error(p):
    """There is nothing to stop at."""
    assert first_error(p) is None


# --- rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [int, float])
def test_redundant_rows_are_named_piece_by_piece(numbers):
    """Rows that the others imply, by construction: far away, touching in a corner, or written twice."""
    square = [((1, 0), 1), ((0, 1), 1), ((-1, 0), 0), ((0, -1), 0)]
    rows = [square[0], ((1, 1), 9), square[1], ((1, 1), 2), *square[2:], ((2, 0), 2)]
    A, b = [[list(map(numbers, a)) for a, _ in rows]], [[numbers(v) for _, v in rows]]
    (found,) = notes(CPWL.from_pieces(A, b, [[0, 0]], [0]), "redundant rows")
    assert (found.pieces, found.size) == ((0,), 3)
    assert "rows 1, 3 and 6 of piece 0" in found.message


def test_a_redundant_row_has_the_closest_point_as_witness():
    """The witness maximises the row over the piece: no corner does better."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1], [3, 2]]
    (found,) = notes(CPWL.from_pieces([square], [[1, 0, 1, 0, 7]], [[0, 0]], [0]), "redundant rows")
    best = max(3 * x + 2 * y for x, y in product((0, 1), repeat=2))
    assert 3 * found.point[0] + 2 * found.point[1] == best


def test_rows_that_bound_a_piece_are_not_redundant():
    """However little a row cuts off, of exact data."""
    tiny = Fraction(2) - Fraction(1, 10**30)
    square = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]]
    assert not notes(CPWL.from_pieces([square], [[1, 0, 1, 0, tiny]], [[0, 0]], [0]), "redundant rows")


def test_redundant_rows_in_many_dimensions_have_witnesses_of_full_length():
    """Pieces that depend on 3 of 30 directions are examined there, and the witness is lifted back."""
    p = random_shallow(30, 3, 0)
    A, b = [body.A.tolist() for body in p.polyhedra], [body.b.tolist() for body in p.polyhedra]
    A[2].append(A[2][0])
    b[2].append(b[2][0] + 1.0)
    (found,) = notes(CPWL.from_pieces(A, b, p.laws.gradient, p.laws.offset), "redundant rows")
    assert found.pieces == (2,)
    assert len(found.point) == 30


# --- laws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [abs_sum(2), along([1, 2], [0, 1, 3], [0, 1, -1, 2]), delaunay(2, 5, 0)])
def test_repeated_laws_are_counted(p):
    """Pieces cut up further: as many laws as before, counted by hand."""
    q = cut_up(p, cuts(2, 6, 1))
    laws = {tuple(map(tuple, law)) for law in q.laws.integer()}
    (found,) = notes(q, "repeated laws")
    assert found.message.startswith(f"{q.num_pieces} pieces but {len(laws)} law")
    assert found.size == q.num_pieces - len(laws)


def test_repeated_laws_of_a_table():
    """A table with a flat part; the pieces named follow one law."""
    p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [3, 3]])
    (found,) = notes(p, "repeated laws")
    assert found.message.startswith("4 pieces but 2 laws")
    assert len({tuple(p.laws.integer()[i].ravel()) for i in found.pieces}) == 1


def test_float_laws_within_the_tolerance_are_one():
    """How far they are apart is said."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[1.0], [1.0 + 2.0**-40]], [0.0, 0.0])
    (found,) = notes(p, "repeated laws")
    assert "2 pieces but 1 law:" in found.message
    assert f"up to {2.0**-40:.2g}" in found.message


def test_pieces_without_interior_have_no_law():
    """They are left out, and their laws are not counted."""
    p = CPWL.from_pieces([[[1]], [[-1]], [[1], [-1]]], [[0], [0], [0, 0]], [[-1], [1], [1]], [0, 0, 0])
    assert not notes(p, "repeated laws")


@pytest.mark.parametrize("p", [cut_up(abs_sum(2), cuts(2, 5, 0)), boxes([([0], [1]), ([1], [2])], [([1], 0)] * 2)])
def test_mergeable_pieces_are_counted(p):
    """The number of pieces that is promised is the one that `merge` keeps."""
    (found,) = notes(p, "mergeable pieces")
    assert found.message.startswith(f"{p.num_pieces} pieces could be {p.merge().num_pieces}")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "pieces", "laws"),
    [("mpc_double_integrator_27", 27, 5), ("mpc_double_integrator_83", 83, 9), ("mpqp_3d_55", 55, 27)],
)
def test_control_laws_have_few_laws(name, pieces, laws):
    """Explicit MPC in floats: healthy, and the numbers of laws that its makers know."""
    report = load(LAWS[name]).doctor()
    assert report.healthy
    (found,) = (f for f in report if f.kind == "repeated laws")
    assert found.message.startswith(f"{pieces} pieces but {laws} law")


# --- shapes and sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "least"), [(Fraction(1, 10**9), 2.99e9), (Fraction(1, 10**30), 1e15)])
def test_a_sliver_is_measured(width, least):
    """A box of length 3, much longer than wide; the size is the ratio, as far as floats can tell."""
    p = boxes([([0, 0], [1, 3]), ([1, 0], [1 + width, 3]), ([1 + width, 0], [2, 3])], [ZERO] * 3)
    (found,) = notes(p, "sliver")
    assert found.pieces == (1,)
    assert found.size > least
    assert abs(found.point[0] - 1) < 1e-6


def test_an_unbounded_strip_is_a_sliver_beside_wide_ones():
    """It is compared with the size of everything else."""
    knots = [0, 1, 1 + Fraction(1, 10**8), 2]
    (found,) = notes(along([1, 0], knots, [0, 1, 2, 3, 4]), "sliver")
    assert found.pieces == (2,)


def test_slivers_of_a_table():
    """The heights of a triangle tell: one of them is tiny."""
    points = [[0, 0], [1, 0], [Fraction(1, 2), Fraction(1, 10**9)], [Fraction(1, 2), 1]]
    p = CPWL.from_simplices(points, [[0, 1, 2], [0, 2, 3], [1, 3, 2]], [0, 1, 2, 3])
    (found,) = notes(p, "sliver")
    # The ball in a flat triangle with base 1 and height h is about h wide.
    assert found.pieces == (0,)
    assert found.size == pytest.approx(1e9, rel=0.1)


@pytest.mark.parametrize(("gap", "count"), [(Fraction(1, 10**8), 1), (Fraction(1, 10**5), 0), (0, 0)])
def test_nearly_parallel_facets(gap, count):
    """Facets on lines that differ by 1e-8 are worth a look, by 1e-5 or by nothing they are not."""
    p = CPWL.from_pieces(
        [[[1, 0], [0, 1]], [[1, gap], [0, -1]], [[-1, 0], [0, 1]], [[-1, -gap], [0, -1]]],
        [[0, 0]] * 4,
        [[0, 0]] * 4,
        [0] * 4,
    )
    assert p.doctor().healthy
    found = notes(p, "nearly parallel facets")
    assert [f.pieces for f in found] == [(0, 1)] * count
    assert all(f.size == pytest.approx(float(gap), rel=1e-3) for f in found)


def test_float_facets_within_the_tolerance_are_parallel():
    """They count as one hyperplane, and there is nothing to note."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[1.0], [-1.0 - 2.0**-45]], [[0.0], [1.0]], [0.0, -1.0])
    assert not notes(p, "nearly parallel facets")


def test_nearly_parallel_facets_of_a_table():
    """An edge that goes on in almost the same direction."""
    points = [[0, 0], [1, 0], [2, Fraction(1, 10**9)], [1, 1], [1, -1]]
    p = CPWL.from_simplices(points, [[0, 1, 3], [1, 2, 3], [0, 4, 1], [1, 4, 2]], [0, 1, 0, 2, 3])
    assert len(notes(p, "nearly parallel facets")) == 1


@pytest.mark.parametrize(
    ("p", "what", "size"),
    [
        (halves(law=(10**9, 0)), "slopes", 1e9),
        (along([1], [1, 10**9], [0, 1, 2]), "coordinates", 1e9),
        (halves(right=[((0, -1), 3), ((0, 10**10), 10**10)]), "sizes of rows", 1e10),
        (
            CPWL.from_pieces([[[10**9, 1]], [[-(10**9), -1]]], [[1], [-1]], [[0, 0], [10**9, 1]], [0, -1]),
            "weights",
            1e9,
        ),
        (CPWL.from_simplices([[0], [1e-12], [1]], [[0, 1], [1, 2]], [0, 1, 0]), "coordinates", 1e12),
    ],
    ids=["slopes", "coordinates", "rows", "inputs", "table"],
)
def test_numbers_that_are_far_apart(p, what, size):
    """More than eight digits between numbers of one kind are noted, with their ratio."""
    (found,) = (f for f in notes(p, "scale") if f.message.startswith(f"the {what}"))
    assert found.size == pytest.approx(size)


def test_rounding_noise_is_no_scale():
    """For float data what is below the tolerance is nothing: slopes of 1e-17 beside slopes of 1."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[1e-17], [1.0]], [0.0, 0.0])
    assert not notes(p, "scale")


@pytest.mark.parametrize(
    "p",
    [cut_up(delaunay(2, 9, 0), cuts(2, 6, 1)), cut_up(abs_sum(3), cuts(3, 3, 1)), cut_up(abs_sum(4), cuts(4, 1, 0))],
)
def test_exact_pieces_are_examined_without_linear_programs(p, monkeypatch):
    """Corners and the normal form say all, T-junctions or not: also which rows are redundant, and what merges."""
    monkeypatch.setattr(LinearProgram, "__init__", None)
    q = CPWL.from_pieces(
        [b.integer()[:, :-1] for b in p.polyhedra], [b.integer()[:, -1] for b in p.polyhedra], *laws(p)
    )
    assert {f.kind for f in q.doctor()} >= {"repeated laws", "mergeable pieces"}
    assert q.doctor().healthy


def laws(p):
    """Slopes and offsets as rationals."""
    rows = p.laws.integer()[:, 0]
    return [[Fraction(v, r[-1]) for v in r[:-2]] for r in rows], [Fraction(r[-2], r[-1]) for r in rows]


def test_a_large_table_is_noted_on_in_arrays():
    """Twenty thousand triangles; no note needs a linear program."""
    x = np.arange(101)
    p = CPWL.from_grid([x, x], np.add.outer(x, x) % 7)
    assert {f.kind for f in p.doctor()} == {"repeated laws"}
