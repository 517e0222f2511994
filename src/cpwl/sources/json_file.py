"""JSON files of whatever kind we read, told apart by what is in them."""

from __future__ import annotations

import os

from cpwl.doors import check_path
from cpwl.files import read_bytes
from cpwl.formats.json import load
from cpwl.function.cpwl import CPWL
from cpwl.network.network import Network
from cpwl.sources.mpqp.document import read_mpqp

__all__ = ["read_json_file"]


def read_json_file(path: str | os.PathLike[str]) -> CPWL | Network:
    """The function or network in a JSON file: our own format, or a program with active sets."""
    check_path(path, "read")
    raw = read_bytes(path)
    foreign = b'"format"' not in raw and b'"proc"' in raw and b'"act"' in raw
    del raw
    return read_mpqp(path) if foreign else load(path)
