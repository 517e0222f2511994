"""The convex domain of a function: its box, if it is one, and its rows."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import sign, signs_at
from cpwl.exact.rational import text
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.snap.snap import snap
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.generators import plane_rows
from cpwl.geometry.polyhedra import fact
from cpwl.geometry.probe import Probe, bounding_box

# The smallest box around all pieces of a function, exactly.


@fact
def box_around(p: CPWL) -> list[tuple[Fraction, Fraction]] | None:
    """Lower and upper end of each coordinate over all pieces; None if one has none, or if all pieces are empty.

    >>> box_around(CPWL.from_simplices([[0, 0], ["1/3", 0], [0, 2]], [[0, 1, 2]], [1, 2, 3]))
    [(Fraction(0, 1), Fraction(1, 3)), (Fraction(0, 1), Fraction(2, 1))]
    """
    found = generators_of(p)
    places = found.places[np.unique(found.member)]
    if (places[:, -1] == 0).any():
        return None
    ends, probe = _ends(places), Probe(0.0)
    for i in np.flatnonzero(~found.known).tolist():  # these contain a line, are empty, or have many rows
        own = bounding_box(p.polyhedra[i], probe)
        for k, (low, high) in enumerate(own or ()):
            if low is None or high is None:
                return None
            if len(ends) == p.dim:
                ends[k] = min(ends[k][0], low), max(ends[k][1], high)
            else:
                ends.append((low, high))
    return ends or None


def _ends(places: NDArray[np.object_]) -> list[tuple[Fraction, Fraction]]:
    """The box around corners ``(x, 1) * w``; empty if there are none."""
    if not len(places):
        return []
    columns = [[Fraction(x[k], x[-1]) for x in places] for k in range(places.shape[1] - 1)]
    return [(min(column), max(column)) for column in columns]


Box: TypeAlias = tuple[list[Fraction], list[Fraction]]
_MOST = 12  # dimensions in which the corners of a box are looked at


def domain_box(p: CPWL) -> Box | None:
    """The lower and upper ends of the domain if it is a bounded box, else None.

    A convex domain is the box around it iff it has its corners. Of float data the corners may be off by the tolerance.

    >>> domain_box(CPWL.from_grid([[0, 1], [0, "1/3"]], [[0, 1], [2, 4]]))
    ([Fraction(0, 1), Fraction(0, 1)], [Fraction(1, 1), Fraction(1, 3)])
    >>> domain_box(CPWL.from_simplices([[0, 0], [1, 0], [0, 2]], [[0, 1, 2]], [1, 2, 3])) is None
    True
    """
    ends = box_around(p) if p.domain is None else bounding_box(p.domain)
    if ends is None or any(low is None or high is None for low, high in ends):
        return None
    low, high = ([Fraction(end[k] or 0) for end in ends] for k in (0, 1))
    if p.domain is not None:
        rows = p.domain.integer()
        most = [sum(max(a * u, a * v) for a, u, v in zip(row, low, high, strict=False)) for row in rows]
        return (low, high) if all(m <= row[-1] for m, row in zip(most, rows, strict=True)) else None
    if p.dim > _MOST:
        raise LimitError(f"above {_MOST} inputs, the domain is not recognized as a box: give it as `domain`")
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))), dtype=object)
    if p.tol:
        return (low, high) if np.isfinite(p(corners.astype(np.float64))).all() else None
    return (low, high) if all(value is not None for value in p(corners)[:, 0]) else None


def is_everything(p: CPWL) -> bool:
    """Whether the domain, which is convex, is R^n: some piece goes on forever along each axis, both ways."""
    if p.mesh is not None:
        return False
    slopes, start = sign(p.polyhedra.integer()[:, :-1]), p.polyhedra.start[:-1]
    if (np.diff(p.polyhedra.start) == 0).any():
        return True  # a piece without rows
    return all((np.maximum.reduceat(s * slopes, start, axis=0) <= 0).any(axis=0).all() for s in (1, -1))


def box_to_clip(p: CPWL) -> Box:
    """The box to whose nearest point inputs are moved: the domain, which must be one."""
    ends = domain_box(p)
    if ends is None:
        raise InputError(
            '`outside="clip"` needs a bounded box as its domain, and the domain of this function is not a box'
        )
    return ends


def domain_text(p: CPWL) -> str:
    """The domain in JSON: rows ``A x <= b`` if it was asserted, the box around a table, or that it is the pieces.

    >>> domain_text(CPWL.from_simplices([[0], ["1/3"]], [[0, 1]], [0, 1]))
    '{"low": [0], "high": ["1/3"]}'
    """
    if p.domain is not None:
        rows = p.domain.integer().tolist()
        return json.dumps({"A": [row[:-1] for row in rows], "b": [row[-1] for row in rows]})
    box = box_around(p) if p.mesh is not None else None
    if box is None:
        return json.dumps("the union of the pieces")
    return json.dumps({"low": [text(low) for low, _ in box], "high": [text(high) for _, high in box]})


def domain_rows(p: CPWL) -> NDArray[np.object_]:
    """Integer rows ``(a, b)`` whose half-spaces ``a . x <= b`` meet in the domain: those that hold on every piece.

    >>> domain_rows(CPWL.from_simplices([[0], [1], [3]], [[0, 1], [1, 2]], [0, 1, 0])).tolist()
    [[-1, 0], [1, 3]]
    """
    if p.domain is not None:
        return p.domain.integer()
    if p.tol:
        snapped = snap(p, p.tol)
        if snapped.function is None:
            raise InputError("the domain of these float pieces could not be determined: give it as `domain`")
        return domain_rows(snapped.function)
    numbered = hyperplanes(p.polyhedra, 0.0)
    found, planes = generators_of(p), plane_rows(p.polyhedra, numbered)
    if not found.known.all():
        raise InputError("the domain of this function could not be determined: give it as `domain`")
    signs = signs_at(planes, found.places[np.unique(found.member)])
    rows = np.concatenate([planes[(signs <= 0).all(axis=1)], -planes[(signs >= 0).all(axis=1)]])
    rows[:, -1] = -rows[:, -1]
    return np.array(sorted(map(tuple, rows.tolist())), dtype=object).reshape(-1, p.dim + 1)
