"""Draws the diagrams of lemmas, of the choice of a construction, of the proof pipeline and of the theory pages.

Curves are computed, not drawn by hand; all colours follow light and dark. ``python docs/make_diagrams.py``
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

import numpy as np

import cpwl
from cpwl.files import write_text

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.b{font-weight:600}.s{font-size:12px;fill:#5c6774}"
    "rect{fill:#eef3fb;stroke:#3f6db3}.end{fill:#e6f4ea;stroke:#17703c}.out{fill:#fdf3e4;stroke:#b8741a}"
    "path{fill:none;stroke:#555;stroke-width:1.4}marker path{fill:#555;stroke:none}.axis{stroke:#b9c3cd}"
    ".one{stroke:#0b61b8;stroke-width:2.4}.two{stroke:#d1710a;stroke-width:2.4}.dash{stroke-dasharray:5 4}"
    ".area{fill:#0b61b8;fill-opacity:.16;stroke:none}.thin.area{stroke:#0b61b8}.thin{stroke-width:1.4}"
    ".dot{fill:#222;stroke:none}.bad{fill:#c3211a}.frame{fill:none;stroke:#8a949e}circle.l0{fill:none;stroke-width:1.6}"
    ".l0{stroke:#0b61b8}.l1{stroke:#d9622b}.l2{stroke:#2f9e58}.l3{stroke:#8a4fbf}.l4{stroke:#a87a08}.l5{stroke:#c2255c}"
    ".cell{stroke:#fff;stroke-width:.6;fill-opacity:.45}.c0{fill:#0b61b8}.c1{fill:#d9622b}.c2{fill:#2f9e58}"
    ".c3{fill:#8a4fbf}.c4{fill:#b8860b}.c5{fill:#c2255c}.c6{fill:#6b7683}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.s{fill:#9aa6b3}rect{fill:#22304a;stroke:#7ea6e0}"
    ".end{fill:#16301f;stroke:#7ddb9d}.out{fill:#33270f;stroke:#e0a15c}path{stroke:#aaa}marker path{fill:#aaa}"
    ".axis{stroke:#3a4653}.one{stroke:#6cb2f5}.two{stroke:#f0a04b}.area{fill:#6cb2f5}.thin.area{stroke:#6cb2f5}.dot{fill:#e6e6e6}"
    ".bad{fill:#ff7b72}.frame{stroke:#7b8794}.cell{stroke:#0f1419}.l0{stroke:#6cb2f5}.l1{stroke:#f08c50}"
    ".l2{stroke:#5fcf88}.l3{stroke:#b98be8}.l4{stroke:#e0b341}.l5{stroke:#f06a97}}"
)
ARROW = (
    '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z"/></marker>'
)
Curve = Callable[[float], float]


def svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    said = f'role="img" aria-label="{escape(label)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {said}>'
    return "\n".join([head, f"<style>{STYLE}</style>", f"<defs>{ARROW}</defs>", *parts, "</svg>", ""])


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def box(x: float, y: float, w: float, title: str, *lines: str, kind: str = "") -> str:
    """A box with a title and lines under it, `x` and `y` its upper left corner."""
    tall = 30 + 17 * len(lines)
    drawn = [f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{tall}" rx="6" class="{kind}"/>']
    drawn.append(text(x + w / 2, y + 20, title, "b"))
    drawn += [text(x + w / 2, y + 38 + 17 * k, line, "s") for k, line in enumerate(lines)]
    return "\n".join(drawn)


def arrow(*points: tuple[float, float]) -> str:
    return f'<path marker-end="url(#a)" d="M{"L".join(f"{x:g} {y:g}" for x, y in points)}"/>'


class Panel:
    """Axes from `low` to `high`, and curves in them, each through all its breakpoints."""

    def __init__(self, at: tuple[float, float], low: float, high: float, bottom: float, top: float) -> None:
        (self.left, self.up), self.low, self.high = at, low, high
        self.wide, self.tall, self.bottom, self.top = 230.0, 170.0, bottom, top

    def place(self, x: float, y: float) -> tuple[float, float]:
        across, up = (x - self.low) / (self.high - self.low), (y - self.bottom) / (self.top - self.bottom)
        return self.left + across * self.wide, self.up + (1 - up) * self.tall

    def curve(self, f: Curve, xs: Sequence[float], kind: str) -> str:
        points = [self.place(x, f(x)) for x in xs]
        return f'<path class="{kind}" d="M{"L".join(f"{u:.1f} {v:.1f}" for u, v in points)}"/>'

    def axes(self) -> list[str]:
        (u, v), (w, _) = self.place(self.low, 0), self.place(self.high, 0)
        zero, (_, b), (_, t) = self.place(0, 0)[0], self.place(0, self.bottom), self.place(0, self.top)
        return [f'<path class="axis" d="M{u:g} {v:g}H{w:g}M{zero:g} {b:g}V{t:g}"/>']


def gate() -> str:
    """Why one neuron makes a gate: ``d + M l`` has the sign of ``l``."""
    d = cpwl.CPWL.from_breakpoints([-3, -1.5, 0, 1, 2, 3], [-1, 1.5, 0, -1, 0.5, 0.2])
    knots = [-3, -1.5, 0, 1, 2, 3]
    M = 0.5 + max(-d([[x]])[0, 0] / x for x in knots if x)  # more than the least M with d / l >= -M for l = x
    at: dict[str, Curve] = {
        "d": lambda x: float(d([[x]])[0, 0]),
        "sum": lambda x: float(d([[x]])[0, 0]) + M * x,
        "gate": lambda x: max(float(d([[x]])[0, 0]) + M * x, 0.0) - M * max(x, 0.0),
    }
    assert all(at["sum"](x) * x >= 0 for x in np.linspace(-3, 3, 601))
    assert all(abs(at["gate"](x) - (at["d"](x) if x > 0 else 0)) < 1e-12 for x in np.linspace(-3, 3, 601))
    one, two, three = (Panel((20 + 265 * k, 40), -3, 3, -5.6, 5.6) for k in range(3))
    parts = [
        *one.axes(),
        one.curve(at["d"], knots, "one"),
        text(135, 26, "d is 0 where l = 0", "b"),
        *two.axes(),
        two.curve(lambda x: M * x, [-3, 3], "dash"),
        two.curve(at["sum"], knots, "two"),
        text(400, 26, "d + M l has the sign of l", "b"),
        text(445, 62, "d + M l", "s", "end"),
        text(420, 205, "M l dashed", "s", "start"),
        *three.axes(),
        three.curve(at["d"], knots, "one dash"),
        three.curve(at["gate"], knots, "two"),
        text(665, 26, "s(d + M l) - M s(l) = [l > 0] d", "b"),
        *(text(panel.left + 226, panel.place(0, 0)[1] + 15, "l", "s") for panel in (one, two, three)),
    ]
    return svg(800, 225, "The gate lemma in one dimension", parts)


def segment() -> str:
    """The component of the segment lemma: above p at x, below p at y."""
    p = cpwl.CPWL.from_breakpoints([0, 1, 2, 3.2, 4], [1, 2.6, 2.2, -0.4, 0.2])
    knots = [0, 1, 2, 3.2, 4]

    def value(x: float) -> float:
        return float(p([[x]])[0, 0])

    def chord(x: float) -> float:
        return value(0) + (value(4) - value(0)) * x / 4

    slope = (value(3.2) - value(2)) / 1.2

    def law(x: float) -> float:
        return value(2) + slope * (x - 2)

    assert law(0) >= value(0)
    assert law(4) <= value(4)
    panel = Panel((60, 20), 0, 4, -2.4, 7)
    panel.wide, panel.tall = 520, 230
    parts = [
        panel.curve(chord, [0, 4], "axis"),
        panel.curve(law, [0, 4], "two dash"),
        panel.curve(law, [2, 3.2], "two"),
        panel.curve(value, knots, "one"),
        panel.curve(law, [2, 3.2], "two"),
    ]
    for x, name in ((0, "x"), (4, "y")):
        parts += [
            f'<path class="axis" d="M{panel.place(x, 7)[0]:g} 20V250"/>',
            text(panel.place(x, 0)[0], 268, name, "b"),
        ]
    parts += [
        text(panel.place(0.15, 6.2)[0], panel.place(0, 6.4)[1], "f, continued: f(x) ≥ p(x)", "s", "start"),
        text(panel.place(3.55, 0)[0], panel.place(0, -1.9)[1], "f(y) ≤ p(y)", "s", "end"),
        text(panel.place(1, 0)[0], panel.place(0, 3)[1], "p", "b"),
        text(panel.place(1.3, 0)[0], panel.place(0, 0.15)[1], "chord", "s"),
    ]
    return svg(640, 280, "The segment lemma", parts)


def columns() -> str:
    """A column of a grid: the area under a window of the step function of its values."""
    values = [2.0, 3.0, 1.0, 4.0, 2.0]

    def integral(x: float) -> float:
        return sum(r * min(max(x - k, 0), 1) for k, r in enumerate(values))

    def column(u: float, t: float) -> float:
        """The sum of the hats of the column, each times its value, at height `u`, `t` away from the column."""
        return max(min(integral(u + 1), integral(u + 1 - t)) - max(integral(u), integral(u - t)), 0.0)

    def hats(u: float, t: float) -> float:
        a, b = max(t, 0.0), min(t, 0.0)
        return sum(r * max(1 - max(a - (u - k), 0) - max(u - k - b, 0), 0) for k, r in enumerate(values))

    assert all(abs(column(u, t) - hats(u, t)) < 1e-12 for u in np.linspace(-2, 6, 161) for t in np.linspace(-1, 1, 21))
    steps, graph = Panel((20, 40), -0.6, 6, -0.4, 4.6), Panel((320, 40), -0.6, 6, -0.4, 4.6)
    graph.wide = steps.wide = 270
    u, t = 1.6, 0.3
    ends = u, u + 1 - t
    shade = [(ends[0], 0.0), (ends[0], 3.0), (2.0, 3.0), (2.0, 1.0), (ends[1], 1.0), (ends[1], 0.0)]
    tread = [point for k, r in enumerate(values) for point in ((k, r), (k + 1, r))]
    knots = sorted({k + s for k in range(-1, 7) for s in (0.0, t)})
    parts = [
        *steps.axes(),
        _polygon(steps, shade, "area"),
        _polyline(steps, [(0, 0), *tread, (5, 0)], "one"),
        text(155, 26, "values of a column as steps", "b"),
        text(steps.place(1.95, 0)[0], steps.place(0, 3.2)[1], "window I", "s", "end"),
        *graph.axes(),
        graph.curve(lambda x: column(x, 0.0), range(-1, 7)[1:], "one"),
        graph.curve(lambda x: column(x, t), [x for x in knots if -0.6 <= x <= 6], "two"),
        _dot(graph, u, column(u, t)),
        text(455, 26, "area of the window = sum of the hats", "b"),
        text(graph.place(3.75, 0)[0], graph.place(0, 4.1)[1], "blue: on the column", "s", "start"),
        text(graph.place(3.75, 0)[0], graph.place(0, 3.5)[1], "orange: 0.3 away from it", "s", "start"),
        *(text(panel.left + 262, panel.place(0, 0)[1] + 15, "u", "s") for panel in (steps, graph)),
    ]
    return svg(660, 225, "A column of a grid: the area under a moving window", parts)


def windows() -> str:
    """Blocks of a convex lifting, and the clamps that are 0 away from them."""
    W = lambda x: max((2 * k + 1) * x - k * (k + 1) for k in range(8))  # noqa: E731 - x * x, straight between integers
    R = lambda x: max(2 * k * x - k * k for k in range(0, 9, 2))  # noqa: E731 - tangents: R - C, below W
    blocks = [lambda x, a=a: max((2 * k + 1) * x - k * (k + 1) for k in (a, a + 1)) for a in (1, 3, 5)]
    xs = [1 + k / 60 for k in range(361)]
    assert all(abs(W(x) - max(F(x) for F in blocks)) < 1e-9 for x in xs)
    assert all(abs(max(max(F(x) - R(x), 0) for F in blocks) - (W(x) - R(x))) < 1e-9 for x in xs)
    assert all(min(blocks[0](x) - R(x), blocks[2](x) - R(x)) <= 0 for x in xs)  # one class: never both
    low = lambda f: lambda x: f(x) - 8 * x  # noqa: E731 - the same drawn less steep
    left, right = Panel((30, 40), 0.6, 7.4, -19, -2), Panel((330, 40), 0.6, 7.4, -0.15, 1.3)
    left.wide = right.wide = 260
    kinds = ("two", "one", "two")
    parts = [
        left.curve(low(R), [1, 3, 5, 7], "dash"),
        *(
            left.curve(low(F), [max(a - 1, 0.6), a + 1, min(a + 3, 7.4)], kind)
            for a, F, kind in zip((1, 3, 5), blocks, kinds, strict=True)
        ),
        text(160, 26, "W is the maximum of its blocks", "b"),
        text(left.place(2.1, 0)[0], left.place(0, -6)[1], "R - C dashed, below W", "s", "start"),
        f'<path class="axis" d="M{right.left:g} {right.place(1, 0)[1]:g}h{right.wide:g}"/>',
        *(right.curve(lambda x, F=F: max(F(x) - R(x), 0), xs, kind) for F, kind in zip(blocks, kinds, strict=True)),
        text(460, 26, "s(F - R + C) is 0 away from its block", "b"),
        text(460, 222, "orange: one class, whose clamps never overlap", "s"),
    ]
    return svg(620, 235, "Windows on a convex lifting, in one dimension", parts)


def near() -> str:
    """A region of the data and the piece that it is compared with; and the bound in one dimension."""
    data = [(60.0, 60.0), (210.0, 48.0), (228.0, 160.0), (72.0, 184.0)]
    meant = [(66.0, 66.0), (204.0, 54.0), (222.0, 166.0), (66.0, 178.0)]
    laws = [(-0.05, 2.1, lambda x: 0.9 * x + 0.1), (1.95, 4.0, lambda x: 2.25 - 0.2 * (x - 2))]
    q = cpwl.CPWL.from_breakpoints([0, 2, 4], [0.05, 2.05, 1.75])
    value = lambda x: float(q([[x]])[0, 0])  # noqa: E731
    bound = max(abs(f(x) - value(x)) for a, b, f in laws for x in (max(a, 0), 2, b) if a <= x <= b)
    panel = Panel((330, 40), 0, 4, -0.4, 2.9)
    panel.wide = 260
    band = [(x, value(x) + s * bound) for s, xs in ((1, (0, 2, 4)), (-1, (4, 2, 0))) for x in xs]
    shape = lambda points: "M" + "L".join(f"{x:g} {y:g}" for x, y in points) + "Z"  # noqa: E731
    parts = [
        f'<path class="two dash" d="{shape(data)}"/>',
        f'<path class="one" d="{shape(meant)}"/>',
        *(
            f'<path class="thin" d="M{a[0]:g} {a[1]:g}L{b[0]:g} {b[1]:g}"/>'
            f'<circle class="dot" cx="{a[0]:g}" cy="{a[1]:g}" r="2.6"/>'
            for a, b in zip(data, meant, strict=True)
        ),
        text(145, 26, "every corner v has a partner v'", "b"),
        text(150, 112, "Q: data", "s"),
        text(150, 130, "S: exact piece", "s"),
        text(48, 56, "v", "b"),
        text(80, 84, "v'", "b"),
        _polygon(panel, band, "area"),
        panel.curve(value, [0, 2, 4], "one"),
        *(panel.curve(f, [max(a, 0), b], "two dash") for a, b, f in laws),
        text(460, 26, "the data stays within the bound", "b"),
        text(panel.place(4, 0)[0], panel.place(0, 0.55)[1], "dashed: laws that do not meet", "s", "end"),
        text(panel.place(4, 0)[0], panel.place(0, 0.2)[1], "band: exact function ± bound", "s", "end"),
    ]
    return svg(620, 225, "How float data is compared with an exact function", parts)


def flags() -> str:
    """Signs of flags on one line: they cancel where pieces fit, and stay where one is missing."""
    a, m, b = (150.0, 40.0), (150.0, 120.0), (150.0, 200.0)
    pieces = [[a, b, (30.0, 120.0)], [a, m, (260.0, 80.0)], [m, b, (260.0, 160.0)]]

    def signs(shown: list[list[tuple[float, float]]]) -> dict[tuple[float, float], list[int]]:
        """For each corner on the line the signs of the flags (line, corner) of these pieces."""
        found: dict[tuple[float, float], list[int]] = {a: [], m: [], b: []}
        for first, second, third in shown:
            side = 1 if third[0] > first[0] else -1
            found[first].append(side * (1 if second[1] > first[1] else -1))
            found[second].append(side * (1 if first[1] > second[1] else -1))
        return found

    assert all(sum(s) == 0 for s in signs(pieces).values())
    parts = []
    for shift, shown, title in (
        (0, pieces, "pieces that fit: all sums are 0"),
        (330, pieces[:2], "a gap: two sums are not 0"),
    ):
        moved = lambda x, shift=shift: x + shift  # noqa: E731
        for corners in shown:
            drawn = "L".join(f"{moved(x):g} {y:g}" for x, y in corners)
            parts.append(f'<path class="one thin area" d="M{drawn}Z"/>')
        parts += [f'<path class="dash" d="M{moved(150)} 28V212"/>', text(moved(150), 20, title, "b")]
        for (x, y), found in signs(shown).items():
            at, lift = moved(x), {40.0: 6, 120.0: 4, 200.0: 2}[y]
            left = [s for s, piece in zip(found, [p for p in shown if (x, y) in p], strict=True) if piece[2][0] < 150]
            right = [s for s, piece in zip(found, [p for p in shown if (x, y) in p], strict=True) if piece[2][0] > 150]
            parts += [
                text(at - 8, y + lift, " ".join("+" if s > 0 else "−" for s in left), "b", "end"),
                text(at + 8, y + lift, " ".join("+" if s > 0 else "−" for s in right), "b", "start"),
                f'<circle class="dot" cx="{at:g}" cy="{y:g}" r="3"/>',
            ]
            if sum(found):
                parts.append(text(at + 60, y + lift, f"sum {sum(found):+d}".replace("-", "−"), "b bad", "start"))
    return svg(640, 225, "Flags on one line: their signs cancel where the pieces fit", parts)


def _polyline(panel: Panel, points: Sequence[tuple[float, float]], kind: str) -> str:
    places = (panel.place(x, y) for x, y in points)
    return f'<path class="{kind}" d="M{"L".join(f"{u:.1f} {v:.1f}" for u, v in places)}"/>'


def _polygon(panel: Panel, points: Sequence[tuple[float, float]], kind: str) -> str:
    return _polyline(panel, points, kind).replace('"/>', 'Z"/>')


def _dot(panel: Panel, x: float, y: float) -> str:
    u, v = panel.place(x, y)
    return f'<circle class="dot" cx="{u:.1f}" cy="{v:.1f}" r="3.4"/>'


def choice() -> str:
    """How "auto" chooses, from the function to the network."""
    rows = [
        ("bends on whole hyperplanes", "hinge"),
        ("one input, or one direction", "univariate"),
        ("sum of functions of fewer inputs", "sums"),
        ("mirrored or odd", "fold"),
        ("two hidden layers", "layers"),
        ("table on a grid", "columns"),
        ("bounded, with a convex lifting", "windows"),
        ("two inputs", "clamped, strips"),
        ("any function", "gates, lattice, paper"),
    ]
    parts = [box(10, 110, 130, "function", "checked first:", "is it continuous?")]
    for k, (condition, name) in enumerate(rows):
        y = 12 + 30 * k
        parts += [
            f'<rect x="190" y="{y}" width="372" height="26" rx="5"/>',
            text(202, y + 18, condition, "s", "start"),
            text(550, y + 18, name, "b", "end"),
        ]
    parts += [
        arrow((140, 142), (184, 142)),
        arrow((568, 142), (606, 142)),
        box(
            610,
            58,
            180,
            "plans",
            "exact sizes, predicted",
            "errors; left out only by",
            "a proved lower bound,",
            "or by a stated budget",
        ),
        arrow((700, 156), (700, 186)),
        box(610, 190, 180, "the smallest plan", "that is accurate enough", kind="end"),
        text(376, 296, "which constructions are planned", "s"),
    ]
    return svg(800, 306, "How a construction is chosen", parts)


def pipeline() -> str:
    """Who checks a proof: three files, and a checker that has no code of the compiler."""
    parts = [
        box(10, 76, 120, "function", "law.json"),
        box(180, 12, 150, "compile", "finds a network"),
        box(180, 140, 150, "certify", "finds a proof"),
        box(390, 12, 130, "network", "net.json or .onnx"),
        box(390, 140, 130, "proof", "law.proof.json"),
        box(600, 66, 190, "cpwl_check", "Python, no other library,", "no code of cpwl", kind="out"),
        box(600, 176, 190, "verdict", "proved, with a bound;", "refused; or not decided", kind="end"),
        arrow((130, 92), (178, 40)),
        arrow((130, 108), (178, 160)),
        arrow((330, 36), (388, 36)),
        arrow((330, 164), (388, 164)),
        arrow((455, 60), (455, 98), (332, 150)),
        arrow((520, 36), (598, 84)),
        arrow((520, 164), (598, 116)),
        '<path class="dash" marker-end="url(#a)" d="M70 124V222H560V124L598 106"/>',
        arrow((695, 130), (695, 174)),
    ]
    return svg(800, 250, "From a function to a checked proof", parts)


def dependence() -> str:
    """Which pages of the theory use which."""
    names = {
        (0, 0): "2 hinges",
        (0, 1): "3 one dimension",
        (0, 2): "16 lower bounds",
        (1, 0): "6 gate lemma",
        (1, 1): "7 gates on lines",
        (1, 2): "12 rounding errors",
        (2, 1): "8 local gates",
        (2, 2): "9 strips",
        (3, 0): "4 segment lemma",
        (3, 1): "5 lattices",
        (4, 0): "15 linear regions",
        (4, 1): "17 certificates",
        (0, 3): "1 exact arithmetic",
        (1, 3): "10 columns",
        (2, 3): "11 windows",
        (3, 3): "13 flags",
        (4, 3): "14 float data",
    }
    parts = []
    for column, row in names:
        x, y = 16 + 172 * column, 16 + 72 * row + (24 if row == 3 else 0)
        parts += [box(x, y, 148, names[column, row])]
    down = [((0, 0), (0, 1)), ((0, 1), (0, 2)), ((1, 0), (1, 1)), ((1, 1), (1, 2)), ((3, 0), (3, 1)), ((4, 0), (4, 1))]
    parts += [arrow((90 + 172 * a, 46 + 72 * b), (90 + 172 * a, 86 + 72 * b)) for (a, b), _ in down]
    aside = [((0, 0), (1, 1)), ((1, 0), (2, 1)), ((1, 1), (2, 2))]
    parts += [arrow((150 + 172 * a, 46 + 72 * b), (206 + 172 * a, 86 + 72 * b)) for (a, b), _ in aside]
    parts.append(text(434, 242, "the pages below use no result of another page", "s"))
    return svg(868, 296, "Which theory pages use results of which", parts)


if __name__ == "__main__":
    docs = Path(__file__).parent
    for name, drawn in {
        "theory/gate": gate(),
        "theory/segment": segment(),
        "theory/columns": columns(),
        "theory/windows": windows(),
        "theory/near": near(),
        "theory/flags": flags(),
        "theory/dependence": dependence(),
        "choice": choice(),
        "pipeline": pipeline(),
    }.items():
        write_text(docs / f"{name}.svg", drawn)
