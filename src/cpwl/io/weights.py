"""Networks as arrays of weights: lists, .npz and .safetensors files, JAX and scikit-learn, in and out.

Neither library is needed to read a file, and nothing in a file is run.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.compiled import Compiled, held_network
from cpwl.documents.read import unique_names
from cpwl.doors import check_choice, check_list, check_path, needed
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import unmasked
from cpwl.files import read_bytes, reading, write_bytes
from cpwl.io.formula import natural_key
from cpwl.network.jit import jax_function
from cpwl.network.network import Network, rounded
from cpwl.network.program import Tape, network_of

# Dense layers on the way out: consumers want full matrices, so their size is checked first.


Dtype: TypeAlias = Literal["float32", "float64"]
DENSE = 4 * 2**30  # bytes of dense layers that are made


def check_dense_size(
    network: Network, dtype: str, limit: int, consumer: str, known: Sequence[str] = ("float32", "float64")
) -> None:
    """Refuse a network whose dense weights and biases would take more than `limit` bytes."""
    check_choice(dtype, tuple(known), "dtype")
    numbers = sum(weight.shape[0] * (weight.shape[1] + 1) for weight, _ in network.layers)
    size = numbers * np.dtype(dtype).itemsize
    if size > limit:
        sizes = f"{size / 2**30:.1f} GiB as dense {dtype}, more than the {limit / 2**30:.0f} GiB {consumer}"
        nonzeros = f"only {network.sizes.nonzeros:,} of its weights are nonzero"
        raise LimitError(f"the network would take {sizes}; {nonzeros}", bytes=size, limit=limit)


def dense_layers(network: Network, dtype: Dtype) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The layers as dense arrays of `dtype`, each number rounded to nearest; one too large is refused."""
    for weight, bias in rounded(network, dtype).layers:
        yield weight.toarray().astype(dtype, copy=False), bias.astype(dtype, copy=False)


# Layers from matrices and vectors, in a list or under names.


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
        raise InputError(
            f"`weights` must have a matrix and a vector for each layer, in turn; it has {len(weights)} entries"
        )
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
        part = found["part"].lower()
        key = natural_key(f"{found['layer']}{found['number']}")
        kind = "bias" if part[0] == "b" else "weight"
        if kind in layers.setdefault(key, {}):
            raise InputError(f"`{name[:80]}` is a second {kind} of its layer", name=name)
        layers[key][kind] = tensor.T if part == "kernel" else tensor
    flat: list[NDArray[Any]] = []
    for key in sorted(layers):
        if "weight" not in layers[key]:
            raise InputError("a layer has a bias but no weight: this is not a plain chain of layers")
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


_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
_HEADER = 10**8  # bytes, as the format allows
_CONSTANT = 2**26


def from_safetensors(path: str | os.PathLike[str]) -> Network:
    """The network of the weights in a .safetensors file: ``0.weight``, ``0.bias``, .., with ReLU between layers.

    See `from_weights` about lists; names and orientations are those of PyTorch, or `kernel` as in Flax. Weights are
    taken at their exact value, float16 and bfloat16 included.
    """
    check_path(path, "from_safetensors")
    with reading(path):
        return from_named_weights(_tensors(read_bytes(path)))


def from_npz(path: str | os.PathLike[str]) -> Network:
    """The network of the arrays in a NumPy .npz file, under the names that `from_safetensors` reads."""
    check_path(path, "from_npz")
    with reading(path):
        return from_named_weights(_arrays(read_bytes(path)))


def _tensors(raw: bytes) -> dict[str, NDArray[Any]]:
    length = struct.unpack("<Q", raw[:8])[0] if len(raw) >= 8 else -1
    if not 2 <= length <= min(_HEADER, len(raw) - 8):
        raise InputError("this is not a .safetensors file, or it is cut short")
    try:
        header = json.loads(raw[8 : 8 + length].decode("utf-8"), object_pairs_hook=unique_names)
    except InputError as error:
        raise InputError(f"the header of this .safetensors file {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError("the header of this .safetensors file is damaged") from error
    if not isinstance(header, dict):
        raise InputError("the header of this .safetensors file is damaged")
    data = memoryview(raw)[8 + length :]
    return {name: _tensor(name, entry, data) for name, entry in header.items() if name != "__metadata__"}


def _tensor(name: str, entry: Any, data: memoryview) -> NDArray[Any]:
    kind = entry.get("dtype") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InputError(f"tensor `{name[:80]}` has an unsupported type; supported are {', '.join(_TYPES)}")
    shape, place = entry.get("shape"), entry.get("data_offsets")
    if not _is_counts(shape) or not _is_counts(place) or len(place) != 2 or len(shape) > 8:
        raise InputError(f"the header has no valid entry for tensor `{name[:80]}`")
    dtype = np.dtype(_TYPES[kind])
    size = dtype.itemsize
    for length in shape:
        size *= length
    if place[1] - place[0] != size or place[1] > len(data) or (size == 0 and max(shape) > len(data)):
        raise InputError(f"tensor `{name[:80]}` does not fit the data in the file")
    flat = np.frombuffer(data[place[0] : place[1]], dtype=dtype)
    if kind == "BF16":  # the upper half of a float32
        flat = (flat.astype(np.uint32) << 16).view(np.float32)
    return flat.reshape(shape)


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(v) is int and 0 <= v < 2**40 for v in value)


def _arrays(raw: bytes) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = [entry.filename.removesuffix(".npy") for entry in archive.infolist()]
            twice, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 1))
            if times > 1:
                raise InputError(f"the file contains the array `{twice[:80]}` {times} times")
            size = sum(entry.file_size for entry in archive.infolist())
            if size > _CONSTANT + 8 * len(raw):
                raise LimitError(
                    f"this file expands to {size:,} bytes; save it with `numpy.savez`, without compression"
                )
        with np.load(io.BytesIO(raw), allow_pickle=False) as found:
            return {name: np.asarray(found[name]) for name in found.files}
    except (InputError, LimitError):
        raise
    except Exception as error:  # zipfile, zlib and NumPy each raise classes of their own
        raise InputError(f"this is not a .npz file, or it is damaged: {str(error)[:200]}") from error


def _named_arrays(network: Network, dtype: Dtype) -> Iterator[tuple[str, NDArray[Any]]]:
    """Weights and biases under the names that they have in a `Sequential`, with a ReLU after each layer."""
    for i, pair in enumerate(dense_layers(network, dtype)):
        for part, array in zip(("weight", "bias"), pair, strict=True):
            yield f"{2 * i}.{part}", np.ascontiguousarray(array)


# NumPy's ``.npz``: networks out as arrays, under the names that `to_torch` has: ``0.weight``, ``0.bias``, ..


def to_npz(network: Network | Compiled, path: str | os.PathLike[str], *, dtype: Dtype = "float64") -> None:
    """Write the network as dense arrays ``0.weight`` ``(outputs, inputs)``, ``0.bias``, ``2.weight``, ..

    Parameters
    ----------
    network : Network
        The network.
    path : path-like
        The file. An existing file is replaced when the new one is complete.
    dtype : {"float64", "float32"}
        The type of the arrays, each number rounded to nearest.
    """
    network = held_network(network, "to_npz")
    check_path(path, "to_npz")
    check_dense_size(network, dtype, DENSE, "that we write")
    made = io.BytesIO()
    np.savez(made, **dict(_named_arrays(network, dtype)))  # type: ignore[arg-type]  # its dates are fixed: the same bytes
    write_bytes(path, made.getvalue())


# safetensors: networks out as named tensors in one file; the library itself is not needed.
#
# The file is the length of a header (8 bytes, little-endian), the header in JSON, and the numbers. Names are those of
# `to_torch`: ``0.weight``, ``0.bias``, ``2.weight``, .., so that PyTorch loads them into a `Sequential`.


_SAFETENSORS_LIMIT = 2**31 - 2**20


def to_safetensors(network: Network | Compiled, path: str | os.PathLike[str], *, dtype: Dtype = "float64") -> None:
    """Write the network as tensors ``0.weight``, ``0.bias``, ``2.weight``, .. as `to_torch` names them.

    The arguments are those of `to_npz`.
    """
    network = held_network(network, "to_safetensors")
    check_path(path, "to_safetensors")
    check_dense_size(network, dtype, _SAFETENSORS_LIMIT, "that we write")
    kind = "F64" if dtype == "float64" else "F32"
    header: dict[str, Any] = {"__metadata__": {"format": "pt", "cpwl": "ReLU between the layers"}}
    parts, at = [], 0
    for name, array in _named_arrays(network, dtype):
        parts.append(array.astype(_TYPES[kind]).tobytes())
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [at, at := at + len(parts[-1])]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_bytes(path, len(text).to_bytes(8, "little") + text + b"".join(parts))


# JAX: networks out as pure functions.


def to_jax(network: Network | Compiled, *, dtype: Dtype = "float32") -> Callable[[Any], Any]:
    """The network as a pure function of arrays ``(..., n) -> (..., m)``, to be jitted, mapped and differentiated.

    Products are computed in the full precision of the type, on accelerators as well.

    Parameters
    ----------
    network : Network
        The network.
    dtype : {"float32", "float64"}
        The type of the weights, each rounded to nearest. float64 needs ``jax.config.update("jax_enable_x64", True)``.

    Returns
    -------
    callable
        A function of one array.
    """
    needed("jax", "`to_jax`")
    network = held_network(network, "to_jax")
    check_dense_size(network, dtype, DENSE, "that we build")
    return jax_function(list(dense_layers(network, dtype)), dtype)


# scikit-learn's `MLPRegressor` and `MLPClassifier`, by their weights; scikit-learn itself is not needed.


def from_sklearn(model: Any) -> Network:
    """The network of a fitted `MLPRegressor`, or the logits of an `MLPClassifier`; activation "relu" or "identity".

    Logits are the outputs of the last layer before "softmax" or "logistic": the largest one is the predicted class; a
    classifier of two classes has one, which is positive for the second class. Only the attributes `coefs_`,
    `intercepts_`, `activation` and `out_activation_` are read. Weights count with their exact values; layers
    without an activation between them become one, in rationals.

    Parameters
    ----------
    model : MLPRegressor or MLPClassifier
        The fitted model.

    Returns
    -------
    Network
        A plain chain of affine maps with ReLU between.

    Examples
    --------
    >>> class Fitted:
    ...     activation, out_activation_ = "relu", "identity"
    ...     coefs_ = [[[1.0, -1.0]], [[1.0], [1.0]]]
    ...     intercepts_ = [[0.0, 0.0], [0.0]]
    >>> from_sklearn(Fitted())([[-3.0]])
    array([[3.]])
    """
    kind = type(model).__name__
    if not hasattr(model, "coefs_") or not hasattr(model, "intercepts_"):
        raise InputError(f"a {kind} without `coefs_` and `intercepts_` is not a fitted MLP; call `.fit` first")
    activation, last = getattr(model, "activation", "relu"), getattr(model, "out_activation_", "identity")
    if activation not in ("relu", "identity"):
        raise InputError(f'the activation of this {kind} is "{activation}"; only "relu" and "identity" are read')
    if last in ("softmax", "logistic"):
        last = "identity"
    if last not in ("relu", "identity"):
        raise InputError(f'this {kind} ends with "{last}", which is not piecewise linear and has no logits')
    pairs = list(zip(model.coefs_, model.intercepts_, strict=False))
    if not pairs or len(model.coefs_) != len(model.intercepts_):
        counts = f"{len(model.coefs_)} matrices and {len(model.intercepts_)} offsets"
        raise InputError(f"this {kind} has {counts}; there must be one of each for every layer")
    layers = [(_weight(coefficients).T, np.asarray(offset, dtype=np.float64)) for coefficients, offset in pairs]
    network = Network(layers)  # checks that the shapes fit
    return network if activation == "relu" and last == "identity" else _without(network, activation, last)


def _weight(coefficients: Any) -> Any:
    weight = np.asarray(coefficients, dtype=np.float64)
    if weight.ndim != 2:
        raise InputError(f"`coefs_` must hold matrices, not an array of shape {weight.shape}")
    return weight


def _without(network: Network, activation: str, last: str) -> Network:
    """The network with other activations than ReLU between all layers."""
    tape = Tape(network.inputs)
    x = tape.input((network.inputs,))
    for i, (weight, bias) in enumerate(network.layers):
        x = x.linear(weight, (len(bias),)).plus(bias)
        if (last if i == len(network.layers) - 1 else activation) == "relu":
            x = tape.relu(x)
    return network_of(tape, x)
