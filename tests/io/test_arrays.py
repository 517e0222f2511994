"""Networks as named arrays: npz, safetensors and JAX, against NumPy, the safetensors library, PyTorch and JAX."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import cpwl
from cpwl.network.network import rounded


def network(seed: int = 0, sizes: tuple[int, ...] = (2, 5, 4, 3)) -> cpwl.Network:
    rng = np.random.default_rng(seed)
    return cpwl.Network([(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in itertools.pairwise(sizes)])


def same(a: cpwl.Network, b: cpwl.Network) -> bool:
    return len(a.layers) == len(b.layers) and all(
        (u.toarray() == w.toarray()).all() and (v == x).all() for (u, v), (w, x) in zip(a.layers, b.layers, strict=True)
    )


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_files_hold_the_network(tmp_path, ending, dtype):
    """What is written is what is read, to the last bit of the type; the same network gives the same bytes."""
    write, read = getattr(cpwl.io, f"to_{ending}"), getattr(cpwl.io, f"from_{ending}")
    write(network(), tmp_path / "a", dtype=dtype)
    write(network(), tmp_path / "b", dtype=dtype)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert same(read(tmp_path / "a"), rounded(network(), dtype))


def test_numpy_reads_what_we_write(tmp_path):
    """`numpy.load` finds the arrays under the names of PyTorch."""
    made = network()
    cpwl.io.to_npz(made, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as held:
        assert list(held) == [f"{i}.{part}" for i in (0, 2, 4) for part in ("weight", "bias")]
        assert (held["2.weight"] == made.layers[1][0].toarray()).all()
    assert same(cpwl.read(tmp_path / "a.npz"), made)


def test_many_layers_keep_their_order(tmp_path):
    """Layer 10 comes after layer 9."""
    made = network(1, (1, *[2] * 11, 1))
    for ending in ("npz", "safetensors"):
        getattr(cpwl.io, f"to_{ending}")(made, tmp_path / "a")
        assert same(getattr(cpwl.io, f"from_{ending}")(tmp_path / "a"), made)


def test_the_safetensors_library_agrees(tmp_path):
    """It reads our files, and we read its own, in half precision, too."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    made = network()
    cpwl.io.to_safetensors(made, tmp_path / "a.safetensors")
    held = numpy_files.load_file(tmp_path / "a.safetensors")
    assert (held["2.weight"] == made.layers[1][0].toarray()).all()
    assert set(held) == {f"{2 * i}.{part}" for i in range(3) for part in ("weight", "bias")}
    half = {name: array.astype(np.float16) for name, array in held.items()}
    numpy_files.save_file(half, tmp_path / "half.safetensors")
    read = cpwl.read(tmp_path / "half.safetensors")
    assert (read.layers[1][0].toarray() == half["2.weight"].astype(float)).all()


def test_pytorch_loads_the_tensors(tmp_path):
    """`to_torch` has the same names; bfloat16 is read at its exact value."""
    torch = pytest.importorskip("torch")
    files = pytest.importorskip("safetensors.torch")
    made = network()
    cpwl.io.to_safetensors(made, tmp_path / "a.safetensors")
    module = cpwl.io.to_torch(network(5))
    module.load_state_dict(files.load_file(tmp_path / "a.safetensors"))
    assert same(cpwl.io.from_torch(module), made)
    short = {name: tensor.to(torch.bfloat16) for name, tensor in module.state_dict().items()}
    files.save_file(short, tmp_path / "b.safetensors")
    weight = cpwl.io.from_safetensors(tmp_path / "b.safetensors").layers[0][0].toarray()
    assert (weight == short["0.weight"].to(torch.float64).numpy()).all()


def test_jax_computes_the_network():
    """In a process of its own (`support.with_jax`)."""
    pytest.importorskip("jax")
    command = [sys.executable, "-m", "support.with_jax"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
