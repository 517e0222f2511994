"""The pages hang together: links lead somewhere, what the code cites is there, and the tree is the tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpwl.construct.table import TABLE

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [path for folder in ("src", "tests", "docs", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]
MADE = ("api.md", "commands.md", "changelog.md")


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    """Every relative link names a file that is there, and a heading of it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target or target in MADE or target.startswith("gallery/"):
            continue  # what the site makes is checked when it is built, strictly
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_pages_that_the_code_cites_are_there():
    """A docstring that refers to a page of docs refers to one that is there."""
    cited = {(path, name) for path in SOURCES for name in re.findall(r"docs/[\w/]+\.md", path.read_text())}
    missing = [(path.relative_to(ROOT), name) for path, name in sorted(cited) if not (ROOT / name).exists()]
    assert not missing
    assert len(cited) > 20


def test_nothing_refers_to_what_is_not_in_the_repository():
    """The theory is in docs/theory, by topic."""
    outside = "THE" + "ORY"
    named = [path for path in (*SOURCES, *PAGES) if re.search(rf"\b{outside}\b", path.read_text())]
    assert named == []


def test_the_index_lists_every_page_of_the_theory():
    """docs/theory/README.md links all pages beside it."""
    index = (ROOT / "docs" / "theory" / "README.md").read_text()
    pages = [page.name for page in (ROOT / "docs" / "theory").glob("*.md") if page.name != "README.md"]
    assert [name for name in pages if f"]({name})" not in index] == []


@pytest.mark.parametrize("name", ["auto", *TABLE])
def test_pages_of_constructions_have_the_same_parts(name):
    """How to use it, why it is correct, what was measured."""
    text = (ROOT / "docs" / f"{name}.md").read_text()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    parts = ("Use", "Correctness", "Measurements and experiments")
    found = [heading for heading in headings if heading.startswith(parts)]
    assert len(found) == 3
    assert all(heading.startswith(part) for heading, part in zip(found, parts, strict=True))


def test_the_architecture_names_every_folder_and_module():
    """The tree in ARCHITECTURE.md has the names of src/cpwl, all of them and no others."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tree = re.search(r"^src/cpwl/\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert tree is not None
    said = set(re.findall(r"^  ([a-z_]+)(?:/|\.py)(?:\s|$)", tree[1], re.MULTILINE))
    there = {
        path.stem
        for path in (ROOT / "src" / "cpwl").iterdir()
        if (path.is_dir() and (path / "__init__.py").exists()) or path.suffix == ".py"
    }
    assert said == {name for name in there if not name.startswith("__")}


def test_diagrams_are_what_their_program_draws():
    """`python docs/make_diagrams.py` writes the files as they are, and its own checks of the lemmas hold."""
    import runpy

    drawn = runpy.run_path(str(ROOT / "docs" / "make_diagrams.py"))
    for name, path in (
        ("gate", "theory/gate"),
        ("segment", "theory/segment"),
        ("columns", "theory/columns"),
        ("windows", "theory/windows"),
        ("near", "theory/near"),
        ("flags", "theory/flags"),
        ("dependence", "theory/dependence"),
        ("choice", "choice"),
        ("pipeline", "pipeline"),
    ):
        assert drawn[name]() == (ROOT / "docs" / f"{path}.svg").read_text(), path


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.svg")), ids=lambda path: path.stem)
def test_pictures_follow_light_and_dark_pages(path):
    """Every picture has colours for dark pages; all pictures of pages are drawn as SVG."""
    assert "prefers-color-scheme" in path.read_text()
    assert not [page for page in PAGES if re.search(r"!\[[^]]*\]\([^)]*\.png\)", page.read_text())]
