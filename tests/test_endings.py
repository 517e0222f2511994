"""Files of every kind: found by their endings, read and written by the function of the row."""

import numpy as np
import pytest
from scipy.io import savemat

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError
from cpwl.function import CPWL
from cpwl.io.endings import doors, read, write
from cpwl.network import Network

LAW = CPWL.from_breakpoints([0], [0], left_slope="-1/3", right_slope=1)
NETWORK = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])


@pytest.mark.parametrize("door", [*doors("read"), *doors("written")], ids=lambda door: door.ending)
def test_every_row_names_a_function(door):
    """The function that a row names is there."""
    assert callable(door.function())
    assert door.ending.startswith(".")
    assert door.ending == door.ending.lower()


def test_options_are_those_of_the_kind(tmp_path):
    """Reading and writing hand options on, and refuse those of another kind of file."""
    write(NETWORK, tmp_path / "net.onnx", dtype="float32")
    assert cpwl.equal(read(tmp_path / "net.onnx"), NETWORK)
    write(LAW, tmp_path / "law.json", note="a kink")
    assert '"note": "a kink"' in (tmp_path / "law.json").read_text()
    with pytest.raises(InputError, match=r"`note` is not an option for \.onnx files"):
        write(NETWORK, tmp_path / "net.onnx", note="a kink")
    with pytest.raises(InputError, match=r"`layout` is not an option for \.json files"):
        read(tmp_path / "law.json", layout="matrix")


def test_reading_and_writing_go_by_the_ending(tmp_path):
    """What is written is what is read, in capitals, too."""
    write(NETWORK, tmp_path / "net.ONNX")
    write(LAW, tmp_path / "law.json")
    assert cpwl.equal(read(tmp_path / "net.ONNX"), NETWORK)
    assert cpwl.equal(cpwl.read(tmp_path / "law.json"), LAW)


def test_refusals_say_what_there_is(tmp_path):
    """An unknown ending, and a function where a network belongs."""
    with pytest.raises(InputError, match=r"end in \.json"):
        read("law.xyz")
    with pytest.raises(InputError, match="`cpwl compile` makes a network"):
        write(LAW, tmp_path / "law.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [".json", ".onnx", ".csv", ".nnet", ".pwl", ".npz", ".safetensors", ".mat"])
def test_content_where_the_ending_says_nothing(tmp_path, kind):
    """Each kind of file is recognised under another name; where nothing is, the endings are named."""
    path = tmp_path / f"a{kind}"
    if kind in (".json", ".onnx"):
        write(NETWORK, path)
    elif kind == ".mat":
        cell = np.empty((1, 1), dtype=object)
        cell[0, 0] = np.array([[1.0]])
        savemat(path, dict.fromkeys("AbCd", cell))
    elif kind == ".npz":
        np.savez(path, W1=np.eye(2), b1=np.zeros(2))
    elif kind == ".safetensors":
        text = b'{"0.weight":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]}}'
        path.write_bytes(len(text).to_bytes(8, "little") + text + np.ones(1).tobytes())
    else:
        texts = {".csv": "x,y\n0,1\n1,2\n", ".nnet": "// one\n1,1,1,1,\n1,1,\n0,\n0,\n0,\n0,0,\n1,1,\n2,\n3,\n"}
        path.write_text({**texts, ".pwl": "c one\npwl\np 1 2 1 3\n"}[kind])
    expected = repr(read(path))
    other = path.rename(tmp_path / "a.data")
    assert repr(read(other)) == expected
    assert main(["info", str(other)]) == 0
    other.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"end in \.json"):
        read(other)


def test_convert_and_info(tmp_path, capsys):
    """A network goes from one kind of file to another, and `info` says what is in it."""
    write(NETWORK, tmp_path / "net.json")
    assert main(["convert", str(tmp_path / "net.json"), str(tmp_path / "net.onnx")]) == 0
    assert main(["info", str(tmp_path / "net.onnx")]) == 0
    said = capsys.readouterr().out
    assert "kind: network" in said
    assert "neurons: 2" in said
    assert main(["info"]) == 0
    assert main(["info", str(tmp_path / "net.onnx"), "--json"]) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["convert", "law.json", "law.xyz"], 65, "has an unknown ending"),
        (["convert", "law.json", "law.onnx"], 65, "cpwl compile"),
        (["convert", "law.json", "law.json"], 64, "is also the input"),
        (["convert", "law.json", "none/law.json"], 65, "no directory"),
        (["info", "nothing.json"], 65, "cannot read"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, monkeypatch, capsys, words, code, said):
    """Nothing is written, and the exit code says whose mistake it is."""
    monkeypatch.chdir(tmp_path)
    write(LAW, "law.json")
    assert main(words) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["law.json"]


def test_what_is_of_no_kind_is_not_called_json(tmp_path, capsys):
    """A formula without an ending, and a C header: the endings that can be read."""
    (tmp_path / "formula").write_text("max(x, 0)")
    assert main(["info", str(tmp_path / "formula")]) == 65
    assert "has an unknown ending; files that can be read end in .json" in capsys.readouterr().err


def test_weights_that_are_no_doubles_are_said_to_be_rounded(tmp_path, capsys):
    """1/3 as an ONNX weight is another number; 1/4 is not."""
    for weight, said in (("1/3", True), ("1/4", False)):
        write(Network([([[weight]], [0])]), tmp_path / "net.json")
        assert main(["convert", str(tmp_path / "net.json"), str(tmp_path / "net.onnx")]) == 0
        assert ("weights rounded to doubles" in capsys.readouterr().out) is said
