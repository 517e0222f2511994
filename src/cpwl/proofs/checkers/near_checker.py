"""Check a proof for data that only nearly fits, kind "near": near_checker.py law.json net.json law.proof.json

**Theorem.** Let q be the function inside the proof. If

(1) the network is within E of q on every piece of q, by a proof of another kind; E does not grow with x, `near`
(2) every piece of the data is cut into regions, each bounded, `farthest`, `corners`
(3) a region with law f has a piece S of q with law s, and a point m of S; every corner v of the region is at most d
    from S in the largest coordinate, on the way to m or at a corner of S, `distance`
(4) ``E + d (L + |grad s|_1) + max |s(v) - f(v)|`` is at most the stated bound, with L a bound on the slope of the
    network, `slopes`, `moved`, `near`

then ``|network - p|`` is at most the stated bound on every piece of the data.

It needs checker.py beside it, which proves the network for the consistent function inside, and hands proofs of this
kind over to here. Only the standard library, only integers and fractions. Why this is a proof is in docs/proof.md.
"""

import runpy
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

Point = list[Fraction]


def near(checker: Any, law: Any, layers: Any, proof: Any) -> Fraction:
    """The proven bound: every piece is near one of a function for which the network has a proof of its own.

    `checker` has the functions of checker.py."""
    head = {"format": "cpwl-proof", "version": 1, "kind": "near", "inputs": law.n, "error_bound": checker.Rational}
    body = {"function": Any, "proof": {str: Any}, "pieces": [Any, len(law.pieces)]}
    *_, stated, function, inner, trees = checker.read(proof, head | body, "proof")
    checker.need(inner.get("kind") != "near", "proof.proof", "it must speak of the function inside")
    meant = checker.read_function(function)
    same = (meant.n, meant.outputs) == (law.n, law.outputs)
    checker.need(same, "function", "it does not have as many inputs and outputs")
    most = checker.decide(meant, layers, inner)
    checker.need(not isinstance(most, tuple), "proof.proof", "its bound grows without end")
    worst = most + farthest(checker, law, meant, layers, trees)
    checker.need(worst <= stated < 10**300, "error_bound", f"it is less than {float(worst):.3g}, which is shown")
    return Fraction(stated)


def farthest(checker: Any, law: Any, meant: Any, layers: Any, trees: list[Any]) -> Fraction:
    """How far the data is from the function inside, as an error of a network that is equal to that."""
    n, others, slope, worst = law.n, meant.pieces, slopes(layers, law.n), Fraction(0)
    checker.need(all(p.corners is None for p in [*law.pieces, *others]), "function", "pieces must have rows")
    places_of = [points(checker, [row for row, _ in other.rows.values()], n)[0] for other in others]
    for j, (piece, tree) in enumerate(zip(law.pieces, trees, strict=True)):
        todo = [(tree, piece)]  # no recursion, which a deep tree would exhaust
        for node, part in todo:
            ends = corners(checker, [row for row, _ in part.rows.values()], n, f"piece {j}")
            if not ends:
                continue
            if (parts := part.cut(node, n, f"piece {j}")) is not None:
                todo += parts
                continue
            shape = {"piece": range(len(others)), "point": [checker.Rational, n]}
            i, middle = checker.read(node, shape, f"piece {j}")
            checker.spend(n * len(ends) * (2 * len(others[i].rows) + len(places_of[i])), f"piece {j}")
            far = max(distance(checker, others[i].rows, x, middle, places_of[i], f"piece {j}") for x in ends)
            for o in range(law.outputs):
                worst = max(worst, moved(piece.laws[o], others[i].laws[o], ends, far, slope[o]))
    return worst


def points(checker: Any, rows: list[list[int]], n: int) -> tuple[list[Point], bool]:
    """The corners of a region, and whether it has no other generators."""
    generators = checker.region(n, rows).generators()
    found = [[Fraction(v, g[-1]) for v in g[:-1]] for g in generators if g[-1]]
    return found, len(found) == len(generators)


def corners(checker: Any, rows: list[list[int]], n: int, where: str) -> list[Point]:
    """The corners of a bounded region; none if it is empty."""
    found, bounded = points(checker, rows, n)
    checker.need(bounded or not found, where, "it is not bounded")
    return found


def distance(checker: Any, rows: dict[str, Any], x: Point, middle: Point, others: list[Point], where: str) -> Fraction:
    """How far at most, in the largest coordinate, a point is from the polyhedron: on the way to a point of it, or from
    one of its corners."""
    share = Fraction(0)
    for (*a, b), _ in rows.values():  # a . x + b >= 0
        inside, here = (sum((u * v for u, v in zip(a, y, strict=True)), Fraction(b)) for y in (middle, x))
        checker.need(inside >= 0 and (inside > 0 or here >= 0), where, "its point is not inside the other piece")
        if here < 0:
            share = max(share, here / (here - inside))
    way = share * max(abs(u - v) for u, v in zip(x, middle, strict=True))
    return min([way, *(max(abs(u - v) for u, v in zip(x, y, strict=True)) for y in others)])


def moved(law: Any, other: Any, ends: list[Point], far: Fraction, slope: Fraction) -> Fraction:
    """How far the network can be from the law, but for the bound inside: at a point `far` away it is the other law, and
    from there both change by no more than their slopes."""
    one, two = ([Fraction(v, d) for v in numbers] for numbers, d in (law, other))
    step = [u - v for u, v in zip(one, two, strict=True)]
    off = max(abs(sum((u * v for u, v in zip(step, [*x, Fraction(1)], strict=True)), Fraction(0))) for x in ends)
    return off + far * (slope + sum(map(abs, two[:-1]), Fraction(0)))


def slopes(layers: Any, n: int) -> list[Fraction]:
    """For each output a number that its change is at most, where no input changes by more than 1."""
    reach = [Fraction(1)] * n
    for layer in layers:
        size = len(reach)  # the coefficient after the last input's is the bias
        reach = [sum((abs(Fraction(w)) * reach[j] for j, w in row.items() if j < size), Fraction(0)) for row in layer]
    return reach


if __name__ == "__main__":
    sys.exit(runpy.run_path(str(Path(__file__).with_name("checker.py")))["main"](sys.argv[1:]))
