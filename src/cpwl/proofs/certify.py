"""`certify`: a proof that a network computes a function, or comes within a stated error of it, on every piece."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.write import network_document
from cpwl.errors import InputError, ProofError
from cpwl.exact.rational import fraction_array, text
from cpwl.exact.rounding import doubles_around
from cpwl.function import CPWL
from cpwl.function.doctor.report import point_text
from cpwl.network import Network
from cpwl.progress import Progress
from cpwl.proofs.float_error import float_error
from cpwl.proofs.provers.bends import NotProved, prove_bends
from cpwl.proofs.provers.clamped import prove_clamped
from cpwl.proofs.provers.expression import prove_expression, restored
from cpwl.proofs.provers.line import bend_direction, prove_line
from cpwl.proofs.provers.maxmin import MaxMinProof, Shortfall
from cpwl.proofs.provers.near import NotNear, prove_near
from cpwl.proofs.provers.recover import NotRecognised, Wiring, recover
from cpwl.proofs.provers.strips import prove_strips
from cpwl.proofs.refute import find_difference
from cpwl.proofs.rounding import Box, box_of, deviation, drift, evaluation_bound

__all__ = ["Certificate", "certify"]

Bound = Fraction | tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What was proved about a network and a function.

    `error_bound` bounds ``|network - function|`` on every piece, for the weights as they are, in exact
    arithmetic: 0 for equality, a number, or ``(a, b)`` for ``a + b max |x_i|`` on an unbounded domain.
    `evaluation_bound` bounds what rounding adds when the network is evaluated in float64 or float32, in any
    order of summation (None on an unbounded domain).
    """

    proved: bool
    error_bound: Fraction | tuple[Fraction, Fraction] | None
    reason: str
    evaluation_bound: dict[str, float] | None
    document: dict[str, Any] | None

    @property
    def statement(self) -> str:
        """What was proved, in one line."""
        if not self.proved:
            return self.reason
        if isinstance(self.error_bound, tuple):
            a, b = (_upward(v) for v in self.error_bound)
            return f"|network - function| <= {a:.3g} + {b:.3g} max|x_i| on every piece"
        assert self.error_bound is not None
        if self.error_bound == 0:
            return "network = function on every piece"
        return f"|network - function| <= {_upward(self.error_bound):.3g} on every piece"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the proof as JSON, whole or not at all; see docs/proof.md for what it says."""
        if self.document is None:
            raise ProofError(f"there is no proof to save: {self.reason}")
        target = Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            partial.write_text(json.dumps(self.document, separators=(",", ":")) + "\n", encoding="utf-8")
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)


def certify(
    p: CPWL,
    network: Network,
    *,
    exact: Network | None = None,
    max_error: float | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Proves that `network` computes `p` on every piece, from its weights alone.

    For an exact network and exact data the proof is of equality. For rounded weights or float data it is of a
    bound on the difference; a bound above `max_error` (default: 1e-4 of the size of the values for float32-like
    weights) counts as a failure. Raises `ProofError` with a rational point where the two differ and both
    values. A network that is neither a max of mins nor made of hinges and gates as far as can be seen, and shows
    no difference, is reported as not proved. Rounding moves where hinges and gates bend: for such a network give
    the `exact` one that it is a rounding of; the proof is of the exact one, and of how far the rounded one is off.

    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> certify(p, Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])).error_bound
    Fraction(0, 1)
    """
    if (network.inputs, network.outputs) != (p.dim, p.outputs):
        raise InputError(
            f"the network maps R^{network.inputs} to R^{network.outputs}, the function R^{p.dim} to R^{p.outputs}"
        )
    tables = [_table(p, j) for j in range(p.outputs)]
    try:
        wiring = recover(network, tables)
        proof = MaxMinProof(p, tables, wiring, progress)
        outputs = [proof.output(j) for j in range(p.outputs)]
    except NotRecognised:
        return _by_expression(p, network, exact, tables, max_error, progress)
    except Shortfall as reason:
        return _by_bends(p, network, exact, reason, tables, max_error)
    box = box_of(p)
    weights = deviation(network, tables, wiring, box)
    bound = _total(proof.shortfall, weights)
    doubt = _check_size(p, network, bound, max_error, tables)
    if doubt:
        return Certificate(False, None, doubt, None, None)
    document = _document(p, tables, wiring, outputs, bound, box)
    return Certificate(True, bound, "", evaluation_bound(network, wiring, box), document)


def _by_expression(
    p: CPWL,
    network: Network,
    exact: Network | None,
    tables: list[NDArray[np.object_]],
    max_error: float | None,
    progress: Progress | None,
) -> Certificate:
    """The proof for maxima and minima however they are wired; for rounded weights with the exact network inside."""
    box = box_of(p)
    try:
        meant = network if exact is None else exact
        try:
            shortfall, document = prove_expression(p, meant, tables, box, progress)
        except NotRecognised:
            if exact is not None or network.exact is not None:
                raise
            meant = restored(p, network, tables, box)
            shortfall, document = prove_expression(p, meant, tables, box, progress)
    except (NotRecognised, Shortfall) as reason:
        return _by_bends(p, network, exact, reason, tables, max_error)
    weights = Fraction(0) if meant is network else drift(meant, network, box)
    bound = _total(shortfall, weights)
    doubt = _check_size(p, network, bound, max_error, tables)
    if doubt:
        return Certificate(False, None, doubt, None, None)
    if weights != 0:
        document = _rounded_document(p, meant, bound, box, document)
    return Certificate(True, bound, "", _evaluation(network, box), document)


def _by_bends(
    p: CPWL,
    network: Network,
    exact: Network | None,
    reason: NotRecognised | Shortfall,
    tables: list[NDArray[np.object_]],
    max_error: float | None,
) -> Certificate:
    """The proof for hinges and gates, of equality, or for rounded weights with the exact network inside."""
    points = list(getattr(reason, "points", []))
    if isinstance(reason, NotRecognised):
        try:
            if p.tol:
                return _near(p, network, exact, max_error, tables)
            bound, document = _bounded(p, network, exact)
            return Certificate(True, bound, "", _evaluation(network, box_of(p)), document)
        except (NotRecognised, NotProved, NotNear) as other:
            reason, points = other, [*points, *getattr(other, "points", [])]  # type: ignore[assignment]
    return _not_proved(p, network, str(reason), points, tables)


def _prove_equal(p: CPWL, network: Network) -> dict[str, Any]:
    """By a walk along the line where all bends have one direction; else for clamped gates, for strips, or by bends."""
    if bend_direction(p) is not None:
        try:
            return prove_line(p, network)
        except NotProved:
            if p.dim == 1:  # there a walk decides
                raise
    for prove in (prove_clamped, prove_strips):
        with contextlib.suppress(NotRecognised):
            return prove(p, network)
    return prove_bends(p, network)


def _bounded(p: CPWL, network: Network, exact: Network | None) -> tuple[Bound, dict[str, Any]]:
    """The proof of equality, or for a rounding of the exact network how far it is off."""
    inner = _prove_equal(p, network if exact is None else exact)
    if exact is None:
        return Fraction(0), inner
    box = box_of(p)
    bound = drift(exact, network, box)
    if bound == 0:
        return bound, inner
    return bound, _rounded_document(p, exact, bound, box, inner)


def _rounded_document(p: CPWL, exact: Network, bound: Bound, box: Box | None, inner: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {"format": "cpwl-proof", "version": 1, "kind": "rounded", "inputs": p.dim}
    document["error_bound"] = [text(v) for v in bound] if isinstance(bound, tuple) else text(bound)
    document["box"] = None if box is None else box.document()
    return {**document, "network": network_document(exact), "proof": inner}


def _near(
    p: CPWL, network: Network, exact: Network | None, max_error: float | None, tables: list[NDArray[np.object_]]
) -> Certificate:
    """The proof for float data: of a consistent function near it, and how near."""
    bound, document = prove_near(p, network, lambda meant: _bounded(meant, network, exact)[1])
    doubt = _check_size(p, network, bound, max_error, tables)
    if doubt:
        return Certificate(False, None, doubt, None, None)
    return Certificate(True, bound, "", _evaluation(network, box_of(p)), document)


def _evaluation(network: Network, box: Box | None) -> dict[str, float] | None:
    if box is None:
        return None
    low, high = doubles_around(box.low, box.high)
    return {dtype: float_error(network, low, high, dtype) for dtype in ("float64", "float32")}


def _upward(x: Fraction) -> float:
    """A rational as a float that three digits do not make smaller."""
    return float(x) * 1.01


def _table(p: CPWL, output: int) -> NDArray[np.object_]:
    rows = p.components(output).integer()[:, 0]
    return np.asarray(fraction_array(rows[:, :-1]) / rows[:, -1:])


def _total(shortfall: Fraction, weights: Fraction | tuple[Fraction, Fraction]) -> Fraction | tuple[Fraction, Fraction]:
    if isinstance(weights, tuple):
        constant, slope = weights
        return (shortfall + constant, slope) if slope else shortfall + constant
    return shortfall + weights


def _check_size(
    p: CPWL,
    network: Network,
    bound: Fraction | tuple[Fraction, Fraction],
    max_error: float | None,
    tables: list[NDArray[np.object_]],
) -> str:
    """An exact network for exact data must be equal, rounded ones must at least be close; why that is not proved."""
    size = float(max(np.abs(table.astype(np.float64)).max() for table in tables)) or 1.0
    equal = max_error is None and network.exact is not None and p.tol == 0
    if max_error is None:
        max_error = 0.0 if equal else 1e-4 * size
    largest = bound[0] + bound[1] if isinstance(bound, tuple) else bound
    if largest <= Fraction(max_error):
        return ""
    _raise_difference(p, network, Fraction(max_error), [])
    if equal:  # A weight that has no effect on the pieces may be off: no difference, and no proof either.
        return f"not proved: the network is within {_upward(largest):.3g} of the function, but not shown to be equal"
    raise ProofError(
        f"the network is within {float(largest):.3g} of the function, which is more than {max_error:.3g}",
        bound=bound,
    )


def _raise_difference(p: CPWL, network: Network, tolerance: Fraction, points: list[Any]) -> None:
    found = find_difference(p, network, tolerance, points)
    if found is None:
        return
    x, theirs, ours = found
    raise ProofError(
        f"network and function differ: at x = {point_text(x)} the network gives {point_text(theirs)} and the "
        f"function {point_text(ours)}",
        point=x,
        network=theirs,
        function=ours,
    )


def _not_proved(
    p: CPWL, network: Network, reason: str, points: list[Any], tables: list[NDArray[np.object_]]
) -> Certificate:
    size = float(max(np.abs(table.astype(np.float64)).max() for table in tables)) or 1.0
    close = Fraction(0) if network.exact is not None and p.tol == 0 else Fraction(1e-4 * size)
    _raise_difference(p, network, close, points)
    return Certificate(False, None, f"not proved: {reason}", None, None)


def _document(
    p: CPWL,
    tables: list[NDArray[np.object_]],
    wiring: Wiring,
    outputs: list[dict[str, Any]],
    bound: Fraction | tuple[Fraction, Fraction],
    box: Box | None,
) -> dict[str, Any]:
    stated: Any = [text(v) for v in bound] if isinstance(bound, tuple) else text(bound)
    groups = [
        [{"max" if len(g.references) == 2 else "carry": list(g.references), "neurons": list(g.neurons)} for g in layer]
        for layer in wiring.layers
    ]
    return {
        "format": "cpwl-proof",
        "version": 1,
        "kind": "max-min",
        "inputs": p.dim,
        "components": [[text(v) for v in row] for table in tables for row in table],
        "outputs": outputs,
        "wiring": groups,
        "output": list(wiring.output),
        "error_bound": stated,
        "box": box.document() if box is not None and bound != 0 else None,
    }
