"""Bulk integers."""

from itertools import combinations

import numpy as np
import pytest

from cpwl.exact.integers import determinant, maximal_minors, primitive


def test_rows_of_one_number_keep_their_sign():
    """Primitive rows are positive multiples, also of one entry."""
    assert primitive(np.array([[-3], [5], [0]], dtype=object)).tolist() == [[-1], [1], [0]]


@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (2, 5), (3, 5), (4, 5), (4, 4)])
def test_minors_are_determinants(rows, columns):
    """Expansion row after row gives what elimination gives for each choice of columns, in their order."""
    draw = np.random.default_rng(rows)
    matrices = draw.integers(-9, 10, (20, rows, columns)).astype(object) ** 9
    each = [determinant(matrices[:, :, list(some)]) for some in combinations(range(columns), rows)]
    assert (maximal_minors(matrices) == np.stack(each, axis=1)).all()
