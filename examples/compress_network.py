# %% [markdown]
# # Compress a trained network, and prove that both are equal
# A small regression network is trained on points of a square. Many of its neurons never switch on that square.
# `compress` removes them without changing the function there.

# %%
from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np

import cpwl

# %% [markdown]
# ## Train
# Two hidden layers, plain gradient descent; any framework would do (`from_torch`, `from_onnx`, `from_sklearn`).

# %%
width = int(sys.argv[1]) if len(sys.argv) > 1 else 8
rng = np.random.default_rng(4)
x = rng.uniform(-1, 1, (400, 2))
wanted = np.maximum(x[:, :1], x[:, 1:] / 2) - 0.3 * np.abs(x[:, :1] + x[:, 1:])
sizes = [2, width, width, 1]
layers = [[rng.normal(0, 1 / np.sqrt(a), (b, a)), rng.normal(0, 1, b)] for a, b in pairwise(sizes)]
for _ in range(1500):
    held = [x]
    for number, (weight, bias) in enumerate(layers):
        z = held[-1] @ weight.T + bias
        held.append(np.maximum(z, 0) if number + 1 < len(layers) else z)
    back = 2 * (held[-1] - wanted) / len(x)
    for number in reversed(range(len(layers))):
        weight, bias = layers[number]
        slope = back.T @ held[number]
        shift = back.sum(axis=0)
        back = (back @ weight) * (held[number] > 0)
        weight -= 0.05 * slope
        bias -= 0.05 * shift
network = cpwl.Network([(weight, bias) for weight, bias in layers])
error = float(np.sqrt(np.mean((network(x) - wanted) ** 2)))
print(f"trained: {network}, mean error {error:.3f}")

# %% [markdown]
# ## Compress
# The two networks are equal on the square of the training data. Outside of it they may differ.

# %%
small = cpwl.compress(network, box=(-1, 1))
before, after = small.before, small.after
print(f"{before.neurons} neurons -> {after.neurons}, {before.nonzeros} weights -> {after.nonzeros}")
print("how:", small.method)
print("proved:", small.verdict.statement)
assert small.verdict.equal
assert after.neurons <= before.neurons

# %% [markdown]
# ## Check equality
# `equal` proves that both networks are equal. If one weight changes by a billionth, it finds a point where they differ.

# %%
print(cpwl.equal(network, small.network, box=(-1, 1)).statement)
weight, bias = small.network.layers[-1]
other = cpwl.Network([*small.network.layers[:-1], (weight * (1 + 1e-9), bias)])
verdict = cpwl.equal(small.network, other, box=(-1, 1))
print("changed by a billionth:", verdict.equal, "- the largest difference is below 1e-8:", verdict.gap < 1e-8)
cpwl.extract(small.network, box=(-1, 1))

# %% [markdown]
# ## Explore both networks

# %%
cpwl.report(network, small.network, names=("trained", "compressed"), box=(-1, 1), path="compressed.html", certify=False)
