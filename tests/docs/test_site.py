"""The documentation site: it builds without a warning, has every page and every public name, and needs no network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cpwl

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed; run `make docs`")
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "site" / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_on_a_page_of_the_api(hooks: ModuleType) -> None:
    """Each name of `cpwl` and `cpwl.io` once, by the module that it comes from, and under its public name."""
    text = "".join(hooks.api().values())
    listed = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    shown = re.findall(r"^      heading: (\S+)$", text, re.MULTILINE)
    assert [name.rpartition(".")[2] for name in shown] == [name.rpartition(".")[2] for name in listed]
    assert all(eval(name, {"cpwl": cpwl}) is not None for name in shown)
    assert sorted(name.rpartition(".")[2] for name in listed) == sorted({*cpwl.__all__, *cpwl.io.__all__} - {"io"})


def test_options_in_inline_code_stay_on_one_line(hooks: ModuleType) -> None:
    """A browser may break a line after a hyphen; names such as `--max-error` are marked, other code is not."""
    shown = re.sub(r"<code>([^<]*)</code>", hooks.unbroken, "<p><code>cpwl ask -o x --max-error 1</code> a - b</p>")
    assert re.findall(r'<span class="option">([^<]*)</span>', shown) == ["-o", "--max-error"]
    assert re.sub(r"</?span[^>]*>", "", shown) == "<p><code>cpwl ask -o x --max-error 1</code> a - b</p>"


def test_every_page_is_in_the_navigation(hooks: ModuleType) -> None:
    """Pages that somebody adds are found by readers, too."""
    from types import SimpleNamespace

    nav = str(hooks.on_config(SimpleNamespace(nav=None)).nav)
    missing = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES]
    assert [name for name in missing if f"'{name}'" not in nav] == []


def test_lists_and_tables_begin_after_an_empty_line(hooks: ModuleType) -> None:
    """What GitHub shows as a list or a table is one on the site, and code is left alone."""
    text = "Some words:\n- one\n- two\n  more\n- three\n\nText\n| a |\n|---|\n```\nx\n- y\n```\n"
    shown = hooks.on_page_markdown(text)
    assert "words:\n\n- one\n- two\n  more\n- three" in shown
    assert "Text\n\n| a |\n|---|" in shown
    assert "x\n- y" in shown
    assert hooks.on_page_markdown("with\n$$x = y$$\nwhere") == "with\n\n$$x = y$$\n\nwhere"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_begin_with_their_title(page: Path) -> None:
    """The navigation is made of titles."""
    assert page.read_text().startswith("# ")


def test_how_to_pages_are_all_listed(hooks: ModuleType) -> None:
    """The index of the how-to pages links each of them, on the site also those that nobody has put there."""
    folder = ROOT / "docs" / "howto"
    index = (folder / "README.md").read_text()
    index += hooks.unlisted(index)
    assert "(compress.md)" in hooks.unlisted("")
    assert [
        page.name for page in folder.glob("*.md") if page.name != "README.md" and f"({page.name})" not in index
    ] == []


def test_the_gallery_names_what_is_there() -> None:
    """All scripts of the folder examples, each once, and all pages of the demonstration."""
    from cpwl.show.bundled import bundled_examples

    gallery = (ROOT / "docs" / "gallery.md").read_text()
    scripts = re.findall(r"`(\w+\.py)`", gallery)
    assert sorted(scripts) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))  # each once
    assert [e.slug for e in bundled_examples() if f"gallery/{e.slug}.html" not in gallery] == []


def test_the_gallery_becomes_pictures(hooks: ModuleType) -> None:
    """On the site each example is a picture that leads to its page; the picture of a curve is its graph."""
    shown = hooks.tiles((ROOT / "docs" / "gallery.md").read_text())
    rows = re.findall(r"^\| \[.*\]\(gallery/(\w+)\.html\)", (ROOT / "docs" / "gallery.md").read_text(), re.MULTILINE)
    assert re.findall(r'<a class="tile" href="gallery/(\w+)\.html"><img src="gallery/\1\.svg"', shown) == rows
    assert shown.count('<div class="tiles">') == shown.count("</div>") == 2
    assert "polyline" in hooks.thumbnail(cpwl.CPWL.from_breakpoints([0, 1, 2], [0, 1, 0]), "hat", None)


def test_every_command_is_on_the_page_of_the_commands(hooks: ModuleType) -> None:
    """With every option that ``--help`` has."""
    import typer

    from cpwl.cli.app import _app

    page = hooks.commands()
    root = typer.main.get_command(_app)
    for name, command in hooks._commands(root):
        part = page.split(f"## cpwl {name}\n")[1].split("\n## ")[0]
        options = [option for one in command.params for option in one.opts if option.startswith("--")]
        assert [option for option in options if option not in part] == [], name


@pytest.mark.slow
def test_the_site_builds_without_a_warning(hooks: ModuleType, tmp_path: Path) -> None:
    """Strict: a link that leads nowhere fails the build. No page fetches anything from elsewhere."""
    pytest.importorskip("material", reason="mkdocs-material is not installed; run `make docs`")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed; run `make docs`")
    assert hooks
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    fetched = re.compile(
        r'<(?:script|img|iframe|source)[^>]* src="https?:|<link [^>]*rel="stylesheet"[^>]*href="https?:'
    )
    shown = sorted((tmp_path / "site").rglob("*.html"))
    assert len(shown) > 30
    assert [page.name for page in shown if fetched.search(page.read_text(encoding="utf-8"))] == []
