"""The profile of a function that bends in one direction only: ``p(x) = rest . x + g(a . x)``, with `g` on a line.

If all differences of laws are multiples of one `a`, ``p - rest`` is constant on every segment of the convex domain on
which ``a . x`` is: along it the pieces give constants, and `p` is continuous. So it is a function of ``a . x``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import ConstructionError
from cpwl.exact.integers import primitive, quotient
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.doctor.first_error import in_order
from cpwl.geometry.polyhedra import fact
from cpwl.geometry.probe import Probe

Integers = NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """``p_o(x) = rest[o] . x + g_o(a . x)``; `g` bends at `places`, and has ``laws[i]`` between `i - 1` and `i`."""

    direction: Integers
    """Integers `a`, ``(n,)``."""
    rest: Integers
    """`Fraction`, ``(k, n)``; usually 0."""
    places: Integers
    """Where `g` bends: rows ``(numerator, denominator)``, increasing, ``(m, 2)``."""
    laws: Integers
    """Integer rows ``(slope, offset, 1) * denominator``, ``(m + 1, k, 3)``."""
    low: Fraction | None
    """Where the domain of `g` begins; None if it does not."""
    high: Fraction | None
    jump: Integers
    """By how much the slope changes at each place: numerators, ``(m, k)``."""
    below: Integers
    """Their denominators, positive, ``(m, k)``."""

    @property
    def outputs(self) -> int:
        return int(self.laws.shape[1])


@fact
def profile_of(p: CPWL) -> Profile:
    """The profile of `p`; `ConstructionError` if it bends in several directions, or is not known exactly.

    >>> p = CPWL.from_breakpoints([0, 1, 2, 3], [0, 1, 2, 0])
    >>> profile_of(p).places
    array([[2, 1]], dtype=object)
    """
    if p.tol:
        raise ConstructionError("breakpoints need exact data, and this data has a tolerance", tol=p.tol)
    laws = p.laws.integer()
    direction = bend_direction(laws, p.dim)
    c = int(np.argmax(direction != 0))
    if p.dim == 1:
        own = np.asarray(laws)
    else:
        own = np.stack([laws[..., c], laws[..., -2] * direction[c], laws[..., -1] * direction[c]], axis=-1)
        own = quotient(own[..., :-1], own[..., -1])
    rest = np.zeros((p.outputs, p.dim), dtype=object) + Fraction(0)
    if p.dim > 1:
        for o, law in enumerate(laws[0]):
            rest[o] = [
                Fraction(v, law[-1]) - Fraction(law[c] * a, law[-1] * direction[c])
                for v, a in zip(law, direction, strict=False)
            ]
    line = in_order(p)
    if line is not None:
        return _merged(direction, rest, line.ends, own[line.order], line.low, line.high)
    return _swept(p, direction, rest, own)


def bend_direction(laws: Integers, dim: int) -> Integers:
    """The direction of all differences of laws, as primitive integers; the first input's for an affine function."""
    if dim == 1:
        return np.array([1], dtype=object)
    differences = (laws[1:, :, :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[1:, :, -1:]).reshape(-1, dim)
    bent = np.flatnonzero((differences != 0).any(axis=1))
    if len(bent) == 0:
        return np.array([1] + [0] * (dim - 1), dtype=object)
    first = primitive(differences[bent[:1]])[0]
    c = int(np.argmax(first != 0))
    other = differences * first[c] - differences[:, c : c + 1] * first
    wrong = np.flatnonzero((other != 0).any(axis=1))
    if len(wrong):
        piece = 1 + int(wrong[0]) // laws.shape[1]
        raise ConstructionError(f"the function bends in several directions: see piece {piece}", piece=piece)
    return np.asarray(first if first[c] > 0 else -first)


def _merged(
    direction: Integers, rest: Integers, ends: Integers, laws: Integers, low: Fraction | None, high: Fraction | None
) -> Profile:
    """Places where laws differ only, and the check that laws on both sides agree there."""
    rise = laws[1:, :, :2] * laws[:-1, :, 2:] - laws[:-1, :, :2] * laws[1:, :, 2:]
    bent = (rise != 0).any(axis=(1, 2))
    gap = rise[..., 0] * ends[:, None, 0] + rise[..., 1] * ends[:, None, 1]
    wrong = np.flatnonzero((gap != 0).any(axis=1))
    if len(wrong):
        place = Fraction(*ends[wrong[0]])
        raise ConstructionError(f"the function jumps where {_name(direction)} = {place}", place=place)
    kept = np.concatenate([[True], bent])
    below = laws[1:, :, 2] * laws[:-1, :, 2]
    return Profile(direction, rest, ends[bent], laws[kept], low, high, rise[bent, :, 0], below[bent])


def _swept(p: CPWL, direction: Integers, rest: Integers, laws: Integers) -> Profile:
    """Pieces in any order and of any shape, by the range of ``a . x`` on each of them."""
    ranges = sorted(_ranges(p, direction), key=lambda r: (r[0] is not None, r[0] or 0, r[1] is None, r[1] or 0))
    if not ranges:
        raise ConstructionError("no piece has an interior")
    low, high, first = ranges[0]
    ends, order = [], [first]
    for begin, end, i in ranges[1:]:
        same = bool((laws[i] == laws[order[-1]]).all())
        if high is not None and begin is not None and begin > high:
            raise ConstructionError(
                f"no piece covers the place where {_name(direction)} is just above {high}", piece=i, place=high
            )
        if same:
            high = None if end is None or high is None else max(high, end)
        elif begin is None or begin != high:
            raise ConstructionError(f"pieces {order[-1]} and {i} overlap and have different laws", piece=i)
        else:
            ends.append([begin.numerator, begin.denominator])
            order.append(i)
            high = end
    places = np.array(ends, dtype=object).reshape(len(ends), 2)
    return _merged(direction, rest, places, laws[order], low, high)


def _ranges(p: CPWL, direction: Integers) -> list[tuple[Fraction | None, Fraction | None, int]]:
    """The least and the largest ``a . x`` on each piece that has some width there, None for infinity."""
    spanned, probe, found = generators_of(p), Probe(0.0), list[tuple[Fraction | None, Fraction | None, int]]()
    values = spanned.places[:, :-1].dot(direction)
    for i, (first, last) in enumerate(pairwise(spanned.start.tolist())):
        if first < last:
            own = [(values[k], spanned.places[k, -1]) for k in spanned.member[first:last]]
            corners = [Fraction(v, w) for v, w in own if w]
            low = None if any(w == 0 and v < 0 for v, w in own) else min(corners)
            high = None if any(w == 0 and v > 0 for v, w in own) else max(corners)
            found.append((low, high, i))
            continue
        (most, _), (least, _) = probe.maxima(p.polyhedra[i], [direction, -direction])
        if most > -np.inf:
            low, high = (None if abs(v) == np.inf else Fraction(v) for v in (-least, most))
            found.append((low, high, i))
    return [r for r in found if r[0] is None or r[1] is None or r[0] < r[1]]


def _name(direction: Integers) -> str:
    return "x" if len(direction) == 1 else "a.x"
