"""What the maker of a function knows is used, and changes nothing but the work."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import cpwl.function.examine as examination
from cpwl import CPWL, Network
from cpwl.function.bends.table import neighbours
from cpwl.function.doctor.first_error import first_error
from cpwl.function.evaluate import inner_points
from cpwl.function.lineality import divided
from cpwl.function.parts import Known
from cpwl.geometry.probe import Probe
from cpwl.regions.pieces import as_function, find_pieces


def _pairs(found):
    return [frozenset(pair) for pair in zip(found.one.tolist(), found.two.tolist(), strict=True)]


def _network(seed, *, inputs=2, hidden=(4, 3)):
    rng = np.random.default_rng(seed)
    sizes = [inputs, *hidden, 1]
    return Network(
        [(rng.integers(-3, 4, (b, a)).tolist(), rng.integers(-2, 3, b).tolist()) for a, b in itertools.pairwise(sizes)]
    )


def _with_known(network):
    """The extracted function without and with what the extraction knew."""
    pieces = find_pieces(network, None, True)
    plain = replace(as_function(pieces, None, True, False), known=None)
    row = np.flatnonzero(pieces.neighbour >= 0)
    pairs = np.column_stack([pieces.polyhedra.owner[row], pieces.neighbour[row], row])
    return plain, replace(plain, known=Known(pieces.inside, pairs, pieces.complete))


@pytest.mark.parametrize("seed", range(8))
def test_merging_with_known_neighbours_gives_the_same_pieces(seed):
    """Contacts that are known and contacts that are found lead to the same unions."""
    plain, known = _with_known(_network(seed))
    one, two = plain.merge(), known.merge()
    assert one.num_pieces == two.num_pieces
    for a, b in zip(one.polyhedra, two.polyhedra, strict=True):
        assert sorted(map(tuple, a.integer().tolist())) == sorted(map(tuple, b.integer().tolist()))
    assert two.doctor().healthy
    assert replace(two, known=None).doctor().healthy


@pytest.mark.parametrize("seed", range(4))
def test_one_sense_of_each_pair_is_enough(seed):
    """A pair of neighbours may be listed once only."""
    plain, known = _with_known(_network(seed))
    pairs = known.known.neighbours
    once = replace(known, known=replace(known.known, neighbours=pairs[pairs[:, 0] < pairs[:, 1]]))
    assert once.merge().num_pieces == plain.merge().num_pieces
    assert len(neighbours(once).one) == len(neighbours(known).one)


@pytest.mark.parametrize("seed", range(8))
def test_known_neighbours_are_those_that_are_found(seed):
    """The same pairs, each once, with rows that hold on the first and not on the second."""
    plain, known = _with_known(_network(seed, inputs=3, hidden=(4,)))
    one, two = neighbours(plain), neighbours(known)
    assert set(_pairs(one)) == set(_pairs(two))
    assert len(_pairs(two)) == len(set(_pairs(two)))
    inside = inner_points(known, range(known.num_pieces))
    for i, j, row in zip(two.one, two.two, two.row, strict=True):
        assert row[:-1] @ inside[int(i)] < row[-1] < row[:-1] @ inside[int(j)]


def test_a_complete_function_is_not_examined_again(monkeypatch):
    """Neither facets nor linear programs for errors; notes are as before."""
    plain, known = _with_known(_network(1))
    expected = [(f.kind, f.pieces) for f in plain.doctor()]

    def never(*_args):
        raise AssertionError("examined again")

    assert [(f.kind, f.pieces) for f in known.doctor()] == expected
    monkeypatch.setattr(examination.PieceDoctor, "findings", never)
    monkeypatch.setattr(Probe, "interior", never)
    assert first_error(known) is None
    assert examination.examine(known, notes=False).healthy


def test_what_is_known_of_some_pieces():
    """Inner points stay; completeness and neighbours do not."""
    plain, known = _with_known(_network(2))
    some = known.take(np.array([2, 0]))
    assert some.known is not None
    assert (some.known.inner == known.known.inner[[2, 0]]).all()
    assert not some.known.complete
    assert some.known.neighbours is None
    assert not some.doctor().healthy or plain.num_pieces <= 2


def test_known_on_the_essential_coordinates():
    """A function of six inputs that bends in two directions: inner points that are 0 elsewhere are kept."""
    weight = np.array([[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
    plain, known = _with_known(Network([(weight.tolist(), [0, 1]), ([[1, -2]], [0])]))
    small = divided(known).function
    assert small.dim == 2
    assert small.known.complete
    for i, x in inner_points(small, range(small.num_pieces)).items():
        body = small.polyhedra[i]
        assert (body.A @ np.asarray(x, dtype=float) < body.b).all()
    assert small.merge().num_pieces == divided(plain).function.merge().num_pieces


def test_nothing_known_is_the_default():
    """Other makers say nothing."""
    assert CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1).known is None
