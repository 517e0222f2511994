"""Gate networks in every dimension: a number of neurons linear in the complex, right on every input (THEORY 7).

``p = sum c_F p_F`` over the faces inside the domain, where `p_F` is what `p` looks like near `F`; each `p_F` is glued
from those of larger faces by one gate on a plane through `F`; gates on one plane share a neuron.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.first_layer import Row
from cpwl.construct.gate_domain import Divided, divide, vertices_of
from cpwl.construct.gate_order import Circuit, settle
from cpwl.construct.gate_rank import reduce_rank
from cpwl.construct.gate_sharing import share_gates
from cpwl.construct.gate_terms import ZERO, Planes, Rational
from cpwl.construct.local_functions import LocalFunctions, reference_point
from cpwl.construct.local_lowering import Chain, lower
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.function import CPWL
from cpwl.geometry.complex import Complex
from cpwl.network import Network

__all__ = ["LocalGates", "local_gates"]


@dataclass(frozen=True, slots=True, eq=False)
class LocalGates:
    """A network of hinges and gates, and what it is made of."""

    network: Network
    planes: int
    """The number of planes with a hinge."""
    gates: dict[int, int]
    """The number of gates, by the codimension of their faces."""
    cells: int
    """The number of cells of the face-to-face complex."""


def local_gates(p: CPWL) -> LocalGates:
    """The network of local functions and gates for all outputs of `p`, with exact rational weights.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 2, 0]])
    >>> made = local_gates(p)
    >>> made.planes, made.gates, made.network([[1.0, 0.5]])
    (5, {2: 1}, array([[0.5]]))
    """
    divided = divide(p)
    if divided is None:
        return LocalGates(_affine(p), 0, {}, p.num_pieces)
    circuit = _circuit(divided.complex, divided.laws)
    if not any(terms.hinges or terms.gates for terms in circuit.outputs):
        return LocalGates(_affine(p), 0, {}, len(divided.complex.faces[-1]))
    circuit, inputs = _with_rest(circuit, divided)
    chain = lower(circuit, vertices_of(divided.complex))
    chain[0] = [_lifted(row, inputs) for row in chain[0]]
    gates = Counter(gate.codimension for gate in circuit.gates)
    network = _network(chain, p.dim)
    return LocalGates(network, len(circuit.planes), dict(sorted(gates.items())), len(divided.complex.faces[-1]))


def _circuit(complex_: Complex, laws: NDArray[np.object_]) -> Circuit:
    planes = Planes(reference_point(complex_))
    outputs = [share_gates(LocalFunctions(complex_, laws[:, j], planes)) for j in range(laws.shape[1])]
    return reduce_rank(settle(planes, outputs))


def _with_rest(circuit: Circuit, divided: Divided) -> tuple[Circuit, list[list[Rational]]]:
    """The circuit with one more coordinate for each affine part outside the row space; and what coordinates are."""
    extra = [j for j, row in enumerate(divided.rest) if any(row)]
    if not extra:
        return circuit, divided.projection
    zeros = len(extra)
    for terms in [*circuit.outputs, *(gate.content for gate in circuit.gates)]:
        terms.affine[-1:] = [ZERO] * zeros + terms.affine[-1:]
    for k, j in enumerate(extra):
        circuit.outputs[j].affine[len(divided.projection) + k] = fmpq(1)
    planes = [(*row[:-1], *(0,) * zeros, row[-1]) for row in circuit.planes]
    inputs = divided.projection + [divided.rest[j] for j in extra]
    return Circuit(planes, circuit.gates, circuit.outputs), inputs


def _lifted(row: Row, inputs: list[list[Rational]]) -> Row:
    """A row in the coordinates as a row in the inputs."""
    weights: dict[int, Rational] = {}
    for i, weight in row.weights.items():
        for j, value in enumerate(inputs[i]):
            if value != 0:
                weights[j] = weights.get(j, ZERO) + weight * value
    return Row({j: w for j, w in weights.items() if w != 0}, row.bias)


def _affine(p: CPWL) -> Network:
    """The network of a function without a bend: its law."""
    law = fraction_array(p.laws.integer()[0])
    law = law[:, :-1] / law[:, -1:]
    return Network([(law[:, :-1], law[:, -1])])


def _network(chain: Chain, inputs: int) -> Network:
    """The network of some rows; every neuron is scaled by a power of two, so that its largest weight is about 1."""
    layers = []
    scale = [0] * inputs  # exponents
    for k, rows in enumerate(chain):
        place, values, biases, exponents = [], [], [], []
        for i, row in enumerate(rows):
            weights = {j: w * _power(scale[j]) for j, w in row.weights.items()}
            largest = max((abs(w) for w in weights.values()), default=fmpq(1))
            e = int(largest.p).bit_length() - int(largest.q).bit_length() if k + 1 < len(chain) else 0
            exponents.append(e)
            place += [(i, j) for j in weights]
            values += [_fraction(w * _power(-e)) for w in weights.values()]
            biases.append(_fraction(row.bias * _power(-e)))
        at = np.array(place, dtype=np.int64).reshape(-1, 2)
        weight = RationalMatrix.from_triples(
            at[:, 0], at[:, 1], np.array(values, dtype=object), (len(rows), len(scale))
        )
        layers.append((weight, np.array(biases, dtype=object)))
        scale = exponents
    return Network(layers)


def _power(e: int) -> fmpq:
    return fmpq(1 << e) if e >= 0 else fmpq(1, 1 << -e)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
