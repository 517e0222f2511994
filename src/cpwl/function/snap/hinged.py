"""Laws as sums of hinges: where hyperplanes cross, four laws meet, and only laws of this form meet exactly.

If the slope jumps by the same amount all along each hyperplane, as in a network with one hidden layer, the law changes
by ``t_h (a_h.x - b_h)`` whenever `h` is crossed. Then one law, the rows and the numbers `t_h` give all laws.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function.parts import Laws

if TYPE_CHECKING:
    from cpwl.function.snap.frame import Frame

__all__ = ["hinged_laws"]


def hinged_laws(frame: Frame) -> Laws | None:
    """The laws of all pieces as sums of hinges on the shared rows, from the first piece on; None if some have no way.

    Only a proposal: whether these laws are those of the function is to be seen.
    """
    turns = _turns(frame)
    first = min(frame.facets)
    laws = {first: _fractions(frame.laws[first])}
    waiting = deque([first])
    while waiting:
        i = waiting.popleft()
        for key in frame.contacts.facets[i]:
            for j in sorted(frame.contacts.neighbours.get((i, key), ())):
                if j not in laws:
                    laws[j] = laws[i] + key[1] * turns[key[0]]
                    waiting.append(j)
    if len(laws) < frame.p.num_pieces:
        return None
    table = np.array([laws[i] for i in range(frame.p.num_pieces)], dtype=object)
    return Laws.from_lists(table[..., :-1], table[..., -1], frame.p.num_pieces, frame.p.dim)


def _turns(frame: Frame) -> dict[int, NDArray[np.object_]]:
    """For each hyperplane what the laws gain on the way from its side 1 to its side -1, one row an output."""
    largest: dict[int, float] = {}
    found = {}
    for (i, (h, s)), near in sorted(frame.contacts.neighbours.items()):
        row = fraction_array(frame.shared_row(i, (h, s)))
        k = int(np.argmax(np.abs(row[:-1])))
        for j in sorted(near):
            change = frame.p.laws.gradient[j, :, k] - frame.p.laws.gradient[i, :, k]
            size = float(np.abs(change).max())
            if s > 0 and size > largest.get(h, -1.0):
                largest[h] = size
                steps = [Fraction(float(c)) / row[k] for c in change]
                found[h] = np.array([[t * v for v in (*row[:-1], -row[-1])] for t in steps], dtype=object)
    return found


def _fractions(law: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.array([[Fraction(v, row[-1]) for v in row[:-1]] for row in law], dtype=object)
