"""Which constructions apply to which cases of the catalogue: read from the pinned sizes, as cases for tests.

`tests/construct/test_sizes.py` holds `sizes.json` to what is built, ``null`` where a construction does not apply. So
a test of "every network there is" has one case for each, and none that has nothing to look at.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path

__all__ = ["SIZES", "applicable", "pinned"]

SIZES = Path(__file__).parent.parent / "construct" / "sizes.json"


@cache
def pinned() -> dict[str, dict[str, int | None]]:
    """Hidden neurons by case and construction; None where the construction does not apply."""
    sizes: dict[str, dict[str, int | None]] = json.loads(SIZES.read_text("utf-8"))
    return sizes


def applicable(names: Collection[str], constructions: Collection[str]) -> list[tuple[str, str]]:
    """The pairs of a case and a construction that have a network, in the order given.

    >>> applicable(["hat", "delaunay_space"], ["hinge", "strips", "lattice"])
    [('hat', 'hinge'), ('hat', 'lattice'), ('delaunay_space', 'lattice')]
    """
    sizes = pinned()
    return [(name, c) for name in names for c in constructions if sizes[name].get(c) is not None]
