"""The first hidden layer of a gate network: hinges, and what carries affine functions through it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from math import gcd

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.construct.blocks.common import Rational
from cpwl.construct.gates.space.gate_sum import GateSum
from cpwl.construct.gates.space.terms import ZERO, Gate, Plane, Terms
from cpwl.exact.rational import outwards
from cpwl.network.program import Row, pruned

# How steep and how large formal functions can be: multipliers of gates, offsets of carried sums.
#
# Bounds may be wider than needed but never narrower: floats are used with a margin that exceeds their rounding, and
# the results are rounded outwards.


_MARGIN = 2.0**-42  # relative; sums here have far fewer than 2^8 roundings in a row
_FINE = 44
_ROUNDS = 12
_COARSE = 20


def multiplier(low: Rational, high: Rational) -> tuple[int, Rational]:
    """The sign and the least `M >= 0` with ``[l > 0] d = sign s(sign d + M l) - sign M s(l)``, `d / l` in a range."""
    plus, minus = max(ZERO, -low), max(ZERO, high)
    return (1, outwards(plus)) if plus <= minus else (-1, outwards(minus))


class Slopes:
    """Ranges of ``d / l`` for the gates of a gate_sum."""

    def __init__(self, gate_sum: GateSum) -> None:
        self.gate_sum = gate_sum
        self._scale = [max(abs(v) for v in row[:-1]) for row in gate_sum.planes]
        self._normal = np.array(
            [[v / s for v in row[:-1]] for row, s in zip(gate_sum.planes, self._scale, strict=True)], dtype=np.float64
        )
        self._content: dict[int, tuple[NDArray[np.float64], NDArray[np.float64], list[tuple[int, float]]]] = {}

    def range(self, number: int) -> tuple[Rational, Rational]:
        """Bounds of ``d / l``: exact for each fan if `d` has hinges only, else by slopes along a vector across `l`.

        `d` is 0 where `l` is, so ``d / l`` is between the least and the greatest slope along any `u`, divided by the
        slope of `l`. The normal of `l` will do; better is a `u` along which the hinges of `d` are flat.
        """
        gate = self.gate_sum.gates[number]
        if not gate.content.gates:
            exact = fan_range(gate, self.gate_sum.planes)
            if exact is not None:
                return exact
        row = self._normal[gate.plane]
        found = [self._along(number, u) for u in (row, _flattest(self._steps(number), row)) if u is not None]
        return min(found, key=lambda ends: multiplier(*ends)[1])

    def _along(self, number: int, u: NDArray[np.float64]) -> tuple[Rational, Rational]:
        """Bounds of ``d / l`` by slopes along a vector."""
        low, high, size = self._slopes(number, u)
        plane = self.gate_sum.planes[self.gate_sum.gates[number].plane]
        slope = sum((v * _exactly(w) for v, w in zip(plane[:-1], u.tolist(), strict=True)), ZERO)
        return _exactly(low - _MARGIN * size) / slope, _exactly(high + _MARGIN * size) / slope

    def _steps(self, number: int) -> NDArray[np.float64]:
        """By how much the gradient of a gate's content changes across each of its hinges, those of its gates, too."""
        _, hinges, gates = self._floats(number)
        return np.concatenate([hinges, *(weight * self._steps(gate) for gate, weight in gates)])

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
            content = self.gate_sum.gates[number].content
            affine = np.array([_float(v) for v in content.affine[:-1]])
            weight = np.array([_float(w * self._scale[p]) for p, w in content.hinges.items()])
            hinges = self._normal[list(content.hinges)] * weight[:, None] if len(weight) else np.zeros((0, len(affine)))
            self._content[number] = affine, hinges, [(g, _float(w)) for g, w in content.gates.items()]
        return self._content[number]


def _flattest(steps: NDArray[np.float64], row: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """A vector `u` with ``row.u = 1`` for which ``sum |step.u|`` is small: least squares, reweighted a few times."""
    u = row / (row @ row)
    size = np.abs(steps).max(initial=0.0)
    if not 1e-150 < size < 1e150:
        return None
    for _ in range(_ROUNDS):
        weight = 1.0 / np.maximum(np.abs(steps @ u), 1e-9 * size)
        squares = (steps * weight[:, None]).T @ steps
        u = np.linalg.solve(squares + 1e-12 * np.trace(squares) * np.eye(len(row)), row)
        u /= row @ u
    if not np.isfinite(u).all():
        return None
    grid = 2.0 ** (_COARSE - int(np.frexp(np.abs(u).max())[1]))
    u = np.round(u * grid) / grid  # so that the last digits, which differ from machine to machine, do not count
    return u if row @ u > 0.5 else None


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
    low = high = ZERO
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
    slope = sum((w * y for _, y, w in terms if y > 0), ZERO)

    def value(side: int, k: int) -> Rational:
        at = -side * terms[k][0] / terms[k][1]
        reach = [(w, side * x + y * at) for x, y, w in terms]
        return side * (sum((w * r for w, r in reach if r > 0), ZERO) - slope * at)

    places = [(side, k) for side in (1, -1) for k in range(len(terms))]
    low, high = _extremes(terms, places)
    return min(value(*places[p]) for p in low), max(value(*places[p]) for p in high), slope


def _extremes(
    terms: Sequence[tuple[Rational, Rational, Rational]], places: Sequence[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Which rays may have the least, and which the greatest value, by floats with a margin for their rounding."""
    every = list(range(len(places)))
    if len(terms) == 1:
        return every, every
    try:
        x, y, w = ([_float(v) for v in column] for column in zip(*terms, strict=True))
    except OverflowError:
        return every, every
    slope = sum(b * c for b, c in zip(y, w, strict=True) if b > 0)
    low, high = [], []
    for side, k in places:
        at = -side * x[k] / y[k] if y[k] else math.inf
        total, size = -slope * at, abs(slope * at)
        for a, b, c in zip(x, y, w, strict=True):
            reach = side * a + b * at
            total += c * max(reach, 0.0)
            size += abs(c) * (abs(a) + abs(b * at))
        low.append(side * total - _MARGIN * size)
        high.append(side * total + _MARGIN * size)
    least, most = min(high), max(low)
    if not math.isfinite(least - most):
        return every, every
    return [p for p in every if low[p] <= least], [p for p in every if high[p] >= most]


def _trace(h: Plane, l: Plane, pivot: int) -> Plane:
    """The hyperplane `h` inside ``l = 0``, without orientation."""
    row = [a * l[pivot] - b * h[pivot] for a, b in zip(h, l, strict=True)]
    divisor = gcd(*row) or 1
    if next((v for v in row if v), 1) < 0:
        divisor = -divisor
    return tuple(v // divisor for v in row)


class Domain:
    """Values over the convex hull of some points, given as homogeneous integers."""

    def __init__(self, gate_sum: GateSum, vertices: Sequence[Sequence[int]]) -> None:
        self.gate_sum = gate_sum
        self._points = np.array([[v / row[-1] for v in row] for row in vertices], dtype=np.float64)
        self._tops = self._highest(gate_sum.planes)
        self._ranges: dict[int, tuple[Rational, Rational]] = {}

    def _highest(self, planes: Sequence[Plane]) -> list[Rational]:
        """For each plane the greatest value of its hinge, rounded outwards."""
        scale = [max(map(abs, row)) for row in planes]
        view = np.array([[v / s for v in row] for row, s in zip(planes, scale, strict=True)], dtype=np.float64)
        tops: list[Rational] = []
        for block in np.array_split(view, len(view) * len(self._points) // 10**6 + 1):
            high = block @ self._points.T + _MARGIN * (np.abs(block) @ np.abs(self._points).T)
            tops += [_exactly(v) for v in np.maximum(high.max(axis=1, initial=0.0), 0.0).tolist()]
        return [outwards(v * s) for v, s in zip(tops, scale, strict=True)]

    def affine(self, row: Sequence[Rational]) -> tuple[Rational, Rational]:
        """Bounds of an affine function."""
        scale = max((abs(v) for v in row), default=ZERO)
        if scale == 0:
            return ZERO, ZERO
        view = np.array([_float(v / scale) for v in row])
        values, size = self._points @ view, np.abs(self._points) @ np.abs(view)
        low, high = (values - _MARGIN * size).min(), (values + _MARGIN * size).max()
        return _exactly(float(low)) * scale, _exactly(float(high)) * scale

    def range(self, terms: Terms) -> tuple[Rational, Rational]:
        """Bounds of a sum: of its affine part, plus those of each hinge and each gate."""
        low, high = self.affine(terms.affine)
        for plane, weight in terms.hinges.items():
            value = outwards(weight * self._tops[plane], _FINE)  # sums of long fractions get longer and longer
            low, high = (low + value, high) if value < 0 else (low, high + value)
        for gate, weight in terms.gates.items():
            if gate not in self._ranges:
                a, b = self.range(self.gate_sum.gates[gate].content)
                self._ranges[gate] = (min(a, ZERO), max(b, ZERO))
            ends = [outwards(weight * v, _FINE) for v in self._ranges[gate]]
            low, high = low + min(ends), high + max(ends)
        return low, high


def _float(value: Rational) -> float:
    return int(value.p) / int(value.q)


def _exactly(value: float) -> Rational:
    top, bottom = value.as_integer_ratio()
    return fmpq(top, bottom)


def bounded_first_layer(gate_sum: GateSum, needs: Sequence[Terms], domain: Domain) -> tuple[list[Row], list[Row]]:
    """Hinges and carriers ``s(a.x - min a.x)``, and the rows of the next layer.

    The carriers are the coordinates, or as many directions as the affine parts span if that is fewer.
    """
    size = len(needs[0].affine) - 1
    planes, column = _hinges(gate_sum, needs)
    directions = _basis([terms.affine[:-1] for terms in needs])
    if len(directions) == size:
        directions = [[fmpq(int(i == j)) for j in range(size)] for i in range(size)]
    biases = []
    for direction in directions:
        low = domain.affine([*direction, fmpq(0)])[0]
        biases.append(outwards(-low) if low < 0 else -low)
    carriers = [Row({i: v for i, v in enumerate(a) if v != 0}, b) for a, b in zip(directions, biases, strict=True)]
    solve = _Coordinates(directions)
    rows = []
    for terms in needs:
        weights = {column[p]: w for p, w in terms.hinges.items()}
        shares = solve(terms.affine[:-1])
        weights.update({len(planes) + i: c for i, c in enumerate(shares) if c != 0})
        rows.append(Row(weights, terms.affine[-1] - sum((c * b for c, b in zip(shares, biases, strict=True)), fmpq(0))))
    return [*planes, *carriers], rows


def unbounded_first_layer(
    gate_sum: GateSum, needs: Sequence[Terms], shifts: Sequence[int], carried: Sequence[Terms]
) -> tuple[list[Row], list[Row]]:
    """Hinges and pairs ``s(h), s(-h)`` for affine functions and for `Q`, and the rows of the next layer.

    With `Q` there are as many independent pairs as inputs, hinges where possible; without, only those needed.
    """
    size = len(needs[0].affine) - 1
    planes, column = _hinges(gate_sum, needs)
    pairs = _independent([gate_sum.planes[p] for p in column], size)
    gradients = _basis([terms.affine[:-1] for terms in needs])
    if not carried and 2 * len(gradients) <= size:
        pairs = [_integer([*g, fmpq(0)]) for g in gradients]
    solve = _Coordinates([pair[:-1] for pair in pairs])
    place: dict[tuple[int, ...], int] = {gate_sum.planes[p]: j for p, j in column.items()}
    for pair in [*pairs, *(tuple(-v for v in pair) for pair in pairs)]:
        if pair not in place:
            place[pair] = len(planes)
            planes.append(_plane_row(pair))
    minus = [place[tuple(-v for v in pair)] for pair in pairs]
    majorant = _Majorant(gate_sum, pairs, solve).of(carried)
    rows = []
    for terms, shift in zip(needs, shifts, strict=True):
        weights = {column[p]: w for p, w in terms.hinges.items()}
        bias = terms.affine[-1] + shift * majorant[0]
        for pair, j, share, k in zip(pairs, minus, solve(terms.affine[:-1]), majorant[1], strict=True):
            bias -= share * pair[-1]
            for col, weight in ((place[pair], share + shift * k), (j, shift * k - share)):
                weights[col] = weights.get(col, fmpq(0)) + weight
        rows.append(Row({j: w for j, w in weights.items() if w != 0}, bias))
    first, second = pruned([planes, rows])
    return first, second


class _Majorant:
    """Numbers with ``|R| <= K_0 + sum K_i |h_i|`` for independent `h_i`."""

    def __init__(self, gate_sum: GateSum, pairs: Sequence[tuple[int, ...]], solve: _Coordinates) -> None:
        self.gate_sum, self.pairs, self.solve = gate_sum, pairs, solve
        self._planes: dict[int, list[Rational]] = {}
        self._gates: dict[int, list[Rational]] = {}

    def of(self, carried: Sequence[Terms]) -> tuple[Rational, list[Rational]]:
        """A common majorant of all sums, rounded outwards."""
        total = [fmpq(0)] * (len(self.pairs) + 1)
        for terms in carried:
            total = [max(a, b) for a, b in zip(total, self._terms(terms), strict=True)]
        first, *rest = (outwards(v) for v in total)
        return first, rest

    def _affine(self, row: Sequence[Rational]) -> list[Rational]:
        shares = self.solve(row[:-1])
        constant = row[-1] - sum((c * pair[-1] for c, pair in zip(shares, self.pairs, strict=True)), fmpq(0))
        return [abs(constant), *(abs(c) for c in shares)]

    def _terms(self, terms: Terms) -> list[Rational]:
        total = self._affine(terms.affine)
        for plane, weight in terms.hinges.items():
            if plane not in self._planes:
                self._planes[plane] = self._affine([fmpq(v) for v in self.gate_sum.planes[plane]])
            total = [t + abs(weight) * v for t, v in zip(total, self._planes[plane], strict=True)]
        for gate, weight in terms.gates.items():
            if gate not in self._gates:
                self._gates[gate] = self._terms(self.gate_sum.gates[gate].content)
            total = [t + abs(weight) * v for t, v in zip(total, self._gates[gate], strict=True)]
        return total


class _Coordinates:
    """Coefficients of vectors in a basis of a subspace that contains them."""

    def __init__(self, basis: Sequence[Sequence[Rational]]) -> None:
        self.count = len(basis)
        if self.count:
            columns = fmpq_mat([[fmpq(1) * v for v in row] for row in basis])
            self._inverse = (columns * columns.transpose()).inv() * columns

    def __call__(self, vector: Sequence[Rational]) -> list[Rational]:
        if not self.count:
            return []
        product = self._inverse * fmpq_mat(len(vector), 1, [fmpq(1) * v for v in vector])
        return [product[i, 0] for i in range(self.count)]


def _hinges(gate_sum: GateSum, needs: Sequence[Terms]) -> tuple[list[Row], dict[int, int]]:
    used = sorted({p for terms in needs for p in terms.hinges})
    return [_plane_row(gate_sum.planes[p]) for p in used], {p: j for j, p in enumerate(used)}


def _plane_row(plane: Sequence[int]) -> Row:
    return Row({i: fmpq(v) for i, v in enumerate(plane[:-1]) if v}, fmpq(plane[-1]))


def _basis(vectors: Sequence[Sequence[Rational]]) -> list[list[Rational]]:
    """Vectors with the same span, linearly independent."""
    nonzero = [[fmpq(1) * v for v in row] for row in vectors if any(row)]
    if not nonzero:
        return []
    reduced, rank = fmpq_mat(nonzero).rref()
    return [[reduced[i, j] for j in range(reduced.ncols())] for i in range(rank)]


def _independent(planes: Sequence[tuple[int, ...]], size: int) -> list[tuple[int, ...]]:
    """The first independent planes, completed by coordinates to as many as there are inputs."""
    units = [(*(int(i == j) for j in range(size)), 0) for i in range(size)]
    chosen: list[tuple[int, ...]] = []
    for plane in [*planes, *units]:
        if len(chosen) < size and fmpz_mat([list(row[:-1]) for row in [*chosen, plane]]).rank() > len(chosen):
            chosen.append(plane)
    return chosen


def _integer(values: Sequence[Rational]) -> tuple[int, ...]:
    return tuple(int(v) for v in fmpq_mat(1, len(values), list(values)).numer_denom()[0].entries())
