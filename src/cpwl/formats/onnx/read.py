"""Networks from ONNX files: whatever keeps a function piecewise linear, taken at its exact value."""

from __future__ import annotations

import os
from typing import Any

import onnx
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError
from cpwl.files import read_bytes
from cpwl.formats.onnx.graph import compute
from cpwl.limits import check_memory
from cpwl.network.network import Network, run_in
from cpwl.network.program import network_of

__all__ = ["from_onnx"]


def from_onnx(path: str | os.PathLike[str]) -> Network:
    """The network in the ONNX file `path`, from its one input to its one output, each taken entry by entry.

    Reads what keeps a function piecewise linear, with static shapes: products with constants (`Gemm`, `MatMul`,
    `Conv`, `AveragePool`, `BatchNormalization`), sums, skip links included, `Relu`, `LeakyRelu`, `PRelu`, `Abs`,
    `Clip`, `Max`, `Min`, `MaxPool`, and whatever only moves entries about (`Reshape`, `Transpose`, `Concat`,
    `Split`, ...). An open first dimension is that of a batch, and is taken to be 1. Weights are taken at their
    exact value: the network is the function that the file writes down, in exact arithmetic. What is proved of it is
    true of the file up to the rounding of the file's own operations; `Network.evaluated_in` says where that is
    the rounding of the layers of the network.

    Parameters
    ----------
    path : path-like
        The file. Weights in files of their own are read from beside it.

    Returns
    -------
    Network
        A plain chain of affine maps with ReLU between.

    Raises
    ------
    InputError
        If the file is damaged, or has an operation that we do not read; with the name and operator of the node.
    LimitError
        If a tensor is too large for us.
    """
    check_path(path, "from_onnx")
    name = os.fspath(path)
    with within_float64():
        found = compute(_load(name), name)
        return run_in(network_of(found.tape, found.output), found.runs_in)


def _load(path: str) -> onnx.ModelProto:
    raw = read_bytes(path)
    try:
        model = onnx.load_model_from_string(raw)
    except Exception as error:  # protobuf raises classes of its own, which change between versions
        raise InputError(f"`{path}` is not an ONNX model, or is damaged: {error}", path=path) from error
    if not model.opset_import or not model.graph.node:
        raise InputError(f"`{path}` is not an ONNX model, or is cut short", path=path)
    attributes = [attribute for node in model.graph.node for attribute in node.attribute]
    held = [tensor for attribute in attributes for tensor in (attribute.t, *attribute.tensors)]
    outside = [tensor for tensor in (*model.graph.initializer, *held) if uses_external_data(tensor)]
    if outside:
        _load_outside(model, outside, path)
    return model


def _load_outside(model: onnx.ModelProto, tensors: list[Any], path: str) -> None:
    """Reads the weights that are in files of their own beside the model."""
    for tensor in tensors:
        keys = [entry.key for entry in tensor.external_data]
        if len(set(keys)) < len(keys) or tensor.HasField("raw_data"):
            raise InputError(f"`{path}` says twice what the weights `{tensor.name}` are", path=path)
    size = sum(_bytes(tensor) for tensor in tensors)
    check_memory(size, f"the weights of `{path}` that are in files of their own", "Use a machine with more memory.")
    try:
        load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
    except Exception as error:  # whatever onnx raises for names that lead elsewhere, and for files that are not there
        raise InputError(f"the weights of `{path}` cannot be read: {error}", path=path) from error


def _bytes(tensor: onnx.TensorProto) -> int:
    said = next((entry.value for entry in tensor.external_data if entry.key == "length"), "")
    return int(said) if said.isascii() and said.isdigit() and len(said) < 30 else 0
