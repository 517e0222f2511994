"""Which construction "auto" takes, and why: the smallest among those that are accurate enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from cpwl.construct.plan import Plan
from cpwl.network import Sizes

__all__ = ["PRECISIONS", "Candidate", "Choice", "Minimize", "Precision", "default_error", "predicted_error", "select"]

Minimize = Literal["neurons", "depth", "width", "nonzeros"]
Precision = Literal["float64", "float32", "exact"]
PRECISIONS: dict[str, tuple[float, float]] = {
    "float64": (2.0**-53, 1e-9),
    "float32": (2.0**-24, 1e-5),
    "exact": (0.0, 0.0),
}
"""The unit roundoff of each precision, and the error, relative to the range of the function, that is allowed."""
_SAFETY = 3.0  # predictions are right up to about this factor


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A construction with its plan and the error predicted for it, relative to the range of the function."""

    plan: Plan
    error: float

    @property
    def sizes(self) -> Sizes:
        """What the network will cost."""
        return self.plan.sizes


@dataclass(frozen=True, slots=True)
class Choice:
    """All that were planned, the best first, and why that one is the best."""

    candidates: tuple[Candidate, ...]
    reason: str
    accurate: bool
    """Whether the best is predicted to be accurate enough."""

    @property
    def best(self) -> Candidate:
        """The first."""
        return self.candidates[0]


def default_error(precision: Precision) -> float:
    """What `max_error` is where nothing is said.

    >>> default_error("float32")
    1e-05
    """
    return PRECISIONS[precision][1]


def predicted_error(plan: Plan, precision: Precision, size: float) -> float:
    """The rounding error that a network will have, relative to the size of the values; 0 in exact arithmetic."""
    unit = PRECISIONS[precision][0]
    return _SAFETY * unit * plan.magnitude / size if unit else 0.0


def select(candidates: Iterable[Candidate], minimize: Minimize, max_error: float) -> Choice:
    """The smallest that is predicted to be accurate enough; if none is, the most accurate.

    >>> from cpwl.network import Network
    >>> def plan(name, neurons, size):
    ...     return Candidate(Plan(name, Sizes(neurons, 2, neurons, 9), 1.0, lambda: Network([([[1]], [0])])), size)
    >>> choice = select([plan("gates", 7, 1e-7), plan("lattice", 9, 1e-12)], "neurons", 1e-9)
    >>> choice.best.plan.construction, choice.reason
    ('lattice', 'fewest neurons within 1e-09')
    """
    every = list(candidates)
    good = [c for c in every if c.error <= max_error]
    poor = [c for c in every if c.error > max_error]
    good.sort(key=lambda c: (getattr(c.sizes, minimize), c.sizes.neurons, c.sizes.depth, c.plan.construction))
    poor.sort(key=lambda c: (c.error, getattr(c.sizes, minimize), c.plan.construction))
    order = (*good, *poor)
    few = {
        "neurons": "fewest neurons",
        "depth": "fewest layers",
        "width": "smallest width",
        "nonzeros": "fewest weights",
    }
    if not good:
        return Choice(order, f"none is predicted to be within {max_error:.3g}; this is the most accurate", False)
    return Choice(order, few[minimize] + (f" within {max_error:.3g}" if max_error else ""), True)
