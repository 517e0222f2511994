"""How steep and how large formal functions can be: multipliers of gates, offsets of carried sums.

Bounds may be wider than needed but never narrower: floats are used with a margin that exceeds their rounding, and
the results are rounded outwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import gcd

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.gate_order import Circuit
from cpwl.construct.gate_terms import Gate, Plane, Rational, Terms

__all__ = ["Domain", "Slopes", "multiplier", "outwards"]

_MARGIN = 2.0**-42  # relative; sums here have far fewer than 2^8 roundings in a row
_BITS = 16


def outwards(value: Rational, bits: int = _BITS) -> Rational:
    """The next number away from zero with few binary digits.

    >>> outwards(fmpq(1, 3), 4), outwards(fmpq(-37), 3)
    (11/32, -40)
    """
    top, bottom = abs(int(value.p)), int(value.q)
    shift = bits - (top.bit_length() - bottom.bit_length())
    scaled, below = (top << shift, bottom) if shift >= 0 else (top, bottom << -shift)
    whole = -(-scaled // below)
    result = fmpq(whole, 1 << shift) if shift >= 0 else fmpq(whole << -shift)
    return result if value >= 0 else -result


def multiplier(low: Rational, high: Rational) -> tuple[int, Rational]:
    """The sign and the least `M >= 0` with ``[l > 0] d = sign s(sign d + M l) - sign M s(l)``, `d / l` in a range."""
    plus, minus = max(fmpq(0), -low), max(fmpq(0), high)
    return (1, outwards(plus)) if plus <= minus else (-1, outwards(minus))


class Slopes:
    """Ranges of ``d / l`` for the gates of a circuit."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self._scale = [max(abs(v) for v in row[:-1]) for row in circuit.planes]
        self._normal = np.array(
            [[v / s for v in row[:-1]] for row, s in zip(circuit.planes, self._scale, strict=True)], dtype=np.float64
        )
        self._content: dict[int, tuple[NDArray[np.float64], NDArray[np.float64], list[tuple[int, float]]]] = {}

    def range(self, number: int) -> tuple[Rational, Rational]:
        """Bounds of ``d / l``: exact for each fan if `d` has hinges only, else by slopes along the normal of `l`."""
        gate = self.circuit.gates[number]
        if not gate.content.gates:
            exact = fan_range(gate, self.circuit.planes)
            if exact is not None:
                return exact
        row = self._normal[gate.plane]
        low, high, size = self._slopes(number, row)
        scale = fmpq(self._scale[gate.plane])
        squared = fmpq(sum(v * v for v in self.circuit.planes[gate.plane][:-1])) / scale**2
        # The slope along `row` has been taken; d / l is the slope along row / (scale row . row).
        return tuple(_exactly(v) / (squared * scale) for v in (low - _MARGIN * size, high + _MARGIN * size))

    def _slopes(self, number: int, row: NDArray[np.float64]) -> tuple[float, float, float]:
        """Least and greatest slope of a gate's content along a vector, and the size of the numbers involved."""
        affine, hinges, gates = self._floats(number)
        base, slope = float(affine @ row), hinges @ row
        low = base + float(np.minimum(slope, 0).sum())
        high = base + float(np.maximum(slope, 0).sum())
        size = float(np.abs(affine) @ np.abs(row) + (np.abs(hinges) @ np.abs(row)).sum())
        for gate, weight in gates:
            a, b, s = self._slopes(gate, row)
            ends = (min(a, 0.0) * weight, max(b, 0.0) * weight)
            low, high, size = low + min(ends), high + max(ends), size + s * abs(weight)
        return low, high, size

    def _floats(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64], list[tuple[int, float]]]:
        if number not in self._content:
            content = self.circuit.gates[number].content
            affine = np.array([_float(v) for v in content.affine[:-1]])
            weight = np.array([_float(w * self._scale[p]) for p, w in content.hinges.items()])
            hinges = self._normal[list(content.hinges)] * weight[:, None] if len(weight) else np.zeros((0, len(affine)))
            self._content[number] = affine, hinges, [(g, _float(w)) for g, w in content.gates.items()]
        return self._content[number]


def fan_range(gate: Gate, planes: Sequence[Plane]) -> tuple[Rational, Rational] | None:
    """The range of ``d / l`` for `d` of hinges only: exact for each fan, added up over fans.

    Hinges with one trace on ``l = 0`` are a fan. Its part of `d`, up to a multiple of one of them, vanishes there, and
    divided by `l` it takes its extremes at the rays where its hinges begin. None if a hinge is parallel to `l`.
    """
    row = planes[gate.plane]
    pivot = next(k for k, v in enumerate(row) if v)
    fans: dict[Plane, list[int]] = defaultdict(list)
    for plane in gate.content.hinges:
        trace = _trace(planes[plane], row, pivot)
        if not any(trace[:-1]):
            return None
        fans[trace].append(plane)
    rest = list(gate.content.affine)
    low = high = fmpq(0)
    for fan in fans.values():
        span = [(planes[p], gate.content.hinges[p]) for p in fan]
        least, most, slope = _one_fan(span, row)
        rest = [r + slope * v for r, v in zip(rest, span[0][0], strict=True)]
        low, high = low + least, high + most
    along = rest[pivot] / row[pivot]
    if any(r != along * v for r, v in zip(rest, row, strict=True)):
        return None
    return low + along, high + along


def _one_fan(span: Sequence[tuple[Plane, Rational]], l: Plane) -> tuple[Rational, Rational, Rational]:
    """Range of ``(sum w s(h) - slope m) / l`` for hinges ``h = x l + y m``, `m` the first of them; and the slope."""
    m = span[0][0]
    i, j = next((i, j) for i in range(len(l)) for j in range(i) if l[i] * m[j] - l[j] * m[i])
    det = l[i] * m[j] - l[j] * m[i]
    terms = [(fmpq(h[i] * m[j] - h[j] * m[i], det), fmpq(l[i] * h[j] - l[j] * h[i], det), w) for h, w in span]
    slope = sum((w * y for _, y, w in terms if y > 0), fmpq(0))
    values = []
    for side in (1, -1):
        for x0, y0, _ in terms:
            at = -side * x0 / y0
            total = -slope * at
            for x, y, w in terms:
                reach = side * x + y * at
                if reach > 0:
                    total += w * reach
            values.append(side * total)
    return min(values), max(values), slope


def _trace(h: Plane, l: Plane, pivot: int) -> Plane:
    """The hyperplane `h` inside ``l = 0``, without orientation."""
    row = [a * l[pivot] - b * h[pivot] for a, b in zip(h, l, strict=True)]
    divisor = gcd(*row) or 1
    if next((v for v in row if v), 1) < 0:
        divisor = -divisor
    return tuple(v // divisor for v in row)


class Domain:
    """Values over the convex hull of some points, given as homogeneous integers."""

    def __init__(self, circuit: Circuit, vertices: Sequence[Sequence[int]]) -> None:
        self.circuit = circuit
        self._points = np.array([[v / row[-1] for v in row] for row in vertices], dtype=np.float64)
        self._tops: dict[int, Rational] = {}
        self._ranges: dict[int, tuple[Rational, Rational]] = {}

    def affine(self, row: Sequence[Rational]) -> tuple[Rational, Rational]:
        """Bounds of an affine function."""
        scale = max((abs(v) for v in row), default=fmpq(0))
        if scale == 0:
            return fmpq(0), fmpq(0)
        view = np.array([_float(v / scale) for v in row])
        values, size = self._points @ view, np.abs(self._points) @ np.abs(view)
        low, high = (values - _MARGIN * size).min(), (values + _MARGIN * size).max()
        return _exactly(float(low)) * scale, _exactly(float(high)) * scale

    def range(self, terms: Terms) -> tuple[Rational, Rational]:
        """Bounds of a sum: of its affine part, plus those of each hinge and each gate."""
        low, high = self.affine(terms.affine)
        for plane, weight in terms.hinges.items():
            value = weight * self._top(plane)
            low, high = (low + value, high) if value < 0 else (low, high + value)
        for gate, weight in terms.gates.items():
            if gate not in self._ranges:
                a, b = self.range(self.circuit.gates[gate].content)
                self._ranges[gate] = (min(a, fmpq(0)), max(b, fmpq(0)))
            ends = [weight * v for v in self._ranges[gate]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def _top(self, plane: int) -> Rational:
        if plane not in self._tops:
            row = [fmpq(v) for v in self.circuit.planes[plane]]
            self._tops[plane] = outwards(max(fmpq(0), self.affine(row)[1]))
        return self._tops[plane]


def _float(value: Rational) -> float:
    return int(value.p) / int(value.q)


def _exactly(value: float) -> Rational:
    top, bottom = value.as_integer_ratio()
    return fmpq(top, bottom)
