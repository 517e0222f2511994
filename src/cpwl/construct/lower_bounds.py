"""How many neurons a plain network needs at least: the bounds that hold for this very function.

Bounds from counting parameters hold for almost every function only, and are not here. Proofs are in
docs/theory/lower_bounds.md.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl import bounds
from cpwl.bounds import Bound
from cpwl.construct.analysis import Analysis, distinct_laws
from cpwl.exact.integers import primitive
from cpwl.function import CPWL
from cpwl.function.bends.table import Neighbours
from cpwl.function.cpwl import generators_of
from cpwl.function.domain import is_everything
from cpwl.function.sums import graph_of
from cpwl.geometry.polyhedra import fact

_POINTS = 1500  # vertices up to which lines through them are counted
_PIECES = 20_000  # pieces up to which bends are looked for
_PAIRS = 10**6  # pairs of neighbours of pieces up to which flats are looked for


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No plain network has fewer hidden neurons; with `hidden_layers`, none with so many hidden layers has."""

    neurons: int
    reason: str
    hidden_layers: int | None = None


def lower_bounds(analysis: Analysis, hidden_layers: int | None = None) -> list[LowerBound]:
    """What is known for networks of any depth, and for those with so many hidden layers; the largest of each first.

    >>> p = CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]])
    >>> [(b.neurons, b.reason) for b in lower_bounds(Analysis(p))]
    [(2, 'the gradients have rank 1, and the function is nowhere constant on R^1'), (1, '2 laws')]
    """
    p = analysis.function
    found, laws = for_any_network(analysis), analysis.distinct_laws
    # An affine network of data with a tolerance has no hidden layer, and says nothing about those that have.
    if hidden_layers and len(laws) > 1:
        count = _patterns(p.dim, len(laws), hidden_layers)
        found.append(LowerBound(count, f"{len(laws)} laws", hidden_layers))
        found += _bent(analysis, hidden_layers)
        joint = _joint(analysis, hidden_layers)
        if joint is not None and joint.neurons > max(bound.neurons for bound in found):
            found.append(joint)
    return sorted(found, key=lambda b: (b.hidden_layers or 0, -b.neurons))


def for_any_network(analysis: Analysis) -> list[LowerBound]:
    """The bounds that hold for networks of any depth."""
    laws = analysis.distinct_laws
    if len(laws) == 1:
        return [LowerBound(0, "the function is affine")]
    p = analysis.function
    return [_rank(p), LowerBound(_patterns(p.dim, len(laws), None), f"{len(laws)} laws")]


@fact
def _rank(p: CPWL) -> LowerBound:
    """The first layer must see every direction in which the function changes.

    On all of R^n, were its rows independent, all its neurons would be 0 on an open cone, and the function constant.
    """
    laws = distinct_laws(p)
    slopes = laws[..., :-2].reshape(-1, p.dim)
    rank = fmpz_mat([[int(v) for v in row] for row in slopes]).rank()
    if is_everything(p) and all(law.any() for law in laws[..., :-2].reshape(len(laws), -1)):
        return LowerBound(
            rank + 1, f"the gradients have rank {rank}, and the function is nowhere constant on R^{p.dim}"
        )
    return LowerBound(rank, f"the gradients have rank {rank}")


def _patterns(n: int, laws: int, hidden_layers: int | None) -> int:
    """The fewest neurons whose activation patterns can be as many as the laws.

    `w` neurons on R^n make at most ``sum_{j <= n} C(w, j)`` patterns, a layer on top as many in each.
    """

    if hidden_layers is None:
        return (laws - 1).bit_length()  # at most 2^w, and layers of one neuron reach it
    total = 0
    while True:
        # Even widths are best: the logarithm of `_regions` is concave.
        share, more = divmod(total, hidden_layers)
        if _regions(n, share) ** (hidden_layers - more) * _regions(n, share + 1) ** more >= laws:
            return total
        total += 1


def _regions(n: int, w: int) -> int:
    """Into how many cells `w` hyperplanes cut R^n at most."""
    return sum(math.comb(w, j) for j in range(min(n, w) + 1))


def _joint(analysis: Analysis, hidden_layers: int) -> LowerBound | None:
    """The fewest neurons of two or three hidden layers whose widths satisfy all that is known of them together."""
    p = analysis.function
    if p.tol or p.num_pieces > _PIECES or hidden_layers not in ((2, 3) if p.dim <= 2 else (2,)):
        return None
    laws, points, most, crossed = len(analysis.distinct_laws), 0, 1, 0
    reasons = [f"{laws} laws"]
    if p.dim == 1:
        laws = max(laws, len(analysis.profile.places) + 1)
        reasons = [f"{laws} pieces on a line"]
    elif p.dim > 2:
        crossed = _most_with_as_many(_flats_on_hyperplanes(p))
        reasons += [f"{crossed} hyperplanes with {crossed} flats or more where a jump changes"] if crossed > 1 else []
    elif 0 < len(analysis.bends.vertices) <= _POINTS:
        points, most = len(analysis.bends.vertices), _most_on_a_line(analysis.bends.vertices)
        reasons.append(f"{points} points where a jump changes, at most {most} on one line")
        held = np.unique(np.unique(analysis.bends.on, axis=0)[:, 1], return_counts=True)[1]
        crossed = _most_with_as_many(held) if hidden_layers == 2 else 0
        reasons += [f"{crossed} lines with {crossed} of them or more"] if crossed > 1 else []
    found = _fewest(p.dim, laws, points, most, crossed, hidden_layers)
    return LowerBound(found, f"all widths: {'; '.join(reasons)}", hidden_layers)


def _most_with_as_many(counts: NDArray[np.int64]) -> int:
    """The largest `j` for which `j` of the numbers are at least `j`."""
    return int((np.sort(counts)[::-1] >= np.arange(1, len(counts) + 1)).sum())


def _flats_on_hyperplanes(p: CPWL) -> NDArray[np.int64]:
    """For hyperplanes between pieces, how many flats of codimension 2 with a bend on one side only each contains.

    Looked for are three pieces around a flat, and four of which one pair and the other have one hyperplane between
    them. Common corners and rays span the flat, so that it is a face of them all, inside the domain.
    """
    graph, found = graph_of(p), generators_of(p)
    beside: dict[int, dict[int, int]] = defaultdict(dict)
    pairs = np.column_stack([graph.one, graph.two, graph.plane])
    for i, j, h in pairs.tolist():
        beside[i][j] = beside[j][i] = h
    if sum(len(own) ** 2 for own in beside.values()) > _PAIRS:
        return np.zeros(0, dtype=np.int64)
    bends = (graph.jump != 0).any(axis=1)
    corners = [frozenset(found.of_piece(i).tolist()) for i in range(p.num_pieces)]
    held: dict[int, set[tuple[int, ...]]] = defaultdict(set)
    seen: set[frozenset[int]] = set()
    for a, b, one in pairs[bends].tolist():
        shared = corners[a] & corners[b]
        for c, h in beside[a].items():
            for d, k in beside[b].items():
                planes = frozenset((one, h, k if c == d else beside[c].get(d, one)))
                if (c != d and h != k) or len(planes) < 3 or planes in seen:
                    continue
                face = found.places[sorted(shared & corners[c] & corners[d])]
                if face[:, -1:].any() and fmpz_mat(face.tolist()).rank() == p.dim - 1:
                    seen.add(planes)
                    flat = _flat(graph.planes[sorted(planes)[:2]])
                    for own in planes:
                        held[own].add(flat)
    return np.array([len(own) for own in held.values()], dtype=np.int64)


def _flat(rows: NDArray[np.object_]) -> tuple[int, ...]:
    """What two hyperplanes have in common, the same numbers for the same flat."""
    reduced, _, _ = fmpz_mat(rows.tolist()).rref()
    return tuple(int(v) for row in primitive(np.array(reduced.tolist(), dtype=object)) for v in row)


def _fewest(n: int, laws: int, points: int, most: int, crossed: int, hidden_layers: int) -> int:
    """The least sum of widths with as many patterns as laws, and lines enough for the points (docs/theory).

    The widths before the last one are tried one after the other; the last one has only patterns to make up for.

    >>> _fewest(2, 7, 0, 1, 0, 2), _fewest(2, 7, 5, 1, 0, 2)
    (3, 6)
    """
    best = _patterns(n, laws, hidden_layers) + points + crossed + hidden_layers
    for first in range(1, best):
        for second in range(1, best - first) if hidden_layers == 3 else (0,):
            before = _regions(n, first) * _regions(n, second)
            lines = first + second * _regions(n, first)
            if first < crossed or lines * most < points:
                continue
            last = 1
            while first + second + last < best and before * _regions(n, last) < laws:
                last += 1
            best = min(best, first + second + last)
            if last == 1:
                break  # a wider second layer is no better
    return best


def _bent(analysis: Analysis, hidden_layers: int) -> list[LowerBound]:
    p = analysis.function
    if p.tol or p.num_pieces > _PIECES:
        return []
    if hidden_layers == 1:
        planes = _planes(p, analysis.neighbours)
        return [LowerBound(planes, f"the function bends on {planes} hyperplanes", 1)]
    if hidden_layers == 2 and p.dim == 2:
        vertices = analysis.bends.vertices
        if 0 < len(vertices) <= _POINTS:
            most = _most_on_a_line(vertices)
            lines = -(-len(vertices) // most)
            reason = f"a first-layer line through each of {len(vertices)} points, at most {most} on one"
            return [LowerBound(lines, reason, 2)]
    return []


def _planes(p: CPWL, found: Neighbours) -> int:
    """The number of hyperplanes on which some output bends."""
    laws = p.laws.integer()
    f, g = laws[found.two], laws[found.one]
    bent = (f[..., :-1] * g[..., -1:] != g[..., :-1] * f[..., -1:]).any(axis=(1, 2))
    rows = primitive(found.row[bent])
    return len({max(tuple(row), tuple(-row)) for row in rows})


def _most_on_a_line(vertices: NDArray[np.object_]) -> int:
    """The largest number of points ``(x, y, w)`` on one line."""
    most = min(len(vertices), 2)
    for i, v in enumerate(vertices):  # a loop over points, each against all later ones in arrays
        others = vertices[i + 1 :]
        if len(others) + 1 <= most:
            break
        directions = np.column_stack(
            [others[:, 0] * v[2] - v[0] * others[:, 2], others[:, 1] * v[2] - v[1] * others[:, 2]]
        )
        keys = sorted(max(tuple(d), tuple(-d)) for d in primitive(directions))
        most = max(most, 1 + max(len(list(group)) for _, group in itertools.groupby(keys)))
    return most


# The published bounds for a function: how large the paper's networks, and those before it, are at most.


def upper_bounds(p: CPWL, row_sizes: Sequence[Sequence[int]] | None = None) -> dict[str, Bound]:
    """The bounds of Theorems 1 to 3, and with the lengths of its rows the exact count of Algorithm 1.

    >>> upper_bounds(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1), [[1, 1]])["algorithm1"].neurons
    3
    """
    q, n = p.num_pieces, p.dim
    counts = [len(p.representatives(j)) for j in range(p.outputs)]
    known = {
        "theorem1": _side_by_side([bounds.theorem1(q) for _ in counts]),
        "theorem2": _side_by_side([bounds.theorem2(k, q) for k in counts]),
        "theorem3": _side_by_side([bounds.theorem3(n, k) for k in counts]),
    }
    if row_sizes is not None:
        known["algorithm1"] = _side_by_side([bounds.algorithm1(list(sizes)) for sizes in row_sizes])
    return known


def _side_by_side(parts: list[Bound]) -> Bound:
    """Bounds for several outputs, by the lemma on concatenation (padding with two neurons per layer)."""
    if len(parts) == 1:
        return parts[0]
    layers = max(part.layers for part in parts)
    return Bound(
        layers,
        sum(max(part.width, 2) for part in parts),
        sum(part.neurons + 2 * (layers - part.layers) for part in parts),
    )
