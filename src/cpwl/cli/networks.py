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
from cpwl.cli.options import (
    AsJson,
    BoxBounds,
    Certify,
    Dask,
    Dtype,
    MaxNeurons,
    Workers,
    box_domain,
    box_of,
    check_neurons,
    executor_of,
    file_argument,
    load_any,
    load_network,
    output_option,
    path_option,
    within_neurons,
)
from cpwl.cli.output import Code, check_ending, check_output, print_json, spelled
from cpwl.errors import counted
from cpwl.progress import progress_bar

if TYPE_CHECKING:
    from cpwl.compressor import Compressed
    from cpwl.equality import Verdict
    from cpwl.function import CPWL
    from cpwl.network import Network, Sizes
    from cpwl.proofs.certify import Certificate

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
    workers: Workers = 1,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Prove that two networks or functions are equal, or print a point where they differ.

    Exit status: 0 equal; 1 different; 2 undecided within --max-regions, --timeout and --max-memory, or equal but no
    proof was found to write.
    """
    if output is not None:
        check_output(output, first, second)
    from cpwl.equality import Verdict
    from cpwl.equality import equal as compare
    from cpwl.network import Network

    a, b = load_any(first), load_any(second)
    if output is not None and not (isinstance(a, Network) and isinstance(b, Network)):
        raise typer.BadParameter(
            "a proof is of two networks; `cpwl compile --certify` and `certify` prove one for a function.",
            param_hint="'--output' / '-o'",
        )
    domain = box_domain(box, a.dim if hasattr(a, "dim") else a.inputs)
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        try:
            verdict = compare(
                a,
                b,
                domain=domain,
                max_regions=max_regions,
                checkpoint=checkpoint,
                executor=executor,
                progress=progress,
            )
        except BeyondLimit as reason:
            verdict = Verdict(None, None, (None, None), None, 0, str(reason))
    proof = None
    if output is not None and verdict.equal and isinstance(a, Network) and isinstance(b, Network):
        proof = _proof(a, b, domain, 0.0)
        if proof.proved:
            proof.save(output)
    files = (first, second) if verdict.equal is False else ()
    replayed = {str(path): values for path in files if (values := replay(path, verdict.witness)) is not None}
    if as_json:
        said = {} if proof is None else {"proof": proof.statement}
        print_json({"first": str(first), "second": str(second), **summary(verdict), "onnxruntime": replayed, **said})
    else:
        print(spelled(verdict.statement, {"max_regions": "--max-regions", "box": "--box"}))
        if proof is not None:
            print(f"{output}: {proof.statement}" if proof.proved else proof.statement)
        for path, values in replayed.items():
            print(f"onnxruntime on {path}, there: {', '.join(repr(value) for value in values)}")
    if verdict.equal and (proof is None or proof.proved):
        raise typer.Exit(Code.DONE)
    raise typer.Exit(Code.REFUTED if verdict.equal is False else Code.UNDECIDED)


def _proof(first: Network, second: Network, domain: Any, max_error: float) -> Certificate:
    """The proof that two networks differ by no more than that, if there is one."""
    from cpwl.proofs.certify import certify

    return certify(first, second, domain=domain, max_error=max_error)


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
    workers: Workers = 1,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Count the linear regions of a ReLU network: activation cells, convex pieces, connected pieces, laws."""
    if checkpoint is not None and not cells:
        raise typer.BadParameter("only counts of cells can be resumed: add --cells.", param_hint="'--checkpoint'")
    from cpwl.cli.options import box_domain, load_network
    from cpwl.regions.extract import count_regions as count_of

    network = load_network(source)
    began = perf_counter()
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        found = count_of(
            network,
            domain=box_domain(box, network.inputs),
            only="cells" if cells else None,
            max_regions=max_regions,
            checkpoint=checkpoint,
            executor=executor,
            progress=progress,
        )
    seconds = perf_counter() - began
    if as_json:
        print_json({"input": str(source), **asdict(found), "seconds": round(seconds, 6)})
    else:
        names = {name: number for name, number in asdict(found).items() if name != "complete" and number is not None}
        what = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in names.items())
        print(f"{source}: {'' if found.complete else 'at least '}{what} in {seconds:.2f} s")
    raise typer.Exit(Code.DONE if found.complete else Code.UNDECIDED)


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
        bool | None, typer.Option("--exact/--float", help="Write rationals or floats.  [default: as the weights are]")
    ] = None,
    resume: Annotated[Path | None, path_option("PART.json", "Resume from the output of an earlier run.")] = None,
    workers: Workers = 1,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Compute every linear region of a ReLU network, with its affine map."""
    if not output.suffix:
        _extract_parts(source, output, box, exact, (merge, max_regions, resume), workers, dask, as_json)
        return
    if output.suffix.lower() != ".json":
        message = f"`{output}` must end in .json, or be a folder, without an ending, for parts."
        raise typer.BadParameter(message, param_hint="'--output' / '-o'")
    check_output(output, source)
    from cpwl.cli.options import load_network
    from cpwl.errors import CpwlWarning
    from cpwl.io.json import save
    from cpwl.regions.extract import extract as extract_pieces

    network = load_network(source)
    known = None if resume is None else _load_pieces(resume)
    began = perf_counter()
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        p = extract_pieces(
            network,
            box=box,
            merge=merge,
            max_regions=max_regions,
            exact=exact,
            resume=known,
            executor=executor,
            progress=progress,
        )
    seconds = perf_counter() - began
    held = 0 if p.complete else _pieces_in(output)
    if held > p.num_pieces:
        message = (
            f"{output} holds {counted(held, 'piece')}, more than the {p.num_pieces:,} found here: it is left as it is"
        )
        warnings.warn(message, CpwlWarning, stacklevel=1)
    else:
        note = None if p.complete else f"not complete: {counted(p.num_pieces, 'region')} of {source.name} and no more"
        save(p, output, note=note)
    _print(p, source, output, seconds, as_json, saved=held <= p.num_pieces)
    raise typer.Exit(Code.DONE if p.complete else Code.UNDECIDED)


def _extract_parts(
    source: Path,
    folder: Path,
    box: tuple[str, str] | None,
    exact: bool | None,
    not_for_parts: tuple[bool, int | None, Path | None],
    workers: int,
    dask: str | None,
    as_json: bool,
) -> None:
    """Every part as a file of its own; a search that was ended goes on when the command is given again."""
    for given, name in zip(not_for_parts, ("merge", "max-regions", "resume"), strict=True):
        if given:
            raise typer.BadParameter(f"a folder of parts has no --{name}.", param_hint=f"'--{name}'")
    from cpwl.cli.options import box_domain, load_network
    from cpwl.regions.extract import extract_parts

    network = load_network(source)
    began, parts, pieces, complete = perf_counter(), 0, 0, False
    with progress_bar() as progress, executor_of(workers, dask) as executor:
        found = extract_parts(
            network,
            domain=box_domain(box, network.inputs),
            exact=exact,
            checkpoint=folder,
            executor=executor,
            progress=progress,
        )
        try:
            for part in found:
                parts, pieces = parts + 1, pieces + part.num_pieces
            complete = True
        except KeyboardInterrupt:
            pass
    seconds = perf_counter() - began
    if as_json:
        numbers = {"parts": parts, "pieces": pieces, "complete": complete, "seconds": round(seconds, 6)}
        print_json({"input": str(source), "output": str(folder), **numbers})
    else:
        what = "complete" if complete else "incomplete; run the same command again to resume"
        print(f"{folder}: {counted(pieces, 'piece')} in {counted(parts, 'part')} in {seconds:.2f} s: {what}")
    raise typer.Exit(Code.DONE if complete else Code.UNDECIDED)


def _pieces_in(path: Path) -> int:
    """How many pieces of a function a file holds; 0 if it is not there or holds something else."""
    from cpwl.errors import CpwlError

    try:
        return _load_pieces(path).num_pieces if path.exists() else 0
    except CpwlError:
        return 0


def _load_pieces(path: Path) -> CPWL:
    from cpwl.errors import InputError
    from cpwl.function import CPWL
    from cpwl.io.json import load

    p = load(path)
    if not isinstance(p, CPWL):
        raise InputError(f"{path} holds a network, not the pieces that an earlier run found", path=str(path))
    return p


def _print(p: CPWL, source: Path, output: Path, seconds: float, as_json: bool, *, saved: bool) -> None:
    if as_json:
        print_json(
            {
                "input": str(source),
                "output": str(output),
                "dim": p.dim,
                "outputs": p.outputs,
                "pieces": p.num_pieces,
                "components": p.num_components,
                "exact": p.tol == 0,
                "complete": bool(p.complete),
                "saved": saved,
                "seconds": round(seconds, 6),
            }
        )
        return
    if not saved:
        return
    what = "complete" if p.complete else "incomplete; --resume continues from this file"
    print(f"{output}: {counted(p.num_pieces, 'piece')}, {counted(p.num_components, 'law')} in {seconds:.2f} s: {what}")


# ``cpwl compress``: a smaller network that is proved equal.


def compress(
    source: Annotated[Path, file_argument("IN", "File with the network.")],
    output: Annotated[Path, output_option("OUT", "OUT.onnx, or OUT.json (exact weights).")],
    box: BoxBounds = None,
    max_regions: Annotated[
        int, typer.Option(min=1, help="Extract and recompile only if there are at most this many linear regions.")
    ] = 10_000,
    max_neurons: MaxNeurons = None,
    certify: Certify = False,
    workers: Workers = 1,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Write a smaller network that is proved equal, or the same network if none is found.

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

    network = load_network(source)
    domain = box_domain(box, network.inputs)
    with progress_bar() as progress, executor_of(workers, dask) as executor, tempfile.TemporaryDirectory() as folder:
        found = shrink(network, domain=domain, max_regions=max_regions, executor=executor, progress=progress)
        check_neurons(found.after.neurons, max_neurons)
        draft = Path(folder, f"network{output.suffix}")
        _write(found, draft)
        content = draft.read_bytes()
        # What is written is rounded to float64: the proof is about that file, too, or says how far it is off.
        small = load_network(draft)
        written = equal(network, small, domain=domain, executor=executor, progress=progress)
    proof = None
    if certify and (written.equal or (written.gap is not None and written.gap < math.inf)):
        off = float(written.gap or 0)
        proof = _proof(network, small, domain, math.nextafter(off, math.inf) if off else 0.0)
    proofs = [(path, proof.text.encode())] if proof is not None and proof.proved else []
    write_together([(output, content), *proofs])
    if as_json:
        sizes = {"before": asdict(found.before), "after": asdict(found.after)}
        verdicts = {"proof": summary(found.verdict), "written": summary(written)}
        said = {"certificate": proof and proof.statement} if certify else {}
        print_json({"input": str(source), "output": str(output), "method": found.method, **sizes, **verdicts, **said})
    else:
        _print_compressed(found, written, source, output)
        if proof is not None:
            print(f"{path}: {proof.statement}" if proof.proved else proof.statement)
    if certify and (proof is None or not proof.proved):
        raise typer.Exit(Code.UNDECIDED)


def _write(found: Compressed, output: Path) -> None:
    if output.suffix.lower() == ".json":
        from cpwl.io.json import save

        save(found.network, output)
    else:
        from cpwl.io.onnx.write import to_onnx

        to_onnx(found.network, output)


def _print_compressed(found: Compressed, written: Verdict, source: Path, output: Path) -> None:
    print(f"{source}: {_counts(found.before)}")
    if found.method == "unchanged":
        print(f"{output}: the same network; no smaller one was found")
        return
    print(f"{output}: {_counts(found.after)} ({found.method})")
    print(f"proved equal: {found.verdict.reason}")
    if not written.equal:
        print(f"as written, rounded to float64: {_rounding(written.gap)}")


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
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Bounds of all inputs, or one pair LO,HI for each. Networks need them."),
    ] = None,
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
    as_json: AsJson = False,
) -> None:
    """Write a verification benchmark with known answers: instances.csv, ONNX and VNN-LIB files, ground_truth.json."""
    from cpwl.cli.options import load_any
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
    if as_json:
        queries: list[dict[str, Any]] = [
            {"name": q.name, "answer": q.answer, "value": str(q.value)} for q in made.queries
        ]
        print_json({"input": str(source), "output": str(output), "queries": queries})
    else:
        for query in made.queries:
            print(f"{query.name}: {query.answer}: {query.about}")
        print(f"{output}: {counted(len(made.queries), 'instance')}")


def milp(
    source: Annotated[Path, file_argument("IN", "File with a function or a network.")],
    output: Annotated[Path, output_option("OUT", "OUT.lp, OUT.mps, or OUT.onnx with bounds for OMLT.")],
    box: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="LO HI", help="Bounds of all inputs, or one pair LO,HI for each. Networks need them."),
    ] = None,
    max_regions: Annotated[
        int,
        typer.Option(
            min=1, help="Compute exact neuron ranges up to this many linear regions; above it, proved outer bounds."
        ),
    ] = 5000,
    max_neurons: MaxNeurons = None,
    as_json: AsJson = False,
) -> None:
    """Write a mixed-integer program of a network, with exact neuron ranges as big-M constants."""
    suffix = check_ending(output, ".lp", ".mps", ".onnx")
    check_output(output, source)
    if suffix == ".onnx":
        for what in ("bounds", "neurons"):
            check_output(Path(f"{output}.{what}.json"), source)
    from cpwl.cli.options import load_any
    from cpwl.io.milp import to_milp, to_omlt

    held = load_any(source)
    domain = box_domain(box, held.inputs)
    made = within_neurons(held, max_neurons)
    if suffix == ".onnx":
        bounds = to_omlt(made, output, domain=domain, max_regions=max_regions)
    else:
        bounds = to_milp(made, output, domain=domain, max_regions=max_regions).bounds
    if as_json:
        said = {"input": str(source), "output": str(output), "neurons": bounds.counts, "exact": bounds.exact}
        print_json({**said, "outputs": [[str(low), str(high)] for low, high in bounds.layers[-1]]})
    else:
        counts = ", ".join(f"{count} always {name}" for name, count in bounds.counts.items() if name != "open")
        print(f"{output}: {counts}, {bounds.counts['open']} with a binary; ranges of neurons are {bounds.how}")
