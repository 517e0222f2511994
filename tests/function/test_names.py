"""Names and units of inputs and outputs: carried by functions and their files, shown everywhere, and without effect."""

import json
import pickle

import pytest

import cpwl
from cpwl.cli.app import run_command
from cpwl.errors import InputError

NAMES, UNITS = ("speed", "load", "torque", "fuel"), ("rpm", "N", "Nm", "")
LABELS = ("speed [rpm]", "load [N]", "torque [Nm]", "fuel")
VALUES = [[[0, 1], [1, 0]], [[2, 0], [0, "1/3"]]]
BARE = cpwl.CPWL.from_grid([[0, 1], [0, 2]], VALUES)
P = BARE.named(NAMES, UNITS)


@pytest.mark.parametrize("source", [P, P.restrict(box=([0, 0], [1, 1])), P.merge()], ids=["table", "pieces", "merged"])
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_files_keep_names_and_units(source, ending, tmp_path):
    """What is written is read back: the names, the units, and the same function."""
    cpwl.write(source, tmp_path / f"p.{ending}")
    back = cpwl.read(tmp_path / f"p.{ending}")
    assert (back.names, back.units) == (NAMES, UNITS)
    assert back == source


def test_copies_and_parts_keep_names():
    """A pickled function, some of its pieces, and some of its outputs have their names."""
    assert pickle.loads(pickle.dumps(P)).labels == LABELS
    assert P.take([0]).labels == LABELS
    assert P[1].labels == ("speed [rpm]", "load [N]", "fuel")
    assert P[::-1].labels == ("speed [rpm]", "load [N]", "fuel", "torque [Nm]")
    assert (P + 1).labels == ()


def test_names_change_nothing():
    """Names have no effect on equality, on the network, or on a proof."""
    assert P == BARE
    compiled = cpwl.compile(P, certify=True)
    assert compiled.certificate.error_bound == 0
    assert compiled.network.sizes == cpwl.compile(BARE).network.sizes


def test_a_proof_of_named_files_is_checked(tmp_path):
    """The stand-alone checker reads past names: what is proved does not depend on them."""
    from cpwl_check.main import main

    compiled = cpwl.compile(P, certify=True)
    cpwl.write(P, tmp_path / "p.json")
    cpwl.write(compiled, tmp_path / "n.json")
    compiled.certificate.save(tmp_path / "proof.json")
    assert main([str(tmp_path / name) for name in ("p.json", "n.json", "proof.json")]) == 0


def test_a_header_line_of_a_table_has_names_and_units(tmp_path):
    """Columns can be chosen by name, with or without the unit."""
    path = tmp_path / "t.csv"
    path.write_text("speed [rpm],load [N],torque [Nm]\n0,0,1\n1,0,2\n0,1,3\n1,1,4\n")
    assert cpwl.read(path).labels == LABELS[:3]
    other = cpwl.read(path, columns=["load", "speed [rpm]", "torque"])
    assert other.names == ("load", "speed", "torque")
    assert other([[1, 0]]) == 3


def test_a_header_line_that_cannot_be_names_is_left(tmp_path):
    """Columns of the same name, or without one, are read as before."""
    path = tmp_path / "t.csv"
    path.write_text("a,a\n0,1\n1,3\n")
    assert cpwl.read(path).names == ()


@pytest.mark.parametrize(
    ("names", "units"),
    [
        (["a", "b", "c"], None),
        (["a", "b", "c", "c"], None),
        (["a", "b", "c", ""], None),
        (["a", "b", "c", "1.5"], None),
        (["a", "b", "c", "d[e]"], None),
        (["a", "b", "c", "d\n"], None),
        (["a", "b", "c", 4], None),
        (["a", "b", "c", "d"], ["m"]),
        ("abcd", None),
    ],
)
def test_what_is_no_name_is_refused(names, units):
    """There are n + m different names, printable and not numbers, and as many units."""
    with pytest.raises(InputError, match=r"`(names|units)` must"):
        BARE.named(names, units)


def test_documents_with_wrong_names_are_refused(tmp_path):
    """Too few names, or units without names, are mistakes in a file."""
    cpwl.write(P, tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    for wrong, said in (
        ({"names": ["a"]}, "must have 4 entries"),
        ({"names": None}, "names must be"),
        ({"names": ...}, "units"),
    ):
        changed = {k: v for k, v in {**data, **wrong}.items() if v is not ...}
        (tmp_path / "q.json").write_text(json.dumps(changed))
        with pytest.raises(InputError, match=said):
            cpwl.read(tmp_path / "q.json")


def test_other_formats_show_names(tmp_path):
    """The comment of a C header and the metadata of an ONNX file name every input and output."""
    import onnx

    cpwl.io.to_c(P, tmp_path / "p.h")
    assert "x[0]: speed [rpm]; x[1]: load [N]; y[0]: torque [Nm]; y[1]: fuel." in (tmp_path / "p.h").read_text()
    cpwl.io.to_onnx(cpwl.compile(P), tmp_path / "p.onnx")
    notes = {entry.key: entry.value for entry in onnx.load(tmp_path / "p.onnx").metadata_props}
    assert (notes["cpwl.inputs"], notes["cpwl.outputs"]) == ("speed [rpm], load [N]", "torque [Nm], fuel")


def test_pictures_show_names():
    """Axes and colour bar of a plot, the display of a notebook, and the explorer."""
    import matplotlib

    matplotlib.use("Agg")
    ax = P.plot(output=1)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.figure.axes[-1].get_ylabel()) == ("speed [rpm]", "load [N]", "fuel")
    assert "speed [rpm]" in P._repr_svg_()
    html = cpwl.report(P, certify=False).html
    assert '"labels":["speed [rpm]","load [N]"],"values":["torque [Nm]","fuel"]' in html


def test_commands_take_and_show_names(tmp_path, capsys):
    """`cpwl convert` gives names; `cpwl ask` shows them and takes them for numbers."""
    cpwl.write(BARE, tmp_path / "bare.json")
    names = ["--names", "speed,load,torque,fuel", "--units", "rpm,N,Nm,"]
    assert run_command(["convert", str(tmp_path / "bare.json"), str(tmp_path / "p.json"), *names]) == 0
    assert cpwl.read(tmp_path / "p.json").labels == LABELS
    capsys.readouterr()
    assert run_command(["ask", str(tmp_path / "p.json"), "--max", "--output", "fuel", "--depends-on", "load"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["x = (speed [rpm], load [N]), value = torque [Nm], fuel", "max: 1 at x = (0, 0)"]
    assert run_command(["ask", str(tmp_path / "p.json"), "--max", "--output", "2"]) == 64
    assert run_command(["ask", str(tmp_path / "p.json"), "--max", "--output", "heat"]) == 64


def test_an_output_is_asked_by_its_name():
    """As by its number; an unknown name is refused with the known ones, and a function without names says so."""
    assert P.argmax(output="torque").value == BARE.argmax(output=0).value == 2
    assert P.argmax(output="fuel").value == BARE.argmax(output=1).value == 1
    assert P.is_convex(output="fuel").holds == BARE.is_convex(output=1).holds
    with pytest.raises(InputError, match=r'no output "speed"; the names of the outputs are "torque", "fuel"'):
        P.range(output="speed")
    with pytest.raises(InputError, match=r"are none; `p.named` gives names"):
        BARE.range(output="fuel")
    for question in ("range", "argmax", "argmin", "is_convex", "is_concave", "is_monotone", "integral", "mean"):
        named, numbered = (str(getattr(cpwl.ask(P), question)(output=j)) for j in ("fuel", 1))
        assert named == numbered
    assert str(cpwl.ask(P).depends_on(1, output="fuel")) == str(P.depends_on(1, output="fuel"))
    with pytest.raises(InputError, match=r'no output "fuel"; the names of the outputs are none; give a number'):
        cpwl.ask(cpwl.compile(BARE).network).range(output="fuel")
