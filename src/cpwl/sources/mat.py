"""MATLAB files: regions and laws in cell arrays, or in arrays of structures."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cpwl.doors import check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import read_bytes
from cpwl.function.cpwl import CPWL
from cpwl.limits import check_memory
from cpwl.sources.regions import LAYOUTS, from_regions

__all__ = ["from_mat"]

_COMPRESSED = 15  # the type of a compressed element
_CONSTANT = 2**26  # bytes that a small file may unfold to
_FACTOR = 8  # and a large one, for each of its bytes


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
        variables = _load(read_bytes(name))
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


def _load(raw: bytes) -> dict[str, Any]:
    from scipy.io import loadmat

    read: Any = loadmat  # it takes open files, too, whatever its type says

    if raw[:8] == b"\x89HDF\r\n\x1a\n" or raw[:10] == b"MATLAB 7.3":
        raise InputError("this file is in MATLAB's format 7.3; save it with `save(..., '-v7')`")
    if not raw.startswith(b"MATLAB 5.0"):
        raise InputError("this is not a MATLAB file of format 5 to 7, or it is damaged")
    _check_unfolded(raw)
    check_memory(_FACTOR * len(raw), "what this file holds", "Save fewer variables.")
    try:
        found: dict[str, Any] = read(io.BytesIO(raw), mat_dtype=True, verify_compressed_data_integrity=True)
    except Exception as error:  # SciPy raises whatever its parser trips over
        raise InputError(f"this MATLAB file is damaged: {str(error)[:200] or type(error).__name__}") from error
    return {key: value for key, value in found.items() if not key.startswith("__")}


def _check_unfolded(raw: bytes) -> None:
    """Refuse a file that unfolds to far more than it has."""
    order = "<" if raw[126:128] == b"IM" else ">"
    at, left = 128, _CONSTANT + _FACTOR * len(raw)
    while at + 8 <= len(raw):
        kind, size = struct.unpack(f"{order}II", raw[at : at + 8])
        if kind == _COMPRESSED:
            left -= _unfolded(raw[at + 8 : at + 8 + size], left)
        at += 8 + size


def _unfolded(data: bytes, most: int) -> int:
    """How many bytes it unfolds to; in parts, none of which is kept."""
    unfold = zlib.decompressobj()
    size = 0
    try:
        part = unfold.decompress(data, 2**20)
        while part:
            size += len(part)
            if size > most:
                raise LimitError(
                    f"this file unfolds to more than {most // 2**20} MiB; save it without compression, '-v6'"
                )
            part = unfold.decompress(unfold.unconsumed_tail, 2**20)
    except zlib.error as error:
        raise InputError(f"this MATLAB file is damaged: {error}") from error
    return size


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
            if isinstance(value, np.ndarray) and value.dtype.names and value.size:
                yield from _structures({name: _field(value, name) for name in value.dtype.names}, depth + 1)


def _field(value: Any, name: str) -> Any:
    """A field of all structures in an array: what is in it if there is but one structure, else an array of them."""
    column = value[name].ravel()
    return column[0] if len(column) == 1 else column


def _columns(held: Mapping[str, Any], layout: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """The regions whose parts have these names; None if they are not there, or not all of the same number."""
    if not all(isinstance(held.get(name), np.ndarray) for name in layout):
        return None
    columns = [_entries(held[name]) for name in layout]
    if len({len(column) for column in columns}) != 1:
        counts = ", ".join(f"{name} {len(column)}" for name, column in zip(layout, columns, strict=True))
        raise InputError(f"cells do not belong together, there are of {counts}")
    wrong = next((i for column in columns for i, entry in enumerate(column) if entry.dtype.kind not in "fiu"), None)
    if wrong is not None:
        raise InputError(f"entry {wrong + 1} of a cell array holds no real numbers", piece=wrong)
    return [dict(zip(layout, parts, strict=True)) for parts in zip(*columns, strict=True)]


def _entries(value: Any) -> list[Any]:
    """The entries of a cell array; a matrix is a single one."""
    if value.dtype != object:
        return [value]
    return [np.asarray(entry) for entry in value.ravel()]
