"""Proofs that a network is the optimiser of a program: changed in every way that matters, and refused.

Where a changed proof is accepted, every active set is tried at points: the statement must still be true.
"""

import copy
import json
import random
from fractions import Fraction
from functools import cache

import pytest

import cpwl
from cpwl.documents.write import function_document, network_document
from cpwl.io.mpqp import from_active_sets
from cpwl.mpqp.program import Program
from cpwl_check.budget import Refused, Undecided
from cpwl_check.decide import check
from support.programs import DEGENERATE, OCTAHEDRON, SPJOTVOLD, SQUARE, optimum_by_trying, projection
from support.proofs import run_alone, write_documents

TINY = Fraction(1, 10**30)
TWO = {"Q": [[2, 1], [1, 2]], "H": [[-1, 0], [1, -2]], "c": [0, "1/3"], "A": [*SQUARE, [1, 1]]}
TWO |= {"F": [[0, 0]] * 4 + [["1/2", "-1/7"]], "b": [1, 1, 1, 1, 1], "A_t": SQUARE, "b_t": [3] * 4}


@cache
def proved(name):
    """Function, network and proof for one of the programs, as text."""
    matrices, equalities = {**DEGENERATE, "two": (TWO, 0)}[name]
    law = cpwl.solve_mpqp(matrices, equalities=equalities, outputs=0).merge()
    made = cpwl.compile(law, certify=True)
    assert made.certificate.kind.startswith("optimal of ")
    assert made.certificate.statement.endswith("is the optimiser of the program, for all feasible parameters")
    return json.dumps([function_document(law), network_document(made.network), made.certificate.document])


@pytest.mark.parametrize("name", [*DEGENERATE, "two"])
def test_optimisers_are_proved(name):
    """Dependent rows, facets with several neighbours, equations, lines: accepted as they are saved."""
    assert check(*json.loads(proved(name))) == 0


def test_a_stranger_can_check_it(tmp_path):
    """The program of the standard library alone, and what it says."""
    law = cpwl.solve_mpqp(TWO, outputs=[1])
    made = cpwl.compile(law, certify=True)
    paths = write_documents(tmp_path, law, made.network, made.certificate)
    code, out, _ = run_alone(paths, tmp_path)
    assert code == 0
    assert "the function is the optimiser of the program, for all feasible parameters" in out


def without_region(files, k):
    """The same without one region: what was beyond it is left open, or called another region."""
    regions = files[2]["regions"]
    del regions[k]
    for region in regions:
        for entry in region["beyond"]:
            if "regions" in entry:
                entry["regions"] = [i - (i > k) for i in entry["regions"] if i != k] or [0]
    return files


CHANGES = {
    "a matrix": lambda f: f[2]["program"]["H"][0].__setitem__(0, str(Fraction(f[2]["program"]["H"][0][0]) + TINY)),
    "a bound": lambda f: f[2]["program"]["b"].__setitem__(0, str(Fraction(f[2]["program"]["b"][0]) + TINY)),
    "a new row": lambda f: [f[2]["program"][k].append(v) for k, v in (("A", [1, 0]), ("F", [0, 0]), ("b", "9/10"))],
    "no bounds": lambda f: f[2]["program"].update(A_t=[], b_t=[]),
    "Q not symmetric": lambda f: f[2]["program"]["Q"][0].__setitem__(1, str(1 + TINY)),
    "Q semidefinite": lambda f: f[2]["program"].update(Q=[[2, 2], [2, 2]]),
    "Q indefinite": lambda f: f[2]["program"].update(Q=[[0, 1], [1, 2]]),
    "other outputs": lambda f: f[2].update(outputs=[1]),
    "no regions": lambda f: f[2].update(regions=[]),
    "no bases": lambda f: f[2]["regions"][0].update(bases=[]),
    "an equation": lambda f: f[2]["program"].update(equalities=1),
    "nothing beyond": lambda f: f[2]["regions"][0]["beyond"][0].update(regions=[]),
    "itself beyond": lambda f: f[2]["regions"][0]["beyond"][0].update(regions=[0]),
    "an edge inside": lambda f: f[2]["regions"][0]["beyond"].__setitem__(0, {"edge": 0}),
    "negative z": lambda f: f[2]["edges"].append({"y": {}, "z": {"0": -1}}),
    "negative y": lambda f: f[2]["edges"].append({"y": {"0": -1, "1": -1}, "z": {}}),
    "y'A not 0": lambda f: f[2]["edges"].append({"y": {"0": 1}, "z": {}}),
    "proof of itself": lambda f: f[2].update(proof=copy.deepcopy(f[2])),
    "a smaller bound": lambda f: f[2].update(error_bound=str(-TINY)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_refused(change):
    """Of the program, of what is beyond facets, of edges, of the proof inside."""
    files = json.loads(proved("two"))
    CHANGES[change](files)
    with pytest.raises(Refused):
        check(*files)


@pytest.mark.parametrize("name", ["two", "not face to face", "octahedron", "equation twice"])
def test_a_missing_region_is_refused(name):
    """Whichever it is."""
    count = len(json.loads(proved(name))[2]["regions"])
    for k in range(0, count, max(1, count // 6)):
        with pytest.raises(Refused):
            check(*without_region(json.loads(proved(name)), k))


def numbers_in(node, path=()):
    """The paths of all numbers of a document."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from numbers_in(value, (*path, key))
    elif isinstance(node, list):
        for key, value in enumerate(node):
            yield from numbers_in(value, (*path, key))
    elif not isinstance(node, bool) and (isinstance(node, int) or (node and node[-1].isdigit())):
        yield path


@pytest.mark.parametrize("name", ["two", "not face to face", "equation twice"])
def test_changed_numbers_are_refused_or_harmless(name):
    """Any number of the proof: where it is accepted all the same, the statement is true at points."""
    rng = random.Random(0)
    files = json.loads(proved(name))
    paths = [path for path in numbers_in(files[2]) if path[0] in ("program", "outputs", "edges", "regions")]
    accepted = 0
    for path in rng.sample(paths, min(len(paths), 120)):
        mutant = json.loads(proved(name))
        *holders, key = path
        inner = mutant[2]
        for step in holders:
            inner = inner[step]
        old = Fraction(inner[key])
        new = old + rng.choice([TINY, -TINY, 1, -1, -2 * old or 2])
        inner[key] = int(new) if new.denominator == 1 else str(new)
        try:
            check(*mutant)
        except (Refused, Undecided):
            continue
        accepted += 1
        assert is_true_at_points(mutant, rng)
    assert accepted < 20  # a factor of an edge, a bound that touches nothing


def is_true_at_points(files, rng):
    """Whether the function is the optimiser of the program at some points, inside and outside of its domain."""
    function, _, proof = files
    matrices = {**proof["program"]}
    program = Program.from_matrices(matrices, matrices.pop("equalities"))
    law = cpwl.CPWL.from_pieces(
        [piece["A"] for piece in function["pieces"]],
        [piece["b"] for piece in function["pieces"]],
        [piece["gradient"] for piece in function["pieces"]],
        [piece["offset"] for piece in function["pieces"]],
    )
    for _ in range(6):
        x = [Fraction(rng.randint(-40, 40), 13) for _ in range(law.dim)]
        wanted = optimum_by_trying(program, x)
        if wanted is not None and [wanted[k] for k in proof["outputs"]] != list(law([x])[0]):
            return False
    return True


def test_what_others_found_is_proved_too():
    """Active sets of another solver, some lost: completed, and proved optimal."""
    whole = cpwl.solve_mpqp(OCTAHEDRON, outputs=0)
    with pytest.warns(cpwl.CpwlWarning, match="26 regions were missing"):
        law = from_active_sets(OCTAHEDRON, [[]], outputs=0)
    assert cpwl.equal(law, whole)
    assert law.known.optimal.document() == whole.known.optimal.document()


def test_a_wrong_network_is_refused():
    """A network that is off by 1e-30 differs, and says where."""
    law = cpwl.solve_mpqp(projection([[1], [-1]], [1, 1]))
    network = cpwl.compile(law).network
    *layers, (weight, bias) = [(w, b) for w, b in cpwl.network.network.exact_layers(network)]
    off = cpwl.Network([*((w.toarray(), b) for w, b in layers), (weight.toarray(), [bias[0] + TINY])])
    with pytest.raises(cpwl.ProofError, match="network and function differ"):
        cpwl.certify(law, off)


def test_rounded_weights_have_a_bound():
    """For floats the statement is a bound on the distance from the optimiser."""
    law = cpwl.solve_mpqp({**SPJOTVOLD, "c": ["1/3"] * 3}, outputs=0)
    made = cpwl.compile(law, certify=True, weights="float64")
    assert made.certificate.kind.startswith("optimal of ")
    assert 0 < made.certificate.error_bound < 1e-9
