"""Proofs of kind "clipped": of the network behind two layers that move the input into a box."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from cpwl.network.algorithms import Clipped, unclipped
from cpwl.network.network import exact_layers
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NotRecognised
from cpwl.proofs.question import Proposal, Question

__all__ = ["propose_clipped"]


def propose_clipped(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """What `propose` has for the network behind, on the box around the pieces."""
    found, box = unclipped(question.network), question.box
    if found is None:
        raise NotRecognised("the network does not move its input into a box")
    if box is None:
        raise NotRecognised("the network moves its input into a box, and the pieces are not bounded")
    before = None if question.rounded_from is None else unclipped(question.rounded_from)
    if question.rounded_from is not None and before is None:
        raise NotRecognised("the exact network does not move its input into a box")
    inner = replace(question, network=found.inner, rounded_from=None if before is None else before.inner)
    ends = [*box.low, *box.high]
    apart = max(abs(x - y) for x, y in zip([*found.low, *found.high], ends, strict=True))
    moved = apart * _slope(found) if apart else Fraction(0)
    reach = max(map(abs, ends))
    for proof in propose(inner):
        level, growth = proof.bound if isinstance(proof.bound, tuple) else (proof.bound, Fraction(0))
        bound = level + growth * reach + moved
        fields = {"box": box.document(), "proof": proof.document}
        yield Proposal(bound, proof_head("clipped", question.p.dim, bound) | fields)


def _slope(found: Clipped) -> Fraction:
    """A bound on the slope of the network behind: ``|W_l| .. |W_1| 1``."""
    size: list[Fraction] = [Fraction(1)] * found.inner.inputs
    for weight, _ in exact_layers(found.inner):
        rows = [Fraction(0)] * weight.shape[0]
        for i, j, value in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
            rows[i] += abs(Fraction(value)) * size[j]
        size = rows
    return max(size)
