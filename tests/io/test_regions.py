"""Regions under any names, in objects, dictionaries and MATLAB files that SciPy writes."""

import struct
import sys
import zlib
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat
from scipy.io.matlab import MatlabObject
from scipy.sparse import csr_array

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.io.mat import LAYOUTS, from_mat, from_regions
from support.nasty import element, mat
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
    if len(set(names)) == 3:  # one matrix [A b]
        values = [(h := np.column_stack([a, np.ravel(b)]), h, g, o) for a, b, g, o in values]
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
        (regions(LAYOUTS[1]), {"outputs": 2}, "`outputs` must be between -2 and 1, not 2"),
        ([{"H": [[1]], "K": [0], "F": [[1], [2], [3]], "G": [0, 0]}], {}, "region 0 has a law with slopes"),
        ([{"H": [[1, 2]], "K": [0], "F": [[1]], "G": [0]}], {}, "rows of length 2, but the dimension is 1"),
        ([{"H": [[np.nan]], "K": [0], "F": [[1]], "G": [0]}], {}, "must be finite"),
        ([{"H": [1, 2], "F": [[1]], "g": [0]}], {}, "`H` of region 0 must be the matrix"),
        ([{"H": [[1, 2]], "F": [[1]], "g": [0], "He": [[1, 0]]}], {}, "region 0 has equations, `He`"),
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
    with pytest.raises(InputError, match="`x` is defined twice"):
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
    with pytest.raises(InputError, match="the cell arrays have different lengths: A 2, b 1"):
        from_mat(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    with pytest.raises((InputError, LimitError), match=r"format 7\.3 is damaged|needs h5py.* '-v7'"):
        from_mat(path)
    path.write_bytes(mat(element(14, element(6, struct.pack("<II", 17, 0)) + words("ctrl", "MCOS", "EMPCController"))))
    with pytest.raises(InputError, match="`ctrl` is an object of the class `EMPCController`, which only MATLAB"):
        from_mat(path)
    path.write_bytes(b"random bytes")
    with pytest.raises(InputError, match="not a MATLAB file"):
        from_mat(path)
    savemat(path, {"x": [1.0]}, do_compression=False)
    bomb = zlib.compress(bytes(10**8), 9)
    path.write_bytes(path.read_bytes()[:128] + (15).to_bytes(4, "little") + len(bomb).to_bytes(4, "little") + bomb)
    with pytest.raises(LimitError, match="expands to far more"):
        from_mat(path)


def words(*names):
    """Names as elements of a MATLAB file."""
    return b"".join(element(1, name.encode()) for name in names)


def structures(fields):
    """An array of structures, in a row; each field is a list with one value for each of them."""
    made = np.empty((1, len(next(iter(fields.values())))), dtype=[(name, object) for name in fields])
    for name, values in fields.items():
        for i, value in enumerate(values):
            made[name][0, i] = value
    return made


WHOLE = [np.column_stack([a, b]) for a, b in zip(ROWS, RIGHT, strict=True)]
LAWS = {"F": [np.array(g) for g in SLOPES], "g": [np.reshape(o, (-1, 1)) for o in CONSTANTS]}
SHAPES = {"A": [np.array(a) for a in ROWS], "b": [np.reshape(b, (-1, 1)) for b in RIGHT]}
POLYTOPES = {"H": SHAPES["A"], "K": SHAPES["b"]}
PRIMAL = [{"F": f, "g": g} for f, g in zip(*LAWS.values(), strict=True)]
WRONG = {"F": [[9.0, 9]], "g": 9.0}


def polytope_array():
    """As MPT2 keeps several polytopes: an object with the others in a cell array."""
    one = [
        MatlabObject(structures({"H": [h], "K": [k], "Array": [np.zeros((0, 0))]}), "polytope")
        for h, k in zip(*POLYTOPES.values(), strict=True)
    ]
    inside = np.empty((1, 2), dtype=object)
    inside[0, 0], inside[0, 1] = one
    return MatlabObject(structures({"H": [[]], "K": [[]], "Array": [inside]}), "polytope")


MPT = {
    "MPT3, H": {"Set": structures({"H": WHOLE, **LAWS, "He": [np.zeros((0, 3))] * 2})},
    "MPT3, A b": {"Set": structures({**SHAPES, **LAWS})},
    "MPT3, functions beside": {"xopt": {"Set": structures({"H": WHOLE}), "F": cells(SLOPES), "g": cells(LAWS["g"])}},
    "MPT3, functions": {"Set": structures({"H": WHOLE, "Functions": PRIMAL})},
    "MPT3, primal": {"Set": structures({"H": WHOLE, "Functions": [{"primal": p, "obj": WRONG} for p in PRIMAL]})},
    "MPT2": {"Pn": structures(POLYTOPES), "Fi": cells(SLOPES), "Gi": cells(LAWS["g"]), "Pfinal": structures(POLYTOPES)},
    "MPT2, cells": {"ctrl": {"Pn": structures(POLYTOPES), "Fi": cells(SLOPES), "Gi": cells(LAWS["g"])}},
    "MPT2, objects": {"ctrl": {"Pn": polytope_array(), "Fi": cells(SLOPES), "Gi": cells(LAWS["g"])}},
}


@pytest.mark.parametrize("kind", MPT)
def test_files_of_mpt(tmp_path, kind):
    """Regions in `Set` or `Pn`, laws in them or beside them."""
    savemat(tmp_path / "law.mat", MPT[kind])
    np.testing.assert_array_equal(from_mat(tmp_path / "law.mat")(POINTS), EXPECTED(POINTS))


@pytest.mark.parametrize("kind", ["mpt3", "mpt3_v6", "mpt3_functions", "mpt2", "explicit_mpc"])
def test_files_that_octave_wrote(kind):
    """Structures of MPT3, MPT2 and explicit MPC that another program than SciPy has saved (data/octave.m)."""
    p = from_mat(Path(__file__).with_name("data") / f"octave_{kind}.mat")
    np.testing.assert_array_equal(p(POINTS), EXPECTED(POINTS))
    assert p.doctor().healthy


def test_files_of_mpt_that_are_refused(tmp_path):
    """Flat regions; a law that is missing in one region, or beside them."""
    path = tmp_path / "law.mat"
    savemat(path, {"Set": structures({"H": WHOLE, **LAWS, "He": [[], [[1.0, 0, 0]]]})})
    with pytest.raises(InputError, match="region 1 has equations, `He`: leave out"):
        from_mat(path)
    savemat(path, {"Set": structures({"H": WHOLE, "Functions": [PRIMAL[0], "none"]})})
    with pytest.raises(InputError, match="entry 2 of `F` is not a matrix"):
        from_mat(path)
    savemat(path, {"Pn": structures(POLYTOPES), "Fi": cells(SLOPES[:1]), "Gi": cells(LAWS["g"])})
    with pytest.raises(InputError, match="the cell arrays have different lengths: H 2, K 2, Fi 1, Gi 2"):
        from_mat(path)


def save73(path, content):
    """A file in MATLAB's format 7.3: HDF5 behind 512 bytes, transposed, cells and structures by references."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed: the extra `mat`")

    def put(group, name, value, refs):
        if isinstance(value, np.ndarray) and value.dtype.names:
            made = group.create_group(name)
            made.attrs["MATLAB_class"] = np.bytes_("struct")
            for field in value.dtype.names:
                if value.size == 1:
                    put(made, field, value[field].flat[0], refs)
                else:
                    made[field] = pointers(value[field], refs)
        elif isinstance(value, dict):
            put(group, name, structures({k: [v] for k, v in value.items()}), refs)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            group[name] = pointers(value, refs)
            group[name].attrs["MATLAB_class"] = np.bytes_("cell")
        else:
            matrix = np.atleast_2d(np.asarray(value, dtype=float))
            group[name] = matrix.T if matrix.size else np.array(matrix.shape, dtype=np.uint64)
            group[name].attrs["MATLAB_class"] = np.bytes_("double")
            if not matrix.size:
                group[name].attrs["MATLAB_empty"] = np.int32(1)

    def pointers(values, refs):
        made = np.empty(values.shape, dtype=h5py.ref_dtype)
        for i, value in enumerate(values.flat):
            put(refs, name := f"r{len(refs)}", value, refs)
            made.flat[i] = refs[name].ref
        return made.T

    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        for name, value in content.items():
            put(file, name, value, refs)
    with open(path, "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("kind", [kind for kind in MPT if "objects" not in kind])
def test_format_73(tmp_path, kind):
    """The same regions in HDF5; from the command line, too, under any ending."""
    save73(tmp_path / "law.data", MPT[kind])
    np.testing.assert_array_equal(from_mat(tmp_path / "law.data")(POINTS), EXPECTED(POINTS))
    assert main(["info", str(tmp_path / "law.data")]) == 0


def test_format_73_that_is_refused(tmp_path):
    """Without regions; links to other files; numbers that unfold to gigabytes; a file that is cut short."""
    path = tmp_path / "law.mat"
    save73(path, {"x": [[1.0, 2]]})
    with pytest.raises(InputError, match="no regions were found"):
        from_mat(path)
    import h5py

    with h5py.File(path, "a") as file:  # as `save -hdf5` of GNU Octave marks what it writes
        file["x"].attrs["OCTAVE_NEW_FORMAT"] = np.uint8(1)
    with pytest.raises(InputError, match=r"law\.mat: this is GNU Octave's own format.* `save -v7`"):
        from_mat(path)
    save73(path, {"x": [[1.0, 2]]})
    with h5py.File(path, "a") as file:
        file.create_dataset("A", shape=(10**5, 10**5), chunks=True, dtype="f8", fillvalue=1.0)
    with pytest.raises(LimitError, match="expands to far more"):
        from_mat(path)
    save73(path, {"x": [[1.0, 2]]})
    with h5py.File(path, "a") as file:
        file["A"] = h5py.ExternalLink("other.mat", "/A")
    with pytest.raises(InputError, match="`A` is a link to another place"):
        from_mat(path)
    with h5py.File(path, "a") as file:
        del file["A"]
        file["loop"] = np.array([[file["x"].ref]], dtype=h5py.ref_dtype)
        file["loop"].attrs["MATLAB_class"] = np.bytes_("cell")
        file["loop"][0, 0] = file["loop"].ref
    with pytest.raises(InputError, match="nested more than"):
        from_mat(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InputError, match="damaged"):
        from_mat(path)


def test_format_73_without_h5py(tmp_path, monkeypatch):
    """One sentence with both remedies."""
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "law.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(LimitError, match=r"needs h5py, .* run `pip install h5py`, or save it with .*'-v7'"):
        from_mat(tmp_path / "law.mat")


def test_exact_rows_stay_exact(tmp_path):
    """Rows such as -x/6 + y <= -14/3 are written as integers: rounded ones lost corners of the domain."""
    p = cpwl.CPWL.from_grid([[-5, -2, 4], [-5, -4]], [[1, 2], [0, 1], [3, 3]])
    cpwl.io.to_mat(p, tmp_path / "law.mat")
    q = cpwl.io.from_mat(tmp_path / "law.mat", tol=0)
    assert (q.polyhedra.integer() == p.polyhedra.integer()).all()
