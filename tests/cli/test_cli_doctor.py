"""``cpwl doctor``: findings in a table or as JSON, and an exit code that says whether it is a function."""

import json

import pytest

from cpwl.cli import main
from cpwl.io.json import save
from support.functions import abs_sum, boxes, delaunay
from support.json_examples import NETWORK, PIECES, TABLE, write
from support.rational_pieces import cut_up, cuts

ZERO = ([0, 0], 0)
SICK = {
    "jump": boxes([([0, 0], [1, 1]), ([1, 0], [2, 1])], [ZERO, ([0, 1], 0)]),
    "overlap": boxes([([0, 0], [2, 1]), ([1, 0], [3, 1])], [ZERO, ([0, 0], 5)]),
    "domain not convex": boxes([([0, 0], [1, 2]), ([2, 0], [3, 2])], [ZERO, ZERO]),
}


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Examine a function, or a file: the exit code, and what was written to stdout and to stderr."""
    monkeypatch.delenv("CPWL_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(p, *options):
        path = p
        if not hasattr(p, "is_file"):
            path = tmp_path / "law.json"
            save(p, path)
        code = main(["doctor", str(path), *options])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


@pytest.mark.parametrize("p", [abs_sum(2), delaunay(2, 9, 0), cut_up(abs_sum(2), cuts(2, 3, 0))])
def test_a_healthy_function_is_0(run, p):
    """Notes do not count."""
    code, out, err = run(p)
    assert (code, err) == (0, "")
    assert f"{p.num_pieces} pieces, {p.num_components} laws: healthy" in out


@pytest.mark.parametrize("kind", SICK)
def test_what_is_no_function_is_1(run, kind):
    """The table has the worst error, and its pieces."""
    code, out, err = run(SICK[kind])
    assert (code, err) == (1, "")
    assert all(word in out for word in ("error", kind, "0, 1", "not a continuous function on a convex domain"))


def test_errors_come_before_notes(run):
    """A jump, and a redundant row that is only noted."""
    p = SICK["jump"]
    A, b = [body.A.tolist() for body in p.polyhedra], [body.b.tolist() for body in p.polyhedra]
    A[0].append([1.0, 1.0])
    b[0].append(9.0)
    sick = type(p).from_pieces(A, b, p.laws.gradient[:, 0], p.laws.offset[:, 0])
    out = run(sick)[1]
    assert 0 < out.index("jump") < out.index("redundant rows")


@pytest.mark.parametrize("p", [*SICK.values(), abs_sum(2), cut_up(abs_sum(2), cuts(2, 3, 0))])
def test_json_has_every_finding(run, p):
    """One object, with all that the report of the library has."""
    code, out, err = run(p, "--json")
    found = json.loads(out)
    report = p.doctor()
    assert err == ""
    assert (code == 0) == found["healthy"] == report.healthy
    assert [f["message"] for f in found["findings"]] == [f.message for f in report]
    assert [tuple(f["pieces"]) for f in found["findings"]] == [f.pieces for f in report]
    assert [f["size"] for f in found["findings"]] == [f.size for f in report]


def test_a_witness_is_a_list_of_numbers(run):
    """The point where a jump is largest."""
    (jump,) = json.loads(run(SICK["jump"], "--json")[1])["findings"]
    assert (jump["severity"], jump["kind"], jump["point"], jump["size"]) == ("error", "jump", [1.0, 1.0], 1.0)


def test_a_table_is_examined(run, tmp_path):
    """Files with points and values are functions, too."""
    assert run(write(tmp_path / "table.json", TABLE))[0] == 0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (NETWORK, "holds a network"),
        ("{", "law.json"),
        ({**PIECES, "pieces": []}, "pieces"),
        (None, "law.json"),
    ],
    ids=["network", "no json", "no pieces", "no file"],
)
def test_what_cannot_be_read_is_65(run, tmp_path, document, message):
    """One clear message, and nothing on stdout."""
    path = tmp_path / "law.json"
    if document is not None:
        write(path, document)
    code, out, err = run(path)
    assert (code, out) == (65, "")
    assert err.startswith("error: ")
    assert message in err


def test_messages_are_not_read_as_markup(run, tmp_path):
    """A name with brackets in it is printed as it is."""
    path = write(tmp_path / "[red]law.json", TABLE)
    assert "[red]law.json" in run(path)[1]


def test_help(capsys):
    """Help is no error."""
    assert main(["doctor", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: cpwl doctor")
