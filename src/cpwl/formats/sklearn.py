"""scikit-learn's `MLPRegressor`, by its weights; scikit-learn itself is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpwl.errors import InputError
from cpwl.network.network import Network
from cpwl.network.program import Tape, network_of

__all__ = ["from_sklearn"]


def from_sklearn(model: Any) -> Network:
    """The network of a fitted `MLPRegressor` with activation "relu" or "identity".

    Only the attributes `coefs_`, `intercepts_`, `activation` and `out_activation_` are looked at. Weights are
    taken at their exact value; layers without an activation between them become one, in rationals.

    Parameters
    ----------
    model : MLPRegressor
        The fitted model.

    Returns
    -------
    Network
        A plain chain of affine maps with ReLU between.

    Examples
    --------
    >>> class Fitted:
    ...     activation, out_activation_ = "relu", "identity"
    ...     coefs_ = [[[1.0, -1.0]], [[1.0], [1.0]]]
    ...     intercepts_ = [[0.0, 0.0], [0.0]]
    >>> from_sklearn(Fitted())([[-3.0]])
    array([[3.]])
    """
    kind = type(model).__name__
    if not hasattr(model, "coefs_") or not hasattr(model, "intercepts_"):
        raise InputError(f"a {kind} without `coefs_` and `intercepts_` is no fitted MLPRegressor; call `.fit` first")
    activation, last = getattr(model, "activation", "relu"), getattr(model, "out_activation_", "identity")
    if activation not in ("relu", "identity"):
        raise InputError(f'the activation of this {kind} is "{activation}"; only "relu" and "identity" are read')
    if last not in ("relu", "identity"):
        raise InputError(
            f'this {kind} ends with "{last}", which is not piecewise linear; a regressor ends with "identity"'
        )
    pairs = list(zip(model.coefs_, model.intercepts_, strict=False))
    if not pairs or len(model.coefs_) != len(model.intercepts_):
        counts = f"{len(model.coefs_)} matrices and {len(model.intercepts_)} offsets"
        raise InputError(f"this {kind} has {counts}; there must be one of each a layer")
    layers = [(_weight(coefficients).T, np.asarray(offset, dtype=np.float64)) for coefficients, offset in pairs]
    network = Network(layers)  # checks that the shapes fit
    return network if activation == "relu" and last == "identity" else _without(network, activation, last)


def _weight(coefficients: Any) -> Any:
    weight = np.asarray(coefficients, dtype=np.float64)
    if weight.ndim != 2:
        raise InputError(f"`coefs_` must hold matrices, not an array of shape {weight.shape}")
    return weight


def _without(network: Network, activation: str, last: str) -> Network:
    """The network with other activations than ReLU between all layers."""
    tape = Tape(network.inputs)
    x = tape.input((network.inputs,))
    for i, (weight, bias) in enumerate(network.layers):
        x = x.linear(weight, (len(bias),)).plus(bias)
        if (last if i == len(network.layers) - 1 else activation) == "relu":
            x = tape.relu(x)
    return network_of(tape, x)
