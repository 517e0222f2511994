"""What a page says about a function, a network, or two of them: found out once, before anything is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from cpwl.compiler import Compiled, compile
from cpwl.doors import check_argument
from cpwl.equality import Verdict, equal
from cpwl.errors import CpwlError, CpwlWarning, InputError
from cpwl.function import CPWL
from cpwl.function.answers import Report
from cpwl.network import Network
from cpwl.network.network import rounded
from cpwl.progress import Progress
from cpwl.proofs.certificate import Certificate
from cpwl.proofs.certify import certify
from cpwl.regions.extract import extract

__all__ = ["REGIONS", "Examined", "Item", "examine"]

_Found = TypeVar("_Found")
REGIONS = 2_000
"""Linear regions up to which a network is taken apart for a page."""


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One of the things on show: its name, its pieces where they are known, its network where there is one."""

    name: str
    function: CPWL | None
    network: Network | None


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """What is on show, and what was found out about it.

    Attributes
    ----------
    items
        One thing, or the two of a pair.
    compiled
        The network that `compile` makes of the function, with what the other constructions would cost.
    proofs
        Pairs of what a proof is about and the proof.
    doctor
        The findings about the function; None for networks.
    verdict
        Of a pair, whether the two are equal.
    notes
        What could not be found out, and why.
    """

    items: tuple[Item, ...]
    compiled: Compiled | None
    proofs: tuple[tuple[str, Certificate], ...]
    doctor: Report | None
    verdict: Verdict | None
    notes: tuple[str, ...]

    @property
    def function(self) -> CPWL | None:
        """The first function with known pieces."""
        return next((item.function for item in self.items if item.function is not None), None)


def examine(
    first: CPWL | Network,
    second: CPWL | Network | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
    box: tuple[Any, Any] | None = None,
    prove: bool = True,
    progress: Progress | None = None,
) -> Examined:
    """Look at one or two: doctor, costs, proofs, and of two whether they are equal."""
    check_argument(first, (CPWL, Network), "report")
    if second is not None:
        check_argument(second, (CPWL, Network), "report")
        _check_sizes(first, second)
    look = _Look(box, prove, progress)
    if second is None:
        return look.one(first, names[0])
    return look.pair(first, second, names)


def _check_sizes(first: CPWL | Network, second: CPWL | Network) -> None:
    for what in ("inputs", "outputs"):
        a, b = getattr(first, what), getattr(second, what)
        if a != b:
            raise InputError(f"the first has {a} {what} and the second {b}: they cannot be compared")


class _Look:
    """Finds out what there is to say; what fails becomes a note, for a page is also there to show what is wrong."""

    def __init__(self, box: tuple[Any, Any] | None, prove: bool, progress: Progress | None) -> None:
        self.box, self.prove, self.progress = box, prove, progress
        self.notes: list[str] = []
        self.proofs: list[tuple[str, Certificate]] = []

    def one(self, shown: CPWL | Network, name: str) -> Examined:
        if isinstance(shown, CPWL):
            doctor, compiled = self._doctor(shown), self._compile(shown)
            network = None if compiled is None else compiled.network
            if network is not None:
                self._certify("the compiled network", shown, network)
                self._certify("the same with weights rounded to float64", shown, _rounded(network), network)
            items = (Item(name, shown, network),)
        else:
            p, doctor = self._pieces(shown, name), None
            compiled = None if p is None else self._compile(p)
            if p is not None and self.box is None:
                self._certify("the network against the pieces that were read off it", p, shown)
            items = (Item(name, p, shown),)
        return self._examined(items, compiled, doctor, None)

    def pair(self, first: CPWL | Network, second: CPWL | Network, names: tuple[str, str]) -> Examined:
        both = (first, second)
        items = tuple(self._item(shown, name) for shown, name in zip(both, names, strict=True))
        function = next((shown for shown in both if isinstance(shown, CPWL)), None)
        network = next((shown for shown in both if isinstance(shown, Network)), None)
        verdict = self._try("whether the two are equal was not decided", lambda: self._equal(first, second))
        doctor = compiled = None
        if function is not None:
            doctor, compiled = self._doctor(function), self._compile(function)
            if network is not None:
                self._certify("the network against the function", function, network)
        elif items[0].function is not None:
            compiled = self._compile(items[0].function)
        return self._examined(items, compiled, doctor, verdict)

    def _examined(
        self, items: tuple[Item, ...], compiled: Compiled | None, doctor: Report | None, verdict: Verdict | None
    ) -> Examined:
        return Examined(items, compiled, tuple(self.proofs), doctor, verdict, tuple(self.notes))

    def _item(self, shown: CPWL | Network, name: str) -> Item:
        if isinstance(shown, CPWL):
            return Item(name, shown, None)
        return Item(name, self._pieces(shown, name), shown)

    def _pieces(self, network: Network, name: str) -> CPWL | None:
        """Every linear region, or None where they are too many to be listed."""
        p = self._try(
            f"the linear regions of {name} were not listed",
            lambda: extract(network, box=self.box, max_regions=REGIONS + 1, progress=self.progress),
        )
        if p is None:
            return None
        if not p.complete:
            self.notes.append(
                f"{name} has more than {REGIONS:,} linear regions; the pictures take them from the network itself, "
                "in the window on show."
            )
            return None
        return p

    def _doctor(self, p: CPWL) -> Report | None:
        return self._try("the doctor did not finish", p.doctor)

    def _compile(self, p: CPWL) -> Compiled | None:
        return self._try("the function was not compiled", lambda: compile(p, progress=self.progress))

    def _equal(self, first: CPWL | Network, second: CPWL | Network) -> Verdict:
        return equal(first, second, box=self.box, max_regions=20 * REGIONS, progress=self.progress)

    def _certify(self, what: str, p: CPWL, network: Network | None, rounded_from: Network | None = None) -> None:
        if not self.prove or network is None:
            return
        proof = self._try(f"no proof for {what}", lambda: certify(p, network, rounded_from=rounded_from))
        if proof is not None:
            self.proofs.append((what, proof))

    def _try(self, otherwise: str, step: Callable[[], _Found]) -> _Found | None:
        """The result of a step; None, and a note, where it ends in one of our own errors."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CpwlWarning)
            result: _Found | None = None
            try:
                result = step()
            except CpwlError as error:
                self.notes.append(f"{otherwise}: {str(error).splitlines()[0]}")
        for warning in caught:
            text = str(warning.message)
            if issubclass(warning.category, CpwlWarning) and "max_regions" not in text and "incomplete" not in text:
                self.notes.append(text)
        return result


def _rounded(network: Network) -> Network | None:
    """The network with float64 weights; None where a weight is beyond them."""
    try:
        return rounded(network, "float64")
    except CpwlError:
        return None
