"""The supremum of |network - function| on every piece, slowly: at all points where n hyperplanes meet that can matter.

It shares no code with the checker nor with the package: documents in, rationals out. Hyperplanes are the rows of a
piece, the sides of a large cube, and what each neuron reads under each pattern of the neurons before it.
"""

import itertools
from fractions import Fraction

from support.proof_oracle import dot, images, pieces_of, weights

__all__ = ["supremum"]

FAR = Fraction(10**9)


def supremum(p, network):
    """The supremum over all pieces; None if there is none."""
    found = [[on_piece(p["dim"], piece, network, far) for far in (FAR, 2 * FAR)] for piece in pieces_of(p)]
    if any(one != two for one, two in found):
        return None
    return max((one for one, _ in found), default=Fraction(0))


def on_piece(n, piece, network, far):
    """The same on one piece, in a cube."""
    rows, corners, laws = piece
    if corners is not None:
        rows = sides(corners)
    axes = [[Fraction(s * (i == j)) for j in range(n)] + [far] for i in range(n) for s in (1, -1)]
    rows = [*rows, *axes]
    planes = {plane(form) for form in [*rows, *neurons(n, network)] if any(form[:-1])}
    worst = Fraction(0)
    for chosen in itertools.combinations(sorted(planes), n):
        x = meeting(chosen, n)
        if x is not None and all(dot(row, x) >= 0 for row in rows):
            values = evaluated(network, x)
            worst = max([worst, *(abs(v - dot(law, x)) for v, law in zip(values, laws, strict=True))])
    return worst


def plane(form):
    """A hyperplane, however its form is scaled."""
    lead = next(v for v in form if v)
    return tuple(v / lead for v in form)


def neurons(n, network):
    """What each neuron reads, under each pattern of those before it."""
    found = []
    patterns = [[[Fraction(i == j) for j in range(n + 1)] for i in range(n)]]
    for layer in network["layers"][:-1]:
        read = [images(weights(layer), forms) for forms in patterns]
        found += [form for forms in read for form in forms]
        zero = [Fraction(0)] * (n + 1)
        patterns = [list(some) for forms in read for some in itertools.product(*((form, zero) for form in forms))]
    return found


def evaluated(network, x):
    *hidden, last = [weights(layer) for layer in network["layers"]]
    for layer in hidden:
        x = [max(Fraction(0), dot(row, x)) for row in layer]
    return [dot(row, x) for row in last]


def meeting(planes, n):
    """The point on n hyperplanes, by elimination; None if they do not meet in one point."""
    rows = [list(row) for row in planes]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [v - rows[i][k] * w for v, w in zip(rows[i], rows[k], strict=True)]
    return [-row[-1] for row in rows]


def sides(corners):
    """The facets of a simplex, as forms that are at least 0 on it."""
    found, n = [], len(corners) - 1
    for k, other in enumerate(corners):
        on = [x for i, x in enumerate(corners) if i != k]
        rows = [[*x, Fraction(1)] for x in on]
        form = normal(rows, n + 1)
        found.append(form if dot(form, other) > 0 else [-v for v in form])
    return found


def normal(rows, width):
    """A vector that is orthogonal to one row less than its length: its entries are minors, with their signs."""
    return [(-1) ** k * determinant([[v for j, v in enumerate(row) if j != k] for row in rows]) for k in range(width)]


def determinant(matrix):
    if not matrix:
        return Fraction(1)
    first, *rest = matrix
    return sum((-1) ** k * v * determinant([row[:k] + row[k + 1 :] for row in rest]) for k, v in enumerate(first) if v)
