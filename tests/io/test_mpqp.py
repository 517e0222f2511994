"""Control laws from active sets: exact, complete, and refused where they are not functions.

Oracles: the optimality conditions checked in rationals, a quadratic program solved by another method, and PPOPT.
"""

import json
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import CpwlWarning, InputError
from cpwl.function.examine import examine
from cpwl.io.mpqp import from_active_sets, read_mpqp

DATA = Path(__file__).parent / "data"
BOX = {"A": [[1], [-1]], "b": [1, 1], "F": [[0], [0]], "A_t": [[1], [-1]], "b_t": [4, 4]}
CLIP = {"Q": [[1]], "H": [[-1]], "c": [0], **BOX}


def plane(**changes):
    """min 1/2 |u|^2 - x'u over |u_i| <= 1: clips both coordinates."""
    eye = np.eye(2, dtype=int)
    rows = np.vstack([eye, -eye])
    known = {"Q": eye, "H": -eye, "c": [0, 0], "A": rows, "b": [1] * 4, "F": np.zeros((4, 2), int)}
    return {**known, "A_t": rows, "b_t": [3] * 4, **changes}


CELLS = [[], [0], [1], [2], [3], [0, 1], [0, 3], [1, 2], [2, 3]]


def test_clip_in_the_plane():
    """Nine active sets give the two clipped coordinates, whatever order they come in."""
    p = from_active_sets(plane(), CELLS[::-1])
    assert p.doctor().healthy
    x = np.random.default_rng(0).uniform(-3, 3, (200, 2))
    np.testing.assert_allclose(p(x), np.clip(x, -1, 1), atol=1e-12)


@pytest.mark.parametrize("outputs", [1, [1], slice(1, 2), np.array([1])])
def test_outputs_are_chosen(outputs):
    """A number, a list, a slice or an array."""
    p = from_active_sets(plane(), CELLS, outputs=outputs)
    assert p.outputs == 1
    assert p([["3", "1/2"]])[0, 0] == Fraction(1, 2)


@pytest.mark.parametrize("lost", range(9))
def test_lost_regions_are_gaps(lost):
    """The doctor finds each region that is not there, also in the corners of the domain, with a point of it."""
    p = from_active_sets(plane(), CELLS[:lost] + CELLS[lost + 1 :], complete=False)
    report = p.doctor()
    gaps = [finding for finding in report.errors if finding.kind == "gap"]
    assert gaps
    point = np.array(gaps[0].point, dtype=float)
    active = [[i for i, side in enumerate([*sign, *(-s for s in sign)]) if side > 0] for sign in [np.sign(point)]]
    assert set(CELLS[lost]) <= set(active[0])


def test_lost_regions_are_not_compiled():
    """Nobody compiles a law with a hole in it."""
    with pytest.raises(InputError, match="a piece is missing there"):
        cpwl.compile(from_active_sets(plane(), CELLS[1:], complete=False))


@pytest.mark.parametrize("kept", [slice(1, None), slice(0, 9, 2), slice(4, 5)])
def test_lost_regions_are_added(kept):
    """With a warning that counts them; the result is the whole law, and known to be complete."""
    rest = CELLS[kept]
    with pytest.warns(CpwlWarning, match=f"{9 - len(rest)} regions? w(as|ere) missing and ha(s|ve) been added"):
        p = from_active_sets(plane(), rest)
    assert p.num_pieces == 9
    assert p.known.complete
    assert cpwl.equal(p, from_active_sets(plane(), CELLS))


def test_a_thin_region_is_added():
    """A bound that cuts a corner off by 1e-18: the three regions that floats do not see are counted as thin."""
    cut = Fraction(2) - Fraction(1, 10**18)
    program = plane(A=[[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]], b=[1, 1, 1, 1, cut], F=[[0, 0]] * 5)
    with pytest.warns(CpwlWarning, match=r"3 regions were missing .* 1 is thinner than 1e-15"):
        p = from_active_sets(program, [cell for cell in CELLS if cell != [0, 1]])
    assert p.num_pieces == 11


def test_many_dependent_rows():
    """The tip of a cone over a 16-gon, every row written twice: 32 rows of rank 3 are active at once."""
    angle = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    sides = np.round(100 * np.column_stack([np.cos(angle), np.sin(angle), np.ones(16)])).astype(int)
    rows = np.vstack([sides, 2 * sides])
    eye = np.eye(3, dtype=int)
    program = {"Q": eye, "H": -eye, "c": [0] * 3, "A": rows, "b": [0] * 32, "F": np.zeros((32, 3), int)}
    program |= {"A_t": np.vstack([eye, -eye]), "b_t": [1] * 6}
    with pytest.warns(CpwlWarning, match="32 regions were missing and have been added"):
        p = from_active_sets(program, [[], list(range(32))])
    assert p.num_pieces == 34  # the cone, its 16 facets and edges, and its tip
    np.testing.assert_allclose(p([[0.0, 0, 0.5], [0, 0, -0.5]]), [[0, 0, 0], [0, 0, -0.5]], atol=1e-12)


def test_rows_that_nobody_named_may_be_independent():
    """Row 0 is tight wherever row 1 is, with multiplier 0: the region of [1] is that of both."""
    program = {"Q": [[1, 0], [0, 1]], "H": [[0], [-1]], "c": [0, 0], "A": [[1, 0], [0, 1]], "b": [0, 1]}
    program |= {"F": [[0], [0]], "A_t": [[1], [-1]], "b_t": [3, 3]}
    p = from_active_sets(program, [[], [1]])
    assert p.num_pieces == 2
    np.testing.assert_allclose(p([[2.0]]), [[0, 1]])


def repeated():
    """Clipping with the bound u_0 <= 1 written twice, once multiplied by 2, and a row that follows from two others."""
    rows = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [2, 0], [1, 1]])
    return plane(A=rows, b=[1, 1, 1, 1, 2, 2], F=np.zeros((6, 2), int))


@pytest.mark.parametrize(
    "cells",
    [
        [*CELLS, [4], [4, 1], [4, 3], [0, 5], [1, 5], [4, 5]],
        [[], [4], [1], [2], [3], [0, 4, 1], [4, 3], [1, 2], [2, 3]],
        [[], [0], [1], [2], [3], [1, 5], [0, 3], [1, 2], [2, 3]],
    ],
)
def test_dependent_active_rows(cells):
    """Where active rows depend on each other, several active sets lead to one region, and it is there once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CpwlWarning)
        p = from_active_sets(repeated(), cells)
    assert p.num_pieces == 9
    assert p.doctor().healthy
    assert cpwl.equal(p, from_active_sets(plane(), CELLS))


def test_regions_without_interior_are_dropped():
    """An active set that holds on a line, or nowhere, is dropped with a warning."""
    with pytest.warns(CpwlWarning, match="2 of 11 active sets"):
        p = from_active_sets(plane(b=[1, 1, 1, 1]), [*CELLS, [0, 2], [0]])
    assert p.num_pieces == 9


def test_equations_are_always_active():
    """min |u|^2 with u_0 + u_1 = x."""
    program = {"Q": [[2, 0], [0, 2]], "H": [[0], [0]], "c": [0, 0], "A": [[1, 1], [1, 0]], "b": [0, 1]}
    p = from_active_sets({**program, "F": [[1], [0]], "A_t": [[1], [-1]], "b_t": [3, 3]}, [[], [0, 1]], equalities=1)
    np.testing.assert_allclose(p([[1.0], [3.0], [-2.0]]), [[0.5, 0.5], [1, 2], [-1, -1]])
    assert p.doctor().healthy


@pytest.mark.parametrize("number", ["0.1", Fraction(1, 10)])
def test_numbers_stay_what_they_are(number):
    """One tenth is one tenth; the float 0.1 is not."""
    p = from_active_sets({**CLIP, "c": [number]}, [[], [0], [1]])
    assert p([["0"]])[0, 0] == Fraction(-1, 10)
    assert from_active_sets({**CLIP, "c": [0.1]}, [[], [0], [1]])([["0"]])[0, 0] == -Fraction(0.1)


def linear(c=(-1, -2)):
    """max of c'u over 0 <= u <= 3 with u_0 + u_1 <= x_0 + x_1."""
    rows = [[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]]
    F = [[0, 0]] * 4 + [[1, 1]]
    box = {"A_t": [[1, 0], [0, 1], [-1, 0], [0, -1]], "b_t": [5, 5, 0, 0]}
    return {"H": [[0, 0], [0, 0]], "c": list(c), "A": rows, "b": [3, 3, 0, 0, 0], "F": F, **box}


def test_value_of_a_linear_program():
    """With s = min(x_0 + x_1, 6) the value is -2 min(s, 3) - max(s - 3, 0)."""
    p = from_active_sets(linear(), [[2, 4], [1, 4], [0, 1]], outputs="value")
    assert p.doctor().healthy
    x = np.random.default_rng(0).uniform(0, 5, (100, 2))
    s = np.minimum(x.sum(axis=1), 6)
    np.testing.assert_allclose(p(x)[:, 0], -2 * np.minimum(s, 3) - np.maximum(s - 3, 0))
    shifted = from_active_sets({**linear(), "c_t": [1, 0], "c_c": [7]}, [[2, 4], [1, 4], [0, 1]], outputs="value")
    np.testing.assert_allclose(shifted(x) - p(x), x[:, :1] + 7)


def test_optimisers_that_jump_are_refused():
    """With c = (-1, -1) the optimiser is not unique: other active sets for two regions jump, and the value does not."""
    cells = [[2, 4], [0, 4], [0, 1]]
    with pytest.raises(InputError, match=r"disagree|no piece|missing"):
        from_active_sets(linear((-1, -1)), cells).doctor().check()


def test_the_value_does_not_care_about_overlaps():
    """With c = (-1, -1) optimisers are not unique and regions overlap: the value is the same, -min(x_0 + x_1, 6)."""
    x = np.random.default_rng(0).uniform(0, 5, (100, 2))
    for cells in ([[2, 4], [3, 4], [1, 4], [0, 4], [0, 1]], [[2, 4], [1, 4], [0, 1]]):
        p = from_active_sets(linear((-1, -1)), cells, outputs="value")
        assert p.num_pieces == 2
        assert p.doctor().healthy
        np.testing.assert_allclose(p(x)[:, 0], -np.minimum(x.sum(axis=1), 6))


@pytest.mark.parametrize("lost", range(3))
def test_the_value_needs_no_region(lost):
    """Without one of the regions it is the same function, on all feasible parameters: it is solved for."""
    cells = [[2, 4], [1, 4], [0, 1]]
    p = from_active_sets(linear(), cells[:lost] + cells[lost + 1 :], outputs="value")
    assert p.doctor().healthy
    assert cpwl.equal(p, from_active_sets(linear(), cells, outputs="value"))


def test_the_value_on_unbounded_parameters():
    """min u over u >= x, u >= -1 is max(x, -1) on the line."""
    program = {"c": [1], "A": [[-1], [-1]], "b": [0, 1], "F": [[-1], [0]]}
    p = from_active_sets(program, [[0]], outputs="value")
    assert cpwl.equal(p, cpwl.CPWL.from_breakpoints([-1], [-1], left_slope=0, right_slope=1))


def test_overlapping_regions_are_refused():
    """Two optimisers for the same parameters."""
    with pytest.raises(InputError, match="overlap"):
        from_active_sets(linear((-1, -1)), [[2, 4], [3, 4], [1, 4], [0, 4], [0, 1]]).doctor().check()


@pytest.mark.parametrize(
    ("program", "cells", "options", "message"),
    [
        ({}, [[]], {}, "the program has no `A`"),
        ({**CLIP, "Q": [[1, 2]]}, [[]], {}, "`Q` must be"),
        ({**CLIP, "b": ["x", 1]}, [[]], {}, "`b`: .*is not a number"),
        ({**CLIP, "b": [1, float("nan")]}, [[]], {}, "`b`: .*finite"),
        ({**CLIP, "A": [[1], [1, 2]]}, [[]], {}, "ragged|not a number"),
        (CLIP, [[5]], {}, "names a row outside 0..1"),
        (CLIP, [[-1]], {}, "at least 0"),
        (CLIP, [], {}, "no active set has a region"),
        (CLIP, [[0, 1]], {}, "no active set has a region"),
        ({**CLIP, "Q": [[0]]}, [[]], {}, "does not determine the optimiser"),
        (CLIP, [[]], {"outputs": 1}, "`outputs` must be between -1 and 0, not 1"),
        (CLIP, [[]], {"outputs": []}, "`outputs` chooses none; it takes numbers from 0 to 0"),
        (CLIP, [[]], {"outputs": "first"}, "`outputs` must be"),
        (CLIP, [[]], {"outputs": "value"}, "is for linear programs"),
        (CLIP, [[]], {"equalities": 3}, "3 equations among 2 rows"),
        ({**linear(), "H": [[1, 0], [0, 0]]}, [[1, 4]], {"outputs": "value"}, "the value is not affine on region 0"),
    ],
)
def test_mistakes_are_one_sentence(program, cells, options, message):
    """What is wrong, and with what."""
    with pytest.raises(InputError, match=message):
        from_active_sets(program, cells, **options)


def optimality_holds(data, p, x):
    """Primal and dual feasibility of all decision variables at a rational point, by a float QP for comparison."""
    proc = {name: np.array(data["proc"][name], dtype=float) for name in data["proc"]}
    u = np.array(p([x.tolist()])[0], dtype=float)
    slack = proc["b"].ravel() + proc["F"] @ x - proc["A"] @ u
    assert slack.min() > -1e-9
    gradient = proc["Q"] @ u + proc["H"] @ x + proc["c"].ravel()
    tight = proc["A"][slack < 1e-9]
    from scipy.optimize import nnls

    assert (nnls(tight.T, -gradient)[1] if len(tight) else np.linalg.norm(gradient)) < 1e-7


@pytest.mark.parametrize("name", ["mi_N3", "diU_N10"])
def test_laws_of_a_solver_are_optimal(name):
    """Active sets that PPOPT has found: nothing is wrong with their function, and it is optimal where one looks."""
    data = json.loads((DATA / f"{name}.json").read_text())
    assert len(examine(read_mpqp(DATA / f"{name}.json"), notes=False)) == 0
    whole = from_active_sets(data["proc"], [piece["act"] for piece in data["pieces"]])
    most = data["proc"]["b_t"][0][0]
    points = np.random.default_rng(0).uniform(-most, most, (40, whole.dim))
    inside = [x for x in points if not np.isnan(whole(x[None])).any()]
    assert len(inside) > 5
    for x in inside:
        optimality_holds(data, whole, x)


@pytest.mark.parametrize("name", ["diU_N10", pytest.param("mi_N3", marks=pytest.mark.slow)])
def test_laws_of_a_solver_are_proved(name, tmp_path):
    """From the command line: compiled, and proved equal."""
    words = ["compile", str(DATA / f"{name}.json"), "-o", str(tmp_path / "law.json"), "--certify"]
    assert main(words) == 0
    assert json.loads((tmp_path / "law.proof.json").read_text())
    proof = cpwl.certify(read_mpqp(DATA / f"{name}.json"), cpwl.read(tmp_path / "law.json"))
    assert proof.statement.startswith("network = function")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"proc": {"H": 1}, "pieces": [{"act": []}]}', "must be a list of numbers"),
        ('{"proc": [], "pieces": [{"act": []}]}', "a control law has"),
        ('{"proc": {}, "pieces": [{"act": 1}]}', r"pieces\[0\] has no list"),
        ('{"proc": {}, "pieces": [{"act": [1.5]}]}', "whole number"),
        ('{"proc": {}, "m": 0, "pieces": [{"act": []}]}', '"m", the number of outputs'),
        ('{"proc": {"H": [[1e999999999]]}, "pieces": [{"act": []}]}', "the program has no"),
    ],
)
def test_files_that_are_refused(tmp_path, capsys, text, message):
    """Exit code 65, and one sentence with the name of the file."""
    path = tmp_path / "law.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        cpwl.read(path)
    assert main(["info", str(path)]) == 65
    assert str(path) in capsys.readouterr().err


def test_a_gap_says_how_thick_it_is():
    """Up to the next piece, or to the edge of the domain: exactly, however thin."""
    thin = Fraction(1, 10**18)
    program = {"Q": [[1]], "H": [[-1]], "c": [0], "A": [[1], [-1]], "b": [1, 1], "F": [[0], [0]]}
    for high, width in ((4, "3"), (1 + thin, "1e-18")):
        bounded = program | {"A_t": [[1], [-1]], "b_t": [high, 4]}
        law = cpwl.io.from_active_sets(bounded, [[], [1]], complete=False)
        assert f"the gap is {width} wide there, in the largest coordinate" in str(law.doctor())
    law = cpwl.io.from_active_sets(program | {"A_t": [[1], [-1]], "b_t": [4, 4]}, [[0], [1]], complete=False)
    assert str(law.doctor()).count("the gap is 2 wide there") == 2
