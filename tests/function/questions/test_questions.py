"""Every question against an independent computation: programs by scipy, hulls by Qhull, brute force, sampling."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

import cpwl
from cpwl import CPWL
from cpwl.exact.rational import fraction_array
from cpwl.function.questions.sets import image
from cpwl.geometry.probe import Probe
from support.functions import abs_sum, delaunay, five_pieces
from support.strategies import functions

few = settings(max_examples=4)
dims = pytest.mark.parametrize("n", [1, 2, 3])


def largest_by_programs(p, sense=1, rows=None):
    """The largest value piece by piece, by scipy; infinite if a program is unbounded."""
    best = -np.inf
    for body, law in zip(p.polyhedra, p.laws.coefficients()[:, 0], strict=True):
        A, b = (body.A, body.b) if rows is None else (np.vstack([body.A, rows[0]]), np.append(body.b, rows[1]))
        found = linprog(-sense * law[:-1], A_ub=A, b_ub=b, bounds=[(None, None)] * p.dim)
        if found.status == 3:
            return np.inf
        if found.status == 0:
            best = max(best, -found.fun + sense * law[-1])
    return best


def corners_of(body):
    """The corners of a bounded polyhedron with interior, in floats, by Qhull."""
    inner = np.asarray(Probe(0.0).interior(body), dtype=float)
    if body.dim == 1:
        ends = body.b / body.A[:, 0]
        return np.array([[ends[body.A[:, 0] < 0].max()], [ends[body.A[:, 0] > 0].min()]])
    return HalfspaceIntersection(np.column_stack([body.A, -body.b]), inner).intersections


def volume_by_hull(body):
    corners = corners_of(body)
    return float(np.ptp(corners)) if body.dim == 1 else ConvexHull(corners).volume


@dims
@few
@given(data=st.data())
def test_the_range_is_what_linear_programs_find(n, data):
    """Largest and least value by scipy; the points attain them, exactly; a ray leads on and on."""
    p = data.draw(functions(n))
    found = p.range()
    for best, sense in ((found.argmax, 1), (found.argmin, -1)):
        assert sense * float(best.value) == pytest.approx(largest_by_programs(p, sense))
        if best.ray is None:
            assert p(best.point[None])[0, 0] == best.value
        else:
            path = p(np.array([best.point + k * best.ray for k in (0, 10, 1000)]))[:, 0]
            assert sense * path[0] < sense * path[1] < sense * path[2]


@dims
@few
@given(data=st.data())
def test_the_range_on_a_domain(n, data):
    """On a box that cuts pieces."""
    p = data.draw(functions(n, bounded=True))
    box = np.vstack([np.eye(n), -np.eye(n)]), np.array([0.75] * n + [1.25] * n)
    inside = any(
        linprog(
            np.zeros(n), A_ub=np.vstack([c.A, box[0]]), b_ub=np.append(c.b, box[1]) - 1e-6, bounds=[(None, None)] * n
        ).status
        == 0
        for c in p.polyhedra
    )
    if inside:
        found = p.range(box=("-5/4", "3/4"))
        assert float(found.high) == pytest.approx(largest_by_programs(p, 1, box))
        assert float(found.low) == pytest.approx(-largest_by_programs(p, -1, box))


def norm_of(x, norm):
    return np.linalg.norm(np.asarray(x, dtype=float), {"inf": np.inf}.get(norm, norm), axis=-1)


@dims
@pytest.mark.parametrize("norm", [1, 2, "inf"])
@few
@given(data=st.data())
def test_the_lipschitz_constant_is_attained_and_bounds_samples(n, norm, data):
    """Two points attain it; no two of many sampled points exceed it; numpy agrees on every gradient."""
    p = data.draw(functions(n, m=2))
    found = p.lipschitz(norm)
    a, b = found.points
    values = p(np.array([a, b]))
    steepness = norm_of(values[1] - values[0], norm) / norm_of(b - a, norm)
    assert steepness == pytest.approx(float(found)) or float(found.high) == 0
    order = {"inf": np.inf}.get(norm, norm)
    gradients = [np.linalg.norm(g, order) for g in p.laws.gradient]
    assert float(found.high) == pytest.approx(max(gradients))
    x = np.random.default_rng(0).uniform(-2, 3, (60, n))
    y = p(x)
    x, y = x[np.isfinite(y[:, 0])], y[np.isfinite(y[:, 0])]
    for i, j in combinations(range(min(len(x), 12)), 2):
        assert norm_of(y[i] - y[j], norm) <= float(found.high) * norm_of(x[i] - x[j], norm) * (1 + 1e-9) + 1e-12


def test_a_root_is_enclosed_and_its_square_exact():
    """Slopes (1, 1): the constant is the root of 2."""
    p = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[1, 1], [0, 1]], [0, 0])
    found = p.lipschitz(2)
    assert found.square == 2
    assert found.low**2 < 2 < found.high**2
    assert found.high - found.low < Fraction(1, 10**25)
    assert p.lipschitz(2, outputs=0).square == 2


def is_convex_by_components(p, sense=1):
    """A function is convex iff on each piece its law is the largest of all: at all corners and rays, by programs."""
    laws = p.laws.coefficients()[:, 0]
    for body, law in zip(p.polyhedra, laws, strict=True):
        for other in laws:
            change = sense * (other - law)
            found = linprog(-change[:-1], A_ub=body.A, b_ub=body.b, bounds=[(None, None)] * p.dim)
            if found.status == 3 or (found.status == 0 and -found.fun + change[-1] > 1e-9):
                return False
    return True


@pytest.mark.one_in(2)
@dims
@few
@given(data=st.data())
def test_convex_and_concave(n, data):
    """As comparing all laws on all pieces says; a no shows three points in line that contradict."""
    p = data.draw(functions(n))
    for f in (p, cpwl.maximum(p, *(CPWL.from_maxmin(row[None], [[0]]) for row in np.eye(n + 1, dtype=int)[:2]))):
        for ask, sense in ((f.is_convex, 1), (f.is_concave, -1)):
            answer = ask()
            assert bool(answer) == is_convex_by_components(f, sense)
            if not answer:
                left, middle, right = answer.points
                assert (left + right == 2 * middle).all()
                ends = f(np.array([left, middle, right]))[:, 0]
                assert sense * 2 * ends[1] > sense * (ends[0] + ends[2])
                assert [v[0] for v in answer.values] == list(ends)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_maximum_of_affine_functions_is_convex(n):
    """And its negative concave, whatever the pieces; the square of a norm it is not."""
    rng = np.random.default_rng(n)
    p = CPWL.from_maxmin(rng.integers(-5, 6, (7, n + 1)), [[k] for k in range(7)])
    assert p.is_convex()
    assert (-p).is_concave()
    assert not p.is_concave()
    assert abs_sum(n).is_convex()


@dims
@few
@given(data=st.data())
def test_monotone_and_dependence(n, data):
    """Signs of slopes say it; witnesses differ in one input only and show it."""
    p = data.draw(functions(n))
    for i in range(n):
        slope = p.laws.gradient[:, 0, i]
        rising, falling = p.is_monotone(i, increasing=True), p.is_monotone(i, increasing=False)
        assert bool(rising) == (slope >= 0).all()
        assert bool(falling) == (slope <= 0).all()
        assert bool(p.is_monotone(i)) == ((slope >= 0).all() or (slope <= 0).all())
        assert bool(p.depends_on(i)) == slope.any()
        for answer, sense in ((rising, 1), (falling, -1)):
            if not answer:
                a, b = answer.points
                assert [k for k in range(n) if a[k] != b[k]] == [i]
                values = p(np.array([a, b]))[:, 0]
                assert sense * (values[1] - values[0]) * (b[i] - a[i]) < 0


@dims
@few
@given(data=st.data())
def test_integrals_by_hulls_and_quadrature(n, data):
    """Volumes by Qhull times the value at the centroid, which a cone over each facet gives: float against rational."""
    p = data.draw(functions(n, bounded=True))
    total = volume = 0.0
    for body, law in zip(p.polyhedra, p.laws.coefficients()[:, 0], strict=True):
        corners = corners_of(body)
        size = volume_by_hull(body)
        volume += size
        if n == 1:
            total += size * (law[:-1] @ corners.mean(axis=0) + law[-1])
            continue
        hull, middle = ConvexHull(corners), corners.mean(axis=0)
        for simplex in hull.simplices:
            ends = np.vstack([hull.points[simplex], middle])
            part = abs(np.linalg.det(ends[:-1] - middle)) / (1, 1, 2, 6)[n]
            total += part * (ends.mean(axis=0) @ law[:-1] + law[-1])
    assert float(p.integral()) == pytest.approx(total, abs=1e-9)
    assert float(p.mean()) == pytest.approx(total / volume, abs=1e-9)


@given(st.data())
def test_what_pieces_share_counts_once(data):
    """Boxes of one law that overlap, and a table that has a simplex twice: volumes and integrals by unit cells."""
    n = data.draw(st.integers(1, 3))
    corner = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    low = np.array(data.draw(st.lists(corner, min_size=1, max_size=4)))
    high = low + 1 + np.array(data.draw(st.lists(corner, min_size=len(low), max_size=len(low))))
    rows = [np.vstack([np.eye(n, dtype=int), -np.eye(n, dtype=int)]).tolist()] * len(low)
    law = [1, *[2] * (n - 1)]
    p = CPWL.from_pieces(rows, np.hstack([high, -low]).tolist(), [law] * len(low), [3] * len(low))
    cells = np.stack(np.meshgrid(*[np.arange(8)] * n), axis=-1).reshape(-1, 1, n)
    inside = ((low <= cells) & (cells < high)).all(axis=2).any(axis=1)
    values = (cells[inside, 0] + 0.5) @ law + 3
    assert (p.integral(), p.mean()) == (values.sum(), Fraction(values.sum()) / len(values))
    assert cpwl.ask(p).integral() == values.sum()
    assert p.level_set(0, above=True).volume == len(values)
    twice = CPWL.from_simplices([[0, 0], [1, 0], [0, 1]], [[0, 1, 2], [1, 2, 0]], [1, 2, 3])
    assert twice.integral() == 1


@pytest.mark.parametrize("n", [2, 3, 4])
def test_integral_of_a_table_is_the_mean_of_corner_values(n):
    """Random floats: sums over simplices of volume times mean, in floats, against the exact rational."""
    p = delaunay(n, 12, seed=3)
    corners = p.mesh.points[p.mesh.simplices]
    size = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / (1, 1, 2, 6, 24)[n]
    assert float(p.integral()) == pytest.approx((size * p.mesh.values[p.mesh.simplices, 0].mean(axis=1)).sum())
    assert p.restrict(box=(0, "1/2")).integral() + 0 == p.integral(box=(0, "1/2"))


@dims
@few
@given(data=st.data())
def test_level_sets_fill_the_domain(n, data):
    """Below and above a value together are all of it; volumes agree with Qhull; inner points are on their side."""
    p = data.draw(functions(n, bounded=True))
    level = Fraction(1, 3)
    below, above = p.level_set(level), p.level_set(level, above=True)
    whole = sum(volume_by_hull(body) for body in p.polyhedra)
    assert float(below.volume + above.volume) == pytest.approx(whole)
    assert float(below.volume) == pytest.approx(sum(volume_by_hull(body) for body in below.polyhedra))
    for found, sense in ((below, 1), (above, -1)):
        for body in list(found.polyhedra)[:5]:
            assert sense * p(Probe(0.0).interior(body)[None])[0, 0] <= sense * level


def test_level_set_without_bound():
    """An unbounded set has infinite volume."""
    assert abs_sum(2).level_set(1).volume == 2
    assert abs_sum(2).level_set(1, above=True).volume == np.inf


@dims
@few
@given(data=st.data())
def test_solutions_solve_and_none_is_missed(n, data):
    """All corners of all faces solve; every piece in which scipy finds a solution has one among the faces."""
    p = data.draw(functions(n, bounded=True))
    value = Fraction(1, 2)
    found = p.solve(value)
    for face in found.faces:
        assert (p(face.points)[:, 0] == value).all()
    for body, law in zip(p.polyhedra, p.laws.coefficients()[:, 0], strict=True):
        solution = linprog(np.zeros(n), body.A, body.b, law[None, :-1], [0.5 - law[-1]], bounds=[(None, None)] * n)
        if solution.status == 0:
            assert any(_hull_holds(face, solution.x) for face in found.faces)


def _hull_holds(face, x):
    """Whether a point is a convex combination of the corners of a face."""
    corners = face.points.astype(float)
    wide = np.vstack([corners.T, np.ones(len(corners))])
    found = linprog(np.zeros(len(corners)), A_eq=wide, b_eq=np.append(x, 1.0))
    return found.status == 0


def test_solutions_of_two_equations():
    """|x| + |y| = 1 and x = y: two points."""
    p = cpwl.stack([abs_sum(2), CPWL.from_maxmin([[1, -1, 0]], [[0]])])
    found = p.solve([1, 0])
    half = Fraction(1, 2)
    assert sorted(tuple(x) for x in found.points) == [(-half, -half), (half, half)]


@pytest.mark.parametrize("n", [1, 2])
@few
@given(data=st.data())
def test_distance_is_that_of_equal(n, data):
    """The largest gap as `equal` finds it in its own way; the point attains it; the mean is below it."""
    p, q = data.draw(functions(n, bounded=True)), data.draw(functions(n, bounded=True))
    try:
        p, q = p + 0 * q, q + 0 * p
    except cpwl.InputError:
        assume(False)
    found, verdict = p.distance(q), cpwl.equal(p, q)
    assert found.largest == verdict.gap
    assert abs(p(found.point[None]) - q(found.point[None]))[0, 0] == found.largest
    assert 0 <= found.mean <= found.largest
    assert (found.mean == 0) == (found.largest == 0)


@dims
@few
@given(data=st.data())
def test_the_image_and_what_holds_it(n, data):
    """Random convex combinations of corners are mapped to the same of their images; the tight box holds it all."""
    p = data.draw(functions(n, m=2, bounded=True))
    found = image(p)
    rng = np.random.default_rng(0)
    for source, target in zip(found.sources, found.points, strict=True):
        share = fraction_array(rng.integers(1, 9, len(source)))
        share = share / share.sum()
        assert (p((share @ source)[None])[0] == share @ target).all()
    every = np.concatenate(found.points)
    low, high = every.min(axis=0), every.max(axis=0)
    assert found.inside(box=(low - 1, high))
    answer = found.inside(box=(low - 1, high - Fraction(1, 10**30)))
    assert not answer
    assert (p(answer.points[0][None])[0] == answer.values[0]).all()


def test_five_pieces_by_hand():
    """The function of the paper: what can be read off its picture."""
    p = five_pieces()
    assert p.argmin().value == -np.inf
    assert p.argmax().value == np.inf
    assert p.argmax(box=(0, 1)).value == Fraction(1, 2)
    assert not p.is_convex()
    assert p.depends_on(0)
    assert p.depends_on(1)
