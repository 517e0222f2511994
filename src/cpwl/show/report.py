"""A report on compiled functions: one HTML page with everything in it, for screens light and dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from cpwl.files import write_text
from cpwl.function.answers import point_text
from cpwl.show.pictures import curve, layer_bars, map_of_pieces
from cpwl.show.row import Row, power_of_ten, rounded_up

__all__ = ["write_report"]

COLUMNS = (
    ("function", ""),
    ("inputs", "n"),
    ("pieces", "q"),
    ("compo&shy;nents", "k"),
    ("Hertrich et al.", "neurons"),
    ("Theorem 2", "neurons"),
    ("Algorithm 1", "neurons"),
    ("cpwl", "neurons"),
    ("depth", "layers"),
    ("proof", "checked apart"),
    ("time", "seconds"),
)
STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #66717e; --line: #e1e6eb; --page: #f6f8fa;
  --card: #fff; --ours: #0b61b8; --wrong: #b3261e; --wrong-page: #fdf0ef; --good: #17703c; --good-page: #e6f4ea;
  --prior: #e0a15c; --theorem: #9fc3e2; --paper: #5f93c4; --end: #b8c2cc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5eaf0; --soft: #95a1af; --line: #2c3540; --page: #0f1419;
  --card: #171e26; --ours: #6cb2f5; --wrong: #ff8a80; --wrong-page: #2a1a1b; --good: #7ddb9d; --good-page: #16301f;
  --prior: #a8713a; --theorem: #35506b; --paper: #45749f; --end: #4d5966; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 20px 60px; }
h1 { font-size: 2.1rem; line-height: 1.2; margin: 0 0 6px; letter-spacing: -.02em; }
h2 { font-size: 1.15rem; margin: 0; }
p { margin: 6px 0; }
.soft, footer { color: var(--soft); }
.lead { font-size: 1.08rem; max-width: 46em; }
.lead b { color: var(--ink); }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  margin: 24px 0 28px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { text-align: right; padding: 9px 11px; border-top: 1px solid var(--line); vertical-align: baseline; }
thead th { border: 0; font-size: .8rem; vertical-align: bottom; white-space: normal; }
small { display: block; color: var(--soft); font-weight: 400; font-size: .78rem; line-height: 1.3; }
th:first-child { text-align: left; padding-left: 18px; }
td:last-child, th:last-child { padding-right: 18px; }
.ours { color: var(--ours); font-weight: 700; }
td.ours { font-size: 1.1rem; }
.wrong, .wrong small { color: var(--wrong); }
.wrong { font-weight: 700; }
.chip { background: var(--good-page); color: var(--good); border-radius: 99px; padding: 2px 10px; font-size: .8rem;
  font-weight: 600; white-space: nowrap; }
.chip.wrong { background: var(--wrong-page); color: var(--wrong); }
sup { line-height: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(330px, 1fr)); gap: 20px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px;
  display: grid; grid-template-rows: subgrid; grid-row: span 7; gap: 12px; align-content: start; }
.card header { display: flex; justify-content: space-between; align-items: baseline; gap: 10px; }
.card svg { display: block; width: 100%; height: auto; }
.card p { margin: 0; font-size: .9rem; }
.picture svg { border-radius: 8px; }
figure { margin: 0; }
figcaption { color: var(--soft); font-size: .78rem; margin-top: 5px; }
figcaption.wrong { color: var(--wrong); font-weight: 500; }
.curve { background: var(--page); }
.curve polyline { fill: none; stroke: var(--paper); stroke-width: 2; stroke-linejoin: round; }
.curve circle { fill: var(--ours); stroke: var(--card); stroke-width: 1; }
.curve .axis { stroke: var(--end); stroke-width: 1; stroke-dasharray: 3 3; }
.layers .hidden { fill: var(--ours); }
.layers .end { fill: var(--end); }
.layers text { fill: var(--ink); font-size: 9.5px; text-anchor: middle; font-variant-numeric: tabular-nums; }
.layers .name { fill: var(--soft); }
.counts { display: grid; grid-template-columns: 1fr auto; gap: 1px 10px; font-size: .85rem; align-content: start;
  font-variant-numeric: tabular-nums; }
.counts > :nth-child(3n + 2) { text-align: right; font-weight: 600; }
.counts > :nth-child(3n + 1) { color: var(--soft); }
.counts > .ours, .counts > .wrong { color: inherit; }
.counts > .ours { color: var(--ours); font-weight: 700; }
.counts > .wrong { color: var(--wrong); }
.bar { grid-column: 1 / -1; height: 9px; border-radius: 2px; margin-bottom: 6px; position: relative; }
.bar.prior { background: var(--prior); }
.bar.theorem { background: var(--theorem); }
.bar.paper { background: var(--paper); }
.bar.cpwl { background: var(--ours); }
.bar.fails { background: repeating-linear-gradient(135deg, var(--wrong) 0 5px, var(--wrong-page) 5px 8px); }
.bar.cut::after { content: ""; position: absolute; right: 26px; top: -2px; height: 13px; width: 12px;
  transform: skewX(-20deg); border: solid var(--card); border-width: 0 4px; }
.proved { display: grid; gap: 8px; align-content: start; border-left: 3px solid var(--good); padding-left: 12px; }
.proved b { display: block; font-size: .78rem; color: var(--soft); font-weight: 600; }
.files { display: flex; flex-wrap: wrap; gap: 4px 10px; font-size: .76rem; align-content: end; }
a { color: var(--ours); text-decoration: none; }
a:hover { text-decoration: underline; }
footer { font-size: .85rem; margin-top: 32px; border-top: 1px solid var(--line); padding-top: 14px; }
code { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 1px 6px; }
pre { margin: 6px 0 12px; overflow-x: auto; }
pre code { display: inline-block; padding: 8px 12px; }
"""


def write_report(rows: Sequence[Row], path: str | Path) -> None:
    """Write one self-contained HTML page on `rows` to `path`: the table, pictures, proofs, and the networks' layers.

    Functions of one variable are drawn as curves and those of two as pieces seen from above; of the others one
    sees the plane of the first two inputs.
    """
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>cpwl: from pieces to neurons</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>From pieces to neurons</h1>\n<p class="soft lead">{_lead(rows)}</p>\n'
        f"{_table(rows)}\n"
        f'<div class="cards">\n{"".join(map(_card, rows))}</div>\n'
        f"<footer>{_footnote(rows)}</footer>\n</main>\n</body>\n</html>\n"
    )
    write_text(path, page)


def _lead(rows: Sequence[Row]) -> str:
    accepted = sum(row.verdict.accepted for row in rows)
    failed = sum(row.failure is not None for row in rows)
    seconds = sum(row.seconds for row in rows)
    return (
        f"{len(rows)} piecewise-linear functions, compiled to ReLU networks and proved in {seconds:.1f} s. "
        f"<b>{accepted} of {len(rows)} proofs were accepted</b> by a checker that shares no code with the compiler. "
        f"The paper’s Algorithm 1 is <b>wrong on {failed}</b> of the functions."
    )


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f"<th>{name}<small>{unit}</small></th>" for name, unit in COLUMNS)
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        f"{''.join(map(_line, rows))}</tbody>\n</table></div>"
    )


def _line(row: Row) -> str:
    p = row.example.function
    cells = [f"<td>{number}</td>" for number in (p.dim, p.num_pieces, p.num_components)]
    cells += [f"<td>{_power(bound)}</td>" for bound in (row.hertrich, row.theorem2)]
    if row.failure is None:
        cells.append(f"<td>{row.algorithm1:,}</td>")
    else:
        cells.append(f'<td class="wrong">{row.algorithm1:,}<small>{_wrong(row)}</small></td>')
    cells += [f'<td class="ours">{row.sizes.neurons:,}</td>', f"<td>{row.sizes.depth}</td>", f"<td>{_chip(row)}</td>"]
    return f"<tr><th>{escape(row.example.name)}</th>{''.join(cells)}<td>{row.seconds:.2f}</td></tr>\n"


def _card(row: Row) -> str:
    return (
        f'<section class="card">\n<header><h2>{escape(row.example.name)}</h2>{_chip(row)}</header>\n'
        f'<p class="soft">{escape(row.example.about)}</p>\n{_picture(row)}\n{_counts(row)}\n{_proofs(row)}\n'
        f"<figure>{layer_bars(row.compiled.network)}<figcaption>neurons in each layer</figcaption></figure>\n"
        f"{_files(row)}\n</section>\n"
    )


def _picture(row: Row) -> str:
    p, low, high = row.example.function, row.example.low, row.example.high
    if p.dim == 1:
        drawn, caption = curve(p, low, high), f"on [{low:g}, {high:g}], a dot at each breakpoint"
        return f'<figure class="picture">{drawn}<figcaption>{caption}</figcaption></figure>'
    caption = f"pieces on [{low:g}, {high:g}]²"
    at = row.failure
    if at is None:
        drawn = map_of_pieces(p, low, high, name=f"map-{row.example.slug}")
        caption += f", first two of {p.dim} inputs, others 0" if p.dim > 2 else ""
        return f'<figure class="picture">{drawn}<figcaption>{caption}</figcaption></figure>'
    drawn = map_of_pieces(p, low, high, name=f"map-{row.example.slug}", mark=np.asarray(at.point, dtype=np.float64))
    caption += f", first two of {p.dim} inputs, through the ring" if p.dim > 2 else ""
    values = f"{_number(at.network_value)}, the function is {_number(at.function_value)}"
    ring = f"in the ring, at {escape(point_text(at.point))}, Algorithm 1 gives {values}"
    return (
        f'<figure class="picture">{drawn}<figcaption>{caption}</figcaption>'
        f'<figcaption class="wrong">{ring}</figcaption></figure>'
    )


def _counts(row: Row) -> str:
    """How many neurons by each bound and construction, as bars: Theorem 2's is as wide as the card."""
    failed = row.failure is not None
    name = f"Algorithm 1, {_wrong(row)}" if failed else "Algorithm 1"
    counts = (
        ("Hertrich et al. 2021", "", "prior", row.hertrich),
        ("Theorem 2", "", "theorem", row.theorem2),
        (name, ' class="wrong"' if failed else "", "fails" if failed else "paper", row.algorithm1),
        ("cpwl", ' class="ours"', "cpwl", row.sizes.neurons),
    )
    drawn = []
    for title, mark, kind, count in counts:
        cut = " cut" if count > row.theorem2 > 0 else ""
        share = 100 * min(1.0, count / max(row.theorem2, 1)) if count < 10**300 else 100.0
        drawn.append(
            f'<span{mark}>{title}</span><span{mark}>{_power(count)}</span><span class="bar {kind}{cut}" '
            f'style="width:{share:.2f}%"></span>'
        )
    return f'<div class="counts">{"".join(drawn)}</div>'


def _proofs(row: Row) -> str:
    rounding = row.exported.evaluation_bound
    adds = (
        ""
        if rounding is None
        else f". Evaluation in float64 adds at most {_statement(rounded_up(rounding['float64']))}."
    )
    return (
        f'<div class="proved"><p><b>exact network, {"checked" if row.verdict.accepted else "refused"} apart</b>'
        f"{_statement(row.exact.statement)}</p>"
        f"<p><b>ONNX file, its float64 weights</b>{_statement(row.exported.statement)}{adds}</p></div>"
    )


def _files(row: Row) -> str:
    names = ("function", "ONNX", "ONNX proof", "exact", "exact proof")
    links = (f'<a href="{escape(file.name)}">{name}</a>' for name, file in zip(names, row.files, strict=True))
    explore = f'<a href="{escape(row.files.page.name)}"><b>explore</b></a>'
    return f'<div class="files">{explore}{"".join(links)}</div>'


def _footnote(rows: Sequence[Row]) -> str:
    largest = max(rows, key=lambda row: row.sizes.neurons)
    return (
        "<p>Check a proof again, in the folder of this page, with nothing but Python:</p>"
        f"<pre><code>{escape(largest.recheck)}</code></pre>"
        "<p>“= proved” means that the exact network equals the function at every point of every piece; “≤ e” that it "
        "is nowhere off by more than e. The ONNX file has the weights rounded to float64, and a proof of its own.</p>"
        "<p>Hertrich et al. 2021 (up to a constant, taken as 1) and Theorem 2: hidden neurons that suffice for any "
        "function with as many inputs, pieces and components. Algorithm 1: hidden neurons of the construction behind "
        "Theorem 2, as printed. Bars are on a linear scale; Theorem 2 is the full width, and what is cut is longer.</p>"
        "<p>Pictures of two inputs are dark where the function is low and bright where it is high. Times are for "
        "compiling, exporting, both proofs and the check.</p>"
    )


def _chip(row: Row) -> str:
    mark = "" if row.verdict.accepted else " wrong"
    return f'<span class="chip{mark}" title="{escape(row.verdict.text)}">{_statement(row.proof)}</span>'


def _statement(text: str) -> str:
    shown = escape(text.replace("<=", "≤").replace(" - ", " − "))
    return re.sub(r"e-0*(\d+)", r"·10<sup>−\1</sup>", shown)


def _power(count: int) -> str:
    base, exponent = power_of_ten(count)
    return f"{base}<sup>{exponent}</sup>" if exponent else base


def _number(value: object) -> str:
    return f"{float(value):.4g}".replace("-", "−")  # type: ignore[arg-type]


def _wrong(row: Row) -> str:
    assert row.failure is not None
    return f"wrong by {row.failure.amount:.3g}"
