"""Run work on any `concurrent.futures.Executor`. Results and their order do not depend on the number of workers.

Results belong to items, and items are made from the work alone, never from the number of workers. How many items go to
a worker at a time is measured, so that what is sent takes longer to do than to send.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import threading
import warnings
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import islice
from os import urandom
from time import perf_counter
from typing import Any, TypeVar

from cpwl.errors import CpwlWarning, InputError

# What all tasks of a run need, brought to each worker once: posted in memory, fetched by name, kept there by content.
#
# On Linux a parcel lies in memory that has no name in any folder, so nothing is left behind however a process ends.
# A worker that cannot reach it, since it runs on another machine, says so (`NotHere`) and is sent the bytes.


_SMALL = 4096  # bytes that are sent along: fetching them by name would take longer
_KEPT = 4  # parcels that a process keeps after it has used them, the last ones

_here: OrderedDict[bytes, Any] = OrderedDict()  # by content
_lock = threading.Lock()
_mine = threading.local()  # what this thread has made of them


class NotHere(Exception):
    """A parcel is out of reach of this process."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A pickled object: its hash, and where it is; or its bytes. Only who made it can have made what has its hash."""

    digest: bytes
    place: str | None = None
    size: int = 0
    data: bytes | None = None


@contextmanager
def posted(data: bytes) -> Iterator[Parcel]:
    """The bytes of an object where processes of this machine can fetch them, until this ends.

    >>> with posted(pickle.dumps([1, 2, 3])) as parcel:
    ...     opened(parcel)
    [1, 2, 3]
    """
    digest = _digest(data)
    if len(data) <= _SMALL:
        yield Parcel(digest, data=data)
        return
    with _memory(data) as place:
        yield Parcel(digest, place, len(data))


def opened(parcel: Parcel) -> Any:
    """The object of a parcel, one for all tasks of this process; `NotHere` if it cannot be had."""
    with _lock:
        if parcel.digest in _here:
            _here.move_to_end(parcel.digest)
            return _here[parcel.digest]
    found = pickle.loads(_fetched(parcel))
    with _lock:
        _here[parcel.digest] = found
        while len(_here) > _KEPT:
            _here.popitem(last=False)
    return found


def prepared(digest: bytes, shared: Any, prepare: Callable[[Any], Any]) -> Any:
    """What a thread makes of an object before its first task; solvers and caches are not for two threads at once."""
    known: OrderedDict[tuple[bytes, Any], Any] = _mine.__dict__.setdefault("known", OrderedDict())
    key = (digest, prepare)
    if key not in known:
        known[key] = prepare(shared)
        while len(known) > _KEPT:
            known.popitem(last=False)
    known.move_to_end(key)
    return known[key]


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=20).digest()


def _fetched(parcel: Parcel) -> bytes:
    """The bytes, if they are those that were posted: another machine may have something else of that name."""
    if parcel.data is not None:
        return parcel.data
    assert parcel.place is not None
    try:
        if os.stat(parcel.place).st_size != parcel.size:
            raise NotHere
        with open(parcel.place, "rb") as file:
            data = file.read(parcel.size + 1)
    except OSError:
        raise NotHere from None
    if len(data) != parcel.size or _digest(data) != parcel.digest:
        raise NotHere
    return data


@contextmanager
def _memory(data: bytes) -> Iterator[str]:
    """A place with these bytes that other processes of the same user can read."""
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        file = os.memfd_create("cpwl")
        try:
            with open(file, "wb", closefd=False) as stream:
                stream.write(data)
            yield f"/proc/{os.getpid()}/fd/{file}"
        finally:
            os.close(file)
        return
    file, place = tempfile.mkstemp(prefix="cpwl-")
    try:
        with open(file, "wb") as stream:
            stream.write(data)
        yield place
    finally:
        with suppress(OSError):
            os.unlink(place)


Item = TypeVar("Item")
Result = TypeVar("Result")
Work = Callable[[Any, Any], Any]

_AHEAD = 64  # bundles handed out before the first of them has come back: bounds what is held at once
_BLIND = 16  # of these, before it is known how long an item takes
_LEAST, _AIM = 0.01, 0.03  # seconds of work that are worth sending, and that bundles should have
_GROWTH, _MOST = 8, 4096  # how much larger the next bundle may be, and the largest
_HELD = 8  # results that wait for their turn, for each task that is under way
_TRIES = 3  # how often what all tasks need is brought to the workers


def check_executor(executor: object) -> None:
    """Refuse what cannot take work."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"`executor` takes a concurrent.futures.Executor, such as ProcessPoolExecutor(), not {executor!r}"
        )


def workers_of(executor: Executor) -> int:
    """How many tasks an executor works on at a time, as far as it says; nothing but time may depend on it."""
    many = getattr(executor, "_max_workers", None)
    client = getattr(executor, "_client", None)
    if client is not None:
        many = sum(client.nthreads().values())
    return max(2, many) if isinstance(many, int) else 4


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """What all tasks need: here, and as it is told to workers."""

    shared: Any
    there: Any
    digest: bytes = field(default_factory=lambda: urandom(20))
    data: bytes | None = None
    """For workers that cannot reach it."""
    again: Callable[[], Any] | None = None
    """Brings it to the workers once more, after it was lost with one of them."""


@contextmanager
def placed(shared: Any, executor: Executor | None) -> Iterator[Placed]:
    """Brings what all tasks need to the workers, once, for as long as this lasts.

    Threads have it already. Dask can scatter it; a Dask executor is known by its client, without importing Dask. For
    other processes it is posted (`cpwl.executors`). What does not pickle is handed to the executor as it is.
    """
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        yield Placed(shared, shared)
        return
    client = getattr(executor, "_client", None)
    if client is not None:

        def scattered() -> Any:
            return client.scatter([shared], broadcast=True, hash=False)[0]

        yield Placed(shared, scattered(), again=scattered)
        return
    try:
        data = pickle.dumps(shared, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError):
        yield Placed(shared, shared)
        return
    with posted(data) as parcel:
        yield Placed(shared, parcel, parcel.digest, data)


def spread(
    work: Callable[[Any, Item], Result],
    shared: Any,
    items: Iterable[Item],
    executor: Executor | None,
    *,
    prepare: Callable[[Any], Any] | None = None,
) -> Iterator[Result]:
    """``work(shared, item)`` for each item, in order; `shared` is sent once, or is already there (`placed`).

    With `prepare` it is ``work(prepare(shared), item)``, prepared once by each worker. A worker that dies costs time,
    not results: what it leaves undone is done here, with a warning. `work` and `prepare` must be functions of a module
    and arguments must pickle, since workers may be other processes; the result of an item must not depend on which
    others a worker had before it.

    >>> with ThreadPoolExecutor(2) as pool:
    ...     list(spread(divmod, 17, [2, 3, 5], pool))
    [(8, 1), (5, 2), (3, 2)]
    >>> list(spread(divmod, 17, [2, 3, 5], None))
    [(8, 1), (5, 2), (3, 2)]
    """
    if isinstance(shared, Placed):
        yield from _spread(work, shared, items, executor, prepare)
        return
    with placed(shared, executor) as place:
        yield from _spread(work, place, items, executor, prepare)


def _spread(
    work: Work, place: Placed, items: Iterable[Any], executor: Executor | None, prepare: Callable[[Any], Any] | None
) -> Iterator[Any]:
    if executor is None:
        held = cache(lambda: place.shared if prepare is None else prepare(place.shared))  # when the first item comes
        yield from (work(held(), item) for item in items)
        return
    waiting: deque[_Sent] = deque()
    desk, pace, rest = _Desk(executor, work, place, prepare), _Pace(executor), iter(items)
    try:
        while True:
            while len(waiting) < pace.ahead and (some := list(islice(rest, pace.size))):
                waiting.append(desk.send(some))
            if not waiting:
                return
            sent = waiting.popleft()
            done = desk.outcome(sent)
            pace.learn(len(sent.items), done.seconds)
            yield from done.results
            if done.error is not None:
                raise done.error
    finally:
        for sent in waiting:
            if sent.future is not None:
                sent.future.cancel()


@dataclass(frozen=True, slots=True, eq=False)
class More:
    """What work gives that is better done in parts: these, in the place of the one that it was given."""

    items: list[Any]
    asked: int = 0
    """How many parts were asked for, where that says which they are."""


def unfold(
    work: Callable[[Any, Item], Any],
    shared: Any,
    items: Iterable[Item],
    executor: Executor | None,
    *,
    known: Callable[[Item], Any] | None = None,
) -> Iterator[tuple[Item, Any]]:
    """Each item with ``work(shared, item)``, which may be `More` items: these come next, so that few are held at once.

    An item for which `known` has something other than None is not worked on again.

    >>> def halved(least, n):
    ...     return More([n // 2, n - n // 2]) if n > least else n
    >>> [n for n, found in unfold(halved, 2, [7], None) if found == n]
    [1, 2, 2, 2]
    """
    with placed(shared, executor) as place:
        desk, ahead = _Desk(executor, work, place, None), 1 if executor is None else 2 * workers_of(executor)
        held = 1 if executor is None else _HELD * ahead
        todo = [_Node(item) for item in reversed(list(items))]  # the next one is the last
        try:
            while todo:
                yield from _grown(todo, desk, ahead, held, known)
                if todo[-1].ready:
                    node = todo.pop()
                    yield node.item, node.found
                else:
                    wait([f for f in (node.future for node in todo[-held:]) if f], None, FIRST_COMPLETED)
        finally:
            for node in todo:
                if (future := node.future) is not None:
                    future.cancel()


@dataclass(slots=True, eq=False)
class _Node:
    """An item: not yet sent, at a worker, or done."""

    item: Any
    sent: _Sent | None = None
    found: Any = None
    ready: bool = False

    @property
    def future(self) -> Future[_Done] | None:
        """What is to be waited for."""
        return None if self.sent is None or self.ready else self.sent.future


def _grown(
    todo: list[_Node], desk: _Desk, ahead: int, held: int, known: Callable[[Any], Any] | None
) -> Iterator[tuple[Any, More]]:
    """Collects what is done, puts parts in the place of items that were split, and sends what comes next.

    Splits are told as soon as they are known, so that there is work for all; results are kept until their turn comes.
    """
    away, k = 0, len(todo)
    while k > max(0, len(todo) - held) and away < ahead:
        k -= 1
        node = todo[k]
        if node.sent is None and not node.ready:
            node.found = None if known is None else known(node.item)
            node.ready = node.found is not None
            node.sent = None if node.ready else desk.send([node.item])
        if node.sent is not None and not node.ready:
            if node.sent.future is not None and not node.sent.future.done():
                away += 1
                continue
            node.found, node.ready = desk.one(node.sent), True
        if isinstance(node.found, More):
            yield node.item, node.found
            todo[k : k + 1] = [_Node(each) for each in reversed(node.found.items)]
            k += len(node.found.items)


class _Pace:
    """How many items to send at a time, and how many bundles ahead: enough for every worker to have the next one."""

    def __init__(self, executor: Executor) -> None:
        many = 2 * workers_of(executor)
        self.size, self.ahead, self.most = 1, max(_BLIND, many), max(_AHEAD, 2 * many)

    def learn(self, items: int, seconds: float) -> None:
        """Larger bundles while they are quickly done, and few ahead; smaller ones where they take far too long."""
        if seconds < _LEAST and self.size < _MOST:
            fit = _AIM * items / max(seconds, 1e-9)
            self.size = max(self.size, int(min(_MOST, _GROWTH * items, fit)))
        else:
            self.ahead = self.most
        if seconds > 10 * _AIM:
            self.size = max(1, min(self.size, items // 2))


@dataclass(frozen=True, slots=True)
class _Done:
    """The results of a bundle, up to the first item that raised an error, and how long they took."""

    results: list[Any]
    error: Exception | None
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """Some items at a worker, who was told where the rest is; no future if there are no workers any more."""

    items: list[Any]
    there: Any
    future: Future[_Done] | None


class _Desk:
    """Sends bundles, and looks at what became of them; without an executor, this process does the work."""

    def __init__(
        self, executor: Executor | None, work: Work, place: Placed, prepare: Callable[[Any], Any] | None
    ) -> None:
        self.executor, self.work, self.place, self.prepare = executor, work, place, prepare
        self.there, self.died = place.there, False

    def send(self, items: list[Any], data: bytes | None = None) -> _Sent:
        """A bundle to whoever takes it; with the bytes that all tasks need, or with where they are."""
        there = self.there if data is None else Parcel(self.place.digest, data=data)
        if self.executor is None:
            return _Sent(items, there, None)
        try:
            future = self.executor.submit(_bundle, self.work, self.prepare, self.place.digest, there, items)
        except (BrokenExecutor, RuntimeError):  # a pool that was shut down raises RuntimeError
            return _Sent(items, there, None)
        return _Sent(items, there, future)

    def one(self, sent: _Sent) -> Any:
        """The result of a single item."""
        done = self.outcome(sent)
        if done.error is not None:
            raise done.error
        return done.results[0]

    def here(self, items: list[Any]) -> _Done:
        """The work in this process, in the place of a worker that died, with one warning."""
        if self.executor is not None and not self.died:
            self.died = True
            warnings.warn("a worker process died; this process finishes its tasks", CpwlWarning, 5)
        return _bundle(self.work, self.prepare, self.place.digest, self.place.shared, items)

    def outcome(self, sent: _Sent, tries: int = 0) -> _Done:
        """What a worker has found, or what this process finds if it died."""
        if sent.future is None:
            return self.here(sent.items)
        try:
            return sent.future.result()
        except NotHere:
            # Another worker may have it, and this one by now; the second time the bytes go along.
            return self.outcome(self.send(sent.items, self.place.data if tries else None), tries + 1)
        except CancelledError:
            if self.place.again is None or tries == _TRIES:
                return self.here(sent.items)
            if sent.there is self.there:  # it was lost with the worker that had it
                self.there = self.place.again()
            return self.outcome(self.send(sent.items), tries + 1)
        except BrokenExecutor:
            return self.here(sent.items)
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # Dask: several workers died of these items
                return self.here(sent.items)
            raise


def _bundle(work: Work, prepare: Callable[[Any], Any] | None, digest: bytes, there: Any, items: list[Any]) -> _Done:
    """Some items one after the other."""
    shared = opened(there) if isinstance(there, Parcel) else there
    began, results = perf_counter(), list[Any]()
    try:
        if prepare is not None:
            shared = prepared(digest, shared, prepare)
        for item in items:
            results.append(work(shared, item))
    except Exception as error:
        return _Done(results, error, perf_counter() - began)
    return _Done(results, None, perf_counter() - began)
