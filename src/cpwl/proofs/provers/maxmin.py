"""Proof that a max of mins is a function: no row exceeds it, and on every piece some row reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows, primitive
from cpwl.exact.rational import text
from cpwl.function import CPWL
from cpwl.function.lineality import divided
from cpwl.function.order import order_components, value_tolerance
from cpwl.progress import Progress
from cpwl.proofs.entries import Entry, NoProof, Prover, Wiring, counted_rows, recover
from cpwl.proofs.question import Proposal, Question, proof_head
from cpwl.proofs.rounding import added, deviation

__all__ = ["MaxMinProof", "OutputProof", "Shortfall", "propose_max_min"]

Integers = NDArray[np.object_]
_DEEPEST = 64  # cuts that led to one region


class Shortfall(NoProof):
    """The rows do not make the function: no proof of another kind will do."""

    def __init__(self, message: str, points: list[Any]) -> None:
        super().__init__(message, points, settles=True)


def propose_max_min(question: Question) -> Iterator[Proposal]:
    """The wiring of a max of mins, and entries for its rows; weights may be rounded, data noisy.

    Raises `NotRecognised` for other networks, and `Shortfall` where the rows do not make the function.
    """
    p, tables, box = question.p, question.tables, question.box
    wiring = recover(question.network, tables)
    proof = MaxMinProof(p, tables, wiring, question.progress)
    outputs = [proof.output(j) for j in range(p.outputs)]
    bound = added(proof.shortfall, deviation(question.network, tables, wiring, box))
    groups = [
        [{"max" if len(g.references) == 2 else "carry": list(g.references), "neurons": list(g.neurons)} for g in layer]
        for layer in wiring.layers
    ]
    document = {
        **proof_head("max-min", p.dim, bound),
        "components": [[text(v) for v in row] for table in tables for row in table],
        "outputs": outputs,
        "wiring": groups,
        "output": list(wiring.output),
        "box": box.document() if box is not None and bound != 0 else None,
    }
    yield Proposal(bound, document, wiring=wiring)


class MaxMinProof:
    """The *below* and *reach* parts of a proof, output by output, and the error `shortfall` that they need."""

    def __init__(
        self, p: CPWL, tables: list[Integers], wiring: Wiring | None, progress: Progress | None = None
    ) -> None:
        self.small = divided(p)
        self.p = self.small.function
        self.dim, self.tables, self.wiring, self.progress = p.dim, tables, wiring, progress
        self.shortfall = Fraction(0)
        self.start = np.cumsum([0] + [len(table) for table in tables])
        self.prover = Prover()
        self.full = p
        # Rows keep the scale that they have on all coordinates, which is that of the checker.
        self.columns = np.append(self.small.coordinates, p.dim)
        self.rows = [rows[:, self.columns] for rows in counted_rows(p)]
        self.own_rows = None if self.p.mesh is None else p.dim + 1

    def output(self, o: int) -> dict[str, Any]:
        """The proof document of one output."""
        assert self.wiring is not None
        shift = int(self.start[o])
        rows = [np.array(row) - shift for row in self.wiring.rows[o]]
        work = OutputProof(self, o, rows)
        below: list[list[Any]] = [[None] * self.p.num_pieces for _ in rows]
        reach: list[Any] = []
        for j in range(self.p.num_pieces):
            for i in range(len(rows)):
                below[i][j] = work.below(i, j)
            reach.append(work.reach(j))
            if self.progress is not None:
                self.progress(j + 1, self.p.num_pieces, "proving")
        return {"rows": [list(row) for row in self.wiring.rows[o]], "below": below, "reach": reach}


class OutputProof:
    """One output: entries for rows and pieces, computed when needed and kept."""

    def __init__(self, whole: MaxMinProof, o: int, rows: list[NDArray[np.int64]]) -> None:
        self.whole, self.p, self.rows = whole, whole.p, rows
        self.shift = int(whole.start[o])
        self.order = order_components(self.p, o)
        table = np.column_stack([whole.tables[o], np.ones(len(whole.tables[o]), dtype=object)])
        full = integer_rows(np.zeros(0), table)  # what is exact needs no float view
        self.components = full[:, np.append(whole.columns, whole.dim + 1)]
        self.own = self.p.laws.integer()[:, o]
        self.full = full, whole.full.laws.integer()[:, o]
        self.slack = value_tolerance(self.p)
        self.members = np.zeros((len(rows), len(self.components)), dtype=bool)
        for i, row in enumerate(rows):
            self.members[i, row] = True
        self._kept: dict[tuple[int, int, int], Entry] = {}
        self._chosen: tuple[int, NDArray[np.int64]] = (-1, np.zeros(0, dtype=np.int64))

    # --- entries ----------------------------------------------------------------------------------------------

    def _difference(self, j: int, m: int, side: int) -> Integers:
        """``side (p_j - f_m)`` as integers ``(g, o, d)``."""
        return _less(self.own[j], self.components[m], side)

    def _cut(self, j: int, m: int) -> Integers:
        """``p_j <= f_m`` as a row on all coordinates, without a common divisor, as the checker scales it."""
        components, own = self.full
        law = _less(own[j], components[m], -1)
        return np.asarray(primitive(np.append(-law[:-2], law[-2])[None])[0])

    def _sides(self, rows: Integers, cut: Integers) -> list[Integers]:
        """A region with the cut, and with its opposite."""
        return [np.concatenate([rows, c[None, self.whole.columns]]) for c in (cut, -cut)]

    def _entry(self, j: int, m: int, side: int) -> Entry:
        """``side (p_j - f_m)`` from below on the whole piece `j`."""
        key = (j, m, side)
        if key not in self._kept:
            if self.p.mesh is not None:  # decided at the corners, exactly, by the order of components
                known = self.order.below[j, m] if side > 0 else self.order.above[j, m]
                self._kept[key] = Entry({}, Fraction(0) if known else None)
            else:
                self.whole.prover.load(self.whole.rows[j])
                self._kept[key] = self.whole.prover.least(self._difference(j, m, side))
        return self._kept[key]

    def _accept(self, entry: Entry, message: str) -> Entry:
        """An entry whose shortfall is within the tolerance of the data; exact data has none."""
        if entry.empty:
            return entry
        if entry.t is None or -entry.t > 100 * self.slack:
            raise Shortfall(message, self._witnesses(entry))
        self.whole.shortfall = max(self.whole.shortfall, -entry.t)
        return entry

    def _witnesses(self, entry: Entry) -> list[Any]:
        if entry.point is None:
            return []
        x = np.array(entry.point, dtype=object)
        points = [x] if entry.ray is None else [x + k * np.array(entry.ray, dtype=object) for k in (0, 1, 1000)]
        return [self._lift(point) for point in points]

    # --- below ------------------------------------------------------------------------------------------------

    def below(self, i: int, j: int) -> dict[str, Any]:
        """Row `i` does not exceed the function on piece `j`: by one member, or by a mean of several."""
        row = self.rows[i]
        message = f"row {i} exceeds the function on piece {j}"
        m = self._single_members(j)[i]
        if m < 0:
            return self._below_by_mean(row, j, message)
        entry = self._accept(self._entry(j, m, 1), message)
        mean = {} if entry.empty else {"mu": {str(self.shift + m): 1}}
        return {**entry.document(self.whole.own_rows), **mean}

    def _single_members(self, j: int) -> NDArray[np.int64]:
        """For each row a member that is below the function on piece `j`, or -1; few different ones, greedily."""
        if self._chosen[0] != j:
            hits = self.members & self.order.below[j]
            chosen = np.full(len(self.rows), -1, dtype=np.int64)
            waiting = hits.any(axis=1)
            while waiting.any():
                m = int(np.argmax(hits[waiting].sum(axis=0)))
                chosen[waiting & hits[:, m]] = m
                waiting &= ~hits[:, m]
            self._chosen = (j, chosen)
        return self._chosen[1]

    def _below_by_mean(self, row: NDArray[np.int64], j: int, message: str) -> dict[str, Any]:
        """Maximise `v` with ``v <= f_m - p_j`` for all members: its multipliers are the mean and the entry."""
        laws = [self._difference(j, int(m), -1) for m in row]  # f_m - p_j
        above = primitive(np.array([[*(-law[:-2]), law[-1], law[-2]] for law in laws], dtype=object))
        inside = self.whole.rows[j]
        body = np.column_stack([inside[:, :-1], inside[:, -1] * 0, inside[:, -1]])
        self.whole.prover.load(np.concatenate([above, body]))
        goal = np.array([0] * self.p.dim + [-1, 0, 1], dtype=object)  # h = -v
        found = self.whole.prover.least(goal)
        count = len(row)
        weights = {k: y * int(above[k, -2]) for k, y in found.multipliers.items() if k < count}
        if found.point is not None:
            found = Entry(found.multipliers, found.t, found.empty, found.point[:-1], found.ray and found.ray[:-1])
        entry = self._accept(found, message)
        own = Entry({k - count: y for k, y in entry.multipliers.items() if k >= count}, entry.t, entry.empty)
        if entry.empty:
            return own.document(self.whole.own_rows)
        mean = {str(self.shift + int(row[k])): text(w) for k, w in sorted(weights.items())}
        return {**own.document(self.whole.own_rows), "mu": mean}

    # --- reach ------------------------------------------------------------------------------------------------

    def reach(self, j: int) -> dict[str, Any]:
        """Some row reaches the function everywhere on piece `j`, which is cut where no single row does."""
        above = self.order.above[j]
        for i, row in enumerate(self.rows):
            if above[row].all():
                message = f"row {i} does not reach the function on piece {j}"
                entries = [self._accept(self._entry(j, int(m), -1), message) for m in row]
                return {"row": i, "members": [e.document(self.whole.own_rows) for e in entries]}
        return self._reach_region(j, self.whole.rows[j], 0)

    def _reach_region(self, j: int, rows: Integers, depth: int) -> dict[str, Any]:
        """A leaf if one row reaches the whole region; else a cut along ``f_m = p_j`` for a member that falls short."""
        if depth > _DEEPEST:
            raise Shortfall(f"piece {j} needs too many cuts", [])
        inner = self._inner_point(rows)
        best = 0
        if inner is not None:
            values = [min(self._value(j, int(m), inner) for m in row) for row in self.rows]
            best = max(range(len(values)), key=values.__getitem__)
            if values[best] < -100 * self.slack:
                raise Shortfall(f"no row reaches the function on piece {j}", [self._lift(inner)])
        leaf, short = self._leaf(j, best, rows)
        if leaf is not None:
            return leaf
        assert short is not None
        cut = self._cut(j, short)
        lower, upper = (self._reach_region(j, side, depth + 1) for side in self._sides(rows, cut))
        return {"cut": [int(v) for v in cut], "below": lower, "above": upper}

    def _leaf(self, j: int, i: int, rows: Integers) -> tuple[dict[str, Any] | None, int | None]:
        """Row `i` on a region: its leaf, or else a member that falls below the function there."""
        entries = []
        for m in self.rows[i]:
            self.whole.prover.load(rows)
            entry = self.whole.prover.least(self._difference(j, int(m), -1))
            if not entry.empty and (entry.t is None or -entry.t > 100 * self.slack):
                return None, int(m)
            entries.append(self._accept(entry, ""))
        return {"row": i, "members": [e.document(self.whole.own_rows) for e in entries]}, None

    def _value(self, j: int, m: int, x: Integers) -> Fraction:
        law = self._difference(j, m, -1)
        return Fraction((law[:-2] * x).sum() + law[-2]) / Fraction(law[-1])

    def _inner_point(self, rows: Integers) -> Integers | None:
        """A point of the region, inside it if it has an interior; None if it is empty."""
        wide = np.column_stack([rows[:, :-1], np.abs(rows[:, :-1]).sum(axis=1), rows[:, -1]])
        cap = np.array([[0] * self.p.dim + [1, 1]], dtype=object)
        self.whole.prover.load(np.concatenate([wide, cap]))
        goal = np.array([0] * self.p.dim + [-1, 0, 1], dtype=object)
        found = self.whole.prover.least(goal)
        return None if found.empty or found.point is None else np.array(found.point[:-1], dtype=object)

    def _lift(self, x: Integers) -> Integers:
        return self.whole.small.lift(x)


def _less(f: Integers, g: Integers, side: int) -> Integers:
    """``side (f - g)`` for laws as integers ``(gradient, offset, denominator)``."""
    top = side * (f[:-1] * g[-1] - g[:-1] * f[-1])
    return np.append(top, f[-1] * g[-1])
