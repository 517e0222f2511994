# %% [markdown]
# # A function on which Algorithm 1 is wrong
# The function has five pieces: $p(x, y) = 0$ for $y \le 0$, and $\min(y,\ 1 - 3 y + |x|)$ for $y \ge 0$.
#
# On $y \le 0$ only the component 0 stays above $p$, so that row of the max-min form is 0, and the whole form is never
# negative. But $p(0, 1) = -2$. No other choice of five pieces helps: each contains the half-plane $y \le 0$.

# %%
import cpwl

A = [[[0, 1]], [[-1, 0], [0, -1], [-1, 4]], [[1, 0], [0, -1], [1, 4]], [[-1, 0], [1, -4]], [[1, 0], [-1, -4]]]
b = [[0], [0, 0, 1], [0, 0, 1], [0, -1], [0, -1]]
p = cpwl.CPWL.from_pieces(A, b, gradient=[[0, 0], [0, 1], [0, 1], [1, -3], [-1, -3]], offset=[0, 0, 0, 1, 1])
p

# %% [markdown]
# ## The algorithm as printed
# With `check=False`, `compile` builds it as printed. By default, `compile` refuses the function and names a point.

# %%
as_printed = cpwl.compile(p, construction="paper", check=False).network
print("at (0, 1): the function is", p([0, 1])[0], "and Algorithm 1's network gives", as_printed([0, 1])[0])
try:
    cpwl.compile(p, construction="paper")
except cpwl.ConstructionError as error:
    print(error)

# %% [markdown]
# ## A correct network

# %%
compiled = cpwl.compile(p)
print(f"at (0, 1): cpwl's network of {compiled.sizes.neurons} neurons gives", compiled.network([0, 1])[0])
print(f"pieces split: {compiled.splits}; proved: {cpwl.certify(p, compiled.network).statement}")
