"""Functions and networks as JSON files, exactly: what is saved is what is loaded, to the last bit.

A number is a JSON number, exactly the double or integer that it parses to, or a string "p/q". The format is
written down in ``schema.json`` beside this file, and whatever is read is validated against it first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.read import function_from_pieces, function_from_table, network_from_layers
from cpwl.documents.schema import read_document
from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import is_exact_float, to_float
from cpwl.files import write_text
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import Laws, Mesh
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.network.network import Network

__all__ = ["load", "save"]

_READERS: dict[str, Callable[[dict[str, Any]], CPWL | Network]] = {
    "pieces": function_from_pieces,
    "table": function_from_table,
    "network": network_from_layers,
}
# Rows are known up to a factor; integers whose squares overflow float64 are divided by the largest slope.
_LARGEST = 2**511


def save(p_or_network: CPWL | Network, path: str | os.PathLike[str], *, note: str | None = None) -> None:
    """Write a function or a network to the JSON file `path`; `note` is a remark for people.

    A function with a triangulated table behind it is saved as that table, any other as its pieces, in order.
    The same value gives the same bytes. The file appears whole or not at all.

    >>> import tempfile
    >>> from pathlib import Path
    >>> p = CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [["-1/3"], [2]], [0, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(p, folder + "/law.json")
    ...     print(Path(folder, "law.json").read_text())
    {
    "format": "cpwl",
    "version": 1,
    "dim": 1,
    "outputs": 1,
    "tol": 0,
    "domain": null,
    "pieces": [
    {"A": [[1]], "b": [0], "gradient": [["-1/3"]], "offset": [0]},
    {"A": [[-1]], "b": [0], "gradient": [[2]], "offset": [0]}
    ]
    }
    <BLANKLINE>
    """
    if note is not None and not isinstance(note, str):
        raise InputError(f"`note` must be a string, not {type(note).__name__}")
    if isinstance(p_or_network, Network):
        fields = _network_fields(p_or_network)
    elif isinstance(p_or_network, CPWL):
        fields = _function_fields(p_or_network)
    else:
        message = f"only a CPWL function or a Network can be saved, not a {type(p_or_network).__name__}"
        raise InputError(message)
    try:
        text = _document(fields, note)
    except ValueError as error:  # Python writes no integers of more than 4300 digits.
        raise LimitError(f"cannot save this: {error}") from None
    write_text(path, text)


def load(path: str | os.PathLike[str]) -> CPWL | Network:
    """The function or the network in the JSON file `path`, validated against ``schema.json``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(CPWL.from_simplices([[0], [1]], [[0, 1]], ["1/3", 2]), folder + "/law.json")
    ...     load(folder + "/law.json")
    CPWL(R^1 -> R^1, 1 pieces, 1 components, exact)
    """
    kind, data = read_document(path)
    name = os.fspath(path)
    try:
        return _READERS[kind](data)
    except (InputError, LimitError) as error:
        details = {**error.details, "path": name}
        raise type(error)(f"{name}: {error}", **details) from error


def _document(fields: Iterable[tuple[str, Any]], note: str | None) -> str:
    """The text of a file: one field a line, and of a list that is written in lines one member a line."""
    lines = []
    for name, value in fields:
        lines.append(f"{json.dumps(name)}: {_lines(value) if isinstance(value, Iterator) else _flat(value)}")
        if name == "version" and note is not None:
            lines.append(f'"note": {_flat(note)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(members: Iterator[str]) -> str:
    return "[\n" + ",\n".join(members) + "\n]"


def _flat(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _function_fields(p: CPWL) -> Iterator[tuple[str, Any]]:
    yield from {"format": "cpwl", "version": 1, "dim": p.dim, "outputs": p.outputs}.items()
    if p.mesh is not None and p.domain is None:
        yield from _table_fields(p.mesh)
        return
    exactly = p.tol == 0
    yield "tol", 0 if exactly else p.tol
    yield "domain", None if p.domain is None else dict(zip("Ab", _rows(p.domain, exactly), strict=True))
    yield "pieces", _pieces(p.polyhedra, p.laws, exactly)


def _pieces(polyhedra: Polyhedra, laws: Laws, exactly: bool) -> Iterator[str]:
    left, right = _rows(polyhedra, exactly)
    gradient, offset = _laws(laws, exactly)
    start = polyhedra.start.tolist()
    for i in range(len(polyhedra)):
        rows = slice(start[i], start[i + 1])
        yield _flat({"A": left[rows], "b": right[rows], "gradient": gradient[i], "offset": offset[i]})


def _table_fields(mesh: Mesh) -> Iterator[tuple[str, Any]]:
    ones = np.ones((len(mesh.points), 1))
    # The float view says it all if it has the same integer rows as the corners.
    if (integer_rows(np.column_stack([mesh.points, ones])) == mesh.corners).all():
        points = _plain(mesh.points, exactly=True)
    else:
        points = _ratios(mesh.corners[:, :-1], mesh.corners[:, -1:])
    if mesh.exact_values is None:
        values = _plain(mesh.values, exactly=True)
    else:
        values = _ratios(mesh.exact_values, np.full(1, 1, dtype=object))
    yield "points", map(_flat, points)
    yield "simplices", map(_flat, mesh.simplices.tolist())
    yield "values", map(_flat, values)


def _rows(polyhedra: Polyhedra | Polyhedron, exactly: bool) -> tuple[list[Any], list[Any]]:
    rows = polyhedra.exact
    if rows is None:
        return _plain(polyhedra.A, exactly=exactly), _plain(polyhedra.b, exactly=exactly)
    if len(rows) and max(rows.max(), -rows.min()) >= _LARGEST:
        ratios = _ratios(rows, np.abs(rows[:, :-1]).max(axis=1, keepdims=True))
        return [row[:-1] for row in ratios], [row[-1] for row in ratios]
    if not exactly and is_exact_float(rows):  # written as they are when read again, which forgets that they were exact
        numbers = to_float(rows)
        return _plain(numbers[:, :-1], exactly=False), _plain(numbers[:, -1], exactly=False)
    return rows[:, :-1].tolist(), rows[:, -1].tolist()


def _laws(laws: Laws, exactly: bool) -> tuple[list[Any], list[Any]]:
    if laws.exact is None:
        return _plain(laws.gradient, exactly=exactly), _plain(laws.offset, exactly=exactly)
    gradient = _ratios(laws.exact[..., :-2], laws.exact[..., -1:])
    return gradient, _ratios(laws.exact[..., -2], laws.exact[..., -1])


def _plain(view: NDArray[np.float64], *, exactly: bool) -> list[Any]:
    """Doubles; where the data is meant exactly, whole numbers as integers."""
    numbers = view.astype(object)
    if exactly:
        whole = np.trunc(view) == view
        numbers[whole] = [int(v) for v in view[whole].tolist()]
    listed: list[Any] = numbers.tolist()
    return listed


def _ratios(numerators: NDArray[np.object_], denominators: NDArray[np.object_]) -> list[Any]:
    """Quotients as integers or "p/q"."""
    listed: list[Any] = np.asarray(_ratio(numerators, denominators), dtype=object).tolist()
    return listed


def _written(numerator: Any, denominator: Any = 1) -> int | str:
    x = Fraction(numerator) / denominator
    return x.numerator if x.denominator == 1 else str(x)


_ratio = np.frompyfunc(_written, 2, 1)


def _network_fields(network: Network) -> Iterator[tuple[str, Any]]:
    yield from {"format": "cpwl-network", "version": 1}.items()
    yield from {"inputs": network.inputs, "outputs": network.outputs}.items()
    layers = network.layers if network.exact is None else network.exact
    yield "layers", (_layer(weight, bias, network.exact is not None) for weight, bias in layers)


def _layer(weight: Any, bias: NDArray[Any], rational: bool) -> str:
    """A layer, with the entries of one row of its weight on one line."""
    rows, columns = weight.shape
    values = [_written(v) for v in weight.data] if rational else weight.data.tolist()
    numbers = [_written(v) for v in bias] if rational else bias.tolist()
    start, column = weight.indptr.tolist(), weight.indices.tolist()
    lines = (
        ", ".join(_flat([i, column[e], values[e]]) for e in range(start[i], start[i + 1]))
        for i in range(rows)
        if start[i] < start[i + 1]
    )
    head = _flat({"rows": rows, "columns": columns, "bias": numbers})
    return f'{head[:-1]}, "entries": {_lines(lines)}}}'
