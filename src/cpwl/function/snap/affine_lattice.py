"""Points that lie on an affine lattice ``x_0 + M k``, `k` integers, but for noise: a grid turned, sheared, or refined.

Then every two bends between lattice points that should be on one hyperplane are, whatever numbers stand for `x_0` and
`M`: an affine map keeps what is straight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function.snap.short import short

__all__ = ["on_affine_lattice"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]

_SNUG = 16.0  # how many times as far as another a simple number may be
_THIN = 1e-3  # of the product of their lengths: the least volume that the generators may span


def on_affine_lattice(points: _Floats, simplices: _Ints, little: _Floats) -> NDArray[np.object_] | None:
    """The points moved to an affine lattice, none by more than its `little`, as rationals; None if there is none.

    >>> turned = np.array([[0.0, 0.0], [0.8, 0.6], [-0.6, 0.8], [0.2, 1.4 + 1e-15]])
    >>> on_affine_lattice(turned, np.array([[0, 1, 2], [1, 2, 3]]), np.full(4, 1e-14))[3].tolist()
    [Fraction(1, 5), Fraction(7, 5)]
    """
    generators = _shortest(points, simplices, float(little.max()))
    if generators is None:
        return None
    centre = int(np.argmin(np.linalg.norm(points - points.mean(axis=0), axis=1)))
    numbers = _numbers(points - points[centre], generators)
    for _ in range(2):  # generators of one edge each are not known well enough for points far away
        if numbers is None:
            return None
        design = np.column_stack([np.ones(len(numbers)), numbers])
        fitted: _Floats = np.asarray(np.linalg.lstsq(design, points, rcond=None)[0], dtype=np.float64)
        again = _numbers(points - fitted[0], fitted[1:])
        if again is not None and np.array_equal(again, numbers):
            return _placed(points, numbers, fitted, little)
        numbers = again
    return None


def _shortest(points: _Floats, simplices: _Ints, little: float) -> _Floats | None:
    """Independent edges, the shortest there are, as rows."""
    n = points.shape[1]
    one, two = np.triu_indices(n + 1, k=1)
    pairs = np.unique(np.sort(np.stack([simplices[:, one].ravel(), simplices[:, two].ravel()], axis=1)), axis=0)
    edges = points[pairs[:, 1]] - points[pairs[:, 0]]
    length = np.linalg.norm(edges, axis=1)
    if length.min() <= 100 * little:
        return None
    order = np.argsort(length, kind="stable")
    rest = edges[order] / length[order][:, None]
    chosen: list[int] = []
    for _ in range(n):
        independent = np.linalg.norm(rest, axis=1) > _THIN
        if not independent.any():
            return None
        k = int(np.argmax(independent))
        chosen.append(int(order[k]))
        unit = rest[k] / np.linalg.norm(rest[k])
        rest = rest - np.outer(rest @ unit, unit)
    return np.asarray(edges[chosen])


def _numbers(steps: _Floats, generators: _Floats) -> NDArray[np.float64] | None:
    """The integers `k` with ``steps = k @ generators``, if they are integers beyond doubt."""
    numbers = np.linalg.solve(generators.T, steps.T).T
    whole = np.round(numbers)
    if np.abs(numbers - whole).max() > 0.05 or np.abs(whole).max() > 1e6:
        return None
    return whole if len(np.unique(whole, axis=0)) == len(whole) else None


def _placed(points: _Floats, numbers: _Floats, fitted: _Floats, little: _Floats) -> NDArray[np.object_] | None:
    """The points of the lattice with short numbers for its origin and generators, if all are near."""
    fine = float(little.min()) / (8 * (1 + len(fitted)))
    far = np.maximum(np.abs(numbers).max(axis=0), 1.0)
    origin = [short(x, fine, _SNUG) for x in fitted[0].tolist()]
    rows = [
        [short(x, fine / scale, _SNUG) for x in row]
        for row, scale in zip(fitted[1:].tolist(), far.tolist(), strict=True)
    ]
    exact = np.array([origin], dtype=object) + numbers.astype(np.int64).astype(object) @ np.array(rows, dtype=object)
    gap = np.abs(exact - fraction_array(points))
    return exact if bool((gap.astype(np.float64).max(axis=1) <= little).all()) else None
