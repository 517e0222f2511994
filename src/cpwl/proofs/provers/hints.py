"""Proofs that are little more than hints, of kinds "columns", "line", "clamped" and "strip": the checker does the rest.

Columns: the axes of a Kuhn grid, the one that is summed along, and the bases (docs/columns.md). Line: the direction in
which everything bends. Clamped: where each bump is not 0. Strips: the strips, and what is clamped (docs/strips.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import integer_rows, ratio_view
from cpwl.exact.rational import fraction_array, text
from cpwl.function import CPWL
from cpwl.function.bends.profile import bend_direction
from cpwl.function.bends.table import Table, table_of
from cpwl.function.parts import is_even, kuhn_grid
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.entries import NoProof, NotRecognised
from cpwl.proofs.question import Proposal, Question, places_of, proof_head
from cpwl_check.clamped import Halves, whole
from cpwl_check.pieces import Layers


def propose_columns(question: Question) -> Iterator[Proposal]:
    """One proposal for each axis whose hinges would be as many as the network has.

    >>> from cpwl import CPWL, compile
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 1], [2, 0], [1, 1]])
    >>> network = compile(p, construction="columns").network
    >>> next(propose_columns(Question(p, network))).document["axis"]
    0
    """
    mesh = question.p.mesh
    try:
        grid = None if mesh is None else kuhn_grid(mesh)
    except ConstructionError as reason:
        raise NoProof(str(reason)) from None
    layers = exact_layers(question.network)
    hinges = 0 if grid is None or all(is_even(axis) for axis in grid.axes) else 1
    if grid is None or len(layers) <= hinges + 1:
        raise NoProof("the function is not a table on a grid, or the network has too few layers")
    count, n = layers[hinges][0].shape[0], len(grid.axes)
    fitting = [h for h in reversed(range(n)) if _hinges(grid.steps, h) == count]
    document = {
        "axes": [[text(v) for v in axis] for axis in grid.axes],
        "bases": [text(Fraction(v)) for v in layers[-1][1]],
    }
    for axis in fitting:
        yield Proposal(Fraction(0), proof_head("columns", question.p.dim) | {"axis": axis} | document)


def _hinges(steps: tuple[int, ...], h: int) -> int:
    """How many hinges there are where axis `h` is summed along: its steps, and with each other axis those of both.

    Those of the other axis come in two senses, but for the plane.
    """
    twice = 1 if len(steps) == 2 else 2
    return steps[h] + sum(steps[h] + twice * m for i, m in enumerate(steps) if i != h)


# Proofs of kind "line", for networks that bend in one direction, of any depth.
#
# Such a network is affine between places on a line, and the checker walks along it from neuron to neuron. The proof
# only says which direction that is. See docs/proof.md.


def propose_line(question: Question) -> Iterator[Proposal]:
    """The direction in which the function bends. For one input a walk decides: no other kind will do if this fails.

    >>> from cpwl.network import Network
    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> next(propose_line(Question(p, network))).document["direction"]
    [1]
    """
    p = question.p
    try:
        direction = bend_direction(p.laws.integer(), p.dim)
    except ConstructionError as reason:
        raise NotRecognised(str(reason)) from None
    document = proof_head("line", p.dim) | {"direction": [int(v) for v in direction]}
    yield Proposal(Fraction(0), document, settles=p.dim == 1)


# Proofs of kind "clamped": which neurons are the two halves of a bump, read off the weights and the table.
#
# A half is positive at the corners of its cluster and at no other corner, so the two halves of a bump are those that
# are positive at the same corners. What the bump is, and that it is 0 elsewhere, is found out and decided by the
# stand-alone checker. See docs/proof.md.


_CLOSE = 1e-6  # of the size of the terms: values nearer to 0 are looked at exactly


def propose_clamped(question: Question) -> Iterator[Proposal]:
    """The bumps of a network of clamped gates; `NotRecognised` for other networks."""
    p, network = question.p, question.network
    if p.dim != 2 or len(network.layers) < 4:
        raise NotRecognised("clamped gates have two inputs, and three hidden layers or more")
    rows = _rows(question.layers)
    try:
        table = table_of(p)
    except (ConstructionError, LimitError) as reason:
        raise NotRecognised(f"there is no table for clamped gates: {reason}") from None
    corners = _positive_corners(question, table)
    bumps = [entry for d, row in rows.items() for entry in _bumps(d, row, corners, table)]
    boundary = table.lines[list(table.boundary)] * np.array(table.inward, dtype=object)[:, None]
    document = {
        **proof_head("clamped", 2),
        "limits": [[-a, -b, c] for a, b, c in boundary.tolist()],
        "points": [[text(Fraction(v, w)) for v in x] for *x, w in table.places.tolist()],
        "bumps": bumps,
    }
    yield Proposal(Fraction(0), document)


def _rows(layers: Layers) -> dict[int, dict[int, int]]:
    """The neurons of the last hidden layer that take first halves less second ones, and those with their signs."""
    for i, form in enumerate(layers[-2]):
        if not {*form.values()} <= {1, -1} or len(layers[-3]) in form:
            raise NotRecognised(f"neuron {i} of the last hidden layer has a bias, or a weight that is not 1 or -1")
    rows = {i: {j: int(w) for j, w in form.items()} for i, form in enumerate(layers[-2])}
    second = {j for row in rows.values() for j, sign in row.items() if sign < 0}
    # What reads second halves only, and adds them up, carries them.
    return {i: row for i, row in rows.items() if not (row.keys() <= second and min(row.values(), default=1) > 0)}


def _positive_corners(question: Question, table: Table) -> list[frozenset[int]]:
    """For each half the corners of the table at which it is positive: floats first, integers where they cannot tell."""
    network = question.network
    x = (table.places[:, :2] / table.places[:, 2:]).astype(np.float64).T
    for weight, bias in network.layers[:-3]:
        x = np.maximum(weight @ x + bias[:, None], 0.0)
    weight, bias = network.layers[-3]
    value, size = weight @ x + bias[:, None], abs(weight) @ x + np.abs(bias)[:, None]
    halves = Halves(whole(question.layers, 2), 2)
    known: list[dict[Any, int]] = [{} for _ in table.places]
    places = [[int(v) for v in place] for place in table.places.tolist()]
    found: list[set[int]] = [set() for _ in range(len(value))]
    for i, v in zip(*(k.tolist() for k in np.nonzero(value > -_CLOSE * size)), strict=True):
        if value[i, v] > _CLOSE * size[i, v] or halves.value(halves.top, i, places[v], known[v]) > 0:
            found[i].add(v)
    return [frozenset(own) for own in found]


def _bumps(neuron: int, row: dict[int, int], corners: list[frozenset[int]], table: Table) -> list[dict[str, Any]]:
    """The bumps that a neuron takes: halves that are positive at the same corners, and the triangles at these."""
    second = {corners[j]: j for j, sign in row.items() if sign < 0}
    bumps = []
    for i, own in ((i, corners[i]) for i, sign in row.items() if sign > 0):
        other = second.pop(own, None)
        star = np.flatnonzero(np.isin(table.triangles, list(own)).any(axis=1))
        if len(star) == 0:
            raise NotRecognised(f"half {i} is positive at no corner")
        halves = [i] if other is None else [i, other]
        bumps.append({"neuron": neuron, "halves": halves, "triangles": table.triangles[star].tolist()})
    if second:
        raise NotRecognised(f"halves {list(second.values())} have no partner")
    return bumps


# Proofs of kind "strip", for networks of strips: found from the weights, decided by the stand-alone checker.
#
# The first layer tells the frame and the slabs, signs in floats tell which neurons only carry a sum, and `chi`, the
# one second-layer function of `xi` alone, tells where which system is right. See docs/strips.md.


Floats = NDArray[np.float64]
_LEVELS = 24  # heights at which values are looked at
_BITS = 64  # of the bounds, relative to the values of the function


def propose_strips(question: Question) -> Iterator[Proposal]:
    """The parts of a network of strips; `NotRecognised` for other networks.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> next(propose_strips(Question(p, Network([([[1, 0]], [0]), ([[1]], [0])]))))
    Traceback (most recent call last):
        ...
    cpwl.proofs.entries.NotRecognised: a network of strips has three to five hidden layers, and this one has 1
    """
    yield Proposal(Fraction(0), _Recovered(question.p, question.network).document())


def _merged(network: Network, places: NDArray[np.object_]) -> Network:
    """The network whose first layer makes steps of slabs, with its first two layers as one; others as they are.

    ``relu(f - c relu(h)) = relu(f - c h) - c relu(-h)`` for steps and heights; the checker shows that it is so.
    """
    (weight, bias), *later = exact_layers(network)
    rows = np.column_stack([weight.toarray(), bias])
    ramp = (places.dot(rows.T) < 0).any(axis=0)
    below = rows[ramp]
    slopes = below[:, 0] * below[:1, 1] == below[:, 1] * below[:1, 0]
    if len(later) < 4 or not ramp.any() or not slopes.all() or (~ramp).sum() != 2:
        return network
    (weight, bias), (reads, shift), *rest = later
    table = weight.toarray()
    if (table[:, ramp] > 0).any() or ((table[:, ramp] != 0).sum(axis=1) > 1).any():
        return network
    plain = table.dot(rows)
    plain[:, 2] += bias
    step, slab = np.nonzero(table[:, ramp])
    after = reads.toarray()
    mirrored = after[:, step] * table[:, ramp][step, slab]
    first = np.concatenate([plain, -below[slab]])
    merged = np.concatenate([after, mirrored], axis=1)
    return Network([(first[:, :2], first[:, 2]), (merged, shift), *((w.toarray(), b) for w, b in rest)])


class _Recovered:
    """What a network of strips is made of, as far as floats can tell."""

    def __init__(self, p: CPWL, network: Network) -> None:
        if p.dim != 2 or p.tol:
            raise NotRecognised("strips are proved for exact functions of two inputs")
        places, _ = places_of(p)
        if (places[:, 2] == 0).any():
            raise NotRecognised("strips are proved on bounded pieces")
        network = _merged(network, places)
        hidden = len(network.layers) - 1
        if hidden not in (3, 4):
            raise NotRecognised(f"a network of strips has three to five hidden layers, and this one has {hidden}")
        self.p, self.network = p, network
        weight, bias = exact_layers(network)[0]
        self.rows = np.column_stack([weight.toarray(), bias])
        self.t, self.u, self.parallel = self._frame(places)
        frame = np.array([self.t, self.u], dtype=object)
        self.place = ratio_view(places[:, :2].dot(frame.T), places[:, 2:])
        self.hull = self.place[scipy.spatial.ConvexHull(self.place).vertices]
        low, high = self.place[:, 0].min(), self.place[:, 0].max()
        self.ends = [Fraction(math.nextafter(low, -math.inf)), Fraction(math.nextafter(high, math.inf))]
        at = self.t[0] ** 2 + self.t[1] ** 2
        on = self.parallel
        scale = [Fraction(self.rows[i, 0] * self.t[0] + self.rows[i, 1] * self.t[1]) / at for i in on]
        self.scale = dict(zip(on, scale, strict=True))
        knots = {-Fraction(self.rows[i, 2]) / s for i, s in zip(on, scale, strict=True)}
        self.knots = sorted(k for k in knots if self.ends[0] < k < self.ends[1])
        self.breaks = self._breaks()
        self.linear = self._linear()
        self.chi = [self._chi(o) for o in range(p.outputs)] if hidden == 4 else [None] * p.outputs

    def _frame(self, places: NDArray[np.object_]) -> tuple[list[int], list[int], list[int]]:
        """The direction of most first-layer rows, that of a row which is never negative, and the rows of the first."""
        directions = [(a, b) for a, b in integer_rows(np.zeros(0), fraction_array(self.rows[:, :2])).tolist()]
        t = Counter(directions).most_common(1)[0][0]
        parallel = [i for i, v in enumerate(directions) if v == t]
        slabs = len(directions) - len(parallel) - 1  # a diagonal for each, and two lines or, merged, four
        if len(parallel) not in (2 * slabs + 1, 4 * slabs + 1) or t == (0, 0):
            raise NotRecognised("the first layer is not that of a network of strips")
        for i, u in enumerate(directions):
            if t[0] * u[1] != t[1] * u[0] and all(v >= 0 for v in places.dot(self.rows[i])):
                return list(t), list(u), parallel
        raise NotRecognised("no two neurons of the first layer carry the coordinates of a frame")

    def _breaks(self) -> list[Fraction]:
        """The ends of the domain, the lines of slabs and the middle between them, and where `chi` is 0."""
        if len(self.knots) % 2:
            raise NotRecognised("the slabs of the first layer do not lie inside the domain")
        slabs = list(zip(self.knots[::2], self.knots[1::2], strict=True))
        if not slabs:
            return self.ends
        turns = self._turns(slabs) if len(self.network.layers) == 5 else []
        if len(turns) != len(slabs) - 1:
            raise NotRecognised("the network does not switch once between two slabs")
        found = [self.ends[0]]
        for (a, b), z in zip(slabs, [*turns, self.ends[1]], strict=True):
            found += [a, (a + b) / 2, b, z]
        return found

    def _turns(self, slabs: list[tuple[Fraction, Fraction]]) -> list[Fraction]:
        """The zeros between slabs of the second-layer function of `xi` that changes its sign between any two."""
        weight, bias = exact_layers(self.network)[1]
        table = weight.toarray()
        gaps = [(b, a) for (_, b), (a, _) in pairwise(slabs)]
        for i in range(len(bias)):
            reads = self._reads(1, [i])
            if gaps and reads and set(reads) <= set(self.parallel):
                values = [[self._flat(table[i], reads, x) + Fraction(bias[i]) for x in gap] for gap in gaps]
                if all(u * v < 0 for u, v in values):
                    return [x + (y - x) * u / (u - v) for (x, y), (u, v) in zip(gaps, values, strict=True)]
        return []

    def _flat(self, weights: NDArray[np.object_], reads: list[int], xi: Fraction) -> Fraction:
        """A sum of first-layer functions of `xi`."""
        sums = ((weights[j], self.scale[j] * xi + Fraction(self.rows[j, 2])) for j in reads)
        return sum((Fraction(w) * v for w, v in sums if v > 0), Fraction(0))

    def _samples(self) -> Floats:
        """Points in the middle between breaks and around, at many heights."""
        ends = list(pairwise(map(float, self.breaks)))
        points = np.concatenate([self._column(a + share * (b - a)) for a, b in ends for share in (0.25, 0.5, 0.75)])
        pieces = self.place if len(self.place) < 20000 else self.place[:: len(self.place) // 20000]
        return np.concatenate([points, pieces])

    def _column(self, xi: float) -> Floats:
        """Points of the domain above one another, in the frame."""
        x, y = self.hull.T
        ends = []
        for i in range(len(x)):
            u, v = x[i - 1], x[i]
            if min(u, v) <= xi <= max(u, v):
                share = 0.5 if u == v else (xi - u) / (v - u)
                ends.append(y[i - 1] + share * (y[i] - y[i - 1]))
        levels = np.linspace(min(ends, default=0.0), max(ends, default=0.0), _LEVELS + 2)[1:-1]
        return np.column_stack([np.full(_LEVELS, xi), levels])

    def _values(self, points: Floats) -> list[Floats]:
        """What the hidden neurons read at points of the frame."""
        frame = np.array([self.t, self.u], dtype=np.float64)
        value, found = np.linalg.solve(frame, points.T).T, []
        for weight, bias in self.network.layers[:-1]:
            found.append(np.asarray(weight @ value.T).T + bias)
            value = np.maximum(found[-1], 0.0)
        return found

    def _linear(self) -> list[list[int]]:
        """Neurons above the first layer that are on everywhere."""
        return [np.flatnonzero((reads > 0).all(axis=0)).tolist() for reads in self._values(self._samples())[1:]]

    def _reads(self, layer: int, neurons: list[int]) -> list[int]:
        weight = self.network.layers[layer][0]
        return sorted({int(j) for i in neurons for j in weight.indices[weight.indptr[i] : weight.indptr[i + 1]]})

    def _chi(self, output: int) -> int:
        """The neuron of layer 2 that the carried part of an output reads and that is a function of `xi` alone."""
        for s in self._second(output):
            if set(self._reads(1, [s])) <= set(self.parallel):
                return s
        raise NotRecognised(f"output {output} has no switch")

    def _second(self, output: int) -> list[int]:
        """Second-layer neurons of the second system: those that reach the output without the switch."""
        last = [i for i in self._reads(4, [output]) if i in self.linear[2]]
        carried = [i for i in self._reads(3, last) if i in self.linear[1]]
        return [i for i in self._reads(2, carried) if i not in self.linear[0]]

    def _systems(self, output: int) -> tuple[list[int], list[int]]:
        """The hinges of the two systems."""
        if len(self.network.layers) == 4:
            every = self._reads(2, self._reads(3, [output]))
            return [i for i in every if i not in self.linear[0]], []
        second = [i for i in self._second(output) if i != self.chi[output]]
        every = self._reads(2, self._reads(3, self._reads(4, [output])))
        hidden = {*second, *self.linear[0]}
        return [i for i in every if i not in hidden and not set(self._reads(1, [i])) <= set(self.parallel)], second

    def _right(self) -> list[list[int]]:
        """Which system is right between breaks, where the sign of P is 0, and where gates do not count.

        The systems take turns; 1 is where an interval begins and 2 where it ends: the turns beside strips, the lines
        of a slab.
        """
        slabs, found = len(self.knots) // 2, list[list[int]]()
        for k in range(slabs):
            own = 1 + k % 2
            found += [[own, 1 if k else 0, 0], [own, 0, 1], [own, 0, 2], [own, 2 if k + 1 < slabs else 0, 0]]
        return found or [[1, 0, 0]]

    def _starts(self, right: list[list[int]], system: int, hinges: list[int]) -> list[list[Any]]:
        """For each strip of a system a point where few of its hinges are on."""
        found = []
        for i, (number, _, _) in enumerate(right):
            if number == system:
                low, high = float(self.breaks[i]), float(self.breaks[i + 1])
                points = np.concatenate([self._column(low + s * (high - low)) for s in np.linspace(0.02, 0.98, 25)])
                active = (self._values(points)[1][:, hinges] > 0).sum(axis=1)
                x, y = points[int(np.argmin(active))]
                found.append([text(Fraction(float(x))), text(Fraction(float(y)))])
        return found

    def _bits(self) -> int:
        """Enough for values of the function, and for its slopes along `xi`."""
        frame = np.array([self.t, self.u], dtype=np.float64)
        value = np.ptp(self.network(np.linalg.solve(frame, self._samples().T).T)) or 1.0
        smaller = min(value, value / np.ptp(self.place[:, 0]))
        return max(0, _BITS - math.frexp(float(smaller))[1])

    def document(self) -> dict[str, Any]:
        """The proof, as far as it is found."""
        right = self._right()
        starts = []
        for o in range(self.p.outputs):
            for system, hinges in enumerate(self._systems(o), 1):
                starts += self._starts(right, system, hinges) if self.chi[0] is not None or system == 1 else []
        return {
            **proof_head("strip", 2),
            "frame": [self.t, self.u],
            "bits": self._bits(),
            "breaks": [text(x) for x in self.breaks],
            "right": right,
            "linear": self.linear,
            "chi": [None if c is None else [c] for c in self.chi],
            "starts": starts,
        }
