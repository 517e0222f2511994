"""The function as a value: every way to make one, components, evaluation."""

import ast
import inspect
import itertools
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from cpwl import CPWL, CpwlWarning, InputError, Network, equal
from cpwl.exact.rational import fraction_array
from cpwl.function import answers, cpwl
from cpwl.geometry.probe import Probe
from cpwl.io import from_interp, from_regions, from_scipy, from_weights
from shallow import from_hidden_layer, random_shallow
from support.functions import abs_sum, delaunay, five_pieces, five_pieces_value

small = st.integers(-4, 4)
fractions = st.fractions(-4, 4, max_denominator=7)


def test_pieces_give_the_function_they_describe():
    """The five-piece function equals its formula at rational points, exactly."""
    p = five_pieces()
    values = [Fraction(k, 3) for k in range(-9, 10)]
    grid = list(itertools.product(values, values))
    assert [v[0] for v in p(fraction_array(grid))] == [five_pieces_value(x, y) for x, y in grid]


@given(st.integers(1, 3), st.data())
def test_exact_input_is_kept(n, data):
    """Laws and rows written as p/q come back as the same rationals."""
    g = data.draw(st.lists(fractions, min_size=n, max_size=n))
    o = data.draw(fractions)
    row = data.draw(st.lists(fractions, min_size=n, max_size=n).filter(any))
    p = CPWL.from_pieces([[[str(v) for v in row]]], [["1/3"]], [[str(v) for v in g]], [str(o)])
    law = p.laws.integer()[0, 0]
    assert [Fraction(v, law[-1]) for v in law[:-1]] == [*g, o]
    whole = p.polyhedra.integer()[0]
    assert all(whole[j] * Fraction(1, 3) == row[j] * whole[-1] for j in range(n))


def test_components_that_differ_in_one_coordinate_are_two():
    """The paper's code averages over coordinates and merges these laws; they differ by 1e-6 in one of 100."""
    g = np.zeros((2, 100))
    g[1, 0] = 1e-6
    A = np.zeros((2, 1, 100))
    A[0, 0, 0], A[1, 0, 0] = 1, -1
    p = CPWL.from_pieces(A, np.zeros((2, 1)), g + 1.0, [0.0, 0.0])
    assert p.num_components == 2


def test_laws_equal_within_tolerance_are_one_component():
    """Float noise far below `tol` does not make new components."""
    p = CPWL.from_pieces([[[1.0]], [[-1.0]]], [[0.0], [0.0]], [[1.0], [1.0 + 1e-13]], [0.0, 1e-15])
    assert p.num_components == 1


def test_equality_of_float_laws_does_not_drift():
    """A chain of laws, each within `tol` of the next, is not one component."""
    slopes = 1 + 0.9e-9 * np.arange(50)
    A = [[[1.0]]] * 50
    p = CPWL.from_pieces(A, [[float(i)] for i in range(50)], slopes[:, None], np.zeros(50))
    assert p.num_components == 25


def test_exact_components_are_told_apart_to_the_last_digit():
    """Laws that are equal as doubles but not as rationals are two components."""
    tiny = Fraction(1, 3) + Fraction(1, 10**40)
    p = CPWL.from_breakpoints([0, 1], [0, 0], left_slope="1/3", right_slope=tiny)
    assert p.num_components == 3
    assert p.laws.gradient[0, 0, 0] == p.laws.gradient[2, 0, 0]


@given(
    st.lists(fractions, min_size=2, max_size=8, unique=True),
    st.data(),
)
def test_breakpoints_interpolate(x, data):
    """A function through breakpoints has the given values there, exactly, and the given outer slopes."""
    x = sorted(x)
    y = data.draw(st.lists(fractions, min_size=len(x), max_size=len(x)))
    left = data.draw(st.one_of(st.none(), fractions))
    p = CPWL.from_breakpoints(x, y, left_slope=left)
    assert p(fraction_array([[v] for v in x]))[:, 0].tolist() == y
    slope = left if left is not None else (y[1] - y[0]) / (x[1] - x[0])
    assert p(fraction_array([[x[0] - 5]]))[0, 0] == y[0] - 5 * slope
    assert p.num_pieces == len(x) - 1 + (left is not None)


def test_breakpoints_agree_with_numpy():
    """np.interp is the oracle inside the breakpoints."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(50)), rng.standard_normal(50)
    t = rng.uniform(x[0], x[-1], 1000)
    np.testing.assert_allclose(CPWL.from_breakpoints(x, y)(t[:, None])[:, 0], np.interp(t, x, y), atol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "points"), [(2, 300), (3, 60), (4, 20)])
def test_simplices_agree_with_scipy(n, points):
    """LinearNDInterpolator on the same points (Delaunay) is the oracle; outside both are NaN."""
    p = delaunay(n, points, 1)
    oracle = LinearNDInterpolator(p.mesh.points, p.mesh.values[:, 0])
    x = np.random.default_rng(2).uniform(-0.2, 1.2, (2000, n))
    ours, theirs = p(x)[:, 0], oracle(x)
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_simplices_interpolate_exactly():
    """At every corner the law of every simplex around it gives the value, as rationals."""
    p = delaunay(3, 30, 0)
    for corners, law in zip(p.mesh.simplices, p.laws.integer()[:, 0], strict=True):
        for v in corners:
            x = [Fraction(c) for c in p.mesh.points[v]]
            value = sum(g * c for g, c in zip(law, x, strict=False)) + law[-2]
            assert Fraction(value) / law[-1] == Fraction(p.mesh.values[v, 0])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_grid_has_its_values_at_the_nodes(n):
    """A grid function has m^n n! simplices a box and the table's values at the nodes."""
    rng = np.random.default_rng(n)
    axes = [np.sort(rng.random(3)) for _ in range(n)]
    values = rng.standard_normal((3,) * n)
    p = CPWL.from_grid(axes, values)
    nodes = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    np.testing.assert_allclose(p(nodes)[:, 0], values.ravel(), atol=1e-9)
    assert p.num_pieces == 2**n * [1, 1, 2, 6, 24][n]
    assert p.doctor().healthy


@given(
    st.integers(1, 2),
    st.data(),
)
def test_maxmin_is_max_of_min(n, data):
    """The pieces of a max-min expression give the max of the mins at rational points, exactly."""
    k = data.draw(st.integers(1, 5))
    f = data.draw(st.lists(st.lists(small, min_size=n + 1, max_size=n + 1), min_size=k, max_size=k))
    rows = data.draw(st.lists(st.lists(st.integers(0, k - 1), min_size=1), min_size=1, max_size=4))
    p = CPWL.from_maxmin(f, rows)
    points = data.draw(st.lists(st.lists(fractions, min_size=n, max_size=n), min_size=1, max_size=8))
    for x in points:
        values = [sum(a * b for a, b in zip(g, x, strict=False)) + g[-1] for g in f]
        assert p(fraction_array([x]))[0, 0] == max(min(values[m] for m in row) for row in rows)
    assert p.known.complete
    assert replace(p, known=None).doctor().healthy  # what its maker says of it is found, too


@pytest.mark.parametrize(("n", "k"), [(10, 14), (2, 100)])
def test_a_maximum_has_a_piece_for_each_member(n, k, monkeypatch):
    """Tangents of a paraboloid: one piece each, and no more programs than pairs; doubling would need 2^(k - 1)."""
    programs = _counted(monkeypatch, Probe, "interior")
    slopes = np.random.default_rng(k).integers(-50, 51, (k, n))
    laws = np.column_stack([2 * slopes, -(slopes**2).sum(axis=1)])
    p = CPWL.from_maxmin(laws.tolist(), [[i] for i in range(k)])
    assert p.num_pieces == k
    assert len(programs) <= k * k
    x = np.random.default_rng(0).uniform(-60, 60, (200, n))
    np.testing.assert_allclose(p(x)[:, 0], (x @ laws[:, :-1].T + laws[:, -1]).max(axis=1))


def test_rows_that_cut_in_vain_are_undone():
    """Eighteen minima in the plane, one after the other: pieces of one law are merged while there are few."""
    draw = np.random.default_rng(1)
    laws = draw.integers(-9, 10, (18, 3))
    rows = [sorted(draw.choice(18, 2, replace=False).tolist()) for _ in range(18)]
    p = CPWL.from_maxmin(laws.tolist(), rows)
    assert p.num_pieces <= 2 * p.merge().num_pieces
    x = draw.uniform(-20, 20, (300, 2))
    values = x @ laws[:, :-1].T + laws[:, -1]
    np.testing.assert_allclose(p(x)[:, 0], np.max([values[:, row].min(axis=1) for row in rows], axis=0), atol=1e-9)


def _counted(monkeypatch, owner, name):
    """A list that grows with each call of a method."""
    calls, real = [], getattr(owner, name)

    def counted(*args, **options):
        calls.append(name)
        return real(*args, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "w", "q"), [(1, 6, 7), (2, 5, 16), (3, 6, 42), (10, 5, 32), (100, 3, 8)])
def test_all_pieces_of_a_shallow_network_are_found(n, w, q):
    """In general position the number of cells is Zaslavsky's sum of binomials, and the values are the network's."""
    p = random_shallow(n, w, seed=4)
    assert p.num_pieces == q
    assert p.doctor().healthy
    rng = np.random.default_rng(4)
    W, b, c = rng.standard_normal((w, n)), rng.standard_normal(w), rng.standard_normal(w)
    x = np.random.default_rng(0).standard_normal((500, n)) * 3
    np.testing.assert_allclose(p(x)[:, 0], np.maximum(x @ W.T + b, 0) @ c, atol=1e-9)


def test_shallow_network_with_parallel_neurons():
    """Parallel and repeated hyperplanes are no trouble."""
    p = from_hidden_layer([[1, 0], [1, 0], [2, 0], [-1, 0]], [0, -1, 0, 3], [1, 2, "1/3", -1], "1/2")
    x = fraction_array([[k, 7] for k in range(-3, 6)])
    relu = lambda v: max(v, 0)  # noqa: E731
    expected = [
        relu(k) + 2 * relu(k - 1) + Fraction(relu(2 * k), 3) - relu(3 - k) + Fraction(1, 2) for k in range(-3, 6)
    ]
    assert p(x)[:, 0].tolist() == expected
    assert p.num_pieces == 4


def test_vector_outputs_share_pieces():
    """A function with two outputs gives both, and components are counted for each."""
    p = CPWL.from_breakpoints([0, 1], [[0, 1], [1, 1]], left_slope=[0, 0], right_slope=[1, 2])
    assert p.outputs == 2
    assert p([[3.0]]).tolist() == [[3.0, 5.0]]
    assert [len(p.representatives(j)) for j in range(2)] == [2, 2]


def test_outside_the_domain_is_nan():
    """A point outside gives NaN, never a guess; so does a point that is not finite."""
    p = delaunay(2, 100, 0)
    x = np.array([[2.0, 0.5], [np.nan, 0.5], [np.inf, 0.0], [0.5, 0.5]])
    assert np.isnan(p(x)).ravel().tolist() == [True, True, True, False]
    assert p(fraction_array([[2, 2]])).tolist() == [[None]]


def test_points_on_all_edges_are_inside():
    """Rounding on edges and corners never makes a hole."""
    p = delaunay(2, 200, 3)
    corners = p.mesh.points[p.mesh.simplices]
    middles = (corners[:, [0, 1, 2]] + corners[:, [1, 2, 0]]) / 2
    assert not np.isnan(p(middles.reshape(-1, 2))).any()
    assert not np.isnan(p(p.mesh.points[np.unique(p.mesh.simplices)])).any()


def test_a_single_point_and_shapes():
    """(n,) gives (m,), (N, n) gives (N, m), anything else is refused."""
    p = abs_sum()
    assert p([1.0, -2.0]).tolist() == [3.0]
    assert p([[1, -2]]).tolist() == [[3.0]]
    with pytest.raises(InputError, match="must be \\(N, 2\\)"):
        p([[1.0, 2.0, 3.0]])


def test_values_are_frozen():
    """The arrays of a function cannot be written."""
    p = abs_sum()
    for array in (p.polyhedra.A, p.polyhedra.b, p.laws.gradient, p.laws.offset, p.component):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


# --- Algorithm 6 ----------------------------------------------------------------------------------------------


def observed(f, seen):
    def spy(x):
        seen.append(np.array(x))
        return f(x)

    return spy


def test_oracle_is_only_asked_inside_the_balls():
    """Every observed point lies in one of the balls, and the laws found are right."""
    seen = []
    f = observed(lambda x: np.abs(x[:, 0]) + 2 * x[:, 1], seen)
    centers, radii = np.array([[-3.0, 1.0], [2.0, -1.0]]), np.array([1.5, 0.1])
    p = CPWL.from_oracle(f, [[[1, 0]], [[-1, 0]]], [[0], [0]], centers, radii)
    points = np.concatenate(seen)
    distance = np.linalg.norm(points[:, None] - centers, axis=2)
    assert (distance <= radii).any(axis=1).all()
    np.testing.assert_allclose(p([[-7.0, 3.0], [4.0, 1.0]])[:, 0], [13.0, 6.0], rtol=1e-12)


def test_oracle_may_take_single_points():
    """A function of one point works too, also with two outputs."""
    p = CPWL.from_oracle(lambda x: (abs(x[0]), x[0]), [[[1]], [[-1]]], [[0], [0]], [[-2], [2]], [1, 1])
    np.testing.assert_allclose(p([[-3.0]]), [[3.0, -3.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"radii": [1, 3]}, "the ball of piece 1 is not inside the piece: x = \\(-1\\)"),
        ({"radii": [0, 1]}, "the ball of piece 0 must have a positive radius, not 0"),
        ({"radii": [1, -1]}, "the ball of piece 1 must have a positive radius, not -1"),
        ({"f": lambda x: x[:, 0] ** 2}, "`f` is not affine on the ball of piece 0: at x = "),
        ({"f": lambda x: np.where(x[:, 0] < -1.9, 0.0, x[:, 0])}, "`f` is not affine on the ball of piece 0"),
        ({"f": lambda x: x[:, 0] * np.nan}, "`f` is not finite at x = "),
        ({"centers": [[-2], [2], [3]]}, "`centers` must be \\(2, n\\)"),
    ],
)
def test_oracle_with_bad_balls_is_refused(change, message):
    """A ball that sticks out, a radius <= 0, or an `f` that is not affine there: named, with a point."""
    given = {"f": lambda x: abs(x[:, 0]), "centers": [[-2], [2]], "radii": [1, 1]} | change
    with pytest.raises(InputError, match=message) as caught:
        CPWL.from_oracle(given["f"], [[[1]], [[-1]]], [[0], [0]], given["centers"], given["radii"])
    assert "shape" in message or "centers" in message or "point" in caught.value.details


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CPWL.from_pieces([], [], [], []), "there are no pieces"),
        (lambda: CPWL.from_pieces([[[1.0]]], [[np.nan]], [[0]], [0]), "must be finite"),
        (lambda: CPWL.from_pieces([[[np.inf]]], [[1]], [[0]], [0]), "must be finite"),
        (lambda: CPWL.from_pieces([[[1]]], [[1]], [[np.nan]], [0]), "`gradient` must be finite"),
        (
            lambda: CPWL.from_pieces([[[1, 2]], [[1]]], [[1], [1]], [[0, 0], [0, 0]], [0, 0]),
            "rows of length 1",
        ),
        (lambda: CPWL.from_pieces([[[1]]], [[1, 2]], [[0]], [0]), "must be a list of rows"),
        (lambda: CPWL.from_pieces([[[1]]], [[1], [2]], [[0]], [0]), "`A` has 1 entries and `b` has 2"),
        (lambda: CPWL.from_pieces([[[1]]], [[1]], [[0], [1]], [0]), "`gradient` must be"),
        (lambda: CPWL.from_pieces([[[1]]], [["one"]], [[0]], [0]), '"one" is not a number'),
        (lambda: CPWL.from_pieces([[[1]]], [["1/0"]], [[0]], [0]), "is not a number"),
        (lambda: CPWL.from_pieces([[[0]]], [[-1]], [[0]], [0]), "its row 0 says 0 <= -1"),
        (lambda: CPWL.from_pieces([[[1]]], [[1]], [[0]], [0], tol=-1), "`tol` must be at least 0"),
        (lambda: CPWL.from_simplices([[0, 0], [1, 0]], [[0, 1, 2]], [0, 0]), "names a point outside 0..1"),
        (lambda: CPWL.from_simplices([[0, 0]], [[0, 1]], [0]), "`simplices` must be integers"),
        (lambda: CPWL.from_simplices([[0], [1]], [[0, 1]], [0]), "`values` must be"),
        (lambda: CPWL.from_simplices([[0], [1]], np.zeros((0, 2), int), [0, 1]), "there are no pieces"),
        (lambda: CPWL.from_breakpoints([2, 0, 1], [0, 0, 0]), "`x` must increase, or decrease"),
        (lambda: CPWL.from_breakpoints([1], [0]), "a single breakpoint needs both"),
        (lambda: CPWL.from_breakpoints([], []), "`x` must be"),
        (lambda: CPWL.from_grid([[0, 1], [1, 1]], [[0, 0], [0, 0]]), "that increase, or decrease"),
        (lambda: CPWL.from_grid([[0, 1]], [0, 0, 0]), "must start with the shape"),
        (lambda: CPWL.from_grid([[0, 1]], [0, 0], triangulation="x"), '`triangulation` must be one of "kuhn"'),
        (lambda: CPWL.from_maxmin([[1, 0]], []), "`rows` is empty"),
        (lambda: CPWL.from_maxmin([[1, 0]], [[1]]), "must name components 0..0"),
        (lambda: CPWL.from_maxmin([1, 0], [[0]]), "`components` must be"),
    ],
)
def test_bad_data_is_refused_at_the_door(make, message):
    """One clear sentence for each mistake that needs no linear program to see."""
    with pytest.raises(InputError, match=message):
        make()


def test_axes_that_go_down_are_the_same_table_read_from_the_other_end():
    """Values belong to their coordinates, in whatever direction these are listed."""
    up = CPWL.from_grid([[0, 1, 3], ["1/3", 2]], [[0, 1], [5, 2], [4, 4]])
    down = CPWL.from_grid([[3, 1, 0], [2, "1/3"]], [[4, 4], [2, 5], [1, 0]])
    assert equal(up, down)
    line = CPWL.from_breakpoints([0, 1, 3], [0, 5, 4], left_slope=0)
    assert equal(line, CPWL.from_breakpoints([3, 1, 0], [4, 5, 0], left_slope=0))


_HOLE = np.ma.masked_equal([[0.0, 1.0], [2.0, 9.0]], 9.0)
_ROW = np.ma.masked_equal([0.0, 9.0], 9.0)


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: CPWL.from_grid([[0, 1], [0, 1]], _HOLE), "values[1, 1]"),
        (lambda: CPWL.from_grid([[0, 1], _ROW], [[0, 0], [0, 0]]), "axes[1][1]"),
        (lambda: CPWL.from_grid([[0, 1], [0, 1]], [[0, 0], _ROW]), "values[1, 1]"),
        (lambda: CPWL.from_simplices([[0], [1]], [[0, 1]], _ROW), "values[1]"),
        (lambda: CPWL.from_simplices(_HOLE, [[0, 1, 1]], [0, 1]), "points[1, 1]"),
        (lambda: CPWL.from_breakpoints([0, 1], _ROW), "y[1]"),
        (lambda: CPWL.from_pieces([_HOLE], [[1, 1]], [[0, 0]], [0]), "A[1, 1]"),
        (lambda: CPWL.from_maxmin(_HOLE, [[0]]), "components[1, 1]"),
        (lambda: from_interp([0, 1], _ROW), "y[1]"),
        (lambda: from_scipy(Delaunay([[0, 0], [1, 0], [0, 1]]), np.ma.masked_equal([1, 2, 9], 9)), "values[2]"),
        (lambda: from_regions([{"A": [[1]], "b": [1], "C": _ROW[1:, None], "d": [0]}]), "C[0][0, 0]"),
        (lambda: from_weights([_HOLE, [0, 0]]), "W1[1, 1]"),
        (lambda: Network([(_HOLE, [0, 0])]), "[1, 1]"),
        (lambda: CPWL.from_breakpoints([0, 1], [0, 1])(_ROW), "x[1]"),
        (lambda: Network([([[1]], [0])])(_ROW[:, None]), "x[1, 0]"),
    ],
)
def test_what_is_masked_is_no_number(make, place):
    """NumPy keeps a number under every mask, often 1e20: it is not data, and it is refused with its place."""
    with pytest.raises(InputError, match=re.escape(place) + "` is masked"):
        make()


def test_a_number_that_is_not_finite_is_refused_with_its_row_and_column():
    """As in the table that was given, not as in the list of its points."""
    with pytest.raises(InputError, match=re.escape("`values[1, 0]` is nan")):
        CPWL.from_grid([[0, 1], [0, 1]], [[0, 0], [np.nan, 0]])


def test_rows_of_zeros_say_nothing():
    """0.x <= 1 is dropped without a word; the piece is the whole line."""
    p = CPWL.from_pieces([[[0]]], [[1]], [[2]], [3])
    assert p([[5.0]]).tolist() == [[13.0]]


def test_flat_simplices_are_dropped_with_a_warning():
    """A simplex without interior does no harm."""
    points = [[0, 0], [1, 0], [2, 0], [0, 1]]
    with pytest.warns(CpwlWarning, match="1 of 2 simplices have no interior"):
        p = CPWL.from_simplices(points, [[0, 1, 2], [0, 2, 3]], [0, 1, 2, 3])
    assert p.num_pieces == 1


WRONG = {
    "p.restrict(domain=.., box=..)": lambda p: p.restrict([[1, 0]], [2]),
    "p.clip(low, high)": lambda p: p.clip(0, 1, 2),
    "p.approximate(within)": lambda p: p.approximate(),
    "p.range(domain=.., box=.., output=..)": lambda p: p.range(bx=(0, 1)),
    "p.compose(q, outside=..)": lambda p: p.compose(p, "drop"),
    "p(x)": lambda p: p(0.0, 1.0),
    "p.named(names, units)": lambda p: p.named(["x"], [""], 3),
    "p.doctor(executor=..)": lambda p: p.doctor(2),
    "CPWL.from_grid(axes, values, triangulation=..)": lambda _: CPWL.from_grid([[0, 1]]),
    "CPWL.from_breakpoints(x, y, left_slope=.., right_slope=..)": lambda _: CPWL.from_breakpoints([0], [1], 2),
}


@pytest.mark.parametrize("usage", WRONG)
def test_a_wrong_call_says_what_to_write(usage):
    """Too many arguments, too few, or names that do not exist: the error has the call as it is written."""
    with pytest.raises(InputError, match=re.escape(f"write `{usage}`")):
        WRONG[usage](CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))


def test_every_public_method_answers_a_wrong_call():
    """With a name that no method has; an error from inside a method is not taken for a wrong call."""
    p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    methods = [name for name in dir(CPWL) if name[0] != "_" and callable(getattr(p, name))]
    assert len(methods) > 30
    for name in methods:
        with pytest.raises(InputError, match=re.escape("write `")):
            getattr(p, name)(no_such_name=1)
    with pytest.raises(TypeError, match="inside"):
        CPWL.from_oracle(_failing, [[[1]]], [[1]], [[0]], [1])


def _failing(_):
    raise TypeError("inside")


@pytest.mark.parametrize("module", [cpwl, answers])
def test_every_declared_method_has_its_algorithm(module):
    """A method without a body is attached: it takes the declared arguments, and has the declared name and docstring."""
    kinds = [kind for kind in ast.parse(inspect.getsource(module)).body if isinstance(kind, ast.ClassDef)]
    methods = [(kind, node) for kind in kinds for node in kind.body if isinstance(node, ast.FunctionDef)]
    declared = [(getattr(module, kind.name), node) for kind, node in methods if _is_docstring(node.body)]
    assert declared
    for kind, node in declared:
        method = getattr(kind, node.name)
        assert method.__closure__, f"{method.__qualname__} is not attached"
        algorithm = inspect.getclosurevars(method).nonlocals["algorithm"]
        shape = [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()][1:]
        given = [(p.name, p.kind, p.default) for p in inspect.signature(algorithm).parameters.values()][1:]
        assert shape == given[: len(shape)] or node.name.startswith("__r"), method.__qualname__
        assert method.__qualname__ == f"{kind.__name__}.{node.name}"
        assert method.__doc__ == ast.get_docstring(node, clean=False)


def _is_docstring(body):
    return len(body) == 1 and isinstance(body[0], ast.Expr)
