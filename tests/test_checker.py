"""The stand-alone checker: hand-made proofs are accepted, and every change of a proof, a network or a function is
refused, unless a slow second reading of docs/proof.md (`reference`) and a look at all linear pieces of the network
(`largest_difference`) both say that the changed statement is true."""

import ast
import copy
import itertools
import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from cpwl.certify import checker
from cpwl.certify.checker import Refused, check

# --- Hand-made examples -----------------------------------------------------------------------------------------------


def function(dim, pieces, outputs=1):
    """Pieces are (A, b, gradient, offset)."""
    listed = [dict(zip(("A", "b", "gradient", "offset"), piece, strict=True)) for piece in pieces]
    return {"format": "cpwl", "version": 1, "dim": dim, "outputs": outputs, "pieces": listed}


def table(points, simplices, values):
    head = {"format": "cpwl", "version": 1, "dim": len(points[0]), "outputs": 1}
    return {**head, "points": points, "simplices": simplices, "values": values}


def network(*layers):
    """Layers are rows of weights with the bias last."""
    documents = [
        {
            "rows": len(rows),
            "columns": len(rows[0]) - 1,
            "bias": [row[-1] for row in rows],
            "entries": [[i, j, w] for i, row in enumerate(rows) for j, w in enumerate(row[:-1]) if w],
        }
        for rows in layers
    ]
    head = {"format": "cpwl-network", "version": 1, "inputs": documents[0]["columns"]}
    return {**head, "outputs": documents[-1]["rows"], "layers": documents}


def proof(components, outputs, wiring, output, error_bound=0, box=None):
    """Outputs are (rows, below, reach)."""
    return {
        "format": "cpwl-proof",
        "version": 1,
        "kind": "max-min",
        "inputs": len(components[0]) - 1,
        "components": components,
        "outputs": [dict(zip(("rows", "below", "reach"), output, strict=True)) for output in outputs],
        "wiring": wiring,
        "output": output,
        "error_bound": error_bound,
        "box": box,
    }


def on(lam=None, t=0, mu=None):
    """An entry for a piece with rows; `mu` is one member or an object."""
    entry = {"lambda": lam or {}, "t": t}
    return entry if mu is None else {**entry, "mu": mu if isinstance(mu, dict) else {str(mu): 1}}


def at(mu=None, lam=None):
    """An entry for a simplex."""
    return {"lambda": lam or {}} if mu is None else {"lambda": lam or {}, "mu": {str(mu): 1}}


def leaf(row, *members):
    return {"row": row, "members": list(members)}


LEFT, RIGHT = ([[1]], [0]), ([[-1]], [0])  # x <= 0 and x >= 0
ABS_NET = network([[2, 0], [-1, 0], [1, 0]], [[1, 1, -1, 0]])
ABS_WIRING = [[{"max": [1, 2], "neurons": [0, 1, 2]}]]
ABS_BELOW = [[on(mu=0), on({"0": 2}, mu=0)], [on({"0": 2}, mu=1), on(mu=1)]]
ABS_REACH = [leaf(0, on()), leaf(1, on())]


def absolute_value():
    """|x| = max(-x, x)."""
    p = function(1, [(*LEFT, [-1], 0), (*RIGHT, [1], 0)])
    return p, ABS_NET, proof([[-1, 0], [1, 0]], [([[0], [1]], ABS_BELOW, ABS_REACH)], ABS_WIRING, [1])


def absolute_value_on_segments():
    """|x| on [-1, 1], by points and values; the last segment has no interior."""
    p = table([[-1], [0], [1]], [[0, 1], [1, 2], [2, 2]], [1, 0, 1])
    claim = ([[0], [1]], [[at(0), at(0)], [at(1), at(1)]], [leaf(0, at()), leaf(1, at())])
    return p, ABS_NET, proof([[-1, 0], [1, 0]], [claim], ABS_WIRING, [1])


def two_outputs():
    """|x| and min(x, 1) = -max(-x, -1); the groups share two neurons."""
    pieces = [
        (*LEFT, [[-1], [1]], [0, 0]),
        ([[-1], [1]], [0, 1], [[1], [1]], [0, 0]),
        ([[-2]], [-2], [["1/1"], [0]], [0, 1.0]),
    ]
    net = network([[2, 0], [-1, 0], [1, 0], [1, -1]], [[1, 1, -1, 0, 0], [0, -1, 1, -1, 0]])
    wiring = [[{"max": [1, 2], "neurons": [0, 1, 2]}, {"max": [-2, -3], "neurons": [3, 1, 2]}]]
    below = [
        [on(mu=0), on({"0": 2}, mu=0), on({"0": 2}, 2, 0)],
        [on({"0": 2}, mu=1), on(mu=1), on(mu=1)],
    ]
    first = ([[0], [1]], below, [leaf(0, on()), leaf(1, on()), leaf(1, on())])
    ends = [leaf(0, on(), on({"0": 1}, 1)), leaf(0, on(), on({"1": 1})), leaf(0, on({"0": 1}), on())]
    second = ([[1, 2]], [[on(mu=1), on(mu=1), on(mu=2)]], ends)
    return function(1, pieces, 2), net, proof([[-1, 0], [1, 0], [0, 1]], [first, second], wiring, [1, -2])


def five_pieces():
    """THEORY 1.1: 0 for y <= 0, else min(y, 1 - 3y + |x|) = min(max(0, y), max(f_2, f_3)); y <= 0 is cut at x = 0."""
    pieces = [
        ([[0, 1]], [0], [0, 0], 0),
        ([[-1, 0], [0, -1], [-1, 4]], [0, 0, 1], [0, 1], 0),
        ([[1, 0], [0, -1], [1, 4]], [0, 0, 1], [0, 1], 0),
        ([[-1, 0], [1, -4]], [0, -1], [1, -3], 1),
        ([[1, 0], [-1, -4]], [0, -1], [-1, -3], 1),
    ]
    first = [[0, -1, 0], [0, 1, 0], [0, -1, 0], [-2, 0, 0], [1, -3, 1], [-1, 3, -1]]
    second = [[1, 1, -1, -1, -1, 1, 0], [-1, -1, 1, 0, 0, 0, 0], [1, 1, -1, 0, 0, 0, 0]]
    wiring = [
        [{"max": [2, 1], "neurons": [0, 1, 2]}, {"max": [3, 4], "neurons": [3, 4, 5]}],
        [{"max": [-1, -2], "neurons": [0, 1, 2]}],
    ]
    below = [
        [on(mu=0), on({"1": 1}, mu=0), on({"1": 1}, mu=0), on(mu=2), on({"0": 2}, mu=2)],
        [on(mu=0), on({"1": 1}, mu=0), on({"1": 1}, mu=0), on({"0": 2}, mu=3), on(mu=3)],
        [on({"0": 1}, mu=1), on(mu=1), on(mu=1), on(mu=2), on({"0": 2}, mu=2)],
        [on({"0": 1}, mu=1), on(mu=1), on(mu=1), on({"0": 2}, mu=3), on(mu=3)],
    ]
    cut = {
        "cut": [1, 0, 0],
        "below": leaf(1, on(), on({"0": 3, "1": 1}, 1)),
        "above": leaf(0, on(), on({"0": 3, "1": 1}, 1)),
    }
    reach = [
        cut,
        leaf(2, on(), on({"2": 1})),
        leaf(3, on(), on({"2": 1})),
        leaf(2, on({"1": 1}), on()),
        leaf(3, on({"1": 1}), on()),
    ]
    components = [[0, 0, 0], [0, 1, 0], [1, -3, 1], [-1, -3, 1]]
    claim = ([[0, 2], [0, 3], [1, 2], [1, 3]], below, reach)
    net = network(first, second, [[-1, -1, 1, 0]])
    return function(2, pieces), net, proof(components, [claim], wiring, [-1])


def a_neuron_twice():
    """The same with one neuron for -y, which comes twice in its group: s_0 + s_1 - s_0 = s_1."""
    p, _, whole = five_pieces()
    first = [[0, -1, 0], [0, 1, 0], [-2, 0, 0], [1, -3, 1], [-1, 3, -1]]
    second = [[0, 1, -1, -1, 1, 0], [0, -1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]
    whole["wiring"][0] = [{"max": [2, 1], "neurons": [0, 1, 0]}, {"max": [3, 4], "neurons": [2, 3, 4]}]
    return p, network(first, second, [[-1, -1, 1, 0]]), whole


def mean_of_members():
    """0 = max(min(x, -x), 0): the first row is below by a mean of its members; 0 is carried. The piece is R."""
    second = [[1, 1, -1, 1, -1, 0], [-1, -1, 1, 0, 0, 0], [1, 1, -1, 0, 0, 0]]
    net = network([[2, 0], [-1, 0], [1, 0], [0, 0], [0, 0]], second, [[1, 1, -1, 0]])
    wiring = [
        [{"max": [-1, -2], "neurons": [0, 1, 2]}, {"carry": [3], "neurons": [3, 4]}],
        [{"max": [-1, 2], "neurons": [0, 1, 2]}],
    ]
    claim = ([[0, 1], [2]], [[on(mu={"0": "1/2", "1": 0.5})], [on(mu=2)]], [leaf(1, on())])
    return function(1, [([], [], [[0]], [0])]), net, proof([[1, 0], [-1, 0], [0, 0]], [claim], wiring, [1])


def affine():
    """2 x - 3 y + 1/3 on two half-planes: no hidden layer."""
    p = function(2, [([[1, 0]], [0], [2, -3], "1/3"), ([[-1, 0], [0, 0]], [0, 1], [2, -3], "1/3")])
    claim = ([[0]], [[on(mu=0), on(mu=0)]], [leaf(0, on()), leaf(0, on())])
    return p, network([[2, -3, "1/3"]]), proof([[2, -3, "1/3"]], [claim], [], [1])


def cut_segment():
    """0 = max(min(0, x), min(0, -x)) on [-1, 1], one simplex: cut at 0, and once more where nothing is left."""
    p = table([["-1/1"], [1]], [[0, 1]], [[0], ["0.0"]])
    net = network([[-1, 0], [0, 0], [1, 0]], [[1, 0, -1, 0], [-1, 0, 0, 0], [1, 0, 0, 0]], [[1, 1, -1, 0]])
    wiring = [
        [{"max": [-1, -2], "neurons": [0, 1, 1]}, {"max": [-1, -3], "neurons": [2, 1, 1]}],
        [{"max": [-1, -2], "neurons": [0, 1, 2]}],
    ]
    nothing = leaf(0, *[{"empty": {"2": 2, "3": 1}}] * 2)
    right = {"cut": [1, "-1/2"], "below": nothing, "above": leaf(0, at(), at(lam={"2": 1}))}
    reach = [{"cut": [1, 0], "below": leaf(1, at(), at(lam={"2": 1})), "above": right}]
    claim = ([[0, 1], [0, 2]], [[at(0)], [at(0)]], reach)
    return p, net, proof([[0, 0], [1, 0], [-1, 0]], [claim], wiring, [1])


def empty_piece():
    """|x|, with a third piece x <= -1, x >= 1 on which anything is true."""
    p, net, whole = absolute_value()
    empty = {"empty": {"0": 1, "1": 1}}
    p["pieces"].append({"A": [[1], [-1]], "b": [-1, -1], "gradient": [[5]], "offset": [7]})
    claim = whole["outputs"][0]
    claim["below"] = [[*entries, empty] for entries in claim["below"]]
    claim["reach"] = [*claim["reach"], leaf(0, empty)]
    return p, net, whole


def inexact_law():
    """|x| for a law that is x + 1/100 on the right: the bound says so."""
    p, net, whole = absolute_value()
    p["pieces"][1]["offset"] = "0.01"
    whole["outputs"][0]["below"] = [[on(mu=0), on({"0": 2}, "1/100", 0)], [on({"0": 2}, mu=1), on(t="1/100", mu=1)]]
    whole["outputs"][0]["reach"] = [leaf(0, on()), leaf(1, on(t="-1/100"))]
    whole["error_bound"] = "1/100"
    return p, net, whole


THIRD, SEVENTH = Fraction(1, 3), Fraction(1, 7)
OFF_SLOPE = abs(Fraction(2 / 3) - 2 * THIRD) + 2 * abs(Fraction(1 / 3) - THIRD)
OFF_CONSTANT = 2 * abs(Fraction(1 / 7) - SEVENTH)


def rounded():
    """|x|/3 + 1/7 with weights in float64, on R: the bound grows with |x|."""
    p = function(1, [(*LEFT, ["-1/3"], "1/7"), (*RIGHT, ["1/3"], "1/7")])
    net = network([[2 / 3, 0], [-1 / 3, 1 / 7], [1 / 3, -1 / 7]], [[1, 1, -1, 0]])
    below = [[on(mu=0), on({"0": "2/3"}, mu=0)], [on({"0": "2/3"}, mu=1), on(mu=1)]]
    whole = proof([["-1/3", "1/7"], ["1/3", "1/7"]], [([[0], [1]], below, ABS_REACH)], ABS_WIRING, [1])
    whole["error_bound"] = [str(OFF_CONSTANT), str(OFF_SLOPE)]
    return p, net, whole


def rounded_in_a_box():
    """The same on [-1, 1]; x = -1 or x = 1 is the worst for each neuron."""
    p, net, whole = rounded()
    for piece in p["pieces"]:
        piece["A"], piece["b"] = [*piece["A"], [-piece["A"][0][0]]], [0, 1]
    inside = [[on({"0": 1}, 1), on({"1": 1})], [on({"1": 1}), on({"0": 1}, 1)]]
    whole["box"] = {"low": [-1], "high": [1], "proof": inside}
    whole["error_bound"] = str(OFF_CONSTANT + OFF_SLOPE)
    return p, net, whole


def rounded_on_triangles():
    """|x - y|/3 on the two triangles of a square, in float64; the box is seen from the corners."""
    p = table([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [2, 0, 3]], [0, "1/3", 0, "1/3"])
    net = network([[-2 / 3, 2 / 3, 0], [1 / 3, -1 / 3, 0], [-1 / 3, 1 / 3, 0]], [[1, 1, -1, 0]])
    claim = ([[0], [1]], [[at(0), at(0)], [at(1), at(1)]], [leaf(0, at()), leaf(1, at())])
    whole = proof([["1/3", "-1/3", 0], ["-1/3", "1/3", 0]], [claim], ABS_WIRING, [1])
    whole["box"] = {"low": [0, 0], "high": [1, 1], "proof": None}
    whole["error_bound"] = str(OFF_SLOPE)
    return p, net, whole


def rounded_affine():
    """x/3 + 1/7 on R in float64: no hidden layer."""
    claim = ([[0]], [[on(mu=0)]], [leaf(0, on())])
    whole = proof([["1/3", "1/7"]], [claim], [], [1], [str(OFF_CONSTANT / 2), str(abs(Fraction(1 / 3) - THIRD))])
    return function(1, [([], [], ["1/3"], "1/7")]), network([[1 / 3, 1 / 7]]), whole


EXACT = [
    absolute_value,
    absolute_value_on_segments,
    two_outputs,
    five_pieces,
    a_neuron_twice,
    mean_of_members,
    affine,
    cut_segment,
    empty_piece,
]
BOUNDED = [inexact_law, rounded, rounded_in_a_box, rounded_on_triangles, rounded_affine]


def documents(example):
    """Function, network and proof as they come from files, no two of their parts shared."""
    return json.loads(json.dumps(example()))


# --- Oracles ----------------------------------------------------------------------------------------------------------


def dot(form, x):
    """An affine function, coefficients with the constant last, at a point."""
    return sum((g * v for g, v in zip(form, x, strict=False)), form[-1])


def weights(layer):
    """Rows of weights with the bias last."""
    rows = [[Fraction(0)] * layer["columns"] + [Fraction(b)] for b in layer["bias"]]
    for i, j, w in layer["entries"]:
        rows[i][j] = Fraction(w)
    return rows


def through(points, heights):
    """The affine function with these values, by elimination; None if the points are dependent."""
    rows = [[*x, Fraction(1), z] for x, z in zip(points, heights, strict=True)]
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        rows = [
            row if i == k else [v - row[k] * w for v, w in zip(row, rows[k], strict=True)] for i, row in enumerate(rows)
        ]
    return [row[-1] for row in rows]


def pieces_of(p):
    """For each piece its rows (a, b) or None, its corners or None, and its laws."""
    n, many = p["dim"], p["outputs"]
    as_list = lambda v: v if isinstance(v, list) else [v]  # noqa: E731
    if "pieces" not in p:
        points = [[Fraction(v) for v in x] for x in p["points"]]
        values = [[Fraction(v) for v in as_list(z)] for z in p["values"]]
        for simplex in p["simplices"]:
            corners = [points[v] for v in simplex]
            laws = [through(corners, [values[v][o] for v in simplex]) for o in range(many)]
            if laws[0] is not None:
                yield None, corners, laws
        return
    for piece in p["pieces"]:
        gradient = piece["gradient"] if isinstance(piece["gradient"][0], list) else [piece["gradient"]]
        pairs = zip(gradient, as_list(piece["offset"]), strict=True)
        laws = [[Fraction(v) for v in [*g, c]] for g, c in pairs]
        rows = [[Fraction(v) for v in [*a, c]] for a, c in zip(piece["A"], piece["b"], strict=True)]
        yield [primitive(row) for row in rows if any(row[:n]) or row[n] < 0], None, laws


def primitive(row):
    """b - a . x of the row (a, b), as the smallest integers."""
    scale = math.lcm(*(v.denominator for v in row))
    divisor = math.gcd(*(int(v * scale) for v in row)) or 1
    return [(-v if i < len(row) - 1 else v) * scale / divisor for i, v in enumerate(row)]


def clip(polygon, form):
    """The part of a convex polygon (or segment) where the affine function is at least 0."""
    kept = []
    for x, y in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        u, v = dot(form, x), dot(form, y)
        kept += [x] if u >= 0 else []
        kept += [[a + (b - a) * u / (u - v) for a, b in zip(x, y, strict=True)]] if u * v < 0 else []
    return kept


def largest_difference(p, net):
    """The points where |network - function| can be largest on |x_i| <= 64, as (size, point): all corners of all linear
    pieces of both, for one or two inputs."""
    n = p["dim"]
    square = [
        [Fraction(v) for v in x] for x in ([[-64], [64]] if n == 1 else [[-64, -64], [64, -64], [64, 64], [-64, 64]])
    ]
    for rows, corners, laws in pieces_of(p):
        polygon = square if corners is None else corners
        for row in rows or []:
            polygon = clip(polygon, row)
        inputs = [[Fraction(i == j) for j in range(n + 1)] for i in range(n)]
        cells = [(polygon, inputs)]
        for depth, layer in enumerate(net["layers"]):
            matrix = weights(layer)
            new = []
            for cell, forms in cells:
                total = [
                    [
                        sum((w * f[k] for w, f in zip(row, forms, strict=False)), (k == n) * row[-1])
                        for k in range(n + 1)
                    ]
                    for row in matrix
                ]
                parts = [(cell, [])]
                for form in total:
                    if depth == len(net["layers"]) - 1:
                        parts = [(part, [*done, form]) for part, done in parts]
                        continue
                    above = [(clip(part, form), [*done, form]) for part, done in parts]
                    below = [(clip(part, [-v for v in form]), [*done, [Fraction(0)] * (n + 1)]) for part, done in parts]
                    parts = [part for part in above + below if part[0]]
                new += parts
            cells = new
        for cell, forms in cells:
            for x in cell:
                yield from ((abs(dot(f, x) - dot(law, x)), x) for f, law in zip(forms, laws, strict=True))


def claim_is_true(p, net, whole):
    """Whether |network - function| is within the stated bound, looked at on all linear pieces of both."""
    stated = whole["error_bound"]
    a, b = (Fraction(v) for v in (stated if isinstance(stated, list) else [stated, 0]))
    return all(size <= a + b * max(map(abs, x)) for size, x in largest_difference(p, net))


def reference(p, net, whole):
    """docs/proof.md read a second time, slowly: identities at n + 1 points, wiring on random numbers, max-min forms on
    all 0-1 inputs, rounding at the corners of the box."""
    n, components = p["dim"], [[Fraction(v) for v in f] for f in whole["components"]]
    frame = [[Fraction(i == j) for j in range(n)] for i in range(n + 1)]
    pieces = list(pieces_of(p))
    assert n == net["inputs"] == whole["inputs"]
    assert p["outputs"] == net["outputs"] == len(whole["outputs"]) == len(whole["output"])
    gaps = [Fraction(0)]

    def entry(part, h, rows, corners):
        named = dict(enumerate(rows)) if corners is None else {n + 1 + i: row for i, row in enumerate(rows)}
        given = {int(r): Fraction(v) for r, v in part.get("empty", part.get("lambda")).items()}
        assert all(v >= 0 for v in given.values())
        off = [sum((v * dot(named[r], x) for r, v in given.items()), Fraction(0)) for x in corners or frame]
        if "empty" in part:
            assert max(off) < 0
            assert corners or len(set(off)) == 1
            return Fraction(0)
        left = [h(x) - v for x, v in zip(corners or frame, off, strict=True)]
        assert corners or set(left) == {Fraction(part["t"])}
        return max(-min(left), Fraction(0))

    def node(tree, law, members_of, rows, corners):
        if "cut" in tree:
            cut = [Fraction(v) for v in tree["cut"]]
            node(tree["below"], law, members_of, [*rows, primitive(cut)], corners)
            node(tree["above"], law, members_of, [*rows, primitive([-v for v in cut])], corners)
            return
        members = members_of[tree["row"]]
        for m, part in zip(members, tree["members"], strict=True):
            gaps.append(entry(part, lambda x, m=m: dot(components[m], x) - dot(law, x), rows, corners))

    for o, claim in enumerate(whole["outputs"]):
        assert all(claim["rows"])
        for row, entries in zip(claim["rows"], claim["below"], strict=True):
            for part, (rows, corners, laws) in zip(entries, pieces, strict=True):
                mu = {int(m): Fraction(v) for m, v in part.get("mu", {}).items()}
                assert "empty" in part or (sum(mu.values()) == 1 and min(mu.values()) >= 0 and set(mu) <= set(row))
                h = lambda x, mu=mu, law=laws[o]: dot(law, x) - sum(v * dot(components[m], x) for m, v in mu.items())  # noqa: E731
                gaps.append(entry(part, h, rows or [], corners))
        for tree, (rows, corners, laws) in zip(claim["reach"], pieces, strict=True):
            node(tree, laws[o], claim["rows"], rows or [], corners)
    for bits in itertools.product((0, 1), repeat=len(components)):
        outputs = computed(whole, bits)
        for value, claim in zip(outputs, whole["outputs"], strict=True):
            assert value == max(min(bits[m] for m in row) for row in claim["rows"])
    a, b = deviations(net, whole, components, n)
    stated = whole["error_bound"]
    limits = [Fraction(v) for v in (stated if isinstance(stated, list) else [stated, 0])]
    assert max(gaps) + a <= limits[0]
    assert b <= limits[1]
    if whole["box"] is not None:
        low, high = ([Fraction(v) for v in whole["box"][side]] for side in ("low", "high"))
        for i, (rows, corners, _) in enumerate(pieces):
            for k in range(n):
                sides = [lambda x, k=k: high[k] - x[k], lambda x, k=k: x[k] - low[k]]
                for side, h in enumerate(sides):
                    part = {"lambda": {}} if corners else whole["box"]["proof"][i][k + side * n]
                    assert entry(part, h, rows or [], corners) == 0


def computed(whole, level):
    """What the outputs are if the components have these values, by the maxima that the wiring names."""
    pick = lambda values, r: values[abs(r) - 1] * (1 if r > 0 else -1)  # noqa: E731
    for groups in whole["wiring"]:
        level = [max(pick(level, r) for r in group.get("max", group.get("carry"))) for group in groups]
    return [pick(level, r) for r in whole["output"]]


def deviations(net, whole, components, n):
    """E as (a, b): later layers must fit on random numbers; the first is compared at corners of the box, or at 0 and
    along the axes."""
    rng = random.Random(0)
    pick = lambda values, r: values[abs(r) - 1] * (1 if r > 0 else -1)  # noqa: E731
    outputs = [{"carry": [r], "neurons": [o]} for o, r in enumerate(whole["output"])]
    stages = [*whole["wiring"], outputs]
    offs = {}
    for depth, (layer, groups) in enumerate(zip(net["layers"], stages, strict=True)):
        matrix = weights(layer)
        box = whole["box"]
        corners = (
            []
            if box is None
            else list(
                itertools.product(*([Fraction(v) for v in ends] for ends in zip(box["low"], box["high"], strict=True)))
            )
        )
        axes = [[Fraction(i == j) for j in range(n)] for i in range(n)]
        samples = (
            [[0] * n, *axes, *corners]
            if depth == 0
            else [[rng.randrange(10**6) for _ in range(layer["columns"])] for _ in range(2)]
        )
        for x in samples:
            if depth == 0:
                values = [dot(f, x) for f in components]
            else:
                before = stages[depth - 1]
                signs = (1, 1, -1)
                values = [
                    sum(s * x[i] for s, i in zip(signs[-len(g["neurons"]) :], g["neurons"], strict=True))
                    for g in before
                ]
            for g, group in enumerate(groups):
                u, *v = [pick(values, r) for r in group.get("max", group.get("carry"))]
                said = [*(w - u for w in v), u, -u]
                off = [dot(matrix[i], x) - s for i, s in zip(group["neurons"], said, strict=False)]
                assert depth == 0 or not any(off)
                if depth == 0:
                    offs.setdefault(g, []).append(off)
    totals = []
    for rows in offs.values():
        at_0, along, at_corners = rows[0], rows[1 : n + 1], rows[n + 1 :]
        if at_corners:
            totals.append((sum(max(abs(off[i]) for off in at_corners) for i in range(len(at_0))), 0))
        else:
            totals.append((sum(map(abs, at_0)), sum(abs(off[i] - at_0[i]) for off in along for i in range(len(at_0)))))
    return max(a for a, _ in totals), max(b for _, b in totals)


# --- Changes ----------------------------------------------------------------------------------------------------------

JUNK = [None, True, -1, 10**9, "x", "1/0", "1e9", " 1", float("nan"), float("inf"), [], {}, [[]], {"0": 1}]


def is_number(value):
    try:
        return not isinstance(value, bool) and math.isfinite(Fraction(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return False


def other_numbers(value):
    """Larger, smaller, a little larger, and with the other sign."""
    x = Fraction(value)
    changed = [x + 1, x - 1, x + (x or 1) * Fraction(1, 10**30), -x]
    return [int(y) if y.denominator == 1 else str(y) for y in changed if y != x]


def other_values(value):
    """Everything that a value could have been by mistake: one change each."""
    if is_number(value):
        yield from other_numbers(value)
    if isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
            yield value[:i] + value[i : i + 1] + value[i:]
            yield value[:i] + value[i : i + 2][::-1] + value[i + 2 :]
    if isinstance(value, dict):
        for name in value:
            rest = {k: v for k, v in value.items() if k != name}
            yield rest
            if name.isdigit():
                yield from ({**rest, key: value[name]} for key in (str(int(name) + 1), str(int(name) - 1), f"0{name}"))
        yield {**value, "extra": 0}
        yield {**value, "0": 1}
    yield from JUNK


def places(node):
    """Every place in a document, as a container and a key."""
    for key in node.keys() if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def changes(document, values=other_values):
    """Make each change in place, one after the other, and undo it."""
    for container, key in list(places(document)):
        value = container[key]
        for other in values(value):
            container[key] = other
            yield value, other
        container[key] = value


def accepted(files):
    try:
        check(*files)
    except Refused:
        return False
    return True


# --- Tests ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXACT + BOUNDED)
def test_hand_made_proofs_are_accepted(example):
    """Each of them states what it proves, and both oracles agree."""
    p, net, whole = documents(example)
    stated = whole["error_bound"]
    proven = check(p, net, whole)
    assert proven == (tuple(map(Fraction, stated)) if isinstance(stated, list) else Fraction(stated))
    assert (proven == 0) == (example in EXACT)
    assert claim_is_true(p, net, whole)
    reference(p, net, whole)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["function", "network", "proof"])
@pytest.mark.parametrize("example", EXACT + BOUNDED)
def test_every_change_is_refused_or_true(example, which):
    """One change anywhere in one of the three files."""
    files = documents(example)
    kept = total = 0
    for _ in changes(files[which]):
        total += 1
        if accepted(files):
            kept += 1
            assert claim_is_true(*files)
            reference(*files)
    print(example.__name__, which, kept, total)


@pytest.mark.parametrize("example", EXACT)
def test_no_weight_may_differ_by_1e_30(example):
    """A weight or a bias of an exact network, of any size, in any layer."""
    p, net, whole = documents(example)
    for layer in net["layers"]:
        for numbers, key in [(entry, 2) for entry in layer["entries"]] + [
            (layer["bias"], i) for i in range(layer["rows"])
        ]:
            old = numbers[key]
            for change in (Fraction(1, 10**30), -Fraction(1, 10**30)):
                numbers[key] = str(Fraction(old) + change)
                with pytest.raises(Refused, match="neurons|layer"):
                    check(p, net, whole)
            numbers[key] = old
