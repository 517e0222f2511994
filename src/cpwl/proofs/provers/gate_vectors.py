"""Vectors along which gates grow: with one, the checker need not cut the domain to see the sign of what a gate reads.

A gate of hinges alone is seen by its fans, and needs none. What another one reads is 0 on all of its plane; the slopes
of its terms along a vector across the plane add up to at least 0 if the vector is well chosen: one along which the
hinges are as flat as can be. Nothing here is trusted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import SolverError
from cpwl.geometry.linear_program import LinearProgram
from cpwl.proofs.provers.guess import Role
from cpwl.proofs.question import Question
from cpwl_check.bends import Circuit, by_plane, is_gate
from cpwl_check.budget import Undecided
from cpwl_check.cones import minus, region
from cpwl_check.pieces import read_network

__all__ = ["gate_vectors"]

_BITS = 30  # of the entries of a vector


def gate_vectors(
    question: Question, planes: NDArray[np.object_], limits: NDArray[np.object_], roles: list[list[Role]]
) -> list[list[list[int] | None]]:
    """For each neuron above the first hidden layer a vector, [] for a gate of fans; None if it is shown otherwise."""
    n = question.p.dim
    layers = read_network(question.network_document, n, question.p.outputs)
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
                plane = circuit.planes[abs(role.side) - 1]
                row = plane if role.side > 0 else minus(plane)
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
            total = total if side > 0 else _plus(total, 1.0, plane)
            for c, a in gates:
                content = _plus(content, abs(c) * self._steepness(a) / size, self._gate(a, sign if c > 0 else -sign))
            bound = {self.count: 1.0}
            self.count += 1
            self.rows += [(bound, 0.0), (_plus(bound, -1.0, content), 0.0)]
            total = _plus(total, 1.0, bound)
        return total

    def _gate(self, a: int, sign: int) -> Linear:
        """A lower bound of the slope of what a gate reads, or of its opposite, divided by its size."""
        if (a, sign) not in self._known:
            atom = self.circuit.atoms[a]
            self._known[a, sign] = self.least(atom.affine, atom.terms, self._steepness(a), sign)
        return self._known[a, sign]


def _plus(one: Linear, factor: float, two: Linear) -> Linear:
    total = dict(one)
    for i, v in two.items():
        total[i] = total.get(i, 0.0) + factor * v
    return total
