"""Work shared out: the same results whoever does it, what is large sent once, and nothing left behind."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cpwl import executors
from cpwl.errors import CpwlWarning, InputError
from cpwl.executors import NotHere, Parcel, opened, placed, posted, spread
from support.pools import POOLS, SPAWN, pool_of


class Counting(Executor):
    """Another executor, with the number of bytes that each task takes to send."""

    def __init__(self, pool: Executor) -> None:
        self.pool, self.sent = pool, list[int]()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        self.sent.append(len(pickle.dumps((function, arguments, more))))
        return self.pool.submit(function, *arguments, **more)


def _at(table: NDArray[np.float64], i: int) -> float:
    return float(table[i])


class OwnTime(threading.local):
    """A clock for each thread, which only long work moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


OWN_TIME = OwnTime()


def _slowly(_: Any, i: int) -> int:
    OWN_TIME.now += 0.05
    return i


MADE = count()  # of what was prepared in this process


def _total(table: NDArray[np.float64]) -> tuple[float, int, int]:
    return float(table.sum()), os.getpid(), next(MADE)


def _told(ready: tuple[float, int, int], i: int) -> tuple[float, int, int, int]:
    return (*ready, i)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", POOLS)
def test_results_come_in_order_from_every_kind_of_executor(kind: str) -> None:
    table = np.arange(3000.0)
    with pool_of(kind) as pool:
        assert list(spread(_at, table, range(2000), pool)) == list(range(2000))
        assert list(spread(_at, table, iter([]), pool)) == []
        # Each worker prepares once, whatever it is given to do afterwards.
        ready = list(spread(_told, table, range(1000), pool, prepare=_total))
        assert [each[-1] for each in ready] == list(range(1000))
        assert {each[0] for each in ready} == {float(table.sum())}
        assert len({each[1:3] for each in ready}) <= 4


def test_a_large_array_is_sent_once_and_not_with_each_task() -> None:
    table = np.arange(1_000_000.0)
    with ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        counting = Counting(pool)
        assert list(spread(_at, table, range(500), counting)) == list(range(500))
        with placed(table, counting) as place:  # and not again, either
            for _ in range(3):
                assert list(spread(_at, place, range(100), counting)) == list(range(100))
    assert max(counting.sent) < 5_000 + 9 * 500
    assert sum(counting.sent) < table.nbytes / 20


def test_small_work_is_sent_in_bundles_and_long_work_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cpwl.executors.perf_counter", OWN_TIME)
    with ThreadPoolExecutor(2) as pool:
        counting = Counting(pool)
        assert list(spread(_at, np.arange(20_000.0), range(20_000), counting)) == list(range(20_000))
        assert len(counting.sent) < 200
        counting.sent.clear()
        assert list(spread(_slowly, None, range(12), counting)) == list(range(12))
        assert len(counting.sent) == 12


@contextmanager
def _out_of_reach(data: bytes) -> Iterator[Parcel]:
    """A parcel on another machine."""
    with posted(data) as parcel:
        yield Parcel(parcel.digest, "/proc/1/nowhere", len(data))


def test_workers_on_other_machines_are_sent_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cpwl.executors.posted", _out_of_reach)
    table = np.arange(100_000.0)
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, mp_context=SPAWN) as pool:
            counting = Counting(pool)
            assert list(spread(_at, table, range(5000), counting)) == list(range(5000))
        large = [size for size in counting.sent if size > table.nbytes]
        # One worker has it after the first; of two, either may be asked again before it has it.
        assert len(large) == 1 if workers == 1 else 1 <= len(large) < len(counting.sent)


def test_what_lies_there_instead_is_not_read(tmp_path: Path) -> None:
    data = pickle.dumps(list(range(9000)))
    with posted(data) as parcel:
        other = tmp_path / "other"
        for content in (b"", data[:-1], data + b"x", bytes(len(data))):
            other.write_bytes(content)
            with pytest.raises(NotHere):
                opened(Parcel(parcel.digest, str(other), len(data)))
        other.write_bytes(data)
        assert opened(Parcel(parcel.digest, str(other), len(data))) == list(range(9000))


def test_a_process_keeps_the_last_parcels_only() -> None:
    for i in range(20):
        with posted(pickle.dumps([i] * 3000)) as parcel:
            first = opened(parcel)
            assert opened(parcel) is first
    assert len(executors._here) <= executors._KEPT
    executors._here.clear()
    with pytest.raises(NotHere):  # what was posted is gone with the end of the run
        opened(parcel)


def _files(ours: bool) -> set[str]:
    """Open files, all or those in memory that are ours, and our temporary files."""
    opened = {entry: os.readlink(entry) for entry in map(str, Path("/proc/self/fd").iterdir()) if os.path.islink(entry)}
    mine = {entry for entry, target in opened.items() if not ours or "memfd:cpwl" in target}
    return mine | {name for name in os.listdir(tempfile.gettempdir()) if "cpwl-" in name}


def _die_once(shared: tuple[str, Any], item: int) -> int:
    """Kills its own process, really, the first time that item 3 comes along."""
    marker = Path(shared[0])
    if item == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="Linux says which files are open")
@pytest.mark.parametrize("kind", ["processes", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_killed_worker_costs_time_not_results_and_leaves_nothing(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes have files in the common folder
    shared = str(tmp_path / "marker"), np.arange(100_000.0)
    ours = kind == "loky"  # which closes its own pipes when it likes
    with pool_of(kind):
        pass  # what an executor keeps for itself, its tracker of resources say, is there before
    before = _files(ours)
    with pool_of(kind) as pool, pytest.warns(CpwlWarning, match="a worker process died"):
        assert list(spread(_die_once, shared, range(200), pool)) == [i * i for i in range(200)]
    assert _files(ours) <= before


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="the other way is the only one here")
def test_without_memory_files_there_is_a_file_until_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr("os.memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = pickle.dumps(list(range(9000)))
    with posted(data) as parcel:
        assert [str(path) for path in tmp_path.iterdir()] == [parcel.place]
        assert opened(parcel) == list(range(9000))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_dead_worker_of_dask_costs_time(tmp_path: Path) -> None:
    with pool_of("dask") as pool:
        shared = str(tmp_path / "marker"), np.arange(100_000.0)
        assert list(spread(_die_once, shared, range(100), pool)) == [i * i for i in range(100)]
    assert (tmp_path / "marker").exists()


def test_a_pool_that_was_shut_down_does_no_harm() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.warns(CpwlWarning, match="a worker process died"):
        assert list(spread(divmod, 7, [2, 3], pool)) == [(3, 1), (2, 1)]


def test_errors_of_the_work_are_errors_where_they_come() -> None:
    with ThreadPoolExecutor(1) as pool:
        found = spread(divmod, 7, [2, 3, 0, 4], pool)
        assert [next(found), next(found)] == [(3, 1), (2, 1)]
        with pytest.raises(ZeroDivisionError):
            next(found)


def _refuse(_: Any, i: int) -> int:
    raise InputError(f"item {i} is bad", item=i)


def test_errors_keep_their_details_on_the_way() -> None:
    with pool_of("processes") as pool, pytest.raises(InputError, match="item 5 is bad") as caught:
        list(spread(_refuse, None, [5], pool))
    assert caught.value.details == {"item": 5}


def test_what_does_not_pickle_goes_to_executors_that_need_no_pickle() -> None:
    with ThreadPoolExecutor(1) as pool:
        lock = threading.Lock()
        assert list(spread(lambda held, i: (held is lock, i), lock, [1, 2], Wrapped(pool))) == [(True, 1), (True, 2)]


class Wrapped(Executor):
    """An executor of another library, which works in this process."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        return self.pool.submit(function, *arguments, **more)
