"""From blocks and windows to the layers of a plain network, all numbers exact.

Layer 1 has ``s(x_i - X)`` and ``s(X - x_i)`` for the knots `X` of every axis; layer 2 the hinges of the blocks, and
layer 1 again; layer 3 ``s(F_B - R + C)`` for each block and side; then come maxima over the classes, by pairs:
``max(a, b) = b + s(a - b)``, all sides in step. Each law is written from a knot near its cell, so that terms are small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.windows.blocks import Block
from cpwl.construct.windows.cells import Cells, to_floats, values_at
from cpwl.construct.windows.lifting import Lifting
from cpwl.construct.windows.supports import Windows
from cpwl.exact.flint import from_flint_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import Network

__all__ = ["lower"]

_Layer = tuple[RationalMatrix, NDArray[np.object_]]


@dataclass(frozen=True, slots=True, eq=False)
class _Forms:
    """Rows on the neurons of layer 1: entries ``(row, neuron, value)``, and one bias a row."""

    rows: NDArray[np.int64]
    neurons: NDArray[np.int64]
    values: NDArray[np.object_]
    bias: NDArray[np.object_]


def lower(
    cells: Cells,
    lifting: Lifting,
    blocks: list[Block],
    windows: Windows,
    share: NDArray[np.object_],
    base: NDArray[np.object_],
) -> Network:
    """The network whose output `j` is ``base[j] + sum_k share[j, k] (U_k - W)``."""
    knots = _Knots(cells, windows)
    edges = np.array([edge for block in blocks for edge in block.tree], dtype=np.int64).reshape(-1, 2)
    owner = np.repeat(np.arange(len(blocks)), [len(block.tree) for block in blocks])
    form, factors = _hinges(lifting, edges)
    bent = np.flatnonzero((factors != 0).any(axis=0))
    edges, owner, form, factors = edges[bent], owner[bent], form[bent], factors[:, bent]
    hinges = knots.forms(form, edges[:, 0])
    roots = np.array([block.cells[0] for block in blocks], dtype=np.int64)
    sides = len(lifting.laws)
    order = [(side, k) for side in (*range(1, sides), 0) for k in range(len(blocks))]
    side, block = np.array(order, dtype=np.int64).T
    clamps = knots.forms(lifting.laws[side, roots[block]], roots[block], windows.constants[side])
    carried = np.unique(clamps.neurons)
    used = np.unique(np.concatenate([carried, hinges.neurons]))
    start = {(s, k): i for i, (s, k) in enumerate(order)}
    at = np.array([[start[s, int(k)] for k in owner] for s in range(sides)], dtype=np.int64).reshape(sides, -1)
    layers = [
        knots.layer(used),
        _second(hinges, carried, used),
        _third(clamps, carried, at, factors, len(hinges.bias)),
        *_maxima(side, windows.classes[side, block], share, base, windows.constants),
    ]
    return Network(layers)


def _fractions(values: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.asarray(from_flint_array(values), dtype=object) if values.size else values


def _matrix(rows: object, columns: object, values: NDArray[np.object_], shape: tuple[int, int]) -> RationalMatrix:
    return RationalMatrix.from_triples(rows, columns, _fractions(values), shape)


def _hinges(lifting: Lifting, edges: NDArray[np.int64]) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """A form for each edge, and the factors with which every side changes by it across the facet, none negative."""
    change = lifting.laws[:, edges[:, 1]] - lifting.laws[:, edges[:, 0]]
    form = change.sum(axis=0)
    if len(edges) == 0:
        return form, change[:, :, 0]
    largest = np.argmax(np.abs(to_floats(form)), axis=1)
    pivot = np.take_along_axis(form, largest[:, None], axis=1)[:, 0]
    above = np.take_along_axis(change, np.broadcast_to(largest[None, :, None], (*change.shape[:2], 1)), axis=2)[..., 0]
    return form, np.asarray(above / np.where(pivot == 0, fmpq(1), pivot), dtype=object)


class _Knots:
    """Layer 1, and affine functions written on it."""

    def __init__(self, cells: Cells, windows: Windows) -> None:
        self.windows, self.count, self.dim = windows, windows.parts, cells.dim
        middles, knots = cells.middles(), to_floats(windows.knots)
        rows = range(self.dim)
        part = [np.clip(np.searchsorted(knots[i], middles[:, i]) - 1, 0, self.count - 1) for i in rows]
        self.part = np.stack(part, axis=1)
        nearer = [middles[:, i] - knots[i][part[i]] > knots[i][part[i] + 1] - middles[:, i] for i in rows]
        self.near = self.part + np.stack(nearer, axis=1)

    def number(self, axis: int, k: NDArray[np.int64], rising: bool) -> NDArray[np.int64]:
        """Of the neuron ``s(x - X_k)``, `k` before the last, or ``s(X_k - x)``, `k` after the first."""
        return np.asarray(2 * axis * self.count + k + (0 if rising else self.count - 1), dtype=np.int64)

    def layer(self, used: NDArray[np.int64]) -> _Layer:
        """Those that are used."""
        axis, place = np.divmod(used, 2 * self.count)
        rising = place < self.count
        knot = np.where(rising, place, place - self.count + 1)
        sign = np.where(rising, fmpq(1), fmpq(-1))
        bias = -sign * self.windows.knots[axis, knot]
        return _matrix(np.arange(len(used)), axis, sign, (len(used), self.dim)), _fractions(bias)

    def forms(
        self, laws: NDArray[np.object_], cells: NDArray[np.int64], constants: NDArray[np.object_] | None = None
    ) -> _Forms:
        """Laws, each from the knots near a cell; with constants, `R` is taken off and they are added."""
        w, near, part = self.windows, self.near[cells], self.part[cells]
        axes = np.arange(self.dim)
        at = w.knots[axes, near]
        ones = np.full((len(laws), 1), fmpq(1), dtype=object)
        bias = values_at(laws, np.concatenate([at, ones], axis=1)) if len(laws) else laws[:, 0]
        slope = laws[:, :-1]
        found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]] = []
        if constants is not None:
            slope = slope - w.slopes[axes, part]
            bias = bias + constants - w.base[axes, near].sum(axis=1)
            found += self._bends(part)
        every = np.arange(len(laws))
        for i in range(self.dim):
            k = near[:, i]
            up, down = every[k < self.count], every[k > 0]
            found.append((up, self.number(i, k[up], True), slope[up, i]))
            found.append((down, self.number(i, k[down], False), -slope[down, i]))
        rows, neurons, values = (np.concatenate(column) for column in zip(*found, strict=True))
        there = values != 0
        return _Forms(rows[there], neurons[there], values[there], bias)

    def _bends(
        self, part: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]]:
        """Minus `R`, as far as it is not affine: what begins at the knots above the part, and at those below."""
        w = self.windows
        for i in range(self.dim):
            for j in range(1, self.count):
                rise = w.slopes[i, j] - w.slopes[i, j - 1]
                for rising in (True, False):
                    own = np.flatnonzero((part[:, i] < j) == rising)
                    number = self.number(i, np.full(len(own), j), rising)
                    yield own, number, np.full(len(own), -rise, dtype=object)


def _second(hinges: _Forms, carried: NDArray[np.int64], used: NDArray[np.int64]) -> _Layer:
    """What is carried of layer 1, then the hinges."""
    rows = np.concatenate([np.arange(len(carried)), len(carried) + hinges.rows])
    columns = np.searchsorted(used, np.concatenate([carried, hinges.neurons]))
    values = np.concatenate([np.full(len(carried), fmpq(1), dtype=object), hinges.values])
    bias = np.concatenate([np.full(len(carried), fmpq(0), dtype=object), hinges.bias])
    return _matrix(rows, columns, values, (len(bias), len(used))), _fractions(bias)


def _third(
    clamps: _Forms, carried: NDArray[np.int64], at: NDArray[np.int64], factors: NDArray[np.object_], hinges: int
) -> _Layer:
    """Root laws less `R`, and the hinges with their factors."""
    columns = np.concatenate([np.searchsorted(carried, clamps.neurons), *[len(carried) + np.arange(hinges)] * len(at)])
    rows = np.concatenate([clamps.rows, at.ravel()])
    values = np.concatenate([clamps.values, factors.ravel()])
    return _matrix(rows, columns, values, (len(clamps.bias), len(carried) + hinges)), _fractions(clamps.bias)


def _maxima(
    side: NDArray[np.int64],
    colour: NDArray[np.int64],
    share: NDArray[np.object_],
    base: NDArray[np.object_],
    constants: NDArray[np.object_],
) -> Iterator[_Layer]:
    """The layers after the clamps: maxima over the classes, and the outputs."""
    one = fmpq(1)
    sides = len(constants)
    lists = [
        [
            {int(k): one for k in np.flatnonzero((side == s) & (colour == c))}
            for c in range(int(colour[side == s].max()) + 1)
        ]
        for s in range(sides)
    ]
    width = len(side)
    while max(map(len, lists)) > 1:
        rows: list[dict[int, fmpq]] = []
        lists = [list(_round(own, rows)) for own in lists]
        yield _rows(rows, width), np.full(len(rows), 0, dtype=object)
        width = len(rows)
    last = [own[0] for own in lists]
    outputs = []
    for own in share:
        total: dict[int, fmpq] = {}
        for s, form in enumerate(last):
            factor = -sum(own, fmpq(0)) if s == 0 else own[s - 1]
            total |= {k: v * factor for k, v in form.items()}
        outputs.append(total)
    shift = base - (share * (constants[1:] - constants[0])).sum(axis=1)
    yield _rows(outputs, width), _fractions(shift)


def _round(forms: list[dict[int, fmpq]], rows: list[dict[int, fmpq]]) -> Iterator[dict[int, fmpq]]:
    """Maxima of pairs: their neurons are added to `rows`; what they are, on these."""
    one = fmpq(1)
    for k in range(0, len(forms) - 1, 2):
        a, b = forms[k], forms[k + 1]
        rows += [a | {j: -v for j, v in b.items()}, b]
        yield {len(rows) - 2: one, len(rows) - 1: one}
    if len(forms) % 2:
        rows.append(forms[-1])
        yield {len(rows) - 1: one}


def _rows(rows: list[dict[int, fmpq]], width: int) -> RationalMatrix:
    i = [k for k, row in enumerate(rows) for _ in row]
    j = [c for row in rows for c in row]
    values = np.array([v for row in rows for v in row.values()], dtype=object)
    return _matrix(i, j, values, (len(rows), width))
