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
    from cpwl.endings import read
    from cpwl.equality import Verdict, equal
    from cpwl.formats.jax import to_jax
    from cpwl.formats.json import load, save
    from cpwl.formats.npz import to_npz
    from cpwl.formats.onnx.read import from_onnx
    from cpwl.formats.onnx.write import to_onnx
    from cpwl.formats.safetensors import to_safetensors
    from cpwl.formats.sklearn import from_sklearn
    from cpwl.formats.tables import from_pieces_csv, to_csv, to_dataframe, to_mat
    from cpwl.formats.torch.module import from_torch, to_torch
    from cpwl.function import CPWL
    from cpwl.function.answers import Report
    from cpwl.function.questions.sets import image
    from cpwl.network import Network, Sizes
    from cpwl.passes.simplify import simplify
    from cpwl.proofs.certificate import Certificate
    from cpwl.proofs.certify import certify
    from cpwl.regions.count import count_regions
    from cpwl.regions.extract import extract
    from cpwl.regions.inquiry import Inquiry, ask
    from cpwl.regions.tiles.parts import extract_parts
    from cpwl.show.explorer.page import report
    from cpwl.sources.formula.formula import Formula, parse
    from cpwl.sources.matlab.regions_file import from_mat
    from cpwl.sources.mpqp.active_sets import from_active_sets
    from cpwl.sources.ppopt import from_ppopt
    from cpwl.sources.regions import from_regions
    from cpwl.sources.tables.scipy import from_interp, from_scipy
    from cpwl.sources.text.csv import from_csv
    from cpwl.sources.text.nnet import from_nnet
    from cpwl.sources.text.pwl import from_pwl
    from cpwl.sources.tree import from_tree
    from cpwl.sources.weights.files import from_npz, from_safetensors
    from cpwl.sources.weights.named import from_weights
    from cpwl.targets.c.write import CCode, to_c
    from cpwl.targets.milp import Milp, NeuronBounds, tighten_omlt, to_milp, to_omlt
    from cpwl.targets.vnnlib import Benchmark, to_vnnlib

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
    "from_pieces_csv": "cpwl.formats.tables",
    "to_csv": "cpwl.formats.tables",
    "to_dataframe": "cpwl.formats.tables",
    "to_mat": "cpwl.formats.tables",
    "to_jax": "cpwl.formats.jax",
    "to_npz": "cpwl.formats.npz",
    "to_safetensors": "cpwl.formats.safetensors",
    "Alternative": "cpwl.compiler",
    "CCode": "cpwl.targets.c.write",
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
    "Formula": "cpwl.sources.formula.formula",
    "parse": "cpwl.sources.formula.formula",
    "from_active_sets": "cpwl.sources.mpqp.active_sets",
    "from_csv": "cpwl.sources.text.csv",
    "from_interp": "cpwl.sources.tables.scipy",
    "from_mat": "cpwl.sources.matlab.regions_file",
    "from_nnet": "cpwl.sources.text.nnet",
    "from_npz": "cpwl.sources.weights.files",
    "from_pwl": "cpwl.sources.text.pwl",
    "from_regions": "cpwl.sources.regions",
    "from_safetensors": "cpwl.sources.weights.files",
    "from_scipy": "cpwl.sources.tables.scipy",
    "from_tree": "cpwl.sources.tree",
    "from_weights": "cpwl.sources.weights.named",
    "from_ppopt": "cpwl.sources.ppopt",
    "from_onnx": "cpwl.formats.onnx.read",
    "from_sklearn": "cpwl.formats.sklearn",
    "from_torch": "cpwl.formats.torch.module",
    "image": "cpwl.function.questions.sets",
    "load": "cpwl.formats.json",
    "maximum": "cpwl.combine",
    "minimum": "cpwl.combine",
    "stack": "cpwl.combine",
    "read": "cpwl.endings",
    "report": "cpwl.show.explorer.page",
    "save": "cpwl.formats.json",
    "simplify": "cpwl.passes.simplify",
    "Milp": "cpwl.targets.milp",
    "NeuronBounds": "cpwl.targets.milp",
    "tighten_omlt": "cpwl.targets.milp",
    "to_milp": "cpwl.targets.milp",
    "to_omlt": "cpwl.targets.milp",
    "Benchmark": "cpwl.targets.vnnlib",
    "to_vnnlib": "cpwl.targets.vnnlib",
    "to_c": "cpwl.targets.c.write",
    "to_onnx": "cpwl.formats.onnx.write",
    "to_torch": "cpwl.formats.torch.module",
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
