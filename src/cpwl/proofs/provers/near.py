"""Proofs of kind "near", for float data: an exactly consistent function near it, a proof for that, and how near it is.

`CPWL.snap` proposes the function, the network is proved for it, and every piece of the data is matched with a piece of
the function that contains it but for a little. The stand-alone checker measures how little, in rationals, and what that
costs. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array, text
from cpwl.function import CPWL
from cpwl.function.evaluate import find_pieces
from cpwl.geometry.probe import Probe
from cpwl.proofs.checkers import checker
from cpwl.proofs.checkers.near_checker import farthest
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NoProof
from cpwl.proofs.question import Proposal, Question

__all__ = ["NotNear", "propose_near"]

_LITTLE = 0.01  # of the tolerance: what sticks out of a piece is measured, not cut off
_DEEP = 12  # cuts of one piece


class NotNear(NoProof):
    """There is no consistent function near the data, or it is not near enough to prove anything."""


def propose_near(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """Proofs that `propose` has for the function near the data, with what the distance of the two costs."""
    p = question.p
    snapped = p.snap(p.tol)
    if snapped.function is None:
        raise NotNear(f"there is no exact function near this data: {snapped.reason}")
    inner = replace(question, p=replace(snapped.function, mesh=None))
    cost: Fraction | None = None
    for proof in propose(inner):
        if isinstance(proof.bound, tuple):
            continue  # it grows without end
        if cost is None:
            trees = _places(p, inner.p)
            cost = _cost(question, inner, trees)
        bound = proof.bound + cost
        fields = {"function": inner.function_document, "proof": proof.document, "pieces": trees}
        yield Proposal(bound, proof_head("near", p.dim, bound) | fields)


def _cost(question: Question, inner: Question, trees: list[Any]) -> Fraction:
    """What the checker will find that the distance costs."""
    law, meant = (checker.read_function(q.function_document) for q in (question, inner))
    layers = checker.read_network(question.network_document, law.n, law.outputs)
    try:
        return farthest(checker, law, meant, layers, trees)
    except checker.Refused as reason:
        raise NotNear(str(reason)) from None


class _Cover:
    """Regions of the data, each in a piece of the consistent function but for a little."""

    def __init__(self, p: CPWL, meant: CPWL) -> None:
        self.p, self.meant = p, meant
        self.rows = meant.polyhedra.integer()
        self.probe = Probe(0.0)
        self.size = float(np.abs(p.polyhedra.b).max(initial=1.0)) or 1.0
        self.inside: dict[int, NDArray[np.object_]] = {}

    def tree(self, rows: list[list[int]], depth: int = 0) -> dict[str, Any] | None:
        """The piece that holds the region, or a cut and a tree for either side; None if the region is flat."""
        generators = checker.region(self.p.dim, rows).generators()
        if not all(g[-1] for g in generators):
            raise NotNear("a piece of the data is not bounded")
        ends = np.array([[float(Fraction(v, g[-1])) for v in g[:-1]] for g in generators]).reshape(-1, self.p.dim)
        if len(ends) == 0:
            return None
        i = self.holder(ends.mean(axis=0))
        own = self.rows[self.meant.polyhedra.start[i] : self.meant.polyhedra.start[i + 1]]
        view = own.astype(np.float64)
        length = np.linalg.norm(view[:, :-1], axis=1)
        excess = ((ends @ view[:, :-1].T - view[:, -1]) / np.where(length > 0, length, 1.0)).max(axis=0, initial=0.0)
        r = int(np.argmax(excess)) if len(excess) else -1
        if r < 0 or excess[r] <= _LITTLE * self.p.tol * self.size or depth >= _DEEP:
            return {"piece": i, "point": [text(Fraction(v)) for v in self.middle(i)]}
        cut: list[int | Fraction] = [int(v) for v in own[r]]
        below, above = (checker.half_space(row)[0] for row in (cut, [-v for v in cut]))
        sides = {"below": self.tree([*rows, below], depth + 1), "above": self.tree([*rows, above], depth + 1)}
        return {"cut": cut, **sides}

    def holder(self, x: NDArray[np.float64]) -> int:
        """The piece that holds a point, or comes nearest to it."""
        i = int(find_pieces(self.meant, x[None])[0])
        if i >= 0:
            return i
        A, b = self.meant.polyhedra.A, self.meant.polyhedra.b
        excess = (A @ x - b) / np.maximum(np.linalg.norm(A, axis=1), np.finfo(np.float64).tiny)
        worst = np.full(self.meant.num_pieces, -np.inf)
        np.maximum.at(worst, self.meant.polyhedra.owner, excess)
        return int(np.argmin(worst))

    def middle(self, i: int) -> NDArray[np.object_]:
        """A rational point inside a piece."""
        if i not in self.inside:
            point = self.probe.interior(self.meant.polyhedra[i])
            if point is None:
                raise NotNear(f"piece {i} of the function near the data is flat")
            self.inside[i] = fraction_array(point)
        return self.inside[i]


def _places(p: CPWL, meant: CPWL) -> list[dict[str, Any] | None]:
    """For each piece of the data the tree of those that hold it."""
    cover = _Cover(p, meant)
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    own = [[checker.half_space([int(v) for v in r])[0] for r in rows[a:b]] for a, b in pairwise(start.tolist())]
    return [cover.tree(piece) for piece in own]
