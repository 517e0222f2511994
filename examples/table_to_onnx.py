"""A lookup table from a CSV file as a float32 ONNX model: exact decimals in, a proved distance out."""

from pathlib import Path

import numpy as np

import cpwl

# A table as it comes from a test bench: speed, load, and the torque that was measured.
speeds, loads = range(7), range(5)
rows = [f"{s / 10:.1f},{load / 4:.2f},{round(np.sin(s / 2) * load, 2)}" for s in speeds for load in loads]
Path("torque.csv").write_text("speed,load,torque\n" + "\n".join(rows))

table = cpwl.io.from_csv("torque.csv")  # 0.1 is one tenth, so that the grid is even
made = cpwl.compile(table, precision="float32", certify=True, weights="float32")
print(f"{table.num_pieces} triangles -> {made.sizes.neurons} neurons ({made.construction})")
cpwl.io.to_onnx(made.network, "torque.onnx", dtype="float32", batch="N")

written = cpwl.io.from_onnx("torque.onnx")
certificate = cpwl.certify(table, written, rounded_from=made.network)
print("proved for the weights in torque.onnx:", certificate.statement)
print("running the file in float32 adds at most", certificate.evaluation_bound["float32"])
for point in ([0.25, 0.6], [0.6, 1.0]):
    print(f"at {point}: the table says {table(point)[0]:.6f}, the network {written(point)[0]:.6f}")
