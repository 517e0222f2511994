"""Functions of one variable: intervals that follow each other, and values that agree where they meet, in arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import sign

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["is_sound_on_line"]


def is_sound_on_line(p: CPWL) -> bool:
    """Whether the pieces of an exact function of one variable cover its domain once, and agree where they meet.

    Floats propose the order from left to right, integers decide. False says nothing: only that this proof does not
    apply.

    >>> from cpwl.function.cpwl import CPWL
    >>> is_sound_on_line(CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=2))
    True
    """
    if p.tol or p.dim != 1:
        return False
    rows, owner = p.polyhedra.integer(), p.polyhedra.owner
    upper = _ends(rows, owner, p.num_pieces, 1)
    lower = _ends(rows, owner, p.num_pieces, -1)
    if upper is None or lower is None:
        return False
    left = np.full(p.num_pieces, -np.inf)
    bounded = np.flatnonzero(lower[:, 1] != 0)
    left[bounded] = lower[bounded, 0] / lower[bounded, 1]
    order = np.lexsort((upper[:, 1] == 0, left))
    upper, lower = upper[order], lower[order]
    inner_upper, inner_lower = upper[:-1], lower[1:]
    if (inner_upper[:, 1] == 0).any() or (inner_lower[:, 1] == 0).any():
        return False  # two pieces without an end on one side
    both = (lower[:, 1] != 0) & (upper[:, 1] != 0)
    width = upper[both, 0] * lower[both, 1] - lower[both, 0] * upper[both, 1]
    meet = (inner_upper[:, 0] * inner_lower[:, 1] == inner_lower[:, 0] * inner_upper[:, 1]).all()
    if (sign(width) <= 0).any() or not meet or not _is_domain(p, lower[0], upper[-1]):
        return False
    return _laws_agree(p.laws.integer()[order], inner_upper)


def _ends(rows: NDArray[np.object_], owner: NDArray[np.int64], count: int, side: int) -> NDArray[np.object_] | None:
    """The right or left end of each piece, ``(numerator, denominator)``, (0, 0) for none; None if one has several."""
    here = np.flatnonzero(sign(rows[:, 0]) == side)
    if len(np.unique(owner[here])) < len(here):
        return None
    ends = np.zeros((count, 2), dtype=object)
    ends[owner[here], 0], ends[owner[here], 1] = rows[here, 1] * side, rows[here, 0] * side
    return ends


def _is_domain(p: CPWL, first: NDArray[np.object_], last: NDArray[np.object_]) -> bool:
    """Whether a domain that was asserted ends where the pieces end."""
    if p.domain is None:
        return True
    rows = p.domain.integer()
    zeros = np.zeros(len(rows), dtype=np.int64)
    for end, side in ((first, -1), (last, 1)):
        given = _ends(rows, zeros, 1, side)
        if given is None or (given[0, 1] == 0) != (end[1] == 0) or given[0, 0] * end[1] != end[0] * given[0, 1]:
            return False
    return True


def _laws_agree(laws: NDArray[np.object_], joints: NDArray[np.object_]) -> bool:
    """Whether neighbours have equal values at the joints, for all outputs."""
    f, g = laws[:-1], laws[1:]
    x, w = joints[:, :1], joints[:, 1:]
    one, two = (law[..., 0] * x + law[..., 1] * w for law in (f, g))
    return bool((one * g[..., 2] == two * f[..., 2]).all())
