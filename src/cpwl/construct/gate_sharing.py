"""From faces to gates, from vertices up: which planes carry the gates, and what each gate is made of.

``U[F]`` says how the local function `p_F` enters the outputs and the gates so far. Faces of one codimension that lie
on one plane and are used in proportion share one gate, so planes are chosen by set cover (THEORY 7.5). Then `U` is
pushed to the faces above by the local formula, down to facets and cells, which are hinges and laws.
"""

from __future__ import annotations

from collections import defaultdict
from math import gcd

from flint import fmpq

from cpwl.construct.gate_needs import find_needs
from cpwl.construct.gate_terms import Gate, Terms
from cpwl.construct.local_functions import LocalFunctions
from cpwl.construct.plane_cover import cover

__all__ = ["OUTPUT", "Shared", "share_gates"]

OUTPUT = -1
_TRIES = 8
_WORK = 1500  # faces that need a gate, over all tries
_Use = dict[int, int]
_Kind = tuple[tuple[int, int], ...]


class Shared:
    """All gates of one output, and the terms of the output itself; gates of high codimension come first."""

    def __init__(self, local: LocalFunctions) -> None:
        self.local = local
        self.output = Terms(local.complex.dim + 1)
        self.gates: list[Gate] = []
        self.users: list[_Kind] = []
        self._numbers: dict[tuple[int, int, _Kind], int] = {}
        self.uses: list[list[_Use]] = [[{} for _ in range(len(faces))] for faces in local.complex.faces]

    @property
    def cost(self) -> int:
        """The number of neurons above the first layer, up to what does not depend on choices."""
        return sum(gate.codimension - 1 for gate in self.gates)

    def gate(self, codimension: int, plane: int, kind: _Kind) -> int:
        """The gate of that plane and use, made if it is new."""
        key = (codimension, plane, kind)
        if key not in self._numbers:
            self._numbers[key] = len(self.gates)
            self.gates.append(Gate(plane, Terms(self.local.complex.dim + 1), codimension))
            self.users.append(kind)
        return self._numbers[key]

    def content(self, user: int) -> Terms:
        """The terms of a gate, or of the output."""
        return self.output if user == OUTPUT else self.gates[user].content


def share_gates(local: LocalFunctions) -> Shared:
    """Top formula, local formulas and set covers for one output.

    Among covers of equal size at the vertices some lead to fewer gates further up, so several are tried.
    """
    needs = find_needs(local)
    size = sum(len(found) for found in needs)
    tries = max(1, min(_TRIES, _WORK // max(1, size))) if size else 1
    best = min((_share(local, needs, seed) for seed in range(tries)), key=lambda shared: shared.cost)
    _collect(best)
    return best


def _share(local: LocalFunctions, needs: list[set[int]], seed: int) -> Shared:
    n, shared = local.complex.dim, Shared(local)
    for d, values in enumerate(local.complex.coefficients()):
        for i in values.nonzero()[0].tolist():
            shared.uses[d][i][OUTPUT] = int(values[i])
    for d in range(n - 1):
        used = [i for i in local.complex.interior(d) if shared.uses[d][i]]
        gated = [i for i in used if i in needs[d]]
        for i, (plane, kind) in _choose(shared, needs, d, gated, seed).items():
            _push_gate(shared, d, i, shared.gate(n - d, plane, kind), plane)
        for i in used:
            if i not in needs[d]:
                for e, j in local.generic_sides(d, i)[0]:
                    _push(shared, e, j, shared.uses[d][i], (-1) ** (e - d - 1))
    return shared


def _choose(shared: Shared, needs: list[set[int]], d: int, gated: list[int], seed: int) -> dict[int, tuple[int, _Kind]]:
    """A plane for each face that needs a gate: few pairs (plane, use)."""
    local = shared.local
    group = _groups(local, needs, d)
    planes: dict[int, set[int]] = defaultdict(set)
    for i in sorted(needs[d]):
        planes[group.get(i, i)].update(local.bend_planes(d, i))
    sets: dict[tuple[int, _Kind], list[int]] = defaultdict(list)
    for i in gated:
        kind = _kind(shared.uses[d][i])[0]
        for plane in sorted(planes[group.get(i, i)]):
            sets[plane, kind].append(i)
    return cover(sets, family=lambda key: _direction(local, key[0]), seed=seed)


def _direction(local: LocalFunctions, plane: int) -> tuple[int, ...]:
    """What parallel planes have in common."""
    normal = local.planes.rows[plane][:-1]
    divisor = gcd(*normal)
    if next(v for v in normal if v) < 0:
        divisor = -divisor
    return tuple(v // divisor for v in normal)


def _groups(local: LocalFunctions, needs: list[set[int]], d: int) -> dict[int, int]:
    """Faces of one flat that meet in a face without a gate are one face cut in two: they go together."""
    leader: dict[int, int] = {}

    def find(i: int) -> int:
        while leader.get(i, i) != i:
            i = leader[i]
        return i

    if d == 0:
        return leader
    above = local.complex.above(d - 1, d)
    for v in local.complex.interior(d - 1):
        if v in needs[d - 1]:
            continue
        flats: dict[object, int] = {}
        for i in above[v]:
            if i in needs[d]:
                first = flats.setdefault(local.flat(d, i), i)
                leader[find(i)] = find(first)
    return {i: find(i) for i in leader}


def _kind(use: _Use) -> tuple[_Kind, int]:
    """What proportional uses have in common, and the factor."""
    items = sorted(use.items())
    factor = gcd(*(v for _, v in items)) * (1 if items[0][1] > 0 else -1)
    return tuple((user, v // factor) for user, v in items), factor


def _push_gate(shared: Shared, d: int, i: int, gate: int, plane: int) -> None:
    """``p_F = g- + [l > 0] (g+ - g-)``."""
    use = shared.uses[d][i]
    factor = _kind(use)[1]
    plus, minus = shared.local.sides_of(d, i, plane)
    for e, j in plus:
        _push(shared, e, j, {gate: factor}, (-1) ** (e - d - 1))
    low = {**use, gate: -factor}
    for e, j in minus:
        _push(shared, e, j, low, (-1) ** (e - d - 1))


def _push(shared: Shared, e: int, j: int, use: _Use, sign: int) -> None:
    target = shared.uses[e][j]
    for user, value in use.items():
        total = target.get(user, 0) + sign * value
        if total:
            target[user] = total
        else:
            target.pop(user, None)


def _collect(shared: Shared) -> None:
    """Facets become hinges, cells laws: the terms of every gate and of the output."""
    local, n = shared.local, shared.local.complex.dim
    laws: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for cell, use in enumerate(shared.uses[n]):
        for user, value in use.items():
            laws[user][cell] += value
    for facet, bend in local.bends.items():
        for user, value in shared.uses[n - 1][facet].items():
            laws[user][bend.minus] += value
            if bend.plane is not None:
                shared.content(user).add_hinge(bend.plane, value * bend.jump)
    for user, cells in laws.items():
        content = shared.content(user)
        for cell, value in sorted(cells.items()):
            if value:
                content.add_affine(local.laws[cell], fmpq(value))
