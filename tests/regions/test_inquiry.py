"""Networks asked part by part: the same answers as of the extracted function, whatever is held at once."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from cpwl import CPWL, InputError, LimitError, Network, ask, compile, extract
from cpwl.exact.rational import fraction_array
from cpwl.function.questions.sets import image


def network(sizes, seed, kind=int):
    rng = np.random.default_rng(seed)
    draw = (lambda *s: fraction_array(rng.integers(-3, 4, s))) if kind is int else (lambda *s: rng.normal(size=s))
    return Network([(draw(b, a), draw(b)) for a, b in pairwise(sizes)])


CASES = [
    ([1, 4, 3, 1], int, 3),
    ([2, 4, 3, 1], int, 7),
    pytest.param([3, 4, 1], int, 13, marks=pytest.mark.slow),
    ([2, 5, 1], float, 12),
]


@pytest.mark.parametrize(("sizes", "kind", "at_once"), CASES)
def test_parts_answer_as_the_whole(sizes, kind, at_once):
    """Range, Lipschitz constants, slopes, bends, integral: of the whole function, and of parts of a few regions."""
    net = network(sizes, 1, kind)
    p = extract(net, box=(-2, 3), exact=True)
    asked, itself = ask(net, box=(-2, 3), at_once=at_once), ask(p)
    found, whole = asked.range(), p.range()
    assert (found.low, found.high) == (whole.low, whole.high) == (itself.range().low, itself.range().high)
    assert found.argmax.complete
    assert net(found.argmax.point[None])[0, 0] == found.high
    for norm in (1, 2, "inf"):
        assert asked.lipschitz(norm).high == p.lipschitz(norm).high
    assert bool(asked.is_convex()) == bool(p.is_convex()) == bool(itself.is_convex())
    assert bool(asked.is_concave()) == bool(p.is_concave())
    for i in range(net.inputs):
        for increasing in (None, True, False):
            answer = asked.is_monotone(i, increasing=increasing).holds
            assert answer == p.is_monotone(i, increasing=increasing).holds
            assert answer == itself.is_monotone(i, increasing=increasing).holds
        assert bool(asked.depends_on(i)) == bool(p.depends_on(i)) == bool(itself.depends_on(i))
    assert asked.mean() == p.mean() == itself.mean()
    if kind is int:
        level = whole.high - Fraction(1, 3)
        corners = {tuple(x) for face in asked.solve(level).faces for x in face.points}
        assert corners >= {tuple(x) for face in p.solve(level).faces for x in face.points}
        assert all(net(np.array([x]))[0, 0] == level for x in corners)


def test_monotone_in_either_direction():
    """A falling function is monotone, and so is its network; where one portion rises and another falls, neither is."""
    falling = CPWL.from_breakpoints([0, 1], [0, -1])
    peak = CPWL.from_breakpoints([0], [0], left_slope=1, right_slope=-1)
    for p, holds in ((falling, True), (peak, False)):
        for subject in (p, compile(p).network):
            answer = ask(subject, box=(-4, 4), at_once=1).is_monotone(0)
            assert answer.holds is holds is p.is_monotone(0).holds
            assert len(answer.points) == (0 if holds else 4)


def test_a_function_is_asked_without_a_checkpoint(tmp_path):
    """There is nothing to go on with."""
    with pytest.raises(InputError, match="is for networks"):
        ask(CPWL.from_breakpoints([0, 1], [0, -1]), checkpoint=tmp_path)


@pytest.mark.parametrize("at_once", [2, 100])
def test_a_convex_network_on_all_of_space(at_once):
    """|x| + |y - 1| through four neurons: no domain, no bound above."""
    net = Network([([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, -1, 1]), ([[1, 1, 1, 1]], ["0"])])
    asked = ask(net, at_once=at_once)
    assert asked.is_convex()
    assert asked.argmin().value == 0
    assert asked.argmin().point.tolist() == [0, 1]
    assert asked.argmax().value == np.inf
    assert not asked.is_concave()


def test_bends_on_the_cut_are_seen():
    """A concave bend exactly where the domain is halved."""
    net = Network([([[1, 0], [0, 1], [0, 1]], [0, -1, 1]), ([[-1, 1, 1]], ["0"])])
    for at_once in (1, 2, 3):
        answer = ask(net, box=(-1, 1), at_once=at_once).is_convex()
        assert answer.holds is False
        left, middle, right = (net(x[None])[0, 0] for x in answer.points)
        assert 2 * middle > left + right


def test_limits_leave_questions_undecided():
    """Too few regions allowed: a yes is undecided, values are marked, and an integral is refused."""
    net = network([2, 6, 5, 1], 3)
    asked = ask(net, box=(-2, 3), max_regions=6, at_once=2)
    assert not asked.argmax().complete
    assert asked.argmax().value <= ask(net, box=(-2, 3)).argmax().value
    assert not asked.lipschitz("inf").complete
    assert "undecided" in str(asked.argmax())
    with pytest.raises(LimitError, match="max_regions"):
        asked.integral()
    absolute = Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])])
    assert ask(absolute, box=(-1, 1), max_regions=1, at_once=1).is_convex().holds is None
    assert ask(absolute, box=(-1, 1), max_regions=1, at_once=1).is_concave().holds is not True


def test_values_inside_a_set():
    """The image of a box lies in the exact range and in nothing smaller."""
    net = network([2, 5, 2], 5)
    asked = ask(net, box=(-1, 1), at_once=3)
    ranges = [asked.range(output=j) for j in range(2)]
    low, high = [r.low for r in ranges], [r.high for r in ranges]
    assert asked.inside(box=([v - 1 for v in low], high))
    answer = asked.inside(box=([v - 1 for v in low], [high[0], high[1] - Fraction(1, 10**20)]))
    assert answer.holds is False
    assert (net(answer.points[0][None])[0] == answer.values[0]).all()


def test_many_inputs_are_walked():
    """Ten inputs: regions are walked through."""
    net = network([10, 3, 1], 2)
    found = ask(net, box=(-1, 1)).argmax()
    assert found.complete
    assert net(found.point[None])[0, 0] == found.value
    x = np.random.default_rng(0).uniform(-1, 1, (500, 10))
    assert net(x).max() <= float(found.value)


def test_what_is_refused():
    """Several outputs must be told apart, and a function is asked by its methods."""
    with pytest.raises(InputError, match="outputs"):
        ask(network([2, 3, 2], 0), box=(0, 1)).argmax()
    with pytest.raises(InputError):
        ask("model.onnx")


def test_a_flat_set_of_values_and_switches_that_are_none():
    """A constant is inside a box that is one number; a sense that is neither True nor False is refused."""
    p = CPWL.from_grid([[0, 1, 2]], [0, 2, 0])
    flat = 0 * p + 3
    for asked in (ask(flat), image(flat)):
        assert asked.inside(box=(3, 3))
        assert not asked.inside(box=(2, 2))
        with pytest.raises(InputError, match="is empty"):
            asked.inside(box=(4, 3))
    for question in (p.is_monotone, ask(p).is_monotone):
        with pytest.raises(InputError, match="increasing"):
            question(0, increasing="yes")
    with pytest.raises(InputError, match="above"):
        p.level_set(1, above="no")
