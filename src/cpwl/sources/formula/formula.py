"""`parse`: a formula in text as a function, or as a network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cpwl.doors import check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.files import read_bytes
from cpwl.function.cpwl import CPWL
from cpwl.geometry.polyhedra import Domain, as_domain
from cpwl.network.network import Network
from cpwl.passes.simplify import simplify
from cpwl.sources.formula.circuit import network_of_expressions
from cpwl.sources.formula.expression import Affine, Expression, Max
from cpwl.sources.formula.grammar import read_formula
from cpwl.sources.formula.pieces import function_of
from cpwl.sources.natural import natural_key

__all__ = ["Formula", "parse", "read_formula_file"]


@dataclass(frozen=True, slots=True)
class Formula:
    """Piecewise-linear expressions in named variables.

    >>> formula = Formula.from_text("max(x1 - x10, x2), 0.1*x1")
    >>> formula.variables
    ('x1', 'x2', 'x10')
    >>> formula.network()
    Network(3 -> 5 -> 2)
    """

    outputs: tuple[Expression, ...]
    variables: tuple[str, ...]
    """In the order of the coordinates."""

    @classmethod
    def from_text(cls, text: str, *, variables: Sequence[str] | None = None) -> Formula:
        """The formula that a text writes down, as `parse` reads it."""
        if not isinstance(text, str):
            raise InputError(f"a formula is a string, not a {type(text).__name__}")
        outputs = read_formula(text)
        used: set[str] = set()
        seen: set[Max] = set()
        for output in outputs:
            _collect(output, used, seen)
        if variables is None:
            if not used:
                raise InputError("the formula has no variables; `variables` says which inputs the function has")
            return cls(outputs, tuple(sorted(used, key=natural_key)))
        names = [variables] if isinstance(variables, str) else list(variables)
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise InputError("`variables` must be different names, such as ('x', 'y')")
        missing = sorted(used - set(names))
        if missing:
            raise InputError(f"the formula has a variable `{missing[0]}` that is not among `variables`: {names}")
        return cls(outputs, tuple(names))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, variables: Sequence[str] | None = None) -> Formula:
        """The formula in a text file; ``#`` starts a remark."""
        check_path(path, "from_file")
        name = os.fspath(path)
        try:
            return cls.from_text(read_bytes(name).decode("utf-8-sig"), variables=variables)
        except UnicodeDecodeError as error:
            raise InputError(f"{name} is not UTF-8 text, from byte {error.start} on", path=name) from error
        except (InputError, LimitError) as error:
            raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error

    @within_float64()
    def function(self, *, domain: Domain = None, box: tuple[Any, Any] | None = None) -> CPWL:
        """The function with its pieces, on all of R^n or on a domain."""
        return function_of(self.outputs, self.variables, as_domain(domain, len(self.variables), box=box))

    @within_float64()
    def network(self) -> Network:
        """The network that computes the formula as it stands, without looking for its pieces."""
        return simplify(network_of_expressions(self.outputs, self.variables))


def parse(
    text: str,
    *,
    variables: Sequence[str] | None = None,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
) -> CPWL:
    """The function that a formula writes down, exactly.

    There are numbers, variables, ``+``, ``-``, products with constants, quotients by them, and `abs`, `relu`,
    ``clip(x, low, high)``, `max` and `min`; several outputs stand between commas. Numbers are decimal: 0.1 is one
    tenth, and 1/3 one third. Nothing is evaluated as a program.

    Parameters
    ----------
    text
        The formula.
    variables
        The names of the inputs, in order. By default those in the formula, sorted, numbers in them by size: x2 before
        x10.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if neither is given.

    Returns
    -------
    CPWL
        The function with its pieces; `Formula` has the network as well.

    Raises
    ------
    InputError
        Where the text is no formula of this kind, with the place.

    >>> p = parse("max(min(x + 2*y - 1, 3), -x)")
    >>> p
    CPWL(R^2 -> R^1, 4 pieces, 3 components, exact)
    >>> p([["1/10", 0]])
    array([[Fraction(-1, 10)]], dtype=object)
    """
    return Formula.from_text(text, variables=variables).function(domain=domain, box=box)


def read_formula_file(path: str | os.PathLike[str]) -> CPWL:
    """The function of the formula in a text file."""
    return Formula.from_file(path).function()


def _collect(part: Expression, names: set[str], seen: set[Max]) -> None:
    """The names of variables; what is in several places is looked at once."""
    if isinstance(part, Max):
        if part not in seen:
            seen.add(part)
            for member in part.members:
                _collect(member, names, seen)
        return
    names.update(name for name, _ in (part if isinstance(part, Affine) else part.base).slopes)
    for _, term in () if isinstance(part, Affine) else part.terms:
        _collect(term, names, seen)
