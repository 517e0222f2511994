"""`compress`: the round trip from a network to its function and back, kept where it is smaller and proved."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cpwl.compiler import compile
from cpwl.equality import Verdict, equal
from cpwl.errors import CpwlWarning, InputError, LimitError
from cpwl.extract.cells import as_domain
from cpwl.extract.extract import extract
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network import Network, Sizes
from cpwl.simplify.passes import simplify

__all__ = ["Compressed", "compress"]

Progress = Callable[[int, int, str], None]

_REGIONS = 2_000  # regions up to which a network is taken apart and built anew
_PIECES = 4  # pieces a neuron: a network for more of them is hardly ever smaller than the one at hand


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """A network that is equal to another one and no larger."""

    network: Network
    verdict: Verdict
    """The proof that it equals the original on the domain."""
    before: Sizes
    after: Sizes
    method: str
    """How it was made: "simplify", "extract and compile", or "unchanged"."""


def compress(
    network: Network,
    *,
    domain: Any = None,
    max_regions: int = _REGIONS,
    progress: Progress | None = None,
) -> Compressed:
    """A smaller network that equals `network` on the domain, with a proof; itself if none is found.

    Two ways are tried: passes that drop, merge and fold neurons (`simplify`), and taking the network apart into at
    most `max_regions` linear regions and compiling the function that they make (`extract`, `compile`). The smallest
    result, by neurons and then nonzero weights, whose equality is proved (`equal`) is kept. Its weights may be
    rationals that no float holds.

    >>> wasteful = Network([([[1], [2], [-1], [0]], [0, 0, 0, 1]), ([[1, 1, -1, 5]], [0])])
    >>> found = compress(wasteful)
    >>> found.before.neurons, found.after.neurons, found.verdict.equal
    (4, 2, True)
    """
    if not isinstance(network, Network):
        raise InputError(f"only a network can be compressed, not a {type(network).__name__}")
    body = as_domain(domain, network.inputs)
    before = network.sizes
    found = [(method, other) for method, other in _candidates(network, body, max_regions, progress)]
    for method, other in sorted(found, key=lambda pair: _cost(pair[1])):
        if _cost(other) >= _cost(network):
            break
        verdict = equal(network, other, domain=body, progress=progress)
        if verdict.equal:
            return Compressed(other, verdict, before, other.sizes, method)
    return Compressed(network, equal(network, network), before, before, "unchanged")


def _cost(network: Network) -> tuple[int, int]:
    return network.sizes.neurons, network.sizes.nonzeros


def _candidates(
    network: Network, domain: Polyhedron | None, max_regions: int, progress: Progress | None
) -> Iterator[tuple[str, Network]]:
    """Networks for the same function, each made in its own way."""
    small = simplify(network, domain)
    yield "simplify", small
    if small.sizes.neurons == 0:
        return
    p = extract(small, domain=domain, max_regions=max_regions, exact=True, progress=progress)
    most = _PIECES * (small.sizes.neurons + _PIECES)
    if not p.complete or p.num_components > most:  # merging leaves at least one piece a law
        return
    p = p.merge()
    if p.num_pieces > most:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CpwlWarning)
            built = compile(p, precision="exact", check=False, progress=progress).network
    except LimitError:  # no construction applies
        return
    yield "extract and compile", simplify(built, domain)
