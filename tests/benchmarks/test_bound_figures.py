"""Figures 1 and 2 as we draw them: the curves are the paper's, and the files are always the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from bound_figures import Curve, Panel, _points, figure1, figure2
from cpwl import bounds
from cpwl.errors import InputError

PRINTED = json.loads(Path(__file__).parents[2].joinpath("benchmarks", "paper.json").read_text(encoding="utf-8"))[
    "curves"
]
DRAW: dict[int, Callable[[str | Path], Figure]] = {1: figure1, 2: figure2}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", DRAW)
def test_curves_drawn_are_the_curves_printed(number: int, tmp_path: Path) -> None:
    """Inside the axes, every line passes through the printed points, and the printed zeros are left out."""
    axes = DRAW[number](tmp_path / "figure.svg").axes
    printed = [c for c in PRINTED if c["figure"] == number]
    panels = [list(group) for _, group in groupby(printed, key=lambda c: c["panel"])]
    assert len(axes) == len(panels)
    for ax, panel in zip(axes, panels, strict=True):
        assert len(ax.lines) == len(panel)
        (_, last), (_, top) = ax.get_xlim(), ax.get_ylim()
        for line, curve in zip(ax.lines, panel, strict=True):
            points = [(int(x), float(y)) for x, y in curve["coordinates"]]
            expected = dict(p for p in points if p[0] <= last and 1 <= p[1] <= top)
            drawn = {x: y for x, y in zip(*line.get_data(), strict=True) if y <= top}
            assert drawn == pytest.approx(expected, rel=1e-15)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", DRAW)
def test_every_curve_is_named(number: int, tmp_path: Path) -> None:
    """Each line's label names its number of inputs, and is to be read in the panel."""
    axes = DRAW[number](tmp_path / "figure.svg").axes
    for line, curve in zip(
        [line for ax in axes for line in ax.lines], PRINTED[0 if number == 1 else 9 :], strict=False
    ):
        legend = line.axes.get_legend()
        shown = [text.get_text() for text in (legend.texts if legend else line.axes.texts)]
        assert line.get_label() in shown
        assert line.get_label().endswith("any $n$" if curve["n"] is None else f"$n = {curve['n']}$")


def test_a_curve_leaves_its_panel_and_ends() -> None:
    """The first value beyond the top is the last point, clipped if it overflows a float; no zeros."""
    panel = Panel("", "q", 10, 12, ())
    curve = Curve("", "ours", 1, lambda q: 0 if q == 1 else 10 if q == 2 else 10**1000)
    assert _points(curve, panel) == ([2, 3], [10.0, 1e300])


def test_large_values_are_the_bounds_rounded_once(tmp_path: Path) -> None:
    """The drawn doubles are our integers, each rounded once to the nearest double."""
    line = figure1(tmp_path / "figure.svg").axes[0].lines[2]
    assert list(line.get_ydata()) == [float(bounds.hertrich2021(2, int(q))) for q in line.get_xdata()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")]
)
def test_suffix_chooses_the_format(suffix: str, magic: bytes, tmp_path: Path) -> None:
    """The ending of the name says which format is written."""
    path = tmp_path / f"figure{suffix}"
    figure2(str(path))
    assert path.read_bytes().startswith(magic)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".svg", *(pytest.param(kind, marks=pytest.mark.slow) for kind in (".png", ".pdf"))])
def test_same_bytes_every_time(suffix: str, tmp_path: Path) -> None:
    """Two drawings, the second under a changed hash seed and in a new process, are the same bytes."""
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    figure1(first)
    program = "import sys; from bound_figures import figure1; figure1(sys.argv[1])"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program, str(second)], check=True, env=environment)
    assert first.read_bytes() == second.read_bytes()


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    """A name that ends in no format we draw is an `InputError`, and nothing is written."""
    with pytest.raises(InputError, match=r"must end in \.pdf, \.png or \.svg"):
        figure1(tmp_path / "figure.docx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, 3, []])
def test_a_figure_needs_the_name_of_a_file(path: object) -> None:
    """Anything else is refused in a sentence."""
    with pytest.raises(InputError, match="a figure` takes the name of a file"):
        figure1(path)  # type: ignore[arg-type]


def test_figures_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When writing fails the figure of before is still there, and nothing beside it."""
    target = tmp_path / "figure.png"
    target.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        figure1(target)
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]


def test_pyplot_is_not_imported() -> None:
    """Drawing keeps to the object interface: no global state, no windows."""
    program = "import sys, bound_figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
