"""Fewer pieces for the same function: pieces of one law whose union is convex become one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import within_float64
from cpwl.function.components import label_maps
from cpwl.function.cpwl import CPWL
from cpwl.function.lineality import divided
from cpwl.function.merge.contacts import Contacts, facets_by_rays, facets_of_simplex, twins_in_mesh
from cpwl.function.merge.convex_union import Body, Group, Merger
from cpwl.function.parts import Mesh, Parts
from cpwl.geometry.facets import Facet, Hyperplanes, facets_of, hyperplanes, redundant_rows
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.geometry.spans import Spans

__all__ = ["merge", "plan_merge"]


@within_float64()
def merge(p: CPWL, spans: Spans | None = None) -> CPWL:
    """The same function in fewer pieces, or `p` itself if no pieces can be merged.

    Exactly for exact data. For float data a row bounds a piece within `tol`, relative, and the law of the first
    piece stands for those of its component. Neighbours that are known are not looked for, and then corners and rays,
    `spans` if they are known too, decide without linear programs.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[1]], [[-1], [1]], [[-1]]], [[0], [0, 2], [-2]], [[0], [1], [1]], [0, 0, 0])
    >>> merge(p).num_pieces
    2
    """
    if p.known is None or p.known.inner is None or p.known.neighbours is None:
        spans = None  # corners far away say nothing about what floats cannot see
    small = p if spans is not None else divided(p).function
    polyhedra = small.polyhedra.exactly() if p.tol == 0 else small.polyhedra
    planes, probe, label = hyperplanes(polyhedra, p.tol), Probe(p.tol, polyhedra.unit(p.tol)), label_maps(p.component)
    known = _known_contacts(small)
    near = _with_neighbours(polyhedra.owner, planes.number, planes.side, label)
    if known is not None:
        near = _one_row_a_plane(polyhedra, planes, near)
        near = [i for i in near if not p.tol or _is_thick(polyhedra[i], known[0][i], p.tol)]
        spans = _spans_of(polyhedra, near) if spans is None else spans
    facets: dict[int, list[Facet]] = {}
    # A loop over pieces: each takes linear programs of its own, unless it is a simplex.
    for i in near:
        if p.mesh is not None:
            facets[i] = facets_of_simplex(p.mesh, i)
        elif known is not None:
            facets[i] = facets_by_rays(polyhedra, i, known[0][i])
        elif probe.interior(polyhedra[i]) is not None:
            facets[i] = facets_of(polyhedra, planes, i, probe)
    groups = plan_merge(polyhedra, planes, label, facets, probe, p.mesh, None if known is None else known[1], spans)
    return _merged(p, groups) if groups else p


def plan_merge(
    polyhedra: Polyhedra,
    planes: Hyperplanes,
    label: NDArray[np.int64],
    facets: dict[int, list[Facet]],
    probe: Probe,
    mesh: Mesh | None = None,
    twins: dict[int, int] | None = None,
    spans: Spans | None = None,
) -> list[Group]:
    """The groups of two and more pieces that become one, by their first members.

    `label` is equal where the law is; `facets` has those of every piece that may be merged. For exact data the stack
    must carry its integers. `twins`, if given, has the piece beyond each facet that is not of the boundary; then all
    rows are facets. `spans` has corners and rays, where they are known.
    """
    every = np.array([(f.piece, f.row) for own in facets.values() for f in own], dtype=np.int64).reshape(-1, 2)
    owner, row = every.T
    near = _with_neighbours(owner, planes.number[row], planes.side[row], label)
    all_known = twins is not None
    if twins is None:
        twins = {} if mesh is None else twins_in_mesh(mesh)
    own = {i: facets[i] for i in near}
    contacts = Contacts(polyhedra, planes, label, own, probe, twins, all_known=all_known)
    if mesh is not None:
        spans = Spans.of_simplices(mesh.points, mesh.corners, mesh.simplices)
    bodies = {}
    for i in near:
        loose = frozenset[int]()
        if probe.tol and not all_known:
            redundant = {r for r, _ in redundant_rows(polyhedra, planes, facets[i], probe)}
            rows = range(int(polyhedra.start[i]), int(polyhedra.start[i + 1]))
            loose = frozenset(rows) - redundant - {f.row for f in facets[i]}
        corners = None if spans is None or spans.start[i] == spans.start[i + 1] else spans.of_piece(i)
        bodies[i] = Body((i,), contacts.facets[i], loose, corners)
    return Merger(polyhedra, planes, contacts, bodies, probe, spans).run()


def _one_row_a_plane(polyhedra: Polyhedra, planes: Hyperplanes, which: list[int]) -> list[int]:
    """The pieces whose rows are all on different hyperplanes: float data may have facets too close to be told apart."""
    keys, count = np.unique(np.stack([polyhedra.owner, planes.number]), axis=1, return_counts=True)
    return [int(i) for i in np.setdiff1d(which, keys[0, count > 1])]


def _is_thick(body: Polyhedron, inner: NDArray[Any], tol: float) -> bool:
    """Whether a ball around the point that is large enough to be seen in float data is inside."""
    x = np.asarray(inner, dtype=np.float64)
    slack = (body.b - body.A @ x) / np.abs(body.A).sum(axis=1)
    return bool((slack > 2 * tol * (1 + np.abs(x).max(initial=0.0))).all())


def _spans_of(polyhedra: Polyhedra, which: list[int]) -> Spans:
    """Corners and rays of some pieces, where they are cheap."""
    found = Spans.of(generators(polyhedra.take(np.array(which, dtype=np.int64))))
    lengths = np.zeros(len(polyhedra), dtype=np.int64)
    lengths[which] = np.diff(found.start)
    return replace(found, start=np.concatenate([[0], np.cumsum(lengths)]))


def _known_contacts(p: CPWL) -> tuple[NDArray[Any], dict[int, int]] | None:
    """A point inside each piece, and the piece beyond each row, if the maker of the function knows both."""
    known = p.known
    if known is None or known.inner is None or known.neighbours is None:
        return None
    one, two, row = known.neighbours.T
    twins = dict(zip(row.tolist(), two.tolist(), strict=True))
    planes = hyperplanes(p.polyhedra, p.tol)
    # Each pair may be there in one sense only: the row of the other piece is the one on the same hyperplane.
    rows: dict[tuple[int, int], int] = {}
    for r, key in enumerate(zip(p.polyhedra.owner.tolist(), planes.number.tolist(), strict=True)):
        rows.setdefault(key, r)
    back = ((rows.get((j, int(planes.number[r]))), i) for i, j, r in zip(one.tolist(), two.tolist(), row, strict=True))
    return known.inner, twins | {r: i for r, i in back if r is not None and r not in twins}


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
    laws = p.laws.take(np.array(list(rows), dtype=np.int64))
    known = None if p.known is None else replace(p.known.take(np.array(list(rows))), complete=p.known.complete)
    merged = CPWL.from_parts(Parts(polyhedra, laws, p.domain, p.tol, known=known))
    return replace(merged, complete=p.complete)
