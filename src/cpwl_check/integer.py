"""Check a proof for networks of integers, kind "integer".

**Theorem.** Give input j the scale ``2^fraction``, and neuron i of each layer the scale ``s_i`` of the proof. If

(1) the network is within E of the function, by a proof of its own, `integer`
(2) every scale is positive, and ``s_i W_ij / s_j`` and ``s_i b_i`` are integers, `whole`
(3) these weights have at most `weights` bits, with their sign, `whole`
(4) with ranges of neurons that follow from the range of the inputs, from ``-2^(bits - 1)`` to ``2^(bits - 1) - 1``,
    ``|s_i b_i| + sum_j |s_i W_ij / s_j| max |a_j|`` is less than ``2^(accumulator - 1)`` for every neuron, `ranges`

then the integer network computes, for every vector q of integers of `bits` bits, in sums of `accumulator` bits and in
any order of summation, integers z with ``z_k / s_k = network(q / 2^fraction)_k``, without any rounding or overflow. So
``|z / s - p|`` is at most E at every such point of a piece.

For, a positive factor goes through a ReLU: by induction, neuron i has s_i times the value that it has in the network,
(2). By (4), any part of any sum is less than ``2^(accumulator - 1)`` in size, and so is every product in it.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cpwl_check.budget import long, need, spend
from cpwl_check.pieces import Bound, Law, Layers
from cpwl_check.reading import Rational, read_proof

Whole = dict[int, int]  # a form with integers


def integer(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Bound:
    """The proven bound: that of the proof inside, if the integers compute what the network does."""
    sizes = {"weights": Any, "accumulator": Any, "bits": range(2, 33), "fraction": range(32)}
    more = {"scales": [[Rational]], "proof": {str: Any}}
    _, weights, accumulator, bits, fraction, scales, inner = read_proof(proof, "integer", law.n, Any, sizes | more)
    need(weights in (8, 16), "proof.weights", "this must be 8 or 16")
    need(accumulator in (32, 64), "proof.accumulator", "this must be 32 or 64")
    need(inner.get("kind") != "integer", "proof.proof", "it must be of another kind")
    need([*map(len, scales)] == [*map(len, layers)], "proof.scales", "there must be one for each neuron")
    ranges(whole(layers, [[2**fraction] * law.n, *scales], weights), law.n, bits, accumulator)
    return decide(law, layers, inner)


def whole(layers: Layers, scales: list[list[Rational]], bits: int) -> list[list[Whole]]:
    """The integers of each neuron; the constant has the number after the last input's."""
    found = []
    for number, layer in enumerate(layers):
        below, rows = [Fraction(x) for x in scales[number]], []
        for i, form in enumerate(layer):
            where, scale = f"layer {number}, neuron {i}", Fraction(scales[number + 1][i])
            need(scale > 0, where, "its scale is not positive")
            row: Whole = {}
            for j, w in form.items():
                spend(1 + long(w) + long(scale), where)
                value = scale * w / (below[j] if j < len(below) else 1)
                need(value.denominator == 1, where, "with its scale a weight or its bias is not an integer")
                row[j] = int(value)
                fits = j == len(below) or -(2 ** (bits - 1)) <= row[j] < 2 ** (bits - 1)
                need(fits, where, f"with its scale a weight has more than {bits} bits")
            rows.append(row)
        found.append(rows)
    return found


def ranges(layers: list[list[Whole]], n: int, bits: int, accumulator: int) -> None:
    """`Refused` unless no sum can overflow."""
    span = [(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)] * n
    for number, rows in enumerate(layers):
        after = []
        for i, row in enumerate(rows):
            spend(1 + len(row), "network")
            constant = row.get(len(span), 0)
            ends = [(w * span[j][0], w * span[j][1]) for j, w in row.items() if j < len(span)]
            size = abs(constant) + sum(max(abs(u), abs(v)) for u, v in ends)
            where = f"layer {number}, neuron {i}"
            need(size < 2 ** (accumulator - 1), where, f"a sum can reach {size}, beyond {accumulator} bits")
            after.append((max(0, constant + sum(map(min, ends))), max(0, constant + sum(map(max, ends)))))
        span = after


def exactness(proof: Any) -> str:
    """What a proof of kind "integer" says of the network."""
    bits, fraction = proof["bits"], proof["fraction"]
    inputs = f"every input of {bits} bits, {fraction} of them behind the point"
    sums = f"sums of {proof['accumulator']} bits do not overflow"
    return f"with integer weights of {proof['weights']} bits it is exact for {inputs}, and {sums}"
