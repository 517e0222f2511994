"""PPOPT itself: its solutions are read by their active sets, and evaluate to what it says."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import cpwl
from cpwl.errors import InputError
from cpwl.io.mpqp import from_ppopt

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    solver = pytest.importorskip("ppopt.mp_solvers.solve_mpqp")
    from ppopt.mplp_program import MPLP_Program
    from ppopt.mpqp_program import MPQP_Program


def double_integrator(horizon, bound=5.0, cost=0.1):
    """The condensed program of a double integrator with bounded input and state."""
    A, B = np.array([[1.0, 1], [0, 1]]), np.array([[0.5], [1]])
    power = [np.linalg.matrix_power(A, k) for k in range(horizon + 1)]
    effect = np.zeros((2 * horizon, horizon))
    for k in range(1, horizon + 1):
        for j in range(k):
            effect[2 * k - 2 : 2 * k, j : j + 1] = power[k - 1 - j] @ B
    free = np.vstack(power[1:])
    Q, H = effect.T @ effect + cost * np.eye(horizon), effect.T @ free
    eye, one = np.eye(horizon), np.ones((horizon, 1))
    rows = np.vstack([eye, -eye, effect, -effect])
    right = np.vstack([one, one, np.full((4 * horizon, 1), bound)])
    F = np.vstack([np.zeros((2 * horizon, 2)), -free, free])
    box = np.vstack([np.eye(2), -np.eye(2)])
    return MPQP_Program(rows, right, np.zeros((horizon, 1)), H, Q, box, np.full((4, 1), bound), F)


@pytest.fixture(scope="module")
def solution():
    """Horizon 3: 19 regions or so, and a domain that is smaller than the box."""
    return solver.solve_mpqp(double_integrator(3), solver.mpqp_algorithm.combinatorial)


@pytest.mark.parametrize("outputs", [0, None, slice(0, 2)])
def test_values_are_those_of_the_solver(solution, outputs):
    """All decision variables, or some, inside and outside of the domain."""
    p = from_ppopt(solution, outputs=outputs)
    assert p.tol == 0
    assert p.doctor().healthy
    points = np.random.default_rng(0).uniform(-5, 5, (60, 2))
    for x in points:
        found = solution.evaluate(x[:, None])
        if found is None:
            assert np.isnan(p(x)).all()
        else:
            np.testing.assert_allclose(p(x), found.ravel()[: p.outputs], atol=1e-6)


def test_the_proof_is_of_equality(solution):
    """Compiled in a few neurons, and equal."""
    made = cpwl.compile(from_ppopt(solution, outputs=0), certify=True)
    assert made.certificate.proved
    assert made.certificate.statement.startswith("network = function")
    assert made.sizes.neurons <= 11


def test_every_lost_region_is_found(solution):
    """Without any one of its regions the solution is refused."""
    regions = solution.critical_regions
    for lost in range(0, len(regions), 4):
        rest = SimpleNamespace(program=solution.program, critical_regions=regions[:lost] + regions[lost + 1 :])
        assert any(finding.kind == "gap" for finding in from_ppopt(rest, outputs=0, complete=False).doctor().errors)


def test_every_lost_region_is_added(solution):
    """Half of the regions are enough: the rest is found, and the law is that of all."""
    rest = SimpleNamespace(program=solution.program, critical_regions=solution.critical_regions[::2])
    with pytest.warns(cpwl.CpwlWarning, match="regions were missing and have been added"):
        p = from_ppopt(rest, outputs=0)
    assert cpwl.equal(p, from_ppopt(solution, outputs=0))


def test_a_linear_program_has_a_continuous_value():
    """The value of the program is what PPOPT says."""
    rows = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [1, 1]])
    F = np.array([[0.0, 0]] * 4 + [[1, 1]])
    box = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    program = MPLP_Program(
        rows,
        np.array([[3.0], [3], [0], [0], [0]]),
        np.array([[-1.0], [-2]]),
        np.zeros((2, 2)),
        box,
        np.array([[5.0], [5], [0], [0]]),
        F,
    )
    found = solver.solve_mpqp(program, solver.mpqp_algorithm.combinatorial)
    p = from_ppopt(found, outputs="value")
    assert p.doctor().healthy
    for x in np.random.default_rng(0).uniform(0, 5, (20, 2)):
        objective = program.c.T @ found.evaluate(x[:, None])
        np.testing.assert_allclose(p(x), objective.ravel(), atol=1e-6)


def test_other_things_are_refused(solution):
    """What is no solution, has no region, is mixed-integer, or has the matrices of another program."""
    region = solution.critical_regions[0]
    with pytest.raises(InputError, match="takes a PPOPT Solution"):
        from_ppopt(solution.program)
    with pytest.raises(InputError, match="no critical regions"):
        from_ppopt(SimpleNamespace(program=solution.program, critical_regions=[]))
    fixed = SimpleNamespace(**{**vars(region), "y_fixation": np.zeros(1)})
    with pytest.raises(InputError, match="mixed-integer"):
        from_ppopt(SimpleNamespace(program=solution.program, critical_regions=[fixed]))
    with pytest.raises(InputError, match="give another law"):
        from_ppopt(SimpleNamespace(program=double_integrator(3, cost=5.0), critical_regions=solution.critical_regions))
