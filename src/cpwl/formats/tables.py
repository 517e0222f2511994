"""The pieces of a function as a table: CSV, a MATLAB file, a pandas DataFrame.

In CSV each line is a row of a piece, ``a . x <= b``, or the law of an output on it, ``g . x + o``::

    piece,what,output,x0,x1,constant
    0,row,,1,0,1/3
    0,law,0,2,-1,5

Numbers are exact: integers, "p/q", or doubles in the shortest decimals that give them back.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cpwl.documents.write import function_document
from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction
from cpwl.files import read_bytes, write_bytes, write_text
from cpwl.function.cpwl import CPWL

if TYPE_CHECKING:
    import pandas

__all__ = ["from_pieces_csv", "is_pieces_csv", "to_csv", "to_dataframe", "to_mat"]

_FIRST = ["piece", "what", "output"]


def to_csv(p: CPWL, path: str | os.PathLike[str]) -> None:
    """Write the pieces as CSV: a line for each row ``a . x <= constant`` and each law ``g . x + constant``.

    Parameters
    ----------
    p : CPWL
        The function. Its numbers are written exactly; an asserted domain and a tolerance are not in the file.
    path : path-like
        The file; what is there is replaced when the new file is complete.
    """
    check_argument(p, CPWL, "to_csv")
    check_path(path, "to_csv")
    made = io.StringIO()
    out = csv.writer(made, lineterminator="\n")
    out.writerow([*_FIRST, *(f"x{k}" for k in range(p.dim)), "constant"])
    for i, piece in enumerate(_pieces(p)):
        for row, right in zip(piece["A"], piece["b"], strict=True):
            out.writerow([i, "row", "", *map(_word, row), _word(right)])
        for j, (slopes, offset) in enumerate(zip(piece["gradient"], piece["offset"], strict=True)):
            out.writerow([i, "law", j, *map(_word, slopes), _word(offset)])
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
    name, data = os.fsdecode(path), read_bytes(path)
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
        return _function(lines, tol)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name} is not a CSV file of pieces: {error}", path=name) from None
    except InputError as error:
        raise InputError(f"{name}: {error}", path=name) from None


def is_pieces_csv(first_line: str) -> bool:
    """Whether a CSV file with this first line holds pieces.

    >>> is_pieces_csv("piece,what,output,x0,constant"), is_pieces_csv("x,y,value")
    (True, False)
    """
    return [word.strip() for word in first_line.split(",")][:3] == _FIRST


def _function(lines: list[list[str]], tol: float | None) -> CPWL:
    if not lines or not is_pieces_csv(",".join(lines[0])) or len(lines[0]) < 5:
        raise InputError("the first line must be `piece,what,output,x0,..,constant`")
    width = len(lines[0])
    pieces: dict[int, tuple[list[Any], dict[int, Any]]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line:
            continue
        try:
            if len(line) != width or line[1] not in ("row", "law"):
                raise ValueError
            rows, laws = pieces.setdefault(_count(line[0]), ([], {}))
            numbers = [_number(word) for word in line[3:]]
            if line[1] == "row":
                rows.append(numbers)
            elif laws.setdefault(_count(line[2]), numbers) is not numbers:
                raise InputError(f"line {number} gives output {line[2]} of piece {line[0]} another law")
        except (ValueError, InputError) as error:
            said = str(error) or f"`{','.join(line)[:60]}` is neither a row nor a law of {width - 4} inputs"
            raise InputError(f"line {number}: {said}", line=number) from None
    return _of_pieces(pieces, tol)


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


def _number(word: str) -> Any:
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


def to_mat(p: CPWL, path: str | os.PathLike[str]) -> None:
    """Write the pieces as a MATLAB file: cell arrays A, b, C, d, with ``A{i} x <= b{i}`` and ``C{i} x + d{i}``.

    Numbers are rounded to doubles. `from_mat` reads the file.

    Parameters
    ----------
    p : CPWL
        The function.
    path : path-like
        The file; what is there is replaced when the new file is complete.
    """
    check_argument(p, CPWL, "to_mat")
    check_path(path, "to_mat")
    from scipy.io import savemat

    start = p.polyhedra.start
    pairs = list(zip(start[:-1].tolist(), start[1:].tolist(), strict=True))
    cells = {
        "A": _cells(p.polyhedra.A[a:b] for a, b in pairs),
        "b": _cells(p.polyhedra.b[a:b, None] for a, b in pairs),
        "C": _cells(p.laws.gradient),
        "d": _cells(offset[:, None] for offset in p.laws.offset),
    }
    made = io.BytesIO()
    savemat(made, cells)  # type: ignore[arg-type]  # any stream will do
    # The first 116 bytes are a text with the time: the same function gives the same bytes.
    head = b"MATLAB 5.0 MAT-file, written by cpwl: A{i} x <= b{i}, C{i} x + d{i}"
    write_bytes(path, head.ljust(116) + made.getvalue()[116:])


def _cells(arrays: Iterable[Any]) -> Any:
    found = list(arrays)
    cells = np.empty((len(found), 1), dtype=object)
    for i, array in enumerate(found):
        cells[i, 0] = np.asarray(array)
    return cells


def to_dataframe(p: CPWL) -> pandas.DataFrame:
    """The pieces as a pandas DataFrame, one line a piece: ``A``, ``b``, ``gradient`` and ``offset`` hold arrays.

    Exact data is arrays of `Fraction`. ``CPWL.from_pieces(*(list(frame[name]) for name in frame))`` is the way back.

    Parameters
    ----------
    p : CPWL
        The function.
    """
    check_argument(p, CPWL, "to_dataframe")
    try:
        import pandas
    except ImportError:
        raise LimitError("`to_dataframe` needs pandas: pip install pandas") from None
    convert = np.vectorize(fraction, otypes=[object]) if p.tol == 0 else np.asarray
    columns: dict[str, list[Any]] = {name: [] for name in ("A", "b", "gradient", "offset")}
    for piece in _pieces(p):
        for name, column in columns.items():
            array = np.array(piece[name], dtype=object if p.tol == 0 else np.float64)
            column.append(
                convert(array.reshape(-1, p.dim) if name in ("A", "gradient") else array) if array.size else array
            )
    frame = pandas.DataFrame({name: pandas.Series(column, dtype=object) for name, column in columns.items()})
    frame.index.name = "piece"
    return frame
