"""Readers and writers for files and objects of other programs, one module for each format.

`read` and `write` select the format by the file name; `from_*` and `to_*` have the options of one format each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpwl.io.c.write import CCode, to_c
    from cpwl.io.endings import read, write
    from cpwl.io.formula import Formula
    from cpwl.io.mat import from_mat, from_regions, to_mat
    from cpwl.io.milp import Milp, NeuronBounds, tighten_omlt, to_milp, to_omlt
    from cpwl.io.mpqp import from_active_sets, from_ppopt
    from cpwl.io.onnx.read import from_onnx
    from cpwl.io.onnx.write import to_onnx
    from cpwl.io.scipy import from_interp, from_scipy, from_tree
    from cpwl.io.text import from_csv, from_nnet, from_pieces_csv, from_pwl, to_csv, to_dataframe
    from cpwl.io.torch import from_torch, to_torch
    from cpwl.io.vnnlib import Benchmark, to_vnnlib
    from cpwl.io.weights import from_npz, from_safetensors, from_sklearn, from_weights, to_jax, to_npz, to_safetensors

__all__ = [
    "Benchmark",
    "CCode",
    "Formula",
    "Milp",
    "NeuronBounds",
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
    "read",
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
    "write",
]

# The names of each module, which is imported when one of them is first asked for.
_NAMES = {
    "c.write": "CCode to_c",
    "endings": "read write",
    "formula": "Formula",
    "mat": "from_mat from_regions to_mat",
    "milp": "Milp NeuronBounds tighten_omlt to_milp to_omlt",
    "mpqp": "from_active_sets from_ppopt",
    "onnx.read": "from_onnx",
    "onnx.write": "to_onnx",
    "scipy": "from_interp from_scipy from_tree",
    "text": "from_csv from_nnet from_pieces_csv from_pwl to_csv to_dataframe",
    "torch": "from_torch to_torch",
    "vnnlib": "Benchmark to_vnnlib",
    "weights": "from_npz from_safetensors from_sklearn from_weights to_jax to_npz to_safetensors",
}
_HOME = {name: f"cpwl.io.{module}" for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("load", "save"):
        import warnings

        instead = {"load": "cpwl.read", "save": "cpwl.write"}[name]
        message = f"`cpwl.io.{name}` is deprecated and will be removed in the next release: write `{instead}`"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module("cpwl.io.json"), name)
    if name not in _HOME:
        raise AttributeError(f"module 'cpwl.io' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
