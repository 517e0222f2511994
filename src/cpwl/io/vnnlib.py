"""`to_vnnlib`: a folder of verification queries about a network, with the truth about each."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from cpwl.compiled import Compiled, held_parts
from cpwl.compiler import compiled_network
from cpwl.doors import check_argument, check_choice, check_limit, check_number, check_path, within_float64
from cpwl.errors import InputError, LimitError
from cpwl.exact.rational import text
from cpwl.files import write_text
from cpwl.function.answers import point_text
from cpwl.function.cpwl import CPWL
from cpwl.function.domain import Box, domain_box, domain_rows
from cpwl.geometry.polyhedra import box_polyhedron
from cpwl.io.c.write import box_ends, rounded_box
from cpwl.io.milp import Extreme, extremes
from cpwl.io.onnx.write import to_onnx
from cpwl.io.weights import Dtype
from cpwl.network.network import Network, rounded

# Queries about the outputs of a network on a box, with their answers.
#
# A VNN-LIB file describes counterexamples: inputs in the box whose outputs satisfy the assertion. It is *sat* if one
# exists, so that the property fails, and *unsat* if none does, so that it holds. If `v` is the largest value of an
# output, then ``Y >= c`` is unsat for every ``c > v`` and sat, at the point where `v` is attained, for every ``c < v``;
# for the least value the other way round.


Answer: TypeAlias = Literal["sat", "unsat"]
Point: TypeAlias = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question with its answer.

    Attributes
    ----------
    name : str
        What its file is called.
    about : str
        The question, in words.
    cases : tuple
        Triples ``(k, sign, bound)``: a counterexample has ``sign * Y_k >= bound`` in one of them.
    answer : {"sat", "unsat"}
        Whether there is one.
    value : Fraction
        The exact extreme value that decides.
    threshold : Fraction
        What it is compared with.
    witness : tuple of Fraction, or None
        A counterexample.
    """

    name: str
    about: str
    cases: tuple[tuple[int, int, Fraction], ...]
    answer: Answer
    value: Fraction
    threshold: Fraction
    witness: Point | None

    @property
    def assertion(self) -> str:
        """What a counterexample must satisfy, in VNN-LIB."""
        terms = [
            f"(>= Y_{k} {decimal(bound)})" if sign > 0 else f"(<= Y_{k} {decimal(-bound)})"
            for k, sign, bound in self.cases
        ]
        either = " ".join(f"(and {term})" for term in terms)
        return f"(assert {terms[0]})" if len(terms) == 1 else f"(assert (or {either}))"

    def fails(self, values: Sequence[Fraction]) -> bool:
        """Whether these outputs are a counterexample."""
        return any(sign * values[k] >= bound for k, sign, bound in self.cases)


def queries_of_ranges(outputs: Sequence[Extreme], margin: Fraction) -> Iterator[Query]:
    """Four for each output: just beyond its largest and its least value, and just short of them."""
    for k, found in enumerate(outputs):
        step = margin * (max(found.high - found.low, abs(found.high), abs(found.low)) or 1)
        for end, value, point, sign in (("max", found.high, found.highest, 1), ("min", found.low, found.lowest, -1)):
            word, relation = ("largest", ">=") if sign > 0 else ("least", "<=")
            for answer, away in (("unsat", sign), ("sat", -sign)):
                threshold = _short(value, step, away)
                yield Query(
                    f"y{k}_{end}_{answer}",
                    f"the {word} value of Y_{k} on the box is {value}: is Y_{k} {relation} {float(threshold):.9g}?",
                    ((k, sign, sign * threshold),),
                    answer,  # type: ignore[arg-type]
                    value,
                    threshold,
                    point if answer == "sat" else None,
                )


def queries_of_equivalence(outputs: Sequence[Extreme], margin: Fraction) -> Iterator[Query]:
    """Do two networks differ somewhere by so much? The outputs are those of their difference."""
    found = max(outputs, key=lambda e: max(e.high, -e.low))
    gap = max(found.high, -found.low)
    point = found.highest if found.high == gap else found.lowest
    cases: list[tuple[Answer, Fraction]] = [("unsat", _short(gap, margin * (gap or 1), 1))]
    if gap > 0:
        cases.append(("sat", _short(gap, margin * gap, -1)))
    for answer, threshold in cases:
        yield Query(
            f"equal_{answer}",
            f"the difference in the file is at most {gap} on the box: is it {float(threshold):.9g} or more somewhere?",
            tuple((k, sign, threshold) for k in range(len(outputs)) for sign in (1, -1)),
            answer,
            gap,
            threshold,
            point if answer == "sat" else None,
        )


def decimal(value: Fraction) -> str:
    """The number in decimals, all of them; the denominator must have no other factors than 2 and 5.

    >>> decimal(Fraction(-3, 8)), decimal(Fraction(5)), decimal(Fraction(1, 40))
    ('-0.375', '5.0', '0.025')
    """
    with localcontext(Context(prec=_DIGITS, traps=[Inexact])):
        written = format(Decimal(value.numerator) / value.denominator, "f")
    return written if "." in written else f"{written}.0"


_DIGITS = 2000  # of a number in decimals; a double has at most 767 of them, and 1,074 behind the point


def _short(value: Fraction, step: Fraction, away: int) -> Fraction:
    """A number with few decimals, between half a step and a step above (`away` 1) or below (-1) the value."""
    digits = max(0, 2 - math.floor(math.log10(float(step)))) if step < 1 else 0
    scale = 10**digits
    near = value + away * step * Fraction(3, 4)
    found = Fraction(round(near * scale), scale)
    assert (found - value) * away > 0
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """The content of the folder: the queries, and their network and box."""

    folder: Path
    queries: tuple[Query, ...]
    network: Network
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]

    def __repr__(self) -> str:
        answers = [query.answer for query in self.queries]
        return f"Benchmark({self.folder}: {answers.count('sat')} sat, {answers.count('unsat')} unsat)"


@within_float64()
def to_vnnlib(
    source: CPWL | Network | Compiled,
    folder: str | os.PathLike[str],
    *,
    box: tuple[Any, Any] | None = None,
    against: CPWL | Network | Compiled | None = None,
    dtype: Dtype = "float32",
    margin: float = 1e-3,
    timeout: int = 60,
    max_regions: int | None = 100_000,
) -> Benchmark:
    """Write a verification benchmark with ground truth: ``instances.csv``, ONNX and VNN-LIB files.

    The exact range of every output on the box comes from all linear regions of the network in the ONNX file, with
    weights rounded to the type. Queries ask for values slightly outside the range (unsat) and slightly inside it
    (sat, with a counterexample in ``ground_truth.json``). With `against`, they ask instead whether two networks differ
    by a given amount; the file then has the network of the difference. See docs/howto/vnnlib.md.

    Parameters
    ----------
    source, against : CPWL, Network or Compiled
        Functions are compiled first.
    folder : path-like
        A new folder, or an empty one.
    box : pair, optional
        ``(low, high)`` within the domain of a function; by default that domain, if it is a box. Ends are rounded
        inwards to the type.
    dtype : {"float32", "float64"}
        The type of the ONNX file.
    margin : float
        The distance of a query from the extreme value, relative to the size of the outputs.
    timeout : int
        Seconds for each instance, for ``instances.csv``.
    max_regions : int, optional
        Stop with a `LimitError` beyond this many regions.

    Returns
    -------
    Benchmark
        The queries with their answers.

    Raises
    ------
    InputError
        If there is no box, or the folder is not empty.
    LimitError
        If the network has too many regions to find the answers.
    """
    for value in (source,) if against is None else (source, against):
        check_argument(value, (CPWL, Network, Compiled), "to_vnnlib")
    check_path(folder, "to_vnnlib")
    check_choice(dtype, ("float32", "float64"), "dtype")
    check_number(margin, "margin", above=0.0)
    check_limit(timeout, "timeout")
    check_limit(max_regions)
    target = Path(os.fsdecode(folder))
    check_new_folder(target)
    network = compiled_network(source)
    network = rounded(network if against is None else network - compiled_network(against), dtype)
    low, high = _box(source, box, dtype)
    for value in (source,) if against is None else (source, against):
        function = held_parts(value)[0]
        if function is not None and not (isinstance(value, Compiled) and value.outside == "clip"):
            _check_inside((list(low), list(high)), function)
    found = extremes(network, box_polyhedron((list(low), list(high)), len(low)), max_regions)
    if found is None:
        raise LimitError(
            f"the network has more than {max_regions:,} regions on the box: the answers were not determined"
        )
    make = queries_of_ranges if against is None else queries_of_equivalence
    queries = tuple(make(found[-1], Fraction(margin)))
    _check_witnesses(network, queries)
    made = Benchmark(target, queries, network, low, high)
    _write(made, dtype, timeout)
    return made


def check_new_folder(folder: Path) -> None:
    """Refuse what is there and not an empty folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        what = "is a file" if not folder.is_dir() else "is not empty"
        raise InputError(f"`{folder}` {what}: name a new folder", path=str(folder))
    if not folder.absolute().parent.is_dir():
        raise InputError(f"cannot write `{folder}`: there is no directory `{folder.absolute().parent}`")


def _box(source: CPWL | Network | Compiled, box: Any, dtype: str) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """The box with ends of the type, as exact numbers."""
    function, network = held_parts(source)
    ends: Box | None = None if function is None else domain_box(function)
    if box is not None:
        ends = box_ends(box, (network or function).inputs)  # type: ignore[union-attr]  # one of them is there
    if ends is None:
        raise InputError("a query needs a bounded box of inputs: give it as `box`")
    low, high = rounded_box(ends, dtype)
    if not (low < high).all():
        raise InputError(f"the box has an input with at most one number of type {dtype} in it")
    return tuple(Fraction(float(v)) for v in low), tuple(Fraction(float(v)) for v in high)


def _check_inside(ends: Box, function: CPWL) -> None:
    """Refuse a box beyond the domain of the function, where the network means nothing."""
    try:
        rows = [] if function.tol else domain_rows(function).tolist()
    except InputError:  # it is not known: the caller's box alone counts, as for float pieces
        return
    for *normal, offset in rows:
        corner = [high if a > 0 else low for a, low, high in zip(normal, *ends, strict=True)]
        if sum(a * x for a, x in zip(normal, corner, strict=True)) > offset:
            place = point_text([float(x) for x in corner])
            raise InputError(f"the box reaches beyond the domain of the function, as far as x = {place}")


def _check_witnesses(network: Network, queries: tuple[Query, ...]) -> None:
    """Every counterexample is one, also when its coordinates are rounded to doubles."""
    for query in queries:
        if query.witness is None:
            continue
        near = np.array([[Fraction(float(v)) for v in query.witness]], dtype=object)
        if not query.fails(network(near)[0]):
            raise InputError(f"the counterexample of {query.name} is lost when it is rounded: use a larger `margin`")


def _write(made: Benchmark, dtype: Dtype, timeout: int) -> None:
    """All files into a folder beside, which takes its place when complete."""
    draft = made.folder.absolute().with_name(f".{made.folder.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        for part in ("onnx", "vnnlib"):
            (draft / part).mkdir(parents=True)
        to_onnx(made.network, draft / "onnx" / "network.onnx", dtype=dtype)
        for query in made.queries:
            write_text(draft / "vnnlib" / f"{query.name}.vnnlib", _text(made, query))
        rows = io.StringIO()
        csv.writer(rows, lineterminator="\n").writerows(
            ["onnx/network.onnx", f"vnnlib/{query.name}.vnnlib", timeout] for query in made.queries
        )
        write_text(draft / "instances.csv", rows.getvalue())
        write_text(draft / "ground_truth.json", json.dumps(_truth(made), indent=1) + "\n")
        os.replace(draft, made.folder.absolute())
    except OSError as error:
        raise InputError(f"cannot write `{made.folder}`: {error.strerror or error}", path=str(made.folder)) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _text(made: Benchmark, query: Query) -> str:
    """The query in VNN-LIB."""
    n, m = len(made.low), made.network.outputs
    lines = [f"; {query.about}", f"; answer: {query.answer}"]
    lines += [f"(declare-const X_{i} Real)" for i in range(n)] + [f"(declare-const Y_{k} Real)" for k in range(m)]
    for i, (low, high) in enumerate(zip(made.low, made.high, strict=True)):
        lines += [f"(assert (>= X_{i} {decimal(low)}))", f"(assert (<= X_{i} {decimal(high)}))"]
    return "\n".join([*lines, query.assertion]) + "\n"


def _truth(made: Benchmark) -> list[dict[str, Any]]:
    """What is known of each query: numbers exactly, as integers or "p/q"."""
    found = []
    for query in made.queries:
        entry: dict[str, Any] = {"vnnlib": f"vnnlib/{query.name}.vnnlib", "answer": query.answer, "about": query.about}
        entry |= {"value": text(query.value), "threshold": text(query.threshold)}
        if query.witness is not None:
            point = np.array([query.witness], dtype=object)
            entry["witness"] = {
                "X": [text(v) for v in query.witness],
                "Y": [text(Fraction(v)) for v in made.network(point)[0]],
                "X_float": [float(v) for v in query.witness],
            }
        found.append(entry)
    return found
