# %% [markdown]
# # Explicit control of an inverted pendulum
# A pendulum stands on its head; a motor of limited torque keeps it there. Model-predictive control looks some steps
# ahead and picks the torque that costs least. Solved once for all states, that is a piecewise-linear function of the
# angle and its rate: solve, compile, prove, export C, and run the loop.

# %%
from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

import cpwl

# %% [markdown]
# ## The control problem
# Angle and rate after a time step, linearised around the upright position, in rationals so that nothing is rounded.

# %%
STEPS, LIMIT = 3, Fraction(1)  # how far ahead, and the largest torque
A = np.array([[1, Fraction(1, 10)], [Fraction(1, 2), 1]], dtype=object)
B = np.array([[0], [Fraction(1, 4)]], dtype=object)
COST, END, PRICE = np.diag([Fraction(4), Fraction(1)]), np.diag([Fraction(20), Fraction(8)]), Fraction(1, 10)

# States after k steps are `free[k] x + forced[k] u`: the cost is a quadratic function of the torques u.
free, forced = [np.eye(2, dtype=object)], [np.zeros((2, STEPS), dtype=object)]
for k in range(STEPS):
    free.append(A @ free[-1])
    forced.append(A @ forced[-1])
    forced[-1][:, k : k + 1] += B
weights = [COST] * STEPS + [END]
Q = sum(g.T @ w @ g for g, w in zip(forced, weights, strict=True)) + PRICE * np.eye(STEPS, dtype=object)
H = sum(g.T @ w @ f for g, w, f in zip(forced, weights, free, strict=True))
rows = np.concatenate([np.eye(STEPS, dtype=int), -np.eye(STEPS, dtype=int)])
program = {
    "Q": Q,
    "H": H,
    "c": [0] * STEPS,
    "A": rows,
    "b": [LIMIT] * (2 * STEPS),
    "F": np.zeros((2 * STEPS, 2), dtype=int),
    "A_t": [[1, 0], [-1, 0], [0, 1], [0, -1]],
    "b_t": ["1/2", "1/2", 1, 1],
}

# %% [markdown]
# ## Solve
# Each torque is at its upper limit, at its lower limit, or free: 27 candidates, most of which are optimal nowhere. We
# keep those that are optimal at some state of a grid; if one were missing, the doctor would find the gap.


# %%
def active_at(x: np.ndarray) -> tuple[int, ...]:
    """Which limits the best torques at a state touch: the one candidate that satisfies all conditions of optimality."""
    for at in itertools.product((0, 1, -1), repeat=STEPS):
        bound = np.array(at, dtype=float) * float(LIMIT)
        inner = [k for k in range(STEPS) if not at[k]]
        u, slope, cost = bound.copy(), H.astype(float) @ x, Q.astype(float)
        if inner:
            right = -(slope + cost @ bound)[inner]
            u[inner] = np.linalg.solve(cost[np.ix_(inner, inner)], right)
        pull = -(cost @ u + slope)
        if (abs(u) <= float(LIMIT) + 1e-9).all() and all(pull[k] * at[k] > -1e-9 for k in range(STEPS) if at[k]):
            return tuple(k if at[k] > 0 else k + STEPS for k in range(STEPS) if at[k])
    raise AssertionError("no candidate is optimal")


axis = np.linspace(-1, 1, 41)
sets = sorted({active_at(np.array([a / 2, b])) for a in axis for b in axis})
law = cpwl.io.from_active_sets(program, sets, outputs=0)
assert law.doctor().healthy, law.doctor()
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
# The network holds the pendulum, and so does the C code; the pendulum itself is the nonlinear one.

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
# ## Look

# %%
cpwl.report(law, path="pendulum.html", title="control of an inverted pendulum", prove=False)
