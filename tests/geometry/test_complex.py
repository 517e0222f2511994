"""Complexes: numbers of faces, incidence, and the Brianchon-Gram relation in rationals."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq_mat, fmpz_mat
from scipy.spatial import Delaunay

from cpwl import CPWL
from cpwl.errors import ConstructionError, LimitError
from cpwl.function.make import kuhn_simplices
from cpwl.geometry import complex as complexes
from cpwl.geometry.complex import complex_of, from_simplices
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe
from shallow import from_hidden_layer


def triangulated(n, count, seed):
    """A Delaunay complex of random integer points."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 1000, size=(count, n))
    corners = np.column_stack([points, np.ones(count, dtype=int)]).astype(object)
    return from_simplices(corners, np.sort(Delaunay(points).simplices, axis=1).astype(np.int64))


def arrangement(n, width, seed):
    """The cells of some random hyperplanes in R^n."""
    draw = random.Random(seed)
    weight = [[draw.randint(-9, 9) for _ in range(n)] for _ in range(width)]
    p = from_hidden_layer(weight, [draw.randint(-9, 9) for _ in range(width)], [1] * width)
    return complex_of(p.polyhedra)[0]


def boxes(n, lines):
    """Boxes cut from R^n by hyperplanes x_i = 0, 1, ..., unbounded outside."""
    sides = [(None, 0), *((k, k + 1) for k in range(lines - 1)), (lines - 1, None)]
    A, b = [], []
    for choice in itertools.product(sides, repeat=n):
        rows, right = [], []
        for i, (low, high) in enumerate(choice):
            unit = [int(i == j) for j in range(n)]
            if high is not None:
                rows.append(unit)
                right.append(high)
            if low is not None:
                rows.append([-v for v in unit])
                right.append(-low)
        A.append(rows)
        b.append(right)
    return complex_of(Polyhedra.from_lists(A, b))[0]


def hanging():
    """A max-min function whose pieces do not meet face to face."""
    draw = random.Random(2)
    components = [[draw.randint(-9, 9) for _ in range(4)] for _ in range(5)]
    return CPWL.from_maxmin(components, [sorted(draw.sample(range(5), 3)) for _ in range(3)])


BOUNDED = {
    "plane": lambda: triangulated(2, 15, 0),
    "space": lambda: triangulated(3, 12, 1),
    "four": lambda: triangulated(4, 9, 2),
}
UNBOUNDED = {
    "lines": lambda: arrangement(2, 4, 0),
    "planes": lambda: arrangement(3, 4, 1),
    "hyperplanes": lambda: arrangement(4, 5, 2),
    "boxes": lambda: boxes(3, 2),
}
EVERY = {**BOUNDED, **UNBOUNDED}


def cone_contains(complex_, d, i, cell, x):
    """Whether the cone at face (d, i) of one of its cells contains x, by the cell's facets through the face."""
    n = complex_.dim
    face = set(complex_.faces[d].members[i])
    members = set(complex_.faces[n].members[cell])
    for facet, owners in enumerate(complex_.above(n - 1, n)):
        own = set(complex_.faces[n - 1].members[facet])
        if cell in owners and face <= own:
            row = normal(complex_, own)
            inside = next(v for v in (value(row, complex_.generators[g]) for g in members - own) if v)
            if value(row, x) * inside < 0:
                return False
    return True


def normal(complex_, members):
    """A hyperplane through generators, by cofactors."""
    kernel, rank = fmpz_mat([[int(v) for v in complex_.generators[g]] for g in sorted(members)]).nullspace()
    assert rank == 1
    return [int(kernel[k, 0]) for k in range(complex_.dim + 1)]


def value(row, x):
    return sum(a * b for a, b in zip(row, x, strict=True))


def local_value(complex_, laws, d, i, x):
    """The local function of a face at x: the law of the one cone that contains x, 0 if none does."""
    n = complex_.dim
    cells = [i] if d == n else complex_.above(d, n)[i]
    found = [cell for cell in cells if cone_contains(complex_, d, i, cell, x)]
    return value(laws[found[0]], x) if len(found) == 1 else 0


def inner_point(complex_, draw):
    """A random point inside a random cell, homogeneous."""
    cells = complex_.faces[-1].members
    total = [Fraction(0)] * (complex_.dim + 1)
    for g in cells[draw.randrange(len(cells))]:
        weight = draw.randint(1, 10**6)
        total = [t + weight * v for t, v in zip(total, complex_.generators[g], strict=True)]
    return [t / total[-1] for t in total]


@pytest.mark.parametrize("name", EVERY)
def test_euler(name):
    """Faces of a convex domain, infinity included, have Euler characteristic 1."""
    assert EVERY[name]().euler() == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", EVERY)
def test_brianchon_gram(name):
    """The sum of (-1)^dim p_F over all faces is p, for any laws on the cells, at every point of the domain."""
    complex_, draw = EVERY[name](), random.Random(3)
    cells = len(complex_.faces[-1])
    laws = [[draw.randint(-9, 9) for _ in range(complex_.dim + 1)] for _ in range(cells)]
    for _ in range(4):
        x = inner_point(complex_, draw)
        total = sum(
            (-1) ** d * local_value(complex_, laws, d, i, x)
            for d, faces in enumerate(complex_.faces)
            for i in range(len(faces))
        )
        assert total == local_value_of_cell(complex_, laws, x)


def local_value_of_cell(complex_, laws, x):
    """The law of the cell that contains x."""
    n = complex_.dim
    owners = complex_.above(n - 1, n)
    for cell, members in enumerate(complex_.faces[n].members):
        rows = [normal(complex_, complex_.faces[n - 1].members[f]) for f, own in enumerate(owners) if cell in own]
        inside = [sum(value(row, complex_.generators[g]) for g in members) for row in rows]
        if all(value(row, x) * side >= 0 for row, side in zip(rows, inside, strict=True)):
            return value(laws[cell], x)
    raise AssertionError("no cell contains the point")


@pytest.mark.parametrize("name", EVERY)
def test_top_formula(name):
    """The coefficients c_F give a continuous p from the faces inside the domain alone."""
    complex_, draw = EVERY[name](), random.Random(5)
    heights = [draw.randint(-9, 9) for _ in complex_.generators]
    laws = continuous_laws(complex_, heights)
    coefficients = complex_.coefficients()
    for d, faces in enumerate(complex_.faces):
        assert not coefficients[d][faces.boundary].any()
    for _ in range(3):
        x = inner_point(complex_, draw)
        total = sum(
            int(c) * local_value(complex_, laws, d, i, x)
            for d, values in enumerate(coefficients)
            for i, c in enumerate(values)
            if c
        )
        assert total == local_value_of_cell(complex_, laws, x)


def continuous_laws(complex_, heights):
    """Laws that agree on common faces: interpolation on simplices; on other cells a convex function of the facets."""
    n = complex_.dim
    if all(len(cell) == n + 1 for cell in complex_.faces[n].members) and complex_.is_bounded:
        laws = []
        for cell in complex_.faces[n].members:
            matrix = fmpq_mat([[int(v) for v in complex_.generators[g]] for g in cell])
            right = fmpq_mat([[heights[g]] for g in cell])
            solution = matrix.solve(right)
            laws.append([Fraction(int(s.p), int(s.q)) for s in solution.entries()])
        return laws
    planes = {}
    for f in complex_.interior(n - 1):
        row = normal(complex_, complex_.faces[n - 1].members[f])
        lead = next(v for v in row if v)
        planes[tuple(Fraction(v, lead) for v in row)] = None
    laws = []
    for cell in complex_.faces[n].members:
        total = [Fraction(0)] * (n + 1)
        for k, row in enumerate(planes):
            if sum(value(row, complex_.generators[g]) for g in cell) > 0:
                total = [t + (k + 1) * v for t, v in zip(total, row, strict=True)]
        laws.append(total)
    return laws


@pytest.mark.parametrize("name", BOUNDED)
def test_incidence(name):
    """Which face contains which is what the vertex sets say."""
    complex_ = BOUNDED[name]()
    for d, e in itertools.combinations(range(complex_.dim + 1), 2):
        low, high = complex_.faces[d].members, complex_.faces[e].members
        expected = {(a, b) for a, f in enumerate(low) for b, g in enumerate(high) if set(f) < set(g)}
        assert {tuple(pair) for pair in complex_.pairs[d, e].tolist()} == expected


@pytest.mark.parametrize("name", UNBOUNDED)
def test_faces_are_all_intersections_of_facets(name):
    """Cell by cell: every intersection of facets is a face of its rank, and there is no other; numbers as they come."""
    complex_ = UNBOUNDED[name]()
    n, found = complex_.dim, [[] for _ in range(complex_.dim)]
    for cell in range(len(complex_.faces[n])):
        own = [
            f for f, cells in zip(complex_.faces[n - 1].members, complex_.above(n - 1, n), strict=True) if cell in cells
        ]
        meets = {frozenset(own[0])}
        for facet in own:
            meets |= {frozenset(facet), *(meet & frozenset(facet) for meet in meets)}
        for face in sorted(tuple(sorted(meet)) for meet in meets if meet):
            d = fmpz_mat([[int(v) for v in complex_.generators[g]] for g in face]).rank() - 1
            if face not in found[d]:
                found[d].append(face)
    assert [list(faces.members) for faces in complex_.faces[:-1]] == found
    for (d, e), pairs in complex_.pairs.items():
        low, high = complex_.faces[d].members, complex_.faces[e].members
        expected = [[a, b] for a, f in enumerate(low) for b, g in enumerate(high) if set(f) < set(g)]
        assert pairs.tolist() == expected


@pytest.mark.parametrize("name", BOUNDED)
def test_two_ways(name):
    """Simplices and the same pieces as half-spaces have the same faces, inside and in the boundary."""
    complex_ = BOUNDED[name]()
    points = np.array([row[:-1] for row in complex_.generators.tolist()])
    p = CPWL.from_simplices(points, np.array(complex_.faces[-1].members), np.zeros(len(points)))
    other, piece = complex_of(p.polyhedra)
    assert piece.tolist() == list(range(len(complex_.faces[-1])))

    def faces(c, d):
        rows = [tuple(Fraction(v, row[-1]) for v in row) for row in c.generators.tolist()]
        both = zip(c.faces[d].members, c.faces[d].boundary.tolist(), strict=True)
        return {(frozenset(rows[g] for g in m), b) for m, b in both}

    for d in range(complex_.dim + 1):
        assert faces(complex_, d) == faces(other, d)


def test_kuhn_counts():
    """A Kuhn grid has the faces that counting by hand gives: edges along 7 directions, 6 simplices a box."""
    m = 3
    grid = np.array(list(itertools.product(range(m + 1), repeat=3)))
    corners = np.column_stack([grid, np.ones(len(grid), dtype=int)]).astype(object)
    complex_ = from_simplices(corners, kuhn_simplices((m + 1,) * 3))
    edges = sum(m ** sum(u) * (m + 1) ** (3 - sum(u)) for u in itertools.product((0, 1), repeat=3) if any(u))
    assert [len(f) for f in complex_.faces][:2] == [(m + 1) ** 3, edges]
    assert len(complex_.faces[3]) == 6 * m**3
    assert len(complex_.interior(0)) == (m - 1) ** 3


def test_refined():
    """Pieces that do not meet face to face are cut along their neighbours' facets, and every cell knows its piece."""
    p = hanging()
    complex_, piece = complex_of(p.polyhedra)
    assert complex_.euler() == 1
    assert len(complex_.faces[-1]) > p.num_pieces
    assert set(piece.tolist()) == set(range(p.num_pieces))
    for cell, members in enumerate(complex_.faces[-1].members):
        body = p.polyhedra[int(piece[cell])].integer()
        for g in members:
            x = complex_.generators[g]
            assert all(value(row[:-1], x[:-1]) <= row[-1] * x[-1] for row in body)


def test_boxes_at_infinity():
    """Of 27 boxes around a cube only the cube's faces are bounded."""
    complex_ = boxes(3, 2)
    assert not complex_.is_bounded
    corners = [[[complex_.generators[g, -1] > 0 for g in own] for own in faces.members] for faces in complex_.faces]
    assert [sum(map(all, own)) for own in corners] == [8, 12, 6, 1]
    for faces, own in zip(complex_.faces, corners, strict=True):
        assert all(faces.boundary[i] or any(has) for i, has in enumerate(own))


def test_gap():
    """A facet inside the domain with nothing beyond it is refused with the piece's number."""
    pieces = Polyhedra.from_lists([[[1, 0], [0, 1], [0, -1]], [[-1, 0], [0, 1], [0, -1]]], [[0, 1, 0], [-1, 1, 0]])
    with pytest.raises(ConstructionError, match="piece 0 has a facet inside the domain"):
        complex_of(pieces)


def test_limit():
    """Refining stops at a limit and says so."""
    p = hanging()
    with pytest.raises(LimitError, match="do not meet face to face"):
        complex_of(p.polyhedra, limit=p.num_pieces)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_facets_overlap_as_linear_programs_say(n):
    """Random polyhedra on the two sides of a hyperplane, bounded or not, some of which only touch."""
    draw, probe, seen = random.Random(n), Probe(0.0), {True: 0, False: 0}
    row = (1, *(draw.choice([-2, -1, 1, 3]) for _ in range(n)))
    plane = ([-v for v in row[:-1]], row[-1])  # as ``a x <= b``
    for _ in range(300):
        sides = []
        for sign in (1, -1):
            normals = [[draw.randint(-2, 2) for _ in range(n)] for _ in range(n + 2)]
            A = [[sign * v for v in plane[0]], *(a for a in normals if any(a))]
            sides.append((A, [sign * plane[1], *(draw.randint(-1, 3) for _ in A[1:])]))
        try:
            (one,), (two,) = [complexes._cells(Polyhedra.from_lists([A], [b])) for A, b in sides]
        except ConstructionError:  # no interior, or a line
            continue
        other = tuple(-v for v in row)
        if row in one.facets and other in two.facets:
            rows = [row, *(h for h in (*one.facets, *two.facets) if h not in (row, other) and any(h[:-1]))]
            both = Polyhedron.from_rows([[-v for v in h[:-1]] for h in rows], [h[-1] for h in rows])
            expected = probe.interior(both, on=[0]) is not None
            assert complexes._overlap(one, two, row) == expected
            seen[expected] += 1
    assert min(seen.values()) >= 3
