"""Commands about files: what they hold, in other formats, measured, drawn, on a page; and the demonstration."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.shared import (
    BoxBounds,
    Code,
    Dtype,
    Layout,
    PictureKind,
    Said,
    Train,
    Work,
    box_of,
    check_ending,
    check_output,
    file_argument,
    load_any,
    load_function,
    output_option,
    plain_integer,
    readable_integer,
    table_of,
    table_text,
)
from cpwl.doors import needed
from cpwl.errors import InputError, LimitError, counted
from cpwl.progress import progress_bar

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
    from cpwl.exact.rational import is_exact_float
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
    layers = () if door.ending == ".json" or not isinstance(held, Network) else held.exact or ()
    rounds = not all(is_exact_float(part) for weight, bias in layers for part in (weight.data, bias))
    data = {"input": str(source), "output": str(output), "kind": door.what, "holds": repr(held), "rounded": rounds}
    return Said(f"{output}: {held!r}, as {door.what}{', weights rounded to doubles' if rounds else ''}", data)


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
# For each bound the numbers that it needs in the order of its arguments, and the sizes that it is about.
_BOUNDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "theorem1": (("pieces",), ("layers", "width", "neurons")),
    "theorem2": (("components", "pieces"), ("layers", "width", "neurons")),
    "theorem3": (("dim", "components"), ("layers", "width", "neurons")),
    "he2020": (("dim", "components", "pieces"), ("neurons",)),
    "hertrich2021": (("dim", "components"), ("neurons",)),
    "arora2018": (("dim",), ("layers",)),
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
    from cpwl.bounds import TITLES

    numbers = {"pieces": pieces, "components": components, "dim": dim}
    given = {name: value for name, value in numbers.items() if value is not None}
    if not given:
        raise typer.BadParameter("give at least one of them.", param_hint="'--pieces', '--components', '--dim'")
    try:
        rows = {name: _bound(name, given) for name, (needs, _) in _BOUNDS.items() if given.keys() >= {*needs}}
    except InputError as error:  # what is wrong here is wrong on the command line
        raise typer.BadParameter(str(error)) from error
    table = table_of("bound", numbers=("layers", "width", "neurons"))
    for name, sizes in rows.items():
        table.add_row(TITLES[name], *(_cell(sizes, key) for key in ("layers", "width", "neurons")))
    found = {
        name: {key: None if size is None else plain_integer(size) for key, size in sizes.items()}
        for name, sizes in rows.items()
    }
    return Said(table_text(table), {**{name: plain_integer(value) for name, value in given.items()}, "bounds": found})


def _bound(name: str, given: dict[str, int]) -> _Sizes:
    """The sizes that a bound gives; None for those that are too large to compute."""
    from cpwl import bounds as published

    needs, sizes = _BOUNDS[name]
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


# ``cpwl demo``: the bundled examples compiled and proved before your eyes.


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Output directory.")] = Path("out/demo"),
) -> None:
    """Compile and prove the bundled examples. Compare their sizes with published bounds."""
    from cpwl.show.bundled import INDEX, NOTES, demo_table, failures, run_demo

    with progress_bar(delay=0.0) as progress:
        rows = run_demo(output, progress=progress)
    places = {
        "functions": "*.json",
        "networks": "*.onnx (float64), *.network.json (exact)",
        "proofs": "*.proof.json (of the ONNX files), *.exact.proof.json",
        "pages": "*.html (each to be explored)",
        "table": INDEX,
    }
    largest = max(rows, key=lambda row: row.sizes.neurons)
    told = table_text(
        demo_table(rows),
        "",
        "Values of Algorithm 1 where it is wrong:",
        *(f"  {line}" for line in failures(rows)),
        "",
        *NOTES,
        "",
        *(f"{what + ':':<11}{output / name}" for what, name in places.items()),
        "",
        "Check a proof again, with nothing but Python:",
        f"  cd {output}",
        f"  {largest.recheck}",
    )
    print(told, end="")
    refused = [row for row in rows if not row.verdict.accepted]
    for row in refused:
        print(f"error: {row.files.proof}: {row.verdict.text}", file=sys.stderr)
    if refused:
        raise typer.Exit(Code.REFUTED)


# ``cpwl report``: everything about a function, a network, or two of them on one HTML page.


def report(
    source: Annotated[Path, file_argument("FILE", "File with a function or a network.")],
    second: Annotated[Path | None, file_argument("[SECOND]", "A second function or network to compare with.")] = None,
    output: Annotated[Path, output_option("HTML", "Output file.")] = Path("report.html"),
    box: BoxBounds = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.  [default: the names of the files]")] = None,
    proof: Annotated[bool, typer.Option(help="Search for proofs. This can take long.")] = True,
    tradeoff: Annotated[
        bool, typer.Option("--tradeoff", help="Add the table of `cpwl tradeoff` for the function in FILE.")
    ] = False,
) -> None:
    """Write an interactive HTML page. It shows a function, a network, or a pair of them, and works offline."""
    from cpwl.io.json import plant_in
    from cpwl.levels import tradeoff as levels_of
    from cpwl.network import Network
    from cpwl.show.explorer.facts import examine
    from cpwl.show.explorer.page import page_of

    check_output(output, source, second)
    plan = plant_in(source)
    first = load_any(source) if plan is None else plan.solve()
    if tradeoff and isinstance(first, Network):
        raise typer.BadParameter(f"{source} holds a network, not a function.", param_hint="'--tradeoff'")
    other = None if second is None else load_any(second)
    bounds = box_of(box, first.inputs)
    names = (source.name, "second" if second is None else second.name)
    with progress_bar() as progress:
        found = examine(first, other, names=names, box=bounds, prove=proof, progress=progress)
        said = title or (names[0] if second is None else " and ".join(names))
        levels = None
        if tradeoff and not isinstance(first, Network):
            levels = levels_of(first, certify=proof, progress=progress)
        again = _recipe(source, second, box, proof, tradeoff, hasattr(first, "layers"))
        page = page_of(found, said, box=bounds, recipe=again, tradeoff=levels, plant=plan)
    page.save(output)
    print(f"{output}: {said}, {counted(len(page.html.encode()), 'byte')}")


def _recipe(
    source: Path, second: Path | None, box: tuple[str, str] | None, proof: bool, tradeoff: bool, is_network: bool
) -> list[dict[str, str]]:
    """The commands that make this page again, and the hashes of the files."""
    import hashlib
    import shlex
    from importlib.metadata import version

    given = [source] if second is None else [source, second]
    words: list[Any] = ["cpwl", "report", *(path.name for path in given)]
    words += [] if box is None else ["--box", *" ".join(box).split()]
    words += [] if proof else ["--no-proof"]
    words += ["--tradeoff"] if tradeoff else []
    sums = "\n".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in given)
    steps = [
        {"what": f"With cpwl {version('cpwl')}:", "code": shlex.join(map(str, words))},
        {"what": "The files, as sha256sum prints them:", "code": sums},
    ]
    if second is None and is_network:
        where = "" if box is None else " ".join(["", "--box", *" ".join(box).split()])
        smaller = f"cpwl compress {source.name} -o small.json{where}"
        steps.append({"what": "A smaller network, proved equal:", "code": smaller})
    elif second is None:
        certified = f"cpwl compile {source.name} -o network.onnx --certify"
        checked = f"cpwl check {source.name} network.onnx network.proof.json"
        steps.append({"what": "The network and its proof, in files:", "code": f"{certified}\n{checked}"})
    return steps


# ``cpwl tradeoff``: neurons against the error that is allowed.


def tradeoff(
    source: Annotated[Path, file_argument("FILE", "File with a function.")],
    output: Annotated[Path | None, output_option("OUT", "Plot (.svg, .png, .pdf) or table (.csv) to write.")] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="TOL,TOL,..",
            help="Tolerances, in units of the output or as percentages of its range.  "
            "[default: 10%,3%,1%,0.3%,0.1%,0.01%]",
        ),
    ] = None,
    certify: Annotated[bool, typer.Option("--certify/--no-certify", help="Prove every row.")] = True,
    dtype: Annotated[
        Dtype | None, typer.Option(help="Round the weights to this type first.  [default: exact weights]")
    ] = None,
    train: Train = False,
    layout: Layout = None,
    *,
    work: Work,
) -> Said:
    """Print network sizes against the proved error. Rows go from 10 % of the range to equality.

    Exit status: 0 if every row is proved, or --no-certify; 2 if the proof of a row was not found.
    """
    if output is not None:
        check_ending(output, ".svg", ".png", ".pdf", ".csv")
        check_output(output, source)
    from cpwl.files import write_text
    from cpwl.levels import LEVELS
    from cpwl.levels import tradeoff as levels_of

    p = load_function(source, "`cpwl tradeoff` takes a function", layout)
    levels = LEVELS if within is None else within.split(",")
    with work() as how:
        found = levels_of(p, within=levels, certify=certify, weights=dtype or "exact", train=train, **how)
    if output is not None and output.suffix.lower() == ".csv":
        write_text(output, found.csv)
    elif output is not None:
        _save(found.plot, output)
    proved = not certify or all(row["proved"] for row in found.data)
    text = f"{found}" if output is None else f"{found}\n{output}"
    return Said(text, {"source": str(source), "rows": found.data}, Code.DONE if proved else Code.UNDECIDED)


def plot(
    source: Annotated[Path, file_argument("FILE", "File with a function or a network.")],
    output: Annotated[Path, output_option("OUT", "Output file: .svg, .png or .pdf.")],
    kind: Annotated[PictureKind, typer.Option(help="Picture of a function of two or more inputs.")] = "auto",
    shown: Annotated[int, typer.Option("--output-number", min=0, help="Which output, counted from 0.")] = 0,
    box: BoxBounds = None,
) -> None:
    """Plot a function or a network. A function is a curve, a map of its pieces or a surface; a network is a graph."""
    from cpwl.network import Network

    check_ending(output, ".svg", ".png", ".pdf")
    check_output(output, source)
    held = load_any(source)
    if shown >= held.outputs:
        message = f"{source} has {counted(held.outputs, 'output')}, counted from 0."
        raise typer.BadParameter(message, param_hint="'--output-number'")
    if isinstance(held, Network):
        options = {"--box": box is not None, "--kind": kind != "auto", "--output-number": shown > 0}
        if given := [name for name, is_given in options.items() if is_given]:
            raise typer.BadParameter(
                f"{source} holds a network, which is drawn layer by layer; `cpwl extract` finds its pieces.",
                param_hint=f"'{given[0]}'",
            )
        _save(held.plot, output)
    else:
        bounds = box_of(box, held.dim)
        _save(lambda: held.plot(kind=kind, box=bounds, output=shown), output)
    print(output)


def _save(draw: Callable[[], Any], output: Path) -> None:
    """Draw without a screen, and write the file whole or not at all."""
    from io import BytesIO

    from cpwl.files import write_bytes

    matplotlib = needed("matplotlib", "a picture")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ending = output.suffix.lower()[1:]
    # No time and no random names: the same function gives the same file.
    with matplotlib.rc_context({"svg.hashsalt": "cpwl", "figure.max_open_warning": 0}):
        figure = draw().figure
        held = BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
        figure.savefig(held, format=ending, bbox_inches="tight", dpi=160, metadata=metadata)
        plt.close(figure)
    write_bytes(output, held.getvalue())
