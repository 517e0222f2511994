"""Merging pieces of one law: the same function to the last bit, in no more pieces than it needs to be cut into."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.geometry.facets import Facet, FacetCover, hyperplanes
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe
from cpwl.io.json import load
from shallow import random_shallow
from support.catalogue import function, names
from support.functions import abs_sum, boxes, delaunay, five_pieces, three_piece_cut
from support.laws import LAWS
from support.rational_pieces import along, cut_up, cuts, points_in_pieces, with_noise

EXACT = names(without="float")
PINWHEEL = [([1, 1], [2, 2]), ([0, 0], [2, 1]), ([2, 0], [3, 2]), ([1, 2], [3, 3]), ([0, 1], [1, 3])]


def fractions(points):
    return np.array([[Fraction(v) for v in x] for x in points], dtype=object)


def guillotine(low, high, depth, rng):
    """A box, cut in two again and again."""
    axis = int(rng.integers(2))
    if depth == 0 or high[axis] - low[axis] < 2:
        return [(low, high)]
    at = int(rng.integers(low[axis] + 1, high[axis]))
    middle_low, middle_high = list(low), list(high)
    middle_high[axis] = middle_low[axis] = at
    return guillotine(low, middle_high, depth - 1, rng) + guillotine(middle_low, high, depth - 1, rng)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", EXACT)
def test_values_stay_the_same(name):
    """At rational points of every piece, its boundary included, the value is the same rational."""
    p = function(name)
    x = fractions(x for _, x in points_in_pieces(p, 3, 0))
    assert (p.merge()(x) == p(x)).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", EXACT)
def test_the_domain_stays_the_same(name):
    """Points outside all pieces stay outside: those of a large box, exactly."""
    p = function(name)
    x = fractions(np.random.default_rng(0).integers(-50, 51, (20, p.dim)).tolist())
    assert ((p.merge()(x) == None) == (p(x) == None)).all()  # noqa: E711 - asked of every entry


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", names())
def test_merged_functions_are_healthy_and_keep_their_laws(name):
    """Nothing overlaps, nothing is missing, and no law is lost."""
    p = function(name)
    q = p.merge()
    assert q.doctor().healthy
    assert q.num_components == p.num_components
    assert q.num_components <= q.num_pieces <= p.num_pieces


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", names())
def test_what_is_merged_cannot_be_merged(name):
    """The second time nothing happens, and the same object comes back."""
    q = function(name).merge()
    assert q.merge() is q


@pytest.mark.parametrize("p", [abs_sum(1), abs_sum(3), five_pieces(), three_piece_cut(), delaunay(2, 12, 0)])
def test_nothing_to_merge_is_the_same_object(p):
    """Pieces with laws of their own, or whose unions are not convex."""
    assert p.merge() is p


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "p",
    [
        abs_sum(1),
        abs_sum(2),
        abs_sum(3),
        five_pieces(),
        delaunay(2, 5, 0),
        delaunay(3, 5, 0),
        random_shallow(2, 3, 0),
        along([1, 1], [0, 1], [0, 1, 3]),
    ],
    ids=["line", "plane", "space", "five", "triangles", "tetrahedra", "shallow", "strips"],
)
def test_cuts_are_undone(p, seed):
    """Pieces cut at random by hyperplanes come back: there are no more than there were."""
    q = cut_up(p, cuts(p.dim, 7, seed))
    assert q.merge().num_pieces <= p.num_pieces < q.num_pieces


def test_cuts_are_undone_in_many_dimensions():
    """Of 25 inputs only the directions that matter are looked at."""
    p = random_shallow(25, 3, 0)
    assert cut_up(p, cuts(25, 4, 0)).merge().num_pieces <= p.num_pieces


@pytest.mark.parametrize("seed", range(3))
def test_cuts_with_noise_are_undone(seed):
    """Float data whose every number is off by 1e-13."""
    p = five_pieces()
    q = with_noise(cut_up(p, cuts(2, 6, seed)), 1e-13, seed)
    assert q.merge().num_pieces <= p.num_pieces


def test_a_pinwheel_is_merged_though_no_two_of_its_boxes_can_be():
    """Two boxes have a convex union iff they share a side; here none do, but all five are a square."""
    corners = [{(x, y) for x in (low[0], high[0]) for y in (low[1], high[1])} for low, high in PINWHEEL]
    assert all(len(one & two) < 2 for one, two in combinations(corners, 2))
    p = boxes(PINWHEEL, [([1, 2], 3)] * 5)
    assert p.merge().num_pieces == 1


@pytest.mark.parametrize("seed", range(4))
def test_boxes_on_two_sides_of_a_crease(seed):
    """max(0, x - 4) on a square that was cut into boxes: what is left are its two halves."""
    rng = np.random.default_rng(seed)
    left, right = guillotine([0, 0], [4, 8], 4, rng), guillotine([4, 0], [8, 8], 4, rng)
    p = boxes(left + right, [([0, 0], 0)] * len(left) + [([1, 0], -4)] * len(right))
    q = p.merge()
    assert q.num_pieces == 2
    assert sorted(map(len, (body.b for body in q.polyhedra))) == [4, 4]


def test_a_region_that_is_not_convex_keeps_a_cut():
    """min(relu(x - 1), relu(y - 1)) is 0 on an L of three squares: that is two pieces, not three and not one."""
    squares = [([0, 0], [1, 1]), ([1, 0], [2, 1]), ([0, 1], [1, 2])]
    box = [[1, 0], [0, 1], [-1, 0], [0, -1]]
    A = [box, box, box, [[1, 0], [0, -1], [-1, 1]], [[0, 1], [-1, 0], [1, -1]]]
    b = [[*high, -low[0], -low[1]] for low, high in squares] + [[2, -1, 0], [2, -1, 0]]
    p = CPWL.from_pieces(A, b, [[0, 0], [0, 0], [0, 0], [0, 1], [1, 0]], [0, 0, 0, -1, -1])
    q = p.merge()
    assert q.doctor().healthy
    assert q.num_pieces == 4


def test_a_constant_table_is_its_hull():
    """Random triangles with one value become one piece, which is no table any more."""
    p = delaunay(2, 30, 0)
    q = CPWL.from_simplices(p.mesh.points, p.mesh.simplices, np.ones(30)).merge()
    assert (q.num_pieces, q.mesh) == (1, None)
    assert not np.isnan(q(p.mesh.points)).any()


def test_a_table_with_a_hanging_node():
    """Two small triangles become one first, and that one and the large one next."""
    points = [[0, 0], [2, 0], [1, 1], [1, 0], [1, -1]]
    p = CPWL.from_simplices(points, [[0, 1, 2], [0, 3, 4], [3, 1, 4]], [0, 2, 1, 1, 1])
    assert p.merge().num_pieces == 1


def test_all_outputs_must_agree():
    """Two pieces share the law of one output only: they stay two."""
    p = CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [[[1], [0]], [[1], [2]]], [[0, 0], [0, 0]])
    assert p.merge() is p


def test_pieces_without_interior_are_left_alone():
    """A flat piece has nothing that could be merged."""
    A = [[[1]], [[-1], [1]], [[-1]], [[1], [-1]]]
    p = CPWL.from_pieces(A, [[0], [0, 1], [-1], [5, -5]], [[2]] * 4, [0] * 4)
    q = p.merge()
    assert [len(body.b) for body in q.polyhedra] == [0, 2]


def test_pieces_that_touch_in_a_corner_are_no_neighbours():
    """Two quadrants with one law on the two sides of both axes."""
    p = CPWL.from_pieces(
        [[[-1, 0], [0, -1]], [[1, 0], [0, 1]], [[1, 0], [0, -1]], [[-1, 0], [0, 1]]],
        [[0, 0]] * 4,
        [[0, 0], [0, 0], [1, 0], [0, 1]],
        [0] * 4,
    )
    assert p.merge() is p


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["mpc_double_integrator_27", "mpc_double_integrator_83"])
def test_control_laws_are_merged(name):
    """Fewer pieces, and the same values to rounding at random points of the domain."""
    p = load(LAWS[name])
    q = p.merge()
    assert q.num_pieces < p.num_pieces
    x = np.random.default_rng(0).uniform(-10, 10, (5000, 2))
    np.testing.assert_allclose(q(x), p(x), rtol=0, atol=1e-12)


def test_a_control_law_with_convex_regions_has_a_piece_a_law():
    """The saturated regions of this one are convex: 27 pieces with 5 laws are 5 pieces."""
    p = load(LAWS["mpc_double_integrator_27"])
    assert p.merge().num_pieces == p.num_components == 5


def test_corners_decide_where_exact_pieces_end(monkeypatch):
    """A step of unit squares with one law, which is not convex: no linear program asks whether a row bounds a piece."""
    squares = [([i, j], [i + 1, j + 1]) for i in range(3) for j in range(3 - i)]
    p = boxes(squares, [([0, 0], 0)] * len(squares))
    monkeypatch.setattr(Probe, "bounds", lambda *_: pytest.fail("a linear program was asked"))
    q = p.merge()
    assert q.num_pieces == 3
    middles = np.array([[i + 0.5, j + 0.5] for i in range(4) for j in range(4)])
    held = sum((middles @ body.A.T <= body.b).all(axis=1).astype(int) for body in q.polyhedra)
    assert held.reshape(4, 4).tolist() == [[int(i + j < 3) for j in range(4)] for i in range(4)]


def test_a_union_that_contains_a_line_is_not_merged_further_than_it_is_convex():
    """Three wedges of law -1, around two that bend, are cut across a line: no piece contains it, but unions do."""
    u, w, t = (1, 0), (0, 1), (3, -1)  # forms over the plane; t = 3 u - w
    pieces = {
        ((w, 1, -1), (u, -1, -2)): (0, 0, -19),
        ((w, 1, -1), (u, 1, 1)): (0, 0, -1),
        ((w, 1, -1), (u, 1, 2), (u, -1, -1)): (-18, 0, 17),
        ((u, -1, -2), (w, -1, -2)): (0, 0, -1),
        ((w, -1, 1), (u, -1, -2), (w, 1, 2)): (0, 6, -13),
        ((w, -1, 1), (u, 1, 2), (t, 1, 4)): (0, 0, -1),
        ((w, -1, 1), (u, 1, 2), (t, -1, -4)): (-18, 6, 23),
    }
    into, across = np.array([[-1, 1, -2], [-2, 1, -3]]), np.array([1, 2, -2])
    cut = [(rows, law, s) for rows, law in pieces.items() for s in (1, -1)]
    p = CPWL.from_pieces(
        [[*((np.array(form) * sense @ into).tolist() for form, sense, _ in rows), s * across] for rows, _, s in cut],
        [[*(right for *_, right in rows), 0] for rows, _, _ in cut],
        [np.array(law[:2]) @ into for _, law, _ in cut],
        [law[2] for _, law, _ in cut],
    )
    q = p.merge()
    assert p.doctor().healthy
    assert q.doctor().healthy
    assert q.num_pieces == len(pieces)


@pytest.mark.parametrize("seed", range(8))
def test_known_places_of_facets_change_no_answer(seed):
    """Which facets of boxes are covered, and which touch, is the same with and without the corners of the boxes."""
    draw = np.random.default_rng(seed)
    low = np.concatenate([np.column_stack([side * np.ones(6), draw.integers(0, 3, (6, 2))]) for side in (-1, 0)])
    high = low + np.column_stack([np.ones(12), draw.integers(1, 4, (12, 2))])
    unit = np.concatenate([np.eye(3), -np.eye(3)])
    stack = Polyhedra.from_lists([unit] * 12, np.concatenate([high, -low], axis=1).tolist()).exactly()
    cover, spans = FacetCover(stack, hyperplanes(stack, 0.0), Probe(0.0)), generators(stack)
    right = list(range(6, 12))
    for i in range(6):
        middle = fractions([[0, *(low[i, 1:] + high[i, 1:]) / 2]])[0]
        asked, shown = (Facet(i, 6 * i, middle, places) for places in (None, spans.places[spans.of_piece(i)]))
        assert [cover.touches(asked, j) for j in right] == [cover.touches(shown, j) for j in right]
        for some in (right, right[:3], right[:1]):
            assert (cover.uncovered(asked, some) is None) == (cover.uncovered(shown, some) is None)


@pytest.mark.parametrize("inputs", [2, 3])
def test_a_table_merges_as_its_pieces_do(inputs):
    """Also where only some simplices have a neighbour of their law: the same function, in as many pieces."""
    steps = sum(np.meshgrid(*[range(6)] * inputs, indexing="ij"))
    p = CPWL.from_grid([range(6)] * inputs, np.clip(steps**2 - 7 * steps, -9, 5))
    rows = [body.integer() for body in p.polyhedra]
    laws = p.laws.rational()[:, 0]
    q = CPWL.from_pieces([r[:, :-1] for r in rows], [r[:, -1] for r in rows], laws[:, :-1], laws[:, -1])
    assert p.merge() == p
    assert p.merge().num_pieces == q.merge().num_pieces < p.num_pieces
