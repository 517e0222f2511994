"""What is wrong with a function: findings with witnesses, largest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError

__all__ = ["Finding", "Report", "point_text"]

Kind = Literal[
    "jump",
    "overlap",
    "gap",
    "domain not convex",
    "outside domain",
    "flat piece",
    "empty piece",
    "sliver",
    "redundant rows",
    "repeated laws",
    "mergeable pieces",
    "nearly parallel facets",
    "scale",
    "half-line",
    "rounded points",
]
_ORDER: tuple[Kind, ...] = get_args(Kind)


def point_text(x: Any, limit: int = 8) -> str:
    """A point as people write it: ``(0.5, 1.25)``.

    >>> point_text([0.5, 1.25])
    '(0.5, 1.25)'
    """
    values = [f"{float(v):.6g}" for v in np.ravel(np.asarray(x, dtype=object))]
    return "(" + ", ".join(values[:limit]) + (", ...)" if len(values) > limit else ")")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong or noteworthy: what, where, how large, and in one sentence what to do."""

    kind: Kind
    severity: Literal["error", "note"]
    message: str
    pieces: tuple[int, ...]
    point: NDArray[Any] | None
    size: float


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about one function: errors by size, then notes by kind and size."""

    findings: tuple[Finding, ...]
    function: Any = field(default=None, compare=False, repr=False)
    """What was examined, where that is known: `plot` draws the findings on it."""

    @classmethod
    def of(cls, findings: list[Finding]) -> Report:
        """The findings in order."""
        return cls(tuple(sorted(findings, key=_rank)))

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that mean that this is no continuous function on a convex domain."""
        return tuple(f for f in self.findings if f.severity == "error")

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes do not count."""
        return not self.errors

    def check(self) -> None:
        """Raises `InputError` with the first error, if there is one."""
        if self.errors:
            worst = self.errors[0]
            more = len(self.errors) - 1
            text = worst.message + (f"\n  There are {more} more findings: see `p.doctor()`." if more else "")
            raise InputError(text, kind=worst.kind, pieces=worst.pieces, point=worst.point, size=worst.size)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the function with matplotlib, and a ring at each witness: red for errors, grey for notes.

        Returns the axes.
        """
        from cpwl.function.picture.plot import plot_findings

        return plot_findings(self.function, self.findings, ax)

    def _repr_html_(self) -> str:
        """A table of the findings, for notebooks."""
        if not self.findings:
            return "<p>healthy: no findings</p>"
        rows = []
        for f in self.findings:
            where = "" if f.point is None else point_text(f.point)
            cells = (f.severity, f.kind, where, f"{f.size:.3g}", f.message)
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th>{name}</th>" for name in ("", "kind", "where", "size", "what"))
        return f"<table><tr>{head}</tr>{''.join(rows)}</table>"

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __str__(self) -> str:
        if not self.findings:
            return "healthy: no findings"
        return "\n".join(f"{f.severity}: {f.message}" for f in self.findings)


def _rank(finding: Finding) -> tuple[bool, int, float, tuple[int, ...]]:
    is_note = finding.severity == "note"
    return is_note, _ORDER.index(finding.kind) if is_note else 0, -finding.size, finding.pieces
