"""Proofs of kind "near", for float data: an exactly consistent function near it, a proof for that, and how near it is.

`CPWL.snap` proposes the function, the network is proved for it, and every piece of the data is cut into regions that
lie in one piece of the function each. The stand-alone checker compares their laws there, in rationals, at corners and
along the rays. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import SolverError
from cpwl.exact.rational import fraction_array, text
from cpwl.function import CPWL
from cpwl.geometry.generators import generators
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.probe import Probe
from cpwl.proofs.checkers import checker
from cpwl.proofs.checkers.near_checker import farthest
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NoProof
from cpwl.proofs.question import Proposal, Question

__all__ = ["NotNear", "propose_near", "regions"]

_DEEP = 60  # cuts of one piece, one after the other
_LINES = 6  # lines in a piece of the data, each of which doubles the regions


class NotNear(NoProof):
    """There is no consistent function near the data, or it is not near enough to prove anything."""


def propose_near(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """Proofs that `propose` has for the function near the data, with what the distance of the two costs."""
    p = question.p
    snapped = p.snap(p.tol)
    if snapped.function is None:
        raise NotNear(f"there is no exact function near this data: {snapped.reason}")
    inner = replace(question, p=replace(snapped.function, mesh=None))
    cost: tuple[Fraction, Fraction] | None = None
    for proof in propose(inner):
        if cost is None:
            trees = regions(p, inner.p)
            cost = _cost(question, inner, trees)
        start = proof.bound if isinstance(proof.bound, tuple) else (proof.bound, Fraction(0))
        level, slope = start[0] + cost[0], start[1] + cost[1]
        bound = (level, slope) if slope else level
        fields = {"function": inner.function_document, "proof": proof.document, "pieces": trees}
        yield Proposal(bound, proof_head("near", p.dim, bound) | fields)


def _cost(question: Question, inner: Question, trees: list[Any]) -> tuple[Fraction, Fraction]:
    """What the checker will find that the distance costs."""
    law, meant = (checker.read_function(q.function_document) for q in (question, inner))
    layers = checker.read_network(question.network_document, law.n, law.outputs)
    try:
        return farthest(checker, law, meant, layers, trees)
    except checker.Refused as reason:
        raise NotNear(str(reason)) from None


def regions(p: CPWL, meant: CPWL) -> list[dict[str, Any] | None]:
    """For each piece of the data the tree of regions in which it lies in one piece of the function each."""
    cover = _Cover(p, meant)
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    found = []
    for j, (a, b) in enumerate(pairwise(start.tolist())):
        own = [checker.half_space([int(v) for v in row])[0] for row in rows[a:b]]
        found.append(cover.tree(j, checker.region(p.dim, own)))
    return found


class _Cover:
    """Regions of the data, each in a piece of the consistent function."""

    def __init__(self, p: CPWL, meant: CPWL) -> None:
        self.p, self.meant, self.n = p, meant, p.dim
        stack = meant.polyhedra
        rows = stack.integer()
        self.rows = [
            [checker.half_space([int(v) for v in row])[0] for row in rows[a:b]]
            for a, b in pairwise(stack.start.tolist())
        ]
        self.given = [[[int(v) for v in row] for row in rows[a:b]] for a, b in pairwise(stack.start.tolist())]
        self.length = np.linalg.norm(stack.A, axis=1)
        self.low, self.high, self.reach = _boxes(meant)
        self.probe, self.inner = Probe(0.0), dict[int, list[Any]]()
        self.laws = [fraction_array(q.laws.integer()[..., :-1]) / q.laws.integer()[..., -1:] for q in (p, meant)]

    def tree(self, j: int, cone: Any, depth: int = 0) -> dict[str, Any] | None:
        """The piece that holds the region, or a cut and a tree for either side; None if no point is in it."""
        ends = cone.generators()
        if not any(g[-1] for g in ends):
            return None
        if cone.lines:
            if len(cone.lines) > _LINES:
                raise NotNear(f"piece {j} of the data contains {len(cone.lines)} lines, one independent of the other")
            k = max(range(self.n), key=lambda t: abs(cone.lines[0][t]))
            return self.cut(j, cone, [int(t == k) for t in range(self.n + 1)], depth)
        i, held = self.holder(ends)
        beyond = [r for r, row in enumerate(self.rows[i]) if any(checker.dot(row, g) < 0 for g in ends)]
        if not held:  # outside the domain: what is inside is cut off first
            beyond = [r for r in beyond if any(checker.dot(self.rows[i][r], g) > 0 for g in ends)]
        if beyond and depth < _DEEP:
            return self.cut(j, cone, self.given[i][beyond[0]], depth)
        leaf: dict[str, Any] = {"piece": i}
        if not held or beyond:
            return leaf | {"point": self.middle(i)}
        slope = self.slope(j, i, ends)
        return leaf | {"slope": [text(v) for v in slope]} if slope is not None else leaf

    def cut(self, j: int, cone: Any, row: list[int], depth: int) -> dict[str, Any]:
        inner = checker.half_space(list(row))[0]
        below, above = (self.tree(j, cone.cut(side), depth + 1) for side in (inner, checker.minus(inner)))
        return {"cut": row, "below": below, "above": above}

    def holder(self, ends: list[list[int]]) -> tuple[int, bool]:
        """The piece that an inner point of the region is in; or that comes nearest to it, and False."""
        total = [sum(values) for values in zip(*ends, strict=True)]
        point = [Fraction(v, total[-1]) for v in total[:-1]]
        x = np.array([float(v) for v in point])
        slack = 1e-6 * (self.reach + np.abs(x).max())
        near = np.flatnonzero(((self.low <= x + slack) & (x - slack <= self.high)).all(axis=1))
        stack = self.meant.polyhedra
        excess = np.full(len(near), -np.inf)
        for k, i in enumerate(near.tolist()):
            own = slice(stack.start[i], stack.start[i + 1])
            excess[k] = ((stack.A[own] @ x - stack.b[own]) / self.length[own]).max(initial=-np.inf)
        for k in np.argsort(excess, kind="stable").tolist():
            if excess[k] > slack:
                break
            if all(checker.dot(row, total) >= 0 for row in self.rows[near[k]]):
                return int(near[k]), True
        if len(near) == 0:
            raise NotNear("a piece of the data is far outside the function near it")
        return int(near[np.argmin(excess)]), False

    def middle(self, i: int) -> list[Any]:
        """A rational point inside a piece."""
        if i not in self.inner:
            point = self.probe.interior(self.meant.polyhedra[i])
            if point is None:
                raise NotNear(f"piece {i} of the function near the data is flat")
            self.inner[i] = [text(v) for v in fraction_array(point)]
        return self.inner[i]

    def slope(self, j: int, i: int, ends: list[list[int]]) -> list[Fraction] | None:
        """A vector `h` with ``h . r`` at least what the laws differ by along each ray; None if they do not."""
        step = self.laws[1][i] - self.laws[0][j]
        rays = [_unit(g) for g in ends if not g[-1]]
        away = [max(abs(sum(c * v for c, v in zip(law, ray, strict=False))) for law in step) for ray in rays]
        if not any(away):
            return None
        corners = [[Fraction(v, g[-1]) for v in g[:-1]] for g in ends if g[-1]]
        off = [max(abs(sum((c * v for c, v in zip(law, [*x, 1], strict=True)))) for law in step) for x in corners]
        return _least_slope(corners, off, rays, away, self.reach)


def _boxes(meant: CPWL) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """A box around each piece, infinite where it is not known or not bounded; the largest coordinate of a corner."""
    spanned = generators(meant.polyhedra, most=6000)
    places, owner = spanned.places, np.repeat(np.arange(meant.num_pieces), np.diff(spanned.start))
    far = np.asarray(places[:, -1] == 0, dtype=bool)
    points = np.asarray(places[:, :-1] / np.where(far, 1, places[:, -1])[:, None], dtype=np.float64)
    low, high = (np.full((meant.num_pieces, meant.dim), side * np.inf) for side in (1, -1))
    member = spanned.member
    with np.errstate(invalid="ignore"):
        ends = np.where(far[member][:, None], np.sign(points[member]) * np.inf, points[member])
        ends = np.where(np.isnan(ends), 0.0, ends)
    skip = far[member][:, None] & (points[member] == 0)
    np.minimum.at(low, owner, np.where(skip, np.inf, ends))
    np.maximum.at(high, owner, np.where(skip, -np.inf, ends))
    low[~spanned.known], high[~spanned.known] = -np.inf, np.inf
    finite = np.abs(points[~far])
    return low, high, float(finite.max(initial=0.0)) or 1.0


def _unit(ray: list[int]) -> list[Fraction]:
    size = max(abs(v) for v in ray)
    return [Fraction(v, size) for v in ray[:-1]]


def _least_slope(
    corners: list[list[Fraction]], off: list[Fraction], rays: list[list[Fraction]], away: list[Fraction], reach: float
) -> list[Fraction]:
    """`h` with ``h . r >= away`` for all rays and small ``a + reach |h|_1``, where ``a + h . v >= off`` at corners.

    Floats propose; what is missing is made up for along a direction that all rays rise in.
    """
    n = len(rays[0])
    size = max(float(max(away)) * reach, float(max(off)), 1e-300)
    V, R = np.array(corners, dtype=np.float64) / reach, np.array(rays, dtype=np.float64)
    at_corners = np.column_stack([np.ones(len(V)), V, -V])
    along = np.column_stack([np.zeros(len(R)), R, -R])
    least = np.concatenate([np.array(off, dtype=np.float64) / size, np.array(away, dtype=np.float64) * reach / size])
    found = _smallest(np.concatenate([at_corners, along]), least)
    rising = _smallest(along[:, 1:], np.ones(len(R)))
    if rising is None:
        raise NotNear("a region of the data contains a line")
    slope = np.zeros(n) if found is None else found[1 : n + 1] - found[n + 1 :]
    h = [Fraction(float(v) * size / reach) for v in slope]
    up = [Fraction(float(v)) for v in rising[:n] - rising[n:]]
    short = max(e - sum(u * v for u, v in zip(h, ray, strict=True)) for e, ray in zip(away, rays, strict=True))
    if short > 0:
        rise = min(sum(u * v for u, v in zip(up, ray, strict=True)) for ray in rays)
        if rise <= 0:
            raise NotNear("a region of the data is too wide to bound what its laws differ by")
        h = [u + short / rise * v for u, v in zip(h, up, strict=True)]
    return h


def _smallest(rows: NDArray[np.float64], least: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The ``x >= 0`` with ``rows x >= least`` and the smallest sum, in floats; None if there is none."""
    count = rows.shape[1]
    program = LinearProgram(np.concatenate([-rows, -np.eye(count)]), np.append(-least, np.zeros(count)))
    try:
        found = program.propose(-np.ones(count))
    except SolverError:
        return None
    return found.point if found.status == "optimal" else None
