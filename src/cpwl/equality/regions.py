"""A network against an affine map on a polyhedron: region by region, in integers."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.equality.verdict import Apart, farther
from cpwl.errors import InputError, check_memory
from cpwl.exact.integers import homogeneous, integer_rows, primitive, signs_at
from cpwl.exact.rational import fraction_array, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.function import CPWL
from cpwl.function.evaluate import inner_points
from cpwl.geometry.generators import Generators, corners_of
from cpwl.geometry.polyhedra import Polyhedron, ranges
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.network.algorithms import side_by_side
from cpwl.network.network import ExactLayer, assemble, exact_layers, float_layer
from cpwl.passes.simplify import drop_unused, merge_proportional, rebuilt
from cpwl.progress import Progress
from cpwl.regions.forms import essential_dimension
from cpwl.regions.pieces import Pieces, pieces_of_subdivision, pieces_of_walk
from cpwl.regions.subdivide import Subdivision, TooMany, subdivide
from cpwl.regions.tiles import Journal, stream
from cpwl.regions.walk import walk

# The difference of two networks as one network, exactly, with what they have in common shared.


def difference(a: Network, b: Network) -> Network:
    """The network ``x -> a(x) - b(x)`` without any rounding.

    Neurons with proportional inputs, ``relu(c z) = c relu(z)`` for ``c > 0``, are one neuron, constant ones become
    offsets, and what nobody reads is left out: of two networks that share their neurons little is left.

    >>> hat = Network([([[1.0], [2.0]], [0.0, -2.0]), ([[1.0, -1.0]], [0.0])])
    >>> same = Network([([[1.0], [1.0]], [-1.0, 0.0]), ([[-2.0, 1.0]], [0.0])])
    >>> difference(hat, same)
    Network(1 -> 1)
    """
    layers = list(exact_layers(side_by_side([a, b])))
    m = a.outputs
    weight, bias = layers[-1]
    rows = np.where(weight.rows < m, weight.rows, weight.rows - m)
    values = np.where(weight.rows < m, weight.data, -weight.data)
    last = RationalMatrix.from_triples(rows, weight.indices, values, (m, weight.shape[1]))
    layers[-1] = last, bias[:m] - bias[m:]
    work = assemble([float_layer(layer) for layer in layers], layers)
    before = None
    while work is not before:  # what goes may make others equal, or constant
        before, work = work, merge_proportional(drop_unused(work))
    return rebuilt(assemble(work.layers), exact_layers(work))  # of floats, where they hold it


def law_of_pattern(network: Network, active: NDArray[np.bool_]) -> NDArray[np.object_]:
    """The affine map ``(gradient, offset)`` of the network, as rationals, where exactly these hidden neurons are on."""
    layers = exact_layers(network)
    h = np.concatenate([layers[0][0].toarray(), layers[0][1][:, None]], axis=1)
    start = 0
    for weight, bias in layers[1:]:
        on = active[start : start + len(h)]
        start += len(h)
        h = weight @ (h * on[:, None].astype(np.int64).astype(object))
        h[:, -1] += bias
    return fraction_array(h)


# A point where two functions differ, if random points show one: a search, never a proof of equality.


_FLOAT = 4096  # points to look at in floats
_EXACT = 24  # of them, how many in rationals: where floats differ most, and others, since floats see nothing of 1e-30
_WORK = 2 * 10**5  # products of rationals that this may cost

Point = NDArray[np.object_]
Operand = Network | CPWL


def find_difference(a: Operand, b: Operand, domain: Polyhedron | None, inside: Point | None) -> Apart | None:
    """A difference seen at a point of the domain where both are defined; None if none was seen.

    `inside` is a point strictly inside the domain, needed where there is a domain.
    """
    x = _points(a, b, domain, inside)
    with np.errstate(all="ignore"):
        gap = np.abs(np.asarray(a(x)) - np.asarray(b(x))).max(axis=1)
    gap = np.where(np.isfinite(gap), gap, -1.0)
    order = np.concatenate([np.argsort(-gap, kind="stable")[: _EXACT // 2], np.flatnonzero(gap >= 0)[: _EXACT // 2]])
    # Deep networks of rationals are slow to evaluate: then fewer points do.
    count = max(4, min(_EXACT, _WORK // (1 + sum(f.sizes.nonzeros for f in (a, b) if isinstance(f, Network)))))
    chosen = order[np.linspace(0, len(order) - 1, count, dtype=np.int64)]
    # Mostly the first point, where floats differ most, decides.
    for some in (chosen[:1], chosen[1:]):
        found = _difference(a, b, fraction_array(x[some]), domain)
        if found is not None:
            return found
    return None


def values_at(f: Operand, point: Point) -> Point | None:
    """The exact values of a network or function at a rational point; None where it is not defined."""
    values = np.asarray(f(point[None]))[0]
    return None if values[0] is None else values


def _difference(a: Operand, b: Operand, points: Point, domain: Polyhedron | None) -> Apart | None:
    """The largest difference at some points of the domain, exactly."""
    if domain is not None:
        rows = domain.integer()
        inside = (points[:, None, :] * rows[None, :, :-1]).sum(axis=2) <= rows[None, :, -1]
        points = points[inside.astype(bool).all(axis=1)]
    if not len(points):
        return None
    best: Apart | None = None
    for point, one, two in zip(points, np.asarray(a(points)), np.asarray(b(points)), strict=True):
        if one[0] is not None and two[0] is not None and (one != two).any():
            best = farther(best, Apart(point, np.abs(one - two).max(), (one, two)))
    return best


def _points(a: Operand, b: Operand, domain: Polyhedron | None, inside: Point | None) -> NDArray[np.float64]:
    """Random points of the domain in floats; those of a function are in its pieces."""
    rng = np.random.default_rng(0)
    for f in (a, b):
        if isinstance(f, CPWL):
            return _in_pieces(f, rng)
    assert isinstance(a, Network)
    n = a.inputs
    if domain is None:
        # Bends may be at any distance: directions at random, at lengths from 0.01 to 10,000.
        return np.asarray(rng.normal(size=(_FLOAT, n)) * 10 ** rng.uniform(-2, 4, size=(_FLOAT, 1)))
    assert inside is not None
    return _on_chords(domain, np.asarray(inside, dtype=np.float64), rng)


def _on_chords(
    body: Polyhedron, inside: NDArray[np.float64], rng: np.random.Generator, count: int = _FLOAT
) -> NDArray[np.float64]:
    """Random points on random chords through random points, starting with one inside."""
    at = np.repeat(inside[None], count, axis=0)
    for _ in range(3):
        toward = rng.normal(size=at.shape)
        speed, room = toward @ body.A.T, body.b - at @ body.A.T
        with np.errstate(all="ignore"):
            far = np.where(speed > 0, room / speed, 1e4).min(axis=1, initial=1e4)
            near = np.where(speed < 0, room / speed, -1e4).max(axis=1, initial=-1e4)
        share = rng.uniform(0.0, 1.0, size=count)
        at = at + (near + share * (far - near))[:, None] * toward
        at = np.where(np.isfinite(at).all(axis=1, keepdims=True), at, inside)
    return at


def _in_pieces(p: CPWL, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points of some pieces, a few each."""
    chosen = np.arange(0, p.num_pieces, -(-p.num_pieces // 400))
    each = -(-_FLOAT // len(chosen))
    if p.mesh is not None:
        corners = p.mesh.points[p.mesh.simplices[chosen]]
        share = rng.dirichlet(np.ones(p.dim + 1), size=(len(chosen), each))
        return np.asarray(np.einsum("pkc,pcn->pkn", share, corners)).reshape(-1, p.dim)
    found = [
        _on_chords(p.polyhedra[i], np.asarray(inside, dtype=np.float64), rng, each)
        for i, inside in inner_points(p, chosen.tolist()).items()
    ]
    return np.concatenate(found) if found else np.zeros((1, p.dim))


_MEMORY = 1 << 28  # bytes for the cells that are held at a time, about
_ENTRY = 60  # bytes for each neuron of a cell and each coordinate, measured
_FEW = 500  # cells to walk through for a number that need not be known
_LOW = 7  # up to this many directions all corners of all cells are held; beyond, linear programs find the largest


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """On how many regions two functions were compared, where they are farthest apart on those (None: they are equal),
    and whether these were all regions."""

    regions: int
    apart: Apart | None
    complete: bool
    hole: NDArray[np.object_] | None = None
    """A point of the domain where one of the two is not defined."""


def compare_on_regions(
    network: Network,
    domain: Polyhedron | None,
    target: NDArray[np.object_],
    *,
    most: int | None = None,
    strict: bool = False,
    journal: Journal | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Compared:
    """The network against the affine map `target`, rational rows ``(gradient, offset)``, on the domain.

    On each of its cells the network is affine. It equals the target if the laws are equal as rationals; if not,
    the difference is largest at a corner of a cell, or grows along a ray. At most `most` cells are looked at; with
    `strict` none if there are more, as far as that is known without going through them. More cells than are held at a
    time come tile by tile, so that memory is bounded; with a journal the search goes on from what is noted.
    """
    if essential_dimension(network, domain) > _LOW:
        if journal is not None:
            raise InputError(f"`checkpoint` is for networks that bend in at most {_LOW} directions")
        few = min(most, _FEW) if strict and most is not None else most
        return _compare_by_walking(network, domain, target, few, executor, progress)
    size = cells_at_once(network)
    few = most is not None and most <= size
    if journal is None:
        try:
            limit = most if few else size
            made = subdivide(network, domain, most=limit, strict=strict or not few, progress=progress)
            return _compare_cells(network, domain, made, target)
        except TooMany:
            if strict:
                return Compared(0, None, False)
    return _compare_in_tiles(network, domain, target, most, journal, executor, progress)


def cells_at_once(network: Network) -> int:
    """How many cells of a network are held at a time: each has a row for every neuron, in floats and in integers.

    >>> cells_at_once(Network([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [0])]))
    20000
    """
    neurons = sum(weight.shape[0] for weight, _ in network.layers[:-1])
    return int(min(max(_MEMORY / (_ENTRY * (neurons + 1) * (network.inputs + 1)), 500), 20_000))


def _compare_cells(
    network: Network, domain: Polyhedron | None, made: Subdivision, target: NDArray[np.object_]
) -> Compared:
    found = pieces_of_subdivision(made, False)[0]
    if _is_everywhere(network, found, target):
        return Compared(len(found), None, _are_all(made, found, domain))
    found = pieces_of_subdivision(made, True, spans=True)[0]
    return Compared(len(found), _farthest(network, domain, found, target), _are_all(made, found, domain))


def _compare_in_tiles(
    network: Network,
    domain: Polyhedron | None,
    target: NDArray[np.object_],
    most: int | None,
    journal: Journal | None,
    executor: Executor | None,
    progress: Progress | None,
) -> Compared:
    """The same for more cells than memory holds, tile by tile; a difference that was seen is worth keeping."""
    regions, apart = 0, None
    size, work = cells_at_once(network), partial(_compare_tile, target=target)
    tiles = stream(network, domain, work, size=size, executor=executor, journal=journal, progress=progress)
    for _, found in tiles:
        regions, apart = regions + found.regions, farther(apart, found.apart)
        if not found.complete or (most is not None and regions > most):
            return Compared(regions, apart, False)
    return Compared(regions, apart, True)


def _compare_tile(network: Network, body: Polyhedron | None, size: int, *, target: NDArray[np.object_]) -> Compared:
    own = on_tile(network, body)
    most = max(size, cells_at_once(own))
    return _compare_cells(own, body, subdivide(own, body, most=most, strict=True), target)


def on_tile(network: Network, body: Polyhedron | None) -> Network:
    """The same function on a bounded polyhedron, by the neurons that may change their sign there.

    A neuron that reads no such neuron is affine on the polyhedron: its signs at the corners say whether it is always
    off or always on. Neurons that read others are bounded by intervals. In each layer `n` neurons ``x_i - low_i``,
    which are at least 1, pass the inputs on; what is always on is read from them. No cell is cut in another way. If
    that is not fewer neurons, the network itself is returned.

    >>> strip = Polyhedron.from_rows([[1], [-1]], [1, 0])
    >>> on_tile(Network([([[1], [1], [-2]], [1, -2, 1]), ([[1, 1, 1]], [0])]), strip)
    Network(1 -> 2 -> 1)
    """
    corners = np.zeros((0, 0), dtype=object) if body is None else corners_of(body.integer())
    if not len(corners) or (corners[:, -1] == 0).any():
        return network
    n, scale = network.inputs, 1
    low = (fraction_array(corners[:, :-1]) / corners[:, -1:]).min(axis=0) - 1
    affine, live, top = np.eye(n, n + 1, dtype=np.int64).astype(object), np.zeros(n, dtype=bool), low[:0]
    layers: list[ExactLayer] = []
    for l, (weight, bias) in enumerate(exact_layers(network)):
        # What each neuron reads, times `scale`: `plain` of the inputs, and `data` of neurons that are kept.
        factor = math.lcm(*(v.denominator for v in weight.data), *(v.denominator for v in bias))
        whole = np.array([v.numerator * (factor // v.denominator) for v in weight.data], dtype=object)
        matrix = RationalMatrix(weight.shape, weight.indptr, weight.indices, whole)
        plain = matrix @ (affine * (~live)[:, None].astype(np.int64))
        plain[:, -1] += np.array([v.numerator * (factor // v.denominator) for v in bias], dtype=object) * scale
        scale *= factor
        entry = np.flatnonzero(live[weight.indices])
        row, column, data = weight.rows[entry], (np.cumsum(live) - 1)[weight.indices[entry]], weight.data[entry]
        kept, most = _kept(plain, corners, scale, (row, data, top[column]), l + 1 == len(network.layers))
        own, width = np.flatnonzero(kept), int(live.sum()) if l else 0
        slopes, offset = fraction_array(plain[own, :n]) / scale, fraction_array(plain[own, -1]) / scale
        used, passed = np.flatnonzero(kept[row]), np.arange(n if l + 1 < len(network.layers) else 0)
        i, j = np.nonzero(slopes != 0)
        triples = (
            np.concatenate([(np.cumsum(kept) - 1)[row[used]], i, len(own) + passed]),
            np.concatenate([column[used], width + j, width + passed]),
            np.concatenate([data[used], slopes[i, j], np.full(len(passed), Fraction(1), dtype=object)]),
        )
        shift = [offset + slopes.dot(low), low[passed] * 0] if l else [offset, -low[passed]]
        layers.append(
            (RationalMatrix.from_triples(*triples, (len(own) + len(passed), width + n)), np.concatenate(shift))
        )
        always = ~kept & (signs_at(plain, corners) >= 0).all(axis=1)
        affine, live, top = plain * always[:, None].astype(np.int64), kept, most
    if sum(len(bias) for _, bias in layers) >= sum(weight.shape[0] for weight, _ in network.layers):
        return network
    return assemble([float_layer(layer) for layer in layers], layers)


def _kept(
    plain: NDArray[np.object_],
    corners: NDArray[np.object_],
    scale: int,
    terms: tuple[NDArray[np.int64], NDArray[np.object_], NDArray[np.object_]],
    last: bool,
) -> tuple[NDArray[np.bool_], NDArray[np.object_]]:
    """Which neurons may be positive and are not affine, or may change their sign, and a bound on each of them."""
    row, data, top = terms
    side = signs_at(plain, corners)
    mixed = np.bincount(row, minlength=len(plain)) > 0
    kept = mixed | ((side > 0).any(axis=1) & (side < 0).any(axis=1)) if not last else np.ones(len(plain), dtype=bool)
    some = np.flatnonzero(kept)
    most = (fraction_array(plain[some].dot(corners.T)) / (corners[:, -1] * scale)).max(axis=1, initial=Fraction(-1))
    if last:
        return kept, most
    up = np.flatnonzero((data > 0) & kept[row])
    np.add.at(most, np.searchsorted(some, row[up]), data[up] * top[up])
    kept[some[most <= 0]] = False
    return kept, most[most > 0]


def _are_all(made: Subdivision, found: Pieces, domain: Polyhedron | None) -> bool:
    """Whether the cells fill the domain: none is left out, and facets without a neighbour are in rows of the domain."""
    if found.complete or not made.whole or domain is None:
        return found.complete
    # A neuron that vanishes on the boundary of the domain may give its name to a facet there: rows tell.
    exact = found if found.spans is not None else pieces_of_subdivision(made, True)[0]
    border = {tuple(row) for row in primitive(domain.integer())}
    alone = primitive(exact.polyhedra.integer()[exact.neighbour < 0])
    return made.lattice.euler() == 1 and all(tuple(row) in border for row in alone)


def _compare_by_walking(
    network: Network,
    domain: Polyhedron | None,
    target: NDArray[np.object_],
    most: int | None,
    executor: Executor | None,
    progress: Progress | None,
) -> Compared:
    """The same for many inputs: cells by their rows, and the largest difference on each by linear programs."""
    walked = walk(network, domain, most=most, executor=executor, progress=progress)
    found = pieces_of_walk(walked, False)
    if _is_everywhere(network, found, target):
        return Compared(len(found), None, found.complete)
    found, probe = pieces_of_walk(walked, True), Probe(0.0)
    rows, below = _differences(found.laws.integer(), target)
    apart: Apart | None = None
    for i in np.flatnonzero((rows != 0).any(axis=(1, 2))):
        body = found.polyhedra[int(i)]
        for row, scale in zip(rows[i], below[i], strict=True):
            if (row != 0).any():
                apart = farther(apart, largest_on(probe, body, fraction_array(row) / scale))
    return Compared(len(found), apart, found.complete)


def largest_on(probe: Probe, body: Polyhedron, form: NDArray[np.object_]) -> Apart | None:
    """Where an affine form ``(gradient, offset)`` is largest in absolute value on a polyhedron with interior."""
    apart: Apart | None = None
    for sign in (1, -1):
        value, point = probe.maximum(body, sign * form[:-1])
        if value == math.inf:
            inside = probe.interior(body)
            assert inside is not None
            start = fraction_array(inside)
            still = (form[:-1] * start).sum() + form[-1] == 0
            return Apart(np.asarray(start + point) if still else start, math.inf)
        size = Fraction(value) + sign * form[-1]
        if size > 0:
            apart = farther(apart, Apart(fraction_array(point), size))
    return apart


def _is_everywhere(network: Network, found: Pieces, target: NDArray[np.object_]) -> bool:
    """Whether all cells have one law, and that law is the target."""
    if (found.component != found.component[0]).any():
        return False
    return bool((law_of_pattern(network, found.signs[0] > 0) == target).all())


def _differences(
    laws: NDArray[np.object_], target: NDArray[np.object_]
) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """Integer rows ``(gradient, offset)`` of ``law - target``, and the positive denominators that they are over."""
    goal = homogeneous(target)
    rows = laws[..., :-1] * goal[None, :, -1:] - goal[None, :, :-1] * laws[..., -1:]
    return rows, laws[..., -1] * goal[None, :, -1]


def cells_on(network: Network, domain: Polyhedron | None, most: int) -> Pieces | None:
    """All cells with their generators in integers, if they are at most so many, in few directions."""
    if essential_dimension(network, domain) > _LOW:
        return None
    try:
        made = subdivide(network, domain, most=most, strict=True)
    except TooMany:
        return None
    found = pieces_of_subdivision(made, True, spans=True)[0]
    return found if _are_all(made, found, domain) else None


def farthest_on_cells(
    network: Network,
    domain: Polyhedron | None,
    found: Pieces,
    cell: NDArray[np.int64],
    targets: NDArray[np.object_],
) -> Apart | None:
    """Where the network is farthest from one affine map for each of some cells, on that cell.

    `targets` are integer rows ``(gradient, offset, 1) * denominator``, one for each output.
    """
    laws = found.laws.integer()[cell]
    rows = laws[..., :-1] * targets[..., -1:] - targets[..., :-1] * laws[..., -1:]
    below = laws[..., -1] * targets[..., -1]
    apart: Apart | None = None
    assert found.spans is not None
    lines = _lines(network, domain) if found.spans.rank < network.inputs else []
    for j in range(rows.shape[1]):
        different = np.flatnonzero((rows[:, j] != 0).any(axis=1))
        if len(different):
            apart = farther(apart, at_generators(found.spans, cell, rows[:, j], below[:, j], different))
            apart = farther(apart, _along_lines(found, cell, rows[:, j], different, lines))
    return apart


def _farthest(network: Network, domain: Polyhedron | None, found: Pieces, target: NDArray[np.object_]) -> Apart | None:
    goal = homogeneous(target)
    targets = np.broadcast_to(goal, (len(found), *goal.shape))
    return farthest_on_cells(network, domain, found, np.arange(len(found)), targets)


def at_generators(
    spans: Generators,
    cell: NDArray[np.int64],
    rows: NDArray[np.object_],
    below: NDArray[np.object_],
    different: NDArray[np.int64],
) -> Apart | None:
    """The largest of ``rows[i] / below[i]`` in absolute value at the corners of ``cell[i]``, for the `different` `i`.

    Infinite if one changes along a ray.
    """
    entry, number = ranges(spans.start[cell[different]], np.diff(spans.start)[cell[different]])
    places, owner = spans.places[spans.member[entry]], different[number]
    value = (rows[owner] * places).sum(axis=1)
    ray = np.asarray(places[:, -1] == 0, dtype=bool)
    grows = np.flatnonzero(ray & (value != 0))
    if len(grows):
        k = grows[0]
        corner = places[np.flatnonzero((owner == owner[k]) & ~ray)[0]]
        point = fraction_array(corner[:-1]) / corner[-1]
        still = (rows[owner[k]] * corner).sum() == 0
        far = np.asarray(point + fraction_array(places[k][:-1])) if still else np.asarray(point)
        return Apart(far, math.inf, pair=int(owner[k]))
    size, scale = np.abs(value[~ray]), below[owner[~ray]] * places[~ray, -1]
    if not (size != 0).any():
        return None
    # Quotients of integers are rounded correctly, hence in order: the largest is among those that look largest.
    exponent = max(int(s).bit_length() - int(d).bit_length() for s, d in zip(size, scale, strict=True))
    shifted = _quotients(size, scale, exponent)
    best = [Fraction(int(size[k]), int(scale[k])) for k in np.flatnonzero(shifted == shifted.max())]
    k = int(np.flatnonzero(shifted == shifted.max())[int(np.argmax(np.array(best, dtype=object)))])
    corner = places[~ray][k]
    return Apart(np.asarray(fraction_array(corner[:-1]) / corner[-1]), max(best), pair=int(owner[~ray][k]))


def _quotients(above: NDArray[np.object_], below: NDArray[np.object_], exponent: int) -> NDArray[np.float64]:
    """The quotients divided by a power of two, so that they neither overflow nor all underflow."""
    if exponent >= 0:
        return np.asarray(above / (below << exponent), dtype=np.float64)
    return np.asarray((above << -exponent) / below, dtype=np.float64)


def _along_lines(
    found: Pieces,
    cell: NDArray[np.int64],
    rows: NDArray[np.object_],
    different: NDArray[np.int64],
    lines: list[NDArray[np.object_]],
) -> Apart | None:
    """A point where the difference is not zero, if it changes along a line that lies in all cells."""
    for line in lines:
        slope = (rows[different, :-1] * line).sum(axis=1)
        for k in np.flatnonzero(slope != 0)[:1]:
            pair = int(different[k])
            point = fraction_array(found.inside[cell[pair]])
            still = (rows[pair, :-1] * point).sum() + rows[pair, -1] == 0
            return Apart(np.asarray(point + line) if still else point, math.inf, pair=pair)
    return None


def _lines(network: Network, domain: Polyhedron | None) -> list[NDArray[np.object_]]:
    """Integer directions that span those in which no first neuron and no row of the domain changes."""
    n = network.inputs
    blocks = [] if domain is None else [domain.integer()[:, :-1]]
    if len(network.layers) > 1:
        weight = exact_layers(network)[0][0].toarray()
        blocks.append(integer_rows(to_float(weight), weight))
    rows = np.concatenate([np.zeros((1, n), dtype=np.int64).astype(object), *blocks])
    # FLINT ends the process where memory ends.
    check_memory(32.0 * rows.shape[1] ** 2, f"the lines of a function of {rows.shape[1]:,} inputs", "Use fewer inputs.")
    basis, rank = fmpz_mat([[int(v) for v in row] for row in rows]).nullspace()
    return [np.array([int(basis[i, j]) for i in range(n)], dtype=object) for j in range(rank)]
