"""`equal`: the order in which equality is refuted, proved, or left undecided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.equality.difference import difference
from cpwl.equality.pieces import compare_pieces, joined, outside, value_of
from cpwl.equality.regions import Compared, compare_on_regions
from cpwl.equality.sample import find_difference, values_at
from cpwl.equality.verdict import Apart, Verdict, farther
from cpwl.errors import InputError, LimitError, ProofError
from cpwl.exact.rational import fraction_array
from cpwl.function import CPWL
from cpwl.function.doctor.report import point_text
from cpwl.geometry.polyhedra import Polyhedron, as_domain
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.progress import Progress
from cpwl.proofs.certify import certify

__all__ = ["equal"]

Operand = Network | CPWL

_GAP_REGIONS = 20_000  # regions to look at for the size of a difference that is known to be there


def equal(
    a: Operand, b: Operand, *, domain: Any = None, max_regions: int | None = None, progress: Progress | None = None
) -> Verdict:
    """Whether two networks or functions are equal on a domain: a proof, or a rational point where they differ.

    `domain` is ``(A, b)`` for ``A x <= b``, and by default where both are defined: R^n for networks, the union of its
    pieces for a function; two functions with different domains are different. On every linear region of both the
    difference is affine, and it is zero on the region or largest at a corner of it; all of it is decided in
    rationals. `max_regions` ends a search that grows too long, and then `equal` is None. Weights and data are taken
    at their exact value: networks that differ by rounding are different, and `gap` says by how much.

    >>> absolute = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> verdict = equal(absolute, CPWL.from_breakpoints([-1, 0, 1], [1, 0, 1]))
    >>> verdict.equal, verdict.gap
    (True, Fraction(0, 1))
    >>> verdict = equal(absolute, Network([([["1"]], [0])]), domain=([[1], [-1]], [2, 3]))
    >>> verdict.equal, verdict.witness, verdict.gap
    (False, array([Fraction(-3, 1)], dtype=object), Fraction(6, 1))
    """
    body, inside = _domain(a, b, domain)
    work = _Work(a, b, body, inside, max_regions, progress)
    return work.verdict()


def _domain(a: Operand, b: Operand, domain: Any) -> tuple[Polyhedron | None, NDArray[Any] | None]:
    for f in (a, b):
        if not isinstance(f, (Network, CPWL)):
            raise InputError(f"only networks and CPWL functions can be compared, not a {type(f).__name__}")
        if isinstance(f, CPWL) and f.complete is False:
            raise InputError("a function that was extracted in part cannot be compared; `extract(resume=...)` goes on")
    shapes = [(_inputs(f), f.outputs) for f in (a, b)]
    if shapes[0] != shapes[1]:
        (n, m), (k, l) = shapes
        raise InputError(f"the first maps R^{n} to R^{m}, the second R^{k} to R^{l}", shapes=shapes)
    body = as_domain(domain, shapes[0][0])
    if body is None:
        return None, None
    inside = Probe(0.0).interior(body)
    if inside is None:
        raise InputError("the domain has no interior: no point satisfies all of its rows strictly")
    return body, fraction_array(inside)


def _inputs(f: Operand) -> int:
    return f.inputs if isinstance(f, Network) else f.dim


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """Two operands on a domain, and the limits of the search."""

    a: Operand
    b: Operand
    domain: Polyhedron | None
    inside: NDArray[Any] | None
    most: int | None
    progress: Progress | None

    def verdict(self) -> Verdict:
        """First what random points show, then the comparison region by region."""
        if self.a is self.b:
            return Verdict(True, None, (None, None), Fraction(0), 0, "they are one and the same")
        away = self._undefined()
        if away is not None:
            return Verdict(False, away, (values_at(self.a, away), values_at(self.b, away)), None, 0, "domains differ")
        minus = None
        if isinstance(self.a, Network) and isinstance(self.b, Network):
            minus = difference(self.a, self.b)
        seen = None
        if minus is None or len(minus.layers) > 1:
            seen = find_difference(self.a, self.b, self.domain, self.inside)
        most = self.most if self.most is not None or seen is None else _GAP_REGIONS
        compared, how = self._compare(minus, most, seen)
        apart = compared.apart or seen
        if apart is None and compared.complete:
            return Verdict(True, None, (None, None), Fraction(0), compared.regions, how)
        if not compared.complete:
            how = f"{how}, and there are more than {most:,}" if most is not None else f"{how}, but not on all"
        if apart is None:
            return Verdict(None, None, (None, None), None, compared.regions, how)
        gap = apart.size if compared.complete and compared.apart is not None else None
        return self._different(apart, gap, compared.regions, how)

    def _different(self, apart: Apart, gap: Fraction | float | None, regions: int, how: str) -> Verdict:
        values = apart.values or (values_at(self.a, apart.point), values_at(self.b, apart.point))
        assert values[0] is None or values[1] is None or (values[0] != values[1]).any()
        return Verdict(False, apart.point, values, gap, regions, how)

    def _undefined(self) -> NDArray[Any] | None:
        """A point where only one of two functions is defined; where a domain is given, both must be, all over it."""
        for f in (self.a, self.b):
            if isinstance(f, CPWL) and self.domain is not None:
                found = outside(self.domain, f)
                if found is not None:
                    message = f"the function is not defined at x = {point_text(found)}, a point of the domain"
                    raise InputError(message, point=found)
        if isinstance(self.a, CPWL) and isinstance(self.b, CPWL) and self.domain is None:
            first = outside(self.a, self.b)
            return outside(self.b, self.a) if first is None else first
        return None

    def _compare(self, minus: Network | None, most: int | None, seen: Apart | None) -> tuple[Compared, str]:
        a, b = self.a, self.b
        if isinstance(a, CPWL) and isinstance(b, CPWL):
            compared = compare_pieces(a, b, self.domain, most=most, progress=self.progress)
            return compared, f"compared on {_count(compared.regions, 'pair')} of pieces"
        if minus is not None:
            zero = np.full((minus.outputs, minus.inputs + 1), Fraction(0), dtype=object)
            compared = compare_on_regions(minus, self.domain, zero, most=most, progress=self.progress)
            if len(minus.layers) == 1:
                return compared, "they share all neurons that are read"
            return compared, f"compared on {_count(compared.regions, 'linear region')}"
        p, network = (a, b) if isinstance(a, CPWL) else (b, a)
        assert isinstance(p, CPWL)
        assert isinstance(network, Network)
        if seen is None and self.domain is None and _is_certified(p, network):
            return Compared(p.num_pieces, None, True), f"proved on {_count(p.num_pieces, 'piece')} by a certificate"
        return self._on_pieces(p, network, most)

    def _on_pieces(self, p: CPWL, network: Network, most: int | None) -> tuple[Compared, str]:
        """The network against the law of each piece, on the piece."""
        probe, laws = Probe(0.0), p.laws.integer()
        apart: Apart | None = None
        regions, complete = 0, True
        for i in range(p.num_pieces):
            body = joined(p.polyhedra[i], self.domain)
            if probe.interior(body) is None:
                continue
            target = fraction_array(laws[i][:, :-1]) / laws[i][:, -1:]
            left = None if most is None else most - regions
            if left == 0:
                return Compared(regions, apart, False), f"compared on {_count(regions, 'linear region')}"
            compared = compare_on_regions(network, body, np.asarray(target), most=left)
            regions, complete = regions + compared.regions, complete and compared.complete
            if compared.apart is not None:
                x = compared.apart.point
                values = value_of(laws[i], x), np.asarray(network(x))
                apart = farther(apart, replace(compared.apart, values=values if p is self.a else values[::-1]))
            if self.progress is not None:
                self.progress(i + 1, p.num_pieces, "pieces")
        how = f"compared on {_count(regions, 'linear region')} in {_count(p.num_pieces, 'piece')}"
        return Compared(regions, apart, complete), how


def _is_certified(p: CPWL, network: Network) -> bool:
    """Whether a certificate shows equality at once; a difference that it finds is measured elsewhere."""
    if p.tol:
        return False
    try:
        certificate = certify(p, network)
    except (ProofError, LimitError):
        return False
    return certificate.proved and certificate.error_bound == 0


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
