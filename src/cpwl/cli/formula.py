"""Formulas on the command line: their functions, and their networks where those are smaller than what we compile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from cpwl.compiler import Compiled
    from cpwl.construct.options import Weights
    from cpwl.function import CPWL
    from cpwl.io.formula import Formula

__all__ = ["or_as_it_stands", "read_formula_option"]


def read_formula_option(source: Path | None, text: str | None, variables: str | None) -> Formula | None:
    """The formula of ``--formula``, or of a file IN.txt; None if the function is in another file."""
    from cpwl.io.formula import Formula

    if (source is None) == (text is None):
        raise typer.BadParameter("give either a file or --formula TEXT.", param_hint="'IN'")
    names = None if variables is None else [name.strip() for name in variables.split(",")]
    if text is not None:
        return Formula.from_text(text, variables=names)
    if source is not None and source.suffix.lower() == ".txt":
        return Formula.from_file(source, variables=names)
    if names is not None:
        raise typer.BadParameter("only formulas have variables.", param_hint="'--variables'")
    return None


def or_as_it_stands(p: CPWL, formula: Formula, compiled: Compiled, minimize: str, weights: Weights) -> Compiled:
    """What was compiled, or the network of the formula as it stands, where that is smaller and its proof as good."""
    from cpwl.network.network import rounded
    from cpwl.proofs.certify import certify

    network = formula.network()
    if getattr(network.sizes, minimize) >= getattr(compiled.sizes, minimize):
        return compiled
    certificate = None
    if compiled.certificate is not None:
        exact = weights == "exact"
        certificate = certify(p, network) if exact else certify(p, rounded(network, weights), rounded_from=network)
        if not certificate.proved:
            return compiled
    reason = f"the formula as it stands has the fewest {minimize}"
    return replace(
        compiled, network=network, sizes=network.sizes, construction="formula", reason=reason, certificate=certificate
    )
