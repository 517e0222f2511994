"""Limits of time, memory and neurons; workers; many functions at once: exit codes and what is left behind."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cpwl import CPWL, Network
from cpwl.cli import main
from cpwl.cli.limits import parse_memory
from cpwl.io.json import load, save
from support.clock import AtStep, Clock


@pytest.fixture
def law(tmp_path: Path) -> Path:
    path = tmp_path / "law.json"
    save(CPWL.from_breakpoints([0, 1, 2, 3], [0, 2, 1, 5]), path)
    return path


def wide(path: Path, widths: tuple[int, ...] = (4, 40, 40, 1), seed: int = 0) -> Path:
    """A network of very many regions."""
    rng = np.random.default_rng(seed)
    sizes = zip(widths, widths[1:], strict=False)  # noqa: RUF007
    save(Network([(rng.integers(-99, 99, (b, a)), rng.integers(-99, 99, b)) for a, b in sizes]), path)
    return path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cpwl", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_search_that_is_out_of_time_leaves_a_part_that_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clock: Clock, at_step: AtStep
) -> None:
    net, out = wide(tmp_path / "net.json", (5, 40, 1)), tmp_path / "out.json"
    at_step(5, clock.run_out)
    assert main(["extract", str(net), "-o", str(out), "--timeout", "1000"]) == 2
    assert "incomplete" in capsys.readouterr().out
    assert json.loads(out.read_text())["complete"] is False
    found = load(out)
    assert isinstance(found, CPWL)
    assert found.complete is False
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_what_has_no_part_to_show_writes_nothing(tmp_path: Path) -> None:
    net = wide(tmp_path / "net.json", (3, 60, 60, 60, 1))
    done = run("compress", net, "-o", tmp_path / "small.onnx", "--timeout", "0.01")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("error: ") == 1
    assert "--timeout" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == [net]


def test_memory_in_use_has_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, at_step: AtStep
) -> None:
    """When a part of the regions is counted more memory is in use than is allowed, and that part is told."""
    used = threading.Event()
    monkeypatch.setattr("cpwl.cli.limits.memory_in_use", lambda: 10**12 if used.is_set() else 0)
    at_step(5, lambda: used.set() or signal.pause())  # until it is seen
    assert main(["count", str(wide(tmp_path / "net.json", (4, 70, 1))), "--max-memory", "250G"]) == 2
    said = capsys.readouterr()
    assert "at least" in said.out
    assert said.err == ""


def test_a_count_that_is_out_of_time_says_at_least(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], clock: Clock, at_step: AtStep
) -> None:
    at_step(1, clock.run_out)
    assert main(["count", str(wide(tmp_path / "net.json", (3, 70, 1))), "--cells", "--timeout", "1000"]) == 2
    assert "at least" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "size"), [("1k", 1000), ("2M", 2 * 10**6), ("1.5GB", 15 * 10**8), ("7", 7), ("1GiB", 10**9)]
)
def test_sizes_of_memory_have_units_of_ten(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1G", "0", "1Q"])
def test_what_is_no_size_of_memory(law: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(law), "-o", str(law.with_suffix(".onnx")), "--max-memory", text]) == 64
    assert "is not a size" in capsys.readouterr().err


def test_more_neurons_than_allowed_are_not_written(law: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = law.with_suffix(".onnx")
    assert main(["compile", str(law), "-o", str(out), "--max-neurons", "1"]) == 2
    assert "and --max-neurons allows 1" in capsys.readouterr().err
    assert not out.exists()
    assert main(["compile", str(law), "-o", str(out), "--max-neurons", "100"]) == 0


def test_limits_that_are_not_reached_change_nothing(law: Path) -> None:
    plain, limited = law.with_name("a.json"), law.with_name("b.json")
    assert main(["compile", str(law), "-o", str(plain)]) == 0
    assert main(["compile", str(law), "-o", str(limited), "--timeout", "100", "--max-memory", "100G"]) == 0
    assert plain.read_bytes() == limited.read_bytes()
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_workers_change_no_byte_of_files(tmp_path: Path) -> None:
    net = wide(tmp_path / "net.json", (2, 8, 6, 1))
    for out, more in (("a", []), ("b", ["--workers", "2"])):
        assert main(["extract", str(net), "-o", str(tmp_path / out), *more]) == 0
    alone, shared = (sorted((tmp_path / out).iterdir()) for out in "ab")
    assert [each.name for each in alone] == [each.name for each in shared]
    assert [each.read_bytes() for each in alone] == [each.read_bytes() for each in shared]


def test_counts_are_those_of_the_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = wide(tmp_path / "net.json", (2, 10, 1))
    assert main(["count", str(net), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["activation_cells"] == 1 + 10 + 45
    assert main(["count", str(net), "--cells", "--checkpoint", str(tmp_path / "notes")]) == 0
    assert "56 activation cells" in capsys.readouterr().out
    assert main(["count", str(net), "--checkpoint", str(tmp_path / "notes")]) == 64
    assert main(["count", str(net), "--cells", "--max-regions", "5"]) == 2


def test_a_missing_scheduler_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    net = wide(tmp_path / "net.json", (2, 3, 1))
    assert main(["count", str(net), "--dask", "nonsense://"]) == 65
    assert "no Dask scheduler" in capsys.readouterr().err


# --- many functions ---------------------------------------------------------------------------------------------------


def test_a_batch_isolates_failures_and_goes_on(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for i in range(2):
        save(CPWL.from_breakpoints([0, 1, 2], [0, i, 1]), folder / f"f{i}.json")
    (folder / "broken.json").write_text("{")
    (folder / "note.md").write_text("not a function")
    done = run("batch", folder, "-o", out, "--workers", 2, "--certify")
    assert done.returncode == 2, done.stderr
    with open(out / "results.csv", newline="") as file:
        rows = {row["input"]: row for row in csv.DictReader(file)}
    assert sorted(rows) == ["broken.json", "f0.json", "f1.json"]
    assert rows["broken.json"]["code"] == "65"
    assert all(rows[f"f{i}.json"]["status"] == "done" for i in range(2))
    assert all(rows[f"f{i}.json"]["statement"] for i in range(2))
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [line["input"] for line in lines] == sorted(rows)
    # Repaired and run again: only what failed, or changed, is done.
    save(CPWL.from_breakpoints([0, 1], [0, 1]), folder / "broken.json")
    times = {path: path.stat().st_mtime_ns for path in out.glob("f*.onnx")}
    again = run("batch", folder, "-o", out, "--certify")
    assert again.returncode == 0, again.stderr
    assert "2 of 3 were finished by an earlier run" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in out.glob("f*.onnx")} == times
    # A proof that somebody has changed is made again.
    proof = out / "f0.proof.json"
    before = proof.read_bytes()
    proof.write_bytes(before.replace(b"1", b"2"))
    assert "2 of 3 were finished by an earlier run" in run("batch", folder, "-o", out, "--certify").stdout
    assert proof.read_bytes() == before


def test_a_batch_without_functions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", str(tmp_path), "-o", str(tmp_path / "out")]) == 65
    assert "contains no file with a function" in capsys.readouterr().err
    assert main(["batch", str(tmp_path / "nowhere"), "-o", str(tmp_path / "out")]) == 65


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["=1+2.json", "+1.json", "-1.json", "@SUM(A1).json"])
def test_names_of_files_are_no_formulas_in_a_spreadsheet(tmp_path: Path, name: str) -> None:
    """A cell that begins like a formula is a text: it has an apostrophe in front."""
    folder = tmp_path / "laws"
    folder.mkdir()
    (folder / name).write_text("{}")
    assert main(["batch", str(folder), "-o", str(tmp_path / "out")]) == 2
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert f"'{name}" in cells
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@")]


def test_a_batch_does_not_read_its_own_results(law: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", str(law.parent), "-o", str(law.parent)]) == 65
    assert "must not be the input folder" in capsys.readouterr().err
    assert list(law.parent.iterdir()) == [law]


def test_a_terminated_search_keeps_its_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], at_step: AtStep
) -> None:
    net, out = wide(tmp_path / "net.json", (3, 60, 1)), tmp_path / "parts"
    at_step(1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["extract", str(net), "-o", str(out), "--float"]) == 2
    said = capsys.readouterr()
    assert "run the same command again" in said.out
    assert said.err == ""
    assert len((out / "journal.jsonl").read_text().splitlines()) > 1


def test_a_batch_that_is_terminated_ends_what_it_is_just_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signal comes after a process was started and before the batch has noted it."""
    folder, out, late = tmp_path / "in", tmp_path / "out", tmp_path / "late"
    folder.mkdir()
    save(CPWL.from_breakpoints([0, 1, 2], [0, 1, 0]), folder / "law.json")
    real = subprocess.Popen

    def start(_command: list[str], **options: Any) -> subprocess.Popen[str]:
        step = f"import time; time.sleep(60); open({str(late)!r}, 'w')"
        process = real([sys.executable, "-c", step], **options)
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(0.5)  # a batch that does not wait for the note has missed it; none fails for being slow
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    assert main(["batch", str(folder), "-o", str(out)]) == 143
    assert capsys.readouterr().err == "terminated\n"
    assert not late.exists()


@pytest.mark.slow
def test_a_batch_that_is_terminated_ends_what_it_has_started(tmp_path: Path) -> None:
    """At once, not when the function that is being compiled is done; and it goes on when it is given again."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    save(CPWL.from_breakpoints([0, 1, 2], [0, 1, 0]), folder / "fast.json")
    rng = np.random.default_rng(0)
    save(CPWL.from_grid([range(40), range(40)], rng.integers(0, 99, (40, 40))), folder / "slow.json")
    command = [sys.executable, "-m", "cpwl", "batch", str(folder), "-o", str(out), "--construction", "lattice"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("fast.json: ")
        os.kill(process.pid, signal.SIGTERM)
        _, said = process.communicate()
    assert (process.returncode, said) == (143, "terminated\n")
    assert sorted(path.name for path in out.iterdir()) == ["fast.onnx", "results.csv", "results.jsonl"]
