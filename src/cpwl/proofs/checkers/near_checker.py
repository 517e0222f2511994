"""Check a proof for data that only nearly fits, kind "near": near_checker.py law.json net.json law.proof.json

**Theorem.** Let q be the function inside the proof. If

(1) the network is within ``E + E' max|x_i|`` of q on every piece of q, by a proof of another kind, `near`
(2) every piece of the data is cut into regions, spanned by corners v and rays r, `farthest`
(3) a region with law f that lies in a piece of q with law s has a vector h such that for all rays ``h . r`` is at least
    ``|(grad s - grad f) . r|``; let ``a >= |s(v) - f(v)| - h . v`` for all corners, and ``b = |h|_1``, `inside`
(4) a bounded region with law f that does not has a piece S of q with law s, and a point m of S; every corner v of the
    region is at most d from S in the largest coordinate, on the way to m or at a corner of S, `distance`; let
    ``a = d (L + |grad s|_1) + max |s(v) - f(v)|``, with L a bound on the slope of the network, `slopes`, and ``b = 0``
(5) the largest ``E + a`` and ``E' + b`` are at most the stated bound, `near`

then ``|network - p|`` is at most the stated bound ``a + b max|x_i|`` on every piece of the data. For (3): every x of
the region is a mean of corners plus a sum of multiples of rays, so that ``|s(x) - f(x)|`` is at most ``a + h . x``.

It needs checker.py beside it, which proves the network for the consistent function inside, and hands proofs of this
kind over to here. Only the standard library, only integers and fractions. Why this is a proof is in docs/proof.md.
"""

import runpy
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

Point = list[Fraction]


def near(checker: Any, law: Any, layers: Any, proof: Any) -> Any:
    """The proven bound: every piece is near one of a function for which the network has a proof of its own.

    `checker` has the functions of checker.py."""
    head = {"format": "cpwl-proof", "version": 1, "kind": "near", "inputs": law.n, "error_bound": Any}
    body = {"function": Any, "proof": {str: Any}, "pieces": [Any, len(law.pieces)]}
    *_, stated, function, inner, trees = checker.read(proof, head | body, "proof")
    grows = type(stated) is list
    level, slope = checker.read(stated if grows else [stated, 0], [checker.Rational, 2], "error_bound")
    checker.need(inner.get("kind") != "near", "proof.proof", "it must speak of the function inside")
    meant = checker.read_function(function)
    same = (meant.n, meant.outputs) == (law.n, law.outputs)
    checker.need(same, "function", "it does not have as many inputs and outputs")
    most = checker.decide(meant, layers, inner)
    start = most if isinstance(most, tuple) else (most, 0)
    shown = [u + v for u, v in zip(start, farthest(checker, law, meant, layers, trees), strict=True)]
    for name, least, most in (("a", shown[0], level), ("b", shown[1], slope)):
        checker.need(
            least <= most < 10**300, "error_bound", f"its {name} is less than {float(least):.3g}, which is shown"
        )
    return (Fraction(level), Fraction(slope)) if grows else Fraction(level)


def farthest(checker: Any, law: Any, meant: Any, layers: Any, trees: list[Any]) -> tuple[Fraction, Fraction]:
    """How far the data is from the function inside, ``a + b max|x_i|``, as an error of a network equal to that."""
    n, others, slope, worst = law.n, meant.pieces, slopes(layers, law.n), (Fraction(0), Fraction(0))
    checker.need(all(p.corners is None for p in [*law.pieces, *others]), "function", "pieces must have rows")
    places_of: dict[int, list[Point]] = {}
    for j, (piece, tree) in enumerate(zip(law.pieces, trees, strict=True)):
        where = f"piece {j}"
        todo = [(tree, checker.piece_cone(piece, n))]  # no recursion, which a deep tree would exhaust
        for node, part in todo:
            ends = part.generators()
            if not any(g[-1] for g in ends):
                continue  # no point is in it
            if type(node) is dict and "cut" in node:
                cut, below, above = checker.read(
                    node, {"cut": [checker.Rational, n + 1], "below": Any, "above": Any}, where
                )
                row = checker.half_space(cut)[0]
                todo += [(below, part.cut(row)), (above, part.cut(checker.minus(row)))]
                continue
            shape = {"piece": range(len(others)), "slope": [checker.Rational, n], "point": Any}
            i, h, middle = checker.read(
                {"slope": [0] * n, "point": None} | node if type(node) is dict else node, shape, where
            )
            rows = [row for row, _ in others[i].rows.values()]
            checker.spend(n * len(ends) * (2 + len(rows)), where)
            laws = list(zip(piece.laws, others[i].laws, strict=True))
            if all(checker.dot(row, g) >= 0 for row in rows for g in ends):
                found = [inside(checker, *pair, ends, h, where) for pair in laws]
            else:
                checker.need(all(g[-1] for g in ends), where, "it is not inside the other piece, and not bounded")
                if i not in places_of:
                    places_of[i] = points(checker.region(n, rows).generators())
                middle = checker.read(middle, [checker.Rational, n], where)
                places = points(ends)
                far = max(distance(checker, others[i].rows, x, middle, places_of[i], where) for x in places)
                found = [(moved(*pair, places, far, slope[o]), Fraction(0)) for o, pair in enumerate(laws)]
            for bound in found:
                worst = max(worst[0], bound[0]), max(worst[1], bound[1])
    return worst


def inside(
    checker: Any, law: Any, other: Any, ends: list[list[int]], h: list[Any], where: str
) -> tuple[Fraction, Fraction]:
    """How far two laws are apart on a region, ``a + b max|x_i|``: by ``a + h . x`` at corners and along rays."""
    (one, d), (two, e) = law, other
    step = [u * e - v * d for u, v in zip(one, two, strict=True)]
    level = Fraction(0)
    for g in ends:
        off = Fraction(abs(checker.dot(step, g)), d * e) - sum(u * v for u, v in zip(h, g[:-1], strict=True))
        if g[-1]:
            level = max(level, off / g[-1])
        else:
            checker.need(off <= 0, where, "along a ray it goes away faster than its slope says")
    return level, sum((abs(Fraction(x)) for x in h), Fraction(0))


def points(generators: list[list[int]]) -> list[Point]:
    """The corners among some generators."""
    return [[Fraction(v, g[-1]) for v in g[:-1]] for g in generators if g[-1]]


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
