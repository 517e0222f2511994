"""Layers from matrices and vectors, in a list or under names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_choice, check_list
from cpwl.errors import InputError
from cpwl.exact.rational import unmasked
from cpwl.network.network import Network
from cpwl.sources.natural import natural_key

__all__ = ["from_named_weights", "from_weights"]

_MATRIX = ("weight", "kernel", "w")
_VECTOR = ("bias", "b")
_NAME = re.compile(r"^(?P<layer>.*?)(?P<part>weights?|kernel|bias|biases|[wb])(?P<number>_?\d*)(?::0)?$", re.IGNORECASE)


def from_weights(weights: Sequence[Any], *, layout: str = "keras") -> Network:
    """The network of a list ``[W1, b1, W2, b2, ..]``, with ReLU between any two layers and none at the end.

    Parameters
    ----------
    weights
        Matrices and vectors in turn, as Keras' ``model.get_weights()`` gives them for dense layers with biases.
    layout
        "keras": matrices are (inputs, outputs); "torch": (outputs, inputs).

    Returns
    -------
    Network
        The network; numbers are taken at their exact value.

    >>> from_weights([[[1, -1]], [0, 0], [[1], [1]], [0]])([[-3.0]])
    array([[3.]])
    """
    check_list(weights, "weights")
    check_choice(layout, ("keras", "torch"), "layout")
    if len(weights) == 0 or len(weights) % 2:
        raise InputError(f"`weights` must have a matrix and a vector a layer, in turn; it has {len(weights)} entries")
    layers = []
    for number, (matrix, vector) in enumerate(zip(weights[::2], weights[1::2], strict=True), start=1):
        weight, bias = _array(matrix, f"W{number}"), _array(vector, f"b{number}")
        if weight.ndim != 2 or bias.ndim != 1:
            shapes = f"shapes {weight.shape} and {bias.shape}"
            raise InputError(f"layer {number} must be a matrix and a vector, not arrays of {shapes}", layer=number)
        layers.append((weight.T if layout == "keras" else weight, bias))
    return Network(layers)


def from_named_weights(tensors: Mapping[str, NDArray[Any]]) -> Network:
    """The network of matrices and vectors under names such as ``0.weight``, ``0.bias``, ``2.weight``, ..

    Layers are in the order of their names, numbers in them by size, with ReLU between any two and none at the end: a
    file of weights does not say so itself. A `weight` is (outputs, inputs) as in PyTorch, a `kernel` (inputs, outputs)
    as in Keras and Flax. A layer without a bias has none.
    """
    layers: dict[tuple[Any, ...], dict[str, NDArray[Any]]] = {}
    for name, tensor in tensors.items():
        found = _NAME.match(name)
        if found is None:
            raise InputError(f"`{name[:80]}` is neither the weight nor the bias of a layer", name=name)
        part = found["part"].lower().rstrip("s") if found["part"].lower() != "bias" else "bias"
        part = {"biase": "bias", "bia": "bias"}.get(part, part)
        key = natural_key(f"{found['layer']}{found['number']}")
        kind = "bias" if part in _VECTOR else "weight"
        if kind in layers.setdefault(key, {}):
            raise InputError(f"`{name[:80]}` is one more {kind} of its layer", name=name)
        layers[key][kind] = tensor.T if part == "kernel" else tensor
    flat: list[NDArray[Any]] = []
    for key in sorted(layers):
        if "weight" not in layers[key]:
            raise InputError("a layer has a bias and no weight: this is no plain chain of layers")
        weight = layers[key]["weight"]
        flat += [weight, layers[key].get("bias", np.zeros(weight.shape[:1]))]
    if not flat:
        raise InputError("there are no weights")
    return from_weights(flat, layout="torch")


def _array(values: Any, name: str) -> NDArray[Any]:
    array = np.asarray(unmasked(values, name))
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return np.asarray(values, dtype=object) if array.dtype.kind in "OUS" else array
