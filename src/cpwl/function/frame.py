"""What a float function would be exactly: one law a component, one hyperplane for the facets that share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.function.components import label_maps
from cpwl.function.contacts import Contacts, Key
from cpwl.function.evaluate import find_pieces
from cpwl.function.parts import Laws, Parts
from cpwl.function.recut import integer_polyhedra, recut
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra
from cpwl.geometry.probe import Probe

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["Frame"]

_Row = NDArray[np.object_]


class Frame:
    """The facets of a healthy function with a tolerance, who touches whom, and the exact rows to use instead.

    Between pieces of different laws a facet's row becomes ``f_i - f_j``. Other rows stay as they are, and all
    facets within the tolerance of one hyperplane take the first row there is, one of the domain if it has one.
    """

    def __init__(self, p: CPWL) -> None:
        assert p.tol > 0
        self.p, self.label = p, label_maps(p.component)
        # The piece whose law each output of each piece takes, and the laws.
        self.leader = np.stack([p.representatives(j)[p.component[:, j]] for j in range(p.outputs)], axis=1)
        self.laws = p.laws.integer()[self.leader, np.arange(p.outputs)]
        self.given = p.polyhedra if p.domain is None else _join(p.polyhedra, p.domain.A, p.domain.b, p.domain.integer())
        self.planes = hyperplanes(self.given, p.tol)
        self.instead = self._instead()
        probe = Probe(p.tol)
        self.inside = [probe.interior(body) for body in p.polyhedra]
        self.facets = {
            i: facets_of(p.polyhedra, self.planes, i, probe) for i, x in enumerate(self.inside) if x is not None
        }
        everywhere = np.zeros(p.num_pieces, dtype=np.int64)
        self.contacts = Contacts(p.polyhedra, self.planes, everywhere, self.facets, probe)
        self.bends = self._bends()

    def _instead(self) -> NDArray[np.int64]:
        """For each row the one that its hyperplane takes."""
        count = len(self.p.polyhedra.b)
        order = [*range(count, len(self.given.b)), *range(count)]
        first = {int(self.planes.number[r]): r for r in reversed(order)}
        return np.array([first[h] for h in self.planes.number.tolist()], dtype=np.int64)

    def _bends(self) -> dict[tuple[int, Key], dict[int, _Row]]:
        """For each facet and each other law on its other side the exact row between the two."""
        found = {}
        for (i, key), near in self.contacts.neighbours.items():
            others = {int(self.label[j]): j for j in sorted(near, reverse=True) if self.label[j] != self.label[i]}
            side = self.p.polyhedra.A[self.contacts.facets[i][key].row]
            if others:
                found[i, key] = {law: self._between(i, j, side) for law, j in sorted(others.items())}
        return found

    def _between(self, i: int, j: int, side: NDArray[np.float64]) -> _Row:
        """The exact hyperplane between two laws, as a row on the side of a float row."""
        slopes = np.abs(self.p.laws.gradient[i] - self.p.laws.gradient[j]).max(axis=1)
        row = self.differences(i, j)[int(np.argmax(slopes))]
        along = (row[:-1] / np.abs(row[:-1]).max(initial=1)).astype(np.float64) @ side
        return row if along > 0 else -row

    def differences(self, i: int, j: int) -> NDArray[np.object_]:
        """``f_i - f_j`` for each output as integer rows ``(g, -o)``, primitive."""
        f, g = self.laws[i], self.laws[j]
        rows = primitive(f[:, :-1] * g[:, -1:] - g[:, :-1] * f[:, -1:])
        rows[:, -1] *= -1
        return rows

    def disagreement(self) -> str | None:
        """Several outputs must bend on the very same hyperplanes: where they do not, in words."""
        for (i, key), rows in self.bends.items():
            for j in sorted(self.contacts.neighbours[i, key]):
                row = rows.get(int(self.label[j]))
                if row is None:
                    continue
                for other in self.differences(i, j):
                    if other.any() and (other != row).any() and (other != -row).any():
                        return (
                            f"several outputs bend between pieces {i} and {j}, on hyperplanes that agree only within "
                            f"the tolerance. Snap each output as a function of its own."
                        )
        return None

    def rows(self, i: int, key: Key) -> list[_Row]:
        """The exact rows that take the place of a facet's row."""
        if (i, key) in self.bends:
            return list(self.bends[i, key].values())
        r = self.contacts.facets[i][key].row
        beside = self._by_plane().get(key[0])
        row = self.given.integer()[self.instead[r]] if beside is None else beside
        turn = self.planes.side[r] * self.planes.side[self.instead[r]]
        return [row * int(turn)]
