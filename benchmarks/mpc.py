"""Explicit MPC as networks: the double integrator by PPOPT, horizon by horizon, and control laws in files.

    python benchmarks/mpc.py [--from 2] [--to 12] [--cases FOLDER]
    python benchmarks/mpc.py --solve [--cases FOLDER] [--ppopt SECONDS] [--large]

Each law is recomputed in rationals from PPOPT's active sets (`cpwl.io.from_ppopt`, `cpwl.read`), compiled, and proved
equal. `C bytes` and `C m-adds` are the constants and the multiply-adds, in the worst case, of the code that `to_c`
writes; `search B` and `m-adds` those of trying one region after the other. `solver s` is PPOPT's time, `ours s` ours,
proof included, both of this process.

Laws in files are compiled a second time from the floats that the solver wrote, regions and laws, as if nothing else
were known: `exact` and `float` are neurons, `more` how many more of them, `proved` the bound on the distance from the
floats, relative to the range of the law, and `least` what no function at all can be below, half of the largest
difference of two regions at a point of both. `--floats` prints that table alone.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are

import cpwl
import solve
from cpwl import CPWL, Compiled
from cpwl.construct.analysis import Analysis
from cpwl.io.c.text import Cost
from floats import least_error

HEAD = "".join(
    f"{name:>9}"
    for name in (
        "regions",
        "laws",
        "neurons",
        "layers",
        "C bytes",
        "C m-adds",
        "search B",
        "m-adds",
        "solver s",
        "ours s",
    )
)


FLOAT_HEAD = "".join(
    f"{name:>9}"
    for name in ("inputs", "outputs", "regions", "exact", "float", "more", "least", "proved", "s", "proof s")
)


def double_integrator(horizon: int) -> Any:
    """The condensed program: |u| <= 1, |x_i| <= 5, weights 1 and 0.1, the final weight that of the Riccati equation."""
    from ppopt.mpqp_program import MPQP_Program

    A, B, cost = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.5], [1.0]]), np.array([[0.1]])
    final = solve_discrete_are(A, B, np.eye(2), cost)
    powers = [np.linalg.matrix_power(A, k) for k in range(horizon + 1)]
    free = np.vstack(powers[1:])
    effect = np.zeros((2 * horizon, horizon))
    for k in range(1, horizon + 1):
        for j in range(k):
            effect[2 * k - 2 : 2 * k, j : j + 1] = powers[k - 1 - j] @ B
    weight = np.eye(2 * horizon)
    weight[-2:, -2:] = final
    Q = effect.T @ weight @ effect + cost[0, 0] * np.eye(horizon)
    unit, box = np.eye(horizon), np.vstack([np.eye(2), -np.eye(2)])
    rows = np.vstack([unit, -unit, effect, -effect])
    right = np.concatenate([np.ones(2 * horizon), np.full(4 * horizon, 5.0)])[:, None]
    F = np.vstack([np.zeros((2 * horizon, 2)), -free, free])
    none = np.zeros((horizon, 1))
    return MPQP_Program(rows, right, none, effect.T @ weight @ free, (Q + Q.T) / 2, box, np.full((4, 1), 5.0), F)


def cheapest(made: Compiled, many: bool) -> Cost:
    """What the C code of a law costs, in the form that `to_c` takes; as a network where there are many regions."""
    with tempfile.TemporaryDirectory() as folder:
        code = cpwl.io.to_c(made, Path(folder, "law.h"), form="network" if many else "auto")
    return code.costs[code.form]


def region_search(law: CPWL) -> tuple[int, int]:
    """Bytes of constants (double), and multiply-adds in the worst case, if regions are tried one after the other."""
    rows, n, m = len(law.polyhedra.b), law.dim, law.outputs
    return 8 * (rows * (n + 1) + law.num_pieces * m * (n + 1)), rows * n + m * n


def row(name: str, law: CPWL, solver: float | None, began: float) -> int:
    """Compiles and proves one law, prints its row, and tells its neurons."""
    made = cpwl.compile(law.merge(), certify=True)
    seconds = time.process_time() - began
    certificate = made.certificate
    assert certificate is not None
    said = certificate.statement if certificate.proved else certificate.reason
    cost, (size, products) = cheapest(made, law.dim > 2 and law.num_pieces > 100), region_search(law)
    numbers = (law.num_pieces, law.num_components, made.sizes.neurons, made.sizes.depth)
    costs = (cost.flash, cost.multiply_adds, size, products)
    took = "-" if solver is None else f"{solver:.1f}"
    cells = "".join(f"{v:>9}" for v in (*numbers, *costs, took, f"{seconds:.1f}"))
    print(f"{name:<26}{cells}  {said}", flush=True)
    return made.sizes.neurons


def from_floats(path: Path) -> CPWL:
    """The regions and laws of a file as they are: this project's format, or `pieces` with A, b, F, g."""
    document = json.loads(path.read_text("utf-8"))
    if document.get("format") == "cpwl":
        return cpwl.read(path)
    pieces = document["pieces"]
    return CPWL.from_pieces(*([np.squeeze(np.array(piece[key])) for piece in pieces] for key in "AbFg"))


def float_row(path: Path, exact: int | None) -> None:
    """Compiles the floats of a law and proves how near the network is; `exact` are the neurons of the law itself."""
    data = from_floats(path)
    began = time.process_time()
    made = cpwl.compile(data)
    compiled = time.process_time()
    proof = cpwl.certify(data, made.network)
    proved = time.process_time()
    least, size = least_error(data), Analysis(data).sample.range
    bound = f"{float(proof.error_bound) / size:.1e}" if isinstance(proof.error_bound, Fraction) else "-"
    more = "-" if exact is None else f"{100 * (made.sizes.neurons / exact - 1):.0f} %"
    cells = (
        *(data.dim, data.outputs, data.num_pieces, exact or "-", made.sizes.neurons, more),
        *("-" if least is None else f"{float(least) / size:.1e}", bound),
        *(f"{compiled - began:.1f}", f"{proved - compiled:.1f}"),
    )
    said = f"{made.construction}: {proof.statement if proof.proved else proof.reason[:80]}"
    print(f"{path.stem:<26}{''.join(f'{v:>9}' for v in cells)}  {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", type=int, default=2, dest="first")
    parser.add_argument("--to", type=int, default=12, dest="last")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--floats", action="store_true")
    parser.add_argument("--solve", action="store_true", help="programs solved here, by benchmarks/solve.py")
    options, rest = parser.parse_known_args()
    if options.solve:
        solve.main([*rest, *(["--cases", str(options.cases)] if options.cases else [])])
        return
    warnings.simplefilter("ignore")
    if not options.floats:
        print(f"{'law':<26}{HEAD}  proof")
    for horizon in range(options.first, options.last + 1) if not options.floats else []:
        from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp

        began = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):  # it says which active set it begins with
            solution = solve_mpqp(double_integrator(horizon), mpqp_algorithm.geometric)
        solved = time.process_time()
        law = cpwl.io.from_ppopt(solution, outputs=0)
        row(f"double integrator {horizon}", law, solved - began, solved)
    paths = sorted(options.cases.rglob("*.json")) if options.cases else []
    exact: dict[Path, int] = {}
    for path in paths:
        if '"act"' in path.read_text("utf-8"):
            began = time.process_time()
            law = cpwl.read(path)
            exact[path] = (
                cpwl.compile(law.merge()).sizes.neurons if options.floats else row(path.stem, law, None, began)
            )
    if paths:
        print(f"{'from floats':<26}{FLOAT_HEAD}  proof")
    for path in paths:
        float_row(path, exact.get(path))


if __name__ == "__main__":
    main()
