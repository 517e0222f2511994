"""Points per second on a torch device, for the network and for lookup, in float64 and in float32 without TF32.

    python benchmarks/gpu.py [--device cuda] [--points 1000000] [--json OUT.json]
    python benchmarks/gpu.py --make TABLES.npz     # needs cpwl's dependencies; then anywhere, with torch and NumPy:
    python benchmarks/gpu.py --tables TABLES.npz --device cuda

With ``--tables`` it imports torch, numpy and `cpwl.io.lookup` (from src) alone: the arrays were made elsewhere. Each
time is the shortest of five rounds, after one that is not counted, and ends when the device is done. The last column is
the largest distance from float64 on the CPU, relative to the largest value.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from cpwl.io.lookup import Lookup

Arrays = dict[str, np.ndarray]


def made() -> Arrays:
    """The tables and the dense layers of every case, and the box of its points, by name."""
    import cpwl
    from cpwl.io.torch import lookup_arrays
    from cpwl.io.weights import dense_layers
    from ways import cases

    found: Arrays = {}
    for name in ("32 x 32 table", "15^3 table", "2,000 scattered points"):
        p = cases()[name]()
        found |= {f"{name}/lookup/{key}": value for key, value in lookup_arrays(p, "float64").items()}
        found[f"{name}/box"] = np.array([p.mesh.points.min(axis=0), p.mesh.points.max(axis=0)])
        if name == "32 x 32 table":  # of the others, lookup only
            network = cpwl.compile(p, construction="columns", check=False).network
            for i, (weight, bias) in enumerate(dense_layers(network, "float64")):
                found |= {f"{name}/network/{i:02}W": weight, f"{name}/network/{i:02}b": bias}
    return found


def part(arrays: Arrays, prefix: str) -> Arrays:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def module(arrays: Arrays, case: str, way: str, dtype: str) -> torch.nn.Module | None:
    """The module of one way, on the CPU."""
    own = part(arrays, f"{case}/{way}/")
    own = {name: array.astype(dtype) if array.dtype.kind == "f" else array for name, array in own.items()}
    if not own:
        return None
    if way == "lookup":
        return Lookup(own)
    layers: list[Any] = []
    for i in range(len(own) // 2):
        weight, bias = (torch.from_numpy(own[f"{i:02}{end}"]) for end in "Wb")
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
        linear.weight, linear.bias = (torch.nn.Parameter(v, requires_grad=False) for v in (weight, bias))
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def seconds(call: Any, device: torch.device) -> float:
    """The shortest of five rounds, the device waited for."""

    def once() -> float:
        begin = perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return perf_counter() - begin

    once()
    return min(once() for _ in range(5))


def measured(arrays: Arrays, device: torch.device, count: int) -> list[dict[str, Any]]:
    """A row for each case, way and type."""
    rows = []
    cases = sorted({name.split("/")[0] for name in arrays})
    for case in cases:
        low, high = arrays[f"{case}/box"]
        x = np.random.default_rng(0).uniform(low, high, (count, len(low)))
        few = torch.from_numpy(x[:10_000])
        exact = module(arrays, case, "lookup", "float64")(few)
        for way in ("network", "lookup"):
            for dtype in ("float64", "float32"):
                made = module(arrays, case, way, dtype)
                if made is None:
                    continue
                made, kind = made.to(device), getattr(torch, dtype)
                points = torch.from_numpy(x).to(kind).to(device)
                with torch.inference_mode():
                    time = seconds(lambda made=made, points=points: made(points), device)
                    near = made(few.to(kind).to(device)).cpu().double()
                # Rounded inputs are other inputs: the distance is what a user of that type sees.
                off = float((near - exact).abs().max() / exact.abs().max())
                rows.append({"case": case, "way": way, "dtype": dtype, "points_per_second": count / time, "off": off})
                print(f"{case:24} {way:8} {dtype:8} {count / time:12,.0f} points/s   off {off:.1e}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--make", type=Path)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--json", type=Path)
    words = parser.parse_args()
    if words.make is not None:
        np.savez_compressed(words.make, **{name.replace("/", "|"): array for name, array in made().items()})
        return
    if words.tables is None:
        arrays = made()
    else:
        with np.load(words.tables) as file:
            arrays = {name.replace("|", "/"): file[name] for name in file.files}
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    device = torch.device(words.device)
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(f"torch {torch.__version__} on {named}, {words.points:,} points, TF32 off")
    rows = measured(arrays, device, words.points)
    if words.json is not None:
        words.json.write_text(json.dumps({"device": named, "points": words.points, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
