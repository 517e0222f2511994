"""How large must the multiplier of a gate be? The range of ``-d / l`` over the domain, never from samples.

A gate glues along a line ``l = 0`` on which ``d = sum_H c_H relu(h_H)`` vanishes. ``d + M l`` has the sign of `l` on
the domain iff ``M >= sup(-d/l)``, and the opposite sign iff ``M <= inf(-d/l)``. On a cell cut out by the lines
``h_H = 0`` and the domain's edges ``d + M l`` is affine, so its sign is decided at corners and along extreme rays: at
the crossings of these lines and, if the domain is unbounded, of the line at infinity. Crossings are exact integers;
quotients of them are rounded once, and what rounding can do to the rest is added to the range.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import ratio_view, sign

__all__ = ["common_integers", "keeps_sign", "sharp_range", "star_ranges"]

_ULP = float(np.finfo(np.float64).eps)
_BLOCK = 2**21  # numbers in one temporary array


def sharp_range(
    line: NDArray[np.object_],
    hinges: NDArray[np.object_],
    scale: NDArray[np.object_],
    jump: NDArray[np.float64],
    points: NDArray[np.object_],
) -> tuple[float, float]:
    """Bounds on ``-d / l`` over the domain, tight up to rounding, from all `crossings` of the hinges in it.

    The hinges are divided by `scale`, of which the line's is the last, and have one `jump` each, correctly rounded.
    Takes time in the cube of the number of hinges.
    """
    below = points @ line
    points, below = points[below != 0], below[below != 0]
    if len(points) == 0:
        return 0.0, 0.0
    above = points @ hinges.T
    share = ratio_view(np.where(above > 0, above, 0) * scale[-1], np.abs(below)[:, None] * scale[:-1])
    value = -(share @ jump) * sign(below)
    slack = (len(jump) + 4) * _ULP * (share @ np.abs(jump))
    return float((value - slack).min()), float((value + slack).max())


def keeps_sign(
    line: NDArray[np.object_],
    hinges: NDArray[np.object_],
    scale: NDArray[np.object_],
    jump: NDArray[np.object_],
    points: NDArray[np.object_],
    multiplier: Fraction,
) -> int:
    """1 if ``d + M l`` is nowhere of the other sign than `l`, -1 if nowhere of the same, else 0; all in integers.

    It may be 0 in more places than `l` is. The rest is as for `sharp_range`, `jump` exact.
    """
    below = points @ line
    above = points @ hinges.T
    whole, times, _ = common_integers(jump, scale[:-1], multiplier, scale[-1])
    value = sign(np.where(above > 0, above, 0) @ whole + below * times) * sign(below)
    return 1 if (value >= 0).all() else -1 if (value <= 0).all() else 0


def common_integers(
    jump: NDArray[np.object_], scale: NDArray[np.object_], multiplier: Fraction, own: int
) -> tuple[NDArray[np.object_], int, int]:
    """``jump / scale`` and ``multiplier / own`` as integers over one denominator, which comes last."""
    below = [c.denominator * int(s) for c, s in zip(jump, scale, strict=True)]
    common = math.lcm(multiplier.denominator * int(own), *below)
    whole = [c.numerator * (common // b) for c, b in zip(jump, below, strict=True)]
    times = multiplier.numerator * (common // (multiplier.denominator * int(own)))
    return np.array(whole, dtype=object), times, common


def star_ranges(
    normals: NDArray[np.object_], scale: NDArray[np.object_], jump: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Bounds on ``-d / l`` over the plane for stars of `k` lines, each of them as the gate: ``(v, k, m, 2)``.

    At a point with lines of the given `normals` ``(v, k, 2)`` and steps of their jumps, `d` has the bends that make `l`
    a gate for that point alone; ``-d / l`` depends on the direction only. The ranges of the points on a gate line add
    up to bounds for the whole gate, in time linear in their number. Normals are divided by `scale` ``(v, k)``, and so
    are the results by that of their gate; `jump` ``(v, k, m)`` is multiplied by it, and correctly rounded.
    """
    v, k, m = jump.shape
    result = np.empty((v, k, m, 2))
    size = max(1, _BLOCK // max(1, k**3 * m))
    for first in range(0, v, size):
        block = slice(first, first + size)
        a, b = normals[block, :, 0], normals[block, :, 1]
        # turn[., H, r] = n_H . (direction of r), antisymmetric; each quotient rounded once.
        turn = ratio_view(
            a[:, :, None] * b[:, None] - b[:, :, None] * a[:, None], scale[block, :, None] * scale[block, None]
        )
        flip = np.sign(turn)  # [., g, H]: on which side of gate g the line H runs to
        with np.errstate(divide="ignore", invalid="ignore"):
            for sense in (1.0, -1.0):
                # s(-flip_gH h_H) at direction r, over |l_g|.
                share = np.maximum(-flip[:, :, :, None] * turn[:, None] * sense, 0.0) / np.abs(turn)[:, :, None]
                share = np.where(turn[:, :, None] == 0, 0.0, share)
                term = flip[..., None] * jump[block][:, None]
                value = -np.einsum("vghr,vghm->vgmr", share, term) * (np.sign(turn) * sense)[:, :, None]
                slack = (k + 8) * _ULP * np.einsum("vghr,vghm->vgmr", share, np.abs(term))
                low, high = (value - slack).min(axis=-1), (value + slack).max(axis=-1)
                if sense < 0:
                    low, high = np.minimum(low, result[block][..., 0]), np.maximum(high, result[block][..., 1])
                result[block] = np.stack([low, high], axis=-1)
    return result
