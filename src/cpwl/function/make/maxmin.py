"""Max-min expressions: the convex pieces on which one component is the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import integer_rows, primitive
from cpwl.exact.rational import as_reals, fraction_array
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.facets import trim
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["parts_of_maxmin", "polyhedra_from_integers"]

_Rows = tuple[tuple[int, ...], ...]


def parts_of_maxmin(components: Any, rows: Sequence[Sequence[int]]) -> Parts:
    """Pieces of ``max_B min_{m in B} f_m`` over all of R^n, found row by row in rationals.

    A row `B` rises above the law `c` of a piece exactly on the convex set where all its members do. That set is
    cut out of the piece and divided among the members; the rest keeps its law.
    """
    laws, members = _checked(components, rows)
    probe, dim = Probe(0.0), laws.shape[1] - 2
    pieces = _with_interior(probe, _shares(laws, members[0]), dim)
    for row in members[1:]:
        shares = _shares(laws, row)
        pieces = [new for piece in pieces for new in _raise(probe, laws, piece, row, shares)]
    stack = trim(polyhedra_from_integers([r for r, _ in pieces], dim), 0.0)
    law = Laws.from_integer(laws[[c for _, c in pieces]][:, None])
    return Parts(stack, law, Polyhedron(np.zeros((0, dim)), np.zeros(0)), 0.0)


def polyhedra_from_integers(pieces: Sequence[Sequence[Sequence[int]]], dim: int) -> Polyhedra:
    """Polyhedra from lists of integer rows ``(a, b)``, with float views scaled to largest slope 1."""
    start = np.cumsum([0] + [len(rows) for rows in pieces]).astype(np.int64)
    flat = [row for rows in pieces for row in rows]
    exact = primitive(np.array(flat, dtype=object).reshape(len(flat), dim + 1))
    # A row without a slope, 0 <= b, stays as it is.
    scale = np.maximum(np.abs(exact[:, :-1]).max(axis=1), 1) if len(flat) else np.ones(0)
    view = np.asarray(exact / scale[:, None], dtype=np.float64).reshape(len(flat), dim + 1)
    return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, exact)


def _checked(components: Any, rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.object_], list[list[int]]]:
    view, exact = as_reals(components, "components")
    if view.ndim != 2 or view.shape[0] == 0 or view.shape[1] < 2:
        raise InputError(f"`components` must be (k, n + 1), offset last, not {view.shape}")
    ones = np.ones((len(view), 1))
    whole = None if exact is None else np.column_stack([exact, fraction_array(ones)])
    members = [list(dict.fromkeys(int(m) for m in row)) for row in rows]
    if not members:
        raise InputError("`rows` is empty: a max-min expression needs at least one row")
    for i, row in enumerate(members):
        if not row or min(row) < 0 or max(row) >= len(view):
            raise InputError(f"row {i} must name components 0..{len(view) - 1}, not {list(rows[i])}", row=i)
    laws = integer_rows(np.column_stack([view, ones]), whole)
    first: dict[tuple[int, ...], int] = {}
    same = [first.setdefault(tuple(law), i) for i, law in enumerate(laws)]
    return laws, [list(dict.fromkeys(same[m] for m in row)) for row in members]


def _difference(laws: NDArray[np.object_], a: int, b: int) -> tuple[int, ...]:
    """The half-space ``f_a <= f_b`` as an integer row."""
    f, g = laws[a], laws[b]
    row = np.append(f[:-2] * g[-1] - g[:-2] * f[-1], g[-2] * f[-1] - f[-2] * g[-1])
    return tuple(primitive(row[None])[0])


def _shares(laws: NDArray[np.object_], row: Sequence[int]) -> list[tuple[_Rows, int]]:
    """Where each member of a row is its least one."""
    return [(tuple(_difference(laws, m, j) for j in row if j != m), m) for m in row]


def _raise(
    probe: Probe,
    laws: NDArray[np.object_],
    piece: tuple[_Rows, int],
    row: Sequence[int],
    shares: Sequence[tuple[_Rows, int]],
) -> list[tuple[_Rows, int]]:
    """One piece after the maximum with one more row."""
    region, c = piece
    dim = laws.shape[1] - 2
    above = tuple(_difference(laws, c, m) for m in row if m != c)
    risen = _with_interior(probe, [(region + above, c)], dim)
    if not risen or c in row:  # A row with c in it never rises above c.
        return [piece]
    parts = [(region + above + share, m) for share, m in shares]
    for k, half_space in enumerate(above):
        outside = tuple(-v for v in half_space)
        parts.append((region + above[:k] + (outside,), c))
    return _with_interior(probe, parts, dim)


def _with_interior(probe: Probe, pieces: Sequence[tuple[_Rows, int]], dim: int) -> list[tuple[_Rows, int]]:
    """The pieces that have an interior, without rows ``0 <= b`` that say nothing."""
    kept = []
    for rows, c in pieces:
        proper = tuple(row for row in rows if any(row[:-1]))
        possible = all(row[-1] >= 0 for row in rows if not any(row[:-1]))
        if possible and probe.interior(polyhedra_from_integers([proper], dim)[0]) is not None:
            kept.append((proper, c))
    return kept
