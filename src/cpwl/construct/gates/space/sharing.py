"""From faces to gates, from vertices up: which planes carry the gates, and what each gate is made of.

``U[F]`` says how the local function `p_F` enters the outputs and the gates so far. Faces of one codimension that lie
on one plane and are used in proportion share one gate, so planes are chosen by set cover (docs/theory/local_gates.md).
Then `U` is pushed to the faces above by the local formula, down to facets and cells, which are hinges and laws.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import gcd

from flint import fmpq

from cpwl.construct.gates.space.functions import LocalFunctions
from cpwl.construct.gates.space.needs import find_needs
from cpwl.construct.gates.space.pools import Pools, jump_beside, pool
from cpwl.construct.gates.space.terms import Gate, Terms
from cpwl.search.family_cover import family_cover

__all__ = ["OUTPUT", "Shared", "share_gates", "share_jointly"]

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
        self.corrections: list[tuple[int, int, int, int]] = []
        """For faces that have another one's gate: which, the plane, and a plane that says which jump to look at."""
        self.uses: list[list[_Use]] = [[{} for _ in range(len(faces))] for faces in local.complex.faces]

    @property
    def cost(self) -> int:
        """The number of neurons above the first layer, up to what does not depend on choices."""
        return sum(gate.codimension - 1 for gate in self.gates)

    def of(self, local: LocalFunctions) -> Shared:
        """The same planes and uses for another function on the complex, without terms."""
        new = Shared(local)
        new.gates = [Gate(gate.plane, Terms(local.complex.dim + 1), gate.codimension) for gate in self.gates]
        new.users, new.uses, new.corrections = self.users, self.uses, self.corrections
        return new

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
    best = _best(local, find_needs(local), [local])
    _collect(best)
    return best


def share_jointly(functions: Sequence[LocalFunctions]) -> list[Shared]:
    """The same for several outputs with one choice of planes, so that what they have in common meets in one place."""
    needs = [set[int]().union(*found) for found in zip(*map(find_needs, functions), strict=True)]
    best = _best(functions[0].together(functions[1:]), needs, functions)
    parts = [best.of(local) for local in functions]
    for part in parts:
        _collect(part)
    return parts


def _best(local: LocalFunctions, needs: list[set[int]], functions: Sequence[LocalFunctions]) -> Shared:
    size = sum(len(found) for found in needs)
    tries = max(1, min(_TRIES, _WORK // max(1, size))) if size else 1
    pools = pool(functions, _groups(local, needs, len(needs) - 1)) if needs else Pools()
    ways = [(pools, seed) for seed in range(tries)]
    if any(i != first for i, first in pools.first.items()):
        ways.append((Pools(), 0))
    return min((_share(local, needs, *way) for way in ways), key=lambda shared: shared.cost)


def _share(local: LocalFunctions, needs: list[set[int]], pools: Pools, seed: int) -> Shared:
    n, shared = local.complex.dim, Shared(local)
    for d, values in enumerate(local.complex.coefficients()):
        for i in values.nonzero()[0].tolist():
            shared.uses[d][i][OUTPUT] = int(values[i])
    for d in range(n - 1):
        alike = pools.first if d == n - 2 else {}
        used = [i for i in local.complex.interior(d) if shared.uses[d][i]]
        pooled: dict[int, _Use] = defaultdict(dict)
        for i in used:
            if i in needs[d]:
                _add(pooled[alike.get(i, i)], shared.uses[d][i], 1)
        chosen = _choose(shared, needs, d, {i: use for i, use in pooled.items() if use}, seed)
        for i, (plane, kind) in chosen.items():
            _push_gate(shared, d, i, shared.gate(n - d, plane, kind), plane, _kind(pooled[i])[1])
        for i in used:
            if i not in needs[d]:
                low = local.generic_sides(d, i)[0]
            else:  # where all uses of a gate cancel any plane will do, as long as it is the same
                first = alike.get(i, i)
                plane = chosen[first][0] if first in chosen else local.bend_planes(d, first)[0]
                low = local.sides_of(d, i, plane)[1]
                if i != first:
                    shared.corrections.append((i, first, plane, pools.across(i, plane)))
            for e, j in low:
                _push(shared, e, j, shared.uses[d][i], (-1) ** (e - d - 1))
    return shared


def _choose(
    shared: Shared, needs: list[set[int]], d: int, uses: dict[int, _Use], seed: int
) -> dict[int, tuple[int, _Kind]]:
    """A plane for each face that needs a gate: few pairs (plane, use)."""
    local = shared.local
    group = _groups(local, needs, d)
    planes: dict[int, set[int]] = defaultdict(set)
    for i in sorted(needs[d]):
        planes[group.get(i, i)].update(local.bend_planes(d, i))
    sets: dict[tuple[int, _Kind], list[int]] = defaultdict(list)
    for i, use in uses.items():
        kind = _kind(use)[0]
        for plane in sorted(planes[group.get(i, i)]):
            sets[plane, kind].append(i)
    return family_cover(sets, family=lambda key: local.planes.directions[key[0]], seed=seed)


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


def _push_gate(shared: Shared, d: int, i: int, gate: int, plane: int, factor: int) -> None:
    """The terms of ``[l > 0] (g+ - g-)``."""
    for side, faces in zip((1, -1), shared.local.sides_of(d, i, plane), strict=True):
        for e, j in faces:
            _push(shared, e, j, {gate: side * factor}, (-1) ** (e - d - 1))


def _push(shared: Shared, e: int, j: int, use: _Use, sign: int) -> None:
    _add(shared.uses[e][j], use, sign)


def _add(target: _Use, use: _Use, sign: int) -> None:
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
    for i, first, plane, across in shared.corrections:
        more = jump_beside(local, i, plane, across) - jump_beside(local, first, plane, across)
        if more != 0:
            for user, value in shared.uses[n - 2][i].items():
                shared.content(user).add_hinge(plane, value * more)
    for user, cells in laws.items():
        content = shared.content(user)
        for cell, value in sorted(cells.items()):
            if value:
                content.add_affine(local.laws[cell], fmpq(value))
