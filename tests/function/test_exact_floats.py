"""Exact if exact: floats that are consistent as rationals are exact data, and what is made of them is proved equal."""

from fractions import Fraction

import numpy as np
import pytest

import cpwl
from cpwl import CPWL
from support.catalogue import function, names

# What float data without an exact function behind it is for, and what takes seconds to prove.
FAST = ["wrong_for_algorithm_1", "sum_norm", "pinwheel", "kuhn_plane", "redundant_rows", "octahedron", "many_inputs"]
ORDERS = {"row-major": np.ascontiguousarray, "column-major": np.asfortranarray}


def floats(numbers):
    """The numbers as floats, if they are floats; None if one is not."""
    found = np.array([float(v) for v in np.ravel(numbers)]).reshape(np.shape(numbers))
    return found if all(Fraction(v) == w for v, w in zip(found.flat, np.ravel(numbers), strict=True)) else None


def in_floats(p, layout):
    """The same pieces and laws as float arrays, rows as the smallest integers; None if floats cannot hold them."""
    if max((abs(v) for v in p.polyhedra.integer().flat), default=0) >= 2**53:
        return None
    laws = p.laws.integer()
    found = floats([[[Fraction(v, row[-1]) for v in row[:-1]] for row in own] for own in laws])
    if found is None:
        return None
    rows = [body.integer().astype(np.float64) for body in p.polyhedra]
    A, b = [layout(r[:, :-1]) for r in rows], [layout(r[:, -1]) for r in rows]
    domain = None if p.domain is None else (p.domain.integer()[:, :-1].astype(float), p.domain.integer()[:, -1])
    if domain is not None:
        domain = domain[0], domain[1].astype(float)
    return CPWL.from_pieces(A, b, layout(found[..., :-1]), layout(found[..., -1]), domain=domain)


def check(name, layout):
    p = function(name)
    q = in_floats(p, ORDERS[layout])
    if q is None:
        pytest.skip("no floats are exactly this function")
    assert q.tol > 0
    assert q.snap().way == "exact"
    made = cpwl.compile(q, certify=True)
    assert made.certificate.proved
    assert made.certificate.error_bound == 0
    assert made.sizes.neurons == cpwl.compile(p, certify=True).sizes.neurons


@pytest.mark.one_in(6)
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("name", FAST)
def test_integers_in_floats_are_exact(name, layout):
    """The function of the counterexample to Algorithm 1 on the whole plane, T-junctions, tables, one in 40 inputs."""
    check(name, layout)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ORDERS)
@pytest.mark.parametrize("name", [name for name in names(without="float") if name not in FAST])
def test_the_catalogue_in_floats_is_exact(name, layout):
    """Every case whose rows are integers and whose laws are dyadic numbers of 53 bits."""
    check(name, layout)


def test_a_last_bit_is_noise():
    """One offset off by its last bit: not exact, and the bound says so."""
    p = in_floats(function("wrong_for_algorithm_1"), np.ascontiguousarray)
    offset = p.laws.offset.copy()
    offset[3] = np.nextafter(offset[3], 2)
    rows = [(body.A, body.b) for body in p.polyhedra]
    q = CPWL.from_pieces([A for A, _ in rows], [b for _, b in rows], p.laws.gradient, offset)
    assert q.snap().way != "exact"
    made = cpwl.compile(q, certify=True)
    assert made.certificate.proved
    assert made.certificate.error_bound > 0
