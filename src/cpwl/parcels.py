"""What all tasks of a run need, brought to each worker once: posted in memory, fetched by name, kept there by content.

On Linux a parcel lies in memory that has no name in any folder, so nothing is left behind however a process ends.
A worker that cannot reach it, since it runs on another machine, says so (`NotHere`) and is sent the bytes.
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

__all__ = ["NotHere", "Parcel", "opened", "posted", "prepared"]

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
