"""How "auto" chooses: by size among plans that are accurate enough; and plans are what is built."""

import re
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import get_args

import numpy as np
import onnxruntime
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
from cpwl.construct import plan, table
from cpwl.construct.plan import PRECISIONS
from cpwl.construct.table import TABLE
from cpwl.exact.rational import fraction_array
from cpwl.io import Formula, to_onnx
from support.catalogue import SOLE, function, names
from support.constructions import planned
from support.functions import abs_sum, delaunay
from support.pinned import applicable
from support.rational_pieces import with_noise

MINIMIZE = ("neurons", "depth", "width", "nonzeros", "bytes")


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("name", "construction"), applicable(names(without="float")[::3], TABLE))
def test_plans_are_what_is_built(name, construction):
    """The sizes that a plan predicts are those of the network."""
    plan = planned(construction, function(name))
    assert plan.construction == construction
    assert plan.sizes == plan.build().sizes


@pytest.mark.one_in(2)
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
    assert made.alternatives["gates"].reason.startswith("not planned: at least 15 neurons (the function bends on 15")
    assert compile(p, construction="gates").sizes.neurons > made.sizes.neurons
    assert compile(p, minimize="depth").alternatives["gates"].reason == ""


@pytest.mark.one_in(5)
@pytest.mark.parametrize("construction", SOLE)
def test_auto_is_the_smallest_of_all(construction):
    """ "auto" is compared with each construction by name, where one of them alone is the smallest."""
    make, options = SOLE[construction]
    p, sizes = make(), {}
    best = compile(p, **options)
    for name in TABLE:
        try:
            with warnings.catch_warnings(action="ignore"):
                made = compile(p, construction=name, **options)
        except ConstructionError:
            continue
        if made.error <= options.get("max_error", 1e-9):
            sizes[name] = made.sizes.neurons
    assert best.construction == construction
    assert all(sizes[construction] < neurons for name, neurons in sizes.items() if name != construction)
    assert best.sizes.neurons == sizes[construction]


def test_a_near_miss_is_reported_with_its_error():
    """A smaller network that is not accurate enough says what to allow, and with that it is taken."""
    make, options = SOLE["columns"]
    p = make()
    made = compile(p, **options)
    misses = {name: other for name, other in made.alternatives.items() if "allow it with" in other.reason}
    assert misses
    for other in misses.values():
        assert other.neurons < made.sizes.neurons
        assert other.error > options["max_error"]
        found = re.fullmatch(r"([\d,]+) neurons, error \S+; allow it with max_error=(\S+)", other.reason)
        assert found is not None
        assert int(found[1].replace(",", "")) == other.neurons
        allowed = float(found[2])
        assert other.error <= allowed <= 1.2 * other.error
        assert compile(p, **(options | {"max_error": allowed})).sizes.neurons <= other.neurons


@pytest.mark.one_in(3)
@pytest.mark.parametrize("construction", ["strips", "windows"])
def test_constructions_that_miss_only_the_accuracy_say_so(construction):
    """The alternative names its error and a limit that it keeps to, and so does the warning if nothing keeps to it."""
    make, options = SOLE[construction]
    p, options = make(), options if options.get("precision") == "float32" else {}
    with warnings.catch_warnings(action="ignore"):
        error = compile(p, construction=construction, **(options | {"max_error": 1e-30})).error
        made = compile(p, **(options | {"max_error": error / 2}))
    assert made.construction != construction
    other = made.alternatives[construction]
    assert other.neurons < made.sizes.neurons
    assert float(other.reason.split("allow it with max_error=")[1]) >= other.error > error / 2
    with pytest.warns(CpwlWarning, match="allow it with max_error="):
        compile(p, construction=construction, **(options | {"max_error": error / 2}))


def test_breakpoints_are_measured_between_them():
    """Where all breakpoints are whole numbers, and exact in floats, points between them show what is rounded."""
    rng = np.random.default_rng(0)
    p = CPWL.from_breakpoints(range(4000), np.cumsum(rng.integers(-1000, 1001, 4000)).tolist())
    assert compile(p, construction="univariate").measured > 1e-13


@pytest.mark.slow
@pytest.mark.parametrize(("n", "points"), [(2, 510), (3, 55), (3, 95), (4, 52)])
def test_windows_are_the_smallest_of_large_random_tables(n, points):
    """Tables of 250 to 1,000 cells, in which no construction before windows has as few neurons."""
    p = delaunay(n, points, 0)
    assert compile(p).sizes.neurons <= compile(p, construction="windows").sizes.neurons


def test_a_construction_is_ruled_out_by_a_number():
    """Windows of a grid cannot have fewer neurons than gates have, and are not planned; with less accuracy they are."""
    p = CPWL.from_grid([range(6)] * 2, np.random.default_rng(0).integers(-9, 10, (6, 6)))
    made = compile(p)
    found = re.fullmatch(
        r"not planned: at least (\d+) neurons \(\d+ laws, .*\), and (\w+) has (\d+)",
        made.alternatives["windows"].reason,
    )
    assert int(found[1]) >= int(found[3]) >= made.sizes.neurons
    assert int(found[1]) <= compile(p, construction="windows").sizes.neurons
    with pytest.warns(CpwlWarning):
        assert compile(p, precision="float32", max_error=1e-12).alternatives["windows"].neurons is not None


@pytest.mark.parametrize(
    ("budget", "construction", "what", "noise"),
    [
        ("_PAIRS", "lattice", "comparisons of", 0),
        ("_POINTS", "strips", "strips, and", 0),
        ("_NOISY", "strips", "strips, and", 1e-13),
    ],
)
def test_a_budget_is_no_claim_of_size(monkeypatch, budget, construction, what, noise):
    """Where planning would take too long it is said, and what to ask for; nothing is said to be smaller."""
    monkeypatch.setattr(table, budget, 10)
    p = delaunay(2, 60, 3)
    made = compile(with_noise(p, noise, 0) if noise else p).alternatives[construction]
    assert made.neurons is None
    assert re.fullmatch(f'not planned: would take {what} .*; ask for construction="{construction}"', made.reason)


def test_a_search_that_starts_far_above_the_best_network_is_not_made():
    """A lattice of a table on a grid begins with many times the neurons of gates; that it is larger is true."""
    p = CPWL.from_grid([range(8)] * 2, np.random.default_rng(0).integers(-9, 10, (8, 8)))
    made = compile(p)
    found = re.fullmatch(
        r"not planned: would take a search from (\d+) neurons to fewer than the (\d+) of (\w+); .*",
        made.alternatives["lattice"].reason,
    )
    assert int(found[1]) > 4 * int(found[2]) == 4 * made.sizes.neurons
    assert compile(p, construction="lattice").sizes.neurons > made.sizes.neurons
    assert compile(p, minimize="depth").alternatives["lattice"].reason != made.alternatives["lattice"].reason


@pytest.mark.parametrize("construction", ["lattice", "paper"])
def test_the_last_constructions_keep_to_their_budgets_where_nothing_is_accurate(monkeypatch, construction):
    """No network of a line is within 1e-20; beyond the budget it is said what a lattice and Algorithm 1 would take."""
    p = CPWL.from_breakpoints(range(30), np.random.default_rng(0).standard_normal(30))
    with pytest.warns(CpwlWarning, match="no construction has a predicted error"):
        made = compile(p, max_error=1e-20)
    assert made.construction == construction or made.alternatives[construction].neurons is not None
    monkeypatch.setattr(table, "_ON_A_LINE", 800)
    with pytest.warns(CpwlWarning, match="no construction has a predicted error"):
        made = compile(p, max_error=1e-20)
    assert made.alternatives[construction].reason.startswith("not planned: would take comparisons of 29 pieces")


def test_an_error_beyond_float64_is_not_offered_as_a_limit():
    """A predicted error that overflows is named, and no `max_error` that would allow it."""
    p = CPWL.from_breakpoints([0, Fraction(1, 2), Fraction(4, 3)], [1e300, 1, Fraction(1, 3)])
    with pytest.warns(CpwlWarning, match=r"has a predicted error of inf \(use exact arithmetic\)$"):
        made = compile(p)
    assert made.sizes.neurons == 2


def test_one_hidden_layer_is_not_always_the_smallest():
    """A sawtooth of 30 teeth has a network of 14 neurons, and a table near 0 that is noise a lattice of 1."""
    p = CPWL.from_breakpoints(range(30), [i % 2 for i in range(30)])
    assert compile(p).sizes.neurons == 14
    noise = 1e-15 * np.random.default_rng(0).standard_normal((2, 4))
    rows, ends = [[[1.0], [-1.0]]] * 4, [[-1.0, 2.0], [0.0, 1.0], [1.0, 0.0], [2.0, -1.0]]
    q = CPWL.from_pieces(rows, ends, (noise[0] + [-1, -1, 0, 0])[:, None], noise[1], tol=1e-6)
    assert compile(q, check=False).sizes.neurons == 1


def test_a_network_that_the_precision_cannot_hold_is_no_candidate(monkeypatch):
    """Weights beyond float32: another construction is taken, or it is said that there is none; no NumPy warning."""
    row = TABLE["hinge"]
    monkeypatch.setitem(TABLE, "hinge", replace(row, plan=lambda known: replace(row.plan(known), largest=1e61)))
    made = compile(abs_sum(), precision="float32")
    assert made.construction != "hinge"
    assert made.alternatives["hinge"].reason == "a weight of size 1e+61 cannot be written in float32"
    steep = CPWL.from_breakpoints([0, Fraction(1, 10**30)], [0, 10**30], left_slope=0, right_slope=0)
    with pytest.raises(ConstructionError, match=r"a weight of size 1e\+60 cannot be written in float32"):
        compile(steep, precision="float32")
    assert compile(steep).sizes.neurons == 2


def curve(points, first, last, f):
    """A table of a curve at evenly spaced points."""
    x = np.linspace(first, last, points)
    return CPWL.from_breakpoints(x.tolist(), f(x).tolist())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("points", [402, pytest.param(2002, marks=pytest.mark.slow)])
@pytest.mark.parametrize("construction", ["hinge", "univariate"])
@pytest.mark.parametrize(
    ("first", "last", "f"),
    [
        (0, 1, np.square),
        (-4, 4, np.tanh),
        (0, 10, lambda x: np.exp(-x / 5) * np.cos(x)),
        (0, 100, np.sin),
        (0, 1, lambda x: np.sin(20 * x)),  # its sums have small parts in order, large ones in blocks of 256
        (0, 1, lambda x: 100 + np.sin(20 * x)),  # the constant comes before the blocks
    ],
    ids=["square", "tanh", "decay", "sine", "waves", "high waves"],
)
def test_long_tables_keep_their_promise_in_float32(points, construction, first, last, f, tmp_path):
    """At knots, between them and at the ends onnxruntime is off by no more than is predicted, and by no more than twice
    what was measured; a limit that is not kept has a warning.
    """
    p = curve(points, first, last, f)
    x = np.linspace(first, last, 40 * points - 39)[:, None].astype(np.float32)
    with warnings.catch_warnings(record=True, action="always") as told:
        made = compile(p, precision="float32", max_error=1e-6, construction=construction)
    to_onnx(made.network, tmp_path / "a.onnx", dtype="float32", batch="N")
    session = onnxruntime.InferenceSession(str(tmp_path / "a.onnx"))
    seen = np.nanmax(np.abs(session.run(None, {"X": x})[0] - p(x.astype(np.float64))))
    seen = float(seen) / float(np.ptp(f(np.linspace(first, last, points))))
    assert seen <= made.error
    assert seen <= 2 * made.measured
    assert told or seen <= 1e-6


def test_accuracy_comes_before_size():
    """With less and less error allowed the prediction falls, and what no construction reaches is said."""
    p = delaunay(2, 25, 0)
    loose = compile(p, precision="float32", max_error=1.0)
    with pytest.warns(CpwlWarning, match="no construction has a predicted error within 1e-12"):
        tight = compile(p, precision="float32", max_error=1e-12)
    assert tight.error <= loose.error
    assert tight.error == min([tight.error, *(o.error for o in tight.alternatives.values() if o.error is not None)])
    assert loose.sizes.neurons <= tight.sizes.neurons


def test_a_limit_counts_for_a_construction_that_was_asked_for():
    """What was asked for is built; that it is not as accurate as it was meant to be is said."""
    p = delaunay(2, 12, 3)
    with pytest.warns(CpwlWarning, match="gates has a predicted error of .* more than 1e-12 of the range in float32"):
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
    made = compile(abs_sum(), certify=True)
    assert made.construction == "hinge"
    assert not made.certificate.proved
    names = made.reason.split("(tried ")[1].rstrip(")").split(", ")
    assert names[0] == "hinge"
    assert set(names) == {"hinge", "fold", "gates", "lattice", "paper"}  # an unbounded function of the plane
    assert len(tried) == len(names)


def test_the_first_that_is_proved_is_taken(monkeypatch):
    """A construction that was not planned at first is taken if it is the one with a proof."""
    last = planned("paper", abs_sum()).sizes
    only_paper = {True: certify, False: unproved}
    monkeypatch.setattr(compiler, "certify", lambda p, network, **_: only_paper[network.sizes == last](p, network))
    made = compile(abs_sum(), certify=True)
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
    with pytest.warns(CpwlWarning, match="measured error of .* against the data is .*, more than 1e-09"):
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
    with pytest.warns(CpwlWarning, match=r"measured error of hinge against the data is \d"):
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
    made = compile(p, certify=True)
    assert (
        repr(made) == f"Compiled({made.construction}: {made.sizes.neurons} neurons, {made.sizes.depth} layers, proved)"
    )
    assert all(f"<td>{name}</td>" in made._repr_html_() for name in TABLE)


def test_options_are_known_to_editors():
    """The literals are what is accepted."""
    assert get_args(plan.ConstructionName) == CONSTRUCTIONS == ("auto", *TABLE)
    assert get_args(plan.Minimize) == MINIMIZE
    short = {"float16", "int8", "int16"}
    assert set(get_args(plan.Precision)) == set(PRECISIONS) == set(get_args(plan.Weights)) - short


@pytest.mark.parametrize("text", ["max(x, y, z) + abs(x - 2*z + 1)", "max(min(x + 2*y - 1, 3), -x)", "abs(x) + abs(y)"])
def test_a_formula_is_compiled_no_larger_than_it_stands(text):
    """ "auto" compares the network of the formula itself, whoever calls it; the first has no smaller one."""
    written = Formula.from_text(text)
    made = compile(written.function(box=([-1] * len(written.variables), [1] * len(written.variables))), outside="clip")
    clip = 4 * len(written.variables)
    assert made.sizes.neurons <= written.network().sizes.neurons + clip
    best = compile(written.function(), certify=True)
    assert best.sizes.neurons <= written.network().sizes.neurons
    assert best.certificate.error_bound == 0
    assert (best.construction == "formula") == ("z" in text)
    assert "formula" in {best.construction, *best.alternatives}


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


@pytest.mark.one_in(2)
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


def test_progress_names_the_steps_after_planning():
    """A bar says that the network is built and proved; it does not stand at the last plan."""
    steps = []
    compile(abs_sum(2), certify=True, progress=lambda done, total, what: steps.append((done <= total, what)))
    assert all(within for within, _ in steps)
    assert [what for _, what in steps][-2:] == ["building hinge", "proving hinge"]
