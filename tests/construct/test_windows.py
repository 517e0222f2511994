"""Windows: networks that equal tables point by point in rationals; their parts, sizes and errors."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import Delaunay

from cpwl import CPWL, ConstructionError, Network, compile, extract, mpc
from cpwl.construct.blocks import common
from cpwl.construct.windows import lowering
from cpwl.construct.windows.lifting import lift, of_table
from cpwl.construct.windows.plan import lifted, obstruction
from cpwl.exact.rational import fraction_array
from cpwl.geometry import complex as complexes
from cpwl.network.network import evaluate
from support.constructions import planned


def delaunay(n, count, seed=0, outputs=None):
    """Random points of a cube with its corners, dyadic, and whole values there: no two cells have one law."""
    rng = np.random.default_rng(seed)
    corners = np.array(np.meshgrid(*[[0, 1]] * n)).reshape(n, -1).T
    inner = np.unique(rng.integers(1, 2**10, (count, n)), axis=0)
    points = np.concatenate([corners, inner / 2**10])
    values = rng.integers(-(10**6), 10**6, (len(points), outputs) if outputs else len(points))
    if n == 1:
        order = np.argsort(points[:, 0])
        return points, np.stack([order[:-1], order[1:]], axis=1), values
    simplices = Delaunay(points).simplices
    edges = points[simplices[:, 1:]] - points[simplices[:, :1]]
    return points, simplices[np.abs(np.linalg.det(edges)) > 1e-12], values


def table(*arguments, **options):
    return CPWL.from_simplices(*(delaunay(*arguments, **options)))


def windows(p, **options):
    return compile(p, construction="windows", **options).network


def some_points(n, rng, count=40):
    return fraction_array([[Fraction(int(v), 97) for v in row] for row in rng.integers(0, 98, (count, n))])


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("n", "count"), [(1, 6), (2, 4), (2, 40), (3, 12), (3, 40), (4, 6)])
def test_equal_to_the_table(n, count):
    """At rational points the network is the function, and at its corners it has the values."""
    points, simplices, values = delaunay(n, count)
    p = CPWL.from_simplices(points, simplices, values)
    network = windows(p)
    x = some_points(n, np.random.default_rng(1))
    assert network(x).tolist() == p(x).tolist()
    assert network(fraction_array(points))[:, 0].tolist() == values.tolist()


@pytest.mark.parametrize("n", [2, 3])
def test_several_outputs_share_the_lifting(n):
    """Two outputs take less than two networks; what depends on others, or is constant, takes nothing."""
    points, simplices, values = delaunay(n, 30, outputs=2)
    more = np.column_stack([values, values[:, 0] - 2 * values[:, 1] + 5, np.full(len(values), 7)])
    p = CPWL.from_simplices(points, simplices, more)
    network = windows(p)
    x = some_points(n, np.random.default_rng(2))
    assert network(x).tolist() == p(x).tolist()
    one, two = (windows(CPWL.from_simplices(points, simplices, values[:, k])).sizes.neurons for k in (0, 1))
    both = windows(CPWL.from_simplices(points, simplices, values)).sizes.neurons
    assert network.sizes.neurons == both < 0.9 * (one + two)


def test_a_constant_needs_no_neuron():
    points, simplices, values = delaunay(2, 5)
    assert windows(CPWL.from_simplices(points, simplices, 0 * values + 3)).sizes.neurons == 0


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_any_scale_and_place(scale, shift):
    """Coordinates far from 1 and from 0, stretched along one axis; values of any size."""
    points, simplices, values = delaunay(2, 20)
    moved = (points + shift) * [scale, 1.0]
    p = CPWL.from_simplices(moved, simplices, values * scale)
    x = fraction_array(moved[simplices].mean(axis=1))
    found, meant = windows(p)(x), p(x)
    assert all(a == b for a, b in zip(found[:, 0], meant[:, 0], strict=True) if b is not None)
    assert sum(b is not None for b in meant[:, 0]) > len(simplices) / 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "count", "most"), [(2, 200, 1.62), (3, 80, 2.0), (4, 24, 2.2)])
def test_size_and_float32_error(n, count, most):
    """Neurons a cell, and an error of about what rounding the inputs to float32 costs."""
    rng = np.random.default_rng(3)
    points, simplices, _ = delaunay(n, count)
    values = np.round(rng.standard_normal(len(points)) * 2**20) / 2**20
    p = CPWL.from_simplices(points, simplices, values)
    network = windows(p, precision="float32")
    assert network.sizes.neurons <= most * p.num_pieces
    x = np.einsum("qk,qkn->qn", rng.dirichlet(np.ones(n + 1), len(simplices)), points[simplices]).astype(np.float32)
    found = evaluate(network, x)
    kappa = np.linalg.norm(p.laws.gradient[:, 0], axis=1).max() * 2.0**-24
    assert np.abs(found - p(x.astype(np.float64))).max() <= max(kappa, 1e-6 * np.ptp(values))


@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 3, 3), (2, 2, 2, 2), (2, 2, 2, 2, 2)])
def test_grids_of_kuhn_simplices_have_liftings(shape):
    values = np.random.default_rng(5).integers(-9, 10, shape)
    p = CPWL.from_grid([list(range(k)) for k in shape], values)
    x = some_points(len(shape), np.random.default_rng(6), 10)
    network = windows(p)
    assert network(x).tolist() == p(x).tolist()


@pytest.mark.slow
def test_a_large_delaunay_triangulation_has_a_lifting():
    """The corners of the cube are on one sphere: facets between them bend by no more than a linear program resolves."""
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((1500, 3)), np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T])
    p = CPWL.from_simplices(points, Delaunay(points).simplices, rng.standard_normal(len(points)))
    made = compile(p, construction="windows")
    assert made.measured is not None
    assert made.measured < 1e-9
    assert made.sizes.neurons < p.num_pieces / 2


PINWHEEL = [[0, 1, 3], [1, 3, 4], [1, 2, 4], [2, 4, 5], [2, 0, 5], [0, 5, 3], [3, 4, 5]]
CORNERS = [[4, 0], [0, 4], [0, 0], [2, 1], [1, 2], [1, 1]]


def test_simplices_without_a_lifting_are_split():
    """The smallest triangulation that is not regular: three bends around a triangle cannot all be upwards."""
    p = CPWL.from_simplices(CORNERS, PINWHEEL, [1, 2, 3, 4, 5, 9])
    cells = of_table(p.mesh, p.laws.integer())
    assert lift(cells) is None
    x = fraction_array([["1/3", "1/3"], ["3/2", "4/3"], [2, 1], [1, "5/2"]])
    assert windows(p)(x).tolist() == p(x).tolist()


def test_the_certificate_that_there_is_no_lifting():
    """Positive weights for which the jumps of any heights cancel: tried with each corner lifted alone."""
    p = CPWL.from_simplices(CORNERS, PINWHEEL, [1, 2, 3, 4, 5, 9])
    cells = of_table(p.mesh, p.laws.integer())
    error = obstruction(cells)
    weights = error.details["weights"]
    assert min(weights) > 0
    for lifted_corner in range(6):
        heights = [Fraction(int(v == lifted_corner)) for v in range(6)]
        total = Fraction(0)
        for (a, b), factor in zip(error.details["facets"], weights, strict=True):
            total += factor * jump(p, heights, a, b)
        assert total == 0


def jump(p, heights, a, b):
    """By how much the law on simplex `a` is below the height of the corner of `b` beyond, times a determinant."""
    points = [[Fraction(v) for v in x] + [Fraction(1)] for x in CORNERS]
    one, two = p.mesh.simplices[a].tolist(), p.mesh.simplices[b].tolist()
    (beyond,) = set(two) - set(one)

    def determinant(rows):
        (a, b, c), (d, e, f), (g, h, i) = rows
        return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)

    whole = determinant([points[v] for v in one])
    shares = [determinant([points[beyond if w == v else w] for w in one]) / whole for v in one]
    return abs(whole) * (heights[beyond] - sum(s * heights[v] for s, v in zip(shares, one, strict=True)))


def network_on_a_box(sizes, seed=0):
    rng = np.random.default_rng(seed)
    layers = [(rng.integers(-9, 10, (b, a)), rng.integers(-9, 10, b)) for a, b in pairwise(sizes)]
    return extract(Network(layers), box=([-1] * sizes[0], [1] * sizes[0]))


@pytest.mark.parametrize("sizes", [(1, 5, 1), (2, 6, 1), (2, 5, 4, 1), (3, 5, 1), (3, 4, 3, 1), (2, 8, 6, 2)])
def test_polyhedral_cells(sizes):
    """Networks on a box as functions of their regions."""
    p = network_on_a_box(sizes)
    assert p.mesh is None
    x = some_points(p.dim, np.random.default_rng(4))
    assert windows(p)(x).tolist() == p(x).tolist()


def test_pieces_without_bound_are_refused():
    with pytest.raises(ConstructionError, match="bounded"):
        windows(CPWL.from_maxmin([[1, 0, 0], [0, 1, 0]], [[0], [1]]))


@pytest.mark.parametrize(("q", "n"), [(40, 1), (200, 2), (200, 3)])
def test_colours_are_those_of_comparing_all_boxes(q, n):
    """Large boxes first, each with the first colour that no box it overlaps has: as a loop over all boxes says."""
    rng = np.random.default_rng(q)
    low = rng.integers(0, 30, (q, n)).astype(float)
    high = low + rng.integers(0, 6, (q, n))
    slow = np.full(q, -1)
    for i in np.argsort(-np.prod(high - low, axis=1), kind="stable"):
        taken = set(slow[((low < high[i]) & (high > low[i])).all(axis=1)].tolist())
        slow[i] = next(k for k in range(q) if k not in taken)
    np.testing.assert_array_equal(common.colours(low, high), slow)


def test_what_fails_near_by_is_not_looked_at_everywhere(monkeypatch):
    """Blocks look at all corners of the mesh about once for each cell that they take."""
    looks, less = [], lowering._Growth._less
    monkeypatch.setattr(
        lowering._Growth, "_less", lambda self, slack, a, b, at: looks.append(at) or less(self, slack, a, b, at)
    )
    p = CPWL.from_simplices(*delaunay(2, 120))
    planned("windows", p)
    assert 0 < sum(isinstance(at, slice) for at in looks) <= p.num_pieces


@pytest.mark.slow
def test_pieces_that_are_cut_too_often_are_left_to_others(monkeypatch):
    """A law with limits on the rate of its input would be cut into thousands of cells, and a lattice has 42 neurons."""
    law = mpc([[1, 1], [0, 1]], [["0.5"], [1]], 1, "0.1", 2, u=(-1, 1), x=(-5, 5), du=("-0.5", "0.5")).solve()
    asked, decide = [], complexes._overlap
    monkeypatch.setattr(complexes, "_overlap", lambda *cells: asked.append(1) or decide(*cells))
    made = compile(law, certify=True)
    assert made.certificate.proved
    assert made.sizes.neurons <= 42
    reason = f"not planned: would take more than 286 cells, into which {law.num_pieces} pieces are cut"
    assert made.alternatives["windows"].reason == f'{reason}; ask for construction="windows"'
    assert len(asked) < 1_000  # about 18,500 for all of them


@pytest.mark.parametrize("size", [4, 6])
def test_grids_have_a_lifting_whatever_their_size(size):
    """Kuhn's triangulation is regular; its diagonal facets do not bend under squares, up to rounding at six points."""
    values = np.random.default_rng(0).integers(-9, 10, (size,) * 3)
    found = lifted(CPWL.from_grid([range(size)] * 3, values))
    assert found.lifting.laws.shape[1] == len(found.cells.corners)
