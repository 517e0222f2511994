"""The table of proof kinds: when each applies, and who proposes such a proof.

`proposals` walks the table. Six kinds hold proofs of other kinds inside: "optimal" for optimisers of programs,
"clipped" for networks that clip their input, "rounded" for rounded weights, "near" for float data, "sums" for networks
side by side, "fold" for a network behind a fold; for what is inside they walk part of the table again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cpwl.errors import LimitError
from cpwl.exact.integers import integer_rows, signs_at
from cpwl.exact.rational import upwards
from cpwl.executors import spread, workers_of
from cpwl.function import CPWL
from cpwl.network.algorithms import unclipped
from cpwl.proofs.entries import NoProof, NotRecognised
from cpwl.proofs.provers.bends import propose_bends
from cpwl.proofs.provers.expression import propose_expression, restored
from cpwl.proofs.provers.fold import propose_fold
from cpwl.proofs.provers.hints import propose_clamped, propose_columns, propose_line, propose_strips
from cpwl.proofs.provers.near import propose_near
from cpwl.proofs.provers.regions import propose_regions
from cpwl.proofs.provers.sums import propose_sums
from cpwl.proofs.provers.windows import propose_multiplexed, propose_windows
from cpwl.proofs.question import Proposal, Question, proof_head
from cpwl.proofs.refute import points_at
from cpwl.proofs.rounding import Bound, added
from cpwl_check import main
from cpwl_check.budget import SHARE, STEPS, Refused, Undecided, aside, limited
from cpwl_check.clipped import slope
from cpwl_check.decide import check, checked
from cpwl_check.pieces import difference, pair
from cpwl_check.rounded import apart

_SHARED = ("bends", "clamped")  # whose checkers go through `share`
_SMALL = 32  # pieces that are not worth sending
_Documents: TypeAlias = tuple[Any, Any, Any]


def settle(function: Any, network: Any, proof: Any, executor: Executor | None = None) -> Bound:
    """The bound that a proof shows for a function and a network, as `cpwl_check.decide.check`; or what that raises."""
    bound = None
    if executor is not None and _is_worth_sharing(function, proof):
        bound = _accepted_in_shares((function, network, proof), executor)
    if bound is None:
        bound = check(function, network, proof)
    return bound


def verdict(paths: list[str], max_error: Any, executor: Executor) -> tuple[int, dict[str, Any]]:
    """The exit status of the stand-alone checker for three files, and what it prints as JSON, with the work shared out.

    `max_error` is what its option of that name is given, or None.
    """
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # as the checker does: numbers may have many thousand digits
    try:
        most = None if max_error is None else main.allowed_error(repr(max_error))
        status, found = main.verdict(paths, most, check=partial(settle, executor=executor))
    finally:
        sys.set_int_max_str_digits(limit)
    return status, {"verdict": main.WORDS[status], **found}


def _is_worth_sharing(function: Any, proof: Any) -> bool:
    kinds, inner = list[Any](), proof
    while type(inner) is dict:
        kinds, inner = [*kinds, inner.get("kind")], inner.get("proof")
    pieces = function.get("pieces", function.get("simplices")) if type(function) is dict else None
    return type(pieces) is list and len(pieces) >= _SMALL and any(kind in _SHARED for kind in kinds)


def _accepted_in_shares(documents: _Documents, executor: Executor) -> Bound | None:
    """The bound, if every share is accepted, and one run would have had steps enough for all of them.

    A run that goes through all pieces spends no more on them than those that go through shares together.
    """
    count = workers_of(executor)
    found: list[tuple[Bound, int, int]] = []
    for one in spread(_share, documents, [(k, count) for k in range(count)], executor):
        if one is None:
            return None
        found.append(one)
    bound, left, spent = found[0]
    enough = left + spent >= sum(each[2] for each in found)
    return bound if enough and all(each[0] == bound for each in found) else None


def _share(documents: _Documents, which: tuple[int, int]) -> tuple[Bound, int, int] | None:
    """What one run says that looks at a share: the bound, the steps left, and those spent on its share; None for no."""
    function, network, proof = documents
    mine = [*which, 0]
    token = SHARE.set(mine)
    try:
        with limited() as run:
            return checked(function, network, proof), run.left, mine[2]
    except (Refused, Undecided):
        return None
    finally:
        SHARE.reset(token)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of proof; `cpwl_check` has a module of the same name, which decides on it."""

    name: str
    applies: Callable[[Question], bool]
    propose: Callable[[Question], Iterator[Proposal]]


def _all_as_meant(question: Question) -> bool:
    """Hinges and gates are equal to the function or prove nothing: neither data nor weights may be off."""
    return question.rounded_from is None and question.p.tol == 0


def _two_inputs(question: Question) -> bool:
    return _all_as_meant(question) and question.p.dim == 2


def _rounded_weights(question: Question) -> bool:
    return question.rounded_from is not None or question.network.exact is None


def _float_data(question: Question) -> bool:
    """Data that may be off by rounding, points of a table among it."""
    return not question.is_exact


def _floats(question: Question) -> bool:
    """Weights, or a little data, that are rounded: what other kinds show of them is a bound, and may be a loose one."""
    little = question.p.num_pieces * question.network.sizes.neurons <= _LITTLE
    return _rounded_weights(question) or (question.p.tol > 0 and little)


def _inside(names: tuple[str, ...], question: Question) -> Iterator[Proposal]:
    """What the kinds of these names propose; the reasons of those that have nothing, if none has anything."""
    failures: list[NoProof] = []
    found = False
    for proposal in proposals(question, failures, names):
        found = True
        yield proposal
    if not found:
        points = [x for failure in failures for x in failure.points]
        settled = any(failure.settles for failure in failures)
        raise NoProof(str(failures[-1]) if failures else "no kind of proof applies", points, settles=settled)


def _rounded(question: Question) -> Iterator[Proposal]:
    names = ("expression",) if question.rounded_from is None else ("expression", *_EQUAL)
    return propose_rounded(question, partial(_inside, names))


def _near(question: Question) -> Iterator[Proposal]:
    names = ("expression", *_EQUAL) if question.rounded_from is None else ("rounded",)
    return propose_near(question, partial(_inside, names))


def _of_part(names: tuple[str, ...], part: Question) -> Proposal:
    try:
        return _accepted(part, names)
    except NoProof as reason:  # its points are those of the part
        raise NoProof(f"a part is not proved: {reason}") from None


def _accepted(question: Question, names: tuple[str, ...]) -> Proposal:
    """The first proposal of these kinds that the checker accepts."""
    failures: list[NoProof] = []
    for proposal in proposals(question, failures, names):
        try:
            decide(question, proposal)
        except NoProof as reason:
            failures.append(reason)
        else:
            return proposal
    raise failures[-1] if failures else NoProof("no kind of proof applies")


_PARTS = ("columns", "windows", "multiplexed", "line", "clamped", "strip", "fold", "bends")
_EQUAL = (*_PARTS, "sums")
_ALL = ("optimal", "clipped", "regions", "expression", "rounded", "near", *_EQUAL)


_LITTLE = 10_000  # pieces times neurons
_FEW = 1_000  # regions of a network of floats that are listed before looser bounds are looked for
_MANY = 100_000  # regions that are listed where no other kind of proof was found

# A kind that holds another proof is told what may prove what is inside: any other kind; of a guessed exact network, the
# kind of the guess; of a part, or of the network behind a fold, any kind that proves equality.
KINDS = (
    Kind(
        "optimal",
        lambda question: question.p.known is not None and question.p.known.optimal is not None,
        lambda question: propose_optimal(question, partial(_inside, _ALL[1:])),
    ),
    Kind(
        "clipped",
        lambda question: unclipped(question.network) is not None,
        lambda question: propose_clipped(question, partial(_inside, _ALL[2:])),
    ),
    Kind("regions", _floats, partial(propose_regions, most=_FEW)),
    Kind("columns", lambda question: _all_as_meant(question) and question.p.mesh is not None, propose_columns),
    Kind("windows", _all_as_meant, propose_windows),
    Kind("multiplexed", _all_as_meant, propose_multiplexed),
    Kind("expression", lambda question: question.rounded_from is None, propose_expression),
    Kind("rounded", _rounded_weights, _rounded),
    Kind("line", _all_as_meant, propose_line),
    Kind("clamped", _two_inputs, propose_clamped),
    Kind("strip", _two_inputs, propose_strips),
    Kind("sums", _all_as_meant, partial(propose_sums, prove=partial(_of_part, ("expression", *_PARTS)))),
    Kind("fold", _all_as_meant, partial(propose_fold, prove=partial(_of_part, ("expression", *_EQUAL)))),
    Kind("bends", _all_as_meant, propose_bends),
    Kind("near", _float_data, _near),
    Kind("regions", lambda _: True, partial(propose_regions, most=_MANY)),
)


def proposals(question: Question, failures: list[NoProof], names: tuple[str, ...] | None = None) -> Iterator[Proposal]:
    """What each kind that applies proposes, in the order of the table; why it has nothing goes to `failures`."""
    for number, kind in enumerate(KINDS):
        if (names is not None and kind.name not in names) or not kind.applies(question):
            continue
        if question.progress is not None and names is None:
            question.progress(number, len(KINDS), f"proof of kind {kind.name}")
        try:
            yield from kind.propose(question)
        except NoProof as reason:
            failures.append(reason)
            if reason.settles and not _float_data(question):  # a network of a function near the data is as good
                return
        except (LimitError, Refused, Undecided) as reason:  # some provers ask parts of a checker
            failures.append(NoProof(str(reason)))


def decide(question: Question, proposal: Proposal) -> Bound:
    """The bound that the stand-alone checker shows for function, network and proof, as they are saved.

    Raises `NoProof` with the points that it names where it refuses; a direction stands for points far out.
    """
    if question.progress is not None:
        question.progress(len(KINDS), len(KINDS) + 1, "checking the proof")
    try:
        bound = settle(question.function_document, question.network_document, proposal.document, question.executor)
    except (Undecided, LimitError) as reason:
        raise NoProof(str(reason)) from None
    except Refused as reason:
        raise NoProof(str(reason), points_at(question.p, reason.places), settles=proposal.settles) from None
    return bound


def prove(name: str, question: Question) -> dict[str, Any]:
    """The proof of one kind, as the checker accepted it; `NoProof` if there is none."""
    return _accepted(question, (name,)).document


# Proofs of kind "rounded": of the exact network that a rounded one came from, and of how far the two are apart.
#
# Rounding moves the planes on which hinges and gates bend, and the values of maxima and minima. See docs/proof.md.


def propose_rounded(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """Proofs that `propose` has for the exact network; where that is not given, it is guessed from the components."""
    network, box = question.network, question.box
    exact = question.rounded_from or restored(question)
    if [weight.shape for weight, _ in exact.layers] != [weight.shape for weight, _ in network.layers]:
        raise NotRecognised("the exact network does not have the layers of the rounded one")
    inner = question.of(exact)
    distance = _distance(question, inner)
    for proof in propose(inner):
        if isinstance(proof.bound, tuple):
            continue
        bound = added(proof.bound, distance)
        held = None if box is None else box.document()
        fields = {"box": held, "network": inner.network_document, "proof": proof.document}
        yield Proposal(bound, proof_head("rounded", question.p.dim, bound) | fields)


def _distance(question: Question, inner: Question) -> Bound:
    """How far the checker will find the two networks apart: on every piece, or by the sizes of weights alone."""
    law, layers, exact = question.law, question.layers, inner.layers
    zero, one, box = Fraction(0), Fraction(1), question.box
    if box is None:
        constant, growth = (difference(layers, exact, [Fraction(k)] * law.n, Fraction(1 - k)) for k in (0, 1))
        if constant is None or growth is None:
            raise NotRecognised("the weights of the two networks are too large to compare")
        return (constant, growth) if growth else constant
    size = [max(abs(x), abs(y)) for x, y in zip(box.low, box.high, strict=True)]
    rough = difference(layers, exact, size, one)
    count = len(law.pieces) + sum(len(form) for layer in (*layers, *exact) for form in layer)
    near = None if rough == zero else aside(lambda: apart(law, layers, exact, size), STEPS + count**2 // 4)
    found = min((x for x in (rough, near) if x is not None), default=None)
    if found is None:
        raise NotRecognised("the weights of the two networks are too large to compare")
    return upwards(found)


# Proofs of kind "clipped": of the network behind two layers that move the input into a box.


def propose_clipped(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """What `propose` has for the network behind, on the box around the pieces."""
    found, box = unclipped(question.network), question.box
    if found is None:
        raise NotRecognised("the network does not clip its input to a box")
    if box is None:
        raise NotRecognised("the network clips its input to a box, and the pieces are not bounded")
    before = None if question.rounded_from is None else unclipped(question.rounded_from)
    if question.rounded_from is not None and before is None:
        raise NotRecognised("the exact network does not clip its input to a box")
    inner = question.of(found.inner, None if before is None else before.inner)
    ends = [*box.low, *box.high]
    apart = max(abs(x - y) for x, y in zip([*found.low, *found.high], ends, strict=True))
    moved = apart * slope(inner.layers, inner.p.dim) if apart else Fraction(0)
    reach = max(map(abs, ends))
    try:
        for proof in propose(inner):
            level, growth = pair(proof.bound)
            bound = level + growth * reach + moved
            fields = {"box": box.document(), "proof": proof.document}
            yield Proposal(bound, proof_head("clipped", question.p.dim, bound) | fields)
    except NoProof as reason:
        # A network that moves its input into another box may be the function, whatever the network behind is.
        raise NoProof(str(reason), reason.points, settles=reason.settles and not apart) from None


# Proofs of kind "optimal": that a function is the optimiser of a program for all its feasible parameters.
#
# What makes it so was found when the program was solved (`cpwl.mpqp`); here each region is placed in a piece, which may
# be several regions that were merged.


_BLOCK = 256  # regions that are looked for in all pieces at once


def _inside_of(p: CPWL, places: NDArray[np.object_]) -> NDArray[np.bool_]:
    """``[i, k]``: whether place `k`, ``(x, 1) w`` in integers, is in piece `i`."""
    rows = p.polyhedra.integer()
    row, place = np.nonzero(signs_at(np.concatenate([rows[:, :-1], -rows[:, -1:]], axis=1), places) > 0)
    inside = np.ones((p.num_pieces, len(places)), dtype=bool)
    inside[p.polyhedra.owner[row], place] = False
    return inside


def propose_optimal(question: Question, propose: Callable[[Question], Iterator[Proposal]]) -> Iterator[Proposal]:
    """What `propose` has for the function, with the proof that it is the optimiser."""
    p = question.p
    if p.known is None or p.known.optimal is None or p.mesh is not None:
        raise NotRecognised("the function is not known to be the optimiser of a program")
    document = p.known.optimal.document()
    inner = np.array([region.inner for region in p.known.optimal.regions], dtype=object)
    places = integer_rows(np.ones((len(inner), p.dim + 1)), np.column_stack([inner, [1] * len(inner)]))
    for first in range(0, len(places), _BLOCK):
        inside = _inside_of(p, places[first : first + _BLOCK])
        if not inside.any(axis=0).all():
            raise NotRecognised("a region of the program is in no piece of the function")
        for entry, piece in zip(document["regions"][first:], inside.argmax(axis=0), strict=False):
            entry["piece"] = int(piece)
    for proof in propose(question):
        yield Proposal(
            proof.bound,
            proof_head("optimal", p.dim, proof.bound) | document | {"proof": proof.document},
            proof.settles,
        )
