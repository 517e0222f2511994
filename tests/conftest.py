"""Settings shared by all tests."""

import gc
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support.clock import at_step, clock
from support.pinned import pinned

__all__ = ["at_step", "clock"]  # fixtures

# Times vary on shared machines; a deadline would test the machine. `make test` takes the same examples each time, so
# that a failure comes from the change under test; `make test-all` takes new ones (`--hypothesis-profile=random`), more
# of them, and says how to repeat what fails.
settings.register_profile("cpwl", deadline=None, max_examples=20, derandomize=True)
settings.register_profile("random", deadline=None, max_examples=100, derandomize=False, print_blob=True)
settings.load_profile("cpwl")

# Files that start processes of their own: one after the other.
PROCESSES = {
    "tests/test_workers.py",
    "tests/test_executors.py",
    "tests/regions/test_portions.py",
    "tests/regions/test_tiles.py",
}

# Files with few tests that take long: they come early, so that no worker begins one when the other is done.
LONG = (
    "tests/soak/test_soak.py",
    "tests/docs/test_code_runs.py",
    "tests/show/test_demo.py",
    "tests/cli/test_limits_of_commands.py",
    "tests/cli/test_faults.py",
    "tests/cli/test_supervise.py",
    "tests/test_examples.py",
    "tests/io/test_float_laws.py",
    "tests/function/snap/test_patches.py",
    "tests/function/snap/test_straight.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked ``one_in(k)``, all cases but one in `k` are slow; those that stay are spread over all axes.

    Tests of the functions of the catalogue keep the same ones, so that what they share is made for these only.
    """
    seen: Counter[str] = Counter()
    places = {name: place for place, name in enumerate(pinned())}
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            test, _, case = item.nodeid.partition("[")
            place = places.get(case.removesuffix("]"), seen[test])
            # Multiples of the golden ratio are spread evenly, whatever the lengths of the axes are.
            if place * (5**0.5 - 1) / 2 % 1 >= 1 / mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[test] += 1


def pytest_configure() -> None:
    """No garbage is looked for while tests are collected: 20,000 of them are, and stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


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

        def schedule(self) -> None:
            super().schedule()
            for scope in reversed(LONG):
                if scope in self.workqueue:
                    self.workqueue.move_to_end(scope, last=False)

    return Shared(config, log)
