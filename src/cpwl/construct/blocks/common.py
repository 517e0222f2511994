"""Parts of constructions: crossings of lines, colours of boxes, outward rounding, shared outputs, fewer inputs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array

from cpwl.errors import check_memory
from cpwl.exact.integers import sign
from cpwl.exact.rational import exact_matrix, fraction_array, fractions_of, pivots, reduced_rows
from cpwl.function import CPWL
from cpwl.function.bends.planar import cross
from cpwl.function.order import Order
from cpwl.function.parts import Laws
from cpwl.geometry.generators import box_pairs
from cpwl.network import Network
from cpwl.network.algorithms import end_to_end, extrema, extremum, identity, share_first_layer, side_by_side

# The type of rational numbers in sums that are built up term by term: `flint`'s, which has no usable type hints.


Rational: TypeAlias = Any
"""A rational number of `flint`."""


# Where lines cross in a convex domain of the plane: points at which everything that bends on them only is decided.


def crossings(forms: NDArray[np.object_], boundary: NDArray[np.object_], *, bounded: bool) -> NDArray[np.object_]:
    """All points ``(X, Y, W)`` of the domain on two of the forms or edges; ``W = 0`` for directions of the domain.

    The domain is where all `boundary` forms are at least 0.
    """
    infinity = np.array([[0, 0, 1]], dtype=object)
    every = np.concatenate([forms, boundary] if bounded else [forms, boundary, infinity])
    one, two = np.triu_indices(len(every), 1)
    points = cross(every[one], every[two])
    points = points[(points != 0).any(axis=1)]
    points = points * np.where(sign(points[:, 2]) < 0, -1, 1).astype(object)[:, None]
    far = points[:, 2] == 0
    points = points[~far] if bounded else np.concatenate([points, -points[far]])
    return points[((points @ boundary.T) >= 0).all(axis=1)] if len(boundary) else points


# Which functions with bounded supports may share a neuron: colours of boxes.


_TOGETHER = 1 << 22  # pairs of boxes at most that are in memory: in four inputs most boxes overlap


def colours(low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.int64]:
    """Few colours for boxes, rows of their lower and upper ends, such that those of one colour overlap nowhere.

    Boxes may touch. Large ones come first, each gets the first colour that is free.

    >>> colours(np.array([[0, 0], [1, 1], [2, 0]]), np.array([[2, 2], [3, 3], [4, 1]]))
    array([0, 1, 0])
    """
    view = [np.asarray(ends, dtype=np.float64) for ends in (low, high)]  # rounding makes no two boxes miss each other
    order = np.argsort(-np.prod(high - low, axis=1), kind="stable")
    result, portion = np.full(len(low), -1, dtype=np.int64), max(1, _TOGETHER // max(1, len(low)))
    for first in range(0, len(order), portion):
        own = order[first : first + portion]
        one, two = box_pairs(view[0][own], view[1][own], (view[0], view[1])).T
        meets = ((low[own[one]] < high[two]) & (high[own[one]] > low[two])).all(axis=1) & (own[one] != two)
        one, two = one[meets], two[meets]
        start = np.searchsorted(one, np.arange(len(own) + 1))
        for k, i in enumerate(own.tolist()):
            taken = set(result[two[start[k] : start[k + 1]]].tolist())
            result[i] = next(c for c in range(len(low)) if c not in taken)
    return result


# Bounds rounded outwards to few bits: weights that are exact in every float format, and bounds all the same.


_BITS = 8


def rounded_up(x: float) -> Fraction:
    """A number of 8 bits that is larger than `x`; 0 if `x` is not positive.

    >>> rounded_up(0.3), rounded_up(-2.0)
    (Fraction(77, 256), Fraction(0, 1))
    """
    if not x > 0:
        return Fraction(0)
    mantissa, exponent = math.frexp(x)
    top = math.floor(mantissa * 2**_BITS) + 1
    return Fraction(top) * Fraction(2) ** (exponent - _BITS)


def shared_columns(columns: NDArray[np.object_]) -> tuple[list[int], NDArray[np.object_]]:
    """Columns that are independent, and all of them in terms of these: what is proportional is made only once.

    >>> basis, share = shared_columns(np.array([[1, 2], [3, 6]], dtype=object))
    >>> basis, share.tolist()
    ([0], [[Fraction(1, 1)], [Fraction(2, 1)]])
    """
    count, m = columns.shape
    if m == 1:
        return [0], np.array([[Fraction(1)]], dtype=object)
    reduced, rank = exact_matrix(columns).rref()
    share = np.array(fractions_of(reduced), dtype=object).reshape(count, m)[:rank].T
    return pivots(reduced, rank), share


# Networks of a max of mins of components, and those of several outputs side by side.


_BYTES = 96  # for a weight, as a float and as a rational, with what it takes to make them


def rows_of(order: Order) -> list[NDArray[np.int64]]:
    """The paper's sets `A_i`: for each piece the components that stay above the function on it."""
    return [np.flatnonzero(row) for row in order.above]


def max_of_mins(laws: Laws, rows: list[NDArray[np.int64]]) -> Network:
    """Steps 9-13 of Algorithm 1: min networks side by side, then the max of their outputs.

    >>> from cpwl.function import CPWL
    >>> max_of_mins(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]]).components(0), [np.array([0]), np.array([1])])
    Network(1 -> 3 -> 1)
    """
    members = sum(len(row) for row in rows)
    # Three neurons for two members, with n weights each in the first layer and up to six in later ones.
    check_memory(
        _BYTES * members * (1.5 * laws.gradient.shape[-1] + 9),
        f"Algorithm 1's network of about {3 * members:,} neurons",
        'Use construction="gates" or "lattice", which need far fewer.',
    )
    whole = laws.coefficients()[:, 0] if laws.exact is None else laws.rational()[:, 0]
    minima = extrema(whole[:, :-1], whole[:, -1], rows, "min")
    return end_to_end(minima, extremum(eye_array(len(rows), format="csr"), np.zeros(len(rows)), "max"))


def outputs_together(networks: list[Network]) -> Network:
    """One network per output, side by side, with what their first layers have in common shared."""
    if len(networks) == 1:
        return networks[0]
    first = [1 if len(n.layers) == 1 else n.layers[0][0].shape[0] for n in networks]
    depth = max(len(n.layers) for n in networks)
    first = [2 if len(n.layers) == 1 and depth > 1 else f for n, f in zip(networks, first, strict=True)]
    return share_first_layer(side_by_side(networks), first) if depth > 1 else side_by_side(networks)


# Networks on the coordinates that matter.


def lifted(p: CPWL, coordinates: NDArray[np.int64], network: Network) -> Network:
    """A network on some coordinates as one on all: ``p(x) = small(T x) + (f - f_small T)(x)``.

    With a basis `S` of all rows and differences of laws, ``T = S_J^-1 S`` keeps all their values; what is left is
    affine, and usually 0.
    """
    project = _projection(p, coordinates)
    inner = end_to_end(Network([(project, np.zeros(len(coordinates), dtype=np.int64).astype(object))]), network)
    law = fraction_array(p.laws.integer()[0, :, :-2]) / p.laws.integer()[0, :, -1:]
    rest = law - law[:, coordinates].dot(project)
    if not rest.any():
        return inner
    affine = Network([(rest, fraction_array(np.zeros(p.outputs)))])
    depth = len(inner.layers)
    both = side_by_side([inner, end_to_end(affine, identity(p.outputs, depth))])
    add = np.concatenate([np.eye(p.outputs, dtype=np.int64)] * 2, axis=1)
    return end_to_end(both, Network([(add, np.zeros(p.outputs, dtype=np.int64))]))


def _projection(p: CPWL, coordinates: NDArray[np.int64]) -> NDArray[np.object_]:
    """The matrix ``T = S_J^-1 S`` for a basis `S` of the rows and the differences of laws."""
    laws = p.laws.integer()
    slopes = laws[..., :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[..., -1:]
    rows = {tuple(int(v) for v in row) for row in p.polyhedra.integer()[:, :-1]}
    rows |= {tuple(int(v) for v in row) for row in slopes.reshape(-1, p.dim) if any(row)}
    basis = reduced_rows(np.array(sorted(rows), dtype=object).reshape(len(rows), p.dim))
    if len(basis) < len(coordinates):  # affine: no row and no bend, and any coordinate will do
        return np.array([[Fraction(int(j == c)) for j in range(p.dim)] for c in coordinates], dtype=object)
    solved = exact_matrix(basis[:, coordinates]).inv() * exact_matrix(basis)
    return np.array(fractions_of(solved), dtype=object).reshape(basis.shape)
