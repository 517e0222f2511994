"""``cpwl equal``: are two networks or functions equal? A proof, or a point where they differ."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.box import box_domain
from cpwl.cli.limits import BeyondLimit
from cpwl.cli.output import Code, print_json
from cpwl.cli.progress import progress_bar
from cpwl.cli.source import load_any
from cpwl.cli.workers import Dask, Workers, executor_of

if TYPE_CHECKING:
    from cpwl.equality import Verdict

__all__ = ["equal"]


def equal(
    first: Annotated[Path, typer.Argument(metavar="A", readable=False, help="A network or function: .onnx or .json.")],
    second: Annotated[Path, typer.Argument(metavar="B", readable=False, help="Another one.")],
    box: Annotated[
        tuple[str, str] | None, typer.Option(metavar="LO HI", help="Compare where all coordinates are in [LO, HI].")
    ] = None,
    max_regions: Annotated[int | None, typer.Option(min=1, help="Give up beyond so many linear regions.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", readable=False, help="Two networks: keep the search there, and go on from there."
        ),
    ] = None,
    workers: Workers = 1,
    dask: Dask = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Prove that two networks or functions are equal, or print a point where they differ.

    Exit code 0: equal, 1: different, 2: undecided within --max-regions, --timeout and --max-memory.
    """
    from cpwl.equality import Verdict
    from cpwl.equality import equal as compare

    a, b = load_any(first), load_any(second)
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
    files = (first, second) if verdict.equal is False else ()
    replayed = {str(path): values for path in files if (values := replay(path, verdict.witness)) is not None}
    if as_json:
        print_json({"first": str(first), "second": str(second), **summary(verdict), "onnxruntime": replayed})
    else:
        print(verdict.statement)
        for path, values in replayed.items():
            print(f"onnxruntime on {path}, there: {', '.join(repr(value) for value in values)}")
    raise typer.Exit(Code.DONE if verdict.equal else Code.UNDECIDED if verdict.equal is None else Code.REFUTED)


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
