"""What the documentation site has that the folder docs has not: navigation, the API, the gallery, the release notes.

mkdocs calls these functions while it builds the site; see mkdocs.yml.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import cpwl

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
FENCE = re.compile(r"^\s*```")
BLOCK = re.compile(r"^(\||[-*] |\d+\. )")


def title(page: Path) -> str:
    """The first heading of a page, without marks."""
    return re.sub(r"[`*]", "", page.read_text(encoding="utf-8").splitlines()[0].lstrip("# "))


def number(page: Path) -> int:
    """The number that a title begins with, as those of the theory do; those without one come last."""
    found = re.match(r"(\d+)\.", title(page))
    return int(found[1]) if found else 1000


def pages(folder: str, first: str) -> list[dict[str, str]]:
    """All pages of a folder, one of them first."""
    found = sorted((DOCS / folder).glob("*.md"), key=lambda page: (page.name != first, number(page), page.name))
    return [{title(page): page.relative_to(DOCS).as_posix()} for page in found]


def on_config(config: Any) -> Any:
    """Pages that are added to a folder are in the navigation without further ado."""
    constructions = (
        "auto",
        "hinge",
        "univariate",
        "sums",
        "layers",
        "gates",
        "columns",
        "windows",
        "clamped",
        "strips",
        "lattice",
        "paper",
    )
    ways_back = ("extract", "equal", "simplify", "import", "floats", "proof")
    named = {*constructions, *ways_back, "index", "tutorial", "gallery", "erratum", "comparison", "glossary"}
    others = sorted(page.stem for page in DOCS.glob("*.md") if page.stem not in named)
    listed = [{title(DOCS / f"{name}.md"): f"{name}.md"} for name in (*ways_back, *others)]
    config.nav = [
        {"Home": "index.md"},
        {"Tutorial": "tutorial.md"},
        {"How to": pages("howto", "README.md")},
        {"Gallery": "gallery.md"},
        {"Constructions": [{title(DOCS / f"{name}.md"): f"{name}.md"} for name in constructions]},
        {"In depth": listed},
        {"Theory": pages("theory", "README.md")},
        {"Erratum": "erratum.md"},
        {"Reference": [
            {"API": "api.md"},
            {"Glossary": "glossary.md"},
            {"Other tools": "comparison.md"},
            {"Release notes": "changelog.md"},
        ]},
    ]  # fmt: skip
    return config


def api() -> str:
    """Every public name, from its docstring."""
    homes = {name: f"{module}.{name}" for name, module in (cpwl.io._HOME | cpwl._HOME).items()}
    homes |= {name: f"cpwl.errors.{name}" for name in cpwl.__all__ if name.endswith(("Error", "Warning"))}
    homes |= {name: f"cpwl.{name}" for name in cpwl._MODULES}
    kinds = {
        "Verbs": [name for name in cpwl.__all__ if name[0].islower() and name not in cpwl._MODULES],
        "Values": [name for name in cpwl.__all__ if name[0].isupper() and not name.endswith(("Error", "Warning"))],
        "Bounds": ["bounds"],
        "Errors": [name for name in cpwl.__all__ if name.endswith(("Error", "Warning"))],
        "Closed loops: `cpwl.dynamics`": ["dynamics"],
        "Readers and writers: `cpwl.io`": [name for name in cpwl.io.__all__ if name not in cpwl.__all__],
    }
    parts = ["# API\n\nNames are imported from `cpwl`, or as a heading says. Options are named, never positional.\n"]
    for kind, names in kinds.items():
        parts.append(f"## {kind}\n")
        parts += [f"::: {homes[name]}\n" for name in names]
    return "\n".join(parts)


def on_files(files: Files, config: Any) -> Files:
    """Add the API, the release notes, and the pages of the demonstration."""
    from cpwl.show.bundled import run_demo

    files.append(File.generated(config, "api.md", content=api()))
    files.append(File.generated(config, "changelog.md", content=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        run_demo(folder)
        for path in sorted(Path(folder).iterdir()):
            files.append(File.generated(config, f"gallery/{path.name}", content=path.read_bytes()))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ARG001 - what mkdocs calls it with
    """The theme would fetch a script for searching in files that were opened without a server; ours is here."""
    up = "../" * page.url.count("/")
    return re.sub(
        r'<script src="https://unpkg.com/[^"]*"></script>', f'<script src="{up}site/worker.js"></script>', output
    )


def on_post_template(output_content: str, template_name: str, config: Any) -> str:  # noqa: ARG001 - as above
    """The same for pages that are made of the theme alone, such as 404.html."""
    return re.sub(
        r'<script src="https://unpkg.com/[^"]*"></script>', '<script src="site/worker.js"></script>', output_content
    )


def unlisted(index: str) -> str:
    """How-to pages that their index does not name yet, as a list."""
    found = sorted((DOCS / "howto").glob("*.md"))
    new = [page for page in found if page.name != "README.md" and f"({page.name})" not in index]
    return "".join(f"\n- [{title(page)}]({page.name})" for page in new)


def on_page_markdown(markdown: str, page: Any = None, **_: Any) -> str:
    """GitHub begins a list, a table or a formula without an empty line before it; the site needs one."""
    if page is not None and page.file.src_uri == "howto/README.md":
        markdown += unlisted(markdown)
    markdown = re.sub(r"^<!-- (run first|not run).*?-->\n", "", markdown, flags=re.MULTILINE | re.DOTALL)
    # What is in the repository but not on the site is named there, not linked.
    markdown = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:examples|src|tests|benchmarks)/[^)]*\)", r"\1", markdown)
    lines, inside, before = list[str](), False, ""
    for line in markdown.splitlines():
        if FENCE.match(line):
            if not inside and before.strip() and not before.startswith((" ", "-")):
                lines.append("")
            inside = not inside
        elif not inside and (line.startswith("$$") or before.startswith("$$")) and before.strip():
            lines.append("")  # a formula of its own is a paragraph
        elif (
            not inside and BLOCK.match(line) and before.strip() and not (BLOCK.match(before) or before.startswith(" "))
        ):
            lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)
