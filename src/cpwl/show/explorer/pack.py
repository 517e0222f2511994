"""Pieces and networks as arrays that the page unpacks: base64 of little-endian numbers."""

from __future__ import annotations

import base64
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.function import CPWL
from cpwl.network import Network

__all__ = ["PIECES", "WEIGHTS", "pack_network", "pack_pieces"]

PIECES = 1_300_000
"""Bytes of the pieces of one function before base64: two functions and two networks still fit into 5 MB."""
WEIGHTS = 45_000
"""Nonzero weights of one network."""
_TEXT = 60  # letters of a law in rationals
_TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4"}


def pack_pieces(p: CPWL, names: list[str]) -> dict[str, Any] | None:
    """Pieces as rows that they share, with laws; None where they are too many for a page.

    Piece `i` has the rows ``row[start[i]:start[i + 1]]``; a number ``~r`` is row `r` with the other sense.
    """
    rows, index = _shared_rows(p)
    laws = p.laws
    size = 8 * (rows.size + laws.gradient.size + laws.offset.size) + 4 * (len(index) + p.num_pieces)
    kind = "f8" if size <= PIECES else "f4"
    if size > 2 * PIECES:
        return None
    return {
        "count": p.num_pieces,
        "outputs": p.outputs,
        "start": _pack(p.polyhedra.start, "i4"),
        "row": _pack(index, "i4"),
        "rows": _pack(rows, kind),
        "gradient": _pack(laws.gradient, kind),
        "offset": _pack(laws.offset, kind),
        "component": _pack(p.component, "i4"),
        "texts": _law_texts(p, names),
    }


def pack_network(network: Network) -> dict[str, Any]:
    """Layers with their weights; of a network that is too large for a page, a sentence that says so."""
    sizes = network.sizes
    widths = " → ".join(f"{w:,}" for w in (network.inputs, *(weight.shape[0] for weight, _ in network.layers)))
    if sizes.nonzeros > WEIGHTS:
        said = f"{widths}. Its {sizes.nonzeros:,} weights are too many for a page: neurons are not shown one by one."
        return {"layers": None, "absent": said}
    layers = [
        {
            "indptr": _pack(weight.indptr, "i4"),
            "indices": _pack(weight.indices, "i4"),
            "weights": _pack(weight.data, "f8"),
            "bias": _pack(bias, "f8"),
        }
        for weight, bias in network.layers
    ]
    return {"layers": layers, "about": f"{widths}: inputs, hidden layers, outputs; {sizes.nonzeros:,} nonzero weights."}


def _shared_rows(p: CPWL) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The rows ``(a, b)`` up to scale and sense, each once, and for each row of a piece which one it is."""
    rows = np.column_stack([p.polyhedra.A, p.polyhedra.b])
    length = np.abs(rows[:, :-1]).max(axis=1, initial=0.0)
    rows = rows / np.where(length > 0, length, 1.0)[:, None]
    first = np.argmax(rows[:, :-1] != 0, axis=1)
    negative = rows[np.arange(len(rows)), first] < 0
    rows[negative] *= -1
    shared, number = np.unique(rows + 0.0, axis=0, return_inverse=True)
    number = number.ravel().astype(np.int64)
    return shared, np.where(negative, ~number, number)


def _law_texts(p: CPWL, names: list[str]) -> list[str | None] | None:
    """Each component in rationals, where data is exact and that is short enough to be read."""
    if p.tol or p.dim > 6:
        return None
    integers = p.laws.integer().reshape(-1, p.dim + 2)
    _, first = np.unique(p.component.ravel(), return_index=True)
    texts: list[str | None] = [None] * (int(p.component.max()) + 1)
    for number, place in zip(p.component.ravel()[first], first, strict=True):
        row = integers[place]
        if max(int(v).bit_length() for v in row) < 40:
            texts[number] = _law_text(row, names)
    return texts


def _law_text(row: NDArray[np.object_], names: list[str]) -> str | None:
    """A law as people write it: ``2 x − 1/3 y + 1``."""
    text = ""
    for value, name in zip(row[:-1], [*names, ""], strict=True):
        number = Fraction(int(value), int(row[-1]))
        if number:
            size = str(abs(number))
            body = size if not name else name if size == "1" else f"{size} {name}"
            sign = ("−" if number < 0 else "") if not text else (" − " if number < 0 else " + ")
            text += sign + body
    text = text or "0"
    return text if len(text) <= _TEXT else None


def _pack(array: NDArray[Any], kind: str) -> dict[str, str]:
    data = np.ascontiguousarray(array, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(data).decode("ascii")}
