"""That float twins are what they say: near their function, deterministic, and redundant where they say more."""

import numpy as np
import pytest

from support.catalogue import function, names
from support.functions import abs_sum, delaunay
from support.rational_pieces import points_in_pieces
from support.twins import NOISES, VARIANTS, boxed, catalogue_twin, twin, with_outputs

EXACT = ["hat", "sum_norm", "half_plane", "pinwheel", "kuhn_space", "redundant_rows"]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", EXACT)
def test_points_inside_stay_inside(name, variant, noise):
    """Deep inside every piece the rows of its twin hold, and its law is within the noise of the exact one."""
    p, data = catalogue_twin(name, variant, noise)
    deep = {i: np.array(x, dtype=float) for i, x in points_in_pieces(p, 0, seed=0)}
    exact = p.laws.coefficients()
    for mine, theirs in enumerate(data.order):
        x = deep[theirs]
        assert (data.A[mine] @ x <= data.b[mine] + 1e-6).all()
        law = np.column_stack([data.gradient[mine], data.offset[mine]])
        assert (abs(law - exact[theirs]) <= 1e-16 * 10 + 10 * noise * (1 + abs(exact[theirs]).max())).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_seed_gives_the_same_bits(variant):
    """Twice the same arguments, and another seed."""
    options = {k: v for k, v in VARIANTS[variant].items() if k not in ("box", "outputs")}
    p = delaunay(2, 8, 0)
    once, again, other = twin(p, 1e-9, 3, **options), twin(p, 1e-9, 3, **options), twin(p, 1e-9, 4, **options)
    assert once.gradient.tobytes() == again.gradient.tobytes() != other.gradient.tobytes()
    assert all(np.array_equal(a, b) for a, b in zip(once.A, again.A, strict=True))


def test_without_noise_integers_stay_exact():
    """Integers are floats; thirds are not."""
    assert twin(abs_sum(3), repeat=True, shuffle=True, far=1e6).is_exactly(abs_sum(3))
    thirds = function("kuhn_rationals")
    assert not twin(thirds).is_exactly(thirds)


def test_far_rows_and_repeats_are_there():
    """Rows are added, all of them satisfied in the corners of a bounded piece."""
    p = function("kuhn_plane")
    data = twin(p, repeat=True, far=1e6)
    assert p.mesh is not None
    for i, corners in enumerate(p.mesh.points[p.mesh.simplices]):
        assert len(data.A[i]) == 3 + 1 + 2
        assert (corners @ data.A[i].T <= data.b[i] + 1e-9).all()


def test_column_major_arrays():
    """Fortran order, as files of other programs have it."""
    data = twin(abs_sum(3), column_major=True)
    assert all(a.flags.f_contiguous and not a.flags.c_contiguous for a in data.A)
    assert data.gradient.flags.f_contiguous


def test_boxed_is_bounded_and_the_same_function():
    """The box keeps every hyperplane, and values."""
    p = boxed(function("star_of_cones"))
    x = np.array([point for _, point in points_in_pieces(p, 3, seed=1)], dtype=object)
    assert (p(x) == function("star_of_cones")(x)).all()
    assert abs(x).max() <= 3


def test_outputs():
    """p, x_1 - p/3 and 0."""
    p = with_outputs(function("sum_norm"), 3)
    assert p([["3", "-3"]]).tolist() == [[6, 1, 0]]


def test_every_exact_case_has_a_twin():
    """All of the catalogue, the variant that does most."""
    for name in names(without="float"):
        p, data = catalogue_twin(name, "all", 1e-12)
        assert data.function().num_pieces == p.num_pieces
