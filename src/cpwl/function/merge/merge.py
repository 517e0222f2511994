"""Fewer pieces for the same function: pieces of one law whose union is convex become one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cpwl.function.components import label_maps
from cpwl.function.known import Known
from cpwl.function.lineality import divided
from cpwl.function.merge.contacts import Contacts, facets_of_simplex
from cpwl.function.merge.convex_union import Body, Group, Merger
from cpwl.function.parts import Mesh, Parts
from cpwl.geometry.facets import Facet, Hyperplanes, facets_of, hyperplanes, redundant_rows
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe
from cpwl.geometry.spans import Spans

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["merge", "plan_merge"]


def merge(p: CPWL, spans: Spans | None = None) -> CPWL:
    """The same function in fewer pieces, or `p` itself if no pieces can be merged.

    Exactly for exact data. For float data a row bounds a piece within `tol`, relative, and the law of the first
    piece stands for those of its component. Neighbours that are known are not looked for, and `spans`, corners and
    rays of all pieces, decide without linear programs.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1]], [[-1], [1]], [[-1]]], [[0], [0, 2], [-2]], [[0], [1], [1]], [0, 0, 0])
    >>> merge(p).num_pieces
    2
    """
    small = p if spans is not None else divided(p).function
    polyhedra = replace(small.polyhedra, exact=small.polyhedra.integer()) if p.tol == 0 else small.polyhedra
    label = label_maps(p.component)
    pairs = None if small.known is None else small.known.neighbours
    if pairs is not None and not (label[pairs[:, 0]] == label[pairs[:, 1]]).any():
        return p
    planes, probe = hyperplanes(polyhedra, p.tol), Probe(p.tol, polyhedra.unit())
    if pairs is not None:
        near = _one_row_a_plane(polyhedra, planes, np.unique(pairs[label[pairs[:, 0]] == label[pairs[:, 1]]][:, :2]))
        facets = {i: _facets(polyhedra, i) for i in near.tolist()}
        spans = _spans_of(polyhedra, near) if spans is None else spans
        groups = plan_merge(polyhedra, planes, label, facets, probe, spans=spans, known=small.known)
    else:
        facets = {}
        # A loop over pieces: each takes linear programs of its own, unless it is a simplex.
        for i in _with_neighbours(polyhedra.owner, planes.number, planes.side, label):
            if p.mesh is not None:
                facets[i] = facets_of_simplex(p.mesh, i)
            elif probe.interior(polyhedra[i]) is not None:
                facets[i] = facets_of(polyhedra, planes, i, probe)
        groups = plan_merge(polyhedra, planes, label, facets, probe, p.mesh)
    return _merged(p, groups) if groups else p


def plan_merge(
    polyhedra: Polyhedra,
    planes: Hyperplanes,
    label: NDArray[np.int64],
    facets: dict[int, list[Facet]],
    probe: Probe,
    mesh: Mesh | None = None,
    spans: Spans | None = None,
    known: Known | None = None,
) -> list[Group]:
    """The groups of two and more pieces that become one, by their first members.

    `label` is equal where the law is; `facets` has those of every piece that may be merged. For exact data the stack
    must carry its integers. With neighbours that are `known` the facets are all rows.
    """
    every = np.array([(f.piece, f.row) for own in facets.values() for f in own], dtype=np.int64).reshape(-1, 2)
    owner, row = every.T
    near = _with_neighbours(owner, planes.number[row], planes.side[row], label)
    pairs = None if known is None else known.neighbours
    contacts = Contacts(polyhedra, planes, label, {i: facets[i] for i in near}, probe, mesh, pairs)
    spans = _spans_of_mesh(mesh) if mesh is not None else spans
    bodies = {}
    for i in near:
        loose = frozenset[int]()
        if probe.tol and pairs is None:
            redundant = {r for r, _ in redundant_rows(polyhedra, planes, facets[i], probe)}
            rows = range(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))
            loose = frozenset(rows) - redundant - {f.row for f in facets[i]}
        corners = None if spans is None or spans.start[i] == spans.start[i + 1] else spans.of_piece(i)
        bodies[i] = Body((i,), contacts.facets[i], loose, corners)
    inner = None if known is None else known.inner
    return Merger(polyhedra, planes, contacts, bodies, probe, spans, inner).run()


def _one_row_a_plane(polyhedra: Polyhedra, planes: Hyperplanes, which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The pieces whose rows are all on different hyperplanes: float data may have facets too close to be told apart."""
    rows = np.flatnonzero(np.isin(polyhedra.owner, which))
    keys, count = np.unique(np.stack([polyhedra.owner[rows], planes.number[rows]]), axis=1, return_counts=True)
    return np.setdiff1d(which, keys[0, count > 1])


def _facets(polyhedra: Polyhedra, i: int) -> list[Facet]:
    """All rows of a piece that has no redundant ones; no points, since nobody asks for them."""
    nowhere = np.zeros(0)
    return [Facet(i, r, nowhere) for r in range(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))]


def _spans_of(polyhedra: Polyhedra, which: NDArray[np.int64]) -> Spans:
    """Corners and rays of some pieces, where they are cheap."""
    found = Spans.of(generators(polyhedra.take(which)))
    lengths = np.zeros(len(polyhedra), dtype=np.int64)
    lengths[which] = np.diff(found.start)
    return replace(found, start=np.concatenate([[0], np.cumsum(lengths)]))


def _spans_of_mesh(mesh: Mesh) -> Spans:
    """The corners of simplices."""
    count, size = mesh.simplices.shape
    start = np.arange(0, count * size + 1, size, dtype=np.int64)
    view = np.column_stack([mesh.points, np.ones(len(mesh.points))])
    view /= np.abs(view).max(axis=1, keepdims=True)
    return Spans(view, mesh.corners, start, mesh.simplices.ravel(), size - 1)


def _with_neighbours(
    owner: NDArray[np.int64], number: NDArray[np.int64], side: NDArray[np.int64], label: NDArray[np.int64]
) -> list[int]:
    """The pieces with a row on a hyperplane that has a row of the same label on its other side."""
    place = number * (label.max(initial=0) + 1) + label[owner]
    both = np.intersect1d(place[side > 0], place[side < 0])
    return [int(i) for i in np.unique(owner[np.isin(place, both)])]


def _merged(p: CPWL, groups: list[Group]) -> CPWL:
    """The function with each group as one piece, in the place of its first member."""
    start = p.polyhedra.start
    rows = {i: np.arange(start[i], start[i + 1]) for i in range(p.num_pieces)}
    for group in groups:
        rows[group.members[0]] = np.array(group.rows, dtype=np.int64)
        for i in group.members[1:]:
            del rows[i]
    chosen = np.concatenate(list(rows.values())).astype(np.int64)
    first = np.cumsum([0, *(len(r) for r in rows.values())], dtype=np.int64)
    exact = None if p.polyhedra.exact is None else p.polyhedra.exact[chosen]
    polyhedra = Polyhedra(p.polyhedra.A[chosen], p.polyhedra.b[chosen], first, exact)
    first_members = np.array(list(rows), dtype=np.int64)
    laws = p.laws.take(first_members)
    known = None if p.known is None else replace(p.known.take(first_members), complete=p.known.complete)
    return type(p).from_parts(Parts(polyhedra, laws, p.domain, p.tol, known=known))
