"""Networks of integers: short weights, inputs in fixed point, and accumulators that do not overflow.

A positive factor goes through a ReLU. So each neuron `i` of an exact network may have a scale ``s_i > 0`` of its own,
and with ``q = 2^f x`` the integers ``W'_ij = s_i W_ij / s_j`` and ``b'_i = s_i b_i`` compute ``s_i`` times what the
network computes: output `k` is an integer ``z_k``, and ``network(x)_k = z_k / s_k`` exactly. Where these integers are
too large for their type, rows are rounded: the integers are then another network, near the first, and exactly that one.

Ranges of the neurons follow from the range of the inputs, layer by layer. If ``|b'_i| + sum |W'_ij| max |a_j|`` is
below ``2^(B - 1)`` for every neuron, sums of `B` bits do not overflow, whatever the order of summation.
`cpwl_check.integer` proves all of this again from the scales alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from cpwl.errors import InputError, LimitError
from cpwl.exact.sparse import RationalMatrix
from cpwl.network.network import Layered, Network, exact_layers

INTEGER = {"int8": 8, "int16": 16}
"""Types of weights, and their bits."""
_Row: TypeAlias = tuple[dict[int, int], int]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntegerNetwork(Layered):
    """A network of integers.

    Attributes
    ----------
    layers : tuple of (csr_array, array)
        Weights and biases, int64.
    weights : {"int8", "int16"}
        The type that holds every weight.
    accumulator : {32, 64}
        Bits of a sum, which never overflows; biases, activations and outputs have as many.
    bits, fraction : int
        Inputs are ``q / 2**fraction`` for every integer `q` of so many bits.
    scales : tuple of tuples of Fraction
        What the values of each neuron are multiplied by, layer by layer; of the last layer, of each output.
    reach : tuple of int
        The largest input of each layer.
    """

    layers: tuple[tuple[csr_array[Any, tuple[int, int]], NDArray[np.int64]], ...]
    weights: str
    accumulator: int
    bits: int
    fraction: int
    scales: tuple[tuple[Fraction, ...], ...]
    reach: tuple[int, ...]

    def __repr__(self) -> str:
        return f"IntegerNetwork({self._widths}, {self.weights}, inputs {self.format})"

    @property
    def network(self) -> Network:
        """The network that the integers are: with rational weights, and equal to them for every input."""
        layers = []
        below: tuple[Fraction, ...] = (Fraction(2**self.fraction),) * self.inputs
        for (weight, bias), own in zip(self.layers, self.scales, strict=True):
            rows = np.repeat(np.arange(len(bias)), np.diff(weight.indptr)).tolist()
            places = zip(rows, weight.indices.tolist(), weight.data.tolist(), strict=True)
            values = [w * below[j] / own[i] for i, j, w in places]
            moved = np.array([b / s for b, s in zip(bias.tolist(), own, strict=True)], dtype=object)
            layers.append((RationalMatrix.from_triples(rows, weight.indices, values, weight.shape), moved))
            below = own
        return Network(layers)

    @property
    def format(self) -> str:
        """The format of the inputs, such as "Q7.8"."""
        return f"Q{self.bits - 1 - self.fraction}.{self.fraction}"

    @property
    def sum_type(self) -> str:
        """The type of a sum."""
        return f"int{self.accumulator}"

    @property
    def input_type(self) -> str:
        """The smallest type that holds an input."""
        return next(f"int{size}" for size in (8, 16, 32) if size >= self.bits)

    def __call__(self, q: ArrayLike) -> NDArray[np.int64]:
        """The integers ``(N, m)`` for inputs ``(N, n)``; outputs are these divided by the last `scales`.

        >>> network = integer_network(Network([([[1], [-1]], [0, 0]), ([[1, 1]], ["1/2"])]), "int8", "Q3.4")
        >>> network([[-32]]), network.scales[-1]
        (array([[40]]), (Fraction(16, 1),))
        """
        h = np.asarray(q)
        if h.dtype.kind not in "iu" or h.ndim != 2 or h.shape[1] != self.inputs:
            raise InputError(f"inputs are integers in the format {self.format}, one row of coordinates for each point")
        half = 2 ** (self.bits - 1)
        if h.size and not (-half <= h.min() and h.max() < half):
            raise InputError(f"an input is not of the format {self.format}: from {-half} to {half - 1}")
        h = h.astype(np.int64).T
        for i, (weight, bias) in enumerate(self.layers):
            h = weight @ (np.maximum(h, 0) if i else h) + bias[:, None]
        return np.ascontiguousarray(h.T)


def fixed_point(text: Any) -> tuple[int, int]:
    """Bits and fraction of a format: "Q7.8" has a sign, seven bits before the point and eight behind.

    >>> fixed_point("Q7.8")
    (16, 8)
    """
    found = re.fullmatch(r"Q([0-9]{1,2})\.([0-9]{1,2})", text) if isinstance(text, str) else None
    if found is None or not 1 < (bits := 1 + int(found[1]) + int(found[2])) <= 32:
        raise InputError(f'a format of inputs is written "Q7.8", at most 32 bits with the sign, not {str(text)[:40]!r}')
    return bits, int(found[2])


def integer_network(network: Network, weights: str, inputs: str, digits: int | None = None) -> IntegerNetwork:
    """The network of integers that is `network` for every input of a format.

    Raises `LimitError` if a weight is beyond its type, or a sum beyond 64 bits. With `digits`, weights have at most so
    many bits beside their sign, and a row that has longer ones is rounded.
    """
    bits, fraction = fixed_point(inputs)
    most = 2 ** (INTEGER[weights] - 1 if digits is None else digits) - 1
    layers: list[list[_Row]] = []
    scales: list[tuple[Fraction, ...]] = [(Fraction(2**fraction),) * network.inputs]
    for number, (weight, bias) in enumerate(exact_layers(network), start=1):
        rows, own = [], []
        data, ends = weight.data, weight.indptr.tolist()
        for i, constant in enumerate(bias):
            entries = range(ends[i], ends[i + 1])
            form = {int(weight.indices[k]): Fraction(data[k]) / scales[-1][weight.indices[k]] for k in entries}
            row, scale = _whole(form, Fraction(constant), most)
            largest = max(map(abs, row[0].values()), default=0)
            if largest > most and digits is not None:
                row, scale = _nearest(form, Fraction(constant), most)
            elif largest > most:
                raise LimitError(
                    f"neuron {i} of layer {number} has the weight {largest:,} as an integer, beyond {weights}: take "
                    f"another type of weights, coarser data or fewer bits of inputs than {inputs}",
                    layer=number,
                )
            rows.append(row)
            own.append(scale)
        layers.append(rows)
        scales.append(tuple(own))
    return _assembled(layers, weights, bits, fraction, scales)


def near_integers(network: Network, weights: str, inputs: str) -> list[IntegerNetwork]:
    """Networks of integers near a network, with as many digits as sums of 32 bits allow, and as those of 64 do."""
    found: dict[int, IntegerNetwork] = {}
    for digits in range(INTEGER[weights] - 1, 1, -1):
        try:
            one = integer_network(network, weights, inputs, digits)
        except LimitError:
            continue
        found.setdefault(one.accumulator, one)
        if one.accumulator == 32:
            break
    return [found[size] for size in sorted(found)]


def proved_integers(network: Network, document: dict[str, Any]) -> IntegerNetwork:
    """The network of integers that a proof of kind "integer" is about."""
    scales = [tuple(map(Fraction, own)) for own in document["scales"]]
    scales = [(Fraction(2 ** document["fraction"]),) * network.inputs, *scales]
    layers: list[list[_Row]] = []
    for (weight, bias), below, own in zip(exact_layers(network), scales, scales[1:], strict=False):
        forms: list[dict[int, int]] = [{} for _ in own]
        for i, j, w in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
            forms[i][j] = int(own[i] * w / below[j])
        layers.append([(form, int(s * b)) for form, s, b in zip(forms, own, bias, strict=True)])
    return _assembled(layers, f"int{document['weights']}", document["bits"], document["fraction"], scales)


def _assembled(
    layers: list[list[_Row]], weights: str, bits: int, fraction: int, scales: Sequence[tuple[Fraction, ...]]
) -> IntegerNetwork:
    reach, largest = _ranges(layers, bits)
    accumulator = next((size for size in (32, 64) if largest < 2 ** (size - 1)), None)
    if accumulator is None:
        inputs = f"Q{bits - 1 - fraction}.{fraction}"
        raise LimitError(f"a sum can reach {float(largest):.3g}, beyond 64 bits, for inputs in the format {inputs}")
    arrays = tuple(_array(rows, len(before)) for rows, before in zip(layers, scales, strict=False))
    return IntegerNetwork(arrays, weights, accumulator, bits, fraction, tuple(scales[1:]), tuple(reach))


def _whole(form: dict[int, Fraction], constant: Fraction, most: int) -> tuple[_Row, Fraction]:
    """A row as integers, and its scale: no divisor is taken out unless weights would be too large."""
    numbers = [*form.values(), constant]
    scale = Fraction(lcm(*(v.denominator for v in numbers)))
    if any(abs(v * scale) > most for v in form.values()):
        scale /= gcd(*(int(v * scale) for v in numbers)) or 1
    return ({j: int(v * scale) for j, v in form.items()}, int(constant * scale)), scale


def _nearest(form: dict[int, Fraction], constant: Fraction, most: int) -> tuple[_Row, Fraction]:
    """A row rounded to integers, the largest at `most` or a little below it, and its scale, of eight digits.

    >>> _nearest({0: Fraction(1, 3), 1: Fraction(1)}, Fraction(1, 2), 127)
    (({0: 42, 1: 127}, 64), Fraction(127, 1))
    """
    wanted = most / max(map(abs, form.values()))
    unit = Fraction(2) ** (wanted.numerator.bit_length() - wanted.denominator.bit_length() - 8)
    scale = wanted // unit * unit
    return ({j: round(v * scale) for j, v in form.items()}, round(constant * scale)), scale


def _ranges(layers: list[list[_Row]], bits: int) -> tuple[list[int], int]:
    """The largest input of each layer in size, and the largest sum of sizes."""
    half = 2 ** (bits - 1)
    span = {-1: (-half, half - 1)}  # of each input
    reach, largest = [], half
    for number, rows in enumerate(layers):
        after = {}
        for i, (form, constant) in enumerate(rows):
            ends = [(w * a, w * b) for j, w in form.items() for a, b in [span[j if number else -1]]]
            largest = max(largest, abs(constant) + sum(max(abs(u), abs(v)) for u, v in ends))
            low, high = constant + sum(map(min, ends)), constant + sum(map(max, ends))
            after[i] = (max(low, 0), max(high, 0))
        reach.append(max(max(abs(a), abs(b)) for a, b in span.values()))
        span = after
    return reach, largest


def _array(rows: list[_Row], columns: int) -> tuple[csr_array[Any, tuple[int, int]], NDArray[np.int64]]:
    ends = np.cumsum([0, *(len(form) for form, _ in rows)])
    data = np.array([w for form, _ in rows for w in form.values()], dtype=np.int64)
    indices = np.array([j for form, _ in rows for j in form], dtype=np.int64)
    weight = csr_array((data, indices, ends), shape=(len(rows), columns))
    weight.eliminate_zeros()
    return weight, np.array([constant for _, constant in rows], dtype=np.int64)


def scaled_network(integers: IntegerNetwork, network: Network) -> dict[str, Any]:
    """What a proof says of a network of integers: `cpwl_check.integer` finds the rest."""
    assert len(integers.layers) == len(network.layers)
    return {
        "weights": INTEGER[integers.weights],
        "accumulator": integers.accumulator,
        "bits": integers.bits,
        "fraction": integers.fraction,
        "scales": [[str(scale) for scale in scales] for scales in integers.scales],
    }
