"""Float data against the same function exact: pieces, neurons, seconds, and the bound that was proved.

    python benchmarks/floats.py [rows ..] [--full] [--cases FOLDER]

Rows: delaunay, hinges, networks, regions (of ten networks of each kind), grids, straight (lines that rounding
scattered), integers, decisions, rows (Algorithm 1 beside the naive program), cases. Noise is 1e-13, relative, on all
rows and laws. A proof is tried up to a few hundred pieces, or with `--full`. "least" is what no function at all can be
below: half of the largest difference of two pieces at a point that both have. Seconds are CPU seconds of this process;
they depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

import cpwl
from bench_functions import noisy
from cpwl import CPWL
from cpwl.function.jump import largest_jump
from cpwl.function.order import order_components
from run_times import run_time
from shallow import random_shallow

HEAD = (
    f"{'data':<34}{'pieces':>7}{'exact':>7}{'float':>7}{'snap s':>8}{'compile s':>10}{'proof s':>8}{'least':>9}  bound"
)


def least_error(data: CPWL) -> Fraction | None:
    """Half of the largest difference of two pieces at a point of both; None if none is known."""
    jump = largest_jump(data)
    return None if jump is None else jump.unavoidable


def row(name: str, data: CPWL, exact: CPWL | None, construction: str, prove: bool) -> None:
    """Measures and prints one row."""
    known = "-" if exact is None else str(cpwl.compile(exact, construction=construction, check=False).sizes.neurons)
    start = time.process_time()
    snapped = data.snap(data.tol) if data.tol else None
    snap = time.process_time() - start
    if snapped is not None and snapped.function is None:
        print(f"{name:<34}{data.num_pieces:>7}{known:>7}{'-':>7}{snap:>8.1f}  {snapped.reason[:90]}", flush=True)
        return
    start = time.process_time()
    made = cpwl.compile(data, construction=construction)
    compiled, start = time.process_time() - start, time.process_time()
    statement, least = "not tried", "-"
    if prove:
        certificate = cpwl.certify(data, made.network)
        statement = certificate.statement
    proof = time.process_time() - start
    if prove and (known_least := least_error(data)) is not None:
        least = f"{float(known_least):.1e}"
    times = f"{snap:>8.1f}{compiled:>10.1f}{proof:>8.1f}{least:>9}"
    print(f"{name:<34}{data.num_pieces:>7}{known:>7}{made.sizes.neurons:>7}{times}  {statement}", flush=True)


def delaunay(n: int, points: int, seed: int = 1) -> CPWL:
    """A table on the Delaunay triangulation of random points of a cube, with its corners."""
    rng, grid = np.random.default_rng(seed), 10**6
    corners = np.array(np.meshgrid(*[[0, grid]] * n)).reshape(n, -1).T
    places = np.unique(np.vstack([corners, rng.integers(0, grid, (points, n))]), axis=0)
    cells = Delaunay(places).simplices
    solid = np.abs(np.linalg.det((places[cells][:, 1:] - places[cells][:, :1]) / grid)) > 1e-15
    values = [Fraction(int(v), 1000) for v in rng.integers(-1000, 1000, len(places))]
    return CPWL.from_simplices([[Fraction(int(v), grid) for v in x] for x in places], cells[solid], values)


def delaunay_rows(full: bool, _: Path | None) -> Iterator[None]:
    sizes = [(2, 150, True), (2, 500, full), (3, 26, True), (3, 55, full)] + (
        [(2, 5000, False), (3, 160, False)] if full else []
    )
    for n, points, prove in sizes:
        p = delaunay(n, points)
        yield row(f"Delaunay as half-spaces, n = {n}", noisy(p), p, "gates", prove)


def hinge_rows(full: bool, _: Path | None) -> Iterator[None]:
    for n, count in ((2, 6), (3, 5), (10, 5), (40, 5)):
        p = random_shallow(n, count, 0)
        yield row(f"one hidden layer on R^{n}", noisy(p), p, "hinge", n <= 10 or full)


def network_rows(full: bool, _: Path | None) -> Iterator[None]:
    for n, widths in ((2, (6, 4)), (2, (10, 8)), (3, (5, 4))):
        rng, size, layers = np.random.default_rng(1), n, []
        for width in widths:
            layers.append((rng.integers(-8, 9, (width, size)) / 4, rng.integers(-8, 9, width) / 8))
            size = width
        layers.append((rng.integers(-8, 9, (1, size)) / 4, np.zeros(1)))
        box = (np.vstack([np.eye(n), -np.eye(n)]), np.ones(2 * n))
        p = cpwl.extract(cpwl.Network(layers), domain=box, exact=True)
        yield row(
            f"network {n}-{'-'.join(map(str, widths))}-1 on a box", noisy(p), p, "gates", full or p.num_pieces < 60
        )


def region_rows(full: bool, _: Path | None) -> Iterator[None]:
    """Regions of random networks, ten of each kind: how each was made exact, with how many laws more, in what time."""
    kinds: list[tuple[int, tuple[int, ...], int, float | None, bool]] = [
        (2, (16, 12), 1, 2.0, False),
        (2, (14, 10), 2, 2.0, False),
        (2, (10, 8), 1, None, False),
        (2, (8, 6, 5), 1, None, False),
        (3, (7, 6), 1, 2.0, False),
        (3, (6, 4), 1, None, False),
        (3, (6, 6), 1, 1.0, True),
        (2, (8, 6), 1, None, True),
    ]
    for n, widths, outputs, box, small in kinds:
        ways, more, times, counts = Counter[str](), 0, [], []
        for seed in range(10 if full else 3):
            p = network_regions(n, (*widths, outputs), box, small, seed)
            start = time.process_time()
            found = noisy(p).snap(1e-9)
            times.append(time.process_time() - start)
            ways[found.way or "refused"] += 1
            counts.append(p.num_pieces)
            more = max(more, 0 if found.function is None else found.function.num_components - p.num_components)
        name = f"regions of {n}-{'-'.join(map(str, (*widths, outputs)))}{', small numbers' if small else ''}"
        where = "everywhere" if box is None else "in a box"
        how = ", ".join(f"{way} {count}" for way, count in ways.most_common())
        print(f"{name} {where}: {min(counts)}-{max(counts)} pieces; {how}; ", end="")
        yield print(f"at most {more} laws more; snap {max(times):.1f} s of processor time at most", flush=True)


def network_regions(n: int, widths: tuple[int, ...], box: float | None, small: bool, seed: int) -> CPWL:
    """The regions of a network with random weights of 24 bits, or with small multiples of 1/4 and 1/8."""
    rng, size, layers = np.random.default_rng(seed), n, []
    for width in widths:
        if small:
            layers.append((rng.integers(-8, 9, (width, size)) / 4, rng.integers(-8, 9, width) / 8))
        else:
            weights = (rng.standard_normal((width, size)) / np.sqrt(size)).astype(np.float32).astype(np.float64)
            layers.append((weights, rng.standard_normal(width).astype(np.float32) / 2.0))
        size = width
    domain = None if box is None else (np.vstack([np.eye(n), -np.eye(n)]), np.full(2 * n, box))
    return cpwl.extract(cpwl.Network(layers), domain=domain, exact=True)


def grid_rows(full: bool, _: Path | None) -> Iterator[None]:
    for shape in ((25, 25), (11, 11, 11), *([(101, 101)] if full else [])):
        values = np.random.default_rng(0).standard_normal(shape)
        p = CPWL.from_grid([np.linspace(0, 1, size) for size in shape], values)
        even = CPWL.from_grid([range(size) for size in shape], values)
        yield row(f"linspace {' x '.join(str(size - 1) for size in shape)}", p, even, "auto", full or len(shape) == 2)


def straight_rows(_: bool, __: Path | None) -> Iterator[None]:
    """Lines that rounding scattered: a noisy grid, a turned one, a polygon with subdivided sides, and samples."""
    rng, size = np.random.default_rng(0), 12
    values = rng.integers(-9, 9, (size, size))
    grid = CPWL.from_grid([range(size)] * 2, values)
    yield row("12 x 12 grid as half-spaces", noisy(grid), grid, "auto", True)
    turn = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    assert grid.mesh is not None
    turned = CPWL.from_simplices(grid.mesh.points @ turn, grid.mesh.simplices, grid.mesh.values)
    yield row("12 x 12 grid, turned", turned, grid, "auto", True)
    angle = np.arange(7) * 2 * np.pi / 7
    corner = np.column_stack([np.cos(angle), np.sin(angle)])
    share = np.linspace(0, 1, 9)[:-1, None]
    rim = np.concatenate([one + share * (two - one) for one, two in zip(corner, np.roll(corner, -1, 0), strict=True)])
    points = np.concatenate([rim, rng.uniform(-0.6, 0.6, (60, 2))])
    cells = Delaunay(points).simplices
    solid = np.abs(np.linalg.det(points[cells][:, 1:] - points[cells][:, :1])) > 1e-12
    mesh = CPWL.from_simplices(points, cells[solid], rng.random(len(points)))
    yield row("heptagon, sides in 8 parts", mesh, None, "auto", True)
    axis = np.linspace(-1, 1, 21)
    samples = CPWL.from_grid([axis, axis], np.clip(0.3 * axis[:, None] - 0.3 * axis, -0.12, 0.12))
    law = CPWL.from_maxmin([[3, -3, 0], [0, 0, "6/5"], [0, 0, "-6/5"]], [[0, 1], [2]])
    yield row("saturation, 21 x 21 samples", samples, law, "auto", True)


def decision_rows(_: bool, __: Path | None) -> Iterator[None]:
    """Doctor, order, merge, snap and compile of 1,000 float pieces in the plane."""
    data = noisy(delaunay(2, 500))
    steps: dict[str, Callable[[], object]] = {
        "doctor": data.doctor,
        "order": lambda: order_components(data, 0),
        "merge": data.merge,
        "snap": lambda: data.snap(data.tol),
        "compile": lambda: cpwl.compile(data, construction="gates"),
    }
    total = 0.0
    for name, step in steps.items():
        start = time.process_time()
        step()
        total += time.process_time() - start
        print(f"{data.num_pieces} pieces: {name} {time.process_time() - start:.2f} s", flush=True)
    yield print(f"{data.num_pieces} pieces: {total:.1f} s in all, of processor time", flush=True)


def algorithm_rows(_: bool, __: Path | None) -> Iterator[None]:
    """Algorithm 1 on float data, beside the naive program."""
    for n in (10, 100):
        times = [run_time(noisy(random_shallow(n, 5, seed))) for seed in range(3)]
        ours, naive = (sum(column) / len(times) for column in zip(*times, strict=True))
        yield print(f"Algorithm 1, R^{n}, 32 float pieces: {ours:.3f} s, naive {naive:.1f} s, {naive / ours:.0f} times")


def integer_rows(_: bool, __: Path | None) -> Iterator[None]:
    A = [
        [[1.0, 0]],
        [[-1.0, 0], [1, -1], [0, -1]],
        [[-1.0, 0], [1, 1], [0, 1]],
        [[-1.0, 1], [0, -1]],
        [[-1.0, -1], [0, 1]],
    ]
    b = [[0.0], [0.0, 1, 0], [0.0, 1, 0], [-1.0, 0], [-1.0, 0]]
    p = CPWL.from_pieces(A, b, [[0.0, 0], [0, 0], [0, 0], [-1, 1], [-1, -1]], [0.0, 0, 0, 1, 1])
    yield row("integers in floats, on R^2", p, p.snap().function, "gates", True)


def case_rows(full: bool, folder: Path | None) -> Iterator[None]:
    """Explicit control laws in JSON: the project's own format, or a list of `pieces` with A, b, F, g."""
    for path in sorted(folder.rglob("*.json")) if folder is not None else []:
        document = json.loads(path.read_text("utf-8"))
        if document.get("format") == "cpwl":
            p = cpwl.read(path)
        else:
            pieces = document["pieces"]
            p = CPWL.from_pieces(*([np.array(piece[key]) for piece in pieces] for key in "AbFg"))
        yield row(path.stem, p, None, "gates", full or p.num_pieces < 120)


ROWS: dict[str, Callable[[bool, Path | None], Iterator[None]]] = {
    "delaunay": delaunay_rows,
    "hinges": hinge_rows,
    "networks": network_rows,
    "regions": region_rows,
    "grids": grid_rows,
    "straight": straight_rows,
    "integers": integer_rows,
    "decisions": decision_rows,
    "rows": algorithm_rows,
    "cases": case_rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], default=[])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--cases", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", cpwl.CpwlWarning)
    print(HEAD)
    for name in options.rows or ROWS:
        try:
            for _ in ROWS[name](options.full, options.cases):
                pass
        except cpwl.CpwlError as error:
            print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()
