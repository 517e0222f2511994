"""Small files that would keep a checker busy for hours, or take all memory: functions, networks and proofs."""

from support.proof_examples import function, network

__all__ = ["ATTACKS", "box_and_a_slanted_row", "repeated_groups", "sawtooth"]


def repeated_groups(width=16, depth=8):
    """Maxima and minima of all values before, in turn: rows are unions of rows, and their number is squared.

    All neurons are 0, so that the wiring is right whatever it says.
    """
    layers = [[[0, 0]] * 3] + [[[0, 0, 0, 0], [-1, -1, 1, 0], [1, 1, -1, 0]]] * (depth - 1) + [[[1, 1, -1, 0]]]
    signs = [1] + [-1] * (depth - 1)  # minus the value before: a maximum and a minimum in turn
    wiring = [
        [{"max": [s * (g + 1), s * ((g + 2 ** (level // 2)) % width + 1)], "neurons": [0, 1, 2]} for g in range(width)]
        for level, s in enumerate(signs)
    ]
    proof = {"format": "cpwl-proof", "version": 1, "kind": "max-min", "inputs": 1, "error_bound": 0, "box": None}
    proof |= {"components": [[0, 0]] * width, "outputs": [{"rows": [], "below": [], "reach": []}]}
    return function(1, [([], [], [0], 0)]), network(*layers), proof | {"wiring": wiring, "output": [1]}


def box_and_a_slanted_row(n=11):
    """A box in R^11, cut by a row that splits its 2,048 corners in half; a hinge that cuts it again."""
    rows = [[s * (i == k) for i in range(n)] for s in (1, -1) for k in range(n)]
    slanted = [1, *range(2, n + 1)]
    piece = ([*rows, slanted], [1] * (2 * n) + [0], [0] * n, 0)
    proof = {"format": "cpwl-proof", "version": 1, "kind": "bends", "inputs": n, "error_bound": 0}
    proof |= {"planes": [], "limits": [], "roles": []}
    net = network([[*[1] * n, 0]], [[1, 0]])
    return function(n, [piece]), net, proof


def sawtooth(depth=40):
    """A hat put into itself 40 times bends at 2^40 places."""
    hat = [[2, -4, 0], [2, -4, -1]]
    layers = [[[1, 0], [1, "-1/2"]], *([hat] * depth), [[2, -4, 0]]]
    proof = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": 1, "error_bound": 0, "direction": [1]}
    return function(1, [([[1], [-1]], [1, 0], [0], 0)]), network(*layers), proof


ATTACKS = (repeated_groups, box_and_a_slanted_row, sawtooth)
