"""Names in C."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from cpwl.errors import InputError

__all__ = ["c_name", "checked_name"]

_TAKEN = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main"""


def c_name(path: str | os.PathLike[str]) -> str:
    """The name of a function in C, after a file.

    >>> c_name("my law-2.h"), c_name("2d.h"), c_name("double.h")
    ('my_law_2', 'law_2d', 'law_double')
    """
    stem = re.sub(r"[^A-Za-z0-9_]", "_", Path(os.fsdecode(path)).stem)
    return stem if _is_name(stem) else f"law_{stem}".rstrip("_")


def checked_name(name: Any) -> str:
    """The name, if it is one."""
    if not isinstance(name, str) or not _is_name(name):
        raise InputError(f"`name` must be a name in C, letters, digits and underscores, not {str(name)[:50]!r}")
    return name


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)) and name not in _TAKEN.split()
