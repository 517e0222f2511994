"""Files: written whole or not at all, read whole or refused in one sentence."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

from cpwl.errors import InputError, LimitError

__all__ = ["read_bytes", "write_bytes", "write_text"]

_LARGEST = 2**31  # bytes of a file that we read; a protobuf message ends there
_ENDLESS = 2**28  # bytes from a pipe or a device, which does not say how many there are
_CHUNK = 2**20


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of the file `path`; `InputError` if it cannot be read, `LimitError` if it is too large or endless.

    >>> read_bytes("/dev/zero")
    Traceback (most recent call last):
    cpwl.errors.LimitError: cannot read `/dev/zero`: it has more than 256 MiB
    """
    name = os.fsdecode(path)
    try:
        with open(name, "rb") as file:
            state = os.fstat(file.fileno())
            limit = _LARGEST if stat.S_ISREG(state.st_mode) else _ENDLESS
            data = _all_of(file, limit) if state.st_size <= limit else b""
    except OSError as error:
        raise InputError(f"cannot read `{name}`: {error.strerror or error}", path=name) from error
    except ValueError as error:  # a null character in the name
        raise InputError(f"cannot read `{name}`: {error}", path=name) from error
    if max(state.st_size, len(data)) > limit:
        raise LimitError(f"cannot read `{name}`: it has more than {limit // 2**20} MiB", path=name)
    return data


def _all_of(file: BinaryIO, limit: int) -> bytes:
    """What is in a file, or one byte more than `limit`; in chunks, so that Ctrl-C is heard between them."""
    chunks, left = [], limit + 1
    while left and (chunk := file.read(min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`: at any moment the file has its old content or the new one, never a part.

    A new file beside it takes its place only when complete; it is removed if anything fails. What is no
    ordinary file, such as ``/dev/stdout``, is written to directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(folder + "/a", b"abc")
    ...     os.listdir(folder), Path(folder, "a").read_bytes()
    (['a'], b'abc')
    """
    try:
        # The file behind a symbolic link is replaced, not the link.
        target = Path(os.path.realpath(path))
        mode = target.stat().st_mode if target.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            target.write_bytes(data)
        else:
            _replace(target, data, mode)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write `{os.fspath(path)}`: {reason}", path=os.fspath(path)) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all, with line ends as they are."""
    write_bytes(path, text.encode("utf-8"))


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    draft = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    # 0o666 leaves the permissions of a new file to the umask, as `open` does.
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        os.replace(draft, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
