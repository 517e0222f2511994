"""Proofs of kind "rounded": of the exact network that a rounded one came from, and of how far the two are apart.

Rounding moves the planes on which hinges and gates bend, and the values of maxima and minima. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from cpwl.exact.rounding import upwards
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NotRecognised
from cpwl.proofs.provers.expression import restored
from cpwl.proofs.question import Proposal, Question
from cpwl.proofs.rounding import Bound, added
from cpwl_check.budget import STEPS, aside
from cpwl_check.pieces import read_function, read_network
from cpwl_check.rounded import apart, difference

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
    distance = _distance(question, inner)
    for proof in propose(inner):
        if isinstance(proof.bound, tuple):
            continue
        bound = added(proof.bound, distance)
        fields = {
            "box": None if box is None else box.document(),
            "network": inner.network_document,
            "proof": proof.document,
        }
        yield Proposal(bound, proof_head("rounded", question.p.dim, bound) | fields)


def _distance(question: Question, inner: Question) -> Bound:
    """How far the checker will find the two networks apart: on every piece, or by the sizes of weights alone."""
    law = read_function(question.function_document)
    layers, exact = (read_network(q.network_document, law.n, law.outputs) for q in (question, inner))
    zero, one, box = Fraction(0), Fraction(1), question.box
    if box is None:
        constant, slope = (difference(layers, exact, [Fraction(k)] * law.n, Fraction(1 - k)) for k in (0, 1))
        if constant is None or slope is None:
            raise NotRecognised("the weights of the two networks are too large to compare")
        return (constant, slope) if slope else constant
    size = [max(abs(x), abs(y)) for x, y in zip(box.low, box.high, strict=True)]
    rough = difference(layers, exact, size, one)
    count = len(law.pieces) + sum(len(form) for layer in (*layers, *exact) for form in layer)
    near = None if rough == zero else aside(lambda: apart(law, layers, exact, size), STEPS + count**2 // 4)
    found = min((x for x in (rough, near) if x is not None), default=None)
    if found is None:
        raise NotRecognised("the weights of the two networks are too large to compare")
    return upwards(found)
