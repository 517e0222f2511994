"""Sums of functions of fewer inputs: they come apart, their networks add up, and one proof covers the sum."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, Network, ProofError, certify, compile
from cpwl.exact.rational import fraction_array
from cpwl.function.sums import _constant, come_apart, graph_of
from support.rational_pieces import piece_data, points_in_pieces


def numbers(count, seed, most=99):
    return np.random.default_rng(seed).integers(-most, most + 1, count)


def plane(m, seed, *, diagonal=False, bumps=0):
    """f(x) + g(y), perhaps + h(x - y), perhaps with a few values changed, on a grid of m x m boxes."""
    f, g, h = numbers(m + 1, seed), numbers(m + 1, seed + 1), numbers(2 * m + 1, seed + 2)
    i, j = np.indices((m + 1, m + 1))
    values = f[i] + g[j] + (h[i - j + m] if diagonal else 0)
    rng = np.random.default_rng(seed)
    for _ in range(bumps):
        values[tuple(rng.integers(1, m, 2))] += int(rng.integers(1, 99))
    return CPWL.from_grid([range(m + 1)] * 2, values.tolist())


def space(m, seed):
    """f(x) + g(y, z) on a grid."""
    values = numbers(m + 1, seed)[:, None, None] + numbers((m + 1, m + 1), seed + 1)[None]
    return CPWL.from_grid([range(m + 1)] * 3, values.tolist())


def on_everything(seed):
    """Two functions along lines that are not at right angles, on all of R^2."""
    f, g = (CPWL.from_breakpoints(range(10), numbers(10, seed + k, 9).tolist()) for k in (0, 1))
    return f @ ([[1, 2]], [0]) + g @ ([[1, -1]], ["1/3"])


def two_pairs():
    """max(x, y, 0) + max(2 z + w, 1, z - w) on R^4."""
    one = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]])
    two = CPWL.from_maxmin([[2, 1, 0], [0, 0, 1], [1, -1, 0]], [[0], [1], [2]])
    return one @ ([[1, 0, 0, 0], [0, 1, 0, 0]], [0, 0]) + two @ ([[0, 0, 1, 0], [0, 0, 0, 1]], [0, 0])


def two_outputs():
    """Two outputs with the same lines and other jumps."""
    i, j = np.indices((10, 4))
    values = np.stack([numbers(10, k)[i] + numbers(4, k + 7)[j] for k in (0, 1)], axis=-1)
    return CPWL.from_grid([range(10), range(4)], values.tolist())


CASES = {
    "plane": lambda: plane(9, 0),
    "diagonal": lambda: plane(8, 1, diagonal=True),
    "bumps": lambda: plane(10, 4, bumps=2),
    "space": lambda: space(3, 3),
    "everything": lambda: on_everything(5),
    "pairs": two_pairs,
    "outputs": two_outputs,
}


def values_of(p, x):
    """The values at points of pieces, by the laws of these pieces."""
    pieces = piece_data(p)
    laws = [
        [sum((g * v for g, v in zip(law, point, strict=False)), law[-1]) for law in pieces[i].laws] for i, point in x
    ]
    return np.array(laws, dtype=object)


@pytest.mark.parametrize("name", CASES)
def test_parts_add_up(name):
    """At rational points of every piece the parts, evaluated by themselves, add up to the law."""
    p = CASES[name]()
    places = points_in_pieces(p, 2, seed=0)
    x = np.array([point for _, point in places], dtype=object)
    done = 0
    for peel in (False, True):
        try:
            parts = come_apart(p, peel=peel)
        except ConstructionError:
            continue
        done += 1
        assert len(parts) > 1
        assert (sum(part.function(x @ part.rows.T) for part in parts) == values_of(p, places)).all()
    assert done


@pytest.mark.parametrize("name", CASES)
def test_the_sum_is_proved(name):
    """One certificate of kind "sums", or another, for the whole; values in rationals agree as well."""
    p = CASES[name]()
    network = compile(p, construction="sums").network
    proof = certify(p, network)
    assert proof.proved, proof.reason
    assert proof.error_bound == 0
    places = points_in_pieces(p, 1, seed=1)
    assert (network(np.array([point for _, point in places], dtype=object)) == values_of(p, places)).all()


@pytest.mark.parametrize("name", ["plane", "bumps", "space"])
def test_a_wrong_weight_is_refused(name):
    """Weights that are off by 1e-30, in each layer: never proved."""
    p = CASES[name]()
    network = compile(p, construction="sums").network
    layers = [(weight.toarray(), bias) for weight, bias in network.exact]
    for number, (weight, _) in enumerate(layers):
        i, j = np.argwhere(weight != 0)[len(weight) // 2]
        changed = weight.copy()
        changed[i, j] += Fraction(1, 10**30)
        other = Network([(changed if k == number else w, b) for k, (w, b) in enumerate(layers)])
        with pytest.raises(ProofError):
            certify(p, other)


@pytest.mark.parametrize(("m", "options", "most"), [(28, {}, 32), (28, {"diagonal": True}, 52)])
def test_sums_are_as_small_as_they_were_found_to_be(m, options, most):
    """Not larger than the first networks that were built by hand, and "auto" takes them."""
    made = compile(plane(m, 0, **options))
    assert made.construction == "sums"
    assert made.sizes.neurons <= most


def test_a_table_in_float32():
    """f(x) + g(y, z) on 7^3 boxes: 479 neurons by columns, at most 48 as a sum."""
    made = compile(space(7, 0), precision="float32")
    assert made.construction == "sums"
    assert made.sizes.neurons <= 48
    assert made.measured <= 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_what_does_not_come_apart_is_refused(seed):
    """Tables of independent values, and max of sums: nothing is split off."""
    grid = CPWL.from_grid([range(4)] * 2, numbers((4, 4), seed).tolist())
    for p in (grid, CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, seed]], [[0], [1], [2]])):
        for peel in (False, True):
            with pytest.raises(ConstructionError, match="no sum of functions"):
                come_apart(p, peel=peel)


def test_a_product_is_no_sum():
    """x y at the corners of a grid bends on diagonals only with jumps that change: no part, or parts that are right."""
    p = CPWL.from_grid([range(10)] * 2, [[i * j for j in range(10)] for i in range(10)])
    parts = come_apart(p, peel=False)
    corners = fraction_array(list(itertools.product(range(10), repeat=2)))
    total = sum(part.function(corners @ part.rows.T) for part in parts)
    assert (total[:, 0] == corners[:, 0] * corners[:, 1]).all()


def _cycles_of(graph):
    """For each hyperplane whether its jumps add up to 0 around every cycle: potentials in rationals, plane by plane."""
    free = []
    for h in range(len(graph.planes)):
        step = {}
        for e, (i, j) in enumerate(zip(graph.one.tolist(), graph.two.tolist(), strict=True)):
            change = graph.sense[e] * graph.jump[e, 0] if graph.plane[e] == h else 0
            step.setdefault(i, []).append((j, change))
            step.setdefault(j, []).append((i, -change))
        at, todo = {0: Fraction(0)}, [0]
        while todo:
            i = todo.pop()
            for j, change in step[i]:
                if j not in at:
                    at[j] = at[i] + change
                    todo.append(j)
        free.append(all(at[j] == at[i] + change for i in step for j, change in step[i]))
    return np.array(free)


@pytest.mark.parametrize("name", ["plane", "space", "everything"])
def test_hyperplanes_in_no_condition(name):
    """Random sums of cycles find the hyperplanes whose jumps add up to 0 around every cycle, and no others."""
    graph = graph_of(CASES[name]())
    value, _ = _constant(graph)
    bent = np.isin(np.arange(len(graph.planes)), graph.plane[(graph.jump != 0).any(axis=1)])
    np.testing.assert_array_equal((value != 0).any(axis=1), _cycles_of(graph) & bent)


def test_in_the_plane_nothing_is_eliminated(monkeypatch):
    """Whether a table in the plane comes apart is seen without a matrix of all hyperplanes, which are its edges."""
    monkeypatch.setattr("cpwl.function.sums.nmod_mat", None)
    test_parts_add_up("plane")
    test_parts_add_up("bumps")
