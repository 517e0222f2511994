"""What rounding does to a max of mins: to its weights, exactly; and to its evaluation, in any order of summation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import text
from cpwl.function import CPWL
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.entries import Entry, Prover, counted_rows
from cpwl.proofs.provers.recover import Group, Wiring

__all__ = ["Bound", "Box", "added", "box_of", "deviation", "evaluation_bound"]

Bound = Fraction | tuple[Fraction, Fraction]  # a number, or (a, b) for a + b max |x_i|

Floats = NDArray[np.float64]
_FORMATS: dict[str, type[np.floating[Any]]] = {"float64": np.float64, "float32": np.float32}
_SLACK = 1.0000001  # for the rounding of the bound itself


@dataclass(frozen=True, slots=True)
class Box:
    """A box that holds every piece; `proof` has the entries that show it, None where the corners do."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    proof: tuple[tuple[Entry, ...], ...] | None

    def document(self) -> dict[str, Any]:
        """The box as a proof file has it."""
        proof = None if self.proof is None else [[entry.document() for entry in piece] for piece in self.proof]
        return {"low": [text(v) for v in self.low], "high": [text(v) for v in self.high], "proof": proof}


def box_of(p: CPWL) -> Box | None:
    """The smallest box around all pieces, exactly; None if they are unbounded."""
    if p.mesh is not None:
        used = np.unique(p.mesh.simplices)
        corners = p.mesh.corners[used]
        points = [[Fraction(v, c[-1]) for v in c[:-1]] for c in corners]
        low = tuple(min(x[k] for x in points) for k in range(p.dim))
        return Box(low, tuple(max(x[k] for x in points) for k in range(p.dim)), None)
    prover = Prover()
    found: list[list[Entry]] = []
    for rows in counted_rows(p):
        prover.load(rows)
        entries = []
        for side, k in ((s, k) for s in (-1, 1) for k in range(p.dim)):
            law = np.array([side if i == k else 0 for i in range(p.dim)] + [0, 1], dtype=object)
            entry = prover.least(law)
            if entry.t is None and not entry.empty:
                return None
            entries.append(entry)
        found.append(entries)
    solid = [entries for entries in found if not entries[0].empty]
    if not solid:
        return None
    least = [[entry.t or Fraction(0) for entry in entries] for entries in solid]
    high = tuple(max(-row[k] for row in least) for k in range(p.dim))
    low = tuple(min(row[p.dim + k] for row in least) for k in range(p.dim))
    shift = [*high, *(-v for v in low)]
    proof = tuple(
        tuple(e if e.t is None else Entry(e.multipliers, e.t + s) for e, s in zip(entries, shift, strict=True))
        for entries in found
    )
    return Box(low, high, proof)


def added(shortfall: Fraction, more: Bound) -> Bound:
    """The sum of two bounds, as a number where it does not grow."""
    if isinstance(more, tuple):
        constant, slope = more
        return (shortfall + constant, slope) if slope else shortfall + constant
    return shortfall + more


def deviation(network: Network, tables: list[NDArray[np.object_]], wiring: Wiring, box: Box | None) -> Bound:
    """How far the first affine map is from what the wiring says, as an error of the network's value.

    A bound on the box, or ``(a, b)`` for ``a + b max |x_i|`` without one.
    """
    components = np.concatenate(tables)
    weight, bias = exact_layers(network)[0]
    actual = np.column_stack([weight.toarray(), bias])
    worst: list[tuple[Fraction, Fraction]] = [(Fraction(0), Fraction(0))]
    for neurons, expected in _expected(wiring, components):
        sizes = [_size(actual[i] - law, box) for i, law in zip(neurons, expected, strict=True)]
        worst.append((sum((a for a, _ in sizes), Fraction(0)), sum((b for _, b in sizes), Fraction(0))))
    constant, slope = max(a for a, _ in worst), max(b for _, b in worst)
    return constant if box is not None else (constant, slope)


def _expected(
    wiring: Wiring, components: NDArray[np.object_]
) -> list[tuple[tuple[int, ...], list[NDArray[np.object_]]]]:
    def value(reference: int) -> NDArray[np.object_]:
        law: NDArray[np.object_] = components[abs(reference) - 1]
        return law if reference > 0 else -law

    if not wiring.layers:
        return [((o,), [value(reference)]) for o, reference in enumerate(wiring.output)]
    groups = []
    for group in wiring.layers[0]:
        u = value(group.references[0])
        laws = [u, -u] if len(group.references) == 1 else [value(group.references[1]) - u, u, -u]
        groups.append((group.neurons, laws))
    return groups


def _size(law: NDArray[np.object_], box: Box | None) -> tuple[Fraction, Fraction]:
    """The largest absolute value of an affine function on the box; or its constant and the sum of its slopes."""
    if not law.any():
        return Fraction(0), Fraction(0)
    if box is None:
        return abs(law[-1]), sum((abs(v) for v in law[:-1]), Fraction(0))
    center = sum((g * (a + b) / 2 for g, a, b in zip(law[:-1], box.low, box.high, strict=True)), law[-1])
    spread = sum((abs(g) * (b - a) / 2 for g, a, b in zip(law[:-1], box.low, box.high, strict=True)), Fraction(0))
    return abs(center) + spread, Fraction(0)


def evaluation_bound(network: Network, wiring: Wiring, box: Box | None) -> dict[str, float] | None:
    """Bounds on the rounding of evaluation in float64 and float32 on the box, for inputs of that format.

    A sum with at most `k` roundings on the way of each term, in any order, is off by at most ``g_k sum |terms|``,
    ``g_k = k u / (1 - k u)``; weights that the format does not have are rounded first, which is one more. Beyond the
    first layer weights are 1 and -1, and of the neurons of a value at most two are not 0: reading it is one sum of two
    terms, which is off by at most `u` times the result. A maximum of perturbed inputs is off by at most the larger
    perturbation plus the roundings of its own neurons: errors add up over layers, and never multiply.
    """
    if box is None:
        return None
    return {name: _evaluation(network, wiring, box, name) for name in network.evaluated_in} or None


@dataclass(frozen=True, slots=True)
class _Value:
    """Bounds of a value on the box, of the sum of its neurons' outputs, how many of them are not 0, and its error."""

    low: float
    high: float
    terms: float
    count: int
    error: float

    def signed(self, reference: int) -> _Value:
        return self if reference > 0 else _Value(-self.high, -self.low, self.terms, self.count, self.error)

    def reading(self, unit: float) -> float:
        """The rounding of reading it: none for one term, and for two `u` times their sum."""
        size = max(abs(self.low), abs(self.high)) + self.error
        return unit * size if self.count == 2 else 0.0


def _evaluation(network: Network, wiring: Wiring, box: Box, name: str) -> float:
    unit = float(np.finfo(_FORMATS[name]).eps) / 2
    low, high, error = _first_layer(network, box, name)
    if not wiring.layers:
        return float(error.max()) * _SLACK
    values = [_lowest_value(group, low, high, error) for group in wiring.layers[0]]
    for layer in wiring.layers[1:]:
        values = [_group_value([values[abs(r) - 1].signed(r) for r in g.references], unit) for g in layer]
    outputs = [values[abs(r) - 1] for r in wiring.output]
    return max(v.error + v.reading(unit) for v in outputs) * _SLACK


def _first_layer(network: Network, box: Box, name: str) -> tuple[Floats, Floats, Floats]:
    """Bounds of what each neuron of the first affine map reads, and of its rounding."""
    weight, bias = network.layers[0]
    dtype = _FORMATS[name]
    below, above = (np.array([float(v) for v in side]) for side in (box.low, box.high))
    middle = weight @ ((below + above) / 2) + bias
    spread = abs(weight) @ ((above - below) / 2)
    reach = np.maximum(np.abs(below), np.abs(above))
    terms = abs(weight) @ reach + np.abs(bias)
    products = np.diff(weight.indptr)
    row = np.repeat(np.arange(len(bias)), products)
    inexact = np.zeros(len(bias), dtype=np.int64)  # a product with a power of 2 is not rounded
    np.maximum.at(inexact, row, np.abs(np.frexp(weight.data)[0]) != 0.5)
    sums = np.maximum(products + (bias != 0) - 1, 0)
    k = sums + inexact + _is_rounded(network, dtype)
    unit, least = float(np.finfo(dtype).eps) / 2, float(np.finfo(dtype).tiny)
    underflow = least * (2 * products + 2 + reach.sum())  # of weights and of results, even where they go to 0
    error = k * unit / (1 - k * unit) * terms + np.where((products > 0) | (k > 0), underflow, 0.0)
    if max(np.abs(weight.data).max(initial=0.0), np.abs(bias).max(), terms.max()) >= np.finfo(dtype).max / 4:
        error = np.full(len(bias), np.inf)
    return middle - spread, middle + spread, error


def _is_rounded(network: Network, dtype: type[np.floating[Any]]) -> NDArray[np.int64]:
    """1 for each neuron of the first affine map with a weight that the format does not have."""
    weight, bias = exact_layers(network)[0]
    result = np.zeros(len(bias), dtype=np.int64)
    with np.errstate(over="ignore"):
        for i, value in [*zip(weight.rows.tolist(), weight.data, strict=True), *enumerate(bias)]:
            near = float(dtype(float(value)))
            if not np.isfinite(near) or Fraction(near) != value:
                result[i] = 1
    return result


def _lowest_value(group: Group, low: Floats, high: Floats, error: Floats) -> _Value:
    """A value of the first layer. ``s(u) - s(-u)`` is off by no more than the larger of the two roundings."""
    *first, j, k = group.neurons
    base = max(abs(low[j]), abs(high[j])) + max(error[j], error[k])
    if not first:
        return _Value(low[j], high[j], base, 1, max(error[j], error[k]))
    gain = max(0.0, high[first[0]] + error[first[0]])
    top = (max(low[j], low[j] + low[first[0]]), high[j] + max(0.0, high[first[0]]))
    return _Value(*top, gain + base, 2, error[first[0]] + max(error[j], error[k]))


def _group_value(parts: list[_Value], unit: float) -> _Value:
    u = parts[0]
    own = u.reading(unit)
    base = max(abs(u.low), abs(u.high)) + u.error + own
    if len(parts) == 1:
        return _Value(u.low, u.high, base, 1, u.error + own)
    v = parts[1]
    k = u.count + v.count - 1
    both = k * unit / (1 - k * unit) * (u.terms + v.terms)
    gain = max(0.0, v.high - u.low + u.error + v.error + both)
    error = max(u.error, v.error) + own + both
    return _Value(max(u.low, v.low), max(u.high, v.high), gain + base, 2, error)
