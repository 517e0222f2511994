"""Networks as compiled functions: by numba, layer by layer over the nonzero weights, or by JAX, with dense layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cpwl.errors import InputError, LimitError
from cpwl.network.network import Network, rounded


def jit(network: Network, dtype: str = "float64", backend: str = "auto") -> Callable[[Any], Any]:
    """The network as a compiled function ``(N, n) -> (N, m)`` in float64 or float32; one point ``(n,) -> (m,)``.

    "numba" is the fastest on a CPU, for one point and for networks with few nonzero weights; "jax" runs on
    accelerators. "auto" takes the first of these that is installed.
    """
    if dtype not in ("float64", "float32"):
        raise InputError(f'`dtype` must be "float64" or "float32", not {dtype!r}')
    known = ("numba", "jax")
    if backend not in ("auto", *known):
        raise InputError(f'`backend` must be "auto", "numba" or "jax", not {backend!r}')
    found = next((name for name in known if backend in ("auto", name) and find_spec(name) is not None), None)
    if found is None:
        wanted = "numba or jax" if backend == "auto" else backend
        raise LimitError(f"`jit` needs {wanted}, which is not installed: pip install {wanted.split(' ', 1)[0]}")
    network = rounded(network, dtype)
    return _numba(network, dtype) if found == "numba" else _jax(network, dtype)


def jax_function(layers: Sequence[tuple[NDArray[Any], NDArray[Any]]], dtype: str) -> Callable[[Any], Any]:
    """The pure function of dense layers in JAX; products in the full precision of the type."""
    import jax
    import jax.numpy as jnp

    if dtype == "float64" and not jax.config.jax_enable_x64:
        raise InputError('JAX is set to 32 bits: `jax.config.update("jax_enable_x64", True)` first, or dtype="float32"')
    held = [(jnp.asarray(weight.T), jnp.asarray(bias)) for weight, bias in layers]

    def evaluate(x: Any) -> Any:
        h = jnp.asarray(x, dtype=dtype)
        for i, (weight, bias) in enumerate(held):
            if i:
                h = jax.nn.relu(h)
            h = jnp.matmul(h, weight, precision=jax.lax.Precision.HIGHEST) + bias
        return h

    return evaluate


def _jax(network: Network, dtype: str) -> Callable[[Any], Any]:
    import jax

    layers = [(weight.toarray().astype(dtype), bias.astype(dtype)) for weight, bias in network.layers]
    compiled: Callable[[Any], Any] = jax.jit(jax_function(layers, dtype))
    return compiled


def _numba(network: Network, dtype: str) -> Callable[[Any], Any]:
    import numba

    layers = network.layers
    rows = np.array([len(bias) for _, bias in layers], dtype=np.int64)
    starts = np.cumsum([0, *(weight.nnz for weight, _ in layers)])
    ends = [weight.indptr[1:] + start for (weight, _), start in zip(layers, starts, strict=False)]
    indptr = np.concatenate([[0], *ends]).astype(np.int64)
    indices = np.concatenate([weight.indices for weight, _ in layers]).astype(np.int64)
    data = np.concatenate([weight.data for weight, _ in layers]).astype(dtype)
    bias = np.concatenate([bias for _, bias in layers]).astype(dtype)
    width = max(network.inputs, int(rows.max()))
    run = numba.njit(cache=False)(_run)
    n, m = network.inputs, network.outputs

    def evaluate(x: ArrayLike) -> NDArray[Any]:
        points = np.ascontiguousarray(x, dtype=dtype)
        if points.ndim not in (1, 2) or points.shape[-1] != n:
            raise InputError(f"`x` has shape {points.shape}, but this network takes points of {n} coordinates")
        many = points.reshape(-1, n)
        found = np.empty((len(many), m), dtype=dtype)
        run(many, rows, indptr, indices, data, bias, np.empty((2, width), dtype=dtype), found)
        return found[0] if points.ndim == 1 else found

    return evaluate


def _run(x: Any, rows: Any, indptr: Any, indices: Any, data: Any, bias: Any, held: Any, found: Any) -> None:
    """One point after the other; `held` has the values of the layer below and of this one."""
    last = len(rows) - 1
    for p in range(len(x)):
        below, at = 0, 0
        for j in range(x.shape[1]):
            held[0, j] = x[p, j]
        for l in range(len(rows)):
            for i in range(rows[l]):
                total = bias[at + i]
                for k in range(indptr[at + i], indptr[at + i + 1]):
                    total += data[k] * held[below, indices[k]]
                held[1 - below, i] = total if l == last or total > 0 else 0
            at += rows[l]
            below = 1 - below
        for j in range(found.shape[1]):
            found[p, j] = held[below, j]
