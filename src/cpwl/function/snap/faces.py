"""Faces of codimension 2 of a float complex, and the laws around each, in order.

There all conditions on laws are: three laws meet of themselves, as ``(f1 - f2) + (f2 - f3) + (f3 - f1) = 0``; four or
more must have hyperplanes of differences that share the face.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.complex import FloatComplex

__all__ = ["Face", "faces_of", "parallel_laws"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """A face of codimension 2: a point inside, its vertices, the laws around it, and whether they go all around."""

    point: _Floats
    vertices: tuple[int, ...]
    laws: tuple[int, ...]
    """In cyclic order, neighbours different; on the boundary of the domain from one side of it to the other."""
    closed: bool


def faces_of(complex_: FloatComplex, label: _Ints) -> list[Face]:
    """The faces of codimension 2 at which there is more than one law."""
    n, found = complex_.dim, {}
    sets = ((v,) for v in range(len(complex_.vertices))) if n == 2 else _vertex_sets(complex_)
    for vertices in sets:
        if vertices in found:
            continue
        holders = sorted(set.intersection(*(complex_.holders[v] for v in vertices)))
        if len({int(label[i]) for i in holders}) > 1:
            found[vertices] = _around(complex_, label, vertices, holders)
    return list(found.values())


def _vertex_sets(complex_: FloatComplex) -> list[tuple[int, ...]]:
    """The vertices of the faces in which two facets of a piece meet; in space one segment of an edge after another."""
    n = complex_.dim
    found: dict[tuple[int, ...], None] = {}
    for i in complex_.solid:  # rows of pieces differ in number, and so do the vertices on them
        cell, on = complex_.cells[i], complex_.on[i]
        common = on.T.astype(np.int64) @ on.astype(np.int64)
        rows = [r for r in range(on.shape[1]) if common[r, r] >= n]
        for r, s in itertools.combinations(rows, 2):
            if common[r, s] < n - 1:
                continue
            here = cell[on[:, r] & on[:, s]]
            points = complex_.vertices[here]
            if (n > 3 or len(here) > 2) and _rank(points, 1e2 * complex_.widths[here].max()) != n - 2:
                continue
            if n == 3:
                along = np.linalg.svd(points - points.mean(axis=0))[2][0]
                line = here[np.argsort(points @ along)].tolist()
                found.update({(min(u, v), max(u, v)): None for u, v in itertools.pairwise(line)})
            else:
                found[tuple(sorted(here.tolist()))] = None
    return list(found)


def _rank(points: _Floats, little: float) -> int:
    """The dimension of the affine hull of some points, but for a little."""
    return int((np.linalg.svd(points - points.mean(axis=0), compute_uv=False) > little).sum())


def _around(complex_: FloatComplex, label: _Ints, vertices: tuple[int, ...], holders: list[int]) -> Face:
    """The laws of the pieces around a face, by the angle of their centres across it."""
    points = complex_.vertices[list(vertices)]
    middle = points.mean(axis=0)
    across = np.linalg.svd(points - middle)[2][complex_.dim - 2 :] if len(points) > 1 else np.eye(complex_.dim)
    angle = np.arctan2(*((complex_.centres[holders] - middle) @ across.T).T[::-1])
    order = np.argsort(angle)
    ring = label[np.array(holders)[order]].tolist()
    gap = complex_.A[complex_.boundary] @ middle - complex_.b[complex_.boundary]
    closed = not (np.abs(gap) <= 3 * complex_.widths[list(vertices)].max()).any()
    if not closed:  # start after the largest gap
        turn = np.diff(np.append(angle[order], angle[order[0]] + 2 * np.pi))
        first = int(np.argmax(turn)) + 1
        ring = ring[first:] + ring[:first]
    laws = [law for k, law in enumerate(ring) if law != ring[k - 1] or (k == 0 and not closed)]
    return Face(middle, vertices, tuple(laws) or (ring[0],), closed)


def parallel_laws(complex_: FloatComplex, label: _Ints, laws: _Floats) -> list[tuple[int, ...]]:
    """Triples of laws with parallel facets on one unbounded region: their gradients lie on a line."""
    if complex_.box is None:
        return []
    n = complex_.dim
    touch: dict[int, set[int]] = {}
    found: set[tuple[int, ...]] = set()
    far = np.flatnonzero((np.abs(complex_.vertices) >= 0.8 * np.abs(complex_.box).min()).any(axis=1))
    for v in far.tolist():
        here = {int(label[i]) for i in complex_.holders[v]}
        for law in here:
            touch.setdefault(law, set()).update(here - {law})
    for law, others in touch.items():
        near = sorted(others)
        steps = laws[near, :n] - laws[law, :n]
        length = np.linalg.norm(steps, axis=1)
        unit = steps / np.where(length > 0, length, 1.0)[:, None]
        for i, j in itertools.combinations(range(len(near)), 2):
            bent = length[i] > 0 and length[j] > 0
            apart = np.linalg.norm(unit[i] - unit[j] * np.sign(unit[i] @ unit[j]))
            if bent and apart <= 1e3 * max(complex_.tol, complex_.noise):
                found.add(tuple(sorted((law, near[i], near[j]))))
    return sorted(found)
