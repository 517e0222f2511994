"""The whole complex of a network, one neuron at a time: cells, their signs, and all faces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InputError, InternalError, LimitError
from cpwl.exact.rational import pivots
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.forms import Forms
from cpwl.regions.subdivide.faces import Lattice, Vertices, orthants

_MOST_DIRECTIONS = 10  # at the start there are 2 * 3^r faces
_MOST_BOUNDS = 50_000_000  # pairs of a face and what bounds it: about 2 GB


class TooMany(LimitError):
    """There are more faces than it is wise to keep."""


@dataclass(slots=True, eq=False)
class Subdivision:
    """A complex with its forms; ``signs[i, j]`` is the sign of neuron `j` on cell `i`, 0 if it vanishes on it."""

    forms: Forms
    lattice: Lattice
    vertices: Vertices
    columns: NDArray[np.int64]
    signs: NDArray[np.int8]
    base: NDArray[np.int64]
    """The cell of the last level that each cell lies in."""
    whole: bool
    """False if cells were left out."""

    @property
    def cells(self) -> int:
        return len(self.signs)

    @property
    def complete(self) -> bool:
        """No cell was left out, facets of one cell are in the boundary of the domain, and faces add up as in a ball."""
        if not self.whole or self.lattice.dim == 0:
            return self.whole
        alone = self.lattice.forms[-2][self.lattice.cells_of_facets() == 1, 0]
        return bool((self.forms.decode(alone)[0] == 0).all()) and self.lattice.euler() == 1


def essential_rows(rows: NDArray[np.float64], exact: Callable[[], NDArray[np.object_]]) -> tuple[list[int], list[int]]:
    """Rows that are independent and as many as there can be, early ones first, and coordinates on which they stay so.

    Floats decide where a full rank is plain to see.
    """
    n = rows.shape[1]
    if len(rows) == 0:
        return [], []
    size = np.abs(rows).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scaled = rows / np.where(size == 0, 1, size)
    if np.isfinite(scaled).all():
        scaled = _first_of_parallel(scaled)
        # As many rows, or columns, as there are of the other kind.
        tall = len(rows) >= n
        order = scipy.linalg.qr(scaled.T if tall else scaled, pivoting=True, mode="economic")[2]
        first = np.sort(order[: min(rows.shape)])
        values = np.linalg.svd(scaled[first] if tall else scaled[:, first], compute_uv=False)
        if values[-1] > 1e-6 * values[0] > 0:
            chosen, every = [int(i) for i in first], list(range(min(rows.shape)))
            return (chosen, every) if tall else (every, chosen)
    whole = fmpz_mat([[int(v) for v in row] for row in exact()])
    found = (matrix.rref() for matrix in (whole.transpose(), whole))
    chosen, columns = (pivots(reduced, rank) for reduced, _, rank in found)
    return chosen, columns


def _first_of_parallel(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows with 0 for those parallel to an earlier one: a row of the domain goes before a neuron that bends there,
    so that the facets of cells at the border are known to lie in it."""
    largest = np.abs(rows).argmax(axis=1)
    signed = rows * np.where(rows[np.arange(len(rows)), largest] < 0, -1.0, 1.0)[:, None]
    first = np.unique(np.round(signed, 9) + 0.0, axis=0, return_index=True)[1]
    kept = np.zeros_like(rows)
    kept[first] = rows[first]
    return kept


def subdivide(
    network: Network,
    domain: Polyhedron | None,
    *,
    most: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Subdivision:
    """The complex of all cells of the network on the domain, or of `most` of them; `TooMany` for too many faces.

    With `strict` more than `most` cells are too many, too: as soon as there are, nothing is worked out any more.

    Every sign is decided, in integers where error bounds on floats cannot tell, so the complex is proved.
    """
    return _Subdivider(network, domain, most, strict, progress).run()


def first_rows(network: Network, forms: Forms) -> tuple[list[int], list[int]]:
    """Independent rows among those of the domain and the first layer, and coordinates on which they stay so."""
    none = np.zeros(1, dtype=np.int64)
    levels = forms.levels[:2] if len(network.layers) > 1 else forms.levels[:1]
    view = np.concatenate([level.rows[:, 0, :-1] for level in levels])[1:]

    def exact() -> NDArray[np.object_]:
        return np.concatenate([forms.exact_level(l, none)[:, 0, :-1] for l in range(len(levels))])[1:]

    return essential_rows(view, exact)


def essential_dimension(network: Network, domain: Polyhedron | None) -> int:
    """The number of directions in which anything can change: the rank of the first layer and the domain."""
    return len(first_rows(network, Forms(network, domain))[0])


class _Subdivider:
    def __init__(
        self,
        network: Network,
        domain: Polyhedron | None,
        most: int | None,
        strict: bool,
        progress: Progress | None,
    ) -> None:
        self.network, self.most, self.strict, self.progress = network, most, strict, progress
        self.forms = Forms(network, domain)
        self.whole = True
        self.done, self.total = 0, sum(weight.shape[0] for weight, _ in network.layers[:-1])
        self.walls = self.forms.levels[0].rows.shape[0] - 1
        self.chosen, columns = first_rows(network, self.forms)
        self.columns = np.array([*columns, network.inputs], dtype=np.int64)
        if len(columns) > _MOST_DIRECTIONS:
            raise TooMany(
                f"the network bends in {len(columns)} directions; all faces of its complex can be kept for at most "
                f"{_MOST_DIRECTIONS}",
                directions=len(columns),
            )
        # Rows of the domain come first, then the first layer.
        first = (1 + i if i < self.walls else int(self.forms.reference(1, i - self.walls, 0)) for i in self.chosen)
        references = np.array(list(first), dtype=np.int64)
        self.lattice = orthants(references, 0)
        self.vertices = Vertices(self.forms, self.columns, references)
        self.signs = np.zeros((self.lattice.counts[-1], self.total), dtype=np.int8)

    def run(self) -> Subdivision:
        """The domain first, then layer by layer."""
        self._start()
        base = np.zeros(self.lattice.counts[-1], dtype=np.int64)
        for l, (weight, _) in enumerate(self.network.layers[:-1], start=1):
            if l > 1:
                self.forms.advance(base, self.signs[:, self.done - weight.shape[1] : self.done] > 0)
                self.lattice.rebase()
            self._layer(l, weight.shape[0], {row - self.walls for row in self.chosen} if l == 1 else set())
            base = self.lattice.base[-1]
        return Subdivision(self.forms, self.lattice, self.vertices, self.columns, self.signs, base, self.whole)

    def _start(self) -> None:
        """Signs on the orthants of the chosen rows, and what is outside the domain is dropped."""
        known = {}
        for i, row in enumerate(self.chosen):
            signs = np.zeros(len(self.vertices), dtype=np.int8)
            signs[1 + 2 * i], signs[2 + 2 * i] = 1, -1
            known[row] = signs
            if row >= self.walls:
                self.signs[:, row - self.walls] = _as_signs(self.lattice.flags(signs)[-1])
        kept = np.ones(len(self.vertices), dtype=bool)
        for row in range(self.walls):
            if row in known:
                kept[kept] = self._restrict(known[row][kept])
        for row in range(self.walls):
            if row not in known:
                signs = self.vertices.signs(0, row + 1, self.lattice.base[0])
                self._cut(signs, np.array([1 + row]))
                self._restrict(self.vertices.signs(0, row + 1, self.lattice.base[0]))

    def _layer(self, level: int, width: int, skip: set[int]) -> None:
        cells = np.arange(self.forms.levels[level].cells)
        sides = self.vertices.sides(level)
        known = np.flatnonzero(sides)
        self.signs[:, self.done + known] = sides[known]
        for j in range(width):
            if j not in skip and sides[j] == 0:
                signs = self.vertices.signs(level, j, self.lattice.base[0])
                flag = self._cut(signs, self.forms.reference(level, j, cells))
                self.signs[:, self.done + j] = _as_signs(flag)
            if self.most is not None and len(self.signs) > self.most:
                if self.strict:
                    done, total = self.done + j + 1, self.total
                    raise TooMany(f"there are more than {self.most} cells", neurons=done, of=total)
                self._truncate(self.most)
            if sum(map(len, self.lattice.sub)) > _MOST_BOUNDS:
                raise TooMany(
                    "the complex of this network has more faces than can be kept; extract walks from cell to cell",
                    neurons=self.done + j + 1,
                    of=self.total,
                )
            if self.progress is not None:
                self.progress(self.done + j + 1, self.total, f"{len(self.signs):,} regions")
        self.done += width

    def _cut(self, signs: NDArray[np.int8], reference: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Cuts the lattice, adds the vertices, and returns for each cell the sign as a flag."""
        lattice = self.lattice
        old = len(self.vertices)
        ends = lattice.sub[1] if lattice.dim else None
        cut = lattice.cut(signs, reference)
        which = cut.cut[-1]
        if not len(which):
            return cut.flags[-1]
        assert ends is not None
        edges = ends.reshape(-1, 2)[cut.cut[1]]
        self.vertices.add(edges, lattice.forms[0][old:])
        self.signs = np.concatenate([self.signs, self.signs[which]])
        flags = cut.flags[-1]
        flags[which] = 1
        return np.concatenate([flags, np.full(len(which), 2, dtype=np.uint8)])

    def _truncate(self, most: int) -> None:
        """Only the first cells stay; they are cut further, and what comes out at the end is a part of all cells."""
        self.whole = False
        cells = np.arange(len(self.signs)) < most
        self._keep([np.ones(count, dtype=bool) for count in self.lattice.counts[:-1]] + [cells])

    def _restrict(self, signs: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Drops what is outside a row of the domain."""
        flags = self.lattice.flags(signs)
        masks = [flag != 2 for flag in flags]
        masks[-1] = flags[-1] == 1
        if not masks[-1].any():
            raise InputError("the domain has no interior: no point satisfies all of its rows strictly")
        return self._keep(masks)

    def _keep(self, masks: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Drops cells, and all faces that bound no cell then; returns which vertices are left."""
        for k in range(self.lattice.dim, 0, -1):
            used = np.zeros(len(masks[k - 1]), dtype=bool)
            used[self.lattice.sub[k][np.repeat(masks[k], np.diff(self.lattice.start[k]))]] = True
            if (used & ~masks[k - 1]).any():
                raise InternalError("a face on the wrong side of a row bounds one on the right side")
            masks[k - 1] = used
        self.signs = self.signs[masks[-1]]
        self.vertices.keep(masks[0])
        self.lattice.keep(masks)
        return masks[0]


def _as_signs(flag: NDArray[np.uint8]) -> NDArray[np.int8]:
    return np.where(flag == 1, 1, np.where(flag == 2, -1, 0)).astype(np.int8)
