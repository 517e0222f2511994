"""`mpc`: from a linear plant to the program of its model predictive controller, and whether that is stable.

The controller minimises the sum of ``x_k'Q x_k + u_k'R u_k`` over `N` steps and ``x_N'P x_N``, subject to constraints
on states, inputs and their rates, and applies the first input. The terminal weight of LQR solves a Riccati equation and
is irrational. Rounded, it would break the inequality on which stability rests. So the *gain* `K` is rounded, and `P` is
the exact solution of its Lyapunov equation ``P = (A + B K)'P (A + B K) + Q + K'R K``: then the axioms of Mayne,
Rawlings, Rao and Scokaert (2000) hold, or do not hold, for the very numbers of the program, and are decided in
rationals.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_choice, check_count, within_float64
from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import exact_matrix, fraction_array, fractions_of, negative_direction
from cpwl.function.cpwl import CPWL
from cpwl.function.make import polyhedra_from_integers
from cpwl.geometry.bodies import irredundant
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.mpqp.program import table_of
from cpwl.mpqp.solve import solve_mpqp
from cpwl.progress import Shown

_Matrix = NDArray[np.object_]
_Rows = tuple[_Matrix, _Matrix]  # G, h of G z <= h
_DIGITS = (4, 7, 10, 13)  # significant digits of the gain that are tried; few keep all numbers short
_STEPS = 200  # of the iteration for the terminal set


@dataclass(frozen=True, slots=True)
class Axiom:
    """One hypothesis of the stability theorem, and whether it holds."""

    name: str
    holds: bool
    why: str


@dataclass(frozen=True, slots=True)
class Stability:
    """Whether the closed loop is proved to be stable on all feasible states, axiom by axiom, decided in rationals.

    If all axioms hold, then from every feasible state the program stays feasible, constraints are satisfied for ever,
    the optimal cost falls by at least ``x'Q x + u'R u`` in each step, and the origin is asymptotically stable.
    """

    axioms: tuple[Axiom, ...]

    def __bool__(self) -> bool:
        return all(axiom.holds for axiom in self.axioms)

    def __str__(self) -> str:
        head = "stable" if self else "stability is not proved"
        lines = [f"  {'yes' if axiom.holds else 'no '}  {axiom.name}: {axiom.why}" for axiom in self.axioms]
        return "\n".join([head, *lines])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """A model predictive controller before it is solved.

    Attributes
    ----------
    program
        The matrices that `cpwl.solve_mpqp` takes, all rational.
    parameters
        The names of the parameters: states, and previous inputs or references where they matter.
    A, B
        The plant.
    K, P
        The gain ``u = K x`` of the terminal controller, None if there is none, and the terminal weight.
    terminal
        The terminal set ``G x <= h``; None if there is none.
    stability
        Whether the closed loop is proved to be stable, with reasons.
    """

    program: dict[str, Any]
    parameters: tuple[str, ...]
    A: _Matrix
    B: _Matrix
    K: _Matrix | None
    P: _Matrix
    terminal: Polyhedron | None
    stability: Stability

    def __repr__(self) -> str:
        sizes = {"parameter": self.parameters, "decision variable": self.program["Q"], "row": self.program["b"]}
        said = ", ".join(counted(len(many), one) for one, many in sizes.items())
        return f"Plan({said}, {'stable' if self.stability else 'stability open'})"

    @property
    def inputs(self) -> int:
        """How many inputs the plant has: the first so many decision variables are the move."""
        return int(self.B.shape[1])

    @property
    def loop(self) -> tuple[_Matrix, _Matrix]:
        """The step ``A t + B u`` of all parameters `t`: of states; previous inputs become `u`, references stay."""
        n, m, width = len(self.A), self.inputs, len(self.parameters)
        before = m * any(name.endswith("before") for name in self.parameters)
        step = fraction_array(np.eye(width, dtype=np.int64))
        step[: n + before] = 0
        step[:n, :n] = self.A
        return step, np.concatenate([self.B, fraction_array(np.eye(width - n, m, dtype=np.int64) * bool(before))])

    def solve(
        self,
        *,
        executor: Executor | None = None,
        max_regions: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Shown = None,
    ) -> CPWL:
        """The law: the first move as a function of the parameters, exact and complete (`cpwl.solve_mpqp`)."""
        limits: dict[str, Any] = {"max_regions": max_regions, "checkpoint": checkpoint, "progress": progress}
        return solve_mpqp(self.program, outputs=slice(0, self.inputs), executor=executor, **limits)


@within_float64()
def mpc(
    A: Any,
    B: Any = None,
    Q: Any = None,
    R: Any = None,
    N: int = 1,
    *,
    u: Any = None,
    x: Any = None,
    du: Any = None,
    P: Any = "lqr",
    terminal: Any = "lqr",
    x0: Any = None,
    soft: Any = None,
    reference: Any = None,
) -> Plan:
    """The program of the model predictive controller of ``x+ = A x + B u``.

    It minimises the sum of ``x_k'Q x_k + u_k'R u_k`` for ``k = 0 .. N - 1`` and ``x_N'P x_N``. Floats count with their
    exact values; write "0.1" for one tenth, which also keeps the numbers of the law short.

    Parameters
    ----------
    A, B
        The plant. `A` may be a discrete state-space model of another library, with attributes `A`, `B` and a sampling
        time `dt`, as `control.StateSpace` has; then leave `B` out.
    Q, R, N
        The weights, and the number of steps.
    u, x, du
        Constraints of inputs, of states (from the first step on) and of changes of inputs: ``(low, high)``, numbers
        or vectors, None for no bound; or ``(G, h)`` for ``G z <= h``. With `du` the previous input is a parameter; with
        a terminal set, the change from the last input to that of the terminal controller is bounded, too.
    P
        The terminal weight: "lqr", or a matrix.
    terminal
        The terminal set: "lqr", the largest set on which ``u = K x`` satisfies all constraints in all future steps;
        None; or ``(G, h)``.
    x0
        The set of states for which the law is computed; by default the states that `x` allows.
    soft
        A weight w: constraints of `x` may be violated in step k by s_k, at the cost w s_k^2.
    reference
        ``(low, high)`` or ``(G, h)`` for a set point r of the state, which becomes a parameter: the cost is that of
        ``x_k - r``. Then write ``terminal=None``.

    Returns
    -------
    Plan
        The plan, with `program`, `K`, `P`, `terminal` and `stability`; `solve` returns the law.

    Raises
    ------
    InputError
        If the shapes do not match, the weights are not definite, or no gain stabilises the plant.

    Examples
    --------
    >>> plan = mpc([[1, 1], [0, 1]], [["0.5"], [1]], [[1, 0], [0, 1]], [["0.1"]], 3, u=(-1, 1), x=(-5, 5))
    >>> bool(plan.stability)
    True
    >>> plan.solve().num_pieces
    21
    """
    A, B = _plant(A, B)
    n, m = B.shape
    Q, R = _weight(Q, n, "Q"), _weight(R, m, "R")
    check_count(N, "N", least=1)
    sets = {name: _rows(value, size, name) for name, value, size in (("u", u, m), ("x", x, n), ("du", du, m))}
    if reference is not None and terminal is not None:
        raise InputError("a terminal set around the origin does not fit a `reference`: write `terminal=None`")
    if soft is not None:
        price = table_of([[soft]], "soft")[0, 0]
        if price <= 0:
            raise InputError(f"`soft` must be more than 0, not {price}", name="soft")
    K = _gain(A, B, Q, R) if isinstance(P, str) or isinstance(terminal, str) else None
    P = _lyapunov(A, B, Q, R, K, P) if isinstance(P, str) else _weight(P, n, "P")
    if isinstance(terminal, str):
        check_choice(terminal, ("lqr",), "terminal")
        assert K is not None
        end: _Rows | None = _invariant(A + B @ K, _terminal_rows(sets, A, B, K))
    else:
        end = None if terminal is None else _rows(terminal, n, "terminal")
    start = _rows(x if x0 is None else x0, n, "x0")
    flags = {"rates": sets["du"] is not None, "tracks": reference is not None, "soft": soft is not None}
    horizon = _Horizon(A, B, int(N), **flags, whole=not isinstance(terminal, str))
    program = horizon.program((Q, R, P), sets, end, start, _rows(reference, n, "reference"), soft, K)
    body = None if end is None else polyhedra_from_integers([_integer(end).tolist()], n)[0]
    stability = _stability((A, B, Q, R, P, K), sets, end, None if x0 is None else start, flags)
    return Plan(program, horizon.names(), A, B, K, P, body, stability)


# What is given, as matrices of rationals.


def _plant(A: Any, B: Any) -> tuple[_Matrix, _Matrix]:
    """The matrices of the plant, or of a model of another library."""
    if all(hasattr(A, name) for name in ("A", "B", "dt")):
        if B is not None:
            raise InputError(
                "a model has its own `B`: name the other arguments, as `cpwl.mpc(model, Q=.., R=.., N=..)`"
            )
        if not A.dt:  # 0 or None: continuous, or not said
            raise InputError(
                f"this model is not discrete (dt = {A.dt!r}): sample it first, as `control.c2d(model, dt)`"
            )
        A, B = A.A, A.B
    matrix, gain = table_of(A, "A"), table_of(B, "B")
    if matrix.shape[0] != matrix.shape[1] or gain.shape[0] != len(matrix):
        raise InputError(f"`A` must be (n, n) and `B` (n, m), not {matrix.shape} and {gain.shape}")
    return matrix, gain


def _weight(value: Any, size: int, name: str) -> _Matrix:
    """A symmetric weight without negative directions; a number is that multiple of the identity."""
    if value is not None and np.ndim(value) == 0:
        value = table_of([[value]], name) * fraction_array(np.eye(size, dtype=np.int64))
    table = table_of(value, name)
    if table.shape != (size, size):
        raise InputError(f"`{name}` must be a number or a ({size}, {size}) matrix, not {table.shape}", name=name)
    if (table != table.T).any():
        raise InputError(f"`{name}` is not symmetric: ({name} + {name}') / 2 gives the same cost", name=name)
    v = negative_direction(exact_matrix(table), strictly=True)
    if v is not None:
        shown = f"v'{name}v < 0 for v = ({', '.join(map(str, v))})"
        raise InputError(f"`{name}` must be positive semidefinite, but {shown}", name=name, direction=v)
    return table


def _rows(value: Any, size: int, name: str) -> _Rows | None:
    """A set ``G z <= h``, given as such or as a box; None if nothing is bounded."""
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InputError(f"`{name}` must be (low, high) or (G, h), not {value!r:.60}", name=name)
    first, second = (np.asarray(part, dtype=object) for part in value)
    if first.ndim == 2:
        G, h = table_of(first, name), table_of(second.reshape(1, -1), name)[0]
        if second.shape == G.shape == (1, 1):
            raise InputError(f"`{name}` may be (low, high) or (G, h): write bounds as numbers, h as a list", name=name)
        if G.shape != (len(h), size):
            raise InputError(f"`{name}` = (G, h) must have shapes (k, {size}) and (k,), not {G.shape} and {h.shape}")
        return G, h
    rows, right = [], []
    for sign, ends in ((1, second), (-1, first)):
        if ends.shape not in ((), (size,)):
            message = f"must be a number or {size} numbers, not an array of shape {ends.shape}"
            raise InputError(f"each bound of `{name}` {message}", name=name)
        for j, end in enumerate(np.broadcast_to(ends, (size,))):
            if end is None or (isinstance(end, float) and end == sign * math.inf):
                continue
            rows.append([sign * int(i == j) for i in range(size)])
            right.append(sign * table_of([[end]], name)[0, 0])
    if not rows:
        return None
    G, h = fraction_array(rows), fraction_array(right)
    both = [(v, -w) for g, v in zip(G, h, strict=True) for k, w in zip(G, h, strict=True) if (g == -k).all()]
    if any(high < low for high, low in both):
        raise InputError(f"`{name}` is empty: a lower bound is above the upper one", name=name)
    return G, h


# Exact linear algebra and sets.


def _gain(A: _Matrix, B: _Matrix, Q: _Matrix, R: _Matrix) -> _Matrix:
    """The gain of LQR, ``u = K x``, rounded to as few digits as leave the loop stable."""
    from scipy.linalg import LinAlgError, solve_discrete_are

    a, b, q, r = (np.asarray(table, dtype=np.float64) for table in (A, B, Q, R))
    message = "no LQR gain was found: the plant must be stabilisable, `R` definite and `Q` see all unstable modes. "
    try:
        X = solve_discrete_are(a, b, q, r)
        near = -np.linalg.solve(r + b.T @ X @ b, b.T @ X @ a)
    except (LinAlgError, ValueError) as error:
        raise InputError(f"{message}Give a matrix `P`, and `terminal=None` ({error})") from None
    largest = float(np.abs(near).max(initial=0.0))
    for digits in _DIGITS:
        step = Fraction(10) ** (math.floor(math.log10(largest or 1.0)) - digits + 1)
        K = np.array([[round(Fraction(v) / step) * step for v in row] for row in near.tolist()], dtype=object)
        M = A + B @ K
        weight = _solve_lyapunov(M, fraction_array(np.eye(len(A), dtype=np.int64)))
        if weight is not None and negative_direction(exact_matrix(weight)) is None:
            return K
    raise InputError(f"{message}The rounded gain does not make the plant stable")


def _lyapunov(A: _Matrix, B: _Matrix, Q: _Matrix, R: _Matrix, K: _Matrix | None, P: str) -> _Matrix:
    """The cost of ``u = K x`` for ever: the exact solution of ``P = M'P M + Q + K'R K`` with ``M = A + B K``."""
    check_choice(P, ("lqr",), "P")
    assert K is not None
    found = _solve_lyapunov(A + B @ K, Q + K.T @ R @ K)
    assert found is not None
    return found


def _solve_lyapunov(M: _Matrix, C: _Matrix) -> _Matrix | None:
    """The symmetric `P` with ``P = M'P M + C``: linear equations for its upper triangle; None if they are singular."""
    n = len(M)
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    number = {pair: k for k, pair in enumerate(pairs)}
    left = fraction_array(np.eye(len(pairs), dtype=np.int64))
    for k, (i, j) in enumerate(pairs):
        for a in range(n):
            for b in range(n):
                left[k, number[min(a, b), max(a, b)]] -= M[a, i] * M[b, j]
    right = np.array([[C[pair]] for pair in pairs], dtype=object)
    try:
        found = fractions_of(exact_matrix(left).solve(exact_matrix(right)))
    except ZeroDivisionError:
        return None
    return np.array([[found[number[min(i, j), max(i, j)]] for j in range(n)] for i in range(n)], dtype=object)


def _integer(rows: _Rows) -> _Matrix:
    """The rows ``(g, h)`` as primitive integers."""
    both = np.column_stack([rows[0], rows[1]])
    return integer_rows(np.ones(both.shape), both)


def _largest(rows: _Rows, objectives: _Matrix) -> list[Fraction | None]:
    """The largest value of each objective on ``G z <= h``, exactly; None where it is unbounded."""
    body = polyhedra_from_integers([_integer(rows).tolist()], rows[0].shape[1])[0]
    lp, whole = LinearProgram(body.A, body.b), body.integer()
    return [lp.maximize_exactly(whole, list(row)).value for row in objectives]


def _stacked(parts: list[_Rows | None]) -> _Rows | None:
    there = [part for part in parts if part is not None]
    if not there:
        return None
    return np.concatenate([G for G, _ in there]), np.concatenate([h for _, h in there])


def _terminal_rows(sets: dict[str, _Rows | None], A: _Matrix, B: _Matrix, K: _Matrix) -> _Rows:
    """What the terminal controller ``u = K x`` must satisfy in each step, as rows on `x`."""
    move = K @ (A + B @ K) - K  # how the input changes from one step to the next
    mapped = [(sets["u"], K), (sets["du"], move)]
    found = _stacked([sets["x"], *((part[0] @ by, part[1]) for part, by in mapped if part is not None)])
    if found is None:
        raise InputError("there are no constraints: write `terminal=None`")
    if (found[1] <= 0).any():
        raise InputError("the origin is not inside the constraints, so there is no terminal set: write `terminal=None`")
    return found


def _invariant(M: _Matrix, rows: _Rows) -> _Rows:
    """The largest set in ``G x <= h`` that ``x+ = M x`` does not leave (Gilbert and Tan 1991), with exact programs."""
    kept, new = rows, rows
    for _ in range(_STEPS):
        after = new[0] @ M
        best = _largest(kept, after)
        left = [k for k, value in enumerate(best) if value is None or value > new[1][k]]
        if not left:
            return _slim(kept)
        new = after[left], new[1][left]
        kept = np.concatenate([kept[0], new[0]]), np.concatenate([kept[1], new[1]])
    raise LimitError(
        f"the terminal set is not complete after {_STEPS} steps: bound the states, or write `terminal=None`"
    )


def _slim(rows: _Rows) -> _Rows:
    """The same set without redundant rows; the origin is inside."""
    n = rows[0].shape[1]
    body = polyhedra_from_integers([_integer(rows).tolist()], n)
    whole = irredundant(body, fraction_array(np.zeros((1, n), dtype=np.int64)))[0].integer()
    return fraction_array(whole[:, :-1]), fraction_array(whole[:, -1])


# The program.


class _Horizon:
    """States and inputs as matrices times decision variables (inputs, then slacks) and parameters, side by side."""

    def __init__(
        self, A: _Matrix, B: _Matrix, steps: int, *, rates: bool, tracks: bool, soft: bool, whole: bool
    ) -> None:
        (n, m) = B.shape
        self.n, self.m, self.steps, self.rates, self.tracks = n, m, steps, rates, tracks
        self.whole = whole  # whether the last state, too, has the constraints of states: a terminal set may be inside
        self.moves = steps * m + steps * soft
        self.width = n + m * rates + n * tracks
        self.states = [self._unit(n, self.moves)]
        for k in range(steps):
            after = A @ self.states[-1]
            after[:, k * m : (k + 1) * m] += B
            self.states.append(after)

    def names(self) -> tuple[str, ...]:
        """Of the parameters, in order."""
        before = [f"u{j} before" for j in range(self.m)] if self.rates else []
        wanted = [f"r{j}" for j in range(self.n)] if self.tracks else []
        return (*(f"x{j}" for j in range(self.n)), *before, *wanted)

    def _unit(self, count: int, first: int) -> _Matrix:
        """The variables and parameters from number `first` on."""
        return fraction_array(np.eye(count, self.moves + self.width, first, dtype=np.int64))

    def _move(self, k: int) -> _Matrix:
        """Input `k`; number -1 is the previous one."""
        return self._unit(self.m, k * self.m if k >= 0 else self.moves + self.n)

    def program(
        self,
        weights: tuple[_Matrix, _Matrix, _Matrix],
        sets: dict[str, _Rows | None],
        end: _Rows | None,
        start: _Rows | None,
        reference: _Rows | None,
        soft: Any,
        K: _Matrix | None,
    ) -> dict[str, Any]:
        """The matrices that `solve_mpqp` takes."""
        Q, R, P = weights
        z, wanted = self.moves, self._unit(self.n, self.moves + self.width - self.n) * int(self.tracks)
        cost = fraction_array(np.zeros((z, z + self.width), dtype=np.int64))
        for k, state in enumerate(self.states[1:], 1):
            cost += state[:, :z].T @ (Q if k < self.steps else P) @ (state - wanted)
        for k in range(self.steps):
            own = slice(k * self.m, (k + 1) * self.m)
            cost[own, own] += R
        for j in range(self.steps * self.m, z):
            cost[j, j] += fraction_array([soft])[0]
        of_parameters = [*_put(start, self.states[0]), *_put(reference, wanted)]
        table = np.concatenate([*self._rows(sets, end, soft is not None, K), *of_parameters])
        decides = table[:, :z].astype(bool).any(axis=1)
        both = list(dict.fromkeys(map(tuple, table[decides])))
        if not both:
            raise InputError("no input is bounded and no later state: the solution is the LQR gain; give `u` or `x`")
        rows = np.array(both, dtype=object)
        bounds = table[~decides, z:]
        bounds = bounds[bounds[:, :-1].astype(bool).any(axis=1) | (bounds[:, -1] < 0)]  # 0 <= b says something if b < 0
        return {
            "Q": cost[:, :z], "H": cost[:, z:], "c": fraction_array([0] * z),
            "A": rows[:, :z], "F": -rows[:, z:-1], "b": rows[:, -1], "A_t": bounds[:, :-1], "b_t": bounds[:, -1],
        }  # fmt: skip

    def _rows(self, sets: dict[str, _Rows | None], end: _Rows | None, soft: bool, K: _Matrix | None) -> list[_Matrix]:
        """Constraints of all steps, rows ``(a, b)`` of ``a (z, theta) <= b``."""
        found = [fraction_array(np.zeros((0, self.moves + self.width + 1), dtype=np.int64))]
        for k in range(self.steps):
            found += _put(sets["u"], self._move(k))
            if self.rates:
                found += _put(sets["du"], self._move(k) - self._move(k - 1))
        for k in range(1, self.steps + self.whole):
            for rows in _put(sets["x"], self.states[k]):
                if soft:
                    rows[:, self.steps * self.m + k - 1] -= Fraction(1)
                found.append(rows)
        if soft:
            slacks = self._unit(self.steps, self.steps * self.m)
            found.append(np.column_stack([-slacks, slacks[:, 0] * 0]))
        found += _put(end, self.states[-1])
        if self.rates and end is not None and K is not None:  # the terminal controller begins within the rates
            found += _put(sets["du"], K @ self.states[-1] - self._move(self.steps - 1))
        return found


def _put(rows: _Rows | None, by: _Matrix) -> list[_Matrix]:
    """``G y <= h`` for ``y = by (z, theta)``, as rows ``(G by, h)``; none if there are no constraints."""
    return [] if rows is None else [np.column_stack([rows[0] @ by, rows[1]])]


# Stability.


def _stability(
    matrices: tuple[_Matrix, _Matrix, _Matrix, _Matrix, _Matrix, _Matrix | None],
    sets: dict[str, _Rows | None],
    end: _Rows | None,
    start: _Rows | None,
    flags: dict[str, bool],
) -> Stability:
    """The axioms, each decided in rationals."""
    A, B, Q, R, P, K = matrices
    found = []
    for name, weight in (("Q", Q), ("R", R), ("P", P)):
        v = negative_direction(exact_matrix(weight))
        why = "all pivots are positive" if v is None else f"v'{name}v = 0 for v = ({', '.join(map(str, v))})"
        found.append(Axiom(f"{name} is positive definite", v is None, why))
    if flags["soft"] or flags["tracks"]:
        said = "constraints may be violated" if flags["soft"] else "the set point is not the origin"
        found.append(Axiom("the problem is regulation under hard constraints", False, said))
    name = "the law is there for all states that are allowed"
    if start is not None and sets["x"] is None:
        found.append(Axiom(name, False, "`x0` bounds the states and `x` does not, so that the loop may leave `x0`"))
    elif start is not None and sets["x"] is not None:
        found.append(_contained(name, sets["x"], start))
    if end is None or K is None:
        said = "write terminal='lqr'" if end is None else "no terminal controller is known: write P='lqr'"
        return Stability((*found, Axiom("there is a terminal set with a controller", False, said)))
    M = A + B @ K
    rest = P - M.T @ P @ M - Q - K.T @ R @ K
    exactly = "P is exactly the cost of u = K x" if not rest.any() else "P - M'PM - Q - K'RK has no negative direction"
    falls = negative_direction(exact_matrix(rest), strictly=True) is None
    said = exactly if falls else "P - M'PM - Q - K'RK has a negative direction"
    found.append(Axiom("the terminal cost falls under u = K x", falls, said))
    found.append(Axiom("the origin is inside the terminal set", bool((end[1] > 0).all()), f"{len(end[1])} rows"))
    found.append(_contained("u = K x stays in the terminal set", end, (end[0] @ M, end[1])))
    try:
        inside = _terminal_rows(sets, A, B, K)
    except InputError as error:
        return Stability((*found, Axiom("u = K x satisfies all constraints there", False, str(error))))
    return Stability((*found, _contained("u = K x satisfies all constraints there", end, inside)))


def _contained(name: str, body: _Rows, rows: _Rows) -> Axiom:
    """Whether a set satisfies some rows, by exact linear programs."""
    best = _largest(body, rows[0])
    over = [math.inf if v is None else float(v - h) for v, h in zip(best, rows[1], strict=True)]
    worst = max(over, default=0.0)
    holds = all(v is not None and v <= h for v, h in zip(best, rows[1], strict=True))
    return Axiom(name, holds, f"{len(over)} linear programs" if holds else f"a row is violated by {worst:.3g}")
