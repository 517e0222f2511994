"""The ReLU network as a value: sparse affine layers with a ReLU between any two of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_array, csr_array, issparse

from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.rational import as_reals, fraction_array, from_flint_array, points_of, to_flint, to_float
from cpwl.exact.sparse import RationalMatrix

# The values of a network at many points, in float64 or in rationals, within bounded memory.


# Activations held at once: a megabyte of doubles, which stays in the processor's cache, but a few points in any case;
# and products of rationals, each of which is an object.
_BLOCK = 2**17
_FEWEST = 16
_EXACT_BLOCK = 2**18
# Dense products run about 16 times as many multiplications a second as sparse ones do; a sparse product of few points
# takes as long to call as a dense one of _CALL entries takes to run.
_DENSITY = 16
_CALL = 2**14
_DENSE_ENTRIES = 2**24
_HELD = 2**20  # numbers that a network keeps from one call to the next


def evaluate(network: Network, x: NDArray[Any]) -> NDArray[Any]:
    """The outputs ``(N, m)`` at the points `x` ``(N, n)``, in the type of the points, float64 or float32."""
    layers = _operators(network, x.dtype.char, len(x) < _FEWEST)
    if len(x) == 1:
        h: NDArray[Any] = np.ones(network.inputs + 1, dtype=x.dtype)
        h[:-1] = x[0]
        for i, weight in enumerate(layers):
            h = weight.dot(np.maximum(h, 0.0) if i else h)
        return h[None]
    widest = max(max(weight.shape) for weight in layers)
    result = np.empty((len(x), network.outputs), dtype=x.dtype)
    for block in _blocks(len(x), max(_FEWEST, _BLOCK // widest)):
        # One column a point: a sparse matrix times a dense one runs along the rows of both.
        h = np.ones((network.inputs + 1, len(x[block])), dtype=x.dtype)
        h[:-1] = x[block].T
        for i, weight in enumerate(layers):
            h = weight @ (np.maximum(h, 0.0, out=h) if i else h)
        result[block] = h.T
    return result


def evaluate_exact(layers: Sequence[tuple[Any, Any]], x: NDArray[np.object_]) -> NDArray[np.object_]:
    """The outputs ``(N, m)`` at the points `x` ``(N, n)``, as `Fraction` and without any rounding.

    On the way numbers are those of flint, with which sums take a fraction of the time.
    """
    widest = max(weight.nnz + max(weight.shape) for weight, _ in layers)
    result = np.empty((len(x), layers[-1][0].shape[0]), dtype=object)
    flint = [(weight, _to_flint(weight.data)[:, None], _to_flint(bias)[:, None]) for weight, bias in layers]
    for block in _blocks(len(x), _EXACT_BLOCK // widest):
        h = _to_flint(x[block].T)
        for i, (weight, data, bias) in enumerate(flint):
            if i:
                h = np.where(h > 0, h, fmpq())
            terms, filled = data * h[weight.indices], np.flatnonzero(np.diff(weight.indptr))
            h = np.repeat(bias, h.shape[1], axis=1)
            if len(filled):
                h[filled] += np.add.reduceat(terms, weight.indptr[filled], axis=0)
        result[block] = from_flint_array(h.T)
    return fraction_array(result)


_to_flint = np.frompyfunc(to_flint, 1, 1)


def _blocks(points: int, size: int) -> Iterator[slice]:
    size = max(1, size)
    return (slice(start, start + size) for start in range(0, points, size))


def _operators(network: Network, dtype: str, few: bool) -> list[Any]:
    """Weights with the bias as last column, dense where that is faster for few or for many points; the last row of a
    hidden layer hands on the 1 that biases are multiplied by."""
    key = dtype + "few" if few else dtype
    found: list[Any] = network.held.get(key, [])
    if found:
        return found
    if dtype == "f":
        rounded(network, "float32")  # `LimitError` for a weight beyond the type
    size = 0
    for number, (weight, bias) in enumerate(network.layers, start=1):
        rows: list[Any] = [[weight, csr_array(bias[:, None])], [None, csr_array([[1.0]])]]
        joined = csr_array(block_array(rows[: 1 if number == len(network.layers) else 2], dtype=dtype))
        entries = joined.shape[0] * joined.shape[1]
        dense = entries <= (_CALL if few else _DENSE_ENTRIES) and (few or joined.nnz * _DENSITY >= entries)
        size += entries if dense else joined.nnz
        found.append(joined.toarray() if dense else joined)
    if size <= _HELD:
        network.held[key] = found
    return found


Layer: TypeAlias = "tuple[csr_array[Any, tuple[int, int]], NDArray[np.float64]]"
ExactLayer: TypeAlias = "tuple[RationalMatrix, NDArray[np.object_]]"
_TYPES = ("float64", "float32")


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a network costs: hidden neurons, affine layers, the widest hidden layer (Definition 5), nonzeros.

    `nonzeros` counts the weight matrices only; biases are not counted.
    """

    neurons: int
    depth: int
    width: int
    nonzeros: int

    @property
    def bytes(self) -> int:
        """Weights, and biases of hidden neurons, as doubles; `weight_bytes` counts shorter types."""
        return 8 * (self.nonzeros + self.neurons)


class Layered:
    """What follows from layers ``(weight, bias)`` alone, of floats or of integers."""

    __slots__ = ()
    layers: tuple[tuple[csr_array[Any, tuple[int, int]], Any], ...]

    @property
    def inputs(self) -> int:
        """The number of input coordinates."""
        return int(self.layers[0][0].shape[1])

    @property
    def outputs(self) -> int:
        """The number of output coordinates."""
        return int(self.layers[-1][0].shape[0])

    @property
    def sizes(self) -> Sizes:
        """Neurons, depth, width and nonzero weights."""
        hidden = [int(weight.shape[0]) for weight, _ in self.layers[:-1]]
        nonzeros = sum(int(weight.nnz) for weight, _ in self.layers)
        return Sizes(sum(hidden), len(self.layers), max(hidden, default=0), nonzeros)

    @property
    def _widths(self) -> str:
        return " -> ".join(map(str, [self.inputs, *(weight.shape[0] for weight, _ in self.layers)]))


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Network(Layered):
    """The function ``x -> W_l s(... s(W_1 x + b_1) ...) + b_l`` with ``s(z) = max(0, z)`` (Definition 4).

    Parameters
    ----------
    layers
        The pairs ``(W_i, b_i)``. A weight is a dense array, a nested list, a scipy sparse array or a
        `RationalMatrix`; entries are floats, ints, `Fraction` or strings "p/q".

    Notes
    -----
    `layers` holds the float64 view of every layer. `exact` holds the same layers as rationals if any of
    them was given in rationals, and is `None` for a network of floats, which is its own exact value.

    >>> network = Network([([[1], [-1]], [0, 0]), ([[1, 1]], ["1/3"])])
    >>> network
    Network(1 -> 2 -> 1)
    >>> network.sizes
    Sizes(neurons=2, depth=2, width=2, nonzeros=4)
    >>> network([[-2.0], [3.0]])
    array([[2.33333333],
           [3.33333333]])
    >>> network(fraction_array([["1/2"]]))
    array([[Fraction(5, 6)]], dtype=object)
    """

    layers: tuple[Layer, ...]
    exact: tuple[ExactLayer, ...] | None
    evaluated_in: tuple[str, ...]
    """The float types whose layer-by-layer evaluation has a rounding bound. Empty for a network from a file whose
    operations are not these layers: a bound for the layers says nothing about running that file."""
    held: dict[str, Any]
    """Layers in the form that products use, by type; computed on first use."""

    def __init__(self, layers: Iterable[tuple[Any, Any]]) -> None:
        if isinstance(layers, (str, bytes)) or not isinstance(layers, Iterable):
            raise InputError("`Network` takes a list of pairs (weight, bias), one for each layer")
        pairs = [_convert_layer(layer, number) for number, layer in enumerate(layers, start=1)]
        views = [view for view, _ in pairs]
        _check_shapes(views)
        rational = any(exact is not None for _, exact in pairs)
        object.__setattr__(self, "layers", tuple(_freeze(view) for view in views))
        exact = tuple(exact or _exact_layer(view) for view, exact in pairs) if rational else None
        object.__setattr__(self, "exact", exact)
        object.__setattr__(self, "evaluated_in", _TYPES)
        object.__setattr__(self, "held", {})

    def __repr__(self) -> str:
        return f"Network({self._widths})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.layers, self.exact, self.evaluated_in)

    def __call__(self, x: ArrayLike, *, precision: str = "float64") -> NDArray[Any]:
        """The outputs at the points `x`: ``(N, n) -> (N, m)``, or a single point ``(n,) -> (m,)``.

        Numbers are taken and returned as float64, or as float32 with ``precision="float32"``, weights rounded.
        Rationals (object arrays, "p/q" strings) are evaluated exactly and returned as an object array of `Fraction`.
        """
        if precision not in _TYPES:
            raise InputError(f'`precision` must be "float64" or "float32", not {str(precision)[:40]!r}')
        points = points_of(x)
        exact = points.dtype == object
        if not exact and not np.isfinite(points).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(points))[0])
            raise InputError(f"`x` must be finite, but `x{list(where)}` is {points[where]}", where=where)
        if points.ndim not in (1, 2) or points.shape[-1] != self.inputs:
            raise InputError(
                f"`x` has shape {points.shape}, but this network takes points of {self.inputs} coordinates; "
                f"write (N, {self.inputs}) for N points or ({self.inputs},) for one",
                shape=points.shape,
            )
        rows = points.reshape(-1, self.inputs)
        values = (
            evaluate_exact(exact_layers(self), rows) if exact else evaluate(self, rows.astype(precision, copy=False))
        )
        return values[0] if points.ndim == 1 else values

    # Calculating, exactly: declared here; `cpwl.network.algebra` has the algorithms. NumPy leaves `2.0 * network` and
    # `A @ network` to us.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Network:
        """The sum of two networks, side by side, or of a network and a constant; in rationals.

        >>> relu = Network([([[1]], [0]), ([[1]], [0])])
        >>> (relu + relu @ ([[-1]], [0]) - "1/2")([["-3"]])
        array([[Fraction(5, 2)]], dtype=object)
        """

    def __radd__(self, constant: Any) -> Network:
        """The sum of a constant and a network."""

    def __sub__(self, other: Any) -> Network:
        """The difference of two networks, or of a network and a constant."""

    def __rsub__(self, constant: Any) -> Network:
        """The network ``x -> constant - network(x)``."""
        return (-self).__add__(constant)

    def __neg__(self) -> Network:
        """The network ``x -> -network(x)``."""
        return self * -1

    def __mul__(self, factor: Any) -> Network:
        """The multiple by a number, or by one for each output."""

    def __rmul__(self, factor: Any) -> Network:
        """The multiple by a number, or by one for each output."""

    def __matmul__(self, inner: Any) -> Network:
        """The network after another one, or after an affine map ``(A, b)``."""

    def compose(self, inner: Any) -> Network:
        """The network ``x -> network(inner(x))`` of another network, or of an affine map ``(A, b)``.

        >>> relu = Network([([[1]], [0]), ([[1]], [0])])
        >>> (relu @ relu).sizes.neurons, (relu @ ([[1, -1]], [0]))([[5.0, 3.0]])
        (2, array([[2.]]))
        """

    def __rmatmul__(self, matrix: Any) -> Network:
        """The network ``x -> M network(x)``."""

    def __getitem__(self, j: Any) -> Network:
        """Output `j` of a network, or those of a slice or list; neurons that are no longer read stay."""

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the network with matplotlib: neurons and weights, or the widths of the layers if it is large.

        Positive weights are orange, negative weights are blue. Returns the axes.
        """

    def _repr_svg_(self) -> str:
        """Its layers as bars, for notebooks."""


def assemble(layers: Sequence[Layer], exact: Sequence[ExactLayer] | None = None) -> Network:
    """The network of layers that are already converted and fit each other; nothing is copied.

    The weights must have no duplicates. `exact`, where given, must be what `layers` is the float64 view of.
    For steps from network to network; what a caller writes goes through `Network`.
    """
    for number, (weight, bias) in enumerate(layers, start=1):
        assert len(bias) == weight.shape[0]
        assert number == 1 or weight.shape[1] == layers[number - 2][0].shape[0]
        if not (np.isfinite(weight.data).all() and np.isfinite(bias).all()):
            raise LimitError(f"layer {number} has a weight that is too large for float64", layer=number)
    network = object.__new__(Network)
    object.__setattr__(network, "layers", tuple(_freeze(layer) for layer in layers))
    object.__setattr__(network, "exact", None if exact is None else tuple(exact))
    object.__setattr__(network, "evaluated_in", _TYPES)
    object.__setattr__(network, "held", {})
    return network


def meant(network: Network) -> Network:
    """The same weights held as rationals: its numbers are meant, and no rounding of others."""
    return assemble(network.layers, exact_layers(network))


def _again(layers: Any, exact: Any, types: tuple[str, ...]) -> Network:
    """A network from its pickle."""
    return run_in(assemble(layers, exact), types)


def rounded(network: Network, dtype: str) -> Network:
    """The network of floats that a file of that type has: every weight and bias rounded to nearest.

    >>> rounded(Network([([["1/3"]], [0])]), "float32").layers[0][0].data
    array([0.33333334])
    """
    layers = []
    for number, (weight, bias) in enumerate(network.layers, start=1):
        with np.errstate(over="ignore"):
            data, shift = (v.astype(dtype).astype(np.float64) for v in (weight.data, bias))
        if not (np.isfinite(data).all() and np.isfinite(shift).all()):
            size = max(np.abs(weight.data).max(initial=0.0), np.abs(bias).max())
            message = f"layer {number} has a number of size {size:.3g}, but {dtype} ends at {np.finfo(dtype).max:.3g}"
            raise LimitError(message, layer=number)
        layers.append((csr_array((data, weight.indices.copy(), weight.indptr.copy()), shape=weight.shape), shift))
    return run_in(assemble(layers), (dtype,))


def integer_multiples(values: NDArray[np.float64]) -> tuple[str, NDArray[np.int64], float] | None:
    """The shortest of "int8" and "int16" that holds numbers as multiples of a power of two, the multiples, and that
    power; None if they are no such numbers.

    >>> integer_multiples(np.array([0.5, -3.0, 0.0]))
    ('int8', array([ 1, -6,  0]), 0.5)
    >>> integer_multiples(np.array([0.1]))
    """
    fraction, exponent = np.frexp(values[values != 0])
    if not len(fraction):
        return None
    whole = np.ldexp(fraction, 53).astype(np.int64)
    lowest = (exponent - 53 + np.frexp((whole & -whole).astype(np.float64))[1] - 1).min()
    if exponent.max() - lowest > 16 or not -1000 < lowest < 1000:
        return None
    unit = math.ldexp(1.0, int(lowest))
    multiples = (values / unit).astype(np.int64)
    most = np.abs(multiples).max()
    return None if most > 2**15 - 1 else ("int8" if most <= 2**7 - 1 else "int16", multiples, unit)


def weight_bytes(network: Network) -> int:
    """Bytes of all weights and biases, each kind in the shortest type that holds it: integers times a power of two,
    float32 or float64."""
    weights = np.concatenate([weight.data for weight, _ in network.layers])
    biases = np.concatenate([bias for _, bias in network.layers])
    short = integer_multiples(weights)
    with np.errstate(over="ignore"):
        real, size = (8 - 4 * bool((v.astype(np.float32) == v).all()) for v in (biases, weights))
    return (size if short is None else np.dtype(short[0]).itemsize) * len(weights) + real * len(biases)


def run_in(network: Network, types: Sequence[str]) -> Network:
    """The same network, run layer by layer in the given types only, or in none."""
    same = assemble(network.layers, network.exact)
    object.__setattr__(same, "evaluated_in", tuple(name for name in (*_TYPES, "float16") if name in types))
    return same


def exact_layers(network: Network) -> tuple[ExactLayer, ...]:
    """The layers as rationals; the float weights of a float network are the rationals that they are."""
    return tuple(map(_exact_layer, network.layers)) if network.exact is None else network.exact


def exact_layer(network: Network, number: int) -> ExactLayer:
    """Layer `number`, from 0, as rationals."""
    return _exact_layer(network.layers[number]) if network.exact is None else network.exact[number]


def float_layer(layer: ExactLayer) -> Layer:
    """The float64 view of a rational layer, every number rounded once."""
    weight, bias = layer
    try:
        return weight.tofloat(), to_float(bias)
    except OverflowError:
        raise LimitError("a layer has a bias that is too large for float64") from None


def _exact_layer(layer: Layer) -> ExactLayer:
    return RationalMatrix.from_float(layer[0]), _read_only(fraction_array(layer[1]))


def _convert_layer(layer: Any, number: int) -> tuple[Layer, ExactLayer | None]:
    try:
        weight, bias = layer
    except (TypeError, ValueError):
        raise InputError(f"layer {number} is not a pair (weight, bias)", layer=number) from None
    try:
        weight_view, weight_exact = _convert_weight(weight, f"layer {number} weight")
        bias_view, bias_exact = _convert_reals(bias, f"layer {number} bias")
    except OverflowError:
        message = f"layer {number} has a number that is too large for float64"
        raise LimitError(message, layer=number) from None
    if bias_view.ndim != 1 or len(bias_view) != weight_view.shape[0]:
        rows, columns = weight_view.shape
        raise InputError(
            f"layer {number} has a weight of {rows} x {columns} and a bias of shape {bias_view.shape}; "
            f"its bias must have {rows} entries",
            layer=number,
        )
    view = (weight_view, bias_view)
    if weight_exact is None and bias_exact is None:
        return view, None
    if weight_exact is None:
        weight_exact = RationalMatrix.from_float(weight_view)
    if bias_exact is None:
        bias_exact = fraction_array(bias_view)
    return view, (weight_exact, _read_only(bias_exact))


def _convert_weight(weight: Any, name: str) -> tuple[csr_array[Any, tuple[int, int]], RationalMatrix | None]:
    if isinstance(weight, RationalMatrix):
        return weight.tofloat(), weight
    if issparse(weight):
        sparse: csr_array[Any, tuple[int, int]] = csr_array(cast(Any, weight), copy=True)
        if sparse.ndim != 2:
            raise InputError(f"`{name}` must have rows and columns, but has shape {sparse.shape}", name=name)
        sparse.sum_duplicates()
        if sparse.dtype.kind == "f" and not np.isfinite(sparse.data).all():
            entry = int(np.flatnonzero(~np.isfinite(sparse.data))[0])
            row, column = int(np.searchsorted(sparse.indptr, entry, "right")) - 1, int(sparse.indices[entry])
            message = f"`{name}` must be finite, but `{name}[{row}, {column}]` is {sparse.data[entry]}"
            raise InputError(message, name=name, where=(row, column))
        data, exact = as_reals(sparse.data, name)
        view = csr_array((data, sparse.indices, sparse.indptr), shape=sparse.shape)
        return view, None if exact is None else RationalMatrix.from_float(sparse)
    dense, exact = _convert_reals(weight, name)
    if dense.ndim != 2:
        raise InputError(f"`{name}` must have rows and columns, but has shape {dense.shape}", name=name)
    return csr_array(dense), None if exact is None else RationalMatrix.from_dense(exact)


def _convert_reals(x: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.object_] | None]:
    if np.isscalar(x):
        raise InputError(f"`{name}` must be a list or an array, not `{str(x)[:50]}`", name=name)
    # `as_reals` forgets rationals that are doubles; a network given in rationals stays rational.
    view, exact = as_reals(x, name)
    if exact is None and np.asarray(x).dtype.kind in "OUS":
        exact = fraction_array(np.asarray(x, dtype=object))
    return view, exact


def _check_shapes(layers: Sequence[Layer]) -> None:
    if not layers:
        raise InputError("a network needs at least one layer")
    for number, (weight, _) in enumerate(layers, start=1):
        if 0 in weight.shape:
            shape = f"{weight.shape[0]} x {weight.shape[1]}"
            raise InputError(f"layer {number} has a weight of {shape}, which is empty", layer=number)
        if number > 1 and weight.shape[1] != layers[number - 2][0].shape[0]:
            given = layers[number - 2][0].shape[0]
            sizes = (
                f"takes {counted(weight.shape[1], 'input')}, but layer {number - 1} gives {counted(given, 'output')}"
            )
            raise InputError(f"layer {number} {sizes}", layer=number)


def _freeze(layer: Layer) -> Layer:
    weight, bias = layer
    if weight.data.flags.writeable:
        weight.eliminate_zeros()
        weight.sort_indices()
        for array in (weight.data, weight.indices, weight.indptr):
            array.flags.writeable = False
    # Adding 0.0 turns -0.0 into 0.0, so that equal networks have equal bytes.
    return weight, _read_only(bias + 0.0) if bias.flags.writeable else bias


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
