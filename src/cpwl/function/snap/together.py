"""Several outputs with laws of their own, made exact together: hyperplanes and places that they share stay shared.

The laws of all outputs are the unknowns, each once. Where two outputs bend on one facet their jumps there are multiples
of each other; around a face of codimension 2 the jumps of all outputs lie in one plane; and each output has the
relations that it has alone. All are fixed one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cpwl.function.snap.complex import Unfit
from cpwl.function.snap.faces import Face
from cpwl.function.snap.laws import fix_in_turn
from cpwl.function.snap.meetings import Meetings
from cpwl.function.snap.relations import Relation, noise_of, relations_of, smoothed

__all__ = ["laws_together"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Law = list[Fraction]


def laws_together(laws: _Floats, meetings: Meetings, reach: float, tol: float) -> list[list[_Law]]:
    """Exact laws near ``laws[k, j]`` for all outputs `j`, which meet and bend where they are meant to; or `Unfit`."""
    weight = np.append(np.full(laws.shape[2] - 1, reach), 1.0)
    size = np.abs(laws * weight).max(axis=(0, 2))
    scale = np.exp2(-np.round(np.log2(np.where(size > 0, size, 1.0))))  # outputs of about one size, nothing rounded
    every, number = _stacked(laws * scale[:, None])
    little = tol * float(np.abs(every * weight).max())
    relations = _of_each(every, number, meetings, weight, little) + _of_several(number, meetings)
    fixed = fix_in_turn(every, smoothed(every, relations, weight, little), relations, weight, little)
    if fixed.broken:
        raise Unfit(f"{len(fixed.broken)} laws of several outputs do not meet exactly with all that they are to meet")
    back = [Fraction(1 / s) for s in scale.tolist()]
    return [[[x * s for x in fixed.laws[k]] for k, s in zip(row, back, strict=True)] for row in number.tolist()]


def _stacked(laws: _Floats) -> tuple[_Floats, _Ints]:
    """The distinct laws of all outputs, one output after the other, and the number of each."""
    every, number, start = [], [], 0
    for output in laws.transpose(1, 0, 2):
        distinct, place = np.unique(output, axis=0, return_inverse=True)
        every.append(distinct)
        number.append(place.ravel() + start)
        start += len(distinct)
    return np.concatenate(every), np.stack(number, axis=1)


def _of_each(every: _Floats, number: _Ints, meetings: Meetings, weight: _Floats, little: float) -> list[Relation]:
    """The relations that the outputs have by themselves."""
    found: list[Relation] = []
    for own in number.T:
        faces = [_renumbered(face, own) for face in meetings.faces]
        triples = meetings.parallel(every[own])
        parallel = list(dict.fromkeys(tuple(sorted({int(own[k]) for k in three})) for three in triples))
        noise = noise_of(every, faces, weight, little)
        found += relations_of(every, faces, [three for three in parallel if len(three) == 3], weight, noise)
    return found


def _renumbered(face: Face, own: _Ints) -> Face:
    """A face with the laws of one output around it."""
    ring = [int(own[k]) for k in face.laws]
    laws = [law for k, law in enumerate(ring) if law != ring[k - 1] or (k == 0 and not face.closed)]
    return replace(face, laws=tuple(laws) or (ring[0],))


def _of_several(number: _Ints, meetings: Meetings) -> list[Relation]:
    """The relations among outputs: facets on which several bend, and faces around which several do."""
    found: dict[Relation, None] = {}
    for a, b in meetings.pairs:
        bent = number[a] != number[b]
        if bent.sum() > 1:
            pairs = [
                tuple(sorted(pair)) for pair in zip(number[a][bent].tolist(), number[b][bent].tolist(), strict=True)
            ]
            found[_grouped("shared", pairs)] = None
    for face in meetings.faces:
        if face.closed:
            groups = [tuple(sorted(set(own.tolist()))) for own in number[list(face.laws)].T]
            groups = [group for group in groups if len(group) > 1]
            if len(groups) > 1 and sum(len(group) - 1 for group in groups) > 2:
                found[_grouped("span", groups)] = None
    return list(found)


def _grouped(kind: Literal["shared", "span"], groups: Sequence[tuple[int, ...]]) -> Relation:
    return Relation(kind, tuple(law for group in groups for law in group), tuple(map(len, groups)))
