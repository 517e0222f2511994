"""Faces of codimension 2 that have their gate in common: pieces of one edge, however cells cut it.

On the rays of a plane at such a face a function has two jumps; that on the one side less that on the other is the
*change* of the plane. With changes and flat the gate ``[l > 0] (g+ - g-)`` is known, but for a multiple of ``s(l)``, on
every plane `l` through the flat. So faces of one flat with the same changes share one gate, and the way in which they
are used adds up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from flint import fmpq

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.functions import LocalFunctions
from cpwl.construct.gates.space.terms import ZERO

__all__ = ["Pools", "jump_beside", "pool"]


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """For each face the first one with the same gate, and for that one two planes on which something changes."""

    first: dict[int, int] = field(default_factory=dict)
    changing: dict[int, tuple[int, int]] = field(default_factory=dict)

    def across(self, i: int, plane: int) -> int:
        """A plane through a face other than the given one, the same for all faces of its pool."""
        one, two = self.changing[self.first[i]]
        return two if one == plane else one


def pool(functions: Sequence[LocalFunctions], groups: dict[int, int]) -> Pools:
    """The faces of codimension 2 at which all of the functions change alike, within each of some groups.

    Groups that meet where something else happens are left apart: their uses differ, and adding them up may make gates
    of a new kind.
    """
    pools = Pools()
    known: dict[Hashable, int] = {}
    for i, group in sorted(groups.items()):
        planes, changes = _changes(functions, i)
        pools.first[i] = known.setdefault((group, changes), i)
        pools.changing[i] = (planes[0], planes[-1])
    return pools


def jump_beside(local: LocalFunctions, i: int, plane: int, across: int) -> Rational:
    """The jump on a plane at a face of codimension 2, on the positive side of another plane through the face."""
    for j, outside in _facets(local, i):
        if local.bends[j].plane == plane and local.sign(across, outside) > 0:
            return local.bends[j].jump
    return ZERO


def _facets(local: LocalFunctions, i: int) -> list[tuple[int, int]]:
    """The facets at a face of codimension 2, each with a generator that is not on the face."""
    n = local.complex.dim
    own = set(local.complex.faces[n - 2].members[i])
    members = local.complex.faces[n - 1].members
    return [(j, next(g for g in members[j] if g not in own)) for j in local.complex.above(n - 2, n - 1)[i]]


def _changes(functions: Sequence[LocalFunctions], i: int) -> tuple[list[int], Hashable]:
    """The planes on which a jump changes at the face, and by how much, oriented by the first and the last of them."""
    local = functions[0]
    rays: dict[tuple[int, int], list[tuple[int, Rational]]] = defaultdict(list)
    for j, outside in _facets(local, i):
        for k, f in enumerate(functions):
            plane = f.bends[j].plane
            if plane is not None:
                rays[k, plane].append((outside, f.bends[j].jump))
    bent = {key: pair for key, pair in rays.items() if len(pair) == 1 or pair[0][1] != pair[1][1]}
    planes = sorted({plane for _, plane in bent})
    changes = []
    for (k, plane), pair in sorted(bent.items()):
        across = planes[0] if plane != planes[0] else planes[-1]
        total = sum((local.sign(across, g) * jump for g, jump in pair), fmpq(0))
        changes.append((k, plane, int(total.p), int(total.q)))
    return planes, tuple(changes)
