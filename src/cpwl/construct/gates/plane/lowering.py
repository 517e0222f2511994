"""From hinges and gates on lines to a plain network with two hidden layers.

Layer 1: one neuron a hinge, and two of them get a partner ``relu(-h)``, so that affine functions pass. Layer 2: the
gates, and carries for the sum of all the rest. Every carry is at least 0 on the domain: on a bounded one it is lifted
by a constant, on an unbounded one the sum is split into its positive and its negative terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.blocks.crossings import crossings
from cpwl.construct.blocks.outwards import rounded_up
from cpwl.construct.blocks.shared_columns import shared_columns
from cpwl.exact.integers import ratio_view
from cpwl.exact.rational import to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.function.bends.planar import PlanarBends
from cpwl.network import Network

__all__ = ["Gate", "lower"]

_ULP = float(np.finfo(np.float64).eps)
_NEAR = 64  # lines near the middle among which the two carriers are chosen
_FEW = 300  # lines up to which the constant of a carry is found from all their crossings


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """``sign * relu(sign * (sum weight_H relu(h_H) + affine))``, which is 0 where the form `line` is not positive.

    Forms are those of `PlanarBends`, divided by their scales; `affine` are integers, the denominator last.
    """

    line: int
    hinges: NDArray[np.int64]
    weight: NDArray[np.object_]
    affine: NDArray[np.object_]
    multiplier: Fraction
    sign: int
    output: NDArray[np.object_]
    """How much of it each output takes."""


def lower(bends: PlanarBends, alpha: NDArray[np.object_], gates: list[Gate], *, keep: bool) -> tuple[Network, int]:
    """The network of ``law + sum_H alpha_H relu(h_H) + sum of gates``, and how many hinges it has.

    Hinges that nothing reads are left out, unless `keep` asks for those of all gate lines.
    """
    lines = bends.lines
    used = (alpha != 0).any(axis=1)
    for gate in gates:
        used[gate.hinges] = True
        used[gate.line] |= keep
    one, two = _carriers(bends, lines, np.flatnonzero(used))
    used[[one, two]] = True
    hinge = np.cumsum(used) - 1  # the neuron of each line; the two partners come last
    hinges = int(used.sum())
    forms = np.concatenate([lines[used], -lines[[one, two]]])
    sizes = np.concatenate([bends.scale[used], bends.scale[[one, two]]])
    first = _over(forms, sizes[:, None])
    spread = _Spread(lines[one], lines[two], bends.scale[one], bends.scale[two], one, two, hinge, hinges)
    rows = [spread.row(g.hinges, g.weight, g.affine, g.sign) for g in gates]
    every = np.flatnonzero((alpha != 0).any(axis=1))
    sums = [spread.row(every, alpha[every, j], bends.law[j]) for j in range(alpha.shape[1])]
    basis, share = shared_columns(_dense([row for row, _ in sums], len(forms)))
    carried, out, constant = _carries(bends, forms, sizes, [sums[j][0] for j in basis])
    rows += carried
    second = RationalMatrix.from_triples(*_triples([row for row, _ in rows]), (len(rows), len(forms)))
    last = np.full((alpha.shape[1], len(rows)), Fraction(0), dtype=object)
    for k, gate in enumerate(gates):
        last[:, k] = gate.output * gate.sign
    last[:, len(gates) :] = share @ out
    bias = np.array([shift for _, shift in sums], dtype=object) + share @ constant
    layers = [
        (RationalMatrix.from_dense(first[:, :2]), first[:, 2]),
        (second, np.array([shift for _, shift in rows], dtype=object)),
        (RationalMatrix.from_dense(last), bias),
    ]
    return Network(layers), hinges


_Row = dict[int, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """Writes sums of hinges and affine functions as rows on the neurons of layer 1."""

    form_one: NDArray[np.object_]
    form_two: NDArray[np.object_]
    scale_one: int
    scale_two: int
    one: int
    two: int
    hinge: NDArray[np.int64]
    hinges: int

    def row(
        self, lines: NDArray[np.int64], weight: NDArray[np.object_], affine: NDArray[np.object_], sign: int = 1
    ) -> tuple[_Row, Fraction]:
        """The row of ``sign * (sum weight_H relu(h_H) + affine)``, and its bias."""
        (a, b, c), (d, e, f) = self.form_one, self.form_two
        x, y, z, below = affine
        det = a * e - b * d
        u, v = (x * e - y * d) * sign, (y * a - x * b) * sign
        row = dict(zip(self.hinge[lines].tolist(), weight if sign > 0 else -weight, strict=True))
        first, second = Fraction(u * self.scale_one, below * det), Fraction(v * self.scale_two, below * det)
        for k, partner, w in ((self.one, self.hinges, first), (self.two, self.hinges + 1, second)):
            k = int(self.hinge[k])
            row[k] = row[k] + w if k in row else w
            row[partner] = -w
        return {k: w for k, w in row.items() if w}, Fraction(z * det * sign - u * c - v * f, below * det)


def _carriers(bends: PlanarBends, lines: NDArray[np.object_], used: NDArray[np.int64]) -> tuple[int, int]:
    """Two lines near the middle and far from parallel: affine functions are small multiples of their forms."""
    every = np.arange(len(lines)) if len(used) < 2 else used
    unit = ratio_view(lines[every], np.abs(lines[every, :2]).max(axis=1)[:, None])
    length = np.hypot(unit[:, 0], unit[:, 1])
    x = ratio_view(bends.point, bends.point[2:])
    away = np.abs(unit @ x) / length
    near = np.argsort(away, kind="stable")[:_NEAR]
    normal = unit[near, :2] / length[near, None]
    turn = np.abs(normal[:, None, 0] * normal[None, :, 1] - normal[:, None, 1] * normal[None, :, 0])
    reach = away[near] + (np.median(away) or 1.0)
    one, two = np.unravel_index(np.argmax(turn / (reach[:, None] + reach[None])), turn.shape)
    if turn[one, two] < 1e-6:  # all lines near the middle are about parallel
        return _independent(lines, every)
    return int(every[near[min(one, two)]]), int(every[near[max(one, two)]])


def _independent(lines: NDArray[np.object_], every: NDArray[np.int64]) -> tuple[int, int]:
    a, b = lines[every[0], :2]
    other = np.flatnonzero(lines[every, 1] * a != lines[every, 0] * b)
    return int(every[0]), int(every[other[0]])


def _carries(
    bends: PlanarBends, forms: NDArray[np.object_], scale: NDArray[np.object_], sums: list[_Row]
) -> tuple[list[tuple[_Row, Fraction]], NDArray[np.object_], NDArray[np.object_]]:
    """Rows of neurons that carry the sums, their weights in each output, and the constants to add there."""
    count = len(sums)
    constant = np.full(count, Fraction(0), dtype=object)
    negative: _Row = {}
    for row in sums:
        for k, w in row.items():
            if w < 0:
                negative[k] = max(negative.get(k, Fraction(0)), -w)
    if not bends.bounded and negative:
        split = [
            {k: v for k in {**negative, **row} if (v := row.get(k, Fraction(0)) + negative.get(k, 0))} for row in sums
        ]
        out = np.full((count, count + 1), Fraction(0), dtype=object)
        out[np.arange(count), np.arange(count)], out[:, count] = Fraction(1), Fraction(-1)
        return [*((row, Fraction(0)) for row in split), (negative, Fraction(0))], out, constant
    out = np.full((count, count), Fraction(0), dtype=object)
    out[np.arange(count), np.arange(count)] = Fraction(1)
    lift = [rounded_up(-_least(bends, forms, scale, row)) if negative else Fraction(0) for row in sums]
    return list(zip(sums, lift, strict=True)), out, constant - np.array(lift, dtype=object)


def _least(bends: PlanarBends, forms: NDArray[np.object_], scale: NDArray[np.object_], row: _Row) -> float:
    """A lower bound of ``sum w_k relu(form_k / scale_k)`` over a bounded domain.

    From all crossings of the forms if they are few, otherwise term by term.
    """
    which = np.array(list(row), dtype=np.int64)
    weight = to_float(np.array(list(row.values()), dtype=object))
    own = forms[which]
    if len(which) <= _FEW:
        places = np.concatenate([crossings(own, bends.boundary, bounded=True), bends.corners])
        x = ratio_view(places, places[:, 2:])
        view = ratio_view(own, scale[which][:, None])
        value = np.maximum(x @ view.T, 0.0) @ weight
        slack = (len(which) + 12) * _ULP * (np.abs(x) @ (np.abs(view.T) @ np.abs(weight)))
        return float(min((value - slack).min(), 0.0))
    at = ratio_view(own @ bends.corners.T, scale[which][:, None] * bends.corners[:, 2])
    low = np.minimum(weight, 0.0) * np.maximum(at.max(axis=1), 0.0)
    return float(low.sum() * (1 + (len(low) + 6) * _ULP))


def _dense(rows: list[_Row], width: int) -> NDArray[np.object_]:
    """The rows as columns."""
    dense = np.full((width, len(rows)), Fraction(0), dtype=object)
    for j, row in enumerate(rows):
        for k, w in row.items():
            dense[k, j] = w
    return dense


def _over(rows: NDArray[np.object_], scale: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.asarray(np.frompyfunc(Fraction, 2, 1)(rows, np.broadcast_to(scale, rows.shape)), dtype=object)


def _triples(rows: list[_Row]) -> tuple[list[int], list[int], NDArray[np.object_]]:
    index = [i for i, row in enumerate(rows) for _ in row]
    column = [k for row in rows for k in row]
    values = np.array([w for row in rows for w in row.values()], dtype=object)
    return index, column, values
