"""`cpwl.tradeoff`: neurons against the proved error; formulas and trained networks as proposals for `within`."""

import copy
import json
import sys
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

import cpwl
from cpwl import CPWL, InputError, LimitError, ProofError, certify, compile, distance, tradeoff
from cpwl.cli.app import run_command
from cpwl.construct.analysis import Analysis
from cpwl.construct.lattice.plan import shared_lattice
from cpwl.construct.lattice.sides import relaxed
from cpwl.documents.write import function_document, network_document
from cpwl.function.coarser import tolerances
from cpwl.io import to_c
from cpwl.io.json import save
from cpwl.proposals import Task, trained
from cpwl_check.budget import Refused
from cpwl_check.decide import check


def law(seed, count=7):
    """Maxima of minima of random planes on a square: pieces that are no table."""
    rng = np.random.default_rng(seed)
    planes = rng.integers(-8, 9, (count, 3)).tolist()
    rows = [sorted(rng.choice(count, 2, replace=False).tolist()) for _ in range(count)]
    return CPWL.from_maxmin(planes, rows).restrict(box=(-1, 1))


@cache
def found(name):
    p = {"curve": lambda: CPWL.from_grid([range(17)], [(k - 8) ** 2 for k in range(17)]), "law": lambda: law(5)}[name]()
    return p, tradeoff(p, within=["20%", "2%"])


@pytest.mark.parametrize("name", ["curve", "law"])
def test_every_row_is_proved_and_no_larger_than_the_one_below(name):
    """Distances of the networks themselves; the stand-alone checker; bytes as `to_c` counts them."""
    p, table = found(name)
    ends = p.range()
    allowed = [(ends.high - ends.low) * share for share in (Fraction(1, 5), Fraction(1, 50), 0)]
    sizes = [row.compiled.sizes.neurons for row in table.rows]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    for row, e in zip(table.rows, allowed, strict=True):
        network, proof = row.compiled.network, row.compiled.certificate
        far = distance(p, network).largest
        assert far == row.compiled.within.distance.largest <= e
        assert far <= check(function_document(p), network_document(network), proof.document) <= e
        assert row.share == pytest.approx(float(far / (ends.high - ends.low)))


def test_bytes_are_those_of_the_c_code(tmp_path):
    """Another way to the same number: the code that is written."""
    _, table = found("curve")
    for row in table.rows:
        code = to_c(row.compiled.network, tmp_path / "law.h", form="network")
        assert code.costs["network"].flash == row.bytes


@pytest.mark.parametrize("seed", range(6))
def test_a_formula_of_relaxed_tables_stays_within_the_tolerance(seed):
    """Separation with a tolerance: tables against rationals at corners, and the exact distance of what is built."""
    p, e = law(seed), Fraction(3, 2)
    analysis = Analysis(p)
    order = relaxed(analysis, [e])[0]
    laws = [[Fraction(v) for v in row] for row in p.components(0).coefficients()[:, 0].tolist()]
    for i, own in enumerate(p.component[:, 0].tolist()):
        corners = corners_of(p.polyhedra[i])
        for m, g in enumerate(laws):
            off = [sum((a - b) * v for a, b, v in zip(g, laws[own], (*x, 1), strict=True)) for x in corners]
            assert order.above[i, m] == (min(off) >= -e)
            assert order.below[i, m] == (max(off) <= e)
    assert distance(p, shared_lattice(analysis, [order]).network).largest <= e


def corners_of(body):
    """All corners of a polygon, slowly: each two rows that meet where all rows hold."""
    rows = [[Fraction(v) for v in row] for row in body.integer().tolist()]
    found = set()
    for (a, b, c), (d, e, f) in product(rows, repeat=2):
        if a * e != b * d:
            x = ((c * e - b * f) / (a * e - b * d), (a * f - c * d) / (a * e - b * d))
            if all(u * x[0] + v * x[1] <= w for u, v, w in rows):
                found.add(x)
    return sorted(found)


def test_a_formula_is_proposed_and_its_proof_says_no_less_than_is_true():
    """A law on all of R^2: fewer components, proved; a smaller bound is refused, and so is another network."""
    near = np.round(np.random.default_rng(0).uniform(-1, 1, (14, 2)) * 8).astype(int).tolist()
    planes = [[Fraction(a, 4), Fraction(b, 4), Fraction(-a * a - b * b, 64)] for a, b in near]
    p = CPWL.from_maxmin(planes, [[k] for k in range(14)])
    made = compile(p, within=1, certify=True)
    assert made.within.proposal == made.construction == "formula"
    assert made.sizes.neurons < made.within.neurons_equal
    assert made.certificate.error_bound == made.within.distance.largest == distance(p, made.network).largest <= 1
    head, document = (function_document(p), network_document(made.network)), made.certificate.document
    less = document | {"error_bound": str(made.certificate.error_bound * Fraction(999_999, 1_000_000))}
    other = copy.deepcopy(head[1])
    other["layers"][-1]["bias"] = ["3"]
    for function, network, proof in ((*head, less), (head[0], other, document)):
        with pytest.raises(Refused):
            check(function, network, proof)
    assert certify(p, made.network, max_error=1).proved
    with pytest.raises(ProofError):
        certify(p, made.network, max_error=float(made.within.distance.largest) / 2)


def test_the_weights_of_a_file_count():
    """A formula with weights rounded to float32: distance and proof are those of the rounded network."""
    p = law(5) * Fraction(1, 3)
    made = compile(p, within="20%", certify=True, weights="float32")
    assert made.certificate.proved
    assert 0 < made.within.distance.largest <= made.within.tolerance[0]


@pytest.mark.parametrize("within", [[], "1%", ["1%", -1], [0], [float("nan")], 0.5, ["much"], None])
def test_bad_tolerances(within):
    """One sentence each."""
    with pytest.raises(InputError, match="`within` must"):
        tradeoff(CPWL.from_grid([[0, 1, 2]], [0, 1, 0]), within=within)


def test_percentages_need_a_finite_range():
    """On all of R tolerances are given in units of the output."""
    p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
    with pytest.raises(InputError, match="no finite range"):
        tradeoff(p)
    assert [row.share for row in tradeoff(p, within=[1, 2]).rows] == [None] * 3


def test_the_command_prints_writes_and_draws(tmp_path, capsys):
    """A table, JSON, CSV and a picture of the same rows; the page has them, too."""
    p, table = found("curve")
    source = str(tmp_path / "law.json")
    save(p, source)
    words = ["tradeoff", source, "--within", "20%,2%"]
    assert run_command([*words, "--json", "-o", str(tmp_path / "a.csv")]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows == json.loads(json.dumps(table.data))
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0].startswith("within,neurons,layers,bytes,distance")
    assert [line.split(",")[1] for line in lines[1:]] == [str(row["neurons"]) for row in rows]
    pytest.importorskip("matplotlib")
    assert run_command([*words, "-o", str(tmp_path / "a.svg")]) == 0
    assert str(table) in capsys.readouterr().out
    assert "<svg" in (tmp_path / "a.svg").read_text()
    assert run_command([*words, "-o", str(tmp_path / "a.txt")]) == 64


def test_the_page_has_a_section():
    """`report(tradeoff=...)` shows the rows; anything else is refused."""
    p, table = found("curve")
    page = cpwl.report(p, certify=False, tradeoff=table)
    data = json.loads(page.html.split('id="data">')[1].split("</script>")[0])
    assert data["tradeoff"] == json.loads(json.dumps(table.data))
    with pytest.raises(InputError, match="`tradeoff` must"):
        cpwl.report(p, certify=False, tradeoff=True)


def test_training_needs_torch(monkeypatch):
    """One sentence, before any long work."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(LimitError, match="pip install torch"):
        compile(CPWL.from_grid([[0, 1, 2]], [0, 1, 0]), within="1%", train=True)


@pytest.mark.slow
def test_a_trained_network_is_proved_like_any_other():
    """A smooth table at 10 %: torch proposes a network with fewer neurons than equality takes, and it has a proof."""
    pytest.importorskip("torch")
    side = np.arange(9) / 8
    x, y = np.meshgrid(side, side, indexing="ij")
    z = np.sin(3 * x) * np.cos(2.5 * y) + 0.8 * np.exp(-12 * ((x - 0.35) ** 2 + (y - 0.6) ** 2))
    p = CPWL.from_grid([range(9), range(9)], np.round(2**16 * z) / 2**16)
    task = Task(compile(p).network, [], False, lambda q: compile(q).network)
    proposal = next(trained(p, tolerances(p, "10%"), task))
    assert proposal.name == "trained"
    assert proposal.made.sizes.neurons < task.most
    far = distance(p, proposal.made).largest
    assert certify(p, proposal.made, max_error=float(far) * 1.001).error_bound == far
