# %% [markdown]
# # Ground truth for those who test verifiers
# A verifier that says "the output never exceeds 3" can only be tested where the truth is known. Here it is known
# exactly: networks compiled from functions whose regions, maxima and Lipschitz constants are rationals.

# %%
from __future__ import annotations

import sys

import numpy as np
from scipy.spatial import Delaunay

import cpwl

# %% [markdown]
# ## Functions with a known maximum
# A random table: its maximum is the largest value in it, and attained at a corner that we know.


# %%
def random_table(seed: int) -> tuple[cpwl.CPWL, int]:
    """A function on triangles, and its largest value."""
    rng = np.random.default_rng(seed)
    places = np.concatenate([[[0, 0], [8, 0], [0, 8], [8, 8]], rng.integers(1, 8, (6, 2))])
    values = rng.integers(-20, 21, len(places))
    triangles = Delaunay(places).simplices
    return cpwl.CPWL.from_simplices(places, triangles, values), int(values[np.unique(triangles)].max())


count = int(sys.argv[1]) if len(sys.argv) > 1 else 2
tables = [random_table(seed) for seed in range(count)]
networks = [cpwl.compile(p).network for p, _ in tables]
assert all(cpwl.certify(p, network).error_bound == 0 for (p, _), network in zip(tables, networks, strict=True))

# %% [markdown]
# ## Queries with answers
# All linear regions are listed, and the extreme values are found region by region; the largest must be the one that we
# put in. The files are those that verifiers read.

# %%
for seed, ((_, top), network) in enumerate(zip(tables, networks, strict=True)):
    regions = cpwl.extract(network, box=(0, 8))
    made = cpwl.io.to_vnnlib(network, f"queries_{seed}", box=(0, 8))
    answers = ", ".join(f"{query.name}: {query.answer}" for query in made.queries)
    print(f"seed {seed}: {network}, {regions.num_pieces} regions on the square, largest value {top}")
    print(f"  {answers}")
    highest = max(float(query.value) for query in made.queries)
    assert abs(highest - top) < 1e-3 * max(1, abs(top)), (highest, top)

# %% [markdown]
# ## Look at the last one

# %%
cpwl.report(tables[-1][0], networks[-1], names=("table", "network"), path="ground_truth.html", prove=False)
