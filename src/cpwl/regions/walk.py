"""Walking from cell to cell across facets, for networks that bend in many directions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, InternalError
from cpwl.exact.integers import sign
from cpwl.exact.rational import fraction_array
from cpwl.executors import Placed, placed, spread
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.chamber import Found, Proofs, Seeds, explore
from cpwl.regions.forms import NeuronForms, first_rows

_BATCH = 128  # cells explored together; fixed, so that floats come out the same however many workers there are


@dataclass(slots=True, eq=False)
class Walk:
    """The cells found: signs, facets as ``(owner, row, neighbour)``.

    A neighbour is -1 at the boundary of the domain, -2 where nobody has been.

    `complete` says that every facet of every cell is matched by a facet of the cell across it, or is in the boundary.
    """

    forms: NeuronForms
    columns: NDArray[np.int64]
    signs: NDArray[np.int8]
    owner: NDArray[np.int64]
    row: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    inside: NDArray[np.float64]
    complete: bool


def walk(
    network: Network,
    domain: Polyhedron | None,
    *,
    most: int | None = None,
    start: NDArray[np.float64] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    whole: bool = False,
) -> Walk:
    """All cells that can be reached across facets, which is all of them; at most `most` where that is given.

    `start` has points in cells that are known already. An interruption (Ctrl-C) ends the walk with what was found;
    where only the `whole` is of use, it is raised.
    """
    return _Walker(network, domain, most, executor, progress, whole).run(start)


def _forms(shared: tuple[Network, Polyhedron | None, NDArray[np.int64]]) -> tuple[NeuronForms, NDArray[np.int64]]:
    """What a worker needs for all of its batches."""
    network, domain, columns = shared
    return NeuronForms(network, domain), columns


def _explore(ready: tuple[NeuronForms, NDArray[np.int64]], seeds: Seeds) -> Found:
    """One batch, by whoever has time; what it finds must not depend on the batches before, so no proofs are kept."""
    forms, columns = ready
    return explore(forms, columns, seeds)


class _Walker:
    def __init__(
        self,
        network: Network,
        domain: Polyhedron | None,
        most: int | None,
        executor: Executor | None,
        progress: Progress | None,
        whole: bool,
    ) -> None:
        self.network, self.domain, self.most, self.whole = network, domain, most, whole
        self.executor, self.progress = executor, progress
        self.place = Placed(None, None)
        self.forms = NeuronForms(network, domain)
        self.columns = np.array([*first_rows(network, self.forms)[1], network.inputs], dtype=np.int64)
        self.proofs = Proofs(self.forms)
        self.number: dict[bytes, int] = {}  # of each cell that was met, by its pattern
        self.explored: list[tuple[NDArray[np.int64], Seeds, Found]] = []
        self.count = 0

    def run(self, start: NDArray[np.float64] | None) -> Walk:
        """From cell to cell until there is nothing new; then facets that only one side knows are decided exactly."""
        try:
            waiting, looked = self._register(self._first(start)), False
            with placed((self.network, self.domain, self.columns), self.executor) as self.place:
                while len(waiting) and self.count != self.most:
                    waiting = self._visit(waiting.take(slice(0, None if self.most is None else self.most - self.count)))
                    if not len(waiting) and not looked and self.count == len(self.number) and self._check():
                        waiting, looked = self._look_again(), True
        except KeyboardInterrupt:
            if self.whole:
                raise
        return self._result(self.count == len(self.number))

    def _visit(self, seeds: Seeds) -> Seeds:
        """Explores cells; returns what was met for the first time."""
        fresh = []
        for first, batch, found in self._batches(seeds):
            place = self.count + np.arange(len(batch))
            self.explored.append((place, batch, found))
            self.count += len(batch)
            fresh.append(self._register(found.across.take(np.flatnonzero(~found.outer))))
            if self.progress is not None and first >= 0:
                self.progress(self.count, len(self.number), f"{self.count:,} regions")
        return _join(fresh)

    def _batches(self, seeds: Seeds) -> Iterator[tuple[int, Seeds, Found]]:
        starts = range(0, len(seeds), _BATCH)
        batches = [seeds.take(slice(i, i + _BATCH)) for i in starts]
        if self.executor is None:
            founds: Iterator[Found] = (
                explore(self.forms, self.columns, batch, proofs=self.proofs) for batch in batches
            )
        else:
            founds = spread(_explore, self.place, batches, self.executor, prepare=_forms)
        return zip(starts, batches, founds, strict=True)

    def _register(self, seeds: Seeds) -> Seeds:
        """The seeds of cells that were not met before; each gets a number, in order."""
        fresh = []
        for i, key in enumerate(_keys(seeds.signs)):
            if key not in self.number:
                self.number[key] = len(self.number)
                fresh.append(i)
        return seeds.take(np.array(fresh, dtype=np.int64))

    # --- where to begin -------------------------------------------------------------------------------------------

    def _first(self, start: NDArray[np.float64] | None) -> Seeds:
        """Cells to begin with: those of the given points, or one."""
        if start is not None and len(start):
            seeds = [self._seed(point) for point in start[:, self.columns[:-1]]]
            known = [seed for seed in seeds if seed is not None]
            if known:
                return _join(known)
        centre, radius = self._ball()
        random = np.random.default_rng(11)
        for attempt in range(64):
            way = random.standard_normal(len(centre))
            way *= radius * 0.9 * 0.5**attempt / (float(np.linalg.norm(way)) or 1.0)
            seed = self._seed(centre + way)
            if seed is not None:
                return seed
        raise InternalError("no generic point was found to start from")

    def _ball(self) -> tuple[NDArray[np.float64], float]:
        """A ball in the domain."""
        if self.domain is None or len(self.domain.b) == 0:
            return np.zeros(len(self.columns) - 1), 1.0
        exact = None if self.domain.exact is None else self.domain.exact[:, self.columns]
        body = Polyhedron(self.domain.A[:, self.columns[:-1]].copy(), self.domain.b, exact)
        inner = Probe(0.0).interior(body)
        if inner is None:
            raise InputError("the domain has no interior: no point satisfies all of its rows strictly")
        centre = np.asarray(inner, dtype=np.float64)
        length = np.linalg.norm(body.A, axis=1)
        return centre, float(np.min((body.b - body.A @ centre) / length, initial=1.0))

    def _seed(self, point: NDArray[np.float64]) -> Seeds | None:
        signs = signs_at(self.forms, self.columns, point)
        return None if signs is None else Seeds(signs[None], point[None], np.zeros((1, len(point))))

    # --- completeness ---------------------------------------------------------------------------------------------

    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """All facets as owner, row, neighbour: -1 at the boundary of the domain, -2 where nobody has been."""
        owner, row, neighbour = [], [], []
        for place, _, found in self.explored:
            other = np.array([self.number.get(key, -2) for key in _keys(found.across.signs)], dtype=np.int64)
            other = np.where(found.outer, -1, other)
            owner.append(place[found.owner])
            row.append(found.row)
            neighbour.append(np.where(other >= self.count, -2, other).astype(np.int64))
        empty = np.zeros(0, dtype=np.int64)
        return np.concatenate([empty, *owner]), np.concatenate([empty, *row]), np.concatenate([empty, *neighbour])

    def _check(self) -> list[int]:
        """Cells with a facet that the cell across it does not have."""
        owner, _, neighbour = self._edges()
        inner = neighbour >= 0
        there = owner[inner] * self.count + neighbour[inner]
        back = neighbour[inner] * self.count + owner[inner]
        lonely = ~np.isin(back, there)
        return sorted({int(i) for pair in (owner[inner][lonely], neighbour[inner][lonely]) for i in pair})

    def _look_again(self) -> Seeds:
        """Decides all facets of doubtful cells exactly; returns cells that nobody had met."""
        doubtful = np.array(self._check(), dtype=np.int64)
        fresh = []
        for k, (place, batch, found) in enumerate(self.explored):
            here = np.flatnonzero(np.isin(place, doubtful))
            if not len(here):
                continue
            inside = Seeds(batch.signs[here], found.inside[here], np.zeros_like(found.inside[here]))
            again = explore(self.forms, self.columns, inside, exactly=True)
            keep = np.flatnonzero(~np.isin(found.owner, here))
            facets = (
                np.concatenate([found.owner[keep], here[again.owner]]),
                np.concatenate([found.row[keep], again.row]),
                np.concatenate([found.outer[keep], again.outer]),
                _join([found.across.take(keep), again.across]),
            )
            self.explored[k] = place, batch, Found(*facets, found.inside)
            fresh.append(self._register(again.across.take(np.flatnonzero(~again.outer))))
        return _join(fresh) if fresh else self._nothing()

    def _nothing(self) -> Seeds:
        size, width = len(self.columns) - 1, sum(weight.shape[0] for weight, _ in self.network.layers[:-1])
        return Seeds(np.zeros((0, width), dtype=np.int8), np.zeros((0, size)), np.zeros((0, size)))

    def _result(self, complete: bool) -> Walk:
        owner, row, neighbour = self._edges()
        order = np.lexsort((row, owner))
        nothing = self._nothing()
        signs = np.concatenate([nothing.signs, *(batch.signs for _, batch, _ in self.explored)])
        inside = np.concatenate([nothing.point, *(found.inside for _, _, found in self.explored)])
        complete = complete and bool((neighbour != -2).all()) and not self._check()
        return Walk(self.forms, self.columns, signs, owner[order], row[order], neighbour[order], inside, complete)


def _keys(signs: NDArray[np.int8]) -> list[bytes]:
    """The on-off pattern of each cell."""
    return [row.tobytes() for row in np.packbits(signs > 0, axis=1)]


def _join(seeds: list[Seeds]) -> Seeds:
    return Seeds(
        np.concatenate([each.signs for each in seeds]),
        np.concatenate([each.point for each in seeds]),
        np.concatenate([each.direction for each in seeds]),
    )


def signs_at(forms: NeuronForms, columns: NDArray[np.int64], point: NDArray[np.float64]) -> NDArray[np.int8] | None:
    """The signs of all hidden neurons around a point, in rationals where floats cannot tell.

    None if the point is not inside a cell: some neuron vanishes there, but not all around.
    """
    exact = fraction_array(np.append(point, 1.0))
    view = np.append(point, 1.0)
    forms, none = forms.fresh(), np.zeros(1, dtype=np.int64)
    signs: list[NDArray[np.int8]] = []
    for l in range(1, len(forms.network.layers)):
        if l > 1:
            forms.advance(none, signs[-1][None] > 0)
        rows, error = forms.levels[l].rows[:, 0, columns], forms.levels[l].error[:, 0, columns]
        with np.errstate(all="ignore"):
            value = rows @ view
            bound = (error + 4 * len(view) * 2.3e-16 * np.abs(rows)) @ np.abs(view)
            sure = np.abs(value) > bound
        own = np.sign(np.where(sure, value, 0.0)).astype(np.int8)
        doubtful = np.flatnonzero(~sure)
        if len(doubtful):
            whole = forms.exact_level(l, none)[doubtful, 0][:, columns]
            own[doubtful] = sign((whole * exact).sum(axis=1))
            if ((own[doubtful] == 0) & (whole != 0).any(axis=1)).any():
                return None
        signs.append(own)
    return np.concatenate(signs) if signs else np.zeros(0, dtype=np.int8)
