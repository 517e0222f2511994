"""The neurons of every construction and of "auto", beside what is proved that no network can have fewer than.

    python benchmarks/smallest.py [--only WORDS] [--full] [--auto] [--cases FOLDER] [--save FILE] [--before FILE]

`--only` takes families whose name has one of some words, separated by commas; `--full` adds those that take long.
With `--save` rows are added to a JSON file; docs/smallest.md shows `benchmarks/smallest.json`. `--auto` looks at "auto"
alone: run with the sources of another commit in PYTHONPATH, it saves the file that `--before` reads. Control laws are
read from FOLDER, as PPOPT wrote them; without it they are left out. "auto" must equal the smallest of all constructions
that are accurate enough, in every row.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from bench_functions import delaunay, grid, random_breakpoints, triangles
from cpwl import CPWL, Network, compile, extract, read
from cpwl.construct.table import TABLE
from cpwl.errors import InputError, LimitError

_FLOAT32 = {"precision": "float32"}
_CASES: Path | None = None


def sum_table(m: int, *, diagonal: bool = False, bumps: int = 0) -> CPWL:
    """f(x) + g(y), perhaps + h(x - y), perhaps with some values changed, on m x m boxes."""
    rng = np.random.default_rng(0)
    f, g, h = (rng.integers(-99, 100, k) for k in (m + 1, m + 1, 2 * m + 1))
    i, j = np.indices((m + 1, m + 1))
    values = f[i] + g[j] + (h[i - j + m] if diagonal else 0)
    for _ in range(bumps):
        values[tuple(rng.integers(1, m, 2))] += int(rng.integers(1, 99))
    return CPWL.from_grid([range(m + 1)] * 2, values.tolist())


def sum_in_space(m: int) -> CPWL:
    """f(x) + g(y, z) on m^3 boxes."""
    rng = np.random.default_rng(0)
    values = rng.integers(-99, 100, m + 1)[:, None, None] + rng.integers(-99, 100, (m + 1, m + 1))[None]
    return CPWL.from_grid([range(m + 1)] * 3, values.tolist())


def mirrored(k: int) -> CPWL:
    """Random values on (2 k + 1)^2 points, even in x and in y, and so are the diagonals of the boxes."""
    values, r = np.random.default_rng(0).integers(-99, 100, (k + 1, k + 1)), range(-k, k + 1)
    number = {at: n for n, at in enumerate((i, j) for i in r for j in r)}
    cells = []
    for i in r[:-1]:
        for j in r[:-1]:
            a, b, c, d = (number[at] for at in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
            cells += [[a, b, c], [a, d, c]] if (i >= 0) == (j >= 0) else [[b, a, d], [b, c, d]]
    return CPWL.from_simplices(list(number), cells, [int(values[abs(i), abs(j)]) for i, j in number])


def law(name: str) -> CPWL:
    """A control law, recomputed in rationals from the active sets in its file."""
    assert _CASES is not None
    return read(_CASES / f"{name}.json")


def pieces_of_network(widths: tuple[int, ...], box: tuple[int, int] | None) -> CPWL:
    """The pieces of a network with random weights, multiples of 1/64, on a box or on all of R^n."""
    rng = np.random.default_rng(10)
    shapes = zip(widths[1:], widths, strict=False)
    layers = [[np.round(rng.normal(size=size) * 64) / 64 for size in (shape, shape[0])] for shape in shapes]
    return extract(Network([(weight, bias) for weight, bias in layers]), exact=True, box=box)


Row = tuple[Callable[[], CPWL], dict[str, Any], bool]
FAMILIES: dict[str, Row] = {
    **{f"line, {m} breakpoints": (lambda m=m: random_breakpoints(m, 0), {}, m > 1_000) for m in (20, 100, 400, 10_000)},
    **{f"{m} x {m} grid": (lambda m=m: grid(2, m, 0), {}, m > 8) for m in (8, 32)},
    "3 x 3 x 3 grid": (lambda: grid(3, 3, 0), {}, False),
    "5 x 5 x 5 grid, float32": (lambda: grid(3, 5, 0), _FLOAT32, False),
    "2^4 grid": (lambda: grid(4, 2, 0), {}, False),
    "3^4 grid": (lambda: grid(4, 3, 0), {}, True),
    **{
        f"plane, {count:,} triangles": (lambda c=count: triangles(c), {}, count > 100) for count in (100, 1_000, 10_000)
    },
    **{
        f"{name}, {cells:,} cells": (lambda n=n, k=k: delaunay(n, k, 0), {}, cells > 200)
        for name, n, sizes in (
            ("space", 3, ((107, 19), (997, 160), (9_835, 1_500))),
            ("four inputs", 4, ((112, 4), (1_082, 50), (10_250, 400))),
        )
        for cells, k in sizes
    },
    **{f"sum f(x) + g(y), {m}": (lambda m=m: sum_table(m), {}, m > 28) for m in (28, 60, 100)},
    **{f"sum f + g + h(x - y), {m}": (lambda m=m: sum_table(m, diagonal=True), {}, m > 28) for m in (28, 60)},
    **{f"sum f + g + 5 bumps, {m}": (lambda m=m: sum_table(m, bumps=5), {}, m > 28) for m in (28, 60)},
    "sum f(x) + g(y, z), 7^3, float32": (lambda: sum_in_space(7), _FLOAT32, False),
    **{f"mirrored table, {8 * k * k} triangles": (lambda k=k: mirrored(k), {}, False) for k in (4, 8)},
    **{
        f"law {name}": (lambda name=name: law(name), {}, is_long)
        for name, is_long in (
            ("diU_N10", False),
            ("diU_N25", False),
            ("mi_N3", False),
            ("m2_N5", True),
            ("ti_N8", True),
            ("ms_N5", True),
            ("ti_N12", True),
        )
    },
    **{
        f"pieces of networks {'-'.join(map(str, widths))}, {'R^n' if box is None else 'box'}": (
            lambda widths=widths, box=box: pieces_of_network(widths, box),
            {},
            max(widths) > 8,
        )
        for widths in ((2, 8, 8, 1), (2, 6, 6, 2), (3, 5, 4, 1), (4, 4, 3, 1), (2, 16, 16, 1), (3, 10, 10, 1))
        for box in (None, (-1, 1))
    },
}
"""What is measured: the function, how it is compiled, and whether that takes a while."""


def measured(make: Callable[[], CPWL], options: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """The neurons of "auto", unless `alone` those of all constructions that are accurate enough, and the bounds."""
    p = make()
    with warnings.catch_warnings(action="ignore"):
        start = process_time()
        best = compile(p, **options)
        spent = process_time() - start
        found: dict[str, int] = {}
        limit = 1e-5 if options.get("precision") == "float32" else 1e-9
        for name in () if alone else TABLE:
            known = best.alternatives.get(name)
            if known is not None and known.reason.startswith("not planned: would take"):
                continue
            try:
                made = compile(p, construction=name, check=False, **options)  # type: ignore[arg-type]
            except (InputError, LimitError):
                continue
            if made.error <= limit:
                found[name] = made.sizes.neurons
    every = {bound.hidden_layers: bound for bound in reversed(best.lower_bounds)}
    least = {layers: bound.neurons for layers, bound in every.items()}
    at_depth = max(least.values())
    return {"auto": best.sizes.neurons, "of": best.construction, "found": found, "any": least[None], "depth": at_depth,
            "pieces": p.num_pieces, "seconds": round(spent, 1)}  # fmt: skip


HEAD = "| function | pieces | auto | before | others | at least: any depth, this depth | ratio |"


def line(name: str, row: dict[str, Any]) -> str:
    """A row of the table, as it is printed and as docs/smallest.md has it."""
    others = ", ".join(f"{c} {k:,}" for c, k in row["found"].items() if c != row["of"])
    earlier = f"{row['before']:,}" if "before" in row else "-"
    ratio = row["auto"] / max(1, row["depth"])
    cells = [name, f"{row['pieces']:,}", f"{row['of']} {row['auto']:,}", earlier, others]
    return "| " + " | ".join([*cells, f"{row['any']}, {row['depth']}", f"{ratio:.1f}"]) + " |"


def main() -> None:
    global _CASES
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--auto", action="store_true")
    for name in ("--cases", "--save", "--before"):
        parser.add_argument(name, type=Path)
    chosen = parser.parse_args()
    _CASES = chosen.cases
    before, saved = (
        json.loads(path.read_text("utf-8")) if path is not None and path.exists() else {}
        for path in (chosen.before, chosen.save)
    )
    words = chosen.only.split(",")
    print(HEAD + " s |\n" + "|---" * 8 + "|")
    for name, (make, options, is_long) in FAMILIES.items():
        wanted = any(word in name for word in words) and (chosen.full or not is_long)
        if not wanted or (name.startswith("law") and _CASES is None):
            continue
        row = measured(make, options, alone=chosen.auto)
        if name in before:
            row["before"] = before[name]["auto"]
        assert row["auto"] <= min(row["found"].values(), default=row["auto"]), name
        print(f"{line(name, row)} {row['seconds']} |", flush=True)
        saved[name] = row
        if chosen.save is not None:
            kept = {one: saved[one] for one in FAMILIES if one in saved}
            chosen.save.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
