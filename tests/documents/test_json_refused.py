"""JSON files that are not what they should be: each is refused in one sentence that says where and why."""

import copy
import json
import re

import pytest

from cpwl.errors import InputError, LimitError
from cpwl.io.json import load, save
from cpwl.network import Network
from support.json_examples import EXAMPLES, NETWORK, PIECES, TABLE, write


@pytest.fixture
def path(tmp_path):
    """Where the file is."""
    return tmp_path / "law.json"


def required(document, where=()):
    """The places of all required fields in a document."""
    if isinstance(document, list):
        for i, part in enumerate(document):
            yield from required(part, (*where, i))
    elif isinstance(document, dict):
        for key, part in document.items():
            if key not in ("tol", "domain", "note"):
                yield (*where, key)
            yield from required(part, (*where, key))


FIELDS = [(kind, where) for kind, document in EXAMPLES.items() for where in required(document)]


def changed(kind, where, change):
    """The example with `change` applied to the object that holds a field."""
    document = copy.deepcopy(EXAMPLES[kind])
    place = document
    for key in where[:-1]:
        place = place[key]
    change(place, where[-1])
    return document


@pytest.mark.parametrize(("kind", "where"), FIELDS, ids=str)
def test_missing_field_is_refused(path, kind, where):
    """Without any one required field a document is refused, and the message has the field."""
    document = changed(kind, where, lambda place, key: place.pop(key))
    with pytest.raises(InputError, match=f'"{where[-1]}"'):
        load(write(path, document))


@pytest.mark.parametrize("wrong", [None, True, {}, "x", -1, [[[0]]]], ids=repr)
@pytest.mark.parametrize(("kind", "where"), FIELDS, ids=str)
def test_field_of_wrong_type_is_refused(path, kind, where, wrong):
    """Any one field of a wrong type is refused, with the file's name in the message."""
    document = changed(kind, where, lambda place, key: place.update({key: wrong}))
    with pytest.raises(InputError, match=re.escape(path.name)):
        load(write(path, document))


def piece(**fields):
    """The example with some fields of its second piece changed."""
    document = copy.deepcopy(PIECES)
    document["pieces"][1].update(fields)
    return document


def layer(**fields):
    """The example network with some fields of its second layer changed."""
    document = copy.deepcopy(NETWORK)
    document["layers"][1].update(fields)
    return document


WRONG = {
    "empty": ("", "is not JSON: line 1 column 1: Expecting value"),
    "truncated": (json.dumps(PIECES, indent=1)[:120], r"is not JSON: line \d+ column \d+: "),
    "two values": ("{} {}", "is not JSON: line 1 column 4: Extra data"),
    "nan": ('{"format": NaN}', "is not JSON: NaN is not a number"),
    "infinity": ('{"format": -Infinity}', "is not JSON: -Infinity is not a number"),
    "deep": ("[" * 100_000, "is nested too deeply"),
    "key twice": ('{"format": "cpwl", "format": "cpwl"}', 'has "format" twice in one object'),
    "a list": ("[]", 'must have "format": "cpwl" or "cpwl-network"'),
    "other format": ('{"format": "csv"}', 'must have "format": "cpwl" or "cpwl-network"'),
    "version": ({**PIECES, "version": 2}, "version must be 1$"),
    "both forms": ({**PIECES, "points": [[0]]}, 'has "points", which is not a known field'),
    "neither form": ({"format": "cpwl", "version": 1, "dim": 1, "outputs": 1}, 'has no "pieces"'),
    "misspelt": ({**PIECES, "domian": None}, 'has "domian", which is not a known field'),
    "tolerance": ({**PIECES, "tol": 1}, "tol must be smaller than 1"),
    "no pieces": ({**PIECES, "pieces": []}, "pieces is empty"),
    "b no array": (piece(b=3), r"law.json: pieces\[1\].b must be an array$"),
    "boolean": (piece(b=[True]), r"pieces\[1\].b\[0\] must be a number or a string"),
    "null": (piece(A=[[None, 0]]), r"pieces\[1\].A\[0\]\[0\] must be a number or a string"),
    "no number": (piece(b=["1/3x"]), r'pieces\[1\].b\[0\] is "1/3x", which is not a number'),
    "exponent": (piece(b=["1e999999999"]), r"pieces\[1\].b\[0\] is .* which is not a number"),
    "over zero": (piece(b=["1/0"]), '"1/0" is not a number'),
    "infinite": (json.dumps(piece(b=["x"])).replace('"x"', "1e999"), r"`b\[1\]` must be finite"),
    "b too long": (piece(b=[0, 1]), r"pieces\[1\].A has 1 rows and pieces\[1\].b has 2 numbers"),
    "row too long": (piece(A=[[1, 2, 3]]), r"pieces\[1\].A\[0\] has 3 numbers, but dim is 2"),
    "row says no": (piece(A=[[0, 0]], b=[-1]), r"`A\[1\]` is empty"),
    "gradient rows": (piece(gradient=[[1, 2]]), r"pieces\[1\].gradient must have 2 rows"),
    "gradient flat": (piece(gradient=[1, 2]), r"pieces\[1\].gradient must have 2 rows"),
    "gradient row": (piece(gradient=[[1, 2], [1]]), r"pieces\[1\].gradient\[1\] has 1 number, but dim is 2"),
    "offset": (piece(offset=[1]), r"pieces\[1\].offset has 1 number, but outputs is 2"),
    "domain": ({**PIECES, "domain": {"A": [[1]], "b": [1]}}, r"domain.A\[0\] has 1 number, but dim is 2"),
    "domain b": ({**PIECES, "domain": {"A": [], "b": [1]}}, "domain.A has 0 rows and domain.b has 1 number"),
    "dim": ({**PIECES, "dim": 3}, r"pieces\[0\].A\[0\] has 2 numbers, but dim is 3"),
    "point": ({**TABLE, "points": [[0], [1, 2], [3]]}, r"points\[1\] has 2 numbers, but dim is 1"),
    "simplex": ({**TABLE, "simplices": [[0, 1, 2]]}, r"simplices\[0\] has 3 numbers"),
    "no such point": ({**TABLE, "simplices": [[0, 7]]}, r"simplex 0 names a point outside 0..2"),
    "values": ({**TABLE, "values": [0, 1]}, "values has 2 entries, but there are 3 points"),
    "value": ({**TABLE, "values": [0, [1, 2], 3]}, r"values\[1\] has 2 numbers, but outputs is 1"),
    "table with domain": ({**TABLE, "domain": {"A": [], "b": []}}, "domain must be null"),
    "columns": (layer(columns=3), r"layers\[1\].columns is 3, but layers\[0\].rows is 2"),
    "inputs": ({**NETWORK, "inputs": 2}, r"layers\[0\].columns is 1, but inputs is 2"),
    "outputs": ({**NETWORK, "outputs": 2}, r"layers\[1\].rows is 1, but outputs is 2"),
    "bias": (layer(bias=[1, 2]), r"layers\[1\].bias has 2 numbers, but the layer has 1 rows"),
    "outside": (layer(entries=[[0, 2, 1]]), r"layers\[1\].entries\[0\] is at \(0, 2\), outside 1 x 2"),
    "place twice": (
        layer(entries=[[0, 1, 1], [0, 1, 1]]),
        r"entries\[1\] is at \(0, 1\), which has an entry",
    ),
    "short entry": (layer(entries=[[0, 1]]), r"layers\[1\].entries\[0\] must contain at least 3 items"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_file_is_refused(path, case):
    """Each mistake is an `InputError` that says where it is, and carries the path."""
    document, message = WRONG[case]
    with pytest.raises(InputError, match=message) as caught:
        load(write(path, document))
    assert str(caught.value).startswith(str(path))
    assert caught.value.details["path"] == str(path)


@pytest.mark.parametrize("where", ["b", "A"])
def test_number_beyond_float64_is_named(path, where):
    """A number too large for float64 is our limit, and its place is named."""
    document = piece(**({"b": [10**400]} if where == "b" else {"A": [[f"{10**400}/3", 0]]}))
    with pytest.raises(LimitError, match=rf"pieces\[1\].{where}\[0\].* is too large for float64"):
        load(write(path, document))


def test_missing_file_is_refused(path):
    """No such file: an `InputError` with the reason."""
    with pytest.raises(InputError, match=r"cannot read `.*nowhere.json`: No such file") as caught:
        load(path.with_name("nowhere.json"))
    assert caught.value.details["path"] == str(path.with_name("nowhere.json"))


def test_directory_is_refused(path):
    """A directory in the place of a file is an `InputError`, in reading and in writing."""
    with pytest.raises(InputError, match="Is a directory"):
        load(path.parent)
    with pytest.raises(InputError, match="cannot write"):
        save(load(write(path, PIECES)), path.parent)


def test_bytes_that_are_no_text_are_refused(path):
    """A file that is not UTF-8 is refused with the place of the first bad byte."""
    path.write_bytes(b'{"format": "\xff"}')
    with pytest.raises(InputError, match="not UTF-8 text, from byte 12 on"):
        load(path)


def test_only_functions_and_networks_are_saved(path):
    """Anything else is refused, and nothing is written."""
    path.unlink(missing_ok=True)
    with pytest.raises(InputError, match="`save` takes a CPWL or a Network, not a list"):
        save([1], path)
    with pytest.raises(InputError, match="`note` must be a string"):
        save(Network([([[1]], [0])]), path, note=3)
    assert not path.exists()
