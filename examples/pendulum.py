# %% [markdown]
# # Explicit control of an inverted pendulum
# A motor of limited torque keeps a pendulum upright. Model-predictive control plans some steps ahead and picks the
# torque with the least cost. Solved once for all states, the law is a piecewise-linear function of the angle and its
# rate. This script solves it, compiles it, proves it, exports C code, and runs the closed loop.

# %%
from __future__ import annotations

from fractions import Fraction

import numpy as np

import cpwl

# %% [markdown]
# ## The control problem
# Angle and rate after a time step, linearised around the upright position. Rationals avoid rounding.

# %%
STEPS, LIMIT = 3, Fraction(1)  # how far ahead, and the largest torque
A = np.array([[1, Fraction(1, 10)], [Fraction(1, 2), 1]], dtype=object)
B = np.array([[0], [Fraction(1, 4)]], dtype=object)
COST, END, PRICE = np.diag([Fraction(4), Fraction(1)]), np.diag([Fraction(20), Fraction(8)]), Fraction(1, 10)

plan = cpwl.mpc(A, B, COST, [[PRICE]], STEPS, u=(-LIMIT, LIMIT), x0=(["-1/2", -1], ["1/2", 1]), P=END, terminal=None)

# %% [markdown]
# ## Solve
# `solve` finds all regions, in rationals, and proves that none is missing.

# %%
law = plan.solve()
print(f"the law: {law}")

# %% [markdown]
# ## Compile and prove

# %%
compiled = cpwl.compile(law)
print(f"{law.num_pieces} regions -> {compiled.sizes.neurons} neurons in {compiled.sizes.depth} layers")
print("proved:", cpwl.certify(law, compiled.network).statement)
cpwl.write(law, "pendulum.json")
cpwl.io.to_onnx(compiled.network, "pendulum.onnx")
certificate = cpwl.certify(law, cpwl.io.from_onnx("pendulum.onnx"), rounded_from=compiled.network)
print("proved for the weights in the file:", certificate.statement)
certificate.save("pendulum.proof.json")

# %% [markdown]
# ## C for the motor controller

# %%
code = cpwl.io.to_c(law, "pendulum.h", outside="clip")
print(f"pendulum.h: off by at most {float(code.error_bound):.1e} on the domain, proved")

# %% [markdown]
# ## The loop
# The network stabilises the nonlinear pendulum, and so does the C code.

# %%
for name, controller in {"network": compiled.network, "C code": code}.items():
    angle, rate = 0.2, 0.1
    for _ in range(60):
        torque = float(np.ravel(controller(np.array([[angle, rate]])))[0])
        rate += 0.5 * np.sin(angle) + 0.25 * torque
        angle += 0.1 * rate
    print(f"{name}: after 60 steps the angle is {angle:.4f}")
    assert abs(angle) < 0.01

# %% [markdown]
# ## Explore

# %%
cpwl.report(law, path="pendulum.html", title="control of an inverted pendulum", certify=False)
