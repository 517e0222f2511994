"""From hinges and gates in any dimension to a plain chain of layers.

A gate of layer `k` is one neuron there: ``[l > 0] d = s(d + M l) - M s(l)``, or its mirror image. Whatever a consumer
needs from lower layers is one carried sum `R` a layer: ``s(R + constant)`` on a bounded domain; elsewhere ``s(R + Q)``
and one common ``s(Q)`` with ``Q = K_0 + sum K_i |h_i| >= |R|``, the same `Q` in all layers
(docs/theory/local_gates.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from flint import fmpq

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space import bounds as gate_bounds
from cpwl.construct.gates.space.bounds import Domain, Slopes
from cpwl.construct.gates.space.chain import Chain
from cpwl.construct.gates.space.first_layer import Row, bounded_first_layer, unbounded_first_layer
from cpwl.construct.gates.space.gate_sum import GateSum
from cpwl.construct.gates.space.rank import independent, vector
from cpwl.construct.gates.space.terms import ZERO, Terms
from cpwl.exact.rounding import outwards

__all__ = ["lower"]


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
