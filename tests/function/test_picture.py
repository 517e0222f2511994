"""Functions as pictures: what is drawn has the function's values, and notebooks get something to show."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from html import escape

import numpy as np
import pytest

import cpwl
from cpwl import CPWL, InputError
from cpwl.function.picture import polygons, window_of
from support.functions import abs_sum, delaunay, five_pieces

plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def test_a_curve_goes_through_the_breakpoints() -> None:
    """The line has the function's values, and a dot is at each bend."""
    p = CPWL.from_breakpoints([0, 1, 3], [0, 2, 1])
    line, dots = p.plot().lines
    np.testing.assert_allclose(p(line.get_xdata()[:, None])[:, 0], line.get_ydata())
    assert dots.get_xdata().tolist() == [1]


@pytest.mark.parametrize("p", [five_pieces(), delaunay(2, 12, seed=1)], ids=["unbounded", "table"])
def test_a_map_has_the_values_at_its_corners(p: CPWL) -> None:
    """Every pixel has the colour of the function's value in its middle, and all pieces have an outline."""
    ax = p.plot()
    (image,), (outlines,) = ax.images, ax.collections
    shown = np.ma.filled(image.get_array(), np.nan)
    left, right, bottom, top = image.get_extent()
    x, y = ((np.arange(size) + 0.5) / size for size in shown.shape[::-1])
    middles = np.stack(np.meshgrid(left + (right - left) * x, bottom + (top - bottom) * y), axis=-1)[::9, ::9]
    meant, shown = p(middles.reshape(-1, 2))[:, 0], shown[::9, ::9].ravel()
    there = ~(np.isnan(meant) | np.isnan(shown))  # at the edge of the domain rounding decides
    assert np.mean(np.isnan(meant) == np.isnan(shown)) > 0.99
    np.testing.assert_allclose(meant[there], shown[there], atol=1e-9)
    assert image.get_cmap().name == "viridis"
    assert len(outlines.get_paths()) == p.num_pieces
    assert ax.get_xlim() == tuple(window_of(p)[0])


def test_polygons_of_a_rectangle_tile_it() -> None:
    """Windows need not be squares."""
    total = 0.0
    for shape in polygons(five_pieces(), (-1, -2), (3, 5)):
        x, y = shape.corners.T
        total += abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
    assert total == pytest.approx(4 * 7)


def test_a_surface_and_a_slice() -> None:
    """A surface is drawn in three dimensions; of three inputs the slice through a point is drawn."""
    assert five_pieces().plot(kind="surface").name == "3d"
    p = abs_sum(3)
    ax = p.plot(at=[0, 0, 2], box=(-1, 1))
    low, high = ax.images[0].get_clim()
    assert (low, high) == (2, 4)
    assert "other inputs at 2" in ax.get_title()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "curve"}, "cannot be drawn as a curve"),
        ({"kind": "cloud"}, "`kind` must be one of"),
        ({"output": 1}, "`output` must be between 0 and 0"),
        ({"at": [1, 2, 3]}, "a point of 2 coordinates"),
        ({"box": (1, 1)}, "`box` is empty or flat"),
    ],
)
def test_wrong_options_are_one_sentence(options: dict[str, object], said: str) -> None:
    """Each says what is wrong."""
    with pytest.raises(InputError, match=said):
        five_pieces().plot(**options)  # type: ignore[arg-type]


def test_a_surface_on_flat_axes_is_refused() -> None:
    """What to write is said."""
    with pytest.raises(InputError, match="projection"):
        five_pieces().plot(kind="surface", ax=plt.figure().add_subplot())


def test_the_doctor_marks_its_witnesses() -> None:
    """A ring is at the witness of each finding that has one, also on a line."""
    jump = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[0, 0], [0, 0]], [0, 1])
    report = jump.doctor()
    ax = report.plot()
    points = [finding.point for finding in report if finding.point is not None]
    assert len(ax.lines) == 2 * len(points) > 0
    assert ax.lines[0].get_xdata()[0] == float(points[0][0])
    line = CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [[0], [0]], [0, 1])
    assert line.doctor().plot().texts[0].get_text() == "jump"


@pytest.mark.parametrize(
    "p",
    [CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0), five_pieces(), abs_sum(3)],
    ids=["line", "plane", "space"],
)
def test_notebooks_show_functions(p: CPWL) -> None:
    """The picture is one whole element of SVG, with a shape for each piece in view."""
    text = p._repr_svg_()
    assert text is not None
    root = xml.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    low, high = window_of(p)[0]
    assert f">{low:.4g}<" in text  # the ends of the axis
    assert f">{high:.4g}<" in text
    if p.dim > 1:
        assert len(re.findall("<polygon", text)) >= 4


def test_notebooks_show_a_line_for_too_many_pieces() -> None:
    """Thousands of pieces are no picture."""
    assert CPWL.from_breakpoints(range(3000), [k * k for k in range(3000)])._repr_svg_() is None


def test_notebooks_show_findings() -> None:
    """Messages are text, not markup."""
    jump = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[0, 0], [0, 0]], [0, 1])
    table = jump.doctor()._repr_html_()
    assert "jump" in table
    assert table.count("<tr>") == 1 + len(jump.doctor())


def test_notebooks_show_answers() -> None:
    """A sentence, and a table with what shows it."""
    p = five_pieces()
    network = cpwl.compile(p).network
    answers = (
        p.argmax(box=(-1, 1)),
        p.range(box=(-1, 1)),
        p.lipschitz(),
        p.is_convex(),
        p.solve(-1, box=(-2, 2)),
        p.level_set(-1, box=(-2, 2)),
        p.distance(p, box=(-1, 1)),
        p.snap(),
        cpwl.certify(p, network),
        cpwl.equal(network, p),
    )
    for answer in answers:
        table = answer._repr_html_()
        said = getattr(answer, "statement", str(answer))
        assert escape(said.splitlines()[0]) in table, answer


def test_one_of_several_outputs_is_named() -> None:
    """The title says which output is drawn."""
    p = CPWL.from_grid([[0, 1], [0, 1]], [[[0, 1], [1, 2]], [[2, 0], [0, 0]]])
    assert p.outputs == 2
    assert p.plot(output=1).get_title() == "output 1 of 0 to 1"
    assert "output 0 of 0 to 1" in (p._repr_svg_() or "")
