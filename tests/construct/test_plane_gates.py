"""Line gates: networks that equal functions of two inputs, point by point in rationals, and their sizes."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import CPWL, search
from cpwl.construct.blocks.common import crossings
from cpwl.construct.gates.plane_gates import keeps_sign
from cpwl.errors import ConstructionError, InputError
from cpwl.exact.rational import fraction_array
from cpwl.function.bends.planar import find_bends, power_of_two, with_edges_only
from cpwl.network.network import evaluate_exact, exact_layers
from cpwl.search import cover
from shallow import from_hidden_layer
from support.constructions import plane_gates
from support.functions import five_pieces, three_piece_cut
from support.planar import delaunay_on_box, delaunay_on_hull, differences, grid, with_hanging_nodes
from support.rational_pieces import cut_up, cuts, fan, points_in_pieces, random_maxmin, rings, with_noise


def half_plane(seed):
    """A max-min expression on a slanted half-plane and on a slanted strip."""
    p = random_maxmin(2, 5, 3, 3, seed)
    rows, start, laws = p.polyhedra.integer(), p.polyhedra.start, p.laws.integer()
    cut = [[1, 2, 3]] if seed % 2 else [[1, 2, 3], [-1, -2, 4]]
    A, b, g, o = [], [], [], []
    for i in range(p.num_pieces):
        own = [*rows[start[i] : start[i + 1]].tolist(), *cut]
        A.append([row[:2] for row in own])
        b.append([row[2] for row in own])
        g.append([Fraction(v, laws[i, 0, 3]) for v in laws[i, 0, :2]])
        o.append(Fraction(laws[i, 0, 2], laws[i, 0, 3]))
    return CPWL.from_pieces(A, b, g, o)


def side_by_side(*functions):
    """Functions on the same pieces as the outputs of one."""
    first = functions[0].polyhedra
    rows = [first[i].integer().tolist() for i in range(len(first))]
    laws = np.concatenate([f.laws.integer() for f in functions], axis=1)
    exact = [[[Fraction(v, law[-1]) for v in law[:-1]] for law in piece] for piece in laws]
    A, b = [[row[:2] for row in own] for own in rows], [[row[2] for row in own] for own in rows]
    return CPWL.from_pieces(A, b, [[f[:2] for f in own] for own in exact], [[f[2] for f in own] for own in exact])


RAYS = [(1, 0), (1, 2), (-1, 1), (-2, -1), (0, -1), (3, -2)]
FUNCTIONS = {
    "one vertex": five_pieces,
    "three pieces of one law": three_piece_cut,
    "Delaunay 0": lambda: delaunay_on_box(8, 0),
    "Delaunay 1": lambda: delaunay_on_box(14, 1),
    "Delaunay 2": lambda: delaunay_on_box(20, 2),
    "slanted sides 0": lambda: delaunay_on_hull(12, 0),
    "slanted sides 1": lambda: delaunay_on_hull(20, 1),
    "grid": lambda: grid(5, 0),
    "flat grid": lambda: CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
    "hanging nodes": lambda: with_hanging_nodes(delaunay_on_box(12, 6)),
    "T-junctions in a table": lambda: cut_up(delaunay_on_box(5, 3), cuts(2, 12, 0)),
    "T-junctions on the plane": lambda: cut_up(random_maxmin(2, 5, 3, 3, 4), cuts(2, 9, 1)),
    "max-min 0": lambda: random_maxmin(2, 6, 4, 3, 0),
    "max-min 1": lambda: random_maxmin(2, 7, 4, 3, 1),
    "max-min 2": lambda: random_maxmin(2, 8, 5, 3, 2),
    "fan": lambda: fan(RAYS, [1, -2, 3, 0, 1, -1]),
    "rings": lambda: rings([1, 2, 4], [0, 3, 1, 2], bounded=True),
    "rings on the plane": lambda: rings([1, 2, 4], [0, 3, 1, 2], bounded=False),
    "half-plane": lambda: half_plane(3),
    "strip": lambda: half_plane(2),
    "half-plane without vertices": lambda: half_plane(1),
    "hidden layer": lambda: from_hidden_layer([[1, 2], [-1, 1], [3, 1]], [0, 1, -2], [1, -2, 3], "1/3"),
    "affine": lambda: CPWL.from_maxmin([[1, 2, 3]], [[0]]),
    "several outputs": lambda: delaunay_on_box(9, 4, outputs=3),
    "several outputs on the plane": lambda: side_by_side(
        fan(RAYS, [1, -2, 3, 0, 1, -1]), fan(RAYS, [0, 1, 1, 2, -3, 0])
    ),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("spare", [True, False])
def test_the_network_equals_the_function(name, spare):
    """Exactly, at random points of every piece, at corners and on edges."""
    p = FUNCTIONS[name]()
    made = plane_gates(p, spare=spare)
    assert len(differences(p, made.network)) == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_count_is_that_of_the_theory(name):
    """|H u G| + |G| + 4 neurons for one output, one less on a bounded domain; a sum of one sign is carried by one."""
    p = FUNCTIONS[name]()
    made = plane_gates(p, spare=False)
    assert made.hinges >= made.lines
    neurons = made.network.sizes.neurons
    if made.vertices == 0:  # one hidden layer, or none
        assert made.network.sizes.depth <= 2
        assert made.lines <= neurons <= made.lines + 2 * p.outputs
        return
    assert made.network.sizes.depth == 3
    most = made.hinges + len(made.gates) + 2 + p.outputs * (1 if find_bends(p).bounded else 2)
    assert most - p.outputs <= neurons <= most
    assert p.outputs > 1 or len(made.gates) == made.gate_lines


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sparing_hinges_never_costs_a_neuron(name):
    """A gate that makes its own hinge needless is chosen only where the whole gets smaller."""
    p = FUNCTIONS[name]()
    assert plane_gates(p).network.sizes.neurons <= plane_gates(p, spare=False).network.sizes.neurons


@pytest.mark.parametrize(("interior", "reach"), [(20, 79), (40, 149)])
def test_sizes_of_random_triangulations(interior, reach):
    """46 and 86 triangles: the mean over seeds is at most that of the table."""
    sizes = [plane_gates(delaunay_on_box(interior, seed)).network.sizes.neurons for seed in range(3)]
    assert np.mean(sizes) <= reach


@pytest.mark.parametrize(("m", "reach"), [(8, 40), (32, 160)])
def test_sizes_of_grids(m, reach):
    """An m x m grid takes 5 m neurons: the square root of its pieces."""
    assert plane_gates(grid(m, 0)).network.sizes.neurons <= reach


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["one vertex", "Delaunay 1", "max-min 2", "several outputs", "half-plane", "grid"])
def test_gates_are_zero_on_one_side_of_their_line(name):
    """Each neuron of layer 2 is a gate with the zero set of its form, or a carry that is at least 0."""
    p = FUNCTIONS[name]()
    made = plane_gates(p, spare=False)
    x = fraction_array([x for _, x in points_in_pieces(with_edges_only(p), 6, seed=2)])
    (first, second, _) = exact_layers(made.network)
    before = evaluate_exact((first, second), x)
    assert (before[:, len(made.gates) :] >= 0).all()
    for k, gate in enumerate(made.gates):
        form = made.forms[gate.line]
        side = np.sign((x @ form[:2] + form[2]).astype(float))
        assert (np.sign(before[:, k].astype(float)) == side).all()


def test_proportional_outputs_cost_nothing():
    """Outputs that are multiples of one share hinges, gates and carries."""
    one = delaunay_on_box(7, 5)
    z = np.asarray(one.mesh.values)
    p = CPWL.from_simplices(one.mesh.points, one.mesh.simplices, np.column_stack([z, -2 * z, 0 * z]))
    made = plane_gates(p, spare=False)
    assert made.network.sizes.neurons == plane_gates(one, spare=False).network.sizes.neurons
    assert len(differences(p, made.network)) == 0


def test_more_pieces_of_one_law_cost_nothing():
    """Cutting pieces into more pieces changes no bend."""
    p = random_maxmin(2, 6, 4, 3, 0)
    q = cut_up(p, cuts(2, 8, 3))
    assert q.num_pieces > p.num_pieces
    assert plane_gates(q).network.sizes.neurons == plane_gates(p).network.sizes.neurons


def test_hanging_nodes_cost_nothing():
    """Triangles that do not meet edge to edge are no problem, and change no bend."""
    p = delaunay_on_box(12, 6)
    q = with_hanging_nodes(p)
    assert q.num_pieces > p.num_pieces
    assert plane_gates(q).network.sizes.neurons == plane_gates(p).network.sizes.neurons


def test_the_same_input_gives_the_same_network():
    """Down to the last weight."""
    one, two = (plane_gates(delaunay_on_box(14, 1)).network for _ in range(2))
    for (a, b), (c, d) in zip(exact_layers(one), exact_layers(two), strict=True):
        assert (a.toarray() == c.toarray()).all()
        assert (b == d).all()


def test_many_points_take_bounds_instead_of_sharp_multipliers(monkeypatch):
    """Multipliers from the stars of the points are larger, and the network is the same function."""
    p = delaunay_on_box(14, 1)
    sharp = plane_gates(p, spare=False)
    monkeypatch.setattr("cpwl.construct.gates.plane_gates._SHARP", 0)
    rough = plane_gates(p, spare=False)
    assert (sharp.sharp, rough.sharp) == (True, False)
    assert all(abs(a.multiplier) <= abs(b.multiplier) for a, b in zip(sharp.gates, rough.gates, strict=True))
    assert len(differences(p, rough.network)) == 0


@pytest.mark.parametrize("name", ["Delaunay 1", "max-min 2", "slanted sides 1", "half-plane"])
def test_multipliers_are_no_larger_than_8_bits_need(name):
    """One part in 64 less, and the gate has the wrong sign at some crossing of its lines, unless 0 would do."""
    p = FUNCTIONS[name]()
    bends, made = find_bends(p), plane_gates(p, spare=False)
    for gate in made.gates:
        l, others = made.forms[gate.line], made.forms[gate.hinges]
        inward = -others * np.sign(l[0] * others[:, 1] - l[1] * others[:, 0])[:, None]
        scale = power_of_two(made.forms)[np.append(gate.hinges, gate.line)]
        points = crossings(inward, bends.boundary, bounded=bends.bounded)
        assert keeps_sign(l, inward, scale, gate.weight, points, gate.multiplier) == gate.sign
        less = keeps_sign(l, inward, scale, gate.weight, points, gate.multiplier * Fraction(63, 64))
        assert less == 0 or keeps_sign(l, inward, scale, gate.weight, points, Fraction(0)) == gate.sign


def test_steps_balance_at_every_vertex():
    """At each point where jumps change, the sum of steps times directions is 0: the function closes around it."""
    bends = find_bends(delaunay_on_box(14, 1))
    way = np.column_stack([bends.lines[:, 1], -bends.lines[:, 0]])[bends.line]
    total = np.zeros((len(bends.vertices), 2), dtype=object)
    np.add.at(total, bends.vertex, bends.step * way / bends.scale[bends.line][:, None])
    assert not total.any()


def test_float_data_is_made_exact_first():
    """Pieces and laws with rounding errors: the network of the exact function nearby, however its pieces are cut."""
    p = five_pieces()
    noisy = with_noise(p, 1e-14, 0)
    made = plane_gates(noisy)
    exact = plane_gates(noisy.snap().function)
    for (one, left), (two, right) in zip(exact_layers(made.network), exact_layers(exact.network), strict=True):
        assert (one.toarray() == two.toarray()).all()
        assert (left == right).all()
    assert made.network.sizes.neurons == plane_gates(p).network.sizes.neurons
    x = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    assert np.abs(made.network(x) - p(x)).max() < 1e-9


def test_other_dimensions_are_refused():
    """Line gates are for the plane."""
    with pytest.raises(ConstructionError, match="2 inputs"):
        plane_gates(CPWL.from_breakpoints([0, 1], [0, 1]))


def test_a_function_that_is_torn_is_refused():
    """Laws that disagree on a common edge are named."""
    p = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[0, 0], [1, 1]], [0, 0])
    with pytest.raises(InputError, match="pieces 1 and 0 disagree"):
        plane_gates(p)


def test_a_gap_is_refused():
    """An edge inside the domain with nothing on its other side is named."""
    A = [[[1, 0], [0, 1]], [[-1, 0], [0, 1]], [[1, 0], [0, -1]]]
    p = CPWL.from_pieces(A, [[0, 0]] * 3, [[0, 0]] * 3, [0] * 3)
    with pytest.raises(InputError, match="other side"):
        plane_gates(p)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_small_maxmin_expression(data):
    """Small integers make lines meet in every special way."""
    k = data.draw(st.integers(2, 5))
    f = data.draw(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=k, max_size=k))
    rows = data.draw(st.lists(st.lists(st.integers(0, k - 1), min_size=1, max_size=3), min_size=1, max_size=3))
    p = CPWL.from_maxmin(f, rows)
    assert len(differences(p, plane_gates(p).network)) == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=16, max_size=16))
def test_any_small_grid(values):
    """Equal and opposite jumps: lines that stop and start again, crossings without a step."""
    p = CPWL.from_grid([[0, 1, 2, 4]] * 2, np.array(values).reshape(4, 4))
    assert len(differences(p, plane_gates(p).network)) == 0


def test_a_cover_is_as_small_as_it_can_be():
    """Three lines of two points each that share points: two suffice."""
    chosen = cover(np.array([0, 1, 1, 2, 2, 3]), np.array([0, 0, 1, 1, 2, 2]), np.ones(3))
    assert chosen.tolist() == [0, 2]


def test_large_covers_are_greedy(monkeypatch):
    """Beyond 600 points a binary program takes most of the time, and saves one neuron in 500."""
    asked = []
    monkeypatch.setattr(search, "cheapest_choice", lambda *given: asked.append(given))
    point = np.repeat(np.arange(700), 2)
    line = np.stack([np.arange(700), (np.arange(700) + 1) % 700], axis=1).ravel()
    chosen = search.cover(point, line, np.ones(700))
    assert not asked
    assert len(chosen) < 700
    assert set(point[np.isin(line, chosen)].tolist()) == set(range(700))
