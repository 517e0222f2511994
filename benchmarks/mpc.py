"""Explicit MPC as networks: the double integrator by PPOPT, horizon by horizon, and control laws in files.

    python benchmarks/mpc.py [--from 2] [--to 12] [--cases FOLDER]

Each law is recomputed in rationals from PPOPT's active sets (`cpwl.from_ppopt`, `cpwl.read`), compiled, and proved
equal. `C bytes` and `C m-adds` are the constants and the multiply-adds, in the worst case, of the code that `cpwl.to_c`
writes; `search B` and `m-adds` those of trying one region after the other. `solver s` is PPOPT's time, `ours s` ours,
proof included, both of this process.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are

import cpwl
from cpwl import CPWL, Compiled
from cpwl.targets.c.tables import Cost

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
        code = cpwl.to_c(made, Path(folder, "law.h"), form="network" if many else "auto")
    return code.costs[code.form]


def region_search(law: CPWL) -> tuple[int, int]:
    """Bytes of constants (double), and multiply-adds in the worst case, if regions are tried one after the other."""
    rows, n, m = len(law.polyhedra.b), law.dim, law.outputs
    return 8 * (rows * (n + 1) + law.num_pieces * m * (n + 1)), rows * n + m * n


def row(name: str, law: CPWL, solver: float | None, began: float) -> None:
    """Compiles and proves one law, and prints its row."""
    made = cpwl.compile(law.merge(), certificate=True)
    seconds = time.process_time() - began
    certificate = made.certificate
    assert certificate is not None
    said = certificate.statement if certificate.proved else certificate.reason
    cost, (size, products) = cheapest(made, law.dim > 2 and law.num_pieces > 100), region_search(law)
    numbers = (law.num_pieces, law.num_components, made.sizes.neurons, made.sizes.depth)
    costs = (cost.flash, cost.multiply_adds, size, products)
    took = "-" if solver is None else f"{solver:.1f}"
    cells = "".join(f"{v:>9}" for v in (*numbers, *costs, took, f"{seconds:.1f}"))
    print(f"{name:<21}{cells}  {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", type=int, default=2, dest="first")
    parser.add_argument("--to", type=int, default=12, dest="last")
    parser.add_argument("--cases", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'law':<21}{HEAD}  proof")
    for horizon in range(options.first, options.last + 1):
        from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp

        began = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):  # it says which active set it begins with
            solution = solve_mpqp(double_integrator(horizon), mpqp_algorithm.geometric)
        solved = time.process_time()
        law = cpwl.from_ppopt(solution, outputs=0)
        row(f"double integrator {horizon}", law, solved - began, solved)
    for path in sorted(options.cases.rglob("*.json")) if options.cases else []:
        if '"act"' in path.read_text("utf-8"):
            began = time.process_time()
            row(path.stem, cpwl.read(path), None, began)


if __name__ == "__main__":
    main()
