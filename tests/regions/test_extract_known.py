"""What `extract` keeps beside rows and laws is true, and merging and counting need nothing else."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from cpwl import CPWL, InputError, Network, compile, count_regions, extract
from cpwl.geometry.probe import Probe
from cpwl.regions.pieces import label_laws

BOX = ([[1, 0], [-1, 0], [0, 1], [0, -1]], [3, 3, 3, 3])


def random_network(sizes, seed, *, relu_last=False, whole=False):
    """Weights of a normal distribution, or small integers."""
    rng = np.random.default_rng(seed)
    draw = (lambda *shape: rng.integers(-3, 4, shape)) if whole else (lambda *shape: rng.normal(size=shape))
    layers = [(draw(b, a), draw(b)) for a, b in pairwise(sizes)]
    if relu_last:
        layers.append((np.eye(sizes[-1]), np.zeros(sizes[-1])))
    return Network(layers)


CASES = {
    "line": (random_network([1, 5, 3, 1], 0, relu_last=True), None),
    "plane": (random_network([2, 6, 4, 1], 1, relu_last=True), None),
    "plane, integers": (random_network([2, 6, 4, 1], 2, relu_last=True, whole=True), None),
    "box": (random_network([2, 5, 3, 2], 3), BOX),
    "space": (random_network([3, 5, 3, 1], 4, relu_last=True), None),
    "lines in every piece": (random_network([4, 2, 3, 1], 5, relu_last=True), None),
    "walked": (random_network([9, 9, 2, 1], 6, relu_last=True), None),
}


@pytest.fixture(params=CASES, scope="module")
def extracted(request):
    network, domain = CASES[request.param]
    most = 40 if request.param == "walked" else None
    return extract(network, domain=domain, max_regions=most)


def rational(x):
    return [Fraction(v) for v in x]


def test_inner_points_are_strictly_inside(extracted):
    """By the rows as rationals."""
    for i, x in enumerate(extracted.known.inner):
        rows = extracted.polyhedra[i].integer()
        assert all(sum(a * v for a, v in zip(row[:-1], rational(x), strict=True)) < row[-1] for row in rows.tolist())


def test_neighbours_share_a_facet(extracted):
    """Another solver finds a point on the row of one that is strictly inside all other rows of both."""
    p = extracted
    pairs = p.known.neighbours
    for i, j, r in pairs[:: max(1, len(pairs) // 25)].tolist():
        a, b = p.polyhedra.A[r], p.polyhedra.b[r]
        rows = np.concatenate([p.polyhedra[i].A, p.polyhedra[j].A])
        right = np.concatenate([p.polyhedra[i].b, p.polyhedra[j].b])
        length = np.linalg.norm(rows, axis=1)
        other = np.abs((rows @ a) / length / np.linalg.norm(a)) < 1 - 1e-9
        wide = np.column_stack([rows[other], length[other]])
        found = linprog(
            [0] * p.dim + [-1], wide, right[other], [[*a, 0]], [b], [(None, None)] * p.dim + [(None, 1)], method="highs"
        )
        assert found.status == 0
        assert found.x[-1] > 0


def test_neighbours_agree_on_their_facet_and_know_each_other(extracted):
    """The difference of their laws is a multiple of the row; every pair is there in both senses."""
    p = extracted
    one, two, row = p.known.neighbours.T
    assert {(i, j) for i, j in zip(one, two, strict=True)} == {(j, i) for i, j in zip(one, two, strict=True)}
    assert (p.polyhedra.owner[row] == one).all()
    plane = np.column_stack([p.polyhedra.A[row], -p.polyhedra.b[row]])
    for k in range(p.outputs):
        apart = p.laws.coefficients()[one, k] - p.laws.coefficients()[two, k]
        across = (apart * plane).sum(axis=1, keepdims=True) / (plane**2).sum(axis=1, keepdims=True) * plane
        assert np.abs(apart - across).max(initial=0.0) < 1e-9 * (1 + np.abs(p.laws.coefficients()).max())


@pytest.mark.one_in(2)
def test_merging_by_what_is_known_needs_no_linear_program(extracted, monkeypatch):
    """It is as good as merging from nothing, and keeps all values."""
    p = extracted
    plain = replace(p, known=None).merge()
    if p.dim < 4:
        monkeypatch.setattr(Probe, "interior", lambda *_, **__: pytest.fail("a linear program"))
        monkeypatch.setattr(Probe, "maxima", lambda *_, **__: pytest.fail("a linear program"))
    q = p.merge()
    assert q.num_pieces <= plain.num_pieces + 1
    assert q.num_components == p.num_components
    x = np.array([rational(v) for v in p.known.inner], dtype=object)
    if p.tol == 0:
        assert (q(x) == p(x)).all()
    else:
        x = np.asarray(p.known.inner)
        assert np.allclose(q(x), p(x), rtol=1e-9, atol=1e-9)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", [name for name in CASES if name not in {"walked", "lines in every piece"}])
def test_merged_regions_are_healthy(name):
    """A doctor who knows nothing finds nothing wrong with them."""
    network, domain = CASES[name]
    q = extract(network, domain=domain, merge=True)
    assert q.complete
    assert q.known.complete
    assert replace(q, known=None, complete=None).doctor().healthy


@pytest.mark.parametrize("name", [name for name in CASES if name != "walked"])
def test_counting_cells_alone(name):
    """The same number, and nothing else."""
    network, domain = CASES[name]
    all_four, cells = count_regions(network, domain=domain), count_regions(network, domain=domain, only="cells")
    assert cells.activation_cells == all_four.activation_cells
    assert cells.complete
    assert cells.convex_pieces is cells.connected_pieces is cells.laws is None
    assert all_four.activation_cells >= all_four.convex_pieces >= all_four.connected_pieces >= all_four.laws


def test_box_is_a_domain():
    """The two ways to say where."""
    network, domain = CASES["box"]
    assert count_regions(network, box=(-3, 3)) == count_regions(network, domain=domain)
    assert extract(network, box=([-3, -3], [3, "3"])).num_pieces == extract(network, domain=domain).num_pieces


def test_laws_that_read_the_same_neurons_take_no_integers():
    """Behind a ReLU that is off everything is 0, however many regions there are."""
    network = Network([([[1.1, 0.3], [0.2, -1.7]], [0.1, 0.2]), ([[1.3, 0.7]], [-5.1]), ([[1.0]], [0.0])])
    p = extract(network)
    signs = np.array([[1, 1, -1], [1, -1, -1], [-1, 1, -1], [-1, -1, -1]], dtype=np.int8)
    laws = p.laws.take(np.zeros(4, dtype=np.int64))
    label = label_laws(laws, np.full((4, 1, 3), 1e-9), network, signs, lambda _: pytest.fail("integers"))
    assert label.ravel().tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("wrong", [None, "model.onnx", [([[1]], [0])], CPWL.from_breakpoints([0, 1], [0, 1]), 3.5])
@pytest.mark.parametrize("verb", [extract, count_regions])
def test_what_is_no_network_is_refused_in_one_sentence(verb, wrong):
    """With what to write instead."""
    with pytest.raises(InputError) as error:
        verb(wrong)
    assert "takes a Network" in str(error.value)
    assert "`cpwl." in str(error.value)


def sliver_network(seed, inputs=8):
    """A neuron that is 1.7 times another one but for rounding, on a cone: regions of width 1e-16 between them."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(3, inputs)), rng.normal(size=3)
    first = np.vstack([weight, 1.7 * weight[:1]]), np.append(bias, 1.7 * bias[0])
    layers = [
        first,
        (rng.normal(size=(2, 4)), rng.normal(size=2)),
        (rng.normal(size=(1, 2)), [0.0]),
        (np.eye(1), [0.0]),
    ]
    rows = rng.normal(size=(int(rng.integers(1, 4)), inputs))
    return Network(layers), (rows, np.zeros(len(rows)))


@pytest.mark.one_in(2)
@pytest.mark.filterwarnings("ignore:.*thinner than")
@pytest.mark.parametrize("seed", range(6))
def test_merging_next_to_slivers_loses_nothing(seed):
    """Points of the cone are in the merged pieces, where the value is that of the network."""
    network, cone = sliver_network(seed)
    q = extract(network, domain=cone, merge=True)
    x = np.random.default_rng(seed).normal(size=(20_000, network.inputs))
    x = x[(x @ cone[0].T <= 0).all(axis=1)]
    assert len(x) > 100
    assert np.abs(q(x) - network(x)).max() < 1e-9
    assert replace(q, known=None, complete=None).doctor().healthy


def rows_of(body):
    """The rows of a polyhedron, as a set."""
    return frozenset(map(tuple, body.integer().tolist()))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(3))
def test_compiling_regions_asks_for_no_inner_points(seed, monkeypatch):
    """The network is as large as for the same pieces without what is known about them."""
    p = extract(random_network([2, 4, 3, 1], seed, whole=True))
    plain = compile(replace(p, known=None, complete=None))
    asked = []
    interior = Probe.interior
    monkeypatch.setattr(Probe, "interior", lambda *a, **k: asked.append(a[1]) or interior(*a, **k))
    made = compile(p)
    assert made.sizes == plain.sizes
    regions = {rows_of(body) for body in p.polyhedra}
    assert not any(rows_of(body) in regions for body in asked)  # constructions ask about bodies of their own
