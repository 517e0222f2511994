"""Settings shared by all tests."""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support.clock import at_step, clock
from support.pinned import pinned

__all__ = ["at_step", "clock"]  # fixtures

# Times vary on shared machines; a deadline would test the machine. `make test` takes the same examples each time, so
# that a failure comes from the change under test; `make test-all` takes new ones (`--hypothesis-profile=random`), and
# says how to repeat what fails.
settings.register_profile("cpwl", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=60, derandomize=False, print_blob=True)
settings.load_profile("cpwl")

# Files that start processes of their own: one after the other.
PROCESSES = {
    "tests/test_workers.py",
    "tests/test_executors.py",
    "tests/regions/test_portions.py",
    "tests/regions/test_tiles.py",
}


@pytest.fixture(scope="session", autouse=True)
def _key_of_checkpoints():
    """Tests have a key of their own, in a folder that goes with them; commands that they start have it, too."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPWL_JOURNAL_KEY", os.environ.get("CPWL_JOURNAL_KEY", str(Path(folder, "journal.key"))))
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """What tests share is made once: a file goes to one worker, and so do all tests of a case of the catalogue.

    (`--dist loadgroup` would do so by marks, but xdist 3.8 does not see them under pytest 9.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class Shared(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            case = re.search(r"\[(\w+)", test)
            if case is not None and case[1] in pinned():
                return case[1]
            return "workers" if file in PROCESSES else file

    return Shared(config, log)
