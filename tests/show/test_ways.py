"""Every way to run a function computes it: values are compared, times are not."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.show.ways import Way, measure_ways, taken
from support.catalogue import function


def test_ways_of_a_table_compute_the_table(monkeypatch):
    """All but SciPy, which multiplies on a grid; that one is told apart, and not recommended."""
    monkeypatch.setattr("cpwl.show.ways._LONG", 1e-4)
    p = cpwl.CPWL.from_grid([[0, 1, 2], [0, 1, 3]], [[0, 1, 0], [2, 0, 5], [1, 1, 3]])
    ways = {way.name: way for way in measure_ways(p, points=50)}
    other = ways.pop("SciPy RegularGridInterpolator")
    assert other.difference > 0.01
    assert "another function" in other.note
    assert {"p(x)", "NumPy network", "C network", "C tree", "C grid"} <= set(ways)
    ran = [way for way in ways.values() if not way.note]
    assert all(way.difference < 1e-14 and way.single > 0 and way.batch > 0 for way in ran)
    assert taken([other], "Python") is None
    # Nine values, (start, scale) of the even axis, three points and two scales of the other one.
    assert ways["C grid"].bytes == 8 * (9 + 2 + 3 + 2)
    if shutil.which("cc"):
        assert ways["C grid"].note == ""


def test_a_way_that_cannot_run_says_why(monkeypatch):
    """No compiler, no library, no grid: rows without times, and never taken."""
    monkeypatch.setattr("cpwl.show.ways._LONG", 1e-4)
    monkeypatch.setattr("cpwl.show.ways.shutil.which", lambda _: None)
    ways = {way.name: way for way in measure_ways(function("hat"), points=20)}
    assert "compiler" in ways["C tree"].note
    assert ways["C tree"].bytes > 0
    assert taken(list(ways.values()), "C") is None


def test_the_fastest_is_taken_by_its_use():
    """One point and batches have different winners."""
    ways = [Way("a", "Python", single=1.0, batch=1.0, difference=0.0), Way("b", "Python", 9.0, 0.1, difference=0.0)]
    assert [taken(ways, "Python", single=single).name for single in (True, False)] == ["a", "b"]


@pytest.mark.parametrize("words", [["--json"], []])
def test_the_command(tmp_path, monkeypatch, capsys, words):
    """A network in a file: a table for people, one object for programs."""
    monkeypatch.setattr("cpwl.show.ways._LONG", 1e-4)
    monkeypatch.setenv("COLUMNS", "40")
    rng = np.random.default_rng(0)
    network = cpwl.Network([(rng.standard_normal((3, 2)), rng.standard_normal(3)), (np.ones((1, 3)), np.zeros(1))])
    cpwl.write(network, tmp_path / "net.json")
    assert main(["bench", "run", str(tmp_path / "net.json"), "--points", "20", *words]) == 0
    said = capsys.readouterr().out
    if words:
        found = json.loads(said)
        assert {way["name"] for way in found["ways"]} >= {"NumPy network", "C network", "C tree"}
        assert found["taken"]["Python, batches"] is not None
    else:
        assert "Fastest in Python, batches: " in said
        assert "mult-adds" in said
        assert "…" not in said  # no number is cut off
