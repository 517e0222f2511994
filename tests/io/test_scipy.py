"""SciPy's own objects: the function has their values, and what is not piecewise linear is refused or measured."""

import warnings

import numpy as np
import pytest
from scipy.interpolate import (
    Akima1DInterpolator,
    CubicSpline,
    LinearNDInterpolator,
    NearestNDInterpolator,
    PPoly,
    RegularGridInterpolator,
    interp1d,
    make_interp_spline,
)
from scipy.spatial import Delaunay

import cpwl
from cpwl.errors import CpwlWarning, InputError
from cpwl.io.scipy import deviation, from_interp, from_scipy


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("rescale", [False, True])
def test_scattered_data(n, rescale):
    """Points in columns of another order, several outputs; outside of the hull there is nothing."""
    rng = np.random.default_rng(n)
    points = np.asfortranarray(rng.uniform(-1, 1, (30, n)) * ([1, 50, 3][:n] if rescale else 1))
    values = rng.normal(size=(30, 2))
    theirs = LinearNDInterpolator(points, values, rescale=rescale)
    p = from_scipy(theirs)
    x = rng.uniform(-1, 1, (200, n)) * np.abs(points).max(axis=0)
    np.testing.assert_allclose(p(x), theirs(x), atol=1e-12)
    if not rescale:
        q = from_scipy(theirs.tri, values)
        assert q.doctor().healthy
        np.testing.assert_array_equal(p(x), q(x))


def test_triangulation_is_compiled():
    """A table of scattered points, proved."""
    rng = np.random.default_rng(0)
    p = from_scipy(Delaunay(rng.integers(0, 9, (12, 2)).astype(float)), rng.integers(0, 5, 12))
    assert cpwl.compile(p, certify=True).certificate.proved


@pytest.mark.parametrize("shape", [(5, 4), (3, 3, 3), (2, 3, 2, 2)])
def test_multilinear_tables_are_measured(shape):
    """The difference that is reported is there, and no point has a larger one than the bound."""
    rng = np.random.default_rng(1)
    axes = [np.sort(rng.uniform(-2, 2, k)) for k in shape]
    values = rng.normal(size=shape)
    theirs = RegularGridInterpolator(axes, values)
    with pytest.warns(CpwlWarning, match="a multilinear table is not piecewise linear"):
        p = from_scipy(theirs)
    off = deviation(axes, values)
    at = np.array(off.at)
    assert abs(p(at)[0] - theirs(at)[0]) == pytest.approx(off.size, rel=1e-9)
    x = np.column_stack([rng.uniform(axis[0], axis[-1], 3000) for axis in axes])
    seen = np.abs(p(x)[:, 0] - theirs(x)).max()
    assert seen <= off.bound + 1e-12
    assert seen <= off.size * (1 + 1e-9) if len(shape) == 2 else seen <= 1.1 * off.size


def test_tables_that_are_linear_are_not_warned_about():
    """A table of an affine function, and one of one axis."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = from_scipy(RegularGridInterpolator([[0.0, 1, 2], [0.0, 1]], [[0.0, 1], [2, 3], [4, 5]]))
        q = from_scipy(RegularGridInterpolator([[0.0, 1, 2]], [0.0, 1, 0]))
    assert p([1.5, 0.5])[0] == 3.5
    assert q([1.5])[0] == 0.5


X, Y = np.array([0.0, 0.3, 1.0, 2.5]), np.array([1.0, -0.7, 0.2, 0.1])
POINTS = np.linspace(-1, 3.5, 91)


@pytest.mark.parametrize(
    "theirs",
    [
        make_interp_spline(X, Y, k=1),
        PPoly.from_spline(make_interp_spline(X, Y, k=1)),
        PPoly(np.array([np.diff(Y) / np.diff(X), Y[:-1]]), X),
        PPoly(np.array([np.zeros(3), np.diff(Y) / np.diff(X), Y[:-1]]), X),
        PPoly(np.array([np.diff(Y) / np.diff(X), Y[:-1]]), X, extrapolate=False),
        interp1d(X, Y, fill_value="extrapolate"),
        interp1d(X, Y, bounds_error=False),
        interp1d(X, np.column_stack([Y, -Y]), axis=0, bounds_error=False),
    ],
)
def test_functions_of_one_variable(theirs):
    """Inside, and outside where they extrapolate; elsewhere there is nothing."""
    p = from_scipy(theirs)
    assert p.doctor().healthy
    np.testing.assert_allclose(p(POINTS[:, None]), np.asarray(theirs(POINTS)).reshape(len(POINTS), -1), atol=1e-12)


def test_numpy_interp():
    """Constant beyond the ends, as NumPy has it."""
    np.testing.assert_allclose(from_interp(X, Y)(POINTS[:, None])[:, 0], np.interp(POINTS, X, Y), atol=1e-12)


@pytest.mark.parametrize(
    ("source", "values", "message"),
    [
        (Delaunay([[0.0, 0], [1, 0], [0, 1]]), None, "needs `values`"),
        (Delaunay([[0.0, 0], [1, 0], [0, 1]]), [1, 2], "`values` must be"),
        (Delaunay([[0.0, 0], [1, 0], [0, 1]]), [1, 2, 1j], "complex"),
        (interp1d(X, Y), [1], "has its own"),
        (interp1d(X, Y, kind="cubic"), None, "not read"),
        (interp1d(X, np.stack([Y, Y])), None, "axis=0"),
        (CubicSpline(X, Y), None, "degree [23] between"),
        (Akima1DInterpolator(X, Y), None, "not piecewise linear"),
        (make_interp_spline(X, Y, k=3), None, "degree 3"),
        (PPoly(np.array([[1.0, 1.0], [0.0, 5.0]]), [0.0, 1.0, 2.0]), None, "at x = 1 it jumps from 1 to 5, by 4"),
        (PPoly(np.array([[1.0], [0.0]]), [0.0, 1.0], extrapolate="periodic"), None, "periodic"),
        (NearestNDInterpolator([[0.0, 0], [1, 0], [0, 1]], [1, 2, 3]), None, "reads Delaunay"),
        (RegularGridInterpolator([X, X], np.outer(Y, Y), method="nearest"), None, 'method "nearest"'),
        (np.zeros(3), None, "not a ndarray"),
    ],
)
def test_refusals(source, values, message):
    """What is not piecewise linear, or not continuous, in one sentence."""
    with pytest.raises(InputError, match=message):
        from_scipy(source, values)


@pytest.mark.parametrize("extrapolate", [True, False])
def test_breakpoints_of_a_polynomial_may_decrease(extrapolate):
    """SciPy allows them; a jump is refused as ever."""
    source = PPoly(np.array([[1.0, -2.0], [0.0, -1.0]]), np.array([2.0, 1.0, 0.0]), extrapolate=extrapolate)
    x = np.array([0.25, 1.0, 1.75, *((-1.0, 3.0) if extrapolate else ())])
    np.testing.assert_array_equal(from_scipy(source)(x[:, None])[:, 0], source(x))
    with pytest.raises(InputError, match="is not continuous: at x = 1 "):
        from_scipy(PPoly(np.array([[1.0, -2.0], [0.0, 5.0]]), np.array([2.0, 1.0, 0.0])))
