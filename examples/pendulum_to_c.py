# %% [markdown]
# # From a plant to a C header
# An inverted pendulum with steps of 0.1 s: the state is angle and rate, the input is a torque. Numbers given as text
# are exact decimals. `pendulum_to_c.ipynb` is this script with its output.

# %%
import numpy as np

import cpwl

A, B = [["1.0494", "0.1016"], ["0.9971", "1.0494"]], [["0.005"], ["0.1016"]]
plan = cpwl.mpc(A, B, Q=[[10, 0], [0, 1]], R="0.1", N=5, u=(-3, 3), x=(-1, 1))
print(plan.stability)

# %% [markdown]
# The law is the first torque, for every state from which the constraints can be satisfied. No region is missing, and
# the certificate says that the network is the optimiser.

# %%
law = plan.solve()
made = cpwl.compile(law, certify=True)
print(f"{law.num_pieces} regions -> {made.sizes.neurons} neurons; {made.certificate.statement}")

# %% [markdown]
# One header, and a program `pendulum_test.c` that compares it with 100 vectors and prints PASS.

# %%
code = cpwl.io.to_c(made, "pendulum.h", test=True)
print(code)
print("each value is within", code.error_bound, "of the exact one")

# %% [markdown]
# The closed loop with the values of the C code, bit for bit. `cpwl.report(law, plant=plan)` shows it on a page.

# %%
x = np.array([0.1, -0.2])
for _ in range(40):
    x = np.array(A, dtype=float) @ x + np.array(B, dtype=float) @ code(x)
print("after 4 seconds the state is", np.round(x, 6) + 0.0)
