"""Tables on axes that are even but for rounding: moved onto the lattice, by hardly anything, and smaller networks."""

from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, compile
from cpwl.function.snap.even import even_table
from cpwl.function.snap.snap import undone


def table(axis, size, seed=0):
    values = np.random.default_rng(seed).integers(-9, 10, (size, size))
    return CPWL.from_grid([axis, axis], values)


@pytest.mark.parametrize("count", [7, 13, 25])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.3, 0.4), (1e3, 1e3 + 1)])
def test_linspace_becomes_even(count, low, high):
    """All steps are equal as rationals, and nothing moves by more than a few units in the last place."""
    given = table(np.linspace(low, high, count), count)
    parts, far = even_table(given)
    axis = sorted({Fraction(x, w) for x, _, w in parts.mesh.corners.tolist()})
    assert len(axis) == count
    assert len(set(np.diff(axis))) == 1
    assert far <= 8 * np.spacing(max(abs(low), abs(high)))


def test_uneven_coordinates_stay():
    """Random numbers are on no lattice, and two places are no lattice."""
    rng = np.random.default_rng(0)
    assert even_table(table(np.sort(rng.random(9)), 9)) is None
    assert even_table(table(np.array([0.1, 0.7]), 2)) is None


def test_a_float_grid_compiles_to_what_the_even_grid_does():
    """As many neurons as the same values on integers, where the floats themselves take more."""
    size = 8
    floats, whole = table(np.linspace(0, 1, size), size), table(range(size), size)
    found = floats.snap(even=True)
    assert found.way == "even"
    assert 0 < found.moved.largest < 1e-13
    assert found.function.doctor().healthy
    neurons = [compile(p, construction="gates").sizes.neurons for p in (floats, found.function, whole)]
    assert neurons[1] == neurons[2] < neurons[0]


def test_even_is_only_done_when_asked_for():
    """Data that is exactly consistent stays as it is by default."""
    p = table(np.linspace(0, 1, 7), 7)
    assert p.snap().function is p


def test_auto_takes_the_even_lattice_where_that_is_allowed():
    """As small as on integers, within rounding of the data, proved; not where no error is allowed, nor if asked not."""
    size = 6
    floats, whole = table(np.linspace(0, 0.7, size), size), table(range(size), size)
    made, even = compile(floats, certify=True), compile(whole)
    assert made.sizes.neurons == even.sizes.neurons
    assert "rounding of its numbers undone" in made.reason
    assert made.certificate.proved
    assert 0 < made.certificate.error_bound < Fraction(1, 10**12)
    exact = compile(floats, precision="exact")
    assert exact.sizes.neurons > made.sizes.neurons
    assert "rounding of its numbers undone" not in exact.reason
    assert "rounding of its numbers undone" not in compile(floats, construction="gates").reason


def test_points_that_are_meant_stay():
    """Fractions next to a lattice are no rounding, and neither are floats that are farther off."""
    near = [Fraction(k, 7) + (k == 3) * Fraction(1, 10**17) for k in range(8)]
    far = [k / 7 + (k == 3) * 1e-12 for k in range(8)]
    assert undone(table(near, 8)) is None
    off = undone(table(far, 8))  # other diagonals may be straightened, by rounding; what is off stays so
    assert off is None or np.abs(off.mesh.points - table(far, 8).mesh.points).max() < 1e-15
    assert undone(table(np.linspace(0, 1, 8), 8)) is not None
    assert undone(table([float(k) for k in range(8)], 8)) is None


def test_three_inputs():
    """10^3 in small: `linspace` axes cost no more than integers do."""
    values = np.random.default_rng(2).integers(-9, 10, (4, 2, 3))
    floats, whole = (CPWL.from_grid([axis, range(2), range(3)], values) for axis in (np.linspace(0, 1, 4), range(4)))
    assert compile(floats).sizes.neurons == compile(whole).sizes.neurons
