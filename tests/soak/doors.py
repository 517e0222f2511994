"""Data as people bring it: each family makes data of one kind and compares what becomes of it with what was meant."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import cpwl
from cpwl import CPWL, CpwlWarning, InputError, Network
from soak.families import maxmin

__all__ = ["DOORS", "Wrong", "need"]


class Wrong(Exception):
    """An answer that is not true, with what it was asked about."""

    def __init__(self, message: str, *about: CPWL | Network) -> None:
        super().__init__(message)
        self.about = about


def need(right: bool, message: str, *about: CPWL | Network) -> None:
    """Raise `Wrong` unless it is right."""
    if not right:
        raise Wrong(message, *about)


def whole_grid(rng: np.random.Generator, size: int) -> Iterator[str]:
    """Exact grids of every size: the network is equal to the table, and `certify` says so."""
    n = int(rng.integers(1, 5))
    most = {1: 9 * size, 2: 3 + size, 3: 3, 4: 2}[n]
    start, step = int(rng.integers(-9, 10)), int(rng.integers(1, 4))
    axes: list[Any] = [[start + step * k for k in range(int(rng.integers(1, most + 1)) + 1)] for _ in range(n)]
    if rng.random() < 0.3:
        axes = [[Fraction(v, 3) for v in axis] for axis in axes]
    p = CPWL.from_grid(axes, rng.integers(-9, 10, [len(axis) for axis in axes]))
    yield "compile"
    network = cpwl.compile(p).network
    yield "certify"
    proof = cpwl.certify(p, network)
    need(proof.error_bound == 0, f"exact data, and not equal: {proof.statement}", p, network)


def long_line(rng: np.random.Generator, size: int) -> Iterator[str]:
    """Long tables of one input in float32: onnxruntime is as near as was asked for, or there was a warning."""
    low, high = np.sort(rng.integers(-50, 50, 2))
    x = np.linspace(low, high + 1, 40 * size)
    y = np.cumsum(rng.normal(size=len(x))) if rng.random() < 0.5 else np.sin(x)
    p = CPWL.from_breakpoints(x.tolist(), y.tolist())
    asked = float(rng.choice([1e-4, 1e-5, 1e-6]))
    yield "compile"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", CpwlWarning)
        network = cpwl.compile(p, precision="float32", max_error=asked).network
    if said:  # nothing is promised, and the most accurate network may be very large
        return
    yield "run in float32"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.onnx")
        cpwl.io.to_onnx(network, path, dtype="float32")
        alone = onnxruntime.SessionOptions()
        alone.intra_op_num_threads = 1  # threads that wait for each other take long on a busy machine
        session = onnxruntime.InferenceSession(path, alone, providers=["CPUExecutionProvider"])
        at = np.unique(np.concatenate([x, (x[1:] + x[:-1]) / 2]).astype(np.float32))
        at = at[(at >= x[0]) & (at <= x[-1])]
        found = np.array([session.run(None, {"X": v[None, None]})[0][0, 0] for v in at], dtype=np.float64)
    off = np.abs(found - p(at.astype(np.float64)[:, None])[:, 0]).max() / np.ptp(y)
    need(off <= asked, f"off by {off:.2g} of the range, {asked:g} were asked for, no warning", p, network)


def noise_around_zero(rng: np.random.Generator, size: int) -> Iterator[str]:
    """Laws with noise of 1e-17 where they should be 0, in one to eight inputs: such a function is healthy."""
    p, _ = maxmin(rng, min(size, 6))
    more = int(rng.integers(0, 9 - p.dim))
    A = [np.pad(body.A, ((0, 0), (0, more))) for body in p.polyhedra]
    gradient = np.pad(p.laws.gradient[:, 0, :], ((0, 0), (0, more)))
    noisy = gradient + 1e-17 * rng.normal(size=gradient.shape)
    offset = p.laws.offset[:, 0] + 1e-17 * rng.normal(size=len(gradient))
    q = CPWL.from_pieces(A, [body.b for body in p.polyhedra], noisy, offset)
    yield "doctor"
    need(q.doctor().healthy, f"the doctor finds fault: {str(q.doctor())[:200]}", q)
    yield "compile"
    neurons, plain = cpwl.compile(q).sizes.neurons, cpwl.compile(p).sizes.neurons
    need(neurons <= plain, f"noise costs {neurons} neurons instead of {plain}", q, p)


def masked_table(rng: np.random.Generator, size: int) -> Iterator[str]:
    """A table with a mask is refused with a sentence, or has the values that are there: never the fill value."""
    shape = tuple(int(v) for v in rng.integers(2, 3 + size // 3, 2))
    values = np.ma.masked_array(rng.integers(-9, 10, shape).astype(float), mask=rng.random(shape) < 0.3)
    axes = [list(range(k)) for k in shape]
    yield "read"
    try:
        p = CPWL.from_grid(axes, values)
    except InputError as error:
        need(bool(np.ma.getmaskarray(values).any()) and "mask" in str(error), f"refused: {error}")
        return
    need(not np.ma.getmaskarray(values).any(), "a mask was lost", p)


def matrix_table(rng: np.random.Generator, size: int) -> Iterator[str]:
    """A map with its axes in the first row and column: as a matrix it is the grid, and it is never read as points."""
    shape = tuple(int(v) for v in rng.integers(2, 3 + size // 2, 2))
    axes = [np.cumsum(rng.integers(1, 4, k)).tolist() for k in shape]
    values = rng.integers(-9, 10, shape)
    corner = str(rng.choice(["", "0", "x/y"]))
    lines = [[corner, *map(str, axes[1])], *([str(a), *map(str, row)] for a, row in zip(axes[0], values, strict=True))]
    p = CPWL.from_grid(axes, values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "map.csv")
        path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
        yield "read"
        found = cpwl.io.from_csv(path, layout="matrix")
        need(bool(cpwl.equal(p, found).equal), "a matrix is read as another function", p, found)
        yield "guess"
        try:
            found = cpwl.io.from_csv(path)
        except InputError as error:
            need("matrix" in str(error), f"refused, and not for being both: {error}", p)
            return
        need(found.dim == 2 and bool(cpwl.equal(p, found).equal), "a map is read as points", p, found)


def doubly_defined(rng: np.random.Generator, size: int) -> Iterator[str]:
    """An ONNX file that defines a name twice, densely and sparsely, is refused; with one definition it is read."""
    widths = (int(rng.integers(1, 4)), 2 + size, 1)
    network = Network([(rng.integers(-3, 4, (b, a)), rng.integers(-3, 4, b)) for a, b in pairwise(widths)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.onnx")
        cpwl.io.to_onnx(network, path)
        yield "read"
        need(cpwl.io.from_onnx(path).sizes == network.sizes, "a network comes back with other sizes", network)
        model = onnx.load(path)
        dense = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
        kind = onnx.helper.tensor_dtype_to_np_dtype(dense.data_type)
        one = onnx.numpy_helper.from_array(np.ones(1, dtype=kind), dense.name)
        at = onnx.numpy_helper.from_array(np.zeros(1, dtype=np.int64), f"{dense.name}_at")
        model.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(one, at, list(dense.dims)))
        onnx.save(model, path)
        yield "refuse"
        try:
            cpwl.io.from_onnx(path)
        except InputError:
            return
        raise Wrong(f"the weights `{dense.name}` are defined twice, and the file is read", network)


DOORS: dict[str, Callable[[np.random.Generator, int], Iterator[str]]] = {
    f.__name__: f for f in (whole_grid, long_line, noise_around_zero, masked_table, matrix_table, doubly_defined)
}
