# %% [markdown]
# # A terrain table as an ONNX file
# Heights on a grid, linear on the triangles between them, become a float32 network with a bound on rounding errors.

# %%
from __future__ import annotations

import sys

import numpy as np

import cpwl

# %% [markdown]
# ## The table
# Two hills, in whole decimetres, at whole kilometres.

# %%
side = int(sys.argv[1]) if len(sys.argv) > 1 else 6
axis = np.arange(side)
x, y = np.meshgrid(axis / side, axis / side, indexing="ij")
heights = np.rint(
    900 * np.exp(-20 * ((x - 0.3) ** 2 + (y - 0.4) ** 2)) + 600 * np.exp(-30 * ((x - 0.7) ** 2 + (y - 0.7) ** 2))
)
terrain = cpwl.CPWL.from_grid([axis, axis], heights.astype(int))
print(terrain)

# %% [markdown]
# ## Compile for float32
# Constructions differ in their rounding errors; "auto" takes the smallest that is accurate enough.

# %%
compiled = cpwl.compile(terrain, precision="float32", max_error=1e-4)
print(f"{compiled.construction}: {compiled.sizes.neurons} neurons, {compiled.sizes.depth} layers ({compiled.reason})")
for name, other in compiled.alternatives.items():
    if other.neurons is not None:
        print(f"  {name}: {other.neurons} neurons")

# %% [markdown]
# ## Export, prove the file, compare where it was sampled

# %%
cpwl.write(terrain, "terrain.json")
cpwl.io.to_onnx(compiled.network, "terrain.onnx", dtype="float32")
exported = cpwl.io.from_onnx("terrain.onnx")
certificate = cpwl.certify(terrain, exported, rounded_from=compiled.network)
certificate.save("terrain.proof.json")
print("proved for the weights in the file:", certificate.statement)
if certificate.evaluation_bound is not None:
    print("running it in float32 adds at most", f"{certificate.evaluation_bound['float32']:.2g}", "decimetres")

points = np.random.default_rng(0).uniform(0, side - 1, (2000, 2))
seen = np.abs(exported(points) - terrain(points)).max()
print(f"largest difference at 2,000 points: {seen:.2g} decimetres")
assert seen < 1

# %% [markdown]
# ## Explore

# %%
cpwl.report(terrain, path="terrain.html", title="a terrain table", certify=False)
