"""How "auto" chooses: by size among plans that are accurate enough; and plans are what is built."""

from itertools import pairwise

import numpy as np
import pytest

from cpwl import CPWL, CpwlWarning, InputError, Network, compile, extract
from cpwl.compiler import CONSTRUCTIONS
from cpwl.construct.table import TABLE
from support.catalogue import function, names
from support.constructions import planned
from support.functions import delaunay
from support.pinned import applicable

MINIMIZE = ("neurons", "depth", "width", "nonzeros")


@pytest.mark.parametrize(("name", "construction"), applicable(names(without="float")[::3], TABLE))
def test_plans_are_what_is_built(name, construction):
    """The sizes that a plan predicts are those of the network."""
    plan = planned(construction, function(name))
    assert plan.construction == construction
    assert plan.sizes == plan.build().sizes


@pytest.mark.parametrize("minimize", MINIMIZE)
def test_auto_takes_the_smallest_that_it_lists(minimize):
    """No alternative that is accurate enough is smaller in what was to be made small."""
    made = compile(delaunay(2, 12, 3), minimize=minimize)
    for other in made.alternatives.values():
        if other.sizes is not None and other.valid is not False and other.error <= 1e-9:
            assert getattr(made.sizes, minimize) <= getattr(other.sizes, minimize)


def test_every_construction_is_mentioned():
    """What was not taken is an alternative, with sizes or a reason."""
    made = compile(delaunay(2, 12, 3))
    assert {made.construction, *made.alternatives} == set(TABLE) == set(CONSTRUCTIONS) - {"auto"}
    assert all(other.neurons is not None or other.reason for other in made.alternatives.values())


def test_accuracy_comes_before_size():
    """With less and less error allowed the prediction falls, and what no construction reaches is said."""
    p = delaunay(2, 60, 0)
    loose = compile(p, precision="float32", max_error=1.0)
    with pytest.warns(CpwlWarning, match="no construction is predicted to be within 1e-12"):
        tight = compile(p, precision="float32", max_error=1e-12)
    assert tight.error <= loose.error
    assert tight.error == min([tight.error, *(o.error for o in tight.alternatives.values() if o.error is not None)])
    assert loose.sizes.neurons <= tight.sizes.neurons


def test_a_limit_counts_for_a_construction_that_was_asked_for():
    """What was asked for is built; that it is not as accurate as it was meant to be is said."""
    p = delaunay(2, 12, 3)
    with pytest.warns(CpwlWarning, match="gates is off by about .* more than 1e-12 of the range in float32"):
        made = compile(p, construction="gates", precision="float32", max_error=1e-12)
    assert made.construction == "gates"


def test_exact_arithmetic_allows_everything():
    """`precision="exact"` predicts no error."""
    assert compile(delaunay(2, 12, 3), precision="exact").error == 0


@pytest.mark.parametrize(
    ("option", "value"), [("minimize", "size"), ("precision", "float16"), ("max_error", -1.0), ("construction", "best")]
)
def test_options_are_checked(option, value):
    """A mistake is named."""
    p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
    with pytest.raises(InputError, match=option):
        compile(p, **{option: value})


def test_predictions_do_not_depend_on_scale():
    """Errors are relative to the range: a function 1,000 times as large has the same."""
    x, y = np.arange(12), np.array([0, 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])
    one, many = (compile(CPWL.from_breakpoints(x, y * c), construction="lattice").error for c in (1, 1024))
    assert one == pytest.approx(many)


def test_lattices_of_nearly_dependent_laws_stay_accurate():
    """The pieces of a float network, laws rounded: whatever lattice is taken computes them in float64."""
    rng = np.random.default_rng(0)
    sizes = [2, 6, 5, 1]
    network = Network([(rng.standard_normal((m, n)), rng.standard_normal(m)) for n, m in pairwise(sizes)])
    p = extract(network, exact=False)
    assert p.tol > 0
    x = rng.uniform(-3, 3, (2000, 2))
    made = compile(p, construction="lattice").network
    np.testing.assert_allclose(made(x), network(x), rtol=0, atol=1e-9)
