"""JAX: networks out as pure functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cpwl.doors import check_argument
from cpwl.errors import InputError, LimitError
from cpwl.formats.dense import Dtype, check_dense_size, dense_layers
from cpwl.network.network import Network

__all__ = ["to_jax"]

_LIMIT = 4 * 2**30


def to_jax(network: Network, *, dtype: Dtype = "float32") -> Callable[[Any], Any]:
    """The network as a pure function of arrays ``(..., n) -> (..., m)``, to be jitted, mapped and differentiated.

    Products are computed in the full precision of the type, on accelerators as well.

    Parameters
    ----------
    network : Network
        The network.
    dtype : {"float32", "float64"}
        The type of the weights, each rounded to nearest. float64 needs ``jax.config.update("jax_enable_x64", True)``.

    Returns
    -------
    callable
        A function of one array.
    """
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise LimitError("`to_jax` needs JAX: pip install jax") from None
    check_argument(network, Network, "to_jax")
    check_dense_size(network, dtype, _LIMIT, "that we build")
    if dtype == "float64" and not jax.config.jax_enable_x64:
        raise InputError('JAX is set to 32 bits: `jax.config.update("jax_enable_x64", True)` first, or dtype="float32"')
    layers = [(jnp.asarray(weight.T), jnp.asarray(bias)) for weight, bias in dense_layers(network, dtype)]

    def evaluate(x: Any) -> Any:
        h = jnp.asarray(x, dtype=dtype)
        for i, (weight, bias) in enumerate(layers):
            if i:
                h = jax.nn.relu(h)
            h = jnp.matmul(h, weight, precision=jax.lax.Precision.HIGHEST) + bias
        return h

    return evaluate
