"""NumPy's ``.npz``: networks as arrays ``weight_1``, ``bias_1``, ``weight_2``, .. in one file."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import read_bytes, write_bytes
from cpwl.formats.arrays import network_of_arrays
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network

__all__ = ["from_npz", "to_npz"]

_LIMIT = 4 * 2**30
_CONSTANT, _FACTOR = 2**26, 8  # bytes that a file may unfold to: so many, and so many for each of its own


def to_npz(network: Network, path: str | os.PathLike[str], *, dtype: Dtype = "float64") -> None:
    """Write the network as dense arrays ``weight_1`` ``(outputs, inputs)``, ``bias_1``, ``weight_2``, ..

    Parameters
    ----------
    network : Network
        The network.
    path : path-like
        The file; what is there is replaced when the new file is complete.
    dtype : {"float64", "float32"}
        The type of the arrays, each number rounded to nearest.
    """
    check_argument(network, Network, "to_npz")
    check_path(path, "to_npz")
    check_dense_size(network, dtype, _LIMIT, "that we write")
    arrays: dict[str, NDArray[Any]] = {}
    for i, (weight, bias) in enumerate(dense_layers(network, dtype), start=1):
        arrays |= {f"weight_{i}": weight, f"bias_{i}": bias}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as file:
        for name, array in arrays.items():
            one = io.BytesIO()
            np.lib.format.write_array(one, np.ascontiguousarray(array), allow_pickle=False)
            # The date is fixed: the same network gives the same bytes.
            file.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), one.getvalue())
    write_bytes(path, made.getvalue())


def from_npz(path: str | os.PathLike[str]) -> Network:
    """The network in an ``.npz`` file: a weight and a bias for each layer, ReLU between; names as in `arrays`.

    Raises
    ------
    InputError
        If the file cannot be read, or its arrays do not make layers.
    LimitError
        If it unfolds to far more than it is.
    """
    check_path(path, "from_npz")
    name, data = os.fsdecode(path), read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            size = sum(entry.file_size for entry in file.infolist())
            if size > _CONSTANT + _FACTOR * len(data):
                raise LimitError(f"{name} unfolds to {size / 2**20:,.0f} MiB, far more than it is", path=name)
            arrays = [(entry.filename.removesuffix(".npy"), _array(file.read(entry))) for entry in file.infolist()]
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, KeyError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{name} is not an .npz file of arrays of numbers: {error}", path=name) from None
    return network_of_arrays(arrays, name)


def _array(data: bytes) -> NDArray[Any]:
    """One array; the header must not promise more than there is."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ValueError(f"an array of version {version}")
    shape, _, dtype = read(stream)
    if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > len(data):
        raise ValueError("an array of Python objects, or one that is cut off")
    found: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return found
