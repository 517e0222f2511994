"""Proofs of kind "regions" for trained networks: cells, size of the file, seconds of CPU to find and to check.

    python benchmarks/regions.py [2-16-16-1 3-12-12-1 4-8-8-1 ..]

Each network is trained on a smooth function of a box (Adam, in numpy, the same each time) and then compared there: with
the pieces that `extract` finds, with a table of the smooth function, and, up to three inputs, with itself in float32.
The first must be equal; of the others the supremum of the difference is proved. `equal` is the time that `cpwl.equal`
takes for the same question, which it answers without a file.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cpwl
from cpwl import CPWL, Network
from cpwl.documents.write import function_document, network_document
from cpwl.network.network import rounded
from cpwl.proofs.provers.regions import list_common_regions, list_regions
from cpwl_check.decide import check
from cpwl_check.pieces import read_domain, read_function, read_network

HEAD = f"{'network':<12}{'against':<18}{'pieces':>7}{'cells':>7}{'supremum':>11}{'KB':>6}" + "".join(
    f"{word:>7}" for word in ("prove", "check", "equal")
)
MOST = 100_000


def target(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sin(3 * x[:, 0]) * np.cos(2 * x[:, -1]) + (x**2).sum(axis=1) / 2)


def trained(sizes: list[int], steps: int = 2000, seed: int = 0) -> Network:
    """A network that Adam fitted to the target on [-1, 1]^n."""
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(b, a)) * np.sqrt(2 / a) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b) / 4 for b in sizes[1:]]
    parameters = [*weights, *biases]
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    for t in range(1, steps + 1):
        x = rng.uniform(-1, 1, (128, sizes[0]))
        layers = [x.T]
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            z = weight @ layers[-1] + bias[:, None]
            layers.append(z if k + 1 == len(weights) else np.maximum(z, 0))
        back = (layers[-1][0] - target(x))[None] / x.shape[0]
        gradients = [np.zeros(0)] * len(parameters)
        for k in reversed(range(len(weights))):
            gradients[k], gradients[len(weights) + k] = back @ layers[k].T, back.sum(axis=1)
            back = (weights[k].T @ back) * (layers[k] > 0)
        for p, g, m, v in zip(parameters, gradients, first, second, strict=True):
            m += (g - m) / 10
            v += (g * g - v) / 1000
            p -= 5e-3 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-9)
    return Network(list(zip(weights, biases, strict=True)))


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def row(name: str, against: str, network: Network, other: CPWL | Network) -> None:
    """Measures and prints one row."""
    n, box, documents = network.inputs, (-1, 1), [network_document(network)]
    if isinstance(other, CPWL):
        documents.insert(0, function_document(other))
        law, layers = read_function(documents[0]), read_network(documents[1], n, 1)
        prove, (proof, _) = seconds(lambda: list_regions(law, layers, MOST))
        domain, pieces = None, str(other.num_pieces)
    else:
        documents.insert(0, network_document(other))
        unit = np.eye(n, dtype=int).tolist()
        domain = {"A": unit + (-np.eye(n, dtype=int)).tolist(), "b": [1] * (2 * n)}
        both = [read_network(one, n, 1) for one in documents]
        prove, (proof, _) = seconds(lambda: list_common_regions(both[0], both[1], n, read_domain(domain, n), MOST))
        pieces = "-"
    size = len(json.dumps(proof, separators=(",", ":"))) / 1000
    proof = json.loads(json.dumps(proof))
    checked, bound = seconds(lambda: check(*documents, proof, domain))
    assert bound == Fraction(proof["error_bound"])
    asked, verdict = seconds(lambda: cpwl.equal(other, network, box=None if isinstance(other, CPWL) else box))
    assert verdict.gap is None or verdict.gap == bound
    cells = sum(map(len, proof["pieces"]))
    print(
        f"{name:<12}{against:<18}{pieces:>7}{cells:>7}{float(bound):>11.3g}{size:>6.0f}{prove:>7.2f}{checked:>7.2f}"
        f"{asked:>7.2f}{'' if verdict.gap is not None or verdict.equal else '  (equal: no gap)'}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=["2-16-16-1", "3-12-12-1", "4-8-8-1"])
    print(HEAD)
    for name in parser.parse_args().networks:
        network = trained([int(word) for word in name.split("-")])
        n = network.inputs
        axes = [np.linspace(-1, 1, {1: 17, 2: 9, 3: 5}.get(n, 3))] * n
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        values = target(grid.reshape(-1, n)).reshape(grid.shape[:-1])
        row(name, "its own pieces", network, cpwl.extract(network, exact=True, box=(-1, 1)))
        row(name, "a table", network, CPWL.from_grid(axes, values))
        if n <= 3:  # beyond, a network and its twin have tens of thousands of slivers in common
            row(name, "itself in float32", network, rounded(network, "float32"))


if __name__ == "__main__":
    main()
