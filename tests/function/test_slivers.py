"""Triangulations of nearly even grids as half-spaces: slivers at the hull, of which no false alarm may come."""

import numpy as np
import pytest
from scipy.spatial import Delaunay

from cpwl import CPWL


def triangles(seed):
    """Rows and laws of the Delaunay triangles of a grid, turned now and then, moved by 1e-9 to 1e-13."""
    rng = np.random.default_rng(seed)
    k, noise = int(rng.integers(2, 5)), 10.0 ** -int(rng.integers(9, 14))
    points = np.array([(i, j) for i in range(k) for j in range(k)], dtype=float) / k - 0.5 * rng.integers(0, 2)
    if seed % 3 == 0:
        points = points @ np.linalg.qr(rng.standard_normal((2, 2)))[0]
    points = points + noise * rng.standard_normal(points.shape)
    values = np.abs(points[:, 0]) + np.abs(points[:, 1] - 0.3)
    A, b, laws = [], [], []
    for corner in Delaunay(points).simplices:
        weights = np.linalg.inv(np.column_stack([points[corner], np.ones(3)]))
        length = np.linalg.norm(weights[:2], axis=0)
        A.append(-weights[:2].T / length[:, None])
        b.append(weights[2] / length)
        laws.append(weights @ values[corner])
    return A, b, np.array(laws)


def function(A, b, laws):
    return CPWL.from_pieces(A, b, laws[:, :2], laws[:, 2])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(24))
def test_slivers_make_no_gaps(seed):
    """Whatever is left out as flat, its neighbours border on each other, and the domain is convex."""
    report = function(*triangles(seed)).doctor()
    assert report.healthy, str(report)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [4, 5, 8, 10, 17, 20])
def test_a_piece_that_is_missing_is_seen(seed):
    """A triangle in the middle of a grid left out: a gap as wide as it."""
    A, b, laws = triangles(seed)
    middle = _center(A, b)
    k = int(np.argmin([np.maximum(A[i] @ middle - b[i], 0).max() for i in range(len(A))]))
    rest = [i for i in range(len(A)) if i != k]
    errors = function([A[i] for i in rest], [b[i] for i in rest], laws[rest]).doctor().errors
    assert errors
    assert max(f.size for f in errors) > 1e-2


def _center(A, b):
    """The middle of the corners of all triangles."""
    return np.mean([np.linalg.solve(A[i][:2], b[i][:2]) for i in range(len(A))], axis=0)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", [1, 4, 5, 8, 10, 17])
def test_a_law_that_is_off_is_seen(seed):
    """A step of 1e-5 at a triangle that is not flat."""
    A, b, laws = triangles(seed)
    whole = function(A, b, laws)
    flat = {f.pieces[0] for f in whole.doctor() if f.kind in ("flat piece", "empty piece", "sliver")}
    k = next(i for i in range(len(A)) if i not in flat)
    laws[k, 2] += 1e-5
    errors = function(A, b, laws).doctor().errors
    assert "jump" in {f.kind for f in errors}
    assert max(f.size for f in errors if f.kind == "jump") == pytest.approx(1e-5, rel=1e-2)
