"""The demonstration: the bundled examples compiled, exported, proved, and laid side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from cpwl.files import make_folder
from cpwl.function.answers import point_text
from cpwl.progress import Progress
from cpwl.show.bundled import Row, bundled_examples, compile_example, power_of_ten
from cpwl.show.explorer.facts import Examined, Item
from cpwl.show.explorer.page import Page, page_of

__all__ = ["INDEX", "NOTES", "demo_table", "explore", "failures", "index_of", "run_demo"]


INDEX = "report.html"
NOTES = (
    "Hertrich (et al. 2021, up to a constant), Theorem 2: ReLU neurons that suffice",
    "by the published bounds.  Algorithm 1: neurons of the paper's construction, red",
    "where it is wrong.  ours: neurons of the network in the files.  proof: verdict",
    "of cpwl_check.pyz, which has no code of cpwl; = proved: the network equals the",
    "function at every point; <= e: it is nowhere off by more than e.  sec: seconds",
    "to compile, export, prove and check.",
)
"""What the table's columns mean."""


def run_demo(folder: str | Path, *, progress: Progress | None = None) -> list[Row]:
    """Compile every bundled example into `folder`: functions, networks, proofs, pages, the checker, one table."""
    folder = make_folder(folder)
    examples = list(bundled_examples())
    rows: list[Row] = []
    for i, example in enumerate(examples):
        if progress is not None:
            progress(i, len(examples), example.name)
        rows.append(compile_example(example, folder))
        explore(rows[-1]).save(rows[-1].files.page)
    index_of(rows).save(folder / INDEX)
    return rows


def explore(row: Row) -> Page:
    """The page on which one example can be explored, from what was found out already."""
    example, shown = row.example, row.files
    proofs = (("the compiled network", row.exact), ("the ONNX file, its float64 weights", row.exported))
    item = Item(example.name, example.function, row.compiled.network)
    found = Examined((item,), row.compiled, proofs, example.function.doctor(), None, (example.about,))
    recipe = [
        {"what": "All files of the demonstration:", "code": "cpwl demo"},
        {"what": "This page from the function alone:", "code": f"cpwl report {shown.law.name} -o {shown.page.name}"},
        {"what": "The proof, checked again with nothing but Python:", "code": row.recheck},
    ]
    return page_of(found, example.name, box=(example.low, example.high), recipe=recipe)


def index_of(rows: Sequence[Row]) -> Page:
    """The page with the table of all examples, which leads to the page and the files of each."""
    heads = ("function", "inputs", "pieces", "components", "Hertrich", "Theorem 2", "Algorithm 1", "ours", "layers")
    lines = []
    for row in rows:
        cells = [*_numbers(row), str(_algorithm_1(row)), f"<b>{row.sizes.neurons:,}</b>", str(row.sizes.depth)]
        mark = "good" if row.verdict.accepted else "wrong"
        cells += [f'<span class="chip {mark}">{escape(row.proof)}</span>', f"{row.seconds:.2f}"]
        links = " ".join(f'<a href="{escape(path.name)}">{escape(path.name)}</a>' for path in row.files)
        name = f'<a href="{escape(row.files.page.name)}">{escape(row.example.name)}</a>'
        about = f"<small>{escape(row.example.about)}</small><small>{links}</small>"
        lines.append(f'<tr><th scope="row">{name}{about}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    head = "".join(f"<th>{name}</th>" for name in (*heads, "proof, checked", "seconds"))
    wrong = "".join(f"<li>{escape(line)}</li>" for line in failures(rows))
    style = files("cpwl.show.explorer").joinpath("style.css").read_text("utf-8")
    title = "From pieces to neurons"
    return Page(
        title,
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>cpwl: {title}</title>\n'
        f"<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n' + "\n".join(lines) + "\n</tbody>\n"
        f"</table></div>\n<h2>What Algorithm 1 gives where it is wrong</h2>\n<ul>{wrong}</ul>\n"
        f'<p class="soft">{escape(" ".join(NOTES))}</p>\n</main>\n</body>\n</html>\n',
    )


def demo_table(rows: Sequence[Row]) -> Table:
    """The rows as a table for a terminal of 80 columns or more."""
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("function", no_wrap=True, style="bold")
    for head in ("in-\nputs", "pie-\nces", "com-\npon.", "Her-\ntrich", "Theo-\nrem 2", "Algorithm 1"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("ours", justify="right", style="bold green", no_wrap=True)
    table.add_column("lay-\ners", justify="right", no_wrap=True)
    table.add_column("proof,\nchecked", no_wrap=True)
    table.add_column("sec", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.example.name,
            *_numbers(row),
            _algorithm_1(row),
            f"{row.sizes.neurons:,}",
            str(row.sizes.depth),
            Text(row.proof, style="green" if row.verdict.accepted else "bold red"),
            f"{row.seconds:.1f}",
        )
    return table


def failures(rows: Sequence[Row]) -> list[str]:
    """What Algorithm 1 gives where it is wrong, one line a function."""
    return [
        f"{row.example.name:<14}{float(at.network_value):.4g} instead of {float(at.function_value):.4g} "
        f"at {point_text(at.point)}"
        for row in rows
        if (at := row.failure) is not None
    ]


def _algorithm_1(row: Row) -> str | Text:
    if row.failure is None:
        return f"{row.algorithm1:,}"
    return Text(f"{row.algorithm1:,}\nwrong by\n{row.failure.amount:.3g}", style="bold red")


def _numbers(row: Row) -> list[str]:
    """Inputs, pieces, components, and the neurons that suffice by the published bounds."""
    p = row.example.function
    counts = [f"{number}" for number in (p.dim, p.num_pieces, p.num_components)]
    return [*counts, *(_power(bound) for bound in (row.hertrich, row.theorem2))]


def _power(count: int) -> str:
    base, exponent = power_of_ten(count)
    return f"{base}^{exponent}" if exponent else base
