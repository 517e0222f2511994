"""A nearby exactly consistent function for float data.

What is tried, in this order, until one is exactly consistent:

1. the data as it is, every float being a rational;
2. for one input, laws joined one after the other (`line`);
3. what the float complex of the pieces proposes (`nearby`): a table on welded corners, exact laws that meet, triangles;
4. the same once pieces of one law are merged, which takes linear programs.

A function of many inputs that bends in few directions is made one of few inputs first (`Few`).

At the end: tables and breakpoints of floats with their rounding undone (`undone`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import NDArray

from cpwl.doors import check_number, method_of
from cpwl.errors import InputError, LimitError
from cpwl.exact.integers import homogeneous, primitive
from cpwl.exact.rational import fraction_array
from cpwl.function.cpwl import CPWL, Moved, Snapped
from cpwl.function.doctor.first_error import first_error
from cpwl.function.flags import consistency
from cpwl.function.jump import largest_jump
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.merge import merge
from cpwl.function.parts import Laws, Mesh, Parts
from cpwl.function.snap.cells import whole_row
from cpwl.function.snap.complex import Gap, Unfit
from cpwl.function.snap.even import even_table
from cpwl.function.snap.line import in_runs, is_coarse, snap_line
from cpwl.function.snap.nearby import WAYS, Work, lost_law, ways
from cpwl.function.snap.short import meant, simple
from cpwl.geometry.facets import hyperplanes
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, fact, joined

# Coordinates of very different sizes, stretched by powers of 2 to about one size, and back: nothing is rounded.
#
# Tolerances compare coordinates with each other, so an axis of 1e-6 beside one of 1e6 would be nothing but noise. With
# ``y_k = 2^e_k x_k`` a row ``a.x <= b`` is ``sum (2^-e_k a_k) y_k <= b``, and a law likewise.


_Ints = NDArray[np.int64]
_EVEN = 10  # powers of 2 between the sizes of coordinates that are no trouble
_ALIKE = 0.1  # of a coefficient: noise in its place differs by more nineteen times in twenty


def uneven(polyhedra: Polyhedra) -> _Ints | None:
    """The powers of 2 that make coordinates of one size, if they are of very different sizes; else None.

    The two rows of a facet agree in a coefficient that means something, and differ where it is noise in the place of a
    0. Coefficients that agree must say that sizes differ, too: else an axis would be stretched until noise is as large
    as the data.
    """
    if not len(polyhedra.b):
        return None
    size = np.abs(polyhedra.A).max(axis=1)
    A, b = polyhedra.A / size[:, None], polyhedra.b / size
    found = _powers(A, b, (A != 0) & (b != 0)[:, None])
    if found is None:
        return None
    rows = np.column_stack([A, b / (np.abs(b).max() or 1.0)])
    other = scipy.spatial.cKDTree(rows).query(-rows, k=1)[1]
    agree = (np.abs(rows + rows[other]) <= _ALIKE * np.abs(rows)) & (rows != 0)
    return None if _powers(A, b, agree[:, :-1] & agree[:, -1:]) is None else found


def _powers(A: NDArray[np.float64], b: NDArray[np.float64], used: NDArray[np.bool_]) -> _Ints | None:
    """The powers of 2 that make coordinates of one size, if they are of very different sizes.

    How large a coordinate is, is told by where rows meet its axis: a low quantile, as rows may hardly depend on it.
    """
    powers = []
    for column, some in zip(A.T, used.T, strict=True):
        if not some.any():
            return None
        powers.append(-int(np.round(np.quantile(np.log2(np.abs(b[some])) - np.log2(np.abs(column[some])), 0.25))))
    found = np.array(powers, dtype=np.int64)
    return found if np.ptp(found) > _EVEN else None


def stretched(p: CPWL, powers: _Ints) -> CPWL:
    """The function of ``y_k = 2^e_k x_k``; domain, tolerance and corners go along."""
    stack, domain, factors = p.polyhedra, p.domain, np.exp2(-powers)
    polyhedra = Polyhedra(stack.A * factors, stack.b, stack.start, _rows(stack.exact, powers))
    if domain is not None:
        domain = Polyhedron(domain.A * factors, domain.b, _rows(domain.exact, powers))
    mesh = None if p.mesh is None else _mesh(p.mesh, powers)
    return CPWL.from_parts(Parts(polyhedra, _laws(p.laws, powers), domain, p.tol, mesh))


def _rows(exact: NDArray[np.object_] | None, powers: _Ints) -> NDArray[np.object_] | None:
    return None if exact is None else primitive(_shifted(exact, np.append(-powers, 0)))


def _laws(laws: Laws, powers: _Ints) -> Laws:
    exact = None if laws.exact is None else primitive(_shifted(laws.exact, np.append(-powers, [0, 0])))
    return Laws(laws.gradient * np.exp2(-powers), laws.offset, exact)


def _mesh(mesh: Mesh, powers: _Ints) -> Mesh:
    corners = primitive(_shifted(mesh.corners, np.append(powers, 0)))
    return replace(mesh, points=mesh.points * np.exp2(powers), corners=corners)


def _shifted(rows: NDArray[np.object_], powers: _Ints) -> NDArray[np.object_]:
    """Integers times powers of 2, column by column, and all of them by one more so that they stay integers."""
    factors = np.array([1 << int(k) for k in powers - powers.min()], dtype=object)
    return np.asarray(rows * factors)


_FEW = 200  # pieces up to which linear programs are worth the time
_INPUTS = 5  # with more, pieces have many corners
_NOISY = (0.0, 1e-3, 0.1)  # of the tolerance: how noisy rows are at least, one after the other


@method_of(CPWL, "snap")
def snap(p: CPWL, tol: float | None = None, *, even: bool = False) -> Snapped:
    """An exactly consistent function near float data, or why there is none to offer; see `CPWL.snap`."""
    if tol is None:
        tol = p.tol or 1e-9
    check_number(tol, "tol", least=0.0)
    return _snapped(p, tol, even)


@fact
def _snapped(p: CPWL, tol: float, even: bool) -> Snapped:
    """Proposes an exactly consistent function of which nothing is farther than `tol` from `p`.

    Farther means relative, as `CPWL.tol` does: values against the size of the terms of ``g.x + o``, distances of facets
    against the largest coordinate of a corner. The function has ``tol == 0`` and is exactly consistent; pieces of one
    law may have been merged or cut otherwise, and where no domain was asserted its domain may be larger by rounding.
    With `even` the points of a table that are on an even lattice but for rounding are moved onto it first, and those
    that are nearly on one line, or hyperplane, onto it.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[3.0]], [[-1.0]]], [[1.0], [-0.3333333333333333]], [[0.0], [3.0]], [0.0, -1.0])
    >>> found = snap(p, 1e-9)
    >>> found.function.polyhedra.integer()
    array([[3, 1],
           [-3, -1]], dtype=object)
    >>> found.moved.largest < 1e-15
    True
    """
    if not 0 < tol < 1:
        raise InputError(f"`tol` must be more than 0 and less than 1, not {tol}")
    moved = evened(p, tol, tol) if even else None
    if moved is not None:
        return moved
    exactly = p if p.tol == 0 else CPWL.from_parts(Parts(p.polyhedra, p.laws, p.domain, 0.0, p.mesh))
    reason, flat = _examined(exactly)
    if not reason:
        return Snapped(exactly, Moved(), "", "exact", flat=flat)
    same = p.tol == tol and p.mesh is None and p.known is None
    rough = p if same else CPWL.from_parts(Parts(p.polyhedra, p.laws, p.domain, tol))
    powers = uneven(p.polyhedra) if p.dim > 1 else None
    found = near(rough, reason) if powers is None else _back(p, near(stretched(rough, powers), reason), powers)
    return replace(found, jump=largest_jump(rough))


def near(rough: CPWL, reason: str) -> Snapped:
    """The function of the first way that leads to one; `reason` is why the data itself is none."""
    if rough.dim == 1:
        return snap_line(rough)
    few = in_few_directions(rough) if rough.dim > _INPUTS else None
    if few is not None:
        return few.lift(near(few.data, reason))
    found = _from_complex(rough)
    if found.function is not None or rough.num_pieces > _FEW:
        return found
    error = first_error(rough)
    if error is not None:
        return replace(found, reason=f"not a function within the tolerance {rough.tol:g}: {error.message}")
    merged = merge(rough)  # cuts between pieces of one law are not part of the function
    if merged is rough:
        return found
    off = moved_laws(rough, *(2 * np.abs(change) for change in _from_leaders(rough)))
    tried = _from_complex(merged)
    moved = tried.moved + off
    return found if tried.function is None or _too_far(moved, rough.tol) else replace(tried, moved=moved, flat=None)


def _from_leaders(p: CPWL) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far the slopes and the offsets of each piece are from those that stand for its component."""
    leader = np.stack([p.representatives(j)[p.component[:, j]] for j in range(p.outputs)], axis=1)
    output = np.arange(p.outputs)
    return p.laws.gradient - p.laws.gradient[leader, output], p.laws.offset - p.laws.offset[leader, output]


def _back(p: CPWL, found: Snapped, powers: NDArray[np.int64]) -> Snapped:
    """What was found for stretched coordinates, for those of the data, with the domain that was asserted."""
    if found.function is None:
        return found
    q = stretched(found.function, -powers)
    function = CPWL.from_parts(Parts(q.polyhedra, q.laws, p.domain, 0.0, q.mesh))

    def back(x: tuple[float, ...]) -> tuple[float, ...]:
        return tuple((np.array(x) * np.exp2(-powers)).tolist())

    where = None if found.where is None else back(found.where)
    return replace(found, function=function, where=where)


@fact
def evened(p: CPWL, tol: float, straight: float = 0.0) -> Snapped | None:
    """The table on even or straight points, if it is exactly consistent and none moves by more than `tol`, relative.

    Points count as straight within `straight`, relative, or else within rounding.
    """
    found = even_table(p, straight)
    if found is None or p.mesh is None:
        return None
    parts, far = found
    reach, slopes = np.abs(p.mesh.points).max(), np.abs(p.laws.gradient)
    scale = slopes.sum(axis=2).max(axis=0) * reach + np.abs(p.laws.offset).max(axis=0)
    same = _those(p, parts)
    before = p.laws.gradient[same]
    change = np.abs(parts.laws.gradient - before).max(axis=(0, 2)) / slopes.max(axis=(0, 2), initial=1e-300)
    value = (slopes.sum(axis=2).max(axis=0) * far / np.where(scale > 0, scale, 1.0)).max()
    moved = Moved(float(change.max()), float(value), far / float(reach))
    function = CPWL.from_parts(parts)
    if max(moved.value, moved.facet) > tol or first_error(function) is not None:
        return None
    laws = int((parts.laws.gradient != before).any(axis=(1, 2)).sum())
    return Snapped(function, moved, "", "even", laws, len(p.polyhedra.b))


def _those(p: CPWL, parts: Parts) -> NDArray[np.int64]:
    """The simplices of a table that are still there, slivers being flat where points are straight."""
    assert p.mesh is not None
    assert parts.mesh is not None
    left = set(map(tuple, parts.mesh.simplices.tolist()))
    return np.array([i for i, corners in enumerate(p.mesh.simplices.tolist()) if tuple(corners) in left])


def _examined(p: CPWL) -> tuple[str, tuple[int, ...] | None]:
    """What is wrong with exact data, empty if nothing is; and the pieces without interior, if somebody has looked."""
    if p.mesh is None and 2 <= p.dim <= _INPUTS:
        found = consistency(p)
        if found.consistent is not None:
            return found.reason, found.flat
    if p.mesh is None and p.dim > 1 and p.num_pieces > _FEW:
        return f"{p.num_pieces} pieces in {p.dim} dimensions are too many to decide by linear programs", None
    error = first_error(p)
    return "" if error is None else error.message, None


def _from_complex(p: CPWL) -> Snapped:
    """The first of the ways that leads to an exactly consistent function near the data, or why none does.

    Rows are as noisy as those on the two sides of facets differ; rows that occur once do not tell, so that facets may
    seem to have no neighbour. Then more noise is assumed. If pieces thinner than the noise are in the way, they are
    left out.
    """
    said = ""
    for share in _NOISY:
        try:
            work = Work(p, least=share * p.tol)
        except Unfit as reason:
            return Snapped(None, Moved(), said or f"{reason}.")
        tried, has_gap = _by_ways(p, work)
        if tried.function is None and work.complex.flat.any():
            tried = _without_flat(p, work, tried)
        said = said or tried.reason
        if tried.function is not None or not has_gap:
            return tried
    return Snapped(None, Moved(), said)


def _without_flat(p: CPWL, work: Work, tried: Snapped) -> Snapped:
    """What the pieces thicker than the noise lead to, if it is near the laws of the others; else what was tried."""
    found = _from_complex(p.take(np.array(work.complex.solid)))
    if found.function is None or lost_law(work.measured, found.function, p.tol) is not None:
        return tried
    return replace(found, flat=tuple(np.flatnonzero(work.complex.flat).tolist()))


def _by_ways(p: CPWL, work: Work) -> tuple[Snapped, bool]:
    """The function of the first way, or why there is none; and whether a facet seemed to have no neighbour."""
    reasons, has_gap = [], False
    for name in ways(work):
        try:
            near = WAYS[name](work)
            function = CPWL.from_parts(near.parts)
            objection = (
                _too_far(near.moved, p.tol) or _examined(function)[0] or lost_law(work.measured, function, p.tol)
            )
        except (Unfit, InputError, LimitError) as reason:
            objection, has_gap = str(reason), has_gap or isinstance(reason, Gap)
        if not objection:
            flat = tuple(np.flatnonzero(work.complex.flat).tolist())
            counts = (near.laws, near.facets, near.patches)
            return Snapped(function, near.moved, "", name, *counts, near.where, flat), has_gap
        reasons.append(f"{name}: {objection}")
    return Snapped(None, Moved(), "; ".join(reasons)), has_gap


def _too_far(moved: Moved, tol: float) -> str:
    far = max(moved.value, moved.facet)
    return f"something would move by {far:.2g}, relative, which is more than {tol:g}." if far > tol else ""


# Functions of many inputs that bend in few directions: the same function of few inputs, and the way back.
#
# Rows that all pieces have bound the domain: without them the same laws are a function on a larger set. All other rows,
# and all differences of laws, are combinations of as many directions as those rows have rank, up to noise. With `M`
# these directions, the identity on as many coordinates, a row ``c`` there is ``c M`` for all inputs, and a law ``g`` is
# ``g M + r`` with one `r` for all laws. A consistent function stays one under this exact linear map, and on a convex
# domain.


_MEANT = 1e-3  # of the tolerance: what is nearer to a simple number is meant to be it
_FLAT = 1e3  # times the tolerance: directions that rows have no more of are noise


@dataclass(frozen=True, slots=True, eq=False)
class Few:
    """Float data on few coordinates."""

    data: CPWL
    whole: CPWL
    coordinates: NDArray[np.int64]
    directions: NDArray[np.object_]
    """One row of rationals for each coordinate that was kept."""
    rest: NDArray[np.object_]
    """What the slopes of all laws have beside, output by output."""
    shared: NDArray[np.object_]
    """Integer rows ``(a, b)`` of all pieces."""
    off: Moved
    """How far rows and laws are from what they are on few coordinates."""

    def lift(self, found: Snapped) -> Snapped:
        """An exact function near `data` as one near the whole data."""
        if found.function is None:
            return found
        moved, p = found.moved + self.off, self.whole
        reason = _too_far(moved, p.tol)
        if reason:
            return replace(found, function=None, moved=Moved(), reason=reason)
        q = found.function
        rows = [[*row[:-1].dot(self.directions), Fraction(int(row[-1]))] for row in q.polyhedra.integer()]
        whole = primitive(np.array([whole_row(row) for row in rows], dtype=object).reshape(-1, p.dim + 1))
        pieces = [np.concatenate([own, self.shared]) for own in np.split(whole, q.polyhedra.start[1:-1])]
        laws = q.laws.rational()
        slopes = laws[..., :-1].dot(self.directions) + self.rest
        exact = Laws.from_integer(homogeneous(np.concatenate([slopes, laws[..., -1:]], axis=-1)))
        function = CPWL.from_parts(Parts(polyhedra_from_integers(pieces, p.dim), exact, p.domain, 0.0))
        where = None if found.where is None else self._point(found.where)
        return replace(found, function=function, moved=moved, where=where)

    def _point(self, x: tuple[float, ...]) -> tuple[float, ...]:
        full = np.zeros(self.whole.dim)
        full[self.coordinates] = x
        return tuple(full.tolist())


def in_few_directions(p: CPWL) -> Few | None:
    """Float data on as many coordinates as it bends in, and what was left out; None if these are all."""
    shared, own = _shared_rows(p)
    A, lengths = p.polyhedra.A[own], np.linalg.norm(p.polyhedra.A[own], axis=1)
    if not len(A):
        return None
    normals = A / lengths[:, None]
    sizes = np.linalg.svd(normals, compute_uv=False)
    rank = int((sizes > _FLAT * p.tol * sizes[0]).sum())
    if rank == p.dim:
        return None
    kept = np.sort(scipy.linalg.qr(normals, mode="r", pivoting=True)[1][:rank]).astype(np.int64)
    near = np.linalg.lstsq(normals[:, kept], normals, rcond=None)[0]
    directions = _meant(near, _MEANT * p.tol)
    directions[:, kept] = fraction_array(np.eye(rank, dtype=np.int64))
    view = directions.astype(np.float64)
    beside = p.laws.gradient - p.laws.gradient[..., kept] @ view
    largest = np.abs(p.laws.gradient).max(axis=(0, 2))
    rest = _meant(beside.mean(axis=0), _MEANT * p.tol * float(largest.max(initial=0.0)))
    rest[:, kept] = Fraction(0)
    rows = p.polyhedra.A[own][:, kept], p.polyhedra.b[own]
    start = np.searchsorted(own, p.polyhedra.start).astype(np.int64)
    data = Parts(
        Polyhedra(rows[0].copy(), rows[1].copy(), start),
        Laws(p.laws.gradient[..., kept].copy(), p.laws.offset),
        None,
        p.tol,
    )
    turned = float(np.abs(normals - normals[:, kept] @ view).sum(axis=1).max())
    off = moved_laws(p, np.abs(beside - rest.astype(np.float64))) + Moved(facet=turned)
    return Few(CPWL.from_parts(data), p, kept, directions, rest, shared, off)


def _meant(numbers: NDArray[np.float64], little: float) -> NDArray[np.object_]:
    found = np.empty(numbers.shape, dtype=object)
    found[:] = [[simple(x, little) for x in row] for row in numbers.tolist()]
    return found


def _shared_rows(p: CPWL) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Integer rows that bound the domain, asserted or rows of all pieces, and the numbers of rows that are others."""
    count, polyhedra = len(p.polyhedra.b), p.polyhedra
    if p.domain is not None:
        planes = hyperplanes(joined([polyhedra, p.domain.alone()]), p.tol)
        key = 2 * planes.number + (planes.side > 0)
        return p.domain.integer(), np.flatnonzero(~np.isin(key[:count], key[count:]))
    planes = hyperplanes(polyhedra, p.tol)
    key = 2 * planes.number + (planes.side > 0)
    pairs = np.unique(np.stack([key, polyhedra.owner]), axis=1)
    keys, many = np.unique(pairs[0], return_counts=True)
    common = keys[many == p.num_pieces]
    first = [int(np.argmax(key == k)) for k in common]
    return polyhedra.integer()[first].reshape(-1, p.dim + 1), np.flatnonzero(~np.isin(key, common))


def moved_laws(p: CPWL, slopes: NDArray[np.float64], offsets: NDArray[np.float64] | float = 0.0) -> Moved:
    """How far laws are moved by changes ``[piece, output, ..]`` of slopes and offsets, as far out as corners are."""
    reach = p.polyhedra.unit(p.tol)
    largest = np.abs(p.laws.gradient).max(axis=(0, 2))
    scale = np.abs(p.laws.gradient).sum(axis=2).max(axis=0) * reach + np.abs(p.laws.offset).max(axis=0)
    coefficient = slopes.max(axis=(0, 2)) / np.where(largest > 0, largest, 1.0)
    value = (slopes.sum(axis=2) * reach + offsets).max(axis=0) / np.where(scale > 0, scale, 1.0)
    return Moved(float(coefficient.max()), float(value.max()))


# Components of float data as they were meant: coefficients next to a simple number, such as 0, are that number.
#
# Laws that a solver leaves constant but for rounding are constant then, and cost a lattice nothing to carry. A function
# of the data alone, so that a proof finds the same laws in a network.


def meant_components(p: CPWL, output: int) -> NDArray[np.object_]:
    """The components of one output as rows ``(gradient, offset)`` of rationals; as they are where the data is exact.

    >>> from cpwl import CPWL
    >>> p = CPWL.from_pieces([[[3.0]], [[-1.0]]], [[1.0], [-0.3333333333333333]], [[1e-16], [3.1]], [0.0, -3.1 / 3])
    >>> meant_components(p, 0)[0]
    array([Fraction(0, 1), Fraction(0, 1)], dtype=object)
    """
    if p.tol and snap(p, p.tol).way != "exact":
        return meant(p, output)
    return p.components(output).rational()[:, 0]


# Exact data in floats with its rounding undone: fewer bends, for a distance that is measured and proved.
#
# Tables and breakpoints mean their numbers exactly, and so they are functions as they are; but where all numbers are
# floats, rounding has scattered what was one line (`even`, `straight`), and bent what was straight: a table of samples
# of a function with few pieces has a law of its own on every simplex. Laws that agree up to rounding are made one.


_LITTLE = 1e-13  # what may move unasked, relative
_MOST = 1e-10  # the same, where simplices are so small that rounding turns laws by more
_ULPS = 16
_SHARE = 0.9  # of the laws: more are not worth a distance
_LAWS = 1000  # in space: more were never found to fit, and looking for them takes minutes


@fact
def undone(p: CPWL) -> CPWL | None:
    """An exact function within rounding of a table, or of breakpoints, of floats; None if there is none to gain.

    Numbers that are not floats are meant as they are, and so is a table with a domain of its own. Floats with short
    mantissas, such as integers, have not been rounded.

    >>> import numpy as np
    >>> from cpwl import CPWL
    >>> x = np.linspace(-1, 1, 11)
    >>> p = CPWL.from_grid([x, x], np.abs(x[:, None]) + np.abs(x))
    >>> p.num_components, undone(p).num_components
    (34, 4)
    """
    if p.tol or (p.mesh is not None and p.domain is not None):
        return None
    if p.dim == 1:
        try:
            parts = in_runs(p, _LITTLE)
        except InputError:  # pieces that nobody has examined may not follow one another
            return None
        return None if parts is None else CPWL.from_parts(replace(parts, mesh=None))
    if p.mesh is None or not p.mesh.is_of_floats or not _may_be_rounded(p.mesh):
        return None
    found = evened(p, _LITTLE)
    straight = None if found is None else found.function
    if straight is not None and straight.num_pieces != p.num_pieces:
        straight = None  # slivers are flat once their sides are straight, and the data is another function in them
    plain = None if p.mesh.exact_values is not None else _plain(p if straight is None else straight)
    return straight if plain is None else plain


def _may_be_rounded(mesh: Mesh) -> bool:
    """Whether a coordinate, or a value, has a bit as low as rounding leaves it among numbers of its kind."""
    return any(not is_coarse(column) for column in (*mesh.points.T, *mesh.values.T))


def _plain(p: CPWL) -> CPWL | None:
    """The function with laws that agree up to rounding made one, if there are many such and all is consistent."""
    tol = _tolerance(p)
    laws = _distinct(p, tol)
    if laws > _SHARE * p.num_components or (p.dim > 2 and laws > _LAWS):
        return None
    rough = CPWL.from_parts(Parts(p.polyhedra, p.laws, None, tol))
    function = near(rough, "").function
    fewer = function is not None and function.num_components <= rough.num_components
    return function if fewer and function is not None and first_error(function) is None else None


def _tolerance(p: CPWL) -> float:
    """What rounded values at the corners of small simplices do to laws, relative to the largest slope."""
    assert p.mesh is not None
    corners = p.mesh.points[p.mesh.simplices]
    edge = np.linalg.norm(corners[:, 1:] - corners[:, :1], axis=2).min()
    slope = np.abs(p.laws.gradient).max(initial=1e-300)
    rounding = _ULPS * float(np.spacing(np.abs(p.mesh.values).max())) / (edge * slope)
    return float(np.clip(rounding, _LITTLE, _MOST))


def _distinct(p: CPWL, tol: float) -> int:
    """About how many laws there are that differ by more than `tol`, relative; no more than there are."""
    laws = p.laws.coefficients().reshape(p.num_pieces, -1)
    weights = np.cos(np.arange(1, laws.shape[1] + 1))
    return 1 + int((np.diff(np.sort(laws @ weights)) > tol * np.abs(laws).max()).sum())
