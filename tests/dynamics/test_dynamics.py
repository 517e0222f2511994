"""Closed loops, iterates, equilibria, Lyapunov candidates, invariant sets: against stepping, programs and grids."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import cpwl
from cpwl import CPWL
from cpwl.dynamics import decrease, is_invariant
from cpwl.errors import InputError, InternalError
from cpwl.exact.rational import fraction_array
from cpwl.show.bundled import bundled_examples
from support.functions import boxes

A, B = [[1, 1], [0, 1]], [[0], [1]]
ROWS = [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]
SET = ROWS + [[-v for v in row] for row in ROWS], [5, 5, 6, 8, 11] * 2


@pytest.fixture(scope="module")
def law():
    """The explicit-MPC law of the double integrator, exactly consistent."""
    example = next(e for e in bundled_examples() if "double integrator" in e.about)
    return example.function.snap(1e-9).function


@pytest.fixture(scope="module")
def loop(law):
    return cpwl.dynamics.closed_loop(A, B, law)


def some_points(count=40, seed=0):
    """Rational points of the set."""
    rng = np.random.default_rng(seed)
    x = fraction_array(rng.integers(-500, 501, (400, 2))) / 100
    rows, right = fraction_array(SET[0]), fraction_array(SET[1])
    return x[((x @ rows.T) <= right).all(axis=1)][:count]


def test_a_closed_loop_is_its_formula(law, loop):
    """``A x + B u(x)``, in rationals; with an offset; as a network, too."""
    x = some_points()
    expected = x @ fraction_array(A).T + law(x) @ fraction_array(B).T
    assert (loop(x) == expected).all()
    moved = cpwl.dynamics.closed_loop(A, B, law, offset=[1, "1/3"])
    assert (moved(x) == expected + fraction_array([1, "1/3"])).all()
    network = cpwl.compile(law, precision="exact").network
    assert (cpwl.dynamics.closed_loop(A, B, network)(x) == expected).all()
    part = cpwl.dynamics.closed_loop(A, B, law, box=(-1, 1))
    assert part([[2.0, 0.0]])[0, 0] != part([[2.0, 0.0]])[0, 0]


def test_steps_of_one_function_and_of_a_simulation(loop):
    """Four steps at once are four steps, one after the other; as a network with a proof as well."""
    part = loop.restrict(domain=SET)
    four = cpwl.dynamics.iterate(part, 4)
    x = some_points()
    y = x
    for _ in range(4):
        y = loop(y)
    assert (four(x) == y).all()
    compiled = cpwl.compile(four, precision="exact")
    assert cpwl.certify(four, compiled.network).proved
    assert (compiled.network(x) == y).all()


def test_iterated_networks():
    """A network after itself."""
    net = cpwl.Network([([[1], [-1]], [0, 1]), ([["1/2", 1]], ["1/3"])])
    x = fraction_array([["-2"], ["1/7"], ["5"]])
    assert (cpwl.dynamics.iterate(net, 3)(x) == net(net(net(x)))).all()


def test_equilibria_by_stepping(loop):
    """The origin, and nothing else; every equilibrium stays where it is."""
    found = cpwl.dynamics.equilibria(loop)
    assert [x.tolist() for x in found.points] == [[0, 0]]
    assert len(found) == 1
    line = cpwl.dynamics.equilibria(
        CPWL.from_grid([[0, 1, 2], [0, 1]], [[[0, 0], [0, 1]], [[0, 0], [0, 1]], [[1, 0], [1, 1]]])
    )
    assert {tuple(map(tuple, face.points)) for face in line.faces} == {((0, 0), (0, 1))}


def stays_by_programs(f, rows, right):
    """Whether no row of the set can be violated after a step: one program a piece and row, by scipy."""
    for body, law in zip(f.polyhedra, f.laws.coefficients(), strict=True):
        inside = np.vstack([body.A, rows]), np.append(body.b, right)
        for row, limit in zip(rows, right, strict=True):
            found = linprog(-(row @ law[:, :-1]), *inside, bounds=[(None, None)] * f.dim)
            if found.status == 0 and -found.fun + row @ law[:, -1] > limit + 1e-9:
                return False
    return True


@pytest.mark.parametrize("scale", ["1", "9/10", "1/3"])
@pytest.mark.parametrize("shape", ["set", "box"])
def test_invariance_as_programs_say(loop, scale, shape):
    """Yes and no as by scipy; a no has a point that leaves, a yes adds up."""
    unit = np.eye(2, dtype=int)
    rows, right = SET if shape == "set" else ([*unit.tolist(), *(-unit).tolist()], [2, 1, 2, 1])
    right = [Fraction(scale) * v for v in right]
    found = cpwl.dynamics.is_invariant(loop, domain=(rows, right))
    assert bool(found) == stays_by_programs(loop, np.array(rows, dtype=float), np.array([float(v) for v in right]))
    if found:
        found.check()
        x = some_points() * Fraction(1, 4)
        inside = ((x @ fraction_array(rows).T) <= fraction_array(right)).all(axis=1)
        after = loop(x[inside])
        assert ((after @ fraction_array(rows).T) <= fraction_array(right)).all()
    else:
        assert (fraction_array(rows) @ found.point <= fraction_array(right)).all()
        assert (loop(found.point[None])[0] == found.value).all()
        assert (fraction_array(rows) @ found.value > fraction_array(right)).any()


def test_a_wrong_proof_of_invariance_is_noticed(loop):
    """A multiplier that is off by 1e-30, negative, or left out."""
    found = cpwl.dynamics.is_invariant(loop, domain=SET)
    step = found.proof[0]
    share = next(s for s in step.multipliers if s)
    key = next(iter(share))
    tiny = Fraction(1, 10**30)
    for change in ({**share, key: share[key] + tiny}, {**share, key: -share[key]}, {}):
        wrong = tuple(change if s is share else s for s in step.multipliers)
        with pytest.raises(InternalError, match="add up"):
            replace(found, proof=(replace(step, multipliers=wrong), *found.proof[1:])).check()


def test_sets_that_cannot_be_asked_about(loop):
    """A set beyond the domain of the map, with a point; maps between different spaces."""
    with pytest.raises(cpwl.InputError, match="not defined at x"):
        cpwl.dynamics.is_invariant(loop, box=(-9, 9))
    with pytest.raises(cpwl.InputError, match=r"R\^n"):
        cpwl.dynamics.is_invariant(CPWL.from_grid([[0, 1], [0, 1]], [[0, 0], [0, 1]]))
    with pytest.raises(cpwl.InputError, match="leaves the domain"):
        cpwl.dynamics.iterate(CPWL.from_grid([[0, 1]], [0, 2]), 2)


@pytest.mark.parametrize("rate", [1, "1/2"])
@pytest.mark.parametrize("seed", range(2))
def test_quadratic_candidates_against_a_grid(rate, seed):
    """The exact largest step is at least that of every grid point, little more than the best, and attained."""
    rng = np.random.default_rng(seed)
    f = CPWL.from_grid([[-1, 0, 1], [-1, "1/3", 1]], rng.integers(-4, 5, (3, 3, 2)) / 4)
    half = rng.integers(-3, 4, (2, 2))
    P = half + half.T if seed % 2 else half @ half.T
    found = cpwl.dynamics.decrease(f, P, rate=rate)

    def change(x):
        y = f(x)
        return np.einsum("ki,ij,kj->k", y, P, y) - float(Fraction(rate)) * np.einsum("ki,ij,kj->k", x, P, x)

    axis = np.linspace(-1, 1, 301)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    best = change(grid).max()
    assert float(found.largest) >= best - 1e-9
    assert float(found.largest) <= best + 0.02 * (1 + abs(best))
    y, form = f(found.point[None])[0], fraction_array(P)
    assert y @ form @ y - Fraction(rate) * (found.point @ form @ found.point) == found.largest


def test_piecewise_linear_candidates(loop):
    """The gauge of an invariant set never rises on it; one of another set does, at a point that shows it."""
    part = loop.restrict(domain=SET)
    rows = [[Fraction(v, b) for v in row] + [0] for row, b in zip(*SET, strict=True)]
    gauge = CPWL.from_maxmin(rows, [[k] for k in range(len(rows))])
    found = cpwl.dynamics.decrease(part, gauge)
    assert found
    assert found.largest == 0
    height = abs(CPWL.from_maxmin([[0, 1, 0]], [[0]]))
    rising = cpwl.dynamics.decrease(part, height)
    assert not rising
    after = part(rising.point[None])[0]
    assert abs(after[1]) - abs(rising.point[1]) == rising.largest


def test_a_candidate_that_is_not_defined_everywhere_is_refused():
    """V must be defined on the domain of f, and on what f maps it to."""
    f = boxes([((-2,), (2,))], [([["1/2"]], ["0"])])
    short = CPWL.from_grid([[-1, 0, 1]], [1, 0, 1])
    with pytest.raises(cpwl.InputError, match="leaves the domain"):
        cpwl.dynamics.decrease(f, short)


def test_too_many_steps_are_refused():
    """A number of steps that nobody could wait for is one sentence, and no endless loop."""
    with pytest.raises(cpwl.InputError, match="between 1 and 10000"):
        cpwl.dynamics.iterate(CPWL.from_grid([[0, 1]], [0, 1]), 10**400)


def test_a_map_with_a_corner_cut_out_keeps_no_set():
    """On an L the box around it looks kept, but the map is not defined in the missing corner."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    half = [[[Fraction(1, 2), 0], [0, Fraction(1, 2)]]] * 3
    halved = cpwl.CPWL.from_pieces([square] * 3, [[1, 0, 1, 0], [2, -1, 1, 0], [1, 0, 2, -1]], half, [[0, 0]] * 3)
    for options in ({}, {"box": (0, 2)}):
        with pytest.raises(cpwl.InputError, match="not continuous on a convex domain"):
            cpwl.dynamics.is_invariant(halved, **options)


def test_the_old_name_of_an_error_works_for_one_release():
    """`outside="refuse"` is `outside="error"`, with a warning that says so."""
    tent = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    with pytest.warns(DeprecationWarning, match='write `outside="error"`'):
        assert tent.compose(tent, outside="refuse").num_pieces == tent.compose(tent, outside="error").num_pieces


TINY = Fraction(1, 3 * 10**18)


def test_a_margin_forgives_rounding():
    """A map that leaves [-1, 1] by 3e-19: no, with that excess; yes with a margin, and the proof adds up."""
    f = CPWL.from_grid([[-1, 0, 1]], [1 + TINY, "1/2", 1])
    no = is_invariant(f)
    assert not no
    assert no.excess == TINY
    assert str(no).endswith("which is not: by 3.33333e-19")
    yes = is_invariant(f, margin="1e-15")
    assert yes
    assert yes.excess == TINY
    yes.check()
    assert not is_invariant(f, margin=TINY / 2)
    assert is_invariant(f, margin=TINY)
    with pytest.raises(InternalError):
        replace(yes, margin=TINY / 2).check()


def test_an_excess_below_0_is_room():
    """Half of the square stays inside by a half in each coordinate."""
    f = CPWL.from_pieces([[[1, 0], [-1, 0], [0, 1], [0, -1]]], [[1] * 4], [[["1/2", 0], [0, "1/2"]]], [[0, 0]])
    assert is_invariant(f).excess == Fraction(-1, 2)


def test_a_rise_within_the_margin():
    """V = x^2 under x -> (1 + e) x on [-1, 1] rises by 2 e + e^2."""
    f = CPWL.from_grid([[-1, 0, 1]], [-1 - TINY, 0, 1 + TINY])
    found = decrease(f, [[1]])
    assert not found
    assert found.largest == 2 * TINY + TINY**2
    assert decrease(f, [[1]], margin=found.largest)
    assert not decrease(f, [[1]], margin=2 * TINY)
    with pytest.raises(InputError, match="`margin` must be at least 0"):
        decrease(f, [[1]], margin=-1)
