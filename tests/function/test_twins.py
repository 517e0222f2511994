"""Pieces cut by whole hyperplanes are proved sound by their rows alone, and nothing unsound passes."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cpwl import CPWL
from cpwl.function.doctor.first_error import first_error, is_sound_by_twins
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.examine import examine
from shallow import random_shallow
from support.functions import abs_sum, five_pieces, three_piece_cut

small = st.integers(-3, 3)


def orthants(n, change=None, box=None, domain=None):
    """|x_1| + ... + |x_n| on its orthants, cut off by a box if one is given; `change` spoils pieces and laws."""
    pieces = []
    for signs in product((1, -1), repeat=n):
        A = [[-s if i == j else 0 for j in range(n)] for i, s in enumerate(signs)]
        b = [0] * n
        if box is not None:
            unit = np.eye(n, dtype=int).tolist()
            A, b = A + unit + [[-v for v in row] for row in unit], b + [box] * (2 * n)
        pieces.append([A, b, list(signs), 0])
    if change is not None:
        change(pieces)
    return CPWL.from_pieces(*map(list, zip(*pieces, strict=True)), domain=domain)


def test_orthants_are_sound():
    """Signs in all combinations, on all of space and in a box, with and without the domain asserted."""
    box = (np.concatenate([np.eye(2, dtype=int), -np.eye(2, dtype=int)]).tolist(), [5] * 4)
    assert is_sound_by_twins(orthants(3))
    assert is_sound_by_twins(orthants(2, box=5))
    assert is_sound_by_twins(orthants(2, box=5, domain=box))
    assert not is_sound_by_twins(orthants(2, box=4, domain=box))
    assert not is_sound_by_twins(orthants(2, domain=box))


@pytest.mark.parametrize(("n", "w"), [(3, 3), (6, 4), (20, 6)])
def test_independent_hyperplanes_are_sound(n, w):
    """The paper's functions: twins say what the examination facet by facet says."""
    p = random_shallow(n, w, seed=1)
    assert is_sound_by_twins(p)
    assert not examine(p, notes=False).findings
    assert first_error(p) is None


def jump(pieces):
    pieces[0][3] = Fraction(1, 10**30)


def bend(pieces):
    pieces[1][2] = [2, 1]


def gap(pieces):
    del pieces[2]


def twice(pieces):
    pieces.append([row.copy() if isinstance(row, list) else row for row in pieces[3]])


def overlap(pieces):
    pieces[0][0] = [[-1, 0]]
    pieces[0][1] = [0]


def flat(pieces):
    pieces[0][0] = [*pieces[0][0], [1, 0]]
    pieces[0][1] = [0, 0, 0]


@pytest.mark.parametrize("change", [jump, bend, gap, twice, overlap, flat])
def test_spoiled_pieces_do_not_pass(change):
    """A jump of 1e-30, another slope, a piece missing, doubled, too large or flat: the doctor says why."""
    p = orthants(2, change)
    assert not is_sound_by_twins(p)
    assert PieceDoctor(p).findings()


def test_all_pieces_doubled_do_not_pass():
    """Everything covered twice with rows that all have twins."""
    assert not is_sound_by_twins(orthants(2, lambda pieces: pieces.extend([list(piece) for piece in pieces])))


@pytest.mark.parametrize("p", [five_pieces(), three_piece_cut(), abs_sum(1)])
def test_no_answer_is_no_complaint(p):
    """Pieces without twins are examined as before."""
    is_sound_by_twins(p)
    assert first_error(p) is None


@given(st.lists(st.tuples(small, small, small).filter(lambda r: r[0] or r[1]), min_size=1, max_size=4), st.data())
def test_sound_means_that_the_doctor_finds_nothing(lines, data):
    """Cells of lines with all rows kept and random laws: what passes has no finding facet by facet."""
    signs = [s for s in product((1, -1), repeat=len(lines)) if data.draw(st.integers(0, 9)) or s[0] > 0]
    A = [[[s * a, s * b] for s, (a, b, _) in zip(sign, lines, strict=True)] for sign in signs]
    b = [[s * c for s, (_, _, c) in zip(sign, lines, strict=True)] for sign in signs]
    jumps = data.draw(st.lists(small, min_size=len(lines), max_size=len(lines)))
    cells = [list(zip(sign, lines, jumps, strict=True)) for sign in signs]
    laws = [np.sum([[-w * v * (s < 0) for v in r] for s, r, w in cell], axis=0) for cell in cells]
    offset = [-int(law[2]) for law in laws]
    if data.draw(st.booleans()) and offset:
        offset[-1] += 1
    assume(signs)
    p = CPWL.from_pieces(A, b, [[int(v) for v in law[:2]] for law in laws], offset)
    assert not is_sound_by_twins(p) or not PieceDoctor(p).findings()
