"""One function, how to compile it, and the facts that constructions read: each is computed once (`fact`).

All constructions read the same analysis, and so do `compile` and the lower bounds. Functions that belong to it (an
exact one near its data, the one without its lineality space, the one without flat pieces) are analyses in their turn;
where nothing changes they are the analysis itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.plan import DEFAULT, Options
from cpwl.errors import ConstructionError
from cpwl.function import CPWL
from cpwl.function.bends.planar import PlanarBends, find_bends, with_edges_only
from cpwl.function.bends.profile import Profile, profile_of
from cpwl.function.bends.table import Neighbours, Table, bend_planes, neighbours, table_of
from cpwl.function.domain import box_around
from cpwl.function.evaluate import Sample, sample
from cpwl.function.jump import largest_jump
from cpwl.function.lineality import Divided, divided
from cpwl.function.order import Order, order_components
from cpwl.function.snap.snap import undone
from cpwl.geometry.polyhedra import fact


@fact
def distinct_laws(p: CPWL) -> NDArray[np.object_]:
    """The distinct laws of all outputs together, as integers; of float data, those of one output."""
    if p.tol:
        every = [p.representatives(j) for j in range(p.outputs)]
        return p.laws.integer()[max(every, key=len)]
    first: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(map(tuple, p.laws.integer().reshape(p.num_pieces, -1))):
        first.setdefault(row, i)
    return p.laws.integer()[list(first.values())]


@dataclass(frozen=True, eq=False)  # without slots: `cached_property` keeps its values in the instance's dictionary
class Analysis:
    """One function, how to compile it, and what constructions ask about it.

    >>> known = Analysis(CPWL.from_maxmin([[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0], [1], [2]]))
    >>> known.exact is known, len(known.bends.lines), known.bends is known.bends
    (True, 3, True)
    """

    function: CPWL
    options: Options = DEFAULT

    @property
    def sample(self) -> Sample:
        """Points of the domain, and the range of the values."""
        return sample(self.function)

    @property
    def exact(self) -> Analysis:
        """The function itself, or for data with a tolerance an exactly consistent one near it (`CPWL.snap`).

        Raises `ConstructionError` where there is none.
        """
        if isinstance(self._exact, str):
            raise ConstructionError(self._exact, tol=self.function.tol)
        return self._exact

    @property
    def simplest(self) -> Analysis:
        """That analysis where there is one that has no more components, else the data as it is."""
        exact = self._exact
        if isinstance(exact, str) or exact.function.num_components > self.function.num_components:
            return self
        return exact

    @cached_property
    def _exact(self) -> Analysis | str:
        """That analysis, or why there is none: looked for once, found or not."""
        p = self.function
        if p.tol == 0:
            return self
        snapped = p.snap()
        if snapped.function is None:
            return f"no continuous function near this data was found: {snapped.reason}"
        return replace(self, function=snapped.function)

    @property
    def unavoidable(self) -> float:
        """What no function at all is nearer to the data than, relative to its range: half of its largest jump."""
        jump = largest_jump(self.function)
        return 0.0 if jump is None else float(jump.unavoidable) / self.sample.range

    @property
    def undone(self) -> Analysis | None:
        """For a table, or breakpoints, written as floats, the function with their rounding undone; else None."""
        function = undone(self.function) if self.function.floats else None
        return None if function is None else replace(self, function=function)

    @property
    def divided(self) -> Divided:
        """The function on coordinates that suffice to decide everything about it, and the way back."""
        return divided(self.function)

    @cached_property
    def essential(self) -> Analysis:
        """The function on these coordinates: without its lineality space."""
        return self if self.divided.is_whole else replace(self, function=self.divided.function)

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """Which components stay above and below the function on each piece, for each output."""
        if self.essential is not self:
            return self.essential.orders
        how = self.options
        every = range(self.function.outputs)
        return tuple(order_components(self.function, j, executor=how.executor, progress=how.progress) for j in every)

    @property
    def knows_orders(self) -> bool:
        """Whether the orders have been computed."""
        return "orders" in self.__dict__

    @property
    def row_sizes(self) -> list[list[int]]:
        """The lengths of Algorithm 1's rows for each output."""
        return [[int(size) for size in order.above.sum(axis=1)] for order in self.orders]

    @property
    def box(self) -> list[tuple[Fraction, Fraction]] | None:
        """The smallest box around all pieces; None if there is none."""
        return box_around(self.function)

    @property
    def neighbours(self) -> Neighbours:
        """Pairs of pieces that meet in a facet. Exact data."""
        return neighbours(self.function)

    @property
    def bend_planes(self) -> int:
        """On how many hyperplanes the function bends. Exact data."""
        return bend_planes(self.function)

    @property
    def profile(self) -> Profile:
        """The function as one of a single direction; `ConstructionError` if it bends in several. Exact data."""
        return profile_of(self.function)

    @property
    def distinct_laws(self) -> NDArray[np.object_]:
        """The distinct laws of all outputs together, as integers; of float data, those of one output."""
        return distinct_laws(self.function)

    @property
    def bends(self) -> PlanarBends:
        """The bends of a function of two inputs. Exact data."""
        return find_bends(self.function)

    @cached_property
    def solid(self) -> Analysis:
        """The function of two inputs on those of its pieces that have an interior. Exact data."""
        thick = with_edges_only(self.function)
        return self if thick.num_pieces == self.function.num_pieces else replace(self, function=thick)

    @property
    def table(self) -> Table:
        """The function of two inputs as a table of triangles on a bounded domain. Exact data."""
        return table_of(self.function)

    def kept(self) -> Analysis:
        """The same without what belongs to one run: options and orders."""
        return Analysis(self.function)
