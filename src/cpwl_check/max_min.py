"""Check a proof that a network is a max of mins, kind "max-min".

**Theorem.** Let p have the law p_j on piece X_j. If

(1) output o of the network is ``max over rows B of min over m in B of f_m``, but for its first affine map: every neuron
    of a group reads exactly what the group says, and the values of the groups have these rows, `read_layer`, `sandwich`
(2) the first affine map is off by no more than E, `pieces.rounding`, on a box that contains every piece, or for all x,
(3) *below*: ``min_B <= p_j + e`` on X_j for every row B and every piece j, `sandwich`, `Piece.shortfall`
(4) *reach*: on every piece every point has a row with ``min_B >= p_j - e``, `reach`, `Piece.shortfall`
(5) the stated bound is at least e + E, `max_min`

then ``|network - p|`` is at most the stated bound on every piece. Why the theorem holds is in docs/proof.md.
"""

from fractions import Fraction
from typing import Any

from cpwl_check.budget import need, spend
from cpwl_check.pieces import Bound, Form, Law, Layers, Piece, Short, Vector, over_one, plus, rounding
from cpwl_check.reading import Rational, read

Value = tuple[int, frozenset[frozenset[int]], Form]  # sign and rows of a max of mins; its form in the neurons (or in x)


def read_layer(groups: list[Any], before: list[Value], layers: Layers, l: int) -> tuple[list[Value], list[list[Form]]]:
    """The values of the groups of layer `l`, and for each neuron of a group what it reads less what the group says."""
    level = {s * k: (s * sign, rows, plus({}, s, f)) for k, (sign, rows, f) in enumerate(before, 1) for s in (1, -1)}
    values, off = [], []
    for g, group in enumerate(groups):
        kind = "output" if l == len(layers) - 1 else "max" if type(group) is dict and "max" in group else "carry"
        few, many, where = {"max": 2}.get(kind, 1), {"max": 3, "carry": 2, "output": 1}[kind], f"layer {l}, {kind} {g}"
        references, neurons = read(group, {kind: [Any, few], "neurons": [range(len(layers[l])), many]}, where)
        need(all(type(r) is int and r in level for r in references), where, "there is no such value to refer to")
        (sign, rows, u), *others = [level[r] for r in references]
        for other, more, _ in others:
            need(sign == other, where, "a maximum of a positive and a negative value")
            sizes = [sum(map(len, some)) for some in (rows, more)]  # of all unions, their number squared in every layer
            spend(len(rows) * sizes[1] + len(more) * sizes[0] if sign < 0 else len(rows) + len(more), where)
            rows = rows | more if sign > 0 else frozenset(a | b for a in rows for b in more)
        spend(4 * sum(len(f) for _, _, f in (level[r] for r in references)), where)
        said = [*(plus(v, -1, u) for _, _, v in others), u, plus({}, -1, u)][:many]
        off.append([plus(layers[l][i], -1, form) for i, form in zip(neurons, said, strict=True)])
        need(l == 0 or not any(off[-1]), where, f"the neurons {neurons} do not read what it says")
        # s_i + s_j - s_k as a form; the same neuron may come twice
        values.append((sign, rows, {i: c for i in neurons if (c := neurons.count(i) - 2 * (i == neurons[-1]))}))
    return values, off


def reach(piece: Piece, tree: Any, law: Vector, rows: list[list[int]], f: dict[int, Vector], where: str) -> Short:
    """The least `e` for which the tree proves that every point of a piece has a row that is at least the law - e."""
    e, todo = (Fraction(0), where), [(tree, piece)]  # no recursion, which a deep tree would exhaust
    for node, region in todo:
        if (parts := region.cut(node, len(law[0]) - 1, where)) is not None:
            todo += parts
            continue
        i, entries = read(node, {"row": range(len(rows)), "members": [Any]}, where)
        for m, entry in zip(rows[i], read(entries, [Any, len(rows[i])], where), strict=True):
            e = max(e, region.shortfall(entry, [(1, f[m]), (-1, law)], f"{where}, member {m} of row {i}"))
    return e


def sandwich(claim: Any, o: int, meant: Value, components: list[Vector], pieces: list[Piece]) -> Short:
    """The least `e` for which *below* and *reach* are proved for output `o` and the rows that the network computes."""
    k, q, number = len(components), len(pieces), len(meant[1])
    shape = {"rows": [[range(k)], number], "below": [[Any, q], number], "reach": [Any, q]}
    rows, below, trees = read(claim, shape, f"output {o}")
    need(meant[:2] == (1, frozenset(map(frozenset, rows))), f"output {o}", "the network does not compute these rows")
    e, used = (Fraction(0), ""), set[int]().union(*rows)
    for j, piece in enumerate(pieces):
        spend(len(used) + sum(map(len, rows)), f"output {o}, piece {j}")
        law, f = piece.laws[o], {m: piece.vector(components[m]) for m in used}
        for i, row in enumerate(rows):
            members = {str(m): f[m] for m in row}
            e = max(e, piece.shortfall(below[i][j], [(1, law)], f"output {o}, row {i} below piece {j}", members))
        e = max(e, reach(piece, trees[j], law, rows, f, f"output {o}, reach on piece {j}"))
    return e


def max_min(law: Law, layers: Layers, proof: Any) -> Bound:
    """The proven bound of ``|network - function|``."""
    n, outputs = law.n, law.outputs
    head = {"format": "cpwl-proof", "version": 1, "kind": "max-min", "inputs": n, "error_bound": Any, "box": Any}
    body = {"components": [[Rational, n + 1]], "outputs": [Any, outputs], "wiring": [[Any], len(layers) - 1]}
    fields = head | body | {"output": [Any, outputs]}
    *_, stated, box, components, claims, wiring, output = read(proof, fields, "proof")
    values = [(1, frozenset([frozenset([m])]), {i: x for i, x in enumerate(f) if x}) for m, f in enumerate(components)]
    groups = [*wiring, [{"output": [r], "neurons": [o]} for o, r in enumerate(output)]]
    values, off = read_layer(groups[0], values, layers, 0)
    for l in range(1, len(layers)):
        values, _ = read_layer(groups[l], values, layers, l)
    forms = [over_one(f) for f in components]
    shown = [sandwich(claim, o, values[o], forms, law.pieces) for o, claim in enumerate(claims)]
    e, place = max(shown)
    a, b = rounding(off, box, n, law.pieces)
    bounds = read(stated if type(stated) is list else [stated, 0], [Rational, 2], "error_bound")
    need(e <= bounds[0], place, "this falls short by more than error_bound")
    fits = a + e <= bounds[0] < 10**300 and b <= bounds[1] < 10**300
    wrong = [g for g, d in enumerate(off) if any(d)][:9]
    need(fits, "layer 0", f"groups {wrong} are off by more than error_bound")
    return (Fraction(bounds[0]), Fraction(bounds[1])) if type(stated) is list else Fraction(bounds[0])
