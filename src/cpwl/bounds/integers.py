"""Positive integers at the door, their exact logarithm, and integers too large to compute."""

from __future__ import annotations

from numbers import Integral

from cpwl.errors import InputError, LimitError

__all__ = ["ceil_log2", "check_bits", "positive", "written"]

_LARGEST_BITS = 2**32


def positive(value: object, name: str) -> int:
    """The positive integer `value` as a Python integer, or an `InputError` that names it.

    NumPy integers are integers; booleans and floats are not, whatever their value.

    >>> positive(7, "q")
    7
    >>> positive(0, "q")
    Traceback (most recent call last):
    cpwl.errors.InputError: `q` must be a positive integer, not 0
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        kind = type(value).__name__
        raise InputError(f"`{name}` must be a positive integer, not of type `{kind}`", name=name, value=value)
    number = int(value)
    if number < 1:
        raise InputError(f"`{name}` must be a positive integer, not {written(number)}", name=name, value=number)
    return number


def written(number: int) -> str:
    """`number` for a message; Python refuses to print integers of many thousand digits.

    >>> written(12), written(-(10**5000))
    ('12', 'about -2^16609')
    """
    bits = number.bit_length()
    return str(number) if bits <= 64 else f"about {'-' if number < 0 else ''}2^{bits - 1}"


def ceil_log2(m: int) -> int:
    """The least `c` with ``2^c >= m``, for a positive integer `m`.

    >>> [ceil_log2(m) for m in (1, 2, 3, 4, 5, 2**100, 2**100 + 1)]
    [0, 1, 2, 2, 3, 100, 101]
    """
    return (m - 1).bit_length()


def check_bits(bits: int) -> None:
    """Refuse to compute an integer of `bits` bits when it would fill the memory.

    >>> check_bits(10**12)
    Traceback (most recent call last):
    cpwl.errors.LimitError: this bound is an integer of 1000000000000 bits or more, too large to compute
    """
    if bits > _LARGEST_BITS:
        message = f"this bound is an integer of {written(bits)} bits or more, too large to compute"
        raise LimitError(message, bits=bits)
