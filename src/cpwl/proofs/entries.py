"""Entries of a proof: multipliers that show that an affine function is at least `t` on a region, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.exact.rational import text
from cpwl.exact.simplex import Optimum
from cpwl.function import CPWL
from cpwl.geometry.linear_program import LinearProgram

# How a prover says that it has no proof.


class NoProof(Exception):
    """There is no proof of this kind.

    At one of `points` network and function may be seen to differ. If it `settles` the question, no other kind will do.
    """

    def __init__(self, message: str, points: Sequence[Any] = (), *, settles: bool = False) -> None:
        super().__init__(message)
        self.points = list(points)
        self.settles = settles


class NotRecognised(NoProof):
    """The network is not built as this kind of proof has it; the text says where."""


Integers = NDArray[np.object_]


@dataclass(frozen=True, slots=True)
class Entry:
    """``h = sum lambda_r (b_r - a_r x) + t`` on a region; `t` is None where there is no such proof.

    Where `h` has no bound below, `point` and `ray` show it; where the region is empty, `empty` says so and
    `multipliers` prove it.
    """

    multipliers: dict[int, Fraction]
    t: Fraction | None
    empty: bool = False
    point: tuple[Fraction, ...] | None = None
    ray: tuple[Fraction, ...] | None = None

    def document(self, rows: int | None = None) -> dict[str, Any]:
        """The entry as it is written; with `rows`, as for a simplex: only cuts, numbered from `rows` on."""
        numbers = {str(r): text(y) for r, y in sorted(self.multipliers.items()) if rows is None or r >= rows}
        if self.empty:
            return {"empty": numbers}
        assert self.t is not None
        return {"lambda": numbers} if rows is not None else {"lambda": numbers, "t": text(self.t)}


def counted_rows(p: CPWL) -> list[Integers]:
    """For each piece its rows as the checker scales and counts them: without a common divisor, and none that says
    nothing, ``0 . x <= b`` with ``b >= 0``."""
    rows, start = primitive(p.polyhedra.integer()), p.polyhedra.start
    says = (rows[:, :-1] != 0).any(axis=1) | (rows[:, -1] < 0)
    return [rows[a:b][says[a:b]] for a, b in pairwise(start.tolist())]


class Prover:
    """Proves lower bounds of affine functions over regions, one exact linear program each."""

    def __init__(self) -> None:
        self._lp: LinearProgram | None = None
        self._rows: Integers | None = None

    def load(self, rows: Integers) -> None:
        """Go on with the region ``a.x <= b`` for each integer row ``(a, b)``."""
        if self._rows is rows:
            return
        scale = np.abs(rows[:, :-1]).max(axis=1) if len(rows) else np.ones(0)
        view = np.asarray(rows / scale[:, None], dtype=np.float64).reshape(rows.shape)
        if self._lp is None:
            self._lp = LinearProgram(view[:, :-1], view[:, -1])
        else:
            self._lp.load(view[:, :-1], view[:, -1])
        self._rows = rows

    def least(self, law: Integers) -> Entry:
        """The largest `t` for ``h = (g, o) / d``, given as integers ``(g, o, d)`` with ``d > 0``."""
        assert self._lp is not None
        assert self._rows is not None
        best = self._lp.maximize_exactly(self._rows, [-v for v in law[:-2]])
        return _entry(best, law)


def _entry(best: Optimum, law: Integers) -> Entry:
    d = law[-1]
    if best.status == "infeasible":
        assert best.multipliers is not None
        return Entry(best.multipliers, None, empty=True)
    if best.status == "unbounded":
        return Entry({}, None, point=best.point, ray=best.ray)
    assert best.multipliers is not None
    assert best.value is not None
    multipliers = {r: y / d for r, y in best.multipliers.items()}
    return Entry(multipliers, (law[-2] - best.value) / d, point=best.point)
