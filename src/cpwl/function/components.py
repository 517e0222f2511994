"""Distinct linear components: which pieces follow the same affine law."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.exact.integers import number_rows
from cpwl.function.parts import Laws
from cpwl.function.scale import Scale, scale_of
from cpwl.geometry.polyhedra import Polyhedra


def label_components(laws: Laws, polyhedra: Polyhedra, tol: float) -> NDArray[np.int64]:
    """For each piece and output the number of its component, counted in order of first appearance.

    With ``tol = 0`` laws are one component iff they are equal as rationals. Otherwise iff every coefficient differs by
    at most `tol` times the largest one of its kind over all pieces and outputs, *and* on both pieces their values
    differ by no more than these may be off by (`Scale.slack`), so that a steep piece elsewhere makes no two laws one. A
    class is held together by its first member: near-equality cannot drift along a chain.
    """
    if tol == 0:
        rows = laws.integer()
        return np.stack([number_rows(rows[:, j])[1] for j in range(laws.outputs)], axis=1)
    scale = scale_of(polyhedra, laws, tol)
    return np.stack([_label_near(laws, j, tol, scale) for j in range(laws.outputs)], axis=1)


def label_maps(component: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each piece, equal where all outputs follow the same components.

    >>> label_maps(np.array([[0, 0], [0, 1], [0, 0]]))
    array([0, 1, 0])
    """
    return np.unique(component, axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _label_near(laws: Laws, output: int, tol: float, scale: Scale) -> NDArray[np.int64]:
    slope_scale = np.abs(laws.gradient).max(initial=0.0) or 1.0
    with np.errstate(over="ignore"):
        natural = min(slope_scale * scale.unit, np.finfo(np.float64).max)
    offset_scale = max(np.abs(laws.offset).max(initial=0.0), natural)
    own = np.column_stack([laws.gradient[:, output], laws.offset[:, output]])
    tree = scipy.spatial.cKDTree(own / np.append(np.full(own.shape[1] - 1, slope_scale), offset_scale))
    agree = _Agree(own, 2 * scale.slack(tol), scale)
    leader = np.full(len(own), -1, dtype=np.int64)
    for i in range(len(own)):  # Each piece goes to the first law near it that leads a class.
        if leader[i] < 0:
            near = np.array(tree.query_ball_point(tree.data[i], tol, p=np.inf), dtype=np.int64)
            free = near[(leader[near] < 0) & (near != i)]
            leader[free[agree(i, free)]] = i
            leader[i] = i
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


class _Agree:
    """Whether laws ``(g, o)`` have the same values on the pieces of both, as far as each may be off."""

    def __init__(self, laws: NDArray[np.float64], slack: NDArray[np.float64], scale: Scale) -> None:
        self.laws, self.slack = laws, slack
        found = scale.extents
        # Corners ``(x, 1)``, and rays ``(r, 0)`` as long as the corners are far out.
        owner = np.concatenate([found.owner, found.ray_owner])
        ends = np.column_stack([found.rays * scale.reach[found.ray_owner][:, None], np.zeros(len(found.rays))])
        places = np.concatenate([np.column_stack([found.points, np.ones(len(found.points))]), ends])
        order = np.argsort(owner, kind="stable")
        self.places = places[order]
        self.start = np.searchsorted(owner[order], np.arange(len(laws) + 1))

    def __call__(self, i: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not len(others):
            return np.zeros(0, dtype=bool)
        change = self.laws[others] - self.laws[i]
        with np.errstate(all="ignore"):
            here = np.abs(change @ self.places[self.start[i] : self.start[i + 1]].T).max(axis=1, initial=0.0)
            good = np.asarray(here <= self.slack[i])
            lengths = self.start[others + 1] - self.start[others]
            first = np.concatenate([[0], np.cumsum(lengths)])
            rows = np.repeat(self.start[others] - first[:-1], lengths) + np.arange(first[-1])
            which = np.repeat(np.arange(len(others)), lengths)
            there = np.abs((change[which] * self.places[rows]).sum(axis=1))
        good[which[~(there <= self.slack[others][which])]] = False
        return good
