"""Exact functions near float twins of exact ones: sound by another decision, near, and no larger than the truth."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from bench_functions import noisy, rational_delaunay
from cpwl import CPWL
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.jump import largest_jump
from cpwl.function.snap.complex import Face, float_complex
from cpwl.function.snap.nearby import WAYS, Work
from cpwl.function.snap.relations import relations_of
from shallow import random_shallow
from support.catalogue import function, names
from support.functions import delaunay, five_pieces
from support.rational_pieces import PieceData, cut_up, cuts, from_data, piece_data, points_in_pieces, random_maxmin
from support.twins import boxed, has_interior, twin, with_outputs

TWINS = {
    "triangles": lambda: delaunay(2, 40, 3),
    "tetrahedra": lambda: delaunay(3, 10, 3),
    "four inputs": lambda: delaunay(4, 8, 3),
    "triangles cut up": lambda: cut_up(delaunay(2, 12, 4), cuts(2, 20, 3)),
    "five pieces cut up": lambda: cut_up(five_pieces(), cuts(2, 12, 1)),
    "crossing lines": lambda: random_shallow(2, 6, 1),
    "crossing planes": lambda: random_shallow(3, 4, 1),
    "maxmin": lambda: random_maxmin(2, 5, 3, 3, 4),
    "nested squares": lambda: function("nested_squares_in_a_box"),
    "a table cut up": lambda: function("table_cut_up"),
}


def as_pieces(p):
    return from_data(piece_data(p))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("noise", [1e-15, 1e-13, 1e-12])
@pytest.mark.parametrize("name", sorted(TWINS))
def test_twins_come_back_exact_near_and_as_small(name, noise):
    """Sound by linear programs in rationals; within 1e-9 of the truth; no more laws than it."""
    p = as_pieces(TWINS[name]())
    found = twin(p, noise, 0).function().snap(1e-9)
    q = found.function
    assert q is not None, found.reason
    assert found.way in ("laws", "simplices")
    assert found.patches == 0
    assert q.num_components <= p.num_components
    assert not any(f.severity == "error" for f in PieceDoctor(replace(q, mesh=None)).findings())
    x = np.array([[float(v) for v in point] for _, point in points_in_pieces(p, 2, 0)])
    x = x[np.abs(x).max(axis=1) < 100]
    both = ~np.isnan(q(x)) & ~np.isnan(p(x))
    assert both.any()
    scale = np.abs(p.laws.gradient).sum(axis=2).max() * 100 + np.abs(p.laws.offset).max()
    assert np.abs(q(x) - p(x))[both].max() <= 1e-9 * scale


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "outputs"),
    [("triangles", 2), ("triangles", 3), ("crossing lines", 2), ("maxmin", 2), ("nested squares", 2)],
)
def test_several_outputs_bend_in_the_same_places(name, outputs):
    """Outputs that bend alike, and for triangles one that is 0 but for rounding: one exact complex for all."""
    p = as_pieces(TWINS[name]())
    found = twin(with_outputs(p, outputs), 1e-13, 0).function().snap(1e-9)
    assert found.function is not None, found.reason
    assert found.function.outputs == outputs
    assert not any(f.severity == "error" for f in PieceDoctor(replace(found.function, mesh=None)).findings())


def grid(x, y, seed):
    return as_pieces(CPWL.from_grid([x, y], np.random.default_rng(seed).integers(-9, 9, (3, 3))))


def two_functions(one, two):
    """Two exact functions of one domain as the outputs of one, on the intersections of their pieces."""
    pieces = [
        PieceData((*a.rows, *b.rows), (*a.laws, *b.laws))
        for a in piece_data(one)
        for b in piece_data(two)
        if has_interior(PieceData((*a.rows, *b.rows), a.laws), one.dim)
    ]
    return from_data(pieces)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("noise", [1e-15, 1e-13])
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (lambda: random_shallow(2, 3, 1), lambda: random_maxmin(2, 4, 3, 3, 4)),
        (lambda: grid([0, 1, 2], [0, 1, 2], 0), lambda: grid([0, Fraction(2, 3), 2], [0, Fraction(5, 4), 2], 1)),
    ],
    ids=["hinges and a maxmin", "two tables"],
)
def test_outputs_may_bend_in_different_places(one, two, noise):
    """Each output is exact with the laws it has, and the common refinement is exactly consistent."""
    p = two_functions(one(), two())
    found = twin(p, noise, 0).function().snap(1e-9)
    q = found.function
    assert q is not None, found.reason
    assert q.outputs == 2
    assert max(found.moved.value, found.moved.facet) < 1e-9
    assert not any(f.severity == "error" for f in PieceDoctor(q).findings())
    for j, part in enumerate((one(), two())):
        assert len({tuple(law) for law in q.laws.integer()[:, j].tolist()}) <= part.num_components
    x = np.array([[float(v) for v in point] for _, point in points_in_pieces(p, 1, 0)])
    x = x[np.abs(x).max(axis=1) < 100]
    assert np.nanmax(np.abs(q(x) - p(x))) < 1e-7


@pytest.mark.parametrize("scales", [(1e-6, 1e6), (1e3, 1e-3)])
@pytest.mark.parametrize("name", ["crossing lines", "maxmin", "nested squares"])
def test_uneven_scales_are_snapped_or_refused_clearly(name, scales):
    """One axis a million million times as long as the other: an exact function, or a sentence that says why not."""
    p = as_pieces(TWINS[name]())
    data = twin(p, 1e-14, 0)
    stretched = CPWL.from_pieces(
        [A / np.array(scales) for A in data.A], data.b, data.gradient / np.array(scales), data.offset
    )
    found = stretched.snap(1e-9)
    if found.function is None:
        assert len(found.reason) > 20
    else:
        # Looked at in even coordinates, exactly: linear programs in floats cannot see both axes at once.
        factors = [*map(Fraction, scales), Fraction(1)]
        even = from_data([scaled(piece, factors) for piece in piece_data(found.function)])
        assert not any(f.severity == "error" for f in PieceDoctor(even).findings())
        assert even.num_components <= p.num_components


def scaled(piece, factors):
    """The piece in other units: rows and laws with their columns multiplied."""
    rows, laws = (
        tuple(tuple(x * s for x, s in zip(row, factors, strict=True)) for row in some)
        for some in (piece.rows, piece.laws)
    )
    return PieceData(rows, laws)


@pytest.mark.parametrize("bounded", [True, False])
def test_pieces_that_meet_in_the_middle_of_facets(bounded):
    """T-junctions: a region of one law cut across, so that corners of one piece are inside facets of others."""
    p = cut_up(random_shallow(2, 4, 2), cuts(2, 6, 5))
    p = boxed(p) if bounded else as_pieces(p)
    found = twin(p, 1e-13, 0, shuffle=True, repeat=True).function().snap(1e-9)
    assert found.function is not None, found.reason
    assert found.way == "laws"
    assert found.function.num_components <= p.num_components
    assert not any(f.severity == "error" for f in PieceDoctor(found.function).findings())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [n for n in names(without="float") if 2 <= function(n).dim <= 3][::3])
def test_whatever_comes_back_is_exactly_consistent(name):
    """Every kind of function with shuffled, repeated and redundant rows: a reason, or a sound function."""
    p = function(name)
    found = twin(p, 1e-12, 0, shuffle=True, repeat=True, far=1e6).function().snap(1e-9)
    if found.function is None:
        assert found.reason
    else:
        assert not any(f.severity == "error" for f in PieceDoctor(replace(found.function, mesh=None)).findings())


def test_what_was_done_is_told():
    """How many laws and facets moved, how far, where; nothing moved where nothing was off."""
    found = twin(as_pieces(delaunay(2, 12, 0)), 1e-13, 0).function().snap(1e-9)
    assert found.way == "simplices"
    assert found.laws > 0
    assert found.facets > 0
    assert 0 < found.moved.value < 1e-11
    assert found.where is not None
    assert "laws moved" in str(found)
    assert "nothing was moved" in str(five_pieces().snap())


def test_a_domain_that_was_asserted_is_kept():
    """Noise in all rows, but the square that was given is exactly the domain of the result."""
    p = as_pieces(delaunay(2, 8, 0))
    square = from_data(piece_data(function("table_cut_up")))
    data = twin(square, 1e-13, 0).function()
    corners = float_complex(data.polyhedra, 1e-9).vertices
    low, high = np.round(corners.min(axis=0), 6), np.round(corners.max(axis=0), 6)
    domain = (np.vstack([np.eye(2), -np.eye(2)]), np.concatenate([high, -low]))
    bodies = list(data.polyhedra)
    asserted = CPWL.from_pieces(
        [body.A for body in bodies], [body.b for body in bodies], data.laws.gradient, data.laws.offset, domain=domain
    )
    found = asserted.snap(1e-9)
    assert found.function is not None, found.reason
    assert found.function.domain is asserted.domain
    assert p.num_pieces > 0


def test_the_domain_holds_the_data():
    """Every corner of every noisy piece is a point of the exact function."""
    data = twin(as_pieces(delaunay(2, 30, 1)), 1e-13, 3).function()
    complex_ = float_complex(data.polyhedra, 1e-9)
    assert not np.isnan(data.snap(1e-9).function(complex_.corners)).any()


def face(*laws):
    return Face(np.zeros(2), (0,), laws, True)


def test_relations_are_read_off_the_laws_around_a_face():
    """Two hinges that cross; a hinge whose slope changes where another one is; four laws in one pencil."""
    cross = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    straight = np.array([[0.0, 0, 0], [1, 0, 0], [3, 1, 0], [0, 1, 0]])
    pencil = np.array([[0.0, 0, 0], [1, 0, 0], [2, 1, 0], [-1, 3, 0]])
    kinds = [
        [r.kind for r in relations_of(laws, [face(0, 1, 2, 3)], [], np.ones(3), 1e-9)]
        for laws in (cross, straight, pencil)
    ]
    assert kinds == [["cross"], ["straight"], ["pencil"]]
    assert relations_of(cross, [face(0, 1, 2)], [], np.ones(3), 1e-9) == []


def test_tips_of_slivers_do_not_stretch_the_boundary():
    """Slivers along the boundary stick out far, where others are steep: the table stays about as near as it can be.

    Half of the largest jump is what no function avoids; the domain holds the tips where that costs a few times as much.
    """
    p = rational_delaunay(500, 1)
    found = noisy(p).snap().function
    x = np.random.default_rng(0).uniform(1e-6, 1 - 1e-6, (2000, 2))
    x = np.concatenate([x, x[:500] * [1, 0] + [0, 1 - 1e-6], x[500:1000] * [0, 1] + [1 - 1e-6, 0]])
    assert np.abs(found(x) - p(x)).max() < 5 * float(largest_jump(noisy(p)).unavoidable)


@pytest.mark.parametrize("n", [2, 3])
def test_pieces_that_are_cut_up_count_as_moved(n):
    """Noise on boxes side by side: triangles move their laws, and the report says by how much, and of how many."""
    rows = [*np.eye(n), *-np.eye(n)]
    sides = [[1.0] + [1.0] * (n - 1) + [0.0] * n, [2.0] + [1.0] * (n - 1) + [-1.0] + [0.0] * (n - 1)]
    slopes = [[0.1 + 1e-13] + [0.3] * (n - 1), [1.1] + [0.3 - 1e-13] * (n - 1)]
    p = CPWL.from_pieces([rows, rows], sides, slopes, [0.0, -1.0])
    near = WAYS["triangles"](Work(p))
    assert near.laws == 2
    assert near.patches == 2
    assert 1e-15 < near.moved.value < 1e-12
