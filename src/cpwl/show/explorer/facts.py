"""What a page says in words and numbers: sizes, costs, bounds, proofs, findings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from cpwl import bounds
from cpwl.compiled import Compiled
from cpwl.compiler import compile
from cpwl.doors import check_argument
from cpwl.equality import Verdict, equal
from cpwl.errors import CpwlError, CpwlWarning, InputError, LimitError, counted
from cpwl.function import CPWL
from cpwl.function.answers import Report, bound_text
from cpwl.network import Network, Sizes
from cpwl.network.network import rounded
from cpwl.progress import Progress
from cpwl.proofs.certify import Certificate, certify
from cpwl.regions.extract import extract

# What a page says about a function, a network, or two of them: found out once, before anything is drawn.


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
    pairs
        For each proof the function and the network that it is about.
    """

    items: tuple[Item, ...]
    compiled: Compiled | None
    proofs: tuple[tuple[str, Certificate], ...]
    doctor: Report | None
    verdict: Verdict | None
    notes: tuple[str, ...]
    pairs: tuple[tuple[CPWL, Network], ...] = ()

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
        for what in ("inputs", "outputs"):
            a, b = getattr(first, what), getattr(second, what)
            if a != b:
                raise InputError(f"the first has {counted(a, what[:-1])} and the second {b}: they cannot be compared")
    return _Look(box, prove, progress).at([first] if second is None else [first, second], names)


class _Look:
    """Finds out what there is to say; what fails becomes a note, for a page is also there to show what is wrong."""

    def __init__(self, box: tuple[Any, Any] | None, prove: bool, progress: Progress | None) -> None:
        self.box, self.prove, self.progress = box, prove, progress
        self.notes: list[str] = []
        self.proofs: list[tuple[str, Certificate]] = []
        self.pairs: list[tuple[CPWL, Network]] = []

    def at(self, shown: list[CPWL | Network], names: tuple[str, str]) -> Examined:
        """All about one, or about a pair."""
        items = [
            Item(name, each, None) if isinstance(each, CPWL) else Item(name, self._pieces(each, name), each)
            for each, name in zip(shown, names, strict=False)
        ]
        function = next((each for each in shown if isinstance(each, CPWL)), None)
        network = next((each for each in shown if isinstance(each, Network)), None)
        pair, verdict, doctor, compiled = len(shown) > 1, None, None, None
        if pair:
            verdict = self._try(
                "whether the two are equal was not decided",
                lambda: equal(*shown, box=self.box, max_regions=20 * REGIONS, progress=self.progress),
            )
        if function is not None:
            doctor = self._try("the doctor did not finish", function.doctor)
        p = items[0].function if function is None else function
        if p is not None:
            compiled = self._try("the function was not compiled", lambda: compile(p, progress=self.progress))
        if pair and function is not None:
            self._certify("the network against the function", function, network)
        elif function is not None and compiled is not None:
            items = [Item(names[0], function, compiled.network)]
            self._certify("the compiled network", function, compiled.network)
            said = "the same with weights rounded to float64"
            self._certify(said, function, _rounded(compiled.network), compiled.network)
        elif not pair and p is not None and self.box is None:
            self._certify("the network against the pieces that were read off it", p, network)
        proofs, pairs = tuple(self.proofs), tuple(self.pairs)
        return Examined(tuple(items), compiled, proofs, doctor, verdict, tuple(self.notes), pairs)

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

    def _certify(self, what: str, p: CPWL, network: Network | None, rounded_from: Network | None = None) -> None:
        if not self.prove or network is None:
            return
        proof = self._try(f"no proof for {what}", lambda: certify(p, network, rounded_from=rounded_from))
        if proof is not None:
            self.proofs.append((what, proof))
            self.pairs.append((p, network))

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


def facts(found: Examined) -> list[tuple[str, str]]:
    """The numbers under the title, as pairs of a name and a number."""
    shown = found.function or found.items[0].network
    assert shown is not None
    said = [_many("input", shown.inputs), _many("output", shown.outputs)]
    if found.function is not None:
        p = found.function
        data = ("data", "exact") if p.tol == 0 else (f"data, tolerance {p.tol:g}", "float")
        said += [_many("piece", p.num_pieces), _many("law", p.num_components), data]
    network = next((item.network for item in found.items if item.network is not None), None)
    if network is not None:
        said += [_many("hidden neuron", network.sizes.neurons), _many("layer", network.sizes.depth)]
    return said


def _many(noun: str, number: int) -> tuple[str, str]:
    return noun + "s"[: number != 1], f"{number:,}"


def chips(found: Examined) -> list[tuple[str, str]]:
    """Verdicts in a word or two, each with how it is coloured."""
    said = []
    if found.verdict is not None:
        word = {True: "equal, proved", False: "different", None: "undecided"}[found.verdict.equal]
        said.append(("not equal", "") if _is_near(found) else (word, _VERDICTS[found.verdict.equal]))
    if found.proofs:
        said.append(_proof_word(found.proofs[0][1]))
    if found.doctor is not None:
        errors = len(found.doctor.errors)
        said.append(("no defects", "good") if not errors else (f"{errors} error{'s'[: errors != 1]} found", "wrong"))
    return said


_VERDICTS = {True: "good", False: "wrong", None: ""}


def _is_near(found: Examined) -> bool:
    """Whether the two of a pair differ, and no further than a proof says: then the difference is not an error."""
    different = found.verdict is not None and found.verdict.equal is False
    return different and any(proof.proved and not isinstance(proof.error_bound, tuple) for _, proof in found.proofs)


def gap(found: Examined) -> float | None:
    """A proved bound on the difference of a pair: 0 if the two are equal, None if no bound is known."""
    if found.verdict is None:
        return None
    if found.verdict.equal:
        return 0.0
    known = [found.verdict.gap, *(proof.error_bound for _, proof in found.proofs if proof.proved)]
    finite = [float(bound) for bound in known if isinstance(bound, (Fraction, float)) and math.isfinite(bound)]
    return math.nextafter(min(finite), math.inf) if finite else None


def _proof_word(proof: Certificate) -> tuple[str, str]:
    if not proof.proved:
        return "not proved", "wrong"
    if isinstance(proof.error_bound, tuple):
        return "bound proved", "good"
    return (f"proved within {bound_text(proof.error_bound)}" if proof.error_bound else "proved equal"), "good"


def costs(found: Examined) -> dict[str, Any] | None:
    """Rows of the table of costs: what is on show, the constructions, the published bounds."""
    compiled = found.compiled
    rows = [
        _row(item.name, "the network on show", item.network.sizes, kind="taken", taken=True)
        for item in found.items
        if item.network is not None and (compiled is None or item.network is not compiled.network)
    ]
    if compiled is not None:
        rows += _constructions(compiled, taken=not rows)
        assert compiled.function is not None
        rows += _published(compiled, compiled.function)
    if not rows:
        return None
    largest = max((row["log10"] for row in rows if row["log10"] is not None), default=0.0)
    return {"rows": rows, "largest": largest}


def _constructions(compiled: Compiled, *, taken: bool) -> list[dict[str, Any]]:
    """The construction that `compile` takes, which is on show where nothing else is, and the others."""
    rows = []
    for name, other in compiled.considered.items():
        chosen, wrong = name == compiled.construction, other.valid is False
        untested = "its rows were counted, not tested" if other.valid is None and other.neurons is not None else ""
        about = f"wrong here: {other.reason}" if wrong else other.reason or untested
        if chosen:
            about = f"{'selected' if taken else 'selected by compile'}: {compiled.reason}"
        kind = "wrong" if wrong else "taken" if chosen and taken else "plan"
        row = _row(name, about, other.sizes, kind=kind, taken=chosen and taken)
        if other.sizes is None and other.neurons is not None:
            row = {**row, **_count(other.neurons), "layers": other.depth}
        rows.append({**row, "error": other.error})
    return rows


def _published(compiled: Compiled, p: CPWL) -> list[dict[str, Any]]:
    rows = []
    for name, bound in compiled.bounds.items():
        about = "the sum over its rows" if name == "algorithm1" else "upper bound for every such function"
        row = _row(bounds.TITLES[name], f"published: {about}", None, kind="published")
        rows.append({**row, **_count(bound.neurons), "layers": bound.layers, "width": bound.width})
    return rows + _prior(p)


def _prior(p: CPWL) -> list[dict[str, Any]]:
    """The bounds before the paper's, as far as they can be computed."""
    n, k, q = p.dim, p.num_components, p.num_pieces
    known: dict[str, Callable[[], int]] = {
        "hertrich2021": lambda: bounds.hertrich2021(n, k),
        "he2020": lambda: bounds.he2020(n, k, q),
    }
    rows = []
    for name, bound in known.items():
        with suppress(LimitError):
            row = _row(bounds.TITLES[name], "published: up to a constant, taken as 1", None, kind="published")
            rows.append({**row, **_count(bound())})
    return rows


def _row(name: str, about: str, sizes: Sizes | None, *, kind: str, taken: bool = False) -> dict[str, Any]:
    known: dict[str, Any] = {"text": "–", **dict.fromkeys(("neurons", "log10", "layers", "width", "nonzeros"))}
    if sizes is not None:
        known |= {**_count(sizes.neurons), "layers": sizes.depth, "width": sizes.width, "nonzeros": sizes.nonzeros}
    return {"name": name, "about": about, **known, "error": None, "kind": kind, "taken": taken}


def _count(neurons: int) -> dict[str, Any]:
    """A number of neurons as text, as a number that JavaScript holds exactly, and its logarithm."""
    text = f"{neurons:,}" if neurons < 10**12 else f"10^{round(math.log10(neurons))}"
    return {
        "text": text,
        "neurons": neurons if neurons < 2**53 else None,
        "log10": math.log10(neurons) if neurons > 1 else 0.0,
    }


def lower(found: Examined) -> list[dict[str, Any]]:
    """The proven lower bounds for this very function."""
    if found.compiled is None:
        return []
    said = []
    for bound in found.compiled.lower_bounds:
        layers = bound.hidden_layers
        where = "" if layers is None else f"with {layers} hidden layer{'s'[: layers != 1]} "
        said.append({"neurons": bound.neurons, "text": f"{where}in any plain network: {bound.reason}"})
    return said


def proofs(found: Examined) -> list[dict[str, Any]]:
    """Verdict and proofs: a word, a statement, and both error figures."""
    said = [] if found.verdict is None else [_verdict(found.verdict, near=_is_near(found))]
    for what, proof in found.proofs:
        word, state = _proof_word(proof)
        lines = [] if proof.kind is None else [f"kind of proof: {proof.kind}"]
        lines += [_figure("weights against the function, in exact arithmetic", proof.error_bound)]
        if proof.evaluation_bound is None:
            lines.append("rounding of evaluation: no bound on an unbounded domain")
        else:
            lines += [
                _figure(f"bound on the rounding errors of evaluation in {name}", bound)
                for name, bound in proof.evaluation_bound.items()
            ]
        said.append(
            {"word": word, "state": state, "what": what, "statement": proof.statement, "lines": lines, "numbered": True}
        )
    return said


def _figure(what: str, bound: Any) -> str:
    if bound is None:
        return f"{what}: nothing is proved"
    if isinstance(bound, tuple):
        return f"{what}: {bound_text(bound[0])} + {bound_text(bound[1])} max|x_i|"
    return f"{what}: {bound_text(bound) if math.isfinite(bound) else 'no bound'}"


def _verdict(verdict: Verdict, *, near: bool) -> dict[str, Any]:
    word = "not equal" if near else {True: "equal", False: "different", None: "undecided"}[verdict.equal]
    state = "" if near else _VERDICTS[verdict.equal]
    lines = [f"compared on {verdict.regions:,} linear regions"] if verdict.regions else []
    return {"word": word, "state": state, "what": "the two", "statement": verdict.statement, "lines": lines}


def findings(found: Examined) -> list[dict[str, Any]]:
    """What is marked on the map: the doctor's findings, and where two things differ."""
    said: list[dict[str, Any]] = []
    if found.verdict is not None and found.verdict.witness is not None:
        point = [float(v) for v in found.verdict.witness]
        text = found.verdict.statement
        severity = "note" if _is_near(found) else "error"
        said.append({"severity": severity, "kind": "difference", "message": text, "point": point})
    for finding in found.doctor or ():
        place = None if finding.point is None else [float(v) for v in finding.point]
        said.append({"severity": finding.severity, "kind": finding.kind, "message": finding.message, "point": place})
    return said
