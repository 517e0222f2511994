"""Explicit MPC of a pendulum that stands on its head: PPOPT solves it, and the law becomes one C header, proved."""

import numpy as np
from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp
from ppopt.mpqp_program import MPQP_Program
from scipy.linalg import expm, solve_discrete_are

import cpwl

# Angle and rate, 0.1 s a step, torque as input; the sum of x'x + 0.01 u^2 over 5 steps, and what is left then.
steps, weight = 5, 0.01
M = expm(0.1 * np.array([[0.0, 1, 0], [9.8, 0, 1], [0, 0, 0]]))
A, B = M[:2, :2], M[:2, 2:]
final = solve_discrete_are(A, B, np.eye(2), [[weight]])
powers = [np.linalg.matrix_power(A, k) for k in range(steps + 1)]
free = np.vstack(powers[1:])
effect = np.block([[powers[i - j] @ B if j <= i else np.zeros((2, 1)) for j in range(steps)] for i in range(steps)])
cost = np.kron(np.eye(steps), np.eye(2))
cost[-2:, -2:] = final
Q, H = effect.T @ cost @ effect + weight * np.eye(steps), effect.T @ cost @ free
torque, box = np.vstack([np.eye(steps), -np.eye(steps)]), np.vstack([np.eye(2), -np.eye(2)])
bounds, none = np.full((2 * steps, 1), 3.0), np.zeros((2 * steps, 2))
program = MPQP_Program(torque, bounds, np.zeros((steps, 1)), H, (Q + Q.T) / 2, box, np.ones((4, 1)), none)
solution = solve_mpqp(program, mpqp_algorithm.combinatorial)

law = cpwl.io.from_ppopt(solution, outputs=0)  # the first torque, exactly as the active sets say
made = cpwl.compile(law, certify=True)
print(f"{law.num_pieces} regions -> {made.sizes.neurons} neurons; {made.certificate.statement}")
code = cpwl.io.to_c(made, "pendulum.h", outside="clip")
print(code)
print("each value is within", code.error_bound, "of the exact one")
x = np.array([0.3, -0.2])
for _ in range(40):
    x = A @ x + B @ code(x)
print("after 4 seconds the state is", np.round(x, 6) + 0.0)
