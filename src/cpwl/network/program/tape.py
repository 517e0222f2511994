"""Tensors whose entries are affine forms in neurons, and the operations that other programs write down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.limits import check_memory
from cpwl.network.program.affine import Forms

__all__ = ["Neurons", "Tape", "Tensor"]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor that depends on the input: an affine form for each entry, in the order of the entries.

    `level` is the hidden layer whose neurons it reads; `rectified` says that it is what a ReLU gave.
    """

    shape: tuple[int, ...]
    forms: Forms
    level: int
    rectified: bool = False

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each entry, in the shape of the tensor: what moves numbers about moves entries."""
        return np.arange(len(self.forms), dtype=np.int64).reshape(self.shape)

    def take(self, numbers: NDArray[Any]) -> Tensor:
        """The tensor of the entries with the given numbers, in the shape of `numbers`."""
        index = np.asarray(numbers, dtype=np.int64)
        return replace(self, shape=index.shape, forms=self.forms.take(index.ravel()))

    def spread(self, shape: tuple[int, ...]) -> Tensor:
        """The tensor repeated to fill the shape, as NumPy broadcasts it."""
        return self if shape == self.shape else self.take(np.broadcast_to(self.numbers, shape))

    def linear(self, matrix: Any, shape: tuple[int, ...]) -> Tensor:
        """The entries ``matrix @ entries``, in the given shape."""
        return Tensor(shape, self.forms.times(matrix), self.level)

    def plus(self, other: Tensor | NDArray[Any]) -> Tensor:
        """The sum with a tensor, or with constants."""
        shape = np.broadcast_shapes(self.shape, other.shape)
        if isinstance(other, Tensor):
            forms = self.spread(shape).forms.plus(other.spread(shape).forms)
            return Tensor(shape, forms, max(self.level, other.level))
        constant = Forms.constant(np.broadcast_to(other, shape).ravel())
        return Tensor(shape, self.spread(shape).forms.plus(constant), self.level)

    def times(self, factors: NDArray[Any]) -> Tensor:
        """The entries times constants."""
        shape = np.broadcast_shapes(self.shape, factors.shape)
        forms = self.spread(shape).forms.scaled(np.broadcast_to(factors, shape).ravel())
        return Tensor(shape, forms, self.level)

    def __neg__(self) -> Tensor:
        return self.times(np.array(-1.0))

    def matmul(self, factor: NDArray[Any]) -> Tensor:
        """``self @ factor`` as NumPy multiplies, for a constant factor."""
        numbers = self.numbers[None] if len(self.shape) == 1 else self.numbers
        weight = factor[:, None] if factor.ndim == 1 else factor
        if numbers.shape[-1] != weight.shape[-2]:
            raise ValueError(f"shapes {self.shape} and {factor.shape} do not multiply")
        batch = np.broadcast_shapes(numbers.shape[:-2], weight.shape[:-2])
        full = (*batch, numbers.shape[-2], *weight.shape[-2:])
        shape = (*batch, numbers.shape[-2], weight.shape[-1])
        check_memory(40 * math.prod(full), f"a product of {math.prod(full):,} factors", "Read a smaller network.")
        out = np.arange(math.prod(shape)).reshape(shape)
        entries = (
            np.broadcast_to(a, full).ravel() for a in (weight[..., None, :, :], out[..., None, :], numbers[..., None])
        )
        values, rows, columns = entries
        matrix = _sparse(values, rows, columns, (out.size, numbers.size))
        if len(self.shape) == 1:
            shape = (*shape[:-2], shape[-1])
        return self.linear(matrix, shape[:-1] if factor.ndim == 1 else shape)

    @property
    def transposed(self) -> Tensor:
        """The tensor with its last two dimensions exchanged."""
        return self.take(self.numbers.swapaxes(-1, -2))


def _sparse(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    keep = values != 0
    matrix = csr_array((values[keep], (rows[keep], columns[keep])), shape=shape)
    matrix.sort_indices()
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Neurons:
    """Neurons of one hidden layer: ``relu(before)``, numbered from `start` on, after the inputs."""

    start: int
    level: int
    before: Forms


@dataclass(slots=True, eq=False)
class Tape:
    """The neurons written down so far, for a network of so many inputs.

    >>> tape = Tape(1)
    >>> tape.absolute(tape.input((1,))).forms.weight.toarray()
    array([[0., 1., 1.]])
    """

    inputs: int
    neurons: list[Neurons] = field(default_factory=list)
    count: int = 0

    def input(self, shape: tuple[int, ...]) -> Tensor:
        """The input as a tensor."""
        self.count = max(self.count, self.inputs)
        return Tensor(shape, Forms.unit(0, self.inputs), 0)

    def relu(self, x: Tensor) -> Tensor:
        """``max(0, x)``: one neuron for each entry, unless there is one already."""
        if x.rectified:
            return x
        group = Neurons(self.count, x.level + 1, x.forms)
        self.neurons.append(group)
        self.count += len(x.forms)
        return Tensor(x.shape, Forms.unit(group.start, len(x.forms)), group.level, True)

    def absolute(self, x: Tensor) -> Tensor:
        """``|x| = relu(x) + relu(-x)``."""
        return x if x.rectified else self.relu(x).plus(self.relu(-x))

    def leaky(self, x: Tensor, slope: NDArray[Any]) -> Tensor:
        """`x` where it is positive, ``slope x`` elsewhere: ``relu(x) - slope relu(-x)``."""
        return x if x.rectified else self.relu(x).plus(self.relu(-x).times(-slope))

    def clip(self, x: Tensor, low: Any, high: Any) -> Tensor:
        """``min(max(x, low), high)`` for numbers ``low <= high``; None is no bound."""
        low = None if low is None else np.asarray(low, dtype=np.float64)
        high = None if high is None else np.asarray(high, dtype=np.float64)
        if low is None:
            return x if high is None else self.minimum(x, high)
        above = self.relu(x.plus(-low)).plus(low)
        # Both neurons read `x` directly: max(x, low) - max(x, high) + high.
        return above if high is None else above.plus(-self.relu(x.plus(-high)))

    def maximum(self, a: Tensor, b: Tensor | NDArray[Any]) -> Tensor:
        """``max(a, b) = a + relu(b - a)``; with a constant, one neuron and nothing else."""
        if isinstance(b, Tensor):
            return a.plus(self.relu(b.plus(-a)))
        return self.relu(a.plus(-b)).plus(b)

    def minimum(self, a: Tensor, b: Tensor | NDArray[Any]) -> Tensor:
        """``min(a, b) = a - relu(a - b)``."""
        if isinstance(b, Tensor):
            return a.plus(-self.relu(a.plus(-b)))
        return (-self.relu((-a).plus(b))).plus(b)

    def largest(self, parts: Sequence[Tensor]) -> Tensor:
        """The largest of several tensors, entry by entry, in pairs."""
        parts = list(parts)
        while len(parts) > 1:
            pairs = [self.maximum(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = pairs + parts[len(parts) - len(parts) % 2 :]
        return parts[0]

    def joined(self, parts: Sequence[Tensor | NDArray[Any]]) -> tuple[Tensor, list[NDArray[np.int64]]]:
        """All entries of tensors and constants as one flat tensor, and the numbers of the entries of each."""
        forms = [p.forms if isinstance(p, Tensor) else Forms.constant(p.ravel()) for p in parts]
        ends = np.cumsum([0] + [len(f) for f in forms])
        numbers = [np.arange(s, e).reshape(p.shape) for s, e, p in zip(ends, ends[1:], parts, strict=False)]
        level = max((p.level for p in parts if isinstance(p, Tensor)), default=0)
        return Tensor((int(ends[-1]),), Forms.stack(forms), level), numbers
