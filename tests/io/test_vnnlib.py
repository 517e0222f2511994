"""Benchmarks with ground truth: other programs agree with every answer."""

from __future__ import annotations

import csv
import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.vnnlib import decimal, to_vnnlib


def small(seed: int = 0, sizes: tuple[int, ...] = (2, 5, 4, 2)) -> cpwl.Network:
    rng = np.random.default_rng(seed)
    return cpwl.Network([(rng.standard_normal((b, a)), rng.standard_normal(b)) for a, b in itertools.pairwise(sizes)])


def parsed(text: str) -> tuple[np.ndarray, list[list[tuple[str, int, Fraction]]]]:
    """The box and the assertion, as a list of alternatives: what a tool would read, written for this test."""
    body = re.sub(r";.*", "", text)
    inputs = len(re.findall(r"declare-const X_", body))
    box = np.zeros((inputs, 2), dtype=object)
    for relation, i, value in re.findall(r"\(assert \((<=|>=) X_(\d+) (\S+)\)\)", body):
        box[int(i), 1 if relation == "<=" else 0] = Fraction(value)
    last = body.strip().splitlines()[-1]
    groups = re.findall(r"\(and (.*?\))\)", last) if "(or" in last else [last]
    found = [[(r, int(k), Fraction(v)) for r, k, v in re.findall(r"\((<=|>=) Y_(\d+) ([^\s()]+)\)", g)] for g in groups]
    return box, found


def holds(y: np.ndarray, alternatives: list[list[tuple[str, int, Fraction]]], slack: float = 0.0) -> bool:
    return any(
        all(y[k] >= v - slack if r == ">=" else y[k] <= v + slack for r, k, v in group) for group in alternatives
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_answer_is_confirmed_by_highs_and_onnxruntime(tmp_path, dtype):
    """Read back from the files alone: HiGHS decides each query, onnxruntime evaluates each counterexample."""
    ort = pytest.importorskip("onnxruntime")
    made = cpwl.io.to_vnnlib(small(), tmp_path / "bench", box=(-1, 1), dtype=dtype)
    assert [q.answer for q in made.queries].count("sat") == [q.answer for q in made.queries].count("unsat") == 4
    truth = {entry["vnnlib"]: entry for entry in json.loads((tmp_path / "bench" / "ground_truth.json").read_text())}
    rows = list(csv.reader((tmp_path / "bench" / "instances.csv").read_text().splitlines()))
    assert len(rows) == len(truth) == 8
    for onnx, vnnlib, timeout in rows:
        assert int(timeout) == 60
        box, alternatives = parsed((tmp_path / "bench" / vnnlib).read_text())
        network = cpwl.io.from_onnx(tmp_path / "bench" / onnx)
        milp = cpwl.io.to_milp(network, box=(list(box[:, 0]), list(box[:, 1])), max_regions=1)
        (((relation, k, value),),) = alternatives
        largest = relation == ">="
        best, _ = milp.optimum([float(i == k) for i in range(2)], largest=largest)
        reached = best >= float(value) if largest else best <= float(value)
        assert reached == (truth[vnnlib]["answer"] == "sat")
        assert abs(best - float(Fraction(truth[vnnlib]["value"]))) < 1e-5
        if truth[vnnlib]["answer"] == "sat":
            x = truth[vnnlib]["witness"]["X_float"]
            assert all(low <= v <= high for v, (low, high) in zip(x, box, strict=True))
            session = ort.InferenceSession(tmp_path / "bench" / onnx, providers=["CPUExecutionProvider"])
            (y,) = session.run(None, {"X": np.array([x], dtype=dtype)})
            assert holds(y[0], alternatives)
        else:
            points = np.random.default_rng(1).uniform(-1, 1, (2000, 2))
            assert not any(holds(y, alternatives) for y in network(points))


def test_queries_are_near_the_exact_value(tmp_path):
    """Thresholds are on the right side, exactly, and within the margin; counterexamples are exact ones."""
    made = cpwl.io.to_vnnlib(small(3), tmp_path / "bench", box=(-1, "1/2"), margin=1e-4)
    for q in made.queries:
        beyond = (q.threshold > q.value) if "max" in q.name else (q.threshold < q.value)
        assert beyond == (q.answer == "unsat")
        assert abs(q.threshold - q.value) < 1e-3 * max(1, abs(q.value) + 10)
        if q.witness is not None:
            k = int(q.name[1])
            assert made.network(np.array([q.witness], dtype=object))[0, k] == q.value


def test_functions_bring_their_box(tmp_path):
    """A table on a grid: the largest value is one of the table, up to float32."""
    p = cpwl.CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 3], [1, -2], [5, 4]])
    made = cpwl.io.to_vnnlib(p, tmp_path / "bench")
    values = {q.name: float(q.value) for q in made.queries}
    assert abs(values["y0_max_sat"] - 5) < 1e-5
    assert abs(values["y0_min_sat"] + 2) < 1e-5
    assert (made.low, made.high) == ((0, 0), (2, 1))


def test_equivalence_queries(tmp_path):
    """Equal networks: only unsat. Different ones: the largest gap, where it is attained, confirmed by `equal`."""
    a = cpwl.Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    b = cpwl.Network([([[2]], [0]), ([[1]], [0])])  # 2 relu(x), which is |x| + x
    minus = cpwl.Network([([[1], [-1], [1]], [0, 0, 0]), ([[1, 1, 0]], [0])])
    same = cpwl.io.to_vnnlib(a, tmp_path / "same", box=(-1, 1), against=minus)
    assert [q.answer for q in same.queries] == ["unsat"]
    other = cpwl.io.to_vnnlib(a, tmp_path / "other", box=(-3, 1), against=b)
    assert {q.answer: q.value for q in other.queries} == {"sat": 3, "unsat": 3}
    verdict = cpwl.equal(a, b, domain=([[1], [-1]], [1, 3]))
    assert verdict.gap == 3
    _, alternatives = parsed((tmp_path / "other" / "vnnlib" / "equal_sat.vnnlib").read_text())
    assert len(alternatives) == 2
    (witness,) = (q.witness for q in other.queries if q.witness)
    assert holds(other.network(np.array([witness], dtype=object))[0], alternatives)


def test_decimals_are_exact():
    """Every double has finite decimals, and they are all written."""
    for value in (0.1, -1.5, 3.0, 2.0**-60, -(2.0**70) - 1, 0.0, np.float32(0.3)):
        assert Fraction(decimal(Fraction(float(value)))) == Fraction(float(value))


def test_mistakes_are_one_sentence(tmp_path, monkeypatch, capsys):
    """Nothing is written where there is no box, too many regions, or something there already."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(small(), "net.json")
    with pytest.raises(InputError, match="needs a bounded box"):
        cpwl.io.to_vnnlib(small(), "bench")
    with pytest.raises(LimitError, match="more than 2 regions"):
        cpwl.io.to_vnnlib(small(), "bench", box=(-1, 1), max_regions=2)
    with pytest.raises(InputError, match=r"the first maps R\^2 to R\^2, the second R\^2 to R\^1"):
        cpwl.io.to_vnnlib(small(), "bench", box=(-1, 1), against=small(0, (2, 3, 1)))
    assert main(["vnnlib", "net.json", "-o", "bench"]) == 65
    assert main(["vnnlib", "net.json", "-o", "net.json", "--box", "-1", "1"]) == 65
    assert main(["vnnlib", "net.json", "-o", "none/bench", "--box", "-1", "1"]) == 65
    assert main(["vnnlib", "net.json", "-o", "bench", "--box", "1", "-1"]) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["net.json"]
    capsys.readouterr()
    assert main(["vnnlib", "net.json", "-o", "bench", "--box", "-1", "1"]) == 0
    assert "8 instances" in capsys.readouterr().out
    assert main(["vnnlib", "net.json", "-o", "bench", "--box", "-1", "1"]) == 65
    assert "is not empty" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "net.json"]


def test_a_box_beyond_the_domain_is_refused(tmp_path):
    """Of a function, and of what it is compared with; a network has no domain."""
    hat = cpwl.CPWL.from_grid([[0, 1, 2]], [0, 1, 0])
    net = cpwl.compile(hat).network
    for source, against in ((hat, None), (net, hat)):
        with pytest.raises(InputError, match=r"beyond the domain of the function, as far as x = \(5\)"):
            to_vnnlib(source, tmp_path / "a", box=(0, 5), against=against)
    assert to_vnnlib(net, tmp_path / "b", box=(0, 5)).queries
    assert to_vnnlib(hat, tmp_path / "c", box=(0, 1)).queries
