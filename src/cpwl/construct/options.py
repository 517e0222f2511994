"""What a caller may ask of a compile, beside the function: what to make small, how accurate, and how to work."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

from cpwl.progress import Progress

__all__ = [
    "DEFAULT",
    "PRECISIONS",
    "ConstructionName",
    "Minimize",
    "Options",
    "Outside",
    "Precision",
    "Weights",
    "default_error",
]

ConstructionName = Literal[
    "auto", "hinge", "univariate", "sums", "gates", "columns", "windows", "clamped", "strips", "lattice", "paper"
]
"""How to build a network (`cpwl.construct.table`)."""
Minimize = Literal["neurons", "depth", "width", "nonzeros"]
"""What "auto" makes small."""
Precision = Literal["float64", "float32", "exact"]
"""The arithmetic in which the network will be evaluated."""
Weights = Literal["exact", "float64", "float32"]
"""With what weights a network is proved: as they are, or rounded to a type."""
Outside = Literal["free", "clip", "error"]
"""What is done with points outside a bounded domain."""
PRECISIONS: dict[str, tuple[float, float]] = {
    "float64": (2.0**-53, 1e-9),
    "float32": (2.0**-24, 1e-5),
    "exact": (0.0, 0.0),
}
"""The unit roundoff of each precision, and the error, relative to the range of the function, that is allowed."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile; the defaults predict no rounding error and work alone and in silence."""

    minimize: Minimize = "neurons"
    precision: Precision = "exact"
    max_error: float = 0.0
    """The largest error, relative to the range of the function, that is allowed."""
    check: bool = True
    """Whether Algorithm 1's rows are tested."""
    executor: Executor | None = None
    progress: Progress | None = None

    def __reduce__(self) -> tuple[type[Options], tuple[object, ...]]:
        """An executor and a progress bar stay in their process."""
        return Options, (self.minimize, self.precision, self.max_error, self.check)


DEFAULT = Options()
"""Nothing was said."""


def default_error(precision: Precision) -> float:
    """What `max_error` is where nothing is said.

    >>> default_error("float32")
    1e-05
    """
    return PRECISIONS[precision][1]
