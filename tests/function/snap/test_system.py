"""Laws from one system: float twins of networks come back exact, near, no larger than the truth, in short numbers."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.laws import fix_in_turn, simple_laws
from cpwl.function.snap.relations import Relation, in_rounds, lines_of
from cpwl.function.snap.short import short
from cpwl.function.snap.system import Formal, Shared, solve_system
from support.networks import regions, small_regions
from support.twins import twin

NETWORKS = {
    "plane": (2, (7, 5), 1, 0, 2.0),
    "plane, unbounded": (2, (6, 5), 1, 1, None),
    "plane, two outputs": (2, (6, 5), 2, 0, 2.0),
    "plane, three layers": (2, (5, 4, 3), 1, 1, 2.0),
    "space": (3, (4, 3), 1, 2, 2.0),
    "space, two outputs": (3, (3, 3), 2, 2, 2.0),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", [1e-15, 1e-13])
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_regions_of_networks_come_back(name, noise):
    """No bend is added, numbers have few bits, everything is near; sound by linear programs in rationals."""
    p = regions(*NETWORKS[name])
    found = twin(p, noise, 0).function().snap(1e-9)
    q = found.function
    assert q is not None, found.reason
    assert found.way == "laws"
    assert q.num_components == p.num_components
    assert found.moved.value < 1e-10
    assert max(int(x).bit_length() for x in q.laws.integer().ravel()) < 300
    assert not any(f.severity == "error" for f in PieceDoctor(replace(q, mesh=None)).findings())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("noise", [1e-15, 1e-13, 1e-11])
@pytest.mark.parametrize(
    ("inputs", "widths", "outputs", "seed", "box"),
    [(2, (8, 6), 1, 2, None), (3, (5, 4), 1, 2, 1), (3, (4, 4), 1, 2, None), (2, (6, 5), 2, 1, 1)],
)
def test_small_numbers_come_back_as_they_were_meant(inputs, widths, outputs, seed, box, noise):
    """The laws of the network itself, exactly, however many hyperplanes meet in a place."""
    p = small_regions(inputs, widths, outputs, seed, box)
    found = twin(p, noise, 0).function().snap(1e-9)
    assert found.way == "laws", found.reason
    assert {tuple(law.ravel()) for law in found.function.laws.integer()} == {tuple(x.ravel()) for x in p.laws.integer()}


def test_simple_numbers_are_decimals_dyadic_or_small_fractions():
    """Each within the slack; what is none of these is not rounded."""
    slack = np.full((1, 4), 1e-12)
    meant = [Fraction(3, 1024), Fraction(-137, 1000), Fraction(5, 7), Fraction(0)]
    laws = np.array([[[float(x) + 2e-13 for x in meant]]])
    assert simple_laws(laws, slack) == [[meant]]
    assert simple_laws(np.array([[[0.5, np.pi, 0.0, 1.0]]]), slack) is None


def test_hyperplanes_that_depend_on_each_other_are_found():
    """A network on the plane whose third layer shows in several places apart: rows taken for free are not."""
    p = regions(2, (8, 6, 5), 1, 1)
    found = twin(p, 1e-13, 0).function().snap(1e-9)
    assert found.way == "laws", found.reason
    assert found.function.num_components == p.num_components


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("inputs", "widths", "outputs", "box"),
    [(2, (12, 10), 1, 2.0), (2, (12, 10), 2, 2.0), (2, (10, 8), 1, None), (3, (7, 6), 1, 2.0), (2, (8, 6, 5), 2, 2.0)],
)
def test_regions_of_larger_networks_come_back(inputs, widths, outputs, box, seed):
    """As many laws as the network has, and nothing is cut up."""
    p = regions(inputs, widths, outputs, seed, box)
    found = twin(p, 1e-13, 0).function().snap(1e-9)
    assert found.way == "laws", found.reason
    assert found.function.num_components == p.num_components


def grid_of_hinges(rows, columns, factor):
    """Laws ``i h + j v`` of crossing hinges, those beyond the first column with a larger jump from row to row."""
    h, v = np.array([1.0, 0.3, -0.2]), np.array([-0.4, 1.0, 0.7])
    laws = [i * h * (1 if j == 0 else factor) + j * v for i in range(rows) for j in range(columns)]
    corners = [(i * columns + j, i * columns + j + 1) for i in range(rows - 1) for j in range(columns - 1)]
    kinds = ["straight" if factor != 1 and j == 0 else "cross" for _ in range(rows - 1) for j in range(columns - 1)]
    # The jump across a row is a - d on one side, b - c on the other.
    rings = [(b, b + columns, a + columns, a) for a, b in corners]
    return np.array(laws), [Relation(kind, ring) for kind, ring in zip(kinds, rings, strict=True)]


@pytest.mark.parametrize("factor", [1, 2.5])
def test_all_relations_hold_exactly(factor):
    """Noise in all laws of a grid; every relation of the system holds in rationals."""
    laws, relations = grid_of_hinges(5, 5, factor)
    noisy = laws + 1e-13 * np.random.default_rng(0).standard_normal(laws.shape)
    found = solve_system(noisy, relations, Shared(), np.ones(3), 1e-9)
    assert all(relation.holds(found) for relation in relations)
    assert np.abs(np.array(found, dtype=np.float64) - laws).max() < 1e-11


def test_a_relation_that_does_not_hold_is_told():
    """Exactly, for each kind."""
    zero, one, two = [Fraction(0)] * 3, [Fraction(1), Fraction(0), Fraction(0)], [Fraction(0), Fraction(1), Fraction(0)]
    both = [Fraction(1), Fraction(1), Fraction(0)]
    off = [*both[:2], Fraction(1, 10**30)]
    laws = [zero, one, both, two, off]
    for kind in ("cross", "straight", "pencil"):
        assert Relation(kind, (0, 1, 2, 3)).holds(laws)
        assert not Relation(kind, (0, 1, 4, 3)).holds(laws)
    assert Relation("parallel", (0, 2, 4)).holds(laws)
    assert not Relation("parallel", (0, 1, 2)).holds(laws)


def test_lines_and_classes_are_read_off_relations():
    """A crossing has two lines with a class each; a straight line with two jumps has two classes and a bend beside."""
    cross = lines_of([Relation("cross", (0, 1, 2, 3))])
    assert len(set(cross.line.values())) == 2
    assert cross.line[0, 1] == cross.line[2, 3]
    assert cross.number[0, 1][0] == cross.number[2, 3][0]
    assert cross.number[0, 1][1] == -cross.number[2, 3][1]
    straight = lines_of([Relation("straight", (0, 1, 2, 3))])
    assert straight.line[0, 1] == straight.line[2, 3]
    assert straight.number[0, 1][0] != straight.number[2, 3][0]
    assert straight.straight == {straight.line[0, 1]}
    assert len(straight.joints) == 1


def test_equations_are_split_symbol_by_symbol():
    """``u = x s + y t`` and ``u = z s + w t``: x is z, and y is w."""
    symbols = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    system = Formal(np.array([0.5, 0.25, 0.5, 0.25]), symbols, np.ones(2), 1e-9)
    for x, y in ((0, 1), (2, 3)):
        system.add({0: Fraction(1)}, {(0, x): Fraction(-1), (1, y): Fraction(-1)})
    numbers = system.numbers([Fraction(1, 2), Fraction(1, 4), Fraction(7), Fraction(9)].__getitem__)
    assert numbers[0] == numbers[2]
    assert numbers[1] == numbers[3]
    assert system.vectors(1, numbers, lambda _: [])[0] == [numbers[0], numbers[1]]


def test_what_does_not_add_up_is_refused():
    """Numbers that floats say differ are not made equal."""
    system = Formal(np.array([0.5, 0.75]), [[Fraction(1), Fraction(2)]], np.ones(1), 1e-9)
    system.add({0: Fraction(1)}, {(0, 0): Fraction(-1)})
    with pytest.raises(Unfit, match="add up"):
        system.add({0: Fraction(1)}, {(0, 1): Fraction(-1)})


def test_short_numbers_are_near_and_short():
    """Simple fractions where they are meant, a grid elsewhere."""
    assert short(2 / 7 + 1e-16, 2.0**-54, 100) == Fraction(2, 7)
    x = short(np.pi, 2.0**-20, 1)
    assert abs(float(x) - np.pi) <= 2.0**-20
    assert x.denominator <= 2**20


def rank(*steps):
    """The rank of differences of laws, in rationals."""
    zero = [Fraction(0)] * len(steps[0])
    laws = [zero, *steps]
    return 1 if Relation("straight", (1, 0, 0, 2)).holds(laws) else 2


def test_outputs_that_bend_on_one_facet_share_a_row():
    """Jumps of two outputs are multiples of each other, exactly if they are said to be of one facet, else not."""
    row, rng = np.sqrt([2.0, 3.0, 5.0]), np.random.default_rng(0)
    laws = np.array([0 * row, row, np.pi + 0 * row, np.pi + np.e * row]) + 1e-14 * rng.standard_normal((4, 3))
    for facets, wanted in (([[(0, 1), (2, 3)]], 1), ([], 2)):
        f = solve_system(laws, [], Shared(facets), np.ones(3), 1e-9)
        assert np.abs(np.array(f, dtype=np.float64) - laws).max() < 1e-12
        steps = [[x - y for x, y in zip(f[k + 1], f[k], strict=True)] for k in (0, 2)]
        assert rank(*steps) == wanted


@pytest.mark.parametrize("noise", [1e-13, 1e-11])
def test_laws_are_fixed_one_after_the_other(noise):
    """A grid of crossing hinges: all relations hold in rationals. Four laws that do not cross are not forced to."""
    laws, relations = grid_of_hinges(6, 6, 1)
    noisy = laws + noise * np.random.default_rng(0).standard_normal(laws.shape)
    found = fix_in_turn(noisy, relations, np.ones(3), 1e-9)
    assert all(relation.holds(found) for relation in relations)
    assert np.abs(np.array(found, dtype=np.float64) - noisy).max() < 100 * noise
    noisy[0, 0] += 0.5
    with pytest.raises(Unfit, match="meet"):
        fix_in_turn(noisy, relations, np.ones(3), 1e-9)


def test_orders_leave_every_law_a_place():
    """Of a chain of pencils no law is the last of more than two: two planes in four dimensions have a point."""
    pencils = [Relation("pencil", (k, k + 1, k + 2, k + 3)) for k in range(8)]
    for seed in range(10):
        order = in_rounds([False] * 11, pencils, 4, Random(seed))
        assert sorted(order) == list(range(11))
        place = {law: k for k, law in enumerate(order)}
        last = [max(relation.laws, key=place.get) for relation in pencils]
        assert max(last.count(law) for law in last) <= 2
