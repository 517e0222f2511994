"""Sparse rational matrices agree with dense ones."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import coo_array, csr_array

from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import fraction_array
from cpwl.exact.sparse import RationalMatrix, block_diagonal, stack_rows

ENTRIES = st.one_of(st.just(Fraction(0)), st.fractions(min_value=-5, max_value=5, max_denominator=6))


@st.composite
def dense(draw, rows=None, columns=None):
    """A small rational array, possibly without rows or columns."""
    m = draw(st.integers(0, 4)) if rows is None else rows
    n = draw(st.integers(0, 4)) if columns is None else columns
    values = draw(st.lists(ENTRIES, min_size=m * n, max_size=m * n))
    array = np.full((m, n), Fraction(0), dtype=object)
    array.flat = values if values else 0
    return array


@st.composite
def factors(draw):
    """Two arrays that can be multiplied."""
    inner = draw(st.integers(0, 4))
    return draw(dense(columns=inner)), draw(dense(rows=inner))


def reference(a, b):
    """The product, written out."""
    rows, columns = a.shape[0], b.shape[1]
    terms = range(a.shape[1])
    product = np.full((rows, columns), Fraction(0), dtype=object)
    for i in range(rows):
        for j in range(columns):
            product[i, j] = sum((a[i, k] * b[k, j] for k in terms), Fraction(0))
    return product


def is_canonical(a):
    """Whether entries are nonzero and sorted by column within each row."""
    rows = [a.indices[i:j] for i, j in zip(a.indptr[:-1], a.indptr[1:], strict=True)]
    return all((np.diff(row) > 0).all() for row in rows) and all(v != 0 for v in a.data)


@given(dense())
def test_dense_round_trip(a):
    """A matrix gives back the entries it was made from, in canonical form."""
    matrix = RationalMatrix.from_dense(a)
    assert matrix.shape == a.shape
    assert is_canonical(matrix)
    assert (matrix.toarray() == a).all()


@given(factors())
def test_product_of_matrices(pair):
    """The sparse product is the dense product, in canonical form."""
    a, b = pair
    product = RationalMatrix.from_dense(a) @ RationalMatrix.from_dense(b)
    assert is_canonical(product)
    assert (product.toarray() == reference(a, b)).all()


@given(factors())
def test_product_with_array(pair):
    """The product with an array is the dense product, in fractions throughout."""
    a, b = pair
    product = RationalMatrix.from_dense(a) @ b
    assert (product == reference(a, b)).all()
    assert all(isinstance(v, Fraction) for v in product.flat)


@given(factors())
def test_product_with_vector(pair):
    """A vector is multiplied like the only column of an array."""
    a, b = pair
    for column in b.T:
        assert (RationalMatrix.from_dense(a) @ column == reference(a, column[:, None])[:, 0]).all()


@given(st.data())
def test_take_rows(data):
    """Rows are taken as in a dense array, repeats included."""
    a = data.draw(dense())
    index = data.draw(st.lists(st.integers(0, len(a) - 1), max_size=6)) if len(a) else []
    taken = RationalMatrix.from_dense(a).take_rows(index)
    assert taken.shape == (len(index), a.shape[1])
    assert (taken.toarray() == a[np.asarray(index, dtype=int)]).all()


@given(st.data())
def test_stack_rows(data):
    """Blocks are stacked as dense arrays are."""
    width = data.draw(st.integers(0, 4))
    blocks = data.draw(st.lists(dense(columns=width), min_size=1, max_size=3))
    stacked = stack_rows([RationalMatrix.from_dense(block) for block in blocks])
    assert (stacked.toarray() == np.concatenate(blocks)).all()


@given(st.lists(dense(), min_size=1, max_size=3))
def test_block_diagonal(blocks):
    """Each block sits at its place on the diagonal and everything else is zero."""
    whole = block_diagonal([RationalMatrix.from_dense(block) for block in blocks])
    rest, row, column = whole.toarray(), 0, 0
    for block in blocks:
        place = rest[row : row + block.shape[0], column : column + block.shape[1]]
        assert (place == block).all()
        place[...] = Fraction(0)
        row, column = row + block.shape[0], column + block.shape[1]
    assert whole.shape == (row, column)
    assert (rest == 0).all()


@given(dense())
def test_negation(a):
    """The negative has every entry negated."""
    assert ((-RationalMatrix.from_dense(a)).toarray() == -a).all()


def test_duplicates_add_up():
    """Values at the same place are added, and a sum of zero is dropped."""
    matrix = RationalMatrix.from_triples([1, 0, 1, 0], [0, 1, 0, 1], fraction_array(["1/3", 1, "2/3", -1]), (2, 2))
    assert (matrix.toarray() == np.array([[0, 0], [1, 0]])).all()
    assert len(matrix.data) == 1


def test_float_entries_are_exact():
    """A float matrix is taken at its exact value, duplicates and explicit zeros included."""
    given_ = coo_array(([0.1, 0.2, 0.0, 3.0], ([0, 0, 1, 1], [0, 0, 0, 1])), shape=(2, 2))
    matrix = RationalMatrix.from_float(given_)
    assert is_canonical(matrix)
    assert matrix.toarray()[0, 0] == Fraction(0.1 + 0.2)
    assert matrix.toarray()[1, 1] == 3


def test_from_float_leaves_its_argument_alone():
    """Reading an unsorted float matrix does not rearrange it."""
    unsorted = csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    RationalMatrix.from_float(unsorted)
    assert unsorted.indices.tolist() == [1, 0]


def test_float_view_drops_what_rounds_to_zero():
    """An entry below the smallest double is zero in the float view, not a stored zero."""
    view = RationalMatrix.from_dense([["1e-400", "1/3"]]).tofloat()
    assert view.nnz == 1
    assert view.toarray().tolist() == [[0.0, 1 / 3]]


def test_float_view_too_large():
    """A number beyond the doubles is our limit, said in one sentence."""
    with pytest.raises(LimitError, match="401 digits is too large for float64"):
        RationalMatrix.from_dense([["1e400"]]).tofloat()


def test_float_view_shares_no_arrays():
    """Changing the float view does not change the rationals."""
    matrix = RationalMatrix.from_dense([[1, 2]])
    matrix.tofloat().indices[:] = 0
    assert matrix.indices.tolist() == [0, 1]


def test_arrays_are_read_only():
    """A matrix is a value."""
    with pytest.raises(ValueError, match="read-only"):
        RationalMatrix.from_dense([[1]]).data[0] = 2


@pytest.mark.parametrize("other", [RationalMatrix.from_dense([[1, 2]]), np.array([1, 2, 3]), np.array(1)])
def test_wrong_shapes_do_not_multiply(other):
    """A product of shapes that do not fit is refused."""
    with pytest.raises(InputError, match="cannot multiply"):
        RationalMatrix.from_dense([[1, 2], [3, 4]]) @ other


@pytest.mark.parametrize(("row", "column"), [(2, 0), (0, 2), (-1, 0)])
def test_entries_outside_are_refused(row, column):
    """An index outside the shape is refused."""
    with pytest.raises(InputError, match="outside a matrix of shape"):
        RationalMatrix.from_triples([row], [column], [1], (2, 2))


def test_vectors_are_not_matrices():
    """A one-dimensional array is refused."""
    with pytest.raises(InputError, match="rows and columns"):
        RationalMatrix.from_dense([1, 2])


def test_unequal_blocks_do_not_stack():
    """Blocks of different widths are refused."""
    with pytest.raises(InputError, match="do not stack"):
        stack_rows([RationalMatrix.from_dense([[1]]), RationalMatrix.from_dense([[1, 2]])])
