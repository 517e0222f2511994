# %% [markdown]
# # A lookup table as an ONNX file, with a proof
# A table from a CSV file becomes a float32 ONNX model. Decimals are read exactly. The distance between the table and
# the weights in the file is proved.

# %%
from pathlib import Path

import numpy as np

import cpwl

# %% [markdown]
# ## The table
# A table from a test bench: speed, load, and the measured torque. The first line has names and units.

# %%
speeds, loads = range(7), range(5)
rows = [f"{s / 10:.1f},{load / 4:.2f},{round(np.sin(s / 2) * load, 2)}" for s in speeds for load in loads]
Path("torque.csv").write_text("speed [krpm],load,torque [Nm]\n" + "\n".join(rows))
table = cpwl.io.from_csv("torque.csv")  # 0.1 is one tenth, so that the grid is even
table

# %% [markdown]
# ## The network
# `compile` chooses a construction that is accurate in float32 and writes the weights in float32.

# %%
made = cpwl.compile(table, precision="float32", certify=True, weights="float32")
print(f"{table.num_pieces} triangles -> {made.sizes.neurons} neurons ({made.construction})")
cpwl.io.to_onnx(made.network, "torque.onnx", dtype="float32", batch="N")

# %% [markdown]
# ## The proof
# The proof is about the weights in the file. Evaluation in float32 adds a rounding error with a separate bound.

# %%
written = cpwl.io.from_onnx("torque.onnx")
certificate = cpwl.certify(table, written, rounded_from=made.network)
print("proved for the weights in torque.onnx:", certificate.statement)
print("running the file in float32 adds at most", certificate.evaluation_bound["float32"])
for point in ([0.25, 0.6], [0.6, 1.0]):
    print(f"at {point}: the table says {table(point)[0]:.6f}, the network {written(point)[0]:.6f}")
