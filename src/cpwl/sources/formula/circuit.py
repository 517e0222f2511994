"""The network of expressions as they stand: ``max(a, b) = a + relu(b - a)``, in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import Network
from cpwl.network.program import Tape, Tensor, network_of
from cpwl.sources.formula.expression import Affine, Expression, Max

__all__ = ["network_of_expressions"]


def network_of_expressions(outputs: Sequence[Expression], variables: Sequence[str]) -> Network:
    """A network that computes the expressions; each subexpression is computed once."""
    writer = _Writer(variables)
    parts = [writer.tensor(output) for output in outputs]
    joined, _ = writer.tape.joined(parts)
    return network_of(writer.tape, joined)


class _Writer:
    def __init__(self, variables: Sequence[str]) -> None:
        self.place = {name: i for i, name in enumerate(variables)}
        self.tape = Tape(len(variables))
        self.input = self.tape.input((len(variables),))
        self.known: dict[Expression, Tensor] = {}

    def tensor(self, part: Expression) -> Tensor:
        """The expression as a tensor with one entry."""
        if part not in self.known:
            self.known[part] = self._written(part)
        return self.known[part]

    def _written(self, part: Expression) -> Tensor:
        if isinstance(part, Affine):
            return self._affine(part)
        if isinstance(part, Max):
            return self._largest(part)
        total = self._affine(part.base)
        for factor, term in part.terms:
            total = total.plus(self.tensor(term).times(_exact([factor])))
        return total

    def _affine(self, part: Affine) -> Tensor:
        slopes = [slope for _, slope in part.slopes]
        columns = np.array([self.place[name] for name, _ in part.slopes], dtype=np.int64)
        row = RationalMatrix.from_triples(
            np.zeros(len(slopes), dtype=np.int64), columns, _exact(slopes), (1, self.tape.inputs)
        )
        return self.input.linear(row, (1,)).plus(_exact([part.constant]))

    def _largest(self, part: Max) -> Tensor:
        """Of a constant and one more member a single neuron makes a maximum."""
        constants = [m for m in part.members if isinstance(m, Affine) and not m.slopes]
        others = [self.tensor(m) for m in part.members if not (isinstance(m, Affine) and not m.slopes)]
        best = self.tape.largest(others)
        return self.tape.maximum(best, _exact([constants[0].constant])) if constants else best


def _exact(values: Sequence[Fraction]) -> NDArray[np.object_]:
    return np.array(values, dtype=object)
