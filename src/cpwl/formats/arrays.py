"""Networks as named arrays, whatever file holds them: a weight and a bias for each layer, ReLU between.

Names are those in use: ``0.weight``, ``0.bias`` (PyTorch), ``dense/kernel``, ``dense/bias`` (Keras, Flax),
``weight_1``, ``W1``, ``b1``, or none at all (``arr_0``, ``arr_1``, ..). Such a file says nothing of what is
between the layers: it is taken to be ReLU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.network.network import Network

__all__ = ["network_of_arrays"]

_NAME = re.compile(r"(?P<before>.*?)(?P<what>weights?|kernel|biases|bias|W|w|b)(?P<after>[_.:/]?\d*)")
_BIASES = ("bias", "biases", "b")


def network_of_arrays(arrays: Iterable[tuple[str, NDArray[Any]]], source: str) -> Network:
    """The network of weights and biases, paired by their names and put in the order of the numbers in them.

    A weight is ``(outputs, inputs)``; a *kernel*, or one that fits its bias only so, is ``(inputs, outputs)``.

    >>> arrays = [("b1", np.zeros(2)), ("W1", np.array([[1.0], [-1.0]])), ("W2", np.ones((1, 2)))]
    >>> network_of_arrays(arrays, "a file")
    Network(1 -> 2 -> 1)
    """
    given = list(arrays)
    for name, array in given:
        if array.dtype.kind not in "fiu" or array.ndim not in (1, 2) or not array.size:
            what = f"{array.dtype} of shape {array.shape}"
            raise InputError(f"{source}: `{name}` is {what}; a layer is a matrix of numbers and a list of them")
    found: dict[tuple[Any, ...], dict[str, tuple[str, NDArray[Any]]]] = {}
    for place, (name, array) in enumerate(given):
        key, part = _key(name, array, place, given)
        if part in found.setdefault(key, {}):
            raise InputError(f"{source}: `{found[key][part][0]}` and `{name}` are the {part} of one layer")
        found[key][part] = (name, array)
    layers = [_layer(found[key], source) for key in sorted(found)]
    if not layers:
        raise InputError(f"{source} holds no arrays")
    return Network(layers)


def _key(name: str, array: NDArray[Any], place: int, given: list[tuple[str, NDArray[Any]]]) -> tuple[Any, str]:
    """Which layer an array belongs to, as something to sort by, and whether it is the weight or the bias of it."""
    match = _NAME.fullmatch(name)
    if match is None:  # by place: a list of numbers belongs to the matrix before it
        matrix = sum(other.ndim == 2 for _, other in given[: place + 1])
        return (("", matrix),), "bias" if array.ndim == 1 else "weight"
    part = "bias" if match["what"] in _BIASES else "weight"
    return _natural(match["before"] + match["after"].lstrip("_.:/")), part


def _natural(name: str) -> tuple[tuple[str, int], ...]:
    """``layer10`` after ``layer9``.

    >>> sorted(["layer10.", "layer9."], key=_natural)
    ['layer9.', 'layer10.']
    """
    return tuple((word, int(number or -1)) for word, number in re.findall(r"(\D*)(\d*)", name)[:-1]) or ((name, -1),)


def _layer(parts: dict[str, tuple[str, NDArray[Any]]], source: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if "weight" not in parts:
        raise InputError(f"{source}: there is no weight for `{parts['bias'][0]}`")
    name, weight = parts["weight"]
    if weight.ndim != 2:
        raise InputError(f"{source}: `{name}` has shape {weight.shape}; a weight has rows and columns")
    bias = parts["bias"][1] if "bias" in parts else None
    turned = "kernel" in name or (bias is not None and len(bias) != len(weight) and len(bias) == weight.shape[1])
    weight = (weight.T if turned else weight).astype(np.float64)
    return weight, np.zeros(len(weight)) if bias is None else bias.astype(np.float64)
