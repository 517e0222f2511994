"""Gate networks in every dimension: a number of neurons linear in the complex, right on every input.

``p = sum c_F p_F`` over the faces inside the domain, where `p_F` is what `p` looks like near `F`; each `p_F` is glued
from those of larger faces by one gate on a plane through `F`; gates on one plane share a neuron. See
docs/theory/local_gates.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.rational import Rational
from cpwl.construct.gates.space.chain import Chain, float_layers, network_of, scaled, sizes_of
from cpwl.construct.gates.space.domain import Divided, divide, vertices_of
from cpwl.construct.gates.space.first_layer import Row
from cpwl.construct.gates.space.functions import LocalFunctions, reference_point
from cpwl.construct.gates.space.gate_sum import GateSum, settle
from cpwl.construct.gates.space.lowering import lower
from cpwl.construct.gates.space.peel import peel
from cpwl.construct.gates.space.rank import reduce_rank
from cpwl.construct.gates.space.sharing import share_gates, share_jointly
from cpwl.construct.gates.space.terms import ZERO, Planes
from cpwl.errors import LimitError
from cpwl.exact.flint import to_flint
from cpwl.function import CPWL
from cpwl.geometry.complex import Complex
from cpwl.network import Network, Sizes
from cpwl.network.network import Layer

__all__ = ["SpaceGates", "space_gates"]


@dataclass(frozen=True, slots=True, eq=False)
class SpaceGates:
    """A network of hinges and gates as the rows of its layers, and what it is made of."""

    chain: Chain
    inputs: int
    planes: int
    """The number of planes with a hinge."""
    gates: dict[int, int]
    """The number of gates, by the codimension of their faces."""
    cells: int
    """The number of cells of the face-to-face complex."""

    @property
    def network(self) -> Network:
        """The network, in rationals."""
        return network_of(self.chain, self.inputs)

    @property
    def sizes(self) -> Sizes:
        """What the network costs."""
        return sizes_of(self.chain)

    @property
    def float_layers(self) -> list[Layer]:
        """The network in floats, without its rationals as matrices."""
        return float_layers(self.chain, self.inputs)


def space_gates(analysis: Analysis) -> SpaceGates:
    """The network of local functions and gates for all outputs, with exact rational weights. Exact data.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 2, 0]])
    >>> made = space_gates(Analysis(p))
    >>> made.planes, made.gates, made.network([[1.0, 0.5]])
    (5, {2: 1}, array([[0.5]]))
    >>> made.sizes == made.network.sizes
    True
    """
    p, tell = analysis.function, analysis.options.progress or _silent
    tell(0, _STEPS, "gates: faces")
    ways = _ways(analysis)
    if not ways:
        return SpaceGates(_affine(p), p.dim, 0, {}, p.num_pieces)
    tell(1, _STEPS, "gates: planes")
    made = [(_gate_sum(divided.complex, divided.laws, hinges), divided) for divided, hinges in ways]
    gate_sum, divided = min(made, key=lambda pair: pair[0].cost)
    cells = len(divided.complex.faces[-1])
    if not any(terms.hinges or terms.gates for terms in gate_sum.outputs):
        return SpaceGates(_affine(p), p.dim, 0, {}, cells)
    gate_sum, inputs = _with_rest(gate_sum, divided)
    tell(2, _STEPS, "gates: layers")
    chain, planes = lower(gate_sum, vertices_of(divided.complex))
    chain[0] = [_lifted(row, inputs) for row in chain[0]]
    gates = Counter(gate.codimension for gate in gate_sum.gates)
    chain = scaled(chain)
    tell(_STEPS, _STEPS, "gates")
    return SpaceGates(chain, p.dim, planes, dict(sorted(gates.items())), cells)


_STEPS = 3
_FEW = 300  # cells up to which both ways are tried
_SOME = 1000  # pieces up to which merging them is worth its linear programs
Hinges = dict[tuple[int, ...], tuple[Fraction, ...]]
"""The jumps of all outputs on some planes."""


def _silent(done: int, total: int, what: str) -> None:
    """No progress is shown."""


def _ways(analysis: Analysis) -> list[tuple[Divided, Hinges]]:
    """The function on its complex, and as one with hinges taken off before: what has fewer cells, both if small.

    None if it is affine.
    """
    p = analysis.function
    peeled = peel(p, analysis.neighbours) if p.mesh is None and p.tol == 0 and p.num_pieces <= _SOME else None
    rest = None if peeled is None else divide(peeled.rest)
    if peeled is None or rest is None or len(rest.projection) < p.dim:
        whole = divide(p)
        return [] if whole is None else [(whole, {})]
    cells = len(rest.complex.faces[-1])
    try:
        whole = divide(p, limit=max(cells, _FEW))  # pieces that were merged need not meet face to face any more
    except LimitError:
        whole = None
    ways: list[tuple[Divided, Hinges]] = [(rest, peeled.hinges)]
    if whole is not None:
        ways.append((whole, {}))
        ways.sort(key=lambda way: len(way[0].complex.faces[-1]))
    return ways if cells <= _FEW else ways[:1]


def _gate_sum(complex_: Complex, laws: NDArray[np.object_], hinges: Hinges) -> GateSum:
    """Hinges and gates for all outputs: each with planes of its own, or all with the same, whichever is smaller."""
    planes = Planes(reference_point(complex_))
    functions = [LocalFunctions(complex_, laws[:, j], planes) for j in range(laws.shape[1])]
    gate_sum = reduce_rank(settle(planes, [share_gates(local) for local in functions]))
    if len(functions) > 1 and gate_sum.gates:
        together = reduce_rank(settle(planes, share_jointly(functions)))
        gate_sum = min(gate_sum, together, key=lambda gate_sum: gate_sum.cost)
    for row, jumps in hinges.items():
        number, sign = planes.number(row)
        for terms, jump in zip(gate_sum.outputs, jumps, strict=True):
            weight = to_flint(jump)
            terms.add_hinge(number, weight)
            if sign < 0:  # s(-l) = s(l) - l
                terms.add_affine(planes.rows[number], -weight)
    return gate_sum


def _with_rest(gate_sum: GateSum, divided: Divided) -> tuple[GateSum, list[list[Rational]]]:
    """The gate_sum with one more coordinate for each affine part outside the row space; and what coordinates are."""
    extra = [j for j, row in enumerate(divided.rest) if any(row)]
    if not extra:
        return gate_sum, divided.projection
    zeros = len(extra)
    for terms in [*gate_sum.outputs, *(gate.content for gate in gate_sum.gates)]:
        terms.affine[-1:] = [ZERO] * zeros + terms.affine[-1:]
    for k, j in enumerate(extra):
        gate_sum.outputs[j].affine[len(divided.projection) + k] = fmpq(1)
    planes = [(*row[:-1], *(0,) * zeros, row[-1]) for row in gate_sum.planes]
    inputs = divided.projection + [divided.rest[j] for j in extra]
    return GateSum(planes, gate_sum.gates, gate_sum.outputs), inputs


def _lifted(row: Row, inputs: list[list[Rational]]) -> Row:
    """A row in the coordinates as a row in the inputs."""
    weights: dict[int, Rational] = {}
    for i, weight in row.weights.items():
        for j, value in enumerate(inputs[i]):
            if value != 0:
                weights[j] = weights.get(j, ZERO) + weight * value
    return Row({j: w for j, w in weights.items() if w != 0}, row.bias)


def _affine(p: CPWL) -> Chain:
    """The rows of a function without a bend: its laws."""
    laws = [[fmpq(int(v), int(row[-1])) for v in row[:-1]] for row in p.laws.integer()[0]]
    return [[Row({j: v for j, v in enumerate(law[:-1]) if v != 0}, law[-1]) for law in laws]]
