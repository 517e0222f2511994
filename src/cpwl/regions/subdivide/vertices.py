"""The vertices of a complex, points and directions alike: floats with error bounds, integers where those cannot tell.

A vertex is held by `r` forms, so its floats come straight from them and no error piles up. Exactly it is a positive
combination of the two ends of the edge that it cut, ``|z(u)| w + |z(w)| u``, worked out only where it is asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import adjugate, primitive, sign
from cpwl.regions.forms import EPS, Forms
from cpwl.regions.subdivide.cross_product import cross_product, unit_rows

__all__ = ["Vertices"]

_ROUGH = 1e-10  # relative error beyond which a vertex is computed exactly
_BLOCK = 2**16
_MOST_SIDES = 2**22  # numbers held at once


class Vertices:
    """Homogeneous coordinates ``(x, x_0)`` on the chosen columns, with componentwise error bounds.

    Vertices that a complex no longer has stay in the arrays: others may have been made from them. Vertex `i` of the
    complex is in place ``place[i]``.
    """

    def __init__(self, forms: Forms, columns: NDArray[np.int64], start: NDArray[np.int64]) -> None:
        self.forms, self.columns = forms, columns
        self._exact = _corners_of_orthants(forms.exact_rows(start)[:, columns])
        self._view, self._error = _rounded(self._exact)
        count = len(self._exact)
        self.place = np.arange(count)
        self._known = np.ones(count, dtype=bool)
        self._parent = np.full((count, 2), -1, dtype=np.int64)
        self._form = np.full(count, -1, dtype=np.int64)
        self._age = np.zeros(count, dtype=np.int64)
        self.decided = 0  # signs that took integers

    def __len__(self) -> int:
        return len(self.place)

    @property
    def view(self) -> NDArray[np.float64]:
        """The coordinates of all vertices of the complex."""
        return self._view if len(self.place) == len(self._view) else self._view[self.place]

    @property
    def error(self) -> NDArray[np.float64]:
        """What may be wrong with `view`."""
        return self._error if len(self.place) == len(self._error) else self._error[self.place]

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drops vertices from the complex."""
        self.place = self.place[mask]

    def signs(self, level: int, neuron: int, base: NDArray[np.int64]) -> NDArray[np.int8]:
        """The sign of a neuron at each vertex, decided; `base` is a cell of that level which holds the vertex."""
        forms = self.forms.levels[level]
        rows, error = forms.rows[neuron][:, self.columns], forms.error[neuron][:, self.columns]
        with np.errstate(all="ignore"):
            single = len(rows) == 1
            a, e = (rows[0], error[0]) if single else (rows[base], error[base])
            view, off = self.view, self.error
            terms = view * a
            value = terms.sum(axis=1)
            size = np.abs(terms).sum(axis=1)
            unsure = (np.abs(a) * off + e * (np.abs(view) + off)).sum(axis=1)
            bound = unsure * (1 + 32 * EPS) + 2 * (len(self.columns) + 2) * EPS * size + 1e-290
            sure = np.abs(value) > bound
        signs = np.sign(np.where(sure, value, 0.0)).astype(np.int8)
        doubtful = np.flatnonzero(~sure)
        if len(doubtful):
            signs[doubtful] = self._exact_signs(level, neuron, base[doubtful], doubtful)
        return signs

    def sides(self, level: int) -> NDArray[np.int8]:
        """For each neuron of a level with one cell the sign that it has at every vertex, or 0 where floats cannot tell.

        A form that is positive at all vertices and directions is positive between them, however they are cut later.
        """
        forms = self.forms.levels[level]
        width = len(forms.rows)
        if forms.cells > 1 or not 0 < width * len(self) <= _MOST_SIDES:
            return np.zeros(width, dtype=np.int8)
        with np.errstate(all="ignore"):
            a, e = forms.rows[:, 0, self.columns], forms.error[:, 0, self.columns]
            view, off = self.view, self.error
            value = a @ view.T
            unsure = np.abs(a) @ off.T + e @ (np.abs(view) + off).T
            bound = unsure * (1 + 32 * EPS) + 4 * (len(self.columns) + 2) * EPS * (np.abs(a) @ np.abs(view).T) + 1e-290
            over, under = (value > bound).all(axis=1), (value < -bound).all(axis=1)
        return np.where(over, 1, np.where(under, -1, 0)).astype(np.int8)

    def _exact_signs(
        self, level: int, neuron: int, base: NDArray[np.int64], which: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        self.decided += len(which)
        rows = self.forms.exact_level(level, base)[neuron, base][:, self.columns]
        return sign((rows * self.exactly(which)).sum(axis=1))

    def exactly(self, which: NDArray[np.int64]) -> NDArray[np.object_]:
        """Integer coordinates of some vertices, up to a positive factor."""
        return self._exactly(self.place[which])

    def _exactly(self, places: NDArray[np.int64]) -> NDArray[np.object_]:
        for group in self._ancestors(places):
            u, w = self._parent[group].T
            rows = self.forms.exact_rows(self._form[group])[:, self.columns]
            at_u = np.abs((rows * self._exact[u]).sum(axis=1))
            at_w = np.abs((rows * self._exact[w]).sum(axis=1))
            self._exact[group] = primitive(at_u[:, None] * self._exact[w] + at_w[:, None] * self._exact[u])
            self._known[group] = True
        return self._exact[places]

    def _ancestors(self, places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The vertices that must be known first, and these, the oldest first."""
        waiting = np.unique(places[~self._known[places]])
        found = []
        while len(waiting):
            found.append(waiting)
            above = self._parent[waiting].ravel()
            waiting = np.unique(above[~self._known[above]])
        if not found:
            return []
        every = np.unique(np.concatenate(found))
        return [every[self._age[every] == age] for age in np.unique(self._age[every])]

    def add(self, edges: NDArray[np.int64], references: NDArray[np.int64]) -> None:
        """New vertices, on edges ``(u, w)`` and where the forms vanish, of which the last one cut the edge."""
        count, size = len(edges), len(self.columns)
        edges = self.place[edges]
        view, error = np.empty((count, size)), np.empty((count, size))
        poor = np.zeros(count, dtype=bool)
        for first in range(0, count, _BLOCK):
            some = slice(first, first + _BLOCK)
            view[some], error[some], poor[some] = self._meet(edges[some], references[some])
        old = len(self._view)
        self.place = np.concatenate([self.place, old + np.arange(count)])
        self._parent = np.concatenate([self._parent, edges])
        self._form = np.concatenate([self._form, references[:, -1]])
        self._age = np.concatenate([self._age, 1 + self._age[edges].max(axis=1)])
        self._known = np.concatenate([self._known, np.zeros(count, dtype=bool)])
        self._exact = np.concatenate([self._exact, np.empty((count, size), dtype=object)])
        self._view, self._error = np.concatenate([self._view, view]), np.concatenate([self._error, error])
        bad = old + np.flatnonzero(poor)
        if len(bad):
            self._view[bad], self._error[bad] = _rounded(self._exactly(bad))

    def _meet(
        self, edges: NDArray[np.int64], references: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Floats, error bounds, and where they are too rough or their sign is in doubt."""
        at = np.ix_(np.arange(len(self.forms.table)), self.columns)
        table, off = (self.forms.table, self.forms.table_error)
        if len(self.columns) != table.shape[1]:
            table, off = table[at], off[at]
        rows, error = unit_rows(table[references], off[references])
        view, error = cross_product(rows, error)
        with np.errstate(all="ignore"):
            # The vertex is in the cone of u and w: it has the sign of x_0 there or, at infinity, points their way.
            u, w = self._view[edges[:, 0]], self._view[edges[:, 1]]
            finite = (u[:, -1] > 0) | (w[:, -1] > 0)
            # Of equal length: then all of the cone is on the positive side of their sum.
            between = u / np.linalg.norm(u, axis=1, keepdims=True) + w / np.linalg.norm(w, axis=1, keepdims=True)
            along = (view * between).sum(axis=1)
            unsure = (error * np.abs(between)).sum(axis=1) + 1e-9 * np.abs(view).max(axis=1)
            side = np.where(finite, view[:, -1], along)
            clear = np.abs(side) > np.where(finite, error[:, -1], unsure)
            view = view * np.sign(side)[:, None]
            view, error = unit_rows(view, error)
            poor = ~(clear & (error.max(axis=1) <= _ROUGH))
        return view, error, poor


def _rounded(exact: NDArray[np.object_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Integer rows as floats of size 1, and what rounding may have done."""
    largest = np.abs(exact).max(axis=1)
    view = np.asarray(exact / largest[:, None], dtype=np.float64)
    return view, EPS * np.abs(view)


def _corners_of_orthants(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Where independent forms all vanish, and the directions in which one of them changes, up and down."""
    r = len(rows)
    point = np.array([[0] * r + [1]], dtype=object)
    if r == 0:
        return point
    det, adj = adjugate(rows[None, :, :-1])
    d, inverse = det[0], adj[0] * sign(det)[0]
    point[0, :-1] = -(inverse * rows[None, :, -1]).sum(axis=1)
    point[0, -1] = abs(d)
    rays = np.concatenate([inverse.T, np.zeros((r, 1), dtype=np.int64).astype(object)], axis=1)
    both = np.stack([rays, -rays], axis=1).reshape(2 * r, r + 1)
    return primitive(np.concatenate([point, both]))
