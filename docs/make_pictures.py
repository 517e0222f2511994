"""Draws the pictures of the constructions, of windows, strips and a closed loop, and the one at the top of the README.

``python docs/make_pictures.py [names]``; everything drawn is computed by cpwl when this runs. Colours follow light and
dark pages. The lines on which neurons switch are level lines on a fine grid, straightened; all else is exact.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
from contourpy import contour_generator
from make_diagrams import Panel, svg, text
from numpy.typing import NDArray
from scipy.spatial import Delaunay

import cpwl
from cpwl.construct.analysis import Analysis
from cpwl.construct.strips.plan import lay_strips
from cpwl.construct.windows.lowering import best_windows, blocks_of, lower
from cpwl.construct.windows.plan import lifted
from cpwl.exact.rational import fraction_array
from cpwl.files import write_text
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.picture import COLOURS, colour, curve, map_of_pieces, polygons

DOCS = Path(__file__).parent
FINE = 700
SIZE = 360.0  # of a panel
Array = NDArray[np.float64]


# --- The functions ----------------------------------------------------------------------------------------------------


def table(count: int, seed: int) -> cpwl.CPWL:
    """A hill with some roughness on random triangles of the unit square."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.random((count, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]]).round(3)
    values = np.exp(-6 * ((x - 0.45) ** 2).sum(axis=1)) + 0.15 * rng.standard_normal(len(x))
    return cpwl.CPWL.from_simplices(x, Delaunay(x).simplices, values.round(3))


def hills() -> cpwl.CPWL:
    """A grid with random heights."""
    return cpwl.CPWL.from_grid([range(6)] * 2, np.random.default_rng(4).integers(0, 10, (6, 6)))


def arrangement() -> cpwl.CPWL:
    """A sum of hinges on lines, on the unit square."""
    rng = np.random.default_rng(3)
    normal = rng.integers(-5, 6, (6, 2))
    bias, jump = -(normal @ [1, 1]) // 2 + rng.integers(-1, 2, 6), rng.integers(-3, 4, 6) * 2 + 1
    return cpwl.extract(cpwl.Network([(normal, bias), (jump[None], [0])]), exact=True)


def wave() -> cpwl.CPWL:
    """Thirty breakpoints with jumps of both signs."""
    rng = np.random.default_rng(1)
    return cpwl.CPWL.from_breakpoints(np.arange(32), rng.integers(-9, 10, 32).cumsum())


def five_pieces() -> cpwl.CPWL:
    """The function on which Algorithm 1 fails: 0 for y <= 0, else min(y, 1 - 3 y + |x|)."""
    pieces = [
        ([[0, 1]], [0], [0, 0], 0),
        ([[-1, 0], [0, -1], [-1, 4]], [0, 0, 1], [0, 1], 0),
        ([[1, 0], [0, -1], [1, 4]], [0, 0, 1], [0, 1], 0),
        ([[-1, 0], [1, -4]], [0, -1], [1, -3], 1),
        ([[1, 0], [-1, -4]], [0, -1], [-1, -3], 1),
    ]
    A, b, gradient, offset = zip(*pieces, strict=True)
    return cpwl.CPWL.from_pieces(A, b, gradient, offset, tol=0)


# --- Parts of pictures ------------------------------------------------------------------------------------------------


def path(points: Sequence[Sequence[float]] | Array, kind: str, end: str = "") -> str:
    """A line through points of the picture; ``end="Z"`` closes it."""
    return f'<path class="{kind}" d="M{"L".join(f"{u:.1f} {v:.1f}" for u, v in points)}{end}"/>'


def straightened(points: Array, most: float = 0.4) -> Array:
    """A part of the points, such that the line through them is at most `most` from all of them (Douglas, Peucker)."""
    kept, spans = {0, len(points) - 1}, [(0, len(points) - 1)]
    while spans:
        a, b = spans.pop()
        if b - a < 2:
            continue
        along, between = points[b] - points[a], points[a + 1 : b] - points[a]
        length = math.hypot(*along)
        off = np.abs(between @ [-along[1], along[0]]) / length if length else np.hypot(*between.T)
        far = int(off.argmax())
        if off[far] > most:
            kept.add(a + 1 + far)
            spans += [(a, a + 1 + far), (a + 1 + far, b)]
    return points[sorted(kept)]


def square(left: float, low: float, high: float) -> Panel:
    """A panel for a square of the plane."""
    panel = Panel((left, 34), low, high, low, high)
    panel.wide = panel.tall = SIZE
    return panel


def framed(panel: Panel, title: str) -> list[str]:
    where = f'x="{panel.left:g}" y="{panel.up:g}" width="{panel.wide:g}" height="{panel.tall:g}"'
    return [f'<rect class="frame" {where}/>', text(panel.left + panel.wide / 2, panel.up - 12, title, "b")]


def seen(panel: Panel, p: cpwl.CPWL, name: str, bar: bool = False) -> list[str]:
    """The function from above, each piece coloured along its law; on demand with the colours of its values."""
    drawn = map_of_pieces(p, panel.low, panel.high, name=name, size=round(panel.wide))
    parts = [drawn.replace("<svg ", f'<svg x="{panel.left:g}" y="{panel.up:g}" ', 1)]
    if bar:
        values = np.concatenate([shape.values for shape in polygons(p, panel.low, panel.high)]).round(9) + 0.0
        x, tall = panel.left + panel.wide + 8, panel.tall / (len(COLOURS) - 1)
        for i in range(len(COLOURS) - 1):
            stops = "".join(f'<stop offset="{k}" stop-color="{COLOURS[i + 1 - k]}"/>' for k in (0, 1))
            y = panel.up + panel.tall - (i + 1) * tall
            parts += [
                f'<linearGradient id="{name}-bar-{i}" x2="0" y2="1">{stops}</linearGradient>',
                f'<path style="stroke:none;fill:url(#{name}-bar-{i})" d="M{x:g} {y:g}h12v{tall:g}h-12z"/>',
            ]
        for v, y in ((values.min(), panel.up + panel.tall), (values.max(), panel.up + 10)):
            parts.append(text(x + 16, y, f"{v:.3g}".replace("-", "−"), "s", "start"))
    return parts


def inputs_of_neurons(network: cpwl.Network, x: Array) -> list[Array]:
    """The inputs of the neurons of each hidden layer at some points."""
    h, found = x.T, []
    for weight, bias in network.layers[:-1]:
        found.append(weight @ h + bias[:, None])
        h = np.maximum(found[-1], 0.0)
    return found


def grid_of(panel: Panel, fine: int = FINE) -> tuple[Array, Array]:
    axis = np.linspace(panel.low, panel.high, fine)
    return axis, np.array(np.meshgrid(axis, axis)).reshape(2, -1).T


# --- One picture for each construction --------------------------------------------------------------------------------


def switches(panel: Panel, network: cpwl.Network) -> list[str]:
    """The lines of a square on which neurons switch, coloured by layer."""
    axis, points = grid_of(panel)
    drawn = []
    for k, read in enumerate(inputs_of_neurons(network, points)):
        for row in read:
            # Just above 0: a neuron may read exactly 0 on a whole region.
            z, least = row.reshape(FINE, FINE), 1e-6 * np.abs(row).max()
            for line in contour_generator(axis, axis, z).lines(least):
                at = np.array([panel.place(u, v) for u, v in line])
                drawn.append(path(straightened(at), f"l{k % 6}"))
    return drawn


def ticks(panel: Panel, network: cpwl.Network) -> list[str]:
    """The places of a line at which neurons switch: a row for each neuron, coloured by layer."""
    x = np.linspace(panel.low, panel.high, 40 * FINE)
    rows = [(k, row) for k, read in enumerate(inputs_of_neurons(network, x[:, None])) for row in read]
    high = panel.tall / len(rows)
    drawn = []
    for i, (k, row) in enumerate(rows):
        at = x[np.flatnonzero((row[1:] > 0) != (row[:-1] > 0))]
        y = panel.up + panel.tall - (i + 1) * high
        if len(at):
            marks = "".join(f"M{panel.place(u, 0)[0]:.1f} {y + 1:.1f}v{high - 2:.1f}" for u in at)
            drawn.append(f'<path class="l{k % 6}" d="{marks}"/>')
    return drawn


def construction(name: str, make: Callable[[], cpwl.CPWL], low: float, high: float) -> str:
    """A function, and where the neurons of its network switch."""
    p = make()
    made = cpwl.compile(p, construction=name, precision="exact")
    left, right = square(10, low, high), square(410, low, high)
    if p.dim == 1:
        graph = curve(p, low, high, width=round(SIZE), height=round(SIZE))
        parts = [graph.replace("<svg ", f'<svg x="{left.left:g}" y="{left.up:g}" ', 1), *ticks(right, made.network)]
    else:
        outlines = [[right.place(*corner) for corner in shape.corners] for shape in polygons(p, low, high)]
        parts = [*seen(left, p, name), *(path(line, "axis", "Z") for line in outlines), *switches(right, made.network)]
    parts += framed(left, f"{p.num_pieces} pieces")
    parts += framed(right, f"{made.sizes.neurons} neurons: where they switch")
    widths = [weight.shape[0] for weight, _ in made.network.layers[:-1]]
    for k, width in enumerate(widths):
        x, y = 420 + 118 * (k % 3), 416 + 18 * (k // 3)
        parts += [
            f'<path class="l{k % 6}" style="stroke-width:3" d="M{x} {y - 4}h18"/>',
            text(x + 24, y, f"layer {k + 1}: {width}", "s", "start"),
        ]
    return svg(780, 408 + 18 * (1 + (len(widths) - 1) // 3), f"{name}: a function and its network", parts)


def paper() -> str:
    """How far the network of Algorithm 1 is from the function."""
    p, left, right = five_pieces(), square(10, -1.5, 1.5), square(440, -1.5, 1.5)
    network = cpwl.compile(p, construction="paper", check=False).network
    box = (-1.5, 1.5)
    error = cpwl.extract(network, box=box, exact=True) - p.restrict(box=box)
    parts = [
        *seen(left, p, "paper", bar=True),
        *seen(right, error, "error", bar=True),
        *framed(left, f"{p.num_pieces} pieces"),
        *framed(right, "Algorithm 1's network minus the function"),
    ]
    return svg(850, 408, "Algorithm 1 on a function of five pieces", parts)


# --- Blocks of windows, slabs of strips, a closed loop ----------------------------------------------------------------


def blocks() -> str:
    """How windows work: the blocks of a table, and two classes of clamps of the convex function W."""
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.random((250, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]]).round(3)
    p = cpwl.CPWL.from_simplices(points, Delaunay(points).simplices, rng.standard_normal(len(points)).round(3))
    found = lifted(p)
    groups = blocks_of(found.cells, found.lifting)
    windows = best_windows(found.cells, found.lifting, groups)
    network = lower(found.cells, found.lifting, groups, windows, found.share, found.base)
    panels = [square(10 + 380 * k, 0, 1) for k in range(3)]
    parts = []
    for k, block in enumerate(groups):
        for cell in block.cells:
            at = [panels[0].place(*corner) for corner in found.cells.points[found.cells.corners[cell]]]
            parts.append(path(at, f"cell c{k % 7}", "Z"))
    parts += framed(panels[0], f"{len(found.cells.corners)} cells in {len(groups)} blocks")
    axis, at = grid_of(panels[0], 400)
    value = at.T
    for weight, bias in network.layers[:3]:
        value = np.maximum(weight @ value + bias[:, None], 0.0)
    for panel, number in zip(panels[1:], (0, 3), strict=True):
        own = len(groups) + np.flatnonzero(windows.classes[0] == number)  # W comes after U
        height = value[own].sum(axis=0).reshape(400, 400)
        lines = contour_generator(axis, axis, height, fill_type="OuterOffset")
        for level in np.linspace(0, height.max(), 9)[:-1]:
            for ring, start in zip(*lines.filled(max(level, 1e-9 * height.max()), 2 * height.max()), strict=True):
                sides = [straightened(np.array([panel.place(*q) for q in ring[a:b]])) for a, b in pairwise(start)]
                inside = "".join(f"M{'L'.join(f'{u:.1f} {v:.1f}' for u, v in side)}Z" for side in sides)
                parts.append(f'<path class="area" fill-rule="evenodd" d="{inside}"/>')
        parts += framed(panel, f"class {number} of W: {len(own)} clamps, 0 elsewhere")
    return svg(1140, 404, "Windows: blocks of cells, and two classes of clamps", parts)


def slabs() -> str:
    """The strips of a small function, the slabs at the bases of its two systems, and the switch between them."""
    rng = np.random.default_rng(3)
    points = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], rng.random((26, 2))])
    triangles = Delaunay(points)
    p = cpwl.CPWL.from_simplices(points, triangles.simplices, rng.standard_normal(len(points)))
    made = lay_strips(Analysis(p), count=4)
    assert made is not None
    turned = points @ np.array([made.cuts.sweep.frame.t, made.cuts.sweep.frame.u]).T
    (low, _), (high, _) = turned.min(axis=0), turned.max(axis=0)
    heights = [float(v) for slab in made.geometry.slabs for v in (slab.low, slab.high)]
    bottom, top = min(heights), max(heights)
    panel, below = Panel((40, 34), low, high, bottom, top), Panel((40, 330), low, high, -1, 1)
    panel.wide, panel.tall, below.wide, below.tall = 700.0, 260.0, 700.0, 80.0
    parts = [path([panel.place(*q) for q in turned[list(s)]], "axis", "Z") for s in triangles.simplices]
    turns = [low, *map(float, made.geometry.turns), high]
    parts.append(f'<path class="axis" d="M{below.left:g} {below.place(0, 0)[1]:g}h{below.wide:g}"/>')
    for k, slab in enumerate(made.geometry.slabs):
        kind, level = 1 + k % 2, 0.6 if k % 2 == 0 else -0.6
        a, b, down, up = (float(v) for v in (slab.begin, slab.end, slab.low, slab.high))
        corners = [panel.place(*q) for q in ((a, down), (b, down), (b, up), (a, up))]
        parts += [path(corners, f"cell c{kind}", "Z"), path([corners[0], corners[2]], f"l{kind}")]
        ends = [(turns[k], 0.0 if k else level), (a, level), (b, level)]
        ends.append((turns[k + 1], 0.0 if k + 1 < len(made.geometry.slabs) else level))
        parts.append(path([below.place(*q) for q in ends], f"l{kind}"))
    parts += [
        text(390, 22, "slabs at the bases of the first system (orange) and of the second (green)", "b"),
        text(390, 318, "the network is g1 where χ > 0 (orange) and g2 where χ < 0 (green)", "b"),
        text(24, 168, "η", "b"),
        text(24, 374, "χ", "b"),
        text(390, 428, "ξ (χ is not to scale)", "s"),
    ]
    return svg(780, 440, "Strips: the slabs of two systems, and the switch between them", parts)


A, B = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.0], [1.0]])
ROWS = [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]
SAFE = ROWS + [[-a, -b] for a, b in ROWS], [5, 5, 6, 8, 11] * 2
STARTS = [["-4", "-1"], ["5", "0"], ["-5", "2"], ["2", "3/2"], ["-1", "-2"], ["1", "-5/2"]]
STEPS = 12


def ask() -> str:
    """The double integrator under its explicit-MPC law, stepped in three ways that coincide.

    Pieces: the function of one step, in rationals. Network: the closed loop as one ReLU network, in float64.
    Simulation: ``A x + B u(x)`` with the law as the solver exported it. Behind them, the pieces of six steps.
    """
    raw = cpwl.read(str(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")))
    law = raw.snap(1e-9).function
    loop = cpwl.dynamics.closed_loop(A, B, law)
    network = cpwl.dynamics.closed_loop(A, B, cpwl.compile(law).network)
    six = cpwl.dynamics.iterate(loop.restrict(domain=SAFE), 6)
    x, y, z = fraction_array(STARTS), fraction_array(STARTS).astype(float), fraction_array(STARTS).astype(float)
    steps: list[list[Array]] = []
    for _ in range(STEPS + 1):
        steps.append([x.astype(float), y, z])
        x, y, z = loop(x), network(y), z @ A.T + raw(z) @ B.T
    ways = np.array(steps).transpose(1, 2, 0, 3)  # pieces, network, simulation: starts, steps, coordinates
    apart = np.abs(ways - ways[0]).max()
    print(f"largest difference of the three: {apart:.2g}")
    assert apart < 1e-6
    plane, time = Panel((50, 34), -5.4, 5.4, -4.3, 4.3), Panel((490, 34), -0.5, 12.5, -5.6, 5.6)
    plane.wide = time.wide = 380.0
    plane.tall = time.tall = 300.0
    parts = []
    bodies = pieces_of(six)[1]
    for i in range(len(bodies)):
        places = bodies.places[bodies.spans.of_piece(i)]
        points = np.asarray(places[:, :-1] / places[:, -1:], dtype=float)
        around = points - points.mean(axis=0)
        order = np.argsort(np.arctan2(around[:, 1], around[:, 0]))
        opacity = 0.08 + 0.35 * (i * 0.618 % 1)
        shape = path([plane.place(*q) for q in points[order]], "area", "Z")
        parts.append(shape.replace("<path ", f'<path style="fill-opacity:{opacity:.2f}" '))
    for panel, bound in ((time, 5), (time, -5)):
        parts.append(f'<path class="dash" d="M{panel.left:g} {panel.place(0, bound)[1]:g}h{panel.wide:g}"/>')
    for panel, of in ((plane, lambda way: way), (time, lambda way: np.column_stack([range(STEPS + 1), way[:, 0]]))):
        for start in range(len(STARTS)):
            parts.append(path([panel.place(*q) for q in of(ways[0, start])], "l0"))
            for way in range(3):
                parts += [mark(*panel.place(*q), way) for q in of(ways[way, start])]
    parts += [*framed(plane, f"the kept set, in the {six.num_pieces} pieces of six steps")]
    parts += [*framed(time, "the first state stays within 5"), *scale(plane, (-4, 0, 4), (-4, 0, 4))]
    parts += [*scale(time, (0, 4, 8, 12), (-5, 0, 5)), text(240, 370, "x1", "s"), text(14, 190, "x2", "s")]
    parts += [text(680, 370, "step", "s"), text(456, 190, "x1", "s")]
    for k, name in enumerate(("pieces", "network", "simulation")):
        parts += [mark(350, 52 + 18 * k, k), text(362, 56 + 18 * k, name, "s", "start")]
    return svg(890, 380, "A closed loop by pieces, by its network and by simulation", parts)


def mark(u: float, v: float, way: int) -> str:
    """A ring, a cross or a dot."""
    if way == 1:
        return f'<path class="l5" d="M{u - 3:.1f} {v - 3:.1f}l6 6m0 -6l-6 6"/>'
    ring = 'class="l0" r="5.5"' if way == 0 else 'class="dot" r="1.6"'
    return f'<circle {ring} cx="{u:.1f}" cy="{v:.1f}"/>'


def scale(panel: Panel, across: Sequence[float], up: Sequence[float]) -> list[str]:
    """Numbers along two sides."""
    low = panel.up + panel.tall + 16
    said = [text(panel.place(v, 0)[0], low, f"{v}".replace("-", "−"), "s") for v in across]
    return said + [text(panel.left - 5, panel.place(0, v)[1] + 4, f"{v}".replace("-", "−"), "s", "end") for v in up]


# --- The picture of the README ----------------------------------------------------------------------------------------


CELLS = 10
WIDTH, HEIGHT = 1200, 540
AZIMUTH, ELEVATION = math.radians(60), math.radians(33)
README = """
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #1d2733; }
.page { fill: #ffffff; } .soft { fill: #66717e; } .floor { stroke: #b9c3cd; }
.prior { fill: #e08a3c; } .theorem { fill: #7fb2da; } .ours { fill: #0b61b8; } text.ours { font-weight: 700; }
@media (prefers-color-scheme: dark) {
  text { fill: #e5eaf0; } .page { fill: #0f1419; } .soft { fill: #95a1af; } .floor { stroke: #3a4653; }
  .ours { fill: #6cb2f5; } .theorem { fill: #35618c; } .prior { fill: #d07f35; } }
"""


def landscape() -> cpwl.CPWL:
    """Two summits and a hollow, linear on the triangles of a grid."""
    axis = np.arange(CELLS + 1)
    x, y = np.meshgrid(axis / CELLS * 6 - 3, axis / CELLS * 6 - 3, indexing="ij")
    hills = 3 * (1 - x) ** 2 * np.exp(-(x**2) - (y + 1) ** 2) - np.exp(-((x + 1) ** 2) - y**2) / 3
    hills -= 10 * (x / 5 - x**3 - y**5) * np.exp(-(x**2) - y**2)
    return cpwl.CPWL.from_grid([axis, axis], np.round(hills * 64) / 64)


def project(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points ``(x, y, height)`` in a unit cube as ``(right, down, depth)`` on the picture."""
    x, y, z = points.T
    right = math.cos(AZIMUTH) * x - math.sin(AZIMUTH) * y
    depth = math.sin(AZIMUTH) * x + math.cos(AZIMUTH) * y
    up = z * math.cos(ELEVATION) + depth * math.sin(ELEVATION)
    return np.column_stack([300 + 390 * right, 262 - 385 * up, depth])


def surface(p: cpwl.CPWL) -> str:
    """The graph of the function, each piece a facet, above the outline of the pieces."""
    shapes = polygons(p, 0, CELLS)
    values = np.concatenate([shape.values for shape in shapes])
    low, high = values.min(), values.max()
    light = np.array([-0.5, -0.35, 0.8])
    facets, floor = [], []
    for shape in shapes:
        flat = shape.corners / CELLS - 0.5
        height = (shape.values - low) / (high - low)
        at = project(np.column_stack([flat, 0.58 * height - 0.13]))
        below = project(np.column_stack([flat, np.full(len(flat), -0.27)]))
        slope = shape.law[:2] * CELLS / (high - low) * 0.58
        normal = np.array([-slope[0], -slope[1], 1.0])
        bright = float(normal @ light / np.linalg.norm(normal) / np.linalg.norm(light))
        fill = shade(colour(float(height.mean())), 0.62 + 0.45 * max(bright, 0.0))
        facets.append((at[:, 2].mean(), f'<polygon points="{text_of(at)}" fill="{fill}"/>'))
        floor.append(f'<polygon points="{text_of(below)}"/>')
    facets.sort(key=lambda facet: -facet[0])
    return (
        f'<g class="floor" fill="none" stroke-width=".8">{"".join(floor)}</g>'
        f'<g stroke="#fff" stroke-opacity=".55" stroke-width=".8" stroke-linejoin="round">'
        f"{''.join(facet for _, facet in facets)}</g>"
    )


def shade(rgb: str, factor: float) -> str:
    """The colour made darker or brighter."""
    parts = (min(255, round(int(rgb[i : i + 2], 16) * factor)) for i in (1, 3, 5))
    return "#" + "".join(f"{part:02x}" for part in parts)


def text_of(at: NDArray[np.float64]) -> str:
    """The points of a polygon as SVG."""
    return " ".join(f"{u:.1f},{v:.1f}" for u, v in at[:, :2])


def bars(p: cpwl.CPWL, compiled: cpwl.Compiled) -> str:
    """How many hidden neurons suffice by each bound, and how many there are, on a linear scale."""
    n, k, q = p.dim, p.num_components, p.num_pieces
    rows = [
        ("He et al. 2020", "prior", cpwl.bounds.he2020(n, k, q)),
        ("Hertrich et al. 2021", "prior", cpwl.bounds.hertrich2021(n, k)),
        ("Chen et al. 2022, Theorem 2", "theorem", compiled.bounds["theorem2"].neurons),
        ("Chen et al. 2022, Algorithm 1", "theorem", cpwl.compile(p, construction="paper").sizes.neurons),
        ("cpwl, proved equal", "ours", compiled.sizes.neurons),
    ]
    left, room, top, step = 640, 480, 170, 64
    full = rows[2][2]
    drawn = [
        f'<text x="{left}" y="78" font-size="28" font-weight="700">{q} pieces. How many neurons?</text>',
        f'<text x="{left}" y="110" font-size="17" class="soft">'
        "ReLU neurons that suffice for this function of two variables</text>",
    ]
    for i, (name, kind, count) in enumerate(rows):
        y, cut = top + i * step, count > full
        size = room if cut else room * count / full
        label = f"{count:,}" if count < 10**6 else f'10<tspan dy="-7" font-size="13">{math.log10(count):,.0f}</tspan>'
        mark = ' class="ours"' if kind == "ours" else ""
        drawn.append(
            f'<text x="{left}" y="{y}" font-size="17" class="{"ours" if kind == "ours" else "soft"}">{name}</text>'
            f'<text x="{left + room}" y="{y}" font-size="20" text-anchor="end" font-weight="700"{mark}>{label}</text>'
            f'<rect x="{left}" y="{y + 9}" width="{size:.1f}" height="16" rx="3" class="{kind}"/>'
        )
        if cut:
            x = left + room - 46
            drawn.append(f'<path class="page" d="M{x} {y + 29}l10 -24h7l-10 24z"/>')
            drawn.append(f'<path class="page" d="M{x + 15} {y + 29}l10 -24h7l-10 24z"/>')
    note = "Linear scale. The bars that are cut would be longer than the observable universe."
    drawn.append(f'<text x="{left}" y="{top + len(rows) * step + 6}" font-size="13" class="soft">{note}</text>')
    return "".join(drawn)


def picture() -> str:
    """The function with its pieces, and the neurons that it costs by each bound."""
    p = landscape()
    compiled = cpwl.compile(p, certify=True)
    # The picture says "proved equal": no proof, no picture.
    assert compiled.certificate is not None
    assert compiled.certificate.error_bound == 0
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"<title>A function of {p.num_pieces} pieces, and the neurons it takes</title><style>{README}</style>"
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="14"/>{surface(p)}{bars(p, compiled)}</svg>\n'
    )


PICTURES: dict[str, Callable[[], str]] = {
    "hinge": lambda: construction("hinge", arrangement, 0.0, 1.0),
    "univariate": lambda: construction("univariate", wave, 0.0, 31.0),
    "gates": lambda: construction("gates", lambda: table(14, 0), 0.0, 1.0),
    "columns": lambda: construction("columns", hills, 0.0, 5.0),
    "windows": lambda: construction("windows", lambda: table(14, 0), 0.0, 1.0),
    "clamped": lambda: construction("clamped", lambda: table(14, 0), 0.0, 1.0),
    "strips": lambda: construction("strips", lambda: table(40, 0), 0.0, 1.0),
    "lattice": lambda: construction("lattice", lambda: table(6, 0), 0.0, 1.0),
    "paper": paper,
    "slabs": slabs,
    "theory/blocks": blocks,
    "ask": ask,
    "picture": picture,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        write_text(DOCS / f"{name}.svg", PICTURES[name]())
