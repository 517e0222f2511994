"""``cpwl compile`` and ``cpwl mpc``: from a function in a file to a network in a file; ``cpwl check``: is it proved?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

import typer

from cpwl.cli.shared import (
    BoxBounds,
    Certify,
    CForm,
    Code,
    CTest,
    Dtype,
    Fixed,
    Layout,
    MaxBytes,
    MaxNeurons,
    Minimize,
    Outside,
    Precision,
    Said,
    Train,
    Work,
    about,
    box_of,
    check_ending,
    check_neurons,
    check_output,
    file_argument,
    load_any,
    load_function,
    load_network,
    output_option,
    path_option,
    plain_integer,
    readable_integer,
    table_of,
    table_text,
)
from cpwl.errors import InputError, InternalError, LimitError, counted

if TYPE_CHECKING:
    from cpwl.compiled import Alternative, Compiled, Within
    from cpwl.construct.plan import ConstructionName, Weights
    from cpwl.function import CPWL
    from cpwl.io.c.write import CCode
    from cpwl.io.formula import Formula


_T = TypeVar("_T")


def known_construction(construction: str) -> str:
    """The name of a construction, which is refused if there is none of that name."""
    from cpwl.compiler import CONSTRUCTIONS

    if construction not in CONSTRUCTIONS:
        raise typer.BadParameter(f"'{construction}' is not one of {', '.join(CONSTRUCTIONS)}.")
    return construction


def compile(
    source: Annotated[
        Path | None, file_argument("[IN]", "File with the function. Omit it with --formula.", show_default=False)
    ] = None,
    *,
    output: Annotated[Path, output_option("OUT", "Output file: OUT.onnx, OUT.json (exact weights) or OUT.h (C code).")],
    formula: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Compile this formula, such as 'max(x + 2*y, 0)'.")
    ] = None,
    variables: Annotated[str | None, typer.Option(metavar="X,Y", help="Order of the variables of the formula.")] = None,
    layout: Layout = None,
    construction: Annotated[
        str,
        typer.Option(
            callback=known_construction, help="Construction to use; auto selects the smallest that is accurate enough."
        ),
    ] = "auto",
    minimize: Annotated[Minimize, typer.Option(help="Size that --construction auto minimizes.")] = "neurons",
    precision: Annotated[
        Precision | None,
        typer.Option(help="Arithmetic in which the network will be evaluated.  [default: that of the weights]"),
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(
            help="Largest error allowed, relative to the range of the function.  [default: 1e-9; float32: 1e-5]"
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="TOL",
            help="Allow this error everywhere, in units of the output or as a percentage of its range (0.5, 1%); one "
            "for each output, separated by commas, if they differ.  [default: equality]",
        ),
    ] = None,
    train: Train = False,
    effort: Annotated[
        float,
        typer.Option(min=0.0, help="Search for neurons to remove or merge, up to this much work; 10 takes seconds."),
    ] = 0.0,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check first that the data defines a continuous function.")
    ] = True,
    dtype: Annotated[
        Literal["float64", "float32", "float16", "int16", "int8"] | None,
        typer.Option(
            help="Type of the numbers in OUT.onnx or OUT.h; int16 and int8: integer arithmetic for fixed-point inputs; "
            "float16: OUT.onnx only. The error of these three is proved.  [default: float64]"
        ),
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(metavar="QM.F", help="Fixed-point format of the inputs for --dtype int16 or int8.")
    ] = None,
    c_form: CForm = "auto",
    max_bytes: MaxBytes = None,
    c_test: CTest = False,
    fixed: Fixed = None,
    outside: Annotated[
        Outside,
        typer.Option(help="Points outside a bounded domain: free (no guarantee), clip to the box, or error (OUT.h)."),
    ] = "free",
    max_neurons: MaxNeurons = None,
    certify: Certify = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the size of every construction, and why this one was selected.")
    ] = False,
    work: Work,
) -> Said:
    """Compile a function into a ReLU network. It computes the function exactly, or within a stated error."""
    proof = output.with_suffix(".proof.json") if certify else None
    integer = dtype in ("int16", "int8")
    if inputs is not None and not integer:
        raise typer.BadParameter("it is for --dtype int16 or int8.", param_hint="'--inputs'")
    if outside == "error" and output.suffix.lower() != ".h":
        raise typer.BadParameter(
            f"`{output}` cannot refuse a point: use clip, or write C code.", param_hint="'--outside'"
        )
    _check_paths(source, output, proof, dtype)
    in_c = {"form": c_form, "max_bytes": max_bytes, "test": c_test, "fixed": fixed}
    _check_c(output, in_c, certify=certify and not integer)
    from cpwl.compiler import compile as compile_function

    written = _formula(source, formula, variables)
    source = Path("formula") if source is None else source
    if written is not None and layout is not None:
        raise typer.BadParameter("a formula is not a table.", param_hint="'--layout'")
    otherwise = "`cpwl compile` takes a function; `cpwl compress` makes a network smaller"
    p = load_function(source, otherwise, layout) if written is None else written.function()
    weights: Weights = "exact" if output.suffix.lower() == ".json" else dtype or "float64"
    began = perf_counter()
    with work() as how:
        compiled = compile_function(
            p,
            construction=cast("ConstructionName", construction),  # its callback has looked
            minimize=minimize,
            precision=precision or (dtype if dtype == "float32" else "float64"),
            max_error=max_error,
            within=None if within is None else within.split(",") if "," in within else within,
            train=train,
            effort=effort,
            check=check,
            certify=certify,
            weights=weights,
            inputs=inputs,
            # C code with floats clips by itself.
            outside="free" if output.suffix.lower() == ".h" and not integer else outside,
            **how,
        )
    seconds = perf_counter() - began
    check_neurons(compiled.sizes.neurons, max_neurons)
    lines = [_sizes_text(p, compiled, source, output, seconds).removesuffix("\n")]
    if compiled.within is not None:
        lines.append(within_text(compiled.within, compiled.sizes.neurons, explain=explain))
    if explain:
        lines.append(explain_choice(compiled).removesuffix("\n"))
    data = _summary(p, compiled, source, output, seconds)
    if compiled.integer is not None:
        scales = [str(scale) for scale in compiled.integer.scales[-1]]
        fixed_ends = (
            f"{output}: x are integers in {compiled.integer.format}; outputs are divided by {', '.join(scales)}"
        )
        lines.append(fixed_ends)
        data |= {"inputs": compiled.integer.format, "outputs_divided_by": scales}
    # Files come last: who ends the command before finds none.
    if proof is not None:
        _check_proof(p, compiled, max_error, dtype)
        statement = _write_proved(compiled, output, proof, dtype)
        lines.append(f"{proof}: proved: {statement['statement']}")
        if (compiled.within is not None or integer) and source.suffix == ".json":
            from cpwl.io.c.write import towards

            net = output.with_suffix(".network.json") if integer else output
            most = None if compiled.within is None else towards(max(compiled.within.tolerance), "float64", 1)
            allowed = "" if most is None else f" --max-error {most}"
            lines.append(f"check it: cpwl check {source} {net} {proof}{allowed}")
        return Said("\n".join(lines), data | statement)
    code = _write(compiled, output, dtype, in_c | {"outside": outside})
    if code is not None:
        lines.append(str(code))
        data |= {"c_form": code.form, "dtype": code.dtype, "outside": code.outside}
        data |= {"costs": {form: asdict(cost) for form, cost in code.costs.items()}}
        data |= {"evaluation_bound": code.error_bound}
    return Said("\n".join(lines), data)


def _formula(source: Path | None, text: str | None, variables: str | None) -> Formula | None:
    """The formula of ``--formula``, or of a file IN.txt; None if the function is in another file."""
    from cpwl.io.formula import Formula

    if (source is None) == (text is None):
        raise typer.BadParameter("give either a file or --formula TEXT.", param_hint="'IN'")
    names = None if variables is None else [name.strip() for name in variables.split(",")]
    if text is not None:
        return Formula.from_text(text, variables=names)
    if source is not None and source.suffix.lower() == ".txt":
        return Formula.from_file(source, variables=names)
    if names is not None:
        raise typer.BadParameter("only formulas have variables.", param_hint="'--variables'")
    return None


def _check_paths(source: Path | None, output: Path, proof: Path | None, dtype: str | None) -> None:
    suffix = check_ending(output, ".onnx", ".json", ".h")
    if suffix == ".json" and dtype is not None:
        raise typer.BadParameter("a .json file is exact and has no type.", param_hint="'--dtype'")
    if suffix == ".h" and dtype == "float16":
        raise typer.BadParameter("C99 has no float16: write OUT.onnx, or take --fixed.", param_hint="'--dtype'")
    for path, what in ((output, ""), (proof, ", and the proof would go there")):
        if path is not None:
            check_output(path, source, what=what)


_IN_C = {"form": "--c-form", "max_bytes": "--max-bytes", "test": "--c-test", "fixed": "--fixed"}


def _check_c(output: Path, in_c: dict[str, Any], *, certify: bool) -> None:
    """Options of C headers are for C headers, and others are not."""
    if output.suffix.lower() != ".h":
        for name in (name for name, value in in_c.items() if value not in ("auto", None, False)):
            raise typer.BadParameter(f"`{output}` is not a C header (.h).", param_hint=f"'{_IN_C[name]}'")
    elif certify:
        message = (
            "a proof is about a network in a file: compile to .onnx with --certify, then `cpwl convert` that to .h."
        )
        raise typer.BadParameter(message, param_hint="'--certify'")


def _write(compiled: Compiled, output: Path, dtype: str | None, options: dict[str, Any]) -> CCode | None:
    kind: Any = None if compiled.integer is not None else dtype or "float64"
    if output.suffix.lower() == ".json":
        from cpwl.io.json import save

        save(compiled.network, output)
    elif output.suffix.lower() == ".h":
        from cpwl.io.c.write import to_c

        return to_c(compiled, output, dtype=kind, **options)
    else:
        from cpwl.io.onnx.write import to_onnx

        to_onnx(compiled, output, dtype=kind)
    return None


def _check_proof(p: CPWL, compiled: Compiled, max_error: float | None, dtype: str | None) -> None:
    """Refuse to write a network without a proof, or with one of a larger error than is allowed."""
    from cpwl.function.evaluate import sample
    from cpwl_check.pieces import pair

    certificate = compiled.certificate
    assert certificate is not None
    if not certificate.proved:
        raise LimitError(f"nothing was written, because no proof was found: {certificate.reason}")
    bound = certificate.error_bound
    assert bound is not None
    largest, size = sum(pair(bound)), sample(p).range
    if max_error is not None and largest > max_error * size:
        part = float(largest) / size
        remedy = f"--max-error {part * 1.06:.1e} would pass"  # two digits, and not less
        remedy += ", and rounding to --dtype float64 costs far less" if dtype == "float32" else ""
        raise LimitError(
            f"nothing was written: the proved bound on |network - function| is {part:.2e} of the range of the "
            f"function, {size:.6g}, and --max-error allows {max_error:.2e} of it; {remedy}",
            bound=bound,
        )


def _write_proved(compiled: Compiled, output: Path, proof: Path, dtype: str | None) -> dict[str, Any]:
    """Network and proof, together. The proof is of the network as it is in its file: the weights are read back."""
    from cpwl.documents.write import network_document
    from cpwl.files import write_together
    from cpwl.network.network import rounded

    certificate, meant = compiled.certificate, compiled.network
    assert certificate is not None
    told = {"proof": str(proof), "statement": certificate.statement, "evaluation_bound": certificate.evaluation_bound}
    if compiled.integer is not None:  # the proof is of the exact network, and of its integers
        exact = json.dumps(network_document(meant), separators=(",", ":")) + "\n"
        options = {"outside": compiled.outside} if output.suffix == ".h" else {}
        _, files = _drafted(output, lambda draft: _write(compiled, draft, dtype, options))
        files += [(proof, certificate.text.encode()), (output.with_suffix(".network.json"), exact.encode())]
        write_together(files)
        return told
    if output.suffix.lower() != ".json":
        meant = rounded(meant, dtype or "float64")

    def checked(draft: Path) -> None:
        _write(compiled, draft, dtype, {})
        if network_document(load_network(draft)) != network_document(meant):
            raise InternalError(f"{output} would not hold the network that was proved")

    _, files = _drafted(output, checked)
    write_together([*files, (proof, certificate.text.encode())])
    return told


def _drafted(output: Path, write: Callable[[Path], _T]) -> tuple[_T, list[tuple[Path, bytes]]]:
    """What `write` returns for a draft of the file, and the files that it wrote: `write_together` puts them there."""
    with tempfile.TemporaryDirectory() as folder:
        found = write(Path(folder, output.name))
        return found, [(output.with_name(file.name), file.read_bytes()) for file in sorted(Path(folder).iterdir())]


def _summary(p: CPWL, compiled: Compiled, source: Path, output: Path, seconds: float) -> dict[str, Any]:
    return {
        **about(p, source, output),
        "construction": compiled.construction,
        "sizes": asdict(compiled.sizes),
        "bounds": {
            name: {size: plain_integer(number) for size, number in asdict(bound).items()}
            for name, bound in compiled.bounds.items()
        },
        "alternatives": {name: asdict(other) for name, other in compiled.alternatives.items()},
        "reason": compiled.reason,
        "predicted_error": compiled.error,
        "lower_bounds": [asdict(bound) for bound in compiled.lower_bounds],
        "splits": compiled.splits,
        "seconds": round(seconds, 6),
        **({} if compiled.within is None else {"within": compiled.within.data}),
    }


def within_text(found: Within, neurons: int, *, explain: bool) -> str:
    """How near the network is, and what equality would take; all proposals that were compiled, if wanted."""
    allowed = ", ".join(f"{float(e):.6g}" for e in found.tolerance)
    lines = [
        f"within {allowed}: |network - function| is {found.distance}",
        f"{neurons:,} neurons ({found.proposal}); equality takes {found.neurons_equal:,}",
    ]
    if explain:
        shares = [f"  {name}: {count:,} neurons, {share:.3f} of the tolerance" for name, count, share in found.tried]
        lines += ["proposals, smallest first:", *shares] if shares else ["no smaller network was proposed"]
    return "\n".join(lines)


def _sizes_text(p: CPWL, compiled: Compiled, source: Path, output: Path, seconds: float) -> str:
    from cpwl.bounds import TITLES

    table = table_of("", numbers=("layers", "width", "neurons", "nonzeros"))
    for name, other in compiled.considered.items():
        if other.neurons is None and other.valid is None:
            continue  # --explain says why
        neurons, depth, width, nonzeros, _ = _cells(other)
        title = f"this network ({name})" if name == compiled.construction else name
        table.add_row(f"{title}{' (wrong here)' if other.valid is False else ''}", depth, width, neurons, nonzeros)
    for name, bound in compiled.bounds.items():
        limits = (bound.layers, bound.width, bound.neurons)
        table.add_row(f"bound: {TITLES[name]}", *map(readable_integer, limits), "-")
    return table_text(
        table,
        f"{source}: {counted(p.num_pieces, 'piece')}, {counted(p.num_components, 'component')}, "
        f"{counted(p.dim, 'input')}, {counted(p.outputs, 'output')}",
        f"{output}: compiled in {seconds:.2f} s",
        compiled.least_text,
    )


# What ``cpwl compile --explain`` prints: every construction, what it would cost, and why one was taken.


def explain_choice(compiled: Compiled) -> str:
    """A table of the constructions, and the reasons for lower bounds below it."""
    table = table_of("construction", numbers=("neurons", "layers", "width", "nonzeros", "predicted error"))
    reasons = []
    for name, other in compiled.considered.items():
        table.add_row(name, *_cells(other))
        if other.reason:
            reasons.append(f"{name}: {'wrong here: ' if other.valid is False else ''}{other.reason}")
    bounds = [
        f"at least {counted(b.neurons, 'neuron')}"
        + ("" if b.hidden_layers is None else f" with {counted(b.hidden_layers, 'hidden layer')}")
        + f": {b.reason}"
        + (f" (this network has {compiled.sizes.neurons / b.neurons:.1f} times as many)" if b.neurons else "")
        for b in compiled.lower_bounds
    ]
    head = "Predicted errors are relative to the range of the function."
    if compiled.within is not None and compiled.within.proposal != "equal":
        bounds = []  # they are about networks that are equal to a function
    return table_text(table, head, *reasons, *_against_data(compiled), *bounds)


def _against_data(compiled: Compiled) -> list[str]:
    """For float data that contradicts itself: by how much, and how far the network is off."""
    least, proof = compiled.unavoidable, compiled.certificate
    if not least:
        return []
    undetermined = f"overlapping pieces disagree: no continuous function is within {float(least):.2g} of this data"
    if proof is not None and proof.proved:
        return [f"{undetermined}; proved: {proof.statement}"]
    seen = compiled.measured
    return [
        undetermined
        if seen is None
        else f"{undetermined}; error of this network at the sampled points: {seen:.1e} of the range"
    ]


def _cells(other: Alternative) -> tuple[str, ...]:
    """Neurons, layers, width, nonzeros and the predicted error; what is not known is a dash."""
    width, nonzeros = (None, None) if other.sizes is None else (other.sizes.width, other.sizes.nonzeros)
    known = ("-" if size is None else readable_integer(size) for size in (other.neurons, other.depth, width, nonzeros))
    return *known, _error(other.error)


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}" if value else "0"


def mpc(
    source: Annotated[Path, file_argument("PLANT", "JSON file with A, B, Q, R, N and constraints u, x, du.")],
    output: Annotated[Path, output_option("OUT.h", "Output file: C header.")],
    dtype: Annotated[Dtype, typer.Option(help="Type of the numbers in OUT.h.")] = "float64",
    c_form: CForm = "auto",
    max_bytes: MaxBytes = None,
    c_test: CTest = False,
    fixed: Fixed = None,
    outside: Annotated[
        Outside, typer.Option(help="Points outside the feasible states: free, clip (to their box), or error.")
    ] = "free",
    max_regions: Annotated[int, typer.Option(min=1, help="Stop after this many regions.")] = 100_000,
    checkpoint: Annotated[
        Path | None, path_option("FOLDER", "Save the regions found so far there, and resume from them.")
    ] = None,
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Prove that the network is the optimal controller for all feasible states, and write OUT.law.json, "
            "OUT.net.json and OUT.proof.json for `cpwl check`.",
        ),
    ] = False,
    *,
    work: Work,
) -> Said:
    """Compile a model predictive controller to C code. Its law is solved exactly."""
    if output.suffix.lower() != ".h":
        raise typer.BadParameter(f"`{output}` must end in .h; `cpwl compile PLANT` writes networks.", param_hint="'-o'")
    beside = [output.with_suffix(ending) for ending in (".law.json", ".net.json", ".proof.json")] if certify else []
    for path in (output, *beside):
        check_output(path, source)
    from cpwl.compiler import compile as compile_function
    from cpwl.io.mpqp import read_plant

    plan = read_plant(source)
    began = perf_counter()
    with work() as how:
        law = plan.solve(max_regions=max_regions, checkpoint=checkpoint, **how)
        made = compile_function(law, minimize="nonzeros", certify=certify, executor=how["executor"])
    certificate = made.certificate
    if certificate is not None and not certificate.proved:
        raise LimitError(f"nothing was written, because no proof was found: {certificate.reason}")
    in_c = {"form": c_form, "max_bytes": max_bytes, "test": c_test, "fixed": fixed}
    code = _write_all(law, made, output, beside, in_c | {"dtype": dtype, "outside": outside})
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
    sizes = f"{law.num_pieces} regions, none is missing; {made.sizes.neurons} neurons; {found['seconds']:.2f} s"
    lines = [f"{source}: {plan.stability}", sizes, str(code)]
    lines += [] if statement is None else [f"{beside[-1]}: proved: {statement}"]
    return Said("\n".join(lines), found)


def _write_all(law: CPWL, made: Compiled, output: Path, beside: list[Path], options: dict[str, Any]) -> CCode:
    """The header, and function, network and proof with it if there is one; together."""
    from cpwl.documents.write import document_text, function_document, network_document
    from cpwl.files import write_together
    from cpwl.io.c.write import to_c

    code, files = _drafted(output, lambda draft: to_c(made, draft, **options))
    if beside and made.certificate is not None:
        texts = [document_text(document, None) for document in (function_document(law), network_document(made.network))]
        texts.append(made.certificate.text)
        files += [(path, text.encode()) for path, text in zip(beside, texts, strict=True)]
    write_together(files)
    return code


def check(
    function: Annotated[Path, file_argument("LAW", "File with the function, or with another network.")],
    network: Annotated[Path, file_argument("NET", "File with the network: .onnx or .json.")],
    proof: Annotated[Path, file_argument("PROOF.json", "File with the proof.")],
    max_error: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Largest error bound accepted; 0 requires equality."
            "  [default: 1e-4 of the largest coefficient of the function]",
        ),
    ] = None,
    box: BoxBounds = None,
    *,
    work: Work,
) -> Said:
    """Check a proof with the stand-alone checker. It reads the function, the weights and the proof.

    Two networks are compared on R^n, or on the box of --box; the proof itself does not contain the box.

    Exit status: 0 proved; 1 refused; 2 not decided; 3 proved in exact arithmetic, but the rounding errors of evaluating
    NET.onnx may exceed the bound.
    """
    from cpwl.io.json import save
    from cpwl.proofs.certify import caution_of

    kinds = _checked_kinds(function, network, proof, box)
    held: Any = None
    floats = None
    with tempfile.TemporaryDirectory() as folder:
        law, weights = function, network
        if function.suffix.lower() != ".json" or kinds[0] in ("program", "plant"):
            law, held = Path(folder) / "law.json", load_any(function)
            save(held, law)
        if network.suffix.lower() != ".json":
            # The checker reads JSON only: the exact values of the exported weights go to a file of their own.
            weights = Path(folder) / "network.json"
            floats = load_network(network)
            save(floats, weights)
        with work() as how:
            files = [str(path) for path in (law, weights, proof)]
            code, found = _decided(files, max_error, box, how["executor"], folder)
    verdict = f"{found.pop('verdict')}: {found.pop('reason')}"
    if code == Code.DONE and floats is not None and "cells" not in found:
        held = load_any(function) if held is None else held
        found["caution"] = caution = caution_of(held, floats, max_error)
        if caution:
            code, verdict = Code.EXACTLY, f"proved in exact arithmetic only: {caution}; {verdict}"
    aside = code not in (Code.DONE, Code.REFUTED, Code.EXACTLY)
    return Said(verdict, {"proved": code == Code.DONE, "verdict": verdict, **found}, code, aside)


def _checked_kinds(function: Path, network: Path, proof: Path, box: tuple[str, str] | None) -> list[str | None]:
    """What the files hold, as far as they say so; files in another order refute nothing, and are refused here."""
    from cpwl.io.endings import recognized
    from cpwl.io.json import kind_of

    def kind(path: Path) -> str | None:
        if not path.is_file():  # a pipe is read once, by the checker
            return None
        door = recognized(path)
        return kind_of(path) if door is None or door.ending == ".json" else door.kinds[0]

    held = list(map(kind, (function, network, proof)))
    if held[0] == "network" and held[1] not in ("network", "proof", "", None):
        raise InputError(f"LAW and NET are exchanged: write `cpwl check {network} {function} {proof}`")
    for path, found, wanted in zip((function, network, proof), held, ("function", "network", "proof"), strict=True):
        if found not in (None, wanted) and (wanted != "function" or found in ("proof", "")):
            what = f"a {found}, and not" if found else "no function, network or proof, where it must hold"
            message = f"{path} holds {what} a {wanted}: write `cpwl check LAW NET PROOF.json`"
            raise InputError(message, path=str(path))
    if box is not None:
        if held[0] != "network":
            raise typer.BadParameter(f"{function} has a domain of its own; a box is for two networks.", param_hint=_BOX)
        if "," in box[0]:
            raise typer.BadParameter("the checker takes one pair LO HI for all inputs.", param_hint=_BOX)
        box_of(box, 1)
    return held


_BOX = "'--box'"


def _decided(
    files: list[str], max_error: float | None, box: tuple[str, str] | None, executor: Executor | None, folder: str
) -> tuple[int, dict[str, Any]]:
    """The exit code and the verdict: of the checker alone, in a process of its own, or of workers that call it."""
    if executor is not None and box is None:
        from cpwl.proofs.kinds import verdict

        return verdict(files, max_error, executor)
    from cpwl_check.archive import NAME, archive

    alone = Path(folder) / NAME
    alone.write_bytes(archive())
    command = [sys.executable, "-I", "-S", str(alone), *files, "--json"]
    command += [] if max_error is None else ["--max-error", repr(max_error)]
    command += [] if box is None else ["--box", *box]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return _answer(done.returncode, done.stdout)


def _answer(status: int, said: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the verdict; a checker that was ended from outside, or said nothing, has decided nothing."""
    try:
        return status, json.loads(said)
    except ValueError:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return Code.UNDECIDED, {"verdict": "not decided", "reason": f"the checker ended {how} without a verdict"}
