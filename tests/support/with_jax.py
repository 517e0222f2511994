"""What JAX computes, in a process of its own: processes that are forked after JAX was loaded may hang.

``python -m support.with_jax``, with `tests` on the path, ends with 0 if all is right.
"""

import jax
import numpy as np
import pytest

import cpwl
from cpwl import Network
from cpwl.errors import InputError


def values() -> None:
    """Values, a batch, a gradient; float64 is refused where JAX rounds it to 32 bits."""
    rng = np.random.default_rng(0)
    made = Network([(rng.normal(size=(4, 2)), rng.normal(size=4)), (rng.normal(size=(3, 4)), rng.normal(size=3))])
    f = cpwl.io.to_jax(made)
    x = rng.standard_normal((50, 2)).astype(np.float32)
    assert np.abs(np.asarray(jax.jit(f)(x)) - made(x)).max() < 1e-5
    assert np.asarray(f(x[0])).shape == (3,)
    slope = jax.grad(lambda v: f(v)[0])(x[0])
    step = 1e-4 * np.eye(2)
    numeric = (made(x[0] + step)[:, 0] - made(x[0] - step)[:, 0]) / 2e-4
    assert np.abs(np.asarray(slope) - numeric).max() < 1e-3
    with pytest.raises(InputError, match="jax_enable_x64"):
        cpwl.io.to_jax(made, dtype="float64")


def compiled() -> None:
    """`compiled.jit(backend="jax")`: one point and many, in float32."""
    made = cpwl.compile(cpwl.CPWL.from_grid([range(3), range(4)], np.arange(12).reshape(3, 4) % 5))
    run = made.jit(precision="float32", backend="jax")
    x = np.random.default_rng(0).uniform(0, 2, (50, 2))
    assert np.abs(np.asarray(run(x)) - made(x)).max() < 1e-4
    assert np.abs(np.asarray(run(x[0])) - made(x[0])).max() < 1e-4


if __name__ == "__main__":
    values()
    compiled()
