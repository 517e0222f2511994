"""How the hinges of a line are oriented, and at which triangle the sum of each half starts: for small affine parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq

from cpwl.construct.clamped.clusters import Stars
from cpwl.construct.clamped.exact import Bump, Sum
from cpwl.exact.flint import from_flint, to_flint

__all__ = ["Orientation", "hinges", "orient"]

_ROUNDS = 2  # of choosing how hinges are oriented, and where sums start
_LARGE = 2.0  # times the median: a gate line with such a multiplier gets both of its hinges


@dataclass(frozen=True, slots=True, eq=False)
class Orientation:
    """Lines with both hinges, the side of each other line's one, and the triangle at which each half starts."""

    both: set[int]
    sense: dict[int, int]
    start: dict[tuple[int, int], int]

    def side(self, line: int, wanted: int) -> int:
        """The side of the hinge that is there: the one that is wanted, if it can be."""
        return wanted if line in self.both else self.sense[line]


def hinges(stars: Stars, bump: Bump, own: Sum, start: int) -> list[tuple[int, int, fmpq]]:
    """The hinges of `F`, with the one of the multiplier: lines, sides, weights."""
    sides = own.oriented(stars, start)
    found = [(ray.line, side, w) for ray, side, w in zip(own.half.rays, sides, own.jumps, strict=True)]
    if len(bump.sums) == 2:
        found.append((bump.cluster.line, -own.half.side, -to_flint(own.multiplier)))
    return [(h, side, w) for h, side, w in found if w != 0]


def orient(stars: Stars, bumps: list[Bump]) -> Orientation:
    """Chooses in turn for each line the side on which its hinges have more weight, and for each half where it starts.

    Where a hinge is there on the other side only, its whole form joins the affine part, and that costs accuracy.
    """
    keys = [(i, k) for i, bump in enumerate(bumps) for k in range(len(bump.sums))]
    both = _with_both(bumps)
    start = {key: int(np.argmin([_slope(law) for law in _laws(bumps, key)])) for key in keys}
    sense: dict[int, int] = {}
    for _ in range(_ROUNDS):
        need: dict[int, float] = defaultdict(float)
        for i, k in keys:
            for h, side, w in hinges(stars, bumps[i], bumps[i].sums[k], start[i, k]):
                need[h] += side * abs(float(from_flint(w)))
        sense = {h: 1 if v >= 0 else -1 for h, v in need.items()}
        start = {key: _best_start(stars, bumps, key, sense, both) for key in keys}
    return Orientation(both, sense, start)


def _with_both(bumps: list[Bump]) -> set[int]:
    """The gate lines of large multipliers."""
    largest: dict[int, float] = defaultdict(float)
    for bump in bumps:
        for own in bump.sums if len(bump.sums) == 2 else ():
            largest[bump.cluster.line] = max(largest[bump.cluster.line], float(own.multiplier))
    bound = _LARGE * float(np.median(list(largest.values()))) if largest else 0.0
    return {h for h, m in largest.items() if m >= bound}


def _laws(bumps: list[Bump], key: tuple[int, int]) -> list[tuple[fmpq, ...]]:
    own = bumps[key[0]].sums[key[1]]
    return [own.laws[t] for t in own.half.triangles]


def _slope(law: Sequence[fmpq]) -> float:
    return max(abs(float(from_flint(v))) for v in law[:2])


def _best_start(stars: Stars, bumps: list[Bump], key: tuple[int, int], sense: dict[int, int], both: set[int]) -> int:
    """The triangle that leaves the smallest affine part."""
    own = bumps[key[0]].sums[key[1]]
    unit = float(stars.table.unit)
    costs = []
    for t, law in enumerate(_laws(bumps, key)):
        rest = np.array([float(from_flint(v)) for v in law[:2]]) * unit
        for h, side, w in hinges(stars, bumps[key[0]], own, t):
            if h not in both and sense.get(h, side) != side:
                rest = rest + side * float(from_flint(w)) * np.array(stars.forms[h][:2])
        costs.append(float(np.abs(rest).max()))
    return int(np.argmin(costs))
