"""Random functions: each family gives a function of the package and the truth about it, from a seed and a size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

import cpwl
from cpwl import CPWL, InputError, Network
from soak.truth import Truth, of_maxmin, of_network, of_table, solve
from support.rational_pieces import cut_up, cuts

__all__ = ["FAMILIES", "random_network"]

Made = tuple[CPWL, Truth]


def rationals(array: Any) -> list[Any]:
    """Nested lists of rationals, for arrays of whole numbers."""
    return [rationals(row) for row in array] if np.ndim(array) else Fraction(int(array))  # type: ignore[return-value]


def _table(points: Any, simplices: Any, values: Any) -> Made:
    truth = of_table(rationals(points), np.asarray(simplices).tolist(), rationals(values))
    return CPWL.from_simplices(points, simplices, values), truth


def delaunay(rng: np.random.Generator, size: int) -> Made:
    """Small integers on a random triangulation."""
    n = int(rng.choice([1, 2, 2, 3, 4])) if size > 3 else 2
    count = {1: 2 + size, 2: 4 + size, 3: 5 + size // 2, 4: 6 + size // 4}[n]
    points = np.unique(rng.integers(0, 40, (count, n)), axis=0)
    if n == 1:
        simplices = np.stack([np.arange(len(points) - 1), np.arange(1, len(points))], axis=1)
    else:
        simplices = Delaunay(points, qhull_options="QJ Pp").simplices
        flat = [abs(np.linalg.det(np.diff(points[s], axis=0))) < 0.5 for s in simplices]
        if any(flat):  # joggling leaves flat simplices where points are cospherical: other points
            return delaunay(rng, size)
    return _table(points, simplices, rng.integers(-9, 10, (len(points), int(rng.integers(1, 3)))))


def grid(rng: np.random.Generator, size: int) -> Made:
    """A Kuhn grid with uneven axes."""
    n = int(rng.integers(1, 4))
    axes = [np.cumsum(rng.integers(1, 4, 2 + size // (2 * n))).tolist() for _ in range(n)]
    values = rng.integers(-9, 10, [len(a) for a in axes])
    p = CPWL.from_grid(axes, values)
    assert p.mesh is not None
    corners = [[Fraction(v, c[-1]) for v in c[:-1]] for c in p.mesh.corners.tolist()]
    place = {tuple(x): values[tuple(axes[k].index(v) for k, v in enumerate(x))] for x in map(tuple, corners)}
    truth = of_table(corners, p.mesh.simplices.tolist(), [[Fraction(int(place[tuple(x)]))] for x in corners])
    return p, truth


def maxmin(rng: np.random.Generator, size: int) -> Made:
    """A max-min expression on all of R^n."""
    n, k = int(rng.integers(1, 5)), 2 + size // 3
    f = rng.integers(-4, 5, (k, n + 1))
    rows = [rng.permutation(k)[: int(rng.integers(1, 4))].tolist() for _ in range(1 + size // 4)]
    return CPWL.from_maxmin(f.tolist(), rows), of_maxmin(rationals(f), rows)


def random_network(rng: np.random.Generator, size: int) -> tuple[Network, Truth]:
    """One to three hidden layers of small integers; some neurons repeated, opposite or dead."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    widths = [n, *(int(rng.integers(1, 3 + size // 4)) for _ in range(int(rng.integers(1, 4)))), m]
    layers = []
    for a, b in itertools.pairwise(widths):
        weight, bias = rng.integers(-3, 4, (b, a)), rng.integers(-3, 4, b)
        if b > 1 and rng.random() < 0.3:
            weight[1], bias[1] = weight[0] * int(rng.choice([-1, 0, 1, 2])), bias[0]
        layers.append((weight, bias))
    return Network(layers), of_network([(rationals(w), rationals(b)) for w, b in layers])


def extracted(rng: np.random.Generator, size: int) -> Made:
    """The regions of a network."""
    network, truth = random_network(rng, min(size, 8))
    return cpwl.extract(network, exact=True), truth


def lifted(rng: np.random.Generator, size: int) -> Made:
    """A function of few directions in more inputs: its pieces hold lines."""
    k, n = int(rng.integers(1, 3)), int(rng.integers(4, 9))
    f, project = rng.integers(-4, 5, (2 + size // 3, k + 1)), rng.integers(-2, 3, (k, n))
    full = np.concatenate([f[:, :-1] @ project + rng.integers(-2, 3, n), f[:, -1:]], axis=1)
    rows = [rng.permutation(len(f))[: int(rng.integers(1, 4))].tolist() for _ in range(1 + size // 4)]
    return CPWL.from_maxmin(full.tolist(), rows), of_maxmin(rationals(full), rows)


def cut(rng: np.random.Generator, size: int) -> Made:
    """Pieces that do not meet face to face."""
    p, truth = (maxmin if rng.random() < 0.5 else delaunay)(rng, size // 2 + 1)
    return cut_up(p, cuts(p.dim, int(rng.integers(1, 4)), int(rng.integers(1 << 30)))), truth


def breakpoints(rng: np.random.Generator, size: int) -> Made:
    """One input, all of R."""
    x = np.unique(rng.integers(-30, 30, size + 2))
    y = rng.integers(-9, 10, len(x))
    far = [x[0] - 10**6, *x.tolist(), x[-1] + 10**6]
    left, right = (int(v) for v in rng.integers(-3, 4, 2))
    ends = [y[0] - left * 10**6, *y.tolist(), y[-1] + right * 10**6]
    segments = [[i, i + 1] for i in range(len(far) - 1)]
    truth = of_table(rationals([[v] for v in far]), segments, rationals([[v] for v in ends]))
    return CPWL.from_breakpoints(x.tolist(), y.tolist(), left_slope=left, right_slope=right), truth


def symmetric(rng: np.random.Generator, size: int) -> Made:
    """A formula with mirrors, which need not pass through 0, or an odd one: ``f(x) - f(-x)``."""
    odd = bool(rng.random() < 0.5)
    n, k = int(rng.integers(1, 3 if odd else 4)), 2 + size // 4
    f, center = rng.integers(-4, 5, (k, n + 1)), rng.integers(-2, 3, n).tolist()
    rows = [rng.permutation(k)[: int(rng.integers(1, 4))].tolist() for _ in range(1 + size // 6)]
    folded = [not odd and (i == 0 or bool(rng.random() < 0.5)) for i in range(n)]
    inner = of_maxmin(rationals(f), rows)

    def text(sign: int) -> str:
        x = [f"abs(x{i} - ({center[i]}))" if folded[i] else f"({sign}*x{i})" for i in range(n)]
        laws = [" + ".join([*(f"{c}*{v}" for c, v in zip(law, x, strict=False)), str(law[-1])]) for law in f.tolist()]
        lows = [f"min({', '.join([laws[i] for i in row] * 2)})" for row in rows]
        return f"max({', '.join(lows * 2)})"

    def value(x: Sequence[Fraction]) -> list[Fraction] | None:
        plus = inner.value([abs(v - center[i]) if folded[i] else v for i, v in enumerate(x)])
        minus = inner.value([-v for v in x]) if odd else [Fraction(0)]
        assert plus is not None
        assert minus is not None
        return [plus[0] - minus[0]]

    formula = f"{text(1)} - {text(-1)}" if odd else text(1)
    return cpwl.parse(formula, variables=[f"x{i}" for i in range(n)]), Truth(n, 1, value)


def optimiser(rng: np.random.Generator, size: int) -> Made:
    """The optimiser of a random program; the truth is found by trying every set of tight rows."""
    n, m, k = int(rng.integers(1, 4)), int(rng.integers(1, 3)), 2 + size // 5
    H, A, F = rng.integers(-3, 4, (m, n)), rng.integers(-3, 4, (k, m)), rng.integers(-2, 3, (k, n))
    root, box = rng.integers(-2, 3, (m, m)), np.vstack([np.eye(n, dtype=int), -np.eye(n, dtype=int)])
    Q = root.T @ root + np.eye(m, dtype=int)
    program = {"Q": Q, "H": H, "A": A, "b": [3] * k, "F": F, "A_t": box, "b_t": [5] * (2 * n)}
    sets = [s for size in range(m + 1) for s in itertools.combinations(range(k), size)]
    sets = [s for s in sets if np.linalg.matrix_rank(A[list(s)]) == len(s)]

    def value(x: Sequence[Fraction]) -> list[Fraction] | None:
        top = [-sum((int(h) * v for h, v in zip(row, x, strict=True)), Fraction(0)) for row in H]
        right = [3 + sum((int(h) * v for h, v in zip(row, x, strict=True)), Fraction(0)) for row in F]
        for tight in sets:
            own = [[*map(int, A[i]), *[0] * len(tight)] for i in tight]
            matrix = [[*map(int, Q[i]), *(int(A[j, i]) for j in tight)] for i in range(m)] + own
            found = [row[0] for row in solve(rationals(matrix), [[v] for v in (*top, *(right[i] for i in tight))])]
            u, price = found[:m], found[m:]
            left = [sum((int(a) * v for a, v in zip(row, u, strict=True)), Fraction(0)) for row in A]
            if all(v >= 0 for v in price) and all(a <= b for a, b in zip(left, right, strict=True)):
                return u
        return None

    try:
        return cpwl.solve_mpqp(program), Truth(n, m, value)
    except InputError:  # a flat feasible set: another program
        return optimiser(rng, size)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Made]] = {
    f.__name__: f for f in (delaunay, grid, maxmin, extracted, lifted, cut, breakpoints, symmetric, optimiser)
}
