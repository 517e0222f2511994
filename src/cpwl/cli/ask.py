"""``cpwl ask``: exact answers about a function or a network, each question an option."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.limits import BeyondLimit
from cpwl.cli.options import BoxBounds, Work, box_domain, file_argument, load_any, path_option
from cpwl.cli.output import Code, Said, spelled
from cpwl.errors import InputError, LimitError

if TYPE_CHECKING:
    from cpwl.function import CPWL
    from cpwl.network import Network


def ask(
    path: Annotated[Path, file_argument("FILE", "File with a function or a network.")],
    largest: Annotated[bool, typer.Option("--max", help="Maximum, with a point.")] = False,
    least: Annotated[bool, typer.Option("--min", help="Minimum, with a point.")] = False,
    lipschitz: Annotated[
        list[str] | None, typer.Option(metavar="NORM", help="Lipschitz constant in the norm 1, 2 or inf.")
    ] = None,
    convex: Annotated[bool, typer.Option("--convex", help="Decide whether it is convex.")] = False,
    concave: Annotated[bool, typer.Option("--concave", help="Decide whether it is concave.")] = False,
    increasing: Annotated[
        list[str] | None,
        typer.Option(metavar="I", help="Decide whether it is nondecreasing in input I (a number from 0, or a name)."),
    ] = None,
    decreasing: Annotated[
        list[str] | None,
        typer.Option(metavar="I", help="Decide whether it is nonincreasing in input I (a number from 0, or a name)."),
    ] = None,
    depends_on: Annotated[
        list[str] | None,
        typer.Option(metavar="I", help="Decide whether it depends on input I (a number from 0, or a name)."),
    ] = None,
    solve: Annotated[list[str] | None, typer.Option(metavar="VALUE", help="Solution set {x : f(x) = VALUE}.")] = None,
    level: Annotated[
        list[str] | None, typer.Option(metavar="VALUE", help="Sublevel set {x : f(x) <= VALUE} and its volume.")
    ] = None,
    integral: Annotated[bool, typer.Option("--integral", help="Integral over a bounded domain.")] = False,
    mean: Annotated[bool, typer.Option("--mean", help="Mean over a bounded domain.")] = False,
    distance: Annotated[Path | None, path_option("FILE", "Largest distance to the function in FILE.")] = None,
    inside: Annotated[
        tuple[str, str] | None, typer.Option(metavar="LO HI", help="Decide whether all values are in [LO, HI].")
    ] = None,
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="X", help="Decide whether the largest output at X (as 0.1,0.2) stays the largest within --radius."
        ),
    ] = None,
    radius: Annotated[str | None, typer.Option(metavar="R", help="Radius for --robust, in the maximum norm.")] = None,
    invariant: Annotated[
        bool, typer.Option("--invariant", help="Decide whether the map leaves the domain invariant.")
    ] = False,
    equilibria: Annotated[bool, typer.Option("--equilibria", help="Equilibria: all x with f(x) = x.")] = False,
    output: Annotated[str | None, typer.Option(metavar="J", help="Which output: a number from 0, or a name.")] = None,
    box: BoxBounds = None,
    max_regions: Annotated[int, typer.Option(min=1, help="Networks: stop after this many linear regions.")] = 100_000,
    checkpoint: Annotated[
        Path | None, path_option("FOLDER", "Networks: save the progress of --max and --min there, and resume from it.")
    ] = None,
    *,
    work: Work,
) -> Said:
    """Answer questions about a function or a network, exactly and with a witness.

    Exit status: 0 all questions answered, and none with no; 1 an answer is no; 2 an answer is undecided.
    """
    from cpwl.dynamics import equilibria as equilibria_of
    from cpwl.dynamics import is_invariant
    from cpwl.regions.inquiry import ask as ask_about

    f = load_any(path)
    domain = box_domain(box, f.inputs)
    names = getattr(f, "names", ())
    chosen = None if output is None else _place(output, names[f.inputs :], "--output")
    up, down, on = (
        [_place(i, names[: f.inputs], option) for i in given or ()]
        for given, option in ((increasing, "--increasing"), (decreasing, "--decreasing"), (depends_on, "--depends-on"))
    )
    with work() as how:
        if checkpoint is not None and not hasattr(f, "layers"):
            raise typer.BadParameter("only questions about networks can be resumed.", param_hint="'--checkpoint'")
        desk = ask_about(
            f if chosen is None else f[chosen],
            domain=domain,
            max_regions=max_regions,
            checkpoint=checkpoint,
            **how,
        )
        ends = _Ends(desk, both=largest and least)
        questions: list[tuple[str, Callable[[], _Reply]]] = []
        for wanted, name, question in (
            (largest, "max", lambda: _extremum(ends.find("argmax"))),
            (least, "min", lambda: _extremum(ends.find("argmin"))),
            (convex, "convex", lambda: _answer(desk.is_convex())),
            (concave, "concave", lambda: _answer(desk.is_concave())),
            (integral, "integral", lambda: _number(desk.integral())),
            (mean, "mean", lambda: _number(desk.mean())),
            (invariant, "invariant", lambda: _invariance(is_invariant(_function(f, "invariant"), domain=domain))),
            (equilibria, "equilibria", lambda: _faces(equilibria_of(_function(f, "equilibria"), domain=domain))),
        ):
            if wanted:
                questions.append((name, question))
        questions += [(f"lipschitz {n}", _lipschitz_of(desk, n)) for n in lipschitz or ()]
        questions += [
            (f"increasing {i}", _monotone_of(desk, k, True)) for i, k in zip(increasing or (), up, strict=True)
        ]
        questions += [
            (f"decreasing {i}", _monotone_of(desk, k, False)) for i, k in zip(decreasing or (), down, strict=True)
        ]
        questions += [(f"depends on {i}", _depends_of(desk, k)) for i, k in zip(depends_on or (), on, strict=True)]
        questions += [(f"solve {v}", _solve_of(desk, v)) for v in solve or ()]
        questions += [(f"level {v}", _level_of(f, v, chosen, domain)) for v in level or ()]
        if distance is not None:
            other = load_any(distance)
            questions.append(("distance", lambda: _distance(_between(f, other, domain))))
        if inside is not None:
            questions.append((f"inside {inside[0]} {inside[1]}", lambda: _answer(desk.inside(box=inside))))
        if (robust is None) != (radius is None):
            raise typer.BadParameter("--robust and --radius go together.", param_hint="'--robust'")
        if robust is not None:
            at = [v for v in robust.replace(",", " ").split() if v]
            questions.append((f"robust {robust}", lambda: _answer(desk.is_robust(at, radius))))
        if not questions:
            raise typer.BadParameter("give a question, such as --max or --convex.")
        replies = _all_asked(questions)
    labels = getattr(f, "labels", ())
    named = {"inputs": labels[: f.inputs], "outputs": labels[f.inputs :]} if labels else {}
    head = [f"x = ({', '.join(labels[: f.inputs])}), value = {', '.join(labels[f.inputs :])}"] if labels else []
    held = [reply.holds for reply in replies.values()]
    return Said(
        "\n".join([*head, *(f"{name}: {reply.text}" for name, reply in replies.items())]),
        {"file": str(path), **named, "answers": {name: reply.data for name, reply in replies.items()}},
        Code.REFUTED if False in held else Code.UNDECIDED if None in held else Code.DONE,
    )


def _place(word: str, names: tuple[str, ...], option: str) -> int:
    """The number of an input or output that is given by its number or by its name."""
    if word in names:
        return names.index(word)
    if not word.isdecimal():
        known = f" and not one of {', '.join(names)}" if names else ""
        raise typer.BadParameter(f"{word} is not a number from 0 on{known}.", param_hint=f"'{option}'")
    return int(word)


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer for people and for machines; `holds` is True unless it is a no or undecided."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    holds: bool | None = True


def _all_asked(questions: list[tuple[str, Callable[[], _Reply]]]) -> dict[str, _Reply]:
    """What was answered in time; the rest is undecided."""
    replies, over = {}, ""
    for name, question in questions:
        try:
            replies[name] = _undecided(over) if over else _asked(question)
        except BeyondLimit as reason:
            over = str(reason)
            replies[name] = _undecided(over)
    return replies


def _undecided(reason: str) -> _Reply:
    reason = spelled(reason, {"max_regions": "--max-regions"})
    return _Reply(f"undecided: {reason}", {"undecided": reason}, None)


def _asked(question: Callable[[], _Reply]) -> _Reply:
    """What a question gives; beyond our limits it is undecided."""
    try:
        return question()
    except LimitError as error:
        return _undecided(str(error))


@dataclass(slots=True)
class _Ends:
    """The largest and the least value; where both are wanted they are looked for together."""

    desk: Any
    both: bool
    found: Any = None

    def find(self, which: str) -> Any:
        if not self.both:
            return getattr(self.desk, which)()
        if self.found is None:
            self.found = self.desk.range()
        return getattr(self.found, which)


def _function(f: CPWL | Network, option: str) -> CPWL:
    """A function, for the questions that only functions answer."""
    from cpwl.function import CPWL

    if not isinstance(f, CPWL):
        raise InputError(f"--{option} needs a function: `cpwl extract` computes the function of a network")
    return f


def _between(f: CPWL | Network, other: CPWL | Network, domain: Any) -> Any:
    """Of two functions the mean gap, too."""
    from cpwl.equality import distance
    from cpwl.function import CPWL

    if isinstance(f, CPWL) and isinstance(other, CPWL):
        return f.distance(other, domain=domain)
    return distance(f, other, domain=domain)


def _lipschitz_of(desk: Any, norm: str) -> Callable[[], _Reply]:
    if norm not in ("1", "2", "inf"):
        raise typer.BadParameter(f"{norm} is none of 1, 2, inf.", param_hint="'--lipschitz'")

    def reply() -> _Reply:
        found = desk.lipschitz(norm if norm == "inf" else int(norm))
        data = {
            "value": float(found),
            "low": _exact(found.low),
            "high": _exact(found.high),
            "square": None if found.square is None else _exact(found.square),
            "piece": found.piece,
            "points": [_point(x) for x in found.points],
            "complete": found.complete,
        }
        return _Reply(str(found), data, True if found.complete else None)

    return reply


def _monotone_of(desk: Any, i: int, increasing: bool) -> Callable[[], _Reply]:
    return lambda: _answer(desk.is_monotone(i, increasing=increasing))


def _depends_of(desk: Any, i: int) -> Callable[[], _Reply]:
    return lambda: _answer(desk.depends_on(i))


def _solve_of(desk: Any, value: str) -> Callable[[], _Reply]:
    return lambda: _faces(desk.solve(value))


def _level_of(f: CPWL | Network, value: str, output: int | None, domain: Any) -> Callable[[], _Reply]:
    from cpwl.function.answers import number_text

    def reply() -> _Reply:
        found = _function(f, "level").level_set(value, output=output, domain=domain)
        data: dict[str, Any] = {"polyhedra": len(found)}
        if found.polyhedra.dim > 3:
            return _Reply(f"{len(found)} polyhedra", data)
        volume = found.volume
        return _Reply(f"{len(found)} polyhedra, volume {number_text(volume)}", {**data, "volume": _exact(volume)})

    return reply


def _extremum(found: Any) -> _Reply:
    data = {
        "value": None if abs(found.value) == math.inf else float(found.value),
        "exact": _exact(found.value),
        "point": [float(v) for v in found.point],
        "point_exact": _point(found.point),
        "ray": None if found.ray is None else _point(found.ray),
        "piece": found.piece,
        "complete": found.complete,
    }
    return _Reply(str(found), data, True if found.complete else None)


def _answer(found: Any) -> _Reply:
    data = {
        "holds": found.holds,
        "reason": found.reason,
        "points": [_point(x) for x in found.points],
        "values": [_point(x) for x in found.values],
        "slack": _exact(found.slack),
    }
    return _Reply(str(found), data, found.holds)


def _invariance(found: Any) -> _Reply:
    data = {
        "holds": found.holds,
        "cells": len(found.proof),
        "point": None if found.point is None else _point(found.point),
        "value": None if found.value is None else _point(found.value),
    }
    return _Reply(str(found), data, found.holds)


def _faces(found: Any) -> _Reply:
    faces = [
        {"dim": f.dim, "points": [_point(x) for x in f.points], "rays": [_point(x) for x in f.rays]}
        for f in found.faces
    ]
    shown = "; ".join(" - ".join("(" + ", ".join(x) + ")" for x in f["points"]) for f in faces[:10])
    more = f" and {len(faces) - 10} more" if len(faces) > 10 else ""
    return _Reply(f"{shown}{more}" if faces else "nowhere", {"faces": faces})


def _distance(found: Any) -> _Reply:
    data = {
        "largest": _exact(found.largest),
        "point": _point(found.point),
        "mean": None if found.mean is None else _exact(found.mean),
    }
    return _Reply(str(found), data)


def _number(value: Fraction) -> _Reply:
    from cpwl.function.answers import number_text

    return _Reply(number_text(value), {"value": float(value), "exact": _exact(value)})


def _exact(value: Any) -> str:
    """A rational as "p/q"; one with thousands of digits as the nearest float."""
    if not isinstance(value, Fraction):
        return "infinity" if value > 0 else "-infinity"
    return (
        str(value) if max(value.numerator.bit_length(), value.denominator.bit_length()) < 14_000 else repr(float(value))
    )


def _point(x: Any) -> list[str]:
    return [_exact(v) for v in x]
