"""`extract_parts`: the pieces of a network of any size, some at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from cpwl.documents.read import function_from_pieces, read_document
from cpwl.documents.write import document_text, function_document
from cpwl.doors import check_argument, check_call, check_limit, check_path, check_switch, within_float64
from cpwl.errors import InputError, InternalError
from cpwl.executors import check_executor
from cpwl.files import read_bytes, write_text
from cpwl.function.cpwl import CPWL
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.cells import find_pieces, has_few_faces, is_short
from cpwl.regions.extract import as_function
from cpwl.regions.pieces import pieces_of_subdivision
from cpwl.regions.subdivide.subdivide import TooMany, subdivide
from cpwl.regions.tiles.journal import Journal
from cpwl.regions.tiles.stream import SIZE, Errand, Tile, stream

__all__ = ["extract_parts"]


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
    """The function of a network of any number of regions, as functions on parts of the domain, one at a time.

    The parts are cells of the first neurons, cut so that each has at most `size` regions. They cover the domain, no
    region lies in two of them, and each is complete on its own domain (``part.domain``). Only one part is held at a
    time, or some for each worker.

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
        A folder that keeps every part as a file, and a journal. A search that was ended, even by ``kill -9``, goes on
        from there and gives the same parts.
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
    errand: Errand[CPWL] = Errand("parts", _EXACT if exactly else _FLOAT, _nothing, _no_recall)
    with ExitStack() as stack:
        journal = None
        if checkpoint is not None:
            question = {"question": "parts", "size": size, "exact": exactly}
            journal = stack.enter_context(Journal(checkpoint, network, domain, **question))
            errand = replace(errand, note=partial(_save, journal.folder), recall=partial(_load, journal.folder))
        tiles = stream(network, domain, errand, size=size, executor=executor, journal=journal, progress=progress)
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


_EXACT = partial(_function_on, exact=True)
_FLOAT = partial(_function_on, exact=False)


def _file(tile: Tile) -> str:
    return "-".join(["part", *map(str, tile.name)]) + ".json"


def _save(folder: Path, tile: Tile, part: CPWL) -> dict[str, Any]:
    text = document_text(function_document(part), None)
    write_text(folder / _file(tile), text)
    return {"file": _file(tile), "pieces": part.num_pieces, "hash": sha256(text.encode()).hexdigest()}


def _load(folder: Path, tile: Tile, noted: Any) -> CPWL:
    """A part that an earlier search has found, which must be there as it was noted."""
    path = folder / _file(tile)
    if sha256(read_bytes(path)).hexdigest() != noted["hash"]:
        raise InputError(f"`{path}` is not as it was written: it was changed since; use another folder", path=str(path))
    _, data = read_document(path)
    return replace(function_from_pieces(data), complete=True)


def _nothing(_: Tile, __: CPWL) -> None:
    return None


def _no_recall(_: Tile, __: Any) -> CPWL:
    raise InternalError("nothing was noted")
