"""Which jumps between laws lie on one hyperplane, and which are equal, read off the relations of the laws.

A *jump* is the difference of two laws that meet. Where two hyperplanes go straight through each other the jumps on both
sides of each are equal; where only one does, the jumps on its two sides are multiples of each other. So jumps fall into
*lines*, all multiples of one row, and lines into *classes* of equal jumps. The other hyperplane is bent there: its two
jumps differ by a multiple of the straight one, a *joint*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cpwl.function.snap.relations import Relation

__all__ = ["Joint", "Lines", "lines_of"]

_Pair = tuple[int, int]
_Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Joint:
    """``f_a - f_b`` and ``f_c - f_d``, with ``(a, b) = one`` and ``(c, d) = two``, differ by a multiple of a line."""

    one: _Pair
    two: _Pair
    line: _Pair
    """A pair of laws whose jump is on that line."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The jumps by pairs of laws ``a < b``."""

    line: dict[_Pair, int]
    equal: dict[_Pair, tuple[int, int]]
    """The class of a jump, and 1 or -1 whether it is what the class has in common or the opposite."""
    number: dict[_Pair, tuple[int, int]]
    """The same with the two jumps at a bend in one class: their rows differ, their numbers are equal."""
    straight: frozenset[int]
    """The lines with jumps that are not all equal."""
    joints: list[Joint]


class _Union:
    """Union-find of pairs up to sign."""

    def __init__(self) -> None:
        self.parent: dict[_Pair, tuple[_Pair, int]] = {}

    def find(self, pair: _Pair) -> tuple[_Pair, int]:
        path, sign = [], 1
        while pair in self.parent:
            path.append((pair, sign))
            pair, turn = self.parent[pair]
            sign *= turn
        for passed, before in path:
            self.parent[passed] = (pair, sign * before)
        return pair, sign

    def join(self, one: _Pair, two: _Pair) -> None:
        """``f_a - f_b`` and ``f_c - f_d`` are one."""
        (p, s), (q, t) = self.find(sort(one)), self.find(sort(two))
        if p != q:
            self.parent[p] = (q, s * t * sign(one) * sign(two))


def sort(pair: _Pair) -> _Pair:
    return (min(pair), max(pair))


def sign(pair: _Pair) -> int:
    """1 if a pair is in order, else -1."""
    return 1 if pair[0] < pair[1] else -1


def lines_of(relations: Sequence[Relation], pairs: Iterable[_Pair] = (), triples: Iterable[_Triple] = ()) -> Lines:
    """Lines and classes of the jumps of all relations in which something is straight, and of the `pairs` given.

    `triples` are laws around faces with three of them: there a line ends, and another one is bent.
    """
    line, equal, bent = _Union(), _Union(), []
    pairs = dict.fromkeys(sort(pair) for pair in pairs)
    for relation in relations:
        if relation.kind not in ("cross", "straight"):
            continue
        a, b, c, d = relation.laws
        pairs.update(dict.fromkeys(sort(pair) for pair in ((a, b), (b, c), (c, d), (d, a))))
        line.join((a, b), (d, c))
        if relation.kind == "cross":
            line.join((b, c), (a, d))
            equal.join((a, b), (d, c))
            equal.join((b, c), (a, d))
        else:
            bent.append(Joint((b, c), (a, d), (a, b)))
    roots = {root: k for k, root in enumerate(dict.fromkeys(line.find(pair)[0] for pair in pairs))}
    number, in_class = {pair: roots[line.find(pair)[0]] for pair in pairs}, _classes(equal, pairs)
    straight = frozenset(number[sort(joint.line)] for joint in bent)
    joints = bent + _ends(triples, number, bent)
    for joint in joints:
        equal.join(joint.one, joint.two)
    return Lines(number, in_class, _classes(equal, pairs), straight, joints)


def _classes(equal: _Union, pairs: Iterable[_Pair]) -> dict[_Pair, tuple[int, int]]:
    found = {pair: equal.find(pair) for pair in pairs}
    numbers = {root: k for k, root in enumerate(dict.fromkeys(root for root, _ in found.values()))}
    return {pair: (numbers[root], turn) for pair, (root, turn) in found.items()}


def _ends(triples: Iterable[_Triple], line: dict[_Pair, int], bent: Sequence[Joint]) -> list[Joint]:
    """Three laws around a face: the line that is bent least elsewhere, and has most jumps, is the one that ends."""
    size, bends = Counter(line.values()), Counter(line[sort(pair)] for joint in bent for pair in (joint.one, joint.two))
    found = []
    for a, b, c in triples:
        turns = ((a, b, c), (b, c, a), (c, a, b))
        a, b, c = min(turns, key=lambda t: (bends[line[sort(t[:2])]], -size[line[sort(t[:2])]]))
        found.append(Joint((a, c), (b, c), (a, b)))
    return found
