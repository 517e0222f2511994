"""Parts of a domain, one after the other, by whoever has time: what does not fit is split, what is done is noted."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cpwl.documents.write import document_text, network_document
from cpwl.errors import InputError, InternalError
from cpwl.exact.sparse import RationalMatrix
from cpwl.executors import More, unfold
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.forms import essential_dimension
from cpwl.regions.pieces import find_pieces
from cpwl.regions.subdivide import TooMany

# What was found so far, in a folder: a line for each tile, so that a search which was killed goes on where it was.


_NAME = "journal.jsonl"
_KEY_FILE = "CPWL_JOURNAL_KEY"  # the environment variable that names another file with a key
_KEY_BYTES = 32


class Journal:
    """Lines of JSON, each written through to the disk before the search goes on.

    The first line says what is searched; a journal of something else is refused. The last line of a search that came
    to its end says ``"complete":true``: without it, what the folder holds is a part. A last line that was cut off when
    the process was killed is dropped, and that tile is done again.

    What is noted is believed, and not computed again: rationals, arrays, tuples, and records of the classes that the
    journal `keeps`. So every line has a seal: a keyed hash (HMAC) of the line and of
    the seal before it, with a key that only this user has. A line that somebody else wrote, changed, moved or took from
    another journal does not have the right one, and the journal is refused.
    """

    def __init__(
        self, folder: str | os.PathLike[str], about: str, *, keeps: tuple[type, ...] = (), **question: Any
    ) -> None:
        self.folder, self._kinds = Path(folder), {kind.__name__: kind for kind in keeps}
        head = {"format": "cpwl-journal", "version": 3, **question, "input": sha256(about.encode()).hexdigest()}
        self._known: dict[tuple[int, ...], dict[str, Any]] = {}
        self.complete = False
        self._key, self._seal = _key(), ""
        path = self.folder / _NAME
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Nothing is buffered: what could not be written must not be tried again when the file is closed.
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed by `__exit__`
        except OSError as error:
            message = f"cannot use the folder `{folder}`: {error.strerror or error}"
            raise InputError(message, path=str(folder)) from error
        try:
            self._lock()
            self._read(head)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, name: tuple[int, ...]) -> dict[str, Any] | None:
        """What is noted of a tile."""
        return self._known.get(name)

    def add(self, name: tuple[int, ...], **found: Any) -> None:
        """Notes what was found on a tile, on the disk when this returns."""
        self._known[name] = found
        self._write({"tile": list(name), **{key: _plain(value) for key, value in found.items()}})

    def finish(self) -> None:
        """Notes that there is nothing left to search."""
        if not self.complete:
            self.complete = True
            self._write({"complete": True})

    def _write(self, line: dict[str, Any]) -> None:
        try:
            seal = self._sealed(line, self._seal)
            left = json.dumps({**line, "seal": seal}, separators=(",", ":")).encode() + b"\n"
            while left:  # a full disk takes a part, and refuses the rest
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
            self._seal = seal
        except OSError as error:
            raise InputError(f"cannot write to `{self.folder}`: {error.strerror}", path=str(self.folder)) from error

    def _sealed(self, line: dict[str, Any], before: str) -> str:
        text = before + json.dumps(line, separators=(",", ":"))
        return hmac.new(self._key, text.encode(), sha256).hexdigest()

    def _lock(self) -> None:
        """One search at a time; the lock goes when the process does, however it ends."""
        try:
            import fcntl
        except ImportError:  # no such locks on Windows
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another search is using the folder `{self.folder}`", path=str(self.folder)) from None

    def _read(self, head: dict[str, Any]) -> None:
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            self._file.truncate(len(whole))
        if not whole:
            self._write(head)
            return
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            seals = [line.pop("seal", "") for line in lines]
            found = lines[0]
            complete = len(lines) > 1 and lines[-1] == {"complete": True}
            known = {
                tuple(int(i) for i in line["tile"]): {k: v for k, v in line.items() if k != "tile"}
                for line in lines[1 : len(lines) - complete]
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(f"`{self.folder / _NAME}` is damaged: {error}; use another folder") from None
        if found != head:
            other = next((key for key in head if not isinstance(found, dict) or found.get(key) != head[key]), "format")
            raise InputError(
                f"the folder `{self.folder}` belongs to another search ({other} differs); use another folder"
            )
        for number, (line, seal) in enumerate(zip(lines, seals, strict=True), start=1):
            self._seal = self._sealed(line, self._seal)
            if not isinstance(seal, str) or not hmac.compare_digest(seal.encode(), self._seal.encode()):
                message = f"`{self.folder / _NAME}` was changed, or written by somebody else: line {number} has no seal"
                raise InputError(f"{message} of yours; use another folder, or name their key in {_KEY_FILE}")
        self._known = {tile: {k: self._value(v) for k, v in line.items()} for tile, line in known.items()}
        self.complete = complete

    def _value(self, plain: Any) -> Any:
        """What `_plain` was given."""
        if isinstance(plain, list):
            return [self._value(part) for part in plain]
        if not isinstance(plain, dict):
            return plain
        ((kind, held),) = plain.items()
        if kind == "number":
            above, _, below = held.partition("/")
            return Fraction(int(above, 16), int(below, 16)) if below else int(above, 16)
        parts = self._value(held)
        if kind == "array":
            array = np.empty(len(parts[1]), dtype=object)
            array[:] = parts[1]
            return array.reshape(parts[0])
        made: Any = {"tuple": tuple, "map": dict}.get(kind)
        return self._kinds[kind](*parts) if made is None else made(parts)


def _plain(value: Any) -> Any:
    """A value for JSON that says what it is; long numbers in hexadecimal, which has no limit on digits.

    >>> _plain((Fraction(-1, 10), None, 255))
    {'tuple': [{'number': '-1/a'}, None, 255]}
    """
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, Fraction):
        return {"number": f"{value.numerator:x}/{value.denominator:x}"}
    if isinstance(value, np.ndarray):
        return {"array": [list(map(_plain, value.shape)), list(map(_plain, value.ravel()))]}
    if isinstance(value, tuple):
        return {"tuple": list(map(_plain, value))}
    if isinstance(value, dict):
        return {"map": [_plain(list(pair)) for pair in value.items()]}
    if is_dataclass(value):
        return {type(value).__name__: [_plain(getattr(value, part.name)) for part in fields(value)]}
    whole = int(value)
    return whole if abs(whole) < 2**53 else {"number": f"{whole:x}"}


def _key() -> bytes:
    """The key of this user, made when it is first needed; not in the folder of a search, which others may write to."""
    given = os.environ.get(_KEY_FILE)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(given) if given else Path(state, "cpwl", "journal.key")
    try:
        with suppress(FileExistsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(file, "wb") as new:
                new.write(secrets.token_bytes(_KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        remedy = f"name a file that you alone can write in the environment variable {_KEY_FILE}"
        raise InputError(f"there is no key for checkpoints: `{path}`: {error.strerror or error}; {remedy}") from error
    if len(key) < _KEY_BYTES:
        raise InputError(f"`{path}` must hold a key of {_KEY_BYTES} bytes, and has {len(key)}: remove it")
    return key


def searched(network: Network, domain: Polyhedron | None) -> str:
    """What the journal of a search through the regions of a network is about."""
    rows = None if domain is None else [[str(v) for v in row] for row in domain.integer().tolist()]
    return document_text(network_document(network), None) + json.dumps(rows)


# Parts: tiles, which cut no cell, and portions (`cpwl.regions.inquiry`), which may overlap.


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Subdomain:
    """A part of the domain; `name` is the way to it: the third part of the first part is ``(0, 2)``."""

    name: tuple[int, ...]
    body: Polyhedron | None
    """None is all of R^n."""


def _as_it_is(_: Subdomain, found: Any) -> Any:
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Notes:
    """A journal of parts that were split or done; `again` splits one as it was, into as many parts as were asked for.

    `note` and `recall` say what is kept of a result, and make it of that.
    """

    journal: Journal
    again: Callable[[Subdomain, int], More]
    note: Callable[[Subdomain, Any], Any] = _as_it_is
    recall: Callable[[Subdomain, Any], Any] = _as_it_is

    def add(self, part: Subdomain, outcome: Any) -> None:
        """Note what became of a part."""
        if self.journal.get(part.name) is None and outcome is not None:
            split = isinstance(outcome, More)
            told = {"split": outcome.asked, "parts": len(outcome.items)} if split else {}
            self.journal.add(part.name, **(told or {"done": self.note(part, outcome)}))

    def known(self, part: Subdomain) -> Any:
        """What became of a part in an earlier search; None if it was not reached."""
        noted = self.journal.get(part.name)
        if noted is None:
            return None
        if "split" not in noted:
            return self.recall(part, noted["done"])
        more = self.again(part, noted["split"])
        if len(more.items) != noted["parts"]:
            raise InternalError(f"part {part.name} was {noted['parts']} parts before and is {len(more.items)} now")
        return more


def through_parts(
    work: Callable[[Any, Subdomain], Any], shared: Any, first: Subdomain, executor: Executor | None, notes: Notes | None
) -> Iterator[tuple[Subdomain, Any]]:
    """`unfold` from the `first` part on: what the journal holds is not worked out again, and what is new is noted."""
    known = None if notes is None else notes.known
    for part, outcome in unfold(work, shared, [first], executor, known=known):
        if notes is not None:
            notes.add(part, outcome)
        yield part, outcome


# Tiles: cells of the first neurons of a network. No activation cell crosses the border of a tile.
#
# Fix the order in which neurons are drawn, layer by layer. The first `r` of them cut the domain into polyhedra on which
# they keep their signs, and later neurons only cut these further: so every activation cell lies in exactly one of the
# polyhedra, and counts, pieces and extrema of the network are those of its tiles, put together.


def first_neurons(network: Network, count: int) -> Network:
    """A network with the first `count` hidden neurons, and their sum, which does not matter, as its output.

    >>> network = Network([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [-1]), ([[1]], [0])])
    >>> [weight.shape for weight, _ in first_neurons(network, 1).layers]
    [(1, 2), (1, 1)]
    >>> [weight.shape for weight, _ in first_neurons(network, 3).layers]
    [(2, 2), (1, 2), (1, 1)]
    """
    source = network.layers if network.exact is None else network.exact
    layers: list[tuple[Any, Any]] = []
    for weight, bias in source[:-1]:
        width = min(count, weight.shape[0])
        layers.append((_rows(weight, width), bias[:width]))
        count -= width
        if count <= 0:
            break
    width = layers[-1][0].shape[0] if layers else network.inputs
    return Network([*layers, (np.ones((1, width), dtype=np.int64), [0])])


def _rows(weight: Any, width: int) -> Any:
    if isinstance(weight, RationalMatrix):
        return weight.take_rows(np.arange(width))
    return weight[:width]


def split(network: Network, tile: Subdomain, parts: int) -> list[Subdomain]:
    """The tile cut by as many neurons as make at most `parts` parts; the order of neurons decides, nothing else."""
    total = sum(weight.shape[0] for weight, _ in network.layers[:-1])
    low, best = 1, None
    high = total
    while low <= high:
        middle = (low + high) // 2
        made = find_pieces(first_neurons(network, middle), tile.body, True, most=parts)
        if made.complete:
            low, best = middle + 1, made
        else:
            high = middle - 1
    assert best is not None  # one neuron makes at most two parts
    return [Subdomain((*tile.name, i), best.polyhedra[i]) for i in range(len(best))]


SIZE = 100_000  # cells of a tile: half a GB in R^4, a second's work
_FEWEST, _MOST = 8, 1024  # parts of a tile that is split
_ROOM = 4  # how much smaller than the limit parts should be, so that few are split again


def stream(
    network: Network,
    domain: Polyhedron | None,
    work: Callable[[Network, Polyhedron | None, int], Result],
    *,
    size: int = SIZE,
    note: Callable[[Subdomain, Any], Any] = _as_it_is,
    recall: Callable[[Subdomain, Any], Any] = _as_it_is,
    executor: Executor | None = None,
    journal: Journal | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Subdomain, Result]]:
    """The result of each tile, whole or split as the number of its cells demands; together they are the domain.

    `work(network, body, size)`, a function of a module, raises `TooMany` where the tile has more than `size` cells.
    `note` and `recall` say what a journal keeps of a result, and make it of that.
    The tiles depend on network, domain and `size` alone, and so do the results and their order.
    """

    def again(tile: Subdomain, asked: int) -> More:
        return More(split(network, tile, asked), asked)

    notes = None if journal is None else Notes(journal, again, note, recall)
    done, known = 0, 1
    for tile, outcome in through_parts(_attempt, (network, size, work), Subdomain((), domain), executor, notes):
        if isinstance(outcome, More):
            known += len(outcome.items) - 1
            continue
        done += 1
        if progress is not None:
            progress(done, known, f"{done:,} tiles")
        yield tile, outcome
    if journal is not None:
        journal.finish()


def _attempt(shared: tuple[Network, int, Callable[..., Result]], tile: Subdomain) -> Result | More:
    network, size, work = shared
    try:
        return work(network, tile.body, size)
    except TooMany as reason:
        parts = _parts(network, tile, reason)
        return More(split(network, tile, parts), parts)


def _parts(network: Network, tile: Subdomain, reason: TooMany) -> int:
    """How many parts would do: `m` neurons in general position make about ``m^d`` cells."""
    if "neurons" not in reason.details:
        return _FEWEST
    share = reason.details["of"] / reason.details["neurons"]
    expected = _ROOM * share ** min(essential_dimension(network, tile.body), 8)
    return int(min(max(expected, _FEWEST), _MOST))
