"""`CPWL`: a continuous piecewise-linear function as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.doors import check_choice, check_count, check_list, check_number, within_float64
from cpwl.errors import InputError
from cpwl.executors import check_executor
from cpwl.function.algebra import arithmetic, composition, domains, extremes
from cpwl.function.components import label_components
from cpwl.function.doctor.examine import examine
from cpwl.function.doctor.report import Report
from cpwl.function.evaluate import as_points, evaluate, evaluate_exactly
from cpwl.function.known import Known
from cpwl.function.make.breakpoints import parts_of_breakpoints
from cpwl.function.make.maxmin import parts_of_maxmin
from cpwl.function.make.oracle import parts_of_oracle
from cpwl.function.make.pieces import parts_of_pieces
from cpwl.function.make.simplices import parts_of_grid, parts_of_simplices
from cpwl.function.merge.merge import merge
from cpwl.function.parts import Laws, Mesh, Parts
from cpwl.function.questions import convexity, extent, gap, sets, slopes, volume
from cpwl.function.snap.snap import Snapped, snap
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron

__all__ = ["CPWL"]


@dataclass(frozen=True, slots=True, eq=False)
class CPWL:
    """A continuous function R^n -> R^m that is affine on each of finitely many polyhedra.

    Made by one of the ``from_...`` constructors; held as arrays, never changed.

    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> p([[-2.0], [3.0]])
    array([[2.],
           [3.]])
    >>> p.num_pieces, p.num_components, p.dim, p.outputs
    (2, 2, 1, 1)
    """

    polyhedra: Polyhedra
    """The pieces, one polyhedron each."""
    laws: Laws
    """One affine map a piece."""
    component: NDArray[np.int64]
    """``component[i, j]``: the number of the component that output `j` follows on piece `i`."""
    domain: Polyhedron | None
    """The domain that was asserted; None: the union of the pieces."""
    tol: float
    """0: the data is meant exactly. Otherwise a relative tolerance for float data."""
    mesh: Mesh | None = None
    """The triangulated table behind the pieces, if there is one."""
    complete: bool | None = None
    """Pieces read off a network: whether they are all there, every facet matched; None: nobody has looked."""
    known: Known | None = None
    """What the maker knows about the pieces, if anything."""

    @classmethod
    def from_pieces(
        cls,
        A: Sequence[Any],
        b: Sequence[Any],
        gradient: Any,
        offset: Any,
        *,
        domain: tuple[Any, Any] | None = None,
        tol: float | None = None,
    ) -> CPWL:
        """Pieces ``A[i] x <= b[i]`` with laws ``gradient[i] . x + offset[i]``.

        Numbers may be ints, floats, `Fraction` or "p/q". Data without a float in it is meant exactly, unless `tol` is
        given; float data may be inconsistent by `tol`, relative, 1e-9 if it is not given. `domain` ``(A, b)`` asserts
        what the pieces cover.

        Parameters
        ----------
        A, b
            For each piece its rows and right-hand sides.
        gradient
            For each piece the slopes, ``(n,)``, or ``(m, n)`` for several outputs.
        offset
            For each piece the constant, a number or ``(m,)``.
        domain
            The pair ``(A, b)`` of a polyhedron that the pieces are to cover; what they cover, if it is not given.
        tol
            0 for data that is meant exactly; else by how much it may be off, relative to the size of the coordinates
            and to the values on a piece and its neighbours, all outputs together.

        Returns
        -------
        CPWL
            The function, not examined yet: see `doctor`.

        Raises
        ------
        InputError
            Where shapes do not fit, or a number is none.

        >>> p = CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [["-1/3"], [2]], [0, 0])
        >>> p([[-1.0], [1.0]]).ravel()
        array([0.33333333, 2.        ])
        """
        for name, value in (("A", A), ("b", b), ("gradient", gradient)):
            check_list(value, name)
        if tol is not None:
            check_number(tol, "tol", least=0.0)
        with within_float64():
            return cls.from_parts(parts_of_pieces(A, b, gradient, offset, domain, tol))

    @classmethod
    def from_simplices(cls, points: Any, simplices: Any, values: Any) -> CPWL:
        """A triangulated table: `values[v]` at `points[v]`, affine on each simplex (row of point numbers).

        The domain is the union of the simplices, which must be convex. Coordinates and values are taken
        exactly, floats included.

        Parameters
        ----------
        points
            Coordinates ``(V, n)``.
        simplices
            Point numbers ``(q, n + 1)``.
        values
            One number, or `m` of them, for each point.

        Returns
        -------
        CPWL
            The function, with its table.

        Raises
        ------
        InputError
            Where a simplex is flat, or names a point that is not there.

        >>> p = CPWL.from_simplices([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], [1, 2, 3])
        >>> float(p([[0.25, 0.5]])[0, 0])
        2.25
        """
        with within_float64():
            return cls.from_parts(parts_of_simplices(points, simplices, values))

    @classmethod
    def from_breakpoints(cls, x: Any, y: Any, *, left_slope: Any = None, right_slope: Any = None) -> CPWL:
        """A function of one variable through ``(x[i], y[i])``; without a slope the outer segment goes on.

        Parameters
        ----------
        x, y
            Breakpoints in increasing order, and the values there.
        left_slope, right_slope
            The slopes before the first and after the last breakpoint.

        Returns
        -------
        CPWL
            The function, on all of R.

        >>> CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])([[3.0]])
        array([[-1.]])
        """
        with within_float64():
            return cls.from_parts(parts_of_breakpoints(x, y, left_slope, right_slope))

    @classmethod
    def from_grid(cls, axes: Sequence[Any], values: Any, *, triangulation: str = "kuhn") -> CPWL:
        """A table on a rectangular grid, ``values[i, j, ...]`` at ``(axes[0][i], axes[1][j], ...)``.

        Parameters
        ----------
        axes
            For each input the coordinates of the grid, increasing.
        values
            An array with one axis for each input, and one more for several outputs.
        triangulation
            How cells become simplices: "kuhn", along the diagonals in order of the inputs.

        Returns
        -------
        CPWL
            The function, with its table.

        >>> p = CPWL.from_grid([[0, 1], [0, 1, 2]], [[0, 0, 0], [0, 1, 2]])
        >>> p.num_pieces, float(p([[0.5, 1.0]])[0, 0])
        (4, 0.5)
        """
        check_list(axes, "axes")
        check_choice(triangulation, ("kuhn",), "triangulation")
        with within_float64():
            return cls.from_parts(parts_of_grid(axes, values, triangulation))

    @classmethod
    def from_maxmin(cls, components: Any, rows: Sequence[Sequence[int]]) -> CPWL:
        """``max over rows of min over the row's members`` of affine functions, on all of R^n.

        `components` is ``(k, n + 1)``, offset last; each row is a list of component numbers.

        Parameters
        ----------
        components
            Slopes and constant of each affine function.
        rows
            For each minimum the numbers of its members.

        Returns
        -------
        CPWL
            The function, on all of R^n.

        >>> p = CPWL.from_maxmin([[1, 0], [-1, 2], [0, 0]], [[0, 1], [2]])
        >>> p([[-1.0], [0.5], [1.5], [4.0]]).ravel()
        array([0. , 0.5, 0.5, 0. ])
        """
        check_list(rows, "rows")
        for row in rows:
            check_list(row, "rows")
            for number in row:
                check_count(number, "rows", least=0)
        with within_float64():
            return cls.from_parts(parts_of_maxmin(components, rows))

    @classmethod
    def from_oracle(cls, f: Callable[[Any], Any], A: Sequence[Any], b: Sequence[Any], centers: Any, radii: Any) -> CPWL:
        """Algorithm 6 of the paper: `f` is only ever observed, inside one ball in each piece.

        Parameters
        ----------
        f
            Values ``(N, m)``, or ``(N,)``, at points ``(N, n)``.
        A, b
            For each piece its rows and right-hand sides.
        centers, radii
            For each piece a ball inside it, in which `f` is observed.

        Returns
        -------
        CPWL
            The function that was observed.

        >>> p = CPWL.from_oracle(lambda x: abs(x[:, 0]), [[[1]], [[-1]]], [[0], [0]], [[-2], [2]], [1, 1])
        >>> float(p([[-5.0]])[0, 0])
        5.0
        """
        for name, value in (("A", A), ("b", b)):
            check_list(value, name)
        if not callable(f) or isinstance(f, type):
            raise InputError(f"`f` must be a function of points, not a {type(f).__name__}")
        with within_float64():
            return cls.from_parts(parts_of_oracle(f, A, b, centers, radii))

    @classmethod
    def from_parts(cls, parts: Parts) -> CPWL:
        """The function of parts that were checked already; laws are compared, nothing else is looked at."""
        component = label_components(parts.laws, parts.polyhedra, parts.tol)
        component.setflags(write=False)
        return cls(parts.polyhedra, parts.laws, component, parts.domain, parts.tol, parts.mesh, known=parts.known)

    @property
    def dim(self) -> int:
        """The number of inputs `n`."""
        return self.polyhedra.dim

    @property
    def inputs(self) -> int:
        """The number of inputs `n`, as networks call it."""
        return self.dim

    @property
    def outputs(self) -> int:
        """The number of outputs `m`."""
        return self.laws.outputs

    @property
    def num_pieces(self) -> int:
        """The number of pieces `q`."""
        return len(self.polyhedra)

    @property
    def num_components(self) -> int:
        """The number `k` of distinct affine maps R^n -> R^m among the laws."""
        return len(np.unique(self.component, axis=0))

    def take(self, which: NDArray[np.int64]) -> CPWL:
        """The same function on some of its pieces only."""
        mesh = self.mesh
        if mesh is not None:
            mesh = replace(mesh, simplices=mesh.simplices[which])
        known = None if self.known is None else self.known.take(which)
        parts = Parts(self.polyhedra.take(which), self.laws.take(which), self.domain, self.tol, mesh, known)
        return CPWL.from_parts(parts)

    def representatives(self, output: int) -> NDArray[np.int64]:
        """The first piece of each component of that output: its law is the component."""
        check_count(output, "output", least=0, most=self.outputs - 1)
        return np.unique(self.component[:, output], return_index=True)[1].astype(np.int64)

    def components(self, output: int = 0) -> Laws:
        """The distinct components of one output, as scalar laws, in order of first appearance."""
        laws = self.laws.take(self.representatives(output))
        exact = None if laws.exact is None else laws.exact[:, output : output + 1]
        return Laws(laws.gradient[:, output : output + 1].copy(), laws.offset[:, output : output + 1].copy(), exact)

    def __call__(self, x: ArrayLike) -> NDArray[Any]:
        """Values ``(N, m)`` at points ``(N, n)``; NaN outside the domain, never a guess.

        Points of `Fraction` (an object array) are evaluated exactly, and None stands for outside.

        Parameters
        ----------
        x
            Points ``(N, n)``, or one point ``(n,)``.

        Returns
        -------
        ndarray
            Values ``(N, m)``, or ``(m,)``.

        >>> CPWL.from_breakpoints([0, 3], [0, 1])([["1/2"]])
        array([[Fraction(1, 6)]], dtype=object)
        """
        with within_float64():
            points, single = as_points(x, self.dim)
            exactly = points.dtype == object
            result = evaluate_exactly(self, points) if exactly else evaluate(self, points)
        return result[0] if single else result

    @within_float64()
    def doctor(self, *, executor: Executor | None = None) -> Report:
        """Everything wrong or noteworthy with this function, each with a witness, a size and what to do.

        Errors: jumps, overlaps, gaps, a domain that is not convex. Notes: pieces without interior, slivers, redundant
        rows, repeated laws, pieces that could be merged, nearly parallel facets, scales that are far apart.

        Parameters
        ----------
        executor
            Any `concurrent.futures.Executor`: shares out what is decided by linear programs; the report is the same.

        Returns
        -------
        Report
            The findings, errors first; `Report.check` raises the first of them.

        >>> p = CPWL.from_pieces([[[1]], [[-1], [1]], [[-1]]], [[0], [0, 2], [-2]], [[0], [1], [1]], [0, 0, 0])
        >>> print(p.doctor())
        note: 3 pieces but 2 laws: pieces 1 and 2 follow one law.
        note: 3 pieces could be 2: pieces 1 and 2 follow one law and have a convex union, for one. `p.merge()` merges
            such pieces.
        """
        check_executor(executor)
        return replace(examine(self, executor=executor), function=self)

    @within_float64()
    def merge(self) -> CPWL:
        """The same function with pieces of one law merged where their union is convex; itself if there are none.

        Returns
        -------
        CPWL
            The function in fewer pieces.

        >>> p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [3, 3]])
        >>> p.num_pieces, p.merge().num_pieces
        (4, 2)
        """
        return merge(self)

    @within_float64()
    def snap(self, tol: float = 1e-9, *, even: bool = False) -> Snapped:
        """Proposes an exactly consistent function near float data, or says why there is none to offer.

        Laws that agree within `tol` become one law, and facets are re-derived from ``f_i = f_j``; no value and no facet
        moves by more than `tol`, relative. With `even` the points of a table that are on an even lattice but for
        rounding, such as those of ``linspace``, are moved onto it, and those on one line but for `tol` onto a line: a
        table of rounded decimals over a polygon becomes one over a convex domain. See docs/floats.md.

        Parameters
        ----------
        tol
            How far anything may move, relative.
        even
            Whether the points of a table may be moved, too.

        Returns
        -------
        Snapped
            The function that is proposed, and how far it is from the data; or why there is none.

        >>> p = CPWL.from_pieces([[[3.0]], [[-3.0]]], [[1.0], [-1.0]], [[0.0], [0.3]], [0.0, -0.1])
        >>> p.snap().function
        CPWL(R^1 -> R^1, 2 pieces, 2 components, exact)
        """
        check_number(tol, "tol", least=0.0)
        return snap(self, tol, even)

    # Calculating: see `cpwl.function.algebra`. NumPy leaves `2.0 * p` and `A @ p` to us.
    __array_ufunc__ = None
    __add__ = __radd__ = arithmetic.add
    __sub__ = arithmetic.subtract
    __rsub__ = arithmetic.subtracted_from
    __mul__ = __rmul__ = arithmetic.times
    __neg__ = arithmetic.negative
    __rmatmul__ = arithmetic.linear_image
    __getitem__ = arithmetic.output
    __abs__ = extremes.absolute
    clip = extremes.clip
    relu = extremes.positive_part
    restrict = domains.restrict
    extend = domains.extend
    compose = composition.compose
    __matmul__ = composition.after

    # Asking: see `cpwl.function.questions`.
    range = extent.value_range
    argmax = extent.argmax
    argmin = extent.argmin
    lipschitz = slopes.lipschitz
    is_convex = convexity.is_convex
    is_concave = convexity.is_concave
    is_monotone = slopes.is_monotone
    depends_on = slopes.depends_on
    solve = sets.solve
    level_set = sets.level_set
    integral = volume.integral
    mean = volume.mean
    distance = gap.distance

    def plot(
        self, *, kind: str = "auto", ax: Any = None, output: int = 0, box: tuple[Any, Any] | None = None, at: Any = None
    ) -> Any:
        """Draw the function with matplotlib: a curve of one input, a map of pieces of two, a slice of more.

        Parameters
        ----------
        kind
            "surface" for a surface instead of a map.
        ax
            The axes to draw on; new ones if not given.
        output
            Which output.
        box
            ``(low, high)``: what is drawn; chosen by where the function bends if not given.
        at
            With more than two inputs, a point of the plane of the first two that is drawn.

        Returns
        -------
        Axes
            What was drawn on; ``ax.figure.savefig("p.png")`` writes it.
        """
        from cpwl.function.picture.plot import plot_function

        return plot_function(self, kind, ax, output, box, at)

    def _repr_svg_(self) -> str | None:
        """A picture for notebooks; None where there would be too much to see."""
        from cpwl.function.picture.svg import picture

        return picture(self)

    def __repr__(self) -> str:
        exact = "exact" if self.tol == 0 else f"tol={self.tol:g}"
        return (
            f"CPWL(R^{self.dim} -> R^{self.outputs}, {self.num_pieces} pieces, "
            f"{self.num_components} components, {exact})"
        )
