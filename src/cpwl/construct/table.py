"""The table of constructions: what each is for, how it plans a network, and when "auto" need not ask it.

"auto", the command line and the tests read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cpwl.construct import hinge, paper
from cpwl.construct.analysis import Analysis
from cpwl.construct.clamped import plan as clamped
from cpwl.construct.columns import plan as columns
from cpwl.construct.gates import plan as gates
from cpwl.construct.lattice import plan as lattice
from cpwl.construct.plan import Plan
from cpwl.construct.select import Candidate
from cpwl.construct.strips import plan as strips
from cpwl.construct.univariate import plan as univariate
from cpwl.construct.upper_bounds import upper_bounds
from cpwl.construct.windows import plan as windows
from cpwl.errors import ConstructionError

__all__ = ["TABLE", "Construction", "Planned", "in_order"]

Planned = Mapping[str, Candidate]
"""What has been planned so far, by name."""
_FEW = 200_000  # decisions (pieces times components) that take less time than a complex in space
_MANY = 2_000_000  # decisions (pieces times components) that "auto" does not make where it has a smaller network


@dataclass(frozen=True, slots=True, eq=False)
class Construction:
    """A way from a function to a network."""

    name: str
    about: str
    plan: Callable[[Analysis], Plan]
    """Raises `ConstructionError` or `LimitError` where it does not apply."""
    skip: Callable[[Analysis, Planned], str]
    """Why "auto" need not plan it after what it has planned: it cannot be smaller, or would take too long; else ""."""
    after: Callable[[Analysis], tuple[str, ...]] = lambda _: ("hinge",)
    """The constructions before it whose plans `skip` looks at."""


def _never(_: Analysis, __: Planned) -> str:
    return ""


def _is_good(name: str, analysis: Analysis, planned: Planned) -> bool:
    """Whether a construction with few layers was planned that is accurate enough, where that is what counts."""
    small = analysis.options.minimize in ("neurons", "depth")
    return small and name in planned and planned[name].error <= analysis.options.max_error


def _one_layer(analysis: Analysis, planned: Planned) -> str:
    return "not planned: one hidden layer will do" if _is_good("hinge", analysis, planned) else ""


def _skip_univariate(analysis: Analysis, planned: Planned) -> str:
    return "" if analysis.options.minimize == "neurons" else _one_layer(analysis, planned)


def _skip_gates(analysis: Analysis, planned: Planned) -> str:
    on_a_line = "not planned: on a line it is the hinges" if analysis.function.dim == 1 else ""
    return _one_layer(analysis, planned) or on_a_line or _by_planes(analysis, planned)


def _by_planes(analysis: Analysis, planned: Planned) -> str:
    """In space: a neuron of a gate network bends on one hyperplane, and counting hyperplanes takes no complex."""
    if analysis.options.minimize != "neurons" or not _is_good("lattice", analysis, planned):
        return ""
    try:
        exact = analysis.exact
    except ConstructionError:
        return ""
    neurons = planned["lattice"].sizes.neurons
    if exact.divided.function.dim < 3 or exact.bend_planes < neurons:
        return ""
    return f"not planned: a neuron for each of {exact.bend_planes} bend hyperplanes, and a lattice has {neurons}"


def _skip_clamped(analysis: Analysis, planned: Planned) -> str:
    small = _is_good("gates", analysis, planned)
    known = "not planned: gates are smaller, and accurate enough" if small else ""
    if not known and _by_planes(analysis, planned):
        known = "not planned: for functions whose other networks are not accurate enough, and a lattice is"
    return _one_layer(analysis, planned) or known


def _are_many(analysis: Analysis) -> bool:
    return analysis.function.num_pieces * analysis.function.num_components > _MANY


def _skip_lattice(analysis: Analysis, planned: Planned) -> str:
    many = bool(planned) and _are_many(analysis)
    return _one_layer(analysis, planned) or ("not planned: too many pieces and components to compare" if many else "")


def _skip_paper(analysis: Analysis, planned: Planned) -> str:
    reason = _skip_lattice(analysis, planned)
    minimize = analysis.options.minimize
    if reason or not planned or minimize not in ("neurons", "depth"):
        return reason
    count = upper_bounds(analysis.function, analysis.row_sizes)["algorithm1"]
    known = count.neurons if minimize == "neurons" else count.layers
    if any(known >= getattr(other.sizes, minimize) for other in planned.values()):
        return "not planned: larger by its formula"
    return ""


def _after_gates(_: Analysis) -> tuple[str, ...]:
    return "hinge", "gates"


def _after_all_if_many(analysis: Analysis) -> tuple[str, ...]:
    return tuple(name for name in TABLE if name not in ("lattice", "paper")) if _are_many(analysis) else ("hinge",)


def _after_all(_: Analysis) -> tuple[str, ...]:
    return tuple(name for name in TABLE if name != "paper")


_ROWS = (
    Construction(
        "hinge",
        "one hidden layer, one neuron per hyperplane, where the jumps are consistent",
        hinge.plan,
        _never,
        lambda _: (),
    ),
    Construction("univariate", "one direction of bends: one to three hidden layers", univariate.plan, _skip_univariate),
    Construction("gates", "linear in the pieces, any dimension", gates.plan, _skip_gates),
    Construction("columns", "Kuhn grids, any n: safe in float32, far terms are exactly 0", columns.plan, _one_layer),
    Construction(
        "windows",
        "bounded cells with a convex lifting, any n: safe in float32, far terms are exactly 0",
        windows.plan,
        _skip_clamped,
        _after_gates,
    ),
    Construction(
        "clamped",
        "plane, bounded: safe in float32, far terms are exactly 0",
        clamped.plan,
        _skip_clamped,
        _after_gates,
    ),
    Construction("strips", "plane, bounded: fewer neurons than pieces, for exact arithmetic", strips.plan, _one_layer),
    Construction(
        "lattice",
        "max of mins, for few pieces in many dimensions and for float data",
        lattice.plan,
        _skip_lattice,
        _after_all_if_many,
    ),
    Construction("paper", "Algorithm 1 as printed, with every row tested", paper.plan, _skip_paper, _after_all),
)
TABLE: dict[str, Construction] = {row.name: row for row in _ROWS}
"""The constructions by name."""


def in_order(analysis: Analysis) -> tuple[str, ...]:
    """The names in the order in which "auto" plans them: as in the table, in space a lattice of few pieces first."""
    p, names = analysis.function, list(TABLE)
    if p.dim > 2 and p.num_pieces * p.num_components <= _FEW:
        names.remove("lattice")
        names.insert(names.index("gates"), "lattice")
    return tuple(names)
