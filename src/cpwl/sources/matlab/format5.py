"""MATLAB's file format 5 (``-v6`` and ``-v7``): matrices, cell arrays and structures, every length checked first.

A file is a header of 128 bytes and elements: a tag (type and size), then data, padded to 8 bytes; four bytes of data or
less may stand in the tag itself. An array is an element of elements: flags, dimensions, name, and then numbers, the
entries of a cell array, or the names of the fields of a structure and its entries. SciPy reads such files, too, but
what is damaged can end the process there.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError

__all__ = ["Value", "read_format5"]

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
                raise InputError("this MATLAB file is damaged: an entry is no array")
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
