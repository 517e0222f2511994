"""Who answers ``cpwl ask``: a function by its methods, a network region by region; one manner of asking for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cpwl.dynamics import Invariance, equilibria, is_invariant
from cpwl.errors import InputError
from cpwl.function import CPWL
from cpwl.function.answers import Answer, Distance, Extremum, LevelSet, Lipschitz, Range, Solutions
from cpwl.function.questions.sets import image
from cpwl.network import Network
from cpwl.regions.inquiry import Inquiry, ask

__all__ = ["FunctionDesk", "NetworkDesk"]


@dataclass(frozen=True, slots=True, eq=False)
class FunctionDesk:
    """A function on a domain, and the output that is asked about."""

    p: CPWL
    domain: Any
    output: int | None

    def argmax(self) -> Extremum:
        return self.p.argmax(self.domain, output=self.output)

    def argmin(self) -> Extremum:
        return self.p.argmin(self.domain, output=self.output)

    def lipschitz(self, norm: Any) -> Lipschitz:
        return self.p.lipschitz(norm, outputs=self.output, domain=self.domain)

    def is_convex(self) -> Answer:
        return self.p.is_convex(output=self.output, domain=self.domain)

    def is_concave(self) -> Answer:
        return self.p.is_concave(output=self.output, domain=self.domain)

    def is_monotone(self, i: int, increasing: bool) -> Answer:
        return self.p.is_monotone(i, increasing=increasing, output=self.output, domain=self.domain)

    def depends_on(self, i: int) -> Answer:
        return self.p.depends_on(i, output=self.output, domain=self.domain)

    def solve(self, value: str) -> Solutions:
        return (self.p if self.output is None else self.p[self.output]).solve(value, domain=self.domain)

    def level_set(self, value: str) -> LevelSet:
        return self.p.level_set(value, output=self.output, domain=self.domain)

    def integral(self) -> Any:
        return self.p.integral(self.domain, output=self.output)

    def mean(self) -> Any:
        return self.p.mean(self.domain, output=self.output)

    def distance(self, other: Any) -> Distance:
        if not isinstance(other, CPWL):
            raise InputError("--distance takes another function; `cpwl equal` says how far a network is")
        return self.p.distance(other, domain=self.domain)

    def inside(self, box: Any) -> Answer:
        return image(self.p if self.output is None else self.p[self.output], self.domain).inside(box=box)

    def is_invariant(self) -> Invariance:
        return is_invariant(self.p, self.domain)

    def equilibria(self) -> Solutions:
        return equilibria(self.p, self.domain)


class NetworkDesk:
    """A network on a domain; with `both` the least and the largest value are looked for together."""

    def __init__(self, network: Network, output: int | None, *, both: bool, **how: Any) -> None:
        self.output, self.both = output, both
        self.inquiry: Inquiry = ask(network, **how)
        self.found: Range | None = None

    def argmax(self) -> Extremum:
        return self._range().argmax if self.both else self.inquiry.argmax(output=self.output)

    def argmin(self) -> Extremum:
        return self._range().argmin if self.both else self.inquiry.argmin(output=self.output)

    def _range(self) -> Range:
        if self.found is None:
            self.found = self.inquiry.range(output=self.output)
        return self.found

    def lipschitz(self, norm: Any) -> Lipschitz:
        return self.inquiry.lipschitz(norm, outputs=self.output)

    def is_convex(self) -> Answer:
        return self.inquiry.is_convex(output=self.output)

    def is_concave(self) -> Answer:
        return self.inquiry.is_concave(output=self.output)

    def is_monotone(self, i: int, increasing: bool) -> Answer:
        return self.inquiry.is_monotone(i, increasing=increasing, output=self.output)

    def depends_on(self, i: int) -> Answer:
        return self.inquiry.depends_on(i, output=self.output)

    def solve(self, value: str) -> Solutions:
        return self.inquiry.solve(value)

    def integral(self) -> Any:
        return self.inquiry.integral(output=self.output)

    def mean(self) -> Any:
        return self.inquiry.mean(output=self.output)

    def inside(self, box: Any) -> Answer:
        return self.inquiry.inside(box=box)

    def __getattr__(self, name: str) -> Any:
        option = {"level_set": "level", "is_invariant": "invariant"}.get(name, name)
        raise InputError(f"--{option} is a question for functions: `cpwl extract` makes one of a network")
