"""Regions under any names, in objects, dictionaries and MATLAB files that SciPy writes."""

import zlib
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csr_array

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.mat import LAYOUTS, from_mat, from_regions
from support.twins import NOISES, VARIANTS, twin

ROWS = [[[1.0, 0], [0, 1], [0, -1]], [[-1.0, 0], [0, 1], [0, -1]]]
RIGHT = [[0.0, 1, 1], [0.0, 1, 1]]
SLOPES = [[[-1.0, 0], [0, 2]], [[1.0, 0], [0, 2]]]
CONSTANTS = [[0.0, 3], [0.0, 3]]
EXPECTED = cpwl.CPWL.from_pieces(ROWS, RIGHT, SLOPES, CONSTANTS)
POINTS = np.array([[-0.5, 0.25], [0.75, -0.5]])


def regions(names, make=SimpleNamespace, column=True):
    """The two regions with parts of these names, vectors as columns or not."""
    parts = zip(ROWS, RIGHT, SLOPES, CONSTANTS, strict=True)
    shape = (-1, 1) if column else (-1,)
    values = [(np.array(a), np.reshape(b, shape), np.array(g), np.reshape(o, shape)) for a, b, g, o in parts]
    return [make(**dict(zip(names, value, strict=True))) for value in values]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", [SimpleNamespace, dict])
@pytest.mark.parametrize("column", [True, False])
def test_layouts_in_use(layout, make, column):
    """Found by their names; columns or vectors."""
    p = from_regions(regions(layout, make, column))
    np.testing.assert_array_equal(p(POINTS), EXPECTED(POINTS))


def test_names_of_the_caller():
    """Any four names; some of the outputs."""
    names = {"A": "left", "b": "right", "gradient": "slope", "offset": "shift"}
    p = from_regions(regions(names.values()), names=names, outputs=1)
    assert p.outputs == 1
    np.testing.assert_array_equal(p(POINTS), EXPECTED(POINTS)[:, 1:])


def test_rationals_sparse_rows_and_single_outputs():
    """Rationals stay; sparse matrices are read; a law of one output may be a vector and a number."""
    p = from_regions(
        [
            {"A": csr_array([[1]]), "b": [0], "F": ["-1/3"], "g": 0},
            {"A": csr_array([[-1]]), "b": [0], "F": [Fraction(1, 3)], "g": 0},
        ]
    )
    assert p([["1"]])[0, 0] == Fraction(1, 3)
    assert p.doctor().healthy


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "is empty"),
        (7, {}, "must be a list"),
        ([object()], {}, "regions of this kind are unknown"),
        ([*regions(LAYOUTS[1]), SimpleNamespace()], {}, "region 2 has no `H`"),
        (regions(LAYOUTS[1]), {"names": {"A": "H"}}, '`names` must say what "A"'),
        (regions(LAYOUTS[1]), {"outputs": 2}, "`outputs` must be numbers from 0 to 1"),
        ([{"H": [[1]], "K": [0], "F": [[1], [2], [3]], "G": [0, 0]}], {}, "region 0 has a law with slopes"),
        ([{"H": [[1, 2]], "K": [0], "F": [[1]], "G": [0]}], {}, "rows of length 2, but the dimension is 1"),
        ([{"H": [[np.nan]], "K": [0], "F": [[1]], "G": [0]}], {}, "must be finite"),
    ],
)
def test_refusals(given, options, message):
    """One sentence each."""
    with pytest.raises(InputError, match=message):
        from_regions(given, **options)


def cells(values):
    """A MATLAB cell array, in a row."""
    made = np.empty((1, len(values)), dtype=object)
    for i, value in enumerate(values):
        made[0, i] = np.atleast_2d(np.asarray(value, dtype=float))
    return made


def written(path, layout, how, compress):
    """The regions as a MATLAB file: cell arrays, an array of structures, or one inside another structure."""
    columns = [cells(ROWS), cells([np.reshape(b, (-1, 1)) for b in RIGHT])]
    columns += [cells(SLOPES), cells([np.reshape(g, (-1, 1)) for g in CONSTANTS])]
    named = dict(zip(layout, columns, strict=True))
    if how == "cells":
        content = {**named, "Ts": 0.1, "name": "controller"}
    else:
        array = np.array(
            [tuple(column[0, i] for column in columns) for i in range(2)], dtype=[(name, object) for name in layout]
        )
        content = {"PiecewiseAffineSolution": array[None]}
        content = {"controller": content} if how == "nested" else content
    savemat(path, content, do_compression=compress)
    return path


@pytest.mark.parametrize("how", ["cells", "structures", "nested"])
@pytest.mark.parametrize("compress", [True, False])
def test_matlab_files(tmp_path, how, compress):
    """Cell arrays, and MATLAB's PiecewiseAffineSolution(i); from the command line, too."""
    for layout in LAYOUTS[1:7:2]:
        path = written(tmp_path / "law.mat", layout, how, compress)
        np.testing.assert_array_equal(from_mat(path)(POINTS), EXPECTED(POINTS))
    assert main(["compile", str(path), "-o", str(tmp_path / "law.onnx"), "--certify"]) == 0
    names = dict(zip(("A", "b", "gradient", "offset"), layout, strict=True))
    assert from_mat(path, names=names, outputs=slice(0, 1)).outputs == 1
    if how == "structures":
        assert from_mat(path, variable="PiecewiseAffineSolution").num_pieces == 2


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("variant", ["column-major", "far 1e6"])
def test_float_twins_through_matlab(tmp_path, variant, noise):
    """Regions with noise, in columns, with rows that bound nothing: compiled from the file, and near the exact law."""
    law = cpwl.parse("max(min(x + 2*y, 3/2), -x/3)", box=(-2, 2))
    options = {name: value for name, value in VARIANTS[variant].items() if name != "box"}
    data = twin(law, noise, **options)
    content = {"H": cells(data.A), "K": cells([b[:, None] for b in data.b]), "F": cells(data.gradient)}
    savemat(tmp_path / "law.mat", {**content, "G": cells([g[:, None] for g in data.offset])})
    p = from_mat(tmp_path / "law.mat", tol=data.tol)
    network = cpwl.compile(p).network
    points = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    np.testing.assert_allclose(network(points), law(points), atol=1e-7)


def test_a_variable_that_is_there_twice(tmp_path):
    """MATLAB takes the last one, others the first: neither is taken."""
    path = tmp_path / "law.mat"
    savemat(path, {"x": [1.0, 2]}, do_compression=False)
    raw = path.read_bytes()
    path.write_bytes(raw + raw[128:])
    with pytest.raises(InputError, match="`x` is there twice"):
        from_mat(path)


def test_matlab_files_that_are_refused(tmp_path):
    """Without regions, of another format, with cells that do not belong together, or far larger than they look."""
    path = tmp_path / "law.mat"
    savemat(path, {"x": [1.0, 2]})
    with pytest.raises(InputError, match="no regions were found"):
        from_mat(path)
    with pytest.raises(InputError, match="no variable `y`; there are x"):
        from_mat(path, variable="y")
    savemat(path, {"A": cells(ROWS), "b": cells(RIGHT[:1]), "C": cells(SLOPES), "d": cells(CONSTANTS)})
    with pytest.raises(InputError, match="do not belong together, there are of A 2, b 1"):
        from_mat(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    with pytest.raises(InputError, match="-v7"):
        from_mat(path)
    path.write_bytes(b"random bytes")
    with pytest.raises(InputError, match="not a MATLAB file"):
        from_mat(path)
    savemat(path, {"x": [1.0]}, do_compression=False)
    bomb = zlib.compress(bytes(10**8), 9)
    path.write_bytes(path.read_bytes()[:128] + (15).to_bytes(4, "little") + len(bomb).to_bytes(4, "little") + bomb)
    with pytest.raises(LimitError, match="unfolds to far more"):
        from_mat(path)
