"""Proofs of kind "optimal": that a function is the optimiser of a program for all its feasible parameters.

What makes it so was found when the program was solved (`cpwl.mpqp`); here each region is placed in a piece, which may
be several regions that were merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cpwl.exact.integers import integer_rows
from cpwl.proofs.entries import NotRecognised
from cpwl.proofs.question import Proposal, Question, proof_head

__all__ = ["propose_optimal"]


def propose_optimal(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """What `propose` has for the function, with the proof that it is the optimiser."""
    p = question.p
    if p.known is None or p.known.optimal is None or p.mesh is not None:
        raise NotRecognised("the function is not known to be the optimiser of a program")
    document = p.known.optimal.document()
    rows = p.polyhedra.integer()
    inner = np.array([region.inner for region in p.known.optimal.regions], dtype=object)
    places = integer_rows(np.ones((len(inner), p.dim + 1)), np.column_stack([inner, [1] * len(inner)]))
    for entry, place in zip(document["regions"], places, strict=True):
        outside = (rows[:, :-1] @ place[:-1] > rows[:, -1] * place[-1]).astype(bool)
        pieces = np.setdiff1d(np.arange(p.num_pieces), p.polyhedra.owner[outside])
        if not len(pieces):
            raise NotRecognised("a region of the program is in no piece of the function")
        entry["piece"] = int(pieces[0])
    for proof in propose(question):
        yield Proposal(
            proof.bound,
            proof_head("optimal", p.dim, proof.bound) | document | {"proof": proof.document},
            proof.settles,
            proof.wiring,
        )
