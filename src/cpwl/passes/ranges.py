"""What neurons can read on a domain: exact bounds, by intervals and, where that is affordable, by linear programs.

The first layer is affine in x: the bounds are its least and largest values on the domain. Above it, a neuron with
``low <= z <= high`` gives ``h = relu(z)`` with ``h >= 0``, ``h >= z`` and, below the chord,
``h (high - low) <= high (z - low)``; these rows hold a polyhedron that contains all activations (the triangle
relaxation: Ehlers 2017), and a linear program over it bounds the next layer. Programs are decided in rationals.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, SolverError
from cpwl.exact.integers import primitive
from cpwl.exact.rational import to_float
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe, Range, bounding_box, is_box
from cpwl.network.network import ExactLayer, float_layer

__all__ = ["ranges"]

_PROGRAM = 80  # inputs and neurons up to which programs are used above the first layer
_CORNERS, _POINTS = 24, 200  # what is looked at before


def ranges(layers: list[ExactLayer], domain: Domain) -> list[list[Range]]:
    """Bounds for what each hidden neuron reads, layer by layer.

    >>> from cpwl.network import Network
    >>> from cpwl.network.network import exact_layers
    >>> network = Network([([[1], [-1]], [1, 0]), ([[1, 1]], [0])])
    >>> ranges(exact_layers(network), ([[1], [-1]], [1, 1]))[0][0]
    (Fraction(0, 1), Fraction(2, 1))
    """
    body = as_domain(domain, layers[0][0].shape[1])
    sides = None if body is None else _sides(body)
    before: list[Range] = [(None, None)] * layers[0][0].shape[1] if sides is None else sides[0]
    box = sides is None or sides[1]
    relaxed = None if body is None else _Relaxation(body)
    seen = None if body is None else _points(body).T
    found: list[list[Range]] = []
    for l, layer in enumerate(layers[:-1]):
        bounds = [_interval(layer, k, before) for k in range(len(layer[1]))]
        # On a box the intervals of the first layer are exact; nothing is to be gained where the sign is known, or where
        # points show both signs.
        if relaxed is not None and seen is not None and l < len(layers) - 1:
            weight, bias = float_layer(layer)
            seen = weight @ seen + bias[:, None]
            if not (box and l == 0) and (l == 0 or relaxed.size <= _PROGRAM):
                bounds = relaxed.tightened(layer, bounds, _turns(seen))
            seen = np.maximum(seen, 0.0)
        found.append(bounds)
        if relaxed is not None and l < len(layers) - 2 and relaxed.size <= _PROGRAM:
            relaxed.add(layer, bounds)
        before = [
            (max(low or Fraction(0), Fraction(0)), None if high is None else max(high, Fraction(0)))
            for low, high in bounds
        ]
    return found


def _points(body: Polyhedron) -> NDArray[np.float64]:
    """Some points of the domain, in floats: they only say where a program is not worth while."""
    rng = np.random.default_rng(0)
    try:
        found = Probe(1e-9).maxima(body, list(rng.standard_normal((_CORNERS, body.dim))))
    except SolverError:
        return np.zeros((0, body.dim))
    corners = np.array([x for value, x in found if np.isfinite(value)]).reshape(-1, body.dim)
    if len(corners) == 0:
        return corners
    return np.concatenate([corners, rng.dirichlet(np.full(len(corners), 0.2), _POINTS) @ corners])


def _turns(z: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which neurons read values that are clearly positive, and others that are clearly negative."""
    if z.shape[1] == 0:
        return np.zeros(len(z), dtype=bool)
    small = 1e-9 * np.abs(z).max(axis=1)
    return np.asarray((z.max(axis=1) > small) & (z.min(axis=1) < -small))


def _sides(body: Polyhedron) -> tuple[list[Range], bool]:
    """The range of each input, and whether the domain is a box."""
    box = bounding_box(body)
    if box is None:
        raise InputError("the domain is empty: no point satisfies all of its rows")
    return box, is_box(body)


def _interval(layer: ExactLayer, k: int, before: list[Range]) -> Range:
    """Interval arithmetic: the least and the largest sum of the terms."""
    weight, bias = layer
    low: Fraction | None = Fraction(bias[k])
    high: Fraction | None = low
    for j, w in zip(*_entries(weight, k), strict=True):
        least, most = before[j] if w > 0 else before[j][::-1]
        low = None if low is None or least is None else low + w * least
        high = None if high is None or most is None else high + w * most
        if low is high is None:
            break
    return low, high


def _entries(weight: Any, k: int) -> tuple[list[int], NDArray[np.object_]]:
    entries = slice(weight.indptr[k], weight.indptr[k + 1])
    return weight.indices[entries].tolist(), weight.data[entries]


class _Relaxation:
    """A polyhedron of inputs and activations, layer by layer; `columns`: where those of the last layer are."""

    def __init__(self, body: Polyhedron) -> None:
        self.rows = [list(row) for row in body.integer()]
        self.size = body.dim
        self.columns = list(range(body.dim))

    def tightened(self, layer: ExactLayer, bounds: list[Range], turns: NDArray[np.bool_]) -> list[Range]:
        """The bounds of neurons whose sign is open, and that are not seen to turn, by one program each way."""
        weight, bias = layer
        open_ = [k for k, (low, high) in enumerate(bounds) if (low is None or low < 0) and (high is None or high > 0)]
        open_ = [k for k in open_ if not turns[k]]
        if not open_:
            return bounds
        forms = []
        for k in open_:
            form = np.full(self.size, Fraction(0), dtype=object)
            for j, w in zip(*_entries(weight, k), strict=True):
                form[self.columns[j]] = Fraction(w)
            forms += [form, -form]
        values = [value for value, _ in Probe(0.0).maxima(self._polyhedron(), forms)]
        result = list(bounds)
        for i, k in enumerate(open_):
            most, least = values[2 * i], values[2 * i + 1]
            low = None if least == np.inf else bias[k] - least
            result[k] = (low, None if most == np.inf else bias[k] + most)
        return result

    def add(self, layer: ExactLayer, bounds: list[Range]) -> None:
        """One more layer of activations."""
        weight, bias = layer
        count = len(bias)
        rows = [[*row[:-1], *([0] * count), row[-1]] for row in self.rows]
        for k, (low, high) in enumerate(bounds):
            z = np.full(self.size + count, Fraction(0), dtype=object)
            for j, w in zip(*_entries(weight, k), strict=True):
                z[self.columns[j]] = Fraction(w)
            h = np.full(self.size + count, Fraction(0), dtype=object)
            h[self.size + k] = Fraction(1)
            rows += [[*-h, Fraction(0)], [*(z - h), -bias[k]]]
            if high is not None and high <= 0:
                rows.append([*h, Fraction(0)])
            elif low is not None and low >= 0:
                rows.append([*(h - z), bias[k]])
            elif low is not None and high is not None:
                rows.append([*(h * (high - low) - high * z), high * (bias[k] - low)])
        self.columns = list(range(self.size, self.size + count))
        self.size += count
        self.rows = rows

    def _polyhedron(self) -> Polyhedron:
        rows = []
        for row in self.rows:
            below = math.lcm(*(v.denominator for v in row))
            rows.append([v.numerator * (below // v.denominator) for v in row])
        whole = primitive(np.array(rows, dtype=object).reshape(len(rows), self.size + 1))
        scale = np.abs(whole[:, :-1]).max(axis=1) if len(whole) else np.ones(0)
        view = to_float(np.asarray(whole / np.where(scale == 0, 1, scale)[:, None], dtype=object))
        return Polyhedron(view[:, :-1], view[:, -1], whole)
