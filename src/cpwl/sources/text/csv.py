"""Tables of points and values in CSV files: a point a line, inputs first, then the values."""

from __future__ import annotations

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

_CELLS = 10**7  # simplices at most


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
    axes = [np.unique(points[:, k]) for k in range(dim)]
    shape = [len(axis) for axis in axes]
    if int(np.prod(shape, dtype=object)) == count and min(shape) > 1:
        order = np.lexsort([np.searchsorted(axes[k], points[:, k]) for k in reversed(range(dim))])
        return CPWL.from_grid(axes, values[order].reshape(*shape, -1))
    return _scattered(points, values)


def _scattered(points: NDArray[np.object_], values: NDArray[np.object_]) -> CPWL:
    """Floats say which simplices there are; their corners are the exact points."""
    from scipy.spatial import Delaunay, QhullError

    view = points.astype(np.float64)
    if len(points) ** ((points.shape[1] + 1) // 2) > _CELLS * 10:
        raise LimitError(f"{len(points):,} points of {points.shape[1]} inputs have too many simplices")
    try:
        found = Delaunay(view)
    except (QhullError, ValueError):
        dim = points.shape[1]
        raise InputError(f"the points cannot be triangulated: {dim + 1} of them must span all {dim} inputs") from None
    return CPWL.from_simplices(points, found.simplices, values)
