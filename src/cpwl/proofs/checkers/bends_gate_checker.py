"""Which neurons are gates everywhere, for bends_checker.py, which needs this beside it.

A neuron reads Y, a sum of an affine function, hinges and gates, and is to be [l > 0] Y: Y must have the sign of l, or
be 0, at every point. Two ways to see that: Y is a sum of fans; or Y is 0 where l is, and grows along a vector across
that plane. Only the standard library, only integers and fractions. Why this is a proof is in docs/proof.md.
"""

import math
from fractions import Fraction
from operator import mul
from typing import Any

Rational = int | Fraction
Form = dict[int, Rational]  # a linear form: its nonzero coefficients
Terms = list[tuple[int, int]]  # factors and numbers of atoms


def dot(u: list[int], v: list[int]) -> int:
    return sum(map(mul, u, v))


def minus(v: list[int]) -> list[int]:
    return [-x for x in v]


def is_gate(circuit: Any, form: Form, row: list[int], along: list[int], where: str) -> bool:
    """Whether the form has the sign of the row, or is 0, everywhere: by fans, or along a vector if there is one."""
    affine, terms, _ = circuit.whole(form)
    circuit.checker.spend(20 * len(terms), where)
    if along:
        grows = dot(row, along) > 0 and slopes(circuit, affine, terms, along, {})[0] >= 0
        return grows and is_zero_on(circuit, row, form, where)
    hinges = [(c, circuit.atoms[a].row) for c, a in terms if circuit.atoms[a].affine is circuit.atoms[a].row]
    return len(hinges) == len(terms) and of_fans(row, affine, hinges)


def slopes(
    circuit: Any, affine: list[int], terms: Terms, u: list[int], known: dict[int, tuple[int, int]]
) -> tuple[int, int]:
    """Bounds of the slope of a sum along a vector. What begins on one plane, [l > 0] Y, has slopes between 0 and
    those of Y; so has relu(Y)."""
    low = high = dot(affine, u)
    for (side, weight), gates in by_plane(circuit, terms).items():
        across = dot(circuit.planes[abs(side) - 1], u)
        least = most = weight * across * (1 if side > 0 else -1)
        low, high = (low, high) if side > 0 else (low + weight * across, high + weight * across)
        for c, a in gates:
            if a not in known:
                known[a] = slopes(circuit, circuit.atoms[a].affine, circuit.atoms[a].terms, u, known)
            x, y = sorted(c * z for z in known[a])
            least, most = least + x, most + y
        low, high = low + min(least, 0), high + max(most, 0)
    return low, high


def by_plane(circuit: Any, terms: Terms) -> dict[tuple[int, int], Terms]:
    """The gates of a sum by their side, with the weight of the hinge that begins on the same plane; for a side of
    -k - 1 that is to be read as the weight w in w relu(l) = w l + w relu(-l)."""
    weights, gates = dict[int, int](), dict[int, Terms]()
    for c, a in terms:
        if (side := circuit.atoms[a].side) and circuit.atoms[a].affine is circuit.atoms[a].row:
            weights[side] = weights.get(side, 0) + c
        else:
            gates.setdefault(side, []).append((c, a))
    found = {(side, weights.pop(abs(side), 0)): some for side, some in gates.items()}
    return found | {(side, c): [] for side, c in weights.items()}


def is_zero_on(circuit: Any, row: list[int], form: Form, where: str) -> bool:
    """Whether a form is 0 on all of a plane: there it is one of n - 1 coordinates, without bends, and 0 at points
    that span the plane."""
    k = next(i for i, x in enumerate(row) if x)

    def on_plane(g: list[int]) -> list[int]:  # a positive multiple, without coordinate k
        return [
            abs(row[k]) * x - (y if row[k] > 0 else -y) * g[k]
            for i, (x, y) in enumerate(zip(g, row, strict=True))
            if i != k
        ]

    def reduced(affine: list[int], terms: Terms, scale: int) -> Form:
        total = {i: Fraction(x, scale * abs(row[k])) for i, x in enumerate(on_plane(affine)) if x}
        for c, a in terms:
            for i, x in values[a].items():
                total[i] = total.get(i, Fraction(0)) + Fraction(c, scale) * x
        return {i: x for i, x in total.items() if x}

    flat, values = type(circuit)(circuit.checker, circuit.n - 1, []), dict[int, Form]()
    affine, terms, d = circuit.whole(form)
    needed, todo = set[int](), [a for _, a in terms]
    for a in circuit.checker.each(todo, 10**6, where, "there are too many neurons"):
        todo += [b for _, b in circuit.atoms[a].terms if b not in needed] if a not in needed else []
        needed.add(a)
    for a in sorted(needed):
        atom = circuit.atoms[a]
        if not atom.everywhere:
            return False
        values[a] = flat.atom(on_plane(atom.row), reduced(atom.affine, atom.terms, 1), atom.affine is atom.row)
    total = reduced(affine, terms, d)
    rest, factors, _ = flat.whole(total)
    points = [[int(i == j) for i in range(circuit.n - 1)] + [1] for j in range(circuit.n)]
    if any(dot(rest, x) + sum(c * flat.value(a, x, {}) for c, a in factors) for x in points):
        return False
    sections = ((flat.planes[h - 1], steps) for h, steps in flat.bends(total, where).items())
    return all(
        flat.is_zero(steps, circuit.checker.region(circuit.n - 1, [h, minus(h)]), where) for h, steps in sections
    )


def of_fans(row: list[int], affine: list[int], hinges: list[tuple[int, list[int]]]) -> bool:
    """Whether an affine function plus a sum of c relu(h) has the sign of the row l, or is 0, everywhere.

    Hinges that meet the plane in the same place are a fan: h = x l + y t for one t. If a fan is s t on the plane, then
    divided by l what is more than s t is a function of t / l: it is constant at both ends and extreme where a hinge
    begins. All s t and the affine function must add up to a multiple of l. Everything is multiplied by |l_k| here."""
    k = next(i for i, x in enumerate(row) if x)
    rest, fans = [abs(row[k]) * x for x in affine], dict[tuple[int, ...], list[tuple[int, int, int]]]()
    for c, h in hinges:
        x, *trace = (
            (-z if row[k] < 0 else z) for z in (h[k], *(u * row[k] - v * h[k] for u, v in zip(h, row, strict=True)))
        )
        y = math.gcd(*trace) * (1 if next((z for z in trace if z), 1) > 0 else -1)
        if y and not any(trace[:-1]):
            return False  # the two are parallel
        fans.setdefault(tuple(z // y for z in trace) if y else (), []).append((c, x, y))
    low, high = Fraction(0), Fraction(0)  # above the plane at least this times l, below at most this times -l
    for t, fan in fans.items():
        s = sum(c * y for c, _, y in fan if y > 0)
        if s != sum(c * y for c, _, y in fan if y < 0):
            return False
        rest = [u + s * v for u, v in zip(rest, t, strict=True)] if t else rest
        values = [[fan_value(fan, s, l, -l * x * (1 if y > 0 else -1), abs(y)) for _, x, y in fan] for l in (1, -1)]
        low, high = low + min(values[0]), high + max(values[1])
    along = Fraction(rest[k], row[k])
    return all(u == along * v for u, v in zip(rest, row, strict=True)) and low + along >= 0 >= high - along


def fan_value(fan: list[tuple[int, int, int]], s: int, l: int, t: int, scale: int) -> Fraction:
    """The fan less s t where l is 1 or -1, at t / scale; for what is parallel, the scale is 0 and t does not matter."""
    one = scale or 1
    return Fraction(sum(c * max(0, l * x * one + y * t) for c, x, y in fan) - s * t, one)
