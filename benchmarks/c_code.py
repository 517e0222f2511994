"""C code of control laws against a search of all regions: ``python benchmarks/c_code.py [--full]``.

Double integrator, bounded input and state, horizons 2 to 5 (``--full``: 12), solved by PPOPT; the first move, exactly
as the active sets say. For each: regions, laws, neurons, bytes of constants and multiply-adds in the worst case of the
network, of the search tree and of a plain search (every region in turn, all of its rows, then its law), and the slowest
of 300 points in nanoseconds, compiled with ``gcc -O2``. PPOPT's exporter writes tables for a C++ program;
that program is not in its package (1.6.12), so that its tables alone can be measured: their bytes as g++ stores them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path

import numpy as np

import cpwl
from cpwl.io.c.text import CArray, _array

_RUN = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "law.h"
int main(void)
{
    static double points[300][LAW_INPUTS];
    double worst = 0, y[LAW_OUTPUTS], sum = 0;
    for (int i = 0; i < 300; ++i)
        for (unsigned j = 0; j < LAW_INPUTS; ++j)
            if (scanf("%lf", &points[i][j]) != 1) return 1;
    for (int i = 0; i < 300; ++i) {
        double best = 1e9;
        for (int k = 0; k < 20; ++k) {
            struct timespec a, b;
            clock_gettime(CLOCK_MONOTONIC, &a);
            for (int j = 0; j < 200; ++j) { law(points[i], y); sum += y[0]; }
            clock_gettime(CLOCK_MONOTONIC, &b);
            double ns = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / 200;
            best = ns < best ? ns : best;
        }
        worst = best > worst ? best : worst;
    }
    printf("%.1f %g\\n", worst, sum);
    return 0;
}
"""
_SEARCH = """
#define LAW_INPUTS 2
#define LAW_OUTPUTS 1
static int law(const double *x, double *y)
{
    for (unsigned i = 0; i < %d; ++i) {
        unsigned k = law_start[i];
        while (k < law_start[i + 1] && law_row[k][0] * x[0] + law_row[k][1] * x[1] <= law_row[k][2] + 1e-9) ++k;
        if (k == law_start[i + 1]) { *y = law_law[i][0] * x[0] + law_law[i][1] * x[1] + law_law[i][2]; return 0; }
    }
    return 1;
}
"""


def double_integrator(horizon: int) -> object:
    """PPOPT's solution."""
    from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp
    from ppopt.mpqp_program import MPQP_Program

    A, B, bound = np.array([[1.0, 1], [0, 1]]), np.array([[0.5], [1]]), 5.0
    power = [np.linalg.matrix_power(A, k) for k in range(horizon + 1)]
    effect = np.zeros((2 * horizon, horizon))
    for k in range(1, horizon + 1):
        for j in range(k):
            effect[2 * k - 2 : 2 * k, j : j + 1] = power[k - 1 - j] @ B
    free, eye, one = np.vstack(power[1:]), np.eye(horizon), np.ones((horizon, 1))
    Q, H = effect.T @ effect + 0.1 * eye, effect.T @ free
    rows, right = np.vstack([eye, -eye, effect, -effect]), np.vstack([one, one, np.full((4 * horizon, 1), bound)])
    F, box = np.vstack([np.zeros((2 * horizon, 2)), -free, free]), np.vstack([np.eye(2), -np.eye(2)])
    program = MPQP_Program(rows, right, np.zeros((horizon, 1)), H, Q, box, np.full((4, 1), bound), F)
    return solve_mpqp(program, mpqp_algorithm.geometric)


def search_code(p: cpwl.CPWL) -> tuple[str, int, int]:
    """A plain search in C, its bytes of constants, and its multiply-adds if the point is in the last region."""
    rows = np.column_stack([p.polyhedra.A, p.polyhedra.b])
    laws = np.column_stack([p.laws.gradient[:, 0], p.laws.offset])
    tables = [
        CArray("row", "double", rows),
        CArray("law", "double", laws),
        CArray("start", "uint16_t", p.polyhedra.start),
    ]
    text = "#include <stdint.h>\n" + "\n".join(_array("law", table) for table in tables) + _SEARCH % p.num_pieces
    return text, sum(table.bytes for table in tables), 2 * len(rows) + 2


def slowest(header: str, points: np.ndarray) -> float:
    """Nanoseconds of one call at the slowest point."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "law.h").write_text(header)
        Path(folder, "run.c").write_text(_RUN)
        subprocess.run(["gcc", "-std=c99", "-O2", "run.c", "-o", "run"], cwd=folder, check=True)
        text = "\n".join(map(repr, points.ravel().tolist()))
        done = subprocess.run(["./run"], cwd=folder, input=text, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


def ppopt_bytes(solution: object) -> int:
    """The constants that PPOPT's exporter writes, in the object that g++ makes of them."""
    template = types.ModuleType("ppopt.upop.lib_upop.upop_cpp_template")
    template.cpp_upop = "<==PayloadHere==>"  # type: ignore[attr-defined]
    other = types.ModuleType("ppopt.upop.lib_upop.upop_js_template")
    other.js_upop = ""  # type: ignore[attr-defined]
    sys.modules |= {"ppopt.upop.lib_upop": types.ModuleType("lib_upop"), template.__name__: template}
    sys.modules[other.__name__] = other
    from ppopt.upop.linear_code_gen import generate_code_cpp

    text = "#include <array>\n#include <bitset>\n#include <cstdint>\n" + generate_code_cpp(solution, "double")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.cpp").write_text(text)
        program = ["g++", "-fkeep-static-consts", "-std=c++17", "-c", "a.cpp"]
        subprocess.run(program, cwd=folder, check=True, capture_output=True)
        said = subprocess.run(["size", "-A", "a.o"], cwd=folder, capture_output=True, text=True, check=True).stdout
    parts = (".rodata", ".data", ".bss")
    return sum(int(line.split()[1]) for line in said.splitlines() if line.startswith(parts))


def main() -> None:
    """A line for each horizon."""
    warnings.simplefilter("ignore")
    print("                             | bytes of constants          | multiply-adds, worst | ns, slowest point")
    print(" N regions laws neurons proof | network tree search  PPOPT  | network tree search  | network tree search")
    for horizon in range(2, 13 if "--full" in sys.argv else 6):
        solution = double_integrator(horizon)
        p = cpwl.io.from_ppopt(solution, outputs=0)
        c = cpwl.compile(p, minimize="nonzeros", certify=True)
        with tempfile.TemporaryDirectory() as folder:
            codes = {form: cpwl.io.to_c(c, Path(folder, "law.h"), form=form) for form in ("network", "tree")}
        text, size, work = search_code(p)
        rng = np.random.default_rng(0)
        x = rng.uniform(-5, 5, (20000, 2))
        x = x[np.isfinite(p(x)[:, 0])][:300]
        times = [slowest(code.text, x) for code in codes.values()] + [slowest(text, x)]
        costs = [code.costs[form] for form, code in codes.items()]
        flash = [*(cost.flash for cost in costs), size, ppopt_bytes(solution)]
        adds = [*(cost.multiply_adds for cost in costs), work]
        assert c.certificate is not None
        proof = "=" if c.certificate.error_bound == 0 else "?"  # network = law, proved
        left = f"{horizon:2} {p.num_pieces:6} {p.num_components:4} {c.sizes.neurons:7} {proof:>5}"
        numbers = " ".join(f"{v:6,}" for v in flash) + " | " + " ".join(f"{v:6,}" for v in adds)
        print(f"{left} | {numbers} | {' '.join(f'{v:7.0f}' for v in times)}", flush=True)


if __name__ == "__main__":
    main()
