"""Algorithm 1 as printed: sizes by the proof of Theorem 2, values by the function, and its failures found."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpwl import CPWL, ConstructionError, InputError, bounds, certify, compile
from cpwl.exact.rational import fraction_array
from cpwl.function.order import order_components
from cpwl.geometry import generators
from shallow import random_shallow
from support.functions import abs_sum, delaunay, five_pieces, three_piece_cut
from support.twins import twin

small = st.integers(-3, 3)


def only_programs(monkeypatch):
    """Has everything decided by linear programs."""
    monkeypatch.setattr(generators, "MOST", 0)


def slow_above(p):
    """A_i for bounded or unbounded pieces in the plane, by brute force: vertices and rays in rationals."""
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    laws = p.components(0).integer()[:, 0]
    result = np.zeros((p.num_pieces, len(laws)), dtype=bool)
    for i in range(p.num_pieces):
        own = rows[start[i] : start[i + 1]]
        points, rays = vertices_and_rays(own)
        c = laws[p.component[i, 0]]
        for m, f in enumerate(laws):
            d = [f[k] * c[-1] - c[k] * f[-1] for k in range(3)]
            at = [d[0] * x + d[1] * y + d[2] >= 0 for x, y in points]
            along = [d[0] * x + d[1] * y >= 0 for x, y in rays]
            result[i, m] = all(at) and all(along)
    return result


def vertices_and_rays(rows):
    """Of a polygon without lines, by trying all pairs of rows and both directions of each row."""
    points, rays = [], []
    for k, (a, b, c) in enumerate(rows):
        for d, e, f in rows[:k]:
            det = a * e - b * d
            if det:
                x, y = Fraction(c * e - b * f, det), Fraction(a * f - c * d, det)
                if all(r[0] * x + r[1] * y <= r[2] for r in rows):
                    points.append((x, y))
        rays += [r for r in ((-b, a), (b, -a)) if all(s[0] * r[0] + s[1] * r[1] <= 0 for s in rows)]
    return points, rays


PLANAR = [five_pieces(), three_piece_cut(), abs_sum(), random_shallow(2, 4, 0), delaunay(2, 9, 0)]


@pytest.mark.parametrize("p", PLANAR)
def test_decisions_are_those_of_vertices_and_rays(p):
    """A_i by linear programs (or corners) equals brute force over vertices and rays, in rationals."""
    pointed = [i for i in range(p.num_pieces) if len(p.polyhedra[i].b) > 1]
    np.testing.assert_array_equal(order_components(p, 0).above[pointed], slow_above(p)[pointed])


def as_half_spaces(p):
    """The same function, its pieces given by rows."""
    rows = [P.integer() for P in p.polyhedra]
    laws = p.laws.integer()
    gradient = [[Fraction(v, r[0, -1]) for v in r[0, :-2]] for r in laws]
    offset = [Fraction(r[0, -2], r[0, -1]) for r in laws]
    return CPWL.from_pieces([r[:, :-1].tolist() for r in rows], [r[:, -1].tolist() for r in rows], gradient, offset)


@pytest.mark.parametrize("programs", [False, True])
@pytest.mark.parametrize("p", [delaunay(2, 15, 5), delaunay(3, 8, 1)])
def test_decisions_do_not_depend_on_how_they_are_made(p, programs, monkeypatch):
    """A table decided at its corners, and the same pieces by corners of half-spaces or by LPs: all agree."""
    if programs:
        only_programs(monkeypatch)
    one, two = order_components(p, 0), order_components(as_half_spaces(p), 0)
    np.testing.assert_array_equal(one.above, two.above)
    np.testing.assert_array_equal(one.below, two.below)
    assert one.solves == 0
    assert (two.solves > 0) == programs


@pytest.mark.parametrize("p", [random_shallow(2, 5, 1), random_shallow(3, 4, 1), five_pieces()])
def test_corners_and_rays_decide_what_linear_programs_decide(p, monkeypatch):
    """Unbounded pieces too: with corners and rays, and without."""
    fast = order_components(p, 0)
    only_programs(monkeypatch)
    slow = order_components(p, 0)
    np.testing.assert_array_equal(fast.above, slow.above)
    np.testing.assert_array_equal(fast.below, slow.below)


def test_an_executor_changes_nothing(monkeypatch):
    """Sharing the decisions out gives the same answer."""
    only_programs(monkeypatch)
    p = random_shallow(2, 5, 0)
    with ThreadPoolExecutor(2) as executor:
        shared = order_components(p, 0, executor=executor)
    np.testing.assert_array_equal(shared.above, order_components(p, 0).above)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "p",
    [
        CPWL.from_pieces([np.zeros((0, 3))], [[]], [[1, 2, 3]], [4]),
        CPWL.from_breakpoints(range(7), [0, 3, 1, 1, 5, 2, 0], left_slope=1, right_slope=0),
        abs_sum(),
        abs_sum(3),
        random_shallow(10, 5, 0),
        random_shallow(100, 3, 1),
        random_shallow(2, 5, 2),
        CPWL.from_breakpoints([0, 1], [0, 1], left_slope=1, right_slope=1),
    ],
    ids=["affine", "1-D", "abs2", "abs3", "n=10", "n=100", "lines", "one component, three pieces"],
)
def test_sizes_are_those_of_the_proof(p):
    """Depth and neurons equal the count in the proof of Theorem 2, and all are within Theorems 1 and 2."""
    c = compile(p, construction="paper")
    sizes = order_components(p, 0).above.sum(axis=1).tolist()
    exact = bounds.algorithm1(sizes)
    assert (c.sizes.depth, c.sizes.neurons) == (exact.layers, exact.neurons)
    assert c.sizes.width <= exact.width
    for name in ("theorem1", "theorem2"):
        assert c.sizes.depth <= c.bounds[name].layers
        assert c.sizes.neurons <= c.bounds[name].neurons
        # The printed width bound is 0 for one component, whatever the pieces: it means the fewest pieces.
        assert c.sizes.width <= c.bounds[name].width or p.num_components == 1


@given(st.integers(1, 2), st.data())
def test_the_network_is_the_function_at_rational_points(n, data):
    """Where the check passes, network and function agree exactly, for random max-min expressions."""
    k = data.draw(st.integers(1, 4))
    f = data.draw(st.lists(st.lists(small, min_size=n + 1, max_size=n + 1), min_size=k, max_size=k))
    rows = data.draw(st.lists(st.lists(st.integers(0, k - 1), min_size=1), min_size=1, max_size=3))
    p = CPWL.from_maxmin(f, rows)
    try:
        network = compile(p, construction="paper").network
    except ConstructionError as error:
        x = np.asarray(error.details["point"], dtype=object)
        wrong = compile(p, construction="paper", check=False).network
        assert wrong(x[None])[0, 0] > p(x[None])[0, 0]
        return
    x = fraction_array(data.draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=1, max_size=6)))
    x = x / 3
    assert (network(x) == p(x)).all()


@pytest.mark.parametrize("p", [five_pieces(), three_piece_cut(), delaunay(2, 50, 0), delaunay(3, 20, 0)])
def test_failures_are_found_with_a_witness(p):
    """Where Algorithm 1 is wrong, the error names a point at which its network exceeds the function so much."""
    with pytest.raises(ConstructionError, match='construction="auto"') as caught:
        compile(p, construction="paper")
    x = fraction_array(caught.value.details["point"])[None]
    wrong = compile(p, construction="paper", check=False).network(x)[0, 0]
    amount = caught.value.details["amount"]
    assert wrong - p(x)[0, 0] >= Fraction(1) if np.isinf(amount) else float(wrong - p(x)[0, 0]) >= amount * 0.999


def test_a_row_that_fails_only_without_bound_is_found():
    """The five-piece function: the row {0} exceeds p by more and more as y grows; an unbounded LP is a failure."""
    with pytest.raises(ConstructionError) as caught:
        compile(five_pieces(), construction="paper")
    assert np.isinf(caught.value.details["amount"])
    assert caught.value.details["piece"] == 0


def test_float_data_within_tolerance_compiles():
    """Noise of 1e-12 in rows and laws does not change the decisions."""
    rng = np.random.default_rng(0)
    p = random_shallow(2, 4, 3)
    noise = lambda a: a * (1 + 1e-13 * rng.standard_normal(a.shape))  # noqa: E731
    q = CPWL.from_pieces(
        [noise(P.A) for P in p.polyhedra],
        [noise(P.b) for P in p.polyhedra],
        noise(p.laws.gradient),
        noise(p.laws.offset),
    )
    network = compile(q, construction="paper").network
    x = rng.standard_normal((1000, 2))
    np.testing.assert_allclose(network(x), p(x), atol=1e-9)
    np.testing.assert_array_equal(order_components(q, 0).above, order_components(p, 0).above)


def test_the_network_of_float_data_is_that_of_the_exact_function_near_it():
    """A proof finds the same function, and so the distance to the data."""
    q = twin(random_shallow(3, 3, 0), 1e-13).function()
    network = compile(q, construction="paper").network
    assert network.sizes == compile(q.snap().function, construction="paper").network.sizes
    certificate = certify(q, network)
    assert certificate.proved
    assert max(certificate.error_bound) < 1e-9


def test_vector_outputs_share_the_first_layer():
    """Two outputs are two networks side by side; equal neurons of the first layer are there once."""
    one = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0)
    two = CPWL.from_breakpoints([0, 1], [[0, 0], [1, 1]], left_slope=[0, 0])
    a, b = compile(one), compile(two)
    x = np.linspace(-2, 3, 50)[:, None]
    np.testing.assert_allclose(b.network(x), two(x), atol=1e-12)
    first = [layer[0].shape[0] for layer in (a.network.layers[0], b.network.layers[0])]
    assert first[1] <= first[0]
    assert b.sizes.neurons <= b.bounds["theorem2"].neurons


def test_weights_stay_rational():
    """Exact data gives a network of rationals."""
    p = CPWL.from_breakpoints([0, "1/3"], [0, "1/7"], left_slope="-1/11")
    network = compile(p, construction="paper").network
    assert network.exact is not None
    x = fraction_array([["-22/3"], ["1/5"], [9]])
    assert (network(x) == p(x)).all()


def test_unknown_constructions_are_refused():
    """The names that exist are in the message."""
    with pytest.raises(InputError, match=r'must be one of "auto", .*"paper"'):
        compile(abs_sum(), construction="magic")


@pytest.mark.slow
def test_five_hundred_triangles_in_two_gigabytes():
    """q = 500 in the plane builds in less than 2 GB."""
    code = (
        "from support.functions import delaunay; import cpwl, resource;"
        "p = delaunay(2, 262, 0); c = cpwl.compile(p, construction='paper', check=False);"
        "print(p.num_pieces, c.sizes.neurons, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    pieces, neurons, kilobytes = map(int, out.stdout.split())
    assert pieces >= 500
    assert neurons > 300_000
    assert kilobytes < 2_000_000
