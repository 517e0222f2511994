"""Limits are kept inside the long steps of libraries, too, and the processes that keep them leave nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cpwl import CPWL, Network
from cpwl.cli import main
from cpwl.io.json import save
from support.clock import Clock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX systems")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

# `info` with a step in the middle in which no signal is heard, as in a long call of C code. For the process that
# watches, an hour is over when it looks again and there is a file `late`: when the step is reached, whenever that is.
DEAF = """
import os, sys, tempfile, pathlib, time
import cpwl.cli.shared, cpwl.cli.limits, cpwl.io.endings
late = pathlib.Path(os.environ["TMPDIR"], "late")
ahead = 0
def sleep(seconds):
    global ahead
    time.sleep(seconds)
    ahead = 3600 * late.exists()
cpwl.cli.limits.sleep = sleep
cpwl.cli.limits.monotonic = lambda: time.monotonic() + ahead
def load(path):
    pathlib.Path(tempfile.mkdtemp(), "left").write_text("")
    {step}
cpwl.cli.shared.load_any = load
from cpwl.cli import main
sys.exit(main())
"""
WAIT = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)); late.touch(); time.sleep(60)"
MUCH = "kept = [bytearray(10**8) for _ in range(10**5)]"


def start(program: str, *words: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *words]
    environment = {**ENVIRONMENT, "TMPDIR": str(folder)}
    # A shell that starts the tests in the background has Ctrl-C ignored, by all that they start, too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_step_that_hears_nothing_is_ended_in_time(tmp_path: Path) -> None:
    """With one sentence, and no temporary file."""
    with start(DEAF.format(step=WAIT), "info", "law.json", "--timeout", "3000", folder=tmp_path) as process:
        out, said = process.communicate()
    assert (process.returncode, out) == (2, ""), said
    assert said == "error: the time limit of 3000 s (--timeout) was reached\n"
    assert [path.name for path in tmp_path.iterdir()] == ["late"]


def test_a_step_that_takes_all_memory_is_ended(tmp_path: Path) -> None:
    with start(DEAF.format(step=MUCH), "info", "law.json", "--max-memory", "400M", folder=tmp_path) as process:
        out, said = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert said.startswith("error: the memory limit (--max-memory) was reached: ")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_are_passed_on(tmp_path: Path, number: int, code: int) -> None:
    """Sent to the process that watches, heard by the one that works."""
    step = 'print("here", flush=True); time.sleep(60)'
    with start(DEAF.format(step=step), "info", "law.json", "--timeout", "100", folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        os.kill(process.pid, number)
        _, said = process.communicate()
    assert process.returncode == code, said
    assert said == ("interrupted\n" if number == signal.SIGINT else "terminated\n")
    assert list(tmp_path.iterdir()) == []


def test_the_one_that_works_does_not_outlive_the_one_that_watches(tmp_path: Path) -> None:
    """It would say so, and as long as it lives its stream is open."""
    step = 'print("here", flush=True); time.sleep(60); print("still here", flush=True)'
    with start(DEAF.format(step=step), "info", "law.json", "--timeout", "100", folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.kill()
        assert process.stdout.read() == ""


def test_a_signal_that_a_library_swallows_is_no_bug(tmp_path: Path) -> None:
    """NumPy turns what is raised inside it into errors of its own: what was heard counts."""
    step = "import os, signal\n    try: os.kill(os.getpid(), signal.SIGTERM)\n    except BaseException: raise TypeError"
    with start(DEAF.format(step=step), "info", "law.json", folder=tmp_path) as process:
        _, said = process.communicate()
    assert (process.returncode, said) == (143, "terminated\n")


def test_a_signal_that_python_drops_is_heard_at_the_next_call(tmp_path: Path) -> None:
    """Exceptions are ignored while a generator is closed: the command ends all the same, with one sentence."""
    step = """import os, signal
    def parts():
        try: yield
        finally: os.kill(os.getpid(), signal.SIGTERM)
    one = parts()
    next(one)
    del one
    print("still here", flush=True)"""
    with start(DEAF.format(step=step), "info", "law.json", folder=tmp_path) as process:
        out, said = process.communicate()
    assert (process.returncode, out, said) == (143, "", "terminated\n")


# --- what was found until then ----------------------------------------------------------------------------------------


@pytest.fixture
def net(tmp_path: Path) -> Path:
    save(Network([([[1, 2], [-1, 1], [2, -1]], [0, 1, -1]), ([[1, -1, 2]], [0])]), tmp_path / "net.json")
    return tmp_path / "net.json"


def test_questions_out_of_time_are_undecided(
    net: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """What was answered before is told, what comes after is not begun."""
    monkeypatch.setattr("cpwl.regions.inquiry.Inquiry.is_convex", lambda *_: clock.run_out())
    words = ["ask", str(net), "--max", "--convex", "--concave", "--box", "-1", "1", "--json", "--timeout", "1000"]
    assert main(words) == 2
    answers = json.loads(capsys.readouterr().out)["answers"]
    assert answers["max"]["exact"] == "4"
    assert [list(answers[name]) for name in ("convex", "concave")] == [["undecided"], ["undecided"]]


def test_equality_out_of_time_is_undecided(
    net: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("cpwl.equality.equal", lambda *_, **__: clock.run_out())
    assert main(["equal", str(net), str(net), "--json", "--timeout", "1000"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["equal"], found["reason"]) == (None, "the time limit of 1000 s (--timeout) was reached")


def test_a_clock_that_runs_by_itself_rings(
    net: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alarm of the system, and not of these tests: nothing but it ends this."""
    monkeypatch.setattr("cpwl.equality.equal", lambda *_, **__: signal.pause())
    assert main(["equal", str(net), str(net), "--json", "--timeout", "0.5"]) == 2
    assert json.loads(capsys.readouterr().out)["reason"] == "the time limit of 0.5 s (--timeout) was reached"


def test_neurons_are_counted_wherever_a_network_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    law, net = tmp_path / "law.json", tmp_path / "net.json"
    save(CPWL.from_breakpoints([0, 1, 2, 3], [0, 2, 1, 5]), law)
    save(Network([([[1, 2], [-1, 1], [2, -1]], [0, 1, -1]), ([[1, -1, 2]], [0])]), net)
    before = set(tmp_path.iterdir())
    for words in (
        ["compile", str(law), "-o", str(tmp_path / "a.onnx")],
        ["compress", str(net), "-o", str(tmp_path / "a.onnx")],
        ["milp", str(law), "-o", str(tmp_path / "a.lp"), "--box", "0", "3"],
        ["vnnlib", str(law), "-o", str(tmp_path / "a"), "--box", "0", "3"],
    ):
        assert main([*words, "--max-neurons", "1"]) == 2, words
        assert "and --max-neurons allows 1" in capsys.readouterr().err
        assert set(tmp_path.iterdir()) == before
        assert main([*words, "--max-neurons", "9"]) == 0, words
        capsys.readouterr()
        for made in set(tmp_path.iterdir()) - before:
            made.unlink() if made.is_file() else shutil.rmtree(made)
