"""The floating types of ONNX: which numbers each holds, and which of them holds another."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import TensorProto

__all__ = ["FLOATS", "FloatType", "type_name"]


@dataclass(frozen=True, slots=True)
class FloatType:
    """Numbers ``m 2^e`` with `bits` binary digits, the largest just below ``2^(exponent + 1)``."""

    name: str
    bits: int
    exponent: int

    @property
    def largest(self) -> float:
        """The largest finite number.

        >>> FLOATS[TensorProto.FLOAT16].largest
        65504.0
        """
        return (2.0 - 2.0 ** (1 - self.bits)) * 2.0**self.exponent

    def holds(self, other: FloatType) -> bool:
        """Whether every number of the other type is one of this.

        >>> half, brain = FLOATS[TensorProto.FLOAT16], FLOATS[TensorProto.BFLOAT16]
        >>> half.holds(brain), brain.holds(half), FLOATS[TensorProto.FLOAT].holds(brain)
        (False, False, True)
        """
        return self.bits >= other.bits and self.exponent >= other.exponent


FLOATS = {
    TensorProto.FLOAT16: FloatType("float16", 11, 15),
    TensorProto.BFLOAT16: FloatType("bfloat16", 8, 127),
    TensorProto.FLOAT: FloatType("float32", 24, 127),
    TensorProto.DOUBLE: FloatType("float64", 53, 1023),
}


def type_name(kind: int) -> str:
    """The name of any element type, for people.

    >>> type_name(TensorProto.INT64), type_name(999)
    ('int64', 'an unknown type')
    """
    if kind in FLOATS:
        return FLOATS[kind].name
    return TensorProto.DataType.Name(kind).lower() if kind in TensorProto.DataType.values() else "an unknown type"
