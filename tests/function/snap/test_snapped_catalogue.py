"""Float twins of the catalogue: exactly consistent and near, or refused in a sentence."""

from dataclasses import replace

import numpy as np
import pytest

from cpwl.function.doctor.on_pieces import PieceDoctor
from cpwl.function.flags import consistency
from support.catalogue import function, names
from support.rational_pieces import points_in_pieces
from support.twins import DROWNED, NOISES, catalogue_twin, every_twin

# Features below the noise or the tolerance, so that their twins are other functions.
FINE = {"mixed_scales", "nearly_parallel", "nearly_parallel_cuts", "huge_table"}
FEW = ["sum_norm", "pinwheel", "kuhn_space", "one_direction_in_space", "table_cut_up"]
USUAL = ["plain", "boxed", "shuffled", "repeated", "far 1e6", "two outputs", "all"]
SMALL = [
    n for n in names(without="float") if n not in FINE and 2 <= function(n).dim <= 3 and function(n).num_pieces < 60
]


def snaps(name, variant, noise):
    """What snapping makes of a twin: a sound function near the exact one, or a reason."""
    p, data = catalogue_twin(name, variant, noise)
    found = data.function().snap(data.tol)
    q = found.function
    if q is None:
        assert len(found.reason) > 20
        return False
    decided = consistency(q).consistent
    if decided is None:
        decided = not any(f.severity == "error" for f in PieceDoctor(replace(q, mesh=None)).findings())
    assert decided
    x = np.array([[float(v) for v in point] for _, point in points_in_pieces(p, 1, 0)])
    x = x[np.abs(x).max(axis=1) < 1e3]
    exact, made = p(x), q(x)
    both = ~np.isnan(exact) & ~np.isnan(made)
    size = max(1.0, np.abs(exact[both]).max(initial=0.0))
    noisy = noise * np.abs(p.laws.gradient).max(initial=0.0) * np.abs(x).max(initial=0.0)  # of slopes, far away
    assert (np.abs(made - exact)[both] <= 1e3 * (data.tol * size + noisy)).all()
    return True


@pytest.mark.one_in(4)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("variant", ["plain", "boxed", "all"])
@pytest.mark.parametrize("name", FEW)
def test_twins_of_a_few_are_snapped(name, variant, noise):
    """The usual cases come back, bounded and not, with rows shuffled, repeated and far out, with two outputs."""
    assert snaps(name, variant, noise)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "noise"), every_twin(SMALL, USUAL))
def test_every_twin_is_snapped_or_refused(name, variant, noise):
    """Nothing that is offered is inconsistent, or far from the function that the twin was made of."""
    if (name, variant) in DROWNED:
        pytest.skip("noise in the zeros is larger than the numbers beside them")
    snaps(name, variant, noise)
