"""The header: constants and a few loops in C99, no heap, no mathematics library."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.targets.c.tables import NetworkTables, Table, TreeTables, c_type

__all__ = ["Guard", "header"]

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
_SUM = """\
static inline {real} {name}_sum(const {real} *row, const {real} *x)
{{
    {NAME}_AS_WRITTEN
    {real} sum = row[0];
    for (uint32_t i = 0; i < {NAME}_INPUTS; ++i) {{
        sum += row[i + 1] * x[i];
    }}
    return sum;
}}
"""


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """What is done with a point outside: its mode, and the box or the rows ``(constant, slopes)`` of the domain."""

    outside: str
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    rows: NDArray[Any] | None = None

    def tables(self, real: str) -> list[Table]:
        """The constants of the domain."""
        if self.outside == "free":
            return []
        if self.rows is not None:
            return [Table("domain", real, self.rows)]
        assert self.low is not None
        assert self.high is not None
        return [Table("low", real, self.low), Table("high", real, self.high)]


def header(name: str, body: NetworkTables | TreeTables, guard: Guard, notes: Sequence[str]) -> str:
    """The text of the header, with `notes` at its top."""
    real = c_type(body.dtype)
    upper = name.upper()
    words = {"name": name, "NAME": upper, "real": real}
    tables = [*guard.tables(real), *body.tables]
    if isinstance(body, NetworkTables):
        inputs, outputs = body.network.inputs, body.network.outputs
        helpers, statements = _network(body, words)
    else:
        inputs, outputs = body.planes.shape[1] - 1, body.laws.shape[1]
        helpers, statements = _tree(body, words)
    if guard.outside == "error" and guard.rows is not None and _SUM not in helpers:
        helpers = [_SUM, *helpers]
    before = _before(guard, words, inputs)
    signature = f"static inline int {name}(const {real} x[{upper}_INPUTS], {real} y[{upper}_OUTPUTS])"
    lines = [*before, *statements, "return 0;"]
    parts = [
        _comment(notes),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        _CONTRACTION.format(**words),
        f"#define {upper}_INPUTS {inputs}u\n#define {upper}_OUTPUTS {outputs}u\n",
        "\n".join(_array(name, table) for table in tables),
        *(helper.format(**words) for helper in helpers),
        signature + "\n{\n" + "\n".join(f"    {line}" for line in lines) + "\n}\n",
        f"#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC pop_options\n#endif\n"
        f"#undef {upper}_AS_WRITTEN\n\n#endif\n",
    ]
    return "\n".join(parts)


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


def _network(body: NetworkTables, words: dict[str, str]) -> tuple[list[str], list[str]]:
    kinds = {table.name: table.kind for table in body.tables}
    words["weight"] = next((kinds[layer.weight] for layer in body.layers if layer.weight in kinds), words["real"])
    words["column"] = next((kinds[layer.column] for layer in body.layers if layer.column in kinds), "uint8_t")
    words["start"] = next((kinds[layer.start] for layer in body.layers if layer.start in kinds), "uint8_t")
    words["value"] = f"{words['name']}_value[weight[k]]" if body.pool else "weight[k]"
    helpers = [_DENSE] if any(not layer.column for layer in body.layers) else []
    helpers += [_SPARSE] if any(layer.column for layer in body.layers) else []
    name, real = words["name"], words["real"]
    hidden = [layer.rows for layer in body.layers[:-1]]
    lines = []
    if hidden:
        helpers.append(_RELU)
        sizes = [max(hidden[k::2], default=0) for k in (0, 1)]
        lines.append(f"{real} " + ", ".join(f"{b}[{size}]" for b, size in zip("ab", sizes, strict=True) if size) + ";")
    before = "p"
    for i, layer in enumerate(body.layers):
        after = "y" if i == len(hidden) else "ab"[i % 2]
        ends = f"{name}_{layer.bias}, {layer.rows}u, {before}, {after});"
        if layer.column:
            # A map without products has no tables of them: any pointer will do.
            weight, column = (f"{name}_{t}" if t in kinds else "0" for t in (layer.weight, layer.column))
            lines.append(f"{name}_sparse({weight}, {column}, {name}_{layer.start}, {ends}")
        else:
            lines.append(f"{name}_dense({name}_{layer.weight}, {layer.columns}u, {ends}")
        if after != "y":
            lines.append(f"{name}_relu({after}, {layer.rows}u);")
        before = after
    return helpers, lines


def _tree(body: TreeTables, words: dict[str, str]) -> tuple[list[str], list[str]]:
    name, upper = words["name"], words["NAME"]
    lines = [f"int32_t node = {0 if len(body.tree.plane) else -1};"]
    if len(body.tree.plane):
        numbered = any(table.name == "plane_of" for table in body.tables)
        row = f"{name}_plane[{name}_plane_of[node]]" if numbered else f"{name}_plane[node]"
        lines += ["while (node >= 0) {", f"    node = {name}_child[node][{name}_sum({row}, p) > 0];", "}"]
    law = f"{name}_law[-1 - node]"
    lines += [
        f"for (uint32_t i = 0; i < {upper}_OUTPUTS; ++i) {{",
        f"    y[i] = {name}_sum({law} + i * ({upper}_INPUTS + 1u), p);",
        "}",
    ]
    return [_SUM], lines


def _array(name: str, table: Table) -> str:
    """``static const double law_low[2] = {..};``, the numbers as hexadecimal floats or integers."""
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
    return f"{float(value).hex()}{end}" if isinstance(value, np.floating) else str(int(value))
