"""Queries about the outputs of a network on a box, with their answers.

A VNN-LIB file describes counterexamples: inputs in the box whose outputs satisfy the assertion. It is *sat* if there is
one, so that the property fails, and *unsat* if there is none, so that it holds. If `v` is the largest value of an
output, then ``Y >= c`` is unsat for every ``c > v`` and sat, at the point where `v` is attained, for every ``c < v``;
for the least value the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from cpwl.targets.extremes import Extreme

__all__ = ["Query", "decimal", "queries_of_equivalence", "queries_of_ranges"]

Answer: TypeAlias = Literal["sat", "unsat"]
Point: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its answer.

    Attributes
    ----------
    name : str
        What its file is called.
    about : str
        The question, in words.
    assertion : str
        What a counterexample must satisfy, in VNN-LIB.
    answer : {"sat", "unsat"}
        Whether there is one.
    value : Fraction
        The exact extreme value that decides.
    threshold : Fraction
        What it is compared with.
    witness : tuple of Fraction, or None
        A counterexample.
    """

    name: str
    about: str
    assertion: str
    answer: Answer
    value: Fraction
    threshold: Fraction
    witness: Point | None


def queries_of_ranges(outputs: Sequence[Extreme], margin: Fraction) -> Iterator[Query]:
    """Four for each output: just beyond its largest and its least value, and just short of them."""
    for k, found in enumerate(outputs):
        step = margin * (max(found.high - found.low, abs(found.high), abs(found.low)) or 1)
        for end, value, point, sign in (("max", found.high, found.highest, 1), ("min", found.low, found.lowest, -1)):
            word, relation = ("largest", ">=") if sign > 0 else ("least", "<=")
            for answer, away in (("unsat", sign), ("sat", -sign)):
                threshold = _short(value, step, away)
                yield Query(
                    f"y{k}_{end}_{answer}",
                    f"the {word} value of Y_{k} on the box is {value}: is Y_{k} {relation} {float(threshold):.9g}?",
                    f"(assert ({relation} Y_{k} {decimal(threshold)}))",
                    answer,  # type: ignore[arg-type]
                    value,
                    threshold,
                    point if answer == "sat" else None,
                )


def queries_of_equivalence(outputs: Sequence[Extreme], margin: Fraction) -> Iterator[Query]:
    """Do two networks differ somewhere by so much? The outputs are those of their difference."""
    found = max(outputs, key=lambda e: max(e.high, -e.low))
    gap = max(found.high, -found.low)
    point = found.highest if found.high == gap else found.lowest
    cases: list[tuple[Answer, Fraction]] = [("unsat", _short(gap, margin * (gap or 1), 1))]
    if gap > 0:
        cases.append(("sat", _short(gap, margin * gap, -1)))
    for answer, threshold in cases:
        either = [
            f"(and (>= Y_{k} {decimal(threshold)})) (and (<= Y_{k} {decimal(-threshold)}))" for k in range(len(outputs))
        ]
        yield Query(
            f"equal_{answer}",
            f"the two networks differ by at most {gap} on the box: is it {float(threshold):.9g} or more somewhere?",
            f"(assert (or {' '.join(either)}))",
            answer,
            gap,
            threshold,
            point if answer == "sat" else None,
        )


def decimal(value: Fraction) -> str:
    """The number in decimals, all of them; the denominator must have no other factors than 2 and 5.

    >>> decimal(Fraction(-3, 8)), decimal(Fraction(5)), decimal(Fraction(1, 40))
    ('-0.375', '5.0', '0.025')
    """
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
        if digits > 1100:
            raise ValueError(f"{value} has no finite decimals")
    whole, rest = divmod(abs(value.numerator) * 10**digits // value.denominator, 10 ** max(digits, 1))
    if digits == 0:
        whole, rest = abs(value.numerator), 0
    return f"{'-' if value < 0 else ''}{whole}.{rest:0{max(digits, 1)}d}"


def _short(value: Fraction, step: Fraction, away: int) -> Fraction:
    """A number with few decimals, between half a step and a step above (`away` 1) or below (-1) the value."""
    digits = max(0, 2 - math.floor(math.log10(float(step)))) if step < 1 else 0
    scale = 10**digits
    near = value + away * step * Fraction(3, 4)
    found = Fraction(round(near * scale), scale)
    assert (found - value) * away > 0
    return found
