"""Several outputs made exact together, against relations that were put in by hand."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from cpwl.function.snap.laws import fix_in_turn
from cpwl.function.snap.relations import Relation, in_rounds

SHARED = Relation("shared", (0, 1, 2, 3), (2, 2))
SPAN = Relation("span", (0, 1, 2, 3, 4), (3, 2))


def laws_with(relation, noise, seed=0):
    """Laws of 4 numbers that satisfy a relation but for noise."""
    rng = np.random.default_rng(seed)
    laws = rng.standard_normal((5, 4))
    if relation.kind == "shared":
        laws[3] = laws[2] + 0.7 * (laws[1] - laws[0])
    else:
        laws[4] = laws[3] + 0.7 * (laws[1] - laws[0]) - 0.3 * (laws[2] - laws[0])
    return laws + noise * rng.standard_normal(laws.shape)


@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-12])
@pytest.mark.parametrize("relation", [SHARED, SPAN], ids=lambda relation: relation.kind)
def test_relations_of_several_outputs_hold_exactly(relation, noise):
    """And nothing moves by more than noise does; a law that is off does not satisfy them."""
    laws, weight = laws_with(relation, noise), np.ones(4)
    fixed = fix_in_turn(laws, [relation], weight, 1e-9)
    assert not fixed.broken
    assert relation.holds(fixed.laws)
    assert np.abs(np.array(fixed.laws, dtype=float) - laws).max() <= 1e-14 + 20 * noise
    last = relation.laws[-1]
    moved = [*fixed.laws[:last], [x + Fraction(1, 10**30) * k for k, x in enumerate(fixed.laws[last])]]
    assert not relation.holds([*moved, *fixed.laws[last + 1 :]])


def test_orders_leave_every_law_a_place():
    """Of a chain of pencils no law is the last of more than two: two planes in four dimensions have a point."""
    pencils = [Relation("pencil", (k, k + 1, k + 2, k + 3)) for k in range(8)]
    for seed in range(10):
        order = in_rounds([False] * 11, pencils, 4, Random(seed))
        assert sorted(order) == list(range(11))
        place = {law: k for k, law in enumerate(order)}
        last = [max(relation.laws, key=place.get) for relation in pencils]
        assert max(last.count(law) for law in last) <= 2
