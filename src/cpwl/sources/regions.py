"""Pieces from anybody's objects: half-spaces and laws under whatever names they have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_list
from cpwl.errors import InputError
from cpwl.exact.rational import unmasked
from cpwl.function.cpwl import CPWL

__all__ = ["LAYOUTS", "from_regions", "layout_of"]

LAYOUTS: tuple[tuple[str, str, str, str], ...] = (
    ("E", "f", "A", "b"),
    ("H", "K", "F", "G"),
    ("H", "K", "F", "g"),
    ("Hn", "Kn", "Fi", "Gi"),
    ("H", "K", "Fi", "Gi"),
    ("A", "b", "C", "d"),
    ("A", "b", "F", "g"),
    ("A", "b", "F", "G"),
    ("A", "b", "gradient", "offset"),
)
"""Names in use for ``A x <= b`` and the law ``gradient x + offset``: PPOPT, MATLAB's explicit MPC, MPT, and others."""
_PARTS = ("A", "b", "gradient", "offset")


def from_regions(
    regions: Sequence[Any], *, names: Mapping[str, str] | None = None, outputs: Any = None, tol: float | None = None
) -> CPWL:
    """The function of a list of regions: objects with attributes, or dictionaries.

    Parameters
    ----------
    regions
        For each region its half-spaces and its law.
    names
        What they are called there: ``{"A": .., "b": .., "gradient": .., "offset": ..}`` for ``A x <= b`` and
        ``gradient x + offset``. By default one of the layouts in use: ``E f A b`` (PPOPT), ``H K F G`` (MATLAB's
        PiecewiseAffineSolution), ``H K F g``, ``A b C d``, ``A b F g``.
    outputs
        Which rows of the laws: a number, a list or a slice; all if None.
    tol
        By how much the data may be off, relative; as for `CPWL.from_pieces`.

    Returns
    -------
    CPWL
        The function, not examined yet: see `doctor`.

    >>> from_regions([{"H": [[1]], "K": [0], "F": [[-1]], "G": [0]}, {"H": [[-1]], "K": [0], "F": [[1]], "G": [0]}])
    CPWL(R^1 -> R^1, 2 pieces, 2 components, exact)
    """
    check_list(regions, "regions")
    if len(regions) == 0:
        raise InputError("there are no pieces: `regions` is empty")
    layout = _named(names) if names is not None else layout_of(regions[0])
    parts: list[list[Any]] = [[], [], [], []]
    for number, region in enumerate(regions):
        for place, name in enumerate(layout):
            parts[place].append(_get(region, name, number))
    A, gradient = ([_plain(v, f"{layout[k]}[{i}]") for i, v in enumerate(parts[k])] for k in (0, 2))
    b, offset = ([_plain(v, f"{layout[k]}[{i}]").ravel() for i, v in enumerate(parts[k])] for k in (1, 3))
    pieces = zip(A, b, gradient, offset, strict=True)
    fitted = [_fit(*piece, number) for number, piece in enumerate(pieces)]
    chosen = [_rows(outputs, len(law[3])) for law in fitted]
    return CPWL.from_pieces(
        [piece[0] for piece in fitted],
        [piece[1] for piece in fitted],
        [piece[2][rows] for piece, rows in zip(fitted, chosen, strict=True)],
        [piece[3][rows] for piece, rows in zip(fitted, chosen, strict=True)],
        tol=tol,
    )


def layout_of(region: Any) -> tuple[str, str, str, str]:
    """The first layout whose names a region has."""
    for layout in LAYOUTS:
        if all(_has(region, name) for name in layout):
            return layout
    known = "; ".join(" ".join(layout) for layout in LAYOUTS)
    raise InputError(
        f"regions of this kind are unknown: give `names`, or attributes {known}", type=type(region).__name__
    )


def _named(names: Mapping[str, str]) -> tuple[str, str, str, str]:
    if (
        not isinstance(names, Mapping)
        or set(names) != set(_PARTS)
        or not all(isinstance(v, str) for v in names.values())
    ):
        raise InputError('`names` must say what "A", "b", "gradient" and "offset" are called')
    return names["A"], names["b"], names["gradient"], names["offset"]


def _has(region: Any, name: str) -> bool:
    return name in region if isinstance(region, Mapping) else hasattr(region, name)


def _get(region: Any, name: str, number: int) -> Any:
    if not _has(region, name):
        raise InputError(f"region {number} has no `{name}`", piece=number)
    return region[name] if isinstance(region, Mapping) else getattr(region, name)


def _plain(values: Any, name: str) -> NDArray[Any]:
    """An array; lists with rationals in them keep them."""
    if hasattr(values, "toarray"):
        values = values.toarray()
    array = np.asarray(unmasked(values, name))
    return np.asarray(values, dtype=object) if array.dtype.kind in "OUS" else array


def _fit(A: Any, b: Any, gradient: Any, offset: Any, number: int) -> tuple[Any, Any, Any, Any]:
    """One region with a law of two dimensions, and rows that are there even if there are none."""
    slopes = gradient.reshape(len(offset), -1) if gradient.ndim < 2 and len(offset) else gradient
    if slopes.ndim != 2 or len(slopes) != len(offset):
        raise InputError(
            f"region {number} has a law with slopes of shape {np.shape(gradient)} and {len(offset)} constants: "
            "there must be one row of slopes a constant",
            piece=number,
        )
    rows = A.reshape(len(b), slopes.shape[1]) if A.size == len(b) * slopes.shape[1] else A
    return rows, b, slopes, offset


def _rows(outputs: Any, count: int) -> NDArray[np.int64]:
    every = np.arange(count)
    if outputs is None:
        return every
    try:
        return np.atleast_1d(every[outputs])
    except (IndexError, TypeError, ValueError):
        raise InputError(f"`outputs` must be numbers from 0 to {count - 1}, or a slice, not {outputs!r:.50}") from None
