"""One exception tree: the caller's mistake, our limit and our bug are three different classes.

Every error says what is wrong, where, and what to do; the data behind the sentence is in ``details``.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConstructionError",
    "CpwlError",
    "CpwlWarning",
    "InputError",
    "InternalError",
    "LimitError",
    "ProofError",
    "SolverError",
    "counted",
    "printable",
]


_LONGEST = 2000  # characters of a message


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "output"), counted(1200, "piece")
    ('1 output', '1,200 pieces')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def printable(message: str) -> str:
    r"""The message for any terminal: control characters written out, and what is too long cut in the middle.

    >>> printable("node `\x1b[31mred` is bad")
    'node `\\x1b[31mred` is bad'
    """
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 3 :]}"
    if message.replace("\n", "").isprintable():
        return message
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message)


class CpwlError(Exception):
    """Base of all errors of this package.

    >>> error = InputError("piece 3 is empty", piece=3)
    >>> error.details["piece"]
    3
    """

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(printable(message))
        self.details: dict[str, Any] = details


class InputError(CpwlError, ValueError):
    """The caller's mistake: data that is not a continuous piecewise-linear function, or not readable."""


class LimitError(CpwlError):
    """Our limit: a valid request that this package cannot serve, with the reason."""


class ConstructionError(LimitError):
    """A construction does not apply to this function; ``details`` has the witness."""


class ProofError(CpwlError):
    """A claimed proof does not hold, or network and function differ; ``details`` has the witness."""


class InternalError(CpwlError):
    """Our bug: something that was proven impossible has happened."""


class SolverError(InternalError):
    """A linear-programming solver failed; no answer may be read off such a run."""


class CpwlWarning(UserWarning):
    """Something harmless was changed or is worth knowing, such as an empty piece that was dropped."""
