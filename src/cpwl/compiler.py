"""`compile`: the one place that knows the order of steps from function to network."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cpwl import bounds
from cpwl.bounds import Bound
from cpwl.certify.prove import Certificate, certify
from cpwl.construct.lattice import lattice
from cpwl.construct.paper import paper
from cpwl.errors import ConstructionError, CpwlWarning, InputError
from cpwl.function import CPWL
from cpwl.function.lineality import essential_coordinates, on_coordinates
from cpwl.function.order import Order, Progress, order_components
from cpwl.network import Network, Sizes, side_by_side
from cpwl.simplify.share import share_first_layer

__all__ = ["CONSTRUCTIONS", "Alternative", "Compiled", "compile"]

CONSTRUCTIONS = ("auto", "paper", "lattice")
"""What `construction` may be."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another construction would have cost, and whether it computes the function (None: not tested)."""

    neurons: int
    depth: int
    valid: bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A network for a function, and how it compares."""

    network: Network
    construction: str
    """The construction that made the network."""
    sizes: Sizes
    bounds: dict[str, Bound]
    """The published bounds for this function, and the exact count of Algorithm 1, side by side."""
    alternatives: dict[str, Alternative]
    """What other constructions would have cost."""
    certificate: Certificate | None
    """The proof that the network equals the function, if it was asked for."""
    solves: int
    """How many linear programs the construction solved."""
    splits: int
    """How often a piece had to be split to make the max-min form right."""


def compile(
    p: CPWL,
    *,
    construction: str = "auto",
    minimize: Literal["neurons", "depth", "width", "nonzeros"] = "neurons",
    check: bool = True,
    certificate: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Compiled:
    """The smallest ReLU network we can build that computes `p` on its domain.

    `check` runs `p.doctor()` first and, for Algorithm 1, tests its rows afterwards. `certificate` proves the
    result (`certify`). `minimize` says what "auto" compares. `executor` shares out the decisions; `progress` is
    called with ``(done, total, what)``.

    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> compile(p).network([[-3.0], [2.0]])
    array([[3.],
           [2.]])
    """
    if construction not in CONSTRUCTIONS:
        names = ", ".join(f'"{name}"' for name in CONSTRUCTIONS)
        raise InputError(f'`construction` must be one of {names}, not "{construction}"')
    if minimize not in ("neurons", "depth", "width", "nonzeros"):
        raise InputError(f'`minimize` must be "neurons", "depth", "width" or "nonzeros", not "{minimize}"')
    if check:
        p = _healthy(p)
    coordinates = essential_coordinates(p)
    small = p if len(coordinates) == p.dim else on_coordinates(p, coordinates)
    orders = [order_components(small, j, executor=executor, progress=progress) for j in range(p.outputs)]
    counts = _bounds(p, [[int(size) for size in order.above.sum(axis=1)] for order in orders])
    built: dict[str, _Built] = {}
    alternatives: dict[str, Alternative] = {}
    if construction != "paper":
        made = [lattice(p, j, order=order, progress=progress) for j, order in enumerate(orders)]
        splits = sum(part.splits for part in made)
        built["lattice"] = _Built(_join([part.network for part in made]), sum(part.solves for part in made), splits)
    if construction != "lattice":
        _try_paper(p, orders, counts["algorithm1"], construction, check, minimize, built, alternatives, progress)
    best = min(built, key=lambda name: (getattr(built[name].network.sizes, minimize), name))
    chosen = built[best]
    for name, other in built.items():
        if name != best:
            sizes = other.network.sizes
            alternatives[name] = Alternative(sizes.neurons, sizes.depth, True)
    network = chosen.network
    proof = certify(p, network) if certificate else None
    return Compiled(network, best, network.sizes, counts, alternatives, proof, chosen.solves, chosen.splits)


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    network: Network
    solves: int
    splits: int


def _try_paper(
    p: CPWL,
    orders: list[Order],
    count: Bound,
    construction: str,
    check: bool,
    minimize: str,
    built: dict[str, _Built],
    alternatives: dict[str, Alternative],
    progress: Progress | None,
) -> None:
    """Algorithm 1, if it was asked for; for "auto", only where it would be smaller and is right."""
    if construction == "auto":
        # The width of Algorithm 1 is known up to its bound only, and nonzeros not at all: then it is built.
        known = {"neurons": count.neurons, "depth": count.layers}.get(minimize, 0)
        if known >= getattr(built["lattice"].network.sizes, minimize):
            alternatives["paper"] = Alternative(count.neurons, count.layers, None)
            return
    try:
        made = [paper(p, j, order=order, check=check, progress=progress) for j, order in enumerate(orders)]
    except ConstructionError:
        if construction == "paper":
            raise
        alternatives["paper"] = Alternative(count.neurons, count.layers, False)
        return
    built["paper"] = _Built(_join([part[0] for part in made]), sum(order.solves for order in orders), 0)


def _join(networks: list[Network]) -> Network:
    """One network an output, side by side, with what their first layers have in common shared."""
    if len(networks) == 1:
        return networks[0]
    first = [1 if len(n.layers) == 1 else n.layers[0][0].shape[0] for n in networks]
    depth = max(len(n.layers) for n in networks)
    first = [2 if len(n.layers) == 1 and depth > 1 else f for n, f in zip(networks, first, strict=True)]
    return share_first_layer(side_by_side(networks), first) if depth > 1 else side_by_side(networks)


def _healthy(p: CPWL) -> CPWL:
    """The function without pieces that have no interior; raises if anything is wrong with it."""
    report = p.doctor()
    report.check()
    flat = sorted({f.pieces[0] for f in report if f.kind in ("empty piece", "flat piece")})
    if not flat:
        return p
    names = ", ".join(str(i) for i in flat[:8]) + (", ..." if len(flat) > 8 else "")
    warnings.warn(f"pieces without interior were dropped: {names}", CpwlWarning, stacklevel=3)
    return p.take(np.setdiff1d(np.arange(p.num_pieces), flat))


def _bounds(p: CPWL, sizes: list[list[int]]) -> dict[str, Bound]:
    q, n = p.num_pieces, p.dim
    counts = [len(p.representatives(j)) for j in range(p.outputs)]
    return {
        "theorem1": _side_by_side([bounds.theorem1(q) for _ in counts]),
        "theorem2": _side_by_side([bounds.theorem2(k, q) for k in counts]),
        "theorem3": _side_by_side([bounds.theorem3(n, k) for k in counts]),
        "algorithm1": _side_by_side([bounds.algorithm1(s) for s in sizes]),
    }


def _side_by_side(parts: list[Bound]) -> Bound:
    """Bounds for several outputs, by the lemma on concatenation (padding with two neurons a layer)."""
    if len(parts) == 1:
        return parts[0]
    layers = max(part.layers for part in parts)
    return Bound(
        layers,
        sum(max(part.width, 2) for part in parts),
        sum(part.neurons + 2 * (layers - part.layers) for part in parts),
    )
