"""Many cells of a network at once, each known by its signs: rows, an inner point, facets, and what is across them.

Rays shot from an inner point prove facets: the first row that a ray meets is one. For a row that no ray has met, the
polar dual says at once whether it is redundant, and why, or which ray meets it. Proofs of redundancy are kept: most
of them hold in many cells. Across a facet only the neurons that vanish on it change sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InternalError
from cpwl.exact.integers import primitive, sign
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe
from cpwl.regions.forms import EPS, NeuronForms

# Why rows of cells are redundant, remembered from cell to cell.


_MOST = 4096


class Proofs:
    """Why rows are redundant: a row is implied by others, its sign and theirs.

    The forms of a layer depend on the pattern of the layers before it, so the same proof holds wherever that pattern
    and the signs of the rows in it are the same.
    """

    def __init__(self, forms: NeuronForms) -> None:
        widths = [weight.shape[0] for weight, _ in forms.network.layers[:-1]]
        walls = forms.levels[0].rows.shape[0] - 1
        self.ends = walls + np.cumsum([0, *widths])  # layer l has the rows ends[l - 1] to ends[l]
        self.forms: dict[tuple[int, bytes], NDArray[np.object_]] = {}
        self._known: dict[tuple[int, bytes], tuple[list[int], list[NDArray[np.int8]]]] = {}
        self._arrays: dict[tuple[int, bytes], tuple[NDArray[np.int64], NDArray[np.int8]]] = {}

    def _key(self, layer: int, side: NDArray[np.int8]) -> tuple[int, bytes]:
        return layer, (side[: self.ends[layer - 1]] > 0).tobytes() if layer else b""

    def add(self, side: NDArray[np.int8], row: int, others: NDArray[np.int64]) -> None:
        """Row `row` follows from the rows `others`, all with their signs on this side."""
        last = max(row, int(others.max(initial=0)))
        key = self._key(int(np.searchsorted(self.ends, last, side="right")), side)
        needs = np.zeros_like(side)
        needs[row], needs[others] = side[row], side[others]
        rows, masks = self._known.setdefault(key, ([], []))
        rows.append(row)
        masks.append(needs)
        self._arrays.pop(key, None)

    def remember(self, key: tuple[int, bytes], table: NDArray[np.object_]) -> None:
        """Integer forms of a layer behind a pattern; forgotten now and then, as they take space."""
        if len(self.forms) >= _MOST:
            self.forms.clear()
        self.forms[key] = table

    def known(self, side: NDArray[np.int8]) -> NDArray[np.bool_]:
        """The rows that are redundant by a proof that applies to a cell with these signs."""
        result = np.zeros(len(side), dtype=bool)
        for layer in range(len(self.ends)):
            key = self._key(layer, side)
            if key not in self._known:
                continue
            if key not in self._arrays:
                rows, masks = self._known[key]
                self._arrays[key] = np.array(rows), np.array(masks)
            row, needs = self._arrays[key]
            result[row[((needs == 0) | (needs == side)).all(axis=1)]] = True
        return result


# Is a row of a polyhedron redundant? Its polar dual, around an inner point, answers both ways.
#
# With the inner point `x` as origin, row `i` becomes the point ``p_i = a_i / (b_i - a_i.x)``. The row is redundant iff
# `p_i` is in the convex hull of 0 and the other points, and the weights say why; otherwise the ray from the nearest
# point of the hull to `p_i` is one that meets row `i` before all others. The nearest point is a problem of nonnegative
# least squares.


MARGIN = 1e-5  # rows that miss a cell, or reach into it, by less than this, relative, are left to integers
_CLEAR = 1e-9  # relative gap between the first and the second row on a ray
_WIDE = 32.0  # how far a cell may reach, in its own frame


class Polar:
    """One polyhedron ``a.x <= b`` seen from inside; `frame` makes it round.

    `noise` bounds the error of each slack, `error` that of each number in `a`.

    >>> square = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, 1]])
    >>> polar = Polar(square, np.array([1.0, 1, 1, 1, 3]), np.zeros(2), np.eye(2), np.zeros(5), 0 * square)
    >>> polar.decide(4)[0] is None, polar.decide(0)[1]
    (False, array([ 1.  , -0.25]))
    """

    def __init__(
        self,
        a: NDArray[np.float64],
        b: NDArray[np.float64],
        x: NDArray[np.float64],
        frame: NDArray[np.float64],
        noise: NDArray[np.float64],
        error: NDArray[np.float64],
    ) -> None:
        self.a, self.x, self.frame, self.error = a, x, frame, error
        self.slack = b - a @ x
        with np.errstate(all="ignore"):
            self.noise = noise / self.slack
            self.doubt = self.noise + _WIDE * (error @ np.abs(frame)).sum(axis=1) / self.slack
            self.hull = np.vstack([(a @ frame / self.slack[:, None]).T, np.ones(len(b))])
        self.sound = bool((self.slack > 2 * noise).all() and np.isfinite(self.hull).all())

    def decide(self, k: int) -> tuple[NDArray[np.int64] | None, NDArray[np.float64] | None]:
        """Rows that imply row `k`, or a point inside facet `k`; neither if floats cannot tell."""
        if not self.sound:
            return None, None
        hull = self.hull.copy()
        target = hull[:, k] * (1 + MARGIN)  # a little farther out, so that an answer has that much to spare
        target[-1] = 1.0
        hull[:-1, k] = 0.0  # the origin in its place
        try:
            weight, distance = scipy.optimize.nnls(hull, target)
        except RuntimeError:  # too many iterations
            return None, None
        if distance <= 1e-11 * (1 + np.abs(target).max()):
            weight[k] = 0.0
            sure = weight @ self.doubt + self.doubt[k] < MARGIN / 2
            return np.flatnonzero(weight > 0) if sure else None, None
        way = self.frame @ (target - hull @ weight)[:-1]
        speed = self.a @ way / self.slack
        off = self.error @ np.abs(way) / self.slack + np.abs(speed) * (self.noise + 1e-14)
        others = np.delete(speed + off, k)
        if not speed[k] - off[k] > max(others.max(initial=0.0), 0.0) * (1 + _CLEAR):
            return None, None
        return None, np.asarray(self.x + way / speed[k])


_ACCURATE = 1e-11  # relative error of a row beyond which it is taken from integers
_RAYS = 32
_ROUNDS = 3
_FAR = 4.0  # rays that go on and on count as this far, in the cell's own metric


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Cells to explore: their signs, a point in the closure of each, and a direction that leads inside, 0 if it is."""

    signs: NDArray[np.int8]
    point: NDArray[np.float64]
    direction: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.signs)

    def take(self, which: NDArray[np.int64] | slice) -> Seeds:
        return Seeds(self.signs[which], self.point[which], self.direction[which])


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The facets of explored cells: owner, the row (domain rows first, then neurons), and a seed across it.

    A facet in the boundary of the domain has ``outer`` set, and no meaningful seed.
    """

    owner: NDArray[np.int64]
    row: NDArray[np.int64]
    outer: NDArray[np.bool_]
    across: Seeds
    inside: NDArray[np.float64]


def explore(
    forms: NeuronForms, columns: NDArray[np.int64], seeds: Seeds, *, proofs: Proofs | None = None, exactly: bool = False
) -> Found:
    """The facets of each cell and the cells across them; with `exactly` no float decides what is redundant.

    `proofs` remembers from call to call why rows are redundant.
    """
    return Chambers(forms, columns, seeds, proofs or Proofs(forms), exactly).explore()


class Chambers:
    """Rows ``a.x <= b`` of length 1 for a stack of cells ``(cells, rows)``, in the essential coordinates."""

    def __init__(
        self, forms: NeuronForms, columns: NDArray[np.int64], seeds: Seeds, proofs: Proofs, exactly: bool = False
    ) -> None:
        self.seeds, self.columns, self.proofs, self.exactly = seeds, columns, proofs, exactly
        self.forms = forms_on(forms, seeds.signs)
        self.walls = forms.levels[0].rows.shape[0] - 1
        count = len(seeds)
        self.side = np.concatenate([np.ones((count, self.walls), dtype=np.int8), seeds.signs], axis=1)
        rows, error = self._floats()
        with np.errstate(all="ignore"):
            length = np.linalg.norm(rows[..., :-1], axis=2)
            rough = ~(error.max(axis=2, initial=0.0) <= _ACCURATE * length) & (self.side != 0)
        for c, i in np.argwhere(rough):
            rows[c, i] = _unit_row(self._exact_row(int(c), int(i)))
            error[c, i] = EPS * np.abs(rows[c, i])
        length = np.linalg.norm(rows[..., :-1], axis=2)
        self.live = (length > 0) & (self.side != 0)
        scale = np.where(self.live, self.side / np.where(length > 0, length, 1.0), 0.0)
        self.a = -rows[..., :-1] * scale[..., None]
        self.b = np.where(self.live, rows[..., -1] * scale, 1.0)
        # What may be wrong with a and b: the error of the form, and the rounding since.
        size = np.concatenate([np.abs(self.a), np.abs(self.b)[..., None]], axis=2)
        self.error = np.where(self.live[..., None], error * np.abs(scale)[..., None], 0.0) + 4 * EPS * size
        self.leader = self._leaders()
        self._probe = Probe(0.0)

    def _floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        count = len(self.seeds)
        rows: list[NDArray[np.float64]] = []
        errors: list[NDArray[np.float64]] = []
        for l, level in enumerate(self.forms.levels):
            first = 1 if l == 0 else 0
            for out, array in ((rows, level.rows), (errors, level.error)):
                part = array[first:][..., self.columns].transpose(1, 0, 2)
                out.append(np.broadcast_to(part, (count, *part.shape[1:])))
        size = self.walls + self.seeds.signs.shape[1]
        return np.concatenate(rows, axis=1)[:, :size].copy(), np.concatenate(errors, axis=1)[:, :size].copy()

    def _exact_row(self, cell: int, row: int) -> NDArray[np.object_]:
        """An integer multiple of a form, on the essential coordinates; the same in all cells with the same prefix."""
        level, row = (0, row + 1) if row < self.walls else (1, row - self.walls)
        done = 0
        while level and row >= (width := self.forms.levels[level].rows.shape[0]):
            row, level, done = row - width, level + 1, done + width
        key = level, (self.seeds.signs[cell, :done] > 0).tobytes()
        table = self.proofs.forms.get(key)
        if table is None:
            place = cell if self.forms.levels[level].cells > 1 else 0
            table = self.forms.exact_level(level, np.array([place]))[:, place][:, self.columns]
            self.proofs.remember(key, table)
        return np.asarray(table[row])

    def _leaders(self) -> NDArray[np.int64]:
        """For each row the first one on the same hyperplane; nearly equal rows are compared in integers."""
        count, size = self.b.shape
        leader = np.broadcast_to(np.arange(size), (count, size)).copy()
        near = np.matmul(self.a, self.a.transpose(0, 2, 1)) > 1 - 1e-9
        gap = np.abs(self.b[:, :, None] - self.b[:, None, :])
        near &= gap <= 1e-7 * (1 + np.abs(self.b[:, :, None]))
        near &= np.triu(np.ones((size, size), dtype=bool), 1) & self.live[:, :, None] & self.live[:, None, :]
        for c, i, k in np.argwhere(near):
            if leader[c, k] == k:
                first, second = (primitive(self._exact_row(int(c), int(j))[None])[0] for j in (i, k))
                first, second = first * int(self.side[c, i]), second * int(self.side[c, k])
                if (first == second).all():
                    leader[c, k] = leader[c, i]
        return leader

    # --- points ---------------------------------------------------------------------------------------------------

    def _inside(self, own: NDArray[np.bool_]) -> NDArray[np.float64]:
        """A point inside each cell, the seed's way, or by a linear program where floats get stuck."""
        point, way = self.seeds.point, self.seeds.direction
        slack = self.b - np.einsum("cri,ci->cr", self.a, point)
        speed = np.einsum("cri,ci->cr", self.a, way)
        with np.errstate(all="ignore"):
            until = np.where(own & (speed > 1e-14), slack / speed, np.inf).min(axis=1, initial=np.inf)
        x = point + np.minimum(until / 2, 1.0)[:, None] * way
        slack = np.where(own, self.b - np.einsum("cri,ci->cr", self.a, x), np.inf)
        size = 1 + np.abs(x).max(axis=1, initial=0.0)
        for c in np.flatnonzero(~(slack.min(axis=1, initial=np.inf) > 1e-10 * size)):
            x[c] = self._centre(int(c), own[c])
        return np.asarray(x)

    def _centre(self, c: int, own: NDArray[np.bool_]) -> NDArray[np.float64]:
        """A point inside by an exact program, as floats as close as they come."""
        found = self._probe.interior(self._body(c, np.flatnonzero(own)))
        if found is None:
            raise InternalError("a cell that was entered has no interior", signs=self.seeds.signs[c].tolist())
        return np.asarray(found, dtype=np.float64)

    def _body(self, c: int, rows: NDArray[np.int64]) -> Polyhedron:
        exact = np.array([self._exact_row(c, int(i)) * int(self.side[c, i]) for i in rows], dtype=object)
        exact = exact.reshape(len(rows), self.a.shape[2] + 1)
        exact = np.column_stack([-exact[:, :-1], exact[:, -1:]])
        return Polyhedron(self.a[c, rows], self.b[c, rows], exact)

    # --- facets ---------------------------------------------------------------------------------------------------

    def explore(self) -> Found:
        """The facets of all cells, and the cells across them."""
        own = self.live & (self.leader == np.arange(self.b.shape[1]))
        x = self._inside(own)
        rays = np.random.default_rng(7).standard_normal((_RAYS, self.a.shape[2]))
        facet, where = np.zeros(own.shape, dtype=bool), np.zeros(self.a.shape)
        if not own.any():
            return self._across(facet, where, x)
        for _ in range(_ROUNDS):
            frame, _ = self._metric(x, own)
            ahead, behind = self._shoot(x, own, rays @ frame.transpose(0, 2, 1), facet, where)
            x = x + np.einsum("ck,ki,cji->cj", ahead - behind, rays, frame) / (2 * len(rays))
        frame, normals = self._metric(x, own)
        self._shoot(x, own, normals, facet, where)
        noise = self._noise(x)
        for c in range(len(x)):  # A loop over cells: what is left takes linear programs of its own.
            if self.exactly:
                self._decide_exactly(c, own[c], facet[c], where[c])
            elif (own[c] & ~facet[c]).any():
                self._decide(c, own[c], facet[c], where[c], x[c], frame[c], noise[c])
        return self._across(facet, where, x)

    def _slack(self, x: NDArray[np.float64], own: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.asarray(np.where(own, self.b - np.einsum("cri,ci->cr", self.a, x), np.inf))

    def _noise(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the error of a row and rounding can do to its slack at `x`."""
        wrong = np.einsum("cri,ci->cr", self.error[..., :-1], np.abs(x)) + self.error[..., -1]
        return np.asarray(wrong + (x.shape[1] + 2) * EPS * (np.abs(self.a) @ np.abs(x)[..., None])[..., 0])

    def _metric(
        self, x: NDArray[np.float64], own: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The frame of an ellipsoid inside each cell (Dikin's), and for each row the way to it in that metric.

        Rays drawn in this frame do not care how a cell is stretched; a row that is independent of all others is
        always met by its own ray.
        """
        slack = np.maximum(self._slack(x, own), self._noise(x) + 1e-150)  # also where rounding has put x outside
        scaled = self.a / np.where(own, slack, 1.0)[..., None] * own[..., None]
        hessian = np.matmul(scaled.transpose(0, 2, 1), scaled)
        size = np.trace(hessian, axis1=1, axis2=2)[:, None, None]
        value, vector = np.linalg.eigh(hessian)
        floor = 1e-6 * np.minimum(size[:, :, 0], 1.0)
        frame = vector / np.sqrt(np.maximum(value, np.maximum(floor, 1e-300)))[:, None, :]
        return frame, np.matmul(np.matmul(scaled, frame), frame.transpose(0, 2, 1))

    def _shoot(
        self,
        x: NDArray[np.float64],
        own: NDArray[np.bool_],
        rays: NDArray[np.float64],
        facet: NDArray[np.bool_],
        where: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Marks rows that are met first, and clearly so, and the places; returns how far each ray goes, both ways."""
        slack, noise = self._slack(x, own)[:, :, None], self._noise(x)[:, :, None]
        speed = np.matmul(self.a, rays.transpose(0, 2, 1))
        off = np.matmul(self.error[..., :-1], np.abs(rays).transpose(0, 2, 1)) + 8 * EPS * np.abs(speed)
        reach = []
        for way in (1.0, -1.0):
            with np.errstate(all="ignore"):
                # The earliest and the latest time at which each row may be met.
                early = np.where(
                    own[:, :, None] & (way * speed + off > 0), (slack - noise) / (way * speed + off), np.inf
                )
                late = np.where(way * speed - off > 0, (slack + noise) / (way * speed - off), np.inf)
            row = early.argmin(axis=1)
            cell, ray = np.indices(row.shape)
            limit = late[cell, row, ray]
            early[cell, row, ray] = np.inf
            clear = limit * (1 + _CLEAR) < early.min(axis=1)
            reach.append(np.minimum(limit, _FAR))
            cell, ray = np.nonzero(clear & ~facet[cell, row])
            row = row[cell, ray]
            facet[cell, row] = True
            where[cell, row] = x[cell] + (slack[cell, row, 0] / speed[cell, row, ray])[:, None] * rays[cell, ray]
        return reach[0], reach[1]

    def _decide(
        self,
        c: int,
        own: NDArray[np.bool_],
        facet: NDArray[np.bool_],
        where: NDArray[np.float64],
        x: NDArray[np.float64],
        frame: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> None:
        """The rows of one cell that no ray has met: known to be redundant, found to be so, or facets after all."""
        left = own & ~facet & ~self.proofs.known(self.side[c])
        if not left.any():
            return
        rows = np.flatnonzero(own)
        seen = Polar(self.a[c, rows], self.b[c, rows], x, frame, noise[rows], self.error[c, rows, :-1])
        for k in np.flatnonzero(left[rows]):
            reasons, place = seen.decide(int(k))
            spare = MARGIN / (1 + MARGIN) * float(seen.slack[k])
            if reasons is not None and self._follows(c, int(rows[k]), rows[reasons], spare):
                self.proofs.add(self.side[c], int(rows[k]), rows[reasons])
            elif place is not None:
                facet[rows[k]], where[rows[k]] = True, place
            else:
                self._decide_exactly(c, own, facet, where, [int(k)])

    def _follows(self, c: int, row: int, reasons: NDArray[np.int64], spare: float) -> bool:
        """Whether a row is a nonnegative combination of others, or less: in integers (Farkas).

        The forms are ``b - a.x``: their combination must have the same `a`, and at most the same `b`. Where the reasons
        leave a choice, `b` less what there is to spare is demanded, as the floats did.
        """
        own = [self._exact_row(c, int(i)) * int(self.side[c, i]) for i in (*reasons, row)]
        size, last = len(own[0]) - 1, len(reasons)
        matrix = [[int(form[i]) for form in own] for i in range(size)]
        # A wrong guess of the rank only means that the proof fails here.
        if last > size or np.linalg.matrix_rank(self.a[c, reasons]) < last:
            longest = max(abs(int(v)) for v in own[-1][:-1]) / np.abs(self.a[c, row]).max()
            below = int(own[-1][-1]) - int(spare * longest)
            matrix.append([*(int(form[-1]) for form in own[:-1]), below])
        reduced, denominator, rank = fmpz_mat(matrix).rref()
        total = 0
        for i in range(rank):
            pivot = next(j for j in range(last + 1) if reduced[i, j] != 0)
            weight = int(reduced[i, last]) * (1 if denominator > 0 else -1)
            if pivot == last or weight < 0:
                return False
            total += weight * int(own[pivot][-1])
        return bool(total <= int(own[-1][-1]) * abs(int(denominator)))

    def _decide_exactly(
        self,
        c: int,
        own: NDArray[np.bool_],
        facet: NDArray[np.bool_],
        where: NDArray[np.float64],
        which: list[int] | None = None,
    ) -> None:
        """Rows by exact programs: a facet iff some point on its hyperplane is strictly inside all other rows."""
        rows = np.flatnonzero(own)
        body = self._body(c, rows)
        for k in range(len(rows)) if which is None else which:
            point = self._probe.interior(body, on=[k])
            facet[rows[k]] = point is not None
            if point is not None:
                where[rows[k]] = np.asarray(point, dtype=np.float64)

    # --- what is across -------------------------------------------------------------------------------------------

    def _across(self, facet: NDArray[np.bool_], where: NDArray[np.float64], x: NDArray[np.float64]) -> Found:
        owner, row = np.nonzero(facet)
        together = self.leader[owner] == row[:, None]
        together &= self.live[owner]
        outer = together[:, : self.walls].any(axis=1)
        moving = together[:, self.walls :] | (self.seeds.signs[owner] == 0)
        signs = np.where(moving, -self.seeds.signs[owner], self.seeds.signs[owner]).astype(np.int8)
        hard = np.flatnonzero(~outer & (moving.sum(axis=1) > 1))
        if len(hard):
            signs[hard] = self._signs_across(signs[hard], moving[hard], self.a[owner[hard], row[hard]])
        point = where[owner, row]
        across = Seeds(signs, point, point - x[owner])
        return Found(owner, row, outer, across, x)

    def _signs_across(
        self, signs: NDArray[np.int8], moving: NDArray[np.bool_], normal: NDArray[np.float64]
    ) -> NDArray[np.int8]:
        """Signs just beyond a facet: neurons that vanish on it follow their slope there, layer by layer."""
        forms, done, width = self.forms.fresh(), 0, 0
        every = np.arange(len(signs))
        for l in range(1, len(forms.network.layers)):
            if l > 1:
                parent = every if l > 2 else np.zeros_like(every)
                forms.advance(parent, signs[:, done - width : done] > 0)
            level = forms.levels[l]
            width = level.rows.shape[0]
            for p, j in np.argwhere(moving[:, done : done + width]):
                cell = p if level.cells > 1 else 0
                row, off = level.rows[j, cell][self.columns[:-1]], level.error[j, cell][self.columns[:-1]]
                slope = float(row @ normal[p])
                if not abs(slope) > 1e-9 * np.abs(row).max() + 2 * off.sum():
                    exact = forms.exact_level(l, np.array([cell]))[j, cell][self.columns]
                    slope = float(_unit_row(exact)[:-1] @ normal[p]) if any(exact) else 0.0
                signs[p, done + j] = np.sign(slope)
            done += width
        return signs


def forms_on(forms: NeuronForms, signs: NDArray[np.int8]) -> NeuronForms:
    """The forms of all hidden layers on the cells with the given signs."""
    fresh, done = forms.fresh(), 0
    count = len(signs)
    for l in range(2, len(forms.network.layers)):
        width = forms.levels[1].rows.shape[0] if l == 2 else fresh.levels[l - 1].rows.shape[0]
        parent = np.arange(count) if l > 2 else np.zeros(count, dtype=np.int64)
        fresh.advance(parent, signs[:, done : done + width] > 0)
        done += width
    return fresh


def _unit_row(row: NDArray[np.object_]) -> NDArray[np.float64]:
    largest = max((abs(v) for v in row[:-1]), default=0)
    if not largest:
        return np.array([0.0] * (len(row) - 1) + [float(sign(row[-1:])[0])])
    return np.array([float(v / largest) if abs(v) < largest << 900 else np.inf for v in row])
