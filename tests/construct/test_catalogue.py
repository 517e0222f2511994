"""Every construction on every function of the catalogue: compiled, proved, checked apart, and equal at points."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cpwl import CPWL, Certificate, ConstructionError, certify, compile
from cpwl.compiler import CONSTRUCTIONS
from cpwl.construct.analysis import Analysis
from cpwl.construct.table import TABLE
from cpwl.exact.rational import fraction_array
from cpwl.network.network import exact_layers
from cpwl.proofs.rounding import box_of
from cpwl_check.decide import check
from support.catalogue import CASES, compiled, function, names, whole_table
from support.pinned import applicable
from support.proofs import documents, run_alone, write_documents
from support.rational_pieces import piece_data, points_in_pieces

EVERY = [case.name for case in CASES]
EXACT = names(without="float")
MAX_MIN = ("lattice", "paper")
# Bends of float data are not exact: there only the max-min forms have proofs.
BOTH = [*applicable(EXACT, CONSTRUCTIONS), *applicable(names("float"), ("auto", *MAX_MIN))]
PROVED = [(n, c) for n, c in BOTH if n not in names("unbounded noise")]
ALONE = [(n, c) for n, c in PROVED if c != "auto"]


@cache
def certificate(name: str, construction: str) -> Certificate | None:
    """The proof for a case, made once; None where there is no network. "auto" has that of what it chose."""
    made = compiled(name, construction)
    if made is not None and construction == "auto":
        return certificate(name, made.construction)
    return None if made is None else certify(function(name), made.network)


def law(piece, output, x):
    """The value at `x` of the law that an output follows on a piece."""
    *gradient, offset = piece.laws[output]
    return sum((g * v for g, v in zip(gradient, x, strict=True)), offset)


def test_the_catalogue_is_large_and_its_functions_are_small():
    """Forty functions or more, with distinct names, of at most 60 pieces each."""
    assert len(set(EVERY)) == len(EVERY) >= 40
    assert max(function(name).num_pieces for name in EVERY) <= 60


@pytest.mark.parametrize("name", EVERY)
def test_tags_are_true(name):
    """A case is tagged "float" iff it has a tolerance, and "bounded" iff a box holds its pieces."""
    assert (name in names("float")) == (function(name).tol > 0)
    assert (name in names("bounded")) == (box_of(function(name)) is not None)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_it(name):
    """The doctor finds no error."""
    assert function(name).doctor().errors == ()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_what_must_compile_compiles(name):
    """ "auto" and "lattice" never refuse, and Algorithm 1 is refused where it is wrong and nowhere else."""
    assert compiled(name, "auto") is not None
    assert compiled(name, "lattice") is not None
    assert (compiled(name, "paper") is None) == (name in names("wrong"))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_auto_builds_what_it_chose(name):
    """The network of "auto" is that of the construction that it names, weight by weight."""
    best = compiled(name, "auto")
    assert best is not None
    same = compiled(name, best.construction)
    assert same is not None
    for (one, left), (two, right) in zip(exact_layers(best.network), exact_layers(same.network), strict=True):
        assert (one.toarray() == two.toarray()).all()
        assert (left == right).all()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name, construction in PROVED if construction == "auto"])
def test_what_auto_takes_is_proved(name):
    """Equality for exact data, a small error for float data."""
    assert_proved(name, "auto")


@pytest.mark.one_in(10)
@pytest.mark.parametrize(("name", "construction"), ALONE)
def test_every_construction_is_proved(name, construction):
    """The same for each construction that applies."""
    assert_proved(name, construction)


def assert_proved(name, construction):
    proof = certificate(name, construction)
    assert proof is not None
    assert proof.proved, proof.reason
    assert proof.error_bound == 0 or (function(name).tol > 0 and proof.error_bound < Fraction(1, 10**9))


@pytest.mark.parametrize(("name", "construction"), sorted(set(BOTH) - set(PROVED)))
def test_noise_that_grows_is_never_called_equality(name, construction):
    """Data that disagrees by more and more towards infinity is not proved, or within a bound that is not 0."""
    proof = certificate(name, construction)
    assert proof is not None
    assert proof.error_bound != 0 if proof.proved else proof.reason.startswith("not proved: ")


@pytest.mark.parametrize("name", names("wrong"))
def test_refused_constructions_are_wrong_at_their_witness(name):
    """Where Algorithm 1 is refused, its network exceeds the function at the witness, in rationals."""
    p = function(name)
    with pytest.raises(ConstructionError) as caught:
        compile(p, construction="paper")
    x = fraction_array(caught.value.details["point"])[None]
    output = caught.value.details["output"]
    network = compile(p, construction="paper", check=False).network
    assert network(x)[0, output] > p(x)[0, output]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_auto_is_never_larger(name):
    """ "auto" has at most the neurons of every construction that is right; for float data, of the max-min forms."""
    best = compiled(name, "auto")
    assert best is not None
    others = [compiled(name, c) for c in (CONSTRUCTIONS if name in EXACT else MAX_MIN)]
    assert best.sizes.neurons <= min(made.sizes.neurons for made in others if made is not None)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", EVERY)
def test_lower_bounds_hold(name):
    """What a construction takes at least, by its bound, is at most what its network takes."""
    for construction, row in TABLE.items():
        made = compiled(name, construction)
        if made is None or (function(name).tol and construction not in MAX_MIN):
            continue
        least = row.least(Analysis(function(name)))
        for what in ("neurons", "depth", "width", "nonzeros") if least is not None else ():
            assert least.of(what) <= getattr(made.sizes, what), (construction, least.reason)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(6))
def test_lower_bounds_hold_for_random_tables(seed):
    """The same for tables in two and three dimensions, with values that meet often."""
    rng = np.random.default_rng(seed)
    for n in (2, 3):
        shape = rng.integers(2, 6 - n, n) + 1
        grid = CPWL.from_grid([range(k) for k in shape], rng.integers(-1, 2, shape))
        for p in (grid, whole_table(n, 7 + n, 5, seed)):
            known = Analysis(p)
            for row in TABLE.values():
                try:
                    neurons = row.plan(known).sizes.neurons
                except ConstructionError:
                    continue
                least = row.least(known)
                assert least is None or least.neurons <= neurons, row.name


# `certify` has asked the checker already. The cases that stay are among those whose proofs are made above.
@pytest.mark.one_in(15)
@pytest.mark.parametrize(("name", "construction"), ALONE)
def test_the_checker_agrees(name, construction, tmp_path):
    """The stand-alone checker accepts the saved files and finds the same bound."""
    made, proof = compiled(name, construction), certificate(name, construction)
    assert made is not None
    assert proof is not None
    assert check(*documents(tmp_path, function(name), made.network, proof)) == proof.error_bound


@pytest.mark.parametrize(
    "name", ["zero", "thirds_and_sevenths", "wrong_for_algorithm_1", "delaunay_space", "three_outputs", "control_law"]
)
def test_the_checker_runs_alone(name, tmp_path):
    """The checker needs no package: `python -I -S cpwl_check.pyz` proves from files."""
    made, proof = compiled(name, "lattice"), certificate(name, "lattice")
    assert made is not None
    assert proof is not None
    paths = write_documents(tmp_path, function(name), made.network, proof)
    code, said, errors = run_alone(paths, tmp_path)
    assert code == 0, said + errors
    assert said.startswith("proved")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", EXACT)
def test_values_are_those_of_the_laws(name):
    """At random rational points of every piece, boundary included, function and networks give the piece's law."""
    p = function(name)
    pieces = piece_data(p)
    places = points_in_pieces(p, 3, seed=0)
    x = np.array([point for _, point in places], dtype=object)
    expected = np.array([[law(pieces[i], j, point) for j in range(p.outputs)] for i, point in places], dtype=object)
    assert (p(x) == expected).all()
    for construction in ("lattice", "hinge", "gates"):  # Algorithm 1 is large, and proved
        made = compiled(name, construction)
        if made is not None:
            assert (made.network(x) == expected).all(), construction


@pytest.mark.parametrize("name", names("float"))
def test_float_data_is_met_within_its_tolerance(name):
    """At random points of every piece the network is within the tolerance of the law, relative."""
    p = function(name)
    made = compiled(name, "auto")
    assert made is not None
    x = np.array([np.array(point, dtype=float) for _, point in points_in_pieces(p, 6, seed=0)])
    size = 1 + np.abs(x).max()
    np.testing.assert_allclose(
        made.network(x), p(x), atol=p.tol * size * np.abs(p.laws.gradient).max(), equal_nan=False
    )


@pytest.mark.parametrize("construction", [c for c in CONSTRUCTIONS if c not in ("columns", "sums", "fold", "layers")])
def test_a_redundant_row_on_the_line_of_other_edges(construction):
    """A triangle cut in two: the part away from the diagonal keeps the diagonal's row, which does not touch it."""
    A = [[[0, 1], [1, -1], [-1, 0]], [[1, 0], [-1, 1], [0, -1], [-9, 6]], [[1, 0], [-1, 1], [0, -1], [9, -6]]]
    p = CPWL.from_pieces(A, [[1, 0, 0], [1, 0, 0, -4], [1, 0, 0, 4]], [[2, 1], [1, 2], [1, 2]], [0, 0, 0])
    assert p.doctor().errors == ()
    network = compile(p, construction=construction).network
    x = fraction_array([[0, 1], ["1/2", "1/2"], [1, "1/3"], ["2/3", "1/3"]])
    assert (network(x) == p(x)).all()


def test_scales_beyond_the_solver():
    """Exact data compiles at any scale: the solver only proposes."""
    p = CPWL.from_breakpoints([0, 10**21], [0, 1], left_slope=0, right_slope=0)
    network = compile(p).network
    assert certify(p, network).error_bound == 0
