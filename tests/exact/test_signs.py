"""Signs of scalar products, floats first: whatever the sizes, they are those of the integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cpwl.exact.integers import sides, sign, signs_at

number = st.one_of(
    st.integers(-3, 3),
    st.builds(
        lambda a, e, b: a * 10**e + b, st.integers(-3, 3), st.sampled_from([17, 40, 200, 320]), st.integers(-2, 2)
    ),
)


@given(st.data())
def test_signs_are_those_of_integers(data):
    """Numbers of a few hundred digits that nearly cancel, and products that underflow, have their exact signs."""
    n = data.draw(st.integers(1, 4))
    rows, places = (
        np.array(data.draw(st.lists(st.tuples(*[number] * n), min_size=1, max_size=4)), dtype=object) for _ in range(2)
    )
    exact = sign(rows.dot(places.T))
    assert (signs_at(rows, places) == exact).all()
    walls = np.column_stack([rows[:, :-1], -rows[:, -1:]])
    row, place = (index.ravel() for index in np.indices(exact.shape))
    assert (sides(walls, places, row, place) == exact.ravel()).all()


def test_products_that_underflow_are_decided_by_integers():
    """Terms below the smallest float say nothing in floats, and still have a sign."""
    tiny = 10**170
    rows = np.array([[1, -1, tiny]], dtype=object)
    places = np.array([[1, 2, 0], [2, 1, 0], [tiny, 0, -1]], dtype=object)
    assert signs_at(rows, places).tolist() == [[-1, 1, 0]]
