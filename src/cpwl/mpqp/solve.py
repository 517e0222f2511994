"""`solve_mpqp`: the optimiser of a strictly convex program as a function of its parameters, exact and complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.doors import check_call, check_count, check_limit, within_float64
from cpwl.errors import InputError
from cpwl.exact.rational import text
from cpwl.executors import check_executor
from cpwl.function.cpwl import CPWL
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Known, Laws, Parts
from cpwl.mpqp.critical import CriticalRegion, conic_basis, critical_region
from cpwl.mpqp.explore import Edge, Region, corners, explore
from cpwl.mpqp.program import Program, fractions_of
from cpwl.progress import Progress

__all__ = ["Optimality", "chosen_outputs", "law_of", "solve_mpqp"]


@within_float64()
def solve_mpqp(
    program: Mapping[str, Any],
    *,
    outputs: Any = None,
    equalities: int = 0,
    executor: Executor | None = None,
    max_regions: int | None = None,
    progress: Progress | None = None,
) -> CPWL:
    """The optimiser of ``min 1/2 u'Qu + (H x + c)'u`` over ``A u <= b + F x``, ``A_t x <= b_t``, for every `x`.

    `Q` must be positive definite. Everything is decided in rationals, without tolerances, and it is proved that no
    region is missing: the domain of the function is the set of all feasible parameters. The function carries that
    proof, so that `certify` and ``compile(.., certify=True)`` prove that a network *is* the optimiser for all
    feasible parameters. How, and why no region can be missing, is in `cpwl.mpqp.explore`.

    Parameters
    ----------
    program
        The matrices `Q`, `H`, `c`, `A`, `F`, `b`, and `A_t`, `b_t` unless all parameters are allowed. Floats are the
        rationals that they are; write "0.1" or a `Fraction` for others. Short decimals make short numbers.
    outputs
        Which decision variables: a number, a list, a slice (``slice(0, m)``: the first move of `m` inputs), or all.
    equalities
        How many rows of `A`, the first ones, are equations.
    executor : concurrent.futures.Executor, optional
        Shares out the regions; the result does not depend on it.
    max_regions
        Stop beyond this many regions.
    progress
        Called with how many regions are done, how many are known, and "regions".

    Returns
    -------
    CPWL
        The function, one piece for each critical region, in order of their sets of tight rows.

    Raises
    ------
    InputError
        Where matrices do not fit; where `Q` is not positive definite, with a `direction`; where no parameter is
        feasible, with the `multipliers` that show it; where the feasible ones satisfy an equation, with `equations`.
    LimitError
        Beyond `max_regions`: `details["active_sets"]` has what was found, and `cpwl.io.from_active_sets` goes on.

    Examples
    --------
    >>> box = {"A": [[1], [-1]], "b": [1, 1], "F": [[0], [0]], "A_t": [[1], [-1]], "b_t": [4, 4]}
    >>> law = solve_mpqp({"Q": [[1]], "H": [[-1]], "c": [0], **box})
    >>> law.num_pieces, law([[-3.0], [0.5], [2.0]]).ravel()
    (3, array([-1. ,  0.5,  1. ]))
    """
    check_program(program)
    check_count(equalities, "equalities", least=0)
    check_executor(executor)
    check_limit(max_regions)
    check_call(progress)
    made = Program.from_matrices(dict(program), equalities)
    chosen = chosen_outputs(outputs, made.moves)
    return law_of(made, explore(made, executor=executor, max_regions=max_regions, progress=progress), chosen)


def check_program(program: Any) -> None:
    """Refuse what does not map names to matrices."""
    if not isinstance(program, Mapping):
        raise InputError(f"`program` must map names to matrices, not be a {type(program).__name__}")


def chosen_outputs(outputs: Any, moves: int) -> list[int]:
    """The numbers of the decision variables that were asked for."""
    if outputs is None:
        return list(range(moves))
    given = list(range(moves))[outputs] if isinstance(outputs, slice) else outputs
    numbers: list[Any] = [given] if np.ndim(given) == 0 else list(given)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < moves:
            known = f'numbers from 0 to {moves - 1}, a slice, or "value" for the value of a linear program'
            raise InputError(f"`outputs` must be {known}, not {outputs!r:.50}")
    if not numbers:
        raise InputError("`outputs` is empty: name at least one decision variable")
    return [int(number) for number in numbers]


def law_of(program: Program, regions: Sequence[Region], outputs: list[int]) -> CPWL:
    """The function of all regions of a program; its domain is the set of feasible parameters."""
    edges = [
        tuple(row) for r in regions for row, there in zip(r.rows, r.beyond, strict=True) if isinstance(there, Edge)
    ]
    polyhedra = polyhedra_from_integers([region.rows.tolist() for region in regions], program.inputs)
    domain = polyhedra_from_integers([list(dict.fromkeys(edges))], program.inputs)[0]
    exact = np.array([region.law[outputs] for region in regions], dtype=object)
    inner = np.array([region.inner for region in regions], dtype=object)
    optimal = Optimality(program, tuple(outputs), tuple(regions))
    known = Known(inner, _neighbours(regions), complete=True, optimal=optimal)
    return CPWL.from_parts(Parts(polyhedra, Laws.from_integer(exact), domain, 0.0, None, known))


def _neighbours(regions: Sequence[Region]) -> NDArray[np.int64] | None:
    """Rows ``(i, j, r)`` of regions that have the facet of row `r` in common; None if not all meet face to face."""
    number = {region.tight: i for i, region in enumerate(regions)}
    found, row = [], 0
    for i, region in enumerate(regions):
        for there in region.beyond:
            if not isinstance(there, Edge):
                if len(there) != 1:
                    return None
                found.append((i, number[there[0]], row))
            row += 1
    pairs = {(i, j) for i, j, _ in found}
    mutual = all((j, i) in pairs for i, j in pairs)
    return np.array(found, dtype=np.int64).reshape(-1, 3) if mutual else None


# What a proof says: that a function is the optimiser of a program, for all feasible parameters.


@dataclass(frozen=True, slots=True, eq=False)
class Optimality:
    """That the function of these regions is the optimiser of a program on all its feasible parameters."""

    program: Program
    outputs: tuple[int, ...]
    regions: tuple[Region, ...]

    @property
    def active_sets(self) -> list[list[int]]:
        """The tight rows of each region."""
        return [list(region.tight) for region in self.regions]

    def document(self) -> dict[str, Any]:
        """The fields of a proof of kind "optimal" that do not depend on a network: see `cpwl_check.optimal`."""
        number = {region.tight: i for i, region in enumerate(self.regions)}
        edges: dict[tuple[int, ...], tuple[int, Edge]] = {}
        found = []
        for region in self.regions:  # each has a system of equations of its own
            beyond: list[Any] = []
            for row, there in zip(region.rows, region.beyond, strict=True):
                if isinstance(there, Edge):
                    k, _ = edges.setdefault(tuple(row), (len(edges), there))
                    beyond.append({"edge": k})
                else:
                    beyond.append({"regions": [number[tight] for tight in there]})
            critical = critical_region(self.program, region.tight)
            assert critical is not None
            found.append(
                {
                    "rows": region.rows.tolist(),
                    "law": _texts(critical.law),
                    "bases": _bases(self.program, critical, region.rows),
                    "beyond": beyond,
                }
            )
        shown = [{"y": _weights(edge.y), "z": _weights(edge.z)} for _, edge in edges.values()]
        return {
            "program": self.program.document(),
            "outputs": list(self.outputs),
            "edges": shown,
            "regions": found,
        }


def _texts(matrix: Any) -> list[list[int | str]]:
    flat, width = [text(v) for v in fractions_of(matrix)], matrix.ncols()
    return [flat[k : k + width] for k in range(0, len(flat), width)]


def _weights(weights: dict[int, Fraction]) -> dict[str, int | str]:
    return {str(i): text(y) for i, y in weights.items()}


def _bases(program: Program, region: CriticalRegion, rows: NDArray[np.object_]) -> list[dict[str, Any]]:
    """Independent tight rows with their multipliers: at each corner and ray those of one of them are not negative."""
    if len(region.independent) == len(region.tight):
        return [{"rows": list(region.independent), "multipliers": _texts(region.multipliers)}]
    found = {tuple(basis): multipliers for basis, multipliers in conic_basis(program, region, corners(rows))}
    return [{"rows": list(basis), "multipliers": _texts(multipliers)} for basis, multipliers in found.items()]
