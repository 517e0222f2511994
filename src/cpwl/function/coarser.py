"""Fewer pieces within a stated error: functions that stay within a tolerance of a given one, smallest first.

Every proposal is a guess of floats, and counts only once its distance is computed exactly.

- One input: the *tunnel*. The path with the fewest links between ``p - e`` and ``p + e`` is found greedily: a line goes
  as far as it can, and the next one is bound by linear conditions only (Imai and Iri 1986; Suri 1988). So each step
  cuts a polygon of lines (slope, height) by half-planes until nothing is left.
- Two to four inputs: *even grids* of every shape on a box around the domain, with either diagonal. The best values on a
  grid are one linear program (Chebyshev), with a row for either sign at the corners of the common refinement: on its
  cells the difference is affine. Interpolation at the grid points is a projection of norm 1, so that the best error is
  at least half of the interpolant's: most grids are ruled out without a program.
- Two inputs, *uneven axes*: few of the table's own knots, fitted alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from cpwl.doors import check_argument, method_of
from cpwl.errors import InputError, SolverError
from cpwl.function.algebra.arithmetic import exactly, output, pieces_of, same_pieces, side_by_side, summed
from cpwl.function.answers import Distance
from cpwl.function.bends.profile import profile_of
from cpwl.function.cpwl import CPWL
from cpwl.function.domain import box_around, domain_box
from cpwl.function.make import kuhn_simplices
from cpwl.function.questions.extent import Asked, asked, extreme
from cpwl.geometry.bodies import Bodies, is_bounded
from cpwl.geometry.linear_program import LinearProgram
from cpwl.geometry.overlay import Overlay, overlay
from cpwl.geometry.polyhedra import ranges

Shape = tuple[int, ...]
Axes = list[list[Fraction]]
Cost = Callable[[Shape, Shape], float]
Floats = NDArray[np.float64]

ROOM = 1e-6  # of the tolerance, for rounding
_SHORT = 2**10  # steps of a value in the tolerance
_SAFE = 1 - 2 / _SHORT  # of the tolerance, before values are rounded to such steps
_INPUTS = 4  # even grids of more inputs have too many simplices
_MOST = 20_000  # simplices of a grid
_FEW = 150  # corners that rule out most grids
_AT_MOST = 2 * (1 + 1e-9)  # times the tolerance: an interpolant that is farther off rules its grid out
_ROUNDS = 40  # of adding corners that a program has not seen
_ALONG = 8  # points along an edge of a grid


Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class Proposal(Generic[Made]):
    """A function or a network that floats see within the tolerance, and how it was found.

    A function on uneven axes is also one of grid steps (`steps`): these are functions of one input each (`axes`).
    """

    name: str
    made: Made
    axes: Axes | None = None
    steps: CPWL | None = None


@method_of(CPWL, "approximate")
def approximate(p: CPWL, within: Any) -> CPWL:
    check_argument(p, CPWL, "approximate")
    tolerance = tolerances(p, within)
    found = p
    for source in (propose, uneven):
        for proposal in source(p, tolerance, _simplices, found.num_pieces):
            off = gaps(exactly(p), proposal.made)
            if all(gap.largest <= e for gap, e in zip(off, tolerance, strict=True)):
                found = proposal.made
                break
    return found


def _simplices(shape: Shape, _breaks: Shape) -> float:
    return math.prod(shape) * math.factorial(len(shape))


def gaps(p: CPWL, q: CPWL) -> list[Distance]:
    """For each output the exact supremum of ``|p - q|`` where both are defined, with a point."""
    whole = exactly(p), exactly(q)
    (mine, pieces), (yours, others) = map(pieces_of, whole)
    every = np.arange(len(pieces))
    common = Overlay(every, every, pieces) if same_pieces(*whole) else overlay(pieces, others)
    minus = np.array([-1] * (p.dim + 1) + [1], dtype=object)
    laws = summed(whole[0].laws.integer()[mine[common.one]], whole[1].laws.integer()[yours[common.two]] * minus)
    about, found = Asked(common.cells, laws, common.one, 0.0, Fraction(0)), list[Distance]()
    for j in range(p.outputs):
        low, high = (extreme(about, j, sense) for sense in (-1, 1))
        above = high.value >= -low.value
        found.append(Distance(high.value if above else -low.value, high.point if above else low.point, None))
    return found


def tolerances(p: CPWL, within: Any) -> list[Fraction]:
    """The tolerance of each output: of a number, a percentage of its range such as "1%", or one of these for each.

    >>> p = CPWL.from_grid([[0, 1, 2]], [0, 1, 5])
    >>> tolerances(p, "1%"), tolerances(p, [0.5])
    ([Fraction(1, 20)], [Fraction(1, 2)])
    """
    several = not isinstance(within, str) and isinstance(within, Sequence | np.ndarray)
    each = list(within) if several else [within] * p.outputs
    if len(each) != p.outputs:
        raise InputError(f"`within` must have one tolerance for each output: {p.outputs}, not {len(each)}")
    return [_tolerance(p, one, j) for j, one in enumerate(each)]


def _tolerance(p: CPWL, one: Any, j: int) -> Fraction:
    text = one.strip() if isinstance(one, str) else ""
    try:
        value = Fraction(text.removesuffix("%").strip()) if text else Fraction(one)
        float(value)  # beyond float64 it is no number that can be compared
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InputError(f'`within` must be a positive number, or a percentage such as "1%", not {one!r}') from None
    if isinstance(one, bool) or value <= 0:
        raise InputError(f"`within` must be more than 0, not {one}; without it the network is equal to the function")
    if not text.endswith("%"):
        return value
    about = asked(p)
    low, high = (extreme(about, j, sense) for sense in (-1, 1))
    if not math.isfinite(high.value) or not math.isfinite(low.value):
        raise InputError(
            f"output {j} has no finite range on this domain, so {text} of it is undefined: give `within` in units "
            "of the output, or restrict the function to a box"
        )
    if high.value == low.value:
        raise InputError(
            f"output {j} is constant, so that {text} of its range is 0: give `within` in units of the output"
        )
    return value / 100 * Fraction(high.value - low.value)


def propose(p: CPWL, tolerance: Sequence[Fraction], cost: Cost, most: float) -> Iterator[Proposal[CPWL]]:
    """Functions within the tolerance of each output, as far as floats see, in order of `cost`, below `most`.

    `cost` is asked for the number of links of a path, or for the numbers of intervals of a grid, and for how often the
    length of an interval changes along each axis.
    """
    whole = exactly(p)
    _, bodies = pieces_of(whole)
    if not bodies.known.all() or not is_bounded(bodies):
        return
    if p.dim == 1:
        found = _path(whole, tolerance)
        if found is not None and cost((found.num_pieces,), (0,)) < most:
            yield Proposal("tunnel", found)
    elif p.dim <= _INPUTS:
        yield from _grids(whole, tolerance, cost, most)


# One input: the path with the fewest links.


def _path(p: CPWL, tolerance: Sequence[Fraction]) -> CPWL | None:
    """The fewest breakpoints within the tolerance; of several outputs, each by itself."""
    found = []
    for j, e in enumerate(tolerance):
        x, y = _breakpoints(output(p, j))
        knots, heights = _tunnel(x, y, e)
        if knots is None:
            return None
        found.append(CPWL.from_grid([knots], heights))
    return found[0] if len(found) == 1 else side_by_side(found)


def _breakpoints(p: CPWL) -> tuple[list[Fraction], list[Fraction]]:
    """Both ends and all breakpoints of a function of one input on an interval, and its values there."""
    line = profile_of(p)
    x = [Fraction(line.low or 0), *(Fraction(*place) for place in line.places), Fraction(line.high or 0)]
    laws = line.laws[:, 0].tolist()
    return x, [(g * at + o) / d for at, (g, o, d) in zip(x, [laws[0], *laws], strict=True)]


def _tunnel(x: list[Fraction], y: list[Fraction], e: Fraction) -> Any:
    """Knots and heights of a path with the fewest links, rounded to short numbers; (None, None) if floats fail."""
    width, middle = x[-1] - x[0], (max(y) + min(y)) / 2
    at = np.array([float((v - x[0]) / width) for v in x])
    height = np.array([float((v - middle) / e) for v in y])
    links = _links(at, height, 1 - ROOM)
    if links is None:
        return None, None
    places = [(h[1] - g[1]) / (g[0] - h[0]) for g, h in itertools.pairwise(links)]
    values = [g[0] * k + g[1] for g, k in zip(links, places, strict=False)]
    ends = [links[0][1], links[-1][0] + links[-1][1]]
    step, unit = _power(float(e) / 2**24), Fraction(1, 2**44)
    knots = [x[0], *(x[0] + width * unit * round(k / unit) for k in map(Fraction, places)), x[-1]]
    heights = [ends[0], *values, ends[1]]
    if any(a >= b for a, b in itertools.pairwise(knots)):
        return None, None
    return knots, [middle + step * round(e * Fraction(v) / step) for v in heights]


def _power(x: float) -> Fraction:
    """The largest power of two that is at most `x`."""
    exponent = math.frexp(x)[1] - 1
    return Fraction(2) ** exponent


Line = tuple[float, float]  # slope, and height at 0


def _links(x: Floats, y: Floats, e: float) -> list[Line] | None:
    """The lines of a path with the fewest links through all gates ``[y - e, y + e]`` at `x`; None if floats fail."""
    upper, lower, count = y + e, y - e, len(x)
    big = 4.0 * (np.abs(np.diff(y) / np.diff(x)).max(initial=1.0) + np.abs(y).max() + 2.0 + 2.0 / np.diff(x).min())
    everything = [(-big, -big), (big, -big), (big, big), (-big, big)]
    links: list[Line] = []
    lines, j, since = everything, 0, 0.0
    while True:
        while j < count:
            left = _clip(_clip(lines, x[j], 1.0, upper[j]), -x[j], -1.0, -lower[j])
            if len(left) < 3:
                break
            lines, j = left, j + 1
        if j == count:
            mean = np.mean(np.array(lines), axis=0)
            return [*links, (float(mean[0]), float(mean[1]))]
        if j == 0:
            return None
        # All lines are above the upper chain at x[j], or all below the lower one.
        ends = [g[0] * x[j] + g[1] for g in lines]
        up = sum(ends) > len(ends) * y[j]
        chain, other, sign = (upper, lower, 1.0) if up else (lower, upper, -1.0)
        g, reach = max(((g, _meets(g, x, chain, j)) for g in lines), key=lambda pair: pair[1])
        links.append(g)
        # The next line leaves this one after its last contact with the other chain, and before it is blocked.
        first = max(0, int(np.searchsorted(x, since)) - 1)
        gap = np.abs(g[0] * x[first:j] + g[1] - other[first:j])
        contact = (
            first + len(gap) - 1 - int(np.argmin(gap[::-1]))
            if gap.min() > 1e-9
            else first + int(np.flatnonzero(gap <= 1e-9)[-1])
        )
        since = float(x[contact])
        lines = _clip(everything, -sign * since, -sign, -sign * (g[0] * since + g[1]))
        lines = _clip(lines, sign * reach, sign, sign * (g[0] * reach + g[1]))
        for t in range(contact + 1, j):
            lines = _clip(lines, -sign * x[t], -sign, -sign * other[t])
        if len(lines) < 3 or len(links) > count:
            return None


def _meets(g: Line, x: Floats, chain: Floats, j: int) -> float:
    """Where a line meets a chain between ``x[j - 1]`` and ``x[j]``."""
    before, after = g[0] * x[j - 1] + g[1] - chain[j - 1], g[0] * x[j] + g[1] - chain[j]
    share = before / (before - after) if before != after else 0.0
    return float(x[j - 1] + (x[j] - x[j - 1]) * min(max(share, 0.0), 1.0))


def _clip(polygon: list[Line], a: float, b: float, c: float) -> list[Line]:
    """The part of a convex polygon where ``a u + b v <= c``."""
    values = [a * u + b * v - c for u, v in polygon]
    found: list[Line] = []
    for k, (p, s) in enumerate(zip(polygon, values, strict=True)):
        q, t = polygon[(k + 1) % len(polygon)], values[(k + 1) % len(polygon)]
        if s <= 0:
            found.append(p)
        if (s < 0 < t) or (t < 0 < s):
            w = s / (s - t)
            found.append((p[0] + w * (q[0] - p[0]), p[1] + w * (q[1] - p[1])))
    return found


# Two to four inputs: even grids.


def _grids(p: CPWL, tolerance: Sequence[Fraction], cost: Cost, most: float) -> Iterator[Proposal[CPWL]]:
    box = box_around(p)
    assert box is not None
    corners, values = corners_of(p)
    whole = domain_box(p) is not None
    scale = np.array([float(e) for e in tolerance])
    longest, flat = 1, (0,) * p.dim
    while cost((longest + 1,) + (1,) * (p.dim - 1), flat) < most and longest < 256:
        longest += 1
    shapes = [
        (cost(shape, flat), shape)
        for shape in itertools.product(range(1, longest + 1), repeat=p.dim)
        if math.prod(shape) * math.factorial(p.dim) <= _MOST and cost(shape, flat) < most
    ]
    if whole:
        low, high = np.array(box, dtype=np.float64).T
        enough = _along_edges(p, low, high, scale, longest)
        shapes = [(c, shape) for c, shape in shapes if all(ok[k] for ok, k in zip(enough, shape, strict=True))]
    few = np.linspace(0, len(corners) - 1, min(len(corners), _FEW)).astype(np.int64)
    for _, shape in sorted(shapes):
        for flips in itertools.product((False, True), repeat=p.dim - 1):
            grid = _Grid.even(box, shape, (*flips, False))
            if whole and any(grid.missed(p, corners[s], values[s], scale) > _AT_MOST for s in (few, slice(None))):
                continue
            found = grid.fitted(p, corners, values, tolerance, _MOST)
            if found is not None:
                yield Proposal(f"grid {' x '.join(map(str, shape))}", grid.function(found))


def _along_edges(p: CPWL, low: Floats, high: Floats, scale: Floats, longest: int) -> list[NDArray[np.bool_]]:
    """For each axis which numbers of even intervals may do on the edges of the box, where a grid is a path: the
    interpolant is within twice the tolerance there."""
    share, found = np.linspace(0, 1, 1025), []
    for axis in range(p.dim):
        ok = np.ones(longest + 1, dtype=bool)
        for corner in itertools.product((0.0, 1.0), repeat=p.dim - 1):
            at = np.column_stack([share if i == axis else np.full(len(share), v) for i, v in _around(axis, corner)])
            heights = np.asarray(p(low + (high - low) * at), dtype=np.float64).reshape(len(share), -1)
            for j, e in enumerate(scale.tolist() if np.isfinite(heights).all() else ()):
                for k in np.flatnonzero(ok[1:]) + 1:
                    nodes = np.linspace(0, 1, k + 1)
                    off = np.interp(share, nodes, np.interp(nodes, share, heights[:, j])) - heights[:, j]
                    ok[k] = np.abs(off).max() <= 2 * e * (1 + 1e-6)
        found.append(ok)
    return found


def _around(axis: int, corner: tuple[float, ...]) -> list[tuple[int, float]]:
    """The coordinates of a corner, with a place for one more."""
    return list(enumerate([*corner[:axis], 0.0, *corner[axis:]]))


# Uneven axes.

_FACTORS = (2.0, 1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.17, 0.0)  # times the tolerance, for interpolation along one axis
_SLACK = (0.0, 0.5)  # of an interval: how far knots may move such that neighbouring intervals are equal
_KNOTS = 130  # of an axis that knots are taken from
_PROGRAM = 700  # grid points of a program; with more the function interpolates


def uneven(p: CPWL, tolerance: Sequence[Fraction], cost: Cost, most: float) -> Iterator[Proposal[CPWL]]:
    """Functions of two inputs on grids with uneven axes, as `propose`.

    Along each axis the knots are the fewest of the table's own such that interpolation between them, along every line
    of the table, is within a multiple of the tolerance. Knots may move such that neighbouring intervals are equal.
    """
    whole = exactly(p)
    _, bodies = pieces_of(whole)
    if p.dim != 2 or not bodies.known.all() or not is_bounded(bodies) or domain_box(whole) is None:
        return
    corners, values = corners_of(whole)
    scale = np.array([float(e) for e in tolerance])
    few = np.linspace(0, len(corners) - 1, min(len(corners), _FEW)).astype(np.int64)
    grids = []
    for axes in itertools.product(*_own_axes(whole, bodies, scale)):
        shape, breaks = tuple(len(axis) - 1 for axis in axes), tuple(len(breaks_of(axis)) for axis in axes)
        if any(breaks) and math.prod(shape) * math.factorial(p.dim) <= _MOST and cost(shape, breaks) < most:
            grids.append((cost(shape, breaks), list(axes)))
    for _, chosen in sorted(grids, key=lambda grid: grid[0]):
        grid = _Grid(chosen, (False,) * p.dim)
        far = 1.0 if math.prod(map(len, chosen)) > _PROGRAM else _AT_MOST
        if any(grid.missed(whole, corners[s], values[s], scale) > far for s in (few, slice(None))):
            continue
        found = grid.fitted(whole, corners, values, tolerance, _PROGRAM)
        if found is not None:
            even = _Grid([[Fraction(i) for i in range(k + 1)] for k in grid.shape], grid.flips)
            name = f"uneven grid {' x '.join(map(str, grid.shape))}"
            yield Proposal(name, grid.function(found), chosen, even.function(found))


def breaks_of(axis: list[Fraction]) -> list[int]:
    """Where the intervals of an axis change their length."""
    return [i for i in range(1, len(axis) - 1) if axis[i + 1] - axis[i] != axis[i] - axis[i - 1]]


def _own_axes(p: CPWL, bodies: Bodies, scale: Floats) -> list[Axes]:
    """For each axis some choices of knots, coarse and fine."""
    own = []
    for k in range(p.dim):
        knots = sorted({Fraction(v, w) for v, w in bodies.places[:, [k, -1]].tolist()})
        own.append(knots if len(knots) <= _KNOTS else _equal(knots[0], knots[-1], _KNOTS // 2))
    floats = [np.array(knots, dtype=np.float64) for knots in own]
    mesh = np.stack(np.meshgrid(*floats, indexing="ij"), axis=-1)
    heights = np.asarray(p(mesh.reshape(-1, p.dim)), dtype=np.float64).reshape(*mesh.shape[:-1], -1) / scale
    found = []
    for k, knots in enumerate(own):
        lines, axes = np.moveaxis(heights, k, 0).reshape(len(knots), -1), list[list[Fraction]]()
        for factor, slack in itertools.product(_FACTORS, _SLACK):
            axis = _evened([knots[i] for i in _needed(floats[k], lines, factor)], slack)
            if axis not in axes:
                axes.append(axis)
        found.append(axes)
    return found


def _equal(low: Fraction, high: Fraction, count: int) -> list[Fraction]:
    return [low + (high - low) * Fraction(i, count) for i in range(count + 1)]


def _needed(x: Floats, lines: Floats, most: float) -> list[int]:
    """The fewest of some knots between which interpolation is within `most` of all lines, found greedily."""
    found = [0]
    while found[-1] < len(x) - 1:
        a = b = found[-1]
        while b < len(x) - 1:
            share = (x[a : b + 2] - x[a]) / (x[b + 1] - x[a])
            off = lines[a : b + 2] - (lines[a] + share[:, None] * (lines[b + 1] - lines[a]))
            if np.abs(off).max() > most + 1e-9:
                break
            b += 1
        found.append(max(b, a + 1))
    return found


def _evened(axis: list[Fraction], slack: float) -> list[Fraction]:
    """The axis with knots moved by up to a share of their intervals such that runs of intervals are equal."""
    found, x = [axis[0]], np.array(axis, dtype=np.float64)
    room = slack * np.minimum(np.diff(x, prepend=-np.inf), np.diff(x, append=np.inf))
    while (a := len(found) - 1) < len(axis) - 1:
        b = a + 1
        while (
            b + 1 < len(axis)
            and (np.abs(np.linspace(x[a], x[b + 1], b + 2 - a) - x[a : b + 2]) <= room[a : b + 2]).all()
        ):
            b += 1
        found += _equal(axis[a], axis[b], b - a)[1:]
    return found


def corners_of(p: CPWL) -> tuple[Floats, Floats]:
    """The corners of the pieces, and the values there, in floats; each corner once."""
    number, bodies = pieces_of(p)
    laws = p.laws.integer()[number]
    owner, places = bodies.spanning
    owner, places = owner[places[:, -1] != 0], places[places[:, -1] != 0]
    view = np.asarray(places / places[:, -1:], dtype=np.float64)
    law = np.asarray(laws[..., :-1] / laws[..., -1:], dtype=np.float64)
    values = np.einsum("ijk,ik->ij", law[owner], view)
    _, first = np.unique(np.round(view, 12), axis=0, return_index=True)
    return view[first, :-1], values[first]


def edges_of(p: CPWL) -> tuple[Floats, Floats, Floats, Floats]:
    """Segments between two corners of a piece, all edges among them, each once; the values at both ends."""
    number, bodies = pieces_of(p)
    one, finite = bodies.spans.owner, bodies.places[:, -1] != 0
    entry = np.arange(len(one))
    left = bodies.spans.start[one + 1] - entry - 1  # corners of the piece after this one
    second, pair = ranges(entry + 1, left)
    ends = np.stack([bodies.spans.member[pair], bodies.spans.member[second]])
    ends, pair = ends[:, finite[ends].all(axis=0)], pair[finite[ends].all(axis=0)]
    _, first = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
    ends, piece = ends[:, first], one[pair[first]]
    view = np.asarray(bodies.places / np.where(finite, bodies.places[:, -1], 1)[:, None], dtype=np.float64)
    laws = p.laws.integer()[number]
    law = np.asarray(laws[..., :-1] / laws[..., -1:], dtype=np.float64)[piece]
    heights = [np.einsum("ijk,ik->ij", law, view[end]) for end in ends]
    return view[ends[0], :-1], view[ends[1], :-1], heights[0], heights[1]


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """A grid on a box, cut along diagonals; along a flipped axis it is counted downwards."""

    axes: Axes
    flips: tuple[bool, ...]

    @classmethod
    def even(cls, box: Sequence[tuple[Fraction, Fraction]], shape: Shape, flips: tuple[bool, ...]) -> _Grid:
        """The grid whose axes have equal intervals."""
        return cls([_equal(*ends, k) for ends, k in zip(box, shape, strict=True)], flips)

    @property
    def shape(self) -> Shape:
        """The numbers of intervals."""
        return tuple(len(axis) - 1 for axis in self.axes)

    def counted(self) -> Axes:
        """The axes, each in the order in which it is counted."""
        return [axis[::-1] if flip else axis for axis, flip in zip(self.axes, self.flips, strict=True)]

    def counts(self, points: Floats) -> Floats:
        """How many intervals of each axis are before points of the box."""
        knots = (np.array(axis, dtype=np.float64) for axis in self.axes)
        u = np.column_stack([np.interp(x, knot, np.arange(len(knot))) for x, knot in zip(points.T, knots, strict=True)])
        return np.asarray(np.where(self.flips, np.array(self.shape) - u, u))

    def weights(self, points: Floats) -> tuple[NDArray[np.int64], Floats]:
        """For points of the box the numbers of n + 1 grid points, and their weights in a value there."""
        n, steps, u = len(self.shape), np.array(self.shape), self.counts(points)
        cell = np.clip(np.floor(u), 0, steps - 1)
        rest = u - cell
        order = np.argsort(-rest, axis=1, kind="stable")
        ranked = np.take_along_axis(rest, order, axis=1)
        stride = np.array([math.prod(k + 1 for k in self.shape[i + 1 :]) for i in range(n)])
        number = [cell.astype(np.int64) @ stride]
        for k in range(n):
            number.append(number[-1] + stride[order[:, k]])
        share = np.column_stack([1 - ranked[:, 0], ranked[:, :-1] - ranked[:, 1:], ranked[:, -1]])
        return np.stack(number, axis=1), share

    def function(self, values: NDArray[np.object_]) -> CPWL:
        """The function with these values at the grid points."""
        axes = self.counted()
        if not any(self.flips):
            return CPWL.from_grid(axes, values.reshape(*(k + 1 for k in self.shape), -1))
        points = np.array(list(itertools.product(*axes)), dtype=object)
        return CPWL.from_simplices(points, kuhn_simplices(tuple(k + 1 for k in self.shape)), values)

    def heights(self, p: CPWL, used: Any = slice(None)) -> Floats:
        """The values of `p` at some grid points."""
        axes = [np.array(axis, dtype=np.float64) for axis in self.counted()]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))[used]
        return np.asarray(p(nodes), dtype=np.float64).reshape(len(nodes), -1)

    def missed(self, p: CPWL, points: Floats, values: Floats, scale: Floats) -> float:
        """How far the interpolant is off at some points, in units of the tolerance: no values halve that."""
        number, share = self.weights(points)
        used, entry = np.unique(number, return_inverse=True)
        heights = self.heights(p, used)
        if not np.isfinite(heights).all():
            return 0.0
        off = np.abs(np.einsum("qk,qkj->qj", share, heights[entry.reshape(number.shape)]) - values)
        return float((off.max(axis=0) / scale).max())

    def fitted(
        self, p: CPWL, points: Floats, values: Floats, tolerance: Sequence[Fraction], most: int
    ) -> NDArray[np.object_] | None:
        """Values on this grid whose function is within the tolerance, as far as floats see.

        The interpolant comes first, then the nearest one: programs of few corners, to which corners that the solution
        misses are added, those of `p` before the rest. `most` grid points are those of a program.
        """
        heights = np.nan_to_num(self.heights(p)) / [float(e) for e in tolerance]
        crossings: tuple[Floats, Floats] | None = None
        for j, e in enumerate(tolerance):
            seen = np.linspace(0, len(points) - 1, min(len(points), 2 * len(heights))).astype(np.int64)
            at, goal, pool, near = points[seen], values[seen], (points, values), 0.0
            for _ in range(_ROUNDS):
                off = self.off(heights[:, j], pool, j, float(e))
                if off.max() <= _SAFE and pool is not crossings:
                    if crossings is None:
                        crossings = self.crossings(p)
                    pool = crossings
                    off = self.off(heights[:, j], pool, j, float(e))
                if off.max() <= _SAFE:
                    break
                worst = np.argsort(-off)[: max(50, len(heights) // 2)]
                worst = worst[off[worst] > near]
                at, goal = np.concatenate([at, pool[0][worst]]), np.concatenate([goal, pool[1][worst]])
                found = self.chebyshev(at, goal[:, j] / float(e)) if len(heights) <= most else None
                if found is None or found[1] > _SAFE:
                    return None
                heights[:, j], near = found
            else:
                return None
        steps = [_power(float(e) / _SHORT) for e in tolerance]
        return np.array(
            [
                [step * round(Fraction(v) * e / step) for v, step, e in zip(row, steps, tolerance, strict=True)]
                for row in heights.tolist()
            ],
            dtype=object,
        )

    def crossings(self, p: CPWL) -> tuple[Floats, Floats]:
        """Corners of the common refinement of `p` and the grid, and the values of `p` there.

        In the plane these are all of them: grid points, and edges of `p` that meet grid lines and diagonals. With more
        inputs edges of the grid meet facets of `p`, too: points along these edges stand for that.
        """
        tail, head, first, last = edges_of(p)
        share = [np.tile([0.0, 1.0], (len(tail), 1)).ravel()]
        owner = [np.repeat(np.arange(len(tail)), 2)]
        for k, axis in enumerate(self.axes):
            knots, ends = np.array(axis, dtype=np.float64), np.stack([tail[:, k], head[:, k]])
            start, stop = (np.searchsorted(knots, end) for end in (ends.min(axis=0), ends.max(axis=0)))
            entry, edge = ranges(start, stop - start)
            share.append((knots[entry] - tail[edge, k]) / (head[edge, k] - tail[edge, k]))
            owner.append(edge)
        t, edge = np.concatenate(share), np.concatenate(owner)
        order = np.lexsort((t, edge))
        t, edge = np.clip(t[order], 0, 1), edge[order]
        # Between two of these places an edge is in one box of the grid: there it meets diagonals.
        same = np.flatnonzero((edge[1:] == edge[:-1]) & (t[1:] - t[:-1] > 1e-9))
        middle = tail[edge[same]] + ((t[same] + t[same + 1]) / 2)[:, None] * (head - tail)[edge[same]]
        sides = [self.counts(tail[edge[i]] + t[i][:, None] * (head - tail)[edge[i]]) for i in (same, same + 1)]
        cell = np.floor(self.counts(middle))
        for a, b in itertools.combinations(range(len(self.axes)), 2):
            before, after = ((end - cell)[:, a] - (end - cell)[:, b] for end in sides)
            hit = np.flatnonzero(before * after < 0)
            part = before[hit] / (before[hit] - after[hit])
            t = np.append(t, t[same[hit]] + part * (t[same[hit] + 1] - t[same[hit]]))
            edge = np.append(edge, edge[same[hit]])
        points = tail[edge] + t[:, None] * (head - tail)[edge]
        values = first[edge] + t[:, None] * (last - first)[edge]
        more = self.along()
        heights = np.asarray(p(more), dtype=np.float64).reshape(len(more), -1)
        inside = np.isfinite(heights).all(axis=1)
        return np.concatenate([points, more[inside]]), np.concatenate([values, heights[inside]])

    def along(self) -> Floats:
        """Grid points, and points along the edges of the grid."""
        axes = [np.array(axis, dtype=np.float64) for axis in self.counted()]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        found = []
        for step in itertools.product((0, 1), repeat=len(axes)):
            if any(step):
                low = nodes[tuple(slice(None, -1) if s else slice(None) for s in step)].reshape(-1, 1, len(axes))
                high = nodes[tuple(slice(1, None) if s else slice(None) for s in step)].reshape(-1, 1, len(axes))
                found.append((low + np.arange(_ALONG)[:, None] / _ALONG * (high - low)).reshape(-1, len(axes)))
        return np.concatenate(found)

    def off(self, heights: Floats, pool: tuple[Floats, Floats], j: int, unit: float) -> Floats:
        """How far these values are from output `j` at some points."""
        number, share = self.weights(pool[0])
        return np.asarray(np.abs((share * heights[number]).sum(axis=1) - pool[1][:, j] / unit))

    def chebyshev(self, points: Floats, goal: Floats) -> tuple[Floats, float] | None:
        """The values on the grid that come nearest to a goal at some points, and how near; None if there are none."""
        number, share = self.weights(points)
        start, size = np.arange(len(points) + 1) * number.shape[1], math.prod(k + 1 for k in self.shape)
        rows = csr_array((share.ravel(), number.ravel(), start), shape=(len(points), size))
        middle = (goal.max() + goal.min()) / 2
        found = chebyshev(rows, goal - middle, (goal.max() - goal.min()) + 4)
        return None if found is None else (found[0] + middle, found[1])


def chebyshev(rows: Any, goal: Floats, most: float = 1e6) -> tuple[Floats, float] | None:
    """The `x` with entries up to `most` that makes the largest entry of ``|rows x - goal|`` smallest, and that entry.

    `rows` is an array or a sparse one.

    >>> x, error = chebyshev(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), np.array([0.0, 1.0, 0.0]))
    >>> [round(float(v), 6) + 0.0 for v in (*x, error)]
    [0.0, 0.5, 0.5]
    """
    entries, (size, width) = csr_array(rows), rows.shape
    ones, unit = csr_array(np.ones((size, 1))), hstack([eye_array(width), csr_array((width, 1))])
    both = csr_array(vstack([hstack([entries, -ones]), hstack([-entries, -ones]), unit, -unit]))
    ends = np.concatenate([goal, -goal, np.full(2 * width, most)])
    try:
        found = LinearProgram(both, ends, 1.0).propose(np.append(np.zeros(width), -1.0))
    except SolverError:
        return None
    return (found.point[:-1], float(found.point[-1])) if found.status == "optimal" else None
