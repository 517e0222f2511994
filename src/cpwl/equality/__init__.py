"""Are two networks or functions equal? A proof, or a point where they differ."""

from __future__ import annotations

from cpwl.equality.decide import distance, equal
from cpwl.equality.verdict import Verdict

__all__ = ["Verdict", "distance", "equal"]
