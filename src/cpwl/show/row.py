"""One line of the demonstration's table: what compiling a function gave, beside the published bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl import bounds
from cpwl.compiler import compile
from cpwl.errors import ConstructionError, InputError
from cpwl.network import Network, Sizes
from cpwl.show.bundled import Example

__all__ = ["Failure", "Row", "compile_example", "power_of_ten"]


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """Where a construction's network is not the function: a witness in the domain, and both values there."""

    point: NDArray[Any]
    network_value: Any
    function_value: Any
    """Rational for an exact function, float otherwise."""

    @property
    def amount(self) -> float:
        """How far the two are apart at the point."""
        return float(abs(self.network_value - self.function_value))


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """An example and its network. With a `failure` the network is wrong: it is shown, and never exported."""

    example: Example
    network: Network
    construction: str
    he: int
    hertrich: int
    theorem2: int
    seconds: float
    """What compiling took, checks included."""
    max_error: float
    """The largest difference between network and function seen at `samples` random points: no proof."""
    samples: int
    failure: Failure | None = None
    files: tuple[Path, ...] = ()

    @property
    def sizes(self) -> Sizes:
        """Neurons, depth, width and nonzero weights of the network."""
        return self.network.sizes


def compile_example(example: Example, *, samples: int = 10_000) -> Row:
    """Compile one example and look at the result at random points.

    >>> from cpwl.show.bundled import bundled_examples
    >>> row = compile_example(next(bundled_examples()), samples=10)
    >>> row.sizes.neurons, row.theorem2, row.failure
    (0, 0, None)
    """
    p = example.function
    start = perf_counter()
    failure: ConstructionError | None = None
    try:
        compiled = compile(p, construction=example.construction)
    except ConstructionError as error:
        failure = error
    seconds = perf_counter() - start
    if failure is not None:
        compiled = compile(p, construction=example.construction, check=False)
    x = _sample(example, samples)
    return Row(
        example,
        compiled.network,
        compiled.construction,
        bounds.he2020(p.dim, p.num_components, p.num_pieces),
        bounds.hertrich2021(p.dim, p.num_components),
        compiled.bounds["theorem2"].neurons,
        seconds,
        float(np.abs(compiled.network(x) - p(x)).max()),
        len(x),
        None if failure is None else _failure(example, compiled.network, failure),
    )


def power_of_ten(count: int) -> tuple[str, str]:
    """A number to be read at a glance: ``("1,234", "")``, or for large ones ``("10", exponent)``.

    >>> power_of_ten(50_927), power_of_ten(3 * 10**5000)
    (('50,927', ''), ('10', '5000'))
    """
    return (f"{count:,}", "") if count < 10**6 else ("10", str(round(math.log10(count))))


def _failure(example: Example, network: Network, error: ConstructionError) -> Failure:
    point = error.details["point"]
    output = error.details["output"]
    return Failure(point, network(point)[output], example.function(point)[output])


def _sample(example: Example, count: int) -> NDArray[np.float64]:
    """Random points of the cube that lie in the domain; the same ones every time."""
    rng = np.random.default_rng(0)
    found: list[NDArray[np.float64]] = []
    for _ in range(100):
        x = rng.uniform(example.low, example.high, (count, example.function.dim))
        found.append(x[~np.isnan(example.function(x)).any(axis=1)])
        if sum(map(len, found)) >= count:
            return np.concatenate(found)[:count]
    raise InputError(f"hardly a point of [{example.low}, {example.high}]^n is in the domain of {example.name}")
