"""Pieces of work that benchmarks time in a process of their own.

``python benchmarks/bench_work.py NAME SIZE [floats]`` prints one line of JSON.
With "floats" the function is given as half-spaces and laws in floats with noise of 1e-13. A process of its own has its
own peak of memory, and no warm caches.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpwl.construct.plan import ConstructionName

__all__ = ["WORK", "run_apart"]

Work = Callable[..., Callable[[], dict[str, Any]]]
"""From a size, and whether the function is to be float data, to what is timed."""


def run_apart(name: str, size: int, *, floats: bool = False) -> dict[str, Any]:
    """The seconds, the peak of memory in GB, and what else a piece of work says about itself."""
    command = [sys.executable, __file__, name, str(size), *["floats"] * floats]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        return {"error": last}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _paper(size: int, floats: bool = False) -> Callable[[], dict[str, Any]]:
    from bench_functions import noisy, triangles
    from cpwl.construct.analysis import Analysis
    from cpwl.construct.blocks.common import max_of_mins, rows_of

    p = noisy(triangles(size)) if floats else triangles(size)

    def work() -> dict[str, Any]:
        network = max_of_mins(p.components(0), rows_of(Analysis(p).orders[0]))
        dense = sum(weight.shape[0] * (weight.shape[1] + 1) for weight, _ in network.layers)
        return {"neurons": network.sizes.neurons, "dense_gb": 8e-9 * dense}

    return work


def _compile(construction: ConstructionName, make: Callable[[int], Any]) -> Work:
    def prepared(size: int, floats: bool = False) -> Callable[[], dict[str, Any]]:
        from bench_functions import noisy
        from cpwl.compiler import compile

        p = noisy(make(size)) if floats else make(size)
        return lambda: {"neurons": compile(p, construction=construction, precision="exact").sizes.neurons}

    return prepared


def _triangles(size: int) -> Any:
    from bench_functions import triangles

    return triangles(size)


def _tetrahedra(size: int) -> Any:
    """Random points in the cube have about 6.5 cells each."""
    from bench_functions import delaunay

    return delaunay(3, max(1, round(size / 6.4)), 0)


def _breakpoints(size: int) -> Any:
    from bench_functions import random_breakpoints

    return random_breakpoints(size, 0)


def _cells(size: int) -> Any:
    from shallow import random_shallow

    return random_shallow(50, size, 0)


WORK: dict[str, Work] = {
    "paper": _paper,
    "gates-plane": _compile("gates", _triangles),
    "gates-space": _compile("gates", _tetrahedra),
    "hinge": _compile("hinge", _cells),
    "univariate": _compile("univariate", _breakpoints),
}
"""Work by name: the size prepares it, and what is then called is timed."""


def main(name: str, size: str, how: str = "") -> None:
    """Do the work and print what it took."""
    work = WORK[name](int(size), how == "floats")
    began = perf_counter()
    result = work()
    seconds = perf_counter() - began
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    print(json.dumps({"seconds": seconds, "memory_gb": memory, **result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
