"""Fewer gates on one plane: no more than the rank of what is read from them.

Gates of one plane are linear in their contents: if all that consumers read from `r` gates are combinations of fewer
functions, as many gates do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

from flint import fmpq

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.gate_sum import GateSum
from cpwl.construct.gates.space.terms import Gate, Terms

__all__ = ["independent", "reduce_rank", "vector"]

K = TypeVar("K", bound=Hashable)
_Vector = dict[Hashable, Rational]


def reduce_rank(gate_sum: GateSum) -> GateSum:
    """The gate_sum with as few gates on each plane and layer as its consumers can tell apart; changes its terms.

    What gates of one layer have in common shows once those of the layer below are fewer: so again while it helps.
    """
    while True:
        smaller = _reduce_once(gate_sum)
        if len(smaller.gates) == len(gate_sum.gates):
            return smaller
        gate_sum = smaller


def _reduce_once(gate_sum: GateSum) -> GateSum:
    gates: dict[int, Gate] = dict(enumerate(gate_sum.gates))
    for k in range(gate_sum.depth, 1, -1):
        groups: dict[int, list[int]] = defaultdict(list)
        for number, gate in gates.items():
            if gate.layer == k:
                groups[gate.plane].append(number)
        several = {plane: group for plane, group in groups.items() if len(group) > 1}
        readers: dict[int, list[Terms]] = defaultdict(list)
        for terms in [*gate_sum.outputs, *(gate.content for gate in gates.values())]:
            for plane in sorted({gates[g].plane for g in terms.gates if gates[g].layer == k}):
                if plane in several:
                    readers[plane].append(terms)
        for plane, group in several.items():
            _reduce(gates, group, readers[plane])
    used = sorted(gates)
    place = {old: new for new, old in enumerate(used)}
    for terms in [*gate_sum.outputs, *(gates[g].content for g in used)]:
        terms.gates = {place[g]: w for g, w in terms.gates.items()}
    return GateSum(gate_sum.planes, [gates[g] for g in used], gate_sum.outputs)


def _reduce(gates: dict[int, Gate], group: Sequence[int], readers: Sequence[Terms]) -> None:
    if len(readers) >= len(group) and len(group) == 2:
        return  # gates that are proportional, or used in proportion, are one already
    needs = [vector(_combined(gates, group, terms)) for terms in readers]
    basis, shares = independent(needs)
    if len(basis) < len(group):
        _replace(gates, group, readers, basis, shares)


def _combined(gates: dict[int, Gate], group: Sequence[int], reader: Terms) -> Terms:
    """The content of all that a reader reads from a group, as one gate."""
    total = Terms(len(reader.affine))
    for g in group:
        weight = reader.gates.get(g)
        if weight is not None:
            content = gates[g].content
            total.add_affine(content.affine, weight)
            for plane, value in content.hinges.items():
                total.add_hinge(plane, weight * value)
            for gate, value in content.gates.items():
                total.add_gate(gate, weight * value)
    return total


def _replace(
    gates: dict[int, Gate],
    group: Sequence[int],
    readers: Sequence[Terms],
    basis: Sequence[int],
    shares: Sequence[dict[int, Rational]],
) -> None:
    """Gates for some readers' needs stand for all of the group."""
    contents = [_combined(gates, group, readers[b]) for b in basis]
    plane, codimension = gates[group[0]].plane, max(gates[g].codimension for g in group)
    for g in group:
        del gates[g]
    numbers = list(group[: len(basis)])
    for number, content in zip(numbers, contents, strict=True):
        layer = 1 + max((gates[g].layer for g in content.gates), default=1)
        gates[number] = Gate(plane, content, codimension, layer)
    for terms, share in zip(readers, shares, strict=True):
        for g in group:
            terms.gates.pop(g, None)
        for b, weight in share.items():
            terms.add_gate(numbers[b], weight)


def vector(terms: Terms, *, constant: bool = True) -> _Vector:
    """The coefficients of terms; without `constant`, but for the number added."""
    affine = terms.affine if constant else terms.affine[:-1]
    parts = (enumerate(affine), terms.hinges.items(), terms.gates.items())
    return {(kind, i): v for kind, part in enumerate(parts) for i, v in part if v != 0}


def independent(vectors: Sequence[_Vector]) -> tuple[list[int], list[dict[int, Rational]]]:
    """The first independent vectors, and each vector as a combination of those (by their place among them)."""
    rows: list[tuple[Hashable, _Vector, dict[int, Rational]]] = []
    basis: list[int] = []
    shares: list[dict[int, Rational]] = []
    for i, vector in enumerate(vectors):
        rest, share = dict(vector), dict[int, Rational]()
        for pivot, row, made in rows:
            factor = rest.get(pivot)
            if factor:
                _subtract(rest, row, factor)
                _subtract(share, made, -factor)
        if rest:
            pivot = min(rest, key=repr)
            lead = rest[pivot]
            made = {b: -v / lead for b, v in share.items()}
            made[len(basis)] = 1 / lead
            rows.append((pivot, {key: v / lead for key, v in rest.items()}, made))
            share = {len(basis): fmpq(1)}
            basis.append(i)
        shares.append(share)
    return basis, shares


def _subtract(target: dict[K, Rational], row: dict[K, Rational], factor: Rational) -> None:
    for key, value in row.items():
        total = target.get(key, fmpq(0)) - factor * value
        if total == 0:
            target.pop(key, None)
        else:
            target[key] = total
