"""Our own figures: what is drawn is what was measured, and what was measured is what the compiler gives."""

from __future__ import annotations

from pathlib import Path

import pytest

import cpwl
import figures
from bench_functions import delaunay, random_breakpoints
from cpwl import bounds
from error_figure import Error, figure_of_errors, front, measure_errors
from size_figure import figure_of_sizes, measure_sizes
from time_figure import figure_of_times, measure_times


def test_sizes_are_those_of_the_networks() -> None:
    """What is planned for the figure has as many neurons as what is compiled; bounds are the published ones."""
    sizes = measure_sizes({1: (5,), 2: (3,)})
    for n, p in ((1, random_breakpoints(5, 0)), (2, delaunay(2, 3, 0))):
        here = {size.name: size.neurons for size in sizes if size.n == n}
        assert here.pop("Theorem 1") == bounds.theorem1(p.num_pieces).neurons
        assert here.pop("Hertrich et al.") == bounds.hertrich2021(n, p.num_components)
        assert here.pop("lower bound") <= min(here.values())
        for name, neurons in here.items():
            assert cpwl.compile(p, construction=name).sizes.neurons == neurons  # type: ignore[arg-type]


def test_every_size_is_drawn(tmp_path: Path) -> None:
    """One panel for each number of inputs, one line for each construction and bound that is above 0."""
    sizes = measure_sizes({1: (3, 5)})
    figure = figure_of_sizes(tmp_path / "sizes.svg", sizes)
    (axes,) = figure.axes
    drawn = {line.get_label(): list(zip(*line.get_data(), strict=True)) for line in axes.lines}
    for size in sizes:
        assert (size.q, size.neurons) in [(int(q), int(v)) for q, v in drawn[size.name]]
    assert (tmp_path / "sizes.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.slow
def test_errors_are_small_and_the_default_is_marked(tmp_path: Path) -> None:
    """In float32 nothing is exact, nothing is far off, and one construction is taken."""
    rows = measure_errors({"a table": delaunay(2, 2, 0)})
    assert len(rows) >= 3
    assert all(0 < row.error < 1e-3 for row in rows)
    assert sum(row.taken for row in rows) == 1
    (axes,) = figure_of_errors(tmp_path / "errors.png", rows).axes
    assert {text.get_text() for text in axes.texts} == {row.construction for row in rows}


def test_the_front_has_no_network_that_another_beats() -> None:
    """By definition, checked for all pairs."""
    rows = [
        Error("", str(k), n, e, False) for k, (n, e) in enumerate([(5, 3.0), (5, 2.0), (7, 2.0), (8, 1.0), (9, 5.0)])
    ]
    best = front(rows)
    beaten = [
        a
        for a in rows
        if any(
            (b.neurons <= a.neurons and b.error < a.error) or (b.neurons < a.neurons and b.error <= a.error)
            for b in rows
        )
    ]
    assert set(best) == set(rows) - set(beaten)


@pytest.mark.slow
def test_times_are_measured_for_every_step(tmp_path: Path) -> None:
    """Every step of every function has a point."""
    rows = measure_times({"line": (lambda size: random_breakpoints(size, 0), (3, 6))})
    assert {row.step for row in rows} == {"doctor", "compile", "certify", "extract"}
    assert all(row.seconds >= 0 for row in rows)
    (axes,) = figure_of_times(tmp_path / "times.pdf", rows).axes
    assert sum(len(line.get_xdata()) for line in axes.lines) == len(rows) == 8


def test_the_command_draws_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python benchmarks/figures.py sizes` writes sizes.png."""
    monkeypatch.setattr("size_figure.measure_sizes", lambda **_: measure_sizes({1: (3,)}))
    figures.main(["sizes", "-o", str(tmp_path)])
    assert (tmp_path / "sizes.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "sizes.png") in capsys.readouterr().out
    with pytest.raises(SystemExit):
        figures.main(["sizes", "colours", "-o", str(tmp_path)])
    assert "'colours' is not one of 1, 2, 5, sizes, errors, times" in capsys.readouterr().err
