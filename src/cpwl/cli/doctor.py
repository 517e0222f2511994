"""``cpwl doctor``: what is wrong or noteworthy with a function in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.options import AsJson, Dask, Layout, Workers, executor_of, load_function
from cpwl.cli.output import Code, print_json, table_text
from cpwl.errors import counted

if TYPE_CHECKING:
    from cpwl.function import CPWL
    from cpwl.function.answers import Finding, Report

__all__ = ["doctor"]


def doctor(
    source: Annotated[Path, typer.Argument(metavar="LAW", readable=False, help="File with the function.")],
    layout: Layout = None,
    workers: Workers = 1,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Report jumps, gaps, overlaps and other defects of a function, each with a point, a size and a remedy."""
    p = load_function(source, "`cpwl doctor` takes a function", layout)
    with executor_of(workers, dask) as executor:
        report = p.doctor(executor=executor)
    if as_json:
        print_json(_summary(p, report, source))
    else:
        _print_table(p, report, source)
    raise typer.Exit(Code.DONE if report.healthy else Code.REFUTED)


def _summary(p: CPWL, report: Report, source: Path) -> dict[str, Any]:
    return {
        "input": str(source),
        "healthy": report.healthy,
        "pieces": p.num_pieces,
        "components": p.num_components,
        "findings": [
            {
                "severity": finding.severity,
                "kind": finding.kind,
                "pieces": list(finding.pieces),
                "point": None if finding.point is None else [float(v) for v in finding.point],
                "size": finding.size,
                "message": finding.message,
            }
            for finding in report
        ],
    }


def _print_table(p: CPWL, report: Report, source: Path) -> None:
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    table = Table("", "kind", "where", box=SIMPLE, show_header=len(report) > 0)
    table.add_column("size", justify="right")
    table.add_column("what", ratio=1)
    for finding in report:
        # Plain text: a message may hold brackets, which rich would read as markup.
        cells = (finding.severity, finding.kind, _where(finding), f"{finding.size:.3g}", finding.message)
        table.add_row(*map(Text, cells))
    counts = f"{source}: {counted(p.num_pieces, 'piece')}, {counted(p.num_components, 'law')}"
    verdict = (
        "healthy"
        if report.healthy
        else f"not a continuous function on a convex domain ({counted(len(report.errors), 'error')})"
    )
    print(table_text(table, f"{counts}: {verdict}"), end="")


def _where(finding: Finding) -> str:
    """The pieces in question, the first few of them."""
    some = ", ".join(map(str, finding.pieces[:3]))
    return some + (", ..." if len(finding.pieces) > 3 else "")
