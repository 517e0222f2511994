"""Mixed-integer programs: optima are those over the pieces, and no constant is larger than it must be."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import highspy
import numpy as np
import pytest

import cpwl
from cpwl.cli import main
from cpwl.errors import InputError, SolverError
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.io.milp import neuron_bounds, to_milp
from cpwl.network.network import exact_layers
from cpwl.passes.simplify import ranges
from support.functions import abs_sum, delaunay
from support.twins import catalogue_twin


def random_network(sizes: list[int], seed: int) -> cpwl.Network:
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise(sizes)
    return cpwl.Network([(rng.integers(-5, 6, (b, a)), rng.integers(-5, 6, b)) for a, b in pairs])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("exact", [True, False])
def test_optima_over_a_network_are_those_over_its_pieces(seed, exact):
    """HiGHS over the program, against every corner of every region, in rationals; with both kinds of bounds."""
    network = random_network([2, 5, 4, 2], seed)
    milp = cpwl.io.to_milp(network, box=(-1, 2), max_regions=None if exact else 1)
    assert milp.bounds.exact == exact
    p = cpwl.extract(network, box=(-1, 2))
    weights = [1, -2]
    values = []
    for body, law in zip(p.polyhedra, p.laws.integer(), strict=True):
        for rows in itertools.combinations(body.integer().tolist(), 2):  # a slow reference: all pairs of rows
            (a, b, e), (c, d, f) = rows
            if (det := a * d - b * c) == 0:
                continue
            x = Fraction(e * d - b * f, det), Fraction(a * f - e * c, det)
            if all(r[0] * x[0] + r[1] * x[1] <= r[2] for r in body.integer().tolist()):
                values.append(sum(w * Fraction(r[0] * x[0] + r[1] * x[1] + r[2]) / r[3]
                                  for w, r in zip(weights, law.tolist(), strict=True)))  # fmt: skip
    for largest, best in ((False, min(values)), (True, max(values))):
        value, x = milp.optimum(weights, largest=largest)
        assert abs(value - best) <= 1e-6 * max(1, abs(best))
        assert abs(network([x])[0] @ weights - value) <= 1e-6 * max(1, abs(best))


def test_optimum_over_a_function_with_a_domain():
    """A table on a triangulated square: the optimum is a value at a point of the table."""
    p = delaunay(2, 15, 2)
    milp = cpwl.io.to_milp(p)
    values = p.mesh.values[np.unique(p.mesh.simplices)]
    assert abs(milp.optimum([1])[0] - values.min()) <= 1e-6
    assert abs(milp.optimum([1], largest=True)[0] - values.max()) <= 1e-6


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9])
def test_noise_may_make_large_weights(noise):
    """Noisy slopes that nearly agree bend with weights of 1e14; in other units HiGHS takes them."""
    p, data = catalogue_twin("strips_in_a_box", "column-major", noise)
    best = [cpwl.io.to_milp(q).optimum([1], largest=True)[0] for q in (p, data.function())]
    assert abs(best[0] - best[1]) < 1e-6
    steep = cpwl.Network([([[1e14], [-1e-9]], [0, 1e-9]), ([[1e-14, 1e9]], [0])])
    milp = cpwl.io.to_milp(steep, box=(-1, 1))
    assert set(milp.units) == {"h1_0", "h1_1"}
    assert abs(milp.optimum([1], largest=True)[0] - 2) < 1e-6
    assert abs(milp.optimum([1])[0] - 1) < 1e-6


def test_ranges_are_attained_and_hold():
    """Exact ranges lie inside those of intervals, hold at random points, and are attained at the points they name."""
    network = random_network([2, 6, 5, 1], 7)
    box = box_polyhedron((-1, 1), 2)
    bounds = neuron_bounds(network, box)
    assert bounds.exact
    rough = ranges(list(exact_layers(network)), box)
    x = np.random.default_rng(0).uniform(-1, 1, (20000, 2))
    h = x
    for i, (weight, bias) in enumerate(network.layers):
        z = h @ weight.toarray().T + bias
        low, high = (np.array([float(e[k]) for e in bounds.layers[i]]) for k in (0, 1))
        assert (z >= low - 1e-9).all()
        assert (z <= high + 1e-9).all()
        assert (z.max(axis=0) >= high - 0.05 * (high - low)).all()
        assert (z.min(axis=0) <= low + 0.05 * (high - low)).all()
        if i < len(rough):
            assert all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(rough[i], bounds.layers[i], strict=True))
        h = np.maximum(z, 0)


def test_stable_neurons_have_no_binary():
    """Always on: an equation; always off: fixed at 0; open ones have constants that are their own ranges."""
    network = cpwl.Network([([[1], [1], [1]], [2, 0, -2]), ([[1, 1, 1]], [0])])
    milp = cpwl.io.to_milp(network, box=(-1, 1))
    assert milp.bounds.counts == {"on": 1, "off": 1, "open": 1}
    assert [name for name in milp.columns if name.startswith("a")] == ["a1_1"]
    assert set(milp.columns) == {"x0", "h1_0", "h1_1", "h1_2", "a1_1", "y0"}
    lp = milp.highs.getLp()
    assert (lp.col_lower_[milp.columns["h1_2"]], lp.col_upper_[milp.columns["h1_2"]]) == (0, 0)
    assert (lp.col_lower_[milp.columns["y0"]], lp.col_upper_[milp.columns["y0"]]) == (1, 4)
    assert "1 on, 1 off, 1 open" in repr(milp)


def test_exact_bounds_make_the_relaxation_tighter():
    """The linear relaxation with exact ranges is never weaker than with proved ones, and here it is stronger."""
    network = random_network([2, 6, 6, 1], 3)
    best = []
    for most in (None, 1):
        milp = cpwl.io.to_milp(network, box=(-1, 1), max_regions=most)
        highs = milp.highs
        every = np.arange(highs.getNumCol(), dtype=np.int32)
        kinds = np.array([highspy.HighsVarType.kContinuous] * len(every))
        highs.changeColsIntegrality(len(every), every, kinds)
        highs.changeColCost(milp.columns["y0"], 1.0)
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        highs.run()
        best.append(highs.getInfo().objective_function_value)
        with pytest.raises(SolverError, match="at a point where the network gives"):  # a relaxation is no network
            milp.optimum([1], largest=True)
    assert best[0] < best[1] - 1e-6


def test_models_are_files_too(tmp_path):
    """``.lp`` and ``.mps`` are read by HiGHS again and have the same optimum; other endings are refused."""
    p = abs_sum(2)
    made = cpwl.io.to_milp(p, tmp_path / "a.lp", box=(-1, 2))
    cpwl.io.to_milp(p, tmp_path / "a.mps", box=(-1, 2))
    for name in ("a.lp", "a.mps"):
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.readModel(str(tmp_path / name))
        assert highs.getNumCol() == made.highs.getNumCol()
        column = list(highs.getLp().col_names_).index("y0")
        highs.changeColCost(column, 1.0)
        highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        highs.run()
        assert abs(highs.getInfo().objective_function_value - 4) < 1e-6
    with pytest.raises(InputError, match="must end in"):
        cpwl.io.to_milp(p, tmp_path / "a.gms", box=(-1, 2))


def test_what_is_not_bounded_is_refused():
    """All of R^2, a half-plane, and an empty box."""
    for p in (abs_sum(2), cpwl.compile(abs_sum(2)), cpwl.compile(abs_sum(2)).network):
        with pytest.raises(InputError, match=r"not bounded|could not be determined"):
            cpwl.io.to_milp(p)
    with pytest.raises(InputError, match="not bounded"):
        cpwl.io.to_milp(abs_sum(2), domain=([[1, 0]], [1]))
    with pytest.raises(InputError, match="empty"):
        cpwl.io.to_milp(abs_sum(2), domain=([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, -1, 1, 1]))
    with pytest.raises(InputError, match="takes a CPWL"):
        cpwl.io.to_milp("law.json")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_omlt_reads_the_files(tmp_path):
    """OMLT's own big-M formulation, with its own bounds and with ours, has the exact optimum; ours fix neurons."""
    pyo = pytest.importorskip("pyomo.environ")
    omlt = pytest.importorskip("omlt")
    from omlt.io import load_onnx_neural_network_with_bounds
    from omlt.neuralnet import ReluBigMFormulation

    network = random_network([2, 5, 4, 1], 1)
    bounds = cpwl.io.to_omlt(network, tmp_path / "net.onnx", box=(-1, 2))
    optimum = []
    for tight in (False, True):
        model = pyo.ConcreteModel()
        model.nn = omlt.OmltBlock()
        model.nn.build_formulation(ReluBigMFormulation(load_onnx_neural_network_with_bounds(tmp_path / "net.onnx")))
        if tight:
            fixed = cpwl.io.tighten_omlt(model.nn, tmp_path / "net.onnx")
            assert fixed == bounds.counts["on"] + bounds.counts["off"]
        model.objective = pyo.Objective(expr=model.nn.outputs[0, 0], sense=pyo.maximize)
        pyo.SolverFactory("appsi_highs").solve(model)
        optimum.append(pyo.value(model.objective))
    best = bounds.layers[-1][0][1]
    assert all(abs(value - best) <= 1e-5 * max(1, abs(best)) for value in optimum)
    (tmp_path / "net.onnx.neurons.json").write_text("{}")
    with pytest.raises(InputError, match="was not written by `to_omlt`"):
        cpwl.io.tighten_omlt(model.nn, tmp_path / "net.onnx")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_omlt_stays_within_a_domain_that_is_no_box(tmp_path):
    """OMLT reads a box; `tighten_omlt` adds the row x + y <= 1, and the optimum is that of the function."""
    pyo = pytest.importorskip("pyomo.environ")
    omlt = pytest.importorskip("omlt")
    from omlt.io import load_onnx_neural_network_with_bounds
    from omlt.neuralnet import ReluBigMFormulation

    p = cpwl.parse("max(x, y) + max(x - y, 0)").restrict(domain=([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]))
    with pytest.warns(cpwl.CpwlWarning, match="must add its 1 other rows"):
        cpwl.io.to_omlt(p, tmp_path / "law.onnx")
    model = pyo.ConcreteModel()
    model.nn = omlt.OmltBlock()
    model.nn.build_formulation(ReluBigMFormulation(load_onnx_neural_network_with_bounds(tmp_path / "law.onnx")))
    cpwl.io.tighten_omlt(model.nn, tmp_path / "law.onnx")
    model.objective = pyo.Objective(expr=model.nn.outputs[0, 0] + model.nn.inputs[0, 1], sense=pyo.maximize)
    pyo.SolverFactory("appsi_highs").solve(model)
    assert abs(pyo.value(model.objective) - 2) <= 1e-5  # at (1, 0); 3 at (1, 1)


def test_command_line(tmp_path, monkeypatch, capsys):
    """A file, the counts of neurons, and one sentence where the domain is missing."""
    monkeypatch.chdir(tmp_path)
    cpwl.write(random_network([2, 3, 1], 0), "net.json")
    assert main(["milp", "net.json", "-o", "net.lp", "--box", "-1", "1"]) == 0
    assert "exact, from the regions" in capsys.readouterr().out
    assert main(["milp", "net.json", "-o", "net.onnx", "--box", "-1", "1", "--json"]) == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"net.onnx", "net.onnx.bounds.json", "net.onnx.neurons.json"}
    assert main(["milp", "net.json", "-o", "other.mps"]) == 65
    assert "bounded" in capsys.readouterr().err
    assert main(["milp", "net.json", "-o", "other.txt", "--box", "-1", "1"]) == 64
    assert not list(tmp_path.glob("other*"))


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_a_model_that_is_cut_off_is_not_written(tmp_path, monkeypatch, ending):
    """HiGHS does not say that the disk of temporary files is full."""
    real = highspy.Highs.writeModel

    def cut(self, name):
        status = real(self, name)
        data = Path(name).read_bytes()
        Path(name).write_bytes(data[: len(data) // 2])
        return status

    monkeypatch.setattr(highspy.Highs, "writeModel", cut)
    network = cpwl.Network([([[1]], [0]), ([[1]], [0])])
    with pytest.raises(cpwl.InputError, match="cut off"):
        cpwl.io.to_milp(network, tmp_path / f"a{ending}", box=(-1, 1))
    assert list(tmp_path.iterdir()) == []


def test_a_box_beyond_the_domain_does_not_enlarge_it():
    """The network of a hat on [0, 2] goes on downwards, which no optimum may see. A network alone has no domain."""
    p = cpwl.CPWL.from_breakpoints([0, 1, 2], [0, 1, 0], left_slope=0, right_slope=0)
    hat = cpwl.CPWL.from_grid([[0, 1, 2]], [0, 1, 0])
    assert abs(to_milp(hat, box=(0, 5)).optimum([1.0])[0]) < 1e-6
    assert abs(to_milp(cpwl.compile(hat), box=(0, 5)).optimum([1.0])[0]) < 1e-6
    assert to_milp(cpwl.compile(hat).network, box=(0, 5)).optimum([1.0])[0] < -2.9
    assert abs(to_milp(p, box=(0, 5)).optimum([1.0])[0]) < 1e-6
    clipped = cpwl.compile(hat, outside="clip")
    assert to_milp(clipped, box=(-1, 5)).bounds.layers[-1] == ((0, 1),)
    with pytest.raises(InputError, match="the domain is empty"):
        to_milp(hat, box=(3, 5))


@pytest.mark.parametrize("x_unit", [1e-9, 1, 1e9])
@pytest.mark.parametrize("y_unit", [1e-9, 1, 1e9])
@pytest.mark.parametrize("start", [0, 5])
def test_units_of_inputs_and_outputs(tmp_path, x_unit, y_unit, start):
    """In tiny and huge units HiGHS was content with 2 instead of 4; written models have the same optimum."""
    axes = [[(start + x) * x_unit for x in (-3, 0, 2)], [-8, 1, 3]]
    p = cpwl.CPWL.from_grid(axes, [[v * y_unit for v in row] for row in ([2, -1, 0], [3, -4, 1], [-2, 4, 0])])
    milp = to_milp(p, tmp_path / "law.mps")
    for largest, best in ((False, -4), (True, 4)):
        value, point = milp.optimum([1], largest=largest)
        assert abs(value / y_unit - best) <= 1e-5
        assert abs(milp.network(point)[0] / y_unit - best) <= 1e-4
        model = highspy.Highs()
        model.silent()
        model.readModel(str(tmp_path / "law.mps"))
        model.changeColCost(list(model.getLp().col_names_).index("y0"), 1 / y_unit)
        model.changeObjectiveSense(highspy.ObjSense.kMaximize if largest else highspy.ObjSense.kMinimize)
        model.run()
        assert abs(model.getInfo().objective_function_value - best) <= 1e-3
