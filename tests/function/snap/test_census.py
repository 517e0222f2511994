"""Which way and which solver of laws each kind of float data needs: what is switched off is missed, or not.

``PYTHONPATH=tests:benchmarks python tests/function/snap/test_census.py`` prints a line for each case; ``--without NAME
..`` switches ways (`WAYS`) or solvers of laws (`SOLVERS`) off first. Cases: twins of the catalogue, regions of networks
with random and with trained weights, laws of solvers, functions of many inputs, data with wrong laws.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from cpwl import CPWL
from cpwl.function.doctor.first_error import first_error
from cpwl.function.flags import consistency
from cpwl.function.snap import laws as law_solvers
from cpwl.function.snap import nearby
from cpwl.function.snap.complex import Unfit
from cpwl.io.json import load
from cpwl.io.mpqp import read_mpqp
from shallow import random_shallow
from support.catalogue import function, names
from support.functions import abs_sum
from support.laws import LAWS
from support.networks import regions, small_regions, trained_regions
from support.twins import catalogue_twin, twin

DATA = Path(__file__).parents[2] / "io" / "data"
FINE = {"mixed_scales", "nearly_parallel", "nearly_parallel_cuts"}
SOLVERS = ("simple", "at once", "split", "in turn")
NETWORKS = [
    *((2, widths) for widths in ((6,), (5, 4), (6, 5), (4, 4, 3), (6, 5, 4))),
    *((3, widths) for widths in ((5,), (4, 3), (3, 3, 2))),
    *((4, widths) for widths in ((4,), (3, 2))),
]


def _twin(p: Callable[[], CPWL], noise: float) -> tuple[CPWL, CPWL]:
    exact = p()
    return exact, twin(exact, noise, 0).function()


def _catalogue(name: str, variant: str, noise: float) -> tuple[CPWL, CPWL]:
    p, data = catalogue_twin(name, variant, noise)
    return p, data.function()


def _solved(name: str, noise: float) -> tuple[CPWL, CPWL]:
    p = read_mpqp(DATA / f"{name}.json")
    return p, twin(p, noise, 0, fill=True, shuffle=True).function()


def _law(name: str) -> tuple[None, CPWL]:
    return None, load(LAWS[name])


def _planted(p: Callable[[], CPWL], jump: float) -> tuple[CPWL, CPWL]:
    """Every seventh law is off by a jump."""
    exact = p()
    data = twin(exact, 1e-13, 0)
    data.offset[3::7] += jump
    return exact, data.function(1e-6)


def cases() -> Iterator[tuple[str, Callable[[], tuple[CPWL | None, CPWL]]]]:
    small = [n for n in names(without="float") if n not in FINE and function(n).dim > 1 and function(n).num_pieces < 60]
    for name in small:
        for variant in ("plain", "boxed", "two outputs", "all"):
            for noise in (0.0, 1e-15, 1e-12):
                yield f"twin/{name}/{variant}/{noise:g}", partial(_catalogue, name, variant, noise)
    for inputs, widths in NETWORKS:
        for kind, make in (("random", regions), ("small", small_regions), ("trained", trained_regions)):
            for outputs in (1, 2, 3):
                for box in (None, 2.0):
                    for seed, noise in ((0, 1e-15), (1, 1e-13)):
                        made = partial(make, inputs, widths, outputs, seed, box)
                        name = f"net/{kind}/{inputs}-{widths}-{outputs}/{box}/{seed}"
                        yield name, partial(_twin, made, noise)
    for name in LAWS:
        yield f"law/{name}", partial(_law, name)
    for name in ("diU_N10", "mi_N3"):
        for noise in (0.0, 1e-15, 1e-13, 1e-12):
            yield f"law/{name}/{noise:g}", partial(_solved, name, noise)
    for inputs in (6, 8, 12):
        for seed in range(3):
            for noise in (0.0, 1e-13):
                yield (
                    f"many/shallow {inputs}/{seed}/{noise:g}",
                    partial(_twin, partial(random_shallow, inputs, 3, seed), noise),
                )
        yield f"many/abs {inputs}", partial(_twin, partial(abs_sum, min(inputs, 6)), 1e-13)
    for seed in range(4):
        for box in (None, 2.0):
            yield f"wrong/{seed}/{box}", partial(_planted, partial(regions, 2, (6, 5), 1, seed, box), 1e-8)


TAKEN: list[str] = []


def _noted(name: str, given: Callable[..., object], off: bool, none: bool) -> Callable[..., object]:
    def run(*args: object, **options: object) -> object:
        if off:
            if none:
                return None
            raise Unfit("switched off")
        found = given(*args, **options)
        if found is not None:
            TAKEN.append(name)
        return found

    return run


def watch(without: tuple[str, ...] = ()) -> None:
    """Notes which solvers come to an end, and switches ways and solvers off."""
    for name, where, none in (
        ("simple", "simple_laws", True),
        ("at once", "_at_once", False),
        ("split", "split_laws", False),
        ("in turn", "fix_in_turn", False),
    ):
        setattr(law_solvers, where, _noted(name, getattr(law_solvers, where), name in without, none))
    for name in without:
        if name in nearby.WAYS:
            nearby.WAYS[name] = _noted(name, nearby.WAYS[name], True, False)


def run(name: str, make: Callable[[], tuple[CPWL | None, CPWL]], seconds: int) -> dict[str, object]:
    """What snapping makes of one case."""
    TAKEN.clear()
    start = time.process_time()
    row: dict[str, object] = {"case": name}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        exact, data = make()
        row |= {
            "dim": data.dim,
            "pieces": data.num_pieces,
            "exact": exact.num_components if exact is not None else None,
        }
        start = time.process_time()
        found = data.snap(data.tol)
        q = found.function
        row |= {"way": found.way if q is not None else None, "taken": sorted(set(TAKEN)), "reason": found.reason}
        if q is not None:
            decided = consistency(q).consistent
            row |= {
                "laws": q.num_components,
                "sound": first_error(q) is None if decided is None else decided,
                "now": q.num_pieces,
            }
            row |= {
                "moved": found.moved.largest,
                "bits": max(int(abs(v)).bit_length() for v in q.laws.integer().ravel()),
            }
    except TimeoutError:
        row["way"] = "timeout"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return row | {"s": round(time.process_time() - start, 2)}


ONCE = [  # rows that occur once do not tell how noisy they are
    ("half_plane", "plain"),
    ("half_plane", "two outputs"),
    ("t_junction", "plain"),
    ("octahedron", "two outputs"),
    ("saddle", "boxed"),
]
DIRECTIONS = [  # many inputs, few directions, with a domain or without
    ("random_in_ten", "boxed", 1e-12),
    ("many_inputs", "plain", 1e-15),
    ("many_inputs", "all", 1e-12),
    ("dependent_directions", "two outputs", 1e-12),
]
FILLED = [  # noise in the place of zeros: no coordinates of very different sizes
    ("half_plane", 1e-15),
    ("t_junction", 1e-12),
    ("redundant_rows", 1e-15),
    ("octahedron", 1e-12),
    ("sum_norm_in_space", 1e-15),
    ("dependent_directions", 1e-12),
]


@pytest.mark.parametrize(("name", "noise"), FILLED)
def test_noise_in_zeros_does_not_stretch_coordinates(name, noise):
    """All laws come back, moved by no more than noise; an axis stretched by noise would hide them."""
    found = run(name, partial(_catalogue, name, "all", noise), 60)
    assert found["sound"], found
    assert found["laws"] == found["exact"]
    assert found["moved"] <= 1e-14 + 1e3 * noise


@pytest.mark.parametrize(("name", "variant"), ONCE)
def test_rows_without_a_twin_are_as_noisy_as_others(name, variant):
    """They come back with the laws of the truth, exactly consistent."""
    found = run(name, partial(_catalogue, name, variant, 1e-12), 60)
    assert found["sound"], found
    assert found["laws"] <= found["exact"]


@pytest.mark.parametrize(("name", "variant", "noise"), DIRECTIONS)
def test_many_inputs_with_few_directions_come_back(name, variant, noise):
    """As a function of few inputs, moved by no more than noise; with rows that all pieces share, and without."""
    found = run(name, partial(_catalogue, name, variant, noise), 300)
    assert found["sound"], found
    assert found["laws"] <= found["exact"]
    assert found["moved"] <= 1e-14 + 1e3 * noise


def test_pieces_of_one_law_that_cross_in_a_facet_are_merged_first():
    """No corner of one side is one of the other: neighbours are found once each law has one piece."""
    found = run("", partial(_catalogue, "affine_cut_up", "plain", 1e-12), 60)
    assert found["sound"], found
    assert found["laws"] == 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--only", help="a JSON lines file of an earlier run: its cases that took what is switched off")
    parser.add_argument("--match", default="")
    parser.add_argument("--seconds", type=int, default=60)
    args = parser.parse_args()

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    chosen = None
    if args.only:
        rows = [json.loads(line) for line in Path(args.only).read_text().splitlines()]
        chosen = {
            r["case"] for r in rows if r.get("way") in args.without or set(r.get("taken", ())) & set(args.without)
        }
    watch(tuple(args.without))
    for name, make in cases():
        if args.match in name and (chosen is None or name in chosen):
            print(json.dumps(run(name, make, args.seconds)), flush=True)


if __name__ == "__main__":
    main()
