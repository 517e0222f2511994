"""Speed: how long the heavy steps take, beside what a user would do instead, and how they grow.

Whatever is divided by something was measured in the same run, and the work that is timed is named in full.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from bench import BenchTable
from bench_functions import delaunay, noisy, rational_delaunay, triangles
from bench_work import run_apart
from cpwl.compiler import CONSTRUCTIONS, compile
from cpwl.function import CPWL
from cpwl.progress import Progress
from naive import is_above
from run_times import measure_run_times, ordered
from shallow import random_shallow

__all__ = ["Timed", "measure_speed", "speed_table"]

_MOST_FLOATS = 20_000  # float pieces that are waited for


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds for some work, beside those of something else; `goal` is what was wished for the full size."""

    work: str
    seconds: float | None
    beside: str = ""
    beside_seconds: float | None = None
    memory_gb: float | None = None
    growth: float | None = None
    note: str = ""
    goal: str = ""
    floats: float | None = None
    """Seconds for the same function as half-spaces and laws in floats with noise of 1e-13."""

    @property
    def ratio(self) -> float | None:
        """How many times as long the other takes."""
        if self.seconds is None or self.beside_seconds is None:
            return None
        return self.beside_seconds / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """The row for a JSON file."""
        return {**asdict(self), "ratio": self.ratio}


def measure_speed(*, full: bool = False, progress: Progress | None = None) -> list[Timed]:
    """All rows; without `full` at sizes that take about a minute together."""
    found: list[Timed] = []
    for i, (name, rows) in enumerate(_ROWS):
        if progress is not None:
            progress(i, len(_ROWS), name)
        found += rows(full)
    return found


def speed_table(rows: Sequence[Timed]) -> BenchTable:
    """The rows for people: seconds, ratios, memory, exponents."""
    cells = []
    for row in rows:
        ours = "-" if row.seconds is None else f"{row.seconds:.3g}"
        other = "-" if row.beside_seconds is None else f"{row.beside_seconds:.3g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.3g}"
        memory = "-" if row.memory_gb is None else f"{row.memory_gb:.2f}"
        growth = "-" if row.growth is None else f"{row.growth:.2f}"
        floats = "-" if row.floats is None else f"{row.floats:.3g}"
        cells.append((row.work, ours, floats, other, ratio, memory, growth, row.beside or row.note or "-", row.goal))
    columns = ("work", "seconds", "as floats", "other", "ratio", "GB", "growth", "beside", "goal")
    title = (
        "Speed, on this machine. Growth is the exponent of the size. As floats: the same function as half-spaces and "
        "laws in floats with noise of 1e-13, the exact function near it included."
    )
    return BenchTable("speed", title, columns, tuple(cells), tuple(row.to_dict() for row in rows))


def _algorithm1(full: bool) -> list[Timed]:
    rows = measure_run_times(trials=5 if full else 2, pieces=(32,))
    naive = "naive: a linprog a decision, dense layers"
    floats = [_best(partial(ordered, _noisy_hinges(r.n, r.q)), 1) for r in rows]
    return [
        Timed(f"Algorithm 1, n = {r.n}, q = {r.q}", r.ours, naive, r.naive, goal="ratio 100", floats=seconds)
        for r, seconds in zip(rows, floats, strict=True)
    ]


def _noisy_hinges(n: int, q: int) -> CPWL:
    return noisy(random_shallow(n, q - 1 if n == 1 else q.bit_length() - 1, seed=0))


def _algorithm1_plane(full: bool) -> list[Timed]:
    size = 1_000 if full else 400
    made = run_apart("paper", size)
    note = f"naive layers: {made['dense_gb']:,.0f} GB" if "dense_gb" in made else made["error"]
    goal = "1,000: 60 s, 3 GB; naive 100 GB"
    return [
        Timed(
            f"Algorithm 1, {size:,} triangles",
            made.get("seconds"),
            memory_gb=made.get("memory_gb"),
            note=note,
            goal=goal,
            floats=run_apart("paper", size, floats=True).get("seconds"),
        )
    ]


def _apart(work: str, made: dict[str, Any], note: str, goal: str, growth: float | None = None) -> Timed:
    """The row for work that was done in a process of its own."""
    seconds, memory = made.get("seconds"), made.get("memory_gb")
    return Timed(work, seconds, memory_gb=memory, growth=growth, note=note, goal=goal)


def _grown(name: str, what: str, sizes: tuple[int, int], goal: str) -> list[Timed]:
    """The larger of two sizes, and the exponent between them."""
    small, large = (run_apart(name, size) for size in sizes)
    growth = None
    if "seconds" in small and "seconds" in large:
        growth = math.log(large["seconds"] / small["seconds"]) / math.log(sizes[1] / sizes[0])
    note = large.get("error") or f"{large['neurons']:,} neurons"
    made = _apart(what.format(f"{sizes[1]:,}"), large, note, goal, growth)
    return [replace(made, floats=_floats(name, sizes[1], sizes[1]))]


def _floats(name: str, size: int, pieces: int) -> float | None:
    """The seconds of work on float data; None where that is so large that benchmarks do not wait for it."""
    return None if pieces > _MOST_FLOATS else run_apart(name, size, floats=True).get("seconds")


def _gates_plane(full: bool) -> list[Timed]:
    sizes = (10_000, 100_000) if full else (1_000, 4_000)
    return _grown("gates-plane", "gates, {} triangles", sizes, "100,000: 20 s, 3 GB, growth 1.2")


def _gates_space(full: bool) -> list[Timed]:
    return _grown("gates-space", "gates, n = 3, {} cells", (1_000, 10_000) if full else (100, 400), "10,000: 60 s")


def _univariate(full: bool) -> list[Timed]:
    if "univariate" not in CONSTRUCTIONS:
        return []
    sizes = (100_000, 1_000_000) if full else (1_000, 10_000)
    return _grown("univariate", "univariate, {} breakpoints", sizes, "1,000,000: 15 s")


def _hinge(full: bool) -> list[Timed]:
    w = 12 if full else 10
    made = run_apart("hinge", w)
    work = f"hinge, n = 50, {2**w:,} pieces, checked"
    return [_apart(work, made, made.get("error", ""), "4,096: 20 s")]


def _lattice(full: bool) -> list[Timed]:
    """The naive rows are extrapolated from some of their decisions."""
    p = delaunay(4, 24 if full else 4, 0)
    ours, floats = (
        _best(partial(compile, q, construction="lattice", check=False, precision="exact"), 1) for q in (p, noisy(p))
    )
    laws, rng = p.laws.coefficients()[:, 0], np.random.default_rng(0)
    some = rng.integers(p.num_pieces, size=(300, 2))
    began = perf_counter()
    for i, m in some:
        body = p.polyhedra[int(i)]
        is_above(laws[m] - laws[i], body.A, body.b)
    naive = (perf_counter() - began) / len(some) * p.num_pieces * p.num_components
    beside = "naive rows by linprog, from 300 of them"
    work = f"lattice, n = 4, {p.num_pieces:,} cells"
    return [Timed(work, ours, beside, naive, goal="500: ratio 50", floats=floats)]


def _exact_and_float(full: bool) -> list[Timed]:
    points = 2_499 if full else 499
    seconds = []
    for p in (delaunay(2, points, 0), rational_delaunay(points, 0)):
        began = perf_counter()
        compile(p, construction="gates", check=False, precision="exact")
        seconds.append(perf_counter() - began)
    work = f"gates, {2 * points + 2:,} triangles in floats"
    return [Timed(work, seconds[0], "the same in thousandths, exactly", seconds[1], goal="5,000: ratio at most 20")]


def _evaluate(full: bool) -> list[Timed]:
    """10,000 points, two threads each."""
    try:
        import torch

        from cpwl.io.torch import to_torch
    except ImportError:
        return [Timed("evaluating a network", None, note="PyTorch is not installed", goal="ratio 1")]
    rows, threads = [], torch.get_num_threads()
    torch.set_num_threads(2)
    for size in (300, 1_000) if full else (300,):
        network = compile(triangles(size), construction="gates", check=False, precision="exact").network
        x = np.random.default_rng(0).random((10_000, 2))
        module, tensor = to_torch(network).double(), torch.from_numpy(x)
        with torch.no_grad():
            dense = _best(lambda module=module, tensor=tensor: module(tensor))  # type: ignore[misc]
        ours = _best(lambda network=network, x=x: network(x))  # type: ignore[misc]
        work = f"evaluating {network.sizes.neurons:,} neurons, 10,000 points"
        rows.append(Timed(work, ours, "the same in dense float64 torch", dense, goal="ratio 1"))
    torch.set_num_threads(threads)
    return rows


def _locate(full: bool) -> list[Timed]:
    from scipy.interpolate import LinearNDInterpolator
    from scipy.spatial import Delaunay

    count, points = (100_000, 1_000_000) if full else (20_000, 200_000)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.random((count // 2 - 1, 2)), [[0, 0], [0, 1], [1, 0], [1, 1]]])
    mesh, values, y = Delaunay(x), rng.standard_normal(len(x)), rng.random((points, 2))
    p, other = CPWL.from_simplices(x, mesh.simplices, values), LinearNDInterpolator(mesh, values)
    ours, theirs = _best(lambda: p(y), 2), _best(lambda: other(y), 2)
    work = f"p(x), {count:,} triangles, {points:,} random points"
    return [Timed(work, ours, "scipy LinearNDInterpolator", theirs, goal="100,000, 10^6: ratio 1")]


def _import(_full: bool) -> list[Timed]:
    command = [sys.executable, "-c", "import cpwl"]
    seconds = _best(lambda: subprocess.run(command, check=True), 3)
    bare = _best(lambda: subprocess.run([sys.executable, "-c", ""], check=True), 3)
    return [Timed("import cpwl", seconds, "Python alone", bare, goal="0.3 s")]


def _best(work: Callable[[], Any], times: int = 5) -> float:
    """The least of several times."""
    found = []
    for _ in range(times):
        began = perf_counter()
        work()
        found.append(perf_counter() - began)
    return min(found)


# One function a row or a few; the name is for the progress bar.
_ROWS: tuple[tuple[str, Callable[[bool], list[Timed]]], ...] = (
    ("Algorithm 1", _algorithm1),
    ("Algorithm 1 in the plane", _algorithm1_plane),
    ("gates in the plane", _gates_plane),
    ("gates in space", _gates_space),
    ("univariate", _univariate),
    ("hinge", _hinge),
    ("lattice", _lattice),
    ("exact and float", _exact_and_float),
    ("evaluation", _evaluate),
    ("point location", _locate),
    ("import", _import),
)
