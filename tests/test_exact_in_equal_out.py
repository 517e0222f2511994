"""Exact data in, an equal network out: for every maker of functions, every construction, one to four inputs.

Data is exact if it comes as integers, fractions or text, and if its floats lie on an even lattice already. The oracle
is `certify`, whose checker stands alone; rational points are compared besides.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import cpwl
from cpwl import CPWL, ConstructionError, Network
from cpwl.compiler import CONSTRUCTIONS
from cpwl.function.make import kuhn_simplices
from support.strategies import functions

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def integers(seed, shape):
    """Small integers, as Python has them."""
    return np.random.default_rng(seed).integers(-4, 5, shape).tolist()


def grid(axes, seed=0):
    """A table of integers."""
    return CPWL.from_grid(axes, integers(seed, tuple(map(len, axes))))


def ramp(n):
    """max(0, x_0 + ... + x_(n-1) / 3): two pieces in R^n."""
    slope = [Fraction(1, 1 + 2 * (k == n - 1)) for k in range(n)]
    rows = [[[-v for v in slope]], [slope]]
    return {"A": rows, "b": [[0], [0]], "gradient": [slope, [0] * n], "offset": [0, 0]}


def by_simplices(n):
    """Decimals as text: one cube of the Kuhn triangulation."""
    points = [[("0.1", "0.7")[v] for v in corner] for corner in product((0, 1), repeat=n)]
    return CPWL.from_simplices(
        points, kuhn_simplices((2,) * n), [["0.3", "-1.1", 2, "1/7"][k % 4] for k in range(2**n)]
    )


def by_csv(n, folder):
    """Decimals as text, on a grid of two or three points an axis."""
    axes = [("-0.1", "0.2", "0.3")] * min(n, 2) + [("0.1", "0.4")] * max(n - 2, 0)
    lines = [",".join([f"x{k}" for k in range(n)] + ["y"])]
    for k, point in enumerate(product(*axes)):
        lines.append(",".join([*point, f"{(7 * k * k) % 11 / 10}"]))
    path = folder / "table.csv"
    path.write_text("\n".join(lines))
    return cpwl.io.from_csv(path)


def by_program(n):
    """A quadratic program in rationals: every input is clipped to [-1, 1]; their sum."""
    eye = np.eye(n, dtype=int)
    rows, none = np.vstack([eye, -eye]), np.zeros((2 * n, n), int)
    program = {"Q": eye, "H": -eye, "c": [0] * n, "A": rows, "b": [1] * (2 * n), "F": none, "A_t": rows}
    sides = [
        [k for k, side in enumerate(sign) if side > 0] + [n + k for k, side in enumerate(sign) if side < 0]
        for sign in product((-1, 0, 1), repeat=n)
    ]
    law = cpwl.io.from_active_sets({**program, "b_t": [3] * (2 * n)}, sides)
    return [[Fraction(1, 1 + k) for k in range(n)]] @ law


def network(n):
    """One hidden layer of rational weights."""
    weight = np.array(integers(n, (3, n)), dtype=object)
    return Network([(weight, [THIRD, 0, -HALF]), ([[1, -2, THIRD]], [HALF])])


MAKERS = {
    "from_pieces": lambda n, _: CPWL.from_pieces(**ramp(n)),
    "from_regions": lambda n, _: cpwl.io.from_regions(
        [{"H": A, "K": b, "F": [F], "G": [G]} for A, b, F, G in zip(*ramp(n).values(), strict=True)]
    ),
    "from_simplices": lambda n, _: by_simplices(n),
    "from_grid": lambda n, _: grid([[0, "1/3", 1]] + [range(2)] * (n - 1)),
    "from_grid of floats on a lattice": lambda n, _: grid([np.arange(4.0)] + [np.array([-0.5, 0.25])] * (n - 1)),
    "from_maxmin": lambda n, _: CPWL.from_maxmin(integers(n, (4, n + 1)), [[0, 1], [2, 3]]),
    "from_csv": by_csv,
    "parse": lambda n, _: cpwl.parse(f"max(0.1, {' + '.join(f'x{k}' for k in range(n))}/3, min(x0, -0.7*x{n - 1}))"),
    "from_active_sets": lambda n, _: by_program(n),
    "extract": lambda n, _: cpwl.extract(network(n), box=(-1, 2), exact=True),
    "algebra": lambda n, _: abs(grid([range(3)] + [range(2)] * (n - 1)) - THIRD) + HALF,
    "take": lambda n, _: grid([range(3)] + [range(2)] * (n - 1)).take(np.arange(1)),
}
ON_A_LINE = {
    "from_breakpoints": lambda: CPWL.from_breakpoints(["0.1", "0.2", "0.3", 2], [0, THIRD, 1, "0.7"]),
    "from_interp": lambda: cpwl.io.from_interp([0, THIRD, 1], [1, "0.3", 2]),
    "long integers": lambda: CPWL.from_breakpoints(range(5), [0, 10**15, 2 * 10**15 + 1, 3 * 10**15, 4 * 10**15]),
    "fractions that are floats": lambda: CPWL.from_breakpoints(range(4), [0, 1, 2 + Fraction(1, 2**50), 3]),
}
LATTICES = {
    "31": lambda: grid([range(32), range(2)]),
    "33": lambda: grid([range(2), range(34)]),
    "40": lambda: grid([range(41), range(2)]),
    "4 x 2 x 2 x 2": lambda: grid([range(4)] + [range(2)] * 3),
    "affine, 41 x 41": lambda: CPWL.from_grid(
        [range(41)] * 2, [[3 * i + 2 * j + 1 for j in range(41)] for i in range(41)]
    ),
    "fractions that are floats": lambda: grid([[0, 1, 2 + Fraction(1, 2**50), 3], range(3)]),
    "floats": lambda: grid([np.arange(-3.0, 4.0) / 4, np.arange(3.0) * 1024]),
}


@st.composite
def tables(draw):
    """Tables in one to three inputs, on an even lattice of integers, fractions, or floats with short mantissas."""
    n = draw(st.integers(1, 3))
    step = draw(st.sampled_from([1, THIRD, Fraction(1, 10), 0.25, 1024.0, 3, 10**7]))
    shape = [
        draw(st.integers(2, (34, 9, 4)[n - 1])),
        *draw(st.lists(st.integers(2, 3), min_size=n - 1, max_size=n - 1)),
    ]
    first = draw(st.integers(-40, 40))
    return grid([[(first + k) * step for k in range(size)] for size in shape], draw(st.integers(0, 99)))


def check(p, construction="auto"):
    """The network is proved to be equal, and equal at rational points; says whether the construction applies."""
    try:
        made = cpwl.compile(p, construction=construction)
    except ConstructionError:
        assert construction != "auto"
        return False
    proof = cpwl.certify(p, made.network)
    assert proof.proved, (construction, proof.reason)
    assert proof.error_bound == 0, (construction, made.reason, proof.statement)
    x = np.array([[Fraction(3 * i + 2 * j - 4, 7) for j in range(p.dim)] for i in range(4)], dtype=object)
    for ours, theirs in zip(p(x), made.network(x), strict=True):
        assert ours[0] is None or list(ours) == list(theirs)
    return True


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("maker", MAKERS)
def test_exact_in_equal_out(maker, n, tmp_path):
    """By default, for every maker."""
    assert check(MAKERS[maker](n, tmp_path))


@pytest.mark.parametrize("maker", ON_A_LINE)
def test_exact_in_equal_out_on_a_line(maker):
    """By default, for functions of one input."""
    assert check(ON_A_LINE[maker]())


@pytest.mark.one_in(5)
@pytest.mark.parametrize("lattice", LATTICES)
def test_points_of_an_even_lattice_stay_where_they_are(lattice):
    """Tables that are on an even lattice as they are."""
    assert check(LATTICES[lattice]())


@given(tables())
@settings(max_examples=settings.default.max_examples // 4)
def test_tables_stay_where_they_are(p):
    """Exact tables of any size."""
    assert check(p)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("maker", ["from_pieces", "from_simplices", "from_maxmin"])
@pytest.mark.parametrize("construction", CONSTRUCTIONS[1:])
def test_every_construction_is_equal(construction, maker, tmp_path):
    """In the plane, each construction that applies."""
    check(MAKERS[maker](2, tmp_path), construction)


def test_moving_must_pay():
    """The thirds of ``linspace`` are off an even lattice by rounding, but no neuron is saved by moving them onto it."""
    p = CPWL.from_grid([np.linspace(0, 1, 4), [0, 1]], integers(0, (4, 2)))
    assert check(p)
    x = np.linspace(0, 1, 6)
    q = CPWL.from_grid([x, x], integers(1, (6, 6)))
    made = cpwl.compile(q)
    assert "undone" in made.reason
    assert made.sizes.neurons < cpwl.compile(replace(q, floats=False)).sizes.neurons


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_maker_by_every_construction(maker, construction, n, tmp_path):
    """All of them."""
    check(MAKERS[maker](n, tmp_path), construction)


@pytest.mark.slow
@pytest.mark.parametrize("size", [8, 16, 31, 32, 33, 34, 40, 48, 60, 64])
def test_square_tables(size):
    """Integers on axes 0..m."""
    assert check(grid([range(size + 1), range(5)]))


@pytest.mark.slow
def test_cubic_table():
    """Integers on 9 x 9 x 9 points."""
    assert check(grid([range(9)] * 3))


@pytest.mark.slow
@given(st.integers(1, 3).flatmap(functions), st.sampled_from(CONSTRUCTIONS))
@settings(max_examples=60, deadline=None)
def test_functions_of_all_kinds(p, construction):
    """Grids, networks and max-min expressions of small rationals."""
    check(p, construction)


@pytest.mark.parametrize("seed", range(3))
def test_tables_far_from_the_origin_are_proved_equal(seed):
    """Gate planes of a table with axes of 10^7 are told apart by their normals, not by the size of its points."""
    axis = [10**7 * k for k in (1, 2, 3)]
    p = CPWL.from_grid([axis, axis], np.random.default_rng(seed).integers(-3, 4, (3, 3)).tolist())
    made = cpwl.compile(p, construction="gates", certify=True)
    assert made.certificate.proved
    assert made.certificate.error_bound == 0
