"""Proofs of kind "line", for networks that bend in one direction, of any depth.

Such a network is affine between places on a line, and the checker walks along it from neuron to neuron. The proof only
says which direction that is. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function import CPWL
from cpwl.proofs.document import proof_head
from cpwl.proofs.question import Proposal, Question

__all__ = ["bend_direction", "propose_line"]


def bend_direction(p: CPWL) -> NDArray[np.object_] | None:
    """The one direction of all differences of laws, as integers; None if there are several, or none.

    >>> bend_direction(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    array([1], dtype=object)
    """
    if p.dim == 1:
        return np.array([1], dtype=object)
    laws = p.laws.integer()
    differences = (laws[:, :, :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[:, :, -1:]).reshape(-1, p.dim)
    bent = differences[(differences != 0).any(axis=1)]
    if len(bent) == 0:
        return None
    first = primitive(bent[:1])[0]
    c = int(np.argmax(first != 0))
    if ((bent * first[c] - bent[:, c : c + 1] * first) != 0).any():
        return None
    return np.asarray(first if first[c] > 0 else -first)


def propose_line(question: Question) -> Iterator[Proposal]:
    """The direction in which the function bends. For one input a walk decides: no other kind will do if this fails.

    >>> from cpwl.network import Network
    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> next(propose_line(Question(p, network))).document["direction"]
    [1]
    """
    direction = bend_direction(question.p)
    if direction is not None:
        document = proof_head("line", question.p.dim) | {"direction": [int(v) for v in direction]}
        yield Proposal(Fraction(0), document, settles=question.p.dim == 1)
