"""safetensors: networks out as named tensors in one file; the library itself is not needed.

The file is the length of a header (8 bytes, little-endian), the header in JSON, and the numbers. Names are those of
`to_torch`: ``0.weight``, ``0.bias``, ``2.weight``, .., so that PyTorch loads them into a `Sequential`.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from cpwl.doors import check_argument, check_path
from cpwl.files import write_bytes
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network

__all__ = ["to_safetensors"]

_LIMIT = 2**31 - 2**20
_KINDS = {"F64": "<f8", "F32": "<f4"}


def to_safetensors(network: Network, path: str | os.PathLike[str], *, dtype: Dtype = "float64") -> None:
    """Write the network as tensors ``0.weight``, ``0.bias``, ``2.weight``, .. as `to_torch` names them.

    The arguments are those of `to_npz`.
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
