"""Files: written whole or not at all, read whole or refused in one sentence."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from cpwl.errors import InputError, LimitError, counted

_LARGEST = 2**31  # bytes of a file that we read; a protobuf message ends there
_ENDLESS = 2**28  # bytes from a pipe or a device, which does not say how many there are
_TEXT = 2**28  # bytes of a text file
_CHUNK = 2**20
_WRITTEN: list[str] = []  # what this process has written, in order


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


def read_text(path: str | os.PathLike[str]) -> str:
    """The content of a text file in UTF-8, with or without a byte order mark."""
    data = read_bytes(path)
    if len(data) > _TEXT:
        raise LimitError(f"the file has {counted(len(data), 'byte')}; text is read up to {_TEXT:,}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the file is not UTF-8 text, from byte {error.start} on") from error


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Puts the name of the file before whatever is wrong with it, unless it is there already."""
    name = os.fspath(path)
    try:
        yield
    except (InputError, LimitError) as error:
        if error.details.get("path") == name:
            raise
        raise type(error)(f"{name}: {error}", **{**error.details, "path": name}) from error


def _all_of(file: BinaryIO, limit: int) -> bytes:
    """What is in a file, or one byte more than `limit`; in chunks, so that Ctrl-C is heard between them."""
    chunks, left = [], limit + 1
    while left and (chunk := file.read(min(left, _CHUNK))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and those above it, if they are not there; `InputError` if that cannot be done."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder `{folder}`: {error.strerror or error}", path=str(folder)) from error
    return folder


def written() -> tuple[str, ...]:
    """The files that this process has written so far, as they were named: what a run that was ended leaves behind."""
    return tuple(dict.fromkeys(_WRITTEN))


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
    write_together([(path, data)])


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all, with line ends as they are."""
    write_bytes(path, text.encode("utf-8"))


def write_together(files: Sequence[tuple[str | os.PathLike[str], bytes]]) -> None:
    """Write files that belong together: a network first, then what is said about it.

    All are complete on the disk before the first takes its place. Then the others' old contents go, the new files take
    their places in this order, and no other process writes together into the same folder meanwhile: whenever
    one of the others is there, it is about the first as it is there.
    """
    with ExitStack() as stack:
        drafts = [stack.enter_context(_draft(path, data)) for path, data in files]
        if len(files) > 1:
            for folder in sorted({target.parent for target, draft in drafts if draft is not None}):
                stack.enter_context(_alone_in(folder))
            for (path, _), (target, draft) in zip(files[1:], drafts[1:], strict=True):
                if draft is not None:
                    with _naming(path):
                        target.unlink(missing_ok=True)
        for (path, _), (target, draft) in zip(files, drafts, strict=True):
            if draft is not None:
                with _naming(path):
                    os.replace(draft, target)
            _WRITTEN.append(os.fsdecode(path))


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Failures of the system as a sentence about the file."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write `{os.fspath(path)}`: {reason}", path=os.fspath(path)) from error


@contextmanager
def _draft(path: str | os.PathLike[str], data: bytes) -> Iterator[tuple[Path, Path | None]]:
    """The file to be replaced, behind symbolic links, and a complete file beside it, which is removed in the end.

    What is no ordinary file has no such file: it is written to directly.
    """
    with _naming(path):
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode):
            target.write_bytes(data)
    if mode is not None and not stat.S_ISREG(mode):
        yield target, None
        return
    draft = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        with _naming(path):
            _write_new(draft, data, mode)
        yield target, draft
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft)


def _mode(target: Path) -> int | None:
    """Kind and permissions of a file; None if it is not there, or was just taken away by another process."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _write_new(draft: Path, data: bytes, mode: int | None) -> None:
    """A new file, on the disk when this returns; where the system can, it has no name before it is complete.

    Such a file is gone with the process that writes it, however that ends.
    """
    if hasattr(os, "O_TMPFILE"):
        # Not on every file system; whatever else is wrong shows when the file is made in the usual way.
        with contextlib.suppress(OSError):
            _fill(os.open(draft.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), data, mode, draft)
            return
    # 0o666 leaves the permissions of a new file to the umask, as `open` does.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    _fill(os.open(draft, flags, 0o666), data, None, None)
    if mode is not None:
        os.chmod(draft, stat.S_IMODE(mode))


def _fill(handle: int, data: bytes, mode: int | None, name: Path | None) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
        if mode is not None:
            os.fchmod(handle, stat.S_IMODE(mode))
        if name is not None:
            _give_name(handle, name)


def _give_name(handle: int, name: Path) -> None:
    # With a folder given, Python calls linkat, which follows the link in /proc to the file itself.
    folder = os.open(name.parent, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{handle}", name.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Waits until no other process is inside for this folder; the lock goes when the process does."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows; a folder that can be written but not read
        yield
        return
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
