"""The neurons of every construction and of "auto", beside what is proved that no network can have fewer than.

    python benchmarks/smallest.py [--only WORDS] [--full] [--auto] [--effort NUMBER] [--limit SECONDS]
                                  [--cases FOLDER] [--save FILE] [--before FILE] [--show]

`--only` takes families whose name has one of some words, separated by commas; `--full` adds those that take long.
With `--save` rows are added to a JSON file; `--show` prints the table of `benchmarks/smallest.json`, which is that of
docs/smallest.md. `--auto` looks at "auto"
alone: run with the sources of another commit in PYTHONPATH, it saves the file that `--before` reads. A row that takes
longer than the limit is left out. Control laws are read from FOLDER, as PPOPT wrote them; without it they are left out.
"auto" must equal the smallest of all constructions that are accurate enough, in every row. Constructions that "auto"
planned have the size of their plan; "at least N" is the proved lower bound by which one was ruled out. Lattices
whose search "auto" did not make are searched here. `--effort` lets "auto" search for fewer neurons.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from bench_functions import delaunay, grid, random_breakpoints, triangles
from cpwl import CPWL, Compiled, Network, compile, extract, read
from cpwl.construct.table import TABLE
from cpwl.errors import InputError, LimitError

_FLOAT32 = {"precision": "float32"}
_CASES: Path | None = None
_PIECES = 300  # up to which constructions that "auto" ruled out are planned all the same


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


_WIDTHS = (
    (2, 8, 8, 1), (2, 6, 6, 2), (3, 5, 4, 1), (4, 4, 3, 1), (2, 16, 16, 1), (3, 10, 10, 1), (2, 8, 8, 8, 1),
    (3, 5, 4, 4, 1),
)  # fmt: skip
Row = tuple[Callable[[], CPWL], dict[str, Any], bool]
FAMILIES: dict[str, Row] = {
    **{f"line, {m} breakpoints": (lambda m=m: random_breakpoints(m, 0), {}, m > 1_000) for m in (20, 100, 400, 10_000)},
    **{f"{m} x {m} grid": (lambda m=m: grid(2, m, 0), {}, m > 8) for m in (8, 32)},
    "3 x 3 x 3 grid": (lambda: grid(3, 3, 0), {}, False),
    "5 x 5 x 5 grid, float32": (lambda: grid(3, 5, 0), _FLOAT32, False),
    "2^4 grid": (lambda: grid(4, 2, 0), {}, False),
    "3^4 grid": (lambda: grid(4, 3, 0), {}, True),
    **{
        f"plane, {count:,} triangles": (lambda c=count: triangles(c), {}, count > 100)
        for count in (100, 1_000, 2_000, 10_000)
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
        for widths in _WIDTHS
        for box in (None, (-1, 1))
    },
}
"""What is measured: the function, how it is compiled, and whether that takes a while."""


def measured(name: str, alone: bool = False, effort: float = 0.0) -> dict[str, Any]:
    """The neurons of "auto", unless `alone` those of all constructions that are accurate enough, and the bounds."""
    make, options, _ = FAMILIES[name]
    p = make()
    with warnings.catch_warnings(action="ignore"):
        start = process_time()
        best = compile(p, effort=effort, **options)
        spent = process_time() - start
        row = {"auto": best.sizes.neurons, "of": best.construction, "pieces": p.num_pieces, "seconds": round(spent, 1)}
        if alone:
            return {**row, "found": {}, "any": 0, "depth": 0}
        found = {name: others(p, name, best, options) for name in TABLE if name != best.construction}
    every = {bound.hidden_layers: bound.neurons for bound in reversed(best.lower_bounds)}
    return {**row, "found": {name: size for name, size in found.items() if size is not None},
            "any": every[None], "depth": max(every.values())}  # fmt: skip


def others(p: CPWL, name: str, best: Compiled, options: dict[str, Any]) -> int | str | None:
    """The neurons of another construction, or "at least N" where it was ruled out and planning it takes long.

    None where it does not apply, is not accurate enough, or would take too long.
    """
    limit = 1e-5 if options.get("precision") == "float32" else 1e-9
    known = best.alternatives[name]
    if known.neurons is not None:
        return known.neurons if known.valid is not False and (known.error or 0.0) <= limit else None
    ruled_out = re.match("not planned: (at least [0-9,]+)", known.reason)
    if ruled_out is None and "would take a search" not in known.reason:
        return None
    if ruled_out is not None and p.num_pieces > _PIECES:
        return ruled_out[1]
    try:
        made = compile(p, construction=name, check=False, **options)  # type: ignore[arg-type]
    except (InputError, LimitError):
        return None
    return made.sizes.neurons if made.error <= limit else None


def least(row: dict[str, Any]) -> int:
    """The fewest neurons that any construction has, or is proved to have at least."""
    sizes = [int(str(size).removeprefix("at least ").replace(",", "")) for size in row["found"].values()]
    return min([row["auto"], *sizes])


FILE = Path(__file__).parent / "smallest.json"


def table(rows: dict[str, dict[str, Any]]) -> str:
    """The table of docs/smallest.md."""
    return "\n".join([HEAD, "|---" * 7 + "|", *(line(name, row) for name, row in rows.items())])


HEAD = "| function | pieces | auto | before | others | at least: any depth, this depth | ratio |"


def line(name: str, row: dict[str, Any]) -> str:
    """A row of the table, as it is printed and as docs/smallest.md has it."""
    found = ", ".join(f"{c} {k if isinstance(k, str) else format(k, ',')}" for c, k in row["found"].items())
    earlier = f"{row['before']:,}" if "before" in row else "-"
    ratio = row["auto"] / max(1, row["depth"])
    cells = [name, f"{row['pieces']:,}", f"{row['of']} {row['auto']:,}", earlier, found]
    return "| " + " | ".join([*cells, f"{row['any']:,}, {row['depth']:,}", f"{ratio:.1f}"]) + " |"


def limited(name: str, alone: bool, effort: float, seconds: int) -> dict[str, Any] | None:
    """A row, measured by a process of its own; None if that takes more than so many seconds."""
    limits = (resource.RLIMIT_CPU, (seconds, seconds + 1))
    with ProcessPoolExecutor(1, get_context("fork"), resource.setrlimit, limits) as pool:
        try:
            return pool.submit(measured, name, alone, effort).result()
        except (BrokenExecutor, LimitError) as error:
            print(f"{name}: no result in {seconds} s ({type(error).__name__})", flush=True)
            return None


def main() -> None:
    global _CASES
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--effort", type=float, default=0.0)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--limit", type=int, default=600)
    for name in ("--cases", "--save", "--before"):
        parser.add_argument(name, type=Path)
    chosen = parser.parse_args()
    _CASES = chosen.cases
    before, saved = (
        json.loads(path.read_text("utf-8")) if path is not None and path.exists() else {}
        for path in (chosen.before, chosen.save)
    )
    if chosen.show:
        print(table(json.loads(FILE.read_text("utf-8"))))
        return
    words = chosen.only.split(",")
    print(HEAD + " s |\n" + "|---" * 8 + "|")
    for name, (_, _, is_long) in FAMILIES.items():
        wanted = any(word in name for word in words) and (chosen.full or not is_long)
        if not wanted or (name.startswith("law") and _CASES is None):
            continue
        row = limited(name, chosen.auto, chosen.effort, chosen.limit)
        if row is None:
            continue
        earlier = before[name]["auto"] if name in before else saved.get(name, {}).get("before")
        if earlier is not None:
            row["before"] = earlier
        print(f"{line(name, row)} {row['seconds']} |", flush=True)
        assert row["auto"] == least(row), name
        saved[name] = row
        if chosen.save is not None:
            kept = {one: saved[one] for one in FAMILIES if one in saved}
            chosen.save.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
