"""Control laws in JSON, as programs around PPOPT save them: the matrices of the program, and active sets."""

from __future__ import annotations

import os
from typing import Any

from cpwl.documents.schema import read_json
from cpwl.doors import check_path
from cpwl.errors import InputError, LimitError
from cpwl.function.cpwl import CPWL
from cpwl.sources.mpqp.active_sets import from_active_sets

__all__ = ["read_mpqp"]

_MATRICES = ("Q", "H", "c", "A", "F", "b", "A_t", "b_t")


def read_mpqp(path: str | os.PathLike[str]) -> CPWL:
    """The control law in a JSON file ``{"proc": matrices, "pieces": [{"act": rows}, ..], "m": outputs}``.

    `proc` has the matrices of the program as `from_active_sets` takes them, and active sets refer to its rows. Of the
    decision variables the first `m` are taken, all if it is not there. Decimal numbers are read as decimals: 0.1 is one
    tenth. What else is in the file is not looked at.
    """
    check_path(path, "read_mpqp")
    name = os.fspath(path)
    data = read_json(name, decimal=str)
    try:
        program, active, outputs = _parts(data)
        return from_active_sets(program, active, outputs=outputs)
    except (InputError, LimitError) as error:
        raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error


def _parts(data: Any) -> tuple[dict[str, Any], list[list[int]], Any]:
    if not isinstance(data, dict) or not isinstance(data.get("proc"), dict) or not isinstance(data.get("pieces"), list):
        raise InputError('a control law has "proc", the matrices of its program, and "pieces", with an active set each')
    for number, piece in enumerate(data["pieces"]):
        if not isinstance(piece, dict) or not isinstance(piece.get("act"), list):
            raise InputError(f'pieces[{number}] has no list "act" of active rows', piece=number)
    wrong = [name for name in _MATRICES if name in data["proc"] and not _is_numbers(data["proc"][name])]
    if wrong:
        raise InputError(f'"{wrong[0]}" of the program must be a list of numbers, or of rows of them', name=wrong[0])
    first = data.get("m")
    if first is not None and (not isinstance(first, int) or isinstance(first, bool) or first < 1):
        raise InputError('"m", the number of outputs, must be a whole number of at least 1')
    outputs = None if first is None else slice(0, first)
    return data["proc"], [piece["act"] for piece in data["pieces"]], outputs


def _is_numbers(value: Any) -> bool:
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    return all(isinstance(row, list) and all(type(v) in (int, str) for v in row) for row in rows)
