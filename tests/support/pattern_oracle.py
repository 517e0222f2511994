"""A slow, independent reference: all activation patterns of a small network, tried one by one in rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import fraction_array
from cpwl.exact.simplex import maximize
from cpwl.network.network import exact_layers

__all__ = ["all_patterns"]


def all_patterns(network, domain=None):
    """``{pattern: law}``: every on-off pattern of hidden neurons that holds on a set with interior, and its law.

    Neurons that vanish identically count as off. A pattern is decided by an exact linear program: the largest `t`
    with ``a.x + t |a| <= b`` for all its rows. Patterns are grown layer by layer.
    """
    layers = [(weight.toarray(), bias) for weight, bias in exact_layers(network)]
    n = network.inputs
    frame = [] if domain is None else [[*map(Fraction, a), Fraction(b)] for a, b in zip(*domain, strict=True)]
    identity = np.concatenate([fraction_array(np.eye(n)), fraction_array(np.zeros((1, n)))])
    # A state: pattern so far, rows (a, b) of a.x <= b, and the affine map (x, 1) -> activations, as columns (n + 1).
    states = [((), frame, np.concatenate([identity.T, np.zeros((n, 0), dtype=object)], axis=1))]
    for weight, bias in layers[:-1]:
        following = []
        for pattern, rows, h in states:
            z = weight @ h
            z[:, n] += bias
            for own in itertools.product((0, 1), repeat=len(bias)):
                more = _rows(z, own)
                if more is not None and _has_interior(rows + more, n):
                    on = np.array(own, dtype=bool)
                    following.append((pattern + own, rows + more, np.where(on[:, None], z, Fraction(0))))
        states = following
    weight, bias = layers[-1]
    found = {}
    for pattern, _, h in states:
        law = weight @ h
        law[:, n] += bias
        found[pattern] = tuple(tuple(row) for row in law)
    return found


def _rows(z, own):
    """Rows of ``z >= 0`` where on and ``z <= 0`` where off; None if a constant says that it cannot be."""
    rows = []
    for form, on in zip(z, own, strict=True):
        if not any(form[:-1]):
            if on != (form[-1] > 0):
                return None
            continue
        rows.append([*(-form[:-1] if on else form[:-1]), form[-1] if on else -form[-1]])
    return rows


def _has_interior(rows, n):
    if not rows:
        return True
    wide = [[*row[:-1], sum(map(abs, row[:-1])), row[-1]] for row in rows]
    wide.append([Fraction(0)] * n + [Fraction(1), Fraction(1)])
    exact = fraction_array(wide)
    best = maximize(integer_rows(exact.astype(float), exact), [0] * n + [1])
    return best.status == "optimal" and best.value > 0
