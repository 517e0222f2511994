"""Float twins: an exact function written as another tool would write it, in floats with noise.

`twin(p, noise, seed, ...)` turns any exact `CPWL` into float pieces, a `Twin`; the same arguments give the same bits.
What can be done to it, each apart or together:

* `noise`: every number of every row and law is off by that much, relative, normally distributed; 0 rounds to floats
  only. Zeros stay zero, unless `fill=True`, which puts noise of the size of the row into them as well;
* `shuffle`: the rows of every piece in another order, and the pieces too;
* `repeat`: every third row is written twice, scaled, with noise of its own;
* `far`: rows that bound nothing, one parallel to the first row and, where the piece is bounded, one of
  ``x_k <= far`` and ``-x_k <= far``, the axes in turn;
* `column_major`: arrays as `scipy.io.loadmat` returns them;
* `outputs`: that many of ``p, x_1 - p/3, 0 up to rounding``, the last with noise of 1e-16 where `noise` is not 0.

`VARIANTS` names the usual choices and `NOISES` the usual sizes, so that a test reads::

    @pytest.mark.parametrize(("name", "variant", "noise"), every_twin(names(without="float"), VARIANTS))
    def test_something(name, variant, noise):
        p, data = catalogue_twin(name, variant, noise)
        compile(data.function())

where `p` is the exact function with the outputs of its twin, piece by piece in the order of the exact function unless
shuffled (`Twin.order` says which). `boxed(p)` cuts an unbounded function to a box, still exactly, so that each case has
a bounded and an unbounded twin ("boxed" in `VARIANTS`). Noise is harmless only where it is small against the function's
features: cases with slivers or nearly parallel bends of 1e-9 are other functions after noise of 1e-9, and
`Twin.tol` is wide enough to call them consistent, no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from cpwl import CPWL
from cpwl.construct.analysis import Analysis
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from support.catalogue import function
from support.rational_pieces import PieceData, from_data, piece_data

__all__ = ["NOISES", "VARIANTS", "Twin", "boxed", "catalogue_twin", "every_twin", "twin", "with_outputs"]

NOISES = (0.0, 1e-15, 1e-12, 1e-9)

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "boxed": {"box": True},
    "filled": {"fill": True},
    "shuffled": {"shuffle": True},
    "repeated": {"repeat": True},
    "far 1e6": {"far": 1e6},
    "far 1e9": {"far": 1e9},
    "column-major": {"column_major": True},
    "two outputs": {"outputs": 2},
    "three outputs": {"outputs": 3},
    "all": {"shuffle": True, "repeat": True, "far": 1e6, "column_major": True, "outputs": 2, "fill": True},
}


# Inputs of sizes 1e-12 and 1e12 side by side, or all of 1e-12: noise of the size of a row, or of 1e-16, in a zero is
# more than the numbers that the function is made of. These twins are other functions, or none.
DROWNED = {(name, variant) for name in ("mixed_table", "tiny_table") for variant in ("filled", "three outputs", "all")}


def every_twin(names: Iterable[str], variants: Iterable[str]) -> list[tuple[str, str, float]]:
    """Each function in each variant once; noises go round, so that each function and each variant meets all of them.

    A covering array of strength two: of all triples it has one in four, and every pair.
    """
    variants = list(variants)
    return [
        (name, variant, NOISES[(i + j) % len(NOISES)])
        for i, name in enumerate(names)
        for j, variant in enumerate(variants)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """Float pieces ``A[i] x <= b[i]`` with laws, as `CPWL.from_pieces` takes them."""

    A: tuple[NDArray[np.float64], ...]
    b: tuple[NDArray[np.float64], ...]
    gradient: NDArray[np.float64]
    """Shape (pieces, outputs, inputs)."""
    offset: NDArray[np.float64]
    domain: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    noise: float
    order: tuple[int, ...]
    """``order[i]``: the number in the exact function of what is piece `i` here."""

    @property
    def tol(self) -> float:
        """The default of `CPWL.from_pieces`, or what covers the noise."""
        return max(1e-9, 32 * self.noise)

    def function(self, tol: float | None = None) -> CPWL:
        """The function of these floats."""
        width = self.tol if tol is None else tol
        return CPWL.from_pieces(self.A, self.b, self.gradient, self.offset, domain=self.domain, tol=width)

    def is_exactly(self, p: CPWL) -> bool:
        """Whether the floats say the very same as `p`, in rationals: each row up to a factor, each law.

        >>> from support.functions import abs_sum
        >>> twin(abs_sum(2)).is_exactly(abs_sum(2)), twin(abs_sum(2), 1e-15).is_exactly(abs_sum(2))
        (True, False)
        """
        mine = self.function(tol=0)
        same_laws = np.array_equal(mine.laws.integer(), p.laws.integer()[list(self.order)])
        return same_laws and all(
            {tuple(row) for row in p.polyhedra[j].integer()} <= {tuple(row) for row in mine.polyhedra[i].integer()}
            for i, j in enumerate(self.order)
        )


def twin(
    p: CPWL,
    noise: float = 0.0,
    seed: int = 0,
    *,
    fill: bool = False,
    shuffle: bool = False,
    repeat: bool = False,
    far: float | None = None,
    column_major: bool = False,
) -> Twin:
    """The pieces of `p` in floats, with what the module's docstring lists done to them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(p.num_pieces) if shuffle else np.arange(p.num_pieces)
    A, b = [], []
    for i in order:
        rows = np.column_stack([p.polyhedra[i].A, p.polyhedra[i].b])
        more = far_rows(rows, far, len(A)) if far is not None and len(rows) else rows[:0]
        if repeat:
            rows = np.concatenate([rows, rows[::3] * rng.choice([0.5, 1.0, 3.0, 7.0], (len(rows[::3]), 1))])
        rows = np.concatenate([with_noise(rows, noise, fill, rng), more])
        rows = rng.permutation(rows) if shuffle else rows
        layout = np.asfortranarray if column_major else np.ascontiguousarray
        A.append(layout(rows[:, :-1]))
        b.append(rows[:, -1].copy())
    laws = with_noise(p.laws.coefficients()[order], noise, fill, rng)
    if noise:  # An output that is 0 has nothing for relative noise to act on; a solver leaves its rounding there.
        zero = ~laws.any(axis=(0, 2))
        laws[:, zero] = 1e-16 * rng.standard_normal(laws[:, zero].shape)
    gradient, offset = laws[..., :-1], laws[..., -1]
    layout = np.asfortranarray if column_major else np.ascontiguousarray
    domain = None if p.domain is None else (p.domain.A.copy(), p.domain.b.copy())
    return Twin(tuple(A), tuple(b), layout(gradient), layout(offset), domain, noise, tuple(map(int, order)))


def is_torn(p: CPWL) -> bool:
    """Whether the pieces of float data disagree somewhere, in rationals, by more than their tolerance of the range.

    Noise in the slopes of a function far from the origin does that, and noise in the corners of a steep sliver.
    """
    return 2 * Analysis(p).unavoidable > p.tol


def with_noise(numbers: NDArray[np.float64], size: float, fill: bool, rng: np.random.Generator) -> NDArray[np.float64]:
    """Numbers ``(.., n + 1)`` off by `size`, relative to themselves, or for zeros, if asked for, to their row."""
    scale = np.abs(numbers)
    if fill:
        # The last number is an offset: in the unit of its row, at most the size of the row's coefficients.
        scale = np.where(numbers == 0, np.abs(numbers[..., :-1]).max(axis=-1, keepdims=True, initial=0.0), scale)
    return numbers + size * scale * rng.standard_normal(numbers.shape)


def far_rows(rows: NDArray[np.float64], far: float, turn: int) -> NDArray[np.float64]:
    """Rows that every point of the piece satisfies with much to spare: one parallel to the first, and an axis'."""
    first = rows[0].copy()
    first[-1] = max(first[-1], 0.0) + far * np.abs(first[:-1]).max()
    dim = rows.shape[1] - 1
    direction = np.concatenate([np.eye(dim), -np.eye(dim)])[turn % (2 * dim)]
    most = linprog(-direction, A_ub=rows[:, :-1], b_ub=rows[:, -1], bounds=(None, None))
    if most.status == 0 and -most.fun < far / 2:
        return np.array([first, np.append(direction, far)])
    return first[None]


def with_outputs(p: CPWL, outputs: int) -> CPWL:
    """The exact function with the outputs ``p, x_1 - p/3, 0``, as many as asked for."""

    def more(law: tuple[Fraction, ...]) -> tuple[tuple[Fraction, ...], ...]:
        other = tuple(int(k == 0) - v / 3 for k, v in enumerate(law))
        return (law, other, tuple(Fraction(0) for _ in law))[:outputs]

    data = [replace(piece, laws=more(piece.laws[0])) for piece in piece_data(p)]
    return from_data(data, domain=exact_domain(p))


def boxed(p: CPWL) -> CPWL:
    """The exact function on a box around all its hyperplanes, pieces without interior there left out."""
    pieces = piece_data(p)
    reach = [abs(row[-1]) / max(map(abs, row[:-1])) for piece in pieces for row in piece.rows]
    radius = Fraction(1 + 2 * int(max(reach, default=Fraction(0))))
    box = tuple((*(Fraction(s * (j == k)) for j in range(p.dim)), radius + k) for k in range(p.dim) for s in (1, -1))
    cut = [PieceData((*piece.rows, *box), piece.laws) for piece in pieces]
    return from_data([piece for piece in cut if has_interior(piece, p.dim)])


def has_interior(piece: PieceData, dim: int) -> bool:
    body = Polyhedron.from_rows([row[:-1] for row in piece.rows], [row[-1] for row in piece.rows], dim=dim)
    return Probe(0.0).interior(body) is not None


def exact_domain(p: CPWL) -> tuple[Any, Any] | None:
    if p.domain is None:
        return None
    rows = [[Fraction(v) for v in row] for row in p.domain.integer()]
    return [row[:-1] for row in rows], [row[-1] for row in rows]


@cache
def catalogue_twin(name: str, variant: str, noise: float, seed: int = 0) -> tuple[CPWL, Twin]:
    """An exact case of the catalogue, with the outputs and the box of the variant, and its twin."""
    options = dict(VARIANTS[variant])
    p = function(name)
    assert p.tol == 0, f"{name} is float data itself: it has no exact function to be the twin of"
    p = boxed(p) if options.pop("box", False) else p
    outputs = options.pop("outputs", None)
    p = with_outputs(p, outputs) if outputs is not None else p
    return p, twin(p, noise, seed, **options)
