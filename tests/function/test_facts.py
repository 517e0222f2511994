"""What is found out about a function is found out once: the pieces carry it, and whoever asks again reads it."""

import collections
import pickle
from importlib.resources import files

import numpy as np
import pytest

import cpwl
from cpwl import CPWL
from cpwl.geometry import facets, generators, polyhedra


@pytest.fixture
def counted(monkeypatch):
    """How often each computation ran on equal numbers: integer rows, extents, hyperplanes, corners and rays."""
    count = collections.Counter()

    def counting(module, name, content):
        compute = getattr(module, name)

        def wrapped(*args, **options):
            count[name, content(*args)] += 1
            return compute(*args, **options)

        monkeypatch.setattr(module, name, wrapped)

    counting(polyhedra, "integer_rows", lambda view, *_: view.tobytes() if len(view) > 8 else object())
    counting(polyhedra, "extents", lambda A, b, start: (A.tobytes(), b.tobytes(), start.tobytes()))
    counting(generators, "_by_size", lambda stack, _: (stack.A.tobytes(), stack.b.tobytes(), stack.start.tobytes()))
    counting(facets, "_clusters", lambda rows, tol: (rows.tobytes(), tol))
    return count


def test_nothing_is_computed_twice_to_compile_and_certify(counted):
    """For the bundled law of 27 float pieces, and with it, integer rows and corners are found once for each stack."""
    with files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json").open() as file:
        name = file.name
    p = cpwl.read(name)
    network = cpwl.compile(p).network
    assert cpwl.certify(p, network).proved
    assert {"integer_rows", "extents", "_by_size"} <= {name for name, _ in counted}
    assert {key: n for key, n in counted.items() if n > 1} == {}


def test_facets_are_found_once(monkeypatch):
    """Making, `layers` and `gates` need the facets of a maximum in R^10: one linear program for each row of a piece."""
    count, compute = collections.Counter(), facets._facets_of
    monkeypatch.setattr(facets, "_facets_of", lambda *args: count.update([args[2]]) or compute(*args))
    slopes = np.random.default_rng(0).integers(-50, 51, (16, 10))
    laws = np.column_stack([2 * slopes, -(slopes**2).sum(axis=1)]).tolist()
    p = CPWL.from_maxmin(laws, [[k] for k in range(16)])
    cpwl.compile(p, certify=False)
    assert count == dict.fromkeys(range(16), 1)


def test_a_copy_begins_with_no_facts():
    """Facts stay where they were found: neither a pickled function nor one with other pieces takes them along."""
    p = CPWL.from_breakpoints([0.0, 1.0], [0.0, 1.0], left_slope=0)
    assert p.polyhedra.extents() is p.polyhedra.extents()
    p.range(box=(0, 1))
    assert p.facts
    again = pickle.loads(pickle.dumps(p))
    assert not again.facts
    assert not again.polyhedra.facts
    assert not p.take(np.array([0])).facts
