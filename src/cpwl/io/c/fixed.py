"""Search trees in fixed point: integers only, every sum exact, and the distance from the function proved.

A number of format Qm.f is ``X / 2^f`` for an integer `X` of ``1 + m + f`` bits: 8, 16 or 32. Slopes of planes and laws
are rounded once, to integers; then ``S = C + sum_i A_i X_i`` is computed without any rounding in an accumulator of
twice as many bits (at least 32). ``|C| + sum_i |A_i| 2^(bits - 1)`` is less than a quarter of its range, so that no
input whatever makes it overflow. The sign of `S` chooses the side of a plane. Of a law, `S` is divided by a power of
two, rounded to nearest, halves away from 0, and limited to the format of the outputs, which on the domain changes
nothing. So planes and laws are off by what rounding their coefficients did, a rational number, and `tree_error` says
how far that takes a value from the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.function.domain import Box
from cpwl.io.c.text import TreeTables, tree_layout
from cpwl.io.c.tree import Tree, law_row, tree_box, tree_error
from cpwl.network.integer import fixed_point


@dataclass(frozen=True, slots=True)
class Fixed:
    """The formats of inputs and outputs, which have the same number of bits."""

    bits: int
    inputs: int
    """Bits behind the point."""
    outputs: int

    @classmethod
    def from_text(cls, text: Any) -> Fixed:
        """The formats of "Q7.8", or of "Q7.8:Q1.14" where inputs and outputs differ.

        >>> Fixed.from_text("Q7.8:Q1.14")
        Fixed(bits=16, inputs=8, outputs=14)
        """
        bits, ends = zip(*map(fixed_point, str(text).split(":")), strict=True)
        if len(ends) > 2 or len({*bits}) != 1 or bits[0] not in (8, 16, 32):
            raise InputError(
                '`fixed` must be a format such as "Q7.8", or "Q7.8:Q1.14" for inputs and outputs, both with 8, 16 or '
                f"32 bits including the sign, not {str(text)[:40]!r}"
            )
        return cls(bits[0], ends[0], ends[-1])

    def __str__(self) -> str:
        both = (f"Q{self.bits - 1 - end}.{end}" for end in (self.inputs, self.outputs))
        return ":".join(dict.fromkeys(both))

    @property
    def sums(self) -> int:
        """Bits of the accumulator."""
        return max(32, 2 * self.bits)

    @property
    def most(self) -> int:
        """The largest number that is used, as an integer: formats are symmetric."""
        return int(2 ** (self.bits - 1) - 1)

    def quantized(self, x: NDArray[Any]) -> NDArray[np.int64]:
        """The nearest inputs of the format, as integers."""
        return np.clip(np.rint(np.asarray(x, dtype=np.float64) * 2.0**self.inputs), -self.most, self.most).astype(
            np.int64
        )

    def rounded(self, sums: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
        """What the code makes of the sums of laws."""
        half = (1 << shift) >> 1
        found = np.sign(sums) * ((np.abs(sums) + half) >> shift)
        return np.asarray(np.clip(found, -self.most, self.most), dtype=np.int64)


def fixed_tables(tree: Tree, fixed: Fixed) -> TreeTables:
    """The tables of a search tree in fixed point; refused where the domain or the values are beyond the formats."""
    box = tree_box(tree)
    if box is None:
        raise InputError("fixed point needs a bounded domain, and the domain of this function is not bounded")
    largest = max(box)
    if largest > Fraction(fixed.most, 2**fixed.inputs):
        end = fixed.most / 2**fixed.inputs
        raise LimitError(f"the domain reaches {float(largest):.6g}, and inputs of {fixed} end at {end:.6g}")
    laws = [[law_row(law) for law in own] for own in tree.laws]
    reach = max(
        abs(row[0] + sum((a * Fraction(v, x[-1]) for a, v in zip(row[1:], x, strict=False)), Fraction(0)))
        for leaf in tree.leaves
        for x in leaf.places
        for row in laws[leaf.law]
    )
    if reach > Fraction(fixed.most, 2**fixed.outputs):
        end = fixed.most / 2**fixed.outputs
        raise LimitError(f"the values reach {float(reach):.6g}, and outputs of {fixed} end at {end:.6g}")
    planes = [_oriented(row) for row in tree.planes]
    used = [_integers(row, _scale(row, fixed), fixed) for row in planes]
    scale = min(_scale(row, fixed) for own in laws for row in own)
    scale = min(scale, fixed.sums - 3 - fixed.inputs + fixed.outputs)  # a shift by no more than there are bits
    shift = scale + fixed.inputs - fixed.outputs
    if shift < 0:
        raise LimitError(f"sums of {fixed.sums} bits have fewer fraction bits than outputs of {fixed}")
    typed = np.array([[_integers(row, scale, fixed) for row in own] for own in laws], dtype=np.int64)
    rows = np.array(used, dtype=np.int64).reshape(-1, len(box) + 1)
    return tree_layout(tree, str(fixed), rows, typed, np.zeros((0, 2)), shift)


def fixed_error(tables: TreeTables) -> float:
    """The largest difference from the function for inputs of the format in the domain."""
    tree, fixed = tables.tree, Fixed.from_text(tables.dtype)
    box = tree_box(tree)
    assert box is not None
    assert tables.shift is not None
    slack = []
    for row, used in zip(tree.planes, tables.planes, strict=True):
        exact = _oriented(row)
        slack.append(_moved(exact, used, _scale(exact, fixed), fixed, box))
    scale = tables.shift - fixed.inputs + fixed.outputs
    half = Fraction(1, 2 ** (fixed.outputs + 1)) if tables.shift else Fraction(0)
    own = [
        half + max(_moved(law_row(law), used, scale, fixed, box) for law, used in zip(laws, typed, strict=True))
        for laws, typed in zip(tree.laws, tables.laws, strict=True)
    ]
    return tree_error(tree, slack, own, [])


def box_inside(ends: Box, fixed: Fixed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The integers of the format in a box, the least and the largest of each input."""
    low = [max(-((-v * 2**fixed.inputs) // 1), -fixed.most) for v in ends[0]]
    high = [min(v * 2**fixed.inputs // 1, fixed.most) for v in ends[1]]
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)


def row_outside(row: NDArray[np.object_], reach: Sequence[Fraction], fixed: Fixed) -> list[int]:
    """Integers of the row ``(a, b)``, at most 0 inside: moved out by what rounding them does on the domain."""
    exact = _oriented(np.array([*row[:-1], -row[-1]], dtype=object))
    scale = _scale(exact, fixed)
    used = _integers(exact, scale, fixed)
    off = _moved(exact, used, scale, fixed, reach) * Fraction(2) ** scale * 2**fixed.inputs
    return [used[0] + int(-off // 1), *used[1:]]


def _oriented(row: NDArray[np.object_]) -> list[Fraction]:
    """``(-b, a)`` of the integer row ``(a, -b)``."""
    return [Fraction(int(v)) for v in (row[-1], *row[:-1])]


def _scale(row: Sequence[Fraction], fixed: Fixed) -> int:
    """The largest power `k` for which the row times ``2^k`` fits into a quarter of the accumulator, for all inputs."""
    size = abs(row[0]) * 2**fixed.inputs + sum(abs(v) for v in row[1:]) * 2 ** (fixed.bits - 1)
    room = 2 ** (fixed.sums - 2) - len(row) * 2 ** (fixed.bits - 1)  # what rounding adds at most
    ratio = room / size if size else Fraction(1)
    k = ratio.numerator.bit_length() - ratio.denominator.bit_length()
    return k if Fraction(2) ** k <= ratio else k - 1


def _integers(row: Sequence[Fraction], scale: int, fixed: Fixed) -> list[int]:
    """The constant times ``2^(scale + inputs)`` and the slopes times ``2^scale``, to nearest."""
    factor = Fraction(2) ** scale
    return [round(row[0] * factor * 2**fixed.inputs), *(round(v * factor) for v in row[1:])]


def _moved(row: Sequence[Fraction], used: Sequence[int], scale: int, fixed: Fixed, box: Sequence[Fraction]) -> Fraction:
    """How far the sum of integers can be from that of the row, on the box."""
    factor = Fraction(2) ** scale
    total: Fraction = abs(int(used[0]) / (factor * 2**fixed.inputs) - row[0])
    for u, exact, reach in zip(used[1:], row[1:], box, strict=True):
        total += abs(int(u) / factor - exact) * reach
    return total
