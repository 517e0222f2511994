"""The flags of pieces, type by type: which corners and rays are on which rows says all about the faces of a piece."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import unit_view
from cpwl.function.flags.pointed import Pointed

__all__ = ["Type", "flags_of", "types_of"]

Type = tuple[tuple[int, ...], int, int]
"""For each row the bit set of the generators on it, the bit set of the rays, and the number of generators."""


def types_of(stack: Pointed) -> dict[Type, list[int]]:
    """Which generators of a piece are on which of its rows, as bit sets: pieces with equal ones are of one type."""
    rows, members = np.diff(stack.polyhedra.start), np.diff(stack.spanned.start)
    owner = np.repeat(np.arange(len(rows)), rows * members)
    begin = np.concatenate([[0], np.cumsum(rows * members)])
    place = np.arange(begin[-1]) - begin[owner]
    row = stack.polyhedra.start[owner] + place // members[owner]
    point = stack.spanned.member[stack.spanned.start[owner] + place % members[owner]]
    on = _incident(stack.table, stack.spanned.places, stack.planes.number[row], point)
    far = np.asarray(stack.spanned.places[stack.spanned.member, -1] == 0, dtype=bool)
    types: dict[Type, list[int]] = {}
    for i, (r, g) in enumerate(zip(rows.tolist(), members.tolist(), strict=True)):
        masks = _bit_sets(on[begin[i] : begin[i + 1]].reshape(r, g))
        rays = _bit_sets(far[None, stack.spanned.start[i] : stack.spanned.start[i + 1]])[0]
        types.setdefault((masks, rays, g), []).append(i)
    return types


def _bit_sets(rows: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=1, bitorder="little"))


def _incident(
    table: NDArray[np.object_], places: NDArray[np.object_], plane: NDArray[np.int64], point: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each point is on each plane: floats where they can tell, integers elsewhere."""
    size = table.shape[1]
    value = np.einsum("ij,ij->i", unit_view(table)[plane], unit_view(places)[point])
    on = np.abs(value) <= 4 * (size + 2) * np.finfo(np.float64).eps * size
    asked, answer = np.unique(np.stack([plane[on], point[on]], axis=1), axis=0, return_inverse=True)
    on[on] = np.asarray((table[asked[:, 0]] * places[asked[:, 1]]).sum(axis=1) == 0, dtype=bool)[answer.ravel()]
    return np.asarray(on, dtype=bool)


@lru_cache(maxsize=4096)
def flags_of(masks: tuple[int, ...], rays: int, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All flags of a type: for each the row of its facet, and its generators ``g_0, .., g_n``.

    Of the faces at infinity only places are faces here.
    """
    rows = {mask: r for r, mask in reversed(list(enumerate(masks)))}
    facets = _maximal(set(rows) - {0})
    every = 0
    for facet in facets:
        every |= facet
    found: list[tuple[int, tuple[int, ...]]] = []
    for facet in facets:
        todo: list[tuple[int, int, tuple[int, ...]]] = [(facet, n - 1, (_lowest(every & ~facet),))]
        while todo:
            face, dim, tail = todo.pop()
            if dim == 1:
                u, v = _lowest(face), face.bit_length() - 1
                found += [(rows[facet], (u, v, *tail)), (rows[facet], (v, u, *tail))]
                continue
            parts = _maximal({face & other for other in facets if face & other & ~rays} - {face})
            todo += [(part, dim - 1, (_lowest(face & ~part), *tail)) for part in parts]
    return np.array([r for r, _ in found], dtype=np.int64), np.array([f for _, f in found], dtype=np.int64)


def _maximal(masks: set[int]) -> list[int]:
    return [m for m in sorted(masks) if not any(m != k and m & k == m for k in masks)]


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1
