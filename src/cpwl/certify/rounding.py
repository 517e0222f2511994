"""What rounding does to a max of mins: to its weights, exactly; and to its evaluation, in any order of summation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.certify.entries import Entry, Prover, text
from cpwl.certify.recover import Wiring
from cpwl.function import CPWL
from cpwl.network import Network
from cpwl.network.network import exact_layers

__all__ = ["Box", "box_of", "deviation", "evaluation_bound"]

_UNIT = {"float64": 2.0**-53, "float32": 2.0**-24}


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
    rows, start = p.polyhedra.integer(), p.polyhedra.start
    found: list[list[Entry]] = []
    for j in range(p.num_pieces):
        prover.load(rows[start[j] : start[j + 1]])
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
    high = tuple(max(-entries[k].t for entries in solid) for k in range(p.dim))  # type: ignore[operator, type-var]
    low = tuple(min(entries[p.dim + k].t for entries in solid) for k in range(p.dim))  # type: ignore[type-var]
    shift = [*high, *(-v for v in low)]  # type: ignore[misc]
    proof = tuple(
        tuple(e if e.t is None else Entry(e.multipliers, e.t + s) for e, s in zip(entries, shift, strict=True))
        for entries in found
    )
    return Box(low, high, proof)  # type: ignore[arg-type]


def deviation(
    network: Network, tables: list[NDArray[np.object_]], wiring: Wiring, box: Box | None
) -> Fraction | tuple[Fraction, Fraction]:
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


def evaluation_bound(
    network: Network, tables: list[NDArray[np.object_]], wiring: Wiring, box: Box | None
) -> dict[str, float] | None:
    """Bounds on the rounding of evaluation in float64 and float32 on the box.

    A sum of `k` products in any order is off by at most ``g_k sum |terms|``, ``g_k = k u / (1 - k u)``. A
    maximum of perturbed inputs is off by at most the larger perturbation plus the roundings of its own neurons:
    errors add up over layers, and never multiply.
    """
    if box is None:
        return None
    return {name: _evaluation(network, tables, wiring, box, unit) for name, unit in _UNIT.items()}


@dataclass(frozen=True, slots=True)
class _Value:
    """Bounds of a value on the box, of the sum of its neurons' outputs, the number of neurons, and its error."""

    low: float
    high: float
    terms: float
    count: int
    error: float

    def signed(self, reference: int) -> _Value:
        return self if reference > 0 else _Value(-self.high, -self.low, self.terms, self.count, self.error)


def _evaluation(network: Network, tables: list[NDArray[np.object_]], wiring: Wiring, box: Box, unit: float) -> float:
    components = np.concatenate(tables).astype(np.float64)
    low, high = (np.array([float(v) for v in side]) for side in (box.low, box.high))
    center, half = (low + high) / 2, (high - low) / 2
    reach = np.maximum(np.abs(low), np.abs(high))
    middle = components[:, :-1] @ center + components[:, -1]
    spread = np.abs(components[:, :-1]) @ half
    inputs = network.inputs
    # A component is a value whose terms are its products.
    terms = np.abs(components[:, :-1]) @ reach + np.abs(components[:, -1])
    values = [_Value(m - s, m + s, t, inputs + 1, 0.0) for m, s, t in zip(middle, spread, terms, strict=True)]
    gamma = [k * unit / (1 - k * unit) for k in range(2 * (inputs + 1) + 8)]
    for layer in wiring.layers:
        values = [_group_value([values[abs(r) - 1].signed(r) for r in g.references], gamma) for g in layer]
    outputs = [values[abs(r) - 1] for r in wiring.output]
    return max((v.error + gamma[v.count] * (v.terms + v.error)) * 1.0000001 for v in outputs)


def _group_value(parts: list[_Value], gamma: list[float]) -> _Value:
    u = parts[0]
    own = gamma[u.count] * (u.terms + u.error)  # the rounding of s(u), and of s(-u)
    size = max(abs(u.low), abs(u.high)) + 2 * own
    if len(parts) == 1:
        return _Value(u.low, u.high, size, 2, u.error + 2 * own)
    v = parts[1]
    both = gamma[u.count + v.count] * (u.terms + v.terms + u.error + v.error)
    gain = max(0.0, v.high - u.low) + both
    error = max(u.error, v.error) + 2 * own + both
    return _Value(max(u.low, v.low), max(u.high, v.high), gain + size, 3, error)
