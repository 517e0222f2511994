"""Explicit MPC of a pendulum that stands on its head: from the plant to one C header, stable and optimal, proved."""

import numpy as np

import cpwl

# Angle and rate, 0.1 s a step, torque as input; numbers as text are the decimals that they show.
A, B = [["1.0494", "0.1016"], ["0.9971", "1.0494"]], [["0.005"], ["0.1016"]]
plan = cpwl.mpc(A, B, Q=[[10, 0], [0, 1]], R="0.1", N=5, u=(-3, 3), x=(-1, 1))
print(plan.stability)
law = plan.solve()  # the first torque, for every state from which the constraints can be satisfied
made = cpwl.compile(law, certify=True)
print(f"{law.num_pieces} regions -> {made.sizes.neurons} neurons; {made.certificate.statement}")
code = cpwl.io.to_c(made, "pendulum.h")
print(code)
print("each value is within", code.error_bound, "of the exact one")
x = np.array([0.1, -0.2])
for _ in range(40):
    x = np.array(A, dtype=float) @ x + np.array(B, dtype=float) @ code(x)
print("after 4 seconds the state is", np.round(x, 6) + 0.0)
