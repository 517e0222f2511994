"""Lines of numbers in text files, with their places for whoever has to complain."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction
from cpwl.files import read_bytes

__all__ = ["lines_of", "number", "reading"]

_MOST = 2**28  # bytes of a text file
_NOTHING = ("", "nan", "-nan", "na", "n/a", "#n/a", "null", "none", "-")  # how programs write that there is no number


def lines_of(name: str) -> list[str]:
    """The lines of a text file in UTF-8."""
    raw = read_bytes(name)
    if len(raw) > _MOST:
        raise LimitError(f"the file has {len(raw):,} bytes; text is read up to {_MOST:,}")
    try:
        return raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"the file is not UTF-8 text, from byte {error.start} on") from error


def number(word: str, line: int, column: int | None = None) -> Fraction:
    """The number that a word stands for, exactly: a decimal, or "p/q"; `column` is counted from 1.

    >>> number("0.1", 1), number("2/3", 1)
    (Fraction(1, 10), Fraction(2, 3))
    """
    try:
        return fraction(word.strip())
    except InputError as error:
        where = f"line {line}" if column is None else f"line {line}, column {column}"
        if word.strip().lower() in _NOTHING:
            said = "is empty" if not word.strip() else f'is "{word.strip()}", which is not a number'
            raise InputError(f"{where} {said}; write a number there, or leave the line out", line=line) from None
        raise InputError(f"{where}: {error}", line=line) from None


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Puts the name of the file before whatever is wrong with it."""
    name = os.fspath(path)
    try:
        yield
    except (InputError, LimitError) as error:
        raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error
