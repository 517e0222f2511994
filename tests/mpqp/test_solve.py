"""All regions of a program: compared with every active set tried, and with the optimality conditions at points."""

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

import cpwl
from cpwl.errors import InputError, LimitError
from cpwl.function.examine import examine
from cpwl.mpqp.explore import Edge, _Solver, explore
from cpwl.mpqp.program import Program
from support.programs import (
    DEGENERATE,
    OCTAHEDRON,
    SPJOTVOLD,
    SQUARE,
    optimum_by_trying,
    projection,
    random_programs,
    regions_by_trying,
)


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_programs(name):
    """Rows twice, dependent rows, regions that do not meet face to face, parameters without bounds, equations."""
    matrices, equalities = DEGENERATE[name]
    program = Program.from_matrices(matrices, equalities)
    assert {frozenset(region.tight) for region in explore(program)} == regions_by_trying(program)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_random_programs(seed):
    """Small integers, so that many rows are tight at once: the regions are those that trying finds."""
    for matrices in random_programs(seed, 150 if seed else 15):
        program = Program.from_matrices(matrices)
        found = regions_by_trying(program)
        if not found:
            with pytest.raises(InputError, match=r"no interior|no parameter is feasible"):
                explore(program)
            continue
        assert {frozenset(region.tight) for region in explore(program)} == found


@pytest.mark.parametrize("name", ["octahedron", "not face to face", "touching rows", "equation twice", "a strip"])
def test_values_are_optimal(name):
    """At rational points the law is the optimiser, and the domain is where there is one."""
    matrices, equalities = DEGENERATE[name]
    program = Program.from_matrices(matrices, equalities)
    law = cpwl.solve_mpqp(matrices, equalities=equalities)
    rng = np.random.default_rng(0)
    points = [[Fraction(int(v), 7) for v in row] for row in rng.integers(-30, 31, (25, law.dim))]
    for x in points:
        wanted = optimum_by_trying(program, x)
        found = law([x])[0]
        assert (wanted is None and np.isnan(np.asarray(found, dtype=float)).all()) or list(found) == wanted


@pytest.mark.parametrize("matrices", [OCTAHEDRON, SPJOTVOLD, projection([[1], [-1]], [1, 1])])
def test_what_is_claimed_is_true(matrices):
    """The doctor, which is told nothing, finds nothing wrong; neighbours, where they are told, are those it finds."""
    law = cpwl.solve_mpqp(matrices)
    plain = cpwl.CPWL.from_pieces(
        [body.integer()[:, :-1] for body in law.polyhedra],
        [body.integer()[:, -1] for body in law.polyhedra],
        [[[Fraction(int(v), int(row[-1])) for v in row[:-2]] for row in rows] for rows in law.laws.integer()],
        [[Fraction(int(row[-2]), int(row[-1])) for row in rows] for rows in law.laws.integer()],
        domain=(law.domain.integer()[:, :-1], law.domain.integer()[:, -1]),
    )
    assert plain.known is None
    assert len(examine(plain, notes=False)) == 0
    assert cpwl.equal(law, plain)


def test_edges_are_farkas_rows():
    """``y'A = 0`` with ``y >= 0``, and ``y'(b + F x) + z'(b_t - A_t x)`` is the facet's row up to a factor."""
    for matrices in [*random_programs(5, 8), SPJOTVOLD]:
        program = Program.from_matrices(matrices)
        A, right, bounds = (np.array(m.tolist(), dtype=object) for m in (program.A, program.right, program.bounds))
        for region in explore(program):
            for row, there in zip(region.rows, region.beyond, strict=True):
                if not isinstance(there, Edge):
                    continue
                assert min([*there.y.values(), *there.z.values()]) > 0
                assert not any(sum(int(y.numerator) * A[i] / int(y.denominator) for i, y in there.y.items()) + A[0] * 0)
                total = sum(right[i] * y.numerator / y.denominator for i, y in there.y.items()) + right[0] * 0
                total = total + sum(bounds[i] * z.numerator / z.denominator for i, z in there.z.items())
                shown = [*(-row[:-1]), row[-1]]
                assert all(a * total[j] == b * total[i] for (i, a), (j, b) in pairwise(enumerate(shown)))
                assert any(a * t > 0 for a, t in zip(shown, total, strict=True))


def test_laws_do_not_depend_on_the_executor():
    """Processes and threads give the same pieces in the same order; a law can be sent to a process."""
    alone = cpwl.solve_mpqp(OCTAHEDRON, outputs=0)
    for pool in (ThreadPoolExecutor, ProcessPoolExecutor):
        with pool(2) as executor:
            other = cpwl.solve_mpqp(OCTAHEDRON, outputs=0, executor=executor)
        assert (alone.polyhedra.integer() == other.polyhedra.integer()).all()
        assert (alone.laws.integer() == other.laws.integer()).all()
    sent = pickle.loads(pickle.dumps(alone))
    assert sent.known.optimal.document() == alone.known.optimal.document()


def test_a_limit_says_how_to_go_on():
    """The active sets found so far complete the law."""
    seen = []
    with pytest.raises(LimitError, match="more than 9 regions") as stopped:
        cpwl.solve_mpqp(OCTAHEDRON, max_regions=9, progress=lambda *news: seen.append(news))
    assert seen[-1][1] > 9
    with pytest.warns(cpwl.CpwlWarning, match="were missing and have been added"):
        law = cpwl.io.from_active_sets(OCTAHEDRON, stopped.value.details["active_sets"])
    assert law.num_pieces == 27
    part = stopped.value.details["law"]
    assert part.complete is False
    assert (part(part.known.inner) == law(part.known.inner)).all()
    with pytest.raises(InputError, match="has a gap"):
        cpwl.compile(part)


@pytest.mark.parametrize("name", ["octahedron", "linear", "unbounded"])
def test_a_search_that_was_ended_goes_on(name, tmp_path, monkeypatch):
    """What is noted is not opened again, a line that was cut off is, and the law is the one found at once."""
    program = {"octahedron": OCTAHEDRON, "linear": TRANSPORT, "unbounded": CLIP}[name]
    alone, journal = cpwl.solve_mpqp(program), tmp_path / "journal.jsonl"
    opened, open_ = [], _Solver.opened
    monkeypatch.setattr(_Solver, "opened", lambda self, leads: opened.append(leads) or open_(self, leads))
    with pytest.raises(LimitError, match="`checkpoint` the same call goes on"):
        cpwl.solve_mpqp(program, max_regions=alone.num_pieces // 2, checkpoint=tmp_path)
    before = len(journal.read_bytes().splitlines())
    assert len(opened) == before - 1
    with open(journal, "ab") as file:
        file.write(b'{"tile":[0,')
    law = cpwl.solve_mpqp(program, checkpoint=tmp_path)
    assert len(opened) == len(journal.read_bytes().splitlines()) - 2 > before - 1
    again = cpwl.solve_mpqp(program, checkpoint=tmp_path)
    assert len(opened) == len(journal.read_bytes().splitlines()) - 2
    for one in (law, again):
        assert one.known.optimal.document() == alone.known.optimal.document()
        assert (one.known.inner == alone.known.inner).all()
    with pytest.raises(InputError, match="belongs to another search"):
        cpwl.solve_mpqp({**program, "b": [v + 1 for v in program["b"]]}, checkpoint=tmp_path)
    journal.write_bytes(journal.read_bytes().replace(b'"regions":[', b'"regions":["1",', 1))
    with pytest.raises(InputError, match="was changed, or written by somebody else"):
        cpwl.solve_mpqp(program, checkpoint=tmp_path)


FLAT = {"Q": [[1]], "H": [[0, 0]], "c": [0], "A": [[1], [-1]], "F": [[1, 0], [0, -1]], "b": [0, 0]}
CLIP = {"Q": [[1]], "H": [[-1]], "c": [0], "A": [[1], [-1]], "F": [[0], [0]], "b": [1, 1]}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ({**FLAT, "A_t": [*SQUARE, [1, -1]], "b_t": [4, 4, 4, 4, 0]}, "all of them satisfy x0 - x1 = 0"),
        ({**FLAT, "A_t": SQUARE, "b_t": [1, -1, 4, 4]}, "all of them satisfy x0 = 1"),
        ({**CLIP, "b": [-1, -2]}, r"no parameter is feasible: .* 1 \* A\[0\] \+ 1 \* A\[1\]"),
        ({**CLIP, "A_t": [[2], [-1]], "b_t": [-4, 1]}, r"1 \* A_t\[0\] \+ 2 \* A_t\[1\]"),
        ({**projection(SQUARE, [1] * 4), "Q": [[1, 2], [2, 4]]}, r"v'Qv <= 0 for v = \(-2, 1\)"),
        ({**projection(SQUARE, [1] * 4), "Q": None}, "depends on the parameters"),
        ({**CLIP, "Q": [[0]], "H": [[0]], "c": [1], "A": [[1], [2]]}, "is unbounded at x"),
        ([1], "must map names to matrices"),
        ({**CLIP, "A_t": [[1]]}, "`b_t`"),
    ],
)
def test_refusals_name_the_reason(program, message):
    """The equation among the parameters, the multipliers of Farkas, the direction, the matrix."""
    with pytest.raises(InputError, match=message):
        cpwl.solve_mpqp(program)


def test_a_quadratic_value_is_refused_in_a_sentence():
    """It said that a whole number was expected, not a str."""
    with pytest.raises(InputError, match="is for linear programs"):
        cpwl.solve_mpqp(CLIP, outputs="value")


# --- Linear programs --------------------------------------------------------------------------------------------------

TRANSPORT = {
    "H": [[0, 0]] * 3,
    "c": [1, 2, 3],
    "A": [[-1, -1, 0], [0, -1, -1], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]],
    "F": [[-1, 0], [0, -1], *[[0, 0]] * 5],
    "b": [0, 0, 5, 3, 0, 0, 0],
    "A_t": SQUARE,
    "b_t": [10, 0, 10, 0],
}
SHARED = {
    "H": [[0, 0]] * 2,
    "c": [1, 1],
    "A": [[-1, -1], [1, 0], [0, 1], [-1, 0], [0, -1]],
    "F": [[-1, -1], [1, 0], [0, 1], [0, 0], [0, 0]],
    "b": [0, 1, 1, 0, 0],
    "A_t": SQUARE,
    "b_t": [2, 0, 2, 0],
}


@pytest.mark.parametrize(
    ("matrices", "equalities"), [(TRANSPORT, 0), (SHARED, 0), ({**SHARED, "b": [0, 1, 1, 0, 0]}, 1)]
)
def test_linear_programs(matrices, equalities):
    """A continuous optimiser, also where optimisers are not unique, and the value: at points, another solver agrees."""
    law = cpwl.solve_mpqp(matrices, equalities=equalities)
    value = cpwl.solve_mpqp(matrices, equalities=equalities, outputs="value")
    assert law.doctor().healthy
    A, F, b = (np.array(matrices[name], dtype=float) for name in "AFb")
    for x in np.random.default_rng(0).uniform(0, 2, (20, 2)):
        right = b + F @ x
        rest = {"A_eq": A[:equalities], "b_eq": right[:equalities]} if equalities else {}
        found = linprog(matrices["c"], A[equalities:], right[equalities:], bounds=(None, None), **rest)
        if found.status == 2:
            assert np.isnan(law(x)).all()
            continue
        np.testing.assert_allclose(value(x), [found.fun], atol=1e-9)
        np.testing.assert_allclose(law(x) @ matrices["c"], found.fun, atol=1e-9)
        assert (A @ law(x) <= right + 1e-9).all()


def test_an_optimiser_of_a_linear_program_is_proved():
    """With the words that say that it is one of several."""
    made = cpwl.compile(cpwl.solve_mpqp(SHARED, outputs=0), certify=True)
    assert made.certificate.kind.startswith("optimal of ")
    assert made.certificate.statement.endswith("is an optimiser of the program, for all feasible parameters")


def test_slopes_of_the_value():
    """What depends on parameters alone is added."""
    plain, more = (
        cpwl.solve_mpqp({**TRANSPORT, **extra}, outputs="value") for extra in ({}, {"c_t": [1, "1/2"], "c_c": [7]})
    )
    x = [[Fraction(1), Fraction(4)]]
    assert more(x)[0, 0] - plain(x)[0, 0] == 10


def test_a_name_that_is_not_known_is_refused_and_zeros_may_be_left_out():
    """`At` for `A_t` would drop the bounds; without `H` and `c` both are 0."""
    box = {"A": [[1], [-1]], "b": [1, 1], "F": [[1], [0]], "A_t": [[1], [-1]], "b_t": [4, 4]}
    with pytest.raises(InputError, match="a program has no `At`"):
        cpwl.solve_mpqp({"Q": [[1]], **box, "At": [[1]]})
    short = cpwl.solve_mpqp({"Q": [[1]], **box})
    whole = cpwl.solve_mpqp({"Q": [[1]], "H": [[0]], "c": [0], **box})
    assert cpwl.equal(short, whole).equal
    value = cpwl.solve_mpqp({"c": [1], **box}, outputs="value")
    assert value([["1/2"], [2]]).ravel().tolist() == [-1, -1]
