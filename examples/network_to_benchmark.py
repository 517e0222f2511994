"""A trained network as a benchmark for verifiers, with the truth about every query."""

import warnings

import numpy as np
from sklearn.neural_network import MLPRegressor

import cpwl

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (2000, 2))
y = np.sin(3 * x[:, 0]) * np.cos(2 * x[:, 1])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a rough fit will do
    model = MLPRegressor(hidden_layer_sizes=(12, 8), max_iter=300, random_state=0).fit(x, y)

network = cpwl.io.from_sklearn(model)
bench = cpwl.io.to_vnnlib(network, "benchmark", box=(-1, 1))
for query in bench.queries:
    print(f"{query.name}: {query.answer}, the exact value is about {float(query.value):.9f}")
    if query.witness is not None:
        print("  attained at", [round(float(v), 6) for v in query.witness])

pruned = cpwl.simplify(network, box=(-1, 1))
same = cpwl.io.to_vnnlib(network, "equivalence", box=(-1, 1), against=pruned)
print(f"{network} and {pruned}: {[query.answer for query in same.queries]}")
