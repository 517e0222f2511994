"""`CPWL`: a continuous piecewise-linear function as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.doors import check_choice, check_count, check_list, check_number, says_how_to_call
from cpwl.errors import InputError, counted
from cpwl.exact.integers import number_rows
from cpwl.exact.rational import fraction
from cpwl.function.answers import (
    Answer,
    Distance,
    Extremum,
    Jump,
    LevelSet,
    Lipschitz,
    Range,
    Report,
    Solutions,
    point_text,
)
from cpwl.function.make import (
    parts_of_breakpoints,
    parts_of_grid,
    parts_of_maxmin,
    parts_of_oracle,
    parts_of_pieces,
    parts_of_simplices,
)
from cpwl.function.parts import Known, Laws, Mesh, Parts, label_components
from cpwl.geometry.generators import Generators, generators
from cpwl.geometry.polyhedra import Facts, Polyhedra, Polyhedron, fact


@says_how_to_call
@dataclass(frozen=True, slots=True, eq=False)
class CPWL:
    """A continuous function R^n -> R^m that is affine on each of finitely many polyhedra.

    The ``from_...`` constructors make one. It holds arrays and is immutable.

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
    """One affine map for each piece."""
    component: NDArray[np.int64]
    """``component[i, j]``: the number of the component that output `j` follows on piece `i`."""
    domain: Polyhedron | None
    """The domain as asserted; None if it is the union of the pieces."""
    tol: float
    """The relative tolerance of float data; 0 for exact data."""
    mesh: Mesh | None = None
    """The triangulated table behind the pieces, if there is one."""
    complete: bool | None = None
    """For pieces extracted from a network: whether no piece is missing. None if this was not determined."""
    known: Known | None = None
    """Facts that the constructor has proved about the pieces, if any."""
    floats: bool = False
    """Whether a table, or breakpoints, were given as floats: `compile` may undo their rounding to save neurons."""
    names: tuple[str, ...] = ()
    """Names of the inputs and then of the outputs; empty if they have none (see `named`)."""
    units: tuple[str, ...] = ()
    """Their units, in the same order; "" for an input or output without a unit."""
    facts: Facts = field(default_factory=dict, init=False, repr=False)
    """Cached results about the function: see `fact`."""

    def __reduce__(self) -> tuple[Any, ...]:
        return CPWL, tuple(getattr(self, part.name) for part in fields(self) if part.init)

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

        Numbers may be ints, floats, `Fraction` or "p/q". Data without floats is exact, unless `tol` is given. Float
        data may be inconsistent up to the relative tolerance `tol`, by default 1e-9. `domain` ``(A, b)`` asserts which
        set the pieces cover.

        Parameters
        ----------
        A, b
            For each piece its rows and right-hand sides.
        gradient
            For each piece the slopes, ``(n,)``, or ``(m, n)`` for several outputs.
        offset
            For each piece the constant, a number or ``(m,)``.
        domain
            The pair ``(A, b)`` of the polyhedron that the pieces should cover. By default, the union of the pieces.
        tol
            0 for exact data. Otherwise the tolerance of the data, relative to the size of the coordinates and to the
            values on a piece and its neighbours, over all outputs.

        Returns
        -------
        CPWL
            The function. It is not checked for continuity: see `doctor`.

        Raises
        ------
        InputError
            If shapes do not fit, or an entry is not a number.

        >>> p = CPWL.from_pieces([[[1]], [[-1]]], [[0], [0]], [["-1/3"], [2]], [0, 0])
        >>> p([[-1.0], [1.0]]).ravel()
        array([0.33333333, 2.        ])
        """
        for name, value in (("A", A), ("b", b), ("gradient", gradient)):
            check_list(value, name)
        if tol is not None:
            check_number(tol, "tol", least=0.0)
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
            If a simplex refers to a point that does not exist.

        >>> p = CPWL.from_simplices([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], [1, 2, 3])
        >>> float(p([[0.25, 0.5]])[0, 0])
        2.25
        """
        return cls.from_parts(parts_of_simplices(points, simplices, values))

    @classmethod
    def from_breakpoints(cls, x: Any, y: Any, *, left_slope: Any = None, right_slope: Any = None) -> CPWL:
        """A function of one variable through ``(x[i], y[i])``; without a slope the outer segment is extended.

        Parameters
        ----------
        x, y
            Breakpoints in increasing or decreasing order, and the values there.
        left_slope, right_slope
            The slopes to the left of the first and to the right of the last breakpoint.

        Returns
        -------
        CPWL
            The function, on all of R.

        >>> CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])([[3.0]])
        array([[-1.]])
        """
        return cls.from_parts(parts_of_breakpoints(x, y, left_slope, right_slope))

    @classmethod
    def from_grid(cls, axes: Sequence[Any], values: Any, *, triangulation: str = "kuhn") -> CPWL:
        """A table on a rectangular grid, ``values[i, j, ...]`` at ``(axes[0][i], axes[1][j], ...)``.

        Parameters
        ----------
        axes
            For each input the coordinates of the grid, increasing or decreasing.
        values
            An array with one axis for each input, and one more for several outputs.
        triangulation
            How boxes are cut into simplices: "kuhn", along the main diagonal.

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
        return cls.from_parts(parts_of_grid(axes, values))

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

        def fewer(parts: Parts) -> Parts:
            p = cls.from_parts(parts).merge()
            return Parts(p.polyhedra, p.laws, p.domain, p.tol)

        return cls.from_parts(parts_of_maxmin(components, rows, fewer))

    @classmethod
    def from_oracle(cls, f: Callable[[Any], Any], A: Sequence[Any], b: Sequence[Any], centers: Any, radii: Any) -> CPWL:
        """Recover a function from values of `f` inside one ball in each piece (Algorithm 6 of the paper).

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
            The recovered function.

        >>> p = CPWL.from_oracle(lambda x: abs(x[:, 0]), [[[1]], [[-1]]], [[0], [0]], [[-2], [2]], [1, 1])
        >>> float(p([[-5.0]])[0, 0])
        5.0
        """
        for name, value in (("A", A), ("b", b)):
            check_list(value, name)
        if not callable(f) or isinstance(f, type):
            raise InputError(f"`f` must be a function of points, not a {type(f).__name__}")
        return cls.from_parts(parts_of_oracle(f, A, b, centers, radii))

    @classmethod
    def from_parts(cls, parts: Parts) -> CPWL:
        """The function of parts that are already checked. Only the laws are compared."""
        component = label_components(parts.laws, parts.polyhedra, parts.tol)
        component.setflags(write=False)
        given = parts.polyhedra, parts.laws, component, parts.domain, parts.tol, parts.mesh
        return cls(*given, known=parts.known, floats=parts.floats)

    def named(self, names: Sequence[str], units: Sequence[str] | None = None) -> CPWL:
        """The same function with names, and units, of its inputs and then of its outputs.

        Plots, the explorer, `cpwl ask`, JSON and CSV files, C headers and ONNX metadata show them. They have no effect
        on values, comparisons or proofs. `restrict`, `merge` and ``p[j]`` keep them; other operations drop them.

        Parameters
        ----------
        names
            ``n + m`` different names. A name is printable text without brackets, and not a number.
        units
            ``n + m`` units, "" where there is none. Without them, no name has a unit.

        Returns
        -------
        CPWL
            The function with these names.

        >>> p = CPWL.from_breakpoints([0, 1], [0, 5]).named(["speed", "torque"], ["rpm", "Nm"])
        >>> p.labels
        ('speed [rpm]', 'torque [Nm]')
        """
        length = self.dim + self.outputs
        given = {"names": names, "units": [""] * length if units is None else units}
        for what, words in given.items():
            check_list(words, what)
            if len(words) != length:
                ends = f"{counted(self.dim, 'input')} and {counted(self.outputs, 'output')}"
                raise InputError(f"`{what}` must have {length} entries for {ends}, not {len(words)}")
            for word in words:
                if not isinstance(word, str) or not word.isprintable() or set(word) & set("[]") or word != word.strip():
                    raise InputError(f"`{what}` must be printable texts without brackets, and {word!r:.60} is not one")
        if len(set(names)) < length or any(_is_number(name) for name in names):
            raise InputError("`names` must be different, not empty, and not numbers")
        return replace(self, names=tuple(names), units=tuple(given["units"]))

    @property
    def labels(self) -> tuple[str, ...]:
        """Names with their units, ``speed [rpm]``, of the inputs and then of the outputs; empty without names."""
        return tuple(f"{name} [{unit}]" if unit else name for name, unit in zip(self.names, self.units, strict=True))

    def with_names_of(self, p: CPWL) -> CPWL:
        """The same function with the names and units of `p`, which has as many inputs and outputs."""
        return self if self.names == p.names else replace(self, names=p.names, units=p.units)

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
        laws = self.laws.take(which)
        parts = Parts(self.polyhedra.take(which), laws, self.domain, self.tol, mesh, known, self.floats)
        return CPWL.from_parts(parts).with_names_of(self)

    def with_laws(self, laws: NDArray[np.object_]) -> CPWL:
        """The pieces with other integer laws ``(gradient, offset, 1) * denominator``, which agree where pieces meet."""
        mesh = None if self.mesh is None else self.mesh.revalued(laws)
        return self.with_parts(Laws.from_integer(laws), mesh)

    def with_parts(self, laws: Laws, mesh: Mesh | None) -> CPWL:
        """The pieces with other laws. Facts about the pieces are kept; facts about the values are dropped."""
        known = None if self.known is None else replace(self.known, network=None, optimal=None)
        made = CPWL.from_parts(Parts(self.polyhedra, laws, self.domain, self.tol, mesh, known))
        return replace(made, complete=self.complete)

    def representatives(self, output: int) -> NDArray[np.int64]:
        """The first piece of each component of that output: its law is the component."""
        check_count(output, "output", least=0, most=self.outputs - 1)
        return np.unique(self.component[:, output], return_index=True)[1].astype(np.int64)

    def components(self, output: int = 0) -> Laws:
        """The distinct components of one output, as scalar laws, in order of first appearance."""
        laws = self.laws.take(self.representatives(output))
        exact = None if laws.exact is None else laws.exact[:, output : output + 1]
        return Laws(laws.gradient[:, output : output + 1].copy(), laws.offset[:, output : output + 1].copy(), exact)

    # From here on most methods are only declared. Their algorithms are in the chapters above this one: see `method_of`.

    def __call__(self, x: ArrayLike) -> NDArray[Any]:
        """Values ``(N, m)`` at points ``(N, n)``; NaN outside the domain.

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

    def doctor(self, *, executor: Executor | None = None) -> Report:
        """Examine the function: list errors and notes, each with a witness, a size and a remedy.

        Errors: jumps, overlaps, gaps, a domain that is not convex. Notes: pieces without interior, slivers, redundant
        rows, repeated laws, pieces that could be merged, nearly parallel facets, scales that are far apart.

        Parameters
        ----------
        executor
            Any `concurrent.futures.Executor`, for the linear programs. The report does not depend on it.

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

    def fingerprint(self, key: bytes = b"") -> str:
        """A name of 64 hexadecimal digits that depends on the function and not on its pieces.

        The same function, cut into other pieces, has the same fingerprint: it is the BLAKE2b digest of a normal form
        (docs/theory/flags.md), all numbers exact. Two functions with one fingerprint and different values would be a
        collision of BLAKE2b with 256 bits, and none is known. Still, a fingerprint is not a proof; `equal`
        gives one. Only the covered set and the laws count, not an asserted domain or a tolerance; data that covers a
        point several times counts each time.

        Parameters
        ----------
        key
            Up to 64 bytes. Without the key, the fingerprint cannot be computed or predicted.

        Returns
        -------
        str
            The digest.

        Raises
        ------
        LimitError
            For more than four inputs, and for pieces with very many rows.

        >>> p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [3, 3]])
        >>> p.fingerprint() == p.merge().fingerprint(), p.fingerprint() == (p + 1).fingerprint()
        (True, False)
        """

    def __eq__(self, other: object) -> bool:
        """Whether two are exactly the same function on the same set, however they are cut, by their fingerprints.

        False for data that is not an exactly consistent function, and where there is no fingerprint, unless both are
        one object: `equal` says more.

        >>> p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [3, 3]])
        >>> p == p.merge(), p == 2 * p, len({p, p.merge(), 2 * p})
        (True, False, 2)
        """

    def __hash__(self) -> int:
        """Equal for equal functions."""

    def merge(self) -> CPWL:
        """The same function with pieces of one law merged where their union is convex; itself if none can be merged.

        Returns
        -------
        CPWL
            The function in fewer pieces.

        >>> p = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [3, 3]])
        >>> p.num_pieces, p.merge().num_pieces
        (4, 2)
        """

    def snap(self, tol: float | None = None, *, even: bool = False) -> Snapped:
        """Find an exactly continuous function near float data, or report why none was found.

        Laws that agree within `tol` become one law, and facets are re-derived from ``f_i = f_j``; no value and no facet
        moves by more than `tol`, relative. With `even`, points of a table may move as well: points that lie on an even
        lattice up to rounding, such as those of ``linspace``, move onto it, and points that lie on a line up to `tol`
        move onto the line. The domain of a table of rounded decimals over a polygon then is convex. See docs/floats.md.

        Parameters
        ----------
        tol
            How far values and facets may move, relative. By default the tolerance of the data, or 1e-9 for exact data.
        even
            Whether the points of a table may move as well.

        Returns
        -------
        Snapped
            The function found and its distance from the data, or the reason why none was found.

        >>> p = CPWL.from_pieces([[[3.0]], [[-3.0]]], [[1.0], [-1.0]], [[0.0], [0.3]], [0.0, -0.1])
        >>> p.snap().function
        CPWL(R^1 -> R^1, 2 pieces, 2 components, exact)
        """

    # Calculating: see `cpwl.function.algebra`. NumPy leaves `2.0 * p` and `A @ p` to us.
    __array_ufunc__ = None

    def __add__(self, other: Any) -> CPWL:
        """The sum of two functions where both are defined, or of a function and a constant.

        >>> p, q = CPWL.from_breakpoints([0, 1], [0, 1]), CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
        >>> (p + q)([["-2"], ["1/3"]]).ravel(), (p + "1/2").num_pieces
        (array([Fraction(0, 1), Fraction(2, 3)], dtype=object), 1)
        """

    def __sub__(self, other: Any) -> CPWL:
        """The difference of two functions where both are defined, or of a function and a constant."""

    def __rsub__(self, constant: Any) -> CPWL:
        """The difference ``x -> constant - p(x)``."""
        return (-self).__add__(constant)

    def __radd__(self, constant: Any) -> CPWL:
        """The sum ``x -> constant + p(x)``."""

    def __mul__(self, factor: Any) -> CPWL:
        """The multiple ``x -> factor p(x)``: a number, or one for each output. The pieces stay."""

    def __rmul__(self, factor: Any) -> CPWL:
        """The multiple ``x -> factor p(x)``."""

    def __neg__(self) -> CPWL:
        """The function ``x -> -p(x)``, with the same pieces."""
        return self * -1

    def __rmatmul__(self, matrix: Any) -> CPWL:
        """The function ``x -> M p(x)``, with the same pieces.

        >>> p = CPWL.from_breakpoints([0, 1], [[0, 1], [1, 0]])
        >>> ([[1, 1], [1, -1]] @ p)([["1/3"]])
        array([[Fraction(1, 1), Fraction(-1, 3)]], dtype=object)
        """

    def __matmul__(self, affine: Any) -> CPWL:
        """The function ``x -> p(A x + b)`` for a pair ``(A, b)``; after another function, as `compose`.

        >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
        >>> (p @ ([[1, -1]], [0]))([[3.0, 5.0]])
        array([[2.]])
        """

    def __getitem__(self, j: Any) -> CPWL:
        """Output `j` of a function, or those of a slice or list, with the same pieces.

        >>> CPWL.from_breakpoints([0, 1], [[0, 5], [1, 7]])[1]([[2.0]])
        array([[9.]])
        """

    def __abs__(self) -> CPWL:
        """The function ``x -> |p(x)|``, output by output."""

    def clip(self, low: Any = None, high: Any = None) -> CPWL:
        """The function ``x -> min(max(p(x), low), high)``; a bound that is None is left out.

        >>> CPWL.from_breakpoints([0, 1], [0, 1]).clip(0, "1/2")([["-1"], ["1/3"], ["5"]]).ravel()
        array([Fraction(0, 1), Fraction(1, 3), Fraction(1, 2)], dtype=object)
        """

    def relu(self) -> CPWL:
        """The function ``x -> max(0, p(x))``, output by output.

        >>> CPWL.from_breakpoints([0, 1], [0, 1]).relu().num_pieces
        2
        """
        return self.clip(0)

    def restrict(self, *, domain: Any = None, box: Any = None) -> CPWL:
        """The function on a part of its domain: ``(A, b)`` for ``A x <= b``, or ``box=(low, high)``.

        Where the domain reaches beyond that of the function, the function is not defined.

        >>> CPWL.from_breakpoints([0, 1], [0, 1], left_slope=0).restrict(box=("1/3", 5)).num_pieces
        1
        """

    def extend(self) -> CPWL:
        """The function on all of R^n: every piece at the border of the domain is extended with its law.

        `InputError` with a point where that is not continuous, or where two pieces would meet beyond the border.

        >>> p = CPWL.from_grid([[0, 1, 2]], [0, 1, 5]).extend()
        >>> p([["-3"], ["4"]]).ravel()
        array([Fraction(-3, 1), Fraction(13, 1)], dtype=object)
        """

    def compose(self, q: CPWL, *, outside: str = "error") -> CPWL:
        """The function ``x -> p(q(x))``.

        Parameters
        ----------
        q
            The inner function, with as many outputs as `p` has inputs.
        outside
            Behaviour where `q` leaves the domain of `p`: "error", with a point where it does; or "drop" those
            `x`, which may leave a domain that is not convex.

        >>> tent = CPWL.from_breakpoints([0, 1, 2], [0, 2, 0])
        >>> twice = tent.compose(tent)
        >>> twice.num_pieces, twice([["1/4"], ["3/4"]]).ravel()
        (4, array([Fraction(1, 1), Fraction(1, 1)], dtype=object))
        """

    # Asking: see `cpwl.function.questions`.

    def range(self, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Range:
        """The least and the largest value of an output on the domain, exactly, each with a point, or a ray.

        >>> tent = CPWL.from_breakpoints([0, 1, 3], [0, "2/3", 0])
        >>> found = tent.range(box=(0, 3))
        >>> print(found), found.argmax.point
        [0, 2/3]
        (None, array([Fraction(1, 1)], dtype=object))
        >>> print(tent.argmin())
        unbounded from x = (1) along (-1)
        """

    def argmax(self, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Extremum:
        """The largest value of an output, and a point where it is attained, or a ray along which there is no bound."""

    def argmin(self, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Extremum:
        """The least value of an output, and a point where it is attained, or a ray along which there is no bound."""

    def integral(self, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Fraction:
        """The integral of an output over a bounded domain, exactly.

        >>> CPWL.from_breakpoints([0, 1, 3], [0, 2, 0]).integral(box=(0, 3))
        Fraction(3, 1)
        """

    def mean(self, *, domain: Any = None, box: Any = None, output: int | str | None = None) -> Fraction:
        """The mean value of an output over a bounded domain, exactly.

        >>> CPWL.from_breakpoints([0, 1, 3], [0, 2, 0]).mean(box=(0, 3))
        Fraction(1, 1)
        """

    def lipschitz(self, norm: Any = 2, *, outputs: Any = None, domain: Any = None, box: Any = None) -> Lipschitz:
        """The Lipschitz constant in one norm for inputs and outputs, with a piece and two points that attain it.

        On a convex domain it is the largest operator norm of a gradient: the largest column sum for 1, the largest row
        sum for "inf", and the spectral norm for 2. For one output the square of the spectral norm is rational; for
        several outputs the norm is enclosed between two rationals.

        Parameters
        ----------
        norm
            1, 2 or "inf".
        outputs
            An output or a list of outputs; by default all of them.
        domain, box
            The domain: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box.

        >>> p = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[1, 3], [4, 3]], [0, 0])
        >>> p.lipschitz(2).square, p.lipschitz("inf").high, p.lipschitz(1).points
        (Fraction(25, 1), Fraction(7, 1), (array([Fraction(1, 1), Fraction(0, 1)], dtype=object), array([Fraction(2, 1),
            Fraction(0, 1)], dtype=object)))
        """

    def is_convex(self, *, output: int | str | None = None, domain: Any = None, box: Any = None) -> Answer:
        """Decide whether an output is convex. A "no" comes with two points and their midpoint.

        >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
        >>> bool(p.is_convex()), p.is_concave().points[1]
        (True, array([Fraction(0, 1)], dtype=object))
        """

    def is_concave(self, *, output: int | str | None = None, domain: Any = None, box: Any = None) -> Answer:
        """Decide whether an output is concave. A "no" comes with two points and their midpoint."""

    def is_monotone(
        self,
        i: int = 0,
        *,
        increasing: bool | None = None,
        output: int | str | None = None,
        domain: Any = None,
        box: Any = None,
    ) -> Answer:
        """Decide whether an output is nondecreasing in input `i` (`increasing` False: nonincreasing; None: either).

        A "no" comes with two points that differ in input `i` only; with four points if both senses were asked.

        >>> print(CPWL.from_breakpoints([0, 1], [0, 1]).is_monotone(0))
        yes: it never falls along input 0
        """

    def depends_on(self, i: int, *, output: int | str | None = None, domain: Any = None, box: Any = None) -> Answer:
        """Decide whether the function depends on input `i`. A "yes" comes with two points that show it.

        For float data, slopes within the noise do not count; `slack` is the largest of them.

        >>> p = CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[1, 0], [4, 0]], [0, 0])
        >>> bool(p.depends_on(0)), bool(p.depends_on(1))
        (True, False)
        """

    def solve(self, value: Any = 0, *, domain: Any = None, box: Any = None) -> Solutions:
        """The solution set ``{x : p(x) = value}`` as polyhedra, each given by its corners and rays.

        >>> tent = CPWL.from_breakpoints([0, 1, 3], [0, 2, 0])
        >>> [x.tolist() for x in tent.solve(1).points]
        [[Fraction(1, 2)], [Fraction(2, 1)]]
        """

    def level_set(
        self, value: Any, *, above: bool = False, output: int | str | None = None, domain: Any = None, box: Any = None
    ) -> LevelSet:
        """The sublevel set of an output (with `above`, the superlevel set): solid polyhedra, at most one in each piece.

        Parts without interior, such as a single minimum, are left out; `solve` finds them.

        >>> tent = CPWL.from_grid([[0, 1, 2], [0, 1]], [[0, 0], [1, 1], [0, 0]])
        >>> tent.level_set("1/2").volume, tent.level_set("3/4", above=True).volume
        (Fraction(1, 1), Fraction(1, 2))
        """

    def distance(self, q: CPWL, *, domain: Any = None, box: Any = None) -> Distance:
        """The largest difference ``max |p - q|`` over all outputs where both are defined, with a point; and the mean.

        >>> p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
        >>> print(p.distance(CPWL.from_breakpoints([0, 2], [0, 0]), box=(0, 2)))
        at most 1, at x = (1), 1/2 in the mean
        """

    def approximate(self, within: Any) -> CPWL:
        """A function with fewer pieces that is within a tolerance of this one everywhere, decided exactly.

        The tolerance is a number in units of the output, a percentage of its range such as "1%", or one of these for
        each output. On an interval, no function has fewer breakpoints. On a bounded domain of up to four inputs, even
        grids are tried, the coarsest first. If none is found, the result is the function itself. For float data, `snap`
        first finds an exact function near it.

        >>> p = CPWL.from_grid([range(9)], [v * v for v in range(9)])
        >>> p.approximate(1).num_pieces, p.distance(p.approximate(1)).largest <= 1
        (3, True)
        """

    def plot(
        self, *, kind: str = "auto", ax: Any = None, output: int = 0, box: tuple[Any, Any] | None = None, at: Any = None
    ) -> Any:
        """Draw the function with matplotlib: a curve of one input, a map of pieces of two, a slice of more.

        Parameters
        ----------
        kind
            "surface" for a surface instead of a map.
        ax
            The axes to draw on; by default new ones.
        output
            Which output.
        box
            ``(low, high)``: the part to draw; by default where the function bends.
        at
            With more than two inputs: a point of the slice that is drawn.

        Returns
        -------
        Axes
            The axes; ``ax.figure.savefig("p.png")`` writes the picture.
        """

    def _repr_svg_(self) -> str | None:
        """A picture for notebooks; None where there would be too much to see."""

    def __repr__(self) -> str:
        exact = "exact" if self.tol == 0 else f"tol={self.tol:g}"
        return (
            f"CPWL(R^{self.dim} -> R^{self.outputs}, {counted(self.num_pieces, 'piece')}, "
            f"{counted(self.num_components, 'component')}, {exact})"
        )


@fact
def generators_of(p: CPWL) -> Generators:
    """Corners and rays of the pieces, where they are few: of a table its points, equal ones with one number.

    >>> found = generators_of(CPWL.from_simplices([[0], [1], [3]], [[0, 1], [1, 2]], [0, 1, 0]))
    >>> found.places[found.member].tolist()
    [[0, 1], [1, 1], [1, 1], [3, 1]]
    """
    if p.mesh is None:
        return generators(p.polyhedra)
    start = np.arange(p.num_pieces + 1, dtype=np.int64) * (p.dim + 1)
    first, number = number_rows(p.mesh.corners)
    return Generators(p.mesh.corners[first], number[p.mesh.simplices.ravel()], start)


@dataclass(frozen=True, slots=True)
class Moved:
    """How far anything was moved."""

    coefficient: float = 0.0
    """The largest change of a coefficient of a law, relative to the largest one of its kind (slopes, offsets)."""
    value: float = 0.0
    """The largest change of a law on its piece, relative to the size of the values."""
    facet: float = 0.0
    """The largest distance from a facet to its new hyperplane, relative to the size of the coordinates."""

    def __add__(self, more: Moved) -> Moved:
        """Both moves, one after the other."""
        return Moved(self.coefficient + more.coefficient, self.value + more.value, self.facet + more.facet)

    @property
    def largest(self) -> float:
        """The largest of them all."""
        return max(self.coefficient, self.value, self.facet)


@dataclass(frozen=True, slots=True)
class Snapped:
    """An exactly continuous function near float data, or the reason why none was found."""

    function: CPWL | None
    moved: Moved
    reason: str
    """Why no function was found; empty otherwise."""
    way: str = ""
    """The method: "exact" (nothing was changed), "even", "straight", "simplices", "laws", "triangles" or "line" (of one
    input)."""
    laws: int = 0
    """The number of laws that changed."""
    facets: int = 0
    """The number of facets that moved."""
    patches: int = 0
    """The number of pieces that were cut into simplices."""
    where: tuple[float, ...] | None = None
    """A point with the largest change of a law."""
    flat: tuple[int, ...] | None = None
    """The pieces of the data without an interior, or thinner than the noise; None if this was not determined."""
    jump: Jump | None = None
    """The largest disagreement of two pieces at a common point; half of it bounds the distance to any function."""

    def __str__(self) -> str:
        """What was done, in a few lines."""
        if self.function is None:
            return f"no continuous function near the data was found: {self.reason}"
        if self.way == "exact":
            return "the data defines a continuous function exactly: nothing was moved"
        place = "" if self.where is None else f", most at x = {point_text(self.where)}"
        lines = [
            f"{counted(self.laws, 'law')} moved, by at most {self.moved.value:.2g} of the range of values{place}",
            f"{counted(self.facets, 'facet')} moved, by at most {self.moved.facet:.2g} of the size of the coordinates",
            f"pieces cut into simplices: {self.patches}",
        ]
        if self.jump is not None:
            i, j = self.jump.pieces
            size, least = float(self.jump.size), float(self.jump.unavoidable)
            lines.append(f"pieces {i} and {j} overlap and disagree by {size:.2g}: no function is within {least:.2g}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same as a list, and the function, for notebooks."""
        picture = None if self.function is None else self.function._repr_svg_()
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines()) + (picture or "")


def _is_number(word: str) -> bool:
    """Whether the first line of a table with this name would be read as a number; "" is as useless a name."""
    try:
        fraction(word or "0")
    except (InputError, ValueError, ZeroDivisionError):
        return False
    return True
