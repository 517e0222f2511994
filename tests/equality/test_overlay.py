"""Cells laid over pieces, holes, and how fast a difference is reported."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from cpwl import CPWL, InputError, Network, compile, equal, extract
from cpwl.equality.decide import overlay
from cpwl.geometry.generators import box_pairs
from cpwl.geometry.probe import Probe
from cpwl.regions.pieces import find_pieces
from support.functions import five_pieces


def random_network(sizes, seed, *, whole=True):
    rng = np.random.default_rng(seed)
    draw = (lambda *shape: rng.integers(-3, 4, shape)) if whole else (lambda *shape: rng.normal(size=shape))
    return Network([(draw(b, a), draw(b)) for a, b in pairwise(sizes)])


def changed(network, layer, by):
    layers = [(weight.toarray().copy(), bias.copy()) for weight, bias in network.layers]
    layers[layer][0][0, 0] += by
    return Network(layers)


LINE = CPWL.from_breakpoints([0, 1, 2, 3], [0, 1, 0, 2])
SQUARES = CPWL.from_grid([[0, 1, 2, 3], [0, 1, 2, 3]], np.add.outer(np.arange(4) ** 2, np.arange(4)).tolist())


@pytest.mark.parametrize(("p", "left_out"), [(LINE, 1), (SQUARES, 8), (SQUARES, 9)])
def test_two_functions_are_equal_only_if_each_covers_the_other(p, left_out):
    """An inner piece left out is a difference, and the witness is in it."""
    part = p.take(np.delete(np.arange(p.num_pieces), left_out))
    for a, b, gives in ((p, part, (True, False)), (part, p, (False, True))):
        verdict = equal(a, b)
        assert verdict.equal is False
        assert tuple(v is not None for v in verdict.values) == gives
        rows = p.polyhedra[left_out].integer()
        assert ((rows[:, :-1] * verdict.witness).sum(axis=1) < rows[:, -1]).all()
        assert "nothing" in verdict.statement


@pytest.mark.parametrize(("p", "left_out"), [(LINE, 1), (SQUARES, 8)])
def test_a_network_against_a_function_with_a_hole(p, left_out):
    """Where the function is not defined the verdict says so; on a domain that holds the hole it is refused."""
    network, part = compile(p).network, p.take(np.delete(np.arange(p.num_pieces), left_out))
    assert equal(network, p).equal
    verdict = equal(network, part)
    assert verdict.equal is False
    assert verdict.values[1] is None
    assert "hole" in verdict.reason
    unit = np.eye(p.dim, dtype=int)
    with pytest.raises(InputError, match="not defined at"):
        equal(network, part, domain=(np.concatenate([unit, -unit]), [3] * p.dim + [0] * p.dim))


def test_a_hole_outside_the_domain_does_not_matter():
    """Piece 1 is [1, 2]; on [2, 3] nothing is missing."""
    part = LINE.take(np.array([0, 2]))
    assert equal(LINE, part, domain=([[1], [-1]], [3, -2])).equal
    assert equal(compile(LINE).network, part, domain=([[1], [-1]], [3, -2])).equal


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("merge", [False, True])
def test_a_network_equals_its_function_without_a_linear_program(seed, merge, monkeypatch):
    """Every cell is inside a piece, and cells fill every piece."""
    network = random_network([2, 5, 4, 1], seed)
    p = extract(network, merge=merge)
    monkeypatch.setattr(Probe, "maxima", lambda *_, **__: pytest.fail("a linear program"))
    assert equal(network, p).equal


@pytest.mark.parametrize("seed", range(6))
def test_a_piece_with_a_wrong_law_is_found(seed):
    """One offset changed by 1e-30: the gap is that, wherever the piece is."""
    network = random_network([2, 5, 3, 1], seed)
    p = extract(network)
    laws = p.laws.integer().astype(object)
    i = seed % p.num_pieces
    laws[i, 0] = laws[i, 0] * 10**30
    laws[i, 0, -2] += laws[i, 0, -1] // 10**30
    wrong = replace(p, laws=type(p.laws).from_integer(laws), known=None, complete=None)
    verdict = equal(network, wrong)
    assert verdict.equal is False
    assert verdict.gap == Fraction(1, 10**30)


def test_a_repeated_piece_with_another_law_is_not_overlooked():
    """Pieces that overlap are no function; what the second of them says is compared, too."""
    network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    A, b = [[[1]], [[-1]], [[1], [-1]]], [[0], [0], [3, -1]]
    good = CPWL.from_pieces(A, b, [[-1], [1], [1]], [0, 0, 0])
    bad = CPWL.from_pieces(A, b, [[-1], [1], [1]], [0, 0, 7])
    assert equal(network, good).equal
    assert equal(network, bad).equal is False


@pytest.mark.parametrize("seed", range(4))
def test_cells_in_pieces_by_brute_force(seed):
    """Every pair of a cell and a piece against all corners and rays in rationals."""
    network, p = random_network([2, 4, 2, 1], seed), extract(random_network([2, 3, 1], seed))
    found = find_pieces(network, None, True, spans=True)
    laid = overlay(found, p)
    expected = set()
    for c, i in product(range(len(found)), range(p.num_pieces)):
        places = found.spans.places[found.spans.of_piece(c)]
        rows = p.polyhedra[i].integer()
        if all((row[:-1] * place[:-1]).sum() <= row[-1] * place[-1] for row, place in product(rows, places)):
            expected.add((c, i))
    if found.spans.rank == p.dim:
        assert set(zip(laid.cell.tolist(), laid.piece.tolist(), strict=True)) == expected


@pytest.mark.parametrize("seed", range(3))
def test_box_pairs_by_brute_force(seed):
    """Against all pairs, infinite boxes included."""
    rng = np.random.default_rng(seed)
    low, lows = rng.normal(size=(150, 2)), rng.normal(size=(170, 2))
    high, highs = low + rng.exponential(size=low.shape) / 5, lows + rng.exponential(size=lows.shape) / 5
    high[:9], lows[:7, 0] = np.inf, -np.inf
    meet = (low[:, None] <= highs).all(axis=2) & (lows <= high[:, None]).all(axis=2)
    assert (box_pairs(low, high, (lows, highs)) == np.argwhere(meet)).all()


def test_a_difference_of_wide_deep_networks_is_reported_at_once():
    """Regions beyond counting, and a change of 1e-6: the witness does not wait for them."""
    network = random_network([5, *[50] * 6, 5], 3, whole=False)
    verdict = equal(network, changed(network, 3, 1e-6))
    assert verdict.equal is False
    assert verdict.gap is None
    assert (verdict.values[0] != verdict.values[1]).any()


def test_rounded_pieces_are_compared_and_the_gap_is_exact():
    """Five pieces with floats in place of thirds: the gap on a box is attained at the witness."""
    p = five_pieces()
    rounded = replace(p, laws=type(p.laws)(p.laws.gradient * (1 + 2**-40), p.laws.offset), known=None)
    network = compile(p).network
    verdict = equal(network, rounded, domain=([[1, 0], [-1, 0], [0, 1], [0, -1]], [2, 2, 2, 2]))
    assert verdict.equal is False
    assert np.abs(verdict.values[0] - verdict.values[1]).max() == verdict.gap > 0
