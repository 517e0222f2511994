"""Small files that ask for much: huge numbers, lying lengths, bombs, deep nesting, doubling, paths out of the folder.

Each is valid up to the point where it asks. A reader ends with one sentence, in seconds and without gigabytes.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["NASTY", "Nasty"]

HALF = {"A": [[1]], "b": [0], "gradient": [1], "offset": 0}

UP = ".." + os.sep


def law(**changes: Any) -> bytes:
    whole = {"format": "cpwl", "version": 1, "dim": 1, "outputs": 1, "pieces": [HALF]}
    return json.dumps({**whole, **changes}).encode()


def net(**changes: Any) -> bytes:
    layer = {"rows": 1, "columns": 1, "entries": [[0, 0, 1]], "bias": [0]}
    whole = {"format": "cpwl-network", "version": 1, "inputs": 1, "outputs": 1, "layers": [layer]}
    return json.dumps({**whole, **changes}).encode()


def text_law(number: str) -> bytes:
    return law().replace(b'"offset": 0', b'"offset": ' + number.encode())


def layers(*shapes: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"rows": a, "columns": b, "entries": [], "bias": [0]} for a, b in shapes]


# --- ONNX -------------------------------------------------------------------------------------------------------------


def model(
    nodes: list[Any], shape: tuple[Any, ...] = (1, 2), weights: dict[str, Any] | None = None, functions: Any = ()
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, shape)],
        [helper.make_tensor_value_info("Y", TensorProto.DOUBLE, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (weights or {}).items()],
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("own", 1)], ir_version=9
    )
    made.functions.extend(functions)
    return bytes(made.SerializeToString())


def chain(count: int, op: str, *more: str, twice: bool = False, **attributes: Any) -> list[Any]:
    """`count` nodes in a row, from X to Y."""
    names = ["X", *(f"h{i}" for i in range(1, count)), "Y"]
    return [
        helper.make_node(op, [a, *([a] if twice else []), *more], [b], **attributes)
        for a, b in zip(names, names[1:], strict=False)  # noqa: RUF007
    ]


def alternating(count: int) -> list[Any]:
    names = ["X", *(f"h{i}" for i in range(1, count)), "Y"]
    return [
        helper.make_node(("Relu", "Neg", "Abs", "LeakyRelu")[i % 4], [names[i]], [names[i + 1]]) for i in range(count)
    ]


def external(location: str, length: int | None = None) -> bytes:
    tensor = TensorProto(name="W", data_type=TensorProto.DOUBLE, dims=[2, 2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("length", None if length is None else str(length))):
        if value is not None:
            tensor.external_data.append(onnx.StringStringEntryProto(key=key, value=value))
    made = onnx.ModelProto()
    made.ParseFromString(model([helper.make_node("MatMul", ["X", "W"], ["Y"])]))
    made.graph.initializer.append(tensor)
    return bytes(made.SerializeToString())


def constant_outside(location: str) -> bytes:
    """Weights in another file, not of an initializer but of a node."""
    tensor = TensorProto(name="c", data_type=TensorProto.DOUBLE, dims=[1, 2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value=location))
    tensor.external_data.append(onnx.StringStringEntryProto(key="length", value="16"))
    nodes = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Add", ["X", "c"], ["Y"])]
    return model(nodes)


def lying_tensor() -> bytes:
    made = onnx.ModelProto()
    made.ParseFromString(model([helper.make_node("MatMul", ["X", "W"], ["Y"])]))
    made.graph.initializer.append(
        TensorProto(name="W", data_type=TensorProto.DOUBLE, dims=[2**31, 2**31], raw_data=b"12345678")
    )
    return bytes(made.SerializeToString())


def with_body(op: str) -> bytes:
    """A loop of 2^40 steps, or a branch, around one node."""
    inner = helper.make_graph(
        [helper.make_node("Identity", ["X"], ["inner"])],
        "body",
        [],
        [helper.make_tensor_value_info("inner", TensorProto.DOUBLE, None)],
    )
    attributes = {"body": inner} if op in ("Loop", "Scan") else {"then_branch": inner, "else_branch": inner}
    inputs = ["steps", "yes", "X"] if op == "Loop" else ["yes"]
    weights = {"steps": np.array(2**40), "yes": np.array(True)}
    return model([helper.make_node(op, inputs, ["Y"], **attributes)], weights=weights)


def recursive() -> bytes:
    """A function of the model that calls itself."""
    body = [helper.make_node("Again", ["a"], ["b"], domain="own")]
    again = helper.make_function("own", "Again", ["a"], ["b"], body, [helper.make_opsetid("own", 1)])
    return model([helper.make_node("Again", ["X"], ["Y"], domain="own")], functions=[again])


# --- arrays -----------------------------------------------------------------------------------------------------------


def npz(members: dict[str, bytes], *, compressed: bool = True) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def npy(shape: str, dtype: str = "<f8", data: bytes = b"") -> bytes:
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def objects() -> bytes:
    """Pickled objects, as `numpy.savez` writes them."""
    held = io.BytesIO()
    np.savez(held, W0=np.array([{"a": 1}, None], dtype=object))
    return held.getvalue()


def bomb() -> bytes:
    return npz({"W0.npy": npy("(40000, 40000)", "|u1", bytes(16 * 10**8 // 8))})


def safetensors(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def lying_safetensors(shape: list[int], end: int) -> bytes:
    entry = {"dtype": "F64", "shape": shape, "data_offsets": [0, end]}
    return safetensors(json.dumps({"0.weight": entry, "0.bias": entry}).encode(), bytes(8))


def mat(*elements: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def element(kind: int, data: bytes, size: int | None = None) -> bytes:
    return struct.pack("<II", kind, len(data) if size is None else size) + data + bytes(-len(data) % 8)


def matrix(shape: tuple[int, ...], kind: int = 6, data: bytes = b"") -> bytes:
    parts = (
        element(6, struct.pack("<II", kind, 0)),
        element(5, struct.pack(f"<{len(shape)}i", *shape)),
        element(1, b"A"),
    )
    return element(14, b"".join(parts) + data)


def cells(depth: int) -> bytes:
    inner = matrix((1, 1), 6, element(9, bytes(8)))
    for _ in range(depth):
        inner = matrix((1, 1), 1, inner)
    return inner


# --- text -------------------------------------------------------------------------------------------------------------


def scattered(points: int, dim: int) -> bytes:
    rng = np.random.default_rng(0)
    return "\n".join(",".join(f"{v:.4f}" for v in row) for row in rng.random((points, dim + 1))).encode()


def folded(depth: int) -> str:
    """A sawtooth of 2^depth teeth."""
    text = "x"
    for i in range(depth):
        text = f"abs({text}-{2.0 ** (depth - i - 1):.0f})"
    return text


def nnet(*numbers: int) -> bytes:
    return ("// a network\n" + ",".join(map(str, numbers)) + "\n" + ",".join(map(str, numbers)) + "\n0\n").encode()


NASTY: dict[str, Callable[[], bytes]] = {
    # JSON
    "exponent.json": lambda: text_law("1e999999999"),
    "exponent as text.json": lambda: text_law('"1e999999999"'),
    "long decimal.json": lambda: text_law('"0.' + "1" * 10**6 + '"'),
    "long integer.json": lambda: text_law("9" * 2 * 10**6),
    "long rational.json": lambda: text_law('"' + "9" * 10**6 + "/" + "7" * 10**6 + '"'),
    "deep lists.json": lambda: b"[" * 10**6,
    "deep objects.json": lambda: b'{"a":' * 10**5 + b"1" + b"}" * 10**5,
    "deep matrix.json": lambda: law(pieces=[{**HALF, "A": json.loads("[" * 900 + "]" * 900)}]),
    "many inputs.json": lambda: law(dim=10**9),
    "many outputs.json": lambda: law(outputs=10**9),
    "far index.json": lambda: json.dumps(
        {"format": "cpwl", "version": 1, "dim": 1, "outputs": 1}
        | {"points": [[0], [1]], "simplices": [[0, 10**18]], "values": [0, 1]}
    ).encode(),
    "same simplex.json": lambda: json.dumps(
        {"format": "cpwl", "version": 1, "dim": 1, "outputs": 1}
        | {"points": [[0], [1]], "simplices": [[0, 1]] * 20000, "values": [0, 1]}
    ).encode(),
    "wide network.json": lambda: net(inputs=10**9, layers=layers((1, 10**9))),
    "tall network.json": lambda: net(outputs=10**9, layers=layers((10**9, 1))),
    "deep network.json": lambda: net(layers=[{"rows": 1, "columns": 1, "entries": [[0, 0, 1]], "bias": [0]}] * 20000),
    "far entry.json": lambda: net(
        layers=[{"rows": 1, "columns": 1, "entries": [[0, 10**15, 1], [10**30, 0, 1]], "bias": [0]}]
    ),
    "same key.json": lambda: b"{" + b'"a":1,' * 10**5 + b'"a":1}',
    "long key.json": lambda: json.dumps({"a" * 10**6: 1}).encode(),
    "far apart.json": lambda: law(pieces=[{**HALF, "A": [["1/3"]], "b": [f"{10**300}/{3**500}"]}] * 3),
    "control law.json": lambda: json.dumps(
        {
            "proc": {
                "Q": [[1]],
                "c": [0],
                "H": [[0]],
                "A": [["1e99999999"]] * 9,
                "b": [1] * 9,
                "F": [[0]] * 9,
                "A_t": [[1]],
                "b_t": [1],
            },
            "pieces": [{"act": list(range(9))}] * 50,
        }
    ).encode(),
    # ONNX
    "concat.onnx": lambda: model(chain(64, "Concat", twice=True, axis=1)),
    "add.onnx": lambda: model(chain(3000, "Add", twice=True)),
    "mul.onnx": lambda: model(chain(3000, "Mul", "c"), weights={"c": 1.1e-300}),
    "mul by three.onnx": lambda: model(chain(5000, "Mul", "c"), weights={"c": 1 / 3}),
    "max.onnx": lambda: model(chain(400, "Max", "c", twice=True), weights={"c": [[0.5, 0.25]]}),
    "tile.onnx": lambda: model(chain(40, "Tile", "r"), weights={"r": np.array([1, 2**20])}),
    "expand.onnx": lambda: model([helper.make_node("Expand", ["X", "s"], ["Y"])], weights={"s": np.array([2**40, 2])}),
    "constant of shape.onnx": lambda: model(
        [helper.make_node("ConstantOfShape", ["s"], ["c"]), helper.make_node("Add", ["X", "c"], ["Y"])],
        weights={"s": np.array([2**20, 2**20])},
    ),
    "pad.onnx": lambda: model([helper.make_node("Pad", ["X", "p"], ["Y"])], weights={"p": np.array([0, 0, 0, 2**45])}),
    "conv.onnx": lambda: model(
        [helper.make_node("Conv", ["X", "W"], ["Y"], pads=[2**20] * 4)], (1, 1, 3, 3), {"W": np.ones((1, 1, 1, 1))}
    ),
    "pool.onnx": lambda: model(
        [helper.make_node("MaxPool", ["X"], ["Y"], kernel_shape=[500, 500])], (1, 1, 1000, 1000)
    ),
    "resize.onnx": lambda: model(
        [helper.make_node("Resize", ["X", "", "s"], ["Y"])], (1, 1, 2, 2), {"s": np.array([1, 1, 1e6, 1e6], np.float32)}
    ),
    "many inputs.onnx": lambda: model([helper.make_node("Relu", ["X"], ["Y"])], (1, 10**12)),
    "negative input.onnx": lambda: model([helper.make_node("Relu", ["X"], ["Y"])], (1, -(10**12))),
    "alternating.onnx": lambda: model(alternating(4000)),
    "loop.onnx": lambda: with_body("Loop"),
    "scan.onnx": lambda: with_body("Scan"),
    "if.onnx": lambda: with_body("If"),
    "recursive.onnx": recursive,
    "absolute path.onnx": lambda: external("/etc/passwd"),
    "path out.onnx": lambda: external(f"{6 * UP}etc/passwd"),
    "endless data.onnx": lambda: external("/dev/zero", 32),
    "link.onnx": lambda: external("link", 32),
    "pipe.onnx": lambda: external("pipe", 32),
    "constant outside.onnx": lambda: constant_outside("/etc/passwd"),
    "constant beside.onnx": lambda: constant_outside("law.json"),
    "lying tensor.onnx": lying_tensor,
    "nothing.onnx": lambda: b"",
    "zeros.onnx": lambda: bytes(10**6),
    # arrays
    "bomb.npz": bomb,
    "lying shape.npz": lambda: npz({"W0.npy": npy("(1000000, 1000000)")}),
    "lying shape stored.npz": lambda: npz({"W0.npy": npy("(1000000, 1000000)")}, compressed=False),
    "negative shape.npz": lambda: npz({"W0.npy": npy("(-1, 5)", data=bytes(80))}),
    "long shape.npz": lambda: npz({"W0.npy": npy("(" + "1," * 20000 + ")", data=bytes(8))}),
    "objects.npz": objects,
    "object header.npz": lambda: npz({"W0.npy": npy("(1,)", "|O", b"cos\nsystem\n(S'echo no > harm'\ntR.")}),
    "code in header.npz": lambda: npz({"W0.npy": npy("__import__('os').system('touch harm')")}),
    "deep header.npz": lambda: npz({"W0.npy": npy("(" * 9000 + ")" * 9000)}),
    "no arrays.npz": lambda: npz({"a.txt": b"hello"}),
    "length.safetensors": lambda: safetensors(b'{"a": 1}', length=2**63),
    "long header.safetensors": lambda: safetensors(b"{" + b" " * 10**6, length=10**6),
    "lying shape.safetensors": lambda: lying_safetensors([2**20, 2**20], 2**43),
    "empty dimension.safetensors": lambda: lying_safetensors([2**39, 0, 2**39], 0),
    "overlap.safetensors": lambda: lying_safetensors([1], 8),
    "deep header.safetensors": lambda: safetensors(b"[" * 10**6),
    "unfolding.mat": lambda: mat(element(15, zlib.compress(bytes(10**9 // 2), 9))),
    "lying size.mat": lambda: mat(element(14, b"", 2**31)),
    "lying dimensions.mat": lambda: mat(matrix((2**30, 2**30), 6, element(9, bytes(8)))),
    "many cells.mat": lambda: mat(matrix((2**30, 2**30), 1)),
    "no cells.mat": lambda: mat(matrix((2**30, 2**30, 0), 1)),
    "deep cells.mat": lambda: mat(cells(5000)),
    "format 7.3.mat": lambda: b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n",
    # text
    "columns.csv": lambda: b"1," * 10**6 + b"1\n" + b"2," * 10**6 + b"2\n",
    "exponent.csv": lambda: b"x,y\n0,1e999999999\n1,2\n",
    "small exponent.csv": lambda: b"x,y\n0,1e-999999999\n1,2\n",
    "long number.csv": lambda: b"x,y\n0," + b"9" * 10**6 + b"\n1,2\n",
    "ten inputs.csv": lambda: scattered(39, 10),
    "six inputs.csv": lambda: scattered(400, 6),
    "thirty inputs.csv": lambda: scattered(60, 30),
    "grid of sixteen inputs.csv": lambda: "\n".join(
        ",".join(f"{i >> k & 1}" for k in range(12)) + f",{i * i % 7}" for i in range(2**12)
    ).encode(),
    "one line.csv": lambda: b"1,2",
    "no end.csv": lambda: b"\x00" * 10**6,
    "layers.nnet": lambda: nnet(10**9, 5, 5, 5),
    "sizes.nnet": lambda: nnet(1, 10**9, 10**9, 10**9),
    "exponent.nnet": lambda: b"// n\n1,1,1,1,\n1,1,\n0\n0\n1\n0,0\n1e999999999,1\n1\n0\n",
    "boundary.pwl": lambda: b"pwl\nb 1 1e999999999\np 1 1 1 1\ng 1\n",
    "long number.pwl": lambda: b"pwl\nb 1 " + b"7" * 10**6 + b"\np 1 1 1 1\ng 1\n",
    "many inputs.pwl": lambda: b"tl " + b"1 3 " * 30000,
    "power.txt": lambda: b"x*9**9**9",
    "power of ten.txt": lambda: b"1e999999999*x",
    "parentheses.txt": lambda: b"(" * 10**5 + b"x" + b")" * 10**5,
    "signs.txt": lambda: b"-" * 10**5 + b"x",
    "teeth.txt": lambda: folded(40).encode(),
    "norm.txt": lambda: "+".join(f"abs(x{i})" for i in range(60)).encode(),
    "many variables.txt": lambda: ("max(" + ",".join(f"x{i}" for i in range(3000)) + ")").encode(),
    "long sum.txt": lambda: ("x" + "+x" * 10**5).encode(),
    "divisions.txt": lambda: ("x" + "/3" * 10**5).encode(),
    "product.txt": lambda: b"max(x,1)*max(x,2)*max(x,3)",
    "code.txt": lambda: b"__import__('os').system('touch harm')",
}


class Nasty(dict[str, Path]):
    """All of them, by name, each written into the folder when it is first asked for.

    There is a link and a pipe for those that point there.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        (folder / "link").symlink_to("/etc/passwd")
        if hasattr(os, "mkfifo"):
            os.mkfifo(folder / "pipe")

    def __missing__(self, name: str) -> Path:
        self[name] = self.folder / name
        self[name].write_bytes(NASTY[name]())
        return self[name]
