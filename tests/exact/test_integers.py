"""Bulk integers."""

import numpy as np

from cpwl.exact.integers import primitive


def test_rows_of_one_number_keep_their_sign():
    """Primitive rows are positive multiples, also of one entry."""
    assert primitive(np.array([[-3], [5], [0]], dtype=object)).tolist() == [[-1], [1], [0]]
