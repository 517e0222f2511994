"""Networks by their weights: Keras-style lists, the real safetensors library, PyTorch's names, and NumPy's files."""

import io
import json
import struct
import warnings
import zipfile

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.weights import from_named_weights, from_npz, from_safetensors, from_weights

RNG = np.random.default_rng(0)
WEIGHTS = [RNG.normal(size=(5, 3)), RNG.normal(size=5), RNG.normal(size=(2, 5)), RNG.normal(size=2)]
POINTS = RNG.normal(size=(30, 3))
EXPECTED = np.maximum(POINTS @ WEIGHTS[0].T + WEIGHTS[1], 0) @ WEIGHTS[2].T + WEIGHTS[3]
NAMED = dict(zip(["0.weight", "0.bias", "2.weight", "2.bias"], WEIGHTS, strict=True))


def test_lists():
    """Keras' orientation is (inputs, outputs), PyTorch's the other one."""
    keras = [w.T if w.ndim == 2 else w for w in WEIGHTS]
    np.testing.assert_allclose(from_weights(keras)(POINTS), EXPECTED)
    np.testing.assert_allclose(from_weights(WEIGHTS, layout="torch")(POINTS), EXPECTED)


@pytest.mark.parametrize(
    "names",
    [
        ["2.weight", "2.bias", "10.weight", "10.bias"],
        ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"],
        ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"],
        ["W1", "b1", "W2", "b2"],
        ["weight_0", "bias_0", "weight_1", "bias_1"],
    ],
)
def test_names(names):
    """Layers are in the order of their names, whatever the order of the file."""
    tensors = dict(reversed(list(zip(names, WEIGHTS, strict=True))))
    np.testing.assert_allclose(from_named_weights(tensors)(POINTS), EXPECTED)


def test_kernels_and_missing_biases():
    """Flax calls its matrices kernels, the other way round."""
    tensors = {"Dense_0/kernel": WEIGHTS[0].T, "Dense_0/bias": WEIGHTS[1], "Dense_1/kernel": WEIGHTS[2].T}
    np.testing.assert_allclose(from_named_weights(tensors)(POINTS), EXPECTED - WEIGHTS[3])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_real_safetensors(tmp_path, dtype):
    """Files of the library itself, at the exact value of every number."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    tensors = {name: np.ascontiguousarray(w.astype(dtype)) for name, w in NAMED.items()}
    numpy_files.save_file(tensors, tmp_path / "net.safetensors", metadata={"made": "by a test"})
    network = from_safetensors(tmp_path / "net.safetensors")
    assert (network.layers[0][0].toarray() == tensors["0.weight"].astype(float)).all()
    assert (network.layers[1][1] == tensors["2.bias"].astype(float)).all()
    assert main(["convert", str(tmp_path / "net.safetensors"), str(tmp_path / "net.json")]) == 0
    assert cpwl.equal(cpwl.read(tmp_path / "net.json"), network)


def test_bfloat16_and_pytorch(tmp_path):
    """PyTorch's own state, in bfloat16."""
    torch = pytest.importorskip("torch")
    torch_files = pytest.importorskip("safetensors.torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2)).to(torch.bfloat16)
    torch_files.save_file(model.state_dict(), str(tmp_path / "net.safetensors"))
    wide = model.to(torch.float64)
    values = wide(torch.tensor(POINTS)).detach().numpy()
    np.testing.assert_allclose(from_safetensors(tmp_path / "net.safetensors")(POINTS), values, atol=1e-12)


def test_numpy_files(tmp_path):
    """Compressed or not."""
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "net.npz", **NAMED)
        np.testing.assert_allclose(from_npz(tmp_path / "net.npz")(POINTS), EXPECTED)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "no weights"),
        ({"0.running_mean": WEIGHTS[1]}, "neither the weight nor the bias"),
        ({"0.bias": WEIGHTS[1]}, "a bias but no weight"),
        ({"0.weight": WEIGHTS[1]}, "must be a matrix and a vector"),
        ({"0.weight": WEIGHTS[0], "0.kernel": WEIGHTS[0]}, "a second weight"),
        ({"0.weight": WEIGHTS[0], "1.weight": WEIGHTS[0]}, "layer 2 takes 3 inputs, but layer 1 gives 5"),
        ({"0.weight": WEIGHTS[0] * np.nan}, "finite"),
        ({"0.weight": WEIGHTS[0] + 1j}, "must hold numbers"),
    ],
)
def test_weights_that_are_refused(tensors, message):
    """What is no plain chain of layers."""
    with pytest.raises(InputError, match=message):
        from_named_weights(tensors)


def test_lists_that_are_refused():
    """Of an odd number, or of other things."""
    for given, message in [([], "in turn"), ([[[1]]], "in turn"), ([[1], [1]], "a matrix and a vector"), (3, "a list")]:
        with pytest.raises(InputError, match=message):
            from_weights(given)


def header(content, data=b""):
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text + data


ENTRY = {"dtype": "F64", "shape": [1, 1], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a .safetensors file"),
        (struct.pack("<Q", 2**62) + b"{}", "not a .safetensors file"),
        (header([]), "header of this .safetensors file is damaged"),
        (header({"0.weight": {**ENTRY, "dtype": "F8"}}, bytes(8)), "unsupported type"),
        (header({"0.weight": {**ENTRY, "shape": [2**39, 2**39]}}, bytes(8)), "does not fit"),
        (header({"0.weight": {**ENTRY, "shape": [-1, -1]}}, bytes(8)), "no valid entry"),
        (header({"0.weight": ENTRY}, bytes(4)), "does not fit"),
        (header({"0.weight": 7}), "unsupported type"),
    ],
)
def test_damaged_headers(tmp_path, raw, message):
    """One sentence, whatever the header says."""
    (tmp_path / "a.safetensors").write_bytes(raw)
    with pytest.raises(InputError, match=message):
        from_safetensors(tmp_path / "a.safetensors")


def test_names_that_are_there_twice(tmp_path):
    """Readers differ in which of two they take: neither is."""
    text = '{"0.weight": %s, "0.weight": %s}' % ((json.dumps(ENTRY),) * 2)
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text.encode() + bytes(8))
    with pytest.raises(InputError, match=r'has "0\.weight" twice'):
        from_safetensors(tmp_path / "a.safetensors")
    for second in ("0.weight.npy", "0.weight"):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for name, value in (("0.weight.npy", 1.0), (second, 2.0)):
                one = io.BytesIO()
                np.save(one, np.full((1, 1), value))
                archive.writestr(name, one.getvalue())
        with pytest.raises(InputError, match=r"`0\.weight` 2 times"):
            from_npz(tmp_path / "a.npz")


def test_archives_that_unfold(tmp_path):
    """A small file of very many zeros, and one with an object in it, which would have to be run."""
    np.savez_compressed(tmp_path / "a.npz", **{"0.weight": np.zeros((10**4, 10**4), dtype=np.int8)})
    with pytest.raises(LimitError, match="expands to"):
        from_npz(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", **{"0.weight": np.array([{}], dtype=object)})
    with pytest.raises(InputError, match="damaged"):
        from_npz(tmp_path / "b.npz")
