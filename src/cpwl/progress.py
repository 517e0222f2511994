"""How a long step says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called as ``progress(done, total, step)``; what it returns is not looked at."""
