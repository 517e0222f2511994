"""Proofs of kind "near", for float data: an exactly consistent function near it, a proof for that, and how near it is.

`CPWL.snap` proposes the function, the network is proved for it, and every piece of the data is cut into regions that
lie in one piece of the function each, or beside one. The stand-alone checker compares their laws there, in rationals,
at corners and along the rays. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from cpwl.exact.rational import text
from cpwl.function import CPWL
from cpwl.function.jump import largest_jump
from cpwl.proofs.document import proof_head
from cpwl.proofs.provers.near_partners import NotNear
from cpwl.proofs.provers.near_regions import regions, simplices
from cpwl.proofs.question import Proposal, Question
from cpwl_check.budget import Refused
from cpwl_check.near import by_coefficients, farthest
from cpwl_check.pieces import read_function, read_network

__all__ = ["NotNear", "propose_near"]


def propose_near(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """Proofs that `propose` has for the function near the data, with what the distance of the two costs."""
    p = question.p
    inner = replace(question, p=_near(question))
    known: dict[Fraction, tuple[list[Any], tuple[Fraction, Fraction]]] = {}
    for proof in propose(inner):
        start = proof.bound if isinstance(proof.bound, tuple) else (proof.bound, Fraction(0))
        if start[1] not in known:
            known[start[1]] = _cost(question, inner, start[1])
        trees, cost = known[start[1]]
        level, slope = start[0] + cost[0], start[1] + cost[1]
        bound = (level, slope) if slope else level
        fields = {"function": inner.function_document, "proof": proof.document, "pieces": trees} | _jump(p)
        yield Proposal(bound, proof_head("near", p.dim, bound) | fields)


def _jump(p: CPWL) -> dict[str, Any]:
    """Where two pieces of the data differ most: what no function comes nearer than."""
    jump = largest_jump(p)
    if jump is None:
        return {}
    return {"jump": {"pieces": [*jump.pieces], "point": [text(v) for v in jump.where], "output": jump.output}}


def _near(question: Question) -> CPWL:
    """The function near the data: for a table the one on an even lattice."""
    if question.undone is not None:
        return question.undone
    snapped = question.p.snap(question.p.tol)
    if snapped.function is None:
        raise NotNear(f"there is no exact function near this data: {snapped.reason}")
    return replace(snapped.function, mesh=None)


def _cost(question: Question, inner: Question, growth: Fraction) -> tuple[list[Any], tuple[Fraction, Fraction]]:
    """Trees of regions, and what the checker will find that the distance costs."""
    law, meant = (read_function(q.function_document) for q in (question, inner))
    layers = read_network(question.network_document, law.n, law.outputs)
    try:
        if question.undone is None or question.undone.mesh is None:
            return regions(question.p, inner.p, by_coefficients(law), meant, layers, growth)
        trees = simplices(question.p, question.undone)
        return trees, farthest(law, meant, layers, trees, growth)
    except Refused as reason:
        raise NotNear(str(reason)) from None
