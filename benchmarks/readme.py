"""The numbers in the tables of README.md: ``python benchmarks/readme.py`` writes benchmarks/readme.json and prints the
rows. `tests/docs/test_numbers.py` compares README.md with the file, and the file with the program.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import cpwl
from bench_functions import noisy
from bench_sizes import FAMILIES, measure_family
from cpwl import CPWL
from cpwl.function.answers import bound_text
from cpwl.show.bundled import bundled_examples
from floats import delaunay

__all__ = ["FILE", "FLOATS", "SIZES", "float_text", "measure_float", "measure_size", "size_text"]

FILE = Path(__file__).with_name("readme.json")
SIZES = {
    "one hidden layer, n = 10": "one hidden layer, n = 10, 32 pieces",
    "random triangulation of a square": "square, 86 triangles",
    "larger triangulation": "square, 606 triangles",
    "32 x 32 grid": "32 x 32 grid",
    "random triangulation of a cube": "cube, 27 points",
    "400 random breakpoints": "line, 400 breakpoints",
    "maximum of 20 planes": "convex, 20 planes",
    "explicit MPC law (bundled, floats)": "",
}
"""The rows of the first table, by family of `bench_sizes`; the last one is the control law of ``cpwl demo``."""
COLUMNS = ("hinge", "univariate", "gates", "strips", "lattice")
FLOATS = ("triangulation of a square", "triangulation of a cube", "12 x 12 grid", "saturation, 21 x 21 samples")
"""The rows of the second table."""


def measure_size(name: str) -> dict[str, Any]:
    """Pieces, neurons of Algorithm 1 and whether it is right, neurons by construction: of the first function."""
    if SIZES[name]:
        (family,) = (family for family in FAMILIES if family.name == SIZES[name])
        found = measure_family(family, 1)
        right = {"": None, "1/1": True, "0/1": False}[found.algorithm1_right]
        kept = {each: int(found.neurons[each]) for each in COLUMNS if each in found.neurons}
        return {"pieces": int(found.pieces), "algorithm 1": int(found.algorithm1 or 0), "right": right, **kept}
    (law,) = (each.function for each in bundled_examples() if each.slug == "mpc")
    sizes = {each: _neurons(law, each) for each in ("gates", "lattice")}
    return {"pieces": law.num_pieces, "algorithm 1": _neurons(law, "paper"), "right": True, **sizes}


def _neurons(p: CPWL, construction: Any) -> int:
    return cpwl.compile(p, construction=construction).sizes.neurons


def measure_float(name: str) -> dict[str, Any]:
    """Pieces, neurons of the exact function and of its float version, and the bound that was proved."""
    exact, data = _float_case(name)
    construction: Any = "gates" if "triangulation" in name else "auto"
    made = cpwl.compile(data, construction=construction)
    bound = cpwl.certify(data, made.network).error_bound
    assert not isinstance(bound, tuple)
    assert bound is not None
    known = cpwl.compile(exact, construction=construction, check=False).sizes.neurons
    return {"pieces": data.num_pieces, "exact": known, "floats": made.sizes.neurons, "bound": bound_text(bound)}


def _float_case(name: str) -> tuple[CPWL, CPWL]:
    if "triangulation" in name:
        exact = delaunay(2, 150) if "square" in name else delaunay(3, 55)
    elif "grid" in name:
        exact = CPWL.from_grid([range(12)] * 2, np.random.default_rng(0).integers(-9, 9, (12, 12)))
    else:
        axis = np.linspace(-1, 1, 21)
        law = CPWL.from_maxmin([[3, -3, 0], [0, 0, "6/5"], [0, 0, "-6/5"]], [[0, 1], [2]])
        return law, CPWL.from_grid([axis, axis], np.clip(0.3 * axis[:, None] - 0.3 * axis, -0.12, 0.12))
    return exact, noisy(exact)


def size_text(name: str, row: dict[str, Any]) -> str:
    """A row of the first table."""
    wrong = {False: ", wrong", None: ", not tested"}.get(row["right"], "")
    cells = [f"{row[each]:,}" if each in row else "" for each in COLUMNS]
    return f"| {name} | {row['pieces']:,} | {row['algorithm 1']:,}{wrong} | {' | '.join(cells)} |"


def float_text(name: str, row: dict[str, Any]) -> str:
    """A row of the second table."""
    return f"| {name} | {row['pieces']:,} | {row['exact']:,} | {row['floats']:,} | {row['bound']} |"


def main() -> None:
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, Any]] = {"sizes": {}, "floats": {}}
    for name in SIZES:
        found["sizes"][name] = measure_size(name)
        print(size_text(name, found["sizes"][name]), flush=True)
    for name in FLOATS:
        found["floats"][name] = measure_float(name)
        print(float_text(name, found["floats"][name]), flush=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
