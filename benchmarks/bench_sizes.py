"""Hidden neurons by construction, beside Algorithm 1's, on families of functions.

Algorithm 1's neurons are counted by the exact formula in the proof of Theorem 2, from rows that are computed here, and
its verdict is that of the row test. Constructions are those of the compiler's table, whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

from bench import BenchTable
from bench_functions import convex, delaunay, grid, noisy, random_breakpoints
from cpwl import bounds
from cpwl.compiler import CONSTRUCTIONS, compile
from cpwl.construct.plan import ConstructionName
from cpwl.errors import ConstructionError, InputError, LimitError
from cpwl.function import CPWL
from cpwl.function.lineality import divided
from cpwl.function.order import Order, find_excess, order_components
from cpwl.progress import Progress
from shallow import random_shallow

__all__ = ["FAMILIES", "Family", "Measured", "measure_family", "measure_sizes", "size_table"]

# Pieces up to which a construction that searches is tried, Algorithm 1's rows are counted and tested,
# and several functions are measured.
_QUICK = {"clamped": 250, "lattice": 110, "count": 2_500, "test": 130, "means": 60, "floats": 250}
_FULL = {"clamped": 2_100, "gates": 12_000, "lattice": 700, "count": 6_500, "test": 2_100, "means": 2_100}
_FULL["floats"] = 2_100
_OF_TABLES = ("columns", "clamped", "strips")  # which half-spaces are not


@dataclass(frozen=True, slots=True)
class Family:
    """Functions from seeds; `goal` is what a construction should reach, `full` says that it takes a while."""

    name: str
    make: Callable[[int], CPWL]
    goal: str = ""
    full: bool = False


FAMILIES: tuple[Family, ...] = (
    Family("one hidden layer, n = 10, 32 pieces", lambda s: random_shallow(10, 5, s), "5-7"),
    Family("square, 46 triangles", lambda s: delaunay(2, 22, s), "79"),
    Family("square, 86 triangles", lambda s: delaunay(2, 42, s), "149, lattice 352"),
    Family("square, V = 100", lambda s: delaunay(2, 96, s), "strips 221"),
    Family("square, 606 triangles", lambda s: delaunay(2, 302, s), "1,080"),
    Family("square, 1,000 triangles", lambda s: delaunay(2, 499, s), "windows 1,400, clamped 2,400", full=True),
    Family("square, V = 1,000", lambda s: delaunay(2, 996, s), "strips 656", full=True),
    Family("square, V = 10,000", lambda s: delaunay(2, 9_996, s), "strips 1,967", full=True),
    Family("8 x 8 grid", lambda s: grid(2, 8, s), "40"),
    Family("32 x 32 grid", lambda s: grid(2, 32, s), "160"),
    Family("cube, 27 points", lambda s: delaunay(3, 19, s), "251, lattice 626"),
    Family("cube, 100 points", lambda s: delaunay(3, 92, s), "1,410", full=True),
    Family("cube, 190 points", lambda s: delaunay(3, 182, s), "2,990", full=True),
    Family("cube, 88 points, 480 cells", lambda s: delaunay(3, 80, s), "windows 950", full=True),
    Family("cube, 308 points, 1,900 cells", lambda s: delaunay(3, 300, s), "windows 3,100", full=True),
    Family("cube, 1,538 points, 10,000 cells", lambda s: delaunay(3, 1_530, s), "windows 13,300", full=True),
    Family("n = 4, 40 points, 520 cells", lambda s: delaunay(4, 24, s), "windows 1,112", full=True),
    Family("n = 4, 86 points, 1,500 cells", lambda s: delaunay(4, 70, s), "windows 2,900", full=True),
    Family("8 x 8 x 8 grid", lambda s: grid(3, 8, s), "columns 775", full=True),
    Family("16 x 16 x 16 grid", lambda s: grid(3, 16, s), "columns 2,700", full=True),
    Family("5 x 5 x 5 x 5 grid", lambda s: grid(4, 5, s), "columns 2,400", full=True),
    Family("10 x 10 x 10 grid", lambda s: grid(3, 10, s), "310", full=True),
    Family("n = 4, 24 points", lambda s: delaunay(4, 8, s), "453, lattice 1,772", full=True),
    *(
        Family(f"line, {m} breakpoints", lambda s, m=m: random_breakpoints(m, s), goal)  # type: ignore[misc]
        for m, goal in ((20, "14"), (50, "21"), (100, "30"), (400, "59"))
    ),
    Family("convex, 20 planes", lambda s: convex(20, s), "42"),
)
"""What is measured, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over seeds for one family: pieces, Algorithm 1's count and how often it is right, and ours."""

    family: str
    goal: str
    pieces: float
    algorithm1: float | None
    algorithm1_right: str
    neurons: dict[str, float]
    seconds: dict[str, float]
    floats: tuple[str, int | None] | None = None
    """The smallest construction, and the neurons that it takes for the first function as noisy half-spaces."""

    def to_dict(self) -> dict[str, Any]:
        """The row for a JSON file."""
        return asdict(self)


def measure_sizes(
    *, full: bool = False, seeds: int | None = None, cases: Path | None = None, progress: Progress | None = None
) -> list[Measured]:
    """Compiles every family, and the functions in a folder, with every construction that applies."""
    families = [family for family in FAMILIES if full or not family.full]
    families += _families_of(cases)
    found = []
    for i, family in enumerate(families):
        if progress is not None:
            progress(i, len(families), family.name)
        found.append(measure_family(family, seeds or (3 if full else 2), _FULL if full else _QUICK))
    return found


def measure_family(family: Family, seeds: int, most: dict[str, int] = _QUICK) -> Measured:
    """The means for one family; a large function stands for itself."""
    functions = [family.make(0)]
    if functions[0].num_pieces <= most["means"]:
        functions += [family.make(seed) for seed in range(1, seeds)]
    neurons: dict[str, list[int]] = {}
    seconds: dict[str, list[float]] = {}
    for p in functions:
        for name in _applicable(p, most):
            began = perf_counter()
            try:
                made = compile(p, construction=name, check=False, precision="exact")
            except (ConstructionError, LimitError):
                continue
            seconds.setdefault(name, []).append(perf_counter() - began)
            neurons.setdefault(name, []).append(made.sizes.neurons)
    # A construction that applies to some functions of a family only has no mean.
    everywhere = sorted(name for name, values in neurons.items() if len(values) == len(functions))
    counts, right = zip(*(_algorithm1(p, most) for p in functions), strict=True)
    tested = [verdict for verdict in right if verdict is not None]
    return Measured(
        family.name,
        family.goal,
        mean(p.num_pieces for p in functions),
        None if None in counts else mean(count for count in counts if count is not None),
        f"{sum(tested)}/{len(tested)}" if tested else "",
        {name: mean(neurons[name]) for name in everywhere},
        {name: mean(seconds[name]) for name in everywhere},
        _as_floats(functions[0], {name: neurons[name][0] for name in everywhere}, most),
    )


def _as_floats(p: CPWL, exact: dict[str, int], most: dict[str, int]) -> tuple[str, int | None] | None:
    """What the smallest of these constructions takes for `p` as half-spaces and laws with noise; None if it refuses."""
    names = [name for name in _applicable(p, most) if name in exact and name not in _OF_TABLES]
    if not names or p.num_pieces > most.get("floats", 0):
        return None
    best = min(names, key=lambda name: (exact[name], name))
    try:
        return best, compile(noisy(p), construction=best, check=False, precision="exact").sizes.neurons
    except (InputError, LimitError):
        return best, None


def size_table(rows: Sequence[Measured]) -> BenchTable:
    """The rows, with one column a construction."""
    names = [name for name in CONSTRUCTIONS if any(name in row.neurons for row in rows)]
    cells = []
    for row in rows:
        counted = "-" if row.algorithm1 is None else f"{row.algorithm1:,.0f}"
        ours = [f"{row.neurons[name]:,.0f}" if name in row.neurons else "-" for name in names]
        known = row.algorithm1_right or "-"
        cells.append((row.family, f"{row.pieces:,.0f}", counted, known, *ours, _floats_text(row), row.goal))
    columns = ("hidden neurons (means)", "pieces", "Algorithm 1", "right", *names, "as floats", "goal")
    title = "Hidden neurons. Algorithm 1 is counted by its exact formula, and its rows are tested."
    return BenchTable("sizes", title, columns, tuple(cells), tuple(row.to_dict() for row in rows))


def _floats_text(row: Measured) -> str:
    if row.floats is None:
        return "-"
    name, neurons = row.floats
    return f"{name} {'refused' if neurons is None else format(neurons, ',')}"


def _applicable(p: CPWL, most: dict[str, int]) -> list[ConstructionName]:
    return [
        name for name in CONSTRUCTIONS if name not in ("auto", "paper") and p.num_pieces <= most.get(name, p.num_pieces)
    ]


def _algorithm1(p: CPWL, most: dict[str, int]) -> tuple[int | None, bool | None]:
    """The neurons of Algorithm 1, and whether its network is the function; None where that was not computed."""
    if p.num_pieces > most["count"]:
        return None, None
    small = divided(p).function
    orders = [order_components(small, j) for j in range(p.outputs)]
    count = sum(bounds.algorithm1(order.above.sum(axis=1).tolist()).neurons for order in orders)
    if p.num_pieces > most["test"]:
        return count, None
    return count, all(_is_right(small, j, order) for j, order in enumerate(orders))


def _is_right(p: CPWL, output: int, order: Order) -> bool:
    return find_excess(p, output, order, [row.nonzero()[0] for row in order.above]) is None


def _families_of(cases: Path | None) -> list[Family]:
    """The functions in the files of a folder."""
    if cases is None:
        return []
    return [Family(path.stem, partial(_load, path)) for path in sorted(cases.glob("*.json"))]


def _load(path: Path, _seed: int) -> CPWL:
    from cpwl.io.json import load

    found = load(path)
    if not isinstance(found, CPWL):
        raise InputError(f"`{path}` holds a network; a benchmark compiles functions", path=path)
    return found
