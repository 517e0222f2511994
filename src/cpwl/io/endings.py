"""Which reader and which writer a file has, by the ending of its name: two tables, one row for each kind of file.

A row names its function as "module:function"; it is imported when a file of that kind comes along. A reader is
``read(path)``, a writer ``write(value, path)``. To teach the command line a further kind of file, add a row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import PurePath
from typing import Any, Literal

from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.network.network import Network

__all__ = ["READERS", "WRITERS", "Door", "ending_of_content", "read", "reader_of", "recognized", "write", "writer_of"]

Kind = Literal["function", "network"]
_BOTH: tuple[Kind, ...] = ("function", "network")


@dataclass(frozen=True, slots=True)
class Door:
    """A kind of file: the ending of its names, what it is called, what it may hold, and who reads or writes it."""

    ending: str
    what: str
    kinds: tuple[Kind, ...]
    home: str

    def function(self) -> Callable[..., Any]:
        """The reader or the writer itself."""
        module, _, name = self.home.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


READERS: tuple[Door, ...] = (
    Door(
        ".json", "JSON of this package; programs with active sets; plants for MPC", _BOTH, "cpwl.io.json:read_json_file"
    ),
    Door(".onnx", "ONNX model", ("network",), "cpwl.io.onnx.read:from_onnx"),
    Door(".npz", "NumPy arrays of weights", ("network",), "cpwl.io.weights:from_npz"),
    Door(".safetensors", "weights", ("network",), "cpwl.io.weights:from_safetensors"),
    Door(".nnet", "ACAS Xu network", ("network",), "cpwl.io.text:from_nnet"),
    Door(".mat", "MATLAB file of regions and laws", ("function",), "cpwl.io.mat:from_mat"),
    Door(".csv", "table of points and values", ("function",), "cpwl.io.csv:from_csv"),
    Door(".pwl", "rational pieces of pwl2limodsat", ("function",), "cpwl.io.text:from_pwl"),
    Door(".txt", "formula", ("function",), "cpwl.io.formula:read_formula_file"),
)
WRITERS: tuple[Door, ...] = (
    Door(".json", "JSON of this package, exact", _BOTH, "cpwl.io.json:save"),
    Door(".onnx", "ONNX model", ("network",), "cpwl.io.onnx.write:to_onnx"),
    Door(".npz", "NumPy arrays", ("network",), "cpwl.io.weights:to_npz"),
    Door(".safetensors", "safetensors", ("network",), "cpwl.io.weights:to_safetensors"),
    Door(".csv", "CSV of pieces", ("function",), "cpwl.io.csv:to_csv"),
    Door(".mat", "MATLAB cell arrays A, b, C, d", ("function",), "cpwl.io.mat:to_mat"),
    Door(".h", "C header, double", _BOTH, "cpwl.io.c.write:to_c"),
)


def read(path: str | os.PathLike[str], **options: Any) -> CPWL | Network:
    """The function or the network in a file of any kind that we read, chosen by the ending of its name.

    `options` are those of its own reader, such as ``layout="matrix"`` for a CSV file.

    >>> import tempfile
    >>> from cpwl.io.json import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(CPWL.from_breakpoints([0, 1], [0, 1]), folder + "/law.json")
    ...     read(folder + "/law.json")
    CPWL(R^1 -> R^1, 1 pieces, 1 components, exact)
    """
    check_path(path, "read")
    door = reader_of(path)
    reader = door.function()
    strange = options.keys() - signature(reader).parameters.keys() if options else ()
    if strange:
        raise InputError(f"`{min(strange)}` says nothing about a {door.ending} file", ending=door.ending)
    found: CPWL | Network = reader(path, **options)
    return found


def write(value: CPWL | Network, path: str | os.PathLike[str]) -> None:
    """Write a function or a network to a file of the kind that the ending of its name says."""
    check_argument(value, (CPWL, Network), "write")
    check_path(path, "write")
    door = writer_of(path)
    kind: Kind = "network" if isinstance(value, Network) else "function"
    if kind not in door.kinds:
        step = "`cpwl compile` makes a network of it" if kind == "function" else "`cpwl extract` finds its pieces"
        raise InputError(f"{door.ending} holds a {door.kinds[0]}, and this is a {kind}: {step}", ending=door.ending)
    door.function()(value, path)


def reader_of(path: str | os.PathLike[str]) -> Door:
    """The reader of a file, by its ending, or by what is in it; `InputError` with those there are if neither says."""
    found = recognized(path)
    return _door(READERS, path, "read") if found is None else found


def recognized(path: str | os.PathLike[str]) -> Door | None:
    """The reader of a file, by its ending, or by what is in it; None if neither says."""
    if any(_fits(door, path) for door in READERS):
        return _door(READERS, path, "read")
    ending = ending_of_content(_head(path))
    return next((door for door in READERS if door.ending == ending), None)


def writer_of(path: str | os.PathLike[str]) -> Door:
    """The writer of a file; `InputError` with those there are if its ending is unknown."""
    return _door(WRITERS, path, "written")


def _fits(door: Door, path: str | os.PathLike[str]) -> bool:
    return PurePath(os.fsdecode(path)).name.lower().endswith(door.ending)


def _head(path: str | os.PathLike[str]) -> bytes:
    """The beginning of a file that can be read twice, or nothing."""
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def ending_of_content(head: bytes) -> str:
    """The ending that files which begin like this have, or "" if that cannot be told.

    >>> ending_of_content(b'{"format": "cpwl"'), ending_of_content(b"// a network"), ending_of_content(b"0.1,2\\n")
    ('.json', '.nnet', '.csv')
    """
    if head[8:10] in (b'{"', b"{ ") and head[4:8] == bytes(4):
        return ".safetensors"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return next((ending for start, ending in _BEGINNINGS if re.match(start, text)), "")


_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (rb"MATLAB 5\.0", ".mat"),
    (rb"PK\x03\x04", ".npz"),
    (rb"\x08[\x01-\x20]", ".onnx"),
    (rb"[{]", ".json"),
    (rb"//", ".nnet"),
    (rb"(?:c\b[^\n]*\n\s*)*(?:pwl\s|tl\s)", ".pwl"),
    (rb"(?:[A-Za-z_][\w ]*[,;\t])*[A-Za-z_][\w ]*\r?\n[-+.\d]", ".csv"),
    (rb"[-+.\d/eE]+[,;\t ]+[-+.\d/eE]+\s", ".csv"),
)


def _door(doors: tuple[Door, ...], path: str | os.PathLike[str], verb: str) -> Door:
    name = os.fsdecode(path)
    fitting = [door for door in doors if _fits(door, path)]
    if not fitting:
        known = ", ".join(door.ending for door in doors)
        raise InputError(f"`{name}` has an ending that is not {verb} here; it may be one of {known}", path=name)
    return max(fitting, key=lambda door: len(door.ending))
