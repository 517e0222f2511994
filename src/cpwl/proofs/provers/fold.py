"""Proofs of kind "fold": a network whose first layer maps the input into a part of the domain.

The folds of a function say what that layer, and all that is not the network of the part, must be; what is left is the
network of the part, which is proved by itself. See docs/fold.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.parts import Fold, folds
from cpwl.documents.write import function_document
from cpwl.errors import ConstructionError
from cpwl.exact.rational import fraction_array, text, to_float
from cpwl.exact.sparse import RationalMatrix
from cpwl.function import CPWL
from cpwl.function.sums import span_of
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.entries import NotRecognised
from cpwl.proofs.question import Proposal, Question, proof_head, same_weights
from cpwl_check.cones import Cone, outside, piece_cone, rows_and_laws
from cpwl_check.fold import Walk
from cpwl_check.pieces import Forms, Law, Vector, read_function, read_network

_NEAR = 1e-9  # of the longest number of a row: nearer to a facet, the image of a cell only touches it


def propose_fold(question: Question, prove: Callable[[Question], Proposal]) -> Iterator[Proposal]:
    """For each fold of the function that fits the network, its part with the proof that `prove` finds for it.

    >>> from cpwl import CPWL, compile
    >>> p = CPWL.from_grid([range(-6, 7)], [abs(k**3) % 11 for k in range(-6, 7)])
    >>> from cpwl.proofs.kinds import prove
    >>> prove("fold", Question(p, compile(p, construction="fold").network))["proof"]["kind"]
    'line'
    """
    p, network = question.p, question.network
    if len(network.layers) < 2:
        raise NotRecognised("the network has no hidden layer")
    try:
        every = folds(p)
    except ConstructionError as reason:
        raise NotRecognised(str(reason)) from None
    for fold in every:
        inner = inside(fold, network)
        if inner is None:
            continue
        asked = Question(fold.function, inner, progress=question.progress, executor=question.executor)
        found = prove(asked)
        hidden, outer, m = len(inner.layers) - 1, fold.outer, p.outputs
        own = [list(range(weight.shape[0])) for weight, _ in inner.layers[:-1]]
        reads = fraction_array(np.eye(m, dtype=np.int64)) if outer is None else outer.after[:, :m]
        law, part = read_function(question.function_document), read_function(asked.function_document)
        named = _Named(law, part, fold, read_network(question.network_document, law.n, law.outputs)[0])
        patches = [] if fold.middle is None else named.patches(fold.middle)
        fields = {
            "place": [[text(v) for v in row] for row in fold.place],
            "neurons": own[:hidden],
            "reads": [[text(v) for v in row] for row in reads],
            "network": asked.network_document,
            "function": asked.function_document,
            "patches": patches,
            "at": [named.of_piece(j) for j in range(len(law.pieces))],
            "proof": found.document,
        }
        yield Proposal(Fraction(0), proof_head("fold", p.dim) | fields)
        return
    raise NotRecognised("the network is not behind a fold of this function")


def inside(fold: Fold, network: Network) -> Network | None:
    """The network of the part that this one is made of; None if it is not made so."""
    layers, outer = exact_layers(network), fold.outer
    depth = len(layers) - (1 if outer is None else 2)
    if depth < (1 if outer is None else 2) or layers[0][0].shape[0] != len(fold.first):
        return None
    made: list[tuple[RationalMatrix, NDArray[np.object_]]] = []
    width = len(fold.first)
    for l, (weight, bias) in enumerate(layers[1 : depth + 1], start=1):
        more = 0 if outer is None else len(outer.values) + (len(outer.second) if l == 1 else 0)
        count = fold.function.outputs if l == depth else weight.shape[0] - more
        if count < 0 or count > weight.shape[0]:
            return None
        keep = (weight.rows < count) & (weight.indices < width)
        table = RationalMatrix.from_triples(weight.rows[keep], weight.indices[keep], weight.data[keep], (count, width))
        level = bias[:count]
        if l == depth and outer is not None:  # what is carried beside is less than its neurons
            level = level - outer.after[:count, count:].dot(np.array([*outer.low, Fraction(1)], dtype=object))
        if l == 1:
            table = table @ _right_inverse(fold.place[:, :-1])
            level = level - table @ fold.place[:, -1]
        made.append((table, level))
        width = count
    found = Network(made)
    return found if same_weights(fold.network(found), network) else None


def _right_inverse(matrix: NDArray[np.object_]) -> RationalMatrix:
    """A matrix with which the product is the identity: some columns are independent."""
    n, k = matrix.shape
    _, columns = span_of(matrix)
    unit = np.eye(n, dtype=np.int64).astype(object)
    reduced, _ = span_of(np.column_stack([matrix[:, columns], unit]))
    made = np.zeros((k, n), dtype=object) + Fraction(0)
    made[columns] = reduced[:, n:]
    return RationalMatrix.from_dense(made)


class _Named:
    """Which pieces of the part the fold maps some of a piece into: floats propose, the checker's own walk decides."""

    def __init__(self, law: Law, own: Law, fold: Fold, first: Forms) -> None:
        self.law = law
        self.walk = Walk([first], 1, [], fold.place.tolist(), own)
        self.laws = [rows_and_laws(piece)[1] for piece in law.pieces]
        self.patched: list[tuple[list[list[int]], list[Vector]]] = []
        rows = [self.walk.piece(k)[0] for k in range(len(own.pieces))]
        self.start = np.concatenate([[0], np.cumsum([len(r) for r in rows])[:-1]]).astype(np.int64)
        exact = np.array([row for some in rows for row in some], dtype=object)
        self.rows = to_float(fraction_array(exact) / np.abs(exact).max(axis=1)[:, None])

    def patches(self, middle: CPWL) -> list[dict[str, Any]]:
        """The pieces of this function as patches, if a piece of the whole has their law."""
        stated = function_document(middle)
        made = list[dict[str, Any]]()
        for each, piece in zip(stated["pieces"], read_function(stated).pieces, strict=True):
            rows, laws = rows_and_laws(piece)
            if laws in self.laws:
                self.patched.append((rows, laws))
                at = self.of(piece_cone(piece, self.law.n), f"patch {len(made)}")
                made.append({"A": each["A"], "b": each["b"], "piece": self.laws.index(laws), "at": at})
        return made

    def of_piece(self, j: int) -> list[int]:
        """The numbers of these pieces, for a piece of the function outside the patches."""
        found = dict[int, None]()
        same = [rows for rows, laws in self.patched if laws == self.laws[j]]
        for part in outside(piece_cone(self.law.pieces[j], self.law.n), same):
            found |= dict.fromkeys(self.of(part, f"piece {j}"))
        return list(found)

    def of(self, cone: Cone, where: str) -> list[int]:
        """The numbers of these pieces, for a region."""
        found = dict[int, None]()
        for part, h in self.walk.begun(cone, where):
            y = self.walk.read(self.walk.place, h)
            found |= dict.fromkeys(k for _, k in self.walk.located(part, y, self._near(part, y), where))
        return list(found)

    def _near(self, part: Cone, y: list[Vector]) -> list[int]:
        """Pieces that may meet the image of a cell, those that seem to hold all of it first."""
        form = np.array([row for row, _ in y] + [[0] * self.law.n + [1]], dtype=object)
        size = fraction_array(np.array([d for _, d in y] + [1], dtype=object))
        image = np.array(part.generators(), dtype=object).dot(form.T) / size
        view = to_float(image / np.abs(image).max(axis=1)[:, None])
        height = self.rows @ view.T
        high, low = height.max(axis=1), height.min(axis=1)
        apart = np.logical_or.reduceat((high < _NEAR) & (low < -_NEAR), self.start)
        worst = np.minimum.reduceat(low, self.start)
        meet = np.flatnonzero(~apart)
        return [int(k) for k in meet[np.argsort(-worst[meet], kind="stable")]]
