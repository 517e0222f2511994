"""From valid JSON documents to functions and networks: shapes checked, numbers converted exactly."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cpwl.errors import InputError, LimitError, check_memory, counted
from cpwl.exact.rational import as_reals, fraction_array, has_floats
from cpwl.exact.sparse import RationalMatrix
from cpwl.files import read_bytes
from cpwl.function.cpwl import CPWL
from cpwl.function.make import parts_of_pieces, parts_of_simplices
from cpwl.network.network import Network


def function_from_pieces(data: dict[str, Any]) -> CPWL:
    """The function of a document with pieces; "tol", where given, is what is said there.

    That pieces are missing is believed; that none are would have to be proved.
    """
    dim, outputs, pieces = int(data["dim"]), int(data["outputs"]), data["pieces"]
    # One piece after the other, so that a mistake is reported with the number of its piece.
    for i, piece in enumerate(pieces):
        _check_rows(piece, dim, f"pieces[{i}]", i)
    gradient = [_gradient(piece["gradient"], dim, outputs, i) for i, piece in enumerate(pieces)]
    offset = [_vector(piece["offset"], outputs, f"pieces[{i}].offset", i) for i, piece in enumerate(pieces)]
    domain = data.get("domain")
    if domain is not None:
        _check_rows(domain, dim, "domain", None)
        domain = domain["A"], domain["b"]
    rows = [piece["A"] for piece in pieces], [piece["b"] for piece in pieces]
    with _within_float64(data):
        p = CPWL.from_parts(parts_of_pieces(*rows, gradient, offset, domain, data.get("tol")))
    p = replace(p, complete=False) if data.get("complete") is False else p
    return _named(p, data)


def function_from_table(data: dict[str, Any]) -> CPWL:
    """The function of a document with points, simplices and values."""
    dim, outputs = int(data["dim"]), int(data["outputs"])
    points, simplices, values = data["points"], data["simplices"], data["values"]
    for i, point in enumerate(points):
        _check_length(point, dim, f"points[{i}]", point=i)
    for i, simplex in enumerate(simplices):
        _check_length(simplex, dim + 1, f"simplices[{i}]", f"a simplex in dimension {dim} has", piece=i)
    if len(values) != len(points):
        raise InputError(f"values has {len(values)} entries, but there are {len(points)} points")
    rows = [_vector(value, outputs, f"values[{i}]", i) for i, value in enumerate(values)]
    with _within_float64(data):
        return _named(CPWL.from_parts(parts_of_simplices(points, simplices, rows)), data)


def _named(p: CPWL, data: dict[str, Any]) -> CPWL:
    """The function with the names and units of its document."""
    if "names" not in data and "units" in data:
        raise InputError('"units" belong to names: give "names", too')
    return p.named(data["names"], data.get("units")) if "names" in data else p


def network_from_layers(data: dict[str, Any]) -> Network:
    """The network of a document with layers: rational if it has no float in it."""
    layers, inputs, outputs = data["layers"], int(data["inputs"]), int(data["outputs"])
    width = inputs
    for i, layer in enumerate(layers):
        if layer["columns"] != width:
            what = "inputs is" if i == 0 else f"layers[{i - 1}].rows is"
            raise InputError(f"layers[{i}].columns is {layer['columns']}, but {what} {width}", layer=i)
        width = int(layer["rows"])
        if len(layer["bias"]) != width:
            message = f"layers[{i}].bias has {counted(len(layer['bias']), 'number')}, but the layer has {width} rows"
            raise InputError(message, layer=i)
        _check_places(layer, i)
    if width != outputs:
        raise InputError(f"layers[{len(layers) - 1}].rows is {width}, but outputs is {outputs}")
    rational = not any(
        has_floats(layer["bias"]) or any(isinstance(entry[2], float) for entry in layer["entries"]) for layer in layers
    )
    with _within_float64(data):
        return Network([_layer(layer, rational) for layer in layers])


def _check_length(numbers: Any, count: int, name: str, why: str = "dim is", **details: Any) -> None:
    if len(numbers) != count:
        raise InputError(f"{name} has {counted(len(numbers), 'number')}, but {why} {count}", **details)


def _check_rows(rows: dict[str, Any], dim: int, name: str, piece: int | None) -> None:
    left, right = rows["A"], rows["b"]
    details: dict[str, Any] = {} if piece is None else {"piece": piece}
    if len(left) != len(right):
        raise InputError(
            f"{name}.A has {len(left)} rows and {name}.b has {counted(len(right), 'number')}: "
            "there must be one for each row",
            **details,
        )
    for j, row in enumerate(left):
        _check_length(row, dim, f"{name}.A[{j}]", **details)


def _gradient(gradient: Any, dim: int, outputs: int, piece: int) -> Any:
    name = f"pieces[{piece}].gradient"
    if outputs == 1 and not any(isinstance(row, list) for row in gradient):
        gradient = [gradient]
    if len(gradient) != outputs or not all(isinstance(row, list) for row in gradient):
        raise InputError(f"{name} must have {outputs} rows, one for each output", piece=piece)
    for j, row in enumerate(gradient):
        _check_length(row, dim, f"{name}[{j}]", piece=piece)
    return gradient


def _vector(value: Any, outputs: int, name: str, number: int) -> Any:
    """The numbers of one law or point, one an output; a lone number stands for a single output."""
    vector = value if isinstance(value, list) else [value]
    _check_length(vector, outputs, name, "outputs is", piece=number)
    return vector


def _check_places(layer: dict[str, Any], number: int) -> None:
    rows, columns = int(layer["rows"]), int(layer["columns"])
    seen = set()
    for e, (i, j, _) in enumerate(layer["entries"]):
        if not (i < rows and j < columns):
            message = f"layers[{number}].entries[{e}] is at ({i}, {j}), outside {rows} x {columns}"
            raise InputError(message, layer=number)
        seen.add((i, j))
        if len(seen) <= e:
            message = f"layers[{number}].entries[{e}] is at ({i}, {j}), which has an entry already"
            raise InputError(message, layer=number)


def _layer(layer: dict[str, Any], rational: bool) -> tuple[Any, Any]:
    shape = int(layer["rows"]), int(layer["columns"])
    row = np.array([entry[0] for entry in layer["entries"]], dtype=np.int64)
    column = np.array([entry[1] for entry in layer["entries"]], dtype=np.int64)
    values = [entry[2] for entry in layer["entries"]]
    view, exact = as_reals(values, "entries")
    if not rational and exact is None:
        return csr_array((view, (row, column)), shape=shape), layer["bias"]
    weight = RationalMatrix.from_triples(row, column, fraction_array(values), shape)
    return weight, fraction_array(layer["bias"]) if rational else layer["bias"]


@contextmanager
def _within_float64(data: dict[str, Any]) -> Iterator[None]:
    """Refuse a number beyond float64, with its place in the document."""
    try:
        yield
    except OverflowError:
        raise LimitError(f"{_find_large(data, '')} is too large for float64") from None


def _find_large(data: Any, where: str) -> str:
    """The place of a number that has no float64 view, or "" if there is none."""
    if isinstance(data, dict):
        parts = ((f"{where}.{key}" if where else key, part) for key, part in data.items())
        return next((found for name, part in parts if (found := _find_large(part, name))), "")
    if isinstance(data, list):
        parts = ((f"{where}[{i}]", part) for i, part in enumerate(data))
        return next((found for name, part in parts if (found := _find_large(part, name))), "")
    try:
        float(Fraction(data or 0))
    except OverflowError:
        return where
    except ValueError:  # a note
        return ""
    return ""


# JSON documents at the door: parsed strictly, validated against the schema, or refused in one sentence.


_DIGITS = 4300  # what Python itself reads
_MEMORY = 8  # bytes for each byte of text: the text itself, and a list of small numbers
_KINDS = {
    "object": "an object",
    "array": "an array",
    "number": "a number",
    "integer": "an integer",
    "string": "a string",
    "null": "null",
}


def read_document(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """What the file `path` holds ("pieces", "table" or "network"), and its content, valid by the schema."""
    name = os.fspath(path)
    data = read_json(name)
    if not isinstance(data, dict) or data.get("format") not in ("cpwl", "cpwl-network"):
        message = f'{name} is not of this format: it must have "format": "cpwl" or "cpwl-network"'
        raise InputError(message, path=name)
    table = "pieces" not in data and {"points", "simplices", "values"} & data.keys()
    kind = "network" if data["format"] == "cpwl-network" else "table" if table else "pieces"
    _validate(data, kind, name)
    return kind, data


def read_json(path: str | os.PathLike[str], *, decimal: Callable[[str], Any] | None = None) -> Any:
    """What a JSON file says, strictly; `decimal` makes a value of each number that is no integer, or it is a float."""
    name = os.fspath(path)
    raw = read_bytes(name)
    check_memory(_MEMORY * len(raw), f"what {name} says", "Write the function in several files.")
    try:
        text = raw.decode("utf-8-sig")
        return json.loads(
            text, parse_float=decimal, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=unique_names
        )
    except UnicodeDecodeError as error:
        message = f"{name} is not JSON: it is not UTF-8 text, from byte {error.start} on"
        raise InputError(message, path=name) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise InputError(f"{name} is not JSON: {where}: {error.msg}", path=name) from error
    except InputError as error:
        raise InputError(f"{name} {error}", path=name) from error
    except RecursionError as error:
        raise InputError(f"{name} is nested too deeply", path=name) from error


def _integer(digits: str) -> int | str:
    # NumPy rounds a list with large integers in it to doubles; strings stay exact.
    if len(digits) > _DIGITS:
        raise InputError(f"has an integer of {len(digits):,} digits; the limit is {_DIGITS:,}")
    return int(digits) if len(digits) <= 15 else digits


def _refuse(constant: str) -> Any:
    raise InputError(f"is not JSON: {constant} is not a number; every number must be finite")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; `InputError` for a name that it has twice, of which Python would take the last."""
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(f'has "{twice}" twice in one object')
    return result


@cache
def _validator(kind: str) -> Callable[[Any], Any]:
    import fastjsonschema

    schema = json.loads(files("cpwl.documents").joinpath("schema.json").read_text(encoding="utf-8"))
    validate: Callable[[Any], Any] = fastjsonschema.compile(_inline(schema["definitions"][kind], schema["definitions"]))
    return validate


def _inline(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with every reference replaced by what it stands for: references make validation slow."""
    if isinstance(schema, list):
        return [_inline(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: _inline(part, definitions) for key, part in schema.items()}


def _validate(data: dict[str, Any], kind: str, name: str) -> None:
    import fastjsonschema

    try:
        _validator(kind)(data)
    except fastjsonschema.JsonSchemaValueException as error:
        where = error.name.removeprefix("data").removeprefix(".")
        message = f"{name}: {where}{' ' if where else ''}{_complaint(error)}"
        raise InputError(message, path=name, where=where) from error


def _complaint(error: Any) -> str:
    rule, definition, value = error.rule, error.rule_definition, error.value
    if rule == "type":
        kinds = [definition] if isinstance(definition, str) else definition
        return f"must be {' or '.join(_KINDS[kind] for kind in kinds)}"
    if rule == "required":
        missing = next(key for key in definition if key not in value)
        return f'has no "{missing}"'
    if rule == "additionalProperties":
        extra = min(value.keys() - error.definition["properties"].keys())
        return f'has "{extra}", which is not a known field'
    if rule == "pattern":
        return f'is "{value[:50]}", which is not a number; write a JSON number or "p/q"'
    if rule == "const":
        return f"must be {json.dumps(definition)}"
    if rule == "minItems" and definition == 1:
        return "is empty"
    # What is left are bounds on numbers and lengths: fastjsonschema's sentence without the name.
    return str(error.message.removeprefix(error.name).strip())
