"""What rounding does to the evaluation of a network, in any order of summation."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.exact.rational import text
from cpwl.function import CPWL
from cpwl.function.domain import box_around
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.entries import Entry, Prover, counted_rows

Bound = Fraction | tuple[Fraction, Fraction]  # a number, or (a, b) for a + b max |x_i|

Floats = NDArray[np.float64]
_FORMATS: dict[str, type[np.floating[Any]]] = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
}
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
        ends = box_around(p)
        assert ends is not None
        return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends), None)
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


# A bound on what rounding does to any network on a box, cell by cell, for any order of summation.
#
# See docs/theory/float_quality.md.
# On each cell of a grid every activation is enclosed between two affine functions. With ``g_k = k u / (1 - k u)``, `k`
# the number of terms that can be nonzero there, the computed value of a neuron is off by at most::
#
#     e = sum |w| e_i + sum |dw| (a_i + e_i) + |db| + g_k (sum |w| (a_i + e_i) + |b|)
#
# where `a_i` bounds the activations that it reads, `e_i` how far they are off, and `dw` how far its weights were
# rounded. A neuron whose largest value plus `e` is not positive is exactly 0: that is why far terms of clamped gates
# do not count. What a neuron itself adds to the error, ``e`` without the first sum, reaches the outputs with a slope
# that is a sum over paths of products of weights and of numbers in [0, 1] (1 where a ReLU is on for sure). Enclosing
# these slopes from the outputs down gives another bound, in which the errors of ``a + relu(b - a)`` cancel; the
# smaller one counts.


_CELLS = 4096
_WORK = 4 * 10**7  # products of cells and weights
_BLOCK = 2**24  # numbers held at once
_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of sums of enclosures, of what was added


def float_error(network: Network, low: Floats, high: Floats, dtype: str) -> float:
    """By how much the value computed in `dtype` can differ from the exact one, for inputs of that type in the box.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> float_error(network, np.array([-1.0]), np.array([1.0]), "float32") < 1e-6
    True
    """
    layers = [_rounded(*layer, dtype) for layer in _both(network)]
    center, radius = _grid(low, high, int(np.clip(_WORK // (network.sizes.nonzeros + 1), 16, _CELLS)))
    widest = max(layer.weight.shape[0] for layer in layers)
    step = max(1, _BLOCK // ((network.inputs + 1) * 4 * widest))
    worst = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(0, center.shape[1], step):
            worst = max(worst, _error(layers, center[:, i : i + step], radius, dtype))
    return worst * _SLACK if np.isfinite(worst) else float("inf")


def float_growth(network: Network, dtype: str) -> tuple[float, float]:
    """The same without a box: numbers ``(a, b)`` with ``a + b max |x_i|`` for all inputs at which nothing overflows.

    >>> a, b = float_growth(Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]), "float32")
    >>> a < 1e-30 and b < 1e-6
    True
    """
    kind = np.finfo(_FORMATS[dtype])
    unit, tiny = float(kind.eps) / 2, float(kind.tiny)
    size, error = np.tile([0.0, 1.0], (network.inputs, 1)), np.zeros((network.inputs, 2))
    with np.errstate(over="ignore", invalid="ignore"):
        for layer in (_rounded(*one, dtype) for one in _both(network)):
            every, one = abs(layer.weight), np.array([1.0, 0.0])
            terms = every @ (size + error) + np.abs(layer.bias)[:, None] * one
            k = (np.diff(layer.weight.indptr) + 1)[:, None]
            own = layer.moved @ (size + error) + layer.moved_bias[:, None] * one
            error = every @ error + own + k * unit / (1 - k * unit) * terms + tiny * k * one
            size = terms
    worst = error.max(axis=0) * _SLACK
    return (float(worst[0]), float(worst[1])) if np.isfinite(worst).all() else (float("inf"), float("inf"))


def evaluation_caution(network: Network, on_box: dict[str, float] | None, most: float) -> str:
    """What to say if no type in which the network runs is shown to be within `most` of exact arithmetic; else "".

    `on_box` has the bounds on the domain; without them, those that grow with the inputs are taken.
    """
    if not network.evaluated_in:
        return "the operations of its file are not those of plain layers, and their rounding has no bound"
    bounds = on_box or {dtype: sum(float_growth(network, dtype)) for dtype in network.evaluated_in}
    dtype = min(bounds, key=lambda name: bounds[name])
    if bounds[dtype] <= most:
        return ""
    if not np.isfinite(bounds[dtype]):
        return f"evaluated in {dtype} it may overflow"
    return f"evaluated in {dtype} it may be off by {bounds[dtype]:.2g} more, which is more than {most:.2g}"


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    weight: csr_array[Any, tuple[int, int]]
    bias: Floats
    moved: csr_array[Any, tuple[int, int]]
    """How far each weight is from the exact one, at most."""
    moved_bias: Floats


def _both(network: Network) -> list[tuple[Any, Floats, NDArray[np.bool_], NDArray[np.bool_]]]:
    """The float64 layers, and which of their numbers are not the exact ones."""
    found = []
    for (weight, bias), (exact, exact_bias) in zip(network.layers, exact_layers(network), strict=True):
        if network.exact is None:
            found.append((weight, bias, np.zeros(weight.nnz, dtype=bool), np.zeros(len(bias), dtype=bool)))
            continue
        view = {(i, j): k for k, (i, j) in enumerate(zip(exact.rows.tolist(), exact.indices.tolist(), strict=True))}
        rows = np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr))
        off = [
            Fraction(float(v)) != exact.data[view[i, j]]
            for i, j, v in zip(rows.tolist(), weight.indices.tolist(), weight.data, strict=True)
        ]
        off_bias = [Fraction(float(v)) != e for v, e in zip(bias, exact_bias, strict=True)]
        found.append((weight, bias, np.array(off, dtype=bool), np.array(off_bias, dtype=bool)))
    return found


def _rounded(weight: Any, bias: Floats, off: NDArray[np.bool_], off_bias: NDArray[np.bool_], dtype: str) -> _Layer:
    kind = _FORMATS[dtype]
    with np.errstate(over="ignore"):
        data, shift = weight.data.astype(kind).astype(np.float64), bias.astype(kind).astype(np.float64)
    # One unit in the last place of float64 for what float64 does not hold, and what the format adds.
    unit, tiny = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
    moved = np.abs(data - weight.data) + off * (unit * np.abs(weight.data) + tiny)
    moved_bias = np.abs(shift - bias) + off_bias * (unit * np.abs(bias) + tiny)
    shape = weight.shape
    return _Layer(
        csr_array((data, weight.indices, weight.indptr), shape=shape),
        shift,
        csr_array((moved, weight.indices, weight.indptr), shape=shape),
        moved_bias,
    )


def _grid(low: Floats, high: Floats, cells: int) -> tuple[Floats, Floats]:
    """The centres ``(n, count)`` of at most so many equal boxes, and half their lengths."""
    n = len(low)
    wide = high > low
    each = np.where(wide, max(1, int(cells ** (1 / max(int(wide.sum()), 1)))), 1)
    radius = (high - low) / (2 * each) * (1 + 4 * np.finfo(np.float64).eps)
    axes = [low[k] + radius[k] * (2 * np.arange(each[k]) + 1) for k in range(n)]
    return np.array([a.ravel() for a in np.meshgrid(*axes, indexing="ij")]).reshape(n, -1), radius


def _error(layers: list[_Layer], center: Floats, radius: Floats, dtype: str) -> float:
    """The largest error of an output over some cells."""
    kind = np.finfo(_FORMATS[dtype])
    unit, tiny = float(kind.eps) / 2, float(kind.tiny)
    n, cells = center.shape
    # An affine function on a cell is held as its value at the centre and its changes along each half axis.
    form = np.zeros((n, n + 1, cells))
    form[:, 0] = center
    form[np.arange(n), np.arange(n) + 1] = radius[:, None]
    low, high = form, form
    size, error = np.abs(center) + radius[:, None], np.zeros((n, cells))
    own: list[Floats] = []
    states: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]] = []
    for number, layer in enumerate(layers):
        low, high = _affine(layer, low, high)
        every, reach = abs(layer.weight), size + error
        terms = every @ reach + np.abs(layer.bias)[:, None]
        if not terms.max(initial=0.0) < float(kind.max) / 4:
            return float("inf")
        products = every.sign() @ (reach > 0).astype(np.float64)
        k = products + ((layer.bias != 0)[:, None] & (products > 0))  # a bias alone is not rounded
        own.append(layer.moved @ reach + layer.moved_bias[:, None] + k * unit / (1 - k * unit) * terms + tiny * k)
        error = every @ error + own[-1]
        if number + 1 < len(layers):
            low, high, size, error, on, alive = _relu(low, high, terms, error)
            states.append((on, alive))
    return float(np.minimum(error, _by_slopes(layers, own, states)).max(initial=0.0))


def _affine(layer: _Layer, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Enclosures of what a layer reads."""
    plus, minus = layer.weight.maximum(0), layer.weight.minimum(0)
    shape = (layer.weight.shape[0], *low.shape[1:])
    one, two = low.reshape(len(low), -1), high.reshape(len(high), -1)
    below, above = (plus @ one + minus @ two).reshape(shape), (plus @ two + minus @ one).reshape(shape)
    below[:, 0] += layer.bias[:, None]
    above[:, 0] += layer.bias[:, None]
    return below, above


def _by_slopes(
    layers: list[_Layer], own: list[Floats], states: list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
) -> Floats:
    """The errors that neurons add, times the largest slope of each output in each of them."""
    total = own[-1].copy()
    for o in range(len(total)):
        least, most = np.zeros(total.shape), np.zeros(total.shape)
        least[o] = most[o] = 1.0
        for layer, (on, alive), added in zip(layers[:0:-1], states[::-1], own[-2::-1], strict=True):
            plus, minus = layer.weight.maximum(0).T, layer.weight.minimum(0).T
            doubt = _ROUNDING * (abs(layer.weight).T @ np.maximum(np.abs(least), np.abs(most)))
            least, most = plus @ least + minus @ most - doubt, plus @ most + minus @ least + doubt
            least = np.where(on, least, np.minimum(least, 0.0)) * alive
            most = np.where(on, most, np.maximum(most, 0.0)) * alive
            total[o] += (np.maximum(np.abs(least), np.abs(most)) * added).sum(axis=0)
    return total


def _relu(
    low: Floats, high: Floats, terms: Floats, error: Floats
) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Enclosures of the ReLU, the largest values, errors, where it is on for sure (as computed too), where it may be.

    Where it is 0 for sure the largest value and the error are 0.
    """
    # Enclosures are computed in float64 themselves: a few units of all that was added.
    doubt = _ROUNDING * terms
    spread = np.abs(high[:, 1:]).sum(axis=1)
    top, bottom = high[:, 0] + spread + doubt, high[:, 0] - spread - doubt
    dead = top + error <= 0
    chord = np.where((bottom < 0) & (top > 0), top / np.where(top > bottom, top - bottom, 1.0), 1.0)
    upper = high * chord[:, None]
    upper[:, 0] += np.where((bottom < 0) & (top > 0), -chord * bottom, 0.0) + doubt
    upper *= (top > 0)[:, None]
    under = low[:, 0] - np.abs(low[:, 1:]).sum(axis=1) - doubt
    over = low[:, 0] + np.abs(low[:, 1:]).sum(axis=1)
    # Either the lower form itself or 0 is below the ReLU: whichever leaves less between.
    keep = over >= -under
    lower = low * keep[:, None]
    lower[:, 0] -= doubt * keep
    return (
        np.where(dead[:, None], 0.0, lower),
        np.where(dead[:, None], 0.0, upper),
        np.where(dead, 0.0, np.maximum(top, 0.0)),
        np.where(dead, 0.0, error),
        under - error > 0,
        ~dead,
    )
