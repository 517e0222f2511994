"""The type of rational numbers in sums that are built up term by term: `flint`'s, which has no usable type hints."""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["Rational"]

Rational: TypeAlias = Any
"""A rational number of `flint`."""
