"""Compositions: the pieces of the outer function, pulled back through the laws of the inner one.

Where an inner law is not onto, its image may lie in a face between outer pieces, and all of them would claim it. One
of them is meant: the one into which the segment from the image to a fixed point inside the outer domain leads, the
point moved by ``(e, e^2, ..)`` for a small `e`. The outer function is continuous, so any choice gives the same values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_outside, method_of
from cpwl.errors import InputError, counted
from cpwl.exact.integers import homogeneous, primitive, sign
from cpwl.exact.rational import exact_matrix, fraction_array
from cpwl.function.algebra.arithmetic import exactly, function_of, pieces_of
from cpwl.function.algebra.extremes import border_rows, need_convex
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.form import middle
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import Bodies, body_of, stacked
from cpwl.geometry.generators import Generators, box_pairs, boxes_around
from cpwl.geometry.overlay import cut_by
from cpwl.geometry.polyhedra import Polyhedron, ranges
from cpwl.geometry.probe import Probe

Integers = NDArray[np.object_]


@method_of(CPWL, "compose")
def compose(p: CPWL, q: CPWL, *, outside: str = "error") -> CPWL:
    check_argument(q, CPWL, "compose")
    outside = check_outside(outside)
    if q.outputs != p.dim:
        raise InputError(
            f"the inner function has {counted(q.outputs, 'output')}, the outer one {counted(p.dim, 'input')}"
        )
    outer, inner = exactly(p), exactly(q)
    if outside == "error":
        need_convex(outer, "the outer function", 'outside="drop" keeps what is inside its pieces')
    (mine, targets), (yours, bodies) = pieces_of(outer), pieces_of(inner)
    forms, below = _common(inner.laws.integer()[yours])
    image = _image(bodies, forms, below)
    witness = _leaving(bodies, forms, below, image, border_rows(targets))
    if witness is not None and outside == "error":
        where, value = witness
        raise InputError(
            f"the inner function leaves the domain of the outer one: at x = {point_text(where)} it is "
            f'{point_text(value)}.\n  Restrict it to where it stays inside, or pass outside="drop".',
            point=where,
        )
    low, high = boxes_around(image, len(bodies), outer.dim)
    j, i = box_pairs(low, high, boxes_around(targets.spans, len(targets), outer.dim)).T
    pair, rows, start = _pulled_back(targets, i, forms[j], below[j], inner_point(targets))
    kept, cells = cut_by(bodies, j[pair], stacked(primitive(rows), start))
    if not len(cells):
        raise InputError("the inner function is never inside the domain of the outer one")
    i, j = i[pair[kept]], j[pair[kept]]
    laws = _chained(outer.laws.integer()[mine[i]], forms[j], below[j])
    return function_of(cells, laws, inner.domain if witness is None else None)


@method_of(CPWL, "__matmul__")
def after(p: CPWL, affine: Any) -> CPWL:
    if isinstance(affine, CPWL):
        return compose(p, affine)
    if not isinstance(affine, (tuple, list)) or len(affine) != 2:
        raise InputError("`p @ (A, b)` takes a matrix and a vector; `p.compose(q)` takes a function")
    matrix, shift = fraction_array(affine[0]), fraction_array(affine[1])
    if matrix.ndim != 2 or shift.shape != (len(matrix),) or len(matrix) != p.dim:
        raise InputError(f"`A` must have {p.dim} rows and `b` {p.dim} entries, not {matrix.shape} and {shift.shape}")
    law = homogeneous(np.column_stack([matrix, shift]))[None]
    if exact_matrix(matrix).rank() < p.dim:
        return compose(p, _affine(law), outside="drop")
    forms, below = _common(law)
    every = np.zeros(len(p.polyhedra.b), dtype=np.int64)
    rows = _preimages(p.polyhedra.integer(), forms[every], below[every])
    pieces = stacked(primitive(rows), p.polyhedra.start)
    one = np.zeros(p.num_pieces, dtype=np.int64)
    laws = Laws.from_integer(primitive(_chained(p.laws.integer(), forms[one], below[one])))
    domain = None
    if p.domain is not None:
        zero = np.zeros(len(p.domain.b), dtype=np.int64)
        domain = body_of(primitive(_preimages(p.domain.integer(), forms[zero], below[zero])))
    return CPWL.from_parts(Parts(pieces, laws, domain, p.tol))


def _affine(law: Integers) -> CPWL:
    """An affine function on all of the space."""
    n = law.shape[-1] - 2
    none = np.zeros((0, n + 1), dtype=object)
    everywhere = Polyhedron(np.zeros((0, n)), np.zeros(0))
    return CPWL.from_parts(Parts(stacked(none, np.zeros(2, dtype=np.int64)), Laws.from_integer(law), everywhere, 0.0))


def _common(laws: Integers) -> tuple[Integers, Integers]:
    """Laws over one denominator each: ``(q, m, n + 1)`` and ``(q,)``."""
    below = np.lcm.reduce(laws[..., -1], axis=1)
    return laws[..., :-1] * (below[:, None] // laws[..., -1])[..., None], below


def _image(bodies: Bodies, forms: Integers, below: Integers) -> Generators:
    """The generators of each body, mapped by its law."""
    owner, places = bodies.spanning
    above = (forms[owner] * places[:, None]).sum(axis=2)
    mapped = np.column_stack([above, below[owner] * places[:, -1]])
    return Generators(mapped, np.arange(len(mapped)), bodies.spans.start)


def _leaving(
    bodies: Bodies, forms: Integers, below: Integers, image: Generators, border: Integers
) -> tuple[Integers, Integers] | None:
    """A point whose value is outside the border, with that value; None if there is none."""
    owner, places = bodies.spanning
    found = None
    for row in border:
        over = image.places[:, :-1].dot(row[:-1]) - image.places[:, -1] * row[-1]
        bad = np.flatnonzero(sign(over) > 0)
        if len(bad):
            k = bad[0]
            found = _point_beyond(bodies, int(owner[k]), places[k], forms, below, row)
            break
    probe = Probe(0.0)
    for i in np.flatnonzero(~bodies.known).tolist() if found is None else ():
        for row in _preimages(border, *(np.repeat(v[i : i + 1], len(border), axis=0) for v in (forms, below))):
            value, point = probe.maximum(bodies.polyhedra[i], row[:-1])
            if value > row[-1]:
                start = probe.interior(bodies.polyhedra[i])
                assert start is not None
                found = _along(fraction_array(start), fraction_array(point), row) if value == np.inf else point
                break
    if found is None:
        return None
    i = _holder(bodies, found)
    value = np.array([Fraction((f[:-1] * found).sum() + f[-1]) / below[i] for f in forms[i]], dtype=object)
    return fraction_array(found), value


def _holder(bodies: Bodies, point: Integers) -> int:
    inside = np.ones(len(bodies), dtype=bool)
    ok = (bodies.rows[:, :-1] * point).sum(axis=1) <= bodies.rows[:, -1]
    inside[bodies.polyhedra.owner[~ok.astype(bool)]] = False
    return int(np.flatnonzero(inside)[0])


def _point_beyond(bodies: Bodies, i: int, place: Integers, forms: Integers, below: Integers, row: Integers) -> Integers:
    """A corner itself, or a point far enough along a ray, at which the row is violated."""
    if place[-1] != 0:
        return np.asarray(fraction_array(place[:-1]) / place[-1])
    own = bodies.places[bodies.spans.of_piece(i)]
    corner = own[np.flatnonzero(own[:, -1] != 0)[0]]
    pulled = _preimages(row[None], forms[i : i + 1], below[i : i + 1])[0]
    return _along(fraction_array(corner[:-1]) / corner[-1], fraction_array(place[:-1]), pulled)


def _along(start: Integers, ray: Integers, row: Integers) -> Integers:
    room = row[-1] - (row[:-1] * start).sum()
    speed = (row[:-1] * ray).sum()
    return np.asarray(start + ray * (max(Fraction(0), Fraction(room) / speed) + 1))


def inner_point(bodies: Bodies, i: int = 0) -> Integers:
    """A rational point strictly inside body `i`."""
    if bodies.known[i]:
        place = middle(bodies.places[bodies.spans.of_piece(i)][None])[0]
        return np.asarray(fraction_array(place[:-1]) / place[-1])
    found = Probe(0.0).interior(bodies.polyhedra[i])
    assert found is not None
    return fraction_array(found)


def _preimages(rows: Integers, forms: Integers, below: Integers) -> Integers:
    """Rows ``a.y <= b`` as rows of `x`, where ``y = F (x, 1) / d``."""
    pulled = (rows[:, :-1, None] * forms).sum(axis=1)
    return np.column_stack([pulled[:, :-1], rows[:, -1] * below - pulled[:, -1]])


def _pulled_back(
    targets: Bodies, i: NDArray[np.int64], forms: Integers, below: Integers, centre: Integers
) -> tuple[NDArray[np.int64], Integers, NDArray[np.int64]]:
    """For pairs of a law and a target: the pairs that may meet, and their rows pulled back, stacked."""
    start = targets.polyhedra.start
    row, pair = ranges(start[i], np.diff(start)[i])
    rows = _preimages(targets.rows[row], forms[pair], below[pair])
    still = ~np.asarray((rows[:, :-1] != 0).any(axis=1), dtype=bool)
    right = sign(rows[:, -1])
    tie = np.flatnonzero(still & (right == 0))
    away = np.zeros(len(rows), dtype=bool)
    away[still & (right < 0)] = True
    away[tie] = _points_away(targets.rows[row[tie]], centre)
    good = np.ones(len(i), dtype=bool)
    good[pair[away]] = False
    use = ~still & good[pair]
    kept = np.flatnonzero(good)
    return kept, rows[use], np.searchsorted(pair[use], np.append(kept, len(i))).astype(np.int64)


def _points_away(rows: Integers, centre: Integers) -> NDArray[np.bool_]:
    """Whether the row is violated towards the centre, moved by ``(e, e^2, ..)``."""
    if not len(rows):
        return np.zeros(0, dtype=bool)
    first = (rows[:, :-1] * centre).sum(axis=1) - rows[:, -1]
    signs = np.column_stack([sign(first), sign(rows[:, :-1])])
    lead = signs[np.arange(len(signs)), np.argmax(signs != 0, axis=1)]
    return np.asarray(lead > 0)


def _chained(laws: Integers, forms: Integers, below: Integers) -> Integers:
    """Outer laws after inner ones, all in integers."""
    linear = (laws[:, :, :-2, None] * forms[:, None]).sum(axis=2)
    linear[..., -1] += laws[..., -2] * below[:, None]
    return np.concatenate([linear, (laws[..., -1] * below[:, None])[..., None]], axis=-1)
