# %% [markdown]
# # Networks with known answers, for testing verifiers
# A verifier may claim that an output never exceeds 3. To test it, one needs networks with known answers. These networks
# are compiled from functions whose regions, maxima and Lipschitz constants are known rationals.

# %%
from __future__ import annotations

import sys

import numpy as np
from scipy.spatial import Delaunay

import cpwl

# %% [markdown]
# ## Functions with a known maximum
# The maximum of a random table is its largest value, attained at a known corner.


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
# `to_vnnlib` lists all linear regions and finds the extreme values region by region. The largest must be the known
# maximum. Verifiers read the files that it writes.

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
# ## Explore the last network

# %%
cpwl.report(tables[-1][0], networks[-1], names=("table", "network"), path="ground_truth.html", certify=False)
