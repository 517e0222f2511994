"""Names in the order that people expect."""

from __future__ import annotations

import re

__all__ = ["natural_key"]


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """To sort by: digits by their value, so that x2 comes before x10.

    >>> sorted(["x10", "x9", "a"], key=natural_key)
    ['a', 'x9', 'x10']
    """
    return tuple((1, 0, word) if not word.isdecimal() else (0, int(word), "") for word in re.findall(r"\d+|\D+", name))
