"""``cpwl check``: does a proof show that a network computes a function?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import Executor
from pathlib import Path
from typing import Annotated, Any

import typer

from cpwl.cli.shared import BoxBounds, Code, Said, Work, file_argument, load_network


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
    from cpwl.io.json import load, save
    from cpwl.proofs.certify import caution_of

    floats = None
    with tempfile.TemporaryDirectory() as folder:
        law, weights = function, network
        if function.suffix.lower() == ".onnx":
            law = Path(folder) / "first.json"
            save(load_network(function), law)
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
        p: Any = load(function)
        found["caution"] = caution = caution_of(p, floats, max_error)
        if caution:
            code, verdict = Code.EXACTLY, f"proved in exact arithmetic only: {caution}; {verdict}"
    aside = code not in (Code.DONE, Code.REFUTED, Code.EXACTLY)
    return Said(verdict, {"proved": code == Code.DONE, "verdict": verdict, **found}, code, aside)


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
