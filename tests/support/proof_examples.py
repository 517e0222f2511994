"""Proofs made by hand, with their functions and networks, as JSON documents."""

import json
from fractions import Fraction

__all__ = ["BOUNDED", "EXACT", "documents"]


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
    """|x| on [-1/3, 1], by points and values; the last segment has no interior."""
    p = table([["-1/3"], [0], [1]], [[0, 1], [1, 2], [2, 2]], ["1/3", 0, 1])
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
    """0 for y <= 0, else min(y, 1 - 3y + |x|) = min(max(0, y), max(f_2, f_3)); y <= 0 is cut at x = 0.

    The example of docs/theory/algorithm_1.md.
    """
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
    """0 = max(min(0, x), min(0, -x)) on [-2/3, 1], one simplex: cut at 0, and once more where nothing is left."""
    p = table([["-2/3"], [1]], [[0, 1]], [[0], ["0.0"]])
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
    """|x|, with two more pieces x <= -1, x >= 1 and 0 x <= -1, on which anything is true."""
    p, net, whole = absolute_value()
    p["pieces"].append({"A": [[1], [-1]], "b": [-1, -1], "gradient": [[5]], "offset": [7]})
    p["pieces"].append({"A": [[0], [0]], "b": [1, -3], "gradient": [5], "offset": 7})
    nothing = [{"empty": {"0": 1, "1": 1}}, {"empty": {"0": 1}}]
    claim = whole["outputs"][0]
    claim["below"] = [[*entries, *nothing] for entries in claim["below"]]
    claim["reach"] = [*claim["reach"], *(leaf(0, entry) for entry in nothing)]
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
    """The same on [-1, 3]; each neuron is off most at an end."""
    p, net, whole = rounded()
    for piece, end in zip(p["pieces"], (1, 3), strict=True):
        piece["A"], piece["b"] = [*piece["A"], [-piece["A"][0][0]]], [0, end]
    inside = [[on({"0": 1}, 3), on({"1": 1})], [on({"1": 1}), on({"0": 1}, 1)]]
    whole["box"] = {"low": [-1], "high": [3], "proof": inside}
    slope, constant = THIRD - Fraction(1 / 3), Fraction(1 / 7) - SEVENTH
    single = max(abs(slope * x + constant) for x in (-1, 3))
    whole["error_bound"] = str(3 * abs(Fraction(2 / 3) - 2 * THIRD) + 2 * single)
    return p, net, whole


def rounded_on_triangles():
    """|x - y|/3 on the two triangles of a square, in float64; the box is seen from the corners."""
    p = table([[0, 0], [1.5, 0], [1.5, "3/2"], [0, 1.5]], [[0, 1, 2], [2, 0, 3]], [0, 0.5, 0, "1/2"])
    net = network([[-2 / 3, 2 / 3, 0], [1 / 3, -1 / 3, 0], [-1 / 3, 1 / 3, 0]], [[1, 1, -1, 0]])
    claim = ([[0], [1]], [[at(0), at(0)], [at(1), at(1)]], [leaf(0, at()), leaf(1, at())])
    whole = proof([["1/3", "-1/3", 0], ["-1/3", "1/3", 0]], [claim], ABS_WIRING, [1])
    whole["box"] = {"low": [0, 0], "high": [1.5, 1.5], "proof": None}
    whole["error_bound"] = str(OFF_SLOPE * Fraction(3, 2))
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
