"""`compile`: the one place that knows the order of steps from function to network."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cpwl import bounds
from cpwl.bounds import Bound
from cpwl.construct.order import Progress
from cpwl.construct.paper import paper
from cpwl.errors import CpwlWarning, InputError
from cpwl.function import CPWL
from cpwl.network import Network, Sizes, side_by_side
from cpwl.simplify.share import share_first_layer

__all__ = ["CONSTRUCTIONS", "Compiled", "compile"]

CONSTRUCTIONS = ("auto", "paper")
"""What `construction` may be. Until others exist, "auto" is "paper"."""


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A network for a function, and how it compares."""

    network: Network
    construction: str
    """The construction that made the network."""
    sizes: Sizes
    bounds: dict[str, Bound]
    """The published bounds for this function, and the exact count of Algorithm 1, side by side."""
    alternatives: dict[str, Sizes]
    """What other constructions would have cost."""
    certificate: None
    """The proof that the network equals the function, once it is made."""
    solves: int
    """How many linear programs the construction solved."""


def compile(
    p: CPWL,
    *,
    construction: str = "auto",
    minimize: Literal["neurons", "depth", "width", "nonzeros"] = "neurons",
    precision: Literal["float64", "float32", "exact"] = "float64",
    check: bool = True,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Compiled:
    """The smallest ReLU network we can build that computes `p` on its domain.

    `check` runs `p.doctor()` first and tests the construction's rows afterwards. `executor` shares out the
    decisions; `progress` is called with ``(done, total, what)``.

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
    if precision not in ("float64", "float32", "exact"):
        raise InputError(f'`precision` must be "float64", "float32" or "exact", not "{precision}"')
    if check:
        p = _healthy(p)
    built = [paper(p, j, check=check, executor=executor, progress=progress) for j in range(p.outputs)]
    network = built[0][0] if len(built) == 1 else share_first_layer(side_by_side([b[0] for b in built]))
    return Compiled(
        network,
        "paper",
        network.sizes,
        _bounds(p, [b[1] for b in built]),
        {},
        None,
        sum(b[2] for b in built),
    )


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
