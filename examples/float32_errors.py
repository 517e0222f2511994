"""Float32 errors of gates and of clamped gates at 20,000 random points, relative to the range.

Random interpolants on a square, weights rounded once, the whole network evaluated in the format.
`python examples/float32_errors.py 1000` takes a thousand triangles and a minute or two. The default is forty triangles.
"""

import sys

import numpy as np
from scipy.spatial import Delaunay

import cpwl


def interpolant(triangles: int, seed: int) -> cpwl.CPWL:
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.random((triangles // 2 - 1, 2)), [[0, 0], [1, 0], [0, 1], [1, 1]]])
    return cpwl.CPWL.from_simplices(x, Delaunay(x).simplices, rng.standard_normal(len(x)))


def error(network: cpwl.Network, p: cpwl.CPWL, kind: type) -> float:
    x = np.random.default_rng(1).random((20_000, 2)).astype(np.float32)  # points that both formats have
    wanted = p(x.astype(np.float64))[:, 0]
    value = x.astype(kind)
    for number, (weight, bias) in enumerate(network.layers):
        value = value @ weight.toarray().astype(kind).T + bias.astype(kind)
        if number + 1 < len(network.layers):
            value = np.maximum(value, 0)
    return float(np.abs(value[:, 0] - wanted).max() / np.ptp(wanted))


count = int(sys.argv[1]) if len(sys.argv) > 1 else 40
print("construction  neurons per triangle  float32   float64")
for seed in range(2):
    p = interpolant(count, seed)
    for construction in ("gates", "clamped"):
        network = cpwl.compile(p, construction=construction).network
        share = network.sizes.neurons / p.num_pieces
        errors = (error(network, p, kind) for kind in (np.float32, np.float64))
        print(f"{construction:12}  {share:20.2f}", *(f"{e:8.1e}" for e in errors), sep="  ", flush=True)
