"""Writes examples as notebooks with their output: ``python docs/make_notebook.py [NAME ...]``.

A cell of a script begins with ``# %%``, a cell of text with ``# %% [markdown]``. What a cell prints is kept, and of its
last expression the picture, as Jupyter would show it. The site has a page for each notebook.
"""

from __future__ import annotations

import ast
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
NOTEBOOKS = (
    "table_to_onnx",
    "pendulum_to_c",
    "compress_network",
    "ground_truth",
    "counterexample",
    "within_an_error",
)
_LONGEST = 30_000  # letters of a picture


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
    here, given = Path.cwd(), sys.argv
    sys.argv = ["notebook"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, (kind, text) in enumerate(cells(script)):
                own = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": text.splitlines(True)}
                if kind == "code":
                    count = len([c for c in made if "outputs" in c]) + 1
                    own |= {"execution_count": count, "outputs": run(text, names, count)}
                made.append(own)
        finally:
            os.chdir(here)
            sys.argv = given
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def run(text: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and the picture of the value of its last line."""
    body = ast.parse(text).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    said, value = io.StringIO(), None
    with contextlib.redirect_stdout(said):
        exec(compile(ast.Module(body, []), f"cell {count}", "exec"), names)
        if last is not None:
            value = eval(compile(last, f"cell {count}", "eval"), names)
    found: list[dict[str, Any]] = []
    if said.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": said.getvalue().splitlines(True)})
    drawn = value._repr_svg_() if hasattr(value, "_repr_svg_") else None
    if drawn is not None and len(drawn) <= _LONGEST:
        data = {"image/svg+xml": [drawn], "text/plain": [repr(value)]}
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def as_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as a page of the site."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            if "text" in output:
                parts.append(f"```\n{''.join(output['text']).rstrip()}\n```")
            else:
                parts.append(f'<div class="drawn">{"".join(output["data"]["image/svg+xml"])}</div>')
    parts.append(
        f"This page is the notebook `examples/{name}.ipynb`; `python docs/make_notebook.py {name}` runs it again."
    )
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Writes the notebooks beside their scripts."""
    for name in sys.argv[1:] or NOTEBOOKS:
        script = (EXAMPLES / f"{name}.py").read_text("utf-8")
        text = json.dumps(notebook(script), indent=1, ensure_ascii=False)
        (EXAMPLES / f"{name}.ipynb").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
