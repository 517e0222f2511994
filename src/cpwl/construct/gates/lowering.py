"""From hinges and gates in any dimension to a plain chain of layers.

A gate of layer `k` is one neuron there: ``[l > 0] d = s(d + M l) - M s(l)``, or its mirror image. Whatever a consumer
needs from lower layers is one carried sum `R` a layer: ``s(R + constant)`` on a bounded domain; elsewhere ``s(R + Q)``
and one common ``s(Q)`` with ``Q = K_0 + sum K_i |h_i| >= |R|``, the same `Q` in all layers
(docs/theory/local_gates.md).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from cpwl.construct.blocks.common import Rational
from cpwl.construct.gates.gate_sum import ZERO, Gate, GateSum, Plane, Terms
from cpwl.exact.rational import outwards, to_flint
from cpwl.exact.sparse import Span
from cpwl.network.program import Chain, Row, pruned

# The first hidden layer of a gate network: hinges, and what carries affine functions through it.


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


# Fewer gates on one plane: no more than the rank of what is read from them.
#
# Gates of one plane are linear in their contents: if all that consumers read from `r` gates are combinations of fewer
# functions, as many gates do.


_Vector = dict[Hashable, Rational]


def reduce_rank(gate_sum: GateSum) -> GateSum:
    """The gate_sum with as few gates on each plane and layer as its consumers can tell apart; changes its terms.

    What gates of one layer have in common shows once those of the layer below are fewer: so again while it helps.
    """
    while True:
        smaller = _reduce_once(gate_sum)
        if len(smaller.gates) == len(gate_sum.gates):
            return smaller
        gate_sum = smaller


def _reduce_once(gate_sum: GateSum) -> GateSum:
    gates: dict[int, Gate] = dict(enumerate(gate_sum.gates))
    for k in range(gate_sum.depth, 1, -1):
        groups: dict[int, list[int]] = defaultdict(list)
        for number, gate in gates.items():
            if gate.layer == k:
                groups[gate.plane].append(number)
        several = {plane: group for plane, group in groups.items() if len(group) > 1}
        readers: dict[int, list[Terms]] = defaultdict(list)
        for terms in [*gate_sum.outputs, *(gate.content for gate in gates.values())]:
            for plane in sorted({gates[g].plane for g in terms.gates if gates[g].layer == k}):
                if plane in several:
                    readers[plane].append(terms)
        for plane, group in several.items():
            _reduce(gates, group, readers[plane])
    used = sorted(gates)
    place = {old: new for new, old in enumerate(used)}
    for terms in [*gate_sum.outputs, *(gates[g].content for g in used)]:
        terms.gates = {place[g]: w for g, w in terms.gates.items()}
    return GateSum(gate_sum.planes, [gates[g] for g in used], gate_sum.outputs)


def _reduce(gates: dict[int, Gate], group: Sequence[int], readers: Sequence[Terms]) -> None:
    if len(readers) >= len(group) and len(group) == 2:
        return  # gates that are proportional, or used in proportion, are one already
    needs = [vector(_combined(gates, group, terms)) for terms in readers]
    basis, shares = independent(needs)
    if len(basis) < len(group):
        _replace(gates, group, readers, basis, shares)


def _combined(gates: dict[int, Gate], group: Sequence[int], reader: Terms) -> Terms:
    """The content of all that a reader reads from a group, as one gate."""
    total = Terms(len(reader.affine))
    for g in group:
        weight = reader.gates.get(g)
        if weight is not None:
            content = gates[g].content
            total.add_affine(content.affine, weight)
            for plane, value in content.hinges.items():
                total.add_hinge(plane, weight * value)
            for gate, value in content.gates.items():
                total.add_gate(gate, weight * value)
    return total


def _replace(
    gates: dict[int, Gate],
    group: Sequence[int],
    readers: Sequence[Terms],
    basis: Sequence[int],
    shares: Sequence[dict[int, Rational]],
) -> None:
    """Gates for some readers' needs stand for all of the group."""
    contents = [_combined(gates, group, readers[b]) for b in basis]
    plane, codimension = gates[group[0]].plane, max(gates[g].codimension for g in group)
    for g in group:
        del gates[g]
    numbers = list(group[: len(basis)])
    for number, content in zip(numbers, contents, strict=True):
        layer = 1 + max((gates[g].layer for g in content.gates), default=1)
        gates[number] = Gate(plane, content, codimension, layer)
    for terms, share in zip(readers, shares, strict=True):
        for g in group:
            terms.gates.pop(g, None)
        for b, weight in share.items():
            terms.add_gate(numbers[b], weight)


def vector(terms: Terms, *, constant: bool = True) -> _Vector:
    """The coefficients of terms; without `constant`, but for the number added."""
    affine = terms.affine if constant else terms.affine[:-1]
    parts = (enumerate(affine), terms.hinges.items(), terms.gates.items())
    return {(kind, i): v for kind, part in enumerate(parts) for i, v in part if v != 0}


def independent(vectors: Sequence[_Vector]) -> tuple[list[int], list[dict[int, Rational]]]:
    """The first independent vectors, and each vector as a combination of those (by their place among them)."""
    span, basis, shares = Span(), list[int](), list[dict[int, Rational]]()
    for i, vector in enumerate(vectors):
        share = span.express(vector)
        if share is None:
            span.insert(vector)
            share = {len(basis): fmpq(1)}
            basis.append(i)
        shares.append({k: to_flint(v) for k, v in share.items()})
    return basis, shares


# A chain of rows, scaled by powers of two.


def scaled(chain: Chain) -> Chain:
    """The same network with every hidden neuron scaled by a power of two, so that its largest weight is about 1."""
    scale: list[int] | None = None  # exponents of the layer before; None for the inputs
    result = []
    for k, rows in enumerate(chain):
        new, exponents = [], []
        for row in rows:
            weights = row.weights
            if scale is not None:
                weights = {j: w * _power(scale[j]) if scale[j] else w for j, w in weights.items()}
            e = _exponent(weights.values()) if k + 1 < len(chain) else 0
            exponents.append(e)
            if e:
                down = _power(-e)
                new.append(Row({j: w * down for j, w in weights.items()}, row.bias * down))
            else:
                new.append(Row(weights, row.bias))
        result.append(new)
        scale = exponents
    return result


def _exponent(values: Iterable[Rational]) -> int:
    """The exponent of two that the largest of some numbers has, about."""
    largest = max((abs(w) for w in values), default=fmpq(1))
    return int(largest.p).bit_length() - int(largest.q).bit_length()


@lru_cache(maxsize=4096)
def _power(e: int) -> Rational:
    return fmpq(1 << e) if e >= 0 else fmpq(1, 1 << -e)


@dataclass(slots=True)
class _Need:
    """What a neuron of the layer above, or an output, computes: terms plus `shift` times `Q`."""

    terms: Terms
    shift: int = 0


@dataclass(slots=True)
class _Reader:
    """How a neuron of the layer above, or an output, reads this layer."""

    gates: dict[int, Rational]
    carried: dict[int, Rational]
    constant: Rational
    shift: Rational


@dataclass(slots=True)
class _Level:
    """One hidden layer above the first: gates, then carried sums, then `Q`; and the rows that read them."""

    gates: dict[int, int] = field(default_factory=dict)
    carried: list[Terms] = field(default_factory=list)
    rows: list[_Reader] = field(default_factory=list)


def lower(gate_sum: GateSum, vertices: Sequence[Sequence[int]] | None) -> tuple[Chain, int]:
    """The layers of a network for all outputs, and how many planes have a hinge.

    `vertices` span the domain, None if it is unbounded.
    """
    builder = _Builder(gate_sum, vertices)
    needs = [_Need(terms) for terms in gate_sum.outputs]
    levels = []
    for k in range(gate_sum.depth, 1, -1):
        level, needs = builder.level(k, needs)
        levels.append(level)
    return builder.emit(levels, needs), len({plane for need in needs for plane in need.terms.hinges})


class _Builder:
    def __init__(self, gate_sum: GateSum, vertices: Sequence[Sequence[int]] | None) -> None:
        self.gate_sum = gate_sum
        self.domain = None if vertices is None else Domain(gate_sum, vertices)
        slopes = Slopes(gate_sum)
        self.multipliers = [multiplier(*slopes.range(g)) for g in range(len(gate_sum.gates))]

    def level(self, k: int, needs: Sequence[_Need]) -> tuple[_Level, list[_Need]]:
        """The neurons of layer `k`, and what they in turn need."""
        level = _Level()
        split = [self._split(need.terms, k, level) for need in needs]
        shares = self._carried([rest for rest, _ in split], level, is_top=k == self.gate_sum.depth)
        for need, (rest, read), share in zip(needs, split, shares, strict=True):
            constant = rest.affine[-1] - sum((c * level.carried[i].affine[-1] for i, c in share.items()), ZERO)
            factor = ZERO if self.domain is not None else sum(share.values(), ZERO)
            level.rows.append(_Reader(read, share, constant, need.shift - factor))
        unbounded = int(self.domain is None)
        below = [_Need(self._gate_neuron(g)) for g in level.gates]
        below += [_Need(terms, unbounded) for terms in level.carried]
        if unbounded and level.carried:
            below.append(_Need(Terms(len(self.gate_sum.outputs[0].affine)), 1))
        return level, below

    def _split(self, terms: Terms, k: int, level: _Level) -> tuple[Terms, dict[int, Rational]]:
        """The gates of layer `k`, and the rest of the terms."""
        rest, read = terms.copy(), {}
        for g, weight in terms.gates.items():
            gate = self.gate_sum.gates[g]
            if gate.layer == k:
                del rest.gates[g]
                sign, factor = self.multipliers[g]
                read[level.gates.setdefault(g, len(level.gates))] = weight * sign
                if factor:
                    rest.add_hinge(gate.plane, -weight * sign * factor)
        return rest, read

    def _carried(self, rests: Sequence[Terms], level: _Level, *, is_top: bool) -> list[dict[int, Rational]]:
        """Each rest, but for a number, as a combination of carried sums; those are made here.

        Proportional rests are one. Those of outputs may depend on each other in other ways, too.
        """
        if is_top and len(rests) > 1:
            basis, shares = independent([vector(rest, constant=False) for rest in rests])
            level.carried += [self._carry(rests[i]) for i in basis]
            return shares
        known: dict[Hashable, list[int]] = defaultdict(list)
        found: list[dict[int, Rational]] = []
        for rest in rests:
            if rest.is_constant():
                found.append({})
                continue
            alike = known[rest.pattern()]
            ratios = ((i, rest.ratio(level.carried[i], constant=False)) for i in alike)
            index, ratio = next(((i, r) for i, r in ratios if r is not None), (len(level.carried), fmpq(1)))
            if index == len(level.carried):
                alike.append(index)
                level.carried.append(self._carry(rest))
            found.append({index: ratio})
        return found

    def _gate_neuron(self, g: int) -> Terms:
        sign, factor = self.multipliers[g]
        gate = self.gate_sum.gates[g]
        terms = gate.content.times(fmpq(sign))
        terms.add_affine(self.gate_sum.planes[gate.plane], factor)
        return terms

    def _carry(self, rest: Terms) -> Terms:
        """The sum that a neuron carries: at least 0 on a bounded domain, without a constant elsewhere."""
        terms = rest.copy()
        terms.affine[-1] = ZERO
        if self.domain is not None:
            low = self.domain.range(terms)[0]
            terms.affine[-1] = outwards(-low) if low < 0 else ZERO
        return terms

    def emit(self, levels: Sequence[_Level], needs: Sequence[_Need]) -> Chain:
        """Numbers for all layers."""
        bottom = [need.terms for need in needs]
        if self.domain is not None:
            first, rows = bounded_first_layer(self.gate_sum, bottom, self.domain)
        else:
            carried = [terms for level in levels for terms in level.carried]
            first, rows = unbounded_first_layer(self.gate_sum, bottom, [need.shift for need in needs], carried)
        return [first, rows, *(_rows(level) for level in reversed(levels))]


def _rows(level: _Level) -> list[Row]:
    size = len(level.gates)
    rows = []
    for reader in level.rows:
        weights = dict(reader.gates)
        weights |= {size + i: share for i, share in reader.carried.items()}
        if reader.shift:
            weights[size + len(level.carried)] = reader.shift
        rows.append(Row({j: w for j, w in weights.items() if w != 0}, reader.constant))
    return rows
