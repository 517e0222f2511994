"""Boxes of clamps, for windows_checker.py, which needs this beside it.

Where a clamp may be positive lies in a box that is found axis by axis, (f) of the proof in windows_checker.py. Only the
standard library, only integers and fractions.
"""

from fractions import Fraction
from typing import Any, NamedTuple

ZERO = Fraction(0)
FINE = 2**64  # boxes of clamps are rounded outwards to this part of the function's box
Row = list[int]
Bends = dict[tuple[int, Fraction], Fraction]  # by how much the slope changes at a place of an input


class Ground(NamedTuple):
    """The box of the function, and the common R: its places on each axis, and its values there."""

    low: list[Fraction]
    high: list[Fraction]
    places: list[list[Fraction]]
    values: list[list[Fraction]]
    bends: Bends

    def at(self, x: Row) -> Fraction:
        parts = [-c * max(ZERO, Fraction(x[i], x[-1]) - place) for (i, place), c in self.bends.items()]
        return sum(parts, ZERO)

    def cell(self, i: int, value: Fraction) -> int:
        """The number of a place of axis i among FINE parts of the box, rounded down."""
        return int((value - self.low[i]) * FINE // (self.high[i] - self.low[i]))


def make_ground(low: list[Fraction], high: list[Fraction], bends: Bends) -> Ground:
    places = [sorted({low[i], high[i], *(x for j, x in bends if j == i)}) for i in range(len(low))]
    values = [
        [sum((-c * max(ZERO, x - place) for (j, place), c in bends.items() if j == i), ZERO) for x in places[i]]
        for i in range(len(low))
    ]
    return Ground(low, high, places, values, bends)


def need_apart(checker: Any, clamps: list[Any], sides: Any, ground: Ground) -> list[list[tuple[int, int]] | None]:
    """(7): the boxes, in parts of the function's box, rounded outwards; None for a clamp that is 0 everywhere."""
    boxes = [box_of(checker, clamp, ground) for clamp in clamps]
    for group in (group for side in sides for group in side):
        own = sorted((b, k) for k in group if (b := boxes[k]) is not None)
        for place, (box, k) in enumerate(own):
            for other, j in own[place + 1 :]:
                if other[0][0] >= box[0][1]:
                    break  # they are sorted by where they begin
                checker.spend(2 * len(box), "boxes")
                apart = any(a[0] >= b[1] or b[0] >= a[1] for a, b in zip(box, other, strict=True))
                checker.need(apart, f"clamps {k} and {j}", "they are in one class, and their boxes overlap")
    return boxes


def box_of(checker: Any, clamp: Any, ground: Ground) -> list[tuple[int, int]] | None:
    """A box around where a clamp may be positive: over the affine functions whose maximum F is."""
    parts = [clamp.affine]
    for hinge in clamp.hinges:
        checker.spend(4 * len(parts) * len(hinge) * len(ground.places[0]), "boxes")
        parts += [[a + b for a, b in zip(part, hinge, strict=True)] for part in parts]
    found: list[tuple[int, int]] | None = None
    for part in parts:
        phi = [
            [value - Fraction(c * x.numerator, clamp.scale * x.denominator) for x, value in zip(xs, own, strict=True)]
            for c, xs, own in zip(part, ground.places, ground.values, strict=False)
        ]
        least = [min(own) for own in phi]
        room = Fraction(part[-1], clamp.scale) - sum(least)
        if room > 0:
            ends = [interval(ground, i, own, room + least[i]) for i, own in enumerate(phi)]
            before = found or ends
            found = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, ends, strict=True)]
    return found


def interval(ground: Ground, i: int, phi: list[Fraction], limit: Fraction) -> tuple[int, int]:
    """Around the places of axis i where a convex function, linear between its places, is less than a limit."""
    x = ground.places[i]
    inside = [k for k, v in enumerate(phi) if v < limit]
    a, b = inside[0], inside[-1]
    low, high = x[a], x[b]
    if a > 0:
        low -= (x[a] - x[a - 1]) * (limit - phi[a]) / (phi[a - 1] - phi[a])
    if b < len(x) - 1:
        high += (x[b + 1] - x[b]) * (limit - phi[b]) / (phi[b + 1] - phi[b])
    return ground.cell(i, low), ground.cell(i, high) + 1
