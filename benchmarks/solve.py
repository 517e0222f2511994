"""Programs solved exactly (`cpwl.mpc`, `cpwl.solve_mpqp`), proved complete, compiled and proved; PPOPT beside.

    python benchmarks/mpc.py --solve [NAME ..] [--cases FOLDER] [--limit SECONDS] [--ppopt SECONDS [--keep]]
    python benchmarks/mpc.py --solve --table

`rows` are the constraints, `solve s` the time for all regions with the proof that none is missing, `compile s` that of
the network with its certificate (kind "optimal": the stand-alone checker has verified optimality and completeness),
`C bytes` the constants of the C code, `ns` its slowest point of 300 (gcc -O2). Times are processor seconds of this
process; a law whose network takes longer than ``--limit`` is not compiled, and the row says so. With ``--ppopt`` each
algorithm of PPOPT solves the same program for at most so many processor seconds: its own seconds, and which regions it
has lost, told twice or invented, compared with all regions of the program as it scaled it. ``> 20``: none in 20 s. With
``--keep`` our own figures are those in the file.
Rows are kept in benchmarks/mpc.json, by name; ``--table`` prints what is there as the table of the documentation.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import multiprocessing
import queue
import resource
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
from cpwl.mpqp.explore import explore
from cpwl.mpqp.program import Program, critical_region

FILE = Path(__file__).with_name("mpc.json")
ALGORITHMS = ("combinatorial", "geometric", "graph", "combinatorial_graph")
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


def octahedron() -> dict[str, Any]:
    """The nearest point of an octahedron; four rows meet at each of its corners."""
    unit = np.eye(3, dtype=int)
    rows = list(itertools.product((1, -1), repeat=3))
    box = {"A_t": [*unit.tolist(), *(-unit).tolist()], "b_t": [4] * 6}
    return {"proc": {"Q": unit, "H": -unit, "c": [0] * 3, "A": rows, "F": [[0] * 3] * 8, "b": [1] * 8, **box}}


def of_ppopt(*sizes: int) -> dict[str, Any]:
    """A random program of PPOPT's own generator: decision variables, parameters, rows, seed."""
    from ppopt.problem_generator import generate_mpqp

    made = generate_mpqp(*sizes)
    return {"proc": {name: getattr(made, name) for name in ("Q", "H", "c", "A", "F", "b", "A_t", "b_t")}}


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
    "triple integrator 12": lambda: integrator(3, 12, u=(-1, 1), **FREE),
    "octahedron": octahedron,
    "PPOPT's 4:3:12, seed 5": lambda: of_ppopt(4, 3, 12, 5),
    "PPOPT's 5:3:15, seed 41": lambda: of_ppopt(5, 3, 15, 41),
    "two masses 8": lambda: masses(8, **FREE),
    "two masses 10": lambda: masses(10, **FREE),
}


def within(limit: float, work: Callable[..., Any], *given: Any) -> Any:
    """What the work returns in a process of its own, or its error; None if it takes more processor seconds."""
    context = multiprocessing.get_context("fork")
    answer = context.Queue()

    def run() -> None:
        used = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + int(limit), used + int(limit) + 1))
        try:
            answer.put(work(*given))
        except Exception as error:  # of whatever kind: it is told
            answer.put(error)

    worker = context.Process(target=run)
    worker.start()
    while True:
        alive = worker.is_alive()  # before looking: what it has put is there when it has ended
        try:
            found = answer.get(timeout=0.2)
        except queue.Empty:
            if not alive:
                return None
            continue
        worker.join()
        return found


def compiled(law: cpwl.CPWL) -> dict[str, Any]:
    """Its network, proved, and its C code."""
    began = time.process_time()
    made = cpwl.compile(law.merge(), certify=True)
    proved = time.process_time()
    assert made.certificate is not None
    with tempfile.TemporaryDirectory() as folder:
        many = law.dim > 2 and law.num_pieces > 100
        code = cpwl.io.to_c(made, Path(folder, "law.h"), name="law", form="network" if many else "auto")
    points = np.array([region.inner for region in law.known.optimal.regions], dtype=float)  # type: ignore[union-attr]
    points = points[np.random.default_rng(0).integers(0, len(points), 300)]
    return {
        "neurons": made.sizes.neurons,
        "compile s": round(proved - began, 1),
        "C bytes": code.costs[code.form].flash,
        "ns": round(slowest(code.text, points)),
        "proof": made.certificate.kind if made.certificate.proved else f"open: {made.certificate.reason[:60]}",
    }


def solved(program: dict[str, Any], outputs: slice, stable: str, limit: float) -> dict[str, Any]:
    """The row of one program: solved, compiled and proved."""
    began = time.process_time()
    law = cpwl.solve_mpqp(program, outputs=outputs)
    row = {
        "states": law.dim,
        "inputs": law.outputs,
        "rows": len(program["b"]),
        "regions": law.num_pieces,
        "solve s": round(time.process_time() - began, 2),
        "stable": stable,
    }
    made = within(limit, compiled, law)
    if isinstance(made, Exception):
        raise made
    return row | (made or {"proof": f"complete; no network within {limit:.0f} s"})


def told_by_ppopt(program: dict[str, Any], algorithm: str) -> tuple[float, dict[str, Any], list[list[int]]]:
    """One run of PPOPT: seconds, its program as it scaled it, and the active sets that it found."""
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
    scaled = {k: getattr(solution.program, k) for k in ("Q", "H", "c", "A", "F", "b", "A_t", "b_t")}
    return seconds, scaled, [[int(i) for i in region.active_set] for region in solution.critical_regions]


def compared(program: dict[str, Any], limit: float, algorithms: Sequence[str]) -> dict[str, Any]:
    """What each algorithm of PPOPT makes of a program: seconds, and the tight rows of regions lost and told twice."""
    found: dict[str, Any] = {}
    every: dict[bytes, Any] = {}
    for algorithm in algorithms:
        told = within(limit, told_by_ppopt, program, algorithm)
        if told is None or isinstance(told, Exception):
            found[algorithm] = f"> {limit:.0f}" if told is None else f"failed ({type(told).__name__})"
            continue
        seconds, tables, active = told
        scaled, key = Program.from_matrices(tables), b"".join(table.tobytes() for table in tables.values())
        if key not in every:
            every[key] = within(4 * limit, lambda p: [frozenset(region.tight) for region in explore(p)], scaled)
        seen = [critical_region(scaled, rows) for rows in active]
        found[algorithm] = {"seconds": round(seconds, 1), "regions": len(active)}
        if isinstance(every[key], list):
            right = [frozenset(region.tight) for region in seen if region is not None]
            right = [tight for tight in right if tight in set(every[key])]
            twice = {tight for tight in right if right.count(tight) > 1}
            found[algorithm] |= {
                "lost": sorted(map(sorted, set(every[key]) - set(right))),
                "twice": sorted(map(sorted, twice)),
                "invented": len(seen) - len(right),
            }
    return found


def shown(name: str, row: dict[str, Any]) -> str:
    """A row of the documentation."""
    code = f"{row['C bytes']:,}, {row['ns']:,} ns" if "ns" in row else "-"
    network = f"{row['neurons']} ({row['compile s']:.0f} s)" if "neurons" in row else "-"
    cells = [name, f"{row['states']}, {row['inputs']}", f"{row['regions']:,}", f"{row['solve s']:.1f}", network, code]
    return f"| {' | '.join([*cells, ppopt_text(row.get('PPOPT', {}))])} |"


def ppopt_text(told: dict[str, Any]) -> str:
    """Seconds of PPOPT's algorithms, and what is wrong with their regions."""
    words = []
    for algorithm in ALGORITHMS:
        said = told.get(algorithm, "-")
        if isinstance(said, str):
            words.append(said)
            continue
        wrong = [(len(said.get("lost", ())), "lost"), (len(said.get("twice", ())), "twice")]
        wrong.append((said.get("invented", 0), "invented"))
        some = ", ".join(f"{count} {kind}" for count, kind in wrong if count)
        words.append(f"{said['seconds']}" + (f" ({some})" if some else "" if "lost" in said else " (not compared)"))
    return " / ".join(words)


def main(words: Sequence[str] | None = None) -> None:
    """Measures the programs that are named, all if none is, and prints their rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--ppopt", type=float, default=0)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--keep", action="store_true", help="with --ppopt: our own figures are those in the file")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args(words)
    kept = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    print("| program | parameters, inputs | regions | solved in s | neurons | C: bytes, slowest point | PPOPT s |")
    print("|---|---|---|---|---|---|---|")
    if options.table:
        print("\n".join(shown(name, row) for name, row in kept.items()))
        return
    warnings.simplefilter("ignore")
    known: dict[str, Made] = dict(PLANTS)
    for path in sorted(options.cases.glob("*.json")) if options.cases else []:
        known[path.stem] = lambda path=path: read_json(path, decimal=str)
    for name in options.names or known:
        made = known[name]()
        if isinstance(made, dict):
            program, outputs, stable = made["proc"], slice(0, made.get("m")), "-"
        else:
            program, outputs, stable = made.program, slice(0, made.inputs), "yes" if made.stability else "no"
        row = kept[name] if options.keep and name in kept else solved(program, outputs, stable, options.limit)
        row["PPOPT"] = kept.get(name, {}).get("PPOPT", {})
        if options.ppopt:
            row["PPOPT"] = row["PPOPT"] | compared(program, options.ppopt, options.algorithms)
        print(shown(name, row), row["proof"], flush=True)
        kept = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
        order = [*PLANTS, *sorted({*kept, name} - set(PLANTS))]
        kept[name] = row
        FILE.write_text(json.dumps({key: kept[key] for key in order if key in kept}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
