"""Commands that draw: ``cpwl plot``, ``report``, ``tradeoff`` and ``demo``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

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
    table_text,
)
from cpwl.doors import needed
from cpwl.errors import counted
from cpwl.progress import progress_bar

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
    if isinstance(held, Network):
        if box is not None or kind != "auto":
            raise typer.BadParameter(
                f"{source} holds a network, which is drawn layer by layer; `cpwl extract` finds its pieces.",
                param_hint="'--box'" if box is not None else "'--kind'",
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
