"""Commands under faults of the system, real ones: a full disk, a read-only one, closed streams, signals, other runs.

``python -m support.faults NAME...`` runs every command under every fault and prints one JSON object a line. Libraries
are loaded once; each command then runs in a forked process of its own, as it would when called by its name. With the
rights to do so (``unshare -rm``) full and read-only disks are mounted for it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import cpwl.cli
import cpwl.cli.shared
from support.commands import COMMANDS, PRINTING, make_inputs

__all__ = ["FAULTS", "MOUNTING", "PRINTED"]

OLD = b"what was there before"


def snapshot(folder: Path) -> dict[str, str]:
    """Every file and link below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            data = path.read_bytes()
            found[name] = "old" if data == OLD else f"{len(data)} bytes"
        else:
            found[name] = "folder"
    return found


def nothing() -> None:
    """What is done before and after a command that has no fault."""


def run(
    argv: list[str], where: Path, before: Callable[[], None] = nothing, after: Callable[[], None] = nothing
) -> dict[str, Any]:
    """Run a command line in a fork, and say how it ended and what it said."""
    child = start(argv, where, before, after)
    return ended(child, where)


def start(
    argv: list[str], where: Path, before: Callable[[], None] = nothing, after: Callable[[], None] = nothing
) -> int:
    """Fork; in the child call `before`, the command and `after`, unless something is raised."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(where / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), number)
        room = where / "tmp"
        tempfile.tempdir = str(room)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        before()
        from cpwl.cli import main

        sys.argv = ["cpwl", *argv]
        code = main()
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        after()
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 98
    finally:
        os._exit(code)


def ended(child: int, where: Path) -> dict[str, Any]:
    _, status = os.waitpid(child, 0)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return {
        "code": code,
        "stdout": (where / "stdout").read_text(errors="replace"),
        "stderr": (where / "stderr").read_text(errors="replace"),
    }


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    """A disk of its own at the folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def mounts() -> bool:
    """May this process mount disks?"""
    try:
        with tempfile.TemporaryDirectory() as folder, mounted(Path(folder), "16k"):
            return True
    except (subprocess.CalledProcessError, OSError):
        return False


class Stage:
    """A folder of inputs, one of outputs, one for temporary files."""

    def __init__(self, home: Path) -> None:
        self.home, self.out = home, home / "out"
        for name in ("out", "tmp", "said", "laws"):
            (home / name).mkdir(exist_ok=True)

    def clear(self) -> None:
        for name in ("out", "tmp"):
            shutil.rmtree(self.home / name)
            (self.home / name).mkdir()
        for name in ("stdout", "stderr"):
            (self.home / name).unlink(missing_ok=True)


def put_old(out: Path, writes: tuple[str, ...]) -> None:
    """Files of an earlier run: those that are named like files."""
    for name in writes:
        if "." in name:
            (out / name).write_bytes(OLD)


def full(stage: Stage, name: str, free: int) -> dict[str, Any]:
    command = COMMANDS[name]
    with mounted(stage.out, "512k"):
        put_old(stage.out, command.writes)
        filler = stage.out / "filler"
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        if free:
            os.truncate(filler, filler.stat().st_size - free)
        found = run(command.argv(stage.out), stage.home)
        filler.unlink()
        return {**found, "out": snapshot(stage.out)}


def read_only(stage: Stage, name: str) -> dict[str, Any]:
    command = COMMANDS[name]
    with mounted(stage.out, "512k"):
        put_old(stage.out, command.writes)
        subprocess.run(["mount", "-o", "remount,ro", str(stage.out)], check=True)
        return {**run(command.argv(stage.out), stage.home), "out": snapshot(stage.out)}


def short_files(stage: Stage, name: str) -> dict[str, Any]:
    """No file may be longer than 100 bytes (other than what is printed)."""
    command = COMMANDS[name]
    put_old(stage.out, command.writes)
    limit = (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    found = run(command.argv(stage.out), stage.home, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    return {**found, "out": snapshot(stage.out)}


def a_folder(stage: Stage, name: str) -> dict[str, Any]:
    """A folder with something in it is where the output should go."""
    command = COMMANDS[name]
    (stage.out / command.writes[0]).mkdir()
    (stage.out / command.writes[0] / "kept").write_bytes(OLD)
    return {**run(command.argv(stage.out), stage.home), "out": snapshot(stage.out)}


def no_folder(stage: Stage, name: str) -> dict[str, Any]:
    return {**run(COMMANDS[name].argv(stage.out / "none"), stage.home), "out": snapshot(stage.out)}


def below_a_file(stage: Stage, name: str) -> dict[str, Any]:
    (stage.out / "file").write_bytes(OLD)
    return {**run(COMMANDS[name].argv(stage.out / "file"), stage.home), "out": snapshot(stage.out)}


def a_link(stage: Stage, name: str) -> dict[str, Any]:
    """Links to files elsewhere, one of which is not there yet."""
    command = COMMANDS[name]
    (stage.out / "elsewhere").mkdir()
    for i, each in enumerate(command.writes):
        (stage.out / each).symlink_to(stage.out / "elsewhere" / f"real-{each}")
        if i == 0 and "." in each:
            (stage.out / "elsewhere" / f"real-{each}").write_bytes(OLD)
    return {**run(command.argv(stage.out), stage.home), "out": snapshot(stage.out)}


def the_input(stage: Stage, name: str) -> dict[str, Any]:
    """A link to what is read."""
    command = COMMANDS[name]
    source = next((word for word in command.argv("") if word.startswith(("law.", "net."))), None)
    if source is None or "." not in command.writes[0]:
        return {"skip": "nothing to link to"}
    (stage.out / command.writes[0]).symlink_to(stage.home / source)
    return {**run(command.argv(stage.out), stage.home), "out": snapshot(stage.out)}


def twice(stage: Stage, name: str) -> dict[str, Any]:
    """Two runs at the same time, with one output."""
    command = COMMANDS[name]
    other = stage.home / "other"
    shutil.rmtree(other, ignore_errors=True)
    (other / "tmp").mkdir(parents=True)
    children = [start(command.argv(stage.out), where) for where in (stage.home, other)]
    first, second = (ended(child, where) for child, where in zip(children, (stage.home, other), strict=True))
    return {**first, "second": second, "out": snapshot(stage.out)}


def closed(stage: Stage, name: str, *numbers: int) -> dict[str, Any]:
    """Streams closed, as a shell does with ``>&-``."""

    def close() -> None:
        for number in numbers:
            os.close(number)
            setattr(sys, ("stdin", "stdout", "stderr")[number], None)

    return {**run(_argv(name, stage), stage.home, close), "out": snapshot(stage.out)}


def full_stdout(stage: Stage, name: str) -> dict[str, Any]:
    return {
        **run(_argv(name, stage), stage.home, lambda: _redirect(os.open("/dev/full", os.O_WRONLY))),
        "out": snapshot(stage.out),
    }


def broken_pipe(stage: Stage, name: str) -> dict[str, Any]:
    """Nobody reads what is printed."""
    reading, writing = os.pipe()
    os.close(reading)
    found = run(_argv(name, stage), stage.home, lambda: _redirect(writing))
    os.close(writing)
    return {**found, "out": snapshot(stage.out)}


def _redirect(handle: int) -> None:
    os.dup2(handle, 1)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for the rest of the process


def _argv(name: str, stage: Stage) -> list[str]:
    return {**COMMANDS, **PRINTING}[name].argv(stage.out)


class Steps:
    """Counts the function calls of a command from the moment at which it hears signals, and may send one.

    A signal that comes after a number of calls meets the command at the same place each time, however busy the machine
    is; one that comes after a part of a second does not.
    """

    def __init__(self, number: int = 0, at: int = 0) -> None:
        self.number, self.at, self.taken = number, at, 0

    def watch(self) -> None:
        """To be called before the command."""
        ready = cpwl.cli.shared._open_streams  # the first step after `listening`

        def begin() -> None:
            sys.setprofile(self._count)
            ready()

        cpwl.cli.shared._open_streams = begin

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self.taken += 1
            if self.taken == self.at:
                sys.setprofile(None)
                os.kill(os.getpid(), self.number)


def counted(argv: list[str], home: Path) -> tuple[dict[str, Any], int]:
    """How a command ends without a fault, and how many function calls it makes."""
    steps, note = Steps(), home / "steps"
    found = run(argv, home, steps.watch, lambda: note.write_text(str(steps.taken)) and None)
    taken = int(note.read_text())
    note.unlink()
    return found, taken


def signalled(stage: Stage, name: str, number: int, at: int) -> dict[str, Any]:
    """A signal at a certain function call."""
    command = {**COMMANDS, **PRINTING}[name]
    put_old(stage.out, command.writes)
    return {**run(command.argv(stage.out), stage.home, Steps(number, at).watch), "out": snapshot(stage.out)}


def interrupted_while_writing(stage: Stage, name: str, step: str, at: int) -> dict[str, Any]:
    """Ctrl-C just before the `at`-th call of a function of the system that writing uses."""
    command = COMMANDS[name]
    put_old(stage.out, command.writes)

    def prepare() -> None:
        real, calls = getattr(os, step), 0

        def interrupt(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            if str(stage.out) in os.getcwd() + "".join(map(str, args)) or step == "fsync":
                calls += 1
                if calls == at:
                    raise KeyboardInterrupt
            return real(*args, **kwargs)

        setattr(os, step, interrupt)

    return {**run(command.argv(stage.out), stage.home, prepare), "out": snapshot(stage.out)}


FAULTS: dict[str, Callable[[Stage, str], dict[str, Any]]] = {
    "full": lambda stage, name: full(stage, name, 0),
    "nearly full": lambda stage, name: full(stage, name, 4096),
    "read-only": read_only,
    "short files": short_files,
    "a folder": a_folder,
    "no folder": no_folder,
    "below a file": below_a_file,
    "a link": a_link,
    "the input": the_input,
    "twice": twice,
    "closed stdout": lambda stage, name: closed(stage, name, 1),
    "closed stderr": lambda stage, name: closed(stage, name, 2),
    "closed streams": lambda stage, name: closed(stage, name, 0, 1, 2),
    "full stdout": full_stdout,
    "broken pipe": broken_pipe,
    **{
        f"interrupted at {step} {at}": lambda stage, name, step=step, at=at: interrupted_while_writing(
            stage, name, step, at
        )
        for step, at in (("fsync", 1), ("fsync", 2), ("replace", 1), ("replace", 2), ("link", 1))
    },
}


MOUNTING = ("full", "nearly full", "read-only")
PRINTED = ("closed stdout", "closed streams", "full stdout", "broken pipe")  # the work is done, and cannot be told
QUICK = ("full", "the input", "broken pipe", "interrupted at replace 1", "SIGTERM 0.5")


def faults_of(name: str, steps: int, quick: bool) -> dict[str, Callable[[Stage, str], dict[str, Any]]]:
    """The faults that a command is put to."""
    faults = dict(FAULTS)
    # How many calls a command that measures time makes depends on how busy the machine is: only its beginning is sure.
    for part in (0.01,) if (COMMANDS | PRINTING)[name].timed else (0.1, 0.3, 0.5, 0.7, 0.9):
        for number in (signal.SIGINT, signal.SIGTERM):
            faults[f"{number.name} {part}"] = partial(signalled, number=number, at=max(1, int(part * steps)))
    if name in PRINTING:
        faults = {key: fault for key, fault in faults.items() if key.startswith(("closed", "full s", "broken", "SIG"))}
    return {key: fault for key, fault in faults.items() if not quick or key in QUICK}


def main(names: list[str], quick: bool) -> None:
    """Every command under every fault, or under a few."""
    may_mount = mounts()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.chdir(home)
        with contextlib.redirect_stdout(io.StringIO()):
            make_inputs(home)
        stage = Stage(home)
        inputs = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
        for name in names:
            stage.clear()
            with contextlib.redirect_stdout(io.StringIO()):
                cpwl.cli.main(_argv(name, stage))  # loads what this command needs, for all its forks
            stage.clear()
            usual, steps = counted(_argv(name, stage), home)
            _print(stage, name, "none", {**usual, "out": snapshot(stage.out)}, inputs)
            for fault, make in faults_of(name, steps, quick).items():
                if fault not in MOUNTING or may_mount:
                    stage.clear()
                    _print(stage, name, fault, make(stage, name), inputs)


def _print(stage: Stage, name: str, fault: str, found: dict[str, Any], inputs: dict[Path, bytes]) -> None:
    kept = all(path.is_file() and path.read_bytes() == data for path, data in inputs.items())
    found |= {"command": name, "fault": fault, "inputs kept": kept, "tmp": snapshot(stage.home / "tmp")}
    print(json.dumps(found), flush=True)
    for path, data in inputs.items():
        path.write_bytes(data)


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--quick"], "--quick" in sys.argv)
