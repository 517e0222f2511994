"""Simplices without a convex lifting: the proof that there is none, and finer simplices that have one.

The jumps of heights at the inner facets are linear in the heights. If a sum of them with positive weights is 0 for all
heights, no heights make them all positive; and where `p` bends at one of these facets there are no convex `U` and `W`
with ``U - W = p`` that are affine on the simplices: their jumps, which are not negative, would all have to be 0, and so
would those of `p`. The weights are found by a linear program, and taken from an exact kernel.

A facet that bends too little is split at a point inside it, and the two simplices there with it; the height of the new
corner is free.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, hstack

from cpwl.construct.windows.cells import Cells, simplicial
from cpwl.construct.windows.lifting import Needed, Simplicial
from cpwl.construct.windows.program import solve
from cpwl.errors import ConstructionError
from cpwl.exact.integers import primitive

__all__ = ["obstruction", "split"]

_ROUNDS = 8
_MORE = 3.0  # times the simplices at first: beyond that other constructions are smaller
_SMALL = 1e-7


def split(cells: Cells) -> Iterator[Cells]:
    """The simplices, and finer and finer ones, as long as some facet lacks a bend."""
    most = _MORE * len(cells.corners) + 50
    yield cells
    for _ in range(_ROUNDS):
        facets = _lacking(cells)
        if len(facets) == 0:
            return
        cells = _at_facets(cells, facets)
        if len(cells.corners) > most:
            return
        yield cells


def _lacking(cells: Cells) -> NDArray[np.int64]:
    """Facets that bend too little under the heights for which the sum of what is lacking is least."""
    shape = Simplicial.of(cells)
    needed = Needed.of(cells, shape)
    F, V = shape.jumps.shape
    rows = csr_array(hstack([shape.jumps, diags_array(np.ones(F))]))
    cost = np.concatenate([np.zeros(V), np.ones(F)])
    least = np.concatenate([np.full(V, -np.inf), np.zeros(F)])
    # Heights count as multiples of the largest jump: else anything can be had by scaling.
    found = solve(cost, rows, np.full(F, float(needed.jump.max())), least, solver="simplex", time_limit=60.0)
    if len(found.point) != V + F:
        return np.zeros(0, dtype=np.int64)
    lack = found.point[V:]
    return np.flatnonzero(lack > _SMALL * needed.jump.max())


def _at_facets(cells: Cells, facets: NDArray[np.int64]) -> Cells:
    """The simplices with some facets split at their middles; of facets of one simplex the first only."""
    whole, simplices, owner = cells.whole.tolist(), list[NDArray[np.int64]](), list[int]()
    touched: set[int] = set()
    for f in facets.tolist():
        pair = cells.pairs[f].tolist()
        if touched & set(pair):
            continue
        touched |= set(pair)
        shared = np.intersect1d(cells.corners[pair[0]], cells.corners[pair[1]])
        whole.append(_middle(cells.whole[shared]))
        for c in pair:
            for v in shared:
                simplices.append(np.where(cells.corners[c] == v, len(whole) - 1, cells.corners[c]))
                owner.append(c)
    rest = [c for c in range(len(cells.corners)) if c not in touched]
    every = np.array([*cells.corners[rest], *simplices], dtype=np.int64)
    return simplicial(np.array(whole, dtype=object), every, cells.laws[:, [*rest, *owner]])


def _middle(rows: NDArray[np.object_]) -> list[int]:
    """The mean of points ``(x, 1) * d``."""
    common = int(np.lcm.reduce(rows[:, -1]))
    total = (rows[:, :-1] * (common // rows[:, -1])[:, None]).sum(axis=0)
    return primitive(np.array([[*total, common * len(rows)]], dtype=object))[0].tolist()  # type: ignore[no-any-return]


def obstruction(cells: Cells) -> ConstructionError:
    """What to say where no lifting was found: with weights that prove that there is none, if there are."""
    shape = Simplicial.of(cells)
    found = weights(cells, shape)
    if found is None:
        return ConstructionError("no convex lifting of these cells was found, and no proof that there is none")
    facets, factors = found
    pairs = cells.pairs[facets].tolist()
    return ConstructionError(
        f"these simplices have no convex lifting: the bends at {len(facets)} facets, between cells {pairs[0]} among "
        "others, cannot all be upwards; take another construction",
        facets=pairs,
        weights=factors,
    )


def weights(cells: Cells, shape: Simplicial) -> tuple[NDArray[np.int64], list[int]] | None:
    """Facets and positive integers: the jumps there, `shape.exact`, times these add up to 0 whatever the heights.

    `p` bends at one of them. None if none were found.
    """
    needed = Needed.of(cells, shape)
    F, V = shape.jumps.shape
    # Most of what jumps must be, over weights of sum 1 whose jumps cancel.
    turned = csr_array(shape.jumps.T)
    rows = csr_array(np.concatenate([turned.toarray(), -turned.toarray(), -np.ones((1, F))]))
    low = np.concatenate([np.full(2 * V, -1e-12), [-1.0]])
    found = solve(-(needed.jump - needed.margin), rows, low, np.zeros(F), solver="simplex", time_limit=60.0)
    if len(found.point) != F:
        return None
    facets = np.flatnonzero(found.point > 1e-9)
    names, coefficients = shape.exact
    used = np.unique(names[facets])
    if len(facets) == 0:
        return None
    table = np.zeros((len(used), len(facets)), dtype=object)
    np.add.at(table, (np.searchsorted(used, names[facets]), np.arange(len(facets))[:, None]), coefficients[facets])
    kernel, nullity = fmpz_mat([[int(v) for v in row] for row in table]).nullspace()
    if nullity != 1:
        return None
    factors = [int(kernel[i, 0]) for i in range(len(facets))]
    sign = 1 if factors[0] > 0 else -1
    factors = [sign * v for v in factors]
    bends = (needed.jump - needed.margin)[facets] > 0
    return (facets, factors) if min(factors) > 0 and bends.any() else None
