"""JSON files: what is saved is what is loaded, and everything else is refused in one clear sentence."""

import copy
import json
import math
import os
import subprocess
import sys
from fractions import Fraction
from importlib.resources import files

import fastjsonschema
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, reject

from cpwl.errors import InputError, LimitError
from cpwl.function import CPWL
from cpwl.io.json import load, save
from support.json_examples import EXAMPLES, PIECES, TABLE, write
from support.strategies import networks, rational_arrays

SCHEMA = json.loads(files("cpwl.documents").joinpath("schema.json").read_text(encoding="utf-8"))
RATIONALS = st.one_of(st.fractions(-9, 9, max_denominator=9), st.fractions(), st.integers().map(Fraction))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
# Data of one scale, as a tolerance supposes; zeros with either sign.
MEASURED = st.floats(-1e6, 1e6).map(lambda x: x if abs(x) > 1e-6 else math.copysign(0.0, x))


@st.composite
def rows(draw, numbers, n, most=3):
    """Lists `A` and `b` of up to `most` half-spaces of R^n, none of which is trivial."""
    count = draw(st.integers(0, most))
    A = draw(st.lists(st.lists(numbers, min_size=n, max_size=n).filter(any), min_size=count, max_size=count))
    return A, draw(st.lists(numbers, min_size=count, max_size=count))


@st.composite
def functions(draw, numbers, tol=None):
    """Pieces and laws of those numbers; nothing is continuous, but nothing here asks for it."""
    n, m, q = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    stacks = [draw(rows(numbers, n)) for _ in range(q)]
    law = st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=m, max_size=m)
    gradient = draw(st.lists(law, min_size=q, max_size=q))
    offset = draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=q, max_size=q))
    domain = draw(st.none() | rows(numbers, n))
    return CPWL.from_pieces([A for A, _ in stacks], [b for _, b in stacks], gradient, offset, domain=domain, tol=tol)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """One file for all examples of a test: each is overwritten by the next."""
    return tmp_path_factory.mktemp("json") / "law.json"


def through_file(value, path):
    """What comes back after saving."""
    save(value, path)
    return load(path)


def assert_same_function(p, q):
    """Equal pieces, laws, components, domain and tolerance, all of them exactly."""
    assert (p.dim, p.outputs, p.num_pieces, p.tol) == (q.dim, q.outputs, q.num_pieces, q.tol)
    assert np.array_equal(p.polyhedra.start, q.polyhedra.start)
    assert np.array_equal(p.polyhedra.integer(), q.polyhedra.integer())
    assert np.array_equal(p.laws.integer(), q.laws.integer())
    assert np.array_equal(p.component, q.component)
    assert (p.domain is None) == (q.domain is None)
    if p.domain is not None:
        assert np.array_equal(p.domain.integer(), q.domain.integer())


def assert_same_network(a, b):
    """Equal layers, as floats to the bit and as rationals."""
    assert (a.exact is None) == (b.exact is None)
    for (v, c), (w, d) in zip(a.layers, b.layers, strict=True):
        assert v.toarray().tobytes() == w.toarray().tobytes()
        assert c.tobytes() == d.tobytes()
    for (v, c), (w, d) in zip(a.exact or (), b.exact or (), strict=True):
        assert np.array_equal(v.toarray(), w.toarray())
        assert np.array_equal(c, d)


@given(functions(RATIONALS))
def test_exact_functions_come_back(path, p):
    """Rational pieces, laws and domain of any size are the same rationals after a round trip."""
    assert p.tol == 0
    assert_same_function(through_file(p, path), p)


@given(functions(FLOATS, tol=0))
def test_floats_meant_exactly_come_back(path, p):
    """With tolerance 0 floats stay exact: the tolerance is in the file."""
    assert p.tol == 0
    assert_same_function(through_file(p, path), p)


@given(functions(MEASURED, tol=1e-7))
def test_float_functions_come_back_to_the_bit(path, p):
    """The doubles of a float function are the same doubles after a round trip, zero's sign included."""
    q = through_file(p, path)
    assert_same_function(q, p)
    assert p.polyhedra.A.tobytes() == q.polyhedra.A.tobytes()
    assert p.polyhedra.b.tobytes() == q.polyhedra.b.tobytes()
    assert p.laws.coefficients().tobytes() == q.laws.coefficients().tobytes()


@given(functions(st.one_of(st.fractions(-9, 9, max_denominator=99), MEASURED), tol=1e-7))
def test_mixed_functions_come_back(path, p):
    """Rationals beside floats: the numbers stay exact, and so does the tolerance."""
    assert_same_function(through_file(p, path), p)


@given(st.data())
def test_tables_come_back(path, data):
    """A table on a grid, rational or float, comes back with its mesh."""
    numbers = data.draw(st.sampled_from([st.fractions(-9, 9, max_denominator=9), st.floats(-9, 9, width=16)]))
    axis = st.sets(numbers, min_size=2, max_size=3).map(sorted)
    axes = data.draw(st.lists(axis, min_size=1, max_size=2))
    shape = (*map(len, axes), data.draw(st.integers(1, 2)))
    p = CPWL.from_grid(axes, data.draw(rational_arrays(shape)))
    q = through_file(p, path)
    assert_same_function(q, p)
    assert np.array_equal(q.mesh.corners, p.mesh.corners)
    assert np.array_equal(q.mesh.simplices, p.mesh.simplices)
    assert np.array_equal(q.mesh.values, p.mesh.values)


@given(st.lists(FLOATS, min_size=2, max_size=5, unique=True).map(sorted))
def test_breakpoints_come_back(path, x):
    """A function of one variable, whose exact rows are not its float rows, comes back."""
    try:
        p = CPWL.from_breakpoints(x, list(range(len(x))))
    except LimitError:  # steeper than any double
        reject()
    assert_same_function(through_file(p, path), p)


@given(networks())
def test_rational_networks_come_back(path, network):
    """Rational weights stay rational, also where they are all whole numbers."""
    assert_same_network(through_file(network, path), network)


@given(networks(exact=False))
def test_float_networks_come_back_to_the_bit(path, network):
    """Float weights are the same doubles after a round trip."""
    assert_same_network(through_file(network, path), network)


def test_pieces_keep_their_order(path):
    """Pieces are loaded in the order in which they were given."""
    slopes = [3, 1, 4, 1, 5, 9, 2, 6]
    p = CPWL.from_pieces([[[1]]] * 8, [[i] for i in range(8)], [[s] for s in slopes], [0] * 8)
    assert through_file(p, path).laws.gradient.ravel().tolist() == slopes


def test_rows_of_huge_integers_come_back(path):
    """Integer rows too large for float64 are scaled, which keeps what they say."""
    p = CPWL.from_pieces([[[Fraction(3**700, 2**1100), 1]]], [["1/3"]], [[0, 0]], [0])
    assert p.polyhedra.integer().max() > 2**1024
    assert_same_function(through_file(p, path), p)


def test_large_integers_are_not_rounded(path):
    """An integer beyond 2^53 in a file is that integer, beside floats too."""
    document = copy.deepcopy(PIECES)
    document["pieces"][0]["A"] = [[2**63 + 1, -1]]
    document["pieces"][1]["A"] = [[-(2**60) - 1, 0.5]]
    p = load(write(path, document))
    assert p.polyhedra.integer().tolist() == [[2**63 + 1, -1, 0], [-(2**61) - 2, 1, 0]]


def test_too_many_digits_is_a_limit(path):
    """A number that Python does not write leaves a limit error and no file."""
    p = CPWL.from_pieces([[[1]]], [[0]], [[Fraction(1, 10**5000)]], [0])
    path.unlink(missing_ok=True)
    with pytest.raises(LimitError, match="4300 digits"):
        save(p, path)
    assert not path.exists()


def test_same_bytes_in_a_new_process(path):
    """The bytes do not depend on the process or its hash seed."""
    write(path, PIECES)
    program = "import sys; from cpwl.io.json import load, save; save(load(sys.argv[1]), sys.argv[2])"
    results = []
    for seed in "1", "2":
        other = path.with_name(f"{seed}.json")
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", program, path, other], check=True, env=environment)
        results.append(other.read_bytes())
    assert results[0] == results[1]


def test_one_piece_a_line(path):
    """Every piece is one line, so that a changed piece is one changed line."""
    save(load(write(path, PIECES)), path)
    lines = path.read_text().splitlines()
    first = lines.index('"pieces": [')
    assert [json.loads(line.rstrip(",")) for line in lines[first + 1 : -2]] == PIECES["pieces"]


def test_note_is_written(path):
    """A note is in the file, with any characters, and is not in the way."""
    save(load(write(path, PIECES)), path, note="Über\n\ud800")
    assert json.loads(path.read_text())["note"] == "Über\n\ud800"
    assert load(path).num_pieces == 2


def test_absent_tolerance_means_floats_are_rounded(path):
    """Without "tol" a file with a JSON float has tolerance 1e-9, and one without has 0."""
    document = {key: value for key, value in PIECES.items() if key != "tol"}
    assert load(write(path, document)).tol == 0
    document = json.loads(json.dumps(document).replace("[5]", "[5.0]"))
    assert load(write(path, document)).tol == 1e-9


def test_one_output_may_be_written_flat(path):
    """With one output the gradient may be a vector, and offset and values numbers."""
    piece = {"A": [[1]], "b": [0], "gradient": ["1/2"], "offset": "0.1"}
    document = {"format": "cpwl", "version": 1, "dim": 1, "outputs": 1, "pieces": [piece]}
    assert load(write(path, document)).laws.integer().tolist() == [[[5, 1, 10]]]
    document = {**TABLE, "values": [0, 1, "1/3"]}
    assert_same_function(load(write(path, document)), load(write(path, TABLE)))


def test_byte_order_mark_is_no_harm(path):
    """Files of programs that write a byte order mark are read."""
    path.write_text(json.dumps(PIECES), encoding="utf-8-sig")
    assert load(path).num_pieces == 2


@pytest.mark.parametrize("kind", EXAMPLES)
def test_schema_as_shipped_accepts_what_is_saved(path, kind):
    """The whole schema, references and all, accepts each kind of document as we write it."""
    save(load(write(path, EXAMPLES[kind])), path)
    fastjsonschema.compile(SCHEMA)(json.loads(path.read_text()))


def test_importing_the_format_does_not_load_the_validator():
    """The schema is compiled when the first file is read."""
    program = "import sys, cpwl.io.json; sys.exit('fastjsonschema' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


LONG = st.one_of(st.integers(-(10**20), 10**20), st.floats(-1e18, 1e18), st.fractions(max_denominator=7))


@given(st.lists(LONG, min_size=5, max_size=5))
def test_saved_again_it_is_the_same_file(tmp_path_factory, numbers):
    """Whatever is saved, loaded and saved again has the same bytes: long integers and mixed data, too."""
    path = tmp_path_factory.mktemp("again") / "law.json"
    b, g, h, c, d = numbers
    p = CPWL.from_pieces([[[1]], [[-1]]], [[b], [b]], [[g], [h]], [c, d])
    save(p, path)
    first = path.read_bytes()
    save(load(path), path)
    assert path.read_bytes() == first


def test_small_files_are_refused_soon(path):
    """A key that occurs twice among many, and an integer that takes long to read."""
    keys = ", ".join(f'"k{i}": 1' for i in range(200_000))
    path.write_text(f'{{{keys}, "k199999": 1}}')
    with pytest.raises(InputError, match='has "k199999" twice'):
        load(path)
    path.write_text(json.dumps(PIECES).replace('"dim": 2', '"dim": ' + "9" * 10**6))
    with pytest.raises(InputError, match="has an integer of 1,000,000 digits; the limit is 4,300"):
        load(path)
