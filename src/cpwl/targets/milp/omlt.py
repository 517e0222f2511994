"""Files for OMLT: the network, bounds of its inputs, and bounds of its neurons.

OMLT (1.2) reads ``law.onnx`` and, beside it, ``law.onnx.bounds.json``. It finds bounds of neurons by intervals.
``law.onnx.neurons.json`` has ours, and `tighten_omlt` puts them into a big-M formulation in the place of those.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction
from typing import Any

from cpwl.compiler import Compiled
from cpwl.doors import check_argument, check_limit, check_path, within_float64
from cpwl.errors import InputError
from cpwl.exact.rational import text
from cpwl.files import read_bytes, write_together
from cpwl.formats.onnx.write import onnx_bytes
from cpwl.function.cpwl import CPWL
from cpwl.geometry.box import bounding_box
from cpwl.geometry.polyhedra import Domain
from cpwl.network.network import Network
from cpwl.targets.milp.bounds import NeuronBounds, double_bound, neuron_bounds
from cpwl.targets.milp.write import network_and_domain

__all__ = ["tighten_omlt", "to_omlt"]


@within_float64()
def to_omlt(
    source: CPWL | Network | Compiled,
    path: str | os.PathLike[str],
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    max_regions: int | None = 5000,
) -> NeuronBounds:
    """Write ``law.onnx``, ``law.onnx.bounds.json`` and ``law.onnx.neurons.json``; `path` is the first of them.

    `omlt.io.load_onnx_neural_network_with_bounds(path)` reads the first two; then
    ``cpwl.tighten_omlt(block, path)`` makes the big-M constants of the formulation in the block the smallest.

    Parameters
    ----------
    source, domain, box, max_regions
        As in `to_milp`.
    path : path-like
        The ONNX file.

    Returns
    -------
    NeuronBounds
        What the last file says.
    """
    check_argument(source, (CPWL, Network, Compiled), "to_omlt")
    check_path(path, "to_omlt")
    check_limit(max_regions)
    name = os.fsdecode(path)
    if not name.lower().endswith(".onnx"):
        raise InputError(f"`{name}` must end in .onnx")
    network, body = network_and_domain(source, domain, box)
    bounds = neuron_bounds(network, body, max_regions)
    ends = bounding_box(body) or []
    # OMLT writes the key of input i of a [1, n] array as the pair (0, i).
    inputs = [
        {"key": [0, k], "lower_bound": a, "upper_bound": b}
        for k, (a, b) in enumerate(_doubles(low or Fraction(0), high or Fraction(0)) for low, high in ends)
    ]
    beside = {"bounds": inputs, "neurons": _document(bounds)}
    write_together(
        [
            (path, onnx_bytes(network)),
            *((f"{name}.{what}.json", f"{json.dumps(said)}\n".encode()) for what, said in beside.items()),
        ]
    )
    return bounds


def _document(bounds: NeuronBounds) -> dict[str, Any]:
    layers = [[{"low": text(low), "high": text(high)} for low, high in layer] for layer in bounds.layers]
    for i, layer in enumerate(layers[:-1]):
        for k, neuron in enumerate(layer):
            neuron["state"] = bounds.state(i, k)
    return {"format": "cpwl-neurons", "version": 1, "exact": bounds.exact, "layers": layers}


def tighten_omlt(block: Any, path: str | os.PathLike[str]) -> int:
    """Put the bounds of ``path.neurons.json`` into an OMLT block built with `ReluBigMFormulation`.

    Returns how many neurons it fixed, because they are always on or always off.
    """
    check_path(path, "tighten_omlt")
    name = f"{os.fsdecode(path)}.neurons.json"
    data = read_bytes(name)
    try:
        layers = json.loads(data)["layers"]
        ends = [
            [(double_bound(Fraction(n["low"]), -1), double_bound(Fraction(n["high"]), 1)) for n in layer]
            for layer in layers
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{name} is not what `to_omlt` writes: {error}", path=name) from None
    dense = [block.layer[number] for number in block.layers if hasattr(block.layer[number], "zhat")]
    if [len(part.zhat) for part in dense] != [len(layer) for layer in ends]:
        raise InputError(f"{name} is of another network than this block")
    fixed = 0
    for part, layer in zip(dense, ends, strict=True):
        for index, (low, high) in zip(part.zhat, layer, strict=True):
            part.zhat[index].setlb(low)
            part.zhat[index].setub(high)
            if hasattr(part, "q_relu"):
                part._big_m_lb_relu[index], part._big_m_ub_relu[index] = min(low, 0.0), max(high, 0.0)
                part.z[index].setlb(max(low, 0.0))
                part.z[index].setub(max(high, 0.0))
                if low >= 0 or high <= 0:
                    part.q_relu[index].fix(1 if high > 0 else 0)
                    fixed += 1
    return fixed


def _doubles(low: Fraction, high: Fraction) -> tuple[float, float]:
    return double_bound(low, -1), double_bound(high, 1)
