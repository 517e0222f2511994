"""The neurons of every construction and of "auto", beside what is proved that no network can have fewer than.

    python benchmarks/smallest.py [--only WORDS] [--full] [--save FILE] [--before FILE]

`--only` takes families whose name has one of some words, separated by commas; `--save` writes the neurons of "auto" as
JSON, and `--before` prints those that were saved at another commit. "auto" must equal the smallest in every row.
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

from bench_functions import delaunay, grid, random_breakpoints
from cpwl import CPWL, Network, compile, extract
from cpwl.construct.table import TABLE
from cpwl.errors import InputError, LimitError

_FLOAT32 = {"precision": "float32"}


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


def pieces_of_network(widths: tuple[int, ...], box: tuple[int, int] | None) -> CPWL:
    """The pieces of a network with random weights, multiples of 1/64, on a box or on all of R^n."""
    rng = np.random.default_rng(10)
    shapes = zip(widths[1:], widths, strict=False)
    layers = [[np.round(rng.normal(size=size) * 64) / 64 for size in (shape, shape[0])] for shape in shapes]
    return extract(Network([(weight, bias) for weight, bias in layers]), exact=True, box=box)


Row = tuple[Callable[[], CPWL], dict[str, Any], bool]
FAMILIES: dict[str, Row] = {
    **{f"line, {m} breakpoints": (lambda m=m: random_breakpoints(m, 0), {}, m > 1_000) for m in (20, 100, 400, 10_000)},
    "8 x 8 grid": (lambda: grid(2, 8, 0), {}, False),
    "32 x 32 grid": (lambda: grid(2, 32, 0), {}, True),
    "5 x 5 x 5 grid, float32": (lambda: grid(3, 5, 0), _FLOAT32, False),
    "3^4 grid": (lambda: grid(4, 3, 0), {}, True),
    "plane, 86 triangles": (lambda: delaunay(2, 42, 0), {}, False),
    "plane, 1,000 triangles": (lambda: delaunay(2, 499, 0), {}, True),
    "space, 27 points": (lambda: delaunay(3, 19, 0), {}, False),
    "space, 100 points": (lambda: delaunay(3, 92, 0), {}, True),
    "four inputs, 24 points": (lambda: delaunay(4, 8, 0), {}, True),
    **{f"sum f(x) + g(y), {m}": (lambda m=m: sum_table(m), {}, m > 28) for m in (28, 60, 100)},
    **{f"sum f + g + h(x - y), {m}": (lambda m=m: sum_table(m, diagonal=True), {}, m > 28) for m in (28, 60)},
    **{f"sum f + g + 5 bumps, {m}": (lambda m=m: sum_table(m, bumps=5), {}, m > 28) for m in (28, 60)},
    "sum f(x) + g(y, z), 7^3, float32": (lambda: sum_in_space(7), _FLOAT32, False),
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


def measured(make: Callable[[], CPWL], options: dict[str, Any]) -> dict[str, Any]:
    """The neurons of "auto" and of all constructions that are accurate enough, and the bounds."""
    p = make()
    with warnings.catch_warnings(action="ignore"):
        start = process_time()
        best = compile(p, **options)
        spent = process_time() - start
        found: dict[str, int] = {}
        limit = 1e-5 if options.get("precision") == "float32" else 1e-9
        for name in TABLE:
            known = best.alternatives.get(name)
            if known is not None and known.reason.startswith("not planned"):
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
            "pieces": p.num_pieces, "seconds": spent}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--before", type=Path)
    chosen = parser.parse_args()
    before = {} if chosen.before is None else json.loads(chosen.before.read_text("utf-8"))
    words = chosen.only.split(",")
    print("| function | pieces | auto | before | others | at least: any depth, this depth | ratio | s |")
    print("|---|---|---|---|---|---|---|---|")
    saved = {}
    for name, (make, options, is_long) in FAMILIES.items():
        if not any(word in name for word in words) or (is_long and not chosen.full):
            continue
        row = measured(make, options)
        saved[name] = row["auto"]
        others = ", ".join(f"{c} {k:,}" for c, k in row["found"].items() if c != row["of"])
        assert row["auto"] <= min(row["found"].values(), default=row["auto"]), name
        ratio = row["auto"] / max(1, row["depth"])
        cells = [name, f"{row['pieces']:,}", f"{row['of']} {row['auto']:,}", before.get(name, ""), others]
        cells += [f"{row['any']}, {row['depth']}", f"{ratio:.1f}", f"{row['seconds']:.1f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    if chosen.save is not None:
        chosen.save.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
