"""Networks as ONNX files, in one exact dialect.

The dialect is opset 13, IR 8, a chain of named `Gemm` (with `transB`, `alpha` and `beta` spelled out) and `Relu` nodes,
with all weights as little-endian raw initializers. Verifiers, MILP tools and code generators each refuse something
else: unnamed nodes, absent attributes, `MatMul` and `Add`, `Constant` or `Concat`. Only layers that are too large as
dense matrices are split, with `Gather` and `Concat`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from cpwl.compiler import Compiled, held_network
from cpwl.doors import check_choice, check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import write_bytes
from cpwl.io.weights import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network, rounded

__all__ = ["Layout", "onnx_bytes", "split_size", "to_onnx"]

# Layers that would be too large as dense matrices: split by rows, each part reading only the columns that it needs.
#
# A part is `Gather` (the columns that its rows read), then a small `Gemm`; `Concat` puts the parts together. Rows that
# read nearly the same columns belong together: they are taken in the order of the first column that they read, and the
# outputs are put back in order by the next layer's columns.


_ROWS = 64  # of a part


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some rows of a layer: the columns that they read, and the dense matrix on these."""

    columns: NDArray[np.int64]
    weight: NDArray[np.float64]
    bias: NDArray[np.float64]


def split_layers(network: Network) -> Iterator[list[Part]]:
    """The parts of each layer, in the order in which their outputs are put together."""
    place = np.arange(network.inputs, dtype=np.int64)  # where each output of the layer before is now
    for number, (weight, bias) in enumerate(network.layers, start=1):
        last = number == len(network.layers)
        order = np.arange(len(bias), dtype=np.int64) if last else _order(weight)
        moved = weight[order]
        parts = []
        for start in range(0, len(bias), _ROWS):
            rows = moved[start : start + _ROWS]
            read = np.unique(rows.indices)
            # A part that reads nothing still needs a column, to be multiplied by 0.
            read = read if len(read) else np.zeros(1, dtype=read.dtype)
            parts.append(Part(place[read], rows[:, read].toarray(), bias[order[start : start + _ROWS]]))
        yield parts
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))


def split_size(network: Network, itemsize: int) -> int:
    """The bytes of all parts, without making them."""
    total = 0
    for number, (weight, bias) in enumerate(network.layers, start=1):
        order = np.arange(len(bias)) if number == len(network.layers) else _order(weight)
        moved = weight[order]
        for start in range(0, len(bias), _ROWS):
            rows = moved[start : start + _ROWS]
            columns = max(len(np.unique(rows.indices)), 1)
            total += rows.shape[0] * (columns + 1) * itemsize + 8 * columns
    return total


def _order(weight: Any) -> NDArray[np.int64]:
    """Rows by the first column that they read; those that read nothing last."""
    length = np.diff(weight.indptr)
    first = np.full(len(length), weight.shape[1], dtype=np.int64)
    first[length > 0] = weight.indices[weight.indptr[:-1][length > 0]]
    return np.argsort(first, kind="stable").astype(np.int64)


# A protobuf message, and so an ONNX file in one piece, ends at 2 GiB.
_LIMIT = 2**31 - 2**20
Layout: TypeAlias = Literal["auto", "dense", "split"]

_NOTES = {
    "cpwl.arithmetic": "Large terms cancel: run in the precision of the file, with TF32 and other reduced "
    "precision off (NVIDIA_TF32_OVERRIDE=0; onnxruntime CUDA: use_tf32=0; torch: allow_tf32=False).",
}


def to_onnx(
    network: Network | Compiled,
    path: str | os.PathLike[str],
    *,
    dtype: Dtype = "float64",
    batch: str | None = None,
    layout: Layout = "auto",
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write the network to the ONNX file `path`: input `X` of shape ``[1, n]``, output `Y` of ``[1, m]``.

    Parameters
    ----------
    network : Network or Compiled
        The network, or the result of `compile`, whose `metadata` then goes into the file.
    path : path-like
        The file; what is there is replaced when the new file is complete.
    dtype : {"float64", "float32"}
        The type of the weights, `X` and `Y`: "float64", or "float32", with every weight rounded once more.
    batch : str, optional
        A name such as "N" makes the first dimension of `X` and `Y` a free one of that name. The default, 1,
        is what verifiers and MILP tools expect.
    layout : {"auto", "dense", "split"}
        "dense" is one `Gemm` for each layer. "split" cuts a layer by rows into parts that read only the columns that
        they need (`Gather`, `Gemm`, `Concat`). "auto" splits what would not fit into a file when dense.
    metadata : mapping, optional
        Names and texts to be kept in the file, such as `Compiled.metadata`: the domain, the pieces, the hash of a
        proof.

    Notes
    -----
    The same network gives the same bytes. The file appears whole or not at all. It records in its metadata
    that TF32 must be off.

    Raises
    ------
    InputError
        If the file cannot be written.
    LimitError
        If the weights would not fit into an ONNX file, or a weight is beyond the type.
    """
    if metadata is None and isinstance(network, Compiled):
        metadata = network.metadata
    network = held_network(network, "to_onnx")
    check_path(path, "to_onnx")
    check_choice(layout, ("auto", "dense", "split"), "layout")
    if batch is not None and not (isinstance(batch, str) and batch):
        raise InputError(f'`batch` must be None or the name of a dimension such as "N", not {type(batch).__name__}')
    write_bytes(path, onnx_bytes(network, dtype=dtype, batch=batch, layout=layout, metadata=metadata))


def onnx_bytes(
    network: Network,
    *,
    dtype: Dtype = "float64",
    batch: str | None = None,
    layout: Layout = "auto",
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """The content of the file that `to_onnx` writes."""
    notes = {**_NOTES, **_checked(metadata)}
    check_choice(dtype, ("float32", "float64"), "dtype")
    kind = onnx.TensorProto.FLOAT if dtype == "float32" else onnx.TensorProto.DOUBLE
    nodes, tensors = _split(network, dtype, kind) if _is_split(network, dtype, layout) else _dense(network, dtype, kind)
    rows = 1 if batch is None else batch
    x = helper.make_tensor_value_info("X", kind, [rows, network.inputs])
    y = helper.make_tensor_value_info("Y", kind, [rows, network.outputs])
    model = helper.make_model(
        helper.make_graph(nodes, "cpwl", [x], [y], tensors),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
        producer_name="cpwl",
    )
    helper.set_model_props(model, notes)
    return bytes(model.SerializeToString(deterministic=True))


def _checked(metadata: Mapping[str, str] | None) -> dict[str, str]:
    found = {} if metadata is None else dict(metadata)
    if not all(isinstance(word, str) for pair in found.items() for word in pair):
        raise InputError("`metadata` must map names to texts")
    return found


def _is_split(network: Network, dtype: Dtype, layout: Layout) -> bool:
    """Whether the layers are written in parts; `LimitError` if they fit in neither way."""
    if layout != "split":
        try:
            check_dense_size(network, dtype, _LIMIT, "that an ONNX file can hold")
        except LimitError:
            if layout == "dense":
                raise
        else:
            return False
    size = split_size(network, 4 if dtype == "float32" else 8)
    if size > _LIMIT:
        raise LimitError(f"the network would take {size / 2**30:.1f} GiB in parts, more than an ONNX file can hold")
    return True


def _dense(network: Network, dtype: Dtype, kind: int) -> tuple[list[Any], list[Any]]:
    """One `Gemm` for each layer."""
    nodes, tensors, before = [], [], "X"
    for i, (weight, bias) in enumerate(dense_layers(network, dtype), start=1):
        tensors += [_tensor(f"W_{i}", weight, kind), _tensor(f"b_{i}", bias, kind)]
        last = i == len(network.layers)
        after = "Y" if last else f"Z_{i}"
        nodes.append(_gemm(str(i), [before, f"W_{i}", f"b_{i}"], after))
        if not last:
            nodes.append(helper.make_node("Relu", [after], [f"A_{i}"], f"Relu_{i}"))
        before = f"A_{i}"
    return nodes, tensors


def _split(network: Network, dtype: Dtype, kind: int) -> tuple[list[Any], list[Any]]:
    """Layers in parts: the columns that a part reads, a `Gemm` on these, and all parts put together."""
    nodes, tensors, before = [], [], "X"
    for i, parts in enumerate(split_layers(rounded(network, dtype)), start=1):
        outputs = []
        for k, part in enumerate(parts, start=1):
            name = f"{i}_{k}"
            tensors += [
                _tensor(f"I_{name}", part.columns, onnx.TensorProto.INT64),
                _tensor(f"W_{name}", part.weight.astype(dtype), kind),
                _tensor(f"b_{name}", part.bias.astype(dtype), kind),
            ]
            nodes.append(helper.make_node("Gather", [before, f"I_{name}"], [f"G_{name}"], f"Gather_{name}", axis=1))
            nodes.append(_gemm(name, [f"G_{name}", f"W_{name}", f"b_{name}"], f"P_{name}"))
            outputs.append(f"P_{name}")
        last = i == len(network.layers)
        after = "Y" if last else f"Z_{i}"
        nodes.append(helper.make_node("Concat", outputs, [after], f"Concat_{i}", axis=1))
        if not last:
            nodes.append(helper.make_node("Relu", [after], [f"A_{i}"], f"Relu_{i}"))
        before = f"A_{i}"
    return nodes, tensors


def _gemm(name: str, inputs: list[str], after: str) -> Any:
    return helper.make_node("Gemm", inputs, [after], f"Gemm_{name}", alpha=1.0, beta=1.0, transB=1)


def _tensor(name: str, array: NDArray[Any], kind: int) -> onnx.TensorProto:
    raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return helper.make_tensor(name, kind, array.shape, raw, raw=True)
