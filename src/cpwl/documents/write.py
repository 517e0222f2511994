"""Functions and networks as JSON documents: the one writer, of what is saved and of what is proved.

A number is a JSON number, exactly the double or integer that it parses to, or a string "p/q". The same value gives the
same document, and the same document the same bytes.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import is_exact_float, text, to_float
from cpwl.function import CPWL
from cpwl.function.parts import Laws, Mesh
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.network import Network

# Rows are known up to a factor; integers whose squares overflow float64 are divided by the largest slope.
_LARGEST = 2**511
_LISTED = ("pieces", "points", "simplices", "values")  # fields with one member a line


def function_document(p: CPWL) -> dict[str, Any]:
    """The pieces of a function, or its table where it has one, with every number exact.

    A function that was extracted in part says so: ``"complete": false``.

    >>> p = CPWL.from_simplices([[0], [1]], [[0, 1]], [0, "1/3"])
    >>> document = function_document(p)
    >>> document["points"], document["simplices"], document["values"]
    ([[0], [1]], [[0, 1]], [[0], ['1/3']])
    """
    head: dict[str, Any] = {"format": "cpwl", "version": 1, "dim": p.dim, "outputs": p.outputs}
    if p.names:
        head |= {"names": list(p.names)} | ({"units": list(p.units)} if any(p.units) else {})
    if p.mesh is not None and p.domain is None:
        return head | _table(p.mesh)
    exactly = p.tol == 0
    domain = None if p.domain is None else dict(zip("Ab", _rows(p.domain, exactly), strict=True))
    partly = {"complete": False} if p.complete is False else {}
    middle = {"tol": 0 if exactly else p.tol, "domain": domain} | partly
    return head | middle | {"pieces": _pieces(p.polyhedra, p.laws, exactly)}


def network_document(network: Network) -> dict[str, Any]:
    """The layers of a network: their rationals, or, for a network of floats, their doubles.

    >>> network_document(Network([([["1/2", 0]], [1])]))["layers"]
    [{'rows': 1, 'columns': 2, 'bias': [1], 'entries': [[0, 0, '1/2']]}]
    """
    layers = network.layers if network.exact is None else network.exact
    head = {"format": "cpwl-network", "version": 1, "inputs": network.inputs, "outputs": network.outputs}
    return head | {"layers": [_layer(weight, bias, network.exact is not None) for weight, bias in layers]}


def document_text(document: dict[str, Any], note: str | None = None) -> str:
    """A document as the text of a file: one field a line, and one piece, point or row of a layer a line.

    >>> print(document_text({"format": "cpwl", "version": 1, "points": [[0], [1]]}, note="two points"), end="")
    {
    "format": "cpwl",
    "version": 1,
    "note": "two points",
    "points": [
    [0],
    [1]
    ]
    }
    """
    lines = []
    for name, value in document.items():
        if name == "layers":
            written = _lines([_layer_text(layer) for layer in value])
        else:
            written = _lines([_flat(member) for member in value]) if name in _LISTED else _flat(value)
        lines.append(f"{json.dumps(name)}: {written}")
        if name == "version" and note is not None:
            lines.append(f'"note": {_flat(note)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(members: list[str]) -> str:
    return "[\n" + ",\n".join(members) + "\n]"


def _flat(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _pieces(polyhedra: Polyhedra, laws: Laws, exactly: bool) -> list[dict[str, Any]]:
    left, right = _rows(polyhedra, exactly)
    gradient, offset = _laws(laws, exactly)
    start = polyhedra.start.tolist()
    owned = [slice(start[i], start[i + 1]) for i in range(len(polyhedra))]
    return [
        {"A": left[rows], "b": right[rows], "gradient": gradient[i], "offset": offset[i]}
        for i, rows in enumerate(owned)
    ]


def _table(mesh: Mesh) -> dict[str, Any]:
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
    return {"points": points, "simplices": mesh.simplices.tolist(), "values": values}


def _rows(polyhedra: Polyhedra | Polyhedron, exactly: bool) -> tuple[list[Any], list[Any]]:
    rows = polyhedra.exact
    if rows is None:
        return _plain(polyhedra.A, exactly=exactly), _plain(polyhedra.b, exactly=exactly)
    if len(rows) and max(rows.max(), -rows.min()) >= _LARGEST:
        ratios = _ratios(rows, np.abs(rows[:, :-1]).max(axis=1, keepdims=True))
        return [row[:-1] for row in ratios], [row[-1] for row in ratios]
    if not exactly and is_exact_float(rows):  # as they are written when read again, which forgets that they were exact
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


_ratio = np.frompyfunc(lambda above, below: text(Fraction(above) / below), 2, 1)


def _layer(weight: Any, bias: NDArray[Any], rational: bool) -> dict[str, Any]:
    rows, columns = weight.shape
    values = [text(Fraction(v)) for v in weight.data] if rational else weight.data.tolist()
    numbers = [text(Fraction(v)) for v in bias] if rational else bias.tolist()
    owner = np.repeat(np.arange(rows), np.diff(weight.indptr)).tolist()
    entries = [list(entry) for entry in zip(owner, weight.indices.tolist(), values, strict=True)]
    return {"rows": rows, "columns": columns, "bias": numbers, "entries": entries}


def _layer_text(layer: dict[str, Any]) -> str:
    """A layer, with the entries of one row of its weight on one line."""
    rows: dict[int, list[str]] = {}
    for entry in layer["entries"]:
        rows.setdefault(entry[0], []).append(_flat(entry))
    head = _flat({name: layer[name] for name in ("rows", "columns", "bias")})
    return f'{head[:-1]}, "entries": {_lines([", ".join(row) for row in rows.values()])}}}'
