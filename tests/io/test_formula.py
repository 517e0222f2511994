"""Formulas: read without evaluating anything, exact, and equal to what Python makes of the same text."""

import random
import re
from fractions import Fraction

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.formula import Formula, SumOfMaxima, _independent_hinges, parse


def python_value(text, names, point):
    """What Python computes at one rational point; the text comes from these tests."""
    functions = {
        "abs": abs,
        "relu": lambda a: max(a, 0),
        "clip": lambda a, low, high: min(max(a, low), high),
        "max": lambda *a: max(a),
        "min": lambda *a: min(a),
    }
    exact = {"__builtins__": {}, "Fraction": Fraction, **functions, **dict(zip(names, point, strict=True))}
    return eval(re.sub(r"\d+", r"Fraction(\g<0>)", text), exact)


def random_text(rng, depth):
    """A random formula in x, y and z, numbers in quarters."""
    number = f"({rng.randint(-8, 8)}/4)"
    if depth == 0:
        return rng.choice([number, "x", "y", "z", f"{number}*x", f"y/{rng.randint(1, 3)}"])
    parts = [random_text(rng, depth - 1) for _ in range(3)]
    return rng.choice(
        [
            f"max({', '.join(parts)})",
            f"min({', '.join(parts[:2])})",
            f"({parts[0]} - {parts[1]})",
            f"({parts[0]} + {parts[1]})",
            f"-abs({parts[0]})",
            f"{number} * relu({parts[0]})",
            f"clip({parts[0]}, -1, {rng.randint(0, 3)})",
        ]
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_formulas(seed):
    """At rational points function and network have exactly the values of Python; nothing is wrong with the pieces."""
    rng = random.Random(seed)
    text = random_text(rng, 3)
    names = ["x", "y", "z"]
    formula = Formula.from_text(text, variables=names)
    p, network = formula.function(), formula.network()
    points = [[Fraction(rng.randint(-60, 60), rng.randint(1, 9)) for _ in names] for _ in range(25)]
    expected = [python_value(text, names, point) for point in points]
    assert [value for (value,) in p(np.array(points, dtype=object))] == expected
    assert [value for (value,) in network(np.array(points, dtype=object))] == expected
    fresh = cpwl.CPWL.from_pieces(
        [body.A for body in p.polyhedra], [body.b for body in p.polyhedra], p.laws.gradient, p.laws.offset
    )
    assert fresh.doctor().healthy


def test_only_what_happens_is_enumerated():
    """The largest of 30 functions of 10 inputs has at most 30 pieces, and a chain of them is found as such."""
    members = ", ".join(f"{i}*x0 - {i * i} + x{i % 10}" for i in range(30))
    assert parse(f"max({members})").num_pieces <= 30
    clipped = "x"
    for _ in range(25):
        clipped = f"min(max({clipped}, -1), 1)"
    assert parse(clipped).num_pieces == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1*x", Fraction(1, 10)),
        (".5*x", Fraction(1, 2)),
        ("1e-3*x", Fraction(1, 1000)),
        ("x/3", Fraction(1, 3)),
        ("2*(x)*3/4", Fraction(3, 2)),
        ("- -x", 1),
        ("-+-x # twice\n + 0", 1),
        ("(1 + 2)*x", 3),
        ("x - x + 7", 7),
        ("0*max(x, 1) + 1", 1),
        ("12345678901234567890*x", 12345678901234567890),
    ],
)
def test_numbers_are_exact(text, value):
    """The value at x = 1: decimals are decimals."""
    assert parse(text, variables="x")([["1"]])[0, 0] == value


def test_order_of_variables():
    """Sorted with numbers by size, or as said; names that do not occur are inputs all the same."""
    assert Formula.from_text("x10 + x9 + b + a").variables == ("a", "b", "x9", "x10")
    p = parse("y - 2*x", variables=("y", "x", "t"))
    assert p.dim == 3
    assert p([1.0, 10.0, 5.0])[0] == -19


@pytest.mark.parametrize("text", ["x, y", "(x, y)", "[x, y]", "[x, y,]", " (x, y) ", "x, y,"])
def test_several_outputs(text):
    """Between commas, with or without brackets around."""
    assert parse(text)([[2.0, 3.0]]).tolist() == [[2, 3]]


def test_brackets_that_are_no_list():
    """A bracket at the beginning may be a factor."""
    assert parse("(x + y)*2, (y)")([[1.0, 2.0]]).tolist() == [[6, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a number, a variable or a bracket"),
        ("x +", "column 4: .*found the end"),
        ("max(x", r"column 6: expected `\)`"),
        ("max(x, 1))", "column 10: .*is unexpected"),
        ("x*y", "column 2: a product of two variable factors"),
        ("1/x", "column 2: a quotient by something variable"),
        ("x/0", "divides by 0"),
        ("x**2", "powers"),
        ("x^2", "powers"),
        ("2x", "write 2\\*x"),
        ("1_0*x", "expected an operator before `_0`"),
        ("\uff12*x", "column 1: expected a number, a variable or a bracket"),
        ("x y", "expected an operator before `y`"),
        ("sin(x)", "`sin` is not a supported function"),
        ("x.real", "is unexpected"),
        ("x < y", "`<` is unexpected"),
        ("abs(x, y)", "`abs` takes 1 arguments, not 2"),
        ("clip(x, 1)", "`clip` takes 3 arguments"),
        ("[x, y", r"expected `\]`"),
        ("x\n+ $", "line 2 column 3"),
        ("1e99999*x", "larger exponent"),
        ("__import__('os').system('true')", "`__import__` is not a supported function"),
        ("3", "no variables"),
        ("(" * 100 + "x" + ")" * 100, "more than 60 deep"),
        ("max(" * 100 + "x" + ")" * 100, "more than 60 deep"),
        ("*".join(["9" * 4000] * 5) + "*x", "too many digits"),
        ("x + \ud800", "does not belong|a number, a variable"),
    ],
)
def test_refusals_have_a_place(text, message):
    """One sentence with line or column."""
    with pytest.raises(InputError, match=message):
        parse(text)


def test_other_mistakes():
    """Arguments of other kinds, and names that do not fit."""
    with pytest.raises(InputError, match="is a string, not a list"):
        parse(["x"])
    with pytest.raises(InputError, match="a variable `y` that is not among"):
        parse("x + y", variables=["x"])
    with pytest.raises(InputError, match="different names"):
        parse("x", variables=["x", "x"])
    with pytest.raises(LimitError, match="characters"):
        parse("x" * (2**20 + 1))
    with pytest.raises(InputError, match="no interior"):
        parse("x", domain=([[1], [-1]], [0, 0]))


def test_too_many_pieces_have_a_network(monkeypatch):
    """A sum of very many hinges: the pieces are refused, and the network is there."""
    text = " + ".join(f"abs(x{i} - x{i + 1})" for i in range(20))
    monkeypatch.setattr("cpwl.io.formula._MOST", 100)
    with pytest.raises(LimitError, match=r"at least 2\^20 pieces"):
        parse(text)
    with pytest.raises(LimitError, match="more than 100 pieces"):
        parse(" + ".join(f"abs({i} * x - y + {i * i})" for i in range(1, 20)))
    network = Formula.from_text(text).network()
    assert network([[float((-1) ** i) for i in range(21)]])[0, 0] == 40


def test_domains():
    """Pieces on a box, or on a polyhedron."""
    p = parse("max(x, y)", box=(0, 1))
    assert p.num_pieces == 2
    assert np.isnan(p([[2.0, 0.0]])).all()
    assert parse("abs(x)", domain=([[-1]], [-1])).num_pieces == 1


def test_long_sums_are_flat():
    """Tens of thousands of terms are one affine function."""
    assert parse(" + ".join(["x"] * 20_000))([[1.0]])[0, 0] == 20_000


def test_command_line(tmp_path, monkeypatch, capsys):
    """A formula in the command, or in a file; the network is proved."""
    monkeypatch.chdir(tmp_path)
    text = "max(min(x + 2*y - 1, 3), -x)  # clipped"
    (tmp_path / "law.txt").write_text(text)
    assert main(["compile", "--formula", text, "-o", "a.json", "--certify"]) == 0
    assert main(["compile", "law.txt", "--variables", "x, y", "-o", "b.onnx", "--certify"]) == 0
    assert cpwl.equal(cpwl.read("a.json"), parse(text))
    assert cpwl.equal(cpwl.io.from_onnx("b.onnx"), parse(text))
    assert main(["info", "law.txt"]) == 0
    assert "pieces: 4" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["compile", "-o", "a.json"], 64),
        (["compile", "law.txt", "--formula", "x", "-o", "a.json"], 64),
        (["compile", "law.json", "--variables", "x", "-o", "a.json"], 64),
        (["compile", "--formula", "x*x", "-o", "a.json"], 65),
        (["compile", "--formula", "x", "--variables", "y", "-o", "a.json"], 65),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, monkeypatch, words, code):
    """Exit codes, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    assert not list(tmp_path.iterdir())


def test_the_formula_as_it_stands_is_taken_where_it_is_smaller(tmp_path, capsys):
    """What is written is never larger than the network of the formula itself."""
    for text in ("abs(x) + relu(y)", "max(abs(x) - 1, abs(y) - abs(x - 2))", "relu(relu(x) - relu(y) - 1)"):
        out = tmp_path / "a.json"
        assert main(["compile", "--formula", text, "-o", str(out), "--json"]) == 0
        capsys.readouterr()
        written = cpwl.read(out)
        assert written.sizes.neurons <= Formula.from_text(text).network().sizes.neurons
        assert cpwl.equal(written, parse(text))


def test_sums_with_too_many_pieces_are_refused_by_a_lower_bound():
    """Of random sums of maxima the bound holds; a norm in 60 inputs is refused at once, with the bound."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        n, count = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        names = [f"x{i}" for i in range(n)]
        forms = [
            "+".join(f"({c})*{x}" for c, x in zip(rng.integers(-1, 2, n), names, strict=True)) for _ in range(count)
        ]
        terms = [f"({rng.integers(-2, 3)})*max({form}+{rng.integers(0, 2)}, x0)" for form in forms]
        formula = Formula.from_text("+".join(terms), variables=names)
        sums = [part for part in formula.outputs if isinstance(part, SumOfMaxima)]
        assert all(2 ** _independent_hinges(part) <= formula.function().num_pieces for part in sums)
    with pytest.raises(LimitError, match=r"at least 2\^60 pieces"):
        parse("+".join(f"abs(x{i})" for i in range(60)))
