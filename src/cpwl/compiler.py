"""`compile`: the one place that knows the order of steps from function to network."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from cpwl import bounds
from cpwl.bounds import Bound
from cpwl.construct.lower_bounds import LowerBound, lower_bounds
from cpwl.construct.select import (
    PRECISIONS,
    Candidate,
    Choice,
    Minimize,
    Precision,
    default_error,
    select,
)
from cpwl.construct.table import TABLE, Workpiece
from cpwl.errors import ConstructionError, CpwlWarning, InputError, LimitError
from cpwl.function import CPWL
from cpwl.function.doctor.examine import examine
from cpwl.function.order.order import Progress
from cpwl.limits import rare_collection
from cpwl.network import Network, Sizes
from cpwl.proofs.certificate import Certificate
from cpwl.proofs.certify import certify

__all__ = ["CONSTRUCTIONS", "Alternative", "Compiled", "compile"]

CONSTRUCTIONS = ("auto", *TABLE)
"""What `construction` may be."""
_MANY = 2_000_000  # decisions (pieces times components) that "auto" does not make where it has a smaller network


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


@dataclass(frozen=True, slots=True, eq=False)
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
    function: CPWL | None = field(default=None, repr=False)
    """What was compiled: the pieces that have an interior."""

    @property
    def lower_bounds(self) -> list[LowerBound]:
        """How many hidden neurons any plain network for this function needs, and any with as many hidden layers."""
        assert self.function is not None
        return lower_bounds(self.function, self.sizes.depth - 1)

    @property
    def lower_bound(self) -> LowerBound:
        """The best of those that hold for any depth."""
        return self.lower_bounds[0]


def compile(
    p: CPWL,
    *,
    construction: str = "auto",
    minimize: Minimize = "neurons",
    precision: Precision = "float64",
    max_error: float | None = None,
    check: bool = True,
    certificate: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Compiled:
    """The smallest ReLU network we can build that computes `p` on its domain.

    `minimize` says what "auto" compares, among the constructions whose predicted rounding error when evaluated in
    `precision` is at most `max_error` times the range of `p` (1e-9, in float32 1e-5; "exact" allows all). If none is,
    it takes the most accurate and warns. `check` runs `p.doctor()` first and, for Algorithm 1, tests its rows
    afterwards. `certificate` proves the result (`certify`). `executor` shares out the decisions; `progress` is called
    with ``(done, total, what)``.

    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> compile(p).network([[-3.0], [2.0]])
    array([[3.],
           [2.]])
    """
    limit = _check_options(construction, minimize, precision, max_error)
    if check:
        if progress is not None:
            progress(0, 1, "checking the pieces")
        p = _healthy(p)
    options = {"minimize": minimize, "precision": precision, "max_error": limit}
    work = Workpiece(p, **options, check=check, executor=executor, progress=progress)  # type: ignore[arg-type]
    with rare_collection():
        return _chosen(work, construction, certificate, told=max_error is not None)


def _chosen(work: Workpiece, construction: str, certificate: bool, *, told: bool) -> Compiled:
    """Plans, selects and builds."""
    auto = construction == "auto"
    planned: dict[str, Candidate] = {}
    others: dict[str, Alternative] = {}
    names = tuple(TABLE) if auto else (construction,)
    for done, name in enumerate(names):
        if work.progress is not None:
            work.progress(done, len(names), f"planning {name}")
        skip = _hopeless(name, work, planned) if auto else ""
        if skip:
            others[name] = Alternative(None, None, None, skip)
            continue
        try:
            plan = TABLE[name].plan(work)
        except (ConstructionError, LimitError) as error:
            if not auto:
                raise
            wrong = False if name == "paper" and isinstance(error, ConstructionError) else None
            others[name] = Alternative(None, None, wrong, str(error).splitlines()[0])
            continue
        planned[name] = Candidate(plan, work.error(plan))
    choice = select(planned.values(), work.minimize, work.max_error)
    best, network, proof = _built(work.p, choice, certificate)
    if auto or told:
        _warn_if_poor(choice, planned[best], work, auto)
    return _compiled(work, planned, others, best, network, proof, choice if auto else None)


def _check_options(construction: str, minimize: str, precision: str, max_error: float | None) -> float:
    """The largest relative error that is allowed, if all options are known."""
    for name, value, known in (
        ("construction", construction, CONSTRUCTIONS),
        ("minimize", minimize, ("neurons", "depth", "width", "nonzeros")),
        ("precision", precision, tuple(PRECISIONS)),
    ):
        if value not in known:
            names = ", ".join(f'"{option}"' for option in known)
            raise InputError(f'`{name}` must be one of {names}, not "{value}"')
    if max_error is None:
        return default_error(precision)  # type: ignore[arg-type]
    if not max_error > 0:
        raise InputError(f"`max_error` must be positive, not {max_error}", max_error=max_error)
    return max_error


def _hopeless(name: str, work: Workpiece, planned: dict[str, Candidate]) -> str:
    """Why a construction need not be planned: it cannot be smaller, or would take too long for what it gives."""
    good = {other for other, candidate in planned.items() if candidate.error <= work.max_error}
    small = work.minimize in ("neurons", "depth")
    if "hinge" in good and small and not (name == "univariate" and work.minimize == "neurons"):
        return "not planned: one hidden layer will do"
    if work.p.dim == 1 and name == "gates":
        return "not planned: on a line it is the hinges"
    if "gates" in good and small and name == "clamped":
        return "not planned: gates are smaller, and accurate enough"
    if name == "strips" and work.p.tol:
        return "not planned: its large weights leave no useful bound for data with a tolerance"
    if not planned:
        return ""
    if name in ("lattice", "paper") and work.p.num_pieces * work.p.num_components > _MANY:
        return "not planned: too many pieces and components to compare"
    if name == "paper" and work.minimize in ("neurons", "depth"):
        count = _bounds(work.p, work.row_sizes)["algorithm1"]
        known = count.neurons if work.minimize == "neurons" else count.layers
        if any(known >= getattr(other.sizes, work.minimize) for other in planned.values()):
            return "not planned: larger by its formula"
    return ""


def _built(p: CPWL, choice: Choice, certificate: bool) -> tuple[str, Network, Certificate | None]:
    """The best network; with a certificate, the best that has a proof; if none has one, the best, with the reason."""
    if not certificate:
        return choice.best.plan.construction, choice.best.plan.build(), None
    first: tuple[str, Network, Certificate] | None = None
    for candidate in choice.candidates:
        network = candidate.plan.build()
        proof = certify(p, network)
        if proof.proved:
            return candidate.plan.construction, network, proof
        first = first or (candidate.plan.construction, network, proof)
    assert first is not None
    return first


def _warn_if_poor(choice: Choice, best: Candidate, work: Workpiece, auto: bool) -> None:
    if choice.accurate:
        return
    advice = 'precision="float64"' if work.precision == "float32" else "exact arithmetic"
    name, limit = best.plan.construction, f"{work.max_error:.3g} of the range in {work.precision}"
    said = f"no construction is predicted to be within {limit}; {name}, the most accurate," if auto else name
    aim = "" if auto else f", which is more than {limit}"
    warnings.warn(f"{said} is off by about {best.error:.1g}{aim} (use {advice})", CpwlWarning, stacklevel=4)


def _compiled(
    work: Workpiece,
    planned: dict[str, Candidate],
    others: dict[str, Alternative],
    best: str,
    network: Network,
    proof: Certificate | None,
    choice: Choice | None,
) -> Compiled:
    counts = _bounds(work.p, work.row_sizes if work.knows_orders else None)
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
        work.solves,
        work.splits,
        planned[best].error,
        reason,
        work.p,
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


def _bounds(p: CPWL, sizes: list[list[int]] | None) -> dict[str, Bound]:
    q, n = p.num_pieces, p.dim
    counts = [len(p.representatives(j)) for j in range(p.outputs)]
    known = {
        "theorem1": _side_by_side([bounds.theorem1(q) for _ in counts]),
        "theorem2": _side_by_side([bounds.theorem2(k, q) for k in counts]),
        "theorem3": _side_by_side([bounds.theorem3(n, k) for k in counts]),
    }
    if sizes is not None:
        known["algorithm1"] = _side_by_side([bounds.algorithm1(s) for s in sizes])
    return known


def _side_by_side(parts: list[Bound]) -> Bound:
    """Bounds for several outputs, by the lemma on concatenation (padding with two neurons a layer)."""
    if len(parts) == 1:
        return parts[0]
    layers = max(part.layers for part in parts)
    return Bound(
        layers,
        sum(max(part.width, 2) for part in parts),
        sum(part.neurons + 2 * (layers - part.layers) for part in parts),
    )
