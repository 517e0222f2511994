"""All passes, one after the other, until none finds anything."""

from __future__ import annotations

from typing import Any

from cpwl.doors import check_argument, within_float64
from cpwl.geometry.polyhedra import Domain, as_domain
from cpwl.network import Network
from cpwl.network.network import assemble, exact_layers
from cpwl.passes.dependent import remove_dependent
from cpwl.passes.drop import drop_unused
from cpwl.passes.linear import fold_linear
from cpwl.passes.merge import merge_proportional
from cpwl.passes.rewrite import rebuilt
from cpwl.passes.stable import fold_stable

__all__ = ["simplify"]


@within_float64()
def simplify(network: Network, domain: Domain = None, *, box: tuple[Any, Any] | None = None) -> Network:
    """The same function on the domain, with as few neurons as the passes leave; its input if they find nothing.

    The function is kept exactly: a float network stays one if all its new weights are doubles, else it comes back with
    its rational weights beside. Every pass that changes something takes neurons away, so this ends.

    Parameters
    ----------
    network
        The network, also an imported one.
    domain, box
        Where the function is to be kept: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if
        neither is given.

    Returns
    -------
    Network
        The smaller network, or `network` itself.

    Examples
    --------
    >>> network = Network([([[1], [2], [-1]], [0, 0, 0]), ([[1, 1, -3]], [0])])
    >>> simplify(network)
    Network(1 -> 1)
    """
    check_argument(network, Network, "simplify")
    domain = as_domain(domain, network.inputs, box=box)
    work = assemble(network.layers, exact_layers(network))  # a float network is made rational once, not by every pass
    first = work
    while True:
        before = work
        work = drop_unused(work)
        work = merge_proportional(work)
        work = fold_stable(work, domain)
        work = fold_linear(work, domain)
        work = remove_dependent(work, domain)
        if work is before:
            return network if work is first else rebuilt(network, exact_layers(work))
