"""A function with a convex lifting of its cells: those that it is given on, or finer ones where these have none.

In this order: the cells themselves; polyhedral cells cut into simplices by pulling their corners, which has a lifting
wherever the cells have one; simplices split at facets where no lifting bends enough (`split`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.blocks.shared_columns import shared_columns
from cpwl.construct.windows.cells import Cells, of_complex, of_table, rationals, simplicial, values_of
from cpwl.construct.windows.lifting import Lifting, lift
from cpwl.construct.windows.polyhedral import lift_polyhedral
from cpwl.construct.windows.split import obstruction, split
from cpwl.errors import LimitError
from cpwl.exact.flint import from_flint_array, to_flint
from cpwl.function import CPWL
from cpwl.geometry.complex import Complex
from cpwl.geometry.face_to_face import complex_of

__all__ = ["Lifted", "lifted"]

_flint = np.frompyfunc(to_flint, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """Cells with the laws of independent outputs, their lifting, and all outputs in these.

    Output `j` is ``base[j] + sum_k share[j, k] (U_k - W)``.
    """

    cells: Cells
    lifting: Lifting
    share: NDArray[np.object_]
    base: NDArray[np.object_]


def lifted(p: CPWL) -> Lifted:
    """The cells of an exact function and their lifting; `ConstructionError`, with a certificate, if there is none.

    >>> found = lifted(CPWL.from_grid([[0, 1, 2]] * 2, [[0, 1, 0], [1, 0, 2], [0, 0, 0]]))
    >>> len(found.cells.corners), found.lifting.laws.shape
    (8, (2, 8, 3))
    """
    complex_ = None
    if p.mesh is not None:
        cells = of_table(p.mesh, p.laws.integer())
    else:
        complex_, piece = complex_of(p.polyhedra)
        cells = of_complex(complex_, rationals(p.laws.integer()).transpose(1, 0, 2)[:, piece])
    basis, share, base = _independent(cells)
    cells = replace(cells, laws=cells.laws[basis])
    cells, lifting = _lift(cells, complex_)
    return Lifted(*condensed(cells, lifting), share, base)


def _lift(cells: Cells, complex_: Complex | None) -> tuple[Cells, Lifting]:
    if complex_ is not None:
        try:
            lifting = lift_polyhedral(cells, complex_)
        except LimitError:
            lifting = None
        if lifting is not None:
            return cells, lifting
        simplices, owner = pulled(complex_)
        cells = simplicial(cells.whole, simplices, cells.laws[:, owner])
    for finer in split(cells):
        lifting = lift(finer)
        if lifting is not None:
            return finer, lifting
    raise obstruction(cells)


def _independent(cells: Cells) -> tuple[list[int], NDArray[np.object_], NDArray[np.object_]]:
    """Outputs that are independent of the others and of 1, and all outputs as sums of these and a constant."""
    values = from_flint_array(values_of(cells))
    ones = np.full((1, values.shape[1]), Fraction(1), dtype=object)
    basis, share = shared_columns(np.concatenate([ones, values]).T)
    table = np.asarray(_flint(share[1:]), dtype=object)
    return [j - 1 for j in basis[1:]], table[:, 1:], table[:, 0]


def pulled(complex_: Complex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells cut into simplices by pulling their first corner, face by face, and the cell of each.

    >>> from cpwl.geometry.polyhedra import Polyhedra
    >>> square = Polyhedra.from_lists([[[1, 0], [-1, 0], [0, 1], [0, -1]]], [[1, 0, 1, 0]])
    >>> len(pulled(complex_of(square)[0])[0])
    2
    """
    n = complex_.dim
    below: list[list[list[int]]] = [[] for _ in range(n + 1)]
    for d in range(1, n + 1):
        below[d] = [[] for _ in range(len(complex_.faces[d]))]
        for low, high in complex_.pairs[d - 1, d].tolist():
            below[d][high].append(low)
    known: list[dict[int, list[tuple[int, ...]]]] = [{} for _ in range(n + 1)]

    def pull(d: int, i: int) -> list[tuple[int, ...]]:
        if i not in known[d]:
            own = complex_.faces[d].members[i]
            first = min(own)
            sides = [f for f in below[d][i] if first not in complex_.faces[d - 1].members[f]] if d else []
            known[d][i] = [(first, *rest) for f in sides for rest in pull(d - 1, f)] if d else [tuple(own)]
        return known[d][i]

    parts = [pull(n, i) for i in range(len(complex_.faces[n]))]
    owner = np.repeat(np.arange(len(parts)), [len(own) for own in parts])
    return np.array([simplex for own in parts for simplex in own], dtype=np.int64), owner


def condensed(cells: Cells, lifting: Lifting) -> tuple[Cells, Lifting]:
    """Cells with the same laws on every side as one: the maximum needs them once. It need not be convex."""
    view = lifting.views[0]
    rows = np.ascontiguousarray(view.transpose(1, 0, 2).reshape(len(cells.corners), -1))
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    same = (lifting.laws == lifting.laws[:, first[group]]).all(axis=(0, 2))
    group = np.where(same, first[group], np.arange(len(group)))  # floats may look alike
    kept, number = np.unique(group, return_inverse=True)
    if len(kept) == len(group):
        return cells, lifting
    members = [np.unique(cells.corners[number == k]) for k in range(len(kept))]
    most = max(map(len, members))
    corners = np.array([[*own, *[own[0]] * (most - len(own))] for own in members], dtype=np.int64)
    pairs = np.unique(np.sort(number[cells.pairs], axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    views = (view[:, kept], lifting.views[1])
    fewer = replace(cells, corners=corners, laws=cells.laws[:, kept], pairs=pairs)
    return fewer, replace(lifting, laws=lifting.laws[:, kept], views=views)
