"""Programs solved exactly (`cpwl.mpc`, `cpwl.solve_mpqp`), proved complete, compiled and proved; PPOPT beside.

    python benchmarks/mpc.py --solve [--cases FOLDER] [--ppopt SECONDS] [--large] [NAME ..]

`rows` are the constraints, `solve s` the time for all regions with the proof that none is missing, `compile s` that of
the network with its certificate (kind "optimal": the stand-alone checker has verified optimality and completeness),
`C bytes` the constants of the C code, `ns` its slowest point of 300 (gcc -O2). Times are processor seconds of this
process. With ``--ppopt`` each algorithm of PPOPT solves the same program for at most so many seconds: its own seconds,
and how many regions it has lost, told twice or invented, compared with all regions of the program as it scaled it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import cpwl
from c_code import slowest
from cpwl.documents.read import read_json
from cpwl.mpqp.critical import critical_region
from cpwl.mpqp.explore import explore
from cpwl.mpqp.program import Program

ALGORITHMS = ("combinatorial", "geometric", "graph", "combinatorial_graph")
HEAD = ("states", "rows", "regions", "solve s", "neurons", "compile s", "C bytes", "ns", "stable")
Made = Callable[[], Any]


def integrator(n: int, steps: int, **options: Any) -> Any:
    """A chain of n integrators, sampled exactly: x_n' = u."""
    A = [[Fraction(1, _factorial(j - i)) if j >= i else 0 for j in range(n)] for i in range(n)]
    B = [[Fraction(1, _factorial(n - i))] for i in range(n)]
    return cpwl.mpc(A, B, 1, "0.1", steps, **options)


def _factorial(k: int) -> int:
    return int(np.prod(range(1, k + 1), dtype=object))


def pendulum(steps: int, **options: Any) -> Any:
    """An inverted pendulum, 0.1 s a step."""
    A, B = [["1.0494", "0.1016"], ["0.9971", "1.0494"]], [["0.005"], ["0.1016"]]
    return cpwl.mpc(A, B, [[10, 0], [0, 1]], "0.1", steps, u=(-3, 3), x=(-1, 1), **options)


def masses(steps: int, **options: Any) -> Any:
    """Two masses and a spring, half a second a step, four digits; a force on one of them."""
    A = [["0.88", "0.12", "0.48", "0.02"], ["0.12", "0.88", "0.02", "0.48"]]
    A += [["-0.459", "0.459", "0.88", "0.12"], ["0.459", "-0.459", "0.12", "0.88"]]
    return cpwl.mpc(A, [["0.122"], ["0.003"], ["0.48"], ["0.02"]], 1, "0.1", steps, u=(-1, 1), **options)


def random_plant(n: int, m: int, steps: int, seed: int, **options: Any) -> Any:
    """A stable plant with two decimals."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    A *= 0.95 / np.abs(np.linalg.eigvals(A)).max()
    texts = [[[f"{v:.2f}" for v in row] for row in table] for table in (A, rng.normal(size=(n, m)))]
    return cpwl.mpc(*texts, 1, "0.2", steps, u=(-1, 1), **options)


FREE: dict[str, Any] = {"terminal": None, "x0": (-4, 4)}
PLANTS: dict[str, Made] = {
    "double integrator 5": lambda: integrator(2, 5, u=(-1, 1), x=(-5, 5)),
    "double integrator 10": lambda: integrator(2, 10, u=(-1, 1), x=(-5, 5)),
    "... with rates 2": lambda: integrator(2, 2, u=(-1, 1), x=(-5, 5), du=("-1/2", "1/2")),
    "... soft 3": lambda: integrator(2, 3, u=(-1, 1), x=(-2, 2), soft=10, terminal=None, x0=(-5, 5)),
    "... set point 3": lambda: integrator(2, 3, u=(-1, 1), x=(-5, 5), reference=(-3, 3), terminal=None),
    "pendulum 5": lambda: pendulum(5),
    "pendulum 15": lambda: pendulum(15),
    "triple integrator 5": lambda: integrator(3, 5, u=(-1, 1), **FREE),
    "two masses 4": lambda: masses(4, **FREE),
    "random 3 states, 2 inputs": lambda: random_plant(3, 2, 2, 0, **FREE),
    "random 4 states, 3 inputs": lambda: random_plant(4, 3, 1, 1, **FREE),
    "random 5 states": lambda: random_plant(5, 1, 3, 0, **FREE),
    "random 6 states": lambda: random_plant(6, 1, 2, 0, **FREE),
}
LARGE: dict[str, Made] = {
    "triple integrator 12": lambda: integrator(3, 12, u=(-1, 1), **FREE),
    "two masses 8": lambda: masses(8, **FREE),
    "two masses 10": lambda: masses(10, **FREE),
}


def solved(name: str, program: dict[str, Any], outputs: slice, stable: str, compiles: bool) -> None:
    """Solves, compiles and proves one program, and prints its row."""
    began = time.process_time()
    law = cpwl.solve_mpqp(program, outputs=outputs)
    found = time.process_time()
    cells: list[Any] = [law.dim, len(program["b"]), law.num_pieces, f"{found - began:.1f}"]
    said = "not compiled"
    if compiles and (law.dim == 2 or law.num_pieces <= 30):  # networks of more pieces in space take minutes
        made = cpwl.compile(law, certify=True)
        proved = time.process_time()
        assert made.certificate is not None
        with tempfile.TemporaryDirectory() as folder:
            many = law.dim > 2 and law.num_pieces > 100
            code = cpwl.io.to_c(made, Path(folder, "law.h"), name="law", form="network" if many else "auto")
        points = np.array([region.inner for region in law.known.optimal.regions], dtype=float)  # type: ignore[union-attr]
        points = points[np.random.default_rng(0).integers(0, len(points), 300)]
        cells += [
            made.sizes.neurons,
            f"{proved - found:.1f}",
            code.costs[code.form].flash,
            f"{slowest(code.text, points):.0f}",
        ]
        said = made.certificate.kind or made.certificate.reason
    cells += ["-"] * (len(HEAD) - 1 - len(cells)) + [stable]
    print(f"{name:<26}{''.join(f'{v!s:>10}' for v in cells)}  {said}", flush=True)


def told_by_ppopt(program: dict[str, Any], algorithm: str, answer: Any) -> None:
    """One run of PPOPT in a process of its own: seconds, and regions lost, twice, invented."""
    from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp
    from ppopt.mpqp_program import MPQP_Program

    tables = {k: np.array([[float(Fraction(v)) for v in np.ravel(row)] for row in program[k]]) for k in program}
    n = tables["F"].shape[1]
    tables["A_t"], tables["b_t"] = tables["A_t"].reshape(-1, n), tables["b_t"].reshape(-1, 1)
    given = [tables[k] for k in ("A", "b", "c", "H", "Q", "A_t", "b_t", "F")]
    began = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        solution = solve_mpqp(MPQP_Program(*given), getattr(mpqp_algorithm, algorithm))
    seconds = time.process_time() - began
    scaled = Program.from_matrices(
        {k: getattr(solution.program, k) for k in ("Q", "H", "c", "A", "F", "b", "A_t", "b_t")}
    )
    every = {frozenset(region.tight) for region in explore(scaled)}
    seen = [critical_region(scaled, region.active_set) for region in solution.critical_regions]
    right = [region.tight for region in seen if region is not None and region.tight in every]
    lost, twice = len(every) - len(set(right)), len(right) - len(set(right))
    answer.put(f"{seconds:.1f} s, {lost} lost, {twice} twice, {len(seen) - len(right)} invented")


def compared(program: dict[str, Any], limit: int) -> None:
    """What each algorithm of PPOPT makes of a program."""
    context = multiprocessing.get_context("fork")
    for algorithm in ALGORITHMS:
        answer = context.Queue()
        run = context.Process(target=told_by_ppopt, args=(program, algorithm, answer))
        run.start()
        try:
            said = answer.get(timeout=limit)
        except Exception:  # it takes longer, or has ended with an error
            said = f"no answer in {limit} s"
            run.kill()
        run.join()
        print(f"    PPOPT, {algorithm}: {said}", flush=True)


def main(words: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--ppopt", type=int, default=0)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    print(f"{'program':<26}{''.join(f'{name:>10}' for name in HEAD)}  proof")
    for path in sorted(options.cases.glob("*.json")) if options.cases else []:
        data = read_json(path, decimal=str)
        if "proc" in data:
            solved(path.stem, data["proc"], slice(0, data.get("m")), "-", True)
            if options.ppopt:
                compared(data["proc"], options.ppopt)
    plants = {**PLANTS, **(LARGE if options.large else {})}
    for name in options.names or plants:
        plan = plants[name]()
        solved(name, plan.program, slice(0, plan.inputs), "yes" if plan.stability else "no", name not in LARGE)
        if options.ppopt:
            compared(plan.program, options.ppopt)


if __name__ == "__main__":
    main()
