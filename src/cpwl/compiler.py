"""`compile`: the one place that knows the order of steps from function to network."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from cpwl.bounds import Bound
from cpwl.construct.analysis import Analysis
from cpwl.construct.lower_bounds import LowerBound, lower_bounds
from cpwl.construct.options import PRECISIONS, Minimize, Options, Precision, default_error
from cpwl.construct.select import Candidate, Choice, select
from cpwl.construct.table import TABLE
from cpwl.construct.upper_bounds import upper_bounds
from cpwl.doors import check_argument, check_call, check_choice, check_number, within_float64
from cpwl.errors import ConstructionError, CpwlWarning, LimitError
from cpwl.function import CPWL
from cpwl.function.doctor.examine import examine
from cpwl.limits import rare_collection
from cpwl.network import Network, Sizes
from cpwl.network.network import rounded
from cpwl.progress import Progress
from cpwl.proofs.certificate import Certificate
from cpwl.proofs.certify import certify

__all__ = ["CONSTRUCTIONS", "Alternative", "Compiled", "compile"]

_Prove: TypeAlias = Callable[[Network], Certificate]
Weights: TypeAlias = Literal["exact", "float64", "float32"]
"""With what weights a network is proved: as they are, or rounded to a type."""
CONSTRUCTIONS = ("auto", *TABLE)
"""What `construction` may be."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another construction would have cost (None: not applicable), and whether it is right (None: not tested)."""

    neurons: int | None
    depth: int | None
    valid: bool | None
    reason: str = ""
    sizes: Sizes | None = None
    """All sizes, where the network was planned."""
    error: float | None = None
    """The predicted rounding error at the precision asked for, relative to the range of the function."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compiled:
    """A network for a function, and how it compares."""

    network: Network
    construction: str
    """The construction that made the network."""
    sizes: Sizes
    bounds: dict[str, Bound]
    """The published bounds for this function, and the exact count of Algorithm 1 where its rows were computed."""
    alternatives: dict[str, Alternative]
    """What other constructions would have cost."""
    certificate: Certificate | None
    """The proof that the network equals the function, if it was asked for."""
    solves: int
    """How many linear programs the construction solved."""
    splits: int
    """How often a piece had to be split to make the max-min form right."""
    error: float = 0.0
    """The predicted rounding error at the precision asked for, relative to the range of the function."""
    reason: str = ""
    """Why this construction was taken."""
    analysis: Analysis | None = field(default=None, repr=False)
    """What is known about what was compiled: the pieces that have an interior."""

    @property
    def function(self) -> CPWL | None:
        """What was compiled."""
        return None if self.analysis is None else self.analysis.function

    def __repr__(self) -> str:
        proved = "" if self.certificate is None else ", proved" if self.certificate.proved else ", not proved"
        return f"Compiled({self.construction}: {self.sizes.neurons} neurons, {self.sizes.depth} layers{proved})"

    @property
    def lower_bounds(self) -> list[LowerBound]:
        """How many hidden neurons any plain network for this function needs, and any with as many hidden layers."""
        assert self.analysis is not None
        return lower_bounds(self.analysis, self.sizes.depth - 1)

    @property
    def lower_bound(self) -> LowerBound:
        """The best of those that hold for any depth."""
        return self.lower_bounds[0]


@within_float64()
def compile(
    p: CPWL,
    *,
    construction: str = "auto",
    minimize: Minimize = "neurons",
    precision: Precision = "float64",
    max_error: float | None = None,
    check: bool = True,
    certificate: bool = False,
    weights: Weights = "exact",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Compiled:
    """The smallest ReLU network we can build that computes `p` on its domain.

    `minimize` says what "auto" compares, among the constructions whose predicted rounding error when evaluated in
    `precision` is at most `max_error` times the range of `p` (1e-9, in float32 1e-5; "exact" allows all). If none is,
    it takes the most accurate and warns. `check` runs `p.doctor()` first and, for Algorithm 1, tests its rows
    afterwards. `certificate` proves the result (`certify`): with its weights as they are, or as a file has them,
    rounded to the type that `weights` says. `executor` shares out the decisions; `progress` is called
    with ``(done, total, what)``.

    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> compile(p).network([[-3.0], [2.0]])
    array([[3.],
           [2.]])
    """
    check_argument(p, CPWL, "compile")
    check_call(progress)
    limit = _check_options(construction, minimize, precision, max_error, weights)
    given = p
    if check:
        if progress is not None:
            progress(0, 1, "checking the pieces")
        p = _healthy(p)
    options = Options(minimize, precision, limit, check, executor, progress)
    with rare_collection():
        prove = partial(_proof, given, weights) if certificate else None
        return _chosen(Analysis(p, options), construction, prove, told=max_error is not None)


def _proof(p: CPWL, weights: Weights, network: Network) -> Certificate:
    """The proof of a network with its weights as they are, or as they are rounded to a type."""
    if weights == "exact":
        return certify(p, network)
    return certify(p, rounded(network, weights), rounded_from=network)


def _chosen(analysis: Analysis, construction: str, prove: _Prove | None, *, told: bool) -> Compiled:
    """Plans, selects and builds."""
    auto, options = construction == "auto", analysis.options
    planned: dict[str, Candidate] = {}
    others: dict[str, Alternative] = {}
    names = tuple(TABLE) if auto else (construction,)
    for done, name in enumerate(names):
        if options.progress is not None:
            options.progress(done, len(names), f"planning {name}")
        skip = TABLE[name].skip(analysis, planned) if auto else ""
        if skip:
            others[name] = Alternative(None, None, None, skip)
            continue
        try:
            plan = TABLE[name].plan(analysis)
        except (ConstructionError, LimitError) as error:
            if not auto:
                raise
            wrong = False if name == "paper" and isinstance(error, ConstructionError) else None
            others[name] = Alternative(None, None, wrong, str(error).splitlines()[0])
            continue
        planned[name] = Candidate.of(plan, analysis)
    choice = select(planned.values(), options.minimize, options.max_error)
    best, network, proof = _built(choice, prove)
    if auto or told:
        _warn_if_poor(choice, planned[best], options, auto)
    return _compiled(analysis, planned, others, best, network, proof, choice if auto else None)


def _check_options(construction: str, minimize: str, precision: str, max_error: float | None, weights: str) -> float:
    """The largest relative error that is allowed, if all options are known."""
    for name, value, known in (
        ("construction", construction, CONSTRUCTIONS),
        ("minimize", minimize, ("neurons", "depth", "width", "nonzeros")),
        ("precision", precision, tuple(PRECISIONS)),
        ("weights", weights, ("exact", "float64", "float32")),
    ):
        check_choice(value, known, name)
    if max_error is None:
        return default_error(precision)  # type: ignore[arg-type]
    check_number(max_error, "max_error", above=0.0)
    return float(max_error)


def _built(choice: Choice, prove: _Prove | None) -> tuple[str, Network, Certificate | None]:
    """The best network; with a certificate, the best that has a proof; if none has one, the best, with the reason."""
    if prove is None:
        return choice.best.plan.construction, choice.best.plan.build(), None
    first: tuple[str, Network, Certificate] | None = None
    for candidate in choice.candidates:
        network = candidate.plan.build()
        proof = prove(network)
        if proof.proved:
            return candidate.plan.construction, network, proof
        first = first or (candidate.plan.construction, network, proof)
    assert first is not None
    return first


def _warn_if_poor(choice: Choice, best: Candidate, options: Options, auto: bool) -> None:
    if choice.accurate:
        return
    advice = 'precision="float64"' if options.precision == "float32" else "exact arithmetic"
    name, limit = best.plan.construction, f"{options.max_error:.3g} of the range in {options.precision}"
    said = f"no construction is predicted to be within {limit}; {name}, the most accurate," if auto else name
    aim = "" if auto else f", which is more than {limit}"
    warnings.warn(f"{said} is off by about {best.error:.1g}{aim} (use {advice})", CpwlWarning, stacklevel=4)


def _compiled(
    analysis: Analysis,
    planned: dict[str, Candidate],
    others: dict[str, Alternative],
    best: str,
    network: Network,
    proof: Certificate | None,
    choice: Choice | None,
) -> Compiled:
    orders = analysis.orders if analysis.knows_orders else ()
    counts = upper_bounds(analysis.function, analysis.row_sizes if orders else None)
    for name, other in planned.items():
        if name != best:
            sizes = other.sizes
            others[name] = Alternative(sizes.neurons, sizes.depth, True, "", sizes, other.error)
    if (
        "algorithm1" in counts
        and best != "paper"
        and "paper" not in planned
        and others.get("paper", _UNTRIED).valid is None
    ):
        others["paper"] = Alternative(counts["algorithm1"].neurons, counts["algorithm1"].layers, None)
    if choice is None:
        reason = "asked for"
    elif best == choice.best.plan.construction:
        reason = choice.reason
    else:
        reason = f"{choice.reason}, among those with a proof"
    return Compiled(
        network,
        best,
        network.sizes,
        counts,
        {name: others[name] for name in TABLE if name in others},
        proof,
        sum(order.solves for order in orders) + sum(other.plan.solves for other in planned.values()),
        sum(other.plan.splits for other in planned.values()),
        planned[best].error,
        reason,
        analysis.kept(),
    )


_UNTRIED = Alternative(None, None, None)


def _healthy(p: CPWL) -> CPWL:
    """The function without pieces that have no interior; raises if anything is wrong with it."""
    report = examine(p, notes=False)
    report.check()
    flat = sorted({f.pieces[0] for f in report if f.kind in ("empty piece", "flat piece")})
    if not flat:
        return p
    names = ", ".join(str(i) for i in flat[:8]) + (", ..." if len(flat) > 8 else "")
    warnings.warn(f"pieces without interior were dropped: {names}", CpwlWarning, stacklevel=3)
    return p.take(np.setdiff1d(np.arange(p.num_pieces), flat))
