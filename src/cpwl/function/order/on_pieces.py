"""The order of components on general pieces: refuted by known points, proved by rows, else one LP each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.cpwl import CPWL
from cpwl.function.order.within_tolerance import corners_within
from cpwl.function.scale import scale_of
from cpwl.geometry.corners import corners
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["PieceOrder"]


@dataclass(frozen=True, slots=True, eq=False)
class PieceOrder:
    """Decides ``f_m >= f_c`` and ``f_m <= f_c`` on pieces; holds arrays only, so that it can be sent away.

    `laws` has one row a component: integers ``(g, o, 1) * denominator`` for exact data, else floats ``(g, o)``.
    """

    polyhedra: Polyhedra
    laws: NDArray[Any]
    component: NDArray[np.int64]
    tol: float
    slack: float
    unit: float
    """The size of the coordinates of float data."""

    @classmethod
    def of(cls, p: CPWL, output: int, slack: float) -> PieceOrder:
        """The decisions to be made for one output of `p`."""
        laws = p.components(output)
        table = laws.integer()[:, 0] if p.tol == 0 else laws.coefficients()[:, 0]
        unit = scale_of(p.polyhedra, p.laws, p.tol).unit if p.tol else 1.0
        return cls(p.polyhedra, table, p.component[:, output], p.tol, slack, unit)

    def __call__(self, pieces: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], int]:
        """Both relations for the given pieces, and how many linear programs that took."""
        probe = Probe(self.tol)
        answers = [self._decide(probe, int(i)) for i in pieces]
        above = np.array([a for a, _ in answers])
        below = np.array([b for _, b in answers])
        return above, below, probe.solves

    def _decide(self, probe: Probe, i: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        body = self.polyhedra[i]
        difference = self.differences(self.component[i])
        if self.tol == 0:
            known = corners(body.integer())
            if known is not None:
                signs = known.signs(difference)
                return np.asarray((signs >= 0).all(axis=1)), np.asarray((signs <= 0).all(axis=1))
        rows = body.integer() if self.tol == 0 else np.column_stack([body.A, body.b])
        above = _proved_by_row(rows, difference, self.slack)
        below = _proved_by_row(rows, -difference, self.slack)
        places = self._first_places(probe, body)
        for m in range(len(difference)):
            for relation, side in ((above, difference), (below, -difference)):
                if not relation[m]:
                    relation[m] = self._holds(probe, body, side[m], places)
        return above, below

    def _first_places(self, probe: Probe, body: Polyhedron) -> list[NDArray[Any]]:
        inside = probe.interior(body)
        return [] if inside is None else [np.append(inside, 1)]

    def above_on(self, probe: Probe, body: Polyhedron, own: int, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """``f_m >= f_own`` on a part of a piece, where what held on the piece still holds."""
        above = known.copy()
        difference = self.differences(own)
        if self.tol == 0:
            extreme = corners(body.integer())
            if extreme is not None:
                return np.asarray((extreme.signs(difference) >= 0).all(axis=1))
        elif (near := corners_within(body, self.unit)) is not None:
            return np.asarray(known | (near @ difference.T >= -self.slack).all(axis=0))
        places = self._first_places(probe, body)
        for m in np.flatnonzero(~known):
            above[m] = self._holds(probe, body, difference[m], places)
        return above

    def differences(self, c: int) -> NDArray[Any]:
        """``f_m - f_c`` for every `m`, as rows ``(g, o)``, for exact data each up to a positive factor."""
        if self.tol:
            return np.asarray(self.laws - self.laws[c])
        own = self.laws[c]
        return np.asarray(self.laws[:, :-1] * own[-1] - own[:-1] * self.laws[:, -1:])

    def _holds(self, probe: Probe, body: Polyhedron, law: NDArray[Any], places: list[NDArray[Any]]) -> bool:
        """Whether ``law >= 0`` on the piece; `places` are points ``(x, 1)`` and rays ``(r, 0)`` seen in it."""
        if any((law * place).sum() < -self.slack for place in places):
            return False
        value, where = probe.maximum(body, -law[:-1])
        if value == -np.inf:
            return True  # nothing there
        unbounded = value == np.inf
        place = np.append(where, 0 if unbounded else 1)
        if (self.tol == 0 or not unbounded) and not any((place == other).all() for other in places):
            places.append(place)
        return bool(not unbounded and value <= law[-1] + self.slack)


def _proved_by_row(rows: NDArray[Any], laws: NDArray[Any], slack: float) -> NDArray[np.bool_]:
    """Which laws are ``lambda (b - a.x) + t`` with ``lambda, t >= 0`` for one row ``a.x <= b``.

    Such a law is parallel to the row: with the row's largest slope `a_k`, ``lambda = -g_k / a_k``, and the law
    is proved if ``g + lambda a = 0`` and ``o - lambda b >= 0``. Constants need no row.
    """
    slopes, constant = laws[:, :-1], laws[:, -1]
    proved = np.asarray(~(slopes != 0).any(axis=1) & (constant >= -slack))
    exact = laws.dtype == object
    scale = 1e-12 * np.abs(slopes).max(axis=1, initial=0) if not exact else 0
    for row in rows:
        k = int(np.argmax(np.abs(row[:-1])))
        a = row[k]
        toward = slopes[:, k] * (-1 if a > 0 else 1) >= 0  # lambda >= 0
        # Multiplied through by |a_k|, so that integers stay integers.
        weight = -slopes[:, k] if a > 0 else slopes[:, k]
        rest = slopes * abs(a) + weight[:, None] * row[:-1]
        parallel = ~(rest != 0).any(axis=1) if exact else np.abs(rest).max(axis=1) <= scale * abs(a)
        proved |= np.asarray(toward & parallel & (constant * abs(a) - weight * row[-1] >= -slack * abs(a)))
    return proved
