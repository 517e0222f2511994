"""All code in README and docs runs as it stands, page by page and in order, in a folder of its own.

Blocks marked ``python`` run in one namespace for each page. In blocks without a language, or marked ``sh``, the lines
that begin with ``cpwl`` (or ``$ cpwl``) run as commands; they must end with exit code 0, or with the one that the
line's comment names ("exit code 2"). A page says ``<!-- run first`` .. ``-->`` for what a reader has already, such as a
file, and ``<!-- not run: reason -->`` before a block that is only shown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpwl.cli import main

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
STEP = re.compile(
    r"^<!-- run first\n(?P<first>.*?)^-->"
    r"|^<!-- not run: (?P<reason>.*?)-->\n+```\w*\n(?P<shown>.*?)^```"
    r"|^```(?P<language>\w*)\n(?P<block>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
# Commands that take long have tests of their own.
ELSEWHERE = {
    "cpwl demo": "tests/show/test_demo.py",
}
MOST_SKIPPED = 2


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """What a page asks to do: pairs of "python", "command" or "skipped" and a text."""
    for found in STEP.finditer(page.read_text()):
        if found["first"] is not None:
            yield "python", found["first"]
        elif found["reason"] is not None:
            yield "skipped", found["reason"]
        elif found["language"] == "python":
            yield "python", found["block"]
        elif found["language"] in ("", "sh"):
            for line in found["block"].splitlines():
                command = line.removeprefix("$ ")
                if command.startswith("cpwl ") and not command.startswith(tuple(ELSEWHERE)):
                    yield "command", command


def expected_code(command: str) -> int:
    """The exit status that the comment of a command names, otherwise 0."""
    named = re.search(r"#.*exit status (\d+)", command)
    return int(named[1]) if named else 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    """Every block of the page runs, in order; a page without code has nothing to show for it."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    done = 0
    for kind, text in steps(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), namespace)
        elif kind == "command":
            code = main(shlex.split(text, comments=True)[1:])
            assert code == expected_code(text), f"{text}\n{capsys.readouterr()}"
        done += 1
    assert done == len(list(steps(page)))
    assert ("```python" in page.read_text()) <= (done > 0)


def test_few_blocks_are_skipped():
    """What is only shown says why, and is rare."""
    skipped = [(page.name, text) for page in PAGES for kind, text in steps(page) if kind == "skipped"]
    assert len(skipped) <= MOST_SKIPPED, skipped
    assert all(len(text.split()) >= 3 for _, text in skipped)


def test_what_takes_long_is_tested_elsewhere():
    """The tests that are said to run the other commands are there."""
    for command, test in ELSEWHERE.items():
        assert command.split()[1] in (ROOT / test).read_text()


def test_the_reader_of_pages_sees_every_kind_of_step(tmp_path):
    """Setup, code, commands with and without a prompt, and what is skipped; output and other languages are not run."""
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- run first\na = 1\n-->\n```python\nb = a\n```\n```\n$ cpwl check x  # exit status 65: no file\noutput\n"
        "cpwl demo\n```\n<!-- not run: it is large -->\n```python\nboom()\n```\n```json\ncpwl x\n```\n"
    )
    assert [kind for kind, _ in steps(page)] == ["python", "python", "command", "skipped"]
    assert expected_code("cpwl check x  # exit status 65: no file") == 65
