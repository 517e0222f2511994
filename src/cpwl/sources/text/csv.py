"""Tables of points and values in CSV files: a point a line, inputs first, then the values."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_count, check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.formats.tables import from_pieces_csv, is_pieces_csv
from cpwl.function.cpwl import CPWL
from cpwl.sources.text.lines import lines_of, number, reading

__all__ = ["from_csv"]

_GRID = 2 * 10**8  # work, for the simplices of a grid
_SCATTERED = 10**8  # and of a triangulation, which is to be found first
_PER_POINT = {2: 2, 3: 7, 4: 32, 5: 187, 6: 1300}


@within_float64()
def from_csv(path: str | os.PathLike[str], *, outputs: int = 1) -> CPWL:
    """The function through the points of a CSV file: the last `outputs` columns are values, the others coordinates.

    One input: breakpoints, straight between them. Several: where the points are a full grid, its cells are cut into
    simplices (Kuhn); otherwise they are triangulated (Delaunay). There is nothing beyond the points. Numbers are
    read as decimals, 0.1 is one tenth, or as "p/q"; a first line that is no numbers has the names of the columns.
    Columns are separated by commas, semicolons, tabs or spaces, and ``#`` starts a remark.
    A file of pieces, as `to_csv` writes it, is read as that.

    Parameters
    ----------
    path
        The file.
    outputs
        How many columns, the last ones, are values.

    Returns
    -------
    CPWL
        The function, exact.
    """
    check_path(path, "from_csv")
    check_count(outputs, "outputs")
    with reading(path):
        given = lines_of(os.fspath(path))
        if given and is_pieces_csv(given[0]):
            return from_pieces_csv(path)
        table, lines = _table(given)
        dim = table.shape[1] - outputs
        if dim < 1:
            message = f"with {outputs} columns of values there are no coordinates left of {table.shape[1]}"
            raise InputError(f"{message}; a table has at least two columns" if outputs == 1 else message)
        points, values = table[:, :dim], table[:, dim:]
        _check_distinct(points, lines)
        return _function(points, values)


def _table(lines: list[str]) -> tuple[NDArray[np.object_], list[int]]:
    """All numbers, and the line of each row."""
    rows: list[list[Fraction]] = []
    places: list[int] = []
    separator: str | None = ""
    for place, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        if separator == "":
            separator = next((sign for sign in ";,\t" if sign in text), None)
        words = [word.strip() for word in text.split(separator)]
        if separator is not None and words[-1] == "":
            words.pop()  # a separator at the end of the line
        if not rows and not places and not _is_number(words[0]):
            places.append(0)  # the names of the columns
            continue
        rows.append([number(word, place) for word in words])
        if len(rows[-1]) != len(rows[0]):
            raise InputError(f"line {place} has {len(words)} numbers, and the first has {len(rows[0])}", line=place)
        places.append(place)
    if not rows:
        raise InputError("there are no numbers in this file")
    return np.array(rows, dtype=object).reshape(len(rows), -1), [place for place in places if place]


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
            place = ", ".join(f"{float(v):.6g}" for v in point)
            raise InputError(f"lines {seen[point]} and {line} have the same point ({place})", line=line)
        seen[point] = line


def _function(points: NDArray[np.object_], values: NDArray[np.object_]) -> CPWL:
    count, dim = points.shape
    if dim == 1:
        order = np.argsort(points[:, 0])
        if count < 2:
            raise InputError("a table of one input needs at least two points")
        pairs = np.column_stack([np.arange(count - 1), np.arange(1, count)])
        return CPWL.from_simplices(points[order], pairs, values[order])
    if count <= dim:  # a grid has more, too
        raise _too_few(dim)
    axes = [np.unique(points[:, k]) for k in range(dim)]
    shape = [len(axis) for axis in axes]
    if int(np.prod(shape, dtype=object)) == count and min(shape) > 1:
        _check_simplices(math.prod(size - 1 for size in shape) * math.factorial(dim), count, dim, _GRID)
        order = np.lexsort([np.searchsorted(axes[k], points[:, k]) for k in reversed(range(dim))])
        return CPWL.from_grid(axes, values[order].reshape(*shape, -1))
    return _scattered(points, values)


def _too_few(dim: int) -> InputError:
    return InputError(f"the points cannot be triangulated: {dim + 1} of them must span all {dim} inputs")


def _check_simplices(simplices: int, count: int, dim: int, most: int) -> None:
    """Refuse a small table of more simplices than can be looked at: in many dimensions a point is in thousands."""
    if simplices * (dim + 1) ** 3 > max(most, 30_000 * count):
        about = f"about {simplices:,}" if simplices < 10**9 else f"{float(min(simplices, 10**300)):.0e}"
        raise LimitError(f"{count:,} points of {dim} inputs have {about} simplices, which is too many", points=count)


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
