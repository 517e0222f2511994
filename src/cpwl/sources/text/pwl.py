"""The .pwl files of pwl2limodsat: rational pieces on the unit cube, with numbered boundaries.

c a remark
pwl                 or: tl 1 2 -1 3         which is min(1, max(0, 1/2 - 1/3 x_1))
b 8 -9 -6           boundary 1: 8 - 9 x_1 - 6 x_2
p 4 9 0 1 2 3       a piece: 4/9 + 0/1 x_1 + 2/3 x_2
g 1                 where boundary 1 is at least 0 (l: at most 0)
"""

from __future__ import annotations

import os
from fractions import Fraction

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.sources.formula.expression import Affine, maximum, minimum
from cpwl.sources.formula.pieces import function_of
from cpwl.sources.text.lines import lines_of, number, reading

__all__ = ["from_pwl"]

_TOL = 1e-5  # what the program that these files are for allows
_INPUTS = 1000
_Row = list[Fraction]


@within_float64()
def from_pwl(path: str | os.PathLike[str]) -> CPWL:
    """The function in a .pwl file, on the unit cube; decimals are read as decimals.

    Boundaries such as 0.333333 are rounded. If the pieces do not fit together exactly, they are taken as data that may
    be off by 1e-5, as pwl2limodsat itself does.
    """
    check_path(path, "from_pwl")
    with reading(path):
        lines = [(i, line.split()) for i, line in enumerate(lines_of(os.fspath(path)), 1)]
        lines = [(i, words) for i, words in lines if words and not words[0].startswith("c")]
        if not lines or lines[0][1][0] not in ("pwl", "tl"):
            raise InputError("this is not a .pwl file: its first line that is no remark must begin with `pwl` or `tl`")
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
        raise LimitError(f"line {line}: there are {len(law) - 1:,} inputs; we read {_INPUTS:,}", line=line)
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
            raise InputError(
                f"line {line}: `{words[0][:20]}` means nothing here; lines begin with c, b, p, g or l", line=line
            )
    if not laws:
        raise InputError("there are no pieces in this file")
    if boundaries:
        _check_length(boundaries[0], laws[0], lines[0][0])
    return _function(laws, rows)


def _check_length(row: _Row, other: _Row, line: int) -> None:
    if len(row) != len(other) or len(row) < 2:
        raise InputError(
            f"line {line} has {len(row) - 1} inputs, and there are others with {len(other) - 1}", line=line
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
