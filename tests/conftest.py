"""Settings shared by all tests."""

import os
import tempfile
from pathlib import Path

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


@pytest.fixture(scope="session", autouse=True)
def _key_of_checkpoints():
    """Tests have a key of their own, in a folder that goes with them; commands that they start have it, too."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CPWL_JOURNAL_KEY", os.environ.get("CPWL_JOURNAL_KEY", str(Path(folder, "journal.key"))))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one case of the catalogue go to one worker, where what was compiled and proved is at hand.

    (`--dist loadgroup`; without workers it changes nothing.)
    """
    for item in items:
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")  # type: ignore[attr-defined]
        if isinstance(name, str) and name in pinned():
            item.add_marker(pytest.mark.xdist_group(name))
