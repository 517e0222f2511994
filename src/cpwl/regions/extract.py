"""`extract`: every linear region of a network with its affine map, as a function."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cpwl.documents.read import function_from_pieces, read_document
from cpwl.documents.write import document_text, function_document
from cpwl.doors import (
    check_argument,
    check_call,
    check_choice,
    check_limit,
    check_path,
    check_switch,
    heard,
    within_float64,
)
from cpwl.errors import InputError, InternalError
from cpwl.exact.integers import linked
from cpwl.executors import check_executor
from cpwl.files import read_bytes, write_text
from cpwl.function.cpwl import CPWL
from cpwl.function.parts import label_maps
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.network.network import Network
from cpwl.progress import Progress, Shown, shows_progress
from cpwl.regions.pieces import (
    Pieces,
    as_function,
    find_pieces,
    has_few_faces,
    is_short,
    pieces_of_subdivision,
)
from cpwl.regions.subdivide import TooMany, subdivide
from cpwl.regions.tiles import SIZE, Journal, Subdomain, searched, stream
from cpwl.regions.walk import walk


@shows_progress
@within_float64()
def extract(
    network: Network,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    merge: bool = False,
    max_regions: int | None = None,
    exact: bool | None = None,
    resume: CPWL | None = None,
    executor: Executor | None = None,
    progress: Shown = None,
) -> CPWL:
    """The function of a network: every linear region with its affine map.

    The pieces are the activation cells, sorted by activation pattern: on each of them, every neuron keeps its sign. No
    general position is assumed: neurons may be repeated, proportional, dead, constant or identically 0 on a region,
    and many hyperplanes may pass through one point. Floats with error bounds decide signs, and integers decide the
    signs that the bounds leave open.

    Parameters
    ----------
    network
        The network.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if neither is given.
    merge
        Merge cells with the same law where their union is convex.
    max_regions
        Stop after this many regions, as Ctrl-C does. ``complete`` is then False, and the result can be passed
        to `resume`.
    exact
        Whether rows and laws are rationals (``tol = 0``) or floats; by default they are rationals if the weights are,
        or are floats of few digits.
    resume
        The result of an earlier search, to continue from it.
    executor
        Any `concurrent.futures.Executor`, for networks of many inputs. The result does not depend on it.
    progress
        Called as ``progress(done, total, step)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    CPWL
        The function. In `known` it keeps further facts of the search: inner points, neighbours, and the fact that no
        piece is missing. Later steps reuse these facts.

    Examples
    --------
    >>> p = extract(Network([([[1], [-1]], [0, 0]), ([[1, 1]], [0])]))
    >>> p, p.complete
    (CPWL(R^1 -> R^1, 2 pieces, 2 components, exact), True)
    """
    check_argument(network, Network, "extract")
    check_limit(max_regions)
    check_switch(merge, "merge")
    if exact is not None:
        check_switch(exact, "exact")
    progress = heard(progress)
    if resume is not None and not isinstance(resume, CPWL):
        raise InputError(f"`resume` takes the result of an earlier `extract`, not a {type(resume).__name__}")
    polyhedron = as_domain(domain, network.inputs, box=box)
    exactly = is_short(network) if exact is None else exact
    pieces = find_pieces(
        network,
        polyhedron,
        exactly,
        most=max_regions,
        resume=resume,
        executor=executor,
        progress=progress,
        spans=merge,
    )
    if resume is not None and not pieces.complete and len(pieces) < resume.num_pieces:
        return replace(resume, complete=False)  # more than this search has found before it was ended
    return as_function(pieces, polyhedron, exactly, merge)


# `extract_parts`: the pieces of a network of any size, some at a time.


def extract_parts(
    network: Network,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    size: int = SIZE,
    exact: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Iterator[CPWL]:
    """Yield the function of a network in parts, each on a part of the domain, for any number of regions.

    The parts are cells of the first neurons, cut so that each has at most `size` regions. They cover the domain, no
    region lies in two of them, and each is complete on its own domain (``part.domain``). Only one part is held at a
    time, or several for each worker.

    Parameters
    ----------
    network
        The network.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if neither is given.
    size
        The largest number of regions of a part.
    exact
        Whether rows and laws are rationals or floats; by default they are rationals if the weights are, or are floats
        of few digits.
    checkpoint
        A folder that stores every part as a file, and a journal. An interrupted search, even by ``kill -9``, continues
        from there and yields the same parts.
    executor
        Any `concurrent.futures.Executor`; the parts and their order do not depend on it.
    progress
        Called as ``progress(done, total, step)``.

    Yields
    ------
    CPWL
        The function on a part of the domain.

    Examples
    --------
    >>> network = Network([([[1, 0], [0, 1], [1, 1]], [0, 0, -1]), ([[1, 1, 1]], [0])])
    >>> sum(part.num_pieces for part in extract_parts(network, size=4))
    7
    """
    check_argument(network, Network, "extract_parts")
    check_limit(size)
    check_call(progress)
    check_executor(executor)
    if exact is not None:
        check_switch(exact, "exact")
    if checkpoint is not None:
        check_path(checkpoint, "extract_parts")
    return _parts(network, as_domain(domain, network.inputs, box=box), size, exact, checkpoint, executor, progress)


def _parts(
    network: Network,
    domain: Polyhedron | None,
    size: int,
    exact: bool | None,
    checkpoint: str | os.PathLike[str] | None,
    executor: Executor | None,
    progress: Progress | None,
) -> Iterator[CPWL]:
    exactly = is_short(network) if exact is None else exact
    keeping: dict[str, Any] = {}
    with ExitStack() as stack:
        journal = None
        if checkpoint is not None:
            question: dict[str, Any] = {"question": "parts", "size": size, "exact": exactly}
            journal = stack.enter_context(Journal(checkpoint, searched(network, domain), **question))
            keeping = {"note": partial(_save, journal.folder), "recall": partial(_load, journal.folder)}
        work = partial(_function_on, exact=exactly)
        tiles = stream(
            network, domain, work, size=size, executor=executor, journal=journal, progress=progress, **keeping
        )
        for _, part in tiles:
            yield part


@within_float64()
def _function_on(network: Network, body: Polyhedron | None, size: int, *, exact: bool) -> CPWL:
    """The function on a tile; `TooMany` for more than `size` pieces. It forgets what only this process knows."""
    if has_few_faces(network, body):
        made = subdivide(network, body, most=size, strict=True)
        pieces = pieces_of_subdivision(made, exact)[0]
        if not pieces.complete:
            raise InternalError("the cells of a tile do not add up to a ball")
    else:
        pieces = find_pieces(network, body, exact, most=size)
        if not pieces.complete:
            raise TooMany(f"there are more than {size} regions")
    return replace(as_function(pieces, body, exact, False), known=None)


def _file(tile: Subdomain) -> str:
    return "-".join(["part", *map(str, tile.name)]) + ".json"


def _save(folder: Path, tile: Subdomain, part: CPWL) -> dict[str, Any]:
    text = document_text(function_document(part), None)
    write_text(folder / _file(tile), text)
    return {"file": _file(tile), "pieces": part.num_pieces, "hash": sha256(text.encode()).hexdigest()}


def _load(folder: Path, tile: Subdomain, noted: Any) -> CPWL:
    """A part that an earlier search has found, which must be there as it was noted."""
    path = folder / _file(tile)
    if sha256(read_bytes(path)).hexdigest() != noted["hash"]:
        raise InputError(f"`{path}` was changed after it was written; use another folder", path=str(path))
    _, data = read_document(path)
    return replace(function_from_pieces(data), complete=True)


# How many linear regions? Four numbers that go by that name. Activation cells are counted tile by tile.


def count_cells(network: Network, body: Polyhedron | None, size: int) -> int:
    """How many cells there are on a tile; `TooMany` for more than `size`."""
    count, complete = _counted(network, body, size, strict=True)
    if not complete:
        if has_few_faces(network, body):
            raise InternalError("the cells of a tile do not add up to a ball")
        raise TooMany(f"there are more than {size} cells")
    return count


def _counted(
    network: Network,
    domain: Polyhedron | None,
    most: int | None,
    *,
    strict: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> tuple[int, bool]:
    """How many cells there are, and whether these are all; no rows, laws or neighbours are worked out."""
    if has_few_faces(network, domain):
        try:
            made = subdivide(network, domain, most=most, strict=strict, progress=progress)
            return made.cells, made.complete
        except TooMany:
            if strict:
                raise
    found = walk(network, domain, most=most, executor=executor, progress=progress)
    return len(found.signs), found.complete


@dataclass(frozen=True, slots=True)
class Regions:
    """The meanings of "linear region" in the literature, from many to few.

    ``activation_cells >= convex_pieces >= connected_pieces >= laws``.
    """

    activation_cells: int
    """Sets with interior on which every hidden neuron keeps its sign; one for each activation pattern that occurs."""
    convex_pieces: int | None
    """Pieces after merging cells of one law where the union is convex; the minimum may be smaller. None, here and
    below: only cells were counted."""
    connected_pieces: int | None
    """The maximal connected open sets of one law: cells connected across facets count as one."""
    laws: int | None
    """Distinct affine maps: the number `k` of components."""
    complete: bool
    """Whether the search was complete; otherwise the numbers are lower bounds found within the limits."""


@shows_progress
@within_float64()
def count_regions(
    network: Network,
    *,
    domain: Domain = None,
    box: tuple[Any, Any] | None = None,
    only: Literal["cells"] | None = None,
    max_regions: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    progress: Shown = None,
) -> Regions:
    """Count the linear regions of a network, for each of four definitions; laws are compared in rationals.

    Parameters
    ----------
    network
        The network, in any position: neurons may be repeated, dead, or meet in one point.
    domain, box
        Where to count: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; everywhere if neither is given.
    only
        "cells" counts activation cells only, which is fastest; the other numbers are then None.
    max_regions
        Stop after this many cells; `complete` is then False.
    checkpoint
        A folder that stores progress, for ``only="cells"``: a search that was interrupted, even by ``kill -9``,
        continues from there.
    executor
        Any `concurrent.futures.Executor`, for networks of many inputs, and for more cells than fit into memory,
        which are counted tile by tile. The numbers do not depend on it.
    progress
        Called as ``progress(done, total, step)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    Regions
        The four numbers, and whether the search was complete.

    Examples
    --------
    ``|x|`` from two neurons, and a third one that changes nothing:

    >>> network = Network([([[1], [-1], [1]], [0, 0, -1]), ([[1, 1, 0]], [0])])
    >>> count_regions(network)
    Regions(activation_cells=3, convex_pieces=2, connected_pieces=2, laws=2, complete=True)
    >>> count_regions(network, only="cells").activation_cells
    3
    """
    check_argument(network, Network, "count_regions")
    if only is not None:
        check_choice(only, ("cells",), "only")
    check_limit(max_regions)
    progress = heard(progress)
    check_executor(executor)
    if checkpoint is not None:
        check_path(checkpoint, "count_regions")
        if only != "cells":
            raise InputError('`checkpoint` keeps counts of cells: give only="cells", too')
    polyhedron = as_domain(domain, network.inputs, box=box)
    if only == "cells":
        count, complete = _count_cells(network, polyhedron, max_regions, checkpoint, executor, progress)
        return Regions(count, None, None, None, complete)
    pieces = find_pieces(network, polyhedron, True, most=max_regions, executor=executor, progress=progress, spans=True)
    merged = as_function(pieces, polyhedron, exact=True, merge=True)
    laws = label_maps(pieces.component)
    return Regions(len(pieces), merged.num_pieces, connected_pieces(pieces), int(laws.max()) + 1, pieces.complete)


def _count_cells(
    network: Network,
    domain: Polyhedron | None,
    most: int | None,
    checkpoint: str | os.PathLike[str] | None,
    executor: Executor | None,
    progress: Progress | None,
) -> tuple[int, bool]:
    """How many cells there are, and whether these are all, tile by tile where they may be many."""
    if checkpoint is None and (most is not None or not has_few_faces(network, domain)):
        return _counted(network, domain, most, executor=executor, progress=progress)
    made = nullcontext() if checkpoint is None else Journal(checkpoint, searched(network, domain), question="cells")
    with made as journal:
        total = 0
        tiles = stream(network, domain, count_cells, executor=executor, journal=journal, progress=progress)
        try:
            for _, count in tiles:
                total += count
                if most is not None and total > most:
                    return most, False
        except KeyboardInterrupt:
            return total, False
        return total, True


def connected_pieces(pieces: Pieces) -> int:
    """The number of components of the graph of cells that share a facet and a law."""
    laws, owner = label_maps(pieces.component), pieces.polyhedra.owner
    inner = pieces.neighbour >= 0
    a, b = owner[inner], pieces.neighbour[inner]
    same = laws[a] == laws[b]
    return len(np.unique(linked(np.stack([a[same], b[same]], axis=1), len(pieces))))
