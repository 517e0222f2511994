"""Rationals at the door: every number a user may write, as a `Fraction`.

A float is the rational that it is: ``0.1`` is 3602879701896397/2**55, while ``"1/10"`` is one tenth.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from cpwl.errors import InputError, LimitError

_DIGITS = 4300  # what Python itself reads in one integer
# `Fraction` also reads "1_0" and the digits of every script; a file with those in it is damaged or a trap.
_WRITTEN = re.compile(r"\s*[-+]?(?:[0-9]+/[0-9]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*")

_to_fraction = np.frompyfunc(lambda x: fraction(x), 1, 1)
_to_float = np.frompyfunc(float, 1, 1)


def fraction(x: Any) -> Fraction:
    """The rational number that `x` stands for: an int, a float, a `Fraction` or a string "p/q".

    >>> fraction("1/3"), fraction(0.5), fraction(7)
    (Fraction(1, 3), Fraction(1, 2), Fraction(7, 1))
    """
    if isinstance(x, Fraction):
        return x
    if isinstance(x, str):
        if not _is_moderate(x):
            raise InputError(f'"{x[:80]}" has more digits, or a larger exponent, than we read', value=x[:80])
        try:
            if _WRITTEN.fullmatch(x) is None:
                raise ValueError
            return Fraction(x)
        except (ValueError, ZeroDivisionError):
            message = f'"{x[:80]}" is not a number; write an integer, a decimal or "p/q"'
            raise InputError(message, value=x) from None
    if isinstance(x, (float, np.floating)):
        if not math.isfinite(x):
            raise InputError(f"a number must be finite, not `{x}`", value=x)
        return Fraction(float(x))
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return Fraction(int(x))
    if isinstance(x, Rational):
        return Fraction(int(x.numerator), int(x.denominator))
    shown = reprlib.repr(x)[:80]
    raise InputError(f"`{shown}` is not a number; write an int, a float, a Fraction or a string p/q", value=x)


def _is_moderate(number: str) -> bool:
    """Whether a number takes no more digits than Python reads; a short text may stand for gigabytes of them."""
    mantissa, _, exponent = number.lower().partition("e")
    try:
        return len(mantissa) <= 2 * _DIGITS and (len(exponent) < 10 and abs(int(exponent or 0)) <= _DIGITS)
    except ValueError:
        return True  # no number: whoever reads it says so


def fraction_array(x: ArrayLike) -> NDArray[np.object_]:
    """An object array of `Fraction`, of the shape of `x`.

    >>> fraction_array([[1, "1/3"], [0.25, 2]])
    array([[Fraction(1, 1), Fraction(1, 3)],
           [Fraction(1, 4), Fraction(2, 1)]], dtype=object)
    """
    array = np.asarray(unmasked(x, "x"), dtype=object)
    result = _to_fraction(array)
    return np.asarray(result, dtype=object).reshape(array.shape)


def unmasked(x: Any, name: str) -> Any:
    """`x` itself, unless it is an array, or a list of arrays, with masked entries: what is under a mask is no data.

    >>> unmasked(np.ma.masked_invalid([[1.0, np.nan]]), "values")
    Traceback (most recent call last):
    cpwl.errors.InputError: `values[0, 1]` is masked, and a function needs a number there: fill it, or leave its row out
    """
    where = _masked_at(x)
    if where is not None:
        place = ", ".join(map(str, where))
        message = f"`{name}[{place}]` is masked, and a function needs a number there: fill it, or leave its row out"
        raise InputError(message, name=name, where=where)
    return x


def _masked_at(x: Any) -> tuple[int, ...] | None:
    if isinstance(x, np.ma.MaskedArray):
        found = np.argwhere(np.ma.getmaskarray(x))
        return tuple(int(i) for i in found[0]) if len(found) else None
    if isinstance(x, (list, tuple)):
        for i, part in enumerate(x):
            inner = _masked_at(part) if isinstance(part, (list, tuple, np.ma.MaskedArray)) else None
            if inner is not None:
                return (i, *inner)
    return None


def is_number(value: Any) -> bool:
    """Whether a caller means one number: an int, a float, a `Fraction` or "p/q"."""
    return isinstance(value, (Real, np.number, str)) and not isinstance(value, (bool, np.bool_))


def fractions_for(value: Any, count: int, what: str) -> NDArray[np.object_]:
    """One rational for each of `count` things: given as one number for all, or as one for each.

    >>> fractions_for("1/2", 2, "outputs")
    array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    """
    if is_number(value):
        return fraction_array([value] * count)
    given = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(given, (list, tuple)) or len(given) != count:
        size = f"{len(given)} of them" if isinstance(given, (list, tuple)) else f"a {type(value).__name__}"
        raise InputError(f"one number, or one for each of {count} {what}, is required, not {size}")
    return np.array([fraction(v) for v in given], dtype=object)


def to_float(x: NDArray[np.object_]) -> NDArray[np.float64]:
    """The float64 view of rationals, each rounded once to the nearest double.

    >>> to_float(fraction_array(["1/3", "1/2"]))
    array([0.33333333, 0.5       ])
    """
    return np.asarray(_to_float(x), dtype=np.float64).reshape(x.shape)


def is_exact_float(x: NDArray[np.object_]) -> bool:
    """Whether every rational in `x` is a double, so that its float64 view loses nothing."""
    return all(Fraction(float(v)) == v for v in x.flat)


def as_reals(x: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.object_] | None]:
    """The float64 view of what the caller wrote, and the exact rationals where that view is rounded.

    Numeric arrays are their own exact values; `None` in the second place says so.

    >>> as_reals([1, 2], "b")
    (array([1., 2.]), None)
    >>> as_reals([2**63 + 1, -1], "b")[1]
    array([Fraction(9223372036854775809, 1), Fraction(-1, 1)], dtype=object)
    >>> view, exact = as_reals(["1/3", 2], "b")
    >>> exact
    array([Fraction(1, 3), Fraction(2, 1)], dtype=object)
    """
    unmasked(x, name)
    try:
        array = np.asarray(x)
    except ValueError:
        raise InputError(f"`{name}` is ragged: all its rows must have the same length", name=name) from None
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > 2**53:
        array = array.astype(object)
    if array.dtype.kind == "f" and not isinstance(x, np.ndarray) and 2**53 < np.abs(array).max(initial=0.0) < np.inf:
        array = np.asarray(x, dtype=object)  # NumPy has rounded integers that it could not hold
    if array.dtype.kind in "fiu":
        view = np.array(array, dtype=np.float64, order="C")
        if not np.isfinite(view).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(view))[0])
            message = f"`{name}` must be finite, but `{name}{list(where)}` is {view[where]}"
            raise InputError(message, name=name, where=where)
        return view, None
    if array.dtype.kind not in "OUS":
        raise InputError(f"`{name}` must hold numbers, not {array.dtype}", name=name)
    array = np.asarray(x, dtype=object)
    if any(isinstance(v, (list, tuple, np.ndarray)) for v in array.flat):
        raise InputError(f"`{name}` is ragged: all its rows must have the same length", name=name)
    exact = fraction_array(array)
    view = to_float(exact)
    return view, None if is_exact_float(exact) else exact


def points_of(x: Any) -> NDArray[Any]:
    """Points as callers write them: float64, or an object array of `Fraction` if one is written as a rational.

    >>> points_of([[1, 2]]), points_of(["1/3"])
    (array([[1., 2.]]), array([Fraction(1, 3)], dtype=object))
    """
    unmasked(x, "x")
    try:
        points = np.asarray(x)
    except ValueError:
        raise InputError("`x` is ragged: all points must have the same number of coordinates") from None
    if points.dtype.kind not in "OUSfiu":
        raise InputError(f"`x` must hold numbers, not {points.dtype}")
    return fraction_array(points) if points.dtype.kind in "OUS" else points.astype(np.float64, copy=False)


def has_floats(x: Any) -> bool:
    """Whether some number in `x` was written as a float, and so may carry rounding.

    >>> has_floats([1, "1/3"]), has_floats([[1.5]])
    (False, True)
    """
    if isinstance(x, (float, np.floating)):
        return True
    if isinstance(x, (list, tuple)):
        return any(map(has_floats, x))
    if not hasattr(x, "__array__"):
        return False
    array = np.asarray(x)
    return any(map(has_floats, array.flat)) if array.dtype.kind == "O" else array.dtype.kind == "f" and array.size > 0


def text(x: Fraction) -> int | str:
    """A rational as documents write it: an integer, or "p/q".

    >>> text(Fraction(4, 2)), text(Fraction(1, 3))
    (2, '1/3')
    """
    try:
        return x.numerator if x.denominator == 1 else f"{x.numerator}/{x.denominator}"
    except ValueError as error:  # Python writes no integers of more than 4300 digits
        raise LimitError(f"cannot save this: {error}") from None


# Rationals of flint, many times faster than `Fraction`, and the way there and back.


def to_flint(x: Any) -> Any:
    """An int, or a `Fraction`, as an ``fmpq``.

    >>> to_flint(Fraction(2, 6)), to_flint(5)
    (1/3, 5)
    """
    return fmpq(int(x.numerator), int(x.denominator))


def from_flint(x: Any) -> Fraction:
    """An ``fmpq`` or ``fmpz`` as a `Fraction`.

    >>> from_flint(fmpq(1, 3))
    Fraction(1, 3)
    """
    return Fraction(int(x.p), int(x.q))


from_flint_array = np.frompyfunc(from_flint, 1, 1)
"""The same for object arrays of them, entry by entry."""
ratios = np.frompyfunc(Fraction, 2, 1)
"""Quotients of integers as `Fraction`, entry by entry."""


def pivots(reduced: Any, rank: int) -> list[int]:
    """The column in which each row of a reduced echelon matrix of flint begins."""
    return [next(j for j in range(reduced.ncols()) if reduced[i, j] != 0) for i in range(rank)]


def residues(values: NDArray[np.object_], prime: int) -> NDArray[np.object_]:
    """Rationals modulo a prime; a denominator that it divides gives 0."""

    def residue(v: Any) -> Any:
        return v % prime if isinstance(v, int) else v.numerator * pow(v.denominator, prime - 2, prime) % prime

    return np.asarray(np.frompyfunc(residue, 1, 1)(values))


# Rounding in a known direction: numbers that are short, and never on the wrong side of the exact ones.


_HUGE = 10**300


def upwards(x: Fraction) -> Fraction:
    """A rational with at most 53 binary digits that is not smaller than `x`, the next double but one at most.

    Zero stays zero, and what no double reaches stays as it is.

    >>> upwards(Fraction(1, 2)) - Fraction(1, 2) == Fraction(1, 2**53), upwards(Fraction(0))
    (True, Fraction(0, 1))
    """
    if x == 0 or abs(x) > _HUGE:
        return x
    return Fraction(math.nextafter(float(x), math.inf))


def doubles_around(
    low: Iterable[Fraction | float], high: Iterable[Fraction | float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Doubles below the numbers `low` and above the numbers `high`: a box of floats around a box of rationals.

    >>> low, high = doubles_around([Fraction(1, 3)], [Fraction(1, 3)])
    >>> bool(low[0] < Fraction(1, 3) < high[0])
    True
    """
    below = np.array([math.nextafter(float(v), -math.inf) for v in low], dtype=np.float64)
    above = np.array([math.nextafter(float(v), math.inf) for v in high], dtype=np.float64)
    return below, above


def outwards(value: Any, bits: int = 16) -> Any:
    """The next number (of flint) away from zero with few binary digits.

    >>> outwards(fmpq(1, 3), 4), outwards(fmpq(-37), 3)
    (11/32, -40)
    """
    top, bottom = abs(int(value.p)), int(value.q)
    shift = bits - (top.bit_length() - bottom.bit_length())
    scaled, below = (top << shift, bottom) if shift >= 0 else (top, bottom << -shift)
    whole = -(-scaled // below)
    result = fmpq(whole, 1 << shift) if shift >= 0 else fmpq(whole << -shift)
    return result if value >= 0 else -result


# Dense matrices of rationals.


def exact_matrix(table: NDArray[np.object_]) -> Any:
    """An ``fmpq_mat`` of a matrix of rationals."""
    return fmpq_mat(*table.shape, [to_flint(v) for v in table.ravel()])


def fractions_of(matrix: Any) -> list[Fraction]:
    """The entries of an ``fmpq_mat``, row after row."""
    return [from_flint(v) for v in matrix.entries()]


def reduced_rows(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """The nonzero rows of the reduced echelon form, as rationals."""
    reduced, rank = exact_matrix(rows).rref()
    return np.array([from_flint(v) for v in reduced.entries()], dtype=object).reshape(rows.shape)[:rank]


def solution(rows: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.object_]] | None:
    """One solution of reduced rows ``(coefficients, right-hand side)``, and a basis of the homogeneous ones."""
    count = rows.shape[1] - 1
    if len(rows) and not rows[-1, :-1].any():
        return None
    leading = [next(j for j, v in enumerate(row) if v) for row in rows]
    free = [j for j in range(count) if j not in set(leading)]
    one = np.full(count, Fraction(0), dtype=object)
    basis = np.full((len(free), count), Fraction(0), dtype=object)
    one[leading] = rows[:, -1]
    for k, j in enumerate(free):
        basis[k, j] = Fraction(1)
        basis[k, leading] = -rows[:, j]
    return one, basis


def take(matrix: Any, rows: list[int]) -> Any:
    """Some rows of a matrix."""
    width = matrix.ncols()
    return fmpq_mat(len(rows), width, [matrix[i, j] for i in rows for j in range(width)])


def independent(matrix: Any, rows: list[int]) -> list[int]:
    """The first of the given rows that span all of them."""
    if not rows:
        return []
    return [rows[k] for k in pivots(*take(matrix, rows).transpose().rref())]


def negative_direction(form: Any, *, strictly: bool = False) -> list[Fraction] | None:
    """A direction `v` with ``v'Qv <= 0``, or ``< 0`` if `strictly`, for a symmetric matrix `Q` (``L D L'``, exactly).

    None if it is positive definite, or semidefinite.

    >>> negative_direction(fmpq_mat(2, 2, [1, 1, 1, 1]))
    [Fraction(-1, 1), Fraction(1, 1)]
    >>> negative_direction(fmpq_mat(2, 2, [1, 1, 1, 1]), strictly=True)
    >>> negative_direction(fmpq_mat(2, 2, [0, 1, 1, 3]), strictly=True)
    [Fraction(-2, 1), Fraction(1, 1)]
    """
    size = form.nrows()
    rest, basis = form.tolist(), [[fmpq(int(i == k)) for i in range(size)] for k in range(size)]
    for k in range(size):  # basis[i]' Q basis[j] = rest[i][j], and 0 between the first ones
        pivot = rest[k][k]
        if pivot < 0 or (pivot == 0 and not strictly):
            return [from_flint(v) for v in basis[k]]
        for i in range(k + 1, size):
            if pivot == 0 and rest[i][k]:  # with the right multiple of basis[k] the value is -1
                factor = (rest[i][i] + 1) / (2 * rest[i][k])
                return [from_flint(u - factor * v) for u, v in zip(basis[i], basis[k], strict=True)]
            if rest[i][k]:
                factor = rest[i][k] / pivot
                rest[i] = [u - factor * v for u, v in zip(rest[i], rest[k], strict=True)]
                basis[i] = [u - factor * v for u, v in zip(basis[i], basis[k], strict=True)]
    return None
