"""How far data walks through the house: ``python benchmarks/walks.py``.

Each step is run once, with every module loaded. Printed are the files with a function that ran, the switches (changes
from one newly visited function to the next: of step of the pipeline, the folder directly in the package, and of any
folder), and what was computed more than once.
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
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

import cpwl

ROOT = Path(cpwl.__file__).parent
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


def walk(step: Callable[[], Any]) -> tuple[Any, int, int, int, Counter[str]]:
    """What the step returns, files, switches of step and of folder, and how often each function was called."""
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
    folders = [file.parent for file in files]
    rooms = [file.relative_to(ROOT).parts[0] for file in files]
    return result, len(set(files)), _switches(rooms), _switches(folders), calls


def _switches(places: list[Any]) -> int:
    return sum(a != b for a, b in itertools.pairwise(places))


def main() -> None:
    """Both walks: a table to a network and its proof, and a network to its regions and back."""
    warnings.simplefilter("ignore")
    for module in pkgutil.walk_packages([str(ROOT)], "cpwl."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def step(name: str, run: Callable[[], Any]) -> Any:
        result, files, rooms, folders, calls = walk(run)
        again = [f"{what} {calls[how]} times" for what, how in ONCE.items() if calls[how] > 1]
        print(f"{name:28} {files:5} {rooms:5} {folders:7}   {', '.join(again)}")
        return result

    print(f"{'step':28} {'files':>5} {'steps':>5} {'folders':>7}   computed again")
    p = step("from_simplices", lambda: cpwl.CPWL.from_simplices(POINTS, Delaunay(np.array(POINTS)).simplices, VALUES))
    c = step("compile", lambda: cpwl.compile(p))
    with tempfile.TemporaryDirectory() as folder:
        step("to_onnx", lambda: cpwl.io.to_onnx(c.network, f"{folder}/table.onnx"))
        step("certify", lambda: cpwl.certify(p, c.network))
        rng = np.random.default_rng(0)
        sizes = [(5, 2), (4, 5), (1, 4)]
        network = cpwl.Network([(rng.integers(-9, 10, s).astype(float), rng.integers(-9, 10, s[0])) for s in sizes])
        cpwl.io.to_onnx(network, f"{folder}/network.onnx")
        network = step("from_onnx", lambda: cpwl.io.from_onnx(f"{folder}/network.onnx"))
    q = step("extract", lambda: cpwl.extract(network))
    step("compile of what was extracted", lambda: cpwl.compile(q))


if __name__ == "__main__":
    main()
