"""Proofs of kind "bends", for networks of hinges and gates: the hints.

Above the first hidden layer each neuron is a gate, ``relu(Y) = [l > 0] Y`` for a plane `l`, or a carry, ``Y >= 0``.
Which of them it is, and on which plane, is guessed from values in floats; that it is so, and that the network then has
the function's bends, is decided by the stand-alone checker, in rationals. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, SolverError
from cpwl.exact.integers import integer_rows, ratio_view, sign
from cpwl.function import CPWL
from cpwl.function.domain import domain_rows
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.generators import plane_rows
from cpwl.geometry.linear_program import LinearProgram
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.entries import NotRecognised
from cpwl.proofs.question import Proposal, Question, proof_head, thinned
from cpwl_check.bends import Circuit, by_plane, is_gate
from cpwl_check.budget import Undecided
from cpwl_check.cones import region
from cpwl_check.pieces import plus

Integers = NDArray[np.object_]


def propose_bends(question: Question) -> Iterator[Proposal]:
    """Planes and roles for hinges and gates; `NotRecognised` for a neuron that looks neither like a gate nor a carry.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> next(propose_bends(Question(p, network))).document["planes"]
    [[1, 0]]
    """
    p, network = question.p, question.network
    first = _first_planes(network)
    if len(network.layers) < 3:  # no neuron has a role to be guessed
        hints = {"planes": first.tolist(), "limits": [], "roles": []}
        yield Proposal(Fraction(0), proof_head("bends", p.dim) | hints)
        return
    points = thinned(question.points, _POINTS)
    seen = _Seen.of(
        network, _distinct(np.concatenate([first, plane_rows(p.polyhedra, hyperplanes(p.polyhedra, 0.0))])), points
    )
    domain = _domain(p)
    roles = guess_roles(seen)
    vectors = gate_vectors(question, seen.planes, domain, roles)
    documents = role_documents(roles, vectors, range(len(domain)))
    hints = {"planes": seen.planes.tolist(), "limits": domain.tolist(), "roles": documents}
    yield Proposal(Fraction(0), proof_head("bends", p.dim) | hints)


def _first_planes(network: Network) -> Integers:
    """Where the neurons of the first layer begin: integer rows ``(a, c)`` for ``a.x + c = 0``."""
    weight, bias = exact_layers(network)[0]
    rows = np.column_stack([weight.toarray(), bias])
    slanted = rows[(rows[:, :-1] != 0).any(axis=1)]
    return _distinct(integer_rows(np.zeros(0), slanted))


def _distinct(rows: Integers) -> Integers:
    """Each plane once, whatever its sign, its first slope positive, in order."""
    signs = [next((int(s) for s in row if s), 1) for row in sign(rows[:, :-1])]
    kept = dict.fromkeys(tuple(s * v for v in row) for s, row in zip(signs, rows.tolist(), strict=True))
    return np.array(list(kept), dtype=object).reshape(len(kept), rows.shape[1])


def _domain(p: CPWL) -> Integers:
    """The rows ``(a, b)`` of pieces that hold on all pieces: those of the domain, if it is convex."""
    try:
        return domain_rows(replace(p, domain=None))
    except InputError:
        return np.zeros((0, p.dim + 1), dtype=object)


# Guesses what the neurons above the first hidden layer do: gates, carries, zeros, from values in floats.
#
# A guess is a hint and no more: a wrong one makes a proof that the checker refuses.


Floats = NDArray[np.float64]
_CLOSE = 1e-7  # of the size of the terms: a sum this small may be 0
_POINTS = 6000  # that are looked at
_BLOCK = 64  # planes at once


@dataclass(frozen=True, slots=True)
class Role:
    """A gate on a plane (its number + 1, with the sign of the side where it is open), a carry, or a zero."""

    kind: str
    side: int = 0


def role_documents(
    roles: list[list[Role]], vectors: list[list[list[int] | None]], within: Sequence[int]
) -> list[list[dict[str, Any]]]:
    """The roles as a proof writes them: of gates with a vector everywhere, of others within rows of the domain."""
    return [
        [
            {role.kind: role.side if role.kind == "gate" else True}
            | ({"within": list(within)} if vector is None else {"along": vector})
            for role, vector in zip(layer, some, strict=True)
        ]
        for layer, some in zip(roles, vectors, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Planes on which gates may be, and values in floats that every guess looks at."""

    planes: Integers
    points: Floats
    inside: list[tuple[Floats, Floats]]
    unit: Floats
    near: list[Floats]
    far: list[Floats]

    @classmethod
    def of(cls, network: Network, planes: Integers, points: Floats) -> _Seen:
        unit = ratio_view(planes, np.abs(planes[:, :-1]).max(axis=1, initial=1)[:, None])
        return cls(planes, points, _sums(network, points), unit, *_flatness(network, unit, points))


def guess_roles(seen: _Seen) -> list[list[Role]]:
    """A role for each neuron above the first hidden layer.

    Raises `NotRecognised` for a neuron whose sum changes its sign, but not at one of the planes.
    """
    roles: list[list[Role]] = [[] for _ in seen.inside]
    for layer, (value, size) in enumerate(seen.inside):
        for i in range(value.shape[1]):
            relative = value[:, i] / size[:, i]
            if (relative >= -_CLOSE).all() or (relative <= _CLOSE).all():
                roles[layer].append(Role("carry" if (relative >= -_CLOSE).all() else "zero"))
                continue
            gate = _gate(relative, seen.unit, seen.near[layer][:, i], seen.far[layer][:, i], seen.points)
            if gate is None:
                raise NotRecognised(f"layer {layer + 1}, neuron {i} changes its sign, and not at one plane")
            roles[layer].append(Role("gate", gate.sign * (gate.number + 1)))
    return roles


@dataclass(frozen=True, slots=True)
class _Gate:
    """A plane and the sign it has where a neuron is positive; `doubt` is small if nothing speaks against it.

    First, what does so at points of the domain; then, how far from 0 the neuron is on the plane far outside. That says
    less: on a bounded domain a neuron may be anything there.
    """

    number: int
    sign: int
    doubt: tuple[float, float]


def _gate(relative: Floats, unit: Floats, near: Floats, far: Floats, points: Floats) -> _Gate | None:
    """The plane on which the neuron is about 0 and that least speaks against: it has one sign on each side."""
    clear = np.abs(relative) > _CLOSE
    found = []
    for k in np.flatnonzero(near < _CLOSE):
        sides = np.sign(points[clear] @ unit[k, :-1] + unit[k, -1])
        for side in (1, -1):
            against = float(np.maximum(0.0, -side * sides * relative[clear]).sum())
            found.append(_Gate(int(k), side, (against, float(far[k]))))
    return min(found, key=lambda gate: gate.doubt, default=None)


def _flatness(network: Network, unit: Floats, points: Floats) -> tuple[list[Floats], list[Floats]]:
    """How far from 0 the neurons of each layer are on the planes ``(planes, neurons)``: in the domain, and far away."""
    widths = [weight.shape[0] for weight, _ in network.layers[1:-1]]
    found = tuple([np.zeros((len(unit), w)) for w in widths] for _ in range(2))
    middle = points.mean(axis=0)
    for first in range(0, len(unit), _BLOCK):
        block = unit[first : first + _BLOCK]
        for flat, cloud in zip(found, (points, middle + 1000.0 * (points - middle)), strict=True):
            on = _on_planes(block, cloud)
            for layer, (value, size) in enumerate(_sums(network, on.reshape(-1, network.inputs))):
                shape = (*on.shape[:2], value.shape[1])
                flat[layer][first : first + _BLOCK] = (np.abs(value) / size).reshape(shape).max(axis=1)
    return found[0], found[1]


def _sums(network: Network, points: Floats) -> list[tuple[Floats, Floats]]:
    """What the neurons above the first hidden layer read, and the sizes of the terms, layer by layer."""
    found = []
    values = points
    for layer, (weight, bias) in enumerate(network.layers[:-1]):
        sums = np.asarray(weight @ values.T).T + bias
        if layer:
            size = np.asarray(abs(weight) @ np.abs(values).T).T + np.abs(bias)
            # Where all terms are about 0 a sum says nothing.
            found.append((sums, np.maximum(size, 1e-6 * size.max(axis=0)) + (size.max(axis=0) == 0)))
        values = np.maximum(sums, 0.0)
    return found


def _on_planes(unit: Floats, points: Floats) -> Floats:
    """For each plane some points of the domain on it, between points of its two sides: ``(planes, 16 n, n)``.

    Where all points are on one side, it is the nearest ones.
    """
    count = 16 * points.shape[1]
    rng = np.random.default_rng(0)
    sides = points @ unit[:, :-1].T + unit[:, -1]
    found = np.empty((len(unit), count, points.shape[1]))
    for k, side in enumerate(sides.T):
        above, below = np.flatnonzero(side > 0), np.flatnonzero(side < 0)
        if len(above) == 0 or len(below) == 0:
            found[k] = points[np.argsort(np.abs(side))[np.arange(count) % len(points)]]
            continue
        i, j = rng.choice(above, count), rng.choice(below, count)
        share = side[i] / (side[i] - side[j])
        found[k] = points[i] + share[:, None] * (points[j] - points[i])
    return found


# Vectors along which gates grow: with one, the checker need not cut the domain to see the sign of what a gate reads.
#
# A gate of hinges alone is seen by its fans, and needs none. What another one reads is 0 on all of its plane; the
# slopes of its terms along a vector across the plane add up to at least 0 if the vector is well chosen: one along
# which the hinges are as flat as can be. Nothing here is trusted.


_BITS = 30  # of the entries of a vector


def gate_vectors(
    question: Question, planes: NDArray[np.object_], limits: NDArray[np.object_], roles: list[list[Role]]
) -> list[list[list[int] | None]]:
    """For each neuron above the first hidden layer a vector, [] for a gate of fans; None if it is shown otherwise."""
    n = question.p.dim
    layers = question.layers
    circuit = Circuit(n, [[int(v) for v in row] for row in planes])
    values: list[Any] = [{i: 1} for i in range(n)]
    found: list[list[list[int] | None]] = []
    for number, layer in enumerate(layers[:-1]):
        forms = [circuit.reads(weights, values, "") for weights in layer]
        if number == 0:
            domain = region(n, [[*(-int(v) for v in row[:-1]), int(row[-1])] for row in limits])
            values = [circuit.hinge_on(domain, form) for form in forms]
            continue
        values = []
        found.append([])
        for form, role in zip(forms, roles[number - 1], strict=True):
            vector = None
            if role.kind == "gate":
                row = circuit.row(role.side)
                vector = _vector(circuit, form, row)
                values.append(circuit.atom(row, form, hinge=False))
                circuit.atoms[-1] = circuit.atoms[-1]._replace(everywhere=vector is not None)
            else:
                values.append(form if role.kind == "carry" else {})
            found[-1].append(vector)
    return found


def _vector(circuit: Circuit, form: Any, row: list[int]) -> list[int] | None:
    """The first of a few that will do."""
    try:
        tries = ((), _steepest(circuit, form, row), (*row[:-1], 0))
        return next((list(u[:-1]) for u in tries if is_gate(circuit, form, row, list(u), "")), None)
    except (Undecided, OverflowError, SolverError):
        return None


def _steepest(circuit: Circuit, form: Any, row: list[int]) -> tuple[int, ...]:
    """The vector `u` with ``row.u = 1`` for which the checker's bound of the slope is greatest: a linear program."""
    n, (affine, terms, _) = circuit.n, circuit.whole(form)
    program = _Program(circuit)
    slope = program.least(affine, terms, program.size(affine, terms))
    size = max(map(abs, row[:-1]))
    normal = {i: v / size for i, v in enumerate(row[:-1])}
    width = program.count
    rows = [*program.rows, (normal, 1.0), ({i: -v for i, v in normal.items()}, -1.0)]
    A, b = np.zeros((len(rows), width)), np.array([right for _, right in rows])
    for k, (left, _) in enumerate(rows):
        A[k, list(left)] = list(left.values())
    goal = np.zeros(width)
    goal[list(slope)] = list(slope.values())
    found = LinearProgram(A, b).propose(goal)
    if found.status != "optimal":
        return (*row[:-1], 0)
    u = found.point[:n]
    grid = 2.0 ** (_BITS - int(np.frexp(np.abs(u).max())[1]))
    return (*(int(v) for v in np.round(u * grid)), 0)


Linear = dict[int, float]  # factors of the variables: the vector's entries, then one for each bound


class _Program:
    """Rows ``left . x <= right`` under which variables are at most the bounds that `Circuit.slopes` computes."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.count = circuit, circuit.n
        self.rows: list[tuple[Linear, float]] = []
        self._known: dict[tuple[int, int], Linear] = {}
        self._sizes: dict[int, int] = {}

    def size(self, affine: list[int], terms: list[tuple[int, int]]) -> int:
        """About how steep a sum is, so that all numbers can be brought to size 1."""
        steps = [abs(c) * self._steepness(a) for c, a in terms]
        return max([1, *map(abs, affine[:-1]), *steps])

    def _steepness(self, a: int) -> int:
        if a not in self._sizes:
            atom = self.circuit.atoms[a]
            self._sizes[a] = self.size(atom.affine, atom.terms)
        return self._sizes[a]

    def least(self, affine: list[int], terms: list[tuple[int, int]], size: int, sign: int = 1) -> Linear:
        """A lower bound of the slope of a sum, or of its opposite, along the vector, divided by its size."""
        total: Linear = {i: sign * v / size for i, v in enumerate(affine[:-1])}
        for (side, weight), gates in by_plane(self.circuit, terms).items():
            row = self.circuit.planes[abs(side) - 1]
            plane = {i: sign * weight * v / size for i, v in enumerate(row[:-1])}
            content = plane if side > 0 else {i: -v for i, v in plane.items()}
            total = total if side > 0 else plus(total, 1.0, plane)
            for c, a in gates:
                content = plus(content, abs(c) * self._steepness(a) / size, self._gate(a, sign if c > 0 else -sign))
            bound = {self.count: 1.0}
            self.count += 1
            self.rows += [(bound, 0.0), (plus(bound, -1.0, content), 0.0)]
            total = plus(total, 1.0, bound)
        return total

    def _gate(self, a: int, sign: int) -> Linear:
        """A lower bound of the slope of what a gate reads, or of its opposite, divided by its size."""
        if (a, sign) not in self._known:
            atom = self.circuit.atoms[a]
            self._known[a, sign] = self.least(atom.affine, atom.terms, self._steepness(a), sign)
        return self._known[a, sign]
