"""Which part of a facet do the polyhedra on its other side leave uncovered?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.geometry.facets import Facet, Hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["FacetCover"]


@dataclass(frozen=True, slots=True, eq=False)
class FacetCover:
    """Facets of a stack of polyhedra as sets of their own. For exact data the stack must carry its integers."""

    polyhedra: Polyhedra
    planes: Hyperplanes
    probe: Probe

    def body(self, facet: Facet, others: list[int]) -> Polyhedron:
        """The facet, met by the polyhedra `others`: row 0 is its own, to be held; the rest are off its plane."""
        plane = int(self.planes.number[facet.row])
        rows = [r for i in (facet.piece, *others) for r in self._rows_off(i, plane)]
        return self._rows([facet.row, *rows])

    def closed(self, body: Polyhedron) -> Polyhedron:
        """The same with row 0 as an equation."""
        return _join(body, _negative(_row(body, 0)))

    def uncovered(
        self, facet: Facet, candidates: list[int], more: Sequence[list[int]] = ()
    ) -> tuple[NDArray[Any], Polyhedron] | None:
        """A point inside the facet that no candidate reaches, with the part of the facet around it; None if covered.

        The facet is cut along the rows of a candidate; what is outside one of them goes on to the next candidate.
        `more` are further candidates, each by its rows.
        """
        plane = int(self.planes.number[facet.row])
        every = [*(self._rows_off(j, plane) for j in candidates), *more]
        waiting = [(self.body(facet, []), facet.point, list(range(len(every))))]
        while waiting:
            body, point, left = waiting.pop()
            if not left:
                return point, body
            j = next((k for k in left if self._holds(every[k], point)), left[0])
            rest = [k for k in left if k != j]
            for r in every[j]:
                row = self._rows([r])
                outside = _join(body, _negative(row))
                beyond = self.probe.interior(outside, on=[0])
                if beyond is None:
                    continue
                waiting.append((outside, beyond, rest))
                body = _join(body, row)
                if self.probe.interior(body, on=[0]) is None:
                    break
        return None

    def _rows_off(self, i: int, plane: int) -> list[int]:
        rows = range(int(self.polyhedra.start[i]), int(self.polyhedra.start[i + 1]))
        return [r for r in rows if self.planes.number[r] != plane]

    def _rows(self, rows: list[int]) -> Polyhedron:
        exact = None if self.polyhedra.exact is None else self.polyhedra.exact[rows]
        return Polyhedron(self.polyhedra.A[rows], self.polyhedra.b[rows], exact)

    def _holds(self, rows: list[int], x: NDArray[Any]) -> bool:
        """Roughly whether the rows hold at `x`: only for choosing which candidate to try first."""
        return bool((self.polyhedra.A[rows] @ np.asarray(x, dtype=np.float64) <= self.polyhedra.b[rows]).all())


def _row(body: Polyhedron, i: int) -> Polyhedron:
    exact = None if body.exact is None else body.exact[i : i + 1]
    return Polyhedron(body.A[i : i + 1], body.b[i : i + 1], exact)


def _negative(row: Polyhedron) -> Polyhedron:
    return Polyhedron(-row.A, -row.b, None if row.exact is None else -row.exact)


def _join(one: Polyhedron, two: Polyhedron) -> Polyhedron:
    exact = None
    if one.exact is not None and two.exact is not None:
        exact = np.concatenate([one.exact, two.exact])
    return Polyhedron(np.concatenate([one.A, two.A]), np.concatenate([one.b, two.b]), exact)
