"""`simplify` runs passes until none finds a neuron to remove. A pass keeps the function exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from cpwl.doors import check_argument, formerly, within_float64
from cpwl.errors import InputError, SolverError
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import from_flint, is_exact_float, pivots, reduced_rows, to_flint, to_float
from cpwl.exact.sparse import RationalMatrix, stack_rows
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Probe, Range, bounding_box, is_box
from cpwl.network import Network
from cpwl.network.network import ExactLayer, assemble, exact_layers, float_layer, meant

# What neurons can read on a domain: exact bounds, by intervals and, where that is affordable, by linear programs.
#
# The first layer is affine in x: the bounds are its least and largest values on the domain. Above it, a neuron with
# ``low <= z <= high`` gives ``h = relu(z)`` with ``h >= 0``, ``h >= z`` and, below the chord,
# ``h (high - low) <= high (z - low)``; these rows hold a polyhedron that contains all activations (the triangle
# relaxation: Ehlers 2017), and a linear program over it bounds the next layer. Programs are decided in rationals.


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
        whole = integer_rows(np.zeros(0), np.array(self.rows, dtype=object).reshape(-1, self.size + 1))
        scale = np.abs(whole[:, :-1]).max(axis=1, initial=1)
        view = to_float(np.asarray(whole / scale[:, None], dtype=object))
        return Polyhedron(view[:, :-1], view[:, -1], whole)


# Rewriting a hidden layer: every neuron as an affine combination of those that are kept.
#
# If the outputs of a layer are ``y = T y' + c`` with `y'` the outputs of the kept neurons, the next layer reads
# ``W T y' + (W c + b)``, and the function stays what it is. All passes that remove neurons do this, in rationals.


Layers = list[ExactLayer]


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """For each neuron that goes: the kept neurons, with factors, and the constant that its output equals."""

    terms: Mapping[int, Mapping[int, Fraction]]
    constant: Mapping[int, Fraction]


def rewrite(network: Network, find: Callable[[Layers, int], Removal | None], *, backwards: bool = False) -> Network:
    """What remains after `find` has named the neurons to remove in one hidden layer after the other."""
    layers: Layers = list(exact_layers(network))
    order: Iterable[int] = range(len(layers) - 1)
    changed = False
    for l in reversed(list(order)) if backwards else order:
        removal = find(layers, l) if l < len(layers) - 1 else None
        if removal is not None and removal.terms:
            layers, changed = remove(layers, l, removal), True
    return rebuilt(network, layers) if changed else network


def remove(layers: Layers, l: int, removal: Removal) -> Layers:
    """The layers without those neurons of hidden layer `l`."""
    weight, bias = layers[l]
    after, after_bias = layers[l + 1]
    keep = np.array([k for k in range(len(bias)) if k not in removal.terms], dtype=np.int64)
    constant = np.full(len(bias), Fraction(0), dtype=object)
    for k, value in removal.constant.items():
        constant[k] = value
    moved = after_bias + after @ constant
    if len(keep) == 0:  # a constant is all that is left
        return _constant(layers, l, moved)
    place = {int(k): j for j, k in enumerate(keep)}
    triples = [(k, j, Fraction(1)) for k, j in place.items()]
    triples += [(k, place[i], v) for k, terms in removal.terms.items() for i, v in terms.items()]
    rows, columns, values = zip(*triples, strict=True)
    into = RationalMatrix.from_triples(rows, columns, values, (len(bias), len(keep)))
    return [*layers[:l], (weight.take_rows(keep), bias[keep]), (after @ into, moved), *layers[l + 2 :]]


def _constant(layers: Layers, l: int, value: NDArray[np.object_]) -> Layers:
    for weight, bias in layers[l + 2 :]:
        value = weight @ (value * (value > 0)) + bias
    return [(RationalMatrix.from_triples([], [], [], (len(value), layers[0][0].shape[1])), value)]


def rebuilt(network: Network, layers: Sequence[ExactLayer]) -> Network:
    """The network of these layers: of floats, if the given one is and all numbers are doubles; else of rationals."""
    exact = network.exact is not None or not all(is_exact_float(w.data) and is_exact_float(b) for w, b in layers)
    return assemble([float_layer(layer) for layer in layers], list(layers) if exact else None)


def proportional(layer: ExactLayer, k: int) -> tuple[tuple[int, ...], tuple[int, ...], Fraction]:
    """What neuron `k` reads: columns, integers without a common divisor, bias last, and the positive factor of these.

    >>> proportional((RationalMatrix.from_dense([["1/2", 0, 1]]), np.array([Fraction(3)])), 0)
    ((0, 2), (1, 2, 6), Fraction(1, 2))
    """
    weight, bias = layer
    entries = slice(weight.indptr[k], weight.indptr[k + 1])
    values = [*weight.data[entries], bias[k]]
    below = math.lcm(*(v.denominator for v in values))
    whole = [v.numerator * (below // v.denominator) for v in values]
    divisor = math.gcd(*whole)
    return tuple(weight.indices[entries].tolist()), tuple(v // divisor for v in whole), Fraction(divisor, below)


# Neurons that nothing reads, and neurons that are constant.


def drop_unused(network: Network) -> Network:
    """The same function without neurons of outgoing weights 0, and with constant neurons added to the next bias.

    1. All outgoing weights are 0: the output is never used.
    2. All incoming weights are 0: the output is ``relu(bias)``.

    >>> network = Network([([[1], [0], [2]], [0, 3, 0]), ([[1, 1, 0]], [0])])
    >>> drop_unused(network)
    Network(1 -> 1 -> 1)
    """
    return rewrite(rewrite(network, _constants), _unread, backwards=True)


def _unread(layers: Layers, l: int) -> Removal | None:
    after = layers[l + 1][0]
    idle = np.setdiff1d(np.arange(after.shape[1]), after.indices)
    return Removal({int(k): {} for k in idle}, {}) if len(idle) else None


def _constants(layers: Layers, l: int) -> Removal | None:
    weight, bias = layers[l]
    fixed = np.flatnonzero(np.diff(weight.indptr) == 0)
    constant = {int(k): max(Fraction(bias[k]), Fraction(0)) for k in fixed}
    return Removal({k: {} for k in constant}, constant) if constant else None


# Equal and positively proportional neurons made one.


def merge_proportional(network: Network) -> Network:
    """The same function with one neuron for all that read positive multiples of one affine function.

    ``relu(c z) = c relu(z)`` for ``c > 0``. Layer after layer, so that what becomes proportional is merged too.

    >>> network = Network([([[1], [2], [-1]], [1, 2, 0]), ([[1, 1, 1]], [0])])
    >>> [weight.toarray().tolist() for weight, _ in merge_proportional(network).layers]
    [[[1.0], [-1.0]], [[3.0, 1.0]]]
    """
    return rewrite(network, _repeated)


def _repeated(layers: Layers, l: int) -> Removal | None:
    weight, bias = layers[l]
    first: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, Fraction]] = {}
    terms: dict[int, dict[int, Fraction]] = {}
    for k in range(len(bias)):
        if weight.indptr[k] == weight.indptr[k + 1]:
            continue
        columns, row, factor = proportional(layers[l], k)
        i, unit = first.setdefault((columns, row), (k, factor))
        if i != k:
            terms[k] = {i: factor / unit}
    return Removal(terms, {}) if terms else None


# Neurons that are linear combinations of others: what several neurons pass unchanged need be passed only once.
#
# A pair ``relu(z)``, ``relu(-z)`` passes `z`, their difference, and so does a neuron that is always on. If a layer
# passes more functions than are linearly independent, up to constants, one of them follows from the others, and with
# it one of its neurons: ``relu(-z) = relu(z) - z``.


@dataclass(frozen=True, slots=True)
class Passed:
    """The layer passes what `neuron` reads: ``z = relu(z) - factor relu(opposite)``; no opposite: it is always on."""

    neuron: int
    opposite: int | None
    factor: Fraction


def remove_dependent(network: Network, domain: Domain = None) -> Network:
    """The same function with no function passed that follows from others that are passed.

    >>> rows = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]]
    >>> network = Network([(rows, [0] * 6), ([[1, 2, 3, 4, 5, 6]], [0])])
    >>> remove_dependent(network).sizes.neurons
    5
    """
    bounds = ranges(list(exact_layers(network)), domain)
    return rewrite(network, lambda layers, l: _dependent(layers, l, bounds[l]))


def passed_functions(layer: ExactLayer, bounds: list[Range]) -> list[Passed]:
    """Which affine functions the layer passes unchanged. Proportional neurons must have been merged."""
    weight, bias = layer
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, Fraction]] = {}
    found = []
    for k in range(len(bias)):
        if weight.indptr[k] == weight.indptr[k + 1]:
            continue
        low = bounds[k][0]
        if low is not None and low >= 0:
            found.append(Passed(k, None, Fraction(0)))
            continue
        columns, row, factor = proportional(layer, k)
        opposite = (columns, tuple(-v for v in row))
        if opposite in seen:
            i, unit = seen.pop(opposite)
            found.append(Passed(i, k, unit / factor))
        else:
            seen[columns, row] = (k, factor)
    return found


def _dependent(layers: Layers, l: int, bounds: list[Range]) -> Removal | None:
    """One neuron of every passed function that is a combination of earlier ones."""
    weight, bias = layers[l]
    passed = passed_functions(layers[l], bounds)
    if len(passed) < 2:
        return None
    rows = weight.take_rows([f.neuron for f in passed])
    used = np.unique(rows.indices)
    columns = np.searchsorted(used, rows.indices)
    matrix = fmpq_mat(len(used), len(passed))  # one column a function
    for i, j, v in zip(rows.rows, columns, rows.data, strict=True):
        matrix[int(j), int(i)] = to_flint(v)
    reduced, rank = matrix.rref()
    if rank == len(passed):
        return None
    first = pivots(reduced, rank)
    terms: dict[int, dict[int, Fraction]] = {}
    constant: dict[int, Fraction] = {}
    for u in sorted(set(range(len(passed))) - set(first)):
        own = passed[u]
        shares = {first[i]: from_flint(reduced[i, u]) for i in range(rank) if reduced[i, u]}
        value: dict[int, Fraction] = {}
        rest = Fraction(bias[own.neuron])
        for p, c in shares.items():  # what own passes, in terms of what the pivots pass
            rest -= c * bias[passed[p].neuron]
            value[passed[p].neuron] = value.get(passed[p].neuron, Fraction(0)) + c
            other = passed[p].opposite
            if other is not None:
                value[other] = value.get(other, Fraction(0)) - c * passed[p].factor
        if own.opposite is None:
            terms[own.neuron], constant[own.neuron] = value, rest
        else:  # relu(opposite) = (relu(z) - z) / factor
            terms[own.opposite] = {k: -v / own.factor for k, v in value.items()} | {own.neuron: 1 / own.factor}
            constant[own.opposite] = -rest / own.factor
    return Removal(terms, constant)


# Layers that only pass affine functions: two affine maps in a row are one.


def fold_linear(network: Network, domain: Domain = None) -> Network:
    """The same function without hidden layers in which every neuron is always on, or half of an opposite pair.

    A pair counts if all that read it read ``c (relu(z) - relu(-z)) = c z``. Such layers come from padding with
    identities (Algorithm 5 of the paper). The layer goes with all its neurons.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[2, -2], [-1, 1]], [0, 1]), ([[1, 1]], [0])])
    >>> fold_linear(network)
    Network(1 -> 2 -> 1)
    """
    layers: Layers = list(exact_layers(network))
    bounds = ranges(layers, domain)
    l, changed = 0, False
    while l < len(layers) - 1:
        folded = _folded(layers[l], layers[l + 1], bounds[l])
        if folded is None:
            l += 1
        else:
            layers[l : l + 2] = [folded]
            del bounds[l]
            changed = True
    return rebuilt(network, layers) if changed else network


def _folded(layer: ExactLayer, after: ExactLayer, bounds: list[Range]) -> ExactLayer | None:
    """The product of the two maps, if nothing between them bends."""
    weight, bias = layer
    passed = passed_functions(layer, bounds)
    if sum(1 if f.opposite is None else 2 for f in passed) < len(bias):
        return None
    columns = after[0].toarray()
    for f in passed:
        if f.opposite is not None and (columns[:, f.opposite] != -f.factor * columns[:, f.neuron]).any():
            return None
    rows = np.array([f.neuron for f in passed], dtype=np.int64)
    reads = np.full(after[0].shape, Fraction(0), dtype=object)
    reads[:, rows] = columns[:, rows]
    matrix = type(weight).from_dense(reads)
    return matrix @ weight, after[1] + matrix @ bias


# Neurons that are always off, or always on, on a domain.


def fold_stable(network: Network, domain: Domain = None) -> Network:
    """The same function on the domain, without neurons that are always off, and with few that are always on.

    1. ``z <= 0`` on the domain: the output is 0.
    2. ``z >= 0`` on the domain: the output is `z`. If the weights `C` with which the next layer reads all such neurons
       of a layer have rank `r`, ``C = B R``, then `r` neurons ``R z + shift`` pass all that is read, with a shift that
       keeps them positive.

    >>> network = Network([([[1], [1], [-1]], [1, 2, -2]), ([[1, 1, 1]], [0])])
    >>> fold_stable(network, ([[1], [-1]], [1, 1])).sizes.neurons
    1
    """
    bounds = ranges(list(exact_layers(network)), domain)
    off = rewrite(network, lambda _, l: _off(bounds[l]))
    if len(off.layers) < len(network.layers):
        return off
    bounds = ranges(list(exact_layers(off)), domain) if off is not network else bounds
    layers: Layers = list(exact_layers(off))
    changed = False
    for l in range(len(layers) - 1):
        fewer = _on(layers[l], layers[l + 1], bounds[l])
        if fewer is not None:
            layers[l : l + 2] = fewer
            changed = True
    return rebuilt(off, layers) if changed else off


def _off(bounds: list[Range]) -> Removal | None:
    idle = [k for k, (_, high) in enumerate(bounds) if high is not None and high <= 0]
    return Removal({k: {} for k in idle}, {}) if idle else None


def _on(layer: ExactLayer, after: ExactLayer, bounds: list[Range]) -> tuple[ExactLayer, ExactLayer] | None:
    """The layer and the next with `r` neurons in place of all that are always on; None if that is not fewer."""
    on = [k for k, (low, _) in enumerate(bounds) if low is not None and low >= 0]
    if len(on) < 2:
        return None
    reads = after[0].toarray()[:, on]
    basis = reduced_rows(reads)
    factors = reads[:, np.argmax(basis != 0, axis=1)]  # reads = factors basis
    if not 0 < len(basis) < len(on):
        return None
    shift = [_least(row, [bounds[k] for k in on]) for row in basis]
    if any(s is None for s in shift):
        return None
    moved = np.array([-s for s in shift if s is not None], dtype=object)
    rest = np.setdiff1d(np.arange(len(bounds)), on)
    weight, bias = layer
    mixed = RationalMatrix.from_dense(basis) @ weight.take_rows(on)
    own = (stack_rows([weight.take_rows(rest), mixed]), np.concatenate([bias[rest], basis.dot(bias[on]) + moved]))
    columns = np.concatenate([after[0].toarray()[:, rest], factors], axis=1)
    return own, (RationalMatrix.from_dense(columns), after[1] - factors.dot(moved))


def _least(row: NDArray[np.object_], bounds: list[Range]) -> Fraction | None:
    """A lower bound of a combination of neurons, at most 0; None if there is none."""
    total = Fraction(0)
    for c, (low, high) in zip(row, bounds, strict=True):
        end = low if c > 0 else high
        if c and end is None:
            return None
        total += c * end if c and end is not None else 0
    return min(total, Fraction(0))


@formerly(place="domain")
@within_float64()
def simplify(network: Network, *, domain: Domain = None, box: tuple[Any, Any] | None = None) -> Network:
    """Remove neurons that the function does not need on the domain; returns its input if there are none.

    The function is preserved exactly. A float network remains one if all new weights are doubles; otherwise the result
    also holds its rational weights. Every pass that changes the network removes neurons, so the passes terminate.

    Parameters
    ----------
    network
        The network, also an imported one.
    domain, box
        Where to preserve the function: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if
        neither is given.

    Returns
    -------
    Network
        The smaller network, or `network` itself.

    Examples
    --------
    >>> network = Network([([[1], [2], [-1]], [0, 0, 0]), ([[1, 1, -3]], [0])])
    >>> simplify(network)
    Network(1 -> 1)
    """
    check_argument(network, Network, "simplify")
    domain = as_domain(domain, network.inputs, box=box)
    work = meant(network)  # a float network is made rational once, not by every pass
    first = work
    while True:
        before = work
        work = drop_unused(work)
        work = merge_proportional(work)
        work = fold_stable(work, domain)
        work = fold_linear(work, domain)
        work = remove_dependent(work, domain)
        if work is before:
            return network if work is first else rebuilt(network, exact_layers(work))
