"""Commands about files: ``cpwl convert``, ``cpwl info``, ``cpwl bench run`` and others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.shared import (
    Code,
    Layout,
    Said,
    Work,
    check_output,
    file_argument,
    load_any,
    load_function,
    plain_integer,
    readable_integer,
    table_of,
    table_text,
)
from cpwl.errors import InputError, LimitError, counted

if TYPE_CHECKING:
    from cpwl.function import CPWL
    from cpwl.function.answers import Finding, Report
    from cpwl.network import Network
    from cpwl.show.ways import Way

# ``cpwl info``: what a file holds; without a file, the kinds of files there are.


def info(
    source: Annotated[Path | None, file_argument("[FILE]", "File with a function or a network.")] = None,
) -> Said:
    """Describe the content of a file. Without a file, list the supported formats."""
    from cpwl.io.endings import doors, recognized

    if source is None:
        tables = {"read": doors("read"), "written": doors("written")}
        said: dict[str, Any] = {verb: {door.ending: door.what for door in own} for verb, own in tables.items()}
    else:
        held, door = load_any(source), recognized(source)
        said = {"input": str(source), **({} if door is None else {"file": door.what}), **summary(held)}
    return Said("\n".join(f"{name}: {_plain(value)}" for name, value in said.items()), said)


def summary(held: CPWL | Network) -> dict[str, Any]:
    """Kind, sizes and how exact the numbers are."""
    from cpwl.network import Network

    if isinstance(held, Network):
        sizes = held.sizes
        return {
            "kind": "network",
            "inputs": held.inputs,
            "outputs": held.outputs,
            "layers": sizes.depth,
            "neurons": sizes.neurons,
            "width": sizes.width,
            "nonzeros": sizes.nonzeros,
            "numbers": "floats" if held.exact is None else "rationals",
        }
    return {
        "kind": "function",
        "inputs": held.dim,
        "outputs": held.outputs,
        "pieces": held.num_pieces,
        "components": held.num_components,
        "numbers": "exact" if held.tol == 0 else f"floats, within {held.tol:g}",
        "table": held.mesh is not None,
    } | ({"names": ", ".join(held.labels)} if held.names else {})


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"\n  {name}: {what}" for name, what in value.items())
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def convert(
    source: Annotated[Path, file_argument("IN", "File with a function or a network.")],
    output: Annotated[Path, file_argument("OUT", "Output file; its ending selects the format.")],
    layout: Layout = None,
    names: Annotated[
        str | None, typer.Option(metavar="LIST", help="Names of the inputs and then of the outputs, such as x,y,u.")
    ] = None,
    units: Annotated[
        str | None, typer.Option(metavar="LIST", help="Their units, such as m,m/s,N; empty for none.")
    ] = None,
) -> Said:
    """Convert a file to another format. `cpwl info` lists the formats."""
    from cpwl.io.endings import write, writer_of
    from cpwl.network import Network

    door = writer_of(output)
    check_output(output, source, hint="'OUT'")
    held = load_any(source, layout)
    if names is not None or units is not None:
        if names is None or isinstance(held, Network):
            raise InputError("--names and --units are for functions, and --units needs --names")
        held = held.named(_list(names), None if units is None else _list(units))
    write(held, output)
    data = {"input": str(source), "output": str(output), "kind": door.what, "holds": repr(held)}
    return Said(f"{output}: {held!r}, as {door.what}", data)


def _list(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def doctor(
    source: Annotated[Path, file_argument("LAW", "File with the function.")],
    layout: Layout = None,
    *,
    work: Work,
) -> Said:
    """Report jumps, gaps and overlaps of a function. Each defect has a point, a size and a remedy."""
    p = load_function(source, "`cpwl doctor` takes a function", layout)
    with work() as how:
        report = p.doctor(executor=how["executor"])
    data = {
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
    return Said(_table(p, report, source), data, Code.DONE if report.healthy else Code.REFUTED)


def _table(p: CPWL, report: Report, source: Path) -> str:
    from rich.text import Text

    table = table_of("", "kind", "where", numbers=["size"], show_header=len(report) > 0)
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
    return table_text(table, f"{counts}: {verdict}")


def _where(finding: Finding) -> str:
    """The pieces in question, the first few of them."""
    some = ", ".join(map(str, finding.pieces[:3]))
    return some + (", ..." if len(finding.pieces) > 3 else "")


_Sizes = dict[str, int | None]
# For each bound its title, the numbers that it needs in the order of its arguments, and the sizes that it is about.
_BOUNDS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "theorem1": ("Theorem 1", ("pieces",), ("layers", "width", "neurons")),
    "theorem2": ("Theorem 2", ("components", "pieces"), ("layers", "width", "neurons")),
    "theorem3": ("Theorem 3", ("dim", "components"), ("layers", "width", "neurons")),
    "he2020": ("He et al. 2020", ("dim", "components", "pieces"), ("neurons",)),
    "hertrich2021": ("Hertrich et al. 2021", ("dim", "components"), ("neurons",)),
    "arora2018": ("Arora et al. 2018", ("dim",), ("layers",)),
}


def bounds(
    pieces: Annotated[int | None, typer.Option(min=1, metavar="Q", help="Number of convex pieces.")] = None,
    components: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Number of distinct linear components.")
    ] = None,
    dim: Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of inputs.")] = None,
) -> Said:
    """Print published upper bounds on network size. They depend on the number of pieces, components and inputs.

    A bound is printed if all numbers that it needs are given.
    """
    numbers = {"pieces": pieces, "components": components, "dim": dim}
    given = {name: value for name, value in numbers.items() if value is not None}
    if not given:
        raise typer.BadParameter("give at least one of them.", param_hint="'--pieces', '--components', '--dim'")
    try:
        rows = {name: _bound(name, given) for name, (_, needs, _) in _BOUNDS.items() if given.keys() >= {*needs}}
    except InputError as error:  # what is wrong here is wrong on the command line
        raise typer.BadParameter(str(error)) from error
    table = table_of("bound", numbers=("layers", "width", "neurons"))
    for name, sizes in rows.items():
        table.add_row(_BOUNDS[name][0], *(_cell(sizes, key) for key in ("layers", "width", "neurons")))
    found = {
        name: {key: None if size is None else plain_integer(size) for key, size in sizes.items()}
        for name, sizes in rows.items()
    }
    return Said(table_text(table), {**{name: plain_integer(value) for name, value in given.items()}, "bounds": found})


def _bound(name: str, given: dict[str, int]) -> _Sizes:
    """The sizes that a bound gives; None for those that are too large to compute."""
    from cpwl import bounds as published

    _, needs, sizes = _BOUNDS[name]
    numbers = [given[each] for each in needs]
    if name == "arora2018":
        return {"layers": published.arora2018_hidden_layers(*numbers) + 1}
    try:
        found = getattr(published, name)(*numbers)
    except LimitError:
        return dict.fromkeys(sizes)
    return {size: getattr(found, size, found) for size in sizes}


def _cell(sizes: _Sizes, key: str) -> str:
    if key not in sizes:
        return "-"
    size = sizes[key]
    return "too large to compute" if size is None else readable_integer(size)


# ``cpwl bench run``: what every way to run a function costs on this machine, and which one is the fastest.


def bench_run(
    source: Annotated[Path, file_argument("FILE", "File with a function or a network.")],
    layout: Layout = None,
    points: Annotated[int, typer.Option(min=1, help="Number of random points of the domain.")] = 10_000,
) -> Said:
    """Measure every way to run this function on this machine: time per point, bytes, multiply-adds.

    Times are of this run: compare them with each other only.
    """
    for library in ("OPENBLAS", "OMP", "MKL"):  # read when NumPy is loaded: one thread, so that times can be compared
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    from cpwl.show.ways import measure_ways, taken

    ways = measure_ways(load_any(source, layout), points=points)
    best = {
        "C": taken(ways, "C"),
        "Python, one point": taken(ways, "Python", single=True),
        "Python, batches": taken(ways, "Python"),
    }
    names = {where: None if way is None else way.name for where, way in best.items()}
    data = {"input": str(source), "points": points, "ways": [way.to_dict() for way in ways], "taken": names}
    notes = [f"{way.name}: {way.note}" for way in ways if way.note]
    notes += [f"Fastest in {where}: {way.name}" for where, way in best.items() if way is not None]
    return Said(_table_of_ways(ways, notes), data)


def _table_of_ways(ways: list[Way], notes: list[str]) -> str:
    table = table_of("way", numbers=["us: one", "batch", "bytes", "mult-adds", "differs"])
    table.columns[0].no_wrap = True
    for way in ways:
        times = ["-" if time is None else f"{time:.3g}" for time in (way.single, way.batch)]
        sizes = ["-" if size is None else f"{size:,}" for size in (way.bytes, way.multiply_adds)]
        table.add_row(way.name, *times, *sizes, "-" if way.difference is None else f"{way.difference:.1g}")
    said = "us: microseconds a point, alone and in a batch; differs: from the function, relative to its largest value"
    return table_text(table, said, *notes)
