"""From hinges and gates in any dimension to a plain chain of layers.

A gate of layer `k` is one neuron there: ``[l > 0] d = s(d + M l) - M s(l)``, or its mirror image. Whatever a consumer
needs from lower layers is one carried sum `R` a layer: ``s(R + constant)`` on a bounded domain; elsewhere ``s(R + Q)``
and one common ``s(Q)`` with ``Q = K_0 + sum K_i |h_i| >= |R|``, the same `Q` in all layers
(docs/theory/local_gates.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from flint import fmpq

from cpwl.construct.blocks.common import Rational
from cpwl.construct.gates.space import first_layer as gate_bounds
from cpwl.construct.gates.space.first_layer import Domain, Slopes, bounded_first_layer, unbounded_first_layer
from cpwl.construct.gates.space.gate_sum import GateSum
from cpwl.construct.gates.space.terms import ZERO, Gate, Terms
from cpwl.exact.rational import outwards, to_flint
from cpwl.exact.sparse import Span
from cpwl.network.program import Chain, Row

# Fewer gates on one plane: no more than the rank of what is read from them.
#
# Gates of one plane are linear in their contents: if all that consumers read from `r` gates are combinations of fewer
# functions, as many gates do.


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
    span, basis, shares = Span(), list[int](), list[dict[int, Rational]]()
    for i, vector in enumerate(vectors):
        share = span.express(vector)
        if share is None:
            span.insert(vector)
            share = {len(basis): fmpq(1)}
            basis.append(i)
        shares.append({k: to_flint(v) for k, v in share.items()})
    return basis, shares


# A chain of rows, scaled by powers of two.


def scaled(chain: Chain) -> Chain:
    """The same network with every hidden neuron scaled by a power of two, so that its largest weight is about 1."""
    scale: list[int] | None = None  # exponents of the layer before; None for the inputs
    result = []
    for k, rows in enumerate(chain):
        new, exponents = [], []
        for row in rows:
            weights = row.weights
            if scale is not None:
                weights = {j: w * _power(scale[j]) if scale[j] else w for j, w in weights.items()}
            e = _exponent(weights.values()) if k + 1 < len(chain) else 0
            exponents.append(e)
            if e:
                down = _power(-e)
                new.append(Row({j: w * down for j, w in weights.items()}, row.bias * down))
            else:
                new.append(Row(weights, row.bias))
        result.append(new)
        scale = exponents
    return result


def _exponent(values: Iterable[Rational]) -> int:
    """The exponent of two that the largest of some numbers has, about."""
    largest = max((abs(w) for w in values), default=fmpq(1))
    return int(largest.p).bit_length() - int(largest.q).bit_length()


@lru_cache(maxsize=4096)
def _power(e: int) -> Rational:
    return fmpq(1 << e) if e >= 0 else fmpq(1, 1 << -e)


@dataclass(slots=True)
class _Need:
    """What a neuron of the layer above, or an output, computes: terms plus `shift` times `Q`."""

    terms: Terms
    shift: int = 0


@dataclass(slots=True)
class _Reader:
    """How a neuron of the layer above, or an output, reads this layer."""

    gates: dict[int, Rational]
    carried: dict[int, Rational]
    constant: Rational
    shift: Rational


@dataclass(slots=True)
class _Level:
    """One hidden layer above the first: gates, then carried sums, then `Q`; and the rows that read them."""

    gates: dict[int, int] = field(default_factory=dict)
    carried: list[Terms] = field(default_factory=list)
    rows: list[_Reader] = field(default_factory=list)


def lower(gate_sum: GateSum, vertices: Sequence[Sequence[int]] | None) -> tuple[Chain, int]:
    """The layers of a network for all outputs, and how many planes have a hinge.

    `vertices` span the domain, None if it is unbounded.
    """
    builder = _Builder(gate_sum, vertices)
    needs = [_Need(terms) for terms in gate_sum.outputs]
    levels = []
    for k in range(gate_sum.depth, 1, -1):
        level, needs = builder.level(k, needs)
        levels.append(level)
    return builder.emit(levels, needs), len({plane for need in needs for plane in need.terms.hinges})


class _Builder:
    def __init__(self, gate_sum: GateSum, vertices: Sequence[Sequence[int]] | None) -> None:
        self.gate_sum = gate_sum
        self.domain = None if vertices is None else Domain(gate_sum, vertices)
        slopes = Slopes(gate_sum)
        self.multipliers = [gate_bounds.multiplier(*slopes.range(g)) for g in range(len(gate_sum.gates))]

    def level(self, k: int, needs: Sequence[_Need]) -> tuple[_Level, list[_Need]]:
        """The neurons of layer `k`, and what they in turn need."""
        level = _Level()
        split = [self._split(need.terms, k, level) for need in needs]
        shares = self._carried([rest for rest, _ in split], level, is_top=k == self.gate_sum.depth)
        for need, (rest, read), share in zip(needs, split, shares, strict=True):
            constant = rest.affine[-1] - sum((c * level.carried[i].affine[-1] for i, c in share.items()), ZERO)
            factor = ZERO if self.domain is not None else sum(share.values(), ZERO)
            level.rows.append(_Reader(read, share, constant, need.shift - factor))
        unbounded = int(self.domain is None)
        below = [_Need(self._gate_neuron(g)) for g in level.gates]
        below += [_Need(terms, unbounded) for terms in level.carried]
        if unbounded and level.carried:
            below.append(_Need(Terms(len(self.gate_sum.outputs[0].affine)), 1))
        return level, below

    def _split(self, terms: Terms, k: int, level: _Level) -> tuple[Terms, dict[int, Rational]]:
        """The gates of layer `k`, and the rest of the terms."""
        rest, read = terms.copy(), {}
        for g, weight in terms.gates.items():
            gate = self.gate_sum.gates[g]
            if gate.layer == k:
                del rest.gates[g]
                sign, factor = self.multipliers[g]
                read[level.gates.setdefault(g, len(level.gates))] = weight * sign
                if factor:
                    rest.add_hinge(gate.plane, -weight * sign * factor)
        return rest, read

    def _carried(self, rests: Sequence[Terms], level: _Level, *, is_top: bool) -> list[dict[int, Rational]]:
        """Each rest, but for a number, as a combination of carried sums; those are made here.

        Proportional rests are one. Those of outputs may depend on each other in other ways, too.
        """
        if is_top and len(rests) > 1:
            basis, shares = independent([vector(rest, constant=False) for rest in rests])
            level.carried += [self._carry(rests[i]) for i in basis]
            return shares
        known: dict[Hashable, list[int]] = defaultdict(list)
        found: list[dict[int, Rational]] = []
        for rest in rests:
            if rest.is_constant():
                found.append({})
                continue
            alike = known[rest.pattern()]
            ratios = ((i, rest.ratio(level.carried[i], constant=False)) for i in alike)
            index, ratio = next(((i, r) for i, r in ratios if r is not None), (len(level.carried), fmpq(1)))
            if index == len(level.carried):
                alike.append(index)
                level.carried.append(self._carry(rest))
            found.append({index: ratio})
        return found

    def _gate_neuron(self, g: int) -> Terms:
        sign, factor = self.multipliers[g]
        gate = self.gate_sum.gates[g]
        terms = gate.content.times(fmpq(sign))
        terms.add_affine(self.gate_sum.planes[gate.plane], factor)
        return terms

    def _carry(self, rest: Terms) -> Terms:
        """The sum that a neuron carries: at least 0 on a bounded domain, without a constant elsewhere."""
        terms = rest.copy()
        terms.affine[-1] = ZERO
        if self.domain is not None:
            low = self.domain.range(terms)[0]
            terms.affine[-1] = outwards(-low) if low < 0 else ZERO
        return terms

    def emit(self, levels: Sequence[_Level], needs: Sequence[_Need]) -> Chain:
        """Numbers for all layers."""
        bottom = [need.terms for need in needs]
        if self.domain is not None:
            first, rows = bounded_first_layer(self.gate_sum, bottom, self.domain)
        else:
            carried = [terms for level in levels for terms in level.carried]
            first, rows = unbounded_first_layer(self.gate_sum, bottom, [need.shift for need in needs], carried)
        return [first, rows, *(_rows(level) for level in reversed(levels))]


def _rows(level: _Level) -> list[Row]:
    size = len(level.gates)
    rows = []
    for reader in level.rows:
        weights = dict(reader.gates)
        weights |= {size + i: share for i, share in reader.carried.items()}
        if reader.shift:
            weights[size + len(level.carried)] = reader.shift
        rows.append(Row({j: w for j, w in weights.items() if w != 0}, reader.constant))
    return rows
