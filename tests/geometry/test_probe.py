"""Interior points at any scale, intervals without linear programs, and hyperplanes shared by many rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpwl import CPWL
from cpwl.exact.simplex import maximize
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

small = st.integers(-3, 3)


def has_interior(rows, on):
    """By an exact linear program: how far all rows but one, which is held, can be moved inwards."""
    wide = [[*row[:-1], 0 if k == on else 1, row[-1]] for k, row in enumerate(rows)]
    if on is not None:
        wide.append([-v for v in wide[on]])
    wide.append([0] * (len(rows[0]) - 1) + [1, 1])
    best = maximize(np.array(wide, dtype=object), [0] * (len(rows[0]) - 1) + [1])
    return best.status == "optimal" and best.value > 0


@given(st.lists(st.tuples(small, small, small).filter(lambda r: r[0] or r[1]), min_size=1, max_size=6), st.data())
def test_points_inside_edges(rows, data):
    """On a row of a polygon a point strictly inside the others is found exactly when an exact program finds one."""
    on = data.draw(st.integers(0, len(rows) - 1))
    body = Polyhedron.from_rows([r[:2] for r in rows], [r[2] for r in rows])
    point = Probe(0.0).interior(body, on=[on])
    assert (point is not None) == has_interior(rows, on)
    if point is not None:
        assert all(isinstance(v, Fraction) for v in point)
        gaps = [r[2] - r[0] * point[0] - r[1] * point[1] for r in rows]
        assert gaps[on] == 0
        assert all(gap > 0 for k, gap in enumerate(gaps) if k != on)


@given(st.lists(st.tuples(small.filter(bool), small), min_size=1, max_size=5))
def test_points_inside_intervals(rows):
    """The same on the line."""
    point = Probe(0.0).interior(Polyhedron.from_rows([[a] for a, _ in rows], [b for _, b in rows]))
    assert (point is not None) == has_interior(rows, None)
    if point is not None:
        assert all(a * point[0] < b for a, b in rows)


@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1.0, 1e9, 1e12])
def test_float_functions_are_healthy_at_any_scale(scale):
    """Two triangles and a jump, in units from 1e-12 to 1e12: pieces are not flat, and only the jump is an error."""
    A = [[[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]]
    b = [[0.0, 0.0, scale], [scale, scale, -scale]]
    p = CPWL.from_pieces(A, b, [[1.0, 1.0], [2.0, 2.0]], [0.0, -scale])
    assert not p.doctor().errors
    assert not [f for f in p.doctor().findings if f.kind in ("flat piece", "empty piece")]
    q = CPWL.from_pieces(A, b, [[1.0, 1.0], [2.0, 2.0]], [0.0, -1.1 * scale])
    assert [f.kind for f in q.doctor().errors] == ["jump"]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_float_programs_at_any_scale(scale):
    """The largest value on a square does not depend on the unit of its coordinates or of the objective."""
    square = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    lp = LinearProgram(square, np.array([1.0, 0, 1, 0]) * scale)
    for factor in (1e-12, 1.0, 1e12):
        found = lp.maximize([1.0 * factor, 3.0 * factor])
        assert found.value == pytest.approx(4 * scale * factor, rel=1e-9)
        np.testing.assert_allclose(found.point, [scale, scale], rtol=1e-9)


def test_many_rows_on_few_hyperplanes():
    """Rows with noise below the tolerance are one hyperplane each, numbered as they appear, whatever their sense."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 5, 4000)
    planes = rng.standard_normal((5, 3))
    sense = rng.choice([-1.0, 1.0], 4000)
    rows = planes[true] * sense[:, None] * rng.uniform(0.5, 2.0, (4000, 1)) + 1e-13 * rng.standard_normal((4000, 3))
    stack = Polyhedra(rows[:, :2].copy(), rows[:, 2].copy(), np.arange(4001))
    found = hyperplanes(stack, 1e-9)
    first = {}
    assert found.number.tolist() == [first.setdefault(t, len(first)) for t in true.tolist()]
    assert (
        len({(t, s * found.side[i]) for i, (t, s) in enumerate(zip(true.tolist(), sense.tolist(), strict=True))}) == 5
    )
