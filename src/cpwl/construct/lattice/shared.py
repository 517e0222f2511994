"""The irredundant lattice of all outputs, lowered together: monotone expressions of components, few neurons.

Steps: which components stay above and below on each piece (`order`); pieces cut until one component tells any two apart
(`sides`); a small monotone expression that is right on all of them (`separate`); its operations put into layers
(`expression`), written as ReLUs (`atoms`) and lowered to a plain network (`schedule`). See docs/lattice.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from cpwl.construct.analysis import Analysis
from cpwl.construct.lattice.expression import Affine, arrange
from cpwl.construct.lattice.schedule import lower_values
from cpwl.construct.lattice.separate import Formula, separate
from cpwl.construct.lattice.sides import find_sides
from cpwl.function.snap.meant import meant_components
from cpwl.network import Network

__all__ = ["SharedLattice", "shared_lattice"]

_MORE = (0, 1, 2, 4)  # layers beyond the fewest that are tried
_LARGE = 300  # leaves beyond which only the fewest are


@dataclass(frozen=True, slots=True, eq=False)
class SharedLattice:
    """The network for all outputs, the expression of each in its components, and what it took."""

    network: Network
    formulas: tuple[Formula, ...]
    splits: int
    solves: int


def shared_lattice(analysis: Analysis) -> SharedLattice:
    """A plain network of maxima and minima of the components that is `p` on its domain, all outputs together.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0, right_slope=0)
    >>> made = shared_lattice(Analysis(p))
    >>> str(made.formulas[0]), made.network
    ('max(0, min(1, 2))', Network(1 -> 1 -> 1 -> 1))
    """
    p, small = analysis.function, analysis.essential.function
    formulas, splits, solves = [], 0, 0
    for j, order in enumerate(analysis.orders):
        sides = find_sides(small, j, order, analysis.options.progress)
        formulas.append(separate(sides.above, sides.below, p.dim))
        splits, solves = splits + sides.splits, solves + sides.solves
    laws = [[Affine(tuple(row)) for row in meant_components(p, j)] for j in range(p.outputs)]
    fewest = max(formula.depth for formula in formulas)
    most = max(formula.leaves - 1 for formula in formulas)
    tried = [
        lower_values([arrange(f, law, t) for f, law in zip(formulas, laws, strict=True)], p.dim, analysis.box)
        for t in sorted({min(fewest + more, most) for more in (_MORE if most < _LARGE else (0,))})
    ]
    network = min(tried, key=lambda net: (net.sizes.neurons, net.sizes.depth))
    return SharedLattice(network, tuple(formulas), splits, solves)
