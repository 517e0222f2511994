"""Layers of images: windows, convolutions and poolings as sparse matrices, normalisation; sums and means over axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron

from cpwl.errors import LimitError
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.program import Tape, Tensor

_LIMIT = 50_000_000  # entries of a matrix that we write down


@dataclass(frozen=True, slots=True, eq=False)
class KernelWindows:
    """``index[o, k]``: the place that window `o` reads with its entry `k`, -1 for padding; both flat.

    >>> KernelWindows.slide([4], [2], strides=[2], dilations=[1], before=[1], after=[1]).index.tolist()
    [[-1, 0], [1, 2], [3, -1]]
    """

    index: NDArray[np.int64]
    shape: tuple[int, ...]
    places: int

    @classmethod
    def slide(
        cls,
        sizes: Sequence[int],
        kernel: Sequence[int],
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        before: Sequence[int],
        after: Sequence[int],
        ceil: bool = False,
    ) -> KernelWindows:
        """The windows of a kernel that slides over an image with padding; `ceil` keeps a last one that sticks out."""
        n = len(sizes)
        for what, numbers in (("kernel", kernel), ("strides", strides), ("dilations", dilations)):
            if len(numbers) != n or min(numbers, default=1) < 1:
                raise ValueError(f"{what} {list(numbers)} must be {n} positive numbers")
        for numbers in (before, after):
            if len(numbers) != n or min(numbers, default=0) < 0:
                raise ValueError(f"padding {list(numbers)} must be {n} numbers that are not negative")
        out = []
        index = np.zeros((1, 1), dtype=np.int64)
        for size, k, stride, step, low, high in zip(sizes, kernel, strides, dilations, before, after, strict=True):
            room = size + low + high - step * (k - 1) - 1
            if room < 0:
                raise ValueError(f"a kernel of size {k} does not fit into {size} entries")
            count = (-(-room // stride) if ceil else room // stride) + 1
            if ceil and (count - 1) * stride >= size + low:  # a window must begin inside the image or before it
                count -= 1
            _check_products(len(index) * count * index.shape[1] * k)
            at = (np.arange(count) * stride - low)[:, None] + np.arange(k) * step
            inside = (at >= 0) & (at < size)
            grown = index[:, None, :, None] * size + at[None, :, None, :]
            ok = (index >= 0)[:, None, :, None] & inside[None, :, None, :]
            index = np.where(ok, grown, -1).reshape(len(index) * count, -1)
            out.append(count)
        return cls(index, tuple(out), math.prod(sizes))

    def filled(self) -> NDArray[np.int64]:
        """The index with some entry of the same window in place of padding: for maxima, which do not mind."""
        self.check_read()
        return np.where(self.index >= 0, self.index, self.index.max(axis=1, keepdims=True))

    def check_read(self) -> None:
        """Refuse a window that reads nothing: its maximum and its mean are no numbers."""
        if not (self.index >= 0).any(axis=1).all():
            raise ValueError("a window is all padding")


def _check_products(size: int) -> None:
    if size > _LIMIT:
        raise LimitError(f"a convolution of {size:,} products exceeds the limit of {_LIMIT:,}")


def convolution(windows: KernelWindows, weight: NDArray[Any], groups: int) -> Any:
    """The matrix of a convolution with `weight` of shape (out channels, in channels a group, kernel ...)."""
    out, each = weight.shape[:2]
    count, entries = windows.index.shape
    _check_products(out * count * each * entries)
    full = (out, count, each, entries)
    channel = (np.arange(out) // (out // groups) * each)[:, None] + np.arange(each)
    place = windows.index[None, :, None, :]
    columns = np.broadcast_to(channel[:, None, :, None] * windows.places + place, full)
    rows = np.broadcast_to((np.arange(out)[:, None] * count + np.arange(count))[:, :, None, None], full)
    values = np.broadcast_to(weight.reshape(out, 1, each, entries), full)
    keep = (values != 0) & np.broadcast_to(place >= 0, full)
    shape = (out * count, each * groups * windows.places)
    matrix = csr_array((values[keep], (rows[keep], columns[keep])), shape=shape)
    matrix.sort_indices()
    return matrix


def average(windows: KernelWindows, channels: int, *, count_padding: bool) -> RationalMatrix:
    """The matrix of the means over windows, for each channel; padding counts as zeros, or not at all."""
    if not count_padding:
        windows.check_read()
    row, entry = np.nonzero(windows.index >= 0)
    count = (windows.index >= 0).sum(axis=1)
    if count_padding:
        count = np.full_like(count, windows.index.shape[1])
    pattern = csr_array(
        (count[row].astype(float), (row, windows.index[row, entry])), shape=(len(count), windows.places)
    )
    full = csr_array(kron(eye_array(channels), pattern, format="csr"))
    share = {float(c): Fraction(1, int(c)) for c in np.unique(count) if c}
    data = np.array([share[float(v)] for v in full.data], dtype=object)
    rows = np.repeat(np.arange(full.shape[0]), np.diff(full.indptr))
    return RationalMatrix.from_triples(rows, full.indices, data, full.shape)


def largest(tape: Tape, x: Tensor, windows: KernelWindows) -> Tensor:
    """The largest entry of each window of an image ``(1, channels, ...)``, in pairs."""
    index = windows.filled()
    numbers = np.arange(x.shape[1])[:, None] * windows.places
    best = tape.largest([x.take(numbers + index[:, k]) for k in range(index.shape[1])])
    return best.take(best.numbers.reshape(*x.shape[:2], *windows.shape))


def normalised(
    x: Tensor, spread: NDArray[Any], mean: NDArray[Any], scale: NDArray[Any] | None, offset: NDArray[Any] | None
) -> Tensor:
    """``(x - mean) / sqrt(spread) * scale + offset``, with a number of each for every channel.

    The root is irrational: it is taken, and rounded, in float64; all else is exact.
    """
    factor = 1 / fraction_array(np.sqrt(spread))
    factor = factor if scale is None else factor * fraction_array(scale)
    shift = -factor * fraction_array(mean)
    shift = shift if offset is None else shift + fraction_array(offset)
    along = (1, -1) + (1,) * (len(x.shape) - 2)
    return x.times(np.asarray(factor).reshape(along)).plus(np.asarray(shift).reshape(along))


def reduced(x: Tensor, axes: Collection[int], *, keep: bool, mean: bool) -> Tensor:
    """Sums or means over axes, which `keep` leaves as axes of one entry."""
    shape = tuple(1 if i in axes else size for i, size in enumerate(x.shape))
    out = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), x.shape).ravel()
    if not len(x.forms):
        raise ValueError("it reads a tensor without entries")
    count = len(x.forms) // math.prod(shape)
    size = (math.prod(shape), len(x.forms))
    columns = np.arange(len(x.forms))
    matrix: Any = csr_array((np.ones(len(columns)), (out, columns)), shape=size)
    if mean and count > 1:
        matrix = RationalMatrix.from_triples(out, columns, np.full(len(columns), Fraction(1, count)), size)
    return x.linear(matrix, shape if keep else tuple(s for i, s in enumerate(x.shape) if i not in axes))
