"""Proofs of kind "line", for networks that bend in one direction, of any depth; the stand-alone checker decides.

Such a network is affine between places on a line, and the checker walks along it from neuron to neuron. The proof only
says which direction that is. See docs/proof.md.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.write import function_document, network_document
from cpwl.exact.integers import primitive
from cpwl.function import CPWL
from cpwl.network import Network
from cpwl.proofs.checkers.checker import Refused, check
from cpwl.proofs.provers.bends import NotProved

__all__ = ["bend_direction", "prove_line"]


def bend_direction(p: CPWL) -> NDArray[np.object_] | None:
    """The one direction of all differences of laws, as integers; None if there are several, or none.

    >>> bend_direction(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    array([1], dtype=object)
    """
    if p.dim == 1:
        return np.array([1], dtype=object)
    laws = p.laws.integer()
    differences = (laws[:, :, :-2] * laws[:1, :, -1:] - laws[:1, :, :-2] * laws[:, :, -1:]).reshape(-1, p.dim)
    bent = differences[(differences != 0).any(axis=1)]
    if len(bent) == 0:
        return None
    first = primitive(bent[:1])[0]
    c = int(np.argmax(first != 0))
    if ((bent * first[c] - bent[:, c : c + 1] * first) != 0).any():
        return None
    return np.asarray(first if first[c] > 0 else -first)


def prove_line(p: CPWL, network: Network) -> dict[str, Any]:
    """The proof document that `network` equals `p` on every piece; `NotProved` where the checker does not accept it.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> prove_line(p, network)["kind"]
    'line'
    """
    direction = bend_direction(p)
    if direction is None:
        raise NotProved("the function bends in several directions, or in none", [])
    document: dict[str, Any] = {"format": "cpwl-proof", "version": 1, "kind": "line", "inputs": p.dim}
    document |= {"error_bound": 0, "direction": [int(v) for v in direction]}
    try:
        check(function_document(p), network_document(network), document)
    except Refused as reason:
        raise NotProved(str(reason), _points(str(reason))) from None
    return document


def _points(message: str) -> list[Any]:
    """The points that the checker names."""
    return [[Fraction(v)] for v in re.findall(r"at x = \['([^']*)'\]", message)]
