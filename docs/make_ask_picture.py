"""Draws docs/ask.png: the double integrator under its explicit-MPC law, stepped in three ways that coincide.

Pieces: the function of one step, in rationals. Network: the closed loop as one ReLU network, in float64. Simulation:
``A x + B u(x)`` with the law as the solver has exported it. Behind them the pieces of the law of six steps.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import cpwl
from cpwl.exact.rational import fraction_array
from cpwl.function.algebra.arithmetic import pieces_of

A, B = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[0.0], [1.0]])
ROWS = [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]
SAFE = ROWS + [[-a, -b] for a, b in ROWS], [5, 5, 6, 8, 11] * 2
STARTS = [["-4", "-1"], ["5", "0"], ["-5", "2"], ["2", "3/2"], ["-1", "-2"], ["1", "-5/2"]]
STEPS = 12


def paths() -> dict[str, NDArray[np.float64]]:
    """Trajectories ``(steps, starts, 2)``, by pieces, by the network and by simulation."""
    raw = cpwl.read(str(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json")))
    law = raw.snap(1e-9).function
    loop = cpwl.dynamics.closed_loop(A, B, law)
    network = cpwl.dynamics.closed_loop(A, B, cpwl.compile(law).network)
    x, y, z = fraction_array(STARTS), fraction_array(STARTS).astype(float), fraction_array(STARTS).astype(float)
    found: dict[str, list[NDArray[np.float64]]] = {"pieces": [], "network": [], "simulation": []}
    for _ in range(STEPS + 1):
        for name, at in zip(found, (x.astype(float), y, z), strict=True):
            found[name].append(at)
        x, y, z = loop(x), network(y), z @ A.T + raw(z) @ B.T
    return {name: np.array(steps) for name, steps in found.items()}


def corners(body: int, bodies: object) -> NDArray[np.float64]:
    """The corners of a polygon in order."""
    places = bodies.places[bodies.spans.of_piece(body)]  # type: ignore[attr-defined]
    points = np.asarray(places[:, :-1] / places[:, -1:], dtype=float)
    around = points - points.mean(axis=0)
    return points[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]


def main() -> None:
    """Writes the picture beside this file."""
    law = cpwl.read(str(files("cpwl.show").joinpath("examples", "mpc_double_integrator_27.json"))).snap(1e-9).function
    six = cpwl.dynamics.iterate(cpwl.dynamics.closed_loop(A, B, law).restrict(domain=SAFE), 6)
    found = paths()
    apart = max(float(np.abs(found["pieces"] - found[name]).max()) for name in ("network", "simulation"))
    print(f"largest difference of the three: {apart:.2g}")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    bodies = pieces_of(six)[1]
    for i in range(len(bodies)):
        left.fill(
            *corners(i, bodies).T, facecolor=plt.cm.Blues(0.08 + 0.3 * (i * 0.618 % 1)), edgecolor="white", lw=0.6
        )
    styles = {
        "pieces": ("o", 9, "none", "#1f4e79"),
        "network": ("x", 5, "#c0392b", "#c0392b"),
        "simulation": (".", 3, "black", "black"),
    }
    for name, (marker, size, face, edge) in styles.items():
        for k in range(len(STARTS)):
            label = name if k == 0 else None
            left.plot(*found[name][:, k].T, marker, ms=size, mfc=face, mec=edge, color=edge, label=label)
            right.plot(found[name][:, k, 0], marker, ms=size, mfc=face, mec=edge, color=edge)
    for k in range(len(STARTS)):
        left.plot(*found["pieces"][:, k].T, color="#1f4e79", lw=0.7)
        right.plot(found["pieces"][:, k, 0], color="#1f4e79", lw=0.7)
    left.set(xlabel="$x_1$", ylabel="$x_2$", title=f"the kept set, in the {six.num_pieces} pieces of six steps")
    left.legend(loc="upper right", frameon=False)
    right.axhline(5, color="gray", lw=0.8, ls="--")
    right.axhline(-5, color="gray", lw=0.8, ls="--")
    right.set(xlabel="step", ylabel="$x_1$", title="the first state stays within 5")
    figure.savefig(Path(__file__).parent / "ask.png", dpi=110)


if __name__ == "__main__":
    main()
