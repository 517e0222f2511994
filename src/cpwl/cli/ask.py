"""``cpwl ask``: exact answers about a function or a network, each question an option."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpwl.cli.limits import BeyondLimit
from cpwl.cli.shared import (
    BoxBounds,
    Code,
    Said,
    Work,
    box_domain,
    box_of,
    file_argument,
    load_any,
    path_option,
    spelled,
)
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
    """Answer questions about a function or a network. Answers are exact and have a witness.

    Exit status: 0 if every question is answered and no answer is "no"; 1 if an answer is "no"; 2 if one is undecided.
    """
    from cpwl.dynamics import equilibria as equilibria_of
    from cpwl.dynamics import is_invariant
    from cpwl.regions.inquiry import ask as ask_about

    f = load_any(path)
    domain = box_domain(box, f.inputs)
    names = getattr(f, "names", ())
    inputs = names[: f.inputs]
    chosen = None if output is None else _place(output, count=f.outputs, names=names[f.inputs :], option="--output")
    if (robust is None) != (radius is None):
        raise typer.BadParameter("--robust and --radius go together.", param_hint="'--robust'")
    target = box_of(inside, 1, "'--inside'")
    at = [] if robust is None else robust.replace(",", " ").split()
    other = None if distance is None else load_any(distance)
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
        both = cache(desk.range)  # where both ends are wanted they are searched together
        single: tuple[tuple[bool, str, Callable[[], Any]], ...] = (
            (largest, "max", lambda: both().argmax if least else desk.argmax()),
            (least, "min", lambda: both().argmin if largest else desk.argmin()),
            (convex, "convex", desk.is_convex),
            (concave, "concave", desk.is_concave),
            (integral, "integral", desk.integral),
            (mean, "mean", desk.mean),
            (invariant, "invariant", lambda: is_invariant(_function(f, "invariant"), domain=domain)),
            (equilibria, "equilibria", lambda: equilibria_of(_function(f, "equilibria"), domain=domain)),
            (other is not None, "distance", lambda: _between(f, other, domain)),
            (inside is not None, f"inside {' '.join(inside or ())}", lambda: desk.inside(box=target)),
            (robust is not None, f"robust {robust}", lambda: desk.is_robust(at, radius)),
        )
        place, monotone = partial(_place, count=f.inputs, names=inputs), desk.is_monotone
        several: tuple[tuple[list[str] | None, str, Callable[[str], Any], Callable[..., Any]], ...] = (
            (lipschitz, "lipschitz", _norm, desk.lipschitz),
            (increasing, "increasing", partial(place, option="--increasing"), partial(monotone, increasing=True)),
            (decreasing, "decreasing", partial(place, option="--decreasing"), partial(monotone, increasing=False)),
            (depends_on, "depends on", partial(place, option="--depends-on"), desk.depends_on),
            (solve, "solve", str, desk.solve),
            (level, "level", str, lambda v: _function(f, "level").level_set(v, output=chosen, domain=domain)),
        )
        questions = {name: question for wanted, name, question in single if wanted}
        for words, name, convert, question in several:
            questions |= {f"{name} {word}": partial(question, convert(word)) for word in words or ()}
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


def _place(word: str, *, count: int, names: tuple[str, ...], option: str) -> int:
    """The number of an input or output that is given by its number or by its name."""
    if word in names:
        return names.index(word)
    if not word.isdecimal() or int(word) >= count:
        known = f" and not one of {', '.join(names)}" if names else ""
        raise typer.BadParameter(f"{word} is not a number from 0 to {count - 1}{known}.", param_hint=f"'{option}'")
    return int(word)


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer for people and for machines; `holds` is True unless it is a no or undecided."""

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    holds: bool | None = True


def _all_asked(questions: dict[str, Callable[[], Any]]) -> dict[str, _Reply]:
    """What was answered in time; the rest is undecided, and so is what is beyond our limits."""
    replies, over = {}, ""
    for name, question in questions.items():
        try:
            replies[name] = _undecided(over) if over else _reply(question())
        except LimitError as error:
            replies[name] = _undecided(str(error))
        except BeyondLimit as reason:
            over = str(reason)
            replies[name] = _undecided(over)
    return replies


def _undecided(reason: str) -> _Reply:
    reason = spelled(reason, {"max_regions": "--max-regions"})
    return _Reply(f"undecided: {reason}", {"undecided": reason}, None)


def _function(f: CPWL | Network, option: str) -> CPWL:
    """A function, for the questions that only functions answer."""
    from cpwl.function import CPWL

    if not isinstance(f, CPWL):
        raise InputError(f"--{option} needs a function: `cpwl extract` computes the function of a network")
    return f


def _between(f: CPWL | Network, other: Any, domain: Any) -> Any:
    """Of two functions the mean gap, too."""
    from cpwl.equality import distance
    from cpwl.function import CPWL

    if isinstance(f, CPWL) and isinstance(other, CPWL):
        return f.distance(other, domain=domain)
    return distance(f, other, domain=domain)


def _norm(word: str) -> int | str:
    if word not in ("1", "2", "inf"):
        raise typer.BadParameter(f"{word} is not 1, 2 or inf.", param_hint="'--lipschitz'")
    return word if word == "inf" else int(word)


# The fields of an answer that machines are told, by its kind.
_FIELDS = {
    "Answer": "holds reason points values slack",
    "Distance": "largest point mean",
    "Extremum": "piece complete ray",
    "Invariance": "holds point value",
    "Lipschitz": "low high square piece points complete",
}


def _reply(found: Any) -> _Reply:
    """An answer of any kind: in words, and by its fields, numbers exactly."""
    from cpwl.function.answers import number_text

    kind = type(found).__name__
    if kind == "Fraction":
        return _Reply(number_text(found), {"value": float(found), "exact": _exact(found)})
    if kind == "LevelSet":
        whole = {"polyhedra": len(found)}
        if found.polyhedra.dim > 3:
            return _Reply(f"{len(found)} polyhedra", whole)
        text = f"{len(found)} polyhedra, volume {number_text(found.volume)}"
        return _Reply(text, {**whole, "volume": _exact(found.volume)})
    if kind == "Solutions":
        faces = [{name: _exact(getattr(face, name)) for name in ("dim", "points", "rays")} for face in found.faces]
        ends = [[["(" + ", ".join(x) + ")" for x in face[name]] for name in ("points", "rays")] for face in faces]
        shown = "; ".join(" along ".join([" - ".join(points), *rays]) for points, rays in ends[:10])
        more = f" and {len(faces) - 10} more" if len(faces) > 10 else ""
        return _Reply(f"{shown}{more}" if faces else "nowhere", {"faces": faces})
    data = {name: _exact(getattr(found, name)) for name in _FIELDS[kind].split()}
    if kind == "Extremum":
        data |= {"value": None if abs(found.value) == math.inf else float(found.value), "exact": _exact(found.value)}
        data |= {"point": [float(v) for v in found.point], "point_exact": _exact(found.point)}
    elif kind == "Lipschitz":
        data["value"] = float(found)
    elif kind == "Invariance":
        data["cells"] = len(found.proof)
    return _Reply(str(found), data, data["holds"] if "holds" in data else data.get("complete", True) or None)


def _exact(value: Any) -> Any:
    """Rationals as "p/q", those with thousands of digits as the nearest float; points and lists of them as lists."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Fraction):
        short = max(value.numerator.bit_length(), value.denominator.bit_length()) < 14_000
        return str(value) if short else repr(float(value))
    return [_exact(v) for v in value] if hasattr(value, "__len__") else "infinity" if value > 0 else "-infinity"
