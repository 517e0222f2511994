"""The explorer: what is on the page is what is known, and in a browser it does what it says."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.show.bundled import five_pieces
from cpwl.show.explorer.facts import Examined, Item
from cpwl.show.explorer.page import PIECES, WEIGHTS, Page, pack_pieces, page_of, window_of
from support import browser
from support.catalogue import function
from support.functions import delaunay
from support.twins import NOISES, catalogue_twin

HAT = cpwl.CPWL.from_breakpoints([0, 1, 2], [0, 1, 0], left_slope=0, right_slope=0)
JUMP = cpwl.CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[0, 0], [0, 0]], [0, 1])
CUBE = cpwl.CPWL.from_grid([[0, 1, 2]] * 3, (np.arange(27) ** 2 % 11).reshape(3, 3, 3))
PLANE = delaunay(2, 20, seed=5)


@cache
def plane_network() -> cpwl.Network:
    return cpwl.compile(PLANE).network


def data_of(page: Page) -> dict[str, Any]:
    """What a page was made of."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def unpacked(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["data"]), dtype="<" + packed["type"])


# What is on the page


def test_pieces_are_packed_whole() -> None:
    """Rows that pieces share come back, up to a positive factor, for each piece; laws come back as they are."""
    p = delaunay(2, 12, seed=3)
    packed = pack_pieces(p, ["x", "y"])
    assert packed is not None
    start, number, rows = (unpacked(packed[name]) for name in ("start", "row", "rows"))
    rows = rows.reshape(-1, 3)
    signed = np.where(number < 0, -1, 1)[:, None] * rows[np.where(number < 0, ~number, number)]
    given = np.column_stack([p.polyhedra.A, p.polyhedra.b])
    scale = np.abs(given[:, :-1]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(signed * scale, given, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(start, p.polyhedra.start)
    np.testing.assert_array_equal(unpacked(packed["gradient"]).reshape(p.laws.gradient.shape), p.laws.gradient)
    assert len(rows) < len(given)


def test_laws_are_written_as_rationals() -> None:
    """Exact laws are written exactly, with the names of the inputs."""
    packed = pack_pieces(five_pieces(), ["x", "y"])
    assert packed is not None
    assert set(packed["texts"]) == {"0", "y", "x − 3 y + 1", "−x − 3 y + 1"}


@pytest.mark.parametrize(
    ("p", "box"),
    [
        (cpwl.CPWL.from_simplices([[0, 0], [4, 0], [0, 2]], [[0, 1, 2]], [1, 2, 3]), [[0, 4], [0, 2]]),
        (cpwl.CPWL.from_pieces([[[1.0], [-1.0], [1.0]]], [[3.0, 1.0, 1e30]], [[1.0]], [0.0]), [[-1, 3]]),
        (cpwl.CPWL.from_pieces([[[0, 0]]], [[0]], [[1, 2]], [0]), [[-1, 1], [-1, 1]]),
    ],
)
def test_the_window_is_the_domain_where_that_ends(p: cpwl.CPWL, box: list[list[float]]) -> None:
    """Bounded domains are seen whole, rows that touch nothing have no say, and R^n has a window, too."""
    assert window_of(p).tolist() == box


@pytest.mark.parametrize("far", [0, 1, 1000])
def test_windows_have_a_width(far: int) -> None:
    """Corners that are one but for rounding do not make a window without width."""
    p = cpwl.CPWL.from_maxmin([[1, 0, far], [-1, 2, 3], [0, -1, 1]], [[0, 1], [2]])
    for low, high in window_of(p):
        assert high - low == pytest.approx(1.6 * abs(far - 3) / 4)  # the corners are |far - 3| / 4 apart


@pytest.mark.parametrize("noise", NOISES)
def test_noise_does_not_change_the_window(noise: float) -> None:
    """The window of a float twin is that of the exact function, up to the noise."""
    p, data = catalogue_twin("wrong_for_algorithm_1", "plain", noise)
    np.testing.assert_allclose(window_of(data.function()), window_of(p), atol=1e-6)


def test_the_window_shows_all_bends_of_a_function_without_end() -> None:
    """Every corner is inside, with room on all sides, also where all corners have one coordinate."""
    (left, right), (low, high) = window_of(five_pieces())
    assert left < 0 < right
    assert low < 0 < Fraction(1, 4) < high
    assert right - left == pytest.approx(high - low)


def test_the_page_has_sizes_costs_bounds_and_proofs() -> None:
    """The numbers on the page are those of `compile` and `certify`."""
    p = five_pieces()
    page, compiled = cpwl.report(p, title="five"), cpwl.compile(p)
    data = data_of(page)
    rows = {row["name"]: row for row in data["costs"]["rows"]}
    assert rows[compiled.construction]["neurons"] == compiled.sizes.neurons
    assert rows[compiled.construction]["taken"]
    for name, other in compiled.alternatives.items():
        assert rows[name]["neurons"] == other.neurons
    assert rows["Theorem 2"]["neurons"] == compiled.bounds["theorem2"].neurons
    assert [bound["neurons"] for bound in data["lower"]] == [bound.neurons for bound in compiled.lower_bounds]
    assert data["proofs"][0]["statement"] == "network = function on every piece, in exact arithmetic"
    assert ["proved equal", "good"] in data["chips"]
    assert ["no defects", "good"] in data["chips"]


def test_both_error_figures_of_float_data() -> None:
    """On a bounded domain there is a bound on the weights, and one on evaluation in each precision."""
    p = cpwl.CPWL.from_simplices([[0.0, 0.1], [1.3, 0.0], [0.0, 0.7]], [[0, 1, 2]], [0.1, 0.2, 0.3])
    lines = " ".join(line for proof in data_of(cpwl.report(p))["proofs"] for line in proof["lines"])
    assert "weights against the function" in lines
    assert "rounding errors of evaluation in float64" in lines
    assert "rounding errors of evaluation in float32" in lines


def test_a_function_that_is_wrong_is_shown_where_it_is_wrong() -> None:
    """The doctor's findings are on the page with their witnesses, and that it was not compiled is said."""
    data = data_of(cpwl.report(JUMP))
    errors = [finding for finding in data["findings"] if finding["severity"] == "error"]
    assert errors[0]["kind"] == "jump"
    assert errors[0]["point"][0] == 0
    assert any("not compiled" in note for note in data["notes"])
    assert data["healthy"] is False


def test_the_window_has_the_witnesses_in_it() -> None:
    """A jump that the doctor shows at (-2, 0) is in the picture, and the bends still are; a box is taken as it is."""
    A, b = [[[1, 0], [0, 1]], [[-1, 0], [0, 1]], [[0, -1]]], [[0, 0], [0, 0], [0]]
    p = cpwl.CPWL.from_pieces(A, b, [[1, 0], [0, 0], [0, 1]], [0, "1/2", 0])
    data = data_of(cpwl.report(p))
    points = [finding["point"] for finding in data["findings"] if finding["point"]]
    assert points
    for point in [*points, [0.0, 0.0]]:
        assert all(low <= v <= high for v, (low, high) in zip(point, data["box"], strict=True))
    assert data_of(cpwl.report(p, box=(-1, 1)))["box"] == [[-1, 1], [-1, 1]]


def test_a_network_is_taken_apart() -> None:
    """Of a network the pieces are those that `extract` finds."""
    network = cpwl.compile(five_pieces()).network
    data = data_of(cpwl.report(network))
    assert data["items"][0]["pieces"]["count"] == cpwl.extract(network).num_pieces


def test_a_network_with_too_many_regions_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the pieces are left to the browser, and a note says so."""
    monkeypatch.setattr("cpwl.show.explorer.facts.REGIONS", 3)
    data = data_of(cpwl.report(cpwl.compile(five_pieces()).network))
    assert data["items"][0]["pieces"] is None
    assert data["items"][0]["network"]["layers"]
    assert any("more than 3 linear regions" in note for note in data["notes"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("changed", [0, 1])
def test_a_pair_is_compared(changed: int) -> None:
    """A function and its network are equal; with another bias they are not, and the witness is on the page."""
    p = five_pieces()
    network = cpwl.compile(p).network
    *hidden, (weight, bias) = network.layers
    data = data_of(cpwl.report(p, cpwl.Network([*hidden, (weight, bias + changed)])))
    word = data["chips"][0][0]
    assert word == ("different" if changed else "equal, proved")
    assert bool([f for f in data["findings"] if f["kind"] == "difference"]) == bool(changed)


def test_a_pair_within_a_proved_bound_is_no_error() -> None:
    """Float pieces that meet within 1e-13: not equal to their network, but no badge is red; the page has the bound."""
    A, b = [[[1.0], [-1.0]], [[1.0], [-1.0]]], [[0.1, 0.7], [1.0, -0.1]]
    p = cpwl.CPWL.from_pieces(A, b, [[0.3], [0.7]], [0.3, 0.26 + 1e-13])
    page = data_of(cpwl.report(p, cpwl.compile(p).network))
    assert page["chips"][0] == ["not equal", ""]
    assert not [word for word, kind in page["chips"] if kind == "wrong"]
    assert 0 < page["gap"] < 1e-12
    assert [f["severity"] for f in page["findings"] if f["kind"] == "difference"] == ["note"]
    assert data_of(cpwl.report(HAT, cpwl.compile(HAT).network))["gap"] == 0


def test_only_the_network_on_show_is_highlighted() -> None:
    """Beside a larger network, the construction that `compile` takes is a row like the others."""
    wide = cpwl.Network([([[1], [-1], [1]], [0, 0, -1]), ([[1, 1, 0]], [0])])
    rows = data_of(cpwl.report(wide, certify=False))["costs"]["rows"]
    assert [row["name"] for row in rows if row["taken"]] == ["network"]


def test_pairs_must_fit() -> None:
    """Different numbers of inputs are one sentence."""
    with pytest.raises(cpwl.InputError, match="the first has 1 input and the second 2"):
        cpwl.report(HAT, five_pieces())


def test_a_title_cannot_break_out_of_the_page() -> None:
    """Names with markup in them are text."""
    page = cpwl.report(HAT, title="</script><b>{{data}}", certify=False)
    assert "</script><b>" not in page.html
    assert data_of(page)["title"] == "</script><b>{{data}}"


def test_pages_ask_for_nothing_from_elsewhere() -> None:
    """No address of another place is in the page, but for the name of SVG."""
    text = cpwl.report(HAT).html.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in text
    assert 'src="' not in text


LARGE = cpwl.CPWL.from_grid([np.arange(24)] * 2, np.random.default_rng(1).integers(0, 9, (24, 24)))


def test_large_functions_make_small_pages() -> None:
    """More than 1,000 pieces are far below 5 MB."""
    assert LARGE.num_pieces > 1000
    found = Examined((Item("p", LARGE, None),), None, (), None, None, ())
    assert len(page_of(found, "large").html) < 300_000


@pytest.mark.slow
def test_large_functions_make_small_pages_with_everything_on_them() -> None:
    """The same with its network, all costs and the proofs."""
    page = cpwl.report(LARGE)
    assert len(page.html.encode()) < 1_000_000
    assert ["proved equal", "good"] in data_of(page)["chips"]


def test_the_largest_page_is_below_5_megabytes() -> None:
    """What two functions and two networks may take at most, in base64, leaves room for the rest."""
    assert 4 / 3 * (2 * PIECES + 2 * 12 * WEIGHTS) * 1.01 < 5_000_000


def test_pages_are_the_same_each_time() -> None:
    """No time and no name of a machine is on a page."""
    assert cpwl.report(five_pieces()).html == cpwl.report(five_pieces()).html


def test_notebooks_show_the_page_in_a_frame() -> None:
    """The frame holds the whole page."""
    shown = cpwl.report(HAT, certify=False)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;canvas" in shown


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`cpwl report` writes the page of a file, and of two; how to make it again is on it."""
    law, network, page = tmp_path / "law.json", tmp_path / "law.onnx", tmp_path / "page.html"
    cpwl.write(five_pieces(), law)
    cpwl.io.to_onnx(cpwl.compile(five_pieces()).network, network)
    assert main(["report", str(law), "-o", str(page), "--no-proof"]) == 0
    assert "cpwl report law.json --no-proof" in page.read_text()
    assert main(["report", str(law), str(network), "-o", str(page), "--box", "-1", "1"]) == 0
    assert "law.json and law.onnx" in capsys.readouterr().out
    assert main(["report", str(law), "-o", str(law)]) == 64
    assert main(["report", str(law), "-o", str(page), "--box", "1", "1"]) == 64


# In a browser


@pytest.fixture(scope="module")
def tab() -> Iterator[browser.Tab]:
    if browser.program() is None:
        pytest.skip(browser.WITHOUT)
    pytest.importorskip("websocket", reason="websocket-client is not installed; run `make test`")
    with browser.browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page for one, two and three inputs, for what is wrong, for a pair, and for a network taken apart there."""
    folder = tmp_path_factory.mktemp("pages")
    network = cpwl.compile(five_pieces()).network
    *hidden, (weight, bias) = network.layers
    tilted = cpwl.Network([*hidden, (weight, bias + 0.5)])
    made = {
        "line": cpwl.report(HAT),
        "plane": cpwl.report(PLANE, certify=False),
        "space": cpwl.report(CUBE, certify=False),
        "wrong": cpwl.report(JUMP),
        "pair": cpwl.report(five_pieces(), tilted, box=(-4, 4)),
        "affine": cpwl.report(cpwl.CPWL.from_pieces([[[0, 0]]], [[0]], [[1, 2]], [0])),
        "outputs": cpwl.report(cpwl.CPWL.from_breakpoints([0, 1, 2], [[0, 1], [1, 0], [0, 2]])),
    }
    plan = cpwl.mpc([[1, 1], [0, 1]], [["0.5"], [1]], 1, "0.1", 3, u=(-1, 1), x=(-5, 5))
    made["loop"] = cpwl.report(plan.solve(), plant=plan, certify=False)
    for name, page in made.items():
        page.save(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in made}


def test_the_page_around_a_frame_chooses_the_colours(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """A message sets light or dark, and the picture changes; other messages are ignored."""
    said = (  # messages arrive in order; two frames later the page is drawn
        "new Promise((done) => {{ addEventListener('message', ({{ data }}) => data === 'end' &&"
        " requestAnimationFrame(() => requestAnimationFrame(() => done())));"
        " window.postMessage({}, '*'); window.postMessage('end', '*'); }})"
    )
    tab.open(pages["plane"])
    before = tab.picture("surface")
    for other in ("7", "null", "{ theme: 'pink' }"):
        tab.ask(said.format(other))
        assert tab.ask("document.documentElement.dataset.theme") is None
    tab.ask(said.format("{ theme: 'dark' }"))
    assert tab.ask("document.documentElement.dataset.theme") == "dark"
    assert tab.picture("surface") != before


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["line", "plane", "space", "wrong", "pair", "affine", "outputs", "loop"])
def test_pages_open_without_complaint(tab: browser.Tab, pages: dict[str, Path], name: str, dark: bool) -> None:
    """Nothing on the console, nothing asked for but the page itself, and the colours of the reader's choice."""
    tab.open(pages[name], dark=dark)
    assert tab.said == []
    assert tab.asked_for == [pages[name].resolve().as_uri()]
    ground = tab.ask("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", ground))) < 128) == dark
    assert tab.ask("document.documentElement.scrollWidth <= window.innerWidth")


def test_pages_fit_a_telephone(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Nothing is wider than a narrow screen, but for tables, which scroll on their own."""
    for name in ("plane", "line", "space"):
        tab.open(pages[name], size=(420, 900))
        assert tab.ask("document.documentElement.scrollWidth <= window.innerWidth"), name


def test_hover_says_what_is_there(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Point, piece, law, value and active neurons are those of the function and the network."""
    p, network = PLANE, plane_network()
    tab.open(pages["plane"])
    for right, down in ((0.3, 0.4), (0.6, 0.7), (0.5, 0.5)):
        tab.point("map", right, down)
        x = np.array(tab.ask("Array.from(explorer.state.at)"))
        value = float(p(x)[0])
        if np.isnan(value):
            continue
        assert float(tab.text("read-value").replace("−", "-")) == pytest.approx(value, rel=1e-4)
        piece = int(tab.text("read-piece").split()[0])
        assert (p.polyhedra[piece].A @ x <= p.polyhedra[piece].b + 1e-9).all()
        on, z = 0, x
        for weight, bias in network.layers[:-1]:
            z = np.maximum(weight @ z + bias, 0)
            on += int((z > 0).sum())
        assert tab.text("read-active-neurons").startswith(f"{on} of {network.sizes.neurons}")


def test_the_map_tiles_the_domain(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """The shapes that are drawn have the area of the domain, and bends are where neighbours differ."""
    p = PLANE
    tab.open(pages["plane"])
    shapes = tab.ask("explorer.scene.field.shapes.map((s) => [s.piece, s.corners])")
    total = 0.0
    for piece, corners in shapes:
        x, y = np.array(corners).reshape(-1, 2).T
        total += abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
        assert (p.polyhedra[piece].A @ np.array([x, y]) <= p.polyhedra[piece].b[:, None] + 1e-9).all()
    from scipy.spatial import ConvexHull

    assert p.mesh is not None
    assert total == pytest.approx(ConvexHull(p.mesh.points).volume)
    bends = tab.ask("explorer.scene.bends.map((b) => [b.x0, b.y0, b.x1, b.y1, b.jump])")
    edges = {tuple(sorted(pair)) for s in p.mesh.simplices for pair in ((s[0], s[1]), (s[1], s[2]), (s[0], s[2]))}
    outer = len(ConvexHull(p.mesh.points).vertices)
    assert len(bends) == len(edges) - outer
    for x0, y0, x1, y1, jump in bends:
        (mx, my), step = ((x0 + x1) / 2, (y0 + y1) / 2), np.array([y1 - y0, x0 - x1]) / np.hypot(x1 - x0, y1 - y0)
        h = 1e-6
        around = p(np.array([[mx, my] + h * step, [mx, my], [mx, my] - h * step]))[:, 0]
        assert (around[0] - 2 * around[1] + around[2]) / h == pytest.approx(jump, rel=1e-3, abs=1e-6)


def test_a_selected_neuron_is_shown_as_its_hinge(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """A click on a square selects a neuron; on its hinge what goes into it is 0, by the network itself."""
    network = plane_network()
    tab.open(pages["plane"])
    before = tab.picture("map")
    plan, size = tab.ask("explorer.scene.plan"), tab.ask("(b => [b.width, b.height])(layers.getBoundingClientRect())")
    third = plan["rows"][0]["left"] + 2.5 * (plan["side"] + plan["gap"])
    tab.point("layers", third / size[0], (plan["rows"][0]["start"] + 4) / size[1], press=True)
    assert tab.ask("explorer.state.neuron") == {"layer": 0, "index": 2}
    assert tab.picture("map") != before
    last = len(network.layers) - 2
    for layer in range(last + 1):
        tab.ask(f"explorer.select({{layer: {layer}, index: 0}})")
        found = tab.ask("[explorer.scene.hinge.exact, explorer.scene.hinge.segments]")
        assert found[0] is True
        for x0, y0, x1, y1 in found[1]:
            z = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
            for weight, bias in network.layers[: layer + 1]:
                size, before_relu = np.abs(weight) @ np.abs(z) + np.abs(bias), weight @ z + bias
                z = np.maximum(before_relu, 0)
            assert before_relu[0] == pytest.approx(0, abs=1e-9 * max(1.0, size[0]))
        assert "layer " + str(layer + 1) in tab.text("neuron-text")
    tab.ask("document.getElementById('layers').focus()")
    tab.key("Escape")
    assert tab.ask("explorer.state.neuron") is None
    tab.key("ArrowRight")
    assert tab.ask("explorer.state.neuron") == {"layer": 0, "index": 0}
    assert tab.said == []


def test_keys_move_the_point_and_turn_the_surface(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Everything that the mouse does, arrow keys do."""
    tab.open(pages["plane"])
    before, surface = tab.ask("Array.from(explorer.state.at)"), tab.picture("surface")
    tab.ask("document.getElementById('map').focus()")
    tab.key("ArrowRight")
    tab.key("ArrowUp")
    after = tab.ask("Array.from(explorer.state.at)")
    assert after[0] > before[0]
    assert after[1] > before[1]
    tab.ask("document.getElementById('surface').focus()")
    tab.key("ArrowLeft")
    assert tab.ask("explorer.state.turn.azimuth") < -0.65
    assert tab.picture("surface") != surface
    reached = tab.ask("[...document.querySelectorAll('canvas, button, select, input')].every((e) => e.tabIndex >= 0)")
    assert reached


def test_sliders_move_the_slice(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Of three inputs one has a slider; the map is then the function on that slice, whichever two inputs it shows."""
    tab.open(pages["space"])
    before = tab.picture("map")
    move = "(s, v) => { s.value = v; s.dispatchEvent(new Event('input')); }"
    tab.ask(f"({move})(document.getElementById('slide-2'), 1.5)")
    assert tab.picture("map") != before
    pick = "(s, v) => { s.value = v; s.dispatchEvent(new Event('change')); }"
    for axes in ([0, 1], [2, 1]):
        tab.ask(f"({pick})(document.getElementById('pick-axis-0'), {axes[0]})")
        assert tab.ask("explorer.state.axes") == axes
        at = np.array(tab.ask("Array.from(explorer.state.at)"))
        for _, corners, (a, b, c) in tab.ask("explorer.scene.field.shapes.map((s) => [s.piece, s.corners, s.law])"):
            middle = at.copy()
            middle[axes] = np.array(corners).reshape(-1, 2).mean(axis=0)
            assert CUBE(middle)[0] == pytest.approx(a * middle[axes[0]] + b * middle[axes[1]] + c, abs=1e-9)
    assert tab.said == []


def test_findings_lead_to_their_witness(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """The button beside a finding moves the point to its witness."""
    tab.open(pages["wrong"])
    tab.ask("explorer.moveTo([0.5, 0.5])")
    tab.ask("document.querySelector('button.witness').click()")
    witness = tab.ask("explorer.data.findings[0].point")
    assert tab.ask("Array.from(explorer.state.at)") == pytest.approx(witness)


def test_the_difference_of_a_pair(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """The third view of a pair is the first minus the second."""
    tab.open(pages["pair"])
    tab.ask("(s => { s.value = 2; s.dispatchEvent(new Event('change')); })(document.getElementById('pick-view'))")
    for right, down in ((0.3, 0.4), (0.7, 0.6)):
        tab.point("map", right, down)
        assert tab.text("read-first-second") == "−0.5"
    assert tab.said == []


def test_equal_means_no_difference(tab: browser.Tab, tmp_path: Path) -> None:
    """A pair that is proved equal has the difference 0 everywhere, not what two roundings leave."""
    third = cpwl.CPWL.from_grid([[0, "1/3", 1]] * 2, [["1/7", 2, 3], [1, "5/3", 1], [0, 1, "1/9"]])
    cpwl.report(third, cpwl.compile(third).network, path=tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    values = (
        "data => { const one = Array.from(explorer.scene.field.values); return [Math.min(...one), Math.max(...one)]; }"
    )
    tab.ask("(s => { s.value = 2; s.dispatchEvent(new Event('change')); })(document.getElementById('pick-view'))")
    assert tab.ask(f"({values})()") == [0, 0]
    assert tab.text("seen") == "proved equal: the difference is 0"


def test_zoom_pan_and_pin(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Keys and wheel zoom about the point, dragging moves the window inside the box, a click pins the point."""
    tab.open(pages["plane"])
    whole = tab.picture("map")
    tab.point("map", 0.5, 0.5, press=True)
    assert tab.ask("explorer.state.pinned")
    at = tab.ask("Array.from(explorer.state.at)")
    tab.point("map", 0.3, 0.3)
    assert tab.ask("Array.from(explorer.state.at)") == at
    tab.ask("document.getElementById('map').focus()")
    tab.key("+")
    (left, right), _ = tab.ask("explorer.state.window")
    full = tab.ask("explorer.data.box[0]")
    assert (right - left) == pytest.approx((full[1] - full[0]) / 1.6)
    assert tab.picture("map") != whole
    for kind, x in (("mousePressed", 300), ("mouseMoved", 250), ("mouseReleased", 250)):
        tab.call("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, x=x, y=300)
    assert tab.ask("explorer.state.window[0][0]") > left
    assert tab.ask("Array.from(explorer.state.at)") == at
    tab.key("0")
    tab.key("Escape")
    assert tab.ask("[explorer.state.window, explorer.state.pinned]") == [None, False]
    assert tab.said == []


def test_two_fingers_zoom_and_one_reads(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """On a telephone one finger moves the point, with the value beside it; two that part by a factor of 3 zoom by 3."""
    tab.open(pages["plane"], size=(420, 900))
    tab.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    box = "(b => [b.left + b.width / 2, b.top + b.height / 2])(document.getElementById('map').getBoundingClientRect())"
    x, y = tab.ask(box)

    def touch(kind: str, *apart: int) -> None:
        points = [{"x": x + off, "y": y, "id": k} for k, off in enumerate(apart)]
        tab.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    touch("touchStart", -60)
    touch("touchMove", -40)
    touch("touchEnd")
    assert not tab.ask("document.getElementById('tip').hidden")
    assert tab.text("tip").startswith(tab.text("read-value"))
    for kind, apart in (("touchStart", [-30]), ("touchStart", [-30, 30]), ("touchMove", [-90, 90]), ("touchEnd", [])):
        touch(kind, *apart)
    (left, right), _ = tab.ask("explorer.state.window")
    low, high = tab.ask("explorer.data.box[0]")
    assert (high - low) / (right - left) == pytest.approx(3, rel=0.01)
    tab.call("Emulation.setTouchEmulationEnabled", enabled=False)
    assert tab.said == []


def test_the_address_keeps_the_state(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """A page that is opened by the address of another state shows that state."""
    tab.open(pages["space"])
    pick = "(s, v) => { s.value = v; s.dispatchEvent(new Event('change')); }"
    tab.ask(f"({pick})(document.getElementById('pick-mode'), 'laws')")
    tab.ask("explorer.moveTo([0.5, 0.75, 1.25])")
    tab.ask("explorer.zoomTo([[0.25, 1], [0.5, 1.5]])")
    tab.ask("explorer.select({layer: 0, index: 1})")
    tab.ask("new Promise((done) => setTimeout(done, 400))")
    before = tab.ask(
        "[explorer.state.mode, Array.from(explorer.state.at), explorer.state.window, explorer.state.neuron]"
    )
    picture, address = tab.picture("map"), tab.ask("location.hash")
    assert "colour=laws" in address
    tab.open(pages["line"])
    tab.call("Page.navigate", url=pages["space"].resolve().as_uri() + address)
    tab.ask("new Promise((done) => setTimeout(done, 300))")
    after = tab.ask(
        "[explorer.state.mode, Array.from(explorer.state.at), explorer.state.window, explorer.state.neuron]"
    )
    assert after == before
    assert tab.picture("map") == picture


def test_colours_by_law_and_by_piece(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Pieces with one law have one colour, and pieces with different laws have different ones."""
    tab.open(pages["loop"])
    kinds, laws = (
        tab.ask("explorer.scene.field.kinds.laws.of"),
        tab.ask("explorer.scene.field.shapes.map((s) => s.law)"),
    )
    of_kind: dict[int, set[str]] = {}
    for kind, law in zip(kinds, laws, strict=True):
        of_kind.setdefault(kind, set()).add(str([round(v, 9) for v in law]))
    assert all(len(found) == 1 for found in of_kind.values())
    assert len(set.union(*of_kind.values())) == len(of_kind) < len(laws)
    seen = set()
    for mode in ("values", "laws", "pieces", "bends"):
        pick = "(s, v) => { s.value = v; s.dispatchEvent(new Event('change')); }"
        tab.ask(f"({pick})(document.getElementById('pick-mode'), '{mode}')")
        seen.add(tab.picture("map"))
    assert len(seen) == 4


def test_the_map_is_exported_as_svg(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Every piece is a path of its own, and the file is well-formed."""
    import xml.etree.ElementTree as tree

    for name in ("plane", "line", "loop"):
        tab.open(pages[name])
        svg = tree.fromstring(tab.ask("explorer.svgText()"))
        paths = svg.findall(".//{http://www.w3.org/2000/svg}path")
        assert len(paths) > (PLANE.num_pieces if name == "plane" else 3)
    assert tab.said == []


def test_lines_fade_where_they_are_dense(tab: browser.Tab, tmp_path: Path) -> None:
    """Of 1,800 triangles the lines are nearly gone, of 18 they are there."""
    shares = []
    for side in (4, 31):
        values = np.add.outer(np.arange(side) ** 2, np.arange(side) ** 2) % 7
        p = cpwl.CPWL.from_grid([np.arange(side)] * 2, values)
        page_of(Examined((Item("p", p, None),), None, (), None, None, ()), "p").save(tmp_path / "page.html")
        tab.open(tmp_path / "page.html")
        svg = tab.ask("explorer.svgText()")
        shades = [float(a) for a in re.findall(r'stroke="rgba\(255,255,255,([\d.]+)\)"', svg)]
        shares.append(float(np.median(shades)))
    assert shares[0] > 0.6 > 0.3 > shares[1]


def test_nodes_are_maps_of_their_neurons(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """A pixel of a node is grey where its neuron is off, by the network itself."""
    tab.open(pages["plane"])
    weight, bias = plane_network().layers[0]
    (left, right), (low, high) = tab.ask("explorer.data.box")
    grey = tab.ask("getComputedStyle(document.documentElement).getPropertyValue('--line').trim()")
    for r in (0, 5, 9):
        pixels = tab.ask(f"Array.from(explorer.scene.nodes[0][{r}].getContext('2d').getImageData(0, 0, 64, 64).data)")
        colours = np.array(pixels).reshape(64, 64, 4)[:, :, :3]
        x, y = np.meshgrid(
            left + (np.arange(64) + 0.5) / 64 * (right - left), high - (np.arange(64) + 0.5) / 64 * (high - low)
        )
        z = (weight.toarray()[r] @ np.array([x.ravel(), y.ravel()]) + bias[r]).reshape(64, 64)
        off = (colours == [int(grey[k : k + 2], 16) for k in (1, 3, 5)]).all(axis=2)
        clear = np.abs(z) > 1e-6
        assert (off == (z <= 0))[clear].all()


def test_the_plane_is_folded_layer_by_layer(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """After no layer there is one cell; after each layer, the cells of the layer before are cut further."""
    tab.open(pages["plane"])
    counts = []
    for depth in range(len(plane_network().layers)):
        tab.ask(
            f"(s => {{ s.value = {depth}; s.dispatchEvent(new Event('input')); }})(document.getElementById('fold'))"
        )
        counts.append(int(tab.text("seen").split()[0].replace(",", "")))
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[-1] >= PLANE.num_pieces
    assert tab.said == []


def test_the_graph_of_one_input(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Segments are the pieces in order, and a neuron is on between its zeros."""
    tab.open(pages["line"])
    ends = [s[:4] for s in tab.ask("explorer.scene.field.segments")]
    np.testing.assert_allclose([s[:2] for s in ends[1:]], [(0, 0), (1, 1), (2, 0)], atol=1e-12)
    network = cpwl.compile(HAT).network
    tab.ask("explorer.select({layer: 0, index: 0})")
    found = tab.ask("explorer.scene.hinge")
    weight, bias = network.layers[0]
    zero = -bias[0] / weight.toarray()[0, 0]
    assert found["zeros"] == pytest.approx([zero], abs=1e-9)
    tab.point("map", 0.5, 0.5)
    x = tab.ask("explorer.state.at[0]")
    assert float(tab.text("read-value").replace("−", "-")) == pytest.approx(float(HAT([[x]])[0, 0]), abs=1e-4)


ODD = [("mixed_table", "plain", None), ("control_law", "plain", None), ("mixed_scales", "far 1e9", 1e-15)]
ODD += [("hat", "all", 1e-12), ("sawtooth", "three outputs", 1e-15), ("wrong_for_algorithm_1", "all", 1e-12)]


@pytest.mark.parametrize(("name", "variant", "noise"), ODD, ids=lambda v: str(v))
def test_odd_data_is_drawn_where_it_is(
    tab: browser.Tab, tmp_path: Path, name: str, variant: str, noise: float | None
) -> None:
    """Units 1e23 apart, float twins, far rows, columns first, several outputs: values are those of the function."""
    p = function(name) if noise is None else catalogue_twin(name, variant, noise)[1].function()
    page_of(Examined((Item(name, p, None),), None, (), None, None, ()), name).save(tmp_path / "page.html")
    tab.open(tmp_path / "page.html")
    assert tab.said == []
    box = np.array(tab.ask("explorer.data.box"))
    for share in ((0.5, 0.5), (0.3, 0.6), (0.71, 0.45)):
        x = np.array(tab.ask("Array.from(explorer.state.at)"))
        x[:2] = (box[:, 0] + np.array(share)[: p.dim] * (box[:, 1] - box[:, 0]))[:2]
        wanted = float(p(x[None])[0, 0])
        found = tab.ask(f"explorer.scene.field.value({', '.join(map(repr, x[:2].tolist()))}) + 0")
        assert np.isnan(wanted) if found is None else found == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_regions_found_in_the_browser(tab: browser.Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that was not taken apart beforehand is cut into its regions by the page, with the right laws."""
    monkeypatch.setattr("cpwl.show.explorer.facts.REGIONS", 3)
    rng = np.random.default_rng(2)
    layers = [(rng.normal(size=(7, 4)), rng.normal(size=7)), (rng.normal(size=(5, 7)), rng.normal(size=5))]
    network = cpwl.Network([*layers, (rng.normal(size=(1, 5)), rng.normal(size=1))])
    cpwl.report(network, path=tmp_path / "page.html", box=(-1, 1))
    tab.open(tmp_path / "page.html")
    shapes = tab.ask("explorer.scene.field.shapes.map((s) => [s.corners, s.law])")
    at = np.array(tab.ask("Array.from(explorer.state.at)"))
    total = 0.0
    for corners, (a, b, c) in shapes:
        x, y = np.array(corners).reshape(-1, 2).T
        total += abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2
        points = np.tile(at, (len(x), 1))
        points[:, 0], points[:, 1] = x, y
        np.testing.assert_allclose(network(points)[:, 0], a * x + b * y + c, atol=1e-9)
    assert len(shapes) > 5
    assert total == pytest.approx(4)
    assert tab.said == []


def test_the_closed_loop_runs_from_where_the_state_is_dropped(tab: browser.Tab, pages: dict[str, Path]) -> None:
    """Drag and let go: the page steps to the origin as the law does in Python; other pages show no loop."""
    plan = cpwl.mpc([[1, 1], [0, 1]], [["0.5"], [1]], 1, "0.1", 3, u=(-1, 1), x=(-5, 5))
    law, A, B = plan.solve(), plan.A.astype(float), plan.B.astype(float)
    tab.open(pages["loop"])
    tab.ask("explorer.moveTo([-3, 0.5])")
    points = np.array(tab.ask("explorer.scene.loop.points"))
    x = np.array([-3, 0.5])
    for here in points:
        assert np.abs(here - x).max() < 1e-9
        x = A @ x + B @ law(x)
    assert len(points) == 61
    assert np.abs(points[-1]).max() < 1e-6
    assert "After 60 steps" in tab.ask("document.getElementById('loop-text').textContent")
    tab.ask("explorer.moveTo([5, 5])")
    assert "not defined here" in tab.ask("document.getElementById('loop-text').textContent")
    tab.ask("explorer.moveTo([-3, 0.5])")
    tab.ask("document.getElementById('map').dispatchEvent(new PointerEvent('pointerup'))")
    assert tab.ask("explorer.state.step") == 1
    tab.ask("new Promise((done) => setTimeout(done, 400))")
    assert tab.ask("explorer.state.step") > 2
    assert not tab.said
    tab.open(pages["plane"])
    assert tab.ask("document.getElementById('loop').hidden")


def test_a_plant_in_a_file_has_its_loop_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``cpwl report plant.json``; with rates the previous input is a coordinate, and becomes the input."""
    monkeypatch.chdir(tmp_path)
    text = '{"A": [[0.5]], "B": [[1]], "Q": 1, "R": 1, "N": 2, "u": [-1, 1], "x": [-4, 4], "du": [-1, 1]}'
    Path("plant.json").write_text(text)
    assert main(["report", "plant.json", "-o", "page.html", "--no-proof"]) == 0
    data = data_of(Page("", Path("page.html").read_text()))
    assert data["plant"] == {"A": [[0.5, 0], [0, 0]], "B": [[1], [1]]}
    at = np.array(data["at"])
    assert np.isfinite(cpwl.read("plant.json")([at])).all()
    assert np.abs(at).max() > 0.1  # the loop would rest at the origin
    with pytest.raises(cpwl.errors.InputError, match="shapes"):
        cpwl.report(HAT, plant=([[1, 0]], [[1]]), certify=False)


@pytest.mark.parametrize("name", ["line", "outputs"])
def test_the_button_decides_the_statement_again(tab: browser.Tab, pages: dict[str, Path], name: str) -> None:
    """What is proved is confirmed in the browser; with one bias changed it is refuted, with a difference."""
    tab.open(pages[name])
    answer = "document.querySelector('#proofs .checked').textContent"

    def pressed(word: str) -> str:
        tab.ask("document.querySelector('#proofs button.check').click()")
        again = f"const wait = () => {answer}.includes('{word}') ? done({answer}) : setTimeout(wait, 20)"
        return str(tab.ask(f"new Promise((done) => {{ {again}; wait(); }})"))

    assert pressed("confirmed").strip().startswith("confirmed network = function on every piece")
    tab.ask("explorer.data.statements.claims[0].layers[0].bias[0] += '1'")
    assert "the largest difference is" in pressed("refuted") or "without bound" in pressed("refuted")


@pytest.mark.parametrize("kind", ["function", "network"])
def test_the_commands_on_a_page_run(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that a page prints for making it again exits with 0, in the folder of its file."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(HAT if kind == "function" else cpwl.compile(HAT).network, "given.json")
    box = [] if kind == "function" else ["--box", "-1", "3"]
    assert main(["report", "given.json", "-o", "page.html", *box]) == 0
    text = (tmp_path / "page.html").read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    commands = [line for step in json.loads(found[1])["recipe"] for line in step["code"].splitlines()]
    said = [line.split()[1:] for line in commands if line.startswith("cpwl ")]
    assert len(said) >= 2
    assert [main(words) for words in said] == [0] * len(said)
