"""In which order laws are fixed one after the other, so that all have a place and their numbers stay short.

From the end: laws that one relation holds, given those before them, are taken in rounds, all that there are at a time.
So each is made from few others, and numbers grow by the bits of one float a round. Where there are none, one is taken
that has a place by counting, as the relations of a law fix no more numbers than it has; at worst one with the fewest.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from cpwl.function.snap.relations import Relation

__all__ = ["in_rounds"]


class _Left:
    """How many laws of each group of each relation are left, and so which relations are live."""

    def __init__(self, relations: Sequence[Relation], count: int, size: int) -> None:
        self.relations, self.size = relations, size
        self.counts = [[len(group) for group in relation.groups] for relation in relations]
        self.about: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for k, relation in enumerate(relations):
            for g, group in enumerate(relation.groups):
                for law in group:
                    self.about[law].append((k, g))

    def live(self, law: int) -> list[int]:
        """The relations that say something about a law, given all others that are left."""
        return [k for k, g in self.about[law] if self.counts[k][g] > 1 and self._steps(k) > self.relations[k].rank]

    def _steps(self, k: int) -> int:
        """The number of differences of laws that are left."""
        return sum(count - 1 for count in self.counts[k] if count)

    def load(self, law: int) -> int:
        """How many numbers of a law its relations fix, if they are independent."""
        return sum(self.size - self.relations[k].directions for k in self.live(law))

    def take(self, law: int) -> None:
        for k, g in self.about[law]:
            self.counts[k][g] -= 1


def in_rounds(simple: Sequence[bool], relations: Sequence[Relation], size: int, random: Random) -> list[int]:
    """An order of laws of `size` numbers each; those of `simple` numbers come first, where they are free.

    >>> pencils = [Relation("pencil", (0, 1, 2, 3)), Relation("pencil", (1, 2, 3, 4))]
    >>> sorted(in_rounds([False] * 5, pencils, 3, Random(0))[:3])
    [1, 2, 3]
    """
    left, rest, order = _Left(relations, len(simple), size), set(range(len(simple))), list[int]()
    while rest:
        some = [law for law in rest if not simple[law]] or list(rest)
        held = {law: left.live(law) for law in some}
        chosen = [law for law in some if len(held[law]) == 1]
        if not chosen and any(held.values()):
            load = {law: left.load(law) for law in some if held[law]}
            placed = [law for law in load if load[law] <= size]
            least = min(load.values())
            chosen = [random.choice(placed or [law for law in load if load[law] == least])]
        chosen = chosen or some
        random.shuffle(chosen)
        for law in chosen:
            if held[law] and not left.live(law):
                continue  # another law of its relation was taken in this round: it may be free now
            order.append(law)
            rest.discard(law)
            left.take(law)
    return order[::-1]
