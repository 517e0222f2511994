"""What float data leaves undetermined: the largest difference of two pieces at a point that both have."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial import Delaunay

from cpwl import CPWL, CpwlWarning, compile
from cpwl.documents.write import function_document
from cpwl.function.jump import largest_jump
from cpwl_check.cones import dot, piece_cone
from cpwl_check.pieces import read_function
from support.functions import five_pieces
from support.rational_pieces import piece_data
from support.twins import VARIANTS, catalogue_twin, twin


def triangulated(n, points, seed):
    """A random table on a triangulated box, exact."""
    rng = np.random.default_rng(seed)
    corners = np.array(np.meshgrid(*[[0, 1000]] * n)).reshape(n, -1).T
    places = np.unique(np.vstack([corners, rng.integers(0, 1000, (points, n))]), axis=0)
    cells = Delaunay(places).simplices
    solid = np.abs(np.linalg.det((places[cells][:, 1:] - places[cells][:, :1]) / 1000)) > 1e-12
    values = [Fraction(int(v), 100) for v in rng.integers(-100, 100, len(places))]
    return CPWL.from_simplices([[int(v) for v in x] for x in places], cells[solid], values)


def slowly(p):
    """The same over all pairs, their overlaps by double description in the stand-alone checker."""
    law = read_function(function_document(p))
    cones = [piece_cone(piece, law.n) for piece in law.pieces]
    worst = Fraction(0)
    for (i, one), (j, two) in combinations(enumerate(law.pieces), 2):
        shared = cones[i]
        for row, _ in two.rows.values():
            shared = shared.cut(row)
        for g, _ in shared.rays:
            for (f, d), (h, e) in zip(one.laws, law.pieces[j].laws, strict=True):
                if g[-1]:
                    off = Fraction(dot(f, g), d * g[-1]) - Fraction(dot(h, g), e * g[-1])
                    worst = max(worst, abs(off))
    return worst


@pytest.mark.parametrize("noise", [1e-13, 1e-9])
@pytest.mark.parametrize(("n", "points"), [(2, 12), (3, 3)])
def test_it_is_the_largest_of_all_pairs(n, points, noise):
    """Floats propose the pairs; the jump is that of all overlaps, exactly."""
    p = twin(triangulated(n, points, 1), noise, 2).function()
    assert largest_jump(p).size == slowly(p) > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_witness_is_a_point_of_both_pieces(variant):
    """In rationals, with the laws of the data: rows in any order, repeated, far, several outputs."""
    _, data = catalogue_twin("star_fan", variant, 1e-12)
    p = data.function()
    found = largest_jump(p)
    values = []
    for i in found.pieces:
        piece = piece_data(p)[i]
        x = [*found.where, Fraction(1)]
        assert all(sum(a * v for a, v in zip(row[:-1], x, strict=False)) <= row[-1] for row in piece.rows)
        values.append(sum(a * v for a, v in zip(piece.laws[found.output], x, strict=True)))
    assert abs(values[0] - values[1]) == found.size == 2 * found.unavoidable > 0


def test_exact_data_has_none():
    """Tables and exact pieces say one thing at every point."""
    assert largest_jump(five_pieces()) is None
    assert largest_jump(triangulated(2, 5, 0)) is None
    assert compile(five_pieces()).unavoidable is None


def test_snapping_reports_it():
    """What was moved, and what nothing can undo."""
    p = twin(triangulated(2, 12, 1), 1e-12, 0).function()
    found = p.snap()
    assert found.jump == largest_jump(p)
    assert f"no function is within {float(found.jump.unavoidable):.2g}" in str(found)


def test_what_is_unavoidable_does_not_make_auto_take_a_larger_network():
    """Noise that no function is near enough to: the exact function nearby will do, unless an error is asked for."""
    p = triangulated(2, 30, 2)
    data = twin(p, 1e-10, 0).function(tol=1e-7)
    with pytest.warns(CpwlWarning, match="every continuous function has an error"):
        made = compile(data)
    asked = compile(data, max_error=1e-9)
    assert made.measured > 1e-9 >= asked.measured, "the noise is too small for this test"
    assert made.sizes.neurons <= 1.05 * compile(p).sizes.neurons < asked.sizes.neurons
    assert float(made.unavoidable) > 0
