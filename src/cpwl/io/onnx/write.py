"""Networks as ONNX files, in one exact dialect.

The dialect is opset 13, IR 8, a chain of named `Gemm` (with `transB`, `alpha` and `beta` spelled out) and `Relu` nodes,
with all weights as little-endian raw initializers. Verifiers, MILP tools and code generators each refuse something
else: unnamed nodes, absent attributes, `MatMul` and `Add`, `Constant` or `Concat`. Only layers that are too large as
dense matrices are split, with `Gather` and `Concat`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import helper

from cpwl.compiled import Compiled, held_network
from cpwl.doors import check_choice, check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import write_bytes
from cpwl.io.weights import Dtype, check_dense_size
from cpwl.network.integer import IntegerNetwork
from cpwl.network.network import Network, rounded

# Layers that would be too large as dense matrices: split by rows, each part reading only the columns that it needs.
#
# A part is `Gather` (the columns that its rows read), then a small `Gemm`; `Concat` puts the parts together. Rows that
# read nearly the same columns belong together: they are taken in the order of the first column that they read, and the
# outputs are put back in order by the next layer's columns.


_ROWS = 64  # of a part


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some rows of a layer: the columns that they read, and the dense matrix on these; without columns, all of it."""

    columns: NDArray[np.int64] | None
    weight: NDArray[np.float64]
    bias: NDArray[np.float64]


def split_layers(network: Network, split: Sequence[bool]) -> Iterator[list[RowBlock]]:
    """The parts of each layer, in the order in which their outputs are put together; one for a layer left whole."""
    place = np.arange(network.inputs, dtype=np.int64)  # where each output of the layer before is now
    for number, (weight, bias) in enumerate(network.layers, start=1):
        if not split[number - 1]:
            whole = np.empty(weight.shape)
            whole[:, place] = weight.toarray()
            yield [RowBlock(None, whole, bias)]
            place = np.arange(len(bias), dtype=np.int64)
            continue
        blocks = list(_blocks(weight, keep=number == len(network.layers)))
        yield [RowBlock(place[read], weight[own][:, read].toarray(), bias[own]) for own, read in blocks]
        place = np.empty(len(bias), dtype=np.int64)
        place[np.concatenate([own for own, _ in blocks])] = np.arange(len(bias))


_GATHER = 300  # products that take as long as gathering one column: six banded layers, measured in onnxruntime 1.31


def _pays(weight: Any) -> bool:
    """Whether a layer in parts is faster than a dense one."""
    cost = sum((len(own) + _GATHER) * len(read) for own, read in _blocks(weight))
    return bool(cost < weight.shape[0] * weight.shape[1])


def split_size(network: Network, itemsize: int) -> int:
    """The bytes of all parts, without making them."""
    last = len(network.layers) - 1
    return sum(
        len(own) * (len(read) + 1) * itemsize + 8 * len(read)
        for k, (weight, _) in enumerate(network.layers)
        for own, read in _blocks(weight, keep=k == last)
    )


def _blocks(weight: Any, keep: bool = False) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The rows and the columns of each part: rows in their order, or by the first column that they read."""
    length = np.diff(weight.indptr)
    first = np.full(len(length), 0 if keep else weight.shape[1], dtype=np.int64)
    if not keep:
        first[length > 0] = weight.indices[weight.indptr[:-1][length > 0]]
    order = np.argsort(first, kind="stable").astype(np.int64)
    for own in np.split(order, range(_ROWS, len(order), _ROWS)):
        read = np.unique(weight[own].indices)
        # A part that reads nothing still needs a column, to be multiplied by 0.
        yield own, read if len(read) else np.zeros(1, dtype=read.dtype)


# A protobuf message, and so an ONNX file in one piece, ends at 2 GiB.
_LIMIT = 2**31 - 2**20
Layout: TypeAlias = Literal["auto", "dense", "split", "fast"]
_TYPES = ("float16", "float32", "float64")

_NOTES = {
    "cpwl.arithmetic": "Large terms cancel: run in the precision of the file, with TF32 and other reduced "
    "precision off (NVIDIA_TF32_OVERRIDE=0; onnxruntime CUDA: use_tf32=0; torch: allow_tf32=False).",
}


def to_onnx(
    network: Network | Compiled,
    path: str | os.PathLike[str],
    *,
    dtype: Dtype | Literal["float16"] | None = None,
    batch: str | None = "N",
    layout: Layout = "auto",
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write the network to the ONNX file `path`: input `X` of shape ``[N, n]``, output `Y` of ``[N, m]``.

    Parameters
    ----------
    network : Network or Compiled
        The network, or the result of `compile`, whose `metadata` then goes into the file.
    path : path-like
        The file. An existing file is replaced when the new one is complete.
    dtype : {"float64", "float32", "float16"}, optional
        The type of the weights, `X` and `Y`: "float64", or "float32", with every weight rounded once more. By default
        "float64"; but a result with integer weights is written with integer operators: `X` has integers in
        the format of the inputs, and `Y` must be divided by the scales in the metadata. "float16" is for
        results of ``weights="float16"``, whose error is proved, and the default for them.
    batch : str, optional
        The name of the first dimension of `X` and `Y`, which is free: any number of points. None makes it 1, which
        some verifiers and MILP tools expect.
    layout : {"auto", "dense", "split", "fast"}
        "dense" is one `Gemm` for each layer. "split" cuts a layer by rows into parts that read only the columns that
        they need (`Gather`, `Gemm`, `Concat`). "fast" splits the layers that onnxruntime then runs faster, by a
        measured cost. "auto" is readable by all tools: it splits only layers that would not fit into a file when dense.
    metadata : mapping, optional
        Names and texts to store in the file, such as `Compiled.metadata`: the domain, the pieces, the hash of a
        proof.

    Notes
    -----
    The same network gives the same bytes. The file is written completely or not at all. Its metadata says
    that TF32 must be off.

    Raises
    ------
    InputError
        If the file cannot be written.
    LimitError
        If the weights do not fit into an ONNX file, or a weight overflows the type.
    """
    if metadata is None and isinstance(network, Compiled):
        metadata = network.metadata
    integers = network.integer if isinstance(network, Compiled) and dtype is None else None
    network = held_network(network, "to_onnx")
    check_path(path, "to_onnx")
    check_choice(layout, ("auto", "dense", "split", "fast"), "layout")
    if dtype is not None:
        check_choice(dtype, _TYPES, "dtype")
    if batch is not None and not (isinstance(batch, str) and batch):
        raise InputError(f'`batch` must be None or the name of a dimension such as "N", not {type(batch).__name__}')
    if integers is not None:
        notes = _checked(metadata) | {"cpwl.inputs": f"{integers.format}: integers of {integers.bits} bits"}
        notes |= {"cpwl.outputs.divided_by": ", ".join(map(str, integers.scales[-1]))}
        ends = (integers.input_type, integers.inputs), (integers.sum_type, integers.outputs)
        write_bytes(path, _integer(integers).file(*ends, batch, notes))
        return
    half = "float16" in network.evaluated_in
    if dtype == "float16" and not half:
        raise InputError(
            'float16 has 11 bits, and the error must be proved: `compile(p, weights="float16", within="1%")` first'
        )
    dtype = ("float16" if half else "float64") if dtype is None else dtype
    write_bytes(path, onnx_bytes(network, dtype=dtype, batch=batch, layout=layout, metadata=metadata))


def onnx_bytes(
    network: Network,
    *,
    dtype: Dtype | Literal["float16"] = "float64",
    batch: str | None = None,
    layout: Layout = "auto",
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """The content of the file that `to_onnx` writes."""
    notes = {**_NOTES, **_checked(metadata)}
    check_choice(dtype, _TYPES, "dtype")
    graph = _layers(network, dtype, _split(network, dtype, layout))
    return graph.file((dtype, network.inputs), (dtype, network.outputs), batch, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Graph:
    """Nodes and constants of a file, in order; what is added is returned by the name of its value."""

    nodes: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)

    def node(self, op: str, inputs: list[str], output: str, name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def tensor(self, name: str, array: NDArray[Any]) -> str:
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        self.tensors.append(helper.make_tensor(name, _kind(array.dtype), array.shape, raw, raw=True))
        return name

    def file(self, given: tuple[str, int], found: tuple[str, int], batch: str | None, notes: dict[str, str]) -> bytes:
        """The file of the graph, whose `X` and `Y` have these types and widths."""
        rows = 1 if batch is None else batch
        x, y = (
            helper.make_tensor_value_info(name, _kind(dtype), [rows, n])
            for name, (dtype, n) in (("X", given), ("Y", found))
        )
        model = helper.make_model(
            helper.make_graph(self.nodes, "cpwl", [x], [y], self.tensors),
            opset_imports=[helper.make_opsetid("", 13)],
            ir_version=8,
            producer_name="cpwl",
        )
        helper.set_model_props(model, notes)
        return bytes(model.SerializeToString(deterministic=True))


def _kind(dtype: Any) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _checked(metadata: Mapping[str, str] | None) -> dict[str, str]:
    found = {} if metadata is None else dict(metadata)
    if not all(isinstance(word, str) for pair in found.items() for word in pair):
        raise InputError("`metadata` must map names to texts")
    return found


def _split(network: Network, dtype: str, layout: Layout) -> list[bool]:
    """Which layers are written in parts; `LimitError` if they fit in neither way."""
    if layout == "fast":
        return [_pays(weight) for weight, _ in network.layers]
    if layout != "split":
        try:
            check_dense_size(network, dtype, _LIMIT, "that an ONNX file can hold", _TYPES)
        except LimitError:
            if layout == "dense":
                raise
        else:
            return [False] * len(network.layers)
    size = split_size(network, np.dtype(dtype).itemsize)
    if size > _LIMIT:
        raise LimitError(f"the network would take {size / 2**30:.1f} GiB in parts, more than an ONNX file can hold")
    return [True] * len(network.layers)


def _layers(network: Network, dtype: str, split: Sequence[bool]) -> _Graph:
    """One `Gemm` for a whole layer; for one in parts the columns that each reads, a `Gemm` on these, and `Concat`."""
    graph, before = _Graph(), "X"
    for i, parts in enumerate(split_layers(rounded(network, dtype), split), start=1):
        last = i == len(network.layers)
        after = "Y" if last else f"Z_{i}"
        outputs = []
        for k, part in enumerate(parts, start=1):
            name, read = (str(i), before) if part.columns is None else (f"{i}_{k}", f"G_{i}_{k}")
            if part.columns is not None:
                graph.node("Gather", [before, graph.tensor(f"I_{name}", part.columns)], read, f"Gather_{name}", axis=1)
            own = (("W", part.weight), ("b", part.bias))
            operands = [read, *(graph.tensor(f"{word}_{name}", array.astype(dtype)) for word, array in own)]
            output = after if part.columns is None else f"P_{name}"
            outputs.append(graph.node("Gemm", operands, output, f"Gemm_{name}", alpha=1.0, beta=1.0, transB=1))
        if parts[0].columns is not None:
            graph.node("Concat", outputs, after, f"Concat_{i}", axis=1)
        if not last:
            graph.node("Relu", [after], f"A_{i}", f"Relu_{i}")
        before = f"A_{i}"
    return graph


# Networks of integers. `MatMulInteger` multiplies bytes: with weights of 8 bits the inputs of a layer, which are not
# negative, are taken byte by byte. Each part of a sum is at most what was proved not to overflow. Elsewhere `MatMul`
# multiplies in the type of the sums.


def _integer(network: IntegerNetwork) -> _Graph:
    """The graph of a network of integers."""
    graph, word = _Graph(), np.dtype(network.sum_type)
    graph.node("Cast", ["X"], "A_0", "Cast_X", to=_kind(word))
    graph.tensor("zero", np.zeros(1, dtype=word))
    for i, (weight, bias) in enumerate(network.layers, start=1):
        W, b, before, reach = weight.toarray(), bias, f"A_{i - 1}", network.reach[i - 1]
        if _by_bytes(network, i, W, b):
            if i == 1:  # inputs that are not negative
                half = 2 ** (network.bits - 1)
                b, reach = b - half * W.sum(axis=1), 2 * half - 1
                before = graph.node("Add", ["A_0", graph.tensor("half", np.array([half], word))], "A_up", "Add_half")
            _add_bytes(graph, i, before, W, reach, word)
        else:
            held = graph.tensor(f"V_{i}", np.ascontiguousarray(W.T.astype(network.weights)))
            cast = graph.node("Cast", [held], f"W_{i}", f"Cast_{i}", to=_kind(word))
            graph.node("MatMul", [before, cast], f"P_{i}", f"MatMul_{i}")
        last = i == len(network.layers)
        graph.node("Add", [f"P_{i}", graph.tensor(f"b_{i}", b.astype(word))], "Y" if last else f"Z_{i}", f"Add_{i}")
        if not last:
            graph.node("Max", [f"Z_{i}", "zero"], f"A_{i}", f"Relu_{i}")
    return graph


def _by_bytes(network: IntegerNetwork, i: int, weight: NDArray[Any], bias: NDArray[Any]) -> bool:
    """Whether weights are bytes, and the sums do not overflow, with inputs made positive, too."""
    if network.weights != "int8" or network.accumulator != 32:
        return False
    half = 2 ** (network.bits - 1)
    sums = np.abs(bias - half * weight.sum(axis=1)) + (2 * half - 1) * np.abs(weight).sum(axis=1)
    return i > 1 or bool(sums.max() < 2**31)


def _add_bytes(graph: _Graph, i: int, before: str, weight: NDArray[Any], reach: int, word: np.dtype[Any]) -> None:
    """The product of a layer with inputs from 0 to `reach`, byte by byte."""
    held, parts = graph.tensor(f"W_{i}", np.ascontiguousarray(weight.T.astype(np.int8))), []
    count = max(1, -(-reach.bit_length() // 8))
    for k in range(count):
        name, at, down = f"{i}_{k}", before, ""
        if k:
            down = graph.tensor(f"down_{name}", np.array([256**k], dtype=word))
            at = graph.node("Div", [at, down], f"D_{name}", f"Div_{name}")
        if k < count - 1:
            base = graph.tensor(f"base_{name}", np.array([256], dtype=word))
            at = graph.node("Mod", [at, base], f"M_{name}", f"Mod_{name}")
        byte = graph.node("Cast", [at], f"B_{name}", f"Byte_{name}", to=_kind("uint8"))
        product = graph.node("MatMulInteger", [byte, held], f"Q_{name}" if k else f"P_{name}", f"MatMul_{name}")
        parts.append(graph.node("Mul", [product, down], f"P_{name}", f"Mul_{name}") if k else product)
    total = parts[0]
    for k, part in enumerate(parts[1:], start=1):
        total = graph.node("Add", [total, part], f"S_{i}_{k}", f"Sum_{i}_{k}")
    graph.nodes[-1].output[0] = f"P_{i}"
