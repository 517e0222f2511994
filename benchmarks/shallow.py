"""Networks with one hidden layer as functions: all cells of their hyperplanes, found exactly.

The paper measures its Algorithm 1 on such functions with random weights (Figure 5). Its code finds the pieces by
sampling, which misses some already for three inputs and six neurons; here none is missed.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from cpwl.errors import InputError
from cpwl.exact.integers import integer_rows, quotient
from cpwl.exact.rational import as_reals, fraction_array
from cpwl.function.cpwl import CPWL
from cpwl.function.make import polyhedra_from_integers
from cpwl.function.parts import Laws, Parts
from cpwl.geometry.bodies import solid
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.geometry.probe import Probe

__all__ = ["from_hidden_layer", "random_shallow"]


def from_hidden_layer(weight: Any, bias: Any, output: Any, constant: Any = 0) -> CPWL:
    """The function ``constant + sum_j output[j] relu(weight[j] . x + bias[j])`` with all its pieces.

    >>> from_hidden_layer([[1, 0], [0, 1]], [0, 0], [1, 1]).num_pieces
    4
    """
    hinges, scale, jump = _checked(weight, bias, output)
    dim = hinges.shape[1] - 1
    cells = _cells(hinges)
    # On a cell the neurons with sign +1 are on: h_j >= 0 is the row -a.x <= b.
    outward = np.concatenate([hinges[:, :-1], -hinges[:, -1:]], axis=1)
    pieces = [[tuple(-s * outward[j]) for j, s in enumerate(cell)] for cell in cells]
    stack = polyhedra_from_integers(pieces, dim)
    if len(hinges) and np.linalg.matrix_rank(hinges[:, :-1].astype(np.float64)) < len(hinges):
        stack = solid(stack)[1].polyhedra
    on = (np.array(cells, dtype=np.int64).reshape(len(cells), len(hinges)) > 0).astype(object)
    terms = hinges * jump[:, :1]
    below = scale * jump[:, 1]
    common = int(np.lcm.reduce(below, initial=1))
    total = on @ (terms * (common // below)[:, None]) if len(hinges) else np.zeros((1, dim + 1), dtype=object)
    extra = fraction_array(constant).item()
    total = total * extra.denominator
    total[:, -1] += extra.numerator * common
    laws = quotient(total, np.full(len(cells), common * extra.denominator, dtype=object))
    everywhere = Polyhedron(np.zeros((0, dim)), np.zeros(0))
    return CPWL.from_parts(Parts(stack, Laws.from_integer(laws[:, None]), everywhere, 0.0))


def random_shallow(dim: int, width: int, seed: int) -> CPWL:
    """A random function of the paper's kind: `width` hidden neurons with normal weights.

    In general position it has ``2^width`` pieces if ``width <= dim``, and ``width + 1`` if ``dim = 1``.

    >>> random_shallow(10, 5, seed=0).num_pieces
    32
    """
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((width, dim))
    return from_hidden_layer(weight, rng.standard_normal(width), rng.standard_normal(width))


def _checked(
    weight: Any, bias: Any, output: Any
) -> tuple[NDArray[np.object_], NDArray[np.object_], NDArray[np.object_]]:
    """Integer hinges ``(a, b) * scale`` with their scales, and the output weights as numerator, denominator."""
    slopes, slopes_exact = as_reals(weight, "weight")
    shifts, shifts_exact = as_reals(bias, "bias")
    jumps, jumps_exact = as_reals(output, "output")
    if slopes.ndim != 2 or shifts.shape != (len(slopes),) or jumps.shape != shifts.shape:
        raise InputError(
            f"`weight` must be (w, n), `bias` and `output` (w,), not {slopes.shape}, {shifts.shape}, {jumps.shape}"
        )
    ones = np.ones(len(slopes))
    rounded = slopes_exact is not None or shifts_exact is not None
    view = np.column_stack([slopes, shifts, ones])
    parts = [
        slopes if slopes_exact is None else slopes_exact,
        shifts if shifts_exact is None else shifts_exact,
    ]
    exact = np.column_stack([*(fraction_array(v) for v in parts), fraction_array(ones)]) if rounded else None
    rows = integer_rows(view, exact)
    pairs = np.column_stack([jumps, ones])
    pairs_exact = None if jumps_exact is None else np.column_stack([jumps_exact, fraction_array(ones)])
    if not slopes.any(axis=1).all():
        i = int(np.flatnonzero(~slopes.any(axis=1))[0])
        raise InputError(f"neuron {i} has no weights: it is a constant, put it into `constant`", neuron=i)
    return rows[:, :-1], rows[:, -1], integer_rows(pairs, pairs_exact)


def _cells(hinges: NDArray[np.object_]) -> list[tuple[int, ...]]:
    """Sign vectors of all cells of the hyperplanes ``a.x + b = 0``, decided in rationals."""
    count, dim = len(hinges), hinges.shape[1] - 1
    if count <= dim and _rank(hinges[:, :-1]) == count:
        return list(itertools.product((-1, 1), repeat=count))  # independent: every combination occurs
    probe = Probe(0.0)
    cells: list[tuple[int, ...]] = [()]
    for k in range(count):
        grown = [(*cell, s) for cell in cells for s in (-1, 1)]
        rows = np.concatenate([-hinges[: k + 1, :-1], hinges[: k + 1, -1:]], axis=1)
        pieces = [[tuple(s * row) for s, row in zip(cell, rows, strict=True)] for cell in grown]
        stack = polyhedra_from_integers(pieces, dim)
        cells = [cell for i, cell in enumerate(grown) if probe.interior(stack[i]) is not None]
    return cells


def _rank(rows: NDArray[np.object_]) -> int:

    return int(fmpz_mat([[int(v) for v in row] for row in rows]).rank()) if len(rows) else 0
