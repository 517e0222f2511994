"""``--max-neurons``: the largest network that a command may write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cpwl.errors import LimitError

if TYPE_CHECKING:
    from cpwl.compiler import Compiled
    from cpwl.function import CPWL
    from cpwl.network import Network

__all__ = ["MaxNeurons", "check_neurons", "within_neurons"]

MaxNeurons = Annotated[
    int | None, typer.Option(min=1, help="Write nothing, with exit code 2, if more neurons are needed.")
]


def check_neurons(neurons: int, most: int | None) -> None:
    """`LimitError` if there are more than allowed."""
    if most is not None and neurons > most:
        message = f"nothing was written: the smallest network that was found has {neurons:,} neurons, and {most:,} are"
        raise LimitError(f"{message} allowed", neurons=neurons)


def within_neurons(held: CPWL | Network, most: int | None) -> CPWL | Network | Compiled:
    """What a file holds, or, where neurons are counted, the network that a function is compiled to."""
    from cpwl.compiler import compile
    from cpwl.function import CPWL

    if most is None:
        return held
    made = compile(held) if isinstance(held, CPWL) else held
    check_neurons(made.sizes.neurons, most)
    return made
