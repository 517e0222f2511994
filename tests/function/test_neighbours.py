"""Neighbours: every pair shares a facet, and no facet inside the domain is missing; the oracle asks every pair."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.exact.integers import primitive
from cpwl.function.bends import table
from cpwl.function.bends.table import neighbours
from cpwl.geometry.bodies import body_of
from cpwl.geometry.probe import Probe
from shallow import from_hidden_layer
from support.functions import delaunay


def hidden_layer(n, width, seed):
    draw = random.Random(seed)
    weight = [[draw.randint(-9, 9) for _ in range(n)] for _ in range(width)]
    return from_hidden_layer(weight, [draw.randint(-9, 9) for _ in range(width)], [1] * width)


def max_min(n, count, seed):
    """Its pieces do not meet face to face."""
    draw = random.Random(seed)
    components = [[draw.randint(-9, 9) for _ in range(n + 1)] for _ in range(count)]
    return CPWL.from_maxmin(components, [draw.sample(range(count), 2) for _ in range(3)])


FUNCTIONS = {
    "triangles": lambda: delaunay(2, 9, 1),
    "lines in the plane": lambda: hidden_layer(2, 4, 1),
    "planes in space": lambda: hidden_layer(3, 4, 2),
    "pieces with lines": lambda: hidden_layer(5, 3, 3),
    "max-min in the plane": lambda: max_min(2, 4, 5),
    "max-min in space": lambda: max_min(3, 4, 7),
}


def shared(p):
    """All triples (piece with ``a.x <= b``, piece with ``a.x >= b``, row), by a linear program for each pair."""
    bodies, probe, found = [primitive(body.integer()) for body in p.polyhedra], Probe(0.0), set()
    for i, j in itertools.permutations(range(p.num_pieces), 2):
        for k, row in enumerate(bodies[i]):
            others = (bodies[j] != -row).any(axis=1)
            if not others.all():
                both = np.concatenate([bodies[i], bodies[j][others]])
                if probe.interior(body_of(both), on=[k]) is not None:
                    found.add((i, j, tuple(row)))
    return found


@pytest.mark.parametrize("corners", [True, False], ids=["corners", "linear programs"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_neighbours_are_those_of_all_pairs(name, corners, monkeypatch):
    """Each pair shares a facet on its row, and each facet that two pieces share is that of some pair."""
    if not corners:
        monkeypatch.setattr(table, "spanned", lambda _: "corners are not asked for")
    p = replace(FUNCTIONS[name](), mesh=None, known=None)
    found = neighbours(p)
    pairs = {(i, j, tuple(row)) for i, j, row in zip(found.one, found.two, found.row, strict=True)}
    right = shared(p)
    assert pairs <= right
    both = pairs | {(j, i, tuple(-v for v in row)) for i, j, row in pairs}
    assert {(i, row) for i, _, row in right} == {(i, row) for i, _, row in both}
