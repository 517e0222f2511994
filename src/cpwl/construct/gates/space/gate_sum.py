"""Gates in normal form, each once, with the hidden layer that each needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from flint import fmpq

from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.sharing import Shared
from cpwl.construct.gates.space.terms import Gate, Plane, Planes, Terms, dot
from cpwl.errors import InternalError

__all__ = ["GateSum", "settle"]


@dataclass(frozen=True, slots=True, eq=False)
class GateSum:
    """Outputs as sums of hinges and gates; a gate's content uses gates with smaller numbers and layers only."""

    planes: Sequence[Plane]
    gates: Sequence[Gate]
    outputs: Sequence[Terms]

    @property
    def depth(self) -> int:
        """The number of hidden layers."""
        return max((gate.layer for gate in self.gates), default=1)

    @property
    def cost(self) -> int:
        """The number of neurons, up to what all gate sums for a function have in common."""
        planes = {gate.plane for gate in self.gates}
        for terms in [*self.outputs, *(gate.content for gate in self.gates)]:
            planes.update(terms.hinges)
        return len(planes) + sum(gate.layer - 1 for gate in self.gates)


def settle(planes: Planes, parts: Sequence[Shared]) -> GateSum:
    """Brings all gates to normal form, from the lowest up, and merges those that are proportional."""
    gates: list[Gate] = []
    known: dict[Hashable, list[int]] = defaultdict(list)
    for shared in parts:
        for number in reversed(range(len(shared.gates))):  # the users of a gate have smaller numbers
            gate = shared.gates[number]
            users = [(shared.content(user), fmpq(factor)) for user, factor in shared.users[number]]
            _normalise(gate, planes.rows[gate.plane], gates, users)
            if gate.content.is_zero():
                continue
            if not gate.content.hinges and not gate.content.gates:
                raise InternalError("the two sides of a gate differ on its plane", plane=planes.rows[gate.plane])
            alike = known[gate.plane, gate.content.pattern()]
            ratios = ((other, gate.content.ratio(gates[other].content)) for other in alike)
            same, ratio = next(((g, r) for g, r in ratios if r is not None), (len(gates), fmpq(1)))
            if same == len(gates):
                gate.layer = 1 + max((gates[g].layer for g in gate.content.gates), default=1)
                alike.append(same)
                gates.append(gate)
            for content, factor in users:
                content.add_gate(same, factor * ratio)
    return GateSum(planes.rows, gates, [shared.output for shared in parts])


def _normalise(gate: Gate, row: Plane, gates: Sequence[Gate], users: Sequence[tuple[Terms, Rational]]) -> None:
    """Takes out of ``[l > 0] d`` what is a hinge or a gate on `l` itself, and gives it to the users."""
    content = gate.content
    along = dot(content.affine[:-1], row[:-1]) / fmpq(dot(row[:-1], row[:-1]))
    if along != 0:
        content.add_affine(row, -along)
    hinge = along + content.hinges.pop(gate.plane, fmpq(0))
    own = {g: content.gates.pop(g) for g in list(content.gates) if gates[g].plane == gate.plane}
    for terms, factor in users:
        if hinge != 0:
            terms.add_hinge(gate.plane, factor * hinge)
        for g, value in own.items():
            terms.add_gate(g, factor * value)
