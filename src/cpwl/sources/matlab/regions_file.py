"""MATLAB files: regions and laws in cell arrays, or in arrays of structures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cpwl.doors import check_path
from cpwl.errors import InputError, LimitError
from cpwl.files import read_bytes
from cpwl.function.cpwl import CPWL
from cpwl.sources.matlab.format5 import read_format5
from cpwl.sources.regions import LAYOUTS, from_regions

__all__ = ["from_mat"]


def from_mat(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    names: Mapping[str, str] | None = None,
    outputs: Any = None,
    tol: float | None = None,
) -> CPWL:
    """The function in a MATLAB file (up to ``-v7``): one region and one law an entry.

    Either four cell arrays, such as A, b, C, d or F, g or H, K, or an array of structures with such fields, such as
    ``PiecewiseAffineSolution`` of MATLAB's explicit MPC, which has H, K, F, G.

    Parameters
    ----------
    path
        The file. What is saved with ``-v7.3`` has to be saved again with ``-v7``.
    variable
        The structure to look in, if there are several.
    names, outputs, tol
        As for `from_regions`.

    Returns
    -------
    CPWL
        The function, not examined yet: see `doctor`.
    """
    check_path(path, "from_mat")
    name = os.fspath(path)
    try:
        variables = read_format5(read_bytes(name))
        if variable is not None:
            if variable not in variables:
                raise InputError(
                    f"there is no variable `{variable}`; there are {', '.join(sorted(variables)) or 'none'}"
                )
            variables = {variable: variables[variable]}
        regions = _regions(variables, names)
        return from_regions(regions, names=names, outputs=outputs, tol=tol)
    except (InputError, LimitError) as error:
        raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error


def _regions(variables: Mapping[str, Any], names: Mapping[str, str] | None) -> list[dict[str, Any]]:
    wanted = (tuple(names.values()),) if isinstance(names, Mapping) else LAYOUTS
    for held in _structures(variables, 0):
        for layout in wanted:
            found = _columns(held, layout)
            if found is not None:
                return found
    shown = "; ".join(" ".join(layout) for layout in wanted)
    raise InputError(f"no regions were found: there must be cell arrays, or a structure with fields, {shown}")


def _structures(held: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    """All things with names in a file, from the outside in: variables, then fields of structures."""
    yield held
    if depth < 3:
        for value in held.values():
            if isinstance(value, dict) and all(value.values()):
                # The one entry of a single structure is what the field holds; several are like a cell array.
                yield from _structures({k: v[0] if len(v) == 1 else v for k, v in value.items()}, depth + 1)


def _columns(held: Mapping[str, Any], layout: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """The regions whose parts have these names; None if they are not there."""
    if not all(isinstance(held.get(name), (np.ndarray, list)) for name in layout):
        return None
    columns = [value if isinstance(value, list) else [value] for value in (held[name] for name in layout)]
    if len({len(column) for column in columns}) != 1:
        counts = ", ".join(f"{name} {len(column)}" for name, column in zip(layout, columns, strict=True))
        raise InputError(f"cells do not belong together, there are of {counts}")
    for name, column in zip(layout, columns, strict=True):
        wrong = next((i for i, entry in enumerate(column) if not isinstance(entry, np.ndarray)), None)
        if wrong is not None:
            message = f"entry {wrong + 1} of `{name}` is no matrix of real numbers (`full` makes one of a sparse one)"
            raise InputError(message, piece=wrong)
    return [dict(zip(layout, parts, strict=True)) for parts in zip(*columns, strict=True)]
