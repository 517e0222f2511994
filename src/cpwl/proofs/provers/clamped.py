"""Proofs of kind "clamped": which neurons are the two halves of a bump, read off the weights and the table.

A half is positive at the corners of its cluster and at no other corner, so the two halves of a bump are those that are
positive at the same corners. What the bump is, and that it is 0 elsewhere, is found out and decided by the stand-alone
checker. See docs/proof.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.rational import text
from cpwl.function.bends.table import Table, table_of
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.proofs.document import proof_head
from cpwl.proofs.no_proof import NotRecognised
from cpwl.proofs.question import Proposal, Question
from cpwl_check.clamped import Halves, whole
from cpwl_check.pieces import read_network

__all__ = ["propose_clamped"]

_CLOSE = 1e-6  # of the size of the terms: values nearer to 0 are looked at exactly


def propose_clamped(question: Question) -> Iterator[Proposal]:
    """The bumps of a network of clamped gates; `NotRecognised` for other networks."""
    p, network = question.p, question.network
    if p.dim != 2 or len(network.layers) < 4:
        raise NotRecognised("clamped gates have two inputs, and three hidden layers or more")
    rows = _rows(network)
    try:
        table = table_of(p)
    except (ConstructionError, LimitError) as reason:
        raise NotRecognised(f"there is no table for clamped gates: {reason}") from None
    corners = _positive_corners(question, table)
    bumps = [entry for d, row in rows.items() for entry in _bumps(d, row, corners, table)]
    boundary = table.lines[list(table.boundary)] * np.array(table.inward, dtype=object)[:, None]
    document = {
        **proof_head("clamped", 2),
        "limits": [[-a, -b, c] for a, b, c in boundary.tolist()],
        "points": [[text(Fraction(v, w)) for v in x] for *x, w in table.places.tolist()],
        "bumps": bumps,
    }
    yield Proposal(Fraction(0), document)


def _rows(network: Network) -> dict[int, dict[int, int]]:
    """The neurons of the last hidden layer that take first halves less second ones, and those with their signs."""
    weight, bias = exact_layers(network)[-2]
    rows: dict[int, dict[int, int]] = {i: {} for i in range(weight.shape[0])}
    for i, j, value in zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True):
        if value not in (1, -1):
            raise NotRecognised(f"neuron {i} of the last hidden layer has a weight that is not 1 or -1")
        rows[i][j] = int(value)
    if bias.any():
        raise NotRecognised("the last hidden layer has a bias")
    second = {j for row in rows.values() for j, sign in row.items() if sign < 0}
    # What reads second halves only, and adds them up, carries them.
    return {i: row for i, row in rows.items() if not (row.keys() <= second and min(row.values(), default=1) > 0)}


def _positive_corners(question: Question, table: Table) -> list[frozenset[int]]:
    """For each half the corners of the table at which it is positive: floats first, integers where they cannot tell."""
    network = question.network
    x = (table.places[:, :2] / table.places[:, 2:]).astype(np.float64).T
    for weight, bias in network.layers[:-3]:
        x = np.maximum(weight @ x + bias[:, None], 0.0)
    weight, bias = network.layers[-3]
    value, size = weight @ x + bias[:, None], abs(weight) @ x + np.abs(bias)[:, None]
    layers = read_network(question.network_document, 2, network.outputs)
    halves = Halves(whole(layers, 2), 2)
    known: list[dict[Any, int]] = [{} for _ in table.places]
    places = [[int(v) for v in place] for place in table.places.tolist()]
    found: list[set[int]] = [set() for _ in range(len(value))]
    for i, v in zip(*(k.tolist() for k in np.nonzero(value > -_CLOSE * size)), strict=True):
        if value[i, v] > _CLOSE * size[i, v] or halves.value(halves.top, i, places[v], known[v]) > 0:
            found[i].add(v)
    return [frozenset(own) for own in found]


def _bumps(neuron: int, row: dict[int, int], corners: list[frozenset[int]], table: Table) -> list[dict[str, Any]]:
    """The bumps that a neuron takes: halves that are positive at the same corners, and the triangles at these."""
    second = {corners[j]: j for j, sign in row.items() if sign < 0}
    bumps = []
    for i, own in ((i, corners[i]) for i, sign in row.items() if sign > 0):
        other = second.pop(own, None)
        star = np.flatnonzero(np.isin(table.triangles, list(own)).any(axis=1))
        if len(star) == 0:
            raise NotRecognised(f"half {i} is positive at no corner")
        halves = [i] if other is None else [i, other]
        bumps.append({"neuron": neuron, "halves": halves, "triangles": table.triangles[star].tolist()})
    if second:
        raise NotRecognised(f"halves {list(second.values())} have no partner")
    return bumps
