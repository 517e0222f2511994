"""From plans to a network: the best plan is built, measured and proved; if it fails, the next one is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cpwl.compiled import Alternative, Compiled
from cpwl.construct.analysis import Analysis
from cpwl.construct.lower_bounds import upper_bounds
from cpwl.construct.plan import Plan, default_error
from cpwl.construct.plans import FORMULA, Plans
from cpwl.construct.select import Candidate, Choice, measured_error, select
from cpwl.construct.table import TABLE, in_range, least_of
from cpwl.equality.decide import equal
from cpwl.errors import ConstructionError, CpwlWarning, InputError, LimitError
from cpwl.function.domain import Box, domain_rows, is_everything
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network import Network
from cpwl.network.algorithms import clipped
from cpwl.passes.shrink import shrink
from cpwl.passes.simplify import simplify
from cpwl.proofs.certify import Certificate
from cpwl.regions.pieces import Pieces, find_pieces

Prove: TypeAlias = Callable[[Network], Certificate]
_NEAR = 10.0  # times what is unavoidable: of that order, and the data does not say more
_SEARCH = "search"


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    """A network of a candidate, how far it was seen to be off, and its proof if there was to be one."""

    plans: Plans
    candidate: Candidate
    network: Network
    measured: float | None
    proof: Certificate | None

    @property
    def name(self) -> str:
        return self.candidate.plan.construction


class Compilation:
    """Selects and builds the best of all plans: for a function, and for the same with its rounding undone."""

    def __init__(self, data: Analysis, every: list[Plans], *, told: bool, box: Box | None) -> None:
        self.data, self.every, self.told, self.box = data, every, told, box
        self.options, self.auto = data.options, every[0].auto

    def result(self, prove: Prove | None) -> Compiled:
        """The first network, in the order of the choice, that is as it should be; else the one with fewest failures."""
        choice, tried = self._attempt(prove)
        if tried[-1].plans is not self.every[0] and any(self._failures(tried[-1])):
            self.every[0].skipped.clear()  # the data as it is, alone
            del self.every[1]
            choice, tried = self._attempt(prove)
        best = min(tried, key=self._failures)  # the first of those with the fewest
        self._warn(choice, best)
        return self._compiled(choice, best, [built.name for built in tried])

    def _attempt(self, prove: Prove | None) -> tuple[Choice, list[_Built]]:
        self._complete()
        choice = self._choice()
        if self.auto and self.options.effort > 0 and self._plan_searched(choice.best):
            choice = self._choice()
        return choice, self._tried(choice, prove)

    def _complete(self) -> None:
        """Plan the function with its rounding undone first: its network rules out much of the data as it is.

        A table on the same triangles with fewer lines is compared by the construction that is the smallest for it. If
        that takes more for the data as it is, the other constructions are not planned for that: each would take longer.
        """
        *plain, last = self.every
        last.complete({})
        what = self.options.minimize
        for own in plain:
            known = {f"{name} with its rounding undone": other for name, other in last.planned.items()}
            best = select(last.planned.values(), what, self.options.max_error) if last.planned else None
            name = best.best.plan.construction if best is not None and best.accurate else ""
            if name in TABLE and last.analysis.function.mesh is not None:
                size, least = getattr(last.planned[name].sizes, what), least_of(name, own.analysis)
                if least is None or least.of(what) <= size:
                    own.plan(name)
                if name not in own.planned or size < getattr(own.planned[name].sizes, what):
                    reason = f"not planned: with the rounding undone {name} has {size:,} {what}, and fewer than without"
                    own.skipped |= {other: reason for other in own.names if other not in own.planned}
                    continue
            own.complete(known)

    def _choice(self) -> Choice:
        planned = [candidate for own in self.every for candidate in own.planned.values()]
        if not planned:
            reasons = "".join(f"\n  {name}: {_line(error)}" for name, error in self.every[0].refused.items())
            raise ConstructionError(f"no construction applies to this function:{reasons}")
        return select(planned, self.options.minimize, self.options.max_error)

    def _plans_of(self, candidate: Candidate) -> Plans:
        return next(own for own in self.every if any(candidate is other for other in own.planned.values()))

    def _plan_searched(self, best: Candidate) -> bool:
        """Plans what a search leaves of the smallest network, and proves it equal; whether there is less."""
        own = self._plans_of(best)
        own.tell("searching for fewer neurons")
        with in_range():
            network, domain = best.plan.build(), None
            exact = own.analysis.exact.function
            if not is_everything(exact):
                with suppress(InputError):  # else it is to be equal everywhere
                    rows = domain_rows(exact)
                    domain = Polyhedron.from_rows(rows[:, :-1], rows[:, -1])
            try:
                found = searched(network, domain, self.options.effort)
            except LimitError:  # its regions are too many, or their corners
                return False
            if found is network or not equal(network, found, domain=domain).equal:
                return False
            plan = Plan.of(_SEARCH, found, own.analysis.sample.points)
            own.planned[_SEARCH] = Candidate.of(plan, own.analysis)
        return True

    def _tried(self, choice: Choice, prove: Prove | None) -> list[_Built]:
        """Networks in the order of the choice up to the first that is as it should be; at worst all there can be."""
        tried: list[_Built] = []
        for own, candidate in self._candidates(choice):
            own.tell(f"building {candidate.plan.construction}")
            with in_range():
                network = candidate.plan.build()
                network = network if self.box is None else clipped(network, *self.box)
            measured = measured_error(network, self.data)
            if prove is not None:
                own.tell(f"proving {candidate.plan.construction}")
            tried.append(_Built(own, candidate, network, measured, None if prove is None else prove(network)))
            unproved, off = self._failures(tried[-1])
            if own is not self.every[0] or (not unproved and (not off or not choice.accurate)):
                break  # where none is predicted to be near enough, it is said how far the most accurate is off
        return tried

    def _candidates(self, choice: Choice) -> Iterator[tuple[Plans, Candidate]]:
        """What was planned, the best first; then what need not have been."""
        for candidate in choice.candidates:
            yield self._plans_of(candidate), candidate
        own = self.every[0]
        for name in list(own.skipped):
            own.tell(f"planning {name}")
            own.plan(name)
            if name in own.planned:
                yield own, own.planned[name]

    def _failures(self, built: _Built) -> tuple[int, int]:
        """Whether it has no proof although one was wanted, and whether it is off by more than is allowed."""
        return int(built.proof is not None and not built.proof.proved), int(self._is_off(built))

    def _is_off(self, built: _Built) -> bool:
        if built.measured is None or built.measured <= self.options.max_error:
            return False
        # What every function is off the data is no reason to take a larger one, unless that is asked for.
        return self.told or built.measured > _NEAR * self.data.unavoidable

    def _warn(self, choice: Choice, best: _Built) -> None:
        """Says how far the result is off, if that is more than it may be: as predicted, or as measured."""
        # The tolerance of the data, where it allows more than is usual, hides nothing.
        most = self.options.max_error if self.told else default_error(self.options.precision)
        limit = f"{most:.3g} of the range in {self.options.precision}"
        advice = 'precision="float64"' if self.options.precision == "float32" else "exact arithmetic"
        if not choice.accurate and (self.auto or self.told):
            none = f"no construction has a predicted error within {limit}; the most accurate, {best.name},"
            said, aim = (none, "") if self.auto else (best.name, f", more than {limit}")
            error = best.candidate.error
            allow = f", or allow it with max_error={_upwards(error)}" if error < np.inf else ""
            text = f"{said} has a predicted error of {error:.1g}{aim} (use {advice}{allow})"
        elif choice.accurate and best.measured is not None and best.measured > most:
            text = f"the measured error of {best.name} against the data is {best.measured:.1g}, more than {limit}"
            if not self.told and (least := self.data.unavoidable):
                if best.measured <= min(least, self.data.function.tol):
                    return  # as near as any continuous function is, and within the tolerance of the data
                text += f"; overlapping pieces disagree: every continuous function has an error of at least {least:.1g}"
        else:
            return
        warnings.warn(text, CpwlWarning, stacklevel=5)

    def _compiled(self, choice: Choice, best: _Built, tried: list[str]) -> Compiled:
        own, analysis = best.plans, best.plans.analysis
        orders = analysis.orders if analysis.knows_orders else ()
        counts = upper_bounds(analysis.function, analysis.row_sizes if orders else None)
        others = {name: Alternative(None, None, None, reason) for name, reason in own.skipped.items()}
        for name, error in own.refused.items():
            wrong = False if name == "paper" and isinstance(error, ConstructionError) else None
            others[name] = Alternative(None, None, wrong, _line(error))
        for name, other in own.planned.items():
            if name != best.name:
                sizes, reason = other.sizes, self._near_miss(other, best)
                others[name] = Alternative(sizes.neurons, sizes.depth, True, reason, sizes, other.error)
        if "algorithm1" in counts and ("paper" not in others or others["paper"].valid is None) and best.name != "paper":
            others["paper"] = Alternative(counts["algorithm1"].neurons, counts["algorithm1"].layers, None)
        return Compiled(
            best.network,
            best.name,
            best.network.sizes,
            counts,
            {name: others[name] for name in (*TABLE, FORMULA, _SEARCH) if name in others},
            best.proof,
            sum(order.solves for order in orders) + sum(other.plan.solves for other in own.planned.values()),
            sum(other.plan.splits for other in own.planned.values()),
            best.candidate.error,
            self._reason(choice, best, tried),
            analysis.kept(),
            best.measured,
        )

    def _near_miss(self, other: Candidate, best: _Built) -> str:
        """What a smaller network would cost in accuracy, if that is all that speaks against it; else nothing."""
        most, what = self.options.max_error, self.options.minimize
        smaller = getattr(other.sizes, what) < getattr(best.candidate.sizes, what)
        if not (most < other.error < np.inf and most and smaller):
            return ""
        size = f"{other.sizes.neurons:,} neurons" if what == "neurons" else f"{what} {getattr(other.sizes, what):,}"
        return f"{size}, error {other.error:.1g}; allow it with max_error={_upwards(other.error)}"

    def _reason(self, choice: Choice, best: _Built, tried: list[str]) -> str:
        """Why it was taken; and where no network was proved, which ones were tried."""
        reason = choice.reason if self.auto else "asked for"
        if best.proof is not None and not best.proof.proved:
            reason += f"; no proof was found (tried {', '.join(tried)})"
        elif self.auto and best.candidate is not choice.best:
            reason += f", among those {'with a proof' if best.proof else 'near enough to the data'}"
        even = best.plans.analysis.function is not self.data.function
        return f"{reason}, with the rounding of its numbers undone" if even else reason


def _line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _upwards(error: float) -> str:
    """A number of two digits that is not less.

    >>> _upwards(1.401e-9), _upwards(2e-9)
    ('1.5e-09', '2e-09')
    """
    text = f"{error:.2g}"
    digit = 10.0 ** (int(f"{error:e}".split("e")[1]) - 1)
    return text if float(text) >= error else f"{float(text) + digit:.2g}"


# A search for fewer neurons in a network that is to stay equal.

_REGIONS = 10_000  # regions up to which a network is searched


def searched(network: Network, domain: Polyhedron | None, effort: float, pieces: Pieces | None = None) -> Network:
    """The network after a search for fewer neurons (`shrink`); itself if it has too many regions, or one has no corner.

    `pieces`, if they are known, are regions of it, or of a network with more neurons.
    """
    if effort <= 0 or not network.sizes.neurons:
        return network
    if pieces is None:
        pieces = find_pieces(network, domain, True, most=_REGIONS, spans=True, whole=True)
    if not pieces.complete:
        return network
    spans = generators(pieces.polyhedra) if pieces.spans is None else pieces.spans
    found = shrink(network, spans, effort) if spans.known.all() else network
    return network if found is network else simplify(found)
