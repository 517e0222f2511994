"""C headers: gcc takes them without a warning, and they compute the stated sums bit for bit."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction_array
from cpwl.function.evaluate import sample
from cpwl.geometry.cells import cell_of, cut
from cpwl.io.c.text import c_type
from cpwl.io.c.tree import search_tree
from support.catalogue import function, names
from support.functions import delaunay
from support.twins import catalogue_twin

GCC = shutil.which("gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
# What would contract, were it not for the pragma.
FAST = ["-std=gnu11", "-O3", "-march=native", "-ffp-contract=fast", "-Wall", "-Wextra", "-Werror"]
needs_gcc = pytest.mark.skipif(GCC is None, reason="there is no gcc here to compile the header with")


def run(code: cpwl.io.CCode, folder: Path, x: np.ndarray, flags: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """What the compiled header computes, and what it returns."""
    real = c_type(code.dtype)
    upper = code.name.upper()
    (folder / "run.c").write_text(
        f'#include "{code.name}.h"\n#include "{code.name}.h"\n'
        f"void run(const {real} *x, {real} *y, int *back, long n);\n"
        f"void run(const {real} *x, {real} *y, int *back, long n)\n{{\n"
        f"    for (long i = 0; i < n; ++i)\n"
        f"        back[i] = {code.name}(x + i * {upper}_INPUTS, y + i * {upper}_OUTPUTS);\n}}\n"
    )
    library = folder / f"run{len(list(folder.iterdir()))}.so"
    done = subprocess.run([GCC, *flags, "-fPIC", "-shared", "run.c", "-o", library], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    x = np.ascontiguousarray(x.astype(code.dtype))
    m = int(code.text.split(f"{upper}_OUTPUTS ")[1].split("u")[0])
    y, back = np.full((len(x), m), np.nan, dtype=code.dtype), np.zeros(len(x), dtype=np.int32)
    call = ctypes.CDLL(str(library)).run
    call(*(a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, back)), ctypes.c_long(len(x)))
    return y, back


def points(p: cpwl.CPWL, seed: int = 0) -> np.ndarray:
    """Points of the pieces and around them, some of them on the bends."""
    known = sample(p).points[:100]
    low, high = known.min(axis=0) - 1, known.max(axis=0) + 1
    random = np.random.default_rng(seed).uniform(low, high, (200, p.dim))
    return np.concatenate([known, random, np.round(random)])


CASES = ["hat", "absolute_value", "constant", "sum_norm_in_space", "pinwheel", "star_of_cones", "one_triangle"]


@pytest.mark.one_in(2)
@needs_gcc
@pytest.mark.parametrize("form", ["network", "tree", "grid"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_code_is_the_reference_bit_for_bit(tmp_path, form, dtype):
    """Strict C99 without a warning; the same bits with optimization, fused multiply-adds and all."""
    rng = np.random.default_rng(3)
    p = cpwl.CPWL.from_grid([np.linspace(0, 1, 4), np.linspace(-1, 2, 4)], rng.standard_normal((4, 4, 2)))
    code = cpwl.io.to_c(p, tmp_path / "law.h", form=form, dtype=dtype)
    x = points(p)
    for flags in (STRICT, FAST):
        y, back = run(code, tmp_path, x, flags)
        assert y.tobytes() == np.ascontiguousarray(code(x)).tobytes()
        assert not back.any()


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++ here to compile the header with")
@pytest.mark.parametrize("form", ["network", "tree", "grid"])
def test_it_is_cpp_too(tmp_path, form):
    """C++11 takes the header without a warning, and reads the numbers to the last bit."""
    p = cpwl.CPWL.from_grid([[0, 0.1, 1, 2]], [0.1, 1e-7, 1e5, -1 / 3])
    code = cpwl.io.to_c(p, tmp_path / "law.h", form=form, outside="clip")
    x = np.array([[-1.0], [0.05], [0.3], [1.7], [5.0]])
    lines = [
        '#include "law.h"',
        "#include <cstdio>",
        f"int main() {{ const double x[5] = {{{', '.join(map(repr, x[:, 0].tolist()))}}}; double y[1];",
        'for (int i = 0; i < 5; ++i) { law(x + i, y); std::printf("%.17g\\n", y[0]); } return 0; }',
    ]
    (tmp_path / "run.cpp").write_text("\n".join(lines) + "\n")
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["g++", *strict, "run.cpp", "-o", "run"], cwd=tmp_path, check=True)
    done = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True, check=True)
    assert [float(word) for word in done.stdout.split()] == code(x)[:, 0].tolist()


@needs_gcc
def test_without_the_pragma_other_bits_come_out(tmp_path):
    """The test above can fail: where the compiler fuses, and may, some result differs."""
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no fused multiply-add")
    rng = np.random.default_rng(0)
    sizes = [2, 16, 16, 1]
    layers = [(rng.standard_normal((a, b)), rng.standard_normal(a)) for b, a in itertools.pairwise(sizes)]
    code = cpwl.io.to_c(cpwl.Network(layers), tmp_path / "law.h", form="network")
    x = rng.standard_normal((100, 2))
    assert run(code, tmp_path, x, FAST)[0].tobytes() == np.ascontiguousarray(code(x)).tobytes()
    (tmp_path / "law.h").write_text(code.text.replace('#pragma GCC optimize("fp-contract=off")', ""))
    assert run(code, tmp_path, x, FAST)[0].tobytes() != np.ascontiguousarray(code(x)).tobytes()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in names(without="float") if name in CASES])
@pytest.mark.parametrize("form", ["network", "tree", "grid"])
def test_values_are_those_of_the_function(tmp_path, name, form):
    """On the catalogue, within the bound where there is one; the reference is the exact function."""
    p = function(name)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form=form)
    x = points(p)
    exact = p(fraction_array(x))
    inside = np.array([row[0] is not None for row in exact])
    off = np.abs(code(x[inside]) - exact[inside].astype(float)).max()
    assert off <= (1e-12 if code.error_bound is None else code.error_bound)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9])
@pytest.mark.parametrize("variant", ["repeated", "column-major", "far 1e6"])
def test_noisy_twins_have_trees(tmp_path, noise, variant):
    """Float pieces with noise: the tree is that of the exact function near them."""
    p, data = catalogue_twin("sum_norm", variant, noise)
    q = data.function()
    code = cpwl.io.to_c(q, tmp_path / "law.h", form="tree")
    x = sample(p).points
    assert np.abs(code(x) - p(x)).max() <= 1e-7 * max(1.0, np.abs(x).max())


@pytest.mark.parametrize("buckets", [False, True])
def test_every_leaf_of_a_tree_is_right(buckets):
    """On the region of a leaf every piece that meets it has the law of the leaf: exactly, by cutting."""
    p = delaunay(2, 12, 1)
    tree = search_tree(p, buckets=buckets)
    for leaf in tree.leaves:
        rows = [tuple(-side * v for v in tree.planes[k].tolist()) for k, side in leaf.path]
        for axis, k in enumerate(leaf.bucket):
            low, high = tree.buckets.plane(axis, k), tree.buckets.plane(axis, k + 1)
            rows += [tuple(-v for v in low)] if k else []
            rows += [high] if k + 1 < tree.buckets.counts[axis] else []
        for i, body in enumerate(p.polyhedra):
            own = [(*row[:-1].tolist(), -row[-1]) for row in body.integer()]
            cell = cell_of([*rows, *own], 2)
            corners = {place for place, _ in cell.rays}
            if len(corners) >= 3:  # the two meet in more than an edge
                assert tree.laws[leaf.law].tolist() == p.laws.integer()[i].tolist()


def test_cutting_is_double_description():
    """A cube cut by a plane through its middle: a hexagon on either side, and rays where it is open."""
    cube = [[*(int(i == k) * s for i in range(3)), -1] for k in range(3) for s in (1, -1)]
    half = cut(cell_of(cube, 3), (1, 1, 1, 0))
    assert sum(tight >> 7 & 1 for _, tight in half.rays) == 6
    wedge = cell_of([(-1, 0, 0)], 2)
    assert len(wedge.lines) == 1
    assert sorted(x for x, _ in wedge.rays) == [(0, 0, 1), (1, 0, 0)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("form", "seed"), [("tree", 0), ("tree", 1), ("grid", 1), ("grid", 2)])
def test_the_bound_of_a_tree_holds_near_bends(tmp_path, form, dtype, seed):
    """Points on planes up to rounding, where a tree goes astray: never farther off than the bound."""
    p = delaunay(2, 10, seed)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form=form, dtype=dtype)
    assert code.error_bound <= 1e5 * np.finfo(dtype).eps * np.abs(p.mesh.values).max()
    rng = np.random.default_rng(seed)
    corners = p.mesh.points[p.mesh.simplices]
    weights = rng.dirichlet(np.ones(2), 200)
    edge = np.einsum("ki,kij->kj", weights, corners[rng.integers(len(corners), size=200)][:, :2])
    x = np.concatenate([edge, corners.reshape(-1, 2)])
    if form == "grid":  # the planes between buckets, too
        grid = code.body.tree.buckets
        lines = np.array([[float(a + k / s) for k in range(9)] for a, s in zip(grid.start, grid.scale, strict=True)]).T
        x = np.concatenate([x, np.where(rng.random((200, 2)) < 0.5, x[:200], lines[rng.integers(9, size=200)])])
    x = x.astype(dtype).astype(float)
    exact = p(fraction_array(x))
    inside = np.array([row[0] is not None for row in exact])
    assert inside.sum() > 100
    assert np.abs(code(x[inside]) - exact[inside].astype(float)).max() <= code.error_bound


def test_planes_of_integers_beyond_floats_have_the_bound_of_short_ones(tmp_path):
    """Long horizons give planes of hundreds of digits: only ratios of their numbers matter."""
    unit, bounds = [[1, 0], [-1, 0], [0, 1], [0, -1]], []
    for more in (0, Fraction(1, 10**400)):
        a = [1, 3 + more]
        rows, slopes = [[*unit, a], [*unit, [-v for v in a]]], [[0, 0], a]
        p = cpwl.CPWL.from_pieces(rows, [[1, 1, 1, 1, 0]] * 2, slopes, [0, 0])
        bounds.append(cpwl.io.to_c(p, tmp_path / "law.h", form="tree").error_bound)
    assert 0 < bounds[1] == pytest.approx(bounds[0], rel=0.1)


@pytest.mark.parametrize("fault", ["laws", "planes"])
def test_a_wrong_number_in_a_tree_breaks_the_bound(tmp_path, fault):
    """The test above can fail: a law or a plane that is off by 1e-3 is found."""
    p = delaunay(2, 10, 1)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form="grid")
    getattr(code.body, fault)[..., 0] += 1e-3
    x = np.random.default_rng(0).dirichlet(np.ones(len(p.mesh.points)) / 9, 1000) @ p.mesh.points
    assert np.abs(code(x) - p(x)).max() > 1e3 * code.error_bound


def test_auto_compares_and_says_both_costs(tmp_path):
    """The fewest operations are taken, the header tells the other cost; with fewer bytes another form, or none."""
    p = delaunay(2, 14, 0)
    code = cpwl.io.to_c(p, tmp_path / "law.h")
    work = {form: cost.multiply_adds + cost.comparisons for form, cost in code.costs.items()}
    assert set(work) == {"network", "tree", "grid"}
    assert work[code.form] == min(work.values())
    assert all(form in str(code) for form in work)
    assert all(f"As a {form}" in code.text for form in work if form != code.form)
    flash = {form: cost.flash for form, cost in code.costs.items()}
    other = min(flash, key=flash.get)
    assert flash[other] < flash[code.form]
    assert cpwl.io.to_c(p, tmp_path / "law.h", max_bytes=flash[other]).form == other
    with pytest.raises(LimitError, match="no form fits"):
        cpwl.io.to_c(p, tmp_path / "none.h", max_bytes=flash[other] - 1)
    assert not (tmp_path / "none.h").exists()


@needs_gcc
@pytest.mark.parametrize("form", ["network", "tree", "grid"])
def test_flash_bytes_are_those_of_the_object(tmp_path, form):
    """The section of constants that gcc makes has as many bytes as are said, up to alignment."""
    code = cpwl.io.to_c(delaunay(2, 14, 0), tmp_path / "law.h", form=form)
    (tmp_path / "a.c").write_text('#include "law.h"\nint f(const double *x, double *y);\n'
                                  "int f(const double *x, double *y) { return law(x, y); }\n")  # fmt: skip
    subprocess.run([GCC, *STRICT, "-O1", "-c", "a.c"], cwd=tmp_path, check=True)
    said = subprocess.run(["size", "-A", "a.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    data = sum(int(line.split()[1]) for line in said.splitlines() if line.startswith(".rodata"))
    assert 0 <= data - code.costs[form].flash <= 64 * len(code.body.tables)


@pytest.mark.one_in(2)
@needs_gcc
@pytest.mark.parametrize("form", ["network", "tree"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_outside_clip_and_error(tmp_path, form, dtype):
    """Clipped: the value at the nearest point of the box. Refused: 1 is returned and nothing written."""
    p = cpwl.CPWL.from_grid([[0, "1/3", 1], ["1/7", 2, 3]], [[0, 1, 2], [2, 0, 1], [5, 1, 1]])
    x = points(p)
    clip = cpwl.io.to_c(p, tmp_path / "law.h", form=form, dtype=dtype, outside="clip")
    y, back = run(clip, tmp_path, x, STRICT)
    assert not back.any()
    low, high = clip.guard.low, clip.guard.high
    near = np.clip(x.astype(dtype), low, high)
    free = cpwl.io.to_c(p, tmp_path / "free.h", form=form, dtype=dtype)
    assert y.tobytes() == np.ascontiguousarray(free(near)).tobytes() == np.ascontiguousarray(clip(x)).tobytes()
    refuse = cpwl.io.to_c(p, tmp_path / "law.h", form=form, dtype=dtype, outside="error")
    y, back = run(refuse, tmp_path, x, STRICT)
    inside = np.array([row[0] is not None for row in p(fraction_array(x.astype(dtype).astype(float)))])
    assert (back == np.where(inside, 0, 1)).all()
    assert np.isnan(y[~inside]).all()
    assert 0 < inside.sum() < len(x)


@needs_gcc
def test_other_domains_can_refuse_but_not_clip(tmp_path):
    """A triangle is no box: points of it are never refused, points well outside are."""
    p = cpwl.CPWL.from_simplices([[0, 0], [1, 0], [0, 3]], [[0, 1, 2]], [0, 1, 5])
    with pytest.raises(InputError, match="needs a bounded box"):
        cpwl.io.to_c(p, tmp_path / "law.h", outside="clip")
    assert not (tmp_path / "law.h").exists()
    code = cpwl.io.to_c(p, tmp_path / "law.h", outside="error")
    rng = np.random.default_rng(0)
    edge = rng.dirichlet(np.ones(3), 100) @ [[0, 0], [1, 0], [0, 3.0]]
    x = np.concatenate([edge, edge * 1.0001 + 1e-3 * np.sign(edge - 0.3), [[np.nan, 0.1]]])
    _, back = run(code, tmp_path, x, STRICT)
    exact = np.array([row[0] is not None for row in p(fraction_array(x[:-1]))])
    assert not back[:-1][exact].any()
    far = ~np.isfinite(p(x[:-1])[:, 0]) & (np.abs(x[:-1] @ [3, 1] - 3) > 1e-9) & (np.abs(x[:-1]).min(axis=1) > 1e-9)
    assert back[:-1][far].all()
    assert back[-1] == 1


def test_networks_need_a_box_to_have_a_domain(tmp_path):
    """A network from elsewhere: its regions make the tree, a box its domain."""
    network = cpwl.Network([([[1, 1], [1, -1]], [0, 0]), ([[1, 2]], ["1/3"])])
    with pytest.raises(InputError, match="give it as `box`"):
        cpwl.io.to_c(network, tmp_path / "net.h", outside="clip")
    code = cpwl.io.to_c(network, tmp_path / "net.h", outside="clip", box=(-1, 1))
    assert set(code.costs) == {"network", "tree", "grid"}
    assert code.error_bound is not None
    assert np.abs(code([[5.0, 0.5], [0.25, 0.5]]) - network([[1.0, 0.5], [0.25, 0.5]])).max() < 1e-15


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["law.json", "-o", "law.h", "--c-form", "list"], 64, "list"),
        (["law.json", "-o", "law.h", "--max-bytes", "10"], 2, "`--max-bytes 10`"),
        (["law.json", "-o", "law.onnx", "--c-form", "tree"], 64, "not a C header"),
        (["law.json", "-o", "law.h", "--dtype", "float"], 64, "float32"),
        (["law.json", "-o", "law.h", "--certify"], 64, "cpwl convert"),
        (["law.json", "-o", "law.h", "--outside", "clip"], 65, "bounded box"),
        (["law.json", "-o", "none/law.h"], 65, "no directory"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, monkeypatch, capsys, words, code, said):
    """Nothing is written, and the exit code says whose mistake it is."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(function("absolute_value"), "law.json")
    assert main(["compile", *words]) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["law.json"]


def test_command_line(tmp_path, monkeypatch, capsys):
    """``cpwl compile law.json -o law.h`` prints both costs; ``cpwl convert`` writes headers, too."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(function("hat"), "law.json")
    assert main(["compile", "law.json", "-o", "law.h", "--dtype", "float32", "--c-test"]) == 0
    assert '#include "law.h"' in Path("law_test.c").read_text()
    said = capsys.readouterr().out
    assert "network: " in said
    assert "tree: " in said
    assert "float law_law" in Path("law.h").read_text()
    assert main(["convert", "law.json", "other.h"]) == 0
    assert "int other(" in Path("other.h").read_text()
    with pytest.raises(InputError, match="a name in C"):
        cpwl.io.to_c(function("hat"), "a.h", name="2law")


# Direct lookup in Kuhn grids.


def exact_points(p: cpwl.CPWL) -> np.ndarray:
    """The points of a table, as fractions."""
    return fraction_array([[Fraction(v, row[-1]) for v in row[:-1]] for row in p.mesh.corners.tolist()])


def mirrored(p: cpwl.CPWL, axis: int) -> cpwl.CPWL:
    """The table with one input negated: its diagonals run down along that axis."""
    points = exact_points(p)
    points[:, axis] *= -1
    exact = p.mesh.values if p.mesh.exact_values is None else p.mesh.exact_values
    return cpwl.CPWL.from_simplices(points, p.mesh.simplices, exact)


def grid(name: str) -> cpwl.CPWL:
    """Even and uneven axes, far and near, up and down, in one to three dimensions; rational and float data."""
    rng = np.random.default_rng(5)
    third = [Fraction(int(v), 3) for v in rng.integers(-99, 99, 200)]
    even, uneven = [Fraction(k, 7) for k in range(5)], [Fraction(k * k, 7) - 1 for k in range(4)]
    if name == "thin":
        return cpwl.CPWL.from_grid([[0, Fraction(1, 10**9), 1], [0.1, 0.2, 0.7]], 1e5 * rng.standard_normal((3, 3)))
    if name == "floats":
        return cpwl.CPWL.from_grid([np.linspace(0.1, 1, 6), np.linspace(-3, 7, 30)], rng.standard_normal((6, 30)))
    axes, down, outputs = {
        "one input": ([uneven], [], 1),
        "even": ([even, even], [], 2),
        "uneven": ([uneven, even], [], 1),
        "far": ([[10**6 + v for v in even], uneven], [], 1),
        "down": ([even, uneven], [1], 1),
        "space": ([uneven, even[:3], [0, 1, 5]], [0, 2], 2),
    }[name]
    shape = (*map(len, axes), outputs)
    p = cpwl.CPWL.from_grid(axes, np.array(third, dtype=object)[: int(np.prod(shape))].reshape(shape))
    for axis in down:
        p = mirrored(p, axis)
    return p


GRIDS = ["one input", "even", "uneven", "far", "down", "space", "thin", "floats"]


def near_lines(p: cpwl.CPWL, dtype: str, seed: int) -> np.ndarray:
    """Numbers of the type in the box: random ones, points of the grid and the numbers next to them, diagonals."""
    rng = np.random.default_rng(seed)
    corners = exact_points(p)
    low, high = corners.min(axis=0), corners.max(axis=0)
    view = corners.astype(float)
    random = rng.uniform(view.min(axis=0), view.max(axis=0), (60, p.dim))
    lines = np.where(
        rng.random((60, p.dim)) < 0.5, random, view[rng.integers(len(view), size=(60, p.dim)), range(p.dim)]
    )
    weights = rng.dirichlet(np.ones(2), 60)
    ends = view[p.mesh.simplices[rng.integers(p.num_pieces, size=60)]][:, [0, -1]]
    x = np.concatenate([random, lines, view[:60], np.einsum("ki,kij->kj", weights, ends)]).astype(dtype)
    x = np.concatenate([x, *(np.nextafter(x, np.dtype(dtype).type(end)) for end in (-np.inf, np.inf))]).astype(float)
    exact = fraction_array(x)
    return x[((exact >= low) & (exact <= high)).all(axis=1)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_lookup_is_within_its_bound_and_the_bound_is_not_idle(tmp_path, name, dtype):
    """In rationals, at grid lines and beside them; and it is the bound of rounding, not of the table."""
    p = grid(name)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form="grid", dtype=dtype)
    x = near_lines(p, dtype, 1)
    assert len(x) > 150
    off = np.abs(fraction_array(code(x).astype(float)) - p(fraction_array(x))).max()
    assert off <= Fraction(code.error_bound)
    assert code.error_bound <= 1e5 * np.finfo(dtype).eps * np.abs(p.mesh.values).max() * (1e6 if name == "far" else 1)
    assert "(proved)" in code.text


@pytest.mark.parametrize("fault", ["start", "scale", "value"])
def test_a_wrong_number_in_the_lookup_breaks_the_bound(tmp_path, fault):
    """The test above can fail: a number of the header that is off by 1e-9 is found."""
    p = grid("uneven")
    code = cpwl.io.to_c(p, tmp_path / "law.h", form="grid")
    axis = code.body.axes[1]
    wrong = {"start": axis.points, "scale": axis.scale, "value": code.body.values}[fault]
    wrong += 1e-9
    x = near_lines(p, "float64", 1)
    off = np.abs(fraction_array(code(x)) - p(fraction_array(x))).max()
    assert off > Fraction(code.error_bound)


@needs_gcc
@pytest.mark.parametrize("name", ["uneven", "space"])
@pytest.mark.parametrize("outside", ["free", "clip", "error"])
def test_lookup_in_c_and_outside_the_grid(tmp_path, name, outside):
    """The bits of the reference; outside the value at the nearest point, or 1; never a read beyond the table."""
    p = grid(name)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form="grid", outside=outside)
    x = np.concatenate([near_lines(p, "float64", 2), points(p), np.diag([1e300, -np.inf, np.inf][: p.dim])])
    x = np.concatenate([x, np.full((1, p.dim), np.nan)])
    flags = [*STRICT, "-O1", "-fsanitize=undefined", "-fno-sanitize-recover"]
    y, back = run(code, tmp_path, x, flags)
    mine = code(x)
    assert np.array_equal(y, mine, equal_nan=True)
    assert np.isnan(y[-1]).all()  # what is not a number stays so, or is refused
    inside = np.array([row[0] is not None for row in p(fraction_array(np.nan_to_num(x[:-1])))])
    assert (back[:-1] == (~inside if outside == "error" else 0)).all()
    if outside != "error":
        ends = p.mesh.points.min(axis=0), p.mesh.points.max(axis=0)
        near = np.clip(x[:-1], *ends)
        assert np.abs(mine[:-1] - code(near)).max() <= 2 * code.error_bound


def test_auto_takes_the_lookup_without_compiling(tmp_path, monkeypatch):
    """A table with many laws: no tree and no network is even made, since none could have fewer operations."""
    rng = np.random.default_rng(0)
    p = cpwl.CPWL.from_grid([range(9), range(9)], rng.integers(-99, 99, (9, 9)))
    monkeypatch.setattr("cpwl.io.c.write.compile", None)
    code = cpwl.io.to_c(p, tmp_path / "law.h")
    assert code.form == "grid"
    assert set(code.costs) == {"grid"}


def test_a_table_with_few_laws_is_not_looked_up(tmp_path):
    """On a grid of 100 points, but with two laws: a comparison is faster than a lookup."""
    x = np.arange(10)
    code = cpwl.io.to_c(cpwl.CPWL.from_grid([x, x], np.abs(x - 4)[:, None] + 0 * x), tmp_path / "law.h")
    assert set(code.costs) == {"grid", "network", "tree"}
    assert code.form != "grid"


def test_other_tables_have_buckets(tmp_path):
    """A triangle; a box of two cells with one of four triangles missing; half-spaces; networks."""
    triangle = cpwl.CPWL.from_simplices([[0, 0], [0, 1], [1, 0]], [[0, 1, 2]], [0, 1, 2])
    corners = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]
    hole = cpwl.CPWL.from_simplices(corners, [[0, 2, 3], [0, 1, 3], [2, 4, 5]], range(6))
    with pytest.raises(InputError, match="convex"):
        cpwl.io.to_c(hole, tmp_path / "law.h", form="grid")
    for source in (triangle, function("hat"), cpwl.Network([([[1], [2]], [0, 1]), ([[1, 1]], [0])])):
        code = cpwl.io.to_c(source, tmp_path / "law.h", form="grid")
        assert "buckets, each with a binary search tree" in code.text
        x = np.random.default_rng(0).uniform(0, 0.5, (50, 2 if source is triangle else 1))
        assert np.abs(code(x) - source(x)).max() < 1e-15


@pytest.fixture(scope="module")
def odd_law() -> cpwl.CPWL:
    """The control law of a double integrator: 21 regions, odd."""
    return cpwl.mpc([[1, 1], [0, 1]], [["0.5"], [1]], 1, "0.1", 3, u=(-1, 1), x=(-5, 5)).solve()


@needs_gcc
@pytest.mark.parametrize("form", ["network", "tree", "grid"])
@pytest.mark.parametrize("compiler", [["gcc", "-std=c99"], ["g++", "-x", "c++", "-std=c++11"]])
def test_the_test_program_passes_and_sees_a_changed_number(tmp_path, form, compiler):
    """`law_test.c` prints PASS as C99 and as C++11; with one number of the header changed it fails."""
    p = cpwl.CPWL.from_grid([[0, 1, 3], [-1, 2, 4]], [[0, 1, 2], ["7/3", 4, 1], [0, 2, 9]])
    code = cpwl.io.to_c(p, tmp_path / "my law.h", form=form, outside="error", test=True)
    build = [*compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", "my law_test.c", "-o", "run"]
    wrong = code.text.replace("    return 0;\n", "    y[0] += 1e-15;\n    return 0;\n")
    for text, said in ((code.text, "PASS: 100 vectors\n"), (wrong, "FAIL: vector 0 of 100\n")):
        (tmp_path / "my law.h").write_text(text)
        subprocess.run(build, cwd=tmp_path, check=True)
        assert subprocess.run([tmp_path / "run"], capture_output=True, text=True).stdout == said


@needs_gcc
@pytest.mark.parametrize("form", ["network", "tree"])
def test_odd_laws_are_folded(tmp_path, odd_law, form):
    """One comparison and a smaller table; the same bits in C, and within the bound of the law, outside refused."""
    whole = cpwl.io.to_c(odd_law, tmp_path / "law.h", form=form, fold=False)
    code = cpwl.io.to_c(odd_law, tmp_path / "law.h", form=form, outside="error")
    assert code.form == f"folded {form}"
    assert code.costs[code.form].flash < 0.75 * whole.costs[form].flash
    assert "f(-x) = -f(x)" in code.text
    x = points(odd_law)
    y, back = run(code, tmp_path, x, STRICT)
    inside = np.array([row[0] is not None for row in odd_law(fraction_array(x))])
    assert y[inside].tobytes() == code(x[inside]).tobytes()
    assert np.abs(y[inside] - odd_law(x[inside])).max() <= code.error_bound
    assert (back == ~inside).all()


@pytest.mark.parametrize("sense", [-1, 1])
def test_tables_are_folded_on_the_axis_that_cuts_no_cell(tmp_path, sense):
    """Half of an odd or even table; the first axis has no point at 0, the second one has."""
    values = np.random.default_rng(0).integers(-5, 6, (4, 5))
    values = values + sense * values[::-1, ::-1]
    p = cpwl.CPWL.from_grid([[-3, -1, 1, 3], [-2, -1, 0, 1, 2]], values)
    code = cpwl.io.to_c(p, tmp_path / "law.h", form="grid", outside="clip")
    assert code.form == "folded grid"
    assert len(code.body.body.values) == 4 * 3
    x = np.random.default_rng(1).uniform(-4, 4, (200, 2))
    near = np.clip(x, [-3, -2], [3, 2])
    assert np.abs(code(x) - p(near)).max() <= code.error_bound


def test_what_is_nearly_odd_is_not_folded(tmp_path):
    """A value that is off by 1e-30, where no sample looks, is seen."""
    tiny = Fraction(1, 10**30)
    for off in (0, tiny):
        p = cpwl.CPWL.from_breakpoints([-2, -1, 0, 1, 2], [1, -1, 0, 1 + off, -1], left_slope=0, right_slope=0)
        code = cpwl.io.to_c(p, tmp_path / "law.h", form="tree")
        assert code.form == ("tree" if off else "folded tree")


def test_a_function_that_is_known_to_fit_is_not_examined_again(tmp_path, odd_law, monkeypatch):
    """`check=False` builds the tree without the doctor."""
    monkeypatch.setattr("cpwl.io.c.write.examine", None)
    with pytest.raises(TypeError):
        cpwl.io.to_c(odd_law, tmp_path / "law.h", form="tree")
    assert cpwl.io.to_c(odd_law, tmp_path / "law.h", form="tree", check=False).error_bound < 1e-12


@needs_gcc
@pytest.mark.parametrize("form", ["network", "tree"])
def test_the_stack_is_what_the_comment_says(tmp_path, odd_law, form):
    """gcc's own figure for the whole call is that of the arrays and a few registers."""
    code = cpwl.io.to_c(odd_law, tmp_path / "law.h", form=form, outside="error")
    arrays = int(" ".join(code.text.replace("\n *", "").split()).split(" bytes of arrays")[0].split()[-1])
    caller = "int call(const double *x, double *y);\nint call(const double *x, double *y) { return law(x, y); }\n"
    (tmp_path / "call.c").write_text(f'#include "law.h"\n{caller}')
    subprocess.run([GCC, "-std=c99", "-O2", "-fstack-usage", "-c", "call.c"], cwd=tmp_path, check=True)
    used = sum(int(line.split("\t")[1]) for line in (tmp_path / "call.su").read_text().splitlines())
    assert used <= arrays + 128


# Fixed point.


@needs_gcc
@pytest.mark.parametrize("fixed", ["Q3.4", "Q7.8:Q1.14", "Q15.16"])
def test_fixed_point_has_no_undefined_arithmetic(tmp_path, odd_law, fixed):
    """The test program passes, and at the ends of the type nothing overflows: gcc would stop it."""
    code = cpwl.io.to_c(odd_law, tmp_path / "law.h", fixed=fixed, test=True)
    assert "double" not in code.text
    ends = "const {0} x[2] = {{({0})(i % 2 ? INT{1}_MAX : INT{1}_MIN), ({0})(i / 2 ? INT{1}_MAX : INT{1}_MIN)}}"
    bits = {"Q3.4": 8, "Q15.16": 32}.get(fixed, 16)
    check = f"for (int i = 0; i < 4; ++i) {{ {ends.format(f'int{bits}_t', bits)}; int{bits}_t y[1]; law(x, y); }}"
    program = (tmp_path / "law_test.c").read_text().replace("int main(void)\n{", "int main(void)\n{\n    " + check)
    (tmp_path / "law_test.c").write_text(program)
    undefined = ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    subprocess.run([GCC, *STRICT, *undefined, "law_test.c", "-o", "run"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "run"], capture_output=True, text=True).stdout == "PASS: 100 vectors\n"


@pytest.mark.parametrize("fixed", ["Q3.4", "Q3.4:Q1.6"])
def test_every_input_of_a_short_format_is_within_the_bound(tmp_path, odd_law, fixed):
    """All 25,921 inputs of the box: those of the domain are within the bound, which is not far above the worst."""
    code = cpwl.io.to_c(odd_law, tmp_path / "law.h", fixed=fixed, outside="error")
    whole = np.arange(-80, 81) / 16
    x = np.stack(np.meshgrid(whole, whole), axis=-1).reshape(-1, 2)
    exact, found = odd_law(x), code(x)
    inside = ~np.isnan(exact[:, 0])
    worst = np.abs(exact - found)[inside].max()
    assert 0 < worst <= code.error_bound < 3 * worst
    assert np.isnan(found[~inside]).mean() > 0.99


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fixed": "Q2.13"}, "the domain reaches 5"),
        ({"fixed": "Q7.8:Q0.15"}, "the values reach 1, and outputs"),
        ({"fixed": "Q7.7"}, "must be a format such as"),
        ({"fixed": "Q7.8:Q1.30"}, "must be a format such as"),
        ({"fixed": "Q7.8", "form": "network"}, 'for the form "tree"'),
    ],
)
def test_formats_that_do_not_fit_are_refused(tmp_path, odd_law, options, said):
    """The domain or a value beyond the format, words that are none, other forms."""
    with pytest.raises((InputError, LimitError), match=said):
        cpwl.io.to_c(odd_law, tmp_path / "law.h", **options)
