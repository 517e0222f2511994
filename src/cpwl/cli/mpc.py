"""``cpwl mpc``: from a plant in a file to the C code of its model predictive controller."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from cpwl.cli.options import AsJson, CForm, Dask, Dtype, Outside, Workers, executor_of, progress_bar
from cpwl.cli.output import check_output, print_json

if TYPE_CHECKING:
    from cpwl.compiler import Compiled
    from cpwl.function import CPWL
    from cpwl.io.c.write import CCode

__all__ = ["mpc"]


def mpc(
    source: Annotated[
        Path,
        typer.Argument(metavar="PLANT", readable=False, help="JSON file with A, B, Q, R, N and constraints u, x, du."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT.h", readable=False, help="Output file: C header.")
    ],
    dtype: Annotated[Dtype, typer.Option(help="Type of the numbers in OUT.h.")] = "float64",
    c_form: Annotated[
        CForm, typer.Option(help="Form of OUT.h: network, search tree, or the cheaper of the two.")
    ] = "auto",
    outside: Annotated[
        Outside, typer.Option(help="Points outside the feasible states: free, clip (to their box), or error.")
    ] = "free",
    max_regions: Annotated[int, typer.Option(min=1, help="Stop after this many regions.")] = 100_000,
    workers: Workers = 1,
    dask: Dask = None,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Prove that the network is the optimal controller for all feasible states, and write OUT.law.json, "
            "OUT.net.json and OUT.proof.json for `cpwl check`.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Solve a model predictive controller exactly, and write its law as C code."""
    if output.suffix.lower() != ".h":
        raise typer.BadParameter(f"`{output}` must end in .h; `cpwl compile PLANT` writes networks.", param_hint="'-o'")
    beside = [output.with_suffix(ending) for ending in (".law.json", ".net.json", ".proof.json")] if certify else []
    for path in (output, *beside):
        check_output(path, source)
    from cpwl.compiler import compile as compile_function
    from cpwl.errors import LimitError
    from cpwl.io.mpqp import read_plant

    plan = read_plant(source)
    began = perf_counter()
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        law = plan.solve(executor=executor, max_regions=max_regions, progress=progress)
        made = compile_function(law, minimize="nonzeros", certify=certify, executor=executor)
    certificate = made.certificate
    if certificate is not None and not certificate.proved:
        raise LimitError(f"nothing was written, because no proof was found: {certificate.reason}")
    code = _write(law, made, output, beside, dtype, c_form, outside)
    statement = None if certificate is None else certificate.statement
    found = {
        "input": str(source),
        "output": str(output),
        "parameters": list(plan.parameters),
        "stable": bool(plan.stability),
        "axioms": [{"name": a.name, "holds": a.holds, "why": a.why} for a in plan.stability.axioms],
        "regions": law.num_pieces,
        "neurons": made.sizes.neurons,
        "evaluation_bound": code.error_bound,
        "statement": statement,
        "seconds": round(perf_counter() - began, 6),
    }
    if as_json:
        print_json(found)
        return
    print(f"{source}: {plan.stability}")
    print(f"{law.num_pieces} regions, none is missing; {made.sizes.neurons} neurons; {found['seconds']:.2f} s")
    print(code)
    if statement is not None:
        print(f"{beside[-1]}: proved: {statement}")


def _write(
    law: CPWL, made: Compiled, output: Path, beside: list[Path], dtype: Dtype, c_form: CForm, outside: Outside
) -> CCode:
    """The header, and function, network and proof with it if there is one; together."""
    import tempfile

    from cpwl.documents.write import document_text, function_document, network_document
    from cpwl.files import write_together
    from cpwl.io.c.write import to_c

    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, output.name)
        code = to_c(made, draft, dtype=dtype, form=c_form, outside=outside)
        files = [(output, draft.read_bytes())]
    if beside and made.certificate is not None:
        texts = [document_text(document, None) for document in (function_document(law), network_document(made.network))]
        texts.append(made.certificate.text)
        files += [(path, text.encode()) for path, text in zip(beside, texts, strict=True)]
    write_together(files)
    return code
