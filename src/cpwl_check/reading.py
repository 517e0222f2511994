"""JSON files, and values of a given shape in them: hypothesis (1) of all kinds."""

import json
import math
import re
import sys
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from cpwl_check.budget import DIGITS, RUN, Refused, Undecided, need

Rational = int | Fraction
RATIONAL = re.compile(r"[+-]?[0-9]+(/0*[1-9][0-9]*|\.[0-9]+)?")
LONG = re.compile(rb"[0-9]{%d}" % (DIGITS + 1))
COUNT = range(1, sys.maxsize)
WEIGHTS = {str: Rational}
NOT_READ = {
    "complete",
    "domain",
    "names",
    "note",
    "tol",
    "units",
}  # what is proved is proved on every piece, whatever the domain


def load(path: str) -> Any:
    """A JSON file; an object in which a name comes twice is read as `...`, which is no object."""
    text = Path(path).read_bytes()
    if LONG.search(text):
        raise Undecided(f"{path}: it has a number of more than {DIGITS} digits")
    try:
        return json.loads(text, object_pairs_hook=lambda x: dict(x) if len(dict(x)) == len(x) else ...)
    except ValueError as reason:
        raise ValueError(f"{path} is not a JSON file: {reason}") from None


def number(value: Any) -> Rational | None:
    """An integer, a finite float or one of "12", "1/3", "0.1", exactly; None for anything else."""
    if type(value) is int:
        return value
    if type(value) is float:
        return Fraction(value) if math.isfinite(value) else None
    limit = getattr(sys, "get_int_max_str_digits", int)() or math.inf  # of one integer; `main` lifts it
    short = type(value) is str and len(value) <= 2 * limit and max(map(len, value.split("/"))) <= limit
    return Fraction(value) if short and RATIONAL.fullmatch(value) else None


def numbers(values: list[Any], where: str) -> list[Rational]:
    found = [number(value) for value in values]
    if None in found:
        raise Refused(f"{where}[{found.index(None)}]: this is not a number")
    if (run := RUN.get()) is not None:
        run.grant(len(found))
    return found  # type: ignore[return-value]


def read(value: Any, shape: Any, where: str) -> Any:
    """The value, its numbers exact, if it has the shape: `Rational`; a range, for an index in it; [shape] or [shape,
    length], for a list; {str: shape}, for an object; {"name": shape, ..}, for an object with these fields, which come
    back in this order; `Any`; else a constant. Types must be the same, so that true is not 1."""
    if shape is Rational:
        return numbers([value], where)[0]
    if type(shape) is list:
        need(type(value) is list, where, "this is not a list")
        need(len(value) in (shape[1:] or [len(value)]), where, f"a list of {len(value)} must have length {shape[-1]}")
        if shape[0] is Rational:
            return numbers(value, where)
        return value if shape[0] is Any else [read(x, shape[0], f"{where}[{i}]") for i, x in enumerate(value)]
    if type(shape) is dict:
        need(type(value) is dict, where, "this is not an object")
        if shape == WEIGHTS:
            return dict(zip(value, numbers(list(value.values()), where), strict=True))
        if str in shape:
            return {name: read(x, shape[str], where) for name, x in value.items()}
        for name in shape.keys() ^ (value.keys() - NOT_READ):
            raise Refused(f"{where}: the field {name!a:.60} is {'missing' if name in shape else 'unknown'}")
        return [value[name] if s is Any else read(value[name], s, f"{where}.{name}") for name, s in shape.items()]
    kind, options = (int, shape) if type(shape) is range else (type(shape), [shape])
    need(shape is Any or (type(value) is kind and value in options), where, f"this must be {shape}")
    return value


def shown(x: Rational) -> str:
    """An upper bound for people: three digits, rounded up."""
    x = Fraction(x)
    up = Context(prec=3, rounding=ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator))
    if up == 0 or Decimal("1e-4") <= abs(up) < 10**6:
        return f"{float(up):g}"
    digits, _, power = f"{up:.2e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{power}"


def read_proof(proof: Any, kind: str, n: int, bound: Any, fields: dict[str, Any]) -> Any:
    """The stated bound of a proof of some kind for n inputs, and its own fields."""
    head = {"format": "cpwl-proof", "version": 1, "kind": kind, "inputs": n, "error_bound": bound}
    return read(proof, head | fields, "proof")[4:]
