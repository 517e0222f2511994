"""safetensors: networks as named tensors in one file; the library itself is not needed.

The file is the length of a header (8 bytes, little-endian), the header in JSON, and the numbers. Names are those of
`to_torch`: ``0.weight``, ``0.bias``, ``2.weight``, .., so that PyTorch loads them into a `Sequential`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError
from cpwl.files import read_bytes, write_bytes
from cpwl.formats.arrays import network_of_arrays
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network

__all__ = ["from_safetensors", "to_safetensors"]

_LIMIT = 2**31 - 2**20
_HEADER = 100_000_000  # bytes, the format's own limit
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def to_safetensors(network: Network, path: str | os.PathLike[str], *, dtype: Dtype = "float64") -> None:
    """Write the network as tensors ``0.weight``, ``0.bias``, ``2.weight``, .. as `to_torch` names them.

    Parameters
    ----------
    network : Network
        The network.
    path : path-like
        The file; what is there is replaced when the new file is complete.
    dtype : {"float64", "float32"}
        The type of the tensors, each number rounded to nearest.
    """
    check_argument(network, Network, "to_safetensors")
    check_path(path, "to_safetensors")
    check_dense_size(network, dtype, _LIMIT, "that we write")
    kind = "F64" if dtype == "float64" else "F32"
    header: dict[str, Any] = {"__metadata__": {"format": "pt", "cpwl": "ReLU between the layers"}}
    parts, at = [], 0
    for i, pair in enumerate(dense_layers(network, dtype)):
        for part, array in zip(("weight", "bias"), pair, strict=True):
            raw = np.ascontiguousarray(array).astype(_KINDS[kind]).tobytes()
            header[f"{2 * i}.{part}"] = {"dtype": kind, "shape": array.shape, "data_offsets": [at, at + len(raw)]}
            parts.append(raw)
            at += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    write_bytes(path, len(text).to_bytes(8, "little") + text + b"".join(parts))


def from_safetensors(path: str | os.PathLike[str]) -> Network:
    """The network in a safetensors file: a weight and a bias for each layer, ReLU between.

    Numbers of type F64, F32, F16 and BF16 are taken at their exact value.

    Raises
    ------
    InputError
        If the file cannot be read, or its tensors do not make layers.
    """
    check_path(path, "from_safetensors")
    name, data = os.fsdecode(path), read_bytes(path)
    try:
        return network_of_arrays(list(_tensors(data)), name)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, AttributeError) as error:
        raise InputError(f"{name} is not a safetensors file: {error}", path=name) from None


def _tensors(data: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(len(data) - 8, _HEADER):
        raise ValueError("its header is longer than the file")
    header = json.loads(data[8 : 8 + size])
    body = memoryview(data)[8 + size :]
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        shape = tuple(entry["shape"])
        kind = _KINDS.get(entry["dtype"])
        if kind is None:
            raise ValueError(f"`{name}` has type {entry['dtype']}; those read are {', '.join(_KINDS)}")
        if not (all(isinstance(v, int) and v >= 0 for v in (first, last, *shape)) and first <= last <= len(body)):
            raise ValueError(f"`{name}` is not inside the file")
        flat = np.frombuffer(body[first:last], dtype=kind)
        if entry["dtype"] == "BF16":  # the upper half of a float32
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        yield name, flat.reshape(shape)
