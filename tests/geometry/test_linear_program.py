"""Linear programs in floats: an answer always, also where the solver has none."""

import numpy as np
import pytest

from cpwl.errors import SolverError
from cpwl.geometry.linear_program import LinearProgram

SQUARE = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.array([1.0, 0, 1, 0])


@pytest.fixture
def no_solver(monkeypatch):
    """HiGHS gives up on everything."""

    def give_up(*_):
        raise SolverError("Unknown")

    monkeypatch.setattr(LinearProgram, "propose", give_up)


@pytest.mark.parametrize("objective", [[1.0, 3.0], [-0.1, 0.3], [0.0, 0.0]])
def test_what_the_solver_gives_up_is_solved_in_rationals(objective, monkeypatch):
    """The same value and an optimal point, with the solver and without."""
    known = LinearProgram(*SQUARE).maximize(objective)
    monkeypatch.setattr(LinearProgram, "propose", lambda *_: (_ for _ in ()).throw(SolverError("Unknown")))
    found = LinearProgram(*SQUARE).maximize(objective)
    assert (found.status, found.value) == (known.status, known.value)
    assert found.point @ objective == found.value
    assert (SQUARE[0] @ found.point <= SQUARE[1]).all()


@pytest.mark.usefixtures("no_solver")
def test_empty_and_unbounded_are_told_apart_without_a_solver():
    """No point, and a ray along which the objective grows."""
    assert LinearProgram(np.array([[1.0], [-1.0]]), np.array([0.0, -1.0])).maximize([1.0]).status == "infeasible"
    found = LinearProgram(np.array([[-1.0, 0.0]]), np.array([0.0])).maximize([1.0, 0.0])
    assert found.status == "unbounded"
    assert found.point[0] > 0
