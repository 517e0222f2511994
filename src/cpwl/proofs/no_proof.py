"""How a prover says that it has no proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["NoProof", "NotRecognised"]


class NoProof(Exception):
    """There is no proof of this kind.

    At one of `points` network and function may be seen to differ. If it `settles` the question, no other kind will do.
    """

    def __init__(self, message: str, points: Sequence[Any] = (), *, settles: bool = False) -> None:
        super().__init__(message)
        self.points = list(points)
        self.settles = settles


class NotRecognised(NoProof):
    """The network is not built as this kind of proof has it; the text says where."""
