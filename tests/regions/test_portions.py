"""Asking and comparing in portions: the same answers whoever does the work, and however often it is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cpwl import CPWL, InputError, Network, ask, compress, equal, extract
from cpwl.cli import main
from cpwl.executors import More, unfold
from cpwl.io.json import save
from support.pools import POOLS, pool_of


def deep(widths: tuple[int, ...], seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    return Network([(rng.integers(-8, 9, (b, a)), rng.integers(-8, 9, b)) for a, b in pairwise(widths)])


def answers(network: Network, executor: Any, kind: str) -> list[str]:
    """What a network says to many questions, in full; where sending takes long, to two."""
    asked = ask(network, box=(-3, 3), at_once=8, executor=executor)
    found = asked.range()
    if kind == "dask":
        return [f"{found.argmin.point} {found.argmax.point} {found}", str(asked.is_convex())]
    steep = asked.lipschitz(1)
    return [
        *(
            f"{each.value} {each.point} {each.ray} {each.piece} {each.complete}"
            for each in (found.argmin, found.argmax)
        ),
        f"{asked.argmax().point} {asked.argmin().point}",
        f"{steep.high} {steep.points} {steep.piece}",
        *(f"{each.holds} {each.reason} {each.points}" for each in (asked.is_convex(), asked.is_monotone(0))),
        f"{asked.integral()} {asked.mean()} {asked.depends_on(1)}",
        str([face.points.tolist() for face in asked.solve(1).faces]),
        str(asked.inside(box=(-50, 50))),
    ]


@pytest.mark.parametrize("kind", [POOLS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in POOLS[1:])])
def test_answers_are_the_same_whoever_looks_for_them(kind: str) -> None:
    network, other = deep((2, 4, 3, 1)), deep((2, 4, 3, 1), 1)
    many = deep((9, 3, 1))
    alone = answers(network, None, kind)
    with pool_of(kind) as pool:
        assert answers(network, pool, kind) == alone
        assert str(ask(many, box=(-1, 1), executor=pool).range()) == str(ask(many, box=(-1, 1)).range())
        p = extract(network, box=([-3] * 2, [3] * 2))
        for b in (other, p):
            one, two = (equal(network, b, box=([-3] * 2, [3] * 2), executor=each) for each in (None, pool))
            assert (one.equal, one.gap, one.regions, one.reason) == (two.equal, two.gap, two.regions, two.reason)
            assert str(one.witness) == str(two.witness)


def test_pieces_are_compared_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cells are not laid over pieces, each piece is a task."""
    monkeypatch.setattr("cpwl.equality.decide.cells_on", lambda *_: None)
    monkeypatch.setattr("cpwl.equality.decide._is_certified", lambda *_: False)
    network = deep((2, 5, 3, 1))
    p = extract(network, box=([-3] * 2, [3] * 2))
    laws = p.laws.integer().copy()
    laws[2, 0, -2] += laws[2, 0, -1]
    wrong = CPWL.from_pieces(
        [body.A for body in p.polyhedra],
        [body.b for body in p.polyhedra],
        [[[Fraction(int(v), int(law[-1])) for v in law[:-2]] for law in piece] for piece in laws],
        [[Fraction(int(law[-2]), int(law[-1])) for law in piece] for piece in laws],
    )
    with pool_of("threads") as pool:
        for f, verdict in ((p, True), (wrong, False)):
            one, two = equal(network, f), equal(network, f, executor=pool)
            assert one.equal is two.equal is verdict
            assert (one.gap, one.regions, one.reason, str(one.witness)) == (
                two.gap,
                two.regions,
                two.reason,
                str(two.witness),
            )


def test_compressing_is_the_same_whoever_does_it() -> None:
    network = Network([([[1, 0], [2, 0], [0, 1], [0, 0]], [0, 0, 0, 1]), ([[1, 1, -1, 5]], [0])])
    with pool_of("threads") as pool:
        one, two = compress(network), compress(network, executor=pool)
    assert (one.method, one.after) == (two.method, two.after)


def test_work_that_makes_work_is_done_depth_first() -> None:
    log: list[int] = []

    def halved(least: int, n: int) -> Any:
        log.append(n)
        return More([n // 2, n - n // 2]) if n > least else n

    found = unfold(halved, 1, [8], None)
    assert next(item for item, what in found if not isinstance(what, More)) == 1
    assert log == [8, 4, 2, 1]  # nothing is done before it is asked for
    with pool_of("threads") as pool:
        done = [what for _, what in unfold(halved, 1, [8], pool) if not isinstance(what, More)]
    assert done == [1] * 8


# --- killed, and resumed ----------------------------------------------------------------------------------------------

_SEARCH = """
import sys
from cpwl import ask
from cpwl.io.json import load
asked = ask(load(sys.argv[1]), box=(-3, 3), at_once=20, max_regions=None, checkpoint=sys.argv[2],
            progress=lambda done, total, what: print(done, flush=True))
found = asked.range()
"""


def test_a_search_for_the_range_that_was_killed_goes_on(tmp_path: Path) -> None:
    network = deep((2, 12, 8, 1))
    save(network, tmp_path / "network.json")
    notes = tmp_path / "notes" / "journal.jsonl"
    command = [sys.executable, "-c", _SEARCH, str(tmp_path / "network.json"), str(tmp_path / "notes")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as search:
        assert search.stdout is not None
        assert search.stdout.readline().strip().isdigit()  # something was found
        search.kill()
    before = notes.read_text().splitlines()
    assert "complete" not in json.loads(before[-1])  # the folder says itself that it holds a part
    whole = ask(network, box=(-3, 3), at_once=20).range()
    found = ask(network, box=(-3, 3), at_once=20, max_regions=None, checkpoint=tmp_path / "notes").range()
    for one, two in ((found.argmin, whole.argmin), (found.argmax, whole.argmax)):
        assert (one.value, str(one.point), one.piece, one.complete) == (two.value, str(two.point), two.piece, True)
    after = notes.read_text().splitlines()
    assert after[: len(before)] == before
    assert json.loads(after[-1])["complete"] is True
    assert 1 <= sum('"done"' in line for line in before) < sum('"done"' in line for line in after)


def test_a_range_without_bound_is_noted_and_read_again(tmp_path: Path) -> None:
    network = deep((2, 4, 1))
    found = [ask(network, at_once=3, checkpoint=tmp_path).range() for _ in range(2)]
    assert str(found[0].argmax) == str(found[1].argmax) == str(ask(network, at_once=3).range().argmax)
    assert found[1].argmax.ray is not None or found[1].argmin.ray is not None


def test_a_folder_is_for_one_question(tmp_path: Path) -> None:
    network = deep((2, 4, 1))
    ask(network, box=(-1, 1), checkpoint=tmp_path).argmax()
    for question in (
        lambda: ask(network, box=(-1, 1), checkpoint=tmp_path).argmin(),
        lambda: ask(network, box=(-1, 2), checkpoint=tmp_path).argmax(),
        lambda: equal(network, deep((2, 4, 1), 1), box=(-1, 1), checkpoint=tmp_path),
    ):
        with pytest.raises(InputError, match="belongs to another search"):
            question()
    with pytest.raises(InputError, match="`checkpoint` keeps"):
        ask(network, box=(-1, 1), checkpoint=tmp_path / "other").is_convex()


@pytest.mark.parametrize("change", [0, 1])
def test_equality_goes_on_from_what_was_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: int) -> None:
    rng = np.random.default_rng(3)
    weight, bias, out = rng.integers(-9, 9, (7, 2)), rng.integers(-9, 9, 7), rng.integers(1, 9, 7)
    other = out + change * (np.arange(7) == 3)
    a = Network([(weight, bias), (out[None], [9999]), ([[1]], [-9999])])
    b = Network([(3 * weight[::-1], 3 * bias[::-1]), (other[None, ::-1], [0]), ([["1/3"]], [0])])
    alone = equal(a, b, box=([-5, -5], [5, 5]))
    for module in ("regions", "decide"):
        monkeypatch.setattr(f"cpwl.equality.{module}.cells_at_once", lambda _: 10)
    first = equal(a, b, box=([-5, -5], [5, 5]), checkpoint=tmp_path)
    notes = tmp_path / "journal.jsonl"
    lines = notes.read_text().splitlines()
    assert len(lines) > 4
    notes.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    again = equal(a, b, box=([-5, -5], [5, 5]), checkpoint=tmp_path)
    for each in (first, again):
        assert (each.equal, each.gap, str(each.witness)) == (alone.equal, alone.gap, str(alone.witness))
    assert alone.equal is (change == 0)
    assert notes.read_text().splitlines() == lines


def test_a_checkpoint_of_functions_is_refused(tmp_path: Path) -> None:
    p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    with pytest.raises(InputError, match="is for two networks"):
        equal(p, p.merge(), checkpoint=tmp_path)


def test_commands_take_workers_and_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = deep((2, 5, 3, 1))
    file = tmp_path / "network.json"
    save(network, file)
    words = ["ask", str(file), "--max", "--min", "--box", "-3", "3", "--json"]
    said = []
    for more in ([], ["--workers", "2"], ["--checkpoint", str(tmp_path / "notes")]):
        assert main(words + more) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == said[2]
    assert (tmp_path / "notes" / "journal.jsonl").read_text().splitlines()[-1].startswith('{"complete":true,')
    other = tmp_path / "other.json"
    save(Network([*network.layers, ([[1]], [1])]), other)
    for more in ([], ["--checkpoint", str(tmp_path / "compared")], ["--workers", "2"]):
        assert main(["equal", str(file), str(other), "--box", "-3", "3", *more]) == 1
        said.append(capsys.readouterr().out)
    assert said[3] == said[4] == said[5]
