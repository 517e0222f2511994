"""One hidden layer on a line: `m` breakpoints, and `m` or `m + 1` neurons.

``g(t) = g_0(t) + sum_i w_i relu(t - t_i)``, and ``relu(t - t_i) = (t - t_i) + relu(t_i - t)``: flipping the hinges in a
set `T` adds ``sum_T w_i`` to the slope of the affine part. It vanishes, and `m` neurons suffice, iff that sum is
``-g_0'`` for some `T`; the hinges left of a piece where `g` is constant are such a set. Otherwise one neuron more,
``relu(t_0 - t)``, carries it.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.exact.integers import ratio_view
from cpwl.exact.rational import to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.function.bends.profile import Profile
from cpwl.network import Network
from cpwl.network.network import ExactLayer, assemble

__all__ = ["flips_of", "one_layer"]

_FEW = 24  # breakpoints up to which all sets of flips are searched
_fraction = np.frompyfunc(Fraction, 2, 1)


def flips_of(profile: Profile) -> NDArray[np.bool_] | None:
    """Hinges to flip so that no affine part remains, for all outputs at once; None if there are none.

    For many breakpoints only those left of a constant piece are tried: in general this is a subset-sum problem.
    """
    m = len(profile.places)
    constant = np.flatnonzero((profile.laws[..., 0] == 0).all(axis=1))
    if len(constant):
        return np.asarray(np.arange(m) < constant[0])
    if m > _FEW:
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
    first = profile.places[0]
    sign = np.ones(m, dtype=np.int64) if flips is None else np.where(flips, -1, 1)
    where, scale = -sign * profile.places[:, 0], profile.places[:, 1]
    if flips is None:
        # All of it as seen from the first breakpoint: slopes -g_0' to its left and g_1' to its right.
        sign, where, scale = np.append(sign, -1), np.append(where, first[0]), np.append(scale, first[1])
        (left, right), (below_left, below_right) = profile.laws[:2, :, 0], profile.laws[:2, :, 2]
        numerator = np.concatenate([[right], numerator[1:], [-left]])
        below = np.concatenate([[below_right], below[1:], [below_left]])
        constant = [_at(law, Fraction(*first)) for law in profile.laws[0]]
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


def _at(law: Any, t: Fraction) -> Fraction:
    return Fraction((law[0] * t + law[1]) / law[2])


def _subsets(members: range) -> list[tuple[int, ...]]:
    return [T for size in range(len(members) + 1) for T in itertools.combinations(members, size)]


def _total(jumps: NDArray[np.object_], T: tuple[int, ...]) -> tuple[Fraction, ...]:
    total = jumps[list(T)].sum(axis=0) if T else [Fraction(0)] * jumps.shape[1]
    return tuple(Fraction(v) for v in total)
