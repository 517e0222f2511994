"""Neurons against the error that is allowed everywhere: `compile(within=)` on a curve, tables and maps.

``python benchmarks/within.py [NAME ...] [--certify]`` prints one line for each function. Every distance is exact; with
``--certify`` each network is proved, too, and the stand-alone checker decides. See docs/howto/within.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

import cpwl
from cpwl import CPWL

LEVELS = ("10%", "3%", "1%", "0.3%", "0.1%", "0.01%")


def dyadic(values: Any) -> Any:
    """Values with 30 bits behind the point, which a float holds exactly."""
    return np.round(np.asarray(values) * 2.0**30) / 2.0**30


def smooth(x: Any, y: Any) -> Any:
    return np.sin(3 * x) * np.cos(2.5 * y) + 0.8 * np.exp(-12 * ((x - 0.35) ** 2 + (y - 0.6) ** 2))


def curve() -> CPWL:
    x = np.arange(1000) / 999
    return CPWL.from_grid([range(1000)], dyadic(np.sin(9 * x * x) + 0.5 * np.sin(25 * x) * np.exp(-2 * x)))


def plane() -> CPWL:
    axis = [Fraction(i, 32) for i in range(33)]
    grid = np.arange(33) / 32
    return CPWL.from_grid([axis, axis], dyadic(smooth(grid[:, None], grid[None, :])))


def scattered() -> CPWL:
    rng, side = np.random.default_rng(0), np.arange(16) / 16
    flat = 0 * side
    inner = np.round((0.02 + 0.96 * rng.random((436, 2))) * 2**20) / 2**20
    edges = [np.c_[side, flat], np.c_[flat + 1, side], np.c_[1 - side, flat + 1], np.c_[flat, 1 - side]]
    points = np.concatenate([inner, *edges])
    return CPWL.from_simplices(points, Delaunay(points).simplices, dyadic(smooth(points[:, 0], points[:, 1])))


def uneven() -> CPWL:
    speed, load = np.linspace(0, 1, 50) ** 2, np.linspace(0, 1, 40) ** 1.5
    axes = [np.round(a * 2**12) / 2**12 for a in (speed, load)]
    return CPWL.from_grid(axes, dyadic(smooth(axes[0][:, None], axes[1][None, :])))


def space() -> CPWL:
    axis, g = [Fraction(i, 10) for i in range(11)], np.arange(11) / 10
    x, y, z = np.meshgrid(g, g, g, indexing="ij")
    bump = 0.6 * np.exp(-6 * ((x - 0.4) ** 2 + (y - 0.6) ** 2 + (z - 0.5) ** 2))
    return CPWL.from_grid([axis] * 3, dyadic(np.sin(2.5 * x + y) * np.cos(2 * z - x) + bump))


CASES: dict[str, Callable[[], CPWL]] = {
    "curve": curve,
    "plane": plane,
    "scattered": scattered,
    "uneven": uneven,
    "space": space,
}


def main(arguments: list[str]) -> None:
    names = [name for name in arguments if name in CASES] or list(CASES)
    proved = "--certify" in arguments
    print("function    " + "".join(f"{level:>8}" for level in LEVELS) + "   equal   seconds")
    for name in names:
        p, began, line, equal = CASES[name](), time.process_time(), "", 0
        for level in LEVELS:
            made = cpwl.compile(p, within=level, certify=proved)
            assert made.within is not None
            assert made.within.distance.largest <= max(made.within.tolerance)
            mark = "" if not proved else "*" if made.certificate is not None and made.certificate.proved else "?"
            line, equal = f"{line}{made.sizes.neurons:>{8 - len(mark)}}{mark}", made.within.neurons_equal
        print(f"{name:<12}{line}{equal:>8}{time.process_time() - began:>10.1f}", flush=True)
    if proved:
        print("* proved, and accepted by the stand-alone checker; ? no proof was found")


if __name__ == "__main__":
    main(sys.argv[1:])
