"""Gates: networks of linear size, right on every function; in the plane gates on lines, beyond it on planes.

The common lineality space is divided out first: a function of many inputs that bends in a plane is a planar one.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.blocks.common import lifted
from cpwl.construct.blocks.hinges import hinge_network, sides
from cpwl.construct.gates.gate_sum import (
    GateSum,
    LocalFunctions,
    Planes,
    reference_point,
    settle,
    share_gates,
    share_jointly,
)
from cpwl.construct.gates.lowering import lower, reduce_rank, scaled
from cpwl.construct.gates.plane_gates import plane_gates
from cpwl.construct.plan import Least, Plan
from cpwl.errors import ConstructionError, LimitError
from cpwl.exact.integers import primitive, signs_at
from cpwl.exact.rational import to_flint
from cpwl.function import CPWL
from cpwl.function.bends.table import Neighbours
from cpwl.function.lineality import essential_coordinates, on_coordinates
from cpwl.function.parts import Laws, Mesh, Parts
from cpwl.geometry.complex import Complex, complex_of, few_cells, from_simplices, many_cells
from cpwl.geometry.polyhedra import Polyhedra, fact
from cpwl.network import Network
from cpwl.network.program import Chain, Row, chained

# Gate networks in every dimension: a number of neurons linear in the complex, right on every input.
#
# ``p = sum c_F p_F`` over the faces inside the domain, where `p_F` is what `p` looks like near `F`; each `p_F` is glued
# from those of larger faces by one gate on a plane through `F`; gates on one plane share a neuron. See
# docs/theory/local_gates.md.


# A function as laws on a face-to-face complex.


CELLS = 20_000
"""Into how many cells pieces that do not meet face to face may be cut."""


@dataclass(frozen=True, slots=True, eq=False)
class OnComplex:
    """A function by the laws on the cells of a complex."""

    complex: Complex
    laws: NDArray[np.object_]
    """Integer rows ``(gradient, offset, 1) * denominator`` by cell and output."""


def on_complex(p: CPWL, *, limit: int = CELLS) -> OnComplex:
    """The function on its complex; `LimitError` if that has more cells. No line may lie in all pieces."""
    if p.tol != 0:
        raise ConstructionError(
            "gates need data that is exactly continuous; these pieces are floats that may be off by a tolerance: take "
            "`p.snap().function`"
        )
    complex_, piece = _complex(p, limit)
    return OnComplex(complex_, p.laws.integer()[piece])


def _complex(p: CPWL, limit: int) -> tuple[Complex, NDArray[np.int64]]:
    if p.mesh is not None:
        complex_ = from_simplices(p.mesh.corners, p.mesh.simplices)
        if _meets_face_to_face(p.mesh, p.polyhedra, complex_):
            return complex_, np.arange(p.num_pieces)
    found = few_cells(p.polyhedra) or complex_of(p.polyhedra, limit=limit)
    if len(found[1]) > limit:
        raise LimitError(f"the pieces are cut into {len(found[1])} cells, and at most {limit} are allowed")
    return found


def _meets_face_to_face(mesh: Mesh, polyhedra: Polyhedra, complex_: Complex) -> bool:
    """Whether every facet has a simplex on each side or lies in the boundary of the convex domain."""
    n = complex_.dim
    cells = complex_.above(n - 1, n)
    crowded = next((own for own in cells if len(own) > 2), None)
    if crowded is not None:
        raise ConstructionError(f"simplices {crowded} share one facet: see `p.doctor()`", pieces=crowded)
    single = [
        (own[0], set(face)) for own, face in zip(cells, complex_.faces[n - 1].members, strict=True) if len(own) == 1
    ]
    rows = []
    for i, facet in single:
        k = next(k for k, v in enumerate(mesh.simplices[i].tolist()) if v not in facet)
        rows.append(i * (n + 1) + k)  # row k of a simplex is the facet without its corner k
    outward = polyhedra.integer()[rows]
    outward = np.concatenate([outward[:, :-1], -outward[:, -1:]], axis=1)
    used = np.unique(mesh.simplices)
    return not bool((signs_at(outward, mesh.corners[used]) > 0).any())


def vertices_of(complex_: Complex) -> list[Sequence[int]] | None:
    """The vertices in the boundary of a bounded domain; None if it is unbounded."""
    if not complex_.is_bounded:
        return None
    faces = complex_.faces[0]
    return [[int(v) for v in complex_.generators[faces.members[i][0]]] for i in np.flatnonzero(faces.boundary)]


# Peeling: what is consistent along whole hyperplanes comes off as hinges before faces are looked at.
#
# A hyperplane on which a function bends and which cuts none of its pieces is made of facets. Its most frequent jump `w`
# comes off as a hinge ``w s(l)``: what is left is affine on the same pieces, does not bend on most of the hyperplane,
# and has fewer pieces once those with equal laws are merged. The gates are the same: at a face only the *change* of a
# jump counts. But the complex is a small part of what it would be, since its cells need not be cut along the
# hyperplane.


_Jump = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Peeled:
    """``p = rest + sum of jump s(l)``, one jump an output, `l` as integers ``(a, c)`` for ``a.x + c``."""

    rest: CPWL
    hinges: dict[tuple[int, ...], _Jump]


@fact
def peel(p: CPWL, met: Neighbours) -> Peeled | None:
    """The consistent part and the rest in fewer pieces; None if that has as many as the function. Exact data.

    >>> A = [[[1, 0], [0, 1]], [[-1, 0], [0, 1]], [[1, 0], [0, -1]], [[-1, 0], [0, -1]]]
    >>> p = CPWL.from_pieces(A, [[0, 0]] * 4, [[0, 0], [1, 0], [0, 2], [1, 2]], [0] * 4)
    >>> from cpwl.function.bends.table import neighbours
    >>> peeled = peel(p, neighbours(p))
    >>> peeled.rest.num_pieces, {l: int(jump) for l, (jump,) in sorted(peeled.hinges.items())}
    (1, {(0, 1, 0): 2, (1, 0, 0): 1})
    """
    hinges = _most_frequent(p, met)
    rows = list(hinges)
    if not rows:
        return None
    found = enumerate(sides(p, np.array(rows, dtype=object)))
    whole = {rows[h]: side for h, side in found if not isinstance(side, int)}
    if not whole:
        return None
    laws = p.laws.integer()
    law = np.array([[[Fraction(v, row[-1]) for v in row[:-1]] for row in own] for own in laws], dtype=object)
    for row, side in whole.items():
        law[side > 0] -= np.array(hinges[row], dtype=object)[:, None] * np.array(row, dtype=object)
    rest = CPWL.from_parts(Parts(p.polyhedra, _laws(law), p.domain, p.tol)).merge()
    if rest.num_pieces == p.num_pieces:
        return None
    return Peeled(rest, {row: hinges[row] for row in whole})


def _most_frequent(p: CPWL, found: Neighbours) -> dict[tuple[int, ...], _Jump]:
    """For each hyperplane that bends on most of its facets in the same way, that jump."""
    laws = p.laws.integer()
    jumps: dict[tuple[int, ...], Counter[_Jump]] = defaultdict(Counter)
    for i, j, row in zip(found.one.tolist(), found.two.tolist(), primitive(found.row), strict=True):
        c = next(k for k, v in enumerate(row) if v)
        jump = tuple(
            (Fraction(f[c], f[-1]) - Fraction(g[c], g[-1])) / row[c] for f, g in zip(laws[j], laws[i], strict=True)
        )
        form = [*row[:-1], -row[-1]]  # `one` has it at most 0
        lead = 1 if row[c] > 0 else -1  # s(l) and s(-l) differ by l only: their jumps are the same
        jumps[tuple(int(lead * v) for v in form)][jump] += 1
    best = {form: max(jumps[form].items(), key=lambda item: (item[1], any(item[0]), item[0]))[0] for form in jumps}
    return {form: jump for form, jump in best.items() if any(jump)}


def _laws(law: NDArray[np.object_]) -> Laws:
    """Laws from fractions ``(pieces, outputs, gradient and offset)``."""
    rows = np.zeros((*law.shape[:2], law.shape[2] + 1), dtype=object)
    for index in np.ndindex(law.shape[:2]):
        below = math.lcm(*(v.denominator for v in law[index]))
        rows[index] = [*(int(v * below) for v in law[index]), below]
    return Laws.from_integer(rows)


@dataclass(frozen=True, slots=True, eq=False)
class SpaceGates:
    """A network of hinges and gates, and what it is made of."""

    network: Network
    planes: int
    """The number of planes with a hinge."""
    gates: dict[int, int]
    """The number of gates, by the codimension of their faces."""
    cells: int
    """The number of cells of the face-to-face complex."""


def space_gates(analysis: Analysis) -> SpaceGates:
    """The network of local functions and gates for all outputs, with exact rational weights. Exact data.

    No line may lie in all pieces: `Analysis.essential` divides by the lines.

    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 2, 0]])
    >>> made = space_gates(Analysis(p))
    >>> made.planes, made.gates, made.network([[1.0, 0.5]])
    (5, {2: 1}, array([[0.5]]))
    """
    p, tell = analysis.function, analysis.options.progress or _silent
    tell(0, _STEPS, "gates: faces")
    ways = _ways(analysis)
    tell(1, _STEPS, "gates: planes")
    made = [_gates_on(p, *way) for way in ways]
    tell(_STEPS, _STEPS, "gates")
    return min(made, key=lambda gates: gates.network.sizes.neurons)


def _gates_on(p: CPWL, function: OnComplex, hinges: Hinges) -> SpaceGates:
    """The network of gates on one complex and of hinges that were taken off before."""
    gate_sum = _gate_sum(function.complex, function.laws, hinges)
    cells = len(function.complex.faces[-1])
    if not any(terms.hinges or terms.gates for terms in gate_sum.outputs):
        return SpaceGates(chained(_affine(p), p.dim), 0, {}, cells)
    chain, planes = lower(gate_sum, vertices_of(function.complex))
    gates = Counter(gate.codimension for gate in gate_sum.gates)
    return SpaceGates(chained(scaled(chain), p.dim), planes, dict(sorted(gates.items())), cells)


_STEPS = 2
_FEW = 300  # cells up to which both ways are tried
_SOME = 1000  # pieces up to which merging them is worth its linear programs; simplices, whose complex is known: `_FEW`
Hinges = dict[tuple[int, ...], tuple[Fraction, ...]]
"""The jumps of all outputs on some planes."""


def _silent(done: int, total: int, what: str) -> None:
    """No progress is shown."""


def _peeled(analysis: Analysis) -> Peeled | None:
    """The function with hinges taken off, where merging its pieces is worth it."""
    p = analysis.function
    some = _SOME if p.mesh is None else _FEW
    return peel(p, analysis.neighbours) if p.tol == 0 and p.num_pieces <= some else None


def cutting(analysis: Analysis) -> str:
    """Into how many cells the pieces are cut, with and without hinges taken off, where these are many; else ""."""
    p = analysis.function
    many = "" if p.mesh is not None else many_cells(p.polyhedra)
    peeled = _peeled(analysis) if many else None
    if peeled is None or peeled.rest.num_pieces == 1:
        return many
    try:
        return many_cells(peeled.rest.polyhedra)
    except ConstructionError:  # pieces that contain lines: `_ways` takes the function as it is
        return many


def _ways(analysis: Analysis) -> list[tuple[OnComplex, Hinges]]:
    """The function on its complex, and as one with hinges taken off before: what has fewer cells, both if small."""
    p, peeled = analysis.function, _peeled(analysis)
    if peeled is None or not _has_no_line(peeled.rest):
        return [(on_complex(p), {})]
    rest = on_complex(peeled.rest)
    cells = len(rest.complex.faces[-1])
    ways: list[tuple[OnComplex, Hinges]] = [(rest, peeled.hinges)]
    with suppress(LimitError):
        # Pieces that were merged need not meet face to face any more.
        ways.append((on_complex(p, limit=max(cells, _FEW)), {}))
        ways.sort(key=lambda way: len(way[0].complex.faces[-1]))
    return ways if cells <= _FEW else ways[:1]


def _gate_sum(complex_: Complex, laws: NDArray[np.object_], hinges: Hinges) -> GateSum:
    """Hinges and gates for all outputs: each with planes of its own, or all with the same, whichever is smaller."""
    planes = Planes(reference_point(complex_))
    functions = [LocalFunctions(complex_, laws[:, j], planes) for j in range(laws.shape[1])]
    gate_sum = reduce_rank(settle(planes, [share_gates(local) for local in functions]))
    if len(functions) > 1 and gate_sum.gates:
        together = reduce_rank(settle(planes, share_jointly(functions)))
        gate_sum = min(gate_sum, together, key=lambda gate_sum: gate_sum.cost)
    for row, jumps in hinges.items():
        number, sign = planes.number(row)
        for terms, jump in zip(gate_sum.outputs, jumps, strict=True):
            weight = to_flint(jump)
            terms.add_hinge(number, weight)
            if sign < 0:  # s(-l) = s(l) - l
                terms.add_affine(planes.rows[number], -weight)
    return gate_sum


def _affine(p: CPWL) -> Chain:
    """The rows of a function without a bend: its laws."""
    laws = [[fmpq(int(v), int(row[-1])) for v in row[:-1]] for row in p.laws.integer()[0]]
    return [[Row({j: v for j, v in enumerate(law[:-1]) if v != 0}, law[-1]) for law in laws]]


def plan(analysis: Analysis) -> Plan:
    """The plan of a network whose size is linear in the pieces and their faces.

    >>> from cpwl.function import CPWL
    >>> made = plan(Analysis(CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])))
    >>> made.construction, made.sizes.depth, made.sizes == made.build().sizes
    ('gates', 2, True)
    """
    exact, points = analysis.exact, analysis.sample.points
    small = _without_lines(exact)
    if small.function.dim == 1:
        return Plan.of("gates", hinge_network(exact), points)
    network = (plane_gates if small.function.dim == 2 else space_gates)(small).network
    if small is not exact:
        network = lifted(exact.function, essential_coordinates(exact.function, 2), network)
    return Plan.of("gates", network, points)


def _without_lines(exact: Analysis) -> Analysis:
    """The function on coordinates along which it bends or ends: a function of three inputs may be one of the plane."""
    p = exact.function
    if p.dim > 3 or _has_no_line(p):
        return exact.essential
    return replace(exact, function=on_coordinates(p, essential_coordinates(p, 2)))


def _has_no_line(p: CPWL) -> bool:
    """Whether no line lies in all pieces."""
    return len(essential_coordinates(p, 2)) == p.dim


def least(analysis: Analysis) -> Least:
    """At least one neuron for each hyperplane on which the function bends.

    A hinge changes its sign on one hyperplane, and a gate ``s(d + M l)`` where `l` does; a neuron that carries a sum
    never does. And the network bends only where one of its neurons changes its sign.

    >>> from cpwl.function import CPWL
    >>> p = CPWL.from_grid([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> least(Analysis(p)).neurons, plan(Analysis(p)).sizes.neurons
    (5, 5)
    """
    planes = analysis.exact.bend_planes
    return Least(planes, f"the function bends on {planes} hyperplanes", 2 if planes else 1)


def work(analysis: Analysis) -> str:
    """Into how many cells pieces in space are cut, if "auto" leaves so many to others; else ""."""
    try:
        small = _without_lines(analysis.exact)
    except ConstructionError:
        return ""  # planning will say why
    return cutting(small) if small.function.dim > 2 else ""
