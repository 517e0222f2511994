"""What a function answers: findings of the doctor, values with the points that show them, yes or no with a witness."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, LimitError
from cpwl.geometry.bodies import Bodies, is_bounded, volume_of
from cpwl.geometry.polyhedra import Polyhedra
from cpwl_check.reading import shown

Point = NDArray[np.object_]
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
    >>> point_text([-0.0])
    '(0)'
    """
    values = [f"{float(v) + 0.0:.6g}" for v in np.ravel(np.asarray(x, dtype=object))]
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
    """The examined function, if it is known; `plot` draws the findings on it."""

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
            rest = "is 1 more finding" if more == 1 else f"are {more} more findings"
            text = worst.message + (f"\n  There {rest}: see `p.doctor()`." if more else "")
            raise InputError(text, kind=worst.kind, pieces=worst.pieces, point=worst.point, size=worst.size)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the function with matplotlib, and a ring at each witness: red for errors, grey for notes.

        Returns the axes.
        """

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


def number_text(value: Any) -> str:
    """A number for people: in full if it is short, else about six digits.

    >>> number_text(Fraction(1, 3)), number_text(Fraction(10**40, 7)), number_text(math.inf)
    ('1/3', '1.42857e+39', 'inf')
    """
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() < 50:
        return str(value)
    return f"{float(value):.6g}"


def bound_text(bound: Fraction | float) -> str:
    """An upper bound for people: three digits, rounded up. All that prints one bound prints the same number.

    >>> bound_text(Fraction("5.551e-15")), bound_text(Fraction(0)), bound_text(1234.5), bound_text(math.inf)
    ('5.56e-15', '0', '1240', 'inf')
    """
    return "inf" if bound == math.inf else shown(Fraction(bound))


def facts_html(said: Any, facts: dict[str, Any]) -> str:
    """A sentence and a table of names and values, for notebooks; what is None or empty is left out."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
        if value is not None and str(value)
    )
    return f"<p>{escape(str(said))}</p><table>{rows}</table>"


def _display(*names: str) -> Callable[[Any], str]:
    """A `_repr_html_` that has a sentence, ``str(self)``, and the attributes of these names."""

    def shown(self: Any) -> str:
        return facts_html(self, {name.replace("_", " "): _cell(getattr(self, name)) for name in names})

    return shown


def _cell(value: Any) -> str | None:
    """A value for people: rationals short, points as points."""
    if isinstance(value, (Fraction, float)):
        return number_text(value)
    if isinstance(value, np.ndarray):
        return point_text(value)
    if isinstance(value, tuple):
        return ", ".join(point_text(part) for part in value)
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Extremum:
    """The largest or least value of an output, and where.

    If there is none the value is infinite: the function goes on without bound from `point` along `ray`.
    """

    value: Fraction | float
    point: Point
    ray: Point | None
    piece: int
    """The piece of the function that contains the point."""
    moved: float = 0.0
    """For float data: the relative distance from the data to the exact function (`CPWL.snap`)."""
    complete: bool = True
    """False if a limit ended the search; the value is then the best one found."""

    def __str__(self) -> str:
        where = f"at x = {point_text(self.point)}" + ("" if self.complete else ", undecided: not all regions were seen")
        if self.ray is None:
            return f"{number_text(self.value)} {where}"
        return f"unbounded from x = {point_text(self.point)} along {point_text(self.ray)}"

    _repr_html_ = _display("value", "point", "ray", "piece")


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """All values of an output lie between `low` and `high`, and both are attained unless they are infinite."""

    argmin: Extremum
    argmax: Extremum

    @property
    def low(self) -> Fraction | float:
        """The least value."""
        return self.argmin.value

    @property
    def high(self) -> Fraction | float:
        """The largest value."""
        return self.argmax.value

    def __str__(self) -> str:
        return f"[{number_text(self.low)}, {number_text(self.high)}]"

    _repr_html_ = _display("argmin", "argmax")


@dataclass(frozen=True, slots=True, eq=False)
class Lipschitz:
    """The least `L` with ``|f(a) - f(b)| <= L |a - b|``: between `low` and `high`, equal for rational `L`.

    In the Euclidean norm `L` may be a root: then `square` is its square if that is rational.
    """

    low: Fraction
    high: Fraction
    square: Fraction | None
    norm: Any
    piece: int
    points: tuple[Point, Point]
    """Two points of that piece that attain it (for several outputs in the Euclidean norm: that attain `low`)."""
    moved: float = 0.0
    complete: bool = True
    """False if a limit ended the search; then only `low` is proved."""

    def __float__(self) -> float:
        return math.sqrt(self.square) if self.square is not None else float(self.high)

    def __str__(self) -> str:
        value = number_text(self.high) if self.low == self.high else f"{float(self):.12g}"
        value += "" if self.complete else " at least, undecided: not all regions were seen,"
        return f"{value} on piece {self.piece}, between {point_text(self.points[0])} and {point_text(self.points[1])}"

    _repr_html_ = _display("norm", "piece", "points")


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Yes, no, or undecided within the limits; true in a condition only if it is a proved yes."""

    holds: bool | None
    reason: str
    points: tuple[Point, ...] = ()
    """Points of the domain that prove a "no"."""
    values: tuple[Point, ...] = ()
    """The values of the function there."""
    slack: Fraction = Fraction(0)
    """For float data: the largest slope, or change of slope, that was attributed to the noise of the data."""
    moved: float = 0.0

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        word = {True: "yes", False: "no", None: "undecided"}[self.holds]
        return f"{word}: {self.reason}"

    _repr_html_ = _display("points", "values")


@dataclass(frozen=True, slots=True, eq=False)
class Distance:
    """How far two functions are apart where both are defined, in the largest of the outputs."""

    largest: Fraction | float
    """The largest gap; infinite if there is no bound."""
    point: Point
    """Where it is attained."""
    mean: Fraction | None
    """The mean gap over the common domain; None if that is not bounded."""

    def __str__(self) -> str:
        if self.largest == math.inf:
            return "without bound"
        mean = "" if self.mean is None else f", {number_text(self.mean)} in the mean"
        return f"at most {number_text(self.largest)}, at x = {point_text(self.point)}{mean}"

    _repr_html_ = _display("largest", "point", "mean")


@dataclass(frozen=True, slots=True, eq=False)
class LevelSet:
    """A union of polyhedra with interiors: each in one piece of the function."""

    polyhedra: Polyhedra
    pieces: NDArray[np.int64]
    """The piece that contains each polyhedron."""
    bodies: Bodies

    def __len__(self) -> int:
        return len(self.polyhedra)

    def __str__(self) -> str:
        size = f", volume {number_text(self.volume)}" if self.polyhedra.dim <= 3 else ""
        return f"{len(self)} {'polyhedron' if len(self) == 1 else 'polyhedra'}{size}"

    _repr_html_ = _display()

    @property
    def volume(self) -> Fraction | float:
        """The volume, exactly, in up to three dimensions; infinite if a polyhedron is not bounded."""
        if self.polyhedra.dim > 3:
            raise LimitError("volumes are computed in up to 3 dimensions")
        if not is_bounded(self.bodies):
            return math.inf
        return volume_of(self.bodies)


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """A convex set in one piece: all convex combinations of `points` plus nonnegative ones of `rays`."""

    piece: int
    points: Point
    rays: Point
    dim: int


@dataclass(frozen=True, slots=True, eq=False)
class Solutions:
    """All solutions of ``p(x) = value``: a union of polyhedra.

    Corners and edges that pieces share are there once. Where pieces do not meet face to face, one of the polyhedra may
    lie in another.
    """

    faces: tuple[Face, ...]

    def __len__(self) -> int:
        return len(self.faces)

    def __str__(self) -> str:
        shown = ["-".join(point_text(x) for x in face.points) for face in self.faces[:10]]
        more = [f"and {len(self) - 10} more"] if len(self) > 10 else []
        return "; ".join(shown + more) if self.faces else "nowhere"

    _repr_html_ = _display()

    @property
    def points(self) -> list[Point]:
        """The polyhedra that are single points."""
        return [face.points[0] for face in self.faces if face.dim == 0]


@dataclass(frozen=True, slots=True)
class Jump:
    """Two pieces, a point of both, and by how much their laws differ there in one output."""

    size: Fraction
    pieces: tuple[int, int]
    where: tuple[Fraction, ...]
    output: int

    @property
    def unavoidable(self) -> Fraction:
        """No function is nearer to the data than that: half of the jump."""
        return self.size / 2
