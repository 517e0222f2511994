"""Runs an example cell by cell and writes it as a notebook with its output: ``python docs/make_notebook.py [NAME]``.

A cell of a script begins with ``# %%``, a cell of text with ``# %% [markdown]``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def cells(script: str) -> list[tuple[str, str]]:
    """Kind and text of each cell of a script."""
    parts = re.split(r"^# %%(.*)\n", script, flags=re.MULTILINE)[1:]
    found = []
    for kind, text in zip(parts[::2], parts[1::2], strict=True):
        is_text = kind.strip() == "[markdown]"
        body = re.sub(r"^# ?", "", text, flags=re.MULTILINE) if is_text else text
        found.append(("markdown" if is_text else "code", body.strip()))
    return found


def notebook(script: str) -> dict[str, Any]:
    """The cells with what they print, run in an empty folder."""
    names: dict[str, Any] = {}
    made: list[dict[str, Any]] = []
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, (kind, text) in enumerate(cells(script)):
                own = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": text.splitlines(True)}
                if kind == "code":
                    said = io.StringIO()
                    with contextlib.redirect_stdout(said):
                        exec(compile(text, f"cell {number}", "exec"), names)
                    output = {"name": "stdout", "output_type": "stream", "text": said.getvalue().splitlines(True)}
                    own |= {"execution_count": len([c for c in made if "outputs" in c]) + 1, "outputs": [output]}
                made.append(own)
        finally:
            os.chdir(here)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def main() -> None:
    """Writes the notebook beside the script."""
    name = sys.argv[1] if len(sys.argv) > 1 else "pendulum_to_c"
    script = (EXAMPLES / f"{name}.py").read_text("utf-8")
    text = json.dumps(notebook(script), indent=1, ensure_ascii=False)
    (EXAMPLES / f"{name}.ipynb").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
