"""Networks as named arrays: npz, safetensors and JAX, against NumPy, the safetensors library, PyTorch and JAX."""

from __future__ import annotations

import io
import itertools
import zipfile

import numpy as np
import pytest

import cpwl
from cpwl.errors import CpwlError, InputError, LimitError
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
    write, read = getattr(cpwl, f"to_{ending}"), getattr(cpwl, f"from_{ending}")
    write(network(), tmp_path / "a", dtype=dtype)
    write(network(), tmp_path / "b", dtype=dtype)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert same(read(tmp_path / "a"), rounded(network(), dtype))


def test_numpy_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    """`numpy.load`; `numpy.savez` with and without names, and compressed; Keras's kernels."""
    made = network()
    cpwl.to_npz(made, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as held:
        assert list(held) == [f"{part}_{i}" for i in (1, 2, 3) for part in ("weight", "bias")]
        assert (held["weight_2"] == made.layers[1][0].toarray()).all()
    arrays = [array for weight, bias in made.layers for array in (weight.toarray(), bias)]
    np.savez(tmp_path / "plain.npz", *arrays)
    np.savez_compressed(tmp_path / "named.npz", **dict(zip(["W1", "b1", "W2", "b2", "W3", "b3"], arrays, strict=True)))
    kernels = {f"dense_{i}/kernel": weight.toarray().T for i, (weight, _) in enumerate(made.layers)}
    np.savez(tmp_path / "keras.npz", **kernels, **{f"dense_{i}/bias": bias for i, (_, bias) in enumerate(made.layers)})
    for name in ("plain", "named", "keras"):
        assert same(cpwl.read(tmp_path / f"{name}.npz"), made)


def test_order_goes_by_numbers(tmp_path):
    """Layer 10 comes after layer 9, wherever it is in the file."""
    made = network(1, (1, *[2] * 11, 1))
    arrays = {f"fc{i}.{part}": a for i, pair in enumerate(made.layers) for part, a in zip(("weight", "bias"), (pair[0].toarray(), pair[1]), strict=True)}  # fmt: skip  # noqa: E501
    np.savez(tmp_path / "a.npz", **dict(sorted(arrays.items())))
    assert same(cpwl.from_npz(tmp_path / "a.npz"), made)


def test_the_safetensors_library_agrees(tmp_path):
    """It reads our files, and we read its own, in half precision, too."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    made = network()
    cpwl.to_safetensors(made, tmp_path / "a.safetensors")
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
    cpwl.to_safetensors(made, tmp_path / "a.safetensors")
    module = cpwl.to_torch(network(5))
    module.load_state_dict(files.load_file(tmp_path / "a.safetensors"))
    assert same(cpwl.from_torch(module), made)
    short = {name: tensor.to(torch.bfloat16) for name, tensor in module.state_dict().items()}
    files.save_file(short, tmp_path / "b.safetensors")
    weight = cpwl.from_safetensors(tmp_path / "b.safetensors").layers[0][0].toarray()
    assert (weight == short["0.weight"].to(torch.float64).numpy()).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jax_computes_the_network():
    """Values, a batch, a gradient; float64 is refused where JAX rounds it to 32 bits."""
    jax = pytest.importorskip("jax")
    made = network()
    f = cpwl.to_jax(made)
    x = np.random.default_rng(0).standard_normal((50, 2)).astype(np.float32)
    assert np.abs(np.asarray(jax.jit(f)(x)) - made(x)).max() < 1e-5
    assert np.asarray(f(x[0])).shape == (3,)
    slope = jax.grad(lambda v: f(v)[0])(x[0])
    step = 1e-4 * np.eye(2)
    numeric = (made(x[0] + step)[:, 0] - made(x[0] - step)[:, 0]) / 2e-4
    assert np.abs(np.asarray(slope) - numeric).max() < 1e-3
    with pytest.raises(InputError, match="jax_enable_x64"):
        cpwl.to_jax(made, dtype="float64")


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_damaged_files_are_one_sentence(tmp_path, ending):
    """Cut off, with a byte changed, and random: a network or a `CpwlError`, nothing else."""
    getattr(cpwl, f"to_{ending}")(network(0, (2, 3, 1)), tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    read = getattr(cpwl, f"from_{ending}")
    rng = np.random.default_rng(0)
    cases = [data[:k] for k in range(0, len(data), 97)] + [rng.bytes(200), b"", b"\xff" * 40]
    places = rng.integers(len(data), size=150)
    cases += [data[:k] + bytes([data[k] ^ (1 << int(rng.integers(8)))]) + data[k + 1 :] for k in places]
    said = []
    for case in cases:
        (tmp_path / "b").write_bytes(case)
        try:
            read(tmp_path / "b")
        except CpwlError as error:
            said.append(str(error))
    assert len(said) > 20
    assert not any("\n" in text for text in said)


def test_arrays_that_make_no_layers_are_refused(tmp_path):
    """Three dimensions, words, objects, two biases of one layer, and a zip that unfolds to far more than it is."""
    for arrays, said in (
        ({"W1": np.zeros((2, 2, 2))}, "of shape"),
        ({"W1": np.array([["a"]])}, "of shape"),
        ({"b1": np.zeros(2)}, "no weight"),
        ({"x.b1": np.zeros(2), "x.bias1": np.zeros(2)}, "one layer"),
        ({"W1": np.zeros((2, 3)), "W2": np.zeros((1, 5))}, "layer 2 takes 5"),
    ):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(InputError, match=said):
            cpwl.from_npz(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", W1=np.array([[None]]))
    with pytest.raises(InputError, match=r"not an \.npz file"):
        cpwl.from_npz(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file:
        stream = io.BytesIO()
        np.save(stream, np.zeros((1, 2**24)))
        file.writestr("W1.npy", stream.getvalue())
    with pytest.raises(LimitError, match="far more than it is"):
        cpwl.from_npz(tmp_path / "bomb.npz")
