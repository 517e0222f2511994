"""What was found so far, in a folder: a line for each tile, so that a search which was killed goes on where it was."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from cpwl.documents.write import document_text, network_document
from cpwl.errors import InputError
from cpwl.geometry.polyhedra import Polyhedron
from cpwl.network.network import Network

__all__ = ["Journal"]

_NAME = "journal.jsonl"
_KEY_FILE = "CPWL_JOURNAL_KEY"  # the environment variable that names another file with a key
_KEY_BYTES = 32


class Journal:
    """Lines of JSON, each written through to the disk before the search goes on.

    The first line says what is searched; a journal of something else is refused. The last line of a search that came
    to its end says ``"complete":true``: without it, what the folder holds is a part. A last line that was cut off when
    the process was killed is dropped, and that tile is done again.

    What is noted is believed, and not computed again. So every line has a seal: a keyed hash (HMAC) of the line and of
    the seal before it, with a key that only this user has. A line that somebody else wrote, changed, moved or took from
    another journal does not have the right one, and the journal is refused.
    """

    def __init__(self, folder: str | os.PathLike[str], network: Network, domain: Polyhedron | None, **question: Any):
        self.folder = Path(folder)
        head = {"format": "cpwl-journal", "version": 2, **question, "input": _fingerprint(network, domain)}
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
        self._write({"tile": list(name), **found})

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
                f"the folder `{self.folder}` holds the search of another question ({other} differs); use another folder"
            )
        for number, (line, seal) in enumerate(zip(lines, seals, strict=True), start=1):
            self._seal = self._sealed(line, self._seal)
            if not isinstance(seal, str) or not hmac.compare_digest(seal.encode(), self._seal.encode()):
                message = f"`{self.folder / _NAME}` was changed, or written by somebody else: line {number} has no seal"
                raise InputError(f"{message} of yours; use another folder, or name their key in {_KEY_FILE}")
        self._known, self.complete = known, complete


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


def _fingerprint(network: Network, domain: Polyhedron | None) -> str:
    rows = None if domain is None else [[str(v) for v in row] for row in domain.integer().tolist()]
    text = document_text(network_document(network), None) + json.dumps(rows)
    return sha256(text.encode()).hexdigest()
