"""Functions and networks as JSON files, exactly: what is saved is what is loaded, to the last bit.

A number is a JSON number, exactly the double or integer that it parses to, or a string "p/q". The format is
written down in ``schema.json`` in `cpwl.documents`, and whatever is read is validated against it first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from cpwl.documents.read import function_from_pieces, function_from_table, network_from_layers, read_document
from cpwl.documents.write import document_text, function_document, network_document
from cpwl.doors import check_argument, check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import read_bytes, reading, write_text
from cpwl.function.cpwl import CPWL
from cpwl.io.mpqp import read_mpqp, read_plant
from cpwl.mpqp.plan import Plan
from cpwl.network.network import Network

_READERS: dict[str, Callable[[dict[str, Any]], CPWL | Network]] = {
    "pieces": function_from_pieces,
    "table": function_from_table,
    "network": network_from_layers,
}


def save(p_or_network: CPWL | Network, path: str | os.PathLike[str], *, note: str | None = None) -> None:
    """Write a function or a network to the JSON file `path`; `note` is a remark for people.

    A function with a triangulated table behind it is saved as that table, any other as its pieces, in order.
    The same value gives the same bytes. The file appears whole or not at all.

    >>> import tempfile
    >>> from pathlib import Path
    >>> p = CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [["-1/3"], [2]], [0, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(p, folder + "/law.json")
    ...     print(Path(folder, "law.json").read_text())
    {
    "format": "cpwl",
    "version": 1,
    "dim": 1,
    "outputs": 1,
    "tol": 0,
    "domain": null,
    "pieces": [
    {"A": [[1]], "b": [0], "gradient": [["-1/3"]], "offset": [0]},
    {"A": [[-1]], "b": [0], "gradient": [[2]], "offset": [0]}
    ]
    }
    <BLANKLINE>
    """
    if note is not None and not isinstance(note, str):
        raise InputError(f"`note` must be a string, not {type(note).__name__}")
    check_argument(p_or_network, (CPWL, Network), "save")
    check_path(path, "save")
    try:
        document = (
            network_document(p_or_network) if isinstance(p_or_network, Network) else function_document(p_or_network)
        )
        text = document_text(document, note)
    except ValueError as error:  # Python writes no integers of more than 4300 digits.
        raise LimitError(f"cannot save this: {error}") from None
    write_text(path, text)


def load(path: str | os.PathLike[str]) -> CPWL | Network:
    """The function or the network in the JSON file `path`, validated against ``schema.json``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(CPWL.from_simplices([[0], [1]], [[0, 1]], ["1/3", 2]), folder + "/law.json")
    ...     load(folder + "/law.json")
    CPWL(R^1 -> R^1, 1 piece, 1 component, exact)
    """
    check_path(path, "load")
    kind, data = read_document(path)
    with reading(path):
        return _READERS[kind](data)


# JSON files of whatever kind we read, told apart by what is in them.


_FORMATS = {b"cpwl": "function", b"cpwl-network": "network", b"cpwl-proof": "proof"}
_NAMES = {"program": (b'"proc"', b'"act"'), "plant": (b'"A"', b'"B"', b'"R"', b'"N"')}


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a JSON file holds: a "function", "network", "proof", "program" with active sets or "plant"; else "".

    The names in it decide. Nothing else is looked at.
    """
    raw = read_bytes(path)
    if b'"format"' in raw:
        found = re.search(rb'"format"\s*:\s*"(cpwl[\w-]*)"', raw)
        return "" if found is None else _FORMATS.get(found[1], "")
    return next((kind for kind, names in _NAMES.items() if all(name in raw for name in names)), "")


def read_json_file(path: str | os.PathLike[str]) -> CPWL | Network:
    """The function or network in a JSON file: our own format, a program with active sets, or a plant with its law."""
    check_path(path, "read")
    kind = kind_of(path)
    return read_mpqp(path) if kind == "program" else read_plant(path).solve() if kind == "plant" else load(path)


def plant_in(path: str | os.PathLike[str]) -> Plan | None:
    """The plan of the plant in a JSON file; None if something else is in it."""
    return read_plant(path) if os.fsdecode(path).lower().endswith(".json") and kind_of(path) == "plant" else None
