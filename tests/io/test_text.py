"""Text files: decimals are decimals, and every mistake has a line."""

from fractions import Fraction

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import CpwlWarning, InputError
from cpwl.io.text import from_csv, from_nnet, from_pwl


def saved(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", ", "])
def test_breakpoints(tmp_path, separator):
    """One input: straight between points in any order, exact, nothing beyond."""
    text = "\n".join(separator.join(pair) for pair in [("x", "y"), ("0.3", "1"), ("0.1", "0"), ("0.2", "1/3")])
    p = from_csv(saved(tmp_path, "a.csv", "# a table\n" + text + "\n\n"))
    assert p([["0.15"]])[0, 0] == Fraction(1, 6)
    assert np.isnan(p([[0.35]])).all()
    assert p.tol == 0
    assert p.doctor().healthy


def test_a_grid_is_found(tmp_path):
    """Points of a full grid, shuffled: an even grid in decimals is even, so that bends line up."""
    rng = np.random.default_rng(0)
    rows = [f"{i / 10:.1f},{j / 10:.1f},{(i * j) % 3}" for i in range(6) for j in range(6)]
    rng.shuffle(rows)
    p = from_csv(saved(tmp_path, "grid.csv", "\n".join(rows)))
    assert p.num_pieces == 50
    whole = cpwl.CPWL.from_grid([range(6), range(6)], [[(i * j) % 3 for j in range(6)] for i in range(6)])
    assert cpwl.compile(p).sizes.neurons == cpwl.compile(whole).sizes.neurons


def test_scattered_points_and_several_outputs(tmp_path):
    """A triangulation; two columns of values."""
    points = [(0, 0), (1, 0), (0, 1), (1, 1), (0.4, 0.3)]
    text = "\n".join(f"{x}, {y}, {x + y}, {x - 2 * y}" for x, y in points)
    with pytest.warns(CpwlWarning, match="as programs print floats"):  # 0.4 - 2 * 0.3
        p = from_csv(saved(tmp_path, "a.csv", text), num_outputs=2)
    assert p.doctor().healthy
    np.testing.assert_allclose(p([[0.2, 0.7]]), [[0.9, -1.2]], atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no numbers"),
        ("x,y\n", "no numbers"),
        ("1\n2\n", "at least two columns"),
        ("1,2\n3\n", "line 2 has 1 numbers, and the first has 2"),
        ("1,2\n3,x\n", 'line 2, column 2: "x" is not a number'),
        ("1,2\n3,nan\n", 'line 2, column 2 is "nan", which is not a number'),
        ("x,y,v\n1,,2\n3,4,5\n", "line 2, column 2 is empty"),
        ("x,y,v\n1,2,\n3,4,5\n", "line 2, column 3 is empty"),
        ("1,2\n3,1e99999\n", "line 2, column 2: .*larger exponent"),
        ("1_0,2\n3,4\n5,1_0\n", 'line 1, column 1: "1_0" is not a number'),
        ("1,2\n3,4\n5,1_0\n", 'line 3, column 2: "1_0" is not a number'),
        ("\uff11\uff10,2\n3,4\n5,6\n", "line 1, column 1: .* is not a number"),
        ("1,2\n3,4\n5,\uff16\n", "line 3, column 2: .* is not a number"),
        ("1,2\n1,3\n", "lines 1 and 2 have the same point"),
        ("1,2\n", "at least two points"),
        ("1,1,2\n0,0,1\n2,2,3\n1.5,1.5,2\n", "cannot be triangulated"),
        ("0,0,1\n1,1,2\n", "cannot be triangulated"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, message):
    """With the line."""
    with pytest.raises(InputError, match=message):
        from_csv(saved(tmp_path, "a.csv", text))


# A map of 3 x 2 values, y = 10 x0 + x1 on axes 0, 1, 2 and 0.5, 1.5, as programs write it.
MATRICES = {
    "an empty corner": ",0.5,1.5\n0,0.5,1.5\n1,10.5,11.5\n2,20.5,21.5\n",
    "a name in the corner": "rpm\\\\load;0.5;1.5;\n0;0.5;1.5;\n1;10.5;11.5;\n2;20.5;21.5;\n",
    "tabs": "\t0.5\t1.5\n0\t0.5\t1.5\n1\t10.5\t11.5\n2\t20.5\t21.5\n",
    "axes from the top": ",1.5,0.5\n2,21.5,20.5\n1,11.5,10.5\n0,1.5,0.5\n",
}


@pytest.mark.parametrize("text", MATRICES.values(), ids=MATRICES)
def test_a_matrix_is_a_table_of_two_inputs(tmp_path, text):
    """The first input is along the first column, the second along the first row, in either direction."""
    p = from_csv(saved(tmp_path, "map.csv", text))
    assert (p.dim, p.num_pieces) == (2, 4)
    assert p([["1/4", "3/4"]])[0, 0] == Fraction(13, 4)


def test_numbers_that_are_points_or_a_matrix_need_a_word(tmp_path, capsys):
    """With a number in the corner nobody can tell; the layout decides, also on the command line."""
    path = saved(tmp_path, "map.csv", "0,5,7\n1,2,4\n2,3,3\n3,0,1\n")
    with pytest.raises(InputError, match=r'4 points of 2 inputs, or a matrix of 3 x 2 values .* `layout="points"`'):
        from_csv(path)
    assert from_csv(path, layout="matrix")([["3/2", 5]])[0, 0] == Fraction(5, 2)
    assert from_csv(path, layout="points")([[1, 2]])[0, 0] == 4
    assert main(["doctor", str(path)]) == 65
    assert "--layout" in capsys.readouterr().err
    assert main(["convert", str(path), str(tmp_path / "map.json"), "--layout", "matrix"]) == 0
    assert cpwl.read(tmp_path / "map.json")([["3/2", 5]])[0, 0] == Fraction(5, 2)


def test_a_line_of_names_says_that_these_are_points(tmp_path):
    """Numbers alone could be a matrix; below names of columns they are points."""
    p = from_csv(saved(tmp_path, "points.csv", "x,y,z\n0,0,1\n1,0,2\n0,1,3\n"))
    assert (p.dim, p.num_pieces, p.names) == (2, 1, ("x", "y", "z"))


@pytest.mark.parametrize("line", ["nan,nan", "nan,1", "inf,1", "0.5abc,1", "-,NA"])
def test_a_point_that_cannot_be_read_is_no_line_of_names(tmp_path, line):
    """It is not left out."""
    with pytest.raises(InputError, match="line 1, column 1"):
        from_csv(saved(tmp_path, "first.csv", f"{line}\n0,0\n1,1\n"))


@pytest.mark.parametrize("line", ["Na,K", "inflow,outflow", "°C,%", "2nd,third", "T,0 bar"])
def test_names_are_names(tmp_path, line):
    """Sodium is not a missing number."""
    assert from_csv(saved(tmp_path, "names.csv", f"{line}\n0,0\n1,1\n")).names == tuple(line.split(","))


def test_cells_may_be_in_quotes(tmp_path):
    """As spreadsheets write them; names have none."""
    p = from_csv(saved(tmp_path, "quoted.csv", '"speed, mean";"y"\n"0";"0"\n"1";"1/2"\n'))
    assert (p.names, p([[1]])[0, 0]) == (("speed, mean", "y"), Fraction(1, 2))
    with pytest.raises(InputError, match=r'line 2, column 2: "1,000" is not a number; .*; decimals have a point'):
        from_csv(saved(tmp_path, "quoted.csv", 'x,y\n0,"1,000"\n1,2\n'))


def test_printed_floats_are_exact_and_said_to_be(tmp_path):
    """0.1 + 0.2 as Python prints it is that decimal; a warning says what to do if it was meant to be 0.3."""
    path = saved(tmp_path, "floats.csv", "x,y\n0,0.1\n1,0.2\n2,0.30000000000000004\n")
    with pytest.warns(CpwlWarning, match=r"line 4 .* `within=1e-9`"):
        p = from_csv(path)
    assert p([["2"]])[0, 0] == Fraction("0.30000000000000004")
    assert cpwl.compile(p).sizes.neurons > cpwl.compile(p, within=1e-9).sizes.neurons == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",0,1\n0,1,2\n", "at least two further lines"),
        (",0,1\n0,1,\n1,2,3\n", "line 2, column 3 is empty"),
        (",0,1\n0,1,2\n1,2\n", "line 3 has 2 cells, and the first has 3"),
        (",0,1,1\n0,1,2,3\n1,2,3,4\n", "axis in the first row must increase or decrease: 1 is followed by 1"),
        (",0,1\n0,1,2\n2,2,3\n1,2,3\n", "axis in the first column must increase or decrease: 2 is followed by 1"),
    ],
)
def test_matrices_that_are_refused(tmp_path, text, message):
    """With the line and the column."""
    with pytest.raises(InputError, match=message):
        from_csv(saved(tmp_path, "map.csv", text))


PIECES = """c an example
pwl

b 0 1 0
b 0.25 -1 0
b 0.5 -1 0

p 1 1 -2 1 0 1
g 1
g 2
p 1 2 0 1 0 1
l 2
g 3
p 3 4 -1 2 0 1
l 3
"""


def test_rational_pieces(tmp_path):
    """On the unit square; the values are those of the three laws."""
    p = from_pwl(saved(tmp_path, "a.pwl", PIECES))
    assert p.tol == 0
    assert p.doctor().healthy
    assert [v for (v,) in p([["0", "1"], ["1/4", "0"], ["1/3", "0"], ["1", "1"]])] == [
        1,
        Fraction(1, 2),
        Fraction(1, 2),
        Fraction(1, 4),
    ]
    assert p([["2", "0"]])[0, 0] is None


def test_rounded_boundaries(tmp_path):
    """A boundary written as 0.333333 is off by a little: the pieces are data within 1e-5, and healthy as such."""
    text = "pwl\nb 0.333333 -1\np 0 1 1 1\ng 1\np 1 3 0 1\nl 1\n"
    p = from_pwl(saved(tmp_path, "a.pwl", text))
    assert p.tol > 0
    assert p.doctor().healthy
    assert p([[0.9]])[0, 0] == pytest.approx(1 / 3)


def test_truncated_linear_functions(tmp_path):
    """``tl``: an affine function cut off at 0 and 1."""
    p = from_pwl(saved(tmp_path, "a.pwl", "c\ntl 3 2 -2 1 1 2\n"))
    assert p.doctor().healthy
    x = np.random.default_rng(0).uniform(0, 1, (50, 2))
    np.testing.assert_allclose(p(x)[:, 0], np.clip(1.5 - 2 * x[:, 0] + 0.5 * x[:, 1], 0, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is not a .pwl file"),
        ("hello", "this is not a .pwl file"),
        ("pwl\n", "no pieces"),
        ("pwl\np 1 1 1\n", "line 2: a piece has a numerator"),
        ("pwl\np 1 0 1 1\n", "denominators must be positive"),
        ("pwl\nb 1 1\nb 1\n", "line 3 has 0 inputs"),
        ("pwl\nb 1 1\ng 1\n", "line 3: `g` is unknown"),
        ("pwl\nb 1 1\np 1 1 1 1\ng 2\n", "line 4: `g` takes the number of a boundary, 1 to 1"),
        ("pwl\np 1 1 1 1\nb 1 1 1\n", "inputs, and there are others"),
        ("pwl\np 1 1 x 1\n", 'line 2: "x" is not a number'),
    ],
)
def test_pieces_that_are_refused(tmp_path, text, message):
    """With the line."""
    with pytest.raises(InputError, match=message):
        from_pwl(saved(tmp_path, "a.pwl", text))


NNET = """// a network
// of two layers
2,2,1,3,
2,3,1,
0,
-1,-1,
1,1,
0.5,0.0,7.0,
2.0,1.0,3.0,
1.0,0.1,
-1.0,0.2,
0.5,0.3,
0.1,
0.0,
-0.2,
1.0,2.0,-1.0,
0.25,
"""


def nnet_value(x, normalize):
    """The same by hand, in floats."""
    W1, b1 = np.array([[1, 0.1], [-1, 0.2], [0.5, 0.3]]), np.array([0.1, 0, -0.2])
    z = (x - [0.5, 0]) / [2, 1] if normalize else x
    y = np.maximum(z @ W1.T + b1, 0) @ [1, 2, -1] + 0.25
    return y * 3 + 7 if normalize else y


@pytest.mark.parametrize("normalize", [True, False])
def test_acas_networks(tmp_path, normalize):
    """Weights with the means and ranges of the file, or alone; the decimals are decimals."""
    network = from_nnet(saved(tmp_path, "a.nnet", NNET), normalize=normalize)
    x = np.random.default_rng(0).normal(size=(40, 2))
    np.testing.assert_allclose(network(x)[:, 0], nnet_value(x, normalize), atol=1e-12)
    if not normalize:
        assert network([["0", "1"]])[0, 0] == Fraction(1, 5) + 2 * Fraction(1, 5) - Fraction(1, 10) + Fraction(1, 4)


def test_acas_networks_are_extracted(tmp_path):
    """From the command line to the pieces of the network."""
    path = saved(tmp_path, "a.nnet", NNET)
    assert main(["extract", str(path), "-o", str(tmp_path / "law.json"), "--box", "-1", "1"]) == 0
    assert main(["convert", str(path), str(tmp_path / "a.onnx")]) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cut short"),
        ("\n".join(NNET.splitlines()[:9]), "cut short"),
        (NNET + "1,2,3\n", "the file continues after"),
        (NNET.replace("2,2,1,3,", "2,3,1,3,"), "do not fit"),
        (NNET.replace("2,2,1,3,", "1.5,3,1,3,"), "must be whole"),
        (NNET.replace("1.0,0.1,", "1.0,"), "line 10 has 1 numbers instead of 2"),
        (NNET.replace("1.0,0.1,", "1.0,x,"), 'line 10: "x" is not a number'),
        (NNET.replace("2.0,1.0,3.0,", "2.0,0.0,3.0,"), "a range is 0"),
        ("999999,1,1,1\n1,1\n", "numbers instead of 1000000"),
    ],
)
def test_networks_that_are_refused(tmp_path, text, message):
    """With the line."""
    with pytest.raises(InputError, match=message):
        from_nnet(saved(tmp_path, "a.nnet", text))


def test_files_that_are_no_text(tmp_path):
    """Bytes that are not UTF-8."""
    for name, reader in (("a.csv", from_csv), ("a.pwl", from_pwl), ("a.nnet", from_nnet)):
        (tmp_path / name).write_bytes(b"1,2\n\xff\xfe")
        with pytest.raises(InputError, match="not UTF-8"):
            reader(tmp_path / name)
