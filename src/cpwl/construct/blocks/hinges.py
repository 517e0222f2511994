"""One hidden layer: ``p = r + sum_H w_H relu(l_H)``, one neuron for each hyperplane on which the function bends.

It exists iff the jump `w_H` is the same all along each hyperplane (consistent variation; Chua and Deng 1988):
no bend hyperplane may cut a piece, and ``f_i - sum over H with X_i on its + side of w_H l_H`` must be the same
for all pieces. That identity is the proof. The affine rest `r` costs 0, 1 or 2 neurons: hinges may be flipped,
``relu(l) = l + relu(-l)``, to absorb it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Plan
from cpwl.errors import ConstructionError
from cpwl.exact.integers import primitive, ratio_view, sign, signs_at
from cpwl.exact.rational import to_float
from cpwl.exact.sparse import RationalMatrix, Span
from cpwl.function import CPWL
from cpwl.function.bends.profile import Profile
from cpwl.function.bends.table import Neighbours
from cpwl.function.cpwl import generators_of
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.network.network import ExactLayer, assemble

# One hidden layer on a line: `m` breakpoints, and `m` or `m + 1` neurons.
#
# ``g(t) = g_0(t) + sum_i w_i relu(t - t_i)``, and ``relu(t - t_i) = (t - t_i) + relu(t_i - t)``: flipping the hinges in
# a set `T` adds ``sum_T w_i`` to the slope of the affine part. It vanishes, and `m` neurons suffice, iff that sum is
# ``-g_0'`` for some `T`; the hinges left of a piece where `g` is constant are such a set. Otherwise hinges grow away
# from the breakpoint `t_c` in the middle, which has one neuron more, ``relu(t_c - t)``.


_FEW_ENTRIES = 24  # breakpoints up to which all sets of flips are searched
_fraction = np.frompyfunc(Fraction, 2, 1)


def flips_of(profile: Profile) -> NDArray[np.bool_] | None:
    """Hinges to flip so that no affine part remains, for all outputs at once; None if there are none.

    For many breakpoints only those left of a constant piece are tried: in general this is a subset-sum problem.
    """
    m = len(profile.places)
    constant = np.flatnonzero((profile.laws[..., 0] == 0).all(axis=1))
    if len(constant):
        return np.asarray(np.arange(m) < constant[0])
    if m > _FEW_ENTRIES:
        return None
    jumps = _fractions(profile.jump, profile.below)
    wanted = tuple(-Fraction(law[0], law[2]) for law in profile.laws[0])
    half = m // 2
    first = {_total(jumps, T): T for T in _subsets(range(half))}
    for T in _subsets(range(half, m)):
        other = first.get(tuple(a - b for a, b in zip(wanted, _total(jumps, T), strict=True)))
        if other is not None:
            return np.isin(np.arange(m), [*other, *T])
    return None


def one_layer(profile: Profile) -> Network:
    """The network of a profile without `rest`, with `m` or `m + 1` neurons and one hidden layer."""
    m = len(profile.places)
    a = profile.direction
    if m == 0:
        slope = np.array([[Fraction(law[0] * v, law[2]) for v in a] for law in profile.laws[0]], dtype=object)
        return Network([(slope, [Fraction(law[1], law[2]) for law in profile.laws[0]])])
    flips = flips_of(profile)
    numerator, below = profile.jump, profile.below
    c = m // 2
    middle = profile.places[c]
    sign = np.where(np.arange(m) < c if flips is None else flips, -1, 1)
    where, scale = -sign * profile.places[:, 0], profile.places[:, 1]
    if flips is None:
        # All of it as seen from the breakpoint in the middle, for short sums: one slope to its left, one to its right.
        sign, where, scale = np.append(sign, -1), np.append(where, middle[0]), np.append(scale, middle[1])
        (left, right), (below_left, below_right) = profile.laws[c : c + 2, :, 0], profile.laws[c : c + 2, :, 2]
        numerator = np.concatenate([numerator[:c], [right], numerator[c + 1 :], [-left]])
        below = np.concatenate([below[:c], [below_right], below[c + 1 :], [below_left]])
        constant = [Fraction((a * Fraction(*middle) + b) / d) for a, b, d in profile.laws[c]]
    else:
        constant = _constant(profile, flips)
    hidden = _fractions(where, scale)
    layers: list[ExactLayer] = [
        (_stack(sign, a), hidden),
        (_columns(numerator, below), np.array(constant, dtype=object)),
    ]
    # Quotients of integers round as fractions do, and are many times faster.
    views = [
        (
            layers[0][0].tofloat() if len(a) > 1 else csr_array(sign[:, None].astype(np.float64)),
            ratio_view(where, scale),
        )
    ]
    views.append((csr_array(ratio_view(numerator, below).T), to_float(layers[1][1])))
    return assemble(views, layers)


def _constant(profile: Profile, flips: NDArray[np.bool_]) -> list[Fraction]:
    """The value of the affine part, which is constant after these flips."""
    count = int(flips.sum())
    if flips[:count].all():  # on the piece after them all hinges vanish: no sum to be taken
        return [Fraction(law[1], law[2]) for law in profile.laws[count]]
    moved = _fractions(profile.jump, profile.below)[flips] * _fractions(*profile.places.T)[flips][:, None]
    return [Fraction(law[1], law[2]) - part for law, part in zip(profile.laws[0], moved.sum(axis=0), strict=True)]


def _fractions(numerator: Any, denominator: Any) -> NDArray[np.object_]:
    return np.asarray(_fraction(numerator, denominator), dtype=object)


def _columns(numerator: NDArray[np.object_], below: NDArray[np.object_]) -> RationalMatrix:
    """The output weights: one row an output."""
    rows, columns = np.nonzero(numerator.T)
    indptr = np.searchsorted(rows, np.arange(numerator.shape[1] + 1)).astype(np.int64)
    return RationalMatrix(
        numerator.T.shape,
        indptr,
        columns.astype(np.int64),
        lambda: _fractions(numerator.T[rows, columns], below.T[rows, columns]),
    )


def _stack(sign: NDArray[np.int64], a: NDArray[np.object_]) -> RationalMatrix:
    """Rows ``+-a``."""
    used = np.flatnonzero(a != 0)
    units = {s: [Fraction(s * int(a[c])) for c in used] for s in (1, -1)}
    table = np.array([units[-1], units[1]], dtype=object)
    data = table[(sign > 0).astype(np.int64)].ravel()
    indptr = np.arange(len(sign) + 1, dtype=np.int64) * len(used)
    return RationalMatrix((len(sign), len(a)), indptr, np.tile(used, len(sign)).astype(np.int64), data)


def _subsets(members: range) -> list[tuple[int, ...]]:
    return [T for size in range(len(members) + 1) for T in itertools.combinations(members, size)]


def _total(jumps: NDArray[np.object_], T: tuple[int, ...]) -> tuple[Fraction, ...]:
    total = jumps[list(T)].sum(axis=0) if T else [Fraction(0)] * jumps.shape[1]
    return tuple(Fraction(v) for v in total)


# On which side of a hyperplane each piece lies: corners and rays decide where they are few, linear programs elsewhere.
#
# A hyperplane that cuts a piece is of no use to those who ask, so one cut piece is all that is looked for.


_BLOCK = 4_000_000  # signs of forms at corners that are looked at in one go


def sides(p: CPWL, forms: NDArray[np.object_]) -> Iterator[NDArray[np.int64] | int]:
    """For each form ``(a, c)`` of integers the side of every piece, 1 where ``a.x + c >= 0`` and -1 where it is
    ``<= 0``; or, where it has both signs inside pieces, the number of one of them. Exact data.

    >>> p = CPWL.from_maxmin([[1, 0, 0], [0, 1, 0]], [[0], [1]])
    >>> list(sides(p, np.array([[1, -1, 0], [1, 1, 0]], dtype=object)))
    [array([-1,  1]), 0]
    """
    look = _Corners(p)
    start, count = 0, 1
    while start < len(forms):  # few at first: who asks may leave at the first hyperplane that cuts a piece
        yield from look.decide(forms[start : start + count])
        start, count = start + count, max(1, min(2 * count, _BLOCK // look.size))


class _Corners:
    """The corners and rays of the pieces that have few, and the rows of the others."""

    def __init__(self, p: CPWL) -> None:
        self.p, self.probe = p, Probe(0.0)
        spanned = generators_of(p)
        self.places, self.member = spanned.places, spanned.member
        self.known = np.flatnonzero(spanned.known)
        self.first = spanned.start[self.known]
        self.others = np.setdiff1d(np.arange(p.num_pieces), self.known).tolist()
        self.rows = {i: set(map(tuple, primitive(p.polyhedra[i].integer()).tolist())) for i in self.others}
        self.size = max(1, len(self.member), len(self.places))

    def decide(self, forms: NDArray[np.object_]) -> Iterator[NDArray[np.int64] | int]:
        found = np.zeros((len(forms), self.p.num_pieces), dtype=np.int64)
        if len(self.known):
            at = signs_at(forms, self.places)[:, self.member]
            high = np.minimum.reduceat(at, self.first, axis=1) >= 0
            low = np.maximum.reduceat(at, self.first, axis=1) <= 0
            found[:, self.known] = np.where(high, 1, np.where(low, -1, 0))
        for form, side in zip(forms, found, strict=True):
            cut = self.known[side[self.known] == 0]
            yield int(cut[0]) if len(cut) else self._rest(form, side)

    def _rest(self, form: NDArray[np.object_], side: NDArray[np.int64]) -> NDArray[np.int64] | int:
        """The same with the pieces that have too many corners, up to the first that is cut."""
        row = primitive(np.append(form[:-1], -form[-1])[None])[0]
        below, above = tuple(row), tuple(-row)
        for i in self.others:
            found = -1 if below in self.rows[i] else 1 if above in self.rows[i] else self._range(i, form)
            if found == 0:
                return int(i)
            side[i] = found
        return side

    def _range(self, i: int, form: NDArray[np.object_]) -> int:
        """The side of a piece, 0 if it has points on both; by a linear program or two."""
        body = self.p.polyhedra[i]
        if self.probe.maximum(body, form[:-1])[0] + form[-1] <= 0:
            return -1
        return int(form[-1] - self.probe.maximum(body, -form[:-1])[0] >= 0)


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
        raise ConstructionError("a single hidden layer needs exact data, and this data has a tolerance", tol=p.tol)
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
            at = int(np.argmax(form[:-1] != 0))
            c = Fraction(rest[o, at]) / Fraction(form[at])
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
    choices, normals = np.array(list(itertools.product((0, 1), repeat=count)), dtype=object), hinges.rows[:, :-1]
    below = math.lcm(*(v.denominator for v in [*slopes, *hinges.jump[:, output]]))
    whole = np.array([int(v * below) for v in [*slopes, *steps.ravel()]], dtype=object).reshape(count + 1, -1)
    left = whole[0] + choices.dot(whole[1:])
    lead = np.argmax(normals != 0, axis=1)
    parallel = [(n * left[:, [c]] == left * n[c]).all(axis=1) for n, c in zip(normals, lead, strict=True)]
    cost = np.where((left == 0).all(axis=1), 0, np.where(np.any(parallel, axis=0), 1, 2))
    return np.asarray(choices[np.argmin(cost)])


def _coordinates(steps: NDArray[np.object_], target: NDArray[np.object_]) -> list[Fraction] | None:
    """`target` in terms of linearly independent `steps`; None if they are dependent or do not reach it."""
    span = Span()
    if not all(span.insert(dict(enumerate(step))) for step in steps):
        return None
    found = span.express(dict(enumerate(target)))
    return None if found is None else [found.get(k, Fraction(0)) for k in range(len(steps))]


def _parallel(rows: NDArray[np.object_], slopes: NDArray[np.object_]) -> int | None:
    """A hinge whose normal is a multiple of the slopes."""
    c = int(np.argmax(slopes != 0))
    rest = rows[:, :-1] * slopes[c] - rows[:, c : c + 1] * slopes
    same = np.flatnonzero(~(rest != 0).any(axis=1))
    return int(same[0]) if len(same) else None


def _least(p: CPWL, slopes: NDArray[np.object_]) -> Fraction | None:
    """The smallest value of a linear function on the domain; None if it has none."""
    if p.mesh is not None:
        at = p.mesh.corners[np.unique(p.mesh.simplices)]
        values: list[Fraction] = [Fraction((x[:-1] * slopes).sum()) / x[-1] for x in at]
        return min(values)
    probe = Probe(0.0)
    least = [-probe.maximum(body, -slopes)[0] for body in p.polyhedra]
    return None if any(value == -np.inf for value in least) else min(least)


def plan(analysis: Analysis) -> Plan:
    """The plan of the network with one neuron per hyperplane on which the function bends.

    >>> from cpwl.function import CPWL
    >>> plan(Analysis(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))).sizes.neurons
    2
    """
    return Plan.of("hinge", hinge_network(analysis.exact), analysis.sample.points)
