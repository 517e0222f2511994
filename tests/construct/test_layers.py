"""Pieces of networks with two and three hidden layers: the layers come back, and other functions are refused.

``cd tests; PYTHONPATH=.:../benchmarks python construct/test_layers.py`` prints how many of ten networks come back, and
how many neurons they have more than their sources.
"""

from contextlib import suppress
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, Network, compile, compress, equal, extract
from cpwl.construct.analysis import Analysis
from cpwl.construct.layers import plan as layers
from cpwl.construct.layers.weights import LayerRows, direct_terms, weights_of
from cpwl.function.layers import find_layers, next_layer
from support.catalogue import SOLE, whole_table


def network(widths, seed, *, most=9):
    """A network with small rational weights."""
    rng = np.random.default_rng([seed, *widths])
    shapes = zip(widths[1:], widths, strict=False)
    return Network([(rng.integers(-most, most + 1, s) / 4, rng.integers(-most, most + 1, s[0]) / 2) for s in shapes])


def on(net, box):
    return extract(net, exact=True) if box is None else extract(net, box=box, exact=True)


CASES = [
    ((2, 4, 3, 1), None),
    ((2, 5, 4, 2), (-1, 1)),
    ((3, 4, 3, 1), None),
    ((3, 5, 3, 2), (-2, 1)),
    ((4, 4, 2, 1), None),
]
MORE = [((2, 8, 8, 1), box) for box in (None, (-1, 1))] + [((3, 6, 5, 2), None), ((4, 5, 3, 1), (-1, 1))]


def check(widths, box, seed, *, merge=False):
    """A network of at most as many neurons as Theorem B says, proved equal to the pieces; or a refusal."""
    p = on(network(widths, seed), box)
    p = p.merge() if merge else p
    try:
        made = compile(p, construction="layers", certify=True)
    except ConstructionError:
        return False
    assert made.certificate.proved
    n, m = widths[0], widths[-1]
    assert made.sizes.neurons <= widths[1] + widths[2] + n + 2 * m
    return True


@pytest.mark.parametrize(("widths", "box"), CASES)
def test_layers_come_back(widths, box):
    """Of a few random networks, those with a bend that breaks: as few neurons as promised, with a proof."""
    assert sum(check(widths, box, seed) for seed in range(2)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize(("widths", "box"), [*CASES, *MORE])
def test_layers_come_back_often(widths, box, merge):
    """The same for more and larger networks, cut along all neurons or merged."""
    assert sum(check(widths, box, seed, merge=merge) for seed in range(2, 12)) >= 7


DEEP = [((2, 4, 4, 3, 1), None), ((2, 8, 8, 8, 1), (-1, 1)), ((3, 6, 6, 6, 1), (-1, 1)), ((2, 5, 5, 4, 2), None)]
DEEPER = [((2, 8, 8, 8, 1), None), ((2, 6, 6, 6, 2), None), ((3, 5, 4, 4, 1), None)]


def check_deep(widths, box, seed):
    """A proved network with less than twice the neurons of the source: 1 if it has as many layers, 0 if fewer."""
    try:
        made = compile(on(network(widths, seed), box), construction="layers", certify=True)
    except ConstructionError:
        return 0
    assert made.certificate.proved
    assert made.sizes.neurons < 2 * sum(widths[1:-1])
    return int(len(made.network.layers) == len(widths) - 1)


@pytest.mark.parametrize(("widths", "box"), DEEP)
def test_three_layers_come_back(widths, box):
    """Of a few random networks with three hidden layers, some that no two layers are equal to."""
    assert sum(check_deep(widths, box, seed) for seed in range(3)) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("widths", "box"), [*DEEP, *DEEPER])
def test_three_layers_come_back_often(widths, box):
    """The same for more and larger networks; on boxes fewer layers are often enough."""
    assert sum(check_deep(widths, box, seed) for seed in range(3, 13)) >= (7 if box is None else 2)


@pytest.mark.parametrize("seed", [9, 10, 12])
def test_neurons_that_never_bend_cost_one_each(seed):
    """Where neurons of the source are positive everywhere, and weights are unseen, there are no more than it had."""
    p = on(network((2, 6, 6, 6, 1), seed), None)
    made = compile(p, construction="layers").network
    assert made.sizes.neurons <= 18
    assert equal(made, p).equal


@pytest.mark.slow
def test_four_layers_come_back():
    """The way to three layers is one for any number of them."""
    p = on(network((2, 4, 4, 3, 3, 1), 9), None)
    made = compile(p, construction="layers", certify=True)
    assert made.certificate.proved
    assert len(made.network.layers) == 5


def test_wrong_weights_of_a_middle_layer_are_noticed():
    """With a weight of the second of three layers off by 1e-30, there is no network, or a further layer mends it."""
    p = on(network((2, 4, 4, 3, 1), 0), None)
    found = next(found for found in find_layers(p) if not found.last)
    rows = LayerRows(found)
    weights = np.array([one for one, basis in rows.solutions if not len(basis)], dtype=object)
    assert len(weights) == len(found.neurons)
    assert list(layers._networks(next_layer(found, rows.forms, weights), None))
    for j, i in np.argwhere(weights != 0):
        changed = weights.copy()
        changed[j, i] += Fraction(1, 10**30)
        made = []
        with suppress(ConstructionError):
            made = list(layers._networks(next_layer(found, rows.forms, changed), None))
        assert all(equal(net, p).equal for net in made)


def test_pieces_alone_are_enough():
    """Rows and laws as a stranger writes them, shuffled and cut up nowhere, give the same layers."""
    p = on(network((2, 4, 3, 1), 0), None)
    bare = CPWL.from_pieces(
        [body.integer()[:, :-1].tolist() for body in p.polyhedra][::-1],
        [body.integer()[:, -1].tolist() for body in p.polyhedra][::-1],
        [[[Fraction(v, row[-1]) for v in row[:-2]] for row in law] for law in p.laws.integer()[::-1]],
        [[Fraction(row[-2], row[-1]) for row in law] for law in p.laws.integer()[::-1]],
    )
    made = [compile(f, construction="layers").network for f in (p, bare)]
    assert made[0].sizes.neurons == made[1].sizes.neurons <= 4 + 3 + 2 + 2
    assert equal(made[1], p).equal


def noisy(p, size, seed):
    """The pieces of a function, all of their numbers off by up to `size`, relative."""
    rng = np.random.default_rng(seed)

    def off(values):
        return values * (1 + size * rng.uniform(-1, 1, values.shape))

    laws = p.laws.coefficients()
    rows = [[off(own) for own in each] for each in ([body.A for body in p.polyhedra], [body.b for body in p.polyhedra])]
    return CPWL.from_pieces(*rows, [off(law[:, :-1]) for law in laws], [off(law[:, -1]) for law in laws])


@pytest.mark.parametrize(("widths", "seed"), [((2, 8, 8, 1), 2), ((3, 5, 4, 1), 1), ((2, 6, 6, 2), 1)])
@pytest.mark.parametrize("size", [1e-13, 1e-11])
def test_pieces_of_floats(widths, seed, size):
    """Real weights and noise: a network that is nearly as small as from exact pieces, within a few times the noise."""
    rng = np.random.default_rng([seed, *widths])
    shapes = zip(widths[1:], widths, strict=False)
    p = on(Network([(rng.normal(size=s), rng.normal(size=s[0])) for s in shapes]), (-1, 1))
    made = compile(noisy(p, size, seed), certify=True)
    assert made.construction == "layers"
    assert made.certificate.proved
    assert made.certificate.error_bound < 100 * size
    assert made.sizes.neurons <= compile(p, construction="layers").sizes.neurons + 2


def test_pieces_that_contain_lines_and_inputs_that_do_not_matter():
    """max(|x - y| + z, 0) in five inputs: no piece has a corner."""
    first = ([[1, -1, 0, 0, 0], [-1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, -1, 0, 0]], [0] * 4)
    p = extract(Network([first, ([[1, 1, 1, -1]], [0]), ([[1]], [0])]), exact=True).merge()
    made = compile(p, construction="layers", certify=True)
    assert made.certificate.proved
    assert made.sizes.neurons <= 1 + 1 + 2 + 2


def test_auto_takes_it():
    """Where it is the smallest; the text of the choice names it."""
    p = SOLE["layers"][0]()
    made = compile(p, certify=True)
    assert made.construction == "layers"
    assert made.certificate.proved
    assert made.sizes.neurons <= 6


def test_networks_of_other_constructions_compress_to_layers():
    """A gates network that is larger than its function comes down to the layers, from merged pieces alone."""
    p = SOLE["layers"][0]()
    large = compile(p, construction="gates", precision="exact").network
    found = compress(large, box=(-4, 4))
    assert found.verdict.equal
    assert found.after.neurons <= compile(p).sizes.neurons < large.sizes.neurons


OTHERS = {
    "table": lambda: whole_table(2, 40, 99, 1),
    "space": lambda: whole_table(3, 12, 30, 2),
    "grid": lambda: CPWL.from_grid([range(7)] * 2, np.random.default_rng(5).integers(-99, 100, (7, 7)).tolist()),
    "line": lambda: CPWL.from_breakpoints(range(5), [0, 2, 1, 3, 0]),
    "hinges": lambda: CPWL.from_grid([range(3), range(3)], [[0, 0, 1], [1, 1, 2], [5, 5, 6]]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions_are_refused(name):
    """Functions that are not found to be networks with two or more hidden layers."""
    with pytest.raises(ConstructionError):
        compile(OTHERS[name](), construction="layers")


@pytest.mark.parametrize("seed", range(3))
def test_a_network_with_a_tent_is_not_the_network(seed):
    """A small tent in one place of a network's domain: refused, or a network with the tent; never without it."""
    p = on(network((2, 4, 3, 1), seed), (-1, 1))
    tent = CPWL.from_grid([[-1, "1/8", "1/4", "3/8", 1]] * 2, [[int(i == j == 2) for j in range(5)] for i in range(5)])
    f = (p + tent * Fraction(1, 10**9)).merge()
    made = None
    with suppress(ConstructionError):
        made = compile(f, construction="layers", certify=True)
    assert made is None or made.certificate.proved


def test_wrong_weights_are_noticed():
    """The check of the theorem refuses weights that are off by 1e-30, each of them."""
    rows = LayerRows(next(find_layers(SOLE["layers"][0]())))
    u = weights_of(rows, np.zeros(len(rows.forms), dtype=bool))[0]
    assert direct_terms(rows, u) is not None
    for j, own in enumerate(u):
        for i in np.flatnonzero((rows.solutions[j][1] == 0).all(axis=0)):
            changed = own.copy()
            changed[i] += Fraction(1, 10**30)
            assert direct_terms(rows, [*u[:j], changed, *u[j + 1 :]]) is None


def main() -> None:
    for widths in ((2, 6, 6, 6, 1), (2, 8, 8, 8, 1), (3, 5, 4, 4, 1), (2, 5, 5, 4, 2)):
        extra = []
        for seed in range(3, 13):
            with suppress(ConstructionError):
                made = layers.plan(Analysis(on(network(widths, seed), None)))
                extra.append(made.sizes.neurons - sum(widths[1:-1]))
        print("-".join(map(str, widths)), len(extra), "of 10 come back, with", round(np.mean(extra), 1), "neurons more")


if __name__ == "__main__":
    main()
