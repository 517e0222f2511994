"""scikit-learn's regressors by their weights; a plain loop over layers is the oracle."""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from cpwl.errors import InputError
from cpwl.io.weights import from_sklearn


def fitted(sizes, seed=0, **attributes):
    """What a fitted `MLPRegressor` has, with random weights."""
    rng = np.random.default_rng(seed)
    coefs = [rng.normal(size=pair) for pair in pairwise(sizes)]
    intercepts = [rng.normal(size=size) for size in sizes[1:]]
    known = {"activation": "relu", "out_activation_": "identity"}
    return SimpleNamespace(coefs_=coefs, intercepts_=intercepts, **{**known, **attributes})


def predict(model, x):
    """The forward pass as scikit-learn writes it: ``h @ coefs + intercepts``, activation between layers."""
    for i, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        x = x @ weight + bias
        if i < len(model.coefs_) - 1 and model.activation == "relu":
            x = np.maximum(x, 0)
    return x


@pytest.mark.parametrize("activation", ["relu", "identity"])
@pytest.mark.parametrize("sizes", [(3, 1), (3, 5, 2), (2, 4, 4, 1)])
def test_computes_the_forward_pass(activation, sizes):
    """The network gives the values of the model, up to float64 rounding."""
    model = fitted(sizes, activation=activation)
    x = np.random.default_rng(1).normal(size=(30, sizes[0]))
    np.testing.assert_allclose(from_sklearn(model)(x), predict(model, x), rtol=0, atol=1e-12)


def test_weights_are_read_bit_for_bit():
    """Layers are the coefficients, transposed, and nothing else."""
    model = fitted((3, 5, 2))
    network = from_sklearn(model)
    assert network.exact is None
    for (weight, bias), coefs, intercepts in zip(network.layers, model.coefs_, model.intercepts_, strict=True):
        assert (weight.toarray() == coefs.T).all()
        assert (bias == intercepts).all()


def test_identity_layers_multiply_exactly():
    """Without activation the layers become one, in rationals."""
    model = fitted((1, 1, 1), activation="identity")
    network = from_sklearn(model)
    (a,), (b,) = (c.ravel().tolist() for c in model.coefs_)
    assert network.sizes.depth == 1
    assert network(["1"])[0] - network(["0"])[0] == Fraction(a) * Fraction(b)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SimpleNamespace(), "is not a fitted MLP"),
        (fitted((2, 2, 1), activation="tanh"), 'the activation of this SimpleNamespace is "tanh"'),
        (fitted((2, 2, 1), out_activation_="tanh"), 'ends with "tanh"'),
        (SimpleNamespace(coefs_=[], intercepts_=[]), "0 matrices and 0 offsets"),
        (SimpleNamespace(coefs_=[[1.0]], intercepts_=[[0.0]]), "must hold matrices"),
        (
            SimpleNamespace(coefs_=[np.ones((2, 3)), np.ones((2, 1))], intercepts_=[np.ones(3), np.ones(1)]),
            "layer 2 takes 2 inputs",
        ),
    ],
)
def test_refuses_other_models(model, message):
    """Models that are not fitted, or bend smoothly, are refused in one sentence."""
    with pytest.raises(InputError, match=message):
        from_sklearn(model)


def test_the_real_thing():
    """scikit-learn's own predictions, where it is installed."""
    neural_network = pytest.importorskip("sklearn.neural_network")
    x = np.random.default_rng(0).normal(size=(60, 2))
    model = neural_network.MLPRegressor(
        hidden_layer_sizes=(5, 4), max_iter=500, tol=1e-2, random_state=0, early_stopping=True
    ).fit(x, x[:, 0] * x[:, 1])
    np.testing.assert_allclose(from_sklearn(model)(x)[:, 0], model.predict(x), atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_logits_of_a_classifier(classes):
    """The largest logit is the class that scikit-learn predicts; with two classes its sign is."""
    neural_network = pytest.importorskip("sklearn.neural_network")
    x = np.random.default_rng(0).normal(size=(60, 2))
    labels = (x[:, 0] > 0).astype(int) + (classes == 3) * (x[:, 1] > 1)
    model = neural_network.MLPClassifier(
        hidden_layer_sizes=(5, 4), max_iter=500, tol=1e-2, random_state=0, early_stopping=True
    ).fit(x, labels)
    logits = from_sklearn(model)(x)
    found = logits.argmax(axis=1) if classes == 3 else (logits[:, 0] > 0).astype(int)
    assert (model.classes_[found] == model.predict(x)).all()
