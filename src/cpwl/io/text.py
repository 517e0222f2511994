"""Text files: CSV with tables or pieces, networks in .nnet (ACAS Xu), functions in .pwl (pwl2limodsat), all exactly.

Tables of points or matrices are read, the pieces of a function read and written; pandas frames are made of pieces.
"""

from __future__ import annotations

import csv
import io
import math
import operator
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.write import function_document
from cpwl.doors import (
    check_argument,
    check_choice,
    check_count,
    check_path,
    check_switch,
    formerly,
    needed,
    within_float64,
)
from cpwl.errors import CpwlWarning, InputError, LimitError, counted
from cpwl.exact.rational import fraction
from cpwl.files import read_text, reading, write_text
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.io.formula import AffineForm, function_of, maximum, minimum
from cpwl.network.network import Network

if TYPE_CHECKING:
    import pandas

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
        point = f"; decimals have a point: {word.replace(',', '.')}" if re.fullmatch(r"-?\d+,\d+", word) else ""
        raise InputError(f"{where}: {error}{point}", line=line) from None


# Tables in CSV, and the pieces of a function.


Layout: TypeAlias = Literal["auto", "points", "matrix"]
_Lines: TypeAlias = Iterator[tuple[int, list[str]]]

_GRID = 2 * 10**8  # work, for the simplices of a grid
_SCATTERED = 10**8  # and of a triangulation, which is to be found first
_PER_POINT = {2: 2, 3: 7, 4: 32, 5: 187, 6: 1300}


@formerly(outputs="num_outputs")
@within_float64()
def from_csv(
    path: str | os.PathLike[str],
    *,
    num_outputs: int = 1,
    layout: Layout = "auto",
    columns: Sequence[str | int] | None = None,
) -> CPWL:
    """Read a table from a CSV file: one point on each line, or a matrix with its axes in the first row and column.

    With one input, the points are breakpoints of a linear interpolant. With several inputs, a full grid is cut into
    simplices (Kuhn), and other points are triangulated (Delaunay). The function is not defined beyond the points.
    Numbers are decimals (0.1 is one tenth) or "p/q". A first line that is not numbers has the names of the columns,
    with units in brackets (``speed [rpm]``); the function keeps them (`CPWL.named`).
    Columns are separated by commas, semicolons, tabs or spaces, cells may be in quotes, and ``#`` starts a comment.
    A file of pieces, as `to_csv` writes it, is recognized.

    Parameters
    ----------
    path
        The file.
    num_outputs
        The number of value columns, which come last; the others are coordinates.
    layout
        "points": a line for each point. "matrix": a table of two inputs, the first along the first column and the
        second along the first row; the corner is an empty cell, a name or any number. "auto" reads a file as a matrix
        where its first line is an empty cell or a name and then numbers, and as points otherwise; numbers alone that
        can be read as both are refused.
    columns
        The columns to read, inputs first: names from the first line, or numbers from 0. None reads all columns.

    Returns
    -------
    CPWL
        The function, exact.
    """
    check_path(path, "from_csv")
    check_count(num_outputs, "num_outputs")
    check_choice(layout, ("auto", "points", "matrix"), "layout")
    with reading(path):
        given = read_text(path).splitlines()
        if given and is_pieces_csv(given[0]):
            return from_pieces_csv(path)
        if columns is not None and layout != "matrix":
            layout = "points"
        if layout == "matrix" or (layout == "auto" and _is_matrix(_words(given))):
            if columns is not None:
                raise InputError("`columns` chooses columns of a table of points, and this is read as a matrix")
            if num_outputs != 1:
                raise InputError(
                    f"a matrix has one value in each cell, not {num_outputs}; a table of points may have more"
                )
            return _of_matrix(_words(given))
        table, lines, head = _table(_words(given), columns)
        if layout == "auto" and num_outputs == 1 and not head:
            _check_points(table)
        dim = table.shape[1] - num_outputs
        if dim < 1:
            columns_of = counted(num_outputs, "column")
            message = f"with {columns_of} of values there are no coordinates left of {table.shape[1]}"
            raise InputError(f"{message}; a table has at least two columns" if num_outputs == 1 else message)
        points, values = table[:, :dim], table[:, dim:]
        if 1 < dim >= len(points):  # a grid has more points, too
            raise _too_few(dim)
        _check_distinct(points, lines)
        p = _function(points, values)
        _tell_of_floats(p, table, lines)
        return _named(p, head)


def _tell_of_floats(p: CPWL, table: NDArray[np.object_], lines: list[int]) -> None:
    """Warn of decimals as programs print floats, where more laws differ exactly than after rounding."""
    row = next((i for i, row in enumerate(table) if any(map(_is_float, row))), None)
    if row is None:
        return
    laws = np.column_stack([p.laws.gradient.reshape(p.num_pieces, -1), p.laws.offset])
    near = np.round(laws / np.maximum(np.abs(laws).max(axis=0), np.finfo(float).tiny), _AGREE)
    if len(np.unique(near, axis=0)) < len(np.unique(p.component, axis=0)):
        warnings.warn(
            f"line {lines[row]} has a decimal of 16 digits or more, as programs print floats. Decimals are exact here: "
            "rounding makes laws differ that are nearly equal. `compile` with `within=1e-9` may need fewer neurons.",
            CpwlWarning,
            stacklevel=4,
        )


# Digits in which laws agree if only the rounding of doubles of 16 digits, and their quotients, have made them differ.
_AGREE = 11


def _is_float(v: Fraction) -> bool:
    """Whether a number is a decimal of 16 significant digits or more, one of them behind the point."""
    return v.denominator > 1 and max(abs(v.numerator), v.denominator) > 10**15 and 10**40 % v.denominator == 0


def _named(p: CPWL, head: list[str]) -> CPWL:
    """The function with the names, and the units in brackets, of a first line; as it is if they cannot be names."""
    found = [re.fullmatch(r"([^\[\]]*?)\s*(?:\[([^\[\]]*)\])?", word) for word in head]
    names = ["" if match is None else match[1] for match in found]
    if len(names) != p.dim + p.outputs or "" in names or len(set(names)) < len(names):
        return p
    return p.named(names, ["" if match is None else (match[2] or "").strip() for match in found])


def _words(lines: list[str]) -> _Lines:
    """The cells of each line that has any, with its number; remarks left out."""
    separator: str | None = ""
    width = 0
    for place, line in enumerate(lines, start=1):
        text = line.partition("#")[0]
        if not text.strip():
            continue
        if separator == "":
            separator = next((sign for sign in ";,\t" if sign in text), None)
        # A tab at the beginning is an empty cell where tabs separate.
        words = (text.strip() if separator is None else text.strip(" \r")).split(separator)
        if '"' in text and separator is not None:
            try:
                words = next(csv.reader([text.strip(" \r")], delimiter=separator, skipinitialspace=True))
            except csv.Error as error:
                raise InputError(f"line {place}: {error}", line=place) from None
        words = [word.strip() for word in words]
        while separator is not None and words[-1] == "" and len(words) > max(width, 1):
            words.pop()  # separators at the end of the line
        width = width or len(words)
        yield place, words


def _is_matrix(lines: _Lines) -> bool:
    """Whether the first line is an empty cell or a name, and then the numbers of an axis."""
    first = next(lines, (0, [""]))[1]
    return len(first) > 2 and not _is_number(first[0]) and all(map(_is_number, first[1:]))


def _check_points(table: NDArray[np.object_]) -> None:
    """Refuse numbers alone that are a matrix as well as points: both edges are in order behind their first cell."""
    rows, columns = table.shape
    if rows < 3 or columns < 3 or not (_in_order(table[0, 1:]) and _in_order(table[1:, 0])):
        return
    either = f"{rows} points of {counted(columns - 1, 'input')}, or a matrix of {rows - 1} x {columns - 1} values"
    raise InputError(
        f"these numbers are {either} with its axes in the first column and row: say which, "
        'with `layout="points"` or `layout="matrix"`; a first line of names also says that these are points'
    )


def _in_order(axis: NDArray[np.object_]) -> bool:
    up = axis[1:] > axis[:-1]
    return bool(up.all()) or bool((axis[1:] < axis[:-1]).all())


def _of_matrix(lines: _Lines) -> CPWL:
    """A table of two inputs: the first along the first column, the second along the first row."""
    line, first = next(lines, (0, []))
    across = [number(word, line, i) for i, word in enumerate(first[1:], start=2)]
    rows = []
    for line, words in lines:
        if len(words) != len(first):
            raise InputError(
                f"line {line} has {counted(len(words), 'cell')}, and the first has {len(first)}", line=line
            )
        rows.append([number(word, line, i) for i, word in enumerate(words, start=1)])
    if len(rows) < 2 or len(across) < 2:
        raise InputError(
            "a matrix needs a first line with one axis, and at least two further lines with two or more values each"
        )
    table = np.array(rows, dtype=object)
    for axis, what in ((table[:, 0], "column"), (np.array(across, dtype=object), "row")):
        if not _in_order(axis):
            at = int(np.flatnonzero((np.diff(axis) > 0) != (axis[1] > axis[0]))[0]) if axis[1] != axis[0] else 0
            pair = f"{float(axis[at]):g} is followed by {float(axis[at + 1]):g}"
            raise InputError(f"the axis in the first {what} must increase or decrease: {pair}")
    _check_simplices(2 * (len(rows) - 1) * (len(across) - 1), table.size, 2, _GRID)
    return CPWL.from_grid([table[:, 0], across], table[:, 1:])


def _table(lines: _Lines, columns: Sequence[str | int] | None) -> tuple[NDArray[np.object_], list[int], list[str]]:
    """The numbers in the columns, the line of each row, and the names in a first line that begins with no number."""
    head: list[str] = []
    rows: list[list[Fraction]] = []
    places: list[int] = []
    width = 0
    chosen: list[int] = []
    for first, (place, words) in enumerate(lines):
        if not rows:  # a line of names may be shorter or longer
            width = len(words)
            chosen = list(range(width)) if columns is None else chosen or _places(words, columns)
        if first == 0 and _are_names([words[k] for k in chosen]):
            head = [words[k] for k in chosen]
            continue
        if len(words) != width or max(chosen) >= width:
            raise InputError(f"line {place} has {len(words)} numbers, and the first has {width}", line=place)
        rows.append([number(words[k], place, k + 1) for k in chosen])
        places.append(place)
    if not rows:
        raise InputError("there are no numbers in this file")
    return np.array(rows, dtype=object).reshape(len(rows), -1), places, head


def _are_names(words: list[str]) -> bool:
    """Whether a first line has names: not a point of which a number is missing or misspelt."""
    numbers = [_is_number(word) for word in words]
    missing = [word.lower().lstrip("+-") in (*_NOTHING, "inf", "infinity") for word in words]
    if not words[0] or numbers[0] or all(map(operator.or_, numbers, missing)):
        return False
    return words[0][0].isalpha() or not any(numbers)


def _places(words: list[str], columns: Sequence[str | int]) -> list[int]:
    """Where the columns are, by their names in the first line or by their numbers."""
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not columns:
        raise InputError(f'`columns` must be a list of names or numbers, such as ["x", "y"], not {columns!r:.50}')
    found: list[int] = []
    for column in columns:
        named = (
            [k for k, word in enumerate(words) if column in (word, word.partition("[")[0].strip())]
            if isinstance(column, str)
            else [column]
        )
        if len(named) > 1:
            raise InputError(f"there are {len(named)} columns `{column}`: give its number, counted from 0")
        if not named or type(named[0]) is not int or not 0 <= named[0] < len(words):
            raise InputError(f"there is no column {column!r:.50}; the first line is {', '.join(words)[:200]}")
        if named[0] in found:
            raise InputError(f"column {column!r:.50} is named twice")
        found += named
    return found


def _is_number(word: str) -> bool:
    try:
        number(word, 0)
    except InputError:
        return False
    return True


def _check_distinct(points: NDArray[np.object_], lines: list[int]) -> None:
    seen: dict[tuple[Any, ...], int] = {}
    for point, line in zip(map(tuple, points), lines, strict=True):
        if point in seen:
            raise InputError(f"lines {seen[point]} and {line} have the same point {point_text(point)}", line=line)
        seen[point] = line


def _function(points: NDArray[np.object_], values: NDArray[np.object_]) -> CPWL:
    count, dim = points.shape
    if dim == 1:
        order = np.argsort(points[:, 0])
        if count < 2:
            raise InputError("a table of one input needs at least two points")
        pairs = np.column_stack([np.arange(count - 1), np.arange(1, count)])
        return CPWL.from_simplices(points[order], pairs, values[order])
    axes = [np.unique(points[:, k]) for k in range(dim)]
    shape = [len(axis) for axis in axes]
    if int(np.prod(shape, dtype=object)) == count and min(shape) > 1:
        _check_simplices(math.prod(size - 1 for size in shape) * math.factorial(dim), count, dim, _GRID)
        order = np.lexsort([np.searchsorted(axes[k], points[:, k]) for k in reversed(range(dim))])
        return CPWL.from_grid(axes, values[order].reshape(*shape, -1))
    return _scattered(points, values)


def _too_few(dim: int) -> InputError:
    return InputError(f"the points cannot be triangulated: {dim + 1} of them must span all {counted(dim, 'input')}")


def _check_simplices(simplices: int, count: int, dim: int, most: int) -> None:
    """Refuse a small table of more simplices than can be looked at: in many dimensions a point is in thousands."""
    if simplices * (dim + 1) ** 3 > max(most, 30_000 * count):
        about = f"about {simplices:,}" if simplices < 10**9 else f"{float(min(simplices, 10**300)):.0e}"
        raise LimitError(
            f"{count:,} points of {dim} inputs have {about} simplices, more than can be processed", points=count
        )


def _expected(count: int, dim: int) -> int:
    """How many simplices a Delaunay triangulation of random points may have.

    At most as many as a cyclic polytope has facets (McMullen); up to six inputs also about so many for each point as
    a Poisson process has.
    """
    half = (dim + 1) // 2
    at_most = 2 * math.comb(max(count - (dim + 2) // 2, half), half)
    return min(at_most, _PER_POINT[dim] * count) if dim in _PER_POINT else at_most


def _scattered(points: NDArray[np.object_], values: NDArray[np.object_]) -> CPWL:
    """Floats say which simplices there are; their corners are the exact points."""
    from scipy.spatial import Delaunay, QhullError

    view = points.astype(np.float64)
    count, dim = points.shape
    _check_simplices(_expected(count, dim), count, dim, _SCATTERED)
    try:
        found = Delaunay(view)
    except (QhullError, ValueError):
        raise _too_few(dim) from None
    return CPWL.from_simplices(points, found.simplices, values)


# The pieces of a function as a table: CSV, a MATLAB file, a pandas DataFrame.
#
# In CSV each line is a row of a piece, ``a . x <= b``, or the law of an output on it, ``g . x + o``::
#
#     piece,what,output,x0,x1,constant
#     0,row,,1,0,1/3
#     0,law,0,2,-1,5
#
# Where the function has names they stand in the first line and, for outputs, in place of their numbers.
#
# Numbers are exact: integers, "p/q", or doubles in the shortest decimals that give them back.


_FIRST = ["piece", "what", "output"]


def to_csv(p: CPWL, path: str | os.PathLike[str]) -> None:
    """Write the pieces as CSV: a line for each row ``a . x <= constant`` and each law ``g . x + constant``.

    Parameters
    ----------
    p : CPWL
        The function. Its numbers are written exactly; an asserted domain and a tolerance are not in the file.
    path : path-like
        The file. An existing file is replaced when the new one is complete.
    """
    check_argument(p, CPWL, "to_csv")
    check_path(path, "to_csv")
    made = io.StringIO()
    out = csv.writer(made, lineterminator="\n")
    out.writerow([*_FIRST, *(p.labels[: p.dim] or (f"x{k}" for k in range(p.dim))), "constant"])
    for i, piece in enumerate(_pieces(p)):
        for row, right in zip(piece["A"], piece["b"], strict=True):
            out.writerow([i, "row", "", *map(_word, row), _word(right)])
        for j, (slopes, offset) in enumerate(zip(piece["gradient"], piece["offset"], strict=True)):
            out.writerow([i, "law", p.labels[p.dim + j] if p.labels else j, *map(_word, slopes), _word(offset)])
    write_text(path, made.getvalue())


def from_pieces_csv(path: str | os.PathLike[str], *, tol: float | None = None) -> CPWL:
    """The function in a CSV file of pieces, as `to_csv` writes it.

    Parameters
    ----------
    path : path-like
        The file.
    tol : float, optional
        As in `CPWL.from_pieces`: without it, data with a decimal point or an exponent is float data.
    """
    check_path(path, "from_pieces_csv")
    with reading(path):
        try:
            lines = list(csv.reader(io.StringIO(read_text(path))))
        except csv.Error as error:
            raise InputError(f"this is not a CSV file of pieces: {error}") from None
        return _function_of_pieces(lines, tol)


def is_pieces_csv(first_line: str) -> bool:
    """Whether a CSV file with this first line holds pieces.

    >>> is_pieces_csv("piece,what,output,x0,constant"), is_pieces_csv("x,y,value")
    (True, False)
    """
    return [word.strip() for word in first_line.split(",")][:3] == _FIRST


def _function_of_pieces(lines: list[list[str]], tol: float | None) -> CPWL:
    if not lines or not is_pieces_csv(",".join(lines[0])) or len(lines[0]) < 5:
        raise InputError("the first line must be `piece,what,output,x0,..,constant`")
    width = len(lines[0])
    pieces: dict[int, tuple[list[Any], dict[int, Any]]] = {}
    outputs: dict[str, int] = {}  # named outputs, in order
    for place, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        try:
            if len(line) != width or line[1] not in ("row", "law"):
                raise ValueError
            rows, laws = pieces.setdefault(_count(line[0]), ([], {}))
            numbers = [_written(word) for word in line[3:]]
            if line[1] == "row":
                rows.append(numbers)
            elif laws.setdefault(_output(line[2], outputs), numbers) is not numbers:
                raise InputError(f"line {place} defines a second law for output {line[2]} of piece {line[0]}")
        except (ValueError, InputError) as error:
            said = str(error) or f"`{','.join(line)[:60]}` is neither a row nor a law of {counted(width - 4, 'input')}"
            raise InputError(f"line {place}: {said}", line=place) from None
    p = _of_pieces(pieces, tol)
    return _named(p, [*lines[0][3:-1], *outputs]) if outputs else p


def _output(word: str, outputs: dict[str, int]) -> int:
    """The number of an output: as it is written, or by the name that it has in the file."""
    return _count(word) if _is_number(word) or not word.strip() else outputs.setdefault(word, len(outputs))


def _of_pieces(pieces: dict[int, tuple[list[Any], dict[int, Any]]], tol: float | None) -> CPWL:
    if not pieces:
        raise InputError("there is no piece in it")
    outputs = {tuple(sorted(laws)) for _, laws in pieces.values()}
    if len(outputs) > 1 or next(iter(outputs)) != tuple(range(len(next(iter(outputs))))) or () in outputs:
        raise InputError("every piece must have one law for each output, counted from 0")
    dim = len(next(iter(next(iter(pieces.values()))[1].values()))) - 1
    ordered = [pieces[i] for i in sorted(pieces)]
    return CPWL.from_pieces(
        [[row[:-1] for row in rows] if rows else np.zeros((0, dim)) for rows, _ in ordered],
        [[row[-1] for row in rows] for rows, _ in ordered],
        [[laws[j][:-1] for j in sorted(laws)] for _, laws in ordered],
        [[laws[j][-1] for j in sorted(laws)] for _, laws in ordered],
        tol=tol,
    )


def _written(word: str) -> Any:
    """An integer or "p/q" exactly; with a point or an exponent, a double."""
    exact = fraction(word.strip())
    return float(word) if any(c in word for c in ".eE") else exact


def _count(word: str) -> int:
    if not (word.strip().isascii() and word.strip().isdigit()):
        raise ValueError
    return int(word)


def _word(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def _pieces(p: CPWL) -> list[dict[str, Any]]:
    """Rows and laws of each piece, with every number exact."""
    pieces: list[dict[str, Any]] = function_document(replace(p, mesh=None))["pieces"]
    return pieces


def to_dataframe(p: CPWL) -> pandas.DataFrame:
    """The pieces as a pandas DataFrame, one row for each: ``A``, ``b``, ``gradient`` and ``offset`` hold arrays.

    Exact data are arrays of `Fraction`. ``CPWL.from_pieces(*(list(frame[name]) for name in frame))`` reads it back.

    Parameters
    ----------
    p : CPWL
        The function.
    """
    check_argument(p, CPWL, "to_dataframe")
    frames = needed("pandas", "`to_dataframe`")
    convert = np.vectorize(fraction, otypes=[object]) if p.tol == 0 else np.asarray
    columns: dict[str, list[Any]] = {name: [] for name in ("A", "b", "gradient", "offset")}
    for piece in _pieces(p):
        for name, column in columns.items():
            array = np.array(piece[name], dtype=object if p.tol == 0 else np.float64)
            column.append(
                convert(array.reshape(-1, p.dim) if name in ("A", "gradient") else array) if array.size else array
            )
    held = {name: frames.Series(column, dtype=object) for name, column in columns.items()}
    frame: pandas.DataFrame = frames.DataFrame(held)
    frame.index.name = "piece"
    return frame


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
        reader = _Numbers(read_text(path).splitlines())
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


class _Numbers:
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
_MOST_INPUTS = 1000
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
    if len(law) > _MOST_INPUTS:
        raise LimitError(
            f"line {line}: there are {counted(len(law) - 1, 'input')}; we read {_MOST_INPUTS:,}", line=line
        )
    names = [f"x{i}" for i in range(1, len(law))]
    slopes = tuple((name, slope) for name, slope in zip(names, law[1:], strict=True) if slope)
    low = maximum([AffineForm(slopes, law[0]), AffineForm((), Fraction(0))])
    return function_of([minimum([low, AffineForm((), Fraction(1))])], names, box_polyhedron((0, 1), len(names)))


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
    return _of_boundaries(laws, rows)


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


def _of_boundaries(laws: list[_Row], rows: list[list[_Row]]) -> CPWL:
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
