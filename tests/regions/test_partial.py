"""Searches that end early: what was found is kept, says so, and never replaces more."""

import os
import signal
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from cpwl import CpwlWarning, InputError, Network, equal, extract
from cpwl.cli import main
from cpwl.cli.shared import Code, listening
from cpwl.io.json import load, save


def grid(n):
    """Neurons along all axes, whole numbers."""
    return Network([(np.concatenate([np.eye(n)] * 2), [0] * n + [-1] * n), (np.ones((1, 2 * n)), [0])])


@pytest.fixture
def network():
    return grid(2)


def test_a_file_says_that_pieces_are_missing(network, tmp_path):
    """So that the part is not taken for the whole when it is read again."""
    part = extract(network, max_regions=4)
    save(part, tmp_path / "part.json")
    again = load(tmp_path / "part.json")
    assert again.complete is False
    with pytest.raises(InputError, match="extracted in part"):
        equal(network, again)
    assert extract(network, resume=again).complete


def test_that_a_file_is_complete_is_not_believed(network, tmp_path):
    """Anybody can write so; only the search knows."""
    save(extract(network), tmp_path / "all.json")
    text = (tmp_path / "all.json").read_text()
    assert '"complete"' not in text
    (tmp_path / "all.json").write_text(text.replace('"domain": null', '"domain": null, "complete": true'))
    assert load(tmp_path / "all.json").complete is None


def test_a_file_that_holds_more_is_not_replaced(network, tmp_path, capsys):
    """Neither by a smaller limit nor by an interruption."""
    save(network, tmp_path / "network.json")
    command = ["extract", str(tmp_path / "network.json"), "-o", str(tmp_path / "out.json")]
    assert main([*command, "--max-regions", "6"]) == Code.UNDECIDED
    before = (tmp_path / "out.json").read_bytes()
    assert load(tmp_path / "out.json").num_pieces == 6
    assert main([*command, "--max-regions", "3"]) == Code.UNDECIDED
    assert (tmp_path / "out.json").read_bytes() == before
    assert "holds 6 pieces" in capsys.readouterr().err
    assert main([*command, "--max-regions", "7"]) == Code.UNDECIDED
    assert load(tmp_path / "out.json").num_pieces == 7
    assert main(command) == Code.DONE
    assert load(tmp_path / "out.json").complete is None


def test_going_on_never_loses_pieces(network):
    """A search that is ended earlier than the one before it gives back what that one had found."""
    part = extract(network, max_regions=6)
    again = extract(network, resume=part, max_regions=2)
    assert (again.num_pieces, again.complete) == (6, False)


def terminate():
    """Sends the signal to this process, and waits for it."""
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()


def test_sigterm_is_an_interruption():
    """Only while the search is on."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), listening():
        terminate()
    assert signal.getsignal(signal.SIGTERM) is before


class Breaking(ThreadPoolExecutor):
    """Does two jobs, and then has no workers any more."""

    def __init__(self):
        super().__init__(1)
        self.jobs = 0

    def submit(self, function, /, *arguments, **more):
        self.jobs += 1
        if self.jobs > 2:
            raise BrokenExecutor("a process in the pool was terminated abruptly")
        return super().submit(function, *arguments, **more)


def test_a_broken_pool_does_not_lose_the_walk():
    """What is left is done here, with a warning, and nothing is different."""
    network = grid(9)
    with pytest.warns(CpwlWarning, match="a worker process died"), Breaking() as pool:
        part = extract(network, executor=pool, max_regions=200)
    alone = extract(network, max_regions=200)
    assert part.num_pieces == alone.num_pieces == 200
    assert part.polyhedra.A.tobytes() == alone.polyhedra.A.tobytes()
    assert part.laws.gradient.tobytes() == alone.laws.gradient.tobytes()
    more = extract(network, resume=part, max_regions=205)
    assert more.num_pieces == 205
