"""Layers in parts, and what files tell about themselves."""

from __future__ import annotations

import hashlib

import numpy as np
import onnx
import pytest
from scipy.sparse import block_diag, csr_array, random_array

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.onnx.write import split_size
from cpwl.network.network import rounded
from support.functions import delaunay


def sparse_network(blocks: int, seed: int = 0) -> cpwl.Network:
    """Many small blocks on the diagonal, rows shuffled, one row that reads nothing."""
    rng = np.random.default_rng(seed)
    first = random_array((4 * blocks, 3), density=0.8, rng=rng)
    middle = block_diag([rng.standard_normal((3, 4)) for _ in range(blocks)], format="csr")
    middle = middle[rng.permutation(middle.shape[0])]
    return cpwl.Network([
        (first, rng.standard_normal(4 * blocks)),
        (middle, rng.standard_normal(3 * blocks)),
        (random_array((70, 3 * blocks), density=0.02, rng=rng), rng.standard_normal(70)),
        (rng.standard_normal((2, 70)), rng.standard_normal(2)),
    ])  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_parts_are_the_layers(tmp_path, dtype):
    """Read back they are the same network, exactly; onnxruntime computes the same values from both layouts."""
    ort = pytest.importorskip("onnxruntime")
    network = sparse_network(60)
    x = np.random.default_rng(1).standard_normal((20, 3)).astype(dtype)
    values = []
    for layout in ("dense", "split"):
        cpwl.io.to_onnx(network, tmp_path / f"{layout}.onnx", dtype=dtype, batch="N", layout=layout)
        session = ort.InferenceSession(tmp_path / f"{layout}.onnx", providers=["CPUExecutionProvider"])
        values.append(session.run(None, {"X": x})[0])
    assert np.abs(values[0] - values[1]).max() <= 1e3 * np.finfo(dtype).eps * np.abs(values[0]).max()
    read, meant = cpwl.io.from_onnx(tmp_path / "split.onnx"), rounded(network, dtype)
    points = np.array([[1, 2, 3], [-1, 5, 7]], dtype=object)
    assert (read(points) == meant(points)).all()
    assert (tmp_path / "split.onnx").stat().st_size < (tmp_path / "dense.onnx").stat().st_size / 2
    assert {node.op_type for node in onnx.load(tmp_path / "split.onnx").graph.node} == {
        "Gather",
        "Gemm",
        "Concat",
        "Relu",
    }


def test_what_is_too_large_when_dense_is_split(tmp_path):
    """20,000 blocks: 38 GB dense, a few MB in parts. "auto" takes those, "dense" is refused."""
    network = sparse_network(20_000)
    with pytest.raises(LimitError, match="GiB as dense"):
        cpwl.io.to_onnx(network, tmp_path / "a.onnx", layout="dense")
    assert split_size(network, 8) < 2**28
    cpwl.io.to_onnx(network, tmp_path / "a.onnx")
    assert (tmp_path / "a.onnx").stat().st_size < 2**28


@pytest.mark.slow
def test_onnxruntime_runs_what_is_too_large_when_dense(tmp_path):
    """The values are those of the network."""
    ort = pytest.importorskip("onnxruntime")
    network = sparse_network(20_000)
    cpwl.io.to_onnx(network, tmp_path / "a.onnx")
    session = ort.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
    x = np.array([[0.5, -1.0, 2.0]])
    value = session.run(None, {"X": x})[0]
    assert np.abs(value - network(x)).max() < 1e-9 * np.abs(value).max()


def test_files_tell_domain_pieces_and_proof(tmp_path, monkeypatch):
    """The hash is that of the proof file that is written beside; any text can be kept."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(delaunay(2, 8, 0), "law.json")
    assert main(["compile", "law.json", "-o", "law.onnx", "--certify"]) == 0
    held = {entry.key: entry.value for entry in onnx.load("law.onnx").metadata_props}
    assert held["cpwl.pieces"] == str(delaunay(2, 8, 0).num_pieces)
    assert "low" in held["cpwl.domain"]
    assert held["cpwl.proof.sha256"] == hashlib.sha256((tmp_path / "law.proof.json").read_bytes()).hexdigest()
    assert main(["check", "law.json", "law.onnx", "law.proof.json"]) == 0
    network = cpwl.io.from_onnx("law.onnx")
    cpwl.io.to_onnx(network, "other.onnx", metadata={"plant": "pendulum"})
    assert any(entry.value == "pendulum" for entry in onnx.load("other.onnx").metadata_props)
    with pytest.raises(InputError, match="names to texts"):
        cpwl.io.to_onnx(network, "other.onnx", metadata={"a": 1})
    with pytest.raises(InputError, match="`layout` must be one of"):
        cpwl.io.to_onnx(network, "other.onnx", layout="sparse")


def test_the_fast_layout_splits_what_pays(tmp_path):
    """A wide banded layer is split, a small one is not; a whole layer after a split one reads the moved columns."""
    rng = np.random.default_rng(0)
    band = csr_array(np.eye(1200) + np.diag(np.full(1199, 0.5), 1))
    layers = [
        (rng.standard_normal((1200, 2)), np.zeros(1200)),
        (band, np.zeros(1200)),
        (rng.random((3, 1200)), [0] * 3),
    ]
    network = cpwl.Network(layers)
    cpwl.io.to_onnx(network, tmp_path / "a.onnx", layout="fast")
    nodes = [node.op_type for node in onnx.load(tmp_path / "a.onnx").graph.node]
    assert nodes.count("Concat") == 1
    assert nodes[0] == "Gemm"
    x = rng.standard_normal((5, 2))
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
    assert np.abs(session.run(None, {"X": x})[0] - network(x)).max() < 1e-10 * np.abs(network(x)).max()
