"""Neuron counts of the catalogue, pinned exactly: a change of size is a decision, and shows in `sizes.json`.

``cd tests; PYTHONPATH=.:../benchmarks python construct/test_sizes.py`` writes them anew.
"""

import json

import pytest

from cpwl.compiler import CONSTRUCTIONS
from support.catalogue import CASES, compiled, names
from support.pinned import SIZES, pinned

EXACT = set(names(without="float"))
EVERY = [
    (case.name, construction)
    for case in CASES
    for construction in (CONSTRUCTIONS if case.name in EXACT else ("auto", "lattice", "paper"))
]


def neurons(name, construction):
    """The hidden neurons of a case, or None where the construction does not apply."""
    made = compiled(name, construction)
    return None if made is None else made.sizes.neurons


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_sizes_are_as_pinned(name):
    """As many neurons as `sizes.json` says, by every construction."""
    assert {c: neurons(name, c) for case, c in EVERY if case == name} == pinned()[name]


def test_nothing_else_is_pinned():
    """Every entry of the file is a case and a construction that there are."""
    assert {(name, c) for name, row in pinned().items() for c in row} == set(EVERY)


def main() -> None:
    found: dict[str, dict[str, int | None]] = {}
    for name, construction in EVERY:
        found.setdefault(name, {})[construction] = neurons(name, construction)
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in found.items())
    SIZES.write_text("{\n" + rows + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
