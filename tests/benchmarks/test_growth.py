"""Growth tables: exponents of powers, marks where a limit was reached, and one small size as it is measured."""

import json

import pytest

import growth


def test_exponents_are_those_of_powers():
    """Of ``t = c q^k`` the exponent is k, whatever the sizes; where a time is missing there is none."""
    sizes = [100.0, 250.0, 400.0, 1000.0]
    assert growth.exponents(sizes, [0.1 * q**1.5 for q in sizes]) == [None, 1.5, 1.5, 1.5]
    assert growth.exponents(sizes, [1.0, None, 2.0, 2.0]) == [None, None, None, 0.0]


def test_no_size_is_begun_that_will_take_too_long(monkeypatch, capsys):
    """From two sizes the third is foreseen: of times that grow with the square, 4 is run and 40 is not."""
    begun = []

    def one(_family, size, _src, _limit):
        begun.append(size)
        return {"size": size, "pieces": size, "make": 0.1 * size**2, "beyond": False}

    monkeypatch.setattr(growth, "_apart", one)
    growth.main(["--family", "breakpoints", "--limit", "10", "--sizes", "1", "2", "4", "40", "400"])
    assert begun == [1, 2, 4]
    assert "size 40 was not run: it will take about 160 s" in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_beyond_is_marked(capsys):
    """A tiny function is measured step by step; a size that was ended is marked, and says why."""
    growth.main(["--family", "maximum in the plane", "--sizes", "4"])
    printed = capsys.readouterr().out
    assert "layers" in printed
    assert "BEYOND" not in printed
    rows = [{"size": 9, "beyond": True, "why": "MemoryError", "make": 1.0, "peak": 5 << 30}]
    assert "BEYOND 60 s or 4 GB MemoryError" in growth.table(rows)


def test_the_page_shows_the_kept_tables():
    """docs/growth.md has the tables of growth.json as `--show` prints them, each once."""
    kept = json.loads(growth.FILE.read_text("utf-8"))
    page = (growth.FILE.parent.parent / "docs" / "growth.md").read_text("utf-8")
    assert kept
    assert f"```\n{growth.shown(kept)}\n```" in page


def test_another_checkout_is_beside(monkeypatch, tmp_path, capsys):
    """Both are measured size by size; once the other one is beyond the limit it is not begun again."""
    begun = []

    def one(_family, size, src, _limit):
        begun.append((size, src))
        row = {"size": size, "pieces": size, "compile": 1.0, "beyond": src is not None and size == 2}
        return row if row["beyond"] else row | {"certify": 0.5}

    monkeypatch.setattr(growth, "_apart", one)
    monkeypatch.setattr(growth, "FILE", tmp_path / "growth.json")
    growth.main(["--family", "breakpoints", "--sizes", "1", "2", "4", "--before", "old", "--keep"])
    assert begun == [(1, None), (1, "old"), (2, None), (2, "old"), (4, None)]
    printed = capsys.readouterr().out.strip().splitlines()
    assert [line.split()[-3:] for line in printed[2:]] == [
        ["s", "0.50", "s"],
        ["1.00", "s", "beyond"],
        ["0.00", "beyond", "beyond"],
    ]
    growth.main(["--show"])
    assert capsys.readouterr().out.strip().splitlines() == printed
