"""cpwl: an exact, optimizing compiler between continuous piecewise-linear functions and ReLU networks."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cpwl.errors import (
    ConstructionError,
    CpwlError,
    CpwlWarning,
    InputError,
    LimitError,
    ProofError,
    SolverError,
)

if TYPE_CHECKING:
    from cpwl import bounds
    from cpwl.certify.prove import Certificate, certify
    from cpwl.compiler import Compiled, compile
    from cpwl.compressor import Compressed, compress
    from cpwl.equality import Verdict, equal
    from cpwl.extract import extract
    from cpwl.formats.json import load, save
    from cpwl.formats.onnx import from_onnx, to_onnx
    from cpwl.formats.sklearn import from_sklearn
    from cpwl.formats.torch import from_torch, to_torch
    from cpwl.function import CPWL
    from cpwl.network import Network, Sizes

    __version__: str

__all__ = [
    "CPWL",
    "Certificate",
    "Compiled",
    "Compressed",
    "ConstructionError",
    "CpwlError",
    "CpwlWarning",
    "InputError",
    "LimitError",
    "Network",
    "ProofError",
    "Sizes",
    "SolverError",
    "Verdict",
    "bounds",
    "certify",
    "compile",
    "compress",
    "equal",
    "extract",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "load",
    "save",
    "to_onnx",
    "to_torch",
]

# Where each public name lives. A module is imported when a name of it is first asked for: solvers, sparse matrices and
# file formats bring libraries of their own.
_HOME = {
    "CPWL": "cpwl.function",
    "Certificate": "cpwl.certify.prove",
    "Compiled": "cpwl.compiler",
    "Compressed": "cpwl.compressor",
    "Network": "cpwl.network",
    "Sizes": "cpwl.network",
    "Verdict": "cpwl.equality",
    "certify": "cpwl.certify.prove",
    "compile": "cpwl.compiler",
    "compress": "cpwl.compressor",
    "equal": "cpwl.equality",
    "extract": "cpwl.extract",
    "from_onnx": "cpwl.formats.onnx",
    "from_sklearn": "cpwl.formats.sklearn",
    "from_torch": "cpwl.formats.torch",
    "load": "cpwl.formats.json",
    "save": "cpwl.formats.json",
    "to_onnx": "cpwl.formats.onnx",
    "to_torch": "cpwl.formats.torch",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    elif name == "bounds":
        found = import_module("cpwl.bounds")
    elif name == "__version__":
        from importlib.metadata import version

        found = version("cpwl")
    else:
        raise AttributeError(f"module 'cpwl' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """A package in which the function `certify` is not hidden by the folder of the same name once that is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
