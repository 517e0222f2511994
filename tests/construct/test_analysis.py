"""One analysis of a function: every part is computed once per compile, whoever asks."""

import inspect
import pickle
import sys
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

from cpwl import CPWL, ConstructionError, compile
from cpwl.construct import analysis as parts
from cpwl.construct.analysis import Analysis
from cpwl.construct.table import TABLE
from shallow import random_shallow
from support.functions import delaunay

NAMES = ("divided", "find_bends", "neighbours", "profile_of", "sample", "table_of")


def as_pieces(p):
    """The same function by half-spaces, in rationals."""
    bodies, laws = [body.integer() for body in p.polyhedra], p.laws.integer()[:, 0].tolist()
    slopes = [[f"{v}/{row[-1]}" for v in row[:-2]] for row in laws]
    return CPWL.from_pieces(
        [rows[:, :-1] for rows in bodies], [rows[:, -1] for rows in bodies], slopes, [f"{r[-2]}/{r[-1]}" for r in laws]
    )


@contextmanager
def count_runs(names):
    """Counts how often each part of each function is computed, whoever asks for it."""
    codes = {inspect.unwrap(getattr(parts, name)).__code__: name for name in names}
    runs, kept = Counter(), []

    def seen(frame, event, _):
        if event == "call" and frame.f_code in codes:
            kept.append(frame.f_locals["p"])  # or another function might get its number
            runs[codes[frame.f_code], id(kept[-1])] += 1

    sys.setprofile(seen)
    try:
        yield runs
    finally:
        sys.setprofile(None)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "p",
    [as_pieces(delaunay(2, 12, 3)), delaunay(2, 12, 3), random_shallow(3, 4, 0), random_shallow(5, 3, 0)],
    ids=["pieces", "table", "space", "with lines"],
)
def test_every_part_is_computed_once(p):
    """All constructions and the lower bounds, one after the other: no part of any function twice."""
    with count_runs((*NAMES, "order_components")) as runs:
        made = compile(p, minimize="width")  # the goal for which "auto" skips nothing
        assert made.lower_bounds
    assert max(runs.values()) == 1
    assert {"sample", "order_components"} <= {name for name, _ in runs}


def test_an_exact_function_is_looked_for_once(monkeypatch):
    """Where there is none near the data, all constructions that need one hear the same reason."""
    looked = []
    snap = CPWL.snap
    monkeypatch.setattr(CPWL, "snap", lambda p, *tol: looked.append(tol) or snap(p, *tol))
    rng = np.random.default_rng(0)
    exact = delaunay(2, 12, 3)
    gradient = exact.laws.gradient[:, 0] * (1 + 1e-12 * rng.standard_normal(exact.laws.gradient[:, 0].shape))
    bodies = list(exact.polyhedra)
    p = CPWL.from_pieces([b.A for b in bodies], [b.b for b in bodies], gradient, exact.laws.offset[:, 0], tol=1e-9)
    known = Analysis(p)
    for name in ("hinge", "univariate", "gates", "clamped", "strips"):
        try:
            TABLE[name].plan(known)
        except ConstructionError:
            continue
    assert len(looked) == 1


def test_what_is_kept_is_small():
    """A result keeps no orders, and goes through pickle."""
    made = compile(delaunay(2, 12, 3))
    assert set(made.analysis.__dict__) <= {"function", "options"}
    again = pickle.loads(pickle.dumps(made.analysis))
    assert again.function.num_pieces == made.function.num_pieces
