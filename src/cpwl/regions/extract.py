"""`extract`: every linear region of a network with its affine map, as a function."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np

from cpwl.doors import check_argument, check_limit, check_switch, heard, within_float64
from cpwl.errors import CpwlWarning, InputError
from cpwl.function.cpwl import CPWL
from cpwl.function.merge import merge as merged
from cpwl.function.parts import Known
from cpwl.geometry.polyhedra import Domain, Polyhedron, as_domain
from cpwl.network.network import Network
from cpwl.progress import Shown, shows_progress
from cpwl.regions.cells import find_pieces, is_short
from cpwl.regions.pieces import Pieces, find_thin, points_inside

__all__ = ["as_function", "extract"]


_TOL = 1e-9


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

    The pieces are the activation cells, sorted by activation pattern: on each one every neuron keeps its sign. Networks
    in any position are welcome: neurons that are repeated, proportional, dead, constant or identically 0 on a region,
    and hyperplanes through one point. Signs are decided by error bounds on floats, and in integers where those cannot
    tell.

    Parameters
    ----------
    network
        The network.
    domain, box
        Where: ``(A, b)`` for ``A x <= b``, or ``(low, high)`` for a box; all of R^n if neither is given.
    merge
        Cells of one law become one piece where their union is convex.
    max_regions
        Ends the search after so many regions, as Ctrl-C does. Then ``complete`` is False, and the result can be handed
        to `resume`.
    exact
        Whether rows and laws are rationals (``tol = 0``) or floats; by default they are rationals if the weights are,
        or are floats of few digits.
    resume
        What an earlier search has found, to go on from there.
    executor
        Shares out the work for networks of many inputs; the result does not depend on it.
    progress
        Called as ``progress(done, total, step)``, or "auto": a bar after two seconds, on a terminal or in a notebook.

    Returns
    -------
    CPWL
        The function. It keeps what the search knows beside rows and laws (`known`): inner points, neighbours, and that
        nothing is missing; what is done with it later need not find that out again.

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
        raise InputError(f"`resume` takes what an earlier `extract` returned, not a {type(resume).__name__}")
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


def as_function(pieces: Pieces, domain: Polyhedron | None, exact: bool, merge: bool) -> CPWL:
    """The pieces as a function; what floats can hardly see is reported."""
    tol = 0.0 if exact else _TOL
    thin = _report_thin(pieces) if not exact else False
    component = pieces.component
    component.setflags(write=False)
    covered = domain if pieces.complete else None
    known = known_of(pieces, thin)
    p = CPWL(pieces.polyhedra, pieces.laws, component, covered, tol, None, pieces.complete, known)
    return merged(p, pieces.spans) if merge and _has_twins(pieces) else p


def known_of(pieces: Pieces, thin: bool) -> Known:
    """What the search has found out about the pieces beside rows and laws.

    The complex of a network is face to face: two cells that meet in a facet have all of it in common. Where floats can
    hardly tell that a piece is there, they cannot vouch for it.
    """
    inner = np.flatnonzero(pieces.neighbour >= 0)
    pairs = np.stack([pieces.polyhedra.owner[inner], pieces.neighbour[inner], inner], axis=1)
    return Known(points_inside(pieces), pairs, pieces.complete and not thin)


def _has_twins(pieces: Pieces) -> bool:
    """Whether some neighbours have one law: without them there is nothing to merge."""
    owner, inner = pieces.polyhedra.owner, pieces.neighbour >= 0
    same = pieces.component[owner[inner]] == pieces.component[pieces.neighbour[inner]]
    return bool(same.all(axis=1).any())


def _report_thin(pieces: Pieces) -> bool:
    """Warns of regions that floats can hardly see; whether there are any."""
    thin = find_thin(pieces, _TOL)
    if len(thin):
        where = ", ".join(f"{v:.6g}" for v in pieces.inside[thin[0]])
        count = "1 region is" if len(thin) == 1 else f"{len(thin)} regions are"
        warnings.warn(
            f"{count} thinner than {_TOL:g}, relative: region {thin[0]} at x = ({where}), for one. They are there, but "
            "floats can hardly tell; `exact=True` gives their rows as rationals.",
            CpwlWarning,
            stacklevel=6,
        )
    return len(thin) > 0
