"""Every way to run a function on this machine, measured: `cpwl bench run`.

Processor time, of this run and this machine: compare the numbers with each other only. Each way is called from one
thread, in double precision, at the same random points of the domain. A way that computes another function (SciPy
interpolates grids by products) is listed with its distance, and never recommended.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from timeit import Timer
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from cpwl.compiler import compiled_network
from cpwl.errors import CpwlError, InputError, LimitError
from cpwl.function.cpwl import CPWL
from cpwl.function.domain import box_around
from cpwl.function.evaluate import sample
from cpwl.function.parts import kuhn_grid
from cpwl.io.c.write import CCode, Form, to_c
from cpwl.network.jit import jit
from cpwl.network.network import Network
from cpwl.regions.extract import extract

_Array = NDArray[np.float64]
_Call = Callable[[_Array], Any]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a function: its cost, and how far its values are from the function at the points that were tried.

    Times are microseconds for each point, called with one point and with all; None where it could not run, for the
    reason in `note`.
    """

    name: str
    language: Literal["Python", "C"]
    single: float | None = None
    batch: float | None = None
    bytes: int | None = None
    multiply_adds: int | None = None
    difference: float | None = None
    note: str = ""
    neurons: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row for a JSON file."""
        return asdict(self)


def measure_ways(source: CPWL | Network, *, points: int = 10_000, seed: int = 0) -> list[Way]:
    """Run `source` in every way that is installed here, at so many points.

    Set OPENBLAS_NUM_THREADS=1 before NumPy is loaded, as the command does: the processor time of threads adds up.
    """
    x = _points(source, points, seed)
    law = None if isinstance(source, Network) else source
    network = compiled_network(source)
    reference = np.asarray(source(x), dtype=np.float64)
    found: list[Way] = []
    if law is not None:
        found.append(_timed(Way("p(x)", "Python"), law, x, reference))
    nonzeros = network.sizes.nonzeros
    way = Way("NumPy network", "Python", bytes=_bytes(network), multiply_adds=nonzeros)
    found.append(_timed(replace(way, neurons=network.sizes.neurons), network, x, reference))
    dense = sum(weight.shape[0] * weight.shape[1] for weight, _ in network.layers)
    runners: list[tuple[str, Callable[[Any], AbstractContextManager[tuple[_Call, int]]], Any, int | None]] = [
        ("onnxruntime", _onnxruntime, network, dense),
        ("torch network", _torch, network, dense),
        ("torch lookup", _torch, law, None),
        ("numba network", _numba, network, nonzeros),
        ("HiGHS, network as MILP", _solver, (source, network), None),
    ]
    for name, make, what, adds in runners:
        if what is None:
            continue
        try:
            with make(what) as (call, size):
                few = x[:_SOLVED] if make is _solver else x
                way = Way(name, "Python", bytes=size, multiply_adds=adds)
                found.append(_timed(way, call, few, reference[: len(few)]))
        except ImportError:
            found.append(Way(name, "Python", note="not installed"))
        except CpwlError as error:
            found.append(Way(name, "Python", note=str(error).splitlines()[0]))
    found += _interpolators(law, x, reference)
    pieces = extract(source, box=(-1, 1), exact=True, max_regions=_REGIONS) if isinstance(source, Network) else source
    most = {"network": np.inf, "tree": _REGIONS, "grid": _REGIONS if law is None else np.inf}
    for form, limit in most.items():
        if limit < np.inf and (pieces.num_pieces > limit or (law is None and not pieces.complete)):
            found.append(Way(f"C {form}", "C", note=f"not tried for more than {_REGIONS:,} regions"))
        else:
            found.append(_in_c(network if form == "network" else pieces, cast("Form", form), x, reference))
    return found


def taken(ways: list[Way], language: str, *, single: bool = False) -> Way | None:
    """The fastest way in a language that computes the function itself, up to rounding: for batches, or one point.

    >>> fast = Way("b", "C", batch=1.0, difference=0.5)
    >>> taken([Way("a", "C", batch=2.0, difference=0.0), fast], "C").name
    'a'
    """

    def time(way: Way) -> float:
        found = way.single if single else way.batch
        return np.inf if found is None else found

    able = [way for way in ways if way.language == language and way.difference is not None and way.difference < _SAME]
    return min(able, key=time, default=None)


_REGIONS = 2_000  # that become a tree
_SAME = 1e-9  # of the largest value: more than rounding in double precision


def _points(source: CPWL | Network, count: int, seed: int) -> _Array:
    """Random points of the domain; where it is not bounded, around the pieces; of a network in [-1, 1]."""
    rng = np.random.default_rng(seed)
    if isinstance(source, Network):
        return rng.uniform(-1, 1, (count, source.inputs))
    ends = box_around(source)
    known = sample(source).points
    low, high = (known.min(axis=0) - 1, known.max(axis=0) + 1) if ends is None else np.array(ends, dtype=np.float64).T
    x = rng.uniform(low, high, (4 * count, source.dim))
    x = x[np.isfinite(source(x)).all(axis=1)][:count]
    if not len(x):
        raise InputError("no random point of the box around the domain is in the domain: it is too thin to measure")
    return np.ascontiguousarray(np.resize(x, (count, source.dim)))


def _timed(way: Way, call: _Call, x: _Array, reference: _Array) -> Way:
    values = np.asarray(call(x), dtype=np.float64).reshape(reference.shape)
    single = seconds(lambda: call(x[:1]))
    return _with(way, values, reference, single * 1e6, seconds(lambda: call(x)) / len(x) * 1e6)


def _with(way: Way, values: _Array, reference: _Array, single: float, batch: float) -> Way:
    scale = max(float(np.abs(reference).max()), np.finfo(np.float64).tiny)
    off = float(np.abs(values - reference).max()) / scale
    return replace(way, single=single, batch=batch, difference=off)


def _bytes(network: Network) -> int:
    """The bytes of its nonzero weights and its biases."""
    return 8 * (network.sizes.nonzeros + sum(len(bias) for _, bias in network.layers))


_LONG = 0.02  # seconds of a round


def seconds(call: Callable[[], Any]) -> float:
    """The shortest mean of five rounds."""
    timer = Timer(call, timer=process_time)
    timer.timeit(1)
    times = max(1, int(_LONG / max(timer.timeit(1), 1e-7)))
    return min(timer.repeat(5, times)) / times


@contextmanager
def _onnxruntime(network: Network) -> Iterator[tuple[_Call, int]]:
    import onnxruntime

    from cpwl.io.onnx.write import onnx_bytes

    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    data = onnx_bytes(network, batch="N")
    session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    yield lambda x: session.run(None, {"X": x})[0], len(data)


@contextmanager
def _torch(network: Network | CPWL) -> Iterator[tuple[_Call, int]]:
    import torch

    from cpwl.io.torch import to_torch

    module = to_torch(network)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            size = sum(value.numel() * value.element_size() for value in module.state_dict().values())
            yield lambda x: module(torch.from_numpy(x)).numpy(), size
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _numba(network: Network) -> Iterator[tuple[_Call, int]]:
    if find_spec("numba") is None:
        raise ImportError
    yield jit(network, backend="numba"), _bytes(network)


_SOLVED = 20  # points at which a solver computes the value
_BINARY = 100  # neurons beyond which it would take long


@contextmanager
def _solver(given: tuple[CPWL | Network, Network]) -> Iterator[tuple[_Call, int]]:
    """The mixed-integer program of the network with the inputs fixed: how a solver sees a value."""
    from cpwl.io.milp import to_milp

    source, network = given
    box = (-1, 1) if isinstance(source, Network) else None
    if network.sizes.neurons > _BINARY:
        raise LimitError(f"not tried for more than {_BINARY} neurons")
    milp = to_milp(source, box=box)
    highs = milp.highs
    highs.setOptionValue("output_flag", False)

    def values(x: _Array) -> _Array:
        found = []
        for point in x:
            for i, v in enumerate(point.tolist()):
                highs.changeColBounds(milp.columns[f"x{i}"], v, v)
            highs.run()
            solution = highs.getSolution().col_value
            found.append([solution[milp.columns[f"y{k}"]] for k in range(milp.outputs)])
        return np.array(found)

    yield values, _bytes(network)


def _interpolators(law: CPWL | None, x: _Array, reference: _Array) -> Iterator[Way]:
    """What SciPy offers for tables; of grids it computes another function between the points."""
    if law is None or law.mesh is None:
        return
    from scipy.interpolate import LinearNDInterpolator, RegularGridInterpolator

    try:
        grid = kuhn_grid(law.mesh)
    except CpwlError:
        if law.dim > 1:
            call = cast("Any", LinearNDInterpolator(law.mesh.points, law.mesh.values))
            size = (
                call.tri.transform.nbytes + call.tri.simplices.nbytes + call.tri.neighbors.nbytes + call.values.nbytes
            )
            note = "its own triangulation (Delaunay)"
            yield _timed(Way("SciPy LinearNDInterpolator", "Python", bytes=size, note=note), call, x, reference)
        return
    order = [np.argsort(axis.astype(np.float64)) for axis in grid.axes]
    axes = [axis.astype(np.float64)[own] for axis, own in zip(grid.axes, order, strict=True)]
    values = grid.values[np.ix_(*order)].astype(np.float64)
    size = values.nbytes + sum(axis.nbytes for axis in axes)
    if law.dim == 1 and law.outputs == 1:
        way = Way("np.interp", "Python", bytes=size, multiply_adds=1)
        yield _timed(way, lambda x: np.interp(x[:, 0], axes[0], values[:, 0]), x, reference)
        return
    note = "multilinear in each cell: another function" if law.dim > 1 else ""
    interpolator = cast("Any", RegularGridInterpolator)(axes, values, bounds_error=False, fill_value=None)
    adds = law.dim * 2**law.dim * law.outputs
    way = Way("SciPy RegularGridInterpolator", "Python", bytes=size, multiply_adds=adds, note=note)
    yield _timed(way, interpolator, x, reference)


def _in_c(source: CPWL | Network, form: Form, x: _Array, reference: _Array) -> Way:
    """The header, compiled with ``-O2`` and called through a pointer: one call costs what each of many costs."""
    name = f"C {form}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            code = to_c(source, Path(folder, "law.h"), form=form)
        except CpwlError as error:
            return Way(name, "C", note=str(error).splitlines()[0])
        cost = code.costs[form]
        way = Way(name, "C", bytes=cost.flash, multiply_adds=cost.multiply_adds)
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            return replace(way, note="there is no C compiler here")
        call = _loaded(code, compiler, folder)
        y = np.empty((len(x), code.body.outputs))
        call(x, y)
        each = seconds(lambda: call(x, y)) / len(x) * 1e6
        return _with(way, y, reference, each, each)


_RUN = """\
#include "law.h"
void run(const double *x, double *y, long n);
void run(const double *x, double *y, long n)
{
    int (*volatile call)(const double *, double *) = law;
    for (long i = 0; i < n; ++i) {
        call(x + i * (long)LAW_INPUTS, y + i * (long)LAW_OUTPUTS);
    }
}
"""


def _loaded(code: CCode, compiler: str, folder: str) -> Callable[[_Array, _Array], None]:
    Path(folder, "run.c").write_text(_RUN, encoding="utf-8")
    words = [compiler, "-std=c99", "-O2", "-fPIC", "-shared", "run.c", "-o", "run.so"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    run = ctypes.CDLL(str(Path(folder, "run.so"))).run
    run.argtypes, run.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long], None
    assert code.dtype == "float64"
    return lambda x, y: run(x.ctypes.data, y.ctypes.data, len(x))
