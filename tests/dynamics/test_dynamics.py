"""Closed loops, iterates, equilibria, Lyapunov candidates, invariant sets: against stepping, programs and grids."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov
from scipy.optimize import linprog

import cpwl
from cpwl import CPWL
from cpwl.dynamics import decrease, is_invariant, is_sublevel_invariant, loop_report, maximal_invariant
from cpwl.errors import InputError, InternalError, LimitError
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


def stays(f, x, low, high, steps):
    """Which points are in the box now and after each of so many steps, by stepping, in rationals."""
    inside = np.ones(len(x), dtype=bool)
    for _ in range(steps + 1):
        inside[inside] = ((x[inside] >= low) & (x[inside] <= high)).all(axis=1)
        if inside.any():
            x[inside] = f(x[inside])
    return inside


def linear(matrix, size=1):
    """A linear map on a square."""
    unit = np.eye(2, dtype=int)
    return CPWL.from_pieces([[*unit.tolist(), *(-unit).tolist()]], [[size] * 4], [matrix], [[0, 0]])


STRIP = CPWL.from_grid([[-2, 0, 1, 2], [-2, 2]], [[[0, 0]] * 2, [[0, 0]] * 2, [[0, 3]] * 2, [[0, 0]] * 2])
MAPS = {
    "turns": linear([["4/5", "-3/5"], ["3/5", "4/5"]]) * Fraction(9, 10),
    "shears": linear([["1/2", 1], [0, "1/2"]]),
    "two parts, values on a line": STRIP,
}


@pytest.mark.parametrize("name", MAPS)
def test_largest_invariant_sets_by_stepping(name):
    """A point is in the set iff it stays in the box for as many steps as were cut away, and then for ever."""
    f = MAPS[name]
    found = maximal_invariant(f)
    found.check()
    assert found.steps > 0
    assert len(found.parts) == (2 if f is STRIP else 1)
    high = 2 if f is STRIP else 1
    x = fraction_array(np.random.default_rng(0).integers(-997, 998, (300, 2))) * Fraction(high, 997)
    for steps in (found.steps, found.steps + 8):
        expected = stays(f, x.copy(), -high, high, steps)
        assert [point in found for point in x] == expected.tolist()
    assert 0 < expected.sum() < 300


def test_the_largest_invariant_set_of_a_law(loop):
    """The feasible set of an MPC law is kept as a whole; of a box the part that stays, found by stepping."""
    whole = maximal_invariant(loop, domain=SET)
    assert whole.steps == 0
    assert len(whole.parts) == 1
    found = maximal_invariant(loop, box=([-2, -1], [2, 1]))
    x = fraction_array(np.random.default_rng(1).integers(-997, 998, (200, 2))) * fraction_array([2, 1]) / 997
    expected = stays(loop, x.copy(), fraction_array([-2, -1]), fraction_array([2, 1]), found.steps + 4)
    assert [point in found for point in x] == expected.tolist()


def test_sets_without_an_end_and_without_an_interior():
    """Points that repel are cut out for ever, with a limit; where all points leave nothing is kept."""
    with pytest.raises(LimitError, match="still shrinks after 5 steps"):
        maximal_invariant(CPWL.from_grid([[-1, 1]], [-2, 2]), max_steps=5)
    gone = maximal_invariant(CPWL.from_grid([[0, 1]], [2, 3]))
    assert not gone
    assert [0] not in gone
    assert str(gone) == "no set with an interior is kept, found in 1 step"


def test_a_wrong_largest_set_is_noticed():
    """A multiplier off by 1e-30, a cell left out, a part that is too large, a target that is another part."""
    found = maximal_invariant(MAPS["shears"])
    step = found.proof[0]
    share = next(s for s in step.multipliers if s)
    key = next(iter(share))
    wrong = tuple({**s, key: s[key] + Fraction(1, 10**30)} if s is share else s for s in step.multipliers)
    two = maximal_invariant(STRIP)
    other = replace(two.proof[0], target=1 - two.proof[0].target)
    for broken in (
        replace(found, proof=(replace(step, multipliers=wrong),)),
        replace(found, proof=(replace(step, multipliers=step.multipliers[1:]),)),
        replace(two, proof=two.proof[1:]),
        replace(two, parts=two.parts[:1]),
        replace(found, volume=found.volume + 1),
        replace(two, proof=(other, *two.proof[1:])),
    ):
        with pytest.raises((InternalError, IndexError)):
            broken.check()


@pytest.mark.parametrize("seed", range(4))
def test_disturbances_are_as_good_as_their_corners(seed):
    """The set is kept under all disturbances iff it is kept with each corner added; the excess is the largest."""
    rng = np.random.default_rng(seed)
    f = CPWL.from_grid([[-1, 0, 1], [-1, 0, 1]], fraction_array(rng.integers(-3, 4, (3, 3, 2))) / 4)
    corners = fraction_array(rng.integers(-4, 5, (3, 2))) / 16
    x, y, z = corners
    turn = (y - x)[0] * (z - x)[1] - (y - x)[1] * (z - x)[0]
    if turn < 0:
        y, z = z, y
    edges = [(b - a)[::-1] * [1, -1] for a, b in ((x, y), (y, z), (z, x))]
    noise = edges, [edge @ a for edge, a in zip(edges, (x, y, z), strict=True)]
    found = is_invariant(f, disturbance=noise)
    each = [is_invariant(f + list(corner)) for corner in corners]
    assert found.excess == max(one.excess for one in each)
    assert bool(found) == all(each)
    wide = is_invariant(f, disturbance=noise, margin=max(found.excess, 0))
    assert wide
    with pytest.raises(InternalError):
        replace(wide, pushes=tuple((push - Fraction(1, 10**30), share) for push, share in wide.pushes)).check()
    if not found:
        here = f(found.point[None])[0]
        assert (noise[0] @ (found.value - here) <= noise[1]).all()
        assert max(abs(found.value)) == 1 + found.excess
    with pytest.raises(InputError, match="not bounded"):
        is_invariant(f, disturbance=([[1, 0]], [1]))
    with pytest.raises(InputError, match="are empty"):
        is_invariant(f, disturbance=([[1, 0], [-1, 0]], [0, -1]))


@pytest.mark.parametrize("seed", range(6))
def test_sublevel_sets_of_linear_maps(seed):
    """Kept iff ``P - M'P M`` has no negative eigenvalue; a no has a point of the set that leaves."""
    rng = np.random.default_rng(seed)
    M = fraction_array(rng.integers(-5, 6, (2, 2))) / 6
    half = rng.integers(-2, 3, (2, 2))
    P = fraction_array(half @ half.T + np.eye(2, dtype=int))
    found = is_sublevel_invariant(linear(M, 4), P, 2)
    least = np.linalg.eigvalsh((P - M.T @ P @ M).astype(float)).min()
    assert abs(least) > 1e-9
    assert bool(found) == (least > 0)
    if not found:
        assert found.point @ P @ found.point <= 2
        assert found.value @ P @ found.value > 2


def test_sublevel_sets_of_a_law(loop):
    """Under the double integrator's law; a set beyond the domain, and forms that have no such sets, are refused."""
    P = fraction_array([[2, 1], [1, 2]])
    no = is_sublevel_invariant(loop, P, 1)
    assert not no
    assert no.point @ P @ no.point <= 1 < no.value @ P @ no.value
    assert (loop(no.point[None])[0] == no.value).all()
    M = np.column_stack([loop([["1/100", 0]])[0], loop([[0, "1/100"]])[0]]).astype(float) * 100
    V = fraction_array(np.round(solve_discrete_lyapunov(M.T, np.eye(2)) * 100).astype(int))
    x = fraction_array(np.random.default_rng(0).integers(-90, 91, (300, 2))) / 100
    for level in (30, 100):
        assert is_sublevel_invariant(loop, V, level)
        inside = x[np.array([v @ V @ v <= level for v in x])]
        assert len(inside) > 3
        assert all(v @ V @ v <= level for v in loop(inside))
    with pytest.raises(InputError, match="not defined on all of the set"):
        is_sublevel_invariant(loop, P, 1000)
    for form, level in ((-P, 1), (P, 0), (0 * P, 1)):
        with pytest.raises(InputError, match="positive definite"):
            is_sublevel_invariant(loop, form, level)
    constant = CPWL.from_grid([[-2, 2]], [1, 1])
    assert is_sublevel_invariant(constant, [[1]], 1)
    leaves = is_sublevel_invariant(constant + Fraction(1, 1000), [[1]], 1)
    assert not leaves
    assert leaves.value @ leaves.value > 1


def test_a_report_about_a_plan():
    """Feasible and stable by its axioms; another law is refused by a point; disturbances cost feasibility."""
    plant = [[1, 1], [0, 1]], [["0.5"], [1]]
    plan = cpwl.mpc(*plant, Q=1, R="0.1", N=2, u=(-1, 1), x=(-5, 5))
    law = plan.solve()
    good = loop_report(*plant, law, plan=plan)
    assert good
    assert good.feasible.excess <= 0
    assert str(good).startswith("stable\nfeasible for ever: yes")
    unasked = loop_report(*plant, law)
    assert not unasked
    assert "stability was not asked about" in str(unasked)
    assert not loop_report(*plant, law, plan=plan, disturbance=([[1, 0], [-1, 0], [0, 1], [0, -1]], [1] * 4))
    idle = loop_report(*plant, 0 * law, P=plan.P)
    assert not idle
    assert not idle.feasible
    assert not loop_report(*plant, law + 1, P=plan.P, domain=plan.terminal).rests
    with pytest.raises(InputError, match="axioms of a plan apply to its own law only"):
        loop_report(*plant, law * Fraction(99, 100), plan=plan)
    with pytest.raises(InputError, match="belongs to another plant"):
        loop_report([[1, 1], [0, "0.9"]], plant[1], law, plan=plan)
    other = cpwl.mpc(*plant, Q=1, R="0.2", N=2, u=(-1, 1), x=(-5, 5))
    with pytest.raises(InputError, match="axioms of a plan apply to its own law only"):
        loop_report(*plant, law, plan=other)
    with pytest.raises(InputError, match="`rate` less than 1"):
        loop_report(*plant, law, P=plan.P, rate=1)
    near = loop_report(*plant, law, P=plan.P, domain=plan.terminal)
    assert near


def test_a_report_about_bounded_rates():
    """The previous input is a parameter, and `plan.loop` steps it, too."""
    plan = cpwl.mpc([[1, 1], [0, 1]], [["0.5"], [1]], Q=1, R="0.1", N=1, u=(-1, 1), x=(-5, 5), du=("-1/2", "1/2"))
    law = plan.solve()
    assert loop_report(*plan.loop, law, plan=plan)
    wrong = plan.loop[0] * Fraction(9, 10), plan.loop[1]
    with pytest.raises(InputError, match=r"another plant: `plan\.loop` has"):
        loop_report(*wrong, law, plan=plan)


@pytest.mark.parametrize("row", [[1, 0], [-1, 0], [1, -2], [0, 1]])
@pytest.mark.parametrize("push", [None, ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 0, 0, 0])])
def test_sets_without_bound(row, push):
    """A half-plane that the map turns over is left without bound, one that it shrinks is kept, and so is the plane."""
    turned = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[[-1, 0], [0, -1]]] * 2, [[0, 0]] * 2)
    no = is_invariant(turned, domain=([row], [3]), disturbance=push, margin=5)
    assert not no
    assert np.dot(row, no.point) <= 3
    assert np.dot(row, no.value) > 3 + 5 * sum(map(abs, row))
    assert "without bound" in str(no)
    assert is_invariant("-1/4" * turned, domain=([row], [3]), disturbance=push)
    assert is_invariant(turned, disturbance=push)
