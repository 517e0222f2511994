"""Answers: values with the points that show them, and yes or no with a witness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function.doctor.report import point_text

__all__ = ["Answer", "Distance", "Extremum", "Lipschitz", "Range", "number_text"]

Point = NDArray[np.object_]


def number_text(value: Any) -> str:
    """A number for people: in full if it is short, else about six digits.

    >>> number_text(Fraction(1, 3)), number_text(Fraction(10**40, 7)), number_text(math.inf)
    ('1/3', '1.42857e+39', 'inf')
    """
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() < 50:
        return str(value)
    return f"{float(value):.6g}"


@dataclass(frozen=True, slots=True, eq=False)
class Extremum:
    """The largest or least value of an output, and where.

    If there is none the value is infinite: the function goes on without bound from `point` along `ray`.
    """

    value: Fraction | float
    point: Point
    ray: Point | None
    piece: int
    """The piece of the function where it is."""
    moved: float = 0.0
    """For float data how far the exact function that was asked is from it, relative (`CPWL.snap`)."""
    complete: bool = True
    """False: limits ended the search, and this is the best value that was seen."""

    def __str__(self) -> str:
        where = f"at x = {point_text(self.point)}" + ("" if self.complete else ", undecided: not all regions were seen")
        if self.ray is None:
            return f"{number_text(self.value)} {where}"
        return f"unbounded from x = {point_text(self.point)} along {point_text(self.ray)}"


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """All values of an output lie between `low` and `high`, and both are attained unless they are infinite."""

    argmin: Extremum
    argmax: Extremum

    @property
    def low(self) -> Fraction | float:
        """The least value."""
        return self.argmin.value

    @property
    def high(self) -> Fraction | float:
        """The largest value."""
        return self.argmax.value

    def __str__(self) -> str:
        return f"[{number_text(self.low)}, {number_text(self.high)}]"


@dataclass(frozen=True, slots=True, eq=False)
class Lipschitz:
    """The least `L` with ``|f(a) - f(b)| <= L |a - b|``: between `low` and `high`, equal for rational `L`.

    In the Euclidean norm `L` may be a root: then `square` is its square if that is rational.
    """

    low: Fraction
    high: Fraction
    square: Fraction | None
    norm: Any
    piece: int
    points: tuple[Point, Point]
    """Two points of that piece for which it is attained; of several outputs in the Euclidean norm, `low` is."""
    moved: float = 0.0
    complete: bool = True
    """False: limits ended the search, and only `low` is proved."""

    def __float__(self) -> float:
        return math.sqrt(self.square) if self.square is not None else float(self.high)

    def __str__(self) -> str:
        value = number_text(self.high) if self.low == self.high else f"{float(self):.12g}"
        value += "" if self.complete else " at least, undecided: not all regions were seen,"
        return f"{value} on piece {self.piece}, between {point_text(self.points[0])} and {point_text(self.points[1])}"


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Yes, no, or undecided within the limits; true in a condition only if it is a proved yes."""

    holds: bool | None
    reason: str
    points: tuple[Point, ...] = ()
    """What shows a no: points of the domain."""
    values: tuple[Point, ...] = ()
    """The values of the function there."""
    slack: Fraction = Fraction(0)
    """For float data: by how much a slope, or its change, speaks against a yes; within the tolerance of the data."""
    moved: float = 0.0

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        word = {True: "yes", False: "no", None: "undecided"}[self.holds]
        return f"{word}: {self.reason}"


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """How far two functions are apart where both are defined, in the largest of the outputs."""

    largest: Fraction | float
    """The largest gap; infinite if there is no bound."""
    point: Point
    """Where it is attained."""
    mean: Fraction | None
    """The mean gap over the common domain; None if that is not bounded."""

    def __str__(self) -> str:
        mean = "" if self.mean is None else f", {number_text(self.mean)} in the mean"
        return f"at most {number_text(self.largest)}, at x = {point_text(self.point)}{mean}"
