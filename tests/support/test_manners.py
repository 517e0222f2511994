"""How the tests themselves behave: each says what it shows, asserts it, and reads nothing from elsewhere."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
FILES = sorted(TESTS.rglob("*.py"))


def cases_of(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The test functions of a file."""
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test"))


def silent_returns(function: ast.FunctionDef) -> list[int]:
    """Lines with a ``return`` before which nothing was asserted in the same block or in one around it."""
    found: list[int] = []

    def look(block: list[ast.stmt], asserted: bool) -> None:
        for statement in block:
            if isinstance(statement, ast.Return) and not asserted:
                found.append(statement.lineno)
            asserted = asserted or isinstance(statement, ast.Assert)
            if not isinstance(statement, ast.FunctionDef):  # a helper inside returns to the test
                for name in ("body", "orelse", "finalbody"):
                    look(getattr(statement, name, []), asserted)
                for handler in getattr(statement, "handlers", []):
                    look(handler.body, asserted)

    look(function.body, False)
    return found


def test_silent_returns_are_seen():
    """In an ``if``, in a handler, not after an assertion, not in a function inside."""
    source = (
        "def test():\n if a:\n  return\n try:\n  b()\n except E:\n  return\n try:\n  c()\n except E:\n  assert d\n"
        "  return\n def f():\n  return 1\n assert f()\n if g:\n  return\n"
    )
    assert silent_returns(next(cases_of(ast.parse(source)))) == [3, 7]


CLOCKS = {"sleep", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns"}
OUTSIDE = {"support/browser.py", "soak/__main__.py"}  # another program that starts; a run of so many minutes


def clocks_in(tree: ast.Module) -> list[int]:
    """Lines that wait, or look at the time."""
    names = [(n.lineno, n.attr) for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    names += [(n.lineno, each.name) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for each in n.names]
    return [line for line, name in names if name in CLOCKS]


def test_clocks_are_seen():
    """As attributes and as imports, not as words of a program that a test writes."""
    assert clocks_in(ast.parse("import time\nfrom time import sleep\ntime.monotonic()\nrun('time.sleep(1)')")) == [3, 2]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(TESTS).as_posix())
def test_manners(file):
    """Every test says what it shows, in a docstring or a name that is a sentence, and asserts before it returns.

    Nothing is read from outside the repository, and nothing depends on how busy the machine is.
    """
    text = file.read_text("utf-8")
    assert file.relative_to(TESTS).as_posix() in OUTSIDE or clocks_in(ast.parse(text)) == []
    for function in cases_of(ast.parse(text)):
        assert ast.get_docstring(function) or len(function.name.split("_")) >= 6, function.name
        assert silent_returns(function) == [], function.name
    assert not re.search(r"""["'](?:/home|~|\.\.)/""", text)


def test_no_file_has_marks_of_a_conflict():
    """Every file that is under version control, or in the folder where there is none."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TESTS.parent, capture_output=True, check=False).stdout
    names = listed.decode().split("\0") if listed else [str(path) for path in TESTS.parent.rglob("*.*")]
    files = [path for path in map(TESTS.parent.joinpath, filter(None, names)) if path.is_file()]
    assert len(files) > 400
    marks = re.compile(rb"^(<{7}|>{7}|\|{7}) ", re.MULTILINE)
    assert marks.search(b"text\n" + b"<" * 7 + b" HEAD\n")
    assert [path.name for path in files if marks.search(path.read_bytes())] == []
