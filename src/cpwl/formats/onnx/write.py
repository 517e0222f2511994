"""Networks as ONNX files, in one exact dialect.

The dialect is opset 13, IR 8, a chain of named `Gemm` (with `transB`, `alpha` and `beta` spelled out) and `Relu` nodes,
with all weights as little-endian raw initializers. Verifiers, MILP tools and code generators each refuse something
else: unnamed nodes, absent attributes, `MatMul` and `Add`, `Constant` or `Concat`.
"""

from __future__ import annotations

import os
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import helper

from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError
from cpwl.files import write_bytes
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network

__all__ = ["to_onnx"]

# A protobuf message, and so an ONNX file in one piece, ends at 2 GiB.
_LIMIT = 2**31 - 2**20
_NOTES = {
    "cpwl.arithmetic": "Large terms cancel: run in the precision of the file, with TF32 and other reduced "
    "precision off (NVIDIA_TF32_OVERRIDE=0; onnxruntime CUDA: use_tf32=0; torch: allow_tf32=False).",
}


def to_onnx(
    network: Network, path: str | os.PathLike[str], *, dtype: Dtype = "float64", batch: str | None = None
) -> None:
    """Write the network to the ONNX file `path`: input `X` of shape ``[1, n]``, output `Y` of ``[1, m]``.

    Parameters
    ----------
    network : Network
        The network.
    path : path-like
        The file; what is there is replaced when the new file is complete.
    dtype : {"float64", "float32"}
        The type of the weights, `X` and `Y`: "float64", or "float32", with every weight rounded once more.
    batch : str, optional
        A name such as "N" makes the first dimension of `X` and `Y` a free one of that name. The default, 1,
        is what verifiers and MILP tools expect.

    The same network gives the same bytes. The file appears whole or not at all. It records in its metadata
    that TF32 must be off.

    Raises
    ------
    InputError
        If the file cannot be written.
    LimitError
        If the dense weights would not fit into an ONNX file, or a weight is beyond the type.
    """
    check_argument(network, Network, "to_onnx")
    check_path(path, "to_onnx")
    check_dense_size(network, dtype, _LIMIT, "that an ONNX file can hold")
    if batch is not None and not (isinstance(batch, str) and batch):
        raise InputError(f'`batch` must be None or the name of a dimension such as "N", not {type(batch).__name__}')
    kind = onnx.TensorProto.FLOAT if dtype == "float32" else onnx.TensorProto.DOUBLE
    nodes, tensors, before = [], [], "X"
    for i, (weight, bias) in enumerate(dense_layers(network, dtype), start=1):
        tensors += [_tensor(f"W_{i}", weight, kind), _tensor(f"b_{i}", bias, kind)]
        last = i == len(network.layers)
        after = "Y" if last else f"Z_{i}"
        names = [before, f"W_{i}", f"b_{i}"]
        nodes.append(helper.make_node("Gemm", names, [after], f"Gemm_{i}", alpha=1.0, beta=1.0, transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [after], [f"A_{i}"], f"Relu_{i}"))
        before = f"A_{i}"
    rows = 1 if batch is None else batch
    x = helper.make_tensor_value_info("X", kind, [rows, network.inputs])
    y = helper.make_tensor_value_info("Y", kind, [rows, network.outputs])
    model = helper.make_model(
        helper.make_graph(nodes, "cpwl", [x], [y], tensors),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
        producer_name="cpwl",
    )
    helper.set_model_props(model, _NOTES)
    write_bytes(path, model.SerializeToString(deterministic=True))


def _tensor(name: str, array: NDArray[Any], kind: int) -> onnx.TensorProto:
    raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return helper.make_tensor(name, kind, array.shape, raw, raw=True)
