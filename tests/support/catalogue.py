"""The catalogue: small functions of every kind, degenerate ones among them, on which everything is tested.

`CASES` has one `Case` a function; data without the tag "float" is exact, and must be proved exactly. Other tags:
"bounded", if all pieces are; "cut", if pieces are cut up further than they need be; "wrong", if Algorithm 1 fails on
it; "unbounded noise", if float data disagrees by more and more towards infinity, so that no bound holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from cpwl import CPWL, Compiled, ConstructionError, Network, compile, extract
from cpwl.io.json import load
from shallow import from_hidden_layer, random_shallow
from support.functions import abs_sum, boxes, delaunay, five_pieces, three_piece_cut
from support.rational_pieces import (
    PieceData,
    along,
    cut_up,
    cuts,
    fan,
    from_data,
    polygon_corners,
    random_maxmin,
    rings,
    with_noise,
)

__all__ = ["BY_NAME", "CASES", "SOLE", "Case", "compiled", "function", "names"]


@dataclass(frozen=True, slots=True)
class Case:
    """A function with a name, made anew by `make`."""

    name: str
    make: Callable[[], CPWL]
    tags: frozenset[str]


_MADE: list[Case] = []

PINWHEEL = [([1, 1], [2, 2]), ([0, 0], [2, 1]), ([2, 0], [3, 2]), ([1, 2], [3, 3]), ([0, 1], [1, 3])]


def case(*tags: str) -> Callable[[Callable[[], CPWL]], Callable[[], CPWL]]:
    """Puts the function that it decorates into the catalogue."""

    def put(make: Callable[[], CPWL]) -> Callable[[], CPWL]:
        _MADE.append(Case(make.__name__, make, frozenset(tags)))
        return make

    return put


def names(*tags: str, without: str = "") -> list[str]:
    """The names of the cases that have all these tags, and not the other one."""
    return [each.name for each in CASES if each.tags.issuperset(tags) and without not in each.tags]


@cache
def function(name: str) -> CPWL:
    """The function of that name, made once."""
    return BY_NAME[name].make()


@cache
def compiled(name: str, construction: str) -> Compiled | None:
    """What a construction makes of a case, made once; None where it does not apply, or Algorithm 1 is wrong."""
    try:
        # That nothing is wrong with the function is tested apart; Algorithm 1 must have its rows tested.
        checked = construction in ("auto", "paper")
        return compile(function(name), construction=construction, check=checked, precision="exact")
    except ConstructionError:
        assert construction not in ("auto", "lattice")
        return None


# --- one piece ----------------------------------------------------------------------------------------------------


@case()
def affine_line() -> CPWL:
    return CPWL.from_pieces([np.zeros((0, 1), dtype=int)], [[]], [[2]], [-1])


@case()
def affine_space() -> CPWL:
    return CPWL.from_pieces([[[0, 0, 0]]], [[0]], [["1/3", -2, "5/7"]], ["-1/11"])


@case()
def constant() -> CPWL:
    return CPWL.from_pieces([[[0, 0]]], [[1]], [[0, 0]], [5])


@case()
def zero() -> CPWL:
    return CPWL.from_pieces([[[0, 0]]], [[0]], [[0, 0]], [0])


@case("bounded")
def one_box() -> CPWL:
    return boxes([([0, Fraction(-1, 3)], [1, Fraction(1, 7)])], [([1, "-1/3"], 2)])


@case("bounded")
def one_triangle() -> CPWL:
    return CPWL.from_simplices([[0, 0], ["1/3", 0], [0, "1/7"]], [[0, 1, 2]], [1, "-1/3", 0])


@case("bounded")
def constant_table() -> CPWL:
    return CPWL.from_grid([[0, 1, 2], [0, 1]], [[4, 4], [4, 4], [4, 4]])


# --- the line -----------------------------------------------------------------------------------------------------


@case()
def absolute_value() -> CPWL:
    return CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)


@case()
def hat() -> CPWL:
    return CPWL.from_breakpoints([-1, 0, 1], [0, 1, 0], left_slope=0, right_slope=0)


@case()
def sawtooth() -> CPWL:
    return CPWL.from_breakpoints(range(13), [k % 2 for k in range(13)], left_slope=0, right_slope=0)


@case()
def thirds_and_sevenths() -> CPWL:
    x = ["-5/7", "-1/3", "0", "1/7", "1/3", "6/7"]
    return CPWL.from_breakpoints(x, ["1/3", "2/7", "-1/7", "5/3", "-8/21", "0"], left_slope="1/3", right_slope="-2/7")


@case()
def fake_breakpoints() -> CPWL:
    """Breakpoints at which nothing bends: runs of equal slopes."""
    x = list(range(-4, 5))
    return CPWL.from_breakpoints(x, [max(0, v) for v in x], left_slope=0, right_slope=1)


@case()
def one_component_in_many_pieces() -> CPWL:
    """Bumps on a floor: the component 0 has every other piece."""
    x = [v for k in range(5) for v in (4 * k, 4 * k + 1, 4 * k + 2)]
    return CPWL.from_breakpoints(x, [v for k in range(5) for v in (0, k + 1, 0)], left_slope=0, right_slope=0)


@case()
def clipped_line() -> CPWL:
    return CPWL.from_breakpoints([-1, 1], [-1, 1], left_slope=0, right_slope=0)


@case()
def huge_breakpoints() -> CPWL:
    return CPWL.from_breakpoints([-3 * 10**12, 10**12, 10**13], [10**12, -(10**12), 7 * 10**12], left_slope=10**12)


@case()
def tiny_breakpoints() -> CPWL:
    unit = Fraction(1, 10**12)
    return CPWL.from_breakpoints([0, unit, 3 * unit], [0, unit / 3, -unit], left_slope=1, right_slope=unit)


@case()
def mixed_scales() -> CPWL:
    x = [Fraction(-(10**12)), Fraction(-1), Fraction(-1, 10**12), Fraction(1, 10**12), Fraction(1), Fraction(10**12)]
    return CPWL.from_breakpoints(x, [Fraction(10**12), 0, Fraction(1, 3), Fraction(-1, 10**12), 1, -1])


@case()
def steep_step() -> CPWL:
    """A step of height 1 on a length of 1e-12."""
    return CPWL.from_breakpoints([0, Fraction(1, 10**12)], [0, 1], left_slope=0, right_slope=0)


@case()
def float_breakpoints() -> CPWL:
    """Floats taken exactly."""
    return CPWL.from_breakpoints([0.1, 0.2, 0.3, 0.7], [0.3, -1.1, 0.3, 2.3], left_slope=0.1, right_slope=1 / 3)


@case()
def half_line() -> CPWL:
    return CPWL.from_pieces([[[-1], [1]], [[-1]]], [[0, 1], [-1]], [[-2], [1]], [0, -3])


@case("bounded")
def kuhn_line() -> CPWL:
    return CPWL.from_grid([[0, 1, "7/3", 4]], [0, "1/3", -1, 2])


@case("bounded")
def delaunay_line() -> CPWL:
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(12))
    return CPWL.from_simplices(x[:, None], [[i, i + 1] for i in range(11)], rng.standard_normal(12))


# --- arrangements and cones ---------------------------------------------------------------------------------------


@case()
def plane_hinge() -> CPWL:
    """max(0, x + 2y - 1): the zero component, and pieces with lines."""
    return CPWL.from_pieces([[[1, 2]], [[-1, -2]]], [[1], [-1]], [[0, 0], [1, 2]], [0, -1])


@case()
def sum_norm() -> CPWL:
    return abs_sum(2)


@case()
def sum_norm_in_space() -> CPWL:
    return abs_sum(3)


@case()
def largest_coordinate_norm() -> CPWL:
    """max |x_i|: each component and its negative."""
    unit = [(s, k) for k in range(3) for s in (1, -1)]
    return CPWL.from_maxmin([[s if j == k else 0 for j in range(3)] + [0] for s, k in unit], [[m] for m in range(6)])


@case()
def opposite_laws() -> CPWL:
    """x + y and -x - y and little else, with the strip between them."""
    return CPWL.from_maxmin([[1, 1, 0], [-1, -1, 0], [0, 0, 1]], [[0, 2], [1, 2]])


@case()
def strips() -> CPWL:
    """A function of x + y/3 in the plane: every piece has a line in it."""
    return along([1, Fraction(1, 3)], [-1, 0, "1/2", 2], [0, 2, -1, 0, "1/3"])


@case()
def one_direction_in_space() -> CPWL:
    return along([1, -2, Fraction(1, 7)], [0, 1, 5], [-1, 1, 0, "2/3"])


@case("bounded")
def strips_in_a_box() -> CPWL:
    box = [((1, 0), 2), ((-1, 0), 2), ((0, 1), 3), ((0, -1), 3)]
    return along([1, Fraction(1, 3)], [-1, 0, "1/2"], [1, -1, 0, 3], box)


@case()
def half_plane() -> CPWL:
    """An unbounded domain with a boundary: |x| on y >= x/2."""
    A = [[[1, 0], [1, -2]], [[-1, 0], [1, -2]]]
    return CPWL.from_pieces(A, [[0, 0], [0, 0]], [[-1, 0], [1, 0]], [0, 0], domain=([[1, -2]], [0]))


@case()
def point_contact() -> CPWL:
    """Zero on two opposite quadrants that meet in the origin only, min or max of x, y on the others."""
    A = [[[1, 0], [0, -1]], [[-1, 0], [0, 1]]]
    A += [[[-1, 0], [1, -1]], [[0, -1], [-1, 1]], [[1, 0], [-1, 1]], [[0, 1], [1, -1]]]
    return CPWL.from_pieces(A, [[0, 0]] * 6, [[0, 0], [0, 0], [1, 0], [0, 1], [1, 0], [0, 1]], [0] * 6)


@case()
def point_contacts_in_space() -> CPWL:
    """min(|x|, |y|, |z|) by signs and orders: 48 cones, most of which meet in the origin only, and 6 laws."""
    A, laws = [], []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            e = [[signs[k] if j == k else 0 for j in range(3)] for k in range(3)]
            a, b, c = (e[k] for k in order)
            A.append(
                [
                    [-v for v in a],
                    [u - v for u, v in zip(a, b, strict=True)],
                    [u - v for u, v in zip(b, c, strict=True)],
                ]
            )
            laws.append(a)
    return CPWL.from_pieces(A, [[0, 0, 0]] * 48, laws, [0] * 48)


@case()
def star_of_cones() -> CPWL:
    """Eight cones around the origin, values at eight directions chosen at will."""
    rays = [(1, 0), (2, 1), (0, 1), (-1, 3), (-1, 0), (-1, -1), (0, -1), (3, -2)]
    heights = [1, -2, 3, 0, 2, -1, "1/3", 2]
    return fan(rays, heights)


@case("bounded")
def star_fan() -> CPWL:
    """Twelve triangles around a vertex."""
    rim = [(3, 0), (3, 2), (2, 3), (0, 3), (-2, 3), (-3, 2), (-3, 0), (-3, -2), (-2, -3), (0, -3), (2, -3), (3, -2)]
    simplices = [[0, 1 + i, 1 + (i + 1) % 12] for i in range(12)]
    return CPWL.from_simplices([(0, 0), *rim], simplices, [1, *(k * k % 7 - 3 for k in range(12))])


@case()
def nested_squares() -> CPWL:
    """A function of max(|x|, |y|): a square in rings of four trapezoids, the last ones unbounded."""
    return rings([1, 2, "7/3", 4], [0, 2, 1, 1, -1], bounded=False)


@case("bounded")
def nested_squares_in_a_box() -> CPWL:
    return rings([1, 2, "7/3"], [0, 2, 1, "-1/3"], bounded=True)


@case()
def nearly_parallel() -> CPWL:
    """The maximum of three planes that bend by 1e-9 where they meet."""
    tiny = Fraction(1, 10**9)
    return CPWL.from_maxmin([[1, 1, 0], [1 + tiny, 1, 0], [1, 1 - tiny, tiny]], [[0], [1], [2]])


@case()
def nearly_parallel_cuts() -> CPWL:
    """Lines with slopes 1 and 1 + 1e-12 that bound thin wedges."""
    slope = 1 + Fraction(1, 10**12)
    return from_hidden_layer([[1, -1], [slope, -1]], [0, 0], [1, -2])


@case()
def zero_and_both_signs() -> CPWL:
    """max(0, min(x, y)) + min(0, max(x, y)) written as a max of mins, with 0 in it twice."""
    return CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 1], [0, 2], [1, 3]])


# --- junctions and cuts -------------------------------------------------------------------------------------------


@case("wrong")
def wrong_for_algorithm_1() -> CPWL:
    return five_pieces()


@case("wrong")
def wrong_by_its_cut() -> CPWL:
    return three_piece_cut()


@case("bounded")
def t_junction() -> CPWL:
    """Two triangles meet one long side of a third: |y| on a triangle, cut above but not below."""
    A = [[[0, 1], [1, -1], [-1, -1]], [[0, -1], [1, 1], [-1, 0]], [[0, -1], [-1, 1], [1, 0]]]
    return CPWL.from_pieces(A, [[0, 2, 2], [0, 2, 0], [0, 2, 0]], [[0, -1], [0, 1], [0, 1]], [0, 0, 0])


@case("bounded")
def t_junction_that_bends() -> CPWL:
    """0 below the axis, y, 2y and a law between them above: three touch the first, one in a point."""
    A = [
        [[1, 0], [-1, 0], [0, 1], [0, -1]],
        [[0, -1], [1, 1], [-1, 0]],
        [[1, -1], [-1, -1], [0, 1]],
        [[0, -1], [-1, 1], [1, 0]],
    ]
    b = [[2, 2, 0, 1], [0, 0, 2], [0, 0, 2], [0, 0, 2]]
    return CPWL.from_pieces(A, b, [[0, 0], [0, 1], ["1/2", "3/2"], [0, 2]], [0, 0, 0, 0])


@case("bounded")
def pinwheel() -> CPWL:
    """Four rectangles around a square, no two with a whole side in common, and one law."""
    laws = [(["1/3", -1], 2)] * 5
    return boxes(PINWHEEL, laws)


@case("bounded", "cut")
def pinwheel_with_a_crease() -> CPWL:
    """|x - y| cut along a pinwheel."""
    pieces = []
    for low, high in PINWHEEL:
        sides = [(1, 0, high[0]), (-1, 0, -low[0]), (0, 1, high[1]), (0, -1, -low[1])]
        for s in (1, -1):
            rows = [tuple(map(Fraction, row)) for row in [*sides, (-s, s, 0)]]
            if len(polygon_corners(rows)) > 2:
                pieces.append(PieceData(tuple(rows), ((Fraction(s), Fraction(-s), Fraction(0)),)))
    return from_data(pieces)


@case("bounded")
def bricks() -> CPWL:
    """A function of y on rows of bricks, each row shifted against the next."""
    corners, laws = [], []
    for row in range(4):
        ends = [0, 2, 4, 6] if row % 2 == 0 else [0, 1, 3, 5, 6]
        for left, right in itertools.pairwise(ends):
            corners.append(([left, row], [right, row + 1]))
            laws.append(([0, [1, -2, 0, 3][row]], [0, 3, -1, -10][row]))
    return boxes(corners, laws)


@case()
def redundant_rows() -> CPWL:
    """|x| + |y| with rows said twice, said weaker, scaled, and rows that say nothing."""
    pieces = []
    for s, t in itertools.product((1, -1), repeat=2):
        rows = [(-s, 0, 0), (-3 * s, 0, 0), (0, -t, 0), (-s, -t, 5), (0, Fraction(-t, 10**6), Fraction(1, 7))]
        pieces.append(PieceData(tuple(tuple(map(Fraction, r)) for r in rows), (tuple(map(Fraction, (s, t, 0))),)))
    return from_data(pieces)


@case("cut")
def five_pieces_cut_up() -> CPWL:
    return cut_up(five_pieces(), cuts(2, 9, 0))


@case("cut")
def sum_norm_cut_up() -> CPWL:
    return cut_up(abs_sum(2), cuts(2, 14, 1))


@case("cut")
def hat_cut_up() -> CPWL:
    return cut_up(hat(), cuts(1, 8, 2))


@case("cut", "bounded")
def table_cut_up() -> CPWL:
    return cut_up(CPWL.from_grid([range(3), range(3)], [[0, 1, 0], [1, 3, -1], [0, 2, 1]]), cuts(2, 10, 3))


@case("cut", "bounded")
def delaunay_cut_up() -> CPWL:
    return cut_up(delaunay(2, 8, 4), cuts(2, 8, 4))


@case("cut")
def affine_cut_up() -> CPWL:
    return cut_up(affine_space(), cuts(3, 12, 5))


@case("cut")
def sum_norm_in_space_cut_up() -> CPWL:
    return cut_up(abs_sum(3), cuts(3, 10, 6))


# --- tables -------------------------------------------------------------------------------------------------------


@case("bounded")
def kuhn_plane() -> CPWL:
    return CPWL.from_grid([range(4), range(4)], [[0, 1, 1, 0], [1, 3, 4, 1], [0, 4, 7, 3], [0, 2, 3, -1]])


@case("bounded")
def kuhn_rationals() -> CPWL:
    return CPWL.from_grid([[0, "1/3", 1], [0, "1/7", "2/7"]], [["1/3", 0, 1], [2, "-1/7", 0], ["5/21", 1, "1/9"]])


@case("bounded")
def kuhn_space() -> CPWL:
    heights = np.array([[[0, 1], [2, 0]], [[1, 0], [3, -1]], [[0, 2], [1, 1]]])
    return CPWL.from_grid([range(3), range(2), range(2)], heights)


@case("bounded")
def far_away() -> CPWL:
    """A small table far from the origin, where floats cancel."""
    return CPWL.from_grid(
        [[10**6 + k for k in range(3)], [-(10**6) + k for k in range(3)]], [[0, 1, 0], [2, 3, -1], [0, 0, 1]]
    )


@case("bounded")
def huge_table() -> CPWL:
    return CPWL.from_grid([[0, 10**12, 3 * 10**12], [0, 10**12]], [[0, 10**12], [1, -(10**12)], [10**12, 3]])


@case("bounded")
def tiny_table() -> CPWL:
    unit = Fraction(1, 10**12)
    return CPWL.from_grid([[0, unit, 3 * unit], [0, unit]], [[0, unit], [unit / 3, -unit], [unit, 0]])


@case("bounded")
def mixed_table() -> CPWL:
    """Inputs of size 1e-12 and 1e12 side by side."""
    return CPWL.from_grid([[0, Fraction(1, 10**12), Fraction(1, 10**11)], [0, 10**12]], [[0, 1], [2, -1], ["1/3", 1]])


@case("bounded")
def slivers() -> CPWL:
    """Triangles of height 1e-9 between healthy ones."""
    tiny = Fraction(1, 10**9)
    points = [(0, 0), (1, 0), (2, 0), (1, tiny), (1, 1), (1, -1), (1, 2 * tiny)]
    simplices = [[0, 1, 3], [1, 2, 3], [0, 3, 6], [3, 2, 6], [0, 6, 4], [6, 2, 4], [0, 1, 5], [1, 2, 5]]
    return CPWL.from_simplices(points, simplices, [0, 1, 0, Fraction(1, 2), 2, -1, 1])


@case("bounded")
def delaunay_plane() -> CPWL:
    return delaunay(2, 24, 0)


@case("bounded")
def delaunay_space() -> CPWL:
    return delaunay(3, 10, 0)


@case("bounded")
def delaunay_in_four() -> CPWL:
    return delaunay(4, 8, 0)


@case("bounded", "wrong")
def table_to_repair() -> CPWL:
    """Six triangles on six points of a grid, on which Algorithm 1 is wrong."""
    points = [(9, 4), (0, 9), (6, 6), (3, 5), (1, 1), (3, 7)]
    triangles = [[4, 3, 1], [3, 4, 0], [2, 3, 0], [3, 5, 1], [5, 2, 1], [2, 5, 3]]
    return CPWL.from_simplices(points, triangles, [2, 3, 2, 1, -4, 5])


@case("bounded", "wrong")
def delaunay_plane_to_repair() -> CPWL:
    """Algorithm 1 is wrong, and repair takes six splits."""
    return delaunay(2, 24, 3)


@case("bounded", "wrong")
def delaunay_space_to_repair() -> CPWL:
    return delaunay(3, 10, 4)


@case("bounded", "wrong")
def delaunay_in_four_to_repair() -> CPWL:
    return delaunay(4, 8, 53)


@case("bounded")
def delaunay_of_rationals() -> CPWL:
    rng = np.random.default_rng(7)
    whole = rng.permutation(21 * 21)[:16]
    points = [[Fraction(int(v) // 21, 3), Fraction(int(v) % 21, 7)] for v in whole]
    simplices = Delaunay(np.array(points, dtype=float)).simplices
    return CPWL.from_simplices(points, simplices, [Fraction(int(v), 9) for v in rng.integers(-9, 10, 16)])


@case("bounded")
def octahedron() -> CPWL:
    """A pyramid over the octahedron |x| + |y| + |z| <= 1, cut into eight tetrahedra."""
    tips = [[s if j == k else 0 for j in range(3)] for k in range(3) for s in (1, -1)]
    simplices = [[0, 1 + a, 3 + b, 5 + c] for a, b, c in itertools.product((0, 1), repeat=3)]
    return CPWL.from_simplices([[0, 0, 0], *tips], simplices, [1, 0, 0, 0, "1/3", 0, -1])


# --- max-min expressions ------------------------------------------------------------------------------------------


@case()
def duplicates() -> CPWL:
    """A max-min expression with equal components, equal rows, and a row inside another."""
    f = [[1, 0, 0], [0, 1, 0], [1, 0, 0], [-1, -1, 1], [0, 1, 0]]
    return CPWL.from_maxmin(f, [[0, 1], [2, 4], [0, 1, 3], [3, 3], [0, 2]])


@case()
def six_components() -> CPWL:
    return random_maxmin(2, 6, 4, 3, seed=1)


@case()
def components_in_space() -> CPWL:
    return random_maxmin(3, 5, 3, 2, seed=2)


@case()
def convex() -> CPWL:
    """The maximum of tangent planes of x^2 + y^2."""
    touch = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 2), (2, -1)]
    return CPWL.from_maxmin([[2 * x, 2 * y, -x * x - y * y] for x, y in touch], [[m] for m in range(len(touch))])


@case()
def concave() -> CPWL:
    touch = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), ("-1/3", 2)]
    pairs = [(Fraction(x), Fraction(y)) for x, y in touch]
    return CPWL.from_maxmin([[-2 * x, -2 * y, x * x + y * y] for x, y in pairs], [range(len(pairs))])


@case()
def saddle() -> CPWL:
    """|x| - |y|."""
    return from_hidden_layer([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 0, 0], [1, 1, -1, -1])


@case()
def shallow_network() -> CPWL:
    """A hidden layer of five neurons in the plane, in small rationals."""
    weight = [[1, 2], [-1, 1], [3, 0], [1, -1], ["1/3", "1/7"]]
    return from_hidden_layer(weight, [1, 0, -2, "1/3", 0], [1, -2, "1/3", 1, -1], "1/9")


@case()
def random_in_ten() -> CPWL:
    """A random function of the paper's kind in ten dimensions."""
    return random_shallow(10, 4, 0)


@case()
def random_in_the_plane() -> CPWL:
    return random_shallow(2, 5, 3)


@case()
def many_inputs() -> CPWL:
    """Forty inputs, but three directions only."""
    rng = np.random.default_rng(5)
    return from_hidden_layer(rng.integers(-4, 5, (3, 40)), [1, 0, -2], [1, -1, 2])


@case()
def dependent_directions() -> CPWL:
    """Six inputs and four hinges in two directions."""
    a, b = np.array([1, 2, 0, -1, 1, 0]), np.array([0, 1, 1, 3, -1, 2])
    return from_hidden_layer([a, b, a + b, a - b], [0, 1, -1, 0], [1, 1, -2, 1])


# --- several outputs ----------------------------------------------------------------------------------------------


@case()
def two_outputs() -> CPWL:
    return CPWL.from_breakpoints([0, 1, 2], [[0, 1], [1, "1/3"], [0, 0]], left_slope=[0, -1], right_slope=[0, "1/7"])


@case("bounded")
def three_outputs() -> CPWL:
    """One bends, one is affine, one is zero."""
    p = CPWL.from_grid([range(3), range(3)], [[0, 1, 0], [1, 3, -1], [0, 2, 1]])
    assert p.mesh is not None
    points = p.mesh.points.astype(int).tolist()
    bend = p.mesh.values[:, 0].astype(int).tolist()
    return CPWL.from_simplices(
        points, p.mesh.simplices, [[z, 2 * x - y + 1, 0] for z, (x, y) in zip(bend, points, strict=True)]
    )


@case("bounded")
def opposite_outputs() -> CPWL:
    """The second output is the negative of the first, the third its double."""
    values = [0, 2, "-1/3", 1, 4]
    table = [[Fraction(v), -Fraction(v), 2 * Fraction(v)] for v in values]
    return CPWL.from_grid([range(5)], np.array(table, dtype=object))


@case()
def two_outputs_in_the_plane() -> CPWL:
    """The coordinates clipped to [-1, 1]: each output bends where the other does not."""
    clip = [((1, -1), (0, -1)), ((-1, 1), (1, 0)), ((-1, 1), (0, 1))]
    ends = [([[1]], [-1]), ([[1], [-1]], [1, 1]), ([[-1]], [-1])]
    A, b, gradient, offset = [], [], [], []
    for (i, (left, l)), (j, (right, r)) in itertools.product(enumerate(ends), enumerate(ends)):
        A.append([[v[0], 0] for v in left] + [[0, v[0]] for v in right])
        b.append([*l, *r])
        gradient.append([[clip[i][1][0], 0], [0, clip[j][1][0]]])
        offset.append([clip[i][1][1], clip[j][1][1]])
    return CPWL.from_pieces(A, b, gradient, offset)


# --- floats -------------------------------------------------------------------------------------------------------


@case("float", "bounded")
def control_law() -> CPWL:
    """The bundled law of a model-predictive controller, in floats."""
    with as_file(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")) as path:
        law = load(path)
    assert isinstance(law, CPWL)
    return law


@case("float")
def observed() -> CPWL:
    """Made by Algorithm 6 from observations of |x| + max(0, y)."""
    signs = list(itertools.product((1, -1), repeat=2))
    A = [[[-s, 0], [0, -t]] for s, t in signs]
    centers = [[2 * s, 2 * t] for s, t in signs]
    return CPWL.from_oracle(lambda x: abs(x[:, 0]) + np.maximum(0, x[:, 1]), A, [[0, 0]] * 4, centers, [1] * 4)


@case("float", "unbounded noise")
def noisy() -> CPWL:
    """Noise of 1e-13 in every row and law."""
    return with_noise(random_shallow(2, 4, 3), 1e-13, 0)


@case("float", "bounded")
def noisy_table() -> CPWL:
    """The triangles of a table as half-spaces with noise."""
    return with_noise(delaunay(2, 9, 2), 1e-13, 1)


@case("float", "bounded")
def rounded_thirds() -> CPWL:
    """Strips at multiples of 1/3, rounded to floats."""
    third = 1 / 3
    corners = [([k * third, 0.0], [(k + 1) * third, 1.0]) for k in range(4)]
    return boxes(
        corners, [([s, 0.25], o) for s, o in [(1.0, 0.0), (-1.0, 2 * third), (2.0, -4 * third), (0.0, 2 * third)]]
    )


@case("bounded")
def floats_meant_exactly() -> CPWL:
    """Floats with tol=0 are the rationals that they are."""
    A = [[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]] * 2
    b = [[0.5, 0.1, 0.3, 0.7], [1.25, -0.5, 0.3, 0.7]]
    return CPWL.from_pieces(A, b, [[0.1, 0.2], [0.1, 0.2]], [0.3, 0.3], tol=0)


CASES = tuple(_MADE)
BY_NAME = {each.name: each for each in CASES}


# --- functions on which one construction alone is the smallest ------------------------------------------------------


def whole_table(n: int, points: int, size: int, seed: int) -> CPWL:
    """A table of integers on the Delaunay triangulation of integer points of a cube."""
    rng = np.random.default_rng(seed)
    P = np.unique(rng.integers(0, size, (points, n)), axis=0)
    return CPWL.from_simplices(P.tolist(), Delaunay(P).simplices.tolist(), rng.integers(-3, 4, len(P)).tolist())


def _grid(*shape: int, seed: int) -> CPWL:
    return CPWL.from_grid([range(k) for k in shape], np.random.default_rng(seed).integers(-9, 10, shape))


def _two_bumps() -> CPWL:
    """Two bumps, not mirrored in the diagonal."""
    values = np.zeros((8, 9), dtype=np.int64)
    values[2, 2], values[5, 6] = 1, 2
    return CPWL.from_grid([range(8), range(9)], values)


def _sum_of_lines(seed: int) -> CPWL:
    """f(x) + g(y) on 15 x 3 rectangles."""
    rng = np.random.default_rng(seed)
    f, g = (CPWL.from_breakpoints(range(k), rng.integers(-9, 10, k).tolist()) for k in (16, 4))
    return (f @ ([[1, 0]], [0]) + g @ ([[0, 1]], [0])).restrict(box=(0, [15, 3]))


def _pieces_of_a_network() -> CPWL:
    """The 17 pieces of a network 2-4-2-1 with small integers on a box."""
    first = ([[2, 1], [-1, 3], [1, -2], [3, 2]], [1, -2, 3, -4])
    second = ([[1, -2, 1, 1], [2, 1, -1, -2]], [-3, 2])
    return extract(Network([first, second, ([[3, -2]], [1])]), box=(-4, 4), exact=True)


def mirrored_table(k: int) -> CPWL:
    """Random values on (2 k + 1)^2 points, even in x and in y, and so are the diagonals of the boxes."""
    values, r = np.random.default_rng(0).integers(-99, 100, (k + 1, k + 1)), range(-k, k + 1)
    number = {at: n for n, at in enumerate((i, j) for i in r for j in r)}
    cells = []
    for i, j in itertools.product(r[:-1], repeat=2):
        a, b, c, d = (number[at] for at in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
        cells += [[a, b, c], [a, d, c]] if (i >= 0) == (j >= 0) else [[b, a, d], [b, c, d]]
    return CPWL.from_simplices(list(number), cells, [int(values[abs(i), abs(j)]) for i, j in number])


_FLOAT32: dict[str, Any] = {"precision": "float32"}
SOLE: dict[str, tuple[Callable[[], CPWL], dict[str, Any]]] = {
    "hinge": (
        lambda: from_hidden_layer([[1, 0, 0], [0, 1, 0], [1, 1, 1], [1, -1, 2]], [1, -1, 1, 0], [3, 2, 1, 1]),
        {},
    ),
    "univariate": (lambda: CPWL.from_breakpoints(range(20), [7 * k * k % 11 for k in range(20)]), {}),
    "sums": (lambda: _sum_of_lines(0), {}),
    "fold": (lambda: mirrored_table(4), {}),
    "layers": (_pieces_of_a_network, {}),
    "gates": (lambda: function("wrong_for_algorithm_1"), {}),
    "columns": (lambda: _grid(3, 3, 3, seed=2), {**_FLOAT32, "max_error": 2e-6}),
    "windows": (lambda: whole_table(2, 34, 1000, 4), {**_FLOAT32, "max_error": 2e-5}),
    "clamped": (_two_bumps, {}),
    "strips": (lambda: whole_table(2, 50, 40, 31), {"precision": "exact"}),
    "lattice": (lambda: function("delaunay_space"), {}),
}
"""For each construction a function, and options, with which it alone is the smallest that is accurate enough.

Algorithm 1 has none. Where it is right, its rows are those that a lattice starts from, of which that keeps a few and
shortens them: in neurons, layers, width and weights it is never the smallest.
"""
