"""Polyhedra by fewer rows: the same sets, and no row that a linear program calls redundant."""

import numpy as np
import pytest

from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.bodies import irredundant
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.probe import Probe


def random_bodies(dim, seed, bounded):
    """Polyhedra around 0 with many rows, some of them twice, some touching in a corner only."""
    rng = np.random.default_rng(seed)
    bodies = []
    for _ in range(6):
        rows = rng.integers(-4, 5, (14, dim))
        rows = rows[rows.any(axis=1)]
        right = rng.integers(1, 9, len(rows))
        pieces = [(*map(int, row), int(b)) for row, b in zip(rows, right, strict=True)]
        box = [(*(int(s * (i == j)) for j in range(dim)), 6) for i in range(dim) for s in (1, -1)]
        diagonal = [(1,) * dim + (6 * dim,)]
        bodies.append([*pieces, *(box + diagonal if bounded else []), tuple(3 * v for v in pieces[0])])
    return polyhedra_from_integers(bodies, dim)


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_same_sets_by_facets_alone(dim, bounded):
    """Rows left out hold on what is left, and what is left has as many rows as the slow way leaves."""
    bodies = random_bodies(dim, dim, bounded)
    few = irredundant(bodies, np.zeros((len(bodies), dim), dtype=object))
    probe = Probe(0.0)
    assert all(probe.bounds(few[i], bodies[i]) for i in range(len(bodies)))
    planes = hyperplanes(bodies, 0.0)
    slow = [len(facets_of(bodies, planes, i, probe)) for i in range(len(bodies))]
    assert np.diff(few.start).tolist() == slow
