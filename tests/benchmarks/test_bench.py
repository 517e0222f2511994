"""Benchmarks measure what they say: counts are those of the constructions, rows are complete, nothing is typed in."""

import json

import pytest

import bench
import bench_functions
import bench_regions
import bench_sizes
import bench_speed
import bench_work
from bench_sizes import Family, measure_family, size_table
from bench_speed import Timed, speed_table
from cpwl import CPWL, InputError, bounds, compile
from cpwl.compiler import CONSTRUCTIONS
from cpwl.function.order import order_components
from support.functions import delaunay as plain_delaunay

SMALL = Family("small", lambda seed: plain_delaunay(2, 6 + seed, seed), "10")


def test_counts_are_those_of_the_compiler():
    """Means over seeds of what `compile` builds, for every construction that applies, and of Algorithm 1's formula."""
    row = measure_family(SMALL, seeds=2)
    functions = [SMALL.make(seed) for seed in (0, 1)]
    for name, value in row.neurons.items():
        made = [compile(p, construction=name, precision="exact").sizes.neurons for p in functions]
        assert value == sum(made) / 2
    counts = [bounds.algorithm1(order_components(p, 0).above.sum(axis=1).tolist()).neurons for p in functions]
    assert row.algorithm1 == sum(counts) / 2
    assert row.pieces == sum(p.num_pieces for p in functions) / 2
    assert "gates" in row.neurons
    assert set(row.neurons) == set(row.seconds) <= set(CONSTRUCTIONS) - {"auto", "paper"}


def test_algorithm_1_is_tested():
    """The verdict counts functions on which all rows are valid: none for the counterexample."""
    from support.functions import five_pieces

    assert measure_family(Family("wrong", lambda _: five_pieces()), seeds=1).algorithm1_right == "0/1"
    right = Family("right", lambda _: CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1))
    assert measure_family(right, seeds=1).algorithm1_right == "1/1"


def test_a_large_function_stands_for_itself_and_is_not_tested():
    """Beyond the limits neither means, nor verdicts, nor counts are computed, and nothing is invented."""
    row = measure_family(SMALL, seeds=2, most={"test": 1, "count": 1, "means": 1, "lattice": 1})
    assert row.algorithm1 is None
    assert row.algorithm1_right == ""
    assert "lattice" not in row.neurons
    assert row.floats is None
    assert size_table([row]).cells[0][2:4] == ("-", "-")


@pytest.mark.slow
def test_the_float_twin_of_a_function_has_a_column():
    """Half-spaces with noise of 1e-13 take the neurons of the exact function, by the smallest construction for both."""
    row = measure_family(SMALL, seeds=1)
    name, neurons = row.floats
    assert neurons == compile(SMALL.make(0), construction=name, precision="exact").sizes.neurons
    assert size_table([row]).cells[0][-2] == f"{name} {neurons:,}"


def test_every_construction_has_a_column():
    """Columns follow the compiler's table; a construction that did not apply shows a dash."""
    rows = [measure_family(SMALL, seeds=1)]
    table = size_table(rows)
    names = table.columns[4:-2]
    assert list(names) == [name for name in CONSTRUCTIONS if name in rows[0].neurons]
    assert all(len(cells) == len(table.columns) for cells in table.cells)
    assert table.rich().row_count == 1


def test_functions_are_as_described():
    """Families that are drawn by hand have the pieces their names promise."""
    assert bench_functions.triangles(50, 1).num_pieces == 50
    assert bench_functions.random_breakpoints(30, 1).num_components > 25
    assert not bench_functions.convex(8, 2).doctor().errors
    p = bench_functions.rational_delaunay(10, 0)
    assert p.laws.exact is not None


def test_ratios_and_rows():
    """A ratio needs two times; a row that could not be measured says why and has none."""
    rows = [Timed("a", 2.0, "b", 6.0, goal="3"), Timed("c", None, note="not installed")]
    assert [row.ratio for row in rows] == [3.0, None]
    table = speed_table(rows)
    assert table.cells[0][table.columns.index("ratio")] == "3"
    assert "not installed" in table.cells[1]
    assert json.loads(json.dumps(table.rows))[0]["ratio"] == 3.0


@pytest.mark.slow
def test_float_data_has_a_column_in_every_table():
    """Seconds of float twins beside those of exact functions, and of rationals beside those of regions in floats."""
    row = Timed("a", 2.0, floats=3.0)
    table = speed_table([row, Timed("b", 1.0)])
    assert [cells[table.columns.index("as floats")] for cells in table.cells] == ["3", "-"]
    exact, noisy = (bench_work.WORK["gates-plane"](20, floats)() for floats in (False, True))
    assert exact["neurons"] == noisy["neurons"]
    found = bench_regions.region_table([bench_regions.Found("2-3-1", "complex", 7, True, 0.1, "", 0.5)])
    assert found.cells[0][found.columns.index("exactly, s")] == "0.5"


def test_work_in_a_process_of_its_own():
    """Seconds, memory and sizes come back; work that fails says so in its last words."""
    made = bench_work.run_apart("paper", 20)
    assert made["seconds"] > 0
    assert made["memory_gb"] > 0.01
    assert made["neurons"] > 0
    assert "error" in bench_work.run_apart("nothing", 1)


def test_every_piece_of_work_prepares():
    """Each named work makes its function and can be called, if its construction exists."""
    for name, prepare in bench_work.WORK.items():
        if name in ("univariate",) and name not in CONSTRUCTIONS:
            continue
        assert prepare(4)()["neurons"] >= 0


@pytest.mark.slow
def test_one_command_prints_and_saves_all_tables(tmp_path, capsys, monkeypatch):
    """`python benchmarks/bench.py` prints a table for each name and writes all numbers to a file."""
    monkeypatch.setattr(bench_sizes, "FAMILIES", (SMALL,))
    monkeypatch.setattr(bench_speed, "_ROWS", (("one", lambda _: [Timed("work", 1.0)]),))
    path = tmp_path / "bench.json"
    bench.main(["-o", str(path)])
    text = capsys.readouterr().out
    assert "small" in text
    assert "work" in text
    saved = json.loads(path.read_text())
    assert set(bench.TABLES) <= set(saved)
    assert saved["sizes"][0]["family"] == "small"
    assert (saved["full"], saved["complete"]) == (False, True)


def test_unknown_tables_are_refused(tmp_path, capsys):
    """The names that exist are in the message."""
    with pytest.raises(InputError, match="there are sizes, speed"):
        bench.measure(["prices"])
    with pytest.raises(SystemExit):
        bench.main(["prices", "-o", str(tmp_path / "new" / "b.json")])
    assert "prices" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_functions_in_files_are_measured(tmp_path, monkeypatch):
    """A folder of functions adds a row for each file."""
    from cpwl.io.json import save

    save(plain_delaunay(2, 6, 0), tmp_path / "law.json")
    monkeypatch.setattr(bench_sizes, "FAMILIES", ())
    rows = bench_sizes.measure_sizes(cases=tmp_path)
    assert [row.family for row in rows] == ["law"]
