"""What a float function would be exactly: one law a component, one hyperplane for the facets that share it."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import primitive
from cpwl.exact.rational import fraction_array
from cpwl.function.components import label_maps
from cpwl.function.cpwl import CPWL
from cpwl.function.evaluate import find_pieces
from cpwl.function.merge import Contacts, Key
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.recut import integer_polyhedra, recut
from cpwl.function.snap.short import meant_laws
from cpwl.geometry.facets import facets_of, hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

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
        self.laws = meant_laws(p)
        self.given = p.polyhedra if p.domain is None else _join(p.polyhedra, p.domain)
        self.integer = self.given.integer()
        self.planes = hyperplanes(self.given, p.tol)
        self.instead = self._instead()
        probe = Probe(p.tol, p.polyhedra.unit())
        self.inside = [probe.interior(body) for body in p.polyhedra]
        self.facets = {
            i: facets_of(p.polyhedra, self.planes, i, probe) for i, x in enumerate(self.inside) if x is not None
        }
        self.boxes = {i: probe.box(p.polyhedra[i]) for i in self.facets}
        everywhere = np.zeros(p.num_pieces, dtype=np.int64)
        self.contacts = Contacts(p.polyhedra, self.planes, everywhere, self.facets, probe)
        self.bends = self._bends()
        self.rows = self._rows()

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
        row: _Row = self.differences(i, j)[int(np.argmax(slopes))]
        along = (row[:-1] / np.abs(row[:-1]).max(initial=1)).astype(np.float64) @ side
        return np.asarray(row if along > 0 else -row)

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
                            f"rounding: exact laws must come from what made the function."
                        )
        return None

    def _rows(self) -> dict[tuple[int, Key], list[_Row]]:
        """For each facet the exact rows that take the place of its row."""
        bent = {key[0]: next(iter(rows.values())) * key[1] for (_, key), rows in reversed(self.bends.items())}
        found = {}
        for i, facets in self.contacts.facets.items():
            for h, s in facets:
                row = bent[h] * s if h in bent else self.shared_row(i, (h, s))
                found[i, (h, s)] = list(self.bends.get((i, (h, s)), {0: row}).values())
        return found

    def replaced(self) -> list[tuple[int, _Row]]:
        """The rows of facets, by their numbers, with the exact rows that take their places."""
        return [(self.contacts.facets[i][key].row, row) for (i, key), rows in self.rows.items() for row in rows]

    def shared_row(self, i: int, key: Key) -> _Row:
        """The row that the facet shares with all others on its hyperplane, on its own side."""
        kept = self.instead[self.contacts.facets[i][key].row]
        return np.asarray(self.integer[kept] * int(self.planes.side[kept] * key[1]))

    def snapped(self) -> CPWL:
        """The function with its laws made equal and its rows shared, still with its tolerance."""
        count, p = len(self.p.polyhedra.b), self.p
        kept = self.instead[:count]
        turn = self.planes.side[:count] * self.planes.side[kept]
        exact = None if self.given.exact is None else self.given.exact[kept] * turn.astype(object)[:, None]
        A, b = self.given.A[kept] * turn[:, None], self.given.b[kept] * turn
        laws = Laws.from_integer(self.laws)
        return CPWL.from_parts(Parts(Polyhedra(A, b, p.polyhedra.start, exact), laws, p.domain, p.tol))

    def rederived(self) -> CPWL:
        """The exact function on the same pieces."""
        return self._exact(self._pieces(self.rows), Laws.from_integer(self.laws[list(self.facets)]))

    def hinged(self) -> CPWL | None:
        """The exact function on the same pieces and rows, with laws that are sums of hinges."""
        laws = _hinged_laws(self)
        rows = {(i, key): [self.shared_row(i, key)] for i, key in self.rows}
        return None if laws is None else self._exact(self._pieces(rows), laws)

    def _pieces(self, rows: dict[tuple[int, Key], list[_Row]]) -> Polyhedra:
        pieces = [[row for key in self.contacts.facets[i] for row in rows[i, key]] for i in self.facets]
        shape = (-1, self.p.dim + 1)
        return integer_polyhedra([np.array(piece, dtype=object).reshape(shape) for piece in pieces], self.p.dim)

    def recut(self) -> CPWL | str:
        """The exact function with each law's region cut along the hyperplanes where that law meets others.

        Or what stands in the way, in words.
        """
        domain = self._domain()
        planes: dict[int, dict[tuple[int, ...], _Row]] = {int(law): {} for law in np.unique(self.label)}
        for (i, _), rows in self.bends.items():
            for row in rows.values():
                turned = row if row[np.argmax(row != 0)] > 0 else -row
                planes[int(self.label[i])][tuple(turned)] = turned
        cuts = {
            law: np.array(list(rows.values()), dtype=object).reshape(-1, self.p.dim + 1) for law, rows in planes.items()
        }
        found = recut(domain, cuts, lambda x: self.label[find_pieces(self.p, x)], self.p.tol)
        if isinstance(found, str):
            return found
        first = {int(law): i for i, law in reversed(list(enumerate(self.label)))}
        return self._exact(found[0], Laws.from_integer(self.laws[[first[int(law)] for law in found[1]]]))

    def _domain(self) -> NDArray[np.object_]:
        """The exact rows of the domain: those asserted, or of hyperplanes with pieces on one side only."""
        if self.p.domain is not None:
            return self.p.domain.integer()
        keys = {key for facets in self.contacts.facets.values() for key in facets}
        outer = {key for key in keys if (key[0], -key[1]) not in keys}
        rows = {key: self.rows[i, key][0] for i, facets in self.contacts.facets.items() for key in outer & set(facets)}
        return np.array([rows[key] for key in sorted(rows)], dtype=object).reshape(-1, self.p.dim + 1)

    def _exact(self, polyhedra: Polyhedra, laws: Laws) -> CPWL:
        return CPWL.from_parts(Parts(polyhedra, laws, self.p.domain, 0.0))


def _join(polyhedra: Polyhedra, rows: Polyhedron) -> Polyhedra:
    """The stack with one more polyhedron."""
    exact = None
    if polyhedra.exact is not None or rows.exact is not None:
        exact = np.concatenate([polyhedra.integer(), rows.integer()])
    start = np.append(polyhedra.start, polyhedra.start[-1] + len(rows.b))
    return Polyhedra(np.concatenate([polyhedra.A, rows.A]), np.concatenate([polyhedra.b, rows.b]), start, exact)


def _hinged_laws(frame: Frame) -> Laws | None:
    """The laws of all pieces as sums of hinges on the shared rows, from the first piece on; None if some have no way.

    If the slope jumps by the same amount all along each hyperplane, as in a network with one hidden layer, the law
    changes by ``t_h (a_h.x - b_h)`` whenever `h` is crossed. Then one law, the rows and the numbers `t_h` give all
    laws. Where hyperplanes cross, four laws meet, and only laws of this form meet exactly.

    Only a proposal: whether these laws are those of the function is to be seen.
    """
    turns = _turns(frame)
    first = min(frame.facets)
    laws = {first: _fractions(frame.laws[first])}
    waiting = deque([first])
    while waiting:
        i = waiting.popleft()
        for key in frame.contacts.facets[i]:
            for j in sorted(frame.contacts.neighbours.get((i, key), ())):
                if j not in laws:
                    laws[j] = laws[i] + key[1] * turns[key[0]]
                    waiting.append(j)
    if len(laws) < frame.p.num_pieces:
        return None
    table = np.array([laws[i] for i in range(frame.p.num_pieces)], dtype=object)
    return Laws.from_lists(table[..., :-1], table[..., -1], frame.p.num_pieces, frame.p.dim)


def _turns(frame: Frame) -> dict[int, NDArray[np.object_]]:
    """For each hyperplane what the laws gain on the way from its side 1 to its side -1, one row an output."""
    largest: dict[int, float] = {}
    found = {}
    for (i, (h, s)), near in sorted(frame.contacts.neighbours.items()):
        row = fraction_array(frame.shared_row(i, (h, s)))
        k = int(np.argmax(np.abs(row[:-1])))
        for j in sorted(near):
            change = frame.p.laws.gradient[j, :, k] - frame.p.laws.gradient[i, :, k]
            size = float(np.abs(change).max())
            if s > 0 and size > largest.get(h, -1.0):
                largest[h] = size
                steps = [Fraction(float(c)) / row[k] for c in change]
                found[h] = np.array([[t * v for v in (*row[:-1], -row[-1])] for t in steps], dtype=object)
    return found


def _fractions(law: NDArray[np.object_]) -> NDArray[np.object_]:
    return np.array([[Fraction(v, row[-1]) for v in row[:-1]] for row in law], dtype=object)
