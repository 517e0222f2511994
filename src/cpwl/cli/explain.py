"""What ``cpwl compile --explain`` prints: every construction, what it would cost, and why one was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpwl.cli.output import print_table, readable_integer

if TYPE_CHECKING:
    from cpwl.compiler import Alternative, Compiled

__all__ = ["explain_choice"]


def explain_choice(compiled: Compiled) -> None:
    """A table of the constructions, and the proven lower bounds below it."""
    from rich.box import SIMPLE
    from rich.table import Table

    from cpwl.construct.table import TABLE

    table = Table("construction", box=SIMPLE)
    for name in ("neurons", "layers", "width", "nonzeros", "predicted error"):
        table.add_column(name, justify="right", no_wrap=True)
    reasons = []
    for name in TABLE:
        if name == compiled.construction:
            sizes = compiled.sizes
            numbers = (sizes.neurons, sizes.depth, sizes.width, sizes.nonzeros)
            table.add_row(name, *map(readable_integer, numbers), _error(compiled.error))
            reasons.append(f"{name} was taken: {compiled.reason}")
        elif name in compiled.alternatives:
            other = compiled.alternatives[name]
            table.add_row(name, *_cells(other))
            if other.reason:
                reasons.append(f"{name}: {'wrong here: ' if other.valid is False else ''}{other.reason}")
    bounds = [
        f"at least {b.neurons:,} neurons"
        + ("" if b.hidden_layers is None else f" with {b.hidden_layers} hidden layer{'s'[: b.hidden_layers != 1]}")
        + f": {b.reason}"
        for b in compiled.lower_bounds
    ]
    head = "Predicted errors are relative to the range of the function."
    print_table(table, head, *reasons, *_against_data(compiled), *bounds)


def _against_data(compiled: Compiled) -> list[str]:
    """For float data that contradicts itself: by how much, and how far the network is off."""
    least, proof = compiled.unavoidable, compiled.certificate
    if not least:
        return []
    undetermined = f"no function is within {float(least):.2g} of this data: pieces overlap and differ by twice that"
    if proof is not None and proof.proved:
        return [f"{undetermined}; proved: {proof.statement}"]
    seen = compiled.measured
    return [undetermined if seen is None else f"{undetermined}; this network was seen {seen:.1e} of the range off"]


def _cells(other: Alternative) -> tuple[str, ...]:
    count, depth = ("-" if v is None else readable_integer(v) for v in (other.neurons, other.depth))
    width, nonzeros = (
        ("-", "-") if other.sizes is None else map(readable_integer, (other.sizes.width, other.sizes.nonzeros))
    )
    return count, depth, width, nonzeros, _error(other.error)


def _error(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}" if value else "0"
