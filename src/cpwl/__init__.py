"""cpwl: an exact, optimizing compiler between continuous piecewise-linear functions and ReLU networks."""

from __future__ import annotations

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from cpwl import bounds
from cpwl.certify.prove import Certificate, certify
from cpwl.compiler import Compiled, compile
from cpwl.errors import (
    ConstructionError,
    CpwlError,
    CpwlWarning,
    InputError,
    LimitError,
    ProofError,
    SolverError,
)
from cpwl.function import CPWL
from cpwl.network import Network, Sizes

if TYPE_CHECKING:
    from cpwl.formats.json import load, save
    from cpwl.formats.onnx import from_onnx, to_onnx
    from cpwl.formats.torch import from_torch, to_torch

__version__ = _version("cpwl")

__all__ = [
    "CPWL",
    "Certificate",
    "Compiled",
    "ConstructionError",
    "CpwlError",
    "CpwlWarning",
    "InputError",
    "LimitError",
    "Network",
    "ProofError",
    "Sizes",
    "SolverError",
    "bounds",
    "certify",
    "compile",
    "from_onnx",
    "from_torch",
    "load",
    "save",
    "to_onnx",
    "to_torch",
]

# Formats bring libraries of their own: they are imported when first asked for.
_FORMATS = {
    "from_onnx": "cpwl.formats.onnx",
    "from_torch": "cpwl.formats.torch",
    "load": "cpwl.formats.json",
    "save": "cpwl.formats.json",
    "to_onnx": "cpwl.formats.onnx",
    "to_torch": "cpwl.formats.torch",
}


def __getattr__(name: str) -> Any:
    if name in _FORMATS:
        from importlib import import_module

        return getattr(import_module(_FORMATS[name]), name)
    raise AttributeError(f"module 'cpwl' has no attribute {name!r}")
