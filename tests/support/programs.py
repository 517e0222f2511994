"""Small multiparametric programs, and slow answers to what they are: every active set is tried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.probe import Probe
from cpwl.mpqp.program import Program, critical_region

SQUARE = [[1, 0], [-1, 0], [0, 1], [0, -1]]
BOX = {"A_t": SQUARE, "b_t": [4] * 4}
EYE, MINUS = [[1, 0], [0, 1]], [[-1, 0], [0, -1]]
NONE = [[0, 0]] * 4


def projection(rows: list[list[int]], right: list[int], bound: int = 4) -> dict[str, Any]:
    """The nearest point of ``rows u <= right``."""
    n = len(rows[0])
    eye = np.eye(n, dtype=int)
    box = {"A_t": np.vstack([eye, -eye]).tolist(), "b_t": [bound] * (2 * n)}
    return {"Q": eye, "H": -eye, "c": [0] * n, "A": rows, "F": [[0] * n] * len(rows), "b": right, **box}


OCTAHEDRON = projection([list(s) for s in itertools.product((1, -1), repeat=3)], [1] * 8)
# Spjotvold, Kerrigan, Jones, Tondel and Johansen (2006): regions that do not meet face to face.
SPJOTVOLD: dict[str, Any] = {
    "Q": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "H": [[0, 0]] * 3,
    "c": [0] * 3,
    "A": [[1, 0, -1], [-1, 0, -1], [0, 1, -1], [0, -1, -1], ["3/4", "16/25", -1], ["-3/4", "-16/25", -1]],
    "b": [-1] * 6,
    "F": [[1, 0], [-1, 0], [0, -1], [0, 1], [1, 0], [-1, 0]],
    "A_t": SQUARE,
    "b_t": ["3/2"] * 4,
}
DEGENERATE: dict[str, tuple[dict[str, Any], int]] = {
    "square": (projection(SQUARE, [1] * 4), 0),
    "every row twice": (projection(SQUARE * 2, [1] * 8), 0),
    "rows scaled": (projection(SQUARE + [[3 * v for v in row] for row in SQUARE], [1] * 4 + [3] * 4), 0),
    "touching rows": (projection([*SQUARE, [1, 1], [1, -1], [-1, 1], [-1, -1]], [1] * 4 + [2] * 4), 0),
    "one point": (projection(SQUARE, [0] * 4), 0),
    "octahedron": (OCTAHEDRON, 0),
    "not face to face": (SPJOTVOLD, 0),
    "no bounds": ({**projection(SQUARE, [1] * 4), "A_t": [], "b_t": []}, 0),
    "a strip": ({**projection(SQUARE, [1] * 4), "A_t": [[1, 0], [-1, 0]], "b_t": [4, 4]}, 0),
    "u = x": ({"Q": [[1]], "H": [[0, 0]], "c": [0], "A": [[1], [-1]], "F": [[1, 0], [-1, 0]], "b": [0, 0], **BOX}, 0),
    "equation": (
        {
            "Q": EYE,
            "H": NONE[:2],
            "c": [0, 0],
            "A": [[1, 1], *SQUARE],
            "F": [[1, 0], *NONE],
            "b": [0, 1, 1, 1, 1],
            **BOX,
        },
        1,
    ),
    "equation twice": (
        {
            "Q": EYE,
            "H": NONE[:2],
            "c": [0, 0],
            "A": [[1, 1], [2, 2], *SQUARE],
            "F": [[1, 0], [2, 0], *NONE],
            "b": [0, 0, 1, 1, 1, 1],
            **BOX,
        },
        2,
    ),
}


def random_programs(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Programs of small integers: rows depend on each other, and many are tight at once."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, moves, m = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(3, 10))
        A = rng.integers(-2, 3, (m, moves))
        A[~A.any(axis=1), 0] = 1
        L = rng.integers(-1, 2, (moves, moves))
        eye = np.eye(n, dtype=int)
        yield {
            "Q": (L @ L.T + np.eye(moves, dtype=int)).tolist(),
            "H": rng.integers(-1, 2, (moves, n)).tolist(),
            "c": rng.integers(-1, 2, moves).tolist(),
            "A": A.tolist(),
            "F": rng.integers(-1, 2, (m, n)).tolist(),
            "b": rng.integers(0, 3, m).tolist(),
            "A_t": np.vstack([eye, -eye]).tolist(),
            "b_t": [2] * (2 * n),
        }


def regions_by_trying(program: Program) -> set[frozenset[int]]:
    """The tight rows of all regions with an interior: every active set is tried."""
    probe, found, tried = Probe(0.0), set(), set()
    for size in range(program.moves + 1):
        for active in itertools.combinations(range(program.A.nrows()), size):
            region = critical_region(program, active)
            if region is None or region.tight in tried:
                continue
            tried.add(region.tight)
            body = polyhedra_from_integers([region.rows.tolist()], program.inputs)[0]
            if probe.interior(body) is not None:
                found.add(region.tight)
    return found


def optimum_by_trying(program: Program, x: list[Fraction]) -> list[Fraction] | None:
    """The optimiser for one parameter, from the optimality conditions alone; None if nothing is feasible."""
    point = fmpq_mat(len(x) + 1, 1, [*(fmpq(v.numerator, v.denominator) for v in x), fmpq(1)])
    if any(v < 0 for v in (program.bounds * point).entries()):
        return None
    beta = program.right * point
    gradient = program.H * fmpq_mat(len(x), 1, point.entries()[:-1]) + program.c
    moves, equations = program.moves, list(range(program.equalities))
    A = program.A.tolist()
    for size in range(moves + 1):
        for active in itertools.combinations(range(program.A.nrows()), size):
            k = len(active)
            entries = [[*program.Q.tolist()[i], *(A[r][i] for r in active)] for i in range(moves)]
            entries += [[*A[r], *[fmpq(0)] * k] for r in active]
            right = [*(-v for v in gradient.entries()), *(beta[r, 0] for r in active)]
            try:
                matrix = fmpq_mat(moves + k, moves + k, [v for row in entries for v in row])
                found = matrix.solve(fmpq_mat(moves + k, 1, right)).entries()
            except ZeroDivisionError:
                continue
            u = fmpq_mat(moves, 1, found[:moves])
            slack = (beta - program.A * u).entries()
            signs = all(v >= 0 for r, v in zip(active, found[moves:], strict=True) if r not in equations)
            if signs and all(v >= 0 for v in slack) and not any(slack[r] for r in equations):
                return [Fraction(int(v.p), int(v.q)) for v in u.entries()]
    return None
