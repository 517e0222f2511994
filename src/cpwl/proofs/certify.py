"""`certify`: a proof that a network computes a function, or comes within a stated error of it, on every piece."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Options, default_error
from cpwl.construct.table import TABLE
from cpwl.documents.write import network_document
from cpwl.doors import check_argument, check_number, check_path, heard, within_float64
from cpwl.errors import InputError, LimitError, ProofError, SolverError
from cpwl.exact.rational import doubles_around, fraction_array
from cpwl.executors import check_executor
from cpwl.files import write_text
from cpwl.function import CPWL
from cpwl.function.answers import bound_text, facts_html, point_text
from cpwl.function.domain import box_around
from cpwl.function.evaluate import inner_points
from cpwl.function.jump import largest_jump
from cpwl.geometry.polyhedra import Polyhedron, as_domain
from cpwl.geometry.probe import bounding_box
from cpwl.network import Network
from cpwl.network.integer import IntegerNetwork, scaled_network
from cpwl.network.network import rounded
from cpwl.progress import Progress, Shown, shows_progress
from cpwl.proofs.entries import NoProof
from cpwl.proofs.kinds import decide, proposals
from cpwl.proofs.provers.regions import list_common_regions
from cpwl.proofs.question import Proposal, Question, proof_head, same_weights
from cpwl.proofs.refute import find_difference, points_from
from cpwl.proofs.rounding import Bound, evaluation_caution, float_error
from cpwl_check.budget import Refused, Undecided, limited
from cpwl_check.decide import check
from cpwl_check.integer import exactness
from cpwl_check.main import covers, optimality
from cpwl_check.pieces import pair, read_domain, read_network

# What was proved about a network and a function, and how to keep it.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Certificate:
    """The result of `certify`: a statement about a network and a function, and its proof.

    Attributes
    ----------
    proved : bool
        Whether the stand-alone checker accepted `document` for the function and the network as they are saved.
    error_bound : Fraction, (Fraction, Fraction) or None
        A bound on ``|network - function|`` on every piece, for the given weights, in exact arithmetic: 0 for
        equality, a number, or ``(a, b)`` for ``a + b max |x_i|`` on an unbounded domain. None if nothing is proved.
    reason : str
        Why nothing is proved; empty otherwise.
    evaluation_bound : dict or None
        Bounds on the rounding error of evaluating the network layer by layer in float64 or float32, in any order
        of summation. None on an unbounded domain, and for a network from a file that computes other operations than
        these layers. For a file with these layers, it has only the type of the file.
    document : dict or None
        The proof, as docs/proof.md describes it.
    unavoidable : Fraction or None
        For float data, a lower bound on the distance to any continuous function: half the largest disagreement between
        overlapping pieces. 0 if no disagreement is known, None for exact data.
    caution : str
        A warning if the statement, which is about exact arithmetic, does not bound the error of the network when it is
        evaluated in floats. Empty if `evaluation_bound` is small.
    pieces, coverage : int, str
        The number of pieces that the statement covers, and whether they cover the stated domain.
    domain : str
        For two networks, the domain of the comparison in words. Give the same domain to the stand-alone checker.
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
    domain: str = ""

    def __repr__(self) -> str:
        reason = self.reason if len(self.reason) <= 100 else f"{self.reason[:97]}..."
        return f"Certificate({self.statement if self.proved else reason})"

    def _repr_html_(self) -> str:
        """What was proved, and how, for notebooks."""
        bounds = {
            f"evaluation in {name} adds at most": bound_text(b) for name, b in (self.evaluation_bound or {}).items()
        }
        facts = {"kind of proof": self.kind, "pieces": f"{self.pieces:,}" if self.pieces else None, **bounds}
        return facts_html(self.statement if self.proved else f"not proved: {self.reason}", facts)

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
        """The proved statement in one line, with its restrictions."""
        if not self.proved:
            return self.reason
        said = self._on_pieces()
        if self.domain:
            said = said.replace("network = function", "the networks are equal")
            return said.replace("network - function", "first - second").replace("on every piece", self.domain)
        if self.document is not None and self.document.get("kind") == "clipped":
            said = said.replace("on every piece", "on every piece, and outside the box at its nearest point")
        if self.coverage not in ("they cover the domain", "no domain is stated"):
            said = said.replace("on every piece", f"on every piece ({self.pieces:,} in all; {self.coverage})")
        if self.document is not None and self.document.get("kind") == "optimal":
            said = f"{said}; {optimality(self.document, self.document['inputs'])}"
        if self.document is not None and self.document.get("kind") == "integer":
            said = f"{said}; {exactness(self.document)}"
        if self.evaluation_bound is not None and "float16" in self.evaluation_bound and not self.caution:
            said = f"{said}; arithmetic in float16 adds at most {self.evaluation_bound['float16']:.3g}"
        return f"{said} only: {self.caution}" if self.caution else said

    def _on_pieces(self) -> str:
        if isinstance(self.error_bound, tuple):
            a, b = (bound_text(v) for v in self.error_bound)
            return f"|network - function| <= {a} + {b} max|x_i| on every piece, in exact arithmetic"
        assert self.error_bound is not None
        if self.error_bound == 0:
            return "network = function on every piece, in exact arithmetic"
        return f"|network - function| <= {bound_text(self.error_bound)} on every piece, in exact arithmetic"

    @property
    def text(self) -> str:
        """The proof as `save` writes it."""
        if self.document is None:
            raise ProofError(f"there is no proof to save: {self.reason}")
        return json.dumps(self.document, separators=(",", ":")) + "\n"

    @property
    def sha256(self) -> str:
        """The hash of the file that `save` writes. Other files refer to the proof by this hash."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the proof as JSON, completely or not at all; docs/proof.md describes the format.

        Parameters
        ----------
        path : path-like
            The file. An existing file is replaced when the new one is complete.

        Raises
        ------
        ProofError
            If there is no proof to save.
        InputError
            If the file cannot be written.
        """
        check_path(path, "Certificate.save")
        write_text(path, self.text)


_FEW = 20_000  # pieces of which constructions are tried only to see if they gave a network
_SPOILT = 1e-2  # of the largest coefficient: a bound on evaluation above this is told; it is mostly far too large
_ROUNDED = 1e-9  # of the largest coefficient: what rounded points of a table may cost


@shows_progress
@within_float64()
def certify(
    p: CPWL | Network,
    network: Network,
    *,
    rounded_from: Network | None = None,
    max_error: float | None = None,
    domain: Any = None,
    box: tuple[Any, Any] | None = None,
    near: CPWL | None = None,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Certificate:
    """Prove that `network` computes `p` on every piece, from its weights alone.

    For an exact network and exact data, the proof shows equality. For rounded weights or float data, it bounds the
    difference. For a table on a grid that is even up to rounding it may do so, too (docs/floats.md). `certify` tries
    every kind of proof that applies (`cpwl.proofs.kinds`). The stand-alone checker decides, on function, network and
    proof as they are saved.

    Parameters
    ----------
    p : CPWL or Network
        The function, or another network: then the two are compared on a domain, region by region.
    network : Network
        The network, with as many inputs and outputs.
    rounded_from : Network, optional
        The exact network that `network` was rounded from. The proof then covers the exact network, and bounds the
        difference between the two. By default `certify` looks for a construction whose rounded weights are these.
    max_error : float, optional
        The largest bound that counts as proved. Default: 0 for an exact network of exact data, otherwise 1e-4 of the
        largest coefficient of the laws.
    domain, box : optional
        Where two networks are compared: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; on all of R^n by
        default. A function has its own pieces.
    near : CPWL, optional
        An exact function that the network computes. The proof then shows this, and bounds the distance between the two
        functions (kind "near"). By default, `certify` searches for one if the data is floats.
    executor : concurrent.futures.Executor, optional
        Runs the check of the proof in parallel. The result does not depend on it.
    progress : callable, optional
        Called with ``(done, total, step)``.

    Returns
    -------
    Certificate
        With `proved` False and a `reason` if neither a proof nor a difference is found.

    Raises
    ------
    ProofError
        If network and function differ, with a rational point and both values; or if the bound is above a `max_error`
        that was given.
    InputError
        If `p` is not a function, `network` is not a network, or their inputs and outputs do not match.

    Examples
    --------
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> certify(p, Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]))
    Certificate(network = function on every piece, in exact arithmetic)
    >>> one, two = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]), Network([([[1]], [0])])
    >>> certify(one, two, box=(0, 5))
    Certificate(the networks are equal where 0 <= x_i <= 5, in exact arithmetic)
    """
    if not isinstance(p, Network):
        check_argument(p, CPWL, "certify")
    check_argument(network, Network, "certify")
    if rounded_from is not None:
        check_argument(rounded_from, Network, "certify")
    if max_error is not None:
        check_number(max_error, "max_error", least=0.0)
    progress = heard(progress)
    check_executor(executor)
    if isinstance(p, Network):
        if rounded_from is not None:
            raise InputError("`rounded_from` is for the network of a function; two networks are compared as they are")
        return _compared(p, network, as_domain(domain, p.inputs, box=box), Fraction(max_error or 0))
    if domain is not None or box is not None:
        raise InputError("a function has its own pieces: `domain` and `box` say where two networks are compared")
    question = replace(_question(p, network, rounded_from, progress), executor=executor)
    if near is not None:
        check_argument(near, CPWL, "certify")
        vars(question)["undone"] = replace(near, mesh=None)
    wanted = _Wanted.of(question, max_error)
    failures: list[NoProof] = []
    names = ("clipped", "near", "regions") if _apart(question, wanted, near) else None
    for proposal in proposals(question, failures, names):
        try:
            bound = decide(question, proposal)
        except NoProof as reason:
            failures.append(reason)
            if reason.settles and question.is_exact:  # of data that may be off, the function near it is as good
                break
            continue
        if wanted.allows(bound) and not (wanted.evened and proposal.points):
            evaluation = _evaluation(question)
            caution = evaluation_caution(network, evaluation, max(wanted.error, _SPOILT * _size(question)))
            about = (p.num_pieces, _coverage(question))
            return Certificate(True, bound, "", evaluation, proposal.document, unavoidable(p), caution, *about)
        _raise_difference(question, Fraction(wanted.error), list(proposal.points))
        failures.append(_TooLarge(bound, wanted))
    if network.exact is None and rounded_from is None and not any(isinstance(one, _TooLarge) for one in failures):
        exact = _exact_twin(question)
        if exact is not None:
            return certify(p, network, rounded_from=exact, max_error=max_error, executor=executor, progress=progress)
        failures = [_Rounded(str(one), one.points) for one in failures[-1:]]
    return _no_certificate(question, wanted, failures)


def certify_integers(
    p: CPWL, network: Network, integers: IntegerNetwork, executor: Executor | None, max_error: float | None = None
) -> Certificate:
    """The proof of an exact network, and that the network of integers is equal to it and does not overflow."""
    exact = certify(p, network, max_error=max_error, executor=executor)
    if not exact.proved or exact.error_bound is None:
        return exact
    question = replace(_question(p, network, None, None), executor=executor)
    fields = scaled_network(integers, network) | {"proof": exact.document}
    document = proof_head("integer", p.dim, exact.error_bound) | fields
    try:
        decide(question, Proposal(exact.error_bound, document))
    except NoProof as reason:
        return replace(exact, proved=False, reason=str(reason), document=None)
    return replace(exact, document=document)


def _apart(question: Question, wanted: _Wanted, near: CPWL | None) -> bool:
    """Whether network and function are not to be equal, and are not: then kinds that show equality are not tried."""
    if near is not None:
        return True
    exactly = question.is_exact and question.network.exact is not None
    return exactly and wanted.error > 0 and find_difference(question.p, question.network, Fraction(0), []) is not None


def _exact_twin(question: Question) -> Network | None:
    """The network that a construction makes of the function, if rounding its weights gives this one exactly.

    It is a hint, as all that provers find: the proof is of its weights.
    """
    network = question.network
    types = network.evaluated_in or ("float64", "float32")
    for p in (question.p, question.undone):
        if p is None or p.num_pieces > _FEW:
            continue
        few = p.num_pieces * p.num_components <= 10 * _FEW  # a lattice compares them all
        for precision in ("float64", "float32"):
            analysis = Analysis(p, Options(precision=precision, max_error=default_error(precision), check=False))
            for name in TABLE if precision == "float64" else ("clamped", "lattice"):  # others do not depend on it
                if name in ("lattice", "paper") and not few:
                    continue
                try:
                    plan = TABLE[name].plan(analysis)
                    exact = plan.build() if plan.sizes.neurons == network.sizes.neurons else None
                except (InputError, LimitError, SolverError):
                    continue
                if exact is not None and any(_is_rounding(network, exact, dtype) for dtype in types):
                    return exact
    return None


def _is_rounding(network: Network, exact: Network, dtype: str) -> bool:
    try:
        return same_weights(rounded(exact, dtype), network)
    except LimitError:
        return False


class _Rounded(NoProof):
    """No proof was found of a network of floats, which may be a rounding of one that has a proof."""

    def __init__(self, message: str, points: Sequence[Any]) -> None:
        super().__init__(
            f"{message}. The weights are floats: if they were rounded from an exact network, pass that as "
            "`rounded_from=`, such as compile(p).network; no construction makes this network of this function",
            points,
        )


def _coverage(question: Question) -> str:
    """Whether the pieces cover the stated domain, in words, as the checker sees it."""
    p = question.p
    if p.domain is None:
        return "no domain is stated"
    known = p.known is not None and p.known.complete
    covered = True if known else covers(question.law)
    return {
        True: "they cover the domain",
        False: "they do not cover the domain",
        None: "whether they cover the domain was not determined",
    }[covered]


def unavoidable(p: CPWL) -> Fraction | None:
    """Lower bound on the distance from float data to any continuous function: half the largest disagreement between
    overlapping pieces. None for exact data."""
    if p.tol == 0:
        return None
    jump = largest_jump(p)
    return Fraction(0) if jump is None else jump.unavoidable


def _question(p: CPWL, network: Network, rounded_from: Network | None, progress: Progress | None) -> Question:
    """What is asked, its parts checked."""
    for other in (network, rounded_from):
        if other is not None and (other.inputs, other.outputs) != (p.dim, p.outputs):
            raise InputError(
                f"the network maps R^{other.inputs} to R^{other.outputs}, the function R^{p.dim} to R^{p.outputs}"
            )
    if p.mesh is None and not any(inner_points(p, [i]) for i in range(p.num_pieces)):
        raise InputError(f"no piece of the function has an interior, of {p.num_pieces}: there is nothing to prove")
    if p.mesh is not None and p.domain is not None:
        p = replace(p, mesh=None)  # it is saved as pieces
    if rounded_from is not None and same_weights(network, rounded_from):
        rounded_from = None
    return Question(p, network, rounded_from, progress)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a proof must show: equality, or an error that is small enough, and whether that was `asked` for.

    For a table whose points were `evened` only the distance of the even table is excused: a proof of the difference
    itself, which names the point where it is largest, must show that there is none.
    """

    error: float
    equal: bool
    asked: bool
    evened: bool = False

    @classmethod
    def of(cls, question: Question, max_error: float | None) -> _Wanted:
        exactly = question.network.exact is not None and question.p.tol == 0
        if max_error is not None:
            return cls(max_error, equal=False, asked=True)
        if exactly and question.undone is not None:  # a network of the even table is as good
            return cls(_ROUNDED * _rounded_size(question), equal=False, asked=False, evened=True)
        return cls(0.0 if exactly else 1e-4 * _size(question), equal=exactly, asked=False)

    def allows(self, bound: Bound) -> bool:
        return sum(pair(bound)) <= Fraction(self.error)


class _TooLarge(NoProof):
    """A bound is proved, and it is larger than what is wanted."""

    def __init__(self, bound: Bound, wanted: _Wanted) -> None:
        # A weight that has no effect on the pieces may be off: no difference, and no proof either.
        super().__init__(
            f"the network is within {bound_text(sum(pair(bound)))} of the function, but not shown to be equal"
            if wanted.equal
            else f"the network is within {bound_text(sum(pair(bound)))} of the function, which is more than "
            f"{wanted.error:.3g}"
        )
        self.bound = bound


def _rounded_size(question: Question) -> float:
    """The largest value of a table, whose laws are steep on slivers; else the largest coefficient of the laws."""
    mesh = question.p.mesh
    return _size(question) if mesh is None else float(np.abs(mesh.values).max()) or 1.0


def _size(question: Question) -> float:
    """The largest coefficient of the laws."""
    return float(max(np.abs(table.astype(np.float64)).max() for table in question.tables)) or 1.0


def _evaluation(question: Question) -> dict[str, float] | None:
    """What rounding adds on the box, in each format."""
    network, box = question.network, question.box
    if box is None:
        return None
    return _errors_in(network, box.low, box.high) or None


def _errors_in(network: Network, low: Sequence[Fraction], high: Sequence[Fraction]) -> dict[str, float]:
    ends = doubles_around(low, high)
    return {dtype: float_error(network, *ends, dtype) for dtype in network.evaluated_in}


def caution_of(p: CPWL, network: Network, max_error: float | None = None) -> str:
    """What a proof in exact arithmetic does not show about the network as it is evaluated; empty if that is little.

    >>> p = CPWL.from_breakpoints([0, 1], [0, 1])
    >>> caution_of(p, Network([([[1]], [0])]))
    ''
    >>> caution_of(p, Network([([[1e20], [1e20 - 2**14]], [0, 0]), ([[2.0**-14, -(2.0**-14)]], [0])]))
    'evaluated in float64 it may be off by 6.8 more, which is more than 0.01'
    """
    ends = box_around(p)
    on_box = None if ends is None else _errors_in(network, *zip(*ends, strict=True))
    return evaluation_caution(network, on_box, max(max_error or 0.0, _SPOILT * _size(Question(p, network))))


def _no_certificate(question: Question, wanted: _Wanted, failures: list[NoProof]) -> Certificate:
    """A difference if one is found, else the reason of the kind that came nearest, which is the last one."""
    exactly = question.network.exact is not None and question.p.tol == 0
    close = Fraction(0) if exactly else Fraction(1e-4 * _size(question))
    if exactly and _is_even(question):
        close = Fraction(_ROUNDED * _rounded_size(question))
    if wanted.asked:
        close = max(close, Fraction(wanted.error))
    _raise_difference(question, close, [x for failure in failures for x in failure.points])
    large = next((failure for failure in failures if isinstance(failure, _TooLarge)), None)
    if large is not None and wanted.asked:  # otherwise a large bound refutes nothing
        raise ProofError(str(large), bound=large.bound)
    reason = str(large or (failures[-1] if failures else "no kind of proof applies"))
    if question.p.tol > 0 and large is None:
        reason = (
            "the numbers of the function are floats, and no exact function near them was found that this network is "
            "proved to compute. That refutes nothing: no difference beyond rounding was seen. A function that was "
            f"extracted from a network is exact with extract(network, exact=True). ({reason})"
        )
    return Certificate(False, None, f"not proved: {reason}", None, None, unavoidable(question.p))


def _is_even(question: Question) -> bool:
    """Whether the network is that of the even table, as far as points show: then rounded points alone refute nothing.

    A network that differs from both tables is neither, however little it is off.
    """
    return question.undone is not None and find_difference(question.undone, question.network, Fraction(0), []) is None


def _raise_difference(question: Question, tolerance: Fraction, points: list[Any]) -> None:
    unit = None if question.box is not None else Fraction(question.p.polyhedra.unit())
    found = find_difference(question.p, question.network, tolerance, points, unit)
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


# Two networks on a domain: all regions that they have in common, and the largest difference in them.

_COMMON = 20_000  # regions that are listed


def _compared(first: Network, second: Network, domain: Polyhedron | None, allowed: Fraction) -> Certificate:
    """The proof that two networks differ by no more than is allowed."""
    n, shape = first.inputs, (first.inputs, first.outputs)
    if shape != (second.inputs, second.outputs):
        raise InputError(f"one network maps R^{n} to R^{shape[1]}, the other R^{second.inputs} to R^{second.outputs}")
    rows = [] if domain is None else domain.integer().tolist()
    stated = {"A": [row[:-1] for row in rows], "b": [row[-1] for row in rows]}
    files = network_document(first), network_document(second)
    one, two = (read_network(each, *shape) for each in files)
    try:
        with limited(2000 * _COMMON):
            document, worst = list_common_regions(one, two, n, read_domain(stated, n), _COMMON)
        bound = check(*files, document, stated)
    except (NoProof, Undecided) as reason:
        return Certificate(False, None, f"not proved: {reason}", None, None)
    except Refused as reason:
        _raise_apart(first, second, allowed, points_from(reason.places))
        return Certificate(False, None, f"not proved: {reason}", None, None)
    if sum(pair(bound)) > allowed:
        _raise_apart(first, second, allowed, points_from(worst))
        more = f"the proved bound {float(sum(pair(bound))):.3g} is above the {float(allowed):.3g} that is allowed"
        return Certificate(False, None, f"not proved: {more}", None, None)
    return Certificate(True, bound, "", None, document, domain=_where(domain))


def _raise_apart(first: Network, second: Network, allowed: Fraction, points: list[Any]) -> None:
    for point in points:
        x = fraction_array(np.asarray(point, dtype=object))
        one, two = first(x[None])[0], second(x[None])[0]
        if max(abs(u - v) for u, v in zip(one, two, strict=True)) > allowed:
            said = f"the first gives {point_text(one)} and the second {point_text(two)}"
            raise ProofError(f"the networks differ: at x = {point_text(x)} {said}", point=x, network=two, function=one)


def _where(domain: Polyhedron | None) -> str:
    """A domain in words: all of R^n, a box, or its rows."""
    if domain is None or not len(domain.b):
        return "on all of R^n"
    ends = bounding_box(domain)
    if ends is not None and len(domain.b) == 2 * domain.dim and all(None not in pair for pair in ends):
        if len(set(ends)) == 1:
            return f"where {ends[0][0]} <= x_i <= {ends[0][1]}"
        return "where " + ", ".join(f"{low} <= x{i} <= {high}" for i, (low, high) in enumerate(ends))
    rows = (f"{[str(v) for v in row[:-1]]} x <= {row[-1]}".replace("'", "") for row in domain.integer().tolist())
    return f"where {' and '.join(rows)}"
