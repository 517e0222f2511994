"""How the cost of each step grows with the size of the function: CPU seconds, memory, and exponents.

``python benchmarks/growth.py`` prints one table for each family of functions: what it takes to make a function, to
compile it, to certify the network (the check included) and to check the proof alone, with the exponent between
neighbouring sizes, ``log(t2 / t1) / log(q2 / q1)``. Sizes double or triple up to those that the project wants to be
usable. ``--small`` takes the first three sizes of each family; ``--family NAME`` one family. Each size runs in a
process of its own, which has a peak of memory of its own; beyond 4 GB or ``--limit`` seconds of CPU it is ended and
marked, and no larger size of that family is tried. Neither is one that will take longer by the exponents so far.
``--before FOLDER`` measures the package of another checkout, such as that of a release, in the same run. ``--keep``
writes what was measured into growth.json beside this file, and ``--show`` prints that file as the tables of
docs/growth.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

__all__ = ["FAMILIES", "FILE", "expected", "exponents", "main", "measure", "shown", "table"]

SECONDS, BYTES = 60, 4 << 30  # beyond these a size is marked, and larger ones are not tried
STEPS = ("make", "compile", "certify", "check")
FILE = Path(__file__).with_suffix(".json")


# Families: from a size to a function that makes one of about so many pieces.

Maker = Callable[[], Any]


def _simplices(n: int) -> Callable[[int], Maker]:
    """A Delaunay table of random integer points in a box, with integer values."""

    def of_size(size: int) -> Maker:
        from scipy.spatial import Delaunay

        from cpwl import CPWL

        rng = np.random.default_rng(0)
        count = max(4, round(size / {1: 1, 2: 2, 3: 6.5, 4: 26}[n]))
        corners = np.stack(np.meshgrid(*[[0, 1000]] * n), axis=-1).reshape(-1, n)
        points = np.unique(np.concatenate([rng.integers(1, 1000, (count, n)), corners]), axis=0)
        simplices, values = Delaunay(points).simplices, rng.integers(-50, 51, len(points))
        return lambda: CPWL.from_simplices(points.tolist(), simplices.tolist(), values.tolist())

    return of_size


def _grid(n: int) -> Callable[[int], Maker]:
    """A table on a grid with `size` points along each axis."""

    def of_size(size: int) -> Maker:
        from cpwl import CPWL

        values = np.random.default_rng(0).integers(-50, 51, (size,) * n)
        return lambda: CPWL.from_grid([list(range(size))] * n, values.tolist())

    return of_size


def _breakpoints(size: int) -> Maker:
    from cpwl import CPWL

    values = np.random.default_rng(0).integers(-50, 51, size)
    return lambda: CPWL.from_breakpoints(list(range(size)), values.tolist())


def _float_pieces(n: int) -> Callable[[int], Maker]:
    """The pieces of a table as half-spaces in floats."""

    def of_size(size: int) -> Maker:
        from cpwl import CPWL

        p = _simplices(n)(size)()
        rows = [slice(*p.polyhedra.start[i : i + 2]) for i in range(p.num_pieces)]
        A, b = [p.polyhedra.A[r] for r in rows], [p.polyhedra.b[r] for r in rows]
        return lambda: CPWL.from_pieces(A, b, p.laws.gradient[:, 0], p.laws.offset[:, 0])

    return of_size


def _maximum(n: int) -> Callable[[int], Maker]:
    """The maximum of tangents of a paraboloid: one piece each."""

    def of_size(size: int) -> Maker:
        from cpwl import CPWL

        slopes = np.random.default_rng(0).integers(-50, 51, (size, n))
        laws = np.column_stack([2 * slopes, -(slopes**2).sum(axis=1)]).tolist()
        return lambda: CPWL.from_maxmin(laws, [[k] for k in range(size)])

    return of_size


def _network(inputs: int, layers: int) -> Callable[[int], Maker]:
    """What a random network with short weights computes; the size is the width of its layers."""

    def of_size(size: int) -> Maker:
        from cpwl import Network, extract

        rng, widths = np.random.default_rng(0), [inputs, *[size] * layers, 1]

        def short(rows: int, columns: int) -> list[list[Fraction]]:
            return [[Fraction(int(v), 8) for v in row] for row in rng.integers(-8, 9, (rows, columns)).tolist()]

        network = Network([(short(b, a), short(1, b)[0]) for a, b in pairwise(widths)])
        return lambda: extract(network)

    return of_size


def _half_spaces(size: int) -> Maker:
    """The pieces of one hidden layer on a box in space, by their half-spaces alone, as a file has them."""
    from cpwl import Network, extract

    rng = np.random.default_rng(1)
    weight, bias = rng.integers(-8, 9, (size, 3)).tolist(), rng.integers(-12, 13, size).tolist()
    p = extract(Network([(weight, bias), ([rng.integers(1, 9, size).tolist()], [0])]), box=([-4] * 3, [4] * 3))
    return lambda: replace(p, known=None)


def _control_law(side: int) -> Callable[[int], Maker]:
    """The law of a triple integrator with so many steps ahead, for states of at most `side`."""

    def of_size(steps: int) -> Maker:
        import cpwl
        from solve import integrator

        planned = integrator(3, steps, u=(-1, 1), terminal=None, x0=(-side, side))
        return lambda: cpwl.solve_mpqp(planned.program, outputs=slice(0, planned.inputs))

    return of_size


FAMILIES: dict[str, tuple[Callable[[int], Maker], tuple[int, ...]]] = {
    "breakpoints": (_breakpoints, (1_000, 3_000, 10_000, 30_000, 100_000)),
    "triangles": (_simplices(2), (300, 1_000, 3_000, 10_000, 30_000)),
    "tetrahedra": (_simplices(3), (100, 300, 1_000, 3_000, 10_000)),
    "4-simplices": (_simplices(4), (100, 300, 700, 2_000)),
    "grid in the plane": (_grid(2), (16, 32, 64, 128)),
    "grid in space": (_grid(3), (5, 8, 12, 20)),
    "grid in R^4": (_grid(4), (3, 4, 6)),
    "float pieces in the plane": (_float_pieces(2), (100, 300, 1_000, 3_000)),
    "float pieces in space": (_float_pieces(3), (100, 300, 1_000)),
    "half-spaces in space": (_half_spaces, (8, 12, 18, 25)),
    "maximum in the plane": (_maximum(2), (30, 100, 300)),
    "maximum in R^10": (_maximum(10), (10, 20, 40)),
    "control law of 3 states": (_control_law(4), (3, 5, 12, 20, 30)),
    "control law on a wide box": (_control_law(8), (3, 5, 8, 12, 18, 24)),
    "network of 2 inputs": (_network(2, 2), (6, 12, 24)),
    "network of 6 inputs": (_network(6, 1), (8, 10, 12)),
}


# One size in a process of its own.


def measure(family: str, size: int, limit: int) -> None:
    """Print one line of JSON after each step: its CPU seconds, and the peak of memory so far."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * BYTES, 2 * BYTES))  # what is reserved is more than what is used
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    from cpwl import certify, compile

    settle: Any = None
    with suppress(ImportError):  # releases before 0.2 have no such function
        from cpwl.proofs.kinds import settle
    make = FAMILIES[family][0](size)
    found: dict[str, Any] = {}

    def timed(step: str, work: Callable[[], Any], **more: Callable[[Any], Any]) -> Any:
        began = process_time()
        result = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        found.update({name: say(result) for name, say in more.items()})
        print(json.dumps(found | {"step": step, "seconds": process_time() - began, "peak": peak}), flush=True)
        return result

    p = timed("make", make, pieces=lambda p: p.num_pieces)
    made = timed(
        "compile", lambda: compile(p), neurons=lambda m: m.sizes.neurons, construction=lambda m: m.construction
    )
    proof = timed("certify", lambda: certify(p, made.network), proved=lambda c: c.proved)
    if proof.document is not None and settle is not None:
        from cpwl.documents.write import function_document, network_document

        files = function_document(p), network_document(made.network), proof.document
        timed("check", lambda: settle(*files, None))


def _apart(family: str, size: int, src: str | None, limit: int) -> dict[str, Any]:
    """What one size took, step by step, and where it was ended."""
    folder = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join(filter(None, [src, folder, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, os.path.abspath(__file__), "--one", family, str(size), str(limit)]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    result: dict[str, Any] = {"size": size, "ended": done.returncode != 0}
    for line in lines:
        result |= {key: value for key, value in line.items() if key not in ("step", "seconds", "peak")}
        result[line["step"]], result["peak"] = round(line["seconds"], 3), line["peak"]
    result["beyond"] = result["ended"] or result.get("peak", 0) > BYTES
    if done.returncode:
        result["why"] = (done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"])[-1][:100]
    return result


# Tables.


def exponents(sizes: list[float], seconds: list[float | None]) -> list[float | None]:
    """Between neighbours ``log(t2 / t1) / log(q2 / q1)``; None for the first, and where one took no time.

    >>> exponents([100, 200, 400], [1.0, 2.0, 8.0])
    [None, 1.0, 2.0]
    """
    found: list[float | None] = [None]
    for (q1, t1), (q2, t2) in pairwise(zip(sizes, seconds, strict=True)):
        known = t1 and t2 and t1 > 0.02 and q2 > q1  # less is the clock, or what is done once
        found.append(round(math.log(t2 / t1) / math.log(q2 / q1), 2) if known and t1 and t2 else None)
    return found


def expected(rows: list[dict[str, Any]], size: int) -> float:
    """The seconds that a size will take if all steps grow as between the last two; 0 if fewer are known.

    >>> expected([{"size": 10, "make": 1.0}, {"size": 20, "make": 4.0}], 40)
    16.0
    """
    if len(rows) < 2:
        return 0.0
    before, last = rows[-2:]
    one, two = (sum(row.get(step, 0.0) for step in STEPS) for row in (before, last))
    power = math.log(two / one) / math.log(last["size"] / before["size"]) if one > 0 and two > 0 else 0.0
    return float(two * (size / last["size"]) ** power)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows of one family as text: seconds with exponents, and a mark where a limit was reached.

    On the right, where it was measured, what compiling and certifying took in the other checkout.
    """
    sizes = [float(row.get("pieces", row["size"])) for row in rows]
    grown = {step: exponents(sizes, [row.get(step) for row in rows]) for step in STEPS}
    beside = any("before" in row for row in rows)
    lines = [
        f"{'pieces':>9} {'neurons':>9} {'construction':>13} "
        + " ".join(f"{step:>16}" for step in STEPS)
        + "    GB"
        + (f" {'compile before':>16} {'certify before':>16}" if beside else "")
    ]
    for k, row in enumerate(rows):
        cells = []
        for step in STEPS:
            seconds, power = row.get(step), grown[step][k]
            cells.append(("-" if seconds is None else f"{seconds:.2f} s") + (f" ({power:.1f})" if power else ""))
        mark = f"  BEYOND {row.get('limit', SECONDS)} s or 4 GB {row.get('why', '')}" if row["beyond"] else ""
        peak = f"{row.get('peak', 0) / 2**30:.2f}"
        head = (
            f"{row.get('pieces', row['size']):>9,} {row.get('neurons', '-')!s:>9} {row.get('construction', '-'):>13} "
        )
        other = "".join(f" {_told(row.get('before'), step):>16}" for step in ("compile", "certify") if beside)
        lines.append(head + " ".join(f"{cell:>16}" for cell in cells) + f" {peak:>5}{other}{mark}")
    return "\n".join(lines)


def _told(row: dict[str, Any] | None, step: str) -> str:
    """What a step took in the other checkout: seconds, beyond the limit, or nothing where it was not reached."""
    if row is None or (step not in row and not row["beyond"]):
        return "-"
    return f"{row[step]:.2f} s" if step in row else "beyond"


def shown(kept: dict[str, list[dict[str, Any]]]) -> str:
    """All tables of a file, as in the documentation."""
    return "\n\n".join(f"{name}\n{table(kept[name])}" for name in FAMILIES if name in kept)


def _measured(rows: list[dict[str, Any]], name: str, size: int, src: str | None, limit: int) -> dict[str, Any]:
    """What a size takes after those in `rows`; it is not begun where these say that it would take too long."""
    if (seconds := expected(rows, size)) > limit:
        why = f"size {size:,} was not run: it will take about {seconds:.0f} s"
        return {"size": size, "beyond": True, "why": why, "limit": limit}
    return {"limit": limit} | _apart(name, size, src, limit)


def main(arguments: list[str] | None = None) -> None:
    """Measure all families, or some."""
    parser = argparse.ArgumentParser(description="How CPU seconds and memory grow with the size of the function.")
    parser.add_argument("--small", action="store_true", help="only the first three sizes of each family")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append", help="only this family; may be repeated")
    parser.add_argument("--sizes", type=int, nargs="+", help="these sizes instead")
    parser.add_argument("--before", metavar="FOLDER", help="also measure the package in this folder, a checkout's src")
    parser.add_argument("--limit", type=int, default=SECONDS, help="seconds of CPU for one size (%(default)s)")
    parser.add_argument("--keep", action="store_true", help="write what was measured into growth.json")
    parser.add_argument("--show", action="store_true", help="print growth.json and measure nothing")
    parser.add_argument("--one", nargs=3, metavar=("FAMILY", "SIZE", "LIMIT"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    kept = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    if given.one:
        measure(given.one[0], int(given.one[1]), int(given.one[2]))
        return
    if given.show:
        print(shown(kept))
        return
    for name in given.family or FAMILIES:
        rows: list[dict[str, Any]] = []
        old: list[dict[str, Any]] = []
        print(f"\n{name}", flush=True)
        for size in given.sizes or FAMILIES[name][1][: 3 if given.small else None]:
            rows.append(_measured(rows, name, size, None, given.limit))
            if given.before:
                ended = bool(old) and old[-1]["beyond"]
                none: dict[str, Any] = {"size": size, "beyond": True}
                old.append(none if ended else _measured(old, name, size, given.before, given.limit))
                rows[-1]["before"] = old[-1]
            lines = table(rows).split("\n")
            print("\n".join(lines if len(rows) == 1 else lines[-1:]), flush=True)
            if rows[-1]["beyond"]:
                break
        if given.keep:
            kept = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
            kept[name] = rows
            FILE.write_text(json.dumps({key: kept[key] for key in FAMILIES if key in kept}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
