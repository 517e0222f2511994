"""Lattice networks are right where Algorithm 1 is wrong: repaired, counted, small, and valid by brute force."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench_functions import delaunay as table
from bench_functions import rational_delaunay
from cpwl import CPWL, ConstructionError, InputError, certify, compile
from cpwl.exact.rational import fraction_array
from cpwl.function.order import order_components
from cpwl.io.json import load
from shallow import random_shallow
from support.catalogue import function
from support.constructions import plain_lattice, planned, shared_lattice
from support.functions import abs_sum, delaunay, five_pieces, three_piece_cut
from support.laws import LAWS
from support.rational_pieces import cut_up, piece_data, random_maxmin, rings
from support.twins import twin

small = st.integers(-3, 3)


def assert_right(p):
    """The lattice network is proved equal to the function, and is no larger than Algorithm 1 would be."""
    made = compile(p, construction="lattice")
    assert certify(p, made.network).error_bound == 0
    assert made.sizes.neurons <= made.bounds["algorithm1"].neurons
    return made


def algorithm_1_is_right(p):
    try:
        compile(p, construction="paper")
    except ConstructionError:
        return False
    return True


@pytest.mark.parametrize(
    ("p", "x", "value"), [(five_pieces(), [0, 1], -2), (three_piece_cut(), [5, 0], -4)], ids=["five", "cut"]
)
def test_the_examples_on_which_algorithm_1_is_wrong(p, x, value):
    """Both examples of docs/theory/algorithm_1.md compile after a split, and are right where it is not."""
    made = assert_right(p)
    assert made.splits > 0
    assert made.network(fraction_array([x]))[0, 0] == value
    assert compile(p, construction="paper", check=False).network(fraction_array([x]))[0, 0] > value


DELAUNAY = [(2, 12, 5), (2, 14, 2), (2, 24, 3), (2, 24, 4), (3, 8, 1), (3, 10, 3), (3, 10, 11), (4, 8, 1), (4, 10, 1)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("n", "points", "seed"), DELAUNAY)
def test_delaunay_interpolants(n, points, seed):
    """Random interpolants compile, and pieces are split iff Algorithm 1 is wrong."""
    p = delaunay(n, points, seed)
    assert (assert_right(p).splits == 0) == algorithm_1_is_right(p)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "points"), [(2, 50), (3, 20), (4, 14)])
@pytest.mark.parametrize("seed", range(4))
def test_larger_delaunay_interpolants(n, points, seed):
    """The same at sizes at which Algorithm 1 is wrong nearly always."""
    assert_right(delaunay(n, points, seed))


@given(st.integers(1, 3), st.data())
@settings(max_examples=40)
def test_random_max_min_expressions(n, data):
    """Every max-min expression compiles."""
    k = data.draw(st.integers(1, 5))
    f = data.draw(st.lists(st.lists(small, min_size=n + 1, max_size=n + 1), min_size=k, max_size=k))
    rows = data.draw(st.lists(st.lists(st.integers(0, k - 1), min_size=1, max_size=3), min_size=1, max_size=3))
    assert_right(CPWL.from_maxmin(f, rows))


BASES = {
    "five": five_pieces(),
    "cut": three_piece_cut(),
    "norm": abs_sum(),
    "table": CPWL.from_grid([range(3), range(2)], [[0, 1], [2, -1], [1, 3]]),
    "space": abs_sum(3),
    "maxmin": CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [-1, -1, 1]], [[0, 1], [2]]),
}


@given(st.sampled_from(sorted(BASES)), st.data())
@settings(max_examples=20)
def test_cutting_pieces_up_changes_nothing(name, data):
    """However the pieces are cut further, the function compiles to a network that is proved for both versions."""
    p = BASES[name]
    normals = data.draw(st.lists(st.lists(small, min_size=p.dim, max_size=p.dim), min_size=1, max_size=6))
    made = assert_right(cut_up(p, normals))
    assert certify(p, made.network).error_bound == 0


@pytest.mark.parametrize("name", sorted(BASES))
def test_splits_are_counted(name):
    """No split where one component tells every two pieces apart: above the function on one, below it on the other."""
    p = BASES[name]
    order = order_components(p, 0)
    apart = all((above & below).any() for above in order.above for below in order.below)
    assert (shared_lattice(p).splits == 0) == apart


# --- domains that are not convex ----------------------------------------------------------------------------------


def leaves_the_domain(p, x, y):
    """Whether the segment from `x` to `y` leaves the union of the pieces: intervals of the segment, in rationals."""
    x, y = fraction_array(x), fraction_array(y)
    inside = []
    for piece in piece_data(p):
        low, high = Fraction(0), Fraction(1)
        for *a, c in piece.rows:
            at, speed = (sum(u * v for u, v in zip(a, z, strict=True)) for z in (x, y - x))
            if speed > 0:
                high = min(high, (c - at) / speed)
            elif speed < 0:
                low = max(low, (c - at) / speed)
            elif at > c:
                low, high = Fraction(1), Fraction(0)
        if low <= high:
            inside.append((low, high))
    reached = Fraction(0)
    for low, high in sorted(inside):
        if low > reached:
            break
        reached = max(reached, high)
    return not inside or min(inside)[0] > 0 or reached < 1


def corner(heights):
    """An L of three squares, cut into triangles, with values at its eight corners."""
    points = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2)]
    triangles = [[0, 1, 4], [0, 3, 4], [1, 2, 5], [1, 4, 5], [3, 4, 7], [3, 6, 7]]
    return CPWL.from_simplices(points, triangles, heights)


def assert_found_or_proved(p):
    """Without the doctor a domain that is not convex is named with a witness, or the result is proved."""
    witness = None
    try:
        made = compile(p, construction="lattice", check=False)
    except InputError as error:
        witness = error
    if witness is None:
        assert certify(p, made.network).error_bound == 0
        return "proved"
    assert "domain is not convex" in str(witness)
    assert leaves_the_domain(p, witness.details["point"], witness.details["other"])
    return "found"


def test_a_domain_that_is_not_convex_is_named():
    """On an L, and on two intervals apart, a function that needs the missing part is refused with a witness."""
    apart = CPWL.from_pieces([[[1], [-1]], [[1], [-1]]], [[1, 0], [3, -2]], [[0], [0]], [0, -1])
    assert assert_found_or_proved(apart) == "found"
    assert assert_found_or_proved(corner([0, 2, 2, 1, 1, 3, 1, -1])) == "found"


@given(st.lists(st.integers(-4, 4), min_size=8, max_size=8))
@settings(max_examples=30)
def test_functions_on_an_l(heights):
    """On an L of three squares every function is proved, or its domain is found not to be convex."""
    assert_found_or_proved(corner(heights))


@given(st.integers(0, 50), st.data())
@settings(max_examples=30)
def test_tables_with_triangles_left_out(seed, data):
    """The same for random triangulations of which some triangles are missing."""
    p = delaunay(2, 9, seed)
    kept = data.draw(st.sets(st.integers(0, p.num_pieces - 1), min_size=1))
    assume(len(kept) < p.num_pieces)
    assert_found_or_proved(p.take(np.array(sorted(kept))))


def test_the_doctor_comes_first():
    """With the doctor the same domain is refused before anything is built."""
    with pytest.raises(InputError, match="not convex"):
        compile(corner([0, 2, 2, 1, 1, 3, 1, -1]), construction="lattice")


# --- rows, by brute force -----------------------------------------------------------------------------------------


def deciding_points(piece, laws):
    """Points of a planar piece that decide about every function that bends on ``f_a = f_b`` only, in rationals.

    The lines ``f_a = f_b``, the sides of the piece and the axes cut the piece into cells without lines. On each cell
    such a function is affine, so its values at the corners `v` and at ``v + d``, with `d` the cell's rays, say it all.
    """
    lines = [(a[0] - b[0], a[1] - b[1], b[2] - a[2]) for a, b in itertools.combinations(laws, 2)]
    lines = [*lines, *piece.rows, (1, 0, 0), (0, 1, 0)]
    lines = [line for line in lines if line[0] or line[1]]
    holds = [lambda x, y, r=r: r[0] * x + r[1] * y <= r[2] for r in piece.rows]
    corners = set()
    for (a, b, c), (d, e, f) in itertools.combinations(lines, 2):
        det = a * e - b * d
        if det:
            x, y = Fraction(c * e - b * f) / det, Fraction(a * f - c * d) / det
            if all(h(x, y) for h in holds):
                corners.add((x, y))
    rays = {
        (s * -b, s * a)
        for a, b, _ in lines
        for s in (1, -1)
        if all(r[0] * s * -b + r[1] * s * a <= 0 for r in piece.rows)
    }
    assert corners
    return [*corners, *((x + u, y + v) for x, y in corners for u, v in rays)]


PLANAR = {
    "five": five_pieces(),
    "cut": three_piece_cut(),
    "norm": abs_sum(),
    "strips": CPWL.from_maxmin([[1, 2, 0], [-1, -2, 1], [0, 0, "1/3"]], [[0, 1], [2]]),
    "shallow": random_shallow(2, 3, 1),
    "maxmin": random_maxmin(2, 5, 3, 2, seed=4),
    "squares": rings([1, 2], [0, 1, -1], bounded=False),
    "table": delaunay(2, 7, 3),
    "table to repair": function("table_to_repair"),
    "cut up": cut_up(five_pieces(), [[1, 2], [3, -1], [1, -1], [0, 2]]),
}


@pytest.mark.parametrize("name", sorted(PLANAR))
def test_rows_are_valid_by_brute_force(name):
    """No row exceeds the function, and everywhere some row reaches it: decided at finitely many points, no LP."""
    p = PLANAR[name]
    rows = plain_lattice(p).rows
    laws = [[Fraction(v, f[-1]) for v in f[:-1]] for f in p.components(0).integer()[:, 0]]
    for piece in piece_data(p):
        own = piece.laws[0]
        for x, y in deciding_points(piece, laws):
            values = [g * x + h * y + o for g, h, o in laws]
            here = own[0] * x + own[1] * y + own[2]
            assert max(min(values[m] for m in row) for row in rows) == here


@pytest.mark.parametrize("name", sorted(PLANAR))
def test_the_network_computes_its_rows(name):
    """The lattice network is the max of the mins of its rows, at random rational points, in the domain or not."""
    made = plain_lattice(PLANAR[name])
    laws = [[Fraction(v, f[-1]) for v in f[:-1]] for f in PLANAR[name].components(0).integer()[:, 0]]
    rng = np.random.default_rng(0)
    points = fraction_array(rng.integers(-40, 41, (30, 2))) / 7
    for (x, y), (value,) in zip(points, made.network(points), strict=True):
        values = [g * x + h * y + o for g, h, o in laws]
        assert value == max(min(values[m] for m in row) for row in made.rows)


@pytest.mark.parametrize("name", sorted(PLANAR))
def test_no_row_is_superfluous(name):
    """No row contains another, and no row names a component twice."""
    rows = [frozenset(row) for row in plain_lattice(PLANAR[name]).rows]
    assert not any(a < b or (a == b and i != j) for i, a in enumerate(rows) for j, b in enumerate(rows))
    assert all(len(row) == len(set(row)) for row in plain_lattice(PLANAR[name]).rows)


# --- shared lattices: a monotone expression, all outputs together ---------------------------------------------------


def assert_shared(p):
    """The network is proved equal to the function, and not larger than the plain max of mins."""
    made = shared_lattice(p)
    assert certify(p, made.network).error_bound == 0
    return made


@pytest.mark.parametrize("name", sorted({**PLANAR, **BASES}))
def test_shared_lattices_are_proved(name):
    """Every small example, whether Algorithm 1 is wrong on it or not; no larger than rows lowered one by one."""
    p = {**PLANAR, **BASES}[name]
    assert assert_shared(p).network.sizes.neurons <= plain_lattice(p).network.sizes.neurons


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("n", "points", "seed"), DELAUNAY)
def test_shared_delaunay_interpolants(n, points, seed):
    """Random interpolants; and the plan says what is built."""
    p = delaunay(n, points, seed)
    made = assert_shared(p)
    plan = planned("lattice", p)
    assert plan.sizes == plan.build().sizes == made.network.sizes
    assert plan.magnitude >= 0


@given(st.integers(1, 3), st.data())
@settings(max_examples=20)
def test_shared_max_min_expressions(n, data):
    """Every max-min expression on R^n compiles to a network that is proved."""
    k = data.draw(st.integers(1, 5))
    f = data.draw(st.lists(st.lists(small, min_size=n + 1, max_size=n + 1), min_size=k, max_size=k))
    rows = data.draw(st.lists(st.lists(st.integers(0, k - 1), min_size=1, max_size=3), min_size=1, max_size=3))
    assert_shared(CPWL.from_maxmin(f, rows))


@given(st.sampled_from(sorted(BASES)), st.data())
@settings(max_examples=10)
def test_shared_lattices_of_pieces_cut_up(name, data):
    """However the pieces are cut further, the network is proved for both versions."""
    p = BASES[name]
    normals = data.draw(st.lists(st.lists(small, min_size=p.dim, max_size=p.dim), min_size=1, max_size=6))
    assert certify(p, assert_shared(cut_up(p, normals)).network).error_bound == 0


def test_outputs_share():
    """Two outputs with the same kinks take hardly more neurons than one; an output that is repeated takes none."""
    points, cells = [[0, 0], [3, 0], [0, 3], [1, 1]], [[0, 1, 3], [0, 2, 3], [1, 2, 3]]
    one = CPWL.from_simplices(points, cells, [0, 0, 0, 1])
    two = CPWL.from_simplices(points, cells, [[0, 0], [0, 0], [0, 0], [1, 1]])
    assert assert_shared(two).network.sizes.neurons == assert_shared(one).network.sizes.neurons


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("sign", [1, -1], ids=["convex", "concave"])
def test_convex_and_concave_functions_are_one_extremum(n, sign):
    """The expression has every component once, and the network a step for each but one."""
    rng = np.random.default_rng(n)
    tangents = np.unique(rng.integers(-4, 5, (9, n)), axis=0)
    laws = [[*(2 * t), -int(t @ t)] for t in tangents]
    p = CPWL.from_maxmin(laws, [[m] for m in range(len(laws))])
    made = assert_shared(p if sign > 0 else negative(p))
    assert made.formulas[0].leaves == p.num_components
    assert made.formulas[0].kind == ("max" if sign > 0 else "min")


def negative(p):
    laws = p.laws.integer()[:, 0]
    rows = [np.array(piece.rows) for piece in piece_data(p)]
    gradient = [[-Fraction(v, law[-1]) for v in law[:-2]] for law in laws]
    offset = [-Fraction(law[-2], law[-1]) for law in laws]
    return CPWL.from_pieces([r[:, :-1].tolist() for r in rows], [r[:, -1].tolist() for r in rows], gradient, offset)


CASES = {"mpc_double_integrator_27": 19, "mpc_double_integrator_83": 47, "mpqp_3d_55": 150}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sorted(CASES))
def test_sizes_of_control_laws(name):
    """Three explicit control laws: fewer neurons than were asked for, and a proven bound far below the tolerance."""
    p = load(LAWS[name])
    made = shared_lattice(p)
    assert made.network.sizes.neurons <= CASES[name]
    proof = certify(p, made.network)
    assert proof.proved
    assert 0 <= proof.error_bound < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("n", "points", "most"), [(2, 42, 352), (3, 16, 626), (4, 7, 1772)])
def test_sizes_of_random_tables(n, points, most):
    """Means over three tables in a box, with a proof of each."""
    functions = [table(n, points, seed) for seed in range(3)]
    assert np.mean([assert_shared(p).network.sizes.neurons for p in functions]) <= most


@pytest.mark.slow
def test_a_convex_function_of_twenty_planes():
    """Tangent planes of a paraboloid, on all of R^2."""
    rng = np.random.default_rng(0)
    tangents = fraction_array(rng.integers(-99, 100, (20, 2))) / 50
    laws = [[2 * a, 2 * b, -a * a - b * b] for a, b in tangents]
    assert assert_shared(CPWL.from_maxmin(laws, [[m] for m in range(20)])).network.sizes.neurons <= 42


@pytest.mark.parametrize("heights", [[0, 2, 2, 1, 1, 3, 1, -1]])
def test_shared_lattices_name_a_domain_that_is_not_convex(heights):
    """With two points between which the segment leaves the domain."""
    p = corner(heights)
    with pytest.raises(InputError, match="domain is not convex") as caught:
        shared_lattice(p)
    assert leaves_the_domain(p, caught.value.details["point"], caught.value.details["other"])


@given(st.lists(st.integers(-4, 4), min_size=8, max_size=8))
@settings(max_examples=20)
def test_shared_lattices_on_an_l(heights):
    """On an L of three squares every function is proved, or its domain is found not to be convex."""
    p = corner(heights)
    made = witness = None
    try:
        made = shared_lattice(p)
    except InputError as error:
        witness = error.details
    if witness is not None:
        assert leaves_the_domain(p, witness["point"], witness["other"])
    else:
        assert certify(p, made.network).error_bound == 0


def test_a_piece_without_interior_is_named():
    """Without the doctor a flat piece of float data, with a law that nothing explains, is an error of the input."""
    ends, laws = [[0.0], [0.0], [2.0, -2.0]], ([[-1.0], [1.0], [0.0]], [0.0, 0.0, -7.0])
    p = CPWL.from_pieces([[[1.0]], [[-1.0]], [[1.0], [-1.0]]], ends, *laws, tol=1e-9)
    with pytest.raises(InputError, match="no interior"):
        compile(p, construction="lattice", check=False)


def test_steep_slivers_with_noise_compile():
    """Noise moves the corner of a steep sliver by more than values may be off by: its margin is too thin to be cut."""
    p = twin(rational_delaunay(20, 1), 1e-11).function()
    certificate = certify(p, compile(p, construction="lattice").network)
    assert certificate.proved
    assert certificate.error_bound < 1e-7
