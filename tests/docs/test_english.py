"""Pages, help texts, messages and public docstrings keep plain English: phrases to avoid, and short clauses."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]
AVOID = {
    r"\bwhat (?!to\b|you\b|happens\b)[a-z]+": "name the subject",
    r"\b(?:that which|whoever|whatever is)\b": "name the subject",
    r"\bso (?:many|much|long)(?! as| that)\b": "say how many, or `this many`",
    r"\bbeside\b": "`next to`, `compared with` or `in addition to`",
    r"\bexit codes?\b": "`exit status`",
    r"\basked for\b": "`requested`",
    r"\b(?:looked (?:at|for)|looks at)\b": "`examined`, `searched`",
    r"\b(?:goes|go) on (?:from|with|when)\b": "`continues`",
    r"\bwhole or not at all\b": "`completely or not at all`",
    r"\b(?:in|into) all its\b": "`completely`",
    r"\biff\b": "`if and only if`",
    r"\bfor ever\b": "`in all future steps`, `does not terminate`",
    r"\bthis very\b": "`the given`",
    r"\b(?:comes?|taken?) apart\b": "`is a sum`, `is extracted`",
    r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|less|larger|smaller|farther|greater)[a-z]": "`is not a`",
    r"\bnobody\b": "`no one`, or `this was not determined`",
    r"\bunfold": "`expand`",
    r"\bcannot be told\b": "`cannot be distinguished`",
    r"\bnot found to\b": "`no .. was found`",
    r"\btold twice\b": "`listed twice`",
    r"\bbut for (?:rounding|`)": "`up to rounding`",
    r"\bnearer\b": "`closer`, `more accurate`",
    r"\bbehind the point\b": "`after the point`, `fraction bits`",
}
LONGEST = 50  # words between two of . ! ? : ;
TABLES = "## How large it is"  # from here on, ARCHITECTURE.md is a record of measurements


def prose(text: str) -> str:
    """Without code, tables, headings, formulas and addresses."""
    text = re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`|\$[^$\n]*\$", "X", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    lines = (
        "" if re.match(r"\||#|    ", line) else re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", line)
        for line in text.splitlines()
    )
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_avoid_phrases_that_need_reading_twice(page: Path) -> None:
    """Each phrase of `AVOID` has a plainer one."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "X", page.read_text("utf-8").partition(TABLES)[0], flags=re.DOTALL)
    assert avoided(text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_clauses_are_short(page: Path) -> None:
    """No clause has more than `LONGEST` words; most have fewer than 25."""
    clauses = re.split(r"(?<=[.!?:;])\s+|\n\s*\n", prose(page.read_text("utf-8").partition(TABLES)[0]))
    assert [clause for clause in clauses if len(clause.split()) > LONGEST] == []


def avoided(text: str) -> list[tuple[str, str]]:
    """The phrases of `AVOID` that a text contains, each with the plainer one."""
    return [(m[0], advice) for phrase, advice in AVOID.items() for m in re.finditer(phrase, text, re.IGNORECASE)]


def messages(path: Path) -> Iterator[str]:
    """The texts of errors, warnings and refusals in a module, with `X` for values that are filled in."""
    tree = ast.parse(path.read_text("utf-8"))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name.endswith(("Error", "Warning")) or name in ("warn", "need"):
                yield from (text for value in call.args if (text := literal(value)))


def literal(value: ast.expr) -> str:
    """A text, also one with values in it; empty for anything else."""
    if isinstance(value, ast.Constant):
        return value.value if isinstance(value.value, str) else ""
    if isinstance(value, ast.JoinedStr):
        return "".join(literal(part) or "X" for part in value.values)
    return ""


def test_messages_avoid_them_too() -> None:
    """Of errors and warnings of the package, and of refusals of the stand-alone checker."""
    shown = [text for path in sorted((ROOT / "src").rglob("*.py")) for text in messages(path)]
    assert len(shown) > 900
    assert [(text, found) for text in shown if (found := avoided(text))] == []


def documented(value: object) -> Iterator[str]:
    """The docstring of a public name, those of its public methods, and those of its attributes."""
    yield re.split(r"\n\s*>>> ", inspect.getdoc(value) or "")[0]
    if inspect.isclass(value):
        for name, member in vars(value).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(function):
                yield from documented(function)
        body = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0].body  # type: ignore[attr-defined]
        yield from (
            node.value.value
            for node in body[1:]
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )


def test_public_docstrings_avoid_them_too() -> None:
    """`help(cpwl.compile)` and the pages of the API: every public name, its methods and its attributes."""
    import cpwl
    from cpwl import dynamics, io

    shown = [
        text
        for module in (cpwl, io, dynamics)
        for name in getattr(module, "__all__", dir(module))
        if not name.startswith("_") and getattr(value := getattr(module, name), "__module__", "").startswith("cpwl")
        for text in documented(value)
    ]
    assert len(shown) > 180
    assert [(text, found) for text in shown if (found := avoided(text))] == []


def test_a_phrase_is_found() -> None:
    """The tests above can fail: sentences of earlier versions."""
    earlier = (
        "`along` is no vector",
        "what it reads is not affine",
        "None: nobody has looked",
        "this file unfolds to 3 bytes",
    )
    assert all(avoided(text) for text in earlier)
    assert not avoided("there is no piece 3; it is no longer than that")


def test_help_texts_avoid_them_too() -> None:
    """Of every command and every option."""
    import typer

    from cpwl.cli.app import _app

    def texts(command: object) -> list[str]:
        own = [getattr(command, "help", None), *(getattr(p, "help", None) for p in getattr(command, "params", ()))]
        inner = [text for one in getattr(command, "commands", {}).values() for text in texts(one)]
        return [text for text in own if text] + inner

    shown = texts(typer.main.get_command(_app))
    assert len(shown) > 150
    assert [(text, found) for text in shown if (found := avoided(text))] == []


def test_the_list_of_commands_is_not_cut_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal of 80 columns, `cpwl --help` has one complete sentence for each command."""
    from cpwl.cli.app import run_command

    monkeypatch.setenv("COLUMNS", "80")
    assert run_command(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(listed) >= 20
    assert [line for line in listed if not line.endswith(".") or line.endswith("...")] == []
