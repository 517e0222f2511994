"""How "auto" chooses: by size among plans that are accurate enough; and plans are what is built."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest

import cpwl
from cpwl import (
    CPWL,
    Certificate,
    ConstructionError,
    CpwlWarning,
    InputError,
    LimitError,
    Network,
    certify,
    compile,
    compiler,
    extract,
)
from cpwl.compiler import CONSTRUCTIONS
from cpwl.construct import options
from cpwl.construct.options import PRECISIONS
from cpwl.construct.table import TABLE
from cpwl.exact.rational import fraction_array
from support.catalogue import function, names
from support.constructions import planned
from support.functions import abs_sum, delaunay
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


def test_gates_in_space_are_not_planned_where_a_lattice_is_smaller_than_their_hyperplanes():
    """A maximum of tangents of |x|^2 bends on nearly all pairs; gates are there if they are asked for."""
    points = [[t, t * t, t**3] for t in range(-2, 4)]
    p = cpwl.CPWL.from_maxmin([[*(2 * v for v in x), -sum(v * v for v in x)] for x in points], [[k] for k in range(6)])
    made = compile(p)
    assert made.construction == "lattice"
    assert "bend hyperplanes" in made.alternatives["gates"].reason
    assert compile(p, construction="gates").sizes.neurons > made.sizes.neurons
    assert compile(p, minimize="depth").alternatives["gates"].reason == ""


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


# --- proofs, distances from the data, and how a result looks ----------------------------------------------------------


def unproved(*_):
    """A proof that was not found."""
    return Certificate(False, None, "no", None, None)


def test_every_construction_is_tried_before_a_proof_is_given_up(monkeypatch):
    """Also those that "auto" need not have planned, the smallest first; and which were tried is said."""
    tried = []
    monkeypatch.setattr(compiler, "certify", lambda _, network, **__: tried.append(network) or unproved())
    made = compile(abs_sum(), certificate=True)
    assert made.construction == "hinge"
    assert not made.certificate.proved
    names = made.reason.split("(tried ")[1].rstrip(")").split(", ")
    assert names[0] == "hinge"
    assert set(names) == {"hinge", "gates", "lattice", "paper"}  # an unbounded function of the plane
    assert len(tried) == len(names)


def test_the_first_that_is_proved_is_taken(monkeypatch):
    """A construction that was not planned at first is taken if it is the one with a proof."""
    last = planned("paper", abs_sum()).sizes
    only_paper = {True: certify, False: unproved}
    monkeypatch.setattr(compiler, "certify", lambda p, network, **_: only_paper[network.sizes == last](p, network))
    made = compile(abs_sum(), certificate=True)
    assert (made.construction, made.certificate.proved) == ("paper", True)
    assert made.reason.endswith("among those with a proof")


def nearly_straight():
    """Laws -x, x and x + 1e-6 (x - 1) on [-1, 0], [0, 1] and [1, 2], with a tolerance that makes two of them one."""
    laws = [[-1.0], [1.0], [1.0 + 1e-6]], [0.0, 0.0, -1e-6]
    ends = [[0.0, 1.0], [1.0, 0.0], [2.0, -1.0]]
    return CPWL.from_pieces([[[1.0], [-1.0]]] * 3, ends, *laws, tol=1e-4)


def test_a_network_that_is_not_near_the_data_is_told_with_its_distance():
    """What a tolerance hides is in the warning, with the size that a reader can measure; with a limit above it not."""
    p = nearly_straight()
    with pytest.warns(CpwlWarning, match="was seen to be off the data by .*, which is more than 1e-09"):
        made = compile(p)
    x = np.linspace(-1, 2, 100)[:, None]
    assert 1e-9 < made.measured <= np.abs(made.network(x) - p(x)).max()  # the range is more than 1
    assert compile(p, max_error=1e-3).measured == pytest.approx(made.measured)


def test_what_is_returned_is_near_the_data(monkeypatch):
    """A network that is seen to be off, although no rounding would do that, is not taken where another one is not."""
    p, row = abs_sum(), TABLE["hinge"]

    def off(analysis):
        plan = row.plan(analysis)
        layers = list(plan.build().layers)
        layers[-1] = layers[-1][0] * (1 + 1e-6), layers[-1][1]
        return replace(plan, build=lambda: Network(layers))

    monkeypatch.setitem(TABLE, "hinge", replace(row, plan=off))
    made = compile(p)
    assert made.construction != "hinge"
    assert made.measured < 1e-15
    assert made.reason.endswith("among those near enough to the data")
    with pytest.warns(CpwlWarning, match=r"hinge was seen to be off the data by \d"):
        assert compile(p, construction="hinge").measured > 1e-7


def test_what_float32_does_is_measured_in_float32():
    """In float32 a network of a table is off by about what is predicted for it; in float64 by far less."""
    p = delaunay(2, 30, 1)
    one, two = (compile(p, precision=kind, max_error=1.0, construction="gates") for kind in ("float32", "float64"))
    assert one.error / 30 <= one.measured <= 3 * one.error
    assert two.measured < 1e-6 * one.measured
    assert compile(p, precision="exact").measured is None


def test_where_nothing_applies_all_reasons_are_given(monkeypatch):
    """One error with a line for each construction."""

    def refuse(_):
        raise ConstructionError("not for this one")

    for name, row in TABLE.items():
        monkeypatch.setitem(TABLE, name, replace(row, plan=refuse))
    with pytest.raises(ConstructionError, match="no construction applies") as caught:
        compile(abs_sum())
    assert all(f"{name}: " in str(caught.value) for name in ("hinge", "lattice", "paper"))


def test_a_result_is_one_line():
    """In a session a result is one short line, with the proof if there is one; in a notebook a table."""
    p = delaunay(2, 12, 3)
    made = compile(p, certificate=True)
    assert (
        repr(made) == f"Compiled({made.construction}: {made.sizes.neurons} neurons, {made.sizes.depth} layers, proved)"
    )
    assert all(f"<td>{name}</td>" in made._repr_html_() for name in TABLE)


def test_options_are_known_to_editors():
    """The literals are what is accepted."""
    assert get_args(options.ConstructionName) == CONSTRUCTIONS == ("auto", *TABLE)
    assert get_args(options.Minimize) == MINIMIZE
    assert set(get_args(options.Precision)) == set(PRECISIONS) == set(get_args(options.Weights))


def test_a_network_is_not_a_function():
    """What to write instead is said."""
    with pytest.raises(InputError, match="extract"):
        compile(compile(abs_sum()).network)


@pytest.mark.parametrize("exponent", [200, -200])
@pytest.mark.parametrize("dim", [2, 3])
def test_numbers_beyond_float64_are_a_limit(dim, exponent):
    """Coordinates of very different sizes: each construction is exact, or says that float64 does not reach it."""
    far = Fraction(10) ** exponent
    values = np.arange(3 ** (dim - 1) * 2).reshape(2, *[3] * (dim - 1)) % 5
    p = CPWL.from_grid([[0, far], *[[0, 1, 2]] * (dim - 1)], values)
    x = fraction_array([[far / 3, *[Fraction(1, 2)] * (dim - 1)]])
    reached = 0
    for construction in CONSTRUCTIONS:
        try:
            network = compile(p, construction=construction, precision="exact").network
        except LimitError:
            continue
        assert network(x)[0, 0] == p(x)[0, 0]
        reached += 1
    assert reached


@pytest.mark.parametrize("table", [False, True], ids=["pieces", "table"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_arrays_may_be_column_major(dim, table):
    """What `scipy.io.loadmat` returns is column-major: the function and the network are those of row-major arrays."""
    p = delaunay(dim, 8, 1) if dim > 1 else CPWL.from_simplices([[0], [1], [3]], [[0, 1], [1, 2]], [0, 2, 1])
    turned = np.asfortranarray
    if table:
        q = CPWL.from_simplices(turned(p.mesh.points), turned(p.mesh.simplices), turned(p.mesh.values))
    else:
        bodies, laws = list(p.polyhedra), p.laws
        rows = [turned(np.asarray(body.integer()[:, :-1], dtype=np.float64)) for body in bodies]
        right = [np.asarray(body.integer()[:, -1], dtype=np.float64) for body in bodies]
        q = CPWL.from_pieces(rows, right, turned(laws.gradient), turned(laws.offset), tol=1e-9)
    x = turned(p.mesh.points[p.mesh.simplices].mean(axis=1))
    np.testing.assert_allclose(q(x), p(np.ascontiguousarray(x)), rtol=0, atol=1e-12)
    for construction in ("auto", "lattice"):
        np.testing.assert_allclose(compile(q, construction=construction).network(x), p(x), rtol=0, atol=1e-9)
