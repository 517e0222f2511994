"""`to_milp`: a network as a mixed-integer linear program for HiGHS.

A neuron ``h = max(0, z)`` with ``low <= z <= high`` and ``low < 0 < high`` has a binary `a` (on or off) and the rows
``h >= z``, ``h <= z - low (1 - a)``, ``h <= high a`` (Fischetti and Jo 2018). One that is always on is ``h = z``, one
that is always off ``h = 0``; neither has a binary. The constants are the ranges of `z` on the domain: exact ones make
the relaxation as tight as this formulation allows.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

import highspy
import numpy as np
from numpy.typing import NDArray

from cpwl.compiled import Compiled, held_parts
from cpwl.compiler import compiled_network
from cpwl.doors import check_argument, check_limit, check_path, within_float64
from cpwl.errors import CpwlWarning, InputError, SolverError
from cpwl.exact.rational import ratios, text
from cpwl.files import read_bytes, write_bytes, write_together
from cpwl.function.cpwl import CPWL
from cpwl.function.domain import domain_rows
from cpwl.geometry.cells import cell_of
from cpwl.geometry.generators import generators
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.geometry.probe import Range, bounding_box
from cpwl.io.c.write import towards
from cpwl.io.onnx.write import onnx_bytes
from cpwl.network.network import ExactLayer, Network, exact_layers
from cpwl.passes.simplify import ranges
from cpwl.regions.extract import extract
from cpwl.search import highs_takes, highs_with

# The least and the largest value that each neuron reads on a bounded domain, exactly, and where.
#
# Every neuron is affine on each linear region of the network, and the regions are bounded: its extreme values are
# attained at their corners. Floats with a running error bound say at which corners they can be; there the network is
# evaluated in rationals.


Floats: TypeAlias = NDArray[np.float64]
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The range of what a neuron reads, or of an output, and points where its ends are attained."""

    low: Fraction
    high: Fraction
    lowest: tuple[Fraction, ...]
    highest: tuple[Fraction, ...]


def extremes(network: Network, domain: Polyhedron, max_regions: int | None = None) -> list[list[Extreme]] | None:
    """For each layer, the last one included, the exact range of each neuron; None beyond that many regions.

    >>> from cpwl.geometry.polyhedra import box_polyhedron
    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    >>> [(e.low, e.high) for e in extremes(network, box_polyhedron((-1, 2), 1))[1]]
    [(Fraction(0, 1), Fraction(2, 1))]
    """
    p = extract(network, domain=domain, exact=True, max_regions=max_regions)
    if not p.complete:
        return None
    places = corner_points(p)
    points = np.asarray(ratios(places[:, :-1], places[:, -1:]), dtype=object)
    candidates = _candidates(network, points)
    chosen = np.unique(np.concatenate([np.flatnonzero(mask) for mask in candidates]))
    values = _exact_values(exact_layers(network), points[chosen])
    return [[_extreme(row, points[chosen]) for row in layer] for layer in values]


def corner_points(p: CPWL) -> NDArray[np.object_]:
    """The corners of all pieces, integer rows ``(x, 1) * w``; `InputError` if a piece is not bounded."""
    found = generators(p.polyhedra)
    places = {tuple(row) for row in found.places[np.unique(found.member)].tolist()}
    for i in np.flatnonzero(~found.known):
        rows = p.polyhedra[int(i)].integer()
        cell = cell_of([(*row[:-1], -row[-1]) for row in rows.tolist()], p.dim)
        places |= {place for place, _ in cell.rays} | {(*line[:-1], 0) for line in cell.lines}
    if any(place[-1] == 0 for place in places):
        raise InputError("the domain is not bounded: give a bounded one, such as `box=(-1, 1)`")
    return np.array(sorted(places), dtype=object).reshape(-1, p.dim + 1)


def _candidates(network: Network, points: NDArray[np.object_]) -> list[NDArray[np.bool_]]:
    """For each layer the points at which some neuron of it may be least or largest."""
    h = points.astype(np.float64).T
    error = _UNIT * np.abs(h)
    masks = []
    for i, (weight, bias) in enumerate(network.layers):
        if i:
            h = np.maximum(h, 0.0)
        size = abs(weight) @ (np.abs(h) + error) + np.abs(bias)[:, None]
        terms = np.diff(weight.indptr)[:, None] + 3  # products, sums, and weights that are rounded themselves
        error = abs(weight) @ error + 2 * terms * _UNIT * size
        h = weight @ h + bias[:, None]
        high = h + error >= (h - error).max(axis=1, keepdims=True)
        low = h - error <= (h + error).min(axis=1, keepdims=True)
        masks.append(np.asarray((high | low).any(axis=0)))
    return masks


def _exact_values(layers: tuple[ExactLayer, ...], points: NDArray[np.object_]) -> list[NDArray[np.object_]]:
    h: Any = points.T
    values = []
    for i, (weight, bias) in enumerate(layers):
        if i:
            h = np.where(h > 0, h, 0)
        h = weight @ h + bias[:, None]
        values.append(h)
    return values


def _extreme(row: NDArray[np.object_], points: NDArray[np.object_]) -> Extreme:
    least, most = int(np.argmin(row)), int(np.argmax(row))
    low, high = tuple(map(Fraction, points[least])), tuple(map(Fraction, points[most]))
    return Extreme(Fraction(row[least]), Fraction(row[most]), low, high)


# How far each neuron reads, up and down, on a bounded domain: exactly where the regions are few, else proved.


_INPUTS, _NEURONS = 6, 400  # beyond, regions are not looked for


@dataclass(frozen=True, slots=True)
class NeuronBounds:
    """Ranges of the inputs of all neurons before the ReLU, hidden layers first and outputs last.

    Attributes
    ----------
    layers : tuple
        For each layer the pairs ``(low, high)``.
    exact : bool
        Whether every range is attained, so that no smaller constant is valid. Otherwise the ranges are proved bounds.
    """

    layers: tuple[tuple[tuple[Fraction, Fraction], ...], ...]
    exact: bool

    @property
    def how(self) -> str:
        """The method that found the ranges."""
        return "exact, from the regions" if self.exact else "proved, from intervals and linear programs"

    def state(self, layer: int, neuron: int) -> Literal["on", "off", "open"]:
        """Whether a hidden neuron is always active (its input is never negative), always inactive, or neither."""
        low, high = self.layers[layer][neuron]
        return "off" if high <= 0 else "on" if low >= 0 else "open"

    @property
    def counts(self) -> dict[str, int]:
        """The number of hidden neurons in each state."""
        states = [self.state(i, k) for i, layer in enumerate(self.layers[:-1]) for k in range(len(layer))]
        return {name: states.count(name) for name in ("on", "off", "open")}


def neuron_bounds(network: Network, domain: Polyhedron, max_regions: int | None = 5000) -> NeuronBounds:
    """The ranges of all neurons on a bounded domain.

    >>> from cpwl.geometry.polyhedra import box_polyhedron
    >>> network = Network([([[1], [1], [1]], [2, 0, -2]), ([[1, 1, 1]], [0])])
    >>> found = neuron_bounds(network, box_polyhedron((-1, 1), 1))
    >>> found.counts, found.exact, found.layers[1]
    ({'on': 1, 'off': 1, 'open': 1}, True, ((Fraction(1, 1), Fraction(4, 1)),))
    """
    few = network.inputs <= _INPUTS and network.sizes.neurons <= _NEURONS
    found = extremes(network, domain, max_regions) if few else None
    if found is not None:
        return NeuronBounds(tuple(tuple((e.low, e.high) for e in layer) for layer in found), True)
    layers = list(exact_layers(network))
    every = ranges([*layers, layers[-1]], domain)  # the outputs as if they were hidden neurons
    return NeuronBounds(tuple(tuple(map(_bounded, layer)) for layer in every), False)


def _bounded(ends: Range) -> tuple[Fraction, Fraction]:
    low, high = ends
    if low is None or high is None:
        raise InputError("the domain is not bounded: give a bounded one, such as `box=(-1, 1)`")
    return low, high


_ENDINGS = (".lp", ".mps")


@dataclass(frozen=True, slots=True, eq=False)
class Milp:
    """A network as a mixed-integer program, with a solver.

    Attributes
    ----------
    highs : highspy.Highs
        The model, to which you may add. Columns are named ``x0``, ``h1_0`` (layer, neuron), ``a1_0``, ``y0``.
    columns : dict
        The number of each column by its name.
    bounds : NeuronBounds
        The range of each neuron, and which neurons are always active or inactive.
    network : Network
        The network.
    units : dict
        Units of columns, powers of two, for neurons with very large or small values, and of the columns ``u0`` and
        ``v0`` behind inputs and outputs with a very large or small range: ``x0`` is its least value and the unit times
        ``u0``. The units of other columns are 1.
    """

    highs: Any = field(repr=False)
    columns: dict[str, int] = field(repr=False)
    bounds: NeuronBounds
    network: Network = field(repr=False)
    units: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def inputs(self) -> int:
        """The number of columns ``x``."""
        return self.network.inputs

    @property
    def outputs(self) -> int:
        """The number of columns ``y``."""
        return self.network.outputs

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.bounds.counts.items())
        return f"Milp({self.highs.getNumCol()} columns, {self.highs.getNumRow()} rows; neurons: {counts})"

    def optimum(self, objective: Sequence[float], *, largest: bool = False) -> tuple[float, NDArray[np.float64]]:
        """The least, or the largest, value of ``objective . y`` on the domain, and a point `x` where it is attained.

        The network is evaluated there. An answer of HiGHS with a relative error above 1e-4 is refused.
        """
        if len(objective) != self.outputs:
            raise InputError(f"`objective` must have one number for each of the {self.outputs} outputs")
        ranges = zip(objective, self.bounds.layers[-1], strict=True)
        size = sum(abs(c) * float(max(abs(low), abs(high), high - low)) for c, (low, high) in ranges)
        unit = _unit(size) if size else 1.0  # gaps are absolute, too
        every = np.arange(self.highs.getNumCol(), dtype=np.int32)
        cost = np.zeros(len(every))
        cost[[self.columns[f"y{k}"] for k in range(self.outputs)]] = np.asarray(objective, dtype=np.float64) / unit
        self.highs.changeColsCost(len(every), every, cost)
        sense = highspy.ObjSense.kMaximize if largest else highspy.ObjSense.kMinimize
        self.highs.changeObjectiveSense(sense)
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS ended with {self.highs.modelStatusToString(self.highs.getModelStatus())}")
        values = np.array(self.highs.getSolution().col_value)
        point = values[[self.columns[f"x{k}"] for k in range(self.inputs)]]
        value = unit * float(self.highs.getInfo().objective_function_value)
        there = float(self.network(point) @ np.asarray(objective, dtype=np.float64))
        if abs(value - there) > 1e-4 * size:
            raise SolverError(f"HiGHS says {value:.9g} at a point where the network gives {there:.9g}")
        return value, point


@within_float64()
def to_milp(
    source: CPWL | Network | Compiled,
    path: str | os.PathLike[str] | None = None,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = 5000,
) -> Milp:
    """A network, or the network of a function, as a mixed-integer linear program.

    Parameters
    ----------
    source : CPWL, Network or Compiled
        A function is compiled first.
    path : path-like, optional
        Also write the model there: ``.lp`` or ``.mps``, which all solvers read.
    domain, box
        The domain: ``(A, b)`` for ``A x <= b``, or ``(low, high)``. It must be bounded. Default: that of the function,
        outside of which a network means nothing: its part inside counts.
    max_regions : int, optional
        Compute exact neuron ranges up to this many linear regions; above it, use proved bounds.

    Returns
    -------
    Milp
        The program, with the HiGHS model ready for an objective and further rows.

    Raises
    ------
    InputError
        If the domain is not bounded, or the file cannot be written.

    Examples
    --------
    >>> p = CPWL.from_maxmin([[1, 0], [-1, 2], [0, 0]], [[0, 1], [2]])
    >>> value, x = to_milp(p, box=(-3, 3)).optimum([1], largest=True)
    >>> round(value, 6), x.round(6).tolist()
    (1.0, [1.0])
    """
    check_argument(source, (CPWL, Network, Compiled), "to_milp")
    check_limit(max_regions)
    if path is not None:
        check_path(path, "to_milp")
        if Path(os.fsdecode(path)).suffix.lower() not in _ENDINGS:
            raise InputError(f"`{os.fsdecode(path)}` must end in .lp or .mps")
    network, body = network_and_domain(source, domain, box)
    bounds = neuron_bounds(network, body, max_regions)
    made = _Model(network, body, bounds).milp()
    if path is not None:
        write_bytes(path, _written(made.highs, Path(os.fsdecode(path)).suffix.lower()))
    return made


def network_and_domain(
    source: CPWL | Network | Compiled, domain: Domain, box: tuple[Any, Any] | None
) -> tuple[Network, Polyhedron]:
    """The network of what was given, and its bounded domain; of a function within its own."""
    function, network = held_parts(source)
    dim = (network or function).inputs  # type: ignore[union-attr]  # one of them is there
    body = as_domain(domain, dim, box=box)
    if function is not None and not (isinstance(source, Compiled) and source.outside == "clip" and body is not None):
        try:
            rows = domain_rows(function)
            own = Polyhedron.from_rows(rows[:, :-1], rows[:, -1], dim=dim)
            body = own if body is None else body.meet(own)
        except InputError:  # it is not known: then the caller's domain alone counts
            if body is None:
                raise
    ends = None if body is None else bounding_box(body)
    if body is None or (ends is not None and any(low is None or high is None for low, high in ends)):
        raise InputError("the domain is not bounded: give a bounded one, such as `box=(-1, 1)`")
    if ends is None:
        raise InputError("the domain is empty: no point satisfies all of its rows, and those of the function's domain")
    return compiled_network(source), body


class _Model:
    """Columns and rows as they are added."""

    def __init__(self, network: Network, body: Polyhedron, bounds: NeuronBounds) -> None:
        self.network, self.body, self.bounds = network, body, bounds
        self.columns: list[tuple[str, float, float, bool]] = []
        """Name, bounds, and whether it is binary."""
        self.rows: list[tuple[str, dict[int, float], float, float]] = []
        self.units: dict[str, float] = {}
        self.starts: dict[int, Fraction] = {}
        """What columns ``u`` and ``v`` count from."""

    def milp(self) -> Milp:
        """The model, passed to HiGHS."""
        before = self._inputs()
        last = len(self.network.layers) - 1
        for i, (weight, bias) in enumerate(self.network.layers):
            after = []
            for k in range(len(bias)):
                own = slice(weight.indptr[k], weight.indptr[k + 1])
                pairs = list(zip(weight.indices[own], weight.data[own], strict=True))
                terms = {before[j]: float(w) * self.units.get(self.columns[before[j]][0], 1.0) for j, w in pairs}
                moved = [Fraction(w) * self.starts[before[j]] for j, w in pairs if before[j] in self.starts]
                constant = sum(moved, Fraction(bias[k]))
                make = self._output if i == last else self._neuron
                after.append(make(i, k, terms, float(constant)))
            before = after
        columns = {column[0]: number for number, column in enumerate(self.columns)}
        return Milp(self._highs(), columns, self.bounds, self.network, self.units)

    def _inputs(self) -> list[int]:
        found = [self._scaled("x", "u", k, *ends) for k, ends in enumerate(_ends(self.body))]
        for r, (a, b) in enumerate(_slanted(self.body)):
            b -= float(sum(Fraction(v) * self.starts.get(j, 0) for j, v in zip(found, a, strict=True)))
            terms = {j: v * self.units.get(self.columns[j][0], 1.0) for j, v in zip(found, a, strict=True) if v}
            size = max(map(abs, terms.values()))
            self._row(f"domain{r}", {j: v / size for j, v in terms.items()}, -highspy.kHighsInf, b / size)
        return found

    def _neuron(self, layer: int, k: int, terms: dict[int, float], bias: float) -> int:
        name = f"{layer + 1}_{k}"
        low, high = _doubles(*self.bounds.layers[layer][k])
        state = self.bounds.state(layer, k)
        if state == "off":
            return self._column(f"h{name}", 0.0, 0.0)
        unit = _unit(max(abs(low), abs(high)))
        if unit != 1:  # the neuron in another unit, which rounds nothing
            self.units[f"h{name}"] = unit
            low, high, bias = low / unit, high / unit, bias / unit
            terms = {j: w / unit for j, w in terms.items()}
        h = self._column(f"h{name}", max(low, 0.0), high)
        if state == "on":
            self._row(f"on{name}", {**_negative(terms), h: 1.0}, bias, bias)
            return h
        a = self._column(f"a{name}", 0.0, 1.0, binary=True)
        self._row(f"above{name}", {**_negative(terms), h: 1.0}, bias, highspy.kHighsInf)
        self._row(f"below{name}", {**_negative(terms), h: 1.0, a: -low}, -highspy.kHighsInf, bias - low)
        self._row(f"zero{name}", {h: 1.0, a: -high}, -highspy.kHighsInf, 0.0)
        return h

    def _output(self, layer: int, k: int, terms: dict[int, float], bias: float) -> int:
        v = self._scaled("y", "v", k, *self.bounds.layers[layer][k])
        unit = self.units.get(self.columns[v][0], 1.0)
        constant = (bias - float(self.starts.get(v, 0))) / unit
        self._row(f"output{k}", {**{j: -w / unit for j, w in terms.items()}, v: 1.0}, constant, constant)
        return v

    def _scaled(self, name: str, inner: str, k: int, low: Fraction, high: Fraction) -> int:
        """The column of an input or an output, or the one with its bounds: ``x0 = low + unit u0`` if it has a unit."""
        unit = _unit(float(high - low))
        if unit == 1:
            return self._column(f"{name}{k}", *_doubles(low, high))
        outer = self._column(f"{name}{k}", -highspy.kHighsInf, highspy.kHighsInf)
        column = self._column(f"{inner}{k}", *_doubles(Fraction(0), (high - low) / Fraction(unit)))
        self.units[f"{inner}{k}"], self.starts[column] = unit, low
        factor = max(1.0, 1 / unit)  # solvers drop small coefficients
        start = float(low) * factor
        self._row(f"unit_{name}{k}", {outer: factor, column: -factor * unit}, start, start)
        return column

    def _column(self, name: str, low: float, high: float, *, binary: bool = False) -> int:
        self.columns.append((name, float(low), float(high), binary))
        return len(self.columns) - 1

    def _row(self, name: str, terms: dict[int, float], low: float, high: float) -> None:
        self.rows.append((name, terms, low, high))

    def _highs(self) -> Any:
        lp, kinds = highspy.HighsLp(), highspy.HighsVarType
        lp.col_names_, low, high, binary = map(list, zip(*self.columns, strict=True))
        lp.row_names_, terms, least, most = map(list, zip(*self.rows, strict=True))
        lp.integrality_ = [kinds.kInteger if each else kinds.kContinuous for each in binary]
        start = np.cumsum([0] + [len(row) for row in terms])
        index = np.array([j for row in terms for j in row], dtype=np.int32)
        value = np.array([v for row in terms for v in row.values()])
        ends, sums = (np.array(low), np.array(high)), (np.array(least), np.array(most))
        # What is smaller than a small value is taken for 0: the least that there is.
        highs = highs_with({"small_matrix_value": 1e-12, "mip_rel_gap": 1e-6})
        if not highs_takes(lp, highs, np.zeros(len(low)), (start, index, value), ends, sums):
            raise SolverError("HiGHS refused the model: its numbers are too large for it")
        return highs


def _ends(body: Polyhedron) -> list[tuple[Fraction, Fraction]]:
    """The box around a bounded domain."""
    return [(low or Fraction(0), high or Fraction(0)) for low, high in bounding_box(body) or []]


def _slanted(body: Polyhedron) -> list[tuple[list[float], float]]:
    """The rows ``a . x <= b`` of a domain with several inputs in them, which its bounding box does not state."""
    rows = [(a, b, np.abs(a).max()) for a, b in zip(body.A, body.b, strict=True) if np.count_nonzero(a) > 1]
    return [((a / size).tolist(), float(b / size)) for a, b, size in rows]  # integer rows may be very long


def _unit(size: float) -> float:
    """A power of two near the size, where that is far from 1: solvers have absolute tolerances, and refuse 1e15."""
    return 1.0 if 1e-2 < size < 1e3 or not size else 2.0 ** (math.frexp(size)[1] - 1)


def _negative(terms: dict[int, float]) -> dict[int, float]:
    return {j: -w for j, w in terms.items()}


def _written(highs: Any, ending: str) -> bytes:
    """The model as HiGHS writes it, by way of a file of its own."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, f"model{ending}")
        if highs.writeModel(str(draft)) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS could not write the model")
        data = draft.read_bytes()
    # HiGHS does not say when the disk is full: both kinds of files have a last line.
    if data.split()[-1:] != [b"ENDATA" if ending == ".mps" else b"end"]:
        raise InputError(f"cannot write the model to a temporary file in `{tempfile.gettempdir()}`: it is cut off")
    return data


# Files for OMLT: the network, bounds of its inputs, and bounds of its neurons.
#
# OMLT (1.2) reads ``law.onnx`` and, beside it, ``law.onnx.bounds.json``. It finds bounds of neurons by intervals.
# ``law.onnx.neurons.json`` has ours, and `tighten_omlt` puts them into a big-M formulation in the place of those. The
# inputs of OMLT are a box: other rows of the domain are in that file, too, and become constraints of the block.


@within_float64()
def to_omlt(
    source: CPWL | Network | Compiled,
    path: str | os.PathLike[str],
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = 5000,
) -> NeuronBounds:
    """Write ``law.onnx``, ``law.onnx.bounds.json`` and ``law.onnx.neurons.json``; `path` is the first of them.

    `omlt.io.load_onnx_neural_network_with_bounds(path)` reads the first two; then
    ``cpwl.io.tighten_omlt(block, path)`` makes the big-M constants of the formulation in the block the smallest, and
    adds the rows of a domain that is not a box. A warning says that OMLT does not know them.

    Parameters
    ----------
    source, domain, box, max_regions
        As in `to_milp`.
    path : path-like
        The ONNX file.

    Returns
    -------
    NeuronBounds
        The content of the last file.
    """
    check_argument(source, (CPWL, Network, Compiled), "to_omlt")
    check_path(path, "to_omlt")
    check_limit(max_regions)
    name = os.fsdecode(path)
    if not name.lower().endswith(".onnx"):
        raise InputError(f"`{name}` must end in .onnx")
    network, body = network_and_domain(source, domain, box)
    bounds = neuron_bounds(network, body, max_regions)
    # OMLT writes the key of input i of a [1, n] array as the pair (0, i).
    inputs = [
        {"key": [0, k], "lower_bound": a, "upper_bound": b}
        for k, (a, b) in enumerate(_doubles(low, high) for low, high in _ends(body))
    ]
    rows = _slanted(body)
    if rows:
        message = f"OMLT reads the box around the domain: `tighten_omlt` must add its {len(rows)} other rows"
        warnings.warn(message, CpwlWarning, stacklevel=2)
    beside = {"bounds": inputs, "neurons": {**_document(bounds), "domain": rows}}
    write_together(
        [
            (path, onnx_bytes(network)),
            *((f"{name}.{what}.json", f"{json.dumps(said)}\n".encode()) for what, said in beside.items()),
        ]
    )
    return bounds


def _document(bounds: NeuronBounds) -> dict[str, Any]:
    layers = [[{"low": text(low), "high": text(high)} for low, high in layer] for layer in bounds.layers]
    for i, layer in enumerate(layers[:-1]):
        for k, neuron in enumerate(layer):
            neuron["state"] = bounds.state(i, k)
    return {"format": "cpwl-neurons", "version": 1, "exact": bounds.exact, "layers": layers}


def tighten_omlt(block: Any, path: str | os.PathLike[str]) -> int:
    """Write the bounds of ``path.neurons.json`` into an OMLT block built with `ReluBigMFormulation`.

    Rows of the domain with several inputs become the constraints ``block.domain``.

    Returns the number of neurons that it fixed because they are always active or always inactive.
    """
    check_path(path, "tighten_omlt")
    name = f"{os.fsdecode(path)}.neurons.json"
    data = read_bytes(name)
    try:
        said = json.loads(data)
        layers, rows = said["layers"], said.get("domain", [])
        ends = [[_doubles(Fraction(n["low"]), Fraction(n["high"])) for n in layer] for layer in layers]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{name} was not written by `to_omlt`: {error}", path=name) from None
    dense = [block.layer[number] for number in block.layers if hasattr(block.layer[number], "zhat")]
    if [len(part.zhat) for part in dense] != [len(layer) for layer in ends]:
        raise InputError(f"{name} belongs to another network than this block")
    if rows:
        from pyomo.environ import Constraint  # type: ignore[import-untyped]

        x = list(block.inputs.values())
        sums = [(None, sum(v * x[k] for k, v in enumerate(a) if v), b) for a, b in rows]
        block.domain = Constraint(range(len(rows)), rule=lambda _, r: sums[r])
    fixed = 0
    for part, layer in zip(dense, ends, strict=True):
        for index, (low, high) in zip(part.zhat, layer, strict=True):
            part.zhat[index].setlb(low)
            part.zhat[index].setub(high)
            if hasattr(part, "q_relu"):
                part._big_m_lb_relu[index], part._big_m_ub_relu[index] = min(low, 0.0), max(high, 0.0)
                part.z[index].setlb(max(low, 0.0))
                part.z[index].setub(max(high, 0.0))
                if low >= 0 or high <= 0:
                    part.q_relu[index].fix(1 if high > 0 else 0)
                    fixed += 1
    return fixed


def _doubles(low: Fraction, high: Fraction) -> tuple[float, float]:
    return float(towards(low, "float64", -1)), float(towards(high, "float64", 1))
