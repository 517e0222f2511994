"""What was proved about a network and a function, and how to keep it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cpwl.doors import check_path
from cpwl.errors import ProofError
from cpwl.files import write_text
from cpwl.proofs.rounding import Bound

__all__ = ["Certificate"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Certificate:
    """What was proved about a network and a function.

    Attributes
    ----------
    proved : bool
        Whether the stand-alone checker accepted `document` for the function and the network as they are saved.
    error_bound : Fraction, (Fraction, Fraction) or None
        Bounds ``|network - function|`` on every piece, for the weights as they are, in exact arithmetic: 0 for
        equality, a number, or ``(a, b)`` for ``a + b max |x_i|`` on an unbounded domain. None if nothing is proved.
    reason : str
        Why nothing is proved; empty otherwise.
    evaluation_bound : dict or None
        Bounds on what rounding adds when the network is evaluated layer by layer in float64 or float32, in any order
        of summation. None on an unbounded domain, and for a network from a file whose own operations are not those
        layers; from a file of such layers it has the type of the file alone.
    document : dict or None
        The proof; docs/proof.md says what is in it.
    unavoidable : Fraction or None
        For float data: no function at all is nearer to it, because pieces overlap and differ by twice that. 0 if no
        such place is known, None for exact data.
    caution : str
        What the statement, which is about exact arithmetic, does not show: that the network stays near when it is
        evaluated in floats. Empty where `evaluation_bound` is small.
    pieces, coverage : int, str
        How many pieces the statement is about, and whether they cover the stated domain.
    """

    proved: bool
    error_bound: Bound | None
    reason: str
    evaluation_bound: dict[str, float] | None
    document: dict[str, Any] | None
    unavoidable: Fraction | None = None
    caution: str = ""
    pieces: int = 0
    coverage: str = "no domain is stated"

    def __repr__(self) -> str:
        return f"Certificate({self.statement if self.proved else _short(self.reason)})"

    @property
    def kind(self) -> str | None:
        """The kind of the proof, outermost first, such as "near of rounded of bends"; None without a proof."""
        names, inner = [], self.document
        while inner is not None:
            names.append(inner["kind"])
            inner = inner.get("proof")
        return " of ".join(names) or None

    @property
    def statement(self) -> str:
        """What was proved, in one line: about which pieces if they are not all of the domain, and what is not shown."""
        if not self.proved:
            return self.reason
        said = self._on_pieces()
        if self.document is not None and self.document.get("kind") == "clipped":
            said = said.replace("on every piece", "on every piece, and outside the box at its nearest point")
        if self.coverage not in ("they cover the domain", "no domain is stated"):
            said = said.replace("on every piece", f"on every piece ({self.pieces:,} in all; {self.coverage})")
        return f"{said} only: {self.caution}" if self.caution else said

    def _on_pieces(self) -> str:
        if isinstance(self.error_bound, tuple):
            a, b = (upward(v) for v in self.error_bound)
            return f"|network - function| <= {a:.3g} + {b:.3g} max|x_i| on every piece, in exact arithmetic"
        assert self.error_bound is not None
        if self.error_bound == 0:
            return "network = function on every piece, in exact arithmetic"
        return f"|network - function| <= {upward(self.error_bound):.3g} on every piece, in exact arithmetic"

    @property
    def text(self) -> str:
        """The proof as `save` writes it."""
        if self.document is None:
            raise ProofError(f"there is no proof to save: {self.reason}")
        return json.dumps(self.document, separators=(",", ":")) + "\n"

    @property
    def sha256(self) -> str:
        """The hash of the file that `save` writes, so that another file can say which proof is its own."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the proof as JSON, whole or not at all; see docs/proof.md for what it says.

        Parameters
        ----------
        path : path-like
            The file; what is there is replaced when the new file is complete.

        Raises
        ------
        ProofError
            If there is no proof to save.
        InputError
            If the file cannot be written.
        """
        check_path(path, "Certificate.save")
        write_text(path, self.text)


def upward(x: Fraction) -> float:
    """A rational as a float that three digits do not make smaller."""
    return float(x) * 1.01


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."
