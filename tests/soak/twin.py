"""The same function as people hold it: half-spaces and laws in floats, with noise, in any order, with rows too many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cpwl import CPWL
from soak.truth import at, inside
from support.rational_pieces import PieceData, piece_data

__all__ = ["Twin", "twin"]


@dataclass(frozen=True, slots=True)
class Twin:
    """Float pieces, the data behind them in rationals, and how noisy they are."""

    function: CPWL
    pieces: list[PieceData]
    noise: float

    def distance(self, x: list[Fraction], value: list[Fraction]) -> Fraction:
        """How far a value is from the data at a point: the most over the pieces that hold it exactly, if any."""
        laws = [piece.laws for piece in self.pieces if inside(piece.rows, x)]
        return max(
            (abs(at(law, x) - v) for own in laws for law, v in zip(own, value, strict=True)), default=Fraction(-1)
        )

    def gap(self, x: list[Fraction], value: list[Fraction]) -> Fraction:
        """How far a value is from the data at a point: the least over the pieces that hold it up to the noise."""
        slack = Fraction(max(20 * self.noise, 1e-14))
        gaps = [
            max(abs(at(law, x) - v) for law, v in zip(piece.laws, value, strict=True))
            for piece in self.pieces
            if inside(piece.rows, x, slack)
        ]
        return min(gaps, default=Fraction(-1))


def twin(p: CPWL, rng: np.random.Generator, noise: float) -> Twin:
    """A float twin: rows scaled, shuffled, repeated, with far redundant ones; arrays column-major."""
    A, b, gradient, offset = [], [], [], []
    far = float(rng.choice([0, 0, 1e6, 1e9]))
    for piece in piece_data(p):
        rows = np.array([[float(v) for v in row] for row in piece.rows]).reshape(-1, p.dim + 1)
        rows = rows / np.maximum(np.abs(rows[:, :-1]).max(axis=1, keepdims=True, initial=0), 1e-300)
        if len(rows) and rng.random() < 0.3:
            rows = np.concatenate([rows, rows[rng.integers(len(rows), size=1)]])
        if far and _bounded_by(piece, far):
            normal = np.zeros(p.dim)
            normal[int(rng.integers(p.dim))] = rng.choice([-1.0, 1.0])
            rows = np.concatenate([rows, [[*normal, far]]])
        rows = rows[rng.permutation(len(rows))] * (1 + noise * rng.standard_normal(rows.shape))
        laws = np.array([[float(v) for v in law] for law in piece.laws])
        laws = laws * (1 + noise * rng.standard_normal(laws.shape))
        A.append(np.asfortranarray(rows[:, :-1]))
        b.append(rows[:, -1].copy())
        gradient.append(laws[:, :-1])
        offset.append(laws[:, -1])
    function = CPWL.from_pieces(
        A, b, np.asfortranarray(gradient), np.asfortranarray(offset), tol=max(1e-9, 100 * noise)
    )
    data = [
        PieceData(_exact(np.column_stack([a, c])), _exact(np.column_stack([g, o])))
        for a, c, g, o in zip(A, b, gradient, offset, strict=True)
    ]
    return Twin(function, data, noise)


def _bounded_by(piece: PieceData, far: float) -> bool:
    """Whether rows of the axes keep a piece well inside of `far`: only then a row there is redundant."""
    dim = len(piece.laws[0]) - 1
    ends = set()
    for row in piece.rows:
        places = [k for k in range(dim) if row[k]]
        if len(places) == 1 and abs(row[-1] / row[places[0]]) < far / 10:
            ends.add((places[0], row[places[0]] > 0))
    return len(ends) == 2 * dim


def _exact(rows: Any) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(Fraction(float(v)) for v in row) for row in rows)
