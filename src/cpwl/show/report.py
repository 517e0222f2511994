"""A report on compiled functions: one HTML page with everything in it, for screens light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from cpwl.formats.atomic import write_text
from cpwl.function.report import point_text
from cpwl.show.pictures import curve, layer_bars, map_of_pieces
from cpwl.show.row import Failure, Row, power_of_ten

__all__ = ["write_report"]

COLUMNS = (
    ("function", ""),
    ("inputs", "n"),
    ("pieces", "q"),
    ("components", "k"),
    ("He et al. 2020", "neurons"),
    ("Hertrich et al. 2021", "neurons"),
    ("Theorem 2", "neurons"),
    ("our network", "neurons"),
    ("depth", "layers"),
    ("max error seen", "sampled"),
    ("time", "seconds"),
)
STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #66717e; --line: #e1e6eb; --page: #f6f8fa;
  --card: #fff; --ours: #0b61b8; --wrong: #b3261e; --wrong-page: #fdf0ef; --bar: #4292c6; --end: #b8c2cc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5eaf0; --soft: #95a1af; --line: #2c3540; --page: #0f1419;
  --card: #171e26; --ours: #6cb2f5; --wrong: #ff8a80; --wrong-page: #2a1a1b; --bar: #4292c6; --end: #4d5966; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 20px 60px; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 6px; letter-spacing: -.02em; }
h2 { font-size: 1.1rem; margin: 0; }
p { margin: 6px 0; }
.soft, .card p, footer { color: var(--soft); }
.lead { font-size: 1.05rem; max-width: 48em; }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  margin: 24px 0 28px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { text-align: right; padding: 9px 12px; border-top: 1px solid var(--line); }
thead th { border: 0; font-size: .8rem; vertical-align: bottom; white-space: normal; }
thead small { display: block; color: var(--soft); font-weight: 400; }
th:first-child { text-align: left; padding-left: 18px; }
td:last-child { padding-right: 18px; }
.ours { color: var(--ours); font-weight: 700; }
.wrong { color: var(--wrong); font-weight: 700; }
tr.failed { background: var(--wrong-page); }
sup { line-height: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(330px, 1fr)); gap: 20px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 18px;
  display: flex; flex-direction: column; gap: 10px; }
.card .low { margin-top: auto; display: grid; gap: 10px; }
.card.failed { border-color: var(--wrong); grid-column: 1 / -1; flex-direction: row; flex-wrap: wrap; gap: 24px; }
.card.failed > div { flex: 1 1 320px; display: grid; gap: 10px; align-content: center; max-width: 560px; }
.card.failed .picture { flex: 0 1 320px; }
.card p.wrong { color: var(--wrong); font-size: 1.3rem; }
.card svg { display: block; width: 100%; height: auto; }
.card p { margin: 0; font-size: .9rem; }
.picture svg { border-radius: 8px; }
figure { margin: 0; }
figcaption { color: var(--soft); font-size: .78rem; margin-top: 5px; }
.curve { background: var(--page); }
.curve polyline { fill: none; stroke: var(--bar); stroke-width: 2; stroke-linejoin: round; }
.curve circle { fill: var(--ours); stroke: var(--card); stroke-width: 1; }
.curve .axis { stroke: var(--end); stroke-width: 1; stroke-dasharray: 3 3; }
.layers .hidden { fill: var(--bar); }
.layers .end { fill: var(--end); }
.layers text { fill: var(--ink); font-size: 9.5px; text-anchor: middle; font-variant-numeric: tabular-nums; }
.layers .name { fill: var(--soft); }
dl { display: grid; grid-template-columns: auto auto; gap: 2px 12px; margin: 0; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
dt { color: var(--soft); }
dd { margin: 0; text-align: right; }
footer { font-size: .85rem; margin-top: 32px; border-top: 1px solid var(--line); padding-top: 14px; }
"""


def write_report(rows: Sequence[Row], path: str | Path) -> None:
    """Write one self-contained HTML page on `rows` to `path`: the table, pictures, and the networks' layers.

    Functions of one variable are drawn as curves and those of two as pieces seen from above; of the others one
    sees the plane of the first two inputs.
    """
    good = [row for row in rows if row.failure is None]
    seconds = sum(row.seconds for row in rows)
    lead = (
        f"{len(good)} of {len(rows)} functions compiled in {seconds:.1f} s to ReLU networks. Beside each network "
        f"stands what suffices by the published bounds."
    )
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>cpwl: from pieces to neurons</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>From pieces to neurons</h1>\n<p class="soft lead">{lead}</p>\n'
        f"{_table(rows)}\n"
        f'<div class="cards">\n{"".join(map(_card, rows))}</div>\n'
        f"<footer>{_footnote(rows)}</footer>\n</main>\n</body>\n</html>\n"
    )
    write_text(path, page)


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f"<th>{name}<small>{unit}</small></th>" for name, unit in COLUMNS)
    return (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        f"{''.join(map(_line, rows))}</tbody>\n</table></div>"
    )


def _line(row: Row) -> str:
    p, failed = row.example.function, row.failure is not None
    numbers = [p.dim, p.num_pieces, p.num_components]
    cells = [f"<td>{number}</td>" for number in numbers]
    cells += [f"<td>{_power(bound)}</td>" for bound in (row.he, row.hertrich, row.theorem2)]
    if failed:
        cells += [f'<td class="wrong" colspan="3">{_wrong(row)}</td>']
    else:
        cells += [f'<td class="ours">{row.sizes.neurons:,}</td>', f"<td>{row.sizes.depth}</td>"]
        cells += [f"<td>{_error(row.max_error)}</td>"]
    cells.append(f"<td>{row.seconds:.2f}</td>")
    mark = ' class="failed"' if failed else ""
    return f"<tr{mark}><th>{escape(row.example.name)}</th>{''.join(cells)}</tr>\n"


def _card(row: Row) -> str:
    return (
        f'<section class="card">\n<h2>{escape(row.example.name)}</h2>\n<p>{escape(row.example.about)}</p>\n'
        f'{_picture(row)}\n<div class="low">{_bounds(row)}'
        f"<dt>our neurons</dt><dd class='ours'>{row.sizes.neurons:,}</dd></dl>\n"
        f"<figure>{layer_bars(row.network)}<figcaption>neurons in each layer</figcaption></figure></div>\n"
        f"</section>\n"
        if row.failure is None
        else _failed_card(row, row.failure)
    )


def _failed_card(row: Row, failure: Failure) -> str:
    at, right, wrong = point_text(failure.point), float(failure.function_value), float(failure.network_value)
    return (
        f'<section class="card failed">\n{_picture(row)}\n<div><h2>{escape(row.example.name)}</h2>\n'
        f'<p>{escape(row.example.about)}</p>\n<p class="wrong">{_wrong(row)}</p>\n'
        f"<p>At {at}, ringed, the function is {right:.4g}. Algorithm 1 builds a network of "
        f"{row.sizes.neurons:,} neurons that gives {wrong:.4g}. It is refused, and not exported.</p>\n"
        f"{_bounds(row)}</dl></div>\n</section>\n"
    )


def _bounds(row: Row) -> str:
    names = {"He et al. 2020": row.he, "Hertrich et al. 2021": row.hertrich, "Theorem 2": row.theorem2}
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{_power(bound)}</dd>" for name, bound in names.items())


def _picture(row: Row) -> str:
    p, low, high = row.example.function, row.example.low, row.example.high
    if p.dim == 1:
        drawn, caption = curve(p, low, high), f"on [{low:g}, {high:g}], a dot at each breakpoint"
    else:
        mark = None if row.failure is None else np.asarray(row.failure.point, dtype=np.float64)
        drawn = map_of_pieces(p, low, high, name=f"map-{row.example.slug}", mark=mark)
        others = f", first two of {p.dim} inputs, others 0" if p.dim > 2 else ""
        caption = f"pieces on [{low:g}, {high:g}]²{others}"
    return f'<figure class="picture">{drawn}<figcaption>{caption}</figcaption></figure>'


def _footnote(rows: Sequence[Row]) -> str:
    samples = max((row.samples for row in rows), default=0)
    return (
        "<p>Pictures of two inputs are dark where the function is low and bright where it is high.</p>"
        "<p>Bounds are hidden neurons as published, for any function with as many inputs, pieces and components. "
        "He et al. and Hertrich et al. state theirs up to a constant, taken as 1. The proof of Theorem 2 rests on "
        "Algorithm 1, which is wrong on some functions.</p>"
        f"<p>“Max error seen (sampled)” is the largest difference between network and function at {samples:,} "
        "random points, both evaluated in float64. It is a measurement, not a proof.</p>"
    )


def _power(count: int) -> str:
    base, exponent = power_of_ten(count)
    return f"{base}<sup>{exponent}</sup>" if exponent else base


def _error(value: float) -> str:
    if value == 0:
        return "0"
    digits, exponent = f"{value:.0e}".split("e")
    return f"{digits}·10<sup>{int(exponent)}</sup>".replace("<sup>-", "<sup>−")


def _wrong(row: Row) -> str:
    assert row.failure is not None
    return f"wrong by {row.failure.amount:.4g} at {escape(point_text(row.failure.point))}"
