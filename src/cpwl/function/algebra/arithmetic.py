"""Sums, multiples and linear images of functions, single outputs, several functions side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_argument, check_list, chosen_numbers, method_of, within_float64
from cpwl.errors import InputError, counted
from cpwl.exact.integers import homogeneous, number_rows, primitive
from cpwl.exact.rational import fraction_array, fractions_for
from cpwl.function.cpwl import CPWL, generators_of
from cpwl.function.merge import merge
from cpwl.function.parts import Laws, Parts
from cpwl.function.snap.snap import snap
from cpwl.geometry.bodies import Bodies, body_of, solid, stacked
from cpwl.geometry.overlay import overlay
from cpwl.geometry.polyhedra import Polyhedron, fact

# A function as bodies with laws, all in integers, and back.


_FEW = 2000  # pieces that are merged at once: each takes linear programs


def exactly(p: CPWL) -> CPWL:
    """The function itself if its data is meant exactly, else the exactly consistent one that `CPWL.snap` finds near it.

    Float data without one is refused: nobody could say what its sum or maximum is between pieces that do not fit.
    """
    if p.complete is False:
        raise InputError(
            "a function that was extracted in part is not defined everywhere; `extract(resume=...)` completes it"
        )
    if p.tol == 0:
        return p
    found = snap(p, p.tol)
    if found.function is None:
        raise InputError(
            f"these pieces do not fit exactly, and no exact function is near them: {found.reason}\n"
            "  `p.doctor()` says where, and `p.snap(tol)` with a larger tolerance may find one."
        )
    return found.function


@fact
def pieces_of(p: CPWL) -> tuple[NDArray[np.int64], Bodies]:
    """The pieces that have an interior, with irredundant rows and generators, and their numbers. Exact data."""
    if p.mesh is not None:
        rows = primitive(p.polyhedra.integer())
        return np.arange(p.num_pieces), Bodies(stacked(rows, p.polyhedra.start), generators_of(p))
    return solid(p.polyhedra)


def function_of(bodies: Bodies, laws: NDArray[np.object_], domain: Polyhedron | None) -> CPWL:
    """The function with those pieces and integer laws ``(gradient, offset, 1) * denominator``, merged where cheap."""
    parts = Parts(bodies.polyhedra, Laws.from_integer(primitive(laws)), domain, 0.0)
    made = CPWL.from_parts(parts)
    return merge(made) if made.num_pieces <= _FEW else made


def common_domain(one: Polyhedron | None, two: Polyhedron | None) -> Polyhedron | None:
    """The intersection of two asserted domains; None, what the pieces cover, if one was not asserted."""
    if one is None or two is None:
        return None
    if one is two:
        return one
    rows = primitive(one.meet(two).integer())
    return body_of(rows[number_rows(rows)[0]])


def summed(laws: NDArray[np.object_], others: NDArray[np.object_]) -> NDArray[np.object_]:
    """The sums of integer laws ``(gradient, offset, 1) * denominator``."""
    above = laws[..., :-1] * others[..., -1:] + others[..., :-1] * laws[..., -1:]
    return np.concatenate([above, laws[..., -1:] * others[..., -1:]], axis=-1)


Integers = NDArray[np.object_]


@method_of(CPWL, "__add__", "__radd__")
def add(p: CPWL, other: Any) -> CPWL:
    if not isinstance(other, CPWL):
        constant = fractions_for(other, p.outputs, "outputs")
        return linear_image(p, np.diag([Fraction(1)] * p.outputs) + Fraction(0), constant)
    check_shapes(p, other)
    return on_common_pieces([p, other], lambda laws: summed(laws[0], laws[1]))


@method_of(CPWL, "__sub__")
def subtract(p: CPWL, other: Any) -> CPWL:
    if isinstance(other, CPWL):
        return add(p, times(other, -1))
    return add(p, list(-fractions_for(other, p.outputs, "outputs")))


@method_of(CPWL, "__mul__", "__rmul__")
def times(p: CPWL, factor: Any) -> CPWL:
    factors = fractions_for(factor, p.outputs, "outputs")
    return linear_image(p, np.diag(factors) + Fraction(0))


@method_of(CPWL, "__rmatmul__")
def linear_image(p: CPWL, matrix: Any, shift: Any = 0) -> CPWL:
    weight = fraction_array(matrix)
    if weight.ndim != 2 or weight.shape[1] != p.outputs:
        raise InputError(f"a function with {counted(p.outputs, 'output')} takes as many columns, not {weight.shape}")
    move = fractions_for(shift, len(weight), "outputs")
    laws = p.laws.integer()
    rows = []
    for line, by in zip(weight, move, strict=True):
        total = np.zeros((len(laws), p.dim + 2), dtype=object)
        total[:, -1] = by.denominator
        total[:, -2] = by.numerator
        for j in np.flatnonzero(line != 0):
            term = np.column_stack([laws[:, j, :-1] * line[j].numerator, laws[:, j, -1] * line[j].denominator])
            total = summed(total, term)
        rows.append(primitive(total))
    return p.with_laws(np.stack(rows, axis=1))


@method_of(CPWL, "__getitem__")
def output(p: CPWL, j: Any) -> CPWL:
    chosen = chosen_numbers(j, p.outputs, "output")
    exact = None if p.laws.exact is None else p.laws.exact[:, chosen]
    mesh = p.mesh
    if mesh is not None:
        whole = None if mesh.exact_values is None else mesh.exact_values[:, chosen]
        mesh = replace(mesh, values=mesh.values[:, chosen], exact_values=whole)
    laws = Laws(p.laws.gradient[:, chosen].copy(), p.laws.offset[:, chosen].copy(), exact)
    made = p.with_parts(laws, mesh)
    if not p.names:
        return made
    ends = [*range(p.dim), *(p.dim + int(k) for k in chosen)]
    return replace(made, names=tuple(p.names[k] for k in ends), units=tuple(p.units[k] for k in ends))


@within_float64()
def side_by_side(functions: Sequence[CPWL]) -> CPWL:
    """The function ``x -> (p_1(x), p_2(x), ..)``, where all are defined."""
    check_list(functions, "functions")
    if len(functions) == 0:
        raise InputError("`stack` needs at least one function")
    kind = type(functions[0])
    for p in functions:
        check_argument(p, kind, "stack")
        if p.dim != functions[0].dim:
            raise InputError(f"functions of {functions[0].dim} and of {counted(p.dim, 'input')} cannot be stacked")
    return on_common_pieces(list(functions), lambda laws: np.concatenate(laws, axis=1))


def on_common_pieces(functions: Sequence[CPWL], combine: Callable[[list[Integers]], Integers]) -> CPWL:
    """The function whose law on each common piece is made of the laws of all functions there."""
    first = functions[0]
    if all(same_pieces(first, q) for q in functions[1:]):
        return first.with_laws(primitive(combine([q.laws.integer() for q in functions])))
    whole = [exactly(q) for q in functions]
    number, bodies = pieces_of(whole[0])
    laws, domain = [whole[0].laws.integer()[number]], whole[0].domain
    for q in whole[1:]:
        other, pieces = pieces_of(q)
        found = overlay(bodies, pieces)
        if not len(found.cells):
            raise InputError("the domains of these functions have no inner point in common")
        bodies, domain = found.cells, common_domain(domain, q.domain)
        laws = [*(own[found.one] for own in laws), q.laws.integer()[other[found.two]]]
    return function_of(bodies, combine(laws), domain)


def same_pieces(p: CPWL, q: CPWL) -> bool:
    """Whether two functions have the very same pieces in the same order."""
    if p.tol != q.tol or p.domain is not q.domain:
        return False
    if p.polyhedra is q.polyhedra:
        return True
    if p.mesh is None or q.mesh is None or p.mesh.simplices.shape != q.mesh.simplices.shape:
        return False
    return bool((p.mesh.simplices == q.mesh.simplices).all()) and bool(
        p.mesh.corners.shape == q.mesh.corners.shape and (p.mesh.corners == q.mesh.corners).all()
    )


def check_shapes(p: CPWL, q: CPWL) -> None:
    """Refuse two functions with other numbers of inputs or outputs."""
    if (p.dim, p.outputs) != (q.dim, q.outputs):
        raise InputError(f"the first maps R^{p.dim} to R^{p.outputs}, the second R^{q.dim} to R^{q.outputs}")


@within_float64()
def plus_affine(p: CPWL, matrix: Any, shift: Any) -> CPWL:
    """The function ``x -> p(x) + M x + s``, with the same pieces."""
    law, laws = homogeneous(np.column_stack([fraction_array(matrix), fraction_array(shift)])), p.laws.integer()
    return p.with_laws(primitive(summed(laws, np.broadcast_to(law, laws.shape))))
