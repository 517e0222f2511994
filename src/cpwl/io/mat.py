"""MATLAB files: regions and laws in cell arrays or structures, in and out; and regions of anybody's objects, in."""

from __future__ import annotations

import io
import math
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_list, check_path
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import unmasked
from cpwl.files import read_bytes, write_bytes
from cpwl.function.cpwl import CPWL

__all__ = ["LAYOUTS", "from_mat", "from_regions", "to_mat"]

# Pieces from anybody's objects: half-spaces and laws under whatever names they have there.


LAYOUTS: tuple[tuple[str, str, str, str], ...] = (
    ("E", "f", "A", "b"),
    ("H", "K", "F", "G"),
    ("H", "K", "F", "g"),
    ("Hn", "Kn", "Fi", "Gi"),
    ("H", "K", "Fi", "Gi"),
    ("A", "b", "C", "d"),
    ("A", "b", "F", "g"),
    ("A", "b", "F", "G"),
    ("A", "b", "gradient", "offset"),
)
"""Names in use for ``A x <= b`` and the law ``gradient x + offset``: PPOPT, MATLAB's explicit MPC, MPT, and others."""
_PARTS = ("A", "b", "gradient", "offset")


def from_regions(
    regions: Sequence[Any], *, names: Mapping[str, str] | None = None, outputs: Any = None, tol: float | None = None
) -> CPWL:
    """The function of a list of regions: objects with attributes, or dictionaries.

    Parameters
    ----------
    regions
        For each region its half-spaces and its law.
    names
        What they are called there: ``{"A": .., "b": .., "gradient": .., "offset": ..}`` for ``A x <= b`` and
        ``gradient x + offset``. By default one of the layouts in use: ``E f A b`` (PPOPT), ``H K F G`` (MATLAB's
        PiecewiseAffineSolution), ``H K F g``, ``A b C d``, ``A b F g``.
    outputs
        Which rows of the laws: a number, a list or a slice; all if None.
    tol
        By how much the data may be off, relative; as for `CPWL.from_pieces`.

    Returns
    -------
    CPWL
        The function, not examined yet: see `doctor`.

    >>> from_regions([{"H": [[1]], "K": [0], "F": [[-1]], "G": [0]}, {"H": [[-1]], "K": [0], "F": [[1]], "G": [0]}])
    CPWL(R^1 -> R^1, 2 pieces, 2 components, exact)
    """
    check_list(regions, "regions")
    if len(regions) == 0:
        raise InputError("there are no pieces: `regions` is empty")
    layout = _named(names) if names is not None else layout_of(regions[0])
    parts: list[list[Any]] = [[], [], [], []]
    for number, region in enumerate(regions):
        for place, name in enumerate(layout):
            parts[place].append(_get(region, name, number))
    A, gradient = ([_plain(v, f"{layout[k]}[{i}]") for i, v in enumerate(parts[k])] for k in (0, 2))
    b, offset = ([_plain(v, f"{layout[k]}[{i}]").ravel() for i, v in enumerate(parts[k])] for k in (1, 3))
    pieces = zip(A, b, gradient, offset, strict=True)
    fitted = [_fit(*piece, number) for number, piece in enumerate(pieces)]
    chosen = [_rows(outputs, len(law[3])) for law in fitted]
    return CPWL.from_pieces(
        [piece[0] for piece in fitted],
        [piece[1] for piece in fitted],
        [piece[2][rows] for piece, rows in zip(fitted, chosen, strict=True)],
        [piece[3][rows] for piece, rows in zip(fitted, chosen, strict=True)],
        tol=tol,
    )


def layout_of(region: Any) -> tuple[str, str, str, str]:
    """The first layout whose names a region has."""
    for layout in LAYOUTS:
        if all(_has(region, name) for name in layout):
            return layout
    known = "; ".join(" ".join(layout) for layout in LAYOUTS)
    raise InputError(
        f"regions of this kind are unknown: give `names`, or attributes {known}", type=type(region).__name__
    )


def _named(names: Mapping[str, str]) -> tuple[str, str, str, str]:
    if (
        not isinstance(names, Mapping)
        or set(names) != set(_PARTS)
        or not all(isinstance(v, str) for v in names.values())
    ):
        raise InputError('`names` must say what "A", "b", "gradient" and "offset" are called')
    return names["A"], names["b"], names["gradient"], names["offset"]


def _has(region: Any, name: str) -> bool:
    return name in region if isinstance(region, Mapping) else hasattr(region, name)


def _get(region: Any, name: str, number: int) -> Any:
    if not _has(region, name):
        raise InputError(f"region {number} has no `{name}`", piece=number)
    return region[name] if isinstance(region, Mapping) else getattr(region, name)


def _plain(values: Any, name: str) -> NDArray[Any]:
    """An array; lists with rationals in them keep them."""
    if hasattr(values, "toarray"):
        values = values.toarray()
    array = np.asarray(unmasked(values, name))
    return np.asarray(values, dtype=object) if array.dtype.kind in "OUS" else array


def _fit(A: Any, b: Any, gradient: Any, offset: Any, number: int) -> tuple[Any, Any, Any, Any]:
    """One region with a law of two dimensions, and rows that are there even if there are none."""
    slopes = gradient.reshape(len(offset), -1) if gradient.ndim < 2 and len(offset) else gradient
    if slopes.ndim != 2 or len(slopes) != len(offset):
        raise InputError(
            f"region {number} has a law with slopes of shape {np.shape(gradient)} and {len(offset)} constants: "
            "there must be one row of slopes a constant",
            piece=number,
        )
    rows = A.reshape(len(b), slopes.shape[1]) if A.size == len(b) * slopes.shape[1] else A
    return rows, b, slopes, offset


def _rows(outputs: Any, count: int) -> NDArray[np.int64]:
    every = np.arange(count)
    if outputs is None:
        return every
    try:
        return np.atleast_1d(every[outputs])
    except (IndexError, TypeError, ValueError):
        raise InputError(f"`outputs` must be numbers from 0 to {count - 1}, or a slice, not {outputs!r:.50}") from None


# MATLAB's file format 5 (``-v6`` and ``-v7``): matrices, cell arrays and structures, every length checked first.
#
# A file is a header of 128 bytes and elements: a tag (type and size), then data, padded to 8 bytes; four bytes of data
# or
# less may stand in the tag itself. An array is an element of elements: flags, dimensions, name, and then numbers, the
# entries of a cell array, or the names of the fields of a structure and its entries. SciPy reads such files, too, but
# what is damaged can end the process there.


Value: TypeAlias = "NDArray[np.float64] | list[Any] | dict[str, list[Any]] | None"
"""Real numbers; the entries of a cell array, or of each field of an array of structures; None: anything else."""

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT = 1, 2
_NUMERIC = range(6, 16)
_COMPLEX = 0x0800
_DEEP = 16  # cells in cells
_CONSTANT = 2**26  # bytes that a small file may unfold to
_FACTOR = 8  # and a large one, for each of its bytes


def read_format5(raw: bytes) -> dict[str, Value]:
    """The variables of a file, by name; `InputError` if it is damaged."""
    if raw[:8] == b"\x89HDF\r\n\x1a\n" or raw[:10] == b"MATLAB 7.3":
        raise InputError("this file is in MATLAB's format 7.3; save it with `save(..., '-v7')`")
    if not raw.startswith(b"MATLAB 5.0") or len(raw) < 128 or raw[126:128] not in (b"IM", b"MI"):
        raise InputError("this is not a MATLAB file of format 5 to 7, or it is damaged")
    reader = _Reader("<" if raw[126:128] == b"IM" else ">", _CONSTANT + _FACTOR * len(raw))
    found: dict[str, Value] = {}
    for kind, data in reader.elements(memoryview(raw)[128:]):
        inside = reader.elements(reader.unfolded(data)) if kind == _COMPRESSED else iter([(kind, data)])
        for inner, content in inside:
            if inner == _MATRIX:
                name, value = reader.array(content, 0)
                if name in found:
                    raise InputError(f"the variable `{name[:80]}` is there twice")
                found[name] = value
    return found


@dataclass(slots=True)
class _Reader:
    order: str
    left: int
    """How many bytes may still be unfolded."""

    def elements(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Type and data of each element."""
        at = 0
        while at + 8 <= len(data):
            first, size = struct.unpack_from(f"{self.order}II", data, at)
            if first >> 16:  # type, size and data in one tag
                kind, size, start, after = first & 0xFFFF, first >> 16, at + 4, at + 8
                if size > 4:
                    raise InputError("this MATLAB file is damaged: a short element has more than four bytes")
            else:
                kind, start = first, at + 8
                after = start + size + (0 if kind == _COMPRESSED else -size % 8)
            if start + size > len(data):
                raise InputError("this MATLAB file is cut short, or damaged: an element reaches beyond its end")
            yield kind, data[start : start + size]
            at = after

    def unfolded(self, data: memoryview) -> memoryview:
        """What a compressed element holds, if it is not far more than the file."""
        unfold = zlib.decompressobj()
        try:
            whole = unfold.decompress(data, self.left)
        except zlib.error as error:
            raise InputError(f"this MATLAB file is damaged: {error}") from error
        if unfold.unconsumed_tail:
            raise LimitError("this file unfolds to far more than its size; save it without compression, '-v6'")
        if not unfold.eof:
            raise InputError("this MATLAB file is cut short: a compressed variable has no end")
        self.left -= len(whole)
        return memoryview(whole)

    def array(self, data: memoryview, depth: int) -> tuple[str, Value]:
        """Name and value of an array."""
        if len(data) == 0:
            return "", np.zeros((0, 0))
        parts = self.elements(data)
        flags = self.integers(parts, "flags")
        shape = [int(v) for v in self.integers(parts, "dimensions")]
        name = bytes(self.part(parts, "a name")[1]).decode("ascii", "replace")
        if len(flags) < 1 or not 1 <= len(shape) <= 8 or min(shape) < 0:
            raise InputError("this MATLAB file is damaged: an array has no proper dimensions")
        kind, count = int(flags[0]) & 0xFF, math.prod(shape)
        if kind in _NUMERIC and not int(flags[0]) & _COMPLEX:
            return name, self.numbers(parts, shape, count)
        if depth >= _DEEP:
            raise InputError(f"this MATLAB file has cells nested more than {_DEEP} deep")
        if kind == _CELL:
            return name, self.arrays(parts, count, depth)
        if kind == _STRUCT:
            return name, self.structures(parts, count, depth)
        return name, None

    def part(self, parts: Iterator[tuple[int, memoryview]], what: str) -> tuple[int, memoryview]:
        found = next(parts, None)
        if found is None:
            raise InputError(f"this MATLAB file is cut short, or damaged: {what} is missing")
        return found

    def integers(self, parts: Iterator[tuple[int, memoryview]], what: str) -> NDArray[np.int64]:
        kind, data = self.part(parts, what)
        if kind not in (5, 6) or len(data) % 4:
            raise InputError(f"this MATLAB file is damaged: {what} are no integers")
        return np.frombuffer(data, dtype=f"{self.order}{_NUMBERS[kind]}").astype(np.int64)

    def numbers(self, parts: Iterator[tuple[int, memoryview]], shape: list[int], count: int) -> NDArray[np.float64]:
        """Real numbers; a file may write them in a shorter type than they have."""
        if count == 0:
            return np.zeros(shape)
        kind, data = self.part(parts, "a number")
        if kind not in _NUMBERS:
            raise InputError("this MATLAB file is damaged: numbers of an unknown type")
        dtype = np.dtype(f"{self.order}{_NUMBERS[kind]}")
        if len(data) != count * dtype.itemsize:
            raise InputError(f"this MATLAB file is damaged: an array of {count:,} numbers has {len(data):,} bytes")
        return np.frombuffer(data, dtype=dtype).astype(np.float64).reshape(shape, order="F")

    def arrays(self, parts: Iterator[tuple[int, memoryview]], count: int, depth: int) -> list[Any]:
        """So many arrays, one after the other; the list grows with what is really there."""
        found: list[Any] = []
        while len(found) < count:
            kind, data = self.part(parts, "an entry")
            if kind != _MATRIX:
                raise InputError("this MATLAB file is damaged: an entry is not an array")
            found.append(self.array(data, depth + 1)[1])
        return found

    def structures(self, parts: Iterator[tuple[int, memoryview]], count: int, depth: int) -> dict[str, list[Any]]:
        """Fields are written structure by structure."""
        widths = self.integers(parts, "lengths of names")
        width = int(widths[0]) if len(widths) == 1 else 0
        names = bytes(self.part(parts, "names of fields")[1])
        if not 1 <= width <= 1024 or len(names) % width:
            raise InputError("this MATLAB file is damaged: the names of fields have no proper length")
        fields = [names[k : k + width].split(b"\0")[0].decode("ascii", "replace") for k in range(0, len(names), width)]
        entries = self.arrays(parts, count * len(fields), depth)
        return {name: entries[k :: len(fields)] for k, name in enumerate(fields)}


def from_mat(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    names: Mapping[str, str] | None = None,
    outputs: Any = None,
    tol: float | None = None,
) -> CPWL:
    """The function in a MATLAB file (up to ``-v7``): one region and one law an entry.

    Either four cell arrays, such as A, b, C, d or F, g or H, K, or an array of structures with such fields, such as
    ``PiecewiseAffineSolution`` of MATLAB's explicit MPC, which has H, K, F, G.

    Parameters
    ----------
    path
        The file. What is saved with ``-v7.3`` has to be saved again with ``-v7``.
    variable
        The structure to look in, if there are several.
    names, outputs, tol
        As for `from_regions`.

    Returns
    -------
    CPWL
        The function, not examined yet: see `doctor`.
    """
    check_path(path, "from_mat")
    name = os.fspath(path)
    try:
        variables = read_format5(read_bytes(name))
        if variable is not None:
            if variable not in variables:
                raise InputError(
                    f"there is no variable `{variable}`; there are {', '.join(sorted(variables)) or 'none'}"
                )
            variables = {variable: variables[variable]}
        regions = _regions(variables, names)
        return from_regions(regions, names=names, outputs=outputs, tol=tol)
    except (InputError, LimitError) as error:
        raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error


def _regions(variables: Mapping[str, Any], names: Mapping[str, str] | None) -> list[dict[str, Any]]:
    wanted = (tuple(names.values()),) if isinstance(names, Mapping) else LAYOUTS
    for held in _structures(variables, 0):
        for layout in wanted:
            found = _columns(held, layout)
            if found is not None:
                return found
    shown = "; ".join(" ".join(layout) for layout in wanted)
    raise InputError(f"no regions were found: there must be cell arrays, or a structure with fields, {shown}")


def _structures(held: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """All things with names in a file, from the outside in: variables, then fields of structures."""
    yield held
    if depth < 3:
        for value in held.values():
            if isinstance(value, dict) and all(value.values()):
                # The one entry of a single structure is what the field holds; several are like a cell array.
                yield from _structures({k: v[0] if len(v) == 1 else v for k, v in value.items()}, depth + 1)


def _columns(held: Mapping[str, Any], layout: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """The regions whose parts have these names; None if they are not there."""
    if not all(isinstance(held.get(name), (np.ndarray, list)) for name in layout):
        return None
    columns = [value if isinstance(value, list) else [value] for value in (held[name] for name in layout)]
    if len({len(column) for column in columns}) != 1:
        counts = ", ".join(f"{name} {len(column)}" for name, column in zip(layout, columns, strict=True))
        raise InputError(f"cells do not belong together, there are of {counts}")
    for name, column in zip(layout, columns, strict=True):
        wrong = next((i for i, entry in enumerate(column) if not isinstance(entry, np.ndarray)), None)
        if wrong is not None:
            message = f"entry {wrong + 1} of `{name}` is not a matrix of real numbers (use `full` if it is sparse)"
            raise InputError(message, piece=wrong)
    return [dict(zip(layout, parts, strict=True)) for parts in zip(*columns, strict=True)]


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
        "A": _as_cells(p.polyhedra.A[a:b] for a, b in pairs),
        "b": _as_cells(p.polyhedra.b[a:b, None] for a, b in pairs),
        "C": _as_cells(p.laws.gradient),
        "d": _as_cells(offset[:, None] for offset in p.laws.offset),
    }
    made = io.BytesIO()
    savemat(made, cells)  # type: ignore[arg-type]  # any stream will do
    # The first 116 bytes are a text with the time: the same function gives the same bytes.
    head = b"MATLAB 5.0 MAT-file, written by cpwl: A{i} x <= b{i}, C{i} x + d{i}"
    write_bytes(path, head.ljust(116) + made.getvalue()[116:])


def _as_cells(arrays: Iterable[Any]) -> Any:
    found = list(arrays)
    cells = np.empty((len(found), 1), dtype=object)
    for i, array in enumerate(found):
        cells[i, 0] = np.asarray(array)
    return cells
