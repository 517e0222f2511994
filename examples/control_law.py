"""An explicit-MPC law as a network: load its regions, compile, export, and prove how close the export comes."""

import sys
from importlib.resources import files

import numpy as np

import cpwl

bundled = files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")
law = cpwl.read(sys.argv[1] if len(sys.argv) > 1 else str(bundled))
network = cpwl.compile(law).network
print(f"{law.num_pieces} regions -> {network.sizes.neurons} neurons in {network.sizes.depth} layers: law.onnx")
cpwl.io.to_onnx(network, "law.onnx")

# The weights are read back, so that the proof is about the file.
certificate = cpwl.certify(law, cpwl.io.from_onnx("law.onnx"), rounded_from=network)
certificate.save("law.proof.json")
print("proved for the weights in law.onnx:", certificate.statement)
if certificate.evaluation_bound is not None:
    print("running the file, in float64, adds at most", certificate.evaluation_bound["float64"])

for state in np.linspace([-3.0, 1.0], [1.0, -0.5], 5):
    print(f"at {state}: the law says {law(state)[0]:.6f}, the network {network(state)[0]:.6f}")
