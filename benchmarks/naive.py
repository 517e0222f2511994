"""Algorithm 1 as one would write it down from the paper: the baseline that our run times are compared with.

One call of `scipy.optimize.linprog` for each decision (piece, component), floats only, and dense layers put
together block by block. It is kept plain on purpose; nothing but benchmarks and tests should use it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import linprog

from cpwl.errors import InputError, SolverError
from cpwl.function import CPWL

__all__ = ["is_above", "naive"]

Array: TypeAlias = NDArray[np.float64]
Dense: TypeAlias = list[tuple[Array, Array]]

# What a decision by floats lets pass as "f_j >= p".
_SLACK = 1e-9


def naive(p: CPWL) -> Dense:
    """Algorithm 1 for a function with one output: dense layers ``(W, b)`` with a ReLU between any two.

    >>> layers = naive(CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    >>> [W.shape[0] for W, _ in layers]
    [3, 1]
    """
    if p.outputs != 1:
        raise InputError(f"the paper's Algorithm 1 is for one output, not {p.outputs}", outputs=p.outputs)
    laws = p.laws.coefficients()[:, 0]
    components = _distinct(laws)
    minima = []
    # Loops over pieces and components as printed: they are what the rest of the package is measured against.
    for piece, law in zip(p.polyhedra, laws, strict=True):
        above = [f for f in components if is_above(f - law, piece.A, piece.b)]
        minima.append(_extremum(np.array(above), minimum=True))
    q = len(minima)
    maximum = _extremum(np.column_stack([np.eye(q), np.zeros(q)]), minimum=False)
    return _end_to_end(_side_by_side(minima), maximum)


def _distinct(laws: Array) -> list[Array]:
    """Step 1, for laws that are known: each law that is not among those before it (end of Algorithm 6)."""
    found: list[Array] = []
    for law in laws:
        if not any(np.allclose(law, f, rtol=_SLACK, atol=_SLACK) for f in found):
            found.append(law)
    return found


def is_above(law: Array, A: Array, b: Array) -> bool:
    """Step 5: whether ``law >= 0`` where ``A x <= b``, by one linear program."""
    # Typed as Any: stubs and releases of scipy disagree on what the result has.
    result: Any = linprog(
        law[:-1], A_ub=A if len(A) else None, b_ub=b if len(A) else None, bounds=(None, None), method="highs"
    )
    if result.status == 0:
        return bool(result.fun + law[-1] >= -_SLACK)
    # A piece is not empty, so "infeasible or unbounded" (4) can only mean unbounded (3).
    if result.status in (3, 4):
        return False
    raise SolverError(f"linprog failed on a decision of Algorithm 1: {result.message}", status=result.status)


def _extremum(f: Array, minimum: bool) -> Dense:
    """Algorithm 2: the maximum or minimum of the affine functions ``f[i] = (gradient, offset)``."""
    compare, add = np.array([[-1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]]), np.array([[1.0, 1.0, -1.0]])
    split = np.array([[1.0], [-1.0]])
    W, b = f[:, :-1], f[:, -1]
    layers: Dense = []
    while len(W) > 1:
        pairs, odd = divmod(len(W), 2)
        left = block_diag(*[compare] * pairs, *[split] * odd)
        layers.append((left @ W, left @ b))
        W = block_diag(*[add] * pairs, *[split.T] * odd)
        b = np.zeros(len(W))
    layers.append((W, b))
    if minimum and len(layers) > 1:
        layers[0] = (-layers[0][0], -layers[0][1])
        layers[-1] = (-layers[-1][0], -layers[-1][1])
    return layers


def _side_by_side(networks: list[Dense]) -> Dense:
    """Algorithm 3: networks on the same input, the shallow ones followed by an identity."""
    depth = max(map(len, networks))
    padded = [_end_to_end(g, _identity(depth - len(g) + 1)) for g in networks]
    weights = [np.concatenate([g[0][0] for g in padded])]
    weights += [block_diag(*[g[i][0] for g in padded]) for i in range(1, depth)]
    return [(W, np.concatenate([g[i][1] for g in padded])) for i, W in enumerate(weights)]


def _end_to_end(first: Dense, second: Dense) -> Dense:
    """Algorithm 4: the composition of two networks, their adjoining layers made one."""
    (V, a), (W, b) = first[-1], second[0]
    return [*first[:-1], (W @ V, W @ a + b), *second[1:]]


def _identity(depth: int) -> Dense:
    """Algorithm 5: the identity on R with `depth` layers."""
    if depth == 1:
        return [(np.eye(1), np.zeros(1))]
    split = np.array([[1.0], [-1.0]])
    middle = [(split @ split.T, np.zeros(2))] * (depth - 2)
    return [(split, np.zeros(2)), *middle, (split.T, np.zeros(1))]
