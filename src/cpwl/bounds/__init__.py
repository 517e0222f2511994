"""Published bounds on the size of a ReLU network for a CPWL function: integers in, integers out, at any size.

Letters as in the paper: `n` inputs, `q` convex pieces, `k` distinct linear components. A network with
`layers` layers has one hidden layer less (Definition 5).

>>> theorem2(8, 20)
Bound(layers=9, width=240, neurons=627)
"""

from cpwl.bounds.extremum import l, r, w
from cpwl.bounds.max_min import algorithm1
from cpwl.bounds.prior import arora2018_hidden_layers, he2020, hertrich2021
from cpwl.bounds.theorems import Bound, phi, theorem1, theorem2, theorem3

__all__ = [
    "Bound",
    "algorithm1",
    "arora2018_hidden_layers",
    "he2020",
    "hertrich2021",
    "l",
    "phi",
    "r",
    "theorem1",
    "theorem2",
    "theorem3",
    "w",
]
