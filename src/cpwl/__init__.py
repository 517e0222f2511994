"""cpwl: an exact, optimizing compiler between continuous piecewise-linear functions and ReLU networks.

Readers and writers of files and of objects of other programs are in `cpwl.io`, closed loops in `cpwl.dynamics`,
multiparametric programs in `cpwl.mpqp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpwl.errors import ConstructionError, CpwlError, CpwlWarning, InputError, LimitError, ProofError

if TYPE_CHECKING:
    from cpwl import bounds, dynamics, io
    from cpwl.combine import maximum, minimum, stack
    from cpwl.compiled import Compiled
    from cpwl.compiler import compile
    from cpwl.compressor import compress
    from cpwl.equality import distance, equal
    from cpwl.function import CPWL
    from cpwl.function.questions.sets import image
    from cpwl.io.endings import read, write
    from cpwl.io.formula import parse
    from cpwl.levels import tradeoff
    from cpwl.mpqp.plan import mpc
    from cpwl.mpqp.solve import solve_mpqp
    from cpwl.network import Network
    from cpwl.passes.simplify import simplify
    from cpwl.proofs.certify import Certificate, certify
    from cpwl.regions.extract import count_regions, extract, extract_parts
    from cpwl.regions.inquiry import ask
    from cpwl.show.explorer.page import report

    __version__: str

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
    "ask",
    "bounds",
    "certify",
    "compile",
    "compress",
    "count_regions",
    "distance",
    "dynamics",
    "equal",
    "extract",
    "extract_parts",
    "image",
    "io",
    "maximum",
    "minimum",
    "mpc",
    "parse",
    "read",
    "report",
    "simplify",
    "solve_mpqp",
    "stack",
    "tradeoff",
    "write",
]

# The names of each module, which is imported when one of them is first asked for: solvers, sparse matrices and file
# formats bring libraries of their own.
_NAMES = {
    "combine": "maximum minimum stack",
    "compiled": "Compiled",
    "compiler": "compile",
    "compressor": "compress",
    "equality": "distance equal",
    "function": "CPWL",
    "function.questions.sets": "image",
    "io.endings": "read write",
    "io.formula": "parse",
    "levels": "tradeoff",
    "mpqp.plan": "mpc",
    "mpqp.solve": "solve_mpqp",
    "network": "Network",
    "passes.simplify": "simplify",
    "proofs.certify": "Certificate certify",
    "regions.extract": "count_regions extract extract_parts",
    "regions.inquiry": "ask",
    "show.explorer.page": "report",
}
_MODULES = ("bounds", "dynamics", "io")
# Names that were here up to release 0.1, and where they are now. They work for one release more.
_MOVED_NAMES = {
    "compiled": "Alternative",
    "compressor": "Compressed",
    "construct.plan": "ConstructionName Minimize Precision Weights",
    "dynamics": "closed_loop decrease equilibria is_invariant iterate",
    "equality": "Verdict",
    "errors": "InternalError SolverError",
    "function.answers": "Report",
    "io.json": "load save",
    "network": "Sizes",
    "regions.inquiry": "Inquiry",
}
_HOME, _MOVED = (
    {name: f"cpwl.{module}" for module, names in table.items() for name in names.split()}
    for table in (_NAMES, _MOVED_NAMES)
)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME:
        found = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        found = import_module(f"cpwl.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        found = version("cpwl")
    else:
        return _moved(name)
    globals()[name] = found
    return found


def _moved(name: str) -> Any:
    """A name that has moved to another module, with a warning that says where."""
    import warnings
    from importlib import import_module

    module = _MOVED.get(name, "cpwl.io")
    if name.startswith("_") or (module == "cpwl.io" and name not in import_module(module).__all__):
        raise AttributeError(f"module 'cpwl' has no attribute {name!r}")
    instead = {"load": "cpwl.read", "save": "cpwl.write"}.get(name, f"{module}.{name}")
    message = f"`cpwl.{name}` has moved and will be removed in the next release: write `{instead}`"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
