"""The table of constructions: what each is for, and how it plans a network. "auto", the command line and the tests
read it; what the constructions share for one function is computed once (`Workpiece`)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

from cpwl.construct.clamped.plan import plan_clamped
from cpwl.construct.exact_data import exact_function
from cpwl.construct.gates.plan import plan_gates
from cpwl.construct.hinge import hinge
from cpwl.construct.lattice.plain import lattice
from cpwl.construct.lattice.plan import shared_lattice
from cpwl.construct.paper import paper
from cpwl.construct.plan import Plan
from cpwl.construct.select import Candidate, Minimize, Precision, predicted_error, select
from cpwl.construct.strips.plan import plan_strips
from cpwl.construct.univariate.plan import plan_univariate
from cpwl.errors import ConstructionError
from cpwl.function import CPWL
from cpwl.function.lineality import divided, essential_coordinates
from cpwl.function.order.order import Order, order_components
from cpwl.function.sample import Sample, sample
from cpwl.network import Network
from cpwl.network.share import share_first_layer
from cpwl.network.side_by_side import side_by_side
from cpwl.progress import Progress

__all__ = ["TABLE", "Construction", "Workpiece"]

_SNAP = 200  # pieces of float data up to which an exact function near them is looked for


class Workpiece:
    """One function, with what several constructions ask about it."""

    def __init__(
        self,
        p: CPWL,
        *,
        minimize: Minimize = "neurons",
        precision: Precision = "exact",
        max_error: float = 0.0,
        check: bool = True,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.p, self.minimize, self.check, self.executor, self.progress = p, minimize, check, executor, progress
        self.precision, self.max_error = precision, max_error
        self.solves = 0
        self.splits = 0

    @cached_property
    def sample(self) -> Sample:
        """Points of the domain, and the range of the values."""
        return sample(self.p)

    @cached_property
    def exact(self) -> CPWL:
        """The function itself, or for data with a tolerance an exactly consistent one near it."""
        if self.p.tol and self.p.num_pieces > _SNAP:
            raise ConstructionError(
                f"{self.p.num_pieces} pieces of float data are too many to look for an exact function"
            )
        return exact_function(self.p)

    @cached_property
    def essential(self) -> int:
        """The dimension of the function without its lineality space."""
        return len(essential_coordinates(self.p))

    @cached_property
    def orders(self) -> list[Order]:
        """Which components stay above and below the function on each piece, for each output."""
        small = divided(self.p).function
        options = {"executor": self.executor, "progress": self.progress}
        found = [order_components(small, j, **options) for j in range(self.p.outputs)]  # type: ignore[arg-type]
        self.solves += sum(order.solves for order in found)
        return found

    @property
    def knows_orders(self) -> bool:
        """Whether the orders have been computed."""
        return "orders" in self.__dict__

    @property
    def row_sizes(self) -> list[list[int]]:
        """The lengths of Algorithm 1's rows for each output."""
        return [[int(size) for size in order.above.sum(axis=1)] for order in self.orders]

    def error(self, plan: Plan) -> float:
        """The rounding error predicted for a plan, relative to the range of the function."""
        return predicted_error(plan, self.precision, self.sample.range)

    def built(self, name: str, network: Network) -> Plan:
        """The plan of a network that had to be built to know its size."""
        return Plan.of(name, network, self.sample.points)


@dataclass(frozen=True, slots=True, eq=False)
class Construction:
    """A way from a function to a network."""

    name: str
    about: str
    plan: Callable[[Workpiece], Plan]


def _hinge(work: Workpiece) -> Plan:
    return work.built("hinge", hinge(work.exact))


def _univariate(work: Workpiece) -> Plan:
    return plan_univariate(work.exact, work.minimize)


def _gates(work: Workpiece) -> Plan:
    return plan_gates(work.exact, progress=work.progress)


def _clamped(work: Workpiece) -> Plan:
    return plan_clamped(work.exact)


def _strips(work: Workpiece) -> Plan:
    return plan_strips(work.exact)


def _lattice(work: Workpiece) -> Plan:
    made = shared_lattice(work.p, orders=work.orders, executor=work.executor, progress=work.progress)
    work.solves += made.solves
    work.splits += made.splits
    shared = work.built("lattice", made.network)
    if work.minimize != "depth" and work.error(shared) <= work.max_error:
        return shared
    # Sharing makes networks small and deep, and laws that nearly depend on each other may cancel: a plain tournament is
    # larger, may have fewer layers, and has weights 1 and -1 beyond its first layer.
    parts = [lattice(work.p, j, order=order, progress=work.progress) for j, order in enumerate(work.orders)]
    work.solves += sum(part.solves for part in parts)
    plain = work.built("lattice", _join([part.network for part in parts]))
    choice = select(
        [Candidate(shared, work.error(shared)), Candidate(plain, work.error(plain))], work.minimize, work.max_error
    )
    return choice.best.plan


def _paper(work: Workpiece) -> Plan:
    made = [
        paper(work.p, j, order=order, check=work.check, progress=work.progress) for j, order in enumerate(work.orders)
    ]
    return work.built("paper", _join([network for network, _ in made]))


def _join(networks: list[Network]) -> Network:
    """One network an output, side by side, with what their first layers have in common shared."""
    if len(networks) == 1:
        return networks[0]
    first = [1 if len(n.layers) == 1 else n.layers[0][0].shape[0] for n in networks]
    depth = max(len(n.layers) for n in networks)
    first = [2 if len(n.layers) == 1 and depth > 1 else f for n, f in zip(networks, first, strict=True)]
    return share_first_layer(side_by_side(networks), first) if depth > 1 else side_by_side(networks)


TABLE: dict[str, Construction] = {
    c.name: c
    for c in (
        Construction("hinge", "one hidden layer, one neuron a hyperplane, where the jumps are consistent", _hinge),
        Construction("univariate", "one direction of bends: one to three hidden layers", _univariate),
        Construction("gates", "linear in the pieces, any dimension", _gates),
        Construction("clamped", "plane, bounded: safe in float32, far terms are exactly 0", _clamped),
        Construction("strips", "plane, bounded: fewer neurons than pieces, for exact arithmetic", _strips),
        Construction("lattice", "max of mins, for few pieces in many dimensions and for float data", _lattice),
        Construction("paper", "Algorithm 1 as printed, with every row tested", _paper),
    )
}
"""The constructions in the order in which "auto" plans them."""
