"""Pieces as tables: CSV, MATLAB files and DataFrames hold the function, and other libraries read them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.io import loadmat

import cpwl
from cpwl.errors import CpwlError, InputError
from support.catalogue import function
from support.functions import delaunay
from support.twins import catalogue_twin

NAMES = ["hat", "absolute_value", "constant", "sum_norm_in_space", "pinwheel", "one_triangle", "thirds_and_sevenths"]


def same(p: cpwl.CPWL, q: cpwl.CPWL) -> bool:
    """The same rows, piece by piece, and the same laws, exactly."""
    return (
        p.polyhedra.start.tolist() == q.polyhedra.start.tolist()
        and p.polyhedra.integer().tolist() == q.polyhedra.integer().tolist()
        and p.laws.integer().tolist() == q.laws.integer().tolist()
    )


@pytest.mark.parametrize("name", NAMES)
def test_csv_holds_the_function(tmp_path, name):
    """What is written is what is read, exactly; twice the same bytes."""
    p = function(name)
    cpwl.io.to_csv(p, tmp_path / "a.csv")
    q = cpwl.io.from_pieces_csv(tmp_path / "a.csv")
    assert same(p, q)
    assert q.tol == 0
    cpwl.io.to_csv(q, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert same(cpwl.read(tmp_path / "a.csv"), p)


def test_csv_of_float_data_keeps_every_bit(tmp_path):
    """Noisy twins with several outputs, column-major."""
    for variant in ("column-major", "far 1e9", "filled"):
        _, data = catalogue_twin("sum_norm", variant, 1e-12)
        p = data.function()
        cpwl.io.to_csv(p, tmp_path / "a.csv")
        q = cpwl.io.from_pieces_csv(tmp_path / "a.csv", tol=p.tol)
        assert (p.polyhedra.A == q.polyhedra.A).all()
        assert (p.laws.coefficients() == q.laws.coefficients()).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "first line"),
        ("x,y\n1,2\n", "first line"),
        ("piece,what,output,x0,constant\n", "no piece"),
        ("piece,what,output,x0,constant\n0,row,,1\n", "line 2"),
        ("piece,what,output,x0,constant\n0,row,,1,a\n", "line 2"),
        ("piece,what,output,x0,constant\n0,row,,1,1\n", "one law for each output"),
        ("piece,what,output,x0,constant\n0,law,0,1,1\n0,law,0,2,1\n", "a second law"),
        ("piece,what,output,x0,constant\n0,law,1,1,1\n", "counted from 0"),
        ("piece,what,output,x0,constant\n0,law,0,nan,1/0\n", "line 2"),
        ("piece,what,output,x0,constant\n0,law,0,1_0,1\n", "line 2.*is not a number"),
        ("piece,what,output,x0,constant\n0,law,0,1_0.5,1\n", "line 2.*is not a number"),
        ("piece,what,output,x0,constant\n0_1,law,0,1,1\n", "line 2.*neither a row nor a law"),
    ],
)
def test_wrong_lines_are_named(tmp_path, text, said):
    """One sentence with the number of the line."""
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        cpwl.io.from_pieces_csv(tmp_path / "a.csv")


def test_damaged_csv_files(tmp_path):
    """Cut off, or with a byte changed: a function or a `CpwlError`, nothing else."""
    cpwl.io.to_csv(function("pinwheel"), tmp_path / "a.csv")
    data = (tmp_path / "a.csv").read_bytes()
    rng = np.random.default_rng(0)
    cases = [data[:k] for k in range(0, len(data), 13)]
    cases += [data[:k] + rng.bytes(1) + data[k + 1 :] for k in rng.integers(len(data), size=150)]
    refused = 0
    for case in cases:
        (tmp_path / "b.csv").write_bytes(case)
        try:
            cpwl.io.from_pieces_csv(tmp_path / "b.csv")
        except CpwlError:
            refused += 1
    assert refused > 20


def test_scipy_reads_the_cells(tmp_path):
    """`scipy.io.loadmat` finds A, b, C, d; from them the same function is made; the bytes do not change with time."""
    p = delaunay(2, 12, 0)
    cpwl.io.to_mat(p, tmp_path / "a.mat")
    cells = loadmat(tmp_path / "a.mat")
    assert cells["A"].shape == (p.num_pieces, 1)
    q = cpwl.CPWL.from_pieces(*([c[0] if name in "AC" else c[0].ravel() for c in cells[name]] for name in "AbCd"))
    x = p.mesh.points.mean(axis=0) + 0.1 * np.random.default_rng(0).standard_normal((50, 2))
    assert np.allclose(p(x), q(x), rtol=0, atol=1e-9, equal_nan=True)
    cpwl.io.to_mat(p, tmp_path / "b.mat")
    assert (tmp_path / "a.mat").read_bytes() == (tmp_path / "b.mat").read_bytes()


def test_our_reader_takes_the_cells(tmp_path):
    """`from_mat` reads what `to_mat` wrote."""
    p = cpwl.CPWL.from_pieces([[[1, 0]], [[-1, 0]]], [[0], [0]], [[[1, 2], [0, 0]], [[3, 2], [1, 0]]], [[1, 0], [1, 0]])
    cpwl.io.to_mat(p, tmp_path / "a.mat")
    q = cpwl.io.from_mat(tmp_path / "a.mat")
    x = np.random.default_rng(0).standard_normal((50, 2))
    assert np.allclose(p(x), q(x))


def test_dataframes_go_both_ways():
    """One line a piece, exact numbers as fractions, and back."""
    pandas = pytest.importorskip("pandas")
    p = function("thirds_and_sevenths")
    frame = cpwl.io.to_dataframe(p)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["A", "b", "gradient", "offset"]
    assert len(frame) == p.num_pieces
    assert isinstance(frame["offset"][0][0], Fraction)
    assert same(cpwl.CPWL.from_pieces(*(list(frame[name]) for name in frame)), p)
    floats = cpwl.io.to_dataframe(catalogue_twin("sum_norm", "plain", 1e-12)[1].function())
    assert floats["A"][0].dtype == np.float64


def test_chosen_columns(tmp_path):
    """By name or by number, in any order; the other columns need not be numbers."""
    path = tmp_path / "log.csv"
    path.write_text("time,f,x,note\n09:00,3,0,a\n09:01,5,1,b\n09:02,4,2,c\n")
    expected = cpwl.CPWL.from_breakpoints([0, 1, 2], [3, 5, 4])
    for columns in (["x", "f"], [2, 1]):
        p = cpwl.io.from_csv(path, columns=columns)
        assert (p([["1/2"], ["2"]]) == expected([["1/2"], ["2"]])).all()
    for columns, message in (
        (["x", "g"], "no column 'g'; the first line is time, f, x, note"),
        ([0, 9], "no column 9"),
        (["x", "x"], "'x' is named twice"),
        ("xf", "`columns` must be a list"),
        ([], "`columns` must be a list"),
        (["x", "note"], "line 2"),
    ):
        with pytest.raises(cpwl.InputError, match=message):
            cpwl.io.from_csv(path, columns=columns)
    with pytest.raises(cpwl.InputError, match="this is read as a matrix"):
        cpwl.io.from_csv(path, columns=["x", "f"], layout="matrix")
    path.write_text("x,x,f\n0,0,1\n1,1,1\n")
    with pytest.raises(cpwl.InputError, match="there are 2 columns `x`"):
        cpwl.io.from_csv(path, columns=["x", "f"])
    path.write_text("x,f,y\n0,0\n1,1\n")
    with pytest.raises(cpwl.InputError, match="line 2 has 2 numbers"):
        cpwl.io.from_csv(path, columns=["x", "y"])
