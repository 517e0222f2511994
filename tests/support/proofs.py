"""The stand-alone checker as a program, and the three documents that it reads."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cpwl import CPWL, Certificate, Network
from cpwl.exact.rational import fraction_array
from cpwl.io.json import save
from cpwl.network.network import exact_layers
from cpwl.proofs.kinds import KINDS, prove
from cpwl.proofs.question import Question
from cpwl_check.archive import NAME, archive
from cpwl_check.budget import Refused
from cpwl_check.decide import check

__all__ = [
    "add_entry",
    "documents",
    "prove_bends",
    "prove_clamped",
    "prove_line",
    "prove_strips",
    "refused",
    "rounded",
    "run_alone",
    "same",
    "with_layer",
    "without_regions",
    "write_documents",
]


@contextmanager
def without_regions() -> Iterator[None]:
    """`certify` without kind "regions", which it tries first where weights or data are floats and regions are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cpwl.proofs.kinds.KINDS", tuple(kind for kind in KINDS if kind.name != "regions"))
        yield


def run_alone(arguments: Sequence[object], folder: Path) -> tuple[int, str, str]:
    """The exit status of ``cpwl_check.pyz`` and what it prints: in `folder`, with nothing but the standard library."""
    (folder / NAME).write_bytes(archive())
    command = [sys.executable, "-I", "-S", NAME, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def write_documents(folder: Path, p: CPWL, network: Network, certificate: Certificate) -> list[Path]:
    """The function, the network and the proof as files, in the order in which the checker takes them."""
    paths = [folder / "p.json", folder / "net.json", folder / "p.proof.json"]
    save(p, paths[0])
    save(network, paths[1])
    certificate.save(paths[2])
    return paths


def documents(folder: Path, p: CPWL, network: Network, certificate: Certificate) -> tuple[Any, Any, Any]:
    """The same, read again: what `checker.check` takes."""
    function, weights, proof = (
        json.loads(path.read_text("utf-8")) for path in write_documents(folder, p, network, certificate)
    )
    return function, weights, proof


def rounded(network: Network, dtype: type[np.floating[Any]]) -> Network:
    """The network with every weight rounded to that format, once; a network of floats."""
    return Network(
        [
            tuple(array.astype(float).astype(dtype).astype(float) for array in (weight.toarray(), bias))
            for weight, bias in exact_layers(network)
        ]
    )


def prove_bends(p: CPWL, network: Network) -> dict[str, Any]:
    """The proof of kind "bends" that the checker accepted; `NoProof` if there is none."""
    return prove("bends", Question(p, network))


def prove_clamped(p: CPWL, network: Network) -> dict[str, Any]:
    """The proof of kind "clamped" that the checker accepted; `NoProof` if there is none."""
    return prove("clamped", Question(p, network))


def prove_line(p: CPWL, network: Network) -> dict[str, Any]:
    """The proof of kind "line" that the checker accepted; `NoProof` if there is none."""
    return prove("line", Question(p, network))


def prove_strips(p: CPWL, network: Network) -> dict[str, Any]:
    """The proof of kind "strip" that the checker accepted; `NoProof` if there is none."""
    return prove("strip", Question(p, network))


def refused(function: Any, network: Any, proof: Any, match: str | None = None) -> None:
    """The checker does not accept this."""
    with pytest.raises(Refused, match=match):
        check(function, network, proof)


def with_layer(network: Any, l: int, change: Any) -> Any:
    """The network with one layer changed in place."""
    layers = list(network["layers"])
    layers[l] = copy.deepcopy(layers[l])
    change(layers[l])
    return network | {"layers": layers}


def same(function: Any, network: Any) -> None:
    """Whether function and network agree at the corners and middles of all simplices."""
    points = fraction_array(function["points"])
    values = fraction_array(function["values"])
    for own in function["simplices"]:
        for share in (*np.eye(len(own), dtype=int), np.full(len(own), Fraction(1, len(own)))):
            x = share @ points[own]
            for k, layer in enumerate(network["layers"]):
                total = fraction_array(layer["bias"])
                for i, j, w in layer["entries"]:
                    total[i] += Fraction(w) * x[j]
                x = np.maximum(total, Fraction(0)) if k < len(network["layers"]) - 1 else total
            assert (x == share @ values[own]).all()


def add_entry(layer: Any, row: int, column: int, value: Any) -> None:
    """Adds to a weight, which may be 0."""
    known = next((e for e in layer["entries"] if e[:2] == [row, column]), None)
    if known is None:
        layer["entries"].append([row, column, value])
    else:
        known[2] = str(Fraction(known[2]) + value)
