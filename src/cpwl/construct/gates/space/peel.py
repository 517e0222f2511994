"""Peeling: what is consistent along whole hyperplanes comes off as hinges before faces are looked at.

A hyperplane on which a function bends and which cuts none of its pieces is made of facets. Its most frequent jump `w`
comes off as a hinge ``w s(l)``: what is left is affine on the same pieces, does not bend on most of the hyperplane, and
has fewer pieces once those with equal laws are merged. The gates are the same: at a face only the *change* of a jump
counts. But the complex is a small part of what it would be, since its cells need not be cut along the hyperplane.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.blocks.sides import sides
from cpwl.exact.integers import primitive
from cpwl.function import CPWL
from cpwl.function.bends.neighbours import Neighbours
from cpwl.function.parts import Laws, Parts

__all__ = ["Peeled", "peel"]

_Jump = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Peeled:
    """``p = rest + sum of jump s(l)``, one jump an output, `l` as integers ``(a, c)`` for ``a.x + c``."""

    rest: CPWL
    hinges: dict[tuple[int, ...], _Jump]


def peel(p: CPWL, met: Neighbours) -> Peeled | None:
    """The consistent part and the rest in fewer pieces; None if that has as many as the function. Exact data.

    >>> A = [[[1, 0], [0, 1]], [[-1, 0], [0, 1]], [[1, 0], [0, -1]], [[-1, 0], [0, -1]]]
    >>> p = CPWL.from_pieces(A, [[0, 0]] * 4, [[0, 0], [1, 0], [0, 2], [1, 2]], [0] * 4)
    >>> from cpwl.function.bends.neighbours import neighbours
    >>> peeled = peel(p, neighbours(p))
    >>> peeled.rest.num_pieces, {l: int(jump) for l, (jump,) in sorted(peeled.hinges.items())}
    (1, {(0, 1, 0): 2, (1, 0, 0): 1})
    """
    hinges = _most_frequent(p, met)
    rows = list(hinges)
    if not rows:
        return None
    found = enumerate(sides(p, np.array(rows, dtype=object)))
    whole = {rows[h]: side for h, side in found if not isinstance(side, int)}
    if not whole:
        return None
    laws = p.laws.integer()
    law = np.array([[[Fraction(v, row[-1]) for v in row[:-1]] for row in own] for own in laws], dtype=object)
    for row, side in whole.items():
        law[side > 0] -= np.array(hinges[row], dtype=object)[:, None] * np.array(row, dtype=object)
    rest = CPWL.from_parts(Parts(p.polyhedra, _laws(law), p.domain, p.tol)).merge()
    if rest.num_pieces == p.num_pieces:
        return None
    return Peeled(rest, {row: hinges[row] for row in whole})


def _most_frequent(p: CPWL, found: Neighbours) -> dict[tuple[int, ...], _Jump]:
    """For each hyperplane that bends on most of its facets in the same way, that jump."""
    laws = p.laws.integer()
    jumps: dict[tuple[int, ...], Counter[_Jump]] = defaultdict(Counter)
    for i, j, row in zip(found.one.tolist(), found.two.tolist(), primitive(found.row), strict=True):
        c = next(k for k, v in enumerate(row) if v)
        jump = tuple(
            (Fraction(f[c], f[-1]) - Fraction(g[c], g[-1])) / row[c] for f, g in zip(laws[j], laws[i], strict=True)
        )
        form = [*row[:-1], -row[-1]]  # `one` has it at most 0
        lead = 1 if row[c] > 0 else -1  # s(l) and s(-l) differ by l only: their jumps are the same
        jumps[tuple(int(lead * v) for v in form)][jump] += 1
    return {form: best for form, count in jumps.items() if any(best := _best(count))}


def _best(count: Counter[_Jump]) -> _Jump:
    return max(count.items(), key=lambda item: (item[1], any(item[0]), item[0]))[0]


def _laws(law: NDArray[np.object_]) -> Laws:
    """Laws from fractions ``(pieces, outputs, gradient and offset)``."""
    rows = np.zeros((*law.shape[:2], law.shape[2] + 1), dtype=object)
    for index in np.ndindex(law.shape[:2]):
        below = math.lcm(*(v.denominator for v in law[index]))
        rows[index] = [*(int(v * below) for v in law[index]), below]
    return Laws.from_integer(rows)
