"""`tradeoff`: neurons and bytes of C code against the error that is proved, from a tenth of the range to equality."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from cpwl.compiled import Compiled
from cpwl.compiler import compile_levels
from cpwl.construct.plan import Weights
from cpwl.doors import check_argument, needed
from cpwl.errors import InputError
from cpwl.function import CPWL
from cpwl.function.coarser import tolerances
from cpwl.io.c.text import network_tables
from cpwl.progress import Shown

LEVELS: tuple[str, ...] = ("10%", "3%", "1%", "0.3%", "0.1%", "0.01%")
"""The tolerances of `tradeoff`, as percentages of the range of an output."""
_EXACT = "exact"


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The smallest network found for one tolerance.

    Attributes
    ----------
    within
        The tolerance as it was given; "exact" for equality.
    compiled
        The network, with its exact distance (`Compiled.within`) and its proof (`Compiled.certificate`).
    bytes
        The constants of its C code, in the type of the weights.
    share
        The distance divided by the range of the output where it is largest; None if that range is infinite or 0.
    """

    within: str
    compiled: Compiled
    bytes: int
    share: float | None

    @property
    def data(self) -> dict[str, Any]:
        """The row as plain numbers and words."""
        made, proof = self.compiled, self.compiled.certificate
        assert made.within is not None
        near = made.within.data
        return {
            "within": self.within,
            "neurons": made.sizes.neurons,
            "layers": made.sizes.depth,
            "bytes": self.bytes,
            "distance": near["distance"],
            "share": self.share,
            "point": near["point"],
            "proposal": near["proposal"],
            "proved": None if proof is None else proof.proved,
            "kind": None if proof is None else proof.kind,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tradeoff:
    """Neurons and bytes against the error that is allowed; a row for each tolerance, the largest first."""

    rows: tuple[Level, ...]

    _HEAD = ("within", "neurons", "layers", "bytes of C", "distance", "of range", "proposal", "proved")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{row.within}: {row.compiled.sizes.neurons}" for row in self.rows)
        return f"Tradeoff({sizes} neurons)"

    @property
    def data(self) -> list[dict[str, Any]]:
        """The rows as plain numbers and words, for JSON; distances are rationals."""
        return [row.data for row in self.rows]

    @property
    def csv(self) -> str:
        """The rows as comma-separated values with a line of names."""
        out = io.StringIO()
        rows = [{**row, "point": " ".join(row["point"])} for row in self.data]
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def cells(self) -> list[tuple[str, ...]]:
        """The table in words: a line of names, then a line for each tolerance."""
        lines: list[tuple[str, ...]] = [self._HEAD]
        for row in self.data:
            far = float(Fraction(row["distance"]))
            share = "" if row["share"] is None else f"{100 * row['share']:.3g} %"
            proved = {None: "not asked", True: f"yes ({row['kind']})", False: "no"}[row["proved"]]
            sizes = (f"{row[name]:,}" for name in ("neurons", "layers", "bytes"))
            lines.append((row["within"], *sizes, f"{far:.6g}", share, row["proposal"], proved))
        return lines

    def __str__(self) -> str:
        lines = self.cells()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        head, *lines = self.cells()
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines]
        names = "".join(f"<th>{name}</th>" for name in head)
        return f"<table><tr>{names}</tr>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the distance against neurons with matplotlib, both logarithmic; returns the axes.

        The line is a staircase: a network stays within all larger errors. Equality is a dashed line.
        """
        plt = needed("matplotlib.pyplot", "`plot`")
        axes = plt.subplots(figsize=(6.4, 4.0))[1] if ax is None else ax
        relative = all(row.share is not None for row in self.rows)
        points = [(row, (row.share or 0.0) if relative else float(_far(row.compiled))) for row in self.rows]
        near = [(row, far) for row, far in points if far]
        colour = "#1f5fa8"
        if near:
            neurons, errors = [row.compiled.sizes.neurons for row, _ in near], [far for _, far in near]
            axes.step(neurons, errors, where="post", color=colour, lw=1.5, zorder=2)
            axes.scatter(neurons, errors, color=colour, zorder=3)
            for k, (row, far) in enumerate(near):
                again = k and row.compiled.sizes.neurons == neurons[k - 1]
                if not again:
                    text = f"{row.compiled.sizes.neurons}"
                    axes.annotate(text, (neurons[k], far), (5, 5), textcoords="offset points", fontsize=9)
            axes.set_yscale("log")
        for row, error in points:
            if not error:
                count = row.compiled.sizes.neurons
                axes.axvline(count, color="#444444", ls="--", lw=1, zorder=1)
                text = f"equal: {count} "
                axes.annotate(text, (count, 1), xycoords=("data", "axes fraction"), ha="right", va="top", fontsize=9)
                break
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plt.FuncFormatter(lambda v, _: f"{v:g}"))
        axes.xaxis.set_minor_formatter(plt.FuncFormatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else ""))
        axes.set_xlabel("hidden neurons")
        axes.set_ylabel("largest error" + (", as a share of the range" if relative else ""))
        axes.grid(True, which="major", lw=0.4, alpha=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        return axes


def tradeoff(
    p: CPWL,
    *,
    within: Sequence[Any] = LEVELS,
    certify: bool = True,
    weights: Weights = "exact",
    train: bool = False,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Tradeoff:
    """Neurons and bytes of C code against the proved error: a row for each tolerance, and one for equality.

    Parameters
    ----------
    p
        The function.
    within
        The tolerances, each as in `compile`: in units of the output, or a percentage of its range.
    certify
        Prove every row; the stand-alone checker decides. Distances are exact in any case.
    weights
        The weights for distances and proofs: the exact ones, or those of a file, rounded to this type.
    train, executor, progress
        As in `compile`.

    Returns
    -------
    Tradeoff
        `print` shows the table; `plot` draws it, `data` and `csv` have it for other programs.

    Raises
    ------
    InputError
        If a tolerance is not positive, or is a percentage of an infinite range.

    Examples
    --------
    >>> p = CPWL.from_grid([range(9)], [k * k for k in range(9)])
    >>> tradeoff(p, within=["10%", "1%"])
    Tradeoff(10%: 2, 1%: 4, exact: 7 neurons)
    """
    check_argument(p, CPWL, "tradeoff")
    if isinstance(within, str) or not isinstance(within, Sequence) or not within:
        raise InputError('`within` must be a list of tolerances, such as ["10%", "1%"], or left out')
    allowed = [(tolerances(p, one), _label(one)) for one in within]
    allowed.sort(key=lambda pair: pair[0])
    made = compile_levels(
        p,
        [None, *(tolerance for tolerance, _ in allowed)],
        certify=certify,
        weights=weights,
        train=train,
        executor=executor,
        progress=progress,
    )
    names = [_EXACT, *(name for _, name in allowed)]
    width = _range(p)
    rows = [_level(name, one, weights, width) for name, one in zip(names, made, strict=True)]
    return Tradeoff(tuple(reversed(rows)))


def _label(within: Any) -> str:
    several = isinstance(within, Sequence) and not isinstance(within, str)
    return ", ".join(map(str, within)) if several else str(within).strip()


def _level(name: str, made: Compiled, weights: Weights, width: Fraction | None) -> Level:
    tables = network_tables(made.network, "float32" if weights == "float32" else "float64")
    return Level(name, made, tables.cost.flash, None if width is None else float(_far(made) / width))


def _far(made: Compiled) -> Fraction | float:
    assert made.within is not None
    return made.within.distance.largest


def _range(p: CPWL) -> Fraction | None:
    """The range of a function of one output; None if it is not finite or 0, or there are more outputs."""
    if p.outputs > 1:
        return None
    found = p.range()
    if not math.isfinite(found.low) or not math.isfinite(found.high) or found.low == found.high:
        return None
    return Fraction(found.high) - Fraction(found.low)
