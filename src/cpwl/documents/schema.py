"""JSON documents at the door: parsed strictly, validated against the schema, or refused in one sentence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from cpwl.errors import InputError
from cpwl.files import read_bytes
from cpwl.limits import check_memory

__all__ = ["read_document", "read_json", "unique_names"]

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
    return _parse(_text(name), name, decimal)


def _text(name: str) -> str:
    raw = read_bytes(name)
    check_memory(_MEMORY * len(raw), f"what {name} says", "Write the function in several files.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{name} is not JSON: it is not UTF-8 text, from byte {error.start} on"
        raise InputError(message, path=name) from error


def _parse(text: str, name: str, decimal: Callable[[str], Any] | None) -> Any:
    try:
        return json.loads(
            text, parse_float=decimal, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=unique_names
        )
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
        raise InputError(f"has an integer of {len(digits):,} digits; we read {_DIGITS:,}")
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
        return f'has "{extra}", which means nothing here'
    if rule == "pattern":
        return f'is "{value[:50]}", which is not a number; write a JSON number or "p/q"'
    if rule == "const":
        return f"must be {json.dumps(definition)}"
    if rule == "minItems" and definition == 1:
        return "is empty"
    # What is left are bounds on numbers and lengths: fastjsonschema's sentence without the name.
    return str(error.message.removeprefix(error.name).strip())
