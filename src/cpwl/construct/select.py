"""Which construction "auto" takes, and why: the smallest among those that are accurate enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cpwl.construct.analysis import Analysis
from cpwl.construct.options import PRECISIONS, Minimize, Precision
from cpwl.construct.plan import Plan
from cpwl.errors import LimitError
from cpwl.network import Sizes

__all__ = ["SAFETY", "Candidate", "Choice", "predicted_error", "select"]

SAFETY = 2.0  # deviations: no error of a network was seen to be more (docs/theory/float_quality.md)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A construction with its plan and the error predicted for it, relative to the range of the function."""

    plan: Plan
    error: float

    @classmethod
    def of(cls, plan: Plan, analysis: Analysis) -> Candidate:
        """The plan with its error in the precision asked for; `LimitError` if that does not reach its weights."""
        options = analysis.options
        most = float(np.finfo(np.float32 if options.precision == "float32" else np.float64).max)
        if not plan.largest <= most:
            kind = "float64" if options.precision == "exact" else options.precision
            raise LimitError(f"a weight of size {plan.largest:.1g} cannot be written in {kind}")
        return cls(plan, predicted_error(plan, analysis.options.precision, analysis.sample.range))

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


def predicted_error(plan: Plan, precision: Precision, size: float) -> float:
    """The rounding error that a network will have, relative to the size of the values; 0 in exact arithmetic."""
    unit = PRECISIONS[precision][0]
    return SAFETY * unit * plan.magnitude / size if unit else 0.0


def select(candidates: Iterable[Candidate], minimize: Minimize, max_error: float) -> Choice:
    """The smallest that is predicted to be accurate enough; if none is, the most accurate; of equals the first.

    >>> from cpwl.network import Network
    >>> def plan(name, neurons, size):
    ...     return Candidate(Plan(name, Sizes(neurons, 2, neurons, 9), 1.0, 1.0, lambda: Network([([[1]], [0])])), size)
    >>> choice = select([plan("gates", 7, 1e-7), plan("lattice", 9, 1e-12)], "neurons", 1e-9)
    >>> choice.best.plan.construction, choice.reason
    ('lattice', 'fewest neurons within 1e-09')
    """
    every = list(candidates)
    good = [c for c in every if c.error <= max_error]
    poor = [c for c in every if c.error > max_error]
    good.sort(key=lambda c: (getattr(c.sizes, minimize), c.sizes.neurons, c.sizes.depth))
    poor.sort(key=lambda c: (c.error, getattr(c.sizes, minimize)))
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
