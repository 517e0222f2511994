"""One hidden layer: ``p = r + sum_H w_H relu(l_H)``, one neuron for each hyperplane on which the function bends.

It exists iff the jump `w_H` is the same all along each hyperplane (consistent variation; Chua and Deng 1988):
no bend hyperplane may cut a piece, and ``f_i - sum over H with X_i on its + side of w_H l_H`` must be the same
for all pieces. That identity is the proof. The affine rest `r` costs 0, 1 or 2 neurons: hinges may be flipped,
``relu(l) = l + relu(-l)``, to absorb it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from cpwl.errors import ConstructionError
from cpwl.exact.integers import primitive, sign
from cpwl.function import CPWL
from cpwl.function.bends import neighbours
from cpwl.geometry.probe import Probe
from cpwl.geometry.vertices import corners
from cpwl.network import Network

__all__ = ["Hinges", "find_hinges", "hinge"]

_FEW = 14  # hinges whose flips are all tried when their normals are dependent


@dataclass(frozen=True, slots=True, eq=False)
class Hinges:
    """``p_o = rest_o + sum_H jump[H, o] relu(a_H . x - b_H)``: integer rows ``(a, b)``, `rest` ``(m, n + 1)``."""

    rows: NDArray[np.object_]
    jump: NDArray[np.object_]
    rest: NDArray[np.object_]


def hinge(p: CPWL) -> Network:
    """The network with one neuron a bend hyperplane and as few as possible for the affine rest.

    Raises `ConstructionError` if the function has no such form.

    >>> hinge(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)).sizes.neurons
    2
    """
    return _network(find_hinges(p), p)


def find_hinges(p: CPWL) -> Hinges:
    """The consistent jumps of all bend hyperplanes; a piece that contradicts them is named in the error."""
    if p.tol:
        raise ConstructionError("one hidden layer is found exactly, and this data has a tolerance", tol=p.tol)
    laws = p.laws.integer()
    rows, jump = _jumps(p, laws)
    on = np.array([_sides(p, row) for row in rows], dtype=object).reshape(len(rows), p.num_pieces).T
    hinges = np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1)
    rest = np.zeros((p.num_pieces, p.outputs, p.dim + 1), dtype=object)
    for o in range(p.outputs):
        exact = np.array([[Fraction(v, law[-1]) for v in law[:-1]] for law in laws[:, o]], dtype=object)
        rest[:, o] = exact - on.dot(hinges * jump[:, o : o + 1])
    wrong = np.flatnonzero((rest != rest[:1]).any(axis=(1, 2)))
    if len(wrong):
        raise ConstructionError(f"piece {wrong[0]} does not follow the jumps of one hidden layer", piece=int(wrong[0]))
    return Hinges(rows, jump, rest[0])


def _jumps(p: CPWL, laws: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Each hyperplane with a bend, as a row with first slope positive, and its jumps, which must be constant."""
    found = neighbours(p)
    f, g = laws[found.two], laws[found.one]
    difference = f[..., :-1] * g[..., -1:] - g[..., :-1] * f[..., -1:]
    bent = np.flatnonzero((difference != 0).any(axis=(1, 2)))
    planes: dict[tuple[int, ...], tuple[Fraction, ...]] = {}
    for k in bent:
        row = found.row[k]
        c = int(np.argmax(row[:-1] != 0))
        below = f[k, :, -1] * g[k, :, -1] * row[c]
        jumps = tuple(Fraction(d[c], e) for d, e in zip(difference[k], below, strict=True))
        # relu(l) and relu(-l) differ by l only: the jump does not depend on the row's sense.
        key = tuple(row if row[c] > 0 else -row)
        if planes.setdefault(key, jumps) != jumps:
            piece = int(found.one[k])
            raise ConstructionError(f"the jump changes along a hyperplane of piece {piece}", piece=piece)
    rows = np.array(list(planes), dtype=object).reshape(len(planes), p.dim + 1)
    return rows, np.array(list(planes.values()), dtype=object).reshape(len(planes), p.outputs)


def _sides(p: CPWL, row: NDArray[np.object_]) -> NDArray[np.object_]:
    """1 for pieces with ``a.x >= b``, 0 for those with ``a.x <= b``; an error for one that is cut."""
    law = np.append(row[:-1], -row[-1])
    if p.mesh is not None:
        at = sign((p.mesh.corners * law).sum(axis=1))[p.mesh.simplices]
        high, low = (at >= 0).all(axis=1), (at <= 0).all(axis=1)
    else:
        whole = primitive(p.polyhedra.integer())
        high, low = (_has_row(p, whole, side) for side in (-row, row))
        for i in np.flatnonzero(~(high | low)):
            high[i], low[i] = _range(p, int(i), law)
    cut = np.flatnonzero(~(high | low))
    if len(cut):
        raise ConstructionError(f"a bend hyperplane cuts piece {cut[0]}", piece=int(cut[0]))
    return high.astype(np.int64).astype(object)


def _has_row(p: CPWL, rows: NDArray[np.object_], row: NDArray[np.object_]) -> NDArray[np.bool_]:
    """Which pieces have that row."""
    held = np.zeros(p.num_pieces, dtype=bool)
    held[p.polyhedra.owner[(rows == row).all(axis=1)]] = True
    return held


def _range(p: CPWL, i: int, law: NDArray[np.object_]) -> tuple[bool, bool]:
    """Whether a law is at least 0, or at most 0, on a piece."""
    body = p.polyhedra[i]
    extreme = corners(body.integer())
    if extreme is not None:
        at = extreme.signs(law[None])[0]
        return bool((at >= 0).all()), bool((at <= 0).all())
    (most, _), (least, _) = Probe(0.0).maxima(body, [law[:-1], -law[:-1]])
    return bool(-least + law[-1] >= 0), bool(most + law[-1] <= 0)


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
    matrix = fmpq_mat(*steps.shape[::-1], [_fmpq(v) for v in steps.T.ravel()])
    if matrix.rank() < len(steps):
        return None
    right = fmpq_mat(len(target), 1, [_fmpq(v) for v in target])
    square, image = matrix.transpose() * matrix, matrix.transpose() * right
    found = square.solve(image)
    if matrix * found != right:
        return None
    return [Fraction(int(v.p), int(v.q)) for v in found.entries()]


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


def _fmpq(x: Fraction | int) -> fmpq:
    return fmpq(int(x.numerator), int(x.denominator))
