"""The answer of `equal`, and where two functions are farthest apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.answers import facts_html, point_text

Point = NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False)
class Apart:
    """A point where two functions differ, and how far apart they are as far as is known.

    `size` is the largest difference found, infinite where it grows without bound; unless it is infinite the
    difference at `point` is that.
    """

    point: Point
    size: Fraction | float
    values: tuple[Point | None, Point | None] | None = None
    """What both give there, where evaluating them would not say: pieces of rounded data may overlap."""
    pair: int = -1
    """Which of the pairs that were compared shows it."""


def farther(one: Apart | None, other: Apart | None) -> Apart | None:
    """The larger of two differences; the first one if they are equal."""
    if one is None or other is None:
        return other if one is None else one
    return other if other.size > one.size else one


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """Whether two networks or functions are equal on a domain.

    `equal` is True only if it was proved, False only if `witness` shows a difference, and None if limits ended
    the search. A verdict is true where equality was proved.
    """

    equal: bool | None
    witness: Point | None
    """A rational point where they differ; it attains the gap if the gap is known and finite."""
    values: tuple[Point | None, Point | None]
    """The exact values of both at the witness; None for a function that is not defined there."""
    gap: Fraction | float | None
    """The largest difference ``max |a - b|`` over the domain and all outputs, exactly; infinite if there is no bound;
    None if it was not computed."""
    regions: int
    """The number of linear regions on which the two were compared."""
    reason: str
    """The method of the decision, or why there is none."""

    def __bool__(self) -> bool:
        return self.equal is True

    def __str__(self) -> str:
        return self.statement

    def _repr_html_(self) -> str:
        """The verdict with its witness, for notebooks."""
        facts = {
            "regions compared": f"{self.regions:,}",
            "witness": None if self.witness is None else point_text(self.witness),
            "values there": None if self.witness is None else " and ".join(self._texts()),
            "largest difference": None if self.gap is None or self.equal else _size(self.gap),
        }
        return facts_html(self, facts)

    @property
    def statement(self) -> str:
        """The verdict in one sentence."""
        if self.equal is None:
            return f"undecided: {self.reason}"
        if self.equal:
            return f"equal: {self.reason}"
        assert self.witness is not None
        a, b = self._texts()
        size = ""
        if self.gap is not None:
            at = "without bound" if self.gap == math.inf else f"by at most {_size(self.gap)}, there"
            size = f"; they differ {at}"
        one, two = self.values
        if a == b and one is not None and two is not None:  # doubles do not tell them apart
            b += f", {_size(max(abs(u - v) for u, v in zip(one, two, strict=True)))} apart"
        return f"different: at x = {point_text(self.witness)} the first gives {a} and the second {b}{size}"

    def _texts(self) -> list[str]:
        """Both values with as many digits as it takes to tell them apart, where doubles can."""
        texts = ["nothing" if v is None else point_text(v) for v in self.values]
        if texts[0] == texts[1]:
            texts = [f"({', '.join(repr(float(x)) for x in v)})" for v in self.values if v is not None]
        return texts


def _size(gap: Any) -> str:
    if isinstance(gap, Fraction) and gap.denominator.bit_length() < 24 and gap.numerator.bit_length() < 24:
        return str(gap)
    return f"{float(gap):.6g}"
