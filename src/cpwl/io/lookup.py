"""Lookup in torch operations: a function at many points, on any device.

`Lookup` holds the arrays of C code of form "grid" (`cpwl.io.c`) and computes the same: of a table on a Kuhn grid the
cell, the parts of the point in it in falling order, and ``n + 1`` reads; of any other function the bucket, a short
search tree, and the law of its leaf. It needs torch and NumPy alone: arrays saved on one machine run on another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


class Lookup(torch.nn.Module):  # type: ignore[misc]
    """A function ``(N, n) -> (N, m)`` by lookup; `arrays` are those of `lookup_arrays`, in one type.

    Of a grid: ``values (V, m)``, ``steps (n,)``, and for each axis `i` ``points_i`` and ``scale_i``, one number each if
    it is even, and ``down_i`` if it is not and falls. Of buckets: ``lines (n, 2)``, ``counts (n,)``, ``roots``,
    ``planes`` of the nodes ``(constant, slopes)``, ``children``, ``laws`` ``(constant, slopes)`` of each output.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().__init__()
        for name, array in arrays.items():
            self.register_buffer(f"table_{name}", torch.from_numpy(np.array(array)))
        self.names = frozenset(arrays)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The values at points of the type and the device of the arrays."""
        return self._in_grid(x) if "values" in self.names else self._in_buckets(x)

    def _in_grid(self, x: torch.Tensor) -> torch.Tensor:
        values, steps = self._held("values"), self._held("steps")
        strides = torch.ones_like(steps)
        strides[:-1] = torch.flip(torch.cumprod(torch.flip(steps[1:] + 1, (0,)), 0), (0,))
        at = torch.zeros(len(x), dtype=torch.int64, device=x.device)
        parts = torch.empty_like(x)
        for i in range(x.shape[1]):
            points, scale = self._held(f"points_{i}"), self._held(f"scale_{i}")
            own, last = x[:, i], steps[i] - 1
            if len(points) == 1:
                t = (own - points[0]) * scale[0]
                k = torch.clamp(torch.floor(torch.nan_to_num(t)), 0).to(torch.int64).clamp(max=last)
                part = t - k.to(x.dtype)
            else:
                own = -own if self._held(f"down_{i}").item() else own
                k = (torch.searchsorted(points, own.contiguous(), right=True) - 1).clamp(min=0).clamp(max=last)
                part = (own - points[k]) * scale[k]
            parts[:, i] = part.clamp(0, 1)
            at = at + strides[i] * k
        parts, order = torch.sort(parts, dim=1, descending=True, stable=True)
        here = values[at]
        total = here.clone()
        for j in range(x.shape[1]):
            at = at + strides[order[:, j]]
            after = values[at]
            total += parts[:, j : j + 1] * (after - here)
            here = after
        return total

    def _in_buckets(self, x: torch.Tensor) -> torch.Tensor:
        lines, counts = self._held("lines"), self._held("counts")
        planes, children, laws = (self._held(name) for name in ("planes", "children", "laws"))
        at = torch.zeros(len(x), dtype=torch.int64, device=x.device)
        for i in range(len(counts)):
            t = torch.nan_to_num((x[:, i] - lines[i, 0]) * lines[i, 1])
            at = at * counts[i] + torch.clamp(t, 0).to(torch.int64).clamp(max=counts[i] - 1)
        node = self._held("roots")[at]
        for _ in range(int(self._held("depth"))):
            inner = node.clamp(min=0)
            rows = planes[inner]
            above = rows[:, 0] + (rows[:, 1:] * x).sum(dim=1) > 0
            node = torch.where(node >= 0, children[inner, above.to(torch.int64)], node)
        own = laws[-1 - node]
        return own[:, :, 0] + (own[:, :, 1:] * x[:, None, :]).sum(dim=2)

    def _held(self, name: str) -> torch.Tensor:
        held: torch.Tensor = self.get_buffer(f"table_{name}")
        return held
