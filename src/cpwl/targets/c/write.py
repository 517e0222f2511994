"""`to_c`: a function or a network as one C header, as a network or as a search tree, whichever costs less."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.compiler import Compiled, compile
from cpwl.construct.options import Outside
from cpwl.doors import check_argument, check_choice, check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.rounding import doubles_around
from cpwl.files import write_text
from cpwl.formats.dense import Dtype
from cpwl.function.box import box_around
from cpwl.function.cpwl import CPWL
from cpwl.function.doctor.examine import examine
from cpwl.function.domain import Box
from cpwl.function.evaluate import as_points
from cpwl.network.clip import unclipped
from cpwl.network.network import Network
from cpwl.proofs.float_error import float_error
from cpwl.regions.extract import extract
from cpwl.targets.c.bound import tree_error
from cpwl.targets.c.name import c_name, checked_name
from cpwl.targets.c.outside import box_ends, guard_of, inside_box
from cpwl.targets.c.reference import network_values, tree_values
from cpwl.targets.c.tables import Cost, NetworkTables, TreeTables, network_tables, tree_tables
from cpwl.targets.c.text import Guard, header
from cpwl.targets.c.tree import search_tree

__all__ = ["CCode", "Form", "to_c"]

Form: TypeAlias = Literal["auto", "network", "tree"]

_REGIONS = 1000  # regions of a network that "auto" looks for
_NEURONS, _INPUTS = 300, 4  # beyond, it does not look


@dataclass(frozen=True, slots=True, eq=False)
class CCode:
    """C code for a function: what it is, what it costs, and what it computes.

    Attributes
    ----------
    name : str
        The function: ``int name(const double x[], double y[])``.
    form : {"network", "tree"}
        How it is evaluated.
    dtype : {"float64", "float32"}
        The type: double or float.
    outside : {"free", "clip", "error"}
        What is done with points outside the domain.
    costs : dict
        The cost of each form that was looked at.
    reason : str
        Why this form was taken.
    error_bound : float or None
        How far a computed value can be from the exact one, for points of the domain of that type; None where the domain
        is not known to be bounded, or nothing was proved.
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
    body: NetworkTables | TreeTables = field(repr=False)
    guard: Guard = field(repr=False)

    def __call__(self, x: ArrayLike) -> NDArray[Any]:
        """What the code computes, bit for bit, ``(N, n) -> (N, m)``; NaN where it refuses a point."""
        inputs = self.body.network.inputs if isinstance(self.body, NetworkTables) else self.body.planes.shape[1] - 1
        points, single = as_points(x, inputs)
        points = points.astype(self.dtype)
        points, refused = inside_box(self.guard, points)
        values = network_values if isinstance(self.body, NetworkTables) else tree_values
        found = values(self.body, points)  # type: ignore[arg-type]
        found[refused] = np.nan
        return found[0] if single else found

    def __str__(self) -> str:
        lines = [f"{form}: {cost}" for form, cost in self.costs.items()]
        return "\n".join([*lines, f"taken: {self.form} ({self.reason})"])


@within_float64()
def to_c(
    source: CPWL | Network | Compiled,
    path: str | os.PathLike[str],
    *,
    dtype: Dtype = "float64",
    form: Form = "auto",
    outside: Outside | None = None,
    box: tuple[Any, Any] | None = None,
    name: str | None = None,
) -> CCode:
    """Write a function or a network as one self-contained C99 header.

    The header has constants and one function ``int name(const double x[n], double y[m])`` that returns 0. It needs
    no heap and no library. As a *network* it runs sparse loops over the layers; as a *tree* it finds the piece by
    binary search and evaluates its law. See docs/howto/c.md.

    Parameters
    ----------
    source : CPWL, Network or Compiled
        What to write. A function is compiled first, for few nonzero weights.
    path : path-like
        The header; what is there is replaced when the new file is complete.
    dtype : {"float64", "float32"}
        double, or float.
    form : {"auto", "network", "tree"}
        "auto" compares bytes of constants times multiply-adds in the worst case, and takes the smaller product.
    outside : {"free", "clip", "error"}
        What is done with points outside the domain: nothing; the value at the nearest point of the domain, which must
        be a box; or the code returns 1 and writes nothing. By default as it was compiled, or "free".
    box : pair, optional
        The domain ``(low, high)`` of a network, which has none of its own.
    name : str, optional
        The name of the function in C; by default that of the file.

    Returns
    -------
    CCode
        The form that was taken, the cost of each, and a bound on the rounding. Call it for what the code computes.

    Raises
    ------
    InputError
        If an option is unknown, the file cannot be written, or the domain is no box where one is needed.
    LimitError
        If a weight is beyond the type, or there are too many pieces for the tree that was asked for.

    Examples
    --------
    >>> import tempfile
    >>> p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0], left_slope=0, right_slope=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(to_c(p, folder + "/law.h"))
    network: 69 bytes of constants, at most 5 multiply-adds
    tree: 102 bytes of constants, at most 3 multiply-adds
    taken: tree (the smaller product of bytes and multiply-adds)
    """
    check_argument(source, (CPWL, Network, Compiled), "to_c")
    check_path(path, "to_c")
    check_choice(dtype, ("float32", "float64"), "dtype")
    check_choice(form, ("auto", "network", "tree"), "form")
    if outside is None:
        outside = cast("Outside", source.outside) if isinstance(source, Compiled) else "free"
    check_choice(outside, ("free", "clip", "error"), "outside")
    called = c_name(path) if name is None else checked_name(name)
    forms = _Forms(source, dtype, form, box)
    guard = guard_of(outside, forms.domain, dtype)
    found = forms.found()
    costs = {form: body.cost for form, body in found.items()}
    taken = min(found, key=lambda form: costs[form].flash * costs[form].multiply_adds)
    body, reason = found[taken], forms.reason if len(found) == 1 else _RULE
    bound = forms.bound(body)
    notes = _notes(called, taken, body, guard, costs, bound)
    text = header(called, body, guard, notes)
    write_text(path, text)
    return CCode(called, taken, dtype, outside, costs, reason, bound, text, body, guard)


_RULE = "the smaller product of bytes and multiply-adds"


class _Forms:
    """The function and the network of what was given, made when they are needed."""

    def __init__(self, source: CPWL | Network | Compiled, dtype: Dtype, form: Form, box: Any) -> None:
        self.dtype, self.form, self.box, self.reason = dtype, form, box, "asked for"
        self.compiled = source if isinstance(source, Compiled) else None
        self.function = (
            source.function if isinstance(source, Compiled) else source if isinstance(source, CPWL) else None
        )
        self.given = source.network if isinstance(source, Compiled) else source if isinstance(source, Network) else None
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

    def found(self) -> dict[str, NetworkTables | TreeTables]:
        makers: dict[str, Callable[[], NetworkTables | TreeTables]] = {"network": self._network, "tree": self._tree}
        if self.form != "auto":
            return {self.form: makers[self.form]()}
        found: dict[str, NetworkTables | TreeTables] = {"network": self._network()}
        try:
            found["tree"] = self._tree()
        except LimitError as error:
            self.reason = f"no search tree: {str(error).splitlines()[0]}"
        return found

    def _network(self) -> NetworkTables:
        if self.given is None:
            assert self.function is not None
            self.compiled = compile(self.function, precision=self.dtype, minimize="nonzeros")
            self.given = self.compiled.network
        return network_tables(self.given, self.dtype)

    def _tree(self) -> TreeTables:
        return tree_tables(search_tree(self._exact_function()), self.dtype)

    def _exact_function(self) -> CPWL:
        p = self.function
        if p is None:
            assert self.given is not None
            return self._extracted(self.given)
        if self.compiled is None:
            examine(p, notes=False).check()
        if p.tol == 0:
            return p
        snapped = p.snap(p.tol)
        if snapped.function is None:
            raise LimitError(f"no exact function is near enough to the data: {snapped.reason}")
        return snapped.function

    def _extracted(self, network: Network) -> CPWL:
        auto = self.form == "auto"
        if auto and (network.sizes.neurons > _NEURONS or network.inputs > _INPUTS):
            raise LimitError("the regions of a network of this size were not looked for")
        most = _REGIONS if auto else None
        p = extract(network, box=self.box, exact=True, max_regions=most)
        if not p.complete:
            raise LimitError(f"the network has more than {p.num_pieces:,} regions")
        return p

    def bound(self, body: NetworkTables | TreeTables) -> float | None:
        """What rounding does at most, for points of the domain of that type."""
        if isinstance(body, TreeTables):
            return tree_error(body)
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


def _notes(
    name: str,
    form: str,
    body: NetworkTables | TreeTables,
    guard: Guard,
    costs: dict[str, Cost],
    bound: float | None,
) -> list[str]:
    """What the top of the header says."""
    if isinstance(body, NetworkTables):
        what = f"A ReLU network: {body.network.sizes.neurons} neurons in {body.network.sizes.depth - 1} hidden layers."
    else:
        tree = body.tree
        what = f"A binary search tree: {len(tree.plane)} nodes, depth {tree.depth}, {len(tree.laws)} laws."
    others = [f"As a {other}: {cost}." for other, cost in costs.items() if other != form]
    outside = {
        "free": "Points outside the domain: the value means nothing there. It returns 0.",
        "clip": "Points outside the domain: the value at the nearest point of the box. It returns 0.",
        "error": "Points outside the domain: it returns 1 and does not write y. Otherwise it returns 0.",
    }[guard.outside]
    rounding = [] if bound is None else [f"On the domain rounding changes a value by at most {bound:.3g} (proved)."]
    return [
        f"{name}: written by cpwl.",
        what,
        f"Cost: {costs[form]}, {costs[form].comparisons} comparisons, {costs[form].stack} bytes of working memory.",
        *others,
        outside,
        "Each sum starts with the constant and adds the products in the order of the columns, all rounded to nearest.",
        *rounding,
        "x and y must not overlap.",
    ]
