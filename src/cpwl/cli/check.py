"""``cpwl check``: does a proof show that a network computes a function?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from cpwl.cli.network_file import load_network
from cpwl.cli.output import Code, print_json

__all__ = ["check"]


def check(
    function: Annotated[Path, typer.Argument(metavar="LAW.json", readable=False, help="The function.")],
    network: Annotated[Path, typer.Argument(metavar="NET", readable=False, help="The network: .onnx or .json.")],
    proof: Annotated[Path, typer.Argument(metavar="PROOF.json", readable=False, help="The proof.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a proof against the function and the weights, with the stand-alone checker."""
    from cpwl.formats.json import save
    from cpwl.proofs.checkers import checker

    with tempfile.TemporaryDirectory() as folder:
        weights = network
        if network.suffix.lower() != ".json":
            # The checker reads JSON only: the exact values of the exported weights go to a file of their own.
            weights = Path(folder) / "network.json"
            save(load_network(network), weights)
        command = [sys.executable, "-I", checker.__file__, str(function), str(weights), str(proof)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    verdict = (done.stdout + done.stderr).strip()
    if as_json:
        print_json({"proved": done.returncode == 0, "verdict": verdict})
    else:
        print(verdict, file=sys.stdout if done.returncode in (Code.DONE, Code.REFUTED) else sys.stderr)
    raise typer.Exit(done.returncode)
