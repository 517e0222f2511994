"""What Hypothesis draws: small rationals, and functions and networks made of them."""

from fractions import Fraction
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np

from cpwl.network import Network

__all__ = ["affine_families", "networks", "points", "rational_arrays"]


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
