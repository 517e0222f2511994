"""Check a proof for networks that clip their input, kind "clipped".

**Theorem.** Let [l, h] be the box that (1) reads off the weights, and N the network without its first two layers, read
in terms of the point that they give: its first layer has the weights -W and the biases b + W h, if that of the network
has W and b. If

(1) neuron i of the first layer reads x_i - l_i, with weight 1, neuron i of the second reads (h_i - l_i) minus neuron i,
    h_i >= l_i, and there are no others in these layers, `clipping`
(2) N is within E (+ b max |x_i|) of the function, by a proof of its own, `clipped`
(3) every piece lies in the box [low, high] of the proof, `pieces.need_inside`
(4) the stated bound is at least E (+ b max |x_i| in that box) + d L, where no end of one box is farther than d from
    that of the other and N has no slope above L (in the largest coordinate), `clipped`

then ``|network(x) - p(y)|`` is at most the stated bound for every x in R^n whose nearest point y in [low, high] is in a
piece. That is so for every x if the pieces cover the box; and for every x of a piece, where y = x.

For, with clip the nearest point of [l, h], network(x) = N(clip(x)) for all x, by (1); y and clip(x) are at most d
apart, so N(clip(x)) and N(y) at most d L; and N(y) and p(y) at most E (+ b max |y_i|), by (2) and (3).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cpwl_check.budget import need, spend, total
from cpwl_check.pieces import Bound, Form, Law, Layers, need_inside, pair
from cpwl_check.reading import Rational, read_proof


def clipped(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Bound:
    """The proven bound: the network behind has a proof of its own, and the two layers before it move x into the box."""
    n = law.n
    stated, box, inner = read_proof(proof, "clipped", n, Rational, {"box": {str: Any}, "proof": {str: Any}})
    need(inner.get("kind") != "clipped", "proof.proof", "it must be of another kind")
    low, high = clipping(layers, n)
    behind = network_behind(layers, high, n)
    spend(sum(len(form) for layer in layers for form in layer), "network")
    level, growth = pair(decide(law, behind, inner))
    within = [*map(Fraction, sum(zip(*(need_inside(box, n, law.pieces) or []), strict=True), ()))]
    reach = max(map(abs, within))
    apart = max(abs(x - y) for x, y in zip(low + high, within, strict=True))
    least = level + growth * reach + (apart * slope(behind, n) if apart else 0)
    need(least <= stated < 10**300, "error_bound", f"it is less than {float(least):.3g}, which is shown")
    return Fraction(stated)


def clipping(layers: Layers, n: int) -> tuple[list[Fraction], list[Fraction]]:
    """The ends of the box into which the first two layers move the input."""
    need(len(layers) > 2, "network", "it has no layers behind those that clip")
    first, second = layers[:2]
    need(len(first) == len(second) == n, "layer 0", "it must have a neuron for each input, and so must layer 1")
    for i in range(n):
        own = {j: w for j, w in first[i].items() if j < n}
        need(own == {i: 1}, f"layer 0, neuron {i}", "it must read its own input, with weight 1")
        own = {j: w for j, w in second[i].items() if j < n}
        need(own == {i: -1}, f"layer 1, neuron {i}", "it must read its own neuron, with weight -1")
        need(second[i].get(n, 0) >= 0, f"layer 1, neuron {i}", "its bias must not be negative")
    low = [Fraction(-first[i].get(n, 0)) for i in range(n)]
    return low, [x + Fraction(second[i].get(n, 0)) for i, x in enumerate(low)]


def network_behind(layers: Layers, high: list[Fraction], n: int) -> Layers:
    """The network without its first two layers, of the point that they give: what it reads is ``high`` minus that."""
    first = []
    for form in layers[2]:
        bias = total((w * high[j] if j < n else w for j, w in form.items()), "layer 2")
        turned: Form = {j: -w for j, w in form.items() if j < n} | {n: bias}
        first.append({j: w for j, w in turned.items() if w})
    return [first, *layers[3:]]


def slope(layers: Layers, n: int) -> Fraction:
    """A bound on the slope of every output, in the largest coordinate: ``|W_l| .. |W_1| 1``."""
    size = [Fraction(1)] * n
    for layer in layers:
        width = len(size)
        size = [total((abs(Fraction(w)) * size[j] for j, w in form.items() if j < width), "network") for form in layer]
    return max(size)
