"""The normal form is zero exactly where a sum of labelled polyhedra is: against all cells of all hyperplanes."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from cpwl import CPWL, equal
from cpwl.equality.pieces import by_form
from cpwl.errors import InputError, LimitError
from cpwl.function.form import chains, hulls, totals
from cpwl.geometry.polyhedra import Polyhedra, Polyhedron
from cpwl.geometry.probe import Probe
from support.functions import abs_sum, delaunay, five_pieces
from support.rational_pieces import PieceData, cut_up, cuts, from_data, piece_data, random_maxmin

TINY = Fraction(1, 10**30)


def cells(rows, n):
    """A point inside each cell of the hyperplanes of some rows, and its sides: the slow way, by linear programs."""
    planes = {tuple(Fraction(v) / next(x for x in row if x) for v in row) for row in rows}
    probe, found = Probe(0.0), [((), [Fraction(0)] * n)]
    for plane in planes:
        sides = [((*own, (s, plane)), None) for own, _ in found for s in (1, -1)]
        found = []
        for own, _ in sides:
            body = Polyhedron.from_rows([[s * v for v in h[:-1]] for s, h in own], [s * h[-1] for s, h in own], dim=n)
            inside = probe.interior(body)
            if inside is not None:
                found.append((own, inside))
    return [(x, own) for own, x in found]


def is_zero(terms, n):
    """Whether a sum of terms (rows, label, factor) is zero almost everywhere."""
    for x, _ in cells([row for rows, _, _ in terms for row in rows], n):
        here = Counter()
        for rows, label, factor in terms:
            if all(sum(a * v for a, v in zip(row, x, strict=False)) < row[-1] for row in rows):
                here[label] += factor
        if any(here.values()):
            return False
    return True


def has_zero_form(terms, n):
    stack = hulls(
        Polyhedra.from_lists([[r[:-1] for r in t[0]] for t in terms], [[r[-1] for r in t[0]] for t in terms], dim=n)
    )
    if not len(stack.piece):
        return True
    found = chains(stack)
    label, factor = (np.array([t[k] for t in terms])[stack.piece][found.part] for k in (1, 2))
    return not totals(np.column_stack([found.flats, label]), found.sign * factor).any()


def random_rows(rng, n, count):
    rows = [
        [rng.choice([0, 0, 1, -1, 1, -1, 2]) for _ in range(n)] + [rng.choice([-1, 0, 0, 1, 1, 2])]
        for _ in range(count)
    ]
    return [tuple(row) for row in rows if any(row[:-1])]


def random_box(rng, n):
    rows = []
    for i in range(n):
        low = rng.choice([-2, -1, 0])
        unit = [int(k == i) for k in range(n)]
        rows += [(*unit, low + rng.choice([1, 2])), (*(-v for v in unit), -low)]
    return rows


def random_terms(seed, n):
    """Polyhedra less what they are cut into, with T-junctions, lines, rays, flat and empty parts; some are wrong."""
    rng, terms = random.Random(seed), []
    for _ in range(rng.randint(1, 3)):
        bounded = random_box(rng, n) if rng.random() < 0.4 else []
        rows = bounded + random_rows(rng, n, rng.randint(0, 1 if bounded else n + 1))
        label, parts = rng.randint(0, 1), [rows]
        for row in random_rows(rng, n, rng.randint(0, 2)):
            own = parts.pop(rng.randrange(len(parts)))
            parts += [[*own, row], [*own, tuple(-v for v in row)]]
        terms += [(rows, label, 1), *((part, label, -1) for part in parts)]
    k = rng.randrange(len(terms))
    rows, label, factor = terms[k]
    wrong = rng.choice(["", "", "", "", "gone", "twice", "label", "moved"])
    if wrong == "gone":
        del terms[k]
    if wrong == "twice":
        terms.append(terms[k])
    if wrong == "label":
        terms[k] = (rows, 1 - label, factor)
    if wrong == "moved" and rows:
        terms[k] = ([(*rows[0][:-1], rows[0][-1] + TINY), *rows[1:]], label, factor)
    return terms


def hyperplane_count(terms):
    return len({tuple(abs(v) for v in row) for rows, _, _ in terms for row in rows})


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_form_is_zero_exactly_where_the_sum_is(n):
    """Few hyperplanes only: the slow way takes a linear program for each cell."""
    for seed in range(12):
        terms = random_terms(seed, n)
        if hyperplane_count(terms) <= 6:
            assert has_zero_form(terms, n) is is_zero(terms, n), (n, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "count"), [(1, 1500), (2, 800), (3, 300), (4, 60), (5, 12)])
def test_the_form_is_zero_exactly_where_the_sum_is_at_length(n, count):
    """The same for many more, in up to five dimensions."""
    for seed in range(100, 100 + count):
        terms = random_terms(seed, n)
        if n < 3 or hyperplane_count(terms) <= 12:
            assert has_zero_form(terms, n) is is_zero(terms, n), (n, seed)


# The doctor looks where the residual of the form is not zero, and nowhere else: holes and overlaps are all found.


def holds(rows, x):
    return all(sum(a * v for a, v in zip(row, x, strict=False)) < row[-1] for row in rows)


def random_cover(seed, n):
    """A domain and parts of it, with T-junctions: all of them, one too few, twice, or moved by 1e-30; or some more."""
    rng = random.Random(seed)
    domain = random_box(rng, n) if rng.random() < 0.6 else random_rows(rng, n, rng.randint(0, n))
    parts = [domain]
    for row in random_rows(rng, n, rng.randint(1, 4)):
        own = parts.pop(rng.randrange(len(parts)))
        parts += [[*own, row], [*own, tuple(-v for v in row)]]
    k = rng.randrange(len(parts))
    wrong = rng.choice(["", "gone", "twice", "moved", "moved", "more", "wide"])
    if wrong == "gone" and len(parts) > 1:
        del parts[k]
    if wrong == "twice":
        parts.append(parts[k])
    if wrong == "moved" and parts[k]:
        r = rng.randrange(len(parts[k]))
        row = parts[k][r]
        parts[k] = [*parts[k][:r], (*row[:-1], row[-1] + rng.choice([TINY, -TINY])), *parts[k][r + 1 :]]
    if wrong == "more":
        parts.append(random_box(rng, n))
    if wrong == "wide" and domain:
        parts[k] = [row for row in parts[k] if row != domain[0]]
    return domain, parts


def check_cover(seed, n, most=8):
    """The doctor against all cells; every witness of a hole is in the closure of a cell that nothing covers."""
    domain, parts = random_cover(seed, n)
    if hyperplane_count([(rows, 0, 0) for rows in [domain, *parts]]) > most:
        return False
    found = cells([row for rows in [domain, *parts] for row in rows], n)
    if not any(holds(domain, x) for x, _ in found):
        return False
    count = [(holds(domain, x), sum(holds(rows, x) for rows in parts)) for x, _ in found]
    laws = [[[1] * n, list(range(n))]] * len(parts)  # two outputs
    A, b = [[r[:-1] for r in rows] for rows in parts], [[r[-1] for r in rows] for rows in parts]
    rows = np.array([r[:-1] for r in domain]).reshape(-1, n), [r[-1] for r in domain]
    report = CPWL.from_pieces(A, b, laws, [[0, 1]] * len(parts), domain=rows).doctor()
    assert report.healthy is all((k > 0) is inside for inside, k in count), (n, seed)
    assert any(f.kind == "overlap" for f in report) is any(k > 1 for _, k in count), (n, seed)
    bare = [own for (_, own), (inside, k) in zip(found, count, strict=True) if inside and not k]
    for f in report.errors:
        if f.kind == "gap" and f.point is not None:
            x = [Fraction(v) for v in f.point]
            assert any(
                all(s * sum(a * v for a, v in zip(h, x, strict=False)) <= s * h[-1] for s, h in own) for own in bare
            ), (n, seed)
    return True


@pytest.mark.parametrize("n", [1, 2, 3])
def test_holes_and_overlaps_are_found_by_the_residual(n):
    assert sum(check_cover(seed, n) for seed in range(12 // n)) > 1


@pytest.mark.slow
@pytest.mark.parametrize(("n", "count"), [(1, 400), (2, 200), (3, 80), (4, 16), (5, 8)])
def test_holes_and_overlaps_are_found_by_the_residual_at_length(n, count):
    assert sum(check_cover(seed, n, 12) for seed in range(100, 100 + count)) > count / 4


FUNCTIONS = {
    "triangles": lambda: delaunay(2, 12, 2),
    "cones with lines": lambda: random_maxmin(3, 4, 2, 3, 1),
    "in space": lambda: delaunay(3, 6, 1),
    "orthants": lambda: abs_sum(4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_cutting_is_equal_and_a_change_is_not(name):
    """T-junctions do not matter; 1e-30 in a law, a piece too few, too many, or with another law do."""
    p = FUNCTIONS[name]()
    q = cut_up(p, cuts(p.dim, 7, 3))
    assert by_form(p, q, None).equal
    pieces = piece_data(q)
    last = pieces[-1]
    lifted = PieceData(last.rows, ((*last.laws[0][:-1], last.laws[0][-1] + TINY),))
    verdict = equal(p, from_data([*pieces[:-1], lifted]))
    assert verdict.gap == abs(verdict.values[0][0] - verdict.values[1][0]) == TINY
    assert equal(p, from_data(pieces[:-1])).equal is False
    other = next(piece.laws for piece in pieces if piece.laws != last.laws)
    assert equal(p, from_data([*pieces[:-1], PieceData(last.rows, other)])).equal is False


def test_components_with_one_law_are_one_piece():
    """A maximum of equal components covers everything once."""
    p = CPWL.from_maxmin([[0, 3], [0, 3], [1, 0], [1, 0]], [[0], [1], [2, 3]])
    assert p.num_pieces == 2
    assert by_form(p, CPWL.from_maxmin([[0, 3], [1, 0]], [[0], [1]]), None).equal


def test_several_values_at_a_point_are_not_one_function():
    """The same pieces with two laws each, in another order, have one form, and evaluate differently."""
    A, b = [[[1, 0]], [[1, 0]]], [[0], [0]]
    p = CPWL.from_pieces(A, b, [[0, 0], [0, 0]], [0, 1])
    q = CPWL.from_pieces(A, b, [[0, 0], [0, 0]], [1, 0])
    assert by_form(p, q, None) is None
    assert not equal(p, q).equal


def test_counterexamples_to_unlabelled_forms():
    """A piece with law 0 counts, and so does how often pieces are listed."""
    square, left = [[1, 0], [-1, 0], [0, 1], [0, -1]], [[1, 0, 1, 0], [0, 1, 1, 0]]
    both = CPWL.from_pieces([square, square], left, [[1, 0], [0, 0]], [0, 0])
    one = CPWL.from_pieces([square], left[:1], [[1, 0]], [0])
    told = by_form(both, one, None)
    assert not told.equal
    assert not told.same_domain
    assert equal(both, one).equal is False
    halves = CPWL.from_pieces([square, square], [left[0], left[0]], [["1/2", 0]] * 2, [0, 0])
    assert equal(halves, one).equal is False


def test_on_a_domain():
    """Equal on a part of where they are defined, and not on all of it."""
    p = five_pieces()
    q = cut_up(p, cuts(2, 5, 1))
    box = ([[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, 1, 1])
    assert equal(p, q, domain=box).equal


@pytest.mark.parametrize("name", FUNCTIONS)
def test_merging_undoes_cutting_and_fingerprints_do_not_see_it(name):
    """Pieces that were cut become what they were; the names of the function stay, and change with it."""
    p = FUNCTIONS[name]()
    q = cut_up(p, cuts(p.dim, 7, 3))
    merged = q.merge()
    assert merged.num_pieces <= p.num_pieces
    assert by_form(p, merged, None).equal
    assert p == q == merged
    assert len({p, q, merged}) == 1
    assert p.fingerprint(b"key") == q.fingerprint(b"key") != p.fingerprint()
    pieces = piece_data(q)
    last = pieces[-1]
    lifted = PieceData(last.rows, ((*last.laws[0][:-1], last.laws[0][-1] + TINY),))
    for other in ([*pieces[:-1], lifted], pieces[:-1], [*pieces, last]):
        assert from_data(other) != p
        assert from_data(other).fingerprint() != p.fingerprint()


def test_unions_that_are_not_convex_stay():
    """An L of three squares is two pieces at least; a square that is listed twice is not merged away."""
    square = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    corners = [(0, 0), (1, 0), (0, 1)]
    b = [[x + 1, -x, y + 1, -y] for x, y in corners]
    shape = CPWL.from_pieces([square] * 3, b, [[1, 2]] * 3, [0] * 3)
    assert shape.merge().num_pieces == 2
    assert CPWL.from_pieces([square] * 2, b[:1] * 2, [[1, 2]] * 2, [0] * 2).merge().num_pieces == 2


def test_where_there_is_no_fingerprint():
    """Five inputs are too many: a limit is said, and equality is that of objects."""
    p = abs_sum(5)
    with pytest.raises(LimitError, match="at most 4 inputs"):
        p.fingerprint()
    with pytest.raises(InputError, match="`key`"):
        abs_sum(2).fingerprint("text")
    assert p == p
    assert p != abs_sum(5)
    assert hash(p) == hash(abs_sum(5))
