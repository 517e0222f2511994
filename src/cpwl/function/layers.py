"""Hidden layers, read off the pieces of a function: its first hyperplanes, and which bends are one neuron.

A network with two hidden layers is ``p = A x + B + sum_i d_i s(h_i) + sum_j v_j s(z_j)`` with ``s = max(0, .)`` and
``z_j = a_j x + b_j + sum_i c_ji s(h_i)``. Where all signs of the `h_i` are fixed (a *region* of the first layer) `p`
is a function of one hidden layer: each bend is a *hinge*, a whole hyperplane on which the law changes by ``v z``.
Across ``h_i = 0`` a hinge goes on as one whose `z` differs by a multiple of `h_i`. So, from the pieces alone:

1. A hyperplane with two different jumps is in the first layer. Of three pieces that are neighbours of each other across
   three hyperplanes, one of these is, too: a cheap cover.
2. Pieces are cut along the first layer; cells of one region that meet on a hyperplane give its hinge.
3. Hinges of neighbouring regions that agree on the hyperplane between them are of one neuron. Sets of hinges of one
   neuron are united where a common `z` exists and is overdetermined.
4. For each neuron `z` solves linear equations. Weights ``c_ji`` are free where the neuron never crosses ``h_i = 0``.

With more layers a hyperplane with two different jumps may be a neuron of any layer but the last; in the first layer are
those that cut few pieces. Steps 2 to 4 then find layer after layer, in the regions of all layers before. The next layer
is the last one if every bend goes through its region with one jump. Otherwise hinges with two different jumps are of
the next layer, and so are those that go on as them; their `z` are known up to a factor, which links settle.

Residues modulo a prime propose; that the network is the function is decided by `cpwl.construct.layers`, at all corners
and rays in rationals. See docs/layers.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import comb
from typing import Any

import numpy as np
from flint import nmod_mat
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import integer_rows, primitive, signs_at
from cpwl.exact.rational import pivots, reduced_rows, residues, to_float
from cpwl.function.cpwl import CPWL
from cpwl.function.merge import merge
from cpwl.function.sums import Graph, graph_of
from cpwl.geometry.bodies import Bodies, compact, solid
from cpwl.geometry.generators import MOST
from cpwl.geometry.overlay import split
from cpwl.geometry.polyhedra import fact
from cpwl.search import cover

_PRIME = 2**61 - 1
MOST_PIECES = 10_000  # pieces beyond which nothing is looked for
_CELLS = 4  # cells a piece, and 200 more, into which the first layer may cut the pieces
_INPUTS = 5  # beyond, cutting a piece with many facets hardly leaves cells with few corners
_INDEPENDENT = 1e-11  # of the largest singular value: smaller ones of equations in floats are 0
_SOME = 12  # bends that are looked at first
_CLASSES = 600  # sets of hinges that are compared with each other
_ENDS = "a bend ends where no hyperplane of a first layer is"
_CORNERS = "this function has too many corners to find layers from its pieces"
_NO_ZERO = "a bend is not the zero set of a function of the layers below"
_NOT = "no network with two or more hidden layers was found that has these pieces"
_NO_HINGE = f"{_NOT}: every hyperplane has different jumps"


@dataclass(frozen=True, slots=True, eq=False)
class Neuron:
    """A neuron of the next layer: outgoing weights `v`, and all weights over the features below that have its hinges.

    Of a neuron that is not in the last layer the weights are known up to a factor, and `v` is empty.
    """

    v: NDArray[np.object_]
    """``(m,)`` rationals."""
    equations: NDArray[np.object_]
    """Reduced rows over ``(a, b, c, right-hand side)``."""
    hinges: NDArray[np.object_]
    """The rows before they were reduced: coefficients of affine functions."""


@dataclass(frozen=True, eq=False)  # without slots: `cached_property` keeps its values in the instance's dictionary
class Cells:
    """The cells into which known layers cut pieces, each on one side of every neuron.

    Layer `l` has integer forms over *coordinates*: the inputs, the positive parts of all forms before, and 1. The
    *features* are the coordinates below the last known layer, and its positive parts.
    """

    piece: NDArray[np.int64]
    bodies: Bodies
    layers: tuple[NDArray[np.object_], ...]

    @property
    def forms(self) -> NDArray[np.object_]:
        """``(k, b + 1)`` integers: the last known layer over `b` coordinates and 1."""
        return self.layers[-1]

    @property
    def start(self) -> NDArray[np.int64]:
        """Cell `c` is spanned by the places ``member[start[c]:start[c + 1]]``."""
        return self.bodies.spans.start

    @property
    def member(self) -> NDArray[np.int64]:
        """Places of cells, one cell after the other."""
        return self.bodies.spans.member

    @cached_property
    def coordinates(self) -> NDArray[np.object_]:
        """``(places, b + 1)``: the coordinates of corners ``(x, 1) w`` and rays ``(r, 0)``."""
        at = self.bodies.places
        for forms in self.layers[:-1]:
            at = np.concatenate([at[:, :-1], np.maximum(at.dot(forms.T), 0), at[:, -1:]], axis=1)
        return at

    @cached_property
    def _regions(self) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """The signs of all neurons in each region, and the region of each cell."""
        found, at = [], self.bodies.places
        for forms in self.layers:
            sign = signs_at(forms, at)[:, self.member]
            found.append(np.maximum.reduceat(sign, self.start[:-1], axis=1) > 0)
            assert not (found[-1] & (np.minimum.reduceat(sign, self.start[:-1], axis=1) < 0)).any()
            if forms is not self.forms:
                at = np.concatenate([at[:, :-1], np.maximum(at.dot(forms.T), 0), at[:, -1:]], axis=1)
        sides, region = np.unique(np.concatenate(found).T, axis=0, return_inverse=True)
        return sides, region.ravel()

    @property
    def sides(self) -> NDArray[np.bool_]:
        """``(regions, all neurons)``: where each is positive."""
        return self._regions[0]

    @property
    def region(self) -> NDArray[np.int64]:
        """The region of each cell."""
        return self._regions[1]

    @cached_property
    def frames(self) -> list[NDArray[np.object_]]:
        """For each layer ``(regions or 1, b + 1, n + 1)``: its coordinates as affine functions of `x`."""
        n, at = self.bodies.places.shape[1], 0
        found = [np.eye(n, dtype=np.int64).astype(object)[None]]
        for forms in self.layers[:-1]:
            own = np.matmul(forms, found[-1])
            on = self.sides[:, at : at + len(forms), None].astype(np.int64).astype(object) * own
            below = np.broadcast_to(found[-1], (len(on), *found[-1].shape[1:]))
            found.append(np.concatenate([below[:, :-1], on, below[:, -1:]], axis=1))
            at += len(forms)
        return found

    @cached_property
    def features(self) -> NDArray[np.object_]:
        """``(regions, b + 1 + k, n + 1)``: the features as affine functions of `x`."""
        on = self.sides[:, -len(self.forms) :, None].astype(np.int64).astype(object)
        below = np.broadcast_to(self.frames[-1], (len(on), *self.frames[-1].shape[1:]))
        return np.concatenate([below, on * np.matmul(self.forms, self.frames[-1])], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Layered:
    """Known layers, and the neurons of the next one, which may be the last."""

    cells: Cells
    neurons: tuple[Neuron, ...]
    last: bool
    laws: NDArray[np.object_]
    """``(pieces, m, n + 1)`` rationals."""
    room: float
    """How far equations may be off."""


def find_layers(p: CPWL, room: float = 0.0) -> Iterator[Layered]:
    """First layers that an exact function may have, the most likely ones first; `ConstructionError` if there are none.

    Pieces are taken as they are, and if some have no bend between them, also merged. There a hyperplane without a bend
    beside facets with one may be a neuron that is not read, or just where pieces were cut. Two hidden layers are looked
    for before more.

    With some `room`, relative to the numbers of an equation, weights need not satisfy it exactly: `p` is an exact
    function near float data, whose bends lie as those of a network, with two hidden layers.
    """
    if p.dim < 2:
        raise ConstructionError(
            'a second layer cannot be read off a function of one input: use construction="univariate"'
        )
    if p.num_pieces > MOST_PIECES:
        raise LimitError(f"`layers` searches at most {MOST_PIECES:,} pieces, not {p.num_pieces:,}")
    reason: ConstructionError | None = None
    for function, deep in ((p, False), (None, False), (p, True))[: 2 if room else 3]:
        if function is None:
            if p.mesh is not None or merge in p.facts or not _has_flat_pairs(p):
                continue
            function = _merged(p)
            if function.num_pieces == p.num_pieces:
                continue
        for flat in (True, False) if _has_flat_pairs(function) else (True,):
            try:
                yield _layers(function, graph_of(function), flat, deep, room)
            except ConstructionError as error:
                reason = reason or error
    if reason is not None:
        raise reason


def next_layer(found: Layered, forms: NDArray[np.object_], weights: NDArray[np.object_]) -> Layered:
    """One layer more: `forms` of the last known layer, turned, and `weights` of the next one over its features."""
    cells, b = found.cells, found.cells.forms.shape[1] - 1
    more = integer_rows(
        np.zeros(0), np.concatenate([weights[:, :b], weights[:, b + 1 :], weights[:, b : b + 1]], axis=1)
    )
    layers = (*cells.layers[:-1], forms, more)
    known = Cells(cells.piece, cells.bodies, layers[:-1])
    shown = np.concatenate([known.features[:, :b], known.features[:, b + 1 :], known.features[:, b : b + 1]], axis=1)
    piece, bodies, region = known.piece, known.bodies, known.region
    most = _CELLS * len(found.laws) + 200
    for own in np.swapaxes(np.matmul(more, shown), 0, 1):
        sided = split(bodies, own[region])
        piece, region, bodies = piece[sided.number], region[sided.number], sided.parts
        if len(bodies) > most:
            raise ConstructionError(f"{_NOT}: its layers would cut {len(found.laws)} pieces into more than {most}")
    return _next(Cells(piece, bodies, layers), found.laws, True, found.room)


def sure_forms(p: CPWL) -> int:
    """How many hyperplanes have two different jumps other than 0 and cut few pieces: each is in a first layer."""
    return len(_whole(p, {h for h, own in _jumps(graph_of(p)).items() if sum(map(any, own)) > 1}))


@fact
def _merged(p: CPWL) -> CPWL:
    """In fewer pieces: equations with and without room ask for the same."""
    return merge(p)


def _has_flat_pairs(p: CPWL) -> bool:
    return not (graph_of(p).jump != 0).any(axis=1).all()


def _layers(p: CPWL, graph: Graph, flat: bool, deep: bool, room: float) -> Layered:
    """The first layers of a function; `flat` says whether the jump 0 counts as one."""
    piece, bodies = solid(p.polyhedra)
    sizes = np.diff(bodies.polyhedra.start)[~bodies.known]
    if p.dim > _INPUTS and any(comb(int(rows) + 1, p.dim) > MOST for rows in sizes):
        raise ConstructionError(_CORNERS)
    first = {h for h, own in _jumps(graph).items() if sum(flat or any(jump) for jump in own) > 1}
    if deep:
        first, every = _whole(p, first), first
        if len(first) == len(every):
            raise ConstructionError(f"{_NOT}: every hyperplane with two different jumps goes through the domain")
    else:
        first |= _of_triples(p, graph, first)
    planes = graph.planes[sorted(first)]
    if not len(planes):
        raise ConstructionError(f"{_NOT}: no hyperplane has two different jumps")
    if first.issuperset(graph.plane[(graph.jump != 0).any(axis=1)].tolist()):
        raise ConstructionError(_NO_HINGE)
    if not deep:
        _check_some(graph, planes, piece, bodies)
    piece, bodies = _cells(p, tuple(map(tuple, planes.tolist())))
    forms = np.column_stack([planes[:, :-1], -planes[:, -1:]])
    found = _next(Cells(piece, bodies, (forms,)), p.laws.rational(), deep, room)
    count = len(found.neurons)
    if not deep and count < 40 and max(len(jumps) for jumps in _jumps(graph).values()) > 2**count:
        raise ConstructionError(f"{_NOT}: a hyperplane has more jumps than {count} neurons have signs")
    return found


def _next(cells: Cells, laws: NDArray[np.object_], deep: bool, room: float) -> Layered:
    """The neurons of the next layer: the last one, or if `deep`, also one before."""
    hinges, last = _hinges(cells, laws[cells.piece], deep)
    if not hinges:
        raise ConstructionError(_NO_HINGE)
    return Layered(cells, _neurons(hinges, cells, last, room), last, laws, room)


# The first layer.


def _whole(p: CPWL, planes: set[int]) -> set[int]:
    """Those hyperplanes that have more than twice as many facets as pieces that they cut."""
    graph, own = graph_of(p), np.array(sorted(planes), dtype=np.int64)
    cut = _cuts(solid(p.polyhedra)[1], graph.planes[own]).sum(axis=1)
    return set(own[2 * cut < np.bincount(graph.plane, minlength=len(graph.planes))[own]].tolist())


def _of_triples(p: CPWL, graph: Graph, first: set[int]) -> set[int]:
    """A cheap cover of what the first hyperplanes leave of triples of neighbours."""
    beside: dict[int, dict[int, int]] = defaultdict(dict)
    for e in np.flatnonzero((graph.jump != 0).any(axis=1)).tolist():
        i, j = int(graph.one[e]), int(graph.two[e])
        beside[i][j] = beside[j][i] = int(graph.plane[e])
    triples = set[tuple[int, ...]]()
    for i, own in beside.items():
        for j, h in own.items():
            for k in own.keys() & beside[j].keys() if i < j else ():
                three = {h, own[k], beside[j][k]}
                if len(three) == 3 and not three & first:
                    triples.add(tuple(sorted(three)))
    if not triples:
        return set()
    rows = sorted(triples)
    used, line = np.unique(np.array(rows, dtype=np.int64), return_inverse=True)
    bodies = solid(p.polyhedra)[1]
    cost = 1.0 + _cuts(bodies, graph.planes[used]).sum(axis=1, dtype=np.float64)
    point = np.repeat(np.arange(len(rows)), 3)
    return set(used[cover(point, line.ravel(), cost)].tolist())


def _jumps(graph: Graph) -> dict[int, set[tuple[Any, ...]]]:
    """The different jumps of each hyperplane."""
    jumps: dict[int, set[tuple[Any, ...]]] = defaultdict(set)
    for h, jump in zip(graph.plane.tolist(), graph.jump, strict=True):
        jumps[h].add(tuple(jump))
    return jumps


def _cuts(bodies: Bodies, planes: NDArray[np.object_]) -> NDArray[np.bool_]:
    """``[h, i]``: whether hyperplane `h` cuts body `i`; one without generators counts as cut."""
    found = np.ones((len(planes), len(bodies)), dtype=bool)
    known = np.flatnonzero(bodies.known)
    if len(known) and len(planes):
        low, high = _least_and_most(bodies, known, planes)
        found[:, known] = (low < 0) & (high > 0)
    return found


def _least_and_most(
    bodies: Bodies, known: NDArray[np.int64], planes: NDArray[np.object_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``[h, i]``: the least and the largest sign of hyperplane `h` at generators of body ``known[i]``."""
    sign = signs_at(np.column_stack([planes[:, :-1], -planes[:, -1:]]), bodies.places)[:, bodies.spans.member]
    at = bodies.spans.start[known]
    return np.minimum.reduceat(sign, at, axis=1), np.maximum.reduceat(sign, at, axis=1)


def _check_some(graph: Graph, planes: NDArray[np.object_], piece: NDArray[np.int64], bodies: Bodies) -> None:
    """A few bends beside those of the first layer do not end inside a region, as far as uncut pieces show it."""
    known = np.flatnonzero(bodies.known)
    if not len(known):
        return
    low, high = _least_and_most(bodies, known, planes)
    whole = np.asarray(~((low < 0) & (high > 0)).any(axis=0))
    number = np.full(graph.pieces, -1, dtype=np.int64)
    number[piece[known[whole]]] = np.flatnonzero(whole)
    first = set(map(tuple, planes.tolist()))
    bent = np.flatnonzero((graph.jump != 0).any(axis=1) & (number[graph.one] >= 0)).tolist()
    some = list(islice((e for e in bent if tuple(graph.planes[graph.plane[e]]) not in first), _SOME))
    cut = _cuts(bodies, graph.planes[graph.plane[some]])[:, known]
    for e, own in zip(some, cut, strict=True):
        k = number[graph.one[e]]
        if (own & whole & ((high > 0) == (high[:, k] > 0)[:, None]).all(axis=0)).any():
            raise ConstructionError(f"{_NOT}: {_ENDS}")


@fact
def _cells(p: CPWL, along: tuple[tuple[int, ...], ...]) -> tuple[NDArray[np.int64], Bodies]:
    """The pieces with an interior, cut along hyperplanes until each cell is on one side of all and contains no line.

    Equations with and without room ask for the same cells.
    """
    planes, most = np.array(along, dtype=object), _CELLS * p.num_pieces + 200
    piece, bodies = solid(p.polyhedra)
    bodies = compact(bodies)
    cuts = _cuts(bodies, planes)
    if len(bodies) + cuts[:, bodies.known].sum() > most:
        raise ConstructionError(f"{_NOT}: its first layer would cut {p.num_pieces} pieces into more than {most}")
    if not bodies.known.all():
        unit = np.concatenate([np.eye(p.dim, dtype=np.int64), np.zeros((p.dim, 1), dtype=np.int64)], axis=1)
        more = _independent(np.concatenate([planes, bodies.rows, unit.astype(object)]))
        planes, cuts = np.concatenate([more, planes]), np.concatenate([np.ones((len(more), len(bodies)), bool), cuts])
    for row in planes[cuts.any(axis=1)]:
        form = np.append(row[:-1], -row[-1])
        sided = split(bodies, np.tile(form, (len(bodies), 1)))
        piece, bodies = piece[sided.number], sided.parts
        if len(bodies) > most:
            raise ConstructionError(f"{_NOT}: its first layer would cut {p.num_pieces} pieces into more than {most}")
    if not bodies.known.all():
        raise ConstructionError(_CORNERS)
    return piece, bodies


def _independent(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """The first rows with independent normals."""
    turned = nmod_mat(rows.shape[1] - 1, len(rows), [int(v) % _PRIME for v in rows[:, :-1].T.ravel()], _PRIME)
    return rows[pivots(*turned.rref())]


# Hinges: bends of one region.


@dataclass(frozen=True, slots=True, eq=False)
class _Hinge:
    """In a region the law changes by ``v z`` where `z` becomes positive; `v` has first entry 1 or -1.

    Below the last layer `z` is known up to a factor. There a hinge is `sure` if the law changes in two ways.
    """

    region: int
    v: tuple[Fraction, ...]
    z: NDArray[np.object_]
    sure: bool


def _hinges(cells: Cells, laws: NDArray[np.object_], deep: bool) -> tuple[list[_Hinge], bool]:
    """The hinges of every region, cells on both sides of a hyperplane whose laws agree on it; whether they are all."""
    jumps, rows = _jumps_of_regions(cells, laws)
    bent = {key for key, own in jumps.items() if any(map(any, own))}
    cut = _cut_in_regions(cells, bent)
    last = all(len(jumps[key]) == 1 and not cut[key] for key in bent)
    if not last and not deep:
        ends = any(len(jumps[key]) == 1 for key in bent if cut[key])
        raise ConstructionError(
            f"{_NOT}: {_ENDS if ends else 'a bend changes where no hyperplane of a first layer is'}"
        )
    found = []
    for region, plane in jumps:
        own, key = jumps[region, plane], (region, plane)
        form = np.array([*plane[:-1], -plane[-1]], dtype=object)
        if not last and 2 * cut.get(key, 0) < rows[key]:
            found.append(_Hinge(region, (), form, len(own) > 1))
        elif last and key in bent:
            jump = next(iter(own))
            size = next(abs(w) for w in jump if w)
            found.append(_Hinge(region, tuple(w / size for w in jump), form * size, True))
    return found, last


_Place = tuple[int, tuple[int, ...]]  # a region and a hyperplane


def _jumps_of_regions(
    cells: Cells, laws: NDArray[np.object_]
) -> tuple[dict[_Place, set[tuple[Any, ...]]], dict[_Place, int]]:
    """The jumps on each hyperplane inside each region, and on how many facets it is seen."""
    rows, owner = cells.bodies.rows, cells.bodies.polyhedra.owner
    pivot = np.argmax(rows[:, :-1] != 0, axis=1)
    lead = rows[np.arange(len(rows)), pivot]
    turned = np.asarray(lead < 0, dtype=bool)  # the cell is where the form of its hyperplane is positive
    canonical = rows * np.where(turned, -1, 1).astype(object)[:, None]
    residue = residues(laws, _PRIME)
    known = _zero_sets(cells)
    groups: dict[_Place, tuple[dict[Any, int], dict[Any, int]]] = {}
    seen: dict[_Place, int] = defaultdict(int)
    for r, plane in enumerate(map(tuple, canonical.tolist())):
        cell, k = int(owner[r]), int(pivot[r])
        own = int(cells.region[cell])
        if plane in known[own if len(known) > 1 else 0]:
            continue
        inverse = pow(plane[k], _PRIME - 2, _PRIME)
        form = np.array([*plane[:-1], -plane[-1]], dtype=object)
        law = residue[cell]
        key = tuple(((law - (law[:, k] * inverse % _PRIME)[:, None] * form) % _PRIME).ravel().tolist())
        pair = groups.setdefault((own, plane), ({}, {}))
        pair[int(turned[r])].setdefault(key, cell)
        seen[own, plane] += int(turned[r])
    jumps = {}
    for place, (below, above) in groups.items():
        plane = place[1]
        k = next(i for i, v in enumerate(plane) if v)
        both = below.keys() & above.keys()
        if both:
            jumps[place] = {tuple((laws[above[key], :, k] - laws[below[key], :, k]) / plane[k]) for key in both}
    return jumps, seen


def _zero_sets(cells: Cells) -> list[set[tuple[int, ...]]]:
    """For each region, or for all, the hyperplanes on which known neurons are 0."""
    frames = cells.frames
    found = []
    for r in range(max(map(len, frames))):
        own = np.concatenate(
            [np.matmul(forms, frame[min(r, len(frame) - 1)]) for forms, frame in zip(cells.layers, frames, strict=True)]
        )
        own = own[np.asarray((own[:, :-1] != 0).any(axis=1), dtype=bool)]
        lead = own[np.arange(len(own)), np.argmax(own[:, :-1] != 0, axis=1)]
        rows = primitive(np.column_stack([own[:, :-1], -own[:, -1:]]))
        found.append(set(map(tuple, (rows * np.where(lead < 0, -1, 1).astype(object)[:, None]).tolist())))
    return found


def _cut_in_regions(cells: Cells, places: Iterable[_Place]) -> dict[_Place, int]:
    """How many cells of its region each hyperplane cuts."""
    where = defaultdict[int, list[tuple[int, ...]]](list)
    for region, plane in places:
        where[region].append(plane)
    found = {}
    for region, planes in where.items():
        own = cells.bodies.take(np.flatnonzero(cells.region == region))
        count = _cuts(compact(own), np.array(planes, dtype=object)).sum(axis=1)
        found.update({(region, plane): int(c) for plane, c in zip(planes, count, strict=True)})
    return found


# Neurons: hinges of one function z.


def _neurons(hinges: list[_Hinge], cells: Cells, last: bool, room: float) -> tuple[Neuron, ...]:
    """Classes of hinges with their equations, united as far as that is overdetermined."""
    label, factor = _linked(hinges, cells, last)
    classes: dict[int, list[int]] = defaultdict(list)
    for e, at in enumerate(label):
        classes[at].append(e)
    if len(classes) > _CLASSES:
        raise ConstructionError(f"{_NOT}: its bends fall into {len(classes)} parts that do not meet")
    items = [_Class(tuple(own), tuple(factor[e] for e in own)) for own in classes.values()]
    united = [item for item in _united(items, hinges, cells, last, room) if any(hinges[e].sure for e in item.own)]
    neurons = []
    for item in united:
        rows = _equations(item, hinges, cells)
        reduced = consistent(rows, room)
        if reduced is None:
            raise ConstructionError(f"{_NOT}: {_NO_ZERO}")
        neurons.append(Neuron(np.array(hinges[item.own[0]].v, dtype=object), reduced, rows))
    if not neurons:
        raise ConstructionError(f"{_NOT}: no bend goes through a region and changes there")
    return tuple(neurons)


@dataclass(frozen=True, slots=True)
class _Class:
    own: tuple[int, ...]
    factor: tuple[Fraction | int, ...]

    def times(self, factor: Fraction | int) -> tuple[Fraction | int, ...]:
        return tuple(factor * own for own in self.factor)


def _equations(item: _Class, hinges: list[_Hinge], cells: Cells) -> NDArray[np.object_]:
    """What the weights of a neuron satisfy: its features add up to ``factor z`` on the region of each hinge."""
    rows = [
        np.concatenate([cells.features[hinges[e].region], (hinges[e].z * factor)[None]]).T
        for e, factor in zip(item.own, item.factor, strict=True)
    ]
    return np.concatenate(rows)


def _linked(hinges: list[_Hinge], cells: Cells, last: bool) -> tuple[list[int], list[Fraction | int]]:
    """The class of each hinge, and its factor in it: those on both sides of a neuron that agree where it is 0."""
    mask = [sum(1 << i for i in np.flatnonzero(row).tolist()) for row in cells.sides]
    z = residues(np.array([hinge.z for hinge in hinges], dtype=object), _PRIME)
    region = np.array([hinge.region for hinge in hinges])
    links: dict[int, list[tuple[int, Fraction | int]]] = defaultdict(list)
    for i, form in enumerate(_forms_on_regions(cells)):
        at = form[region if len(form) > 1 else np.zeros(len(hinges), dtype=np.int64)]
        pivot = np.argmax(at[:, :-1] != 0, axis=1)
        lead, top = at[np.arange(len(at)), pivot], z[np.arange(len(at)), pivot]
        inverse = residues(np.asarray(_over(1, np.where(lead == 0, 1, lead))), _PRIME)
        unit = residues(at, _PRIME) * inverse[:, None] % _PRIME
        rest = (z - top[:, None] * unit) % _PRIME
        meeting: dict[Any, tuple[list[tuple[int, Any]], list[tuple[int, Any]]]] = {}
        for e in np.flatnonzero(lead != 0).tolist():
            row = rest[e].tolist()
            c = next((c for c, v in enumerate(row) if v), None)
            if c is None:
                continue
            if last:
                other = [-v % _PRIME for v in row]
                s: Any = 1 if row <= other else -1
                row = row if s > 0 else other
            else:
                s = hinges[e].z[c] - Fraction(hinges[e].z[pivot[e]] * at[e, c], at[e, pivot[e]])
                by = pow(row[c], _PRIME - 2, _PRIME)
                row = [v * by % _PRIME for v in row]
            own = mask[hinges[e].region]
            key = own & ~(1 << i), hinges[e].v, tuple(row)
            meeting.setdefault(key, ([], []))[own >> i & 1].append((e, s))
        for below, above in meeting.values():
            if len(below) == len(above) == 1:
                (e, s), (f, t) = below[0], above[0]
                links[e].append((f, s * t if last else s / t))
                links[f].append((e, s * t if last else t / s))
    return _classes(len(hinges), links)


def _forms_on_regions(cells: Cells) -> Iterator[NDArray[np.object_]]:
    """Each known neuron as ``(regions or 1, n + 1)``: the affine function that it is before its ReLU."""
    for forms, frame in zip(cells.layers, cells.frames, strict=True):
        yield from np.swapaxes(np.matmul(forms, frame), 0, 1)


def _classes(count: int, links: dict[int, list[tuple[int, Fraction | int]]]) -> tuple[list[int], list[Fraction | int]]:
    """Classes of what is linked, and factors that satisfy all links ``factor[f] = factor[e] link``."""
    label, factor = [-1] * count, list[Fraction | int]([1] * count)
    for begin in range(count):
        todo = [begin] if label[begin] < 0 else []
        for e in todo:  # grows
            label[e] = begin
            for f, link in links[e]:
                if label[f] < 0:
                    label[f], factor[f] = begin, factor[e] * link
                    todo.append(f)
                elif factor[f] != factor[e] * link:
                    raise ConstructionError(f"{_NOT}: a bend runs into itself from the other side")
    return label, factor


def _united(items: list[_Class], hinges: list[_Hinge], cells: Cells, last: bool, room: float) -> list[_Class]:
    """Classes of one neuron: a common `z` exists, and fewer equations are independent than of both together.

    In the last layer a class may be turned; before, it has a factor that the equations must settle.
    """
    count = cells.features.shape[1]  # unknowns; a row has its right-hand side, too

    unit = np.append(np.maximum(to_float(np.abs(cells.features).max(axis=(0, 2))), 1e-300), 1.0) if room else None

    def reduced(item: _Class) -> list[Any] | None:
        rows = _equations(item, hinges, cells)
        if unit is not None:
            return _near((to_float(rows) / unit).ravel(), count, room)
        return _modular(residues(rows, _PRIME).ravel(), count)

    tables = [reduced(item) for item in items]
    if any(table is None for table, item in zip(tables, items, strict=True) if any(hinges[e].sure for e in item.own)):
        raise ConstructionError(f"{_NOT}: {_NO_ZERO}")
    pairs = [(item, table) for item, table in zip(items, tables, strict=True) if table is not None]
    sure = {item: any(hinges[e].sure for e in item.own) for item, _ in pairs}
    done: list[tuple[_Class, list[Any]]] = []
    for item, table in sorted(pairs, key=lambda pair: (not sure[pair[0]], -len(pair[1]))):
        for at, (other, known) in enumerate(done):
            if hinges[other.own[0]].v != hinges[item.own[0]].v:
                continue
            factor: Fraction | int | None = _turn(known, table, count, room) if last else _factor(known, table, count)
            if factor is None:
                continue
            if not last:
                factor = _exact_factor(other, item, hinges, cells)
            joined = _Class(other.own + item.own, other.factor + item.times(factor))
            both = reduced(joined)
            if both is not None:
                done[at] = joined, both
                break
        else:
            if sure[item]:
                done.append((item, table))
    return [item for item, _ in done]


def _turn(one: list[Any], two: list[Any], count: int, room: float) -> int | None:
    """1 or -1, whichever times the right-hand sides of the second equations leaves fewer independent ones of both."""
    for s in (1, -1):
        both = one + [s * v if k % (count + 1) == count else v for k, v in enumerate(two)]
        most = len(one) + len(two) - 1
        if (_near(both, count, room, most) if room else _modular([v % _PRIME for v in both], count, most)) is not None:
            return s
    return None


def _factor(one: list[int], two: list[int], count: int) -> int | None:
    """The factor of the right-hand sides of the second equations that both settle, with an equation to spare."""
    flat = [*_widened(one, count, known=True), *_widened(two, count, known=False)]
    reduced, rank = nmod_mat(len(flat) // (count + 2), count + 2, flat, _PRIME).rref()
    if rank * (count + 1) >= len(one) + len(two) or int(reduced[rank - 1, count]) != 1:
        return None
    return int(reduced[rank - 1, count + 1]) or None


def _exact_factor(one: _Class, two: _Class, hinges: list[_Hinge], cells: Cells) -> Fraction:
    """The factor that `_factor` found a residue of."""
    count = cells.features.shape[1]
    first, second = (_equations(item, hinges, cells).ravel() for item in (one, two))
    flat = np.array(_widened(first, count, known=True) + _widened(second, count, known=False), dtype=object)
    return Fraction(reduced_rows(flat.reshape(-1, count + 2))[-1, -1])


def _widened(table: Iterable[Any], count: int, *, known: bool) -> list[Any]:
    """Equations with one more unknown, the factor of their right-hand sides, or with factor 1."""
    flat = list(table)
    rows = [flat[k : k + count + 1] for k in range(0, len(flat), count + 1)]
    return [v for row in rows for v in ([*row[:-1], 0, row[-1]] if known else [*row[:-1], -row[-1], 0])]


def _modular(entries: Iterable[int], count: int, most: float = np.inf) -> list[int] | None:
    """Equations in `count` unknowns in reduced echelon form modulo the prime, as a flat list.

    None if they have no solution, or if the list would be longer than `most`."""
    flat = list(entries)
    reduced, rank = nmod_mat(len(flat) // (count + 1), count + 1, flat, _PRIME).rref()
    if rank * (count + 1) > most or not any(int(reduced[rank - 1, k]) for k in range(count)):
        return None
    return [int(v) for v in reduced.entries()[: rank * (count + 1)]]


def _near(entries: Iterable[float], count: int, room: float, most: float = np.inf) -> list[float] | None:
    """The same for equations in floats: as many orthogonal combinations of them as are independent."""
    table = np.array(list(entries)).reshape(-1, count + 1)
    left, size, _ = np.linalg.svd(table[:, :-1], full_matrices=False)
    rank = int((size > _INDEPENDENT * size[0]).sum())
    kept = left[:, :rank].T @ table
    off = np.abs(table - left[:, :rank] @ kept)[:, -1].max()
    if kept.size > most or off > room * np.abs(table[:, -1]).max():
        return None
    return [float(v) for v in kept.ravel()]


def consistent(rows: NDArray[np.object_], room: float, size: float = 0.0) -> NDArray[np.object_] | None:
    """The reduced rows of equations; None if they have no solution, even within the room that there is.

    With room, relative to `size` or the largest right-hand side, these are those of the solution by least squares.
    """
    reduced = reduced_rows(rows)
    if not len(reduced) or reduced[-1, :-1].any():
        return reduced
    leading = [next(j for j, v in enumerate(row) if v) for row in reduced[:-1]]
    table = to_float(rows[:, [*leading, -1]])
    unit = np.abs(table[:, :-1]).max(axis=0)
    table[:, :-1] /= unit
    x = np.linalg.lstsq(table[:, :-1], table[:, -1], rcond=None)[0]
    if not np.abs(table[:, :-1] @ x - table[:, -1]).max() <= room * max(size, np.abs(table[:, -1]).max()):
        return None
    x /= unit
    right = rows[:, leading].dot(np.array([Fraction(v) for v in x.tolist()], dtype=object))
    return reduced_rows(np.column_stack([rows[:, :-1], right]))


_over = np.frompyfunc(Fraction, 2, 1)
