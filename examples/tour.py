# %% [markdown]
# # Every construction and every bound on one function
# Published upper bounds, the sizes of all constructions, and proved lower bounds for the same function.

# %%
from __future__ import annotations

import numpy as np

import cpwl
from cpwl.construct.table import TABLE

# %% [markdown]
# ## The function
# Random heights on a 5 x 5 grid give 32 triangles, nearly all with different laws.

# %%
heights = np.random.default_rng(3).integers(-9, 10, (5, 5))
p = cpwl.CPWL.from_grid([range(5), range(5)], heights)
n, k, q = p.dim, p.num_components, p.num_pieces
print(f"n = {n} inputs, q = {q} pieces, k = {k} components")

# %% [markdown]
# ## Published bounds
# The number of neurons that suffices for any function with these numbers of inputs, pieces and components.

# %%
print(f"He et al. 2020       10^{len(str(cpwl.bounds.he2020(n, k, q))) - 1}")
print(f"Hertrich et al. 2021 10^{len(str(cpwl.bounds.hertrich2021(n, k))) - 1}")
for name, bound in (("Theorem 1", cpwl.bounds.theorem1(q)), ("Theorem 2", cpwl.bounds.theorem2(k, q))):
    print(f"{name:20} {bound.neurons:,} in {bound.layers} layers")

# %% [markdown]
# ## Constructions
# A construction either applies, and its network is proved, or it reports why it does not apply.

# %%
for name in TABLE:
    try:
        compiled = cpwl.compile(p, construction=name)
    except cpwl.CpwlError as error:
        print(f"{name:12} {str(error).splitlines()[0]}")
        continue
    proof = cpwl.certify(p, compiled.network) if name != "paper" else None
    said = "not asked for a proof" if proof is None else f"proof of kind {proof.kind}"
    print(f"{name:12} {compiled.sizes.neurons:,} neurons, {compiled.sizes.depth} layers; {said}")
    assert proof is None or proof.error_bound == 0

# %% [markdown]
# ## Lower bounds
# These bounds are proved for this function.

# %%
best = cpwl.compile(p)
for bound in best.lower_bounds:
    depth = "" if bound.hidden_layers is None else f" with {bound.hidden_layers} hidden layers"
    print(f"at least {bound.neurons} neurons{depth}: {bound.reason}")
assert best.lower_bound.neurons <= best.sizes.neurons

# %% [markdown]
# ## Extract
# The network has more linear regions than the function has pieces, and computes the same function.

# %%
regions = cpwl.extract(best.network, box=(0, 4))
print(f"{best.construction}: {best.sizes.neurons} neurons make {regions.num_pieces} linear regions on the square")
assert cpwl.equal(p, best.network)
