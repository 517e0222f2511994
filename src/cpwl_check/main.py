"""The command line, and the verdict: what was proved, how well, and about how much.

Exit status 0: proved, 1: refused, 2: not decided (a limit was reached), 64: wrong usage, 65: unreadable file, 70: a
mistake of the checker. A bound above --max-error, by default 1e-4 of the largest coefficient of the laws, is refused;
of two networks, by default every bound above 0.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import Any

from cpwl_check.budget import STEPS, Refused, Undecided, aside, limited, need
from cpwl_check.cones import outside, region, shape
from cpwl_check.decide import check, is_network
from cpwl_check.integer import exactness
from cpwl_check.near import unavoidable
from cpwl_check.optimal import is_definite, read_program
from cpwl_check.pieces import Bound, Law, laws_of, pair, read_function
from cpwl_check.reading import RATIONAL, Rational, load, number, shown

USAGE = """usage: python -m cpwl_check law.json net.json law.proof.json [--max-error NUMBER] [--json]
       python -m cpwl_check a.json b.json proof.json [--box LOW HIGH] [--max-error NUMBER] [--json]
The second form compares two networks on R^n, or where every coordinate is from LOW to HIGH. Bounds of their own for
every coordinate are written --box LO,HI LO,HI .."""
MEMORY = 2**30  # bytes that the program may use
PARSED = 100  # and for each byte of the files: JSON takes up to thirty as objects of Python
Box = list[tuple[Rational, Rational]]  # one pair for all coordinates, or one for each
WORDS = {0: "proved", 1: "refused", 2: "not decided", 65: "unreadable", 70: "failed"}


def main(arguments: list[str]) -> int:
    """Prints the verdict in one line, and returns the exit status."""
    words = list(arguments)
    as_json = "--json" in words
    if as_json:
        words.remove("--json")
    most = box = None
    if "--max-error" in words[:-1]:
        k = words.index("--max-error")
        most = allowed_error(words[k + 1])
        words = words[:k] + words[k + 2 :] if most is not None else []
    if "--box" in words[:-1]:
        box, words = stated_box(words)
    if len(words) != 3 or any(word.startswith("--") for word in words):
        print(USAGE, file=sys.stderr)
        return 64
    code, found = verdict(words, most, box)
    print(json.dumps({"verdict": WORDS[code]} | found) if as_json else f"{WORDS[code]}: {found['reason']}")
    return code


def run(arguments: list[str]) -> int:
    """`main` as a program of its own, which may have long numbers, and a limited memory where there is such a limit."""
    getattr(sys, "set_int_max_str_digits", int)(0)  # `load` has its own limit
    try:
        import resource

        size = sum(path.stat().st_size for path in map(Path, arguments) if path.is_file())
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY + PARSED * size, resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError):  # this is no Unix, or it has no such limit
        pass
    return main(arguments)


def stated_box(words: list[str]) -> tuple[Box | None, list[str]]:
    """The box, and the words without it; no words if it is not one of numbers."""
    first = words.index("--box") + 1
    pairs = list(takewhile(lambda word: word.count(",") == 1, words[first:]))
    end = first + (len(pairs) or 2)
    read = [[rational(end) for end in pair.split(",")] for pair in pairs or [",".join(words[first:end])]]
    box = [(pair[0], pair[1]) for pair in read if len(pair) == 2 and pair[0] is not None and pair[1] is not None]
    return (box, words[: first - 1] + words[end:]) if len(box) == len(read) else (None, [])


def rational(word: str) -> Rational | None:
    try:
        return number(word) if RATIONAL.fullmatch(word) else number(float(word))
    except ValueError:
        return None


def allowed_error(word: str) -> Rational | None:
    value = rational(word)
    return value if value is not None and value >= 0 else None


def verdict(
    paths: list[str],
    most: Rational | None,
    box: Box | None = None,
    check: Callable[..., Bound] = check,
) -> tuple[int, dict[str, Any]]:
    """The exit status, and what there is to say; `check` may share out the work."""
    try:
        function, network, proof = map(load, paths)
        if is_network(function):
            return between_networks(function, network, proof, most or Fraction(0), box)
        need(box is None, "--box", "a function has its own pieces; a box is for two networks")
        bound = check(function, network, proof)
        with limited():
            law = read_function(function)
            shapes = [shape(piece, law.n) for piece in law.pieces]
            found = summary(law, shapes, proof, bound)
            off = sum(pair(bound))
            allowed = most if most is not None else usual_error(law, shapes) if off else Fraction(0)
    except Refused as reason:
        return 1, {"reason": str(reason)}
    except (Undecided, MemoryError) as reason:
        return 2, {"reason": str(reason) or "out of memory"}
    except (OSError, ValueError, RecursionError) as reason:
        return 65, {"reason": str(reason)}
    except Exception as reason:  # a mistake of the checker is neither a proof nor a refusal
        return 70, {"reason": f"{type(reason).__name__}: {reason}"}
    said = sentence(found, law, bound)
    if off > allowed:
        more = f"the bound allowed is {shown(allowed)}; --max-error sets another one"
        return 1, {**found, "reason": f"only {said}: {more}"}
    return 0, {**found, "reason": said}


def between_networks(
    first: Any, second: Any, proof: Any, most: Rational, box: Box | None
) -> tuple[int, dict[str, Any]]:
    """The same for two networks, on a box or on all of R^n: it is not the proof that says where."""
    n, domain, where = first.get("inputs"), None, "on all of R^n"
    if box is not None:
        need(type(n) is int and 0 < n < 1000, "network.inputs", "this is not a number of inputs that a box may have")
        need(len(box) in (1, n), "--box", f"{len(box)} pairs LO,HI for {n} inputs: give one for each")
        low, high = zip(*(box * n if len(box) == 1 else box), strict=True)
        A = [[s * (i == j) for j in range(n)] for s in (1, -1) for i in range(n)]
        domain = {"A": A, "b": [*map(str, high), *(str(-x) for x in low)]}
        where = f"where every coordinate is from {box[0][0]} to {box[0][1]}"
        if len(box) > 1:
            where = "where " + ", ".join(f"{a} <= x{i} <= {b}" for i, (a, b) in enumerate(box))
    try:
        bound = check(first, second, proof, domain)
    except Refused as error:
        hint = "" if box is not None else "; for networks that were compared on a box, add --box LOW HIGH"
        raise Refused(f"{where}: {error}{hint}", error.places) from None
    off = sum(pair(bound))
    cells = sum(map(len, proof["pieces"]))
    found: dict[str, Any] = {
        "kind": "regions",
        "error_bound": upwards(off),
        "box": box and [[str(a), str(b)] for a, b in box],
    }
    found["cells"] = cells
    near = f"the largest difference of the networks is {upwards(off)}" if off else "the networks are equal"
    said = f"{near} {where}, in exact arithmetic (kind regions; {cells} cells)"
    if off > most:
        said = f"{said}: that is more than {upwards(most)}, which is allowed; --max-error allows more"
    return int(off > most), {**found, "reason": said}


def upwards(x: Rational) -> float:
    """A float that is not smaller."""
    try:
        near = float(x)
    except OverflowError:
        return math.inf if x > 0 else -sys.float_info.max
    return near if near >= x else math.nextafter(near, math.inf)


def usual_error(law: Law, shapes: list[str]) -> Fraction:
    """What a bound may be if nothing else is said: 1e-4 of the largest coefficient of the laws. Only pieces that are
    seen to have an interior count: of the others a file may say anything."""
    largest = Fraction(0)
    try:
        for piece, seen in zip(law.pieces, shapes, strict=True):
            if seen == "solid":
                for values, d in laws_of(piece):
                    largest = max(largest, Fraction(max(map(abs, values)), d))
    except Undecided as reason:
        raise Undecided(f"proved, but the usual bound is not known; state one with --max-error: {reason}") from None
    return (largest or Fraction(1)) / 10**4


def covers(law: Law) -> bool | None:
    """Whether the pieces cover the stated domain; None if none is stated, or that is not seen in some steps.

    A domain without interior counts as not covered: whoever stated it meant another one.
    """
    domain = law.domain
    if domain is None or any(piece.corners for piece in law.pieces):
        return None
    bodies = [[row for row, _ in piece.rows.values()] for piece in law.pieces]

    def covered() -> bool:
        whole = region(law.n, domain)
        return whole.is_solid() and not any(part.is_solid() for part in outside(whole, bodies))

    return aside(covered, steps=STEPS)


def summary(law: Law, shapes: list[str], proof: Any, bound: Bound) -> dict[str, Any]:
    """What the verdict counts."""
    count = Counter(shapes)
    kinds, box, inner = list[str](), None, proof
    while type(inner) is dict:
        kinds, box, inner = [*kinds, inner["kind"]], box or inner.get("box"), inner.get("proof")
    a, b = pair(bound)
    jump = proof.get("jump") if kinds[0] == "near" else None
    least = unavoidable(law, jump) if jump is not None else None
    return {
        "kind": " of ".join(kinds),
        "error_bound": upwards(a),
        "growth": upwards(b),
        "box": box and {"low": box["low"], "high": box["high"]},
        "pieces": len(law.pieces) + law.flat,
        "empty": count["empty"],
        "flat": count["flat"] + law.flat,
        "open": count["open"],
        "covers_domain": covers(law),
        "unavoidable": least and -upwards(-least),
        "optimal": optimality(proof, law.n) if kinds[0] == "optimal" else None,
        "integer": exactness(proof) if kinds[0] == "integer" else None,
    }


def optimality(proof: Any, n: int) -> str:
    """What a proof of kind "optimal" says of the function."""
    the = "the" if is_definite(read_program(proof["program"], n)) else "an"
    return f"the function is {the} optimiser of the program, for all feasible parameters"


def sentence(found: dict[str, Any], law: Law, bound: Bound) -> str:
    """What was proved, in one line."""
    a, b = pair(bound)
    near = "network = function"
    if a or b:
        near = f"|network - function| <= {shown(a)}{f' + {shown(b)} max |x_i|' if b else ''}"
    counts = [
        f"{found['pieces']} piece{'s' if found['pieces'] != 1 else ''}",
        *(f"{found[word]} {word}" for word in ("empty", "flat", "open") if found[word]),
    ]
    told = {
        True: "they cover the domain",
        False: "they do not cover the domain",
        None: "whether they cover the domain was not determined",
    }
    domain = "no domain is stated" if law.domain is None else told[found["covers_domain"]]
    box = f"; box from {found['box']['low']} to {found['box']['high']}" if found["box"] and (a or b) else ""
    least = found["unavoidable"]
    half = f"; overlapping pieces disagree: no function is within {least:.3g}" if least else ""
    more = f"{', '.join(counts)}; {domain}{box}{half}"
    said = f"{near} on every piece, in exact arithmetic (kind {found['kind']}; {more})"
    return "; ".join([said, *(found[word] for word in ("optimal", "integer") if found[word])])
