"""What a question is about: exact pieces on a domain, with laws and their numbers in the function."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_count
from cpwl.errors import InputError
from cpwl.function.algebra.pieces import exactly, pieces_of
from cpwl.function.cpwl import CPWL
from cpwl.function.snap.snap import snap
from cpwl.geometry.bodies import Bodies
from cpwl.geometry.overlay import cut_by, repeated
from cpwl.geometry.polyhedra import as_domain

__all__ = ["Asked", "asked", "one_output"]


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Bodies that fill the domain asked about, each with its law."""

    bodies: Bodies
    laws: NDArray[np.object_]
    """Integer rows ``(gradient, offset, 1) * denominator``, one for each output."""
    number: NDArray[np.int64]
    """The piece of the (exact) function that each body is in."""
    moved: float
    """How far the exact function is from float data, relative."""
    noise: Fraction
    """Slopes up to this size cannot be told from 0; 0 for exact data."""

    @property
    def dim(self) -> int:
        return self.bodies.polyhedra.dim

    def value(self, i: int, point: NDArray[np.object_]) -> NDArray[np.object_]:
        """The values of the law of body `i` at a rational point."""
        law = self.laws[i]
        return np.array([Fraction((row[:-2] * point).sum() + row[-2]) / row[-1] for row in law], dtype=object)

    def slope(self, i: int, j: int) -> NDArray[np.object_]:
        """The gradient of output `j` on body `i`."""
        row = self.laws[i, j]
        return np.array([Fraction(v, row[-1]) for v in row[:-2]], dtype=object)


def asked(p: CPWL, domain: Any = None, box: Any = None) -> Asked:
    """The exact pieces of a function on a domain: ``(A, b)``, a box, or all of its own.

    Float data is asked through the exact function that `CPWL.snap` finds near it, and refused if there is none.
    """
    body = as_domain(domain, p.dim, box=box)
    whole = exactly(p)
    number, bodies = pieces_of(whole)
    if body is not None:
        kept, bodies = cut_by(bodies, np.arange(len(bodies)), repeated(body, len(bodies)))
        number = number[kept]
    if not len(bodies):
        raise InputError("the function is not defined at any inner point of this domain")
    moved, noise = 0.0, Fraction(0)
    if p.tol:
        moved = snap(p, p.tol).moved.largest
        noise = Fraction(p.tol) * Fraction(float(np.abs(p.laws.gradient).max(initial=0.0)))
    return Asked(bodies, whole.laws.integer()[number], number, moved, noise)


def one_output(p: CPWL, output: int | None) -> int:
    """The output that a question is about; it need not be said where there is one only."""
    if output is None:
        if p.outputs > 1:
            raise InputError(f"the function has {p.outputs} outputs: say which one, as `output=0`", option="output")
        return 0
    check_count(output, "output", least=0, most=p.outputs - 1)
    return int(output)
