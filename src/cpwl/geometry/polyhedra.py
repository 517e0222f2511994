"""Many polyhedra ``{x : A x <= b}`` as one stack of rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import InputError, SolverError
from cpwl.exact.integers import integer_rows
from cpwl.exact.rational import as_reals, fraction, fraction_array
from cpwl.geometry.linear_program import LinearProgram

Facts: TypeAlias = dict[Any, Any]
"""What was computed about a value so far, by what computed it. A copy, and a worker's, begins with none."""
Floats: TypeAlias = NDArray[np.float64]


class _Carrier(Protocol):
    """A value that never changes, and carries what was found out about it."""

    @property
    def facts(self) -> Facts: ...


_Value = TypeVar("_Value", bound=_Carrier)
_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")


def fact(compute: Callable[Concatenate[_Value, _Options], _Result]) -> Callable[Concatenate[_Value, _Options], _Result]:
    """Compute once for each value: the result is kept in its `facts`, and whoever asks again reads it.

    Results are shared, so nobody may change them.
    """

    @wraps(compute)
    def read(value: _Value, /, *args: _Options.args, **options: _Options.kwargs) -> _Result:
        key = (compute, args, *options.items())
        if key not in value.facts:
            value.facts[key] = compute(value, *args, **options)
        found: _Result = value.facts[key]
        return found

    return read


@dataclass(frozen=True, slots=True, eq=False)
class Polyhedron:
    """One polyhedron ``A x <= b``; no rows at all is the whole space.

    `exact` has an integer multiple of each row ``(a, b)`` where the float64 view is rounded.

    >>> Polyhedron.from_rows([[1, 0], [0, "1/3"]], [1, 1]).integer()
    array([[1, 0, 1],
           [0, 1, 3]], dtype=object)
    """

    A: NDArray[np.float64]
    b: NDArray[np.float64]
    exact: NDArray[np.object_] | None = None
    facts: Facts = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Polyhedron, (self.A, self.b, self.exact)

    @classmethod
    def from_rows(cls, A: Any, b: Any, *, dim: int | None = None, name: str = "A") -> Polyhedron:
        """The polyhedron of the given rows, checked for shape and finiteness."""
        stack = Polyhedra.from_lists([A], [b], dim=dim, name=name)
        return stack[0]

    @property
    def dim(self) -> int:
        return int(self.A.shape[1])

    @fact
    def integer(self) -> NDArray[np.object_]:
        """Rows ``(a, b)`` as integers, each up to a positive factor."""
        return self.exact if self.exact is not None else integer_rows(np.column_stack([self.A, self.b]))

    def meet(self, other: Polyhedron | None) -> Polyhedron:
        """The intersection with another one; None is all of R^n."""
        return self if other is None else Polyhedron(*_rows_of_all([self, other]))

    def opposite(self) -> Polyhedron:
        """The same rows in the other sense."""
        return Polyhedron(-self.A, -self.b, None if self.exact is None else -self.exact)

    def alone(self) -> Polyhedra:
        """A stack of nothing else."""
        return Polyhedra(self.A, self.b, np.array([0, len(self.b)]), self.exact)


@dataclass(frozen=True, slots=True, eq=False)
class Polyhedra:
    """Polyhedra side by side: number `i` has the rows ``start[i]:start[i + 1]`` of ``A x <= b``."""

    A: NDArray[np.float64]
    b: NDArray[np.float64]
    start: NDArray[np.int64]
    exact: NDArray[np.object_] | None = None
    facts: Facts = field(default_factory=dict, init=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Polyhedra, (self.A, self.b, self.start, self.exact)

    def __post_init__(self) -> None:
        for array in (self.A, self.b, self.start, self.exact):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def from_lists(cls, A: Sequence[Any], b: Sequence[Any], *, dim: int | None = None, name: str = "A") -> Polyhedra:
        """One polyhedron per entry of the two lists; rows may be exact."""
        if len(A) != len(b):
            raise InputError(
                f"`A` has {len(A)} entries and `b` has {len(b)}: there must be one of each for every piece"
            )
        blocks = [_block(A[i], b[i], dim, f"{name}[{i}]" if len(A) > 1 else name) for i in range(len(A))]
        dims = {block[0].shape[1] for block in blocks}
        if len(dims) > 1:
            i = next(i for i, block in enumerate(blocks) if block[0].shape[1] != blocks[0][0].shape[1])
            raise InputError(
                f"piece 0 has dimension {blocks[0][0].shape[1]} and piece {i} has {blocks[i][0].shape[1]}",
                piece=i,
            )
        view = np.concatenate([block[0] for block in blocks])
        right = np.concatenate([block[1] for block in blocks])
        start = np.cumsum([0] + [len(block[0]) for block in blocks]).astype(np.int64)
        exact = None
        if any(block[2] is not None or block[3] is not None for block in blocks):
            exact = np.concatenate([_integers(block) for block in blocks])
        return cls(view, right, start, exact)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, i: int) -> Polyhedron:
        rows = slice(self.start[i], self.start[i + 1])
        exact = self.facts.get("integer") if self.exact is None else self.exact
        return Polyhedron(self.A[rows], self.b[rows], None if exact is None else exact[rows])

    def __iter__(self) -> Iterator[Polyhedron]:
        return (self[i] for i in range(len(self)))

    @property
    def dim(self) -> int:
        return int(self.A.shape[1])

    @property
    def owner(self) -> NDArray[np.int64]:
        """The polyhedron that each row belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.start))

    def integer(self) -> NDArray[np.object_]:
        """All rows ``(a, b)`` as integers, each up to a positive factor."""
        if self.exact is not None:
            return self.exact
        if "integer" not in self.facts:
            self.facts["integer"] = integer_rows(np.column_stack([self.A, self.b]))
        found: NDArray[np.object_] = self.facts["integer"]
        return found

    def exactly(self) -> Polyhedra:
        """The same stack, and the same facts, with its integer rows in `exact`."""
        if self.exact is not None:
            return self
        stack = Polyhedra(self.A, self.b, self.start, self.integer())
        object.__setattr__(stack, "facts", self.facts)
        return stack

    @fact
    def extents(self) -> Extents:
        """Corners and rays in floats: how large the polyhedra are, and where."""
        return extents(self.A, self.b, self.start)

    @fact
    def unit(self, tol: float = 0.0) -> float:
        """The size of the coordinates: how far away from the origin a corner may be; `tol` as in `Extents.unit`.

        >>> Polyhedra.from_lists([[[2], [1]], [[-1]]], [[6, 10**9], [-2]]).unit()
        3.0
        """
        known: Extents | None = self.facts.get((Polyhedra.extents.__wrapped__, ()))  # type: ignore[attr-defined]
        found = extents(self.A, self.b, self.start, rays=False) if known is None else known
        if found.reach() <= 1e3 * tol:
            found = self.extents()
        return found.unit(len(self), tol)

    def take(self, which: NDArray[np.int64]) -> Polyhedra:
        """The polyhedra with the given numbers, in that order; the stack itself if these are all."""
        which = np.asarray(which, dtype=np.int64)
        if np.array_equal(which, np.arange(len(self))):
            return self
        rows, start = picked(self.start, which)
        return Polyhedra(self.A[rows], self.b[rows], start, None if self.exact is None else self.exact[rows])


def joined(stacks: Sequence[Polyhedra]) -> Polyhedra:
    """Several stacks as one, with integers if one of them has any."""
    A, b, exact = _rows_of_all(stacks)
    return Polyhedra(A, b, end_to_end([stack.start for stack in stacks]), exact)


def _rows_of_all(
    parts: Sequence[Polyhedron | Polyhedra],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.object_] | None]:
    exact = None
    if any(part.exact is not None for part in parts):
        exact = np.concatenate([part.integer() for part in parts])
    return np.concatenate([part.A for part in parts]), np.concatenate([part.b for part in parts]), exact


@fact
def intervals(stack: Polyhedra) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where polyhedra of one dimension begin and end, in floats; infinite where they do not.

    >>> intervals(Polyhedra.from_lists([[[2], [1]], [[-1]]], [[6, 10**9], [-2]]))
    (array([-inf,   2.]), array([ 3., inf]))
    """
    low, high = np.full(len(stack), -np.inf), np.full(len(stack), np.inf)
    a, owner = stack.A[:, 0], stack.owner
    with np.errstate(all="ignore"):
        end = stack.b / a
    np.minimum.at(high, owner[a > 0], end[a > 0])
    np.maximum.at(low, owner[a < 0], end[a < 0])
    return low, high


Domain: TypeAlias = Polyhedron | tuple[Any, Any] | None
"""All of R^n, or ``A x <= b`` as a polyhedron or as a pair ``(A, b)``."""


def as_domain(domain: Domain, dim: int, *, box: tuple[Any, Any] | None = None, flat: bool = False) -> Polyhedron | None:
    """The domain that a caller means, in dimension `dim`: a polyhedron, a pair ``(A, b)``, or ``box=(low, high)``.

    None stands for all of R^n. A box that is `flat` has no interior, and may hold values, but not be a domain.

    >>> as_domain(([[1, 0]], [3]), 2).b, as_domain(None, 2), len(as_domain(None, 2, box=(0, 1)).b)
    (array([3.]), None, 4)
    """
    if box is not None:
        if domain is not None:
            raise InputError("give `domain` or `box`, not both")
        return box_polyhedron(box, dim, flat=flat)
    if domain is None:
        return None
    if isinstance(domain, Polyhedron):
        if domain.dim != dim:
            raise InputError(f"the domain has {domain.dim} coordinates, but the function takes {dim}")
        return domain
    if not isinstance(domain, (tuple, list)) or len(domain) != 2:
        raise InputError("`domain` must be a pair `(A, b)`, which stands for all x with A x <= b")
    return Polyhedron.from_rows(domain[0], domain[1], dim=dim, name="domain A")


def box_polyhedron(box: tuple[Any, Any], dim: int, *, flat: bool = False) -> Polyhedron:
    """The box ``low <= x_i <= high``; a bound is one number for all coordinates, or one for each. Taken exactly.

    >>> box_polyhedron((0, [1, "1/3"]), 2).integer()
    array([[1, 0, 1],
           [0, 3, 1],
           [-1, 0, 0],
           [0, -1, 0]], dtype=object)
    """
    if not isinstance(box, (tuple, list)) or len(box) != 2:
        raise InputError("`box` must be a pair `(low, high)` of numbers, or of one number for each coordinate")
    low, high = (_bounds(bound, dim) for bound in box)
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        if a > b or (a == b and not flat):
            raise InputError(
                f"`box` is {'empty' if flat else 'empty or flat'}: coordinate {i} is to be at least {a} and at most {b}"
            )
    unit = np.eye(dim, dtype=np.int64)
    return Polyhedron.from_rows(np.concatenate([unit, -unit]), [*high, *(-v for v in low)], dim=dim, name="box")


def _bounds(bound: Any, dim: int) -> list[Fraction]:
    if np.ndim(bound) == 0:
        return [fraction(bound)] * dim
    values = [fraction(v) for v in bound]
    if len(values) != dim:
        raise InputError(f"`box` has a bound with {len(values)} numbers, but the dimension is {dim}")
    return values


_Block = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.object_] | None, NDArray[np.object_] | None]


def _block(A: Any, b: Any, dim: int | None, name: str) -> _Block:
    right_name = name.replace("A", "b", 1)
    left, left_exact = as_reals(A, name)
    right, right_exact = as_reals(b, right_name)
    if left.size == 0 and dim is not None:
        left = left.reshape(0, dim)
    if left.ndim != 2 or right.ndim != 1 or len(left) != len(right):
        raise InputError(
            f"`{name}` must be a list of rows and `{right_name}` one number a row; "
            f"their shapes are {left.shape} and {right.shape}",
            name=name,
        )
    if dim is not None and left.shape[1] != dim:
        raise InputError(f"`{name}` has rows of length {left.shape[1]}, but the dimension is {dim}", name=name)
    zero = np.flatnonzero(~left.any(axis=1))
    for row in zero:
        if right[row] < 0:
            message = f"`{name}` is empty: its row {row} says 0 <= {right[row]}"
            raise InputError(message, name=name, row=int(row))
    if len(zero):  # A row 0.x <= b with b >= 0 says nothing.
        keep = np.setdiff1d(np.arange(len(left)), zero)
        left, right = left[keep], right[keep]
        left_exact = None if left_exact is None else left_exact[keep]
        right_exact = None if right_exact is None else right_exact[keep]
    return left, right, left_exact, right_exact


def _integers(block: _Block) -> NDArray[np.object_]:
    left, right, left_exact, right_exact = block
    view = np.column_stack([left, right])
    if left_exact is None and right_exact is None:
        return integer_rows(view)
    first = fraction_array(left if left_exact is None else left_exact)
    last = fraction_array(right if right_exact is None else right_exact)
    return integer_rows(view, np.column_stack([first, last]))


# Runs of numbers one after the other: how stacked lists are gathered.


def ranges(start: NDArray[np.int64], length: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers ``start[i], ..., start[i] + length[i] - 1`` one after the other, and `i` for each.

    >>> ranges(np.array([5, 9]), np.array([2, 1]))
    (array([5, 6, 9]), array([0, 0, 1]))
    """
    owner = np.repeat(np.arange(len(start)), length)
    first = np.cumsum(length) - length
    return np.arange(len(owner)) + (start - first)[owner], owner


def picked(start: NDArray[np.int64], which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The groups ``start[i]:start[i + 1]`` with these numbers: all their entries, and where each group begins now.

    >>> picked(np.array([0, 2, 3, 7]), np.array([2, 0]))
    (array([3, 4, 5, 6, 0, 1]), array([0, 4, 6]))
    """
    length = np.diff(start)[which]
    return ranges(start[which], length)[0], np.concatenate([[0], np.cumsum(length)]).astype(np.int64)


def end_to_end(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where the groups of several families begin, one family after the other."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(start) for start in starts]))]).astype(np.int64)


# Where polyhedra are and how large: corners and directions in floats, for scales and never for proofs.
#
# A row that does not touch its polyhedron, such as a far ``x <= 1e30``, has no corner and so no say. Subsets of rows
# are tried, all polyhedra with equally many rows at once; polyhedra with too many subsets ask linear programs.


_MOST = 3000  # subsets of rows to try for one polyhedron
_BLOCK = 1 << 18  # subsets at a time
_FLAT = 1e-6  # rows that are dependent up to this meet nowhere in particular
_SLACK = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Extents:
    """Corners ``points[k]`` of polyhedra ``owner[k]``, and unit directions ``rays[k]`` of ``ray_owner[k]``.

    A polyhedron that contains lines has the corners nearest to the origin, and the lines as two rays each.
    """

    owner: NDArray[np.int64]
    points: Floats
    ray_owner: NDArray[np.int64]
    rays: Floats

    def reach(self) -> float:
        """The largest coordinate of a corner; 0 if there is none."""
        return float(np.abs(self.points).max(initial=0.0))

    def unit(self, count: int, tol: float) -> float:
        """The size of the coordinates of `count` polyhedra: how far away from the origin a corner may be.

        Hyperplanes all through the origin have no size, nor have those that rounding has moved away from it: then 1. So
        it is if all polyhedra are unbounded and no corner is farther away than noise of a few hundred `tol`.
        """
        reach = self.reach()
        if not 1e-13 < reach < np.inf:
            return 1.0
        unbounded = reach <= 1e3 * tol and len(np.unique(self.ray_owner)) == count
        return 1.0 if unbounded else reach


def extents(A: Floats, b: Floats, start: NDArray[np.int64], *, rays: bool = True) -> Extents:
    """The corners, and unless they are not wanted the rays, of polyhedra given by stacked rows.

    >>> strip = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]]), np.array([2.0, 0.0, 0.0, 1e30])
    >>> found = extents(*strip, np.array([0, 4]))
    >>> found.points.tolist(), found.rays[0].tolist()
    ([[2.0, 0.0], [0.0, 0.0]], [0.0, 1.0])
    """
    n, sizes = A.shape[1], np.diff(start)
    length = np.linalg.norm(A, axis=1)
    length[length == 0] = 1.0
    with np.errstate(all="ignore"):
        A, b = A / length[:, None], b / length
    points, directions = [_none(n)], [_none(n)]
    for size in np.unique(sizes).tolist():
        pieces = np.flatnonzero(sizes == size)
        rows = start[pieces][:, None] + np.arange(size)
        for some, rank, basis in _by_rank(A[rows]):
            own, left, right = pieces[some], A[rows[some]] @ basis, b[rows[some]]
            if rays and rank < n:
                directions.append(_lines(own, basis))
            if rank == 0:
                points.append((own, np.zeros((len(own), n))))
            elif math.comb(size, rank) <= _MOST:
                points.append(_lifted(_corners(left, right), own, basis))
                directions += [_lifted(_rays(left), own, basis)] if rays else []
            else:
                points.append(_by_programs(own, A[rows[some]], right, rays))
    (owner, corners), (ray_owner, found) = (
        (np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))
        for parts in (points, directions)
    )
    return Extents(owner, corners, ray_owner, found)


_Found = tuple[NDArray[np.int64], Floats]


def _none(n: int) -> _Found:
    return np.zeros(0, dtype=np.int64), np.zeros((0, n))


def _by_rank(A: Floats) -> Iterator[tuple[NDArray[np.int64], int, Floats]]:
    """Polyhedra of one rank, and orthonormal bases ``(k, n, r)`` of what their rows span."""
    count, size, n = A.shape
    if size >= n and n <= 3:  # mostly the rank is full: then no basis is needed
        gram = np.einsum("kmi,kmj->kij", A, A)
        full = np.abs(np.linalg.det(gram)) > _FLAT
        if full.all():
            yield np.arange(count), n, np.broadcast_to(np.eye(n), (count, n, n))
            return
    _, values, vectors = np.linalg.svd(A) if size else (None, np.zeros((count, 0)), np.zeros((count, n, n)))
    ranks = (values > _FLAT).sum(axis=1)
    for rank in np.unique(ranks).tolist():
        some = np.flatnonzero(ranks == rank)
        basis = np.eye(n)[None].repeat(len(some), 0) if rank == n else np.swapaxes(vectors[some, :rank], 1, 2)
        yield some, rank, basis


def _lines(own: NDArray[np.int64], basis: Floats) -> _Found:
    """Both senses of directions that span what is orthogonal to a basis."""
    count, n, rank = basis.shape
    rest = np.linalg.svd(basis)[0][:, :, rank:] if rank else np.eye(n)[None].repeat(count, 0)
    both = np.concatenate([rest, -rest], axis=2)
    return np.repeat(own, both.shape[2]), np.swapaxes(both, 1, 2).reshape(-1, n)


def _lifted(found: _Found, own: NDArray[np.int64], basis: Floats) -> _Found:
    which, places = found
    return own[which], np.einsum("kir,kr->ki", basis[which], places)


def _subsets(count: int, size: int, take: int) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    every = list(itertools.combinations(range(size), take))
    chosen = np.array(every, dtype=np.int64).reshape(len(every), take)
    step = max(1, _BLOCK // max(1, len(chosen)))
    for first in range(0, count, step):
        yield slice(first, first + step), chosen


def _corners(A: Floats, b: Floats) -> _Found:
    """Solutions of as many rows as there are dimensions that satisfy the others, up to rounding."""
    count, size, rank = A.shape
    who, what = [np.zeros(0, dtype=np.int64)], [np.zeros((0, rank))]
    # The middle of the distances of rows, so that neither a far row nor rounding at the origin decides what is small.
    near = np.sort(np.where(b == 0, np.inf, np.abs(b)), axis=1)
    known = np.isfinite(near).sum(axis=1)
    usual = np.where(known > 0, near[np.arange(count), np.maximum(known - 1, 0) // 2], 0.0)
    for some, chosen in _subsets(count, size, rank):
        left, right = A[some][:, chosen], b[some][:, chosen]
        k, s = np.nonzero(np.abs(np.linalg.det(left)) > _FLAT)
        with np.errstate(all="ignore"):
            x = np.linalg.solve(left[k, s], right[k, s][..., None])[..., 0]
            over = np.einsum("kmr,kr->km", A[some][k], x) - b[some][k]
            slack = _SLACK * (np.abs(x).max(axis=1) + usual[some][k])
            inside = (over <= slack[:, None]).all(axis=1) & np.isfinite(x).all(axis=1)
        who.append(k[inside] + some.start)
        what.append(x[inside])
    return np.concatenate(who), np.concatenate(what)


def _rays(A: Floats) -> _Found:
    """Directions in which as many rows as there are dimensions but one stay equal and the others fall."""
    count, size, rank = A.shape
    who, what = [np.zeros(0, dtype=np.int64)], [np.zeros((0, rank))]
    for some, chosen in _subsets(count, size, rank - 1):
        left = A[some][:, chosen]
        one = np.ones((*left.shape[:2], 1, 1))
        _, values, vectors = np.linalg.svd(left) if rank > 1 else (None, one[..., 0], one)
        k, s = np.nonzero(values[..., -1] > _FLAT)
        for d in (vectors[k, s, -1], -vectors[k, s, -1]):
            falls = (np.einsum("kmr,kr->km", A[some][k], d) <= _SLACK).all(axis=1)
            who.append(k[falls] + some.start)
            what.append(d[falls])
    return np.concatenate(who), np.concatenate(what)


def _by_programs(own: NDArray[np.int64], A: Floats, b: Floats, rays: bool) -> _Found:
    """The ends in the directions of the axes, of each polyhedron by programs of its own; nothing where they fail."""
    who, what = [], []
    n = A.shape[2]
    for i, left, right in zip(own.tolist(), A, b, strict=True):
        known = np.sort(np.abs(right[right != 0]))
        lp = LinearProgram(left, right, unit=float(known[(len(known) - 1) // 2]) if len(known) else 1.0)
        for direction in (*np.eye(n), *-np.eye(n)) if rays else np.eye(n):
            try:
                found = lp.propose(direction)
            except SolverError:
                continue
            if found.status == "optimal":
                who.append(i)
                what.append(found.point)
    return np.array(who, dtype=np.int64), np.array(what).reshape(-1, n)
