"""What is asked of a proof, and what a prover answers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.documents.write import function_document, network_document
from cpwl.exact.integers import ratio_view
from cpwl.exact.rational import fraction_array, text
from cpwl.function import CPWL
from cpwl.function.lineality import divided
from cpwl.function.snap.snap import meant_components, undone
from cpwl.geometry.generators import generators
from cpwl.geometry.probe import Probe
from cpwl.network import Network
from cpwl.network.network import exact_layers
from cpwl.progress import Progress
from cpwl.proofs.entries import NotRecognised
from cpwl.proofs.rounding import Bound, Box, box_of
from cpwl_check.pieces import Law, Layers, read_function, read_network

Floats = NDArray[np.float64]
_SAMPLES = 20_000  # points at which signs are looked at
_BLOCK = 512  # points at once: all neurons at all of them would take gigabytes


@dataclass(frozen=True, eq=False)
class Question:
    """Whether `network` computes `p`, or, if it is a rounding of the network `rounded_from`, how nearly.

    What several provers need is computed when first asked for, and once.
    """

    p: CPWL
    network: Network
    rounded_from: Network | None = None
    progress: Progress | None = None
    executor: Executor | None = None

    @cached_property
    def tables(self) -> list[NDArray[np.object_]]:
        """The components of each output, as rows ``(gradient, offset)`` of rationals."""
        found = []
        for output in range(self.p.outputs):
            rows = self.p.components(output).integer()[:, 0]
            found.append(np.asarray(fraction_array(rows[:, :-1]) / rows[:, -1:]))
        return found

    @cached_property
    def meant(self) -> list[NDArray[np.object_]] | None:
        """For float data the components with the simple numbers that they are next to, as lattices have them."""
        if self.p.tol == 0 or not divided(self.p).is_whole:
            return None
        found = [meant_components(self.p, output) for output in range(self.p.outputs)]
        return None if all(map(np.array_equal, found, self.tables)) else found

    @cached_property
    def undone(self) -> CPWL | None:
        """For a table, or breakpoints, of floats, the function with their rounding undone; else None."""
        return undone(self.p)

    @property
    def is_exact(self) -> bool:
        """Whether nothing but the data itself will do: it has no tolerance, and no rounding that was undone."""
        return self.p.tol == 0 and self.undone is None

    @cached_property
    def box(self) -> Box | None:
        """The smallest box around all pieces; None if they are unbounded."""
        return box_of(self.p)

    @cached_property
    def function_document(self) -> dict[str, Any]:
        """The function as it is saved."""
        return function_document(self.p)

    @cached_property
    def law(self) -> Law:
        """The function as the checker reads it."""
        return read_function(self.function_document)

    @cached_property
    def layers(self) -> Layers:
        """The network as the checker reads it."""
        return read_network(self.network_document, self.p.dim, self.p.outputs)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Some points of the domain: corners and inner points of the pieces, and far ones where they are unbounded."""
        return _points(self.p)

    @cached_property
    def always_on(self) -> list[NDArray[np.bool_]]:
        """For each hidden layer which neurons read nothing negative at points of bounded pieces: a guess."""
        layers = self.network.layers[:-1]
        if self.box is None:
            return [np.zeros(len(bias), dtype=bool) for _, bias in layers]
        least = [np.zeros(len(bias)) for _, bias in layers]
        size = [np.full(len(bias), 1e-300) for _, bias in layers]
        for start in range(0, len(self.points), _BLOCK):
            x = self.points[start : start + _BLOCK]
            for k, (weight, bias) in enumerate(layers):
                z = x @ weight.T + bias
                least[k] = np.minimum(least[k], z.min(axis=0))
                size[k] = np.maximum(size[k], np.abs(z).max(axis=0))
                x = np.maximum(z, 0.0)
        return [low >= -1e-6 * most for low, most in zip(least, size, strict=True)]

    def of(self, network: Network, rounded_from: Network | None = None) -> Question:
        """The same question of another network; what is known about the function is known there, too."""
        other = replace(self, network=network, rounded_from=rounded_from)
        about = ("tables", "meant", "undone", "box", "function_document", "law", "points")
        vars(other).update({name: vars(self)[name] for name in about if name in vars(self)})
        return other

    @cached_property
    def network_document(self) -> dict[str, Any]:
        """The network as it is saved."""
        return network_document(self.network)


def _points(p: CPWL) -> Floats:
    """Some points of the domain: corners and inner points of the pieces, and far ones where they are unbounded."""
    if p.mesh is not None:
        corner, k = np.eye(p.dim + 1), p.dim + 1
        uneven = np.arange(2.0, k + 2.0) / np.arange(2.0, k + 2.0).sum()
        weights = np.concatenate([uneven[None], 0.9 * corner + 0.1 / k, 0.5 * corner + 0.5 * uneven])
        inner = np.einsum("wi,qij->wqj", weights, p.mesh.points[p.mesh.simplices]).reshape(-1, p.dim)
        return thinned(np.concatenate([p.mesh.points[np.unique(p.mesh.simplices)], inner]), _SAMPLES)
    probe, found, spanned = Probe(1e-9), [], generators(p.polyhedra)
    for i, body in enumerate(p.polyhedra):
        places = spanned.places[spanned.member[spanned.start[i] : spanned.start[i + 1]]]
        if len(places):
            at, t = places[:, :-1], places[:, -1]
            finite = ratio_view(at[t != 0], t[t != 0][:, None])
            rays = at[t == 0].astype(np.float64)
            rays /= np.abs(rays).max(axis=1, keepdims=True)
            found += [finite, finite.mean(axis=0, keepdims=True)]
            found += [finite.mean(axis=0) + s * (rays + rays.mean(axis=0)) for s in (1.0, 30.0) if len(rays)]
        elif (x := probe.interior(body)) is not None:
            found.append(np.asarray(x, dtype=np.float64)[None])
    return thinned(np.concatenate(found), _SAMPLES) if found else np.zeros((0, p.dim))


def thinned(points: Floats, most: int) -> Floats:
    """Not too many of the points, from all over the domain."""
    if len(points) <= most:
        return points
    chosen = np.random.default_rng(0).choice(len(points), most, replace=False)
    return points[np.sort(chosen)]


def places_of(p: CPWL) -> tuple[NDArray[np.object_], list[NDArray[np.int64]]]:
    """Corners and rays of all pieces as integers ``(x, 1) * w`` and ``(r, 0)``, and the numbers of each piece's."""
    if p.mesh is not None:
        used, number = np.unique(p.mesh.simplices, return_inverse=True)
        return p.mesh.corners[used], list(number.reshape(p.mesh.simplices.shape))
    found = generators(p.polyhedra)
    if not found.known.all():
        raise NotRecognised("a piece contains a line, or has too many rows")
    used, number = np.unique(found.member, return_inverse=True)
    return found.places[used], np.split(number, found.start[1:-1])


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proof as a prover proposes it; the stand-alone checker decides.

    If a refusal `settles` the question, no other kind will do. At `points` the difference is largest, if known.
    """

    bound: Bound
    document: dict[str, Any]
    settles: bool = False
    points: Sequence[Any] = ()


def same_weights(a: Network, b: Network) -> bool:
    """Whether two networks have the same weights, exactly."""
    if [weight.shape for weight, _ in a.layers] != [weight.shape for weight, _ in b.layers]:
        return False
    return all(
        bool((v == w).all())
        and np.array_equal(u.indptr, x.indptr)
        and np.array_equal(u.indices, x.indices)
        and bool((u.data == x.data).all())
        for (u, v), (x, w) in zip(exact_layers(a), exact_layers(b), strict=True)
    )


# What proof documents of every kind begin with.


def proof_head(kind: str, inputs: int, bound: Bound = Fraction(0)) -> dict[str, Any]:
    """The first fields, the bound as the checker reads it.

    >>> proof_head("rounded", 2, (Fraction(1, 3), Fraction(0)))
    {'format': 'cpwl-proof', 'version': 1, 'kind': 'rounded', 'inputs': 2, 'error_bound': ['1/3', 0]}
    """
    stated: Any = [text(v) for v in bound] if isinstance(bound, tuple) else text(bound)
    return {"format": "cpwl-proof", "version": 1, "kind": kind, "inputs": inputs, "error_bound": stated}
