"""Text files of other programs: networks in .nnet (ACAS Xu), functions in .pwl (pwl2limodsat). Decimals are exact."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np

from cpwl.doors import check_path, check_switch, within_float64
from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.rational import fraction
from cpwl.files import read_text, reading
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.io.formula import Affine, function_of, maximum, minimum
from cpwl.network.network import Network

_NOTHING = ("", "nan", "-nan", "na", "n/a", "#n/a", "null", "none", "-")  # how programs write that there is no number


def number(word: str, line: int, column: int | None = None) -> Fraction:
    """The number that a word stands for, exactly: a decimal, or "p/q"; `column` is counted from 1.

    >>> number("0.1", 1), number("2/3", 1)
    (Fraction(1, 10), Fraction(2, 3))
    """
    if word.isascii() and word.isdigit() and len(word) < 16:
        return Fraction(int(word))  # a tenth of the time, and tables have millions of cells
    try:
        return fraction(word.strip())
    except InputError as error:
        where = f"line {line}" if column is None else f"line {line}, column {column}"
        if word.strip().lower() in _NOTHING:
            said = "is empty" if not word.strip() else f'is "{word.strip()}", which is not a number'
            raise InputError(f"{where} {said}; write a number there, or leave the line out", line=line) from None
        raise InputError(f"{where}: {error}", line=line) from None


# The .nnet files of ACAS Xu: weights of a ReLU network, with the means and ranges of its inputs and outputs.
#
# // remarks
# layers, inputs, outputs, largest layer
# sizes of all layers
# 0
# minima of the inputs, then maxima, one line each
# means, then ranges, of the inputs and of the outputs
# for each layer its weights, a row a neuron, then its biases, a line each


@within_float64()
def from_nnet(path: str | os.PathLike[str], *, normalize: bool = True) -> Network:
    """The network in a .nnet file, exactly: decimals are read as decimals.

    Parameters
    ----------
    path
        The file.
    normalize
        Whether inputs and outputs have their physical units: means and ranges are put into the first
        and the last layer, in rationals. Otherwise the network has the weights alone, as in most verifiers.

    Returns
    -------
    Network
        The network. Inputs beyond the minima and maxima of the file, which its own program clips, are not clipped.
    """
    check_path(path, "from_nnet")
    check_switch(normalize, "normalize")
    with reading(path):
        reader = _Lines(read_text(path).splitlines())
        count, inputs, outputs, _ = reader.whole(4)
        sizes = reader.whole(count + 1)
        if count < 1 or sizes[0] != inputs or sizes[-1] != outputs or min(sizes) < 1:
            said = f"{count} layers of sizes {sizes[:9]} do not fit {inputs} inputs and {outputs} outputs"
            raise InputError(f"line {reader.at}: {said}", line=reader.at)
        reader.numbers(None)  # a flag that nobody uses
        reader.numbers(inputs)
        reader.numbers(inputs)
        means, ranges = reader.numbers(inputs + 1), reader.numbers(inputs + 1)
        layers = []
        for before, after in pairwise(sizes):
            weight = np.array([reader.numbers(before) for _ in range(after)], dtype=object)
            layers.append((weight, np.array([reader.numbers(1)[0] for _ in range(after)], dtype=object)))
        reader.end()
        if normalize:
            _put_in(layers, means, ranges)
        return Network(layers)


def _put_in(layers: list[tuple[np.ndarray, np.ndarray]], means: list[Fraction], ranges: list[Fraction]) -> None:
    """``(x - mean) / range`` before the first layer, ``y range + mean`` after the last."""
    if not all(ranges):
        raise InputError("a range is 0, and inputs are divided by it; `normalize=False` reads the weights alone")
    weight, bias = layers[0]
    scaled = weight / np.array(ranges[:-1], dtype=object)
    layers[0] = scaled, bias - scaled.dot(np.array(means[:-1], dtype=object))
    weight, bias = layers[-1]
    layers[-1] = weight * ranges[-1], bias * ranges[-1] + means[-1]


class _Lines:
    """Lines of numbers between commas, one after the other."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = [
            (i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("//")
        ]
        self.next = 0
        self.at = 0

    def numbers(self, count: int | None) -> list[Fraction]:
        """The next line, which has so many numbers."""
        if self.next >= len(self.lines):
            raise InputError("the file is cut short: a line of numbers is missing at its end")
        self.at, line = self.lines[self.next]
        self.next += 1
        words = line.strip().rstrip(",").split(",")
        if count is not None and len(words) != count:
            raise InputError(f"line {self.at} has {len(words)} numbers instead of {count}", line=self.at)
        return [number(word, self.at) for word in words]

    def whole(self, count: int) -> list[int]:
        found = self.numbers(count)
        if any(v.denominator != 1 or not 0 <= v < 10**7 for v in found):
            raise InputError(f"line {self.at}: numbers of layers and neurons must be whole", line=self.at)
        return [int(v) for v in found]

    def end(self) -> None:
        if self.next < len(self.lines):
            raise InputError(f"line {self.lines[self.next][0]}: the file continues after its last layer")


# The .pwl files of pwl2limodsat: rational pieces on the unit cube, with numbered boundaries.
#
# c a remark
# pwl                 or: tl 1 2 -1 3         which is min(1, max(0, 1/2 - 1/3 x_1))
# b 8 -9 -6           boundary 1: 8 - 9 x_1 - 6 x_2
# p 4 9 0 1 2 3       a piece: 4/9 + 0/1 x_1 + 2/3 x_2
# g 1                 where boundary 1 is at least 0 (l: at most 0)


_TOL = 1e-5  # what the program that these files are for allows
_INPUTS = 1000
_Row = list[Fraction]


@within_float64()
def from_pwl(path: str | os.PathLike[str]) -> CPWL:
    """The function in a .pwl file, on the unit cube; decimals are read as decimals.

    Boundaries such as 0.333333 are rounded. If the pieces do not fit together exactly, they are float data with a
    tolerance of 1e-5, as in pwl2limodsat itself.
    """
    check_path(path, "from_pwl")
    with reading(path):
        lines = [(i, line.split()) for i, line in enumerate(read_text(path).splitlines(), 1)]
        lines = [(i, words) for i, words in lines if words and not words[0].startswith("c")]
        if not lines or lines[0][1][0] not in ("pwl", "tl"):
            raise InputError("this is not a .pwl file: its first line must begin with `pwl` or `tl`")
        return _truncated(*lines[0]) if lines[0][1][0] == "tl" else _regional(lines[1:])


def _law(words: list[str], line: int) -> _Row:
    """Pairs of numerator and denominator, constant first."""
    if len(words) < 4 or len(words) % 2:
        raise InputError(
            f"line {line}: a piece has a numerator and a denominator for the constant and each input", line=line
        )
    numbers = [number(word, line) for word in words]
    if any(below <= 0 for below in numbers[1::2]):
        raise InputError(f"line {line}: denominators must be positive", line=line)
    return [above / below for above, below in zip(numbers[::2], numbers[1::2], strict=True)]


def _truncated(line: int, words: list[str]) -> CPWL:
    law = _law(words[1:], line)
    if len(law) > _INPUTS:
        raise LimitError(f"line {line}: there are {counted(len(law) - 1, 'input')}; we read {_INPUTS:,}", line=line)
    names = [f"x{i}" for i in range(1, len(law))]
    slopes = tuple((name, slope) for name, slope in zip(names, law[1:], strict=True) if slope)
    low = maximum([Affine(slopes, law[0]), Affine((), Fraction(0))])
    return function_of([minimum([low, Affine((), Fraction(1))])], names, box_polyhedron((0, 1), len(names)))


def _regional(lines: list[tuple[int, list[str]]]) -> CPWL:
    boundaries: list[_Row] = []
    laws: list[_Row] = []
    rows: list[list[_Row]] = []
    for line, words in lines:
        if words[0] == "b":
            boundaries.append([number(word, line) for word in words[1:]])
            _check_length(boundaries[-1], boundaries[0], line)
        elif words[0] == "p":
            laws.append(_law(words[1:], line))
            rows.append([])
            _check_length(laws[-1], laws[0], line)
        elif words[0] in ("g", "l") and laws:
            rows[-1].append(_half_space(words, boundaries, line))
        else:
            raise InputError(f"line {line}: `{words[0][:20]}` is unknown; lines begin with c, b, p, g or l", line=line)
    if not laws:
        raise InputError("there are no pieces in this file")
    if boundaries:
        _check_length(boundaries[0], laws[0], lines[0][0])
    return _function(laws, rows)


def _check_length(row: _Row, other: _Row, line: int) -> None:
    if len(row) != len(other) or len(row) < 2:
        raise InputError(
            f"line {line} has {counted(len(row) - 1, 'input')}, and there are others with {len(other) - 1}", line=line
        )


def _half_space(words: list[str], boundaries: list[_Row], line: int) -> _Row:
    """``(a, b)`` with ``a.x <= b``."""
    which = words[1] if len(words) == 2 else ""
    if not (which.isascii() and which.isdigit() and len(which) < 10 and 1 <= int(which) <= len(boundaries)):
        raise InputError(f"line {line}: `{words[0]}` takes the number of a boundary, 1 to {len(boundaries)}", line=line)
    constant, *slopes = boundaries[int(which) - 1]
    return [*(-v for v in slopes), constant] if words[0] == "g" else [*slopes, -constant]


def _function(laws: list[_Row], rows: list[list[_Row]]) -> CPWL:
    """The pieces within the unit cube; exact if they fit, otherwise within what is allowed."""
    n = len(laws[0]) - 1
    unit = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    cube = [[*row, Fraction(1)] for row in unit] + [[*(-v for v in row), Fraction(0)] for row in unit]
    pieces = [[*own, *cube] for own in rows]
    data = (
        [[row[:-1] for row in piece] for piece in pieces],
        [[row[-1] for row in piece] for piece in pieces],
        [law[1:] for law in laws],
        [law[0] for law in laws],
    )
    domain = [row[:-1] for row in cube], [row[-1] for row in cube]
    p = CPWL.from_pieces(*data, domain=domain)
    return p if first_error(p) is None else CPWL.from_pieces(*data, domain=domain, tol=_TOL)
