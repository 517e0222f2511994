"""Distinct linear components: which pieces follow the same affine law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from cpwl.function.parts import Laws
from cpwl.geometry.polyhedra import Polyhedra

__all__ = ["label_components", "label_maps"]


def label_components(laws: Laws, polyhedra: Polyhedra, tol: float) -> NDArray[np.int64]:
    """For each piece and output the number of its component, counted in order of first appearance.

    With ``tol = 0`` laws are one component iff they are equal as rationals. Otherwise iff *every* coefficient
    differs by at most `tol` times the largest one of its kind over all pieces (offsets at least by what the slopes
    make of the size of the coordinates); a class is held together by its first member, so near-equality cannot
    drift along a chain.
    """
    if tol == 0:
        rows, view = laws.integer(), laws.coefficients()
        return np.stack([_label_equal(rows[:, j], view[:, j]) for j in range(laws.outputs)], axis=1)
    with np.errstate(over="ignore"):
        reach = np.abs(polyhedra.b / np.abs(polyhedra.A).max(axis=1)).max(initial=0.0) or 1.0
    near = [_label_near(laws.gradient[:, j], laws.offset[:, j], tol, reach) for j in range(laws.outputs)]
    return np.stack(near, axis=1)


def label_maps(component: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each piece, equal where all outputs follow the same components.

    >>> label_maps(np.array([[0, 0], [0, 1], [0, 0]]))
    array([0, 1, 0])
    """
    return np.unique(component, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _label_equal(rows: NDArray[np.object_], view: NDArray[np.float64]) -> NDArray[np.int64]:
    """Equal laws have equal floats, so only those that share theirs with another are compared as integers."""
    order = np.lexsort(view.T)
    same = (view[order[1:]] == view[order[:-1]]).all(axis=1)
    shared = np.sort(order[np.append(same, False) | np.append(False, same)])
    leader = np.arange(len(rows))
    first: dict[tuple[int, ...], int] = {}
    leader[shared] = [first.setdefault(tuple(row), i) for i, row in zip(shared.tolist(), rows[shared], strict=True)]
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


def _label_near(
    gradient: NDArray[np.float64], offset: NDArray[np.float64], tol: float, reach: float
) -> NDArray[np.int64]:
    slope_scale = np.abs(gradient).max(initial=0.0) or 1.0
    with np.errstate(over="ignore"):
        natural = min(slope_scale * reach, np.finfo(np.float64).max)
    offset_scale = max(np.abs(offset).max(initial=0.0), natural)
    scaled = np.column_stack([gradient / slope_scale, offset / offset_scale])
    near = cKDTree(scaled).query_ball_point(scaled, tol, p=np.inf, return_sorted=True)
    leader = np.full(len(scaled), -1, dtype=np.int64)
    for i, group in enumerate(near):  # Each piece goes to the first law near it that leads a class.
        if leader[i] < 0:
            free = [j for j in group if leader[j] < 0]
            leader[free] = i
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)
