"""cpwl: an exact, optimizing compiler between continuous piecewise-linear functions and ReLU networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpwl.errors import (
    ConstructionError,
    CpwlError,
    CpwlWarning,
    InputError,
    InternalError,
    LimitError,
    ProofError,
    SolverError,
)

if TYPE_CHECKING:
    from cpwl import bounds
    from cpwl.combine import maximum, minimum, stack
    from cpwl.compiler import Alternative, Compiled, compile
    from cpwl.compressor import Compressed, compress
    from cpwl.construct.options import ConstructionName, Minimize, Precision, Weights
    from cpwl.dynamics import closed_loop, decrease, equilibria, is_invariant, iterate
    from cpwl.equality import Verdict, equal
    from cpwl.function import CPWL
    from cpwl.function.answers import Report
    from cpwl.function.questions.sets import image
    from cpwl.io.c.write import CCode, to_c
    from cpwl.io.csv import from_csv, from_pieces_csv, to_csv, to_dataframe
    from cpwl.io.endings import read
    from cpwl.io.formula import Formula, parse
    from cpwl.io.json import load, save
    from cpwl.io.mat import from_mat, from_regions, to_mat
    from cpwl.io.milp import Milp, NeuronBounds, tighten_omlt, to_milp, to_omlt
    from cpwl.io.mpqp import from_active_sets, from_ppopt
    from cpwl.io.onnx.read import from_onnx
    from cpwl.io.onnx.write import to_onnx
    from cpwl.io.scipy import from_interp, from_scipy
    from cpwl.io.text import from_nnet, from_pwl
    from cpwl.io.torch import from_torch, to_torch
    from cpwl.io.tree import from_tree
    from cpwl.io.vnnlib import Benchmark, to_vnnlib
    from cpwl.io.weights import from_npz, from_safetensors, from_sklearn, from_weights, to_jax, to_npz, to_safetensors
    from cpwl.network import Network, Sizes
    from cpwl.passes.simplify import simplify
    from cpwl.proofs.certificate import Certificate
    from cpwl.proofs.certify import certify
    from cpwl.regions.count import count_regions
    from cpwl.regions.extract import extract
    from cpwl.regions.inquiry import Inquiry, ask
    from cpwl.regions.tiles.parts import extract_parts
    from cpwl.show.explorer.page import report

    __version__: str

__all__ = [
    "Alternative",
    "Benchmark",
    "CCode",
    "CPWL",
    "Certificate",
    "Compiled",
    "Compressed",
    "ConstructionError",
    "ConstructionName",
    "CpwlError",
    "CpwlWarning",
    "Formula",
    "InputError",
    "Inquiry",
    "InternalError",
    "LimitError",
    "Milp",
    "Minimize",
    "Network",
    "NeuronBounds",
    "Precision",
    "ProofError",
    "Report",
    "Sizes",
    "SolverError",
    "Verdict",
    "Weights",
    "ask",
    "bounds",
    "certify",
    "closed_loop",
    "compile",
    "compress",
    "count_regions",
    "decrease",
    "equal",
    "equilibria",
    "extract",
    "extract_parts",
    "from_active_sets",
    "from_csv",
    "from_interp",
    "from_mat",
    "from_nnet",
    "from_npz",
    "from_onnx",
    "from_pieces_csv",
    "from_ppopt",
    "from_pwl",
    "from_regions",
    "from_safetensors",
    "from_scipy",
    "from_sklearn",
    "from_torch",
    "from_tree",
    "from_weights",
    "image",
    "is_invariant",
    "iterate",
    "load",
    "maximum",
    "minimum",
    "parse",
    "read",
    "report",
    "save",
    "simplify",
    "stack",
    "tighten_omlt",
    "to_c",
    "to_csv",
    "to_dataframe",
    "to_jax",
    "to_mat",
    "to_milp",
    "to_npz",
    "to_omlt",
    "to_onnx",
    "to_safetensors",
    "to_torch",
    "to_vnnlib",
]

# Where each public name lives. A module is imported when a name of it is first asked for: solvers, sparse matrices and
# file formats bring libraries of their own.
_HOME = {
    "from_pieces_csv": "cpwl.io.csv",
    "to_csv": "cpwl.io.csv",
    "to_dataframe": "cpwl.io.csv",
    "to_mat": "cpwl.io.mat",
    "to_jax": "cpwl.io.weights",
    "to_npz": "cpwl.io.weights",
    "to_safetensors": "cpwl.io.weights",
    "Alternative": "cpwl.compiler",
    "CCode": "cpwl.io.c.write",
    "CPWL": "cpwl.function",
    "Certificate": "cpwl.proofs.certificate",
    "Compiled": "cpwl.compiler",
    "Compressed": "cpwl.compressor",
    "ConstructionName": "cpwl.construct.options",
    "Minimize": "cpwl.construct.options",
    "Precision": "cpwl.construct.options",
    "Weights": "cpwl.construct.options",
    "Network": "cpwl.network",
    "Report": "cpwl.function.answers",
    "Sizes": "cpwl.network",
    "Verdict": "cpwl.equality",
    "Inquiry": "cpwl.regions.inquiry",
    "ask": "cpwl.regions.inquiry",
    "closed_loop": "cpwl.dynamics",
    "decrease": "cpwl.dynamics",
    "equilibria": "cpwl.dynamics",
    "is_invariant": "cpwl.dynamics",
    "iterate": "cpwl.dynamics",
    "certify": "cpwl.proofs.certify",
    "compile": "cpwl.compiler",
    "compress": "cpwl.compressor",
    "equal": "cpwl.equality",
    "count_regions": "cpwl.regions.count",
    "extract": "cpwl.regions.extract",
    "extract_parts": "cpwl.regions.tiles.parts",
    "Formula": "cpwl.io.formula",
    "parse": "cpwl.io.formula",
    "from_active_sets": "cpwl.io.mpqp",
    "from_csv": "cpwl.io.csv",
    "from_interp": "cpwl.io.scipy",
    "from_mat": "cpwl.io.mat",
    "from_nnet": "cpwl.io.text",
    "from_npz": "cpwl.io.weights",
    "from_pwl": "cpwl.io.text",
    "from_regions": "cpwl.io.mat",
    "from_safetensors": "cpwl.io.weights",
    "from_scipy": "cpwl.io.scipy",
    "from_tree": "cpwl.io.tree",
    "from_weights": "cpwl.io.weights",
    "from_ppopt": "cpwl.io.mpqp",
    "from_onnx": "cpwl.io.onnx.read",
    "from_sklearn": "cpwl.io.weights",
    "from_torch": "cpwl.io.torch",
    "image": "cpwl.function.questions.sets",
    "load": "cpwl.io.json",
    "maximum": "cpwl.combine",
    "minimum": "cpwl.combine",
    "stack": "cpwl.combine",
    "read": "cpwl.io.endings",
    "report": "cpwl.show.explorer.page",
    "save": "cpwl.io.json",
    "simplify": "cpwl.passes.simplify",
    "Milp": "cpwl.io.milp",
    "NeuronBounds": "cpwl.io.milp",
    "tighten_omlt": "cpwl.io.milp",
    "to_milp": "cpwl.io.milp",
    "to_omlt": "cpwl.io.milp",
    "Benchmark": "cpwl.io.vnnlib",
    "to_vnnlib": "cpwl.io.vnnlib",
    "to_c": "cpwl.io.c.write",
    "to_onnx": "cpwl.io.onnx.write",
    "to_torch": "cpwl.io.torch",
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
