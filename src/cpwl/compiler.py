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
from cpwl.construct.gates import gates
from cpwl.construct.hinge import hinge
from cpwl.construct.lattice import lattice
from cpwl.construct.paper import paper
from cpwl.errors import ConstructionError, CpwlWarning, InputError
from cpwl.function import CPWL
from cpwl.function.doctor import examine
from cpwl.function.lineality import essential_coordinates, on_coordinates
from cpwl.function.order import Order, Progress, order_components
from cpwl.network import Network, Sizes, side_by_side
from cpwl.simplify.share import share_first_layer

__all__ = ["CONSTRUCTIONS", "Alternative", "Compiled", "compile"]

CONSTRUCTIONS = ("auto", "paper", "lattice", "hinge", "gates")
"""What `construction` may be."""
_MANY = 2_000_000  # decisions (pieces times components) that "auto" does not make where it has a smaller network


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another construction would have cost (None: not applicable), and whether it is right (None: not tested)."""

    neurons: int | None
    depth: int | None
    valid: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A network for a function, and how it compares."""

    network: Network
    construction: str
    """The construction that made the network."""
    sizes: Sizes
    bounds: dict[str, Bound]
    """The published bounds for this function, and the exact count of Algorithm 1 where its rows were computed."""
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
    work = _Work(p, check, executor, progress)
    built: dict[str, _Built] = {}
    alternatives: dict[str, Alternative] = {}
    for name in _candidates(p) if construction == "auto" else (construction,):
        if construction == "auto" and work.is_hopeless(name, built, minimize):
            continue
        try:
            built[name] = getattr(work, name)()
        except ConstructionError as error:
            if construction != "auto":
                raise
            wrong = False if name == "paper" else None
            alternatives[name] = Alternative(None, None, wrong, str(error).splitlines()[0])
    best = min(built, key=lambda name: (getattr(built[name].network.sizes, minimize), name))
    proof = None
    if certificate:
        best, proof = _first_proved(p, built, minimize)
    for name, other in built.items():
        if name != best:
            sizes = other.network.sizes
            alternatives[name] = Alternative(sizes.neurons, sizes.depth, True)
    counts = work.bounds()
    if "algorithm1" in counts and "paper" not in (*built, *alternatives):
        alternatives["paper"] = Alternative(counts["algorithm1"].neurons, counts["algorithm1"].layers, None)
    chosen = built[best]
    network = chosen.network
    return Compiled(network, best, network.sizes, counts, alternatives, proof, work.solves, chosen.splits)


def _candidates(p: CPWL) -> tuple[str, ...]:
    """What "auto" tries, in order. Float data has no exact bends: there the max-min forms carry proven bounds."""
    return ("lattice", "paper") if p.tol else ("hinge", "gates", "lattice", "paper")


def _first_proved(p: CPWL, built: dict[str, _Built], minimize: str) -> tuple[str, Certificate]:
    """The smallest network with a proof; if none has one, the smallest, with the reason."""
    order = sorted(built, key=lambda name: (getattr(built[name].network.sizes, minimize), name))
    proofs = []
    for name in order:
        proofs.append(certify(p, built[name].network))
        if proofs[-1].proved:
            return name, proofs[-1]
    return order[0], proofs[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    network: Network
    splits: int = 0


class _Work:
    """The constructions for one function, with the order of its components computed once, when first needed."""

    def __init__(self, p: CPWL, check: bool, executor: Executor | None, progress: Progress | None) -> None:
        self.p, self.check, self.executor, self.progress = p, check, executor, progress
        self._orders: list[Order] | None = None
        self.solves = 0

    def is_hopeless(self, name: str, built: dict[str, _Built], minimize: str) -> bool:
        """Whether a construction need not be tried: it cannot be smaller, or would take too long for what it gives."""
        if "hinge" in built:
            return True
        if not built:
            return False
        if name in ("lattice", "paper") and self.p.num_pieces * self.p.num_components > _MANY:
            return True
        if name != "paper":
            return False
        # The width of Algorithm 1 is known up to its bound only, and nonzeros not at all: then it is built.
        count = self.bounds()["algorithm1"]
        known = {"neurons": count.neurons, "depth": count.layers}.get(minimize, 0)
        return any(known >= getattr(other.network.sizes, minimize) for other in built.values())

    def orders(self) -> list[Order]:
        """Which components stay above and below the function on each piece, for each output."""
        if self._orders is None:
            coordinates = essential_coordinates(self.p)
            small = self.p if len(coordinates) == self.p.dim else on_coordinates(self.p, coordinates)
            self._orders = [
                order_components(small, j, executor=self.executor, progress=self.progress)
                for j in range(self.p.outputs)
            ]
            self.solves += sum(order.solves for order in self._orders)
        return self._orders

    def bounds(self) -> dict[str, Bound]:
        """The published bounds; with the exact count of Algorithm 1 if the order of components is known."""
        sizes = None
        if self._orders is not None:
            sizes = [[int(size) for size in order.above.sum(axis=1)] for order in self._orders]
        return _bounds(self.p, sizes)

    def hinge(self) -> _Built:
        return _Built(hinge(self.p))

    def gates(self) -> _Built:
        return _Built(gates(self.p))

    def lattice(self) -> _Built:
        made = [lattice(self.p, j, order=order, progress=self.progress) for j, order in enumerate(self.orders())]
        self.solves += sum(part.solves for part in made)
        return _Built(_join([part.network for part in made]), sum(part.splits for part in made))

    def paper(self) -> _Built:
        made = [
            paper(self.p, j, order=order, check=self.check, progress=self.progress)
            for j, order in enumerate(self.orders())
        ]
        return _Built(_join([network for network, _ in made]))


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
    report = examine(p, notes=False)
    report.check()
    flat = sorted({f.pieces[0] for f in report if f.kind in ("empty piece", "flat piece")})
    if not flat:
        return p
    names = ", ".join(str(i) for i in flat[:8]) + (", ..." if len(flat) > 8 else "")
    warnings.warn(f"pieces without interior were dropped: {names}", CpwlWarning, stacklevel=3)
    return p.take(np.setdiff1d(np.arange(p.num_pieces), flat))


def _bounds(p: CPWL, sizes: list[list[int]] | None) -> dict[str, Bound]:
    q, n = p.num_pieces, p.dim
    counts = [len(p.representatives(j)) for j in range(p.outputs)]
    known = {
        "theorem1": _side_by_side([bounds.theorem1(q) for _ in counts]),
        "theorem2": _side_by_side([bounds.theorem2(k, q) for k in counts]),
        "theorem3": _side_by_side([bounds.theorem3(n, k) for k in counts]),
    }
    if sizes is not None:
        known["algorithm1"] = _side_by_side([bounds.algorithm1(s) for s in sizes])
    return known


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
