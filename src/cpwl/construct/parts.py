"""Functions that are made of simpler ones, each with the network that is smallest for it: sums and folds.

**Sums.** ``p(x) = q_1(L_1 x) + ... + q_r(L_r x)`` (`cpwl.function.sums`). Networks of parts that are not as deep as
others are added up first, and their sum is carried on: by one neuron for each output and layer on a bounded domain,
where it is at least some number, else by two. See docs/sums.md.

**Folds.** A layer maps `x` to a point `y` of a part of the domain, and ``p(x)`` is made of ``P(y)``, where `P` is the
function on that part. Let `l` be the form of a mirror (`cpwl.function.symmetry`). Then `y` has ``|l|`` in place of `l`,
and ``p(x) = P(y)`` if `p` is even; if it is odd, ``p(x) = relu(P(y) + M l) - relu(P(y) - M l) - M l`` with
``M >= |P| / l``. If ``p(-x) = -p(x)``, let ``p = w`` where ``|l| <= e``, with `w` linear or clipped; `y` has ``|l|`` in
place of `l` and ``relu(x_i + K_i l) - relu(x_i - K_i l) - K_i l`` in place of other coordinates. That is ``x_i`` times
the sign of `l` where ``K_i |l| >= |x_i|``, and nearer to 0 else. With ``G = P(y) - w(y)``, which is 0 where
``|l| <= e``, ``p(x) = |G + M l| - M |l| + w(x)``. See docs/fold.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.schedule import Interval
from cpwl.construct.plan import Plan
from cpwl.construct.select import Candidate
from cpwl.errors import ConstructionError
from cpwl.exact.integers import ratio_view
from cpwl.exact.rational import fraction_array, to_float
from cpwl.function.algebra.extremes import restrict
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.domain import box_around, domain_rows
from cpwl.function.parts import Laws, Parts
from cpwl.function.sums import Summand, come_apart, span_of
from cpwl.function.symmetry import Mirror, mirrors, part_of, reach, symmetry, together
from cpwl.geometry.generators import MOST, generators
from cpwl.geometry.polyhedra import Polyhedra, fact, joined
from cpwl.network import Network, Sizes
from cpwl.network.algorithms import end_to_end, identity, side_by_side

Candidates = Callable[[CPWL, Analysis], Sequence[Candidate]]
"""The networks that there are for a part, planned with the options of the whole."""


def plan_sum(candidates: Candidates, analysis: Analysis) -> Plan:
    """The plan of the smallest sum: with jumps as they are, or with those peeled off that most facets have.

    Raises `ConstructionError` if the function is not the sum of two functions of fewer inputs.
    """
    exact, plans, seen = analysis.exact, list[Plan](), set[tuple[tuple[int, int], ...]]()
    reason = ConstructionError("")
    for peel in (False, True):
        try:
            parts = come_apart(exact.function, peel=peel)
        except ConstructionError as error:
            reason = error
            continue
        shape = tuple((len(part.rows), part.function.num_pieces) for part in parts)
        if shape not in seen:
            seen.add(shape)
            plans.append(Plan.of("sums", _sum(exact, parts, candidates), analysis.sample.points))
    if not plans:
        raise reason
    return min(plans, key=lambda made: int(getattr(made.sizes, analysis.options.minimize)))


def _sum(analysis: Analysis, parts: list[Summand], candidates: Candidates) -> Network:
    """The sum of the networks of the parts, of those depths that take the fewest neurons with what carries sums on."""
    p = analysis.function
    found = [candidates(part.function, analysis) for part in parts]
    if not all(found):
        raise ConstructionError("there is no network for a part of this function")
    each = p.outputs * (2 if box_around(p) is None else 1)
    depths = sorted({other.sizes.depth for some in found for other in some})
    best: tuple[int, list[Candidate]] | None = None
    for first in depths:
        for last in depths:
            fitting = [[other for other in some if first <= other.sizes.depth <= last] for some in found]
            if all(fitting):
                chosen = [min(some, key=lambda other: other.sizes.neurons) for some in fitting]
                depth = [other.sizes.depth for other in chosen]
                cost = sum(other.sizes.neurons for other in chosen) + each * (max(depth) - min(depth))
                best = (cost, chosen) if best is None or cost < best[0] else best
    assert best is not None
    return _added(p, parts, [other.plan.build() for other in best[1]])


def _added(p: CPWL, parts: list[Summand], networks: list[Network]) -> Network:
    """All of them on the inputs of the whole, from shallow to deep."""
    depths = sorted({len(network.layers) for network in networks})
    total: Network | None = None
    done: list[Summand] = []
    for depth in depths:
        if total is not None:
            total = _carried(p, done, total, depth)
        for part, network in zip(parts, networks, strict=True):
            if len(network.layers) == depth:
                own = network @ (part.rows, [Fraction(0)] * len(part.rows))
                total = own if total is None else total + own
                done.append(part)
    assert total is not None
    return total


def _carried(p: CPWL, parts: list[Summand], network: Network, depth: int) -> Network:
    """The network of these parts with more layers: ``y = relu(y + C) - C``, or ``y = relu(y) - relu(-y)``."""
    more = depth - len(network.layers)
    if box_around(p) is None:
        return identity(network.outputs, more + 1) @ network
    low = [Fraction(max(0, math.ceil(-v))) for v in _least(p, parts)]
    unit = fraction_array(np.eye(network.outputs, dtype=np.int64))
    layer = (unit, [Fraction(0)] * len(low))
    return Network([(unit, low), *[layer] * (more - 1), (unit, [-v for v in low])]) @ network


def _least(p: CPWL, parts: list[Summand]) -> NDArray[np.object_]:
    """The smallest value of each output of the sum of some parts: on every piece it is affine."""
    laws = np.sum([part.laws() for part in parts], axis=0)
    x, owner = _corners(p)
    return np.asarray((laws[owner] * x[:, None]).sum(axis=2).min(axis=0))


def _corners(p: CPWL) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """The corners ``(x, 1)`` of all pieces of a bounded function, as rationals, and the piece of each."""
    found = generators_of(p)
    if not found.known.all():
        raise ConstructionError("this function has too many corners to bound its parts")
    x = fraction_array(found.places[found.member]) / found.places[found.member][:, -1:]
    return x, np.repeat(np.arange(p.num_pieces), np.diff(found.start))


# Folds.


@dataclass(frozen=True, slots=True, eq=False)
class Unfolding:
    """How an odd function is made of values of its part: what runs beside the network of the part, and after it."""

    second: NDArray[np.object_]
    """Neurons ``(h, 1)`` beside the first layer of the part."""
    values: NDArray[np.object_]
    """Values ``(h, 1, second)`` that are carried to the layer after the part."""
    low: list[Fraction]
    """What each of them, and what it is without `second`, is nowhere less than."""
    after: NDArray[np.object_]
    """Neurons ``(P, values, 1)`` of that layer."""
    last: NDArray[np.object_]
    """The outputs ``(after, 1)``."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A part of a function, and how the function is made of it."""

    function: CPWL
    first: NDArray[np.object_]
    """The neurons ``(x, 1)`` of the first layer, `h`."""
    place: NDArray[np.object_]
    """The point ``(h, 1)`` at which the part is evaluated."""
    outer: Unfolding | None
    middle: CPWL | None = None
    """The function where the fold turns nothing over, in a few pieces that many pieces of the whole have in common."""

    def neurons(self, inner: Sizes) -> int:
        """The size of the network with a network of the part of this size."""
        outer = self.outer
        if outer is None:
            return len(self.first) + inner.neurons
        beside = len(outer.second) + len(outer.values) * (inner.depth - 1)
        return len(self.first) + inner.neurons + beside + len(outer.after)

    def network(self, inner: Network) -> Network:
        """The network of the function, made of one of the part."""
        k, outer = len(self.first), self.outer
        h = Network([_affine(self.first), (fraction_array(np.eye(k, dtype=np.int64)), [Fraction(0)] * k)])
        own = end_to_end(Network([_affine(self.place)]), inner)
        if outer is None:
            return end_to_end(h, own)
        beside = side_by_side([own, _carrier(outer, k, len(inner.layers) - 1)])
        return end_to_end(h, end_to_end(beside, Network([_affine(outer.after), _affine(outer.last)])))


def _and(row: NDArray[np.object_], *numbers: Fraction) -> NDArray[np.object_]:
    return np.concatenate([row, np.array(numbers, dtype=object)])


def _affine(rows: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    return rows[:, :-1], rows[:, -1]


def _carrier(outer: Unfolding, inputs: int, layers: int) -> Network:
    """The network that computes the values beside so many hidden layers: ``v = relu(v + C) - C``."""
    count, more = len(outer.values), len(outer.second)
    up = np.array(outer.low, dtype=object) * -1
    unit = fraction_array(np.eye(count, dtype=np.int64))
    plain = outer.values[:, : inputs + 1].copy()
    plain[:, -1] += up
    made = [_affine(np.concatenate([outer.second, plain]))]
    read = np.column_stack([outer.values[:, inputs + 1 :], unit, -up])
    for _ in range(layers - 1):
        read[:, -1] += up
        made.append(_affine(read))
        read = np.column_stack([unit, -up])
    assert read.shape[1] == (count + 1 if layers > 1 else count + more + 1)
    return Network([*made, _affine(read)])


def plan_fold(candidates: Candidates, analysis: Analysis) -> Plan:
    """The plan of the smallest network behind a fold. Raises `ConstructionError` if the function has no symmetry."""
    exact, best = analysis.exact, list[tuple[int, Fold, Candidate]]()
    for fold in folds(exact.function):
        for other in candidates(fold.function, exact):
            if fold.outer is None or other.sizes.depth > 1:
                best.append((fold.neurons(other.sizes), fold, other))
    if not best:
        raise ConstructionError("there is no network for a part of this function")
    _, fold, other = min(best, key=lambda one: one[0])
    return Plan.of("fold", fold.network(other.plan.build()), analysis.sample.points)


@fact
def folds(p: CPWL) -> tuple[Fold, ...]:
    """All folds of a function. Raises `ConstructionError` if it has no symmetry that saves anything. Exact data."""
    found, known = list[Fold](), mirrors(p)
    box = box_around(p)
    even = together([mirror for mirror in known if mirror.sign > 0])
    odd = [mirror for mirror in known if mirror.sign < 0]
    if even:
        found.append(_mirrored(p, even, box))
    if box is not None:
        for mirror in odd[:1]:
            found.append(_mirrored(p, [mirror], box))
        if p.dim > 1 and symmetry(p) == -1:
            turned = _turned(p, box)
            found += [] if turned is None else [turned]
    found = [fold for fold in found if fold.function.num_components < p.num_components]
    if not found:
        raise ConstructionError("the function has no mirror, and no slab around which it is odd")
    return tuple(found)


# Mirrors.


def _mirrored(p: CPWL, found: list[Mirror], box: list[Interval] | None) -> Fold:
    """The fold of mirrors that do not change each other's forms: ``|l|`` of each, and what they leave as it is.

    They are even, or it is a single one.
    """
    n, forms = p.dim, np.array([mirror.form for mirror in found], dtype=object)
    axes = np.array([mirror.axis for mirror in found], dtype=object)
    left = fraction_array(np.eye(n, dtype=np.int64)) - axes.T.dot(forms[:, :-1])
    rows, columns = span_of(left)
    zero = np.zeros(len(rows), dtype=object) + Fraction(0)
    first, k = [part for form in forms for part in (form, -form)], 2 * len(found)
    if box is None:
        first += [_and(sign * row, Fraction(0)) for row in rows for sign in (1, -1)]
    else:
        zero = np.array([_range(row, box)[0] for row in rows], dtype=object)
        first += [_and(row, -low) for row, low in zip(rows, zero, strict=True)]
    place = np.zeros((n, len(first) + 1), dtype=object) + Fraction(0)
    for j, axis in enumerate(axes):  # x = sum of (l - constant) d, and what is left
        place[:, 2 * j] = place[:, 2 * j + 1] = axis
        place[:, -1] -= forms[j, -1] * axis
    for j, c in enumerate(columns):
        if box is None:
            place[:, k + 2 * j], place[:, k + 2 * j + 1] = left[:, c], -left[:, c]
        else:
            place[:, k + j] = left[:, c]
            place[:, -1] += left[:, c] * zero[j]
    part, outer = part_of(p, forms), None
    if found[0].sign < 0:
        assert box is not None
        outer = _odd(part, forms[0], box, len(first))
    return Fold(part, np.array(first, dtype=object), place, outer)


def _odd(part: CPWL, form: NDArray[np.object_], box: list[Interval], k: int) -> Unfolding:
    """``relu(P + M l) - relu(P - M l) - M l``, where ``|P| <= M l`` on the part."""
    m, low = part.outputs, _range(form, box)[0]
    x, owner = _corners(part)
    height = x.dot(form)
    inside = np.flatnonzero(height > 0)
    values = (part.laws.rational()[owner[inside]] * x[inside][:, None]).sum(axis=2)
    steep = Fraction(math.ceil((np.abs(values).max(axis=1) / height[inside]).max()))
    value = np.zeros((1, k + 1), dtype=object) + Fraction(0)
    value[0, :2] = steep, -steep
    after, last = (np.zeros(shape, dtype=object) + Fraction(0) for shape in ((2 * m + 1, m + 2), (m, 2 * m + 2)))
    for o in range(m):
        after[o, o] = after[m + o, o] = Fraction(1)
        after[o, m], after[m + o, m] = Fraction(1), Fraction(-1)
        last[o, o], last[o, m + o], last[o, 2 * m] = Fraction(1), Fraction(-1), Fraction(-1)
    after[2 * m, m], after[2 * m, -1] = Fraction(1), -steep * low
    last[:, -1] = -steep * low
    return Unfolding(np.zeros((0, k + 1), dtype=object), value, [steep * low], after, last)


# Odd functions, ``p(-x) = -p(x)``.


@dataclass(frozen=True, slots=True, eq=False)
class _OddSlab:
    """A form `l` and a width `e` such that every output is ``w = a . x + clip(k . x, -c, c)`` where ``|l| <= e``."""

    form: NDArray[np.object_]
    width: Fraction
    near: list[tuple[NDArray[np.object_], NDArray[np.object_], Fraction]]
    """`a`, `k` and `c` of each output; ``c = 0`` where it is linear."""


_DIRECTIONS = 4096  # that are tried for a slab; the numbers of a form are sixteenths
_TRIED = 8  # of the slabs that leave the fewest laws, how many are looked at in rationals


def _turned(p: CPWL, box: list[Interval]) -> Fold | None:
    """The fold of an odd function around the slab that leaves the fewest laws on one side; None if there is none."""
    for direction in _directions(p, box):
        slab = _slab(p, direction)
        if slab is None:
            continue
        made = _around(p, slab, box)
        if _stays_inside(p, slab, made.first, made.place):
            return made
    return None


def _directions(p: CPWL, box: list[Interval]) -> list[NDArray[np.object_]]:
    """Forms whose hyperplane meets few laws, with few laws and a wide slab on one side: floats propose."""
    found, n = generators_of(p), p.dim
    ends = found.places[found.member]
    x = ratio_view(ends[:, :-1], ends[:, -1:])
    _, law = np.unique(p.laws.integer().reshape(p.num_pieces, -1).astype(str), axis=0, return_inverse=True)
    order = np.argsort(law.ravel(), kind="stable")
    begin = np.searchsorted(law.ravel()[order], np.arange(law.max() + 1))
    size = np.array([float(max(-low, high)) for low, high in box])
    tried = np.random.default_rng(0).standard_normal((_DIRECTIONS, n)) / size
    tried = np.round(tried / np.abs(tried).max(axis=1, keepdims=True) * 16) / 16
    tried = np.unique(np.concatenate([np.eye(n), tried]), axis=0)
    scores = []
    for first in range(0, len(tried), 256):
        own = tried[first : first + 256]
        height = x @ own.T
        near = 1e-7 * np.abs(height).max(axis=0)
        high, low = (most.reduceat(height, found.start[:-1]) for most in (np.maximum, np.minimum))
        cut = (high > near) & (low < -near)
        wide = np.where((high > near) & ~cut, low, np.inf).min(axis=0)
        over, met = (np.logical_or.reduceat(part[order], begin).sum(axis=0) for part in (high > near, cut))
        good = np.flatnonzero((wide > near) & (wide < np.inf) & (met <= 3**p.outputs))
        scores += [(int(over[k]), -float(wide[k] / np.abs(own[k] * size).sum()), *own[k]) for k in good]
    return [fraction_array(np.array([*own, 0.0])) for _, _, *own in sorted(scores)[:_TRIED]]


def _slab(p: CPWL, form: NDArray[np.object_]) -> _OddSlab | None:
    """The slab of a form, and what the function is on it; None if that is neither linear nor clipped there.

    On the pieces that the hyperplane cuts there are laws ``k . x`` alone, or also ``a . x - c`` and ``a . x + c``. The
    function is continuous on a convex slab, and 0 at 0: it is ``k . x`` between the other two, and these beyond.
    """
    high, low = reach(p, form[None])
    cut, over = (high[:, 0] > 0) & (low[:, 0] < 0), (high[:, 0] > 0) & (low[:, 0] >= 0)
    x, owner = _corners(p)
    if not over.any() or (height := x[over[owner]].dot(form).min()) <= 0:
        return None
    near = []
    for laws in p.laws.rational()[cut].transpose(1, 0, 2):
        own = sorted({tuple(law) for law in laws}, key=lambda law: law[-1])
        low_law, middle, high_law = own if len(own) == 3 else (own[0], own[0], own[0])
        clipped = len(own) == 3 and low_law[:-1] == high_law[:-1] and low_law[-1] == -high_law[-1] < 0
        if middle[-1] or not (clipped or len(own) == 1):
            return None
        slope = np.array(high_law[:-1], dtype=object)
        near.append((slope, np.array(middle[:-1], dtype=object) - slope, high_law[-1]))
    short = Fraction(2) ** (math.frexp(float(height))[1] - 6)  # six binary digits
    return _OddSlab(form, height // short * short, near)


def _around(p: CPWL, slab: _OddSlab, box: list[Interval]) -> Fold:
    """The fold around a slab: ``2 relu(P + a) - P + v`` with ``a = M l - w(y)`` and ``v = w(x) - M |l| - a``."""
    n, m, form, zero = p.dim, p.outputs, slab.form, Fraction(0)
    size = np.array([max(-low, high) for low, high in box], dtype=object)
    most = (np.abs(form[:-1]) * size).sum()  # of |l|
    axis = int(np.argmax(to_float(np.abs(form[:-1]) * size)))
    others = [i for i in range(n) if i != axis]
    first, unit = [form, -form], fraction_array(np.eye(n + 1, dtype=np.int64))
    steep = {i: Fraction(math.ceil(size[i] / slab.width)) for i in others}
    for i in others:
        first += [unit[i] + steep[i] * form, unit[i] - steep[i] * form]
    bends, lines = dict[int, int](), dict[int, int]()
    for o, (slope, more, c) in enumerate(slab.near):
        if c:
            bends[o] = len(first)
            first += [_and(more, c), _and(more, -c)]
        if slope.any():
            lines[o] = len(first)
            first.append(_and(slope, (np.abs(slope) * size).sum()))
    k = len(first)
    h = fraction_array(np.eye(k + 1, dtype=np.int64))
    place = np.zeros((n, k + 1), dtype=object) + zero
    for r, i in enumerate(others):
        place[i] = h[2 + 2 * r] - h[3 + 2 * r] - steep[i] * (h[0] - h[1])
    place[axis] = (h[0] + h[1] - sum((form[i] * place[i] for i in others), 0 * h[0])) / form[axis]
    middle, half = _middle(p, slab), part_of(p, form[None])
    far, near = part_of(half, _and(form[:-1], -slab.width)[None]), part_of(middle, form[None])
    laws = Laws.from_integer(np.concatenate([far.laws.integer(), near.laws.integer()]))
    part = CPWL.from_parts(Parts(joined([far.polyhedra, near.polyhedra]), laws, half.domain, 0.0))
    x, owner = _corners(part)
    tall = np.abs((part.laws.rational()[owner] * x[:, None]).sum(axis=2)).max(axis=0)
    second, values, low = list[NDArray[np.object_]](), list[NDArray[np.object_]](), list[Fraction]()
    after, last = (np.zeros(shape, dtype=object) + zero for shape in ((2 * m, 3 * m + 1), (m, 2 * m + 1)))
    count = 2 * len(bends)
    for o, (slope, more, c) in enumerate(slab.near):
        wide = (np.abs(slope) * size).sum() + c
        M = Fraction(math.ceil((tall[o] + wide) / slab.width))
        at_x = h[bends[o]] - h[bends[o] + 1] - c * h[-1] if c else 0 * h[-1]
        at_x = at_x + (h[lines[o]] - first[lines[o]][-1] * h[-1] if o in lines else 0)
        at_y = slope.dot(place) - c * h[-1]  # and what the second layer adds
        a = _and(M * (h[0] - h[1]) - at_y, *[zero] * count)
        v = _and(at_x - M * (h[0] + h[1]), *[zero] * count) - a
        if c:
            a[k + 1 + len(second)], a[k + 2 + len(second)] = Fraction(-1), Fraction(1)
            v[k + 1 + len(second)], v[k + 2 + len(second)] = Fraction(1), Fraction(-1)
            plain = more.dot(place)
            second += [plain + c * h[-1], plain - c * h[-1]]
        values += [a, v]
        low += [-(M * most + 3 * wide), -(2 * M * most + 4 * wide)]
        after[o, o] = after[o, m + 2 * o] = Fraction(1)
        after[m + o, o], after[m + o, m + 2 * o + 1] = Fraction(-1), Fraction(1)
        after[m + o, -1] = 3 * tall[o] + 2 * (M * most + wide)
        last[o, o], last[o, m + o], last[o, -1] = Fraction(2), Fraction(1), -after[m + o, -1]
    rows = np.array(second, dtype=object).reshape(len(second), k + 1)
    outer = Unfolding(rows, np.array(values, dtype=object), low, after, last)
    return Fold(part, np.array(first, dtype=object), place, outer, middle)


def _middle(p: CPWL, slab: _OddSlab) -> CPWL:
    """``a . x + clip(k . x, -c, c)`` on the slab: a piece for each side of each clip."""
    A, b, laws = [], [], []
    for sides in product(*[(0, 1, -1) if c else (0,) for _, _, c in slab.near]):
        rows, own = list[NDArray[np.object_]](), list[NDArray[np.object_]]()
        for side, (slope, more, c) in zip(sides, slab.near, strict=True):
            if c:
                rows += [_and(-side * more, -c)] if side else [_and(more, c), _and(-more, c)]
            own.append(_and(slope, side * c) if side else _and(slope + more, Fraction(0)))
        ends = np.array([*rows, _and(slab.form[:-1], slab.width), _and(-slab.form[:-1], slab.width)], dtype=object)
        A.append(ends[:, :-1])
        b.append(ends[:, -1])
        laws.append(np.array(own, dtype=object))
    table = np.array(laws, dtype=object)
    made = CPWL.from_pieces(A, b, table[..., :-1], table[..., -1])
    everywhere = domain_rows(p)
    return restrict(made, domain=(everywhere[:, :-1], everywhere[:, -1]))


def _stays_inside(p: CPWL, slab: _OddSlab, first: NDArray[np.object_], place: NDArray[np.object_]) -> bool:
    """Whether the fold maps the slab into the domain: where each neuron is 0 or not, corners decide."""
    rows, form = domain_rows(p), slab.form
    domain = np.column_stack([-rows[:, :-1], rows[:, -1:]])
    ends = np.concatenate([domain, [form, _and(-form[:-1], slab.width)]])
    bodies = [ends]
    for neuron in first[2 : 2 * p.dim]:
        bodies = [np.concatenate([body, [side * neuron]]) for body in bodies for side in (1, -1)]
    if math.comb(len(bodies[0]) + 1, p.dim) > MOST:
        return False  # too many corners to be looked at
    polyhedra = Polyhedra.from_lists([-body[:, :-1] for body in bodies], [body[:, -1] for body in bodies])
    found = generators(polyhedra)
    x = found.places[np.unique(found.member)]
    h = np.maximum(x.dot(first.T), 0)
    y = np.column_stack([np.column_stack([h, x[:, -1]]).dot(place.T), x[:, -1]])
    return bool((y.dot(domain.T) >= 0).all())


def _range(row: NDArray[np.object_], box: list[Interval]) -> Interval:
    """The range of an affine form, or of a linear one, on a box."""
    ends = [sorted((v * low, v * high)) for v, (low, high) in zip(row, box, strict=False)]
    constant = row[len(box)] if len(row) > len(box) else Fraction(0)
    return sum((low for low, _ in ends), constant), sum((high for _, high in ends), constant)
