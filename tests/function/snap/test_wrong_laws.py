"""Data with a few wrong laws: everything else is kept."""

from dataclasses import replace

import numpy as np
import pytest

from cpwl import CPWL
from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.snap.complex import contacts_of, float_complex
from support.networks import regions, small_regions
from support.twins import twin


def around(p, i):
    """A piece and those beside it, but for unbounded ones."""
    complex_ = float_complex(p.polyhedra, 1e-9)
    inner = [j for j in complex_.solid if complex_.box is None or not complex_.on[j][:, -2 * p.dim :].any()]
    return [i, *sorted({c.other for c in contacts_of(complex_) if c.piece == i and c.other in inner})]


def planted(p, which, jump, noise=1e-13, rows=0.0, tol=1e-6):
    """A float twin of `p` with the laws of some pieces off by `jump`, and their rows by `rows`."""
    rng, data = np.random.default_rng(0), twin(p, noise, 0)
    A, b, gradient, offset = list(data.A), list(data.b), data.gradient.copy(), data.offset.copy()
    for i in which:
        offset[i] += jump * (1 + rng.random(offset[i].shape))
        A[i] = A[i] + rows * rng.standard_normal(A[i].shape)
    return CPWL.from_pieces(A, b, gradient, offset, domain=data.domain, tol=tol)


def samples(p):
    """Points of the domain, as many in one piece as in any other."""
    complex_, rng = float_complex(p.polyhedra, 1e-9), np.random.default_rng(1)
    share = [rng.dirichlet(np.ones(len(complex_.own[i])), 4) for i in complex_.solid]
    points = [part @ complex_.vertices[complex_.own[i]] for i, part in zip(complex_.solid, share, strict=True)]
    return np.repeat(complex_.solid, 4), np.concatenate(points)


WRONG = {
    "plane": (regions, (2, (7, 5), 1, 0, 2.0), 12),
    "plane, two outputs": (regions, (2, (7, 5), 2, 0, 2.0), 20),
    "space, small numbers": (small_regions, (3, (4, 4), 1, 1, 1), 6),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sorted(WRONG))
def test_laws_that_others_contradict_are_mended(name):
    """A piece and all beside it have wrong laws: the truth comes back, everywhere, with as many laws."""
    make, arguments, i = WRONG[name]
    p = make(*arguments)
    found = planted(p, around(p, i), 1e-8).snap(1e-6)
    assert found.way == "laws", found.reason
    assert found.function.num_components == p.num_components
    x = samples(p)[1]
    assert np.abs(found.function(x) - p(x)).max() < 1e-10 * (1 + np.abs(p(x)).max())
    assert 1e-10 < found.moved.value < 1e-6
    assert found.moved.facet < 1e-8
    assert not any(f.severity == "error" for f in PieceDoctor(replace(found.function, mesh=None)).findings())


@pytest.mark.parametrize(
    "arguments",
    [(2, (5, 4, 3), 1, 3), (2, (5, 4), 2, 3), (3, (4, 3), 1, 2, 2.0)],
    ids=["plane", "two outputs", "space"],
)
def test_wrong_laws_are_no_reason_to_cut_anything_up(arguments):
    """Where the truth is not told by others: no law more, and no farther from it than the laws were wrong."""
    p = regions(*arguments)
    found = planted(p, around(p, 8), 1e-8).snap(1e-6)
    assert found.function is not None, found.reason
    assert found.function.num_components == p.num_components
    x = samples(p)[1]
    assert np.abs(found.function(x) - p(x)).max() < 1e-7 * (1 + np.abs(p(x)).max())


def test_rows_of_one_piece_that_are_off_do_not_count():
    """One piece of many has rows off by 1e-8, and all others by 1e-13: corners are still one."""
    p = regions(2, (7, 5), 1, 0, 2.0)
    found = planted(p, [12], 0, rows=1e-8).snap(1e-6)
    assert found.way == "laws", found.reason
    assert found.function.num_components == p.num_components
    x = samples(p)[1]
    assert np.abs(found.function(x) - p(x)).max() < 1e-10 * (1 + np.abs(p(x)).max())
