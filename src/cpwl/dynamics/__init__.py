"""Piecewise-linear dynamics: loops closed by a control law, steps, equilibria, Lyapunov functions, invariant sets."""
