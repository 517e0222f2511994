"""Proofs made by hand, with their functions and networks, as JSON documents."""

import json

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


def proof(components, values, output, below, reach, error_bound=0):
    """A proof of kind "expression"; `below` and `reach` have a tree for each piece, output by output."""
    head = {"format": "cpwl-proof", "version": 1, "kind": "expression", "inputs": len(components[0]) - 1}
    body = {"components": components, "values": values, "output": output, "below": below, "reach": reach}
    return {**head, **body, "error_bound": error_bound, "box": None}


def on(lam=None, t=0):
    """An entry for a piece with rows."""
    return {"lambda": lam or {}, "t": t}


def at(lam=None):
    """An entry for a simplex."""
    return {"lambda": lam or {}}


def leaf(**members):
    """A leaf: `m0` is the entry of component 0."""
    return {"members": {name[1:]: entry for name, entry in members.items()}}


LEFT, RIGHT = ([[1]], [0]), ([[-1]], [0])  # x <= 0 and x >= 0
ABS_NET = network([[2, 0], [-1, 0], [1, 0]], [[1, 1, -1, 0]])
ABS = [["max", 0, 1]]
ABS_BELOW = [leaf(m0=on(), m1=on({"0": 2})), leaf(m0=on({"0": 2}), m1=on())]
ABS_REACH = [leaf(m0=on()), leaf(m1=on())]


def absolute_value():
    """|x| = max(-x, x)."""
    p = function(1, [(*LEFT, [-1], 0), (*RIGHT, [1], 0)])
    return p, ABS_NET, proof([[-1, 0], [1, 0]], ABS, [2], [ABS_BELOW], [ABS_REACH])


def absolute_value_on_segments():
    """|x| on [-1/3, 1], by points and values; the last segment has no interior."""
    p = table([["-1/3"], [0], [1]], [[0, 1], [1, 2], [2, 2]], ["1/3", 0, 1])
    below, reach = [leaf(m0=at(), m1=at())] * 2, [leaf(m0=at()), leaf(m1=at())]
    return p, ABS_NET, proof([[-1, 0], [1, 0]], ABS, [2], [below], [reach])


def two_outputs():
    """|x| and min(x, 1) = -max(-x, -1); they share two neurons."""
    pieces = [
        (*LEFT, [[-1], [1]], [0, 0]),
        ([[-1], [1]], [0, 1], [[1], [1]], [0, 0]),
        ([[-2]], [-2], [["1/1"], [0]], [0, 1.0]),
    ]
    net = network([[2, 0], [-1, 0], [1, 0], [1, -1]], [[1, 1, -1, 0, 0], [0, -1, 1, -1, 0]])
    first = [*ABS_BELOW, leaf(m0=on({"0": 2}, 2), m1=on())]
    second = [leaf(m1=on()), leaf(m1=on()), leaf(m2=on())]
    ends = [leaf(m1=on(), m2=on({"0": 1}, 1)), leaf(m1=on(), m2=on({"1": 1})), leaf(m1=on({"0": 1}), m2=on())]
    values = [["max", 0, 1], ["min", 1, 2]]
    reach = [[*ABS_REACH, leaf(m1=on())], ends]
    return function(1, pieces, 2), net, proof([[-1, 0], [1, 0], [0, 1]], values, [3, 4], [first, second], reach)


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
    up = leaf(m0=on({"1": 1}), m1=on())
    below = [
        leaf(m0=on(), m1=on({"0": 1})),
        up,
        up,
        leaf(m2=on(), m3=on({"0": 2})),
        leaf(m2=on({"0": 2}), m3=on()),
    ]
    cut = {
        "cut": [1, 0, 0],
        "below": leaf(m0=on(), m3=on({"0": 3, "1": 1}, 1)),
        "above": leaf(m0=on(), m2=on({"0": 3, "1": 1}, 1)),
    }
    reach = [
        cut,
        leaf(m1=on(), m2=on({"2": 1})),
        leaf(m1=on(), m3=on({"2": 1})),
        leaf(m1=on({"1": 1}), m2=on()),
        leaf(m1=on({"1": 1}), m3=on()),
    ]
    components = [[0, 0, 0], [0, 1, 0], [1, -3, 1], [-1, -3, 1]]
    net = network(first, second, [[-1, -1, 1, 0]])
    values = [["max", 1, 0], ["max", 2, 3], ["min", 4, 5]]
    return function(2, pieces), net, proof(components, values, [6], [below], [reach])


def a_neuron_less():
    """The same without the two neurons for -y, which cancel."""
    p, _, whole = five_pieces()
    first = [[0, 1, 0], [-2, 0, 0], [1, -3, 1], [-1, 3, -1]]
    second = [[1, -1, -1, 1, 0], [-1, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    return p, network(first, second, [[-1, -1, 1, 0]]), whole


def a_value_is_carried():
    """0 = max(min(x, -x), 0): 0 is carried past a layer, and below is shown in two parts. The piece is R."""
    second = [[1, 1, -1, 1, -1, 0], [-1, -1, 1, 0, 0, 0], [1, 1, -1, 0, 0, 0]]
    net = network([[2, 0], [-1, 0], [1, 0], [0, 0], [0, 0]], second, [[1, 1, -1, 0]])
    sides = {"below": leaf(m0=on({"0": 1}), m2=on()), "above": leaf(m1=on({"0": 1}), m2=on())}
    values = [["min", 0, 1], ["max", 3, 2]]
    trees = [[{"cut": [1, 0], **sides}]], [[leaf(m2=on())]]
    return function(1, [([], [], [[0]], [0])]), net, proof([[1, 0], [-1, 0], [0, 0]], values, [4], *trees)


def affine():
    """2 x - 3 y + 1/3 on two half-planes: no hidden layer."""
    p = function(2, [([[1, 0]], [0], [2, -3], "1/3"), ([[-1, 0], [0, 0]], [0, 1], [2, -3], "1/3")])
    trees = [[leaf(m0=on())] * 2]
    return p, network([[2, -3, "1/3"]]), proof([[2, -3, "1/3"]], [], [0], trees, trees)


def cut_segment():
    """0 = max(min(0, x), min(0, -x)) on [-2/3, 1], one simplex: cut at 0, and once more where nothing is left."""
    p = table([["-2/3"], [1]], [[0, 1]], [[0], ["0.0"]])
    net = network([[-1, 0], [0, 0], [1, 0]], [[1, 0, -1, 0], [-1, 0, 0, 0], [1, 0, 0, 0]], [[1, 1, -1, 0]])
    gone = {"empty": {"2": 2, "3": 1}}
    side = leaf(m0=at(), m2=at({"2": 1})), leaf(m0=at(), m1=at({"2": 1}))
    right = {"cut": [1, "-1/2"], "below": leaf(m0=gone, m1=gone), "above": side[1]}
    values = [["min", 0, 1], ["min", 0, 2], ["max", 3, 4]]
    reach = [{"cut": [1, 0], "below": side[0], "above": right}]
    return p, net, proof([[0, 0], [1, 0], [-1, 0]], values, [5], [[leaf(m0=at())]], [reach])


def empty_piece():
    """|x|, with two more pieces x <= -1, x >= 1 and 0 x <= -1, on which anything is true."""
    p, net, whole = absolute_value()
    p["pieces"].append({"A": [[1], [-1]], "b": [-1, -1], "gradient": [[5]], "offset": [7]})
    p["pieces"].append({"A": [[0], [0]], "b": [1, -3], "gradient": [5], "offset": 7})
    nothing = [{"empty": {"0": 1, "1": 1}}, {"empty": {"0": 1}}]
    whole["below"] = [[*whole["below"][0], *(leaf(m0=entry, m1=entry) for entry in nothing)]]
    whole["reach"] = [[*whole["reach"][0], *(leaf(m0=entry) for entry in nothing)]]
    return p, net, whole


def inexact_law():
    """|x| for a law that is x + 1/100 on the right: the bound says so."""
    p, net, whole = absolute_value()
    p["pieces"][1]["offset"] = "0.01"
    whole["below"] = [[ABS_BELOW[0], leaf(m0=on({"0": 2}, "1/100"), m1=on(t="1/100"))]]
    whole["reach"] = [[ABS_REACH[0], leaf(m1=on(t="-1/100"))]]
    whole["error_bound"] = "1/100"
    return p, net, whole


def in_a_box():
    """|x| on [-1, 3], its law off by 1/100 on the right, with a box around it."""
    p, net, whole = inexact_law()
    for piece, end in zip(p["pieces"], (1, 3), strict=True):
        piece["A"], piece["b"] = [*piece["A"], [-piece["A"][0][0]]], [0, end]
    inside = [[on({"0": 1}, 3), on({"1": 1})], [on({"1": 1}), on({"0": 1}, 1)]]
    whole["box"] = {"low": [-1], "high": [3], "proof": inside}
    return p, net, whole


def on_triangles():
    """|x - y|/3 on the two triangles of a square, a value off by 1/10; the box is seen from the corners."""
    p = table([[0, 0], [1.5, 0], [1.5, "3/2"], [0, 1.5]], [[0, 1, 2], [2, 0, 3]], [0, "3/5", 0, "1/2"])
    net = network([["-2/3", "2/3", 0], ["1/3", "-1/3", 0], ["-1/3", "1/3", 0]], [[1, 1, -1, 0]])
    trees = [[leaf(m0=at(), m1=at())] * 2], [[leaf(m0=at()), leaf(m1=at())]]
    whole = proof([["1/3", "-1/3", 0], ["-1/3", "1/3", 0]], ABS, [2], *trees, "1/10")
    whole["box"] = {"low": [0, 0], "high": [1.5, 1.5], "proof": None}
    return p, net, whole


def by_corners(files):
    """The same with leaves that name components only: the checker compares them at corners and along rays."""
    p, net, whole = files

    def named(tree):
        if "cut" in tree:
            return tree | {side: named(tree[side]) for side in ("below", "above")}
        return {"corners": [int(m) for m in tree["members"]]}

    return p, net, whole | {name: [[*map(named, trees)] for trees in whole[name]] for name in ("below", "reach")}


def five_pieces_by_corners():
    """Corners, rays, and in one piece a line that is cut."""
    return by_corners(five_pieces())


def affine_by_corners():
    """Half-planes: a line, and a ray."""
    return by_corners(affine())


def empty_by_corners():
    """Pieces without a point."""
    return by_corners(empty_piece())


def inexact_by_corners():
    """A bound that is shown at corners."""
    return by_corners(in_a_box())


EXACT = [
    absolute_value,
    absolute_value_on_segments,
    two_outputs,
    five_pieces,
    a_neuron_less,
    a_value_is_carried,
    affine,
    cut_segment,
    empty_piece,
    five_pieces_by_corners,
    affine_by_corners,
    empty_by_corners,
]
BOUNDED = [inexact_law, in_a_box, on_triangles, inexact_by_corners]


def documents(example):
    """Function, network and proof as they come from files, no two of their parts shared."""
    return json.loads(json.dumps(example()))
