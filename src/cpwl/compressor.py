"""`compress`: the round trip from a network to its function and back, kept where it is smaller and proved."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cpwl.compilation import searched
from cpwl.compiler import compile
from cpwl.doors import check_argument, check_limit, check_number, heard, within_float64
from cpwl.equality import Verdict, equal
from cpwl.errors import CpwlWarning, LimitError
from cpwl.executors import check_executor
from cpwl.function import CPWL
from cpwl.geometry.polyhedra import Polyhedron, as_domain
from cpwl.geometry.probe import bounding_box
from cpwl.network import Network, Sizes
from cpwl.network.network import exact_layers
from cpwl.network.program import Tape, network_of
from cpwl.passes.simplify import simplify
from cpwl.progress import Progress, Shown, shows_progress
from cpwl.proofs.certify import Certificate
from cpwl.proofs.certify import certify as prove
from cpwl.regions.pieces import Pieces, as_function, find_pieces

_REGIONS = 10_000  # regions up to which a network is taken apart and built anew: seconds
_PROGRAMS = 200  # neurons up to which linear programs on the domain are affordable
_LAYERED = 1_000  # regions up to which layers are read off them: seconds
_PIECES = 4  # pieces a neuron, in the plane, and one beyond: networks for more of them are hardly ever smaller


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """A network that is equal to another one and no larger."""

    network: Network
    verdict: Verdict
    """The proof that it equals the original on the domain."""
    before: Sizes
    after: Sizes
    method: str
    """The method: "simplify", "fold neurons that never bend", "extract and compile", one of the last two and "then
    search", or "unchanged"."""
    certificate: Certificate | None = None
    """The proof that the stand-alone checker accepted, with ``certify=True``."""


@shows_progress
@within_float64()
def compress(
    network: Network,
    *,
    domain: Any = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = _REGIONS,
    effort: float = 10.0,
    certify: bool = False,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Compressed:
    """A smaller network that equals `network` on the domain, with a proof; itself if none is found.

    Three methods are tried: passes that drop, merge and fold neurons (`simplify`); and, for at most `max_regions`
    linear regions, folding neurons that switch in none of them, and compiling the function of the regions
    (`extract`, `compile`), or of up to 1,000 regions its hidden layers, also those on all of R^n. A search then removes
    and merges further neurons. The result is the smallest network, by neurons and then nonzero weights, that `equal`
    proves equal. Its weights may be rationals that are not floats.

    Parameters
    ----------
    network
        The network to compress.
    domain, box
        Where to preserve the function: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if
        neither is given.
    max_regions
        Extract and recompile only if there are at most this many regions.
    effort
        Limit of the search for neurons to remove and to merge, in millions of neuron outputs read; 0: no search.
        The result does not depend on the speed of the machine.
    certify
        Whether to also find a proof for the stand-alone checker (`certify`). None is found if the two
        networks together have too many regions.
    executor
        Any `concurrent.futures.Executor`: shares out regions, plans and the proof. The result does not depend on it.
    progress
        Called as ``progress(done, total, step)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    Compressed
        The network, the proof that it equals `network`, and the sizes of both.

    Examples
    --------
    >>> wasteful = Network([([[1], [2], [-1], [0]], [0, 0, 0, 1]), ([[1, 1, -1, 5]], [0])])
    >>> found = compress(wasteful)
    >>> found.before.neurons, found.after.neurons, found.verdict.equal
    (4, 2, True)
    """
    check_argument(network, Network, "compress")
    check_limit(max_regions)
    check_number(effort, "effort", least=0.0)
    progress = heard(progress)
    check_executor(executor)
    body = as_domain(domain, network.inputs, box=box)
    before, proof = network.sizes, partial(prove, domain=body)
    found = [(method, other) for method, other in _candidates(network, body, max_regions, effort, executor, progress)]
    for method, other in sorted(found, key=lambda pair: _cost(pair[1])):
        if _cost(other) >= _cost(network):
            break
        verdict = equal(network, other, domain=body, executor=executor, progress=progress)
        if verdict.equal:
            return Compressed(other, verdict, before, other.sizes, method, proof(network, other) if certify else None)
    same = equal(network, network)
    return Compressed(network, same, before, before, "unchanged", proof(network, network) if certify else None)


def _cost(network: Network) -> tuple[int, int]:
    return network.sizes.neurons, network.sizes.nonzeros


def _candidates(
    network: Network,
    domain: Polyhedron | None,
    max_regions: int | None,
    effort: float,
    executor: Executor | None,
    progress: Progress | None,
) -> Iterator[tuple[str, Network]]:
    """Networks for the same function, each made in its own way."""
    small = simplify(network)
    if small.sizes.neurons and domain is not None and small.sizes.neurons <= _PROGRAMS:
        small = simplify(small, domain=domain)
    yield "simplify", small
    if small.sizes.neurons == 0:
        return
    pieces = find_pieces(
        small, domain, True, most=max_regions, executor=executor, progress=progress, spans=effort > 0, whole=True
    )
    if not pieces.complete:
        return
    folded = simplify(_folded(small, pieces.signs, domain))
    yield "fold neurons that never bend", folded
    yield "fold neurons that never bend, then search", searched(folded, domain, effort, pieces)
    few = min(small.sizes.neurons, folded.sizes.neurons)
    whole = None
    if domain is not None:
        most = _LAYERED if max_regions is None else min(max_regions, _LAYERED)
        whole = find_pieces(small, None, True, most=most, executor=executor, whole=True)
    built = []
    for p, construction in _recompiled(as_function(pieces, domain, True, False), whole, few):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CpwlWarning)
                made = compile(
                    p, construction=construction, precision="exact", check=False, executor=executor, progress=progress
                )
        except LimitError:  # no construction applies
            continue
        built.append(simplify(made.network, domain=domain if made.sizes.neurons <= _PROGRAMS else None))
    if built:
        best = min(built, key=_cost)
        yield "extract and compile", best
        yield "extract and compile, then search", searched(best, domain, effort)


def _recompiled(p: CPWL, whole: Pieces | None, neurons: int) -> Iterator[tuple[CPWL, Literal["auto", "layers"]]]:
    """The function on the domain, merged, and its layers there and on all of R^n: either may be the smaller network."""
    if p.num_pieces <= _LAYERED:
        yield p, "layers"
    if whole is not None and whole.complete:
        yield as_function(whole, None, True, False), "layers"
    most = (_PIECES if p.dim <= 2 else 1) * (neurons + _PIECES)
    if p.num_components <= most:  # merging leaves at least one piece a law
        merged = p.merge()
        if merged.num_pieces <= most:
            yield merged, "auto"


def _folded(network: Network, signs: NDArray[np.int8], domain: Polyhedron | None) -> Network:
    """The network with neurons only where something bends: those that are off in all regions are 0, those that are
    on in all of them are what they read. Where the inputs have lower bounds, they are counted from there, so that one
    neuron carries one past a layer.
    """
    n = network.inputs
    low = _lowest(domain)
    origin = np.full(n, Fraction(0), dtype=object) if low is None else low
    tape = Tape(n)
    h = tape.input((n,)).plus(origin)
    start = 0
    for weight, bias in exact_layers(network)[:-1]:
        z = h.linear(weight, (len(bias),)).plus(bias)
        own = signs[:, start : start + len(bias)]
        start += len(bias)
        on, off = np.asarray((own >= 0).all(axis=0)), np.asarray((own <= 0).all(axis=0))
        bent = np.flatnonzero(~on & ~off)
        chosen = z.take(z.numbers[bent])
        bending = tape.relu(chosen) if len(bent) else chosen
        joint, (neurons, zero, same) = tape.joined([bending, np.zeros(1), z])
        number = np.where(off, zero[0], same)
        number[bent] = neurons
        h = joint.take(number)
    weight, bias = exact_layers(network)[-1]
    made = network_of(tape, h.linear(weight, (len(bias),)).plus(bias), positive=low is not None)
    (first, offset), *rest = exact_layers(made)
    return Network([(first, offset - first @ origin), *rest])


def _lowest(domain: Polyhedron | None) -> NDArray[np.object_] | None:
    """The least value of each coordinate on the domain; None if one has none."""
    box = None if domain is None else bounding_box(domain)
    low = None if box is None else [a for a, _ in box]
    return None if low is None or None in low else np.array(low, dtype=object)
