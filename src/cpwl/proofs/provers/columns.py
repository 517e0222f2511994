"""Proofs of kind "columns", for tables on Kuhn grids: the axes, the one that is summed along, and the bases.

All of it can be read off the table and the output's biases; the checker does the rest. See docs/columns.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from cpwl.errors import ConstructionError
from cpwl.exact.rational import text
from cpwl.function.mesh import is_even, kuhn_grid
from cpwl.network.network import exact_layers
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NoProof
from cpwl.proofs.question import Proposal, Question

__all__ = ["propose_columns"]


def propose_columns(question: Question) -> Iterator[Proposal]:
    """One proposal for each axis whose hinges would be as many as the network has.

    >>> from cpwl import CPWL, compile
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 1], [2, 0], [1, 1]])
    >>> network = compile(p, construction="columns").network
    >>> next(propose_columns(Question(p, network))).document["axis"]
    0
    """
    mesh = question.p.mesh
    try:
        grid = None if mesh is None else kuhn_grid(mesh)
    except ConstructionError as reason:
        raise NoProof(str(reason)) from None
    layers = exact_layers(question.network)
    hinges = 0 if grid is None or all(is_even(axis) for axis in grid.axes) else 1
    if grid is None or len(layers) <= hinges + 1:
        raise NoProof("the function is no table on a grid, or the network has too few layers for one")
    count, n = layers[hinges][0].shape[0], len(grid.axes)
    fitting = [h for h in reversed(range(n)) if _hinges(grid.steps, h) == count]
    document = {
        "axes": [[text(v) for v in axis] for axis in grid.axes],
        "bases": [text(Fraction(v)) for v in layers[-1][1]],
    }
    for axis in fitting:
        yield Proposal(Fraction(0), proof_head("columns", question.p.dim) | {"axis": axis} | document)


def _hinges(steps: tuple[int, ...], h: int) -> int:
    """How many hinges there are where axis `h` is summed along: its steps, and with each other axis those of both.

    Those of the other axis come in two senses, but for the plane.
    """
    twice = 1 if len(steps) == 2 else 2
    return steps[h] + sum(steps[h] + twice * m for i, m in enumerate(steps) if i != h)
