"""Proofs of kind "regions": all regions of a network in each piece, by cutting the piece with one neuron after another.

They exist for every network and every function, whatever the weights are and whoever made them, as long as the regions
are few; and what they show is the exact supremum of the difference. See docs/theory/certificates.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from cpwl.progress import Progress
from cpwl.proofs.entries import NoProof, NotRecognised
from cpwl.proofs.question import Proposal, Question, proof_head
from cpwl.proofs.refute import points_at
from cpwl_check.budget import Refused, limited
from cpwl_check.cones import Cone, minus, mix, region, rows_and_laws, simplex_cone
from cpwl_check.pieces import Law, Layers
from cpwl_check.regions import Body, Formula, Net, Place

_STEPS = 2 * 10**6  # of the checker's budget; a region takes some hundreds, or thousands where numbers are long
_LONG = 4 * 10**7  # about half a minute
_SAMPLES = 4_000  # points at which regions are counted before they are listed
_ZERO = 1e-9  # of the largest value of a neuron: what is less may be rounding
Part = tuple[Cone, list[list[int]]]  # a part of a piece, and what the neurons of a layer give there, then a constant


def propose_regions(question: Question, most: int) -> Iterator[Proposal]:
    """The regions of the network in each piece, if there are at most `most` of them in all."""
    if question.p.num_pieces > most:
        raise NotRecognised(f"the function has more than {most} pieces")
    if 2 * most <= _SAMPLES and seen_regions(question, _SAMPLES) > most:
        raise NotRecognised(f"the network has more than {most} regions in the pieces")
    law, layers = question.law, question.layers
    try:
        with limited(min(_STEPS + 1000 * most, _LONG)):  # a box of 20 inputs has a million corners
            document, worst = list_regions(law, layers, most, question.progress)
    except Refused as reason:
        raise NoProof(str(reason), points_at(question.p, reason.places)) from None
    yield Proposal(Fraction(document["error_bound"]), document, points=points_at(question.p, worst))


def seen_regions(question: Question, count: int) -> int:
    """Regions of the network that are seen in floats at so many random points of the pieces: there may be more.

    Means of more points than there are inputs are hardly ever on the border of two regions.

    >>> from cpwl import CPWL, Network
    >>> p = CPWL.from_breakpoints([-1, 0, 1], [1, 0, 1])
    >>> seen_regions(Question(p, Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])), 100)
    2
    """
    known, rng = np.unique(question.points, axis=0), np.random.default_rng(0)
    if not len(known):
        return 0
    chosen = rng.integers(len(known), size=(count, known.shape[1] + 2))
    chosen = chosen[(chosen != chosen[:, :1]).any(axis=1)]
    x = np.einsum("ck,ckn->cn", rng.dirichlet(np.ones(chosen.shape[1]), len(chosen)), known[chosen])
    x = x[np.isfinite(question.p(x)).all(axis=1)]
    signs = [np.zeros((len(x), 1), dtype=bool)]
    for weight, bias in question.network.layers[:-1]:
        z = x @ weight.T + bias
        signs.append(z > _ZERO * np.abs(z).max(axis=0, initial=0.0))
        x = np.maximum(z, 0.0)
    return len(np.unique(np.packbits(np.concatenate(signs, axis=1), axis=1), axis=0))


def list_regions(
    law: Law, layers: Layers, most: int, progress: Progress | None = None
) -> tuple[dict[str, Any], list[list[int]]]:
    """The proof for a function, and the place ``(x w, w)`` where the network differs most from it, in a list; or none.

    `NotRecognised` for more than `most` regions, `Refused` with a direction where the difference has no bound.
    """
    network = Net(layers, law.n)

    def bodies() -> Iterator[tuple[Body, Cone]]:
        for j, piece in enumerate(law.pieces):
            rows, laws = rows_and_laws(piece)
            body = Body(rows, [(0,) * (law.n + 1)], network, Formula(laws), f"piece {j}")
            yield body, simplex_cone(piece.corners) if piece.corners else _section(body)
            if progress is not None:
                progress(j + 1, len(law.pieces), "regions of the network in each piece")

    return _listed(law.n, bodies(), [network], most)


def list_common_regions(
    first: Layers, second: Layers, n: int, domain: list[list[int]], most: int
) -> tuple[dict[str, Any], list[list[int]]]:
    """The same for two networks, where all rows of the domain are at least 0."""
    one, two = Net(first, n), Net(second, n)
    body = Body(domain, [(0,) * (n + 1)], two, one, "domain")
    return _listed(n, ((each, _section(each)) for each in [body]), [one, two], most)


def _listed(
    n: int, bodies: Iterable[tuple[Body, Cone]], networks: list[Net], most: int
) -> tuple[dict[str, Any], list[list[int]]]:
    number: dict[Place, int] = {}
    pieces, worst, off, count = list[list[list[int]]](), list[list[int]](), Fraction(0), 0
    for body, whole in bodies:
        cells = _cells_in(whole, networks, most - count)
        for cell in cells:
            for place in cell:
                try:
                    found = body.difference(tuple(place)) / (place[-1] or 1)
                except Refused as reason:
                    raise Refused(str(reason), [*(g for g in cell if g[-1]), *reason.places]) from None
                if found > off:
                    off, worst = found, [place]
        count += len(cells)
        pieces.append([[number.setdefault(tuple(g), len(number)) for g in cell] for cell in cells])
    return proof_head("regions", n, off) | {"places": [list(x) for x in number], "pieces": pieces}, worst


def _section(body: Body) -> Cone:
    """The piece, at 0 in the coordinates that are not needed to tell apart what network and rows tell apart."""
    unit = [[int(i == j) for i in range(body.n + 1)] for j in body.section()]
    return region(body.n, [*body.rows[1:], *unit, *map(minus, unit)])


def _cells_in(whole: Cone, networks: list[Net], most: int) -> list[list[list[int]]]:
    """The generators of the parts of a cone on which every neuron of every network keeps its sign.

    A part is cut by what a neuron reads on it, layer after layer. So cells that share a facet share its corners: what a
    neuron reads is continuous.
    """
    if not any(g[-1] for g, _ in whole.rays):
        return []
    n = len(whole.rays[0][0]) - 1
    parts = [whole]
    for network in networks:
        unit = [[int(i == j) for j in range(n + 1)] for i in range(n + 1)]
        found: list[Part] = [(part, unit) for part in parts]
        for rows, bias, d, _ in network.layers[:-1]:
            found = [new for part, forms in found for new in _layer(part, forms, rows, bias, d)]
            if len(found) > most:
                raise NotRecognised(f"the network has more than {most} regions in the pieces")
        parts = [part for part, _ in found]
    return [[g for g, _ in part.rays] for part in parts]


def _layer(part: Cone, forms: list[list[int]], rows: Any, bias: list[int], d: int) -> list[Part]:
    """The parts on which each neuron of one layer keeps its sign, with what they give: integers, up to one factor."""
    *inputs, one = forms
    todo: list[tuple[Cone, list[list[int]]]] = [(part, [])]
    for row, b in zip(rows, bias, strict=True):
        form = [b * x for x in one]
        for j, w in row:
            form = [u + w * v for u, v in zip(form, inputs[j], strict=True)]
        new = []
        for cone, given in todo:
            side = cone.side(form)
            if side:
                new.append((cone, [*given, form if side > 0 else [0] * len(form)]))
            else:
                cut = mix(1, form, 0, form)
                new += [(cone.cut(cut), [*given, form]), (cone.cut(minus(cut)), [*given, [0] * len(form)])]
        todo = new
    found = []
    for cone, given in todo:
        scaled = [*given, [d * x for x in one]]
        divisor = math.gcd(*(x for form in scaled for x in form))
        found.append((cone, [[x // divisor for x in form] for form in scaled]))
    return found
