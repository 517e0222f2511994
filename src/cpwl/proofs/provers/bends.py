"""Proofs of kind "bends", for networks of hinges and gates: the hints.

Above the first hidden layer each neuron is a gate, ``relu(Y) = [l > 0] Y`` for a plane `l`, or a carry, ``Y >= 0``.
Which of them it is, and on which plane, is guessed from values in floats; that it is so, and that the network then has
the function's bends, is decided by the stand-alone checker, in rationals. See docs/proof.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive, sign, unit_view
from cpwl.function import CPWL
from cpwl.geometry.generators import generators
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.document import proof_head
from cpwl.proofs.provers.gate_vectors import gate_vectors
from cpwl.proofs.provers.guess import guess_roles, points_in, role_documents
from cpwl.proofs.question import Proposal, Question

__all__ = ["propose_bends"]

Integers = NDArray[np.object_]


def propose_bends(question: Question) -> Iterator[Proposal]:
    """Planes and roles for hinges and gates; `NotRecognised` for a neuron that looks neither like a gate nor a carry.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> next(propose_bends(Question(p, network))).document["planes"]
    [[1, 0]]
    """
    p, network = question.p, question.network
    points = points_in(p)
    first = _first_planes(network)
    planes = _distinct(np.concatenate([first, _facets(p)])) if len(network.layers) > 2 else first
    for quick in (True, False):
        roles, found = guess_roles(network, planes, points, quick=quick)
        domain = _domain(p, points) if roles else found[:0]
        vectors = gate_vectors(question, found, domain, roles)
        if all(u is not None for u, role in zip(chain(*vectors), chain(*roles), strict=True) if role.kind == "gate"):
            break  # all gates are known to be what they were taken for
    planes = found
    documents = role_documents(roles, vectors, range(len(domain)))
    hints = {"planes": planes.tolist(), "limits": domain.tolist(), "roles": documents}
    yield Proposal(Fraction(0), proof_head("bends", p.dim) | hints)


def _first_planes(network: Network) -> Integers:
    """Where the neurons of the first layer begin: integer rows ``(a, c)`` for ``a.x + c = 0``."""
    weight, bias = exact_layers(network)[0]
    rows = np.column_stack([weight.toarray(), bias])
    slanted = rows[(rows[:, :-1] != 0).any(axis=1)]
    whole = [[int(v * math.lcm(*(x.denominator for x in row))) for v in row] for row in slanted]
    return _distinct(primitive(np.array(whole, dtype=object).reshape(slanted.shape)))


def _facets(p: CPWL) -> Integers:
    """The rows of all pieces as planes."""
    rows = primitive(p.polyhedra.integer())
    return _distinct(np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1))


def _distinct(rows: Integers) -> Integers:
    """Each plane once, whatever its sign, its first slope positive, in order."""
    signs = [next((int(s) for s in row if s), 1) for row in sign(rows[:, :-1])]
    kept = dict.fromkeys(tuple(s * v for v in row) for s, row in zip(signs, rows.tolist(), strict=True))
    return np.array(list(kept), dtype=object).reshape(len(kept), rows.shape[1])


def _domain(p: CPWL, points: NDArray[np.float64]) -> Integers:
    """The rows ``(a, b)`` of pieces that hold on all pieces: those of the domain, if it is convex."""
    if p.mesh is not None:
        places = p.mesh.corners[np.unique(p.mesh.simplices)]
    else:
        found = generators(p.polyhedra)
        if not found.known.all():
            return np.zeros((0, p.dim + 1), dtype=object)
        places = found.places[np.unique(found.member)]
    rows = _once(p)
    view = unit_view(rows)
    likely = (points @ view[:, :-1].T <= view[:, -1] + 1e-9 * np.abs(view).max(axis=1)).all(axis=0)
    rows = rows[likely]
    above = np.concatenate([-rows[:, :-1], rows[:, -1:]], axis=1)
    holds = [(sign(places.dot(row)) >= 0).all() for row in above]
    kept: Integers = rows[np.array(holds, dtype=bool)]
    return kept


def _once(p: CPWL) -> Integers:
    rows = list(dict.fromkeys(map(tuple, primitive(p.polyhedra.integer()).tolist())))
    return np.array(rows, dtype=object).reshape(len(rows), p.dim + 1)
