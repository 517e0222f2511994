"""Weights in .safetensors and .npz files; neither library is needed, and nothing in a file is run."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.schema import unique_names
from cpwl.doors import check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import read_bytes
from cpwl.network.network import Network
from cpwl.sources.text.lines import reading
from cpwl.sources.weights.named import from_named_weights

__all__ = ["from_npz", "from_safetensors"]

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
        raw = read_bytes(path)
        return from_named_weights(_arrays(raw))


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
        raise InputError(f"tensor `{name[:80]}` has a type that we do not read; we read {', '.join(_TYPES)}")
    shape, place = entry.get("shape"), entry.get("data_offsets")
    if not _is_counts(shape) or not _is_counts(place) or len(place) != 2 or len(shape) > 8:
        raise InputError(f"the header says nothing proper about tensor `{name[:80]}`")
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
                raise InputError(f"the array `{twice[:80]}` is there {times} times")
            size = sum(entry.file_size for entry in archive.infolist())
            if size > _CONSTANT + 8 * len(raw):
                raise LimitError(
                    f"this file unfolds to {size:,} bytes; save it with `numpy.savez`, without compression"
                )
        with np.load(io.BytesIO(raw), allow_pickle=False) as found:
            return {name: np.asarray(found[name]) for name in found.files}
    except (InputError, LimitError):
        raise
    except Exception as error:  # zipfile, zlib and NumPy each raise classes of their own
        raise InputError(f"this is not a .npz file, or it is damaged: {str(error)[:200]}") from error
