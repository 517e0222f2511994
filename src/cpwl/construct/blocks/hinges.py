"""One hidden layer: ``p = r + sum_H w_H relu(l_H)``, one neuron for each hyperplane on which the function bends.

It exists iff the jump `w_H` is the same all along each hyperplane (consistent variation; Chua and Deng 1988):
no bend hyperplane may cut a piece, and ``f_i - sum over H with X_i on its + side of w_H l_H`` must be the same
for all pieces. That identity is the proof. The affine rest `r` costs 0, 1 or 2 neurons: hinges may be flipped,
``relu(l) = l + relu(-l)``, to absorb it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.one_layer import one_layer
from cpwl.construct.blocks.sides import sides
from cpwl.errors import ConstructionError
from cpwl.exact.flint import from_flint, to_flint
from cpwl.exact.integers import sign
from cpwl.function import CPWL
from cpwl.function.bends.neighbours import Neighbours
from cpwl.geometry.probe import Probe
from cpwl.network import Network

__all__ = ["Hinges", "find_hinges", "hinge_network"]

_FEW = 14  # hinges whose flips are all tried when their normals are dependent


@dataclass(frozen=True, slots=True, eq=False)
class Hinges:
    """``p_o = rest_o + sum_H jump[H, o] relu(a_H . x - b_H)``: integer rows ``(a, b)``, `rest` ``(m, n + 1)``."""

    rows: NDArray[np.object_]
    jump: NDArray[np.object_]
    rest: NDArray[np.object_]


def hinge_network(analysis: Analysis) -> Network:
    """The network with one neuron per bend hyperplane and as few as possible for the affine rest.

    Raises `ConstructionError` if the function has no such form. Exact data.

    >>> hinge_network(Analysis(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))).sizes.neurons
    2
    """
    if analysis.function.dim == 1:  # found by walking along the line: no pair of a piece and a breakpoint is looked at
        return one_layer(analysis.profile)
    return _network(find_hinges(analysis), analysis.function)


def find_hinges(analysis: Analysis) -> Hinges:
    """The consistent jumps of all bend hyperplanes; a piece that contradicts them is named in the error."""
    p = analysis.function
    if p.tol:
        raise ConstructionError("one hidden layer is found exactly, and this data has a tolerance", tol=p.tol)
    rows, jump = _jumps(p, analysis.neighbours)
    on = _sides(p, rows)
    # Everything that differs between pieces can be seen on the essential coordinates, and there in integers.
    columns = np.append(analysis.divided.coordinates, p.dim)
    forms = np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)
    laws = p.laws.integer()
    rest = np.zeros((p.outputs, p.dim + 1), dtype=object)
    for o in range(p.outputs):
        below = math.lcm(*(w.denominator for w in jump[:, o]))
        terms = forms * np.array([int(w * below) for w in jump[:, o]], dtype=object).reshape(-1, 1)
        law, d = laws[:, o, :-1][:, columns], laws[:, o, -1:]
        change = (on - on[:1]).dot(terms[:, columns]) if len(rows) else np.zeros((1, 1), dtype=object)
        wrong = np.flatnonzero(((law * d[0] - law[0] * d) * below != d * d[0] * change).any(axis=1))
        if len(wrong):
            message = f"piece {wrong[0]} does not follow the jumps of one hidden layer"
            raise ConstructionError(message, piece=int(wrong[0]))
        own = [Fraction(v, laws[0, o, -1]) for v in laws[0, o, :-1]]
        rest[o] = np.array(own, dtype=object) - on[0].dot(forms * jump[:, o : o + 1])
    return Hinges(rows, jump, rest)


def _jumps(p: CPWL, found: Neighbours) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Each hyperplane with a bend, as a row with first slope positive, and its jumps, which must be constant."""
    laws = p.laws.integer()
    # Laws that agree on a hyperplane differ by a multiple of its row: one slope tells.
    c = np.argmax(found.row[:, :-1] != 0, axis=1)
    every = np.arange(len(c))
    lead = found.row[every, c]
    f, g = laws[found.two], laws[found.one]
    top = f[every, :, c] * g[..., -1] - g[every, :, c] * f[..., -1]
    below = f[..., -1] * g[..., -1] * lead[:, None]
    bent = np.flatnonzero((top != 0).any(axis=1))
    # relu(l) and relu(-l) differ by l only: the jump does not depend on the row's sense.
    sense = found.row[bent] * sign(lead[bent])[:, None].astype(object)
    planes: dict[tuple[int, ...], int] = {}
    first = np.array(
        [planes.setdefault(tuple(row), k) for k, row in zip(bent.tolist(), sense, strict=True)], dtype=np.int64
    )
    changed = np.flatnonzero((top[bent] * below[first] != top[first] * below[bent]).any(axis=1))
    if len(changed):
        piece = int(found.one[bent[changed[0]]])
        raise ConstructionError(f"the jump changes along a hyperplane of piece {piece}", piece=piece)
    rows = np.array(list(planes), dtype=object).reshape(len(planes), p.dim + 1)
    jump = [[Fraction(t, b) for t, b in zip(top[k], below[k], strict=True)] for k in planes.values()]
    return rows, np.array(jump, dtype=object).reshape(len(planes), p.outputs)


def _sides(p: CPWL, rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """``[i, h]``: 1 where piece `i` has ``a.x >= b`` for row `h`, 0 where ``a.x <= b``; an error where it is cut."""
    high = []
    for side in sides(p, np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)):
        if isinstance(side, int):
            raise ConstructionError(f"a bend hyperplane cuts piece {side}", piece=side)
        high.append(side > 0)
    return np.array(high, dtype=np.int64).reshape(len(rows), p.num_pieces).T.astype(object)


# --- the affine rest ------------------------------------------------------------------------------------------


def _network(hinges: Hinges, p: CPWL) -> Network:
    """Hinges flipped so that the rest costs few neurons; all outputs share hinges, flips and partners."""
    if len(hinges.rows) == 0:
        return Network([(hinges.rest[:, :-1], hinges.rest[:, -1])])
    forms = np.concatenate([hinges.rows[:, :-1], -hinges.rows[:, -1:]], axis=1)
    flips = _flips(hinges)
    rest = hinges.rest + hinges.jump.T.dot(forms * flips[:, None])
    neurons = [list(form) for form in forms * (1 - 2 * flips)[:, None]]
    columns = [list(jump) for jump in hinges.jump]
    constant = rest[:, -1].copy()
    for o in range(p.outputs):
        if not rest[o, :-1].any():
            continue
        k = _parallel(hinges.rows, rest[o, :-1])
        if k is not None:  # a multiple of a hinge's form: c l = c relu(l) - c relu(-l)
            form = np.array(neurons[k], dtype=object)
            c = _ratio(rest[o, :-1], form[:-1])
            columns[k][o] += c
            constant[o] -= c * form[-1]
            _add(neurons, columns, -form, o, -c)
        else:
            lowest = _least(p, rest[o, :-1])
            carried = np.array([*rest[o, :-1], 0 if lowest is None else -lowest], dtype=object)
            _add(neurons, columns, carried, o, Fraction(1))
            if lowest is None:
                _add(neurons, columns, -carried, o, Fraction(-1))
            else:
                constant[o] += lowest
    weight = np.array(neurons, dtype=object)
    return Network([(weight[:, :-1], weight[:, -1]), (np.array(columns, dtype=object).T, constant)])


def _add(
    neurons: list[list[Fraction]],
    columns: list[list[Fraction]],
    form: NDArray[np.object_],
    output: int,
    weight: Fraction,
) -> None:
    """One more neuron, or one more reader of an equal one."""
    if list(form) not in neurons:
        neurons.append(list(form))
        columns.append([Fraction(0)] * len(columns[0]))
    columns[neurons.index(list(form))][output] += weight


def _flips(hinges: Hinges) -> NDArray[np.object_]:
    """Which hinges to flip, 0 or 1 each, for the smallest rest of the first output that has one."""
    count = len(hinges.rows)
    best = np.zeros(count, dtype=object)
    slopes = next((r[:-1] for r in hinges.rest if r[:-1].any()), None)
    if slopes is None:
        return best
    output = next(o for o, r in enumerate(hinges.rest) if r[:-1].any())
    steps = hinges.rows[:, :-1] * hinges.jump[:, output : output + 1]
    wanted = _coordinates(steps, -slopes)
    if wanted is not None:
        # Independent normals: the only combination. All 0 or 1: nothing remains; all but one: a multiple of its form.
        return np.array([int(c == 1) for c in wanted], dtype=object)
    if count > _FEW:
        return best
    cost = _cost(hinges.rows, slopes)
    for choice in itertools.product((0, 1), repeat=count):
        flips = np.array(choice, dtype=object)
        found = _cost(hinges.rows, slopes + flips.dot(steps))
        if found < cost:
            best, cost = flips, found
    return best


def _coordinates(steps: NDArray[np.object_], target: NDArray[np.object_]) -> list[Fraction] | None:
    """`target` in terms of linearly independent `steps`; None if they are dependent or do not reach it."""
    matrix = fmpq_mat(*steps.shape[::-1], [to_flint(v) for v in steps.T.ravel()])
    if matrix.rank() < len(steps):
        return None
    right = fmpq_mat(len(target), 1, [to_flint(v) for v in target])
    square, image = matrix.transpose() * matrix, matrix.transpose() * right
    found = square.solve(image)
    if matrix * found != right:
        return None
    return [from_flint(v) for v in found.entries()]


def _cost(rows: NDArray[np.object_], slopes: NDArray[np.object_]) -> int:
    if not slopes.any():
        return 0
    return 1 if _parallel(rows, slopes) is not None else 2


def _parallel(rows: NDArray[np.object_], slopes: NDArray[np.object_]) -> int | None:
    """A hinge whose normal is a multiple of the slopes."""
    c = int(np.argmax(slopes != 0))
    rest = rows[:, :-1] * slopes[c] - rows[:, c : c + 1] * slopes
    same = np.flatnonzero(~(rest != 0).any(axis=1))
    return int(same[0]) if len(same) else None


def _ratio(slopes: NDArray[np.object_], form: NDArray[np.object_]) -> Fraction:
    c = int(np.argmax(form != 0))
    return Fraction(slopes[c]) / Fraction(form[c])


def _least(p: CPWL, slopes: NDArray[np.object_]) -> Fraction | None:
    """The smallest value of a linear function on the domain; None if it has none."""
    if p.mesh is not None:
        at = p.mesh.corners[np.unique(p.mesh.simplices)]
        values: list[Fraction] = [Fraction((x[:-1] * slopes).sum()) / x[-1] for x in at]
        return min(values)
    probe = Probe(0.0)
    least = [-probe.maximum(body, -slopes)[0] for body in p.polyhedra]
    return None if any(value == -np.inf for value in least) else min(least)
