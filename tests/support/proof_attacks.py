"""Files that would keep a checker busy for minutes or hours, or take all memory: functions, networks and proofs."""

import random

from support.proof_examples import function, network, table

__all__ = ["ATTACKS", "LARGER"]


def head(kind, n):
    return {"format": "cpwl-proof", "version": 1, "kind": kind, "inputs": n, "error_bound": 0}


def bends(n):
    return head("bends", n) | {"planes": [], "limits": [], "roles": []}


def forms_that_grow(width=12, depth=10):
    """Maxima and minima of all values before, in turn, of many components: forms have more and more atoms."""
    components = [[k, k * k] for k in range(width)]
    values, last = [], list(range(width))
    for level in range(depth):
        kind, first = ("max", "min")[level % 2], width + len(values)
        values += [[kind, last[g], last[(g + 2 ** (level // 2)) % width]] for g in range(width)]
        last = list(range(first, first + width))
    proof = head("expression", 1) | {"box": {"low": [0], "high": [1], "proof": None}, "components": components}
    proof |= {"values": values * 400, "output": [0], "below": [[{"members": {}}]], "reach": [[{"members": {}}]]}
    return table([[0], [1]], [[0, 1]], [0, 0]), network([[0, 0]]), proof


def box_and_a_slanted_row(n=11):
    """A box in R^11, cut by a row that splits its 2,048 corners in half; a hinge that cuts it again."""
    rows = [[s * (i == k) for i in range(n)] for s in (1, -1) for k in range(n)]
    slanted = [1, *range(2, n + 1)]
    piece = ([*rows, slanted], [1] * (2 * n) + [0], [0] * n, 0)
    return function(n, [piece]), network([[*[1] * n, 0]], [[1, 0]]), bends(n)


def sawtooth(depth=40):
    """A hat put into itself 40 times bends at 2^40 places."""
    hat = [[2, -4, 0], [2, -4, -1]]
    layers = [[[1, 0], [1, "-1/2"]], *([hat] * depth), [[2, -4, 0]]]
    return function(1, [([[1], [-1]], [1, 0], [0], 0)]), network(*layers), head("line", 1) | {"direction": [1]}


def space_without_rows(n=6000):
    """One piece, all of R^6000: its cone has as many lines, of that many coordinates each."""
    return function(n, [([], [], [0] * n, 0)]), network([[0] * n + [0]]), bends(n)


def outputs_of_a_simplex(n=60, outputs=60):
    """A simplex in R^60, and a bound that is not 0: what is usual is found from the laws of all outputs."""
    points = [[0] * n] + [[int(i == j) for i in range(n)] for j in range(n)]
    p = table(points, [list(range(n + 1))], [[0] * outputs] * (n + 1)) | {"outputs": outputs}
    proof = head("expression", n) | {"error_bound": 1, "box": None, "components": [[0] * (n + 1)], "values": []}
    trees = [[{"members": {"0": {"lambda": {}}}}]] * outputs
    proof |= {"output": [0] * outputs, "below": trees, "reach": trees}
    return p, network([[0] * n + [0]] * outputs), proof


def long_numbers(n=30, digits=300):
    """A simplex in R^30 whose coordinates are fractions of 300 digits: they have no short common denominator."""
    draw = random.Random(0)
    points = [[f"1/{draw.randrange(10**digits)}" for _ in range(n)] for _ in range(n + 1)]
    p = table(points, [list(range(n + 1))], [0] * (n + 1))
    return p, network([[0] * n + [0]]), bends(n)


def many_weights_and_inputs(n=40, width=40, depth=3):
    """A network on a line in R^40: every weight is multiplied with a form of 40 inputs."""
    layers = [[[1] * n + [k] for k in range(width)], *([[[1] * width + [0]] * width] * depth), [[1] * width + [0]]]
    return function(n, [([], [], [0] * n, 0)]), network(*layers), head("line", n) | {"direction": [1] * n}


def denominators_of_a_row(n=400, digits=100):
    """One row whose 400 denominators of 100 digits have a common multiple of 40,000 digits, in every entry."""
    draw = random.Random(0)
    row = [f"1/{draw.randrange(10**digits) | 1}" for _ in range(n)]
    return function(n, [([row], [0], [0] * n, 0)]), network([[0] * n + [0]]), bends(n)


def one_fan(count=1500):
    """Hinges through one line, and a gate that reads them all: each is compared with each."""
    planes = [[k, 1, 0] for k in range(1, count + 1)]
    net = network([[k, 1, 0] for k in range(1, count + 1)], [[1] * count + [0]], [[1, 0]])
    proof = bends(2) | {"planes": planes, "roles": [[{"gate": 1, "along": []}]]}
    return function(2, [([], [], [0, 0], 0)]), net, proof


def tiles_of_one_triangle(count=300):
    """Bumps that all cover the same large triangles: each of these is in every tile of a grid."""
    points = [[0, 0], [1, 0], [0, 1]]
    net = network([[0, 0, 0]], [[0, 0]], [[0, 0]] * count, [[0] * count + [0]])
    bump = {"halves": [0], "triangles": [[0, 1, 2]] * 30}
    proof = head("clamped", 2) | {"limits": [], "points": points}
    return function(2, [([], [], [0, 0], 0)]), net, proof | {"bumps": [bump | {"neuron": k} for k in range(count)]}


def faces_of_a_simplex(n=25):
    """One cell, a simplex in R^25: it has 2^26 faces."""
    points = [[0] * n] + [[int(i == j) for i in range(n)] for j in range(n)]
    proof = head("regions", n) | {"places": [[*x, 1] for x in points], "pieces": [[list(range(n + 1))]]}
    return table(points, [list(range(n + 1))], [0] * (n + 1)), network([[0] * n + [0]], [[1, 0]]), proof


ATTACKS = (forms_that_grow, box_and_a_slanted_row, sawtooth, faces_of_a_simplex)
LARGER = (
    space_without_rows,
    outputs_of_a_simplex,
    long_numbers,
    many_weights_and_inputs,
    denominators_of_a_row,
    one_fan,
    tiles_of_one_triangle,
)
