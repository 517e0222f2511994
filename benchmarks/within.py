"""Neurons against the error that is allowed everywhere: `cpwl.tradeoff` on a curve, tables, maps, laws and a network.

    python benchmarks/within.py [NAME ...] [--cases FOLDER] [--no-certify] [--train] [--save FILE]
    python benchmarks/within.py [NAME ..] --fit FILE [--seeds 24] [--steps 12000] [--up-to NEURONS]   trained networks
    python benchmarks/within.py --figure FILE     docs/within.svg from FILE

One line for each function: the neurons of the smallest network found for each error, relative to the range. Every
distance is exact. Each network is proved, too, and the stand-alone checker decides: `*`. `--cases` adds the control
laws of a folder. `--save` keeps all rows in a JSON file, beside what is there. `--fit` trains networks of the sizes in
that file. See docs/howto/within.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

import cpwl
from cpwl import CPWL
from cpwl.files import write_text
from cpwl.levels import LEVELS
from cpwl.training import Effort, Goals, balanced, errors, polish, train


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


def network() -> CPWL:
    """The pieces of a 2-16-16-1 network that was trained on the smooth function; it needs torch."""
    side = np.arange(33) / 32
    points = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    sample = Goals(points, smooth(points[:, :1], points[:, 1:]), np.zeros(2), np.ones(2), np.ones(1))
    made = train(sample.place, sample.goal, (16, 16), seeds=1, steps=3000)[0]
    made, _ = polish(balanced(made, sample.place), sample.place, sample.goal, Effort(200), 0)
    return cpwl.extract(sample.network(made), box=(0, 1))


CASES: dict[str, Callable[[], CPWL]] = {
    "curve": curve,
    "plane": plane,
    "scattered": scattered,
    "uneven": uneven,
    "space": space,
    "network": network,
}


def measure(name: str, make: Callable[[], CPWL], *, certify: bool, train: bool) -> list[dict[str, Any]]:
    """The rows of one function, and a line that shows them."""
    p, began = make(), time.process_time()
    rows = cpwl.tradeoff(p, certify=certify, train=train).data
    marks = {True: "*", False: "?", None: ""}
    cells = [f"{row['neurons']}{marks[row['proved']]}" for row in rows]
    seconds = time.process_time() - began
    print(f"{name:<12}" + "".join(f"{cell:>8}" for cell in cells) + f"{seconds:>10.1f}", flush=True)
    return rows


# For comparison: trained networks of the same sizes.

POINTS, SEEN = 4096, 20_000


def fit(name: str, make: Callable[[], CPWL], sizes: list[int], seeds: int, steps: int) -> dict[str, float]:
    """For each size the largest error seen of the best of some trained networks, relative to the range.

    The error is that at 20,000 points and at corners; the largest one over the domain is larger. Of several outputs it
    is that of the worst one."""
    sample = Goals.of(make(), SEEN, np.ones(1))
    assert sample is not None
    height = (sample.values.max(axis=0) - sample.values.min(axis=0)) / 2
    place, goal = sample.place, (sample.values - sample.middle) / height
    few = np.sort(np.random.default_rng(1).permutation(len(place))[:POINTS])
    found = {}
    for size in sizes:
        made = train(place[few], goal[few], (size - size // 2, size // 2), seeds=seeds, steps=steps)
        found[str(size)] = float(f"{min(errors(one, place, goal).max() for one in made) / 2:.4g}")
        print(f"{name:<12}{size:>5} neurons: {found[str(size)]:.3g}", flush=True)
    return found


# The figure. Its colours follow light and dark pages.

PAGE = (
    "svg{color:#222;fill:currentColor;--one:#1f5fa8;--two:#c4571b}"
    "@media(prefers-color-scheme:dark){svg{color:#e6e6e6;--one:#6cb2f5;--two:#f08c50}}"
)


def figure(saved: dict[str, Any], path: Path) -> None:
    """Error against neurons: the proved errors, and the errors of trained networks."""
    import io

    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = {"curve": "curve, 1,000 points", "plane": "smooth map, 32 x 32", "ti_N12": "control law, 611 regions"}
    shown = [name for name in names if name in saved]
    with mpl.rc_context({"svg.hashsalt": "cpwl", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"}):
        chart, axes = plt.subplots(1, len(shown), figsize=(3.4 * len(shown), 3.2), sharey=True, squeeze=False)
        for ax, name in zip(axes[0], shown, strict=True):
            rows = [row for row in saved[name]["rows"] if row["share"]]
            ax.plot([r["neurons"] for r in rows], [r["share"] for r in rows], "o-", color="#1f5fa8", label="proved")
            points = sorted((int(n), e) for n, e in saved[name].get("trained", {}).items())
            if points:
                label = "best of 24 trained (at samples)"
                ax.plot(*zip(*points, strict=True), "s--", color="#c4571b", ms=4, label=label)
            equal = next(r["neurons"] for r in saved[name]["rows"] if r["within"] == "exact")
            ax.axvline(equal, color="#444444", ls=":", lw=1)
            ax.annotate(f"equal: {equal} ", (equal, 1), xycoords=("data", "axes fraction"), ha="right", va="top")
            ax.set(xscale="log", yscale="log", xlabel="hidden neurons", title=names[name])
            ax.xaxis.set_major_formatter(plt.FuncFormatter(lambda v, _: f"{v:g}"))
            ax.xaxis.set_minor_formatter(plt.NullFormatter())
            ax.grid(True, which="major", lw=0.4, alpha=0.5)
            ax.spines[["top", "right"]].set_visible(False)
        axes[0][0].set_ylabel("largest error / range")
        axes[0][-1].legend(frameon=False, loc="lower left")
        chart.tight_layout()
        drawn = io.StringIO()
        chart.savefig(drawn, format="svg", metadata={"Date": None}, transparent=True)
    text = drawn.getvalue().replace('<style type="text/css">', f'<style type="text/css">{PAGE}', 1)
    for fixed, follows in (("#1f5fa8", "var(--one)"), ("#c4571b", "var(--two)"), ("#000000", "currentColor")):
        text = text.replace(f" {fixed}", f" {follows}")
    write_text(path, text.replace(" #444444", " currentColor"))


def kept(path: Path | None, name: str, **more: Any) -> None:
    """Adds to what a file says about a function."""
    if path is not None:
        saved = json.loads(path.read_text()) if path.exists() else {}
        saved[name] = {**saved.get(name, {}), **more}
        path.write_text(json.dumps(saved, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--cases", type=Path, metavar="FOLDER")
    parser.add_argument("--no-certify", action="store_true")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--fit", type=Path, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--steps", type=int, default=12_000)
    parser.add_argument("--up-to", type=int, metavar="NEURONS")
    parser.add_argument("--figure", type=Path, metavar="FILE")
    given = parser.parse_args()
    warnings.simplefilter("ignore", cpwl.CpwlWarning)
    if given.figure is not None:
        figure(json.loads(given.figure.read_text()), Path(__file__).parents[1] / "docs" / "within.svg")
        return
    cases = dict(CASES)
    for path in sorted(given.cases.glob("*.json")) if given.cases is not None else ():
        cases[path.stem] = partial(cpwl.read, path)
    chosen = given.names or list(cases)
    if given.fit is not None:
        saved = json.loads(given.fit.read_text())
        for name in chosen:
            if name in saved:
                sizes = sorted({row["neurons"] for row in saved[name]["rows"]})
                sizes = [size for size in sizes if given.up_to is None or size <= given.up_to]
                found = fit(name, cases[name], sizes, given.seeds, given.steps)
                kept(given.fit, name, trained=found, seeds=given.seeds, steps=given.steps)
        return
    print(f"{'function':<12}" + "".join(f"{level:>8}" for level in (*LEVELS, "exact")) + "   seconds")
    for name in chosen:
        rows = measure(name, cases[name], certify=not given.no_certify, train=given.train)
        kept(given.save, name, rows=rows)
    print("* proved, and accepted by the stand-alone checker; ? no proof was found")


if __name__ == "__main__":
    main()
