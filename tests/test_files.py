"""Files are there whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from cpwl import files as atomic
from cpwl.errors import InputError
from cpwl.files import write_bytes, write_text, write_together, written


def test_writes_bytes(tmp_path):
    """The file has the content, and nothing else is in the folder."""
    write_bytes(tmp_path / "a", b"\x00\r\n\xff")
    assert (tmp_path / "a").read_bytes() == b"\x00\r\n\xff"
    assert os.listdir(tmp_path) == ["a"]


def test_writes_text(tmp_path):
    """Text is UTF-8 with its own line ends."""
    write_text(tmp_path / "a", "é\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_failure_leaves_the_old_file(tmp_path, monkeypatch, step):
    """When writing fails the old content stays and no draft is left."""
    (tmp_path / "a").write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, step, fail)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        write_bytes(tmp_path / "a", b"new")
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_interrupt_leaves_no_draft(tmp_path, monkeypatch):
    """Ctrl-C in the middle leaves nothing behind."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_bytes(tmp_path / "a", b"new")
    assert os.listdir(tmp_path) == []


def test_missing_folder(tmp_path):
    """A folder that is not there is the caller's mistake, in one sentence."""
    with pytest.raises(InputError, match="No such file or directory"):
        write_bytes(tmp_path / "no" / "a", b"")


def test_a_folder_is_no_file(tmp_path):
    """A folder is not overwritten."""
    with pytest.raises(InputError, match="Is a directory"):
        write_bytes(tmp_path, b"")


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are as on POSIX systems")
def test_permissions(tmp_path):
    """A new file has the permissions that `open` gives, and an old one keeps its own."""
    (tmp_path / "old").write_bytes(b"")
    usual = stat.S_IMODE((tmp_path / "old").stat().st_mode)
    (tmp_path / "old").chmod(0o640)
    for name in ("old", "new"):
        write_bytes(tmp_path / name, b"x")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == usual


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are as on POSIX systems")
def test_links_are_followed(tmp_path):
    """A symbolic link stays one, and the file behind it is written."""
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.skipif(os.name != "posix", reason="devices are as on POSIX systems")
def test_devices_are_written_to():
    """A device is not replaced by a file."""
    write_bytes(os.devnull, b"x")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


# --- files that belong together ---------------------------------------------------------------------------------------


def test_all_are_written_or_none(tmp_path):
    """A folder in the way of the second: the first stays as it was, and nothing else is there."""
    (tmp_path / "network").write_bytes(b"old")
    (tmp_path / "proof").mkdir()
    with pytest.raises(InputError, match=r"cannot write .*proof"):
        write_together([(tmp_path / "network", b"new"), (tmp_path / "proof", b"new")])
    assert (tmp_path / "network").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["network", "proof"]


def test_what_was_said_about_the_old_file_goes_first(tmp_path, monkeypatch):
    """Ended between the two, there is a new network without a proof, never with the proof of the old one."""
    network, proof = tmp_path / "network", tmp_path / "proof"
    for path in (network, proof):
        path.write_bytes(b"old")
    real, calls = os.replace, []

    def replace(*paths):
        calls.append(paths)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*paths)

    monkeypatch.setattr(atomic.os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write_together([(network, b"new"), (proof, b"new")])
    assert network.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["network"]
    assert written()[-1] == str(network)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without names are as on Linux")
def test_a_draft_has_no_name(tmp_path, monkeypatch):
    """Whoever kills the process while it writes finds nothing new in the folder."""
    seen = []
    real = os.fsync

    def look(handle):
        seen.append(os.listdir(tmp_path))
        real(handle)

    monkeypatch.setattr(atomic.os, "fsync", look)
    write_bytes(tmp_path / "a", b"new")
    assert seen == [[]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX systems")
def test_two_processes_do_not_mix_their_files(tmp_path):
    """Each of two processes writes a pair, many times: whenever nobody writes, the two are of one process."""
    program = """
import sys
from cpwl.files import write_together
folder, said = sys.argv[1], sys.argv[2].encode()
for _ in range(60):
    write_together([(folder + "/a", said), (folder + "/b", said)])
"""
    for _ in range(3):
        both = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in ("one", "two")]
        assert [process.wait() for process in both] == [0, 0]
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["a", "b"]
