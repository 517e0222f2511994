"""What proof documents of every kind begin with."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from cpwl.exact.rational import text
from cpwl.proofs.rounding import Bound

__all__ = ["proof_head"]


def proof_head(kind: str, inputs: int, bound: Bound = Fraction(0)) -> dict[str, Any]:
    """The first fields, the bound as the checker reads it.

    >>> proof_head("rounded", 2, (Fraction(1, 3), Fraction(0)))
    {'format': 'cpwl-proof', 'version': 1, 'kind': 'rounded', 'inputs': 2, 'error_bound': ['1/3', 0]}
    """
    stated: Any = [text(v) for v in bound] if isinstance(bound, tuple) else text(bound)
    return {"format": "cpwl-proof", "version": 1, "kind": kind, "inputs": inputs, "error_bound": stated}
