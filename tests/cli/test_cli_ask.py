"""``cpwl ask``: every question an option, exit codes, answers for machines."""

import json
from fractions import Fraction

import pytest

from cpwl import CPWL, compile
from cpwl.cli import main
from cpwl.io import to_onnx
from cpwl.io.json import save
from support.functions import abs_sum


@pytest.fixture
def files(tmp_path):
    """|x| + |y| as a function and as a network, a tent map, and a function of two outputs."""
    p = abs_sum(2)
    save(p, tmp_path / "law.json")
    to_onnx(compile(p).network, tmp_path / "net.onnx")
    save(CPWL.from_grid([[0, 1, 2]], [0, 2, 0]), tmp_path / "tent.json")
    save(CPWL.from_grid([[0, 1], [0, 1]], [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]), tmp_path / "same.json")
    return tmp_path


def answers(capsys, arguments, code):
    """What the command prints for machines."""
    assert main([*map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)["answers"]


@pytest.mark.parametrize("name", ["law.json", "net.onnx"])
def test_values(files, capsys, name):
    """Function and network say the same."""
    options = ["--max", "--min", "--lipschitz", "inf", "--lipschitz", "1", "--lipschitz", "2", "--mean", "--integral"]
    found = answers(capsys, ["ask", files / name, *options, "--solve", 2, "--box", -1, 1], 0)
    assert (found["max"]["exact"], found["min"]["exact"]) == ("2", "0")
    assert {abs(v) for v in found["max"]["point"]} == {1.0}
    assert found["lipschitz inf"]["high"] == "2"
    assert found["lipschitz 1"]["high"] == "1"
    assert found["lipschitz 2"]["square"] == "2"
    assert (found["mean"]["exact"], found["integral"]["exact"]) == ("1", "4")
    corners = {tuple(x) for face in found["solve 2"]["faces"] for x in face["points"]}
    assert corners == {(a, b) for a in ("1", "-1") for b in ("1", "-1")}


@pytest.mark.parametrize("name", ["law.json", "net.onnx"])
def test_yes_and_no(files, capsys, name):
    """0 for yes, 1 for a no with its witness."""
    found = answers(capsys, ["ask", files / name, "--convex", "--depends-on", 0, "--box", -1, 1], 0)
    assert found["convex"]["holds"] is True
    found = answers(capsys, ["ask", files / name, "--concave", "--increasing", 0, "--decreasing", 1, "--box", -1, 1], 1)
    for key in ("concave", "increasing 0", "decreasing 1"):
        assert found[key]["holds"] is False
        assert found[key]["points"]
    assert main(["ask", str(files / name), "--inside", "0", "2", "--box", "-1", "1"]) == 0
    assert main(["ask", str(files / name), "--inside", "0", "1", "--box", "-1", "1"]) == 1
    assert "is mapped to" in capsys.readouterr().out


def test_which_output_is_an_option(files, capsys):
    """Whoever types a command is told the option, not the argument of a method."""
    assert main(["ask", str(files / "same.json"), "--max"]) == 65
    said = capsys.readouterr().err
    assert "--output 0" in said
    assert "output=0" not in said


def test_sets_distances_and_dynamics(files, capsys):
    """Level sets with volumes, the distance of two functions, equilibria, invariance."""
    found = answers(capsys, ["ask", files / "law.json", "--level", 1, "--distance", files / "law.json"], 0)
    assert found["level 1"]["volume"] == "2"
    assert found["distance"]["largest"] == "0"
    found = answers(capsys, ["ask", files / "tent.json", "--equilibria", "--invariant"], 0)
    assert [face["points"] for face in found["equilibria"]["faces"]] == [[["0"]], [["4/3"]]]
    assert found["invariant"]["cells"] == 2
    assert main(["ask", str(files / "tent.json"), "--invariant", "--box", "0", "1"]) == 1
    assert "goes to (2)" in capsys.readouterr().out


def test_one_of_several_outputs(files, capsys):
    """Which one must be said, and is."""
    assert main(["ask", str(files / "same.json"), "--max"]) == 65
    assert "output" in capsys.readouterr().err
    found = answers(capsys, ["ask", files / "same.json", "--max", "--output", 1], 0)
    assert Fraction(found["max"]["exact"]) == 1


def test_unbounded_and_undecided(files, capsys):
    """A ray for what has no bound; 2 where limits end the search."""
    found = answers(capsys, ["ask", files / "law.json", "--max"], 0)
    assert found["max"]["exact"] == "infinity"
    assert found["max"]["ray"] is not None
    assert main(["ask", str(files / "net.onnx"), "--convex", "--box", "-1", "1", "--max-regions", "1"]) == 2
    assert "undecided" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 64), (["--lipschitz", "3"], 64), (["--box", "1", "0", "--max"], 64), (["--depends-on", "7"], 64)],
)
def test_wrong_usage(files, capsys, options, code):
    """One sentence, no traceback."""
    assert main(["ask", str(files / "law.json"), *options]) == code
    assert capsys.readouterr().err.startswith("error: ")


def test_questions_for_functions_only(files, capsys):
    """A network is told what to do."""
    assert main(["ask", str(files / "net.onnx"), "--level", "1"]) == 65
    assert "cpwl extract" in capsys.readouterr().err


def test_a_box_has_a_pair_for_each_input(files, capsys):
    """``--box LO,HI LO,HI``: |x| + |y| on [0, 1] x [-2, 1/2] is at most 3; the pairs must be as many as inputs."""
    found = answers(capsys, ["ask", files / "law.json", "--max", "--box", "0,1", "-2,1/2"], 0)
    assert (found["max"]["exact"], found["max"]["point_exact"]) == ("3", ["1", "-2"])
    found = answers(capsys, ["ask", files / "tent.json", "--max", "--box", "0,1/2"], 0)
    assert found["max"]["exact"] == "1"
    for pairs, said in ((["0,1"], "1 pair LO,HI for 2 inputs"), (["0,1", "2,1"], "2 is not below 1")):
        assert main(["ask", str(files / "law.json"), "--max", "--box", *pairs]) == 64
        assert said in capsys.readouterr().err


def test_messages_name_options_as_they_are_typed(files, capsys):
    """What Python calls `max_regions` is --max-regions here."""
    assert main(["ask", str(files / "net.onnx"), "--max", "--box", "-1", "1", "--max-regions", "1"]) == 2
    said = capsys.readouterr().out
    assert "--max-regions" in said
    assert "max_regions" not in said


@pytest.mark.parametrize("ending", ["json", "onnx"])
def test_robustness_of_a_class(files, capsys, ending):
    """Outputs x and 1 - x/2: the class changes at x = 2/3, for function and network alike."""
    p = CPWL.from_grid([[0, 1, 2]], [[0, 1], [1, "1/2"], [2, 0]])
    path = files / f"two.{ending}"
    save(p, path) if ending == "json" else to_onnx(compile(p).network, path, dtype="float64")
    found = answers(capsys, ["ask", path, "--robust", "1", "--radius", "1/4", "--box", 0, 2], 0)
    assert found["robust 1"]["holds"] is True
    found = answers(capsys, ["ask", path, "--robust", "1", "--radius", "0.34", "--box", 0, 2], 1)
    point, values = ([Fraction(v) for v in found["robust 1"][k][0]] for k in ("points", "values"))
    assert abs(point[0] - 1) <= Fraction(34, 100)
    assert values[1] > values[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--robust", "1"], "go together"),
        (["--robust", "1,1", "--radius", "0"], "larger than 0"),
        (["--robust", "1", "--radius", "1"], "has 1 coordinate, but there are 2 inputs"),
        (["--robust", "1,1", "--radius", "x"], "x"),
    ],
)
def test_robustness_asked_wrongly(files, capsys, words, said):
    """One sentence each."""
    assert main(["ask", str(files / "same.json"), *words]) in (64, 65)
    assert said in " ".join(capsys.readouterr().err.split())


def test_an_empty_target_is_a_mistake_of_its_own_option(files, capsys):
    """``--inside 1 0`` names the option."""
    assert main(["ask", str(files / "law.json"), "--inside", "1", "0"]) == 64
    assert "'--inside': 1 is not below 0" in capsys.readouterr().err


def test_what_goes_on_forever(tmp_path, capsys):
    """Rays of solutions are printed, and those of extrema have 1 as their largest entry: both were long or missing."""
    law = tmp_path / "law.txt"
    law.write_text("max(3*x, 7*y, 0) + 2*min(x, 0)")
    assert main(["ask", str(law), "--max", "--min", "--solve", "21"]) == 0
    said = capsys.readouterr().out
    assert "(7, 3) along (0, -1)" in said
    assert "unbounded from x = (0, 0) along (-1, 0)" in said
