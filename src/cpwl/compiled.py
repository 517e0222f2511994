"""What `compile` returns: the network, its sizes beside those of other constructions, its proof, and how near it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.bounds import Bound
from cpwl.construct.analysis import Analysis
from cpwl.construct.lower_bounds import LowerBound, lower_bounds
from cpwl.construct.plan import Precision
from cpwl.doors import check_argument
from cpwl.errors import InputError, counted
from cpwl.function import CPWL
from cpwl.function.answers import Distance, point_text
from cpwl.function.domain import domain_text
from cpwl.network import Network, Sizes
from cpwl.network.integer import IntegerNetwork, proved_integers
from cpwl.network.jit import jit
from cpwl.proofs.certify import Certificate, unavoidable


@dataclass(frozen=True, slots=True)
class Alternative:
    """What another construction would have cost.

    Attributes
    ----------
    neurons, depth
        Hidden neurons and layers; None where the construction does not apply or was not planned.
    valid
        Whether its network is right; None where that was not tested.
    reason
        Why it does not apply, was not planned, or was not taken; empty where its size says it.
    sizes
        All sizes, where the network was planned.
    error
        The predicted rounding error in the requested precision, relative to the range of the function.
    """

    neurons: int | None
    depth: int | None
    valid: bool | None
    reason: str = ""
    sizes: Sizes | None = None
    error: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """How near a network is that need not be equal to its function.

    Attributes
    ----------
    tolerance
        What is allowed, for each output.
    distance
        The exact supremum of ``|network - function|`` over all outputs, with a point where it is attained.
    proposal
        What was compiled: "tunnel", "grid 8 x 6", ..; "equal" for the function itself.
    neurons_equal
        How many neurons a network takes that is equal to the function.
    tried
        Each proposal that was compiled: its name, its neurons, and its distance as a share of the tolerance.
    """

    tolerance: tuple[Fraction, ...]
    distance: Distance
    proposal: str
    neurons_equal: int
    tried: tuple[tuple[str, int, float], ...]

    @property
    def data(self) -> dict[str, Any]:
        """Numbers and words for JSON; distances are rationals."""
        return {
            "tolerance": [str(one) for one in self.tolerance],
            "distance": str(self.distance.largest),
            "point": [str(v) for v in self.distance.point],
            "proposal": self.proposal,
            "neurons_equal": self.neurons_equal,
        }

    def __str__(self) -> str:
        allowed = ", ".join(f"{float(one):.3g}" for one in self.tolerance)
        far = f"{float(self.distance.largest):.6g} at x = {point_text(self.distance.point)}"
        return (
            f"within {allowed}: {self.proposal}, at most {far}; equality takes {counted(self.neurons_equal, 'neuron')}"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compiled:
    """The result of `compile`: a network for a function, its sizes, and the alternatives.

    Attributes
    ----------
    network
        The network, with exact weights.
    construction, reason
        The construction, and why it was selected; "formula" for the network of a formula itself, "search" for a
        smaller network that the search of `compile(effort=...)` found.
    sizes
        Its neurons, depth, width and nonzero weights.
    bounds
        The published bounds for this function, and the exact count of Algorithm 1 where its rows were computed.
    alternatives
        Sizes and errors of the other constructions, by name, or why they do not apply.
    certificate
        The proof, if it was requested (``certify=True``).
    solves, splits
        The number of linear programs solved, and the number of pieces split to make a max-min form correct.
    error
        The predicted rounding error in the requested precision, relative to the range of the function.
    measured
        The largest difference from the function at sample points, evaluated in that precision, relative to the range;
        None without a limit (``precision="exact"``) and with ``check=False``.
    analysis
        The analysis of the compiled function: its pieces with interior.
    outside
        Behaviour outside the domain: "free", "clip" or "error".
    within
        The distance from the function, if a tolerance was given; None if equality was required.
    """

    network: Network
    construction: str
    sizes: Sizes
    bounds: dict[str, Bound]
    alternatives: dict[str, Alternative]
    certificate: Certificate | None
    solves: int
    splits: int
    error: float = 0.0
    reason: str = ""
    analysis: Analysis | None = field(default=None, repr=False)
    measured: float | None = None
    outside: str = "free"
    within: Within | None = None

    @property
    def function(self) -> CPWL | None:
        """The function that was compiled."""
        return None if self.analysis is None else self.analysis.function

    def __call__(self, x: ArrayLike) -> NDArray[Any]:
        """The network at points ``(N, n)``; with ``outside="error"`` a point outside the domain is refused."""
        values = self.network(x)
        if self.outside == "error" and (p := self.function) is not None:
            inside = np.atleast_2d(p(x))
            out = [i for i, row in enumerate(inside) if any(v is None or v != v for v in row)]
            if out:
                where = point_text(np.atleast_2d(np.asarray(x))[out[0]])
                raise InputError(f"point {out[0]} is outside the domain: x = {where}", point=out[0])
        return values

    def jit(self, *, precision: Precision = "float64", backend: str = "auto") -> Callable[[Any], Any]:
        """The network as a compiled function, by numba or JAX, whichever is installed; see `cpwl.network.jit`."""
        return jit(self.network, precision, backend)

    @property
    def integer(self) -> IntegerNetwork | None:
        """The network of integers that was proved, for ``weights="int16"`` and "int8"."""
        document = None if self.certificate is None else self.certificate.document
        if document is None or document["kind"] != "integer":
            return None
        return proved_integers(self.network, document)

    @property
    def unavoidable(self) -> Fraction | None:
        """Lower bound on the distance from float data to any continuous function; None for exact data."""
        return None if self.function is None else unavoidable(self.function)

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata for a file: pieces, laws, domain, construction, and the hash of the proof."""
        found = {"cpwl.construction": self.construction, "cpwl.outside": self.outside}
        if (p := self.function) is not None:
            found |= {"cpwl.pieces": str(p.num_pieces), "cpwl.components": str(p.num_components)}
            found |= {"cpwl.domain": domain_text(p)}
            if p.labels:
                found |= {"cpwl.inputs": ", ".join(p.labels[: p.dim]), "cpwl.outputs": ", ".join(p.labels[p.dim :])}
        if self.certificate is not None and self.certificate.proved:
            found |= {"cpwl.proof": self.certificate.statement, "cpwl.proof.sha256": self.certificate.sha256}
        return found

    @property
    def lower_bounds(self) -> list[LowerBound]:
        """Lower bounds on the hidden neurons of any plain network for this function, of any depth and of this one."""
        assert self.analysis is not None
        return lower_bounds(self.analysis, self.sizes.depth - 1)

    @property
    def lower_bound(self) -> LowerBound:
        """The best lower bound that holds for any depth."""
        return self.lower_bounds[0]

    @property
    def least_text(self) -> str:
        """The best lower bounds for any depth and for this one, and how many times as many neurons this network has."""
        if self.within is not None and self.within.proposal != "equal":
            return "lower bounds are known for networks that are equal to the function only"
        found = self.lower_bounds
        least = max(bound.neurons for bound in found)
        layers = next((bound.hidden_layers for bound in found if bound.hidden_layers), None)
        deep = f", with {counted(layers, 'hidden layer')} at least {least:,}" if layers else ""
        times = f"; this network has {self.sizes.neurons / least:.1f} times as many" if least else ""
        return f"any network has at least {counted(found[0].neurons, 'neuron')}{deep}{times}"

    @property
    def considered(self) -> dict[str, Alternative]:
        """The network and its alternatives by their constructions, the one that was taken first."""
        sizes = self.sizes
        taken = Alternative(sizes.neurons, sizes.depth, True, f"taken: {self.reason}", sizes, self.error)
        return {self.construction: taken, **self.alternatives}

    def __repr__(self) -> str:
        proved = "" if self.certificate is None else ", proved" if self.certificate.proved else ", not proved"
        neurons, layers = counted(self.sizes.neurons, "neuron"), counted(self.sizes.depth, "layer")
        return f"Compiled({self.construction}: {neurons}, {layers}{proved})"

    def _repr_html_(self) -> str:
        """A table of the constructions, for notebooks."""
        head = "".join(f"<th>{name}</th>" for name in ("construction", "neurons", "layers", "width", "nonzeros", ""))
        body = []
        for name, row in self.considered.items():
            sizes = row.sizes
            known = [] if sizes is None else [sizes.neurons, sizes.depth, sizes.width, sizes.nonzeros]
            cells = [name, *(f"{v:,}" for v in known), *[""] * (4 - len(known)), row.reason]
            body.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
        return f"<p>{escape(repr(self))}<br>{escape(self.least_text)}</p><table><tr>{head}</tr>{''.join(body)}</table>"


def held_parts(source: CPWL | Network | Compiled) -> tuple[CPWL | None, Network | None]:
    """The function and the network that a writer was given, as far as they are there."""
    if isinstance(source, Compiled):
        return source.function, source.network
    return (source, None) if isinstance(source, CPWL) else (None, source)


def held_network(source: Network | Compiled, verb: str) -> Network:
    """The network itself, or that of a result of `compile`: writers take both."""
    if isinstance(source, Compiled):
        return source.network
    check_argument(source, Network, verb)
    return source
