"""The same bytes from every verb that takes an executor, whatever the executor and the number of its workers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest

from bench_functions import delaunay, noisy, rational_delaunay
from cpwl import CPWL, Network, certify, compile, extract
from cpwl.compiled import Compiled
from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import Minimize, Options
from cpwl.construct.select import Candidate
from cpwl.construct.table import TABLE, in_order, ruled_out
from cpwl.documents.write import document_text, function_document, network_document
from cpwl.errors import CpwlWarning, InputError, LimitError
from cpwl.proofs.kinds import _accepted_in_shares, _is_worth_sharing, _share, settle
from cpwl_check.budget import Refused, Undecided
from cpwl_check.decide import check
from support.pools import POOLS, pool_of


def functions() -> dict[str, CPWL]:
    rng = np.random.default_rng(2)
    laws = rng.integers(-9, 10, (5, 4)).tolist()
    return {
        "rational": rational_delaunay(15, 0),
        "float": noisy(delaunay(2, 8, 3), 1e-12),
        "space": CPWL.from_maxmin(laws, [[0, 1, 2], [1, 3], [2, 4]]),
        "line": CPWL.from_breakpoints(np.arange(40), rng.integers(-9, 9, 40)),
        "two outputs": CPWL.from_grid([np.arange(4)] * 2, rng.integers(-9, 9, (4, 4, 2))),
    }


def everything(made: Compiled) -> tuple[Any, ...]:
    """All that `compile` says, but for the objects that it holds."""
    assert made.certificate is not None
    proof = made.certificate.text if made.certificate.proved else made.certificate.reason
    sizes = made.sizes, made.bounds, made.solves, made.splits, made.error, made.measured, made.reason
    return (
        document_text(network_document(made.network), None),
        proof,
        str(made.alternatives),
        sizes,
        made.lower_bounds,
    )


def of_all(executor: Executor | None, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    return {name: everything(compile(functions()[name], certify=True, executor=executor)) for name in names}


@pytest.fixture(scope="module")
def alone() -> dict[str, tuple[Any, ...]]:
    return of_all(None, list(functions()))


# Processes are the hardest: arguments and results travel; the other kinds are slow tests.
KINDS = [kind if kind == "processes" else pytest.param(kind, marks=pytest.mark.slow) for kind in POOLS]


@pytest.mark.parametrize("kind", KINDS)
def test_compiling_and_proving_give_the_same_bytes(kind: str, alone: dict[str, tuple[Any, ...]]) -> None:
    names = list(functions()) if kind == "processes" else ["rational", "float"]
    with pool_of(kind) as pool:
        assert of_all(pool, names) == {name: alone[name] for name in names}


def float_pieces() -> CPWL:
    """Pieces in space with noise, which only linear programs can examine."""
    rng = np.random.default_rng(1)
    network = Network([(rng.integers(-8, 9, (4, 3)), rng.integers(-8, 9, 4)), (rng.integers(-8, 9, (1, 4)), [0])])
    return noisy(replace(extract(network, box=([-4] * 3, [4] * 3)), known=None))


@pytest.mark.parametrize("kind", KINDS[:2])
def test_the_doctor_says_the_same(kind: str) -> None:
    p = float_pieces()
    gap = p.take(np.arange(p.num_pieces - 2))
    laws = p.laws.offset.copy()
    laws[5] += 0.25
    jump = replace(p, laws=replace(p.laws, offset=laws))
    with pool_of(kind) as pool:
        for f in (p, gap, jump):
            alone = f.doctor()
            assert [str(each) for each in f.doctor(executor=pool)] == [str(each) for each in alone]
            assert alone.healthy == (f is p)


# --- plans, in waves --------------------------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("minimize", get_args(Minimize))
@pytest.mark.parametrize("p", ["line", "two outputs"])
def test_a_construction_that_is_ruled_out_stays_so(p: str, minimize: Minimize) -> None:
    """More plans rule out more: one that is not sent ahead would not have been made one after the other either."""
    analysis = Analysis(functions()[p], Options(minimize, "float64", 1e-9))
    planned: dict[str, Candidate] = {}
    out: set[str] = set()
    for name in in_order(analysis):
        now = {other for other in TABLE if ruled_out(other, analysis, planned)}
        assert out <= now
        out = now
        with suppress(InputError, LimitError):
            planned[name] = Candidate.of(TABLE[name].plan(analysis), analysis)
    assert out or minimize not in ("neurons", "depth")


def test_errors_of_plans_are_those_of_one_after_the_other() -> None:
    """A jump that the doctor was not asked about is noticed by a construction, in a worker or not."""
    p = functions()["rational"].take(np.arange(20))
    said = []
    for executor in (None, ThreadPoolExecutor(2)):
        with pytest.raises((InputError, LimitError)) as caught:
            compile(p, construction="columns", executor=executor)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_an_executor_is_asked_for() -> None:
    p = functions()["line"]
    for call in (
        lambda: compile(p, executor=3),  # type: ignore[arg-type]
        lambda: certify(p, compile(p).network, executor="two"),  # type: ignore[arg-type]
        lambda: p.doctor(executor=[]),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="`executor` takes a"):
            call()


class Broken(ThreadPoolExecutor):
    """Every worker dies of what it is given."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("cannot schedule new futures after shutdown")


def test_without_workers_the_result_is_the_same(alone: dict[str, tuple[Any, ...]]) -> None:
    with Broken(1) as pool, pytest.warns(CpwlWarning, match="a worker process died"):
        made = compile(functions()["space"], certify=True, executor=pool)
    assert everything(made) == alone["space"]


# --- checks, in shares ------------------------------------------------------------------------------------------------


def documents(construction: Any, points: int = 15) -> tuple[Any, Any, Any]:
    p = rational_delaunay(points, 1)
    network = compile(p, construction=construction).network
    proof = certify(p, network)
    assert proof.proved
    return function_document(p), network_document(network), proof.document


@pytest.mark.one_in(2)
@pytest.mark.parametrize("construction", ["gates", "clamped"])
def test_shares_are_accepted_and_whatever_is_wrong_is_refused_in_the_same_words(construction: str) -> None:
    function, network, proof = documents(construction)
    assert _is_worth_sharing(function, proof)
    with ThreadPoolExecutor(3) as pool:
        assert _accepted_in_shares((function, network, proof), pool) == 0 == settle(function, network, proof, pool)
        for layer, lasts in ((0, 3), (-1, 1)):
            for place in range(lasts):
                wrong = copy.deepcopy(network)
                bias = wrong["layers"][layer]["bias"]
                bias[place] = str(Fraction(bias[place]) + Fraction(1, 10**30))
                said = [_said(function, wrong, proof, executor) for executor in (None, pool)]
                assert said[0] == said[1]
        assert said[0].startswith("refused")  # an output that is off is off everywhere


def _said(function: Any, network: Any, proof: Any, executor: Executor | None) -> str:
    try:
        return str(settle(function, network, proof, executor))
    except Refused as reason:
        return f"refused: {reason}"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("construction", ["gates", "clamped"])
def test_every_piece_is_in_a_share(construction: str) -> None:
    """A law that is off by 1e-30 on any one piece is noticed, whatever the number of shares."""
    function, network, proof = documents(construction, 9)
    for count in (3, 60):
        for j in (7, len(function["simplices"]) - 1):
            wrong = copy.deepcopy(function)
            corner = wrong["simplices"][j][0]
            wrong["points"].append(wrong["points"][corner])
            wrong["values"].append([str(Fraction(wrong["values"][corner][0]) + Fraction(1, 10**30))])
            wrong["simplices"][j][0] = len(wrong["points"]) - 1
            answers = [_share((wrong, network, proof), (k, count)) for k in range(count)]
            assert any(answer is None for answer in answers)


def test_steps_are_those_of_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too few steps for one run, shares that had enough together do not count."""
    function, network, proof = documents("gates")
    with ThreadPoolExecutor(4) as pool:
        for steps in range(-60_000, 1_000_000, 20_000):
            monkeypatch.setattr("cpwl_check.budget.STEPS", steps)
            shared = _accepted_in_shares((function, network, proof), pool)
            try:
                alone = check(function, network, proof)
            except Undecided:
                assert shared is None
                continue
            assert settle(function, network, proof, pool) == alone == 0
            return
    raise AssertionError("this is never enough")
