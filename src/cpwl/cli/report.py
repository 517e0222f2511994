"""``cpwl report``: everything about a function, a network, or two of them on one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cpwl.cli.output import check_output
from cpwl.cli.progress import progress_bar

__all__ = ["report"]


def report(
    source: Annotated[Path, typer.Argument(metavar="FILE", readable=False, help="A function or a network.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="[SECOND]", readable=False, help="Another one to compare it with.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="HTML", readable=False, help="The page.")] = Path(
        "report.html"
    ),
    box: Annotated[
        tuple[str, str] | None, typer.Option(metavar="LO HI", help="Draw where all coordinates are in [LO, HI].")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="What the page is called.  [default: the names of the files]")
    ] = None,
    proof: Annotated[bool, typer.Option(help="Look for proofs, which may take long.")] = True,
) -> None:
    """Draw a function, a network, or a pair: one HTML page that opens in any browser and needs no network access."""
    from cpwl.cli.box import box_domain
    from cpwl.cli.source import load_any
    from cpwl.show.explorer.examine import examine
    from cpwl.show.explorer.page import page_of

    check_output(output, source, second)
    first = load_any(source)
    other = None if second is None else load_any(second)
    box_domain(box, first.inputs)  # says what is wrong with it
    names = (source.name, "second" if second is None else second.name)
    with progress_bar() as progress:
        found = examine(first, other, names=names, box=box, prove=proof, progress=progress)
        said = title or (names[0] if second is None else " and ".join(names))
        page = page_of(found, said, box=box, recipe=_recipe(source, second, box, proof))
    page.save(output)
    print(f"{output}: {said}, {len(page.html.encode()):,} bytes")


def _recipe(source: Path, second: Path | None, box: tuple[str, str] | None, proof: bool) -> list[dict[str, str]]:
    """The command line, and what the files were, so that it can be seen whether they are still the same."""
    import hashlib
    import shlex
    from importlib.metadata import version

    given = [source] if second is None else [source, second]
    words: list[Any] = ["cpwl", "report", *(path.name for path in given)]
    words += [] if box is None else ["--box", *box]
    words += [] if proof else ["--no-proof"]
    sums = "\n".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in given)
    steps = [
        {"what": f"With cpwl {version('cpwl')}:", "code": shlex.join(map(str, words))},
        {"what": "The files, as sha256sum prints them:", "code": sums},
    ]
    if second is None:
        certified = f"cpwl compile {source.name} -o network.onnx --certify"
        checked = f"cpwl check {source.name} network.onnx network.proof.json"
        steps.append({"what": "The network and its proof, in files:", "code": f"{certified}\n{checked}"})
    return steps
