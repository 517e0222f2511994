"""Trees jump: the largest jump is found, where it is; trees that do not jump are functions."""

from types import SimpleNamespace

import numpy as np
import pytest

from cpwl.errors import InputError
from cpwl.io.scipy import from_tree

trees = pytest.importorskip("sklearn.tree")


def slow_jump(model, points):
    """The largest jump that is seen when crossing thresholds near random points."""
    tree, best = model.tree_, 0.0
    for node in np.flatnonzero(tree.children_left != tree.children_right):
        for point in points:
            below, above = point.copy(), point.copy()
            below[tree.feature[node]] = tree.threshold[node]
            above[tree.feature[node]] = tree.threshold[node] + 1e-5
            best = max(best, abs(np.ptp(model.predict(np.array([below, above], dtype=np.float32)))))
    return best


@pytest.mark.parametrize("seed", range(3))
def test_decision_trees_are_refused(seed):
    """With a jump that is there, and no smaller than any that a search finds."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (60, 2))
    model = trees.DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(x, x[:, 0] * x[:, 1] + x[:, 0])
    with pytest.raises(InputError, match=r"is not continuous: the largest jump is .* at x = \(") as caught:
        from_tree(model)
    size, at = caught.value.details["size"], caught.value.details["point"]
    assert size >= slow_jump(model, x) - 1e-9
    around = at + 1e-5 * np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    assert np.ptp(model.predict(around)) >= size - 1e-9


def test_trees_of_one_value_are_functions():
    """A single leaf, and leaves of equal values."""
    x = np.arange(4.0)[:, None]
    p = from_tree(trees.DecisionTreeRegressor().fit(x, np.full(4, 7.0)))
    assert p.num_pieces == 1
    assert p([[100.0]])[0, 0] == 7


def linear_tree(models, threshold=0.0):
    """What linear-tree holds of a tree with one split of the first of two features."""
    leaves = {
        side: SimpleNamespace(
            threshold=[(0, side, threshold)], model=SimpleNamespace(coef_=np.array(coef), intercept_=shift)
        )
        for side, (coef, shift) in zip("LR", models, strict=True)
    }
    return SimpleNamespace(_leaves=leaves, _nodes={}, n_features_in_=2)


def test_linear_leaves_that_fit_are_functions():
    """|x| and a slope in the other coordinate."""
    p = from_tree(linear_tree([([-1.0, 2.0], 0.0), ([1.0, 2.0], 0.0)]))
    assert p.doctor().healthy
    np.testing.assert_allclose(p([[-3.0, 1.0], [2.0, 0.0]])[:, 0], [5, 2])


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([([0.0, 1.0], 0.0), ([0.0, 1.0], 2.5)], "the largest jump is 2.5, at x = "),
        ([([0.0, 1.0], 0.0), ([0.0, 3.0], 0.0)], "differ by more and more"),
    ],
)
def test_linear_leaves_that_jump(models, message):
    """By a constant, or without bound."""
    with pytest.raises(InputError, match=message):
        from_tree(linear_tree(models))


def test_others_are_refused():
    """Forests, classifiers, and what is no tree."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    x, y = np.arange(8.0)[:, None], np.arange(8)
    with pytest.raises(InputError, match="a sum of many trees"):
        from_tree(ensemble.RandomForestRegressor(3).fit(x, y))
    with pytest.raises(InputError, match="gives classes"):
        from_tree(trees.DecisionTreeClassifier().fit(x, y))
    with pytest.raises(InputError, match="takes a fitted DecisionTreeRegressor"):
        from_tree(7)
