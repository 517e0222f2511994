"""The stand-alone checker as a module, and the three documents that it reads."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from cpwl import CPWL, Certificate, Network, save
from cpwl.network.network import exact_layers
from cpwl.proofs.kinds import prove
from cpwl.proofs.question import Question

__all__ = [
    "CHECKER",
    "checker",
    "documents",
    "prove_bends",
    "prove_clamped",
    "prove_line",
    "prove_strips",
    "rounded",
    "write_documents",
]

CHECKER = Path(__file__).parents[2] / "src" / "cpwl" / "proofs" / "checkers" / "checker.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("standalone_checker", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = _load()


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
