"""Regression trees, with a constant or an affine law in each leaf: functions only if they do not jump.

A leaf is a box. Two leaves meet in a facet if one ends where the other begins in one coordinate and they overlap in all
others; there they differ by an affine function on a box, which is largest at a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.errors import InputError
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL

_ROUNDING = 1e-9  # models that agree up to this, relative, are meant to agree
_BLOCK = 1 << 22  # numbers in one temporary array


@dataclass(frozen=True, slots=True, eq=False)
class _Leaves:
    """Boxes ``low < x <= high``, infinite where there is no bound, with laws ``gradient x + offset``."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gradient: NDArray[np.float64]
    offset: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Jump:
    size: float
    at: NDArray[np.float64]
    values: tuple[NDArray[np.float64], NDArray[np.float64]]


@within_float64()
def from_tree(model: Any) -> CPWL:
    """The function of a continuous regression tree; a tree that is not continuous is refused with its largest jump.

    A `DecisionTreeRegressor` of scikit-learn has a constant in each leaf, and so jumps unless it has one leaf, or
    leaves of equal values. A `LinearTreeRegressor` (linear-tree) has a linear model in each leaf, and jumps unless the
    models happen to agree where their leaves meet.

    Raises
    ------
    InputError
        With the largest jump, its place, and the values on both sides.
    """
    leaves = _leaves(model)
    jump = _largest_jump(leaves)
    if jump is not None and jump.size > _ROUNDING * (1 + max(np.abs(v).max(initial=0.0) for v in jump.values)):
        _refuse(jump, type(model).__name__)
    A, b = zip(*(_rows(low, high) for low, high in zip(leaves.low, leaves.high, strict=True)), strict=True)
    everywhere = np.zeros((0, leaves.low.shape[1])), np.zeros(0)
    return CPWL.from_pieces(A, b, leaves.gradient, leaves.offset, domain=everywhere)


def _refuse(jump: _Jump, kind: str) -> None:
    place = point_text(jump.at)
    if np.isinf(jump.size):
        said = f"two leaves that meet at x = {place} differ by more and more along their common facet"
    else:
        one, other = (", ".join(f"{v:.6g}" for v in value[:4]) for value in jump.values)
        said = f"the largest jump is {jump.size:.6g}, at x = {place}, from {one} to {other}"
    raise InputError(f"this {kind} is not continuous: {said}", point=jump.at, size=jump.size)


def _leaves(model: Any) -> _Leaves:
    kind = type(model).__name__
    if hasattr(model, "estimators_"):
        raise InputError(f"a {kind} is a sum of many trees; such a sum is constant on boxes and jumps between them")
    if hasattr(model, "tree_"):
        return _of_sklearn(model.tree_, kind)
    if hasattr(model, "_leaves") and isinstance(model._leaves, dict):
        return _of_linear_tree(model)
    raise InputError(f"`from_tree` takes a fitted DecisionTreeRegressor or LinearTreeRegressor, not a {kind}")


def _of_sklearn(tree: Any, kind: str) -> _Leaves:
    if "Classifier" in kind:
        raise InputError(f"a {kind} gives classes, not numbers")
    n = int(tree.n_features)
    boxes, values = [], []
    stack = [(0, np.full(n, -np.inf), np.full(n, np.inf))]
    while stack:  # a tree is walked node by node
        node, low, high = stack.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left == right:
            boxes.append((low, high))
            values.append(np.ravel(tree.value[node]).astype(np.float64))
            continue
        feature, threshold = int(tree.feature[node]), float(tree.threshold[node])
        below, above = high.copy(), low.copy()
        below[feature], above[feature] = threshold, threshold
        stack += [(right, above, high), (left, low, below)]
    lows, highs = (np.array(side) for side in zip(*boxes, strict=True))
    offset = np.array(values)
    return _Leaves(lows, highs, np.zeros((*offset.shape, n)), offset)


def _of_linear_tree(model: Any) -> _Leaves:
    """linear-tree keeps the conditions of each leaf as (column, "L" or "R", threshold)."""
    n = int(model.n_features_in_)
    if getattr(model, "linear_features", None) is not None and len(np.atleast_1d(model._linear_features)) != n:
        raise InputError("a tree whose leaves use only some of the features is not read; make it with all of them")
    nodes = list(model._leaves.values()) or [next(iter(model._nodes.values()))]
    lows, highs = np.full((len(nodes), n), -np.inf), np.full((len(nodes), n), np.inf)
    gradient, offset = [], []
    for i, node in enumerate(nodes):
        for column, side, threshold in node.threshold:
            if side == "L":
                highs[i, column] = min(highs[i, column], float(threshold))
            else:
                lows[i, column] = max(lows[i, column], float(threshold))
        if not hasattr(node.model, "coef_"):
            raise InputError(f"a leaf holds a {type(node.model).__name__}, which is not a linear model")
        slopes = np.atleast_2d(np.asarray(node.model.coef_, dtype=np.float64))
        gradient.append(slopes)
        offset.append(np.broadcast_to(np.asarray(node.model.intercept_, dtype=np.float64).ravel(), len(slopes)))
    return _Leaves(lows, highs, np.array(gradient), np.array(offset))


def _largest_jump(leaves: _Leaves) -> _Jump | None:
    """The largest difference on a common facet, over all pairs of leaves; None if none meet."""
    count, n = leaves.low.shape
    best: _Jump | None = None
    step = max(1, _BLOCK // (count * n))
    for first in range(0, count, step):
        part = slice(first, first + step)
        low = np.maximum(leaves.low[part, None], leaves.low[None])
        high = np.minimum(leaves.high[part, None], leaves.high[None])
        touch = (leaves.high[part, None] == leaves.low[None]) & np.isfinite(low)  # this one ends where that one begins
        overlap = low < high
        for k in range(n):
            meets = touch[..., k] & np.delete(overlap, k, axis=-1).all(axis=-1)
            for i, j in np.argwhere(meets):
                found = _jump(leaves, first + int(i), int(j), low[i, j], high[i, j])
                if best is None or found.size > best.size:
                    best = found
    return best


def _jump(leaves: _Leaves, i: int, j: int, low: NDArray[np.float64], high: NDArray[np.float64]) -> _Jump:
    """The largest difference of two laws on the box that is their common facet."""
    slope = leaves.gradient[j] - leaves.gradient[i]
    inside = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    bounded = np.isfinite(low) & np.isfinite(high)
    centre = inside.copy()
    centre[bounded] = low[bounded] / 2 + high[bounded] / 2
    free = (slope != 0) & ~bounded
    if free.any():
        return _Jump(np.inf, centre, (np.zeros(0), np.zeros(0)))
    best, at = -1.0, centre
    for row, constant in zip(slope, leaves.offset[j] - leaves.offset[i], strict=True):
        for upwards in (1.0, -1.0):
            corner = np.where(row == 0, centre, np.where(upwards * row > 0, high, low))
            size = abs(float(row @ corner + constant))
            if size > best:
                best, at = size, corner
    values = tuple(leaves.gradient[k] @ at + leaves.offset[k] for k in (i, j))
    return _Jump(best, at, (values[0], values[1]))


def _rows(low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    unit = np.eye(len(low))
    above, below = np.isfinite(high), np.isfinite(low)
    return np.vstack([unit[above], -unit[below]]), np.concatenate([high[above], -low[below]])
