"""The pages and the help texts keep plain English: phrases to avoid, and clauses that fit into one breath."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks" / "README.md"]
AVOID = {
    r"\bwhat (?:bends|is|was|are|were|has|have|had|it|they|there|nothing|reads|comes)\b": "name the subject",
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
    found = [(m[0], advice) for phrase, advice in AVOID.items() for m in re.finditer(phrase, text, re.IGNORECASE)]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_clauses_are_short(page: Path) -> None:
    """No clause has more than `LONGEST` words; most have fewer than 25."""
    clauses = re.split(r"(?<=[.!?:;])\s+|\n\s*\n", prose(page.read_text("utf-8").partition(TABLES)[0]))
    assert [clause for clause in clauses if len(clause.split()) > LONGEST] == []


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
    found = [(text, m[0]) for text in shown for phrase in AVOID for m in re.finditer(phrase, text, re.IGNORECASE)]
    assert found == []
