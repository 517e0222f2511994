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

from cpwl.doors import check_argument, check_list, check_path, chosen_numbers, needed
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import unmasked
from cpwl.files import read_bytes, reading, write_bytes
from cpwl.function.cpwl import CPWL

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
    ("H", "H", "F", "g"),
)
"""Names in use for ``A x <= b`` and the law ``gradient x + offset``: PPOPT, MATLAB's explicit MPC, MPT, and others.

The same name for `A` and `b` is one matrix ``[A b]``, as in MPT3."""
_PARTS = ("A", "b", "gradient", "offset")
_EQUATIONS = ("He", "Ae")  # of MPT3: a region that has some is flat


def from_regions(
    regions: Sequence[Any], *, names: Mapping[str, str] | None = None, outputs: Any = None, tol: float | None = None
) -> CPWL:
    """The function of a list of regions: objects with attributes, or dictionaries.

    Parameters
    ----------
    regions
        For each region its half-spaces and its law.
    names
        The names of the fields: ``{"A": .., "b": .., "gradient": .., "offset": ..}`` for ``A x <= b`` and
        ``gradient x + offset``. By default one of the layouts in use: ``E f A b`` (PPOPT), ``H K F G`` (MATLAB's
        PiecewiseAffineSolution), ``H K F g``, ``A b C d``, ``A b F g``, ``H F g`` with ``H = [A b]`` (MPT3). Give
        "A" and "b" the same name if they are one matrix ``[A b]``.
    outputs
        Which rows of the laws: a number, a list or a slice; all if None.
    tol
        The relative tolerance of the data, as for `CPWL.from_pieces`.

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
    fitted = [_fitted(region, layout, number) for number, region in enumerate(regions)]
    every = slice(None) if outputs is None else outputs
    chosen = [chosen_numbers(every, len(law[3]), "outputs") for law in fitted]
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


def _fitted(region: Any, layout: tuple[str, str, str, str], number: int) -> tuple[Any, Any, Any, Any]:
    """One region with a law of two dimensions, and rows that are there even if there are none."""
    for name in _EQUATIONS:
        if _has(region, name) and np.size(_get(region, name, number)):
            raise InputError(f"region {number} has equations, `{name}`: leave out regions that are flat", piece=number)
    A, b, gradient, offset = (_plain(_get(region, name, number), f"{name}[{number}]") for name in layout)
    if layout[0] == layout[1]:  # [A b]
        if A.size and A.ndim != 2:
            said = f"`{layout[0]}` of region {number} must be the matrix [A b], and has shape {A.shape}"
            raise InputError(said, piece=number)
        A, b = (A[:, :-1], A[:, -1]) if A.size else (np.zeros((0, 0)), np.zeros(0))
    b, offset = b.ravel(), offset.ravel()
    slopes = gradient.reshape(len(offset), -1) if gradient.ndim < 2 and len(offset) else gradient
    if slopes.ndim != 2 or len(slopes) != len(offset):
        raise InputError(
            f"region {number} has a law with slopes of shape {np.shape(gradient)} and {len(offset)} constants: "
            "there must be one row of slopes for each constant",
            piece=number,
        )
    rows = A.reshape(len(b), slopes.shape[1]) if A.size == len(b) * slopes.shape[1] else A
    return rows, b, slopes, offset


# MATLAB's file format 5 (``-v6`` and ``-v7``): matrices, cell arrays and structures, every length checked first.
#
# A file is a header of 128 bytes and elements: a tag (type and size), then data, padded to 8 bytes; four bytes of data
# or less may stand in the tag itself. An array is an element of elements: flags, dimensions, name, and then numbers,
# the entries of a cell array, or the names of the fields of a structure and its entries. SciPy reads such files, too,
# but what is damaged can end the process there.


Value: TypeAlias = "NDArray[np.float64] | list[Any] | dict[str, list[Any]] | str | None"
"""Real numbers; the entries of a cell array, or of each field of an array of structures; the class of an object that
only MATLAB can read; None: anything else."""

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _OBJECT, _OPAQUE = 1, 2, 3, 17  # objects of old classes, such as MPT2's, are structures with a class
_NUMERIC = range(6, 16)
_COMPLEX = 0x0800
_DEEP = 16  # cells in cells
_CONSTANT = 2**26  # bytes that a small file may unfold to
_FACTOR = 8  # and a large one, for each of its bytes


def read_format5(raw: bytes) -> dict[str, Value]:
    """The variables of a file, by name; `InputError` if it is damaged."""
    if not raw.startswith(b"MATLAB 5.0") or len(raw) < 128 or raw[126:128] not in (b"IM", b"MI"):
        raise InputError("this is not a MATLAB file of format 5 to 7 (`save -v7`), or it is damaged")
    reader = _Format5("<" if raw[126:128] == b"IM" else ">", _CONSTANT + _FACTOR * len(raw))
    found: dict[str, Value] = {}
    for kind, data in reader.elements(memoryview(raw)[128:]):
        inside = reader.elements(reader.unfolded(data)) if kind == _COMPRESSED else iter([(kind, data)])
        for inner, content in inside:
            if inner == _MATRIX:
                name, value = reader.array(content, 0)
                if name in found:
                    raise InputError(f"the variable `{name[:80]}` is defined twice")
                found[name] = value
    return found


@dataclass(slots=True)
class _Format5:
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
            raise LimitError("this file expands to far more than its size; save it without compression, '-v6'")
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
        if len(flags) and int(flags[0]) & 0xFF == _OPAQUE:  # name, kind of class, class: and no dimensions
            name, _, kind_of = (self.word(parts) for _ in range(3))
            return name, kind_of
        shape = [int(v) for v in self.integers(parts, "dimensions")]
        name = self.word(parts)
        if len(flags) < 1 or not 1 <= len(shape) <= 8 or min(shape) < 0:
            raise InputError("this MATLAB file is damaged: an array has invalid dimensions")
        kind, count = int(flags[0]) & 0xFF, math.prod(shape)
        if kind in _NUMERIC and not int(flags[0]) & _COMPLEX:
            return name, self.numbers(parts, shape, count)
        if depth >= _DEEP:
            raise InputError(f"this MATLAB file has cells nested more than {_DEEP} deep")
        if kind == _CELL:
            return name, self.arrays(parts, count, depth)
        if kind == _OBJECT:
            self.word(parts)  # its class
        if kind in (_STRUCT, _OBJECT):
            return name, self.structures(parts, count, depth)
        return name, None

    def part(self, parts: Iterator[tuple[int, memoryview]], what: str) -> tuple[int, memoryview]:
        found = next(parts, None)
        if found is None:
            raise InputError(f"this MATLAB file is cut short, or damaged: {what} is missing")
        return found

    def word(self, parts: Iterator[tuple[int, memoryview]]) -> str:
        return bytes(self.part(parts, "a name")[1]).decode("ascii", "replace")

    def integers(self, parts: Iterator[tuple[int, memoryview]], what: str) -> NDArray[np.int64]:
        kind, data = self.part(parts, what)
        if kind not in (5, 6) or len(data) % 4:
            raise InputError(f"this MATLAB file is damaged: {what} are not integers")
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
            raise InputError("this MATLAB file is damaged: the names of fields have an invalid length")
        fields = [names[k : k + width].split(b"\0")[0].decode("ascii", "replace") for k in range(0, len(names), width)]
        entries = self.arrays(parts, count * len(fields), depth)
        return {name: entries[k :: len(fields)] for k, name in enumerate(fields)}


# MATLAB's format 7.3: HDF5, in which matrices are transposed, cells and arrays of structures are references.


def read_format73(path: str, size: int) -> dict[str, Value]:
    """The variables of a file of format 7.3, by name, through h5py."""
    h5py = needed("h5py", "a file in MATLAB's format 7.3", "save it with `save(..., '-v7')`")
    try:
        with h5py.File(path, "r") as file:
            reader = _Format73(h5py, file, _CONSTANT + _FACTOR * size)
            return {name: reader.value(reader.member(file, name), 0) for name in file if not name.startswith("#")}
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise InputError(f"this MATLAB file of format 7.3 is damaged: {error}") from None


@dataclass(slots=True)
class _Format73:
    h5py: Any
    file: Any
    left: int
    """How many bytes may still be read."""

    def member(self, group: Any, name: str) -> Any:
        """What a group holds; nothing of another file."""
        if not isinstance(group.get(name, getlink=True), self.h5py.HardLink):
            raise InputError(f"`{name[:80]}` is a link to another place: save the values themselves")
        return group[name]

    def value(self, item: Any, depth: int) -> Value:
        if depth > _DEEP:
            raise InputError(f"this MATLAB file has cells nested more than {_DEEP} deep")
        if "OCTAVE_NEW_FORMAT" in item.attrs:
            raise InputError("this is GNU Octave's own format, not that of MATLAB: save it with `save -v7`")
        kind = item.attrs.get("MATLAB_class", b"")
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        if int(item.attrs.get("MATLAB_object_decode", 0)) == 3:
            return kind
        if isinstance(item, self.h5py.Group):
            return None if "MATLAB_sparse" in item.attrs else self.structures(item, depth)
        if item.external or item.is_virtual:
            raise InputError("its numbers are in another file: save the values themselves")
        self.left -= math.prod(item.shape) * item.dtype.itemsize
        if self.left < 0:
            raise LimitError("this file expands to far more than its size; save it with '-v7'")
        empty = "MATLAB_empty" in item.attrs and bool(item.attrs["MATLAB_empty"])
        if kind == "cell":
            return [] if empty else self.referred(item, depth)
        if kind == "struct":
            return None  # an empty array of structures
        if item.dtype.kind not in "fiu" or kind == "char":
            return None
        if empty:
            shape = [int(v) for v in item[()]]
            return np.zeros(shape) if len(shape) == 2 and 0 in shape else None
        return np.asarray(item[()], dtype=np.float64).T

    def referred(self, item: Any, depth: int) -> list[Any]:
        """The arrays that a cell array, or a field of an array of structures, refers to, columns first."""
        return [self.value(self.file[reference], depth + 1) for reference in item[()].ravel()]

    def structures(self, group: Any, depth: int) -> dict[str, list[Any]]:
        """The fields of one structure, or of an array of them: then each is a table of references without a class."""
        found = {}
        for name in group:
            item = self.member(group, name)
            many = isinstance(item, self.h5py.Dataset) and item.dtype.kind == "O" and "MATLAB_class" not in item.attrs
            found[name] = self.referred(item, depth) if many else [self.value(item, depth + 1)]
        return found


def from_mat(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    names: Mapping[str, str] | None = None,
    outputs: Any = None,
    tol: float | None = None,
) -> CPWL:
    """Read a function from a MATLAB file with one region and one law in each entry.

    Four cell arrays, such as A, b, C, d or F, g or H, K; an array of structures with such fields, such as
    ``PiecewiseAffineSolution`` of MATLAB's explicit MPC, which has H, K, F, G; regions of MPT3, an array of structures
    ``Set`` with ``H = [A b]`` or ``A, b`` and the law as ``F, g``, there, in ``Set(i).Functions`` or in
    ``Set(i).Functions.primal``; or controllers of MPT2, ``Pn``, ``Fi``, ``Gi``.

    Parameters
    ----------
    path
        The file. Files saved with ``-v7.3`` need h5py (the extra "mat").
    variable
        The structure to read, if there are several.
    names, outputs, tol
        As for `from_regions`.

    Returns
    -------
    CPWL
        The function, not examined yet: see `doctor`.
    """
    check_path(path, "from_mat")
    with reading(path):
        raw = read_bytes(path)
        is_hdf5 = raw[:8] == b"\x89HDF\r\n\x1a\n" or raw[:10] == b"MATLAB 7.3"
        variables = read_format73(os.fspath(path), len(raw)) if is_hdf5 else read_format5(raw)
        if variable is not None:
            if variable not in variables:
                raise InputError(
                    f"there is no variable `{variable}`; there are {', '.join(sorted(variables)) or 'none'}"
                )
            variables = {variable: variables[variable]}
        return from_regions(_regions(variables, names), names=names, outputs=outputs, tol=tol)


def _regions(variables: Mapping[str, Any], names: Mapping[str, str] | None) -> list[dict[str, Any]]:
    wanted = (tuple(names.values()),) if isinstance(names, Mapping) else LAYOUTS
    for held in _structures(variables, 0):
        whole = _with_sets(held)
        for layout in wanted:
            found = _columns(whole, layout)
            if found is not None:
                return found
    objects = {name: value for held in _structures(variables, 0) for name, value in held.items() if type(value) is str}
    if objects:
        name, kind = next(iter(objects.items()))
        raise InputError(
            f"`{name}` is an object of the class `{kind}`, which only MATLAB can read: save its regions and laws as "
            "structures, such as Set(i).H, Set(i).F, Set(i).g"
        )
    shown = "; ".join(" ".join(dict.fromkeys(layout)) for layout in wanted)
    raise InputError(f"no regions were found: there must be cell arrays, or a structure with fields, {shown}")


def _structures(held: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """All things with names in a file, from the outside in: variables, then fields of structures."""
    yield held
    if depth < 3:
        for value in held.values():
            if isinstance(value, dict) and all(value.values()):
                # The one entry of a single structure is what the field holds; several are like a cell array.
                yield from _structures({k: v[0] if len(v) == 1 else v for k, v in value.items()}, depth + 1)


def _with_sets(held: Mapping[str, Any]) -> Mapping[str, Any]:
    """Names, and among them those of the regions in `Set` (MPT3) or `Pn` (MPT2), a column each."""
    for place in ("Set", "Pn"):
        records = _records(held.get(place), 0)
        if records:
            fields = dict.fromkeys(name for record in records for name in record)
            return {**{name: [record.get(name) for record in records] for name in fields}, **held}
    return held


def _records(value: Any, depth: int) -> list[dict[str, Any]]:
    """Structure by structure; arrays of polytopes of MPT2 are in a field, laws of MPT3 one or two structures deeper."""
    if isinstance(value, list) and depth < _DEEP:
        return [record for entry in value for record in _records(entry, depth + 1)]
    if not isinstance(value, dict) or len({len(column) for column in value.values()}) != 1:
        return []
    inner = _records(value.get("Array"), depth + 1) if depth < _DEEP else []
    if inner:
        return inner
    records = [dict(zip(value, parts, strict=True)) for parts in zip(*value.values(), strict=True)]
    for name in ("Functions", "primal"):
        for record in records:
            deeper = record.get(name)
            if isinstance(deeper, dict) and all(len(column) == 1 for column in deeper.values()):
                record.update({k: v[0] for k, v in deeper.items() if k not in record})
    return records


def _columns(held: Mapping[str, Any], layout: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """The regions whose parts have these names; None if they are not there."""
    if not all(isinstance(held.get(name), (np.ndarray, list)) for name in layout):
        return None
    columns = [value if isinstance(value, list) else [value] for value in (held[name] for name in layout)]
    if len({len(column) for column in columns}) != 1:
        counts = ", ".join(f"{name} {len(column)}" for name, column in zip(layout, columns, strict=True))
        raise InputError(f"the cell arrays have different lengths: {counts}")
    for name, column in zip(layout, columns, strict=True):
        wrong = next((i for i, entry in enumerate(column) if not isinstance(entry, np.ndarray)), None)
        if wrong is not None:
            message = f"entry {wrong + 1} of `{name}` is not a matrix of real numbers (use `full` if it is sparse)"
            raise InputError(message, piece=wrong)
    regions = [dict(zip(layout, parts, strict=True)) for parts in zip(*columns, strict=True)]
    for name in _EQUATIONS:
        given = held.get(name)
        if isinstance(given, list) and len(given) == len(regions):
            for region, equations in zip(regions, given, strict=True):
                region[name] = [] if equations is None else equations
    return regions


def to_mat(p: CPWL, path: str | os.PathLike[str]) -> None:
    """Write the pieces as a MATLAB file: cell arrays A, b, C, d, with ``A{i} x <= b{i}`` and ``C{i} x + d{i}``.

    Numbers are rounded to doubles, rows with rational entries as integers where doubles hold them. `from_mat` reads the
    file.

    Parameters
    ----------
    p : CPWL
        The function.
    path : path-like
        The file. An existing file is replaced when the new one is complete.
    """
    check_argument(p, CPWL, "to_mat")
    check_path(path, "to_mat")
    from scipy.io import savemat

    rows, start = np.column_stack([p.polyhedra.A, p.polyhedra.b]), p.polyhedra.start
    integers = p.polyhedra.integer()
    held = (abs(integers) <= 2**53).all(axis=1)
    rows[held] = integers[held].astype(np.float64)
    pairs = list(zip(start[:-1].tolist(), start[1:].tolist(), strict=True))
    cells = {
        "A": _as_cells(rows[a:b, :-1] for a, b in pairs),
        "b": _as_cells(rows[a:b, -1:] for a, b in pairs),
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
