"""The table of constructions: what each is for, how it plans a network, and what it takes at least.

"auto", the command line and the tests read it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from cpwl.construct import paper, parts
from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks import hinges
from cpwl.construct.clamped import plan as clamped
from cpwl.construct.columns import plan as columns
from cpwl.construct.gates import plan as gates
from cpwl.construct.lattice import plan as lattice
from cpwl.construct.layers import plan as layers
from cpwl.construct.lower_bounds import for_any_network
from cpwl.construct.plan import Least, Plan
from cpwl.construct.select import Candidate
from cpwl.construct.strips import plan as strips
from cpwl.construct.univariate import plan as univariate
from cpwl.construct.windows import plan as windows
from cpwl.doors import within_float64
from cpwl.errors import ConstructionError, InputError, LimitError
from cpwl.function import CPWL
from cpwl.geometry.complex import many_cells

_Answer = TypeVar("_Answer")
Planned = Mapping[str, Candidate]
"""What has been planned so far, by name."""
# Budgets of "auto", once it has a network that is accurate enough: about half a minute on one core, for clamped gates,
# which are rarely the smallest beyond a few hundred pieces, 5 seconds.
_PAIRS = 2_000_000  # pieces times components, which a lattice compares
_ON_A_LINE = 20_000  # the same for one input, where univariate gates take 0.2 s and a lattice of 400 pieces takes 3 s
_TRIANGLES = 1_000  # pieces of which clamped gates are made: the time is quadratic in them, 20 s for 2,000
_CELLS = 100_000_000  # cells times corners, which windows compare
_POINTS = 2_500  # points around which strips are made: 2,000 take 8 s to plan and 36 s to prove, 5,000 minutes to prove
_NOISY = 600  # the same for float data: a proof follows the neurons into the gaps between pieces, 500 take 20 s
_FEW = 5_000_000  # pieces times components: a lattice of so few takes less time than a complex of faces in space
# Simplices, n! for a piece that is none, of which a convex lifting is looked for in space: in R^4 9 s for 2,300; in R^3
# 10 s for 3,056 of a control law with 501 regions, which has none, and splitting them doubles the programs.
_LIFTS = 1_000
# A search for a small lattice starts only below four times the size to beat, or below 40 neurons, where it takes 0.1 s.
# Of 157 searches (the catalogue, formulas, networks, tables in two to five inputs) none took away more than three
# quarters of the neurons, and from 40 neurons on none more than 26 %.
_SEARCH, _SHORT = 4, 40


@dataclass(frozen=True, slots=True, eq=False)
class Construction:
    """A way from a function to a network."""

    name: str
    about: str
    plan: Callable[[Analysis], Plan]
    """Raises `ConstructionError` or `LimitError` where it does not apply."""
    least: Callable[[Analysis], Least | None] = lambda _: None
    """A proved lower bound on its network, found in far less time than a plan; it may raise what `plan` raises."""
    work: Callable[[Analysis], str] = lambda _: ""
    """What planning would take, where that is more than "auto" spends if it has a network; else ""."""
    start: Callable[[Analysis], int] = lambda _: 0
    """With how many neurons its search for a small network starts; 0 where nothing is searched."""
    rank: int = 0
    """"auto" plans constructions of a lower rank first; those of one rank by their bounds."""


def ruled_out(name: str, analysis: Analysis, planned: Planned) -> str:
    """Why "auto" does not plan a construction after these: it cannot be smaller than one of them, or takes too long.

    Only a network that is predicted to be accurate enough rules others out, and only by numbers. Lattices and Algorithm
    1, which come last, keep to their budgets beside any network: they compare every piece with every component.
    """
    row, minimize, most = TABLE[name], analysis.options.minimize, analysis.options.max_error
    good = {known: int(getattr(other.sizes, minimize)) for known, other in planned.items() if other.error <= most}
    fewest = min(good.values(), default=0)
    best = next((known for known in good if good[known] == fewest), "")
    for least in (_asked(_for_any, analysis, None), least_of(name, analysis)) if good else ():
        if least is not None and least.of(minimize) >= fewest:
            what = "layers" if minimize == "depth" else minimize
            return f"not planned: at least {least.of(minimize):,} {what} ({least.reason}), and {best} has {fewest:,}"
    work = row.work(analysis) if good or (planned and row.rank >= TABLE["lattice"].rank) else ""
    if (
        not work
        and good
        and minimize == "neurons"
        and (start := _asked(row.start, analysis, 0)) > max(_SEARCH * fewest, _SHORT)
    ):
        work = f"a search from {start:,} neurons to fewer than the {fewest:,} of {best}"
    return f'not planned: would take {work}; ask for construction="{name}"' if work else ""


def least_of(name: str, analysis: Analysis) -> Least | None:
    """The lower bound on the network of a construction; None where there is none, or planning will say why not."""
    return _asked(TABLE[name].least, analysis, None)


def _asked(question: Callable[[Analysis], _Answer], analysis: Analysis, otherwise: _Answer) -> _Answer:
    """What a question about a function answers; where it raises, planning will say why, and `otherwise` holds."""
    try:
        with in_range():
            return question(analysis)
    except (InputError, LimitError):
        return otherwise


def _for_any(analysis: Analysis) -> Least | None:
    """What holds for every network of this function. Exact data."""
    if analysis.function.tol:
        return None
    best = max(for_any_network(analysis), key=lambda bound: bound.neurons)
    return Least(best.neurons, f"any network: {best.reason}", 1 if len(analysis.distinct_laws) == 1 else 2)


def _pairs(analysis: Analysis) -> str:
    q, k = analysis.function.num_pieces, analysis.function.num_components
    most = _PAIRS if analysis.function.dim > 1 else _ON_A_LINE
    return f"comparisons of {q:,} pieces with {k:,} components" if q * k > most else ""


def _triangles(analysis: Analysis) -> str:
    q = analysis.function.num_pieces
    return f"clusters of the corners of {q:,} pieces" if q > _TRIANGLES else ""


def _cells(analysis: Analysis) -> str:
    p = analysis.function
    if p.mesh is None and p.dim > 2:
        cut = p.num_pieces if p.dim > 3 else int((np.diff(p.polyhedra.start) > p.dim + 1).sum())
        if cut * math.factorial(min(p.dim, 20)) > _LIFTS:
            return f"a convex lifting of the simplices of {cut:,} pieces in R^{p.dim}"
    corners = p.num_pieces if p.mesh is None else len(p.mesh.corners)
    if p.num_pieces * corners > _CELLS:
        return f"comparisons of {p.num_pieces:,} cells with their corners"
    try:
        p = analysis.exact.function
        return many_cells(p.polyhedra) if p.mesh is None and analysis.exact.box is not None else ""
    except ConstructionError:
        return ""  # planning will say why


def _points(analysis: Analysis) -> str:
    points = _asked(lambda known: len(known.exact.bends.vertices), analysis, 0) if analysis.function.dim == 2 else 0
    most = _NOISY if analysis.function.tol > 0 else _POINTS
    return f"strips, and their proof, of {points:,} points where a jump changes" if points > most else ""


def _of_part(without: str, function: CPWL, whole: Analysis) -> list[Candidate]:
    """What is planned for a part of a function: networks as accurate as its own must be, if there are any."""
    analysis, planned = replace(whole, function=function), dict[str, Candidate]()
    for name in in_order(analysis):
        if name not in (without, "paper") and not ruled_out(name, analysis, planned):
            try:
                planned[name] = Candidate.of(TABLE[name].plan(analysis), analysis)
            except (InputError, LimitError):
                continue
    most = whole.options.max_error * whole.sample.range / analysis.sample.range
    return [other for other in planned.values() if other.error <= most] or list(planned.values())


_ROWS = (
    Construction("hinge", "one hidden layer, one neuron per hyperplane, where the jumps are consistent", hinges.plan),
    Construction("univariate", "one direction of bends: one to three hidden layers", univariate.plan),
    Construction(
        "sums",
        "sums of functions of fewer inputs, each with its smallest network",
        partial(parts.plan_sum, partial(_of_part, "sums")),
    ),
    Construction(
        "fold",
        "mirrored and odd functions: the smallest network of a part, behind a layer that folds the domain",
        partial(parts.plan_fold, partial(_of_part, "")),
    ),
    Construction("layers", "pieces of a network with hidden layers: these layers again", layers.plan, layers.least),
    Construction("gates", "linear in the pieces, any dimension", gates.plan, gates.least, gates.work, rank=1),
    Construction("columns", "Kuhn grids, any n: safe in float32, far terms are exactly 0", columns.plan),
    Construction(
        "windows",
        "bounded cells with a convex lifting, any n: safe in float32, far terms are exactly 0",
        windows.plan,
        windows.least,
        _cells,
        rank=1,
    ),
    Construction(
        "clamped",
        "plane, bounded: safe in float32, far terms are exactly 0",
        clamped.plan,
        clamped.least,
        _triangles,
        rank=2,
    ),
    Construction(
        "strips",
        "plane, bounded: fewer neurons than pieces, in float64",
        strips.plan,
        strips.least,
        _points,
        rank=1,
    ),
    Construction(
        "lattice",
        "max of mins, for few pieces in many dimensions and for float data",
        lattice.plan,
        lattice.least,
        _pairs,
        lattice.start,
        rank=3,
    ),
    Construction("paper", "Algorithm 1 as printed, with every row tested", paper.plan, paper.least, _pairs, rank=4),
)
TABLE: dict[str, Construction] = {row.name: row for row in _ROWS}
"""The constructions by name."""


def in_order(analysis: Analysis) -> tuple[str, ...]:
    """The names in the order in which "auto" plans them: by rank, in space a lattice of few pieces before a complex.

    Constructions of the same rank take about as long; the one with the smaller bound is first.
    """
    p = analysis.function
    early = p.dim > 2 and p.mesh is None and p.num_pieces * p.num_components <= _FEW

    def turn(name: str) -> tuple[float, int]:
        rank = 0.5 if early and name == "lattice" else TABLE[name].rank
        least = least_of(name, analysis) if rank == 1 else None
        return rank, 0 if least is None else least.neurons

    return tuple(sorted(TABLE, key=turn))


@contextmanager
def in_range() -> Iterator[None]:
    """Refuse numbers with which floats, which propose every choice, overflow on the way."""
    try:
        with within_float64(), np.errstate(over="raise"):
            yield
    except FloatingPointError:
        raise LimitError("numbers of this function are so far apart in size that float64 overflows") from None
