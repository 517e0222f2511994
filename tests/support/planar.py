"""Tables of two inputs, and where a network differs from one: corners, midpoints and random points, in rationals."""

import itertools
from fractions import Fraction

import numpy as np
from scipy.spatial import Delaunay

from cpwl import CPWL
from cpwl.exact.rational import fraction_array
from cpwl.function.bends.planar import with_edges_only
from support.rational_pieces import points_in_pieces, vertices_of

__all__ = ["delaunay_on_box", "delaunay_on_hull", "differences", "grid", "middle", "with_hanging_nodes"]


def delaunay_on_box(interior, seed, outputs=1):
    """Random points of a box, its corners and the middles of its sides; values N(0, 1); coordinates of few bits."""
    rng = np.random.default_rng(seed)
    rim = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y]
    points = np.concatenate([rim, np.round(rng.uniform(-0.9, 0.9, (interior, 2)) * 2**10) / 2**10])
    values = np.round(rng.standard_normal((len(points), outputs)) * 2**6) / 2**6
    return CPWL.from_simplices(points, Delaunay(points).simplices, values)


def delaunay_on_hull(count, seed, outputs=1):
    """Random points of the plane; the domain is their hull, with slanted sides."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 60, (count, 2))
    points = np.unique(points, axis=0)
    return CPWL.from_simplices(points, Delaunay(points).simplices, rng.integers(-9, 10, (len(points), outputs)))


def grid(m, seed):
    return CPWL.from_grid([list(range(m + 1))] * 2, np.random.default_rng(seed).integers(-9, 10, (m + 1, m + 1)))


def with_hanging_nodes(p):
    """The same table, each third triangle cut in two through the middle of its first edge: its neighbour is not."""
    points = [[Fraction(v, c[-1]) for v in c[:-1]] for c in p.mesh.corners]
    values, triangles = [[Fraction(v) for v in z] for z in p.mesh.values], []
    for i, (a, b, c) in enumerate(p.mesh.simplices.tolist()):
        if i % 3:
            triangles.append([a, b, c])
            continue
        triangles += [[a, len(points), c], [len(points), b, c]]
        points.append(middle(points[a], points[b]))
        values.append(middle(values[a], values[b]))
    return CPWL.from_simplices(points, triangles, values)


def differences(p, network, count=3):
    """Where network and function differ: random points of every piece, corners, midpoints between corners."""
    solid = with_edges_only(p)
    points = [x for _, x in points_in_pieces(solid, count, seed=1)]
    corners = vertices_of(solid)
    points += corners + [middle(x, y) for x, y in itertools.pairwise(corners)]
    if p.mesh is not None:
        place = [[Fraction(v, c[-1]) for v in c[:-1]] for c in p.mesh.corners]
        points += [middle(place[t[i]], place[t[i - 1]]) for t in p.mesh.simplices for i in range(3)]
    x = fraction_array(points)
    return np.flatnonzero((network(x) != p(x)).any(axis=1))


def middle(x, y):
    return [(a + b) / 2 for a, b in zip(x, y, strict=True)]
