"""A function and a network as the stand-alone checker reads them; what `save` writes says the same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from cpwl.exact.rational import text
from cpwl.function import CPWL
from cpwl.network import Network
from cpwl.network.network import exact_layers

__all__ = ["function_document", "network_document"]


def function_document(p: CPWL) -> dict[str, Any]:
    """The pieces of a function, or its table, with every number exact.

    >>> p = CPWL.from_simplices([[0], [1]], [[0, 1]], [0, "1/3"])
    >>> document = function_document(p)
    >>> document["points"], document["simplices"], document["values"]
    ([[0], [1]], [[0, 1]], [[0], ['1/3']])
    """
    head: dict[str, Any] = {"format": "cpwl", "version": 1, "dim": p.dim, "outputs": p.outputs}
    if p.mesh is not None and p.domain is None:
        values = p.mesh.values if p.mesh.exact_values is None else p.mesh.exact_values
        return head | {
            "points": [[text(Fraction(v, x[-1])) for v in x[:-1]] for x in p.mesh.corners.tolist()],
            "simplices": p.mesh.simplices.tolist(),
            "values": [[text(Fraction(v)) for v in row] for row in values.tolist()],
        }
    rows, start, laws = p.polyhedra.integer().tolist(), p.polyhedra.start.tolist(), p.laws.integer().tolist()
    pieces = []
    for i, law in enumerate(laws):
        own = rows[start[i] : start[i + 1]]
        fractions = [[text(Fraction(v, output[-1])) for v in output[:-1]] for output in law]
        piece = {"A": [row[:-1] for row in own], "b": [row[-1] for row in own]}
        pieces.append(piece | {"gradient": [f[:-1] for f in fractions], "offset": [f[-1] for f in fractions]})
    return head | {"pieces": pieces}


def network_document(network: Network) -> dict[str, Any]:
    """The layers of a network, with every number exact.

    >>> network_document(Network([([["1/2", 0]], [1])]))["layers"]
    [{'rows': 1, 'columns': 2, 'bias': [1], 'entries': [[0, 0, '1/2']]}]
    """
    layers = []
    for weight, bias in exact_layers(network):
        places = zip(weight.rows.tolist(), weight.indices.tolist(), weight.data, strict=True)
        layers.append(
            {
                "rows": weight.shape[0],
                "columns": weight.shape[1],
                "bias": [text(v) for v in bias],
                "entries": [[i, j, text(v)] for i, j, v in places],
            }
        )
    head = {"format": "cpwl-network", "version": 1, "inputs": network.inputs, "outputs": network.outputs}
    return head | {"layers": layers}
