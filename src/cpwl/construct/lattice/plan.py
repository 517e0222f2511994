"""The irredundant lattice of all outputs, lowered together: monotone expressions of components, few neurons.

Steps: which components stay above and below on each piece (`order`); pieces cut until one component tells any two apart
(`sides`); a small monotone expression that is right on all of them (`separate`); its operations put into layers
(`expression`), written as ReLUs (`circuit`) and lowered to a plain network (`schedule`). See docs/lattice.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction

from cpwl.construct.lattice.expression import Affine, arrange
from cpwl.construct.lattice.schedule import lower_values
from cpwl.construct.lattice.separate import Formula, separate
from cpwl.construct.lattice.sides import find_sides
from cpwl.construct.plan import Plan
from cpwl.function import CPWL
from cpwl.function.box import box_around
from cpwl.function.lineality import divided
from cpwl.function.order.order import Order, order_components
from cpwl.function.sample import sample
from cpwl.network import Network
from cpwl.progress import Progress

__all__ = ["SharedLattice", "plan_lattice", "shared_lattice"]

_MORE = (0, 1, 2, 4)  # layers beyond the fewest that are tried
_LARGE = 300  # leaves beyond which only the fewest are


@dataclass(frozen=True, slots=True, eq=False)
class SharedLattice:
    """The network for all outputs, the expression of each in its components, and what it took."""

    network: Network
    formulas: tuple[Formula, ...]
    splits: int
    solves: int


def plan_lattice(
    p: CPWL,
    *,
    orders: Sequence[Order] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The plan of `shared_lattice`; the search for a small expression is done here, its weights are all known then.

    >>> plan_lattice(CPWL.from_maxmin([[1, 0], [-1, 0]], [[0], [1]])).sizes.neurons
    2
    """
    made = shared_lattice(p, orders=orders, executor=executor, progress=progress)
    return Plan.of("lattice", made.network, sample(p).points)


def shared_lattice(
    p: CPWL,
    *,
    orders: Sequence[Order] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SharedLattice:
    """A plain network of maxima and minima of the components that is `p` on its domain, all outputs together.

    >>> p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    >>> made = shared_lattice(p)
    >>> str(made.formulas[0]), made.network
    ('max(0, min(1, 2))', Network(1 -> 1 -> 1 -> 1))
    """
    small = divided(p).function
    formulas, splits, solves = [], 0, 0
    for j in range(p.outputs):
        order = orders[j] if orders is not None else order_components(small, j, executor=executor, progress=progress)
        sides = find_sides(small, j, order, progress)
        formulas.append(separate(sides.above, sides.below, p.dim))
        splits, solves = splits + sides.splits, solves + sides.solves
    laws = [_laws(p, j) for j in range(p.outputs)]
    box = box_around(p)
    fewest = max(formula.depth for formula in formulas)
    most = max(formula.leaves - 1 for formula in formulas)
    tried = [
        lower_values([arrange(f, law, t) for f, law in zip(formulas, laws, strict=True)], p.dim, box)
        for t in sorted({min(fewest + more, most) for more in (_MORE if most < _LARGE else (0,))})
    ]
    network = min(tried, key=lambda net: (net.sizes.neurons, net.sizes.depth))
    return SharedLattice(network, tuple(formulas), splits, solves)


def _laws(p: CPWL, output: int) -> list[Affine]:
    rows = p.components(output).integer()[:, 0]
    return [Affine(tuple(Fraction(v, row[-1]) for v in row[:-1])) for row in rows]
