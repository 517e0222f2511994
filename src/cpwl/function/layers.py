"""Two hidden layers, read off the pieces of a function: its first hyperplanes, and which bends are one neuron.

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

Residues modulo a prime propose; that the network is the function is decided by `cpwl.construct.layers`, at all corners
and rays in rationals. See docs/layers.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import comb
from typing import Any

import numpy as np
from flint import nmod_mat
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import number_rows, signs_at
from cpwl.exact.rational import pivots, reduced_rows, residues
from cpwl.exact.sparse import Union
from cpwl.function.cpwl import CPWL
from cpwl.function.merge import merge
from cpwl.function.sums import Graph, graph_of
from cpwl.geometry.bodies import Bodies, solid
from cpwl.geometry.generators import MOST, Generators
from cpwl.geometry.overlay import split
from cpwl.search import cover

_PRIME = 2**61 - 1
MOST_PIECES = 10_000  # pieces beyond which nothing is looked for
_CELLS = 4  # cells a piece, and 200 more, into which the first layer may cut the pieces
_INPUTS = 5  # beyond, cutting a piece with many facets hardly leaves cells with few corners
_SOME = 12  # bends that are looked at first
_CLASSES = 600  # sets of hinges that are compared with each other
_ENDS = "a bend ends where no hyperplane of a first layer is"
_CORNERS = "this function has too many corners to find layers from its pieces"
_NOT = "no network with two hidden layers was found that has these pieces"


@dataclass(frozen=True, slots=True, eq=False)
class Neuron:
    """A neuron of the second layer: outgoing weights `v`, and all ``(a, b, c)`` that have its hinges."""

    v: NDArray[np.object_]
    """``(m,)`` rationals."""
    equations: NDArray[np.object_]
    """Reduced rows over ``(a, b, c, right-hand side)``."""
    regions: NDArray[np.int64]
    """The regions of the first layer in which it has a hinge."""


@dataclass(frozen=True, slots=True, eq=False)
class Layered:
    """Forms ``(g, o)`` of the first layer, neurons of the second, and the cells into which the first cuts pieces."""

    forms: NDArray[np.object_]
    """``(k, n + 1)`` integers: ``h(x) = g . x + o``."""
    neurons: tuple[Neuron, ...]
    places: NDArray[np.object_]
    """Corners ``(x, 1) w`` and rays ``(r, 0)`` of all cells."""
    member: NDArray[np.int64]
    start: NDArray[np.int64]
    """Cell `c` is spanned by the places ``member[start[c]:start[c + 1]]``."""
    laws: NDArray[np.object_]
    """``(cells, m, n + 1)`` rationals."""
    region: NDArray[np.int64]
    """The region of each cell."""
    sides: NDArray[np.bool_]
    """``(regions, k)``: where each form is positive."""


def find_layers(p: CPWL) -> Iterator[Layered]:
    """Layers that an exact function may have, the most likely ones first; `ConstructionError` if there are none.

    Pieces are taken as they are, and if some have no bend between them, also merged. There a hyperplane without a bend
    beside facets with one may be a neuron that is not read, or just where pieces were cut.
    """
    if p.dim < 2:
        raise ConstructionError(
            'a second layer cannot be read off a function of one input: use construction="univariate"'
        )
    if p.num_pieces > MOST_PIECES:
        raise LimitError(f"`layers` searches at most {MOST_PIECES:,} pieces, not {p.num_pieces:,}")
    reason: ConstructionError | None = None
    for function in (p, None):
        if function is None:
            if p.mesh is not None or merge in p.facts or not _has_flat_pairs(p):
                break
            function = merge(p)
            if function.num_pieces == p.num_pieces:
                break
        for flat in (True, False) if _has_flat_pairs(function) else (True,):
            try:
                yield _layers(function, graph_of(function), flat)
            except ConstructionError as error:
                reason = reason or error
    if reason is not None:
        raise reason


def sure_forms(p: CPWL) -> int:
    """How many hyperplanes have two different jumps other than 0: each is in the first layer that is looked for."""
    return sum(sum(map(any, own)) > 1 for own in _jumps(graph_of(p)).values())


def _has_flat_pairs(p: CPWL) -> bool:
    return not (graph_of(p).jump != 0).any(axis=1).all()


def _layers(p: CPWL, graph: Graph, flat: bool) -> Layered:
    """The layers of a function; `flat` says whether the jump 0 counts as one."""
    piece, bodies = solid(p.polyhedra)
    sizes = np.diff(bodies.polyhedra.start)[~bodies.known]
    if p.dim > _INPUTS and any(comb(int(rows) + 1, p.dim) > MOST for rows in sizes):
        raise ConstructionError(_CORNERS)
    planes = graph.planes[_first_layer(p, graph, flat)]
    if not len(planes):
        raise ConstructionError(f"{_NOT}: no hyperplane has two different jumps")
    _check_some(graph, planes, piece, bodies)
    piece, bodies = _cells(p, planes, piece, bodies)
    forms = np.column_stack([planes[:, :-1], -planes[:, -1:]])
    start, member = bodies.spans.start, bodies.spans.member
    sign = signs_at(forms, bodies.places)[:, member]
    sides, region = np.unique(np.maximum.reduceat(sign, start[:-1], axis=1).T > 0, axis=0, return_inverse=True)
    laws = p.laws.take(piece).rational()
    hinges = _hinges(bodies, region.ravel(), planes, laws)
    if not hinges:
        raise ConstructionError(f"{_NOT}: every hyperplane has different jumps")
    neurons = _neurons(hinges, forms, sides)
    if len(neurons) < 40 and max(len(jumps) for jumps in _jumps(graph).values()) > 2 ** len(neurons):
        raise ConstructionError(f"{_NOT}: a hyperplane has more jumps than {len(neurons)} neurons have signs")
    return Layered(forms, neurons, bodies.places, member, start, laws, region.ravel(), sides)


# The first layer.


def _first_layer(p: CPWL, graph: Graph, flat: bool) -> NDArray[np.int64]:
    """Hyperplanes with two different jumps, and a cheap cover of what they leave of triples of neighbours."""
    first = {h for h, own in _jumps(graph).items() if sum(flat or any(jump) for jump in own) > 1}
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
    if triples:
        rows = sorted(triples)
        used, line = np.unique(np.array(rows, dtype=np.int64), return_inverse=True)
        bodies = solid(p.polyhedra)[1]
        cost = 1.0 + _cuts(bodies, graph.planes[used]).sum(axis=1, dtype=np.float64)
        point = np.repeat(np.arange(len(rows)), 3)
        first |= set(used[cover(point, line.ravel(), cost)].tolist())
    return np.array(sorted(first), dtype=np.int64)


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


def _cells(
    p: CPWL, planes: NDArray[np.object_], piece: NDArray[np.int64], bodies: Bodies
) -> tuple[NDArray[np.int64], Bodies]:
    """The pieces with an interior, cut along hyperplanes until each cell is on one side of all and contains no line."""
    bodies, most = _compact(bodies), _CELLS * p.num_pieces + 200
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
        piece, bodies = piece[sided.number], _compact(sided.parts)
        if len(bodies) > most:
            raise ConstructionError(f"{_NOT}: its first layer would cut {p.num_pieces} pieces into more than {most}")
    if not bodies.known.all():
        raise ConstructionError(_CORNERS)
    return piece, bodies


def _independent(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """The first rows with independent normals."""
    turned = nmod_mat(rows.shape[1] - 1, len(rows), [int(v) % _PRIME for v in rows[:, :-1].T.ravel()], _PRIME)
    return rows[pivots(*turned.rref())]


def _compact(bodies: Bodies) -> Bodies:
    """The same with every place once."""
    used, at = np.unique(bodies.spans.member, return_inverse=True)
    first, new = number_rows(bodies.places[used])
    return Bodies(bodies.polyhedra, Generators(bodies.places[used[first]], new[at.ravel()], bodies.spans.start))


# Hinges: bends of one region.


@dataclass(frozen=True, slots=True, eq=False)
class _Hinge:
    """In a region the law changes by ``v z`` where `z` becomes positive; `v` has first entry 1 or -1."""

    region: int
    v: tuple[Fraction, ...]
    z: NDArray[np.object_]


def _hinges(
    bodies: Bodies, region: NDArray[np.int64], planes: NDArray[np.object_], laws: NDArray[np.object_]
) -> list[_Hinge]:
    """The hinges of every region: cells on both sides of a hyperplane whose laws agree on it."""
    rows, owner = bodies.rows, bodies.polyhedra.owner
    pivot = np.argmax(rows[:, :-1] != 0, axis=1)
    lead = rows[np.arange(len(rows)), pivot]
    turned = np.asarray(lead < 0, dtype=bool)  # the cell is where the form of its hyperplane is positive
    canonical = rows * np.where(turned, -1, 1).astype(object)[:, None]
    first = set(map(tuple, planes.tolist()))
    residue = residues(laws, _PRIME)
    groups: dict[tuple[int, tuple[int, ...]], tuple[dict[Any, int], dict[Any, int]]] = {}
    for r, plane in enumerate(map(tuple, canonical.tolist())):
        if plane in first:
            continue
        cell, k = int(owner[r]), int(pivot[r])
        inverse = pow(plane[k], _PRIME - 2, _PRIME)
        form = np.array([*plane[:-1], -plane[-1]], dtype=object)
        law = residue[cell]
        key = tuple(((law - (law[:, k] * inverse % _PRIME)[:, None] * form) % _PRIME).ravel().tolist())
        pair = groups.setdefault((int(region[cell]), plane), ({}, {}))
        pair[int(turned[r])].setdefault(key, cell)
    found, where = [], defaultdict[int, list[tuple[int, ...]]](list)
    for (own, plane), (below, above) in groups.items():
        k = next(i for i, v in enumerate(plane) if v)
        jumps = {
            tuple((laws[above[key], :, k] - laws[below[key], :, k]) / plane[k]) for key in below.keys() & above.keys()
        }
        if len(jumps) > 1:
            raise ConstructionError(f"{_NOT}: a bend changes where no hyperplane of a first layer is")
        jump = next(iter(jumps), ())
        if any(jump):
            size = next(abs(w) for w in jump if w)
            form = np.array([*plane[:-1], -plane[-1]], dtype=object)
            found.append(_Hinge(own, tuple(w / size for w in jump), form * size))
            where[own].append(plane)
    _check_ends(bodies, region, where)
    return found


def _check_ends(bodies: Bodies, region: NDArray[np.int64], where: dict[int, list[tuple[int, ...]]]) -> None:
    """No hinge ends inside its region: it cuts no cell of it."""
    for own, planes in where.items():
        cells = bodies.take(np.flatnonzero(region == own))
        if _cuts(_compact(cells), np.array(planes, dtype=object)).any():
            raise ConstructionError(f"{_NOT}: {_ENDS}")


# Neurons: hinges of one function z.


def _neurons(hinges: list[_Hinge], forms: NDArray[np.object_], sides: NDArray[np.bool_]) -> tuple[Neuron, ...]:
    """Classes of hinges with their equations, united as far as that is overdetermined."""
    label, sense = _linked(hinges, forms, sides)
    classes: dict[int, list[int]] = defaultdict(list)
    for e, at in enumerate(label):
        classes[at].append(e)
    if len(classes) > _CLASSES:
        raise ConstructionError(f"{_NOT}: its bends fall into {len(classes)} parts that do not meet")
    items = [_Class(tuple(own), tuple(sense[e] for e in own)) for own in classes.values()]
    united = _united(items, hinges, forms, sides)
    neurons = []
    for item in united:
        rows = reduced_rows(np.concatenate([_equations(hinges[e], s, forms, sides) for e, s in item.hinges]))
        if len(rows) and not rows[-1, :-1].any():
            raise ConstructionError(f"{_NOT}: a bend is not the zero set of a function of the first layer")
        regions = np.unique([hinges[e].region for e in item.own])
        neurons.append(Neuron(np.array(hinges[item.own[0]].v, dtype=object), rows, regions))
    return tuple(neurons)


@dataclass(frozen=True, slots=True)
class _Class:
    own: tuple[int, ...]
    sense: tuple[int, ...]

    @property
    def hinges(self) -> zip[tuple[int, int]]:
        return zip(self.own, self.sense, strict=True)


def _equations(hinge: _Hinge, sense: int, forms: NDArray[np.object_], sides: NDArray[np.bool_]) -> NDArray[np.object_]:
    """``a x + b + sum c_i h_i = sense z`` on the region of a hinge, coefficient by coefficient."""
    n = forms.shape[1]
    on = forms.T * sides[hinge.region].astype(np.int64).astype(object)
    return np.concatenate([np.eye(n, dtype=np.int64).astype(object), on, (hinge.z * sense)[:, None]], axis=1)


def _linked(hinges: list[_Hinge], forms: NDArray[np.object_], sides: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """The class of each hinge, and its sense in it: those on both sides of a form that agree where it is 0."""
    k = len(forms)
    mask = [sum(1 << i for i in np.flatnonzero(row).tolist()) for row in sides]
    union = Union[int]()
    z = residues(np.array([hinge.z for hinge in hinges], dtype=object), _PRIME)
    for i in range(k):
        pivot = int(np.argmax(forms[i, :-1] != 0))
        unit = forms[i] * pow(int(forms[i, pivot]) % _PRIME, _PRIME - 2, _PRIME) % _PRIME
        rest = (z - z[:, pivot][:, None] * unit) % _PRIME
        meeting: dict[Any, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for e, row in enumerate(rest.tolist()):
            other = [-v % _PRIME for v in row]
            s = 1 if row <= other else -1
            at = mask[hinges[e].region]
            key = at & ~(1 << i), hinges[e].v, tuple(row if s > 0 else other)
            meeting.setdefault(key, ([], []))[at >> i & 1].append((e, s))
        for below, above in meeting.values():
            if len(below) == len(above) == 1:
                (e, s), (f, t) = below[0], above[0]
                if not union.join(e, f, s * t) and union.find(e)[1] * union.find(f)[1] != s * t:
                    raise ConstructionError(f"{_NOT}: a bend runs into itself from the other side")
    roots = [union.find(e) for e in range(len(hinges))]
    return [a for a, _ in roots], [s for _, s in roots]


def _united(
    items: list[_Class], hinges: list[_Hinge], forms: NDArray[np.object_], sides: NDArray[np.bool_]
) -> list[_Class]:
    """Classes of one neuron: a common `z` exists, and fewer equations are independent than of both together."""
    count = len(forms) + forms.shape[1]  # unknowns; a row has its right-hand side, too
    rows = (np.concatenate([_equations(hinges[e], s, forms, sides) for e, s in item.hinges]) for item in items)
    tables = [_modular(residues(own, _PRIME).ravel(), count) for own in rows]
    done: list[tuple[_Class, list[int]]] = []
    for item, table in sorted(zip(items, tables, strict=True), key=lambda pair: -len(pair[1] or ())):
        if table is None:
            raise ConstructionError(f"{_NOT}: a bend is not the zero set of a function of the first layer")
        other_side = [-v % _PRIME if k % (count + 1) == count else v for k, v in enumerate(table)]
        for at, (other, known) in enumerate(done):
            if hinges[other.own[0]].v != hinges[item.own[0]].v:
                continue
            for s, turned in ((1, table), (-1, other_side)):
                both = _modular(known + turned, count, len(known) + len(table) - 1)
                if both is not None:
                    joined = _Class(other.own + item.own, other.sense + tuple(s * t for t in item.sense))
                    done[at] = joined, both
                    break
            else:
                continue
            break
        else:
            done.append((item, table))
    return [item for item, _ in done]


def _modular(entries: Iterable[int], count: int, most: float = np.inf) -> list[int] | None:
    """Equations in `count` unknowns in reduced echelon form modulo the prime, as a flat list.

    None if they have no solution, or if the list would be longer than `most`."""
    flat = list(entries)
    reduced, rank = nmod_mat(len(flat) // (count + 1), count + 1, flat, _PRIME).rref()
    if rank * (count + 1) > most or not any(int(reduced[rank - 1, k]) for k in range(count)):
        return None
    return [int(v) for v in reduced.entries()[: rank * (count + 1)]]
