"""Check a proof that a ReLU network computes a piecewise-linear function: the table of kinds, and what all share.

Each kind has a module of its own, which begins with the theorem it relies on and its hypotheses, each with the name of
the function that checks it. Why they hold is in docs/proof.md. Common to all kinds are these hypotheses:

(1) The files say what the format says: shapes, names, types, numbers. `reading.read`, `pieces.read_function`,
    `pieces.read_network`
(2) Network and function have the same number of inputs and outputs. `check`
(3) Some piece has an interior, so that the statement is about something. `cones.need_substance`

Two networks may be compared as well, on a domain that whoever asks has stated: the proof does not say what it is about.
"""

from collections.abc import Callable
from typing import Any

from cpwl_check.bends import bends
from cpwl_check.budget import limited, need
from cpwl_check.clamped import clamped
from cpwl_check.clipped import clipped
from cpwl_check.columns import columns
from cpwl_check.cones import need_substance, region
from cpwl_check.expression import expression
from cpwl_check.fold import fold
from cpwl_check.integer import integer
from cpwl_check.line import line
from cpwl_check.multiplexed import multiplexed
from cpwl_check.near import near
from cpwl_check.optimal import optimal
from cpwl_check.pieces import Bound, Law, Layers, read_domain, read_function, read_network
from cpwl_check.reading import COUNT, read
from cpwl_check.regions import between, regions
from cpwl_check.rounded import rounded
from cpwl_check.strip import strip
from cpwl_check.sums import sums
from cpwl_check.windows import windows

Decide = Callable[[Law, Layers, Any], Bound]
PLAIN: dict[str, Decide] = {
    "expression": expression,
    "bends": bends,
    "line": line,
    "clamped": clamped,
    "columns": columns,
    "windows": windows,
    "multiplexed": multiplexed,
    "strip": strip,
    "regions": regions,
}
# These hold a proof of another kind, on which `decide` decides.
HOLDING: dict[str, Callable[[Law, Layers, Any, Decide], Bound]] = {
    "rounded": rounded,
    "near": near,
    "clipped": clipped,
    "optimal": optimal,
    "sums": sums,
    "fold": fold,
    "integer": integer,
}
KINDS = (*PLAIN, *HOLDING)


def decide(law: Law, layers: Layers, proof: Any) -> Bound:
    """The bound that a proof of any kind shows for these pieces and weights; or `Refused`, or `Undecided`."""
    need(type(proof) is dict, "proof", "this is not an object")
    kind = proof.get("kind")
    replaced = "kind max-min was replaced by kind expression: prove the network again with `cpwl certify`"
    need(kind != "max-min", "proof.kind", replaced)
    need(kind in KINDS, "proof.kind", f"this must be one of {', '.join(KINDS)}")
    return PLAIN[kind](law, layers, proof) if kind in PLAIN else HOLDING[kind](law, layers, proof, decide)


def check(function: Any, network: Any, proof: Any, domain: Any = None) -> Bound:
    """The proven bound of ``|network - function|``: a number, or (a, b) for ``a + b max |x_i|``.

    In place of a function there may be another network; then the bound holds where ``A x <= b``, for the `domain`
    ``{"A": A, "b": b}``, or on all of R^n. `Refused` if it is not shown; `Undecided` if that takes more steps than
    files of this size are given."""
    with limited():
        return checked(function, network, proof, domain)


def checked(function: Any, network: Any, proof: Any, domain: Any = None) -> Bound:
    """The same as part of a run."""
    if is_network(function):
        return compared(function, network, proof, domain)
    need(domain is None, "domain", "a function has its own pieces")
    law = read_function(function)
    layers = read_network(network, law.n, law.outputs)
    need_substance(law)
    return decide(law, layers, proof)


def is_network(value: Any) -> bool:
    return type(value) is dict and value.get("format") == "cpwl-network"


def compared(first: Any, second: Any, proof: Any, domain: Any) -> Bound:
    """The proven bound of the difference of two networks, where the proof is of kind "regions"."""
    n, outputs = (read(first.get(name), COUNT, f"network.{name}") for name in ("inputs", "outputs"))
    layers = [read_network(one, n, outputs) for one in (first, second)]
    need(type(proof) is dict and proof.get("kind") == "regions", "proof.kind", "this must be regions")
    rows = [] if domain is None else read_domain(domain, n)
    need(region(n, rows).is_solid(), "domain", "it has no interior: there is nothing to prove")
    return between(layers[0], layers[1], n, rows, proof)
