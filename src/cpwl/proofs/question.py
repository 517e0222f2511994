"""What is asked of a proof, and what a prover answers."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.write import function_document, network_document
from cpwl.exact.rational import fraction_array, text
from cpwl.function import CPWL
from cpwl.function.lineality import divided
from cpwl.function.snap.meant import meant_components
from cpwl.function.snap.undone import undone
from cpwl.network import Network
from cpwl.progress import Progress
from cpwl.proofs.provers.recover import Wiring
from cpwl.proofs.rounding import Bound, Box, box_of

__all__ = ["Proposal", "Question", "proof_head"]


@dataclass(frozen=True, eq=False)
class Question:
    """Whether `network` computes `p`, or, if it is a rounding of the network `rounded_from`, how nearly.

    What several provers need is computed when first asked for, and once.
    """

    p: CPWL
    network: Network
    rounded_from: Network | None = None
    progress: Progress | None = None
    executor: Executor | None = None

    @cached_property
    def tables(self) -> list[NDArray[np.object_]]:
        """The components of each output, as rows ``(gradient, offset)`` of rationals."""
        found = []
        for output in range(self.p.outputs):
            rows = self.p.components(output).integer()[:, 0]
            found.append(np.asarray(fraction_array(rows[:, :-1]) / rows[:, -1:]))
        return found

    @cached_property
    def meant(self) -> list[NDArray[np.object_]] | None:
        """For float data the components with the simple numbers that they are next to, as lattices have them."""
        if self.p.tol == 0 or not divided(self.p).is_whole:
            return None
        found = [meant_components(self.p, output) for output in range(self.p.outputs)]
        return None if all(map(np.array_equal, found, self.tables)) else found

    @cached_property
    def undone(self) -> CPWL | None:
        """For a table, or breakpoints, of floats, the function with their rounding undone; else None."""
        return undone(self.p)

    @property
    def is_exact(self) -> bool:
        """Whether nothing but the data itself will do: it has no tolerance, and no rounding that was undone."""
        return self.p.tol == 0 and self.undone is None

    @cached_property
    def box(self) -> Box | None:
        """The smallest box around all pieces; None if they are unbounded."""
        return box_of(self.p)

    @cached_property
    def function_document(self) -> dict[str, Any]:
        """The function as it is saved."""
        return function_document(self.p)

    @cached_property
    def network_document(self) -> dict[str, Any]:
        """The network as it is saved."""
        return network_document(self.network)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proof as a prover proposes it; the stand-alone checker decides.

    If a refusal `settles` the question, no other kind will do. `wiring` is that of a max of mins.
    """

    bound: Bound
    document: dict[str, Any]
    settles: bool = False
    wiring: Wiring | None = None


# What proof documents of every kind begin with.


def proof_head(kind: str, inputs: int, bound: Bound = Fraction(0)) -> dict[str, Any]:
    """The first fields, the bound as the checker reads it.

    >>> proof_head("rounded", 2, (Fraction(1, 3), Fraction(0)))
    {'format': 'cpwl-proof', 'version': 1, 'kind': 'rounded', 'inputs': 2, 'error_bound': ['1/3', 0]}
    """
    stated: Any = [text(v) for v in bound] if isinstance(bound, tuple) else text(bound)
    return {"format": "cpwl-proof", "version": 1, "kind": kind, "inputs": inputs, "error_bound": stated}
