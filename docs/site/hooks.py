"""What the documentation site has that the folder docs has not: navigation, the API, the gallery, the release notes.

mkdocs calls these functions while it builds the site; see mkdocs.yml.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import tempfile
from html import escape
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
    """Pages that are added to a folder are in the navigation; the footer names the version."""
    config.copyright = f"cpwl {cpwl.__version__}, Apache-2.0"
    constructions = (
        "auto",
        "hinge",
        "univariate",
        "sums",
        "fold",
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
        {"Notebooks": [f"notebooks/{name}.md" for name in notebooks()]},
        {"Constructions": [{title(DOCS / f"{name}.md"): f"{name}.md"} for name in constructions]},
        {"In depth": listed},
        {"Theory": pages("theory", "README.md")},
        {"Erratum": "erratum.md"},
        {"Reference": [
            {"API": ["api.md", *(f"api/{slug}.md" for slug in TASKS)]},
            {"Commands": "commands.md"},
            {"Glossary": "glossary.md"},
            {"Other tools": "comparison.md"},
            {"Release notes": "changelog.md"},
        ]},
    ]  # fmt: skip
    return config


TASKS = {
    "functions": ("Functions", ("CPWL", "maximum", "minimum", "stack", "parse", "image")),
    "compiling": ("Compile and prove", ("compile", "Compiled", "certify", "Certificate", "tradeoff", "bounds")),
    "networks": (
        "Networks",
        ("Network", "extract", "extract_parts", "count_regions", "equal", "distance", "compress", "simplify"),
    ),
    "questions": ("Questions and control", ("ask", "solve_mpqp", "mpc", "dynamics")),
    "files": ("Files and reports", ("read", "write", "report")),
    "errors": ("Errors and warnings", ()),
}


def api() -> dict[str, str]:
    """A page for each task with its public names, from their docstrings; names that no task has come last."""
    homes = {name: f"{module}.{name}" for name, module in (cpwl.io._HOME | cpwl._HOME).items()}
    errors = [name for name in cpwl.__all__ if name.endswith(("Error", "Warning"))]
    homes |= {name: f"cpwl.errors.{name}" for name in errors} | {name: f"cpwl.{name}" for name in cpwl._MODULES}
    formats = [name for name in cpwl.io.__all__ if name not in cpwl.__all__]
    listed = {name for _, names in TASKS.values() for name in names} | {*errors, "io"}
    more = {"files": formats, "errors": errors, "functions": [name for name in cpwl.__all__ if name not in listed]}
    pages, index = {}, ["# API\n\nNames are imported from `cpwl` or `cpwl.io`. Options are named, never positional.\n"]
    for slug, (heading, names) in TASKS.items():
        every = [*names, *more.get(slug, ())]
        public = {name: f"cpwl.io.{name}" if name in formats else f"cpwl.{name}" for name in every}
        parts = [
            f"::: {homes[name]}\n    options:\n      heading: {public[name]}\n      toc_label: {name}\n{members(name)}"
            for name in every
        ]
        pages[f"api/{slug}.md"] = "\n".join([f"# {heading}\n", *parts])
        index.append(f"- [{heading}](api/{slug}.md): " + ", ".join(f"`{public[name]}`" for name in every))
    return {"api.md": "\n".join(index) + "\n", **pages}


def members(name: str) -> str:
    """Of a module, only its public names."""
    public = getattr(getattr(cpwl, name), "__all__", None) if name in cpwl._MODULES else None
    return f"      members: {public}\n" if public else ""


def notebooks() -> dict[str, str]:
    """The executed notebooks as pages, by name."""
    made = runpy.run_path(str(DOCS / "make_notebook.py"))
    return {
        name: made["as_page"](json.loads((ROOT / "examples" / f"{name}.ipynb").read_text(encoding="utf-8")), name)
        for name in made["NOTEBOOKS"]
    }


def commands() -> str:
    """Every command with its arguments and options, as ``--help`` prints them."""
    import typer

    from cpwl.cli import app

    root: Any = typer.main.get_command(app._app)
    parts = ["# Commands\n\nEach command also explains itself: `cpwl COMMAND --help`.\n"]
    parts += [f"{app._EPILOG}\n"]
    for name, command in _commands(root):
        context = typer.Context(command, info_name=f"cpwl {name}")
        usage = " ".join(command.collect_usage_pieces(context)).replace("[[", "[").replace("]]", "]")
        parts.append(f"## cpwl {name}\n\n{_prose(command.help or '')}\n\n```\ncpwl {name} {usage}\n```\n")
        records = [found for one in command.get_params(context) if (found := one.get_help_record(context))]
        parts.append("| option | meaning |\n|---|---|")
        parts += [f"| `{option}` | {_prose(said)} |" for option, said in records]
        parts.append("")
    return "\n".join(parts)


def _commands(root: Any, before: str = "") -> list[tuple[str, Any]]:
    """All commands and those of their groups, but for hidden ones."""
    found = []
    for name, command in root.commands.items():
        if not command.hidden:
            inner = getattr(command, "commands", None)
            found += _commands(command, f"{before}{name} ") if inner else [(before + name, command)]
    return found


def _prose(text: str) -> str:
    """Text of a help page, with marks that Markdown would read as its own; words in backticks stay code."""
    code = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if k % 2 else re.sub(r"([*_<|\[])", r"\\\1", part) for k, part in enumerate(code))


# The gallery: pages to explore, and a picture of each.


CARDS = (
    (
        "closed_loop",
        "Control laws",
        "Solve an MPC problem exactly, compile the law, prove it, write C code.",
        "control_laws",
    ),
    (
        "table",
        "Lookup tables",
        "Compile a table into an ONNX file, and prove that both compute the same function.",
        "tables",
    ),
    ("network", "Networks", "List the linear regions of a network, compress it, prove that two are equal.", "compress"),
)


def cards() -> str:
    """Three ways in, with pictures."""
    shown = [
        f'<a class="tile" href="howto/{page}.html"><img src="gallery/{slug}.svg" alt="">'
        f"<b>{title}</b><span>{text}</span></a>"
        for slug, title, text, page in CARDS
    ]
    return f'<div class="tiles">{"".join(shown)}</div>'


EXPLORER = (
    "## Try it\nThis is the output of `cpwl report` for a control law. Drag the state to run the closed loop."
    '\n\n<iframe class="explorer" src="gallery/closed_loop.html#embed=yes&pin=yes&at=-4,1" title="a control law">'
    "</iframe>\n\n"
    "[Open the full page](gallery/closed_loop.html), or see [more examples](gallery.md)."
)


def tiles(markdown: str) -> str:
    """The tables of the gallery as pictures that lead to their pages."""
    row = re.compile(r"^\| \[(.+?)\]\(gallery/(\w+)\.html\) \| (.*?) \| (.*?) \|$")
    lines, inside = list[str](), False
    for line in markdown.splitlines():
        found = row.match(line)
        if found:
            title, slug, what, shows = found.groups()
            if not inside:
                del lines[-2:]  # the head of the table
                lines += ["", '<div class="tiles">']
            title = title.replace("\\|", "|")
            about = f"<b>{escape(title)}</b><span>{escape(what)}: {_linkless(shows)}</span>"
            lines.append(f'<a class="tile" href="gallery/{slug}.html"><img src="gallery/{slug}.svg" alt="">{about}</a>')
        elif inside:
            lines += ["</div>", ""]
        if not found:
            lines.append(line)
        inside = bool(found)
    return "\n".join(lines)


def _linkless(text: str) -> str:
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)


def thumbnail(p: cpwl.CPWL, slug: str, box: tuple[float, float] | None) -> str:
    """A function seen from above, or its graph, as an SVG file."""
    from cpwl.function.picture import curve, map_of_pieces, window_of

    window = window_of(p, box)
    if p.dim == 1:
        drawn = curve(p, *window[0], width=480)
    else:
        off = window.mean(axis=1) + 0.07 * (window[:, 1] - window[:, 0])  # not along a facet
        drawn = map_of_pieces(p, *window[:2].T, name=slug, through=off)
    return drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def gallery(folder: Path) -> dict[str, str]:
    """Write the pages of the demonstration and those of the code on the gallery's page; thumbnails of all, by name."""
    from cpwl.show.bundled import run_demo

    rows = run_demo(folder)
    found = {
        row.example.slug: thumbnail(row.example.function, row.example.slug, (row.example.low, row.example.high))
        for row in rows
    }
    code = re.search(r"```python\n(.*?)```", (DOCS / "gallery.md").read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(code[1], names)  # what the page prints, so that it is what the reader gets
    finally:
        os.chdir(before)
    found["closed_loop"] = thumbnail(names["plan"].solve(), "closed_loop", None)
    network = cpwl.Network(names["layers"])
    found["network"] = thumbnail(cpwl.extract(network, box=(-3, 3)), "network", (-3, 3))
    return found


def on_files(files: Files, config: Any) -> Files:
    """Add the API, the commands, the release notes, and the gallery."""
    for name, text in api().items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "commands.md", content=commands()))
    files.append(File.generated(config, "changelog.md", content=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    for name, text in notebooks().items():
        files.append(File.generated(config, f"notebooks/{name}.md", content=text))
    with tempfile.TemporaryDirectory() as folder:
        for slug, drawn in gallery(Path(folder)).items():
            files.append(File.generated(config, f"gallery/{slug}.svg", content=drawn))
        for path in sorted(Path(folder).iterdir()):
            files.append(File.generated(config, f"gallery/{path.name}", content=path.read_bytes()))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ARG001 - what mkdocs calls it with
    """The theme would fetch a script for searching in files that were opened without a server; ours is here."""
    up = "../" * page.url.count("/")
    output = re.sub(r"<code>([^<]*)</code>", unbroken, output)
    return re.sub(
        r'<script src="https://unpkg.com/[^"]*"></script>', f'<script src="{up}site/worker.js"></script>', output
    )


def unbroken(code: re.Match[str]) -> str:
    """Inline code whose options, such as ``--max-error``, stay on one line."""
    marked = re.sub(r"(?<![\w-])--?[A-Za-z][\w-]*", r'<span class="option">\g<0></span>', code[1])
    return f"<code>{marked}</code>"


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
    if page is not None and page.file.src_uri == "gallery.md":
        markdown = tiles(markdown)
    if page is not None and page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
        markdown = markdown.replace("<!-- cards -->", cards()).replace("<!-- explorer -->", EXPLORER)
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
