"""What snapping tells: the function, how far anything was moved, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpwl.function.jump import Jump

if TYPE_CHECKING:
    from cpwl.function.cpwl import CPWL

__all__ = ["Moved", "Snapped"]


@dataclass(frozen=True, slots=True)
class Moved:
    """How far anything was moved."""

    coefficient: float = 0.0
    """The largest change of a coefficient of a law, relative to the largest one of its kind (slopes, offsets)."""
    value: float = 0.0
    """The largest change of a law on its piece, relative to the size of the values."""
    facet: float = 0.0
    """The largest distance from a facet to its new hyperplane, relative to the size of the coordinates."""

    def __add__(self, more: Moved) -> Moved:
        """Both moves, one after the other."""
        return Moved(self.coefficient + more.coefficient, self.value + more.value, self.facet + more.facet)

    @property
    def largest(self) -> float:
        """The largest of them all."""
        return max(self.coefficient, self.value, self.facet)


@dataclass(frozen=True, slots=True)
class Snapped:
    """An exactly consistent function near float data, or the reason why there is none to offer."""

    function: CPWL | None
    moved: Moved
    reason: str
    """Empty, or what stands in the way."""
    way: str = ""
    """How it was made: "exact" (as it was), "even", "straight", "simplices", "laws", "together", "patches", "outputs",
    "triangles" or "pieces"."""
    laws: int = 0
    """How many laws of pieces changed at all."""
    facets: int = 0
    """How many facets of pieces moved at all."""
    patches: int = 0
    """How many pieces had to be cut into simplices, because their laws cannot be kept."""
    where: tuple[float, ...] | None = None
    """A point where a law changed most."""
    places: tuple[tuple[float, ...], ...] = ()
    """For "patches": a point in each place where pieces were cut up, of those that hang together."""
    flat: tuple[int, ...] | None = None
    """The pieces of the data that have no interior, or none thicker than the noise; None: nobody has looked."""
    jump: Jump | None = None
    """Where two pieces of the data differ most at a point that both have: no function is nearer than half of that."""

    def __str__(self) -> str:
        """What was done, in a few lines."""
        if self.function is None:
            return f"no exact function near the data: {self.reason}"
        if self.moved.largest == 0:
            return "the data is exactly consistent: nothing was moved"
        place = "" if self.where is None else f", most at x = {_point(self.where)}"
        lines = [
            f"{self.laws} laws of pieces moved by up to {self.moved.value:.2g} of the values{place}",
            f"{self.facets} facets moved by up to {self.moved.facet:.2g} of the coordinates",
            f"{self.patches} pieces were cut into simplices{self._around()}",
        ]
        if self.jump is not None:
            i, j = self.jump.pieces
            size, least = float(self.jump.size), float(self.jump.unavoidable)
            lines.append(f"pieces {i} and {j} overlap and differ by {size:.2g}: no function is within {least:.2g}")
        return "\n".join(lines)

    def _around(self) -> str:
        if not self.places:
            return ""
        more = f" and {len(self.places) - 1} other places" if len(self.places) > 1 else ""
        return f", around x = {_point(self.places[0])}{more}"


def _point(x: tuple[float, ...]) -> str:
    return f"({', '.join(f'{v:.6g}' for v in x)})"
