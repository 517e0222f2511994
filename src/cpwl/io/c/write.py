"""`to_c`: a function or a network as one C header: a network, a search tree or a table that is looked up."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.compiled import Compiled, held_parts
from cpwl.compiler import compile
from cpwl.construct.plan import Outside
from cpwl.doors import check_argument, check_choice, check_count, check_path, check_switch, within_float64
from cpwl.errors import InputError, LimitError, counted
from cpwl.exact.rational import doubles_around
from cpwl.files import write_together
from cpwl.function.answers import bound_text
from cpwl.function.cpwl import CPWL
from cpwl.function.domain import Box, box_around, box_to_clip, domain_box, domain_rows
from cpwl.function.evaluate import as_points, sample
from cpwl.function.examine import examine
from cpwl.function.snap.snap import undone
from cpwl.function.symmetry import half_of, symmetry
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.geometry.probe import bounding_box
from cpwl.io.c.fixed import Fixed, box_inside, fixed_error, fixed_tables, row_outside
from cpwl.io.c.grid import GridTables, grid_error, grid_tables, grid_values
from cpwl.io.c.text import (
    CBody,
    Cost,
    Folded,
    Guard,
    NetworkTables,
    TreeTables,
    c_type,
    header,
    network_tables,
    scaled_plane,
    sum_error,
    test_program,
    tree_errors,
    tree_tables,
)
from cpwl.io.c.tree import search_tree
from cpwl.io.weights import Dtype
from cpwl.network.algorithms import unclipped
from cpwl.network.integer import IntegerNetwork
from cpwl.network.network import Network
from cpwl.proofs.rounding import float_error
from cpwl.regions.extract import extract

# What the C code computes, bit for bit, in NumPy: the stated order of summation is this one.
#
# A sum starts with the constant (bias, offset) and adds products in the order of the columns; every product and every
# sum is rounded to the type. ReLU is ``z < 0 ? 0 : z``. A tree goes to the second child where a plane's sum is above 0.


Array = NDArray[Any]


def network_values(tables: NetworkTables, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    h = x.T
    for i, (weight, bias) in enumerate(tables.network.layers):
        if i:
            h = np.where(h < 0, h.dtype.type(0), h)
        h = _affine(weight, bias.astype(tables.dtype), h, tables.dtype)
    return h.T


def _affine(weight: Any, bias: Array, h: Array, dtype: str) -> Array:
    """``b + W h``, term by term; rows that have no term left stay as they are."""
    z = np.repeat(bias[:, None], h.shape[1], axis=1)
    data, length = weight.data.astype(dtype), np.diff(weight.indptr)
    for k in range(int(length.max(initial=0))):
        rows = np.flatnonzero(length > k)
        entry = weight.indptr[rows] + k
        z[rows] += data[entry, None] * h[weight.indices[entry]]
    return z


def tree_values(tables: TreeTables, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    tree = tables.tree
    at = np.zeros(len(x), dtype=np.int64)
    if tree.buckets is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            for i, count in enumerate(tree.buckets.counts):
                t = (x[:, i] - tables.lines[i, 0]) * tables.lines[i, 1]
                at = at * count + np.clip(np.nan_to_num(t), 0, count - 1).astype(np.int64)
    node = tree.roots[at]
    while (inner := np.flatnonzero(node >= 0)).size:
        at = node[inner]
        side = row_sums(tables.planes[tree.plane[at]], x[inner]) > 0
        node[inner] = tree.children[at, side.astype(np.int64)]
    laws = tables.laws[-1 - node]
    found = np.stack([row_sums(laws[:, j], x) for j in range(laws.shape[1])], axis=1)
    return found if tables.shift is None else Fixed.from_text(tables.dtype).rounded(found, tables.shift)


def _values(body: _Tables | Folded, x: Array) -> Array:
    """Values ``(N, m)`` at points ``(N, n)`` of the type."""
    if isinstance(body, Folded):
        turned = x[:, body.axis, None] < 0
        found = _values(cast("_Tables", body.body), np.where(turned, -x, x))
        return np.where(turned, -found, found) if body.odd else found
    if isinstance(body, NetworkTables):
        return network_values(body, x)
    return tree_values(body, x) if isinstance(body, TreeTables) else grid_values(body, x)


def row_sums(rows: Array, x: Array) -> Array:
    """``r_0 + r_1 x_1 + ..``, from left to right."""
    total = rows[:, 0].copy()
    for i in range(x.shape[1]):
        total += rows[:, i + 1] * x[:, i]
    return total


# What C code does with points outside the domain: nothing, clip them to the box, or refuse them.
#
# Ends of a box are rounded inwards: a number of the type is in the box iff it is between the rounded ends. A row of the
# domain is moved out by what rounding can do to its sum, so that no point of the domain is refused.


def guard_of(outside: Outside, domain: CPWL | Box | None, dtype: str) -> Guard:
    """What the code does with points outside; `InputError` where the domain does not allow it."""
    if outside == "free":
        return Guard(outside)
    if domain is None:
        raise InputError(f'`outside="{outside}"` needs a domain: a network has none of its own; give it as `box`')
    if outside == "clip" and isinstance(domain, CPWL):
        return Guard(outside, *rounded_box(box_to_clip(domain), dtype))
    ends = domain_box(domain) if isinstance(domain, CPWL) else domain
    if ends is not None:
        return Guard(outside, *rounded_box(ends, dtype))
    assert isinstance(domain, CPWL)
    around = box_around(domain)
    if around is None:
        raise InputError('`outside="error"` needs a bounded domain, and the domain of this function is not bounded')
    reach = [max(abs(low), abs(high)) for low, high in around]
    if dtype.startswith("Q"):
        fixed = Fixed.from_text(dtype)
        return Guard(outside, rows=np.array([row_outside(row, reach, fixed) for row in domain_rows(domain)]))
    return Guard(outside, rows=np.array([_row(row, reach, dtype) for row in domain_rows(domain)], dtype=dtype))


def box_ends(box: tuple[Any, Any], dim: int) -> Box:
    """The ends of the box that a caller gives, exactly."""
    ends = bounding_box(box_polyhedron(box, dim)) or []
    return [Fraction(low or 0) for low, _ in ends], [Fraction(high or 0) for _, high in ends]


def rounded_box(ends: Box, dtype: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends as numbers of the type, rounded inwards.

    >>> low, high = rounded_box(([Fraction(1, 3)], [Fraction(2, 3)]), "float64")
    >>> low[0] >= Fraction(1, 3), high[0] <= Fraction(2, 3)
    (True, True)
    """
    if dtype.startswith("Q"):
        low, high = box_inside(ends, Fixed.from_text(dtype))
    else:
        low = np.array([towards(v, dtype, 1) for v in ends[0]], dtype=dtype)
        high = np.array([towards(v, dtype, -1) for v in ends[1]], dtype=dtype)
    if not (low <= high).all():
        raise InputError(f"the domain has no number of type {dtype} in it")
    return low, high


def inside_box(guard: Guard, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The points as the code goes on with them, and which of them it refuses."""
    refused: NDArray[np.bool_] = np.zeros(len(x), dtype=bool)
    if guard.outside == "clip" and guard.low is not None and guard.high is not None:
        x = np.where(x < guard.low, guard.low, np.where(x > guard.high, guard.high, x))
    elif guard.rows is not None:
        for row in guard.rows:
            refused |= ~(row_sums(np.broadcast_to(row, (len(x), len(row))), x) <= 0)
    elif guard.outside == "error" and guard.low is not None and guard.high is not None:
        refused |= ~((x >= guard.low) & (x <= guard.high)).all(axis=1)
    return x, refused


def towards(value: Fraction, dtype: str, sense: int) -> Any:
    """The nearest number of the type that is not below (sense 1) or not above (-1) the value."""
    kind = np.dtype(dtype).type
    near = kind(float(value))
    if not np.isfinite(near):
        raise InputError(f"the domain reaches beyond {dtype}")
    while (Fraction(float(near)) - value) * sense < 0:
        near = np.nextafter(near, kind(sense * np.inf))
    return near


def _row(row: NDArray[np.object_], reach: list[Fraction], dtype: str) -> list[float]:
    """``(constant, slopes)`` of the row ``(a, b)``, moved out by what rounding does to its sum on the domain."""
    exact = scaled_plane(np.array([*row[:-1], -row[-1]], dtype=object))
    used = [float(np.dtype(dtype).type(float(v))) for v in exact]
    slack = 2 * float(sum_error(exact, used, reach, dtype))
    return [float(towards(Fraction(used[0] - slack), dtype, -1)), *used[1:]]


# Names in C.


_TAKEN = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main"""


def c_name(path: str | os.PathLike[str]) -> str:
    """The name of a function in C, after a file.

    >>> c_name("my law-2.h"), c_name("2d.h"), c_name("double.h")
    ('my_law_2', 'law_2d', 'law_double')
    """
    stem = re.sub(r"[^A-Za-z0-9_]", "_", Path(os.fsdecode(path)).stem)
    return stem if _is_name(stem) else f"law_{stem}".rstrip("_")


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)) and name not in _TAKEN.split()


Form: TypeAlias = Literal["auto", "network", "tree", "grid"]
_Tables: TypeAlias = NetworkTables | TreeTables | GridTables

_VECTORS = 50  # of each kind in a test program
_REGIONS = 1000  # regions of a network that "auto" looks for
_NEURONS, _INPUTS = 300, 4  # beyond, it does not look


@dataclass(frozen=True, slots=True, eq=False)
class CCode:
    """C code for a function, with its cost and its error bound. Call it to compute values as the code does.

    Attributes
    ----------
    name : str
        The function: ``int name(const double x[], double y[])``.
    form : str
        The method of evaluation: "network", "tree" or "grid"; "folded tree" and so on if one half is enough.
    dtype : str
        The type: "float64" is double, "float32" is float; that of integer weights, "int16" or "int8"; or a fixed-point
        format.
    outside : {"free", "clip", "error"}
        Behaviour outside the domain.
    costs : dict
        The cost of each form that was considered.
    reason : str
        Why this form was selected.
    error_bound : float or None
        A bound on the difference between computed and exact values, for points of that type; None if the domain
        is not known to be bounded, or no bound was proved.
    text : str
        The header.
    """

    name: str
    form: str
    dtype: str
    outside: str
    costs: dict[str, Cost]
    reason: str
    error_bound: float | None
    text: str = field(repr=False)
    body: _Tables | Folded = field(repr=False)
    guard: Guard = field(repr=False)

    def __call__(self, x: ArrayLike) -> NDArray[Any]:
        """What the code computes, bit for bit, ``(N, n) -> (N, m)``; NaN where it refuses a point."""
        if isinstance(self.body, NetworkTables) and isinstance(self.body.network, IntegerNetwork):
            return self.body.network(x)
        points, single = as_points(x, self.body.inputs)
        found, refused = self._raw(self._typed(points))
        if self.dtype.startswith("Q"):
            found = found / 2.0 ** Fixed.from_text(self.dtype).outputs
        found[refused] = np.nan
        return found[0] if single else found

    def _typed(self, points: NDArray[Any]) -> NDArray[Any]:
        """Points as the code takes them."""
        return Fixed.from_text(self.dtype).quantized(points) if self.dtype[0] == "Q" else points.astype(self.dtype)

    def _raw(self, points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """What the code writes, and which points it refuses."""
        points, refused = inside_box(self.guard, points)
        return _values(self.body, points), refused

    def test(self, points: ArrayLike, file: str | None = None) -> str:
        """A C program that compares the header with the values at these points, and prints PASS or FAIL.

        `file` is the header as the program includes it; by default that of the name.
        """
        x = self._typed(as_points(points, self.body.inputs)[0])
        y, refused = self._raw(x)
        y[refused] = 0
        return test_program(file or f"{self.name}.h", self.name, c_type(self.dtype), x, y, refused)

    def __str__(self) -> str:
        lines = [f"{form}: {cost}" for form, cost in self.costs.items()]
        return "\n".join([*lines, f"taken: {self.form} ({self.reason})"])


@within_float64()
def to_c(
    source: CPWL | Network | Compiled,
    path: str | os.PathLike[str],
    *,
    dtype: Dtype | None = None,
    form: Form = "auto",
    outside: Outside | None = None,
    box: tuple[Any, Any] | None = None,
    name: str | None = None,
    max_bytes: int | None = None,
    fixed: str | None = None,
    fold: bool = True,
    check: bool = True,
    test: bool = False,
) -> CCode:
    """Write a function or a network as one self-contained C99 header.

    The header has constants and one function ``int name(const double x[n], double y[m])`` that returns 0. It needs
    no heap and no library. As a *network* it runs sparse loops over the layers; as a *tree* it finds the piece by
    binary search and evaluates its law; as a *grid* it looks up ``n + 1`` values of a table of `CPWL.from_grid`, and
    for any other function it finds the bucket of a point, where a short search is left. See docs/howto/c.md.

    Parameters
    ----------
    source : CPWL, Network or Compiled
        The function or network. A function is compiled first, for few nonzero weights.
    path : path-like
        The header. An existing file is replaced when the new one is complete.
    dtype : {"float64", "float32"}, optional
        double, or float. By default double. A result with integer weights becomes code without floats.
    form : {"auto", "network", "tree", "grid"}
        "auto" takes the form with the fewest operations (multiply-adds and comparisons in the worst case) among those
        whose constants fit `max_bytes`.
    outside : {"free", "clip", "error"}
        Behaviour outside the domain: unspecified; the value at the nearest point of the domain, which must
        be a box; or the code returns 1 and leaves `y` unchanged. By default as it was compiled, or "free".
    box : pair, optional
        The domain ``(low, high)`` of a network, which has none of its own.
    name : str, optional
        The name of the function in C; by default that of the file.
    max_bytes : int, optional
        The most bytes of constants.
    fixed : str, optional
        Integers only: the format of inputs and outputs, "Q7.8" (a sign, 7 integer bits, 8 fraction bits), or one for
        each, "Q7.8:Q1.14", of 8, 16 or 32 bits. The code is a tree, no sum overflows for any input, and `error_bound`
        is about inputs of the format.
    fold : bool
        Test whether the function is odd or even; if so, also consider the forms of one half of it.
    check : bool
        Examine the function first. If False, the caller guarantees that its pieces fit together.
    test : bool
        Also write ``law_test.c``, a program that compares ``law.h`` with values at some points.

    Returns
    -------
    CCode
        The selected form, the cost of each form, and a bound on the rounding errors.

    Raises
    ------
    InputError
        If an option is unknown, the file cannot be written, or the domain is not a box where one is needed.
    LimitError
        If a weight overflows the type, there are too many pieces for the requested tree, or no form fits
        `max_bytes`.

    Examples
    --------
    >>> import tempfile
    >>> p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0], left_slope=0, right_slope=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(to_c(p, folder + "/law.h"))
    network: 37 bytes of constants, at most 5 multiply-adds
    tree: 102 bytes of constants, at most 3 multiply-adds
    grid: 104 bytes of constants, at most 3 multiply-adds
    taken: tree (the fewest operations)
    """
    check_argument(source, (CPWL, Network, Compiled), "to_c")
    check_path(path, "to_c")
    integers = source.integer if isinstance(source, Compiled) else None
    if dtype is not None or integers is None:
        dtype = "float64" if dtype is None else dtype
        check_choice(dtype, ("float32", "float64"), "dtype")
    check_choice(form, ("auto", "network", "tree", "grid"), "form")
    if outside is None:
        outside = cast("Outside", source.outside) if isinstance(source, Compiled) else "free"
    check_choice(outside, ("free", "clip", "error"), "outside")
    called = c_name(path) if name is None else name
    if not isinstance(called, str) or not _is_name(called):
        raise InputError(f"`name` must be a name in C, letters, digits and underscores, not {str(name)[:50]!r}")
    if max_bytes is not None:
        check_count(max_bytes, "max_bytes")
    for value, option in ((fold, "fold"), (check, "check"), (test, "test")):
        check_switch(value, option)
    if dtype is None:
        assert isinstance(source, Compiled)
        assert integers is not None
        if form not in ("auto", "network") or outside == "error" or outside != source.outside or test:
            raise InputError(
                'code of integers needs form="network", test=False, and the `outside` that the network was compiled '
                f'with ("{source.outside}")'
            )
        return _integer_code(source, integers, path, called, max_bytes)
    kind: str = dtype
    if fixed is not None:
        kind = str(Fixed.from_text(fixed))
        if form not in ("auto", "tree") or dtype != "float64":
            raise InputError('fixed point is for the form "tree", and has no other type: leave `form` and `dtype` out')
        form = "tree"
    forms = _CForms(source, kind, form, box, max_bytes, check)
    guard = guard_of(outside, forms.domain, kind)
    found: dict[str, tuple[_Tables | Folded, _CForms]] = {form: (body, forms) for form, body in forms.found().items()}
    if fold and (half := forms.half()) is not None:
        found |= {f"folded {form}": (Folded.of(body, *half.fold), half) for form, body in half.found().items()}
    costs = {form: body.cost for form, (body, _) in found.items()}
    fitting = [form for form in found if forms.fits(costs[form])]
    if not fitting:
        sizes = ", ".join(f"{form} {cost.flash:,}" for form, cost in costs.items())
        raise LimitError(f"no form fits `max_bytes={max_bytes}`: bytes of constants: {sizes}", max_bytes=max_bytes)
    # The comparison that halves a table does not count.
    taken = min(fitting, key=lambda form: (costs[form].operations - form.startswith("folded"), costs[form].flash))
    (body, made), reason = found[taken], forms.reason if len(found) == 1 else forms.rule
    if _is_grid(body) and outside == "clip" and forms.function is not None and forms.function.domain is None:
        guard = Guard("free")  # the lookup goes to the nearest point of the grid by itself
    bound = made.bound(cast("_Tables", body.body) if isinstance(body, Folded) else body)
    notes = [*_notes(called, taken, body, guard, outside, costs, bound), *_labels(forms.function)]
    text = header(called, body, guard, notes)
    code = CCode(called, taken, kind, outside, costs, reason, bound, text, body, guard)
    files = [(path, text.encode())]
    if test:
        file = Path(os.fsdecode(path))
        files.append((file.with_name(f"{file.stem}_test.c"), code.test(forms.points(), file.name).encode()))
    write_together(files)
    return code


def _integer_code(source: Compiled, integers: IntegerNetwork, path: Any, name: str, max_bytes: int | None) -> CCode:
    """The header of a network of integers."""
    body = network_tables(integers, integers.sum_type)
    cost = body.cost
    if max_bytes is not None and cost.flash > max_bytes:
        raise LimitError(f"the network of integers has {cost.flash:,} bytes of constants, more than {max_bytes:,}")
    assert source.certificate is not None
    outputs = "; ".join(f"y[{k}] / ({scale})" for k, scale in enumerate(integers.scales[-1]))
    notes = [
        f"{name}: written by cpwl.",
        str(body),
        f"Cost: {cost}, {cost.comparisons} comparisons, {cost.stack} bytes of working memory.",
        f"x: integers of {integers.bits} bits in the format {integers.format}, {2**integers.fraction} times the input. "
        f"The outputs are {outputs}.",
        f"Proved: {source.certificate.statement}. It returns 0.",
        "x and y must not overlap.",
        *_labels(source.function),
    ]
    guard, found = Guard("free"), source.certificate.error_bound
    text = header(name, body, guard, notes)
    write_together([(path, text.encode())])
    bound = None if isinstance(found, tuple) or found is None else float(found)
    costs = {"network": cost}
    return CCode(name, "network", integers.weights, source.outside, costs, "integers", bound, text, body, guard)


def lookup_tables(p: CPWL, dtype: Dtype) -> GridTables | TreeTables:
    """The tables of the form "grid" of a function."""
    return _CForms(p, dtype, "grid", None, None, check=True)._grid()


class _CForms:
    """The function and the network of what was given, made when they are needed."""

    def __init__(
        self, source: CPWL | Network | Compiled, dtype: str, form: Form, box: Any, max_bytes: int | None, check: bool
    ) -> None:
        self.check, self.compiles, self.fold = check, isinstance(source, CPWL), (0, False)
        self.dtype, self.form, self.box, self.max_bytes, self.reason = dtype, form, box, max_bytes, "asked for"
        self.rule = "the fewest operations" + ("" if max_bytes is None else f" in at most {max_bytes:,} bytes")
        self.compiled = source if isinstance(source, Compiled) else None
        self.function, self.given = held_parts(source)
        if self.compiled is not None and self.compiled.outside == "clip" and self.given is not None:
            # The code clips by itself; the network behind is what is left to compute.
            found = unclipped(self.given)
            self.given, self.compiled = self.given if found is None else found.inner, None
        if self.function is not None and box is not None:
            raise InputError("`box` is the domain of a network; a function has one of its own")
        self.ends = None if box is None or self.given is None else box_ends(box, self.given.inputs)

    @property
    def domain(self) -> CPWL | Box | None:
        """What is known of the domain: a function that has one, a box, or nothing."""
        return self.ends if self.function is None else self.function

    def half(self) -> _CForms | None:
        """The same for one half of the function, if it is odd or even; a network that was given stays as it is."""
        p = self.function
        if p is None or (self.form == "network" and not self.compiles) or (sign := symmetry(p)) is None:
            return None
        axis, half = half_of(p)
        forms = _CForms(half, self.dtype, self.form, None, self.max_bytes, check=False)
        forms.compiles, forms.fold = self.compiles, (axis, sign < 0)
        return forms

    def points(self) -> NDArray[Any]:
        """Points to test the code at: of the function, or at random in the box of the network, and beyond them."""
        if self.function is not None:
            inside = sample(self.function).points[:_VECTORS]
            low, high = inside.min(axis=0), inside.max(axis=0)
        else:
            assert self.given is not None
            low, high = -np.ones((2, self.given.inputs)) * [[1], [-1]]
            if self.ends is not None:
                low, high = (np.array([float(v) for v in end]) for end in self.ends)
            inside = np.zeros((1, len(low)))
        return np.concatenate([inside, np.random.default_rng(0).uniform(low - 1, high + 1, (_VECTORS, len(low)))])

    def fits(self, cost: Cost) -> bool:
        """Whether the constants have at most as many bytes as are allowed."""
        return self.max_bytes is None or cost.flash <= self.max_bytes

    def found(self) -> dict[str, _Tables]:
        """The forms that "auto" compares, or the one that was asked for."""
        makers: dict[str, Callable[[], _Tables]] = {"network": self._network, "tree": self._tree, "grid": self._grid}
        if self.form != "auto":
            return {self.form: makers[self.form]()}
        found: dict[str, _Tables] = {}
        if self.function is not None and self.function.mesh is not None:
            with suppress(InputError, LimitError):  # the table is no grid, or not one in this type
                found["grid"] = grid_tables(self.function, self.dtype)
                self.reason = "nothing else was found"
        if found and self.fits(found["grid"].cost) and found["grid"].cost.operations <= self._fewest():
            self.reason = self.rule = "no tree or network with as many laws has fewer operations"
            return found if self.given is None else found | {"network": self._network()}
        if self.compiles or self.given is not None:
            found["network"] = self._network()
        for form in ("tree", "grid"):
            if form in found:
                continue
            try:
                found[form] = makers[form]()
            except LimitError as error:
                self.reason = f"no search tree: {str(error).splitlines()[0]}"
        return found

    def _fewest(self) -> int:
        """A lower bound on the operations of a tree and of a network.

        ``b = log2(laws)`` rounded up. A tree has a path of `b` planes and a law. A network has `b` neurons,
        since their signs determine the law; one weight goes into each of them, and one goes to an output.
        """
        p = self.function
        assert p is not None
        b = ((undone(p) or p).num_components - 1).bit_length()
        return min(b * (p.dim + 1) + p.dim * p.outputs, 2 * b + 1)

    def _grid(self) -> GridTables | TreeTables:
        """A table that is a grid itself, or a grid of buckets over any pieces."""
        if self.function is not None and self.function.mesh is not None:
            with suppress(InputError):  # the table is not a grid
                return grid_tables(self.function, self.dtype)
        return tree_tables(search_tree(self._exact_function, buckets=True), self.dtype)

    def _network(self) -> NetworkTables:
        if self.given is None:
            assert self.function is not None
            self.compiled = compile(
                self.function, precision=cast("Dtype", self.dtype), minimize="nonzeros", check=self.check
            )
            self.given = self.compiled.network
        return network_tables(self.given, self.dtype)

    def _tree(self) -> TreeTables:
        tree = search_tree(self._exact_function)
        fixed = self.dtype.startswith("Q")
        return fixed_tables(tree, Fixed.from_text(self.dtype)) if fixed else tree_tables(tree, self.dtype)

    @cached_property
    def _exact_function(self) -> CPWL:
        p = self.function
        if p is None:
            assert self.given is not None
            return self._extracted(self.given)
        if self.compiled is None and self.check:
            examine(p, notes=False).check()
        if p.tol == 0:
            return p
        snapped = p.snap()
        if snapped.function is None:
            raise LimitError(f"no exact function is near enough to the data: {snapped.reason}")
        return snapped.function

    def _extracted(self, network: Network) -> CPWL:
        auto = self.form == "auto"
        if auto and (network.sizes.neurons > _NEURONS or network.inputs > _INPUTS):
            raise LimitError("the network is too large to list its regions")
        most = _REGIONS if auto else None
        p = extract(network, box=self.box, exact=True, max_regions=most)
        if not p.complete:
            raise LimitError(f"the network has more than {counted(p.num_pieces, 'region')}")
        return p

    def bound(self, body: _Tables) -> float | None:
        """What rounding does at most, for points of the domain of that type."""
        if isinstance(body, GridTables):
            return grid_error(body)
        if isinstance(body, TreeTables):
            return tree_errors(body) if body.shift is None else fixed_error(body)
        certificate = None if self.compiled is None else self.compiled.certificate
        if certificate is not None and certificate.evaluation_bound is not None:
            return certificate.evaluation_bound.get(self.dtype)
        around = box_around(self.function) if self.function is not None else None
        if around is None and self.ends is None:
            return None
        ends = list(zip(*around, strict=True)) if around is not None else self.ends or ([], [])
        low, high = doubles_around(ends[0], ends[1])
        assert self.given is not None
        bound = float_error(self.given, low, high, self.dtype)
        return bound if np.isfinite(bound) else None


def _is_grid(body: CBody) -> bool:
    """Whether a table is looked up, or one half of it."""
    return isinstance(body.body if isinstance(body, Folded) else body, GridTables)


def _labels(p: CPWL | None) -> list[str]:
    """The names and units of inputs and outputs, where the function has them."""
    if p is None or not p.labels:
        return []
    ends = zip(("x", "y"), (p.labels[: p.dim], p.labels[p.dim :]), strict=True)
    return ["; ".join(f"{end}[{k}]: {label}" for end, labels in ends for k, label in enumerate(labels)) + "."]


def _notes(
    name: str,
    form: str,
    body: CBody,
    guard: Guard,
    outside: str,
    costs: dict[str, Cost],
    bound: float | None,
) -> list[str]:
    """What the top of the header says."""
    whole = costs[form] + guard.cost(body.inputs, body.dtype)
    others = [f"As a {other}: {cost}." for other, cost in costs.items() if other != form]
    if _is_grid(body) and outside == "free":
        outside = "clip"
    beyond = {
        "free": "Points outside the domain: the value means nothing there. It returns 0.",
        "clip": "Points outside the domain: the value at the nearest point of the box. It returns 0.",
        "error": "Points outside the domain: it returns 1 and does not write y. Otherwise it returns 0.",
    }[outside]
    order = (
        "To the value at a corner of the cell, parts of the cell (largest first) times differences of values are added"
        if _is_grid(body)
        else "Each sum starts with the constant and adds the products in the order of the columns"
    )
    order += ", all rounded to nearest."
    if body.dtype.startswith("Q"):
        formats = Fixed.from_text(body.dtype)
        order = f"Fixed point ({formats}): the integers x[i] and y[i] are numbers times 2^{formats.inputs} and "
        order += f"2^{formats.outputs}. Sums are exact, and no input makes one of {formats.sums} bits overflow."
    rounding = (
        [] if bound is None else [f"On the domain rounding changes a value by at most {bound_text(bound)} (proved)."]
    )
    return [
        f"{name}: written by cpwl.",
        str(body),
        f"Worst case, points outside included: {whole}, {whole.comparisons} comparisons, {whole.stack} bytes "
        "of arrays on the stack.",
        *others,
        beyond,
        order,
        *rounding,
        "x and y must not overlap.",
    ]
