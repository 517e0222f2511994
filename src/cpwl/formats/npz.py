"""NumPy's ``.npz``: networks out as arrays, under the names that `to_torch` has: ``0.weight``, ``0.bias``, .."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_path
from cpwl.files import write_bytes
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network

__all__ = ["to_npz"]

_LIMIT = 4 * 2**30


def to_npz(network: Network, path: str | os.PathLike[str], *, dtype: Dtype = "float64") -> None:
    """Write the network as dense arrays ``0.weight`` ``(outputs, inputs)``, ``0.bias``, ``2.weight``, ..

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
    for i, (weight, bias) in enumerate(dense_layers(network, dtype)):
        arrays |= {f"{2 * i}.weight": weight, f"{2 * i}.bias": bias}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as file:
        for name, array in arrays.items():
            one = io.BytesIO()
            np.lib.format.write_array(one, np.ascontiguousarray(array), allow_pickle=False)
            # The date is fixed: the same network gives the same bytes.
            file.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), one.getvalue())
    write_bytes(path, made.getvalue())
