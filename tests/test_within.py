"""`compile(within=)` and `CPWL.approximate`: the distance is exact, at most the tolerance, and proved."""

import copy
import itertools
import json
from fractions import Fraction
from functools import cache

import numpy as np
import onnxruntime
import pytest
from scipy.optimize import linprog

from cpwl import CPWL, InputError, LimitError, Network, certify, compile, distance, extract, proposals, write
from cpwl.cli.app import run_command
from cpwl.documents.write import function_document, network_document
from cpwl.errors import ConstructionError
from cpwl.function import coarser
from cpwl.function.algebra.arithmetic import pieces_of
from cpwl.function.coarser import tolerances
from cpwl.geometry.overlay import overlay
from cpwl.io.c.text import network_tables
from cpwl.io.onnx.read import from_onnx
from cpwl.io.onnx.write import to_onnx
from cpwl.network.network import evaluate_exact, exact_layers, weight_bytes
from cpwl.proposals import Task, _counted_in_steps, uneven
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.rational_pieces import with_noise


def curve(count, outputs=None):
    x = np.arange(count) / (count - 1)
    y = np.round(2**20 * (np.sin(9 * x * x) + 0.5 * np.sin(25 * x))) / 2**20
    return CPWL.from_grid(
        [range(count)], y if outputs is None else np.column_stack([y * (k + 1) for k in range(outputs)])
    )


def table(size):
    axes = [np.arange(k + 1) for k in size]
    grid = np.meshgrid(*(axis / axis[-1] for axis in axes), indexing="ij")
    z = np.sin(3 * grid[0]) * np.cos(2.5 * grid[1]) + 0.3 * sum(grid)
    return CPWL.from_grid(axes, np.round(2**16 * z) / 2**16)


CASES = {
    "curve": (lambda: curve(200), "1%"),
    "two curves": (lambda: curve(60, 2), ["5%", Fraction(1, 3)]),
    "table": (lambda: table((6, 5)), "4%"),
    "triangles with noise": (lambda: with_noise(table((4, 3)), 1e-13, 0), "15%"),
}


@cache
def made(name):
    p, within = CASES[name][0](), CASES[name][1]
    return p, compile(p, within=within, certify=True)


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_network_is_smaller_and_proved_within_the_tolerance(name):
    """The distance of the network itself is at most the tolerance, and the stand-alone checker shows it."""
    p, found = made(name)
    told = found.within
    assert found.sizes.neurons < told.neurons_equal
    assert told.proposal != "equal"
    assert distance(p, found.network).largest == told.distance.largest <= max(told.tolerance)
    for j, e in enumerate(told.tolerance if not p.tol else ()):
        assert distance(p[j], found.network[j]).largest <= e
    bound = check(function_document(p), network_document(found.network), found.certificate.document)
    assert told.distance.largest <= bound <= max(told.tolerance)


@pytest.mark.parametrize("name", sorted(CASES))
def test_nothing_that_is_farther_by_1e_30_passes(name):
    """The proved bound is the distance: no smaller bound is accepted, and no network that is moved beyond it."""
    p, found = made(name)
    function, network, proof = function_document(p), network_document(found.network), found.certificate.document
    if not p.tol:
        assert found.certificate.error_bound == found.within.distance.largest
        less = proof | {"error_bound": str(found.certificate.error_bound - Fraction(1, 10**30))}
        with pytest.raises(Refused):
            check(function, network, less)
    beyond = 0
    for j, sign in itertools.product(range(p.outputs), (1, -1)):
        move = [Fraction(sign, 10**30) * (i == j) for i in range(p.outputs)]
        moved = found.network + move
        if distance(p, moved).largest > found.certificate.error_bound:
            beyond += 1
            with pytest.raises(Refused):
                check(function, network_document(moved), proof)
    assert beyond or p.tol


def steep(count=12):
    """A table that is steep at one corner, with axes that are finer there."""
    axes = [np.arange(count + 1) ** 2, np.arange(count) ** 2]
    x, y = np.meshgrid(*axes, indexing="ij")
    return CPWL.from_grid(axes, np.round(2**16 * (1 / (1 + x / 4) + np.exp(-y / 8))) / 2**16)


@pytest.mark.parametrize("within", ["5%", "1%"])
def test_uneven_axes(within):
    """The network counts the steps of uneven axes first; it is within the tolerance, and so is the function."""
    p = steep()
    e, task = tolerances(p, within), Task(compile(p).network, [], False, lambda q: compile(q).network)
    network = next(uneven(p, e, task)).made
    function = next(coarser.uneven(p, e, lambda shape, _: np.prod(shape), p.num_pieces)).made
    even = next(coarser.propose(p, e, lambda shape, _: np.prod(shape), p.num_pieces), None)
    assert network.sizes.neurons < task.most
    assert 0 < distance(p, network).largest <= e[0]
    assert distance(p, function).largest <= e[0]
    assert even is None or function.num_pieces < even.made.num_pieces
    assert p.approximate(within).num_pieces <= function.num_pieces


def test_uneven_axes_make_the_network_of_a_steep_map_small():
    """Few neurons, proved; the number in docs/howto/within.md.

    The linear programs of the search see floats whose last bits depend on the processor: with the matrix products of
    four kinds of processors there are 21, 22, 23 and 23 neurons.
    """
    p = steep()
    found = compile(p, within="1%", certify=True)
    assert any(name.startswith("uneven") and share <= 1 for name, _, share in found.within.tried)
    assert found.sizes.neurons <= 23
    assert found.within.neurons_equal == 80
    bound = check(function_document(p), network_document(found.network), found.certificate.document)
    assert bound == found.within.distance.largest <= max(found.within.tolerance)


@pytest.mark.parametrize("flips", [(False, False), (True, False)])
def test_all_corners_of_a_common_refinement_in_the_plane_are_found(flips):
    """Floats find each corner that the exact refinement has, with its value; uneven axes, either diagonal."""
    p = table((4, 3))
    axes = [[Fraction(0), Fraction(1, 3), Fraction(2), Fraction(4)], [Fraction(0), Fraction(7, 5), Fraction(3)]]
    grid = coarser._Grid(axes, flips)
    points, values = grid.crossings(p)
    q = grid.function(np.arange(12, dtype=object)[:, None])
    pieces = [pieces_of(f)[1] for f in (p, q)]
    places = overlay(*pieces).cells.places
    exact = {tuple(row) for row in np.round(np.asarray(places[:, :-1] / places[:, -1:], dtype=float), 9).tolist()}
    assert exact <= {tuple(row) for row in (np.round(points, 9) + 0.0).tolist()}
    assert np.abs(np.ravel(p(points)) - values[:, 0]).max() < 1e-12


def test_gaps_are_the_extremes_of_the_difference():
    """For two outputs, on different pieces and on the same ones."""
    p, q = curve(9, 2), curve(5, 2).approximate("20%")
    for a, b in ((p, q), (q, p), (p, p)):
        for j, gap in enumerate(coarser.gaps(a, b)):
            ends = (a - b)[j].range()
            assert gap.largest == max(abs(ends.low), abs(ends.high))


def test_a_network_counts_the_steps_of_an_axis():
    """At the knots of an axis the number of intervals before them, affine in between."""
    axes = [[Fraction(v) for v in (-1, 0, 1, 5, 9)], [Fraction(1, 3), Fraction(2, 3), Fraction(5)]]
    count = _counted_in_steps(axes)
    for i, x in enumerate(axes[0]):
        for j, y in enumerate(axes[1]):
            assert evaluate_exact(exact_layers(count), np.array([[x, y]], dtype=object)).tolist() == [[i, j]]
    assert count.sizes.neurons == 4


def test_another_function_inside_a_proof_is_refused():
    """Kind "near" has a function inside: it may not be moved, and its pieces have an order."""
    p = table((5, 4))
    q = p.approximate("20%")
    network, most = compile(q).network, max(tolerances(p, "20%"))
    proof = certify(p, network, near=q, max_error=float(most))
    assert proof.proved
    moved = copy.deepcopy(proof.document)
    moved["function"]["pieces"][0]["offset"] = ["1/7"]
    for wrong in (moved, proof.document | {"pieces": proof.document["pieces"][::-1]}):
        with pytest.raises(Refused):
            check(function_document(p), network_document(network), wrong)


def fewest_links(y, e, parts=4):
    """The fewest links of a path with knots at multiples of 1/2 and heights at multiples of e / parts in the tunnel."""
    count = 2 * len(y) - 1
    p = [Fraction(y[k // 2] + y[(k + 1) // 2]) / 2 for k in range(count)]
    nodes = [[p[k] + e * Fraction(t, parts) for t in range(-parts, parts + 1)] for k in range(count)]
    best = [dict.fromkeys(nodes[0], 0), *({} for _ in range(count - 1))]
    for b in range(1, count):
        for h in nodes[b]:
            for a in range(b):
                for g, links in best[a].items():
                    line = [g + (h - g) * Fraction(k - a, b - a) for k in range(a, b + 1)]
                    if all(abs(v - p[k]) <= e for k, v in enumerate(line, start=a)):
                        best[b][h] = min(best[b].get(h, 99), links + 1)
    return min(best[-1].values())


@pytest.mark.parametrize("seed", range(3))
def test_no_path_of_a_slow_search_has_fewer_links(seed):
    """The tunnel is optimal: dynamic programming over knots and heights of a fine grid never does better."""
    y = np.random.default_rng(seed).integers(-3, 4, 6).tolist()
    p = CPWL.from_grid([range(6)], y)
    q = p.approximate(1)
    assert q.num_pieces <= fewest_links(y, Fraction(1))
    assert p.distance(q).largest <= 1


def test_grids_in_space():
    """Three inputs: fewer simplices within the tolerance."""
    p = table((4, 4, 2))
    q = p.approximate("20%")
    assert q.num_pieces < p.num_pieces
    ends = p.range()
    assert p.distance(q).largest <= (ends.high - ends.low) / 5


def test_rounded_weights_are_part_of_the_distance():
    """The network as float32 has it is within the tolerance."""
    p = curve(60)
    found = compile(p, within="2%", weights="float32")
    assert found.within.distance.largest <= found.within.tolerance[0]


@pytest.mark.parametrize(("make", "within"), [(lambda: curve(200), "0.02%"), (lambda: table((6, 5)), "5%")])
def test_the_tolerance_holds_in_float32(make, within, tmp_path):
    """onnxruntime in float32 stays inside a tolerance that the network in exact arithmetic nearly exhausts."""
    p = make()
    made = compile(p, within=within, precision="float32")
    to_onnx(made.network, tmp_path / "a.onnx", dtype="float32")
    corners = p.mesh.corners[:, :-1] / p.mesh.corners[:, -1:]
    share = np.random.default_rng(0).random((20_000, p.dim))
    x = np.concatenate([corners, corners.min(axis=0) + share * np.ptp(corners, axis=0)]).astype(np.float32)
    seen = onnxruntime.InferenceSession(str(tmp_path / "a.onnx")).run(None, {"X": x})[0]
    assert np.abs(seen - p(x.astype(np.float64))).max() <= float(max(made.within.tolerance))


@pytest.mark.parametrize(
    "within", [0, -1, "-1%", float("nan"), float("inf"), "1e400", [1, 2], "much", None, [], True, "0%"]
)
def test_bad_tolerances_are_refused_in_one_sentence(within):
    """Zero, negative, not a number, beyond float64, of the wrong length."""
    p = curve(5)
    with pytest.raises(InputError, match="`within` must"):
        p.approximate(within)
    if within is not None:
        with pytest.raises(InputError, match="`within` must"):
            compile(p, within=within)


def test_a_percentage_needs_a_range():
    """On all of R the range is infinite, and a constant has none."""
    with pytest.raises(InputError, match="no finite range"):
        compile(CPWL.from_breakpoints([0, 1], [0, 1]), within="1%")
    with pytest.raises(InputError, match="is constant"):
        compile(CPWL.from_grid([[0, 1]], [2, 2]), within="1%")
    assert compile(CPWL.from_breakpoints([0, 1, 2], [0, 1, 0]), within=0.1).within.proposal == "equal"


def test_integer_weights_within_a_tolerance(tmp_path, capsys):
    """--dtype int8 with --within: the exact distance that is told is at most the tolerance, and the file is there."""
    (tmp_path / "curve.csv").write_text("x,y\n0,0\n1,1\n2,0\n")
    args = [
        "compile",
        tmp_path / "curve.csv",
        "-o",
        tmp_path / "net.onnx",
        "--within",
        "5%",
        "--dtype",
        "int8",
        "--json",
    ]
    assert run_command([str(v) for v in args]) == 0
    told = json.loads(capsys.readouterr().out)["within"]
    assert Fraction(told["distance"]) <= Fraction(told["tolerance"][0]) == Fraction(1, 20)
    assert (tmp_path / "net.onnx").exists()


def test_the_command_writes_and_tells(tmp_path, capsys):
    """--within, with a proof of the file that was written."""
    (tmp_path / "curve.csv").write_text("x,y\n" + "".join(f"{k},{(k - 8) ** 2 / 4}\n" for k in range(17)))
    out = tmp_path / "net.onnx"
    args = ["compile", tmp_path / "curve.csv", "-o", out, "--within", "5%", "--certify", "--json"]
    assert run_command([str(v) for v in args]) == 0
    told = json.loads(capsys.readouterr().out)
    p = CPWL.from_grid([range(17)], [Fraction((k - 8) ** 2, 4) for k in range(17)])
    assert distance(p, from_onnx(out)).largest == Fraction(told["within"]["distance"]) <= Fraction(16, 20)
    assert told["sizes"]["neurons"] < told["within"]["neurons_equal"]
    assert told["statement"].startswith("|network - function| <= 0.8 on every piece")
    args[1] = tmp_path / "curve.json"
    write(p, args[1])
    assert run_command([str(v) for v in args[:-1]]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("check it: cpwl "))
    words = line.removeprefix("check it: cpwl ").split()
    assert run_command(words) == 0
    assert run_command(words[:-2]) == 1  # the usual bound is smaller


@pytest.mark.parametrize(("make", "within"), [(lambda: curve(60), "5%"), (lambda: table((5, 4)), "10%")])
def test_few_bytes(make, within):
    """Part of the tolerance goes into shorter weights: fewer bytes, the same numbers in C, and proved as they are."""
    p = make()
    few, short = (compile(p, within=within, minimize=what, certify=True) for what in ("neurons", "bytes"))
    assert short.within.proposal.endswith("weights")
    assert weight_bytes(short.network) < weight_bytes(few.network)
    held = [network_tables(made.network, "float32") for made in (short, few)]
    assert held[0].cost.flash < held[1].cost.flash
    assert distance(p, short.network).largest == short.within.distance.largest <= max(short.within.tolerance)
    bound = check(function_document(p), network_document(short.network), short.certificate.document)
    assert short.within.distance.largest <= bound <= max(short.within.tolerance)
    if held[0].unit:
        kinds = {t.name: t for t in held[0].tables}
        weights = [kinds[f"weight_{i}"].values * held[0].unit for i in range(1, len(held[0].layers) + 1)]
        for (weight, _), numbers in zip(short.network.layers, weights, strict=True):
            assert set(numbers.tolist()) - {0.0} == set(weight.data.tolist())


def test_a_tolerance_that_rounding_breaks_is_refused(tmp_path, capsys):
    """On all of R^2 rounded weights are off without bound, and float32 by more than 1e-12; exact weights hold."""
    planes = [[3, 1, 0], [-2, 5, 1], [1, -4, 2], [-5, -3, 4], [0, 2, -3]]
    p = CPWL.from_maxmin(planes, [[0, 1], [1, 2], [3, 4], [0, 4]])
    made = compile(p, within=1)
    assert distance(p, made.network).largest == made.within.distance.largest <= 1
    third = p.restrict(box=(-1, 1)) * Fraction(1, 3)
    with pytest.raises(LimitError, match="with rounding"):
        compile(third, within=1e-12, precision="float32", weights="float32")
    write(p * Fraction(1, 7), tmp_path / "law.json")
    args = ["compile", str(tmp_path / "law.json"), "--within", "1", "-o"]
    assert run_command([*args, str(tmp_path / "net.onnx")]) == 2
    assert "without bound" in capsys.readouterr().err
    assert not (tmp_path / "net.onnx").exists()
    assert run_command([*args, str(tmp_path / "net.json")]) == 0


def test_explain_has_no_lower_bounds_of_another_function(tmp_path, capsys):
    """What equality takes at least says nothing about a network that is only near."""
    (tmp_path / "curve.csv").write_text("x,y\n" + "".join(f"{k},{(k - 8) ** 2 / 4}\n" for k in range(17)))
    args = ["compile", tmp_path / "curve.csv", "-o", tmp_path / "net.onnx", "--explain"]
    assert run_command([str(v) for v in args]) == 0
    assert "at least" in capsys.readouterr().out
    assert run_command([str(v) for v in (*args, "--within", "5%", "--minimize", "bytes")]) == 0
    told = capsys.readouterr().out
    assert "proposals, smallest first:" in told
    assert "at least" not in told


def test_programs_of_grids_and_arrays_agree():
    """The nearest values on a grid by its sparse rows, and by a dense array of barycentric weights."""
    p = table((5, 4))
    grid = coarser._Grid.even([(Fraction(0), Fraction(5)), (Fraction(0), Fraction(4))], (2, 3), (True, False))
    points, values = grid.crossings(p)
    number, share = grid.weights(points)
    rows = np.zeros((len(points), 12))
    np.add.at(rows, (np.arange(len(points))[:, None], number), share)
    dense, sparse = coarser.chebyshev(rows, values[:, 0]), grid.chebyshev(points, values[:, 0])
    slow = linprog(
        np.append(np.zeros(12), 1),
        np.block([[rows, -np.ones((len(rows), 1))], [-rows, -np.ones((len(rows), 1))]]),
        np.concatenate([values[:, 0], -values[:, 0]]),
        bounds=(None, None),
    )
    for x, error in (dense, sparse):
        assert error == pytest.approx(slow.fun, rel=1e-9)
        assert np.abs(rows @ x - values[:, 0]).max() == pytest.approx(error, rel=1e-6)


def test_a_symmetric_function_has_a_formula_behind_a_fold(monkeypatch):
    """An even function: the formula of one half behind a fold is within the tolerance, with fewer neurons."""
    half = CPWL.from_grid([range(4), range(4)], np.random.default_rng(2).integers(0, 8, (4, 4)).tolist())
    front = Network([([[1, 0], [-1, 0], [0, 1]], [0, 0, 0]), ([[1, 1, 0], [0, 0, 1]], [0, 0])])
    p = extract(compile(half).network @ front, box=([-3, 0], [3, 3]))
    allowed, task = tolerances(p, "10%"), Task(compile(p, construction="lattice").network, [], False, compile)
    folded = [one.made for one in proposals.formulas(p, allowed, task)]
    monkeypatch.setattr(proposals, "folds", _without_symmetry)
    plain = [one.made for one in proposals.formulas(p, allowed, task)]
    assert all(distance(p, network).largest <= allowed[0] for network in folded)
    assert 3 * folded[0].sizes.neurons < 2 * min([one.sizes.neurons for one in plain], default=task.most)


def _without_symmetry(_):
    raise ConstructionError("none")


def test_formulas_have_short_numbers_where_the_domain_is_bounded():
    """Weights are rounded, which distance and proof include; on R^n the laws are kept, as no rounding is near."""
    p = CPWL.from_grid([range(4), range(3)], np.random.default_rng(0).integers(0, 8, (4, 3)) * Fraction(1, 7))
    ramps = CPWL.from_breakpoints([0, 1, 2], [0, Fraction(1, 7), 1], left_slope=Fraction(-1, 3), right_slope=2)
    for function, short in ((p, True), (ramps, False)):
        task = Task(compile(function, construction="paper").network, [], False, compile)
        found = list(proposals.formulas(function, [Fraction(1, 5)], task))
        assert found
        for one in found:
            weights = [w for weight, _ in exact_layers(one.made) for w in weight.toarray().ravel()]
            assert all(w.denominator.bit_count() == 1 for w in weights) == short
            assert distance(function, one.made).largest < np.inf


def test_an_affine_function_but_for_rounding_needs_no_hinges(recwarn):
    """No weight is left to weigh the next program by: nothing is divided by 0."""
    points = range(4)
    values = [[x + 2 * y + Fraction((3 * x * x + 5 * y) % 7, 10**13) for y in points] for x in points]
    made = compile(CPWL.from_grid([points, points], values), within="0.1%")
    assert (made.sizes.neurons, [str(each.message) for each in recwarn]) == (0, [])
