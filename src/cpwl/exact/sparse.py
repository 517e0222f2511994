"""Sparse rational matrices: compressed rows whose entries are `Fraction`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction_array, from_flint, to_flint, to_float

_Thing = TypeVar("_Thing", bound=Hashable)


@dataclass(frozen=True, slots=True, eq=False)
class RationalMatrix:
    """A sparse matrix of rationals in compressed rows: row `i` has `data[indptr[i]:indptr[i + 1]]`.

    Entries are `Fraction` (or `int`), sorted by column and never zero. The arrays are read-only. `entries` may be a
    function that makes them: large networks are held as integers, and become `Fraction` when someone asks.

    >>> a = RationalMatrix.from_dense([["1/3", 0], [2, 1]])
    >>> (a @ a).toarray()
    array([[Fraction(1, 9), Fraction(0, 1)],
           [Fraction(8, 3), Fraction(1, 1)]], dtype=object)
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    entries: NDArray[np.object_] | Callable[[], NDArray[np.object_]]

    def __post_init__(self) -> None:
        assert len(self.indptr) == self.shape[0] + 1
        assert len(self.indices) == self.indptr[-1]
        for array in (self.indptr, self.indices):
            array.flags.writeable = False
        if not callable(self.entries):
            self._settle(self.entries)

    @property
    def data(self) -> NDArray[np.object_]:
        """The entries, row after row."""
        if callable(self.entries):
            self._settle(self.entries())
        assert not callable(self.entries)
        return self.entries

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return len(self.indices)

    def _settle(self, entries: NDArray[np.object_]) -> None:
        assert len(entries) == len(self.indices)
        entries.flags.writeable = False
        object.__setattr__(self, "entries", entries)

    def __reduce__(self) -> tuple[Any, ...]:
        return RationalMatrix, (self.shape, self.indptr, self.indices, self.data)

    @classmethod
    def from_triples(cls, rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> RationalMatrix:
        """The matrix with the sum of the given values at each place; zeros are dropped."""
        rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        values = np.asarray(values, dtype=object)
        for name, index, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
            if len(index) and not 0 <= index.min() <= index.max() < size:
                bad = int(index.min()) if index.min() < 0 else int(index.max())
                raise InputError(f"{name} {bad} is outside a matrix of shape {shape}", index=bad, shape=shape)
        order = np.lexsort((columns, rows))
        rows, columns, values = rows[order], columns[order], values[order]
        if len(rows):
            first = np.flatnonzero(np.r_[True, (np.diff(rows) != 0) | (np.diff(columns) != 0)])
            rows, columns, values = rows[first], columns[first], np.add.reduceat(values, first)
            keep = values != 0
            rows, columns, values = rows[keep], columns[keep], values[keep]
        indptr = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(np.int64)
        return cls(shape, indptr, columns, values)

    @classmethod
    def from_dense(cls, a: Any) -> RationalMatrix:
        """The matrix with the entries of a two-dimensional array of numbers or "p/q" strings."""
        array = fraction_array(a)
        if array.ndim != 2:
            raise InputError(f"a matrix has rows and columns, but this array has shape {array.shape}")
        rows, columns = np.nonzero(array != 0)
        return cls.from_triples(rows, columns, array[rows, columns], (array.shape[0], array.shape[1]))

    @classmethod
    def from_float(cls, a: Any) -> RationalMatrix:
        """The exact value of a float matrix, dense or sparse: every double is a rational."""
        matrix = csr_array(a, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        # Equal entries share one `Fraction`: weights are often all +-1.
        values, place = np.unique(matrix.data, return_inverse=True)
        data = fraction_array(values)[place]
        return cls(matrix.shape, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), data)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each stored entry."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int64), np.diff(self.indptr))

    def tofloat(self) -> csr_array[Any, tuple[int, int]]:
        """The float64 view, every entry rounded once; entries that round to zero are dropped."""
        try:
            data = to_float(self.data)
        except OverflowError:
            largest = max(abs(v) for v in self.data)
            digits = len(str(int(largest)))
            raise LimitError(f"a number of {digits} digits is too large for float64", value=largest) from None
        # Copies: scipy may narrow or rearrange the index arrays it is given.
        view = csr_array((data, self.indices.copy(), self.indptr.copy()), shape=self.shape)
        view.eliminate_zeros()
        return view

    def toarray(self) -> NDArray[np.object_]:
        """All entries, zeros included, as an object array of `Fraction`."""
        dense = np.full(self.shape, Fraction(0), dtype=object)
        dense[self.rows, self.indices] = fraction_array(self.data)
        return dense

    def take_rows(self, index: Any) -> RationalMatrix:
        """The matrix whose row `i` is row `index[i]` of this one; rows may repeat.

        >>> RationalMatrix.from_dense([[1, 0], [0, "1/2"]]).take_rows([1, 1]).toarray()
        array([[Fraction(0, 1), Fraction(1, 2)],
               [Fraction(0, 1), Fraction(1, 2)]], dtype=object)
        """
        index = np.asarray(index, dtype=np.int64)
        lengths = np.diff(self.indptr)[index]
        indptr = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        entries = np.repeat(self.indptr[index] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return RationalMatrix((len(index), self.shape[1]), indptr, self.indices[entries], self.data[entries])

    def __neg__(self) -> RationalMatrix:
        return RationalMatrix(self.shape, self.indptr, self.indices, -self.data)

    def __matmul__(self, other: Any) -> Any:
        """The product with a matrix of this kind, or with an object array of rationals."""
        factor = other if isinstance(other, RationalMatrix) else np.asarray(other, dtype=object)
        if not factor.shape or self.shape[1] != factor.shape[0]:
            message = f"a matrix of shape {self.shape} cannot multiply one of shape {factor.shape}"
            raise InputError(message, shapes=(self.shape, factor.shape))
        if isinstance(factor, RationalMatrix):
            return self._times_matrix(factor)
        return self._times_array(factor)

    def _times_matrix(self, other: RationalMatrix) -> RationalMatrix:
        # Entry (i, k) meets every entry of row k of `other`: expand all pairs, then add up equal places.
        lengths = np.diff(other.indptr)[self.indices]
        left = np.repeat(np.arange(len(self.data)), lengths)
        start = np.repeat(np.cumsum(lengths) - lengths, lengths)
        right = other.indptr[self.indices][left] + np.arange(len(left)) - start
        values, one, minus = other.data[right], self.data == 1, self.data == -1
        values[minus[left]] = -values[minus[left]]  # most factors are 1 and -1
        if not (one | minus).all():
            rest = ~(one | minus)[left]
            values[rest] = self.data[left[rest]] * values[rest]
        return RationalMatrix.from_triples(
            self.rows[left], other.indices[right], values, (self.shape[0], other.shape[1])
        )

    def _times_array(self, x: NDArray[np.object_]) -> NDArray[np.object_]:
        terms = self.data.reshape((-1,) + (1,) * (x.ndim - 1)) * x[self.indices]
        result = np.full((self.shape[0], *x.shape[1:]), Fraction(0), dtype=object)
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled):
            result[filled] = np.add.reduceat(terms, self.indptr[filled], axis=0)
        return result


def stack_rows(blocks: Sequence[RationalMatrix]) -> RationalMatrix:
    """The blocks one below the other; there must be at least one, and all equally wide."""
    if len({block.shape[1] for block in blocks}) != 1:
        raise InputError(f"blocks of shapes {[block.shape for block in blocks]} do not stack")
    offsets = np.cumsum([0] + [len(block.data) for block in blocks[:-1]])
    indptr = [block.indptr[1:] + offset for block, offset in zip(blocks, offsets, strict=True)]
    shape = (sum(block.shape[0] for block in blocks), blocks[0].shape[1])
    return RationalMatrix(
        shape,
        np.concatenate([np.zeros(1, dtype=np.int64), *indptr]),
        np.concatenate([block.indices for block in blocks]),
        np.concatenate([block.data for block in blocks]),
    )


def block_diagonal(blocks: Sequence[RationalMatrix]) -> RationalMatrix:
    """The blocks along the diagonal, zeros elsewhere; there must be at least one."""
    width = sum(block.shape[1] for block in blocks)
    shifts = np.cumsum([0] + [block.shape[1] for block in blocks[:-1]])
    moved = [
        RationalMatrix((block.shape[0], width), block.indptr, block.indices + shift, block.data)
        for block, shift in zip(blocks, shifts, strict=True)
    ]
    return stack_rows(moved)


# What is one with what, up to sign.


class Union(Generic[_Thing]):
    """Things in classes of those that are equal, or opposite (union-find).

    >>> union = Union()
    >>> union.join("a", "b", -1), union.join("b", "c"), union.join("c", "a", -1)
    (True, True, False)
    >>> union.find("a"), union.find("c")
    (('c', -1), ('c', 1))
    """

    def __init__(self) -> None:
        self._parent: dict[_Thing, tuple[_Thing, int]] = {}

    def find(self, thing: _Thing) -> tuple[_Thing, int]:
        """What stands for the class of a thing, and the sign that makes it that."""
        path, sign = [], 1
        while thing in self._parent:
            path.append((thing, sign))
            thing, turn = self._parent[thing]
            sign *= turn
        for passed, before in path:
            self._parent[passed] = (thing, sign * before)
        return thing, sign

    def join(self, one: _Thing, two: _Thing, sign: int = 1) -> bool:
        """Make two things equal, with `sign` -1 opposite; whether they were in two classes."""
        (p, s), (q, t) = self.find(one), self.find(two)
        if p != q:
            self._parent[p] = (q, s * t * sign)
        return p != q


# The span of sparse rational vectors, grown one vector at a time, and coordinates in it.


Vector = Mapping[Any, Any]
"""Rationals of Python or of flint, by keys that have an order."""
_Inner = dict[Any, fmpq]  # many times faster than fractions


class Span:
    """Independent vectors, and every vector of their span in terms of them.

    >>> span = Span()
    >>> [span.insert({0: Fraction(1), 1: Fraction(k)}) for k in (2, 3, 4)]
    [True, True, False]
    >>> span.express({1: Fraction(5)}), span.express({2: Fraction(1)})
    ({0: Fraction(-5, 1), 1: Fraction(5, 1)}, None)
    """

    def __init__(self) -> None:
        self.rank = 0
        self._rows: dict[int, tuple[_Inner, _Inner]] = {}  # by pivot: a row with 1 there, and what it is made of

    def insert(self, vector: Vector) -> bool:
        """Whether the vector was independent of those before, and is now the next one."""
        rest, made = self._reduce(vector)
        if not rest:
            return False
        pivot = min(rest, key=lambda key: (_length(rest[key]), key))  # a short number keeps all numbers short
        scale = 1 / rest[pivot]
        made = {key: -value * scale for key, value in made.items()}
        made[self.rank] = scale
        self._rows[pivot] = ({key: value * scale for key, value in rest.items()}, made)
        self.rank += 1
        return True

    def express(self, vector: Vector) -> dict[int, Fraction] | None:
        """Factors of the inserted vectors, by number; None if the vector is outside."""
        rest, made = self._reduce(vector)
        return None if rest else {key: from_flint(value) for key, value in made.items()}

    def _reduce(self, vector: Vector) -> tuple[_Inner, _Inner]:
        """What is left of a vector, and the factors of what was taken off."""
        rest = {key: to_flint(value) for key, value in vector.items() if value}
        made: _Inner = {}
        for pivot in self._rows:  # in order: earlier rows may contain pivots of later ones, not the other way round
            if pivot in rest:
                factor = rest[pivot]
                row, origin = self._rows[pivot]
                _add(rest, -factor, row)
                _add(made, factor, origin)
        return rest, made


def _length(x: fmpq) -> int:
    return int(x.p).bit_length() + int(x.q).bit_length()


def _add(total: _Inner, factor: fmpq, vector: _Inner) -> None:
    for key, value in vector.items():
        changed = total[key] + factor * value if key in total else factor * value
        if changed:
            total[key] = changed
        else:
            total.pop(key, None)
