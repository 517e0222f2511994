"""Dense layers on the way out: consumers want full matrices, so their size is checked first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_choice
from cpwl.errors import LimitError
from cpwl.network.network import Network

__all__ = ["Dtype", "check_dense_size", "dense_layers"]

Dtype: TypeAlias = Literal["float32", "float64"]


def check_dense_size(network: Network, dtype: Dtype, limit: int, consumer: str) -> None:
    """Refuse a network whose dense weights and biases would take more than `limit` bytes."""
    check_choice(dtype, ("float32", "float64"), "dtype")
    numbers = sum(weight.shape[0] * (weight.shape[1] + 1) for weight, _ in network.layers)
    size = numbers * np.dtype(dtype).itemsize
    if size > limit:
        sizes = f"{size / 2**30:.1f} GiB as dense {dtype}, more than the {limit / 2**30:.0f} GiB {consumer}"
        nonzeros = f"only {network.sizes.nonzeros:,} of its weights are nonzero"
        raise LimitError(f"the network would take {sizes}; {nonzeros}", bytes=size, limit=limit)


def dense_layers(network: Network, dtype: Dtype) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The layers as dense arrays of `dtype`, each number rounded to nearest; one too large is refused."""
    for number, (weight, bias) in enumerate(network.layers, start=1):
        largest = np.finfo(dtype).max
        with np.errstate(over="ignore"):
            layer = weight.toarray().astype(dtype, copy=False), bias.astype(dtype, copy=False)
        if not all(np.isfinite(array).all() for array in layer):
            number_ = max(np.abs(weight.data).max(initial=0.0), np.abs(bias).max())
            message = f"layer {number} has a number of size {number_:.3g}, but {dtype} ends at {largest:.3g}"
            raise LimitError(message, layer=number)
        yield layer
