"""Do two pieces agree where they meet? Differences of laws, exactly or within the tolerance of float data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.rational import fraction_array
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.scale import scale_of
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["Agreement"]


class Agreement:
    """Compares the laws of pieces; what two pieces may differ by follows from their own values."""

    def __init__(self, p: CPWL, polyhedra: Polyhedra) -> None:
        self.p, self.polyhedra = p, polyhedra
        self.exact = p.tol == 0
        self._laws = p.laws.integer() if self.exact else p.laws.coefficients()
        if not self.exact:
            scale = scale_of(polyhedra, p.laws, p.tol)
            self._slack, self._reach = 10 * scale.slack(p.tol), scale.reach

    def slack(self, i: int, j: int) -> float:
        """What values of two pieces may differ by: 0 for exact data."""
        return 0 if self.exact else float(max(self._slack[i], self._slack[j]))

    def difference(self, i: int, j: int) -> NDArray[Any]:
        """``f_i - f_j`` for each output, as rows ``(g, o)``, for exact data up to a positive factor."""
        f, g = self._laws[i], self._laws[j]
        if not self.exact:
            return np.asarray(f - g)
        return np.asarray(f[:, :-1] * g[:, -1:] - g[:, :-1] * f[:, -1:])

    def on_plane(self, i: int, j: int, row: int) -> bool:
        """Whether ``f_i = f_j`` on the whole hyperplane of that row: the difference is a multiple of it."""
        d = self.difference(i, j)
        if self.exact:
            assert self.polyhedra.exact is not None
            a = self.polyhedra.exact[row]
            h = np.append(a[:-1], -a[-1])
            k = int(np.argmax(h[:-1] != 0))
            return bool((d * h[k] == d[:, k : k + 1] * h).all())
        h = np.append(self.polyhedra.A[row], -self.polyhedra.b[row])
        k = int(np.argmax(np.abs(h[:-1])))
        rest = d - d[:, k : k + 1] / h[k] * h
        reach = max(self._reach[i], self._reach[j])
        return bool((np.abs(rest) @ np.append(np.full(self.p.dim, reach), 1.0) <= self.slack(i, j)).all())

    def largest(self, i: int, j: int, where: Polyhedron, seen: NDArray[Any], probe: Probe) -> tuple[Any, NDArray[Any]]:
        """How far the two laws are apart on a set, and where; if that has no bound, at the point `seen`.

        For exact data somewhat further out, so that laws that agree there but not everywhere are told apart.
        """
        best, place = self.gap(i, j, seen), np.asarray(seen)
        for law in self.difference(i, j):
            for side in (law, -law):
                value, point = probe.maximum(where, side[:-1])
                if value == np.inf and self.exact:
                    value, point = 0, fraction_array(seen) + fraction_array(point)  # the point is a ray
                if np.isfinite(float(value)) and self.gap(i, j, point) > best:
                    best, place = self.gap(i, j, point), point
        return best, place

    def gap(self, i: int, j: int, x: NDArray[Any]) -> Any:
        """The largest difference of the two laws at a point, over the outputs; for exact data a rational."""
        if not self.exact:
            return float(np.abs(self._at(i, x) - self._at(j, x)).max())
        # Values that agree in all digits of a float may still differ.
        d, scale = self.difference(i, j), self._laws[i][:, -1] * self._laws[j][:, -1]
        values = (d[:, :-1] * fraction_array(x)).sum(axis=1) + d[:, -1]
        return max(abs(Fraction(value) / int(s)) for value, s in zip(values, scale, strict=True))

    def text(self, i: int, j: int, x: NDArray[Any]) -> str:
        """What the two pieces say at a point."""
        one, two = (point_text(v) if len(v) > 1 else f"{v[0]:.10g}" for v in (self._at(i, x), self._at(j, x)))
        return f"piece {i} gives {one} and piece {j} gives {two}"

    def _at(self, i: int, x: NDArray[Any]) -> NDArray[np.float64]:
        if self.exact and x.dtype == object:
            law = self._laws[i]
            values = ((law[:, :-2] * x).sum(axis=1) + law[:, -2]) / law[:, -1]
            return np.asarray(values, dtype=np.float64)
        point = np.asarray(x, dtype=np.float64)
        return np.asarray(self.p.laws.gradient[i] @ point + self.p.laws.offset[i])
