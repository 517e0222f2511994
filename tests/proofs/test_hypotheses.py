"""Each checker names the hypotheses of its theorem: for each of them a proof that violates that one, and is refused."""

import copy
import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from cpwl import CPWL, compile, solve_mpqp
from cpwl.documents.write import function_document, network_document
from cpwl_check import decide as every
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from cpwl_check.pieces import read_function, read_network
from support.constructions import clamped as clamped_gates
from support.constructions import strips
from support.planar import delaunay_on_box
from support.programs import projection
from support.proof_examples import (
    absolute_value,
    documents,
    function,
    network,
    on,
)
from support.proofs import prove_clamped, prove_strips

TINY = Fraction(1, 10**30)
FOLDER = Path(every.__file__).parent
ONE = ([[1], [-1]], [1, 1])  # -1 <= x <= 1


def changed(files, *changes):
    """A copy of the documents; a change is (document, path, value), and a function of the value there is applied."""
    files = json.loads(json.dumps(files))
    for which, path, value in changes:
        *holders, key = path
        inner = files[which]
        for name in holders:
            inner = inner[name]
        inner[key] = value(inner[key]) if callable(value) else value
    return files


def more(x):
    return str(Fraction(x) + TINY)


# --- All kinds --------------------------------------------------------------------------------------------------------


def all_kinds():
    return documents(absolute_value)


COMMON = {
    1: ([(1, ("layers", 0, "bias", 0), "zero")], "not a number"),
    2: ([(1, ("inputs",), 2)], "network.inputs"),
    3: ([(0, ("pieces", 0, "b"), [0, 0]), (0, ("pieces", 0, "A"), [[1], [-1]]), (0, ("pieces", 1, "b"), [-1, 0]),
         (0, ("pieces", 1, "A"), [[-1], [1]])], "no piece has an interior"),
}  # fmt: skip


# --- expression -------------------------------------------------------------------------------------------------------


def expression(law=0):
    """|x| = max(-x, x) on [-1, 0] and [0, 1], as relu(2x) - relu(x) + relu(-x); the right law may be off by `law`."""
    p = function(1, [([[1], [-1]], [0, 1], [-1], 0), ([[-1], [1]], [0, 1], [1], str(Fraction(law)))])
    net = network([[2, 0], [1, 0], [-1, 0]], [[1, -1, 1, 0]])
    t, up, down = (str(Fraction(v)) for v in (0, law, -law))
    below = [{"members": {"0": on(t=t), "1": on({"0": 2})}}, {"members": {"0": on({"0": 2}, up), "1": on(t=up)}}]
    reach = [{"members": {"0": on()}}, {"members": {"1": on(t=down)}}]
    inside = [[on({"0": 1}, 1), on({"1": 1})], [on({"1": 1}), on({"0": 1}, 1)]]
    proof = {"format": "cpwl-proof", "version": 1, "kind": "expression", "inputs": 1, "error_bound": 0}
    proof |= {"components": [[-1, 0], [1, 0]], "values": [["max", 0, 1]], "output": [2]}
    proof |= {"box": {"low": [-1], "high": [1], "proof": inside}, "below": [below], "reach": [reach]}
    return json.loads(json.dumps([p, net, proof]))


EXPRESSION = {
    1: ([(2, ("box", "high"), ["1/2"]), (2, ("box", "proof", 0, 0, "t"), "1/2"),
         (2, ("box", "proof", 1, 0, "t"), "-1/2")], "box, piece 1, entry 0: the piece is not inside"),
    2: ([(1, ("layers", 1, "entries", 1, 2), more)], "does not compute this expression"),
    3: (lambda: expression(-TINY), "output 0, below, piece 1.*falls short"),
    4: (lambda: expression(TINY), "output 0, reach, piece 1.*falls short"),
    5: ([(2, ("error_bound",), str(-TINY))], "falls short by more than error_bound"),
}  # fmt: skip


# --- bends ------------------------------------------------------------------------------------------------------------


def bends():
    """s(x) + s(s(y) - s(x)) = max(s(x), s(y)): a gate on the plane y = x, on x, y >= 0; where y <= x, and y >= x."""
    corner = [[-1, 0], [0, -1]]
    p = function(2, [([*corner, [-1, 1]], [0, 0, 0], [1, 0], 0), ([*corner, [1, -1]], [0, 0, 0], [0, 1], 0)])
    net = network([[1, 0, 0], [0, 1, 0]], [[-1, 1, 0], [1, 0, 0]], [[1, 1, 0]])
    proof = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": 2, "error_bound": 0}
    roles = [[{"gate": 1, "within": [0, 1]}, {"carry": True, "within": [0, 1]}]]
    proof |= {"planes": [[-1, 1, 0]], "limits": [[-1, 0, 0], [0, -1, 0]], "roles": roles}
    return json.loads(json.dumps([p, net, proof]))


def bent_between_corners():
    """s(x) on [-1, 1] for the law (x + 1) / 2, which is right at both ends."""
    proof = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": 1, "error_bound": 0}
    proof |= {"planes": [], "limits": [], "roles": []}
    return [function(1, [(*ONE, ["1/2"], "1/2")]), network([[1, 0]], [[1, 0]]), proof]


BENDS = {
    1: ([(2, ("limits", 0), [-1, 0, str(-TINY)])], "limits: piece 0 is not inside"),
    2: ([(1, ("layers", 1, "entries", 1, 2), more)], "layer 1, neuron 0: this has the wrong sign"),
    3: ([(0, ("pieces", 1, "offset"), str(TINY))], "network and function differ"),
    4: (bent_between_corners, "the network bends inside, on plane 0"),
    5: ([(0, ("pieces", 0), {"A": [[0, 1], [0, -1], [1, 0], [-1, 0]], "b": [0, 0, 1, 1], "gradient": [1, 0],
          "offset": 0}), (2, ("limits",), []), (2, ("roles", 0, 0, "within"), []), (2, ("roles", 0, 1, "within"), [])],
        "it has no interior, and a plane cuts it"),
}  # fmt: skip


# --- line -------------------------------------------------------------------------------------------------------------


def line():
    """s(x) + s(y) - s(y) in the plane, along x."""
    p = function(2, [([[1, 0]], [0], [0, 0], 0), ([[-1, 0]], [0], [1, 0], 0)])
    proof = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 2, "error_bound": 0, "direction": [1, 0]}
    return json.loads(json.dumps([p, network([[1, 0, 0]], [[1, 0]]), proof]))


LINE = {
    1: ([(2, ("direction",), [0, 0])], "direction: it is 0"),
    2: ([(1, ("layers",), network([[1, 0, 0], [0, 1, 0], [0, 1, 0]], [[1, 1, -1, 0]])["layers"])], "direction alone"),
    3: ([(0, ("pieces", 1, "gradient", 0), more)], "the network is not the law"),
}


# --- clamped ----------------------------------------------------------------------------------------------------------


@cache
def clamped():
    """A small table."""
    p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 3, 1], [2, 5, 0], [1, 0, 4]])
    made = clamped_gates(p).network
    return json.loads(json.dumps([function_document(p), network_document(made), prove_clamped(p, made)]))


def on_a_segment():
    """Two bumps that share a taker meet on the segment x = 0, where neither is 0: function 2, network 1."""
    flat = ([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 1, 0], [0, 0], 2)
    first = [[1, 0, 1], [-1, 0, 1]]  # s(x + 1), s(1 - x)
    halves = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
    net = network(first, halves, [[1, -1, 1, -1, 0], [0, 1, 0, 1, 0]], [[1, 1, 0]])
    proof = {"format": "cpwl-proof", "version": 1, "kind": "clamped", "inputs": 2, "error_bound": 0}
    proof |= {"limits": [[1, 0, 0], [-1, 0, 0], [0, 1, 1], [0, -1, 0]], "points": [[0, 0], [0, 1], [-1, 0], [1, 0]]}
    bumps = [{"neuron": 0, "halves": [0, 1], "triangles": [[0, 1, 2]]}]
    bumps.append({"neuron": 0, "halves": [2, 3], "triangles": [[0, 1, 3]]})
    return json.loads(json.dumps([function(2, [flat]), net, proof | {"bumps": bumps}]))


def first_triangle(bumps):
    return [{**bumps[0], "triangles": bumps[0]["triangles"][1:]}, *bumps[1:]]


def one_taker(files):
    """All bumps in one neuron."""
    last, neurons = files[1]["layers"][-2], {bump["neuron"] for bump in files[2]["bumps"]}
    last["entries"] = [[min(neurons) if i in neurons else i, j, v] for i, j, v in last["entries"]]
    for bump in files[2]["bumps"]:
        bump["neuron"] = min(neurons)
    return files


CLAMPED = {
    1: (on_a_segment, "limits: the region that they leave has no interior"),
    2: ([(2, ("points", 4, 0), more)], "bump .*: (none of the halves|half .* is too large)"),
    3: ([(2, ("bumps",), first_triangle)], "bump 0: half .* is too large"),
    4: (lambda: one_taker(copy.deepcopy(clamped())), "two of its bumps overlap"),
    5: ([(1, ("layers", -2, "entries", 0, 2), more)], "neuron .*: it does not read its first halves|may be negative"),
    6: ([(1, ("layers", -1, "entries", 0, 2), more)], "halves of bumps are left|network and function differ"),
    7: ([(2, ("limits", 0, 2), lambda b: str(Fraction(b) - TINY))], "limits: piece . is not inside"),
    8: ([(0, ("values", 4, 0), more)], "network and function differ at"),
}


# --- strip ------------------------------------------------------------------------------------------------------------


@cache
def strip():
    p = delaunay_on_box(6, 11)
    made = strips(p, count=2).network
    return json.loads(json.dumps([function_document(p), network_document(made), prove_strips(p, made)]))


STRIP = {
    1: ([(2, ("breaks", 0), lambda x: str(Fraction(x) + Fraction(1, 1000)))], "breaks: not all pieces"),
    2: ([(2, ("right",), lambda right: [[3 - system, *kind] for system, *kind in right])], "sign"),
    3: ([(2, ("right",), lambda right: [[*kind, 0] for *kind, _ in right])], "a damper is not 0"),
    4: ([(2, ("breaks", 1), lambda x: str(Fraction(x) + Fraction(1, 10**30)))], "bends there"),
    5: ([(0, ("values", 5, 0), more)], "it does not jump as the laws do"),
    6: ([(1, ("layers", -1, "bias", 0), more)], "network and function differ on piece"),
}


# --- rounded ----------------------------------------------------------------------------------------------------------


def rounded():
    """s(x) for a network with a weight of 1 + 1/8, on [-1, 1]: off by 1/8 at most."""
    p = function(1, [([[1], [-1]], [0, 1], [0], 0), ([[-1], [1]], [0, 1], [1], 0)])
    exact, near = network([[1, 0]], [[1, 0]]), network([["9/8", 0]], [[1, 0]])
    inner = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 1, "error_bound": 0, "direction": [1]}
    inside = [[on({"0": 1}, 1), on({"1": 1})], [on({"1": 1}), on({"0": 1}, 1)]]
    proof = {"format": "cpwl-proof", "version": 1, "kind": "rounded", "inputs": 1, "error_bound": "1/7"}
    proof |= {"box": {"low": [-1], "high": [1], "proof": inside}, "network": exact, "proof": inner}
    return json.loads(json.dumps([p, near, proof]))


ROUNDED = {
    1: ([(2, ("network", "layers", 0, "bias", 0), str(TINY))], "the network is not the law"),
    2: ([(1, ("layers",), network([["9/8", 0], [0, 0]], [[1, 0, 0]])["layers"])], "its layers are not those"),
    3: ([(2, ("box", "low"), ["-1/2"]), (2, ("box", "proof", 0, 1, "t"), "-1/2"),
         (2, ("box", "proof", 1, 1, "t"), "1/2")], "box, piece 0, entry 1: the piece is not inside"),
    4: ([(1, ("layers", 0, "entries", 0, 2), "5/4")], "its weights are off by more than error_bound"),
    5: ([(2, ("error_bound",), str(Fraction(1, 8) - TINY))], "its weights are off by more than error_bound"),
}  # fmt: skip


# --- near -------------------------------------------------------------------------------------------------------------


def near():
    """s(x) on [-1, 1/10] and [1/10, 1] with a law that is too large by 1/10: it is near s(x) with its bend at 0."""
    p = function(1, [([[1], [-1]], ["1/10", 1], [0], 0), ([[-1], [1]], ["-1/10", 1], [1], "1/10")])
    meant = function(1, [([[1], [-1]], [0, 1], [0], 0), ([[-1], [1]], [0, 1], [1], 0)])
    inner = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 1, "error_bound": 0, "direction": [1]}
    pieces = [{"piece": 0, "points": [[0]]}, {"piece": 1}]  # the corner 1/10 of piece 0 is beside 0
    proof = {"format": "cpwl-proof", "version": 1, "kind": "near", "inputs": 1, "error_bound": "1/10"}
    jump = {"pieces": [0, 1], "point": ["1/10"], "output": 0}
    proof |= {"function": meant, "proof": inner, "pieces": pieces, "jump": jump}
    return json.loads(json.dumps([p, network([[1, 0]], [[1, 0]]), proof]))


NEAR = {
    1: ([(2, ("function", "pieces", 1, "offset"), str(TINY))], "the network is not the law"),
    2: ([(2, ("pieces", 0), None)], "piece 0"),
    3: ([(2, ("pieces", 0, "points"), [[str(TINY)]])], "piece 0: one of its corners is not in the other piece"),
    4: ([(2, ("pieces", 0), {"piece": 0, "points": [[0]], "box": [[0], [str(Fraction(1, 10) - TINY)]]})],
        "piece 0: a corner or its partner is outside the box"),
    5: ([(0, ("pieces", 1, "A"), [[-1]]), (0, ("pieces", 1, "b"), ["-1/10"]),
         (0, ("pieces", 1, "gradient"), [str(1 + TINY)]), (2, ("function", "pieces", 1, "A"), [[-1]]),
         (2, ("function", "pieces", 1, "b"), [0])], "piece 1: along a ray the difference grows faster"),
    6: ([(2, ("error_bound",), str(Fraction(1, 10) - TINY))], "error_bound: its a is less than 0.1"),
    7: ([(2, ("jump", "point"), [str(Fraction(1, 10) + TINY)])], "jump: the point is not in piece 0"),
}  # fmt: skip


# --- clipped ----------------------------------------------------------------------------------------------------------


def clipped():
    """s(x) of x moved into [-1, 1]: 1 - s(2 - s(x + 1)) is that; the layer behind reads 1 minus what it is given."""
    p = function(1, [([[1], [-1]], [0, 1], [0], 0), ([[-1], [1]], [0, 1], [1], 0)])
    net = network([[1, 1]], [[-1, 2]], [[-1, 1]], [[1, 0]])
    inner = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 1, "error_bound": 0, "direction": [1]}
    inside = [[on({"0": 1}, 1), on({"1": 1})], [on({"1": 1}), on({"0": 1}, 1)]]
    proof = {"format": "cpwl-proof", "version": 1, "kind": "clipped", "inputs": 1, "error_bound": 0}
    proof |= {"box": {"low": [-1], "high": [1], "proof": inside}, "proof": inner}
    return json.loads(json.dumps([p, net, proof]))


CLIPPED = {
    1: ([(1, ("layers", 1, "entries", 0, 2), str(-1 - TINY))], "layer 1, neuron 0: it must read its own neuron"),
    2: ([(1, ("layers", 2, "bias", 0), more)], "the network is not the law"),
    3: ([(2, ("box", "low"), ["-1/2"]), (2, ("box", "proof", 0, 1, "t"), "-1/2"),
         (2, ("box", "proof", 1, 1, "t"), "1/2")], "box, piece 0, entry 1: the piece is not inside"),
    4: ([(1, ("layers", 0, "bias", 0), more), (1, ("layers", 1, "bias", 0), more)], "it is less than 1e-30"),
}  # fmt: skip


# --- sums -------------------------------------------------------------------------------------------------------------


def sums():
    """s(x) + s(y) on the four quadrants, each by two layers."""
    signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    p = function(2, [([[-a, 0], [0, -b]], [0, 0], [max(a, 0), max(b, 0)], 0) for a, b in signs])
    net = network([[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]], [[1, 1, 0]])
    inner = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 1, "error_bound": 0, "direction": [1]}
    relu = function(1, [([[1]], [0], [0], 0), ([[-1]], [0], [1], 0)])
    proof = {"format": "cpwl-proof", "version": 1, "kind": "sums", "inputs": 2, "error_bound": 0, "parts": []}
    for k in range(2):
        part = {"rows": [[int(k == 0), int(k == 1)]], "columns": [k], "neurons": [[k], [k]], "bias": [0]}
        at = [int(sign[k] > 0) for sign in signs]
        proof["parts"].append(part | {"function": relu, "at": at, "proof": inner})
    return json.loads(json.dumps([p, net, proof]))


def fold():
    """min(|x|, 1): s(y) - s(y - 1) at y = |x|; a patch says so where x is at most -1."""
    near = [([[-1], [1]], [0, 1], [1], 0), ([[-1], [1]], [1, 0], [-1], 0)]
    p = function(1, [([[-1]], [-1], [0], 1), *near, ([[1]], [-1], [0], 1)])
    net = network([[1, 0], [-1, 0]], [[1, 1, 0], [1, 1, -1]], [[1, -1, 0]])
    inner = network([[1, 0], [1, -1]], [[1, -1, 0]])
    part = function(1, [([[-1], [1]], [0, 1], [1], 0), ([[-1]], [-1], [0], 1)])
    line = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 1, "error_bound": 0, "direction": [1]}
    proof = {"format": "cpwl-proof", "version": 1, "kind": "fold", "inputs": 1, "error_bound": 0}
    proof |= {"place": [[1, 1, 0]], "neurons": [[0, 1]], "reads": [[1]], "network": inner, "function": part}
    patch = {"A": [[1]], "b": [-1], "piece": 0, "at": [1]}
    return json.loads(json.dumps([p, net, proof | {"patches": [patch], "at": [[1], [0], [0], []], "proof": line}]))


FOLD = {
    1: ([(1, ("layers", 1, "bias", 1), str(-1 - TINY))], "neuron 1: it is not that of the network inside"),
    2: ([(2, ("function", "pieces", 1, "offset"), more)], "the function inside: .*the network is not the law"),
    3: ([(2, ("at", 0), [0])], "piece 0: a part is in none of the pieces that are named"),
    4: ([(0, ("pieces", 1, "gradient", 0), str(-1 - TINY))], "piece 1: the network is not the law"),
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((0, ("pieces", 3, "offset"), str(1 + TINY)), "piece 3: a part is in none"),
        ((2, ("patches", 0, "b", 0), str(-1 - TINY)), "piece 3: a part is in none"),
        ((2, ("patches", 0, "b", 0), str(-1 + TINY)), "patch 0: a part is in none"),
        ((2, ("patches", 0, "A", 0, 0), -1), "piece 3: a part is in none"),
        ((2, ("patches", 0, "A", 0, 0), str(1 - TINY)), "piece 3: a part is in none"),
        ((2, ("patches", 0, "A", 0, 0), str(1 + TINY)), "patch 0: a part is in none"),
        ((2, ("patches", 0, "piece"), 1), "patch 0: the network is not the law"),
        ((2, ("patches", 0, "piece"), 2), "patch 0: the network is not the law"),
        ((2, ("patches", 0, "piece"), 4), "patch 0.piece: this must be"),
        ((2, ("patches", 0, "piece"), True), "patch 0.piece: this must be"),
        ((2, ("patches", 0, "at"), [0]), "patch 0: a part is in none"),
        ((2, ("patches", 0, "at"), [2]), "this must be"),
        ((2, ("patches", 0, "A"), []), "patch 0: A has 0 rows and b has 1"),
        ((2, ("patches",), []), "piece 3: a part is in none"),
        ((2, ("patches",), {}), "this is not a list"),
        ((2, ("place", 0, 0), str(1 + TINY)), "it is not that of the network inside"),
        ((2, ("place", 0, 2), str(TINY)), "it is not that of the network inside"),
        ((2, ("neurons",), [[1, 0]]), "it is not that of the network inside"),
        ((2, ("neurons",), [[0, 0]]), "named twice"),
        ((2, ("neurons",), [[0]]), "must have length 2"),
        ((2, ("reads",), [[str(1 + TINY)]]), "it reads the network inside"),
        ((2, ("reads",), [[1], [1]]), "there must be a row for each neuron"),
        ((2, ("reads",), [[1, 1]]), "must have length 1"),
        ((2, ("at",), [[1], [0], [0]]), "must have length 4"),
        ((2, ("at", 1), []), "a part is in none"),
        ((2, ("at", 1), [2]), "this must be"),
        ((2, ("error_bound",), str(TINY)), "this must be 0"),
        ((1, ("layers", 0, "bias", 0), str(TINY)), "the network is not the law|in none of the pieces"),
        ((2, ("network", "layers"), lambda layers: layers[1:]), "network|layer"),
    ],
)
def test_folds_are_as_they_must_be(change, reason):
    """The place, the neurons, what reads them and the pieces, one wrong each."""
    with pytest.raises(Refused, match=reason):
        check(*changed(fold(), change))


def test_a_fold_into_a_flat_piece_is_refused():
    """Whatever the proof inside says about a piece without interior, nothing may rest on it."""
    p, net, proof = fold()
    proof["function"]["pieces"].append({"A": [[1], [-1]], "b": [1, -1], "gradient": [[1]], "offset": [0]})
    proof["at"][0] = [2, 1]
    with pytest.raises(Refused, match="piece 2: it has no interior"):
        check(p, net, proof)


SUMS = {
    1: ([(1, ("layers", 1, "entries"), [[0, 0, 1], [0, 1, str(TINY)], [1, 1, 1]])], "it reads a neuron of another"),
    2: ([(2, ("parts", 0, "function", "pieces", 1, "gradient", 0), more)], "the network is not the law"),
    3: ([(2, ("parts", 1, "at", 0), 0)], "piece 0: it does not lie in piece 0 of part 1"),
    4: ([(0, ("pieces", 3, "offset"), str(TINY))], "piece 3: the parts do not add up to the law"),
    5: ([(2, ("error_bound",), str(-TINY))], "error_bound: it is less than 0"),
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((1, ("layers", 0, "entries"), [[0, 0, 1], [0, 1, str(TINY)], [1, 1, 1]]), "inputs of part 0 alone"),
        ((1, ("layers", 2, "bias", 0), str(TINY)), "the biases of the parts do not add up"),
        ((2, ("parts", 0, "bias", 0), str(TINY)), "the biases of the parts do not add up"),
        ((2, ("parts", 0, "neurons"), [[0, 1], [0]]), "belongs to two parts"),
        ((2, ("parts",), lambda parts: parts[:1]), "belongs to none"),
        ((2, ("parts",), []), "there are none"),
        ((2, ("parts", 0, "rows"), [[2, 0]]), "not the identity"),
        ((2, ("parts", 0, "columns"), [1]), "not the identity"),
        ((2, ("parts", 0, "at"), [0, 0, 0]), "must have length 4"),
        ((2, ("parts", 0, "at", 0), 2), "this must be"),
        ((2, ("parts", 0, "proof", "kind"), "sums"), "another kind"),
        ((2, ("parts", 0, "neurons", 1), []), "belongs to none"),
    ],
)
def test_parts_of_sums_are_as_they_must_be(change, reason):
    """Neurons, inputs, biases and pieces of the parts, one wrong each."""
    with pytest.raises(Refused, match=reason):
        check(*changed(sums(), change))


def test_simplices_of_a_part_hold_the_pieces():
    """A piece that leaves a triangle of a table of a part by 1e-30 is refused, and one that touches its edge is not."""
    corners = {"points": [[0, 0], [1, 0], [0, 1]], "values": [[0], [1], [2]], "simplices": [[0, 1, 2]]}
    table = {"format": "cpwl", "version": 1, "dim": 2, "outputs": 1} | corners
    half = network([[1, 2, 0]], [[1, 0]], [[1, 0]])
    inner = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 2, "error_bound": 0, "direction": [1, 2]}
    part = {"rows": [[1, 0], [0, 1]], "columns": [0, 1], "neurons": [[0], [0]], "bias": [0], "function": table}
    proof = {"format": "cpwl-proof", "version": 1, "kind": "sums", "inputs": 2, "error_bound": 0}
    proof["parts"] = [part | {"at": [0], "proof": inner}]

    def piece(total):
        return function(2, [([[-1, 0], [0, -1], [1, 1]], [0, 0, str(total)], [1, 2], 0)])

    assert check(piece(Fraction(1)), half, proof) == 0
    with pytest.raises(Refused, match="it does not lie in piece 0"):
        check(piece(1 + TINY), half, proof)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((1, ("layers", 0, "entries", 0, 2), more), "layer 0, neuron 0: it must read its own input"),
        ((1, ("layers", 1, "bias", 0), str(-TINY)), "its bias must not be negative"),
        ((1, ("layers",), lambda layers: layers[:1] + layers[3:]), "no layers behind"),
        ((2, ("proof",), lambda inner: {**clipped()[2], "proof": inner}), "another kind"),
        ((2, ("error_bound",), str(-TINY)), "error_bound: it is less than 0"),
    ],
)
def test_clipping_layers_are_as_they_must_be(change, reason):
    """Each part of the first hypothesis, a proof inside itself, and a bound below 0."""
    with pytest.raises(Refused, match=reason):
        check(*changed(clipped(), change))


def test_the_bound_of_clipping_counts_the_ends():
    """A box that is off by d costs d times the slope: that much and no less must be stated."""
    files = changed(clipped(), (1, ("layers", 0, "bias", 0), "9/8"), (1, ("layers", 1, "bias", 0), "17/8"))
    files[2]["error_bound"] = "1/8"
    assert check(*files) == Fraction(1, 8)
    files[2]["error_bound"] = str(Fraction(1, 8) - TINY)
    with pytest.raises(Refused, match=r"it is less than 0\.125"):
        check(*files)


# --- optimal ----------------------------------------------------------------------------------------------------------


@cache
def clipping():
    law = solve_mpqp(projection([[1], [-1]], [1, 1]))
    made = compile(law, certify=True)
    return json.dumps([function_document(law), network_document(made.network), made.certificate.document])


def optimal():
    """The nearest point of [-1, 1]: region 0 is [-1, 1], region 1 is [1, 4] and region 2 is [-4, -1]."""
    return json.loads(clipping())


OPTIMAL = {
    1: ([(2, ("program", "Q"), [[str(-TINY)]])], "program.Q: it is not positive semidefinite"),
    2: ([(2, ("program", "b", 0), str(1 - TINY))], "region 0: row 0 of A does not hold everywhere"),
    3: ([(2, ("program", "c", 0), str(TINY))], "region 0: .* is not 0 in entry 0"),
    4: ([(2, ("program", "b_t", 0), str(4 + TINY))], "region 1, row 1: it is not edge 0"),
    5: ([(0, ("pieces", 1, "offset"), lambda _: [str(1 + TINY)])], "region 1: piece 1 does not have its law"),
    6: ([(1, ("layers", -1, "bias", 0), more)], "the network is not the law"),
}


# --- regions ----------------------------------------------------------------------------------------------------------


def regions():
    """|x| in the plane: 0 where -1 <= x <= 1, which is off by 1, and x - 1/2 where x >= 1; y does not matter."""
    p = function(2, [([[1, 0], [-1, 0]], [1, 1], [0, 0], 0), ([[-1, 0]], [-1], [1, 0], "-1/2")])
    proof = {"format": "cpwl-proof", "version": 1, "kind": "regions", "inputs": 2, "error_bound": 1}
    proof |= {"places": [[-1, 0, 1], [0, 0, 1], [1, 0, 1], [1, 0, 0]], "pieces": [[[0, 1], [1, 2]], [[2, 3]]]}
    return json.loads(json.dumps([p, network([[1, 0, 0], [-1, 0, 0]], [[1, 1, 0]]), proof]))


REGIONS = {
    1: ([(2, ("places", 0), [-2, 0, 2])], r"places\[0\]: they have a common divisor"),
    2: ([(0, ("pieces", 0, "gradient"), [0, str(TINY)])], r"piece 0: they differ without bound: .*\['0', '1'\]"),
    3: ([(0, ("pieces", 0, "b", 0), str(1 - TINY))], "piece 0: place 2 is outside"),
    4: ([(2, ("pieces", 1), [])], "piece 1: it has points, and no cell is listed"),
    5: ([(2, ("pieces", 0), [[0, 2]])], "piece 0: a neuron has both signs"),
    6: ([(2, ("pieces", 0), [[0, 1], [1]])], "piece 0: faces do not close up"),
    7: ([(2, ("pieces", 0), [[0, 1]])], r"piece 0: no other cell has the facet \(1,\)"),
    8: ([(0, ("pieces", 1, "gradient"), [str(1 + TINY), 0])], r"piece 1: they differ without bound: .*\['1', '0'\]"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([(2, ("places", 0), [-1, 0, -1])], "not integers with w >= 0"),
        ([(2, ("places", 0), ["-1", 0, 1])], "not integers with w >= 0"),
        ([(2, ("places", 0), [0, 0, 1])], "places: an entry is repeated"),
        ([(2, ("places", 0), [-1, 1, 1])], r"piece 0: place 0 is not 0 in coordinates \[1\]"),
        ([(2, ("pieces", 0), [[0, 1], [1, 2], [1, 2]])], "more than two cells have the facet|on the same side"),
        ([(2, ("pieces", 0), [[1, 2], [2, 1]])], r"two cells are on the same side of the facet \(1,\)"),
        ([(2, ("pieces", 1), [[2]])], "its first cell has 0 dimensions, and the piece has 1"),
        ([(2, ("pieces", 1), [[2, 2]])], "not a list of different numbers"),
        ([(2, ("pieces", 1), [[]])], "not a list of different numbers"),
        ([(2, ("pieces", 1), [[2, 4]])], "not a list of different numbers from 0 to 3"),
        ([(2, ("error_bound",), more)], "it is not the supremum"),
        ([(2, ("error_bound",), str(1 - TINY))], "it is not the supremum"),
    ],
)
def test_lists_of_regions_are_as_they_must_be(changes, reason):
    """Each part of the hypotheses, and a bound that is larger or smaller than the supremum."""
    with pytest.raises(Refused, match=reason):
        check(*changed(regions(), *changes))


KINDS = {
    "optimal": (optimal, OPTIMAL),
    "clipped": (clipped, CLIPPED),
    "sums": (sums, SUMS),
    "fold": (fold, FOLD),
    "decide": (all_kinds, COMMON),
    "expression": (expression, EXPRESSION),
    "bends": (bends, BENDS),
    "line": (line, LINE),
    "clamped": (clamped, CLAMPED),
    "strip": (strip, STRIP),
    "rounded": (rounded, ROUNDED),
    "near": (near, NEAR),
    "regions": (regions, REGIONS),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_hypothesis_names_a_function_and_has_a_test(name):
    """The numbers in the header are those tested here, and what stands in backquotes is defined."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    header = text.split('"""')[1]
    listed = re.findall(r"^\((\d+)\)(.*?)(?=^\(|^then|\Z)", header, flags=re.M | re.S)
    assert [int(number) for number, _ in listed] == sorted(KINDS[name][1])
    for number, said in listed:
        names = re.findall(r"`(?:([a-z]\w+)\.)?(?:[A-Z]\w+\.)?(\w+)`", said)
        assert names, number
        for file, function_name in names:
            sources = [text, *((FOLDER / f"{other}.py").read_text(encoding="utf-8") for other in (file or "pieces",))]
            assert re.search(rf"(def|class) {function_name}\b", "".join(sources)), function_name


@pytest.mark.parametrize("name", KINDS)
def test_the_proofs_that_are_changed_here_are_right(name):
    """Without the change each is accepted."""
    check(*KINDS[name][0]())


@pytest.mark.parametrize(("name", "number"), [(name, k) for name, (_, cases) in KINDS.items() for k in cases])
def test_a_proof_that_violates_one_hypothesis_is_refused(name, number):
    """Down to 1e-30 where the hypothesis is about numbers."""
    base, cases = KINDS[name]
    violation, reason = cases[number]
    files = violation() if callable(violation) else changed(base(), *violation)
    # A flat region has flat pieces only, which are refused before: the checker of the kind must see it as well.
    run = decide if (name, number) == ("clamped", 1) else check
    with pytest.raises(Refused, match=reason):
        run(*files)


def decide(law, weights, proof):
    """What `check` does when it has read the files."""
    read = read_function(law)
    return every.decide(read, read_network(weights, read.n, read.outputs), proof)


def test_a_flat_region_of_clamped_gates_is_refused():
    """The network is 1 and the function 2 on a segment where two bumps of one taker meet."""
    with pytest.raises(Refused, match="no piece has an interior"):
        check(*on_a_segment())
