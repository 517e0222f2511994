"""How far data walks through the house is what ARCHITECTURE.md says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROGRAM = "import json, warnings, walks; warnings.simplefilter('ignore'); print(json.dumps(walks.walks()))"


@pytest.mark.slow
def test_walks_are_as_long_as_the_page_says() -> None:
    """Files within three, switches within a tenth: Python versions differ in what a function is."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## Walked as data")[2]
    rows = re.findall(r"^\| ([a-z_ ]+) \| \d+ \| (\d+) \| \d+ \| (\d+) \|", page, re.MULTILINE)
    assert {name for name, *_ in rows} == found.keys()
    for name, files, switches in rows:
        assert abs(found[name][0] - int(files)) <= 3, name
        assert abs(found[name][1] - int(switches)) <= 1 + int(switches) / 10, name
