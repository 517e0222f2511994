"""Points outside the domain: clipped to the box, with a proof, or refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError
from cpwl.exact.rational import fraction_array
from cpwl.network.algorithms import clipped, unclipped
from cpwl.network.network import rounded
from support.catalogue import function
from support.proofs import run_alone
from support.twins import catalogue_twin


def grid() -> cpwl.CPWL:
    return cpwl.CPWL.from_grid([[0, "1/3", 1], ["1/7", 2, 3]], [[[0, 1], [1, 2], [2, 0]], [[2, 1], [0, 0], [1, 5]], [[5, 1], [1, 2], [1, 1]]])  # fmt: skip  # noqa: E501


def nearest(x, low, high):
    return [[min(max(v, a), b) for v, a, b in zip(row, low, high, strict=True)] for row in x]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("construction", ["auto", "lattice", "gates", "clamped"])
def test_clipped_networks_are_proved_and_right_everywhere(construction):
    """The proof is of equality; at rational points all over the plane it is the function at the nearest point."""
    p = grid()
    c = cpwl.compile(p, construction=construction, outside="clip", certify=True)
    assert c.certificate is not None
    assert c.certificate.error_bound == 0
    assert c.certificate.kind.startswith("clipped of ")
    assert "nearest point" in c.certificate.statement
    assert c.outside == "clip"
    rng = np.random.default_rng(0)
    x = fraction_array(np.round(rng.normal(0, 3, (60, 2)), 3))
    far = fraction_array(np.array([[1e9, -1e9], [-1e12, 1.5], [0.5, 1e15]]))
    x = np.concatenate([x, far])
    exact = p(np.array(nearest(x, [Fraction(0), Fraction(1, 7)], [Fraction(1), Fraction(3)]), dtype=object))
    assert (c.network(x) == exact).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("weights", ["float64", "float32"])
def test_rounded_weights_have_a_bound_outside_too(weights):
    """The network as a file has it, evaluated in its type far outside: within both bounds of the nearest value."""
    p = grid()
    c = cpwl.compile(p, precision=weights, outside="clip", certify=True, weights=weights)
    assert c.certificate is not None
    assert c.certificate.proved
    net = rounded(c.network, weights)
    rng = np.random.default_rng(1)
    x = rng.normal(0, 50, (300, 2)).astype(weights).astype(float)
    exact = p(np.array(nearest(fraction_array(x), [Fraction(0), Fraction(1, 7)], [Fraction(1), Fraction(3)])))
    off = np.abs((net(fraction_array(x)) - exact).astype(float)).max()
    assert off <= float(c.certificate.error_bound)
    h = x.astype(weights).T
    for i, (weight, bias) in enumerate(net.layers):
        h = np.maximum(h, 0) if i else h
        h = weight.toarray().astype(weights) @ h + bias.astype(weights)[:, None]
    computed = np.abs(h.T.astype(float) - exact.astype(float)).max()
    assert computed <= float(c.certificate.error_bound) + c.certificate.evaluation_bound[weights]


def test_sizes_are_two_neurons_and_layers_more():
    """Two neurons for each input, in two more layers."""
    p = grid()
    free, clip = cpwl.compile(p), cpwl.compile(p, outside="clip")
    assert clip.sizes.neurons == free.sizes.neurons + 4
    assert clip.sizes.depth == free.sizes.depth + 2
    found = unclipped(clip.network)
    assert found is not None
    assert found.high == (1, 3)
    assert cpwl.equal(found.inner, free.network)
    assert unclipped(free.network) is None


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9])
def test_noisy_boxes_are_boxes(noise):
    """A float twin on a box: its network is clipped, and near the exact one outside."""
    p, data = catalogue_twin("strips_in_a_box", "column-major", noise)
    c = cpwl.compile(data.function(), outside="clip")
    exact = cpwl.compile(p, outside="clip").network
    x = np.random.default_rng(0).normal(0, 20, (200, p.dim))
    assert np.abs(c.network(x) - exact(x)).max() <= 1e-6 * max(1.0, np.abs(exact(x)).max())


def test_only_boxes_are_clipped():
    """A triangle, all of R, and a half-line are refused in one sentence."""
    for name in ("one_triangle", "hat", "half_line"):
        with pytest.raises(InputError, match="needs a bounded box"):
            cpwl.compile(function(name), outside="clip")
    with pytest.raises(InputError, match="`outside` must be one of"):
        cpwl.compile(grid(), outside="nearest")


def test_error_refuses_when_called():
    """The network is as it would be, and the result refuses points outside, with the first of them."""
    c = cpwl.compile(grid(), outside="error")
    assert c([[0.5, 1.0]]).shape == (1, 2)
    with pytest.raises(InputError, match=r"point 1 is outside the domain"):
        c([[0.5, 1.0], [0.5, 3.5]])
    assert c.metadata["cpwl.outside"] == "error"
    assert c.network([[0.5, 3.5]]).shape == (1, 2)


def test_the_stand_alone_checker_says_it(tmp_path, monkeypatch):
    """``cpwl compile --outside clip --certify``; the copied checker accepts the files, and refuses a moved end."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(grid(), "law.json")
    assert main(["compile", "law.json", "-o", "net.json", "--outside", "clip", "--certify"]) == 0
    program = ["law.json", "net.json", "net.proof.json", "--max-error", "0"]
    code, said, _ = run_alone(program, tmp_path)
    assert code == 0, said
    assert "kind clipped of" in said
    document = json.loads(Path("net.json").read_text())
    document["layers"][0]["bias"][0] = str(Fraction(document["layers"][0]["bias"][0]) + Fraction(1, 10**30))
    Path("net.json").write_text(json.dumps(document))
    assert run_alone(program, tmp_path)[0] == 1


def test_onnx_files_are_clipped(tmp_path, monkeypatch):
    """The file computes the nearest value far away, in float32."""
    ort = pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    p = grid()
    cpwl.write(p, "law.json")
    assert main(["compile", "law.json", "-o", "law.onnx", "--outside", "clip", "--dtype", "float32"]) == 0
    session = ort.InferenceSession("law.onnx", providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"X": np.array([[1e8, -1e8]], dtype=np.float32)})
    assert np.abs(y - p(fraction_array([[1, "1/7"]])).astype(float)).max() < 1e-5


def test_c_code_of_a_clipped_result_clips_by_itself(tmp_path):
    """The network behind is written, and the guard of the code clips."""
    c = cpwl.compile(grid(), outside="clip")
    code = cpwl.io.to_c(c, tmp_path / "law.h", form="network")
    assert code.outside == "clip"
    assert code.body.network.sizes.neurons == c.sizes.neurons - 4
    assert np.abs(code([[50.0, -3.0]]) - c.network([[50.0, -3.0]])).max() < 1e-12


def test_clipping_is_exact_arithmetic():
    """Ends that floats do not have, and a network without hidden layers."""
    net = clipped(
        cpwl.Network([([["1/3", 2]], ["1/7"])]), [Fraction(1, 3), Fraction(0)], [Fraction(2, 3), Fraction(1, 9)]
    )
    value = net(fraction_array([[-5, 7]]))[0, 0]
    assert value == Fraction(1, 9) + Fraction(2, 9) + Fraction(1, 7)
