"""Commands about networks: ``cpwl extract``, ``count-regions``, ``equal`` and ``compress``."""

from __future__ import annotations

import math
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.limits import BeyondLimit
from cpwl.cli.shared import (
    BoxBounds,
    Certify,
    Code,
    Dtype,
    MaxNeurons,
    NeededBox,
    Said,
    Work,
    about,
    box_domain,
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
    spelled,
    within_neurons,
)
from cpwl.errors import CpwlError, CpwlWarning, counted

if TYPE_CHECKING:
    from cpwl.compressor import Compressed
    from cpwl.equality import Verdict
    from cpwl.network import Sizes

# ``cpwl equal``: are two networks or functions equal? A proof, or a point where they differ.


def equal(
    first: Annotated[Path, file_argument("A", "File with a network or a function.")],
    second: Annotated[Path, file_argument("B", "File with the second one.")],
    output: Annotated[
        Path | None, output_option("PROOF.json", "Two networks: write a proof of equality, for `cpwl check`.")
    ] = None,
    box: BoxBounds = None,
    max_regions: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many linear regions; the answer is then undecided.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        path_option("FOLDER", "Save the progress of a comparison of two networks there, and resume from it."),
    ] = None,
    *,
    work: Work,
) -> Said:
    """Decide whether two networks or functions are equal. The answer is a proof, or a point where they differ.

    Exit status: 0 equal; 1 different; 2 undecided within --max-regions, --timeout and --max-memory, or equal but no
    proof was found to write.
    """
    if output is not None:
        check_output(output, first, second)
    from cpwl.equality import Verdict
    from cpwl.equality import equal as compare
    from cpwl.network import Network
    from cpwl.proofs.certify import certify

    a, b = load_any(first), load_any(second)
    if output is not None and not (isinstance(a, Network) and isinstance(b, Network)):
        raise typer.BadParameter(
            "a proof is of two networks; `cpwl compile --certify` and `certify` prove one for a function.",
            param_hint="'--output' / '-o'",
        )
    domain = box_domain(box, a.dim if hasattr(a, "dim") else a.inputs)
    with work() as how:
        try:
            verdict = compare(a, b, domain=domain, max_regions=max_regions, checkpoint=checkpoint, **how)
        except BeyondLimit as reason:
            verdict = Verdict(None, None, (None, None), None, 0, str(reason))
    proof = None
    if output is not None and verdict.equal and isinstance(a, Network) and isinstance(b, Network):
        proof = certify(a, b, domain=domain, max_error=0.0)
        if proof.proved:
            proof.save(output)
    files = (first, second) if verdict.equal is False else ()
    replayed = {str(path): values for path in files if (values := replay(path, verdict.witness)) is not None}
    lines = [spelled(verdict.statement, {"max_regions": "--max-regions", "box": "--box"})]
    if proof is not None:
        lines.append(f"{output}: {proof.statement}" if proof.proved else proof.statement)
    for path, values in replayed.items():
        lines.append(f"onnxruntime on {path}, there: {', '.join(repr(value) for value in values)}")
    done = verdict.equal and (proof is None or proof.proved)
    code = Code.DONE if done else Code.REFUTED if verdict.equal is False else Code.UNDECIDED
    said = {} if proof is None else {"proof": proof.statement}
    found = {"first": str(first), "second": str(second), **summary(verdict), "onnxruntime": replayed, **said}
    return Said("\n".join(lines), found, code)


def summary(verdict: Verdict) -> dict[str, Any]:
    """A verdict for machines: numbers as floats, and exactly as strings "p/q"."""
    gap = verdict.gap
    values = [None if v is None else [float(x) for x in v] for v in verdict.values]
    return {
        "equal": verdict.equal,
        "witness": None if verdict.witness is None else [float(x) for x in verdict.witness],
        "witness_exact": None if verdict.witness is None else [str(x) for x in verdict.witness],
        "values": None if verdict.witness is None else values,
        "gap": None if gap is None or gap == math.inf else float(gap),
        "gap_exact": None if gap is None else "infinity" if gap == math.inf else str(gap),
        "regions": verdict.regions,
        "reason": verdict.reason,
    }


def replay(path: Path, witness: Any) -> list[float] | None:
    """What onnxruntime computes at the witness, for an ONNX file and where it is installed."""
    if path.suffix.lower() != ".onnx":
        return None
    try:
        import onnxruntime
    except ImportError:
        return None
    import numpy as np

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:  # its errors have no common class; what it cannot run it cannot replay
        return None
    (value,) = session.get_inputs()
    dtype = {"tensor(double)": np.float64, "tensor(float16)": np.float16}.get(value.type, np.float32)
    point = np.array([float(x) for x in witness]).astype(dtype)
    # Open dimensions: the first is the batch, another one is what is left.
    shape = [
        size if isinstance(size, int) and size > 0 else -1 if i or len(value.shape) == 1 else 1
        for i, size in enumerate(value.shape)
    ]
    (result, *_) = session.run(None, {value.name: point.reshape(shape)})
    return [float(x) for x in np.ravel(result)]


# ``cpwl count-regions``: how many linear regions a network has.


def count_regions(
    source: Annotated[Path, file_argument("MODEL", "File with the network.")],
    cells: Annotated[bool, typer.Option("--cells", help="Count activation cells only, in bounded memory.")] = False,
    box: BoxBounds = None,
    max_regions: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many regions; the exit status is then 2.")
    ] = None,
    checkpoint: Annotated[
        Path | None, path_option("FOLDER", "Save progress there, and resume from it (with --cells).")
    ] = None,
    *,
    work: Work,
) -> Said:
    """Count the linear regions of a ReLU network. Prints activation cells, convex pieces, connected pieces and laws."""
    if checkpoint is not None and not cells:
        raise typer.BadParameter("only counts of cells can be resumed: add --cells.", param_hint="'--checkpoint'")
    from cpwl.regions.extract import count_regions as count_of

    network = load_network(source)
    began = perf_counter()
    with work() as how:
        found = count_of(
            network,
            domain=box_domain(box, network.inputs),
            only="cells" if cells else None,
            max_regions=max_regions,
            checkpoint=checkpoint,
            **how,
        )
    seconds = perf_counter() - began
    names = {name: number for name, number in asdict(found).items() if name != "complete" and number is not None}
    what = ", ".join(counted(number, name.replace("_", " ").removesuffix("s")) for name, number in names.items())
    return Said(
        f"{source}: {'' if found.complete else 'at least '}{what} in {seconds:.2f} s",
        {"input": str(source), **asdict(found), "seconds": round(seconds, 6)},
        Code.DONE if found.complete else Code.UNDECIDED,
    )


def extract(
    source: Annotated[Path, file_argument("MODEL", "File with the network.")],
    output: Annotated[Path, output_option("OUT", "OUT.json, or a folder for partial files.")],
    max_regions: Annotated[
        int | None, typer.Option(min=1, help="Stop after this many regions; the exit status is then 2.")
    ] = None,
    box: BoxBounds = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge regions with the same law where their union is convex.")
    ] = False,
    exact: Annotated[
        bool | None, typer.Option("--exact/--float", help="Write rationals or floats.  [default: as in the weights]")
    ] = None,
    resume: Annotated[Path | None, path_option("PART.json", "Resume from the output of an earlier run.")] = None,
    *,
    work: Work,
) -> Said:
    """List the linear regions of a ReLU network. Each has its affine map."""
    if not output.suffix:
        return _extract_parts(
            source, output, box, exact, {"merge": merge, "max-regions": max_regions, "resume": resume}, work
        )
    if output.suffix.lower() != ".json":
        message = f"`{output}` must end in .json, or be a folder, without an ending, for parts."
        raise typer.BadParameter(message, param_hint="'--output' / '-o'")
    check_output(output, source)
    from cpwl.io.json import save
    from cpwl.regions.extract import extract as extract_pieces

    network = load_network(source)
    known = None if resume is None else load_function(resume, _EARLIER)
    began = perf_counter()
    with work() as how:
        p = extract_pieces(
            network,
            domain=box_domain(box, network.inputs),
            merge=merge,
            max_regions=max_regions,
            exact=exact,
            resume=known,
            **how,
        )
    seconds = perf_counter() - began
    held = 0 if p.complete else _pieces_in(output)
    saved = held <= p.num_pieces
    if not saved:
        message = (
            f"{output} holds {counted(held, 'piece')}, more than the {p.num_pieces:,} found here: it is left as it is"
        )
        warnings.warn(message, CpwlWarning, stacklevel=1)
    else:
        note = None if p.complete else f"not complete: {counted(p.num_pieces, 'region')} of {source.name} and no more"
        save(p, output, note=note)
    what = "complete" if p.complete else "incomplete; --resume continues from this file"
    sizes = f"{counted(p.num_pieces, 'piece')}, {counted(p.num_components, 'law')}"
    data = about(p, source, output) | {"exact": p.tol == 0, "complete": bool(p.complete), "saved": saved}
    data["seconds"] = round(seconds, 6)
    text = f"{output}: {sizes} in {seconds:.2f} s: {what}" if saved else ""
    return Said(text, data, Code.DONE if p.complete else Code.UNDECIDED)


def _extract_parts(
    source: Path,
    folder: Path,
    box: tuple[str, str] | None,
    exact: bool | None,
    not_for_parts: dict[str, Any],
    work: Work,
) -> Said:
    """Every part as a file of its own; a search that was ended goes on when the command is given again."""
    for name, given in not_for_parts.items():
        if given:
            raise typer.BadParameter(f"a folder of parts has no --{name}.", param_hint=f"'--{name}'")
    from cpwl.regions.extract import extract_parts

    network = load_network(source)
    began, parts, pieces, complete = perf_counter(), 0, 0, False
    with work() as how:
        found = extract_parts(network, domain=box_domain(box, network.inputs), exact=exact, checkpoint=folder, **how)
        try:
            for part in found:
                parts, pieces = parts + 1, pieces + part.num_pieces
            complete = True
        except KeyboardInterrupt:
            pass
    seconds = perf_counter() - began
    what = "complete" if complete else "incomplete; run the same command again to resume"
    numbers = {"parts": parts, "pieces": pieces, "complete": complete, "seconds": round(seconds, 6)}
    return Said(
        f"{folder}: {counted(pieces, 'piece')} in {counted(parts, 'part')} in {seconds:.2f} s: {what}",
        {"input": str(source), "output": str(folder), **numbers},
        Code.DONE if complete else Code.UNDECIDED,
    )


_EARLIER = "it must hold the pieces that an earlier run found"


def _pieces_in(path: Path) -> int:
    """How many pieces of a function a file holds; 0 if it is not there or holds something else."""
    try:
        return load_function(path, _EARLIER).num_pieces if path.exists() else 0
    except CpwlError:
        return 0


# ``cpwl compress``: a smaller network that is proved equal.


def compress(
    source: Annotated[Path, file_argument("IN", "File with the network.")],
    output: Annotated[Path, output_option("OUT", "OUT.onnx, or OUT.json (exact weights).")],
    box: BoxBounds = None,
    max_regions: Annotated[
        int, typer.Option(min=1, help="Extract and recompile only if there are at most this many linear regions.")
    ] = 10_000,
    effort: Annotated[
        float, typer.Option(min=0.0, help="Limit of the search for neurons to remove or merge; 0: no search.")
    ] = 10.0,
    max_neurons: MaxNeurons = None,
    certify: Certify = False,
    *,
    work: Work,
) -> Said:
    """Write a smaller network that is proved equal. If none is found, the network is written unchanged.

    With --certify, the exit status is 2 if the network was written but no proof was found.
    """
    check_ending(output, ".onnx", ".json")
    check_output(output, source)
    path = output.with_suffix(".proof.json")
    if certify:
        check_output(path, source)
    from cpwl.compressor import compress as shrink
    from cpwl.equality import equal
    from cpwl.files import write_together
    from cpwl.io.endings import write
    from cpwl.proofs.certify import certify as prove

    network = load_network(source)
    domain = box_domain(box, network.inputs)
    with work() as how, tempfile.TemporaryDirectory() as folder:
        found = shrink(network, domain=domain, max_regions=max_regions, effort=effort, **how)
        check_neurons(found.after.neurons, max_neurons)
        draft = Path(folder, f"network{output.suffix}")
        write(found.network, draft)
        content = draft.read_bytes()
        # What is written is rounded to float64: the proof is about that file, too, or says how far it is off.
        small = load_network(draft)
        written = equal(network, small, domain=domain, **how)
    proof = None
    if certify and (written.equal or (written.gap is not None and written.gap < math.inf)):
        off = float(written.gap or 0)
        proof = prove(network, small, domain=domain, max_error=math.nextafter(off, math.inf) if off else 0.0)
    proofs = [(path, proof.text.encode())] if proof is not None and proof.proved else []
    write_together([(output, content), *proofs])
    lines = _compressed_text(found, written, source, output)
    if proof is not None:
        lines.append(f"{path}: {proof.statement}" if proof.proved else proof.statement)
    data: dict[str, Any] = {"input": str(source), "output": str(output), "method": found.method}
    data |= {"before": asdict(found.before), "after": asdict(found.after)}
    data |= {"proof": summary(found.verdict), "written": summary(written)}
    data |= {"certificate": proof and proof.statement} if certify else {}
    unproved = certify and (proof is None or not proof.proved)
    return Said("\n".join(lines), data, Code.UNDECIDED if unproved else Code.DONE)


def _compressed_text(found: Compressed, written: Verdict, source: Path, output: Path) -> list[str]:
    lines = [f"{source}: {_counts(found.before)}"]
    if found.method == "unchanged":
        return [*lines, f"{output}: the same network; no smaller one was found"]
    lines += [f"{output}: {_counts(found.after)} ({found.method})", f"proved equal: {found.verdict.reason}"]
    return lines if written.equal else [*lines, f"as written, rounded to float64: {_rounding(written.gap)}"]


def _counts(sizes: Sizes) -> str:
    neurons, layers = counted(sizes.neurons, "neuron"), counted(sizes.depth, "layer")
    return f"{neurons}, {layers}, {counted(sizes.nonzeros, 'nonzero weight')}"


def _rounding(gap: Any) -> str:
    if gap is None:
        return "the difference was not computed"
    if gap == math.inf:
        return "the difference is unbounded; use --box to get its maximum on a box"
    return f"differs by at most {float(gap):.3g}"


# ``cpwl vnnlib``: verification queries about a network, with their answers.


def vnnlib(
    source: Annotated[Path, file_argument("IN", "File with a function or a network.")],
    output: Annotated[Path, output_option("FOLDER", "Output folder, new or empty.")],
    box: NeededBox = None,
    against: Annotated[
        Path | None, path_option("OTHER", "Write queries about the difference to this function or network.")
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="Type of the weights in the ONNX file.")] = "float32",
    margin: Annotated[
        float, typer.Option(help="Distance of a query from the extreme value, relative to the size of the output.")
    ] = 1e-3,
    timeout: Annotated[int, typer.Option(min=1, help="Timeout in seconds of each instance, for instances.csv.")] = 60,
    max_regions: Annotated[int, typer.Option(min=1, help="Stop after this many linear regions.")] = 100_000,
    max_neurons: MaxNeurons = None,
) -> Said:
    """Write a verification benchmark with known answers. The folder has ONNX, VNN-LIB and ground_truth.json files."""
    from cpwl.io.vnnlib import check_new_folder, to_vnnlib

    check_new_folder(output)
    held = load_any(source)
    made = to_vnnlib(
        within_neurons(held, max_neurons),
        output,
        box=box_of(box, held.inputs),
        against=None if against is None else within_neurons(load_any(against), max_neurons),
        dtype=dtype,
        margin=margin,
        timeout=timeout,
        max_regions=max_regions,
    )
    queries = [{"name": q.name, "answer": q.answer, "value": str(q.value)} for q in made.queries]
    lines = [f"{q.name}: {q.answer}: {q.about}" for q in made.queries]
    lines.append(f"{output}: {counted(len(queries), 'instance')}")
    return Said("\n".join(lines), {"input": str(source), "output": str(output), "queries": queries})


def milp(
    source: Annotated[Path, file_argument("IN", "File with a function or a network.")],
    output: Annotated[Path, output_option("OUT", "OUT.lp, OUT.mps, or OUT.onnx with bounds for OMLT.")],
    box: NeededBox = None,
    max_regions: Annotated[
        int,
        typer.Option(
            min=1, help="Compute exact neuron ranges up to this many linear regions; above it, proved outer bounds."
        ),
    ] = 5000,
    max_neurons: MaxNeurons = None,
) -> Said:
    """Write a network as a mixed-integer program. Big-M constants are exact neuron ranges."""
    suffix = check_ending(output, ".lp", ".mps", ".onnx")
    check_output(output, source)
    if suffix == ".onnx":
        for what in ("bounds", "neurons"):
            check_output(Path(f"{output}.{what}.json"), source)
    from cpwl.io.milp import to_milp, to_omlt

    held = load_any(source)
    domain = box_domain(box, held.inputs)
    made = within_neurons(held, max_neurons)
    if suffix == ".onnx":
        bounds = to_omlt(made, output, domain=domain, max_regions=max_regions)
    else:
        bounds = to_milp(made, output, domain=domain, max_regions=max_regions).bounds
    counts = ", ".join(f"{count} always {name}" for name, count in bounds.counts.items() if name != "open")
    data = {"input": str(source), "output": str(output), "neurons": bounds.counts, "exact": bounds.exact}
    data["outputs"] = [[str(low), str(high)] for low, high in bounds.layers[-1]]
    return Said(f"{output}: {counts}, {bounds.counts['open']} with a binary; ranges of neurons are {bounds.how}", data)
