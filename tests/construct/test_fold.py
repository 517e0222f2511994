"""Mirrored and odd functions: symmetry is decided exactly, folding saves neurons, and one proof covers the fold."""

import json
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, Network, ProofError, certify, compile, equal
from cpwl.construct.parts import folds
from cpwl.exact.rational import fraction_array
from cpwl.function.symmetry import mirrors, symmetry
from cpwl.proofs.kinds import prove
from cpwl.proofs.question import Question
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from support.catalogue import mirrored_table
from support.rational_pieces import points_in_pieces


def table(k, *, seed=0, sign=1, outputs=1, shift=0, mirrored=True):
    """Random values on (2 k + 1)^2 points, even in y and even or odd in x; diagonals are mirrored, or not."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 10, (k + 1, k + 1, outputs)).astype(object)
    values[0] *= sign > 0
    r = range(-k, k + 1)
    number = {(i, j): (i + k) * (2 * k + 1) + j + k for i in r for j in r}
    z = [(values[abs(i), abs(j)] * (sign if i < 0 else 1)).tolist() for i in r for j in r]
    cells = []
    for i in list(r)[:-1]:
        for j in list(r)[:-1]:
            a, b, c, d = (number[at] for at in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
            same = not mirrored or (i >= 0) == (j >= 0)
            cells += [[a, b, c], [a, d, c]] if same else [[b, a, d], [b, c, d]]
    return CPWL.from_simplices([[i + shift, j - shift] for i in r for j in r], cells, z)


def saturated():
    """An odd law of two inputs on a box: clipped near a line, and two more laws on each side, far from it."""
    lower = CPWL.from_maxmin([[-1, -1, 0], [0, 0, 1], [0, 0, -1]], [[0, 1], [2]])  # max(min(-x - y, 1), -1)
    bump = CPWL.from_maxmin([[1, 1, -3], [0, 0, 0], [-1, 2, 1]], [[0, 2], [1]])
    other = bump @ ([[-1, 0], [0, -1]], [0, 0])
    return (lower + bump - other).restrict(box=([-4, -4], [4, 4]))


def along_a_diagonal():
    """max(x - y, y - x, 1) + max(x + y, 0), which swapping x and y does not change, on a square."""
    one = CPWL.from_maxmin([[1, -1, 0], [-1, 1, 0], [0, 0, 1]], [[0], [1], [2]])
    return (one + CPWL.from_maxmin([[1, 1, 0], [0, 0, 0]], [[0], [1]])).restrict(box=([-2, -2], [2, 2]))


CASES = {
    "even": lambda: table(3),
    "far": lambda: table(2, shift=5),
    "odd": lambda: table(2, sign=-1),
    "outputs": lambda: table(2, outputs=2),
    "odd outputs": lambda: table(2, sign=-1, outputs=2),
    "line": lambda: CPWL.from_grid([range(-8, 9)], [abs(i) ** 3 % 11 for i in range(-8, 9)]),
    "odd line": lambda: CPWL.from_grid([range(-8, 9)], [np.sign(i) * (abs(i) ** 3 % 11) for i in range(-8, 9)]),
    "unbounded": lambda: CPWL.from_breakpoints(range(-5, 6), [abs(i) ** 3 % 7 for i in range(-5, 6)]),
    "diagonal": along_a_diagonal,
    "saturated": saturated,
}


@pytest.mark.parametrize("name", CASES)
def test_the_fold_is_equal_and_proved(name):
    """Equality by regions, and a proof of kind "fold" that the checker accepts."""
    p = CASES[name]()
    network = compile(p, construction="fold", precision="exact").network
    assert equal(p, network)
    document = prove("fold", Question(p, network))
    assert document["kind"] == "fold"
    assert certify(p, network).error_bound == 0


@pytest.mark.parametrize("name", ["even", "odd", "saturated"])
def test_a_wrong_weight_is_refused(name):
    """Weights that are off by 1e-30, in each layer: never proved."""
    p = CASES[name]()
    network = compile(p, construction="fold", precision="exact").network
    layers = [(weight.toarray(), bias) for weight, bias in network.exact]
    for number, (weight, _) in enumerate(layers):
        i, j = np.argwhere(weight != 0)[len(weight) // 2]
        changed = weight.copy()
        changed[i, j] += Fraction(1, 10**30)
        other = Network([(changed if k == number else w, b) for k, (w, b) in enumerate(layers)])
        with pytest.raises(ProofError):
            certify(p, other)


@pytest.mark.parametrize("name", ["odd", "saturated"])
def test_no_number_of_a_proof_can_be_changed(name):
    """What the proof says of the fold, number after number, and the pieces that it names: refused."""
    p = CASES[name]()
    question = Question(p, compile(p, construction="fold", precision="exact").network)
    document = prove("fold", question)
    files = (question.function_document, question.network_document)
    assert check(*files, document) == 0
    wrong = []
    for field in ("place", "reads"):
        for i, row in enumerate(document[field]):
            for j, number in enumerate(row):
                changed = json.loads(json.dumps(document))
                changed[field][i][j] = str(Fraction(number) + Fraction(1, 10**30))
                wrong.append(changed)
    for j, named in enumerate(document["at"]):
        for k in named:
            changed = json.loads(json.dumps(document))
            changed["at"][j].remove(k)
            wrong.append(changed)
    for i, patch in enumerate(document["patches"]):
        for j, right in enumerate(patch["b"]):  # smaller, a piece sticks out of it; larger, the law is another one
            changed = json.loads(json.dumps(document))
            changed["patches"][i]["b"][j] = str(Fraction(right) - Fraction(1, 10**30))
            wrong.append(changed)
        for k in patch["at"]:
            changed = json.loads(json.dumps(document))
            changed["patches"][i]["at"].remove(k)
            wrong.append(changed)
    for l, named in enumerate(document["neurons"]):
        changed = json.loads(json.dumps(document))
        changed["neurons"][l] = named[1:] + named[:1] if len(named) > 1 else []
        wrong.append(changed)
    for one in wrong:
        with pytest.raises(Refused):
            check(*files, one)


@pytest.mark.parametrize(("k", "most"), [(4, 21), (8, 42)])
def test_mirrored_tables_take_about_half(k, most):
    """Not larger than the first networks that were built by hand, and "auto" takes them."""
    made = compile(mirrored_table(k))
    assert made.construction == "fold"
    assert made.sizes.neurons <= most


def test_symmetry_is_decided_exactly():
    """One value that is off by 1e-30 is enough for no mirror, and so are diagonals that are not mirrored."""
    assert [m.sign for m in mirrors(table(2))] == [1, 1]
    assert [m.sign for m in mirrors(table(2, sign=-1))] == [-1, 1]
    assert mirrors(table(2, mirrored=False)) == ()
    values = [Fraction(abs(i) ** 3 % 11) for i in range(-8, 9)]
    values[3] += Fraction(1, 10**30)
    assert mirrors(CPWL.from_grid([range(-8, 9)], values)) == ()
    assert symmetry(saturated()) == -1


def test_a_domain_that_is_not_mirrored_is_none():
    """|x| on [-1, 2] has the mirror x -> 1 - x of its interval only, and that changes it."""
    p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1).restrict(box=([-1], [2]))
    assert mirrors(p) == ()
    with pytest.raises(ConstructionError, match="no mirror"):
        folds(p)


@pytest.mark.parametrize("name", ["even", "odd", "diagonal", "saturated"])
def test_the_fold_maps_into_the_part(name):
    """At rational points of every piece the first layer gives a place in the part, and the part's value is p's."""
    p = CASES[name]()
    x = np.array([point for _, point in points_in_pieces(p, 3, seed=0)], dtype=object)
    for fold in folds(p):
        ones = np.full((len(x), 1), Fraction(1), dtype=object)
        h = np.maximum(np.column_stack([x, ones]).dot(fold.first.T), 0)
        y = np.column_stack([h, ones]).dot(fold.place.T)
        values = fold.function(fraction_array(y))
        assert all(v is not None for v in values.ravel())
        if fold.outer is None:
            assert (values == p(x)).all()
