"""Every linear region of a network, counted against brute force, formulas, and a second method."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from cpwl import CPWL, CpwlWarning, InputError, LimitError, Network, compile, extract
from cpwl.cli import main
from cpwl.geometry.polyhedra import as_domain
from cpwl.io.json import load, save
from cpwl.regions import chamber
from cpwl.regions import pieces as pieces_module
from cpwl.regions import walk as walking
from cpwl.regions.extract import count_regions
from cpwl.regions.pieces import as_function, find_pieces, has_few_faces, is_short, pieces_of_subdivision, pieces_of_walk
from cpwl.regions.subdivide import subdivide
from cpwl.regions.walk import walk
from support.catalogue import compiled, function
from support.pattern_oracle import all_patterns
from support.pinned import applicable
from support.strategies import networks


def gaussian(*widths, seed=0):
    rng = np.random.default_rng(seed)
    return Network([(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in pairwise(widths)])


def small_integers(*widths, seed=0, most=1):
    """Weights -1, 0, 1: hyperplanes through one point, parallel and equal ones, dead neurons."""
    rng = np.random.default_rng(seed)
    draw = lambda shape: rng.integers(-most, most + 1, shape)  # noqa: E731
    return Network([(draw((b, a)), draw(b)) for a, b in pairwise(widths)])


def cells(network, domain=None, *, exact=None):
    """All cells by cutting the whole complex, with their corners and rays."""
    made = subdivide(network, as_domain(domain, network.inputs))
    return pieces_of_subdivision(made, is_short(network) if exact is None else exact, spans=True)[0]


def box(n, low, high):
    unit = np.eye(n, dtype=int)
    return [*unit.tolist(), *(-unit).tolist()], [high] * n + [-low] * n


def laws_by_pattern(c):
    """``{pattern: law}`` of cells with exact laws, as the oracle writes them."""
    laws = [tuple(tuple(Fraction(int(v), int(row[-1])) for v in row[:-1]) for row in law) for law in c.laws.exact]
    patterns = [tuple(int(s > 0) for s in signs) for signs in c.signs]
    assert len(set(patterns)) == len(patterns)
    return dict(zip(patterns, laws, strict=True))


def exact_inside(c):
    """A rational point inside each cell: the mean of its points, plus its rays."""
    points = []
    for i in range(len(c)):
        own = c.spans.places[c.spans.of_piece(i)]
        finite = [[Fraction(int(v), int(row[-1])) for v in row[:-1]] for row in own if row[-1]]
        rays = [[Fraction(int(v)) for v in row[:-1]] for row in own if not row[-1]]
        x = np.array(finite, dtype=object).sum(axis=0) / len(finite)
        points.append(x + np.array(rays, dtype=object).sum(axis=0) if rays else x)
    return np.array(points, dtype=object)


CASES = [
    (gaussian(2, 4, 3, 1), None),
    (gaussian(3, 3, 3, 2, 1, seed=1), None),
    (gaussian(1, 5, 4, 2, seed=2), None),
    (gaussian(2, 5, 4, 1, seed=3), box(2, -1, 1)),
    (gaussian(4, 2, 3, 1, seed=4), None),  # two inputs would do
    (gaussian(3, 4, 3, 1, seed=5), ([[1, 1, 1]], [0])),
    *((small_integers(2, 4, 3, 1, seed=seed), None) for seed in range(6)),
    *((small_integers(3, 4, 3, 2, 1, seed=seed), None) for seed in range(6)),
    *((small_integers(2, 3, 3, 3, 2, seed=seed), box(2, -1, 2)) for seed in range(4)),
    *((small_integers(3, 4, 4, 1, seed=seed, most=2), ([[1, 0, 0], [1, 1, 0]], [1, 2])) for seed in range(2)),
]


# --- against brute force ---------------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("network", "domain"), CASES)
def test_every_pattern_and_law(network, domain):
    """The cells are exactly the patterns that hold on a set with interior, and the laws are equal as rationals."""
    c = cells(network, domain, exact=True)
    assert c.complete
    assert laws_by_pattern(c) == all_patterns(network, domain)


@given(networks(max_width=4))
@settings(max_examples=40, deadline=None)
def test_every_pattern_of_rational_networks(network):
    """The same for networks drawn at random, zeros among the weights."""
    assert laws_by_pattern(cells(network)) == all_patterns(network)


@pytest.mark.parametrize(("network", "domain"), CASES)
def test_float_and_exact_agree(network, domain):
    """Signs, neighbours and which laws are equal do not depend on the numbers that were asked for."""
    a, b = cells(network, domain, exact=True), cells(network, domain, exact=False)
    assert np.array_equal(a.signs, b.signs)
    assert np.array_equal(a.neighbour, b.neighbour)
    assert np.array_equal(a.component, b.component)
    assert np.allclose(a.laws.gradient, b.laws.gradient)
    assert np.allclose(a.laws.offset, b.laws.offset)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("network", "domain"), CASES)
def test_walking_finds_the_same(network, domain):
    """Walking from cell to cell gives the same cells, facets and neighbours as cutting the whole complex."""
    body = as_domain(domain, network.inputs)
    a = pieces_of_subdivision(subdivide(network, body), True)[0]
    b = pieces_of_walk(walk(network, body), True)
    assert a.complete
    assert b.complete
    assert np.array_equal(a.signs, b.signs)
    assert np.array_equal(a.component, b.component)
    assert np.array_equal(a.laws.exact, b.laws.exact)
    rows = [sorted(zip(p.polyhedra.owner, map(tuple, p.polyhedra.exact), p.neighbour, strict=True)) for p in (a, b)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(("network", "domain"), CASES)
def test_generators(network, domain):
    """Vertices and rays lie in the closed cell, and at each vertex the cell's law is the network, in rationals."""
    c = cells(network, domain, exact=True)
    places = c.spans.places
    finite = np.flatnonzero(places[:, -1])
    values = network(np.array([[Fraction(int(v), int(g[-1])) for v in g[:-1]] for g in places[finite]]))
    rows, start = c.polyhedra.integer(), c.polyhedra.start
    for i in range(len(c)):
        own = c.spans.of_piece(i)
        at = places[own]
        side = at[:, None, :-1] * rows[None, start[i] : start[i + 1], :-1]
        assert (side.sum(axis=2) <= at[:, -1:] * rows[None, start[i] : start[i + 1], -1]).all()
        for g in own[np.isin(own, finite)]:
            x = places[g]
            law = [Fraction(int((row[:-1] * x).sum()), int(row[-1] * x[-1])) for row in c.laws.exact[i]]
            assert law == list(values[np.searchsorted(finite, g)])


# --- formulas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(1, 7), (2, 9), (3, 8), (4, 7), (6, 8), (9, 10), (12, 4)])
def test_zaslavsky(n, m):
    """`m` hyperplanes in general position cut R^n into the sum of binomials (m, i), i <= n, cells."""
    p = extract(gaussian(n, m, 1, seed=n))
    assert p.complete
    assert p.num_pieces == sum(comb(m, i) for i in range(n + 1))


def regions(weights, biases):
    """Cells of one hidden layer, its outputs added up."""
    return len(cells(Network([(weights, biases), ([[1] * len(biases)], [0])])))


def test_non_generic_arrangements():
    """Arrangements that are not in general position, counted by hand."""
    assert regions([[1, 0], [1, 0], [0, 1]], [0, 0, 0]) == 4  # a neuron twice
    assert regions([[1, 0], [2, 0], [-3, 0], [0, 1]], [1, 2, -3, 0]) == 4  # proportional, both signs
    assert regions([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 0, 0]) == 4  # identity pairs
    assert regions([[1, 0], [1, 0], [1, 0]], [0, 1, 2]) == 4  # parallel, and nothing ever changes along y
    assert regions([[1, 0], [0, 1], [1, 1], [1, -1], [2, 1]], [0] * 5) == 10  # five lines through one point
    assert regions([[0, 0], [0, 0], [1, 0]], [1, -1, 0]) == 2  # constant neurons, on and off
    assert regions([[0, 0]], [0]) == 1  # identically zero
    assert regions(np.eye(4, dtype=int), [0] * 4) == 16
    braid = [[1, -1, 0, 0], [1, 0, -1, 0], [1, 0, 0, -1], [0, 1, -1, 0], [0, 1, 0, -1], [0, 0, 1, -1]]
    assert regions(braid, [0] * 6) == 24  # 4!, on three directions
    assert cells(Network([(braid, [0] * 6), ([[1] * 6], [0])])).spans.rank == 3


def test_identically_zero_on_a_region():
    """relu(x) - relu(x) is 0 everywhere, relu(-relu(x)) too: no cell is added, and the sign says 0."""
    network = Network(
        [([[1], [1], [-1]], [0, 0, 1]), ([[1, -1, 0], [-1, 0, 0], [0, 0, 1]], [0, 0, 0]), ([[1, 1, 1]], [0])]
    )
    c = cells(network)
    assert len(c) == 3
    assert (c.signs[:, 3] == 0).all()
    assert sorted(c.signs[:, 4]) == [-1, -1, 0]


def test_affine_networks():
    """Without hidden layers there is one cell, with no vertex but the origin of no coordinates."""
    p = extract(Network([([[2, 3]], [1])]))
    assert (p.num_pieces, p.complete) == (1, True)
    assert p([[1.0, 1.0]])[0, 0] == 6
    assert extract(Network([([[2, 3]], [1])]), domain=box(2, 0, 1)).num_pieces == 1
    assert extract(Network([([[0, 0]], [1]), ([[1]], [0])])).num_pieces == 1


# --- the whole function ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_extracted_functions_are_healthy(seed):
    """The doctor, who shares no code with `extract`, finds a continuous function on a convex domain."""
    assert extract(small_integers(2, 4, 3, 1, seed=seed)).doctor().healthy
    assert extract(gaussian(2, 4, 3, 1, seed=seed), domain=box(2, -1, 1)).doctor().healthy


def test_far_box():
    """With all vertices inside, a large box cuts off nothing, and its facets are the only boundary."""
    network = gaussian(2, 6, 5, 1)
    whole, boxed = cells(network), cells(network, box(2, -(10**4), 10**4))
    corners = whole.spans.places[whole.spans.places[:, -1] > 0]
    assert np.abs(corners[:, :-1] / corners[:, -1:]).max() < 10**4
    assert np.array_equal(whole.signs, boxed.signs)
    assert (boxed.spans.places[:, -1] > 0).all()
    assert (whole.neighbour >= 0).all()
    assert (boxed.neighbour < 0).any()


SOME = ["hat", "sawtooth", "thirds_and_sevenths", "plane_hinge", "sum_norm", "sum_norm_in_space", "opposite_laws",
        "strips", "star_of_cones", "wrong_for_algorithm_1", "six_components", "two_outputs", "steep_step",
        "huge_breakpoints", "tiny_breakpoints", "point_contact", "nested_squares"]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "construction"), applicable(SOME, ("lattice", "hinge", "gates")))
def test_round_trip(name, construction):
    """What was compiled comes back: at a rational point in each region the values agree, and the laws are the same."""
    p, c = function(name), compiled(name, construction)
    assert c is not None
    found = cells(c.network, exact=True)
    x = exact_inside(found)
    q = extract(c.network, exact=True)
    assert q.complete
    assert (q(x) == p(x)).all()
    assert {law.tobytes() for law in _fractions(q)} == {law.tobytes() for law in _fractions(p)}


def _fractions(p):
    """The laws as strings, one array a piece."""
    rows = p.laws.integer()
    return [np.array([f"{Fraction(int(v), int(r[-1]))}" for r in law for v in r[:-1]]) for law in rows]


@pytest.mark.parametrize("name", ["one_box", "kuhn_plane", "t_junction", "delaunay_cut_up", "three_outputs"])
def test_round_trip_on_a_polytope(name):
    """On its domain the network of a bounded function has the values of the function, in every region there."""
    p = function(name)
    c = compile(p, construction="lattice")
    low = p.polyhedra
    corners = np.array([[Fraction(v) for v in x] for x in _grid(p)])
    inside = np.array([v is not None for v in p(corners)[:, 0]])
    assert inside.any()
    assert low.dim == p.dim
    q = extract(c.network)
    assert (q(corners[inside]) == p(corners[inside])).all()


def _grid(p):
    size = np.abs(p.polyhedra.b / np.abs(p.polyhedra.A).max(axis=1)).max()
    axes = [np.linspace(-size, size, 9)] * p.dim
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, p.dim)


@pytest.mark.parametrize("widths", [(1, 4, 1), (2, 4, 1), (2, 3, 2, 1)])
def test_compile_what_was_extracted(widths):
    """`compile(extract(network))` is the network, at rational points in every region."""
    network = small_integers(*widths, seed=5, most=3)
    found = cells(network, exact=True)
    again = compile(extract(network, merge=True)).network
    x = exact_inside(found)
    assert (again(x) == network(x)).all()


def test_merge():
    """Cells of one law become one where their union is convex; the function stays."""
    network = Network([([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 0, 0]), ([[1, -1, 1, -1]], [0])])
    p, q = extract(network), extract(network, merge=True)
    assert (p.num_pieces, q.num_pieces, q.complete) == (4, 1, True)
    x = np.array([[0.5, -2.0], [3.0, 1.0]])
    assert np.array_equal(p(x), q(x))


def test_four_meanings_of_region():
    """An L-shaped region of one law: 6 cells, 5 convex pieces or so, connected pieces, laws."""
    # min(0, max(x, y)) bends nowhere along x = y > 0.
    relu = lambda *rows: [list(r) for r in rows]  # noqa: E731
    network = Network(
        [(relu((1, -1), (0, 1), (0, -1)), [0, 0, 0]), ([[-1, -1, 1]], [0]), ([[-1]], [0])]
    )  # max(x, y) = relu(x - y) + y
    found = count_regions(network)
    assert found.complete
    assert found.activation_cells >= found.convex_pieces >= found.connected_pieces >= found.laws
    assert found.laws == 3
    assert found.connected_pieces == 3
    assert found.convex_pieces == 4  # the part where it is 0 is three quarters of the plane
    assert found.activation_cells == len(all_patterns(network))


def test_convex_pieces_of_float_weights_are_counted_exactly():
    """Of a constant there is one, however thin its cells are; in floats, three were counted."""
    network = Network([([[1e12]], [-1.0]), ([[-1.0], [0.0]], [0.5, 1e12]), ([[0.5, 1e12]], [1e12]), ([[0.0]], [1.0])])
    assert count_regions(network).convex_pieces == extract(network, exact=True, merge=True).num_pieces == 1


def test_distinct_laws_are_told_apart_in_rationals():
    """Two slopes that differ by 2^-52 are two laws in float mode, too; two that are equal are one."""
    network = Network([([[1.0], [1.0]], [0.0, -1.0]), ([[1.0, 2.0**-52]], [0.3])])
    assert cells(network, exact=False).component.ravel().tolist() == [0, 1, 2]
    same = Network([([[1.0], [1.0], [-1.0]], [0.0, -1.0, 0.0]), ([[0.1, 0.0, -0.1]], [0.3])])
    assert cells(same, exact=False).component.ravel().tolist() == [0, 0, 0]


# --- doubtful floats -------------------------------------------------------------------------------------------------


def test_thin_regions_are_reported():
    """A region 1e-13 wide is found, and said to be thin."""
    network = Network([([[1.0, 0.3], [1.0, 0.3]], [0.1, 0.1 + 1e-13]), ([[1.0, 1.0]], [0.7])])
    with pytest.warns(CpwlWarning, match="1 region is thinner"):
        p = extract(network, exact=False)
    assert p.num_pieces == 3
    assert extract(network, exact=True).num_pieces == 3


def test_nearly_equal_is_not_equal():
    """Lines that meet in three points 1e-15 apart make a triangle; lines through one point do not."""
    near = Network([([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 1e-15]), ([[1.0, 1.0, 1.0]], [0.0])])
    at = Network([([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    assert len(cells(near, exact=False)) == len(walk(near, None).signs) == 7
    assert len(cells(at, exact=False)) == len(walk(at, None).signs) == 6


@pytest.mark.parametrize("scale", [1e-160, 1e160, Fraction(1, 10**400), Fraction(1, 3)])
def test_scale(scale):
    """Weights of any size, also such as no float holds: signs do not depend on a positive factor."""
    one = small_integers(2, 4, 3, 1, seed=1)
    first, *rest = [
        (weight.toarray().astype(int).astype(object), bias.astype(int).astype(object)) for weight, bias in one.layers
    ]
    number = Fraction(scale)
    scaled = Network([(first[0] * number, first[1] * number), *[(w, np.array(b) * number) for w, b in rest]])
    assert np.array_equal(cells(one).signs, cells(scaled).signs)


# --- limits, interruption, workers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("widths", [(2, 8, 8, 1), (10, 9, 1, 1)])
def test_limits(widths):
    """A partial result has as many regions as were asked for, all of them right, and never calls itself complete."""
    network = gaussian(*widths)
    part = extract(network, max_regions=20, exact=True)
    assert (part.num_pieces, part.complete) == (20, False)
    whole = extract(network, resume=part, exact=True)
    assert whole.complete
    known = {_identity(whole, i) for i in range(whole.num_pieces)}
    assert len(known) == whole.num_pieces
    assert all(_identity(part, i) in known for i in range(20))
    assert extract(network, max_regions=whole.num_pieces).complete


def _identity(p, i):
    """Rows and law of a piece, whatever the order of its rows."""
    return frozenset(map(tuple, p.polyhedra[i].integer())), tuple(p.laws.integer()[i].ravel())


@pytest.mark.parametrize("widths", [(2, 16, 16, 1), (10, 9, 1, 1)])
def test_interruption(widths):
    """Ctrl-C ends the search with what there is, and says that it is not all."""
    seen = []

    def progress(done, total, what):
        seen.append((done, total, what))
        if len(seen) == 2:
            raise KeyboardInterrupt

    network = gaussian(*widths, seed=2)
    p = extract(network, progress=progress)
    assert not p.complete
    assert 0 < p.num_pieces < extract(network).num_pieces
    assert seen[0][2].endswith("regions")


def test_workers_do_not_matter():
    """One worker, three workers or none: the same bytes."""
    network = gaussian(9, 9, 1, 1, seed=3)
    body = as_domain(([[1] * 9], [1]), 9)
    results = []
    for workers in (None, 1, 3):
        if workers is None:
            found = walk(network, body, most=300)
        else:
            with ThreadPoolExecutor(workers) as executor:
                found = walk(network, body, most=300, executor=executor)
        p = as_function(pieces_of_walk(found, False), body, True, False)
        results.append((p.polyhedra.A.tobytes(), p.laws.gradient.tobytes(), p.component.tobytes()))
    assert results[0] == results[1] == results[2]


def test_wrong_input():
    """Not a network, no interior, no regions wanted, an unfit earlier result: one sentence each."""
    network = gaussian(2, 3, 1)
    with pytest.raises(InputError, match="takes a Network"):
        extract(object())
    with pytest.raises(InputError, match="no interior"):
        extract(network, domain=([[1, 0], [-1, 0]], [0, 0]))
    with pytest.raises(InputError, match="no interior"):
        walk(gaussian(9, 9, 1), as_domain(([[1] + [0] * 8, [-1] + [0] * 8], [0, 0]), 9))
    with pytest.raises(InputError, match="at least 1"):
        extract(network, max_regions=0)
    with pytest.raises(LimitError, match="bends in 12 directions"):
        cells(gaussian(12, 12, 1))
    with pytest.raises(InputError, match="of 1 input,"):
        extract(network, resume=CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))


def test_missing_facets_are_noticed():
    """A complex with a cell taken out is not complete."""
    made = subdivide(gaussian(2, 5, 1), None)
    masks = [np.ones(count, dtype=bool) for count in made.lattice.counts]
    masks[-1][3] = False
    made.lattice.keep(masks)
    made.signs, made.base = made.signs[masks[-1]], made.base[masks[-1]]
    assert not pieces_of_subdivision(made, False)[0].complete


@pytest.mark.parametrize("stubborn", [False, True])
def test_forgotten_facets_are_noticed(monkeypatch, stubborn):
    """If exploring a cell misses a facet, the cell across it tells; if it is missed again, nothing is complete."""
    network = small_integers(2, 4, 3, 1, seed=4)

    def forgetful(forms, columns, seeds, **options):
        found = chamber.explore(forms, columns, seeds, **options)
        if options.get("exactly") and not stubborn:
            return found
        keep = ~((found.owner == 0) & (found.row == found.row[0]))
        across = found.across.take(np.flatnonzero(keep))
        return replace(found, owner=found.owner[keep], row=found.row[keep], outer=found.outer[keep], across=across)

    monkeypatch.setattr(walking, "explore", forgetful)
    found = walk(network, None)
    assert found.complete is not stubborn
    if not stubborn:
        assert len(found.signs) == len(all_patterns(network))


# --- the command line ------------------------------------------------------------------------------------------------


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    return code, capsys.readouterr()


def test_command_line(tmp_path, capsys):
    """Pieces of a network in a file; 0 when they are all there, 2 when not, 64 and 65 for mistakes."""
    model, out, part = (tmp_path / name for name in ("model.json", "pieces.json", "part.json"))
    save(small_integers(2, 4, 3, 1, seed=2), model)
    code, said = run(capsys, "extract", model, "-o", out, "--json")
    report = json.loads(said.out)
    assert (code, report["complete"], report["exact"]) == (0, True, True)
    assert load(out).num_pieces == report["pieces"] > 4
    code, said = run(capsys, "extract", model, "-o", part, "--max-regions", 3)
    assert code == 2
    assert "incomplete" in said.out
    assert load(part).num_pieces == 3
    assert run(capsys, "extract", model, "-o", out, "--resume", part)[0] == 0
    code, said = run(capsys, "extract", model, "-o", out, "--box", "-1", "1/2", "--merge", "--float", "--json")
    assert (code, json.loads(said.out)["exact"]) == (0, False)
    assert run(capsys, "extract", model, "-o", tmp_path / "pieces.txt")[0] == 64
    assert run(capsys, "extract", model, "-o", model)[0] == 64
    assert run(capsys, "extract", out, "-o", part)[0] == 65
    assert run(capsys, "extract", model, "-o", out, "--box", "1", "0")[0] == 64
    assert run(capsys, "extract", model, "-o", part, "--box", "0,1", "-1/2,1")[0] == 0
    inside = load(part).domain
    at = np.array([[0.5, 0.75], [-0.5, 0.75], [0.5, -0.75]]) @ inside.A.T <= inside.b
    assert at.all(axis=1).tolist() == [True, False, False]


# --- larger ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32))
@settings(max_examples=5, deadline=None)
def test_euler_of_larger_complexes(seed):
    """The faces of a complex on R^2 add up as those of a disc, and the values at inner points are the network's."""
    network = gaussian(2, 12, 12, 1, seed=seed)
    c = cells(network, exact=False)
    assert c.complete
    x = c.inside
    value = np.einsum("qmn,qn->qm", c.laws.gradient, x) + c.laws.offset
    assert np.allclose(value, network(x), rtol=1e-6, atol=1e-6 * (1 + np.abs(x).max()))


@pytest.mark.slow
def test_two_methods_on_thousands_of_cells():
    """In eight directions the walk and the whole complex find the same cells and as many facets."""
    network = gaussian(10, 8, 4, 1)
    a = pieces_of_subdivision(subdivide(network, None), False)[0]
    b = pieces_of_walk(walk(network, None), False)
    assert a.complete
    assert b.complete
    assert np.array_equal(a.signs, b.signs)
    assert len(a.neighbour) == len(b.neighbour)


def test_boxes_in_seven_dimensions_are_walked(monkeypatch):
    """A cube has 3^n faces: from seven directions on it is not taken apart, and the cells are the same."""
    rng = np.random.default_rng(3)
    network = Network([(rng.integers(-3, 4, (4, 7)), rng.integers(-2, 3, 4)), ([[1, 1, -1, 2]], [0])])
    box = as_domain(None, 7, box=([-1] * 7, [1] * 7))
    assert has_few_faces(network, None)
    slow = {tuple(row) for row in cells(network, (box.A, box.b)).signs.tolist()}
    monkeypatch.setattr(pieces_module, "subdivide", None)
    assert {tuple(row) for row in find_pieces(network, box, True).signs.tolist()} == slow
