"""Which laws meet where in a float complex: neighbours across facets, regions of one law."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cpwl.function.snap.complex import FloatComplex, Unfit

__all__ = ["Contact", "contacts_of", "regions_of", "spans"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Contact:
    """Piece `piece` touches piece `other` in a part of its facet on its row number `row`."""

    piece: int
    row: int
    other: int


def spans(points: _Floats, widths: _Floats, times: float = 30.0) -> bool:
    """Whether points span a hyperplane, even if each is moved by so many times its width."""
    n = points.shape[1]
    if len(points) < n:
        return False
    little = times * float(widths.max())
    if n == 2:
        return bool(np.ptp(points, axis=0).max() > little)
    return bool((np.linalg.svd(points[1:] - points[0], compute_uv=False) > little).sum() == n - 1)


def contacts_of(complex_: FloatComplex) -> list[Contact]:
    """All contacts; raises `Unfit` at a facet with nothing beyond it that is not on the boundary."""
    found: list[Contact] = []
    n = complex_.dim
    for i in complex_.solid:
        cell, on = complex_.cells[i], complex_.on[i]
        seen: set[tuple[int, ...]] = set()
        for r in np.flatnonzero(on.sum(axis=0) >= n).tolist():
            here = cell[on[:, r]]
            if tuple(here) in seen or not spans(complex_.vertices[here], complex_.widths[here]):
                continue
            seen.add(tuple(here))
            others = _beyond(complex_, i, int(complex_.start[i]) + r, here)
            found += [Contact(i, r, j) for j in others]
            if not others and not complex_.on_boundary[here].all(axis=0).any():
                raise Unfit(f"a facet of piece {i} has nothing beyond it and is not on the boundary of a convex domain")
    return found


def _beyond(complex_: FloatComplex, i: int, row: int, here: _Ints) -> list[int]:
    """The pieces on the other side of a facet with these vertices."""
    counts = Counter(j for v in here.tolist() for j in complex_.holders[v] if j != i)
    found = []
    for j, many in counts.items():
        if many < complex_.dim:
            continue
        common = [v for v in here.tolist() if j in complex_.holders[v]]
        own = complex_.own[j]
        over = complex_.vertices[own] @ complex_.A[row] - complex_.b[row] > 3 * complex_.widths[own]
        if over.any() and spans(complex_.vertices[common], complex_.widths[common]):
            found.append(j)
    return found


def regions_of(complex_: FloatComplex, label: _Ints, contacts: list[Contact]) -> list[list[int]]:
    """The pieces with interior, in groups that follow one law and hang together."""
    pairs = np.array([(c.piece, c.other) for c in contacts if label[c.piece] == label[c.other]]).reshape(-1, 2)
    size = len(complex_)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
    number = connected_components(graph, directed=False)[1]
    groups: dict[int, list[int]] = {}
    for i in complex_.solid:
        groups.setdefault(int(number[i]), []).append(i)
    return list(groups.values())
