"""Networks of more faces than are kept: compared tile by tile, with the verdict of the whole."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from cpwl import Network, equal
from cpwl.equality.regions import compare_on_regions, on_tile
from cpwl.exact.rational import fraction_array
from cpwl.geometry.polyhedra import Polyhedron, box_polyhedron
from cpwl.regions import subdivide as whole


def pair(change: int) -> tuple[Network, Network]:
    rng = np.random.default_rng(3)
    weight, bias = rng.integers(-9, 9, (7, 2)), rng.integers(-9, 9, 7)
    out = rng.integers(1, 9, 7)
    other = out.copy()
    other[3] += change
    # The second one has its neurons in another order, and scaled: the laws are equal, the layers are not.
    order = rng.permutation(7)
    second = Network([(3 * weight[order], 3 * bias[order]), (other[order][None], [0]), ([["1/3"]], [0])])
    shift = 10**4
    first = Network([(weight, bias), (out[None], [shift]), ([[1]], [-shift])])
    return first, second


def test_the_largest_difference_is_found_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    network, _ = pair(0)
    domain, target = box_polyhedron(([-5, -5], [5, 5]), 2), fraction_array(np.array([[1, 2, 3]]))
    at_once = compare_on_regions(network, domain, target)
    monkeypatch.setattr(whole, "_MOST_BOUNDS", 200)
    in_tiles = compare_on_regions(network, domain, target)
    assert in_tiles.complete
    assert in_tiles.regions == at_once.regions
    assert in_tiles.apart is not None
    assert at_once.apart is not None
    assert in_tiles.apart.size == at_once.apart.size
    assert compare_on_regions(network, domain, target, most=3).complete is False


def test_equality_is_proved_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "_MOST_BOUNDS", 200)
    first, second = pair(0)
    verdict = equal(first, second, box=([-5, -5], [5, 5]))
    assert verdict.equal is True


def test_how_many_cells_are_held_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few cells at a time give the largest difference, the regions and the proof of all at once."""
    (network, _), (first, second) = pair(1), pair(0)
    domain, target = box_polyhedron(([-5, -5], [5, 5]), 2), fraction_array(np.array([[1, 2, 3]]))
    at_once = compare_on_regions(network, domain, target), equal(first, second, box=([-5, -5], [5, 5]))
    monkeypatch.setattr("cpwl.equality.regions.cells_at_once", lambda _: 4)
    in_tiles = compare_on_regions(network, domain, target), equal(first, second, box=([-5, -5], [5, 5]))
    assert at_once[0].apart is not None
    assert in_tiles[0].apart is not None
    assert (in_tiles[0].apart.size, in_tiles[0].regions) == (at_once[0].apart.size, at_once[0].regions)
    assert at_once[1].equal is in_tiles[1].equal is True


@pytest.mark.parametrize("sizes", [[1, 5, 4, 1], [2, 9, 5, 2], [3, 11, 2, 1]])
def test_a_network_on_a_tile_is_the_same_function_with_the_same_cells(sizes: list[int]) -> None:
    """Neurons that keep their sign there are folded: equal values, in rationals, and as many cells."""
    rng = random.Random(sizes[0])
    smaller = 0
    for _ in range(8):
        layers = [
            (
                [[Fraction(rng.randint(-4, 4), rng.choice([1, 1, 3])) for _ in range(a)] for _ in range(b)],
                [Fraction(rng.randint(-9, 9), 4) for _ in range(b)],
            )
            for a, b in itertools.pairwise(sizes)
        ]
        network, n = Network(layers), sizes[0]
        unit = np.eye(n, dtype=int).tolist()
        low, width = [rng.randint(-3, 1) for _ in range(n)], rng.choice([1, 2, 4])
        rows = [*unit, *(-np.eye(n, dtype=int)).tolist(), [1] * n]
        body = Polyhedron.from_rows(rows, [*(v + width for v in low), *(-v for v in low), sum(low) + width])
        own = on_tile(network, body)
        x = np.array([[v + Fraction(rng.randint(0, width * 7), 7 * n) for v in low] for _ in range(12)], dtype=object)
        assert (np.asarray(own(x)) == np.asarray(network(x))).all()
        counts = [len(whole.subdivide(each, body).signs) for each in (network, own)]
        assert counts[0] == counts[1]
        smaller += own is not network
    assert smaller
    assert on_tile(network, None) is network
