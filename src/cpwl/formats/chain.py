"""From the steps that other programs write down, multiplications, additions and ReLUs, to a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array, is_exact_float, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import Network

__all__ = ["Linear", "Relu", "Shift", "Step", "network_from_steps"]


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """The step ``h -> weight h``, with a dense, sparse or rational weight."""

    weight: Any


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """The step ``h -> h + offset``."""

    offset: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Relu:
    """The step ``h -> max(0, h)``."""


Step = Linear | Shift | Relu


@dataclass(frozen=True, slots=True, eq=False)
class _Affine:
    """``h -> weight h + bias``; `None` is the identity, or zero."""

    weight: Any = None
    bias: NDArray[Any] | None = None


def network_from_steps(steps: Sequence[Step]) -> Network:
    """The network that takes the given steps one after the other.

    Affine steps in a row become one layer. What has to be multiplied or added for that is computed in
    rationals, and stays rational where float64 cannot hold it, so that the network is the function written
    down. A ReLU at either end gets an identity layer next to it, since a network begins and ends affine.

    >>> network_from_steps([Shift(np.array([-1.0])), Linear([[2.0], [4.0]]), Relu(), Linear([[1.0, 1.0]])])
    Network(1 -> 2 -> 1)
    """
    width = _inputs(steps)
    layers: list[tuple[Any, Any]] = []
    affine: _Affine | None = None
    for step in steps:
        if not isinstance(step, Relu):
            affine = _extend(affine or _Affine(), step)
        elif affine is not None or not layers:
            layers.append(_layer(affine or _Affine(), width))
            width = len(layers[-1][1])
            affine = None
    return Network([*layers, _layer(affine or _Affine(), width)])


def _inputs(steps: Sequence[Step]) -> int:
    for step in steps:
        if isinstance(step, Linear):
            return int(step.weight.shape[1] if hasattr(step.weight, "shape") else len(step.weight[0]))
        if isinstance(step, Shift):
            return len(step.offset)
    raise InputError("there is no layer with weights")


def _extend(affine: _Affine, step: Linear | Shift) -> _Affine:
    if isinstance(step, Shift):
        if affine.bias is None:
            return _Affine(affine.weight, step.offset)
        return _Affine(affine.weight, fraction_array(affine.bias) + fraction_array(step.offset))
    if affine.weight is None and affine.bias is None:
        return _Affine(step.weight)
    factor = _rational(step.weight)
    bias = None if affine.bias is None else factor @ fraction_array(affine.bias)
    return _Affine(step.weight if affine.weight is None else factor @ _rational(affine.weight), bias)


def _rational(weight: Any) -> RationalMatrix:
    return weight if isinstance(weight, RationalMatrix) else RationalMatrix.from_float(weight)


def _layer(affine: _Affine, width: int) -> tuple[Any, Any]:
    weight, bias = affine.weight, affine.bias
    if weight is None:
        weight = csr_array(eye_array(width))
    if isinstance(weight, RationalMatrix) and is_exact_float(weight.data):
        weight = weight.tofloat()
    if bias is None:
        rows = weight.shape[0] if hasattr(weight, "shape") else len(weight)
        bias = np.zeros(rows)
    if bias.dtype == object and is_exact_float(bias):
        bias = to_float(bias)
    return weight, bias
