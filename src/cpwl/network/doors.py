"""Is this a network? What else it may be, and what to write instead."""

from __future__ import annotations

from os import PathLike
from typing import Any

from cpwl.errors import InputError
from cpwl.network.network import Network

__all__ = ["check_limit", "check_network"]


def check_network(value: Any, verb: str) -> None:
    """Refuses what is not a `Network`, in one sentence that says what to write.

    >>> check_network("model.onnx", "extract")
    Traceback (most recent call last):
    ...
    cpwl.errors.InputError: `extract` takes a Network, not a str: `cpwl.from_onnx` and `cpwl.load` read one from a file
    """
    if isinstance(value, Network):
        return
    name = type(value).__name__
    article = "an" if name[:1] in "AEIOUaeiou" else "a"
    raise InputError(f"`{verb}` takes a Network, not {article} {name}: {_advice(value, verb)}", type=name)


def check_limit(most: Any, name: str = "max_regions") -> None:
    """Refuses a limit that is no positive whole number; None is no limit."""
    if most is not None and (isinstance(most, bool) or not hasattr(most, "__index__") or most < 1):
        raise InputError(f"`{name}` must be a whole number of at least 1, or None for no limit; not {most!r}")


def _advice(value: Any, verb: str) -> str:
    if isinstance(getattr(value, "network", None), Network):
        return f"write `{verb}(x.network)`, where x is what you passed"
    if hasattr(value, "polyhedra") and hasattr(value, "laws"):
        return f"`cpwl.compile(p).network` is a network for a function p; write `{verb}(cpwl.compile(p).network)`"
    if isinstance(value, (str, PathLike)):
        return "`cpwl.from_onnx` and `cpwl.load` read one from a file"
    if isinstance(value, (list, tuple)):
        return "`cpwl.Network([(W1, b1), ...])` makes one of weights and biases"
    return "`cpwl.from_torch`, `cpwl.from_onnx` and `cpwl.from_sklearn` make one of a model"
