"""Float twins of exact functions: doctor, values and merging say the same as for the exact function."""

import numpy as np
import pytest

from support.catalogue import names
from support.rational_pieces import points_in_pieces
from support.twins import DROWNED, NOISES, VARIANTS, catalogue_twin, every_twin, is_torn

# Features below the noise or the tolerance, so that their twins are other functions.
FINE = {"mixed_scales", "nearly_parallel", "nearly_parallel_cuts", "huge_table", "steep_step", "tiny_breakpoints"}
SOUND = [name for name in names(without="float") if name not in FINE]
FEW = ["hat", "sum_norm", "half_plane", "pinwheel", "kuhn_space", "redundant_rows", "one_direction_in_space"]
FAST = ["plain", "far 1e9", "three outputs", "all"]


def agree(name, variant, noise):
    """Doctor, values and merged pieces of a twin against those of the exact function."""
    p, data = catalogue_twin(name, variant, noise)
    twin = data.function()
    report = twin.doctor()
    if not report.healthy and is_torn(twin):
        return
    assert report.healthy == p.doctor().healthy, str(report)
    x = np.array([[float(v) for v in point] for _, point in points_in_pieces(p, 1, seed=0)])
    exact = p(x)
    inside = np.isfinite(exact).all(axis=1)
    steep = np.abs(p.laws.gradient).max(initial=0.0) * np.abs(x).max(initial=0.0)  # noise in slopes, far away
    slack = (1e-9 + 1e3 * noise) * max(1.0, np.abs(exact[inside]).max(initial=0.0)) + 1e2 * noise * steep
    merged = twin.merge()
    for values in (twin(x), merged(x)):
        assert (np.abs(values - exact)[inside] <= slack).all()
    assert merged.num_pieces >= p.merge().num_pieces


@pytest.mark.one_in(6)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("variant", FAST)
@pytest.mark.parametrize("name", FEW)
def test_a_twin_is_as_healthy_as_the_function(name, variant, noise):
    """The usual cases."""
    agree(name, variant, noise)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "noise"), every_twin(SOUND, VARIANTS))
def test_every_twin_is_as_healthy_as_its_function(name, variant, noise):
    """All of the catalogue that is small enough."""
    if (name, variant) in DROWNED:
        pytest.skip("noise in the zeros is larger than the numbers beside them")
    p, _ = catalogue_twin(name, variant, noise)
    if p.num_pieces > 40 or p.dim > 3:
        pytest.skip("too large for a doctor of float pieces in a few seconds")
    agree(name, variant, noise)
