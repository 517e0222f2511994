"""Every command under faults of the system: one sentence, the right code, nothing half-written, inputs untouched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support.commands import COMMANDS, PRINTING
from support.faults import PRINTED

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals, streams and disks are as on POSIX systems"),
]
FAST = [name for name, command in {**COMMANDS, **PRINTING}.items() if not command.slow]
SLOW = [name for name in {**COMMANDS, **PRINTING} if name not in FAST]
FOLDERS = {name for name, command in COMMANDS.items() if command.writes and "." not in command.writes[0]}
# Searches whose parts are kept, and runs of many commands: what was done until then is there, and is complete.
RESUMABLE = {"extract parts", "count with notes", "batch", "demo"}


def results(*words: str) -> Iterator[dict[str, Any]]:
    """What happened, from a process that may mount disks where the system lets it."""
    command = [sys.executable, "-m", "support.faults", *words]
    own = ["unshare", "--map-root-user", "--mount"]
    if shutil.which("unshare") and subprocess.run([*own, "true"], capture_output=True, check=False).returncode == 0:
        command = [*own, *command]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return map(json.loads, done.stdout.splitlines())


@pytest.fixture(scope="module")
def quick() -> dict[str, list[dict[str, Any]]]:
    """A few faults of every command."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in results("--quick", *FAST):
        found.setdefault(each["command"], []).append(each)
    return found


def codes(name: str, fault: str, usual: int) -> set[int]:
    """The exit codes that are right."""
    kind = fault.split()[0]
    if kind in ("SIGINT", "SIGTERM"):  # which always comes
        number = 143 if kind == "SIGTERM" else 130
        return {number, usual, 2} if name in RESUMABLE else {number}
    if kind == "interrupted":
        return {130, usual, 2} if name in RESUMABLE else {130, usual}
    if fault in ("full", "read-only", "short files", "below a file", "closed stdout", "closed streams", "full stdout"):
        return {65}
    return {
        "nearly full": {0, 65},
        "a folder": {0, 65} if name in FOLDERS else {65},
        "no folder": {0} if name in FOLDERS - {"vnnlib"} else {65},
        "a link": {0, 65} if name in FOLDERS else {0},
        "the input": {64},
        "twice": {0, 65} if name in FOLDERS else {0},
        "broken pipe": {141},
        "closed stderr": {usual},
    }[fault]


def defects(found: dict[str, Any], usual: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the way in which a command ended."""
    name, fault, code, said = found["command"], found["fault"], found["code"], found["stderr"]
    if code not in codes(name, fault, usual["code"]):
        yield f"the code is {code}"
    if "Traceback" in said or "Exception ignored" in said or len(said.replace("\nTry `", "").splitlines()) > 1:
        yield "that is not one sentence"
    if code in (2, 64, 65, 70) and not said and name not in RESUMABLE and fault != "closed streams":
        yield "nothing was said"
    if fault in ("full", "read-only") and "cannot" not in said:
        yield "it does not say what cannot be written"
    if "printed" in said and fault not in (*PRINTED, "short files"):
        yield "that is not what went wrong"
    if not found["inputs kept"]:
        yield "an input was changed"
    if found["tmp"] or any(path.rpartition("/")[2].startswith(".") for path in found["out"]):
        yield "something is left over"
    if found.get("second", {"code": 0})["code"] not in ({0, 65} if name in FOLDERS else {0}):
        yield f"the other run ended with {found['second']}"
    new = {path for path, what in found["out"].items() if what not in ("old", "folder")}
    ends = {code, found.get("second", found)["code"]}  # of two runs at once one may write a folder, and the other none
    if usual["code"] in ends or fault in PRINTED:
        if fault not in ("a link", "no folder") and not new >= {p for p, w in usual["out"].items() if w != "folder"}:
            yield "something is missing"
    elif fault not in ("the input", "a link") and new and name not in RESUMABLE:
        yield from _parts(name, fault, new)


def _parts(name: str, fault: str, new: set[str]) -> Iterator[str]:
    """Of files that belong together the first may be alone, if the run ended between them."""
    writes = COMMANDS[name].writes
    if fault != "interrupted at replace 2" or new != {writes[0]} or len(writes) == 1:
        yield f"{sorted(new)} was written"


@pytest.mark.parametrize("name", FAST)
def test_a_few_faults_leave_nothing_half_written(quick: dict[str, list[dict[str, Any]]], name: str) -> None:
    check(quick[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FAST, *SLOW])
def test_all_faults_leave_nothing_half_written(name: str) -> None:
    check(list(results(name)))


def check(found: list[dict[str, Any]]) -> None:
    usual, *others = found
    assert usual["code"] in (0, 1), usual
    assert len(others) > 1
    wrong = [(each, list(defects(each, usual))) for each in others if "skip" not in each]
    assert [each for each in wrong if each[1]] == []
