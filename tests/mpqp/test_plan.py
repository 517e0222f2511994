"""Model predictive control: programs compared with the plant itself, simulated in rationals, and stability decided."""

import json
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array

A, B = [[1, 1], [0, 1]], [["1/2"], [1]]
EYE = [[1, 0], [0, 1]]
THREE = ([["0.9", "0.4", 0], ["-0.2", "0.8", "0.3"], ["0.1", 0, "1.05"]], [[1, 0], ["0.2", "0.5"], [0, 1]])
OPTIONS = {
    "plain": {"u": (-1, 1), "x": (-5, 5)},
    "no terminal set": {"u": (-1, 1), "x": (-5, 5), "terminal": None, "P": EYE},
    "polyhedra": {"u": ([[2], [-1]], [2, 1]), "x": ([[1, 1], [-1, -1], [0, 1], [0, -1]], [4, 4, 3, 3])},
    "rates": {"u": (-1, 1), "x": (-5, 5), "du": ("-1/2", "3/4")},
    "soft": {"u": (-1, 1), "x": ([None, -1], [None, 1]), "soft": 10, "terminal": None, "x0": (-5, 5)},
    "reference": {"u": (-1, 1), "x": (-5, 5), "reference": (-3, 3), "terminal": None},
    "own terminal set": {"u": (-1, 1), "x": (-5, 5), "terminal": ([[1, 1], [-1, -1], [1, 0], [-1, 0]], [1] * 4)},
}


def simulated(plan, options, theta, z, steps):
    """The cost of a sequence of inputs, and whether it satisfies all constraints, from the plant alone."""
    a, b = fraction_array(A), fraction_array(B)
    x, inputs, slacks = theta[:2], z[:steps], z[steps:]
    wanted = theta[-2:] if "reference" in options else fraction_array([0, 0])
    before = theta[2] if "du" in options else None
    cost, fine, path = Fraction(0), inside(options.get("x0", options["x"]), theta[:2]), [x]
    for k, move in enumerate(inputs):
        cost += ((path[-1] - wanted) ** 2).sum() + Fraction(1, 10) * move**2
        fine &= inside(options["u"], [move])
        if before is not None:
            fine &= inside(options["du"], [move - before])
            before = move
        path.append(a @ path[-1] + b[:, 0] * move)
        slack = slacks[k] if len(slacks) else Fraction(0)
        cost += options.get("soft", 0) * slack**2
        fine &= inside(options["x"], path[-1], slack) and slack >= 0
    last = path[-1] - wanted
    cost += last @ plan.P @ last
    if plan.terminal is not None:
        rows = plan.terminal.integer()
        fine &= bool((rows[:, :-1] @ path[-1] <= rows[:, -1]).all())
        if before is not None:
            fine &= inside(options["du"], [plan.K[0] @ path[-1] - before])
    if "reference" in options:
        fine &= inside(options["reference"], wanted)
    return cost, fine


def inside(bounds, z, slack=0):
    """Whether a point is in a box or polyhedron, widened by a slack."""
    low, high = bounds
    if low is not None and np.ndim(low) == 2:
        return bool((fraction_array(low) @ np.asarray(z) <= fraction_array(high) + slack).all())
    low, high = (np.broadcast_to(np.asarray(end, dtype=object), (len(z),)) for end in (low, high))
    below = all(end is None or v >= Fraction(end) - slack for v, end in zip(z, low, strict=True))
    return below and all(end is None or v <= Fraction(end) + slack for v, end in zip(z, high, strict=True))


@pytest.mark.parametrize("name", OPTIONS)
def test_programs_are_those_of_the_plant(name):
    """Differences of costs are equal, and the same sequences of inputs are allowed, at random rational points."""
    options, steps = OPTIONS[name], 3
    plan = cpwl.mpc(A, B, EYE, [["0.1"]], steps, **options)
    program = {key: fraction_array(value) for key, value in plan.program.items()}
    rng = np.random.default_rng(0)
    count = {True: 0, False: 0}
    for size in (1, 3, 8) * 12:
        theta = fraction_array(rng.integers(-6 * size, 6 * size + 1, len(plan.parameters)).astype(object)) / 9
        one, two = (fraction_array(rng.integers(-size, size + 1, len(program["c"])).astype(object)) / 7 for _ in "ab")
        costs = [simulated(plan, options, theta, z, steps) for z in (one, two)]
        value = [z @ program["Q"] @ z / 2 + (program["H"] @ theta + program["c"]) @ z for z in (one, two)]
        assert costs[0][0] - costs[1][0] == 2 * (value[0] - value[1])
        for z, (_, fine) in zip((one, two), costs, strict=True):
            allowed = bool((program["A"] @ z <= program["b"] + program["F"] @ theta).all())
            assert (allowed and bool((program["A_t"] @ theta <= program["b_t"]).all())) == fine
            count[fine] += 1
    assert min(count.values()) > 0


@pytest.mark.parametrize("name", ["plain", "polyhedra", "rates"])
def test_stable_loops_stay_feasible_and_lose_their_cost(name):
    """From feasible states, in rationals: the law is defined in each step, and states become small."""
    options = OPTIONS[name]
    plan = cpwl.mpc(A, B, EYE, [["0.1"]], 3, **options)
    assert plan.stability, str(plan.stability)
    law = plan.solve()
    starts = [region.inner for region in law.known.optimal.regions][::5]
    for theta in starts:
        for _ in range(25):
            move = law([theta])[0]
            x = fraction_array(A) @ theta[:2] + fraction_array(B) @ move
            theta = np.array([*(v.limit_denominator(10**9) for v in x), *move][: law.dim], dtype=object)
        assert max(map(abs, theta[:2])) < Fraction(1, 100)


def test_the_weight_is_exact_and_a_rounded_one_is_not_stable():
    """P is the cost of u = K x with residual 0; the Riccati solution rounded to six digits fails its axiom."""
    plan = cpwl.mpc(A, B, EYE, [["0.1"]], 2, u=(-1, 1), x=(-5, 5))
    K, P, M = plan.K, plan.P, fraction_array(A) + fraction_array(B) @ plan.K
    assert not (M.T @ P @ M + fraction_array(EYE) + K.T @ K / 10 - P).any()
    from scipy.linalg import solve_discrete_are

    near = solve_discrete_are(np.array(A, float), np.array([[0.5], [1]]), np.eye(2), [[0.1]])
    assert np.abs(near - P.astype(float)).max() < 1e-6
    short = [[Fraction(round(v * 1000), 1000) for v in row] for row in near.tolist()]
    other = cpwl.mpc(A, B, EYE, [["0.1"]], 2, u=(-1, 1), x=(-5, 5), P=short)
    wrong = [axiom.name for axiom in other.stability.axioms if not axiom.holds]
    assert wrong == ["the terminal cost falls under u = K x"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"terminal": None}, "there is a terminal set"),
        ({"soft": 1}, "regulation under hard constraints"),
        ({"x0": (-1, 1)}, "for all states that are allowed"),
        ({"terminal": ([[1, 0], [-1, 0], [0, 1], [0, -1]], [2] * 4)}, "stays in the terminal set"),
        ({"terminal": ([[1, 0], [-1, 0], [0, 1], [0, -1]], [9] * 4)}, "satisfies all constraints there"),
    ],
)
def test_what_is_missing_is_named(options, name):
    """Without a terminal set, with soft constraints, with too few states, with sets that are not invariant."""
    plan = cpwl.mpc(A, B, EYE, [["0.1"]], 2, **{"u": (-1, 1), "x": (-5, 5), **options})
    assert not plan.stability
    assert any(name in axiom.name and not axiom.holds for axiom in plan.stability.axioms)


def test_models_of_other_libraries():
    """Anything with A, B and a sampling time; a continuous one is refused."""
    model = SimpleNamespace(A=np.array(A), B=np.array([[0.5], [1.0]]), C=np.eye(2), D=np.zeros((2, 1)), dt=0.1)
    plan = cpwl.mpc(model, Q=1, R="0.1", N=2, u=(-1, 1), x=(-5, 5))
    same = cpwl.mpc(A, B, EYE, [["0.1"]], 2, u=(-1, 1), x=(-5, 5))
    assert all((plan.program[key] == same.program[key]).all() for key in same.program)
    with pytest.raises(InputError, match="not discrete"):
        cpwl.mpc(SimpleNamespace(A=A, B=B, dt=0), Q=1, R=1, N=2)


@pytest.mark.slow
def test_two_inputs_and_three_states():
    """Solved, compiled and proved to be the optimiser."""
    plan = cpwl.mpc(*THREE, 1, "0.5", 1, u=(-1, 1), x=(-4, 4))
    law = plan.solve()
    assert (law.dim, law.outputs) == (3, 2)
    assert cpwl.compile(law, certify=True).certificate.kind.startswith("optimal")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((A, B, EYE, [[1]], 0), {}, "`N` must be at least 1"),
        ((A, [[1]], EYE, [[1]], 2), {}, r"`A` must be \(n, n\) and `B` \(n, m\)"),
        ((A, B, [[1, 2], [0, 1]], [[1]], 2), {}, "`Q` is not symmetric"),
        ((A, B, [[1]], [[1]], 2), {}, r"`Q` must be a number or a \(2, 2\) matrix, not \(1, 1\)"),
        ((A, B, EYE, "one", 2), {}, '`R`: "one" is not a number'),
        ((A, [1, 2], EYE, [[1]], 2), {}, r"`B` must be a list of rows, not of numbers: \[\[1\], \[2\]\]"),
        (([[1, float("nan")], [0, 1]], B, EYE, 1, 2), {}, "`A`: a number must be finite"),
        ((A, B, EYE, [[-1]], 2), {}, r"`R` must be positive semidefinite, but v'Rv < 0 for v = \(1\)"),
        ((A, B, [[0, 1], [1, 3]], 1, 2), {}, r"`Q` must be positive semidefinite, but v'Qv < 0 for v = \(-2, 1\)"),
        ((A, B, EYE, [[1]], 2), {"u": 1}, r"`u` must be \(low, high\)"),
        ((A, B, EYE, [[1]], 2), {"u": (1, -1)}, "`u` is empty"),
        ((A, B, EYE, [[1]], 2), {"u": ([-1, -1], [1, 1])}, "each bound of `u` must be a number or 1 numbers"),
        ((A, B, EYE, [[1]], 2), {"x": ([-1, -1], [[1], [1]])}, r"each bound of `x` .* of shape \(2, 1\)"),
        ((A, B, EYE, [[1]], 2), {"u": ([[-1]], [[1]])}, r"`u` may be \(low, high\) or \(G, h\)"),
        ((A, B, EYE, [[1]], 2), {"u": (float("inf"), 1)}, "`u`: a number must be finite"),
        ((A, B, EYE, [[1]], 2), {"u": ([[1], [2, 3]], 1)}, "each bound of `u`"),
        ((A, B, EYE, [[1]], 2), {"u": (1, 2)}, "the origin is not inside"),
        ((A, B, EYE, [[1]], 2), {"terminal": "box"}, "`terminal` must be one of"),
        ((A, B, EYE, [[1]], 2), {}, "there are no constraints"),
        ((A, B, EYE, [[1]], 2), {"terminal": None}, "no input is bounded"),
        ((A, B, EYE, [[1]], 2), {"reference": (-1, 1), "u": (-1, 1)}, "write `terminal=None`"),
        (([[2, 0], [0, 3]], [[1], [0]], EYE, [[1]], 2), {"u": (-1, 1)}, "no LQR gain was found"),
        ((A,), {"u": (-1, 1)}, "`B` is missing"),
    ],
)
def test_mistakes_are_one_sentence(arguments, options, message):
    """What is wrong, and what to write instead."""
    with pytest.raises(InputError, match=message):
        cpwl.mpc(*arguments, **options)


def test_a_constraint_that_no_input_and_no_state_changes():
    """The first state is 0 from the first step on, which `x` forbids: the row was dropped, and a law returned."""
    plan = cpwl.mpc([[0, 0], [0, 1]], [[0], [1]], 1, 1, 2, u=(-1, 1), x=([1, -5], [2, 5]), P=EYE, terminal=None)
    with pytest.raises(InputError, match="no parameter is feasible"):
        plan.solve()


PLANT = {
    "A": [[1, 1], [0, 1]],
    "B": [[0.5], [1]],
    "Q": 1,
    "R": 0.1,
    "N": 2,
    "u": [-1, 1],
    "x": [-5, 5],
    "note": "a cart",
}


def test_from_a_file_to_a_header(tmp_path, capsys):
    """Decimals are decimals; the header is written, and the proof is accepted by the checker."""
    (tmp_path / "plant.json").write_text(json.dumps(PLANT))
    words = ["mpc", str(tmp_path / "plant.json"), "-o", str(tmp_path / "law.h"), "--certify", "--json"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["stable"]
    assert said["regions"] == cpwl.mpc(A, B, EYE, [["0.1"]], 2, u=(-1, 1), x=(-5, 5)).solve().num_pieces
    assert "int law(const double" in (tmp_path / "law.h").read_text()
    files = [str(tmp_path / f"law.{name}.json") for name in ("law", "net", "proof")]
    assert main(["check", *files]) == 0
    assert "is the optimiser of the program, for all feasible parameters" in capsys.readouterr().out
    assert cpwl.equal(cpwl.read(tmp_path / "plant.json"), cpwl.read(tmp_path / "law.law.json"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"U": [-1, 1]}, '"U" is not known'),
        ({"N": "many"}, '"N" must be a whole number'),
        ({"u": [[-1], [1], [2]]}, r"must be \(low, high\)"),
        ({"A": [[1, "?"], [0, 1]]}, "not a number"),
    ],
)
def test_plants_that_are_refused(tmp_path, capsys, change, message):
    """One sentence with the name of the file, and exit status 65."""
    (tmp_path / "plant.json").write_text(json.dumps({**PLANT, **change}))
    with pytest.raises(InputError, match=message):
        cpwl.read(tmp_path / "plant.json")
    assert main(["mpc", str(tmp_path / "plant.json"), "-o", str(tmp_path / "law.h")]) == 65
    assert "plant.json" in capsys.readouterr().err
    assert not (tmp_path / "law.h").exists()


def test_a_model_has_its_own_b():
    """Weights in the place of `B` are a mistake of those who have a model."""
    model = SimpleNamespace(A=np.eye(1) / 2, B=np.eye(1), dt=1)
    with pytest.raises(InputError, match="name the other arguments"):
        cpwl.mpc(model, 1, 1, 3, u=(-1, 1))
    assert cpwl.mpc(model, Q=1, R=1, N=3, u=(-1, 1)).stability


def test_the_loop_of_all_parameters():
    """States follow the plant, the previous input becomes the input, a set point stays."""
    plan = cpwl.mpc([["1/2"]], [[2]], 1, 1, 2, u=(-1, 1), x=(-4, 4), du=(-1, 1), reference=(-1, 1), terminal=None)
    A, B = plan.loop
    assert plan.parameters == ("x0", "u0 before", "r0")
    assert A.tolist() == [[Fraction(1, 2), 0, 0], [0, 0, 0], [0, 0, 1]]
    assert B.tolist() == [[2], [1], [0]]
