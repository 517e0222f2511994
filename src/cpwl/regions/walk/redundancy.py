"""Why rows of cells are redundant, remembered from cell to cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cpwl.regions.forms import Forms

__all__ = ["Proofs"]

_MOST = 4096


class Proofs:
    """Why rows are redundant: a row is implied by others, its sign and theirs.

    The forms of a layer depend on the pattern of the layers before it, so the same proof holds wherever that pattern
    and the signs of the rows in it are the same.
    """

    def __init__(self, forms: Forms) -> None:
        widths = [weight.shape[0] for weight, _ in forms.network.layers[:-1]]
        walls = forms.levels[0].rows.shape[0] - 1
        self.ends = walls + np.cumsum([0, *widths])  # layer l has the rows ends[l - 1] to ends[l]
        self.forms: dict[tuple[int, bytes], NDArray[np.object_]] = {}
        self._known: dict[tuple[int, bytes], tuple[list[int], list[NDArray[np.int8]]]] = {}
        self._arrays: dict[tuple[int, bytes], tuple[NDArray[np.int64], NDArray[np.int8]]] = {}

    def _key(self, layer: int, side: NDArray[np.int8]) -> tuple[int, bytes]:
        return layer, (side[: self.ends[layer - 1]] > 0).tobytes() if layer else b""

    def add(self, side: NDArray[np.int8], row: int, others: NDArray[np.int64]) -> None:
        """Row `row` follows from the rows `others`, all with their signs on this side."""
        last = max(row, int(others.max(initial=0)))
        key = self._key(int(np.searchsorted(self.ends, last, side="right")), side)
        needs = np.zeros_like(side)
        needs[row], needs[others] = side[row], side[others]
        rows, masks = self._known.setdefault(key, ([], []))
        rows.append(row)
        masks.append(needs)
        self._arrays.pop(key, None)

    def remember(self, key: tuple[int, bytes], table: NDArray[np.object_]) -> None:
        """Integer forms of a layer behind a pattern; forgotten now and then, as they take space."""
        if len(self.forms) >= _MOST:
            self.forms.clear()
        self.forms[key] = table

    def known(self, side: NDArray[np.int8]) -> NDArray[np.bool_]:
        """The rows that are redundant by a proof that applies to a cell with these signs."""
        result = np.zeros(len(side), dtype=bool)
        for layer in range(len(self.ends)):
            key = self._key(layer, side)
            if key not in self._known:
                continue
            if key not in self._arrays:
                rows, masks = self._known[key]
                self._arrays[key] = np.array(rows), np.array(masks)
            row, needs = self._arrays[key]
            result[row[((needs == 0) | (needs == side)).all(axis=1)]] = True
        return result
