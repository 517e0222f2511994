"""Proofs of kind "rounded": of the exact network that a rounded one came from, and of how far the two are apart.

Rounding moves the planes on which hinges and gates bend, and the values of maxima and minima. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NotRecognised
from cpwl.proofs.provers.expression import restored
from cpwl.proofs.question import Proposal, Question
from cpwl.proofs.rounding import added, drift

__all__ = ["propose_rounded"]


def propose_rounded(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """Proofs that `propose` has for the exact network; where that is not given, it is guessed from the components."""
    network, box = question.network, question.box
    exact = question.rounded_from
    if exact is None:
        exact = restored(question)
    if [weight.shape for weight, _ in exact.layers] != [weight.shape for weight, _ in network.layers]:
        raise NotRecognised("the exact network does not have the layers of the rounded one")
    inner = replace(question, network=exact, rounded_from=None)
    apart = drift(exact, network, box)
    for proof in propose(inner):
        if isinstance(proof.bound, tuple):
            continue
        bound = added(proof.bound, apart)
        fields = {
            "box": None if box is None else box.document(),
            "network": inner.network_document,
            "proof": proof.document,
        }
        yield Proposal(bound, proof_head("rounded", question.p.dim, bound) | fields)
