"""Check a proof for rounded weights, kind "rounded".

**Theorem.** If

(1) the exact network inside is within E of the function, by a proof of its own, `rounded`
(2) it has as many neurons in every layer as the network, `rounded`
(3) every piece lies in the box, if there is one, `pieces.rounding`
(4) the outputs of the two are apart by no more than a (+ b max |x_i| without a box): bounds on the size of exact
    activations, and on how far the others are off, go from layer to layer, `difference`
(5) the stated bound is at least E + a (and b), `rounded`

then ``|network - p|`` is at most the stated bound on every piece. Why this is a proof is in docs/proof.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from cpwl_check.budget import need, spend
from cpwl_check.pieces import Bound, Form, Law, Layers, read_network, rounding
from cpwl_check.reading import Rational, read


def rounded(law: Law, layers: Layers, proof: Any, decide: Callable[[Law, Layers, Any], Bound]) -> Bound:
    """The proven bound: the weights are near those of an exact network that has a proof of its own."""
    n, outputs, pieces = law.n, law.outputs, law.pieces
    head = {"format": "cpwl-proof", "version": 1, "kind": "rounded", "inputs": n, "error_bound": Any, "box": Any}
    *_, stated, box, meant, inner = read(proof, head | {"network": Any, "proof": {str: Any}}, "proof")
    known = inner.get("kind") in ("bends", "line", "clamped", "columns", "expression", "strip", "windows")
    need(known, "proof.proof", "it must show equality, or a bound of its own")
    exact = read_network(meant, n, outputs)
    short = decide(law, exact, inner)
    assert isinstance(short, Fraction)  # of these kinds
    need([*map(len, exact)] == [*map(len, layers)], "network", "its layers are not those of the exact one")
    rounding([[{}]], box, n, pieces)  # every piece is in the box
    bounds = read(stated if type(stated) is list else [stated, 0], [Rational, 2], "error_bound")
    spend(4 * sum(len(form) for layer in (*layers, *exact) for form in layer), "network")
    for k in (0, 1):  # sizes and differences are at most a + b max |x_i|: first all the a, then all the b
        size = [Fraction(k)] * n
        if box is not None:
            size = [(1 - k) * max(abs(Fraction(box["low"][i])), abs(Fraction(box["high"][i]))) for i in range(n)]
        off = difference(layers, exact, size, Fraction(1 - k))
        small = off is not None and off + (1 - k) * short <= bounds[k] < 10**300
        need(small, "network", "its weights are off by more than error_bound, or by 10^300")
    return (Fraction(bounds[0]), Fraction(bounds[1])) if type(stated) is list else Fraction(bounds[0])


def difference(layers: Layers, exact: Layers, size: list[Fraction], one: Fraction) -> Fraction | None:
    """How far the outputs of two networks are apart, for inputs of these sizes; `one` is the size of the number 1. None
    if something on the way is 10^300 or more."""
    off = [Fraction(0)] * len(size)
    for real, meant in zip(layers, exact, strict=True):
        size, off = [*size, one], [*off, Fraction(0)]  # a bias is multiplied with 1
        moved = [{j: v.get(j, 0) - w.get(j, 0) for j in v | w} for v, w in zip(real, meant, strict=True)]
        off = [total(d, size) + total(v, off) for d, v in zip(moved, real, strict=True)]
        size = [total(w, size) for w in meant]
        if max([*size, *off]) >= 10**300:
            return None
        size, off = [up(x) for x in size], [up(x) for x in off]
    return max(off)


def total(weights: Form, sizes: list[Fraction]) -> Fraction:
    return sum((abs(Fraction(x)) * sizes[j] for j, x in weights.items()), Fraction(0))


def up(x: Fraction) -> Fraction:
    """A short number that is not smaller."""
    return Fraction(math.nextafter(x, math.inf)) if x else x
