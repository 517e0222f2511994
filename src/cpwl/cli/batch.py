"""``cpwl batch``: every function in a folder compiled, each in a process of its own."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import typer

from cpwl.cli.compile import known_construction
from cpwl.cli.shared import Code, Dtype, Minimize, Precision, file_argument, output_option

_COLUMNS = ("input", "status", "code", "output", "pieces", "neurons", "depth", "construction", "statement", "seconds")
_GRACE = 10.0  # seconds beyond --timeout after which a process is killed


def batch(
    folder: Annotated[Path, file_argument("FOLDER", "Folder with the functions, one per file.")],
    output: Annotated[Path, output_option("OUT", "Output folder.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of functions compiled at the same time.")] = 1,
    construction: Annotated[
        str, typer.Option(callback=known_construction, help="Construction, as for `cpwl compile`.")
    ] = "auto",
    minimize: Annotated[Minimize, typer.Option(help="Size to minimize.")] = "neurons",
    precision: Annotated[
        Precision | None, typer.Option(help="Arithmetic in which the networks will be evaluated.")
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="Type of the weights.")] = "float64",
    certify: Annotated[bool, typer.Option("--certify", help="Prove each network.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Time limit for each function.")
    ] = None,
    max_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory limit for each function, such as 4G.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Recompile functions that an earlier run has finished.")
    ] = False,
) -> None:
    """Compile every function in a folder. OUT/results.csv and OUT/results.jsonl have one line per function.

    Each function is compiled in its own process, so that a failure affects only its own line. A function is skipped if
    its file, the options, the version of cpwl and the files that an earlier run wrote for it are unchanged (SHA-256).
    """
    from cpwl.errors import InputError
    from cpwl.files import make_folder, write_text

    jobs = list(_jobs(folder, output))
    if not jobs:
        raise InputError(f"`{folder}` contains no file with a function", path=str(folder))
    if output.exists() and output.samefile(folder):
        raise InputError(f"the output folder must not be the input folder `{folder}`", path=str(output))
    options = ["--construction", construction, "--minimize", minimize, "--dtype", dtype]
    options += ["--certify"] if certify else []
    options += [] if precision is None else ["--precision", precision]
    options += [] if timeout is None else ["--timeout", str(timeout)]
    options += [] if max_memory is None else ["--max-memory", max_memory]
    make_folder(output)
    notes = output / "results.jsonl"
    known = {} if again else _known(notes)
    lines: dict[str, dict[str, Any]] = {}
    todo = []
    for job in jobs:
        line = known.get(job.name)
        # Failures are tried again.
        done = line is not None and line.get("status") == "done" and job.target.is_file()
        if line is not None and done and line.get("key") == job.key(options) and line.get("files") == job.written():
            lines[job.name] = line
        else:
            todo.append(job)
    if lines:
        print(f"{len(lines)} of {len(jobs)} were finished by an earlier run")

    def save() -> None:
        ordered = [lines[job.name] for job in jobs if job.name in lines]
        write_text(notes, "".join(json.dumps(line) + "\n" for line in ordered))
        write_text(output / "results.csv", _table(ordered))

    save()
    running = _Running()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for job, line in zip(todo, pool.map(lambda job: _run(job, options, timeout, running), todo), strict=True):
                lines[job.name] = line
                save()
                print(_sentence(line), flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            running.end()
            raise
    failed = sum(line["status"] != "done" for line in lines.values())
    print(f"{output / 'results.csv'}: {len(lines) - failed} done, {failed} failed")
    raise typer.Exit(Code.DONE if not failed else Code.UNDECIDED)


@dataclass(slots=True)
class _Running:
    """The processes that compile now: when the batch ends early, they end too, and no other one starts."""

    processes: set[subprocess.Popen[str]] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)
    ended: bool = False

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Start a process, unless the batch has ended."""
        with self.lock:
            if self.ended:
                raise CancelledError
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.processes.add(process)
            return process

    def end(self) -> None:
        """Terminate all processes."""
        with self.lock:
            self.ended = True
            for process in tuple(self.processes):
                process.terminate()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A function in a file, and where its network goes."""

    source: Path
    name: str
    target: Path

    def key(self, options: list[str]) -> str:
        """What the result depends on."""
        from cpwl import __version__
        from cpwl.files import read_bytes

        return sha256(repr([__version__, *options]).encode() + read_bytes(self.source)).hexdigest()

    def written(self) -> dict[str, str]:
        """The digests of the network and of its proof, as far as they are there."""
        both = (self.target, self.target.with_suffix(".proof.json"))
        return {path.name: sha256(path.read_bytes()).hexdigest() for path in both if path.is_file()}


def _jobs(folder: Path, output: Path) -> Iterator[_Entry]:
    from cpwl.errors import InputError
    from cpwl.io.endings import doors

    if not folder.is_dir():
        raise InputError(f"`{folder}` is not a folder", path=str(folder))
    endings = tuple(door.ending for door in doors("read"))
    taken: set[str] = set()
    for source in sorted(folder.iterdir()):
        if not source.is_file() or not source.name.lower().endswith(endings) or source.name.endswith(".proof.json"):
            continue
        stem = source.stem if source.stem not in taken else source.name  # law.json and law.csv
        taken.add(stem)
        yield _Entry(source, source.name, output / f"{stem}.onnx")


def _run(job: _Entry, options: list[str], timeout: float | None, running: _Running) -> dict[str, Any]:
    line: dict[str, Any] = {"input": job.name, "key": job.key(options)}
    command = [sys.executable, "-m", "cpwl", "compile", str(job.source), "-o", str(job.target), "--json", *options]
    limit = None if timeout is None else timeout + _GRACE
    with running.start(command) as process:
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return line | {"status": f"killed after {limit:g} s", "code": int(Code.UNDECIDED)}
        finally:
            running.processes.discard(process)
    if process.returncode != 0:
        said = [each for each in errors.splitlines() if each.startswith("error: ")]
        ended = f"the process ended with {process.returncode}"
        return line | {"status": said[-1][7:] if said else ended, "code": process.returncode}
    found = json.loads(out.splitlines()[-1])
    return line | {
        "status": "done",
        "code": 0,
        "output": job.target.name,
        "files": job.written(),
        "pieces": found["pieces"],
        "neurons": found["sizes"]["neurons"],
        "depth": found["sizes"]["depth"],
        "construction": found["construction"],
        "statement": found.get("statement"),
        "seconds": found["seconds"],
    }


def _known(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of an earlier run, as far as they can be read."""
    found = {}
    if path.is_file():
        for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
                found[str(line["input"])] = line
            except (ValueError, TypeError, KeyError):
                continue
    return found


def _table(lines: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    rows = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", restval="", lineterminator="\n")
    rows.writeheader()
    rows.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets do not show."""
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value


def _sentence(line: dict[str, Any]) -> str:
    if line["status"] != "done":
        return f"{line['input']}: failed: {line['status']}"
    return f"{line['input']}: {line['pieces']:,} pieces, {line['neurons']:,} neurons ({line['construction']})"
