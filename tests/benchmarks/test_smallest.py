"""The table of the smallest networks: page and file agree, and "auto" is the least of every row."""

import json

import pytest

import smallest


def test_the_page_has_the_table_of_the_file():
    """docs/smallest.md has the rows of smallest.json; "auto" is the least in each, and above the bounds."""
    rows = json.loads(smallest.FILE.read_text("utf-8"))
    assert smallest.table(rows) in (smallest.FILE.parent.parent / "docs" / "smallest.md").read_text("utf-8")
    assert set(rows) <= set(smallest.FAMILIES)
    for row in rows.values():
        assert row["any"] <= row["depth"] <= row["auto"] == smallest.least(row)
    larger = [name for name, row in rows.items() if row.get("before", row["auto"]) < row["auto"]]
    assert larger == []  # the page says so


@pytest.mark.parametrize("name", ["line, 100 breakpoints", "pieces of networks 3-5-4-1, box", "2^4 grid"])
def test_rows_are_those_of_today(name):
    """Rows of smallest.json, measured again."""
    kept = json.loads(smallest.FILE.read_text("utf-8"))[name]
    found = smallest.measured(name)
    assert [kept[key] for key in found if key != "seconds"] == [found[key] for key in found if key != "seconds"]


def test_a_construction_that_is_smaller_than_auto_is_seen():
    """The least of a row is that of a plan, or of a proved bound, whichever is smaller."""
    row = {"auto": 50, "found": {"gates": 70, "windows": "at least 1,200", "strips": 60}}
    assert smallest.least(row) == 50
    assert smallest.least({**row, "found": {**row["found"], "strips": 49}}) == 49
    assert smallest.least({**row, "found": {**row["found"], "windows": "at least 40"}}) == 40
