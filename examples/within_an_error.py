# %% [markdown]
# # Fewer neurons within a stated error
# A table is rarely needed to the last bit. `compile(within=...)` finds a small network that stays within a tolerance
# everywhere, and computes the exact distance.

# %%
import cpwl

curve = cpwl.CPWL.from_grid([range(41)], [(x - 12) ** 2 * (40 - x) for x in range(41)]).named(
    ["angle", "force"], ["deg", "N"]
)
curve

# %% [markdown]
# ## Equal, and within 2 % of the range

# %%
equal = cpwl.compile(curve)
rough = cpwl.compile(curve, within="2%", certify=True)
print(f"{equal.sizes.neurons} neurons are equal to the table, {rough.sizes.neurons} are within 2 %")
found = rough.within.distance
print(
    f"the largest distance is {float(found.largest):.6g}, at x = {found.point[0]}; proved: {rough.certificate.proved}"
)

# %% [markdown]
# `extract` shows the remaining linear pieces of the network.

# %%
cpwl.extract(rough.network, box=(0, 40)).named(curve.names, curve.units)

# %% [markdown]
# ## How many neurons for which error?
# Each row is a network that was compiled and proved.

# %%
print(cpwl.tradeoff(curve, within=["10%", "3%", "1%", "0.3%"]))
