"""What is asked of every function and network; each answer is compared with the truth. A wrong one raises `Wrong`."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import cpwl
from cpwl import CPWL, ConstructionError, LimitError, Network, ProofError
from cpwl.compiler import CONSTRUCTIONS
from cpwl.geometry.probe import Probe
from cpwl.network.network import exact_layers
from cpwl_check.budget import Refused
from cpwl_check.decide import check
from soak.doors import DOORS, Wrong, need
from soak.families import FAMILIES, random_network
from soak.truth import Truth
from soak.twin import Twin, twin
from support.proofs import documents
from support.rational_pieces import PieceData, from_data, piece_data, points_in_pieces

__all__ = ["PAIRS", "QUESTIONS", "Wrong"]

_NOISE = (0.0, 1e-15, 1e-12, 1e-9)


def exactly(network: Network, points: list[list[Fraction]]) -> list[list[Fraction]]:
    """The values of a network in rationals, computed here."""
    layers = [(weight.toarray(), bias) for weight, bias in exact_layers(network)]
    found = []
    for x in points:
        h = [Fraction(v) for v in x]
        for k, (weight, bias) in enumerate(layers):
            z = [
                sum((Fraction(w) * v for w, v in zip(row, h, strict=True) if w), Fraction(c))
                for row, c in zip(weight, bias, strict=True)
            ]
            h = z if k == len(layers) - 1 else [max(v, Fraction(0)) for v in z]
        found.append(h)
    return found


def places(p: CPWL, rng: np.random.Generator) -> list[list[Fraction]]:
    """Points of the pieces, few where the pieces are many."""
    some = [x for _, x in points_in_pieces(p, 2, int(rng.integers(1 << 30)))]
    return [some[int(i)] for i in rng.permutation(len(some))[:60]]


def ask_exact(family: str, rng: np.random.Generator, size: int) -> Iterator[str]:
    """Exact data: every construction is equal to the truth, and what is proved stands up to the stand-alone checker."""
    p, truth = FAMILIES[family](rng, size)
    if rng.random() < 0.3:
        p = from_data(piece_data(p))
    yield "doctor"
    need(p.doctor().healthy, f"the doctor finds fault: {str(p.doctor())[:200]}", p)
    x = places(p, rng)
    yield "evaluate"
    _same(p(np.array(x, dtype=object)).tolist(), x, truth, "the function", p)
    yield "merge"
    merged = p.merge()
    _same(merged(np.array(x, dtype=object)).tolist(), x, truth, "what `merge` made", p)
    need(merged.doctor().healthy, f"`merge` made {str(merged.doctor())[:200]}", p)
    for name in CONSTRUCTIONS:
        yield f"compile {name}"
        try:
            network = cpwl.compile(p, construction=name).network
        except ConstructionError:
            continue
        _same(exactly(network, x), x, truth, f"the network of {name}", p, network)
        yield f"certify {name}"
        _certified(p, network, lambda _x, _v: Fraction(0), x, equal=True)
    yield "equal"
    verdict = cpwl.equal(network, p, max_regions=4000)
    need(verdict.equal is not False, f"`equal` says no: {verdict.witness}", p, network)
    yield "equal to another"
    _tell_apart(p, network, rng)


def _same(values: Any, x: list[list[Fraction]], truth: Truth, what: str, *about: CPWL | Network) -> None:
    for point, value in zip(x, values, strict=True):
        true = truth.value(point)
        need(true is None or list(value) == true, f"{what} is {value} at {point}, not {true}", *about)


def _certified(
    p: CPWL, network: Network, gap: Callable[[Any, Any], Fraction], x: list[list[Fraction]], *, equal: bool = False
) -> None:
    """What is certified is accepted by the stand-alone checker, and no point contradicts the bound."""
    try:
        proof = cpwl.certify(p, network)
    except ProofError as error:
        raise Wrong(f"a right network is refuted: {error}", p, network) from error
    need(not equal or proof.error_bound == 0, f"not proved equal: {proof.reason or proof.statement}", p, network)
    if not proof.proved:
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(*documents(Path(folder), p, network, proof))
        except Refused as error:
            raise Wrong(f"the stand-alone checker refuses what is certified: {error}", p, network) from error
    bound = proof.error_bound
    for point, value in zip(x, exactly(network, x), strict=True):
        size = max(abs(v) for v in point)
        allowed = bound[0] + bound[1] * size if isinstance(bound, tuple) else bound
        assert allowed is not None
        need(gap(point, value) <= allowed, f"off by more than what is proved at {point}", p, network)


def _tell_apart(p: CPWL, network: Network, rng: np.random.Generator) -> None:
    """A function with one law moved is not the network's, unless its pieces no longer agree."""
    pieces = piece_data(p)
    k = int(rng.integers(len(pieces)))
    off = Fraction(1, 10 ** int(rng.integers(1, 25)))
    laws = tuple((*law[:-1], law[-1] + off) for law in pieces[k].laws)
    changed = from_data([PieceData(q.rows, laws if i == k else q.laws) for i, q in enumerate(pieces)])
    verdict = cpwl.equal(network, changed, max_regions=4000)
    need(verdict.equal is not True, f"`equal` accepts a law that is off by {float(off):g}", changed, network)
    if len(pieces) > 1:
        need(not changed.doctor().healthy, f"the doctor overlooks a jump of {float(off):g}", changed)
        fewer = from_data([q for i, q in enumerate(pieces) if i != k])
        inside = Probe(0.0).interior(p.polyhedra[k])
        if inside is not None and np.isnan(fewer(inside[None].astype(np.float64))).all():  # no other piece covers it
            need(cpwl.equal(p, fewer).equal is not True, f"`equal` overlooks the missing piece {k}", p, fewer)


def ask_float(family: str, rng: np.random.Generator, size: int) -> Iterator[str]:
    """Float twins: healthy, and every network is within what is promised of the data."""
    p, _ = FAMILIES[family](rng, size)
    t = twin(p, rng, float(rng.choice(_NOISE)))
    q = t.function
    yield "doctor"
    report = q.doctor()
    need(report.healthy, f"noise {t.noise:g}: the doctor finds fault: {str(report)[:200]}", q)
    x = places(p, rng)
    yield "merge"
    merged = q.merge()
    need(merged.doctor().healthy, f"noise {t.noise:g}: `merge` made {str(merged.doctor())[:200]}", q)
    for name in CONSTRUCTIONS:
        yield f"compile {name}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = cpwl.compile(q, construction=name)
        except (ConstructionError, LimitError) as error:
            need(name != "auto", f"noise {t.noise:g}: auto gives up: {error}", q)
            continue
        _near(t, made.network, x, name)
        yield f"certify {name}"
        _certified(q, made.network, t.distance, x)


def _near(t: Twin, network: Network, x: list[list[Fraction]], name: str) -> None:
    values = exactly(network, x)
    size = max(abs(v) for value in values for v in value)
    far = max([Fraction(1), *(abs(v) for point in x for v in point)])
    slope = float(np.abs(t.function.laws.gradient).max(initial=1.0))
    allowed = Fraction(1e-8) * (1 + size) + Fraction(1e4 * t.noise * max(slope, 1.0)) * far
    for point, value in zip(x, values, strict=True):
        gap = t.gap(point, value)
        need(
            gap <= allowed,
            f"noise {t.noise:g}: the network of {name} is off by {float(gap):.3g} at {point}",
            t.function,
            network,
        )


def ask_network(_: str, rng: np.random.Generator, size: int) -> Iterator[str]:
    """Networks: regions, laws, onnxruntime, simplify, compress and equality."""
    import onnxruntime

    network, truth = random_network(rng, min(size, 10))
    yield "extract"
    p = cpwl.extract(network, exact=True)
    need(bool(p.complete), "an extraction without limit is not complete", network)
    x = places(p, rng)
    _same(p(np.array(x, dtype=object)).tolist(), x, truth, "what was extracted", network)
    yield "doctor"
    need(p.doctor().healthy, f"what was extracted: {str(p.doctor())[:200]}", network)
    yield "merge"
    merged = cpwl.extract(network, exact=True, merge=True)
    need(merged.doctor().healthy, f"merged: {str(merged.doctor())[:200]}", network)
    yield "equal"
    need(cpwl.equal(network, merged, max_regions=4000).equal is not False, "not equal to its own regions", network)
    yield "simplify"
    small = cpwl.simplify(network)
    _same(exactly(small, x), x, truth, "what `simplify` made", network)
    yield "onnx"
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "net.onnx"))
        cpwl.io.to_onnx(network, path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        floats = np.array([[float(v) for v in point] for point in x])
        theirs = np.concatenate([session.run(None, {"X": row[None]})[0] for row in floats])
        back = cpwl.io.from_onnx(path)
    ours = network(floats)
    need(np.allclose(theirs, ours, rtol=1e-9, atol=1e-9), "onnxruntime computes something else", network)
    need(cpwl.equal(network, back, max_regions=4000).equal is not False, "read back from ONNX it differs", network)
    yield "compress"
    tight = cpwl.compress(network).network
    _same(exactly(tight, x), x, truth, "what `compress` made", network)


QUESTIONS: dict[str, Callable[[str, np.random.Generator, int], Iterator[str]]] = {
    "exact": ask_exact,
    "float": ask_float,
    "network": ask_network,
    "door": lambda family, rng, size: DOORS[family](rng, size),
}
"""By kind of data; each yields the name of a step before it takes it."""

PAIRS = [
    *((kind, family) for kind in ("exact", "float") for family in FAMILIES),
    ("network", "extracted"),
    *(("door", family) for family in DOORS),
]
"""Kinds with the families that they are asked about."""
