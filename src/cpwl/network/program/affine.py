"""Affine forms over the inputs and neurons of a network in the making, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from cpwl.errors import LimitError
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix, stack_rows
from cpwl.limits import check_memory

__all__ = ["Forms", "rational_matrix", "scale_rows"]

_FEW = 10**6  # entries that always fit
_DIGITS = 2**14  # binary digits of a number; a product of 300 doubles has as many


@dataclass(frozen=True, slots=True, eq=False)
class Forms:
    """Affine forms, one a row: ``weight s + bias``, with `s` the inputs and neurons written down so far.

    Numbers are float64 as long as nothing had to be computed, and rationals from then on: a product or a sum
    of doubles is rarely a double, and a network read from a file is to be the function that stands there.

    >>> from fractions import Fraction
    >>> x = Forms.unit(0, 2)
    >>> x.times(csr_array([[0.1, 0.2]])).times(csr_array([[0.1]])).weight.data[0] == Fraction(0.1) ** 2
    True
    """

    weight: Any
    bias: NDArray[Any]

    @classmethod
    def unit(cls, start: int, count: int) -> Forms:
        """The `count` inputs or neurons from number `start` on, themselves."""
        columns = np.arange(start, start + count)
        weight = csr_array((np.ones(count), columns, np.arange(count + 1)), shape=(count, start + count))
        return cls(weight, np.zeros(count))

    @classmethod
    def constant(cls, values: NDArray[Any]) -> Forms:
        """Forms that are constants."""
        return cls(csr_array((len(values), 0)), values)

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def is_float(self) -> bool:
        """Whether the weights are still the doubles that were written down."""
        return not isinstance(self.weight, RationalMatrix)

    def take(self, index: NDArray[np.int64]) -> Forms:
        """The forms with the given numbers, in that order; forms may repeat."""
        _check_size(int(np.diff(self.weight.indptr)[index].sum()), self.is_float)
        weight = self.weight[index] if self.is_float else self.weight.take_rows(index)
        return Forms(weight, self.bias[index])

    def times(self, matrix: Any) -> Forms:
        """The forms ``matrix @ self``, for a sparse float or a rational matrix."""
        columns = self._distinct_units()
        if columns is not None:
            weight = _relabel(matrix, columns, self.weight.shape[1])
        else:
            _check_size(int(np.diff(self.weight.indptr)[matrix.indices].sum()), floats=False)
            weight = rational_matrix(matrix) @ rational_matrix(self.weight)
            _check_digits(weight.data)
        if not self.bias.any():
            return Forms(weight, np.zeros(matrix.shape[0]))
        return Forms(weight, rational_matrix(matrix) @ fraction_array(self.bias))

    def plus(self, other: Forms) -> Forms:
        """The sums of the forms of both, row by row."""
        width = max(self.weight.shape[1], other.weight.shape[1])
        a, b = _widen(self.weight, width), _widen(other.weight, width)
        _check_size(len(a.data) + len(b.data), self.is_float and other.is_float)
        if self.is_float and other.is_float and not (a != 0).multiply(b != 0).nnz:
            weight: Any = csr_array(a + b)
        else:
            a, b = rational_matrix(a), rational_matrix(b)
            rows, columns = np.concatenate([a.rows, b.rows]), np.concatenate([a.indices, b.indices])
            weight = RationalMatrix.from_triples(rows, columns, np.concatenate([a.data, b.data]), a.shape)
        if not self.bias.any() or not other.bias.any():
            return Forms(weight, self.bias if self.bias.any() else other.bias)
        return Forms(weight, fraction_array(self.bias) + fraction_array(other.bias))

    def scaled(self, factors: NDArray[Any]) -> Forms:
        """Each form times a factor of its own."""
        bias = self.bias
        if bias.any():
            sign = factors.dtype != object and bool((np.abs(factors) == 1).all())
            bias = bias * factors if sign else fraction_array(bias) * fraction_array(factors)
        return Forms(scale_rows(self.weight, factors), bias)

    @staticmethod
    def stack(parts: Sequence[Forms]) -> Forms:
        """All forms of the parts, one part after the other."""
        width = max(part.weight.shape[1] for part in parts)
        weights = [_widen(part.weight, width) for part in parts]
        bias = [part.bias for part in parts]
        if any(b.dtype == object for b in bias):
            bias = [fraction_array(b) for b in bias]
        if all(part.is_float for part in parts):
            return Forms(csr_array(vstack(weights, format="csr")), np.concatenate(bias))
        return Forms(stack_rows([rational_matrix(weight) for weight in weights]), np.concatenate(bias))

    def _distinct_units(self) -> NDArray[np.int64] | None:
        """The columns of forms that are distinct single inputs or neurons; None for any other."""
        weight = self.weight
        if not self.is_float or weight.nnz != len(self) or (np.diff(weight.indptr) != 1).any():
            return None
        if (weight.data != 1).any() or len(np.unique(weight.indices)) != len(self):
            return None
        return np.asarray(weight.indices, dtype=np.int64)


def _check_size(entries: int, floats: bool) -> None:
    """Refuse so many products or entries if they would not fit: two words for a float, an object for a rational."""
    if entries > _FEW:
        check_memory(entries * (24 if floats else 400), f"{entries:,} weights", "Read a smaller network.")


def _check_digits(numbers: NDArray[Any]) -> None:
    """Refuse numbers that have grown too long, as a few of them show: every product of doubles adds their digits."""
    for number in numbers[:: max(1, len(numbers) // 8)]:
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > _DIGITS:
            raise LimitError(f"products of weights have grown to more than {_DIGITS:,} binary digits")


def rational_matrix(matrix: Any) -> RationalMatrix:
    """The exact value of a sparse matrix, float or rational."""
    return matrix if isinstance(matrix, RationalMatrix) else RationalMatrix.from_float(matrix)


def scale_rows(matrix: Any, factors: NDArray[Any]) -> Any:
    """The matrix with each row times a factor; it stays float where the factors are all 1 or -1."""
    if factors.dtype != object and not isinstance(matrix, RationalMatrix) and (np.abs(factors) == 1).all():
        data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
        return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    exact = rational_matrix(matrix)
    values, place = _fractions(factors)
    data = exact.data * values[place[exact.rows]]
    _check_digits(data)
    return RationalMatrix.from_triples(exact.rows, exact.indices, data, exact.shape)


def _fractions(factors: NDArray[Any]) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Distinct factors as rationals, and which of them each is; channels share a few of them."""
    if factors.dtype == object:
        return fraction_array(factors), np.arange(len(factors))
    values, place = np.unique(factors, return_inverse=True)
    return fraction_array(values), place


def _relabel(matrix: Any, columns: NDArray[np.int64], width: int) -> Any:
    if isinstance(matrix, RationalMatrix):
        return RationalMatrix.from_triples(matrix.rows, columns[matrix.indices], matrix.data, (matrix.shape[0], width))
    relabelled = csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], width))
    relabelled.sort_indices()
    return relabelled


def _widen(weight: Any, width: int) -> Any:
    if weight.shape[1] == width:
        return weight
    shape = (weight.shape[0], width)
    if isinstance(weight, RationalMatrix):
        return RationalMatrix(shape, weight.indptr, weight.indices, weight.data)
    return csr_array((weight.data, weight.indices, weight.indptr), shape=shape)
