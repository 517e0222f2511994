"""Networks of integers: equal to the function, in ONNX and in C, and proved not to overflow."""

from __future__ import annotations

import copy
import ctypes
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import onnxruntime
import pytest

import cpwl
from cpwl.cli import main
from cpwl.documents.write import function_document, network_document
from cpwl.errors import InputError, LimitError
from cpwl.network.integer import fixed_point, integer_network
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.catalogue import function


def table(seed: int = 0) -> cpwl.CPWL:
    """Integers on integer points."""
    values = np.random.default_rng(seed).integers(-8, 8, (4, 5))
    return cpwl.CPWL.from_grid([range(4), range(5)], values)


def inputs(network, p: cpwl.CPWL, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Fixed-point inputs in the box of the table, and their values as fractions."""
    one = 2**network.fraction
    q = np.random.default_rng(1).integers(0, [3 * one + 1, 4 * one + 1], (count, 2))
    return q, p(np.array([[Fraction(int(v), one) for v in row] for row in q], dtype=object))


def values(network, z: np.ndarray) -> np.ndarray:
    return np.array([[int(v) / s for v, s in zip(row, network.scales[-1], strict=True)] for row in z], dtype=object)


def test_it_is_the_table():
    """In rationals, at fixed-point inputs of the table; the sums of any order stay below their limit."""
    compiled = cpwl.compile(table(), weights="int8", inputs="Q3.4")
    network = compiled.integer
    q, exact = inputs(network, table())
    assert (values(network, network(q)) == exact).all()
    assert "do not overflow" in compiled.certificate.statement
    assert max(np.abs(weight.data).max() for weight, _ in network.layers) < 128


@pytest.mark.parametrize("weights", ["int8", "int16"])
def test_onnxruntime_computes_the_same_integers(tmp_path, weights):
    """All inputs of the format, far outside the table, too: nothing overflows."""
    compiled = cpwl.compile(table(), weights=weights, inputs="Q3.4")
    cpwl.io.to_onnx(compiled, tmp_path / "net.onnx", batch="N")
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    q = np.stack(np.meshgrid(np.arange(-128, 128, 3), np.arange(-128, 128, 5)), axis=-1).reshape(-1, 2)
    q = np.concatenate([q, [[-128, 127], [127, 127]]])
    assert (session.run(None, {"X": q.astype(np.int8)})[0] == compiled.integer(q)).all()
    names = {node.op_type for node in cpwl_nodes(tmp_path / "net.onnx")}
    assert ("MatMulInteger" in names) == (weights == "int8")
    assert not names & {"Gemm", "Relu"}


def cpwl_nodes(path):
    import onnx

    return onnx.load(path).graph.node


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc here to compile the header with")
@pytest.mark.parametrize("format", ["Q3.4", "Q3.12"])
def test_c_has_integers_only(tmp_path, format):
    """Strict C99 without a float, run with a sanitizer for signed overflow."""
    compiled = cpwl.compile(table(), weights="int16", inputs=format)
    network = compiled.integer
    code = cpwl.io.to_c(compiled, tmp_path / "law.h")
    assert code.error_bound == 0
    assert not any(word in code.text for word in ("double", "float"))
    kinds = {name: getattr(ctypes, f"c_{name}") for name in (network.input_type, network.sum_type)}
    given, found = f"{network.input_type}_t", f"{network.sum_type}_t"
    (tmp_path / "run.c").write_text(
        f'#include "law.h"\nvoid run(const {given} *x, {found} *y, long n);\nvoid run(const {given} *x, {found} *y, '
        "long n)\n{\n    for (long i = 0; i < n; ++i) law(x + 2 * i, y + i);\n}\n"
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsanitize=undefined", "-fno-sanitize-recover"]
    subprocess.run(["gcc", *flags, "-fPIC", "-shared", "run.c", "-o", "run.so"], cwd=tmp_path, check=True)
    half = 2 ** (network.bits - 1)
    q = np.random.default_rng(0).integers(-half, half, (500, 2)).astype(network.input_type)
    q = np.ascontiguousarray(np.concatenate([q, [[-half, half - 1], [-half, -half]]]).astype(network.input_type))
    z = np.empty((len(q), 1), dtype=network.sum_type)
    pointers = (q.ctypes.data_as(ctypes.POINTER(kinds[network.input_type])), z.ctypes.data_as(ctypes.c_void_p))
    ctypes.CDLL(str(tmp_path / "run.so")).run(*pointers, ctypes.c_long(len(q)))
    assert (z == code(q)).all()


STEEP = cpwl.CPWL.from_grid([[0, 1, 2]], [0, 1000, 17])
"""Integers beyond int8."""


@pytest.mark.parametrize(("p", "weights"), [(STEEP, "int8"), (function("hat"), "int8"), (table(2) * "1/7", "int16")])
def test_weights_that_are_not_exact_have_a_proved_error(tmp_path, p, weights):
    """The checker accepts it; integers, rationals and onnxruntime agree; no input of the domain is further off."""
    compiled = cpwl.compile(p, weights=weights, inputs="Q3.4", within="9%")
    network, proof = compiled.integer, compiled.certificate
    assert check(function_document(p), network_document(compiled.network), proof.document) == proof.error_bound
    assert proof.error_bound <= compiled.within.tolerance[0]
    one = 2**network.fraction
    q = np.stack(np.meshgrid(*[np.arange(-2 * one, 3 * one, 3)] * p.dim), axis=-1).reshape(-1, p.dim)
    x = np.array([[Fraction(int(v), one) for v in row] for row in q], dtype=object)
    got = values(network, network(q))
    assert (got == compiled.network(x)).all()
    inside = [(g, v) for g, v in zip(got[:, 0], p(x)[:, 0], strict=True) if v is not None]
    assert inside
    assert max(abs(g - v) for g, v in inside) <= proof.error_bound
    cpwl.io.to_onnx(compiled, tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    assert (session.run(None, {"X": q.astype(network.input_type)})[0] == network(q)).all()


def test_without_a_tolerance_the_error_is_told():
    """Where int8 is too short, the nearest weights and how far they are; a tolerance that is too small is refused."""
    compiled = cpwl.compile(STEEP, weights="int8")
    assert 0 < compiled.within.distance.largest == cpwl.distance(STEEP, compiled.network).largest < 2
    assert compiled.certificate.error_bound >= compiled.within.distance.largest
    with pytest.raises(LimitError, match=r"within that error: the nearest that was found may be off by 1\.6"):
        cpwl.compile(STEEP, weights="int8", within=1)
    with pytest.raises(LimitError, match="not bounded"):
        cpwl.compile(cpwl.CPWL.from_maxmin([["1/3", 0], [0, "1/7"]], [[0], [1]]), weights="float16")


def test_other_data_is_refused_with_the_weight():
    """Weights beyond the type, a format that is none, options that do not go together."""
    steep = STEEP
    with pytest.raises(LimitError, match="as an integer, beyond int8"):
        integer_network(cpwl.compile(steep).network, "int8", "Q3.4")
    assert cpwl.compile(steep, weights="int16").integer.weights == "int16"
    for text in ("7.8", "Q40.1", "Q0.0", 8):
        with pytest.raises(InputError, match=r"Q7\.8"):
            fixed_point(text)
    with pytest.raises(InputError, match="one tolerance at a time"):
        cpwl.tradeoff(steep, weights="int16")
    with pytest.raises(InputError, match="format of the inputs"):
        cpwl.compile(steep, inputs="Q7.8")


def test_thirds_and_unbounded_domains_have_scales():
    """A law with thirds is exact, too: its output is divided by a multiple of 3."""
    p = cpwl.CPWL.from_breakpoints([0, "1/3"], [0, "1/7"], left_slope="-1/3", right_slope=2)
    network = cpwl.compile(p, weights="int16").integer
    q = np.arange(-300, 300)[:, None]
    exact = p(np.array([[Fraction(int(v), 2**network.fraction)] for v in q[:, 0]], dtype=object))
    assert (values(network, network(q)) == exact).all()


def documents() -> tuple[dict, dict, dict]:
    compiled = cpwl.compile(function("hat"), weights="int8", inputs="Q3.4")
    return (
        function_document(function("hat")),
        network_document(compiled.network),
        copy.deepcopy(compiled.certificate.document),
    )


def test_the_checker_refuses_what_is_wrong():
    """Every number of the proof and every weight, changed: refused, down to 1e-30."""
    law, network, proof = documents()
    assert check(law, network, proof) == 0
    tiny = Fraction(1, 10**30)
    wrong: list[tuple[dict, dict]] = []
    for layer, scales in enumerate(proof["scales"]):
        for i, scale in enumerate(scales):
            for other in (Fraction(scale) + tiny, -Fraction(scale), Fraction(scale) * 1000, Fraction(scale) / 1024):
                changed = copy.deepcopy(proof)
                changed["scales"][layer][i] = str(other)
                wrong.append((network, changed))
    for name, value in (("weights", 7), ("accumulator", 16), ("bits", 40), ("fraction", -1), ("scales", [["1"]])):
        wrong.append((network, proof | {name: value}))
    wrong.append((network, proof | {"proof": proof}))
    for other, changed in wrong:
        with pytest.raises(Refused):
            check(law, other, changed)


def test_the_checker_counts_sums_in_any_order():
    """Large parts that cancel: the exact sum is small, but a part of it is beyond 32 bits."""
    p = cpwl.CPWL.from_grid([[0, 1]], [0, 0])
    layers = [([[1], [1]], [0, 0]), ([[30000, -30000]], [0])]
    network = cpwl.Network([(np.array(w, dtype=object), np.array(b, dtype=object)) for w, b in layers])
    found = integer_network(network, "int16", "Q15.16")
    assert found.accumulator == 64
    inner = cpwl.certify(p, network).document
    head = {"format": "cpwl-proof", "version": 1, "kind": "integer", "inputs": 1, "error_bound": 0}
    sizes = {"weights": 16, "bits": 32, "fraction": 16, "scales": [[str(s) for s in row] for row in found.scales]}
    documents = function_document(p), network_document(network)
    assert check(*documents, head | sizes | {"accumulator": 64, "proof": inner}) == 0
    with pytest.raises(Refused, match="beyond 32 bits"):
        check(*documents, head | sizes | {"accumulator": 32, "proof": inner})


def test_the_ranges_are_those_of_brute_force():
    """Small networks, all inputs, all orders of summation: the proved accumulator holds every partial sum."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        layers = [(rng.integers(-5, 6, (3, 1)), rng.integers(-9, 9, 3)), (rng.integers(-5, 6, (1, 3)), [0])]
        network = cpwl.Network([(np.array(w, dtype=object), np.array(b, dtype=object)) for w, b in layers])
        found = integer_network(network, "int8", "Q1.2")
        h = np.arange(-8, 8)[None]
        for (weight, bias), reach in zip(found.layers, found.reach, strict=True):
            assert np.abs(h).max() <= reach
            h = np.maximum(weight @ h + bias[:, None], 0)


def test_the_command(tmp_path, monkeypatch, capsys):
    """``--dtype int8 --inputs Q3.4``: a header, and with ``--certify`` the exact network and its proof beside."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(table(), "law.json")
    assert main(["compile", "law.json", "-o", "law.h", "--dtype", "int8", "--inputs", "Q3.4"]) == 0
    assert "Q3.4" in (tmp_path / "law.h").read_text()
    assert main(["compile", "law.json", "-o", "net.onnx", "--dtype", "int8", "--certify"]) == 0
    assert "do not overflow" in capsys.readouterr().out
    assert main(["check", "law.json", "net.network.json", "net.proof.json"]) == 0
    assert main(["compile", "law.json", "-o", "net.onnx", "--inputs", "Q3.4"]) == 64
