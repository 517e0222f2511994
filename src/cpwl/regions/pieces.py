"""The regions of a network as pieces: rows, laws, neighbours, an inner point each; and pieces as a function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cpwl.errors import CpwlWarning, InputError, LimitError, counted
from cpwl.exact.integers import in_order, integer_rows, number_rows, primitive, ratio_view
from cpwl.function.cpwl import CPWL
from cpwl.function.evaluate import inner_points
from cpwl.function.merge import merge_spanned
from cpwl.function.parts import Known, Laws
from cpwl.geometry.generators import Generators
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron, joined, picked, ranges
from cpwl.geometry.probe import Probe
from cpwl.network.network import Network
from cpwl.progress import Progress
from cpwl.regions.chamber import forms_on
from cpwl.regions.forms import EPS, NeuronForms, essential_dimension
from cpwl.regions.subdivide import Lattice, Subdivision, TooMany, subdivide
from cpwl.regions.walk import Walk, walk

# Which laws are equal, as rationals: floats with error bounds find the candidates, integers decide.


def label_laws(
    laws: Laws,
    error: NDArray[np.float64],
    network: Network,
    signs: NDArray[np.int8],
    exactly: Callable[[NDArray[np.int64]], NDArray[np.object_]],
) -> NDArray[np.int64]:
    """For each piece and output a number, equal iff the laws are, in order of first appearance.

    `error` bounds what the floats are off. Where an output reads the same neurons, by `signs`, its law is the same;
    `exactly` gives integer rows for some of the pieces.
    """
    count, outputs = laws.offset.shape
    if laws.exact is not None:
        return np.stack([number_rows(laws.exact[:, j])[1] for j in range(outputs)], axis=1)
    view, reading = laws.coefficients(), read_neurons(network, signs)
    # Along a fixed generic direction equal laws are equal: a sort finds all that may be.
    generic = np.cos(1.0 + 2.3 * np.arange(view.shape[2]))
    result = np.empty((count, outputs), dtype=np.int64)
    for j in range(outputs):
        # Of pieces that read the same one is enough.
        _, first, member = np.unique(reading[:, j], return_index=True, return_inverse=True)
        at = view[first, j] @ generic
        unsure = error[first, j] @ np.abs(generic)
        unsure += 8 * view.shape[2] * EPS * (np.abs(view[first, j]) @ np.abs(generic))
        unsure = np.where(np.isfinite(unsure) & np.isfinite(at), unsure, np.inf)
        result[:, j] = in_order(_decide(at, unsure, j, first, exactly)[member.ravel()])
    return result


def _decide(
    at: NDArray[np.float64],
    unsure: NDArray[np.float64],
    j: int,
    pieces: NDArray[np.int64],
    exactly: Callable[[NDArray[np.int64]], NDArray[np.object_]],
) -> NDArray[np.int64]:
    """Labels of laws that are `unsure` far from `at`; `pieces` says whose they are."""
    order = np.argsort(np.where(np.isfinite(at), at, 0.0), kind="stable")
    # A class goes on while some earlier member still reaches the next one.
    reach = np.maximum.accumulate((at + unsure)[order])
    new = np.concatenate([[True], ~((at - unsure)[order][1:] <= reach[:-1])])
    if np.isinf(unsure).any():
        new[1:] = False
    group = np.empty(len(at), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    size = np.bincount(group)
    shared = np.flatnonzero(size[group] > 1)
    label = group * (len(at) + 1)
    if len(shared):
        label[shared] += number_rows(exactly(pieces[shared])[:, j])[1]
    return label


def read_neurons(network: Network, signs: NDArray[np.int8]) -> NDArray[np.int64]:
    """For each piece and output a number, equal iff the output reads the same neurons that are on, directly or not.

    >>> hat = Network([([[1.0], [1.0]], [0.0, -1.0]), ([[1.0, -1.0]], [-2.0]), ([[1.0]], [0.0])])
    >>> read_neurons(hat, np.array([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [1, 1, 1]])).ravel()
    array([0, 0, 0, 1])
    """
    weights = [_pattern(weight) for weight, _ in network.exact or network.layers]
    ends = np.cumsum([0, *(weight.shape[0] for weight in weights[:-1])])
    result = np.empty((len(signs), network.outputs), dtype=np.int64)
    for j in range(network.outputs):
        read = np.zeros(signs.shape, dtype=bool)
        reads = np.broadcast_to(weights[-1][[j]].toarray() != 0, (len(signs), weights[-1].shape[1]))
        for l in range(len(weights) - 2, -1, -1):
            own = slice(ends[l], ends[l + 1])
            read[:, own] = reads & (signs[:, own] > 0)
            if l:
                reads = np.asarray(weights[l].T @ read[:, own].T.astype(np.int32)).T > 0
        packed = np.packbits(read, axis=1)
        result[:, j] = np.unique(packed, axis=0, return_inverse=True)[1].ravel()
    return result


def _pattern(weight: Any) -> csr_array[Any, tuple[int, int]]:
    """1 where a weight is not 0, as a number of its own kind."""
    ones = np.asarray(weight.data != 0).astype(np.int32)
    return csr_array((ones, weight.indices, weight.indptr), shape=weight.shape)


_BATCH = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The full-dimensional cells of a network, on each of which every neuron keeps its sign, sorted by their signs."""

    polyhedra: Polyhedra
    """The cells by irredundant rows ``A x <= b``."""
    laws: Laws
    """The affine map on each cell."""
    component: NDArray[np.int64]
    """``component[i, j]``: a number for the law of output `j` on cell `i`; equal iff the laws are, as rationals."""
    signs: NDArray[np.int8]
    """``signs[i, j]``: the sign of hidden neuron `j` on the inside of cell `i`; 0 iff it vanishes on all of it."""
    neighbour: NDArray[np.int64]
    """For each row of `polyhedra` the cell across that facet; -1 on the boundary of the domain, -2 where the search
    ended early."""
    inside: NDArray[np.float64]
    """A point inside each cell."""
    complete: bool
    """Every facet has a neighbour or lies on the boundary of the domain, and the faces add up as those of a ball do."""
    spans: Generators | None = None
    """Corners and rays of the cells, where they were asked for and are held; in integers where numbers are exact."""

    def __len__(self) -> int:
        return len(self.signs)


def pieces_of_subdivision(made: Subdivision, exact: bool, *, spans: bool = False) -> tuple[Pieces, NDArray[np.int64]]:
    """The cells of a complex, and their numbers in it; with corners and rays if they are asked for."""
    lattice = made.lattice
    order = _pattern_order(made.signs)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    signs, base = made.signs[order], made.base[order]
    lengths, facets = _facets(lattice, order)
    owner = np.repeat(np.arange(len(order)), lengths)
    reference = lattice.forms[-2][facets, 0] if lattice.dim else np.zeros(0, dtype=np.int64)
    neighbour = _neighbours(lattice, place, facets, owner)
    finite = reference != 0  # not a facet at infinity
    owner, reference, neighbour = owner[finite], reference[finite], neighbour[finite]
    level, neuron, _ = made.forms.decode(reference)
    polyhedra = _rows(made.forms, signs, owner, level, neuron, reference, exact)
    laws, error = _laws(made.forms, base, signs, exact)
    network = made.forms.network
    component = label_laws(
        laws, error, network, signs, lambda which: _exact_laws(made.forms, base[which], signs[which])
    )
    neighbour[(neighbour < 0) & (level > 0)] = -2  # nobody has been there
    inside = np.zeros((len(order), made.forms.dim))
    at = _inside(lattice, made.vertices.view)[order]
    inside[:, made.columns[:-1]] = at[:, :-1] / at[:, -1:]
    spanned = _spans(made, order, exact) if spans else None
    return Pieces(polyhedra, laws, component, signs, neighbour, inside, made.complete, spanned), order


def _spans(made: Subdivision, order: NDArray[np.int64], exact: bool) -> Generators:
    """Corners and rays of all cells, in the given order of cells."""
    members, vertices = made.lattice.vertices_of_cells(), made.vertices
    entries, start = picked(members.indptr.astype(np.int64), order)
    places = np.zeros((len(vertices), made.forms.dim + 1), dtype=object if exact else np.float64)
    places[:, made.columns] = vertices.exactly(np.arange(len(vertices))) if exact else vertices.view
    return Generators(places, members.indices[entries].astype(np.int64), start)


def pieces_of_walk(found: Walk, exact: bool) -> Pieces:
    """The cells of a walk; facets beyond which nobody has been have neighbour -2."""
    order = _pattern_order(found.signs)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    by_cell = np.lexsort((found.row, place[found.owner]))
    owner, row = place[found.owner[by_cell]], found.row[by_cell]
    neighbour = found.neighbour[by_cell]
    neighbour = np.where(neighbour < 0, neighbour, place[neighbour])
    signs = found.signs[order]
    parts = list(_batches(found.forms, signs, owner, row, exact))
    laws = _stack_laws([part[1] for part in parts])
    error = np.concatenate([part[2] for part in parts])

    def exactly(which: NDArray[np.int64]) -> NDArray[np.object_]:
        forms = forms_on(found.forms, signs[which])
        return _exact_laws(forms, _last_base(forms, len(which)), signs[which])

    component = label_laws(laws, error, found.forms.network, signs, exactly)
    inside = np.zeros((len(order), found.forms.dim))
    inside[:, found.columns[:-1]] = found.inside[order]
    return Pieces(joined([part[0] for part in parts]), laws, component, signs, neighbour, inside, found.complete)


def find_thin(pieces: Pieces, tol: float) -> NDArray[np.int64]:
    """The pieces that hold no ball of radius `tol`, relative to where they are: floats can hardly tell they are there.

    A piece whose inner point is farther from its facets than that is not thin; the others take a linear program each.
    """
    A, b, owner = pieces.polyhedra.A, pieces.polyhedra.b, pieces.polyhedra.owner
    x = pieces.inside[owner]
    size = 1 + np.abs(x).max(axis=1, initial=0.0)
    with np.errstate(all="ignore"):
        slack = (b - (A * x).sum(axis=1)) / np.abs(A).sum(axis=1)
        close = np.unique(owner[~(slack > tol * size)])
    probe = Probe(tol)
    thin = []
    for i in close:
        centre, radius = probe.ball(pieces.polyhedra[int(i)], 1.0)
        if not radius > tol * (1 + np.abs(centre).max(initial=0.0)):
            thin.append(i)
    return np.array(thin, dtype=np.int64)


def points_inside(pieces: Pieces) -> NDArray[np.float64] | None:
    """A point strictly inside each piece, by its rows as rationals; None if floats cannot name one for some piece."""
    inside, stack = pieces.inside.copy(), pieces.polyhedra
    probe = Probe(0.0)
    for i in _in_doubt(stack, inside).tolist():  # few: those that are next to a facet, as far as floats can see
        body = stack[i]
        if not _is_inside(body, inside[i]):
            centre = probe.interior(body)
            if centre is None or not _is_inside(body, np.asarray(centre, dtype=np.float64)):
                return None
            inside[i] = np.asarray(centre, dtype=np.float64)
    return inside


def _in_doubt(stack: Polyhedra, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """The pieces of which floats cannot say that their point is strictly inside."""
    owner = stack.owner
    with np.errstate(all="ignore"):
        terms = stack.A * points[owner]
        slack = stack.b - terms.sum(axis=1)
        size = np.abs(terms).sum(axis=1) + np.abs(stack.b)
        return np.unique(owner[~(slack > 8 * (stack.dim + 2) * EPS * size)])


def _is_inside(body: Polyhedron, point: NDArray[np.float64]) -> bool:
    if not np.isfinite(point).all():
        return False
    rows, place = body.integer(), integer_rows(np.append(point, 1.0)[None])[0]
    return bool((rows[:, :-1].dot(place[:-1]) < rows[:, -1] * place[-1]).all())


def _pattern_order(signs: NDArray[np.int8]) -> NDArray[np.int64]:
    return np.lexsort((signs > 0).T[::-1]) if signs.shape[1] else np.arange(len(signs))


def _batches(
    forms: NeuronForms, signs: NDArray[np.int8], owner: NDArray[np.int64], row: NDArray[np.int64], exact: bool
) -> Iterator[tuple[Polyhedra, Laws, NDArray[np.float64]]]:
    """Rows and laws of some cells at a time; always the same ones, so that floats always come out the same."""
    walls = forms.levels[0].rows.shape[0] - 1
    widths = [weight.shape[0] for weight, _ in forms.network.layers[:-1]]
    ends = walls + np.cumsum([0, *widths])
    for first in range(0, len(signs), _BATCH):
        some = signs[first : first + _BATCH]
        here = slice(*np.searchsorted(owner, [first, first + len(some)]))
        own, rows = owner[here] - first, row[here]
        local = forms_on(forms, some)
        level = np.searchsorted(ends, rows, side="right")
        neuron = np.where(level == 0, rows + 1, rows - ends[np.maximum(level - 1, 0)])
        size = np.array([each.cells for each in local.levels])[level]
        cell = np.where(size > 1, own, 0)
        reference = np.array(local.offset)[level] + neuron * size + cell
        polyhedra = _rows(local, some, own, level, neuron, reference, exact)
        yield (polyhedra, *_laws(local, _last_base(local, len(some)), some, exact))


def _last_base(forms: NeuronForms, count: int) -> NDArray[np.int64]:
    return np.arange(count) if forms.levels[-1].cells > 1 else np.zeros(count, dtype=np.int64)


def _stack_laws(parts: list[Laws]) -> Laws:
    exact = None if parts[0].exact is None else np.concatenate([part.exact for part in parts])
    gradient = np.concatenate([part.gradient for part in parts])
    return Laws(gradient, np.concatenate([part.offset for part in parts]), exact)


def _facets(lattice: Lattice, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many facets each cell has, and which, in the given order of cells."""
    if lattice.dim == 0:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    lengths = np.diff(lattice.start[-1])[order]
    return lengths, lattice.sub[-1][ranges(lattice.start[-1][order], lengths)[0]]


def _neighbours(
    lattice: Lattice, place: NDArray[np.int64], facets: NDArray[np.int64], owner: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The other cell at each facet, -1 if there is none."""
    if lattice.dim == 0:
        return np.zeros(0, dtype=np.int64)
    cells = place[np.repeat(np.arange(len(place)), np.diff(lattice.start[-1]))]
    count = lattice.cells_of_facets()
    total = np.bincount(lattice.sub[-1], weights=cells, minlength=len(count)).astype(np.int64)
    return np.where(count[facets] == 2, total[facets] - owner, -1)


def _rows(
    forms: NeuronForms,
    signs: NDArray[np.int8],
    owner: NDArray[np.int64],
    level: NDArray[np.int64],
    neuron: NDArray[np.int64],
    reference: NDArray[np.int64],
    exact: bool,
) -> Polyhedra:
    """Rows ``A x <= b`` that keep each form at the sign that it has on its cell."""
    first = np.concatenate([[0, 0], np.cumsum([each.rows.shape[0] for each in forms.levels[1:]])])[level]
    side = np.where(level == 0, 1, signs[owner, np.where(level == 0, 0, first + neuron)] if signs.shape[1] else 1)
    start = np.searchsorted(owner, np.arange(len(signs) + 1)).astype(np.int64)
    n = forms.dim
    if exact:
        whole = forms.exact_rows(reference) * side[:, None]
        whole = primitive(np.column_stack([-whole[:, :-1], whole[:, -1:]]) if len(whole) else whole)
        largest = np.abs(whole[:, :-1]).max(axis=1, initial=0)[:, None]
        view = ratio_view(whole, np.broadcast_to(largest, whole.shape)) if len(whole) else np.zeros((0, n + 1))
        return Polyhedra(view[:, :-1].copy(), view[:, -1].copy(), start, whole)
    view = forms.table[reference] * side[:, None]
    view = np.ldexp(view, -np.frexp(np.abs(view[:, :-1]).max(axis=1, keepdims=True, initial=0.0))[1])
    return Polyhedra(-view[:, :-1], view[:, -1].copy(), start)


def _laws(
    forms: NeuronForms, base: NDArray[np.int64], signs: NDArray[np.int8], exact: bool
) -> tuple[Laws, NDArray[np.float64]]:
    """The affine map on each cell, and a bound on the error of its floats."""
    count, last = len(base), len(forms.network.layers) - 1
    if exact:
        laws = Laws.from_integer(_exact_laws(forms, base, signs))
        return laws, np.zeros(laws.coefficients().shape)
    if last == 0:
        rows, error = (np.repeat(each, count, axis=1) for each in (forms.levels[1].rows, forms.levels[1].error))
    else:
        rows, error = forms.compose(last, base, _active(forms, signs))
    rows = rows.transpose(1, 0, 2)
    if not np.isfinite(rows).all():
        raise LimitError("a slope or an offset of a region is larger than any float64: scale the weights")
    return Laws(rows[..., :-1].copy(), rows[..., -1].copy()), error.transpose(1, 0, 2)


def _exact_laws(forms: NeuronForms, base: NDArray[np.int64], signs: NDArray[np.int8]) -> NDArray[np.object_]:
    """Integer rows ``(gradient, offset, 1) * denominator``."""
    last = len(forms.network.layers) - 1
    active = _active(forms, signs) if last else np.zeros((len(base), 0), dtype=bool)
    rows = forms.exact_compose(last, base, active)
    rows = np.broadcast_to(rows, (rows.shape[0], len(base), forms.dim + 1)).transpose(1, 0, 2)
    scale = np.full((*rows.shape[:2], 1), forms.scale(last), dtype=object)
    return primitive(np.concatenate([rows, scale], axis=2))


def _active(forms: NeuronForms, signs: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which neurons of the last hidden layer are on."""
    width = forms.network.layers[-1][0].shape[1]
    return np.asarray(signs[:, signs.shape[1] - width :] > 0)


def _inside(lattice: Lattice, view: NDArray[np.float64]) -> NDArray[np.float64]:
    """A point inside each cell: each face takes the mean of what bounds it."""
    at = view
    for k in range(1, lattice.dim + 1):
        at = np.add.reduceat(at[lattice.sub[k]], lattice.start[k][:-1], axis=0)
        at = at / np.diff(lattice.start[k])[:, None]
    return at


# The cells of a network as pieces, by the way that suits: the whole complex, or a walk from cell to cell.


_LOW = 8  # up to this many directions the whole complex is kept; beyond, its faces are too many
_LOW_IN_BOX = 6  # the same on a domain with many rows: a cube alone has 3^n faces
_AFTER_INTERRUPTION = 256  # regions to find when the whole complex was given up


def has_few_faces(network: Network, domain: Polyhedron | None) -> bool:
    """Whether the whole complex is kept: there are few directions, or a walk would take longer."""
    directions = essential_dimension(network, domain)
    return directions <= (_LOW if domain is None or len(domain.b) < directions else _LOW_IN_BOX)


def find_pieces(
    network: Network,
    domain: Polyhedron | None,
    exact: bool,
    *,
    most: int | None = None,
    resume: CPWL | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    spans: bool = False,
    whole: bool = False,
) -> Pieces:
    """The cells as pieces: by subdivision where there are few directions, otherwise by walking from cell to cell.

    With `spans` corners and rays are kept, where there are. An interruption gives a part, unless only the `whole` is of
    use: then it is raised.
    """
    start = None if resume is None else _inner_points(resume, network.inputs)
    if has_few_faces(network, domain):
        try:
            made = subdivide(network, domain, most=most, progress=progress)
            return pieces_of_subdivision(made, exact, spans=spans)[0]
        except TooMany:
            pass
        except KeyboardInterrupt:
            if whole:
                raise
            # A part that takes no time; the complex that was under way is in no state to be used.
            most = min(most or _AFTER_INTERRUPTION, _AFTER_INTERRUPTION)
            part = pieces_of_subdivision(subdivide(network, domain, most=most), exact, spans=spans)[0]
            if part.complete:
                raise  # nothing is lost by ending, and whoever asked for it must be told
            return part
    found = walk(network, domain, most=most, start=start, executor=executor, progress=progress, whole=whole)
    return pieces_of_walk(found, exact)


def _inner_points(p: CPWL, dim: int) -> NDArray[np.float64]:
    """A point inside each piece."""
    if p.dim != dim:
        raise InputError(f"`resume` is a function of {counted(p.dim, 'input')}, but the network has {dim}")
    points = inner_points(p, range(p.num_pieces)).values()
    return np.array([np.asarray(x, dtype=np.float64) for x in points]).reshape(-1, dim)


def is_short(network: Network) -> bool:
    """Whether the weights are rationals, or floats of few digits such as 0.5: then exact laws stay short."""
    if network.exact is not None:
        return True
    for weight, bias in network.layers:
        mantissa, _ = np.frexp(np.concatenate([weight.data, bias]))
        if (np.ldexp(mantissa, 16) % 1 != 0).any():
            return False
    return True


# As a function.


_TOL = 1e-9


def as_function(pieces: Pieces, domain: Polyhedron | None, exact: bool, merge: bool) -> CPWL:
    """The pieces as a function; what floats can hardly see is reported."""
    tol = 0.0 if exact else _TOL
    thin = _report_thin(pieces) if not exact else False
    component = pieces.component
    component.setflags(write=False)
    covered = domain if pieces.complete else None
    known = known_of(pieces, thin)
    p = CPWL(pieces.polyhedra, pieces.laws, component, covered, tol, None, pieces.complete, known)
    return merge_spanned(p, pieces.spans) if merge and _has_twins(pieces) else p


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
            f"{count} thinner than {_TOL:g}, relative, such as region {thin[0]} at x = ({where}). Float rows barely "
            "represent them; `exact=True` returns rationals.",
            CpwlWarning,
            stacklevel=6,
        )
    return len(thin) > 0
