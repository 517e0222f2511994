"""Which reader and which writer a file has, by the ending of its name: one table, one row for each kind of file.

A row names its function as "module:function"; it is imported when a file of that kind comes along. A reader is
``read(path)``, a writer ``write(value, path)``. To teach `read`, `write` and the command line a further kind of file,
add a row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any, Literal, NoReturn, TypeAlias

from cpwl.compiled import Compiled
from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError
from cpwl.function.cpwl import CPWL
from cpwl.network.network import Network

Kind: TypeAlias = Literal["function", "network"]
Verb: TypeAlias = Literal["read", "written"]
_FUNCTION: tuple[Kind, ...] = ("function",)
_NETWORK: tuple[Kind, ...] = ("network",)
_BOTH = _FUNCTION + _NETWORK


@dataclass(frozen=True, slots=True)
class Door:
    """How files of a kind are read, or written: their ending, what they are called and may hold, and the function."""

    verb: Verb
    ending: str
    what: str
    kinds: tuple[Kind, ...]
    home: str

    def function(self) -> Callable[..., Any]:
        """The reader or the writer itself."""
        module, _, name = self.home.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"cpwl.io.{module}"), name)
        return found


_JSON = "JSON of this package"
_DOORS = (
    Door("read", ".json", f"{_JSON}; programs with active sets; plants for MPC", _BOTH, "json:read_json_file"),
    Door("read", ".onnx", "ONNX model", _NETWORK, "onnx.read:from_onnx"),
    Door("read", ".npz", "NumPy arrays of weights", _NETWORK, "weights:from_npz"),
    Door("read", ".safetensors", "weights", _NETWORK, "weights:from_safetensors"),
    Door("read", ".nnet", "ACAS Xu network", _NETWORK, "text:from_nnet"),
    Door("read", ".mat", "MATLAB file of regions and laws", _FUNCTION, "mat:from_mat"),
    Door("read", ".csv", "table of points and values", _FUNCTION, "text:from_csv"),
    Door("read", ".pwl", "rational pieces of pwl2limodsat", _FUNCTION, "text:from_pwl"),
    Door("read", ".txt", "formula", _FUNCTION, "formula:read_formula_file"),
    Door("written", ".json", f"{_JSON}, exact", _BOTH, "json:save"),
    Door("written", ".onnx", "ONNX model", _NETWORK, "onnx.write:to_onnx"),
    Door("written", ".npz", "NumPy arrays", _NETWORK, "weights:to_npz"),
    Door("written", ".safetensors", "safetensors", _NETWORK, "weights:to_safetensors"),
    Door("written", ".mat", "MATLAB cell arrays A, b, C, d", _FUNCTION, "mat:to_mat"),
    Door("written", ".csv", "CSV of pieces", _FUNCTION, "text:to_csv"),
    Door("written", ".h", "C header, double", _BOTH, "c.write:to_c"),
)


def doors(verb: Verb) -> list[Door]:
    """All kinds of files that are "read", or "written"."""
    return [door for door in _DOORS if door.verb == verb]


def read(path: str | os.PathLike[str], **options: Any) -> CPWL | Network:
    """Read a function or a network from a file; the ending of its name selects the format.

    `options` are those of its own reader, such as ``layout="matrix"`` for a CSV file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(CPWL.from_breakpoints([0, 1], [0, 1]), folder + "/law.json")
    ...     read(folder + "/law.json")
    CPWL(R^1 -> R^1, 1 piece, 1 component, exact)
    """
    check_path(path, "read")
    door = recognized(path) or _refuse(path, "read")
    reader = door.function()
    _check_options(door, reader, options)
    found: CPWL | Network = reader(path, **options)
    return found


def _check_options(door: Door, function: Callable[..., Any], options: dict[str, Any]) -> None:
    known = {*signature(function).parameters, *getattr(function, "formerly", ())}
    if strange := options.keys() - known:
        raise InputError(f"`{min(strange)}` is not an option for {door.ending} files", ending=door.ending)


def write(value: CPWL | Network | Compiled, path: str | os.PathLike[str], **options: Any) -> None:
    """Write a function or a network to a file; the ending of its name selects the format.

    A result of `compile` is written as its network. `options` are those of the writer of the format, such as
    ``dtype="float32"`` for an ONNX file or ``note=".."`` for JSON.
    """
    if isinstance(value, Compiled):
        value = value.network
    check_argument(value, (CPWL, Network), "write")
    check_path(path, "write")
    door = writer_of(path)
    kind: Kind = "network" if isinstance(value, Network) else "function"
    if kind not in door.kinds:
        step = "`cpwl compile` makes a network of it" if kind == "function" else "`cpwl extract` finds its pieces"
        raise InputError(
            f"a {door.ending} file holds a {door.kinds[0]}, and this is a {kind}: {step}", ending=door.ending
        )
    writer = door.function()
    _check_options(door, writer, options)
    writer(value, path, **options)


def recognized(path: str | os.PathLike[str]) -> Door | None:
    """The reader of a file, by its ending, or by what is in it; None if neither says."""
    return _by_name(path, "read") or _by_name(ending_of_content(_head(path)), "read")


def writer_of(path: str | os.PathLike[str]) -> Door:
    """The writer of a file; `InputError` with those there are if its ending is unknown."""
    return _by_name(path, "written") or _refuse(path, "written")


def _by_name(path: str | os.PathLike[str], verb: Verb) -> Door | None:
    name = os.fsdecode(path).lower()
    return next((door for door in doors(verb) if name.endswith(door.ending)), None)


def _refuse(path: str | os.PathLike[str], verb: Verb) -> NoReturn:
    known = ", ".join(door.ending for door in doors(verb))
    name = os.fsdecode(path)
    raise InputError(f"`{name}` has an unknown ending; files that can be {verb} end in {known}", path=name)


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
    (rb"MATLAB (?:5\.0|7\.3)", ".mat"),
    (rb"PK\x03\x04", ".npz"),
    (rb"\x08[\x01-\x20]", ".onnx"),
    (rb"[{]", ".json"),
    (rb"//", ".nnet"),
    (rb"(?:c\b[^\n]*\n\s*)*(?:pwl\s|tl\s)", ".pwl"),
    (rb"(?:[A-Za-z_][\w ]*[,;\t])*[A-Za-z_][\w ]*\r?\n[-+.\d]", ".csv"),
    (rb"[-+.\d/eE]+[,;\t ]+[-+.\d/eE]+\s", ".csv"),
)
