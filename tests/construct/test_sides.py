"""Sides of hyperplanes: the oracle is the rows and corners of the pieces, looked at one by one."""

from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.construct.blocks import hinges as blocks
from cpwl.construct.blocks.hinges import sides
from cpwl.geometry.probe import Probe


def largest_of(laws):
    """The maximum of affine functions, each the largest on a piece, as far as that has an interior."""
    others = [np.delete(laws, i, axis=0) - law for i, law in enumerate(laws)]
    return CPWL.from_pieces([r[:, :-1] for r in others], [-r[:, -1] for r in others], laws[:, :-1], laws[:, -1])


def largest(p, i, form):
    """The largest value of a form on a piece, by an exact linear program of its own."""
    return Probe(0.0).maximum(p.polyhedra[i], form[:-1])[0] + form[-1]


@pytest.mark.parametrize(("n", "affine"), [(2, 6), (3, 6), (7, 9)])
def test_sides_are_those_of_linear_programs(n, affine):
    """Each form of a maximum's facets, and some that cut: one side for every piece, or a piece with points on both."""
    rng = np.random.default_rng(n)
    laws = rng.integers(-5, 6, (affine, n + 1))
    p = largest_of(laws)
    forms = np.array([*(laws[i] - laws[0] for i in range(1, affine)), *laws[:2]], dtype=object)
    for form, side in zip(forms, sides(p, forms), strict=True):
        if isinstance(side, int):
            assert largest(p, side, form) > 0
            assert largest(p, side, -form) > 0
        else:
            assert all(largest(p, i, -s * form) <= 0 for i, s in enumerate(side))


def test_one_hyperplane_that_cuts_a_piece_is_enough(monkeypatch):
    """Nobody asks about the others: pieces in ten dimensions take exact linear programs each."""
    rng = np.random.default_rng(0)
    laws = rng.integers(-9, 10, (14, 11))
    p = largest_of(laws)
    asked = []

    class Counting(Probe):
        def maximum(self, polyhedron, objective):
            asked.append(1)
            return super().maximum(polyhedron, objective)

    monkeypatch.setattr(blocks, "Probe", Counting)
    forms = np.array([laws[i] - laws[j] for i in range(4) for j in range(i)], dtype=object)
    found = list(sides(p, forms))
    assert all(isinstance(side, int) for side in found)
    assert len(asked) <= 4 * len(forms)


def test_a_table_is_decided_by_its_corners():
    """Diagonals and edges of a grid, of which the grid's lines cut nothing, and a line with another slope does."""
    values = [[Fraction(i * j, 3) for j in range(4)] for i in range(4)]
    p = CPWL.from_grid([range(4), range(4)], values)
    forms = np.array([[1, 0, -1], [1, -1, 0], [2, -1, 0]], dtype=object)
    one, two, three = sides(p, forms)
    centres = np.array([p.mesh.points[s].mean(axis=0) for s in p.mesh.simplices])
    assert (np.sign(centres[:, 0] - 1) == one).all()
    assert (np.sign(centres[:, 0] - centres[:, 1]) == two).all()
    assert isinstance(three, int)
