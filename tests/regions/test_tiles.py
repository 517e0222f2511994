"""Tiles: together they are the network, whoever works on them and however often they are killed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cpwl import CPWL, InputError, Network, count_regions, equal, extract, extract_parts
from cpwl.documents.write import document_text, function_document
from cpwl.regions.extract import count_cells
from cpwl.regions.subdivide import subdivide
from cpwl.regions.tiles import Subdomain, first_neurons, split, stream
from support.pools import POOLS, pool_of


def arrangement(planes: int, dim: int, seed: int = 0) -> Network:
    """Hyperplanes in general position, with random integers."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.integers(-999, 999, (planes, dim)), rng.integers(-999, 999, planes)
    return Network([(weight, bias), (np.ones((1, planes), dtype=int), [0])])


def deep(widths: tuple[int, ...], seed: int = 0, *, exact: bool = True) -> Network:
    rng = np.random.default_rng(seed)
    layers = []
    for a, b in pairwise(widths):
        weight, bias = rng.standard_normal((b, a)), rng.standard_normal(b)
        layers.append((np.round(8 * weight).astype(int), np.round(8 * bias).astype(int)) if exact else (weight, bias))
    return Network(layers)


def as_text(part: CPWL) -> str:
    return document_text(function_document(part), None)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("planes", "dim", "size"), [(12, 1, 3), (20, 2, 40), (14, 3, 50), (8, 4, 60), (20, 2, 10**6)])
def test_cells_of_arrangements_are_those_of_the_formula(planes: int, dim: int, size: int) -> None:
    tiles = list(stream(arrangement(planes, dim), None, count_cells, size=size))
    assert sum(count for _, count in tiles) == sum(math.comb(planes, i) for i in range(dim + 1))
    assert all(count <= size for _, count in tiles)
    assert len({tile.name for tile, _ in tiles}) == len(tiles)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("widths", [(1, 6, 4, 1), (2, 6, 5, 1), (2, 4, 3, 2, 2), (3, 4, 3, 1)])
@pytest.mark.parametrize("exact", [True, False])
def test_parts_of_deep_networks_are_the_network(widths: tuple[int, ...], exact: bool) -> None:
    network = deep(widths, exact=exact)
    box = ([-3] * widths[0], [3] * widths[0])
    whole = extract(network, box=box)
    parts = list(extract_parts(network, box=box, size=max(2, whole.num_pieces // 5)))
    assert len(parts) > 1
    assert sum(part.num_pieces for part in parts) == whole.num_pieces
    assert all(part.complete for part in parts)
    for part in parts:
        assert part.domain is not None
        verdict = equal(network, part, domain=(part.domain.integer()[:, :-1], part.domain.integer()[:, -1]))
        assert verdict.equal or (not exact and verdict.gap is not None and verdict.gap < 1e-12)


def test_neurons_in_special_position_are_no_trouble() -> None:
    # Repeated, proportional, opposite, dead and constant neurons, and three lines through one point.
    weight = [[1, 0], [1, 0], [-2, 0], [0, 1], [0, 0], [0, 0], [1, 1], [0, 3]]
    network = Network([(weight, [0, 0, 0, 0, 1, -1, 0, -3]), ([[1] * 8, [1, -1] * 4], [0, -1]), ([[1, 1]], [0])])
    cells = count_regions(network).activation_cells
    for size in (1, 2, 3, 5, 100):
        assert sum(count for _, count in stream(network, None, count_cells, size=size)) == cells


def test_networks_of_a_thousand_layers_are_extracted() -> None:
    # Each layer adds 1 to |x|: more layers than Python allows calls within calls.
    layers = [([[1], [-1]], [0, 0]), ([[1, 1]], [1])] + [([[1]], [1])] * 1100
    found = extract(Network(layers), box=([-1], [1]))
    assert sorted(
        (int(a), int(b)) for a, b in zip(found.laws.gradient[:, 0, 0], found.laws.offset[:, 0], strict=True)
    ) == [
        (-1, 1101),
        (1, 1101),
    ]


def test_a_wall_of_the_domain_on_a_bend_is_a_wall() -> None:
    network = Network([([[1, 0], [0, 1], [1, 1]], [0, 0, -1]), ([[1, 1, 1]], [0])])
    made = extract(network, domain=([[1, 0], [0, 1]], [0, 0]))
    assert made.complete
    assert made.num_pieces == 1


def test_the_first_neurons_decide_the_parts() -> None:
    network = arrangement(10, 2)
    tiles = split(network, Subdomain((), None), 12)
    made = subdivide(first_neurons(network, 3), None)
    assert made.cells == 7
    assert len(tiles) in (7, 11)
    assert [tile.name for tile in tiles] == [(i,) for i in range(len(tiles))]


# --- whoever does the work --------------------------------------------------------------------------------------------


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", POOLS)
def test_the_same_bytes_whoever_does_the_work(kind: str) -> None:
    network = deep((2, 8, 6, 2), exact=False)
    alone = [as_text(part) for part in extract_parts(network, size=30)]
    assert len(alone) > 3
    with pool_of(kind) as pool:
        assert [as_text(part) for part in extract_parts(network, size=30, executor=pool)] == alone
    assert len(alone) > 3


def test_what_cannot_take_work_is_refused() -> None:
    with pytest.raises(InputError, match="`executor` takes a"):
        count_regions(arrangement(3, 2), only="cells", executor=4)  # type: ignore[arg-type]


# --- killed, and resumed ----------------------------------------------------------------------------------------------

_SEARCH = """
import sys, numpy as np
from cpwl import extract_parts
from cpwl.io.json import load
for part in extract_parts(load(sys.argv[1]), size=60, checkpoint=sys.argv[2]):
    print(part.num_pieces, flush=True)
"""


def test_a_search_that_was_killed_goes_on(tmp_path: Path) -> None:
    network = deep((2, 12, 10, 1))
    network_file, folder = tmp_path / "network.json", tmp_path / "parts"
    from cpwl.io.json import save

    save(network, network_file)
    command = [sys.executable, "-c", _SEARCH, str(network_file), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as search:
        assert search.stdout is not None
        assert search.stdout.readline().strip().isdigit()  # at least one part is there
        search.kill()
    found = (folder / "journal.jsonl").read_bytes()
    (folder / "journal.jsonl").write_bytes(found + b'{"tile":[0,')  # cut off in the middle of a line
    before = found.count(b'"done"')
    resumed = [as_text(part) for part in extract_parts(network, size=60, checkpoint=folder)]
    assert resumed == [as_text(part) for part in extract_parts(network, size=60)]
    assert 0 < before < len(resumed)
    # Nothing is left to do: only files are read.
    started = time.process_time()
    assert [as_text(part) for part in extract_parts(network, size=60, checkpoint=folder)] == resumed
    assert time.process_time() - started < 60


def test_counts_go_on_from_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = arrangement(20, 2)
    first = count_regions(network, only="cells", checkpoint=tmp_path)
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["done"] == first.activation_cells == 211
    # A count that is noted is believed: it is not worked out again.
    monkeypatch.setattr("cpwl.regions.tiles._attempt", None)
    assert count_regions(network, only="cells", checkpoint=tmp_path).activation_cells == 211


def forge(notes: Path, change: Callable[[list[str]], list[str]]) -> None:
    notes.write_text("\n".join(change(notes.read_text().splitlines())) + "\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], lines[1].replace("211", "5"), *lines[2:]],
        lambda lines: [lines[0], '{"tile":[],"done":5}', '{"complete":true}'],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[0], lines[1].partition(',"seal"')[0] + "}"],
    ],
)
def test_a_forged_count_is_not_believed(tmp_path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Whoever can write into the folder has no key: a line that is changed, added or left out breaks the seals."""
    network = arrangement(20, 2)
    count_regions(network, only="cells", checkpoint=tmp_path)
    forge(tmp_path / "journal.jsonl", change)
    with pytest.raises(InputError, match="changed, or written by somebody else"):
        count_regions(network, only="cells", checkpoint=tmp_path)


def test_a_journal_of_another_key_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger can run the search on a network of theirs and seal what they like, but not with my key."""
    network = arrangement(20, 2)
    monkeypatch.setenv("CPWL_JOURNAL_KEY", str(tmp_path / "their.key"))
    count_regions(network, only="cells", checkpoint=tmp_path / "notes")
    monkeypatch.setenv("CPWL_JOURNAL_KEY", str(tmp_path / "my.key"))
    with pytest.raises(InputError, match="written by somebody else: line 1"):
        count_regions(network, only="cells", checkpoint=tmp_path / "notes")


def test_equal_does_not_believe_a_forged_journal(tmp_path: Path) -> None:
    """Different networks, and notes that say that nothing differs: taken from a pair that is equal."""
    a, b, c = (Network([([[1], [-1]], [0, 0]), ([[1, k]], [0])]) for k in (1, 1, 2))
    equal(a, b, checkpoint=tmp_path / "same")
    equal(a, c, checkpoint=tmp_path / "other")
    notes = (tmp_path / "same" / "journal.jsonl").read_text().splitlines()
    forge(tmp_path / "other" / "journal.jsonl", lambda lines: [lines[0], *notes[1:]])
    with pytest.raises(InputError, match="changed, or written by somebody else"):
        equal(a, c, checkpoint=tmp_path / "other")


def test_the_folder_of_another_search_is_refused(tmp_path: Path) -> None:
    count_regions(arrangement(5, 2), only="cells", checkpoint=tmp_path)
    with pytest.raises(InputError, match="belongs to another search"):
        count_regions(arrangement(6, 2), only="cells", checkpoint=tmp_path)
    with pytest.raises(InputError, match="belongs to another search"):
        list(extract_parts(arrangement(5, 2), checkpoint=tmp_path))


@pytest.mark.parametrize("text", ["[]\n", "{\n", '{"format": "cpwl-journal"}\n{"tile": 3}\n', "\xff\n"])
def test_journals_that_are_damaged_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "journal.jsonl").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        count_regions(arrangement(5, 2), only="cells", checkpoint=tmp_path)


def test_missing_and_changed_parts_are_noticed(tmp_path: Path) -> None:
    network = arrangement(8, 2)
    parts = list(extract_parts(network, size=10, checkpoint=tmp_path))
    files = sorted(tmp_path.glob("part*.json"))
    assert len(files) == len(parts) > 1
    written = files[0].read_text()
    files[0].write_text(written.replace('"tol": 0', '"tol": 0 '))
    with pytest.raises(InputError, match="was changed after it was written"):
        list(extract_parts(network, size=10, checkpoint=tmp_path))
    files[0].unlink()
    with pytest.raises(InputError, match="cannot read"):
        list(extract_parts(network, size=10, checkpoint=tmp_path))


def test_two_searches_do_not_share_a_folder(tmp_path: Path) -> None:
    network = arrangement(8, 2)
    parts = extract_parts(network, size=10, checkpoint=tmp_path)
    next(parts)
    with pytest.raises(InputError, match="another search is using the folder"):
        next(extract_parts(network, size=10, checkpoint=tmp_path))
    parts.close()  # type: ignore[attr-defined]
    assert len(list(extract_parts(network, size=10, checkpoint=tmp_path))) > 1


def test_a_checkpoint_is_for_cells() -> None:
    with pytest.raises(InputError, match="checkpoint"):
        count_regions(arrangement(5, 2), checkpoint="somewhere")
