"""What Hypothesis draws: small rationals, and functions and networks made of them."""

from fractions import Fraction
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np

from cpwl import CPWL, extract
from cpwl.exact.rational import fraction_array
from cpwl.network import Network

__all__ = ["affine_families", "functions", "networks", "points", "rational_arrays"]


@st.composite
def rational_arrays(draw, shape):
    """An object array of small `Fraction` of the given shape, with one denominator; zeros come often."""
    array = np.empty(shape, dtype=object)
    numerators = draw(st.lists(st.integers(-9, 9), min_size=array.size, max_size=array.size))
    denominator = draw(st.integers(1, 3))
    array.flat = [Fraction(numerator, denominator) for numerator in numerators]
    return array


def points(n, count=5):
    """`count` rational points of R^n."""
    return rational_arrays((count, n))


@st.composite
def affine_families(draw, inputs=None, max_inputs=3, max_functions=9):
    """`(gradient, offset)` of one or more affine functions, in rationals; equal functions may occur."""
    n = draw(st.integers(1, max_inputs)) if inputs is None else inputs
    m = draw(st.integers(1, max_functions))
    return draw(rational_arrays((m, n))), draw(rational_arrays((m,)))


@st.composite
def networks(draw, inputs=None, outputs=None, max_depth=3, max_width=3, exact=True):
    """A small network; with rational weights, or with float weights that are small rationals rounded."""
    depth = draw(st.integers(1, max_depth))
    widths = draw(st.lists(st.integers(1, max_width), min_size=depth + 1, max_size=depth + 1))
    widths[0] = widths[0] if inputs is None else inputs
    widths[-1] = widths[-1] if outputs is None else outputs
    layers = []
    for n, m in pairwise(widths):
        weight, bias = draw(rational_arrays((m, n))), draw(rational_arrays((m,)))
        layers.append((weight, bias) if exact else (weight.astype(float), bias.astype(float)))
    return Network(layers)


@st.composite
def functions(draw, n, m=1, bounded=None):
    """A small exact function R^n -> R^m: a table on a grid, the regions of a network, or a max-min expression."""
    kind = draw(st.sampled_from(["grid", "network", "maxmin"] if bounded is None else ["grid", "network"]))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    if kind == "grid":
        counts = rng.integers(2, (5, 4, 3)[n - 1], n)
        axes = [[Fraction(int(v), 2) for v in np.cumsum(rng.integers(1, 4, k)) - rng.integers(2, 5)] for k in counts]
        return CPWL.from_grid(axes, rng.integers(-4, 5, (*counts, m)))
    if kind == "maxmin" and m == 1:
        components = rng.integers(-3, 4, (rng.integers(2, 5), n + 1))
        rows = [sorted(set(rng.integers(0, len(components), rng.integers(1, 3)).tolist())) for _ in range(2)]
        return CPWL.from_maxmin(components, rows)
    hidden = int(rng.integers(2, 4))
    first = rng.integers(-3, 4, (hidden, n)), rng.integers(-3, 4, hidden)
    last = rng.integers(-2, 3, (m, hidden)), rng.integers(-2, 3, m)
    network = Network([tuple(fraction_array(v) for v in layer) for layer in (first, last)])
    box = (-2, 3) if bounded or rng.integers(2) else None
    return extract(network, box=box, merge=True, exact=True)
