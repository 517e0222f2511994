"""Functions of one variable: intervals that follow each other, and values that agree where they meet, in arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    begin, wide = _floats(p)
    order = np.lexsort((upper[:, 1] == 0, begin))
    laws = p.laws.integer()
    if (np.diff(order) != 1).any():
        upper, lower, wide, laws = upper[order], lower[order], wide[order], laws[order]
    inner_upper, inner_lower = upper[:-1], lower[1:]
    if (inner_upper[:, 1] == 0).any() or (inner_lower[:, 1] == 0).any():
        return False  # two pieces without an end on one side
    thin = (lower[:, 1] != 0) & (upper[:, 1] != 0) & ~wide
    width = upper[thin, 0] * lower[thin, 1] - lower[thin, 0] * upper[thin, 1]
    if (width <= 0).any() or not _equal(inner_upper, inner_lower) or not _is_domain(p, lower[0], upper[-1]):
        return False
    return _laws_agree(laws, inner_upper)


def _ends(rows: NDArray[np.object_], owner: NDArray[np.int64], count: int, side: int) -> NDArray[np.object_] | None:
    """The right or left end of each piece, ``(numerator, denominator)``, (0, 0) for none; None if one has several."""
    here = np.flatnonzero(rows[:, 0] > 0 if side > 0 else rows[:, 0] < 0)
    piece = owner[here]  # in order
    if (piece[1:] == piece[:-1]).any():
        return None
    ends = np.zeros((count, 2), dtype=object)
    ends[piece] = rows[here, ::-1] if side > 0 else -rows[here, ::-1]
    return ends


def _floats(p: CPWL) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Where each piece begins, in floats; and whether floats prove that it ends later.

    Entries of rows are rounded once, and quotients once more: unless numbers are tiny, ends are good to 4e-16.
    """
    A, b, owner = p.polyhedra.A[:, 0], p.polyhedra.b, p.polyhedra.owner
    begin, end = np.full(p.num_pieces, -np.inf), np.full(p.num_pieces, np.inf)
    with np.errstate(all="ignore"):
        at = b / A
        end[owner[A > 0]], begin[owner[A < 0]] = at[A > 0], at[A < 0]
        wide = end - begin > 1e-14 * (np.abs(begin) + np.abs(end)) + 1e-300
    wide &= np.isfinite(begin) & np.isfinite(end)
    wide[owner[np.abs(A) < 1e-8]] = False
    return begin, wide


def _equal(one: NDArray[np.object_], two: NDArray[np.object_]) -> bool:
    """Whether rows ``(numerator, denominator)`` are equal as fractions."""
    other = np.flatnonzero((one != two).any(axis=1))
    one, two = one[other], two[other]
    return bool((one[:, 0] * two[:, 1] == two[:, 0] * one[:, 1]).all())


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
