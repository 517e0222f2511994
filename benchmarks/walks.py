"""How far data walks through the house: ``python benchmarks/walks.py``.

Each step is run once, with every module loaded. Printed are the files with a function that ran, the switches (changes
of the folder directly in the package from one newly visited function to the next), the functions that ran, and what
was computed more than once. `tests/docs/test_walks.py` compares with ARCHITECTURE.md.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import Delaunay

import cpwl

ROOT = Path(cpwl.__file__).parent
CHECKER = ("cpwl_check",)
ONCE = {
    "bends in the plane": "find_bends",
    "neighbours": "neighbours",
    "sample points": "sample",
    "exact function": "exact_function",
    "interior points": "Probe.interior",
    "doctor": "examine",
    "orders": "order_components",
    "box": "box_of",
}
POINTS = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1], [0.5, 1.25], [1.5, 0.75], [1.25, 1.5]]
VALUES = [0, 1, -1, 2, 3, 0.5, -2, 1]


class Walk(NamedTuple):
    """Files with a function that ran, switches of folder, functions that ran, and what was computed more than once."""

    files: int
    switches: int
    functions: int
    again: list[str]


def walk(step: Callable[[], Any]) -> tuple[Any, Walk]:
    """What the step returns, and how it walked."""
    seen: set[Any] = set()
    files: list[Path] = []
    calls: Counter[str] = Counter()

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(ROOT)) or code.co_name == "<module>":
            return
        calls[code.co_qualname] += 1
        if code not in seen:
            seen.add(code)
            files.append(Path(code.co_filename))

    sys.setprofile(look)
    try:
        result = step()
    finally:
        sys.setprofile(None)
    rooms = [file.relative_to(ROOT.parent).parts[:2] if file.is_relative_to(ROOT) else CHECKER for file in files]
    again = [f"{what} {calls[how]} times" for what, how in ONCE.items() if calls[how] > 1]
    return result, Walk(len(set(files)), _switches(rooms), len(seen), again)


def _switches(places: list[Any]) -> int:
    return sum(a != b for a, b in itertools.pairwise(places))


def network_of(*widths: int) -> cpwl.Network:
    """A network of whole numbers."""
    rng = np.random.default_rng(0)
    sizes = [(b, a) for a, b in itertools.pairwise(widths)]
    return cpwl.Network([(rng.integers(-9, 10, s).astype(float), rng.integers(-9, 10, s[0])) for s in sizes])


def walks() -> dict[str, Walk]:
    """A table to a network and its proof; a network to its regions and back; a network made smaller."""
    for module in pkgutil.walk_packages([str(ROOT)], "cpwl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, Walk] = {}

    def step(name: str, run: Callable[[], Any]) -> Any:
        result, found[name] = walk(run)
        return result

    p = step("from_simplices", lambda: cpwl.CPWL.from_simplices(POINTS, Delaunay(np.array(POINTS)).simplices, VALUES))
    c = step("compile", lambda: cpwl.compile(p))
    with tempfile.TemporaryDirectory() as folder:
        step("to_onnx", lambda: cpwl.io.to_onnx(c.network, f"{folder}/table.onnx"))
        step("certify", lambda: cpwl.certify(p, c.network))
        cpwl.io.to_onnx(network_of(2, 5, 4, 1), f"{folder}/network.onnx")
        network = step("from_onnx", lambda: cpwl.io.from_onnx(f"{folder}/network.onnx"))
    q = step("extract", lambda: cpwl.extract(network))
    step("compile of what was extracted", lambda: cpwl.compile(q))
    step("compress", lambda: cpwl.compress(network_of(2, 6, 5, 1)))
    return found


def main() -> None:
    """Print all walks."""
    warnings.simplefilter("ignore")
    print(f"{'step':30} {'files':>5} {'switches':>8} {'functions':>9}   computed again")
    for name, each in walks().items():
        print(f"{name:30} {each.files:5} {each.switches:8} {each.functions:9}   {', '.join(each.again)}")


if __name__ == "__main__":
    main()
