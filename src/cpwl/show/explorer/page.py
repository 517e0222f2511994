"""`report`: everything about a function, a network, or two of them on one page that needs nothing else."""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cpwl.function.picture as of_function
from cpwl.documents.write import function_document, network_document
from cpwl.doors import check_call, check_path, check_switch, formerly, within_float64
from cpwl.errors import InputError
from cpwl.exact.rational import fraction, fraction_array
from cpwl.files import write_text
from cpwl.function import CPWL
from cpwl.levels import Tradeoff
from cpwl.mpqp.plan import Plan
from cpwl.network import Network
from cpwl.progress import Progress
from cpwl.show.explorer.facts import Examined, Item, chips, costs, examine, facts, findings, gap, lower, proofs

_FAR = 10  # windows away from the middle: witnesses up to there are worth a wider window
_SCRIPTS = (
    "data.js",
    "colours.js",
    "geometry.js",
    "network.js",
    "field.js",
    "canvas.js",
    "svg.js",
    "map.js",
    "curve.js",
    "surface.js",
    "layers.js",
    "loop.js",
    "verify.js",
    "tables.js",
    "main.js",
    "view.js",
    "controls.js",
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Page:
    """One self-contained HTML page."""

    title: str
    html: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all."""
        check_path(path, "Page.save")
        write_text(path, self.html)

    def __repr__(self) -> str:
        return f"Page({self.title!r}, {len(self.html.encode()):,} bytes)"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="900" style="border:0"></iframe>'


@formerly(prove="certify")
@within_float64()
def report(
    first: CPWL | Network,
    second: CPWL | Network | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    title: str | None = None,
    names: tuple[str, str] | None = None,
    box: tuple[Any, Any] | None = None,
    certify: bool = True,
    tradeoff: Tradeoff | None = None,
    plant: Any = None,
    progress: Progress | None = None,
) -> Page:
    """An interactive HTML page: map and surface of the function, the network, costs, proofs and findings.

    One input is drawn as a curve, two as a map of pieces and a surface, more as slices with sliders. The page is one
    HTML file, works in any browser, and loads nothing from the network. Defects of a function are marked where they
    are, so the function need not be continuous.

    Parameters
    ----------
    first
        A function or a network.
    second
        Another one to compare it with, if any: a function and its network, two networks, two functions.
    path
        The file to write; None writes no file.
    title, names
        Titles of the page and of the functions or networks on it.
    box
        ``(low, high)``: the part to draw, and for networks the domain to examine; by default where the function bends.
    certify
        Whether to search for proofs, which can take longer than all other steps.
    tradeoff
        The result of `cpwl.tradeoff` for the function: neurons against the allowed error.
    plant
        For a control law: the plan of `cpwl.mpc`, or ``(A, B)`` with ``x+ = A x + B u``. The page then runs the closed
        loop from the state under the pointer.
    progress
        Called as ``progress(done, total, step)``.

    Returns
    -------
    Page
        The page; `Page.save` writes it, and notebooks show it.

    >>> p = CPWL.from_breakpoints([0, 1, 2], [0, 1, 0])
    >>> page = report(p, title="a hat", certify=False)
    >>> page.title, "<script" in page.html
    ('a hat', True)
    """
    check_call(progress)
    check_switch(certify, "certify")
    if tradeoff is not None and not isinstance(tradeoff, Tradeoff):
        raise InputError("`tradeoff` must be the result of `cpwl.tradeoff(p)`, or left out")
    if path is not None:
        check_path(path, "report")
    called = names or (("p" if isinstance(first, CPWL) else "network", "") if second is None else ("first", "second"))
    found = examine(first, second, names=called, box=box, prove=certify, progress=progress)
    shown = [*called] if names else [repr(first), repr(second)]
    said = title or (shown[0] if second is None else " and ".join(shown))
    page = page_of(found, said, box=box, tradeoff=tradeoff, plant=plant)
    if path is not None:
        page.save(path)
    return page


def page_of(
    found: Examined,
    title: str,
    *,
    box: tuple[Any, Any] | None = None,
    recipe: list[dict[str, str]] | None = None,
    tradeoff: Tradeoff | None = None,
    plant: Any = None,
) -> Page:
    """The page on what was found out; `recipe` says how to make it again."""
    shown = found.function or found.items[0].network
    if shown is None:
        raise InputError("give a function or a network to show")
    marks = findings(found)
    window = window_of(shown, box)
    if box is None:
        window = _with_witnesses(window, [mark["point"] for mark in marks if mark["point"] is not None])
    labelled = next((item.function for item in found.items if item.function is not None and item.function.names), None)
    names = _names(shown.inputs) if labelled is None else list(labelled.names[: shown.inputs])
    labels = () if labelled is None else labelled.labels
    items = [_item(item, names) for item in found.items]
    data = {
        "title": title,
        "n": shown.inputs,
        "m": shown.outputs,
        "names": names,
        "named": labelled is not None,
        "labels": list(labels[: shown.inputs]) or names,
        "values": list(labels[shown.inputs :]) or ["value"] * shown.outputs,
        "box": window.tolist(),
        "at": _start(window, None if plant is None else shown),
        "items": items,
        "facts": facts(found),
        "chips": chips(found),
        "gap": gap(found),
        "notes": [*found.notes, *_absent(found.items, items)],
        "costs": costs(found),
        "lower": lower(found),
        "tradeoff": None if tradeoff is None else tradeoff.data,
        "plant": None if plant is None else _plant(plant, shown.inputs, shown.outputs),
        "proofs": proofs(found),
        "statements": statements(found),
        "findings": marks,
        "healthy": None if found.doctor is None else found.doctor.healthy,
        "recipe": recipe or _recipe(found),
    }
    if not np.isfinite(window).all():
        raise InputError("the box to draw is not finite; give `box=(low, high)`")
    return Page(title, _filled(title, data))


def _plant(plant: Any, inputs: int, outputs: int) -> dict[str, Any]:
    """The matrices of a step of the closed loop."""
    pair = plant.loop if isinstance(plant, Plan) else plant
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise InputError("`plant` must be a plan of `cpwl.mpc`, or a pair of matrices (A, B)")
    A, B = (fraction_array(table).astype(np.float64) for table in pair)
    if A.shape != (inputs, inputs) or B.shape != (inputs, outputs):
        raise InputError(
            f"`plant` must have matrices of shapes ({inputs}, {inputs}) and ({inputs}, {outputs}) for this law, "
            f"not {A.shape} and {B.shape}"
        )
    return {"A": A.tolist(), "B": B.tolist()}


def _with_witnesses(window: NDArray[np.float64], points: list[list[float]]) -> NDArray[np.float64]:
    """The window made wide enough for what was found, unless that is so far away that nothing else would be seen."""
    low, high = window.T
    wide = high - low
    near = [p for p in points if (np.abs(np.array(p) - (low + high) / 2) <= _FAR * wide).all()]
    for point in map(np.array, near):
        low = np.where(point < low, point - 0.05 * wide, low)
        high = np.where(point > high, point + 0.05 * wide, high)
    return np.stack([low, high], axis=1)


def _start(window: NDArray[np.float64], law: CPWL | Network | None) -> list[float]:
    """Where the page opens: in the middle, but for slices, which show more where they are not cut along a facet.

    A closed loop often rests in the middle: it starts far from there, at a point where its law is defined.
    """
    wide, axes = window[:, 1] - window[:, 0], np.arange(len(window))
    points = [window.mean(axis=1) + np.where(axes >= 2, 0.07, 0.0) * wide]
    if law is not None:
        senses = [np.where(axes % 2, -1, 1), np.ones(len(window)), axes == 0]
        far = [points[0] + share * wide * sense for share in (0.35, 0.2, 0.1) for sense in senses]
        points = [x for x in far if np.isfinite(law([x])).all()] + points
    digits = np.maximum(0, 4 - np.floor(np.log10(wide))).astype(int)
    return [round(float(v), int(d)) for v, d in zip(points[0], digits, strict=True)]


def _names(n: int) -> list[str]:
    return list("xyz"[:n]) if n <= 3 else [f"x{k + 1}" for k in range(n)]


def _item(item: Item, names: list[str]) -> dict[str, Any]:
    return {
        "name": item.name,
        "pieces": None if item.function is None else pack_pieces(item.function, names),
        "network": None if item.network is None else pack_network(item.network),
    }


def _absent(items: tuple[Item, ...], packed: list[dict[str, Any]]) -> list[str]:
    """What is too large to be drawn, in a sentence each."""
    return [
        f"{item.name}: {item.function.num_pieces:,} pieces in R^{item.function.dim} are too many numbers for a page; "
        "only the text is shown."
        for item, data in zip(items, packed, strict=True)
        if item.function is not None and data["pieces"] is None
    ]


def _recipe(found: Examined) -> list[dict[str, str]]:
    """How to make the page again from Python."""
    names = ", ".join(item.name if item.name.isidentifier() else "p" for item in found.items)
    code = f'import cpwl\n\ncpwl.report({names}, path="report.html")'
    return [{"what": f"With cpwl {version('cpwl')}:", "code": code}]


_EXACT = 400_000  # letters of exact numbers on a page
_STEPS = 500_000  # pieces times neurons that a browser looks at within seconds


def statements(found: Examined) -> dict[str, Any] | None:
    """What was proved, in exact numbers, so that the page can decide it again (verify.js); None where that is too much.

    Pieces once, and for each proof that bounds the difference by a number its layers and that number.
    """
    proved = [
        (k, network, proof.error_bound)
        for k, ((_, proof), (_, network)) in enumerate(zip(found.proofs, found.pairs, strict=False))
        if proof.proved and isinstance(proof.error_bound, Fraction)
    ]
    if not proved:
        return None
    p = found.pairs[0][0]
    if p.num_pieces * max(network.sizes.neurons for _, network, _ in proved) > _STEPS:
        return None
    held = function_document(replace(p, mesh=None))["pieces"]
    claims = [
        {"proof": k, "layers": network_document(network)["layers"], "bound": bound} for k, network, bound in proved
    ]
    said: dict[str, Any] = {"n": p.dim, "pieces": _in_words(held), "claims": _in_words(claims)}
    return said if len(json.dumps(said)) <= _EXACT else None


def _in_words(value: Any) -> Any:
    """A document whose numbers are texts "p/q": JavaScript reads a long number as a nearby one. Places stay numbers."""
    if isinstance(value, dict):
        return {
            name: [[i, j, _in_words(w)] for i, j, w in part]
            if name == "entries"
            else part
            if name in ("rows", "columns", "proof")
            else _in_words(part)
            for name, part in value.items()
        }
    return [_in_words(part) for part in value] if isinstance(value, list) else str(fraction(value))


def _filled(title: str, data: dict[str, Any]) -> str:
    """The template with everything in it."""
    folder = files("cpwl.show.explorer")
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    parts = {
        "title": escape(title),
        "version": escape(version("cpwl")),
        "style": folder.joinpath("style.css").read_text("utf-8"),
        # Nothing in the data may end the element that it is in.
        "data": text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
        "script": "\n".join(folder.joinpath(name).read_text("utf-8") for name in _SCRIPTS),
    }
    template = folder.joinpath("template.html").read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


# Pieces and networks as arrays that the page unpacks: base64 of little-endian numbers.


PIECES = 1_300_000
"""Bytes of the pieces of one function before base64: two functions and two networks still fit into 5 MB."""
WEIGHTS = 45_000
"""Nonzero weights of one network."""
_TEXT = 60  # letters of a law in rationals
_TYPES = {"f8": "<f8", "f4": "<f4", "i4": "<i4"}


def pack_pieces(p: CPWL, names: list[str]) -> dict[str, Any] | None:
    """Pieces as rows that they share, with laws; None where they are too many for a page.

    Piece `i` has the rows ``row[start[i]:start[i + 1]]``; a number ``~r`` is row `r` with the other sense.
    """
    rows, index = _shared_rows(p)
    laws = p.laws
    size = 8 * (rows.size + laws.gradient.size + laws.offset.size) + 4 * (len(index) + p.num_pieces)
    kind = "f8" if size <= PIECES else "f4"
    if size > 2 * PIECES:
        return None
    return {
        "count": p.num_pieces,
        "outputs": p.outputs,
        "start": _pack(p.polyhedra.start, "i4"),
        "row": _pack(index, "i4"),
        "rows": _pack(rows, kind),
        "gradient": _pack(laws.gradient, kind),
        "offset": _pack(laws.offset, kind),
        "component": _pack(p.component, "i4"),
        "texts": _law_texts(p, names),
    }


def pack_network(network: Network) -> dict[str, Any]:
    """Layers with their weights; of a network that is too large for a page, a sentence that says so."""
    sizes = network.sizes
    widths = " → ".join(f"{w:,}" for w in (network.inputs, *(weight.shape[0] for weight, _ in network.layers)))
    if sizes.nonzeros > WEIGHTS:
        said = f"{widths}. Its {sizes.nonzeros:,} weights are too many for a page: neurons are not shown one by one."
        return {"layers": None, "absent": said}
    layers = [
        {
            "indptr": _pack(weight.indptr, "i4"),
            "indices": _pack(weight.indices, "i4"),
            "weights": _pack(weight.data, "f8"),
            "bias": _pack(bias, "f8"),
        }
        for weight, bias in network.layers
    ]
    return {"layers": layers, "about": f"{widths}: inputs, hidden layers, outputs; {sizes.nonzeros:,} nonzero weights."}


def _shared_rows(p: CPWL) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The rows ``(a, b)`` up to scale and sense, each once, and for each row of a piece which one it is."""
    rows = np.column_stack([p.polyhedra.A, p.polyhedra.b])
    length = np.abs(rows[:, :-1]).max(axis=1, initial=0.0)
    rows = rows / np.where(length > 0, length, 1.0)[:, None]
    first = np.argmax(rows[:, :-1] != 0, axis=1)
    negative = rows[np.arange(len(rows)), first] < 0
    rows[negative] *= -1
    shared, number = np.unique(rows + 0.0, axis=0, return_inverse=True)
    number = number.ravel().astype(np.int64)
    return shared, np.where(negative, ~number, number)


def _law_texts(p: CPWL, names: list[str]) -> list[str | None] | None:
    """Each component in rationals, where data is exact and that is short enough to be read."""
    if p.tol or p.dim > 6:
        return None
    integers = p.laws.integer().reshape(-1, p.dim + 2)
    _, first = np.unique(p.component.ravel(), return_index=True)
    texts: list[str | None] = [None] * (int(p.component.max()) + 1)
    for number, place in zip(p.component.ravel()[first], first, strict=True):
        row = integers[place]
        if max(int(v).bit_length() for v in row) < 40:
            texts[number] = _law_text(row, names)
    return texts


def _law_text(row: NDArray[np.object_], names: list[str]) -> str | None:
    """A law as people write it: ``2 x − 1/3 y + 1``."""
    text = ""
    for value, name in zip(row[:-1], [*names, ""], strict=True):
        number = Fraction(int(value), int(row[-1]))
        if number:
            size = str(abs(number))
            body = size if not name else name if size == "1" else f"{size} {name}"
            sign = ("−" if number < 0 else "") if not text else (" − " if number < 0 else " + ")
            text += sign + body
    text = text or "0"
    return text if len(text) <= _TEXT else None


def _pack(array: NDArray[Any], kind: str) -> dict[str, str]:
    data = np.ascontiguousarray(array, dtype=_TYPES[kind]).tobytes()
    return {"type": kind, "data": base64.b64encode(data).decode("ascii")}


# The box in which a function or a network is drawn.


def window_of(shown: CPWL | Network, box: tuple[Any, Any] | None = None) -> NDArray[np.float64]:
    """Rows ``(low, high)``, one an input; `box`, where given, is taken as it is.

    >>> window_of(Network([([[2, 0]], [4]), ([[1]], [0])])).tolist()
    [[-3.0, 3.0], [-3.0, 3.0]]
    """
    if isinstance(shown, CPWL):
        return of_function.window_of(shown, box)
    return _around_hinges(shown) if box is None else of_function.box_rows(box, shown.inputs)


def _around_hinges(network: Network) -> NDArray[np.float64]:
    """A cube around the origin that most hinges of the first layer cross."""
    weight, bias = network.layers[0]
    length = np.sqrt(np.asarray(weight.multiply(weight).sum(axis=1)).ravel())
    away = np.abs(bias[length > 0]) / length[length > 0]
    reach = 1.5 * float(np.quantile(away, 0.9)) if len(away) else 1.0
    return np.tile([-max(reach, 1.0), max(reach, 1.0)], (network.inputs, 1))
