"""Cancellation of flags decides as the exact doctor does with linear programs, on sound data and on corrupted."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.examine import examine
from cpwl.function.flags import Consistency, consistency
from shallow import random_shallow
from support.catalogue import function, names
from support.functions import abs_sum, boxes, delaunay, five_pieces, three_piece_cut
from support.rational_pieces import PieceData, along, cut_up, cuts, from_data, piece_data, random_maxmin

EXACT = [name for name in names(without="float") if 2 <= function(name).dim <= 4 and function(name).num_pieces <= 60]

MORE = {
    "T-junctions": lambda: cut_up(five_pieces(), cuts(2, 8, 1)),
    "T-junctions of triangles": lambda: cut_up(delaunay(2, 8, 2), cuts(2, 9, 1)),
    "T-junctions in space": lambda: cut_up(delaunay(3, 6, 1), cuts(3, 6, 1)),
    "T-junctions of cones": lambda: cut_up(abs_sum(3), cuts(3, 5, 2)),
    "pieces with lines": lambda: cut_up(along([1, 2, 0], [0, 1], [0, 1, 3]), cuts(3, 3, 0)),
    "maxmin on the plane": lambda: random_maxmin(2, 5, 3, 3, 0),
    "maxmin on space": lambda: random_maxmin(3, 4, 2, 3, 1),
    "hinges on space": lambda: random_shallow(3, 3, 0),
    "hinges on R^4": lambda: random_shallow(4, 4, 0),
    "half-spaces": lambda: along([1, -1, 2], [0], [0, 1]),
}


def sound(p):
    """The exact doctor, without its shortcuts: no errors, and no overlaps either.

    Where the normal form says which hyperplanes to look at, the same kinds of errors are found.
    """
    findings, quick = (PieceDoctor(replace(p, mesh=None), form=form).findings() for form in (False, True))
    kinds = [{f.kind for f in found if f.severity == "error" or f.kind == "overlap"} for found in (findings, quick)]
    assert kinds[0] == kinds[1]
    return not kinds[0]


def as_pieces(name):
    p = function(name) if name in EXACT else MORE[name]()
    return from_data(piece_data(p))


def corrupted(p, seed):
    """The function with one thing wrong, or nothing: a law, a row, a piece too few or too many."""
    rng = np.random.default_rng(seed)
    pieces = piece_data(p)
    i = int(rng.integers(len(pieces)))
    rows, laws = [list(r) for r in pieces[i].rows], [list(f) for f in pieces[i].laws]
    kind = seed % 5
    tiny = Fraction(1, 10**30)
    if kind == 0:
        laws[-1][int(rng.integers(p.dim + 1))] += tiny
    elif kind == 1 and rows:
        rows[int(rng.integers(len(rows)))][-1] += tiny
    elif kind == 2 and rows:
        rows[int(rng.integers(len(rows)))][int(rng.integers(p.dim))] += tiny
    pieces[i] = PieceData(tuple(map(tuple, rows)), tuple(map(tuple, laws)))
    if kind == 3 and len(pieces) > 1:
        pieces.pop(i)
    if kind == 4:
        pieces.append(pieces[i])
    return from_data([PieceData(piece.rows, piece.laws) for piece in pieces])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", [*EXACT, *MORE])
def test_sound_functions_are_consistent(name):
    """What the doctor finds nothing wrong with, flags prove."""
    p = as_pieces(name)
    assert consistency(p).consistent is sound(p)


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", [*EXACT[::8], *(pytest.param(n, marks=pytest.mark.slow) for n in EXACT[4::8]), *MORE])
@pytest.mark.parametrize("seed", range(5))
def test_corrupted_functions_are_not(name, seed):
    """A change of 1e-30, a piece too few or too many: flags and linear programs say the same."""
    p = corrupted(as_pieces(name), seed)
    found = consistency(p)
    assert found.consistent is sound(p)
    assert bool(found.reason) is not found.consistent


def test_several_outputs_are_compared_together():
    """Each output is continuous or not by itself; one that jumps is enough."""
    A, b = [[[1, 0]], [[-1, 0]]], [[0], [0]]
    good = CPWL.from_pieces(A, b, [[[0, 1], [1, 1]], [[2, 1], [1, 1]]], [[0, 0], [0, 0]])
    bad = CPWL.from_pieces(A, b, [[[0, 1], [1, 1]], [[2, 1], [1, 1]]], [[0, 0], [0, 1]])
    assert consistency(good).consistent
    assert not consistency(bad).consistent


def test_integers_and_dyadic_numbers_in_floats_are_exact():
    """Float arrays with such numbers are what they say, with whatever tolerance."""
    for p in (three_piece_cut(), five_pieces(), random_maxmin(2, 5, 3, 3, 0)):
        rows = [body.integer().astype(np.float64) for body in p.polyhedra]
        laws = p.laws
        floats = CPWL.from_pieces([r[:, :-1] for r in rows], [r[:, -1] for r in rows], laws.gradient, laws.offset)
        assert floats.tol > 0
        assert consistency(floats).consistent


def test_a_whole_plane_at_infinity_is_noticed():
    """On R^3 a jump along a whole plane has no flag of its own: every flat in it is covered evenly."""
    A, b = [[[1, 0, 0]], [[-1, 0, 0]]], [[0], [0]]
    p = CPWL.from_pieces(A, b, [[0, 0, 0], [0, 0, 0]], [0, 1])
    assert not consistency(p).consistent
    parts = cut_up(p, [[0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 2, 1], [0, 1, 3], [0, -1, 1]])
    assert not consistency(parts).consistent
    assert not sound(parts)


def test_a_domain_that_was_asserted_must_be_covered():
    """As large as the pieces: consistent; larger or smaller: not."""
    squares = boxes([([0, 0], [1, 1]), ([1, 0], [2, 1])], [([0, 0], 0), ([1, 0], -1)])
    pieces = [[body.A, body.b] for body in squares.polyhedra]

    def on(width):
        domain = ([[1, 0], [-1, 0], [0, 1], [0, -1]], [width, 0, 1, 0])
        made = CPWL.from_pieces(*zip(*pieces, strict=True), [[0, 0], [1, 0]], [0, -1], domain=domain)
        return replace(made, tol=0.0)

    for width, expected in ((2, True), (3, False), (1, False)):
        assert consistency(on(width)).consistent is expected
        assert examine(on(width)).healthy is expected


def test_a_ring_is_not_convex():
    """Pieces around a hole: every facet inside has its twin, but the hole's hyperplanes have pieces on both sides."""
    p = boxes([([0, 0], [2, 1]), ([2, 0], [3, 2]), ([1, 2], [3, 3]), ([0, 1], [1, 3])], [([0, 0], 0)] * 4)
    assert not consistency(p).consistent


def test_flat_and_empty_pieces_do_not_count():
    """They have no flags."""
    p = from_data([*piece_data(abs_sum(2)), PieceData(((1, 0, 0), (-1, 0, 0)), ((5, 5, 5),))])
    q = from_data([*piece_data(abs_sum(2)), PieceData(((1, 0, 0), (-1, 0, -1), (0, 1, 0)), ((5, 5, 5),))])
    assert consistency(p) == consistency(q) == Consistency(True, "", (4,))
    assert [f.kind for f in examine(p, notes=False)] == ["flat piece"]
    assert [f.kind for f in examine(q, notes=False)] == ["empty piece"]


def test_facets_that_cover_a_plane_do_not_cancel_among_themselves():
    """Eight octants, 0 on one side of a plane and 1 on the other (docs/theory/flags.md): ends of planes tell."""
    signs = [(x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)]
    A = [[[-x, 0, 0], [0, -y, 0], [0, 0, -z]] for x, y, z in signs]
    p = CPWL.from_pieces(A, [[0] * 3] * 8, [[0] * 3] * 8, [int(x < 0) for x, *_ in signs])
    assert consistency(p).consistent is False
    assert consistency(CPWL.from_pieces(A, [[0] * 3] * 8, [[0] * 3] * 8, [0] * 8)).consistent is True
