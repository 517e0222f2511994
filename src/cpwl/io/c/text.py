"""The header: constants and a few loops in C99, no heap, no mathematics library."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import LimitError, counted
from cpwl.io.c.tree import Tree, law_row, tree_box, tree_error
from cpwl.network.integer import IntegerNetwork
from cpwl.network.network import Network, integer_multiples, rounded

# The numbers of a network or a search tree (of a grid: grid.py) in the type of the C code, and what they cost.
#
# A table is a constant array of the header. Weights are held as they are, or, where they repeat and that is smaller,
# once each in a pool with a short index for every use; a layer is held sparse, or dense where that is smaller. Neither
# changes what is computed.


_UNSIGNED = ((2**8, "uint8_t"), (2**16, "uint16_t"), (2**32, "uint32_t"))
_SIGNED = ((2**7, "int8_t"), (2**15, "int16_t"), (2**31, "int32_t"))
_BYTES = {f"{sign}int{8 * size}_t": size for sign in ("", "u") for size in (1, 2, 4, 8)} | {"float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class Cost:
    """What code costs: bytes of constants, multiply-adds and comparisons in the worst case, bytes of working memory."""

    flash: int
    multiply_adds: int
    comparisons: int
    stack: int

    def __add__(self, more: Cost) -> Cost:
        return Cost(*(a + b for a, b in zip(astuple(self), astuple(more), strict=True)))

    @property
    def operations(self) -> int:
        """What "fastest" compares: multiply-adds and comparisons."""
        return self.multiply_adds + self.comparisons

    def __str__(self) -> str:
        return f"{self.flash:,} bytes of constants, at most {self.multiply_adds:,} multiply-adds"


@dataclass(frozen=True, slots=True, eq=False)
class CArray:
    """A constant array: the end of its name, its type in C, and its numbers, ``(k,)`` or ``(k, l)``."""

    name: str
    kind: str
    values: NDArray[Any]

    @property
    def bytes(self) -> int:
        return int(self.values.size) * _BYTES[self.kind]


class CBody(Protocol):
    """One form of a function in C. ``str(body)`` says what it is."""

    @property
    def dtype(self) -> str: ...
    @property
    def tables(self) -> tuple[CArray, ...]: ...
    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def cost(self) -> Cost: ...
    def code(self, words: dict[str, str]) -> tuple[list[str], list[str]]:
        """Helpers, to be formatted with `words`, and the statements that compute `y` at `p`."""
        ...


class LayerTables(NamedTuple):
    """An affine map in tables weight_i and bias_i; if it is sparse, column_i and start_i say where its weights are."""

    rows: int
    columns: int
    products: int
    sparse: bool


@dataclass(frozen=True, slots=True, eq=False)
class NetworkTables:
    """A network in one type: its layers as arrays, and as tables. Of integers it is the type of sums."""

    network: Network | IntegerNetwork
    """The weights as the code has them."""
    dtype: str
    layers: tuple[LayerTables, ...]
    tables: tuple[CArray, ...]
    inputs: int
    outputs: int
    pool: bool
    """Whether weights are held by their number in a pool."""
    unit: float = 0.0
    """Where weights are held as short integers: the power of two that these are multiplied by."""

    @property
    def cost(self) -> Cost:
        hidden = [layer.rows for layer in self.layers[:-1]]
        widest = max(hidden, default=0)
        memory = (widest + (max(hidden[1:], default=0) if len(hidden) > 1 else 0)) * np.dtype(self.dtype).itemsize
        return Cost(
            sum(table.bytes for table in self.tables),
            sum(layer.products for layer in self.layers),
            sum(hidden),
            memory,
        )

    def __str__(self) -> str:
        sizes = self.network.sizes
        of = " of integers" if isinstance(self.network, IntegerNetwork) else ""
        return f"A ReLU network{of}: {counted(sizes.neurons, 'neuron')} in {counted(sizes.depth - 1, 'hidden layer')}."

    def code(self, words: dict[str, str]) -> tuple[list[str], list[str]]:
        """Loops over the layers."""
        kinds = {table.name: table.kind for table in self.tables}
        for table, usual in (("weight", words["real"]), ("column", "uint8_t"), ("start", "uint8_t")):
            words[table] = next((kind for name, kind in kinds.items() if name.startswith(f"{table}_")), usual)
        words["value"] = f"{words['name']}_value[weight[k]]" if self.pool else "weight[k]"
        if self.unit:  # the product is exact
            words["value"] = f"(weight[k] * ({words['real']}){self.unit!r})"
        kept = {layer.sparse for layer in self.layers}
        helpers = [text for text, sparse in ((_DENSE, False), (_SPARSE, True)) if sparse in kept]
        name, real = words["name"], words["real"]
        hidden = [layer.rows for layer in self.layers[:-1]]
        lines = []
        if hidden:
            helpers.append(_RELU)
            sizes = [max(hidden[k::2], default=0) for k in (0, 1)]
            lines.append(
                f"{real} " + ", ".join(f"{b}[{size}]" for b, size in zip("ab", sizes, strict=True) if size) + ";"
            )
        before = "p"
        for i, layer in enumerate(self.layers, start=1):
            after = "y" if i > len(hidden) else "ba"[i % 2]
            ends = f"{name}_bias_{i}, {layer.rows}u, {before}, {after});"
            if layer.sparse:
                # A map without products has no tables of them: any pointer will do.
                weight, column = (f"{name}_{t}" if t in kinds else "0" for t in (f"weight_{i}", f"column_{i}"))
                lines.append(f"{name}_sparse({weight}, {column}, {name}_start_{i}, {ends}")
            else:
                lines.append(f"{name}_dense({name}_weight_{i}, {layer.columns}u, {ends}")
            if after != "y":
                lines.append(f"{name}_relu({after}, {layer.rows}u);")
            before = after
        return helpers, lines


@dataclass(frozen=True, slots=True, eq=False)
class TreeTables:
    """Search trees in one type: rows ``(constant, slopes)`` of planes, and of the laws, output by output."""

    tree: Tree
    dtype: str
    planes: NDArray[Any]
    laws: NDArray[Any]
    lines: NDArray[Any]
    """Start and scale of the buckets along each axis."""
    tables: tuple[CArray, ...]
    inputs: int
    outputs: int
    shift: int | None = None
    """In fixed point, what the sum of a law is divided by, as a power of two."""

    @property
    def cost(self) -> Cost:
        n, m = self.inputs, self.outputs
        flash = sum(table.bytes for table in self.tables)
        return Cost(flash, self.tree.depth * n + m * n + len(self.lines), self.tree.depth + 2 * len(self.lines), 0)

    def __str__(self) -> str:
        laws, nodes = counted(len(self.tree.laws), "law"), len(self.tree.plane)
        if self.tree.buckets is None:
            return f"A binary search tree: {nodes} nodes, depth {self.tree.depth}, {laws}."
        grid = " x ".join(map(str, self.tree.buckets.counts))
        return f"{grid} buckets, each with a binary search tree: {nodes} nodes, depth {self.tree.depth}, {laws}."

    def code(self, words: dict[str, str]) -> tuple[list[str], list[str]]:
        """Down the tree, then the law of the leaf."""
        name, upper = words["name"], words["NAME"]
        helpers = [_SUM]
        if self.tree.buckets is None:
            lines = [f"int32_t node = {self.tree.roots[0]};"]
        else:
            helpers.append(_BUCKET)
            at = ""
            for i, count in enumerate(self.tree.buckets.counts):
                own = f"{name}_bucket(p[{i}], {name}_line[{i}], {count}u)"
                at = f"({at}) * {count}u + {own}" if at else own
            lines = [f"const uint32_t at = {at};", f"int32_t node = {name}_root[at];"]
        if len(self.tree.plane):
            numbered = any(table.name == "plane_of" for table in self.tables)
            row = f"{name}_plane[{name}_plane_of[node]]" if numbered else f"{name}_plane[node]"
            lines += ["while (node >= 0) {", f"    node = {name}_child[node][{name}_sum({row}, p) > 0];", "}"]
        value = f"{name}_sum({name}_law[-1 - node] + i * ({upper}_INPUTS + 1u), p)"
        if self.shift is not None:
            words["shift"], words["half"] = str(self.shift), str((1 << self.shift) >> 1)
            words["most"] = str(2 ** (8 * _BYTES[words["real"]] - 1) - 1)
            helpers.append(_ROUNDED)
            value = f"{name}_rounded({value})"
        lines += [f"for (uint32_t i = 0; i < {upper}_OUTPUTS; ++i) {{", f"    y[i] = {value};", "}"]
        return helpers, lines


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """An odd or even function by one half of it: points with a negative coordinate `axis` are turned round first."""

    body: CBody
    axis: int
    odd: bool
    dtype: str
    tables: tuple[CArray, ...]
    inputs: int
    outputs: int

    @classmethod
    def of(cls, body: CBody, axis: int, odd: bool) -> Folded:
        """The same tables, for one half."""
        return cls(body, axis, odd, body.dtype, body.tables, body.inputs, body.outputs)

    @property
    def cost(self) -> Cost:
        own = self.body.cost
        memory = self.inputs * _BYTES[c_type(self.dtype)]
        return Cost(own.flash, own.multiply_adds, own.comparisons + 1, own.stack + memory)

    def __str__(self) -> str:
        sign = "-" if self.odd else ""
        return f"f(-x) = {sign}f(x), so that one half is enough, x[{self.axis}] >= 0. {self.body}"

    def code(self, words: dict[str, str]) -> tuple[list[str], list[str]]:
        """One comparison, the half, and the sign."""
        helpers, inner = self.body.code(words)
        name, real, upper, wide = words["name"], words["real"], words["NAME"], words["sum"]
        turn = "turned ? -p[i] : p[i]" if wide == real else f"({real})(turned ? -({wide})p[i] : p[i])"
        back = "turned ? -y[i] : y[i]" if wide == real else f"({real})(turned ? -y[i] : y[i])"
        inside = "\n".join(f"    {line}" for line in inner).replace("{", "{{").replace("}", "}}")
        half = f"static inline void {name}_half(const {real} *p, {real} *y)\n{{{{\n{inside}\n}}}}\n"
        lines = [
            f"const int turned = p[{self.axis}] < 0;",
            f"{real} q[{self.inputs}];",
            f"for (uint32_t i = 0; i < {upper}_INPUTS; ++i) {{",
            f"    q[i] = {turn};",
            "}",
            f"{name}_half(q, y);",
        ]
        if self.odd:
            lines += [
                f"for (uint32_t i = 0; i < {upper}_OUTPUTS; ++i) {{",
                f"    y[i] = {back};",
                "}",
            ]
        return [*helpers, half], lines


def c_type(dtype: str) -> str:
    """The name of the type in C: of "float32", "float64", "int16", .., or of a fixed-point format, "Q7.8"."""
    if dtype.startswith("Q"):
        return f"int{1 + sum(map(int, dtype[1:].split(':')[0].split('.')))}_t"
    return {"float32": "float", "float64": "double"}.get(dtype, f"{dtype}_t")


def sum_type(dtype: str) -> str:
    """The type of a sum in C: in fixed point twice as many bits, at least 32."""
    kind = c_type(dtype)
    return f"int{max(32, 16 * _BYTES[kind])}_t" if dtype.startswith("Q") else kind


def network_tables(network: Network | IntegerNetwork, dtype: str) -> NetworkTables:
    """The tables of a network, every weight rounded to nearest; integers stay as they are.

    >>> tables = network_tables(Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]), "float64")
    >>> tables.cost
    Cost(flash=28, multiply_adds=4, comparisons=2, stack=16)
    """
    held = dtype
    if isinstance(network, IntegerNetwork):
        held = network.weights
    else:
        network = rounded(network, dtype)
    layers = [(weight.copy(), bias) for weight, bias in network.layers]
    dense = [_dense_is_smaller(weight, held) for weight, _ in layers]
    values = [w.toarray().ravel() if full else w.data for (w, _), full in zip(layers, dense, strict=True)]
    pool, code = np.unique(np.concatenate(values), return_inverse=True)
    kind = c_type(held)
    short = _smallest(len(pool), _UNSIGNED)
    pooled = len(code) * _BYTES[short] + len(pool) * _BYTES[kind] < len(code) * _BYTES[kind]
    unit, most = 0.0, min(len(code) * _BYTES[short] + len(pool) * _BYTES[kind], len(code) * _BYTES[kind])
    multiples = None if isinstance(network, IntegerNetwork) else integer_multiples(pool[code])
    if multiples is not None and len(code) * _BYTES[c_type(multiples[0])] < most:
        pooled, held, kind, unit = False, multiples[0], c_type(multiples[0]), multiples[2]
        values = np.split(multiples[1], np.cumsum([len(v) for v in values])[:-1])
    tables = [CArray("value", kind, pool.astype(held))] if pooled else []
    ends = np.cumsum([0] + [len(v) for v in values])
    column_kind = _smallest(max(w.shape[1] for w, _ in layers), _UNSIGNED)
    start_kind = _smallest(max(w.nnz for w, _ in layers) + 1, _UNSIGNED)
    found = []
    for i, ((weight, bias), full) in enumerate(zip(layers, dense, strict=True)):
        numbers = code[ends[i] : ends[i + 1]] if pooled else values[i].astype(held)
        tables.append(CArray(f"weight_{i + 1}", short if pooled else kind, numbers))
        tables.append(CArray(f"bias_{i + 1}", c_type(dtype), bias.astype(dtype)))
        if not full:
            tables.append(CArray(f"column_{i + 1}", column_kind, weight.indices))
            tables.append(CArray(f"start_{i + 1}", start_kind, weight.indptr))
        found.append(LayerTables(*weight.shape, len(numbers), not full))
    tables = [table for table in tables if table.values.size]
    return NetworkTables(network, dtype, tuple(found), tuple(tables), network.inputs, network.outputs, pooled, unit)


def _dense_is_smaller(weight: Any, dtype: str) -> bool:
    """Whether zeros cost less than the places of the others; few products more count as little."""
    rows, columns = weight.shape
    item = np.dtype(dtype).itemsize
    place = _BYTES[_smallest(columns, _UNSIGNED)]
    start = _BYTES[_smallest(weight.nnz + 1, _UNSIGNED)]
    sparse = weight.nnz * (item + place) + (rows + 1) * start
    return bool(rows * columns * item <= sparse and rows * columns <= 1.25 * weight.nnz)


def tree_tables(tree: Tree, dtype: str) -> TreeTables:
    """The tables of search trees, every number rounded to nearest; planes are scaled by powers of two first."""
    planes = typed([scaled_plane(row) for row in tree.planes], dtype).reshape(-1, tree.planes.shape[1])
    laws = typed([[law_row(law) for law in laws] for laws in tree.laws], dtype)
    pairs = [] if tree.buckets is None else list(zip(tree.buckets.start, tree.buckets.scale, strict=True))
    return tree_layout(tree, dtype, planes, laws, typed(pairs, dtype).reshape(-1, 2))


def tree_layout(
    tree: Tree, dtype: str, planes: NDArray[Any], laws: NDArray[Any], lines: NDArray[Any], shift: int | None = None
) -> TreeTables:
    """The tables of search trees with these numbers."""
    kind, most = sum_type(dtype), max(len(tree.plane), len(tree.laws)) + 1
    tables = [CArray("law", kind, laws.reshape(len(laws), -1))]
    if len(tree.plane):
        tables.append(CArray("plane", kind, planes))
        tables.append(CArray("child", _smallest(most, _SIGNED), tree.children))
    if len(tree.plane) > len(tree.planes):
        tables.append(CArray("plane_of", _smallest(len(tree.planes), _UNSIGNED), tree.plane))
    if tree.buckets is not None:
        tables += [CArray("line", kind, lines), CArray("root", _smallest(most, _SIGNED), tree.roots)]
    return TreeTables(tree, dtype, planes, laws, lines, tuple(tables), planes.shape[1] - 1, laws.shape[1], shift)


def typed(numbers: Any, dtype: str) -> NDArray[Any]:
    """Rationals, nested in any way, rounded to the type."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(numbers, dtype=object).astype(np.float64).astype(dtype)
    except OverflowError:
        raise LimitError(f"a number of the code is beyond {dtype}") from None
    if not np.isfinite(found).all():
        raise LimitError(f"a number of the code is beyond {dtype}")
    return found


def growth(k: int, dtype: str) -> Fraction:
    """What `k` roundings to nearest change at most, relative to the sizes of what is added."""
    unit = Fraction(float(np.finfo(dtype).eps)) / 2
    return k * unit / (1 - k * unit)


def sum_error(exact: Sequence[Fraction], used: Sequence[float], box: Sequence[Fraction], dtype: str) -> Fraction:
    """How far the computed sum of a row is from the exact one, on the box ``|x_i| <= box[i]``."""
    tiny = Fraction(float(np.finfo(dtype).tiny))
    k = len(exact)  # roundings on the way of each term: a product and the sums
    reach = [Fraction(1), *box]
    moved = sum((abs(Fraction(float(u)) - e) * r for u, e, r in zip(used, exact, reach, strict=True)), Fraction(0))
    size = sum((abs(Fraction(float(u))) * r for u, r in zip(used, reach, strict=True)), Fraction(0))
    return moved + growth(k, dtype) * size + k * tiny


def tree_errors(tables: TreeTables) -> float | None:
    """The largest difference from the function for points of the domain of that type; None if it is not bounded."""
    tree, dtype = tables.tree, tables.dtype
    box = tree_box(tree)
    if box is None:
        return None
    slack = []
    for row, used in zip(tree.planes, tables.planes, strict=True):
        exact = scaled_plane(row)
        most = max(range(len(row) - 1), key=lambda i: abs(row[i]))
        slack.append(sum_error(exact, used, box, dtype) * abs(row[most] / exact[most + 1]))
    own = [
        max(sum_error(law_row(law), used, box, dtype) for law, used in zip(laws, typed, strict=True))
        for laws, typed in zip(tree.laws, tables.laws, strict=True)
    ]
    off, tiny = [], Fraction(float(np.finfo(dtype).tiny))
    for i, reach in enumerate(box if tree.buckets is not None else ()):
        assert tree.buckets is not None
        start, scale = tree.buckets.start[i], tree.buckets.scale[i]
        off.append(growth(2, dtype) * (reach + abs(start)) * scale + tiny * (1 + scale))
        if off[-1] > 1:
            raise LimitError(f"x[{i}] in {dtype} cannot distinguish the buckets; use a tree, or another type")
    return tree_error(tree, slack, own, off)


def scaled_plane(row: NDArray[np.object_]) -> list[Fraction]:
    """``(-b, a)`` of the row ``(a, -b)``, divided by a power of two so that the largest slope is about 1."""
    shift = max(abs(int(v)) for v in row[:-1]).bit_length() - 1
    return [Fraction(int(v), 1 << shift) for v in (row[-1], *row[:-1])]


def _smallest(count: int, kinds: Sequence[tuple[int, str]]) -> str:
    """The smallest type that counts so far."""
    for most, name in kinds:
        if count <= most:
            return name
    raise LimitError(f"{count:,} entries are more than a C header should have")


_CONTRACTION = """\
#include <float.h>
#include <stdint.h>

/* Sums are meant as they are written, each product and each sum rounded once. */
#if !defined({NAME}_ANY_ARITHMETIC)
#if defined(__FAST_MATH__) || !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2
#error "this arithmetic rounds in another way: compile without -ffast-math, with -msse2 -mfpmath=sse on 32-bit x86"
#endif
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define {NAME}_AS_WRITTEN
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#else
#define {NAME}_AS_WRITTEN _Pragma("STDC FP_CONTRACT OFF")
#endif
"""

_INTEGERS = """\
#include <stdint.h>

#define {NAME}_AS_WRITTEN
"""

_SPARSE = """\
static inline void {name}_sparse(const {weight} *weight, const {column} *column, const {start} *start,
                                 const {real} *bias, uint32_t rows, const {real} *x, {real} *z)
{{
    {NAME}_AS_WRITTEN
    for (uint32_t i = 0; i < rows; ++i) {{
        {real} sum = bias[i];
        for (uint32_t k = start[i]; k < start[i + 1]; ++k) {{
            sum += {value} * x[column[k]];
        }}
        z[i] = sum;
    }}
}}
"""
_DENSE = """\
static inline void {name}_dense(const {weight} *weight, uint32_t columns,
                                const {real} *bias, uint32_t rows, const {real} *x, {real} *z)
{{
    {NAME}_AS_WRITTEN
    for (uint32_t i = 0; i < rows; ++i, weight += columns) {{
        {real} sum = bias[i];
        for (uint32_t k = 0; k < columns; ++k) {{
            sum += {value} * x[k];
        }}
        z[i] = sum;
    }}
}}
"""
_RELU = """\
static inline void {name}_relu({real} *z, uint32_t rows)
{{
    for (uint32_t i = 0; i < rows; ++i) {{
        z[i] = z[i] < 0 ? 0 : z[i];
    }}
}}
"""
_BUCKET = """\
static inline uint32_t {name}_bucket({real} x, const {real} *line, uint32_t count)
{{
    {NAME}_AS_WRITTEN
    const {real} t = (x - line[0]) * line[1];
    return t >= 0 ? (t < ({real})count ? (uint32_t)t : count - 1u) : 0u;
}}
"""
_SUM = """\
static inline {sum} {name}_sum(const {sum} *row, const {real} *x)
{{
    {NAME}_AS_WRITTEN
    {sum} sum = row[0];
    for (uint32_t i = 0; i < {NAME}_INPUTS; ++i) {{
        sum += row[i + 1] * x[i];
    }}
    return sum;
}}
"""


_ROUNDED = """\
static inline {real} {name}_rounded({sum} sum)
{{
    const {sum} size = ((sum < 0 ? -sum : sum) + {half}) >> {shift};
    const {sum} held = size > {most} ? {most} : size;
    return ({real})(sum < 0 ? -held : held);
}}
"""


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """What is done with a point outside: its mode, and the box or the rows ``(constant, slopes)`` of the domain."""

    outside: str
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    rows: NDArray[Any] | None = None

    def tables(self, dtype: str) -> list[CArray]:
        """The constants of the domain."""
        if self.outside == "free":
            return []
        if self.rows is not None:
            return [CArray("domain", sum_type(dtype), self.rows)]
        real = c_type(dtype)
        assert self.low is not None
        assert self.high is not None
        return [CArray("low", real, self.low), CArray("high", real, self.high)]

    def cost(self, inputs: int, dtype: str) -> Cost:
        """What comes before the evaluation."""
        flash = sum(table.bytes for table in self.tables(dtype))
        if self.rows is not None:
            return Cost(flash, len(self.rows) * inputs, len(self.rows), 0)
        if self.outside == "free":
            return Cost(0, 0, 0, 0)
        return Cost(flash, 0, 2 * inputs, inputs * _BYTES[c_type(dtype)] if self.outside == "clip" else 0)


def header(name: str, body: CBody, guard: Guard, notes: Sequence[str]) -> str:
    """The text of the header, with `notes` at its top."""
    real = c_type(body.dtype)
    upper = name.upper()
    words = {"name": name, "NAME": upper, "real": real, "sum": sum_type(body.dtype)}
    integers = body.network if isinstance(body, NetworkTables) and isinstance(body.network, IntegerNetwork) else None
    tables = [*guard.tables(body.dtype), *body.tables]
    helpers, statements = body.code(words)
    if guard.outside == "error" and guard.rows is not None and _SUM not in helpers:
        helpers = [_SUM, *helpers]
    before = _before(guard, words, body.inputs)
    given = real
    if integers is not None:
        given = c_type(integers.input_type)
        before = [
            f"{real} p[{body.inputs}];",
            f"for (uint32_t i = 0; i < {upper}_INPUTS; ++i) {{",
            "    p[i] = x[i];",
            "}",
        ]
    signature = f"static inline int {name}(const {given} x[{upper}_INPUTS], {real} y[{upper}_OUTPUTS])"
    lines = [*before, *statements, "return 0;"]
    parts = [
        _comment(notes),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        (_INTEGERS if real.startswith("int") else _CONTRACTION).format(**words),
        f"#define {upper}_INPUTS {body.inputs}u\n#define {upper}_OUTPUTS {body.outputs}u\n",
        "\n".join(_array(name, table) for table in tables),
        *(helper.format(**words) for helper in helpers),
        signature + "\n{\n" + "\n".join(f"    {line}" for line in lines) + "\n}\n",
        ""
        if real.startswith("int")
        else "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC pop_options\n#endif",
        f"#undef {upper}_AS_WRITTEN\n\n#endif\n",
    ]
    return "\n".join(parts)


def test_program(file: str, name: str, real: str, x: NDArray[Any], y: NDArray[Any], refused: NDArray[Any]) -> str:
    """A program that compares the header with values at some points, bit for bit, and prints PASS."""
    tables = [
        CArray("test_x", real, x),
        CArray("test_y", real, y),
        CArray("test_refused", "int8_t", refused.astype(int)),
    ]
    words = {"name": name, "NAME": name.upper(), "real": real, "count": str(len(x)), "file": file}
    arrays = "\n".join(_array(name, table) for table in tables)
    return _TEST_HEAD.format(**words) + arrays + "\n" + _TEST.format(**words)


_TEST_HEAD = """\
/*
 * Compares {file} with values that cpwl computed, bit for bit: prints PASS, or FAIL and the first vector that differs.
 * cc -std=c99 {name}_test.c && ./a.out
 */
#include <stdio.h>

#include "{file}"

"""
_TEST = """
int main(void)
{{
    for (uint32_t i = 0; i < {count}u; ++i) {{
        {real} y[{NAME}_OUTPUTS] = {{0}};
        const int refused = {name}({name}_test_x[i], y);
        int same = refused == {name}_test_refused[i];
        for (uint32_t k = 0; k < {NAME}_OUTPUTS; ++k) {{
            same = same && y[k] == {name}_test_y[i][k];
        }}
        if (!same) {{
            printf("FAIL: vector %lu of {count}\\n", (unsigned long)i);
            return 1;
        }}
    }}
    printf("PASS: {count} vectors\\n");
    return 0;
}}
"""


def _comment(notes: Iterable[str]) -> str:
    lines = [line for note in notes for line in textwrap.wrap(note.replace("*/", "* /"), 116)]
    return "/*\n" + "".join(f" * {line}\n" for line in lines) + " */"


def _before(guard: Guard, words: dict[str, str], inputs: int) -> list[str]:
    """What happens to a point first: it is taken as it is, moved into the box, or refused."""
    name, real, upper = words["name"], words["real"], words["NAME"]
    loop = f"for (uint32_t i = 0; i < {upper}_INPUTS; ++i) {{"
    if guard.outside == "clip":
        clipped = f"p[i] = x[i] < {name}_low[i] ? {name}_low[i] : x[i] > {name}_high[i] ? {name}_high[i] : x[i];"
        return [f"{real} p[{inputs}];", loop, f"    {clipped}", "}"]
    if guard.outside == "free":
        return [f"const {real} *p = x;"]
    if guard.rows is None:
        refuse = f"    if (!(x[i] >= {name}_low[i] && x[i] <= {name}_high[i])) {{"
    else:
        loop = f"for (uint32_t i = 0; i < {len(guard.rows)}u; ++i) {{"
        refuse = f"    if (!({name}_sum({name}_domain[i], x) <= 0)) {{"
    return [f"const {real} *p = x;", loop, refuse, "        return 1;", "    }", "}"]


def _array(name: str, table: CArray) -> str:
    """``static const double law_low[2] = {..};``: integers, or the shortest decimals that round to the number.

    C++11 has no hexadecimal floats. C99 (annex F) and C++ compilers round decimals of up to 17 digits correctly.
    """
    shape = "".join(f"[{size}]" for size in table.values.shape)
    end = "f" if table.kind == "float" else ""
    if table.values.ndim == 1:
        entries, each = [_number(v, end) for v in table.values], 4 if end or table.kind == "double" else 16
    else:
        entries, each = ["{" + ", ".join(_number(v, end) for v in row) + "}" for row in table.values], 1
    lines = [", ".join(entries[i : i + each]) for i in range(0, len(entries), each)]
    inside = ",\n".join(f"  {line}" for line in lines)
    return f"static const {table.kind} {name}_{table.name}{shape} = {{\n{inside}\n}};"


def _number(value: Any, end: str) -> str:
    return f"{value!s}{end}" if isinstance(value, np.floating) else str(int(value))
