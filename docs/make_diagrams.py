"""Draws the diagrams that explain: the gate lemma, the segment lemma, how a construction is chosen, who checks a proof.

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
    "@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.s{fill:#9aa6b3}rect{fill:#22304a;stroke:#7ea6e0}"
    ".end{fill:#16301f;stroke:#7ddb9d}.out{fill:#33270f;stroke:#e0a15c}path{stroke:#aaa}marker path{fill:#aaa}"
    ".axis{stroke:#3a4653}.one{stroke:#6cb2f5}.two{stroke:#f0a04b}}"
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


def choice() -> str:
    """How "auto" chooses, from the function to the network."""
    rows = [
        ("bends on whole hyperplanes", "hinge"),
        ("one input, or one direction", "univariate"),
        ("sum of functions of fewer inputs", "sums"),
        ("regions of two hidden layers", "layers"),
        ("table on a grid", "columns"),
        ("bounded, with a convex lifting", "windows"),
        ("two inputs", "clamped, strips"),
        ("any function", "gates, lattice, paper"),
    ]
    parts = [box(10, 110, 130, "function", "checked first:", "is it continuous?")]
    for k, (condition, name) in enumerate(rows):
        y = 12 + 34 * k
        parts += [
            f'<rect x="190" y="{y}" width="372" height="28" rx="5"/>',
            text(202, y + 19, condition, "s", "start"),
            text(550, y + 19, name, "b", "end"),
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


if __name__ == "__main__":
    docs = Path(__file__).parent
    for name, drawn in {
        "theory/gate": gate(),
        "theory/segment": segment(),
        "choice": choice(),
        "pipeline": pipeline(),
    }.items():
        write_text(docs / f"{name}.svg", drawn)
