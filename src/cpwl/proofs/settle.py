"""A proof checked by several workers: each looks at a share of the pieces, and together they have seen all of them.

Workers can only accept. What they do not accept together, within the steps that one run has, is checked here as a
whole; so what is said about a proof is what the stand-alone checker says, whoever did the work.
"""

from __future__ import annotations

import sys
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeAlias

from cpwl.executors import spread, workers_of
from cpwl.proofs.rounding import Bound
from cpwl_check import main
from cpwl_check.budget import SHARE, Refused, Undecided, limited
from cpwl_check.decide import check, checked

__all__ = ["settle", "verdict"]

_KINDS = ("bends", "clamped")  # whose checkers go through `share`
_FEW = 32  # pieces that are not worth sending
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
    return type(pieces) is list and len(pieces) >= _FEW and any(kind in _KINDS for kind in kinds)


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
