"""Every way to run seven functions, measured in one run: `cpwl bench run` for each, kept in `ways.json`.

    OPENBLAS_NUM_THREADS=1 python benchmarks/ways.py [--cases FOLDER] [--only NAME ..]  # writes ways.json
    python benchmarks/ways.py --show                     # the table and the ratios of docs/comparison.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/ways.py --fused  # operators of onnxruntime that join product and ReLU

Laws of 199 and 611 regions are read from FOLDER (m2_N5.json, ti_N12.json: PPOPT's regions with float noise); without
it they are left out. Processor time on one thread: compare the numbers of one case with each other only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy.spatial

import cpwl
from cpwl.io.onnx.write import onnx_bytes
from cpwl.show.ways import Way, measure_ways, seconds, taken
from mpc import from_floats
from solve import integrator

FILE = Path(__file__).with_name("ways.json")


def scattered() -> cpwl.CPWL:
    """A smooth function at 2,000 random points of the unit square."""
    x = np.round(np.random.default_rng(0).random((2000, 2)), 6)
    values = np.round(np.sin(6 * x[:, 0]) * np.cos(4 * x[:, 1]), 6)
    return cpwl.CPWL.from_simplices(x, scipy.spatial.Delaunay(x).simplices, values)


def trained() -> cpwl.Network:
    """A network 4-16-16-1 after 300 steps of gradient descent, on a product."""
    import torch

    torch.manual_seed(0)
    linear = [torch.nn.Linear(a, b, dtype=torch.float64) for a, b in ((4, 16), (16, 16), (16, 1))]
    module = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2])
    x = 2 * torch.rand(2000, 4, dtype=torch.float64) - 1
    optimizer = torch.optim.Adam(module.parameters(), 0.01)
    for _ in range(300):
        optimizer.zero_grad()
        ((module(x)[:, 0] - x[:, 0] * x[:, 1] - x[:, 2].abs()) ** 2).mean().backward()
        optimizer.step()
    return cpwl.io.from_torch(module.eval())


def law(name: str, folder: Path | None) -> cpwl.CPWL:
    if folder is None:
        raise FileNotFoundError(f"{name} is in the folder of --cases")
    return from_floats(next(folder.rglob(name)))


def cases(folder: Path | None = None) -> dict[str, Callable[[], cpwl.CPWL | cpwl.Network]]:
    """The functions, by name."""
    rng = np.random.default_rng(0)
    square, cube = rng.standard_normal((32, 32)), rng.standard_normal((15, 15, 15))
    return {
        "32 x 32 table": lambda: cpwl.CPWL.from_grid([range(32)] * 2, square),
        "15^3 table": lambda: cpwl.CPWL.from_grid([range(15)] * 3, cube),
        "2,000 scattered points": scattered,
        "control law, 43 regions": lambda: integrator(2, 8, u=(-1, 1), x=(-5, 5)).solve(),
        "control law, 199 regions": lambda: law("m2_N5.json", folder),
        "control law, 611 regions": lambda: law("ti_N12.json", folder),
        "trained 4-16-16-1": trained,
    }


def table(rows: dict[str, dict]) -> str:
    """Markdown: microseconds a point of the ways that matter, for each function; the fastest in C and in Python."""
    names = ["p(x)", "SciPy", "NumPy network", "onnxruntime", "torch network", "torch lookup"]
    names += ["C network", "C tree", "C grid"]
    lines = ["| function | pieces | neurons | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 3)]
    for case, row in rows.items():
        found = {way["name"].split(" ")[0] if "SciPy" in way["name"] else way["name"]: way for way in row["ways"]}
        times = [_time(found.get(name)) for name in names]
        lines.append(f"| {case} | {row['pieces'] or ''} | {row['neurons'] or ''} | " + " | ".join(times) + " |")
    return "\n".join(lines)


def ratios(rows: dict[str, dict]) -> list[str]:
    """Where lookup beats the network, and where it does not, in sentences: each ratio is of one run."""
    times = {case: {way["name"]: way["batch"] for way in row["ways"]} for case, row in rows.items()}
    in_c = {case: t["C network"] / t["C grid"] for case, t in times.items() if t.get("C grid")}
    least, most = min(in_c, key=lambda case: in_c[case]), max(in_c, key=lambda case: in_c[case])
    slow = [
        case for case, row in rows.items() if "network" in row["taken"]["Python"] or "onnx" in row["taken"]["Python"]
    ]
    small = {way["name"]: way for way in rows["32 x 32 table"]["ways"]}

    def single(name: str) -> str:
        return f"{small[name]['single']:.0f}"

    ends = f"{in_c[least]:.0f} ({least}) to {in_c[most]:,.0f} ({most})"
    return [
        f"In C a plain lookup is {ends} times as fast as the network.",
        f"In Python the network is the fastest way for batches of: {'; '.join(slow)}.",
        f"The constants of the 32 x 32 table have {small['C grid']['bytes']:,} bytes for lookup in C, "
        f"{small['C tree']['bytes']:,} for the search tree and {small['C network']['bytes']:,} for the network.",
        f"A single call from Python takes {single('p(x)')} us for `p(x)`, {single('NumPy network')} for the network, "
        f"{single('onnxruntime')} in onnxruntime, {single('numba network')} for `compile(p).jit()` with numba, and "
        f"{single('torch lookup')} for lookup in torch, which is for batches.",
    ]


def fused() -> Iterator[str]:
    """Times in onnxruntime of `Gemm` and `Relu`, as `to_onnx` writes them, beside its own operator for both."""
    import onnx
    import onnxruntime

    for case, make in cases().items():
        if case not in ("32 x 32 table", "control law, 43 regions", "trained 4-16-16-1"):
            continue
        source = make()
        network = source if isinstance(source, cpwl.Network) else cpwl.compile(source).network
        model = onnx.load_from_string(onnx_bytes(network, dtype="float32", batch="N"))
        joined = onnx.load_from_string(model.SerializeToString())
        joined.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
        del joined.graph.node[1::2]
        for node, relu in zip(joined.graph.node, model.graph.node[1::2], strict=False):
            node.op_type, node.domain, node.output[0] = "FusedGemm", "com.microsoft", relu.output[0]
            node.attribute.append(onnx.helper.make_attribute("activation", "Relu"))
        x = np.random.default_rng(0).random((10_000, network.inputs)).astype(np.float32)
        found, values = [], []
        for one in (model, joined):
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            session = onnxruntime.InferenceSession(one.SerializeToString(), options)
            run = partial(session.run, None)
            values.append(run({"X": x})[0])
            found.append(seconds(partial(run, {"X": x})) / len(x) * 1e9)
        assert (values[0] == values[1]).all()
        yield f"{case}: Gemm and Relu {found[0]:.1f}, FusedGemm {found[1]:.1f} ns a point in float32"


def _time(way: dict | None) -> str:
    if way is None or way["batch"] is None:
        return ""
    far = " (another function)" if way["difference"] > 1e-9 else ""
    return f"{way['batch']:.3g}{far}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--fused", action="store_true")
    words = parser.parse_args()
    if words.fused:
        for line in fused():
            print(line, flush=True)
        return
    rows = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for name, make in {} if words.show else cases(words.cases).items():
        if words.only and name not in words.only:
            continue
        began = perf_counter()
        source = make()
        ways: list[Way] = measure_ways(source, points=words.points)
        best = {where: taken(ways, where) for where in ("C", "Python")}
        rows[name] = {
            "pieces": None if isinstance(source, cpwl.Network) else source.num_pieces,
            "neurons": next((way.neurons for way in ways if way.neurons is not None), None),
            "taken": {where: None if way is None else way.name for where, way in best.items()},
            "ways": [way.to_dict() for way in ways],
        }
        order = [name for name in cases() if name in rows]
        FILE.write_text(json.dumps({name: rows[name] for name in order}, indent=1) + "\n", "utf-8")
        print(f"{name}: {perf_counter() - began:.0f} s, {rows[name]['taken']}", flush=True)
    print(table(rows), *ratios(rows), sep="\n")


if __name__ == "__main__":
    main()
