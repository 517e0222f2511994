"""`compile`: the one place that knows the order of steps from function to network."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from operator import ge
from typing import Any, TypeAlias, get_args

import numpy as np

from cpwl.compilation import Compilation, Prove
from cpwl.compiled import Compiled, Within, held_parts
from cpwl.construct.analysis import Analysis
from cpwl.construct.plan import ConstructionName, Minimize, Options, Outside, Plan, Precision, Weights, default_error
from cpwl.construct.plans import Plans
from cpwl.construct.select import Candidate
from cpwl.doors import check_argument, check_choice, check_number, check_switch, formerly, heard, within_float64
from cpwl.equality.decide import distance
from cpwl.errors import CpwlWarning, InputError, LimitError, ProofError, rare_collection
from cpwl.executors import check_executor
from cpwl.function import CPWL
from cpwl.function.answers import Distance
from cpwl.function.coarser import ROOM, Proposal, gaps, tolerances
from cpwl.function.domain import box_around, box_to_clip
from cpwl.function.examine import examine, is_rough_table
from cpwl.network import Network
from cpwl.network.algorithms import clipped
from cpwl.network.integer import INTEGER, IntegerNetwork, fixed_point, integer_network, near_integers
from cpwl.network.network import meant, rounded, run_in, weight_bytes
from cpwl.progress import Shown, shows_progress
from cpwl.proofs.certify import Certificate, certify, certify_integers
from cpwl.proposals import Task, balanced_network, shorter, sources
from cpwl.training import check_torch

CONSTRUCTIONS: tuple[ConstructionName, ...] = get_args(ConstructionName)
"""What `construction` may be."""
_Proposal: TypeAlias = Proposal[CPWL] | Proposal[Network]


@shows_progress
@formerly(certificate="certify")
def compile(
    p: CPWL,
    *,
    construction: ConstructionName = "auto",
    minimize: Minimize = "neurons",
    precision: Precision = "float64",
    max_error: float | None = None,
    check: bool = True,
    certify: bool = False,
    weights: Weights = "exact",
    inputs: str | None = None,
    outside: Outside = "free",
    within: Any = None,
    train: bool = False,
    effort: float = 0.0,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Compiled:
    """Compile a function into a ReLU network: the smallest of all constructions that is accurate enough.

    With `within`, the network may differ from the function by a stated error.

    Parameters
    ----------
    p
        The function.
    construction
        The construction, such as "gates" or "lattice" (docs/auto.md lists them); "auto" plans all that apply and builds
        the best.
    minimize
        The size that "auto" minimizes among the constructions that are accurate enough: "neurons", "depth", "width",
        "nonzeros" or "bytes". "bytes", with `within`, also uses the tolerance for shorter weights: int8 or int16 times
        a power of two, or float32. Distance and proof hold for these numbers; `to_c` stores them as short integers.
    precision
        The arithmetic in which the network will be evaluated: "float64", "float32" or "exact".
    max_error
        The largest error allowed, relative to the range of `p`. It limits the predicted rounding error in `precision`,
        and the total error against the data, measured at sample points. Default: 1e-9 (1e-5 in float32), or the
        tolerance of the data if that is larger; no limit for "exact". For float data whose pieces overlap, ten times
        `Compiled.unavoidable` if that is larger. If no construction is within the limit, the most accurate one is
        built, with a warning that states its error.
    check
        Run `p.doctor()` first, and raise `InputError` if `p` is not a continuous function on a convex domain. Test the
        rows of Algorithm 1, and measure the error of the network against the data.
    certify
        Prove the result (`cpwl.certify`). "auto" tries all constructions, the smallest first, until one is proved; if
        none is, `Compiled.reason` says which were tried.
    weights
        The weights to prove: "exact", or rounded as in a file, "float64" or "float32". "int16" and
        "int8" ask for a network of integers (`Compiled.integer`) that is exact for every input of a fixed-point format
        and whose sums do not overflow. Where no network equal to `p` has such weights, they are rounded. "float16"
        rounds weights and bounds the error of float16 arithmetic. These three are always proved: `Compiled.within` has
        the error, and with `within` it is at most that.
    inputs
        For integer weights the format of the inputs, such as "Q7.8": a sign, 7 integer bits and 8 fraction bits.
        Default: as many integer bits as the domain needs (7 if it is unbounded), and 16 bits in all; or fewer fraction
        bits, down to 8, if sums then fit into 32 bits.
    outside
        Behaviour outside a bounded domain. "free": unspecified. "clip": the value at the nearest point of the domain,
        which must be a box; this adds two neurons for each input, in two layers, and the proof covers it. "error":
        the network is as with "free", and calling the result raises an error for such points.
    within
        How far the network may be from `p`: a number in units of the output, a percentage of its range such as "1%", or
        one of these for each output. Proposals are functions near `p` (`CPWL.approximate`), the smallest first; the
        result is the first network whose distance from `p` is at most this. The distance is exact, for weights rounded
        to `weights`; `Compiled.within` has it. If no smaller network is found, and by default, the result equals `p`.
    train
        With `within`, also train small networks (needs torch; takes seconds to minutes; the seed is fixed). A trained
        network is a proposal like any other.
    effort
        With "auto", also search for neurons of the smallest network that can be removed or merged. `effort` limits
        this search, in millions of neuron outputs read (10: seconds). The result is a further candidate with the
        construction "search", if it is proved equal. It does not depend on the speed of the machine.
    executor
        Any `concurrent.futures.Executor`, to run decisions, plans and checks of proofs in parallel. The result does
        not depend on it.
    progress
        Called with ``(done, total, what)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    Compiled
        The network, its sizes, and the sizes of the alternatives.

    Raises
    ------
    InputError
        If an option is unknown, or the doctor finds an error in `p`.
    ConstructionError
        If the construction does not apply to `p`.
    LimitError
        If it would need more memory than the machine has.

    Warns
    -----
    CpwlWarning
        If pieces without interior were dropped, or the result is less accurate than requested.

    Examples
    --------
    >>> p = CPWL.from_breakpoints([0], [0], left_slope=-1, right_slope=1)
    >>> compile(p).network([[-3.0], [2.0]])
    array([[3.],
           [2.]])
    >>> compile(p)
    Compiled(hinge: 2 neurons, 2 layers)
    """
    options = replace(_options(p, minimize, precision, max_error, check, executor, progress), effort=effort)
    held, told = _formats(p, weights, inputs), max_error is not None
    job = _Job(p, options, construction, told, certify or weights in _SHORT, weights, held, outside, train)
    if weights in _SHORT:
        return job.shortened(within)
    return job.compiled(p, job.prove if job.certify else None) if within is None else next(job.levels([within]))


@shows_progress
def compile_levels(
    p: CPWL,
    levels: Sequence[Any],
    *,
    certify: bool = True,
    weights: Weights = "exact",
    train: bool = False,
    executor: Executor | None = None,
    progress: Shown = None,
) -> list[Compiled]:
    """The networks of `compile` for several tolerances, from the smallest to the largest; None stands for equality.

    A network that was found for a smaller tolerance is kept until a smaller one is found.
    """
    options = _options(p, "neurons", "float64", None, True, executor, progress)
    job = _Job(p, options, certify=certify, weights=weights, inputs=_formats(p, weights, None), train=train)
    return list(job.levels(levels))


def compiled_network(source: CPWL | Network | Compiled) -> Network:
    """The network of what a writer was given; a function is compiled."""
    function, network = held_parts(source)
    if network is None:
        assert function is not None
        network = compile(function).network
    return network


@dataclass(frozen=True, eq=False)
class _Job:
    """A function, and how it is to be compiled."""

    p: CPWL
    options: Options
    construction: ConstructionName = "auto"
    told: bool = False
    certify: bool = False
    weights: Weights = "exact"
    inputs: tuple[str, ...] = ()
    outside: Outside = "free"
    train: bool = False

    def __post_init__(self) -> None:
        check_choice(self.construction, CONSTRUCTIONS, "construction")
        check_choice(self.outside, get_args(Outside), "outside")
        check_switch(self.train, "train")
        check_number(self.options.effort, "effort", least=0.0)
        if self.train:
            check_torch()

    def compiled(self, p: CPWL, prove: Prove | None, among: tuple[str, ...] = ()) -> Compiled:
        """The network of a function; "auto" may be bound to some constructions."""
        limit, check = self.options.max_error, self.options.check
        with rare_collection(), within_float64():
            if check:
                if self.options.progress is not None:
                    self.options.progress(0, 1, "checking the pieces")
                p = _healthy(p, self.options.executor)
            box = box_to_clip(p) if self.outside == "clip" else None
            data = Analysis(p, self.options)
            even = data.undone if check or (limit and self.construction == "auto") else None
            rough = even is not None and check and is_rough_table(p)
            if rough and not limit:
                raise InputError(
                    'precision="exact" allows no error, but the rounded points of this table do not define a function '
                    "(see `p.doctor()`): give exact points, or compile `p.snap(even=True).function`"
                )
            names = among if self.construction == "auto" else (self.construction,)
            every = [] if rough else [Plans(data, names)]
            simpler = even is not None and self.construction == "auto" and even.bend_planes < data.bend_planes
            if even is not None and limit and (rough or simpler):
                every.append(Plans(even, names))
            made = Compilation(data, every, told=self.told, box=box).result(prove)
            return replace(made, outside=self.outside)

    @cached_property
    def equal(self) -> Compiled:
        """The network that computes the function itself, without a proof."""
        return self.compiled(self.p, None)

    def prove(self, network: Network, near: CPWL | None = None, tolerance: Fraction | None = None) -> Certificate:
        """The proof of a network with its weights as they are, or as they are rounded to a type."""
        if self.weights in INTEGER:
            try:
                found = [integer_network(network, self.weights, inputs) for inputs in self.inputs]
            except LimitError as reason:
                return Certificate(False, None, str(reason), None, None)
            integers = next((one for one in found if one.accumulator == 32), found[0])
            return certify_integers(self.p, network, integers, self.options.executor)
        most = None if tolerance is None else math.nextafter(float(tolerance), math.inf)
        exact, written = (None, network) if self.weights == "exact" else (network, rounded(network, self.weights))
        return certify(self.p, written, rounded_from=exact, near=near, max_error=most, executor=self.options.executor)

    # Within a stated error: the smallest network found whose exact distance is at most that.

    def levels(self, levels: Sequence[Any]) -> Iterator[Compiled]:
        """A network for each tolerance, starting with what was found for the one before where that was smaller."""
        if self.weights in _SHORT:
            raise InputError(f'weights="{self.weights}" take one tolerance at a time: `compile(p, within=..)`')
        with within_float64():
            wanted = [None if one is None else tolerances(self.p, one) for one in levels]
            found = self.equal
            for tolerance in wanted:
                allowed = [Fraction(0)] * self.p.outputs if tolerance is None else tolerance
                kept = found.within is None or all(map(ge, allowed, found.within.tolerance))
                found = self.within(allowed, found if kept else self.equal)
                yield found

    def within(self, tolerance: list[Fraction], start: Compiled) -> Compiled:
        """The smallest network found that is within the tolerance, has a proof if one is wanted, and is smaller than
        the one to start with."""
        task = Task(start.network, [], self.train, lambda q: self._coarser(q).network)
        tried: list[tuple[str, int, float]] = []
        good: list[tuple[Compiled, _Proposal, list[Distance]]] = []  # the smallest last
        short = self.options.minimize == "bytes"
        aim = [self._aim(e) * (_FOR_WEIGHTS if short else 1) for e in tolerance]
        for source in sources(train=self.train, short=short) if max(tolerance) else ():
            for proposal in source(self.p, aim, task):
                made = self._made(proposal)
                size = weight_bytes if source is shorter else lambda network: network.sizes.neurons
                if made is None or size(made.network) >= size(task.best):
                    continue
                found = self._gaps(made, proposal)
                share, point = _share(made, found, tolerance)
                tried.append((proposal.name, made.sizes.neurons, float(share)))
                if share <= 1:
                    task.best = made.network
                    good.append((made, proposal, found))
                    break
                task.missed.append(point)
        if short:
            good = [one for one in good if weight_bytes(one[0].network) < weight_bytes(start.network)]
        for made, proposal, found in reversed(good):
            done = self._proved(made, proposal, found, tolerance)
            if done is not None:
                return self._told(*done, tolerance, proposal.name, tried)
        if start.within is not None:
            return self._told(start, [start.within.distance], tolerance, start.within.proposal, tried)
        found = self._gaps(start, None)
        self._check_rounding(start, found, tolerance)
        done = self._proved(start, None, found, tolerance)
        assert done is not None
        return self._told(*done, tolerance, "equal", tried)

    def _check_rounding(self, equal: Compiled, found: list[Distance], tolerance: list[Fraction]) -> None:
        """Refuse a tolerance that only exact arithmetic keeps to."""
        more = _rounding(equal) if self.options.precision == "float32" else 0
        off, e = max(((gap.largest + more, e) for gap, e in zip(found, tolerance, strict=True)), key=lambda v: v[0])
        if off <= e or not e:
            return
        if off < math.inf:
            why = f"is up to {float(off):.3g} with rounding; allow more, or use float64"
        else:
            why = "is without bound once weights are rounded; restrict the function to a box, or keep exact weights"
        raise LimitError(f"no network was found within {float(e):.6g} of the function: the error of an equal one {why}")

    def _aim(self, e: Fraction) -> Fraction:
        """What a proposal may be off in exact arithmetic. It leaves a millionth itself, which float64 rarely takes."""
        more = _rounding(self.equal)
        return e if more <= e * Fraction(ROOM) else max(e - more, e * _FOR_GAPS)

    def _made(self, proposal: _Proposal) -> Compiled | None:
        """The network of a proposal, without a proof; None if rounding would spoil it."""
        if isinstance(proposal.made, CPWL):
            return self._coarser(proposal.made)
        equal, network = self.equal, proposal.made
        if self.outside == "clip" and (box := box_to_clip(self.p)) is not None:
            network = clipped(network, *box)
        assert equal.analysis is not None
        plan = Plan.of(proposal.name, network, equal.analysis.sample.points)
        error = Candidate.of(plan, equal.analysis).error
        if error > self.options.max_error > 0:
            return None
        made = Compiled(network, proposal.name, network.sizes, equal.bounds, {}, None, 0, 0, error)
        return replace(made, reason="within the tolerance", analysis=equal.analysis, outside=self.outside)

    def _coarser(self, q: CPWL) -> Compiled:
        many = self.construction == "auto" and q.num_pieces > _FEW and self.p.dim > 1
        return self.compiled(q, None, _FOR_GRIDS if many else ())

    def _proved(
        self, made: Compiled, proposal: _Proposal | None, found: list[Distance], tolerance: list[Fraction]
    ) -> tuple[Compiled, list[Distance]] | None:
        """The network with its proof, if one is wanted, or that of another construction, and how far it is off.

        None if a proposal has no proof; without a proposal it is the function itself that is compiled.
        """
        if not self.certify:
            return made, found
        q = self.p if proposal is None else proposal.made
        prove: Prove = self.prove
        if isinstance(q, Network):
            prove = partial(self.prove_near, tolerance=max(tolerance))
        elif proposal is not None:
            prove = partial(self.prove, near=q, tolerance=max(tolerance))
        try:
            proof = prove(made.network)
            if not proof.proved and isinstance(q, CPWL):
                made = self.compiled(q, prove)
                proof, found = made.certificate or proof, self._gaps(made, proposal)
                if proposal is not None and _share(made, found, tolerance)[0] > 1:
                    return None  # another construction, whose weights are rounded otherwise
        except (ProofError, LimitError):
            if proposal is None:
                raise
            return None
        return (replace(made, certificate=proof), found) if proof.proved or proposal is None else None

    def prove_near(self, network: Network, tolerance: Fraction) -> Certificate:
        """The proof that a network, its weights as they will be, is within a tolerance."""
        network = network if self.weights == "exact" else meant(rounded(network, self.weights))
        most = math.nextafter(float(tolerance), math.inf)
        return certify(self.p, network, max_error=most, executor=self.options.executor)

    def _gaps(self, made: Compiled, proposal: _Proposal | None) -> list[Distance]:
        """For each output how far the network is, with its weights as they will be.

        Exact weights compute what was compiled; float data is compared as it is."""
        of_function = proposal is None or isinstance(proposal.made, CPWL)
        if self.weights == "exact" and self.p.tol == 0 and made.function is not None and of_function:
            return gaps(self.p, made.function)
        return self._distances(made.network if self.weights == "exact" else rounded(made.network, self.weights))

    def _distances(self, network: Network) -> list[Distance]:
        """For each output how far a network is."""
        p = self.p
        if p.tol or p.outputs == 1:  # the largest of all outputs is allowed for each
            return [distance(p, network)] * p.outputs
        return [distance(p[j], network[j]) for j in range(p.outputs)]

    # Weights of a short type: equal to the function where they can be, else as near as they are proved to be.

    def shortened(self, within: Any) -> Compiled:
        """A network with weights of a short type: equal to the function, else within the tolerance."""
        with within_float64():
            reason = ""
            if within is None and self.weights in INTEGER:
                made = self.compiled(self.p, self.prove)
                assert made.certificate is not None
                if made.certificate.proved:
                    return made
                reason = f"; {made.certificate.reason}"
            tolerance = None if within is None else tolerances(self.p, within)
            plain, nearest = replace(self, weights="exact", certify=False), math.inf
            starts = [] if tolerance is None else [[e * share for e in tolerance] for share in _FOR_NETWORKS]
            for aim in (*starts, None):
                start = plain.equal if aim is None else plain.within(aim, plain.equal)
                every = list(self._with_short_weights(start.network))
                for network, integers in every if tolerance else every[::-1]:  # the shortest, or else the nearest
                    found, off = self._near(start, network, integers, tolerance)
                    if found is not None:
                        return found
                    nearest = min(nearest, off)
        if nearest < math.inf:
            reason = f" within that error: the nearest that was found may be off by {nearest:.3g}"
        elif not reason:
            reason = "; a domain that is not bounded, and numbers beyond the type, have no such bound"
        raise LimitError(f"there is no proved network with weights of type {self.weights}{reason}")

    def _with_short_weights(self, network: Network) -> Iterator[tuple[Network, IntegerNetwork | None]]:
        """The network with its weights as the type has them; these numbers are meant."""
        if self.weights in INTEGER:
            for integers in near_integers(network, self.weights, self.inputs[-1]):
                yield integers.network, integers
            return
        try:
            held = rounded(balanced_network(network), self.weights)
        except LimitError:
            return
        yield run_in(meant(held), [self.weights]), None

    def _near(
        self, start: Compiled, network: Network, integers: IntegerNetwork | None, tolerance: list[Fraction] | None
    ) -> tuple[Compiled | None, float]:
        """The network with its proof, if it is within the tolerance; and how far it is, rounding of floats included."""
        every = self._distances(network)
        far = max(every, key=lambda gap: gap.largest)
        allowed = (
            [Fraction(far.largest)] * self.p.outputs if tolerance is None and far.largest < math.inf else tolerance
        )
        if allowed is None or any(gap.largest > e for gap, e in zip(every, allowed, strict=True)):
            return None, float(far.largest)
        most, more = math.nextafter(float(max(allowed)), math.inf), 0.0
        if integers is None:
            proof = certify(self.p, network, max_error=most, executor=self.options.executor)
            more = (proof.evaluation_bound or {}).get(self.weights, math.inf)
        else:
            proof = certify_integers(self.p, network, integers, self.options.executor, most)
        off = float(far.largest) + more
        if not proof.proved or off == math.inf or (tolerance is not None and off > min(tolerance)):
            return None, off
        if tolerance is None:
            allowed = [e + Fraction(more) for e in allowed]
        name = f"{self.weights} weights of {start.construction if start.within is None else start.within.proposal}"
        made = replace(start, network=network, sizes=network.sizes, certificate=proof, measured=None)
        return self._told(made, every, allowed, name, []), off

    def _told(
        self,
        made: Compiled,
        found: Sequence[Distance],
        tolerance: list[Fraction],
        name: str,
        tried: list[tuple[str, int, float]],
    ) -> Compiled:
        """The result, with how near it is."""
        far = max(found, key=lambda gap: gap.largest)
        return replace(made, within=Within(tuple(tolerance), far, name, self.equal.sizes.neurons, tuple(tried)))


def _share(made: Compiled, found: list[Distance], tolerance: list[Fraction]) -> tuple[Fraction | float, Any]:
    """The largest gap and what rounding may add, as a share of the tolerance of its output; a point of the gap."""
    gaps, more = zip(found, tolerance, strict=True), _rounding(made)
    return max((((gap.largest + more) / e, gap.point) for gap, e in gaps), key=lambda pair: pair[0])


_FOR_GAPS = Fraction(3, 4)  # of the tolerance, at least; the rest is for rounding, which coarser networks have less of
_FOR_WEIGHTS = Fraction(7, 8)  # of the tolerance; the rest is for shorter weights
_FOR_NETWORKS = (_FOR_WEIGHTS, Fraction(1, 2), Fraction(1, 4))  # for weights of one type
_SHORT = (*INTEGER, "float16")  # types in which a network is not what it was
_FEW = 40  # pieces of a coarser function: beyond, only what suits tables is planned
_FOR_GRIDS = ("gates", "columns")


def _rounding(made: Compiled) -> Fraction:
    """How far an evaluation in the precision asked for is predicted to be off, in units of the outputs."""
    assert made.analysis is not None
    return Fraction(min(made.error * made.analysis.sample.range, sys.float_info.max))


def _formats(p: CPWL, weights: str, inputs: str | None) -> tuple[str, ...]:
    """Formats of inputs: the one that was asked for; else those that hold the domain, of 16 bits and then shorter ones
    with at least 8 behind the point. None for weights that are no integers."""
    check_choice(weights, get_args(Weights), "weights")
    if inputs is not None:
        fixed_point(inputs)
        if weights not in INTEGER:
            raise InputError('`inputs` is the format of the inputs for `weights="int16"` or `weights="int8"`')
        return (inputs,)
    if weights not in INTEGER:
        return ()
    around = box_around(p)
    if around is None:
        return ("Q7.8",)
    whole = max((math.ceil(max(-low, high)) for low, high in around), default=0).bit_length()
    if whole > 31:
        raise LimitError("the domain does not fit into a format of 32 bits; scale the inputs")
    most = max(15 - whole, 0)
    return tuple(f"Q{whole}.{fraction}" for fraction in range(most, min(most, 8) - 1, -1))


def _options(
    p: CPWL,
    minimize: Minimize,
    precision: Precision,
    max_error: float | None,
    check: bool,
    executor: Executor | None,
    progress: Shown,
) -> Options:
    """The options of constructions, looked at, with the largest relative error that is allowed."""
    check_argument(p, CPWL, "compile")
    check_choice(minimize, get_args(Minimize), "minimize")
    check_choice(precision, get_args(Precision), "precision")
    check_executor(executor)
    if max_error is None:
        usual = default_error(precision)
        limit = max(usual, p.tol) if usual else 0.0  # nearer to the data than that means nothing
    else:
        check_number(max_error, "max_error", above=0.0)
        limit = float(max_error)
    return Options(minimize, precision, limit, check, executor, heard(progress))


def _healthy(p: CPWL, executor: Executor | None) -> CPWL:
    """The function without pieces that have no interior; raises if anything is wrong with it."""
    if p.tol and p.snap().flat == ():  # there is an exactly consistent function near it, and no piece is flat
        return p
    report = examine(p, notes=False, executor=executor)
    report.check()
    flat = sorted({f.pieces[0] for f in report if f.kind in ("empty piece", "flat piece")})
    if not flat:
        return p
    names = ", ".join(str(i) for i in flat[:8]) + (", ..." if len(flat) > 8 else "")
    warnings.warn(f"pieces without interior were dropped: {names}", CpwlWarning, stacklevel=4)
    return p.take(np.setdiff1d(np.arange(p.num_pieces), flat))
