"""Proposals for `compile(within=...)`: smaller functions and networks that floats see within a tolerance.

Every source is a function ``(p, tolerance, task) -> Iterator[Proposal]``. It proposes functions or networks with fewer
neurons than the best one so far, the smallest first. A proposal proves nothing: it counts once its distance is computed
exactly. A source that is asked for another one finds in ``task.missed`` where the last one was too far off.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cpwl.construct.analysis import Analysis
from cpwl.construct.lattice.plan import shared_lattice
from cpwl.construct.lattice.sides import relaxed
from cpwl.construct.parts import Fold, folds
from cpwl.errors import ConstructionError, InputError, LimitError, SolverError
from cpwl.function import CPWL, coarser
from cpwl.function.algebra.arithmetic import exactly
from cpwl.function.coarser import Proposal
from cpwl.geometry.linear_program import LinearProgram
from cpwl.network import Network
from cpwl.network.network import assemble, exact_layers
from cpwl.training import SAFE, Effort, Goals, Layers, balanced, errors, fewer, polish, train, with_short_numbers


@dataclass(slots=True, eq=False)
class Task:
    """The best network so far, where the last proposals were too far off, whether time does not matter, and how to
    build the network of a function."""

    best: Network
    missed: list[Sequence[Fraction | float]]
    patient: bool
    build: Callable[[CPWL], Network]

    @property
    def most(self) -> int:
        """The neurons that are to be undercut."""
        return self.best.sizes.neurons


Source = Callable[[CPWL, Sequence[Fraction], Task], Iterator[Proposal[CPWL] | Proposal[Network]]]

_FACTORS = (3, 2, Fraction(3, 2), Fraction(5, 4), 1)
"""Times the tolerance, for tables of components: a formula stays nearer than they promise, often by half."""
_BITS = 20, 32  # of the weights of a formula on a bounded domain
_NEARLY = 1 + 1e-6  # times the tolerance, for rounding
_COMPARISONS = 2_000_000  # pieces times components: beyond, a formula takes minutes to find


def coarse(p: CPWL, tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[CPWL]]:
    """Functions with fewer pieces (`cpwl.function.coarser`): the tunnel, or even grids in order of their networks."""
    yield from coarser.propose(p, tolerance, _grid_neurons, task.most)


def uneven(p: CPWL, tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[Network]]:
    """Even grids behind a layer that stretches the axes: a neuron for each change of a step, and one for each axis."""
    for one in coarser.uneven(p, tolerance, _grid_neurons, task.most):
        assert one.axes is not None
        assert one.steps is not None
        yield Proposal(one.name, task.build(one.steps) @ _counted_in_steps(one.axes))


def _counted_in_steps(axes: coarser.Axes) -> Network:
    """The network that maps each coordinate to the number of intervals before it."""
    rows, ends, jumps = [], [], []
    for k, axis in enumerate(axes):
        slope = Fraction(0)
        for i in (0, *coarser.breaks_of(axis)):
            rows.append([Fraction(j == k) for j in range(len(axes))])
            ends.append(-axis[i])
            jumps.append([Fraction(0)] * len(axes))
            jumps[-1][k] = 1 / (axis[i + 1] - axis[i]) - slope
            slope = 1 / (axis[i + 1] - axis[i])
    return Network([(rows, ends), (np.array(jumps, dtype=object).T, [Fraction(0)] * len(axes))])


def _grid_neurons(shape: tuple[int, ...], breaks: tuple[int, ...]) -> float:
    """About how many neurons the function on a grid of this shape takes, or a path of so many links; `breaks` are
    changes of the step."""
    n = len(shape)
    if n == 1:
        return 0
    planes = (
        sum(shape) - n + (sum(breaks) + n) * any(breaks) + sum(a + b - 1 for a, b in itertools.combinations(shape, 2))
    )
    columns = math.prod(shape) - math.prod(k - 1 for k in shape)
    return planes + (min(shape) + 2 - 2 * (min(shape) == 1) if n == 2 else 2 * columns / 3)


def formulas(p: CPWL, tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[Network]]:
    """Maxima and minima of some of the components, found with a tolerance (`relaxed`): of the function, and of a part
    behind a fold, which makes no error larger (each output of a fold changes by at most what that of the part does)."""
    whole = exactly(p)
    if whole.num_pieces * whole.num_components > _COMPARISONS:
        return
    found = list(_formulas(whole, tolerance, task.most, lambda network: network))
    for fold in _folds(whole):
        found += _formulas(fold.function, tolerance, task.most, fold.network)
    limit = np.array([float(e) for e in tolerance])
    sample = Goals.of(p, _POINTS, limit)  # corners of pieces are not enough: formulas bend inside of them
    for network in sorted(found, key=lambda network: network.sizes.neurons):
        if network.sizes.neurons >= task.most:
            return
        if sample is None:
            points, values = coarser.corners_of(whole)
            if (np.abs(network(points) - values) <= limit * _NEARLY).all():
                yield Proposal("formula", network)
            continue
        # On a bounded domain short numbers cost little, and make distances and proofs several times as fast.
        short = (with_short_numbers(network.layers, bits) for bits in _BITS)
        shown = next((one for one in (*short, network) if _seen_within(one, p, sample)), None)
        if shown is not None:
            yield Proposal("formula", shown)


def _seen_within(network: Network, p: CPWL, sample: Goals) -> bool:
    """Whether no point of a sample, and none found by climbing from there, shows the network too far off."""
    layers = sample.layers(network)
    if errors(layers, sample.place, sample.goal).max() > _NEARLY:
        return False
    return _climbed(p, sample, layers, _NEARLY) is None


def _formulas(
    p: CPWL, tolerance: Sequence[Fraction], most: int, whole: Callable[[Network], Network]
) -> Iterator[Network]:
    """The networks of all tables of components, until one is too large; `whole` makes them networks of all inputs."""
    analysis, known = Analysis(p), set[bytes]()
    for factor in _FACTORS:
        orders = relaxed(analysis, [e * factor for e in tolerance])
        if orders is None:
            return
        key = b"".join(np.packbits(table).tobytes() for order in orders for table in (order.above, order.below))
        if key in known:
            continue
        known.add(key)
        try:
            network = whole(shared_lattice(analysis, orders).network)
        except (ConstructionError, InputError, LimitError):
            continue
        yield network
        if network.sizes.neurons >= most:  # a smaller tolerance makes a larger network
            return


def _folds(p: CPWL) -> tuple[Fold, ...]:
    try:
        return folds(p)
    except ConstructionError:
        return ()


# Fitted networks: at first hinges, or what torch has trained; then neurons are taken out one after the other.

_POINTS = 20_000
_WORK = 250.0  # see `Effort`: some seconds
_PATIENT = 8.0  # times that
_CLIMBS = 20  # times that a network is fitted again where it was seen to be too far off, before it is proposed
_NEAR = (0.05, 2000, 4), (0.02, 500, 8), (0.007, 200, 16), (0.0025, 200, 16)
"""How far around, as a share of the box, of how many points with the largest errors, and how many around each."""
_ASKED = 5  # networks of one size: each is nearer where the one before was too far off; then with more neurons
_INPUTS = 3  # networks of more inputs have so many regions that their exact distance takes minutes
_WEIGHTS = 600  # networks with more take minutes


def shrunk(p: CPWL, tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[Network]]:
    """The best network so far with neurons taken out (`fewer`)."""
    sample = _sample(p, tolerance)
    if sample is not None:
        yield from _without_some(p, sample, sample.layers(task.best), "shrunk", task)


def _sample(p: CPWL, tolerance: Sequence[Fraction], inputs: int = _INPUTS) -> Goals | None:
    return None if p.dim == 1 or p.dim > inputs else Goals.of(p, _POINTS, np.array([float(e) for e in tolerance]))


def _without_some(p: CPWL, sample: Goals, layers: Layers, name: str, task: Task) -> Iterator[Proposal[Network]]:
    """A network without some of its neurons; then again with what was missed."""
    work = Effort(_WORK * (_PATIENT if task.patient else 1))
    if sum(np.count_nonzero(weight) for weight, _ in layers) > _WEIGHTS * (2 if task.patient else 1):
        return
    stages, start = fewer(layers, sample, work), len(task.missed)
    for turn in range(2 * _ASKED):
        if turn == _ASKED and len(stages) > 1:
            stages.pop()  # it stays too far off between points; the one before has more neurons
        for _ in range(_CLIMBS if stages else 0):
            error = errors(stages[-1], sample.place, sample.goal)
            if error.max() > SAFE:
                used = np.union1d(np.argsort(-error)[:1000], np.arange(0, len(error), len(error) // 2000 + 1))
                again, far = polish(stages[-1], sample.place[used], sample.goal[used], Effort(_WORK / 8))
                stages[-1:] = [again] if far <= SAFE else []
            elif (more := _climbed(p, sample, stages[-1])) is not None:
                sample = more
            else:
                break
            if not stages:
                return
        if not stages or sum(len(bias) for _, bias in stages[-1][:-1]) >= task.most:
            return
        yield Proposal(name, sample.network(stages[-1]))
        if len(task.missed) == start:
            return
        points = np.array([[float(v) for v in x] for x in task.missed[start:]])
        sample, start = sample.plus(p, np.clip(points, sample.low, sample.high)), len(task.missed)


def _climbed(p: CPWL, sample: Goals, layers: Layers, limit: float = SAFE) -> Goals | None:
    """With points where the network is too far off, found by chance near those where it is farthest off; None if there
    are none."""
    chance, seen, size = np.random.default_rng(len(sample.points)), sample, len(sample.points)
    for radius, count, each in _NEAR:
        top = np.argsort(-errors(layers, seen.place, seen.goal))[:count]
        near = seen.points[np.repeat(top, each)]
        step = radius * (sample.high - sample.low) * chance.normal(size=near.shape)
        seen = seen.plus(p, np.clip(near + step, sample.low, sample.high))
    far = np.flatnonzero(errors(layers, seen.place, seen.goal) > limit)
    if not len(far[far >= size]):
        return None
    kept = np.concatenate([np.arange(size), far[far >= size]])
    return replace(sample, points=seen.points[kept], values=seen.values[kept])


def hinges(p: CPWL, tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[Network]]:
    """Networks with one hidden layer: few of many hinges, by linear programs that make a weighted sum of their weights
    small (reweighted l1), then with fewer neurons (`fewer`)."""
    sample = _sample(p, tolerance)
    if sample is None:
        return
    for room in _ROOMS:
        layers = _sparse(sample, task.most, room)
        if layers is not None:
            yield from _without_some(p, sample, layers, "hinges", task)


_ROOMS = (0.95, 0.75)  # of the tolerance, for programs that see few points
_ROUNDS = 3  # of weighing
_SEEN = 300  # points of a program at first


def _sparse(sample: Goals, most: int, room: float) -> Layers | None:
    """Few hinges and an affine function within the tolerance at the sample; None if there are too many."""
    x, goal = sample.place, sample.goal
    normals, offsets = _dictionary(x.shape[1])
    rows = np.column_stack([np.maximum(x @ normals.T - offsets, 0), x, np.ones(len(x))])
    seen = np.random.default_rng(3).permutation(len(x))[:_SEEN]
    fit = np.linalg.lstsq(rows[seen], goal[seen], rcond=None)[0]
    if np.abs(rows[seen] @ fit - goal[seen]).max() > 3:
        return None
    count, weigh, found = len(offsets), np.ones(len(offsets)), np.zeros((rows.shape[1], goal.shape[1]))
    for turn in range(_ROUNDS):
        for _ in range(3):
            for j in range(goal.shape[1]):
                one = _lightest(rows[seen], goal[seen, j], weigh, room)
                if one is None:
                    return None
                found[:, j] = one
            off = np.abs(rows @ found - goal).max(axis=1)
            if turn or off.max() <= 1:
                break
            seen = np.union1d(seen, np.argsort(-off)[:100])
        seen = np.union1d(seen, np.argsort(-off)[:50])
        size = np.abs(found[:count]).max(axis=1)
        if size.any():
            weigh = 1 / (size + 1e-3 * size.max())
        if np.count_nonzero(size > 1e-7) > 3 * most:
            return None
    kept = np.flatnonzero(size > 1e-7)
    # The affine part is that of neurons that are always on: one for each output, or one for each input.
    lift, back = found[count:-1].T, np.eye(goal.shape[1])
    if len(lift) > x.shape[1]:
        lift, back = np.eye(x.shape[1]), lift
    size = np.abs(lift).sum(axis=1) + 1e-9
    lift, back = lift / size[:, None], back * size
    first = np.concatenate([normals[kept], lift]), np.concatenate([-offsets[kept], np.ones(len(lift))])
    return balanced([first, (np.hstack([found[kept].T, back]), found[-1] - back.sum(axis=1))], x)


def _dictionary(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normals in many directions, and for each some offsets between the ends of the cube."""
    if n == 2:
        turn = np.pi * np.arange(10) / 10
        normals = np.column_stack([np.cos(turn), np.sin(turn)])
    else:
        every = np.array([d for d in itertools.product((-1, 0, 1), repeat=n) if d > (0,) * n][:60], dtype=np.float64)
        normals = every / np.linalg.norm(every, axis=1, keepdims=True)
    steps = np.linspace(-1, 1, {2: 14, 3: 10}.get(n, 6))[1:-1]
    return np.repeat(normals, len(steps), axis=0), np.outer(np.abs(normals).sum(axis=1), steps).ravel()


def _lightest(rows: NDArray[np.float64], goal: NDArray[np.float64], weigh: NDArray[np.float64], room: float) -> Any:
    """The numbers that keep to the goal up to `room` with the smallest weighted sum of sizes; the last are free."""
    count, free = len(weigh), rows.shape[1] - len(weigh)
    both = np.hstack([rows[:, :count], -rows[:, :count], rows[:, count:]])
    signs = np.eye(2 * count, 2 * count + free)
    ends = np.concatenate([goal + room, room - goal, np.zeros(2 * count)])
    objective = np.concatenate([-weigh, -weigh, np.zeros(free)])
    try:
        found = LinearProgram(np.concatenate([both, -both, -signs]), ends, 1.0).propose(objective)
    except SolverError:
        return None
    if found.status != "optimal":
        return None
    return np.append(found.point[:count] - found.point[count : 2 * count], found.point[2 * count :])


_SHARES = (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
"""Of the neurons that are to be undercut: the sizes that are trained, until one is not near enough."""
_SEEDS, _STEPS, _TRAINED = 8, 2000, 1024  # and points to train with


def trained(p: CPWL, tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[Network]]:
    """Networks with two hidden layers that torch has trained, then with fewer neurons."""
    sample, best = _sample(p, tolerance, inputs=p.dim), None  # who asks for training waits for the distance, too
    if sample is None:
        return
    few = np.sort(np.random.default_rng(1).permutation(len(sample.place))[:_TRAINED])
    place, goal = sample.place, sample.goal
    height = np.abs(goal).max() or 1.0
    for neurons in sorted({math.floor(task.most * share) for share in _SHARES} - {0, 1}, reverse=True):
        widths = neurons - neurons // 2, neurons // 2
        made = train(place[few], goal[few] / height, widths, seeds=_SEEDS, steps=_STEPS)
        every = [balanced([*one[:-1], (one[-1][0] * height, one[-1][1] * height)], place) for one in made[:3]]
        fits = [polish(one, place[few], goal[few], Effort(_WORK)) for one in every]
        layers, error = min(fits, key=lambda pair: pair[1])
        if error > 1:
            break
        best = layers
    if best is not None:
        yield from _without_some(p, sample, best, "trained", task)


# Shorter numbers.


def balanced_network(network: Network) -> Network:
    """The same function up to rounding: each neuron scaled so that the largest weights before and after it are alike,
    which leaves most digits to all of them. A positive factor goes through a ReLU."""
    layers = [(weight.toarray(), bias.copy()) for weight, bias in network.layers]
    for _ in range(8):
        for k in range(len(layers) - 1):
            (weight, bias), (after, shift) = layers[k : k + 2]
            ends = np.abs(weight).max(axis=1), np.abs(after).max(axis=0)
            factor = np.where((ends[0] > 0) & (ends[1] > 0), np.sqrt(ends[1] / np.maximum(ends[0], 1e-300)), 1.0)
            layers[k : k + 2] = [(weight * factor[:, None], bias * factor), (after / factor, shift)]
    return Network(layers)


def shorter(_p: CPWL, _tolerance: Sequence[Fraction], task: Task) -> Iterator[Proposal[Network]]:
    """The best network so far with weights that are short integers times a power of two, or as float32 has them."""
    layers = [(weight.toarray(), bias) for weight, bias in balanced_network(task.best).layers]
    largest = max(np.abs(weight).max() for weight, _ in layers)
    for name, most in (("int8", 2**7 - 1), ("int16", 2**15 - 1), ("float32", 0)):
        unit = 2.0 ** math.ceil(math.log2(largest / most)) if most else 0.0
        held = [
            (np.round(weight / unit) * unit if unit else weight.astype(np.float32), bias.astype(np.float32))
            for weight, bias in layers
        ]
        network = Network([(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in held])
        yield Proposal(f"{name} weights", assemble(network.layers, exact_layers(network)))


def sources(*, train: bool, short: bool) -> tuple[Source, ...]:
    """What is tried, in this order; `short` for few bytes."""
    last: tuple[Source, ...] = (shorter,) if short else ()
    return (coarse, uneven, formulas, hinges, *((trained,) if train else ()), shrunk, *last)
