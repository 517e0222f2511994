"""A point where two functions differ, if random points show one: a search, never a proof of equality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.equality.verdict import Apart, farther
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.sample import inner_points
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network import Network

__all__ = ["find_difference", "values_at"]

_FLOAT = 4096  # points to look at in floats
_EXACT = 24  # of them, how many in rationals: where floats differ most, and others, since floats see nothing of 1e-30
_WORK = 2 * 10**5  # products of rationals that this may cost

Point = NDArray[np.object_]
Operand = Network | CPWL


def find_difference(a: Operand, b: Operand, domain: Polyhedron | None, inside: Point | None) -> Apart | None:
    """A difference seen at a point of the domain where both are defined; None if none was seen.

    `inside` is a point strictly inside the domain, needed where there is a domain.
    """
    x = _points(a, b, domain, inside)
    with np.errstate(all="ignore"):
        gap = np.abs(np.asarray(a(x)) - np.asarray(b(x))).max(axis=1)
    gap = np.where(np.isfinite(gap), gap, -1.0)
    order = np.concatenate([np.argsort(-gap, kind="stable")[: _EXACT // 2], np.flatnonzero(gap >= 0)[: _EXACT // 2]])
    # Deep networks of rationals are slow to evaluate: then fewer points do.
    count = max(4, min(_EXACT, _WORK // (1 + sum(f.sizes.nonzeros for f in (a, b) if isinstance(f, Network)))))
    chosen = order[np.linspace(0, len(order) - 1, count, dtype=np.int64)]
    # Mostly the first point, where floats differ most, decides.
    for some in (chosen[:1], chosen[1:]):
        found = _difference(a, b, fraction_array(x[some]), domain)
        if found is not None:
            return found
    return None


def values_at(f: Operand, point: Point) -> Point | None:
    """The exact values of a network or function at a rational point; None where it is not defined."""
    values = np.asarray(f(point[None]))[0]
    return None if values[0] is None else values


def _difference(a: Operand, b: Operand, points: Point, domain: Polyhedron | None) -> Apart | None:
    """The largest difference at some points of the domain, exactly."""
    if domain is not None:
        rows = domain.integer()
        inside = (points[:, None, :] * rows[None, :, :-1]).sum(axis=2) <= rows[None, :, -1]
        points = points[inside.astype(bool).all(axis=1)]
    if not len(points):
        return None
    best: Apart | None = None
    for point, one, two in zip(points, np.asarray(a(points)), np.asarray(b(points)), strict=True):
        if one[0] is not None and two[0] is not None and (one != two).any():
            best = farther(best, Apart(point, np.abs(one - two).max(), (one, two)))
    return best


def _points(a: Operand, b: Operand, domain: Polyhedron | None, inside: Point | None) -> NDArray[np.float64]:
    """Random points of the domain in floats; those of a function are in its pieces."""
    rng = np.random.default_rng(0)
    for f in (a, b):
        if isinstance(f, CPWL):
            return _in_pieces(f, rng)
    assert isinstance(a, Network)
    n = a.inputs
    if domain is None:
        # Bends may be at any distance: directions at random, at lengths from 0.01 to 10,000.
        return np.asarray(rng.normal(size=(_FLOAT, n)) * 10 ** rng.uniform(-2, 4, size=(_FLOAT, 1)))
    assert inside is not None
    return _on_chords(domain, np.asarray(inside, dtype=np.float64), rng)


def _on_chords(
    body: Polyhedron, inside: NDArray[np.float64], rng: np.random.Generator, count: int = _FLOAT
) -> NDArray[np.float64]:
    """Random points on random chords through random points, starting with one inside."""
    at = np.repeat(inside[None], count, axis=0)
    for _ in range(3):
        toward = rng.normal(size=at.shape)
        speed, room = toward @ body.A.T, body.b - at @ body.A.T
        with np.errstate(all="ignore"):
            far = np.where(speed > 0, room / speed, 1e4).min(axis=1, initial=1e4)
            near = np.where(speed < 0, room / speed, -1e4).max(axis=1, initial=-1e4)
        share = rng.uniform(0.0, 1.0, size=count)
        at = at + (near + share * (far - near))[:, None] * toward
        at = np.where(np.isfinite(at).all(axis=1, keepdims=True), at, inside)
    return at


def _in_pieces(p: CPWL, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points of some pieces, a few each."""
    chosen = np.arange(0, p.num_pieces, -(-p.num_pieces // 400))
    each = -(-_FLOAT // len(chosen))
    if p.mesh is not None:
        corners = p.mesh.points[p.mesh.simplices[chosen]]
        share = rng.dirichlet(np.ones(p.dim + 1), size=(len(chosen), each))
        return np.asarray(np.einsum("pkc,pcn->pkn", share, corners)).reshape(-1, p.dim)
    found = [
        _on_chords(p.polyhedra[i], np.asarray(inside, dtype=np.float64), rng, each)
        for i, inside in inner_points(p, chosen.tolist()).items()
    ]
    return np.concatenate(found) if found else np.zeros((1, p.dim))
