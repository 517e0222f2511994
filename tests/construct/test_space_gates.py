"""Gate networks in any dimension: equal to the function in rationals, and of the size that the formula says."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial import Delaunay

from cpwl import CPWL, certify, compile, solve_mpqp
from cpwl.construct.gates import lowering as gate_bounds
from cpwl.construct.gates.plan import peel
from cpwl.errors import ConstructionError
from cpwl.exact.rational import fraction_array
from cpwl.function.bends.table import bend_planes, neighbours
from cpwl.geometry import complex as complexes
from cpwl.search import family_cover
from shallow import from_hidden_layer
from support.constructions import planned, space_gates
from support.functions import abs_sum, delaunay, five_pieces


def interpolant(n, count, seed, *, hull=None):
    """Random integer values on the Delaunay triangulation of random integer points and a simplex around them."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(100, 900, size=(count, n))
    around = np.array([[0] * n, *(np.eye(n, dtype=int) * 1000 * (n + 1)).tolist()]) if hull is None else hull
    points = np.concatenate([around, inner])
    values = rng.integers(-99, 99, size=len(points))
    return CPWL.from_simplices(points, Delaunay(points).simplices, values)


def grid(n, m, seed):
    """Random values on a Kuhn grid."""
    values = np.random.default_rng(seed).integers(-99, 99, size=(m + 1,) * n)
    return CPWL.from_grid([list(range(m + 1))] * n, values)


def max_min(n, k, rows, seed):
    """A random max-min expression on R^n."""
    draw = random.Random(seed)
    components = [[draw.randint(-9, 9) for _ in range(n + 1)] for _ in range(k)]
    return CPWL.from_maxmin(components, [sorted(draw.sample(range(k), 3)) for _ in range(rows)])


def shallow(n, width, seed):
    """A random network with one hidden layer as a function."""
    draw = random.Random(seed)
    weight = [[draw.randint(-9, 9) for _ in range(n)] for _ in range(width)]
    output = [draw.choice([-2, -1, 1, 3]) for _ in range(width)]
    return from_hidden_layer(weight, [draw.randint(-9, 9) for _ in range(width)], output)


def in_a_plane():
    """A function of 3 inputs that bends in two directions only, plus an affine part in the third."""
    draw = random.Random(4)
    laws = [[a + b, a - b, 3, c] for a, b, c in ([draw.randint(-9, 9) for _ in range(3)] for _ in range(6))]
    return CPWL.from_maxmin(laws, [[0, 1, 2], [3, 4], [4, 5]])


def pyramid(centre):
    """Four affine functions of which the least is a bump around a point of space, above 0 near it only."""
    up = [[4 * (i == j) for j in range(3)] + [8 - 4 * centre[i]] for i in range(3)]
    return [*up, [-3, -3, -3, 8 + 3 * sum(centre)]]


def hinges_and_bumps(hinges, centres):
    """max(0, bumps) plus a sum of hinges on R^3, as a max-min expression."""
    components, rows = [], []
    for chosen in itertools.product((0, 1), repeat=len(hinges)):
        base = [sum(h[k] for h, on in zip(hinges, chosen, strict=True) if on) for k in range(4)]
        for member in [[[0] * 4], *map(pyramid, centres)]:
            rows.append([len(components) + k for k in range(len(member))])
            components += [[u + v for u, v in zip(base, f, strict=True)] for f in member]
    return CPWL.from_maxmin(components, rows)


def on_one_mesh(*values):
    """Several outputs on the Delaunay triangulation of random points of space."""
    points = np.random.default_rng(3).integers(0, 100, size=(12, 3))
    return CPWL.from_simplices(points, Delaunay(points).simplices, np.stack(values, axis=1))


TABLES = {
    "space": lambda: interpolant(3, 6, 0),
    "more space": lambda: interpolant(3, 12, 1),
    "four": lambda: interpolant(4, 3, 2),
    "plane": lambda: interpolant(2, 12, 3),
    "grid 2": lambda: grid(3, 2, 4),
    "grid 3": lambda: grid(3, 3, 5),
}
EVERYWHERE = {
    "max-min 5": lambda: max_min(3, 5, 3, 2),
    "max-min 6": lambda: max_min(3, 6, 3, 1),
    "shallow": lambda: shallow(3, 5, 0),
    "abs": lambda: abs_sum(3),
    "five pieces": five_pieces,
}


def table_points(p, draw):
    """All vertices, and random points of every cell and of every facet, with the values there."""
    mesh, points, values = p.mesh, [], []
    corners = [[Fraction(int(v), int(row[-1])) for v in row[:-1]] for row in mesh.corners]
    heights = [Fraction(float(v)) for v in mesh.values[:, 0]]
    for simplex in mesh.simplices.tolist():
        size = len(simplex)
        weights = [[int(i == k) for i in range(size)] for k in range(size)]
        weights += [[0 if i == k else draw.randint(1, 9) for i in range(size)] for k in range(size)]
        weights.append([draw.randint(1, 99) for _ in range(size)])
        for weight in weights:
            total = sum(weight)
            points.append(
                [sum(w * corners[v][c] for w, v in zip(weight, simplex, strict=True)) / total for c in range(p.dim)]
            )
            values.append(sum(w * heights[v] for w, v in zip(weight, simplex, strict=True)) / total)
    return np.array(points, dtype=object), values


def rational_points(p, draw, count):
    """Random rational points near and far."""
    scale = [draw.choice([1, 10, 100]) for _ in range(count)]
    return np.array([[Fraction(draw.randint(-40, 40), 7) * s for _ in range(p.dim)] for s in scale], dtype=object)


def formula(p, made):
    """docs/theory/local_gates.md: F + n + (n - 1) + sum (c - 1) g_c on a bounded domain."""
    return made.planes + p.dim + (p.dim - 1) + sum((c - 1) * count for c, count in made.gates.items())


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", TABLES)
def test_equals_table(name):
    """The network is the interpolant at all vertices, and at points of every cell and every facet, exactly."""
    p = TABLES[name]()
    points, values = table_points(p, random.Random(1))
    assert space_gates(p).network(points)[:, 0].tolist() == values


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", EVERYWHERE)
def test_equals_everywhere(name):
    """On all of R^n the network is the function, exactly, near and far."""
    p = EVERYWHERE[name]()
    points = rational_points(p, random.Random(2), 150)
    assert space_gates(p).network(points).tolist() == p(points).tolist()


@pytest.mark.parametrize("name", ["max-min 5", "max-min 6"])
def test_equals_on_facets(name):
    """On R^n the network is the function also where two components meet."""
    p, draw = EVERYWHERE[name](), random.Random(3)
    laws = p.components().integer()[:, 0]
    points = []
    for x in rational_points(p, draw, 40):
        f, g = draw.sample(range(len(laws)), 2)
        row = laws[f, :-1] * laws[g, -1] - laws[g, :-1] * laws[f, -1]
        k = next(k for k, v in enumerate(row[:-1]) if v)
        x[k] -= Fraction(sum(a * b for a, b in zip(row, [*x, 1], strict=True))) / row[k]
        points.append(x)
    points = np.array(points, dtype=object)
    assert space_gates(p).network(points).tolist() == p(points).tolist()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["more space", "four", "plane", "grid 3"])
def test_count(name):
    """On a bounded domain the network has exactly as many neurons as the formula says."""
    p = TABLES[name]()
    made = space_gates(p)
    assert made.network.sizes.neurons == formula(p, made)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", {**TABLES, **EVERYWHERE})
def test_depth(name):
    """There are at most n hidden layers."""
    p = {**TABLES, **EVERYWHERE}[name]()
    assert space_gates(p).network.sizes.depth <= p.dim + 1


def test_kuhn_size():
    """A Kuhn grid takes at most 2 m^2 + 11 m neurons, which is fewer than it has cells."""
    m = 4
    assert space_gates(grid(3, m, 0)).network.sizes.neurons <= 2 * m**2 + 11 * m


def test_orthant():
    """An unbounded domain that is not all of R^n: max(x, y, z, 1) on the positive orthant, its pieces cut there."""
    whole = CPWL.from_maxmin([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], [[0], [1, 2], [3]])
    A, b = [], []
    for piece in whole.polyhedra:
        rows = [*piece.integer().tolist(), [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0]]
        A.append([row[:-1] for row in rows])
        b.append([row[-1] for row in rows])
    laws = whole.laws.integer()[:, 0].tolist()
    p = CPWL.from_pieces(A, b, [law[:-2] for law in laws], [law[-2] for law in laws])
    points = np.abs(rational_points(p, random.Random(6), 150))
    assert space_gates(p).network(points).tolist() == whole(points).tolist()


def test_hanging_node():
    """A triangulation with a hanging vertex is cut until its pieces meet face to face."""
    points = [[0, 0], [2, 0], [0, 2], [2, 2], [1, 1]]
    p = CPWL.from_simplices(points, [[0, 1, 2], [1, 3, 4], [2, 3, 4]], [0, 2, 2, 5, 2])
    at, values = table_points(p, random.Random(0))
    made = space_gates(p)
    assert made.cells > p.num_pieces
    assert made.network(at)[:, 0].tolist() == values


def test_hinges_only():
    """A function that bends along whole planes needs no gate, one hinge a plane and at most n more neurons."""
    made = space_gates(shallow(3, 5, 1))
    assert made.gates == {}
    assert made.planes == 5
    assert made.network.sizes.neurons <= 5 + 3


def test_plane_only():
    """A function of 3 inputs that bends in a plane is one of the plane: it has its depth, and is the function."""
    p = in_a_plane()
    network = planned("gates", p).build()
    assert network.inputs == 3
    assert network.sizes.depth <= 3
    points = rational_points(p, random.Random(2), 150)
    assert network(points).tolist() == p(points).tolist()


def test_affine():
    """A function without a bend is one affine layer."""
    p = CPWL.from_grid([[0, 1], [0, 1], [0, 1]], [[[x + 2 * y - z for z in (0, 1)] for y in (0, 1)] for x in (0, 1)])
    made = space_gates(p)
    assert made.network.sizes.neurons == 0
    assert made.network([[1.0, 1.0, 0.0]]).tolist() == [[3.0]]


def test_vector_outputs():
    """Several outputs come from one network that shares its first layer."""
    rng = np.random.default_rng(0)
    p = CPWL.from_grid([[0, 1, 2]] * 3, rng.integers(-9, 9, size=(3, 3, 3, 2)))
    made = space_gates(p)
    points = np.array([[Fraction(random.Random(k).randint(0, 20), 10) for _ in range(3)] for k in range(50)])
    points = np.array([np.roll(x, k) for k, x in enumerate(points)], dtype=object)
    assert made.network(points).tolist() == p(points).tolist()
    alone = [CPWL.from_simplices(p.mesh.points, p.mesh.simplices, p.mesh.values[:, j]) for j in range(2)]
    assert made.network.sizes.neurons < sum(space_gates(q).network.sizes.neurons for q in alone)


def test_dependent_outputs():
    """An output that is a combination of others, up to an affine function, costs no hinge and no gate."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, size=(2, 12))
    one, two = on_one_mesh(a), on_one_mesh(a, b)
    sizes = {p: space_gates(p).network.sizes.neurons for p in (one, two)}
    assert space_gates(on_one_mesh(a, 2 * a)).network.sizes.neurons == sizes[one]
    assert space_gates(on_one_mesh(a, b, a + b)).network.sizes.neurons == sizes[two]
    assert space_gates(on_one_mesh(a, a + one.mesh.points[:, 0].astype(int))).gates == space_gates(one).gates


@pytest.mark.one_in(2)
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_outputs_together_are_right(share):
    """Outputs that need gates at different faces are right together, exactly, and take no more than apart."""
    rng = np.random.default_rng(2)
    values = rng.integers(-9, 9, size=(3, 12)) * (rng.random((3, 12)) < share)
    p = on_one_mesh(*values)
    made = space_gates(p)
    points = fraction_points(p, random.Random(0))
    assert made.network(points).tolist() == p(points).tolist()
    apart = [space_gates(on_one_mesh(v)).network.sizes.neurons for v in values]
    assert made.network.sizes.neurons <= sum(apart)


def fraction_points(p, draw):
    """A rational point of each simplex of a table."""
    mesh, points = p.mesh, []
    corners = [[Fraction(int(v), int(row[-1])) for v in row[:-1]] for row in mesh.corners]
    for simplex in mesh.simplices.tolist():
        weight = [draw.randint(1, 9) for _ in simplex]
        points.append(
            [sum(w * corners[v][c] for w, v in zip(weight, simplex, strict=True)) / sum(weight) for c in range(p.dim)]
        )
    return np.array(points, dtype=object)


def test_a_hinge_more_is_a_neuron_more():
    """However a hinge through all of space cuts the pieces of a bump, it costs one neuron."""
    alone = space_gates(hinges_and_bumps([], [(0, 0, 0)])).network.sizes.neurons
    p = hinges_and_bumps([[-3, 1, 2, 1]], [(0, 0, 0)])
    made = space_gates(p)
    assert made.network.sizes.neurons == alone + 1
    points = rational_points(p, random.Random(5), 100)
    assert made.network(points).tolist() == p(points).tolist()


def test_two_bumps_take_no_more_than_each():
    """Two bumps far apart take no more neurons than the two alone, and share what carries sums."""
    alone = space_gates(hinges_and_bumps([], [(0, 0, 0)])).network.sizes.neurons
    assert space_gates(hinges_and_bumps([], [(0, 0, 0), (40, 7, 3)])).network.sizes.neurons < 2 * alone


def test_peeling():
    """What comes off as hinges and what is left add up to the function, exactly, and fewer pieces are left."""
    p = hinges_and_bumps([[-3, 1, 2, 1]], [(0, 0, 0)])
    peeled = peel(p, neighbours(p))
    assert peeled.rest.num_pieces < p.num_pieces
    x = rational_points(p, random.Random(6), 60)
    total = peeled.rest(x)[:, 0]
    for (*a, c), (jump,) in peeled.hinges.items():
        total = total + jump * np.maximum((x * np.array(a, dtype=object)).sum(axis=1) + c, 0)
    assert total.tolist() == p(x)[:, 0].tolist()


def test_nothing_to_peel():
    """Where every hyperplane of bends cuts a piece nothing comes off."""
    p = hinges_and_bumps([], [(0, 0, 0)])
    assert peel(p, neighbours(p)) is None


def test_cover_is_one():
    """Every element gets a set that contains it, and few sets are taken: as few as possible where that is known."""
    draw = random.Random(0)
    for _ in range(20):
        sets = {k: sorted(draw.sample(range(9), draw.randint(1, 4))) for k in range(8)} | {8: list(range(0, 9, 2))}
        sets |= {9 + k: [k] for k in range(9)}
        chosen = family_cover(sets)
        assert all(e in sets[key] for e, key in chosen.items())
        assert sorted(chosen) == list(range(9))
        least = next(
            k
            for k in range(1, 10)
            if any(
                set().union(*(sets[key] for key in some)) == set(range(9)) for some in itertools.combinations(sets, k)
            )
        )
        assert len(set(chosen.values())) == least


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", {**TABLES, **EVERYWHERE})
def test_plan(name):
    """The plan of gates says the sizes exactly, before the network is built."""
    plan = planned("gates", {**TABLES, **EVERYWHERE}[name]())
    assert plan.construction == "gates"
    assert plan.sizes == plan.build().sizes


def test_predicted_rounding():
    """Float32 evaluation is off by the predicted magnitude, up to a factor of 10 either way."""
    p = delaunay(3, 16, 2)
    plan = planned("gates", p)
    layers = [(w.astype(np.float32), b.astype(np.float32)) for w, b in plan.build().layers]
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(4), (20, p.num_pieces))
    x = np.einsum("mqk,qkn->mqn", share, p.mesh.points[p.mesh.simplices]).reshape(-1, 3).astype(np.float32)
    h = x.T
    for k, (weight, bias) in enumerate(layers):
        h = weight @ h + bias[:, None]
        h = np.maximum(h, 0) if k + 1 < len(layers) else h
    error = np.nanmax(np.abs(h[0].astype(np.float64) - p(x.astype(np.float64))[:, 0]))
    predicted = plan.magnitude * 2.0**-24
    assert predicted / 10 < error < predicted * 10


def test_progress():
    """Progress is told, and an interrupt from within it ends the work."""
    seen = []
    planned("gates", TABLES["space"](), progress=lambda done, total, what: seen.append((done, total, what)))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1]

    def stop(done, _total, _what):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planned("gates", TABLES["space"](), progress=stop)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "count", "seed"), [(3, 12, 0), (3, 13, 1), (4, 8, 2), (4, 9, 3)])
def test_random_tables_are_proved(n, count, seed):
    """Gates of random tables are not only right: there is a proof."""
    p = delaunay(n, count, 1000 + seed)
    assert certify(p, planned("gates", p).build()).error_bound == 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("n", "counts"), [(3, (12, 16, 20, 26)), (4, (10, 11, 12))])
def test_more_random_tables_are_proved(n, counts, seed):
    """The same for larger tables, with 20 to 100 cells."""
    p = delaunay(n, counts[seed % len(counts)], 1000 + seed)
    assert certify(p, planned("gates", p).build()).error_bound == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["space", "grid 2", "max-min 6"])
def test_multipliers_matter(name, monkeypatch):
    """With every multiplier halved the network is wrong somewhere."""
    p = {**TABLES, **EVERYWHERE}[name]()
    honest = gate_bounds.multiplier

    def halved(low, high):
        sign, factor = honest(low, high)
        return sign, factor / 2

    monkeypatch.setattr(gate_bounds, "multiplier", halved)
    network = space_gates(p).network
    if p.mesh is not None:
        points, values = table_points(p, random.Random(1))
    else:
        points = rational_points(p, random.Random(2), 400)
        values = p(points)[:, 0].tolist()
    assert network(points)[:, 0].tolist() != values


def test_floats_are_exact():
    """A table of floats is compiled as the rationals that they are."""
    rng = np.random.default_rng(5)
    points = rng.random((9, 3))
    p = CPWL.from_simplices(points, Delaunay(points).simplices, rng.standard_normal(9))
    at, values = table_points(p, random.Random(0))
    assert space_gates(p).network(at)[:, 0].tolist() == values


def test_same_bytes():
    """The same function gives the same weights."""
    one, two = (space_gates(interpolant(3, 8, 7)).network for _ in range(2))
    for (a, x), (b, y) in zip(one.exact, two.exact, strict=True):
        assert a.data.tolist() == b.data.tolist()
        assert x.tolist() == y.tolist()


def test_inexact_refused():
    """Pieces in floats that only nearly fit are refused, with what to do."""
    p = CPWL.from_pieces([[[0.3]], [[-0.3]]], [[0.1], [-0.1]], [[0.0], [0.3]], [0.0, -0.1])
    with pytest.raises(ConstructionError, match="snap"):
        space_gates(p)


def test_jump_refused():
    """Exact laws that do not agree on a common facet are refused with the two cells."""
    p = CPWL.from_pieces(
        [[[1, 0]], [[-1, 0], [0, 1]], [[-1, 0], [0, -1]]], [[0], [0, 0], [0, 0]], [[0, 0], [1, 0], [1, 1]], [0, 1, 0]
    )
    with pytest.raises(ConstructionError, match="differ on the facet"):
        space_gates(p)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "bound"), [(79, 2.9), (165, 2.9)])
def test_linear_size(count, bound):
    """A Delaunay interpolant in space takes fewer than 2.9 neurons a cell."""
    p = interpolant(3, count, 1)
    assert space_gates(p).network.sizes.neurons < bound * p.num_pieces


def test_an_affine_function_of_many_inputs():
    """No row and no bend: one coordinate is kept, and what is left is affine."""
    p = CPWL.from_maxmin([[1, 2, 0, -1, 3, 1]], [[0]])
    network = compile(p, construction="gates").network
    x = fraction_array([[1, 2, 3, 4, 5], ["1/3", 0, -7, 2, "-1/2"]])
    assert (network(x) == p(x)).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "p",
    [
        interpolant(3, 8, 1),
        grid(3, 2, 1),
        max_min(3, 6, 5, 2),
        shallow(3, 5, 3),
        CPWL.from_maxmin([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[0, 1], [1, 2], [0, 2]]),
    ],
)
def test_every_bend_hyperplane_costs_a_neuron(p):
    """Hinges and gates bend on one hyperplane each: "auto" counts on it where a lattice is smaller than that."""
    assert planned("gates", p).sizes.neurons >= bend_planes(p) > 0


def test_pieces_that_are_cut_too_often_are_left_to_others(monkeypatch):
    """An optimiser with 54 regions that do not meet face to face: 7,719 cells, and more than a minute of work."""
    rng, unit = np.random.default_rng(1), np.eye(3, dtype=int)
    program = {
        "Q": unit,
        "H": rng.integers(-3, 4, (3, 3)),
        "c": [0] * 3,
        "A": rng.integers(-3, 4, (8, 3)),
        "b": [3] * 8,
    }
    box = {"A_t": [*unit.tolist(), *(-unit).tolist()], "b_t": [5] * 6}
    law = solve_mpqp(program | {"F": rng.integers(-2, 3, (8, 3))} | box).merge()
    asked, decide = [], complexes._overlap
    monkeypatch.setattr(complexes, "_overlap", lambda *cells: asked.append(1) or decide(*cells))
    made = compile(law)
    reason = f"not planned: would take more than 308 cells, into which {law.num_pieces} pieces are cut"
    assert made.alternatives["gates"].reason == f'{reason}; ask for construction="gates"'
    assert len(asked) < 1_000
    assert certify(law, made.network).error_bound == 0
