"""The first hidden layer of a gate network: hinges, and what carries affine functions through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat, fmpz_mat

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.bounds import Domain
from cpwl.construct.gates.space.gate_sum import GateSum
from cpwl.construct.gates.space.terms import Terms
from cpwl.exact.rounding import outwards

__all__ = ["Row", "bounded_first_layer", "unbounded_first_layer"]


@dataclass(frozen=True, slots=True)
class Row:
    """One neuron before its ReLU: weights by column, and the bias."""

    weights: dict[int, Rational]
    bias: Rational


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
    return _without_unused(planes, rows)


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


def _without_unused(planes: Sequence[Row], rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    used = sorted({j for row in rows for j in row.weights})
    place = {j: i for i, j in enumerate(used)}
    return [planes[j] for j in used], [Row({place[j]: w for j, w in row.weights.items()}, row.bias) for row in rows]
