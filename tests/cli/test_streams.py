"""Closed and full streams: one sentence where there is room for it, and an exit code in any case."""

import os
import subprocess
import sys

import pytest

from cpwl.cli import main
from support.json_examples import NETWORK, PIECES, TABLE, write

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
COMMAND = f"{sys.executable} -m cpwl"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("bounds --pieces 3 >&-", 65, "standard output cannot be written: Bad file descriptor"),
        ("bounds --pieces 3 --json >/dev/full", 65, "standard output cannot be written: No space left"),
        ("bounds --pieces 3 2>&-", 0, ""),
        ("nonsense 2>/dev/full", 64, ""),
        ("nonsense >/dev/full", 64, "No such command"),
        ("bounds --pieces 3 <&- >&- 2>&-", 65, ""),
    ],
)
def test_closed_and_full_streams(words, code, message):
    """The message, if stderr takes it, is one line, and there is no traceback."""
    done = subprocess.run(["bash", "-c", f"{COMMAND} {words}"], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_closed_stdout_is_not_taken_by_a_file(tmp_path):
    """What is printed does not end up in the file that is written."""
    law = write(tmp_path / "law.json", TABLE)
    words = f"compile {law} -o {tmp_path}/net.json >&-"
    done = subprocess.run(["bash", "-c", f"{COMMAND} {words}"], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 65
    assert (tmp_path / "net.json").read_text().startswith('{\n"format": "cpwl-network"')


def test_messages_are_short_and_printable(tmp_path, capsys):
    """Names from files may be long, and may hold what moves the cursor."""
    law = write(tmp_path / "law.json", {**PIECES, "\x1b[31m" + "a" * 10**6: 1})
    assert main(["doctor", str(law)]) == 65
    said = capsys.readouterr().err
    assert len(said) < 3000
    assert "\x1b" not in said
    assert "\\x1b[31maaa" in said


def test_shells_complete_commands_and_options(monkeypatch, capfd):
    """As the script does that `cpwl --show-completion` prints; a completed line is no closed pipe."""
    monkeypatch.setenv("_CPWL_COMPLETE", "complete_bash")
    for words, found in (("cpwl comp", {"compile", "compress"}), ("cpwl ask --conv", {"--convex"})):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert main([]) == 0
        assert set(capfd.readouterr().out.split()) == found


HALFWAY = """
import os, signal, sys, zipfile
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it
from cpwl.cli import main
def interrupted(archive, *_args, **_options):
    archive._writing = True  # an entry is open, as it is in the middle of `writestr`
    os.kill(os.getpid(), signal.SIGINT)
zipfile.ZipFile._open_to_write = interrupted
sys.exit(main(["convert", *sys.argv[1:]]))
"""


def test_an_interrupted_command_says_nothing_of_what_is_half_done(tmp_path):
    """A zip file that is deleted while an entry of it is open complains, after the command has ended it."""
    net = write(tmp_path / "net.json", NETWORK)
    done = subprocess.run(
        [sys.executable, "-c", HALFWAY, str(net), str(tmp_path / "net.npz")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.json"]
