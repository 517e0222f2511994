"""Tables on Kuhn grids: neurons and errors of columns and gates: ``python benchmarks/columns.py [--full]``.

Values N(0, 1) at whole numbers, weights rounded once to the format, the network evaluated in it at 100,000 random
points that both formats have; errors relative to the range of the values.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np

import cpwl

SMALL = [(2, 32), (3, 4), (3, 8), (4, 3)]
LARGE = [(3, 12), (3, 16), (4, 5)]
GATES = 4000  # cells up to which gates are measured as well


def error(network: cpwl.Network, x: np.ndarray, true: np.ndarray, kind: type) -> float:
    """The largest difference, the whole network evaluated in one format."""
    h = x.astype(kind)
    for k, (weight, bias) in enumerate(network.layers):
        z = h @ weight.toarray().T.astype(kind) + bias.astype(kind)
        h = z if k == len(network.layers) - 1 else np.maximum(z, 0)
    return float(np.abs(h - true).max() / np.ptp(true))


def main() -> None:
    """A line for each grid and construction."""
    warnings.simplefilter("ignore")
    print(f"{'grid':>6} {'cells':>7}  {'':8} {'neurons':>7} {'layers':>6}  float32  float64  compiled in")
    for n, m in SMALL + (LARGE if "--full" in sys.argv else []):
        rng = np.random.default_rng(0)
        p = cpwl.CPWL.from_grid([range(m + 1)] * n, rng.standard_normal([m + 1] * n))
        x = rng.uniform(0, m, (100_000, n)).astype(np.float32)
        true = p(x.astype(np.float64))
        for name in ("columns", "gates") if p.num_pieces <= GATES else ("columns",):
            start = time.perf_counter()
            network = cpwl.compile(p, construction=name, check=False).network
            seconds = time.perf_counter() - start
            errors = " ".join(f"{error(network, x, true, kind):8.1e}" for kind in (np.float32, np.float64))
            sizes = f"{network.sizes.neurons:7,} {network.sizes.depth - 1:6}"
            print(f"{m:4}^{n} {p.num_pieces:7,}  {name:8} {sizes}  {errors}  {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
