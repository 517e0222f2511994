"""The run times of Figure 5: every row is there, and the drawing shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import figures
import run_times
from cpwl.errors import InputError
from run_times import CURVES, RunTime, draw_run_times, figure5, measure_run_times, run_time_table

ROWS = [RunTime(n, q, 0.001 * q, 0.002 * q * q, 0.003 * q) for n in (1, 10) for q in (1, 2, 4)]


def test_one_row_for_each_pair_and_positive_seconds() -> None:
    """Rows come in order of inputs, then pieces, and every measured time is positive."""
    rows = measure_run_times(trials=1, pieces=(1, 2, 4))
    assert [(row.n, row.q) for row in rows] == [(n, q) for n in (1, 10, 100) for q in (1, 2, 4)]
    assert all(row.ours > 0 and row.naive > 0 for row in rows)


def test_functions_have_the_pieces_they_are_listed_under(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is timed are functions of `n` inputs and `q` pieces, a different one in each trial."""
    seen = []
    monkeypatch.setattr(run_times, "run_time", lambda p: (seen.append(p), (1.0, 1.0))[1])
    measure_run_times(trials=2, pieces=(1, 2, 4))
    pairs = [(n, q) for n in (1, 10, 100) for q in (1, 2, 4) for _ in range(2)]
    assert [(p.dim, p.num_pieces) for p in seen[1:]] == pairs
    assert (seen[-1].laws.offset != seen[-2].laws.offset).any()


def test_the_printed_seconds_are_the_paper_s() -> None:
    """Each of the 18 values that the paper prints is found under its inputs and pieces, and no other."""
    data = json.loads(Path(__file__).parents[2].joinpath("benchmarks", "paper.json").read_text(encoding="utf-8"))[
        "run_times"
    ]
    printed = run_times._printed()
    assert len(printed) == 18
    assert printed[(100, 32)] == float(dict(data[2]["coordinates"])["32"])


def test_progress_counts_every_trial() -> None:
    """The callback is told of each trial once, and the last call says that all is done."""
    calls: list[tuple[int, int]] = []
    measure_run_times(trials=2, dims=[1], pieces=[1, 2], progress=lambda done, total, _: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_impossible_pieces_are_refused() -> None:
    """With independent normals a random function has a power of 2 pieces, and no other number."""
    with pytest.raises(InputError, match="cannot have 3 pieces"):
        measure_run_times(trials=1, dims=[10], pieces=[3])


def test_figure_draws_the_rows(tmp_path: Path) -> None:
    """One panel for each number of inputs, with the three curves through the values of the rows."""
    figure = draw_run_times(ROWS, tmp_path / "figure5.svg")
    assert len(figure.axes) == 2
    for axes, n in zip(figure.axes, (1, 10), strict=True):
        for line, name in zip(axes.lines, CURVES, strict=True):
            assert list(line.get_ydata()) == [getattr(row, name) for row in ROWS if row.n == n]


def test_a_bad_name_is_refused_before_measuring(tmp_path: Path) -> None:
    """A format that we do not draw costs no time and leaves no file."""
    with pytest.raises(InputError, match="must end in"):
        figure5(tmp_path / "figure5.docx", progress=lambda *_: pytest.fail("measured"))
    assert not list(tmp_path.iterdir())


def test_table_and_json_have_all_rows() -> None:
    """The table has a line for each row, and each row becomes plain JSON with its ratio."""
    assert run_time_table(ROWS).row_count == len(ROWS)
    assert json.loads(json.dumps(ROWS[2].to_dict()))["naive_over_ours"] == pytest.approx(8)


def test_the_command_draws_and_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Figure 5 takes the number of trials, and prints what was measured; others are named on stdout."""
    asked = []
    monkeypatch.setattr(run_times, "measure_run_times", lambda *, trials, **_: asked.append(trials) or ROWS)
    figures.main(["5", "2", "--trials", "3", "-o", str(tmp_path / "new"), "--format", "svg"])
    said = capsys.readouterr().out
    assert asked == [3]
    assert f"{ROWS[0].ours:.4f}" in said
    assert all(str(tmp_path / "new" / f"figure{i}.svg") in said for i in (5, 2))
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["figure2.svg", "figure5.svg"]
