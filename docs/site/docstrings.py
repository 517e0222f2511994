"""Docstrings as the site shows them: examples that stand at the end without a heading get one."""

from __future__ import annotations

import re
from typing import Any

import griffe


def with_heading(text: str) -> str:
    """The docstring with a heading before its first example, unless it has one.

    >>> print(with_heading("A sentence.\\n\\n>>> 1 + 1\\n2"))
    A sentence.
    <BLANKLINE>
    Examples
    --------
    >>> 1 + 1
    2
    """
    if re.search(r"^Examples\n-+$", text, re.MULTILINE):
        return text
    return re.sub(r"^>>> ", "Examples\n--------\n>>> ", text, count=1, flags=re.MULTILINE)


class Headings(griffe.Extension):
    """Gives every object of the package its heading before the docstring is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = with_heading(obj.docstring.value)
