"""Explicit MPC as networks: the double integrator by PPOPT, horizon by horizon, and control laws in files.

    python benchmarks/mpc.py [--from 2] [--to 12] [--cases FOLDER]

Each law is recomputed in rationals from PPOPT's active sets (`cpwl.from_ppopt`, `cpwl.read`), compiled, and proved
equal. `solver s` is PPOPT's time, `ours s` ours, proof included, both of this process; `C bytes` is the size of the
header that `cpwl.to_c` writes, where it is there.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import solve_discrete_are

import cpwl
from cpwl import CPWL

HEAD = "law                    regions  laws neurons layers C bytes solver s ours s  proof"


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


def c_bytes(network: cpwl.Network) -> str:
    """The size of the C header, if this version writes one."""
    if not hasattr(cpwl, "to_c"):
        return "-"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "law.h")
        cpwl.to_c(network, path)
        return f"{path.stat().st_size}"


def row(name: str, law: CPWL, solver: float | None, began: float) -> None:
    """Compiles and proves one law, and prints its row."""
    made = cpwl.compile(law.merge(), certificate=True)
    seconds = time.process_time() - began
    certificate = made.certificate
    assert certificate is not None
    said = certificate.statement if certificate.proved else certificate.reason
    sizes, took = made.sizes, "-" if solver is None else f"{solver:.1f}"
    numbers = f"{law.num_pieces:>8}{law.num_components:>6}{sizes.neurons:>8}{sizes.depth:>7}{c_bytes(made.network):>8}"
    print(f"{name:<22}{numbers}{took:>9}{seconds:>7.1f}  {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", type=int, default=2, dest="first")
    parser.add_argument("--to", type=int, default=12, dest="last")
    parser.add_argument("--cases", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(HEAD)
    for horizon in range(options.first, options.last + 1):
        from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp

        began = time.process_time()
        with contextlib.redirect_stdout(None):  # it says which active set it begins with
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
